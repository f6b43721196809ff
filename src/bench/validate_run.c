/* Measures and predicts one case of `roofcast validate`: the engine between probes, and the stored profile rescaled by them. */
#include "base/environment.h"
#include "bench/validate.h"
#include "predict/explain.h"
#include "timing/rescale.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void validation_free(struct validation *v)
{
    free(v->r);
    free(v->op);
    *v = (struct validation){ 0 };
}

void validate_dram_free(struct validate_dram *f)
{
    for (size_t i = 0; i < f->n; i++)
        ceilings_prober_free(f->prober[i]);
    free(f->prober);
    free(f->n_threads);
    *f = (struct validate_dram){ 0 };
}

enum { MOST_REPS = 60, MOST_ROUNDS = 3 }; /* MOST_REPS: limit of -r */

/* ---- predicting ------------------------------------------------------------------------------------------- */

/* Load bandwidth of the memory of the profile's products, for as many threads; else of any memory. */
static const struct ceiling *memory_of(const struct hwprofile *h, int n_threads)
{
    const struct ceiling *c = hwprofile_ceiling(h, "kernel", "load", "F32", "DRAM", 1, n_threads);
    return c && c->n_threads == n_threads && c->value > 0 ? c : hwprofile_bandwidth(h, "DRAM", n_threads);
}

/* Predicted seconds per pass of a role's ops timed one by one: with a barrier after each. */
static double role_s(const struct explain *e, const char *role, double barrier_s)
{
    double s = 0;
    for (size_t i = 0; i < e->n; i++) {
        const struct explain_class *c = &e->c[i];
        if (strcmp(op_role_name(c->op.role), role) != 0 || !(c->n_pass > 0))
            continue;
        s += (c->sum.seconds - c->launch_s) / c->n_pass + c->sum.count * barrier_s;
    }
    return s > 0 ? s : NAN;
}

static double barrier_of(const struct hwprofile *h, int n_threads)
{
    double s = 0;
    for (size_t i = 0; i < h->n_ceiling && n_threads > 1; i++)
        if (strcmp(h->ceiling[i].kind, "latency") == 0 && strcmp(h->ceiling[i].op, "barrier") == 0 &&
            h->ceiling[i].n_threads <= n_threads && h->ceiling[i].value > 0)
            s = h->ceiling[i].value;
    return s;
}

static int add_op(struct validation *v, const struct validate_op *o, struct error *err)
{
    struct validate_op *grown = realloc(v->op, (v->n_op + 1) * sizeof *grown);
    if (!grown)
        return error_oom(err, v->n_op * sizeof *grown, "the ops");
    v->op = grown;
    v->op[v->n_op++] = *o;
    return 0;
}

/* Adds measured and predicted seconds of the case's roles above VALIDATE_SHARE. */
static int add_ops(struct validation *v, struct validate_result *r, const struct run *run, const struct explain *e,
                   double barrier_s, struct error *err)
{
    struct run roles = { 0 };
    int rc = bench_roles(&roles, run, 0, run->n_op, &run->row[0], err);
    double ape[ROLE_COUNT];
    size_t n = 0;
    for (size_t i = 0; rc == 0 && i < roles.n_op; i++) {
        const struct run_op *o = &roles.op[i];
        struct validate_op to = { .at = v->n, .seconds = o->seconds, .share = o->share };
        memcpy(to.role, o->role, sizeof to.role);
        memcpy(to.op, o->op, sizeof to.op);
        memcpy(to.type, o->type, sizeof to.type);
        to.predicted_s = role_s(e, o->role, barrier_s);
        if (o->share < VALIDATE_SHARE || isnan(to.predicted_s))
            continue;
        if (n < ROLE_COUNT)
            ape[n++] = fabs(to.predicted_s / to.seconds - 1);
        rc = add_op(v, &to, err);
    }
    r->op_median_ape = stats_median(ape, n);
    run_free(&roles);
    return rc;
}

