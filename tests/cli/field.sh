#!/bin/sh
# Files as they are found: what of a config.json changes bytes is read or said.
. "${top_srcdir:?}/tests/cli/lib.sh"
config() { # MORE: a tiny Llama in $tmp/c/config.json, with more fields
    mkdir -p "$tmp/c"
    printf '{"model_type": "llama", "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "intermediate_size": 512, "vocab_size": 1000, "tie_word_embeddings": false, "torch_dtype": "bfloat16"%s}' "$1" >"$tmp/c/config.json"
}
config ', "hidden_act": "silu", "bos_token_id": 1, "attention_dropout": 0.0, "transformers_version": "5.0", "initializer_range": 0.02'
run analyze "$tmp/c/config.json" && ! says "ignored unknown"
ok $? "usual fields are no note"
config ', "extra_gate": true, "num_wide_layers": 3, "nothing": null, "none": 0'
run analyze "$tmp/c/config.json" && says "ignored unknown fields: extra_gate, num_wide_layers$"
ok $? "fields that nothing reads are named"
config ', "rope_theta": Infinity'
refused 1 'field "rope_theta": expected a number, found Infinity' analyze "$tmp/c/config.json"
config ', "limits": [0.0, Infinity, NaN]'
run analyze "$tmp/c/config.json"
ok $? "numbers that are none do no harm where they are not read"
printf '\357\273\277' >"$tmp/bom.json" && config '' && cat "$tmp/c/config.json" >>"$tmp/bom.json"
run analyze "$tmp/bom.json"
ok $? "a byte-order mark is skipped"
printf '\377\376{\000}\000' >"$tmp/wide.json"
refused 1 'expected UTF-8, found UTF-16' analyze "$tmp/wide.json"
config ', "vision_config": {"depth": 24}, "image_token_id": 5'
run analyze "$tmp/c/config.json" && says "the language model alone is read, not vision_config"
ok $? "parts that are not counted are named"

config ', "quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}'
run analyze "$tmp/c/config.json" && has "KV cache .*(FP8)" && says "KV cache type FP8 from its quantization_config"
ok $? "the checkpoint's type of the cache is taken"
run analyze "$tmp/c/config.json" --kv-type Q8_0 && has "KV cache .*(Q8_0)" && ! says "KV cache of FP8"
ok $? "but not where an option names one"
run sweep -m "$tmp/c/config.json" --hw h100-sxm -q own -p 16 -n 1 && grep -q ",FP8,h100-sxm," "$tmp/out"
ok $? "and in sweep"
config ''
printf '{"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}}' >"$tmp/c/hf_quant_config.json"
run analyze "$tmp/c/config.json" && has "^model .*, FP8: " && has "KV cache .*(FP8)"
ok $? "hf_quant_config.json in the same folder says the types"
printf '{"quantization": {"bits": 4}}' >"$tmp/c/hf_quant_config.json"
refused 1 'hf_quant_config.json: expected an object "quantization" with quant_algo' analyze "$tmp/c/config.json"
rm "$tmp/c/hf_quant_config.json"
config ', "quantization": {"bits": 4, "group_size": 64}'
run analyze "$tmp/c/config.json" && has "MLX_4BIT.*(4.5. bits per weight)"
ok $? "MLX's quantization"

field=$top_srcdir/../shared/data/field
if [ -d "$field" ]; then
    is() { # FILE TEXT
        run analyze "$field/$1" && has "$2"
        ok $? "$1: $2"
    }
    is 23-gemma4-config/gemma4_26b.json " 50.5 GB ("
    is 24-tie-top-level/qwen35_4b.json " 8.41 GB ("
    is 24-tie-top-level/qwen35_4b_tt.json " 8.41 GB ("
    is 25-mlx-quantization/q_mlx.json " 4.52 GB (4.50 bits"
    is 28-config-infinity/nem_inf.json " 63.2 GB ("
    is 29-config-bom/cfg_bom.json " 16.1 GB ("
    is 33-config-forms/float_ints.json " 16.1 GB ("
    is 31-vision-and-new-archs/mistral3.json " 47.1 GB ("
    run memory "$field/26-modelopt-kv-cache/modelopt_kv8.json" --hw h100-sxm && has " blocks of 16 tokens, 1.05 MB each"
    ok $? "26-modelopt-kv-cache: blocks of FP8"
    run memory "$field/31-vision-and-new-archs/kimi25.json" --hw h200-sxm --tp 8 && has "weights *76.1 GB  W4A16 g32"
    ok $? "31-vision-and-new-archs/kimi25.json: 76.1 GB a device"
    rows() { # N FILE TEXT: report takes N rows of it, one of which has the text
        run report "$field/$2" --hw rtx-4090 --model llama-3-8b -o csv && [ "$(wc -l <"$tmp/out")" -eq $(($1 + 1)) ] && has "$3"
        ok $? "$2: $1 rows, $3"
    }
    rows 4 15-bench-several-tables/two.csv ",tg128@d4096,decode,125,"
    rows 2 15-bench-several-tables/two_diff.md ",tg128,decode,160,"
    rows 4 16-llama-batched-bench/batched.md ",tg128x8@d128,decode,678.15,"
    run report "$field/20-aiperf-json/profile_export_aiperf.json" --hw h100-sxm -o csv && has "Llama-3.1-8B-Instruct,.*,req1024+128x8 tpot,serving,,0.02225,"
    ok $? "20-aiperf-json: the model, 8 at once, 22.25 ms"
    for f in cur spec; do
        run report "$field/17-vllm-speculative/vllm_$f.json" --hw h100-sxm -o json
        jq '.rows[] | select(.test | endswith("tpot")) | .bytes_s' "$tmp/out" >"$tmp/$f" 2>"$tmp/err"
    done
    paste "$tmp/cur" "$tmp/spec" | awk '{ r = $1 / $2 } END { exit !(r > 2.899 && r < 2.901) }'
    ok $? "17-vllm-speculative: 2.9 tokens a step, so 1/2.9 of the bandwidth"
else
    skip "files from the field" "../shared/data/field is not there"
fi
finish
