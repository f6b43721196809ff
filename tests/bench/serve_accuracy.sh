#!/bin/sh
# A measured service and its simulation: seven workloads a file, from idle to saturation, and the errors of the simulator.
#
#   tests/bench/serve_accuracy.sh [options] FILE.gguf...
#     -w LIST  workloads (idle half busy full preempt prefix long)    -k DIR  keep the runs and simulations there    -t N  threads (all processors)
#
# The profile is this machine's (`roofcast profile`), frozen: its hash is printed. Rates of `half` and `busy` are 0.5 and 0.85 of the requests/s of the
# simulation at saturation, so nothing of the simulation depends on a served run. memory: GB/s of the probes of the served run, which
# read its weights. Errors: simulated / measured - 1, in percent; preemptions and blocks: measured:simulated.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
roofcast=${ROOFCAST:-$top/build/roofcast}
workloads='idle half busy full preempt prefix long' keep='' threads=$(getconf _NPROCESSORS_ONLN)
usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d' >&2; exit 2; }
while getopts w:k:t:h o; do
    case $o in
    w) workloads=$OPTARG ;;
    k) keep=$OPTARG ;;
    t) threads=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || usage
for f in "$@"; do [ -f "$f" ] || { echo "serve_accuracy: $f: no such file" >&2; exit 2; }; done
profile=${XDG_DATA_HOME:-$HOME/.local/share}/roofcast/this.json
[ -f "$profile" ] || { echo "serve_accuracy: $profile: no such file: run \`roofcast profile\` on the idle machine" >&2; exit 2; }
tmp=${keep:-$(mktemp -d)} || exit 1
mkdir -p "$tmp" || exit 1
[ -n "$keep" ] || trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

# simulate NAME FILE OPTION...: its JSON in $tmp/NAME.sim.json
simulate() {
    name=$1 model=$2
    shift 2
    "$roofcast" simulate "$model" --hw this -t "$threads" --draws 16 "$@" \
        --save "$tmp/$name.sim.json" -o csv >/dev/null 2>"$tmp/err" || { cat "$tmp/err" >&2; exit 1; }
}
# both NAME FILE BLOCKS OPTION...: served and simulated with a pool of BLOCKS, and a row of errors
both() {
    name=$1 model=$2 blocks=$3
    shift 3
    "$roofcast" serve -m "$model" -t "$threads" --num-gpu-blocks-override "$blocks" "$@" --save "$tmp/$name.run.json" -o csv >/dev/null 2>"$tmp/err" ||
        { cat "$tmp/err" >&2; exit 1; }
    simulate "$name" "$model" --num-gpu-blocks-override "$blocks" "$@"
    "$roofcast" compare "$tmp/$name.run.json" "$tmp/$name.sim.json" -o csv >"$tmp/$name.csv" || exit 1
    awk -F , -v name="${name##*.}" -v memory="$(jq '(.roofs.memory_bytes_s // 0) / 1e9' "$tmp/$name.run.json")" '
        function e(k) { return k in error ? sprintf("%+.1f", 100 * error[k]) : "-" }
        { n = NF; error[$1] = $(n - 3); b[$1] = $(n - 6); a[$1] = $(n - 7) }
        END { printf "%-8s %6.1f | %6s %6s %6s | %6s %6s %6s | %6s | %9s %11s\n", name, memory, e("ttft_mean"), e("ttft_p50"), e("ttft_p99"), e("itl_mean"), e("itl_p50"),
              e("itl_p99"), e("output_throughput"), a["preemptions"] ":" b["preemptions"], a["kv_blocks_max"] ":" b["kv_blocks_max"] }' "$tmp/$name.csv"
}
echo "profile $(sha256sum "$profile" | cut -c1-12), constants $(cat "$top"/hwprofiles/stacks/*.json | sha256sum | cut -c1-12), load average $(cut -d ' ' -f 1-3 /proc/loadavg)"
for f in "$@"; do
    base=$(basename "$f" .gguf)
    echo
    echo "$f"
    printf '%-8s %6s | %6s %6s %6s | %6s %6s %6s | %6s | %9s %11s\n' '' memory TTFT p50 p99 ITL p50 p99 tok/s preempted blocks
    simulate "$base.rate" "$f" --num-gpu-blocks-override 2049 --workload random:in=128,out=64 --requests 64 --rate inf --max-num-seqs 16 --max-model-len 2048
    rate() { jq -r --argjson x "$1" '[.rows[] | select(.figure == "request_throughput") | .value][0] * $x' "$tmp/$base.rate.sim.json"; }
    for w in $workloads; do
        case $w in
        idle) both "$base.idle" "$f" 2049 --workload random:in=128,out=64 --requests 8 --rate "$(rate 0.1)" --max-num-seqs 16 --max-model-len 2048 ;;
        half) both "$base.half" "$f" 2049 --workload random:in=128,out=64 --requests 50 --rate "$(rate 0.5)" --max-num-seqs 16 --max-model-len 2048 ;;
        busy) both "$base.busy" "$f" 2049 --workload random:in=128,out=64 --requests 80 --rate "$(rate 0.85)" --max-num-seqs 16 --max-model-len 2048 ;;
        full) both "$base.full" "$f" 2049 --workload random:in=128,out=64 --requests 64 --rate inf --max-num-seqs 16 --max-model-len 2048 ;;
        preempt) both "$base.preempt" "$f" 129 --workload random:in=128,out=128 --requests 40 --rate inf --max-num-seqs 16 --max-model-len 1024 ;;
        prefix) both "$base.prefix" "$f" 2049 --workload session:turns=4,in=400,new=60,out=40,think=1s --requests 8 --rate inf --max-num-seqs 16 --max-model-len 2048 ;;
        long) both "$base.long" "$f" 2049 --workload random:in=1500,out=32 --requests 8 --rate inf --max-num-seqs 16 --max-model-len 2048 ;;
        *) echo "serve_accuracy: -w: expected idle, half, busy, full, preempt, prefix or long, found \"$w\"" >&2; exit 2 ;;
        esac
    done
done
