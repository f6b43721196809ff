/*
 * The changes worth most: the test's scenario predicted again with one thing changed, as a ratio of two predictions of one model, so that what both have wrong
 * cancels (methods.md (64)-(66)); times the measured rate it is the rate to expect.
 */
#include "report/html_change.h"
#include "model/model.h"
#include "predict/speculate.h"
#include "timing/rescale.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRAFTED = 4 };
/* Acceptance of a drafted token that was not measured: the middle, and the interval's ends. An assumption, which the page states. */
static const double ACCEPTANCE = 0.6, ACCEPTANCE_LO = 0.4, ACCEPTANCE_HI = 0.8;

static const struct prediction *of_phase(const struct scene *s, const struct predict_result *r)
{
    return s->t->decode ? &r->decode : &r->prefill;
}

void html_scene_free(struct scene *s)
{
    software_free(s->software);
    free(s);
}

/* ---- the scenario -------------------------------------------------------------------------------------------------- */

static uint32_t whole(double v, uint32_t otherwise)
{
    return v >= 0 && v < INT32_MAX ? (uint32_t)v : otherwise;
}

static int load_software(struct scene *s, const char *stack, struct error *err)
{
    char id[sizeof s->h->id];
    char *name[] = { id };
    const struct str_list hw = { .v = name, .n = 1 };
    const struct software_options o = { .stack = stack };
    const struct software_query query = { .hw = &hw, .model = s->t->preset, .type = *s->t->type ? s->t->type : NULL, .tp = (int)s->t->layout.tp };
    memcpy(id, s->h->id, sizeof id);
    return software_load(&s->software, &o, &query, err);
}

static void set_options(struct scene *s)
{
    const struct html_test *t = s->t;
    const struct time_source *time = software_time(s->software);
    struct error ignored;
    s->o = (struct predict_options){
        .time = time,
        .weights_bytes = NAN,
        .n_prompt = t->decode ? 512 : whole(t->n_prompt, 512),
        .n_gen = t->decode && t->n_gen >= 1 ? whole(t->n_gen, 128) : 128,
        .n_depth = whole(t->n_depth, 0),
        .n_batch = t->n_batch >= 1 ? whole(t->n_batch, 1) : 1,
        .n_threads = t->n_threads >= 1 && *s->h->path ? (int)t->n_threads : 0, /* probes are of the run's threads */
        .n_ubatch = time_ubatch(time, s->h, s->m),
        .server = time_serves(time, s->h, s->m),
        .type_k = DTYPE_F16,
        .type_v = DTYPE_F16,
        .layout = t->layout,
    };
    if (*t->type_k && dtype_get_kv(&s->o.type_k, t->type_k, &ignored) != 0)
        s->o.type_k = DTYPE_F16;
    if (*t->type_v && dtype_get_kv(&s->o.type_v, t->type_v, &ignored) != 0)
        s->o.type_v = DTYPE_F16;
}

/* A stack that the engine's name stands for, else the machine's default. */
int html_predict_scene(struct scene *s, struct error *err)
{
    const char *stack = *s->t->engine && stack_named(s->t->engine) ? s->t->engine : NULL;
    if (!s->d->have_model || !s->d->have_machine) {
        *err = s->d->have_model ? s->d->no_machine : s->d->no_model;
        return -1;
    }
    if (load_software(s, stack, err) != 0)
        return -1;
    set_options(s);
    return predict(&s->r, s->m, s->h, &s->o, err);
}

/* ---- one change ------------------------------------------------------------------------------------------------------ */

static struct change *add_change(struct scene *s, enum change_kind kind)
{
    struct change *c = &s->v[s->n < MOST_CHANGES - 1 ? s->n++ : s->n];
    *c = (struct change){ .kind = kind, .ratio = { NAN, NAN, NAN } };
    return c;
}

