#!/bin/sh
# TTFT and ITL as client.py measures them (vLLM's arithmetic) and as roofcast serve --http says: timings of each answer, histograms of /metrics.
. "${top_srcdir:?}/tests/cli/lib.sh"
python=
for p in python3 /usr/bin/python3; do # the system's, where the first of PATH is another
    [ -z "$python" ] && "$p" -c 'import aiohttp' 2>/dev/null && python=$p
done
[ -n "$python" ] || { echo "1..0 # SKIP python3-aiohttp is not installed"; exit 0; }
command -v curl >/dev/null || { echo "1..0 # SKIP curl is not installed"; exit 0; }
m=$tmp/model.gguf width=512
[ -z "${ROOFCAST_SANITIZED:-}" ] || width=128
"$ROOFCAST" synth --n-layer 4 --n-embd $width --n-ff $((4 * width)) --n-head 4 --n-head-kv 2 --n-vocab 512 -q F16 -o "$m" --quiet || exit 99
serves -m "$m" -t 1
# One core for the server's thread, one for the client: within 1 ms. Else both wait for others' time slices, and sanitizers slow the server's part of
# each request: then 50 ms, which still finds a figure of another unit or another interval.
bound_ms=$(awk -v n="$(getconf _NPROCESSORS_ONLN)" -v sanitized="${ROOFCAST_SANITIZED:-0}" '{ print $1 + 2 <= n + 0.5 && !sanitized ? 1 : 50 }' /proc/loadavg)
echo "# load average $(cut -d ' ' -f 1 /proc/loadavg): bound $bound_ms ms"

load() { # ARGS...: client.py's object in $tmp/out, the growth of the histograms' counts and sums in $tmp/grown
    curl -s "$url/metrics" | sed -n 's/^vllm:\(.*_seconds_\(count\|sum\)\){[^}]*} /\1 /p' >"$tmp/before"
    "$python" "$top_srcdir/tests/server/client.py" --url "$url" --save-detailed --ignore-eos "$@" >"$tmp/out" 2>"$tmp/err" || return 1
    curl -s "$url/metrics" | sed -n 's/^vllm:\(.*_seconds_\(count\|sum\)\){[^}]*} /\1 /p' >"$tmp/after"
    awk 'NR == FNR { v[$1] = $2; next } { printf "%s\"%s\":%.9f", n++ ? "," : "{", $1, $2 - v[$1] } END { print "}" }' "$tmp/before" "$tmp/after" >"$tmp/grown"
}
judge() { # CONDITION of the client's object, $g (what /metrics grew by) and $bound (ms)
    jq -e --slurpfile grown "$tmp/grown" --argjson bound "$bound_ms" '
        def mid: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;
        def all_itl: [.itls[][]] | add;
        $grown[0] as $g | '"$1" "$tmp/out" >"$tmp/judged" 2>>"$tmp/err"
    rc=$?
    [ $rc -eq 0 ] || jq -c '[.ttfts, [.itls[] | add], [.timings[] | [.prompt_ms, .predicted_ms]]]' "$tmp/out" >>"$tmp/err"
    return $rc
}
load -n 12 --max-concurrency 1 --prompt-tokens 96 --max-tokens 40
ok $? "twelve requests, one after the other"
jq -r '"# client less server: TTFT \(.median_ttft_minus_server_ms) ms, between tokens \(.median_itl_minus_server_ms) ms"' "$tmp/out"
judge '$g.time_to_first_token_seconds_count == 12 and $g.inter_token_latency_seconds_count == 12 * 39 and ([.itls[] | length] | all(. == 39))'
ok $? "as many samples in /metrics as messages at the client"
judge '. as $c | [range(12) | $c.ttfts[.] * 1e3 - $c.timings[.].prompt_ms] | all(. > 0) and mid <= 2 * $bound'
ok $? "TTFT: no less than the server's time of the prompt; the median of the differences, with the way there and back, is within twice the bound"
judge '. as $c | [range(12) | ($c.itls[.] | add) * 1e3 - $c.timings[.].predicted_ms | fabs] | mid <= $bound'
ok $? "first to last token: the median of the differences from the server's timings is within the bound"
judge '.median_itl_minus_server_ms | fabs <= $bound'
ok $? "time between tokens: the median of the differences is within the bound"
judge '((.ttfts | add) - $g.time_to_first_token_seconds_sum) * 1e3 / 12 | . > 0 and . <= 4 * $bound'
ok $? "TTFT: the mean of /metrics is below the client's by no more than four times that"
judge '(all_itl - $g.inter_token_latency_seconds_sum) * 1e3 / 12 | fabs <= 4 * $bound'
ok $? "ITL: so are the sums of a request"
load -n 24 --prompt-tokens 96 --max-tokens 40
ok $? "24 requests at once"
judge '$g.time_to_first_token_seconds_count == 24 and $g.request_queue_time_seconds_count == 24 and
    (((.ttfts | add) - $g.time_to_first_token_seconds_sum) / 24 | . > 0 and . * 1e3 <= 24 * $bound) and
    ((.latencies | add) - $g.e2e_request_latency_seconds_sum | . > 0) and $g.request_queue_time_seconds_sum <= $g.time_to_first_token_seconds_sum'
ok $? "of those: latencies of /metrics are below the client's, and the time in the queue is part of TTFT"
kill -TERM $pid
ended $pid
pid=
ok "$status" "the server ended with status 0"
finish