/*
 * Machine state: adjacent probes over the profile's, for as many or the nearest number of threads; NaN: no such roof, or not probed
 * (memory: 1).
 */
struct state {
    double memory;
    struct cores cores;
    double kept;            /* LLC hit fraction of the weights; NaN: as in the profile */
    struct last_cache last; /* LLC as probed */
};

/* Probe results: memory, vector and tile product, coherence traffic; NaN: not probed. */
struct reading {
    double bytes_s, flop_s, tile_flop_s;
    double coherence[COHERENCE_COUNT];
};

/* The LLC may hold part of the weights, so that reading them is no measure of memory bandwidth. */
static bool may_hit_llc(const struct last_cache *l, double scanned_bytes)
{
    const double more = 1.25; /* factor on the profile's footprint with hits; beyond it a faster rate is memory's */
    return l->n > 0 && scanned_bytes > 0 && scanned_bytes <= more * l->footprint[l->n - 1];
}

static struct state state_of(const struct validate_result *r, const struct hwprofile *h, struct reading p)
{
    const double bytes_s = p.bytes_s;
    const struct ceiling *dram = memory_of(h, r->c->n_threads);
    struct state s = { .memory = !dram ? NAN : isnan(bytes_s) ? 1 : bytes_s / dram->value,
                       .cores = profile_cores_now(h, r->c->n_threads, p.flop_s, p.tile_flop_s),
                       .kept = NAN };
    profile_coherence_now(&s.cores, h, r->c->n_threads, p.coherence);
    last_cache_init(&s.last, h, r->c->n_threads);
    if (!may_hit_llc(&s.last, r->scanned_bytes) || !dram || isnan(bytes_s))
        return s;
    const bool far = r->far_bytes_s > 0;
    s.kept = last_cache_found(&s.last, r->scanned_bytes, bytes_s, far ? r->far_bytes_s : dram->value);
    /* A faster rate is due to the cache; pages of the weights may be slower. (32), (82) */
    s.memory = fmin(far ? r->far_bytes_s / dram->value : 1, s.memory);
    return s;
}

static struct predict_options options_of(const struct validate_result *r, const struct state *at)
{
    const struct bench_test *t = &r->c->t;
    return (struct predict_options){ .weights_bytes = NAN, .n_threads = r->c->n_threads, .last = isnan(at->kept) ? NULL : &at->last,
                                     .n_prompt = t->prefill ? t->n : 0, .n_gen = t->prefill ? 0 : t->n, .n_depth = t->depth,
                                     .n_batch = t->n_batch, .n_ubatch = t->n_ubatch, .type_k = t->type_k, .type_v = t->type_v };
}

/* Predicted seconds of the case under the profile rescaled by the probes; *now: that profile, owned by the caller. */
static int predict_one(double *seconds, struct hwprofile *now, const struct validate_result *r, const struct validate_setup *s,
                       const struct model *m, const struct state *at, struct error *err)
{
    const struct predict_options o = options_of(r, at);
    struct predict_result p;
    if (rescale_profile(now, s->profile, at->memory, at->cores, err) != 0)
        return -1;
    if (predict(&p, m, now, &o, err) != 0) {
        whatif_profile_free(now);
        return -1;
    }
    *seconds = r->c->t.prefill ? p.prefill.seconds : p.decode.seconds * r->c->t.n;
    return 0;
}

/* Predicts the ops, in a repetition of their own. */
static int predict_ops(struct validation *v, struct validate_result *r, const struct hwprofile *now, const struct state *at,
                       const struct model *m, const struct run *run, struct error *err)
{
    const struct predict_options o = options_of(r, at);
    struct explain e;
    if (explain_init(&e, m, now, &o, r->c->t.prefill ? PHASE_PREFILL : PHASE_DECODE, err) != 0)
        return -1;
    const int rc = add_ops(v, r, run, &e, barrier_of(now, r->c->n_threads), err);
    explain_free(&e);
    return rc;
}

