/* Every model in models/ against the sizes its makers publish: the strongest test that dimensions and op lists are
 * right, since a width that is off by one anywhere changes the sum. */
#include "base/environment.h"
#include "../test.h"
#include "base/json.h"
#include "model/model.h"
#include "model/op.h"
#include <math.h>

/*
 * n_params     exact, summed outside this program from the dimensions of papers and config.json files, norms, biases,
 *              routers and sinks included; without RoPE factors, which are a table, and without layers that predict a
 *              second token (DeepSeek) or see (Gemma 3). Falcon's LM head is its table: the hub's counts of 7B (7.217) and
 *              180B (179.5) have both
 * published    10^9, what model cards and hubs say, in the digits they say it with; 0: nothing is said
 * active       10^9, weights that one token of decoding reads, as published, and how far the words may be off:
 *              half a digit, or what rounding down leaves (Qwen3's 3.35 is "3.3", DeepSeek-V2-Lite's 2.45 "2.4")
 * table        the published number counts the whole table of embeddings; OpenAI, DeepSeek and Moonshot leave it out
 *
 * Source: Hugging Face model cards and the papers cited in src/model/arch_*.c, as recalled for this table; Phi-3-mini also in
 * keras-team/keras-hub phi3_presets.py (3821079552).
 */
static const struct {
    const char *name;
    uint64_t n_params;
    double published, active, active_within;
    bool table;
} presets[] = {
    { "aya-23-8b", 8028033024, 8.03, 0, 0, false },
    { "bloom-176b", 176247271424, 176.25, 0, 0, false },
    { "bloom-1b1", 1065314304, 1.065, 0, 0, false },
    { "bloom-1b7", 1722408960, 1.722, 0, 0, false },
    { "bloom-3b", 3002557440, 3.003, 0, 0, false },
    { "bloom-560m", 559214592, 0.5592, 0, 0, false },
    { "bloom-7b1", 7069016064, 7.069, 0, 0, false },
    { "command-r-08-2024-32b", 32296476672, 32.3, 0, 0, false },
    { "command-r-35b", 34980831232, 34.98, 0, 0, false },
    { "command-r-plus-104b", 103810674688, 103.81, 0, 0, false },
    { "command-r7b", 8028033024, 8.03, 0, 0, false },
    { "deepseek-v2", 235741434880, 235.7, 21, 0.5, false },
    { "deepseek-v2-lite", 15706484224, 15.71, 2.4, 0.06, false },
    { "deepseek-v3", 671026419200, 671, 37, 0.5, false },
    { "falcon-180b", 178557088768, 0, 0, 0, false },
    { "falcon-40b", 41303293952, 41.3, 0, 0, false },
    { "falcon-7b", 6921720704, 0, 0, 0, false },
    { "gemma-2-27b", 27227128320, 27.23, 0, 0, false },
    { "gemma-2-2b", 2614341888, 2.614, 0, 0, false },
    { "gemma-2-9b", 9241705984, 9.242, 0, 0, false },
    { "gemma-3-12b", 11766034176, 11.77, 0, 0, false },
    { "gemma-3-1b", 999885952, 1.0, 0, 0, false },
    { "gemma-3-27b", 27009346304, 27.01, 0, 0, false },
    { "gemma-3-4b", 3880263168, 3.88, 0, 0, false },
    { "gemma-4-26b-a4b", 25233053440, 25.23, 3.8, 0.05, false },
    { "gemma-4-31b", 30697345280, 30.70, 0, 0, false },
    { "glm-4.7-flash", 29943393920, 29.94, 3, 0.6, false },
    { "gpt-j-6b", 6050882784, 6.05, 0, 0, false },
    { "gpt-neox-20b", 20554567680, 20.55, 0, 0, false },
    { "gpt-oss-120b", 116829156672, 116.83, 5.13, 0.005, false },
    { "gpt-oss-20b", 20914757184, 20.91, 3.61, 0.005, false },
    { "gpt2-1.5b", 1557611200, 1.558, 0, 0, false },
    { "gpt2-124m", 124439808, 0.1244, 0, 0, false },
    { "gpt2-355m", 354823168, 0.3548, 0, 0, false },
    { "gpt2-774m", 774030080, 0.774, 0, 0, false },
    { "kimi-k2", 1026408232448, 1026, 32, 0.5, false },
    { "llama-2-13b", 13015864320, 13.02, 0, 0, false },
    { "llama-2-70b", 68976648192, 68.98, 0, 0, false },
    { "llama-2-7b", 6738415616, 6.74, 0, 0, false },
    { "llama-3-70b", 70553706496, 70.55, 0, 0, false },
    { "llama-3-8b", 8030261248, 8.03, 0, 0, false },
    { "llama-3.1-70b", 70553706496, 70.55, 0, 0, false },
    { "llama-3.1-8b", 8030261248, 8.03, 0, 0, false },
    { "llama-3.2-1b", 1235814400, 1.236, 0, 0, false },
    { "llama-3.2-3b", 3212749824, 3.213, 0, 0, false },
    { "llama-3.3-70b", 70553706496, 70.55, 0, 0, false },
    { "ministral-3-14b", 13506073600, 13.51, 0, 0, false },
    { "ministral-3-8b", 8489553920, 8.49, 0, 0, false },
    { "ministral-8b", 8019808256, 8.02, 0, 0, false },
    { "mistral-7b", 7248023552, 7.25, 0, 0, false },
    { "mistral-nemo-12b", 12247782400, 12.25, 0, 0, false },
    { "mistral-small-24b", 23572403200, 23.57, 0, 0, false },
    { "mixtral-8x22b", 140620634112, 140.6, 39, 0.5, true },
    { "mixtral-8x7b", 46702792704, 46.7, 12.9, 0.05, true },
    { "mpt-30b", 29957200896, 29.96, 0, 0, false },
    { "mpt-7b", 6649286656, 6.65, 0, 0, false },
    { "olmo-2-13b", 13716198400, 13.716, 0, 0, false },
    { "olmo-2-1b", 1484916736, 1.485, 0, 0, false },
    { "olmo-2-32b", 32234279936, 32.23, 0, 0, false },
    { "olmo-2-7b", 7298617344, 7.299, 0, 0, false },
    { "opt-1.3b", 1315758080, 1.316, 0, 0, false },
    { "opt-125m", 125239296, 0.1252, 0, 0, false },
    { "opt-13b", 12853473280, 12.85, 0, 0, false },
    { "opt-175b", 174604468224, 175, 0, 0, false },
    { "opt-2.7b", 2651596800, 2.652, 0, 0, false },
    { "opt-30b", 29974540288, 29.97, 0, 0, false },
    { "opt-350m", 331196416, 0.3312, 0, 0, false },
    { "opt-6.7b", 6658473984, 6.658, 0, 0, false },
    { "opt-66b", 65719701504, 65.7, 0, 0, false },
    { "phi-1.5", 1418270720, 1.42, 0, 0, false },
    { "phi-2", 2779683840, 2.78, 0, 0, false },
    { "phi-3-medium", 13960238080, 13.96, 0, 0, false },
    { "phi-3-mini-128k", 3821079552, 3.821, 0, 0, false },
    { "phi-3-mini-4k", 3821079552, 3.821, 0, 0, false },
    { "phi-3-small-8k", 7392272384, 7.39, 0, 0, false },
    { "phi-3.5-mini", 3821079552, 3.821, 0, 0, false },
    { "phi-4", 14659507200, 14.66, 0, 0, false },
    { "phi-4-mini", 3836021760, 3.836, 0, 0, false },
    { "pythia-1.4b", 1414647808, 1.415, 0, 0, false },
    { "pythia-12b", 11846072320, 11.85, 0, 0, false },
    { "pythia-14m", 14067712, 0.01407, 0, 0, false },
    { "pythia-160m", 162322944, 0.1623, 0, 0, false },
    { "pythia-1b", 1011781632, 1.012, 0, 0, false },
    { "pythia-2.8b", 2775208960, 2.775, 0, 0, false },
    { "pythia-31m", 30494720, 0.03049, 0, 0, false },
    { "pythia-410m", 405334016, 0.4053, 0, 0, false },
    { "pythia-6.9b", 6857302016, 6.857, 0, 0, false },
    { "pythia-70m", 70426624, 0.07043, 0, 0, false },
    { "qwen2.5-0.5b", 494032768, 0.494, 0, 0, false },
    { "qwen2.5-1.5b", 1543714304, 1.54, 0, 0, false },
    { "qwen2.5-14b", 14770033664, 14.77, 0, 0, false },
    { "qwen2.5-32b", 32763876352, 32.76, 0, 0, false },
    { "qwen2.5-3b", 3085938688, 3.09, 0, 0, false },
    { "qwen2.5-72b", 72706203648, 72.7, 0, 0, false },
    { "qwen2.5-7b", 7615616512, 7.61, 0, 0, false },
    { "qwen3-0.6b", 596049920, 0.596, 0, 0, false },
    { "qwen3-1.7b", 1720574976, 1.72, 0, 0, false },
    { "qwen3-14b", 14768307200, 14.77, 0, 0, false },
    { "qwen3-235b-a22b", 235093634560, 235.09, 22, 0.5, true },
    { "qwen3-30b-a3b", 30532122624, 30.53, 3.3, 0.06, true },
    { "qwen3-32b", 32762123264, 32.76, 0, 0, false },
    { "qwen3-4b", 4022468096, 4.02, 0, 0, false },
    { "qwen3-8b", 8190735360, 8.19, 0, 0, false },
    { "smollm2-1.7b", 1711376384, 1.711, 0, 0, false },
    { "smollm2-135m", 134515008, 0.1345, 0, 0, false },
    { "smollm2-360m", 361821120, 0.3618, 0, 0, false },
    { "smollm3-3b", 3075098624, 3.08, 0, 0, false },
    { "stablelm-2-1.6b", 1644515328, 1.645, 0, 0, false },
    { "stablelm-2-12b", 12143185920, 12.143, 0, 0, false },
    { "stablelm-3b-4e1t", 2795443200, 2.795, 0, 0, false },
    { "starcoder2-15b", 15957889024, 15.96, 0, 0, false },
    { "stories110m", 109529856, 0, 0, 0, false },
    { "stories15m", 15191712, 0, 0, 0, false },
    { "stories42m", 41689600, 0, 0, 0, false },
    { "tinyllama-1.1b", 1100048384, 1.1, 0, 0, false },
    { "yi-34b", 34388917248, 34.39, 0, 0, false },
};

