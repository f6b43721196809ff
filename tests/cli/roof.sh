#!/bin/sh
# --roof is a bound: no prediction, and no interval's fast end, is above it on any machine, for any type, in any phase. methods.md (27)
. "${top_srcdir:?}/tests/cli/lib.sh"

machines=all
[ -n "${ROOFCAST_SANITIZED:-}" ] && machines=$(for f in "$top_srcdir"/hwprofiles/*.json; do basename "$f" .json; done | awk '$1 != "classes" && NR % 16 == 0' | paste -s -d, -)

# pairs NAME COMMAND ARGS [-- ARGS of the prediction alone]: the same rows with --roof and without, whose rates are not above. Texts in quotes may
# hold commas.
pairs() {
    name=$1
    shift
    csv "$tmp/roof.csv" "$@" --roof && csv "$tmp/price.csv" "$@" $only && above "$tmp/roof.csv" "$tmp/price.csv" >"$tmp/out" && [ ! -s "$tmp/out" ]
    ok $? "$name"
}
csv() {
    to=$1
    shift
    "$ROOFCAST" "$@" -o csv 2>"$tmp/err" | sed 's/"[^"]*"//g' >"$to"
    [ -s "$to" ]
}
# Rows that say more than their roof, line by line, of every rate and both ends of its interval; "no rows" where nothing is compared.
above() { # ROOF PRICE
    awk -F, '
        NR == 1 { n_rate = split("tok_s prefill_tok_s decode_tok_s", rate, " "); for (i = 1; i <= NF; i++) at[$i] = i }
        NR == FNR { for (i = 1; i <= n_rate; i++) if (rate[i] in at) roof[FNR, i] = $at[rate[i]]; next }
        FNR == 1 { next }
        { for (i = 1; i <= n_rate; i++) if (rate[i] in at && $at[rate[i]] != "") {
              n++; most = roof[FNR, i] * (1 + 2e-5) # six digits
              if (!(roof[FNR, i] > 0) || $at[rate[i]] > most || $at[rate[i] "_hi"] > most) print "above " roof[FNR, i] ": " $0 } }
        END { if (n == 0) print "no rows" }' "$1" "$2"
}
only=
types=Q4_0,Q4_K_M,Q8_0,F16,BF16,F32,FP8,W8A8,AWQ,NVFP4,MXFP4
pairs "every machine, type and phase" sweep -m llama-2-7b,qwen3-30b-a3b,deepseek-v3 -q $types --hw "$machines" -p 32,512,6000 -n 128 -b 1,32 -d 0,3000 --quiet
for only in '--stack vllm' '--stack llama.cpp-vulkan' '--stack tensorrt-llm' '--stack none'; do
    pairs "with $only" sweep -m llama-2-7b -q $types --hw "$machines" -p 32,512,20000 -n 128 -b 1,32 --quiet
done
only=
pairs "several devices" sweep -m llama-3.1-70b -q FP8 --hw h100-sxm,h200-sxm,b200-sxm,mi300x --tp 1,2 --pp 1,2 --dp 1,2 -p 512 -n 128 -b 1,7,64 --quiet
some=rtx-4090,h200-sxm,mi300x,gtx-1080,apple-m3-max-40,epyc-9654,dgx-spark-gb10
pairs "whole requests" predict llama-2-7b -q Q4_0 --hw $some --request 512+128,2048+16
pairs "drafts" predict llama-3.1-8b -q Q4_0 --hw $some --draft llama-3.2-1b --draft-type Q4_0 --gamma 4 --acceptance 0.8

# The units that kernels multiply quantized weights on, not those of the type that they are widened to.
run predict llama-2-7b -q Q4_0 --hw rtx-4090 --roof -n 0 -o csv
is 'int8 661' "$(cells math) $(cells peak_flop_s | awk '{ printf "%.3g", $1 / 1e12 }')" "Q4_0 on an RTX 4090: INT8"
run predict llama-2-7b -q Q4_0 --hw rtx-4090 --roof -n 0 --explain && has 'peak int8  *661 TFLOP/s  *(27)'
ok $? "which --explain names"
run predict llama-2-7b -q F16 --hw rtx-4090 --roof -n 0 -o csv
is 'fp16 330' "$(cells math) $(cells peak_flop_s | awk '{ printf "%.3g", $1 / 1e12 }')" "F16: sums of 16 bits"
run predict llama-2-7b -q F16 --hw h100-sxm --roof -n 0 -o csv
is 'fp16 989' "$(cells math) $(cells peak_flop_s | awk '{ printf "%.3g", $1 / 1e12 }')" "an H100's are as fast with 32"
finish
