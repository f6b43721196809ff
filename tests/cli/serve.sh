#!/bin/sh
# roofcast serve of a workload: sizes of the KV cache, interrupts, what is refused before the first request.
. "${top_srcdir:?}/tests/cli/lib.sh"
m=$top_srcdir/tests/fixtures/llama-2l.gguf
small="--workload random:in=20,out=4 --requests 2"
serve() { # ARGS...
    # shellcheck disable=SC2086
    run serve -m "$m" -t 1 $small "$@"
}

# ---- the KV cache
"$ROOFCAST" synth gemma-3-1b --n-embd 64 --n-ff 64 --n-head 2 --n-head-kv 1 --n-vocab 512 --window 32 -q F16 -o "$tmp/groups.gguf" --quiet || exit 99
# shellcheck disable=SC2086
run serve -m "$tmp/groups.gguf" -t 1 $small --kv-cache-memory 2MB -o json && has '"kv_blocks": 244,'
ok $? "layers with windows: a block holds 16 positions of a group's 4 of 26 layers, 8 kB"
for size in 8 128; do
    serve --block-size $size -o json && has "\"block_size\": $size,"
    ok $? "blocks of $size"
done
blocks="--num-speculative-tokens 16 --num-gpu-blocks-override 7"
# shellcheck disable=SC2086
serve $blocks --draft ngram && says 'max-model-len is 80:'
ok $? "n-grams: room for the drafts of a step"
# shellcheck disable=SC2086
serve $blocks --spec-synth-rates 0.5 && says 'max-model-len is 64:'
ok $? "else room for as many of a draft model, as vLLM"
serve --max-model-len 5000 --num-gpu-blocks-override 400 && says 'warning: max-model-len is 5000: .* was trained on [0-9]* positions'
ok $? "sequences longer than the model was trained on: a warning"
refused 2 'a sequence of --max-model-len 100 takes 7 KV blocks of 16 positions: there are 3' serve -m "$m" --max-model-len 100 --num-gpu-blocks-override 4
refused 1 'request 1: a request of 100 + 20 tokens: max-model-len is 64' serve -m "$m" --max-model-len 64 --workload random:in=100,out=20 --requests 1
refused 2 'expected 2 to 67108864 (--kv-cache-memory' serve -m "$m" --kv-cache-memory 100B
refused 2 'blocks of 128 positions: the KV cache needs' serve -m "$m" --block-size 128 --num-gpu-blocks-override 67000000
refused 2 "8, 16, 32, 64 or 128 positions; found 12" serve -m "$m" --block-size 12

# ---- multi-token prediction
"$ROOFCAST" synth deepseek-v3 --n-layer 2 --n-embd 64 --n-ff 96 --n-head 4 --n-vocab 300 --head-dim 24 --n-rot 8 --head-dim-v 16 --n-lora-q 32 --n-lora-kv 32 \
    --n-expert 8 --n-expert-used 2 --n-ff-exp 32 --n-layer-nextn 1 -q Q8_0 -o "$tmp/nextn.gguf" --quiet || exit 99
mtp="serve -m $tmp/nextn.gguf -t 1 --workload random:in=20,out=13 --requests 2 --num-speculative-tokens 3 --draft mtp --kv-cache-memory 1MB"
# shellcheck disable=SC2086
run $mtp -o json && has '"kv_blocks": 260,' && says 'multi-token prediction: a KV cache of '
ok $? "the layer's keys and values lie in the blocks, too: 16 positions of 3 layers of 40 F16"
# shellcheck disable=SC2086
run $mtp --spec-synth-rates 1 --save "$tmp/mtp.json" -o csv && has 'acceptance_length,tokens of a decode step,4,'
ok $? "all drafts accepted: four tokens a step"
# shellcheck disable=SC2086
run $mtp --spec-synth-rates 1 --long-prefill-token-threshold 3 -o csv && has 'acceptance_length,tokens of a decode step,3,'
ok $? "of which a step has room for two drafts: three tokens"
sed 's/nextn\.eh_proj/nextn.no_proj/' "$tmp/nextn.gguf" >"$tmp/lacks.gguf"
refused 1 "blk.2.nextn.eh_proj.weight" serve -m "$tmp/lacks.gguf" --num-speculative-tokens 3 --draft mtp
run predict "$tmp/lacks.gguf" --hw h100-sxm --draft mtp --acceptance 0.5 && says 'nextn_predict_layers is 1, but the file has no nextn.eh_proj tensor' &&
    run predict "$tmp/nextn.gguf" --hw h100-sxm --draft mtp --acceptance 0.5 && ! says nextn
ok $? "predictions of a file without the layer's tensors say that it is estimated"
run simulate "$tmp/lacks.gguf" --hw h100-sxm --num-speculative-tokens 3 --draft mtp --requests 2 --draws 0 && says 'the file has no nextn.eh_proj tensor'
ok $? "so do simulations"

# ---- interrupts
"$ROOFCAST" serve -m "$m" -t 1 --workload random:in=40,out=12 --requests 2 --rate 0.001 --save "$tmp/cut.json" >"$tmp/out" 2>"$tmp/err" &
pid=$!
catches $pid
kill -INT $pid
ended $pid
is "130 no" "$status $([ -e "$tmp/cut.json" ] || [ -e "$tmp/cut.partial.json" ] || echo no)" "an interrupt before the first request has ended: nothing to keep"

# ---- what is refused
refused 2 '-m FILE is missing' serve
refused 2 'expected --num-speculative-tokens' serve -m "$m" --draft ngram
refused 2 'expected --draft' serve -m "$m" --num-speculative-tokens 3
for rates in " 0.5" 0x1 0.5, "0.5, 0.5" 1.5 nan; do
    refused 2 "--spec-synth-rates: expected up to 16 probabilities, 0.7 or 0.8,0.6,0.5; found \"$rates\"" serve -m "$m" --num-speculative-tokens 3 --spec-synth-rates "$rates"
done
refused 1 'no multi-token prediction layers: llama.nextn_predict_layers is missing or 0' serve -m "$m" --num-speculative-tokens 3 --draft mtp
refused 2 'give --no-async-scheduling' serve -m "$m" --num-speculative-tokens 3 --draft ngram --async-scheduling
refused 2 'speculation of policy llama-server' serve -m "$m" --num-speculative-tokens 3 --draft ngram --policy llama-server
refused 2 'mutually exclusive' serve -m "$m" --kv-cache-memory 1GB --num-gpu-blocks-override 100
for option in "--requests 3" "--seed 1" "--rate 2" "--slo ttft=1s" "-o json" "--save $tmp/run.json" "--workload random"; do
    # shellcheck disable=SC2086
    refused 2 '--http: expected no option of a workload' serve -m "$m" --http 0 $option
done
finish