static void load(struct model *m, const char *name)
{
    struct error err = { 0 };
    assert_ok(model_load(m, name, NULL, &err), err);
}

static uint64_t elements(const struct tensor *t)
{
    return t ? t->rows * t->cols : 0;
}

static void test_parameters(void **state)
{
    (void)state;
    static const char *const tables[] = { "rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight" };
    for (size_t i = 0; i < ARRAY_LEN(presets); i++) {
        struct model m;
        load(&m, presets[i].name);
        uint64_t n = m.n_params, bytes = 0;
        for (size_t k = 0; k < ARRAY_LEN(tables); k++)
            n -= elements(model_find(&m, tables[k]));
        if (n != presets[i].n_params)
            fail_msg("%s: %llu parameters, expected %llu", presets[i].name, (unsigned long long)n,
                     (unsigned long long)presets[i].n_params);
        if (presets[i].published > 0 && fabs((double)n / 1e9 / presets[i].published - 1) > 0.005)
            fail_msg("%s: %g G parameters, published: %g", presets[i].name, (double)n / 1e9, presets[i].published);
        assert_string_equal(m.name, presets[i].name);
        assert_string_equal(m.type_name, "F16");
        assert_null(m.gguf);
        assert_null(m.tensors[0].data);
        for (size_t k = 0; k < m.n_tensors; k++)
            bytes += m.tensors[k].bytes;
        assert_int_equal(bytes, m.weight_bytes);
        model_free(&m);
    }
}

