/*
 * `bench --ops`: an additional repetition with every op timed, with its own probes, since the roof of a shared machine varies: before,
 * after, and between steps. methods.md (83)
 */
#include "bench/bench.h"
#include "timing/timing.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double GLANCE_EVERY_S = 0.1;

/* Roofs of the steps: tokens between two probes count with the mean of both. */
struct roof_probes {
    struct ceilings_prober *prober;
    bool between; /* probe between steps too */
    double probed_s;              /* time of the last probe */
    struct ceilings_quick_probe last; /* last probe */
    double n_tok;                 /* tokens since the last probe */
    double sum_tok, sum_bytes, sum_flop, sum_tiles; /* sums of tokens, and of tokens / roof */
    double sum_coherence[COHERENCE_COUNT]; /* sums of tokens * seconds */
    double lowest, highest; /* range of bytes_s */
};

/* Seconds to sum: the inverse of a rate. */
static double summand(int exchange, double v)
{
    return coherence_tokens((enum coherence_kind)exchange) > 0 ? 1 / v : v;
}

static int probe_roofs(struct roof_probes *w, struct error *err)
{
    const struct ceilings_quick_probe before = w->last;
    if (ceilings_probe_quick(w->prober, &w->last, err) != 0)
        return -1;
    w->lowest = fmin(w->lowest, w->last.bytes_s);
    w->highest = fmax(w->highest, w->last.bytes_s);
    if (w->n_tok > 0) {
        w->sum_bytes += w->n_tok / ((before.bytes_s + w->last.bytes_s) / 2);
        w->sum_flop += w->n_tok / ((before.flop_s + w->last.flop_s) / 2);
        w->sum_tiles += w->n_tok / ((before.tile_flop_s + w->last.tile_flop_s) / 2);
        for (int i = 0; i < COHERENCE_COUNT; i++)
            w->sum_coherence[i] += w->n_tok * summand(i, (before.coherence[i] + w->last.coherence[i]) / 2);
        w->sum_tok += w->n_tok;
    }
    w->n_tok = 0;
    w->probed_s = clock_now_s();
    return 0;
}

static int probe_step(void *ctx, uint32_t n_tok, bool last, struct error *err)
{
    struct roof_probes *w = ctx;
    w->n_tok += n_tok;
    return last || (w->between && clock_now_s() - w->probed_s >= GLANCE_EVERY_S) ? probe_roofs(w, err) : 0;
}

/* Lower bound under the DRAM and compute roofs; operands in a cache can beat the first. */
static double op_roof_s(const struct run_op *o, const struct run_row *row)
{
    const double bytes = o->weight_bytes + o->act_bytes + o->kv_bytes;
    return fmax(bytes / row->ops_ceiling_bytes_s, o->flop / row->ops_ceiling_flop_s);
}

static void fill_op(struct run_op *o, const struct op *op, const struct op_sample *s, const struct run_row *row,
                    const struct bench_test *t)
{
    const double n = (double)s->n;
    *o = (struct run_op){ .layer = op->layer };
    op_weight_shape(op, &o->rows, &o->cols);
    snprintf(o->test, sizeof o->test, "%s", row->test);
    snprintf(o->phase, sizeof o->phase, "%s", row->phase);
    snprintf(o->role, sizeof o->role, "%s", op_role_name(op->role));
    snprintf(o->op, sizeof o->op, "%s", op_kind_name(op->kind));
    const bool cache = op->kind == OP_ATTENTION || op->kind == OP_KV_STORE;
    const char *kv = t->type_k == t->type_v ? dtype_name(t->type_k) : "mixed";
    snprintf(o->type, sizeof o->type, "%s", cache ? kv : op->w ? dtype_name(op->w->type) : "F32");
    o->n_tok = t->n_batch * (t->prefill ? (uint64_t)lrint((op->out_rows ? 1.0 : t->n / n)) : 1);
    o->weight_bytes = (double)s->work.weight_bytes / n;
    o->act_bytes = (double)s->work.act_bytes / n;
    o->kv_bytes = (double)s->work.kv_bytes / n;
    o->flop = (double)s->work.flop / n;
    o->seconds = s->seconds / n;
}

