#!/bin/sh
# ./quickstart on a tiny model: the files it names are there, and each figure of its five lines is the JSON's.
. "${top_srcdir:?}/tests/cli/lib.sh"
if [ -n "${ROOFCAST_SANITIZED:-}" ]; then skip quickstart "measures for half a minute; the optimized build runs it"; finish; fi
for c in jq gnuplot; do
    command -v $c >/dev/null || { skip quickstart "no $c here"; finish; }
done
o=$tmp/res
# On one CPU: roofs of several threads are measured by tests of profile and of ceilings.
one=
! command -v taskset >/dev/null || one="taskset -c $(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')"
ROOFCAST_BIN=$ROOFCAST ROOFCAST_OUT=$o ROOFCAST_PROFILE_SECONDS=3 $one "$top_srcdir/quickstart" "$top_srcdir/tests/fixtures/llama-2l.gguf" >"$tmp/out" 2>"$tmp/err"
ok $? "runs to the end"
missing=0
for f in this run bench analysis predict; do jq -e .schema "$o/$f.json" >/dev/null || missing=1; done
for f in svg png gp tsv; do [ -s "$o/roofline.$f" ] || missing=1; done
grep -q '^<h1>' "$o/report.html" && grep -q 'Content-Security-Policy' "$o/report.html" || missing=1
ok $missing "every file it names is there"
[ "$(grep -c '^[1-5]\. ' "$tmp/out")" -eq 5 ]
ok $? "five lines"

# Number k of line l, SI prefix applied, against a value from a document (0.6 % covers the rounding of three digits).
number() { # LINE K
    sed -n "s/^$1\. //p" "$tmp/out" | sed 's/ (90 %: [^)]*)//g; s/rtx-4090//; s/h100-sxm//' | grep -oE '[0-9]+(\.[0-9]+)?( [kMGT](B|FLOP)/s)?' | sed -n "$2p" |
        awk '{ s = substr($2, 1, 1); print $1 * (s == "M" ? 1e6 : s == "G" ? 1e9 : s == "T" ? 1e12 : 1) }'
}
same() { # LINE K FILE FILTER FACTOR NAME
    a=$(number "$1" "$2") b=$(jq -r "$4" "$o/$3.json")
    holds "(d = $a / ($b * $5) - 1) < 0.006 && d > -0.006 || ($a - $b * $5) ^ 2 < 0.0026" "$6: printed $a, in $3.json $b"
}
d='.rows[] | select(.phase == "decode")' p='.rows[] | select(.phase == "prefill")'
same 1 1 bench "$d | .bytes_s" 1 "bytes/s of decode"
same 1 2 bench "$d | .mbu" 100 "MBU"
same 1 3 bench "$d | .ceiling_bytes_s" 1 "the ceiling"
same 1 4 bench "$d | .tok_s_mean" 1 "tokens/s of decode"
same 2 1 bench "$p | .flop_s" 1 "FLOP/s of prefill"
same 2 2 bench "$p | .mfu" 100 "MFU"
same 2 3 bench "$p | .ceiling_flop_s" 1 "the peak"
same 2 4 bench "$p | .tok_s_mean" 1 "tokens/s of prefill"
same 3 1 bench '[.roles[] | select(.phase == "decode") | .share] | max' 100 "share of the longest role"
same 4 1 predict "[$d][0].tok_s" 1 "predicted decode here"
same 4 2 bench "$d | .tok_s_mean" 1 "measured decode"
same 4 3 predict "[$p][0].tok_s" 1 "predicted prefill here"
same 4 4 bench "$p | .tok_s_mean" 1 "measured prefill"
is 4 "$(sed -n 's/^[45]\. //p' "$tmp/out" | grep -oE '[0-9.]+ \(90 %: [0-9.]+ to [0-9.]+\)' | tr -d '(%:)' |
    awk '$1 > $3 && $1 < $5 { n++ } END { print n + 0 }')" "each of four predictions lies in the interval behind it"
same 5 1 predict "[$d][1].tok_s" 1 "predicted decode, H100"
same 5 2 predict "[$d][2].tok_s" 1 "predicted decode, RTX 4090"
finish