/* The scenario with the changes of a text: "b=8". */
struct ratio html_ratio_of(const struct scene *s, const char *text, struct error *err)
{
    const struct ratio none = { NAN, NAN, NAN };
    struct whatif w;
    struct hwprofile h;
    struct predict_options o = s->o;
    struct predict_result r;
    struct model other;
    if (whatif_parse(&w, text, err) != 0 || whatif_profile(&h, s->h, err) != 0)
        return none;
    const char *type = whatif_type(&w);
    int rc = type ? model_load(&other, s->d->r->model ? s->d->r->model : s->t->preset, type, err) : 0;
    const bool loaded = type && rc == 0;
    rc = rc ? rc : whatif_apply(&w, &h, &o, err);
    rc = rc ? rc : predict(&r, loaded ? &other : s->m, &h, &o, err);
    if (loaded)
        model_free(&other);
    whatif_profile_free(&h);
    return rc == 0 ? prediction_ratio(of_phase(s, &s->r), of_phase(s, &r), predictions_alike(&s->r, &r, &w)) : none;
}

static struct change *try_change(struct scene *s, enum change_kind kind, const char *whatif)
{
    struct error why = { 0 };
    struct change *c = add_change(s, kind);
    c->ratio = html_ratio_of(s, whatif, &why);
    snprintf(c->reason, sizeof c->reason, "%.220s", why.msg);
    return c;
}

/*
 * The types to try: of a server's weights checkpoints of 8 and 4 bits; else GGUF's of 8 and 4, and below that only for weights that have about 4 already:
 * with 3 bits errors grow faster than bytes shrink.
 */
static const char *const *types_of(const struct scene *s)
{
    static const char *const more[] = { "Q8_0", "Q4_K_M", NULL }, *const fewer[] = { "Q3_K_M", NULL }, *const checkpoint[] = { "FP8", "AWQ", NULL };
    const bool serves = software_weights(s->m) != WEIGHTS_GGUF && s->r.stack && strncmp(s->r.stack, "llama.cpp", 9) != 0 && s->h->kind == HW_GPU;
    return serves ? checkpoint : 8.0 * (double)s->m->weight_bytes > 5.2 * (double)s->m->n_params ? more : fewer;
}

static void try_types(struct scene *s)
{
    for (const char *const *type = types_of(s); *type; type++) {
        char text[64];
        if (strcmp(*type, s->m->type_name) == 0)
            continue;
        snprintf(text, sizeof text, "type=%s", *type);
        struct change *c = try_change(s, CHANGE_TYPE, text);
        snprintf(c->text, sizeof c->text, "weights in %s instead of %.32s", *type, s->m->type_name);
        snprintf(c->note, sizeof c->note, "fewer bytes a token; quality: roofcast ppl --against, or roofcast choose");
    }
}

static void try_batch(struct scene *s)
{
    const uint32_t n = s->o.n_batch * (s->o.n_batch == 1 ? 8 : 4);
    char text[32];
    snprintf(text, sizeof text, "b=%u", n);
    struct change *c = try_change(s, CHANGE_BATCH, text);
    snprintf(c->text, sizeof c->text, "a batch of %u sequences instead of %u", n, s->o.n_batch);
    snprintf(c->note, sizeof c->note, "tokens/s of all sequences together; each sequence at %.0f %% of its present speed", 100 * c->ratio.value * s->o.n_batch / n);
}

static void try_kv(struct scene *s)
{
    if (s->o.type_k != DTYPE_F16 && s->o.type_k != DTYPE_BF16)
        return;
    struct change *c = try_change(s, CHANGE_KV_TYPE, "kv-type=Q8_0");
    snprintf(c->text, sizeof c->text, "the KV cache in Q8_0 instead of %s", dtype_name(s->o.type_k));
    snprintf(c->note, sizeof c->note, "worth more the longer the context; here %u tokens%s", s->o.n_depth, s->t->decode ? " before the first step" : "");
}

/* Gain of n-gram drafts at an acceptance; NaN: *err. */
static double draft_gain(const struct scene *s, double acceptance, struct error *err)
{
    struct speculation x;
    struct predict_result r;
    const struct spec_options o = { .kind = SPEC_NGRAM, .gamma = DRAFTED, .acceptance = { &acceptance, 1 } };
    return speculate(&x, &r, s->m, s->h, &s->o, &o, err) == 0 ? x.gain : NAN;
}

