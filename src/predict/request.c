/* A whole request: the prompt's passes, then every decode step; its energy and its price. methods.md (49) */
#include "predict/request.h"
#include "predict/internal.h"
#include "predict/offload.h"
#include "timing/timing.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_roles(struct prediction *to, const struct prediction *step, double n)
{
    for (int i = 0; to->role && i < ROLE_COUNT; i++) {
        struct step *a = &to->role[i];
        const struct step *b = &step->role[i];
        if (n * b->seconds > a->seconds)
            a->bound = b->bound;
        a->seconds += n * b->seconds;
        a->cost = cost_add(a->cost, cost_times(&b->cost, n));
    }
}

static void add_parts(struct prediction *to, const struct prediction *prompt, const struct prediction *step, double n)
{
    const double p = prompt->seconds / to->seconds, s = n * step->seconds / to->seconds;
    for (int i = 0; i < ERROR_PARTS; i++)
        to->parts.of[i] = p * prompt->parts.of[i] + s * step->parts.of[i];
    to->parts.left = p * prompt->parts.left + s * step->parts.left;
}

/* Adds n steps to the prompt's total. The roofs shown are those of the longer part. */
static void add_steps(struct prediction *to, const struct prediction *step, double n)
{
    const struct prediction prompt = *to;
    if (n * step->seconds > to->seconds)
        *to = *step;
    to->cost = cost_add(prompt.cost, cost_times(&step->cost, n));
    to->seconds = prompt.seconds + n * step->seconds;
    to->sd_s = prompt.sd_s + n * step->sd_s; /* fully correlated: the machine's error is common (62) */
    to->least_s = prompt.least_s + n * step->least_s;
    to->sd_fast_s = prompt.sd_fast_s + n * step->sd_fast_s;
    if (!(step->parts.machine > 0))
        to->sd_fast_s = spread_within(to->seconds, to->sd_fast_s, to->least_s);
    add_parts(to, &prompt, step, n);
    to->memory_s = prompt.memory_s + n * step->memory_s;
    to->compute_s = prompt.compute_s + n * step->compute_s;
    to->link_s = prompt.link_s + n * step->link_s;
    for (int b = 0; b < BOUND_COUNT; b++)
        to->bound_s[b] = prompt.bound_s[b] + n * step->bound_s[b];
    to->bound = bound_largest(to->bound_s);
    to->role = prompt.role;
    add_roles(to, step, n);
}

/* With constants of whole requests: seconds, spread and bounds from those, *out's parts in proportion. Phases alone were measured with
 * other software than serves requests. (50) */
static void as_whole(struct prediction *out, const struct step_sum *sum)
{
    for (int i = 0; out->role && i < ROLE_COUNT; i++)
        out->role[i].seconds *= sum->seconds / out->seconds;
    out->seconds = sum->seconds;
    out->sd_s = sum->sd_s;
    out->sd_fast_s = sum->sd_fast_s;
    out->least_s = sum->least_s;
    out->parts = sum->parts;
    out->memory_s = sum->memory_s;
    out->compute_s = sum->compute_s;
    out->link_s = sum->link_s;
    memcpy(out->bound_s, sum->bound_s, sizeof sum->bound_s);
    out->bound = bound_largest(out->bound_s);
}

static int price_whole(struct prediction *out, const struct op_classes *classes, const struct hwprofile *h,
                       const struct predict_options *prompt, const struct predict_options *steps, struct error *err)
{
    const struct scenario first = { prompt->n_prompt, 0, prompt->n_depth, prompt->n_batch, prompt->n_ubatch, false },
                          later = { 0, steps->n_gen, steps->n_depth, steps->n_batch, steps->n_ubatch, false };
    struct estimator e;
    if (estimator_init(&e, classes, h, prompt, err) != 0)
        return -1;
    const bool whole = e.roofs.time && prompt->layout.pp <= 1;
    const int rc = whole ? time_check(classes, true, err) : 0;
    if (whole && rc == 0) {
        e.roofs.parts = true;
        const struct step_sum sum = step_request(&e.step, &e.roofs, &first, &later);
        as_whole(out, &sum);
    }
    estimator_free(&e);
    return rc;
}

