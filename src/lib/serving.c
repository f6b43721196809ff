/* Simulations of a served model, and the rate that meets an objective. */
#include "lib/serving.h"
#include "serving/capacity.h"
#include "serving/draws.h"
#include "serving/generate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DRAWS = 1024 /* as serve_study_draws() */, MOST_THREADS = 4096, DRAW_REQUESTS = 10000 };

struct roofcast_simulation {
    struct roofcast_simulation_info info; /* texts point into the struct, as those of metrics do */
    struct roofcast_metric metric[SERVE_VALUES];
    struct roofcast_request *request; /* [n_request] */
    size_t n_request;
    char policy[64], stack[64], key[SERVE_VALUES][48];
};

void roofcast_simulate_options_init(struct roofcast_simulate_options *o, size_t size)
{
    const struct roofcast_simulate_options defaults = { .size = sizeof defaults, .rate = NAN, .n_draws = 32, .n_threads = 1 };
    lib_options_init(o, size, &defaults, sizeof defaults);
}

const char *roofcast_verdict_name(int verdict)
{
    static const char *const names[] = { [ROOFCAST_STABLE] = "stable", [ROOFCAST_SATURATED] = "saturated", [ROOFCAST_BURST] = "burst",
                                         [ROOFCAST_SHORT] = "short" };
    return verdict >= 0 && verdict < (int)ARRAY_LEN(names) ? names[verdict] : "?";
}

static int public_verdict(enum serve_verdict v)
{
    switch (v) {
    case SERVE_STABLE:
        return ROOFCAST_STABLE;
    case SERVE_SATURATED:
        return ROOFCAST_SATURATED;
    case SERVE_BURST:
        return ROOFCAST_BURST;
    case SERVE_SHORT:
        return ROOFCAST_SHORT;
    }
    return -1;
}

static const char *limit_name(enum serve_wait w)
{
    switch (w) {
    case WAIT_SEQS:
        return "max_num_seqs";
    case WAIT_BUDGET:
        return "max_num_batched_tokens";
    case WAIT_BATCH:
        return "batch";
    case WAIT_BLOCKS:
        return "kv_blocks";
    case WAIT_NONE:
    case SERVE_WAITS:
        break;
    }
    return "";
}

/* ---- a run -------------------------------------------------------------------------------- */

struct job {
    struct roofcast_simulate_options a;
    const struct serve_workload *w;
    struct lib_server *server;
    struct timeline timeline;
    struct serve_result r;
    struct serve_metrics m;
    struct serve_study study;
    struct serve_slo slo;
    bool has_slo;
    struct serve_workload own; /* a copy of the caller's whose requests have identities; empty: none */
};

static void listen(void *ctx, const struct serve_step *x)
{
    struct job *j = ctx;
    timeline_step(&j->timeline, x);
    if (!j->a.step)
        return;
    const struct roofcast_step out = {
        .start_s = (double)x->start_ps / PS_PER_S, .end_s = (double)x->end_ps / PS_PER_S, .n_steps = x->n, .n_decode = x->n_decode,
        .n_prompt = x->n_prompt, .n_running = x->n_running, .n_waiting = x->n_waiting, .n_blocks = x->used_blocks, .replica = x->replica,
    };
    j->a.step(j->a.step_ctx, &out);
}

/* The workload's times between arrivals, scaled to the rate asked for as serve_capacity() scales them. */
static int set_rate(struct job *j, struct error *err)
{
    const double last_ps = (double)serve_workload_sum(j->w).last_arrival_ps, rate = j->a.rate;
    double *scale = &j->server->run.gap_scale;
    if (isnan(rate))
        return 0;
    if (!(rate > 0))
        return error_set(err, ERROR_USAGE, "simulate options: a rate of %g arrivals/s: expected a number above 0, INFINITY or NaN", rate);
    if (isinf(rate)) {
        *scale = 1e-300;
        return 0;
    }
    double own_rate;
    if (capacity_own_rate(&own_rate, j->w, err) != 0)
        return -1;
    *scale = own_rate / rate;
    if (last_ps * *scale <= (double)SERVE_MAX_PS)
        return 0;
    return error_set(err, ERROR_USAGE, "%s at %g arrivals/s lasts %.3g s: expected at most %.3g s", j->w->name, rate, last_ps * *scale / PS_PER_S,
                     (double)SERVE_MAX_PS / PS_PER_S);
}

