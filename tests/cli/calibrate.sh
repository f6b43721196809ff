#!/bin/sh
# roofcast calibrate and the fitted time model of roofcast score: constants are found again, what is left out has no say.
. "${top_srcdir:?}/tests/cli/lib.sh"

# Machines of 1000, 500, ... GB/s that decode Llama-3-8B at four fifths of their bandwidth.
printf 'hardware,class,mem_bw_gbs_per_device,fp32_tflops,fp16_bf16_tflops_dense,int8_tops_dense,fp8_tflops_dense,spec_source,comment,rows\n' >"$tmp/hw.csv"
printf 'id,source,hardware,n_devices,engine,model,params_b,quant,weight_gib,phase,prompt_len,context_len,batch,tokens_per_s,date_or_build,notes\n' >"$tmp/rows.csv"
dev=0
for bw in 1000 500 250 2000 800; do
    dev=$((dev + 1))
    echo "Test GPU $dev,consumer GPU,$bw,40,160,320,,made up,,6" >>"$tmp/hw.csv"
    for model in Llama-3-8B:8.03:F16:14.96:13.98 Llama-3-8B:8.03:Q8_0:7.95:7.43 Llama-2-7B:6.74:F16:12.55:12.31; do
        echo "$dev:$bw:$model" | awk -F: '{ printf "t-%d%s%s,made up,Test GPU %d,1,vLLM 0.9,%s,%s,%s,%s,decode,0,64,1,%.2f,2025-06,tags=\n",
            $1, $3, $5, $1, $3, $4, $5, $6, 1 / ($7 * 1073741824 / ($2 * 1e9 * 0.8) + 0.0005) }' >>"$tmp/rows.csv"
    done
done
export ROOFCAST_DATA="$tmp/data"
mkdir -p "$tmp/data"
cp -r "$top_srcdir/models" "$tmp/data/models"
mkdir "$tmp/data/hwprofiles"
cp -r "$top_srcdir/hwprofiles/classes.json" "$top_srcdir/hwprofiles/priors" "$tmp/data/hwprofiles/"
mkdir "$tmp/data/hwprofiles/stacks" # no constants but our own
cp "$top_srcdir/hwprofiles/stacks/priors.json" "$top_srcdir/hwprofiles/stacks/rules.json" "$top_srcdir/hwprofiles/stacks/servers.json" "$tmp/data/hwprofiles/stacks/"
echo '{"schema": "roofcast.constants", "version": 1, "fits": {}}' >"$tmp/data/hwprofiles/stacks/constants.json"
base=$tmp/data/hwprofiles/stacks/constants_base.json
cp "$tmp/data/hwprofiles/stacks/constants.json" "$base"

run calibrate "$tmp/rows.csv" --hardware "$tmp/hw.csv" -o "$tmp/constants.json"
ok $? "calibrate reads rates"
jq -e '.schema == "roofcast.constants" and .fits.rate.n_rows == 15' "$tmp/constants.json" >/dev/null
ok $? "it counts its rows"
# The product of the effects of a row of the class: the fraction of the bandwidth that was put in.
jq -e '[.fits.rate.constants[] | select(.name | test("^bandwidth($| class| stack)")) | .value] | reduce .[] as $x (1; . * $x)
    | . > 0.72 and . < 0.9' "$tmp/constants.json" >/dev/null
ok $? "four fifths of the bandwidth are found again"
jq -e '[.fits.rate.constants[].spread] | all(. > 1)' "$tmp/constants.json" >/dev/null
ok $? "every constant has a spread"

