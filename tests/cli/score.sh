#!/bin/sh
# roofcast score and report: measurements of others beside predictions, and under the roofs.
. "${top_srcdir:?}/tests/cli/lib.sh"
if [ -n "${ROOFCAST_SANITIZED:-}" ]; then skip score "fits of many rows; tests/learn and the fuzz targets run this code with sanitizers"; finish; fi
f=$top_srcdir/tests/fixtures/measure
validate=${VALIDATE:-tests/run/validate}
doc=$top_srcdir/doc/formats.md

run score "$f/throughput.csv" --hardware "$f/hardware.csv" -o json && has '"group": "all"' && has '"group": "phase=decode,clean=yes"' &&
    has '"group": "class=consumer GPU,phase=decode"' && has '"group": "hardware=Example Accelerator X1,phase=prefill"'
ok $? "groups of one key, of two, of three"
is "7 1 7" "$(figure rows) $(figure n_unpriced) $(figure n_rows)" "rows with and without a price"
has '"note": "bandwidth 504 GB/s as in --hardware, not 1008'
ok $? "where the file and the profile differ the file wins, and the row says so"
has 'not predicted: no profile of \\"Example Box Y2\\"'
ok $? "a machine nobody knows is a reason, not an error"
"$validate" "$doc" roofcast.score "$tmp/out" >"$tmp/err" 2>&1
ok $? "score -o json is as documented"
run score "$f/throughput.csv" --hardware "$f/hardware.csv" -o jsonl && "$validate" "$doc" --lines "$tmp/out" >"$tmp/err" 2>&1
ok $? "score -o jsonl"
{ head -n 1 "$f/throughput.csv"; echo 'n-1,x/y,NVIDIA GeForce RTX 4999,1,llama.cpp,Llama-3-8B,8.03,Q4_K_M,4.58,decode,0,64,1,100,2026-05-01,tags='; } >"$tmp/new.csv"
run score "$tmp/new.csv" -o json && has 'unknown bandwidth: 460 GB/s, from its class (consumer GPU)' && has '"n_unpriced": 0'
ok $? "a machine of which nothing but its name is known is priced as its class"
holds "$(figure half90) > 0.9 && $(figure half90) < 4" "and its interval is as wide as the class is"
wide=$(figure half90)
{ cat "$tmp/new.csv"; sed -n '2s/n-1/n-2/p' "$tmp/new.csv"; } >"$tmp/shown.csv"
run score "$tmp/shown.csv" --anchor-rows 1 -o json && holds "$(figure half90) < 0.6 * $wide" "a row of it narrows that"
run report "$tmp/new.csv" -o csv && is "" "$(cells mbu phase=decode)" "under roofs that are guessed there is no MBU"
run score "$f/throughput.csv" --hardware "$f/hardware.csv" --worst 2 && has '^group .* MAPE ' && has '^t-6 .* guessed: model'
ok $? "the table: groups, then the rows furthest off"
run score "$f/throughput.csv" --hardware "$f/hardware.csv" --worst 100 -o json
is 0 "$(jq '[.rows[] | select((.error > 0.5 or .error < -0.5) and .reason == "")] | length' "$tmp/out")" "no row more than 50 % off is without a reason"
holds "$(jq '[.rows[] | select(.error > 0.5 or .error < -0.5)] | length' "$tmp/out") > 0" "and there are some"
run score "$f/throughput.csv" --hardware "$f/hardware.csv" --by kind,phase,hardware,clean --by op -o json &&
    has '"group": "hardware=NVIDIA RTX 4090,phase=decode,kind=dense,clean=yes"' && ! has '"group": "phase=decode"' && "$validate" "$doc" roofcast.score "$tmp/out" >"$tmp/err" 2>&1
