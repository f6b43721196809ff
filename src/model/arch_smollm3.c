/* SmolLM3 (Hugging Face 2025): Llama, without rotation in every fourth layer (NoPE: Yang et al. 2025). */
#include "model/arch.h"

static void block(struct builder *b)
{
    const uint32_t period = b->hp->no_rope_period;
    const bool no_rope = period > 0 && ((uint32_t)b->layer + 1) % period == 0;
    llama_block(b, &(struct attention_spec){ .no_rope = no_rope }, NULL);
}

/* no_rope_layers: flag per layer, 0: no rotation; must match the period. */
static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    int64_t period = hp->no_rope_period;
    bool window = false; /* sliding_window alone does not enable it */
    const json_t *list = json_object_get(j, "no_rope_layers"), *v;
    size_t i;
    if (json_get_int_opt(j, what, "no_rope_layer_interval", 1, UINT32_MAX, &period, err) != 0 ||
        json_get_bool_opt(j, what, "use_sliding_window", &window, err) != 0)
        return -1;
    if (!window)
        hp->window = 0;
    if (json_array_size(list) > 0 && json_array_size(list) < hp->n_layer)
        return error_set(err, ERROR_INPUT, "%s: no_rope_layers has %zu entries for %u layers", what, json_array_size(list),
                         hp->n_layer);
    hp->no_rope_period = (uint32_t)period;
    json_array_foreach(list, i, v)
    {
        const bool rotates = json_is_true(v) || json_number_value(v) != 0;
        if (rotates != ((i + 1) % hp->no_rope_period != 0))
            return error_set(err, ERROR_INPUT,
                             "%s: no_rope_layers[%zu] does not follow the interval of %u, and other patterns are not "
                             "supported",
                             what, i, hp->no_rope_period);
    }
    return 0;
}

const struct arch arch_smollm3 = {
    .name = "smollm3",
    .hf = { { "smollm3", "SmolLM3ForCausalLM" } },
    .has = ARCH_YARN,
    .activations = "silu",
    .defaults = &(const struct hparams){
        .no_rope_period = 4, /* not in files */
        .tied = true, /* not in config.json */
    },
    .config = config,
    .block = block,
};
