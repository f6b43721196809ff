#!/bin/sh
# roofcast import: results of ERT, likwid-bench and clpeak become profiles; what is off in them is said, what is wrong named.
. "${top_srcdir:?}/tests/cli/lib.sh"
in=$top_srcdir/tests/hwprofile/import
hw=$top_srcdir/tests/report/cpu.json
import() { # FILE [ARGS...]: $tmp/hw.json
    f=$1
    shift
    run import "$f" -o "$tmp/hw.json" "$@"
}
# value NAME: of the ceiling of that name; and other fields of it
field() { # NAME FIELD
    awk -v want="\"name\": \"$1\"," -v key="\"$2\":" 'index($0, want) { on = 1 } on && $1 == key { sub(/.*": /, ""); sub(/,$/, ""); gsub(/"/, ""); print; exit }' "$tmp/hw.json"
}
short() { # NAME: value in four digits
    field "$1" value | awk '{ printf "%.4g", $1 }'
}
loads() { # the profile is one: listed, and drawn where gnuplot is
    run list hw >/dev/null && run analyze smollm2-360m -o json && cp "$tmp/out" "$tmp/an.json" &&
        { ! command -v gnuplot >/dev/null || run plot "$tmp/an.json" --hw "$tmp/hw.json" --format svg -o "$tmp/p"; }
}

import "$in/ert.json"
ok $? "ERT's roofline.json"
is '1723230000000 update 24 5' "$(field 'update L1 24t' value) $(field 'update L1 24t' op) $(field 'update L1 24t' n_threads) $(field 'update L1 24t' n_samples)" \
    "a roof of updates in place, by the processes times threads that reached it, of five experiments"
is '83000000000 355790000000 fp64' "$(field 'update DRAM 24t' value) $(field 'fp64 24t' value) $(field 'fp64 24t' dtype)" "memory, and the peak in double precision"
is '102400000000' "$(awk '/"memory_bandwidth"/ { getline; sub(/.*: /, ""); sub(/,/, ""); print }' "$tmp/hw.json")" "its datasheet figure stays one"
says 'calls the plateau of its largest working sets DRAM whatever serves them; they reached 1024 MiB' && says 'Not taken.*: L4'
ok $? "what it calls DRAM is said, and a fourth cache left out by name"
grep -q '"notes": "Imported from results of ert. .*half of them writes' "$tmp/hw.json"
ok $? "the profile's notes say so too"
loads
ok $? "the profile loads, and its roofs are drawn"
if command -v gnuplot >/dev/null; then
    is 'DRAM update 83.0 GB/s' "$(awk -F'\t' '$9 ~ /^DRAM/ { print $9 }' "$tmp/p.roofs.tsv")" "under what they are of"
else
    skip "under what they are of" "gnuplot is not installed"
fi
run predict smollm2-360m --stack none -q F16 --hw "$tmp/hw.json" -o csv -n 8 -p 0
is '83000000000' "$(cells bandwidth_bytes_s | head -n 1 | awk '{ printf "%.0f", $1 / 0.875 }')" "and are what a prediction takes"
import "$in/ert-gpu.json"
is '559140000000  gpu' "$(field 'update L2 1t' value) $(field 'update L1 1t' value) $(sed -n 's/^ *"kind": "\(gpu\)",/\1/p' "$tmp/hw.json")" "on a GPU the plateau called L1 is the L2"
says 'its L1 is imported as L2'
ok $? "which is said"
import "$in/ert.txt"
is '1002830000000 288330000000 68760000000' "$(field 'update L1 8t' value) $(field 'fp64 8t' value) $(field 'update DRAM 8t' value)" "ERT's text"

import "$in/likwid.txt" --hw "$hw"
ok $? "likwid-bench's output, ten runs behind one another"
is '105984180000 3 97865480000 113254000000' \
    "$(field 'read L1 1t' value) $(field 'read L1 1t' n_samples) $(field 'read L1 1t' ci_lo) $(field 'read L1 1t' ci_hi)" \
    "three runs of one loop: their median and its interval"
is '57023860000 399872 avx512 null' "$(field 'read L2 1t' value) $(field 'read L2 1t' footprint_bytes) $(field 'read L2 1t' isa) $(field 'read L2 1t' ci_lo)" \
    "a footprint is of the level that holds it; one run has no interval"
is '8808970000 43941850000' "$(field 'write-nt L3 2t' value) $(field 'fp32 avx512_fma 1t' value)" "stores past the caches; the peak in single precision"
says 'Not taken.*: triad_avx512'
ok $? "a triad of four streams is none of these"
loads
ok $? "the profile has the machine's caches, and loads"
import "$in/likwid.txt"
is ' 6' "$(field 'read L1 1t' value) $(grep -c '"x": [0-9]' "$tmp/hw.json")" \
    "without caches there are curves, no levels"
says 'name the machine.s caches'
ok $? "and how to have levels is said"
refused 2 'has no caches: use a profile' import "$in/likwid.txt" --hw h100-sxm -o "$tmp/x.json"

