/* Fields of experts, mandatory fields, and number ranges of a config.json, under the file's names. */
#include "model/arch.h"
#include "model/internal.h"
#include <string.h>

int config_needs(const json_t *j, const char *what, const char *fields, bool null_too, struct error *err)
{
    char name[64];
    size_t n;
    for (const char *p = fields; p && *p; p += n + (p[n] == ' ')) {
        n = strcspn(p, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, p);
        const json_t *v = json_object_get(j, name);
        if (!v || (json_is_null(v) && !null_too))
            return error_set(err, ERROR_INPUT, "%s: field \"%s\" is %s", what, name,
                             !v && null_too ? "missing (null means none)" : v ? "null, expected a number" : "missing");
    }
    return 0;
}

/* ---- experts ---------------------------------------------------------------------------------- */

/* The model_type (or class, without one) selects a row >= `row`. */
static bool of_rows(const struct config_family *f, unsigned row)
{
    const struct arch *const a = f->arch;
    for (size_t k = row; k < ARRAY_LEN(a->hf) && a->hf[k].model_type; k++)
        if ((f->model_type && strcmp(a->hf[k].model_type, f->model_type) == 0) ||
            (f->class_name && strcmp(a->hf[k].class_name, f->class_name) == 0))
            return true;
    return false;
}

static int refuse_none(const struct config_family *f, const char *what, struct error *err)
{
    const struct arch *const a = f->arch;
    const char *const type = f->model_type;
    const bool usual = strcmp(a->n_expert, "num_experts") == 0;
    char found[65];
    return error_set(err, ERROR_INPUT, "%s: num_experts%s%s%s is missing or 0: %s has experts", what, usual ? "" : " (",
                     usual ? "" : a->n_expert, usual ? "" : ")",
                     type ? model_printable(found, sizeof found, type, strlen(type)) : a->name);
}

/* Number of experts and its field (NULL: none). */
static int number(const json_t *j, const char *what, int64_t *n, const char **field, struct error *err)
{
    static const char *const fields[] = { "num_local_experts", "num_experts", "n_routed_experts" };
    *n = 0;
    *field = NULL;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        int64_t v = *n;
        if (json_get_int_opt(j, what, fields[i], 0, UINT32_MAX, &v, err) != 0)
            return -1;
        if (*field && v != *n)
            return error_set(err, ERROR_INPUT, "%s: %s is %lld and %s is %lld, expected one number of experts", what, *field,
                             (long long)*n, fields[i], (long long)v);
        if (json_is_number(json_object_get(j, fields[i])))
            *field = fields[i];
        *n = v;
    }
    return 0;
}

int config_experts(const struct config_family *f, const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    const struct arch *const a = f->arch;
    int64_t n, used = 0, width = 0;
    const char *field;
    if (number(j, what, &n, &field, err) != 0)
        return -1;
    if (n == 0 && a->n_expert && of_rows(f, a->n_expert_row) && !(a->dense_too && field))
        return refuse_none(f, what, err);
    if (n == 0)
        return 0;
    if (json_get_int(j, what, config_present(j, a, "num_experts_per_tok"), 1, UINT32_MAX, &used, err) != 0 ||
        json_get_int_opt(j, what, "moe_intermediate_size", 1, UINT32_MAX, &width, err) != 0)
        return -1;
    if (n > 65536)
        return error_set(err, ERROR_INPUT, "%s: %s is %lld, expected 0 to 65536", what, field, (long long)n);
    if (used > n && !(a->dense_too && n == 1))
        return error_set(err, ERROR_INPUT, "%s: num_experts_per_tok is %lld, expected 1 to %s, which is %lld", what,
                         (long long)used, field, (long long)n);
    hp->n_expert = (uint32_t)n;
    hp->n_expert_used = (uint32_t)u64_min((uint64_t)used, (uint64_t)n);
    hp->n_ff_exp = (uint32_t)width;
    return 0;
}

int config_experts_ff(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    (void)j;
    (void)what;
    (void)err;
    hp->n_ff_exp = hp->n_ff;
    return 0;
}

int config_shared_width(const char *what, struct hparams *hp, struct error *err)
{
    if (hp->n_layer_dense > hp->n_layer)
        return error_set(err, ERROR_INPUT, "%s: first_k_dense_replace is %u, expected at most num_hidden_layers, which is %u",
                         what, hp->n_layer_dense, hp->n_layer);
    if (hp->n_expert_shared > 1024)
        return error_set(err, ERROR_INPUT, "%s: n_shared_experts is %u, expected at most 1024", what, hp->n_expert_shared);
    if (hp->n_ff_exp <= 1 << 22 && (uint64_t)hp->n_expert_shared * hp->n_ff_exp > 1 << 22)
        return error_set(err, ERROR_INPUT, "%s: n_shared_experts x moe_intermediate_size is %u x %u, expected at most %d", what,
                         hp->n_expert_shared, hp->n_ff_exp, 1 << 22);
    /* hparams_check rejects wider experts */
    hp->n_ff_shexp = hp->n_ff_exp <= 1 << 22 ? hp->n_expert_shared * hp->n_ff_exp : 0;
    return 0;
}

/* ---- numbers ---------------------------------------------------------------------------------- */

struct range {
    const char *field;
    double lo, hi;
    bool eps;
};

/* Ranges of hparams_check for values in the file. query_pre_attn_scalar must not be 0. */
static const struct range ranges[] = {
    { "rms_norm_eps", 0, 1, true },
    { "norm_eps", 0, 1, true },
    { "norm_epsilon", 0, 1, true },
    { "layer_norm_eps", 0, 1, true },
    { "layer_norm_epsilon", 0, 1, true },
    { "layernorm_epsilon", 0, 1, true },
    { "rope_theta", 1, 1e12, false },
    { "routed_scaling_factor", 0, 1e6, false },
    { "query_pre_attn_scalar", 1e-6, 1e12, false },
    { "attention_multiplier", 0, 1e6, false },
    { "embedding_multiplier", 0, 1e6, false },
    { "residual_multiplier", 0, 1e6, false },
    { "attn_output_multiplier", 0, 1e6, false },
    { "embedding_multiplier_scale", 0, 1e6, false },
    { "output_multiplier_scale", 0, 1e6, false },
    { "logit_scale", 0, 1e6, false },
    { "max_attn_value", 0, 1e6, false },
    { "attn_logit_softcapping", 0, 1e6, false },
    { "final_logit_softcapping", 0, 1e6, false },
};

static int check_range(const json_t *o, const char *what, const struct range *r, const struct hparams *hp, struct error *err)
{
    const json_t *v = json_object_get(o, r->field);
    const double x = json_number_value(v);
    if (!json_is_number(v) || (x >= r->lo && x <= r->hi)) /* wrong types are rejected by the reader */
        return 0;
    return error_set(err, ERROR_INPUT, "%s: %s is %g, expected a number from %g to %g%s", what, r->field, x, r->lo, r->hi,
                     !r->eps ? "" : hp->norm == NORM_RMS ? " (the epsilon of RMSNorm)" : " (the epsilon of LayerNorm)");
}

int config_numbers(const json_t *j, const char *what, const struct hparams *hp, struct error *err)
{
    const json_t *rope = json_object_get(j, "rope_parameters");
    const json_t *const places[] = { j, rope, json_object_get(rope, "full_attention"), json_object_get(rope, "sliding_attention") };
    for (size_t p = 0; p < ARRAY_LEN(places); p++)
        for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
            if (check_range(places[p], what, &ranges[i], hp, err) != 0)
                return -1;
    return 0;
}
