#!/bin/sh
# roofcast predict: the figures of doc/methods.md (26) as printed, new machines, every format, clear refusals.
. "${top_srcdir:?}/tests/cli/lib.sh"
# A csv column of the first row of a test, on a machine.
cell() { # COLUMN TEST [HW]
    cells "$1" "test=$2" ${3:+"hw=$3"} | head -n 1
}
# A csv column of the row in that line.
cell_of() { # COLUMN LINE
    awk -F, -v want="$1" -v line="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR == line { print $at[want] }' "$tmp/out"
}
scaled() { # VALUE FACTOR DECIMALS
    awk -v v="$1" -v f="$2" -v d="$3" 'BEGIN { printf "%.*f", d, v * f }'
}

# 16 GB / 3.35 TB/s = 4.776 ms, 209.4 tokens/s; six tokens: 2 * 8e9 * 6 / 989.4e12 = 0.097 ms = 2.03 %, 6 / 4.776 ms = 1256.
run predict llama-3-8b --hw h100-sxm --roof --weights-gb 16 -p 6 -n 1 &&
    has '^h100-sxm  *F16  *pp6  *1256  *4.78 ms  *memory  *4.78 ms  *97.0 us  *2.0 %' &&
    has '^h100-sxm  *F16  *tg1  *209  *4.78 ms  *memory '
ok $? "nominal 8B on an H100: 4.78 ms, 209 tokens/s; 6-token prefill memory-bound, 2.0 %, 1256 tokens/s"
run predict llama-3-8b --hw h100-sxm --roof --weights-gb 16 -p 6 -n 1 -o csv
is "16000000000 16000000000 96000000000 16 false" \
    "$(cell weight_bytes tg1) $(cell weight_bytes pp6) $(cell flop pp6) $(cell weights_gb tg1) $(cell weights_only tg1)" \
    "which is 16,000,000,000 bytes and 2 FLOP a weight and token exactly, and the row says so"
