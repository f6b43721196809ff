#!/bin/sh
# roofcast ppl: perplexity and KL divergence against a computation of their own from `roofcast logits`, identities,
# every input and output, refusals.
. "${top_srcdir:?}/tests/cli/lib.sh"
validate=${VALIDATE:-tests/run/validate}
m=$top_srcdir/tests/fixtures/llama-2l.gguf

# The same weights as the fixture's, rounded.
synth() { # TYPE N-VOCAB FILE
    run synth --n-layer 2 --n-embd 64 --n-ff 160 --n-head 4 --n-head-kv 2 --n-vocab "$2" --n-ctx 256 -q "$1" --seed 1 \
        --name llama-2l -o "$3" --quiet
}
synth Q8_0 300 "$tmp/q8.gguf" && synth Q4_0 300 "$tmp/q4.gguf" && synth F32 301 "$tmp/other.gguf"
ok $? "files to compare"
ids='5 17 290 44 3 8 9 10 250 61 77 12 30 31 32 33 100 101 7 7 7 299 2 64 65 66 140 141 90 91 20 21'
echo "$ids" >"$tmp/ids"

# Two chunks of 16, BOS (1) first, positions 8 .. 14 scored, by awk from the logits of every position.
chunk_logits() { # MODEL CHUNK FILE: a line a position
    list=$(echo "$ids" | awk -v c="$2" '{ printf "1"; for (i = 2; i <= 16; i++) printf ",%d", $(16 * c + i) }')
    "$ROOFCAST" logits -m "$1" --tokens "$list" -o "$tmp/logits" &&
        tail -c +$((8 + 4 * 16 + 1)) "$tmp/logits" | od -An -v -t f4 -w1200 >"$3"
}
for f in "$m" "$tmp/q4.gguf"; do
    for c in 0 1; do
        chunk_logits "$f" $c "$tmp/$(basename "$f").$c"
    done
done
by_hand() { # of q4 and, as base, the fixture: nll, nll_base, kl, same top, squared difference of p
    for c in 0 1; do
        paste "$tmp/q4.gguf.$c" "$tmp/llama-2l.gguf.$c" | awk -v ids="$ids" -v c=$c '
            BEGIN { split(ids, id, " ") }
            NR >= 9 && NR <= 15 {
                sq = sp = kl = 0; tq = tp = 1
                for (i = 1; i <= 300; i++) {
                    sq += exp($i); sp += exp($(300 + i))
                    if ($i > $tq) tq = i
                    if ($(300 + i) > $(300 + tp)) tp = i
                }
                for (i = 1; i <= 300; i++) {
                    lp = $(300 + i) - log(sp); kl += exp(lp) * (lp - $i + log(sq))
                }
                t = id[16 * c + NR + 1] + 1
                q = exp($t) / sq; p = exp($(300 + t)) / sp
                print -log(q), -log(p), kl, tp == tq, (p - q) ^ 2
            }'
    done
}
by_hand >"$tmp/hand"
mean() { # COLUMN
    awk -v c="$1" '{ s += $c } END { printf "%.9g", s / NR }' "$tmp/hand"
}
is 14 "$(wc -l <"$tmp/hand")" "14 tokens by hand"
near() { # A B: to 1e-4, what passes of another length may round differently
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(b != "" && (a - b) ^ 2 <= (1e-4 * a) ^ 2) }'
}

