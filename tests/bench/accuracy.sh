#!/bin/sh
# How right predictions are, against every target, as Markdown: doc/accuracy.md is this program's output.
#
#   tests/bench/accuracy.sh [options] [VALIDATE.json]      (make accuracy VALIDATE=FILE)
#     -o FILE  where it goes, replaced only when all is done (standard output)
#     -k DIR   keep the score of each file there, as `roofcast score` printed it
#     -l N     seconds that one score may take (3600: all rates are fitted anew for each machine, source or model left out)
#
# Scores the measurements under $ROOFCAST_SHARED/data/measurements (default ../shared beside the tree) with the program
# $ROOFCAST (default build/roofcast), two at a time or as many as there are processors. VALIDATE.json: what `roofcast validate -o json`
# wrote, on the machine named in it; without it what -o's page has of a CPU stays, and says whose tree it is. A score that fails,
# lacks its file or takes too long is "not run" in the tables, with the reason beneath them. Exit status 0: the tables are written,
# whatever they say.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
roofcast=${ROOFCAST:-$top/build/roofcast}
shared=${ROOFCAST_SHARED:-$top/../shared}
data=$shared/data/measurements
out='' keep='' limit=3600
usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d' >&2; exit 2; }
while getopts o:k:l:h o; do
    case $o in
    o) out=$OPTARG ;;
    k) keep=$OPTARG ;;
    l) limit=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -le 1 ] || usage
