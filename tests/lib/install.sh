#!/bin/sh
# The library as `make install` leaves it: what it exports and what it asks of the system; the programs of examples/, built with cc and
# pkg-config from that prefix alone, print what the program prints.
. "${top_srcdir:?}/tests/cli/lib.sh"
if ! grep -q '^LIB_FILE *=' "$(dirname "$ROOFCAST")/Makefile"; then
    echo "1..0 # SKIP configured without the library (sanitizers, fuzzers, coverage, --disable-library)"
    exit 0
fi
MAKEFLAGS= make -s -C "$(dirname "$ROOFCAST")" install-data DESTDIR="$tmp/root" >"$tmp/out" 2>"$tmp/err"
ok $? "make install-data"
pc=$(find "$tmp/root" -name roofcast.pc)
libdir=$(dirname "$(dirname "${pc:-/nonexistent/pkgconfig/x}")")
[ -f "$libdir/libroofcast.a" ] && [ -f "$libdir/libroofcast.so" ] && [ -f "$libdir/libroofcast.so.0" ]
ok $? "libroofcast.a, .so, .so.0 and roofcast.pc are installed"
include=$(dirname "$(find "$tmp/root" -path '*/roofcast/model.h')")

# Names: the functions of the headers, and no others, of either library.
sed -n 's/^ROOFCAST_API .*[ *]\(roofcast_[a-z_]*\)(.*/\1/p' "$include"/*.h | sort >"$tmp/declared"
nm -D --defined-only "$libdir/libroofcast.so" | awk '{ print $3 }' | sort >"$tmp/shared"
nm -g --defined-only "$libdir/libroofcast.a" | awk 'NF == 3 { print $3 }' | sort >"$tmp/static"
[ "$(wc -l <"$tmp/declared")" -gt 40 ] && diff "$tmp/declared" "$tmp/shared" >"$tmp/out"
ok $? "the shared library exports what the headers declare, and nothing else"
diff "$tmp/declared" "$tmp/static" >"$tmp/out"
ok $? "so does the static one"
nm -D --undefined-only "$libdir/libroofcast.so" | awk '{ sub(/@.*/, "", $2); print $2 }' |
    grep -x '_\{0,1\}exit\|_Exit\|quick_exit\|abort\|setenv\|putenv\|signal\|sigaction\|stderr\|puts\|putchar\|\(__\)\{0,1\}v\{0,1\}printf\(_chk\)\{0,1\}' >"$tmp/out"
[ ! -s "$tmp/out" ]
ok $? "nothing in it ends the process, prints, sets the environment or handles signals"
if command -v readelf >/dev/null; then
    readelf -d "$libdir/libroofcast.so" >"$tmp/out"
    has 'SONAME.*\[libroofcast\.so\.0\]' && ! has TEXTREL
    ok $? "soname libroofcast.so.0, no text relocations"
fi

if ! command -v pkg-config >/dev/null || ! command -v "${CC:-cc}" >/dev/null; then
    skip "examples" "no pkg-config or no cc"
    finish
fi
PKG_CONFIG_PATH=$(dirname "$pc")${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH} PKG_CONFIG_SYSROOT_DIR=$tmp/root LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR LD_LIBRARY_PATH
ROOFCAST_DATA=$(dirname "$(find "$tmp/root" -path '*/roofcast/models' -type d)")
export ROOFCAST_DATA
flags=$(pkg-config --cflags --libs roofcast)
ok $? "pkg-config finds it"
for e in predict ops decode simulate; do
    # shellcheck disable=SC2086
    "${CC:-cc}" -std=c11 -Wall -Wextra -Werror "$top_srcdir/examples/$e.c" $flags -o "$tmp/$e" 2>"$tmp/err"
    ok $? "examples/$e.c builds"
    [ "$(wc -l <"$top_srcdir/examples/$e.c")" -lt 60 ]
    ok $? "and has fewer than 60 lines"
done

