/* Families before Llama and their kin: configs as their makers write them, parameters derived by hand, the shape of
 * their blocks, and what is refused. */
#include "base/environment.h"
#include "../gguf/build.h"
#include "../test.h"
#include "model/model.h"
#include "model/op.h"
#include <unistd.h>

/* ---- parameters --------------------------------------------------------------------------- */

/*
 * One layer of width d = 16 with 4 heads of 4, feed-forward width 64, 32 tokens, 8 positions; by hand, B = 32 d = 512 the
 * table of embeddings, G = 12 d^2 + 13 d = 3280 GPT-2's block: qkv 3 d^2 + 3 d, o d^2 + d, up 4 d^2 + 4 d, down
 * 4 d^2 + d, two norms 4 d; a last norm 2 d = 32.
 */
#define LLAMA_DIMS "\"hidden_size\":16,\"num_hidden_layers\":1,\"num_attention_heads\":4,\"vocab_size\":32,"
#define GPT_DIMS "\"n_embd\":16,\"n_layer\":1,\"n_head\":4,\"vocab_size\":32,\"n_positions\":8,"
#define OPT "{\"model_type\":\"opt\"," LLAMA_DIMS "\"ffn_dim\":64,\"max_position_embeddings\":8"
#define NEOX_DIMS "{\"model_type\":\"gpt_neox\"," LLAMA_DIMS "\"intermediate_size\":64"
#define NEOX NEOX_DIMS ",\"rotary_pct\":0.5"
#define FALCON "{\"model_type\":\"falcon\"," LLAMA_DIMS
#define MPT "{\"model_type\":\"mpt\",\"d_model\":16,\"n_layers\":1,\"n_heads\":4,\"vocab_size\":32,\"max_seq_len\":8"
#define STABLELM "{\"model_type\":\"stablelm\"," LLAMA_DIMS "\"intermediate_size\":64,\"partial_rotary_factor\":0.5"
#define COHERE "{\"model_type\":\"cohere\"," LLAMA_DIMS "\"intermediate_size\":64"
#define STARCODER "{\"model_type\":\"starcoder2\"," LLAMA_DIMS "\"intermediate_size\":64,\"num_key_value_heads\":2"
#define PHI "{\"model_type\":\"phi\"," LLAMA_DIMS "\"intermediate_size\":64"
#define PHI3S "{\"model_type\":\"phi3small\"," LLAMA_DIMS "\"ff_intermediate_size\":64,\"num_key_value_heads\":2"
#define GPTJ_DIMS "{\"model_type\":\"gptj\"," GPT_DIMS
#define GPTJ GPTJ_DIMS "\"rotary_dim\":2"
#define BLOOM "{\"model_type\":\"bloom\",\"n_embed\":16,\"n_layer\":1,\"num_attention_heads\":4,\"vocab_size\":32"
#define GPT2 "{\"model_type\":\"gpt2\"," GPT_DIMS "\"resid_pdrop\":0.1"
#define COHERE2 "{\"model_type\":\"cohere2\",\"hidden_size\":16,\"num_hidden_layers\":4,\"num_attention_heads\":4," \
    "\"vocab_size\":32,\"intermediate_size\":64,\"max_position_embeddings\":64,\"sliding_window\":8"

