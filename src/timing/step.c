/* Seconds of a step: a loop over the classes of a step model. Formulas: methods.md (26), (21), (24). */
#include "timing/timing.h"
#include <math.h>
#include <stdlib.h>

static bool runs(const struct cost *c)
{
    return cost_bytes(c) > 0 || c->flop > 0 || c->link_bytes > 0;
}

/* The classes of a pass that run, one after the other. */
struct class_iterator {
    const struct step_model *s;
    const struct pass *p;
    uint32_t n_steps;
    size_t i; /* the next one */
    double pass_read_bytes;
    struct cost_memo memo;
};

static struct class_iterator class_iterator_begin(const struct step_model *s, const struct pass *p, uint32_t n_steps)
{
    return (struct class_iterator){ .s = s, .p = p, .n_steps = n_steps, .pass_read_bytes = step_read_bytes(s, p) };
}

/* Fills *x with its class and cost; shape and seconds are unchanged. */
static bool next_class(struct class_iterator *w, struct step *x)
{
    while (w->i < w->s->n) {
        const struct op_class *c = &w->s->c[w->i++];
        x->cost = cost_eval(&c->form, w->p, w->n_steps, &w->s->o.cost, &w->memo);
        if (!runs(&x->cost)) /* not in this pass */
            continue;
        x->of = c;
        x->kind = c->op.kind;
        x->role = c->op.role;
        x->n_comm = c->n_comm;
        x->count = c->count;
        x->pass_read_bytes = w->pass_read_bytes;
        return true;
    }
    return false;
}

static void add(struct step_sum *s, const struct step *x)
{
    const double n = x->count;
    s->cost = cost_add(s->cost, cost_times(&x->cost, n));
    s->seconds += n * x->seconds;
    s->memory_s += n * x->memory_s;
    s->compute_s += n * x->compute_s;
    s->link_s += n * x->link_s;
    s->bound_s[x->bound] += n * x->seconds;
    s->sd_s += n * x->seconds * x->sd;
}

/* The op at the roofs, or at a faster measured kernel. (27) */
static double least_of(const struct roofs *r, const struct step *x)
{
    const double bound_s = r->roof ? x->seconds : roofs_least_s(r, x);
    return x->kernel ? min2(bound_s, x->seconds) : bound_s;
}

enum bound bound_largest(const double s[BOUND_COUNT])
{
    int best = BOUND_MEMORY;
    for (int b = 0; b < BOUND_COUNT; b++)
        if (s[b] > s[best])
            best = b;
    return (enum bound)best;
}

void step_sum_add(struct step_sum *to, const struct step_sum *s, double n)
{
    to->cost = cost_add(to->cost, cost_times(&s->cost, n));
    to->seconds += n * s->seconds;
    to->memory_s += n * s->memory_s;
    to->compute_s += n * s->compute_s;
    to->link_s += n * s->link_s;
    to->sd_s += n * s->sd_s;
    to->sd_fast_s += n * s->sd_fast_s;
    to->least_s += n * s->least_s;
    to->longest_least_s = max2(to->longest_least_s, s->least_s);
    to->which = s->which;
    for (int b = 0; b < BOUND_COUNT; b++)
        to->bound_s[b] += n * s->bound_s[b];
}

enum bound step_bound(const struct step_sum *s)
{
    return bound_largest(s->bound_s);
}

struct error_parts step_error_parts(const struct step_sum *s, const struct roofs *r)
{
    return r->time ? s->parts : (struct error_parts){ .left = s->sd_s / s->seconds };
}

/* A nominal model: whole bytes and FLOP, undoing the division by counts. */
static void whole(struct step_sum *sum, const struct step_model *s)
{
    if (s->o.weights_bytes > 0) {
        sum->cost.weight_bytes = round(sum->cost.weight_bytes);
        sum->cost.flop = round(sum->cost.flop);
    }
}

