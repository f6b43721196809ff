#!/bin/sh
# roofcast memory: what takes the memory, the most that fits, every format, clear refusals. Figures: doc/methods.md (25).
. "${top_srcdir:?}/tests/cli/lib.sh"

# 64 GB: 1.2 % of it the driver's, 0.92 of the rest usable: 58,173,440,000 B; up to release 0.26 0.9 of it.
profile() { # FILE KIND MEMORY
    printf '{"schema": "roofcast.hwprofile", "version": 1, "name": "Test", "kind": "%s", "spec": {%s
        "memory_bandwidth": {"value": 1000, "unit": "GB/s", "source": "test"},
        "peaks": {"fp16": {"value": 100, "unit": "TFLOP/s", "source": "test"}},
        "links": [{"name": "Ring", "topology": "ring", "bandwidth": "100 GB/s", "latency": "2 us", "n_devices": 8}]}}\n' "$2" "$3" >"$1"
}
size='"memory_bytes": {"value": 64, "unit": "GB", "source": "test"},'
profile "$tmp/gpu.json" gpu "$size"
profile "$tmp/cpu.json" cpu "$size"
profile "$tmp/blank.json" gpu ""

run memory llama-3.1-8b --hw "$tmp/gpu.json" -c 100,4096 -b 1,7 -o csv
is 5 "$(awk 'END { print NR }' "$tmp/out")" "a row a context and a batch, and a header"
is "58208712831.7952 2097152 131072" "$(cells usable_bytes | head -n 1) $(cells block_bytes | head -n 1) $(cells kv_token_bytes | head -n 1)" \
    "0.92 of what the driver leaves; 16 tokens of 131,072 B a block"
blocks=$(cells blocks | head -n 1)
is "$(awk -v b="$blocks" 'BEGIN { print int(b / 7), int(b / 256), b * 16, int(b / 7) * 16 }')" \
    "$(cells n_batch n_ctx=100) $(cells n_batch n_ctx=4096) $(cells n_ctx n_batch=1) $(cells n_ctx n_batch=7)" \
    "100 tokens are 7 blocks, 4096 are 256; one sequence has all $blocks blocks, 7 have as many each as go"
is "$(awk -v f="$(cells free_bytes | head -n 1)" 'BEGIN { print int(f / 2097152) }')" "$blocks" "blocks are what is left, over their bytes"
run memory llama-3.1-8b --hw "$tmp/gpu.json" -c 4096 -b 1 --kv-type Q8_0 -o csv
is "1114112" "$(cells block_bytes n_ctx=4096)" "Q8_0: 34 B for 32 elements"
run memory llama-3.1-8b --hw "$tmp/gpu.json" --block 1 --util 1 --reserved 0 -c 4096 -b 1 -o csv
is "64000000000 131072" "$(cells usable_bytes n_ctx=4096) $(cells block_bytes n_ctx=4096)" "--util 1 --reserved 0: all of it; --block 1: no pages"
run memory llama-3.1-8b --hw "$tmp/gpu.json" --max-num-batched-tokens 100 -c 4096 -b 1 -o csv
is "100 100" "$(cells max_batched_tokens n_ctx=4096) $(cells max_seqs n_ctx=4096)" "no more sequences are sampled than a pass has tokens"

# A server's defaults, by device and release.
server() { # PROFILE ARGS...
    hw=$1; shift
    run memory llama-3.1-8b --hw "$hw" -c 4096 -b 1 -o csv "$@"
    echo "$(cells server n_ctx=4096), $(cells utilization n_ctx=4096) $(cells max_batched_tokens n_ctx=4096) $(cells max_seqs n_ctx=4096)"
}
is "vLLM 0.30, 0.92 8192 1024" "$(server h100-sxm)" "from 70 GiB on 1,024 sequences and 8,192 tokens"
is "vLLM 0.30, 0.92 2048 256" "$(server a100-sxm-80gb)" "except on an A100"
is "vLLM 0.26, 0.9 2048 256" "$(server l40s --server=vllm-0.26)" "and on smaller devices; 0.9 of the memory before 0.27"
is "vLLM 0.27, 0.92 16384 16384" "$(server b200-sxm --server=v0.27.1 --max-seqs 16384 --max-batched-tokens 16384)" "what is given holds"
is "vLLM 0.30, 0.92 16384 1024" "$(server b200-sxm)" "from 160 GiB on 16,384 tokens"
refused 2 'expected a release of vLLM, such as vllm-0.19; found "new"' memory llama-3.1-8b --hw h100-sxm --server=new
run memory llama-3.1-8b --hw h100-sxm --server=0.20 -o csv -c 4096 -b 1 && is 0 "$(cells graph_bytes n_ctx=4096)" "no graphs are set aside for up to 0.20"
run memory llama-3.1-8b --hw h100-sxm -c 4096 -b 1 && has '^h100-sxm, 1 device, vLLM 0.30$' && has '^ *graphs  *856 MB'
ok $? "from 0.21 on they are: 102 graphs of 32 layers"

