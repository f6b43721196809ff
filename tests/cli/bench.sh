#!/bin/sh
# roofcast bench: rows, ops that add up, the saved run, refusals.
. "${top_srcdir:?}/tests/cli/lib.sh"
m=$top_srcdir/tests/fixtures/llama-2l.gguf

run bench -m "$m" -p 24 -n 4 -r 2 --ops --save "$tmp/run.json" -o json --quiet
ok "$status" "prefill and decode with ops"
cp "$tmp/out" "$tmp/bench.json"
[ ! -s "$tmp/err" ]
ok $? "--quiet: nothing on standard error"
grep -q '"test": "pp24"' "$tmp/bench.json" && grep -q '"test": "tg4"' "$tmp/bench.json"
ok $? "tests are named as in llama-bench"
grep -q '"dram_bytes_s": null' "$tmp/bench.json" && grep -q '"dram_reason": "..*"' "$tmp/bench.json" ||
    grep -q '"dram_bytes_s": [1-9]' "$tmp/bench.json"
ok $? "DRAM traffic is counted, or null with a reason"
# The rest is not about the height of roofs: brief probes of them.
run bench --brief -m "$m" -p 24 -n 4 -r 1 --ops --quiet
tac "$tmp/out" | awk '/^test /{ exit } { print }' >"$tmp/roles" # the last table and what follows it, backwards
awk '$1 ~ /^(pp24|tg4)$/ && match($0, /[0-9.]+ % +[0-9.]+ [mun]?s /) { # a role: share, time, ..., of the roof, bound
        share = substr($0, RSTART) + 0
        roof = match($0, /[0-9.]+ % +[a-z-]+ *$/) ? substr($0, RSTART) + 0 : 0
        want[$1] += share * (roof < 100 ? 1 - roof / 100 : 0); roles++ }
    /^Time lost versus the roofline in (pp24|tg4), by op: / { n++
        test = $7; sub(/,/, "", test)
        all = $0; sub(/.*by op: /, "", all); sub(/ %.*/, "", all)
        sub(/.* %:/, ""); k = split($0, part, ","); sum = 0
        for (i = 1; i <= k; i++) { x = part[i]; sub(/.* /, "", x); x += 0; sum += x; if (i > 1 && i < 9 && x > last) bad = 1; last = x }
        got[test] = all; if (sum - all > 0.6 || all - sum > 0.6 || k != 9) bad = 1 }
    END { for (t in got) if (got[t] - want[t] > 2 || want[t] - got[t] > 2) { bad = 1; print t, got[t], want[t] }
          exit bad || n != 2 || roles == 0 }' "$tmp/roles"
