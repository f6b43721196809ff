/* Weights, KV cache and activations of a scenario against the memory of the machine. methods.md (25) */
#include "cost/memory.h"
#include "predict/predict.h"
#include <math.h>
#include <stdlib.h>

static void keep_largest(void *ctx, const struct pass *p)
{
    double *n_tok = ctx;
    *n_tok = fmax(*n_tok, p->n_tok);
}

/* Scores of one layer, where they pass through memory: of all tokens of the pass and all positions, by head. (11) */
static double score_bytes(const struct op_classes *l, const struct predict_options *o, double elem_bytes, double n_tok,
                          uint64_t n_ctx)
{
    double heads = 0;
    for (size_t i = 0; i < l->n && o->materialized; i++)
        if (l->c[i].op.kind == OP_ATTENTION)
            heads = fmax(heads, l->c[i].op.n_head);
    return heads / (o->layout.tp > 0 ? o->layout.tp : 1) * elem_bytes * n_tok * (double)n_ctx;
}

/* One program by itself: passes and caches are those of the scenario. */
static struct memory_load load_alone(const struct predict_options *o)
{
    const uint32_t groups = o->layout.dp > 0 ? o->layout.dp : 1, seqs = (uint32_t)u64_ceil_div(o->n_batch, groups),
                   outs = seqs * (o->n_look_ahead + 1);
    const uint64_t context = (uint64_t)o->n_depth + o->n_prompt + o->n_gen + o->n_look_ahead;
    struct memory_load load = { .n_seq = seqs, .n_tok = outs, .n_row = outs, .n_expanded = (double)context * seqs, .n_ctx = context };
    if (o->n_prompt > 0) /* the first pass is the largest */
        prefill_passes(o->n_prompt < o->n_ubatch ? o->n_prompt : o->n_ubatch, 0, o->n_ubatch, seqs, keep_largest,
                       &load.n_tok);
    return load;
}

/* Options of memory_model_init() for a scenario, and a server's load for memory_need(). */
static struct memory_options options_of(const struct hwprofile *h, const struct predict_options *o, struct memory_load *load)
{
    struct memory_options m = memory_defaults(h, o->server ? MEMORY_NEWEST : MEMORY_ALONE);
    m.layout = o->layout;
    m.type_k = o->type_k;
    m.type_v = o->type_v;
    if (!o->server) {
        m.max_batched_tokens = cost_filled(o->n_ubatch, o->n_prompt);
        *load = load_alone(o);
        return m;
    }
    if (o->n_batched > 0)
        m.max_batched_tokens = o->n_batched;
    if (m.max_seqs > m.max_batched_tokens)
        m.max_seqs = m.max_batched_tokens;
    *load = memory_load_of(&m, o->n_batch, (uint64_t)o->n_depth + o->n_prompt + o->n_gen + o->n_look_ahead);
    return m;
}

int memory_fit(struct predict_result *res, const struct op_classes *l, const struct hwprofile *h, const struct roofs *r,
               const struct predict_options *o, struct error *err)
{
    struct memory_load load;
    if (o->server && memory_rules_load(err) != 0)
        return -1;
    const struct memory_options m = options_of(h, o, &load);
    const struct cost_options c = { .act_elem_bytes = r->act_elem_bytes, .type_k = o->type_k, .type_v = o->type_v };
    const uint32_t pp = o->layout.pp > 0 ? o->layout.pp : 1;
    struct stage *s = stages_new(l, &o->layout, &c);
    if (!s)
        return error_oom(err, pp * sizeof(void *), "the stages of a model");
    struct memory_need n = memory_need_of(s, pp, &m, &load);
    free(s);
    if (o->weights_bytes > 0) { /* a nominal model */
        n.total_bytes += o->weights_bytes - n.weight_bytes;
        n.weight_bytes = o->weights_bytes;
    }
    const double scores = score_bytes(l, o, r->act_elem_bytes, load.n_tok, load.n_ctx);
    n.act_bytes += scores;
    n.total_bytes += scores;
    res->weight_total_bytes = n.weight_bytes;
    res->kv_total_bytes = n.kv_bytes;
    res->act_peak_bytes = n.act_bytes;
    res->runtime_bytes = n.runtime_bytes + n.graph_bytes;
    res->need_bytes = n.total_bytes;
    res->mem_bytes = h->mem_bytes.value;
    res->usable_bytes = res->mem_bytes * (1 - m.reserved) * m.utilization;
    res->server = o->server;
    res->fits = !(res->mem_bytes > 0) || isnan(n.total_bytes) ? -1 : n.total_bytes <= res->usable_bytes;
    return 0;
}
