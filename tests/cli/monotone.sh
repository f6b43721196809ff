#!/bin/sh
# More sequences at once are never fewer tokens a second, and a longer cache never takes less time: constants that hold from some point on, and
# kernels that change there, leave no step; nor does a longer prompt take less time. There is a reason for a step where a kernel takes one token
# (SYCL's experts), another begins (a V100's quantized products of 64 tokens, CDNA's experts above 128), or graphs of kernels end (CUDA's with
# experts, from five tokens on). At 64 tokens constants of prompts take the place of those of fewer, which other rows taught: seconds may fall there, by
# three tenths, half of their interval.
. "${top_srcdir:?}/tests/cli/lib.sh"

batches=$(seq -s, 1 64)
# falls HW MODEL TYPE [BATCHES]: the first place where tokens a second fall with the batch or rise with the depth, and how many were looked at
falls() {
    run predict --hw "$1" --model "$2" -q "$3" -p 0 -n 32 -b "${4:-$batches}" -d 0,384,512,1792,2048,8192 -o csv || return 1
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
        $c["phase"] == "decode" { b = $c["n_batch"]; d = $c["n_depth"]; v[d, b] = $c["tok_s"]; n++ }
        END { split("0 384 512 1792 2048 8192", q, " ")
            for (i = 1; i <= 6; i++) for (b = 1; b <= 64; b++) {
                if ((q[i], b - 1) in v && (q[i], b) in v && v[q[i], b] < v[q[i], b - 1] * (1 - 1e-9)) { printf "batch %d at depth %d ", b, q[i]; exit }
                if (i > 1 && (q[i], b) in v && v[q[i], b] > v[q[i - 1], b] * (1 + 1e-9)) { printf "depth %d of batch %d ", q[i], b; exit }
            }
            printf "%d", n }' "$tmp/out"
}

# sooner HW MODEL TYPE: the first prompt that takes less time than a shorter one, and how many were looked at
prompts=1,2,7,8,9,10,15,16,17,18,31,32,33,48,62,63,64,65,66,96,127,128,129,256,511,512,513
sooner() {
    run predict --hw "$1" --model "$2" -q "$3" -p $prompts -n 0 -o csv || return 1
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
        $c["phase"] == "prefill" { if ($c["seconds"] < last * (1 - ($c["n_prompt"] == 64 ? 0.3 : 1e-9))) { printf "prompt %d ", $c["n_prompt"]; exit }
            last = $c["seconds"]; n++ }
        END { printf "%d", n }' "$tmp/out"
}
# steps HW MODEL TYPE: the first batch whose step takes less time than a smaller one's
steps() {
    run predict --hw "$1" --model "$2" -q "$3" -p 0 -n 32 -b "$batches" -d 512 -o csv || return 1
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
        { if ($c["itl_s"] < last * (1 - 1e-9)) { printf "batch %d ", $c["n_batch"]; exit } last = $c["itl_s"]; n++ }
        END { printf "%d", n }' "$tmp/out"
}

# With sanitizers this takes four times as long: every fifth. The optimized build tries all.
k=0
here() {
    k=$((k + 1))
    [ -z "${ROOFCAST_SANITIZED:-}" ] || [ $((k % 5)) -eq 0 ]
}
for hw in ryzen-7950x raspberry-pi-5 xeon-8480plus rtx-4090 rx-7900xtx apple-m2-max; do
    for model in llama-3-8b:Q4_K_M qwen3-30b-a3b:Q4_K_M qwen3-30b-a3b:F16 llama-3-8b:F16; do
        case $hw:$model in
        rtx-4090:qwen3*) here && is 24360 "$(falls $hw "${model%:*}" "${model#*:}" 1,2,3,4)$(falls $hw "${model%:*}" "${model#*:}" "$(seq -s, 5 64)")" "$hw $model" ;;
        *) here && is 384 "$(falls $hw "${model%:*}" "${model#*:}")" "$hw $model" ;;
        esac
    done
done
is 384 "$(falls arc-pro-b70 llama-3-8b Q4_K_M)" "arc-pro-b70 llama-3-8b:Q4_K_M"
for hw in a100-sxm-80gb rtx-4090 h100-sxm rx-7900xtx mi300x t4 apple-m2-max; do
    for model in llama-3-8b:Q4_K_M qwen3-30b-a3b:F16; do
        here || continue
        is 64 "$(steps $hw "${model%:*}" "${model#*:}")" "$hw $model: steps"
        is 27 "$(sooner $hw "${model%:*}" "${model#*:}")" "$hw $model: prompts"
    done
done
finish
