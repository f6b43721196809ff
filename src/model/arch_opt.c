/*
 * OPT (Zhang et al. 2022): GPT-2 with ReLU and separate q, k and v. The position table has two more rows than
 * positions. OPT-350M norms after the sums, has no final norm, and embeddings of half the width:
 *
 *   x  = Win embed(token) + position(p + 2)
 *   for each layer:
 *     x  = layer_norm(x + Wo attention(x))
 *     x  = layer_norm(x + Wdown relu(Wup x))
 *   logits = W_embed Wout x
 *
 * Fields: transformers' OPTConfig.
 */
#include "model/arch.h"

static const struct attention_spec attention = { .no_rope = true };

static void post_norm_block(struct builder *b)
{
    build_attention(b, BUF_X, &attention);
    build_add(b, ROLE_ATTN_RESIDUAL, BUF_X, BUF_OUT);
    build_norm(b, ROLE_ATTN_POST_NORM, BUF_X, BUF_X, "attn_norm");
    build_mlp(b, BUF_X, GLU_RELU);
    build_add(b, ROLE_FFN_RESIDUAL, BUF_X, BUF_OUT);
    build_norm(b, ROLE_FFN_POST_NORM, BUF_X, BUF_X, "ffn_norm");
}

static void block(struct builder *b)
{
    if (b->hp->post_norm)
        post_norm_block(b);
    else
        classic_block(b, &attention, GLU_RELU);
}

static void embed(struct builder *b)
{
    const struct hparams *hp = b->hp;
    const struct tensor *w = build_weight(b, "token_embd", hp->n_vocab, hp->n_embd_in, 1);
    build_op(b, OP_EMBED, ROLE_EMBED, BUF_EMBED, BUF_NONE, hp->n_embd_in)->w = w;
    build_matmul(b, ROLE_PROJ_IN, BUF_X, BUF_EMBED, "project_in", hp->n_embd, hp->n_embd_in, false);
}

static void build(struct builder *b)
{
    const struct hparams *hp = b->hp;
    enum op_buf last = BUF_X;
    if (hp->n_embd_in > 0)
        embed(b);
    else
        build_embed(b, 0);
    build_positions(b, hp->n_pos);
    build_blocks(b, block);
    if (!hp->post_norm)
        build_norm(b, ROLE_OUTPUT_NORM, last = BUF_NORM, BUF_X, "output_norm");
    if (hp->n_embd_in > 0) {
        build_matmul(b, ROLE_PROJ_OUT, BUF_EMBED, last, "project_out", hp->n_embd_in, hp->n_embd, false);
        build_lm_head(b, BUF_EMBED, hp->n_embd_in);
    } else {
        build_lm_head(b, last, hp->n_embd);
    }
}

static int config(const json_t *j, const char *what, struct hparams *hp, struct error *err)
{
    bool before = true, bias = true;
    if (config_opt_count(j, what, "word_embed_proj_dim", 1, &hp->n_embd_in, err) != 0 ||
        json_get_bool_opt(j, what, "do_layer_norm_before", &before, err) != 0 ||
        json_get_bool_opt(j, what, "enable_bias", &bias, err) != 0 ||
        config_only(j, what, "layer_norm_elementwise_affine", true, err) != 0 ||
        config_only(j, what, "_remove_final_layer_norm", false, err) != 0)
        return -1;
    if (hp->n_embd_in == hp->n_embd)
        hp->n_embd_in = 0;
    hp->post_norm = !before;
    classic_biases(hp, bias);
    hp->n_pos = hp->n_ctx_train + 2; /* offset of OPTLearnedPositionalEmbedding */
    return 0;
}

const struct arch arch_opt = {
    .name = "opt",
    .hf = { { "opt", "OPTForCausalLM" } },
    .has = ARCH_PREDICT_ONLY | ARCH_ATTN_BIAS | ARCH_ATTN_OUTPUT_BIAS,
    .activations = "relu",
    .names = (const struct config_name[]){
        { "intermediate_size", "ffn_dim", NULL },
        { "hidden_act", "activation_function", NULL },
        { 0 },
    },
    .defaults = &(const struct hparams){ .norm = NORM_LAYER, .tied = true },
    .config = config,
    .build = build,
};
