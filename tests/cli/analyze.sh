#!/bin/sh
# roofcast analyze: the figures of doc/methods.md (3), (5), (11), (22) as a user sees them, every format, clear refusals.
. "${top_srcdir:?}/tests/cli/lib.sh"
# Sum of a csv column over the rows of a phase, of a role.
total() { # COLUMN PHASE [ROLE]
    cells "$1" "phase=$2" ${3:+"role=$3"} | sum %.0f
}

# Llama-3-8B, F16, by hand: 16,061,054,976 bytes of tensors less 128,255 rows of 8192 that decode does not look up.
run analyze llama-3-8b -p 512 -n 1 -o csv
is $((16061054976 - 128255 * 8192)) "$(total weight_bytes decode)" "decode reads every weight but the embedding rows not looked up"
is $((2 * 131072)) "$(total kv_bytes decode)" "depth 0: one position of KV cache written and read"
is $((32 * 4096 * 4096 * 2)) "$(total weight_bytes decode attn_q)" "32 matrices [4096, 4096] of F16: 33,554,432 bytes each"
is $((32 * 4096 * 4096 * 2)) "$(total flop decode attn_q)" "and as many FLOP"
is $((512 * 32 * 4096 * 4096 * 2)) "$(total flop prefill attn_q)" "512 tokens: 512 times the FLOP"
is "$(total weight_bytes decode attn_q)" "$(total weight_bytes prefill attn_q)" "of the same bytes"
is $((4 * 32 * 128 * 32 * 512 * 513 / 2)) "$(total flop prefill attn_core)" "causal attention: half the square and the diagonal"
is 1030 "$(wc -l <"$tmp/out" | awk '{ print $1 - 1 }')" "a row an op and phase: 32 x 16 + 3, twice"
is 1 "$(total share decode)" "shares of a phase add up to 1"
is $((2 * 128256 * 4096)) "$(total flop prefill lm_head)" "logits for the last token of a prompt only"

run analyze llama-2-7b -p 0 -d 99 -o csv
is $(((100 + 1) * 524288)) "$(total kv_bytes decode)" "Llama-2-7B: 524,288 bytes a token, 100 read and one written"
is 0 "$(total flop prefill)" "-p 0: no prefill rows"
run analyze llama-3.1-8b -p 0 -d 99 -b 3 -o csv
is $((3 * 101 * 131072)) "$(total kv_bytes decode)" "Llama-3.1-8B: 131,072, three sequences"
run analyze llama-3-8b -p 1000 -ub 400 -n 0 -o csv
is $((3 * 32 * 14336 * 4096 * 2)) "$(total weight_bytes prefill ffn_up)" "three passes read the weights three times"
is 0 "$(total flop decode)" "-n 0: no decode rows"
run analyze llama-3-8b -n 128 -d 1000 -p 0 -o csv
is $((2 * 32 * 128 * 32 * (2 * 1000 + 129))) "$(total flop decode attn_core)" "-n 128 from depth 1000: the mean step sees 1064.5 keys"

for by in layer role; do
    run analyze llama-3.2-1b -q Q4_K_M -o csv
    whole=$(total weight_bytes decode)/$(total flop prefill)
    run analyze llama-3.2-1b -q Q4_K_M -o csv --by $by
    is "$whole" "$(total weight_bytes decode)/$(total flop prefill)" "--by $by adds up to the same"
done
run analyze llama-3.2-1b &&
    has '^unused  *rope_freqs.weight, 128 B' && has 'LM head is the embedding table: 4096 B'
ok $? "tied table read once as LM head; rope_freqs listed apart"
run analyze llama-3-8b --by role -d 64 &&
    has 'pp512@d64 weights' && has 'tg1@d64 weights' && has '^KV cache  *131072 B'
ok $? "prefill and decode side by side, totals below"
run analyze stories15m -o md &&
    head -n 1 "$tmp/out" | grep -q '^| layer | role'
ok $? "-o md"
run analyze stories15m -o json --save "$tmp/a.json" &&
    cmp -s "$tmp/out" "$tmp/a.json" && has '"schema": "roofcast.analyze"' && has '"totals"'
ok $? "-o json and --save are the same document"
run analyze -m stories15m -o jsonl -p 0 &&
    [ "$(wc -l <"$tmp/out")" -eq 99 ] # 6 x 16 + 3