/* Op by op, in sequence. */
static struct step_sum price_ops(const struct step_model *s, const struct roofs *r, const struct pass *p, uint32_t n_steps,
                                 step_fn *fn, void *ctx)
{
    struct step_sum sum = { 0 };
    struct class_iterator w = class_iterator_begin(s, p, n_steps);
    struct step x;
    while (next_class(&w, &x)) {
        roofs_time(r, &x, p);
        add(&sum, &x);
        sum.least_s += x.count * least_of(r, &x);
        if (fn)
            fn(ctx, &x);
    }
    whole(&sum, s);
    sum.longest_least_s = sum.least_s;
    sum.sd_s = sum.sd_fast_s = r->kernel_sd > 0 ? hypot(sum.sd_s, sum.seconds * r->kernel_sd) : NAN;
    return sum;
}

/* ---- with constants: all ops together. (35), (62) ------------------------------------------------- */

/* Passes of one shape. */
struct shape {
    struct pass p;
    double times;
    uint32_t n_steps; /* as in step_price() */
    bool prompt;
    bool small_batch; /* of a prompt that passes fewer than TIME_PROMPT tokens at a time */
};

/* Adds an op as the software runs it; *op is changed to that. */
static void add_op(struct time_features *f, const struct roofs *r, const struct shape *x, struct step *op)
{
    const struct timing *t = r->time;
    const struct step_pass at = { f->prompt ? PHASE_PREFILL : PHASE_DECODE, x->p.n_tok, x->p.n_past + (x->n_steps - 1) / 2.0, x->p.n_seq };
    op->math = op->n_comm > 0 ? MATH_FP32 : roofs_math(r, &op->of->op);
    step_shape(op, &x->p);
    struct refinement how = { .key = time_key(op->rows, op->cols, op->bits) };
    if (t && t->refine)
        t->refine(t->what, &at, f->decode, op, &how);
    time_add(f, r, op, &how);
}

static void collect(struct time_features *f, struct step_sum *sum, const struct step_model *s, const struct roofs *r,
                const struct shape *x)
{
    struct class_iterator w = class_iterator_begin(s, &x->p, x->n_steps);
    struct step op;
    double least_s = 0;
    while (next_class(&w, &op)) {
        op.kernel = NULL;
        if (op.n_comm > 0)
            roofs_time(r, &op, &x->p);
        sum->cost = cost_add(sum->cost, cost_times(&op.cost, op.count * x->times));
        least_s += op.count * least_of(r, &op);
        op.count *= x->times;
        add_op(f, r, x, &op);
    }
    time_passes(f, x->times, x->p.n_tok);
    if (r->time && r->time->served && !x->prompt)
        f->n_seq += x->times * x->p.n_seq;
    sum->least_s += x->times * least_s;
    sum->longest_least_s = max2(sum->longest_least_s, least_s);
}

static void evaluate(struct step_sum *sum, const struct roofs *r, const struct time_features *f)
{
    const struct timing *t = r->time;
    double g[TIME_PARAMETER_COUNT];
    struct time_sides sides;
    sum->which = t->which(f);
    sum->n_kernel = f->n_kernel / fmax(f->n_pass, 1);
    sum->n_whole = time_whole_passes(f);
    const struct time_constants *k = t->of[sum->which];
    time_gradient(f, k->parameter, g, &sides);
    sum->seconds = exp(time_ln_seconds(f, k->parameter));
    const double sd_s = sum->seconds * time_spread(k, g, NULL), guess_s = sum->seconds * k->guess_ln_sd;
    sum->sd_s = hypot(sd_s * k->widen, guess_s);
    sum->sd_fast_s = hypot(sd_s * k->widen_fast, guess_s);
    if (r->parts)
        time_error_parts(k, g, k->guess_ln_sd, &sum->parts);
    const double off = k->guess_ln_sd > 0 ? exp(k->parameter[TIME_REQUEST]) : 1; /* a guessed machine: measured seconds over those of the
                                                                               guess */
    sum->memory_s = off * sides.memory_s;
    sum->compute_s = off * sides.compute_s;
    sum->link_s = off * sides.link_s;
    for (int b = 0; b < BOUND_COUNT; b++)
        sum->bound_s[b] = off * sides.bound_s[b];
}