run ppl -m "$tmp/q4.gguf" --against "$m" --ids "$tmp/ids" -c 16 -o csv
ok "$status" "--against"
q4="type=Q4_0 base=false"
# shellcheck disable=SC2086
{
    is 14 "$(cells n_tokens $q4)" "the second half of both chunks is scored"
    near "$(mean 1)" "$(cells nll $q4)"
    ok $? "mean -ln p is that of the logits"
    holds "(exp($(mean 1)) / $(cells ppl $q4) - 1) ^ 2 < 1e-8" "PPL is its exponential"
    near "$(mean 2)" "$(cells nll base=true)" && near "$(cells ppl_base $q4)" "$(cells ppl base=true)"
    ok $? "so is the base's"
    near "$(mean 3)" "$(cells kl $q4)"
    ok $? "mean KL is that of the logits"
    near "$(mean 4)" "$(cells same_top $q4)"
    ok $? "same top"
    holds "(sqrt($(mean 5)) / $(cells dp_rms $q4) - 1) ^ 2 < 1e-6" "RMS of the difference in p"
    se=$(awk '{ s += $3; q += $3 ^ 2 } END { m = s / NR; printf "%.9g", sqrt((q / NR - m ^ 2) / (NR - 1)) }' "$tmp/hand")
    near "$se" "$(cells kl_se $q4)"
    ok $? "standard error of the KL"
    se=$(awk '{ d = $1 - $2; s += d; q += d ^ 2 } END { m = s / NR; printf "%.9g", sqrt((q / NR - m ^ 2) / (NR - 1)) }' "$tmp/hand")
    near "$se" "$(cells ln_ppl_ratio_se $q4)"
    ok $? "paired standard error of the ratio"
    max=$(awk '$3 > m { m = $3 } END { printf "%.9g", m }' "$tmp/hand")
    near "$max" "$(cells kl_max $q4)"
    ok $? "largest KL"
}
ppl4=$(cells ppl type=Q4_0)
run ppl -m "$tmp/q4.gguf" --ids "$tmp/ids" -c 16 -o csv
is "$ppl4" "$(cells ppl)" "the same PPL without a base"
is "" "$(cells kl)$(cells ppl_base)$(cells same_top)" "and nothing where nothing was compared"