case $limit in '' | *[!0-9]* | 0) echo "accuracy: -l: expected a number above 0, found \"$limit\"" >&2; exit 2 ;; esac
[ -x "$roofcast" ] || { echo "accuracy: no $roofcast: build it, or set ROOFCAST" >&2; exit 1; }
command -v jq >/dev/null || { echo "accuracy: jq is needed" >&2; exit 1; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
if [ $# -eq 1 ]; then # before scores that take an hour
    jq -e '.schema == "roofcast.validate"' "$1" >/dev/null 2>&1 || { echo "accuracy: $1: not a result of roofcast validate -o json" >&2; exit 1; }
    cp "$1" "$tmp/validate.json"
fi
: "${ROOFCAST_DATA:=$top}"
export ROOFCAST_DATA

# ---- the scores: NAME, what the tables call it, FILE, options ----------------------------------------------------------
cat >"$tmp/plan" <<'E'
core-hw|core, hardware left out|throughput_core.csv|--leave-out hardware
core-anchor|core, hardware left out, one anchor row|throughput_core.csv|--leave-out hardware --anchor-rows 1
rates-hw|throughput, hardware left out|throughput.csv|--leave-out hardware
rates|throughput, in sample|throughput.csv|
core|core, in sample|throughput_core.csv|
ops-model|ops, model left out|gpu_ops.csv|--leave-out model
reduce-topology|all-reduce, topology left out|all_reduce.csv|--leave-out topology
reduce-generation|all-reduce, generation left out|all_reduce.csv|--leave-out generation
serving-hw|serving, system left out|serving_silicon.csv|--leave-out hardware
serving-model|serving, model left out|serving_silicon.csv|--leave-out model
attention|attention kernels|gpu_kernels/generation_attention.csv|
fresh|fresh rates, as shipped|fresh.csv|
fresh-unseen|fresh rates, unseen|fresh.csv|@base
fresh-one|fresh decode of one sequence, unseen|@fresh-one.csv|@base
aside|rates set aside|@aside.csv|
E
for key in source generation date class engine hardware model; do
    echo "new-$key|all rates, $key left out|@rates.csv|--leave-out $key"
done >>"$tmp/plan"
for f in "$data"/gpu_kernels/*.csv; do
    [ ! -f "$f" ] || echo "kernel-$(basename "$f" .csv)|kernels, GPU left out: $(basename "$f" .csv)|gpu_kernels/$(basename "$f")|--leave-out hardware"
done >>"$tmp/plan"

# Files that are made of others: @NAME in the plan is NAME in $tmp.
joined() { # FILE...: those that are there, under the first one's header
    first=1
    for f in "$@"; do
        [ -s "$f" ] || continue
        if [ $first = 1 ]; then cat "$f"; else tail -n +2 "$f"; fi
        first=0
    done
}
# The header of a file of rates, and its decode rows of one sequence.
one_sequence() {
    awk 'function fields(line, out,   n, i, c, quoted, text) {
            n = 1; text = ""; quoted = 0
            for (i = 1; i <= length(line); i++) {
                c = substr(line, i, 1)
                if (c == "\"") quoted = !quoted
                else if (c == "," && !quoted) { out[n++] = text; text = "" }
                else text = text c
            }
            out[n] = text
            return n
         }
         { n = fields($0, f) }
         NR == 1 { for (i = 1; i <= n; i++) at[f[i]] = i; print; next }
         f[at["phase"]] == "decode" && f[at["batch"]] == 1' "$1"
}
stacks=$top/hwprofiles/stacks
joined "$data/throughput.csv" "$data/fresh.csv" "$stacks/measured.csv" >"$tmp/rates.csv"
[ ! -f "$stacks/aside.csv" ] || cp "$stacks/aside.csv" "$tmp/aside.csv"
[ ! -f "$data/fresh.csv" ] || one_sequence "$data/fresh.csv" >"$tmp/fresh-one.csv"
# Data with constants of nothing that is fresh, in the place of all others.
links() { # FOLDER FILE...: in it, to all but the stacks and their constants
    folder=$1
    shift
    for f in "$@"; do
        shift
        case $f in */stacks | */stacks/constants*) ;; *) set -- "$@" "$f" ;; esac
    done
    ln -s "$@" "$folder/"
}
mkdir -p "$tmp/base/hwprofiles/stacks"
links "$tmp/base" "$ROOFCAST_DATA"/models
links "$tmp/base/hwprofiles" "$ROOFCAST_DATA"/hwprofiles/*
links "$tmp/base/hwprofiles/stacks" "$ROOFCAST_DATA"/hwprofiles/stacks/*.json
cp "$ROOFCAST_DATA/hwprofiles/stacks/constants_base.json" "$tmp/base/hwprofiles/stacks/constants.json" 2>/dev/null
hardware=
[ -f "$data/hardware.csv" ] && hardware="--hardware $data/hardware.csv"

score_one() { # NAME FILE OPTIONS...: $tmp/NAME.json, or $tmp/NAME.why
    name=$1 file=$data/$2 from=$ROOFCAST_DATA
    case $2 in @*) file=$tmp/${2#@} ;; esac
    shift 2
    case ${1-} in @base) from=$tmp/base && shift ;; esac
    if [ ! -f "$file" ]; then
        echo "no $file" >"$tmp/$name.why"
        return
    fi
    start=$(date +%s)
    # shellcheck disable=SC2086 # $hardware is two words, or none
    ROOFCAST_DATA=$from timeout "$limit" "$roofcast" score "$file" $hardware "$@" --worst 1000000 -o json >"$tmp/$name.part" 2>"$tmp/$name.err"
    rc=$?
    if [ $rc -eq 0 ] && jq -e 'if (.groups | length) > 0 then del(.rows) else empty end' "$tmp/$name.part" >"$tmp/$name.groups" 2>/dev/null; then
        mv "$tmp/$name.part" "$tmp/$name.full" && mv "$tmp/$name.groups" "$tmp/$name.json" # rows are many, and groups asked often
    elif [ $rc -eq 124 ]; then
        echo "took more than $limit s" >"$tmp/$name.why"
    else
        { head -n 1 "$tmp/$name.err"; echo "exit status $rc"; } | head -n 1 >"$tmp/$name.why"
    fi
    echo "accuracy: $name: $(($(date +%s) - start)) s" >&2
}

# As many at a time as there are processors: whoever makes a line's folder first scores it.
workers=$(getconf _NPROCESSORS_ONLN)
worker() {
    while IFS='|' read -r name _ file options; do
        # shellcheck disable=SC2086 # options are words
        ! mkdir "$tmp/$name.taken" 2>/dev/null || score_one "$name" "$file" $options
    done <"$tmp/plan"
}
begun=$(date +%s)
pids=
w=0
while [ $w -lt "$workers" ]; do
    worker &
    pids="$pids $!"
    w=$((w + 1))
done
# shellcheck disable=SC2086
trap 'kill $pids 2>/dev/null; exit 130' INT TERM
wait
took=$(($(date +%s) - begun))
if [ -n "$keep" ]; then
    mkdir -p "$keep" && for f in "$tmp"/*.full; do [ ! -f "$f" ] || cp "$f" "$keep/$(basename "$f" .full).json"; done
fi

# ---- the tables --------------------------------------------------------------------------------------------------------
percent() { awk -v x="$1" 'BEGIN { if (x == "" || x == "null") print "-"; else printf "%.1f %%\n", 100 * x }'; }
# FIGURE of GROUP in score NAME; nothing where there is none. A score's figures are read once: a line each, GROUP, FIGURE, value.
figure() {
    [ -f "$tmp/$1.json" ] || return 0
    [ -f "$tmp/$1.figures" ] || jq -r '.groups[] | .group as $g | to_entries[] | select(.value | scalars) | [$g, .key, .value] | @tsv' "$tmp/$1.json" >"$tmp/$1.figures"
    awk -F'\t' -v g="$2" -v f="$3" '$1 == g && $2 == f { print $3 }' "$tmp/$1.figures"
}
# A line of the table of targets: WHAT SCORE GROUP FIGURE TARGET
target() {
    if [ ! -f "$tmp/$2.json" ]; then
        echo "| $1 | not run | $(percent "$5") | | | |"
        return
    fi
    v=$(figure "$2" "$3" "$4") rows=$(figure "$2" "$3" rows) bias=$(figure "$2" "$3" bias)
    if [ -z "$v" ]; then
        echo "| $1 | no group \`$3\` | $(percent "$5") | | | |"
        return
    fi
    met=$(awk -v v="$v" -v t="$5" 'BEGIN { print v <= t ? "met" : "**missed**" }')
    echo "| $1 | $(percent "$v") | $(percent "$5") | $met | $rows | $(percent "$bias") |"
    case $met in met) ;; *) printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$tmp/missed" ;; esac
}
# WHAT SCORE GROUP: 85 to 95 % of the measurements lie inside
covered() {
    v=$(figure "$2" "$3" coverage90) rows=$(figure "$2" "$3" rows)
    if [ -z "$v" ]; then
        echo "| $1 | not run | 85 to 95 % | | | |"
        return
    fi
    echo "| $1 | $(percent "$v") | 85 to 95 % | $(awk -v v="$v" 'BEGIN { print (v >= 0.85 && v <= 0.95) ? "met" : "**missed**" }') | $rows | |"
}
# WHAT SCORE GROUP TARGET: the median error, over the naive predictor's
against_naive() {
    v=$(figure "$2" "$3" median_ape) naive=$(figure "$2" "$3" naive_ape) rows=$(figure "$2" "$3" rows)
    if [ -z "$v" ] || [ -z "$naive" ]; then
        echo "| $1 | not run | $4 | | | |"
        return
    fi
    awk -v what="$1" -v v="$v" -v n="$naive" -v t="$4" -v rows="$rows" \
        'BEGIN { printf "| %s | %.2f | %s | %s | %d | |\n", what, v / n, t, (v <= t * n) ? "met" : "**missed**", rows }'
}
# Kernels of the files that are predicted at all.
kernel_targets() {
    for k in gemm:0.12 generation_attention:0.15 context_attention:0.15 generation_mla:0.15 context_mla:0.15 moe:0.20 custom_allreduce:0.20 nccl:0.20; do
        priced "kernel-${k%:*}" && target "kernels of ${k%:*}, GPU left out: median" "kernel-${k%:*}" all median_ape "${k#*:}"
    done
    return 0
}
priced() { [ -f "$tmp/$1.json" ] && jq -e '.n_unpriced < .n_rows' "$tmp/$1.json" >/dev/null; }
# WHAT SCORE TARGET: rows without an estimate
unpriced() {
    if [ ! -f "$tmp/$2.json" ]; then
        echo "| $1 | not run | $(percent "$3") | | | |"
        return
    fi
    jq -r --arg what "$1" --argjson t "$3" '(.n_unpriced / .n_rows) as $f |
        "| \($what) | \(.n_unpriced) of \(.n_rows) | \($t * 100) % | \(if $f <= $t then "met" else "**missed**" end) | \(.n_rows) | |"' "$tmp/$2.json"
}

# Intervals: of each class, coverage and median half-width beside the median error; judged as the target says. The smallest number of
# rows inside that a binomial test at 1 % (two-sided) does not reject is looked up by adding up.
cat >"$tmp/intervals.jq" <<'E'
def median: sort | if length == 0 then null elif length % 2 == 1 then .[(length - 1) / 2] else (.[length / 2 - 1] + .[length / 2]) / 2 end;
# P(X <= k) of n at 0.9
def cdf($n; $k): reduce range(0; $k + 1) as $i ({ s: 0, t: ($n * (0.1 | log)) };
    .s += (.t | exp) | .t += ((($n - $i) / ($i + 1) * 9) | if . > 0 then log else -1e300 end)) | .s;
def pc: if . == null then "-" else (. * 1000 | round / 10 | "\(.) %") end;
. as $d | [.rows[] | select(.predicted != null and .lo != null and .measured != null)] as $rows |
[.groups[] | select(.group | test("^class=[^,]*(,phase=[^,]*|,metric=[^,]*)?$")) | select(.rows >= 20)] | .[] |
(.group | capture("^class=(?<class>[^,]*)(,[a-z]+=(?<of>.*))?$")) as $key |
[$rows[] | select(.class == $key.class and ($key.of == null or .phase == $key.of or
    ($key.of == "serving" and (.phase == "ttft" or .phase == "tpot"))))] as $mine | # latencies stand as the phase of a server's row
([$mine[] | (.hi - .lo) / 2 / .predicted] | median) as $half | ([$mine[] | .error | fabs] | median) as $err |
(.coverage90 * .rows | round) as $in |
(if .rows >= 50 then (.coverage90 >= 0.85 and .coverage90 <= 0.95)
 else cdf(.rows; $in) > 0.005 and 1 - (if $in > 0 then cdf(.rows; $in - 1) else 0 end) > 0.005 end) as $holds |
(if $half == null or $err == null or $err == 0 then null else $half / $err end) as $wide |
"\(if $holds and $wide != null and $wide <= 3 then "met" else "missed" end)\t| \($what) | \(.group) | \(.rows) | \(.coverage90 | pc) | \($half | pc) | \(.median_ape | pc) | \([(if $holds then empty else "**coverage**" end), (if $wide != null and $wide <= 3 then empty else "**width**" end)] | join(" ")) |"
E

# Where a missed target's error is: the machines, models or ops whose rows carry most of it.
cat >"$tmp/residuals.jq" <<'E'
def keys_of: split(",") | map(select(test("=")));
def pc: (. * 1000 | round / 10 | "\(.) %");
(if $group == "all" then [] else ($group | keys_of) end) as $base |
(.groups[] | select(.group == $group)) as $whole |
[.groups[] | select(.group != $group) | (.group | keys_of) as $k | select(($base - $k | length) == 0) | . + { extra: ($k - $base) } |
 select((.extra | length) == 1) | select(.extra[0] | test("^(hardware|op|engine|class|kind|phase)=")) |
 . + { part: (if $whole.mape > 0 then .mape * .rows / ($whole.mape * $whole.rows) else 0 end) } |
 select(.rows < $whole.rows and .rows >= 3 and .mape > $whole.mape)] | sort_by(-.part) | .[:4] |
map("\(.extra[0]) (\(.rows) rows, MAPE \(.mape | pc), bias \(.bias | pc), \(.part | pc) of the error)") | join("; ")
E

tables() {
    echo "# Accuracy"
    echo
    echo "What predictions are worth, against each target. This page is the output of \`tests/bench/accuracy.sh\` (\`make accuracy VALIDATE=FILE\`): do not edit it."
    echo
    echo "- date: $(date -u '+%Y-%m-%d %H:%M UTC'), the scores took $took s"
    echo "- program: $("$roofcast" --version 2>/dev/null | head -n 1)$(git -C "$top" log -1 --format=', tree of commit %h (%cs)' 2>/dev/null)"
    for f in "$top"/hwprofiles/stacks/constants*.json; do
        [ -f "$f" ] && echo "- constants: \`hwprofiles/stacks/$(basename "$f")\`, $(jq -r 'if .fits then [.fits | to_entries[] | "\(.key): \(.value.n_rows) rows of \(.value.source)"] | join("; ") else (.source // "its sources in it") end' "$f" 2>/dev/null)"
    done
    echo "- measurements: \`\$ROOFCAST_SHARED/data/measurements\`; what is left out is predicted by a fit that has not seen it, and constants that it made are dropped (methods.md (67))"
    echo
    echo "A row without an estimate counts as an error of 100 %. Errors are |predicted / measured - 1|; \"clean\": rows that are neither end-to-end nor from the community."
    echo
    echo "## Targets"
    echo
    echo "| what | reached | target | | rows | bias |"
    echo "|---|---|---|---|---|---|"
    d=phase=decode p=phase=prefill
    target "core decode, hardware left out, clean: median" core-hw $d,clean=yes median_ape 0.06
    target "core decode, hardware left out, clean: mean" core-hw $d,clean=yes mape 0.13
    target "core decode, hardware left out, all: median" core-hw $d median_ape 0.09
    target "core decode, hardware left out, all: mean" core-hw $d mape 0.20
    target "core prefill, hardware left out, clean: median" core-hw $p,clean=yes median_ape 0.12
    target "core prefill, hardware left out, clean: mean" core-hw $p,clean=yes mape 0.20
    target "core decode, one anchor row a device and phase: median" core-anchor $d median_ape 0.04
    target "core prefill, one anchor row a device and phase: median" core-anchor $p median_ape 0.07
    target "ops, model left out: MAPE" ops-model all mape 0.07
    target "all-reduce, topology left out: MAPE" reduce-topology all mape 0.15
    target "TPOT of dense models, system left out: median" serving-hw kind=dense,metric=tpot median_ape 0.09
    target "TPOT of experts, system left out: median" serving-hw kind=moe,metric=tpot median_ape 0.14
    target "TPOT of dense models, model left out: median" serving-model kind=dense,metric=tpot median_ape 0.09
    target "TPOT of experts, model left out: median" serving-model kind=moe,metric=tpot median_ape 0.14
    target "all-reduce, generation left out: median" reduce-generation all median_ape 0.20
    target "fresh decode, as shipped: median" fresh $d median_ape 0.09
    target "fresh prefill, as shipped: median" fresh $p median_ape 0.18
    target "fresh, as shipped: median" fresh all median_ape 0.15
    covered "fresh, as shipped: inside the 90 % interval" fresh all
    against_naive "fresh dense decode of one sequence, unseen: median over the naive predictor's" fresh-one $d,kind=dense 0.75
    target "decode, source left out: median" new-source $d median_ape 0.09
    target "decode, generation left out: median" new-generation $d median_ape 0.12
    kernel_targets
    for h in a100_sxm:A100 h200_sxm:H200 b200_sxm:B200 l40s:L40S; do
        target "attention kernels of steps, ${h#*:}: median" attention "hardware=${h%:*}" median_ape 0.15
        target "attention kernels of steps, ${h#*:}: P90" attention "hardware=${h%:*}" p90_ape 0.40
    done
    unpriced "core without an estimate" core-hw 0.01
    unpriced "throughput without an estimate" rates 0.10
    unpriced "ops without an estimate" ops-model 0
    unpriced "all-reduces without an estimate" reduce-topology 0
    validated
    intervals_line
    echo
    for why in "$tmp"/*.why; do
        [ -f "$why" ] && echo "- not run: $(basename "$why" .why): $(cat "$why")"
    done
    residuals
    this_cpu
    intervals
    novelty
    details
    commands
}

# Line of the targets of this CPU, from VALIDATE.json
validated() {
    if [ -f "$tmp/kept.targets" ]; then
        cat "$tmp/kept.targets"
        return
    fi
    if [ ! -f "$tmp/validate.json" ]; then
        for t in "median|4" "P95|10" "per op, median|10"; do
            echo "| this CPU, from its profile: ${t%|*} | not run | ${t#*|}.0 % | | | |"
        done
        return
    fi
    jq -r 'def pc: if . == null then "-" else (. * 1000 | round / 10 | "\(.) %") end;
        def line($n; $v; $t; $rows; $bias): "| this CPU, from its profile: \($n) | \($v | pc) | \($t | pc) | \(if $v == null then "" elif $v <= $t then "met" else "**missed**" end) | \($rows) | \($bias | pc) |";
        line("median"; .median_ape; 0.04; .n_case; .bias), line("P95"; .p95_ape; 0.10; .n_case; .bias),
        line("per op, median"; .op_median_ape; 0.10; .n_op; .op_bias)' "$tmp/validate.json"
}

intervals_line() {
    n=$(wc -l <"$tmp/intervals")
    [ "$n" -gt 0 ] || { echo "| 90 % intervals hold, classes of 20 rows and more | not run | all | | | |"; return; }
    good=$(grep -c '^met' "$tmp/intervals")
    echo "| 90 % intervals hold and are at most 3 median errors wide, classes of 20 rows and more | $good of $n | all | $([ "$good" -eq "$n" ] && echo met || echo '**missed**') | | |"
}

residuals() {
    [ -s "$tmp/missed" ] || return 0
    echo
    echo "## Where the error of what is missed lies"
    echo
    while IFS='	' read -r what name group; do
        parts=$(jq -r --arg group "$group" -f "$tmp/residuals.jq" "$tmp/$name.json")
        [ -z "$parts" ] || echo "- ${what%:*}: $parts"
    done <"$tmp/missed" | sort -u
}

this_cpu() {
    echo
    echo "## This CPU"
    echo
    if [ -f "$tmp/kept.cpu" ]; then
        cat "$tmp/kept.cpu"
        return
    fi
    if [ ! -f "$tmp/validate.json" ]; then
        echo "Not run: \`roofcast validate -o json >FILE\` on an otherwise idle machine, then \`make accuracy VALIDATE=FILE\`."
        return
    fi
    jq -r 'def pc: if . == null then "-" else (. * 1000 | round / 10 | "\(.) %") end;
        "\(.cpu), \(.date): \(.n_case) cases in random order (seed \(.seed)), each between two probes; predicted from the profile of \(.profile_date), scaled by the probes. Command: `\(.command | gsub(" /[^ ]*/"; " "))`.", "",
        "| model | type | test | threads | measured | predicted | error | median op | |", "|---|---|---|---|---|---|---|---|---|",
        (.rows | sort_by(.model, .type, .n_threads, .test)[] | "| \(.model) | \(.type) | \(.test) | \(.n_threads) | \(.tok_s | . * 10 | round / 10) | \(.predicted_tok_s | if . == null then "-" else . * 10 | round / 10 end) | \(.error | pc) | \(.op_median_ape | pc) | \(.reason // "") |")' "$tmp/validate.json"
}

