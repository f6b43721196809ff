#!/bin/sh
# Joules a token of bench: from a made-up tree of sysfs whose counter goes on while the test runs, and without any.
. "${top_srcdir:?}/tests/cli/lib.sh"
model=$top_srcdir/tests/fixtures/llama-2l.gguf
ROOFCAST_ROOT=$tmp
export ROOFCAST_ROOT
zone=$tmp/sys/class/powercap/intel-rapl:0

# ---- none
run bench --brief -m "$model" -t 1 -r 1 -p 0 -n 2 --counters null --quiet
has '^Energy: unavailable: no zone of a package in .*/sys/class/powercap and no perf power PMU'
ok $? "no zones: unavailable, with the reason"

steps=2500 # a second or so
[ -z "${ROOFCAST_SANITIZED:-}" ] || steps=500
# ---- a package that takes 1 J a reading: written to another name and renamed, as sysfs has no half-written numbers
mkdir -p "$zone"
echo package-0 >"$zone/name"
echo 262143328850 >"$zone/max_energy_range_uj"
echo 262143000000 >"$zone/energy_uj" # soon wraps around
(
    uj=262143000000
    while [ -d "$zone" ]; do
        uj=$(((uj + 1000000) % 262143328850))
        echo $uj >"$zone/next" && mv "$zone/next" "$zone/energy_uj"
        sleep 0.01
    done
) 2>"$tmp/writer" &
writer=$!
run bench --brief -m "$model" -t 1 -r 2 -p 0 -n $steps --counters null --quiet -o json
kill "$writer" 2>/dev/null
wait "$writer" 2>/dev/null
joules=$(figure energy_j) each=$(figure j_tok) seconds=$(figure seconds)
echo "$joules J, $each J a token, $seconds s" >>"$tmp/err"
if [ -z "$joules" ] && has 'energy_reason.*measured for'; then
    skip "joules of a repetition" "this machine is too fast for the test's length"
    finish
fi
has '"energy_source": "powercap intel-rapl: package-0"' && has '"energy_reason": null'
ok $? "the source is named"
holds "$joules > 0 && $joules < 110 * $seconds + 2" "1 J every 10 ms or more, across the wrap-around: at most 100 W"
holds "$each * $steps / $joules > 0.999 && $each * $steps / $joules < 1.001" "J a token is J by tokens"

# ---- too short for counters that are renewed every millisecond
run bench --brief -m "$model" -t 1 -r 1 -p 0 -n 2 --counters null --quiet -o json
has 'energy_j": null' && has 'energy_reason": "measured for'
ok $? "two tokens: too short, and said"
finish
