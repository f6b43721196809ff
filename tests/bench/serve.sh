#!/bin/sh
# Tokens/s and latencies through HTTP, streaming, next to `roofcast bench` of the same file in the same minutes.
#
#   tests/bench/serve.sh [options] FILE.gguf
#     -s LIST  numbers of streams ("1 4 16")      -p N  prompt tokens (64)      -n N  generated tokens (128)
#     -r N     rounds; medians are printed (3)    -t N  threads (all processors)
#     -u URL   measure the server that listens there, such as llama-server, with the same client; without FILE nothing is compared with it
#     -x JSON  more fields of requests ({}), as '{"cache_prompt": false}'
#
# Each stream is one request; all of a row start at once, with random prompts that share no prefix. tok/s: all tokens over the whole time, prompts
# included; decode tok/s: while all streams generate, the counterpart of bench's. ITL: pooled gaps between messages. client - server: medians of the
# differences between what the client measured and the server's own `timings`: TTFT without the time in the queue, and time between tokens.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
roofcast=${ROOFCAST:-$top/build/roofcast}
streams='1 4 16' n_prompt=64 n_gen=128 rounds=3 threads=$(getconf _NPROCESSORS_ONLN) url='' extra='{}'
usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d' >&2; exit 2; }
while getopts s:p:n:r:t:u:x:h o; do
    case $o in
    s) streams=$OPTARG ;;
    p) n_prompt=$OPTARG ;;
    n) n_gen=$OPTARG ;;
    r) rounds=$OPTARG ;;
    t) threads=$OPTARG ;;
    u) url=${OPTARG%/} ;;
    x) extra=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
for v in "$n_prompt" "$n_gen" "$rounds" "$threads" $streams; do
    case $v in '' | *[!0-9]* | 0) echo "serve: expected a number above 0, found \"$v\"" >&2; exit 2 ;; esac
done
model=${1:-}
[ $# -le 1 ] && { [ -n "$model" ] || [ -n "$url" ]; } || usage
[ -z "$model" ] || [ -f "$model" ] || { echo "serve: $model: no such file" >&2; exit 2; }
[ -z "$model" ] || [ -x "$roofcast" ] || { echo "serve: no $roofcast: build it, or set ROOFCAST" >&2; exit 1; }
python=
for p in python3 /usr/bin/python3; do
    [ -z "$python" ] && "$p" -c 'import aiohttp' 2>/dev/null && python=$p
done
[ -n "$python" ] || { echo "serve: the client needs python3-aiohttp" >&2; exit 1; }
tmp=$(mktemp -d) || exit 1
pid=
trap '[ -z "$pid" ] || kill -TERM $pid 2>/dev/null; wait; rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

if [ -z "$url" ]; then
    "$roofcast" serve -m "$model" --http 0 -t "$threads" >"$tmp/listens" 2>"$tmp/err" &
    pid=$!
    while [ ! -s "$tmp/listens" ] && kill -0 $pid 2>/dev/null; do sleep 0.1; done
    url=$(sed -n 's/.* on \(http:[^,]*\),.*/\1/p' "$tmp/listens")
    [ -n "$url" ] || { cat "$tmp/err" >&2; exit 1; }
    cat "$tmp/listens"
fi
client() { # STREAMS SEED
    "$python" "$top/tests/server/client.py" --url "$url" -n "$1" --seed "$2" --prompt-tokens "$n_prompt" --max-tokens "$n_gen" --ignore-eos --extra "$extra"
}
client 1 1 >"$tmp/warm" 2>"$tmp/err" || { cat "$tmp/err" "$tmp/warm" >&2; exit 1; }
seed=1 round=0
while [ $round -lt "$rounds" ]; do
    for s in $streams; do
        seed=$((seed + 1))
        client "$s" $seed >>"$tmp/http.$s" || exit 1
    done
    round=$((round + 1))
done
# The server is done before bench begins; both have the machine for themselves.
[ -z "$pid" ] || { kill -TERM $pid; wait $pid; pid=; }

if [ -n "$model" ]; then
    list=$(echo $streams | tr ' ' ',')
    "$roofcast" bench -m "$model" -p "$n_prompt" -n "$n_gen" -b "$list" -r "$rounds" -t "$threads" -o json --quiet >"$tmp/bench" 2>"$tmp/err" || { cat "$tmp/err" >&2; exit 1; }
fi
echo "load average $(cut -d ' ' -f 1-3 /proc/loadavg); $url; prompts of $n_prompt tokens, $n_gen generated, medians of $rounds rounds"
printf '%7s %9s %12s %8s %8s %8s | %11s %9s | %11s %8s %8s %7s\n' streams tok/s 'decode tok/s' TTFT,ms ITL,ms p99,ms 'TTFT-server' 'ITL-srv' 'bench tok/s' ITL,ms p99,ms ratio
for s in $streams; do
    jq -s -r --argjson s "$s" --slurpfile b "$([ -f "$tmp/bench" ] && echo "$tmp/bench" || echo /dev/null)" '
        def mid(f): map(f | select(. != null)) | sort | if length == 0 then null elif length % 2 == 1 then .[(length - 1) / 2] else (.[length / 2 - 1] + .[length / 2]) / 2 end;
        ([$b[]? | .. | objects | select(.phase == "decode" and .n_batch == $s)] | first) as $bench |
        [$s, mid(.output_throughput), mid(.decode_throughput), mid(.median_ttft_ms), mid(.median_itl_ms), mid(.p99_itl_ms), mid(.median_ttft_minus_server_ms),
         mid(.median_itl_minus_server_ms), $bench.tok_s_mean, ($bench.itl_p50_s | if . then . * 1e3 else null end), ($bench.itl_p99_s | if . then . * 1e3 else null end),
         (if $bench.tok_s_mean then mid(.decode_throughput) / $bench.tok_s_mean else null end)] | map(. // "-") | @tsv' "$tmp/http.$s" |
        awk -F '\t' 'function f(x, d) { return x == "-" ? x : sprintf("%." d "f", x) }
            { printf "%7s %9s %12s %8s %8s %8s | %11s %9s | %11s %8s %8s %7s\n", $1, f($2, 1), f($3, 1), f($4, 1), f($5, 2), f($6, 2), f($7, 3), f($8, 3), f($9, 1), f($10, 2), f($11, 2), f($12, 2) }'
done
