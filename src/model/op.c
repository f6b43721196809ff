/* Op lists: names, growth, and the sizes of the activation buffers the ops use. */
#include "model/op.h"
#include <stdlib.h>
#include <string.h>

const char *op_kind_name(enum op_kind k)
{
    switch (k) {
    case OP_EMBED:
        return "embed";
    case OP_RMS_NORM:
        return "rms_norm";
    case OP_MATMUL:
        return "matmul";
    case OP_ROPE:
        return "rope";
    case OP_KV_STORE:
        return "kv_store";
    case OP_ATTENTION:
        return "attention";
    case OP_SILU_MUL:
        return "silu_mul";
    case OP_ADD:
        return "add";
    case OP_KIND_COUNT:
        break;
    }
    return "?";
}

const char *op_role_name(enum op_role r)
{
    static const char *const names[ROLE_COUNT] = {
        [ROLE_EMBED] = "embed",
        [ROLE_ATTN_NORM] = "attn_norm",
        [ROLE_ATTN_Q] = "attn_q",
        [ROLE_ATTN_K] = "attn_k",
        [ROLE_ATTN_V] = "attn_v",
        [ROLE_ATTN_ROPE] = "attn_rope",
        [ROLE_KV_STORE] = "kv_store",
        [ROLE_ATTN_CORE] = "attn_core",
        [ROLE_ATTN_OUTPUT] = "attn_output",
        [ROLE_ATTN_RESIDUAL] = "attn_residual",
        [ROLE_FFN_NORM] = "ffn_norm",
        [ROLE_FFN_GATE] = "ffn_gate",
        [ROLE_FFN_UP] = "ffn_up",
        [ROLE_FFN_ACT] = "ffn_act",
        [ROLE_FFN_DOWN] = "ffn_down",
        [ROLE_FFN_RESIDUAL] = "ffn_residual",
        [ROLE_OUTPUT_NORM] = "output_norm",
        [ROLE_LM_HEAD] = "lm_head",
    };
    return r < ROLE_COUNT ? names[r] : "?";
}

uint32_t op_n_tok(const struct op *op, const struct pass *p)
{
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

int op_list_build(struct op_list *l, const struct model *m, struct error *err)
{
    *l = (struct op_list){ 0 };
    if (m->arch->build(l, m, err) == 0)
        return 0;
    op_list_free(l);
    return -1;
}

void op_list_free(struct op_list *l)
{
    free(l->ops);
    *l = (struct op_list){ 0 };
}
