#!/bin/sh
# roofcast choose: types that fit, their speed as predict has it, quality with its source, the front, the recommendation; machines by price and
# probability; refusals. Formulas: doc/methods.md (63), (105).
. "${top_srcdir:?}/tests/cli/lib.sh"
first_line() { sed -n 1p "$tmp/out"; }
rows() { grep -c '^"\{0,1\}[a-z]' "$tmp/out"; }

run choose llama-3.1-8b --hw rtx-4090 && cp "$tmp/out" "$tmp/text"
ok $? "a model on a machine"
first_line | grep -q '^Take Q4_K_M: .* tokens/s (.* to .*), .*GB of .*GB, perplexity +[0-9.]* % (published for 6.7B to 13B: +[0-9.]* to +[0-9.]* %)\. Closer to the original: .*Faster: '
ok $? "the first line is the answer: type, speed with its interval, memory, quality; the neighbours on the front"
grep -q '^\[1\] Llama 3 8B (WikiText-2 test, context 512): llama.cpp tools/perplexity/README.md.*2024-04-26$' "$tmp/text"
ok $? "sources below the table, with text and date"
for type in F16 Q8_0 Q4_K_M IQ4_XS Q2_K AWQ FP8; do grep -q "^$type  *.*[a-z]" "$tmp/text" || echo "$type"; done >"$tmp/err"
[ ! -s "$tmp/err" ]
ok $? "GGUF types, mixtures, and vLLM's checkpoints"
! grep -q '^\(F32\|BF16\|TQ2_0\|NVFP4\|MXFP4_MOE\|MLX_4BIT\) ' "$tmp/text"
ok $? "no types without files, units or software: no FP4 units, no experts"

run choose llama-3.1-8b --hw rtx-4090 -o csv
csv=$tmp/types.csv
cp "$tmp/out" "$csv"
is 1 "$(cells take | grep -c true)" "one row is recommended"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $at["pareto"] != "" { n++; s[n] = $at["tok_s"]; l[n] = $at["loss"]; p[n] = $at["pareto"] }
    END { for (i = 1; i <= n; i++) { front = 1; for (k = 1; k <= n; k++) if (s[k] >= s[i] && l[k] <= l[i] && (s[k] > s[i] || l[k] < l[i])) front = 0
          if ((p[i] == "true") != front) bad = 1; some += front } exit bad || some < 5 || some == n }' "$(sed 's/"[^"]*"/quoted/g' "$csv" >"$tmp/plain.csv"; echo "$tmp/plain.csv")"
ok $? "Pareto rows are those that no other beats in both"
speed=$(cells tok_s type=Q4_K_M)
lo=$(cells tok_s_lo type=Q4_K_M)
hi=$(cells tok_s_hi type=Q4_K_M)
run predict llama-3.1-8b --hw rtx-4090 -q Q4_K_M -p 0 -n 128 -d 3968 -o csv
holds "($speed - $(cells tok_s)) ^ 2 < 1e-12 * $speed ^ 2 && ($lo - $(cells tok_s_lo)) ^ 2 < 1e-12 * $lo ^ 2 &&
    ($hi - $(cells tok_s_hi)) ^ 2 < 1e-12 * $hi ^ 2" "speed and interval are predict's at the end of the context"
run predict llama-3.1-8b --hw rtx-4090 -q Q4_K_M -p 512 -n 128 -d 3456 -o csv
need=$(cells need_bytes phase=decode)
cp "$csv" "$tmp/out"
is "$need" "$(cells need_bytes type=Q4_K_M)" "and memory, with a prompt that fills it"
is "reference 0" "$(cells quality type=F16) $(cells loss type=F16)" "16 bits are the reference"
is "unavailable " "$(cells quality type=W4A16) $(cells loss type=W4A16)$(cells pareto type=W4A16)" "a type without a figure is unavailable: no loss, no place on the front"

