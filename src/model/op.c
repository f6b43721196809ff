/* Op lists: names, growth, activation buffer sizes. */
#include "model/op.h"
#include <stdlib.h>
#include <string.h>

const char *op_kind_name(enum op_kind k)
{
    static const char *const names[OP_KIND_COUNT] = {
        [OP_EMBED] = "embed",
        [OP_RMS_NORM] = "rms_norm",
        [OP_MATMUL] = "matmul",
        [OP_HEAD_MATMUL] = "head_matmul",
        [OP_ROPE] = "rope",
        [OP_KV_STORE] = "kv_store",
        [OP_KV_EXPAND] = "kv_expand",
        [OP_ATTENTION] = "attention",
        [OP_GLU] = "glu",
        [OP_ADD] = "add",
        [OP_ROUTE] = "route",
        [OP_EXPERT_MATMUL] = "expert_matmul",
        [OP_EXPERT_SUM] = "expert_sum",
        [OP_SOFTCAP] = "softcap",
        [OP_LAYER_NORM] = "layer_norm",
        [OP_ACT] = "act",
        [OP_MUL] = "mul",
        [OP_SCALE] = "scale",
        [OP_CONV1D] = "conv1d",
        [OP_SSM_SCAN] = "ssm_scan",
        [OP_DELTA_RULE] = "delta_rule",
        [OP_INDEX] = "index",
        [OP_ALL_REDUCE] = "all_reduce",
        [OP_ALL_GATHER] = "all_gather",
        [OP_ALL_TO_ALL] = "all_to_all",
        [OP_SEND] = "send",
    };
    return k < OP_KIND_COUNT ? names[k] : "?";
}

const char *op_role_name(enum op_role r)
{
    static const char *const names[ROLE_COUNT] = {
        [ROLE_EMBED] = "embed",
        [ROLE_ATTN_NORM] = "attn_norm",
        [ROLE_ATTN_Q] = "attn_q",
        [ROLE_ATTN_K] = "attn_k",
        [ROLE_ATTN_V] = "attn_v",
        [ROLE_ATTN_QKV] = "attn_qkv",
        [ROLE_ATTN_Q_A] = "attn_q_a",
        [ROLE_ATTN_Q_A_NORM] = "attn_q_a_norm",
        [ROLE_ATTN_Q_B] = "attn_q_b",
        [ROLE_ATTN_KV_A] = "attn_kv_a_mqa",
        [ROLE_ATTN_KV_A_NORM] = "attn_kv_a_norm",
        [ROLE_ATTN_K_B] = "attn_k_b",
        [ROLE_ATTN_V_B] = "attn_v_b",
        [ROLE_ATTN_KV_B] = "attn_kv_b",
        [ROLE_ATTN_Q_NORM] = "attn_q_norm",
        [ROLE_ATTN_K_NORM] = "attn_k_norm",
        [ROLE_ATTN_ROPE] = "attn_rope",
        [ROLE_KV_STORE] = "kv_store",
        [ROLE_ATTN_CORE] = "attn_core",
        [ROLE_ATTN_OUTPUT] = "attn_output",
        [ROLE_ATTN_POST_NORM] = "attn_post_norm",
        [ROLE_ATTN_RESIDUAL] = "attn_residual",
        [ROLE_FFN_NORM] = "ffn_norm",
        [ROLE_FFN_GATE] = "ffn_gate",
        [ROLE_FFN_UP] = "ffn_up",
        [ROLE_FFN_GATE_UP] = "ffn_gate_up",
        [ROLE_FFN_ACT] = "ffn_act",
        [ROLE_FFN_DOWN] = "ffn_down",
        [ROLE_FFN_ROUTER] = "ffn_router",
        [ROLE_FFN_ROUTE] = "ffn_route",
        [ROLE_EXPERT_GATE] = "expert_gate",
        [ROLE_EXPERT_UP] = "expert_up",
        [ROLE_EXPERT_ACT] = "expert_act",
        [ROLE_EXPERT_DOWN] = "expert_down",
        [ROLE_EXPERT_SUM] = "expert_sum",
        [ROLE_SHARED_GATE] = "shared_gate",
        [ROLE_SHARED_UP] = "shared_up",
        [ROLE_SHARED_ACT] = "shared_act",
        [ROLE_SHARED_DOWN] = "shared_down",
        [ROLE_SHARED_ADD] = "shared_add",
        [ROLE_FFN_POST_NORM] = "ffn_post_norm",
        [ROLE_FFN_RESIDUAL] = "ffn_residual",
        [ROLE_OUTPUT_NORM] = "output_norm",
        [ROLE_LM_HEAD] = "lm_head",
        [ROLE_LOGIT_SOFTCAP] = "logit_softcap",
        [ROLE_LOGIT_SCALE] = "logit_scale",
        [ROLE_POS_EMBED] = "pos_embed",
        [ROLE_EMBED_NORM] = "embed_norm",
        [ROLE_PROJ_IN] = "proj_in",
        [ROLE_PROJ_OUT] = "proj_out",
        [ROLE_COMPRESS] = "compress",
        [ROLE_HYPER] = "hyper_mix",
        [ROLE_LAYER_EMBED] = "layer_embed",
        [ROLE_ATTN_GATE] = "attn_gate",
        [ROLE_SHARED_ROUTER] = "shared_router",
        [ROLE_SSM_IN] = "ssm_in",
        [ROLE_SSM_CONV] = "ssm_conv",
        [ROLE_SSM_X] = "ssm_x",
        [ROLE_SSM_DT] = "ssm_dt",
        [ROLE_SSM_SCAN] = "ssm_scan",
        [ROLE_SSM_NORM] = "ssm_norm",
        [ROLE_SSM_GATE] = "ssm_gate",
        [ROLE_SSM_OUT] = "ssm_out",
        [ROLE_INDEX_Q] = "index_q",
        [ROLE_INDEX_K] = "index_k",
        [ROLE_INDEX_NORM] = "index_norm",
        [ROLE_INDEX_ROPE] = "index_rope",
        [ROLE_INDEX_WEIGHTS] = "index_weights",
        [ROLE_INDEX_STORE] = "index_store",
        [ROLE_INDEX] = "index",
        [ROLE_COMM_ATTN] = "comm_attn",
        [ROLE_COMM_FFN] = "comm_ffn",
        [ROLE_COMM_DISPATCH] = "comm_dispatch",
        [ROLE_COMM_COMBINE] = "comm_combine",
        [ROLE_COMM_LOGITS] = "comm_logits",
        [ROLE_COMM_STAGE] = "comm_stage",
    };
    return r < ROLE_COUNT ? names[r] : "?";
}

