/*
 * GGUF files of architectures that are predicted but not executed: metadata is translated to config.json fields, tensors follow the
 * architecture with the file's types. Key names: ggml-org/llama.cpp gguf-py/gguf/constants.py and convert_hf_to_gguf.py.
 */
#include "model/arch.h"
#include "model/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Architectures with the same cost as another one's text model. */
static const struct {
    const char *gguf, *as;
} other_names[] = { { "qwen2vl", "qwen2" },     { "qwen3vl", "qwen3" },           { "qwen3vlmoe", "qwen3moe" },
                    { "mistral3", "llama" },    { "nemotron_h_moe", "nemotron_h" }, { "gemma-embedding", NULL } };

const struct arch *gguf_predict_only_arch(const char *name, size_t len)
{
    const struct arch *const a = arch_find(name, len);
    for (size_t i = 0; !a && i < ARRAY_LEN(other_names); i++)
        if (other_names[i].as && strlen(other_names[i].gguf) == len && memcmp(other_names[i].gguf, name, len) == 0)
            return arch_find(other_names[i].as, strlen(other_names[i].as));
    return a && (a->has & ARCH_PREDICT_ONLY) ? a : NULL;
}

/* ---- metadata as the fields of a config.json ------------------------------------------------------------------------- */

/* Fields under config_field() names, then under literal names; unread ones have no effect. */
static const struct {
    const char *suffix, *usual, *fields; /* fields: space-separated */
} names[] = {
    { "embedding_length", "hidden_size", NULL },
    { "feed_forward_length", "intermediate_size", NULL },
    { "attention.head_count", "num_attention_heads", NULL },
    { "attention.head_count_kv", "num_key_value_heads", NULL },
    { "attention.key_length", "head_dim", NULL },
    { "context_length", "max_position_embeddings", NULL },
    { "attention.layer_norm_rms_epsilon", "rms_norm_eps", "layer_norm_epsilon" },
    { "attention.layer_norm_epsilon", "rms_norm_eps", NULL },
    { "rope.freq_base", NULL, "rope_theta rotary_emb_base" },
    { "expert_used_count", "num_experts_per_tok", NULL },
    { "expert_feed_forward_length", NULL, "moe_intermediate_size" },
    { "expert_shared_feed_forward_length", NULL, "shared_expert_intermediate_size moe_shared_expert_intermediate_size shared_intermediate_size" },
    { "expert_shared_count", NULL, "n_shared_experts" },
    { "leading_dense_block_count", NULL, "first_k_dense_replace" },
    { "expert_group_count", NULL, "n_group" },
    { "expert_group_used_count", NULL, "topk_group" },
    { "expert_weights_norm", NULL, "norm_topk_prob" },
    { "expert_weights_scale", NULL, "routed_scaling_factor" },
    { "attention.sliding_window", NULL, "sliding_window" },
    { "attention.q_lora_rank", NULL, "q_lora_rank" },
    { "attention.kv_lora_rank", NULL, "kv_lora_rank" },
    { "final_logit_softcapping", NULL, "final_logit_softcapping" },
    { "attn_logit_softcapping", NULL, "attn_logit_softcapping" },
    { "logit_scale", NULL, "logit_scale logits_scaling" },
    { "embedding_scale", NULL, "embedding_multiplier" },
    { "residual_scale", NULL, "residual_multiplier" },
    { "attention.scale", NULL, "attention_multiplier" },
    { "use_parallel_residual", NULL, "use_parallel_residual" },
    { "interleave_moe_layer_step", NULL, "interleave_moe_layer_step" },
    { "full_attention_interval", NULL, "full_attention_interval" },
    { "embedding_length_per_layer_input", NULL, "hidden_size_per_layer_input" },
    { "attention.shared_kv_layers", NULL, "num_kv_shared_layers" },
    { "ssm.conv_kernel", NULL, "conv_kernel linear_conv_kernel_dim mamba_d_conv" },
    { "ssm.state_size", NULL, "ssm_state_size linear_key_head_dim mamba_d_state" },
    { "ssm.group_count", NULL, "n_groups linear_num_key_heads mamba_n_groups" },
    { "ssm.time_step_rank", NULL, "mamba_num_heads linear_num_value_heads mamba_n_heads mamba_dt_rank" },
    { "ssm.inner_size", NULL, "mamba_d_ssm" },
    { "shortconv.l_cache", NULL, "conv_L_cache" },
};

