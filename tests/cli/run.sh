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
[ "$status" -eq 0 ] && grep -q 'tokens/s: no decode step' "$tmp/err" && ! grep -q '0.0 tokens/s' "$tmp/err"
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
catches $pid
sleep 0.2
kill -TERM $pid
wait $pid
[ $? -eq 130 ]
ok $? "interrupted while it waits for the prompt: 130"
exec 9>&-

# ---- sampling
run run -m "$m" -p 'one two' -n 20 --ignore-eos -o json
greedy=$(ids)
run run -m "$m" -p 'one two' -n 20 --ignore-eos --temp 5 --top-k 1 -o json
[ "$(ids)" = "$greedy" ]
ok $? "--top-k 1 is greedy at any temperature"
run run -m "$m" -p 'one two' -n 20 --ignore-eos --temp 5 --top-p 0.000001 -o json
[ "$(ids)" = "$greedy" ]
ok $? "--top-p near 0 is greedy at any temperature"
run run -m "$m" -p 'one two' -n 20 --ignore-eos --temp 5 --min-p 1 -o json
[ "$(ids)" = "$greedy" ]
ok $? "--min-p 1 is greedy at any temperature"
run run -m "$m" -p 'one two' -n 20 --ignore-eos --temp 5 --top-k 3 -o json
[ "$(ids)" != "$greedy" ]
ok $? "--top-k 3 is not"
run run -m "$m" -p 'one two' -n 60 --ignore-eos --repeat-penalty 100 --repeat-last-n -1 -o json
[ "$(ids | tr ',' '\n' | sort | uniq -d | wc -l)" -eq 0 ] && [ "$(echo "$cached" | tr ',' '\n' | sort | uniq -d | wc -l)" -gt 0 ]
ok $? "--repeat-penalty 100 on all tokens: none comes twice, as they do without"
for wrong in "--temp -1" "--top-p 0" "--min-p 1.5" "--repeat-penalty 0" "--repeat-last-n -2" "--top-k -1" "--seed x"; do
    # shellcheck disable=SC2086
    refused 2 "${wrong% *}: expected" run -m "$m" -p x $wrong
done

