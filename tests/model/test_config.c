/* config.json texts: what is read, family by family, and what is refused. */
#include "../test.h"
#include "base/json.h"
#include "model/model.h"
#include <math.h>

/* ---- one field at a time ------------------------------------------------------------------------ */

static const char good[] =
    "{\"model_type\":\"llama\",\"hidden_size\":64,\"num_hidden_layers\":2,\"num_attention_heads\":4,"
    "\"num_key_value_heads\":2,\"intermediate_size\":128,\"vocab_size\":300";

static int parse_with(const char *more, struct hparams *hp, struct error *err)
{
    char text[2048];
    const char *arch;
    snprintf(text, sizeof text, "%s%s%s}", good, *more ? "," : "", more);
    /* Exactly its bytes, so that a read past the end is seen. */
    size_t n = strlen(text);
    char *copy = malloc(n);
    memcpy(copy, text, n);
    int rc = model_parse_config("t.json", copy, n, hp, &arch, err);
    free(copy);
    return rc;
}

static void test_config(void **state)
{
    (void)state;
    struct hparams hp;
    struct error err = { 0 };
    assert_ok(parse_with("", &hp, &err), err);
    assert_int_equal(hp.head_dim, 16);
    assert_int_equal(hp.n_rot, 16);
    assert_int_equal(hp.n_ctx_train, 2048);
    assert_false(hp.tied);
    assert_true(hp.rope_theta == 10000);
    assert_ok(parse_with("\"head_dim\":32,\"tie_word_embeddings\":true,\"sliding_window\":null,"
                         "\"rope_scaling\":{\"type\":\"linear\",\"factor\":4}",
                         &hp, &err),
              err);
    assert_int_equal(hp.head_dim, 32);
    assert_true(hp.tied);
    assert_int_equal(hp.rope_scaling, ROPE_SCALING_LINEAR);
    assert_true(hp.rope_factor == 4);
    assert_ok(parse_with("\"rope_parameters\":{\"rope_type\":\"llama3\",\"rope_theta\":5e5,\"factor\":8,"
                         "\"low_freq_factor\":1,\"high_freq_factor\":4,"
                         "\"original_max_position_embeddings\":8192}",
                         &hp, &err),
              err);
    assert_int_equal(hp.rope_scaling, ROPE_SCALING_LLAMA3);
    assert_true(hp.rope_theta == 5e5 && hp.rope_high == 4);
    assert_ok(parse_with("\"architectures\":[\"LlamaForCausalLM\"]", &hp, &err), err);
    assert_ok(parse_with("\"architectures\":null", &hp, &err), err);
    const char *arch;
    static const char mistral[] =
        "{\"architectures\":[\"MistralForCausalLM\"],\"hidden_size\":64,\"num_hidden_layers\":2,"
        "\"num_attention_heads\":4,\"intermediate_size\":128,\"vocab_size\":300,"
        "\"max_position_embeddings\":4096,\"sliding_window\":4096}";
    assert_ok(model_parse_config("m.json", mistral, sizeof mistral - 1, &hp, &arch, &err), err);
    assert_string_equal(arch, "llama");
    assert_int_equal(hp.n_head_kv, 4);
}

