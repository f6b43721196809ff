#!/bin/sh
# Cross-compile for 64-bit Arm and run under qemu: the kernels of every rung against exact sums, and the engine
# against its oracles.
#   tests/arm64/run.sh [BUILD_DIR]      (default: build-check-arm64 in the source tree)
# One line a test on stdout, PASS, FAIL or SKIP; exit status 77 where what it needs cannot be had. All shapes instead of a
# selection: ROOFCAST_CHECK_EVERY=1.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$top/build-check-arm64}
. "$top/build-aux/setup.sh"

skip() { printf 'SKIP: arm64: %s\n' "$*"; exit 77; }
have_cmd aarch64-linux-gnu-gcc || skip "no cross compiler (package gcc-aarch64-linux-gnu)"
qemu=
for q in qemu-aarch64 qemu-aarch64-static; do
    if have_cmd "$q"; then qemu=$q; break; fi
done
[ -n "$qemu" ] || skip "no $q (package qemu-user)"
sysroot=$("$top/tests/arm64/sysroot.sh") || skip "no libraries to link with: the line above says why"

. "$top/tests/arm64/build.sh"
if ! cross_build "$build" "$sysroot" tests/kernels/checkkernel tests/engine/test_engine tests/ceilings/test_ceilings; then
    echo "FAIL: arm64: the build"
    exit 1
fi

ROOFCAST_DATA=$top ROOFCAST_SHARED=${ROOFCAST_SHARED:-$top/../shared} CMOCKA_MESSAGE_OUTPUT=TAP top_srcdir=$top
export ROOFCAST_DATA ROOFCAST_SHARED CMOCKA_MESSAGE_OUTPUT top_srcdir
ROOFCAST_CHECK_EVERY=${ROOFCAST_CHECK_EVERY:-7}
export ROOFCAST_CHECK_EVERY

# check CPU RUNG NAME COMMAND...: its output goes to a file, of which a failure shows the end.
check() {
    cpu=$1 rung=$2 name=$3
    shift 3
    log=$build/$cpu-$name.log
    if ROOFCAST_CHECK_ISA=$rung "$qemu" -L "$sysroot" -cpu "$cpu" "$@" >"$log" 2>&1; then
        echo "PASS: arm64 $rung ($cpu): $name"
    else
        echo "FAIL: arm64 $rung ($cpu): $name: $log"
        grep -v '^ok' "$log" | tail -n 20
    fi
}
# One CPU, whose best rung has to be the one named.
check_cpu() {
    best=$("$qemu" -L "$sysroot" -cpu "$1" "$build/roofcast" list isa -o csv | awk -F, '$3 == "true" {print $1}')
    [ "$best" = "$2" ] || { echo "FAIL: arm64 $2 ($1): the best rung is ${best:-unknown}"; return; }
    check "$1" "$2" kernels "$build/tests/kernels/checkkernel"
    check "$1" "$2" engine "$build/tests/engine/test_engine" "$3"
    check "$1" "$2" ceilings "$build/tests/ceilings/test_ceilings" every_loop_runs
}
# Cores without dot products, with them, and with matrix products; the last runs every oracle there is.
results=$build/results.txt
: >"$results"
say "Testing $(basename "$build") under $qemu" >&2
for c in "cortex-a72 neon test_own_oracle" "neoverse-n1 dotprod test_own_oracle" "max i8mm test_shared_oracles"; do
    # shellcheck disable=SC2086
    check_cpu $c >>"$results" &
done
wait
cat "$results"
! grep -q '^FAIL' "$results"