static void start(struct time_features *f, const struct roofs *r, const struct shape *x)
{
    time_features_init(f);
    f->prompt = x->prompt;
    f->decode = !x->prompt && r->time && r->time->refine && !r->time->served;
    f->long_context = x->p.n_past > TIME_LONG_CONTEXT;
    f->one_step = r->time && (r->time->one_step || (r->time->served && !x->prompt));
    f->small_batch = x->small_batch;
    f->batched = x->p.n_seq > 1;
}

static struct step_sum price_together(const struct step_model *s, const struct roofs *r, const struct shape *x, size_t n)
{
    struct step_sum sum = { 0 };
    struct time_features f;
    start(&f, r, &x[0]);
    for (size_t i = 0; i < n; i++)
        collect(&f, &sum, s, r, &x[i]);
    if (f.n_term > 0 || f.wire_s > 0 || f.collective_s > 0) /* else no pass: n-gram drafts have no model */
        evaluate(&sum, r, &f);
    whole(&sum, s);
    return sum;
}

/* Seconds of an op alone, for per-op reports. */
static void time_op_alone(struct step *op, const struct roofs *r, unsigned which, const struct shape *x)
{
    struct time_features f;
    struct time_sides sides;
    double g[TIME_PARAMETER_COUNT];
    const double *parameter = r->time->of[which]->parameter;
    struct step one_op = *op;
    one_op.count = 1;
    start(&f, r, x);
    add_op(&f, r, x, &one_op);
    time_gradient(&f, parameter, g, &sides);
    op->seconds = exp(time_ln_seconds(&f, parameter));
    op->memory_s = sides.memory_s;
    op->compute_s = sides.compute_s;
    op->link_s = sides.link_s;
    op->bound = bound_largest(sides.bound_s);
    op->kernel = NULL;
    op->alone = f.n_term > 0 ? f.term[0].alone.name : NULL;
}

/* Cost of a pass; emits each op to fn under the constants of a case. */
static struct cost emit(const struct step_model *s, const struct roofs *r, unsigned which, const struct shape *x, step_fn *fn,
                        void *ctx)
{
    struct step_sum sum = { 0 };
    struct class_iterator w = class_iterator_begin(s, &x->p, x->n_steps);
    struct step op;
    while (next_class(&w, &op)) {
        roofs_time(r, &op, &x->p);
        time_op_alone(&op, r, which, x);
        add(&sum, &op);
        fn(ctx, &op);
    }
    whole(&sum, s);
    return sum.cost;
}

/* Scales a sum to other seconds: pipeline stages overlap, and so do their memories and units. */
static void set_seconds(struct step_sum *sum, double seconds)
{
    if (seconds == sum->seconds)
        return;
    const double part = seconds / sum->seconds;
    sum->sd_s *= part;
    sum->sd_fast_s *= part;
    sum->memory_s *= part;
    sum->compute_s *= part;
    sum->link_s *= part;
    sum->seconds = seconds;
}

double spread_within(double seconds, double sd_fast_s, double least_s)
{
    const double room_s = seconds * log(max2(seconds / least_s, 1)) / PREDICT_Z90;
    return sd_fast_s > room_s ? room_s : sd_fast_s;
}

void step_keep_below(struct step_sum *sum, const struct roofs *r, double bound_tok_s)
{
    if (!(sum->seconds > 0) || (r->time && r->time->of[sum->which]->guess_ln_sd > 0)) /* no op; guessed roofs */
        return;
    const double times = max2(1, max2(sum->least_s / sum->seconds, sum->tok_s / bound_tok_s));
    if (times > 1) {
        set_seconds(sum, sum->seconds * times);
        sum->tok_s /= times;
    }
    sum->least_s = max2(sum->least_s, sum->seconds * sum->tok_s / bound_tok_s);
    sum->sd_fast_s = spread_within(sum->seconds, sum->sd_fast_s, sum->least_s);
}

static struct step_sum price_shape(const struct step_model *s, const struct roofs *r, const struct shape *x, step_fn *fn, void *ctx)
{
    if (!r->time)
        return price_ops(s, r, &x->p, x->n_steps, fn, ctx);
    struct step_sum sum = price_together(s, r, x, 1);
    sum.tok_s = 1 / sum.seconds;
    step_keep_below(&sum, r, 1 / sum.least_s);
    sum.tok_s = 0; /* a scenario's */
    if (fn)
        (void)emit(s, r, sum.which, x, fn, ctx);
    return sum;
}