run predict llama-3-8b --hw h100-sxm --weights-gb 16.1 -p 0 -o json
is "16.1 16100000000" "$(scaled "$(figure weights_gb)" 1 1) $(figure weight_bytes)" "16.1 GB are 16,100,000,000 bytes"
run predict llama-3-8b --hw h100-sxm --weights-gb 16.1 -p 0 --by role -o csv
is 16100000000 "$(cells weight_bytes test=tg128 | sum %.0f)" "roles add up to them"
run predict llama-3-8b --hw h100-sxm --weights-gb all -p 0 -o json && has '^  "weights_gb": "all"' && has '^      "weights_gb": "all"'
ok $? "so does all"
run predict llama-3-8b --hw h100-sxm --weights-only -p 0 -o json && has '^  "weights_only": true' && has '^  "weights_gb": null'
ok $? "and --weights-only"
run predict llama-3-8b --hw h100-sxm --roof --weights-gb all -p 6 -n 1 -o csv
is "4.79 208.6" "$(scaled "$(cell seconds tg1)" 1000 2) $(scaled "$(cell tok_s tg1)" 1 1)" "all 8.03 B weights: 4.79 ms, 208.6 tokens/s"
for how in "--weights-only -n 1" "-n 1" "-n 128"; do
    run predict llama-3-8b --hw h100-sxm --roof $how -o csv
    t=tg${how##* }
    is "4.48 223" "$(scaled "$(cell seconds $t)" 1000 2) $(scaled "$(cell tok_s $t)" 1 0)" "the weights decode reads: 4.48 ms, 223 tokens/s ($how)"
done
is "15010390016" "$(cell weight_bytes tg128)" "which are 15,010,390,016 bytes"
run predict llama-3-8b --hw h100-sxm,m3-ultra --roof --weights-only -n 1 -o csv
is "$(scaled 819 0.00029850746268656717 5)" "$(awk -v a="$(cell tok_s tg1 h100-sxm)" -v b="$(cell tok_s tg1 apple-m3-ultra)" 'BEGIN { printf "%.5f", b / a }')" \
    "an M3 Ultra decodes in the ratio of bandwidths, 819 / 3350"

run predict llama-3-8b --hw h100-sxm,rtx-4090 -q Q8_0 -p 128,512 -n 16,64 -d 0,1000 -b 1,4 -o csv
is 33 "$(awk 'END { print NR }' "$tmp/out")" "lists: 2 machines x 2 depths x 2 batches x (2 prompts + 2 generations), and a header"
is "compute memory" "$(cell bound pp512) $(cell bound tg64)" "prefill compute-bound, decode memory-bound"
test -n "$(cell seconds tg64x4@d1000 rtx-4090)"
ok $? "tests are named as in bench: tg64x4@d1000"
is "$(cell seconds tg16)" "$(cell itl_s tg16)" "ITL is the decode step"
is "$(cell seconds pp128)" "$(cell ttft_s pp128)" "TTFT is the prefill"
run predict llama-3.1-70b --hw h100-sxm,b200-sxm -n 1 -p 0 -o csv
is "false true" "$(cell fits tg1 h100-sxm) $(cell fits tg1 b200-sxm)" "141 GB fit a B200, not an H100"
run predict llama-3-8b --hw h100-sxm --stack none &&
    has 'TTFT / ITL' && has '^h100-sxm  *memory  *2.74 TB/s  *spec' && has 'efficiency factors' && ! has ' low '
ok $? "the table says which roofs, from where, and that efficiency factors apply where no stack's constants do"
run predict llama-3-8b --hw h100-sxm --by role &&
    has '^h100-sxm  *tg128  *ffn_down .* memory ' && has '^h100-sxm  *pp512  *ffn_down .* compute '
ok $? "--by role: bound and time a role"
run predict llama-3-8b --hw h100-sxm --by role -o csv
is 1.000000 "$(cells share test=tg128 | sum %.6f)" \
    "shares of the roles add up to 1"
run predict stories15m --hw h100-sxm -o json --save "$tmp/p.json" &&
    cmp -s "$tmp/out" "$tmp/p.json" && has '"schema": "roofcast.predict"' && has '"roles"'
ok $? "-o json and --save are the same document"

# Drafts: rows beside the plain ones. Two layers of acceptance 0.8 and 0.5: 1 + 0.8 + 0.4 = 2.2 tokens a round; then 0.2 more.
run predict llama-3.1-70b --hw h200-sxm --draft llama-3.2-1b --gamma 2,3 --acceptance 0.8,0.5 -p 0 -b 1,2 -o csv
is "2.2000 2.4000" "$(scaled "$(cell tokens_a_round tg128+draft2)" 1 4) $(scaled "$(cell tokens_a_round tg128x2+draft3)" 1 4)" \
    "--draft: a row a gamma, with the tokens of a round"
is "model llama-3.2-1b 3 5" "$(cell spec_kind tg128+draft2) $(cell draft tg128+draft2) $(cell gamma tg128+draft3) $(awk -F, '/draft/ { n++ } END { print n }' "$tmp/out")" \
    "rows say who drafts, and how much"
is "$(scaled "$(cell tok_s tg128)" "$(cell gain tg128+draft2)" 3)" "$(scaled "$(cell tok_s tg128+draft2)" 1 3)" \
    "gain is the ratio of the rates"
is "$(scaled "$(cell round_s tg128+draft2)" 0.45454545454 6)" "$(scaled "$(cell itl_s tg128+draft2)" 1 6)" "ITL is the mean of a round's tokens"
is "" "$(cell gain tg128)$(cell gamma tg128)" "plain rows have no such figures"
run predict llama-3.1-70b --hw h200-sxm --draft ngram --gamma 2 --acceptance 0.8 -p 0 --by role -o csv
is 1.000000 "$(cells share test=tg128+ngram2 | sum %.6f)" "shares of the roles add up to 1 with drafts, too"
run predict deepseek-v3 --hw h200-sxm -q Q8_0 --draft mtp --acceptance 0.85 --gamma 1 -p 0 && has 'tg128+mtp1 ' && has 'gain' &&
    says 'deepseek-v3 has no known multi-token prediction layer'
ok $? "mtp: a layer like the last one, and a note where the model does not say that it has one"
run predict llama-3.1-8b --hw h200-sxm -p 0 && ! has gain
ok $? "without drafts the table is what it was"
refused 2 '--gamma: expected 1 to 64, found 0' predict llama-3.1-8b --hw h200-sxm --draft ngram --acceptance 0.5 --gamma 0
refused 2 '--acceptance: expected 0 to 1, found 1.01' predict llama-3.1-8b --hw h200-sxm --draft ngram --acceptance 1.01
refused 2 '--acceptance: expected' predict llama-3.1-8b --hw h200-sxm --draft ngram --acceptance 0.5,x
refused 2 '--draft needs --acceptance A' predict llama-3.1-8b --hw h200-sxm --draft ngram
refused 2 '--gamma needs --draft' predict llama-3.1-8b --hw h200-sxm --gamma 3
refused 2 'drafts must share it' predict llama-3.1-8b --hw h200-sxm --draft qwen2.5-0.5b --acceptance 0.5
refused 1 'no file and no model called "nope"' predict llama-3.1-8b --hw h200-sxm --draft nope --acceptance 0.5
refused 2 'no weights of its own' predict llama-3.1-8b --hw h200-sxm --draft ngram --draft-type Q8_0 --acceptance 0.5
refused 2 'there is nothing to draft' predict llama-3.1-8b --hw h200-sxm --draft ngram --acceptance 0.5 -n 0
refused 2 '--draft is given twice' predict llama-3.1-8b --hw h200-sxm --draft ngram --draft mtp --acceptance 0.5

# csv has every field of the rows that is not nested.
for by in phase role; do
    run predict stories15m --hw h100-sxm --by $by -o jsonl
    head -n 1 "$tmp/out" | sed 's/,"roles":.*//' | grep -o '"[a-z_0-9]*":' | tr -d '":' | grep -vx 'schema\|version' | sort >"$tmp/fields"
    run predict stories15m --hw h100-sxm --by $by -o csv
    head -n 1 "$tmp/out" | tr ',' '\n' | sort >"$tmp/columns"
    [ -s "$tmp/fields" ] && diff "$tmp/fields" "$tmp/columns" >"$tmp/err"
    ok $? "csv has the fields of the JSON, --by $by"
done

if [ -w /dev/full ]; then
    for out in json csv; do
        "$ROOFCAST" predict stories15m --hw h100-sxm -d 0,1,2,3,4,5,6,7 -o $out >/dev/full 2>"$tmp/err"
        [ $? -eq 1 ] && says 'standard output: cannot write .*: No space left'
        ok $? "a full disk is named with its reason, -o $out"
    done
    refused 1 '/dev/full: cannot write JSON: No space' predict stories15m --hw h100-sxm -d 0,1,2,3,4,5,6,7 --save /dev/full
fi

# Whole requests, energy and money, methods.md (49). Nominal 16 GB on an H100: every pass and step 16e9 / 3.35e12 s = 4.776119 ms, so
# 6 + 3 tokens are 3 of them, 14.328358 ms; at 700 W 10.02985 J, 3.34328 J a token; at 2 dollars an hour 2 * 0.014328358 / 3600
# = 7.960199e-6 a request, / 3 tokens = 2.653400 a million.
run predict llama-3-8b --hw h100-sxm --roof --weights-gb 16 --request 6+3,6+1 --price 2 -o csv
is "0.014328358 209.375 0.004776119 0.004776119" "$(scaled "$(cell seconds req6+3)" 1 9) $(scaled "$(cell tok_s req6+3)" 1 3) $(scaled "$(cell ttft_s req6+3)" 1 9) $(scaled "$(cell itl_s req6+3)" 1 9)" \
    "a request is its first token and then every step: TTFT + 2 ITL"
is "10.02985 3.34328 7.960199 2.653400" "$(scaled "$(cell j_per_request req6+3)" 1 5) $(scaled "$(cell j_per_tok req6+3)" 1 5) $(scaled "$(cell usd_per_request req6+3)" 1e6 6) $(scaled "$(cell usd_per_mtok req6+3)" 1 6)" \
    "joules at TDP, dollars by the hour"
is "0.004776119  request 3" "$(scaled "$(cell seconds req6+1)" 1 9) $(cell itl_s req6+1) $(cell phase req6+3) $(awk 'END { print NR }' "$tmp/out")" \
    "one token is the prompt's; requests alone without -p and -n"
# The 2nd token is made with the prompt's 6 positions and itself in the cache: steps of 7 and 8 positions, mean 7.5 read, 1 written, and the
# prompt reads 6 and writes 6: (6 + 6 + 2 * 8.5) * 131072 bytes of F16 KV.
run predict llama-3-8b --hw h100-sxm --request 6+3 -o csv
is $((29 * 131072)) "$(cell kv_bytes req6+3)" "steps begin behind the prompt"
run predict llama-3-8b --hw h100-sxm --request 6+3 -b 4 -d 10 --power 350 -p 6 -o csv
is "350 given (--power)" "$(cell power_w req6+3x4@d10) $(cell power_source req6+3x4@d10)" "--power instead of TDP"
is 1.0000 "$(awk -v j="$(cell j_per_tok pp6x4@d10)" -v s="$(cell seconds pp6x4@d10)" 'BEGIN { printf "%.4f", j * 24 / s / 350 }')" "J a prompt token, of all sequences"
is "" "$(cell usd_per_mtok req6+3x4@d10)" "no price: no figure"
run predict llama-3-8b --hw h100-sxm --request 6+3 && has 'TTFT  *ITL  *J/token' && has 'power  *700 W  *at TDP: an upper bound' &&
    has 'price  *-  *not in the profile (set it with --price' && has '^req: time of a whole request'
ok $? "the table says what the power is, and that there is no price"
for wrong in 6 +3 6+ 0+3 6+0 6+3+1 a+b; do
    refused 2 '--request' predict llama-3-8b --hw h100-sxm --request $wrong
done
refused 2 '--power: expected' predict llama-3-8b --hw h100-sxm --power 0
refused 2 '--price: expected' predict llama-3-8b --hw h100-sxm --price -1

# --explain: 32 * 14336 * 4096 weights of two bytes, 2 FLOP each; the sum is the number of the table, to the last digit.
run predict llama-3-8b --hw h100-sxm --stack none -p 0 -n 1 --explain &&
    has '^  ffn_gate: 32 x matmul \[14336 x 4096\] F16, fp16$' && has '^    weights  32 x 14336 rows x 8192 B  *= 3.76 GB$' &&
    has '^    FLOP     32 x 2 x 14336 x 4096 x 1 token  *= 3.76 G$' && has '^    KV       32 x 8 KV heads x 512 B x 1 positions  *= 131 kB$' &&
    has '^  memory bandwidth W  *3.35 TB/s  *(26)  spec: ' && has '^  launch  *4.90 us  *(26)  the same fit'
ok $? "--explain: formulas with their numbers, constants with their sources"
awk '/^decode, /{ on = 1 } on && length > 120 { bad = 1 } END { exit bad || !on }' "$tmp/out"
ok $? "in 120 columns"
sed -n 's/^  sum of the classes: \(.*\) s$/\1/p' "$tmp/out" >"$tmp/sum"
run predict llama-3-8b --hw h100-sxm --stack none -p 0 -n 1 -o csv
is "$(awk '{ printf "%.17g", $1 }' "$tmp/sum")" "$(awk -v s="$(cell seconds tg1)" 'BEGIN { printf "%.17g", s }')" "the classes add up to the prediction"
run predict llama-3-8b --hw h100-sxm --stack none --explain --request 6+3 &&
    [ "$(grep -c '^  prompt:$\|^  2 decode steps, mean:$' "$tmp/out")" = 2 ] && has '^    FLOP     32 x 2 x 14336 x 4096 x 6 tokens'
ok $? "a request: its prompt, and its steps"
tokens=$(sed -n 's/^  3 tokens .* = \(.*\) tokens.s$/\1/p' "$tmp/out" | awk '{ printf "%.9g", $1 }')
run predict llama-3-8b --hw h100-sxm --stack none --request 6+3 -o csv
is "$tokens" "$(awk -v t="$(cell tok_s req6+3)" 'BEGIN { printf "%.9g", t }')" "they add up to it"

# --what-if: 16 GB at 3.35 TB/s are 209.375 tokens/s; half as much again 314.0625; 8 sequences share the weights.
run predict llama-3-8b --hw h100-sxm --roof --weights-gb 16 -p 0 --what-if bandwidth=x1.5 --what-if b=8 -o csv
is "209.3750 314.0625 1675.0000" "$(cells tok_s | while read v; do scaled $v 1 4; echo; done | xargs)" "a row a change, beside the base"
is "1.5000 8.0000" "$(cells speedup | tail -n 2 | while read v; do scaled $v 1 4; echo; done | xargs)" "with its ratio"
is "tg128x8" "$(cell_of test 4)" "named as what it is"
run predict llama-3-8b --hw h100-sxm -p 0 --what-if type=Q4_K_M,tp=2 && has '^h100-sxm  *F16  *1 device .* -$' &&
    has '^h100-sxm  *Q4_K_M  *tp2 .*type=Q4_K_M,tp=2$'
ok $? "another type, two devices"
refused 2 'nearest name is "bandwidth"' predict llama-3-8b --hw h100-sxm --what-if bandwith=x2
for bare in bandwidth=4 memory=96 link=900 latency=5 launch=3 fp16=400 fp8=4e14; do
    refused 2 'a quantity with its unit' predict llama-3-8b --hw h100-sxm --what-if $bare
done
run predict llama-3-8b --hw h100-sxm -p 0 --roof --what-if 'bandwidth=6.7 TB/s' --what-if bandwidth=6.7T --what-if fp16=400TFLOP/s --what-if memory=96G --what-if launch=0 \
    --what-if latency=5us --what-if link=900GB/s -o csv && is '2 2 ' "$(cells speedup | sed -n '2,3p' | awk '{ printf "%.3g ", $1 }')" "quantities with units, or with their prefix"
# Memory beyond what a step's loads ask for gains nothing more, and the row's roof says so.
run predict llama-3-8b --hw h100-sxm -n 8 --what-if bandwidth=x50 && has 'memory  .* prefill; spec: what if: bandwidth=x50$' &&
    has 'memory  .* decode; spec: what if: bandwidth=x50; loads in flight: at most 5.41 TB/s (38)$'
ok $? "a bandwidth that saturates: what limits it"
run predict llama-3-8b --hw h100-sxm -n 8 && ! has 'loads under way'
ok $? "its own does not"
run predict llama-3-8b --hw h100-sxm --solve 'bandwidth:decode=tok_s>=3000' && has "no bandwidth is sufficient: memory's latency alone allows"
ok $? "nor is that a limit of bandwidth in an answer"
refused 2 '--what-if type=Q99: ' predict llama-3-8b --hw h100-sxm --what-if type=Q99
refused 2 '3 does not divide' predict llama-3-8b --hw h100-sxm --what-if tp=3

# --solve: 16 GB in 10 ms are 1.6 TB/s; one pass of 16e9 FLOP a token at 989.4e12 allows 61838 tokens/s.
run predict llama-3-8b --hw h100-sxm --roof --weights-gb 16 --solve 'bandwidth=tok_s>=100' --solve 'bandwidth=tok_s>=1e5' -o csv
is "1.600000 true memory  false compute" "$(scaled "$(cell_of value 2)" 1e-12 6) $(cell_of found 2) $(cell_of bound 2) $(cell_of value 3) $(cell_of found 3) $(cell_of bound 3)" \
    "the bandwidth that is needed, or the bound that stands in the way"
has 'no bandwidth is sufficient: compute alone allows 61838 tokens/s'
ok $? "in words"
# Three more machines: 14 GB and what runs them fit two of them, the smallest of all that do, and of these the slower is the answer; 100 tokens/s of 14 GB
# take 1.4 TB/s.
mkdir -p "$tmp/data/hwprofiles" && ln -s "$top_srcdir/models" "$tmp/data/models" && cp -r "$top_srcdir/hwprofiles/classes.json" "$top_srcdir/hwprofiles/priors" "$tmp/data/hwprofiles" && mkdir "$tmp/data/hwprofiles/stacks" && cp "$top_srcdir/hwprofiles/stacks/priors.json" "$top_srcdir/hwprofiles/stacks/rules.json" "$top_srcdir/hwprofiles/stacks/servers.json" "$tmp/data/hwprofiles/stacks"
for m in small:10:1 fast:16:2 slow:16:1; do
    printf '{"schema": "roofcast.hwprofile", "version": 1, "name": "%s", "kind": "gpu", "spec": {"memory_bytes": "%s GB",
        "memory_bandwidth": "%s TB/s", "peaks": {"fp16": "400 TFLOP/s"}}}' $(echo $m | tr ':' ' ') >"$tmp/data/hwprofiles/${m%%:*}.json"