for kind in op:gpu_ops:4 collective:all_reduce:3; do
    name=${kind#*:}
    run calibrate "$top_srcdir/tests/fixtures/measure/${name%:*}.csv" -o "$tmp/few.json"
    is "${name#*:}" "$(jq ".fits.${kind%%:*}.n_rows" "$tmp/few.json")" "of a few sizes every one counts: ${name%:*}"
done

jq -e '[.fits.decode.intervals[] | select(.name | test("^interval novelty=machine side=(slower|faster)$")) | .n_rows] | add == 15' "$tmp/constants.json" >/dev/null
ok $? "every row was left out with its machine"
jq -e '.fits.rate.n_rows == 15 and (.fits.rate.intervals // []) == []' "$tmp/constants.json" >/dev/null
ok $? "but where another fit predicts it"
# One machine of five is a third as fast: what it lacks is beyond the slow end.
awk -F, -v OFS=, '$3 == "Test GPU 5" { $14 /= 3 } { print }' "$tmp/rows.csv" >"$tmp/lame.csv"
run calibrate "$tmp/lame.csv" --hardware "$tmp/hw.csv" -o "$tmp/lame.json" &&
    jq -e '[.fits.decode.intervals[] | select(.name | test("^interval novelty=machine side=")) | { (.name[30:]): .value }] | add | .slower > .faster' "$tmp/lame.json" >/dev/null
ok $? "rows slower than predicted widen the slow side"
jq -e '[.fits.decode.constants[].name] | any(test("^bandwidth hardware=")) and all(test(" publication=") | not)' "$tmp/constants.json" >/dev/null
ok $? "what a publication's rows have in common is no constant: predictions are of others"
run calibrate "$tmp/rows.csv" --hardware "$tmp/hw.csv" --cross-validate=json && "${VALIDATE:-tests/run/validate}" "$top_srcdir/doc/formats.md" roofcast.folds "$tmp/out" >"$tmp/err" 2>&1
ok $? "--cross-validate prints instead how rows left out are predicted"
is "decode hardware 15, decode hardware, anchored 10, decode source 15, decode work 15" \
    "$(jq -r '[.rows[] | select(.fit == "decode") | "\(.fit) \(.left_out) \(.rows)"] | sort | join(", ")' "$tmp/out")" "one by one where one published all, by machine, and by model; there is one design and one engine"
jq -e '.rows[] | select(.fit == "decode" and .left_out == "hardware") | .median_ape < 0.1 and .mean_ln < 0.1 and .coverage90 >= 0.8 and .coverage90 <= 1' "$tmp/out" >/dev/null
ok $? "machines alike are predicted by each other"
run calibrate "$tmp/rows.csv" --hardware "$tmp/hw.csv" --cross-validate && has '^decode  hardware  '
ok $? "as a table"
refused 2 '--cross-validate: expected table, csv, json, jsonl, md or sql, found "odd"' calibrate "$tmp/rows.csv" --cross-validate=odd
refused 2 '-o is the file of constants, and --cross-validate writes none' calibrate "$tmp/rows.csv" --cross-validate -o "$tmp/none.json"

group() { jq -r --arg g "$2" --arg k "$3" '.groups[] | select(.group == $g) | .[$k]' "$1"; }
run score "$tmp/rows.csv" --hardware "$tmp/hw.csv" --leave-out hardware -o json && cp "$tmp/out" "$tmp/left.json"
ok $? "score refits without each machine"
awk "BEGIN { exit !($(group "$tmp/left.json" all mape) < 0.1) }"
ok $? "a machine left out is predicted within 10 % ($(group "$tmp/left.json" all mape))"

# One machine's rows times 3: its own left-out predictions do not move.
awk -F, -v OFS=, '$3 == "Test GPU 2" { $14 *= 3 } { print }' "$tmp/rows.csv" >"$tmp/rows3.csv"
run score "$tmp/rows3.csv" --hardware "$tmp/hw.csv" --leave-out hardware -o json && cp "$tmp/out" "$tmp/left3.json"
mape() { group "$1" "hardware=Test GPU 2" bias; }
awk "BEGIN { a = 1 + $(mape "$tmp/left.json"); b = 1 + $(mape "$tmp/left3.json"); exit !(a / b > 2.999 && a / b < 3.001) }"
ok $? "what is left out has no say in its own prediction"

cp "$tmp/constants.json" "$tmp/data/hwprofiles/stacks/constants.json"
run score "$tmp/rows3.csv" --hardware "$tmp/hw.csv" --leave-out hardware -o json && cp "$tmp/out" "$tmp/left4.json"
awk "BEGIN { a = 1 + $(mape "$tmp/left3.json"); b = 1 + $(mape "$tmp/left4.json"); exit !(a / b > 0.999 && a / b < 1.001) }"
ok $? "nor have constants that its rows made"
run score "$tmp/rows.csv" --hardware "$tmp/hw.csv" -o json && awk "BEGIN { exit !($(group "$tmp/out" all mape) < 0.05) }"
ok $? "shipped constants predict without a fit"
# Constants that have seen what is left out give way to those of fewer rows that have not; what they have not seen they predict themselves.
awk -F, -v OFS=, 'NR > 1 { $14 /= 3 } { print }' "$tmp/rows.csv" >"$tmp/slow.csv"
(head -n 1 "$tmp/rows.csv" && grep -v 'Test GPU 2' "$tmp/slow.csv" | tail -n +2) >"$tmp/others.csv"
(head -n 1 "$tmp/rows.csv" && grep 'Test GPU 2' "$tmp/rows.csv") >"$tmp/two.csv"
run calibrate "$tmp/others.csv" --hardware "$tmp/hw.csv" -o "$base"
ok $? "constants of the other machines, a third as fast"
run score "$tmp/two.csv" --hardware "$tmp/hw.csv" --leave-out hardware -o json && awk "BEGIN { b = $(group "$tmp/out" all bias); exit !(b < -0.5) }"
ok $? "a machine that constants.json has seen is predicted by constants_base.json ($(group "$tmp/out" all bias))"
run score "$tmp/two.csv" --hardware "$tmp/hw.csv" -o json && awk "BEGIN { b = $(group "$tmp/out" all bias); exit !(b > -0.05 && b < 0.05) }"
ok $? "and by constants.json where nothing is left out"
echo '{"schema": "roofcast.constants", "version": 1, "fits": {}}' >"$base"

# Rates beside the constants teach of others than what is left out, where constants of them all have seen it; its own rows there have no say.
measured=$tmp/data/hwprofiles/stacks/measured.csv
sed '2,$s/^/s-/' "$tmp/others.csv" >"$measured"
run score "$tmp/two.csv" --hardware "$tmp/hw.csv" --leave-out hardware -o json && cp "$tmp/out" "$tmp/left5.json"
awk "BEGIN { b = $(group "$tmp/left5.json" all bias); exit !(b < -0.5) }"
ok $? "rates of others, a third as fast, teach beside the file ($(group "$tmp/left5.json" all bias))"
sed '1d;s/^/own-/' "$tmp/two.csv" | awk -F, -v OFS=, '{ $14 *= 3; print }' >>"$measured"
run score "$tmp/two.csv" --hardware "$tmp/hw.csv" --leave-out hardware -o json && is "$(jq -c '[.rows[].predicted]' "$tmp/left5.json")" "$(jq -c '[.rows[].predicted]' "$tmp/out")" "its own do not"
rm "$measured"

# Machines that differ: half of an interval, of one that is left out and of the same one known.
awk -F, -v OFS=, 'NR > 1 { split("1.4 0.7 1 1.2 0.8", f, " "); $14 *= f[substr($3, length($3))] } { print }' "$tmp/rows.csv" >"$tmp/differ.csv"
width() { jq '[.rows[] | (.hi - .lo) / (.hi + .lo)] | add / length' "$1"; }
run score "$tmp/differ.csv" --hardware "$tmp/hw.csv" --leave-out hardware -o json && cp "$tmp/out" "$tmp/left.json"
run calibrate "$tmp/differ.csv" --hardware "$tmp/hw.csv" -o "$tmp/data/hwprofiles/stacks/constants.json"
run score "$tmp/differ.csv" --hardware "$tmp/hw.csv" -o json && cp "$tmp/out" "$tmp/known.json"
awk "BEGIN { a = $(width "$tmp/left.json"); b = $(width "$tmp/known.json"); exit !(b > 0 && a > 1.3 * b) }"
ok $? "a machine that the fit never saw has the wider interval ($(width "$tmp/left.json") against $(width "$tmp/known.json"))"
# A file without intervals: a normal's.
jq 'del(.fits.decode.intervals)' "$tmp/constants.json" >"$tmp/data/hwprofiles/stacks/constants.json"
run score "$tmp/rows.csv" --hardware "$tmp/hw.csv" -o json && cp "$tmp/out" "$tmp/before.json"
awk "BEGIN { a = $(width "$tmp/before.json"); exit !(a > 0 && a < 1) }"
ok $? "constants without intervals have a normal's ($(width "$tmp/before.json"))"
jq '.fits.decode.intervals[0].name = "width"' "$tmp/constants.json" >"$tmp/data/hwprofiles/stacks/constants.json"
refused 1 'intervals[0]: field "name": expected' score "$tmp/rows.csv" --hardware "$tmp/hw.csv"

# Servers' results name no machine, some not their model.
f=$top_srcdir/tests/fixtures/measure
cp "$top_srcdir/hwprofiles/h100-sxm.json" "$top_srcdir/hwprofiles/rtx-4090.json" "$tmp/data/hwprofiles/"
cp "$tmp/constants.json" "$tmp/data/hwprofiles/stacks/constants.json"
run calibrate "$f/vllm-serve.json" "$f/vllm-latency.json" "$f/vllm-throughput.json" "$f/aiperf.csv" "$f/llama-bench.json" --hw h100-sxm --model llama-3.1-8b \
    -o "$tmp/servers.json"
ok $? "calibrate reads what vLLM, AIPerf and llama-bench write"
jq -e '[.fits.tpot.n_rows, .fits.ttft.n_rows] == [2, 2] and (.fits.tpot.groups | index("hardware=h100-sxm"))' "$tmp/servers.json" >/dev/null
ok $? "of the machine named"
jq -e '.fits.rate.n_rows == 2 + 1 + 1 and .fits.prompt.n_rows == 1 and ([.fits.rate.groups[] | select(test("^hardware="))] | index("hardware=rtx-4090"))' "$tmp/servers.json" >/dev/null
ok $? "a file that names its machine keeps it"
refused 1 'vllm-serve.json: no usable row: the file does not name its machine: name it with --hw' calibrate "$f/vllm-serve.json" -o "$tmp/none.json"
refused 1 'aiperf.csv: no usable row: the file does not name its machine' calibrate "$f/aiperf.csv" -o "$tmp/none.json"
run calibrate "$tmp/rows.csv" "$f/vllm-serve.json" --hardware "$tmp/hw.csv" -o "$tmp/both.json" && grep -q '2 of 2 rows are not used: the file' "$tmp/err"
ok $? "what nothing is learned from is said"
refused 2 'is given twice' calibrate "$tmp/rows.csv" "$tmp/rows.csv" -o "$tmp/none.json"
refused 2 "$tmp/./rows.csv is the file $tmp/rows.csv, which is given before it" calibrate "$tmp/rows.csv" "$tmp/./rows.csv" -o "$tmp/none.json"
ln -s rows.csv "$tmp/link.csv" && refused 2 'its rows would count twice' calibrate "$tmp/rows.csv" "$tmp/link.csv" -o "$tmp/none.json"
cp "$tmp/rows.csv" "$tmp/copy.csv" && refused 2 "$tmp/copy.csv has the bytes of $tmp/rows.csv, which is given before it: its rows would count twice" \
    calibrate "$tmp/rows.csv" "$tmp/copy.csv" -o "$tmp/none.json"
echo >>"$tmp/copy.csv" && run calibrate "$tmp/rows.csv" "$tmp/copy.csv" --hardware "$tmp/hw.csv" -o "$tmp/more.json"
ok $? "files of other bytes are others"
sed 's/"n_gpu_layers": 99/"n_gpu_layers": 5/' "$f/llama-bench.json" >"$tmp/partly.json"
refused 1 'partly.json: no usable row: part of its layers ran on another device' calibrate "$tmp/partly.json" -o "$tmp/none.json"
run calibrate "$tmp/rows.csv" "$tmp/partly.json" --hardware "$tmp/hw.csv" -o "$tmp/more.json" &&
    grep -q 'partly.json: 2 of 2 rows are not used (first line 2): part of its layers' "$tmp/err"
ok $? "layers that ran elsewhere teach nothing of a GPU"
{ head -n 1 "$f/gpu_ops.csv" && echo 'a100,Llama-2-7b-hf,1,wobble,128,4096,,0.1'; } >"$tmp/wobble.csv"
refused 1 'wobble.csv: no usable row: column "op": unknown op "wobble"' calibrate "$tmp/wobble.csv" -o "$tmp/none.json"
# Files of one name in two folders, each of machines of its own.
mkdir "$tmp/east" "$tmp/west"
(head -n 1 "$tmp/rows.csv" && grep 'Test GPU [12]' "$tmp/rows.csv") >"$tmp/east/t.csv"
(head -n 1 "$tmp/rows.csv" && grep 'Test GPU [345]' "$tmp/rows.csv") >"$tmp/west/t.csv"
run calibrate "$tmp/east/t.csv" "$tmp/west/t.csv" "$f/llama-bench.json" --hardware "$tmp/hw.csv" -o "$tmp/two.json"
is "$tmp/east/t.csv, $tmp/west/t.csv, llama-bench.json" "$(jq -r .fits.rate.source "$tmp/two.json")" "of files that share a name the paths are cited"
is "$tmp/east/t.csv" "$(jq -r '.fits.decode.constants[] | select(.name | test("^bandwidth hardware=Test GPU 1$")) | .from' "$tmp/two.json")" "each constant by its own"

# Rows that teach nothing: of machines of which a name alone is known; of what no machine of that name can do.
line() { echo "$1,x/y,$2,1,llama.cpp,Llama-3-8B,8.03,Q4_K_M,4.58,decode,0,64,1,$3,2026-05-01,tags="; }
{ head -n 1 "$tmp/rows.csv" && line g-1 'NVIDIA GeForce RTX 4999' 100 && line g-2 'NVIDIA GeForce RTX 4999' 101; } >"$tmp/guessed.csv"
refused 1 'guessed.csv: no usable row: unknown bandwidth of "NVIDIA GeForce RTX 4999"' calibrate "$tmp/guessed.csv" -o "$tmp/none.json"
says 'guessed.csv: 2 of 2 rows are not used (first line 2): unknown bandwidth of "NVIDIA GeForce RTX 4999"'
ok $? "and how many rows that are"
{ head -n 1 "$tmp/rows.csv" && line p-1 'NVIDIA RTX 4090' 120 && line i-1 'NVIDIA RTX 4090' 300 && line p-2 'NVIDIA RTX 4090' 125 && line i-2 'NVIDIA RTX 4090' 900; } >"$tmp/mixed.csv"
grep -v '^i-' "$tmp/mixed.csv" >"$tmp/possible.csv"
(head -n 1 "$tmp/rows.csv" && grep '^i-' "$tmp/mixed.csv") >"$tmp/impossible.csv"
run calibrate "$tmp/mixed.csv" -o "$tmp/mixed.json" && says 'mixed.csv: 2 of 4 rows are not used (first line 3): above the machine.s roofs: 1389 GB/s of weights and keys, 1.38 times the 1008 GB/s of rtx-4090'
ok $? "rows that are impossible are left out, and the first is named"
run calibrate "$tmp/possible.csv" -o "$tmp/possible.json" && ! says 'nothing is learned'
ok $? "without them nothing is left out"
is "$(jq -c '[.fits[] | .n_rows, .sigma, .groups, .constants, .intervals]' "$tmp/possible.json")" "$(jq -c '[.fits[] | .n_rows, .sigma, .groups, .constants, .intervals]' "$tmp/mixed.json")" \
    "and have no say in the constants"
refused 1 'impossible.csv: no usable row: above the machine' calibrate "$tmp/impossible.csv" -o "$tmp/none.json"
! test -e "$tmp/none.json"
ok $? "no constants are written without a row to learn from"

refused 2 "expected a FILE" calibrate
refused 1 "no/such.csv" calibrate no/such.csv
echo '{"schema": "roofcast.constants", "version": 1, "fits": {"rate": {"sigma": 1, "constants": [{"name": "speed", "value": 1, "spread": 2}]}}}' \
    >"$tmp/data/hwprofiles/stacks/constants.json"
refused 1 'field "name": expected a constant' score "$tmp/rows.csv" --hardware "$tmp/hw.csv"
finish
