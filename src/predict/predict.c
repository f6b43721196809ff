/* Predicts from the op list: every pass of the prompt and the mean decode step, op by op, under a machine's roofs. */
#include "predict/internal.h"
#include "predict/offload.h"
#include "timing/timing.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the engine's kernel, where it was measured. */
static void note_kernel(struct phase_pricing *x, const struct step *t)
{
    struct prediction *out = x->out;
    char text[96];
    kernel_roof_text(text, sizeof text, x->roofs, t);
    if (t->kernel_bytes_s > 0) {
        out->bandwidth_bytes_s = t->kernel_bytes_s;
        snprintf(out->bandwidth_source, sizeof out->bandwidth_source, "measured kernels: %s", text);
    }
    if (t->compute_s > 0 && t->kernel->n > 0) {
        out->peak_flop_s = kernel_roof_rate(t->kernel, t->kernel_tok);
        out->derived = false;
        snprintf(out->peak_source, sizeof out->peak_source, "measured kernels: %s", text);
    }
}

/* Appends to a source, where there is room. */
static void add_to_source(char *source, size_t size, const char *note)
{
    const size_t n = strlen(source), more = strlen(note) + 1;
    if (size - n >= more)
        memcpy(source + n, note, more);
}

/* Effective throughput of the kernels' math units, which are not those of the op's type everywhere. (43) */
static void note_units(struct phase_pricing *x)
{
    x->out->peak_flop_s = x->units_flop_s;
    add_to_source(x->out->peak_source, sizeof x->out->peak_source, "; effective throughput of the kernels' math units");
}

/* Latency-bound memory. (38) */
static void note_flight(struct phase_pricing *x)
{
    const double most = x->roofs->units.flight_bytes_s;
    char v[40], note[80];
    if (!(most > 0) || x->roofs->bytes_s <= most)
        return;
    snprintf(note, sizeof note, "; loads in flight: at most %s (38)", units_si(v, sizeof v, most, "B/s"));
    add_to_source(x->out->bandwidth_source, sizeof x->out->bandwidth_source, note);
}

/* The roofs shown for a phase are those of its largest op. */
static void note_roofs(struct phase_pricing *x, const struct step *c, const struct peak *peak)
{
    if (!op_is_product(&c->of->op) || c->cost.flop <= x->largest_flop)
        return;
    x->largest_flop = c->cost.flop;
    x->out->bandwidth_bytes_s = x->roofs->bytes_s * x->roofs->e_bandwidth;
    snprintf(x->out->bandwidth_source, sizeof x->out->bandwidth_source, "%s", x->roofs->bytes_source);
    x->out->peak_flop_s = peak->flop_s * x->roofs->e_compute;
    x->out->derived = peak->derived;
    snprintf(x->out->peak_source, sizeof x->out->peak_source, "%s", peak->source);
    snprintf(x->out->math, sizeof x->out->math, "%s", math_name(peak->math));
    if (c->kernel)
        note_kernel(x, c);
    x->units_flop_s = c->compute_s > 0 ? c->cost.flop / c->compute_s : NAN;
}

void phase_add(void *ctx, const struct step *c)
{
    struct phase_pricing *x = ctx;
    const double n = x->times * c->count;
    const struct peak *peak = x->roofs->roof ? &x->roofs->fastest[roofs_class(x->roofs, c->of)] : &x->roofs->peak[c->math];
    note_roofs(x, c, peak);
    if (!x->out->role)
        return;
    struct step *role = &x->out->role[c->role];
    role->cost = cost_add(role->cost, cost_times(&c->cost, n));
    const enum math math = c->n_comm > 0 ? MATH_COUNT : x->roofs->roof ? peak->math : c->math;
    role->math = role->seconds > 0 && role->math != math ? MATH_COUNT : math;
    role->seconds += n * c->seconds;
    x->role_bound_s[c->role][c->bound] += n * c->seconds;
}