# 174,336 tokens on one H200, as vLLM logged; a GPU's profile has its marketed size.
field=${ROOFCAST_SHARED:-none}/data/field/27-vllm-default-seqs/llama70fp8.json
if [ -f "$field" ]; then
    for release in 0.16 0.30; do
        run memory "$field" --hw h200-sxm --util 0.9 --server=$release -c 4096 -b 1 -o csv
        awk -v n="$(cells tokens n_ctx=4096)" 'BEGIN { exit !(n > 0.98 * 174336 && n < 1.02 * 174336) }'
        ok $? "Llama-3.3-70B in FP8 on an H200, $release: within 2 % of what vLLM has"
    done
else
    skip "Llama-3.3-70B in FP8 on an H200" "$field is not here"
fi

# --solve batch=fits is the largest batch of memory, and --solve context=fits its largest context.
for case in "h100-sxm llama-3.1-8b 1" "a100-sxm-80gb llama-3.1-8b 1" "h200-sxm llama-3.1-70b 2" "h100-sxm qwen3-30b-a3b 2"; do
    set -- $case
    run memory "$2" --hw "$1" --tp "$3" -c 4096 -b 16 -o csv && most=$(cells n_batch n_ctx=4096) && longest=$(cells n_ctx n_batch=16)
    run predict "$2" --hw "$1" --tp "$3" -p 3996 -n 100 --solve batch=fits -o csv && found=$(cells value)
    run predict "$2" --hw "$1" --tp "$3" -p 0 -n 1 -b 16 --solve context=fits -o csv
    is "$most $longest" "$found $(($(cells value) + 1))" "predict and memory agree on $2 on $1, tp $3"
done
run predict llama-3.1-8b --hw h100-sxm -p 3996 -n 100 --solve batch=fits && has '109 sequences: needs [0-9.]* GB of the [0-9.]* GB that a server uses'
ok $? "and predict says whose share of the memory it is"
run predict llama-3.1-8b --hw rtx-4090 -p 3996 -n 100 --solve batch=fits && ! has 'that a server takes'
ok $? "which is all of it for software that is no server"
run predict llama-3.1-8b --hw rtx-4090 -p 3996 -n 100 --solve batch=fits -o csv && found=$(cells value)
run memory llama-3.1-8b --hw rtx-4090 --local -c 4096 -b 1 -o csv
is "$found" "$(cells n_batch n_ctx=4096)" "as memory --local has it"
run memory llama-3.1-8b --hw rtx-4090 -c 4096 && has '^vLLM: a server that uses the share --util of the memory; --local: ' && run memory llama-3.1-8b --hw rtx-4090 --local -c 4096 && ! has vLLM
ok $? "and memory says which it assumes"
run memory llama-3.1-8b --hw h100-sxm --max-batched-tokens 16384 -c 4096 -b 1 -o csv && most=$(cells n_batch n_ctx=4096)
run predict llama-3.1-8b --hw h100-sxm -ub 16384 -p 3996 -n 100 --solve batch=fits -o csv
is "$most" "$(cells value)" "with passes as they are given, too"

run memory llama-3.1-70b --hw "$tmp/gpu.json" -c 4096,131072 -b 1 -o csv
is "0 false 4 0 false 4 0 false 4" "$(cells n_batch n_ctx=4096) $(cells fits n_ctx=4096) $(cells tp_needed n_ctx=4096) \
$(cells n_batch n_ctx=131072) $(cells fits n_ctx=131072) $(cells tp_needed n_ctx=131072) \
$(cells n_ctx n_batch=1) $(cells fits n_batch=1) $(cells tp_needed n_batch=1)" "141 GB: not on one, nor on two; four hold them"
run memory llama-3.1-70b --hw "$tmp/gpu.json" --tp 4 -c 4096 -b 1 -o csv
is "true " "$(cells fits n_ctx=4096) $(cells tp_needed n_ctx=4096)" "on four it fits"
run memory llama-3.1-70b --hw "$tmp/gpu.json" --tp 4 -c 4096 -b 1 && has 'tp4, the device with the largest need' && has '^ *KV cache .*blocks of 16 tokens'
ok $? "the table says what takes the memory of the fullest device"
run memory llama-3.1-70b --hw "$tmp/gpu.json" -c 4096 -b 1 && has '^ *missing  *[0-9.]* GB  for the weights' && has 'needs tp'
ok $? "or what is missing"

