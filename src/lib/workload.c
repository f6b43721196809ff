/* Workloads: from a text, a file, or the caller's arrays. */
#include "base/environment.h"
#include "lib/serving.h"
#include "serving/generate.h"
#include <math.h>
#include <stdlib.h>

void roofcast_workload_options_init(struct roofcast_workload_options *o, size_t size)
{
    const struct roofcast_workload_options defaults = { .size = sizeof defaults, .rate = NAN, .burstiness = 1, .ramp_from = 1, .ramp_to = 10 };
    lib_options_init(o, size, &defaults, sizeof defaults);
}

/* The caller's options as the module takes them. */
static int read_options(struct serve_workload_options *to, const struct roofcast_workload_options *asked, struct roofcast_error *err)
{
    struct roofcast_workload_options a;
    roofcast_workload_options_init(&a, sizeof a);
    if (lib_options(&a, sizeof a, asked, err) != 0)
        return -1;
    if (!(isnan(a.rate) || a.rate > 0) || !((a.burstiness >= 1e-3 && a.burstiness <= 1e6) || (isinf(a.burstiness) && a.burstiness > 0)))
        return lib_error(err, ROOFCAST_ERROR_USAGE, "workload options: expected a rate above 0, INFINITY or NaN, and burstiness of 0.001 to 1e6, or INFINITY");
    if (a.n_requests >= UINT32_MAX || !(a.duration_s >= 0) || isinf(a.duration_s))
        return lib_error(err, ROOFCAST_ERROR_USAGE, "workload options: expected n_requests below 4294967295 and duration_s of at least 0");
    if (a.n_requests > 0 && a.duration_s > 0)
        return lib_error(err, ROOFCAST_ERROR_USAGE, "workload options: expected n_requests or duration_s, found both");
    if (a.ends < ROOFCAST_ENDS_DEFAULT || a.ends > ROOFCAST_ENDS_STOP)
        return lib_error(err, ROOFCAST_ERROR_USAGE, "workload options: expected ends of enum roofcast_ends, 0 to 2");
    if (a.ramp < 0 || a.ramp > 2 || (a.ramp > 0 && !isnan(a.rate)))
        return lib_error(err, ROOFCAST_ERROR_USAGE, "workload options: expected a ramp of 0, 1 or 2, and a rate of NaN with one");
    static const enum arrival_ramp ramps[] = { RAMP_NONE, RAMP_LINEAR, RAMP_EXPONENTIAL };
    *to = (struct serve_workload_options){
        .arrivals = { .rate_s = a.rate, .burstiness = a.burstiness, .rescale = a.rescale != 0, .ramp = ramps[a.ramp], .ramp_from_s = a.ramp_from,
                      .ramp_to_s = a.ramp_to },
        .n = (size_t)a.n_requests, .duration_s = a.duration_s, .seed = a.seed, .dirs = environment()->data_dirs,
        .end = a.ends == ROOFCAST_ENDS_LENGTH ? PLAN_END_LENGTH : a.ends == ROOFCAST_ENDS_STOP ? PLAN_END_STOP : PLAN_END_DEFAULT,
    };
    return 0;
}

static void fill_info(struct roofcast_workload *x)
{
    const struct serve_workload_sum s = serve_workload_sum(&x->w);
    x->info = (struct roofcast_workload_info){
        .name = x->w.name, .n_requests = x->w.n, .n_roots = s.n_root, .n_in_tok = s.n_in, .n_out_tok = s.n_out, .longest_tok = s.most_tokens,
        .rate = serve_workload_rate(&x->w), .duration_s = (double)s.last_arrival_ps / PS_PER_S, .note = x->note,
    };
}

static struct roofcast_workload *finished(struct roofcast_workload *x, int rc, const struct error *e, struct roofcast_error *err)
{
    if (rc != 0) {
        lib_fail(err, e);
        roofcast_workload_free(x);
        return NULL;
    }
    fill_info(x);
    return x;
}

