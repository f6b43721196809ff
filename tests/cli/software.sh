#!/bin/sh
# Predictions with the constants of software: the numbers of score to the last digit, 90 % intervals, anchors, limits.
. "${top_srcdir:?}/tests/cli/lib.sh"
cell() { # COLUMN [NAME=VALUE...], of the first such row
    cells "$@" | head -n 1
}

# Constants of our own: machines of 1000, 500, ... GB/s, and rtx-4090, that decode Llama-3 at four fifths of their bandwidth and read
# prompts at half of their peak.
export ROOFCAST_DATA="$tmp/data"
mkdir -p "$tmp/data/hwprofiles/stacks"
cp -r "$top_srcdir/models" "$tmp/data/models"
cp -r "$top_srcdir/hwprofiles/priors" "$tmp/data/hwprofiles/"
cp "$top_srcdir/hwprofiles/stacks/priors.json" "$top_srcdir/hwprofiles/stacks/rules.json" "$top_srcdir/hwprofiles/stacks/servers.json" "$tmp/data/hwprofiles/stacks/"
for h in classes rtx-4090 rtx-4080 h100-sxm apple-m2; do
    cp "$top_srcdir/hwprofiles/$h.json" "$tmp/data/hwprofiles/"
done
echo '{"schema": "roofcast.constants", "version": 1, "fits": {}}' >"$tmp/data/hwprofiles/stacks/constants.json"
printf 'hardware,class,mem_bw_gbs_per_device,fp32_tflops,fp16_bf16_tflops_dense,int8_tops_dense,fp8_tflops_dense,spec_source,comment,rows\n' >"$tmp/hw.csv"
head='id,source,hardware,n_devices,engine,model,params_b,quant,weight_gib,phase,prompt_len,context_len,batch,tokens_per_s,date_or_build,notes'
echo "$head" >"$tmp/rows.csv"
for m in "Test GPU 1:1000" "Test GPU 2:500" "Test GPU 3:250" "NVIDIA RTX 4090:1008"; do
    name=${m%:*} bw=${m#*:}
    case $name in
    Test*) echo "$name,consumer GPU,$bw,40,160,320,,made up,,6" >>"$tmp/hw.csv" ;;
    esac
    for q in F16:13.98 Q8_0:7.43; do
        echo "$bw:$q" | awk -F: -v name="$name" '{ printf "%s%s,made up,%s,1,llama.cpp (cuda),Llama-3-8B,8.03,%s,,decode,0,64,1,%.2f,2025-06,tags=\n",
            $1, $2, name, $2, 1 / ($3 * 1073741824 / ($1 * 1e9 * 0.8) + 0.0005) }' >>"$tmp/rows.csv"
    done
done
run predict llama-3-8b --hw rtx-4090 -o csv && has 'priors'
ok $? "without constants: what is believed of all machines"
wide=$(cell tok_s_hi phase=decode)/$(cell tok_s_lo phase=decode)
run calibrate "$tmp/rows.csv" --hardware "$tmp/hw.csv" -o "$tmp/data/hwprofiles/stacks/constants.json"
ok $? "constants are fitted"

jq -e '.fits.rate.n_rows > 0 and (.fits.rate.constants | length) > 0 and (.fits.rate.intervals | length) == 0 and (.fits.decode.intervals | length) > 0' \
    "$tmp/data/hwprofiles/stacks/constants.json" >/dev/null
ok $? "steps teach what requests take; how far off requests are they do not say"

refused 2 '--batch-size needs --anchor' predict llama-3-8b --hw rtx-4090 --batch-size 4
refused 2 '--input-len needs --anchor' sweep llama-3-8b --hw rtx-4090 --input-len 4

# Layers spread over devices: passes overlap as the score has it, links beside.
echo "$head" >"$tmp/split.csv"
echo 'a,x,NVIDIA RTX 4090,4,llama.cpp (cuda),llama-3-70b,,Q4_K_M,,prefill,8192,0,1,128,2026-12,tags=layer_split; fa=1' >>"$tmp/split.csv"
run score "$tmp/split.csv" -o json
split=$(jq '.rows[0].predicted' "$tmp/out")
run predict llama-3-70b --hw rtx-4090 -q Q4_K_M -p 8192 -n 0 --pp 4 -o json && jq -e --argjson s "$split" '.rows[0].tok_s / $s | . > 0.97 and . < 1.01' "$tmp/out" >/dev/null
ok $? "a pipeline's prompt is the one of a row whose layers are split"
jq -e '.rows[0] | .compute_s < .seconds and .compute_s > 0.7 * .seconds' "$tmp/out" >/dev/null
ok $? "its stages compute at once"
# A step goes from device to device, which takes the host's time more than the link's.
echo "$head" >"$tmp/split.csv"
echo 'a,x,NVIDIA RTX 4090,4,llama.cpp (cuda),llama-3-8b,,Q4_K_M,,decode,0,512,1,128,2026-12,tags=layer_split; fa=1' >>"$tmp/split.csv"
run score "$tmp/split.csv" -o json
split=$(jq '.rows[0].predicted' "$tmp/out")
run predict llama-3-8b --hw rtx-4090 -q Q4_K_M -p 0 -n 1 -d 512 --pp 4 -o json && jq -e --argjson s "$split" '.rows[0].tok_s / $s | . > 0.999 and . < 1.001' "$tmp/out" >/dev/null
ok $? "a pipeline's step is the one of a row whose layers are split"
run predict llama-3-8b --hw rtx-4090 -q Q4_K_M -p 0 -n 1 -d 512 -o json && jq -e --argjson s "$split" '1 / $s - 1 / .rows[0].tok_s | . > 2e-4 and . < 1e-3' "$tmp/out" >/dev/null
ok $? "it takes a little longer than one device's"
run predict llama-3-8b --hw rtx-4090 -q Q4_K_M -p 512,513 -n 0 --pp 4 -o json && jq -e '.rows[1].seconds / .rows[0].seconds | . > 1 and . < 1.1' "$tmp/out" >/dev/null
ok $? "a token more than a pass has is no prompt cut in two"
refused 2 'no attention but' predict llama-3-8b --hw rtx-4090 --stack vllm --attention materialized

# The peak that stands beside a phase is what its largest product reaches: of the units it runs on, which are INT8's here, with twice FP16's rate.
run predict llama-3-8b -q Q4_K_M --hw rtx-4090 -n 0 --explain -o json && jq -e '.rows[0] | .peak_flop_s as $peak
    | [.explain[] | select(.role == "ffn_gate")][0] | .flop / .compute_s / $peak | . > 0.999999 and . < 1.000001' "$tmp/out" >/dev/null &&
    jq -e '.rows[0].peak_source | test("kernels. math units")' "$tmp/out" >/dev/null
