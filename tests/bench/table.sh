#!/bin/sh
# How near the engine is to the roofs: every kind of work beside the roofs, and beside ik_llama.cpp or another peer, in turn.
#
#   tests/bench/table.sh [options] [ROW ...]      rows are shell patterns of names: batch-Q8_0-2t, 'decode-*', ...
#     -l     the names of the rows, and no more
#     -r N   rounds (5)           -n N   repetitions of a round (2)
#     -t N   the rows of N threads alone (all rows: all processors, and one thread)
#     -d DIR where files are synthesized (22 GB of them for all rows; kept for the next time)
#     -s N   no further round once N seconds are spent
#     -o F   figures are added to F, a line each behind a line "# ..." of who measured, and those that stand there count too: rounds of
#            several calls make one table
#   ROOFCAST_PEERS=/path/llama-bench[:...]: peers; those of batches are llama-batched-bench beside them.
#
# A round of a row runs likwid-bench's load loop, roofcast (with its own probes around every repetition) and every peer once. Medians of
# rounds, least and most; ratios are of figures of one round. Generation is of the faster of probe and likwid-bench, or of the roof
# of its arithmetic:
#   decode-TYPE-Nt   one sequence                        97 % of memory's roof (Q8_0), 95 % (others)
#   prefill-TYPE     prompts of 512 tokens               of their arithmetic's roof: 73 % (Q8_0, Q4_0), 67 % (K types), 87 % (BF16), 88 %
#   batch-TYPE-Nt    1 2 4 8 16 32 sequences             88 % of memory's roof below half the batch where both roofs cost alike;
#                                                        from there 55 % of the slower roof, at 32 sequences 65 % (F16, BF16: 75 %)
#   moe-NAME-TYPE    one sequence, mixtures of experts   90 % of memory's roof
#   l3-NAME          models that the L3 cache holds      a peer's speed
#   depth, pp4096    Llama 3.2 1B's shape                generation after 0, 8192, 32768 tokens: 92 % of memory's roof; prompts
#   load-TYPE        packing of weights, a second time   twice the seconds of reading the file once; the file's memory + 10 %
# A peer has flash attention; with and without repacking at run time in the first round, then with what led a test (F16 without: it would
# become BF16). A test whose threads did not have their CPUs for nine tenths of the time is asked again, twice, and then left out. Tokens/s
# that fall as batches grow are said. Exit status: 0 whatever the figures are.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
roofcast=${ROOFCAST:-$top/build/roofcast}
rounds=5 reps=2 only="" dir=${TMPDIR:-/tmp}/roofcast-peers seconds=0 keep="" list=""
all=$(getconf _NPROCESSORS_ONLN)
usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
while getopts lr:n:t:d:s:o:h o; do
    case $o in
    l) list=1 ;;
    r) rounds=$OPTARG ;;
    n) reps=$OPTARG ;;
    t) only=$OPTARG ;;
    d) dir=$OPTARG ;;
    s) seconds=$OPTARG ;;
    o) keep=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
for v in "$rounds" "$reps" "${only:-1}"; do
    case $v in '' | *[!0-9]* | 0) echo "table: expected a number above 0, found \"$v\"" >&2; exit 2 ;; esac
done
case $seconds in '' | *[!0-9]*) echo "table: expected seconds, found \"$seconds\"" >&2; exit 2 ;; esac

