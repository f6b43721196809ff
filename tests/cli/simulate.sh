#!/bin/sh
# roofcast simulate: every option and format, both modes, threads, saturation, what is refused, an interrupt.
. "${top_srcdir:?}/tests/cli/lib.sh"
traces=${ROOFCAST_SHARED:-$top_srcdir/../shared}/data/traces
sim() { # ARGS...: a small load
    run simulate llama-3.1-8b -q BF16 --hw h100-sxm --draws 0 "$@"
}
few() {
    sim --requests 120 "$@"
}
value() { # FIGURE: its value in csv rows
    sed 's/"[^"]*"/quoted/g' "$tmp/out" | awk -F, -v f="$1" '$1 == f { print $3 }'
}
json() { # JQ-FILTER
    jq -r "$1" "$tmp/out"
}

# ---- the answer first
few --rate 8 && head -n 1 "$tmp/out" | grep -q '^Stable: [0-9.]* requests/s arrive'
ok $? "the first words say whether it keeps up"
is 0 "$(awk 'NR > 26' "$tmp/out" | grep -c 'figure')" "times and figures fit a screen"
has '^TTFT ' && has '^ITL ' && has '^tokens out ' && ! has '^evicted' && has 'more figures with --wide'
ok $? "figures of most use; the rest are counted"
few --rate 8 --wide && has '^evicted blocks' && has '^steady window' && ! has 'more figures'
ok $? "--wide shows all figures"
few --rate 8 --slo p99:ttft=10s,itl=1s && head -n 1 "$tmp/out" | grep -q 'The SLO p99:ttft=10s,itl=1s holds' && has '^goodput'
ok $? "an SLO that holds"
few --rate 8 --goodput p99:ttft=1ms && head -n 1 "$tmp/out" | grep -q 'does not hold: TTFT'
ok $? "one that does not, under vLLM's name of the option"
run simulate llama-3.1-8b -q BF16 --hw h100-sxm --requests 120 --rate 8 --slo p99:ttft=10s --draws 12 && has 'probability 1.00 over 12 draws' && has 'model low'
ok $? "draws give a probability and the model's spread"
sim --rate 100 --requests 400 && head -n 1 "$tmp/out" | grep -q '^Saturated: .*the queue grows'
ok $? "a load beyond what the machine serves is called saturated"