ok $? "--by: groups of any keys, and no others"
refused 2 'found "color"' score "$f/throughput.csv" --by class,color
run score "$f/throughput.csv" --hardware "$f/hardware.csv" --features - && has '^line,id,' && has '^2,t-1,example/bench,'
ok $? "--features: a line a row"
# Cross-validation fits anew for every group, and complements small files by measured.csv: here by every sixteenth row of it.
short=$tmp/short/hwprofiles/stacks
mkdir -p "$short"
whole=$(cd "$top_srcdir" && pwd)
ln -s "$whole/models" "$tmp/short/models"
ln -s "$whole"/hwprofiles/*.json "$tmp/short/hwprofiles/"
ln -s "$whole"/hwprofiles/stacks/*.json "$short/"
awk 'NR % 16 == 1' "$top_srcdir/hwprofiles/stacks/measured.csv" >"$short/measured.csv"
cross() { # ARGS...: run, with these data
    ROOFCAST_DATA=$tmp/short "$ROOFCAST" "$@" >"$tmp/out" 2>"$tmp/err"
    status=$?
    return $status
}
for key in model source generation class engine; do
    cross score "$f/throughput.csv" --hardware "$f/hardware.csv" --leave-out $key -o json && has "\"leave_out\": \"$key\"" && has '"n_unstated": 0' &&
        "$validate" "$doc" roofcast.score "$tmp/out" >"$tmp/err" 2>&1
    ok $? "--leave-out $key"
done
# Half a year: t-1 and t-2 are of 2026-01, t-5 and t-6 of mlx-lm 0.28.2 of October 2025 where its date says so; the others are undated.
sed '/^t-[56]/s/,,tags=/,mlx-lm 0.28.2,tags=/' "$f/throughput.csv" >"$tmp/dated.csv"
cross score "$tmp/dated.csv" --hardware "$f/hardware.csv" --leave-out date --worst 9 -o json && is "4 3" "$(jq -r '"\(.n_rows) \(.n_unstated)"' "$tmp/out")" \
    "--leave-out date: rows with a month are scored" && is "t-1 t-2 t-5 t-6" "$(jq -r '[.rows[].id] | sort | join(" ")' "$tmp/out")" "and the others not"
cross score "$tmp/dated.csv" --hardware "$f/hardware.csv" --leave-out date --anchor-rows 1 -o json && is "0 7 0" "$(jq -r '"\(.n_rows) \(.n_anchor) \(.n_unstated)"' "$tmp/out")" \
    "every row is one of scored, shown and undated"
cross score "$tmp/dated.csv" --hardware "$f/hardware.csv" --leave-out date && says 'dated.csv: 3 of 7 rows have no value in column "date" and are not scored'
ok $? "and how many is said"
# Rows without a publisher: no fit would be without them.
sed '/^t-[12]/s|example/bench README.md||' "$f/throughput.csv" >"$tmp/unnamed.csv"
cross score "$tmp/unnamed.csv" --hardware "$f/hardware.csv" --leave-out source -o json && says '2 of 7 rows have no value in column "source"'
is "5 2" "$(jq -r '"\(.n_rows) \(.n_unstated)"' "$tmp/out")" "rows that state no value of another key are not scored, either"
cut -d, -f1,3- "$f/throughput.csv" >"$tmp/unnamed.csv"
ROOFCAST_DATA=$tmp/short refused 1 'unnamed.csv: column "source": expected a value in at least one row' score "$tmp/unnamed.csv" --hardware "$f/hardware.csv" --leave-out source
refused 1 'gpu_kernels.csv: column "date": expected a value' score "$f/gpu_kernels.csv" --leave-out date
refused 1 'gpu_kernels.csv: column "model": expected a value' score "$f/gpu_kernels.csv" --leave-out model
run score "$f/gpu_ops.csv" --anchor-rows 1 -o json && has '"n_anchor": 1'
ok $? "--anchor-rows"
is 3 "$(figure n_rows)" "which are not scored"
{ head -n 1 "$f/gpu_ops.csv"; echo 'a100,Llama-2-7b-hf,1,frobnicate,128,4096,11008,0.1'; echo 'a100,Llama-2-7b-hf,1,wobble,128,4096,,0.1'; } >"$tmp/ops.csv"
run score "$tmp/ops.csv" -o json && jq -e '[.rows[] | select(.note | test("unknown product .frobnicate.: assumed 128 tokens"))] | length == 1' "$tmp/out" >/dev/null &&
    jq -e '[.rows[] | select(.reason | test("^not predicted: column .op.: unknown op .wobble."))] | length == 1' "$tmp/out" >/dev/null
ok $? "ops of unknown names: a product says so, what is none has no price"
head -n 1 "$f/throughput.csv" >"$tmp/absurd.csv"
for i in a:300 b:140 c:141; do
    echo "${i%:*},x/y,NVIDIA RTX 4090,1,llama.cpp,Llama-3-8B,8.03,Q4_K_M,4.58,decode,0,64,1,${i#*:},2026-05-01,tags=" >>"$tmp/absurd.csv"
done
run score "$tmp/absurd.csv" -o json && has '1.38 times the 1008 GB/s of rtx-4090'
ok $? "a row that is above its machine's roofs says so"
jq -r '.rows[] | select(.id == "c").predicted' "$tmp/out" >"$tmp/alone"
run score "$tmp/absurd.csv" --anchor-rows 1 -o json
is "b c" "$(jq -r '[.rows[].id] | sort | join(" ")' "$tmp/out")" "the lowest id is left out, whatever it says"
is "$(cat "$tmp/alone")" "$(jq -r '.rows[] | select(.id == "c").predicted' "$tmp/out")" "but what is above its machine's roofs is not shown to the fit"
run score "$f/serving.csv" -o csv && has '^"*kind=dense,metric=tpot"*,1,0,'
ok $? "latencies of servers"
run score "$f/serving.csv" -o json && is "closed form: separate prefill" "$(jq -r '[.rows[] | select(.id == "s-2")][0].note' "$tmp/out")" "a server with separate prefill is not simulated"
is "" "$(jq -r '[.rows[] | select(.id == "s-1")][0].note' "$tmp/out")" "others are"
jq '.rows[] | select(.id == "s-1" and .phase == "ttft") | .predicted' "$tmp/out" >"$tmp/simulated"
run score "$f/serving.csv" --closed-form -o json && is 0 "$(jq '[.rows[] | select(.note | test("closed form"))] | length' "$tmp/out")" "--closed-form: none is asked to be simulated"
[ "$(jq '.rows[] | select(.id == "s-1" and .phase == "ttft") | .predicted' "$tmp/out")" != "$(cat "$tmp/simulated")" ]
ok $? "and TTFT is another"

sed 's/"avg_ts": 10000/"avg_ts": 99999/' "$f/llama-bench.json" >"$tmp/fast.json"
# What contradicts itself is said beside the row, and dates that are none are refused.
sed '0,/"avg_ts": 10000/s//"avg_ts": 12000/' "$f/llama-bench.json" >"$tmp/apart.json"
sed 's/"avg_ts": 10000.*/"avg_ts": 24000, "stddev_ts": 20000/' "$f/llama-bench.json" >"$tmp/spread.json"
run score "$tmp/spread.json" -o json && has 'avg_ts says 24000 tokens/s, avg_ns 10000: its repetitions differ'
ok $? "repetitions that are far apart explain a mean of rates above the rate of the mean time"
run score "$tmp/apart.json" -o json && jq -e '[.rows[] | select(.reason | test("reported inconsistently; avg_ts says 12000 tokens/s, avg_ns 10000"))] | length == 1' "$tmp/out" >/dev/null
ok $? "an avg_ts that avg_ns contradicts is said"
run report "$tmp/apart.json" -o json && has 'avg_ts says 12000 tokens/s, avg_ns 10000'
ok $? "and by report"
refused 1 "fast.json: line $(grep -n '"avg_ts": 99999' "$tmp/fast.json" | cut -d: -f1), column 15: avg_ts: expected 10000, which 512 tokens in avg_ns of 0.0512 s are" score "$tmp/fast.json"
sed 's/"n_gpu_layers": 99/"n_gpu_layers": 5/' "$f/llama-bench.json" >"$tmp/partly.json"
wide() { run score "$1" -o json && jq '[.rows[] | .hi / .lo] | add' "$tmp/out"; }
holds "$(wide "$tmp/partly.json") > 1.2 * $(wide "$f/llama-bench.json")" "a run with a part of its layers elsewhere is off for that: wider"
run score "$tmp/partly.json" -o json && is 2 "$(jq '[.rows[] | select(.reason | startswith("partly offloaded; the rest on Example CPU, unknown bandwidth"))] | length' "$tmp/out")" "and says so"
sed '2s/,2026[^,]*,tags/,2025-13-45,tags/' "$tmp/new.csv" >"$tmp/date.csv"
refused 1 'date.csv: line 2, column 91 (date_or_build): expected a date (2025-01-15, Jan 2025, 2025), a build, a commit or a version, found "2025-13-45"' score "$tmp/date.csv"
# Names of files are names of models.
for name in Meta-Llama-3-8B-Instruct-Q4_K_M.gguf llama-3-8b.Q4_K_M.gguf models/Meta-Llama-3-8B-Instruct.Q6_K.gguf Llama-3-8B.gguf "llama 7B mostly Q4_0"; do
    sed '1!d' "$tmp/new.csv" >"$tmp/named.csv"
    echo "a,x,NVIDIA RTX 4090,1,llama.cpp,$name,,Q4_K_M,,decode,0,64,1,100,2025-12,tags=" >>"$tmp/named.csv"
    run score "$tmp/named.csv" -o json && ! has 'guessed: model'
    ok $? "a model named as its file: $name"