done
ROOFCAST_DATA=$tmp/data "$ROOFCAST" predict llama-3-8b --roof --weights-gb 14 --solve machine=fits --solve 'machine=tok_s>=100' -o csv >"$tmp/out" 2>"$tmp/err"
is "slow fast" "$(cell_of machine 2) $(cell_of machine 3)" "the smallest machine that does"
refused 2 '--solve: expected UNKNOWN' predict llama-3-8b --hw h100-sxm --solve bandwidth=lots
refused 2 '--solve excludes --explain' predict llama-3-8b --hw h100-sxm --solve context=fits --what-if b=2
refused 2 '--solve and --slo are mutually exclusive: put the limit into the question' predict llama-3-8b --hw h100-sxm --solve context=fits --slo 'itl<=50ms'

# A new machine: bandwidth and one peak, of any type.
cat >"$tmp/new.json" <<'END'
{"schema": "roofcast.hwprofile", "version": 1, "name": "New GPU", "kind": "gpu",
 "spec": {"memory_bandwidth": "1 TB/s", "peaks": {"fp8": "400 TFLOP/s"}}}
END
run predict llama-3-8b --hw "$tmp/new.json" --roof -n 1 --weights-gb 10 -p 1 &&
    has 'tg1  *100  *10.0 ms  *memory' && has 'fp16  *200 TFLOP/s  *derived: fp8 peak x 0.5' && has '?$'
