/* Does it fit: weights, KV cache of the whole context, activations of the largest pass. */
#include "roofline/internal.h"
#include <math.h>

/* All buffers of a pass at once; the logits only for the last token of each sequence.
 * methods.md (17) */
static double activation_bytes(const struct op_list *l, uint32_t n_tok, uint32_t n_out,
                               double elem_bytes)
{
    double elems = 0;
    for (int b = BUF_NONE + 1; b < BUF_COUNT; b++)
        elems += (double)l->width[b] * (b == BUF_LOGITS ? n_out : n_tok);
    return elems * elem_bytes;
}

struct largest {
    uint32_t n_tok;
};

static void keep_largest(void *ctx, const struct pass *p)
{
    struct largest *m = ctx;
    if (p->n_tok > m->n_tok)
        m->n_tok = p->n_tok;
}

void memory_fit(struct predict_result *res, const struct op_classes *l, const struct hwprofile *h, const struct roofs *r,
                const struct predict_options *o)
{
    const uint32_t groups = o->layout.dp > 0 ? o->layout.dp : 1, seqs = (uint32_t)u64_ceil_div(o->n_batch, groups),
                   outs = seqs * (o->n_look_ahead + 1);
    struct largest large = { .n_tok = outs };
    if (o->n_prompt > 0) /* the first pass is the largest */
        prefill_passes(o->n_prompt < o->n_ubatch ? o->n_prompt : o->n_ubatch, 0,
                       o->n_ubatch, seqs, keep_largest, &large);
    const uint64_t context = (uint64_t)o->n_depth + o->n_prompt + o->n_gen + o->n_look_ahead;
    const struct cost_options c = { .act_elem_bytes = r->act_elem_bytes, .type_k = o->type_k, .type_v = o->type_v };
    res->weight_total_bytes = o->weights_bytes > 0 ? o->weights_bytes : step_weight_bytes(l, &o->layout);
    res->kv_total_bytes = step_kv_bytes(l, &o->layout, &c, context, o->n_ubatch) * seqs;
    res->act_peak_bytes = activation_bytes(l->ops, large.n_tok, outs, r->act_elem_bytes) +
                          cost_expanded_bytes(l->ops, context) * seqs;
    res->need_bytes = res->weight_total_bytes + res->kv_total_bytes + res->act_peak_bytes;
    res->mem_bytes = h->mem_bytes.value;
    res->fits = !(res->mem_bytes > 0) ? -1 : res->need_bytes <= res->mem_bytes ? 1 : 0;
}