# ---- the rows: name, file, threads, tests as roofcast says them, how a peer does (bench, batched, none) -------------
rows() {
    types='Q8_0 Q4_0 Q4_K_M Q6_K BF16 F16'
    for t in $all 1; do
        for q in $types; do echo "decode-$q-${t}t tinyllama-1.1b-$q $t bench -p 0 -n 24"; done
        for q in $types; do echo "batch-$q-${t}t tinyllama-1.1b-$q $t batched -p 0 -n 16 -d 16 -b 1,2,4,8,16,32"; done
        [ "$t" != 1 ] || break
    done
    for q in $types Q5_K_M F32; do echo "prefill-$q tinyllama-1.1b-$q $all bench -p 512 -n 0"; done
    for m in mixtral qwen3; do
        for q in Q8_0 Q4_K_M; do echo "moe-$m-$q $m-small-$q $all bench -p 0 -n 24"; done
    done
    for t in $all 1; do
        echo "l3-stories15m-${t}t stories15m-Q8_0 $t bench -p 0 -n 200"
        echo "l3-stories42m-${t}t stories42m-Q4_0 $t bench -p 0 -n 200"
        [ "$t" != 1 ] || break
    done
    echo "depth-0 llama-3.2-1b-Q8_0 $all bench -p 0 -n 16"
    echo "depth-8192 llama-3.2-1b-Q8_0 $all bench -p 0 -n 16 -d 8192"
    echo "depth-32768 llama-3.2-1b-Q8_0 $all bench -p 0 -n 16 -d 32768"
    echo "pp4096 llama-3.2-1b-Q8_0 $all bench -p 512,4096 -n 0"
    for q in $types; do echo "load-$q tinyllama-1.1b-$q $all none"; done
}
chosen() { # NAME THREADS
    [ -z "$only" ] || [ "$only" = "$2" ] || return 1
    [ -n "$patterns" ] || return 0
    for pattern in $patterns; do
        # shellcheck disable=SC2254
        case $1 in $pattern) return 0 ;; esac
    done
    return 1
}
patterns=$*
set -f
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
rows | while read -r name file t rest; do
    if chosen "$name" "$t"; then echo "$name $file $t $rest"; fi
done >"$tmp/rows"
[ -s "$tmp/rows" ] || { echo "table: no row is named \"$patterns\" (-l lists them)" >&2; exit 2; }
if [ -n "$list" ]; then
    cut -d ' ' -f 1 "$tmp/rows"
    exit 0
fi
[ -x "$roofcast" ] || { echo "table: no $roofcast: build it, or set ROOFCAST" >&2; exit 1; }
records=${keep:-$tmp/records} # ROW, TEST, WHO, ROUND, VALUE; tabs between
stamp=$(date +%s)-$$         # a round's name begins with it
version=$("$roofcast" --version 2>/dev/null | head -n 1)
echo "# $stamp: $version, -n $reps" >>"$records" || { echo "table: cannot write $records" >&2; exit 1; }
note() { printf '%s\n' "$*"; }
limit() { if command -v timeout >/dev/null; then timeout "${ROOFCAST_PEERS_LIMIT:-900}" "$@"; else "$@"; fi; }

# ---- the files ------------------------------------------------------------------------------------------------------
# Mixtures have true layers, or half as wide ones, and fewer of them.
file_of() { # NAME
    f=$dir/$1.gguf q=${1##*-}
    [ ! -e "$f" ] || return 0
    mkdir -p "$dir" || return 1
    case $1 in
    mixtral-small-*) set -- mixtral-8x7b --n-layer 6 --n-embd 2048 --n-ff 7168 --n-head 16 --n-head-kv 4 --head-dim 128 ;;
    qwen3-small-*) set -- qwen3-30b-a3b --n-layer 3 --n-vocab 32000 ;;
    *) set -- "${1%-*}" ;;
    esac
    "$roofcast" synth "$@" -q "$q" -o "$f" --quiet
}