ok $? "--ops says where what is lost to the roofs goes: the most first, and they add up"
run bench --brief -m "$m" -p 24 -n 0 -ub 8 -r 1 --ops -o json --quiet
if command -v jq >/dev/null; then
    jq -e '([.ops[] | select(.role == "lm_head").share] | add) / (.roles[] | select(.role == "lm_head").share) - 1 | fabs < 1e-9' "$tmp/out" >/dev/null &&
        jq -e '([.roles[].share] | add) - 1 | fabs < 1e-9' "$tmp/out" >/dev/null
    ok $? "a role's share is its ops', of three passes of which one has logits"
    jq -e '[.rows[] | ((.weight_bytes + .kv_bytes) * .tok_s_mean / (.n_prompt + .n_gen)) / .bytes_s - 1 | fabs < 1e-9] | all' "$tmp/bench.json" >/dev/null
    ok $? "bytes/s is the bytes of a token times tokens/s"
    jq -e '[.rows[] | .bytes_s / .ceiling_bytes_s - .mbu | fabs < 1e-9] | all' "$tmp/bench.json" >/dev/null
    ok $? "MBU is bytes/s over the ceiling beside it"
    jq -e '[.repetitions[] | [.test, .repetition]] == [["pp24", 0], ["pp24", 1], ["tg4", 0], ["tg4", 1]] and
        ([.repetitions[] | .mbu > 0 and .n_switch >= 0 and .clock_hz > 1e8] | all) and ([.rows[] | .roof_moved >= 0] | all) and
        (. as $d | [.rows[] | . as $r | ([$d.repetitions[] | select(.test == $r.test) | .cpu_share | values] | min) == $r.cpu_share] | all)' "$tmp/bench.json" >/dev/null
    ok $? "every repetition beside its probes, with switches and clock"
    share='[.repetitions[] | if .n_threads == 1 and .seconds >= 0.001 then .cpu_share > 0 and .cpu_share < 1.01
        elif .n_threads > 1 and .seconds >= 0.1 then .cpu_share > 0 and .cpu_share < 1.1 else .cpu_share == null end] | all'
    run bench --brief -m "$m" -p 4 -n 128 -r 2 -t 1 --isa ref -o json --quiet
    jq -e "$share" "$tmp/bench.json" >/dev/null && jq -e "($share) and ([.repetitions[].cpu_share != null] | any)" "$tmp/out" >/dev/null
    ok $? "the share of the CPUs, where ticks tell it"
    jq -e '[.findings[] | .ratio > 1.02 and .cause != ""] | all' "$tmp/bench.json" >/dev/null
    ok $? "a point above its roof has a cause"
    jq -e '([.ops[] | select(.phase == "decode") | .share] | add) as $s | $s > 0.999 and $s < 1.001' "$tmp/bench.json" >/dev/null
    ok $? "shares of the ops of a phase add up to 1"
    jq -e '([.ops[] | .flop] | add) as $a | ([.roles[] | .flop] | add) as $b | $a == $b' "$tmp/bench.json" >/dev/null
    ok $? "roles are sums of ops"
    jq -e '(.rows[] | select(.phase == "prefill") | .flop) as $r | ([.ops[] | select(.phase == "prefill") | .flop] | add) == $r' "$tmp/bench.json" >/dev/null
    ok $? "the ops of a pass add up to its row"
    jq -e --slurpfile b "$tmp/bench.json" '.rows == $b[0].rows and .provenance.version != "" and (.provenance.command | startswith("roofcast bench"))' "$tmp/run.json" >/dev/null
    ok $? "--save holds the same rows, with provenance"
else
    skip "figures" "no jq here"
fi
run bench --brief -m "$m" -p 8 -n 0 -r 1 -o csv --quiet
[ "$status" -eq 0 ] && head -n 1 "$tmp/out" | grep -q '^model,type,n_threads,n_batch,n_ubatch,.*,test,tok_s_mean,' && [ "$(wc -l <"$tmp/out")" -eq 2 ]
ok $? "-n 0: prefill alone, as csv"
[ "$(cells tok_s_sd | tail -n 1)" = "" ]
ok $? "one repetition has no standard deviation"
run bench --brief -m "$m" -p 0 -n 2 -d 3 -r 1 -t 1 --isa ref --quiet
[ "$status" -eq 0 ] && has 'tg2@d3' && ! has ' pp[0-9]'
ok $? "-p 0: decode alone, at a depth, on the reference kernels"
run bench --brief -m "$m" -p 0 -n 2 -d 255 -r 1 --quiet
[ "$status" -eq 0 ] && says 'warning: .* exceeds the trained context of 256'
ok $? "a context beyond the trained one is a warning"

run bench --brief -m "$m" -p 0 -n 2 -b 1,4 -r 1 -o csv --quiet
[ "$status" -eq 0 ] && [ "$(cells test | tr '\n' ' ')" = "tg2 tg2x4 " ] && [ "$(cells n_batch | tr '\n' ' ')" = "1 4 " ]
ok $? "-b: every test for every number of sequences"
# A step of four: the weights once but for three more rows of the embedding, four caches, four times the FLOP.
cells weight_bytes >"$tmp/w" && cells kv_bytes >"$tmp/kv" && cells flop >"$tmp/flop"
paste "$tmp/w" "$tmp/kv" "$tmp/flop" | awk 'NR == 1 { w = $1; kv = $2; f = $3 } NR == 2 { seen = $1 == w + 2 * 3 * 64 * 4 && $2 == 4 * kv && $3 == 4 * f } END { exit !seen }'
ok $? "-b: weights are read once for all sequences"

# ---- the table of llama-batched-bench
run bench --brief -m "$m" -p 0 -n 2 -b 2 -r 1
[ "$status" -eq 0 ] && grep -q 'table is not printed: it needs -p and -n above 0' "$tmp/err" && ! has S_TG
ok $? "batches without prompts do not print the table of llama-batched-bench, with the reason"
run bench --brief -m "$m" -p 8 -n 2 -r 1 --ops --quiet && ! has ' layer ' && [ "$(grep -n '^test  *role' "$tmp/out" | cut -d: -f1)" -gt "$(grep -n '^Load of' "$tmp/out" | cut -d: -f1)" ] &&
    [ "$(tail -n 2 "$tmp/out" | grep -c '^Time lost versus the roofline in')" = 2 ]
