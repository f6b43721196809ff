/* roofcast predict: a prediction as a row of JSON. */
#include "predict/errors.h"
#include "report/fields.h"
#include "report/predict_report.h"
#include "timing/timing.h"
#include <math.h>
#include <stdlib.h>

const struct prediction *predict_of(const struct subject *s)
{
    return s->request ? &s->total : s->phase == PHASE_PREFILL ? &s->r.prefill : &s->r.decode;
}

/* "req2048+512x8@d100": a request's test ends as those of its prompt do. */
static json_t *test_json(const struct subject *s)
{
    char name[96], end[64];
    if (s->request) {
        phase_test_name(end, sizeof end, PHASE_PREFILL, s->request->n_out, s->o.n_batch, s->o.n_depth);
        snprintf(name, sizeof name, "req%u+%s", s->request->n_in, end + 2);
        return json_string(name);
    }
    phase_test_name(name, sizeof name, s->phase, s->phase == PHASE_PREFILL ? s->o.n_prompt : s->o.n_gen, s->o.n_batch,
                    s->o.n_depth);
    predict_draft_name(name, sizeof name, s);
    return json_string(name);
}

/* What was asked for instead of the model's own work: a figure priced so is nominal. */
int predict_put_nominal(json_t *j, const struct predict_cli *o)
{
    int bad = json_object_set_new(j, "weights_gb", o->weights_all ? json_string("all") : json_num(o->weights_gb));
    bad |= json_object_set_new(j, "weights_only", json_boolean(o->weights_only));
    return bad;
}

static int put_interval(json_t *j, const char *key, double lo, double hi)
{
    char name[64];
    snprintf(name, sizeof name, "%s_lo", key);
    int bad = json_object_set_new(j, name, json_num(lo));
    snprintf(name, sizeof name, "%s_hi", key);
    return bad | json_object_set_new(j, name, json_num(hi));
}

static json_t *source_json(const char *source)
{
    return *source ? json_text(source) : json_null();
}

static int put_subject(json_t *j, const struct subject *s)
{
    char note[256];
    int bad = json_object_set_new(j, "model", json_string(s->m->name));
    bad |= fields_machine(j, s->h);
    bad |= json_object_set_new(j, "reason", s->reason ? json_text(s->reason) : json_null());
    bad |= json_object_set_new(j, "note", source_json(software_note(note, sizeof note, s->m, s->r.stack, s->o.n_batch)));
    bad |= json_object_set_new(j, "type", json_string(s->m->type_name));
    bad |= json_object_set_new(j, "test", test_json(s));
    bad |= json_object_set_new(j, "phase", json_string(s->request ? "request" : phase_name(s->phase)));
    bad |= json_object_set_new(j, "n_prompt", json_integer(s->o.n_prompt));
    bad |= json_object_set_new(j, "n_gen", json_integer(s->o.n_gen));
    bad |= json_object_set_new(j, "n_depth", json_integer(s->o.n_depth));
    bad |= json_object_set_new(j, "n_batch", json_integer(s->o.n_batch));
    bad |= json_object_set_new(j, "n_ubatch", s->o.n_ubatch < PREFILL_WHOLE ? json_integer(s->o.n_ubatch) : json_null());
    bad |= fields_kv_types(j, s->o.type_k, s->o.type_v);
    bad |= fields_layout(j, &s->o.layout);
    bad |= predict_put_nominal(j, s->cli);
    bad |= predict_draft_put(j, s);
    bad |= json_object_set_new(j, "what_if", s->what_if ? json_text(s->what_if) : json_null());
    const struct ratio r = s->what_if && !s->reason ? prediction_ratio(predict_of(s->base), predict_of(s), predictions_alike(&s->base->r, &s->r, s->change))
                                      : (struct ratio){ NAN, NAN, NAN };
    bad |= json_object_set_new(j, "speedup", json_num(r.value));
    return bad | put_interval(j, "speedup", r.lo, r.hi);
}

int predict_put_seconds_interval(json_t *j, const char *key, double seconds, const struct prediction *p)
{
    const struct prediction_factors f = prediction_factors(p->seconds, p->sd_s, p->sd_fast_s);
    return put_interval(j, key, seconds / f.faster, seconds * f.slower);
}

int predict_put_rate_interval(json_t *j, const char *key, double rate, const struct prediction *p)
{
    const struct prediction_factors f = prediction_factors(p->seconds, p->sd_s, p->sd_fast_s);
    return put_interval(j, key, rate / f.slower, rate * f.faster);
}

