/*
 * Llama 4 (Meta 2025), language model: three of four layers rotate queries and keys and attend within their own chunk of the context;
 * the fourth does neither. In Scout, rotating layers norm queries and keys after rotation, without weights. Every
 * interleave_moe_layer_step-th layer has one of many experts (sigmoid) and a shared one; the others are dense and wider.
 *
 * Query scaling by position (attn_temperature_tuning) is counted with the scores.
 */
#include "model/arch.h"

static bool rotates(const struct hparams *hp, uint32_t layer)
{
    return hp->no_rope_period == 0 || (layer + 1) % hp->no_rope_period != 0;
}

static void block(struct builder *b)
{
    const struct hparams *hp = b->hp;
    static const struct experts_spec experts = { .glu = GLU_SILU, .route = { .gate = ROUTE_SIGMOID } };
    const bool rope = rotates(hp, (uint32_t)b->layer);
    llama_block(b, &(struct attention_spec){ .no_rope = !rope, .chunked = rope, .plain_norms = rope && hp->qk_norm }, &experts);
}

/* A list of MoE layers must match the step. */
static int check_moe_layers(const json_t *j, const char *what, const struct hparams *hp, struct error *err)
{
    const json_t *list = json_object_get(j, "moe_layers"), *v;
    size_t i, expected = 0;
    if (!json_is_array(list))
        return 0;
    json_array_foreach(list, i, v)
    {
        int64_t layer;
        if (!json_whole(v, &layer) || layer != (int64_t)((i + 1) * hp->expert_period - 1))
            return error_set(err, ERROR_INPUT, "%s: moe_layers[%zu] does not follow interleave_moe_layer_step, %u", what, i,
                             hp->expert_period);
        expected = i + 1;
    }
    if (expected != hp->n_layer / hp->expert_period)
        return error_set(err, ERROR_INPUT, "%s: moe_layers has %zu entries, expected %u", what, expected,
                         hp->n_layer / hp->expert_period);
    return 0;
}

/* no_rope_layers: flag per layer, 0: no rotation; an empty list means the interval. */
static int check_no_rope(const json_t *j, const char *what, const struct hparams *hp, struct error *err)
{
    const json_t *list = json_object_get(j, "no_rope_layers"), *v;
    size_t i;
    if (json_array_size(list) > 0 && json_array_size(list) != hp->n_layer)
        return error_set(err, ERROR_INPUT, "%s: no_rope_layers has %zu entries for %u layers", what, json_array_size(list),
                         hp->n_layer);
    json_array_foreach(list, i, v) if (rotates(hp, (uint32_t)i) != (json_number_value(v) != 0)) return error_set(
        err, ERROR_INPUT, "%s: no_rope_layers[%zu] does not follow an interval of %u, and other patterns are not supported",
        what, i, hp->no_rope_period);
    return 0;
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    uint32_t chunk = 8192, step = 1;
    hp->n_ff_exp = hp->n_ff; /* intermediate_size: expert width */
    hp->n_ff_shexp = hp->n_ff;
    hp->n_expert_shared = 1;
    hp->qk_norm = true;
    if (config_opt_count(j, what, "intermediate_size_mlp", 1, &hp->n_ff, err) != 0 ||
        config_opt_count(j, what, "attention_chunk_size", 1, &chunk, err) != 0 ||
        config_opt_count(j, what, "interleave_moe_layer_step", 1, &step, err) != 0 ||
        config_opt_count(j, what, "no_rope_layer_interval", 1, &hp->no_rope_period, err) != 0 ||
        json_get_bool_opt(j, what, "use_qk_norm", &hp->qk_norm, err) != 0)
        return -1;
    hp->expert_period = step;
    hp->window = chunk < hp->n_ctx_train ? chunk : 0;
    hp->window_period = hp->no_rope_period;
    return check_moe_layers(j, what, hp, err) != 0 || check_no_rope(j, what, hp, err) != 0 ? -1 : 0;
}

const struct arch arch_llama4 = {
    .name = "llama4",
    .hf = { { "llama4", "Llama4ForConditionalGeneration" }, { "llama4_text", "Llama4ForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_WINDOW | ARCH_PREDICT_ONLY,
    .n_expert = "num_local_experts",
    .needs = "intermediate_size_mlp",
    .activations = "silu",
    .defaults = &(const struct hparams){
        .n_head = 40, .n_head_kv = 8, .head_dim = 128,
        .n_ctx_train = 131072, /* transformers' default */
        .rope_theta = 500000, .no_rope_period = 4,
    },
    .config = config,
    .block = block,
};