/* With A and B FLOP per attention entry, absorbed and expanded, and E to expand a position: T new tokens after P cost T (P + T/2)
 * (A - B) more absorbed; expanding the past costs P E; form_tok = E / (A - B). Single tokens never expand. methods.md (17) */
bool op_expands(double form_tok, const struct pass *p)
{
    const double t = (double)p->n_tok / (p->n_seq > 0 ? p->n_seq : 1), past = p->n_past;
    return t > 1 && t * (past + t / 2) > past * form_tok;
}

uint32_t op_n_tok(const struct op *op, const struct pass *p)
{
    if (op->form != FORM_ALWAYS && (op->form == FORM_EXPANDED) != op_expands(op->form_tok, p))
        return 0;
    return op->out_rows ? p->n_out : p->n_tok;
}

struct op *op_append(struct op_list *l, enum op_kind k, enum op_role r, int layer)
{
    if ((l->n & (l->n - 1)) == 0) { /* capacity is a power of two */
        size_t cap = l->n ? 2 * l->n : 1, bytes;
        struct op *p = size_mul(cap, sizeof *p, &bytes) ? realloc(l->ops, bytes) : NULL;
        if (!p)
            return NULL;
        l->ops = p;
    }
    struct op *op = &l->ops[l->n++];
    *op = (struct op){ .kind = k, .role = r, .layer = layer };
    return op;
}

void op_list_free(struct op_list *l)
{
    free(l->ops);
    *l = (struct op_list){ 0 };
}

uint32_t op_n_matrix(const struct op *op)
{
    if (op->kind == OP_EXPERT_MATMUL)
        return op->n_expert;
    return op->kind == OP_HEAD_MATMUL || op->kind == OP_KV_EXPAND ? op->n_head : 1;
}

void op_weight_shape(const struct op *op, uint64_t *rows, uint64_t *cols)
{
    *rows = op->rows;
    *cols = op->cols;
    if (op->kind == OP_EMBED)
        *rows = op->w->rows;
    if (op->kind == OP_KV_EXPAND) { /* non-rotary keys and values of a head, from the latent */
        *rows = op->head_dim - op->n_rot + op->head_dim_v;
        *cols = op->cols - op->n_rot;
    }
    *rows *= op_n_matrix(op);
}