ok $? "two numbers of a datasheet are enough; the missing peak is derived, the missing memory unknown"
cat >"$tmp/this.json" <<'END'
{"schema": "roofcast.hwprofile", "version": 1, "name": "Test host", "kind": "cpu",
 "spec": {"memory_bandwidth": "100 GB/s", "peaks": {"fp32": "1 TFLOP/s"}},
 "ceilings": [{"name": "read DRAM 1t", "kind": "bandwidth", "level": "DRAM", "n_threads": 1, "value": 2e10,
               "unit": "B/s", "ci_lo": 1.9e10, "ci_hi": 2.1e10, "n_samples": 5},
              {"name": "read DRAM 2t", "kind": "bandwidth", "level": "DRAM", "n_threads": 2, "value": 4e10,
               "unit": "B/s", "ci_lo": 3.9e10, "ci_hi": 4.1e10, "n_samples": 5}]}
END
run predict tinyllama-1.1b --roof -n 1 -p 0 --weights-gb 1 &&
    has '^this  *F16  *tg1  *40.0  *25.0 ms' && has '40.0 GB/s  *measured: read DRAM 2t'
ok $? "this machine: what was measured, not the datasheet"
run predict tinyllama-1.1b --hw this --roof -n 1 -p 0 --weights-gb 1 -t 1 &&
    has '^this  *F16  *tg1  *20.0 '
