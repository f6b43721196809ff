/* Passes of a model as classes of ops with their bytes and FLOP on one device. methods.md (55) */
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

static bool fits(const struct layout *l, const struct subject *s)
{
    struct error e = { 0 };
    return layout_check(l, &s->classes, &e) == 0;
}

/* The one that joins the most devices: of rates of more than any joins. (A server's cross the network then.) */
static const struct hw_link *widest_link(const struct hwprofile *h)
{
    const struct hw_link *widest = NULL;
    for (size_t i = 0; i < h->n_link; i++)
        if (!widest || h->link[i].n_devices > widest->n_devices)
            widest = &h->link[i];
    return widest;
}

/* The machine's own is that of two devices, as of neighbours in a pipeline; a bridge joins no more. Rows that say so go by the bus. */
static int choose_link(struct priced *out, const struct layout *devices, struct error *err)
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

int choose_layout(struct priced *out, const struct subject *s, const struct layout *want, struct error *err)
{
    struct layout l = *want;
    const uint32_t tp = l.tp > 1 ? l.tp : 1;
    out->dilute = 1;
    if (s->m.hp.n_expert == 0)
        l.ep = 1;
    if (!fits(&l, s)) {
        out->guesses |= GUESS_LAYOUT;
        l.ep = 1;
        for (l.tp = tp; l.tp > 1 && !fits(&l, s); l.tp--)
            continue;
        out->dilute = (double)tp / l.tp;
    }
    out->layout = l;
    if (choose_link(out, want, err) != 0)
        return -1;
    return interrupt_check(err);
}

/* ---- classes ---------------------------------------------------------------------------------------------- */

struct collecting {
    const struct priced *out;
    const struct subject *s;
    const struct pass *pass;
    struct work_pass *to;
    size_t cap;
};

static double tensor_bits(const struct tensor *t)
{
    return 8 * (double)t->bytes / ((double)t->rows * (double)t->cols);
}

/* What the weights of a product are multiplied by: to what the row says of all, or to the bits of its type's name. */
static double scale_of(const struct subject *s, const struct op *op)
{
    if (!cost_is_product(op) || !op->w || op->w->rows < 2)
        return 1;
    if (!isnan(s->scale))
        return s->scale;
    const double bits = tensor_bits(op->w);
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

/* Rows or columns of a feed-forward, and what works on them, are so many times as many as those of the op list (doc/notes/datasets.md). */
static void widen(struct work_class *w, const struct subject *s, double n_tok)
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
    if (is_expert(w->role) && n > 0) /* of more experts some more are touched */
        w->cost.weight_bytes *= experts_touched(NULL, n * s->experts, k, n_tok) / experts_touched(NULL, n, k, n_tok);
}

static bool has_cache(enum op_role r)
{
    return r == ROLE_ATTN_CORE || r == ROLE_KV_STORE || r == ROLE_ATTN_KV_B;
}

static void collect(void *ctx, const struct step_class *c, const struct cost *cost, const struct op_time *t)
{
    struct collecting *x = ctx;
    (void)t;
    if (x->to->n == x->cap) /* there are no more than it was given room for */
        return;
    struct work_class *w = &x->to->c[x->to->n++];
    const bool product = cost_is_product(&c->op), comm = c->n_comm > 0;
    const double scale = scale_of(x->s, &c->op);
    const uint32_t n_tok = op_n_tok(&c->op, x->pass);
    *w = (struct work_class){
        .kind = c->op.kind, .role = c->op.role, .math = comm ? MATH_FP32 : roofs_math(x->out->roofs, &c->op),
        .count = c->count, .n_tok = n_tok, .cost = *cost, .n_comm = c->n_comm,
        .launched = !comm && (x->out->roofs->cpu || product || c->op.kind == OP_ATTENTION),
    };
    if (c->op.kind == OP_ATTENTION) {
        w->n_head = c->op.n_head;
        w->head_dim = c->op.head_dim;
        w->group = (double)c->op.n_head / c->op.n_head_kv;
    }
    if (product) {
        w->rows = c->op.rows;
        w->cols = c->op.cols;
        w->bits = c->op.w ? scale * tensor_bits(c->op.w) : 0;
        w->cost.weight_bytes *= scale;
    }
    widen(w, x->s, x->pass->n_tok);
    if (comm)
        w->comm_bytes = (double)c->op.cols * x->out->roofs->act_elem_bytes * n_tok;
    else
        divide(&w->cost, x->out->dilute);
    if (has_cache(c->op.role))
        w->count *= x->s->kv_share;
    w->least_s = roofs_bound(x->out->roofs, c, &w->cost, x->pass).seconds;
}

