/*
 * Derivation of a phase's seconds: its classes of ops with their formulas, numbers substituted, and the constants behind them. methods.md
 * (26). Nothing is computed twice: costs and seconds are those that step_price() adds up, and the factors of a formula (tokens, pairs,
 * positions, experts) come from evaluating forms with one coefficient of 1.
 */
#include "predict/explain.h"
#include "predict/internal.h"
#include "timing/timing.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Of one op, over all passes. */
struct amounts {
    double n_tok, n_seq, pairs, positions, touched, scores;
};

struct explaining {
    struct explain *e;
    const struct step_model *s;
    const struct roofs *r;
    struct amounts *amount; /* of each class */
    struct pass pass;
    uint32_t n_steps;       /* > 1: the pass stands for so many decode steps */
    bool prompt, small_batch; /* passes are of a prompt, of few tokens each */
};

/* ---- what the formulas multiply ------------------------------------------------------------- */

static struct cost probe(const struct explaining *x, const struct cost_form *like, struct cost_form unit)
{
    unit.form = like->form;
    unit.form_tok = like->form_tok;
    unit.out_rows = like->out_rows;
    unit.chunked = like->chunked;
    unit.window = like->window;
    unit.n_top = like->n_top;
    unit.n_expert = like->n_expert;
    unit.n_expert_used = like->n_expert_used;
    unit.expert_groups = like->expert_groups;
    struct cost_memo memo = { 0 };
    return cost_eval(&unit, &x->pass, x->n_steps, &x->s->o.cost, &memo);
}

static void add_amounts(struct amounts *a, const struct explaining *x, const struct cost_form *f)
{
    const struct cost c = probe(x, f, (struct cost_form){ .act_in_tok = 1, .kv_present = 1, .flop_seen = 1,
                                                          .weight_expert = f->n_expert > 0 ? 1 : 0 });
    const struct cost seq = probe(x, f, (struct cost_form){ .kv_seq = 1 });
    a->n_tok += c.act_bytes;
    a->positions += c.kv_bytes;
    a->pairs += c.flop;
    a->touched += c.weight_bytes;
    a->n_seq += seq.kv_bytes;
    a->scores += f->act_score > 0 ? probe(x, f, (struct cost_form){ .act_score = 1, .kv_present = 1 }).act_bytes : 0;
}

/* ---- adding up ---------------------------------------------------------------------------------- */

static void add_class(void *ctx, const struct step *c)
{
    struct explaining *x = ctx;
    const size_t i = (size_t)(c->of - x->s->c);
    struct explain_class *to = &x->e->c[i];
    struct step *sum = &to->sum;
    const double n = c->count;
    to->op = c->of->op;
    to->n_pass++;
    sum->count = n;
    sum->cost = cost_add(sum->cost, cost_times(&c->cost, n));
    sum->seconds += n * c->seconds;
    sum->memory_s += n * c->memory_s;
    sum->compute_s += n * c->compute_s;
    sum->link_s += n * c->link_s;
    to->launch_s += n * fmax(0, c->seconds - fmax(c->link_s, fmax(c->memory_s, c->compute_s))); /* rounding */
    to->bound_s[c->bound] += n * c->seconds;
    to->act_in_cache = !x->r->time && c->cost.act_bytes <= x->r->last.bytes;
    to->roof_class = roofs_class(x->r, c->of);
    sum->math = x->r->roof ? x->r->fastest[to->roof_class].math : c->math;
    sum->alone = c->alone;
    if (c->kernel)
        kernel_roof_text(to->roof, sizeof to->roof, x->r, c);
    add_amounts(&x->amount[i], x, &c->of->form);
}

static void add_pass(void *ctx, const struct pass *p)
{
    struct explaining *x = ctx;
    x->pass = *p;
    x->e->n_pass++;
    if (interrupt_check(NULL) != 0) /* reported by explain_init */
        return;
    if (x->prompt)
        step_price_prompt(x->s, x->r, p, x->small_batch, add_class, x);
    else
        step_price(x->s, x->r, p, x->n_steps, add_class, x);
}