/* A repetition and its prediction. doubt: larger of the prediction's change between the probes before and after, and the CPU time lost. */
struct comparison {
    double ratio, deviation; /* measured over predicted seconds; fraction */
    double memory, compute, tiles, kept, seconds;
};

/* Relative change from the mean of two probes to the later one; 0: no probes. */
static double drift(double after, double mean)
{
    return isnan(after / mean) ? 0 : after / mean - 1;
}

static int predict_repetition(struct comparison *to, const struct run_rep *rep, const struct validate_result *r,
                          const struct validate_setup *s, const struct model *m, struct error *err)
{
    const double at[] = { 0, -1, 1 }; /* mean of the probes, before, after */
    const double roof = drift(rep->after_bytes_s, rep->ceiling_bytes_s), peak = drift(rep->after_flop_s, rep->ceiling_flop_s),
                 tiles = drift(rep->after_tile_flop_s, rep->tile_flop_s);
    double t[ARRAY_LEN(at)];
    for (size_t i = 0; i < ARRAY_LEN(at); i++) {
        struct reading read = { rep->ceiling_bytes_s * (1 + at[i] * roof), rep->ceiling_flop_s * (1 + at[i] * peak),
                                rep->tile_flop_s * (1 + at[i] * tiles), { 0 } };
        for (int k = 0; k < COHERENCE_COUNT; k++)
            read.coherence[k] = rep->coherence[k] * (1 + at[i] * drift(rep->after_coherence[k], rep->coherence[k]));
        const struct state now = state_of(r, s->profile, read);
        struct hwprofile h;
        if (predict_one(&t[i], &h, r, s, m, &now, err) != 0)
            return -1;
        whatif_profile_free(&h);
        if (i > 0)
            continue;
        to->memory = now.memory;
        to->compute = now.cores.core;
        to->tiles = now.cores.tiles;
        to->kept = now.kept;
    }
    to->seconds = rep->seconds;
    to->ratio = rep->seconds / t[0];
    to->deviation = fmax(fabs(t[2] - t[1]) / t[0], 1 - rep->cpu_share); /* NaN (unknown) is ignored by fmax */
    return 0;
}

static int by_deviation(const void *x, const void *y)
{
    const struct comparison *a = x, *b = y;
    return (a->deviation > b->deviation) - (a->deviation < b->deviation);
}

static double median_of(const struct comparison *b, size_t n, size_t offset)
{
    double x[MOST_REPS * MOST_ROUNDS];
    for (size_t i = 0; i < n; i++)
        memcpy(&x[i], (const char *)&b[i] + offset, sizeof x[i]);
    return stats_median(x, n);
}

/* Selects the repetitions that count: the steady ones, at least half as many as requested, the steadiest first. methods.md (82) */
static int judge(struct validate_result *r, const struct validate_setup *s, const struct model *m, const struct run *run, struct error *err)
{
    struct comparison b[MOST_REPS * MOST_ROUNDS];
    const size_t n = u64_min(run->n_rep, ARRAY_LEN(b)), least = (size_t)(r->n_requested + 1) / 2;
    size_t steady = 0;
    for (size_t i = 0; i < n; i++) {
        if (predict_repetition(&b[i], &run->rep[i], r, s, m, err) != 0)
            return -1;
        steady += b[i].deviation <= VALIDATE_STEADY;
    }
    qsort(b, n, sizeof *b, by_deviation);
    r->n_reps = (int)n;
    r->n_still = (int)steady;
    r->moved = steady < least;
    const size_t count = u64_min(n, r->moved ? least : steady);
    r->error = median_of(b, count, offsetof(struct comparison, ratio)) - 1;
    r->seconds = median_of(b, count, offsetof(struct comparison, seconds));
    r->predicted_s = r->seconds / (1 + r->error);
    r->memory_scale = median_of(b, count, offsetof(struct comparison, memory));
    r->compute_scale = median_of(b, count, offsetof(struct comparison, compute));
    r->tile_scale = median_of(b, count, offsetof(struct comparison, tiles));
    r->kept = median_of(b, count, offsetof(struct comparison, kept));
    return 0;
}

