/* Parts of pre-Llama families: LayerNorm, learned positions, ungated FFN. */
#include "model/arch.h"

/* methods.md (8) */
void build_layer_norm_at(struct builder *b, enum op_role r, enum op_buf buf, uint32_t at, uint32_t n_head, uint32_t dim,
                         const char *name)
{
    const struct tensor *w = build_weight(b, name, n_head, dim, 1);
    struct op *op = build_op(b, OP_LAYER_NORM, r, buf, buf, dim);
    op->w = w;
    op->src_at = op->dst_at = at;
    op->src_stride = op->dst_stride = dim;
    op->n_head = n_head;
}

void build_positions(struct builder *b, uint32_t rows)
{
    const uint32_t width = b->hp->n_embd;
    const struct tensor *w = build_weight(b, "position_embd", rows, width, 1);
    struct op *op = build_op(b, OP_EMBED, ROLE_POS_EMBED, BUF_POS, BUF_NONE, width);
    op->w = w;
    build_add(b, ROLE_POS_EMBED, BUF_X, BUF_POS);
}

void build_mlp(struct builder *b, enum op_buf src, enum glu act)
{
    const struct hparams *hp = b->hp;
    build_matmul(b, ROLE_FFN_UP, BUF_UP, src, "ffn_up", hp->n_ff, hp->n_embd, hp->ffn_bias);
    build_op(b, OP_ACT, ROLE_FFN_ACT, BUF_UP, BUF_UP, hp->n_ff)->glu = act;
    build_matmul(b, ROLE_FFN_DOWN, BUF_OUT, BUF_UP, "ffn_down", hp->n_embd, hp->n_ff, hp->ffn_bias);
}

void gptj_block(struct builder *b, const struct attention_spec *s, enum glu act)
{
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    build_attention(b, BUF_NORM, s);
    build_add(b, ROLE_ATTN_RESIDUAL, BUF_X, BUF_OUT);
    build_mlp(b, BUF_NORM, act);
    build_add(b, ROLE_FFN_RESIDUAL, BUF_X, BUF_OUT);
}

void classic_block(struct builder *b, const struct attention_spec *s, enum glu act)
{
    build_norm(b, ROLE_ATTN_NORM, BUF_NORM, BUF_X, "attn_norm");
    build_attention(b, BUF_NORM, s);
    build_add(b, ROLE_ATTN_RESIDUAL, BUF_X, BUF_OUT);
    build_norm(b, ROLE_FFN_NORM, BUF_NORM, BUF_X, "ffn_norm");
    build_mlp(b, BUF_NORM, act);
    build_add(b, ROLE_FFN_RESIDUAL, BUF_X, BUF_OUT);
}

void gpt2_block(struct builder *b)
{
    classic_block(b, &(struct attention_spec){ .fused = true, .no_rope = true }, GLU_GELU);
}

void classic_biases(struct hparams *hp, bool bias)
{
    hp->attn_bias = hp->attn_output_bias = hp->ffn_bias = bias;
}