void phase_begin(struct phase_pricing *x, const struct roofs *r, struct prediction *out)
{
    const struct phase_pricing empty = { .roofs = r, .out = out, .times = 1 };
    *x = empty;
    *out = (struct prediction){ .bandwidth_bytes_s = x->roofs->bytes_s * x->roofs->e_bandwidth, .role = out->role };
    snprintf(out->bandwidth_source, sizeof out->bandwidth_source, "%s", x->roofs->bytes_source);
    for (int i = 0; out->role && i < ROLE_COUNT; i++)
        out->role[i] = (struct step){ .role = (enum op_role)i };
}

/* Per-op times are scaled to the fused total. The roofs shown are attained values. */
static void fit_parts(struct phase_pricing *x, const struct step_sum *sum)
{
    const struct timing *t = x->roofs->time;
    const double *parameter = t->of[sum->which]->parameter;
    double parts_s = 0;
    for (int i = 0; x->out->role && i < ROLE_COUNT; i++)
        parts_s += x->out->role[i].seconds;
    for (int i = 0; i < ROLE_COUNT && parts_s > 0; i++)
        x->out->role[i].seconds *= sum->seconds / parts_s;
    x->out->bandwidth_bytes_s *= time_parameter_value(TIME_BANDWIDTH, parameter[TIME_BANDWIDTH]);
    if (!(sum->which & TIME_CASE_PROMPT))
        note_flight(x);
    if (sum->which & TIME_CASE_PROMPT && x->units_flop_s > 0)
        note_units(x);
    else /* a step computes on several units, and unpacks more than it multiplies */
        x->out->peak_flop_s *= time_parameter_value(TIME_COMPUTE, parameter[TIME_COMPUTE]);
}

void phase_end(struct phase_pricing *x, const struct step_sum *sum, double n_tok)
{
    if (x->roofs->time)
        fit_parts(x, sum);
    x->out->cost = sum->cost;
    x->out->seconds = sum->seconds;
    x->out->sd_s = sum->sd_s;
    x->out->sd_fast_s = sum->sd_fast_s;
    x->out->least_s = sum->least_s;
    x->out->parts = step_error_parts(sum, x->roofs);
    x->out->memory_s = sum->memory_s;
    x->out->compute_s = sum->compute_s;
    x->out->link_s = sum->link_s;
    x->out->tok_s = sum->tok_s > 0 ? sum->tok_s : n_tok / sum->seconds;
    memcpy(x->out->bound_s, sum->bound_s, sizeof sum->bound_s);
    x->out->bound = step_bound(sum);
    for (int i = 0; x->out->role && i < ROLE_COUNT; i++)
        x->out->role[i].bound = bound_largest(x->role_bound_s[i]);
}

struct prediction prediction_none(void)
{
    const struct cost none = { NAN, NAN, NAN, NAN, NAN };
    return (struct prediction){ .cost = none, .seconds = NAN, .sd_s = NAN, .sd_fast_s = NAN, .least_s = NAN, .tok_s = NAN, .memory_s = NAN,
                                .compute_s = NAN, .link_s = NAN, .bandwidth_bytes_s = NAN, .peak_flop_s = NAN };
}

static int check_options(const struct predict_options *o, struct error *err)
{
    if (check_scenario(o->n_prompt, o->n_gen, o->n_depth, o->n_batch, o->n_ubatch, err) !=
        0)
        return -1;
    if (!isnan(o->weights_bytes) && !(o->weights_bytes > 0 && o->weights_bytes < 1e18))
        return error_set(err, ERROR_USAGE, "cannot predict: weights of %g bytes",
                         o->weights_bytes);
    return 0;
}