# ---- why it ends. The text of this prompt: BC, then "gt;gUn8I" without its t;
text() { LC_ALL=C sed '$d' <"$tmp/out"; LC_ALL=C tail -n 1 "$tmp/out" | LC_ALL=C tr -d '\n'; }
run run -m "$m" -p 'one two' -n 8 --ignore-eos
text >"$tmp/whole"
third=$(LC_ALL=C cut -b 3-5 <"$tmp/whole")
run run -m "$m" -p 'one two' -n 8 --ignore-eos --stop nothing --stop "$third"
text >"$tmp/cut"
[ "$status" -eq 0 ] && [ "$(wc -c <"$tmp/cut")" -eq 2 ] && says '5 generated (stop text)'
ok $? "--stop over three tokens: the text in front of it comes out, and no more is generated"
run run -m "$m" -p 'one two' -n 4 --ignore-eos --stop "$third"
text >"$tmp/cut"
head -c 4 "$tmp/whole" | cmp -s - "$tmp/cut"
ok $? "the beginning of a stop text comes out when the rest never does"
run run -m "$m" -p 'one two' -n 8 --ignore-eos --stop "$third" -o json
[ "$status" -eq 0 ] && has '"finish": "stop"' && [ "$(figure n_gen)" -eq 5 ]
ok $? "finish: stop"
run run -m "$m" -p 'one two' -n 8 --ignore-eos -o json
has '"finish": "length"' && [ "$(figure n_gen)" -eq 8 ]
ok $? "finish: length"
# patch KEY BYTES: a copy of the model with another 32-bit number under KEY
patch() {
    cp "$m" "$tmp/patched.gguf"
    at=$(LC_ALL=C grep -abo "$1" "$m" | head -n 1 | cut -d : -f 1)
    printf "$2" | dd of="$tmp/patched.gguf" bs=1 seek=$((at + ${#1} + 4)) conv=notrunc 2>/dev/null
}
id=$(echo "$greedy" | cut -d , -f 3)
patch tokenizer.ggml.eos_token_id "$(printf '\\%03o\\%03o' $((id % 256)) $((id / 256)))"
run run -m "$tmp/patched.gguf" -p 'one two' -n 8 -o json
has '"finish": "eos"' && [ "$(figure n_gen)" -eq 3 ] && [ "$(ids)" = "$(echo "$greedy" | cut -d , -f 1-3)" ]
ok $? "finish: eos"
run run -m "$tmp/patched.gguf" -p 'one two' -n 8
says '3 generated (end of sequence)'
ok $? "finish in words"
run run -m "$m" -p 'one two' -n 4 --ignore-eos --stop '</s>' # is a control token: found by its id
ok $? "a control token as stop text"
refused 2 "keys of type FP8 can be predicted (predict, analyze), not executed" run -m "$m" -p x -ctk FP8
refused 2 "--stop: expected a text, found an empty one" run -m "$m" -p x --stop ''

# ---- chat
count() { # TEXT ARGS...: tokens of the prompt
    text=$1
    shift
    run run -m "$m" -p "$text" -n 1 -o json "$@"
    figure n_prompt
}
# llama-2l has a token a byte, a space, <s> and </s>: <s>, a space, "[INST] Hi [/INST]"
is 19 "$(count Hi --chat-template llama2)" "--chat-template llama2: the tokens of the prompt"
has '"chat_template": "llama2"'
ok $? "the document names the template"
is "$(($(count Hi --chat-template zephyr) - 1))" "$(count '</s>' --chat-template zephyr --special)" \
    "--special: a control token in a message is one token"
is "$(($(count Hi --chat-template zephyr) + 2))" "$(count '</s>' --chat-template zephyr)" "without it, its letters"
is "$(($(count Hi --chat-template llama2) + 22))" "$(count Hi --chat-template llama2 --system 'Be.')" "--system"
refused 1 "no tokenizer.chat_template; name a chat template: phi4 " run -m "$m" -p x --chat
refused 2 '"x" is not known; expected one of: phi4 ' run -m "$m" -p x --chat-template x
refused 2 "chat template gemma has no system message" run -m "$m" -p x --chat-template gemma --system y
refused 2 "--system needs --chat" run -m "$m" -p x --system y
run run --chat-template help
[ "$status" -eq 0 ] && has '^chatml  *ChatML: Qwen3'
ok $? "--chat-template help lists them"
# with_template FILE TEXT: the model with a template of its own: one more key, of 128 bytes, so that what follows stays
# aligned; and it asks for no token that begins a sequence.
with_template() {
    {
        head -c 16 "$m"
        keys=$(od -An -tu1 -j 16 -N 1 "$m")
        printf "$(printf '\\%03o' $((keys + 1)))\000\000\000\000\000\000\000"
        printf '\027\000\000\000\000\000\000\000tokenizer.chat_template\010\000\000\000\125\000\000\000\000\000\000\000'
        printf '%-85s' "$2"
        tail -c +25 "$m"
    } >"$1"
    at=$(LC_ALL=C grep -abo tokenizer.ggml.add_bos_token "$1" | head -n 1 | cut -d : -f 1)
    printf '\000' | dd of="$1" bs=1 seek=$((at + 28 + 4)) conv=notrunc 2>/dev/null
}
with=$(count Hi --chat-template tulu)
with_template "$tmp/tulu.gguf" "{{ '<|user|>\n' + message['content'] + '\n' }}{{ '<|assistant|>\n' }}"
printf 'Hi\n' | "$ROOFCAST" run -m "$tmp/tulu.gguf" --chat -n 1 -o json >"$tmp/out" 2>"$tmp/err"
has '"chat_template": "tulu"'
ok $? "--chat: the file's template is recognised"
is $((with - 1)) "$(figure n_prompt)" "nothing begins the sequence where neither file nor template ask for it"
with_template "$tmp/bos.gguf" "{{bos_token}}{{'<|user|>\n' + message['content'] + '\n'}}{{'<|assistant|>\n'}}"
run run -m "$tmp/bos.gguf" -p Hi --chat -n 1 -o json
is "$with" "$(figure n_prompt)" "the template does"

refused 2 "-m FILE is needed" run -p x
refused 1 "no/such.gguf" run -m no/such.gguf -p x
refused 2 "needs a GGUF file" run -m llama-3-8b -p x
refused 2 "a context of 1002 tokens exceeds the trained context of 256" run -m "$m" -p '' -n 1001 -c 1002
refused 2 "do not fit -c 8" run -m "$m" -p 'one two' -n 8 -c 8
refused 2 "-t: expected" run -m "$m" -p x -t 0
refused 2 "10000 threads requested" run -m "$m" -p x -t 10000
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
cp "$m" "$tmp/model.gguf"
refused 2 "is an input file" logits -m "$tmp/model.gguf" --tokens 1 -o "$tmp/model.gguf"
cmp -s "$m" "$tmp/model.gguf"
ok $? "the model is as it was"
refused 1 "id 300 is outside the vocabulary of 300" logits -m "$m" --tokens 1,300 -o "$tmp/l"
refused 2 "--tokens" logits -m "$m" --tokens 1,x -o "$tmp/l"
refused 2 "--prompt: 4 of 3 tokens" logits -m "$m" --tokens 1,2,3 --prompt 4 -o "$tmp/l"
refused 2 "one of --tokens and --tokens-from" logits -m "$m" -o "$tmp/l"
refused 1 "tokens do not fit a file" logits -m "$m" --tokens-from "$m" -o "$tmp/l"
[ ! -e "$tmp/l" ] && [ -z "$(ls "$tmp" | grep tmp)" ]
ok $? "a refusal leaves no file"
finish
