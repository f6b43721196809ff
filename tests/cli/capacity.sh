#!/bin/sh
# roofcast capacity: rates within an objective, grids, formats, probabilities, commands, charts, threads, ranks, what is refused, an interrupt.
. "${top_srcdir:?}/tests/cli/lib.sh"
cap() { # ARGS...: a small load
    run capacity llama-3.1-8b --workload random:in=512,out=64 --requests 200 "$@"
}
slo='p99:ttft=1s,itl=80ms'

# ---- one deployment
cap -q BF16 --hw h100-sxm --slo $slo && head -n 1 "$tmp/out" | grep -q "^llama-3.1-8b within $slo: [0-9.]* requests/s ([0-9.]* with probability 0.9, [0-9.]* with 0.5) on h100-sxm, BF16, 1 device"
ok $? "the first words are the rate, and how sure it is"
cap -q BF16 --hw h100-sxm --slo $slo -o csv && cp "$tmp/out" "$tmp/csv"
rate=$(cells rate) saturation=$(cells saturation)
holds "$rate > 1 && $rate <= 1.2 * $saturation && $(cells ttft_p99_s) <= 1 && $(cells itl_p99_s) <= 0.08" "its percentiles are within the objective"
holds "$(cells rate_90) <= $(cells rate_50) && $(cells rate_50) <= $(cells rate_10)" "the surer, the lower"
run simulate llama-3.1-8b -q BF16 --hw h100-sxm --workload random:in=512,out=64 --requests 200 --draws 0 --rate "$(awk -v r="$rate" 'BEGIN { print 0.8 * r }')" --slo $slo -o json &&
    has '"met": true'
ok $? "\`simulate\` at 80 % of it meets the objective"
cap -q BF16 --hw h100-sxm --slo p99:ttft=1s,itl=70ms -o csv
holds "$(cells rate) <= $rate" "a tighter objective has no higher rate"
cap -q BF16 --hw h100-sxm --slo p99:ttft=1us -o csv
is 0 "$(cells rate)" "one that no request meets: 0"
cap -q BF16 --hw h100-sxm --slo p99:ttft=1us && has '^None of 1 deployments meets p99:ttft=1us'
ok $? "which is said"
cap -q BF16 --hw h100-sxm --slo ttft=1s,tpot=60ms -o csv && holds "$(cells rate) > 0" "a joint objective"
cap -q BF16 --hw h100-sxm --slo mean:e2e=5s -o csv && holds "$(cells rate) > 0" "a mean"
cap -q BF16 --hw h100-sxm --slo $slo --draws 0 -o csv
is ",," "$(cells rate_90),$(cells rate_50),$(cells rate_10)" "--draws 0: no probabilities"

# ---- formats
cap -q BF16 --hw h100-sxm --slo $slo -o json --save "$tmp/s.json" && cmp -s "$tmp/out" "$tmp/s.json" && has '"schema": "roofcast.capacity"' && has "\"slo\": \"$slo\""
ok $? "--save writes what -o json prints"
if command -v jq >/dev/null; then
    holds "$(jq '.rows[0].rate' "$tmp/s.json") == $rate" "json has the same rate"
fi
cap -q BF16 --hw h100-sxm --slo $slo -o jsonl && is 1 "$(wc -l <"$tmp/out")" "jsonl"
cap -q BF16 --hw h100-sxm --slo $slo -o md && has '^| h100-sxm' && cap -q BF16 --hw h100-sxm --slo $slo -o sql && has '^INSERT INTO roofcast_capacity'
ok $? "md and sql"
cap -q BF16 --hw h100-sxm --slo $slo --price 2 --draws 0 -o csv
holds "$(cells usd_mtok) > 0" "--price: what a million tokens cost"

# ---- a grid
cap --types BF16,FP8 --hw h100-sxm,rtx-4090 --tps 1,2,16 --seqs 32,128 --budgets 1024,4096 --slo $slo --draws 10 --top 2 -o csv && cp "$tmp/out" "$tmp/grid"
is 49 "$(wc -l <"$tmp/out")" "2 types x 2 machines x 3 degrees x 2 x 2 settings, and a header"
is "" "$(cells rate layout=tp16 | tr -d '\n')" "no link joins 16"
cells device_tok_s | awk '$1 != "" && NR > 1 && $1 > last { bad = 1 } { last = $1; n += $1 != "" } END { exit bad || n < 24 }'
ok $? "best first, by tokens/s of a device"
is "true" "$(cells front | head -n 1)" "the first is of the front"
is "$(cells front | awk 'NR <= 2 || $1 == "true"' | wc -l)" "$(cells rate_50 | grep -c .)" "the best two and the front have probabilities"
cap --types BF16,FP8 --hw h100-sxm,rtx-4090 --tps 1,2,16 --seqs 32,128 --budgets 1024,4096 --slo $slo --draws 0 --top 2 && has ' seqs  *budget ' && has 'more deployments with --top 48' &&
    has '16 deployments cannot be; .*no link'
