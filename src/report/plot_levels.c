/*
 * The hierarchical roofline: a point per op and memory level, at FLOP / bytes from that level. Bytes are counted by hardware
 * counters for the op's role if the run has them, else computed by the cache model for the same passes.
 */
#include "report/plot.h"
#include "timing/levels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- counted bytes -------------------------------------------------------------------- */

void plot_set_shape(struct plot *p, const struct run_row *row)
{
    struct plot_shape *t = &p->shape[strcmp(row->phase, "decode") == 0];
    *t = (struct plot_shape){ .drawn = true, .n_prompt = (uint32_t)row->n_prompt, .n_gen = (uint32_t)row->n_gen,
                              .n_depth = (uint32_t)row->n_depth, .n_batch = (uint32_t)row->n_batch,
                              .n_ubatch = (uint32_t)row->n_ubatch, .flop = row->flop };
    snprintf(t->test, sizeof t->test, "%s", row->test);
    const struct dtype_info *k = dtype_find_name(row->type_k), *v = dtype_find_name(row->type_v);
    p->type_k = k ? k->id : DTYPE_F16;
    p->type_v = v ? v->id : DTYPE_F16;
    p->kv_block = row->kv_block > 0 ? (uint32_t)row->kv_block : 0;
}

static bool drawn(const struct plot *p, const char *phase, const char *test)
{
    const struct plot_shape *t = &p->shape[strcmp(phase, "decode") == 0];
    return t->drawn && strcmp(t->test, test) == 0;
}

/* Lines filled into a cache come from the next level. Passes per repetition: its FLOP over the FLOP of one pass. */
int plot_add_counted(struct plot *p, const struct run *r, struct error *err)
{
    static const char *const served[][2] = {
        { "l1_fill_bytes", "L2" }, { "l2_fill_bytes", "L3" }, { "l3_fill_bytes", "DRAM" }, { "dram_bytes", "DRAM" }
    };
    double flop[2] = { 0 };
    for (size_t i = 0; i < r->n_op; i++)
        if (drawn(p, r->op[i].phase, r->op[i].test) && r->op[i].flop > 0)
            flop[strcmp(r->op[i].phase, "decode") == 0] += r->op[i].flop;
    for (size_t i = 0; i < r->n_count; i++) {
        const struct run_count *k = &r->count[i];
        const int decode = strcmp(k->phase, "decode") == 0;
        const double n_pass = p->shape[decode].flop / flop[decode];
        for (size_t j = 0; j < ARRAY_LEN(served); j++) {
            if (strcmp(k->field, served[j][0]) != 0 || !*k->role || !(k->value > 0) || !(n_pass >= 0.99) || !isfinite(n_pass) ||
                !drawn(p, k->phase, k->test))
                continue;
            struct plot_counted *v = realloc(p->counted, (p->n_counted + 1) * sizeof *v);
            if (!v)
                return error_oom(err, (p->n_counted + 1) * sizeof *v, "counts");
            p->counted = v;
            v += p->n_counted++;
            *v = (struct plot_counted){ .bytes = k->value / n_pass };
            snprintf(v->phase, sizeof v->phase, "%s", k->phase);
            snprintf(v->role, sizeof v->role, "%s", k->role);
            snprintf(v->level, sizeof v->level, "%s", served[j][1]);
        }
    }
    return 0;
}

/* ---- bytes of the cache model ------------------------------------------------------------------ */

/* Bytes of an op or a role in a test's passes, by the cache model. */
struct moved {
    char label[48];
    double flop;
    struct level_bytes bytes;
};

struct walk {
    const struct op_list *ops;
    const struct hwprofile *h;
    const struct cost_options *o;
    const struct plot_options *plot;
    int n_threads;
    struct moved *v; /* at most one an op */
    size_t n;
    struct error *err;
    int rc;
};

static struct moved *find_moved(struct walk *w, const struct op *op)
{
    char label[48];
    plot_op_label(label, sizeof label, w->plot, op_role_name(op->role), op->layer);
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->v[i].label, label) == 0)
            return &w->v[i];
    struct moved *m = &w->v[w->n++];
    *m = (struct moved){ .flop = 0 };
    snprintf(m->label, sizeof m->label, "%s", label);
    return m;
}

static void walk_pass(void *ctx, const struct pass *p)
{
    struct walk *w = ctx;
    struct level_state s = { .n_threads = w->n_threads };
    for (size_t i = 0; i < w->ops->n; i++) {
        struct cost c = cost_op(&w->ops->ops[i], p, w->o);
        s.pass_bytes += cost_bytes(&c);
    }
    for (size_t i = 0; i < w->ops->n && w->rc == 0; i++) {
        const struct op *op = &w->ops->ops[i];
        struct cost c = cost_op(op, p, w->o);
        struct moved *m = find_moved(w, op);
        struct level_bytes b;
        w->rc = roofline_level_bytes(&b, op, p, w->o, w->h, &s, w->err);
        s.near_bytes = cost_bytes(&c);
        if (w->rc != 0)
            return;
        m->flop += c.flop;
        level_bytes_add(&m->bytes, &b);
    }
}

/* The passes of the test that is drawn; decode: the step in the middle. */
static int walk_test(struct walk *w, const struct plot_shape *t, bool decode)
{
    if (decode) {
        const struct pass p = decode_pass(t->n_depth + t->n_gen / 2, t->n_batch);
        walk_pass(w, &p);
    } else {
        prefill_passes(t->n_prompt, t->n_depth, t->n_ubatch, t->n_batch, walk_pass, w);
    }
    return w->rc;
}

/* ---- points ------------------------------------------------------------------------------------ */

