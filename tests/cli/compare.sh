#!/bin/sh
# roofcast compare: two simulations, a run of the engine and its simulation; runs, predictions, profiles and llama-bench's results test by test;
# formats, charts, exit statuses, what is refused.
. "${top_srcdir:?}/tests/cli/lib.sh"
m=$top_srcdir/tests/fixtures/llama-2l.gguf
sim() { # FILE ARGS...: a saved simulation
    to=$1
    shift
    run simulate llama-3.1-8b --hw h100-sxm --rate 8 --requests 100 --workload random:in=512,out=64 --draws 0 --save "$to" "$@"
}
value() { # FIGURE COLUMN: of csv rows
    awk -v f="$1" -v k="$2" -F, '{ gsub(/"[^"]*"/, "quoted") } NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $1 == f { print $at[k] }' "$tmp/out"
}
json() { # JQ-FILTER
    jq -r "$1" "$tmp/out"
}
sim "$tmp/a.json" -q BF16 && sim "$tmp/b.json" -q FP8 --num-gpu-blocks-override 3000
ok $? "two simulations"

# ---- the answer first
run compare "$tmp/a.json" "$tmp/a.json" && [ ! -s "$tmp/err" ] && head -n 1 "$tmp/out" | grep -q '^All [0-9]* figures agree within 5 %' && has '^first: ' && has '^second: '
ok $? "a run agrees with itself"
run compare "$tmp/a.json" "$tmp/b.json" && says 'warning: the runs differ in kv_blocks [0-9]* and 2999' && head -n 1 "$tmp/out" | grep -q 'figures agree within 5 %; most off is '
ok $? "settings that differ are named"
head -n 1 "$tmp/out" | grep -q 'Steps take .* by the time of a step, .* by the number of steps. Most of the former, -.*, is in steps of [0-9]*-[0-9]* decode and 0 prompt tokens: .* ms first, .* ms second (-'
ok $? "which kind of step explains the difference"
has '^TTFT p99 ' && has '^tokens out ' && has '^KV blocks used, most ' && has '^distributions  *Kolmogorov-Smirnov' && has '^decode  *prompt ' && has '^ITL .* %$'
ok $? "figures, distances, steps"
run compare "$tmp/a.json" "$tmp/b.json" --wide && ! has 'more kinds of steps' && has '^steady window'
ok $? "--wide has all"

# ---- formats
run compare "$tmp/a.json" "$tmp/b.json" -o csv
is 'figure,name,a,b,unit,difference,error,model_lo,model_hi,inside' "$(head -n 1 "$tmp/out")" "csv: a row a figure"
a=$(value ttft_mean a) b=$(value ttft_mean b) error=$(value ttft_mean error) w=$(value ttft_wasserstein difference) ks=$(value itl_ks difference)
holds "$a > 0.005 && $b > 0.005 && $b < $a && ($error - ($b / $a - 1)) ^ 2 < 1e-18" "an error is the second over the first, less 1"
holds "$w >= ($a - $b) * 0.98 && $w < $a && $ks > 0.5 && $ks <= 1" "distances: at least that of the means; shares of times that do not overlap"
run compare "$tmp/a.json" "$tmp/b.json" -o csv --steps && is 'decode,prompt,decode_lo,decode_hi' "$(head -n 1 "$tmp/out" | cut -d, -f 1-4)" "--steps: a row a kind of steps"
sums=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { a += $at["n_a"] * $at["a_s"]; b += $at["n_b"] * $at["b_s"]; d += $at["price_s"] + $at["number_s"]; share += $at["share_a"] } END { printf "(%.12g - %.12g - %.12g) ^ 2 < 1e-12 && (%.12g - 1) ^ 2 < 1e-12", b, a, d, share }' "$tmp/out")
holds "$sums" "times of the steps differ by price and number"
run compare "$tmp/a.json" "$tmp/b.json" -o md && has '^| TTFT p99' && run compare "$tmp/a.json" "$tmp/b.json" -o sql && has '^INSERT INTO roofcast_serving_compare '
ok $? "md and sql"
run compare "$tmp/a.json" "$tmp/b.json" -o jsonl && rows=$(wc -l <"$tmp/out")
if command -v jq >/dev/null; then
    run compare "$tmp/a.json" "$tmp/b.json" -o json --save "$tmp/c.json" && cmp -s "$tmp/out" "$tmp/c.json"
    ok $? "--save writes what -o json prints"
    is "roofcast.serving_compare $rows false true" "$(json '[.schema, (.rows | length), .a.measured, (.differences | test("^kv_blocks"))] | join(" ")')" "json: the same rows, both runs, settings that differ"
    holds "$(json '.busy_b_s - .busy_a_s - .price_s - .number_s') ^ 2 < 1e-12" "the sums of the steps"