static uint32_t groups_of(uint32_t n, uint32_t parts)
{
    return (uint32_t)u64_ceil_div(n, parts > 0 ? parts : 1);
}

/* The passes of step_prefill() and step_decode(), and their seconds. */
static void add_phase(struct explaining *x, const struct predict_options *o, enum phase phase)
{
    const struct scenario sc = { o->n_prompt, o->n_gen, o->n_depth, o->n_batch, o->n_ubatch, false };
    const uint32_t group = groups_of(o->n_batch, o->layout.dp);
    if (phase == PHASE_PREFILL) {
        x->n_steps = 1;
        x->prompt = true;
        x->small_batch = step_is_small_batch(o->n_prompt, o->n_ubatch);
        prefill_passes(o->n_prompt, o->n_depth, o->n_ubatch, group, add_pass, x);
        x->e->seconds = step_prefill(x->s, x->r, &sc, NULL, NULL).seconds;
    } else {
        const struct pass first = decode_pass(o->n_depth, groups_of(group, o->layout.pp));
        x->n_steps = o->n_gen;
        add_pass(x, &first);
        x->e->seconds = step_decode(x->s, x->r, &sc, NULL, NULL).seconds;
    }
}

/* ---- formulas as text ----------------------------------------------------------------------------- */

struct text {
    char *s;
    size_t n, len;
};

__attribute__((format(printf, 2, 3))) static void append(struct text *t, const char *fmt, ...)
{
    va_list a;
    va_start(a, fmt);
    const int n = vsnprintf(t->s + t->len, t->n - t->len, fmt, a);
    va_end(a);
    t->len += n > 0 && (size_t)n < t->n - t->len ? (size_t)n : t->n - t->len - 1;
}

/* "32 x ", and " + " before what is not the first term. */
static void begin(struct text *t, double count)
{
    if (t->len > 0)
        append(t, " + ");
    if (count > 1)
        append(t, "%.10g x ", count);
}

/* A device's part of the whole. */
static void end_share(struct text *t, double part, double whole)
{
    const double n = whole / part;
    if (fabs(n - 1) < 1e-9)
        return;
    if (fabs(n - round(n)) < 1e-9)
        append(t, " / %.0f devices", n);
    else
        append(t, " x %.4g of it", part / whole);
}

static void tokens(struct text *t, double n_tok)
{
    append(t, " x %.10g token%s", n_tok, n_tok == 1 ? "" : "s");
}

static void say_weight(struct text *t, const struct explain_class *c, const struct cost_form *f, const struct cost_form *all,
                       const struct amounts *a)
{
    const struct op *op = &c->op;
    if (f->weight > 0) {
        begin(t, c->sum.count);
        if (op->kind == OP_MATMUL && op->w && all->weight > 0) {
            const size_t row = dtype_row_bytes(op->w->type, op->cols);
            /* separate scales of a checkpoint (4), and a bias */
            const double apart = (double)op->w->bytes - (double)op->rows * (double)row + (op->bias ? (double)op->bias->bytes : 0);
            append(t, apart != 0 ? "(%u rows x %zu B + %.0f B%s)" : "%u rows x %zu B", op->rows, row, apart,
                op->bias ? "" : " of scales");
            end_share(t, f->weight, all->weight);
        } else {
            append(t, "%.10g B", f->weight);
        }
        if (c->n_pass > 1)
            append(t, " x %.0f passes", c->n_pass);
    }
    if (f->weight_tok > 0) {
        begin(t, c->sum.count);
        append(t, "%.10g B per row", f->weight_tok);
        tokens(t, a->n_tok);
    }
    if (f->weight_expert > 0) {
        begin(t, c->sum.count);
        append(t, "%.6g experts touched of %.0f x %.10g B", a->touched, f->n_expert * c->n_pass, f->weight_expert);
    }
}