intervals() {
    echo
    echo "## Intervals"
    echo
    echo "Classes with 20 rows and more. Of 50 rows and more 85 to 95 % have to lie inside; fewer must not be rejected against 90 % by a binomial test at 1 %. Half-width: median, over the prediction; at most 3 times the median error."
    echo
    echo "| score | group | rows | inside | half-width | median error | missed |"
    echo "|---|---|---|---|---|---|---|"
    cut -f2- "$tmp/intervals"
}

# The worst group: of those that share what is left out, or the machine, the one of 20 rows and more with the largest median error.
cat >"$tmp/novelty.jq" <<'E'
def pc: if . == null then "-" else (. * 1000 | round / 10 | "\(.) %") end;
. as $d | (if $key | IN("source", "class", "engine") then $key else "hardware" end) as $by |
("all", "phase=decode", "phase=prefill", "phase=serving") as $group |
.groups[] | select(.group == $group) |
("^" + $by + "=[^,]*" + (if $group == "all" then "" else "," + $group end) + "$") as $form |
([$d.groups[] | select(.rows >= 20 and (.group | test($form)))] | max_by(.median_ape)) as $worst |
"| \($what) | \($group) | \(.rows) | \(.median_ape | pc) | \(.naive_ape | pc) | \(.coverage90 | pc) | \(.half90 | pc) | \(if $worst then "\($worst.group | split(",")[0]): \($worst.median_ape | pc) of \($worst.rows) rows" else "" end) |"
E
cat >"$tmp/kernels.jq" <<'E'
def pc: if . == null then "-" else (. * 1000 | round / 10 | "\(.) %") end;
.groups[] | select(.group == "all" or (.group | test("^hardware=[^,]*$"))) | select(.unpriced < .rows) |
"| \($what) | \(.group) | \(.rows) | \(.unpriced) | \(.median_ape | pc) | \(.p90_ape | pc) | \(.coverage90 | pc) |"
E

