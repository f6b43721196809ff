#!/bin/sh
# roofcast beside other engines, in the same minutes, on the same files.
#
#   ROOFCAST_PEERS=/path/llama-bench[:/other/llama-bench...] tests/bench/peers.sh [options] [FILE.gguf ...]
#     -p N   prompt tokens (512)            -n N   generated tokens (64)
#     -r N   rounds, at least 5 (5)         -t N   threads (all processors)
#     -D N   generation after N tokens of context, and no prompts (0)
#     -d DIR where files are synthesized when none are named (the shape of TinyLlama-1.1B in Q8_0, Q4_0, Q4_K_M, Q6_K, F16
#            and BF16, 8 GB; kept for the next time)
#
# A round runs roofcast, every peer and likwid-bench's load loop once, one after the other: a busy neighbour or a clock
# that moves meets all of them, and a ratio is of two figures of one round. A peer runs with flash attention, with a thread a
# core where that is fewer, and with and without what its --help has of repacking at run time, large pages and merged matrices. A
# setting that is a fifth below that peer's best in every test of the first round is not asked again; of the rest, the one with
# the best median counts. ik_llama.cpp's -rtr makes BF16 of F16 where the CPU multiplies that: other arithmetic, whose place is
# the BF16 file, so F16 files go without. At the end medians, the least and the most of speeds and of ratios, and how much of
# the roof roofcast used: prompts of their arithmetic's, generation of the faster of its probe and likwid-bench in that round.
# Where the probe reads less than 97 % of likwid-bench (median of the rounds) utilizations flatter, and the run is void: exit
# status 1.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
roofcast=${ROOFCAST:-$top/build/roofcast}
n_prompt=512 n_gen=64 depth=0 rounds=5 threads=$(getconf _NPROCESSORS_ONLN) dir=${TMPDIR:-/tmp}/roofcast-peers
usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
while getopts p:n:r:t:d:D:h o; do
    case $o in
    p) n_prompt=$OPTARG ;;
    n) n_gen=$OPTARG ;;
    r) rounds=$OPTARG ;;
    t) threads=$OPTARG ;;
    d) dir=$OPTARG ;;
    D) depth=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
for v in "$n_prompt" "$n_gen" "$rounds" "$threads"; do
    case $v in '' | *[!0-9]* | 0) echo "peers: expected a number above 0, found \"$v\"" >&2; exit 2 ;; esac
done
case $depth in '' | *[!0-9]*) echo "peers: expected a number of tokens, found \"$depth\"" >&2; exit 2 ;; esac
if [ "$rounds" -lt 5 ] && [ -z "${ROOFCAST_PEERS_FEW:-}" ]; then
    echo "peers: -r $rounds: fewer than 5 rounds say nothing" >&2
    exit 2
fi
[ -x "$roofcast" ] || { echo "peers: no $roofcast: build it, or set ROOFCAST" >&2; exit 1; }
for f in "$@"; do
    [ -f "$f" ] || { echo "peers: $f: no such file" >&2; exit 2; }
done
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
: >"$tmp/records" # FILE, TEST, ENGINE, ROUND, VALUE; tabs between
: >"$tmp/settings" # number, path, options of a peer
note() { printf '%s\n' "$*"; }
record() { printf '%s\t%s\t%s\t%s\t%s\n' "$@" >>"$tmp/records"; }
limit() { if command -v timeout >/dev/null; then timeout "${ROOFCAST_PEERS_LIMIT:-900}" "$@"; else "$@"; fi; }

