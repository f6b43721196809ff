/* roofcast predict: a prediction as a row. */
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

/* "req2048+512x8@d100": a request's name ends like that of its prompt. */
static const char *test_name(char *name, size_t n, const struct subject *s)
{
    char end[64];
    if (s->request) {
        phase_test_name(end, sizeof end, PHASE_PREFILL, s->request->n_out, s->o.n_batch, s->o.n_depth);
        snprintf(name, n, "req%u+%s", s->request->n_in, end + 2);
        return name;
    }
    phase_test_name(name, n, s->phase, s->phase == PHASE_PREFILL ? s->o.n_prompt : s->o.n_gen, s->o.n_batch, s->o.n_depth);
    predict_draft_name(name, n, s);
    return name;
}

struct cell predict_weights_gb(const struct predict_cli *o)
{
    return o->weights_all ? cell_text("all") : cell_real(o->weights_gb);
}

json_t *predict_meta(const struct predict_cli *o, const struct model *m)
{
    return json_pack("{s:s, s:s, s:b, s:o, s:b}", "model", m->name, "type", m->type_name, "roof", o->roof, "weights_gb",
                     o->weights_all ? json_string("all") : json_num(o->weights_gb), "weights_only", o->weights_only);
}

struct figure predict_seconds(double v, const struct prediction *p)
{
    const struct prediction_factors f = prediction_factors(p->seconds, p->sd_s, p->sd_fast_s);
    return (struct figure){ v, v / f.faster, v * f.slower };
}

struct figure predict_rate(double v, const struct prediction *p)
{
    const struct prediction_factors f = prediction_factors(p->seconds, p->sd_s, p->sd_fast_s);
    return (struct figure){ v, v / f.slower, v * f.faster };
}

/* "tp8"; "GPU and ryzen-9950x, --n-cpu-moe 20" */
static const char *layout_of(char *buf, size_t size, const struct subject *s)
{
    char options[160], host[80];
    if (!s->o.offload)
        return layout_text(buf, size, &s->o.layout);
    snprintf(buf, size, "GPU and %s, %s", fields_machine_name(host, sizeof host, s->o.offload->host), offload_text(options, sizeof options, &s->o.offload->rule));
    return buf;
}

static void put_subject(struct predict_row *w, struct table_rows *rows, const struct subject *s)
{
    char text[256];
    w->model = s->m->name;
    w->hw = table_text(rows, fields_machine_name(text, sizeof text, s->h));
    w->guess = s->h->guess_ln_sd > 0 ? table_text(rows, s->h->guess_class) : NULL;
    w->reason = table_text(rows, s->reason);
    w->note = table_text(rows, software_note(text, sizeof text, s->m, s->r.stack, s->o.n_batch));
    w->type = s->m->type_name;
    w->test = table_text(rows, test_name(text, sizeof text, s));
    w->phase = s->request ? "request" : phase_name(s->phase);
    w->n_prompt = s->o.n_prompt;
    w->n_gen = s->o.n_gen;
    w->n_depth = s->o.n_depth;
    w->n_batch = s->o.n_batch;
    w->n_ubatch = s->o.n_ubatch < PREFILL_WHOLE ? s->o.n_ubatch : 0;
    w->type_k = dtype_name(s->o.type_k);
    w->type_v = dtype_name(s->o.type_v);
    w->n_devices = layout_devices(&s->o.layout);
    w->layout = table_text(rows, layout_of(text, sizeof text, s));
    w->weights_gb = predict_weights_gb(s->cli);
    w->weights_only = s->cli->weights_only;
    predict_draft_put(w, s);
    w->what_if = table_text(rows, s->what_if);
    const struct ratio r = s->what_if && !s->reason ? prediction_ratio(predict_of(s->base), predict_of(s), predictions_alike(&s->base->r, &s->r, s->change))
                                                    : (struct ratio){ NAN, NAN, NAN };
    w->speedup = (struct figure){ r.value, r.lo, r.hi };
}