/* Judges ops with the probes between the steps of their own repetition. */
static int judge_ops(struct validation *v, struct validate_result *r, const struct validate_setup *s, const struct model *m,
                     const struct run *run, struct error *err)
{
    struct reading read = { r->row.ops_ceiling_bytes_s, r->row.ops_ceiling_flop_s, r->row.ops_tile_flop_s, { 0 } };
    memcpy(read.coherence, r->row.ops_coherence, sizeof read.coherence);
    const struct state at = state_of(r, s->profile, read);
    double ignored;
    struct hwprofile now;
    if (predict_one(&ignored, &now, r, s, m, &at, err) != 0)
        return -1;
    const int rc = predict_ops(v, r, &now, &at, m, run, err);
    whatif_profile_free(&now);
    return rc;
}

/* ---- measuring ------------------------------------------------------------------------------------------- */

static struct engine_options engine_of(const struct setup *machine, const struct validate_setup *s, const struct bench_test *t)
{
    struct engine_options eo = setup_engine_options(machine, s->engine);
    eo.n_ctx = t->depth + t->n;
    eo.n_seq = t->n_batch;
    eo.n_ubatch = t->prefill ? (uint32_t)u64_min((uint64_t)t->n * t->n_batch, t->n_ubatch) : t->n_batch;
    eo.n_ubatch = eo.n_ubatch < t->n_batch ? t->n_batch : eo.n_ubatch;
    eo.n_out_max = t->n_batch;
    eo.counters = (struct counters_options){ .backend = "null", .data_dirs = environment()->data_dirs, .root = environment()->root };
    return eo;
}

/* Prober of uncached memory; NULL: it would take more than a quarter of the free memory. */
static struct ceilings_prober *dram_prober(struct validate_dram *f, const struct ceilings_options *adjacent, double cache_bytes)
{
    const double most = 0.25, least_bytes = 1 << 30;
    struct error ignored;
    for (size_t i = 0; i < f->n; i++)
        if (f->n_threads[i] == adjacent->n_threads)
            return f->prober[i];
    if (fmax(4 * cache_bytes, least_bytes) > most * ceilings_free_bytes())
        return NULL;
    struct ceilings_prober **prober = realloc(f->prober, (f->n + 1) * sizeof *prober);
    f->prober = prober ? prober : f->prober;
    int *n_threads = realloc(f->n_threads, (f->n + 1) * sizeof *n_threads);
    f->n_threads = n_threads ? n_threads : f->n_threads;
    if (!prober || !n_threads)
        return NULL;
    struct ceilings_options o = *adjacent;
    o.memory = NULL;
    o.memory_whole = false;
    o.memory_only = true;
    f->prober[f->n] = ceilings_prober_new(MATH_FP32, o.n_threads, &o, &ignored);
    f->n_threads[f->n] = o.n_threads;
    return f->prober[f->n++];
}

/* Probes uncached memory; NaN: none. It evicts cached weights, which are read again before they are timed. */
static double probe_dram(struct ceilings_prober *p)
{
    struct ceilings_quick_probe now;
    struct error ignored;
    return p && ceilings_probe_quick(p, &now, &ignored) == 0 ? now.bytes_s : NAN;
}

static void add_probe(double *sum, double *n, double bytes_s)
{
    if (isnan(bytes_s))
        return;
    *sum += bytes_s;
    *n += 1;
}