static const struct {
    const char *text;
    uint64_t n_params;
} configs[] = {
    { GPT2 "}", 512 + 8 * 16 + 3280 + 32 },
    { GPT2 ",\"n_inner\":32}", 512 + 8 * 16 + 3280 - (2 * 32 * 16 + 32) + 32 },
    { OPT "}", 512 + 10 * 16 + 3280 + 32 }, /* two rows of positions more */
    { OPT ",\"enable_bias\":false}", 512 + 10 * 16 + 12 * 256 + 4 * 16 + 32 },
    /* a table of 32 x 8, projections 8 to 16 and back, no last norm */
    { OPT ",\"word_embed_proj_dim\":8,\"do_layer_norm_before\":false}", 256 + 10 * 16 + 2 * 8 * 16 + 3280 },
    { OPT ",\"word_embed_proj_dim\":8}", 256 + 10 * 16 + 2 * 8 * 16 + 3280 + 32 },
    { NEOX "}", 2 * 512 + 3280 + 32 }, /* an LM head of its own */
    { NEOX ",\"use_parallel_residual\":false}", 2 * 512 + 3280 + 32 },
    { NEOX ",\"attention_bias\":false}", 2 * 512 + 3280 - 4 * 16 + 32 },
    /* no bias in the attention, one norm, a bias of the LM head */
    { GPTJ "}", 2 * 512 + 3280 - 4 * 16 - 2 * 16 + 32 + 32 },
    { BLOOM "}", 512 + 32 + 3280 + 32 }, /* a norm of the embeddings */
    /* 7B's: one head of keys and values, (16 + 2 * 4) x 16; no biases, one norm */
    { FALCON "\"multi_query\":true}", 512 + 24 * 16 + 256 + 2 * 64 * 16 + 32 + 32 },
    { FALCON "\"multi_query\":true,\"num_kv_heads\":4}", 512 + 24 * 16 + 256 + 2 * 64 * 16 + 32 + 32 },
    /* 40B's: two heads of keys and values, two norms, or the one of Falcon2 */
    { FALCON "\"new_decoder_architecture\":true,\"num_kv_heads\":2}", 512 + 32 * 16 + 256 + 2 * 64 * 16 + 64 + 32 },
    { FALCON "\"new_decoder_architecture\":true,\"num_kv_heads\":2,\"num_ln_in_parallel_attn\":1}",
      512 + 32 * 16 + 256 + 2 * 64 * 16 + 32 + 32 },
    { FALCON "\"multi_query\":false,\"parallel_attn\":false,\"bias\":true,\"alibi\":true}", 512 + 3280 + 32 }, /* RW */
    { MPT "}", 512 + 12 * 256 + 2 * 16 + 16 },
    { MPT ",\"attn_config\":{\"alibi\":false}}", 512 + 8 * 16 + 12 * 256 + 2 * 16 + 16 }, /* learned positions instead */
    { MPT ",\"expansion_ratio\":2}", 512 + 8 * 256 + 2 * 16 + 16 },
    { PHI "}", 2 * 512 + 32 + 3280 - 2 * 16 + 32 }, /* one norm, a bias of the LM head */
    { PHI ",\"tie_word_embeddings\":true}", 512 + 32 + 3280 - 2 * 16 + 32 }, /* which stays */
    /* qkv (16 + 2 * 8) x 16 + 32, o 256 + 16, gate and up 2 (64 x 16 + 64), down 64 x 16 + 16, norms 64 */
    { PHI3S "}", 512 + 544 + 272 + 2176 + 1040 + 64 + 32 },
    /* 4 d^2 + 3 d 64 and two norms; biases of q, k and v; one norm, and norms of 4 + 2 heads of 4 */
    { STABLELM "}", 2 * 512 + 1024 + 3072 + 64 + 32 },
    { STABLELM ",\"use_qkv_bias\":true}", 2 * 512 + 1024 + 3072 + 64 + 48 + 32 },
    { STABLELM ",\"use_parallel_residual\":true,\"qk_layernorm\":true,\"num_key_value_heads\":2}",
      2 * 512 + 768 + 3072 + 32 + 6 * 4 + 32 },
    { COHERE "}", 512 + 1024 + 3072 + 16 + 16 },
    { COHERE ",\"use_qk_norm\":true}", 512 + 1024 + 3072 + 16 + 8 * 4 + 16 },
    { COHERE2 "}", 512 + 4 * (1024 + 3072 + 16) + 16 },
    { STARCODER "}", 512 + 3280 - 2 * (8 * 16 + 8) + 32 }, /* two heads of keys and values less */
    { STARCODER ",\"use_bias\":false,\"tie_word_embeddings\":false}", 2 * 512 + 3072 - 2 * 8 * 16 + 4 * 16 + 32 },
};

static void load(struct model *m, struct op_list *l, const char *text)
{
    struct hparams hp;
    const char *arch;
    struct error err = { 0 };
    assert_ok(model_parse_config("t.json", text, strlen(text), &hp, &arch, &err), err);
    assert_ok(model_from_hparams(m, "t", arch, &hp, "F16", &err), err);
    assert_ok(op_list_build(l, m, &err), err);
}