novelty() {
    echo
    echo "## Novelty"
    echo
    echo "What predictions are worth of what no row is of. All rates (throughput.csv, fresh.csv, \`hwprofiles/stacks/measured.csv\`), with each source, design of machines, half year, class, engine, machine and model left out in turn; half a year is predicted by earlier ones. \"As shipped\": by constants.json, which knows the rows. \"Unseen\": by a copy of the data in which constants_base.json, which does not, stands as constants.json. Rates set aside (\`hwprofiles/stacks/aside.csv\`) have taught nothing. Naive: one fraction of the roofs a phase (methods.md (61))."
    echo
    echo "| score | group | rows | median | naive | inside | half-width | worst group of 20 rows and more |"
    echo "|---|---|---|---|---|---|---|---|"
    while IFS='|' read -r name what _ _; do
        case $name in new-* | fresh* | aside) ;; *) continue ;; esac
        if [ -f "$tmp/$name.json" ]; then
            jq -r --arg what "$what" --arg key "${name#new-}" -f "$tmp/novelty.jq" "$tmp/$name.json"
        else
            echo "| $what | not run | | | | | | |"
        fi
    done <"$tmp/plan"
    echo
    echo "Kernels of servers' engines, each GPU left out in turn (files of which a row is predicted):"
    echo
    echo "| file | group | rows | no estimate | median | P90 | inside |"
    echo "|---|---|---|---|---|---|---|"
    while IFS='|' read -r name _ file _; do
        case $name in kernel-*) ;; *) continue ;; esac
        priced "$name" && jq -r --arg what "$(basename "$file")" -f "$tmp/kernels.jq" "$tmp/$name.json"
    done <"$tmp/plan"
}