ok $? "-t 1: the roof of one thread"
run predict stories15m --hw h100-sxm -d 100000 -p 0 &&
    says 'exceeds the trained context'
ok $? "a context beyond the trained one: a warning"
run predict --help &&
    has 'roofcast predict llama-3-8b --hw h100-sxm,rtx-4090'
ok $? "--help has examples"

printf '{"schema": "roofcast.run", "version": 1}' >"$tmp/run.json"
refused 1 'this is a roofcast.run document, a model is expected' predict "$tmp/run.json" --hw h100-sxm
sed '1,/{/s/{/{"quantization_config": {"quant_method": "awq"},/' "$top_srcdir/models/stories15m.json" >"$tmp/awq.json"
refused 1 'quantization_config: field "bits" is missing' predict "$tmp/awq.json" --hw h100-sxm
sed 's/"quant_method": "awq"/"quant_method": "bitsandbytes"/' "$tmp/awq.json" >"$tmp/bnb.json"
refused 1 'quant_method is "bitsandbytes", expected fp8, awq' predict "$tmp/bnb.json" --hw h100-sxm
sed 's/"quant_method": "awq"/"quant_method": "fp8"/' "$tmp/awq.json" >"$tmp/fp8.json"
run predict "$tmp/fp8.json" --hw h100-sxm -o json && has '"math": "fp8"'
ok $? "a checkpoint in FP8 multiplies in FP8"
run predict llama-3-8b --hw a100-sxm-80gb -q FP8 -n 0 -o csv && is 'true fp8' "$(cells derived) $(cells math)" "units that are missing: the peak of the nearest type"
# What files of measurements call a type is one; bits that none has are refused.
for q in GPTQ-Int4:GPTQ awq-int4:AWQ bfloat16:BF16 W4A16:W4A16 FP8:FP8 Q4_K_XL:Q4_K_M; do
    run predict llama-3-8b -q "${q%:*}" --hw h100-sxm -p 0 -n 1 -o csv && is "${q#*:}" "$(cells type)" "-q ${q%:*} is ${q#*:}"