/* Weights an op reads for one token. */
static uint64_t read_by(const struct op *op)
{
    switch (op->kind) {
    case OP_EMBED:
        return op->cols; /* a row */
    case OP_EXPERT_MATMUL:
        return op->n_expert_used * ((uint64_t)op->rows * op->cols + (op->bias ? op->rows : 0));
    case OP_HEAD_MATMUL: /* its half of the matrix, where two ops share one */
        return (uint64_t)op->n_head * op->rows * op->cols;
    case OP_RMS_NORM:
    case OP_LAYER_NORM:
    case OP_MATMUL:
    case OP_ATTENTION:
    case OP_ROUTE:
    case OP_CONV1D:
    case OP_SSM_SCAN:
    case OP_DELTA_RULE:
        return elements(op->w) + elements(op->bias);
    case OP_ROPE:
    case OP_KV_STORE:
    case OP_KV_EXPAND:
    case OP_GLU:
    case OP_ADD:
    case OP_EXPERT_SUM:
    case OP_SOFTCAP:
    case OP_ACT:
    case OP_MUL:
    case OP_SCALE:
    case OP_INDEX:
    case OP_ALL_REDUCE:
    case OP_ALL_GATHER:
    case OP_ALL_TO_ALL:
    case OP_SEND:
        return 0;
    case OP_KIND_COUNT:
        break;
    }
    fail();
    return 0;
}

static uint64_t read_by_token(const struct model *m)
{
    const struct pass step = { .n_tok = 1, .n_past = 1000, .n_seq = 1, .n_out = 1 };
    struct op_list l;
    struct error err = { 0 };
    uint64_t n = 0;
    assert_ok(op_list_build(&l, m, &err), err);
    for (size_t i = 0; i < l.n; i++)
        if (op_n_tok(&l.ops[i], &step) > 0)
            n += read_by(&l.ops[i]);
    op_list_free(&l);
    return n;
}