/* Whether the limits of --slo hold, of the scenario or of a request. */
static void put_limits(struct predict_row *w, const struct subject *s)
{
    const struct limits *l = &s->cli->software.limits;
    const struct prediction *p = &s->r.prefill, *d = &s->r.decode;
    const double whole = s->r.ttft_s / p->seconds;
    const struct limit_phase prefill = { s->r.ttft_s, p->tok_s, p->sd_s * whole, p->sd_fast_s * whole, p->parts },
                             decode = { d->seconds, d->tok_s, d->sd_s, d->sd_fast_s, d->parts };
    predict_put_limits(w, l, &prefill, &decode);
    w->slo = l->n > 0 ? s->cli->software.slo : NULL;
}

void predict_put_limits(struct predict_row *w, const struct limits *l, const struct limit_phase *prefill, const struct limit_phase *decode)
{
    w->limits = limits_answer(l, prefill, decode);
    w->slo_met = l->n > 0 ? limit_met_name(w->limits.met) : NULL;
}

/* Columns common to the rows of a scenario. */
static void put_scenario(struct predict_row *w, const struct subject *s)
{
    const struct predict_result *r = &s->r;
    w->ttft_s = predict_seconds(r->ttft_s, &r->prefill);
    w->itl_s = predict_seconds(r->itl_s, &r->decode);
    w->stack = r->stack;
    w->basis = r->basis;
    put_limits(w, s);
    w->fits = r->fits;
    w->need_bytes = r->need_bytes;
    w->memory_bytes = r->mem_bytes;
    w->usable_bytes = r->usable_bytes;
    w->weight_total_bytes = r->weight_total_bytes;
    w->kv_total_bytes = r->kv_total_bytes;
    w->act_peak_bytes = r->act_peak_bytes;
    w->runtime_bytes = r->runtime_bytes;
}

static void put_cost(struct predict_row *w, const struct cost *c, double seconds)
{
    w->p.cost = *c;
    w->ai = cost_ai(c);
    w->flop_s = seconds > 0 ? c->flop / seconds : NAN;
}

static bool role_used(const struct step *r)
{
    return r->seconds > 0 || cost_bytes(&r->cost) > 0;
}

static void put_role(struct predict_row *w, double whole_s, const struct step *r)
{
    w->role = op_role_name(r->role);
    w->seconds.value = r->seconds;
    w->share = whole_s > 0 ? r->seconds / whole_s : NAN;
    w->bound = bound_name(r->bound);
    w->role_math = r->math == MATH_COUNT ? NULL : math_name(r->math);
    put_cost(w, &r->cost, r->seconds);
}

static void put_prediction(struct predict_row *w, const struct prediction *p)
{
    w->seconds = predict_seconds(p->seconds, p);
    put_cost(w, &p->cost, p->seconds);
    w->bound = p->seconds > 0 ? bound_name(p->bound) : NULL;
    w->memory_share = p->memory_s / p->seconds;
    w->compute_share = p->compute_s / p->seconds;
}

/* Tokens for figures per token: of the prompt, or generated. */
static double n_tokens(const struct subject *s)
{
    const double each = s->request ? s->request->n_out : s->phase == PHASE_PREFILL ? s->o.n_prompt : 1;
    return each * s->o.n_batch;
}

/* Energy and cost of all devices; null: unknown. (49) */
static void put_running(struct predict_row *w, const struct subject *s, const struct prediction *p)
{
    w->running = running_of(s->h, s->cli->ask.power_w, s->cli->ask.price_usd_h);
    if (s->r.device)
        running_add_host(&w->running, s->cli->ask.power_w, s->h, s->o.offload->host);
    const double joule = running_j(&w->running, s->r.n_devices, p->seconds), usd = running_usd(&w->running, s->r.n_devices, p->seconds);
    const double n_seq = s->request ? s->o.n_batch : NAN;
    w->j_per_tok = predict_seconds(joule / n_tokens(s), p);
    w->usd_per_mtok = predict_seconds(1e6 * usd / n_tokens(s), p);
    w->j_per_request = predict_seconds(joule / n_seq, p);
    w->usd_per_request = predict_seconds(usd / n_seq, p);
}