static void say_act(struct text *t, const struct explain_class *c, const struct cost_form *f, const struct cost_options *o,
                    const struct amounts *a)
{
    if (f->act_in_tok + f->act_out_tok > 0) {
        begin(t, c->sum.count);
        append(t, "(%.10g in + %.10g out) x %.0f B", f->act_in_tok / o->act_elem_bytes, f->act_out_tok / o->act_elem_bytes,
            o->act_elem_bytes);
        tokens(t, a->n_tok);
    }
    if (f->act_present > 0) {
        begin(t, c->sum.count);
        append(t, "%.10g B x %.10g positions", f->act_present, a->positions);
    }
    if (f->act_score > 0) {
        begin(t, c->sum.count);
        append(t, "%.10g B x %.10g scores", f->act_score, a->scores);
    }
}

static void say_kv(struct text *t, const struct explain_class *c, const struct cost_form *f, const struct amounts *a)
{
    if (f->kv_tok > 0) {
        begin(t, c->sum.count);
        append(t, "%.10g B written", f->kv_tok);
        tokens(t, a->n_tok);
    }
    if (f->kv_seq > 0) {
        begin(t, c->sum.count);
        append(t, "%.10g B of states x %.10g sequences", f->kv_seq, a->n_seq);
    }
    if (f->kv_present > 0) {
        begin(t, c->sum.count);
        if (c->op.kind == OP_ATTENTION && c->op.n_head_kv > 1 && fmod(f->kv_present, c->op.n_head_kv) == 0)
            append(t, "%u KV heads x %.10g B x %.10g positions", c->op.n_head_kv, f->kv_present / c->op.n_head_kv, a->positions);
        else
            append(t, "%.10g B per position x %.10g positions", f->kv_present, a->positions);
    }
}

static void say_flop(struct text *t, const struct explain_class *c, const struct cost_form *f, const struct cost_form *all,
                     const struct amounts *a)
{
    const struct op *op = &c->op;
    if (f->flop_tok > 0) {
        begin(t, c->sum.count);
        const double products = 2.0 * op->rows * op->cols * (op->kind == OP_EXPERT_MATMUL ? op->n_expert_used : 1);
        if ((op->kind == OP_MATMUL || op->kind == OP_EXPERT_MATMUL) && all->flop_tok > 0) {
            append(t, op->kind == OP_EXPERT_MATMUL ? "2 x %u x %u x %u experts" : "2 x %u x %u", op->rows, op->cols,
                op->n_expert_used);
            end_share(t, f->flop_tok, all->flop_tok);
            if (all->flop_tok > products)
                append(t, " and biases");
        } else {
            append(t, "%.10g", f->flop_tok);
        }
        tokens(t, a->n_tok);
    }
    if (f->flop_seen > 0) {
        begin(t, c->sum.count);
        if (op->kind == OP_ATTENTION && all->flop_seen > 0) {
            append(t, "2 x %u heads x (%u + %u)", op->n_head, op->head_dim, op->head_dim_v);
            end_share(t, f->flop_seen, all->flop_seen);
        } else {
            append(t, "%.10g", f->flop_seen);
        }
        append(t, " x %.10g pairs of token and key", a->pairs);
    }
    if (f->flop_present > 0) {
        begin(t, c->sum.count);
        append(t, "%.10g x %.10g positions", f->flop_present, a->positions);
    }
}

/* A nominal model's forms are not those of its ops. */
static void nominal_text(struct explain_class *c, const struct cost_form *f, const struct amounts *a)
{
    snprintf(c->weight, sizeof c->weight, "%.10g x %.10g B of the nominal model x %.0f pass%s", c->sum.count, f->weight, c->n_pass,
             c->n_pass == 1 ? "" : "es");
    snprintf(c->flop, sizeof c->flop, "%.10g x %.10g x %.10g tokens", c->sum.count, f->flop_tok, a->n_tok);
}