/* Sums over the classes. */
static void sum_up(struct work_pass *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct work_class *w = &p->c[i];
        const double n = w->count;
        p->cost.weight_bytes += n * w->cost.weight_bytes;
        p->cost.kv_bytes += n * w->cost.kv_bytes;
        p->cost.act_bytes += n * w->cost.act_bytes;
        p->cost.flop += n * w->cost.flop;
        p->cost.link_bytes += n * w->cost.link_bytes;
        p->comm_bytes += n * w->comm_bytes;
        p->least_s += n * w->least_s;
        p->product_weight_bytes += w->rows > 0 ? n * w->cost.weight_bytes : 0;
        p->flop_math[w->math] += n * w->cost.flop;
        p->n_exchange += w->n_comm > 0 ? n : 0;
        p->n_op += w->n_comm > 0 ? 0 : n;
        p->n_launch += w->launched ? n : 0;
    }
}

static struct work_pass *new_pass(struct priced *out, size_t n, struct error *err)
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

int work_add(struct priced *out, const struct subject *s, const struct pass_request *r, struct error *err)
{
    struct step_model step;
    const struct step_options o = { .cost = { .act_elem_bytes = out->roofs->act_elem_bytes, .type_k = out->type_k,
                                              .type_v = out->type_v },
                                    .layout = out->layout };
    if (step_model_init(&step, &s->classes, &o, err) != 0)
        return -1;
    struct work_pass *p = new_pass(out, step.n, err);
    if (p) {
        p->phase = r->phase;
        p->times = r->times;
        p->n_tok = r->pass.n_tok;
        p->n_past = r->pass.n_past + (r->n_steps > 1 ? (r->n_steps - 1) / 2.0 : 0);
        p->n_seq = r->pass.n_seq;
        struct collecting x = { out, s, &r->pass, p, step.n };
        step_price(&step, out->roofs, &r->pass, r->n_steps > 0 ? r->n_steps : 1, collect, &x);
        sum_up(p);
        struct work_class *fewer = realloc(p->c, (p->n + 1) * sizeof *p->c);
        p->c = fewer ? fewer : p->c;
    }
    step_model_free(&step);
    return p ? 0 : -1;
}

int work_add_class(struct priced *out, enum phase phase, const struct work_class *c, struct error *err)
{
    struct work_pass *p = new_pass(out, 1, err);
    if (!p)
        return -1;
    p->phase = phase;
    p->times = 1;
    p->n_tok = c->n_tok;
    p->n_seq = 1;
    p->c[p->n++] = *c;
    sum_up(p);
    return 0;
}

bool priced_batched(const struct priced *p)
{
    return p->n_pass > 0 && p->pass[0].n_seq > 1;
}

double work_compute_s(const struct priced *p, const double *flop_math)
{
    double s = 0;
    for (int m = 0; m < MATH_COUNT; m++)
        s += flop_math[m] > 0 ? flop_math[m] / p->roofs->peak[m].flop_s : 0;
    return s;
}

bool priced_partly(const struct priced *p)
{
    return p->m->other_gpus || priced_offloaded(p);
}

bool priced_offloaded(const struct priced *p)
{
    return p->m->tags & TAG_PARTIAL_OFFLOAD || (p->m->n_gpu_layers > 0 && (uint32_t)p->m->n_gpu_layers < p->n_layer);
}

bool priced_doubtful(const struct priced *p)
{
    return p->m->tags & TAG_DOUBTFUL || (p->machine->h.kind != HW_CPU && priced_partly(p));
}

double work_least_s(const struct priced *p)
{
    double s = 0;
    if (p->m->kind != MEASURE_RATE || p->n_devices > 1 || p->machine->ln_sd > 0 || p->guesses)
        return 0;
    for (size_t i = 0; i < p->n_pass; i++)
        s += p->pass[i].times * p->pass[i].least_s;
    return s;
}

struct work_sum work_sum(const struct priced *p, enum phase phase)
{
    struct work_sum s = { 0 };
    for (size_t i = 0; i < p->n_pass; i++) {
        const struct work_pass *w = &p->pass[i];
        if (w->phase != phase)
            continue;
        s.n_pass += w->times;
        s.weight_bytes += w->times * w->cost.weight_bytes;
        s.product_weight_bytes += w->times * w->product_weight_bytes;
        s.kv_bytes += w->times * w->cost.kv_bytes;
        s.act_bytes += w->times * w->cost.act_bytes;
        s.flop += w->times * w->cost.flop;
        s.n_op += w->times * w->n_op;
        s.n_launch += w->times * w->n_launch;
        s.n_exchange += w->times * w->n_exchange;
        s.comm_bytes += w->times * w->comm_bytes;
        for (int m = 0; m < MATH_COUNT; m++)
            s.flop_math[m] += w->times * w->flop_math[m];
    }
    return s;
}