details() {
    while IFS='|' read -r name what file options; do
        case $name in new-* | kernel-* | fresh* | aside) continue ;; esac
        [ -f "$tmp/$name.json" ] || continue
        echo
        echo "## $what: \`roofcast score $file --hardware hardware.csv${options:+ $options}\`"
        echo
        echo "| group | rows | no estimate | bias | MAPE | median | P90 | in 90 % |"
        echo "|---|---|---|---|---|---|---|---|"
        jq -r 'def pc: if . == null then "-" else (. * 1000 | round / 10 | "\(.) %") end;
            .groups[] | select(.rows >= 8 and (.group | (test("hardware=|source=|engine=") | not) and (split(",") | length) <= 2)) |
            "| \(.group) | \(.rows) | \(.unpriced) | \(.bias | pc) | \(.mape | pc) | \(.median_ape | pc) | \(.p90_ape | pc) | \(.coverage90 | pc) |"' "$tmp/$name.json"
    done <"$tmp/plan"
}

commands() {
    echo
    echo "## Again"
    echo
    echo "    ROOFCAST_SHARED=DIR make accuracy [VALIDATE=FILE]       # this page"
    echo "    roofcast profile --full && roofcast validate --cases 40 --seed 7 -o json >FILE    # this CPU, ten minutes, otherwise idle"
    while IFS='|' read -r _ _ file options; do
        case $file$options in *@*) continue ;; esac # files that this script makes
        echo "    roofcast score \$ROOFCAST_SHARED/data/measurements/$file --hardware \$ROOFCAST_SHARED/data/measurements/hardware.csv${options:+ $options}"
    done <"$tmp/plan"
}