struct step_sum step_price(const struct step_model *s, const struct roofs *r, const struct pass *p, uint32_t n_steps,
                           step_fn *fn, void *ctx)
{
    const struct shape x = { *p, 1, n_steps, false, false };
    return price_shape(s, r, &x, fn, ctx);
}

struct step_sum step_price_prompt(const struct step_model *s, const struct roofs *r, const struct pass *p, bool small_batch, step_fn *fn, void *ctx)
{
    const struct shape x = { *p, 1, 1, true, small_batch };
    return price_shape(s, r, &x, fn, ctx);
}

/* ---- a scenario ------------------------------------------------------------------------------ */

static uint32_t one(uint32_t n)
{
    return n > 0 ? n : 1;
}

/* Sequences spread over the groups of devices: as many each, and one more in some. */
struct groups {
    uint32_t fewer, more, n_more;
    bool together; /* they share experts, in step with the fullest */
};

static struct groups groups_of(const struct step_model *s, const struct scenario *o)
{
    const uint32_t dp = one(s->o.layout.dp), fewer = o->n_batch / dp, rest = o->n_batch % dp;
    return (struct groups){ fewer, rest > 0 ? fewer + 1 : fewer, rest > 0 ? rest : dp,
                            one(s->o.layout.ep) > one(s->o.layout.tp) };
}

/* The same model, its experts with the tokens of groups that are not all full. */
static struct step_model with_fill(const struct step_model *s, const struct scenario *o, const struct groups *g)
{
    struct step_model m = *s;
    m.o.cost.expert_fill = g->together ? (double)o->n_batch / ((double)g->more * one(s->o.layout.dp)) : 1;
    return m;
}

/* Tokens a second of all groups, n of each sequence: the fullest need `seconds`, the others `fewer_s`. */
static double tokens_s(const struct scenario *o, const struct step_model *s, const struct groups *g, double n, double seconds,
                       double fewer_s)
{
    if (g->together || g->more == g->fewer || g->fewer == 0)
        return n * o->n_batch / seconds;
    return n * ((double)g->n_more * g->more / seconds +
                (double)(one(s->o.layout.dp) - g->n_more) * g->fewer / fewer_s);
}

/* The passes of a prompt. */
struct adding {
    const struct step_model *s;
    const struct roofs *r;
    step_fn *fn;
    void *ctx;
    bool continued; /* as in the scenario */
    struct step_sum sum;
    double longest_s; /* of the passes */
    struct cost emitted; /* with constants: of the ops emitted to fn */
};

/* Without logits where more of the prompt follows. */
static struct pass pass_of(const struct pass *p, bool continued)
{
    struct pass own = *p;
    own.n_out = continued ? 0 : own.n_out;
    return own;
}

static void add_pass(void *ctx, const struct pass *p)
{
    struct adding *x = ctx;
    const struct pass own = pass_of(p, x->continued);
    if (interrupt_check(NULL) != 0) /* reported by the caller */
        return;
    const struct step_sum one_pass = step_price(x->s, x->r, &own, 1, x->fn, x->ctx);
    step_sum_add(&x->sum, &one_pass, 1);
    x->longest_s = fmax(x->longest_s, one_pass.seconds);
}

static void tell_pass(void *ctx, const struct pass *p)
{
    struct adding *x = ctx;
    const struct shape one_pass = { pass_of(p, x->continued), 1, 1, true, false }; /* its case is known */
    if (interrupt_check(NULL) == 0)
        x->emitted = cost_add(x->emitted, emit(x->s, x->r, x->sum.which, &one_pass, x->fn, x->ctx));
}

bool step_is_small_batch(uint32_t n_prompt, uint32_t n_ubatch)
{
    return n_prompt < TIME_PROMPT || n_ubatch < TIME_PROMPT;
}

static size_t prefill_shapes(struct shape out[2], const struct scenario *o, uint32_t n_seq)
{
    struct pass_group g[2];
    const size_t n = prefill_groups(o->n_prompt, o->n_depth, o->n_ubatch, n_seq, g);
    const bool small_batch = step_is_small_batch(o->n_prompt, o->n_ubatch);
    for (size_t i = 0; i < n; i++)
        out[i] = (struct shape){ pass_of(&g[i].p, o->continued), g[i].n, 1, true, small_batch };
    return n;
}

