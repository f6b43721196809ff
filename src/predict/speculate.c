/* Speculative decoding: tokens of a round, seconds of drafting and verification, and the resulting rate. methods.md (53) */
#include "predict/speculate.h"
#include "predict/internal.h"
#include "timing/timing.h"
#include <math.h>

const char *spec_kind_name(enum spec_kind k)
{
    switch (k) {
    case SPEC_MODEL:
        return "model";
    case SPEC_NGRAM:
        return "ngram";
    case SPEC_MTP:
        return "mtp";
    }
    return "?";
}

/* ---- tokens of a round --------------------------------------------------------- */

static double chance(const struct acceptance *a, uint32_t position)
{
    return a->a[position < a->n ? position : a->n - 1];
}

/* With S_j the chance that more than j tokens come: E[n] = sum S_j, E[n^2] = sum (2 j + 1) S_j, over j = 0 .. gamma. */
struct spec_tokens spec_tokens(const struct acceptance *a, uint32_t gamma)
{
    double more = 1, mean = 1, square = 1;
    for (uint32_t j = 1; j <= gamma; j++) {
        more *= chance(a, j - 1);
        mean += more;
        square += (2.0 * j + 1) * more;
    }
    return (struct spec_tokens){ .mean = mean, .variance = fmax(0, square - mean * mean), .all = more };
}

double spec_first_tokens(enum spec_kind k, const struct spec_tokens *t)
{
    return k == SPEC_MTP ? t->mean : 1 + t->all;
}

double spec_gain(double tokens, double plain_s, double draft_s, double verify_s)
{
    return tokens * plain_s / (draft_s + verify_s);
}

/* ---- drafters ----------------------------------------------------------------------------------- */

static int draft_model(struct drafter *d, const struct model *draft, const struct op_classes *target,
                       const struct step_options *o, struct error *err)
{
    struct error not_divided = { 0 };
    struct step_options own = *o;
    if (draft->hp.n_vocab != target->m->hp.n_vocab)
        return error_set(err, ERROR_USAGE, "the draft model %s has a vocabulary of %u tokens, %s one of %u: drafts must share it",
                         draft->name, draft->hp.n_vocab, target->m->name, target->m->hp.n_vocab);
    if (op_list_build(&d->ops, draft, err) != 0 || op_classes_init(&d->classes, draft, &d->ops, err) != 0)
        return -1;
    d->layout = (struct layout){ .tp = o->layout.tp, .dp = o->layout.dp };
    if (layout_check(&d->layout, &d->classes, &not_divided) != 0)
        d->layout.tp = 1;
    own.layout = d->layout;
    if (o->cost.routing && o->cost.routing->popularity) /* recorded of the target's experts */
        own.cost.routing = NULL;
    if (cost_check_kv(&d->ops, &own.cost, err) != 0 || step_model_init(&d->step, &d->classes, &own, err) != 0)
        return -1;
    d->weight_bytes = step_weight_bytes(&d->classes, &d->layout);
    return 0;
}

/* The layer with the target's table and head; where its file has none, one like the target's last layer. */
static int draft_mtp(struct drafter *d, const struct op_classes *target, const struct step_options *o, struct error *err)
{
    if (nextn_init(&d->nextn, target->m, err) != 0 || nextn_classes_init(&d->classes, &d->nextn, target->m, err) != 0)
        return -1;
    d->layout = o->layout;
    d->weight_bytes = step_weight_bytes(&d->classes, &d->layout);
    return step_model_init(&d->step, &d->classes, o, err);
}

int drafter_init(struct drafter *d, const struct spec_options *s, const struct op_classes *target,
                 const struct step_options *o, uint64_t n_ctx, uint32_t n_ubatch, struct error *err)
{
    int rc = 0;
    *d = (struct drafter){ .kind = s->kind, .layout = o->layout };
    switch (s->kind) {
    case SPEC_MODEL:
        rc = draft_model(d, s->draft, target, o, err);
        break;
    case SPEC_NGRAM:
        break;
    case SPEC_MTP:
        rc = draft_mtp(d, target, o, err);
        break;
    }
    if (rc != 0)
        drafter_free(d);
    else if (d->step.n > 0)
        d->kv_seq_bytes = step_kv_bytes(&d->classes, &d->layout, &o->cost, n_ctx, n_ubatch);
    return rc;
}

