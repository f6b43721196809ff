#!/bin/sh
# doc/formats.md has the tables of columns as `roofcast list fields` prints them, each under the heading that names it.
#   tests/report/fields.sh --write   (with ROOFCAST and top_srcdir, as `make check` sets them) brings them up to date
set -u
: "${ROOFCAST:?}" "${top_srcdir:?run this by make check}"
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
doc=$top_srcdir/doc/formats.md
"$ROOFCAST" list fields >"$tmp/fields" || exit 99

# The text with the first table below each heading replaced by the program's; says which heading has none.
update() { # FIELDS DOC
    awk '
        function name(line) { return match(line, /`[^`]*`/) ? substr(line, RSTART + 1, RLENGTH - 2) : "" }
        NR == FNR { if (/^###/) at = name($0); else if (/^\|/) table[at] = table[at] $0 "\n"; next }
        /^#/ { at = name($0); if (!(at in table) || done[at]) at = "" }
        at != "" && /^\| field \| type \|/ { printf "%s", table[at]; done[at] = 1; skip = 1; at = "" }
        skip && /^\|/ { next }
        { skip = 0; print }
        END { for (t in table) if (!done[t]) print "no table below a heading `" t "`" >"/dev/stderr" }' "$1" "$2"
}

update "$tmp/fields" "$doc" >"$tmp/formats.md" 2>"$tmp/err"
if [ "${1-}" = --write ]; then
    cp "$tmp/formats.md" "$doc"
    cat "$tmp/err" >&2
    exit
fi
n=0
check() { # STATUS NAME FILE
    n=$((n + 1))
    [ "$1" -eq 0 ] && echo "ok $n - $2" && return
    echo "not ok $n - $2"
    sed 's/^/# /' "$3" | head -n 20
}
diff "$doc" "$tmp/formats.md" >"$tmp/diff"
check $? "formats.md has the program's tables of columns (tests/report/fields.sh --write)" "$tmp/diff"
test ! -s "$tmp/err"
check $? "each table has its heading" "$tmp/err"
[ "$(grep -c '^### ' "$tmp/fields")" -ge 28 ]
check $? "the program prints its tables" "$tmp/fields"
sed 's/^| `fits` | bool/| `fits` | string/' "$doc" >"$tmp/old.md"
update "$tmp/fields" "$tmp/old.md" 2>/dev/null | diff "$tmp/old.md" - >"$tmp/diff"
[ $? -eq 1 ]
check $? "another type is a difference" "$tmp/diff"
echo "1..$n"
