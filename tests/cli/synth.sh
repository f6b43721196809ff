#!/bin/sh
# roofcast synth: files that load, the same bytes again, clear refusals, nothing left behind.
. "${top_srcdir:?}/tests/cli/lib.sh"
# fails STATUS TEXT ARGS...: refused, and no x.gguf
fails() {
    refuses "$@" && [ ! -e "$tmp/x.gguf" ]
    ok $? "refused with $want: $text"
    rm -f "$tmp/x.gguf"
}
small="--n-layer 2 --n-embd 64 --n-ff 96 --n-head 4 --n-head-kv 2 --n-vocab 300"
but() { # OPTION...: $small without these
    rest=$small
    for o in "$@"; do rest=$(echo "$rest" | sed "s/$o [^ ]*//"); done
    echo "$rest"
}

run synth $small -q Q8_0 -t 1 -o "$tmp/a.gguf"
ok $? "a shape by hand"
has "Q8_0.*parameters.*21 tensors"
ok $? "says what was written"
run synth $small -q Q8_0 -t 1 -o "$tmp/b.gguf" --quiet && [ ! -s "$tmp/out" ] && cmp -s "$tmp/a.gguf" "$tmp/b.gguf"
ok $? "the same seed gives the same bytes, quietly"
run synth $small -q Q8_0 -o "$tmp/c.gguf" --seed 2 && ! cmp -s "$tmp/a.gguf" "$tmp/c.gguf"
ok $? "another seed gives others"
run synth "$tmp/a.gguf" -q F16 -o "$tmp/d.gguf" && [ "$(wc -c <"$tmp/d.gguf")" -gt "$(wc -c <"$tmp/a.gguf")" ]
ok $? "the shape of a GGUF in another type"
run synth Stories15M --n-layer 1 --n-vocab 300 -q q4_k -o "$tmp/e.gguf" && has Q4_K_M
ok $? "a preset with fewer layers"
run synth $(but --n-embd --n-ff) --n-embd 256 --head-dim 64 --n-ff 256 -q Q2_K -o "$tmp/e.gguf" && has "Q2_K.*parameters"
ok $? "Q2_K with its Q3_K and Q6_K"
cat >"$tmp/config.json" <<'J'
{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4,
 "intermediate_size": 96, "vocab_size": 300, "_name_or_path": "mine"}
J
run synth "$tmp/config.json" -o "$tmp/f.gguf" && has "mine, F16"
ok $? "a config.json, F16 by default"
"$ROOFCAST" synth $small -q F32 -o - | cmp -s - /dev/null
[ $? -eq 1 ] && "$ROOFCAST" synth $small -q Q8_0 -t 1 -o - 2>/dev/null | cmp -s - "$tmp/a.gguf"
ok $? "-o - writes the same bytes to standard output"
run synth --help && has "Examples:"
ok $? "--help teaches"

# Streamed: a file of 436 MB within 300 MB of address space, libraries and all. (A sanitizer's build
# reserves more than that before it starts.)
if (ulimit -v 300000 && "$ROOFCAST" --version) >/dev/null 2>&1; then
    (ulimit -v 300000 && "$ROOFCAST" synth llama-3-8b --n-layer 1 --n-vocab 300 -q F16 -t 1 -o /dev/null) >"$tmp/out" 2>&1
    ok $? "memory is a few chunks"
else
    skip "memory is a few chunks" "the program does not start in 300 MB of address space"
fi

cp "$tmp/a.gguf" "$tmp/same.gguf"
ln "$tmp/same.gguf" "$tmp/link.gguf"
for out in same link; do
    refuses 2 "is MODEL itself" synth "$tmp/same.gguf" -q F16 -o "$tmp/$out.gguf" && cmp -s "$tmp/a.gguf" "$tmp/same.gguf" &&
        cmp -s "$tmp/a.gguf" "$tmp/link.gguf"
    ok $? "never over its own source ($out.gguf)"
done
refuses 2 "is MODEL itself" synth "$tmp/config.json" -o "$tmp/config.json" && grep -q mine "$tmp/config.json"
ok $? "nor over a config.json"
run synth --n-layer 1 --n-embd 64 --n-ff 100 --n-head 4 --n-vocab 300 -q Q8_0 -o "$tmp/g.gguf" &&
    has "ffn_down: F16, its rows of 100 are no multiple of 32" && ! has ffn_up
ok $? "says which tensors fall back to another type"
run synth --n-layer 1 --n-embd 64 --n-ff 96 --n-head 4 --n-vocab 300 -q Q4_K_M -o "$tmp/g.gguf" &&
    has "attn_q: Q5_0, its rows of 64 are no multiple of 256"
ok $? "so does a mixture of 256 weights a block"

run synth $small --n-expert 4 --n-expert-used 2 -q Q8_0 -o "$tmp/g.gguf" && has "23 tensors" && run analyze "$tmp/g.gguf" && has expert_down
ok $? "experts by hand"
run synth gpt-oss-20b $small --n-expert 4 --n-expert-used 2 --n-ff-exp 32 --head-dim 16 --window 16 -q MXFP4 -o "$tmp/g.gguf" && has MXFP4_MOE
ok $? "gpt-oss with experts in MXFP4"
run logits -m "$tmp/g.gguf" --tokens 1,5,9 -o "$tmp/g.logits"
ok $? "which run"
run synth deepseek-v3 --n-layer 2 --n-embd 64 --n-ff 96 --n-head 4 --n-vocab 300 --head-dim 24 --n-rot 8 --head-dim-v 16 \
    --n-lora-q 32 --n-lora-kv 32 --n-expert 16 --n-expert-used 2 --n-ff-exp 32 -q F16 -o "$tmp/g.gguf" &&
    run analyze "$tmp/g.gguf" && has expert_down && has attn_k_b