void drafter_free(struct drafter *d)
{
    step_model_free(&d->step);
    op_classes_free(&d->classes);
    op_list_free(&d->ops);
    nextn_free(&d->nextn);
}

/* ---- a round ---------------------------------------------------------------------------------------- */

/* gamma drafted tokens of each sequence and the one before them, all of whose logits are compared. */
static struct pass verify_pass(uint32_t n_seq, uint32_t n_past, uint32_t gamma)
{
    const uint32_t n = n_seq * (gamma + 1);
    return (struct pass){ .n_tok = n, .n_past = n_past, .n_seq = n_seq, .n_out = n };
}

struct spec_round spec_round(const struct step_model *target, const struct roofs *r, const struct drafter *d,
                             const struct roofs *draft_r, uint32_t n_seq, uint32_t n_past, uint32_t gamma, const struct spec_tokens *tokens)
{
    const struct pass verify = verify_pass(n_seq, n_past, gamma);
    const struct step_sum v = step_price(target, r, &verify, 1, NULL, NULL);
    const struct draft_passes p = draft_passes_of(n_seq, n_past, gamma, spec_first_tokens(d->kind, tokens));
    struct spec_round x = { .verify_s = v.seconds, .verify_flop = v.cost.flop };
    for (uint32_t i = 0; i < p.n; i++) {
        const struct step_sum t = step_price(&d->step, draft_r, &p.pass[i], p.n_steps[i], NULL, NULL); /* zeros without classes */
        x.draft_s += p.times[i] * t.seconds;
        x.draft_flop += p.times[i] * t.cost.flop;
    }
    return x;
}

/* ---- a prediction ---------------------------------------------------------------------------------------- */

/* State of a prediction with drafts. */
struct speculating {
    const struct predict_options *o;
    const struct spec_options *s;
    struct estimator t;        /* the target */
    struct drafter d;
    struct roofs draft;        /* with the constants of a draft model's own weights and size */
    struct timing draft_timing;
    struct scenario scenario;
    uint32_t seqs;    /* of one group of devices */
    uint32_t past[2]; /* mean positions before a round: halfway through the generation, or on both sides of it */
};

/* Tokens of a round limited to the generation: min(n, N) is distributed as n of N - 1 drafted tokens. (53) */
static struct spec_tokens tokens_of_round(const struct speculating *x, uint32_t gamma)
{
    const uint32_t most = x->o->n_gen - 1;
    return spec_tokens(&x->s->acceptance, gamma < most ? gamma : most);
}

/* The mean round, of gamma drafted tokens. */
static struct spec_round mean_round(const struct speculating *x, uint32_t gamma)
{
    const struct spec_tokens n = tokens_of_round(x, gamma);
    const struct spec_round a = spec_round(&x->t.step, &x->t.roofs, &x->d, &x->draft, x->seqs, x->past[0], gamma, &n);
    const struct spec_round b = spec_round(&x->t.step, &x->t.roofs, &x->d, &x->draft, x->seqs, x->past[1], gamma, &n);
    return (struct spec_round){ .draft_s = (a.draft_s + b.draft_s) / 2 + x->s->host_s,
                                .verify_s = (a.verify_s + b.verify_s) / 2,
                                .draft_flop = (a.draft_flop + b.draft_flop) / 2,
                                .verify_flop = (a.verify_flop + b.verify_flop) / 2 };
}