# ---- formats
few --rate 8 -o csv && cp "$tmp/out" "$tmp/csv" && is 'figure,name,value,unit,lo,hi,n_eff,reason,model_lo,model_mid,model_hi,model_reason' "$(head -n 1 "$tmp/out")" "csv: a row a figure"
ttft=$(value ttft_mean) rate=$(value request_throughput)
holds "$ttft > 0.01 && $ttft < 1 && $rate > 5 && $rate < 9" "of the size that a prompt of 1,024 tokens and 8 requests/s have"
few --rate 8 -o jsonl && is "$(awk 'END { print NR - 1 }' "$tmp/csv")" "$(wc -l <"$tmp/out")" "jsonl: as many rows"
few --rate 8 -o md && has '^| TTFT' && few --rate 8 -o sql && has '^INSERT INTO roofcast_simulate'
ok $? "md and sql"
if command -v jq >/dev/null; then
    few --rate 8 --slo p99:ttft=10s -o json --save "$tmp/s.json" && cmp -s "$tmp/out" "$tmp/s.json"
    ok $? "--save writes what -o json prints"
    is "roofcast.simulate stable true 120 vllm-0.27" "$(json '[.schema, .stability.verdict, .slo.met, .requests, .policy] | join(" ")')" "json: verdict, SLO, requests, policy"
    is "$ttft" "$(json '.rows[] | select(.figure == "ttft_mean") | .value')" "the same figures"
    is "6 true true" "$(json '.timeline | [length, (map(arrays | length) | unique | length == 1), ([.mbu[], .mfu[]] | all(. >= 0 and . < 1))] | join(" ")')" "json: batch, queue, KV cache, MBU and MFU over time"
    few --rate 8 --format vllm --slo p99:ttft=10s --max-concurrency 64
    for key in duration completed failed total_input_tokens total_output_tokens request_throughput request_goodput output_throughput total_token_throughput \
        max_output_tokens_per_s max_concurrent_requests rtfx mean_ttft_ms median_ttft_ms std_ttft_ms p99_ttft_ms mean_tpot_ms p99_tpot_ms mean_itl_ms p99_itl_ms \
        mean_e2el_ms p99_e2el_ms num_prompts request_rate burstiness max_concurrency model_id backend endpoint_type mean_client_queue_time_ms \
        mean_e2el_including_client_queue_ms; do
        [ "$(json "has(\"$key\")")" = true ] || echo "no $key" >>"$tmp/err"
    done
    ! says '^no '
    ok $? "--format vllm has the keys of vllm bench serve"
    is "120 0 122880 15360" "$(json '[.completed, .failed, .total_input_tokens, .total_output_tokens] | join(" ")')" "all requests, and their tokens"
    holds "$(json .mean_ttft_ms) > 10 && $(json .mean_ttft_ms) < 1000 && $(json .median_ttft_ms) == $(json .p50_ttft_ms)" "in milliseconds"
    few --rate 8 --num-speculative-tokens 3 --acceptance 1 --long-prefill-token-threshold 3 --format vllm
    is "3 true" "$(json '"\(.spec_decode_acceptance_length) \(.spec_decode_draft_tokens == 2 * .spec_decode_num_drafts)"')" "a step with room for two of three drafts"
    few --rate 8 --num-speculative-tokens 3 --acceptance 0.7 --format vllm
    holds "$(json .spec_decode_acceptance_rate) > 40 && $(json .spec_decode_acceptance_rate) < 60 && $(json .spec_decode_acceptance_length) > 2" "with drafts their acceptance"
else
    skip "json" "no jq"
fi

# ---- requests, trace, charts
few --rate 8 --requests-to "$tmp/r.csv" && is 121 "$(wc -l <"$tmp/r.csv")" "--requests-to FILE.csv: a row a request"
few --rate 8 --requests-to "$tmp/r.jsonl" && is 120 "$(wc -l <"$tmp/r.jsonl")" "or FILE.jsonl"
few --rate 8 --trace-to "$tmp/t.json"
ok $? "--trace-to"
if command -v jq >/dev/null; then
    is "true" "$(jq -s 'all(.[]; .ttft_s > 0 and .e2e_s >= .ttft_s)' "$tmp/r.jsonl")" "JSON lines are JSON: each has its times"
    holds "$(jq '.traceEvents | length' "$tmp/t.json") > 240" "the trace is JSON: steps and requests"
fi
if command -v gnuplot >/dev/null; then
    few --rate 8 --chart "$tmp/c" && [ -s "$tmp/c-latency.svg" ] && [ -s "$tmp/c-latency.png" ] && [ -s "$tmp/c-timeline.svg" ] && [ -s "$tmp/c-timeline.png" ]
    ok $? "--chart draws latency and timeline"
    few --rate 8 --compare-policies --chart "$tmp/p" && [ -s "$tmp/p.svg" ] && [ -s "$tmp/p.png" ]
    ok $? "and policies side by side"
else
    skip "charts" "no gnuplot"
fi
few --rate 8 --compare-policies -o csv && is 8 "$(wc -l <"$tmp/out")" "--compare-policies: a row an idea"
holds "$(cells out_tok_s name=continuous) > 2 * $(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR == 2 { print $at["out_tok_s"] }' "$tmp/out")" "batches serve more than one by one"

# ---- the same in either mode, with any number of threads, again
figures() { # all but the mean use of KV blocks, which a jump has of its ends, and sums of a jump's bytes and FLOP, which round otherwise
    sed 's/"[^"]*"/quoted/g' "$tmp/out" | awk -F, '$1 != "kv_usage" && $1 != "mbu" && $1 != "mfu" { print $1, $3 }'
}
both_modes() { # NAME ARGS...
    name=$1
    shift
    few -o csv --requests-to "$tmp/1.csv" "$@" && figures >"$tmp/first" && kv=$(value kv_usage) && few -o csv --requests-to "$tmp/2.csv" "$@" --step-by-step &&
        figures >"$tmp/second" && cmp -s "$tmp/first" "$tmp/second" && cmp -s "$tmp/1.csv" "$tmp/2.csv" && [ -s "$tmp/1.csv" ]
    ok $? "--step-by-step gives the same: $name"
    holds "$kv > 0.99 * $(value kv_usage) && $kv < 1.01 * $(value kv_usage)" "and the use of KV blocks within 1 %"
}
both_modes "many requests" --rate 20
both_modes "few blocks" --rate 40 --num-gpu-blocks-override 400
both_modes "sessions" --workload session:turns=4,in=800,new=100,out=60,think=1s --rate 2
run simulate llama-3.1-8b --hw h100-sxm --rate 8 --requests 100 --draws 16 -t 1 -o csv && cp "$tmp/out" "$tmp/first" &&
    run simulate llama-3.1-8b --hw h100-sxm --rate 8 --requests 100 --draws 16 -t 2 -o csv && cmp -s "$tmp/out" "$tmp/first"
ok $? "draws on one thread and on two"
few --rate 8 --seed 7 -o csv && cp "$tmp/out" "$tmp/first" && few --rate 8 --seed 7 -o csv && cmp -s "$tmp/out" "$tmp/first"
ok $? "the same seed gives the same"
few --rate 8 --seed 8 -o csv && ! cmp -s "$tmp/out" "$tmp/first"
ok $? "another seed gives other requests"

# ---- options: each is taken, and changes what it is about
few --rate 25 -o csv
ok $? "a load of 25 requests/s"
cp "$tmp/out" "$tmp/usual"
changes() { # NAME ARGS...
    name=$1
    shift
    few --rate 25 -o csv "$@" && ! cmp -s "$tmp/out" "$tmp/usual"
    ok $? "$name"
}
changes "--policy" --policy vllm-0.13
changes "--policy static" --policy static
changes "--policy llama-server" --policy llama-server
changes "--max-num-seqs" --max-num-seqs 8
changes "--max-num-batched-tokens" --max-num-batched-tokens 1024
changes "--block-size" --block-size 64
changes "--gpu-memory-utilization" --gpu-memory-utilization 0.3
changes "--num-gpu-blocks-override" --num-gpu-blocks-override 500
changes "--no-enable-chunked-prefill" --no-enable-chunked-prefill --max-model-len 4096 --max-num-seqs 16
changes "--no-async-scheduling" --no-async-scheduling
changes "--enforce-eager" --enforce-eager
changes "--long-prefill-token-threshold" --long-prefill-token-threshold 256
changes "--watermark" --num-gpu-blocks-override 500 --watermark 0.3
changes "--num-speculative-tokens" --num-speculative-tokens 2
changes "--acceptance" --num-speculative-tokens 2 --acceptance 0.9,0.5
changes "--acceptance-spread" --num-speculative-tokens 2 --acceptance 0.6 --acceptance-spread 1
changes "--dp" --dp 2
changes "--tp" --tp 2
changes "--kv-type" --kv-type FP8
changes "--burstiness" --burstiness 0.3
changes "--max-concurrency" --max-concurrency 4
changes "--stack" --stack sglang
changes "--draft ngram" --num-speculative-tokens 2 --draft ngram --num-gpu-blocks-override 300
few --rate 8 --num-speculative-tokens 4 --acceptance 0.5 -o csv && free=$(value itl_mean) && blocks=$(value kv_usage) &&
    few --rate 8 --num-speculative-tokens 4 --acceptance 0.5 --draft llama-3.2-1b --draft-type BF16 -o csv
model_itl=$(value itl_mean)
holds "$(value itl_mean) > 1.2 * $free && $(value kv_usage) > 1.1 * $blocks" "--draft: its passes take time, its weights memory"
few --rate 8 --num-speculative-tokens 4 --acceptance 0.5 --draft mtp -o csv
has_note=$(grep -c "estimated as a copy of its last layer" "$tmp/err")
holds "$(value itl_mean) > 1.02 * $free && $(value itl_mean) < $model_itl && $has_note == 1" "--draft mtp: passes of one layer, with a note where the model names none"
changes "--ends" --ends stop --no-async-scheduling
# A machine whose kernels are measured serves as `serve` does, and its steps take what `predict` says.
measured=$top_srcdir/tests/report/curves.json
run simulate llama-3.2-1b -q Q8_0 --hw "$measured" --num-gpu-blocks-override 999 --max-model-len 4096 --requests 1 --rate 1 --workload random:in=128,out=2 --draws 0 -o json && cp "$tmp/out" "$tmp/measured.json" &&
    run predict llama-3.2-1b -q Q8_0 --hw "$measured" -p 128 -n 0 -o json
if command -v jq >/dev/null; then
    is "512 false" "$(jq -r '.settings | [.max_num_batched_tokens, .async_scheduling] | join(" ")' "$tmp/measured.json")" "settings of the engine on a machine whose kernels are measured"
    holds "$(jq '.steps[] | select(.prompt_tok == 128) | .step_s' "$tmp/measured.json") / $(json '[.. | .seconds? // empty][0]') - 1 < 0.03" "and its constants: a step takes what predict says"
fi
run simulate llama-3.1-8b --hw h100-sxm --rate inf --max-concurrency 64 --requests 600 --draws 0 --warmup mser && has 'requests are left out as warm-up (MSER-5'
ok $? "--warmup"
changes "lognormal lengths" --workload lognormal:in=512,out=200,sigma=0.8
few --rate 25 --dp 2 --route least-active -o csv && cp "$tmp/out" "$tmp/first" && few --rate 25 --dp 2 --route round-robin -o csv && ! cmp -s "$tmp/out" "$tmp/first"
ok $? "--route"
few --rate 25 -o csv --requests-to "$tmp/1.csv" && few --rate 25 -o csv --scheduling-policy priority --max-model-len 4096 --requests-to "$tmp/2.csv" && cmp -s "$tmp/1.csv" "$tmp/2.csv"
ok $? "--scheduling-policy and --max-model-len change nothing where no request has a priority or is as long"
run simulate llama-3.1-8b --hw h100-sxm --rate 4 --duration 20s --draws 0 -o csv
holds "$(value request_throughput) > 2" "--duration"
few --rate inf --max-concurrency 8 -o csv
is 8 "$(value max_concurrent_requests)" "--rate inf --max-concurrency 8: a closed loop of 8 users"
few --workload session:turns=5,in=1000,new=100,out=50,think=2s --rate 1 -o csv
holds "$(value prefix_hit_rate) > 0.6 && $(value prefix_hit_rate) <= $(value prefix_hit_rate_infinite)" "later turns of a session find their prefix"
few --workload session:turns=5,in=1000,new=100,out=50,think=2s --rate 1 --no-enable-prefix-caching -o csv
is 0 "$(value prefix_hit_rate)" "without the cache they do not"

# ---- traces
if [ -f "$traces/AzureLLMInferenceTrace_conv.csv" ]; then
    few --workload "$traces/AzureLLMInferenceTrace_conv.csv" --rate 5 -o csv
    holds "$(value request_throughput) > 2" "the Azure trace at 5 requests/s"
    few --workload "$traces/mooncake_conversation_trace.jsonl" -o csv --gpu-memory-utilization 0.95
    holds "$(value prefix_hit_rate_infinite) > 0" "the Mooncake trace shares prefixes"
    run simulate qwen3-30b-a3b -q FP8 --hw h200-sxm --workload "$traces/agentic_sessions.csv" --max-model-len 500000 --requests 60 --draws 0 -o csv
    holds "$(value prefix_hit_rate_infinite) > 0.5" "so do agents"
else
    skip "traces" "no $traces"
fi
printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:45.0,-3,9\n' >"$tmp/bad.csv"
refused 1 'bad.csv' simulate llama-3.1-8b --hw h100-sxm --workload "$tmp/bad.csv"

# ---- saturation against `capacity`
run capacity llama-3.1-8b -q BF16 --hw h100-sxm --slo p99:ttft=60s --requests 300 --draws 0 -o json
saturation=$(figure saturation)
run simulate llama-3.1-8b -q BF16 --hw h100-sxm --requests 1000 --draws 0 --rate "$(awk -v s="$saturation" 'BEGIN { print 2 * s }')" -o json && has '"verdict": "saturated"'
ok $? "twice the rate at which \`capacity\` says it saturates is saturated"
run simulate llama-3.1-8b -q BF16 --hw h100-sxm --requests 1000 --draws 0 --rate "$(awk -v s="$saturation" 'BEGIN { print s / 3 }')" -o json && has '"verdict": "stable"'
ok $? "a third of it is stable"

# ---- refused
s="simulate llama-3.1-8b -q BF16 --hw h100-sxm"
# shellcheck disable=SC2086
refuse() { refused "$1" "$2" $s $3; }
refuse 2 'unknown policy "vlm"' '--policy vlm'
refuse 2 'no such file or name: expected a file, azure-conv' '--workload nonsuch'
refuse 2 'unknown key "foo": expected in, out' '--workload random:in=1,foo=2'
refuse 2 'not ttft, itl, tpot or e2e' '--slo p99:latency=1s'
refuse 1 'max-model-len is 131072' '--workload random:in=2000000,out=1'
refuse 1 'KV blocks of 16 positions: there are' '--max-model-len 4000000 --workload random:in=2000000,out=1'
refuse 1 'takes 72 KV blocks of 16 positions: there are 9' '--num-gpu-blocks-override 10'
refuse 2 'llama-server has none' '--policy llama-server --long-prefill-token-threshold 100'
refuse 2 'kv-offloading-size: llama-server has none' '--policy llama-server --kv-offloading-size 4'
refuse 2 'its slots keep what they computed' '--policy llama-server --no-enable-prefix-caching'
refuse 2 'llama-server hands none over' '--policy llama-server --dp 2 --prefill-replicas 1'
refuse 2 'static has no choice' '--policy static --no-enable-chunked-prefill'
refuse 2 'nothing is loaded' '--kv-load-bandwidth 25GB/s'
refuse 2 'without which nothing is drafted' '--draft ngram'
refuse 2 'expected --draft MODEL' '--num-speculative-tokens 2 --draft-type Q8_0'
refuse 2 'drafts must share it' '--num-speculative-tokens 2 --draft smollm2-135m'
refuse 2 'expected --ramp-up-strategy' '--ramp-up-start-rps 3'
refuse 2 'expected vllm-0.N' '--compare-policies --policy static'
refused 1 'leaves no memory for a KV cache on h100-sxm' simulate llama-3.1-70b -q BF16 --hw h100-sxm
jq 'del(.spec.memory_bytes)' "$top_srcdir/hwprofiles/h100-sxm.json" >"$tmp/no-memory.json" 2>/dev/null &&
    refused 1 'has no memory size: give --num-gpu-blocks-override' simulate llama-3.1-8b --hw "$tmp/no-memory.json"
for rate in 0 -1 nan x 1/min; do
    refuse 2 "--rate: expected requests a second, 8 or inf; found \"$rate\"" "--rate=$rate"
done
refuse 2 '--requests: expected 1 to' '--requests 0'
refuse 1 'arrivals last' '--rate 1e-300'
refuse 2 '--requests and --duration are mutually exclusive' '--requests 5 --duration 10s'
refuse 2 'are mutually exclusive' '--enable-prefix-caching --no-enable-prefix-caching'
refuse 2 '--compare-policies and --format are mutually exclusive' '--compare-policies --format vllm'
refuse 2 'expected at least max-num-seqs' '--max-num-seqs 4096 --max-num-batched-tokens 100'
refuse 2 'expected --num-speculative-tokens' '--acceptance 0.5'
refuse 2 'expected --dp of at least 2' '--route prefix'
refuse 2 'ends in .csv or .jsonl' "--requests-to $tmp/x.txt"
for option in --save --requests-to --trace-to --chart; do
    refuse 1 'cannot write' "$option $tmp/none/x.csv"
done
printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n' >"$tmp/in.csv"
for option in --save --requests-to --trace-to; do
    refuse 2 'in.csv is an input file' "--workload $tmp/in.csv $option $tmp/in.csv"
done
is 3 "$(wc -l <"$tmp/in.csv")" "inputs stay"

# ---- an interrupt
"$ROOFCAST" simulate llama-3.1-8b -q BF16 --hw h100-sxm --rate 20 --requests 1000000 --step-by-step --draws 0 --save "$tmp/l.json" --requests-to "$tmp/l.csv" \
    --trace-to "$tmp/l.trace" >"$tmp/out" 2>"$tmp/err" &
pid=$!
begun() { [ -n "$(ls "$tmp" | grep '^l\.trace')" ]; }
catches $pid && until_ begun
begin=$(date +%s%N)
kill -INT $pid
ended $pid
ms=$((($(date +%s%N) - begin) / 1000000))
[ $status -eq 130 ] && [ ! -s "$tmp/out" ] && [ -z "$(ls "$tmp" | grep '^l\.')" ]
ok $? "an interrupt ends a long run with 130 and leaves no file (status $status)"
[ $ms -lt 5000 ]
ok $? "soon"
n_draw=1500 n_long=1000000 # the draws, and each policy, take more than the second after which progress is shown
[ -z "${ROOFCAST_SANITIZED:-}" ] || n_draw=300 n_long=300000
"$ROOFCAST" simulate llama-3.1-8b -q BF16 --hw h100-sxm --rate 8 --requests 20000 --draws $n_draw -t 1 --save "$tmp/m.json" --requests-to "$tmp/m.csv" -o csv \
    >"$tmp/out" 2>"$tmp/err" &
pid=$!
until_ says 'draws of the constants'
kill -INT $pid
ended $pid
[ $status -eq 130 ] && says "interrupted: [0-9]* of $n_draw draws of the constants were made" && holds "$(value request_throughput) > 2" "an interrupt of the draws prints the run"
[ ! -e "$tmp/m.json" ] && [ -s "$tmp/m.partial.json" ] && [ ! -e "$tmp/m.csv" ]
ok $? "and saves it under another name (status $status)"
"$ROOFCAST" simulate llama-3.1-8b -q BF16 --hw h100-sxm --rate 20 --requests $n_long --compare-policies -o csv >"$tmp/out" 2>"$tmp/err" &
pid=$!
until_ says 'requests'
kill -INT $pid
ended $pid
[ $status -eq 130 ] && if says 'interrupted: [1-6] of 7 policies are printed'; then [ "$(wc -l <"$tmp/out")" -gt 1 ]; else [ ! -s "$tmp/out" ]; fi
ok $? "an interrupt of --compare-policies prints those that are done (status $status)"
finish