/* 0: all CPUs that the process may use. */
static uint32_t threads_of(const struct roofcast_simulate_options *a)
{
    struct cpulist l;
    if (a->n_threads > 0)
        return a->n_threads;
    if (cpulist_usable(&l, NULL) != 0)
        return 1;
    const int n = threads_within(l.n, cgroup_cpus(""));
    cpulist_free(&l);
    return (uint32_t)n;
}

static int measure(struct job *j, struct error *err)
{
    struct serve_options *run = &j->server->run;
    const struct policy *p = &j->server->d.policy;
    struct serve_metrics_options mo = { .slo = j->has_slo ? &j->slo : NULL, .timeline = &j->timeline, .options = run, .hit_infinite = NAN,
                                        .drop_warmup = j->a.drop_warmup != 0 };
    if (p->enable_prefix_caching && isnan(mo.hit_infinite = serve_hit_bound(j->w, p->block_size, err)) && err->kind != ERROR_NONE)
        return -1;
    if (serve_metrics(&j->m, &j->r, j->w, &mo, err) != 0)
        return -1;
    serve_study_runs(&j->study, &j->m, 1);
    const struct draws_options draws = { .n_draw = j->a.n_draws, .n_thread = threads_of(&j->a), .most = DRAW_REQUESTS, .seed = j->a.seed };
    return serve_draws(&j->study, &j->server->d, j->w, run, &mo, &draws, NULL, NULL, err);
}

/* deployment_identify() of a copy: the caller's workload does not change. */
static int identify(struct job *j, struct error *err)
{
    if (!j->server->d.policy.enable_prefix_caching || serve_workload_identified(j->w))
        return 0;
    if (serve_workload_copy(&j->own, j->w, err) != 0 || deployment_identify(&j->own, &j->server->run, err) != 0)
        return -1;
    j->w = &j->own;
    return 0;
}

static int simulate(struct job *j, struct error *err)
{
    struct serve_options *run = &j->server->run;
    if (set_rate(j, err) != 0 || identify(j, err) != 0 || timeline_init(&j->timeline, &j->server->d.policy, err) != 0)
        return -1;
    run->step = listen;
    run->step_ctx = j;
    run->flags = j->a.step_by_step ? SERVE_STEP_BY_STEP : 0;
    int rc = serve_simulate(&j->r, j->w, run, err);
    run->step = NULL;
    if (rc == 0)
        rc = measure(j, err);
    timeline_free(&j->timeline);
    return rc;
}

/* ---- a result ----------------------------------------------------------------------------- */

static double seconds_or_nan(uint64_t ps)
{
    return ps == SERVE_NOT_YET ? NAN : (double)ps / PS_PER_S;
}

static int fill_requests(struct roofcast_simulation *s, const struct job *j, struct error *err)
{
    s->n_request = j->r.n;
    s->request = calloc(j->r.n, sizeof *s->request);
    if (!s->request)
        return error_oom(err, j->r.n * sizeof *s->request, "the requests of a simulation");
    for (size_t i = 0; i < j->r.n; i++) {
        const struct serve_outcome *o = &j->r.out[i];
        s->request[i] = (struct roofcast_request){
            .due_s = seconds_or_nan(o->due_ps), .sent_s = seconds_or_nan(o->sent_ps), .start_s = seconds_or_nan(o->start_ps),
            .first_s = seconds_or_nan(o->first_ps), .end_s = seconds_or_nan(o->end_ps), .n_in = j->w->r[i].n_in, .n_out = j->w->r[i].n_out,
            .n_hit = o->n_hit, .n_preempt = o->n_preempt, .failed = o->failed,
        };
    }
    return 0;
}

static const char *text_or_none(const char *text)
{
    return text ? text : "";
}

static void fill_metrics(struct roofcast_simulation *s, const struct serve_study *y)
{
    for (int v = 0; v < SERVE_VALUES; v++) {
        const struct sampled *e = &y->m.v[v];
        const struct model_spread *k = &y->model[v];
        const struct serve_value_info i = serve_value_info(v, s->key[v]);
        s->metric[v] = (struct roofcast_metric){
            .key = i.key, .unit = text_or_none(i.unit), .help = text_or_none(i.help), .value = e->value, .sampling_low = e->lo,
            .sampling_high = e->hi, .model_low = k->lo, .model_high = k->hi, .reason = text_or_none(e->reason),
            .model_reason = text_or_none(k->reason),
        };
    }
}

