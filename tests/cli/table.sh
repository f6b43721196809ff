#!/bin/sh
# tests/bench/table.sh with a made-up engine and peer: rows by pattern, targets by batch, ratios of rounds, rounds of several calls.
. "${top_srcdir:?}/tests/cli/lib.sh"
script=$top_srcdir/tests/bench/table.sh
bin=$tmp/bin
mkdir "$bin" "$tmp/m" || exit 99
for q in Q8_0 Q4_K_M BF16 F16; do head -c 1000 /dev/zero >"$tmp/m/tinyllama-1.1b-$q.gguf"; done
program() { # NAME, its text on standard input
    { echo '#!/bin/sh'; cat; } >"$bin/$1"
    chmod +x "$bin/$1"
}
# Memory's roof of 40 GB/s costs as much as the other at 8 sequences; 16 are slower than 8.
program roofcast <<E
[ "\$1" = --version ] && { echo "roofcast 9.9"; exit; }
n=\$((\$(cat "$tmp/n" 2>/dev/null || echo 0) + 1))
echo \$n >"$tmp/n"
case "\$*" in
*json*) printf '{\n  "loads": [\n {\n "packed_bytes": 900,\n "pack_s": 0.5,\n "peak_bytes": 1100\n }\n ]\n}\n'; exit ;;
esac
echo "test,tok_s_mean,bytes_s,ceiling_bytes_s,flop_s,ceiling_flop_s,cpu_share"
case "\$*" in
*"-b 1"*)
    echo "tg16@d16,\$((10 * n)),36e9,40e9,45e9,400e9"
    echo "tg16x2@d16,20,36e9,40e9,90e9,400e9"
    echo "tg16x8@d16,70,24e9,40e9,240e9,400e9"
    echo "tg16x16@d16,60,12e9,40e9,240e9,400e9"
    echo "tg16x32@d16,80,8e9,40e9,320e9,400e9"
    echo ;;
*"-p 512 -n 0"*) echo "pp512,300,1e9,40e9,300e9,400e9" ;;
*) echo "tg24,\$((10 * n)),30e9,40e9,1e9,400e9,\$([ \$n -gt \$(cat "$tmp/busy" 2>/dev/null || echo 0) ] && echo 0.97 || echo 0.5)" ;;
esac
E
program llama-bench <<E
echo "\$*" >>"$tmp/asked"
a=10
case "\$*" in *-rtr*) a=5 ;; esac
printf '[\n{\n"n_prompt": 0,\n"n_gen": 24,\n"avg_ts": %d.0\n}\n]\n' \$a
E
program llama-batched-bench <<E
echo "\$*" >>"$tmp/asked"
echo '|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |'
echo '|    16 |     16 |    1 |     32 |    0.013 |  1265.12 |    0.255 |     5.00 |    0.267 |   119.78 |'
echo '|    16 |     16 |    8 |     64 |    0.012 |  2761.72 |    4.912 |    35.00 |    4.923 |    13.00 |'
E
program likwid-bench <<'E'
case "$*" in *load_avx512*) echo "MByte/s: 30000" ;; *) exit 1 ;; esac
E
table() { # ARGS...
    rm -f "$tmp/n" "$tmp/asked"
    ROOFCAST_PEERS=${peers-$bin/llama-bench} PATH=$bin:$PATH ROOFCAST=$bin/roofcast sh "$script" -d "$tmp/m" -t 1 "$@" >"$tmp/out" 2>"$tmp/err"
    status=$?
}
table -l 'decode-Q*'
[ "$status" -eq 0 ] && has '^decode-Q8_0-1t$' && ! has 'F16' && ! has 'batch'
ok $? "rows by pattern"
table nothing
[ "$status" -eq 2 ]
ok $? "a pattern that no row has is refused"
table -r 3 decode-Q8_0-1t
[ "$status" -eq 0 ] && has '^decode-Q8_0-1t *tg24 *20.0 *10.0 - 30.0 *75.0 (75.0 - 75.0) *97 % *2.00 (1.00 - 3.00) 1 *3 memory$' &&
    [ "$(grep -c -e '-rtr' "$tmp/asked")" -eq 1 ] && [ "$(grep -c . "$tmp/asked")" -eq 4 ]
