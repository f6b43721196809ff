/* Passes of a model as classes of ops, with bytes and FLOP per device. methods.md (55) */
#include "cost/offload.h"
#include "dataset/workload_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *split_name(enum split s)
{
    switch (s) {
    case SPLIT_TENSOR:
        return "tensor";
    case SPLIT_LAYER:
        return "layer";
    case SPLIT_DATA:
        return "data";
    case SPLIT_NONE:
        break;
    }
    return "none";
}

/* ---- layouts ------------------------------------------------------------------------------------------ */

static bool fits(const struct layout *l, const struct row_model *s)
{
    struct error e = { 0 };
    return layout_check(l, &s->classes, &e) == 0;
}

/* The link that joins most devices, for rates on more devices than any link joins. (Servers use the network then.) */
static const struct hw_link *widest_link(const struct hwprofile *h)
{
    const struct hw_link *widest = NULL;
    for (size_t i = 0; i < h->n_link; i++)
        if (!widest || h->link[i].n_devices > widest->n_devices)
            widest = &h->link[i];
    return widest;
}

/*
 * Link between the devices: the profile's for that many; pairs may be bridged, and neighbours in a pipeline are pairs. TAG_PCIE selects the
 * bus.
 */
static int choose_link(struct workload *out, const struct layout *devices, struct error *err)
{
    const struct hwprofile *h = &out->machine->h;
    const uint32_t joined = layout_joined(devices);
    const struct hw_link *l = hwprofile_link(h, joined > 2 ? (int)joined : 2);
    if (!l && out->m->kind == MEASURE_RATE)
        l = widest_link(h);
    double bytes_s = out->machine->link_bytes_s, latency_s = out->machine->link_latency_s;
    for (size_t i = 0; i < h->n_link && (out->m->tags & TAG_PCIE); i++)
        if (strcmp(h->link[i].topology, "pcie") == 0) {
            l = &h->link[i];
            break;
        }
    if (l) {
        bytes_s = l->bytes_s.value;
        latency_s = l->latency_s.value >= 0 ? l->latency_s.value : latency_s;
    }
    out->roofs = machine_roofs(out->machine, out->m->n_threads, bytes_s, latency_s, err);
    return out->roofs ? 0 : -1;
}

int choose_layout(struct workload *out, const struct row_model *s, const struct layout *want, struct error *err)
{
    struct layout l = *want;
    const uint32_t tp = l.tp > 1 ? l.tp : 1;
    out->replication = 1;
    if (s->m.hp.n_expert == 0)
        l.ep = 1;
    if (!fits(&l, s)) {
        out->guesses |= GUESS_LAYOUT;
        l.ep = 1;
        for (l.tp = tp; l.tp > 1 && !fits(&l, s); l.tp--)
            continue;
        out->replication = (double)tp / l.tp;
    }
    out->layout = l;
    if (choose_link(out, want, err) != 0)
        return -1;
    return interrupt_check(err);
}

/* ---- classes ---------------------------------------------------------------------------------------------- */

struct collecting {
    const struct workload *out;
    const struct row_model *s;
    const struct pass *pass;
    struct work_pass *to;
    size_t cap;
};

/* Factor of a product's weight bytes: to the row's total, or to the bits in its type's name. */
static double scale_of(const struct row_model *s, const struct op *op)
{
    if (!op_is_product(op) || !op->w || op->w->rows < 2)
        return 1;
    if (!isnan(s->scale))
        return s->scale;
    const double bits = cost_weight_bits(op->w);
    return s->bits > 0 && (bits < 15 || s->whole) ? s->bits / bits : 1;
}

static void divide(struct cost *c, double by)
{
    c->weight_bytes /= by;
    c->kv_bytes /= by;
    c->act_bytes /= by;
    c->flop /= by;
}

static bool is_expert(enum op_role r)
{
    return r == ROLE_EXPERT_GATE || r == ROLE_EXPERT_UP || r == ROLE_EXPERT_DOWN || r == ROLE_EXPERT_ACT;
}

