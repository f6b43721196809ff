#!/bin/sh
# roofcast run and logits: the same tokens with and without a KV cache, the work each takes, refusals.
. "${top_srcdir:?}/tests/cli/lib.sh"
m=$top_srcdir/tests/fixtures/llama-2l.gguf

ids() { tr -d ' \n' <"$tmp/out" | sed 's/.*"ids":\[\([0-9,]*\)\].*/\1/'; }
run run -m "$m" -p 'one two' -n 40 --ignore-eos -o json
cached=$(ids) flop40=$(figure flop)
[ "$status" -eq 0 ] && [ "$(echo "$cached" | tr ',' '\n' | wc -l)" -eq 40 ]
ok $? "40 tokens"
run run -m "$m" -p 'one two' -n 40 --ignore-eos -o json --no-kv-cache
flop40n=$(figure flop)
[ "$(ids)" = "$cached" ]
ok $? "--no-kv-cache gives the same tokens"
run run -m "$m" -p 'one two' -n 80 --ignore-eos -o json
flop80=$(figure flop)
run run -m "$m" -p 'one two' -n 80 --ignore-eos -o json --no-kv-cache
flop80n=$(figure flop)
holds "$flop80 / $flop40 < 2.2" "with the cache twice the tokens are twice the work ($flop40, $flop80 FLOP)"
holds "$flop80n / $flop40n > 3.4" "without it four times: quadratic ($flop40n, $flop80n FLOP)"
run run -m "$m" -p 'one two' -n 12 --ignore-eos --temp 1 --seed 5 -o json
a=$(ids)
run run -m "$m" -p 'one two' -n 12 --ignore-eos --temp 1 --seed 5 -o json -t 1
[ "$(ids)" = "$a" ]
ok $? "the same seed, the same tokens, whatever the threads"
run run -m "$m" -p 'one two' -n 12 --ignore-eos --temp 1 --seed 6 -o json
[ "$(ids)" != "$a" ]
ok $? "another seed, other tokens"
printf 'one two\n' | "$ROOFCAST" run -m "$m" -n 4 --ignore-eos >"$tmp/out" 2>"$tmp/err"
ok $? "prompt from standard input"
says 'TTFT .* ITL p50 .* tokens/s' && ! has TTFT
ok $? "figures on standard error, text on standard output"

run run -m "$m" -p 'one two' -n 1 --ignore-eos
[ "$status" -eq 0 ] && grep -q 'tokens/s of decode: none was made' "$tmp/err" && ! grep -q '0.0 tokens/s' "$tmp/err"
ok $? "one token has no rate"
# A damaged weight: the last float of the file is in the output matrix.
cp "$m" "$tmp/nan.gguf"
printf '\000\000\300\177' | dd of="$tmp/nan.gguf" bs=1 seek=$(($(wc -c <"$m") - 64)) conv=notrunc 2>/dev/null
run run -m "$tmp/nan.gguf" -p 'one two' -n 4 --ignore-eos
[ "$status" -eq 1 ] && grep -q "not finite" "$tmp/err"
ok $? "logits that are not finite are an error"
mkfifo "$tmp/fifo"
"$ROOFCAST" run -m "$m" <"$tmp/fifo" >/dev/null 2>"$tmp/err" &
pid=$!
exec 9>"$tmp/fifo"
printf 'one' >&9
sleep 0.3
kill -TERM $pid
wait $pid
[ $? -eq 130 ]
ok $? "interrupted while it waits for the prompt: 130"
exec 9>&-

refused 2 "-m FILE is needed" run -p x
refused 1 "no/such.gguf" run -m no/such.gguf -p x
refused 2 "needs a GGUF file" run -m llama-3-8b -p x
refused 2 "a context of 1002 is beyond the 256 the model was trained on" run -m "$m" -p '' -n 1001 -c 1002
refused 2 "do not fit -c 8" run -m "$m" -p 'one two' -n 8 -c 8
refused 2 "-t: expected" run -m "$m" -p x -t 0
refused 2 "10000 threads asked for" run -m "$m" -p x -t 10000
refused 2 "unknown; expected auto or one of" run -m "$m" -p x --isa mmx
run run -m "$m" -p '' -n 300 --force --ignore-eos
ok "$status" "--force runs past the trained context"

run logits -m "$m" --tokens-from "$top_srcdir/tests/fixtures/llama-2l.logits" --prompt 24 -o "$tmp/l"
[ "$status" -eq 0 ] && [ "$(wc -c <"$tmp/l")" -eq $((8 + 4 * 32 + 4 * 32 * 300)) ]
ok $? "logits: a file of the documented size"
head -c 136 "$top_srcdir/tests/fixtures/llama-2l.logits" >"$tmp/head"
head -c 136 "$tmp/l" | cmp -s - "$tmp/head"
ok $? "logits: counts and tokens first"
run logits -m "$m" --tokens 1,5,9 -o "$tmp/l"
[ "$status" -eq 0 ] && [ "$(wc -c <"$tmp/l")" -eq $((8 + 12 + 4 * 3 * 300)) ]
ok $? "logits: --tokens"
rm -f "$tmp/l"
refused 1 "id 300 is outside the vocabulary of 300" logits -m "$m" --tokens 1,300 -o "$tmp/l"
refused 2 "--tokens" logits -m "$m" --tokens 1,x -o "$tmp/l"
refused 2 "--prompt: 4 of 3 tokens" logits -m "$m" --tokens 1,2,3 --prompt 4 -o "$tmp/l"
refused 2 "one of --tokens and --tokens-from" logits -m "$m" -o "$tmp/l"
refused 1 "tokens do not fit a file" logits -m "$m" --tokens-from "$m" -o "$tmp/l"
[ ! -e "$tmp/l" ] && [ -z "$(ls "$tmp" | grep tmp)" ]
ok $? "a refusal leaves no file"
finish