ok $? "--ops: roles and what they lose come last; no row a layer"
run bench --brief -m "$m" -p 8 -n 0 -r 1 --ops --by layer --quiet && has '^test  *layer  *role'
ok $? "--by layer: a row an op of every layer"
refused 2 '--by layer needs --ops' bench -m "$m" --by layer
run bench --brief -m "$m" -p 8 -n 2 -r 1 -ngl 0 --n-gpu-layers 0 -mmp 0 -fa 1 -fa on -sm none --no-warmup --delay 0.01 -oe csv -o json --quiet && says '^model,type,n_threads' &&
    [ "$(wc -l <"$tmp/err")" = 3 ]
ok $? "llama-bench's options that say what roofcast does; -oe, --delay, --no-warmup"
for o in "-ngl 99:-ngl 99: not in roofcast: the engine runs on the CPU" "-mmp 1:-mmp 1: not in roofcast: weights are packed at load" "-fa 0:-fa 0: not in roofcast: attention" \
    "--rpc a:--rpc a: not in roofcast" "-ts 1/1:-ts 1/1: not in roofcast" "-C 0x3:-C 0x3: not in roofcast: --cpus" "--list-devices:--list-devices: not in roofcast"; do
    # shellcheck disable=SC2086
    refused 2 "${o#*:}" bench -m "$m" ${o%%:*}
done
refused 2 '-b 2048: in roofcast -b is the number of parallel sequences' bench -m "$m" -b 2048
refused 2 '-b and --n-seq are mutually exclusive' bench -m "$m" -b 2 --n-seq 2
refused 2 '-pg: expected PP,TG such as 512,128, found "512"' bench -m "$m" -pg 512
run bench --brief -m "$m" -p 0 -n 0 -pg 8,2 -pg 4,3 -d 4 -r 1 -o csv --quiet && [ "$(cells test | tr '\n' ' ')" = "pp8@d4 tg2@d12 pp4@d4 tg3@d8  test pp8+tg2@d4 pp4+tg3@d4 " ] ||
    { [ "$status" -eq 0 ] && has '^llama-2l.*,pp8+tg2@d4,' && has ',pp4+tg3@d4,'; }
ok $? "-pg: a prompt and the generation after it, timed together"
run bench --brief -m "$m" -p 4 -n 0 -r 1 -o sql --quiet && has '^CREATE TABLE IF NOT EXISTS roofcast_bench (' && has '^INSERT INTO roofcast_bench'
ok $? "-o sql"
run bench --brief -m "$m" -p 8,16 -n 2 -d 4 -b 1,4 -ub 8 -r 3 -o json --quiet
cp "$tmp/out" "$tmp/batches.json"
if command -v jq >/dev/null; then
    jq -e '[.rows[].test] == ["pp8@d4", "tg2@d12", "pp16@d4", "tg2@d20", "pp8x4@d4", "tg2x4@d12", "pp16x4@d4", "tg2x4@d20"]' "$tmp/batches.json" >/dev/null
    ok $? "-b above 1: generation goes on after the prompt"
    jq -e '[.batches[] | [.n_prompt, .n_gen, .n_batch, .n_kv, .n_depth]] == [[8,2,1,10,4],[16,2,1,18,4],[8,2,4,40,4],[16,2,4,72,4]]' "$tmp/batches.json" >/dev/null
    ok $? "a line of the table for every prompt, generation and number of sequences; N_KV = B (PP + TG)"
    jq -e '[.batches[] | [.pp_tok_s * .pp_s / (.n_batch * .n_prompt), .tg_tok_s * .tg_s / (.n_batch * .n_gen), .total_s / (.pp_s + .tg_s),
        .total_tok_s * .total_s / .n_kv][] - 1 | fabs < 1e-9] | all' "$tmp/batches.json" >/dev/null
    ok $? "its speeds are its tokens over its times"
    jq -e '. as $d | [range(4) | $d.batches[.].tg_mbu == $d.rows[2 * . + 1].mbu and $d.batches[.].tg_mfu == $d.rows[2 * . + 1].mfu and
        $d.batches[.].pp_s == $d.rows[2 * .].ttft_s] | all' "$tmp/batches.json" >/dev/null
    ok $? "utilization is that of the decode's row, T_PP the median of the prefill's"