static void fill_info(struct roofcast_simulation *s, const struct job *j)
{
    const struct deployment *d = &j->server->d;
    const struct serve_metrics *m = &j->study.m;
    snprintf(s->policy, sizeof s->policy, "%s", d->policy.name);
    snprintf(s->stack, sizeof s->stack, "%s", text_or_none(d->estimator.timing.stack));
    s->info = (struct roofcast_simulation_info){
        .policy = s->policy, .stack = s->stack, .limit = limit_name(m->bound), .verdict = public_verdict(m->stability.verdict),
        .slo_met = m->has_slo ? m->met : -1, .p_slo = j->study.p_slo, .p_saturated = j->study.p_saturated,
        .offered_tok_s = m->stability.offered_tok_s, .served_tok_s = m->stability.served_tok_s, .n_requests = m->n, .n_failed = m->n_failed,
        .n_steps = j->r.t.n_step, .n_draws = (uint32_t)j->study.n_draw, .n_devices = d->n_device * d->n_replica, .n_replicas = d->n_replica,
        .n_blocks = d->n_block, .block_size = d->policy.block_size, .max_num_seqs = d->policy.max_num_seqs,
        .max_num_batched_tokens = d->policy.max_num_batched_tokens, .max_model_len = d->policy.max_model_len, .jumps = !j->r.stepped,
    };
}

static int check(const struct roofcast_simulate_options *a, struct roofcast_error *err)
{
    if (a->n_draws > MOST_DRAWS || a->n_threads > MOST_THREADS)
        return lib_error(err, ROOFCAST_ERROR_USAGE, "simulate options: expected n_draws of at most 1024 and n_threads of at most 4096");
    return 0;
}

static struct roofcast_simulation *run_job(struct job *j, struct roofcast_error *err)
{
    struct error e = { 0 };
    struct roofcast_simulation *s = calloc(1, sizeof *s);
    int rc = s ? simulate(j, &e) : error_oom(&e, sizeof *s, "a simulation");
    if (rc == 0)
        rc = fill_requests(s, j, &e);
    if (rc == 0) {
        fill_metrics(s, &j->study);
        fill_info(s, j);
        return s;
    }
    lib_fail(err, &e);
    roofcast_simulation_free(s);
    return NULL;
}

struct roofcast_simulation *roofcast_simulate(const struct roofcast_model *m, const struct roofcast_machine *h, const struct roofcast_workload *w,
                                              const struct roofcast_server_options *server, const struct roofcast_simulate_options *o,
                                              struct roofcast_error *err)
{
    struct roofcast_simulation *s = NULL;
    struct job *j = calloc(1, sizeof *j);
    if (!j) {
        lib_error(err, ROOFCAST_ERROR_SYSTEM, "out of memory: a simulation");
        return NULL;
    }
    j->w = &w->w;
    roofcast_simulate_options_init(&j->a, sizeof j->a);
    if (lib_options(&j->a, sizeof j->a, o, err) == 0 && check(&j->a, err) == 0 && lib_slo(&j->slo, &j->has_slo, j->a.slo, err) == 0) {
        const struct lib_run run = { j->a.max_concurrency, j->a.seed };
        j->server = lib_server_new(m, h, w, server, &run, err);
        s = j->server ? run_job(j, err) : NULL;
    }
    serve_result_free(&j->r);
    serve_workload_free(&j->own);
    lib_server_free(j->server);
    free(j);
    return s;
}

void roofcast_simulation_free(struct roofcast_simulation *s)
{
    if (!s)
        return;
    free(s->request);
    free(s);
}

const struct roofcast_simulation_info *roofcast_simulation_info(const struct roofcast_simulation *s)
{
    return &s->info;
}

size_t roofcast_simulation_n_metric(const struct roofcast_simulation *s)
{
    return ARRAY_LEN(s->metric);
}

const struct roofcast_metric *roofcast_simulation_metric(const struct roofcast_simulation *s, size_t i)
{
    return i < ARRAY_LEN(s->metric) ? &s->metric[i] : NULL;
}

