#!/bin/sh
# make check-long: what takes longer than the fast tier. Each part says how it went and how long it took; the
# last line counts the parts. ROOFCAST_FUZZ_S: seconds a fuzz target (default 600); ROOFCAST_LOAD_S: seconds of load on the server (1800).
set -u
: "${top_srcdir:?run this by make check-long}"
fuzz_s=${ROOFCAST_FUZZ_S:-600}
jobs=$(getconf _NPROCESSORS_ONLN)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
begin=$(date +%s) passed=0 failed=0 skipped=0

part() { # NAME COMMAND...
    name=$1; shift
    t=$(date +%s)
    if "$@" >"$work/log" 2>&1; then passed=$((passed + 1)); verdict=ok
    else failed=$((failed + 1)); verdict=FAILED; fi
    echo "$verdict: $name ($(($(date +%s) - t)) s)"
    [ $verdict = ok ] || tail -n 40 "$work/log"
}
skip() { skipped=$((skipped + 1)); echo "skipped: $1 ($2)"; }

build_and_check() { # DIR configure arguments
    d=$work/$1; shift
    mkdir -p "$d" && cd "$d" && "$top_srcdir/configure" -q "$@" && make -s -j"$jobs" && make -s -j"$jobs" check
}
for cc in gcc clang; do
    for opt in -O0 -O2 -O3; do
        if command -v $cc >/dev/null; then part "$cc $opt" build_and_check "$cc$opt" --enable-werror CC=$cc "CFLAGS=$opt -g"
        else skip "$cc $opt" "no $cc here"; fi
        rm -rf "${work:?}/$cc$opt"
    done
done
part "without PAPI, LIKWID, libmicrohttpd and hardening" build_and_check bare --enable-werror --disable-hardening --with-papi=no --with-likwid=no --with-microhttpd=no
rm -rf "$work/bare"

valgrind_all() {
    mkdir -p "$work/valgrind" && cd "$work/valgrind" && "$top_srcdir/configure" -q CFLAGS='-O1 -g' && make -s -j"$jobs" check TESTS= &&
    for t in $(make -s print-check-programs); do
        # valgrind's CPU has AVX2 and no AVX-512: the AVX2 rung is what runs.
        case $t in */checkkernel | */replay_* | */test_ceilings*) continue ;; esac
        echo "== $t"
        ROOFCAST_SHARED=/nonexistent top_srcdir=$top_srcdir ROOFCAST_DATA=$top_srcdir \
            valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite "./$t"
        [ $? -ne 9 ] || return 1
    done
}
if command -v valgrind >/dev/null; then part valgrind valgrind_all; rm -rf "$work/valgrind"
else skip valgrind "not installed"; fi

all_faults() {
    mkdir -p "$work/faults" && cd "$work/faults" && "$top_srcdir/configure" -q --enable-werror && make -s -j"$jobs" && make -s check-faults
}
part "every fault of every command" all_faults
rm -rf "$work/faults"
# 200 streams for half an hour.
load_long() {
    mkdir -p "$work/load" && cd "$work/load" && "$top_srcdir/configure" -q --enable-werror && make -s -j"$jobs" roofcast &&
        ROOFCAST=$work/load/roofcast ROOFCAST_DATA=$top_srcdir ROOFCAST_LOAD_S=${ROOFCAST_LOAD_S:-1800} sh "$top_srcdir/tests/server/load.sh" >"$work/load.out"
    rc=$?
    cat "$work/load.out"
    [ $rc -eq 0 ]
}
part "200 streams at once for ${ROOFCAST_LOAD_S:-1800} s" load_long
grep '^# RSS' "$work/load.out"
rm -rf "$work/load"
damage() {
    mkdir -p "$work/damage" && cd "$work/damage" && "$top_srcdir/configure" -q --enable-werror --enable-sanitizers --with-mpi=no CC=clang CFLAGS=-gline-tables-only &&
        make -s -j"$jobs" && make -s check-damage
}
if command -v clang >/dev/null; then part "damaged files under sanitizers" damage; rm -rf "$work/damage"
else skip "damaged files under sanitizers" "no clang here"; fi

fuzz() { "$work/fuzz/tests/fuzz/$1" -max_total_time="$fuzz_s" -timeout=20 -rss_limit_mb=2048 "$work/corpus" "$top_srcdir/tests/fuzz/corpus/${1#fuzz_}"; }
if command -v clang >/dev/null; then
    mkdir -p "$work/fuzz" && cd "$work/fuzz" || exit 99
    part "building the fuzz targets" sh -c "'$top_srcdir/configure' -q --enable-fuzzers CC=clang CFLAGS=-g && make -s -j$jobs fuzzers"
    for f in $(make -s print-fuzzers); do
        rm -rf "$work/corpus" && mkdir "$work/corpus"
        part "$(basename "$f") for $fuzz_s s" fuzz "$(basename "$f")"
    done
else skip fuzzing "no clang here"; fi

coverage() {
    mkdir -p "$work/gcov" && cd "$work/gcov" && "$top_srcdir/configure" -q --enable-coverage CFLAGS='-O0 -g' && make -s -j"$jobs" && make -s check &&
    find . -name '*.gcda' -path './src/*' -exec gcov -n -o . {} + 2>/dev/null | awk '/^File .*src\// {f=1} /^Lines executed/ && f {split($2, a, ":"); sub("%", "", a[2]); n += $4; c += a[2] * $4 / 100; f=0} END {printf "lines covered: %.1f %% of %d\n", 100 * c / n, n; exit !(c / n > 0.7)}'
}
part coverage coverage
grep 'lines covered' "$work/log"
echo "check-long took $(($(date +%s) - begin)) s"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