ok $? "the peak of a phase is the one of the units that its products run on"

# ---- the same number as score: 1 sequence of 64 positions, and a prompt, in two passes; values are powers of two, which divide exactly.
# With FlashAttention, and without where scores pass through memory.
echo "$head" >"$tmp/one.csv"
echo 'a,x,NVIDIA RTX 4090,1,llama.cpp (cuda),Llama-3-8B,8.03,Q4_K_M,,decode,0,64,1,128,2026-12,tags=; fa=1
b,x,NVIDIA RTX 4090,1,llama.cpp (cuda),Llama-3-8B,8.03,Q4_K_M,,prefill,1280,0,1,128,2026-12,tags=; fa=1
c,x,NVIDIA RTX 4090,1,llama.cpp (cuda),mixtral-8x7b,,Q8_0,,decode,0,4096,8,128,2026-12,tags=; fa=1
d,x,NVIDIA H100 SXM,1,vLLM 0.9,Llama-3-8B,8.03,F16,,decode,0,1000,64,128,2026-12,tags=
e,x,NVIDIA RTX 4090,1,llama.cpp (cuda),deepseek-v2-lite,,Q8_0,,prefill,512,8192,1,128,2026-12,tags=; fa=1
f,x,NVIDIA RTX 4090,1,llama.cpp (cuda),Llama-3-8B,8.03,Q4_K_M,,prefill,32,0,1,128,2026-12,tags=; fa=1
g,x,NVIDIA RTX 4090,1,llama.cpp (cuda),Llama-3-8B,8.03,Q4_K_M,,decode,0,4096,1,128,2026-12,tags=; no FA
h,x,NVIDIA RTX 4090,1,llama.cpp (cuda),Llama-3-8B,8.03,Q4_K_M,,prefill,512,8192,1,128,2026-12,tags=; no FA
i,x,NVIDIA H100 SXM,1,vLLM 0.9,Llama-3-8B,8.03,F16,,serving,512,,8,128,2026-12,tags=; out=129
j,x,NVIDIA RTX 4090,1,llama.cpp (cuda),mixtral-8x7b,,Q8_0,,serving,1280,,1,128,2026-12,tags=; fa=1; out=65
k,x,NVIDIA RTX 4090,1,llama.cpp (cuda),Llama-3-8B,8.03,Q4_0,,decode,0,64,4,128,2026-12,tags=; fa=1
l,x,NVIDIA RTX 4090,1,llama.cpp (cuda),Llama-3-8B,8.03,IQ4_XS,,decode,0,64,4,128,2026-12,tags=; fa=1
m,x,rtx-5050,1,llama.cpp (cuda),Llama-3-8B,8.03,Q4_K_M,,decode,0,64,1,128,2026-12,tags=; fa=1
n,x,rtx-5050,1,llama.cpp (cuda),Llama-3-8B,8.03,Q4_K_M,,prefill,512,0,1,128,2026-12,tags=; fa=1' >>"$tmp/one.csv"
run score "$tmp/one.csv" --worst 14 -o json
jq -r '.rows | sort_by(.id)[] | "\(.predicted)"' "$tmp/out" >"$tmp/scored"
jq -r '.rows | sort_by(.id)[] | "\(.lo) \(.hi)"' "$tmp/out" >"$tmp/scored.ends"
: >"$tmp/predicted"
: >"$tmp/predicted.ends"
while read model args; do
    run predict $model $args -o json
    jq -r '.rows[0] | "\(.tok_s)"' "$tmp/out" >>"$tmp/predicted"
    jq -r '.rows[0] | "\(.tok_s_lo) \(.tok_s_hi)"' "$tmp/out" >>"$tmp/predicted.ends"
done <<END
llama-3-8b -q Q4_K_M --hw rtx-4090 -p 0 -n 1 -d 64
llama-3-8b -q Q4_K_M --hw rtx-4090 -p 1280 -n 0
mixtral-8x7b -q Q8_0 --hw rtx-4090 -p 0 -n 1 -d 4096 -b 8
llama-3-8b -q F16 --hw h100-sxm --stack vllm -p 0 -n 1 -d 1000 -b 64
deepseek-v2-lite -q Q8_0 --hw rtx-4090 -p 512 -n 0 -d 8192
llama-3-8b -q Q4_K_M --hw rtx-4090 -p 32 -n 0
llama-3-8b -q Q4_K_M --hw rtx-4090 -p 0 -n 1 -d 4096 --attention materialized
llama-3-8b -q Q4_K_M --hw rtx-4090 -p 512 -n 0 -d 8192 --attention materialized
llama-3-8b -q F16 --hw h100-sxm --stack vllm --request 512+129 -b 8
mixtral-8x7b -q Q8_0 --hw rtx-4090 --request 1280+65
llama-3-8b -q Q4_0 --hw rtx-4090 -p 0 -n 1 -d 64 -b 4
llama-3-8b -q IQ4_XS --hw rtx-4090 -p 0 -n 1 -d 64 -b 4
llama-3-8b -q Q4_K_M --hw rtx-5050 -p 0 -n 1 -d 64
llama-3-8b -q Q4_K_M --hw rtx-5050 -p 512 -n 0
END
has_note=$(cat "$tmp/err")
[ "$(wc -l <"$tmp/scored")" = 14 ] && diff "$tmp/scored" "$tmp/predicted" >"$tmp/err"
ok $? "predict and score say the same number, to the last digit"
paste -d ' ' "$tmp/scored.ends" "$tmp/predicted.ends" | awk '{ bad += $1 / $3 < 1 - 1e-5 || $1 / $3 > 1 + 1e-5 || $2 / $4 < 1 - 1e-5 || $2 / $4 > 1 + 1e-5 } END { exit bad > 0 || NR != 14 }'
ok $? "and the same interval"

# ---- a machine nobody described: what its class is believed to have, and an interval as wide as that
case $has_note in
*'no profile of "rtx-5050"'*'estimated as a machine of class consumer GPU: 460 GB/s */ 2.5 (90 %)'*) true ;;
*) false ;;
esac
ok $? "what is guessed of a machine is said"
run predict llama-3-8b --hw rtx-5050 --explain && has 'the machine  *1.733  *(56)  *\*/ 2.47 (90 %), [0-9.]* % of the interval' &&
    has 'guess, of its class (consumer GPU)' && has 'bandwidth x 90 FLOP/B'