static void unload(struct model *m, struct op_list *l)
{
    op_list_free(l);
    model_free(m);
}

/* Parameters as derived, and every tensor is some op's. */
static void test_parameters(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(configs); i++) {
        struct model m;
        struct op_list l;
        load(&m, &l, configs[i].text);
        if (m.n_params != configs[i].n_params)
            fail_msg("%s: %llu parameters, expected %llu", configs[i].text, (unsigned long long)m.n_params,
                     (unsigned long long)configs[i].n_params);
        assert_false(model_executable(&m));
        for (size_t t = 0; t < m.n_tensors; t++) {
            bool used = false;
            for (size_t k = 0; k < l.n; k++)
                used |= l.ops[k].w == &m.tensors[t] || l.ops[k].bias == &m.tensors[t];
            if (!used)
                fail_msg("%s: no op reads %s", configs[i].text, m.tensors[t].name);
        }
        unload(&m, &l);
    }
}

/*
 * The same of published models. OPT-350M: table 50272 x 512 = 25739264, positions 2050 x 1024 = 2099200, projections
 * 2 x 512 x 1024 = 1048576, 24 blocks of 12 x 1024^2 + 13 x 1024 = 12596224, no last norm: 331196416.
 *
 * StableLM-2-12B, d = 5120: 2 x 100352 d = 1027604480; a block has q and o 2 d^2 = 52428800, k and v 2 x 8 x 160 d =
 * 13107200, the FFN 3 x 13824 d = 212336640, one norm 2 d = 10240 and (32 + 8) x 160 = 6400 weights of head norms:
 * 277889280; 40 of them and a last norm 2 d: 11115571200 + 10240. Together 12143185920.
 */
static void test_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t n_params;
    } models[] = { { "opt-350m", 331196416 }, { "stablelm-2-12b", 12143185920 } };
    for (size_t i = 0; i < ARRAY_LEN(models); i++) {
        struct model m;
        struct error err = { 0 };
        assert_ok(model_load(&m, models[i].name, NULL, &err), err);
        assert_int_equal(m.n_params, models[i].n_params);
        model_free(&m);
    }
}

/* ---- the shape of the blocks ------------------------------------------------------------------ */

static size_t count_kind(const struct op_list *l, enum op_kind k)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        n += l->ops[i].kind == k;
    return n;
}

/* Place of the first op of the role; l->n without one. */
static size_t place(const struct op_list *l, enum op_role r)
{
    size_t i = 0;
    while (i < l->n && l->ops[i].role != r)
        i++;
    return i;
}

static void test_residuals(void **state)
{
    (void)state;
    struct model m;
    struct op_list l;
    load(&m, &l, GPT2 "}"); /* one behind the other */
    assert_true(place(&l, ROLE_ATTN_RESIDUAL) < place(&l, ROLE_FFN_NORM));
    assert_int_equal(count_kind(&l, OP_LAYER_NORM), 3);
    assert_int_equal(count_kind(&l, OP_RMS_NORM) + count_kind(&l, OP_ROPE) + count_kind(&l, OP_GLU), 0);
    assert_true(l.ops[place(&l, ROLE_FFN_ACT)].glu == GLU_GELU && l.ops[place(&l, ROLE_FFN_ACT)].kind == OP_ACT);
    /* both norms see the same x */
    unload(&m, &l);
    load(&m, &l, NEOX "}");
    assert_true(place(&l, ROLE_ATTN_OUTPUT) < place(&l, ROLE_FFN_NORM) &&
                place(&l, ROLE_FFN_NORM) < place(&l, ROLE_ATTN_RESIDUAL));
    assert_int_equal(l.ops[place(&l, ROLE_ATTN_ROPE)].n_rot, 2);
    unload(&m, &l);
    load(&m, &l, NEOX ",\"use_parallel_residual\":false}");
    assert_true(place(&l, ROLE_ATTN_RESIDUAL) < place(&l, ROLE_FFN_NORM));
    unload(&m, &l);
    load(&m, &l, GPTJ "}"); /* one norm for both */
    assert_int_equal(count_kind(&l, OP_LAYER_NORM), 2);
    assert_int_equal(place(&l, ROLE_FFN_NORM), l.n);
    assert_int_equal(l.ops[place(&l, ROLE_FFN_UP)].src, BUF_NORM);
    assert_non_null(l.ops[place(&l, ROLE_LM_HEAD)].bias);
    unload(&m, &l);
    load(&m, &l, FALCON "\"new_decoder_architecture\":true,\"num_kv_heads\":2}");
    assert_string_equal(l.ops[place(&l, ROLE_ATTN_NORM)].w->name, "blk.0.attn_norm_2.weight");
    assert_string_equal(l.ops[place(&l, ROLE_FFN_NORM)].w->name, "blk.0.attn_norm.weight");
    unload(&m, &l);
    load(&m, &l, OPT ",\"word_embed_proj_dim\":8,\"do_layer_norm_before\":false}"); /* norms behind */
    assert_true(place(&l, ROLE_ATTN_RESIDUAL) < place(&l, ROLE_ATTN_POST_NORM));
    assert_int_equal(place(&l, ROLE_OUTPUT_NORM), l.n);
    assert_int_equal(l.ops[place(&l, ROLE_LM_HEAD)].cols, 8);
    assert_int_equal(l.ops[place(&l, ROLE_PROJ_IN)].cols, 8);
    assert_true(l.ops[place(&l, ROLE_PROJ_OUT)].out_rows);
    assert_int_equal(l.ops[place(&l, ROLE_FFN_ACT)].glu, GLU_RELU);
    unload(&m, &l);
}