/* Rounds of the requested repetitions until half as many are steady, at most MOST_ROUNDS; ops in the first. */
static int rounds(struct validate_result *r, struct run *run, struct bench *b, const struct validate_setup *s, const struct bench_test *t,
                  struct ceilings_prober *far, struct error *err)
{
    struct bench_test test = *t;
    double ignored, sum = 0, n_probe = 0;
    r->moved = true;
    for (int i = 0; i < MOST_ROUNDS && r->moved; i++, test.ops = false) {
        const double before = probe_dram(far);
        if (bench_run(run, b, &test, 1, &ignored, err) != 0)
            return -1;
        add_probe(&sum, &n_probe, before);
        add_probe(&sum, &n_probe, probe_dram(far));
        r->far_bytes_s = sum / n_probe; /* NaN: no probe */
        if (judge(r, s, b->m, run, err) != 0)
            return -1;
    }
    return 0;
}

/* Names the bound, with the operand type in use: core probes are small products. */
static void name_bound(const struct validate_result *r, struct run_row *row, const struct hwprofile *h, enum math math)
{
    const struct ceiling *peak = hwprofile_peak(h, math, r->c->n_threads);
    const double now = r->compute_scale > 0 ? r->compute_scale : 1;
    if (peak)
        snprintf(row->bound, sizeof row->bound, "%s",
                 bench_bound(row->weight_bytes + row->kv_bytes, row->flop, row->ceiling_bytes_s,
                             peak->value / peak->n_threads * r->c->n_threads * now));
}

static int measure_on(struct validate_result *r, struct run *run, const struct validate_setup *s, const struct model *m,
                      const struct bench_test *t, const struct setup *machine, struct error *err)
{
    const struct engine_options eo = engine_of(machine, s, t);
    struct ceilings_options probe = { .effort = CEILINGS_QUICK, .n_threads = machine->n_threads,
                                            .cpu_flags = machine->cpu_flags, .cpus = &machine->cpus, .core_probes = true };
    struct bench b = { .m = m, .machine = machine, .run = run, .energy = s->energy, .stored = &s->stored };
    b.e = engine_new(m, &eo, err);
    if (!b.e)
        return -1;
    if (t->depth)
        engine_fill_kv(b.e, t->depth);
    struct last_cache l;
    const struct ceiling *loads = memory_of(s->profile, machine->n_threads);
    probe.memory_kernel = loads ? loads->kernel : NULL; /* a longer prefetch distance than the engine's would hide lost cache hits. (32) */
    last_cache_init(&l, s->profile, machine->n_threads);
    r->scanned_bytes = (double)bench_share_memory(&probe, b.e, l.n ? l.footprint[l.n - 1] : b.stored->cache_bytes, t->depth > t->n, l.n > 0);
    b.prober = ceilings_prober_new(MATH_FP32, machine->n_threads, &probe, err);
    struct ceilings_prober *far = b.prober && may_hit_llc(&l, r->scanned_bytes) ? dram_prober(s->far, &probe, b.stored->cache_bytes) : NULL;
    const int rc = b.prober ? rounds(r, run, &b, s, t, far, err) : -1;
    if (rc == 0)
        name_bound(r, &run->row[0], s->profile, bench_math(b.e));
    ceilings_prober_free(b.prober);
    engine_free(b.e);
    return rc;
}

static int measure(struct validate_result *r, struct run *run, const struct validate_setup *s, const struct model *m,
                   const struct validate_case *c, struct error *err)
{
    struct setup machine;
    if (setup_init(&machine, c->n_threads, s->engine, err) != 0)
        return -1;
    const int rc = measure_on(r, run, s, m, &c->t, &machine, err);
    setup_free(&machine);
    return rc;
}

/* ---- a case -------------------------------------------------------------------------------------------------- */

/* Role with the largest error in seconds. */
static const struct validate_op *largest(const struct validation *v, size_t first)
{
    const struct validate_op *o = NULL;
    for (size_t i = first; i < v->n_op; i++)
        if (!o || fabs(v->op[i].predicted_s - v->op[i].seconds) > fabs(o->predicted_s - o->seconds))
            o = &v->op[i];
    return o;
}

