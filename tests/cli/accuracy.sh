#!/bin/sh
# tests/bench/accuracy.sh with a made-up roofcast: targets met and missed, what is not run, intervals, the page replaced whole.
. "${top_srcdir:?}/tests/cli/lib.sh"
command -v jq >/dev/null || { echo "1..0 # SKIP no jq"; exit 0; }
script=$top_srcdir/tests/bench/accuracy.sh
mkdir -p "$tmp/bin" "$tmp/shared/data/measurements"
for f in throughput_core throughput gpu_ops all_reduce hardware; do : >"$tmp/shared/data/measurements/$f.csv"; done
mkdir "$tmp/shared/data/measurements/gpu_kernels"
: >"$tmp/shared/data/measurements/gpu_kernels/gemm.csv"
printf '%s\n' 'id,source,phase,batch' '1,"a, b",decode,1' '2,c,decode,8' '3,c,prefill,1' >"$tmp/shared/data/measurements/fresh.csv"
# 100 rows of a class: half-width 10 %, error 5 %; COVER of them inside.
cat >"$tmp/bin/roofcast" <<'E'
#!/bin/sh
[ "$1" = --version ] && { echo "roofcast 9.9"; exit; }
case "$*" in *all_reduce*) echo "roofcast score: broken" >&2; exit 1 ;; esac
case "$*" in
*fresh-one*) [ "$(cut -c1 "$2" | paste -sd ' ')" = "i 1" ] && [ "$(jq -r .schema "$ROOFCAST_DATA/hwprofiles/stacks/constants.json")" = roofcast.constants ] &&
    cmp -s "$ROOFCAST_DATA/hwprofiles/stacks/constants.json" "$top_srcdir/hwprofiles/stacks/constants_base.json" || exit 3 ;;
*rates.csv*generation*) [ "$(head -n 1 "$2")" = 'id,source,phase,batch' ] || exit 3 ;;
esac
decode=0.05 anchor=0.05
case "$*" in *anchor*) anchor=0.03 ;; esac
made=$0.$anchor.${COVER:-0.9}
[ -s "$made" ] || { jq -n --argjson d $decode --argjson a $anchor --argjson c "${COVER:-0.9}" '
  def g($n; $e): { group: $n, rows: 100, unpriced: 1, bias: 0.01, mape: (2 * $e), median_ape: $e, p90_ape: (3 * $e), coverage90: $c, naive_ape: 0.1, half90: 0.1 };
  { schema: "roofcast.score", n_rows: 100, n_unpriced: 1,
    groups: [g("all"; 0.03), g("phase=decode"; $a), g("phase=decode,clean=yes"; $d), g("phase=prefill"; 0.08),
             g("phase=prefill,clean=yes"; 0.08), g("class=CPU"; 0.05),
             g("phase=decode,kind=dense"; 0.08), (g("hardware=Example X1"; 0.3) | .rows = 20), (g("hardware=Few"; 0.9) | .rows = 19), g("hardware=Y"; 0.2),
             (g("hardware=Example X1,phase=prefill"; 0.4) | .rows = 10)],
    rows: [range(100) | { class: "CPU", phase: "decode", measured: 100, predicted: 105, lo: 94.5, hi: 115.5, error: 0.05 }] }' >"$made.$$" && mv "$made.$$" "$made"; }
cat "$made"
E
chmod +x "$tmp/bin/roofcast"
accuracy() {
    ROOFCAST=$tmp/bin/roofcast ROOFCAST_SHARED=$tmp/shared sh "$script" "$@" >"$tmp/out" 2>"$tmp/err"
    status=$?
}
accuracy
ok $status "runs to the end"
has '^| core decode, hardware left out, clean: median | 5.0 % | 6.0 % | met | 100 | 1.0 % |$'
ok $? "a target that is met"
has '^| core decode, hardware left out, all: mean | 10.0 % | 20.0 % | met ' &&
    has '^| core decode, one anchor row a device and phase: median | 3.0 % | 4.0 % | met ' &&
    has '^| core prefill, one anchor row a device and phase: median | 8.0 % | 7.0 % | \*\*missed\*\* '
ok $? "each from the score it needs; one that is missed"
has '^| all-reduce, topology left out: MAPE | not run | 15.0 % |' && has '^- not run: reduce-topology: roofcast score: broken' &&
    has '^- not run: serving-hw: no .*serving_silicon.csv' && has '^| this CPU, from its profile: median | not run | 4.0 % |'
ok $? "what is not run says so, and why"
has '^| core without an estimate | 1 of 100 | 1 % | met ' && has '^| ops without an estimate | 1 of 100 | 0 % | \*\*missed\*\* '
ok $? "rows without an estimate"
has '^| core, hardware left out | class=CPU | 100 | 90 % | 10 % | 5 % |  |$'
ok $? "an interval that holds"
has '^| fresh decode, as shipped: median | 5.0 % | 9.0 % | met ' && has '^| fresh, as shipped: inside the 90 % interval | 90.0 % | 85 to 95 % | met | 100 | |$' &&
    has "^| fresh dense decode of one sequence, unseen: median over the naive predictor's | 0.80 | 0.75 | \*\*missed\*\* | 100 | |$"
ok $? "fresh rates, and those of one sequence against the naive predictor, by constants that do not know them"
has '^| all rates, generation left out | all | 100 | 3 % | 10 % | 90 % | 10 % | hardware=Example X1: 30 % of 20 rows |$' &&
    has '^| all rates, generation left out | phase=decode | 100 | 5 % | 10 % | 90 % | 10 % |  |$' && has '^| rates set aside | all | 100 | 3 % '
ok $? "a section of what is new: each key, with the worst group of 20 rows and more"
has '^| kernels of gemm, GPU left out: median | 3.0 % | 12.0 % | met ' && has '^| gemm.csv | hardware=Y | 100 | 1 | 20 % | 60 % | 90 % |$' && ! has 'kernels of moe'
ok $? "kernels by file and GPU"
COVER=0.8
export COVER
accuracy && has '| class=CPU | 100 | 80 % | 10 % | 5 % | \*\*coverage\*\* |'
ok $? "80 of 100 do not"
has '^- core prefill, one anchor row a device and phase: hardware=Example X1 (10 rows, MAPE 80 %, bias 1 %, 50 % of the error)$'
ok $? "residuals are of the group that missed"
printf '{"schema": "roofcast.validate", "cpu": "Example CPU", "date": "2026-01-02", "profile_date": "2026-01-01", "seed": 1, "command": "roofcast validate --hw /a/b/p.json -o json", "n_case": 2, "n_op": 3,
  "median_ape": 0.03, "p95_ape": 0.12, "bias": 0, "op_median_ape": 0.09, "op_bias": 0.01, "rows": []}' >"$tmp/v.json"
