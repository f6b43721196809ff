#!/bin/sh
# tests/bench/peers.sh with made-up engines beside a made-up roofcast: medians, the best setting, ratios, what is missing.
. "${top_srcdir:?}/tests/cli/lib.sh"
script=$top_srcdir/tests/bench/peers.sh
bin=$tmp/bin
mkdir "$bin" || exit 99
: >"$tmp/m.gguf"
program() { # NAME, its text on standard input
    { echo '#!/bin/sh'; cat; } >"$bin/$1"
    chmod +x "$bin/$1"
}
# Speeds of 100, 200, ... tokens/s from round to round.
program roofcast <<E
[ "\$1" = --version ] && { echo "roofcast 9.9"; exit; }
n=\$((\$(cat "$tmp/n" 2>/dev/null || echo 0) + 1))
echo \$n >"$tmp/n"
echo "test,phase,tok_s_mean,ceiling_bytes_s,mbu"
echo "pp8,prefill,\$((100 * n)),\${PROBE:-30e9},"
echo "tg4,decode,\$((10 * n)),\${PROBE:-30e9},0.5"
E
# With run-time repacking it is twice as fast at prompts, and half as fast at the rest.
program peer <<'E'
case "$*" in
*--help*) printf '  -m, --model <f>\n  -p, --n-prompt <n>\n  -n, --n-gen <n>\n  -fa, --flash-attn <0|1>\n  -rtr, --run-time-repack <0|1>\n'; exit ;;
*"-rtr 1"*) a=100 b=5 ;;
*) a=50 b=10 ;;
esac
printf '[\n{\n"build_commit": "abc",\n"build_number": 7,\n"n_prompt": 8,\n"n_gen": 0,\n"avg_ts": %d.5,\n},\n{\n"n_prompt": 0,\n"n_gen": 4,\n"avg_ts": %d\n}\n]\n' $a $b
E
program broken <<'E'
case "$*" in *--help*) printf '  -m, --model <f>\n  -p, --n-prompt <n>\n  -n, --n-gen <n>\n'; exit ;; esac
echo "cannot load the model" >&2
exit 1
E
program likwid-bench <<'E'
case "$*" in
-a) echo "load - scalar"; echo "load_avx - AVX" ;;
*load_avx*) echo "MByte/s: 30000" ;;
*load*) echo "MByte/s: 10000" ;;
*) exit 1 ;;
esac
E
peers() { # PEERS ARGS...
    rm -f "$tmp/n"
    list=$1
    shift
    ROOFCAST_PEERS=$list PATH=$bin:$PATH ROOFCAST=$bin/roofcast sh "$script" -p 8 -n 4 -t 1 "$@" "$tmp/m.gguf" >"$tmp/out" 2>"$tmp/err"
    status=$?
}
peers "$bin/peer:$bin/none:$bin/broken" -r 5
ok "$status" "runs to the end"
has '^m.gguf *pp8 *roofcast *300.00 *100.00 - *500.00 *133.3 %'
ok $? "median, least, most and spread of five rounds"
has '^m.gguf *pp8 *peer 1 -fa 1 -rtr 1 *100.50 .* 2.99$' && has '^m.gguf *tg4 *peer 1 -fa 1 *10.00 .* 3.00$'
ok $? "a peer's best setting of each test, and the ratio to it"
has "  $bin/peer -m FILE -p 8 -n 4 -r 1 -t 1 -o json -fa 1 -rtr 1" && has 'peer 1: build 7 (abc)' && has '^roofcast: roofcast 9.9'
ok $? "command lines and versions"
has "peer 2: $bin/none: not there" && has 'peer 3 on m.gguf failed: cannot load the model' && [ "$(grep -c 'peer 3 on' "$tmp/out")" -eq 1 ]
ok $? "a missing and a failing peer are a line each"
has '^likwid-bench -t load_avx ' && has '^m.gguf *30.00 GB/s *30.00 GB/s *1.000 *50.0 %'
ok $? "the fastest load loop beside the probe"
PROBE=29e9
export PROBE
peers "" -r 5
[ "$status" -eq 1 ] && has VOID && has 'no peers: ROOFCAST_PEERS names none'
ok $? "a probe below 97 % makes the run void; no peers is a line"
PROBE=29.2e9
peers "" -r 5
[ "$status" -eq 0 ] && ! has VOID
ok $? "97.3 % does not"
echo 'exit 127' | program likwid-bench
peers "$bin/peer" -r 5
[ "$status" -eq 0 ] && has 'no likwid-bench that runs here' && has '^m.gguf *- *29.20 GB/s'
ok $? "no likwid-bench is a line"
echo 'exit 1' | program roofcast
peers "$bin/peer" -r 5
[ "$status" -eq 1 ] && has '^roofcast on '
ok $? "roofcast that fails is a failure"
peers "" -r 4
[ "$status" -eq 2 ] && says 'fewer than 5 rounds'
ok $? "-r 4 is refused"
peers "" -r x
[ "$status" -eq 2 ] && says 'expected a number above 0, found "x"'
ok $? "-r x is refused"
finish