/* Scales the width of a feed-forward and its ops to a guessed model's. (doc/notes/datasets.md) */
static void scale_ffn(struct step *w, const struct row_model *s, double n_tok)
{
    const bool down = w->role == ROLE_FFN_DOWN || w->role == ROLE_EXPERT_DOWN;
    const bool up = w->role == ROLE_FFN_GATE || w->role == ROLE_FFN_UP || w->role == ROLE_FFN_GATE_UP || w->role == ROLE_EXPERT_GATE ||
                    w->role == ROLE_EXPERT_UP;
    if (s->width == 1 || !(down || up || w->role == ROLE_FFN_ACT || w->role == ROLE_EXPERT_ACT))
        return;
    const double n = s->m.hp.n_expert, k = s->m.hp.n_expert_used;
    w->rows *= up ? s->width : 1;
    w->cols *= down ? s->width : 1;
    w->cost.flop *= s->width;
    w->cost.weight_bytes *= s->width;
    w->cost.act_bytes *= down || up ? 1 : s->width;
    if (is_expert(w->role) && n > 0) /* more experts: more are touched */
        w->cost.weight_bytes *= experts_touched(NULL, n * s->experts, k, n_tok) / experts_touched(NULL, n, k, n_tok);
}

static bool has_cache(enum op_role r)
{
    return r == ROLE_ATTN_CORE || r == ROLE_KV_STORE || r == ROLE_ATTN_KV_B;
}

static void collect(void *ctx, const struct step *of)
{
    struct collecting *x = ctx;
    const struct roofs *r = x->out->roofs;
    if (x->to->n == x->cap) /* full: cap is the number of classes */
        return;
    struct step c = *of, *const w = &x->to->c[x->to->n++];
    const double scale = scale_of(x->s, &c.of->op);
    step_shape(&c, x->pass);
    c.bits *= scale;
    c.cost.weight_bytes *= c.rows > 0 ? scale : 1;
    scale_ffn(&c, x->s, x->pass->n_tok);
    if (c.n_comm > 0)
        x->to->sum.comm_bytes += c.count * c.of->op.cols * r->act_elem_bytes * c.n_tok;
    else
        divide(&c.cost, x->out->replication);
    if (has_cache(c.role))
        c.count *= x->s->kv_share;
    *w = (struct step){ .kind = c.kind, .role = c.role, .math = c.math, .n_comm = c.n_comm, .count = c.count, .n_tok = c.n_tok, .rows = c.rows,
                        .cols = c.cols, .bits = c.bits, .n_head = c.n_head, .head_dim = c.head_dim, .group = c.group, .cost = c.cost,
                        .rounds_bytes = c.rounds_bytes, .least_s = roofs_least_s(r, &c) };
}

bool work_is_launched(const struct workload *p, const struct work_pass *w, const struct step *c)
{
    return c->n_comm == 0 && (w->kernel || c->rows > 0 || c->kind == OP_ATTENTION || p->roofs->cpu);
}

static void sum_up(struct work_pass *w, const struct workload *p)
{
    struct work_sum *to = &w->sum;
    to->n_pass = 1;
    for (size_t i = 0; i < w->n; i++) {
        const struct step *c = &w->c[i];
        to->cost = cost_add(to->cost, cost_times(&c->cost, c->count));
        to->least_s += c->count * c->least_s;
        to->product_weight_bytes += c->rows > 0 ? c->count * c->cost.weight_bytes : 0;
        to->flop_math[c->math] += c->count * c->cost.flop;
        to->n_collective += c->n_comm > 0 ? c->count : 0;
        to->n_op += c->n_comm > 0 ? 0 : c->count;
        to->n_launch += work_is_launched(p, w, c) ? c->count : 0;
    }
}

static struct work_pass *new_pass(struct workload *out, size_t n, struct error *err)
{
    struct work_pass *p = realloc(out->pass, (out->n_pass + 1) * sizeof *p);
    if (!p) {
        error_oom(err, (out->n_pass + 1) * sizeof *p, "passes");
        return NULL;
    }
    out->pass = p;
    p += out->n_pass;
    *p = (struct work_pass){ .c = calloc(n + 1, sizeof *p->c) };
    if (!p->c) {
        error_oom(err, n * sizeof *p->c, "classes of a pass");
        return NULL;
    }
    out->n_pass++;
    return p;
}