/* Keys read elsewhere or without effect on bytes and FLOP. A trailing '*' matches any text. */
static const char *const known_keys[] = { "block_count", "nextn_predict_layers", "expert_count", "vocab_size", "rope.*", "expert_gating_func", "attention.value_length*",
                                          "attention.key_length_*", "attention.sliding_window_pattern", "attention.causal", "ssm.dt_b_c_rms",
                                          "attention.group_norm_*", "attention.layer_norm_*", "pooling_type", "tokenizer_*", "token_*", "router_*", "n_deepstack_layers",
                                          "attention.chunk_size", "attention.clamp_kqv", "attention.max_alibi_bias", "moe_every_n_layers", "tensor_data_layout",
                                          "attention.recurrent_layers" };

struct translation {
    const struct gguf *g;
    const struct arch *a;
    char prefix[64]; /* "qwen35moe." */
    json_t *j;
    struct error *err;
};

static const char *key_of(const struct translation *t, char *buf, size_t n, const char *suffix)
{
    snprintf(buf, n, "%s%s", t->prefix, suffix);
    return buf;
}

/* A number, or the maximum of an array; NaN: absent. */
static double number_of(const struct translation *t, const char *suffix)
{
    char key[160];
    double v, most = NAN;
    uint64_t n;
    bool flag = false;
    enum gguf_type elem;
    struct error ignored = { 0 };
    if (!gguf_has(t->g, key_of(t, key, sizeof key, suffix)))
        return NAN;
    if (gguf_get_arr(t->g, key, &elem, &n, NULL) != 0)
        return gguf_get_f64(t->g, key, &v, &ignored) == 0 ? v : gguf_opt_bool(t->g, key, &flag, &ignored) == 0 ? flag : NAN;
    for (uint64_t i = 0; i < n; i++)
        if (gguf_arr_f64(t->g, key, i, &v, &ignored) == 0 && !(v <= most))
            most = v;
    return most;
}

/* Per-layer value; a scalar applies to all layers. */
static double number_at(const struct translation *t, const char *suffix, uint64_t layer)
{
    char key[160];
    double v = NAN;
    int64_t whole;
    uint64_t n;
    enum gguf_type elem;
    struct error ignored = { 0 };
    if (!gguf_has(t->g, key_of(t, key, sizeof key, suffix)) || gguf_get_arr(t->g, key, &elem, &n, NULL) != 0)
        return number_of(t, suffix);
    if (gguf_arr_i64(t->g, key, layer, &whole, &ignored) == 0)
        return (double)whole;
    return gguf_arr_f64(t->g, key, layer, &v, &ignored) == 0 ? v : NAN;
}

static bool has_tensor(const struct translation *t, const char *name)
{
    return gguf_tensor_find(t->g, name) != NULL;
}

static void set_number(struct translation *t, const char *field, double v)
{
    json_object_set_new(t->j, field, isnan(v) ? json_null() : json_num(v));
}

static void set_flag(struct translation *t, const char *field, bool v)
{
    json_object_set_new(t->j, field, json_boolean(v));
}

static void set_fields(struct translation *t, const char *fields, double v)
{
    char name[64];
    size_t n;
    for (const char *p = fields; *p; p += n + (p[n] == ' ')) {
        n = strcspn(p, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, p);
        if (strcmp(name, "norm_topk_prob") == 0 || strcmp(name, "use_parallel_residual") == 0)
            set_flag(t, name, v != 0);
        else
            set_number(t, name, v);
    }
}

