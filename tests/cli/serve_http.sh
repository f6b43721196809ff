#!/bin/sh
# roofcast serve --http on the engine: the same tokens as `run`, whatever runs with it; keys, hang-ups, drain.
. "${top_srcdir:?}/tests/cli/lib.sh"
m=$tmp/model.gguf
command -v curl >/dev/null || { echo "1..0 # SKIP curl is not installed"; exit 0; }
served_model "$m"
serves -m "$m" -t 1 --chat-template chatml --api-key secret --max-num-seqs 4 --max-num-batched-tokens 16
post() { curl -sS -H 'Authorization: Bearer secret' "$url$1" -d "$2"; }
[ "$(curl -s -o "$tmp/out" -w '%{http_code}' "$url/v1/models")" = 401 ] && has invalid_api_key
ok $? "without the key: 401"

# More requests than sequences, prompts longer than a step: all at once.
i=0 clients=
for p in 'one' 'two three' 'the quick brown fox jumps over the lazy dog again and again' 'one' 'a b c' 'the quick brown fox jumps over the lazy cat' 'x' 'zz'; do
    i=$((i + 1))
    post /v1/completions "{\"prompt\":\"$p\",\"max_tokens\":24,\"temperature\":0,\"ignore_eos\":true,\"return_token_ids\":true}" >"$tmp/reply.$i" &
    clients="$clients $!"
    "$ROOFCAST" run -m "$m" -p "$p" -n 24 --ignore-eos -t 1 -o json >"$tmp/run.$i"
done
# shellcheck disable=SC2086
wait $clients
same=0
while [ $i -gt 0 ]; do
    jq -n --slurpfile a "$tmp/reply.$i" --slurpfile b "$tmp/run.$i" -e '$a[0].choices[0].token_ids == $b[0].ids[-24:] and ($b[0].text == null or $a[0].choices[0].text == $b[0].text)' >/dev/null || same=1
    i=$((i - 1))
done
ok $same "eight requests at once: each the tokens of run"
post /v1/chat/completions '{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}],"max_tokens":16,"temperature":0,"ignore_eos":true,"return_token_ids":true}' >"$tmp/reply"
"$ROOFCAST" run -m "$m" --chat-template chatml --system 'Be brief.' -p Hi -n 16 --ignore-eos -t 1 -o json >"$tmp/run"
jq -n --slurpfile a "$tmp/reply" --slurpfile b "$tmp/run" -e '$a[0].choices[0].token_ids == $b[0].ids[-16:] and $a[0].usage.prompt_tokens == $b[0].n_prompt' >/dev/null
ok $? "a chat: the tokens and the length of the prompt of run --chat"
post /v1/completions '{"prompt":"one","max_tokens":9,"temperature":0.8,"seed":7,"logprobs":2,"ignore_eos":true}' >"$tmp/a"
post /v1/completions '{"prompt":"one","max_tokens":9,"temperature":0.8,"seed":7,"logprobs":2,"ignore_eos":true}' >"$tmp/b"
jq -n --slurpfile a "$tmp/a" --slurpfile b "$tmp/b" -e '$a[0].choices == $b[0].choices and ($a[0].choices[0].logprobs.tokens | length) == 9 and ($a[0].choices[0].logprobs.token_logprobs | all(. <= 0))' >/dev/null
ok $? "a seed: the same tokens, with log probabilities"

running() { curl -s -H 'X-Api-Key: secret' "$url/metrics" | sed -n 's/^vllm:num_requests_running.* //p'; }
is_running() { [ "$(running)" = "$1" ]; }
post /v1/completions '{"prompt":"one","max_tokens":200,"stream":true,"ignore_eos":true}' >"$tmp/out"
[ "$(grep -c '^data: {' "$tmp/out")" = 200 ] && grep -q '"finish_reason":"length"' "$tmp/out"
ok $? "a stream: 200 tokens, 200 chunks"
long='{"prompt":"one","max_tokens":1900,"stream":true,"ignore_eos":true}'
curl -sN -H 'X-Api-Key: secret' "$url/v1/completions" -d "$long" >"$tmp/stream" &
client=$!
begun() { grep -q '^data: {"id"' "$tmp/stream"; }
until_ begun
is_running 1
ran=$?
kill -KILL $client
wait $client 2>/dev/null
until_ is_running 0 && [ $ran -eq 0 ] && ! grep -q DONE "$tmp/stream"
ok $? "a client that hangs up: nothing runs"

curl -sN -H 'X-Api-Key: secret' "$url/v1/completions" -d '{"prompt":"one","max_tokens":250,"stream":true,"ignore_eos":true}' >"$tmp/stream2" &
client=$!
begun() { grep -q '^data: {"id"' "$tmp/stream2"; }
until_ begun
kill -TERM $pid
wait $client
ended $pid
pid=
[ "$status" -eq 0 ] && grep -q '"finish_reason":"length"' "$tmp/stream2" && grep -q 'DONE' "$tmp/stream2"
ok $? "SIGTERM: what runs goes on to its end, then the server ends with status 0"

serves -m "$m" -t 1
curl -sN "$url/v1/completions" -d "$long" >"$tmp/stream3" &
client=$!
begun() { grep -q '^data: {"id"' "$tmp/stream3"; }
until_ begun
kill -TERM $pid
drains() { [ "$(curl -s -o /dev/null -w '%{http_code}' "$url/health")" = 503 ]; }
until_ drains
drained=$?
kill -TERM $pid
ended $pid
pid=
wait $client
[ $drained -eq 0 ] && [ "$status" -eq 143 ] && ! grep -q DONE "$tmp/stream3"
ok $? "SIGTERM twice: /health says 503, then the server ends at once"

run serve -m "$m" --http 127.0.0.1:99999
[ $status -eq 2 ] && says '65535'
ok $? "a port that is none"
run serve -m "$m" --api-key x
[ $status -eq 2 ] && says 'expected --http'
ok $? "--api-key without --http"
run serve -m "$m" --http 8080 --workload random
[ $status -eq 2 ]
ok $? "--http and a workload exclude each other"
echo "1..$n"
exit $bad
