#!/bin/sh
# roofcast plot: every kind of document becomes a chart whose labels keep apart, and hostile names and files do no harm.
if ! command -v gnuplot >/dev/null; then
    echo "1..0 # SKIP gnuplot is not installed (Debian: apt-get install gnuplot-nox)"
    exit 0
fi
. "${top_srcdir:?}/tests/cli/lib.sh"
fixtures=$top_srcdir/tests/report
check_svg=$(dirname "$ROOFCAST")/tests/report/check_svg
# All five files are there, the pictures whole, the labels apart.
whole() { # BASE
    for e in tsv roofs.tsv gp svg png; do
        [ -s "$1.$e" ] || { echo "no $1.$e" >>"$tmp/err"; return 1; }
    done
    "$check_svg" "$1.svg" >>"$tmp/err"
}
chart() { # NAME BASE ARGS...
    name=$1 base=$2
    shift 2
    run plot "$@" -o "$base" && whole "$base"
    ok $? "$name"
}
cpu=$fixtures/cpu.json
chart "a run under its machine's roofs" "$tmp/run" "$fixtures/run.json" --hw "$cpu"
grep -q 'tg128, DRAM counters' "$tmp/run.svg" && grep -q 'tg128, all ops' "$tmp/run.svg" &&
    grep -q 'DRAM read 84.2 GB/s' "$tmp/run.svg" && grep -q 'INT8 avx512vnni 6.22 TOP/s' "$tmp/run.svg"
ok $? "it shows both byte counts of decode, and roofs with their numbers"
awk -F'\t' '$1 == "ridge" && $2 > 73.8 && $2 < 73.9 { found = 1 } END { exit !found }' "$tmp/run.roofs.tsv"
ok $? "the ridge of DRAM and INT8 stands at 6217.5 / 84.2 = 73.84 FLOP/byte"
# ---- points above their roofs: drawn where they are, with a cause
run plot "$fixtures/run.json" --hw "$cpu" -o "$tmp/run" && has 'above the roof: .* embed, MBU: .* of 84.2 GB/s; cache reuse: ' && ! has 'above the roof: tg128,'
ok $? "an op from the cache above memory's roof: cache reuse"
sed 's/"bytes_s": 68568200000.0/"bytes_s": 92000000000, "roof_moved": 0.3/' "$fixtures/run.json" >"$tmp/above.json"
run plot "$tmp/above.json" -o "$tmp/above" && has 'above the roof: tg128, MBU: 92.0 GB/s of 84.2 GB/s; roof moved: .* 30 %'
ok $? "a roof that moved"
sed 's/"bytes_s": 68568200000.0/"bytes_s": 92000000000, "cache_bytes": 1e9/' "$fixtures/run.json" >"$tmp/above.json"
run plot "$tmp/above.json" -o "$tmp/above" && has 'above the roof: tg128, MBU: .*cache reuse: '
ok $? "a model that the last cache holds"
sed 's/"bytes_s": 68568200000.0/"bytes_s": 68568200000.0, "profile_bytes_s": 60e9/' "$fixtures/run.json" >"$tmp/above.json"
run plot "$tmp/above.json" -o "$tmp/above" && has 'above the roof: tg128, MBU profile: .*stale profile: .* 140 %'
ok $? "a stale profile"
run plot "$fixtures/run.json" --hw "$cpu" --phase decode -o "$tmp/dec" &&
    ! grep -q prefill "$tmp/dec.tsv" && whole "$tmp/dec"
ok $? "--phase decode leaves prefill out"
awk -F'\t' '$9 == "ffn_gate" && $8 == "decode" { ai = $1 } END { exit !(ai > 1.8 && ai < 1.89) }' "$tmp/dec.tsv"
ok $? "a Q8_0 product in decode has 2 FLOP / 1.0625 bytes, less its activations"
chart "a point an op" "$tmp/op" "$fixtures/run.json" --hw "$cpu" --by op
grep -q 'ffn_down\.2$' "$tmp/op.tsv"
ok $? "ops carry their layer"
chart "a run alone, under the roofs of its adjacent probes" "$tmp/alone" "$fixtures/run.json"
chart "every roof" "$tmp/all" "$fixtures/run.json" --hw "$cpu" --all-roofs
grep -q 'DRAM read, 2 threads 31.5 GB/s' "$tmp/all.svg"
ok $? "with its number of threads"
chart "a profile alone" "$tmp/hw" "$cpu"
chart "a machine known by its datasheet" "$tmp/h100" "$top_srcdir/hwprofiles/h100-sxm.json"