/* Learned, rotated, biased; and windows of all layers or of three in four. */
static void test_positions(void **state)
{
    (void)state;
    struct model m;
    struct op_list l;
    load(&m, &l, GPT2 "}");
    assert_int_equal(l.ops[place(&l, ROLE_POS_EMBED)].w->rows, 8);
    assert_int_equal(l.ops[place(&l, ROLE_POS_EMBED) + 1].kind, OP_ADD);
    assert_false(l.ops[place(&l, ROLE_ATTN_CORE)].alibi);
    unload(&m, &l);
    static const char *const biased[] = { BLOOM "}", MPT "}", FALCON "\"alibi\":true}" };
    for (size_t i = 0; i < ARRAY_LEN(biased); i++) {
        load(&m, &l, biased[i]);
        assert_true(l.ops[place(&l, ROLE_ATTN_CORE)].alibi);
        assert_int_equal(count_kind(&l, OP_ROPE) + l.n_rope, 0);
        assert_int_equal(place(&l, ROLE_POS_EMBED), l.n);
        unload(&m, &l);
    }
    load(&m, &l, COHERE2 "}"); /* the last of four neither has a window nor rotates */
    assert_int_equal(count_kind(&l, OP_ROPE), 2 * 3);
    for (size_t i = 0; i < l.n; i++)
        if (l.ops[i].kind == OP_ATTENTION)
            assert_int_equal(l.ops[i].window, l.ops[i].layer == 3 ? 0 : 8);
    assert_true(l.ops[place(&l, ROLE_LOGIT_SCALE)].kind == OP_SCALE);
    unload(&m, &l);
    load(&m, &l, COHERE2 ",\"layer_types\":[\"sliding_attention\",\"full_attention\",\"sliding_attention\",\"full_attention\"]}");
    assert_int_equal(count_kind(&l, OP_ROPE), 2 * 2);
    unload(&m, &l);
    load(&m, &l, STARCODER ",\"sliding_window\":8,\"max_position_embeddings\":64}");
    assert_int_equal(l.ops[place(&l, ROLE_ATTN_CORE)].window, 8);
    unload(&m, &l);
    load(&m, &l, PHI ",\"partial_rotary_factor\":0.5}");
    assert_int_equal(l.ops[place(&l, ROLE_ATTN_ROPE)].n_rot, 2);
    unload(&m, &l);
    load(&m, &l, COHERE ",\"use_qk_norm\":true}");
    const struct op *norm = &l.ops[place(&l, ROLE_ATTN_Q_NORM)];
    assert_true(norm->kind == OP_LAYER_NORM && norm->n_head == 4 && norm->cols == 4 && norm->w->rows == 4);
    unload(&m, &l);
    load(&m, &l, PHI3S "}");
    assert_true(l.ops[place(&l, ROLE_EMBED)].scale == 10 && l.ops[place(&l, ROLE_LOGIT_SCALE)].scale == 0.125f);
    assert_true(l.ops[place(&l, ROLE_ATTN_CORE)].scale == 0.25f); /* 1 / 4, not 1 / sqrt(4) */
    unload(&m, &l);
}