ok $? "a table has the best and the front, the settings that differ, and why the others cannot be"
cap --types BF16,FP8 --hw h100-sxm,rtx-4090 --tps 1,2,16 --seqs 32,128 --budgets 1024,4096 --slo $slo --draws 10 --top 2 -o csv -t 1 && cmp -s "$tmp/out" "$tmp/grid"
ok $? "the same on one thread"
cap -q BF16 --hw h100-sxm --tps 2 --seqs 128 --budgets 4096 --slo $slo --draws 10 -o csv
one=$(cells rate) half=$(cells rate_50)
cp "$tmp/grid" "$tmp/out"
is "$(cells rate hw=h100-sxm type=BF16 layout=tp2 max_num_seqs=128 max_num_batched_tokens=4096)" "$one" "a row is what the deployment has by itself"
[ -n "$half" ]
ok $? "with its probabilities"
cap -q BF16 --hw h100-sxm --slo $slo --draws 9 -o csv
is ",," "$(cells rate_90),$(cells rate_50),$(cells rate_10)" "fewer than 10 draws: no probabilities"
cap --hw h100-sxm -q BF16 --drafts 0,3 --acceptance 0.8 --slo $slo --draws 0 -o csv && is "0 3" "$(cells num_speculative_tokens | sort -n | paste -s -d' ')" "--drafts"

# ---- commands
launches() { sed -n 's/.*\(vllm serve [^"]*\|llama-server [^"]*\).*/\1/p' "$tmp/out"; }
cap --hw h100-sxm --types BF16,FP8,AWQ --tps 2 --kv-type FP8 --slo $slo --draws 0 -o csv
launches >"$tmp/l"
is 3 "$(grep -c 'vllm serve llama-3.1-8b .*--kv-cache-dtype fp8 --tensor-parallel-size 2 --max-num-seqs 1024 --max-num-batched-tokens 8192 --max-model-len 131072' "$tmp/l")" "vllm serve with devices, KV type and limits"
grep -q -- '--dtype bfloat16' "$tmp/l" && grep -q -- '--quantization fp8' "$tmp/l" && grep -q -- '--quantization awq_marlin' "$tmp/l"
ok $? "and how each type is loaded"
cap --hw h100-sxm --drafts 3 --no-enable-prefix-caching --slo $slo --draws 0 -o jsonl && has -- '--no-enable-prefix-caching --speculative-config .*num_speculative_tokens.*: 3'
ok $? "settings of the server, and drafts"
cap --hw h100-sxm --drafts 3 --draft mtp --slo $slo --draws 0 -o jsonl && has '{.*method.*mtp.*num_speculative_tokens.*: 3}'
ok $? "drafts of the model's own layer"
cap --hw rtx-4090 -q BF16 --slo $slo --draws 0 -o csv
holds "$(launches | sed -n 's/.*--max-model-len \([0-9]*\).*/\1/p') <= 16 * $(cells n_block)" "no longer a context than the KV cache has room for, for vLLM would not start"
cap --hw rtx-4090 -q Q4_K_M --policy llama-server --max-num-seqs 8 --slo p99:ttft=5s --draws 0 -o csv && launches | grep -q '^llama-server -m llama-3.1-8b-Q4_K_M.gguf -ngl 99 -np 8 .*-b 2048 -ub 512'
ok $? "llama-server"

# ---- charts
if command -v gnuplot >/dev/null; then
    cap -q BF16 --hw h100-sxm --slo $slo --draws 10 --chart "$tmp/c" && [ -s "$tmp/c-rates.svg" ] && [ -s "$tmp/c-rates.png" ] && [ -s "$tmp/c-pareto.svg" ] &&
        grep -q 'SLO, TTFT p99: 1.00 s' "$tmp/c-rates.svg"
    ok $? "one deployment: percentiles against the rate"
    holds "$(awk -F'\t' 'NR > 1 && $10 == "TTFT p99"' "$tmp/c-rates.tsv" | wc -l) >= 10" "at 10 %, 20 %, ... of its highest"
    cap --types BF16,FP8 --hw h100-sxm --seqs 16,64 --slo $slo --draws 0 --chart "$tmp/g" && [ -s "$tmp/g-pareto.svg" ] && [ ! -e "$tmp/g-rates.svg" ]
    ok $? "several: the front"