ok $? "-m, and -o jsonl: a row a line"
run analyze --help &&
    has 'roofcast analyze llama-3-8b --by role'
ok $? "--help has examples"

refused 2 'no MODEL' analyze
refused 2 'one model at a time' analyze llama-3-8b llama-2-7b
refused 1 'no file and no model' analyze no-such-model
refused 2 '-p 0 and -n 0' analyze stories15m -p 0 -n 0
refused 2 '-p: expected 0 to' analyze stories15m -p -1
refused 2 '-b: expected 1 to' analyze stories15m -b 0
refused 2 '-d: expected 0 to' analyze stories15m -d 99999999999
refused 2 'a context of' analyze stories15m -d 2147483647
refused 2 'passes, at most' analyze stories15m -p 2000000000 -ub 1
refused 2 '--by: expected op, layer or role' analyze stories15m --by colour
refused 2 '-o: expected table' analyze stories15m -o xml
refused 2 'Q9' analyze stories15m -q Q9
refused 2 'unrecognized option' analyze stories15m --frob
printf 'GGUF' >"$tmp/short.gguf"
refused 1 'short.gguf' analyze "$tmp/short.gguf"
printf '{"hidden_size": ' >"$tmp/bad.json"
refused 1 'bad.json' analyze "$tmp/bad.json"
# ---- types of the KV cache
run analyze llama-3-8b -p 0 -d 99 -ctk q8_0 -ctv Q4_0 -o csv
is $((101 * 32 * 8 * (4 * 34 + 4 * 18))) "$(total kv_bytes decode)" "-ctk Q8_0 -ctv Q4_0: 34 and 18 bytes a block of 32"
is mixed "$(cells type phase=decode role=attn_core | sort -u)" "keys of one type, values of another"
run analyze llama-3-8b -p 0 -d 99 --kv-type Q8_0 --cache-type-v F32 -o csv
is $((101 * 32 * 8 * (4 * 34 + 512))) "$(total kv_bytes decode)" "--kv-type sets both, --cache-type-v one of them"
run analyze llama-3-8b -p 0 -ctk q8_0 -o json && has '"kv_type": "mixed"' && has '"type_k": "Q8_0"' && has '"type_v": "F16"' &&
    has '"experts": null' && has '"window": null' && has '"latent_elems": null'
ok $? "the document names both; a dense model has neither experts nor windows nor latents"
refused 2 'type of the KV cache "Q4_K": expected one of F32, F16' analyze llama-3-8b -ctk Q4_K
refused 2 "keys of type Q8_0 come in blocks of 32, the model's heads have 48 elements" analyze stories15m -ctk Q8_0

run analyze llama-3-8b -p 0 -d 99 --kv-type fp8 -ctv INT8 -o csv
is $((101 * 32 * 8 * (128 + 128))) "$(total kv_bytes decode)" "FP8 and INT8: a byte an element"
refused 2 "FP8_DS_MLA holds latents" analyze llama-3-8b --kv-type FP8_DS_MLA
run analyze deepseek-v3 -q FP8_BLOCK -p 0 -d 99 --kv-type FP8_DS_MLA -o csv
is $((101 * 61 * 656)) "$(total kv_bytes decode)" "DeepSeek's cache: 656 bytes a position and layer"

# ---- experts, windows, latents: DeepSeek-V3, 256 experts of 3 * 2048 * 7168 weights in 58 of 61 layers
cat >"$tmp/deepseek.json" <<'END'
{"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128,
 "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
 "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 256, "num_experts_per_tok": 8, "n_shared_experts": 1,
 "first_k_dense_replace": 3, "n_group": 8, "topk_group": 4, "topk_method": "noaux_tc", "scoring_func": "sigmoid",
 "norm_topk_prob": true, "routed_scaling_factor": 2.5, "vocab_size": 129280, "max_position_embeddings": 163840, "hidden_act": "silu"}