/* Whether the limits of --slo hold, of the scenario or of a request. */
static int put_limits(json_t *j, const struct subject *s)
{
    const struct limits *l = &s->cli->software.limits;
    const struct prediction *p = &s->r.prefill, *d = &s->r.decode;
    const double whole = s->r.ttft_s / p->seconds;
    const struct limit_phase prefill = { s->r.ttft_s, p->tok_s, p->sd_s * whole, p->sd_fast_s * whole, p->parts },
                             decode = { d->seconds, d->tok_s, d->sd_s, d->sd_fast_s, d->parts };
    const struct limits_answer a = limits_answer(l, &prefill, &decode);
    int bad = json_object_set_new(j, "slo", l->n > 0 ? json_string(s->cli->software.slo) : json_null());
    bad |= json_object_set_new(j, "slo_met", l->n > 0 ? json_string(limit_met_name(a.met)) : json_null());
    bad |= json_object_set_new(j, "slo_chance", json_num(a.chance));
    bad |= json_object_set_new(j, "slo_chance_lo", json_num(a.least));
    bad |= json_object_set_new(j, "slo_chance_hi", json_num(a.most));
    return bad | json_object_set_new(j, "slo_correlation", json_num(a.correlation));
}

/* What holds for the scenario, in each of its rows. */
static int put_scenario(json_t *j, const struct subject *s)
{
    const struct predict_result *r = &s->r;
    int bad = json_object_set_new(j, "ttft_s", json_num(r->ttft_s));
    bad |= predict_put_seconds_interval(j, "ttft_s", r->ttft_s, &r->prefill);
    bad |= json_object_set_new(j, "itl_s", json_num(r->itl_s));
    bad |= predict_put_seconds_interval(j, "itl_s", r->itl_s, &r->decode);
    bad |= json_object_set_new(j, "stack", r->stack ? json_string(r->stack) : json_null());
    bad |= json_object_set_new(j, "basis", r->basis ? json_string(r->basis) : json_null());
    bad |= put_limits(j, s);
    bad |= json_object_set_new(j, "fits", r->fits < 0 ? json_null() : json_boolean(r->fits));
    bad |= json_object_set_new(j, "need_bytes", json_num(r->need_bytes));
    bad |= json_object_set_new(j, "memory_bytes", json_num(r->mem_bytes));
    bad |= json_object_set_new(j, "usable_bytes", json_num(r->usable_bytes));
    bad |= json_object_set_new(j, "weight_total_bytes", json_num(r->weight_total_bytes));
    bad |= json_object_set_new(j, "kv_total_bytes", json_num(r->kv_total_bytes));
    bad |= json_object_set_new(j, "act_peak_bytes", json_num(r->act_peak_bytes));
    bad |= json_object_set_new(j, "runtime_bytes", json_num(r->runtime_bytes));
    return bad;
}

/* The roofs the phase was priced with, for charts and for whoever doubts the number. */
static int put_roofs(json_t *j, const struct prediction *p)
{
    int bad = json_object_set_new(j, "bandwidth_bytes_s", json_num(p->bandwidth_bytes_s));
    bad |= json_object_set_new(j, "bandwidth_source", source_json(p->bandwidth_source));
    bad |= json_object_set_new(j, "peak_flop_s", json_num(p->peak_flop_s));
    bad |= json_object_set_new(j, "peak_source", source_json(p->peak_source));
    bad |= json_object_set_new(j, "math", source_json(p->math));
    bad |= json_object_set_new(j, "derived", *p->math ? json_boolean(p->derived) : json_null());
    return bad;
}

/* A price's cost, and what devices send each other: 0 among one. */
static int put_cost(json_t *j, const struct cost *c)
{
    return fields_cost(j, c) | json_object_set_new(j, "link_bytes", json_num(c->link_bytes));
}

static bool role_used(const struct step *r)
{
    return r->seconds > 0 || cost_bytes(&r->cost) > 0;
}

static int put_role(json_t *j, const struct prediction *p, const struct step *r)
{
    int bad = json_object_set_new(j, "role", json_string(op_role_name(r->role)));
    bad |= json_object_set_new(j, "seconds", json_num(r->seconds));
    bad |= json_object_set_new(j, "share", json_num(p->seconds > 0 ? r->seconds / p->seconds : NAN));
    bad |= json_object_set_new(j, "flop_s", json_num(r->seconds > 0 ? r->cost.flop / r->seconds : NAN));
    bad |= json_object_set_new(j, "bound", json_string(bound_name(r->bound)));
    bad |= json_object_set_new(j, "role_math", r->math == MATH_COUNT ? json_null() : json_string(math_name(r->math)));
    bad |= put_cost(j, &r->cost);
    return bad;
}

static json_t *roles_json(const struct prediction *p)
{
    json_t *roles = json_array();
    for (int i = 0; i < ROLE_COUNT; i++) {
        json_t *j = role_used(&p->role[i]) ? json_object() : NULL;
        if (j && (put_role(j, p, &p->role[i]) | json_array_append_new(roles, j)) != 0) {
            json_decref(roles);
            return NULL;
        }
    }
    return roles;
}

