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
echo "\$*" >>"$tmp/asked"
echo "test,type,phase,tok_s_mean,bytes_s,ceiling_bytes_s,mfu"
case "\$*" in
*"-d 16"*) at=@d16 ;;
*) at=; echo "pp8,\${TYPE:-Q8_0},prefill,\$((100 * n)),,\${PROBE:-30e9},0.4\$n" ;;
esac
echo "tg4\$at,\${TYPE:-Q8_0},decode,\$((10 * n)),\$((3 * n))e9,\${PROBE:-30e9},"
E
# With run-time repacking it is twice as fast at prompts, and half as fast at the rest; merged matrices make both slower.
program peer <<E
echo "\$*" >>"$tmp/asked"
E
cat >>"$bin/peer" <<'E'
case "$*" in
*--help*) printf '  -m, --model <f>\n  -p, --n-prompt <n>\n  -n, --n-gen <n>\n  -gp <pp,tg>\n  -fa, --flash-attn <0|1>\n  -rtr, --run-time-repack <0|1>\n  -mqkv, --merge-qkv\n  -muge, --merge-up-gate-experts\n'; exit ;;
*"-gp 16,4"*) printf '[\n{\n"n_prompt": 16,\n"n_gen": 4,\n"avg_ts": 20\n}\n]\n'; exit ;;
*"-mqkv 1"*) a=70 b=7 ;;
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
    rm -f "$tmp/n" "$tmp/asked"
    list=$1
    shift
    ROOFCAST_PEERS=$list PATH=$bin:$PATH ROOFCAST=$bin/roofcast sh "$script" -p 8 -n 4 -t 1 "$@" "$tmp/m.gguf" >"$tmp/out" 2>"$tmp/err"
    status=$?
}
peers "$bin/peer:$bin/none:$bin/broken" -r 5
ok "$status" "runs to the end"
has '^m.gguf *pp8 *roofcast *300.00 *100.00 - *500.00 *43.0 % (41.0 - 45.0)$' &&
    has '^m.gguf *tg4 *roofcast *30.00 *10.00 - *50.00 *30.0 % (10.0 - 50.0)$'
ok $? "median, least and most of five rounds, and of the roof"
has '^m.gguf *pp8 *peer 1 -t 1 -rtr 1 -fa 1 *100.50 .* 2.99 (1.00 - 4.98)$' && has '^m.gguf *tg4 *peer 1 -t 1 -fa 1 *10.00 .* 3.00 (1.00 - 5.00)$'
ok $? "a peer's best setting of each test, and the ratio to it, round by round"
[ "$(grep -c -e '-o json.*-rtr 1 -fa 1' "$tmp/asked")" -eq 5 ] && [ "$(grep -c -e '-mqkv 1' "$tmp/asked")" -eq 1 ]
ok $? "a setting a fifth below the best in all tests is asked once, one that leads a test always"
has "  $bin/peer -m FILE -p 8 -n 4 -r 1 -o json -t 1 -rtr 1 -fa 1" && has 'peer 1: build 7 (abc)' && has '^roofcast: roofcast 9.9'
ok $? "command lines and versions"
has "peer 2: $bin/none: not there" && has 'peer 3 -t 1 on m.gguf failed: cannot load the model' && [ "$(grep -c 'peer 3 .*failed' "$tmp/out")" -eq 1 ]
ok $? "a missing and a failing peer are a line each"
has '^likwid-bench -t load_avx ' && has '^m.gguf *30.00 GB/s *30.00 GB/s *1.000 (1.000 - 1.000)$'
ok $? "the fastest load loop beside the probe"
TYPE=F16
export TYPE
peers "$bin/peer" -r 5
[ "$status" -eq 0 ] && has '^m.gguf: without -rtr, which makes BF16 of F16' && ! grep -q -e '-o json.*-rtr' "$tmp/asked" && has 'tg4 *peer 1 -t 1 -fa 1'
ok $? "a setting that changes the arithmetic of F16 is not used"
unset TYPE
peers "$bin/peer" -r 5 -D 16
[ "$status" -eq 0 ] && has '^m.gguf *tg4@d16 *roofcast *30.00' && has '^m.gguf *tg4@d16 *peer 1 .* 20.00 .* 1.50 (0.50 - 2.50)$' && ! has 'pp8' &&
    grep -q -e '-p 0 -n 4 -d 16' "$tmp/asked" && grep -q -e '-p 0 -n 0 -gp 16,4' "$tmp/asked"
ok $? "generation after a context, each in its own words"
PROBE=29e9
export PROBE
peers "" -r 5
[ "$status" -eq 1 ] && has VOID && has 'no peers: ROOFCAST_PEERS names none'
ok $? "a probe below 97 % makes the run void; no peers is a line"
PROBE=29.2e9
peers "" -r 5
[ "$status" -eq 0 ] && ! has VOID
ok $? "97.3 % does not"
cp "$bin/roofcast" "$tmp/good"
echo 'exit 1' | program roofcast
peers "" -r 5
[ "$status" -eq 1 ] && has '^roofcast on ' && ! has VOID && has '^m.gguf *30.00 GB/s *- *-$'
ok $? "roofcast that fails is a failure, and no probe that reads too little"
cp "$tmp/good" "$bin/roofcast"
echo 'exit 127' | program likwid-bench
peers "$bin/peer" -r 5
[ "$status" -eq 0 ] && has 'no likwid-bench that runs here' && has '^m.gguf *- *29.20 GB/s'
ok $? "no likwid-bench is a line"
echo 'exit 1' | program roofcast
peers "$bin/peer" -r 5
[ "$status" -eq 1 ] && has '^roofcast on '
ok $? "nor without likwid-bench"
peers "" -r 5 "$tmp/none.gguf"
[ "$status" -eq 2 ] && says 'none.gguf: no such file' && [ ! -e "$tmp/asked" ]
ok $? "a file that is not there is refused before anything runs"
peers "" -r 4
[ "$status" -eq 2 ] && says 'fewer than 5 rounds'
ok $? "-r 4 is refused"
peers "" -r x
[ "$status" -eq 2 ] && says 'expected a number above 0, found "x"'
ok $? "-r x is refused"
finish