ok $? "and explained, with its share"
run predict llama-3-8b --hw rtx-5050 --explain -o json && jq -e '[.rows[] | select(.phase == "decode") | .constants[].share // 0] | add | . > 0.999 and . < 1.001' "$tmp/out" >/dev/null
ok $? "shares of the interval add up to it"
run sweep llama-3-8b --hw rtx-4090,rtx-5050 -o csv && has 'rtx-5050'
ok $? "sweeps take it too"
refused 1 'expected the path of a profile' predict llama-3-8b --hw "toaster 5050"
# One measured point narrows it, to either side: of another guess, faster than the guess allows.
for v in 30 250; do
    { echo "$head" && echo "a,x,rtx-5050,1,llama.cpp (cuda),Llama-3-8B,8.03,Q4_K_M,,decode,0,64,1,$v,2026-12,tags=; fa=1"; } >"$tmp/guess.csv"
    run predict llama-3-8b -q Q4_K_M --hw rtx-5050 -p 0 -n 1 -d 64 --anchor "$tmp/guess.csv" -o csv
    holds "$(cell tok_s) > 0.97 * $v && $(cell tok_s) < 1.03 * $v && $(cell tok_s_hi) < 1.7 * $(cell tok_s_lo) && $(cell memory_s) < $(cell seconds)" "an anchor of $v tokens/s says what such a machine is"
done
# Its name in another spelling than the one asked about, and beside other machines.
{ echo "$head" && echo "a,x,NVIDIA GeForce RTX 5050,1,llama.cpp (cuda),Llama-3-8B,8.03,Q4_K_M,,decode,0,64,1,30,2026-12,tags=; fa=1"; } >"$tmp/spelled.csv"
for hw in rtx-5050 'RTX 5050,h100-sxm' 'h100-sxm,GeForce RTX 5050'; do
    run predict llama-3-8b -q Q4_K_M --hw "$hw" -p 0 -n 1 -d 64 --anchor "$tmp/spelled.csv" -o csv
    v=$(cells tok_s | sort -g | head -n 1)
    holds "$v > 29 && $v < 31" "an anchor of another spelling is of --hw $hw"
done
refused 1 'no profile of "rtx-5050"' predict llama-3-8b -q Q4_K_M --hw rtx-4090 -n 1 --anchor "$tmp/guess.csv"
# Classes of a prompt are priced by a prompt's constants: they add up to what it takes, but for what passes cost beside them.
run predict llama-3-8b -q Q4_K_M --hw rtx-4090 -p 512 -n 0 --explain -o json
jq -e '.rows[0].pipeline | . > 0.98 and . < 1.05' "$tmp/out" >/dev/null
ok $? "a prompt's classes add up to its seconds"
# Sequences of a prompt help, and then hurt: the smallest number that does is found wherever it is.
run predict llama-3-8b -q Q4_K_M --hw rtx-4090 -p 512 -n 0 -o csv
slow=$(cell tok_s)
run predict llama-3-8b -q Q4_K_M --hw rtx-4090 --solve "batch:prefill=tok_s>=$(awk -v v="$slow" 'BEGIN { printf "%.6g", 0.98 * v }')" -o json
is "true 1" "$(jq -r '.rows[0] | "\(.found) \(.value)"' "$tmp/out")" "one sequence is enough for what it reaches"
run predict llama-3-8b -q Q4_K_M --hw rtx-4090 --what-if b=1 -o json
is "1 1 1" "$(jq -r '[.rows[] | select(.speedup) | .speedup, .speedup_lo, .speedup_hi] | unique | "\(.[0]) \(.[-1]) \(length)"' "$tmp/out")" "a change that changes nothing has no interval"
# A file of llama-bench whose rows name two machines, neither by its profile's name: rows of the other are left out. A file of layers that were left to the host is none.
jq '[.[0], (.[0] | .gpu_info = "NVIDIA GeForce RTX 4080" | .avg_ts /= 3 | .avg_ns *= 3)]' "$top_srcdir/tests/fixtures/measure/llama-bench.json" >"$tmp/two.json"
run predict llama-3-8b -q Q4_K_M --hw rtx-4090 -n 1 --anchor "$tmp/two.json" -o csv && says '1 rows of other machines (rtx-4080) are ignored, 1 are of rtx-4090'
ok $? "of a file of several machines those rows that are of the one asked about"
jq '[.[0] | .n_gpu_layers = 10]' "$top_srcdir/tests/fixtures/measure/llama-bench.json" >"$tmp/partly.json"
refused 1 'part of its layers ran on another device' predict llama-3-8b -q Q4_K_M --hw rtx-4090 -n 1 --anchor "$tmp/partly.json"
mkdir -p "$tmp/torn/hwprofiles/priors" && cp -r "$tmp/data/." "$tmp/torn/" && echo '{' >"$tmp/torn/hwprofiles/priors/machines.json"
kept=$ROOFCAST_DATA
export ROOFCAST_DATA="$tmp/torn"
refused 1 'machines.json: line 2' predict llama-3-8b --hw rtx-4090 -n 1
export ROOFCAST_DATA="$kept"

# ---- intervals
run predict llama-3-8b --hw rtx-4090 -o csv
is "llama.cpp-cuda machine" "$(cell stack) $(cell basis)" "an RTX 4090 runs llama.cpp-cuda; constants are its own"
known=$(cell tok_s_hi phase=decode)/$(cell tok_s_lo phase=decode)
holds "$(cell tok_s_lo) < $(cell tok_s) && $(cell tok_s) < $(cell tok_s_hi) && $(cell seconds_lo) < $(cell seconds) && $(cell seconds) < $(cell seconds_hi)" \
    "low, value, high"
holds "$(cell ttft_s_lo)/$(cell seconds_lo) == 1 && $(cell itl_s_lo phase=decode)/$(cell seconds_lo phase=decode) == 1" "TTFT and ITL have theirs"
holds "$known < 0.7 * $wide" "what was measured narrows it"
run predict llama-3-8b --hw rtx-4080 -o csv
is "class" "$(cell basis)" "a machine of its class"
class=$(cell tok_s_hi phase=decode)/$(cell tok_s_lo phase=decode)
holds "$known < $class && $class < $wide" "is less sure than the machine, surer than a stranger"
run predict llama-3-8b --hw rtx-4080 && has ' low  *high ' && has 'stack   llama.cpp-cuda  constants of this class of machines' && has '90 % interval'
ok $? "the table says so"
run predict llama-3-8b --hw rtx-4090 --stack none -o csv
is "none" "$(cell stack)none$(cell tok_s_lo)$(cell ttft_s_hi)" "--stack none: no interval"
run predict llama-3-8b --hw rtx-4090 --roof -o csv
is "none" "$(cell basis)none$(cell tok_s_lo)$(cell itl_s_hi)" "--roof: a bound has none"
run predict llama-3-8b --hw rtx-4090 --stack mlx -o csv
is "mlx class" "$(cell stack) $(cell basis)" "another stack on it: its class"
for m in h100-sxm:F16:vllm h100-sxm:Q4_K_M:llama.cpp-cuda apple-m2:Q4_K_M:llama.cpp-metal; do
    IFS=: read h q s <<END