# what fits, what is asked for
run choose llama-3.1-70b --hw rtx-4090
! grep -q '^Q4_K_M ' "$tmp/out" && has '^IQ2_XXS ' && has 'Too large: .*Q4_K_M (' && first_line | grep -q 'No type that loses at most 3 % fits'
ok $? "types that do not fit are named below; the answer says that none of them loses little enough"
run choose llama-3.1-405b --hw rtx-4090 && first_line | grep -q '^No type of llama-3.1-405b fits in the memory'
ok $? "where nothing fits the answer says so"
run choose llama-3.1-8b --hw rtx-4090 -q Q4_K_M,NVFP4,mlx_4bit --all && has 'NVFP4 on rtx-4090: the machine has no units for it' && has 'only MLX loads it'
ok $? "a type that is asked for and cannot run has its reason"
run choose llama-3.1-8b --hw rtx-5090,b200-sxm -o csv
is "2 2" "$(cells type type=NVFP4 | wc -l) $(cells take | grep -c true)" "NVFP4 where the machine has FP4 units; a recommendation a machine"
run choose llama-3.1-8b --hw h100-sxm --stack vllm -o csv
is "" "$(cells type type=Q4_K_M)$(cells type type=F16)" "a server has no GGUF types, and 16 bits are BF16"
run choose llama-3.1-8b --hw apple-m2-ultra -o csv
is "" "$(cells stack | grep -v '^llama.cpp-metal$')$(cells type type=AWQ)" "llama.cpp loads no checkpoints of other schemes"
run choose llama-3.1-8b --hw apple-m2-ultra --stack mlx -o csv
is "BF16 MLX_4BIT MLX_8BIT" "$(cells type | sort | paste -s -d' ' -)" "MLX has its own"
run choose qwen3-30b-a3b --hw rtx-4090 -o csv
is 1 "$(cells type type=MXFP4_MOE | wc -l)" "MXFP4 for experts"
run choose gpt-oss-20b --hw rtx-4090 -o csv
is "reference reference MXFP4_MOE" "$(cells quality type=MXFP4_MOE) $(cells quality type=MXFP4_EXPERTS) $(cells type take=true)" "formats that a model is published in lose nothing"
run choose llama-3.1-70b --hw h100-sxm -q IQ3_XXS -o csv
is "quoted" "$(cells quality type=IQ3_XXS)" "without a figure of that size those of the nearest, marked"
grep -q '"published, other size"' "$tmp/out"
ok $? "as of another size"
run choose llama-3.1-8b --hw rtx-3060-12gb --loss 0.5 -o csv
a=$(cells type take=true)
run choose llama-3.1-8b --hw rtx-3060-12gb --loss 20 -o csv
[ "$a" != "$(cells type take=true)" ]
ok $? "--loss decides: $a, $(cells type take=true)"
run choose llama-3.1-8b --hw rtx-3060-12gb --rate 40 -o csv
c=$(cells chance take=true)
run predict llama-3.1-8b --hw rtx-3060-12gb -q "$(cells type take=true)" -p 0 -n 128 -d 3968 --slo 'tok_s>=40' -o csv
holds "$c >= 0.9 && ($c - $(cells slo_chance)) ^ 2 < 1e-12" "--rate: the type that loses least and reaches it; the probability is predict's"
cp "$tmp/types.csv" "$tmp/out"
run choose llama-3.1-8b --hw rtx-4090 --rate 900
first_line | grep -q '^No type reaches 900 tokens/s with probability 0.9. Nearest of acceptable loss: .* tokens/s' && ! first_line | grep -q 'Take\|IQ1_'
ok $? "a rate that no type reaches: no recommendation, and the nearest is not the one that loses most"
run choose llama-3.1-8b --hw rtx-4090 --tp 3
first_line | grep -q '^No type of llama-3.1-8b can be predicted' && has 'tp 3 does not divide 32 heads'
ok $? "options that cannot be predicted are not called too little memory"
run choose "$top_srcdir/tests/fixtures/llama-2l.gguf" --hw rtx-4090 -o csv && [ "$(rows)" -gt 10 ]
ok $? "a GGUF: its shape in every type"

# measured on this machine
run synth --n-layer 2 --n-embd 64 --n-ff 160 --n-head 4 --n-head-kv 2 --n-vocab 300 --n-ctx 256 -q F32 --seed 1 --name tiny -o "$tmp/f32.gguf" --quiet &&
    run quantize "$tmp/f32.gguf" "$tmp/q4.gguf" -q Q4_0 --quiet
seq 3 290 >"$tmp/ids"
run ppl -m "$tmp/q4.gguf" --against "$tmp/f32.gguf" --ids "$tmp/ids" -c 64 -t 2 -o csv --no-record && [ ! -e "$tmp/share/roofcast/quality" ]
ok $? "ppl --no-record leaves no record"
run ppl -m "$tmp/q4.gguf" --against "$tmp/f32.gguf" --ids "$tmp/ids" -c 64 -t 2 -o csv && says 'recorded for `roofcast choose`: '
ok $? "ppl records what it measured"
kl=$(cells kl type=Q4_0)
ratio=$(cells ln_ppl_ratio type=Q4_0)
run choose "$tmp/f32.gguf" --hw rtx-4090 -q Q4_0,Q8_0 -o csv
is "measured $kl" "$(cells quality type=Q4_0) $(cells kl_lo type=Q4_0)" "and choose shows it as measured"
holds "($(cells loss type=Q4_0) - (exp($ratio) - 1)) ^ 2 < 1e-12" "the loss is the measured ratio's"
is quoted "$(cells quality type=Q8_0 | sed 's/^published$/quoted/')" "a type that was not measured keeps its published figures"
printf '{"schema": "roofcast.quality_measured", "version": 1, "rows": [{"model": 3}]}' >"$tmp/share/roofcast/quality/bad.json"
refused 1 'bad.json: rows[0]: field "model": expected a string, found' choose llama-3.1-8b --hw rtx-4090
rm "$tmp/share/roofcast/quality/bad.json"