else
    skip "the table of batches" "no jq here"
fi
run bench --brief -m "$m" -p 8 -n 2 -b 2 -r 1 --quiet
[ "$status" -eq 0 ] && has 'PP *TG *B *N_KV *T_PP s *S_PP t/s *T_TG s *S_TG t/s *T s *S t/s *MBU TG *MFU TG' && has ' 8 *2 *2 *20 '
ok $? "in the table, with llama-batched-bench's headings"
run bench --brief -m "$m" -p 8 -n 2 -b 2 -r 1 -o csv --quiet
[ "$status" -eq 0 ] && has '^model,type,test,n_threads,n_ubatch,n_depth,n_reps,n_prompt,n_gen,n_batch,n_kv,pp_s,'
ok $? "as csv"
run bench --brief -m "$m" -p 8 -n 2 -b 2 -r 1 -o md --quiet
[ "$status" -eq 0 ] && has '| PP | TG | B | N_KV |\|| *PP *| *TG *| *B *| *N_KV *|'
ok $? "as md"
run bench --brief -m "$m" -p 8 -n 2 -r 1 --quiet
[ "$status" -eq 0 ] && ! has 'N_KV'
ok $? "one sequence: no such table"

# ---- the load
run synth --n-layer 2 --n-embd 256 --n-ff 512 --n-head 4 --n-head-kv 2 --n-vocab 512 -q Q8_0 -o "$tmp/q8.gguf" --quiet
run bench --brief -m "$tmp/q8.gguf" -p 4 -n 0 -r 1 -o json --quiet
packed=$(figure packed_bytes)
holds "$packed == 0 || $packed >= 2 * (2 * 256 * 256 + 2 * 256 * 128 + 3 * 256 * 512) * 34 / 32" "packed: none of the weights, or all of the layers' ($packed bytes)"
holds "$packed == 0 || (d = $packed / ($(figure pack_s) + 0) / ($(figure pack_bytes_s) + 1e-9) - 1) < 1e-6 && d > -1e-6" "at the speed of the bytes and the seconds"
peak=$(figure peak_bytes)
[ -n "$peak" ] || grep -q '"peak_reason": "..*"' "$tmp/out"
ok $? "peak memory, or why there is none"
run bench --brief -m "$tmp/q8.gguf" -p 4 -n 0 -r 1 -o json --quiet --no-repack
[ "$status" -eq 0 ] && [ "$(figure packed_bytes)" = 0 ] && has '"pack_s": null'
ok $? "--no-repack: nothing is packed"
run bench --brief -m "$tmp/q8.gguf" -p 4 -n 0 -r 1 --quiet --no-repack
[ "$status" -eq 0 ] && has '^Load of .* Q8_0, [0-9]* thread.*: no weights packed; peak memory [0-9u]'
ok $? "a line of the table's notes says it"
has '^Load of .*, plus [0-9.]* [MG]B for the bandwidth probes$'
ok $? "and the memory of the probes"
run bench --brief -m "$tmp/q8.gguf" -p 4 -n 0 -r 1 -o json --quiet --no-repack
if [ -n "${ROOFCAST_SANITIZED:-}" ] || ! [ -x /usr/bin/time ]; then skip "all of it" "no /usr/bin/time, or a sanitizer has memory of its own"; else
    /usr/bin/time -f %M "$ROOFCAST" bench --brief -m "$tmp/q8.gguf" -p 4 -n 0 -r 1 -o json --quiet --no-repack >"$tmp/out" 2>"$tmp/err"
    holds "$(figure peak_bytes) + $(figure probe_bytes) > 0.75 * 1024 * $(tail -n 1 "$tmp/err") - 2e7" "with the peak at load that is what the process takes"
fi

# ---- scales of activations: exact unless asked otherwise, and named
run bench --brief -m "$tmp/q8.gguf" -p 40 -n 0 -r 1 -o json --quiet --save "$tmp/exact.json"
[ "$status" -eq 0 ] && ! has '"act_scales": "pow2"' && grep -q '"act_scales": *\("exact"\|null\)' "$tmp/exact.json"
ok $? "scales of activations are exact, and the saved run says so"
run bench --brief -m "$tmp/q8.gguf" -p 40 -n 0 -r 1 --quiet
[ "$status" -eq 0 ] && ! has 'act. scales' && ! has 'powers of two'
ok $? "nothing of them in the table"
run bench --brief -m "$tmp/q8.gguf" -p 40 -n 2 -r 1 --quiet --act-scales pow2 --save "$tmp/pow2.json"
if [ "$status" -eq 0 ] && grep -q '"act_scales": *"pow2"' "$tmp/pow2.json"; then
    has 'act. scales' && has 'pp40.*pow2' && has 'tg2.*exact' && has '^Load of .*; activations scaled by powers of two'
    ok $? "--act-scales pow2: a column and a note of the table name them; few tokens keep exact ones"