static void prefill_together(struct adding *x, const struct scenario *o, uint32_t n_seq)
{
    struct shape shape[2];
    const size_t n = prefill_shapes(shape, o, n_seq);
    x->sum = price_together(x->s, x->r, shape, n);
    x->longest_s = x->sum.seconds / fmax(x->sum.n_whole, 1);
    if (!x->fn)
        return;
    prefill_passes(o->n_prompt, o->n_depth, o->n_ubatch, n_seq, tell_pass, x);
    x->sum.cost = x->emitted;
}

/* A prompt of each of so many sequences. */
static struct step_sum prefill_group(const struct step_model *s, const struct roofs *r, const struct scenario *o,
                                     uint32_t n_seq, step_fn *fn, void *ctx)
{
    struct adding x = { .s = s, .r = r, .fn = fn, .ctx = ctx, .continued = o->continued };
    const uint32_t pp = one(s->o.layout.pp);
    if (r->time)
        prefill_together(&x, o, n_seq);
    else
        prefill_passes(o->n_prompt, o->n_depth, o->n_ubatch, n_seq, add_pass, &x);
    if (pp > 1 && r->roof && o->n_ubatch >= PREFILL_WHOLE) { /* of arbitrarily small passes: all stages are busy */
        set_seconds(&x.sum, x.sum.seconds * s->stretch / pp);
        x.sum.least_s = x.sum.seconds;
    } else if (pp > 1) { /* consecutive passes through the stages: all but the longest overlap, or as many as the software allows */
        const double part = r->time ? time_overlap(x.sum.n_whole, pp, r->time->copies, x.sum.n_kernel) : 0;
        set_seconds(&x.sum, fmax(x.longest_s + (x.sum.seconds - x.longest_s) * s->stretch / pp, x.sum.seconds * part));
        x.sum.least_s = x.sum.longest_least_s + (x.sum.least_s - x.sum.longest_least_s) * s->stretch / pp;
    }
    return x.sum;
}

/* A step of so many sequences. A pipeline has parts of them in every stage, some with one more; stages advance at the pace of the
 * slowest. */
static struct step_sum decode_group(const struct step_model *s, const struct roofs *r, const struct scenario *o,
                                    uint32_t n_seq, step_fn *fn, void *ctx)
{
    const uint32_t pp = one(s->o.layout.pp), fewer = n_seq / pp, n_more = n_seq % pp;
    struct pass p = decode_pass(o->n_depth, fewer + (n_more > 0));
    struct step_sum sum = step_price(s, r, &p, o->n_gen, fn, ctx);
    if (n_seq < pp) /* each alone, from stage to stage */
        return sum;
    if (n_more > 0) {
        p = decode_pass(o->n_depth, fewer);
        const struct step_sum few = step_price(s, r, &p, o->n_gen, NULL, NULL);
        set_seconds(&sum, (n_more * sum.seconds + (pp - n_more) * few.seconds) / pp);
        sum.least_s = (n_more * sum.least_s + (pp - n_more) * few.least_s) / pp;
    }
    set_seconds(&sum, sum.seconds * s->stretch);
    sum.least_s *= s->stretch;
    return sum;
}

static struct step_sum price_groups(const struct step_model *s, const struct roofs *r, const struct scenario *o, enum phase phase, step_fn *fn,
                                    void *ctx)
{
    const struct groups g = groups_of(s, o);
    const struct step_model m = with_fill(s, o, &g);
    const bool prompt = phase == PHASE_PREFILL;
    const double n = prompt ? o->n_prompt : 1;
    struct step_sum (*const price)(const struct step_model *, const struct roofs *, const struct scenario *, uint32_t, step_fn *, void *) =
        prompt ? prefill_group : decode_group;
    struct step_sum sum = price(&m, r, o, g.more, fn, ctx), few = { .seconds = NAN, .least_s = NAN };
    if (g.fewer != g.more && g.fewer > 0 && !g.together)
        few = price(&m, r, o, g.fewer, NULL, NULL);
    sum.tok_s = tokens_s(o, s, &g, n, sum.seconds, few.seconds);
    step_keep_below(&sum, r, tokens_s(o, s, &g, n, sum.least_s, few.least_s));
    return sum;
}

