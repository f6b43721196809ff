/* Op lists: names, growth, and the sizes of the activation buffers the ops use. */
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
    };
    return r < ROLE_COUNT ? names[r] : "?";
}

/* With A and B FLOP an entry of attention, absorbed and expanded, and E to expand a position: T new tokens after P cost
 * T (P + T/2) (A - B) more absorbed, and expanding the past costs P E; form_tok = E / (A - B). A single token never
 * expands. methods.md (36) */
static bool expands(const struct op *op, const struct pass *p)
{
    const double t = (double)p->n_tok / (p->n_seq > 0 ? p->n_seq : 1), past = p->n_past;
    return t > 1 && t * (past + t / 2) > past * op->form_tok;
}

uint32_t op_n_tok(const struct op *op, const struct pass *p)
{
    if (op->form != FORM_ALWAYS && (op->form == FORM_EXPANDED) != expands(op, p))
        return 0;
    return op->out_rows ? p->n_out : p->n_tok;
}

struct op *op_append(struct op_list *l, enum op_kind k, enum op_role r, int layer)
{
    if ((l->n & (l->n - 1)) == 0) { /* capacity is the next power of two */
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