# ---- who takes part ----------------------------------------------------------------------------------
note "roofcast: $("$roofcast" --version 2>/dev/null | head -n 1)"
tests="-p $n_prompt -n $n_gen"
[ "$depth" -eq 0 ] || tests="-p 0 -n $n_gen -d $depth"
note "  $roofcast bench -m FILE $tests -r 1 -t $threads -o csv --quiet"
cores=$(lscpu -p=CORE,SOCKET 2>/dev/null | grep -v '^#' | sort -u | grep -c .)
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
    base="$tests -r 1 -o json"
    if [ "$depth" -gt 0 ] && ! has -d; then # ik_llama.cpp: a prompt that is computed and not timed
        has -gp || { note "peer $n_peer: $peer: its --help has neither -d nor -gp: left out"; continue; }
        base="-p 0 -n 0 -gp $depth,$n_gen -r 1 -o json"
    fi
    fa=
    ! has -fa || fa=' -fa 1'
    setting() { printf '%s\t%s\t%s\n' "$n_peer" "$peer" "$base $*$fa" >>"$tmp/settings"; }
    setting "-t $threads"
    [ "$cores" -eq 0 ] || [ "$cores" -ge "$threads" ] || setting "-t $cores"
    if has -rtr; then
        setting "-t $threads -rtr 1"
        ! has -thp || setting "-t $threads -rtr 1 -thp 1"
        ! { has -mqkv && has -muge; } || setting "-t $threads -rtr 1 -mqkv 1 -muge 1"
    fi
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
run_roofcast() { # FILE ROUND; its type lies in $tmp/type then
    # shellcheck disable=SC2086
    limit "$roofcast" bench -m "$1" $tests -r 1 -t "$threads" -o csv --quiet >"$tmp/out" 2>"$tmp/err" || return 1
    awk -F, -v file="$1" -v round="$2" -v type="$tmp/type" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        function put(test, engine, value) { print file "\t" test "\t" engine "\t" round "\t" value }
        { put($at["test"], "roofcast", $at["tok_s_mean"])
          put("memory", "roofcast probe", $at["ceiling_bytes_s"])
          if ($at["phase"] == "decode") put($at["test"], "bytes/s", $at["bytes_s"])
          else put($at["test"], "of the roof", $at["mfu"])
          if (NR == 2) print $at["type"] >type }' "$tmp/out" >>"$tmp/records"
}
# Pretty-printed JSON, a field a line; a test is a prompt or a generation, after a prompt where it has both.
run_peer() { # FILE ROUND NUMBER PATH OPTIONS
    # shellcheck disable=SC2086
    limit "$4" -m "$1" $5 >"$tmp/out" 2>"$tmp/err" || return 1
    awk -v file="$1" -v round="$2" -v who="peer $3${5#*json}" '{ gsub(/[",]/, "") }
        $1 == "n_prompt:" { p = $2 } $1 == "n_gen:" { g = $2 } $1 == "n_depth:" { d = $2 }
        $1 == "build_commit:" { commit = $2 } $1 == "build_number:" { build = $2 }
        $1 == "avg_ts:" { if (g > 0 && p > 0) d = p
                          print file "\t" (g > 0 ? "tg" g : "pp" p) (d > 0 ? "@d" d : "") "\t" who "\t" round "\t" $2; n++ }
        END { print build " (" commit ")" > "/dev/stderr"; exit !n }' "$tmp/out" >>"$tmp/records" 2>"$tmp/build"
}
# Settings that hold up: what is a fifth below its peer's best in every test of the first round goes.
keep_settings() { # FILE, settings on standard input
    awk -F '\t' -v file="$1" '
        NR == FNR { if ($1 == file && $4 == 1 && $3 ~ /^peer /) { split($3, w, " "); k = $2 "\t" w[2]; v[$2, $3] = $5; tests[$2] = 1; if ($5 > best[k]) best[k] = $5 }; next }
        { who = "peer " $1 substr($3, index($3, "json") + 4); holds = 0
          for (t in tests) if (((t, who) in v) && v[t, who] >= 0.8 * best[t "\t" $1]) holds = 1
          if (holds) print }' "$tmp/records" -
}
failed=0
for f in "$@"; do
    cp "$tmp/settings" "$tmp/alive"
    for i in $(seq "$rounds"); do
        echo "$(basename "$f"): round $i of $rounds" >&2
        if [ -n "$load" ] && v=$(likwid $load); then record "$f" memory "likwid-bench" "$i" "$v"; fi
        if ! run_roofcast "$f" "$i"; then
            note "roofcast on $f: $(tail -n 1 "$tmp/err")"
            failed=1
            break
        fi
        if [ "$i" -eq 1 ] && [ "$(cat "$tmp/type")" = F16 ] && grep -q -e ' -rtr 1' "$tmp/alive"; then
            note "$(basename "$f"): without -rtr, which makes BF16 of F16 where the CPU multiplies that: its place is a BF16 file"
            grep -v -e ' -rtr 1' "$tmp/alive" >"$tmp/next"
            mv "$tmp/next" "$tmp/alive"
        fi
        while IFS='	' read -r n path options <&3; do
            if run_peer "$f" "$i" "$n" "$path" "$options"; then
                [ -f "$tmp/build.$n" ] || { cp "$tmp/build" "$tmp/build.$n"; note "peer $n: build $(cat "$tmp/build")"; }
                printf '%s\t%s\t%s\n' "$n" "$path" "$options" >>"$tmp/next"
            else
                note "peer $n${options#*json} on $(basename "$f") failed: $(tail -n 1 "$tmp/err")"
            fi
        done 3<"$tmp/alive"
        : >>"$tmp/next" # who failed once is not asked again for this file
        if [ "$i" -eq 1 ]; then keep_settings "$f" <"$tmp/next" >"$tmp/alive"; else cp "$tmp/next" "$tmp/alive"; fi
        rm "$tmp/next"
    done
done