$m
END
    run predict llama-3-8b --hw $h -q $q -o csv
    is "$s" "$(cell stack)" "$h runs $q with $s by default"
done
refused 2 '--stack: no stack "llama.cpp-cud"; the nearest name is "llama.cpp-cuda"' predict llama-3-8b --hw rtx-4090 --stack llama.cpp-cud

# ---- where it comes from
run predict llama-3-8b --hw rtx-4090 -p 0 --explain -o json
is "1.000000" "$(jq '[.rows[0].constants[].share | values] | add' "$tmp/out" | awk '{ printf "%.6f", $1 }')" "shares of the interval add up to 1"
jq -e '.rows[0].constants | map(select(.name == "bandwidth"))[0] | .spread > 1 and .share > 0 and (.source | test("hardware=rtx-4090") and test("rows.csv"))' \
    "$tmp/out" >/dev/null
ok $? "a constant has its spread, its share, and what it is made of"
jq -e '.rows[0] | (.explain_s * .pipeline / .seconds) | . > 0.999999 and . < 1.000001' "$tmp/out" >/dev/null
ok $? "the classes and what passes cost add up to the prediction"
run predict llama-3-8b --hw rtx-4090 --request 512+64 --explain -o json
jq -e '.rows[0] | ([.constants[].share | values] | add) as $share | ([.explain[] | .times * .seconds] | add) as $s |
    $share > 0.999999 and $share < 1.000001 and ($s / .explain_s - 1 | fabs) < 1e-9 and (.explain_s * .pipeline / .seconds - 1 | fabs) < 1e-9 and
    .pipeline > 0.8 and .pipeline < 1.25 and ([.explain[].times] | unique) == [1, 63] and (.constants | map(select(.name == "request")) | length) == 1' "$tmp/out" >/dev/null
ok $? "a request's constants have their shares of its interval, its parts add up to it"
run predict llama-3-8b --hw rtx-4090 --explain
! has 'of the interval: ;'
ok $? "a constant that nothing sets apart says so"
awk '/^decode, /{ on = 1 } on && length > 120 { bad = 1 } END { exit bad || !on }' "$tmp/out"
ok $? "in 120 columns"
run predict llama-3-8b --hw rtx-4090 -p 0 --what-if launch=0 --what-if e_bandwidth=0.5 --what-if bandwidth=x2 --request 512+64 -n 16 -o csv
holds "$(cells speedup | sed -n 2p) > 1 && $(cells speedup | sed -n 3p) < 0.75 && $(cells speedup | sed -n 4p) > 1.5" "what-ifs change constants"
holds "$(cells tok_s_lo | sed -n 3p) > 0 && $(cells tok_s_hi | sed -n 3p) / $(cells tok_s_lo | sed -n 3p) < $(cells tok_s_hi | sed -n 1p) / $(cells tok_s_lo | sed -n 1p)" \
    "what is set is known"
ratio() { # N: the ratio of that row and its interval, relative to it
    for c in speedup speedup_lo speedup_hi; do cells $c | sed -n "$1p"; done | xargs | awk '{ printf "%.6g %.6g %.6g", $1, $2 / $1, $3 / $1 }'
}
run predict llama-3-8b --hw rtx-4090 -p 0 --what-if bandwidth=x2 --what-if memory=x2 --what-if b=8 -o csv
is "none" "none$(cells speedup_lo | sed -n 1p)" "the row itself has no ratio"
set -- $(ratio 2)
holds "$2 < 1 && $3 > 1 && $3 / $2 < 0.5 * ($(cell tok_s_hi) / $(cell tok_s_lo) - 1) + 1" "a ratio's interval: what both rows err by cancels"
is "1 1 1" "$(ratio 3)" "more memory changes nothing, for sure"
set -- $(ratio 4)
holds "$2 < 1 && $3 > 1" "other passes have errors of their own"
run predict llama-3-8b --hw rtx-4090 -p 0 --what-if bandwidth=x2 && has 'ratio  *ratio low  *ratio high' && has '^(errors common to both rows cancel'
ok $? "in the table"
run predict llama-3-8b --hw rtx-4090 --stack none -p 0 --what-if bandwidth=x2 -o json
jq -e '.rows[1] | .speedup > 1 and .speedup_lo == null and .speedup_hi == null' "$tmp/out" >/dev/null
ok $? "without constants it has none"

# ---- anchors: this machine reaches less than its constants say
echo "$head" >"$tmp/anchor.csv"
run predict llama-3-8b --hw rtx-4080 -q F16 -p 0 -n 1 -d 64 -o csv
before=$(cell tok_s) ratio=$(cell tok_s_hi)/$(cell tok_s_lo)
echo "a,x,NVIDIA RTX 4080,1,llama.cpp (cuda),Llama-3-8B,8.03,F16,,decode,0,64,1,$(awk "BEGIN { print $before * 0.85 }"),2025-06,tags=" >>"$tmp/anchor.csv"
run predict llama-3-8b --hw rtx-4080 -q F16 -p 0 -n 1 -d 64 --anchor "$tmp/anchor.csv" -o csv
is "machine" "$(cell basis)" "an anchor is of the machine"
holds "$(cell tok_s) > $before * 0.83 && $(cell tok_s) < $before * 0.9 && $(cell tok_s_hi)/$(cell tok_s_lo) < 0.95 * $ratio" "it moves and narrows the prediction"
run score "$tmp/anchor.csv" -o json
run predict llama-2-7b --hw rtx-4080 -q Q8_0 -p 0 -n 1 -d 64 -o csv
other=$(cell tok_s)
run predict llama-2-7b --hw rtx-4080 -q Q8_0 -p 0 -n 1 -d 64 --anchor "$tmp/anchor.csv" -o csv
holds "$(cell tok_s) < 0.97 * $other" "of another model too"
echo '[{"build_commit": "x", "build_number": 6000, "cpu_info": "c", "gpu_info": "NVIDIA GeForce RTX 4080", "backends": "CUDA", "model_filename": "llama-3-8b.gguf",
  "model_type": "llama 8B F16", "model_size": 16060522496, "model_n_params": 8030261248, "n_batch": 2048, "n_ubatch": 512, "n_threads": 8, "type_k": "f16",
  "type_v": "f16", "n_gpu_layers": 99, "flash_attn": true, "n_prompt": 0, "n_gen": 128, "n_depth": 0, "test_time": "2025-06-01T00:00:00Z", "avg_ns": 4196721311,
  "stddev_ns": 1, "avg_ts": 30.5, "stddev_ts": 0.1, "samples_ns": [1], "samples_ts": [30.5]}]' >"$tmp/bench.json"