import "$in/clpeak.json" --device CPU
ok $? "clpeak's JSON, one device of two"
is '1928613000000 avx2_fma 135837900000 7714500000000' \
    "$(field 'fp32 avx2_fma 32t' value) $(field 'fp32 avx2_fma 32t' isa) $(field 'fp32 avx2_fma 1t' value) $(field 'int8 32t' value)" \
    "MT is every thread of the device, ST one"
is '38374100000 240876700000 1655500000000 20651700000' \
    "$(field 'read DRAM 32t' value) $(field 'read L1 1t' value) $(field 'read L3 32t' value) $(field 'copy DRAM 32t' value)" "bandwidths by level and op"
is '1.149e-09 1.119e-07' "$(short 'chase L1 1t') $(short 'chase DRAM 1t')" "latencies in seconds"
says 'Not taken.*: single_precision_divide_avx2, integer_compute_avx2_fma, crc32c_sse4_2, memory_latency DRAM x8'
ok $? "what is no roof is named"
import "$in/clpeak.json" --device cuda
is '77540000000000 149180000000000 418820000000 3.1e-06 ' \
    "$(field 'fp16 1t' value) $(field 'int8 1t' value) $(field 'read DRAM 1t' value) $(short 'dispatch 1t') $(field 'fp4 1t' value)" \
    "a GPU's; neither sparse products nor sums in half precision"
refused 2 'choose with --device TEXT), found "CPU/Some CPU 16-Cores", "CUDA/Some GPU"' import "$in/clpeak.json" -o "$tmp/x.json"
refused 2 'one device with "radeon" in its name' import "$in/clpeak.json" --device radeon -o "$tmp/x.json"
import "$in/clpeak.txt"
is '21100200000000 77540000000000 20042780000000 143890000000000 327000000000000 164680000000000' \
    "$(field 'fp32 1t' value) $(field 'fp16 1t' value) $(field 'bf16 1t' value) $(field 'fp8 1t' value) $(field 'fp4 1t' value) $(field 'int8 1t' value)" \
    "clpeak's text"
import "$in/clpeak1.txt" --name 'My CPU'
is '23750000000 601070000000 5.34e-06  My CPU' \
    "$(field 'read DRAM 8t' value) $(field 'fp32 8t' value) $(short 'dispatch 8t') $(field 'int8 8t' value) $(sed -n '0,/"name"/s/.*"name": "\(.*\)",/\1/p' "$tmp/hw.json")" \
    "the text of 1.x: the best width of each; a vector of 8 ints is no INT8; --name"

