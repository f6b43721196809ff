/* Predictions and explanations. */
#include "predict/predict.h"
#include "learn/anchors.h"
#include "lib/internal.h"
#include "lib/predict.h"
#include "timing/timing.h"
#include <math.h>
#include <stdlib.h>

const char *roofcast_bound_name(int bound)
{
    return bound >= 0 && bound < BOUND_COUNT ? bound_name((enum bound)bound) : "?";
}

void roofcast_predict_options_init(struct roofcast_predict_options *o, size_t size)
{
    const struct roofcast_predict_options defaults = { .size = sizeof defaults, .n_prompt = 512, .n_gen = 128, .n_batch = 1,
                                                       .tp = 1, .pp = 1, .dp = 1, .ep = 1 };
    lib_options_init(o, size, &defaults, sizeof defaults);
}

/* ---- options ------------------------------------------------------------------------------ */

struct roofcast_software {
    struct software *s, *serving; /* NULL: stack "none"; the same with the constants of a server's steps */
    bool materialized;
};

struct roofcast_software *roofcast_software_load(const char *stack, int materialized, struct roofcast_error *err)
{
    struct error e = { 0 };
    const struct software_options o = { .stack = stack };
    const struct software_query asked = { .materialized = materialized != 0 };
    struct roofcast_software *x = calloc(1, sizeof *x);
    int rc = x ? software_load(&x->s, &o, &asked, &e) : error_oom(&e, sizeof *x, "constants of software");
    if (rc == 0 && x->s && !(x->serving = software_serving(x->s, &e)))
        rc = -1;
    if (rc != 0) {
        lib_fail(err, &e);
        roofcast_software_free(x);
        return NULL;
    }
    x->materialized = materialized != 0;
    return x;
}

void roofcast_software_free(struct roofcast_software *x)
{
    if (!x)
        return;
    software_free(x->serving);
    software_free(x->s);
    free(x);
}

/* Whose constants: the caller's, or loaded for this call. */
static int find_software(const struct software **out, struct lib_pricing *x, const struct roofcast_model *m, const struct roofcast_machine *h,
                         const struct roofcast_predict_options *a, bool server, struct roofcast_error *err)
{
    struct error e = { 0 };
    char *hw = (char *)(*h->h.path ? h->h.path : h->h.id); /* read only, as all of the list is */
    const struct str_list machines = { .v = &hw, .n = 1 };
    const struct software_options so = { .stack = a->stack, .anchor = a->anchor_path };
    const struct software_query asked = { .roof = a->roof, .materialized = a->materialized, .hw = &machines, .model = m->m.name,
                                          .type = m->m.gguf ? NULL : m->m.type_name, .tp = (int)a->tp };
    if (a->software && (a->stack || a->anchor_path))
        return lib_error(err, ROOFCAST_ERROR_USAGE, "predict options: expected software, or stack and anchor_path, found both");
    if (!a->software && software_load(&x->software, &so, &asked, &e) != 0)
        return lib_fail(err, &e);
    if (server && x->software)
        software_serve(x->software);
    *out = !a->software ? x->software : server ? a->software->serving : a->software->s;
    return 0;
}

int lib_pricing_init(struct lib_pricing *x, const struct roofcast_model *m, const struct roofcast_machine *h,
                     const struct roofcast_predict_options *asked, bool server, struct roofcast_error *err)
{
    struct roofcast_predict_options a;
    const struct software *software;
    *x = (struct lib_pricing){ .software = NULL };
    roofcast_predict_options_init(&a, sizeof a);
    if (lib_options(&a, sizeof a, asked, err) != 0)
        return -1;
    if (a.n_threads > INT32_MAX)
        return lib_error(err, ROOFCAST_ERROR_USAGE, "predict options: expected n_threads of at most 2147483647");
    if (!(a.routing_zipf >= 0 && a.routing_zipf <= 10) || a.tp == 0 || a.pp == 0 || a.dp == 0 || a.ep == 0 ||
        a.tp > 65536 || a.pp > 65536 || a.dp > 65536 || a.ep > 65536)
        return lib_error(err, ROOFCAST_ERROR_USAGE, "predict options: expected tp, pp, dp and ep of 1 to 65536, routing_zipf of 0 to 10");
    if (a.software)
        a.materialized = a.software->materialized;
    x->routing = (struct routing){ .zipf = a.routing_zipf };
    x->o = (struct predict_options){
        .layout = { a.tp, a.pp, a.dp, a.ep }, .routing = &x->routing, .materialized = a.materialized != 0, .roof = a.roof != 0,
        .weights_bytes = NAN, .n_threads = (int)a.n_threads, .n_prompt = a.n_prompt, .n_gen = a.n_gen, .n_depth = a.n_depth,
        .n_batch = a.n_batch, .n_batched = a.n_ubatch,
    };
    if (lib_kv_types(&x->o.type_k, &x->o.type_v, m, a.type_k, a.type_v, err) != 0 || find_software(&software, x, m, h, &a, server, err) != 0)
        return -1;
    const struct time_source *time = software_time(software);
    x->o.time = a.roof ? NULL : time;
    x->o.n_ubatch = a.n_ubatch > 0 ? a.n_ubatch : a.roof ? PREFILL_WHOLE : time_ubatch(time, &h->h, &m->m);
    x->o.server = server || time_serves(time, &h->h, &m->m);
    return 0;
}