ok $? "latent attention, and a layer with experts is kept"
cp "$tmp/g.gguf" "$tmp/nextn.gguf"
run synth "$tmp/g.gguf" --n-layer 3 -q Q8_0 -o "$tmp/h.gguf" && run analyze "$tmp/h.gguf" && has attn_k_b
ok $? "the shape of a GGUF of another architecture than llama"
run synth "$tmp/g.gguf" --n-layer-nextn 1 -q F16 -o "$tmp/h.gguf" && run analyze "$tmp/h.gguf" -o json && has '"n_tensors": 56,' &&
    run logits -m "$tmp/h.gguf" --tokens 1,5,9 -o "$tmp/h.logits" && run logits -m "$tmp/g.gguf" --tokens 1,5,9 -o "$tmp/g.logits" && cmp "$tmp/g.logits" "$tmp/h.logits"
ok $? "a multi-token prediction layer after the blocks, which changes no logits"
refused 3 'multi-token prediction layers of architecture llama' synth smollm2-135m --n-layer-nextn 1 -o "$tmp/h.gguf"
for family in mistral-7b smollm3-3b qwen2.5-7b qwen3-8b gemma-2-9b gemma-3-27b phi-3-mini-128k phi-4-mini olmo-2-7b mixtral-8x7b \
    qwen3-30b-a3b; do
    experts=
    case $family in mixtral* | *a3b) experts="--n-expert 4 --n-expert-used 2 --n-ff-exp 32" ;; esac
    run synth $family $small $experts --head-dim 16 --n-ctx 64 -q Q8_0 -o "$tmp/g.gguf" &&
        run logits -m "$tmp/g.gguf" --tokens 1,5,9,200 -o "$tmp/g.logits"
    ok $? "a small $family runs"
done
sed 's/"_name_or_path"/"quantization_config": {"quant_method": "awq"}, "_name_or_path"/' "$tmp/config.json" >"$tmp/awq.json"
run synth "$tmp/awq.json" -q Q8_0 -o "$tmp/g.gguf"
ok $? "a quantized checkpoint, with -q"

x="-o $tmp/x.gguf"
fails 1 "quantization_config" synth "$tmp/awq.json" $x
fails 1 "sliding-window attention: not supported by architecture qwen2" synth qwen2.5-7b $small --window 16 $x
fails 1 "5 of 4 experts used" synth $small --n-expert 4 --n-expert-used 5 $x
fails 1 "0 of 4 experts used" synth $small --n-expert 4 $x
fails 2 "-o FILE" synth $small
fails 2 "no MODEL" synth -q F16 $x
fails 2 "needs --n-vocab" synth --n-layer 2 --n-embd 64 --n-ff 96 --n-head 4 $x
fails 2 "Q4_K_M" synth $small -q Q9_9 $x
fails 2 "-t" synth $small -t 0 $x
fails 2 "n-layer" synth $(but --n-layer) --n-layer -1 $x
fails 2 "one MODEL" synth stories15m stories42m $x
fails 1 "did you mean stories15m" synth storys15m $x
fails 1 "at least 259" synth $(but --n-vocab) --n-vocab 100 $x
fails 1 "n_embd" synth $(but --n-embd) --n-embd 2000000000 $x
fails 2 "n-layer-nextn: found 2147483647 after 2 blocks, expected at most 4094" synth "$tmp/nextn.gguf" --n-layer-nextn 2147483647 $x
fails 1 "multiple of" synth $(but --n-head-kv) --n-head-kv 3 $x
fails 1 "no such file" synth no.gguf $x
run synth $small -t 10000 -o "$tmp/x.gguf"
[ "$status" -ne 0 ] && [ -s "$tmp/err" ] && [ ! -e "$tmp/x.gguf" ]
ok $? "refused: -t 10000"
if [ -w /dev/full ]; then
    run synth $small -o /dev/full
    [ "$status" -eq 1 ] && says "/dev/full"
    ok $? "a full disk is an error that names the file"
fi

# Ctrl-C: 130, and neither the file nor its temporary is left
"$ROOFCAST" synth tinyllama-1.1b -q Q6_K -t 1 -o "$tmp/x.gguf" --quiet 2>"$tmp/err" &
pid=$!
i=0
while [ $i -lt 100 ] && ! ls "$tmp"/x.gguf* >/dev/null 2>&1; do sleep 0.05; i=$((i + 1)); done
kill -TERM $pid
wait $pid
status=$?
if [ $status -ne 130 ] || ls "$tmp"/x.gguf* >/dev/null 2>&1; then
    echo "status $status; left: $(ls "$tmp" | tr '\n' ' ')" >>"$tmp/err"
    false
fi
ok $? "interrupted: status 130 and nothing left"
finish