else
    [ "$status" -eq 0 ] && says '--act-scales pow2 changes nothing'
    ok $? "--act-scales pow2: no kernel here gains, and that is said"
fi
refused 2 '--act-scales: expected exact or pow2, found "fast"' bench -m "$m" --act-scales fast

# ---- where threads run
run bench --brief -m "$m" -p 4 -n 0 -r 1 -t 1 --numa distribute -o json --quiet
ok $? "--numa distribute"
run bench --brief -m "$m" -p 4 -n 0 -r 1 -t 1 --numa isolate -o json --quiet
ok $? "--numa isolate"
refused 2 'expected distribute or isolate, found "numactl"' bench -m "$m" --numa numactl
refused 2 "--cpus and --numa" bench -m "$m" --cpus 0 --numa isolate
HWLOC_SYNTHETIC='node:2 core:512 pu:1' refused 2 "-t: 1000 threads requested, --numa leaves 512 CPUs" bench -m "$m" -t 1000 --numa isolate

refused 2 "nothing to measure" bench -m "$m" -p 0 -n 0
refused 2 "-p: expected 0 to" bench -m "$m" -p -1
refused 2 "10000 threads requested" bench -m "$m" -t 10000
refused 2 "-r: expected 1 to" bench -m "$m" -r 0
refused 2 "-b: expected 1 to" bench -m "$m" -b 0
refused 2 "-p" bench -m "$m" -p 1,,2
refused 2 "found \"yaml\"" bench -m "$m" -o yaml
refused 2 "-m FILE is needed" bench
refused 1 "no/such.gguf" bench -m no/such.gguf
refused 2 "needs a GGUF file" bench -m tinyllama-1.1b
refused 2 "vax" bench -m "$m" --counters vax
# Counts of another machine stand for this one's: 1792 MiB at its memory controllers in every repetition.
run bench --brief -m "$m" -p 8 -n 0 -r 1 -t 1 -o json --quiet --counters "replay:$top_srcdir/tests/counters/replay/perf-skylake-sp.csv"
[ "$status" -eq 0 ] && grep -q '"dram_source": "uncore counters"' "$tmp/out" && grep -q '"value": 1879048192' "$tmp/out" &&
    grep -q '"mbu_dram": [1-9]' "$tmp/out" && grep -q '"slowdown": [0-9]' "$tmp/out" && grep -q '"class": "unchecked"' "$tmp/out"
ok $? "counted bytes of memory, what counting cost, and the certificate"
run bench --brief -m "$m" -p 8 -n 0 -r 1 -t 1 --quiet --counters "replay:$top_srcdir/tests/counters/replay/perf-skylake-sp.csv"
[ "$status" -eq 0 ] && has 'DRAM traffic of pp8: 1.88 GB per repetition by uncore counters' && has 'the excess is prefetches'
ok $? "why bytes at the memory are not those the engine walked"
: >"$tmp/empty.counts"
refused 1 "no counts: expected the output of perf stat" bench -m "$m" --counters "replay:$tmp/empty.counts"
run bench --brief -m "$m" -p 8 -n 0 -r 1 --quiet --save "$tmp/no/such/run.json"
[ "$status" -eq 1 ] && says "no/such/run.json: cannot write"
ok $? "a run that cannot be saved is an error"
if [ -w /dev/full ]; then
    "$ROOFCAST" bench --brief -m "$m" -p 8 -n 0 -r 1 --quiet >/dev/full 2>"$tmp/err"
    [ $? -ne 0 ]
    ok $? "a full disk is an error"
fi