else
    skip "json" "jq is not here"
fi
if command -v gnuplot >/dev/null 2>&1; then
    run compare "$tmp/a.json" "$tmp/b.json" --chart "$tmp/chart" && [ -s "$tmp/chart-latency.svg" ] && grep -q 'TTFT, second' "$tmp/chart-latency.tsv" &&
        [ -s "$tmp/chart-steps.svg" ] && grep -q 'memory roof' "$tmp/chart-steps.tsv"
    ok $? "--chart draws both"
    grep -q 'set style line 5 lc rgb color(1) .*dt (6,4)' "$tmp/chart-latency.gp"
    ok $? "the second in the colours of the first, dashed"
    run plot "$tmp/a.json" -o "$tmp/steps" --format svg && has 'steps.svg' && grep -q 'memory roof' "$tmp/steps.tsv" && grep -q 'steps with prompts' "$tmp/steps.tsv"
    ok $? "plot draws the steps of one and the roofs"
    above=$(awk -F'\t' 'NR > 1 && $10 == "decode" { at[$2] = $3 } $10 ~ /^memory/ && $2 in at { n++; bad += at[$2] > 1.05 * $3 } END { print (n > 2 && !bad) }' "$tmp/steps.tsv")
    is 1 "$above" "no decode step above the memory's roof"
else
    skip "--chart" "gnuplot is not here"
fi

# ---- a run of the engine
load="--workload random:in=40,out=12 --requests 12 --rate inf --max-concurrency 3 --max-num-seqs 4 --max-num-batched-tokens 64 --num-gpu-blocks-override 200 --no-async-scheduling"
# shellcheck disable=SC2086
run serve -m "$m" -t 1 $load --save "$tmp/run.json" && run simulate "$m" --hw h100-sxm --draws 0 $load --save "$tmp/sim.json" && run compare "$tmp/run.json" "$tmp/sim.json"
ok $? "measured and simulated"
has '^measured: ' && has '^figure  *measured  *simulated  *error' && ! says 'warning' && has 'MBU$'
ok $? "columns say which is which; the measured run has an MBU; same settings"
run compare "$tmp/run.json" "$tmp/sim.json" -o csv && is "$(value kv_blocks_max a)" "$(value kv_blocks_max b)" "the same scheduler takes as many blocks"
is "0 0" "$(value preemptions difference) $(value batch_max difference)" "as many sequences, and preemptions"
run compare "$tmp/run.json" "$tmp/sim.json" -o csv --steps
is 1 "$(awk -F, 'NR > 1 && $7 != $8' "$tmp/out" | wc -l | awk '{ print ($1 <= 2) }')" "the same steps, but for those on which the clock decides"
holds "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR == 2 { print $at["bytes_a_s"] }' "$tmp/out") > 1e6" "bytes that the engine counted"

# An interrupted run is saved as far as it came.
"$ROOFCAST" serve -m "$m" -t 1 --workload random:in=40,out=12 --requests 2000 --rate 50 --save "$tmp/cut.json" >"$tmp/out" 2>"$tmp/err" &
pid=$!
catches $pid && sleep 2
kill -INT $pid
ended $pid
is "130 yes" "$status $([ -s "$tmp/cut.partial.json" ] && [ ! -e "$tmp/cut.json" ] && echo yes)" "an interrupt of serve keeps what was measured"

