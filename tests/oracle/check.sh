#!/bin/sh
# Bytes and instructions of single ops, counted by valgrind's callgrind, against the analytical model and against the figures
# of before.
#   tests/oracle/check.sh [--record] [--table] [BUILD_DIR]     (default: build in the source tree; make check-oracle: its own)
# One line a comparison on stdout, PASS, FAIL or SKIP; exit status 77 where callgrind cannot be had. --table: every figure too.
# --record: writes this compiler's instructions to tests/oracle/instructions.tsv.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
record= table=
while :; do
    case ${1-} in
    --record) record=1 ;;
    --table) table=1 ;;
    *) break ;;
    esac
    shift
done
build=${1:-$top/build}
skip() { printf 'SKIP: oracle: %s\n' "$*"; exit 77; }

case $(uname -m) in
x86_64 | amd64) ;;
*) skip "its figures are those of AVX2 kernels; this is $(uname -m)" ;;
esac
command -v valgrind >/dev/null 2>&1 || skip "no valgrind (package valgrind)"
grep -q '^#define HAVE_CALLGRIND' "$build/config.h" 2>/dev/null ||
    skip "$build is configured without valgrind's headers (package valgrind; then configure again)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
if ! make -s -C "$build" roofcast tests/oracle/oracle >"$work/make.log" 2>&1; then
    tail -n 20 "$work/make.log"
    echo "FAIL: oracle: the build"
    exit 1
fi

# One layer, every matrix larger than the simulated cache; no width is a power of two, whose rows would share sets.
shape="--n-layer 1 --n-embd 1280 --n-ff 3328 --n-head 10 --n-head-kv 5 --n-vocab 2048"
types="Q4_K Q8_0 Q6_K F16 Q4_0 Q5_K Q2_K Q3_K Q5_0 IQ4_NL IQ4_XS BF16"
models=$build/tests/oracle/models
[ "$(cat "$models/shape" 2>/dev/null)" = "$shape" ] || rm -rf "$models"
mkdir -p "$models"
printf '%s\n' "$shape" >"$models/shape"
files=
for t in $types; do
    files="$files $models/$t.gguf"
    [ -f "$models/$t.gguf" ] && continue
    # shellcheck disable=SC2086
    "$build/roofcast" synth $shape -q "$t" --quiet -o "$models/$t.gguf" >"$work/synth.log" 2>&1 || {
        cat "$work/synth.log"
        echo "FAIL: oracle: a model of $t"
        exit 1
    }
done

# run NAME MODE D1 LL LINE FILE...: 12 and 16 ways. A load over the border of two lines counts as one miss where it is two, so
# what stands across lines (blocks of the file's layout) is read through long ones.
run() {
    name=$1 mode=$2 d1=$3 ll=$4 line=$5
    shift 5
    mkdir "$work/$name"
    LD_BIND_NOW=1 valgrind -q --tool=callgrind --cache-sim=yes --simulate-wb=yes --instr-atstart=no --collect-atstart=no \
        --I1="32768,8,$line" --D1="$d1,12,$line" --LL="$ll,16,$line" --callgrind-out-file="$work/$name/dump" \
        "$build/tests/oracle/oracle" "$d1" "$ll" "$mode" "$@" >"$work/$name/rows" 2>"$work/$name/err" ||
        echo "failed" >"$work/$name/failed"
}
# shellcheck disable=SC2086
{
    run packed packed 49152 1048576 64 $files &
    run file file 49152 1048576 512 $files &
    run others others 49152 1048576 64 "$models/Q4_K.gguf" &
    run prompts prompts 49152 1048576 64 "$models/Q4_K.gguf" &
    run small-others others 24576 262144 64 "$models/Q4_K.gguf" &
    run small-prompts prompts 24576 262144 64 "$models/Q4_K.gguf" &
    wait
}
for f in "$work"/*/failed; do
    [ -f "$f" ] || continue
    if grep -q 'Illegal instruction\|unrecognised instruction' "$(dirname "$f")/err"; then
        skip "this valgrind does not know an instruction of this CPU's libraries"
    fi
    tail -n 20 "$(dirname "$f")/err"
    echo "FAIL: oracle: $(basename "$(dirname "$f")")"
    exit 1
done
isa=$(sed -n 's/^# isa\t//p' "$work/packed/rows")
[ "$isa" = avx2 ] || skip "its figures are those of AVX2 kernels; under valgrind this machine runs $isa"
compiler=$(sed -n 's/^# compiler\t//p' "$work/packed/rows")
figures=$top/tests/oracle/instructions.tsv

cd "$work" || exit 1
awk -f "$top/tests/oracle/check.awk" -v table="$table" -v compiler="$compiler" -v measured="$work/measured.tsv" \
    "$top/tests/oracle/bands.tsv" "$figures" ./*/rows ./*/dump.* >verdicts || echo "FAIL: oracle: the comparison" >>verdicts
cat verdicts
if [ -n "$record" ]; then
    { awk -F'\t' -v c="$compiler" '/^#/ || $1 != c' "$figures"; cat "$work/measured.tsv"; } >"$work/new.tsv"
    cp "$work/new.tsv" "$figures"
    echo "recorded: $compiler"
fi
! grep -q '^FAIL' verdicts