echo before >"$tmp/page.md"
accuracy -o "$tmp/page.md" "$tmp/v.json"
[ $status -eq 0 ] && grep -q '^| this CPU, from its profile: P95 | 12 % | 10 % | \*\*missed\*\* | 2 ' "$tmp/page.md" && ! grep -q before "$tmp/page.md"
ok $? "-o replaces the page; a result of validate stands in it"
grep -qF 'Command: `roofcast validate --hw p.json -o json`.' "$tmp/page.md"
ok $? "its command without the folders of the machine where it ran"
sed 's/^- program: .*/- program: roofcast 9.9, tree of commit abc1234 (2026-01-02)/' "$tmp/page.md" >"$tmp/kept.md"
cp "$tmp/kept.md" "$tmp/first.md"
accuracy -o "$tmp/kept.md"
[ $status -eq 0 ] && grep -q '^| this CPU, from its profile: P95 | 12 % | 10 % | \*\*missed\*\* | 2 ' "$tmp/kept.md" &&
    grep -qF 'From an earlier page, tree of commit abc1234 (2026-01-02).' "$tmp/kept.md" && grep -qF 'Example CPU, 2026-01-02: 2 cases' "$tmp/kept.md"
ok $? "without such a result the page's own stays, and says whose it is"
accuracy -o "$tmp/kept.md"
[ "$(grep -c '^From an earlier page' "$tmp/kept.md")" = 1 ] && [ "$(grep -c '^## Intervals$' "$tmp/kept.md")" = 1 ] &&
    [ "$(sed -n '/^## This CPU$/,/^## Int/p' "$tmp/kept.md" | wc -l)" = "$(($(sed -n '/^## This CPU$/,/^## Int/p' "$tmp/first.md" | wc -l) + 2))" ]
ok $? "and again, no longer than it was"
accuracy -o "$tmp/page.md" "$tmp/bin/roofcast"
[ $status -eq 1 ] && says 'not a result of roofcast validate' && grep -q '^# Accuracy' "$tmp/page.md"
ok $? "another file does not, and the page stays"
accuracy -l 0
[ $status -eq 2 ] && says 'expected a number above 0, found "0"'
ok $? "-l 0 is refused"
finish