static double counted_bytes(const struct plot *p, const char *phase, const char *role, const char *level)
{
    for (size_t i = 0; i < p->n_counted; i++)
        if (strcmp(p->counted[i].phase, phase) == 0 && strcmp(p->counted[i].role, role) == 0 && strcmp(p->counted[i].level, level) == 0)
            return p->counted[i].bytes;
    return NAN;
}

/* The points of an item are adjacent; the last one, usually DRAM's, carries its name. */
static int add_points(struct roofline_chart *c, const struct plot *p, const struct plot_item *it, const struct moved *m, double share,
                      struct strbuf *notes, struct error *err)
{
    struct chart_point *v = realloc(c->point, (c->n_point + 2 * LEVELS_MAX) * sizeof *v);
    if (!v)
        return error_oom(err, (c->n_point + 2 * LEVELS_MAX) * sizeof *v, "points");
    c->point = v;
    struct chart_point *last = NULL;
    for (int i = 0; i < m->bytes.n; i++) {
        const struct level_traffic *t = &m->bytes.level[i];
        double model = t->read_bytes + t->write_bytes, counted = counted_bytes(p, it->phase, it->label, t->name);
        struct chart_point q = { .flop_s = it->flop / it->seconds, .weight = share };
        q.counted = counted > 0;
        q.predicted = !q.counted;
        q.ai = q.counted ? it->flop / counted : model > 0 ? m->flop / model : NAN;
        if (q.counted && model > 0) { /* the cache model's point too, hollow */
            struct chart_point hollow = q;
            hollow.counted = false;
            hollow.predicted = hollow.silent = true;
            hollow.ai = m->flop / model;
            snprintf(hollow.phase, sizeof hollow.phase, "%s", t->name);
            snprintf(hollow.label, sizeof hollow.label, "%s", it->label);
            hollow.pair = c->n_point + 2; /* the counted one, which follows */
            c->point[c->n_point++] = hollow;
        }
        if (isnan(q.ai)) { /* served entirely by lower levels */
            strbuf_addf(notes, "%s: fits in %s\n", it->label, i > 0 ? m->bytes.level[i - 1].name : t->name);
            break;
        }
        if (last)
            last->silent = true;
        snprintf(q.phase, sizeof q.phase, "%s", t->name);
        snprintf(q.label, sizeof q.label, "%s", it->label);
        q.join = last != NULL;
        last = &c->point[c->n_point++];
        *last = q;
    }
    return 0;
}

static int by_share(const void *a, const void *b)
{
    const struct plot_item *p = *(const struct plot_item *const *)a, *q = *(const struct plot_item *const *)b;
    return p->seconds < q->seconds ? 1 : p->seconds > q->seconds ? -1 : strcmp(p->label, q->label);
}

static int add_items(struct roofline_chart *c, const struct plot *p, const struct walk *w, const char *phase, struct strbuf *notes,
                     struct error *err)
{
    const struct plot_item **item = calloc(p->n_item + 1, sizeof *item);
    double seconds = 0;
    size_t n = 0;
    int rc = item ? 0 : error_oom(err, p->n_item * sizeof *item, "points");
    for (size_t i = 0; i < p->n_item && rc == 0; i++)
        if (!p->item[i].whole && strcmp(p->item[i].phase, phase) == 0) {
            seconds += p->item[i].seconds;
            if (p->item[i].flop > 0 && p->item[i].seconds > 0)
                item[n++] = &p->item[i];
        }
    if (n)
        qsort(item, n, sizeof *item, by_share);
    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct moved *m = NULL;
        for (size_t k = 0; k < w->n; k++)
            if (strcmp(w->v[k].label, item[i]->label) == 0)
                m = &w->v[k];
        if (m && m->flop > 0)
            rc = add_points(c, p, item[i], m, item[i]->seconds / seconds, notes, err);
        else
            strbuf_addf(notes, "not drawn: %s, not in the model\n", item[i]->label);
    }
    free(item);
    if (rc == 0 && c->n_point == 0)
        rc = error_set(err, ERROR_USAGE, "no ops of %s in it: `roofcast bench --ops --save` times them", phase);
    return rc;
}

bool plot_decodes(const struct plot *p, const struct plot_options *o)
{
    return p->shape[1].drawn && (!o->phase || strcmp(o->phase, "decode") == 0);
}

int plot_level_points(struct roofline_chart *c, const struct plot *p, const struct plot_options *o, struct strbuf *notes,
                      struct error *err)
{
    struct model m;
    struct op_list ops = { 0 };
    bool decode = plot_decodes(p, o);
    const struct plot_shape *t = &p->shape[decode];
    struct cost_options cost = { .act_elem_bytes = 4, .type_k = p->type_k, .type_v = p->type_v, .kv_block = p->kv_block };
    if (p->kind != PLOT_RUN)
        return error_set(err, ERROR_USAGE, "--chart hierarchical is for runs (bench --ops --save)");
    if (p->roofs.n_cache == 0)
        return error_set(err, ERROR_USAGE, "no cache sizes: name the machine with --hw this, or a profile written by `roofcast profile`");
    if (model_load(&m, o->model ? o->model : p->model, o->model ? NULL : p->type, err) != 0)
        return o->model ? -1 : error_prefix(err, "the run's model (use -m)");
    struct walk w = { .ops = &ops, .h = &p->roofs, .o = &cost, .plot = o, .n_threads = p->n_threads, .err = err };
    int rc = op_list_build(&ops, &m, err);
    if (rc == 0) {
        w.v = calloc(ops.n + 1, sizeof *w.v);
        rc = w.v ? walk_test(&w, t, decode) : error_oom(err, ops.n * sizeof *w.v, "ops");
    }
    rc = rc ? rc : add_items(c, p, &w, decode ? "decode" : "prefill", notes, err);
    c->by_level = true;
    free(w.v);
    op_list_free(&ops);
    model_free(&m);
    return rc;
}