done
says 'Q4_K_XL: estimated as Q4_K_M'
ok $? "which is said where it is another name"
refused 2 '-q nf4: 4.5 bits per weight, which no supported type has: expected one of `roofcast list types`, the nearest is W4A16' predict llama-3-8b -q nf4 --hw h100-sxm
run predict llama-3-8b -q iq2_xxs --hw h100-sxm -p 0 -n 1 -o csv && is IQ2_XXS "$(cells type)" "types of few bits are priced"
refused 2 'type "zzz" is unknown (known: F32' predict llama-3-8b -q zzz --hw h100-sxm
refused 2 '--draft-type nf4: 4.5 bits' predict llama-3.1-70b --hw h100-sxm --draft llama-3.2-1b --draft-type nf4
run sweep -m llama-3-8b -q GPTQ-Int4,F16 --hw h100-sxm && is "GPTQ F16" "$(cells type | paste -sd ' ')" "sweep takes such names, too"
run analyze llama-3-8b -q gptq-int4 -o json && has '"type": "GPTQ"'
ok $? "and analyze"
run predict "$tmp/awq.json" --hw h100-sxm -q Q4_0
ok $? "a quantized model is priced as the type that -q names"
kv_of() { # ARGS...: bytes of the KV cache
    run predict --hw h100-sxm -n 1 -o csv "$@" && cells kv_total_bytes | head -n 1
}
is "$(kv_of gemma-3-27b --stack transformers -p 600 -d 90000 -ub 600)" "$(kv_of gemma-3-27b --stack transformers -p 600 -d 90000)" \
    "software that takes a prompt whole fills its windows with no more"
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a / b - 1 < 1e-4 && b / a - 1 < 1e-4) }'; }
near $(($(kv_of gemma-4-31b --tp 8 -p 0 -d 65536) - $(kv_of gemma-4-31b --tp 8 -p 0 -d 32768))) \
    $(($(kv_of gemma-4-31b --tp 4 -p 0 -d 65536) - $(kv_of gemma-4-31b --tp 4 -p 0 -d 32768)))