run analyze llama-3-8b -o json
cp "$tmp/out" "$tmp/an.json"
refused 2 'with --hw' plot "$tmp/an.json" -o "$tmp/an"
chart "an analysis on an H100" "$tmp/an" "$tmp/an.json" --hw h100-sxm
awk -F'\t' '$8 == "decode" && $9 == "ffn_gate" { exit !($2 / $1 / 3.35e12 > 0.999 && $2 / $1 / 3.35e12 < 1.001 && $4 == 1) }' "$tmp/an.tsv"
ok $? "its decode lies on the memory roof, hollow"
run predict llama-3-8b --hw h100-sxm,rtx-4090 -o json
cp "$tmp/out" "$tmp/pr.json"
chart "a prediction" "$tmp/pr" "$tmp/pr.json"
has 'other machines too'
ok $? "says that the file has other machines"
chart "another machine of it" "$tmp/pr2" "$tmp/pr.json" --hw rtx-4090
grep -q 'RTX 4090' "$tmp/pr2.svg"
ok $? "is in the title"
run predict llama-3-8b -q Q4_K_M --hw rtx-4090 -o json && sed 's/rtx-4090/nowhere-1/g' "$tmp/out" >"$tmp/nowhere.json"
chart "a machine whose profile is not here" "$tmp/pr4" "$tmp/nowhere.json"
is "$(jq '[.rows[].peak_flop_s] | max' "$tmp/nowhere.json" | awk '{ printf "%.4g", $1 }')" \
    "$(awk -F'\t' '$1 == "compute" { printf "%.4g", $2 }' "$tmp/pr4.roofs.tsv")" "its roof is the highest that a phase reaches"
run predict llama-3-8b --hw h100-sxm -n 8 -b 1,4,16 -d 0,4096 -o json
cp "$tmp/out" "$tmp/batches.json"
chart "a trajectory: a point a test" "$tmp/tr" "$tmp/batches.json" --trajectory
is "6 6 8" "$(grep -c "	decode	tg8" "$tmp/tr.tsv") $(grep -c "	prefill	pp512" "$tmp/tr.tsv") $(grep -c '^set arrow .* lw 1.4 ' "$tmp/tr.gp")" \
    "two lines of three points each phase, one a depth"
awk -F'\t' '$8 == "decode" && $9 !~ /@/ { if ($1 <= last) bad = 1; last = $1; n++ } END { exit bad || n != 3 }' "$tmp/tr.tsv"
ok $? "in the order of the file: more sequences, more FLOP a byte"
refused 2 '--trajectory is for predictions' plot "$fixtures/run.json" --trajectory -o "$tmp/no"
run predict llama-3-8b --hw h100-sxm --what-if b=8 --request 6+3 -p 512 -n 8 -o json
cp "$tmp/out" "$tmp/changed.json"
chart "a prediction with requests and changes" "$tmp/ch" "$tmp/changed.json"
! grep -q 'x8\|req' "$tmp/ch.svg"
ok $? "draws neither"
run predict llama-3-8b --hw h100-sxm --by role -o json
cp "$tmp/out" "$tmp/roles.json"
refused 2 'no whole phases' plot "$tmp/roles.json" --trajectory -o "$tmp/no"
chart "a prediction, a row a role" "$tmp/pr3" "$tmp/roles.json"
cmp -s "$tmp/pr3.tsv" "$tmp/pr.tsv"
ok $? "puts the same points"