/* Per-layer kinds as a list of words. */
static void set_layers(struct translation *t, const char *field, bool (*first)(const struct translation *t, uint64_t layer), const char *yes, const char *no,
                       uint64_t n_layer)
{
    json_t *const list = json_array();
    for (uint64_t i = 0; i < n_layer && i < HYBRID_MAX_LAYER; i++)
        json_array_append_new(list, json_string(first(t, i) ? yes : no));
    json_object_set_new(t->j, field, list);
}

static bool is_windowed(const struct translation *t, uint64_t layer)
{
    return number_at(t, "attention.sliding_window_pattern", layer) > 0;
}

static bool attends(const struct translation *t, uint64_t layer)
{
    return number_at(t, "attention.head_count_kv", layer) > 0;
}

static void of_gemma4(struct translation *t, uint64_t n_layer)
{
    char name[64];
    double windowed = NAN, full = NAN, narrow = NAN;
    bool values = true, known = false;
    set_layers(t, "layer_types", is_windowed, "sliding_attention", "full_attention", n_layer);
    for (uint64_t i = 0; i < n_layer; i++) {
        const double n = number_at(t, "attention.head_count_kv", i);
        snprintf(name, sizeof name, "blk.%llu.attn_v.weight", (unsigned long long)i);
        if (is_windowed(t, i))
            windowed = n;
        else
            full = n;
        if (!is_windowed(t, i) && !known) { /* later ones may share the KV of earlier layers */
            known = true;
            values = has_tensor(t, name);
        }
        narrow = fmin(narrow, number_at(t, "feed_forward_length", i));
    }
    if (narrow < number_of(t, "feed_forward_length")) { /* layers that share KV are twice as wide */
        set_number(t, "intermediate_size", narrow);
        set_flag(t, "use_double_wide_mlp", true);
    }
    set_number(t, "num_key_value_heads", windowed);
    set_number(t, "num_global_key_value_heads", full);
    set_number(t, "global_head_dim", number_of(t, "attention.key_length"));
    set_number(t, "head_dim", number_of(t, "attention.key_length_swa"));
    set_flag(t, "attention_k_eq_v", !values);
    set_flag(t, "enable_moe_block", number_of(t, "expert_count") > 0);
}

static void of_nemotron_h(struct translation *t, uint64_t n_layer)
{
    char pattern[HYBRID_MAX_LAYER + 1];
    uint64_t i;
    const bool experts = number_of(t, "expert_count") > 0;
    for (i = 0; i < n_layer && i < HYBRID_MAX_LAYER; i++)
        pattern[i] = attends(t, i) ? '*' : number_at(t, "feed_forward_length", i) > 0 ? experts ? 'E' : '-' : 'M';
    pattern[i] = 0;
    json_object_set_new(t->j, "hybrid_override_pattern", json_string(pattern));
}

static void of_lfm2(struct translation *t, uint64_t n_layer)
{
    const double dense = number_of(t, "leading_dense_block_count");
    set_layers(t, "layer_types", attends, "full_attention", "conv", n_layer);
    set_number(t, "block_ff_dim", number_of(t, "feed_forward_length"));
    set_flag(t, "block_auto_adjust_ff_dim", false);
    if (dense > 0)
        set_number(t, "num_dense_layers", dense);
}

static void of_jamba(struct translation *t, uint64_t n_layer)
{
    static const char *const fields[2][2] = { { "attn_layer_offset", "attn_layer_period" }, { "expert_layer_offset", "expert_layer_period" } };
    char name[64];
    for (int kind = 0; kind < 2; kind++) {
        double at[2] = { NAN, NAN };
        for (uint64_t i = 0; i < n_layer && isnan(at[1]); i++) {
            snprintf(name, sizeof name, "blk.%llu.ffn_gate_inp.weight", (unsigned long long)i);
            if (kind == 0 ? attends(t, i) : has_tensor(t, name))
                at[!isnan(at[0])] = (double)i;
        }
        if (isnan(at[0]))
            continue;
        set_number(t, fields[kind][0], at[0]);
        set_number(t, fields[kind][1], isnan(at[1]) ? (double)n_layer : at[1] - at[0]);
    }
}