# ---- test by test: two builds by llama-bench
llama() { # FILE TG-RATE: five repetitions of two tests
    awk -v tg="$2" 'BEGIN { printf "["; split("1 1.004 0.997 1.002 0.998", w, " ")
        for (k = 0; k < 2; k++) {
            printf "%s{\"model_filename\": \"m.gguf\", \"model_type\": \"llama 1B Q8_0\", \"n_threads\": 4, \"n_prompt\": %d, \"n_gen\": %d, \"avg_ts\": %g, \"samples_ts\": [", k ? "," : "", k ? 512 : 0, k ? 0 : 128, k ? 900 : tg
            for (i = 1; i <= 5; i++) printf "%s%.9g", (i > 1 ? "," : ""), (k ? 900 : tg) * w[i]
            printf "]}" }
        printf "]\n" }' >"$1"
}
llama "$tmp/old.json" 50 && llama "$tmp/new.json" 44
run compare "$tmp/old.json" "$tmp/new.json" && has '^B is faster in 0 and slower in 1 of 2 tests; 1 cannot be told\. Largest: tg128 0\.880 (0\.8[67]' && has '^tg128 .* slower ' && has '^pp512 .* cannot tell '
ok $? "llama-bench: faster, slower, cannot tell"
run compare "$tmp/old.json" "$tmp/new.json" --fail-over 5% -o csv
is "4 true false" "$status $(cells regressed test=tg128) $(cells regressed test=pp512)" "--fail-over: status 4"
says 'B is slower by more than 5 % in 1 test: tg128 0.880'
ok $? "and the test is named"
run compare "$tmp/old.json" "$tmp/new.json" --fail-over 15% && has '0 tests are slower by more than 15 %' && run compare "$tmp/new.json" "$tmp/old.json" --fail-over 0%
ok $? "status 0: slower by less, faster"
run compare "$tmp/old.json,$tmp/old.json,$tmp/old.json" "$tmp/new.json,$tmp/new.json,$tmp/new.json" -o csv && is "pairs pairs" "$(cells basis | tr '\n' ' ' | sed 's/ $//')" "files with commas are executions"
sed 's/"n_threads": 4/"n_threads": 8/g' "$tmp/new.json" >"$tmp/threads.json"
run compare "$tmp/old.json" "$tmp/threads.json" && says 'warning: A and B differ in threads 4 and 8'
ok $? "settings that differ are named"

# ---- runs, with ops; predictions; profiles
t=$top_srcdir/tests/report
run compare "$t/run.json" "$t/run.json" -o csv
is "cannot tell cannot tell" "$(cells verdict | tr '\n' ' ' | sed 's/ $//')" "a run against itself"
run compare "$t/run.json" "$t/run.json" --ops -o csv && is 18 "$(cells role test=tg128 | sort -u | wc -l)" "--ops: a row a role and test"
run compare "$t/run.json" "$t/run.json" -o md && has '^| tg128' && has '^| pp512 *| [a-z_]* ' && run compare "$t/run.json" "$t/run.json" -o sql && has '^INSERT INTO roofcast_comparison '
ok $? "md with ops, sql"
run compare "$t/cpu.json" "$t/curves.json" -o csv && has '^read DRAM 1t,.*,B/s,0\.843.*,slower,.*,intervals,0,0,'
ok $? "profiles, ceiling by ceiling"
run compare h100-sxm rtx-4090 && has '^stated bandwidth .* cannot tell '
ok $? "profiles by name; stated values have no interval"
run predict "$m" --hw h100-sxm -p 512 -n 128 -o json && mv "$tmp/out" "$tmp/predicted.json" && run compare "$t/run.json" "$tmp/predicted.json" && has '^B: .*: prediction for llama-2l on h100-sxm' && says 'differ in model smollm2-360m and llama-2l'
ok $? "a run and a prediction"
run compare "$t/run.json" "$tmp/predicted.json" -o csv --ops && [ "$(cells role test=tg128 | wc -l)" -gt 5 ]
ok $? "roles of both"
run compare "$t/run.json" "$t/run.json" -o json --save "$tmp/c.json" && cmp -s "$tmp/out" "$tmp/c.json"
ok $? "--save of tests writes what -o json prints"

