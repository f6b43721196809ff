#!/bin/sh
# roofcast analyze: the figures of doc/methods.md (3), (4), (7), (12) as a user sees them, every format, clear refusals.
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
is $((4 * 32 * 128 * 32 * (1000 + 64 + 1))) "$(total flop decode attn_core)" "-n 128 from depth 1000: the mean step"

for by in layer role; do
    run analyze llama-3.2-1b -q Q4_K_M -o csv
    whole=$(total weight_bytes decode)/$(total flop prefill)
    run analyze llama-3.2-1b -q Q4_K_M -o csv --by $by
    is "$whole" "$(total weight_bytes decode)/$(total flop prefill)" "--by $by adds up to the same"
done
run analyze llama-3.2-1b &&
    has '^apart  *rope_freqs.weight, 128 B' && has 'LM head is the embedding table: 4096 B'
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

refused 2 'which model' analyze
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
refused 2 '--act-bytes: expected 2 or 4, found "3"' analyze stories15m --act-bytes 3
finish
