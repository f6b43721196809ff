/* Phi-3, Phi-3.5 and Phi-4 (Abdin et al. 2024): Llama with fused q, k, v and fused gate and up; NeoX-style rotation, partial in
 * Phi-4-mini; LongRoPE (Ding et al. 2024) in the 128k models. */
#include "model/arch.h"
#include <math.h>

/* One factor per rotary pair; only the count is checked, a GGUF has them as tensors. */
static int check_factors(const json_t *scaling, const char *field, const char *what, const struct hparams *hp,
                         struct error *err)
{
    const json_t *list = json_object_get(scaling, field);
    if (!list || json_is_null(list))
        return 0;
    if (!json_is_array(list) || json_array_size(list) != hp->n_rot / 2)
        return error_set(err, ERROR_INPUT, "%s: %s: expected a list of %u numbers, half of the rotary dimensions, found %zu",
                         what, field, hp->n_rot / 2, json_array_size(list));
    return 0;
}

/* Amplitude that compensates for stretched frequencies. */
int config_longrope(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    double orig = hp->n_ctx_train;
    const json_t *scaling = json_object_get(j, "rope_parameters");
    if (!json_is_object(scaling))
        scaling = json_object_get(j, "rope_scaling");
    if (json_get_num_opt(j, what, "original_max_position_embeddings", &orig, err) != 0 ||
        json_get_num_opt(scaling, what, "original_max_position_embeddings", &orig, err) != 0)
        return -1;
    if (hp->rope_scaling != ROPE_SCALING_LONGROPE)
        return 0;
    if (check_factors(scaling, "long_factor", what, hp, err) != 0 ||
        check_factors(scaling, "short_factor", what, hp, err) != 0)
        return -1;
    if (!(orig > 1))
        return error_set(err, ERROR_INPUT, "%s: original_max_position_embeddings is %g, expected more than 1", what, orig);
    const double factor = hp->n_ctx_train / orig;
    hp->rope_ctx_orig = orig;
    hp->rope_attn_factor = factor > 1 ? sqrt(1 + log(factor) / log(orig)) : 1;
    return 0;
}

const struct arch arch_phi3 = {
    .name = "phi3",
    .hf = { { "phi3", "Phi3ForCausalLM" } },
    .has = ARCH_WINDOW | ARCH_LONGROPE,
    .activations = "silu",
    .config = config_longrope,
    .attention = { .neox = true, .fused = true },
};