ok $? "medians, of the roof, ratios of rounds with the setting that leads"
table -r 1 decode-F16-1t
[ "$status" -eq 0 ] && ! grep -q -e '-rtr' "$tmp/asked" && has ' 95 % '
ok $? "F16 without -rtr; its own target"
peers=$tmp/none/llama-bench table -r 2 decode-Q8_0-1t
[ "$status" -eq 0 ] && [ "$(grep -c 'none/llama-bench: not there, or not a program: left out' "$tmp/out")" -eq 1 ] && ! has failed
ok $? "a peer that is not there is left out, and said once"
echo 2 >"$tmp/busy"
peers='' table -r 1 decode-Q8_0-1t
has '^decode-Q8_0-1t *tg24 *30.0 *30.0 - 30.0 ' && ! has 'left out'
ok $? "a test that others took the CPUs from is asked again"
echo 3 >"$tmp/busy"
peers='' table -r 1 decode-Q8_0-1t
has '^decode-Q8_0-1t: others had the CPUs, left out: tg24 *$' && ! has '^decode-Q8_0-1t *tg24 '
ok $? "three times, and then left out"
rm "$tmp/busy"
table -r 1 batch-Q8_0-1t
has ' tg16x2@d16 .* 90.0 (90.0 - 90.0) *88 % .* memory$' && has ' tg16x8@d16 .* 60.0 (.*) *55 % *2.00 (2.00 - 2.00) 1 ' &&
    has ' tg16x16@d16 .* 55 % .* compute, slower, FALLS$' && has ' tg16x32@d16 .* 80.0 (.*) *65 % .* compute, slower$'
ok $? "batches: each side of half the ridge, and tokens/s that fall"
printf 'batch-Q8_0-1t\ttg16x8@d16\ttok_s_mean\t1-1.1\t70\n' >"$tmp/kept16"
peers='' table -r 1 -o "$tmp/kept16" batch-Q8_0-1t
[ "$(awk '$1 == "batch-Q8_0-1t" { printf "%s ", $2 }' "$tmp/out")" = 'tg16@d16 tg16x2@d16 tg16x8@d16 tg16x16@d16 tg16x32@d16 ' ] &&
    [ "$(grep -c FALLS "$tmp/out")" -eq 1 ]
ok $? "batches by size, whatever came first"
peers='' table -t "$(getconf _NPROCESSORS_ONLN)" -r 1 prefill-Q8_0 prefill-Q4_K_M prefill-BF16 prefill-F16
has '^prefill-Q8_0 *pp512 *300.0 .* 75.0 (75.0 - 75.0) *73 % .* compute$' && has '^prefill-Q4_K_M .* 67 % ' &&
    has '^prefill-BF16 .* 87 % ' && has '^prefill-F16 .* 88 % '
ok $? "prompts, of the roof of their arithmetic"
peers='' table -t "$(getconf _NPROCESSORS_ONLN)" -r 1 -o "$tmp/kept" load-Q8_0
peers='' table -t "$(getconf _NPROCESSORS_ONLN)" -r 1 -o "$tmp/kept" load-Q8_0
has '^load-Q8_0 *load *0.500 s .* x read .* 2 x *2 rounds$' && has '^load-Q8_0 *peak .* 1.100 x file .* 1.1 x + KV *2 rounds$'
ok $? "load and memory; rounds of two calls make one table"
[ "$(grep -c '^# [0-9]*-[0-9]*: roofcast 9.9, -n 2$' "$tmp/kept")" -eq 2 ]
ok $? "and the file says who measured"
if [ -w /dev/full ]; then
    table -r 1 -o /dev/full decode-Q8_0-1t
    [ "$status" -eq 1 ] && says 'table: cannot write /dev/full' && [ ! -e "$tmp/n" ]
    ok $? "figures that cannot be kept end it before anything runs"
fi
finish