/* ---- what is refused ------------------------------------------------------------------------------ */

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expect;
    } cases[] = {
        { "{\"model_type\":\"gpt2\"}", "\"n_embd\" is missing" },
        { "{\"model_type\":\"gpt2\",\"n_embd\":16}", "\"n_layer\" is missing" },
        { "{\"model_type\":\"gpt2\",\"n_embd\":16,\"n_layer\":1,\"vocab_size\":32}", "\"n_head\" is missing" },
        { "{\"model_type\":\"opt\"," LLAMA_DIMS "\"max_position_embeddings\":8}", "\"ffn_dim\" is missing" },
        { "{\"model_type\":\"bloom\",\"n_layer\":1}", "\"hidden_size\" is missing" },
        { "{\"model_type\":\"mpt\",\"d_model\":16,\"n_heads\":4}", "\"n_layers\" is missing" },
        { "{\"model_type\":\"phi3small\"," LLAMA_DIMS "\"x\":1}", "\"ff_intermediate_size\" is missing" },
        { "{\"model_type\":\"gpt2\",\"n_embd\":17,\"n_layer\":1,\"n_head\":4,\"vocab_size\":32}",
          "n_embd is 17, expected a multiple of n_head, which is 4" },
        { "{\"model_type\":\"gpt2\",\"n_embd\":4294967295,\"n_layer\":1,\"n_head\":1,\"vocab_size\":32}", "n_embd is 4294967295" },
        { "{\"model_type\":\"gpt2\",\"n_embd\":16,\"n_layer\":100000,\"n_head\":4,\"vocab_size\":32}", "n_layer is 100000" },
        { GPT2 ",\"n_inner\":-1}", "n_inner" },
        { GPT2 ",\"n_inner\":4294967295}", "n_inner is 4294967295" },
        { GPT2 ",\"activation_function\":\"relu\"}", "activation_function is \"relu\"" },
        { GPT2 ",\"scale_attn_weights\":false}", "scale_attn_weights is false" },
        { GPT2 ",\"scale_attn_by_inverse_layer_idx\":true}", "scale_attn_by_inverse_layer_idx is true" },
        { GPT2 ",\"add_cross_attention\":true}", "add_cross_attention is true" },
        { GPT2 ",\"layer_norm_epsilon\":\"x\"}", "layer_norm_epsilon" },
        { GPT2 ",\"sliding_window\":4}", "sliding-window attention: not supported by architecture gpt2" },
        { OPT ",\"word_embed_proj_dim\":0}", "word_embed_proj_dim" },
        { OPT ",\"word_embed_proj_dim\":2147483648}", "word_embed_proj_dim is 2147483648" },
        { OPT ",\"do_layer_norm_before\":3}", "do_layer_norm_before" },
        { OPT ",\"_remove_final_layer_norm\":true}", "_remove_final_layer_norm is true" },
        { OPT ",\"layer_norm_elementwise_affine\":false}", "layer_norm_elementwise_affine is false" },
        { OPT ",\"activation_function\":\"gelu\"}", "expected \"relu\"" },
        { "{\"model_type\":\"opt\"," LLAMA_DIMS "\"ffn_dim\":64,\"max_position_embeddings\":4294967295}",
          "max_position_embeddings is 4294967295" },
        { NEOX_DIMS ",\"rotary_pct\":0}", "rotary_pct is 0" },
        { NEOX_DIMS ",\"rotary_pct\":1.5}", "rotary_pct is 1.5" },
        { NEOX ",\"rotary_emb_base\":0}", "RoPE base" },
        { GPTJ_DIMS "\"rotary_dim\":3}", "rotary_dim is 3" },
        { GPTJ_DIMS "\"rotary_dim\":6}", "rotary_dim is 6, expected an even number of at most 4" },
        { BLOOM ",\"apply_residual_connection_post_layernorm\":true}", "apply_residual_connection_post_layernorm is true" },
        { FALCON "\"new_decoder_architecture\":true,\"num_kv_heads\":3}", "expected a multiple of num_kv_heads, which is 3" },
        { FALCON "\"new_decoder_architecture\":true,\"parallel_attn\":false}", "parallel_attn is false" },
        { FALCON "\"new_decoder_architecture\":true,\"num_ln_in_parallel_attn\":3}", "num_ln_in_parallel_attn is 3" },
        { FALCON "\"ffn_hidden_size\":0}", "ffn_hidden_size" },
        { MPT ",\"expansion_ratio\":1000}", "expansion_ratio is 1000" },
        { MPT ",\"attn_config\":7}", "\"attn_config\": expected an object" },
        { MPT ",\"attn_config\":{\"attn_type\":\"grouped_query_attention\"}}", "attn_type is \"grouped_query_attention\"" },
        { MPT ",\"attn_config\":{\"clip_qkv\":6}}", "attn_config: clip_qkv is not supported" },
        { MPT ",\"attn_config\":{\"qk_ln\":true}}", "attn_config: qk_ln is true" },
        { MPT ",\"attn_config\":{\"alibi\":false},\"learned_pos_emb\":false}", "neither attn_config.alibi nor learned_pos_emb" },
        { MPT ",\"no_bias\":false}", "no_bias is false" },
        { MPT ",\"norm_type\":\"rmsnorm\"}", "norm_type is \"rmsnorm\"" },
        { MPT ",\"ffn_config\":{\"ffn_type\":\"mptglu\"}}", "ffn_type is \"mptglu\"" },
        { PHI ",\"qk_layernorm\":true}", "qk_layernorm is true" },
        { PHI3S ",\"rope_position_scale\":2}", "rope_position_scale is 2" },
        { PHI3S ",\"mup_width_multiplier\":0}", "mup_width_multiplier is 0" },
        { PHI3S ",\"mup_embedding_multiplier\":-1}", "the scale of embeddings" },
        { COHERE ",\"logit_scale\":-1}", "logit_scale is -1, expected a number from 0" },
        { COHERE2 ",\"order_of_interleaved_layers\":\"global_attn_first\"}", "order_of_interleaved_layers" },
        { COHERE2 ",\"use_parallel_block\":false}", "use_parallel_block is false" },
        { STARCODER ",\"hidden_act\":\"silu\"}", "hidden_act is \"silu\"" },
        { STABLELM ",\"num_key_value_heads\":3}", "expected a multiple of num_key_value_heads, which is 3" },
        { "{\"model_type\":\"llama\",\"architectures\":[\"GPT2LMHeadModel\"]}",
          "architectures[0] is \"GPT2LMHeadModel\" (gpt2), but model_type is \"llama\" (llama)" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hparams hp;
        const char *arch;
        struct error err = { 0 };
        assert_fails(model_parse_config("t.json", cases[i].text, strlen(cases[i].text), &hp, &arch, &err), err, cases[i].expect);
    }
}