# The peaks that a model's arithmetic uses, and no others.
peaks() { # BASE: labels of the level roofs, a bold one with *
    awk -F'\t' '$1 == "compute" { print ($7 ? "*" : "") $9 }' "$1.roofs.tsv" | tr '\n' ';'
}
run predict llama-3-8b --hw h100-sxm -q F16 -o json
cp "$tmp/out" "$tmp/h.json"
chart "a prediction in F16" "$tmp/f16" "$tmp/h.json"
is '*FP16 989 TFLOP/s;' "$(peaks "$tmp/f16")" "is under the FP16 roof alone"
run analyze llama-3-8b -q BF16 -o json
cp "$tmp/out" "$tmp/bf16.json"
chart "an analysis in BF16" "$tmp/bf16" "$tmp/bf16.json" --hw h100-sxm
is '*FP16, BF16 989 TFLOP/s;' "$(peaks "$tmp/bf16")" "is under the roofs of its products and of attention"
run analyze llama-3-8b -q Q8_0 -o json
cp "$tmp/out" "$tmp/q8.json"
run plot "$tmp/q8.json" --hw "$cpu" -o "$tmp/an_cpu"
peaks "$tmp/an_cpu" | grep -q '\*INT8' && peaks "$tmp/an_cpu" | grep -q ';FP32\|^FP32'
ok $? "quantized products on a CPU are under INT8, attention under FP32"
is '*INT8 avx512vnni 6.22 TOP/s;' "$(peaks "$tmp/run")" "a run is under the roof of its adjacent probe"
run plot "$tmp/h.json" --all-roofs -o "$tmp/f16all" && peaks "$tmp/f16all" | grep -q FP8
ok $? "--all-roofs shows the others"

chart "a name with quotes and spaces" "$tmp/it's a \"chart\"" "$cpu"
cp "$tmp/it's a \"chart\".png" "$tmp/before.png"
(cd "$tmp" && rm "it's a \"chart\".png" && gnuplot "it's a \"chart\".gp") >"$tmp/out" 2>"$tmp/err" &&
    cmp -s "$tmp/before.png" "$tmp/it's a \"chart\".png"
ok $? "gnuplot NAME.gp in its directory draws the same picture again"
run plot "$cpu" --title "$(printf 'a\001b\377c')" --format svg -o "$tmp/bytes" && grep -q 'aria-label="a b?c">$' "$tmp/bytes.svg" && grep -q '^<title>a b?c</title>$' "$tmp/bytes.svg"
ok $? "a title with bytes that XML does not have"
mkdir "$tmp/~" && (cd "$tmp" && run plot "$cpu" -o '~/x') && whole "$tmp/~/x"
ok $? "a directory called ~"
(cd "$tmp" && run plot "$cpu" -o '|touch pwned') && [ ! -e "$tmp/pwned" ] && whole "$tmp/|touch pwned"
ok $? "a name that starts with | is no command"
(cd "$tmp" && run plot "$cpu" --output=-x) && whole "$tmp/-x"
ok $? "a name that starts with -"