ok $? "four key heads of layers that see all: eight devices have as much of each as four"
run predict qwen3-30b-a3b --hw h200-sxm --stack vllm -p 4096 -n 0 -o csv && fitted=$(cell ttft_s pp4096)
run predict qwen3-30b-a3b --hw h200-sxm -p 4096 -n 0 --roof -o csv && awk -v a="$(cell ttft_s pp4096)" -v b="$fitted" 'BEGIN { exit !(a > 0 && a < b) }'
ok $? "no prediction is faster than its roof, whose passes are the software's"
refused 2 'no MODEL' predict
refused 1 'no file and no model' predict no-such-model --hw h100-sxm
refused 1 'nonesuch' predict llama-3-8b --hw nonesuch
refused 2 'empty item' predict llama-3-8b --hw h100-sxm,,b200
refused 2 '-p 0 and -n 0' predict llama-3-8b --hw h100-sxm -p 0 -n 0
refused 2 '-p: expected 0 to' predict llama-3-8b --hw h100-sxm -p -1
refused 2 '-b: expected 1 to' predict llama-3-8b --hw h100-sxm -b 0
refused 2 '-ub: expected 1 to' predict llama-3-8b --hw h100-sxm -ub 0
refused 2 '-d: expected 0 to' predict llama-3-8b --hw h100-sxm -d 99999999999
refused 2 'a context of' predict llama-3-8b --hw h100-sxm -d 2147483647
refused 2 'passes, at most' predict llama-3-8b --hw h100-sxm -p 2000000000 -ub 1
refused 2 '-t: expected 1 to' predict llama-3-8b --hw h100-sxm -t 0
refused 2 '-t: 1000 threads: epyc-9654 has 192 hardware threads, two per core' predict llama-3-8b --hw epyc-9654 -t 1000
run predict llama-3-8b --hw epyc-9654 -t 192 -p 0 -n 1
ok $? "-t: two threads a core"
refused 1 'a file of its bandwidth and a peak does as well' predict llama-3-8b --hw "rtq 4050"
# pages of constants are on the heap: a small stack is enough; a sanitizer's frames are several times as large
stack=100
if [ -n "${ROOFCAST_SANITIZED:-}" ]; then stack=2000; fi
for what in "" --explain "--request=64+8" "--draft=ngram --acceptance=0.5"; do
    # shellcheck disable=SC2086 # options are words
    (ulimit -s $stack && run predict llama-3-8b --hw rtx-4090 $what)
    ok $? "a stack of $stack KiB: predict $what"
done
refused 2 '--weights-gb: expected' predict llama-3-8b --hw h100-sxm --weights-gb -3
refused 2 '--weights-gb: expected' predict llama-3-8b --hw h100-sxm --weights-gb nan
run predict llama-3-8b --hw h100-sxm -p 0 -n 128 -ctk Q8_0 --cache-type-v q4_0 -o csv
is "Q8_0 Q4_0 $((32 * 8 * (4 * 34 + 4 * 18) * 131 / 2))" "$(cell type_k tg128) $(cell type_v tg128) $(cell kv_bytes tg128)" \
    "types of the KV cache: 64.5 positions read and one written"
refused 2 'type of the KV cache "Q2_K": expected one of F32, F16' predict llama-3-8b --hw h100-sxm -ctv Q2_K
refused 2 '--by: expected phase or role' predict llama-3-8b --hw h100-sxm --by colour
# A machine without a prediction, in a table with others, is a row that says why.
several="llama-3-8b --hw h200-sxm,arc-a310,mi300x --tp 2 -p 512 -n 8"
run predict $several && has '^arc-a310 .*cannot predict: profile arc-a310 has no link that joins 2' && has '^h200-sxm ' && has '^mi300x ' &&
    says 'warning: cannot predict: profile arc-a310'