static void look_for_best(const struct speculating *x, struct speculation *out, double plain_s)
{
    for (uint32_t g = 1; g <= SPEC_BEST_GAMMA; g++) {
        const struct spec_round r = mean_round(x, g);
        const double gain = spec_gain(tokens_of_round(x, g).mean, plain_s, r.draft_s, r.verify_s);
        if (g == 1 || gain > out->best_gain) {
            out->best_gain = gain;
            out->best_gamma = g;
        }
    }
}

/* Seconds per token: the round's passes, each counting 1 / E[n] times. */
static void price_token(const struct speculating *x, struct prediction *decode, const struct spec_tokens *t)
{
    const uint32_t gamma = x->s->gamma;
    const double tokens = t->mean;
    struct phase_pricing p;
    struct step_sum sum = { 0 };
    phase_begin(&p, &x->t.roofs, decode);
    for (size_t i = 0; i < ARRAY_LEN(x->past); i++) {
        const struct pass verify = verify_pass(x->seqs, x->past[i], gamma);
        const struct draft_passes draft = draft_passes_of(x->seqs, x->past[i], gamma, spec_first_tokens(x->d.kind, t));
        p.times = 0.5 / tokens;
        const struct step_sum v = step_price(&x->t.step, &x->t.roofs, &verify, 1, phase_add, &p);
        step_sum_add(&sum, &v, p.times);
        for (uint32_t k = 0; k < draft.n; k++) {
            p.times = 0.5 * draft.times[k] / tokens;
            const struct step_sum d = step_price(&x->d.step, &x->draft, &draft.pass[k], draft.n_steps[k], phase_add, &p);
            step_sum_add(&sum, &d, p.times);
        }
    }
    sum.seconds += x->s->host_s / tokens;
    sum.least_s += x->s->host_s / tokens;
    sum.tok_s = x->o->n_batch / sum.seconds;
    step_keep_below(&sum, &x->t.roofs, x->o->n_batch / sum.least_s);
    phase_end(&p, &sum, x->o->n_batch);
}

/* The drafter's own prefill and memory. */
static void add_drafter(const struct speculating *x, struct predict_result *r)
{
    const struct predict_options *o = x->o;
    const double kv = x->d.kv_seq_bytes * x->seqs;
    if (o->n_prompt > 0)
        r->ttft_s += step_prefill(&x->d.step, &x->draft, &x->scenario, NULL, NULL).seconds;
    r->itl_s = r->decode.seconds;
    r->weight_total_bytes += x->d.weight_bytes;
    r->kv_total_bytes += kv;
    r->need_bytes += x->d.weight_bytes + kv;
    r->fits = r->fits < 0 ? r->fits : r->need_bytes <= r->usable_bytes;
}

static void fill(const struct speculating *x, struct speculation *out, struct predict_result *r)
{
    const struct step_sum step = step_decode(&x->t.step, &x->t.roofs, &x->scenario, NULL, NULL);
    const struct spec_round round = mean_round(x, x->s->gamma);
    const struct spec_tokens n = tokens_of_round(x, x->s->gamma);
    *out = (struct speculation){ .tokens = n,
                                 .draft_s = round.draft_s,
                                 .verify_s = round.verify_s,
                                 .round_s = round.draft_s + round.verify_s,
                                 .gain = spec_gain(n.mean, step.seconds, round.draft_s, round.verify_s),
                                 .flop_factor = (round.draft_flop + round.verify_flop) / (n.mean * step.cost.flop) };
    price_token(x, &r->decode, &n);
    /* N / E[n] rounds of each of B sequences, all independent: the mean of so many n. (53) */
    out->tok_s_sd = r->decode.tok_s * sqrt(n.variance / (n.mean * x->o->n_gen * x->o->n_batch));
    look_for_best(x, out, step.seconds);
    add_drafter(x, r);
}