/* Architecture-specific keys. */
static void of_arch(struct translation *t, uint64_t n_layer)
{
    const char *const name = t->a->name;
    const double inner = number_of(t, "ssm.inner_size"), heads = number_of(t, "ssm.time_step_rank"), width = number_of(t, "embedding_length"),
                 rotated = number_of(t, "rope.dimension_count"), key = number_of(t, "attention.key_length");
    if (inner > 0 && heads > 0)
        set_fields(t, "mamba_head_dim mamba_d_head linear_value_head_dim", inner / heads);
    if (inner > 0 && width > 0 && inner >= width && fmod(inner, width) == 0)
        set_number(t, "mamba_expand", inner / width);
    if (rotated > 0 && key > rotated)
        set_number(t, "partial_rotary_factor", rotated / key);
    if (has_tensor(t, "blk.0.attn_q_norm.weight"))
        set_flag(t, strcmp(name, "stablelm") == 0 ? "qk_layernorm" : "use_qk_norm", true);
    if (has_tensor(t, "blk.0.attn_q.bias") && (t->a->has & ARCH_ATTN_BIAS) && strcmp(name, "qwen2moe") != 0)
        set_flag(t, "attention_bias", true);
    if (strcmp(name, "gemma4") == 0)
        of_gemma4(t, n_layer);
    else if (strcmp(name, "nemotron_h") == 0)
        of_nemotron_h(t, n_layer);
    else if (strcmp(name, "granitehybrid") == 0)
        set_layers(t, "layer_types", attends, "attention", "mamba", n_layer);
    else if (strncmp(name, "lfm2", 4) == 0)
        of_lfm2(t, n_layer);
    else if (strcmp(name, "jamba") == 0)
        of_jamba(t, n_layer);
    else if (strcmp(name, "llama4") == 0) {
        set_number(t, "intermediate_size_mlp", number_of(t, "feed_forward_length"));
        set_number(t, "intermediate_size", number_of(t, "expert_feed_forward_length"));
    }
    if (strcmp(name, "falcon") == 0) {
        set_flag(t, "new_decoder_architecture", has_tensor(t, "blk.0.attn_norm_2.weight"));
        set_flag(t, "multi_query", number_of(t, "attention.head_count_kv") == 1);
    }
}

static json_t *to_config(const struct gguf *g, const struct arch *a, struct gguf_str name, struct error *err)
{
    struct translation t = { .g = g, .a = a, .j = json_object(), .err = err };
    snprintf(t.prefix, sizeof t.prefix, "%.*s.", (int)u64_min(name.len, sizeof t.prefix - 2), name.s);
    const double experts = number_of(&t, "expert_count"), extra = number_of(&t, "nextn_predict_layers");
    const double n_layer = number_of(&t, "block_count") - (extra > 0 ? extra : 0);
    const struct gguf_tensor *const table = gguf_tensor_find(g, "token_embd.weight");
    json_object_set_new(t.j, "model_type", json_string(a->hf[experts > 0 && a->n_expert ? a->n_expert_row : 0].model_type));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const double v = number_of(&t, names[i].suffix);
        if (isnan(v))
            continue;
        if (names[i].usual)
            set_number(&t, config_field(a, names[i].usual), v);
        if (names[i].fields)
            set_fields(&t, names[i].fields, v);
    }
    set_number(&t, config_field(a, "num_hidden_layers"), n_layer);
    set_number(&t, config_field(a, "vocab_size"), table ? (double)table->dims[1] : NAN);
    if (extra > 0)
        set_number(&t, "num_nextn_predict_layers", extra);
    if (experts > 0)
        set_number(&t, a->n_expert ? a->n_expert : "num_experts", experts);
    set_flag(&t, "tie_word_embeddings", !has_tensor(&t, "output.weight"));
    of_arch(&t, n_layer > 0 && n_layer <= HYBRID_MAX_LAYER ? (uint64_t)n_layer : 0);
    if (!t.j)
        error_oom(err, 0, "a model's dimensions");
    return t.j;
}