static void say_class(struct explain_class *c, const struct step_model *s, const struct op_class *from,
                      const struct amounts *a)
{
    const struct cost_form all = cost_form(&c->op, &s->o.cost), *f = &from->form;
    struct text w = { c->weight, sizeof c->weight, 0 }, act = { c->act, sizeof c->act, 0 }, kv = { c->kv, sizeof c->kv, 0 },
                flop = { c->flop, sizeof c->flop, 0 }, link = { c->link, sizeof c->link, 0 };
    c->sum.bound = bound_largest(c->bound_s);
    if (s->o.weights_bytes > 0) {
        nominal_text(c, f, a);
        return;
    }
    say_weight(&w, c, f, &all, a);
    say_act(&act, c, f, &s->o.cost, a);
    say_kv(&kv, c, f, a);
    say_flop(&flop, c, f, &all, a);
    if (f->link_tok > 0) {
        begin(&link, c->sum.count);
        append(&link, "%.10g B sent by each of %u devices", f->link_tok, from->n_comm);
        tokens(&link, a->n_tok);
    }
}

/* ---- constants ---------------------------------------------------------------------------------------- */

enum { MAX_CONSTANTS = 18 + MATH_COUNT + 2 * TIME_PARAMETER_COUNT };

__attribute__((format(printf, 6, 7))) static void constant(struct explain *e, const char *name, double v, const char *unit,
                                                           const char *formula, const char *fmt, ...)
{
    struct explain_constant *k = &e->k[e->n_k++];
    va_list a;
    *k = (struct explain_constant){ .value = v, .unit = unit, .formula = formula, .spread = NAN, .share = NAN };
    snprintf(k->name, sizeof k->name, "%s", name);
    va_start(a, fmt);
    vsnprintf(k->source, sizeof k->source, fmt, a);
    va_end(a);
}

static void factor(struct explain *e, const char *name, double v, const char *unit, const struct hw_value *from, bool roof)
{
    const bool stated = from->value >= 0;
    constant(e, name, v, unit, "(26)", "%s", roof ? "--roof: not applied" : stated ? from->source : "not stated in the profile");
}

static void links(struct explain *e, const struct roofs *r)
{
    if (isnan(r->link_bytes_s))
        return;
    constant(e, "link bandwidth", r->link_bytes_s, "B/s", "(24)", "%s", r->link_source);
    constant(e, "link latency", r->link_latency_s, "s", "(24)", "%s%s", r->link_source, r->link_ring ? "; a ring" : "");
}

/* The what-if change of a parameter; NULL: none. */
static const struct time_change *changed(const struct predict_options *o, enum time_parameter s)
{
    const struct time_change *c = NULL;
    for (size_t i = 0; i < o->n_change; i++)
        if (o->change[i].parameter == (int)s)
            c = &o->change[i];
    return c;
}

/* Subject of an explanation: machine and model. */
struct about {
    const struct step_model *s;
    const struct roofs *r;
    const struct model *m;
    const struct hwprofile *h;
};

/* Constants of software that affect the seconds of f, and their share of the variance; part: of these seconds in the total; of: suffix
 * of the names. (62) */
