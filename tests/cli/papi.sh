#!/bin/sh
# What any user of PAPI sees inside the program: PAPI_EVENTS and the high-level API, which writes a JSON of every region and thread.
. "${top_srcdir:?}/tests/cli/lib.sh"
model=$top_srcdir/tests/fixtures/llama-2l.gguf
bench="bench --brief -m $model -t 2 -p 4 -n 3 -r 2 --quiet"
PAPI_OUTPUT_DIRECTORY=$tmp PAPI_EVENTS=sde:::roofcast::FLOP,sde:::roofcast::BYTES,sde:::roofcast::TOKENS
export PAPI_OUTPUT_DIRECTORY PAPI_EVENTS
# PAPI 7.0 itself loses 16 bytes a thread that begins a region.
echo "leak:PAPI_hl_region_begin" >"$tmp/leaks"
export LSAN_OPTIONS="suppressions=$tmp/leaks:print_suppressions=0"
regions() { # the JSON as lines "THREAD REGION EVENT VALUE"
    cat "$tmp"/papi_hl_output/*.json | tr -d ' ",' | awk -F: '
        /^[0-9]+:{$/ { if (++depth == 1) thread = $1; next }
        /^}/ && depth { depth--; next }
        $1 == "regions" { depth++; next }
        $1 == "name" { name = $2; next }
        $1 == "sde" { print thread, name, $6, $7 }' >"$tmp/out"
}

if ! "$ROOFCAST" list counters | grep -q '^papi .* sw_flop .*yes'; then
    skip "PAPI's high-level API" "no PAPI with software-defined events here"
    finish
fi
[ "$(nproc)" -ge 2 ] || bench="bench --brief -m $model -t 1 -p 4 -n 3 -r 2 --quiet"

# shellcheck disable=SC2086
run $bench -o json
ok $? "bench with PAPI_EVENTS"
test ! -s "$tmp/err"
ok $? "without a word on standard error"
has '"counters": "null"'
ok $? "auto leaves the counters to PAPI"
run_flop=$(sed -n 's/.*"flop": \([0-9.]*\).*/\1/p' "$tmp/out" | tr '\n' ' ')
# shellcheck disable=SC2086
set -- $run_flop
regions
is "${1%.*} ${2%.*}" "$(awk '$1 == 0 && $3 == "FLOP" { v[$2] = $4 } END { print v["prefill"], v["decode"] }' "$tmp/out")" \
    "FLOP of both phases are what bench counts, exactly"
is "4 3" "$(awk '$1 == 0 && $3 == "TOKENS" { v[$2] = $4 } END { print v["prefill"], v["decode"] }' "$tmp/out")" "tokens"
is 2 "$(grep -c '^0 decode BYTES' "$tmp/out")" "a line a repetition"

# ---- a role is a region
rm -rf "$tmp"/papi_hl_output*
# shellcheck disable=SC2086
run $bench -n 0 --ops
regions
has '^0 prefill_ffn_down FLOP [1-9]'
ok $? "--ops: regions of roles"

# ---- run publishes, too
rm -rf "$tmp"/papi_hl_output*
run run -m "$model" -t 1 -p one -n 3 --ignore-eos -o json
flop=$(figure flop)
regions
is "${flop%.*}" "$(awk '$3 == "FLOP" { s += $4 } END { printf "%d", s }' "$tmp/out")" "run: prefill and decode add up to its FLOP"

# ---- a set that is taken is no silence
rm -rf "$tmp"/papi_hl_output*
PAPI_EVENTS=perf::PAGE-FAULTS
# shellcheck disable=SC2086
run $bench -n 0 --counters papi -o json
if has 'papi' && says "regions: PAPI's high-level API: "; then
    ok 0 "the same counters by --counters papi: said"
else
    skip "the same counters by --counters papi" "PAPI's perf_event component counts nothing here"
fi
finish