const struct roofcast_metric *roofcast_simulation_find(const struct roofcast_simulation *s, const char *key)
{
    for (size_t i = 0; i < ARRAY_LEN(s->metric); i++)
        if (strcmp(s->metric[i].key, key) == 0)
            return &s->metric[i];
    return NULL;
}

size_t roofcast_simulation_n_request(const struct roofcast_simulation *s)
{
    return s->n_request;
}

const struct roofcast_request *roofcast_simulation_request(const struct roofcast_simulation *s, size_t i)
{
    return i < s->n_request ? &s->request[i] : NULL;
}

/* ---- capacity ----------------------------------------------------------------------------- */

void roofcast_capacity_options_init(struct roofcast_capacity_options *o, size_t size)
{
    const struct roofcast_capacity_options defaults = { .size = sizeof defaults, .n_draws = 32, .precision = 0.01 };
    lib_options_init(o, size, &defaults, sizeof defaults);
}

static void fill_capacity(struct roofcast_capacity *out, const struct capacity *c, const struct deployment *d)
{
    const struct capacity_at *at = &c->at;
    *out = (struct roofcast_capacity){
        .rate = c->rate, .rate_90 = c->probable[CAPACITY_90], .rate_50 = c->probable[CAPACITY_50], .rate_10 = c->probable[CAPACITY_10],
        .saturation = c->saturation, .in_tok_s = at->in_tok_s, .out_tok_s = at->out_tok_s, .user_tok_s = at->user_tok_s,
        .ttft_p50_s = at->ttft_p50_s, .ttft_p99_s = at->ttft_p99_s, .tpot_mean_s = at->tpot_mean_s, .itl_p99_s = at->itl_p99_s,
        .e2e_mean_s = at->e2e_mean_s, .batch = at->batch, .kv_usage = at->kv, .goodput_request_s = at->good_request_s,
        .goodput_tok_s = at->good_tok_s, .n_devices = d->n_device * d->n_replica, .n_simulations = c->n_sim, .unsteady = c->unsteady,
    };
}

static int check_capacity(const struct roofcast_capacity_options *a, bool has_slo, struct roofcast_error *err)
{
    if (!has_slo)
        return lib_error(err, ROOFCAST_ERROR_USAGE, "capacity: expected an objective, \"p99:ttft=1s,itl=50ms\"");
    if (a->n_draws > MOST_DRAWS || !(a->precision >= 1e-6 && a->precision <= 0.5))
        return lib_error(err, ROOFCAST_ERROR_USAGE, "capacity options: expected n_draws of at most 1024 and precision of 1e-6 to 0.5");
    return 0;
}

struct roofcast_capacity *roofcast_capacity_find(const struct roofcast_model *m, const struct roofcast_machine *h, const struct roofcast_workload *w,
                                                 const char *slo, const struct roofcast_server_options *server,
                                                 const struct roofcast_capacity_options *o, struct roofcast_error *err)
{
    struct roofcast_capacity_options a;
    struct serve_slo parsed;
    struct capacity c;
    struct error e = { 0 };
    bool has;
    roofcast_capacity_options_init(&a, sizeof a);
    if (lib_options(&a, sizeof a, o, err) != 0 || lib_slo(&parsed, &has, slo, err) != 0 || check_capacity(&a, has, err) != 0)
        return NULL;
    const struct lib_run run = { a.max_concurrency, a.seed };
    struct lib_server *server_of = lib_server_new(m, h, w, server, &run, err);
    if (!server_of)
        return NULL;
    const struct capacity_options co = { .slo = &parsed, .n_draw = a.n_draws, .seed = a.seed, .precision = a.precision };
    struct roofcast_capacity *out = malloc(sizeof *out);
    int rc = out ? serve_capacity(&c, &server_of->d, &w->w, &server_of->run, &co, &e) : error_oom(&e, sizeof *out, "a capacity");
    if (rc == 0)
        fill_capacity(out, &c, &server_of->d);
    lib_server_free(server_of);
    if (rc == 0)
        return out;
    lib_fail(err, &e);
    free(out);
    return NULL;
}

void roofcast_capacity_free(struct roofcast_capacity *c)
{
    free(c);
}