ok $? "a machine without a price is a row, the others keep theirs"
run predict $several -o csv && is 2 "$(cells reason hw=arc-a310 | grep -c 'no link that joins 2 devices')" "csv: the reason in each of its rows"
is '' "$(cells tok_s hw=arc-a310 | tr -d '\n')$(cells flop hw=arc-a310 | tr -d '\n')$(cells fits hw=arc-a310 | tr -d '\n')" "and nothing that is a price"
is 4 "$(cells tok_s | grep -c .)" "all others have theirs"
for form in json jsonl md sql; do
    run predict $several -o $form && has 'no link that joins 2 devices' && has mi300x
    ok $? "the reason in $form"
done
for what in '--request 32+8' '--what-if bandwidth=x2' '--by role' '--explain' '--slo tok_s>=1' '--solve batch=itl<=50ms' '--draft ngram --acceptance 0.5'; do
    run predict $several $what -o csv && has 'no link that joins 2 devices' && has '^llama-3-8b,mi300x'
    ok $? "the reason with $what"
done
run predict llama-3-8b --hw arc-a310,core-i5-4278u --tp 2 -o csv
[ $status -eq 1 ] && has 'arc-a310' && has 'core-i5-4278u' && says 'none of 2 machines can be predicted: cannot predict: profile arc-a310'
ok $? "no machine with a price: the reasons, and their exit status"
refused 1 'no link that joins 2 devices' predict llama-3-8b --hw arc-a310 --tp 2
# Peaks that are missing are those of the nearest type, on machines of any kind.
run predict llama-3-8b --hw h200-sxm,rtx-5090,apple-m4-max-40,mi300x,a100-sxm-80gb,gtx-1080,epyc-9654 -q FP8 -n 0 -o csv
is 'false false true false true true true' "$(cells derived | paste -s -d' ' -)" "FP8 on units that lack it: derived"
# Weights that the usual engine of a machine does not load are run by one that does, or the row says so.
for q in AWQ GPTQ FP8 NVFP4; do
    run predict llama-3-8b -q $q --hw rtx-4090,rx-7900xtx,dgx-spark-gb10,apple-m4-max-40,gtx-1080 -p 0 -n 8 -o csv
    is 'vllm vllm vllm llama.cpp-metal llama.cpp-cuda' "$(cells stack | paste -s -d' ' -)" "$q: an engine that loads it, where one runs"
    is "llama.cpp-metal loads no $q" "$(cells note hw=apple-m4-max-40 | sed 's/:.*//')" "$q: else it is said"
done
run predict llama-3-8b -q FP8 --hw rtx-4090 --stack llama.cpp-cuda -p 0 -n 8 && has '^Note on tg8 on rtx-4090 and similar rows: llama.cpp-cuda loads no FP8'
ok $? "a stack that was asked for, too"
for q in Q4_K_M F16; do
    run predict llama-3-8b -q $q --hw rtx-4090 -p 0 -n 8 -o csv && is 'llama.cpp-cuda ' "$(cells stack) $(cells note)" "$q: as ever"
done
# Constants are the machine's where its stack was measured on it, not where the two are known apart.
run predict llama-3-8b --hw h100-sxm,apple-m2 --stack llama.cpp-metal -p 0 -n 8 -o csv
is 'class machine' "$(cells basis | paste -s -d' ' -)" "a stack that was measured elsewhere alone: the machine's with other software"
run predict llama-3-8b --hw h100-sxm --stack llama.cpp-metal -p 0 -n 8 && has 'or of other software on this machine' && ! has 'constants fitted to'
ok $? "and the table says so"
# A machine guessed from its name is marked, and rows of several sequences say what is not in them.
for form in table csv json jsonl md sql; do
    run predict llama-3-8b --hw 'GeForce 6090,rtx-4090' -p 0 -n 8 -b 4 -o $form && has 'GeForce 6090\*' && ! has 'rtx-4090\*' && has 'arrivals and queueing'
    ok $? "a guess looks like one in $form, and so does a batch"
done
run predict llama-3-8b --hw rtx-4090 -p 0 -n 8 -o csv && ! has 'arrivals' && is '' "$(cells guess)" "one sequence on a machine that is known: neither"

printf '{"schema": "roofcast.hwprofile", "version": 1, "name": "x", "kind": "gpu"}' >"$tmp/empty.json"
refused 1 'empty' predict llama-3-8b --hw "$tmp/empty.json"
rm -f "$tmp/this.json"
refused 3 'run `roofcast profile` first' predict llama-3-8b
finish
