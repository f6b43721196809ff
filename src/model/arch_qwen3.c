/* Qwen3 (Yang et al. 2025): query and key heads normed before rotation, no biases. */
#include "model/arch.h"

const struct arch arch_qwen3 = {
    .name = "qwen3",
    .hf = { { "qwen3", "Qwen3ForCausalLM" } },
    .has = ARCH_YARN,
    .needs = "head_dim",
    .activations = "silu",
    .config = config_no_qwen_window,
    .attention = { .neox = true, .head_norms = true },
};
