/* InternLM2 and 2.5 (Cai et al. 2024): Llama. q, k, v are fused in checkpoints (wqkv), separate in GGUF files. */
#include "model/arch.h"

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    bool bias = false;
    if (json_get_bool_opt(j, what, "bias", &bias, err) != 0)
        return -1;
    hp->attn_bias = hp->attn_output_bias = bias;
    return 0;
}

const struct arch arch_internlm2 = {
    .name = "internlm2",
    .hf = { { "internlm2", "InternLM2ForCausalLM" } },
    .has = ARCH_ATTN_BIAS | ARCH_ATTN_OUTPUT_BIAS | ARCH_PREDICT_ONLY,
    .activations = "silu",
    .config = config,
};