static void software(struct explain *e, const struct about *a, const struct predict_options *o, const struct time_features *f,
                     double part, const char *of)
{
    double g[TIME_PARAMETER_COUNT], share[TIME_PARAMETER_COUNT + 1];
    char text[224], name[48];
    const unsigned which = a->r->time->which(f);
    const struct time_constants *k = a->r->time->of[which];
    time_gradient(f, k->parameter, g, NULL);
    const double known = k->widen * time_spread(k, g, share), guess = k->guess_ln_sd;
    const double guessed = guess > 0 ? guess * guess / (known * known + guess * guess) : 0; /* of the variance */
    for (int i = 0; i < TIME_PARAMETER_COUNT; i++) {
        if (!(fabs(g[i]) > 1e-9) || (i == TIME_REQUEST && k->parameter[i] == 0 && !(share[i] > 0)))
            continue;
        const struct time_change *c = changed(o, (enum time_parameter)i);
        if (c)
            snprintf(text, sizeof text, c->times ? "what if: x%g" : "what if: %g", c->value);
        else
            o->time->explain(o->time->context, a->h, a->m, which, (enum time_parameter)i, text, sizeof text);
        snprintf(name, sizeof name, "%s%s", time_parameter_name((enum time_parameter)i), of);
        constant(e, name, time_parameter_value((enum time_parameter)i, k->parameter[i]),
                 strcmp(time_parameter_unit((enum time_parameter)i), "s") == 0 ? "s" : "", "(35)", "%s", text);
        e->k[e->n_k - 1].spread = exp(sqrt(k->cov[i][i]));
        e->k[e->n_k - 1].share = (1 - guessed) * part * share[i];
    }
    snprintf(name, sizeof name, "residual error%s", of);
    constant(e, name, exp(k->sigma), "", "(62)", "scatter of measurements with the same constants");
    e->k[e->n_k - 1].spread = exp(k->sigma);
    e->k[e->n_k - 1].share = (1 - guessed) * part * share[TIME_PARAMETER_COUNT];
    if (!(guess > 0))
        return;
    snprintf(name, sizeof name, "the machine%s", of);
    constant(e, name, exp(guess), "", "(56)", "no profile: uncertainty of its estimated bandwidth");
    e->k[e->n_k - 1].spread = exp(guess);
    e->k[e->n_k - 1].share = guessed * part;
}

/* Peaks by operand type, or, for a bound, the fastest units of each class of operands; each once. */
static void peaks(struct explain *e, const struct roofs *r)
{
    bool used[MATH_COUNT] = { false };
    for (size_t i = 0; i < e->n; i++) {
        const struct explain_class *c = &e->c[i];
        const struct peak *p = r->roof ? &r->fastest[c->roof_class] : &r->peak[c->sum.math];
        char name[48];
        if (!(c->sum.cost.flop > 0) || used[p->math])
            continue;
        used[p->math] = true;
        snprintf(name, sizeof name, "peak %s", math_name(p->math));
        constant(e, name, p->flop_s, "FLOP/s", r->roof ? "(27)" : "(26)", "%s", p->source);
    }
}

static void constants(struct explain *e, const struct roofs *r, const struct hwprofile *h, const struct predict_options *o)
{
    constant(e, "memory bandwidth W", r->bytes_s, "B/s", "(26)", "%s", r->bytes_source);
    peaks(e, r);
    if (!r->time) {
        factor(e, "e_b, of bandwidth", r->e_bandwidth, "", &h->eff.bandwidth, o->roof);
        factor(e, "e_c, of peaks", r->e_compute, "", &h->eff.compute, o->roof);
        factor(e, "launch", r->launch_s, "s", &h->eff.launch_s, o->roof);
    }
    constant(e, "activation element a", r->act_elem_bytes, "B", "(26)",
             r->cpu ? "F32, as in the engine" : "F16, as in GPU software");
    if (r->last.bytes > 0 && !r->time)
        constant(e, "last-level cache", r->last.bytes, "B", "(26)",
                 o->roof ? "--roof: activations stay on the chip" : "the profile; activations that fit stay there");
    if (isfinite(r->cache_bytes_s) && !r->time)
        constant(e, "cache bandwidth W'", r->cache_bytes_s, "B/s", "(26)", "measured: the profile's ceilings");
    links(e, r);
}

/* ---- all of it ------------------------------------------------------------------------------------------- */

/* Removes classes that never ran; the order is kept. */
static void compact(struct explaining *x)
{
    struct explain *e = x->e;
    for (size_t i = 0; i < x->s->n; i++) {
        if (e->c[i].n_pass == 0)
            continue;
        say_class(&e->c[i], x->s, &x->s->c[i], &x->amount[i]);
        e->sum_s += e->c[i].sum.seconds;
        e->c[e->n++] = e->c[i];
    }
    e->pipeline = e->sum_s > 0 ? e->seconds / e->sum_s : 1;
}

