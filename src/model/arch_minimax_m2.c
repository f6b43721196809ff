/* MiniMax-M2 (MiniMax 2025): Qwen3MoE's block with q and k normed over all heads, half of a head rotated, and sigmoid-routed
 * experts with a bias. */
#include "model/arch.h"
#include "model/internal.h"
#include <string.h>

static void block(struct builder *b)
{
    const struct hparams *hp = b->hp;
    const enum route_gate gate = hp->expert_gate == EXPERT_GATE_SIGMOID ? ROUTE_SIGMOID : ROUTE_SOFTMAX;
    const struct experts_spec experts = { .glu = GLU_SILU, .route = { .gate = gate, .norm = true } };
    llama_block(b, &(struct attention_spec){ .neox = true, .width_norms = hp->qk_norm }, &experts);
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    const char *scoring = "sigmoid", *norm = "per_layer";
    uint32_t rotary = hp->n_rot;
    hp->qk_norm = hp->expert_bias = true;
    if (json_get_str_opt(j, what, "scoring_func", &scoring, err) != 0 ||
        json_get_str_opt(j, what, "qk_norm_type", &norm, err) != 0 ||
        json_get_bool_opt(j, what, "use_qk_norm", &hp->qk_norm, err) != 0 ||
        json_get_bool_opt(j, what, "use_routing_bias", &hp->expert_bias, err) != 0 ||
        config_opt_count(j, what, "rotary_dim", 2, &rotary, err) != 0)
        return -1;
    if (hp->qk_norm && strcmp(norm, "per_layer") != 0) {
        char found[33];
        return error_set(err, ERROR_INPUT, "%s: qk_norm_type is \"%s\", expected \"per_layer\"", what,
                         model_printable(found, sizeof found, norm, strlen(norm)));
    }
    hp->n_rot = rotary;
    hp->expert_gate = strcmp(scoring, "softmax") == 0 ? EXPERT_GATE_SOFTMAX : EXPERT_GATE_SIGMOID;
    return config_experts_ff(j, what, hp, err);
}

const struct arch arch_minimax_m2 = {
    .name = "minimax-m2",
    .hf = { { "minimax_m2", "MiniMaxM2ForCausalLM" } },
    .has = ARCH_EXPERTS | ARCH_PREDICT_ONLY,
    .n_expert = "num_local_experts",
    .activations = "silu",
    .config = config,
    .block = block,
};
