#!/bin/sh
# hwprofiles/stacks/constants.json is what calibrate makes of the measurements, by the code as it is: numbers within 1e-4 (they are
# rounded to five digits, and compilers differ), all else as it stands. constants_base.json is of the same code and fewer rows, so a
# change that makes one of them stale makes both.
. "${top_srcdir:?}/tests/cli/lib.sh"
name="constants.json is what this code makes of the measurements"
if [ -n "${ROOFCAST_SANITIZED:-}" ]; then skip "$name" "a fit of all rows takes minutes with sanitizers; the optimized build makes it"; finish; fi
data=${ROOFCAST_SHARED:-none}/data/measurements
[ -f "$data/throughput.csv" ] || { skip "$name" "$data/throughput.csv is not here"; finish; }
command -v jq >/dev/null || { skip "$name" "no jq here"; finish; }
shipped=$top_srcdir/hwprofiles/stacks/constants.json

# differ A B: the first lines where two documents differ, and how many do; nothing, and status 0, where they are alike.
differ() {
    for f in "$1" "$2"; do
        jq -r 'paths(scalars) as $p | "\($p | map(tostring) | join("/"))\t\(getpath($p) | type)\t\(getpath($p))"' "$f" || return 2
    done >"$tmp/flat"
    awk -F'\t' -v half="$(jq '[paths(scalars)] | length' "$1")" '
        NR <= half { type[$1] = $2; was[$1] = $3; next }
        { seen[$1] = 1; off = 0 }
        $2 == "number" && type[$1] == "number" && $1 !~ /n_rows$/ {
            d = $3 - was[$1]; size = $3 < 0 ? -$3 : $3; off = (d < 0 ? -d : d) > 1e-4 * size; if (!off) next
        }
        off || !($1 in was) || type[$1] != $2 || was[$1] != $3 { if (n++ < 8) print $1 ": " was[$1] ", now " $3 }
        END { for (k in was) if (!(k in seen) && n++ < 8) print k ": " was[k] ", now none"; if (n) print n " differ"; exit n > 0 }' "$tmp/flat"
}
# It can tell: a number, a name, a row, a constant more or less.
few=$tmp/few.json
jq '{ fits: { decode: (.fits.decode | { n_rows, constants: .constants[:9] }) } }' "$shipped" >"$few" && differ "$few" "$few" >"$tmp/err"
ok $? "a file is like itself"
for change in '.fits.decode.constants[0].value *= 1.0003' '.fits.decode.constants[0].name += "x"' '.fits.decode.n_rows += 1' \
    'del(.fits.decode.constants[-1])' '.fits.new = .fits.decode'; do
    jq "$change" "$few" >"$tmp/changed.json" && ! differ "$few" "$tmp/changed.json" >"$tmp/err" && grep -q 'differ$' "$tmp/err"
    ok $? "not after $change"
done
jq '.fits.decode.constants[0].value *= 1.00003' "$few" >"$tmp/changed.json" && differ "$few" "$tmp/changed.json" >"$tmp/err"
ok $? "the fifth digit is another compiler's"

(cd "$data" && "$ROOFCAST" calibrate throughput.csv fresh.csv gpu_ops.csv serving_silicon.csv "$top_srcdir/hwprofiles/stacks/measured.csv" \
    --hardware hardware.csv -o "$tmp/constants.json") >"$tmp/out" 2>"$tmp/err"
ok $? "a fit of all rows"
differ "$shipped" "$tmp/constants.json" >"$tmp/err" 2>&1
ok $? "$name (if not, doc/HACKING.md says how to make it anew)"
lines() { jq -r '[.fits[].constants | length] | add' "$1"; }
[ "$(grep -c '^        {"name": "[^"]*", "value": [^{]*}[^{]*$' "$tmp/constants.json")" -ge "$(lines "$tmp/constants.json")" ] &&
    [ "$(cat "$top_srcdir"/hwprofiles/stacks/*.json | wc -l)" -le 9000 ]
ok $? "a constant a line, and 9,000 lines in all files"
finish