else
    skip "charts" "no gnuplot"
fi

# ---- refused
c="capacity llama-3.1-8b -q BF16 --hw h100-sxm --requests 100"
# shellcheck disable=SC2086
refuse() { refused "$1" "$2" $c $3; }
refuse 2 '--slo: expected an objective' ''
refuse 2 'not ttft, itl, tpot or e2e' '--slo p99:latency=1s'
refuse 2 'unknown policy "vlm"' "--slo $slo --policy vlm"
refuse 2 'no such file or name' "--slo $slo --workload nonsuch"
refuse 1 'max-model-len is 131072' "--slo $slo --workload random:in=2000000,out=1"
refused 1 'leaves no memory for a KV cache on h100-sxm' capacity llama-3.1-70b -q BF16 --hw h100-sxm --slo $slo
refused 1 'none.json: No such file' capacity llama-3.1-8b --hw h100-sxm,./none.json --slo $slo
refuse 2 'tp 3 does not divide' "--slo $slo --tps 3"
refuse 2 '--seqs: expected 1 to' "--slo $slo --seqs 0"
refuse 2 '--tps: expected 1 to' "--slo $slo --tps 0"
refuse 2 '--budgets: expected' "--slo $slo --budgets x"
refuse 2 '--seqs and --max-num-seqs are mutually exclusive' "--slo $slo --seqs 4 --max-num-seqs 4"
refuse 2 '--types and -q are mutually exclusive' "--slo $slo --types FP8"
refuse 2 'expected --drafts or --num-speculative-tokens' "--slo $slo --acceptance 0.5"
refused 2 'all requests are due at once' capacity llama-3.1-8b --hw h100-sxm --slo $slo --requests 1
for option in --save --chart; do
    refuse 1 'cannot write' "--slo $slo $option $tmp/none/x"
done
printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n' >"$tmp/in.csv"
refused 2 'in.csv is an input file' capacity llama-3.1-8b --hw h100-sxm --slo $slo --workload "$tmp/in.csv" --save "$tmp/in.csv"

# ---- an interrupt
"$ROOFCAST" capacity llama-3.1-8b --types BF16,FP8 --hw gpu --tps 1,2,4,8 --seqs 1-200 --slo $slo --requests 1000 --draws 0 -o csv --save "$tmp/i.json" -t 1 \
    >"$tmp/out" 2>"$tmp/err" &
pid=$!
until_ says 'deployments'
begin=$(date +%s%N)
kill -INT $pid
ended $pid
ms=$((($(date +%s%N) - begin) / 1000000))
[ $status -eq 130 ] && says 'interrupted: [0-9]* of [0-9]* deployments are printed' && [ "$(wc -l <"$tmp/out")" -gt 1 ]
ok $? "an interrupt prints what is done (status $status)"
[ ! -e "$tmp/i.json" ] && [ -s "$tmp/i.partial.json" ]
ok $? "and saves it under another name"
[ $ms -lt 5000 ]
ok $? "soon"

# ---- ranks
mpi() { # N ARGS...
    ranks=$1
    shift
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none \
        mpirun -n "$ranks" "$ROOFCAST" "$@"
}
if ! command -v mpirun >/dev/null; then
    skip "ranks of mpirun" "no mpirun"
elif ! "$ROOFCAST" --version | grep -q '^MPI: yes'; then
    skip "ranks of mpirun" "this build has no MPI"
else
    for many in 1 2 3; do
        mpi $many capacity llama-3.1-8b --workload random:in=512,out=64 --requests 200 --types BF16,FP8 --hw h100-sxm,rtx-4090 --tps 1,2,16 --seqs 32,128 \
            --budgets 1024,4096 --slo $slo --draws 10 --top 2 -o csv -t 1 >"$tmp/out" 2>"$tmp/err"
        cmp -s "$tmp/out" "$tmp/grid"
        ok $? "$many ranks print what one process prints"
    done
    mpi 2 capacity llama-3.1-8b --hw h100-sxm -q nonsuch --slo $slo -o csv >"$tmp/out" 2>"$tmp/err"
    [ $? != 0 ] && says nonsuch && [ ! -s "$tmp/out" ]
    ok $? "an error of all ranks"
fi
finish
