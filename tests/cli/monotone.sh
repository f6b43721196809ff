#!/bin/sh
# More sequences at once are never fewer tokens a second, and a longer cache never takes less time: constants that hold from some point on, and
# kernels that change there, leave no step. Where a kernel takes no more than 8 tokens (SYCL's experts) there is a reason for one.
. "${top_srcdir:?}/tests/cli/lib.sh"

batches=$(seq -s, 1 64)
# falls HW MODEL TYPE: the first place where tokens a second fall with the batch or rise with the depth, and how many were looked at
falls() {
    run predict --hw "$1" --model "$2" -q "$3" -p 0 -n 32 -b "$batches" -d 0,384,512,1792,2048,8192 -o csv || return 1
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
        $c["phase"] == "decode" { b = $c["n_batch"]; d = $c["n_depth"]; v[d, b] = $c["tok_s"]; n++ }
        END { split("0 384 512 1792 2048 8192", q, " ")
            for (i = 1; i <= 6; i++) for (b = 1; b <= 64; b++) {
                if (b > 1 && v[q[i], b] < v[q[i], b - 1] * (1 - 1e-9)) { printf "batch %d at depth %d ", b, q[i]; exit }
                if (i > 1 && v[q[i], b] > v[q[i - 1], b] * (1 + 1e-9)) { printf "depth %d of batch %d ", q[i], b; exit }
            }
            printf "%d", n }' "$tmp/out"
}

for hw in ryzen-7950x raspberry-pi-5 xeon-8480plus rtx-4090 rx-7900xtx apple-m2-max; do
    for model in llama-3-8b:Q4_K_M qwen3-30b-a3b:Q4_K_M llama-3-8b:F16; do
        is 384 "$(falls $hw "${model%:*}" "${model#*:}")" "$hw $model"
    done
done
is 384 "$(falls arc-pro-b70 llama-3-8b Q4_K_M)" "arc-pro-b70 llama-3-8b:Q4_K_M"
finish
