#!/bin/sh
# Clients of other languages against the HTTP server without a model (fake_server): curl, client.py (vLLM's arithmetic), promtool.
set -u
: "${top_srcdir:?run this by make check}"
server=tests/server/fake_server
step_ms=20
dir=$(mktemp -d)
mkfifo "$dir/in"
"$server" $step_ms <"$dir/in" >"$dir/port" 2>"$dir/err" &
pid=$!
exec 9>"$dir/in" # its end is the server's
trap 'exec 9>&-; wait $pid; rm -rf "$dir"' EXIT
i=0
while [ ! -s "$dir/port" ] && kill -0 $pid 2>/dev/null && [ $i -lt 100 ]; do
    sleep 0.1
    i=$((i + 1))
done
if [ ! -s "$dir/port" ]; then
    grep -q unavailable "$dir/err" && { echo "1..0 # SKIP built without libmicrohttpd"; exit 0; }
    cat "$dir/err"
    echo "Bail out! the server does not start"
    exit 1
fi
url=http://127.0.0.1:$(cat "$dir/port")
n=0 bad=0
ok() { # RC TEXT
    n=$((n + 1))
    if [ "$1" = 0 ]; then echo "ok $n - $2"; else
        echo "not ok $n - $2"
        bad=1
    fi
}
skip() {
    n=$((n + 1))
    echo "ok $n # SKIP $1"
}

if command -v curl >/dev/null; then
    curl -sS -N "$url/v1/completions" -d '{"prompt":[75,104,111,111,114],"max_tokens":5,"stream":true}' >"$dir/stream" &&
        [ "$(grep -c '^data: {' "$dir/stream")" = 5 ] && [ "$(tail -n 2 "$dir/stream" | head -n 1)" = "data: [DONE]" ]
    ok $? "curl: a chunk a token, then [DONE]"
    curl -sS "$url/v1/chat/completions" -d '{"messages":[{"role":"user","content":"Hi"}],"max_tokens":3}' | jq -e '.choices[0].message.role == "assistant"' >/dev/null
    ok $? "curl: a chat"
    # Larger than what curl sends without asking: 100 Continue.
    { printf '{"prompt":"'; head -c 1100000 /dev/zero | tr '\0' 'a'; printf '","max_tokens":1}'; } >"$dir/big"
    [ "$(curl -sS -o "$dir/reply" -w '%{http_code}' "$url/v1/completions" -d "@$dir/big")" = 400 ] && grep -q context_length_exceeded "$dir/reply"
    ok $? "curl: a megabyte that does not fit the context is refused by its tokens"
    { cat "$dir/big" "$dir/big"; } >"$dir/bigger"
    [ "$(curl -sS -o "$dir/reply" -w '%{http_code}' "$url/v1/completions" -d "@$dir/bigger")" = 413 ]
    ok $? "curl: two are refused by their bytes"
else
    skip "curl is not installed"
fi

client() { # NAME ARGUMENTS...: its object in $dir/NAME
    name=$1
    shift
    "$python" "$top_srcdir/tests/server/client.py" --url "$url" --save-detailed "$@" >"$dir/$name" 2>"$dir/$name.err" || { cat "$dir/$name.err"; head -c 2000 "$dir/$name"; false; }
}
python=
for p in python3 /usr/bin/python3; do # the system's, where the first of PATH is another
    [ -z "$python" ] && "$p" -c 'import aiohttp' 2>/dev/null && python=$p
done
if [ -n "$python" ]; then
    client one -n 4 --max-concurrency 1 --max-tokens 8 &&
        jq -e '.completed == 4 and .role_only_messages == 0 and ([.itls[] | length] | all(. == 7)) and .total_output_tokens == 32' "$dir/one" >/dev/null
    ok $? "client.py: one message a token, none without a text"
    # The server's own figures: the time between its first and last token.
    jq -e '[range(4) as $i | (.itls[$i] | add) * 1e3 - .timings[$i].predicted_ms | if . < 0 then -. else . end] | sort | .[0] < 1' "$dir/one" >/dev/null
    ok $? "client.py: times between tokens are the server's within 1 ms (the best of four)"
    jq -e --argjson step $step_ms '.median_itl_ms >= $step and .median_itl_ms < 3 * $step' "$dir/one" >/dev/null
    ok $? "client.py: a gap is a step"
    client many -n 40 --max-tokens 20 --chat && jq -e '.completed == 40 and ([.finish_reasons[] == "length"] | all)' "$dir/many" >/dev/null
    ok $? "client.py: 40 chats at once"
    client rate -n 20 --rate 40 --max-tokens 4 && jq -e '.completed == 20 and .duration >= 0.45' "$dir/rate" >/dev/null
    ok $? "client.py: arrivals at a rate"
else
    skip "python3-aiohttp is not installed"
fi

if command -v curl >/dev/null; then
    # Every sample is of a family that was named before, and every line ends.
    curl -sS "$url/metrics" >"$dir/metrics" && awk '
/^# TYPE / { type[$3] = $4; next }
/^# HELP / { next }
{
    name = $1
    sub(/[{].*/, "", name)
    family = name
    if (!(family in type)) sub(/_(bucket|sum|count)$/, "", family)
    if (!(family in type) || NF < 2 || $NF !~ /^[0-9.e+-]+$/) { print "# " $0; bad = 1 }
    n++
}
END { exit bad || n < 50 }' "$dir/metrics"
    ok $? "curl: /metrics: every sample has a type and a number"
else
    skip "curl is not installed"
fi
if command -v promtool >/dev/null && command -v curl >/dev/null; then
    # Colons are part of vLLM's names, and one of its histograms ends in _total: promtool's only remarks.
    curl -sS "$url/metrics" | promtool check metrics >"$dir/lint" 2>&1
    rc=$?
    grep -v -e "metric names should not contain ':'" -e 'vllm:iteration_tokens_total non-counter' "$dir/lint" | sed 's/^/# /' >"$dir/left"
    cat "$dir/left"
    [ ! -s "$dir/left" ] && { [ $rc = 0 ] || [ $rc = 3 ]; }
    ok $? "promtool: /metrics is valid; the only remarks are on vLLM's names"
else
    skip "promtool is not installed"
fi
echo "1..$n"
exit $bad