# machines
price() { # FILE ROWS
    printf '{"schema": "roofcast.prices", "version": 1, "prices": [%s]}' "$2" >"$1"
}
offer() { printf '{"hw": "%s", "%s": %s, "provider": "P", "source": "a test", "date": "2026-11-01"}' "$1" "$2" "$3"; }
price "$tmp/prices.json" "$(offer 'RTX 3060 12GB' usd_h 0.1), $(offer rtx-4090 usd_h 0.5), $(offer rtx-4090 usd_h 0.4), $(offer h100-sxm usd_h 2), $(offer rtx-4090 usd 1500)"
run choose llama-3.1-8b --rate 60 --devices 1 --prices "$tmp/prices.json" -o csv
is "rtx-4090 0.4" "$(cells hw take=true) $(cells usd_h take=true)" "the cheapest machine that reaches the rate with probability 0.9, by its cheapest offer"
holds "$(cells chance take=true) >= 0.9 && $(cells chance hw=rtx-3060-12gb | head -n 1) < 1" "a cheaper one does not"
run choose llama-3.1-8b --rate 5 --prices "$tmp/prices.json"
first_line | grep -q '^Rent rtx-3060-12gb, 0.1 USD/h (P, 2026-11-01), with [A-Z0-9_]*: .* tokens/s (.*), reaches 5 tokens/s with probability 0.99[0-9]*, '
ok $? "a lower rate is cheaper; the answer has price, date, type, speed and probability"
run choose llama-3.1-8b --rate 60 --devices 1 --prices "$tmp/prices.json" --buy && first_line | grep -q '^Buy rtx-4090, 1500 USD'
ok $? "--buy: by the purchase price"
run choose llama-3.1-8b --rate 9000 --prices "$tmp/prices.json" && first_line | grep -q '^No listed machine with a price reaches 9000 tokens/s with probability 0.9. Nearest: h100-sxm'
ok $? "none reaches it: the nearest"
run choose llama-3.1-70b --rate 10 --users 8 --devices 1 --prices "$tmp/prices.json" -o csv
is "h100-sxm 2" "$(cells hw take=true) $(cells usd_h take=true)" "users share a machine"
run choose llama-3.1-70b --rate 10 --users 8 --prices "$tmp/prices.json" -o csv
is "rtx-4090 4 1.6" "$(cells hw take=true) $(cells n_devices take=true) $(cells usd_h take=true)" "of several devices, at as many times the price"
run choose llama-3.1-8b --rate 60 && has 'Prices change: --prices FILE' && first_line | grep -q '^Rent .* USD/h (.*, 2026-'
ok $? "the installed prices, with provider and date"

for format in json jsonl md sql; do
    run choose llama-3.1-8b --hw rtx-4090 -o $format && has "Q4_K_M"
    ok $? "-o $format"
done
run choose llama-3.1-8b --hw rtx-4090 --save "$tmp/choice.json" && grep -q '"schema": "roofcast.choose"' "$tmp/choice.json"
ok $? "--save"

price "$tmp/bad.json" "$(offer rtx-4090 usd_h -1)"
refused 1 'bad.json: prices[0]: field "usd_h": expected more than 0 and less than 1e9 USD, found -1' choose llama-3.1-8b --rate 1 --prices "$tmp/bad.json"
price "$tmp/bad.json" "$(offer rtx-9999 usd_h 1)"
run choose llama-3.1-8b --rate 1 --prices "$tmp/bad.json"
[ "$status" -eq 0 ] || says 'prices\[0\]: field "hw"'
ok $? "an unknown machine in a file of prices is estimated from its class, or named"
refused 2 '--prices needs --rate TOK_S' choose llama-3.1-8b --prices "$tmp/prices.json"
refused 2 '--stack none: a choice needs' choose llama-3.1-8b --stack none
refused 2 'type "Q9" is unknown' choose llama-3.1-8b --hw rtx-4090 -q Q9
refused 2 '--rate' choose llama-3.1-8b --rate 0
finish
