#!/bin/sh
# Regions for likwid-perfctr -m: with a marker API preloaded in LIKWID's place, which keeps the books (tests/counters/fake_likwid.c).
. "${top_srcdir:?}/tests/cli/lib.sh"
fake=${FAKE_LIKWID:-$PWD/tests/counters/fake_likwid.so}
model=$top_srcdir/tests/fixtures/llama-2l.gguf
bench="bench --brief -m $model -t 2 -p 4 -n 3 -r 2 --counters null --quiet"
under() { # ARGS...: as under likwid-perfctr -m on CPUs 0 and 1
    (
        LIKWID_MODE=0 LIKWID_EVENTS=MEM LIKWID_THREADS=0,1 LIKWID_FILEPATH=$tmp/regions LD_PRELOAD=$fake
        export LIKWID_MODE LIKWID_EVENTS LIKWID_THREADS LIKWID_FILEPATH LD_PRELOAD
        run "$@"
    )
}
regions() {
    cp "$tmp/regions" "$tmp/out"
}

# ---- no tool: nothing of it is seen
# shellcheck disable=SC2086
run bench --brief -m "$model" -t 1 -p 4 -n 0 -r 1 --counters null --quiet
ok $? "bench without likwid-perfctr"
test ! -s "$tmp/err"
ok $? "and without a word about markers"

if ! "$ROOFCAST" --version | grep -q LIKWID; then
    LIKWID_MODE=0 LIKWID_EVENTS=MEM LIKWID_THREADS=0 LIKWID_FILEPATH=$tmp/r "$ROOFCAST" run -m "$model" -p one -n 1 >"$tmp/out" 2>"$tmp/err"
    says "built without LIKWID"
    ok $? "a build without LIKWID says so under likwid-perfctr -m"
    finish
fi
# The library that this build would load is not there: counting goes without regions, and says why.
LC_ALL=C sed 's/liblikwid\.so/liblikwix.so/g' "$ROOFCAST" >"$tmp/roofcast" && chmod +x "$tmp/roofcast"
LIKWID_MODE=0 LIKWID_EVENTS=MEM LIKWID_THREADS=0 LIKWID_FILEPATH=$tmp/r "$tmp/roofcast" run -m "$model" -p one -n 1 >"$tmp/out" 2>"$tmp/err"
[ $? = 0 ] && says 'no regions: LIKWID.s library cannot be loaded: liblikwix.so.*: cannot open'
ok $? "a library of LIKWID that is gone is said"
reason=
[ "$(nproc)" -ge 2 ] || reason="one CPU"
[ -f "$fake" ] || reason="no $fake"
! ldd "$ROOFCAST" | grep -q 'lib[at]san' || reason="a sanitizer wants to be loaded first"
if [ -n "$reason" ]; then
    skip "regions" "$reason"
    finish
fi

# ---- bench: a region a phase, on every thread, once a repetition
# shellcheck disable=SC2086
under $bench
ok $? "bench under the fake"
regions
has '^region prefill 2 2 4 4$'
ok $? "prefill: 2 threads, 2 repetitions each"
has '^region decode 2 2 4 4$'
ok $? "decode: the same"
! has '^error'
ok $? "registered before it starts, started and stopped in turn, on known threads, names without dashes"
has '^groups 4$'
ok $? "another group of events after each repetition, outside regions"
is 2 "$(grep -c '^region' "$tmp/out")" "no other region without --ops"

# ---- --ops: a region a role
# shellcheck disable=SC2086
under $bench -n 0 --ops
regions
has '^region prefill_ffn_down 2 2 4 4$' # two layers
ok $? "ffn_down: 2 threads, 2 layers, one pass"
has '^region prefill_lm_head 2 2 2 2$'
ok $? "lm_head: once"
! has '^error'
ok $? "all in order"

# ---- run
under run -m "$model" -t 2 -p one -n 3 --ignore-eos
regions
has '^region prefill 2 2 2 2$' && has '^region decode 2 2 4 4$' && ! has '^error'
ok $? "run: one prefill, two steps of decode"

# ---- likwid-perfctr -C pins the program to its first CPU: the others are taken back
FAKE_LIKWID_PIN=1
export FAKE_LIKWID_PIN
(
    LIKWID_PIN=0,1
    export LIKWID_PIN
    under run -m "$model" -t 2 -p one -n 2 --ignore-eos
)
regions
has '^region decode 2 2 2 2$'
ok $? "-C: both CPUs are used"
finish