: >"$tmp/missed"
: >"$tmp/intervals"
# A machine's run outlives the page it was made for: another machine makes the rest anew.
if [ $# -eq 0 ] && [ -f "$out" ] && grep -q '^| this CPU, from its profile: median | [0-9]' "$out"; then
    grep '^| this CPU, from its profile: ' "$out" >"$tmp/kept.targets"
    kept=$(sed -n '/^## This CPU$/,/^## /{/^## /!p;}' "$out" | sed 1d)
    case $kept in
    'From an earlier page'*) ;;
    *) kept="From an earlier page$(sed -n 's/^- program: .*\(, tree of commit [^,]*\)$/\1/p' "$out").

$kept" ;;
    esac
    printf '%s\n' "$kept" >"$tmp/kept.cpu"
fi
while IFS='|' read -r name what _ _; do
    case $name in core | rates | fresh | kernel-*) continue ;; esac # in sample, or kernels: nothing is asked of their intervals
    [ ! -f "$tmp/$name.full" ] || jq -r --arg what "$what" -f "$tmp/intervals.jq" "$tmp/$name.full" >>"$tmp/intervals"
done <"$tmp/plan"
tables >"$tmp/accuracy.md"
if [ -n "$out" ]; then
    # beside it first: what is there is replaced whole or not at all
    cp "$tmp/accuracy.md" "$out.part" && mv "$out.part" "$out"
else
    cat "$tmp/accuracy.md"
fi