# ---- one round ------------------------------------------------------------------------------------------------------
put() { printf '%s\t%s\t%s\t%s\t%s\n' "$@" >>"$records"; }
likwid() { # THREADS
    command -v likwid-bench >/dev/null || return 0
    for l in load_avx512 load_avx; do
        v=$(limit likwid-bench -t $l -w "N:1GB:$1" -i 4 2>/dev/null | awk '$1 == "MByte/s:" { print $2 * 1e6 }')
        [ -z "$v" ] || { put "$row" memory likwid "$round" "$v"; return 0; }
    done
}
# What others took the CPUs from (cpu_share) is asked again, twice, and then left out.
run_roofcast() { # TESTS...
    : >"$tmp/got"
    for try in 1 2 3; do
        limit "$roofcast" bench -m "$f" "$@" -r "$reps" -t "$threads" -o csv --quiet >"$tmp/out" 2>"$tmp/err" || return 1
        keep_alone
        [ -s "$tmp/void" ] || return 0
    done
    note "$row: others had the CPUs, left out: $(tr '\n' ' ' <"$tmp/void")"
}
# Rows of $tmp/out not yet got, to the records; those that did not have their CPUs to $tmp/void.
keep_alone() {
    : >"$tmp/void"
    awk -F, -v row="$row" -v round="$round" -v got="$tmp/got" -v void="$tmp/void" 'BEGIN { while ((getline t <got) > 0) had[t] = 1 }
        NF == 0 { exit }
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["test"] in had { next }
        at["cpu_share"] && $at["cpu_share"] != "" && $at["cpu_share"] < 0.9 { print $at["test"] >void; next }
        { print $at["test"] >>got
          n = split("tok_s_mean bytes_s ceiling_bytes_s flop_s ceiling_flop_s", w, " ")
          for (i = 1; i <= n; i++) print row "\t" $at["test"] "\t" w[i] "\t" round "\t" $at[w[i]] }' "$tmp/out" >>"$records"
}
run_load() {
    dd if="$f" of=/dev/null bs=4M 2>/dev/null # into the page cache
    t0=$(date +%s%N)
    dd if="$f" of=/dev/null bs=4M 2>/dev/null
    t1=$(date +%s%N)
    put "$row" load read_s "$round" "$(awk "BEGIN { print ($t1 - $t0) / 1e9 }")"
    put "$row" load file_bytes "$round" "$(stat -L -c %s "$f")"
    # twice: memory that a virtual machine touches for the first time is its host's work, ten times as long as the packing
    for _ in first counted; do
        limit "$roofcast" bench -m "$f" -p 0 -n 1 -r 1 -t "$threads" -o json --quiet --brief >"$tmp/out" 2>"$tmp/err" || return 1
    done
    awk -v row="$row" -v round="$round" '{ gsub(/[",:]/, "") }
        $1 == "pack_s" || $1 == "peak_bytes" || $1 == "packed_bytes" { print row "\tload\t" $1 "\t" round "\t" $2 }' "$tmp/out" >>"$records"
}
# Words of llama-bench for one row, and of llama-batched-bench, which prints a table: PP TG B N_KV T_PP S_PP T_TG S_TG.
run_peer() { # NUMBER PROGRAM SETTING TESTS...
    n=$1 program=$2 setting=$3
    shift 3
    if [ "$kind" = batched ]; then
        program=$(dirname "$program")/llama-batched-bench
        [ -x "$program" ] || { echo "no $program" >"$tmp/err"; return 1; }
        set -- -m "$f" -c 1024 -npp "$6" -ntg "$4" -npl "$8" -t "$threads" -fa 1
        case $setting in *-rtr*) set -- "$@" -rtr ;; esac
        limit "$program" "$@" >"$tmp/out" 2>&1
        awk -F '|' -v row="$row" -v who="peer $n$setting" -v round="$round" 'NF > 10 && $2 + 0 > 0 {
            b = $4 + 0; print row "\ttg" $3 + 0 (b > 1 ? "x" b : "") "@d" $2 + 0 "\t" who "\t" round "\t" $9 + 0; k++ }
            END { exit !k }' "$tmp/out" >>"$records"
        return
    fi
    [ "${5:-}" != -d ] || set -- -p 0 -n 0 -gp "$6,$4"
    # shellcheck disable=SC2086
    limit "$program" -m "$f" "$@" $setting -r "$reps" -t "$threads" -fa 1 -o json >"$tmp/out" 2>"$tmp/err" || return 1
    awk -v row="$row" -v who="peer $n$setting" -v round="$round" '{ gsub(/[",]/, "") }
        $1 == "n_prompt:" { p = $2 } $1 == "n_gen:" { g = $2 }
        $1 == "avg_ts:" { print row "\t" (g > 0 ? "tg" g : "pp" p) (g > 0 && p > 0 ? "@d" p : "") "\t" who "\t" round "\t" $2; k++ }
        END { exit !k }' "$tmp/out" >>"$records"
}
# A setting that led no test of this row in this call's first round is not asked again.
leads() { # NUMBER SETTING
    awk -F '\t' -v row="$row" -v first="$stamp.1" -v mine="peer $1$2" -v peer="$1" '
        $1 == row && $4 == first && $3 ~ /^peer / { split($3, w, " "); if (w[2] != peer) next
            if (!($2 in best) || $5 > best[$2]) { best[$2] = $5; who[$2] = $3 } }
        END { for (t in who) if (who[t] == mine) exit 0; exit 1 }' "$records"
}
peers_round() { # TESTS...
    n_peer=0 old_ifs=$IFS
    IFS=:
    for peer in ${ROOFCAST_PEERS:-}; do
        IFS=$old_ifs
        n_peer=$((n_peer + 1))
        if [ ! -x "$peer" ]; then
            [ "$i" -gt 1 ] || note "peer $n_peer: $peer: not there, or not a program: left out"
            continue
        fi
        for setting in '' ' -rtr 1'; do
            case $file$setting in *-F16\ -rtr*) continue ;; esac
            [ "$i" -eq 1 ] || leads $n_peer "$setting" || continue
            run_peer $n_peer "$peer" "$setting" "$@" || note "peer $n_peer$setting on $row failed: $(tail -n 1 "$tmp/err")"
        done
    done
    IFS=$old_ifs
}