/* ---- unread keys ---- */

static bool in_list(const char *const *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        const size_t len = strlen(list[i]);
        if (list[i][len - 1] == '*' ? strncmp(name, list[i], len - 1) == 0 : strcmp(name, list[i]) == 0)
            return true;
    }
    return false;
}

static bool is_read(const char *suffix)
{
    const struct hparam_key *k;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(names[i].suffix, suffix) == 0)
            return true;
    for (size_t i = 0; (k = hparam_key_at(i)) != NULL; i++)
        if (strcmp(k->suffix, suffix) == 0)
            return true;
    return in_list(known_keys, ARRAY_LEN(known_keys), suffix);
}

void gguf_unread_keys(const struct gguf *g, char *buf, size_t n)
{
    struct gguf_str arch;
    struct error ignored = { 0 };
    char name[97];
    enum gguf_type type;
    size_t len = strlen(buf);
    const size_t begin = len;
    if (gguf_get_str(g, "general.architecture", &arch, &ignored) != 0)
        return;
    for (size_t i = 0; i < gguf_n_kv(g); i++) {
        const struct gguf_str key = gguf_kv_at(g, i, &type);
        if (key.len <= arch.len + 1 || memcmp(key.s, arch.s, arch.len) != 0 || key.s[arch.len] != '.')
            continue;
        model_printable(name, sizeof name, key.s + arch.len + 1, key.len - arch.len - 1);
        if (is_read(name) || len + strlen(name) + 64 > n)
            continue;
        len += (size_t)snprintf(buf + len, n - len, "%s%s", len > begin ? ", " : begin > 0 ? "; ignored unknown keys: "
                                                                                           : "ignored unknown keys: ", name);
    }
}

/* ---- tensors ---------------------------------------------------------------------------------------------------------------- */

/* A tensor of the file, sorted by layer and size. */
struct candidate {
    const struct gguf_tensor *t;
    long layer; /* -1: none */
    uint64_t elements;
    bool used;
};

struct matching {
    struct model *m;
    struct candidate *c;
    size_t n;
    uint64_t guessed; /* elements whose type was taken from a tensor of another name */
};

static uint64_t n_elements(const struct gguf_tensor *t)
{
    size_t n = 1;
    for (int i = 0; i < 4; i++)
        if (!size_mul(n, t->dims[i], &n))
            return UINT64_MAX;
    return n;
}

static long layer_of(const char *name, size_t len)
{
    char text[64];
    unsigned layer;
    snprintf(text, sizeof text, "%.*s", (int)u64_min(len, sizeof text - 1), name);
    return sscanf(text, "blk.%9u.", &layer) == 1 ? (long)layer : -1;
}

static int by_layer_and_size(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    return (x->elements > y->elements) - (x->elements < y->elements);
}

static int list_candidates(struct matching *x, const struct gguf *g, struct error *err)
{
    x->n = gguf_n_tensors(g);
    x->c = calloc(x->n + 1, sizeof *x->c);
    if (!x->c)
        return error_oom(err, (x->n + 1) * sizeof *x->c, "matching the tensors");
    for (size_t i = 0; i < x->n; i++) {
        const struct gguf_tensor *const t = gguf_tensor_at(g, i);
        x->c[i] = (struct candidate){ t, layer_of(t->name.s, t->name.len), n_elements(t), false };
    }
    qsort(x->c, x->n, sizeof *x->c, by_layer_and_size);
    return 0;
}