# Another engine's logits (its first token is the one that begins a sequence).
oracle=${ROOFCAST_SHARED:-$top_srcdir/../shared}/data/oracle
if [ -f "$oracle/llama-gqa-F32.logits" ]; then
    for t in F32 Q4_K_M; do # the latter with activations of 8 bits in both engines, rounded apart: sqrt(2 KL / 15) = 0.5 %
        slack=$([ $t = F32 ] && echo 0.0005 || echo 0.03)
        od -An -v -t d4 -w128 -j 8 -N 128 "$oracle/llama-gqa-$t.logits" >"$tmp/oracle.ids"
        want=$(tail -c +$((8 + 128 + 1)) "$oracle/llama-gqa-$t.logits" | od -An -v -t f4 -w4096 |
            awk -v ids="$(cat "$tmp/oracle.ids")" '
                BEGIN { split(ids, id, " ") }
                NR >= 17 && NR <= 31 { s = 0; for (i = 1; i <= 1024; i++) s += exp($i); nll += log(s) - $(id[NR + 1] + 1) }
                END { printf "%.9g", exp(nll / 15) }')
        run ppl -m "$oracle/llama-gqa-$t.gguf" --ids "$tmp/oracle.ids" -c 32 -o json
        holds "$status == 0 && ($want / $(figure ppl) - 1) ^ 2 < $slack ^ 2" "$t: PPL by another engine's logits"
    done
else
    skip "PPL by another engine's logits" "no $oracle"
fi

# ---- identities
run ppl -m "$tmp/q4.gguf" --against "$tmp/q4.gguf" --ids "$tmp/ids" -c 16 -o json
[ "$status" -eq 0 ] && is "0 0 0 1 0 0" "$(figure kl) $(figure kl_max) $(figure dp_rms) $(figure same_top) $(figure ln_ppl_ratio) $(figure ln_ppl_ratio_se)" \
    "a file against itself: exactly 0, the same top everywhere"
# output.weight, 300 x 64 floats, ends the file: without it every token is as likely.
{
    head -c -76800 "$m"
    head -c 76800 /dev/zero
} >"$tmp/flat.gguf"
run ppl -m "$tmp/flat.gguf" --ids "$tmp/ids" -c 16 -o json
holds "$status == 0 && ($(figure ppl) - 300) ^ 2 < 1e-18 && $(figure ppl_se) < 1e-9" "a model that knows nothing: PPL is the vocabulary"
run ppl -m "$tmp/q4.gguf" -m "$tmp/q8.gguf" --against "$m" --ids "$tmp/ids" -c 16 -o csv
is "Q4_0 Q8_0 F32" "$(cells type | tr '\n' ' ' | sed 's/ $//')" "several files: in order, the base last"
holds "0 < $(cells kl type=Q8_0) && 20 * $(cells kl type=Q8_0) < $(cells kl type=Q4_0)" "more bits are nearer"
is "$(wc -c <"$tmp/q8.gguf")" "$(cells file_bytes type=Q8_0)" "size of the file"
read8=$(cells step_weight_bytes type=Q8_0)
run analyze "$tmp/q8.gguf" -o json
is "$(figure step_weight_bytes)" "$read8" "bytes a token are those of analyze"

# ---- chunks
run ppl -m "$m" --ids "$tmp/ids" -c 16 -o json
whole=$(figure ppl)
run ppl -m "$m" --ids "$tmp/ids" -c 16 -ub 3 -t 1 -o json
near "$whole" "$(figure ppl)"
ok $? "passes of 3 tokens"
run ppl -m "$m" --ids "$tmp/ids" -c 16 --chunks 1 -o json
first=$(figure ppl)
is "1 7" "$(figure n_chunks) $(figure n_tokens)" "--chunks 1"
echo "$ids" | cut -d ' ' -f 1-16 >"$tmp/ids16"
run ppl -m "$m" --ids - -c 16 --stride 7 -o json <"$tmp/ids16"
is "$first" "$(figure ppl)" "--stride 7 of one chunk of 16 is its second half"
run ppl -m "$m" --ids "$tmp/ids" -c 16 --stride 4 -o json
is "5 20" "$(figure n_chunks) $(figure n_tokens)" "--stride: every token after the first 12 once"

# ---- text
printf 'one two three, four five six seven %.0s' 1 2 3 4 5 6 >"$tmp/text"
echo >>"$tmp/text"
"$ROOFCAST" tokenize -m "$m" <"$tmp/text" >"$tmp/text.ids"
run ppl -m "$m" --ids "$tmp/text.ids" -c 32 -o json
by_ids=$(figure ppl)
run ppl -m "$m" -f "$tmp/text" -c 32 -o json
is "$by_ids" "$(figure ppl)" "a text is its tokens"
run ppl -m "$m" -f - -c 32 -o json <"$tmp/text"
is "$by_ids" "$(figure ppl)" "from standard input"
run ppl -m "$m" -f "$tmp/text" -o json
[ "$status" -ne 0 ] && says "chunk needs 256"
ok $? "chunks are no longer than what the model was trained on"
run ppl -m "$m" -f "$tmp/text" -c 32
says 'F32: chunk [0-9]*/[0-9]*, PPL [0-9.]*, .* left'
ok $? "progress on standard error"
has 'PPL$' && has "+-" && ! has KL
ok $? "a table"
run ppl -m "$m" -f "$tmp/text" -c 32 --quiet
[ ! -s "$tmp/err" ]
ok $? "--quiet"

# ---- forms
set -- ppl -m "$tmp/q8.gguf" --against "$m" --ids "$tmp/ids" -c 16 --quiet
run "$@"
has 'KL (nats)' && has 'KL 99.9 %' && has 'read per token (B)' && has '14 tokens scored: 2 chunks of 16 tokens, the last 7 of each'
ok $? "two tables and what they mean"
run "$@" -o md && has '^| q8.gguf  *| Q8_0 '
ok $? "-o md"
run "$@" -o jsonl && [ "$(grep -c '^{"schema":"roofcast.ppl","version":1,' "$tmp/out")" -eq 2 ]
ok $? "-o jsonl"
if [ -x "$validate" ]; then
    "$validate" "$top_srcdir/doc/formats.md" --lines "$tmp/out" >"$tmp/err" 2>&1
    ok $? "the rows are those of formats.md"
    run "$@" -o json && "$validate" "$top_srcdir/doc/formats.md" roofcast.ppl "$tmp/out" >"$tmp/err" 2>&1
    ok $? "the document is that of formats.md"
else
    skip "formats.md" "no $validate"
fi
run ppl --help && has -- '--against F16.gguf'
ok $? "--help teaches"

# ---- refusals
refused 2 "-m FILE is needed" ppl -f "$tmp/text"
refused 2 "one of -f TEXT and --ids FILE" ppl -m "$m"
refused 2 "one of -f TEXT and --ids FILE" ppl -m "$m" -f "$tmp/text" --ids "$tmp/ids"
refused 1 "32 tokens, a chunk needs 64" ppl -m "$m" --ids "$tmp/ids" -c 64
refused 1 "0 tokens, a chunk needs 16" ppl -m "$m" --ids /dev/null -c 16
refused 1 "standard input: 0 tokens" ppl -m "$m" --ids - -c 16
refused 1 "cannot read $tmp/none: No such file" ppl -m "$m" -f "$tmp/none" -c 16
refused 1 "Is a directory" ppl -m "$m" -f "$tmp" -c 16
refused 2 "-c: expected" ppl -m "$m" --ids "$tmp/ids" -c 3
refused 2 "--stride: expected below the 16 tokens of a chunk, found 16" ppl -m "$m" --ids "$tmp/ids" -c 16 --stride 16
refused 2 "--against is given twice" ppl -m "$m" --against "$m" --against "$m" --ids "$tmp/ids"
refused 2 "needs a GGUF file" ppl -m llama-3-8b --ids "$tmp/ids" -c 16
refused 2 "needs a GGUF file" ppl -m "$m" -m llama-3-8b --ids "$tmp/ids" -c 16
refused 1 "vocabulary of 301 tokens" ppl -m "$tmp/other.gguf" --against "$m" --ids "$tmp/ids" -c 16
at=$(LC_ALL=C grep -abo '</s>' "$m" | head -n 1 | cut -d : -f 1)
cp "$m" "$tmp/renamed.gguf"
printf '<|s>' | dd of="$tmp/renamed.gguf" bs=1 seek="$at" conv=notrunc 2>/dev/null
refused 1 "token 2 differs" ppl -m "$tmp/renamed.gguf" --against "$m" --ids "$tmp/ids" -c 16
refused 1 "token 2 differs" ppl -m "$m" -m "$tmp/renamed.gguf" --ids "$tmp/ids" -c 16
echo '1 2 300' >"$tmp/bad"
refused 1 "item 3: expected a token id from 0 to 299, found \"300\"" ppl -m "$m" --ids "$tmp/bad" -c 4
echo '1 2x 3' >"$tmp/bad"
refused 1 "item 2: expected a token id from 0 to 299, found \"2x\"" ppl -m "$m" --ids "$tmp/bad" -c 4
echo '1 -2 99999999999999999999' >"$tmp/bad"
refused 1 "item 2: expected a token id" ppl -m "$m" --ids "$tmp/bad" -c 4
printf '1 2 3 4\0 5' >"$tmp/bad"
refused 1 "a NUL byte among token ids" ppl -m "$m" --ids "$tmp/bad" -c 4
cp "$m" "$tmp/nan.gguf" # the last float of the file is in the output matrix
printf '\000\000\300\177' | dd of="$tmp/nan.gguf" bs=1 seek=$(($(wc -c <"$m") - 64)) conv=notrunc 2>/dev/null
refused 1 "nan.gguf: its logits are not finite" ppl -m "$tmp/nan.gguf" --ids "$tmp/ids" -c 16
refused 1 "nan.gguf: its logits are not finite" ppl -m "$m" --against "$tmp/nan.gguf" --ids "$tmp/ids" -c 16

# ---- a quantized cache: the files have it, the base does not (heads of 16: BF16 and F32 fit them)
ppl_kl() { # ARGS...: mean KL of the fixture against itself
    run ppl -m "$m" --against "$m" --ids "$tmp/ids" -c 16 -o json "$@" && figure kl
}
kl_bf16=$(ppl_kl -ctk bf16 -ctv bf16) kl_f32=$(ppl_kl -ctk f32 -ctv f32)
awk -v b="$kl_bf16" -v f="$kl_f32" 'BEGIN { exit !(b > 0 && b < 1e-3 && f < b / 10) }'
ok $? "-ctk bf16 -ctv bf16: a little further from the F16 cache than one of F32"
refused 2 "keys of type Q8_0 come in blocks of 32, the model's heads have 16 elements" ppl -m "$m" --ids "$tmp/ids" -c 16 -ctk q8_0
refused 2 "expected one of F32, F16, BF16" run -m "$m" -p x -ctv q9

# ---- scales of activations: a perplexity is of exact ones; what powers of two cost is asked for
run synth --n-layer 2 --n-embd 256 --n-ff 512 --n-head 4 --n-head-kv 2 --n-vocab 512 -q Q8_0 -o "$tmp/wide.gguf" --quiet
awk 'BEGIN { for (i = 0; i < 200; i++) printf "%d ", (i * 149 + i * i % 61) % 512 }' >"$tmp/wide.ids"
run ppl -m "$tmp/wide.gguf" --against "$tmp/wide.gguf" --ids "$tmp/wide.ids" -c 100 -o json --quiet
[ "$status" -eq 0 ] && has '"kl": 0[,.]' && ! has '"act_scales": "pow2"'
ok $? "exact scales against the same file: no divergence"
run ppl -m "$tmp/wide.gguf" --against "$tmp/wide.gguf" --ids "$tmp/wide.ids" -c 100 -o json --quiet --act-scales pow2
if has '"act_scales": "pow2"'; then
    [ "$status" -eq 0 ] && ! has '"kl": 0[,.]0*,'
    ok $? "powers of two against exact scales of the same file: some"
    run ppl -m "$tmp/wide.gguf" --ids "$tmp/wide.ids" -c 100 --quiet --act-scales pow2
    has 'Scales of activations: powers of two'
    ok $? "and the notes of the table say so"
else
    [ "$status" -eq 0 ] && says '--act-scales pow2 changes nothing'
    ok $? "no kernel here gains by powers of two, and that is said"
fi

# ---- interrupted
mkfifo "$tmp/fifo"
"$ROOFCAST" ppl -m "$m" -f - <"$tmp/fifo" >"$tmp/out" 2>"$tmp/err" &
pid=$!
exec 9>"$tmp/fifo"
catches $pid
sleep 0.2
kill -TERM $pid
wait $pid
is 130 $? "interrupted while it waits for the text: 130"
exec 9>&-
awk 'BEGIN { for (i = 0; i < 400000; i++) print i * 7 % 300 }' >"$tmp/long"
"$ROOFCAST" ppl -m "$m" --against "$tmp/q8.gguf" --ids "$tmp/long" -c 64 --isa ref -t 1 >"$tmp/out" 2>"$tmp/err" &
pid=$!
i=0
while ! says 'chunk [0-9]*/6250, PPL' && [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done
kill -TERM $pid
wait $pid
is 130 $? "interrupted between chunks: 130"
[ ! -s "$tmp/out" ] && says 'chunk [0-9]*/6250, PPL' && says interrupted
ok $? "its last estimate was said"
(
    trap '' HUP # as nohup does
    exec "$ROOFCAST" ppl -m "$m" --ids "$tmp/long" -c 64 --isa ref -t 1 >"$tmp/out" 2>"$tmp/err"
) &
pid=$!
catches $pid
sleep 0.2
kill -HUP $pid
sleep 0.5
kill -0 $pid 2>/dev/null
ok $? "a hangup that the caller ignores is ignored"
kill -TERM $pid
wait $pid
env --default-signal=HUP "$ROOFCAST" ppl -m "$m" --ids "$tmp/long" -c 64 --isa ref -t 1 >"$tmp/out" 2>"$tmp/err" &
pid=$!
catches $pid
sleep 0.2
kill -HUP $pid
wait $pid
is 130 $? "a hangup interrupts otherwise, also where this test runs under nohup"
finish