run predict llama-3-8b --hw rtx-4080 -p 0 --anchor "$tmp/bench.json" -o csv
is "llama.cpp-cuda machine" "$(cell stack) $(cell basis)" "llama-bench's output is an anchor"
run predict llama-3-8b --hw rtx-4080,apple-m2 -p 0 --anchor "$tmp/bench.json" -o csv
is "llama.cpp-cuda llama.cpp-metal" "$(cells stack | paste -sd ' ')" "a machine beside the anchor's runs what such machines run"
run predict llama-3-8b --hw rtx-4080,apple-m2 -p 0 --stack llama.cpp-vulkan --anchor "$tmp/bench.json" -o csv
is "llama.cpp-vulkan llama.cpp-vulkan" "$(cells stack | paste -sd ' ')" "or what --stack says"
! grep -q 'according to the file' "$tmp/err" && run predict llama-3-8b --hw rtx-3060ti -p 0 --anchor "$tmp/bench.json" -o csv &&
    grep -q 'bench.json: measured on NVIDIA GeForce RTX 4080 (rtx-4080) according to the file, used as measured on rtx-3060ti' "$tmp/err"
ok $? "of another machine than it says: said"
{ sed '$d' "$tmp/bench.json"; sed -n '$s/}\]$/},/p' "$tmp/bench.json"; sed 's/^\[//; s/RTX 4080/RTX 4090/' "$tmp/bench.json"; } >"$tmp/second.json"
run predict llama-3-8b --hw rtx-4080 -p 0 --anchor "$tmp/second.json" -o csv &&
    grep -q 'second.json: 1 rows of other machines (rtx-4090) are ignored, 1 are of rtx-4080' "$tmp/err"
ok $? "of any of its tests"
sed 's/"cpu_info": "c", "gpu_info": "[^"]*", "backends": "CUDA"/"cpu_info": "AMD EPYC 9654 96-Core Processor", "gpu_info": "", "backends": "CPU"/; s/"n_gpu_layers": 99/"n_gpu_layers": 0/; s/30\.5/15/g; s/4196721311/8533333333/' \
    "$tmp/bench.json" >"$tmp/cpu.json"
echo '{"schema": "roofcast.hwprofile", "version": 1, "name": "here", "kind": "cpu", "topology": {"cpu": "AMD EPYC 9654 96-Core Processor"},
  "spec": {"memory_bandwidth": "460.8 GB/s", "peaks": {"fp32": "7 TFLOP/s"}}}' >"$tmp/here.json"
run predict llama-3-8b --hw "$tmp/here.json" -p 0 --anchor "$tmp/cpu.json" -o csv && ! grep -q 'according to the file' "$tmp/err" &&
    run predict llama-3-8b --hw xeon-8592plus -p 0 --anchor "$tmp/cpu.json" -o csv && grep -q '(epyc-9654) according to the file' "$tmp/err"
ok $? "a profile of its CPU that is the user's own is no other machine"
# What servers' benchmarks say of a step: of one user it is the time between tokens, believed less than a step that was timed itself.
serve() { # USERS TPOT_MS [MODEL]
    echo "{\"model_id\": \"${3-meta-llama/Llama-3.1-8B-Instruct}\", \"completed\": 100, \"total_input_tokens\": 102400, \"total_output_tokens\": 12800, \"duration\": 40,
        \"max_concurrency\": $1, \"mean_ttft_ms\": 60, \"mean_tpot_ms\": $2}"
}
step() { # ARGS...: of an H100 with a context of 1088
    run predict llama-3.1-8b --hw h100-sxm -p 0 -n 1 -d 1088 -o csv "$@"
}
step && before=$(cell tok_s) ratio=$(cell tok_s_hi)/$(cell tok_s_lo)
serve 1 8 >"$tmp/serve.json"
{ echo "$head"; echo 'a,x,NVIDIA H100 SXM,1,vLLM,Llama-3.1-8B,8.03,F16,,decode,0,1088,1,125,2025-06,tags='; } >"$tmp/step.csv"
step --anchor "$tmp/step.csv" && timed=$(cell tok_s) narrow=$(cell tok_s_hi)/$(cell tok_s_lo)
step --anchor "$tmp/serve.json" && says 'serve.json: taken as a decode step of 1 sequence in 8 ms by vllm, uncertainty 5 %'
ok $? "vLLM's bench serve is an anchor of steps"
holds "($timed - $before) * ($(cell tok_s) - $before) > 0 && ($(cell tok_s) - $before) / ($timed - $before) > 0.5" "it moves the prediction"
holds "$(cell tok_s_hi)/$(cell tok_s_lo) < 0.95 * $ratio && $narrow < 0.98 * $(cell tok_s_hi)/$(cell tok_s_lo)" "narrows it, less than a step that was timed"
serve 1 8 '' >"$tmp/unnamed.json"
step --anchor "$tmp/unnamed.json" && of16=$(cell tok_s) && step -q FP8 --anchor "$tmp/unnamed.json" && of8=$(cell tok_s) && serve 1 4 '' >"$tmp/unnamed.json" &&
    step -q FP8 --anchor "$tmp/unnamed.json"