/* A token reads all of a dense model but the other rows of its tables of embeddings and positions, and of a mixture what is published. */
static void test_active(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(presets); i++) {
        struct model m;
        load(&m, presets[i].name);
        const uint64_t width = m.hp.n_embd_in > 0 ? m.hp.n_embd_in : m.hp.n_embd; /* of an embedding */
        const uint64_t table = (uint64_t)m.hp.n_vocab * width, n = read_by_token(&m);
        const uint64_t other_positions = m.hp.n_pos > 0 ? (uint64_t)(m.hp.n_pos - 1) * m.hp.n_embd : 0;
        if (m.hp.n_expert == 0) {
            assert_true(presets[i].active == 0);
            assert_int_equal(n, presets[i].n_params + width - (m.hp.tied ? 0 : table) - other_positions);
        } else {
            const double active = (double)(n + (presets[i].table ? table : 0)) / 1e9;
            if (fabs(active - presets[i].active) > presets[i].active_within)
                fail_msg("%s: %g G weights a token, published: %g", presets[i].name, active, presets[i].active);
        }
        model_free(&m);
    }
}

/* Every other name leads to its model, also with an owner in front and in capitals; no two models share one. */
static void test_aliases(void **state)
{
    (void)state;
    char path[4300], spec[256], **names;
    size_t n_names, n = 0, i;
    struct error err = { 0 };
    assert_ok(model_list(&names, &n_names, &err), err);
    for (size_t k = 0; k < n_names; k++) {
        snprintf(path, sizeof path, "%s/models/%s.json", data_dirs()[0], names[k]);
        json_t *j = json_load_path(path, &err);
        const json_t *alias;
        if (!j)
            fail_msg("%s", err.msg);
        assert_string_equal(json_string_value(json_object_get(j, "name")), names[k]);
        assert_true(json_is_object(json_object_get(j, "source")));
        json_array_foreach(json_object_get(j, "aliases"), i, alias)
        {
            struct model m;
            snprintf(spec, sizeof spec, "Owner/%s", json_string_value(alias));
            load(&m, spec);
            assert_string_equal(m.name, names[k]);
            model_free(&m);
            n++;
        }
        json_decref(j);
    }
    name_list_free(names, n_names);
    assert_true(n > 100);
}

/* Every field of a preset is read, or known to leave its price as it is; phi-3-small's attention is priced as dense. */
static void test_fields_are_read(void **state)
{
    (void)state;
    char path[4300], **names;
    size_t n;
    struct error err = { 0 };
    assert_ok(model_list(&names, &n, &err), err);
    for (size_t i = 0; i < n; i++) {
        struct model m;
        snprintf(path, sizeof path, "%s/models/%s.json", data_dirs()[0], names[i]);
        assert_ok(model_load(&m, path, NULL, &err), err);
        if (*m.note && !strstr(m.note, "dense_attention_every_n_layers, blocksparse_block_size"))
            fail_msg("%s: %s", names[i], m.note);
        model_free(&m);
    }
    name_list_free(names, n);
}