static void try_drafts(struct scene *s)
{
    struct error why = { 0 };
    if (!s->t->decode)
        return;
    struct change *c = add_change(s, CHANGE_DRAFTS);
    c->ratio = (struct ratio){ draft_gain(s, ACCEPTANCE, &why), draft_gain(s, ACCEPTANCE_LO, &why), draft_gain(s, ACCEPTANCE_HI, &why) };
    snprintf(c->reason, sizeof c->reason, "%.220s", why.msg);
    snprintf(c->text, sizeof c->text, "speculation: %d tokens a step drafted by n-gram search", DRAFTED);
    snprintf(c->note, sizeof c->note, "assumes that %.0f %% of drafted tokens are accepted, interval: %.0f to %.0f %%; measure it: roofcast predict --draft ngram --acceptance",
             100 * ACCEPTANCE, 100 * ACCEPTANCE_LO, 100 * ACCEPTANCE_HI);
}

static void try_threads(struct scene *s)
{
    struct error why = { 0 };
    struct predict_options o = s->o;
    struct predict_result r;
    if (s->h->kind != HW_CPU || s->o.n_threads <= 0 || s->h->n_cores <= s->o.n_threads)
        return;
    o.n_threads = s->h->n_cores;
    struct change *c = add_change(s, CHANGE_THREADS);
    if (predict(&r, s->m, s->h, &o, &why) == 0)
        c->ratio = prediction_ratio(of_phase(s, &s->r), of_phase(s, &r), 1);
    snprintf(c->reason, sizeof c->reason, "%.220s", why.msg);
    snprintf(c->text, sizeof c->text, "%d threads, one a core, instead of %d", o.n_threads, s->o.n_threads);
}

/* ---- another machine --------------------------------------------------------------------------------------------------- */

static struct ratio ratio_on(const struct scene *s, const char *name, struct hwprofile *h)
{
    struct error ignored = { 0 };
    struct predict_options o = s->o;
    struct predict_result r;
    if (hwprofile_load(h, name, &ignored) != 0)
        return (struct ratio){ NAN, NAN, NAN };
    o.n_threads = 0;
    o.n_ubatch = time_ubatch(o.time, h, s->m);
    o.server = time_serves(o.time, h, s->m);
    const bool same = hwprofile_same_name(h->id, s->h->id) || h->kind != s->h->kind;
    struct ratio x = { NAN, NAN, NAN };
    if (!same && predict(&r, s->m, h, &o, &ignored) == 0 && r.fits != 0)
        x = prediction_ratio(of_phase(s, &s->r), of_phase(s, &r), 0);
    if (isnan(x.value))
        hwprofile_free(h);
    return x;
}

/* The listed machine of the same kind that is the slowest to give at least twice the rate, else the fastest. */
static void try_machines(struct scene *s)
{
    char **names = NULL;
    size_t n = 0;
    struct error why = { 0 };
    struct change best = { .kind = CHANGE_MACHINE, .ratio = { NAN, NAN, NAN } };
    if (hwprofile_list(&names, &n, &why) != 0)
        return;
    for (size_t i = 0; i < n; i++) {
        struct hwprofile h;
        const struct ratio x = ratio_on(s, names[i], &h);
        if (isnan(x.value))
            continue;
        const bool nearer = x.value >= 2 && (best.ratio.value < 2 || x.value < best.ratio.value), faster = best.ratio.value < 2 && x.value > best.ratio.value;
        if (isnan(best.ratio.value) || nearer || faster) {
            best.ratio = x;
            snprintf(best.text, sizeof best.text, "the machine %.40s instead of %.60s", h.id, *s->h->name ? s->h->name : s->h->id);
            snprintf(best.note, sizeof best.note, "%.100s", x.value >= 2 ? "the slowest listed machine of its kind that gives twice the rate" : "the fastest listed machine of its kind");
        }
        hwprofile_free(&h);
    }
    name_list_free(names, n);
    if (!isnan(best.ratio.value))
        *add_change(s, CHANGE_MACHINE) = best;
}

void html_try_changes(struct scene *s)
{
    try_types(s);
    try_batch(s);
    try_kv(s);
    try_drafts(s);
    try_threads(s);
    try_machines(s);
}