static void say_reason(struct validate_result *r, const struct validation *v, size_t first)
{
    const struct validate_op *o = largest(v, first);
    char moved[80] = "", steal[48] = "", role[112] = "";
    if (r->moved)
        snprintf(moved, sizeof moved, "; %d of %d repetitions still, the roof moved by %.0f %%", r->n_still, r->n_reps,
                 100 * r->row.roof_moved);
    if (r->row.steal > 0.01)
        snprintf(steal, sizeof steal, "; %.0f %% of the CPUs' time stolen", 100 * r->row.steal);
    if (o)
        snprintf(role, sizeof role, "; %.20s predicted at %.2f of its time, %.0f %% of all", o->role, o->predicted_s / o->seconds,
                 100 * o->share);
    const int n = snprintf(r->reason, sizeof r->reason, "%s%s%s", moved, steal, role);
    if (n > 2)
        memmove(r->reason, r->reason + 2, strlen(r->reason + 2) + 1);
}

/* Repetitions of a case: as requested; else three, more for short cases, so that disturbances affect few and the median is robust. */
static int repetitions(const struct validate_result *r, const struct validate_setup *s, const struct model *m)
{
    enum { LEAST_REPS = 3, ENOUGH_REPS = 9 };
    const double enough_s = 1.5;
    struct error ignored;
    struct hwprofile now;
    double seconds;
    if (r->c->t.reps > 0)
        return r->c->t.reps;
    if (predict_one(&seconds, &now, r, s, m, &(struct state){ 1, { 1, 1, { 0 } }, .kept = NAN }, &ignored) != 0)
        return LEAST_REPS;
    whatif_profile_free(&now);
    return (int)fmin(ENOUGH_REPS, fmax(LEAST_REPS, ceil(enough_s / seconds)));
}

static int run_case(struct validation *v, struct validate_result *r, const struct validate_setup *s, const struct model *m,
                    struct error *err)
{
    struct run run = { 0 };
    const size_t first = v->n_op;
    struct validate_case c = *r->c;
    c.t.reps = r->n_requested = repetitions(r, s, m);
    int rc = measure(r, &run, s, m, &c, err);
    if (rc == 0) {
        r->row = run.row[0];
        rc = judge_ops(v, r, s, m, &run, err);
    }
    if (rc == 0)
        say_reason(r, v, first);
    run_free(&run);
    return rc;
}

static int case_of_file(struct validation *v, struct validate_result *r, const struct validate_setup *s, struct validate_file *f,
                        struct error *err)
{
    struct model m = { 0 };
    if (validate_file_make(f, err) != 0 || setup_model_open(&m, f->path, err) != 0)
        return -1;
    if (!f->ours)
        snprintf(f->type, sizeof f->type, "%s", m.type_name);
    const int rc = run_case(v, r, s, &m, err);
    model_free(&m);
    return rc;
}

int validate_run(struct validation *v, const struct validate_setup *s, const struct validate_plan *p, size_t at, struct error *err)
{
    struct validate_result *grown = realloc(v->r, (v->n + 1) * sizeof *grown);
    struct error why = { 0 };
    if (!grown)
        return error_oom(err, v->n * sizeof *grown, "the results");
    v->r = grown;
    struct validate_file *f = &p->file[p->c[at].file];
    struct validate_result r = { .c = &p->c[at], .f = f, .seconds = NAN, .predicted_s = NAN, .memory_scale = NAN,
                                 .compute_scale = NAN, .tile_scale = NAN, .far_bytes_s = NAN, .kept = NAN, .error = NAN, .op_median_ape = NAN };
    r.row.tok_s_mean = r.row.tok_s_sd = r.row.ceiling_bytes_s = r.row.ceiling_flop_s = r.row.roof_moved = r.row.steal = NAN;
    const int rc = case_of_file(v, &r, s, f, &why);
    f->n_left--;
    if (rc != 0 && why.kind == ERROR_INTERRUPTED) {
        *err = why;
        return -1;
    }
    if (rc != 0)
        snprintf(r.reason, sizeof r.reason, "%.250s", why.msg);
    v->r[v->n++] = r;
    return 0;
}