# ---- paged KV caches
run bench --brief -m "$m" -p 0 -n 3 -d 20 -b 1,2 -r 3 --paged --quiet -o csv
[ "$status" -eq 0 ] && [ "$(cells test | tr '\n' ' ')" = "tg3@d20 tg3@d20@kv16 tg3x2@d20 tg3x2@d20@kv16 " ]
ok $? "--paged: every test in a contiguous and a paged cache"
is " ,16, ,16" "$(cells kv_block | sed 's/^$/ /' | paste -sd,)" "kv_block: positions of a block"
cells kv_ratio >"$tmp/ratio" && cells kv_ratio_low >"$tmp/low" && cells kv_ratio_high >"$tmp/high"
paste -d, "$tmp/ratio" "$tmp/low" "$tmp/high" | awk -F, 'NR % 2 { bad += $1 != "" } NR % 2 == 0 { bad += !($1 > 0 && $2 <= $1 && $1 <= $3) } END { exit bad || NR != 4 }'
ok $? "a paged test has its ratio, within its interval"
# Attention of a step at 21 positions reads two blocks' numbers in each of 2 layers; the rest as of the contiguous cache.
run bench --brief -m "$m" -p 0 -n 1 -d 20 -r 1 --paged --quiet -o csv
is 16 "$(cells kv_bytes | paste -sd' ' | awk '{ print $2 - $1 }')" "the engine counts the block tables"
run bench --brief -m "$m" -p 8 -n 2 -b 2 -r 1 --paged --quiet
[ "$status" -eq 0 ] && has 'pp8x2@kv16' && has 'tg2x2@d8@kv16' && has 'pp8+tg2x2@kv16'
ok $? "a prompt and its generation in each cache"
run bench --brief -m "$m" -p 0 -n 1 -d 20 -r 1 --block-size 8,32 --quiet
[ "$status" -eq 0 ] && has 'tg1@d20@kv8' && has 'tg1@d20@kv32' && has 'KV block' && ! has 'tg1@d20 '
ok $? "--block-size alone: only these caches"
run bench --brief -m "$m" -p 0 -n 1 -r 1 --quiet --save "$tmp/plain.json"
[ "$status" -eq 0 ] && ! has 'KV block' && grep -q '"kv_block": null' "$tmp/plain.json"
ok $? "a contiguous cache has no block"
refused 2 'expected 8, 16, 32, 64 or 128, found 24' bench -m "$m" --paged --block-size 24
refused 2 'found 4' bench -m "$m" --block-size 4
refused 2 '0 twice' bench -m "$m" --paged --block-size 0,16
refused 2 'more than 8 caches' bench -m "$m" --block-size 8,16,32,64,128,8,16,32,64

# ---- routing: recorded, and priced with. Sequences of one token each, so that those of a pass choose independently.
run synth mixtral-8x7b --n-layer 2 --n-embd 64 --n-ff 64 --n-head 4 --n-head-kv 2 --n-vocab 512 -q Q8_0 -o "$tmp/moe.gguf" --quiet
run bench --brief -m "$tmp/moe.gguf" -p 0 -n 1 -b 64 -r 2 -t 1 --quiet --save "$tmp/moe.json"
is "128 512" "$(awk -F'[ ,:]+' '/"n_tok": [0-9]*,$/ && r { print $3 } /"routing"/ { r = 1 } ' "$tmp/moe.json") $(awk '
    /"counts"/ { c = 1; next } /\]/ { c = 0 } c { s += $1 } END { print s }' "$tmp/moe.json")" \
    "a run records which experts its tokens used: 64 x 2 tokens, 2 experts each, in 2 layers"
run predict "$tmp/moe.gguf" --hw h100-sxm -p 0 -n 1 -b 4 --by role --routing "$tmp/moe.json" -o csv
touched=$(cells weight_bytes role=expert_up | awk '{ printf "%.6f", $1 / (2 * 64 * 68) }')
awk -v t="$touched" 'BEGIN { exit !(t > 2 && t < 8 * (1 - 0.75 ^ 4)) }'
ok $? "--routing: four tokens read fewer experts than without preference ($touched < 5.47)"
refused 2 'routing is of 2 of 8 experts a token, the model has 0 of 0' predict llama-3-8b --hw h100-sxm --routing "$tmp/moe.json"
run bench --brief -m "$m" -p 8 -n 0 -r 1 -t 1 --quiet --save "$tmp/dense.json"
refused 2 'routing of 0 models with experts, expected one' predict mixtral-8x7b --hw h100-sxm --routing "$tmp/dense.json"
refused 2 'no/such.json' predict mixtral-8x7b --hw h100-sxm --routing no/such.json
refused 2 'expected uniform, zipf:S or a saved run' predict mixtral-8x7b --hw h100-sxm --routing even
finish