# ---- what is refused
sim "$tmp/other.json" -q BF16 --seed 7 && sim "$tmp/fast.json" -q BF16 --max-concurrency 2 && printf '{"schema": "roofcast.run", "version": 1}' >"$tmp/kind.json"
refused 1 'max_concurrency is 0 and 2' compare "$tmp/a.json" "$tmp/fast.json"
run compare "$tmp/a.json" "$tmp/other.json" && says 'the runs differ in seed 0 and 7'
ok $? "requests of the same lengths at other times: a warning"
sed 's/"failed": 0/"failed": 3/' "$tmp/a.json" >"$tmp/failed.json"
run compare "$tmp/a.json" "$tmp/failed.json" && says 'the runs differ in failed requests 0 and 3'
ok $? "so are requests that failed"
refused 1 'not of the same requests: workload is random:in=512,out=64 and random:in=40,out=12' compare "$tmp/a.json" "$tmp/run.json"
refused 1 'kind.json: field "schema": expected "roofcast.simulate", found "roofcast.run"' compare "$tmp/a.json" "$tmp/kind.json"
refused 1 'none.json' compare "$tmp/a.json" "$tmp/none.json"
refused 2 'expected two files' compare "$tmp/a.json"
refused 2 'one pair of files at a time' compare "$tmp/a.json" "$tmp/a.json" "$tmp/a.json"
run compare "$tmp/a.json" "$tmp/b.json" --fail-over 5%
is 0 "$status" "--fail-over: no figure of a server is worse"
run compare "$tmp/b.json" "$tmp/a.json" --fail-over 5%
[ "$status" -eq 4 ] && says 'figures are worse by more than 5 %: '
ok $? "--fail-over: figures of a server that are worse"
refused 1 'expected two profiles, or two of a run, measurements and a prediction' compare "$t/cpu.json" "$t/run.json"
refused 1 'no test in common: ' compare "$t/run.json" "$top_srcdir/tests/fuzz/corpus/run/decode.json"
refused 1 'two-machines.json: rows[1]: field "hw": expected one machine in the file; found x and y' compare "$t/run.json" "$top_srcdir/tests/fuzz/corpus/comparison/two-machines.json"
refused 1 'roles.json: rows[0]: roles[0]: field "seconds": expected a number above 0' compare "$t/run.json" "$top_srcdir/tests/fuzz/corpus/comparison/roles.json"
refused 2 '--ops: expected -o csv' compare "$t/run.json" "$t/run.json" --ops
refused 2 '--ops: runs of a server' compare "$tmp/a.json" "$tmp/a.json" --ops -o csv
refused 2 '--steps: expected two files of' compare "$t/run.json" "$t/run.json" --steps -o csv
refused 2 '--chart: expected two files of' compare "$t/run.json" "$t/run.json" --chart "$tmp/x"
for over in 5 5%% -1% 100% x%; do
    refused 2 'expected a percentage' compare "$t/run.json" "$t/run.json" --fail-over="$over"
done
refused 2 '--steps: expected -o csv' compare "$tmp/a.json" "$tmp/a.json" --steps
refused 2 'is an input' compare "$tmp/a.json" "$tmp/b.json" --save "$tmp/a.json"
head -c 5000 "$tmp/a.json" >"$tmp/cut.json"
refused 1 'cut.json: line' compare "$tmp/a.json" "$tmp/cut.json"
f=$top_srcdir/tests/fuzz/corpus/saved
refused 1 'order.json: cdf: ttft[1]: expected a number from ' compare "$f/run.json" "$f/order.json"
refused 1 'share.json: cdf: share: expected two points or more, from 0 to 1; found 4, from 0 to 0.9' compare "$f/run.json" "$f/share.json"
refused 1 'class.json: steps[3]: a class of steps from 4 decode and 0 prompt tokens on: expected 3 and 0' compare "$f/run.json" "$f/class.json"
refused 1 'range.json: steps[0]: bytes: expected 0 to 1e+18; found 1e+30' compare "$f/run.json" "$f/range.json"
refused 1 "roofs.json: roofs: memory_bytes_s: expected 1 to 1e+18; found 0" compare "$f/run.json" "$f/roofs.json"
refused 1 "figure-twice.json: rows[7]: figure ttft_mean stands above already" compare "$f/run.json" "$f/figure-twice.json"
refused 1 'settings.json: settings: rate: expected a number, a text or a truth value; found an array' compare "$f/run.json" "$f/settings.json"
escape=$(printf '\033')
sed 's/"model": "/&\\u001b[2J/' "$tmp/a.json" >"$tmp/odd.json"
run compare "$tmp/odd.json" "$tmp/a.json" && ! grep -q "$escape" "$tmp/out" "$tmp/err"
ok $? "no control characters of a file reach a terminal"
finish