static int put_roles(struct predict_row *w, const struct prediction *p, struct error *err)
{
    w->roles = calloc(ROLE_COUNT, sizeof *w->roles);
    if (!w->roles)
        return error_oom(err, ROLE_COUNT * sizeof *w->roles, "a prediction's roles");
    for (int i = 0; p->role && i < ROLE_COUNT; i++)
        if (role_used(&p->role[i]))
            w->roles[w->n_roles++] = p->role[i];
    return 0;
}

static json_t *roles_json(const struct predict_row *w)
{
    struct table_rows rows = { .size = sizeof(struct predict_row) };
    for (size_t i = 0; i < w->n_roles; i++)
        put_role(table_add(&rows), w->seconds.value, &w->roles[i]);
    json_t *j = table_rows_json(&(struct table){ .cols = predict_role_fields.cols, .n_cols = predict_role_fields.n, .rows = &rows });
    table_rows_free(&rows);
    return j;
}

static int add_row(struct table_rows *rows, const struct subject *s, const struct step *role, struct error *err)
{
    const struct prediction *p = predict_of(s);
    struct predict_row *w = table_add(rows);
    char name[80];
    w->explain_s = w->pipeline = w->n_pass = NAN;
    put_subject(w, rows, s);
    w->tok_s = predict_rate(p->tok_s, p);
    put_scenario(w, s);
    w->p = *p;
    w->p.role = NULL; /* overwritten by the next prediction */
    w->derived = *p->math ? p->derived : -1;
    if (s->o.offload && !s->reason)
        w->roofs_of = table_text(rows, fields_machine_name(name, sizeof name, p->host_roofs ? s->o.offload->host : s->h));
    if (role) {
        put_role(w, p->seconds, role);
        return 0;
    }
    put_prediction(w, p);
    put_running(w, s, p);
    if (put_roles(w, p, err) != 0 || predict_put_devices(w, s, err) != 0)
        return -1;
    return s->cli->ask.explain && !s->reason ? predict_put_explain(w, s, err) : 0;
}

int predict_add_reason(struct table_rows *rows, const struct subject *s, const char *reason, struct error *err)
{
    struct subject x = *s;
    x.reason = reason;
    x.spec = NULL;
    x.total = prediction_none();
    x.r = (struct predict_result){ .prefill = x.total, .decode = x.total, .ttft_s = NAN, .itl_s = NAN, .fits = -1,
                                   .n_devices = layout_devices(&s->o.layout), .weight_total_bytes = NAN, .kv_total_bytes = NAN,
                                   .act_peak_bytes = NAN, .runtime_bytes = NAN, .need_bytes = NAN, .mem_bytes = NAN, .usable_bytes = NAN };
    return add_row(rows, &x, NULL, err);
}

int predict_add_rows(struct table_rows *rows, const struct subject *s, struct error *err)
{
    const struct prediction *p = predict_of(s);
    if (!s->cli->by_role)
        return add_row(rows, s, NULL, err);
    int rc = 0;
    for (int i = 0; p->role && i < ROLE_COUNT && rc == 0; i++)
        if (role_used(&p->role[i]))
            rc = add_row(rows, s, &p->role[i], err);
    return rc;
}

void predict_nest(struct table_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        struct predict_row *w = table_row(rows, i);
        if (!w->roles_json)
            w->roles_json = table_keep_json(rows, roles_json(w));
        if (w->devices && !w->devices_json)
            predict_nest_devices(rows, w);
        if (w->explained && !w->classes_json)
            predict_nest_explain(rows, w);
    }
}

void predict_rows_free(struct table_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        struct predict_row *w = table_row(rows, i);
        struct explained *x = w->explained;
        free(w->roles);
        free(w->devices);
        if (x) {
            table_rows_free(&x->classes);
            table_rows_free(&x->constants);
        }
        free(x);
    }
    table_rows_free(rows);
}
