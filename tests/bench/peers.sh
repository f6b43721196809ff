#!/bin/sh
# roofcast beside other engines, in the same minutes, on the same files.
#
#   ROOFCAST_PEERS=/path/llama-bench[:/other/llama-bench...] tests/bench/peers.sh [options] [FILE.gguf ...]
#     -p N   prompt tokens (512)            -n N   generated tokens (64)
#     -r N   rounds, at least 5 (5)         -t N   threads (all processors)
#     -d DIR where files are synthesized when none are named (the shape of TinyLlama-1.1B in Q8_0, Q4_0, Q4_K_M, Q6_K, F16
#            and BF16, 8 GB; kept for the next time)
#
# A round runs roofcast, every peer and likwid-bench's load loop once, one after the other: a busy neighbour or a clock
# that moves meets all of them. A peer runs with flash attention and with and without repacking at run time, where
# its --help has these; the setting with the best median counts. Medians, spreads and ratios at the end. Where
# roofcast's own probe of memory bandwidth reads less than 97 % of likwid-bench, its utilizations flatter, and the run is void:
# exit status 1.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
roofcast=${ROOFCAST:-$top/build/roofcast}
n_prompt=512 n_gen=64 rounds=5 threads=$(getconf _NPROCESSORS_ONLN) dir=${TMPDIR:-/tmp}/roofcast-peers
usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
while getopts p:n:r:t:d:h o; do
    case $o in
    p) n_prompt=$OPTARG ;;
    n) n_gen=$OPTARG ;;
    r) rounds=$OPTARG ;;
    t) threads=$OPTARG ;;
    d) dir=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
for v in "$n_prompt" "$n_gen" "$rounds" "$threads"; do
    case $v in '' | *[!0-9]* | 0) echo "peers: expected a number above 0, found \"$v\"" >&2; exit 2 ;; esac
done
if [ "$rounds" -lt 5 ] && [ -z "${ROOFCAST_PEERS_FEW:-}" ]; then
    echo "peers: -r $rounds: fewer than 5 rounds say nothing" >&2
    exit 2