static int add_pass(struct workload *out, const struct row_model *s, const struct op_classes *classes, const struct pass_request *r, struct error *err)
{
    struct step_model step;
    const struct step_options o = { .cost = { .act_elem_bytes = out->roofs->act_elem_bytes, .type_k = out->type_k,
                                              .type_v = out->type_v },
                                    .layout = out->layout };
    if (step_model_init(&step, classes, &o, err) != 0)
        return -1;
    struct work_pass *p = new_pass(out, step.n, err);
    if (p) {
        p->times = r->times;
        p->at = (struct step_pass){ r->phase, r->pass.n_tok, r->pass.n_past + (r->n_steps > 1 ? (r->n_steps - 1) / 2.0 : 0), r->pass.n_seq };
        struct collecting x = { out, s, &r->pass, p, step.n };
        step_price(&step, out->roofs, &r->pass, r->n_steps > 0 ? r->n_steps : 1, collect, &x);
        sum_up(p, out);
        struct step *fewer = realloc(p->c, (p->n + 1) * sizeof *p->c);
        p->c = fewer ? fewer : p->c;
    }
    step_model_free(&step);
    return p ? 0 : -1;
}

/* Of a model shared with the host, to each its part. */
int work_add(struct workload *out, const struct row_model *s, const struct pass_request *r, struct error *err)
{
    if (!out->split_offload)
        return add_pass(out, s, &s->classes, r, err);
    const struct offload_passes *x = offload_passes_of(out->split_offload, r->pass.n_tok);
    workload_add_bus(out, x, r);
    return add_pass(out, s, &x->on[OFFLOAD_GPU].classes, r, err) != 0 || add_pass(out->host, s, &x->on[OFFLOAD_HOST].classes, r, err) != 0 ? -1 : 0;
}

int work_add_step(struct workload *out, const struct work_pass *like, const struct step *c, struct error *err)
{
    struct work_pass *p = new_pass(out, 1, err);
    if (!p)
        return -1;
    struct step *const steps = p->c;
    *p = *like;
    p->times = p->n = 1;
    p->c = steps;
    *p->c = *c;
    sum_up(p, out);
    return 0;
}

bool workload_is_batched(const struct workload *p)
{
    return p->n_pass > 0 && p->pass[0].at.n_seq > 1;
}

double work_compute_s(const struct workload *p, const double *flop_math)
{
    double s = 0;
    for (int m = 0; m < MATH_COUNT; m++)
        s += flop_math[m] > 0 ? flop_math[m] / p->roofs->peak[m].flop_s : 0;
    return s;
}

bool workload_is_partial(const struct workload *p)
{
    return p->m->other_gpus || workload_is_offloaded(p);
}

bool workload_is_offloaded(const struct workload *p)
{
    return p->m->tags & TAG_PARTIAL_OFFLOAD || p->m->offload.stated || (p->m->n_gpu_layers > 0 && (uint32_t)p->m->n_gpu_layers < p->n_layer);
}

bool workload_is_suspect(const struct workload *p)
{
    if (p->host) /* both parts are predicted */
        return p->m->tags & TAG_SUSPECT & ~TAG_PARTIAL_OFFLOAD;
    return p->m->tags & TAG_SUSPECT || (p->machine->h.kind != HW_CPU && workload_is_partial(p));
}

double work_least_s(const struct workload *p)
{
    double s = 0;
    if (p->m->kind != MEASURE_RATE || p->n_devices > 1 || p->machine->ln_sd > 0 || p->guesses)
        return 0;
    for (size_t i = 0; i < p->n_pass; i++)
        s += p->pass[i].times * p->pass[i].sum.least_s;
    return s;
}

struct work_sum work_sum(const struct workload *p, enum phase phase)
{
    struct work_sum s = { 0 };
    for (size_t i = 0; i < p->n_pass; i++) {
        const struct work_sum *w = &p->pass[i].sum;
        const double n = p->pass[i].times;
        if (p->pass[i].at.phase != phase)
            continue;
        s.cost = cost_add(s.cost, cost_times(&w->cost, n));
        s.n_pass += n;
        s.product_weight_bytes += n * w->product_weight_bytes;
        s.n_op += n * w->n_op;
        s.n_launch += n * w->n_launch;
        s.n_collective += n * w->n_collective;
        s.comm_bytes += n * w->comm_bytes;
        s.least_s += n * w->least_s;
        for (int m = 0; m < MATH_COUNT; m++)
            s.flop_math[m] += n * w->flop_math[m];
    }
    return s;
}