static void note_reader(struct roofcast_workload *x, const struct trace_notes *n)
{
    char left_out[128] = "";
    if (n->n_failed + n->n_filtered > 0)
        snprintf(left_out, sizeof left_out, "of %zu records %zu failed and %zu were filtered out", n->n_row, n->n_failed, n->n_filtered);
    snprintf(x->note, sizeof x->note, "%s%s%s", left_out, left_out[0] && n->estimated ? "; " : "",
             n->estimated ? "lengths are characters / 4" : "");
}

struct roofcast_workload *roofcast_workload_load(const char *text, const struct roofcast_workload_options *o, struct roofcast_error *err)
{
    struct error e = { 0 };
    struct serve_workload_options so;
    struct trace_notes notes = { 0 };
    if (read_options(&so, o, err) != 0)
        return NULL;
    struct roofcast_workload *x = calloc(1, sizeof *x);
    const int rc = x ? serve_workload_from_text(&x->w, text, &so, &notes, &e) : error_oom(&e, sizeof *x, "a workload");
    if (rc == 0)
        note_reader(x, &notes);
    return finished(x, rc, &e, err);
}

/* ---- of arrays ---------------------------------------------------------------------------- */

static int copy_requests(struct serve_workload *w, const double *arrival_s, const uint32_t *n_in, const uint32_t *n_out, size_t n,
                         enum serve_end end, struct error *err)
{
    if (n == 0 || n >= SERVE_NO_PARENT)
        return error_set(err, ERROR_INPUT, "requests: %zu: expected 1 to %u", n, (unsigned)SERVE_NO_PARENT - 1);
    if (!n_in || !n_out)
        return error_set(err, ERROR_USAGE, "requests: expected arrays n_in and n_out");
    w->r = calloc(n, sizeof *w->r);
    if (!w->r)
        return error_oom(err, n * sizeof *w->r, "a workload");
    w->n = n;
    for (size_t i = 0; i < n; i++) {
        const double ps = arrival_s ? arrival_s[i] * PS_PER_S : 0;
        if (!(ps >= 0 && ps <= (double)SERVE_MAX_PS))
            return error_set(err, ERROR_INPUT, "requests: request %zu arrives at %g s: expected 0 to %.3g", i + 1, arrival_s[i], (double)SERVE_MAX_PS / PS_PER_S);
        w->r[i] = (struct serve_request){ .after_ps = (uint64_t)(ps + 0.5), .parent = SERVE_NO_PARENT, .n_in = n_in[i], .n_out = n_out[i],
                                          .end = (uint8_t)end };
    }
    return 0;
}

struct roofcast_workload *roofcast_workload_new(const double *arrival_s, const uint32_t *n_in, const uint32_t *n_out, size_t n,
                                                const struct roofcast_workload_options *o, struct roofcast_error *err)
{
    struct error e = { 0 };
    struct serve_workload_options so;
    if (read_options(&so, o, err) != 0)
        return NULL;
    if (arrival_s && (!isnan(so.arrivals.rate_s) || so.arrivals.ramp != RAMP_NONE)) {
        lib_error(err, ROOFCAST_ERROR_USAGE, "workload options: expected arrival_s or a rate, found both");
        return NULL;
    }
    struct roofcast_workload *x = calloc(1, sizeof *x);
    int rc = x ? copy_requests(&x->w, arrival_s, n_in, n_out, n, so.end == PLAN_END_STOP ? SERVE_END_STOP : SERVE_END_LENGTH, &e)
               : error_oom(&e, sizeof *x, "a workload");
    if (rc == 0 && !arrival_s)
        rc = serve_workload_set_arrivals(&x->w, &so.arrivals, so.seed, &e);
    if (rc == 0)
        rc = serve_workload_finish(&x->w, "requests", NULL, &e);
    return finished(x, rc, &e, err);
}

void roofcast_workload_free(struct roofcast_workload *w)
{
    if (!w)
        return;
    serve_workload_free(&w->w);
    free(w);
}

const struct roofcast_workload_info *roofcast_workload_info(const struct roofcast_workload *w)
{
    return &w->info;
}
