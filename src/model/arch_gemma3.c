/* Gemma 3 (Gemma Team 2025): Gemma 2's block; five windowed layers per full one, with their own rotary base; normed queries and
 * keys instead of caps. */
#include "model/arch.h"
#include <math.h>

static void block(struct builder *b)
{
    const bool windowed = hparams_windowed(b->hp, (uint32_t)b->layer);
    gemma_block(b, &(struct attention_spec){ .rope = windowed ? 1 : 0, .neox = true, .head_norms = true });
}

static void build(struct builder *b)
{
    build_model(b, sqrt((double)b->hp->n_embd), block);
    /* table 1: windowed layers */
    build_rope_table(b, b->hp->rope_theta_swa > 0 ? b->hp->rope_theta_swa : b->hp->rope_theta, false);
}

static int gguf(const struct gguf *g, struct hparams *hp, struct error *err)
{
    gemma_scale_27b(hp, 62);
    if (!gguf_has(g, "gemma3.attention.sliding_window"))
        return error_set(err, ERROR_INPUT, "%s: gemma3.attention.sliding_window is missing", gguf_path(g));
    return 0;
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    if (json_get_num_opt(j, what, "rope_local_base_freq", &hp->rope_theta_swa, err) != 0)
        return -1;
    return gemma_config(j, what, hp, err);
}

const struct arch arch_gemma3 = {
    .name = "gemma3",
    .hf = { { "gemma3_text", "Gemma3ForCausalLM" }, { "gemma3", "Gemma3ForConditionalGeneration" } },
    .has = ARCH_WINDOW,
    .activations = "gelu_pytorch_tanh",
    .defaults = &(const struct hparams){
        .n_head = 8, .n_head_kv = 4, .head_dim = 256, .tied = true, .n_ctx_train = 131072, .n_vocab = 262208,
        .window_period = 6, .rope_theta = 1e6, .rope_theta_swa = 1e4,
    },
    .gguf = gguf,
    .config = config,
    .build = build,
};