run predict llama-3.1-8b -q Q4_K_M --hw rtx-4090 -p 1024 -o csv
for column in tok_s tok_s_lo tok_s_hi; do cells $column; done | awk '{ printf "%.1f\n", $1 }' >"$tmp/want"
"$tmp/predict" >"$tmp/predicted" 2>"$tmp/err"
awk '/tokens\/s/ { sub(/\),/, "", $8); a = a $2 "\n"; b = b $6 "\n"; c = c $8 "\n" } END { printf "%s%s%s", a, b, c }' "$tmp/predicted" | diff - "$tmp/want" >"$tmp/out"
ok $? "the first example predicts what the program predicts"
run analyze qwen3-0.6b -q Q8_0 -p 0 -n 1 -d 1024 -o csv
want=$(cells flop phase=decode | sum %.0f)
"$tmp/ops" >"$tmp/out" 2>"$tmp/err"
is "$want" "$(awk '/ layers: / { print $(NF - 1) }' "$tmp/out")" "the second one counts the FLOP that the program counts"
m=$top_srcdir/tests/fixtures/llama-2l.gguf
"$ROOFCAST" run -m "$m" -p 'one two' -n 12 --ignore-eos >"$tmp/want" 2>/dev/null
"$tmp/decode" "$m" 'one two' 12 >"$tmp/out" 2>"$tmp/err"
status=$?
[ $status -eq 0 ] && has 'kernels$' && sed '1d; 2s/^one two//' "$tmp/out" | diff - "$tmp/want" >"$tmp/err"
ok $? "the third one generates the program's text"
"$tmp/predict" no-such-model >"$tmp/out" 2>"$tmp/err"
[ $? -eq 1 ] && [ ! -s "$tmp/out" ] && says '^predict: input: .*no-such-model'
ok $? "an error is a message of the caller's"

"$tmp/simulate" >"$tmp/simulated" 2>"$tmp/err"
run capacity llama-3.1-8b -q BF16 --hw h100-sxm --slo p99:ttft=1s,itl=50ms --requests 1000 -o csv # as many as the library makes
for column in rate rate_90 rate_10; do cells $column; done | awk '{ printf "%.2f ", $1 } END { print "" }' >"$tmp/want"
sed -n 's/^highest rate within [^ ]* \([0-9.]*\) requests.* 0.9 \([0-9.]*\), 0.1 \([0-9.]*\)$/\1 \2 \3 /p' "$tmp/simulated" | diff - "$tmp/want" >"$tmp/out"
ok $? "the fourth one finds the rate that the program finds"
[ "$(grep -c ' stable$' "$tmp/simulated")" -ge 4 ] && grep -q '^ *64 .* saturated$' "$tmp/simulated"
ok $? "and where the server no longer keeps up"

# Static: the archive and what roofcast.pc says it needs.
# shellcheck disable=SC2046
"${CC:-cc}" -I"$(dirname "$include")" "$top_srcdir/examples/ops.c" "$libdir/libroofcast.a" \
    $(PKG_CONFIG_SYSROOT_DIR='' pkg-config --libs $(sed -n 's/^Requires.private: //p' "$pc")) $(sed -n 's/^Libs.private: //p' "$pc") -o "$tmp/static" 2>"$tmp/err" &&
    "$tmp/static" >"$tmp/static.out" 2>"$tmp/err" && "$tmp/ops" | diff - "$tmp/static.out" >"$tmp/out"
ok $? "with libroofcast.a it says the same"
if command -v c++ >/dev/null; then
    echo '#include <roofcast/roofcast.h>' >"$tmp/x.cc"
    c++ -Wall -Wextra -Werror -I"$(dirname "$include")" -fsyntax-only "$tmp/x.cc" 2>"$tmp/err"
    ok $? "the headers are C++ too"
fi
if command -v python3 >/dev/null; then
    python3 "$top_srcdir/examples/sweep.py" >"$tmp/python" 2>"$tmp/err"
    ok $? "Python calls it by ctypes"
    run predict llama-3.1-8b --hw h100-sxm -p 0 -b 1,4,16,64 -o csv
    cells tok_s | awk '{ printf "%.1f\n", $1 }' >"$tmp/want"
    sed 1d "$tmp/python" | cut -d, -f2 | diff - "$tmp/want" >"$tmp/out"
    ok $? "and gets the program's numbers"
    run simulate llama-3.1-8b -q BF16 --hw h100-sxm --rate 8 --draws 0 -o csv
    for figure in ttft_p99 itl_p99 output_throughput; do cells value figure=$figure; done | awk '{ printf "%.6g\n", $1 }' >"$tmp/want"
    python3 "$top_srcdir/examples/simulate.py" 8 >"$tmp/python" 2>"$tmp/err"
    ok $? "Python simulates by ctypes"
    sed -n 2p "$tmp/python" | cut -d, -f2-4 | tr , '\n' | diff - "$tmp/want" >"$tmp/out"
    ok $? "and gets the program's numbers"
else
    skip "ctypes" "no python3"
fi
finish