holds "$(cell tok_s) > 1.2 * $of8 && $of8 > 0.8 * $of16" "weights are of the type asked about, where the file does not say"
printf 'Metric,avg\nTime to First Token (ms),60\nInter Token Latency (ms),8\nRequest Latency (ms),1076\nRequest Throughput (requests/sec),0.93\nInput Sequence Length (tokens),1024\nOutput Sequence Length (tokens),128\n' >"$tmp/aiperf.csv"
step --anchor "$tmp/aiperf.csv" && says 'in 8 ms by vllm' && step --anchor "$tmp/aiperf.csv" --stack sglang && says 'in 8 ms by sglang'
ok $? "AIPerf's is of the software that --stack says"
refused 2 'aiperf.csv: it does not name its machine: expected one --hw, found 2' predict llama-3.1-8b --hw h100-sxm,rtx-4090 --anchor "$tmp/aiperf.csv"
sed 's/Output Sequence Length (tokens),128/Output Sequence Length (tokens),1/' "$tmp/aiperf.csv" >"$tmp/one-token.csv"
refused 1 'no usable row: generations of one token have no decode steps' predict llama-3.1-8b --hw h100-sxm --anchor "$tmp/one-token.csv"
refused 1 'times the 3350 GB/s of h100-sxm' predict llama-3.1-70b --hw h100-sxm --anchor "$tmp/aiperf.csv"
run predict llama-3.1-70b --hw h100-sxm --tp 8 --anchor "$tmp/aiperf.csv" && says 'by vllm on 8 devices, uncertainty'
ok $? "its devices are those asked about"
echo '{"elapsed_time": 45, "num_requests": 1000, "total_num_tokens": 413539, "requests_per_second": 22, "tokens_per_second": 9149}' >"$tmp/whole.json"
step --anchor "$tmp/whole.json" && says 'narrows --request alone: its number of concurrent requests is unknown'
ok $? "whole requests say that they are no steps"
# A machine that nobody has a profile of: ten lines of its datasheet, no maker, no id that tells its class.
mkdir "$tmp/own"
echo '{"schema": "roofcast.hwprofile", "version": 1, "name": "GeForce RTX 6099", "kind": "gpu",
  "spec": {"memory_bandwidth": "1000 GB/s", "peaks": {"fp16": "100 TFLOP/s"}}}' >"$tmp/own/mine.json"
run predict llama-3-8b --hw "$tmp/own/mine.json" -p 0 -o csv
is "llama.cpp-cuda class" "$(cell stack) $(cell basis)" "its name says what software it runs and which machines are like it"
before=$(cell tok_s) ratio=$(cell tok_s_hi)/$(cell tok_s_lo)
run predict llama-3-8b --hw "$tmp/own/mine.json" -p 0 --anchor "$tmp/bench.json" -o csv
is "machine" "$(cell basis)" "one measured point makes it known"
holds "$(cell tok_s) < 0.9 * $before && $(cell tok_s_hi)/$(cell tok_s_lo) < 0.9 * $ratio" "and narrows its interval"
cp "$tmp/own/mine.json" "$ROOFCAST_PROFILE"
run predict llama-3-8b --hw this -p 0 --anchor "$tmp/bench.json" -o csv
is "machine" "$(cell basis)" "of this machine too"
run score "$tmp/bench.json" --hw this -o json && has '"n_unpriced": 0' && has '"class": "consumer GPU"'
ok $? "score takes the profile of this machine"
rm "$ROOFCAST_PROFILE"
refused 3 'this machine has no profile yet' score "$tmp/bench.json" --hw this
refused 1 'mine.json' report "$tmp/bench.json" --hw "$tmp/own/not-mine.json"
echo "a,x,own/mine.json,1,llama.cpp,Llama-3-8B,8.03,F16,,decode,0,64,1,30,2025-06,tags=" | { echo "$head"; cat; } >"$tmp/names-file.csv"
(cd "$tmp" && run score names-file.csv) && has 'no profile of'
ok $? "what a file of measurements names opens none"
refused 2 '--roof and --anchor are mutually exclusive' predict llama-3-8b --hw rtx-4080 --roof --anchor "$tmp/anchor.csv"
refused 1 'no/such.json' predict llama-3-8b --hw rtx-4080 --anchor no/such.json
sed 's/RTX 4080/Nonesuch/' "$tmp/anchor.csv" >"$tmp/nobody.csv"
refused 1 'no usable row: no profile of' predict llama-3-8b --hw rtx-4080,rtx-4090 --anchor "$tmp/nobody.csv"
sed '$s/decode,0,64,1,[^,]*/decode,0,64,1,94/' "$tmp/anchor.csv" >"$tmp/absurd.csv"
refused 1 'absurd.csv: line 2: expected at most 47.95 tokens/s, found 94, which takes 1412 GB/s of weights and keys, 1.97 times the 717 GB/s of rtx-4080: another' \
    predict llama-3-8b --hw rtx-4080 --anchor "$tmp/absurd.csv"
refused 1 '1.97 times the 717 GB/s' sweep -m llama-3-8b --hw rtx-4080 --anchor "$tmp/absurd.csv" --quiet
refused 2 'anchor is given twice' predict llama-3-8b --hw rtx-4080 --anchor "$tmp/anchor.csv" --anchor "$tmp/anchor.csv"
{ cat "$tmp/anchor.csv"; sed '1d; s/decode,0,64,1,[^,]*/decode,0,64,1,20/' "$tmp/anchor.csv"; } >"$tmp/two.csv"
run predict llama-3-8b --hw rtx-4080 -q F16 -p 0 -n 1 -d 64 --anchor "$tmp/two.csv" && grep -q 'lines 2 and 3 are of one test and differ' "$tmp/err"
ok $? "rows that are mutually exclusive are named"
sed 's/1,20,/1,52,/; s/RTX 4080/RTX 4090/' "$tmp/two.csv" | sed 1d >"$tmp/other.csv"
cat "$tmp/anchor.csv" "$tmp/other.csv" >"$tmp/mixed.csv"
of() { # MACHINES FILE: what is predicted of each with these anchors
    run predict llama-3-8b --hw "$1" -q F16 -p 0 -n 1 -d 64 --anchor "$2" -o csv
    cells tok_s phase=decode | paste -sd ' '
}
{ head -n 1 "$tmp/anchor.csv"; cat "$tmp/other.csv"; } >"$tmp/alone.csv"
alone="$(of rtx-4080 "$tmp/anchor.csv") $(of rtx-4090 "$tmp/alone.csv")"
is "${alone% *}" "$(of rtx-4080 "$tmp/mixed.csv")" "rows of other machines than the one asked about are left out"
grep -q 'rows of other machines are ignored' "$tmp/err"
ok $? "and said to be"
is "$alone" "$(of rtx-4080,rtx-4090 "$tmp/mixed.csv")" "of several machines each is anchored by its own rows"
sed 's/tags=$/"tags=batch_curve,ubatch=1"/' "$tmp/anchor.csv" >"$tmp/curve.csv"
sed '1d; s/decode,0,64,1,[^,]*/decode,0,64,1,20/; s/tags=$/"tags=batch_curve,ubatch=2"/' "$tmp/anchor.csv" >>"$tmp/curve.csv"
run predict llama-3-8b --hw rtx-4080 -q F16 -p 0 -n 1 -d 64 --anchor "$tmp/curve.csv" && ! grep -q 'are of one test' "$tmp/err"
ok $? "passes of other numbers of tokens are other tests"
run predict llama-3-8b --hw rtx-4090 -q F16 -p 0 -n 1 -d 64 --anchor "$tmp/anchor.csv" && grep -q 'no row is of rtx-4090, but of rtx-4080' "$tmp/err"
ok $? "rows of another machine are named"

