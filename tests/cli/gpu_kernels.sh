#!/bin/sh
# Kernels of servers' engines by themselves: their tables read and scored, attention in steps, and what predictions make of it.
. "${top_srcdir:?}/tests/cli/lib.sh"
f=$top_srcdir/tests/fixtures/measure
shared=${ROOFCAST_SHARED:-$top_srcdir/../shared}/data/measurements/gpu_kernels

run score "$f/gpu_kernels.csv" -o json
is "0 35 gpu_kernels" "$(figure n_unpriced) $(figure n_rows) $(jq -r .kind "$tmp/out")" "a table of attention kernels is read and priced"
jq -e '[.groups[] | select(.group == "hardware=h200_sxm,engine=vllm,phase=decode" or .group == "hardware=l40s" or .group == "op=generation_attention")] | length >= 2' \
    "$tmp/out" >/dev/null
ok $? "its rows are grouped by machine, engine and op"
holds "$(jq '.groups[] | select(.group == "all") | .median_ape' "$tmp/out") < 0.2" "seconds are those of kernels that read a group's keys once"
# Families of kernels: every row has a price, with a machine left out, too; calibrate makes their constants, which score reads.
few=$f/gpu_kernels_products.csv
run score "$few" -o json
is "0 128" "$(figure n_unpriced) $(figure n_rows)" "products of four machines are priced"
holds "$(jq '.groups[] | select(.group == "all") | .median_ape' "$tmp/out") < 0.2" "by constants of kernels.json"
known=$(jq '.groups[] | select(.group == "all") | .median_ape' "$tmp/out")
run score "$few" --leave-out hardware -o json
left=$(jq '.groups[] | select(.group == "all") | .median_ape' "$tmp/out")
is 0 "$(figure n_unpriced)" "each machine by the other three"
holds "$left < 0.35 && $left > $known" "less well than known machines"
sed 's/fp8_block/fp3/' "$few" >"$tmp/k.csv"
run score "$tmp/k.csv" -o json && jq -e '[.rows[] | select(.reason | test("no type .fp3. is known"))] | length > 0 and length < 128' "$tmp/out" >/dev/null
ok $? "an unknown type of operands is a reason"
experts=$f/gpu_kernels_experts.csv
run score "$experts" -o json
is "0 64" "$(figure n_unpriced) $(figure n_rows)" "experts of four machines are priced"
holds "$(jq '.groups[] | select(.group == "all") | .median_ape' "$tmp/out") < 0.25" "by constants of kernels.json"
sed '2s/balanced/powerlaw/; 2s/power_law_[0-9.]*/powerlaw/' "$experts" >"$tmp/k.csv"
refused 1 '(distribution): expected balanced, uniform or power_law_' score "$tmp/k.csv"
run calibrate "$few" "$experts" -o "$tmp/kernels.json"
is "0 64" "$status $(jq '.fits.experts.n_rows' "$tmp/kernels.json")" "two families in one file"
run calibrate "$few" -o "$tmp/kernels.json"
is "0 128" "$status $(jq '.fits.gemm.n_rows' "$tmp/kernels.json")" "constants of a family"
mkdir -p "$tmp/data/hwprofiles/stacks" && cp -r "$top_srcdir"/hwprofiles/*.json "$top_srcdir"/hwprofiles/priors "$tmp/data/hwprofiles/" &&
    cp "$top_srcdir"/hwprofiles/stacks/*.json "$tmp/data/hwprofiles/stacks/" && ln -s "$top_srcdir/models" "$tmp/data/models"
other() { ROOFCAST_DATA=$tmp/data run "$@"; }
jq '.fits.gemm.constants[0].value *= 9' "$tmp/kernels.json" >"$tmp/data/hwprofiles/stacks/kernels.json"
other score "$few" -o json
holds "$(jq '.groups[] | select(.group == "all") | .bias' "$tmp/out") > 0.5" "score reads kernels.json: a start nine times as long shows"
jq '.fits.gemm.constants[0].name = "start2"' "$tmp/kernels.json" >"$tmp/data/hwprofiles/stacks/kernels.json"
other score "$few"
says 'kernels.json: fits.gemm: constants\[0\]: field "name": expected a constant' && [ "$status" = 1 ]
ok $? "an unknown parameter is an error"
jq '.fits.gemm.intervals[0].name = "interval side=left"' "$tmp/kernels.json" >"$tmp/data/hwprofiles/stacks/kernels.json"
other score "$few"
says 'kernels.json: fits.gemm: intervals\[0\]: field "name"' && [ "$status" = 1 ]
ok $? "an unknown side, too"
run score "$few" -o json
known=$(figure half90)
jq '.fits.gemm.intervals |= reverse' "$top_srcdir/hwprofiles/stacks/kernels.json" >"$tmp/data/hwprofiles/stacks/kernels.json"
other score "$few" -o json
is "0 $known" "$status $(figure half90)" "a class's interval counts wherever it stands in the file"
jq '.fits.collective.constants[1].value = 0' "$top_srcdir/hwprofiles/stacks/kernels.json" >"$tmp/data/hwprofiles/stacks/kernels.json"
other predict llama-3.1-70b --hw h100-sxm --stack vllm --tp 8 -q FP8 -p 0 -n 1 -d 1024
says 'kernels.json: fits.collective: constants\[1\]: field "value": expected' && [ "$status" = 1 ]
ok $? "a prediction that cannot read a constant is an error, not one by priors"
rm "$tmp/data/hwprofiles/stacks/kernels.json"
other score "$few" -o json
is "0 0" "$status $(figure n_unpriced)" "without the file: priors"
# Collectives: libraries' rings, engines' own kernels, and all-reduces of all_reduce.csv, in one family.
for kernels in nccl:144 allreduce:160; do
    run score "$f/gpu_kernels_${kernels%:*}.csv" -o json
    is "0 ${kernels#*:}" "$(figure n_unpriced) $(figure n_rows)" "collectives of four machines are priced: ${kernels%:*}"
    holds "$(jq '.groups[] | select(.group == "all") | .median_ape' "$tmp/out") < 0.2" "by constants of kernels.json"
done
run calibrate "$f/gpu_kernels_nccl.csv" "$f/gpu_kernels_allreduce.csv" "$f/all_reduce.csv" -o "$tmp/kernels.json"
is "0 307" "$status $(jq '.fits.collective.n_rows' "$tmp/kernels.json")" "one family learns from three files"
# Collectives of a server that is left out: without the constants of its machine's own kernels.
jq '.fits.collective.constants |= map(if .name | test("=(b200-sxm|datacenter Blackwell)$") then .value *= 9 else . end)' \
    "$top_srcdir/hwprofiles/stacks/kernels.json" >"$tmp/data/hwprofiles/stacks/kernels.json"
blackwell() { "$1" score "$f/serving.csv" $2 -o json && jq -c '[.rows[] | select(.hardware == "b200_sxm") | .predicted] | sort' "$tmp/out"; }
for leave in "" hardware generation class; do
    is "$([ "$leave" ] && echo true || echo false)" \
        "$(jq -n --argjson a "$(blackwell run "${leave:+--leave-out $leave}")" --argjson b "$(blackwell other "${leave:+--leave-out $leave}")" '$a == $b and ($a | length) > 1')" \
        "collectives of a machine depend on its own kernels, not where it is left out: ${leave:-nothing}"
done
jq '.fits.collective.constants |= map(if .name == "kernel" then .value *= 9 else . end)' "$top_srcdir/hwprofiles/stacks/kernels.json" \
    >"$tmp/data/hwprofiles/stacks/kernels.json"
several() { "$@" predict llama-3.1-70b --hw h100-sxm --stack vllm --tp 8 -q FP8 -p 0 -n 1 -d 1024 -o json && itl=$(figure itl_s); }
several run
quick=$itl
several other
holds "$itl > 1.2 * $quick && $itl < 4 * $quick" "predictions of several devices price collectives by kernels.json"
digest() { "$@" simulate llama-3.1-8b --hw h100-sxm --requests 1 -o json && jq -r .constants "$tmp/out"; }
[ "$(digest other)" != "$(digest run)" ] && digest other | grep -qx '[0-9a-f]\{16\}'
ok $? "the digest of constants that a simulation prints is of kernels.json, too"
sed '2,$s/^[^,]*,/nonsense_sxm,/' "$f/gpu_kernels_nccl.csv" >"$tmp/k.csv"
run score "$tmp/k.csv" -o json && jq -e '[.rows[] | .reason | test("guessed: peak bandwidth link")] | all' "$tmp/out" >/dev/null
ok $? "an unknown name: machine and link are guessed, and rows say so"
run score "$few" --leave-out hardware -o json
left=$(figure half90)
sed '2,$s/^[^,]*,/nonsense_sxm,/' "$few" >"$tmp/k.csv"
run score "$tmp/k.csv" -o json
holds "$(figure half90) > 1.1 * $left" "its interval is wider than that of a machine that is described and not measured"
least=$(jq '.classes[] | select(.name == "datacenter GPU") | .bandwidth.ln_sd * 2 * 1.645' "$top_srcdir/hwprofiles/priors/machines.json")
for kernels in _gemm _experts "" _attention _mla _nccl _allreduce; do
    { sed -n 1p "$f/gpu_kernels$kernels.csv"; sed '1d; s/^[^,]*,/nonsense_sxm,/' "$f/gpu_kernels$kernels.csv" | awk 'NR % 8 == 1'; } >"$tmp/k.csv"
    run score "$tmp/k.csv" --leave-out hardware -o json
    holds "$(figure n_unpriced) == 0 && $(jq '[.rows[] | .hi / .lo | log] | min' "$tmp/out") > $least" \
        "and at least as wide as its class's bandwidth (56): gpu_kernels$kernels.csv"
    jq -e '[.rows[] | .reason | test("guessed: .*bandwidth.*from its class \\(datacenter GPU\\)")] | all' "$tmp/out" >/dev/null
    ok $? "which its rows name"
done
sed '2s/,half,/,h2,/' "$f/gpu_kernels_nccl.csv" >"$tmp/k.csv"
refused 1 '(nccl_dtype): expected half, float16' score "$tmp/k.csv"
sed '2,$s/^[^,]*,/gb200_sxm,/' "$f/gpu_kernels_nccl.csv" >"$tmp/k.csv"
run score "$tmp/k.csv" -o json
is 0 "$(figure n_unpriced)" "a machine without measurements is priced by its links"
edit() { sed "$1" "$f/gpu_kernels.csv" >"$tmp/k.csv"; }
edit '2s/,1,1,1,128,1,bfloat16/,1,3,2,128,1,bfloat16/'
refused 1 '(num_key_value_heads): expected a divisor of num_heads (3), found 2' score "$tmp/k.csv"
edit '2s/,128,1,bfloat16/,128,4,bfloat16/'
refused 1 '(beam_width): expected 1' score "$tmp/k.csv"
{ sed -n 1p "$f/gpu_kernels.csv"; awk -F, -v OFS=, 'NR == 2 { $7 = 2097152; $8 = $9 = 64 } NR == 2' "$f/gpu_kernels.csv"; } >"$tmp/k.csv"
refused 1 '(isl): expected at most 67108864 / num_heads (64), found 2.09715e+06' score "$tmp/k.csv"
edit '2s/bfloat16,2047/fp3,2047/'
run score "$tmp/k.csv" -o json && jq -e '[.rows[] | select(.reason | test("no type .fp3. is known"))] | length == 1' "$tmp/out" >/dev/null
ok $? "an unknown type of the cache is a reason"
edit '2s/[^,]*,$/,/'
refused 1 '(latency)' score "$tmp/k.csv"

run calibrate "$f/gpu_kernels.csv" "$f/gpu_kernels_mla.csv" -o "$tmp/c.json"
is "0 35 50" "$status $(jq -r '"\(.fits.attention.n_rows) \(.fits.mla.n_rows)"' "$tmp/c.json")" "constants of attention"
# Prompts, and MLA: four machines, each engine, by constants and by the other machines.
for kernels in attention:120 mla:50; do
    few=$f/gpu_kernels_${kernels%:*}.csv
    run score "$few" -o json
    is "0 ${kernels#*:}" "$(figure n_unpriced) $(figure n_rows)" "kernels of four machines are priced: ${kernels%:*}"
    holds "$(jq '.groups[] | select(.group == "all") | .median_ape' "$tmp/out") < 0.2" "by constants of kernels.json"
    run score "$few" --leave-out hardware -o json
    holds "$(figure n_unpriced) == 0 && $(jq '.groups[] | select(.group == "all") | .median_ape' "$tmp/out") < 0.4" "each machine by the other three"
done
sed '2,$s/^[^,]*,/gb200_sxm,/' "$few" >"$tmp/k.csv"
run score "$tmp/k.csv" -o json
is 0 "$(figure n_unpriced)" "a machine without measurements is priced by its multiprocessors, clock, bandwidth and peak"
run report "$f/gpu_kernels.csv" && has 'generation_attention 64 heads of 128, 8 of keys x32@d2047'
ok $? "report has a row of each"

# One layer on an H200, as vLLM runs it: the seconds of its attention, of the explanation.
layer() { # HEADS KEY-HEADS HEAD-DIM
    printf '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": %d, "num_attention_heads": %d, "num_key_value_heads": %d,
 "head_dim": %d, "num_hidden_layers": 1, "intermediate_size": 1024, "vocab_size": 1024, "rms_norm_eps": 1e-5, "max_position_embeddings": 131072}' \
        $(($1 * $3)) "$1" "$2" "$3" >"$tmp/layer.json"
}
attention_us() { # KV-TYPE BATCH DEPTH
    run predict "$tmp/layer.json" --hw h200-sxm --stack vllm -q BF16 -p 0 -n 1 --kv-type "$1" -b "$2" -d "$3" --explain -o json &&
        us=$(jq '[.rows[0].explain[] | select(.role == "attn_core") | .seconds] | add * 1e6' "$tmp/out")
}
layer 16 1 128
attention_us F16 256 1023
holds "$us > 40 && $us < 67" "16 heads on one of keys, 256 sequences: 53.5 us as measured"
few=$us
is fa3 "$(jq -r '.rows[0].explain[] | select(.role == "attn_core") | .kernel' "$tmp/out")" "the explanation names the kernel"
layer 64 1 128
attention_us FP8 128 1023
holds "$us > 17 && $us < 29" "64 on one, 128 sequences, cache of FP8: 23.0 us as measured"
layer 1 1 128
attention_us F16 256 1023
holds "$us > 0.8 * $few && $us < 1.05 * $few" "one head a key takes as long as 16 that share it"
layer 16 1 128
attention_us F16 256 8191
long=$us
attention_us FP8 256 8191
holds "$us < 0.9 * $long" "a cache of FP8 takes less"
layer 16 1 512
attention_us FP8 16 8191
holds "$us > 62 && $us < 117" "heads of 512, 16 on one, 16 sequences, cache of FP8: 89.6 us as measured"
layer 4 1 512
attention_us F16 16 4095
holds "$us > 33 && $us < 57" "4 on one, 16 sequences: 44.1 us as measured"
run predict llama-3.1-70b --hw b200-sxm --stack vllm -q FP8 -p 0 -n 1 -b 64 -d 8192 --kv-type FP8 -o json
narrow=$(figure itl_s)
run predict llama-3.1-70b --hw b200-sxm --stack vllm -q FP8 -p 0 -n 1 -b 64 -d 8192 -o json
holds "$narrow < 0.85 * $(figure itl_s)" "of a whole step, too"
for hw in h200-sxm b200-sxm; do
    run predict llama-3.1-70b --hw "$hw" --stack vllm -q FP8 -p 0 -n 1 -b 64 -d 8192 --explain -o json
    is "memory memory" "$(jq -r '.rows[0] | "\(.bound) \(.explain[] | select(.role == "attn_core") | .bound)"' "$tmp/out")" \
        "Llama 3.1 70B, 64 sequences of 8192 positions on $hw: bound by memory, which its cache's bytes are the most of"
done

if [ -f "$shared/generation_attention.csv" ]; then
    run score "$shared/generation_attention.csv" --by hardware -o json
    for hw in a100_sxm h200_sxm b200_sxm l40s; do
        is true "$(jq --arg g "hardware=$hw" '.groups[] | select(.group == $g) | .unpriced == 0 and .median_ape <= 0.15 and .p90_ape <= 0.4' "$tmp/out")" \
            "attention kernels of $hw: median error at most 15 %, nine in ten within 40 %"
    done
    for t in gemm moe nccl custom_allreduce context_attention generation_mla context_mla; do
        head -n 3 "$shared/$t.csv" >"$tmp/$t.csv"
        run score "$tmp/$t.csv" -o json && jq -e '.n_rows == 2 and .kind == "gpu_kernels"' "$tmp/out" >/dev/null
        ok $? "$t.csv is recognised"
    done
else
    skip "attention kernels of four machines" "no $shared"
fi
finish