# One thing wrong at a time: the message names file, line or field, what was expected and found.
wrong() { # STATUS TEXT FILE SED-SCRIPT [ARGS...]
    st=$1 text=$2 f=$3 script=$4
    shift 4
    sed "$script" "$in/$f" >"$tmp/wrong.txt"
    ! cmp -s "$in/$f" "$tmp/wrong.txt" && refuses "$st" "$text" import "$tmp/wrong.txt" -o "$tmp/x.json" "$@"
    ok $? "refused: $text"
}
wrong 1 'wrong.txt: empirical.gbytes.data[1]: expected [name, number], found an array' ert.json 's/"L2", 1075.56/"L2", "1075.56"/'
wrong 1 'wrong.txt: empirical.gbytes.data[0]: expected L1, L2, ... or DRAM, found "HBM"' ert.json 's/"L1", 1723.23/"HBM", 1723.23/'
wrong 1 'wrong.txt: empirical.gbytes.data[0]: expected 1e+06 to 1e+24 B/s, found -1e+09' ert.json 's/"L1", 1723.23/"L1", -1/'
wrong 1 'field "empirical.gflops.data": expected an array of [name, number], found no such field' ert.json 's/"GFLOPs", 355.79/"x", 1/; s/"gflops": {$/"other": {/'
wrong 1 'wrong.txt: line 8: roof: expected one run' ert.txt 's/^  1002.83 L1 EMP/  1002.83 GFLOPs EMP/'
wrong 1 'wrong.txt: line 1: roof: expected a number and GFLOPs, L1, L2, ... or DRAM, found "many GFLOPs EMP"' ert.txt '1s/.*/   many GFLOPs EMP/'
wrong 1 'wrong.txt: line 26: MByte/s: expected a number, found "fast"' likwid.txt '26s/.*/MByte\/s:\t\tfast/'
wrong 1 'run of load_avx512: expected a line "MByte/s", found none' likwid.txt '0,/^MByte/{/^MByte/d}'
wrong 1 'Test: expected the name of a loop, found "load avx"' likwid.txt '0,/^Test: load_avx512/s//Test: load avx/'
wrong 1 'Using N threads: expected a number of threads, found "-1"' likwid.txt '0,/^Using 1 threads/s//Using -1 threads/'
wrong 1 'wrong.txt: entries[1]: field "value": expected a number, found a string' clpeak.json 's/"value":135.8379/"value":"x"/' --device CPU
wrong 1 'wrong.txt: entries[2]: float MT: expected 1e+06 to 1e+24 FLOP/s, found 0' clpeak.json 's/"value":1928.6130/"value":0/' --device CPU
wrong 1 'field "format_version"' clpeak.json 's/"format_version":2/"format_version":1/'
wrong 1 'entries[0]: float MT: expected the device'\''s number of threads' clpeak.json 's/32 threads/many threads/' --device CPU
import "$tmp/wrong.txt" --device CPU -t 32 && [ "$(field 'fp32 avx2_fma 32t' value)" = 1928613000000 ]
ok $? "-t says it instead"
wrong 1 'wrong.txt: line 7: float: expected a number, found "nan"' clpeak.txt 's/: 21100.20/: nan/'
wrong 1 'wrong.txt: line 6: MByte/s: expected 1e+06 to 1e+24 a second, found 1e+306' likwid.txt '26s/.*/MByte\/s:\t\t1e300/'
wrong 1 'wrong.txt: line 8: roof: expected a number and GFLOPs, L1, L2, ... or DRAM, found "1002,83 L1 EMP"' ert.txt 's/1002.83 L1/1002,83 L1/'
wrong 1 'expected the roof DRAM behind those of caches, found none' ert.txt '/DRAM EMP/d'
wrong 1 'wrong.txt: line 4: MPI_PROCS: expected a number of at least 1, found "four"' ert.txt '4s/4$/four/'
wrong 1 'field "MPI_PROCS": expected a number from 1 to 1048576, found another' ert.json 's/"MPI_PROCS": 4/"MPI_PROCS": "four"/'
head -c 1190 "$in/likwid.txt" >"$tmp/short" # "MByte/s: 10", of 105984.18
refused 1 'short: line 26: expected an end of the line, found the end of the file (was it cut off?)' import "$tmp/short"
printf '\357\273\277' | cat - "$in/ert.json" >"$tmp/bom"
import "$tmp/bom"
ok $? "what Windows puts before UTF-8 is passed over"
sed 's/load_avx512/stream_sp_avx512/; s/105984.18/50000.00/' "$in/likwid.txt" >"$tmp/two"
sed 's/load_avx512/stream_avx512/' "$in/likwid.txt" >>"$tmp/two"
import "$tmp/two"
is 2 "$(grep -c '"name": "triad avx512 footprint 1t' "$tmp/hw.json")" "two loops of one op keep a curve each"
sed 's/"DRAM x8"/"DRAM \\u001b[31mx8\\nerror"/' "$in/clpeak.json" >"$tmp/esc"
import "$tmp/esc" --device CPU
says 'memory_latency DRAM ?.31mx8?error' && ! grep -q "$(printf '\033')" "$tmp/err" "$tmp/hw.json"
ok $? "names in a file do not steer the terminal"
{
    sed '/"entries":\[/q' "$in/clpeak.json"
    awk 'BEGIN { for (i = 0; i < 2100; i++) printf "%s{\"backend\":\"CPU\",\"device\":\"Some CPU 16-Cores\",\"test\":\"single_precision_compute_x%d\",\"metric\":\"float MT\",\"unit\":\"gflops\",\"value\":1}", i ? "," : "", i; print "]}" }'
} >"$tmp/many.json"
refused 1 'expected at most 2000 roofs' import "$tmp/many.json" --device CPU
sed 's/single_precision_compute_x/zz/g' "$tmp/many.json" >"$tmp/skips.json"
refused 1 'no roofs here: zz0, zz1' import "$tmp/skips.json" --device CPU
printf '<?xml version="1.0"?>\n<clpeak format_version="2"></clpeak>\n' >"$tmp/c.xml"
refused 1 'c.xml: XML is not read: let clpeak write JSON (--json-file FILE)' import "$tmp/c.xml"
: >"$tmp/empty"
refused 1 'expected results of ERT (roofline.json), likwid-bench or clpeak' import "$tmp/empty"
printf 'LIKWID MICRO BENCHMARK\n\0' >"$tmp/nul"
refused 1 'expected text in ASCII or UTF-8, found a byte 0' import "$tmp/nul"
printf '{"empirical": {"gbytes": {"data": [["DRAM", 1e999]]}}}' >"$tmp/inf.json"
refused 1 'inf.json' import "$tmp/inf.json"
refused 1 'found JSON' import "$in/ert.json" --format likwid-bench
refused 1 'expected runs of likwid-bench' import "$in/ert.txt" --format likwid-bench
refused 1 'field "empirical.gbytes.data"' import "$in/clpeak.json" --format ert
refused 1 'field "format_version"' import "$in/ert.json" --format clpeak
refused 2 'expected ert, likwid-bench, clpeak or auto, found "stream"' import "$in/ert.json" --format stream
refused 2 'expected a FILE written by ERT' import
refused 1 'No such file' import "$tmp/absent"
cp "$in/ert.json" "$tmp/same.json"
refused 2 'same.json' import "$tmp/same.json" -o "$tmp/same.json"
finish