static int request_classes(struct request_result *q, const struct op_classes *classes, const struct hwprofile *h,
                           const struct predict_options *o, const struct request *request, struct error *err)
{
    struct predict_options prompt = *o, steps = *o;
    struct predict_result after;
    prompt.n_prompt = request->n_in;
    prompt.n_gen = request->n_out; /* memory for all of them */
    if (predict_classes(&q->r, classes, h, &prompt, err) != 0)
        return -1;
    q->total = q->r.prefill;
    if (o->roles)
        q->total.role = memcpy(o->roles->total, o->roles->prefill, sizeof o->roles->total);
    q->r.decode.seconds = q->r.itl_s = NAN;
    if (request->n_out > 1) {
        steps.n_prompt = 0;
        steps.n_gen = request->n_out - 1; /* the prompt's last logits are the first token's */
        steps.n_depth = o->n_depth + request->n_in;
        struct predict_device prompt_devices[DEVICE_COUNT];
        if (q->r.device)
            memcpy(prompt_devices, q->r.device, sizeof prompt_devices);
        if (predict_classes(&after, classes, h, &steps, err) != 0)
            return -1;
        for (int d = 0; q->r.device && d < DEVICE_COUNT; d++) { /* the prompt's and, as their mean, the steps' */
            prompt_devices[d].phase[PHASE_DECODE] = after.device[d].phase[PHASE_DECODE];
            q->r.device[d] = prompt_devices[d];
        }
        q->r.decode = after.decode;
        q->r.itl_s = after.itl_s;
        add_steps(&q->total, &after.decode, steps.n_gen);
        if (o->time && !o->offload && price_whole(&q->total, classes, h, &prompt, &steps, err) != 0)
            return -1;
    }
    q->total.tok_s = (double)request->n_out * o->n_batch / q->total.seconds;
    return 0;
}

int predict_request(struct request_result *q, const struct model *m, const struct hwprofile *h,
                    const struct predict_options *o, const struct request *request, struct error *err)
{
    struct model_classes x;
    if (request->n_in == 0 || request->n_out == 0)
        return error_set(err, ERROR_USAGE, "cannot predict: a request of %u + %u tokens, at least one of each", request->n_in,
                         request->n_out);
    if (model_classes_init(&x, m, err) != 0)
        return -1;
    const int rc = request_classes(q, &x.classes, h, o, request, err);
    model_classes_free(&x);
    return rc;
}

/* ---- energy and money --------------------------------------------------------------------------------- */

struct running running_of(const struct hwprofile *h, double power_w, double price_usd_h)
{
    struct running w = { .power_w = power_w, .price_usd_h = price_usd_h };
    if (!isnan(power_w)) {
        snprintf(w.power_source, sizeof w.power_source, "given (--power)");
    } else if (h->tdp_w.value > 0) {
        w.power_w = h->tdp_w.value;
        snprintf(w.power_source, sizeof w.power_source, "at TDP: an upper bound on average power; spec: %.180s",
                 h->tdp_w.source);
    }
    if (!isnan(price_usd_h)) {
        snprintf(w.price_source, sizeof w.price_source, "given (--price)");
    } else if (h->price_usd_h.value >= 0) {
        w.price_usd_h = h->price_usd_h.value;
        snprintf(w.price_source, sizeof w.price_source, "spec: %.180s", h->price_usd_h.source);
    }
    return w;
}

void running_add_host(struct running *w, double power_w, const struct hwprofile *gpu, const struct hwprofile *host)
{
    if (!isnan(power_w) || isnan(w->power_w))
        return;
    if (host->tdp_w.value > 0) {
        w->power_w += host->tdp_w.value;
        snprintf(w->power_source, sizeof w->power_source, "GPU and CPU, both at TDP; spec: %s; %s", gpu->tdp_w.source, host->tdp_w.source);
    } else {
        snprintf(w->power_source, sizeof w->power_source, "GPU alone, at TDP: without the host, whose profile has no TDP; spec: %s", gpu->tdp_w.source);
    }
}

double running_j(const struct running *w, uint32_t n_devices, double seconds)
{
    return n_devices * w->power_w * seconds;
}

double running_usd(const struct running *w, uint32_t n_devices, double seconds)
{
    return n_devices * w->price_usd_h * seconds / 3600;
}
