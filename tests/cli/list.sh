#!/bin/sh
# roofcast list: every list in every format, exact facts, and what it says about what is missing.
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
ROOFCAST_PROFILE=$tmp/this.json
export ROOFCAST_PROFILE
n=0
bad=0
ok() { # STATUS NAME
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2"
        sed 's/^/# /' "$tmp/out" "$tmp/err" | head -n 30
        bad=1
    fi
}
run() {
    "$ROOFCAST" list "$@" >"$tmp/out" 2>"$tmp/err"
}
has() {
    grep -q -- "$1" "$tmp/out"
}

run models
test $? -eq 0 && has '^llama-3.1-8b  *llama  *8.03 G  *32 ' && has '^stories15m '
ok $? "models: names, parameters, layers"
run models -o csv
test $? -eq 0 && head -n 1 "$tmp/out" | grep -q '^name,arch,n_params,n_layer,' &&
    has '^llama-2-7b,llama,6738415616,32,4096,32,32,11008,32000,4096,false,models/llama-2-7b.json'
ok $? "models -o csv: raw values"
run hw
test $? -eq 0 && has '^h100-sxm  *NVIDIA H100 SXM5  *gpu  *85.9 GB  *3.35 TB/s  *989 TFLOP/s  *fp16' && ! has '^this '
ok $? "hw: memory, bandwidth, best peak"
cat >"$tmp/this.json" <<'END'
{"schema": "roofcast.hwprofile", "version": 1, "name": "Test host", "kind": "cpu",
 "spec": {"memory_bandwidth": "100 GB/s", "peaks": {"fp32": "1 TFLOP/s"}},
 "ceilings": [{"name": "read DRAM 2t", "kind": "bandwidth", "level": "DRAM", "n_threads": 2, "value": 4e10,
               "unit": "B/s", "ci_lo": 3.9e10, "ci_hi": 4.1e10, "n_samples": 5}]}
END
run hw
test $? -eq 0 && has '^this  *Test host  *cpu  *-  *40.0 GB/s  *1.00 TFLOP/s  *fp32  *1$'
ok $? "hw: this machine's profile, measured bandwidth before the datasheet's, unknown memory is -"
run types
test $? -eq 0 && has '^Q4_K  *12  *256  *144  *4.50  *yes  *yes' && has '^IQ1_M .* no  *no'
ok $? "types: blocks, bits, what runs"
run isa
test $? -eq 0 && has '^ref  *yes' && test "$(grep -c ' yes  *yes ' "$tmp/out")" -eq 1
ok $? "isa: ref is there, one is the default"
run counters
test $? -eq 0 && has '^null  *yes  *sw_bytes  *yes  *-' && has '^null  *yes  *cycles  *no  *no counter backend' &&
    has '^papi ' && has '^likwid  *no  *-  *no  *.*no LIKWID backend yet'
ok $? "counters: what each backend counts, and why not"
run
test $? -eq 0 && has '^Models (' && has '^Hardware (' && has '^Tensor types (' && has '^Kernels (' && has '^Counters ('
ok $? "everything, each list headed"
run -o md
test $? -eq 0 && has '^## Models (' && has '^| ref '
ok $? "everything as markdown"
run -o jsonl
test $? -eq 0 && has '"schema":"roofcast.list.isa","version":1,"isa":"ref"' && ! grep -qv '^{' "$tmp/out"
ok $? "everything as rows"

run -o csv
test $? -eq 2 && grep -q 'list models -o csv' "$tmp/err" && test ! -s "$tmp/out"
ok $? "csv of everything is refused with a way out"
run planets
test $? -eq 2 && grep -q '"planets".*models, hw, types, isa or counters' "$tmp/err"
ok $? "unknown list"
run models hw
test $? -eq 2 && grep -q 'one list at a time' "$tmp/err"
ok $? "two lists"
run models -o xml
test $? -eq 2 && grep -q '"xml"' "$tmp/err"
ok $? "unknown format"

mkdir -p "$tmp/data/models" "$tmp/data/hwprofiles"
cp "$top_srcdir/models/stories15m.json" "$top_srcdir/models/stories42m.json" "$tmp/data/models"
echo '{"model_type": "llama"}' >"$tmp/data/models/aaa-broken.json"
echo '{' >"$tmp/data/hwprofiles/aaa-broken.json"
cp "$top_srcdir/hwprofiles/h100-sxm.json" "$top_srcdir/hwprofiles/classes.json" "$tmp/data/hwprofiles"
ROOFCAST_DATA=$tmp/data run models
test $? -eq 0 && has '^stories15m ' && has '^stories42m ' && grep -q 'warning:.*aaa-broken' "$tmp/err"
ok $? "one broken model is a warning; the others are listed"
ROOFCAST_DATA=$tmp/data run hw
test $? -eq 0 && has '^h100-sxm ' && grep -q 'warning:.*aaa-broken' "$tmp/err"
ok $? "one broken profile is a warning; the others are listed"
echo '{"schema": "roofcast.hwprofile"}' >"$tmp/this.json"
run hw
test $? -eq 0 && has '^h100-sxm ' && grep -q 'warning:.*this.json' "$tmp/err"
ok $? "a broken profile of this machine is a warning"
echo "1..$n"
exit $bad