refused 2 'expected a run, an analysis' plot -o "$tmp/x"
refused 1 'absent.json: no such file' plot "$tmp/absent.json" -o "$tmp/x"
echo '{"schema": "roofcast.list", "version": 1}' >"$tmp/list.json"
refused 1 'expected a run' plot "$tmp/list.json" -o "$tmp/x"
echo '{"schema": "roofcast.run", "version": 1, "rows": 3}' >"$tmp/bad.json"
refused 1 'field "rows"' plot "$tmp/bad.json" -o "$tmp/x"
echo '[1, 2' >"$tmp/cut.json"
refused 1 'cut.json' plot "$tmp/cut.json" -o "$tmp/x"
# One thing damaged at a time: the message names the file, the place, the field, what was found.
damaged() { # PLACE-AND-FIELD SED-SCRIPT [FILE [MACHINE]]
    sed "$2" "${3:-$fixtures/run.json}" >"$tmp/damaged.json"
    if cmp -s "$tmp/damaged.json" "${3:-$fixtures/run.json}"; then
        echo "sed found nothing to damage" >"$tmp/err"
        false
    else
        refuses 1 "damaged.json: $1" plot "$tmp/damaged.json" --hw "${4:-$cpu}" -o "$tmp/x"
    fi
    ok $? "refused when damaged: $1"
}
first() { # TEXT REPLACEMENT: of the first line that has it, in ops; GNU or not
    echo "/\"ops\"/,\$ { /$1/ { s/$1/$2/; :rest
n
b rest
} }"
}
damaged 'field "ops": expected an array' 's/"ops": \[/"ops": "x", "was": [/'
damaged 'ops[0]: field "ai": expected a number, found a string' "$(first '"ai": [0-9.e+-]*' '"ai": "x"')"
damaged 'ops[0]: field "layer": expected a whole number' "$(first '"layer": -1' '"layer": 1.5')"
damaged 'ops[0]: field "phase": expected "prefill" or "decode", found "zz"' "$(first '"phase": "prefill"' '"phase": "zz"')"
damaged 'ops[0]: field "seconds": expected more than 0, found -1' "$(first '"seconds": [0-9.e+-]*' '"seconds": -1')"
damaged 'ops[0]: field "seconds": expected more than 0, found 0' "$(first '"seconds": [0-9.e+-]*' '"seconds": 0')"
damaged 'ceilings[0]: field "value": expected more than 0, found -8.42e+10' 's/"value": 84200000000/"value": -84200000000/'
damaged 'ceilings[0]: field "value"' 's/"value": 84200000000/"value": null/'
damaged 'ceilings[0]: field "value": expected at most 1e+24, found 1e+300' 's/"value": 84200000000/"value": 1e300/'
damaged 'field "provenance" is missing' 's/"provenance"/"origin"/'
damaged 'rows[0]: field "test" is missing' 's/"test": "pp512"/"trial": "pp512"/'
sed 's/"roofcast.run"/"roofcast.bench"/' "$fixtures/run.json" >"$tmp/bench.json"
chart "the output of bench" "$tmp/bench" "$tmp/bench.json" --hw "$cpu"
cmp -s "$tmp/bench.tsv" "$tmp/run.tsv"
ok $? "puts the same points"
damaged 'rows[0]: field "test" is missing' 's/"test": "pp512"/"trial": "pp512"/' "$tmp/bench.json"
damaged 'rows[0]: field "phase": expected "prefill" or "decode", found "zz"' 's/"phase": "prefill"/"phase": "zz"/' "$tmp/an.json"
damaged 'rows[0]: field "flop": expected a number, found a string' '/"rows": \[$/,$ s/"flop": [0-9]*/"flop": "x"/' "$tmp/an.json"
damaged 'rows[0]: field "act_bytes": expected 0 to 1e+24, found -1' '/"rows": \[$/,$ s/"act_bytes": [0-9]*/"act_bytes": -1/' "$tmp/an.json"
damaged 'rows[0]: field "seconds": expected more than 0, found 0' 's/"seconds": [0-9.e+-]*/"seconds": 0/' "$tmp/pr.json"
damaged 'rows[0]: field "test" is missing' 's/"test"/"trial"/' "$tmp/pr.json"
damaged 'rows[0]: field "math": expected an arithmetic' 's/"math": "fp16"/"math": "fp99"/' "$tmp/h.json" h100-sxm
refused 2 'no test "pp99" in it; it has pp512, tg128' plot "$fixtures/run.json" --test pp99 -o "$tmp/x"
refused 2 'no test "pp99" in it; it has pp512, tg128' plot "$tmp/pr.json" --test pp99 -o "$tmp/x"
refused 2 'no decode test "pp512" in it' plot "$fixtures/run.json" --test pp512 --phase decode -o "$tmp/x"
refused 2 '--test is for runs' plot "$tmp/an.json" --hw h100-sxm --test pp512 -o "$tmp/x"
refused 2 'prefill, decode or both, found "foo"' plot "$fixtures/run.json" --phase foo
refused 2 '"nonsense"' plot "$fixtures/run.json" --by nonsense
refused 3 'roofcast profile' plot "$fixtures/run.json" --hw this -o "$tmp/x"
refused 1 'cannot write' plot "$cpu" -o "$tmp/no/such/dir/x"