static int check(const struct predict_options *o, const struct spec_options *s, struct error *err)
{
    if (s->gamma < 1 || s->gamma > SPEC_MAX_GAMMA)
        return error_set(err, ERROR_USAGE, "cannot predict: %u drafted tokens a round: expected 1 to %d", s->gamma,
                         SPEC_MAX_GAMMA);
    for (size_t i = 0; i < s->acceptance.n; i++)
        if (!(s->acceptance.a[i] >= 0 && s->acceptance.a[i] <= 1))
            return error_set(err, ERROR_USAGE, "cannot predict: an acceptance of %g: expected 0 to 1", s->acceptance.a[i]);
    if (s->acceptance.n == 0 || !(s->host_s >= 0))
        return error_set(err, ERROR_USAGE, "cannot predict: drafts without an acceptance, or with a negative time");
    if (s->kind == SPEC_MODEL && !s->draft)
        return error_set(err, ERROR_USAGE, "cannot predict: no draft model");
    if (o->layout.pp > 1)
        return error_set(err, ERROR_USAGE, "cannot predict: pp %u with drafts: how drafting and verification fill a "
                                           "pipeline is not known here", o->layout.pp);
    if ((uint64_t)o->n_batch * (s->gamma + 1) > INT32_MAX)
        return error_set(err, ERROR_USAGE, "cannot predict: %u sequences with %u drafted tokens each: too many for a pass",
                         o->n_batch, s->gamma);
    if (o->weights_bytes > 0)
        return error_set(err, ERROR_USAGE, "cannot predict: a nominal model has no drafts");
    return 0;
}

static int speculate_timed(struct speculating *x, struct speculation *out, struct predict_result *r, const struct op_classes *l,
                           const struct hwprofile *h, struct error *err)
{
    const struct predict_options *o = x->o;
    const struct step_options *so = &x->t.step.o;
    const uint64_t n_ctx = (uint64_t)o->n_depth + o->n_prompt + o->n_gen + o->n_look_ahead;
    if (roofs_init(&x->draft, h, o, err) != 0 || drafter_init(&x->d, x->s, l, so, n_ctx, cost_filled(o->n_ubatch, o->n_prompt), err) != 0)
        return -1;
    const int rc = roofs_set_time(&x->draft, &x->draft_timing, h, x->d.classes.n > 0 ? &x->d.classes : l, o, err);
    if (rc == 0)
        fill(x, out, r);
    drafter_free(&x->d);
    return rc == 0 ? interrupt_check(err) : rc;
}

/* For compiled steps: o includes the look-ahead, for memory. */
static int speculate_classes(struct speculation *out, struct predict_result *r, const struct op_classes *l,
                             const struct hwprofile *h, const struct predict_options *o, const struct spec_options *s,
                             struct error *err)
{
    struct speculating x = { .o = o, .s = s, .seqs = (uint32_t)u64_ceil_div(o->n_batch, o->layout.dp > 0 ? o->layout.dp : 1) };
    x.scenario = (struct scenario){ o->n_prompt, o->n_gen, o->n_depth, o->n_batch, o->n_ubatch, false };
    x.past[0] = o->n_depth + (o->n_gen - 1) / 2;
    x.past[1] = o->n_depth + o->n_gen / 2;
    if (predict_classes(r, l, h, o, err) != 0 || estimator_init(&x.t, l, h, o, err) != 0)
        return -1;
    const int rc = speculate_timed(&x, out, r, l, h, err);
    estimator_free(&x.t);
    roofs_free(&x.draft);
    timing_free(&x.draft_timing);
    return rc;
}

int speculate(struct speculation *out, struct predict_result *r, const struct model *m, const struct hwprofile *h,
              const struct predict_options *o, const struct spec_options *s, struct error *err)
{
    struct model_classes x;
    struct predict_options ahead = *o;
    ahead.n_look_ahead = s->gamma;
    *out = (struct speculation){ 0 };
    if (check(o, s, err) != 0)
        return -1;
    if (o->n_gen == 0)
        return error_set(err, ERROR_USAGE, "cannot predict: drafts, but no tokens to generate");
    if (model_classes_init(&x, m, err) != 0)
        return -1;
    const int rc = speculate_classes(out, r, &x.classes, h, &ahead, s, err);
    model_classes_free(&x);
    return rc;
}