done
# llama-bench's labels: architecture and parameters find the model, whatever size the label says; a label is doubted where the bytes contradict it.
table() { # LINES: "model|size|params|test|rate", one a line
    echo '| model | size | params | backend | ngl | test | t/s |'
    echo '| --- | ---: | ---: | --- | --: | ---: | ---: |'
    printf '%s\n' "$1" | sed 's/^\([^|]*\)|\([^|]*\)|\([^|]*\)|\([^|]*\)|\(.*\)$/| \1 | \2 | \3 | Vulkan | 99 | \4 | \5 ± 0.01 |/'
}
of() { jq -r "[.rows[] | select(.model | startswith(\"$1\"))] | .[0] | $2" "$tmp/out"; }
table 'gemma4 ?B IQ4_NL - 4.5 bpw|12.48 GiB|25.23 B|tg128|80
qwen3next ?B Q4_K - Medium|45.00 GiB|79.67 B|tg128|30
qwen35moe ?B Q4_K - Medium|19.70 GiB|34.66 B|tg128|50
gpt-oss ?B MXFP4 MoE|11.27 GiB|20.91 B|tg128|70
glm4moe ?B Q4_K - Medium|68.00 GiB|110.47 B|tg128|20
deepseek2 ?B Q4_K - Medium|17.05 GiB|29.94 B|tg128|60
qwen3 0.6B F16|1.40 GiB|751.63 M|tg128|150
llama 7B Q4_0|3.83 GiB|7.24 B|tg128|60
llama 13B Q4_0|6.60 GiB|12.25 B|tg128|40
mistral3 14B Q4_K - Medium|7.67 GiB|13.51 B|tg128|30' >"$tmp/labels.md"
run score "$tmp/labels.md" --hw strix-halo-395 -o json --worst 100
is "gemma-4-26b-a4b qwen3-next-80b-a3b qwen3.5-35b-a3b gpt-oss-20b glm-4.5-air glm-4.7-flash qwen3-0.6b mistral-7b-v0.1 mistral-nemo-12b ministral-3-14b" \
    "$(for m in gemma4 qwen3next qwen35moe gpt-oss glm4moe deepseek2 qwen3\  llama\ 7B llama\ 13B mistral3; do of "$m" .preset; done | xargs)" "labels are found by architecture and parameters"
table 'gemma4 ?B Q4_0|16.00 GiB|29.00 B|tg128|10
qwen35moe ?B Q4_0|28.00 GiB|50.00 B|tg128|20
gemma4 ?B Q8_0|5.00 GiB|5.00 B|tg128|20
llama ?B Q4_0|28.00 GiB|50.00 B|tg128|20' >"$tmp/unlabelled.md"
run score "$tmp/unlabelled.md" --hw strix-halo-395 -o json --worst 100 && has 'no preset of \\"gemma4 ?B Q4_0\\" with 29e9 parameters, and its family has dense models and mixtures of experts'
ok $? "of a family that has both, no model and no price"
holds "$(jq '[.rows[] | select(.model | test("Q8_0|llama")) | select(.predicted > 0)] | length' "$tmp/out") == 2" "dense ones are priced"
holds "$(jq '[.rows[] | select(.model | startswith("qwen35moe"))][0] | .hi / .lo' "$tmp/out") > 2 * $(jq '[.rows[] | select(.model | startswith("llama"))][0] | .hi / .lo' "$tmp/out")" \
    "a mixture whose active parameters are guessed has an interval for that"
table 'gpt-oss 120B F16|60.87 GiB|116.83 B|pp512|500
gpt-oss 120B F16|60.87 GiB|116.83 B|tg128|48
gpt-oss 120B MXFP4 MoE|59.02 GiB|116.83 B|tg128|50
gpt-oss 20B Q8_0|11.27 GiB|20.91 B|tg128|72
llama 8B F16|4.58 GiB|8.03 B|tg128|40
llama 8B Q4_0|0.83 GiB|8.03 B|tg128|40' >"$tmp/types.md"
run report "$tmp/types.md" --hw strix-halo-395 -o json && has '60.87 GiB are 4.48 bits a weight, not those of \\"F16\\": estimated as MXFP4_EXPERTS'
ok $? "a label that the bytes contradict is doubted aloud"
holds "$(jq '[.rows[] | select(.test == "tg128" and (.model | startswith("gpt-oss 120B F16")))][0].bytes / 5.0e9 | . > 0.97 and . < 1.03' "$tmp/out" | sed 's/true/1/;s/false/0/') == 1" "5.0 GB a token"
holds "$(jq '[.rows[] | select(.test == "pp512")][0].bytes' "$tmp/out") < 65.4e9" "no report reads more than its file"
holds "$(jq '[.rows[] | select(.model | startswith("llama 8B F16"))][0].bytes' "$tmp/out") < 4.95e9" "of dense models, too"
run score "$tmp/types.md" --hw strix-halo-395 -o json --worst 100 && has '0.83 GiB of weights are 0.89 bits for each of 8.03e9 parameters: fewer than any type has'
ok $? "bytes that no type has are a reason"
# Guessed models have wider intervals than those with a preset that are as new to the constants (no row is of OLMo 2); names that say several devices are of several.
guessed() { { head -n 1 "$f/throughput.csv"; echo "n-1,x/y,NVIDIA GeForce RTX 4090,1,llama.cpp,$1,$2,Q4_K_M,,$3,2026-05-01,tags="; } >"$tmp/guessed.csv" && run score "$tmp/guessed.csv" -o json && figure half90; }
holds "$(guessed Unheard-of-8B 8.03 decode,0,64,1,100) > 1.15 * $(guessed OLMo-2-7B 7.3 decode,0,64,1,100)" "a guessed dense model is less sure than one with a preset"
holds "$(guessed Unheard-of-8B 8.03 prefill,512,0,1,9000) > 1.4 * $(guessed OLMo-2-7B 7.3 prefill,512,0,1,9000)" "the more in prompts"
holds "$(guessed Unheard-of-MoE 30 decode,0,64,1,100) > 1.5 * $(guessed Unheard-of-30B-A3B 30 decode,0,64,1,100)" "more still where the active parameters are guessed"
on_mlx() { { head -n 1 "$f/throughput.csv"; echo "n-1,x/y,Apple M5 Max,1,mlx-lm,$1,,8bit,,decode,0,64,1,60,2026-05-01,tags="; } >"$tmp/guessed.csv" && run score "$tmp/guessed.csv" -o json && figure half90; }
holds "$(on_mlx Unheard-of-9B) > 1.1 * $(on_mlx OLMo-2-7B)" "whatever the machine and the type"
{ head -n 1 "$f/throughput.csv"; echo 'n-1,x/y,2x RTX 3090,,llama.cpp,Llama-3-8B,8.03,Q4_K_M,,decode,0,64,1,100,2026-05-01,tags='; } >"$tmp/two.csv"
run score "$tmp/two.csv" -o json && jq -e '.rows[0] | .profile == "rtx-3090" and .n_devices == 2' "$tmp/out" >/dev/null
ok $? "2x RTX 3090: two of them"
for name in Qwen3.6-27B DeepSeek-R1-Distill-Qwen-14B llama3.1 qwen3-next mlx-community/Qwen3-30B-A3B-4bit Qwen3-Coder-30B-A3B-Instruct qwen3-coder:30b Qwen/Qwen3-30B-A3B-Instruct-2507-FP8; do
    { head -n 1 "$f/throughput.csv"; echo "a,x,NVIDIA RTX 4090,1,llama.cpp,$name,,Q4_K_M,,decode,0,64,1,100,2025-12,tags="; } >"$tmp/named.csv"
    run score "$tmp/named.csv" -o json && jq -e '.rows[0].preset != ""' "$tmp/out" >/dev/null && preset=$(jq -r '.rows[0].preset' "$tmp/out") &&
        run analyze -m "$name" -q Q4_K_M -o json && has "\"model\": \"$preset\""
    ok $? "score and analyze read one table of names: $name"