END
run analyze "$tmp/deepseek.json" -p 8 -o csv
is $((58 * 8 * 2048 * 7168 * 2)) "$(total weight_bytes decode expert_up)" "a token reads 8 experts of 256"
is 57.4 "$(total weight_bytes prefill expert_up | awk '{ printf "%.1f", $1 / (58 * 2048 * 7168 * 2) }')" "8 tokens read 57.4: 256 (1 - (31/32)^8)"
is $((61 * 2 * 576 * 2)) "$(total kv_bytes decode)" "61 latent rows of 576 written and read"
run analyze "$tmp/deepseek.json" --by role &&
    has '^experts  *8 of 256 per token, in 58 of 61 layers; pp512 reads 256.0 per pass' && has 'tg1 reads 8.0 per step' &&
    has '^KV cache  *70272 B per token (F16): a latent row of 576 elements per layer' && has "; $((58 * 248 * 3 * 2048 * 7168 * 2)) B of experts are not read" &&
    has '^expert_up  *x 58  *F16  *256 x \[2048, 7168\]' && has '^attn_kv_b  *x 61  *F16  *128 x \[256, 512\]'
ok $? "the summary: experts, latents; shapes of stacked matrices"
run analyze "$tmp/deepseek.json" -o json && has '"n_expert_used": 8' && has '"latent_elems": 576' && has '"decode_touched": 8'
ok $? "the same in the document"

# Recurrences: 36 layers * (32 * 128 * 128 + 3 * 8192) * 4 B, read and written a step; 12 layers of attention, 2 * 2 * 256 * 2 B.
state=$((36 * (32 * 128 * 128 + 3 * 8192) * 4))
run analyze qwen3-next-80b-a3b -p 0 -d 9 -o csv
is $((2 * state + 11 * 12 * 2048)) "$(total kv_bytes decode)" "a step: the state read and written, 10 positions read and one written"
run analyze qwen3-next-80b-a3b --by role &&
    has '^experts  *10 of 512 per token, in 48 of 48 layers' && has '^KV cache  *24576 B per token (F16) in 12 of 48 layers$' &&
    has "^state  *$state B per sequence (F32) in 36 of 48 layers"
ok $? "the summary: states, and what a token adds without them"
run analyze qwen3-next-80b-a3b -o json && has "\"state_bytes_sequence\": $state" && has '"kv_bytes_token": 24576' && has '"index_elems": null'
ok $? "the same in the document"
# An indexer: 61 * (576 + 128) * 2 B a token; of 8192 positions before, all keys are scored and 2048 attended to.
run analyze deepseek-v3.2 -p 0 -d 8191 -o csv
is $((61 * (8192 + 1) * 128 * 2 + 61 * (2048 + 1) * 576 * 2)) "$(total kv_bytes decode)" "scored: all; attended to: the best 2048"
run analyze deepseek-v3.2 --by role && has '^KV cache  *85888 B per token (F16): a latent row of 576 elements per layer, plus a key of the indexer$'
ok $? "the indexer's keys are part of the cache"
cat >"$tmp/mistral.json" <<'END'
{"model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
 "intermediate_size": 14336, "vocab_size": 32000, "max_position_embeddings": 32768, "sliding_window": 4096, "hidden_act": "silu"}
END
run analyze "$tmp/mistral.json" -p 0 -d 20000 -o csv
is $((4097 * 131072)) "$(total kv_bytes decode)" "a window of 4096: as many positions read and one written, at any depth"
run analyze "$tmp/mistral.json" -p 0 -d 19999 && has "^window  *4096 keys in 32 of 32 layers: a sequence of 20000 tokens takes $((4608 * 131072)) B"
ok $? "a sequence keeps the window and a pass of 512"

# ---- what must not happen
cp "$top_srcdir/tests/fixtures/llama-2l.gguf" "$tmp/model.gguf"
cp "$top_srcdir/models/stories15m.json" "$tmp/model.json"
for f in model.gguf model.json; do
    before=$(cksum <"$tmp/$f")
    refused 2 "--save $tmp/$f is an input file" analyze "$tmp/$f" --save "$tmp/$f"
    is "$before" "$(cksum <"$tmp/$f")" "$f is as it was"
done
cp "$tmp/model.gguf" "$(printf '%s/\377.gguf' "$tmp")"
run analyze "$(printf '%s/\377.gguf' "$tmp")" -p 4 -o json && has '"model": "llama-2l"'
ok $? "a file name that is not UTF-8"
"$ROOFCAST" analyze deepseek-v3 -q Q4_K_M -p 30000000 -d 0 >"$tmp/out" 2>"$tmp/err" &
pid=$!
catches $pid
kill -INT $pid
wait $pid
is 130 $? "interrupted: 130"

refused 2 '--act-bytes: expected 2 or 4, found "3"' analyze stories15m --act-bytes 3
finish