/* What config.json files say beyond shapes. */
static void test_details(void **state)
{
    (void)state;
    struct model m;
    load(&m, "gemma-3-27b");
    assert_true(m.hp.window == 1024 && m.hp.window_period == 6 && m.hp.rope_theta == 1e6 && m.hp.rope_theta_swa == 1e4);
    assert_true(m.hp.rope_scaling == ROPE_SCALING_LINEAR && m.hp.rope_factor == 8);
    assert_true(fabs(m.hp.attn_scale - 1 / sqrt(168)) < 1e-12);
    assert_true(hparams_windowed(&m.hp, 4) && !hparams_windowed(&m.hp, 5) && hparams_windowed(&m.hp, 6));
    model_free(&m);
    load(&m, "gemma-2-9b");
    assert_true(m.hp.window == 4096 && m.hp.window_period == 2 && m.hp.attn_softcap == 50 && m.hp.final_softcap == 30);
    assert_true(hparams_windowed(&m.hp, 0) && !hparams_windowed(&m.hp, 1));
    model_free(&m);
    load(&m, "gpt-oss-20b");
    assert_true(m.hp.window == 128 && m.hp.window_period == 2 && m.hp.attn_bias && m.hp.attn_output_bias);
    assert_true(m.hp.rope_scaling == ROPE_SCALING_YARN && m.hp.rope_factor == 32 && m.hp.rope_ctx_orig == 4096);
    assert_int_equal(m.hp.n_ff_exp, 2880);
    model_free(&m);
    load(&m, "phi-4-mini");
    assert_int_equal(m.hp.n_rot, 96);
    /* sqrt(1 + ln 32 / ln 4096) */
    assert_true(m.hp.rope_scaling == ROPE_SCALING_LONGROPE && fabs(m.hp.rope_attn_factor - 1.1902380714238083) < 1e-12);
    assert_true(m.hp.window >= m.hp.n_ctx_train || m.hp.window == 0);
    model_free(&m);
    load(&m, "DeepSeek-R1");
    assert_string_equal(m.name, "deepseek-v3");
    assert_true(m.hp.expert_gate == EXPERT_GATE_SIGMOID && m.hp.expert_norm && m.hp.expert_bias && m.hp.expert_scale == 2.5);
    assert_true(m.hp.n_expert_group == 8 && m.hp.n_expert_group_used == 4 && m.hp.n_layer_dense == 3);
    /* (1 + 0.1 ln 40)^2 / sqrt(192): the model's own code */
    assert_true(fabs(m.hp.attn_scale - 0.13523377886) < 1e-9);
    model_free(&m);
    load(&m, "deepseek-v2-lite");
    assert_true(m.hp.n_lora_q == 0 && m.hp.n_expert_group == 0 && m.hp.n_ff_shexp == 2816 && !m.hp.expert_bias);
    model_free(&m);
    load(&m, "mixtral-8x7b");
    assert_true(m.hp.window == 0 && m.hp.n_ff_exp == 14336 && m.hp.n_expert == 8 && m.hp.n_expert_used == 2);
    model_free(&m);
    load(&m, "smollm3-3b");
    assert_true(m.hp.no_rope_period == 4 && m.hp.tied);
    model_free(&m);
    load(&m, "llama-4-maverick-17b-128e");
    assert_true(m.hp.n_ff == 16384 && m.hp.n_ff_exp == 8192 && m.hp.n_ff_shexp == 8192 && m.hp.window == 8192);
    /* experts in layers 1, 3, ...; all of the context in layers 3, 7, ... */
    assert_true(!hparams_expert_layer(&m.hp, 0) && hparams_expert_layer(&m.hp, 1) && hparams_expert_layer(&m.hp, 47));
    assert_true(hparams_windowed(&m.hp, 2) && !hparams_windowed(&m.hp, 3) && !m.hp.qk_norm);
    model_free(&m);
    load(&m, "glm-4.5");
    assert_true(m.hp.n_rot == 64 && m.hp.attn_bias && !m.hp.attn_output_bias && m.hp.qk_norm && m.hp.expert_bias);
    assert_true(!hparams_expert_layer(&m.hp, 2) && hparams_expert_layer(&m.hp, 3) && m.hp.expert_scale == 2.5);
    model_free(&m);
    load(&m, "glm-4-9b");
    assert_true(m.hp.n_head_kv == 2 && m.hp.n_rot == 64 && m.hp.rope_theta == 5e6 && m.hp.attn_bias && m.hp.n_ctx_train == 131072);
    model_free(&m);
    load(&m, "granite-3.1-2b");
    assert_true(m.hp.embed_scale == 12 && m.hp.residual_scale == 0.22 && m.hp.logit_scale == 0.125 && m.hp.attn_scale == 0.015625);
    model_free(&m);
    load(&m, "dbrx");
    assert_true(m.hp.n_head_kv == 8 && m.hp.rope_theta == 500000 && m.hp.norm == NORM_LAYER_NO_BIAS && m.hp.n_ff_exp == 10752);
    model_free(&m);
    load(&m, "phi-3.5-moe");
    assert_true(m.hp.norm == NORM_LAYER && m.hp.head_bias && m.hp.attn_output_bias && m.hp.rope_ctx_orig == 4096);
    model_free(&m);
    load(&m, "grok-1");
    assert_true(m.hp.attn_softcap == 30 && m.hp.n_expert == 8 && m.hp.n_ff_exp == 32768 && fabs(m.hp.logit_scale - 0.57735) < 1e-5);
    model_free(&m);
    load(&m, "minimax-m2");
    assert_true(m.hp.n_rot == 64 && m.hp.n_ff_exp == 1536 && m.hp.expert_bias && m.hp.qk_norm);
    model_free(&m);
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
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_active),
        cmocka_unit_test(test_aliases), cmocka_unit_test(test_fields_are_read),
        cmocka_unit_test(test_details),
    };
    return cmocka_run_group_tests_name("presets", tests, set_dirs, NULL);
}