/* By name, else an unclaimed tensor of the same layer and element count. NULL: none. */
static struct candidate *find_match(const struct matching *x, const char *name, uint64_t elements, bool *named)
{
    const struct candidate wanted = { NULL, layer_of(name, strlen(name)), elements, false };
    struct candidate *like = NULL;
    size_t lo = 0, hi = x->n;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (by_layer_and_size(&x->c[mid], &wanted) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *named = false;
    for (; lo < x->n && by_layer_and_size(&x->c[lo], &wanted) == 0; lo++) {
        const struct gguf_str s = x->c[lo].t->name;
        if (x->c[lo].used)
            continue;
        if (s.len == strlen(name) && memcmp(s.s, name, s.len) == 0) {
            *named = true;
            return &x->c[lo];
        }
        like = like ? like : &x->c[lo];
    }
    return like;
}

static int add_tensor(void *ctx, const char *name, uint64_t rows, uint64_t cols, uint64_t n_mat, struct error *err)
{
    struct matching *const x = ctx;
    struct tensor *const t = model_add_tensor(x->m, err);
    if (!t)
        return -1;
    snprintf(t->name, sizeof t->name, "%s", name);
    t->rows = rows * n_mat;
    t->cols = cols;
    t->n_mat = (uint32_t)n_mat;
    bool named;
    struct candidate *const found = find_match(x, name, t->rows * cols, &named);
    const bool fits = found && cols % dtype_find(found->t->type)->block_elems == 0; /* a guessed type may not divide the row */
    t->type = fits ? found->t->type : DTYPE_F32;
    t->bytes = found ? found->t->bytes : t->rows * cols * 4;
    if (found)
        found->used = true;
    x->guessed += named ? 0 : t->rows * cols;
    x->m->weight_bytes += t->bytes;
    x->m->n_params += t->rows * cols;
    return 0;
}

/* Parameter counts must match, excluding multi-token prediction layers. */
static int check_sum(const struct matching *x, struct error *err)
{
    static const double APART = 0.02;
    double file = 0, bytes = 0;
    for (size_t i = 0; i < x->n; i++) {
        if (x->c[i].layer >= 0 && x->c[i].layer >= (long)x->m->hp.n_layer)
            continue;
        file += (double)x->c[i].elements;
        bytes += (double)x->c[i].t->bytes;
    }
    const double ours = (double)x->m->n_params;
    if (fabs(ours / file - 1) > APART)
        return error_set(err, ERROR_INPUT, "%s: its tensors have %.4g parameters, a model of architecture %s with its dimensions has %.4g: it cannot be predicted from "
                         "this file (its config.json or a name from `roofcast list models` may be)", x->m->path, file, x->m->arch->name, ours);
    if (fabs((double)x->m->weight_bytes / bytes - 1) > 0.001 || (double)x->guessed > 0.001 * ours)
        snprintf(x->m->note, sizeof x->m->note, "%.3g of %.3g GB are of tensors that the architecture describes otherwise", fabs(bytes - (double)x->m->weight_bytes) / 1e9,
                 bytes / 1e9);
    return 0;
}

int gguf_predict_only(struct model *m, struct gguf *g, const struct arch *a, struct gguf_str name, struct error *err)
{
    const char *arch;
    struct matching x = { .m = m };
    json_t *const j = to_config(g, a, name, err);
    m->arch = a;
    int rc = j ? config_parse(j, m->path, &m->hp, &arch, err) : -1;
    json_decref(j);
    if (rc == 0)
        rc = list_candidates(&x, g, err);
    if (rc == 0)
        rc = arch_declare(a, &m->hp, add_tensor, &x, err);
    if (rc == 0)
        rc = check_sum(&x, err);
    free(x.c);
    if (rc != 0 && err && err->kind == ERROR_INPUT && !strstr(err->msg, "its tensors have"))
        return error_prefix(err, "the GGUF's metadata as a config.json");
    return rc;
}