/* Priced alone: a file of weights is not written, and one without its dimensions is no model. */
static void test_no_files(void **state)
{
    (void)state;
    static const char path[] = "test_archs_classic.gguf";
    struct strbuf b = { 0 };
    struct error err = { 0 };
    struct model m;
    struct op_list l;
    put_head(&b, 3, 0, 1);
    put_kv_text(&b, "general.architecture", "gpt2");
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b.s, 1, b.len, f), b.len);
    fclose(f);
    assert_fails(model_load(&m, path, NULL, &err), err, "the GGUF's metadata as a config.json");
    unlink(path);
    strbuf_free(&b);
    load(&m, &l, GPT2 "}");
    const struct synth_options o = { .seed = 1 };
    assert_fails(model_synth(&m, path, &o, &err), err, "architecture gpt2 is predicted from its config.json");
    assert_true(access(path, F_OK) != 0);
    unload(&m, &l);
}

static int set_dirs(void **state)
{
    (void)state;
    environment_set_dirs(data_dirs());
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters), cmocka_unit_test(test_by_hand), cmocka_unit_test(test_residuals),
        cmocka_unit_test(test_positions),  cmocka_unit_test(test_refused), cmocka_unit_test(test_no_files),
    };
    return cmocka_run_group_tests_name("archs_classic", tests, set_dirs, NULL);
}