run predict llama-3-8b --hw rtx-4090 -o csv
decode=$(awk "BEGIN { printf \"%.3g GB/s\", $(cell bandwidth_bytes_s phase=decode) / 1e9 }")
run predict llama-3-8b --hw rtx-4090 -d 0,64 && has "memory  *$decode  *decode; spec" && has '^rtx-4090  *memory .*prefill; spec'
ok $? "the table has the roofs of prompts, and of decoding"
is 2 "$(grep -c ' memory .*; spec' "$tmp/out")" "once each"

run predict llama-3-8b --hw rtx-4090 -q Q4_K_M -n 0 --explain -o json
rate=$(jq -r '[.rows[0].explain[] | select(.role == "ffn_gate")][0] | .flop / .compute_s / 1e12' "$tmp/out" | awk '{ printf "%.3g", $1 }')
run predict llama-3-8b --hw rtx-4090 -q Q4_K_M -n 0 --explain && has "compute [0-9.]* ms ($rate TFLOP/s), launch"
ok $? "--explain says what the units reach: $rate TFLOP/s"

# ---- limits
run predict llama-3-8b --hw rtx-4090 -q F16 -n 1 -d 64 -p 16 --slo 'tok_s>=10' -o csv && is "yes" "$(cell slo_met)" "10 tokens/s: yes"
run predict llama-3-8b --hw rtx-4090 -q F16 -n 1 -d 64 -p 16 --slo 'tok_s>=10,itl<=1ms' -o csv && is "no" "$(cell slo_met)" "1 ms: no"
at=$(cell tok_s phase=decode)
run predict llama-3-8b --hw rtx-4090 -q F16 -n 1 -d 64 -p 16 --slo "tok_s>=$at" -o csv
is "unsure 0.5000" "$(cell slo_met) $(cell slo_chance | awk '{ printf "%.4f", $1 }')" "just what is predicted: one in two"
run predict llama-3-8b --hw rtx-4090 -q F16 -n 1 -d 64 --slo "tok_s>=$at" && has 'SLO  *probability' && has 'unsure  *50.0 %'
ok $? "in the table"
run predict llama-3-8b --hw rtx-4090 --roof --slo "ttft<=1ms" -o csv && is "no " "$(cell slo_met) $(cell slo_chance)" "a bound: no chance, but an answer"
run predict llama-3-8b --hw rtx-4090 -q F16 -n 1 -d 64 -p 16 -o csv
both="ttft<=$(cell ttft_s | awk '{ printf "%.9g", $1 }')s,itl<=$(cell itl_s | awk '{ printf "%.9g", $1 }')s"
run predict llama-3-8b --hw rtx-4090 -q F16 -n 1 -d 64 -p 16 --slo "$both" -o csv
chances="$(cell slo_chance) $(cell slo_chance_lo) $(cell slo_chance_hi)"
echo "$chances $(cell slo_correlation)" | awk '{ want = 0.25 + atan2($4, sqrt(1 - $4 * $4)) / 6.283185307; exit !($4 > 0.35 && $4 < 1 && $1 / want > 0.9999 && $1 / want < 1.0001 && $2 < 1e-6 && $3 > 0.4999) }'
ok $? "limits of prompt and steps at once: less than the lesser chance, by what they have in common"
run sweep -m llama-3-8b --hw rtx-4090 -q F16 -n 1 -d 64 -p 16 --slo "$both" --quiet
is "$(echo "$chances" | awk '{ printf "%.5f %.5f %.5f", $1, $2, $3 }')" \
    "$(echo "$(cell slo_chance) $(cell slo_chance_lo) $(cell slo_chance_hi)" | awk '{ printf "%.5f %.5f %.5f", $1, $2, $3 }')" "sweep says the same"
refused 2 '--slo: expected limits such as' predict llama-3-8b --hw rtx-4090 --slo 'speed>=3'

run predict llama-3-8b --hw rtx-4090 -q F16 --solve 'bandwidth=tok_s>=60' --solve 'batch=itl<=40ms' --solve context=fits -o csv
holds "$(cells value_optimistic | sed -n 1p) < $(cells value | sed -n 1p) && $(cells value | sed -n 1p) < $(cells value_conservative | sed -n 1p)" "the bandwidth that is needed, at both ends"
holds "$(cells value_optimistic | sed -n 2p) > $(cells value | sed -n 2p) && $(cells value | sed -n 2p) > $(cells value_conservative | sed -n 2p)" "sequences likewise, the other way round"
is "0.5000 " "$(cells chance | sed -n 1p | awk '{ printf "%.4f", $1 }') $(cells chance | sed -n 3p)" "at the value one in two; memory is counted, not guessed"

solved() { # FIELD
    jq -r ".rows[0].$1" "$tmp/out"
}
at=300
while run predict llama-3-8b -q F16 -n 1 -d 64 -p 16 --solve "machine=tok_s>=$at" -o json && [ "$(solved found)" = true ]; do
    at=$(solved tok_s | awk '{ printf "%.9g", 1.02 * $1 }')
done
near=$(solved machine_nearest) chance=$(solved chance | awk '{ printf "%.6f", $1 }') text=$(solved answer)
is "null null" "$(solved machine) $(solved machine_conservative)" "a machine that none is, at the prediction"
run predict llama-3-8b --hw "$near" -q F16 -n 1 -d 64 -p 16 --slo "tok_s>=$at" -o csv
is "unsure $chance" "$(cell slo_met) $(cell slo_chance | awk '{ printf "%.6f", $1 }')" "the chance is that of the nearest"
echo "$text" | grep -q "^no machine is sufficient at the prediction (of [0-9]* with known memory): $near comes nearest, [0-9.]* tokens/s, probability [1-9]"
ok $? "in words"

