/* Qwen2 and Qwen2.5 (Yang et al. 2024): Llama with q, k, v biases; NeoX-style rotation. */
#include "model/arch.h"

const struct arch arch_qwen2 = {
    .name = "qwen2",
    .hf = { { "qwen2", "Qwen2ForCausalLM" } },
    .has = ARCH_ATTN_BIAS | ARCH_YARN,
    .activations = "silu",
    .defaults = &(const struct hparams){ .attn_bias = true },
    .config = config_no_qwen_window,
    .attention = { .neox = true },
};