/* Explains a phase; one of a request in another context. */
static int explain_phase(struct explain *e, const struct about *a, const struct predict_options *o, enum phase phase, double times,
                         struct error *err)
{
    struct explaining x = { .e = e, .s = a->s, .r = a->r, .amount = calloc(a->s->n + 1, sizeof *x.amount) };
    e->c = calloc(a->s->n + 1, sizeof *e->c);
    if (x.amount && e->c) {
        add_phase(&x, o, phase);
        compact(&x);
    } else {
        error_oom(err, a->s->n * sizeof *e->c, "an explanation");
    }
    for (size_t i = 0; i < e->n; i++) {
        e->c[i].phase = phase;
        e->c[i].times = times;
    }
    const int rc = x.amount && e->c ? interrupt_check(err) : -1;
    free(x.amount);
    return rc;
}

static int explain_step(struct explain *e, const struct about *a, const struct predict_options *o, enum phase phase, struct error *err)
{
    const struct scenario sc = { o->n_prompt, o->n_gen, o->n_depth, o->n_batch, o->n_ubatch, false };
    struct time_features f;
    if (explain_phase(e, a, o, phase, 1, err) != 0)
        return -1;
    constants(e, a->r, a->h, o);
    if (a->r->time) {
        step_features(&f, a->s, a->r, &sc, phase);
        software(e, a, o, &f, 1, "");
    }
    return 0;
}

/* ---- a request (49), (50) --------------------------------------------------------------------------------- */

/* One list of both, the prompt's first. */
static int join(struct explain *e, const struct explain part[2], struct error *err)
{
    e->c = calloc(part[0].n + part[1].n + 1, sizeof *e->c);
    if (!e->c)
        return error_oom(err, (part[0].n + part[1].n) * sizeof *e->c, "an explanation");
    for (int p = 0; p < 2; p++)
        for (size_t i = 0; i < part[p].n; i++) {
            const struct explain_class *c = &part[p].c[i];
            e->sum_s += c->times * c->sum.seconds;
            e->c[e->n++] = *c;
        }
    return 0;
}

/* Restricts to the constants of whole requests, also for their parts. *t belongs to this explanation. */
static void only_case(struct timing *t, unsigned which)
{
    for (unsigned c = 0; c < TIME_CASES; c++)
        t->of[c] = t->of[which];
}

/* Separate constants of both parts, where a request is their sum: as if fully correlated, each with its spread. */
static void software_of_both(struct explain *e, const struct about *a, const struct predict_options *prompt, const struct predict_options *steps)
{
    const struct predict_options *o[2] = { prompt, steps };
    const enum phase phase[2] = { PHASE_PREFILL, PHASE_DECODE };
    double sd_s[2] = { 0 };
    for (int p = 0; p < 2; p++) {
        const struct scenario sc = { o[p]->n_prompt, o[p]->n_gen, o[p]->n_depth, o[p]->n_batch, o[p]->n_ubatch, false };
        sd_s[p] = p ? steps->n_gen * step_decode(a->s, a->r, &sc, NULL, NULL).sd_s : step_prefill(a->s, a->r, &sc, NULL, NULL).sd_s;
    }
    for (int p = 0; p < 2; p++) {
        const struct scenario sc = { o[p]->n_prompt, o[p]->n_gen, o[p]->n_depth, o[p]->n_batch, o[p]->n_ubatch, false };
        struct time_features f;
        step_features(&f, a->s, a->r, &sc, phase[p]);
        software(e, a, o[p], &f, sd_s[p] / (sd_s[0] + sd_s[1]), p ? ", steps" : ", prompt");
    }
}