# What is drawn without a document: a machine by its name, this machine, a model; results of other engines.
run plot h100-sxm -o "$tmp/name" && grep -q 'FP16, BF16 989 TFLOP/s' "$tmp/name.roofs.tsv" && grep -q 'memory 3.35 TB/s' "$tmp/name.roofs.tsv"
ok $? "a machine by its name"
cp "$cpu" "$ROOFCAST_PROFILE" && run plot this -o "$tmp/this" && run plot "$cpu" -o "$tmp/file" && cmp -s "$tmp/this.roofs.tsv" "$tmp/file.roofs.tsv"
ok $? "this: the stored profile"
rm -f "$ROOFCAST_PROFILE"
run plot llama-3-8b --hw h100-sxm -q Q4_K_M -o "$tmp/model" && grep -q 'attn_q' "$tmp/model.tsv" && grep -q 'constants of llama.cpp-cuda' "$tmp/model.gp"
ok $? "a model, predicted; the subtitle names the constants"
run predict llama-3-8b --hw h100-sxm,rtx-4090 -q Q4_K_M -o json && cp "$tmp/out" "$tmp/two.json" && run plot "$tmp/two.json" --hw h100-sxm,rtx-4090 -o "$tmp/two" &&
    run plot llama-3-8b -q Q4_K_M --hw h100-sxm,rtx-4090 -o "$tmp/same" && cmp -s "$tmp/two.tsv" "$tmp/same.tsv" && cmp -s "$tmp/two.roofs.tsv" "$tmp/same.roofs.tsv" &&
    grep -q 'h100-sxm tg128' "$tmp/two.tsv" && grep -q 'rtx-4090 pp512' "$tmp/two.tsv" && grep -q 'rtx-4090 memory 1.01 TB/s' "$tmp/two.roofs.tsv" && ! has 'other machines'
ok $? "several machines on one chart, of a prediction and of a model"
"$check_svg" "$tmp/two.svg"
ok $? "its labels stand clear of one another"
refused 2 'several machines need a prediction or a model' plot "$fixtures/run.json" --hw h100-sxm,rtx-4090 -o "$tmp/x"
printf '%s' '[{"model_type":"llama 8B Q4_0","model_size":4653375488,"model_n_params":8030261248,"n_gpu_layers":99,"gpu_info":"NVIDIA GeForce RTX 4090",
"backends":"CUDA","n_prompt":512,"n_gen":0,"avg_ts":12000.0},{"model_type":"llama 8B Q4_0","model_size":4653375488,"model_n_params":8030261248,
"n_gpu_layers":99,"gpu_info":"NVIDIA GeForce RTX 4090","backends":"CUDA","n_prompt":0,"n_gen":128,"avg_ts":160.0}]' >"$tmp/llama-bench.json"
run plot "$tmp/llama-bench.json" -o "$tmp/lb" && run report "$tmp/llama-bench.json" --chart "$tmp/rep" && cmp -s "$tmp/lb.svg" "$tmp/rep.svg" && grep -q 'tg128' "$tmp/lb.tsv"
ok $? "llama-bench's results, as report --chart draws them"
grep -q 'memory 1.01 TB/s' "$tmp/lb.roofs.tsv" && grep -q 'FLOP/s' "$tmp/lb.roofs.tsv"
ok $? "its roofs carry values"
refused 1 'no file and no model called "nosuch"' plot nosuch -o "$tmp/x"
mkdir "$tmp/bin"
PATH=$tmp/bin "$ROOFCAST" plot "$cpu" -o "$tmp/none" >"$tmp/out" 2>"$tmp/err"
[ $? -eq 3 ] && says 'gnuplot was not found' && [ -s "$tmp/none.gp" ] && [ -s "$tmp/none.tsv" ] && [ ! -e "$tmp/none.svg" ]
ok $? "without gnuplot the data and the script are written"

# The checker itself sees what it is for.
sed 's/translate([0-9.]*,[0-9.]*)\(.*font-size\)/translate(500,300)\1/' "$tmp/run.svg" >"$tmp/heap.svg"
"$check_svg" "$tmp/heap.svg" >"$tmp/out" 2>"$tmp/err"
[ $? -eq 1 ] && has 'texts overlap'
ok $? "check_svg sees texts on one another"
sed 's/translate([0-9.]*,[0-9.]*) scale/translate(560,98) scale/; s/translate([0-9.]*,[0-9.]*)\(.*font-size="18\)/translate(540,100)\1/' "$tmp/run.svg" >"$tmp/mark.svg"
"$check_svg" "$tmp/mark.svg" >"$tmp/out" 2>"$tmp/err"
[ $? -eq 1 ] && has 'text on a marker'
ok $? "check_svg sees a text on a marker"
sed 's/translate([0-9.]*,[0-9.]*)\(.*font-size="18\)/translate(1000,30)\1/' "$tmp/run.svg" >"$tmp/off.svg"
"$check_svg" "$tmp/off.svg" >"$tmp/out" 2>"$tmp/err"
[ $? -eq 1 ] && has 'leaves the canvas'
ok $? "check_svg sees a text that leaves the canvas"
finish
