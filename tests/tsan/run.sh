#!/bin/sh
# Build with clang's thread sanitizer and run what has threads: the team, the engine against its oracles, the HTTP server,
# `roofcast run` and `roofcast bench`. Nothing of this program is exempt; libraries that were built without the sanitizer are ignored.
#   tests/tsan/run.sh [BUILD_DIR]       (default: build-check-tsan in the source tree)
# One line a test, PASS, FAIL or SKIP; exit status 77 where there is no such sanitizer.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$top/build-check-tsan}
. "$top/build-aux/setup.sh"

mkdir -p "$top/build" "$build"
printf 'int main(void) { return 0; }\n' >"$build/probe.c"
if ! { clang -fsanitize=thread "$build/probe.c" -o "$build/probe" && "$build/probe"; } >"$build/probe.log" 2>&1; then
    echo "SKIP: tsan: no clang that links, or no kernel that runs, -fsanitize=thread ($build/probe.log)"
    exit 77
fi
tests='tests/base/test_base tests/engine/test_engine tests/engine/test_archs tests/lib/test_lib tests/lib/test_serving_lib tests/server/test_api_reply tests/server/test_http tests/server/test_threads'
if ! (build_targets="roofcast $tests"
    build_tree "$build" --enable-werror --enable-sanitizers=thread --without-papi --without-likwid CC=clang CFLAGS=-gline-tables-only); then
    echo "FAIL: tsan: the build"
    exit 1
fi

# The oracles outside of the tree take minutes here.
ROOFCAST_DATA=$top ROOFCAST_SHARED=/nonexistent CMOCKA_MESSAGE_OUTPUT=TAP ROOFCAST_PROFILE=$build/this.json top_srcdir=$top
TSAN_OPTIONS="ignore_noninstrumented_modules=1 exitcode=66"
export ROOFCAST_DATA ROOFCAST_SHARED CMOCKA_MESSAGE_OUTPUT ROOFCAST_PROFILE top_srcdir TSAN_OPTIONS
bad=0
check() { # NAME COMMAND...
    name=$1
    shift
    log=$build/$(echo "$name" | tr ' /' '--').log
    if (cd "$build" && "$@") >"$log" 2>&1; then
        if grep -q '^1\.\.0 # SKIP' "$log"; then sed -n "s|^1..0 # SKIP|SKIP: tsan: $name:|p" "$log"; else echo "PASS: tsan: $name"; fi
    else
        echo "FAIL: tsan: $name: $log"
        grep -A 12 'WARNING: ThreadSanitizer\|^not ok' "$log" | head -n 40
        bad=1
    fi
}
check "thread team" tests/base/test_base test_team
check "predictions by several threads" tests/lib/test_lib test_threads_predict_at_once
check "simulations by several threads" tests/lib/test_serving_lib test_two_threads_at_once
check "answers of the server" tests/server/test_api_reply
check "HTTP server" tests/server/test_http
check "engine" tests/engine/test_engine
for family in llama mixtral gemma3 gpt_oss deepseek2; do # dense, experts, windows, biases of experts, latents
    check "engine, $family" tests/engine/test_archs "test_$family"
done
check "loop" tests/server/test_threads
check "200 streams on the server" env ROOFCAST="$build/roofcast" ROOFCAST_SANITIZED=1 ROOFCAST_LOAD_S=4 sh "$top/tests/server/load.sh"
threads=2
[ "$(getconf _NPROCESSORS_ONLN)" -ge 2 ] || threads=1
model=$build/model.gguf
check "synth" ./roofcast synth --n-layer 2 --n-embd 256 --n-ff 512 --n-head 4 --n-head-kv 2 --n-vocab 512 -q Q4_K_M -o "$model" --quiet
for m in "$top/tests/fixtures/llama-2l.gguf" "$model"; do
    check "run $(basename "$m")" ./roofcast run -m "$m" -p 'one two three four' -n 8 --ignore-eos -t $threads
    check "run --no-repack $(basename "$m")" ./roofcast run -m "$m" -p one -n 4 --ignore-eos -t $threads --no-repack
    check "bench $(basename "$m")" ./roofcast bench --brief -m "$m" -p 24 -n 4 -b 1,3 -r 1 --ops -t $threads --quiet
done
exit $bad