/* Rates, roof and bound from the sums, with the roofs probed between the timed ops. */
static void close_row(struct run_op *o, const struct run_row *row)
{
    const double bytes = o->weight_bytes + o->act_bytes + o->kv_bytes;
    o->ai = bytes > 0 ? o->flop / bytes : NAN;
    o->bytes_s = bytes / o->seconds;
    o->flop_s = o->flop / o->seconds;
    o->roof_fraction = op_roof_s(o, row) / o->seconds;
    snprintf(o->bound, sizeof o->bound, "%s",
             bench_bound(bytes, o->flop, row->ops_ceiling_bytes_s, row->ops_ceiling_flop_s));
}

/* All steps of the test, every op timed. Probes read memory: with cached weights there are none between steps. */
static int timed_pass(struct run_row *row, const struct bench *b, const struct bench_test *t, const int32_t *tok, struct error *err)
{
    const double steps = t->prefill ? ceil((double)t->n * t->n_batch / t->n_ubatch) : t->n, cache = b->stored->cache_bytes;
    struct roof_probes w = { .prober = b->prober, .lowest = INFINITY,
                            .between = !((row->weight_bytes + row->kv_bytes) / steps <= cache) };
    const struct bench_between between = { probe_step, &w };
    double ignored;
    if (probe_roofs(&w, err) != 0)
        return -1;
    engine_reset(bench_engine(b, t));
    engine_profile(bench_engine(b, t), true);
    engine_region_roles(bench_engine(b, t), t->prefill ? "prefill" : "decode");
    const int rc = bench_repetition(bench_engine(b, t), t, tok, NULL, &ignored, &between, err);
    engine_region_roles(bench_engine(b, t), NULL);
    engine_profile(bench_engine(b, t), false);
    row->ops_ceiling_bytes_s = w.sum_tok / w.sum_bytes;
    row->ops_ceiling_flop_s = w.sum_tok / w.sum_flop;
    row->ops_tile_flop_s = w.sum_tok / w.sum_tiles;
    for (int i = 0; i < COHERENCE_COUNT; i++)
        row->ops_coherence[i] = summand(i, w.sum_coherence[i] / w.sum_tok);
    row->ops_lowest_bytes_s = w.lowest;
    row->ops_highest_bytes_s = w.highest;
    return rc;
}

int bench_ops(struct run *r, struct run_row *row, const struct bench *b, const struct bench_test *t, const int32_t *tok,
              struct error *err)
{
    if (timed_pass(row, b, t, tok, err) != 0)
        return -1;
    const struct op_list *l = engine_ops(bench_engine(b, t));
    const struct op_sample *s = engine_samples(bench_engine(b, t));
    double total = 0;
    for (size_t i = 0; i < l->n; i++)
        total += s[i].seconds;
    for (size_t i = 0; i < l->n; i++) {
        struct run_op o;
        if (s[i].n == 0)
            continue;
        fill_op(&o, &l->ops[i], &s[i], row, t);
        o.share = s[i].seconds / total;
        close_row(&o, row);
        if (run_add_op(r, &o, err) != 0)
            return -1;
    }
    return 0;
}

int bench_roles(struct run *out, const struct run *in, size_t first_op, size_t end, const struct run_row *row,
                struct error *err)
{
    const size_t first = out->n_op;
    for (size_t i = first_op; i < end; i++) {
        const struct run_op *o = &in->op[i];
        size_t k = first;
        while (k < out->n_op && strcmp(out->op[k].role, o->role) != 0)
            k++;
        if (k == out->n_op) {
            struct run_op fresh = *o;
            fresh.layer = -1;
            if (run_add_op(out, &fresh, err) != 0)
                return -1;
            continue;
        }
        struct run_op *s = &out->op[k];
        s->weight_bytes += o->weight_bytes;
        s->act_bytes += o->act_bytes;
        s->kv_bytes += o->kv_bytes;
        s->flop += o->flop;
        s->seconds += o->seconds;
        s->share += o->share; /* summed shares: ops run in different numbers of passes */
        if (strcmp(s->type, o->type) != 0)
            snprintf(s->type, sizeof s->type, "mixed");
    }
    for (size_t k = first; k < out->n_op; k++)
        close_row(&out->op[k], row);
    return 0;
}
