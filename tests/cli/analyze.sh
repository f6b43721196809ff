#!/bin/sh
# roofcast analyze: the figures of doc/methods.md (3), (4), (7), (12) as a user sees them, every format, clear refusals.
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
n=0
bad=0
ok() { # STATUS NAME
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2"
        sed 's/^/# /' "$tmp/out" "$tmp/err" | cut -c 1-200 | head -n 8
        bad=1
    fi
}
run() {
    "$ROOFCAST" analyze "$@" >"$tmp/out" 2>"$tmp/err"
}
# Sum of csv column $1 over the rows of phase $2; $3: awk condition on the named columns.
sum() {
    awk -F, -v col="$1" -v phase="$2" -v role="${3:-}" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["phase"] == phase && (role == "" || $at["role"] == role) { s += $at[col] }
        END { printf "%.0f\n", s }' "$tmp/out"
}
is() { # EXPECTED FOUND NAME
    echo "# expected $1, found $2" >>"$tmp/err"
    [ "$1" = "$2" ]
    ok $? "$3"
}
refused() { # STATUS TEXT ARGS...
    status=$1
    message=$2
    shift 2
    run "$@"
    test $? -eq "$status" && grep -q -- "$message" "$tmp/err"
    ok $? "refused: $* ($message)"
}

# Llama-3-8B, F16, by hand: 16,061,054,976 bytes of tensors less 128,255 rows of 8192 that decode does not look up.
run llama-3-8b -p 512 -n 1 -o csv
is $((16061054976 - 128255 * 8192)) "$(sum weight_bytes decode)" "decode reads every weight but the embedding rows not looked up"
is $((2 * 131072)) "$(sum kv_bytes decode)" "depth 0: one position of KV cache written and read"
is $((32 * 4096 * 4096 * 2)) "$(sum weight_bytes decode attn_q)" "32 matrices [4096, 4096] of F16: 33,554,432 bytes each"
is $((32 * 4096 * 4096 * 2)) "$(sum flop decode attn_q)" "and as many FLOP"
is $((512 * 32 * 4096 * 4096 * 2)) "$(sum flop prefill attn_q)" "512 tokens: 512 times the FLOP"
is "$(sum weight_bytes decode attn_q)" "$(sum weight_bytes prefill attn_q)" "of the same bytes"
is $((4 * 32 * 128 * 32 * 512 * 513 / 2)) "$(sum flop prefill attn_core)" "causal attention: half the square and the diagonal"
is 1030 "$(wc -l <"$tmp/out" | awk '{ print $1 - 1 }')" "a row an op and phase: 32 x 16 + 3, twice"
is 1 "$(sum share decode)" "shares of a phase add up to 1"
is $((2 * 128256 * 4096)) "$(sum flop prefill lm_head)" "logits for the last token of a prompt only"

run llama-2-7b -p 0 -d 99 -o csv
is $(((100 + 1) * 524288)) "$(sum kv_bytes decode)" "Llama-2-7B: 524,288 bytes a token, 100 read and one written"
is 0 "$(sum flop prefill)" "-p 0: no prefill rows"
run llama-3.1-8b -p 0 -d 99 -b 3 -o csv
is $((3 * 101 * 131072)) "$(sum kv_bytes decode)" "Llama-3.1-8B: 131,072, three sequences"
run llama-3-8b -p 1000 -ub 400 -n 0 -o csv
is $((3 * 32 * 14336 * 4096 * 2)) "$(sum weight_bytes prefill ffn_up)" "three passes read the weights three times"
is 0 "$(sum flop decode)" "-n 0: no decode rows"
run llama-3-8b -n 128 -d 1000 -p 0 -o csv
is $((4 * 32 * 128 * 32 * (1000 + 64 + 1))) "$(sum flop decode attn_core)" "-n 128 from depth 1000: the mean step"

for by in layer role; do
    run llama-3.2-1b -q Q4_K_M -o csv
    whole=$(sum weight_bytes decode)/$(sum flop prefill)
    run llama-3.2-1b -q Q4_K_M -o csv --by $by
    is "$whole" "$(sum weight_bytes decode)/$(sum flop prefill)" "--by $by adds up to the same"
done
run llama-3.2-1b
test $? -eq 0 && grep -q '^apart  *rope_freqs.weight, 128 B' "$tmp/out" && grep -q 'LM head is the embedding table: 4096 B' "$tmp/out"
ok $? "tied table read once as LM head; rope_freqs listed apart"
run llama-3-8b --by role -d 64
test $? -eq 0 && grep -q 'pp512@d64 weights' "$tmp/out" && grep -q 'tg1@d64 weights' "$tmp/out" && grep -q '^KV cache  *131072 B' "$tmp/out"
ok $? "prefill and decode side by side, totals below"
run stories15m -o md
test $? -eq 0 && head -n 1 "$tmp/out" | grep -q '^| layer | role'
ok $? "-o md"
run stories15m -o json --save "$tmp/a.json"
test $? -eq 0 && cmp -s "$tmp/out" "$tmp/a.json" && grep -q '"schema": "roofcast.analyze"' "$tmp/out" && grep -q '"totals"' "$tmp/out"
ok $? "-o json and --save are the same document"
run -m stories15m -o jsonl -p 0
test $? -eq 0 && [ "$(wc -l <"$tmp/out")" -eq 99 ] # 6 x 16 + 3
ok $? "-m, and -o jsonl: a row a line"
run --help
test $? -eq 0 && grep -q 'roofcast analyze llama-3-8b --by role' "$tmp/out"
ok $? "--help has examples"

refused 2 'which model'
refused 2 'one model at a time' llama-3-8b llama-2-7b
refused 1 'no file and no model' no-such-model
refused 2 '-p 0 and -n 0' stories15m -p 0 -n 0
refused 2 '-p: expected 0 to' stories15m -p -1
refused 2 '-b: expected 1 to' stories15m -b 0
refused 2 '-d: expected 0 to' stories15m -d 99999999999
refused 2 'a context of' stories15m -d 2147483647
refused 2 'passes, at most' stories15m -p 2000000000 -ub 1
refused 2 '--by: expected op, layer or role' stories15m --by colour
refused 2 '-o: expected table' stories15m -o xml
refused 2 'Q9' stories15m -q Q9
refused 2 'unrecognized option' stories15m --frob
printf 'GGUF' >"$tmp/short.gguf"
refused 1 'short.gguf' "$tmp/short.gguf"
printf '{"hidden_size": ' >"$tmp/bad.json"
refused 1 'bad.json' "$tmp/bad.json"
echo "1..$n"
exit $bad