void lib_pricing_free(struct lib_pricing *x)
{
    software_free(x->software);
}

/* ---- predictions -------------------------------------------------------------------------- */

struct whole {
    struct roofcast_prediction p; /* first: the handle */
    struct roofcast_phase phase[PHASE_COUNT];
    struct predict_result r; /* texts point into it */
    char note[256];
};

static void fill_phase(struct roofcast_phase *out, const struct prediction *p)
{
    const struct prediction_factors f = prediction_factors(p->seconds, p->sd_s, p->sd_fast_s);
    *out = (struct roofcast_phase){
        .seconds = p->seconds, .seconds_low = p->seconds / f.faster, .seconds_high = p->seconds * f.slower,
        .tok_s = p->tok_s, .tok_s_low = p->tok_s / f.slower, .tok_s_high = p->tok_s * f.faster,
        .memory_s = p->memory_s, .compute_s = p->compute_s, .link_s = p->link_s, .bound = (int)p->bound, .cost = lib_cost(&p->cost),
        .bandwidth_bytes_s = p->bandwidth_bytes_s, .peak_flop_s = p->peak_flop_s,
        .bandwidth_source = p->bandwidth_source, .peak_source = p->peak_source, .math = p->math,
    };
    for (int i = 0; i < BOUND_COUNT; i++)
        out->bound_s[i] = p->bound_s[i];
}

static void fill_prediction(struct whole *w, const struct roofcast_model *m, const struct predict_options *o)
{
    const struct predict_result *r = &w->r;
    w->p = (struct roofcast_prediction){
        .stack = r->stack ? r->stack : "", .basis = r->basis ? r->basis : "", .ttft_s = r->ttft_s, .itl_s = r->itl_s,
        .n_devices = r->n_devices, .n_ubatch = o->n_ubatch, .weight_bytes = r->weight_total_bytes, .kv_bytes = r->kv_total_bytes,
        .act_bytes = r->act_peak_bytes, .runtime_bytes = r->runtime_bytes, .need_bytes = r->need_bytes,
        .memory_bytes = r->mem_bytes, .usable_bytes = r->usable_bytes, .fits = r->fits,
        .note = software_note(w->note, sizeof w->note, &m->m, r->stack, o->n_batch),
    };
    fill_phase(&w->phase[PHASE_PREFILL], &r->prefill);
    fill_phase(&w->phase[PHASE_DECODE], &r->decode);
    w->p.prefill = o->n_prompt > 0 ? &w->phase[PHASE_PREFILL] : NULL;
    w->p.decode = o->n_gen > 0 ? &w->phase[PHASE_DECODE] : NULL;
}

struct roofcast_prediction *roofcast_predict(const struct roofcast_model *m, const struct roofcast_machine *h,
                                             const struct roofcast_predict_options *o, struct roofcast_error *err)
{
    struct lib_pricing x;
    struct error e = { 0 };
    struct whole *w = calloc(1, sizeof *w);
    if (!w) {
        lib_error(err, ROOFCAST_ERROR_SYSTEM, "out of memory: a prediction");
        return NULL;
    }
    int rc = lib_pricing_init(&x, m, h, o, false, err);
    if (rc == 0 && predict_classes(&w->r, &m->x.classes, &h->h, &x.o, &e) != 0)
        rc = lib_fail(err, &e);
    if (rc == 0)
        fill_prediction(w, m, &x.o);
    lib_pricing_free(&x);
    if (rc == 0)
        return &w->p;
    free(w);
    return NULL;
}

void roofcast_prediction_free(struct roofcast_prediction *p)
{
    free(p);
}