# ---- what they say -------------------------------------------------------------------------------------------
# Medians with the least and the most: of an engine's speeds, and of what one round's figures make together.
sort -t '	' -k1,3 -k4,4n "$tmp/records" | awk -F '\t' '
    function sorted(n,    i, j, x) {
        for (i = 2; i <= n; i++) { x = v[i]; for (j = i - 1; j > 0 && v[j] > x; j--) v[j + 1] = v[j]; v[j + 1] = x }
        least = v[1]; most = v[n]
        return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
    }
    # Of a value a round; over another value of the same round where that is asked for.
    function median(file, test, who, over_test, over_who,    r, n, x) {
        n = 0
        for (r = 1; r <= n_round; r++) {
            if (!((file, test, who, r) in value)) continue
            x = value[file, test, who, r]
            if (over_who != "") {
                if (!(value[file, over_test, over_who, r] > 0)) continue
                x /= value[file, over_test, over_who, r]
            }
            v[++n] = x
        }
        return n ? sorted(n) : -1
    }
    { value[$1, $2, $3, $4 + 0] = $5 + 0; if ($4 + 0 > n_round) n_round = $4 + 0 }
    $2 == "memory" { if (!($1 in with_memory)) { with_memory[$1] = 1; memory_file[++n_memory] = $1 }; next }
    BEGIN { engine["roofcast"] = 1; name_of[n_engine = 1] = "roofcast" } # its rows first
    $3 == "roofcast" || $3 ~ /^peer / {
        if (!(($1, $2) in cell)) { cell[$1, $2] = 1; n_cell++; file_of[n_cell] = $1; test_of[n_cell] = $2 }
        if (!($3 in engine)) { engine[$3] = 1; name_of[++n_engine] = $3 }
    }
    END {
        for (m = 1; m <= n_memory; m++) { # the faster of the two loops is the roof of a round
            f = memory_file[m]
            for (r = 1; r <= n_round; r++) {
                x = ((f, "memory", "roofcast probe", r) in value) ? value[f, "memory", "roofcast probe", r] : 0
                y = ((f, "memory", "likwid-bench", r) in value) ? value[f, "memory", "likwid-bench", r] : 0
                if (x > 0 || y > 0) value[f, "memory", "roof", r] = x > y ? x : y
            }
        }
        printf "\n%-34s %-10s %-34s %9s  %19s  %-20s %s\n", "file", "test", "engine", "t/s", "least to most", "roofcast / it", "of the roof"
        for (c = 1; c <= n_cell; c++) {
            f = file_of[c]; t = test_of[c]
            name = f; sub(/.*\//, "", name)
            for (p in best) delete best[p]
            for (e = 1; e <= n_engine; e++) {
                who = name_of[e]; split(who, w, " "); p = who == "roofcast" ? who : "peer " w[2]
                x = median(f, t, who)
                if (x >= 0 && (!(p in best) || x > best[p])) { best[p] = x; line[p] = who }
            }
            for (e = 1; e <= n_engine; e++) {
                who = name_of[e]; split(who, w, " "); p = who == "roofcast" ? who : "peer " w[2]
                if (!(p in best) || line[p] != who) continue
                x = median(f, t, who); ratio = used = ""; lo = least; hi = most
                if (p != "roofcast") {
                    y = median(f, t, "roofcast", t, who)
                    if (y >= 0) ratio = sprintf("%.2f (%.2f - %.2f)", y, least, most)
                } else {
                    y = median(f, t, "bytes/s", "memory", "roof")
                    if (y < 0) y = median(f, t, "of the roof")
                    if (y > 0) used = sprintf("%.1f %% (%.1f - %.1f)", 100 * y, 100 * least, 100 * most)
                }
                row = sprintf("%-34s %-10s %-34s %9.2f  %8.2f - %8.2f  %-20s %s", name, t, who, x, lo, hi, ratio, used)
                sub(/ +$/, "", row)
                print row
            }
        }
        printf "\n%-34s %16s %16s  %s\n", "file", "likwid-bench", "roofcast probe", "probe / likwid-bench"
        for (m = 1; m <= n_memory; m++) {
            f = memory_file[m]; name = f; sub(/.*\//, "", name)
            l = median(f, "memory", "likwid-bench"); x = median(f, "memory", "roofcast probe")
            ratio = median(f, "memory", "roofcast probe", "memory", "likwid-bench")
            printf "%-34s %16s %16s  %s\n", name, l < 0 ? "-" : sprintf("%.2f GB/s", l / 1e9), x < 0 ? "-" : sprintf("%.2f GB/s", x / 1e9),
                ratio < 0 ? "-" : sprintf("%.3f (%.3f - %.3f)", ratio, least, most)
            if (ratio >= 0 && ratio < 0.97) { bad = 1; print "VOID: the probe reads less than 97 % of likwid-bench: its ceiling is too low" }
        }
        exit bad
    }' || void=1
[ "${void:-0}" = 0 ] && [ $failed = 0 ]