# ---- sweep
run predict llama-3-8b --hw rtx-4090,rtx-4080 -q Q8_0 -b 4 -d 100 -p 512 -n 32 --slo 'tok_s>=300' -o csv
want=$(for h in rtx-4090 rtx-4080; do
    for c in stack ttft_s_lo itl_s_hi slo_met; do cell $c hw=$h phase=decode; done
    cell tok_s_lo hw=$h phase=prefill
    cell tok_s_hi hw=$h phase=decode
done | awk '{ printf /^[0-9]/ ? "%.6g " : "%s ", $1 }')
run sweep -m llama-3-8b --hw rtx-4090,rtx-4080 -q Q8_0 -b 4 -d 100 -p 512 -n 32 --slo 'tok_s>=300' --quiet
is "$want" "$(for h in rtx-4090 rtx-4080; do
    for c in stack ttft_s_lo itl_s_hi slo_met prefill_tok_s_lo decode_tok_s_hi; do cell $c hw=$h; done
done | awk '{ printf /^[0-9]/ ? "%.6g " : "%s ", $1 }')" "sweep says what predict says, its intervals too"

# ---- tokens of a pass: the software's
for c in "vllm:8192" "llama.cpp-cuda:512" "calm:20000"; do
    run predict llama-3-8b --hw h100-sxm -q F16 --stack "${c%:*}" -p 20000 -n 0 -o csv && default="$(cell tok_s) $(cell weight_bytes)"
    run predict llama-3-8b --hw h100-sxm -q F16 --stack "${c%:*}" -p 20000 -n 0 --ub "${c#*:}" -o csv
    is "$(cell tok_s) $(cell weight_bytes)" "$default" "${c%:*} takes ${c#*:} of 20000 tokens at once"
done
run predict llama-3-8b --hw h100-sxm -q F16 --stack none -p 20000 -n 0 -o csv && is 512 "$(cell n_ubatch)" "without constants of software: 512"
run predict llama-3-8b --hw h100-sxm -q F16 --stack vllm -p 20000 -n 0 -o csv && default=$(cell tok_s | awk '{ printf "%.6g", $1 }')
run sweep -m llama-3-8b --hw h100-sxm -q F16 --stack vllm -p 20000 -n 0 --quiet
is "$default" "$(cell prefill_tok_s | awk '{ printf "%.6g", $1 }')" "in sweep as in predict"

# ---- a machine whose kernels were measured
cat >"$tmp/this.json" <<'END'
{"schema": "roofcast.hwprofile", "version": 1, "name": "Test host", "kind": "cpu",
 "spec": {"memory_bandwidth": "100 GB/s", "peaks": {"fp32": "1 TFLOP/s"}},
 "ceilings": [{"name": "read DRAM 2t", "kind": "bandwidth", "level": "DRAM", "n_threads": 2, "value": 4e10, "unit": "B/s", "ci_lo": 3.9e10,
               "ci_hi": 4.1e10, "n_samples": 5},
              {"name": "matvec Q8_0 DRAM 2t", "kind": "kernel", "op": "matvec", "dtype": "Q8_0", "level": "DRAM", "n_threads": 2, "value": 3e10,
               "unit": "B/s", "ci_lo": 2.9e10, "ci_hi": 3.1e10, "n_samples": 5}]}
END
run predict llama-3-8b --hw this -q Q8_0 -p 0 -n 1 -o csv
is "roofcast kernels" "$(cell stack) $(cell basis)" "a machine that was profiled keeps its kernels"
holds "$(cell tok_s_lo) < $(cell tok_s) && $(cell tok_s_hi)/$(cell tok_s_lo) > 1.2 && $(cell tok_s_hi)/$(cell tok_s_lo) < 2.5" "and has an interval"
narrow=$(cell tok_s_hi)/$(cell tok_s_lo)
sed -i 's/2.9e10/2e10/; s/3.1e10/4.5e10/' "$tmp/this.json"
run predict llama-3-8b --hw this -q Q8_0 -p 0 -n 1 -o csv
holds "$(cell tok_s_hi)/$(cell tok_s_lo) > 1.1 * $narrow" "which is that of its ceilings and what kernels leave open"
# A kernel that was measured above the loads' bandwidth is what the machine does: the roof is no lower, and the interval ends there.
sed -i 's/"value": 3e10/"value": 6e10/; s/2e10, "ci_hi": 4.5e10/5e10, "ci_hi": 7e10/' "$tmp/this.json"
run predict llama-3-8b --hw this -q Q8_0 -p 0 -n 1 -o csv
rate=$(cell tok_s) most=$(cell tok_s_hi)
run predict llama-3-8b --hw this -q Q8_0 -p 0 -n 1 --roof -o csv
holds "$(cell tok_s) >= $rate && $(cell tok_s) * 1.000001 > $most && $(cell tok_s) > 5" "a kernel above the roof is the roof"
sed -i 's/"value": 6e10/"value": 3e10/; s/"ci_lo": 5e10, "ci_hi": 7e10/"ci_lo": 2e10, "ci_hi": 4.5e10/' "$tmp/this.json"
run predict llama-3-8b --hw this -q Q8_0 -p 0 -n 1 --stack llama.cpp-cpu -o csv
is "llama.cpp-cpu priors" "$(cell stack) $(cell basis)" "another stack has constants there, too"

unset ROOFCAST_DATA
# Shipped constants: an interval whose sides differ.
run predict llama-3-8b --hw rtx-4090 -p 0 --request 512+64 --power 300 --price 2 -o csv
for k in j_per_tok usd_per_mtok; do
    holds "$(cell ${k}_lo)/$(cell $k) < 1 && ($(cell ${k}_hi)/$(cell $k) - $(cell seconds_hi)/$(cell seconds))^2 < 1e-12 && $(cell ${k}_hi)/$(cell $k) > 1.001" "$k is as sure as its seconds"
done
holds "($(cell usd_per_request_lo test=req512+64)/$(cell usd_per_request test=req512+64) - $(cell seconds_lo test=req512+64)/$(cell seconds test=req512+64))^2 < 1e-12" "so is a request's price"
run predict llama-3-8b --hw rtx-4090 --stack none -p 0 --power 300 -o csv
is "none" "none$(cell j_per_tok_lo)$(cell j_per_tok_hi)" "joules without constants have no interval"

run list stacks && has '^llama.cpp-cuda  *[1-9][0-9]*  *512 .*NVIDIA GPU' && has '^roofcast .*CPU, profiled'
ok $? "list stacks: software with its constants"
run list stacks -o json && jq -e '.rows | map(select(.name == "vllm"))[0] | .n_rows > 0 and (.constants | length > 3) and .step_spread > 1' "$tmp/out" >/dev/null
ok $? "each constant with its spread and rows"
finish