struct step_sum step_prefill(const struct step_model *s, const struct roofs *r, const struct scenario *o, step_fn *fn, void *ctx)
{
    return price_groups(s, r, o, PHASE_PREFILL, fn, ctx);
}

struct step_sum step_decode(const struct step_model *s, const struct roofs *r, const struct scenario *o, step_fn *fn, void *ctx)
{
    return price_groups(s, r, o, PHASE_DECODE, fn, ctx);
}

void step_features(struct time_features *f, const struct step_model *s, const struct roofs *r, const struct scenario *o,
                   enum phase phase)
{
    const struct groups g = groups_of(s, o);
    const struct step_model m = with_fill(s, o, &g);
    const uint32_t stages = (uint32_t)u64_ceil_div(g.more, one(s->o.layout.pp));
    struct step_sum unused = { 0 };
    struct shape shape[2] = { { decode_pass(o->n_depth, stages), 1, o->n_gen, false, false } };
    const size_t n = phase == PHASE_PREFILL ? prefill_shapes(shape, o, g.more) : 1;
    start(f, r, &shape[0]);
    for (size_t i = 0; i < n; i++)
        collect(f, &unused, &m, r, &shape[i]);
}

void pass_features(struct time_features *f, const struct step_model *s, const struct roofs *r, const struct pass *p)
{
    const struct shape x = { *p, 1, 1, false, false };
    struct step_sum unused = { 0 };
    start(f, r, &x);
    collect(f, &unused, s, r, &x);
}

bool pass_attend(struct time_attend *out, const struct step_model *s, const struct op_class *c, const struct roofs *r, const struct pass *p)
{
    struct step_model one = *s;
    one.c = (struct op_class *)c;
    one.n = 1;
    const struct step_pass at = { PHASE_DECODE, p->n_tok, p->n_past, p->n_seq };
    struct class_iterator w = class_iterator_begin(&one, p, 1);
    struct step op;
    struct refinement how = { .key = 0 };
    if (!r->time || !r->time->refine || !next_class(&w, &op))
        return false;
    op.math = roofs_math(r, &c->op);
    step_shape(&op, p);
    r->time->refine(r->time->what, &at, true, &op, &how);
    if (!(how.alone.seconds > 0))
        return false;
    *out = how.attend;
    out->flop_key = op.cost.flop / out->keys;
    return true;
}

static struct step_sum collect_request(struct time_features *f, const struct step_model *s, const struct roofs *r, const struct scenario *prompt,
                                   const struct scenario *steps)
{
    const struct groups g = groups_of(s, prompt);
    const struct step_model m = with_fill(s, prompt, &g);
    struct step_sum sum = { 0 };
    struct shape shape[3];
    size_t n = prefill_shapes(shape, prompt, g.more);
    shape[n++] = (struct shape){ decode_pass(steps->n_depth, g.more), steps->n_gen, steps->n_gen, false, false };
    start(f, r, &shape[0]);
    for (size_t i = 0; i < n; i++) {
        f->prompt = shape[i].prompt;
        f->decode = !f->prompt && r->time->refine;
        collect(f, &sum, &m, r, &shape[i]);
    }
    f->small_batch = f->prompt = false;
    f->request = true;
    return sum;
}

void request_features(struct time_features *f, const struct step_model *s, const struct roofs *r, const struct scenario *prompt,
                      const struct scenario *steps)
{
    (void)collect_request(f, s, r, prompt, steps);
}

struct step_sum step_request(const struct step_model *s, const struct roofs *r, const struct scenario *prompt,
                             const struct scenario *steps)
{
    struct time_features f;
    struct step_sum sum = collect_request(&f, s, r, prompt, steps);
    evaluate(&sum, r, &f);
    sum.tok_s = 1 / sum.seconds;
    step_keep_below(&sum, r, 1 / sum.least_s);
    return sum;
}