static void price_phases(struct predict_result *r, const struct step_model *s, const struct roofs *roofs,
                         const struct predict_options *o)
{
    struct phase_pricing x;
    const struct scenario scenario = { o->n_prompt, o->n_gen, o->n_depth, o->n_batch, o->n_ubatch, false };
    r->prefill = r->decode = prediction_none();
    if (o->n_prompt > 0) {
        r->prefill.role = o->roles ? o->roles->prefill : NULL;
        phase_begin(&x, roofs, &r->prefill);
        const struct step_sum sum = step_prefill(s, roofs, &scenario, phase_add, &x);
        phase_end(&x, &sum, (double)o->n_prompt * o->n_batch);
    }
    if (o->n_gen > 0) {
        r->decode.role = o->roles ? o->roles->decode : NULL;
        phase_begin(&x, roofs, &r->decode);
        const struct step_sum sum = step_decode(s, roofs, &scenario, phase_add, &x);
        phase_end(&x, &sum, o->n_batch);
    }
    r->ttft_s = r->prefill.seconds; /* the prompt's last logits are the first token's (48) */
    r->itl_s = r->decode.seconds;
}

static struct step_options step_options_of(const struct predict_options *o, const struct roofs *r)
{
    return (struct step_options){
        .cost = { .act_elem_bytes = r->act_elem_bytes, .type_k = o->type_k, .type_v = o->type_v, .routing = o->routing,
                  .materialized = o->materialized },
        .layout = o->layout,
        .weights_only = o->weights_only,
        .weights_bytes = o->weights_bytes,
        .absorbed = r->time && r->time->absorbed,
    };
}

int estimator_init(struct estimator *e, const struct op_classes *classes, const struct hwprofile *h, const struct predict_options *o, struct error *err)
{
    *e = (struct estimator){ .step = { .n = 0 } };
    if (o->offload)
        return error_set(err, ERROR_USAGE, "cannot predict: layers or experts on the host (-ngl, --n-cpu-moe, -ot) with drafts or as a server");
    if (roofs_init(&e->roofs, h, o, err) == 0 && roofs_check(&e->roofs, h, classes, err) == 0 &&
        roofs_set_time(&e->roofs, &e->timing, h, classes, o, err) == 0) {
        const struct step_options so = step_options_of(o, &e->roofs);
        if (cost_check_kv(classes->ops, &so.cost, err) == 0 && step_model_init(&e->step, classes, &so, err) == 0)
            return 0;
    }
    estimator_free(e);
    return -1;
}

void estimator_free(struct estimator *e)
{
    roofs_free(&e->roofs);
    timing_free(&e->timing);
    step_model_free(&e->step);
}

int predict_classes(struct predict_result *r, const struct op_classes *classes, const struct hwprofile *h,
                    const struct predict_options *o, struct error *err)
{
    struct estimator e;
    if (check_options(o, err) != 0)
        return -1;
    if (o->offload)
        return predict_offloaded(r, classes, h, o, err) != 0 ? -1 : interrupt_check(err);
    if (estimator_init(&e, classes, h, o, err) != 0)
        return -1;
    e.roofs.parts = true;
    *r = (struct predict_result){ .n_devices = layout_devices(&o->layout), .stack = e.timing.stack,
                                  .basis = e.timing.stack ? time_basis_name(e.timing.basis) : NULL };
    price_phases(r, &e.step, &e.roofs, o);
    const int rc = memory_fit(r, classes, h, &e.roofs, o, err);
    estimator_free(&e);
    return rc != 0 ? -1 : interrupt_check(err);
}

struct prediction_factors prediction_factors(double seconds, double sd_s, double sd_fast_s)
{
    return (struct prediction_factors){ exp(PREDICT_Z90 * sd_s / seconds), exp(PREDICT_Z90 * sd_fast_s / seconds) };
}

int predict(struct predict_result *r, const struct model *m, const struct hwprofile *h,
            const struct predict_options *o, struct error *err)
{
    struct model_classes x;
    if (model_classes_init(&x, m, err) != 0)
        return -1;
    const int rc = predict_classes(r, &x.classes, h, o, err);
    model_classes_free(&x);
    return rc;
}