static int explain_both(struct explain *e, struct timing *t, const struct about *a, const struct predict_options *prompt,
                        const struct predict_options *steps, struct error *err)
{
    const struct scenario first = { prompt->n_prompt, 0, prompt->n_depth, prompt->n_batch, prompt->n_ubatch, false },
                          later = { 0, steps->n_gen, steps->n_depth, steps->n_batch, steps->n_ubatch, false };
    const bool whole = a->r->time && prompt->layout.pp <= 1;
    struct explain part[2] = { { .n = 0 }, { .n = 0 } };
    struct step_sum sum = { 0 };
    struct time_features f;
    if (whole) {
        request_features(&f, a->s, a->r, &first, &later);
        sum = step_request(a->s, a->r, &first, &later);
        only_case(t, sum.which);
    }
    int rc = explain_phase(&part[0], a, prompt, PHASE_PREFILL, 1, err);
    rc = rc ? rc : explain_phase(&part[1], a, steps, PHASE_DECODE, steps->n_gen, err);
    rc = rc ? rc : join(e, part, err);
    if (rc == 0) {
        e->n_pass = part[0].n_pass + steps->n_gen;
        e->seconds = whole ? sum.seconds : part[0].seconds + steps->n_gen * part[1].seconds;
        e->pipeline = e->seconds / e->sum_s;
        constants(e, a->r, a->h, prompt);
        if (whole)
            software(e, a, prompt, &f, 1, "");
        else if (a->r->time)
            software_of_both(e, a, prompt, steps);
    }
    free(part[0].c);
    free(part[1].c);
    return rc;
}

/* request NULL: a phase. */
static int explain_asked(struct explain *e, struct timing *t, const struct about *a, const struct predict_options *o, enum phase phase,
                         const struct request *request, struct error *err)
{
    struct predict_options prompt = *o, steps = *o;
    if (!request)
        return explain_step(e, a, o, phase, err);
    prompt.n_prompt = request->n_in;
    if (request->n_out == 1)
        return explain_step(e, a, &prompt, PHASE_PREFILL, err);
    steps.n_prompt = 0;
    steps.n_gen = request->n_out - 1;
    steps.n_depth = o->n_depth + request->n_in;
    return explain_both(e, t, a, &prompt, &steps, err);
}

static int explain_any(struct explain *e, const struct model *m, const struct hwprofile *h, const struct predict_options *o, enum phase phase,
                       const struct request *request, struct error *err)
{
    struct model_classes x;
    struct estimator t;
    if (model_classes_init(&x, m, err) != 0)
        return -1;
    *e = (struct explain){ .k = calloc(MAX_CONSTANTS, sizeof *e->k) };
    int rc = e->k ? estimator_init(&t, &x.classes, h, o, err) : error_oom(err, MAX_CONSTANTS * sizeof *e->k, "an explanation");
    if (rc == 0) {
        const struct about a = { &t.step, &t.roofs, m, h };
        rc = t.roofs.time && request ? time_check(&x.classes, true, err) : 0;
        rc = rc ? rc : explain_asked(e, &t.timing, &a, o, phase, request, err);
        estimator_free(&t);
    }
    model_classes_free(&x);
    if (rc != 0)
        explain_free(e);
    return rc;
}

int explain_init(struct explain *e, const struct model *m, const struct hwprofile *h, const struct predict_options *o,
                 enum phase phase, struct error *err)
{
    *e = (struct explain){ 0 };
    if (check_scenario(o->n_prompt, o->n_gen, o->n_depth, o->n_batch, o->n_ubatch, err) != 0)
        return -1;
    return explain_any(e, m, h, o, phase, NULL, err);
}

int explain_request(struct explain *e, const struct model *m, const struct hwprofile *h, const struct predict_options *o,
                    const struct request *request, struct error *err)
{
    *e = (struct explain){ 0 };
    if (request->n_in == 0 || request->n_out == 0)
        return error_set(err, ERROR_USAGE, "cannot explain: a request of %u + %u tokens, at least one of each", request->n_in, request->n_out);
    if (check_scenario(request->n_in, request->n_out, o->n_depth, o->n_batch, o->n_ubatch, err) != 0)
        return -1;
    return explain_any(e, m, h, o, PHASE_PREFILL, request, err);
}

void explain_free(struct explain *e)
{
    free(e->c);
    free(e->k);
    *e = (struct explain){ 0 };
}