static int put_prediction(json_t *j, const struct prediction *p)
{
    int bad = json_object_set_new(j, "role", json_null());
    bad |= json_object_set_new(j, "seconds", json_num(p->seconds));
    bad |= json_object_set_new(j, "tok_s", json_num(p->tok_s));
    bad |= put_cost(j, &p->cost);
    bad |= json_object_set_new(j, "bound", p->seconds > 0 ? json_string(bound_name(p->bound)) : json_null());
    bad |= json_object_set_new(j, "memory_s", json_num(p->memory_s));
    bad |= json_object_set_new(j, "compute_s", json_num(p->compute_s));
    bad |= json_object_set_new(j, "link_s", json_num(p->link_s));
    /* Both busy at best: what each side needs of the time the phase takes. */
    bad |= json_object_set_new(j, "memory_share", json_num(p->memory_s / p->seconds));
    bad |= json_object_set_new(j, "compute_share", json_num(p->compute_s / p->seconds));
    bad |= json_object_set_new(j, "flop_s", json_num(p->cost.flop / p->seconds));
    return bad;
}

/* Tokens the seconds are divided over: those read, or those generated. */
static double n_tokens(const struct subject *s)
{
    const double each = s->request ? s->request->n_out : s->phase == PHASE_PREFILL ? s->o.n_prompt : 1;
    return each * s->o.n_batch;
}

/* What grows with the seconds is as sure as they are. */
static int put_use(json_t *j, const char *key, double v, const struct prediction *p)
{
    return json_object_set_new(j, key, json_num(v)) | predict_put_seconds_interval(j, key, v, p);
}

/* Energy and money: of all devices, null where nobody knows a device's. (49) */
static int put_running(json_t *j, const struct subject *s, const struct prediction *p)
{
    const struct running w = running_of(s->h, s->cli->ask.power_w, s->cli->ask.price_usd_h);
    const double joule = running_j(&w, s->r.n_devices, p->seconds), usd = running_usd(&w, s->r.n_devices, p->seconds);
    const double n_seq = s->request ? s->o.n_batch : NAN;
    int bad = put_use(j, "j_per_tok", joule / n_tokens(s), p);
    bad |= put_use(j, "usd_per_mtok", 1e6 * usd / n_tokens(s), p);
    bad |= put_use(j, "j_per_request", joule / n_seq, p);
    bad |= put_use(j, "usd_per_request", usd / n_seq, p);
    bad |= json_object_set_new(j, "power_w", json_num(w.power_w));
    bad |= json_object_set_new(j, "power_source", source_json(w.power_source));
    bad |= json_object_set_new(j, "price_usd_h", json_num(w.price_usd_h));
    bad |= json_object_set_new(j, "price_source", source_json(w.price_source));
    return bad;
}

static int add_row(json_t *rows, const struct subject *s, const struct step *role, struct error *err)
{
    const struct prediction *p = predict_of(s);
    json_t *j = json_object();
    int bad = put_subject(j, s) | predict_put_rate_interval(j, "tok_s", p->tok_s, p);
    if (role) {
        bad |= put_role(j, p, role);
        bad |= json_object_set_new(j, "tok_s", json_num(p->tok_s));
    } else {
        bad |= put_prediction(j, p);
        bad |= predict_put_seconds_interval(j, "seconds", p->seconds, p);
        bad |= put_running(j, s, p);
    }
    bad |= put_scenario(j, s);
    bad |= put_roofs(j, p);
    if (!role)
        bad |= json_object_set_new(j, "roles", roles_json(p));
    if (!role && s->cli->ask.explain && !s->reason && bad == 0 && predict_put_explain(j, s, err) != 0) {
        json_decref(j);
        return -1;
    }
    return json_array_append_new(rows, j) | bad ? error_oom(err, 0, "the rows") : 0;
}

static struct prediction no_prediction(void)
{
    const struct cost none = { NAN, NAN, NAN, NAN, NAN };
    return (struct prediction){ .cost = none, .seconds = NAN, .tok_s = NAN, .sd_s = NAN, .sd_fast_s = NAN, .memory_s = NAN, .compute_s = NAN,
                                .link_s = NAN, .bandwidth_bytes_s = NAN, .peak_flop_s = NAN };
}

int predict_add_reason(json_t *rows, const struct subject *s, const char *reason, struct error *err)
{
    struct subject *x = malloc(sizeof *x); /* too much for a small stack */
    if (!x)
        return error_oom(err, sizeof *x, "a row");
    *x = *s;
    x->reason = reason;
    x->spec = NULL;
    x->total = no_prediction();
    x->r = (struct predict_result){ .prefill = x->total, .decode = x->total, .ttft_s = NAN, .itl_s = NAN, .fits = -1,
                                    .n_devices = layout_devices(&s->o.layout), .weight_total_bytes = NAN, .kv_total_bytes = NAN,
                                    .act_peak_bytes = NAN, .runtime_bytes = NAN, .need_bytes = NAN, .mem_bytes = NAN, .usable_bytes = NAN };
    const int rc = add_row(rows, x, NULL, err);
    free(x);
    return rc;
}

int predict_add_rows(json_t *rows, const struct subject *s, struct error *err)
{
    const struct prediction *p = predict_of(s);
    if (!s->cli->by_role)
        return add_row(rows, s, NULL, err);
    int rc = 0;
    for (int i = 0; i < ROLE_COUNT && rc == 0; i++)
        if (role_used(&p->role[i]))
            rc = add_row(rows, s, &p->role[i], err);
    return rc;
}