fi
[ -x "$roofcast" ] || { echo "peers: no $roofcast: build it, or set ROOFCAST" >&2; exit 1; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
: >"$tmp/records" # FILE, TEST, ENGINE, VALUE; tabs between
: >"$tmp/settings" # number, path, options of a peer
note() { printf '%s\n' "$*"; }
record() { printf '%s\t%s\t%s\t%s\n' "$@" >>"$tmp/records"; }
limit() { if command -v timeout >/dev/null; then timeout "${ROOFCAST_PEERS_LIMIT:-900}" "$@"; else "$@"; fi; }

# ---- who takes part ----------------------------------------------------------------------------------
note "roofcast: $("$roofcast" --version 2>/dev/null | head -n 1)"
note "  $roofcast bench -m FILE -p $n_prompt -n $n_gen -r 1 -t $threads -o csv --quiet"
old_ifs=$IFS n_peer=0
IFS=:
for peer in ${ROOFCAST_PEERS:-}; do
    IFS=$old_ifs
    [ -n "$peer" ] || continue
    n_peer=$((n_peer + 1))
    if [ ! -x "$peer" ]; then
        note "peer $n_peer: $peer: not there, or not a program: left out"
        continue
    fi
    limit "$peer" --help >"$tmp/help" 2>&1
    has() { grep -qE -- "(^|[ ,])$1([ ,]|\$)" "$tmp/help"; }
    if ! has -m || ! has -p || ! has -n; then
        note "peer $n_peer: $peer: its --help is not llama-bench's: left out"
        continue
    fi
    base="-p $n_prompt -n $n_gen -r 1 -t $threads -o json"
    ! has -fa || base="$base -fa 1"
    printf '%s\t%s\t%s\n' "$n_peer" "$peer" "$base" >>"$tmp/settings"
    ! has -rtr || printf '%s\t%s\t%s\n' "$n_peer" "$peer" "$base -rtr 1" >>"$tmp/settings"
    ! { has -rtr && has -thp; } || printf '%s\t%s\t%s\n' "$n_peer" "$peer" "$base -rtr 1 -thp 1" >>"$tmp/settings"
    note "peer $n_peer: $peer"
    awk -F '\t' -v n=$n_peer '$1 == n { print "  " $2 " -m FILE " $3 }' "$tmp/settings"
done
IFS=$old_ifs
[ $n_peer -gt 0 ] || note "no peers: ROOFCAST_PEERS names none (llama-bench programs, colons between)"

# The load loop that reads fastest, in 1 GB a thread set.
likwid() { # TEST: bytes/s
    limit likwid-bench -t "$1" -w "N:1GB:$threads" -i 4 2>/dev/null | awk '$1 == "MByte/s:" { print $2 * 1e6; f = 1 } END { exit !f }'
}
load=
if command -v likwid-bench >/dev/null; then
    likwid-bench -a >"$tmp/loads" 2>/dev/null
    best=0
    for t in load_avx512 load_avx load_sse load_mem load; do
        grep -q "^$t " "$tmp/loads" && v=$(likwid $t) || continue
        if awk "BEGIN { exit !($v > $best) }"; then best=$v load=$t; fi
    done
fi
if [ -n "$load" ]; then note "likwid-bench -t $load -w N:1GB:$threads -i 4   ($(likwid-bench -v 2>&1 | grep -i version | head -n 1))"
else note "no likwid-bench that runs here: the probe is not checked"
fi

# ---- the files --------------------------------------------------------------------------------------------
if [ $# -eq 0 ]; then
    mkdir -p "$dir" || exit 1
    for q in Q8_0 Q4_0 Q4_K_M Q6_K F16 BF16; do
        f=$dir/tinyllama-1.1b-$q.gguf
        if [ ! -f "$f" ] && ! "$roofcast" synth tinyllama-1.1b -q $q -o "$f" --quiet; then
            note "cannot write $f: left out"
            continue
        fi
        set -- "$@" "$f"
    done
fi

# ---- the rounds --------------------------------------------------------------------------------------------
run_roofcast() { # FILE
    limit "$roofcast" bench -m "$1" -p "$n_prompt" -n "$n_gen" -r 1 -t "$threads" -o csv --quiet >"$tmp/out" 2>"$tmp/err" || return 1
    awk -F, -v file="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { print file "\t" $at["test"] "\troofcast\t" $at["tok_s_mean"]
          print file "\tmemory\troofcast probe\t" $at["ceiling_bytes_s"]
          if ($at["phase"] == "decode") print file "\tMBU\troofcast\t" $at["mbu"] }' "$tmp/out" >>"$tmp/records"
}
# Pretty-printed JSON, a field a line; a test is a prompt or a generation.
run_peer() { # FILE NUMBER PATH OPTIONS
    # shellcheck disable=SC2086
    limit "$3" -m "$1" $4 >"$tmp/out" 2>"$tmp/err" || return 1
    awk -v file="$1" -v who="peer $2${4#*json}" '{ gsub(/[",]/, "") }
        $1 == "n_prompt:" { p = $2 } $1 == "n_gen:" { g = $2 }
        $1 == "build_commit:" { commit = $2 } $1 == "build_number:" { build = $2 }
        $1 == "avg_ts:" { print file "\t" (p > 0 ? "pp" p : "tg" g) "\t" who "\t" $2; n++ }
        END { print build " (" commit ")" > "/dev/stderr"; exit !n }' "$tmp/out" >>"$tmp/records" 2>"$tmp/build"
}
failed=0
for f in "$@"; do
    [ -f "$f" ] || { note "$f: no such file: left out"; failed=1; continue; }
    cp "$tmp/settings" "$tmp/alive"
    for i in $(seq "$rounds"); do
        echo "$(basename "$f"): round $i of $rounds" >&2
        if [ -n "$load" ] && v=$(likwid $load); then record "$f" memory "likwid-bench" "$v"; fi
        if ! run_roofcast "$f"; then
            note "roofcast on $f: $(tail -n 1 "$tmp/err")"
            failed=1
            break
        fi
        while IFS='	' read -r n path options <&3; do
            if run_peer "$f" "$n" "$path" "$options"; then
                [ -f "$tmp/build.$n" ] || { cp "$tmp/build" "$tmp/build.$n"; note "peer $n: build $(cat "$tmp/build")"; }
                printf '%s\t%s\t%s\n' "$n" "$path" "$options" >>"$tmp/next"
            else
                note "peer $n${options#*json} on $(basename "$f") failed: $(tail -n 1 "$tmp/err")"
            fi
        done 3<"$tmp/alive"
        mv "$tmp/next" "$tmp/alive" 2>/dev/null || : >"$tmp/alive" # who failed once is not asked again for this file
    done
done

# ---- what they say -------------------------------------------------------------------------------------------
sort -t '	' -k1,3 -k4,4g "$tmp/records" | awk -F '\t' '
    function close_group() { # values ascending
        if (!n) return
        m = n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
        print key "\t" m "\t" v[1] "\t" v[n] "\t" n
    }
    { k = $1 "\t" $2 "\t" $3 }
    k != key { close_group(); key = k; n = 0 }
    { v[++n] = $4 }
    END { close_group() }' >"$tmp/medians"
# The best setting of each peer, and the ratio.
awk -F '\t' '
    { cell = $1 "\t" $2; who = $3; if (who ~ /^peer /) { split(who, w, " "); who = "peer " w[2] } }
    $2 == "memory" || $2 == "MBU" { next }
    !((cell, who) in best) || $4 > best[cell, who] { best[cell, who] = $4; line[cell, who] = $0 }
    !(cell in seen) { seen[cell] = 1; order[++n_cell] = cell }
    !(who in known) { known[who] = 1; engine[++n_engine] = who }
    END {
        printf "\n%-34s %-8s %-30s %9s  %19s  %7s  %s\n", "file", "test", "engine", "t/s", "least to most", "spread", "roofcast / it"
        for (c = 1; c <= n_cell; c++)
            for (e = 1; e <= n_engine; e++) {
                if (!((order[c], engine[e]) in line)) continue
                split(line[order[c], engine[e]], f, "\t")
                name = f[1]; sub(/.*\//, "", name)
                ours = best[order[c], "roofcast"]
                ratio = engine[e] == "roofcast" || !ours ? "" : sprintf("%.2f", ours / f[4])
                printf "%-34s %-8s %-30s %9.2f  %8.2f - %8.2f  %5.1f %%  %s\n", name, f[2], f[3], f[4], f[5], f[6], 100 * (f[6] - f[5]) / f[4], ratio
            }
    }' "$tmp/medians"
void=0
awk -F '\t' '
    $2 == "memory" && $3 == "likwid-bench" { likwid[$1] = $4 }
    $2 == "memory" && $3 == "roofcast probe" { probe[$1] = $4 }
    $2 == "MBU" { mbu[$1] = $4 }
    END {
        printf "\n%-34s %16s %16s %8s  %s\n", "file", "likwid-bench", "roofcast probe", "ratio", "MBU of decode"
        for (f in probe) {
            name = f; sub(/.*\//, "", name)
            ratio = likwid[f] ? probe[f] / likwid[f] : -1
            printf "%-34s %16s %11.2f GB/s %8s  %.1f %%\n", name, likwid[f] ? sprintf("%.2f GB/s", likwid[f] / 1e9) : "-",
                probe[f] / 1e9, ratio < 0 ? "-" : sprintf("%.3f", ratio), 100 * mbu[f]
            if (ratio >= 0 && ratio < 0.97) { bad = 1; print "VOID: the probe reads less than 97 % of likwid-bench: its ceiling is too low" }
        }
        exit bad
    }' "$tmp/medians" || void=1
[ $void = 0 ] && [ $failed = 0 ]
