#!/bin/sh
# The gain of speculation, measured and simulated: drafts are accepted with forced probabilities, whatever the models say.
#
#   tests/bench/spec_gain.sh [options] MODEL.gguf DRAFT.gguf|mtp
#     -a LIST  probabilities that a draft is accepted, given those before it ("0 0.5 0.8 1")    -k N  drafted tokens of a step (4)
#     -s N     sequences at once (1)    -n N  generated tokens of a request (96)    -r N  requests (4)    -t N  threads (all processors)
#
# gain: tokens/s of output with drafts over those without, of `roofcast serve` and of `roofcast simulate` with this machine's profile.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
roofcast=${ROOFCAST:-$top/build/roofcast}
rates='0 0.5 0.8 1' k=4 seqs=1 n_gen=96 n=4 threads=$(getconf _NPROCESSORS_ONLN)
usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d' >&2; exit 2; }
while getopts a:k:s:n:r:t:h o; do
    case $o in
    a) rates=$OPTARG ;;
    k) k=$OPTARG ;;
    s) seqs=$OPTARG ;;
    n) n_gen=$OPTARG ;;
    r) n=$OPTARG ;;
    t) threads=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -eq 2 ] || usage
for f in "$@"; do [ "$f" = mtp ] || [ -f "$f" ] || { echo "spec_gain: $f: no such file" >&2; exit 2; }; done
model=$1 draft=$2
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
# tok_s COMMAND...: its tokens/s of output
tok_s() {
    "$roofcast" "$@" -t "$threads" --workload "random:in=64,out=$n_gen" --requests "$n" --rate inf --max-num-seqs "$seqs" --max-model-len 1024 --num-gpu-blocks-override 2049 \
        -o json 2>"$tmp/err" | jq -r '[.rows[] | select(.figure == "output_throughput") | .value][0]' >"$tmp/tok_s" || { cat "$tmp/err" >&2; exit 1; }
    [ -s "$tmp/tok_s" ] && cat "$tmp/tok_s" || { cat "$tmp/err" >&2; exit 1; }
}
plain=$(tok_s serve -m "$model") && plain_sim=$(tok_s simulate "$model" --hw this --draws 0) || exit 1
printf '%10s %10s %10s %9s %9s %8s\n' acceptance tok/s simulated gain simulated error
printf '%10s %10.1f %10.1f\n' none "$plain" "$plain_sim"
for a in $rates; do
    with=$(tok_s serve -m "$model" --draft "$draft" --num-speculative-tokens "$k" --spec-synth-rates "$a") &&
        sim=$(tok_s simulate "$model" --hw this --draws 0 --draft "$draft" --num-speculative-tokens "$k" --acceptance "$a") || exit 1
    # The plain run again: memory changes its speed by the minute.
    again=$(tok_s serve -m "$model") || exit 1
    echo "$a $with $sim $plain $again $plain_sim" | awk '{ g = $2 / (($4 + $5) / 2); s = $3 / $6; printf "%10s %10.1f %10.1f %9.2f %9.2f %+7.1f%%\n", $1, $2, $3, g, s, 100 * (s / g - 1) }'
    plain=$again
done