done
for on in "Mac Studio M2 Ultra:apple-m2-ultra" "Jetson AGX Thor:jetson-thor-t5000" "Xeon 8480:xeon-8480plus" "NVIDIA GeForce RTX 3090 GPU:rtx-3090" "AMD Radeon RX 7900 XTX (RADV NAVI31):rx-7900xtx"; do
    run predict tinyllama-1.1b -q Q4_0 --hw "${on%%:*}" -p 0 -n 1 -o json && has "\"hw\": \"${on#*:}\"" && ! says 'no profile of' &&
        sed "s/2x RTX 3090/${on%%:*}/" "$tmp/two.csv" >"$tmp/on.csv" && run score "$tmp/on.csv" -o json && has "\"profile\": \"${on#*:}\""
    ok $? "predict and score read one table of machines: ${on%%:*}"
done
refused 2 'machine "2x RTX 3090": 2 devices: name one, "RTX 3090", and how they divide the work: --tp 2 (every tensor) or --pp 2 (layers)' predict llama-3-8b --hw "2x RTX 3090"
mlx=
run list types -o json && has MLX_4BIT && mlx="4bit:MLX_4BIT 8-bit:MLX_8BIT"
for type in $mlx IQ2_M:IQ2_M "INT8 W8A8:INT8" "Q4_K - Medium:Q4_K_M" GPTQ-Int4:GPTQ FP8-dynamic:FP8_CHANNEL UD-Q4_K_XL:Q4_K_M; do
    run analyze llama-3.1-8b -q "${type%%:*}" --by role -o json && has "\"type\": \"${type#*:}\""
    ok $? "-q ${type%%:*} is ${type#*:}"
done
sed 's/,Q4_K_M,4.58,/,,,/' "$tmp/new.csv" >"$tmp/untyped.csv"
run score "$tmp/untyped.csv" --type F16 -o json && has '"type": "F16"' && has 'no type in its row: F16, from --type'
ok $? "--type is the type of rows that do not say theirs"
run score "$tmp/new.csv" --type F16 -o json && has '"type": "Q4_K_M"' && ! has 'from --type'
ok $? "and of no others"