note "roofcast: $version"
begin=$(date +%s) longest=0
for i in $(seq "$rounds"); do
    round=$stamp.$i
    while read -r row file threads kind tests <&3; do
        t0=$(date +%s)
        if [ "$seconds" -gt 0 ] && [ $((t0 - begin + longest)) -gt "$seconds" ]; then break 2; fi
        file_of "$file" || { note "cannot write $dir/$file.gguf: $row left out"; continue; }
        echo "$row: round $i of $rounds" >&2
        if [ "$kind" = none ]; then
            run_load || note "roofcast on $row: $(tail -n 1 "$tmp/err")"
        else
            likwid "$threads"
            # shellcheck disable=SC2086
            if run_roofcast $tests; then peers_round $tests; else note "roofcast on $row: $(tail -n 1 "$tmp/err")"; fi
        fi
        took=$(($(date +%s) - t0))
        [ $took -le $longest ] || longest=$took
    done 3<"$tmp/rows"
done

# ---- what they say --------------------------------------------------------------------------------------------------
awk -F '\t' -v names="$(cut -d ' ' -f 1 "$tmp/rows" | tr '\n' ' ')" '
    function median(n,    i, j, x) { # of v[1..n], and least and most
        for (i = 2; i <= n; i++) { x = v[i]; for (j = i - 1; j > 0 && v[j] > x; j--) v[j + 1] = v[j]; v[j + 1] = x }
        least = v[1]; most = v[n]
        return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
    }
    function of(row, test, who, r) { return ((row, test, who, r) in value) ? value[row, test, who, r] : 0 }
    function roof(row, test, r,    a, b) {
        a = of(row, test, "ceiling_bytes_s", r); b = of(row, "memory", "likwid", r)
        return a > b ? a : b
    }
    # Of the roof, a value a round: memory, compute, or the slower; n of them in v.
    function used(row, test, which,    i, r, m, c, n) {
        n = 0
        for (i = 1; i <= n_round; i++) {
            r = name_of_round[i]
            if (of(row, test, "tok_s_mean", r) <= 0) continue
            m = roof(row, test, r) > 0 ? of(row, test, "bytes_s", r) / roof(row, test, r) : 0
            c = of(row, test, "ceiling_flop_s", r) > 0 ? of(row, test, "flop_s", r) / of(row, test, "ceiling_flop_s", r) : 0
            v[++n] = which == "memory" ? m : which == "compute" ? c : m > c ? m : c
        }
        return n
    }
    function plain(row, test, who, over,    i, r, n) {
        n = 0
        for (i = 1; i <= n_round; i++) {
            r = name_of_round[i]
            if (of(row, test, who, r) <= 0 || (over != "" && of(row, test, over, r) <= 0)) continue
            v[++n] = of(row, test, who, r) / (over != "" ? of(row, test, over, r) : 1)
        }
        return n
    }
    function best_peer(row, test,    p, n, x, found, most_of) {
        found = ""; most_of = 0
        for (p in peer) {
            n = plain(row, test, p, "")
            if (n == 0) continue
            x = median(n)
            if (x > most_of) { most_of = x; found = p }
        }
        return found
    }
    # By numbers of sequences: one that was left out of the first round came later.
    function by_batch(test_of, n,    i, j, t) {
        for (i = 2; i <= n; i++) {
            t = test_of[i]
            for (j = i - 1; j > 0 && batch_of(test_of[j]) > batch_of(t); j--) test_of[j + 1] = test_of[j]
            test_of[j + 1] = t
        }
    }
    function batch_of(test) { return match(test, /x[0-9]+/) ? substr(test, RSTART + 1, RLENGTH - 1) + 0 : 1 }
    function line(what, speed, lo, hi, figure, flo, fhi, target, ratio, note) {
        printf "%-20s %-14s %9s  %-17s %-28s %-12s %-24s %s\n", what, test, speed, lo == "" ? "" : lo " - " hi,
            figure == "" ? "" : figure " (" flo " - " fhi ")", target, ratio, note
    }
    /^#/ { next } # who measured what follows
    { value[$1, $2, $3, $4] = $5 + 0
      if (!($4 in seen)) { seen[$4] = 1; name_of_round[++n_round] = $4 }
      if ($3 ~ /^peer /) peer[$3] = 1
      if ($3 == "tok_s_mean" && !(($1, $2) in has)) { has[$1, $2] = 1; tests[$1] = tests[$1] " " $2 }
      if ($3 == "pack_s") loaded[$1] = 1 }
    END {
        n_row = split(names, row_of, " ")
        printf "\n%-20s %-14s %9s  %-17s %-28s %-12s %-24s %s\n", "row", "test", "t/s", "least - most", "% of roof", "target", "roofcast / peer", "rounds, roof"
        for (k = 1; k <= n_row; k++) {
            row = row_of[k]; split(row, part, "-"); type = part[2]
            if (row in loaded) {
                test = "load"
                n = plain(row, "load", "pack_s", "read_s"); x = median(n); lo = least; hi = most
                m = plain(row, "load", "peak_bytes", "file_bytes"); y = median(m); ylo = least; yhi = most
                plain(row, "load", "pack_s", ""); s = median(n)
                line(row, sprintf("%.3f s", s), "", "", sprintf("%.2f x read", x), sprintf("%.2f", lo), sprintf("%.2f", hi), "2 x", "", n " rounds")
                test = "peak"
                line(row, "", "", "", sprintf("%.3f x file", y), sprintf("%.3f", ylo), sprintf("%.3f", yhi), "1.1 x + KV", "", m " rounds")
                continue
            }
            n_test = split(tests[row], test_of, " "); before = 0
            if (part[1] == "batch") by_batch(test_of, n_test)
            for (j = 1; j <= n_test; j++) {
                test = test_of[j]
                if (part[1] == "batch" && test ~ /^pp/) continue
                b = batch_of(test)
                n = used(row, test, "memory"); m = median(n); n = used(row, test, "compute"); c = median(n)
                which = "memory"; goal = 0
                if (part[1] == "decode") goal = type == "Q8_0" ? 97 : 95
                if (part[1] == "moe") goal = 90
                if (part[1] == "depth") goal = 92
                if (test ~ /^pp/) which = "compute"
                if (part[1] == "prefill") goal = type ~ /K/ ? 67 : type ~ /^Q/ ? 73 : type == "BF16" ? 87 : 88
                if (part[1] == "batch") {
                    ridge = c > 0 ? b * m / c : b
                    if (b < ridge / 2) goal = 88
                    else { which = "slower"; goal = b <= 16 ? 55 : type ~ /F16/ ? 75 : 65 }
                }
                n = used(row, test, which); x = median(n); xlo = least; xhi = most
                if (which == "slower") which = m > c ? "memory, slower" : "compute, slower"
                plain(row, test, "tok_s_mean", ""); s = median(n); slo = least; shi = most
                p = best_peer(row, test); ratio = ""
                if (p != "") { if ((q = plain(row, test, "tok_s_mean", p)) > 0) { y = median(q); ratio = sprintf("%.2f (%.2f - %.2f)", y, least, most); sub(/^peer /, "", p); ratio = ratio " " p } }
                note = n " " which; if (part[1] == "batch" && s < before) note = note ", FALLS"
                line(row, sprintf("%.1f", s), sprintf("%.1f", slo), sprintf("%.1f", shi), sprintf("%.1f", 100 * x), sprintf("%.1f", 100 * xlo),
                    sprintf("%.1f", 100 * xhi), goal ? goal " %" : "", ratio, note)
                before = s
            }
        }
    }' "$records"
