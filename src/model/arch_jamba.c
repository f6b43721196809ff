/*
 * Jamba (Lieber et al. 2024): Mamba-1, attention without rotation in one layer per period, experts in every second layer, else an FFN
 * of one expert's width. Expert weights: softmax over all experts. Tensor shapes: transformers, models/jamba.
 */
#include "model/hybrid.h"
#include "model/internal.h"
#include <string.h>

static void block(struct builder *b)
{
    const unsigned parts = hybrid_parts(b);
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    if (parts & PART_RECURRENCE)
        build_mamba1(b);
    else
        build_attention(b, BUF_NORM, &(struct attention_spec){ .no_rope = true });
    build_residual(b, ROLE_ATTN_RESIDUAL);
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "ffn_norm");
    if (parts & PART_EXPERTS)
        build_experts(b, BUF_NORM, &(struct experts_spec){ .glu = GLU_SILU, .route = { .gate = ROUTE_SOFTMAX } });
    else
        build_ffn(b, BUF_NORM, GLU_SILU, false);
    build_residual(b, ROLE_FFN_RESIDUAL);
}

/* Period and offset of a layer kind. */
static int period(const json_t *j, const char *what, const char *name, uint32_t usual, uint32_t offset, uint32_t out[2],
                  struct error *err)
{
    char every[32], first[32];
    snprintf(every, sizeof every, "%s_layer_period", name);
    snprintf(first, sizeof first, "%s_layer_offset", name);
    out[0] = usual;
    out[1] = offset;
    if (config_opt_count(j, what, every, 1, &out[0], err) != 0 || config_opt_count(j, what, first, 0, &out[1], err) != 0)
        return -1;
    return out[1] < out[0] ? 0
                           : error_set(err, ERROR_INPUT, "%s: %s is %u, expected less than %s, which is %u", what, first, out[1],
                                       every, out[0]);
}

/* Width of the recurrence, and dt rank: a number, or "auto": n_embd / 16. */
static int dimensions(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    static const struct hybrid_fields fields = { NULL, NULL, NULL, "mamba_d_state", "mamba_d_conv" };
    const char *rank = json_string_value(json_object_get(j, "mamba_dt_rank"));
    struct hybrid *h = &hp->hybrid;
    int64_t expand = 2, n_dt = 0;
    if (json_get_int_opt(j, what, "mamba_expand", 1, 64, &expand, err) != 0)
        return -1;
    /* hparams_check rejects wider ones */
    h->n_head = hp->n_embd <= HPARAMS_MAX_EMBD ? hp->n_embd * (uint32_t)expand : 1;
    h->head_dim = h->n_group = 1;
    h->norm = true;
    if (rank && strcmp(rank, "auto") == 0)
        n_dt = ((int64_t)hp->n_embd + 15) / 16;
    else if (json_get_int(j, what, "mamba_dt_rank", 1, 1 << 20, &n_dt, err) != 0)
        return -1;
    h->n_dt = (uint32_t)n_dt;
    return hybrid_dimensions(j, what, &fields, hp, err);
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    uint32_t attention[2], experts[2];
    if (dimensions(j, what, hp, err) != 0 || hybrid_flag(j, what, "mamba_conv_bias", true, err) != 0 ||
        hybrid_flag(j, what, "mamba_proj_bias", false, err) != 0 || period(j, what, "attn", 8, 4, attention, err) != 0 ||
        period(j, what, "expert", 2, 1, experts, err) != 0)
        return -1;
    hybrid_every(hp, attention[0], attention[1], PART_ATTENTION, PART_RECURRENCE);
    if (hp->n_expert < 2) { /* one expert is an FFN */
        hp->n_expert = hp->n_expert_used = hp->n_ff_exp = 0;
        hybrid_every(hp, 1, 0, PART_FFN, PART_FFN);
    } else {
        hybrid_every(hp, experts[0], experts[1], PART_EXPERTS, PART_FFN);
        hp->n_ff_exp = hp->n_ff;
    }
    return hybrid_check(what, "intermediate_size", hp, err);
}

const struct arch arch_jamba = {
    .name = "jamba",
    .hf = { { "jamba", "JambaForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_HYBRID | ARCH_PREDICT_ONLY,
    .n_expert = "num_experts",
    .dense_too = true,
    .activations = "silu",
    .config = config,
    .block = block,
};