# A profile that cannot be read is said, whichever machine is asked for; names that are no profile's may have a slash.
mkdir -p "$tmp/data/hwprofiles" && ln -s "$(cd "$top_srcdir" && pwd)/models" "$tmp/data/models" && cp -r "$top_srcdir/hwprofiles/classes.json" "$top_srcdir/hwprofiles/priors" "$tmp/data/hwprofiles" && mkdir "$tmp/data/hwprofiles/stacks" && cp "$top_srcdir/hwprofiles/stacks/priors.json" "$top_srcdir/hwprofiles/stacks/rules.json" "$top_srcdir/hwprofiles/stacks/servers.json" "$tmp/data/hwprofiles/stacks"
sed -e "s/\"source\": \"[^\"]*\"/\"source\": \"$(printf '%0200d' 0)\"/" "$top_srcdir/hwprofiles/t4.json" >"$tmp/data/hwprofiles/broken.json"
kept=${ROOFCAST_DATA-}
export ROOFCAST_DATA="$tmp/data"
refused 1 'broken.json: spec.memory_bytes: field "source": expected at most 159 bytes, found 200' score "$tmp/new.csv"
rm "$tmp/data/hwprofiles/broken.json"
# Nor is a model's: a preset that cannot be read ends what would have used it, whatever its rows are called.
rm "$tmp/data/models" && mkdir "$tmp/data/models" && cp "$top_srcdir"/models/*.json "$top_srcdir"/models/*.tsv "$tmp/data/models"
head -c 100 "$top_srcdir/models/llama-3-8b.json" >"$tmp/data/models/llama-3-8b.json"
{ head -n 1 "$f/throughput.csv"; echo "a,x,NVIDIA RTX 4999,1,llama.cpp,Unheard-of-8B,,Q4_K_M,4.58,decode,0,64,1,100,2025-12,tags="; } >"$tmp/unsaid.csv"
for c in "score $f/throughput.csv" "score $tmp/unsaid.csv" "report $f/throughput.csv --hw rtx-4090" "calibrate $f/throughput.csv -o $tmp/none.json" "score $f/llama-bench.json"; do
    # shellcheck disable=SC2086
    refused 1 'models/llama-3-8b.json: line ' $c
done
cp "$top_srcdir/models/llama-3-8b.json" "$tmp/data/models"
run score "$f/throughput.csv" -o json
ok $? "with the file whole they do"
sed 's/NVIDIA GeForce RTX 4999/GeForce RTX 12\/16 GB.json/' "$tmp/new.csv" >"$tmp/slash.csv"
run score "$tmp/slash.csv" -o json && has '"n_unpriced": 0'
ok $? "a machine's name is no path"
if [ -n "$kept" ]; then ROOFCAST_DATA=$kept; else unset ROOFCAST_DATA; fi

refused 2 'expected a FILE of measurements' score
cp "$f/throughput.csv" "$tmp/mine.csv"
cp "$f/hardware.csv" "$tmp/mine.hw.csv"
refused 2 'is an input file' score "$tmp/mine.csv" --features "$tmp/mine.csv"
refused 2 'is an input file' calibrate "$tmp/mine.csv" -o "$tmp/mine.csv"
refused 2 'is an input file' calibrate "$tmp/mine.csv" --hardware "$tmp/mine.hw.csv" -o "$tmp/mine.hw.csv"
cp "$top_srcdir/hwprofiles/h100-sxm.json" "$tmp/own.json"
refused 2 'is an input file' score "$f/throughput.csv" --hw "$tmp/own.json" --features "$tmp/own.json"
refused 2 'is an input file' predict llama-3-8b --hw "h100-sxm,$tmp/own.json" --save "$tmp/own.json"
refused 2 'is an input file' memory llama-3-8b --hw="$tmp/own.json" --save "$tmp/../$(basename "$tmp")/own.json"
refused 2 'is an input file' sweep -m llama-3-8b --hw "$tmp/own.json" --save="$tmp/own.json"
cmp -s "$tmp/own.json" "$top_srcdir/hwprofiles/h100-sxm.json"
ok $? "nor are machines"
cmp -s "$tmp/mine.csv" "$f/throughput.csv"
ok $? "measurements are never written over"
refused 2 'expected hardware, model, engine, topology, source, generation, class or date, found "colour"' score "$f/throughput.csv" --leave-out colour
refused 2 'only all-reduces have one' score "$f/throughput.csv" --leave-out topology
sed 's/^t-3\(.*\),150,,/t-3\1,15o,,/' "$f/throughput.csv" >"$tmp/bad.csv"
refused 1 'bad.csv: line 4, column 126 (tokens_per_s): expected a number from 1e-09 to 1e+12, found "15o"' score "$tmp/bad.csv"
head -n 3 "$f/throughput.csv" | cut -d, -f1-9 >"$tmp/bad.csv"
refused 1 'bad.csv: line 1, column 1: not a file of measurements' score "$tmp/bad.csv"
printf 'a,b\n1\n' >"$tmp/bad.csv"
refused 1 'bad.csv: line 2, column 1: expected 2 fields' score "$tmp/bad.csv"
printf 'hardware,mem_bw_gbs_per_device\nx,fast\n' >"$tmp/hw.csv"
refused 1 'hw.csv: line 2, column 3 (mem_bw_gbs_per_device)' score "$f/throughput.csv" --hardware "$tmp/hw.csv"

printf 'hardware,class,mem_bw_gbs_per_device,fp16_bf16_tflops_dense\nRTX 5999,toaster,100,20\n' >"$tmp/hw.csv"
{ head -n 1 "$f/throughput.csv" && grep -m 1 'RTX 4090' "$f/throughput.csv" | sed 's/,[^,]*RTX 4090[^,]*,/,RTX 5999,/'; } >"$tmp/own.csv"
run score "$tmp/own.csv" --hardware "$tmp/hw.csv" -o json && has 'unknown class (toaster): estimated as class consumer GPU'
ok $? "a class of the file's own is said, and what its machine is taken for"
printf 'hardware,class,mem_bw_gbs_per_device\nFooBar X1,edge NPU,60\n' >"$tmp/hw.csv"
sed 's/RTX 5999/FooBar X1/' "$tmp/own.csv" >"$tmp/npu.csv"
run score "$tmp/npu.csv" --hardware "$tmp/hw.csv" -o json && has 'unknown class (edge NPU): estimated as class accelerator'
ok $? "where the name says nothing the words of the class do"
# Blanks around a value are not of it, nor are blank lines rows.
{ head -n 1 "$f/throughput.csv" && echo && echo '1,x, NVIDIA RTX 4090 ,1,llama.cpp,Llama-3-8B,8.03,F16 ,,decode ,0, 64,1 , 50,2026-01,tags='; } >"$tmp/blanks.csv"
run score "$tmp/blanks.csv" -o json && has '"type": "F16"' && has '"n_unpriced": 0'
ok $? "blanks around values, and blank lines"
refused 2 '--leave-out model: all-reduces have none' score "$f/all_reduce.csv" --leave-out model
refused 1 "vllm-throughput.json: line $(grep -n total_num_tokens "$f/vllm-throughput.json" | cut -d: -f1), column" score "$f/vllm-throughput.json" \
    --hw h100-sxm --model llama-3.1-8b --input-len 99999
# A layout that cannot be is a row without a price; the others have theirs.
{ head -n 1 "$f/serving.csv" && sed -n '2s/,8,4,1,1,4,1,/,8,4,128,1,4,1,/; 2s/^s-1/s-0/p' "$f/serving.csv" && sed -n '2,$p' "$f/serving.csv"; } >"$tmp/pp.csv"
run score "$tmp/pp.csv" -o json && has '"n_unpriced": 2' && has 'pp 128: the model has'
ok $? "one row's layout that cannot be leaves the others their prices"
jq '.rows[0].tok_s_mean = -3' "$top_srcdir/tests/fuzz/corpus/run/decode.json" >"$tmp/minus.json"
refused 1 "minus.json: line $(grep -n '"tok_s_mean"' "$tmp/minus.json" | head -n 1 | cut -d: -f1), column 21: rows[0]: field \"tok_s_mean\": expected 0 or more" score "$tmp/minus.json"

for form in json jsonl csv sql; do
    run report "$f/llama-bench.$form" -o csv
    is "memory compute" "$(cells bound phase=decode) $(cells bound phase=prefill)" "llama-bench -o $form"
    cp "$tmp/out" "$tmp/$form.out"
    cmp -s "$tmp/json.out" "$tmp/$form.out"
    ok $? "$form says the same as json"
done
# 125 tokens/s of 4.58 GiB less the embedding table, and 4160 positions of 131,072 B
holds "$(cells mbu phase=decode) > 0.62 && $(cells mbu phase=decode) < 0.66" "MBU: what is read over what could be"
# a file that names a back end for GPUs, and no GPU: the machine that --hw names runs it, with the CPU's threads where that is one
sed 's/"gpu_info": *"[^"]*"/"gpu_info": ""/' "$f/llama-bench.json" >"$tmp/unnamed.json"
run score "$tmp/unnamed.json" --hw rtx-4090 -o json && is llama.cpp-cuda "$(jq -r '[.rows[].engine] | unique | join(",")' "$tmp/out")" "no gpu_info, --hw of a GPU"
run report "$tmp/unnamed.json" --hw rtx-4090 -o json && is llama.cpp-cuda "$(jq -r '[.rows[].engine] | unique | join(",")' "$tmp/out")" "report: no gpu_info, --hw of a GPU"
run score "$tmp/unnamed.json" --hw ryzen-7950x -o json && is llama.cpp-cpu "$(jq -r '[.rows[].engine] | unique | join(",")' "$tmp/out")" "no gpu_info, --hw of a CPU"
run report "$f/llama-bench.md" --hw rtx-4090 -o json && "$validate" "$doc" roofcast.report "$tmp/out" >"$tmp/err" 2>&1
ok $? "report of a table, as documented"
sed '/"avg_ns"/d; s/"avg_ts": 10000/"avg_ts": 99999/' "$f/llama-bench.json" >"$tmp/fast.json"
run report "$tmp/fast.json" && has '1410 TFLOP/s, 2.13 times the 660.6 TFLOP/s of rtx-4090'
ok $? "more than a machine can do is said"
sed '/"avg_ns"/d; s/"avg_ts": 10000/"avg_ts": 15000/' "$f/llama-bench.json" >"$tmp/fast.json"
run report "$tmp/fast.json" && has 'above the peak of fp16: the kernels use another type'
ok $? "more than a roof allows is said"
sed '/"avg_ns"/d; s/NVIDIA GeForce RTX 4090/Apple M4 Max/; s/"CUDA"/"MTL,BLAS"/; s/"avg_ts": 10000/"avg_ts": 880/' "$f/llama-bench.json" >"$tmp/metal.json"
run report "$tmp/metal.json" --chart "$tmp/metal" && ! grep -q 'outside the frame' "$tmp/err"
ok $? "pp512 of 4-bit weights is inside an Apple chip's frame"
run report "$f/llama-bench.md" -o csv && has 'does not name its machine: name it with --hw'
ok $? "without --hw a table names no machine, and the row says so"
is "pp512 tg128@d4096" "$(cells test | paste -sd ' ')" "tests keep their names without a machine"
for what in 'gpu_ops:m=:a single op' 'all_reduce:all_reduce [0-9]* B:a collective between devices'; do
    run report "$f/${what%%:*}.csv" && has "${what##*:}: use roofcast score" && what=${what#*:} && has " ${what%:*}\|_proj ${what%:*}" && ! has 'nan'
    ok $? "report says what kind of row has no place under a roof: ${what##*:}"
done
{ head -n 1 "$f/hardware.csv"; echo 'NVIDIA RTX 4090,consumer GPU,2016,82.6,165.2,660,330,,twice the bandwidth,'; } >"$tmp/twice.csv"
run score "$f/llama-bench.json" -o json && once=$(jq '.rows[] | select(.phase == "decode") | .predicted' "$tmp/out")
run score "$f/llama-bench.json" --hardware "$tmp/twice.csv" -o json && has 'bandwidth 2016 GB/s as in --hardware, not 1008'
ok $? "--hardware: a row that names the profile in other words than the file counts"
holds "$(jq '.rows[] | select(.phase == "decode") | .predicted' "$tmp/out") > 1.3 * $once" "and its bandwidth is what decode is predicted with"
# A prompt of 1024 tokens of 14.2 GFLOP in 120.5 ms; 16 sequences' step of 14.9 GB of weights and 2.3 GB of keys in 22.25 ms.
run report "$f/vllm-serve.json" --hw h100-sxm -o csv
is "compute memory" "$(cells bound | paste -sd ' ')" "a server's latencies have a bound"
holds "$(cells mfu | head -n 1) > 0.119 && $(cells mfu | head -n 1) < 0.126 && $(cells mbu | tail -n 1) > 0.225 && $(cells mbu | tail -n 1) < 0.237" "MFU of its prompt, MBU of its step"
run report "$f/vllm-serve.json" --hw h100-sxm -o json && has "bytes and FLOP of one prompt; the time includes queueing and the server's own work" &&
    has "prefills between steps are not counted" && "$validate" "$doc" roofcast.report "$tmp/out" >"$tmp/err" 2>&1
ok $? "with what else is in that time"
run report "$f/vllm-serve.json" --hw h100-sxm --chart "$tmp/served" >/dev/null
is "decode prefill" "$(cut -f 1-9 "$tmp/served.tsv" | grep -o 'prefill\|decode' | sort -u | paste -sd ' ')" "and a place in the chart"
sed 's/,64,1,8,1,1,1,8,/,64,,8,1,1,1,8,/' "$f/serving.csv" >"$tmp/copies.csv"
run report "$tmp/copies.csv" -o json
is "2 true" "$(jq -r '[.rows[] | select(.test | test("tpot"))] | "\(map(select(.mbu)) | length) \(all(.mbu or .reason == "unknown number of sequences per step"))"' "$tmp/out")" \
    "but where nobody says how many copies of a server there are"
refused 1 'expected one machine' report "$f/throughput.csv" --chart "$tmp/several" -o csv
run report "$f/llama-bench.json" --chart "$tmp/chart" >/dev/null
test $status -eq 0 || test $status -eq 3 # 3: no gnuplot
ok $? "--chart draws, or says what it lacks"
run report "$f/aiperf.csv" --hw h100-sxm --model llama-3.1-8b -o csv
is "req1024+128x7.4 ttft req1024+128x7.4 tpot" "$(cells test | tr '\n' ' ' | sed 's/ $//')" "a server's latencies are told apart"
cp "$f/hardware.csv" "$tmp/own.tsv"
refused 2 'own.tsv is an input file' report "$f/llama-bench.json" --hardware "$tmp/own.tsv" --chart "$tmp/own"
cmp -s "$f/hardware.csv" "$tmp/own.tsv"
ok $? "no chart is written over what it was drawn from"
test -s "$tmp/chart.tsv" && test -s "$tmp/chart.roofs.tsv"
ok $? "with its points and roofs as data"
for other in vllm-serve.json vllm-latency.json vllm-throughput.json aiperf.csv; do
    run score "$f/$other" --hw a100-sxm-80gb --model llama-3.1-8b -o json && has '"n_unpriced": 0'
    ok $? "$other"
done
for command in report score; do
    run $command "$f/vllm-latency.json" --hw a100-sxm-80gb --model llama-3.1-8b -o json
    has 'input 32 tokens, output 128 tokens, 8 sequences, the defaults of vllm bench latency' && run $command "$f/vllm-latency.json" --hw a100-sxm-80gb --model llama-3.1-8b \
        --input-len 512 --output-len 64 --batch-size 4 -o json && ! has 'by default'
    ok $? "$command says what a file does not, and takes it from options"
done
run report "$f/vllm-latency.json" --hw a100-sxm-80gb --model llama-3.1-8b --input-len 512 --output-len 64 --batch-size 4 --type FP8 --tp 2 -o csv
is "req512+64x4 FP8 2" "$(cells test) $(cells type) $(cells n_devices)" "which are lengths, type and devices"
for t in Q4_K_M AWQ W8A16 GPTQ-Int4 IQ4_XS; do
    run report "$f/vllm-latency.json" --hw a100-sxm-80gb --model llama-3.1-8b --type $t -o csv
    ok $? "--type takes mixtures, checkpoints and names of files of measurements: $t"
done
refused 2 '--type: no type "Q9"' report "$f/vllm-latency.json" --hw a100-sxm-80gb --type Q9
run calibrate "$f/vllm-latency.json" --hw a100-sxm-80gb --model llama-3.1-8b --input-len 512 -o "$tmp/constants.json"
ok $? "calibrate takes them, too"
# A run of roofcast: 128 steps, each of which reads all 384.6 MB of smollm2-360m.
jq '.rows[0] += {model: "smollm2-360m", weight_bytes: (384.6e6 * 128)}' "$top_srcdir/tests/fuzz/corpus/run/decode.json" >"$tmp/run.json"
run report "$tmp/run.json" --hw ryzen-7950x -o csv
is "tg128@d4096 memory" "$(cells test) $(cells bound)" "a run's tests keep their names"
run predict smollm2-135m -q Q8_0 --hw ryzen-7950x -t 2 -n 128 -d 4096 -p 0 --anchor "$tmp/run.json" -o csv && other=$(cells tok_s)
run predict smollm2-360m -q Q8_0 --hw ryzen-7950x -t 2 -n 128 -d 4096 -p 0 --anchor "$tmp/run.json" -o csv
holds "$(cells tok_s) > 0.9 * 41.5 && $(cells tok_s) < 1.1 * 41.5 && $other > 1.3 * 41.5" "an anchor is of the model it was measured with, not of the one asked about"
jq '.rows[0].weight_bytes /= 4' "$tmp/run.json" >"$tmp/slice.json"
run score "$tmp/slice.json" --hw ryzen-7950x && has '0.0961 GB of weights read per pass, unlike smollm2-360m'
ok $? "a run of some of a model's layers is not priced as the whole"
refused 1 'not a result of llama-bench' report "$top_srcdir/models/llama-3-8b.json"
# Rows that the model does not describe (a depth of 32768 without flash attention, they say, four times as fast as that) leave the others' word alone:
# believed to 2 % each they made 15 thousand tokens/s of 3.5.
cat >"$tmp/odd.csv" <<'EOF'
id,source,hardware,n_devices,engine,model,params_b,quant,weight_gib,phase,prompt_len,context_len,batch,tokens_per_s,date_or_build,notes
pr-0033,x,NVIDIA RTX 3090,1,llama.cpp,Llama-3-8B,8.03,Q5_1,5.64,prefill,512,0,1,1986.79,2024-06 (PR value),"tags=batch_curve,ubatch=64"
pr-0034,x,NVIDIA RTX 3090,1,llama.cpp,Llama-3-8B,8.03,Q5_1,5.64,prefill,512,0,1,2667.84,2024-06 (PR value),"tags=batch_curve,ubatch=128"
pr-0035,x,NVIDIA RTX 3090,1,llama.cpp,Llama-3-8B,8.03,Q5_1,5.64,prefill,512,0,1,3355.29,2024-06 (PR value),"tags=batch_curve,ubatch=256"
pr-0036,x,NVIDIA RTX 3090,1,llama.cpp,Llama-3-8B,8.03,Q5_1,5.64,prefill,512,0,1,3493.64,2024-06 (PR value),"tags=batch_curve,ubatch=512"
pr-0071,x,NVIDIA RTX 3090,1,llama.cpp,Llama-3-8B,8.03,Q4_0,,prefill,512,32768,1,1495.43,2025-11 (PR value),"tags=batch_curve,ubatch=64"
pr-0072,x,NVIDIA RTX 3090,1,llama.cpp,Llama-3-8B,8.03,Q4_0,,prefill,512,32768,1,1617.77,2025-11 (PR value),"tags=batch_curve,ubatch=128"
pr-0073,x,NVIDIA RTX 3090,1,llama.cpp,Llama-3-8B,8.03,Q4_0,,prefill,512,32768,1,1697.92,2025-11 (PR value),"tags=batch_curve,ubatch=256"
pr-0074,x,NVIDIA RTX 3090,1,llama.cpp,Llama-3-8B,8.03,Q4_0,,prefill,512,32768,1,1448.12,2025-11 (PR value),"tags=batch_curve,ubatch=512"
EOF
run predict llama-3-8b -q Q4_K_M --hw rtx-3090 -n 0 --anchor "$tmp/odd.csv" -o csv && holds "$(cells tok_s) > 3000 && $(cells tok_s) < 7000" "--anchor: rows that are off are known by the others"

# Neither a type nor bytes: as wide as what people run differs.
cat >"$tmp/bits.csv" <<'EOF'
id,source,hardware,n_devices,engine,model,params_b,quant,weight_gib,phase,prompt_len,context_len,batch,tokens_per_s,date_or_build,notes
1,x,NVIDIA RTX 4090,1,llama.cpp (cuda),Foo-13B,13,Q4_K_M,,decode,0,512,1,80,2025-06,tags=
2,x,NVIDIA RTX 4090,1,llama.cpp (cuda),Foo-13B,13,,,decode,0,512,1,80,2025-06,tags=
3,x,NVIDIA RTX 4090,1,llama.cpp (cuda),Foo-13B,13,,7.3,decode,0,512,1,80,2025-06,tags=
4,x,NVIDIA RTX 4090,1,llama.cpp (cuda),OLMo-2-13B,13.7,Q4_K_M,,decode,0,512,1,80,2025-06,tags=
EOF
run score "$tmp/bits.csv" --worst 4 -o json && jq -e '[.rows[] | {key: .id, value: (.hi / .lo)}] | from_entries |
    .["1"] > 1.05 * .["4"] and .["3"] > 1.05 * .["4"] and .["2"] > 1.5 * .["1"] and .["2"] > 1.5 * .["3"]' "$tmp/out" >/dev/null
ok $? "a model without a preset has a wider interval, one of which no type is said a wider one still"

# Three times as long: what is left out has no say in its own predictions, of any kind. (Of rates: calibrate.sh)
{ head -n 1 "$f/gpu_ops.csv"; for x in Llama-2-7b-hf:4096:22016 Meta-Llama-3-8B:4096:28672 phi-2:2560:10240; do
    for m in 1 16 128 1024 4096; do
        echo "$x:$m" | awk -F: '{ printf "a100,%s,1,mlp_up_proj,%d,%d,%d,%.3f\na100,%s,1,add,%d,%d,,%.3f\n", $1, $4, $2, $3, 7e-12 * $4 * $2 * $3 + 1.4e-9 * $2 * $3 + 0.01,
            $1, $4, $2, 5e-9 * $4 * $2 + 0.003 }'
    done
done; } >"$tmp/ops1.csv"
awk -F, -v OFS=, '$2 == "phi-2" { $8 *= 3.1 } { print }' "$tmp/ops1.csv" >"$tmp/ops3.csv"
{ head -n 1 "$f/all_reduce.csv"; for x in a100_dgx,2,2 a100_dgx,4,4 a100_dgx,8,8 a100_pairwise_nvlink,4,4; do
    for b in 2048 65536 1048576 16777216 67108864; do echo "$x,$b" | awk -F, -v OFS=, '{ print $0, 0.008 * $2 + 1e-8 * $4 }'; done
done; } >"$tmp/reduce1.csv"
awk -F, -v OFS=, '$2 == 4 && $1 == "a100_dgx" { $5 *= 3 } { print }' "$tmp/reduce1.csv" >"$tmp/reduce3.csv"
{ head -n 1 "$f/serving.csv"; for x in a100_sxm:2 h100_sxm:1 b200_sxm:0.5; do
    for users in 1 8 32 128; do
        echo "$x:$users" | awk -F: '{ printf "%s-%d,made up; silicon_concurrency=%d,vllm,0.10,meta-llama/Llama-3.1-70B,%s,bf16,agg,1024,256,bfloat16,bfloat16,%d,4,1,1,4,1,,,,,,,,,,,,,,,%.1f,%.2f\n",
            $1, $3, $3, $1, $3, $2 * (150 + 9 * $3), $2 * (14 + 0.1 * $3) }'
    done
done; } >"$tmp/serving1.csv"
awk -F, -v OFS=, '$6 == "h100_sxm" { $33 *= 3; $34 *= 3 } { print }' "$tmp/serving1.csv" >"$tmp/serving3.csv"
thrice() { # NAME BY WHICH: rows of it, left out by BY
    for i in 1 3; do
        "$ROOFCAST" score "$tmp/$1$i.csv" --hardware "$f/hardware.csv" --leave-out "$2" --worst 1000 -o json >"$tmp/out" 2>"$tmp/err"
        jq -c "[.rows | sort_by(.line, .phase)[] | select($3) | .predicted, .measured]" "$tmp/out" >"$tmp/thrice$i"
    done
    jq -s -e '(.[0] | length) as $n | $n >= 8 and $n == (.[1] | length) and ([range(0; $n; 2) as $i | (.[0][$i] / .[1][$i] - 1 | fabs) < 1e-9 and (.[1][$i + 1] / .[0][$i + 1]) > 2.9] | all)' \
        "$tmp/thrice1" "$tmp/thrice3" >/dev/null
}
thrice ops model '.model == "phi-2"'
ok $? "of kernels, whose clock is their own"
thrice reduce topology '.line >= 7 and .line <= 11'
ok $? "of all-reduces"
thrice serving hardware '.hardware == "h100_sxm"'
ok $? "of servers"

# Ten thousands of rows take hundreds of bytes each: roofs and passes are shared. (A sanitizer's build reserves more address space than that
# before it starts.)
if (ulimit -v 300000 && "$ROOFCAST" --version) >/dev/null 2>&1; then
    awk 'BEGIN {
        print "hardware,model,tp,op,m,k,n,median_ms"
        for (i = 1; i <= 12000; i++) printf "a100,Llama-2-7b-hf,1,%s,%d,4096,%s,%.4f\n", i % 2 ? "mlp_up_proj" : "add", i, i % 2 ? "22016" : "", 0.1 + 6e-4 * i * (i % 2)
    }' >"$tmp/many.csv"
    (ulimit -v 300000 && "$ROOFCAST" score "$tmp/many.csv" --worst 0 -o csv) >"$tmp/out" 2>"$tmp/err" && has '^all,12000,0,'
    ok $? "12,000 rows in 300 MB of address space"
    (ulimit -v 300000 && "$ROOFCAST" calibrate "$tmp/many.csv" -o "$tmp/many.json") >"$tmp/out" 2>"$tmp/err" && test -s "$tmp/many.json"
    ok $? "and constants of them"
else
    skip "12,000 rows in 300 MB of address space" "the program does not start in it"
    skip "and constants of them" "the program does not start in it"
fi

# Small models without a preset: bits are the file's over the row's own parameters, and no report reads more than the file.
cat >"$tmp/small.md" <<'M'
| model | size | params | backend | ngl | test | t/s |
| --- | ---: | ---: | --- | --: | ---: | ---: |
| nomic-bert 137M F16 | 260.86 MiB | 136.73 M | CUDA | 99 | tg128 | 500.00 ± 1.00 |
| whisper 74M F16 | 141.00 MiB | 74.00 M | CUDA | 99 | tg128 | 50.00 ± 1.00 |
| llama 7B Q4_0 | 35.60 GiB | 6.74 B | CUDA | 99 | tg128 | 50.00 ± 1.00 |
M
run report "$tmp/small.md" --hw h100-sxm -o csv && is "F16 F16" "$(cells type | head -n 2 | paste -sd ' ')" "a right label of a small model is not doubted"
cells bytes | head -n 2 | paste -sd ' ' | awk '{ exit !($1 > 260e6 && $1 < 290e6 && $2 > 140e6 && $2 < 160e6) }'
ok $? "a step reads the file and its cache"
has 'guessed (no preset): the model.s dimensions'
ok $? "a guess looks like a guess"
has 'more than any type has'
ok $? "more bits a weight than any type has are no model"
printf '%s' '{"model_id":"meta-llama/Llama-3.1-8B-Instruct","completed":100,"failed":7,"total_input_tokens":102400,"total_output_tokens":12800,"duration":20.0,
"max_concurrency":16,"mean_ttft_ms":300.0,"mean_tpot_ms":20.0,"quantization":"fp8","kv_cache_dtype":"fp8"}' >"$tmp/server.json"
run report "$tmp/server.json" --hw h100-sxm -o csv && is "FP8 FP8" "$(cells type | paste -sd ' ')" "a server's own quantization is the type" && has '7 requests failed'
ok $? "requests that failed are said"
# Cards that share every matrix, and cards that share the layers.
cat >"$tmp/cards.md" <<'M'
| model | size | params | backend | ngl | ts | sm | test | t/s |
| --- | ---: | ---: | --- | --: | --- | --- | ---: | ---: |
| llama 70B Q4_K - Medium | 39.59 GiB | 70.55 B | CUDA | 99 | 1.00/1.00 | row | tg128 | 30.00 ± 1.00 |
| llama 70B Q4_K - Medium | 39.59 GiB | 70.55 B | CUDA | 99 | 1.00/1.00 | layer | tg128 | 20.00 ± 1.00 |
M
run report "$tmp/cards.md" --hw rtx-3090 -o csv && is "2 2" "$(cells n_devices | paste -sd ' ')" "the ratios of a split say how many cards there are"
cells mbu | paste -sd ' ' | awk '{ exit !($1 > 0.6 && $1 < 0.75 && $2 > 0.8 && $2 < 1) }'
ok $? "a row split has the bandwidth of both, a layer split of one at a time"
finish