run memory llama-3.1-8b --hw "$tmp/cpu.json" -c 4096 -b 1 -o csv
is "false 1 1 64000000000 0" "$(cells served n_ctx=4096) $(cells block n_ctx=4096) $(cells utilization n_ctx=4096) \
$(cells usable_bytes n_ctx=4096) $(cells runtime_bytes n_ctx=4096)" "a CPU: one program by itself, all of the memory"
run memory llama-3.1-8b --hw "$tmp/gpu.json" --local -c 4096 -b 1 -o csv
most=$(cells n_batch n_ctx=4096)
run predict llama-3.1-8b --hw "$tmp/gpu.json" -p 3996 -n 100 -b "$most" -o csv && one=$(cells fits test="pp3996x$most")
run predict llama-3.1-8b --hw "$tmp/gpu.json" -p 3996 -n 100 -b "$((most + 1))" -o csv
is "true false" "$one $(cells fits test="pp3996x$((most + 1))")" "predict agrees: $most sequences of 4096 fit, one more does not"

run memory llama-3.1-8b --hw "$tmp/blank.json" -c 4096 -b 1 -o json &&
    has '"fits": null' && has '"n_batch": null' && has '"blocks": null' && has '"memory_bytes": null' && ! has '"weight_bytes": null'
ok $? "a profile without a memory size: null, never 0"
run memory llama-3.1-8b --hw "$tmp/blank.json" && has '^ *memory  *unknown' && has '^ *KV cache  *unknown' && has 'unknown: the profile has no memory size'
ok $? "unknown in the table"
run memory mistral-7b --hw h100-sxm,rtx-4090 -o md && has '^| h100-sxm' && has '^| rtx-4090'
ok $? "two machines, as Markdown"
run memory stories15m --hw h100-sxm -o json --save "$tmp/m.json" && cmp -s "$tmp/out" "$tmp/m.json" && has '"n_ctx": 256'
ok $? "--save; a model trained on 256 positions is asked for those"

# DeepSeek-V3 in F16 has 1.34 TB: sixteen devices of 141 GB, and NVLink joins eight.
run memory deepseek-v3 --hw h200-sxm -c 4096 -b 1 -o csv
is "|it needs more devices than a link connects (8)" "$(cells tp_needed n_ctx=4096)|$(cells tp_note n_ctx=4096)" "no layout is named that no link joins"
run memory deepseek-v3 --hw h200-sxm -c 4096 -b 1 && has '^needs tp: none on h200-sxm: it needs more devices than a link connects (8)\.$' &&
    [ "$(grep -c '^needs tp: none' "$tmp/out")" -eq 1 ]
ok $? "the table says so once"
run memory deepseek-v3 --hw h200-sxm -c 4096 -b 1 -o json && has '"tp_needed": null' && has '"tp_note": "it needs more devices than a link connects (8)"'
ok $? "and JSON"
run memory llama-3.1-70b --hw apple-m1 -q Q8_0 -c 4096 -b 1 -o csv && is "|no link connects the devices needed" \
    "$(cells tp_needed n_ctx=4096)|$(cells tp_note n_ctx=4096)" "a machine without links"
refused 1 "profile h200-sxm has no link that joins 32 devices" memory deepseek-v3 --hw h200-sxm --tp 32 --pp 2
refused 1 "profile apple-m1 has no link that joins 2 devices" memory llama-3.1-8b --hw apple-m1 --pp 2
refused 2 "no MODEL" memory --hw h100-sxm
refused 2 "tp 3 does not divide 32 heads" memory llama-3.1-8b --hw h100-sxm --tp 3
refused 2 "ep 2: the model has no experts" memory llama-3.1-8b --hw h100-sxm --ep 2 --dp 2
refused 2 "300 sequences in a pass of 200 tokens" memory llama-3.1-8b --hw h100-sxm --max-seqs 300 --max-batched-tokens 200
refused 2 "--util" memory llama-3.1-8b --hw h100-sxm --util 1.5
refused 2 "--block" memory llama-3.1-8b --hw h100-sxm --block 0
refused 2 "-c" memory llama-3.1-8b --hw h100-sxm -c 0
refused 2 "-b" memory llama-3.1-8b --hw h100-sxm -b x
refused 2 "--server and --local" memory llama-3.1-8b --hw h100-sxm --server --local
refused 1 "no-such-machine" memory llama-3.1-8b --hw no-such-machine
for form in table csv json md; do
    run memory llama-3.1-70b --hw h100-sxm,arc-a310 --tp 4 -o $form && has 'no link that joins 4 devices' && has h100-sxm
    ok $? "a machine on which nothing can run is rows that say why in $form, the others keep theirs"
done
run memory llama-3.1-70b --hw arc-a310,core-i5-4278u --tp 4 -o csv
[ $status -eq 1 ] && has arc-a310 && says 'on none of 2 machines'
ok $? "nothing can run on any: the exit status says so"
refused 1 'no link that joins 4 devices' memory llama-3.1-70b --hw arc-a310 --tp 4
finish