/* A field of the good text with another value: what the message must name. */
static void test_config_hostile(void **state)
{
    (void)state;
    static const struct {
        const char *field, *value, *expect;
    } cases[] = {
        { "hidden_size", NULL, "\"hidden_size\" is missing" },
        { "num_hidden_layers", NULL, "\"num_hidden_layers\" is missing" },
        { "num_attention_heads", NULL, "\"num_attention_heads\" is missing" },
        { "intermediate_size", NULL, "\"intermediate_size\" is missing" },
        { "vocab_size", NULL, "\"vocab_size\" is missing" },
        { "model_type", NULL, "\"model_type\" is missing" },
        { "hidden_size", "\"64\"", "\"hidden_size\": expected a whole number, found a string" },
        { "hidden_size", "-64", "hidden_size" },
        { "hidden_size", "1e30", "hidden_size" },
        { "hidden_size", "64.5", "\"hidden_size\": expected a whole number, found 64.5" },
        { "hidden_size", "[]", "hidden_size" },
        { "hidden_size", "4294967296", "hidden_size" },
        { "hidden_size", "4294967295", "hidden_size is 4294967295" },
        { "hidden_size", "99999999999999999999999", "t.json" },
        { "hidden_size", "0", "hidden_size" },
        { "hidden_size", "66", "multiple of num_attention_heads" },
        { "num_hidden_layers", "4000000000", "num_hidden_layers is 4000000000, expected 1 to" },
        { "num_key_value_heads", "3", "num_attention_heads is 4, expected a multiple of num_key_value_heads" },
        { "num_key_value_heads", "0", "num_key_value_heads" },
        { "num_attention_heads", "64", "head_dim is 1" },
        { "vocab_size", "1000000000", "vocab_size is 1000000000" },
        { "intermediate_size", "2147483648", "intermediate_size" },
        { "model_type", "\"bert\"",
          "model_type \"bert\" is not supported yet (known: llama, mistral, mixtral, smollm3, qwen2" },
        { "model_type", "7", "\"model_type\"" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *j = json_loads("{\"model_type\":\"llama\",\"hidden_size\":64,\"num_hidden_layers\":2,"
                               "\"num_attention_heads\":4,\"num_key_value_heads\":2,"
                               "\"intermediate_size\":128,\"vocab_size\":300}",
                               0, NULL);
        json_object_del(j, cases[i].field);
        char *text = json_dumps(j, 0), full[1024];
        json_decref(j);
        if (cases[i].value)
            snprintf(full, sizeof full, "%.*s,\"%s\":%s}", (int)strlen(text) - 1, text, cases[i].field,
                     cases[i].value);
        else
            snprintf(full, sizeof full, "%s", text);
        free(text);
        struct hparams hp;
        const char *arch;
        struct error err = { 0 };
        assert_fails(model_parse_config("t.json", full, strlen(full), &hp, &arch, &err), err,
                     cases[i].expect);
        assert_int_equal(err.kind, ERROR_INPUT);
    }
}

static void test_config_refused(void **state)
{
    (void)state;
    static const struct {
        const char *more, *expect;
    } cases[] = {
        { "\"attention_bias\":1", "\"attention_bias\": expected true or false" },
        { "\"mlp_bias\":true", "mlp_bias is true: biases of the feed-forward part are not supported yet" },
        { "\"lm_head_bias\":true", "lm_head_bias is true: biases of the LM head are not supported yet" },
        { "\"num_local_experts\":8", "\"num_experts_per_tok\" is missing" },
        { "\"num_local_experts\":8,\"num_experts_per_tok\":9", "num_experts_per_tok is 9, expected 1 to num_local_experts, which is 8" },
        { "\"num_local_experts\":-1", "num_local_experts" },
        { "\"num_local_experts\":8.5", "\"num_local_experts\": expected a whole number, found 8.5" },
        { "\"hidden_act\":\"gelu\"", "hidden_act is \"gelu\", expected \"silu\"" },
        { "\"hidden_act\":\"sil\"", "hidden_act is \"sil\"" },
        { "\"hidden_act\":\"\"", "hidden_act is \"\"" },
        { "\"hidden_act\":7", "hidden_act" },
        { "\"architectures\":[\"GPT2LMHeadModel\"]", "architectures[0] is \"GPT2LMHeadModel\"" },
        { "\"architectures\":[\"LlamaForCausalLM\",\"X\\u001b[2J\"]", "architectures[1] is \"X?[2J\"" },
        { "\"architectures\":\"LlamaForCausalLM\"", "\"architectures\": expected an array of strings, found a string" },
        { "\"architectures\":[3]", "architectures[0]: expected a string" },
        { "\"schema\":\"roofcast.run\"", "this is a roofcast.run document, a model is expected" },
        { "\"partial_rotary_factor\":0", "partial_rotary_factor is 0, expected more than 0, at most 1" },
        { "\"partial_rotary_factor\":1.5", "partial_rotary_factor is 1.5" },
        { "\"partial_rotary_factor\":0.2", "even number" },
        { "\"sliding_window\":-1", "sliding_window" },
        { "\"sliding_window\":\"all\"", "sliding_window" },
        { "\"sliding_window_pattern\":0", "sliding_window_pattern" },
        { "\"sliding_window\":64,\"layer_types\":[\"full_attention\"]", "layer_types has 1 entries for 2 layers" },
        { "\"layer_types\":[\"full_attention\",\"linear_attention\"]", "layer_types[1]: expected" },
        { "\"layer_types\":[\"full_attention\",7]", "layer_types[1]: expected" },
        { "\"sliding_window\":64,\"layer_types\":[\"full_attention\",\"sliding_attention\"]", "windows do not repeat" },
        { "\"head_dim\":33", "head_dim" },
        { "\"head_dim\":0", "head_dim" },
        { "\"rope_theta\":0", "t.json: rope_theta is 0, expected a number from 1 to 1e+12" },
        { "\"rope_theta\":\"x\"", "rope_theta" },
        { "\"rms_norm_eps\":-1", "t.json: rms_norm_eps is -1, expected a number from 0 to 1 (the epsilon of RMSNorm)" },
        { "\"tie_word_embeddings\":1", "tie_word_embeddings" },
        { "\"max_position_embeddings\":0", "max_position_embeddings" },
        { "\"rope_scaling\":3", "rope_scaling" },
        { "\"rope_scaling\":{\"type\":\"ntk\",\"factor\":4}", "rope_type \"ntk\" is not supported yet" },
        { "\"rope_scaling\":{\"type\":\"yarn\"}", "rope_scaling: field \"factor\" is missing" },
        { "\"rope_scaling\":{\"type\":\"yarn\",\"factor\":0.5}", "the YaRN factor is 0.5" },
        { "\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,\"beta_fast\":0.5}", "YaRN's beta_fast is 0.5" },
        { "\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,\"original_max_position_embeddings\":0}", "YaRN's original" },
        { "\"rope_scaling\":{\"type\":\"longrope\"}", "LongRoPE: not supported by architecture llama" },
        { "\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"x\"}}", "rope_type \"x\"" },
        { "\"rope_scaling\":{\"type\":\"linear\"}", "factor" },
        { "\"rope_scaling\":{\"type\":\"linear\",\"factor\":-1}", "factor" },
        { "\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8}", "low_freq_factor" },
        { "\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8,\"low_freq_factor\":4,"
          "\"high_freq_factor\":1,\"original_max_position_embeddings\":8192}",
          "0 < low <= high" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hparams hp;
        struct error err = { 0 };
        assert_fails(parse_with(cases[i].more, &hp, &err), err, cases[i].expect);
    }
    struct hparams hp;
    const char *arch;
    struct error err = { 0 };
    static const char *const texts[] = { "", "[]", "null", "{", "{}", "\"llama\"", "{\"a\":1,\"a\":2}" };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_fails(model_parse_config("t.json", texts[i], strlen(texts[i]), &hp, &arch, &err), err,
                     "t.json");
}

/* What llama has since it is more than Llama. */
static void test_llama(void **state)
{
    (void)state;
    struct hparams hp;
    struct error err = { 0 };
    assert_ok(parse_with("\"attention_bias\":true", &hp, &err), err);
    assert_true(hp.attn_bias && hp.attn_output_bias);
    assert_ok(parse_with("\"attention_bias\":null,\"hidden_act\":null,\"rope_theta\":null,\"head_dim\":null,"
                         "\"sliding_window\":null,\"rope_scaling\":null,\"num_local_experts\":null",
                         &hp, &err),
              err);
    assert_true(!hp.attn_bias && hp.n_expert == 0 && hp.window == 0);
    assert_ok(parse_with("\"num_local_experts\":8,\"num_experts_per_tok\":2", &hp, &err), err);
    assert_true(hp.n_expert == 8 && hp.n_ff_exp == 128);
    assert_ok(parse_with("\"sliding_window\":1024", &hp, &err), err);
    assert_true(hp.window == 1024 && hp.window_period == 0);
    assert_ok(parse_with("\"sliding_window\":1024,\"use_sliding_window\":false", &hp, &err), err);
    assert_int_equal(hp.window, 0);
    assert_ok(parse_with("\"partial_rotary_factor\":0.5", &hp, &err), err);
    assert_int_equal(hp.n_rot, 8);
    assert_ok(parse_with("\"rope_parameters\":{\"rope_type\":\"default\",\"partial_rotary_factor\":0.5}", &hp, &err), err);
    assert_int_equal(hp.n_rot, 8);
}

/* ---- what the families' own files say --------------------------------------------------------- */

/* Fields in the order of the published files, those that only matter to training left out. */
static const char qwen2[] =
    "{\"architectures\":[\"Qwen2ForCausalLM\"],\"attention_dropout\":0.0,\"bos_token_id\":151643,\"hidden_act\":\"silu\","
    "\"hidden_size\":3584,\"initializer_range\":0.02,\"intermediate_size\":18944,\"max_position_embeddings\":32768,"
    "\"max_window_layers\":28,\"model_type\":\"qwen2\",\"num_attention_heads\":28,\"num_hidden_layers\":28,"
    "\"num_key_value_heads\":4,\"rms_norm_eps\":1e-06,\"rope_theta\":1000000.0,\"sliding_window\":131072,"
    "\"tie_word_embeddings\":false,\"torch_dtype\":\"bfloat16\",\"use_sliding_window\":false,\"vocab_size\":152064}";

static const char qwen3[] =
    "{\"architectures\":[\"Qwen3ForCausalLM\"],\"attention_bias\":false,\"head_dim\":128,\"hidden_act\":\"silu\","
    "\"hidden_size\":1024,\"intermediate_size\":3072,\"max_position_embeddings\":40960,\"max_window_layers\":28,"
    "\"model_type\":\"qwen3\",\"num_attention_heads\":16,\"num_hidden_layers\":28,\"num_key_value_heads\":8,"
    "\"rms_norm_eps\":1e-06,\"rope_scaling\":null,\"rope_theta\":1000000,\"sliding_window\":null,"
    "\"tie_word_embeddings\":true,\"use_sliding_window\":false,\"vocab_size\":151936}";

static const char qwen3moe[] =
    "{\"architectures\":[\"Qwen3MoeForCausalLM\"],\"attention_bias\":false,\"decoder_sparse_step\":1,\"head_dim\":128,"
    "\"hidden_act\":\"silu\",\"hidden_size\":2048,\"intermediate_size\":6144,\"max_position_embeddings\":40960,"
    "\"max_window_layers\":48,\"mlp_only_layers\":[],\"model_type\":\"qwen3_moe\",\"moe_intermediate_size\":768,"
    "\"norm_topk_prob\":true,\"num_attention_heads\":32,\"num_experts\":128,\"num_experts_per_tok\":8,"
    "\"num_hidden_layers\":48,\"num_key_value_heads\":4,\"output_router_logits\":false,\"rms_norm_eps\":1e-06,"
    "\"rope_scaling\":null,\"rope_theta\":1000000.0,\"router_aux_loss_coef\":0.001,\"sliding_window\":null,"
    "\"tie_word_embeddings\":false,\"use_sliding_window\":false,\"vocab_size\":151936}";

static const char mixtral[] =
    "{\"architectures\":[\"MixtralForCausalLM\"],\"attention_dropout\":0.0,\"hidden_act\":\"silu\",\"hidden_size\":4096,"
    "\"intermediate_size\":14336,\"max_position_embeddings\":32768,\"model_type\":\"mixtral\",\"num_attention_heads\":32,"
    "\"num_experts_per_tok\":2,\"num_hidden_layers\":32,\"num_key_value_heads\":8,\"num_local_experts\":8,"
    "\"output_router_logits\":false,\"rms_norm_eps\":1e-05,\"rope_theta\":1000000.0,\"router_aux_loss_coef\":0.02,"
    "\"sliding_window\":null,\"tie_word_embeddings\":false,\"vocab_size\":32000}";

static const char mistral[] = /* v0.1, the one with a window */
    "{\"architectures\":[\"MistralForCausalLM\"],\"hidden_act\":\"silu\",\"hidden_size\":4096,\"intermediate_size\":14336,"
    "\"max_position_embeddings\":32768,\"model_type\":\"mistral\",\"num_attention_heads\":32,\"num_hidden_layers\":32,"
    "\"num_key_value_heads\":8,\"rms_norm_eps\":1e-05,\"rope_theta\":10000.0,\"sliding_window\":4096,"
    "\"tie_word_embeddings\":false,\"vocab_size\":32000}";

static const char gemma2[] =
    "{\"architectures\":[\"Gemma2ForCausalLM\"],\"attention_bias\":false,\"attn_logit_softcapping\":50.0,"
    "\"cache_implementation\":\"hybrid\",\"final_logit_softcapping\":30.0,\"head_dim\":128,"
    "\"hidden_act\":\"gelu_pytorch_tanh\",\"hidden_activation\":\"gelu_pytorch_tanh\",\"hidden_size\":4608,"
    "\"intermediate_size\":36864,\"max_position_embeddings\":8192,\"model_type\":\"gemma2\",\"num_attention_heads\":32,"
    "\"num_hidden_layers\":46,\"num_key_value_heads\":16,\"query_pre_attn_scalar\":144,\"rms_norm_eps\":1e-06,"
    "\"rope_theta\":10000.0,\"sliding_window\":4096,\"sliding_window_size\":4096,\"use_cache\":true,"
    "\"vocab_size\":256000}";

static const char gemma3[] = /* one that only reads text */
    "{\"architectures\":[\"Gemma3ForCausalLM\"],\"attention_bias\":false,\"attn_logit_softcapping\":null,"
    "\"cache_implementation\":\"hybrid\",\"final_logit_softcapping\":null,\"head_dim\":256,"
    "\"hidden_activation\":\"gelu_pytorch_tanh\",\"hidden_size\":1152,\"intermediate_size\":6912,"
    "\"max_position_embeddings\":32768,\"model_type\":\"gemma3_text\",\"num_attention_heads\":4,\"num_hidden_layers\":26,"
    "\"num_key_value_heads\":1,\"query_pre_attn_scalar\":256,\"rms_norm_eps\":1e-06,\"rope_local_base_freq\":10000,"
    "\"rope_scaling\":null,\"rope_theta\":1000000,\"sliding_window\":512,\"sliding_window_pattern\":6,"
    "\"vocab_size\":262144}";

static const char gemma3_sees[] = /* its text part leaves out whatever is transformers' default */
    "{\"architectures\":[\"Gemma3ForConditionalGeneration\"],\"boi_token_index\":255999,\"eos_token_id\":[1,106],"
    "\"mm_tokens_per_image\":256,\"model_type\":\"gemma3\",\"text_config\":{\"hidden_size\":2560,"
    "\"intermediate_size\":10240,\"model_type\":\"gemma3_text\",\"num_hidden_layers\":34,\"rope_scaling\":{\"factor\":8.0,"
    "\"rope_type\":\"linear\"},\"sliding_window\":1024},\"torch_dtype\":\"bfloat16\",\"vision_config\":{"
    "\"hidden_size\":1152,\"image_size\":896,\"intermediate_size\":4304,\"model_type\":\"siglip_vision_model\","
    "\"num_attention_heads\":16,\"num_hidden_layers\":27,\"patch_size\":14}}";

static const char phi3[] =
    "{\"architectures\":[\"Phi3ForCausalLM\"],\"attention_bias\":false,\"auto_map\":{\"AutoConfig\":"
    "\"configuration_phi3.Phi3Config\"},\"embd_pdrop\":0.0,\"hidden_act\":\"silu\",\"hidden_size\":3072,"
    "\"intermediate_size\":8192,\"max_position_embeddings\":4096,\"model_type\":\"phi3\",\"num_attention_heads\":32,"
    "\"num_hidden_layers\":32,\"num_key_value_heads\":32,\"original_max_position_embeddings\":4096,"
    "\"rms_norm_eps\":1e-05,\"rope_scaling\":null,\"rope_theta\":10000.0,\"sliding_window\":2047,"
    "\"tie_word_embeddings\":false,\"vocab_size\":32064}";

static const char olmo2[] =
    "{\"architectures\":[\"Olmo2ForCausalLM\"],\"attention_bias\":false,\"attention_dropout\":0.0,\"hidden_act\":\"silu\","
    "\"hidden_size\":4096,\"intermediate_size\":11008,\"max_position_embeddings\":4096,\"model_type\":\"olmo2\","
    "\"num_attention_heads\":32,\"num_hidden_layers\":32,\"num_key_value_heads\":32,\"rms_norm_eps\":1e-06,"
    "\"rope_scaling\":null,\"rope_theta\":500000,\"tie_word_embeddings\":false,\"vocab_size\":100352}";

static const char gpt_oss[] =
    "{\"architectures\":[\"GptOssForCausalLM\"],\"attention_bias\":true,\"attention_dropout\":0.0,\"experts_per_token\":4,"
    "\"head_dim\":64,\"hidden_act\":\"silu\",\"hidden_size\":2880,\"initial_context_length\":4096,"
    "\"intermediate_size\":2880,\"layer_types\":[\"sliding_attention\",\"full_attention\",\"sliding_attention\","
    "\"full_attention\"],\"max_position_embeddings\":131072,\"model_type\":\"gpt_oss\",\"num_attention_heads\":64,"
    "\"num_experts_per_tok\":4,\"num_hidden_layers\":4,\"num_key_value_heads\":8,\"num_local_experts\":32,"
    "\"quantization_config\":{\"modules_to_not_convert\":[\"lm_head\"],\"quant_method\":\"mxfp4\"},"
    "\"rms_norm_eps\":1e-05,\"rope_scaling\":{\"beta_fast\":32.0,\"beta_slow\":1.0,\"factor\":32.0,"
    "\"original_max_position_embeddings\":4096,\"rope_type\":\"yarn\",\"truncate\":false},\"rope_theta\":150000,"
    "\"sliding_window\":128,\"swiglu_limit\":7.0,\"tie_word_embeddings\":false,\"vocab_size\":201088}";

static const char smollm3[] = /* four layers of it */
    "{\"architectures\":[\"SmolLM3ForCausalLM\"],\"attention_bias\":false,\"hidden_act\":\"silu\",\"hidden_size\":2048,"
    "\"intermediate_size\":11008,\"layer_types\":[\"full_attention\",\"full_attention\",\"full_attention\","
    "\"full_attention\"],\"max_position_embeddings\":65536,\"max_window_layers\":28,\"mlp_bias\":false,"
    "\"model_type\":\"smollm3\",\"no_rope_layer_interval\":4,\"no_rope_layers\":[1,1,1,0],\"num_attention_heads\":16,"
    "\"num_hidden_layers\":4,\"num_key_value_heads\":4,\"rms_norm_eps\":1e-06,\"rope_scaling\":null,"
    "\"rope_theta\":5000000.0,\"sliding_window\":null,\"use_sliding_window\":false,\"vocab_size\":128256}";

static const char deepseek2[] = /* V2-Lite */
    "{\"architectures\":[\"DeepseekV2ForCausalLM\"],\"attention_bias\":false,\"aux_loss_alpha\":0.001,"
    "\"first_k_dense_replace\":1,\"hidden_act\":\"silu\",\"hidden_size\":2048,\"intermediate_size\":10944,"
    "\"kv_lora_rank\":512,\"max_position_embeddings\":163840,\"model_type\":\"deepseek_v2\","
    "\"moe_intermediate_size\":1408,\"moe_layer_freq\":1,\"n_group\":1,\"n_routed_experts\":64,\"n_shared_experts\":2,"
    "\"norm_topk_prob\":false,\"num_attention_heads\":16,\"num_experts_per_tok\":6,\"num_hidden_layers\":27,"
    "\"num_key_value_heads\":16,\"q_lora_rank\":null,\"qk_nope_head_dim\":128,\"qk_rope_head_dim\":64,"
    "\"rms_norm_eps\":1e-06,\"rope_scaling\":{\"beta_fast\":32,\"beta_slow\":1,\"factor\":40,\"mscale\":0.707,"
    "\"mscale_all_dim\":0.707,\"original_max_position_embeddings\":4096,\"type\":\"yarn\"},\"rope_theta\":10000,"
    "\"routed_scaling_factor\":1.0,\"scoring_func\":\"softmax\",\"seq_aux\":true,\"tie_word_embeddings\":false,"
    "\"topk_group\":1,\"topk_method\":\"greedy\",\"v_head_dim\":128,\"vocab_size\":102400}";

static const char deepseek3[] =
    "{\"architectures\":[\"DeepseekV3ForCausalLM\"],\"attention_bias\":false,\"ep_size\":1,\"first_k_dense_replace\":3,"
    "\"hidden_act\":\"silu\",\"hidden_size\":7168,\"intermediate_size\":18432,\"kv_lora_rank\":512,"
    "\"max_position_embeddings\":163840,\"model_type\":\"deepseek_v3\",\"moe_intermediate_size\":2048,"
    "\"moe_layer_freq\":1,\"n_group\":8,\"n_routed_experts\":256,\"n_shared_experts\":1,\"norm_topk_prob\":true,"
    "\"num_attention_heads\":128,\"num_experts_per_tok\":8,\"num_hidden_layers\":61,\"num_key_value_heads\":128,"
    "\"num_nextn_predict_layers\":1,\"q_lora_rank\":1536,\"qk_nope_head_dim\":128,\"qk_rope_head_dim\":64,"
    "\"quantization_config\":{\"activation_scheme\":\"dynamic\",\"fmt\":\"e4m3\",\"quant_method\":\"fp8\","
    "\"weight_block_size\":[128,128]},\"rms_norm_eps\":1e-06,\"rope_scaling\":{\"beta_fast\":32,\"beta_slow\":1,"
    "\"factor\":40,\"mscale\":1.0,\"mscale_all_dim\":1.0,\"original_max_position_embeddings\":4096,\"type\":\"yarn\"},"
    "\"rope_theta\":10000,\"routed_scaling_factor\":2.5,\"scoring_func\":\"sigmoid\",\"tie_word_embeddings\":false,"
    "\"topk_group\":4,\"topk_method\":\"noaux_tc\",\"v_head_dim\":128,\"vocab_size\":129280}";

static void parse(const char *text, struct hparams *hp, const char *expect_arch)
{
    struct error err = { 0 };
    const char *arch;
    assert_ok(model_parse_config("t.json", text, strlen(text), hp, &arch, &err), err);
    assert_string_equal(arch, expect_arch);
}

/* The text with one field of its top level (or of its text_config) set to a JSON value; NULL: left out. */
static int parse_changed(const char *text, const char *field, const char *value, struct hparams *hp, struct error *err)
{
    json_t *j = json_loads(text, 0, NULL), *v = value ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
    json_t *at = json_object_get(j, "text_config") ? json_object_get(j, "text_config") : j;
    assert_non_null(j);
    assert_true(v || !value);
    if (v)
        json_object_set_new(at, field, v);
    else
        json_object_del(at, field);
    char *changed = json_dumps(j, 0);
    json_decref(j);
    const char *arch;
    int rc = model_parse_config("t.json", changed, strlen(changed), hp, &arch, err);
    free(changed);
    return rc;
}

static void test_dense(void **state)
{
    (void)state;
    struct hparams hp;
    parse(qwen2, &hp, "qwen2");
    assert_true(hp.attn_bias && !hp.attn_output_bias && hp.window == 0 && hp.head_dim == 128 && hp.n_rot == 128);
    parse(qwen3, &hp, "qwen3");
    assert_true(!hp.attn_bias && hp.window == 0 && hp.head_dim == 128 && hp.n_head == 16 && hp.tied);
    parse(mistral, &hp, "llama");
    assert_true(hp.window == 4096 && hp.window_period == 0 && hparams_windowed(&hp, 0) && hparams_windowed(&hp, 31));
    parse(olmo2, &hp, "olmo2");
    assert_true(hp.rope_theta == 5e5 && !hp.tied && hp.rms_eps == 1e-6);
    parse(smollm3, &hp, "smollm3");
    assert_true(hp.no_rope_period == 4 && hp.tied && hp.rope_theta == 5e6 && hp.window == 0);
    parse(phi3, &hp, "phi3");
    assert_true(hp.window == 2047 && hp.rope_scaling == ROPE_SCALING_NONE && hp.rope_attn_factor == 0);
}

static void test_gemma(void **state)
{
    (void)state;
    struct hparams hp;
    struct error err = { 0 };
    parse(gemma2, &hp, "gemma2");
    assert_true(hp.window == 4096 && hp.window_period == 2 && hp.attn_softcap == 50 && hp.final_softcap == 30 && hp.tied);
    assert_true(fabs(hp.attn_scale - 1 / sqrt(144)) < 1e-12);
    /* null is none, absent the default */
    assert_ok(parse_changed(gemma2, "attn_logit_softcapping", "null", &hp, &err), err);
    assert_true(hp.attn_softcap == 0 && hp.final_softcap == 30);
    assert_ok(parse_changed(gemma2, "attn_logit_softcapping", NULL, &hp, &err), err);
    assert_true(hp.attn_softcap == 50);
    assert_fails(parse_changed(gemma2, "query_pre_attn_scalar", "-144", &hp, &err), err,
                 "query_pre_attn_scalar is -144, expected a number from 1e-06 to 1e+12");
    assert_fails(parse_changed(gemma2, "rope_parameters", "{\"rope_theta\":0.5}", &hp, &err), err, "rope_theta is 0.5");
    parse(gemma3, &hp, "gemma3");
    assert_true(hp.window == 512 && hp.window_period == 6 && hp.attn_softcap == 0 && hp.final_softcap == 0 && hp.tied);
    assert_true(hp.rope_theta == 1e6 && hp.rope_theta_swa == 1e4 && hp.n_head == 4 && hp.n_head_kv == 1);
    parse(gemma3_sees, &hp, "gemma3");
    assert_true(hp.n_head == 8 && hp.n_head_kv == 4 && hp.head_dim == 256 && hp.n_vocab == 262208 && hp.n_layer == 34);
    assert_true(hp.n_ctx_train == 131072 && hp.window == 1024 && hp.rope_scaling == ROPE_SCALING_LINEAR && hp.rope_factor == 8);
    /* newer files: rotation by kind of layer, and the kinds layer by layer */
    assert_ok(parse_changed(gemma3_sees, "rope_parameters",
                            "{\"full_attention\":{\"rope_type\":\"linear\",\"factor\":4.0,\"rope_theta\":2e6},"
                            "\"sliding_attention\":{\"rope_type\":\"default\",\"rope_theta\":20000}}",
                            &hp, &err),
              err);
    assert_true(hp.rope_scaling == ROPE_SCALING_LINEAR && hp.rope_factor == 4 && hp.rope_theta == 2e6);
    assert_true(hp.rope_theta_swa == 20000);
    assert_fails(parse_changed(gemma3, "hidden_activation", "\"silu\"", &hp, &err), err,
                 "hidden_act is \"silu\", expected \"gelu_pytorch_tanh\"");
}

static void test_experts(void **state)
{
    (void)state;
    struct hparams hp;
    struct error err = { 0 };
    parse(mixtral, &hp, "llama");
    assert_true(hp.n_expert == 8 && hp.n_expert_used == 2 && hp.n_ff_exp == 14336 && hp.window == 0);
    parse(qwen3moe, &hp, "qwen3moe");
    assert_true(hp.n_expert == 128 && hp.n_expert_used == 8 && hp.n_ff_exp == 768 && hp.expert_norm);
    assert_ok(parse_changed(qwen3moe, "norm_topk_prob", NULL, &hp, &err), err);
    assert_false(hp.expert_norm);
    assert_fails(parse_changed(qwen3moe, "num_experts", "0", &hp, &err), err, "num_experts is missing or 0: qwen3_moe has experts");
    assert_fails(parse_changed(qwen3moe, "decoder_sparse_step", "2", &hp, &err), err, "decoder_sparse_step is 2");
    assert_fails(parse_changed(qwen3moe, "mlp_only_layers", "[0]", &hp, &err), err, "mlp_only_layers has 1 entries");
    assert_fails(parse_changed(qwen3moe, "moe_intermediate_size", NULL, &hp, &err), err, "field \"moe_intermediate_size\" is missing");
    parse(gpt_oss, &hp, "gpt-oss");
    assert_true(hp.n_expert == 32 && hp.n_expert_used == 4 && hp.n_ff_exp == 2880 && hp.attn_bias && hp.attn_output_bias);
    assert_true(hp.window == 128 && hp.window_period == 2 && hp.rope_scaling == ROPE_SCALING_YARN);
    assert_true(hp.rope_factor == 32 && hp.rope_ctx_orig == 4096 && hp.yarn_beta_fast == 32 && hp.rope_attn_factor == 0);
    assert_fails(parse_changed(gpt_oss, "num_local_experts", NULL, &hp, &err), err,
                 "num_experts (num_local_experts) is missing or 0: gpt_oss has experts");
    assert_fails(parse_changed(gpt_oss, "head_dim", NULL, &hp, &err), err, "field \"head_dim\" is missing");
    assert_fails(parse_changed(gpt_oss, "num_key_value_heads", NULL, &hp, &err), err, "field \"num_key_value_heads\" is missing");
    assert_fails(parse_changed(qwen3, "head_dim", NULL, &hp, &err), err, "field \"head_dim\" is missing");
    assert_fails(parse_changed(qwen3moe, "head_dim", "null", &hp, &err), err, "field \"head_dim\" is null");
    /* Llama may be dense, Mixtral is not: by its model_type or, without one, by its class */
    static const char none[] = "num_experts (num_local_experts) is missing or 0: ";
    assert_fails(parse_changed(mixtral, "num_local_experts", NULL, &hp, &err), err, none);
    assert_fails(parse_changed(mixtral, "num_local_experts", "0", &hp, &err), err, none);
    assert_fails(parse_changed(mixtral, "num_local_experts", "null", &hp, &err), err, none);
    assert_fails(parse_with("\"architectures\":[\"MixtralForCausalLM\"]", &hp, &err), err, none);
    assert_ok(parse_with("\"num_local_experts\":0", &hp, &err), err);
    assert_fails(parse_changed(gpt_oss, "layer_types", "[\"full_attention\"]", &hp, &err), err, "1 entries for 4 layers");
    assert_fails(parse_changed(gpt_oss, "hidden_act", "\"gelu\"", &hp, &err), err, "hidden_act is \"gelu\"");
}

static void test_deepseek(void **state)
{
    (void)state;
    struct hparams hp;
    struct error err = { 0 };
    parse(deepseek2, &hp, "deepseek2");
    assert_true(hp.n_lora_q == 0 && hp.n_lora_kv == 512 && hp.head_dim == 192 && hp.head_dim_v == 128 && hp.n_rot == 64);
    assert_true(hp.n_head == 16 && hp.n_head_kv == 1 && hp.n_layer_dense == 1 && hp.n_expert_group == 0);
    assert_true(hp.n_expert == 64 && hp.n_ff_exp == 1408 && hp.n_ff_shexp == 2816 && !hp.expert_norm && !hp.expert_bias);
    assert_true(hp.expert_gate == EXPERT_GATE_SOFTMAX && fabs(hp.yarn_log_mul - 0.0707) < 1e-12);
    parse(deepseek3, &hp, "deepseek2");
    assert_true(hp.n_lora_q == 1536 && hp.expert_gate == EXPERT_GATE_SIGMOID && hp.expert_norm && hp.expert_bias);
    assert_true(hp.n_expert_group == 8 && hp.n_expert_group_used == 4 && hp.expert_scale == 2.5 && hp.n_layer == 61);
    static const struct {
        const char *field, *value, *expect;
    } cases[] = {
        { "kv_lora_rank", NULL, "field \"kv_lora_rank\" is missing" },
        { "kv_lora_rank", "0", "\"kv_lora_rank\"" },
        { "kv_lora_rank", "4294967295", "kv_lora_rank is 4294967295" },
        { "q_lora_rank", "\"1536\"", "\"q_lora_rank\"" },
        { "qk_nope_head_dim", NULL, "field \"qk_nope_head_dim\" is missing" },
        { "v_head_dim", NULL, "field \"v_head_dim\" is missing" },
        { "v_head_dim", "null", "field \"v_head_dim\" is null" },
        { "moe_intermediate_size", NULL, "field \"moe_intermediate_size\" is missing" },
        { "first_k_dense_replace", NULL, "field \"first_k_dense_replace\" is missing" },
        { "first_k_dense_replace", "62", "first_k_dense_replace is 62, expected at most num_hidden_layers, which is 61" },
        { "n_shared_experts", NULL, "field \"n_shared_experts\" is missing (null means none)" },
        { "q_lora_rank", NULL, "field \"q_lora_rank\" is missing (null means none)" },
        { "n_routed_experts", NULL, "t.json: num_experts (n_routed_experts) is missing or 0: deepseek_v3 has experts" },
        { "n_routed_experts", "0", "num_experts (n_routed_experts) is missing or 0: deepseek_v3 has experts" },
        { "n_routed_experts", "null", "num_experts (n_routed_experts) is missing or 0: deepseek_v3 has experts" },
        { "num_experts", "8", "num_experts is 8 and n_routed_experts is 256, expected one number of experts" },
        { "n_routed_experts", "1", "num_experts_per_tok is 8, expected 1 to n_routed_experts, which is 1" },
        { "routed_scaling_factor", "-1", "routed_scaling_factor is -1, expected a number from 0 to 1e+06" },
        { "rms_norm_eps", "7", "rms_norm_eps is 7" },
        { "qk_nope_head_dim", "65537", "qk_nope_head_dim is 65537, expected 1 to 65536" },
        { "qk_nope_head_dim", "65536", "qk_nope_head_dim + qk_rope_head_dim is 65600, expected at most 65536" },
        { "qk_rope_head_dim", NULL, "field \"qk_rope_head_dim\" is missing" },
        { "qk_rope_head_dim", "63", "qk_rope_head_dim is 63, expected an even number from 2 to 65536" },
        { "qk_rope_head_dim", "4294967295", "qk_rope_head_dim is 4294967295" },
        { "qk_rope_head_dim", "2147483647", "qk_rope_head_dim is 2147483647" },
        { "scoring_func", "\"tanh\"", "scoring_func is \"tanh\", which is not supported (known: softmax, sigmoid)" },
        { "topk_method", "\"best\"", "topk_method is \"best\", which is not supported" },
        { "v_head_dim", "65537", "v_head_dim is 65537" },
        { "moe_layer_freq", "2", "moe_layer_freq is 2" },
        { "n_group", "7", "256 experts in 7 groups" },
        { "topk_group", "9", "256 experts in 8 groups, 9 of them used" },
        { "n_shared_experts", "2000", "n_shared_experts is 2000, expected at most 1024" },
        { "num_experts_per_tok", "257", "num_experts_per_tok is 257, expected 1 to n_routed_experts, which is 256" },
        { "n_routed_experts", "4000000000", "n_routed_experts is 4000000000, expected 0 to 65536" },
        { "rope_scaling", "{\"type\":\"yarn\",\"factor\":40,\"mscale\":1,\"mscale_all_dim\":0}",
          "mscale is 1 and mscale_all_dim 0" },
        { "rope_scaling", "{\"type\":\"yarn\",\"factor\":-40}", "the YaRN factor is -40" },
        { "attention_bias", "true", "biases of q, k and v: not supported by architecture deepseek2" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_fails(parse_changed(deepseek3, cases[i].field, cases[i].value, &hp, &err), err, cases[i].expect);
    assert_ok(parse_changed(deepseek3, "model_type", "\"kimi_k2\"", &hp, &err), err);
    assert_ok(parse_changed(deepseek3, "rope_scaling", "null", &hp, &err), err);
    assert_true(fabs(hp.attn_scale - 1 / sqrt(192)) < 1e-12);
}

/* A list of n ones. */
static void ones(char *buf, size_t size, const char *before, int n, const char *after)
{
    size_t len = (size_t)snprintf(buf, size, "%s", before);
    for (int i = 0; i < n; i++)
        len += (size_t)snprintf(buf + len, size - len, "%s1.0", i ? "," : "");
    snprintf(buf + len, size - len, "%s", after);
}

static void test_longrope(void **state)
{
    (void)state;
    struct hparams hp;
    struct error err = { 0 };
    char scaling[1024], longer[4096];
    /* Phi-3-mini-128k */
    ones(scaling, sizeof scaling, "{\"type\":\"longrope\",\"long_factor\":[", 48, "]}");
    snprintf(longer, sizeof longer, "%.*s,\"rope_scaling\":%s}", (int)strlen(phi3) - 1, phi3, scaling);
    char *again = strstr(longer, "\"rope_scaling\":null,"), *ctx = strstr(longer, "\"max_position_embeddings\":4096,");
    assert_non_null(again);
    assert_non_null(ctx);
    memset(again, ' ', strlen("\"rope_scaling\":null,"));
    memset(ctx, ' ', strlen("\"max_position_embeddings\":4096,"));
    assert_ok(parse_changed(longer, "max_position_embeddings", "131072", &hp, &err), err);
    assert_true(hp.rope_scaling == ROPE_SCALING_LONGROPE && hp.rope_ctx_orig == 4096 && hp.window == 2047);
    assert_true(fabs(hp.rope_attn_factor - 1.1902380714238083) < 1e-12); /* sqrt(1 + ln 32 / ln 4096) */
    assert_ok(parse_changed(longer, "sliding_window", "262144", &hp, &err), err);
    assert_int_equal(hp.window, 0);
    /* as long as the original: no stretch, no amplitude */
    assert_ok(parse_changed(longer, "max_position_embeddings", "4096", &hp, &err), err);
    assert_true(hp.rope_attn_factor == 1);
    assert_fails(parse_changed(longer, "original_max_position_embeddings", "1", &hp, &err), err, "expected more than 1");
    assert_ok(parse_changed(longer, "rope_parameters",
                            "{\"rope_type\":\"longrope\",\"original_max_position_embeddings\":1024}", &hp, &err),
              err);
    assert_true(hp.rope_ctx_orig == 1024);
    /* a part of the head: 96 * 0.75 / 2 factors */
    assert_fails(parse_changed(longer, "partial_rotary_factor", "0.75", &hp, &err), err,
                 "long_factor: expected a list of 36 numbers, half of the rotary dimensions, found 48");
    ones(scaling, sizeof scaling, "{\"type\":\"su\",\"short_factor\":[", 47, "]}");
    assert_fails(parse_changed(phi3, "rope_scaling", scaling, &hp, &err), err, "short_factor: expected a list of 48");
    assert_fails(parse_changed(phi3, "rope_scaling", "{\"type\":\"longrope\",\"long_factor\":7}", &hp, &err), err, "found 0");
}

/* YaRN's amplitude is 1 + 0.1 ln factor, unless a file says another. methods.md (10) */
static void test_yarn(void **state)
{
    (void)state;
    struct hparams hp;
    struct error err = { 0 };
    static const char yarn[] = "{\"type\":\"yarn\",\"factor\":4.0,\"original_max_position_embeddings\":32768";
    const double own = 1 + 0.1 * log(4);
    char text[512];
    static const struct {
        const char *more;
        double whole; /* amplitude; 0: YaRN's own */
    } cases[] = {
        { "", 0 },
        { ",\"attention_factor\":1.5", 1.5 },
        { ",\"mscale\":1.0,\"mscale_all_dim\":1.0", 1 },
        { ",\"mscale\":1.0", 0 },
        { ",\"attention_factor\":1.5,\"mscale\":1.0,\"mscale_all_dim\":1.0", 1.5 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        snprintf(text, sizeof text, "%s%s}", yarn, cases[i].more);
        assert_ok(parse_changed(qwen2, "rope_scaling", text, &hp, &err), err);
        assert_true(hp.rope_scaling == ROPE_SCALING_YARN && hp.rope_factor == 4 && hp.rope_ctx_orig == 32768);
        assert_true(hp.yarn_beta_fast == 32 && hp.yarn_beta_slow == 1);
        assert_true(fabs(hp.rope_attn_factor * own - cases[i].whole) < 1e-12);
    }
    assert_ok(parse_changed(qwen2, "rope_scaling", "{\"rope_type\":\"yarn\",\"factor\":4.0}", &hp, &err), err);
    assert_true(hp.rope_ctx_orig == 32768); /* the context it was trained with */
}

/* Qwen and SmolLM3 have windows only where they say so. */
static void test_windows(void **state)
{
    (void)state;
    struct hparams hp;
    struct error err = { 0 };
    const struct {
        const char *text, *expect;
    } cases[] = { { qwen2, "use_sliding_window is true" }, { qwen3, "use_sliding_window is true" },
                  { qwen3moe, "use_sliding_window is true" }, { smollm3, "sliding-window attention: not supported" } };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *j = json_loads(cases[i].text, 0, NULL);
        json_object_set_new(j, "sliding_window", json_integer(1024));
        json_object_set_new(j, "max_window_layers", json_integer(2));
        json_object_del(j, "layer_types");
        char *text = json_dumps(j, 0);
        assert_ok(parse_changed(text, "use_sliding_window", "false", &hp, &err), err);
        assert_int_equal(hp.window, 0);
        assert_ok(parse_changed(text, "use_sliding_window", NULL, &hp, &err), err);
        assert_int_equal(hp.window, 0);
        assert_fails(parse_changed(text, "use_sliding_window", "true", &hp, &err), err, cases[i].expect);
        free(text);
        json_decref(j);
    }
    /* windows that begin behind the last layer are none */
    json_t *j = json_loads(qwen2, 0, NULL);
    json_object_set_new(j, "sliding_window", json_integer(1024));
    json_object_set_new(j, "use_sliding_window", json_true());
    char *text = json_dumps(j, 0);
    assert_ok(parse_changed(text, "max_window_layers", "28", &hp, &err), err);
    assert_int_equal(hp.window, 0);
    assert_fails(parse_changed(text, "max_window_layers", "27", &hp, &err), err, "max_window_layers (27 of 28)");
    free(text);
    json_decref(j);
    /* layer by layer */
    assert_ok(parse_with("\"sliding_window\":64,\"layer_types\":[\"sliding_attention\",\"full_attention\"]", &hp, &err), err);
    assert_true(hp.window == 64 && hp.window_period == 2);
    assert_ok(parse_with("\"sliding_window\":64,\"layer_types\":[\"sliding_attention\",\"sliding_attention\"]", &hp, &err),
              err);
    assert_true(hp.window == 64 && hp.window_period == 0);
    assert_ok(parse_with("\"sliding_window\":64,\"layer_types\":[\"chunked_attention\",\"full_attention\"]", &hp, &err), err);
    assert_true(hp.window == 64 && hp.window_period == 2);
    assert_ok(parse_with("\"sliding_window\":64,\"layer_types\":[\"full_attention\",\"full_attention\"]", &hp, &err), err);
    assert_int_equal(hp.window, 0);
    assert_fails(parse_changed(smollm3, "no_rope_layers", "[1,1,0,1]", &hp, &err), err, "no_rope_layers[2] does not follow");
    assert_fails(parse_changed(smollm3, "no_rope_layers", "[1,1,1]", &hp, &err), err, "no_rope_layers has 3 entries for 4");
    assert_fails(parse_changed(smollm3, "no_rope_layer_interval", "0", &hp, &err), err, "no_rope_layer_interval");
    assert_ok(parse_changed(smollm3, "no_rope_layers", "null", &hp, &err), err);
}

/* ---- language models in what wraps them --------------------------------------------------------------------- */

static int parse_text(const char *text, struct hparams *hp, const char **arch, struct error *err)
{
    return model_parse_config("t.json", text, strlen(text), hp, arch, err);
}

#define TEXT(type) "{\"model_type\":\"" type "\",\"hidden_size\":64,\"num_hidden_layers\":2,\"num_attention_heads\":4,\"head_dim\":16," \
                   "\"num_key_value_heads\":2,\"intermediate_size\":128,\"vocab_size\":300}"

static void test_wrappers(void **state)
{
    static const struct {
        const char *text, *arch;
    } files[] = {
        { "{\"model_type\":\"mistral3\",\"architectures\":[\"Mistral3ForConditionalGeneration\"],\"text_config\":" TEXT("mistral") "}", "llama" },
        { "{\"model_type\":\"mistral3\",\"text_config\":" TEXT("ministral3") "}", "llama" },
        { "{\"model_type\":\"internvl_chat\",\"architectures\":[\"InternVLChatModel\"],\"llm_config\":" TEXT("qwen2") "}", "qwen2" },
        { "{\"model_type\":\"qwen3_vl\",\"architectures\":[\"Qwen3VLForConditionalGeneration\"],\"text_config\":" TEXT("qwen3_vl_text") "}", "qwen3" },
        { "{\"model_type\":\"qwen2_5_omni\",\"thinker_config\":{\"text_config\":" TEXT("qwen2_5_omni_text") "}}", "qwen2" },
        { "{\"architectures\":[\"Qwen2_5_VLForConditionalGeneration\"],\"vision_config\":{\"depth\":32},\"rope_scaling\":{\"type\":\"mrope\","
          "\"mrope_section\":[16,24,24]},\"hidden_size\":64,\"num_hidden_layers\":2,\"num_attention_heads\":4,\"intermediate_size\":128,\"vocab_size\":300}",
          "qwen2" },
    };
    static const struct {
        const char *text, *says;
    } refused[] = {
        { "{\"model_type\":\"mllama\",\"text_config\":" TEXT("mllama_text_model") "}", "text_config: model_type \"mllama_text_model\" is not supported" },
        { "{\"model_type\":\"qwen3\",\"text_config\":" TEXT("llama") "}", "model_type is \"qwen3\" (qwen3), but that of its text_config is \"llama\"" },
        { "{\"model_type\":\"qwen3_vl_moe\",\"text_config\":" TEXT("qwen3_vl_moe_text") "}", "num_experts" }, /* not dense in silence */
        { "{\"model_type\":\"x\",\"architectures\":[\"XForSequenceClassification\"],\"text_config\":" TEXT("llama") "}", "expected a model that generates text" },
        { "{\"model_type\":\"x\",\"architectures\":[\"QwenLMHeadModel\"]}", "architectures[0] is \"QwenLMHeadModel\"" },
    };
    (void)state;
    struct hparams hp;
    struct error err = { 0 };
    const char *arch;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        assert_ok(parse_text(files[i].text, &hp, &arch, &err), err);
        assert_string_equal(arch, files[i].arch);
        assert_int_equal(hp.n_embd, 64);
    }
    assert_ok(parse_text(TEXT("seed_oss\",\"attention_bias\":true,\"attention_out_bias\":false,\"x\":\""), &hp, &arch, &err), err);
    assert_true(hp.attn_bias && !hp.attn_output_bias);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        assert_fails(parse_text(refused[i].text, &hp, &arch, &err), err, refused[i].says);
}

/* Outside the text_config since transformers 5, in it before. */
static void test_tied_outside(void **state)
{
    (void)state;
    struct hparams hp;
    struct error err = { 0 };
    const char *arch;
    assert_ok(parse_text("{\"model_type\":\"mistral3\",\"tie_word_embeddings\":true,\"text_config\":" TEXT("mistral") "}", &hp, &arch, &err), err);
    assert_true(hp.tied);
    assert_ok(parse_text("{\"model_type\":\"mistral3\",\"tie_word_embeddings\":false,\"text_config\":" TEXT("mistral\",\"tie_word_embeddings\":true,\"x\":\"") "}",
                         &hp, &arch, &err), err);
    assert_true(hp.tied); /* its own counts */
}

/* As published: the mixture's fields have names of their own. */
static void test_gemma4(void **state)
{
    static const char text[] =
        "{\"model_type\":\"gemma4\",\"text_config\":{\"model_type\":\"gemma4_text\",\"hidden_size\":64,\"num_hidden_layers\":6,\"num_attention_heads\":4,"
        "\"num_key_value_heads\":2,\"num_global_key_value_heads\":1,\"head_dim\":16,\"global_head_dim\":32,\"intermediate_size\":96,\"vocab_size\":300,"
        "\"enable_moe_block\":%s,\"num_experts\":%s,\"top_k_experts\":%s,\"moe_intermediate_size\":32,\"rope_parameters\":{\"full_attention\":"
        "{\"rope_type\":\"proportional\",\"partial_rotary_factor\":0.25,\"rope_theta\":1e6},\"sliding_attention\":{\"rope_type\":\"default\",\"rope_theta\":1e4}}}}";
    char buf[1024];
    (void)state;
    struct hparams hp;
    struct error err = { 0 };
    const char *arch;
    snprintf(buf, sizeof buf, text, "true", "8", "2");
    assert_ok(parse_text(buf, &hp, &arch, &err), err);
    assert_true(hp.n_expert == 8 && hp.n_expert_used == 2 && hp.rope_theta_swa == 1e4);
    snprintf(buf, sizeof buf, text, "false", "null", "null");
    assert_ok(parse_text(buf, &hp, &arch, &err), err);
    assert_int_equal(hp.n_expert, 0);
    snprintf(buf, sizeof buf, text, "true", "null", "null");
    assert_fails(parse_text(buf, &hp, &arch, &err), err, "enable_moe_block is true and num_experts is missing");
    snprintf(buf, sizeof buf, text, "true", "8", "null");
    assert_fails(parse_text(buf, &hp, &arch, &err), err, "\"top_k_experts\" is missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config),   cmocka_unit_test(test_config_hostile), cmocka_unit_test(test_config_refused),
        cmocka_unit_test(test_llama),    cmocka_unit_test(test_dense),          cmocka_unit_test(test_gemma),
        cmocka_unit_test(test_experts),  cmocka_unit_test(test_deepseek),       cmocka_unit_test(test_longrope),
        cmocka_unit_test(test_yarn),     cmocka_unit_test(test_windows),
        cmocka_unit_test(test_wrappers), cmocka_unit_test(test_tied_outside),   cmocka_unit_test(test_gemma4),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
