/* A case of `roofcast validate`: the engine between probes, and what the stored profile says of it, scaled by those. */
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

void validate_far_free(struct validate_far *f)
{
    for (size_t i = 0; i < f->n; i++)
        ceilings_prober_free(f->prober[i]);
    free(f->prober);
    free(f->n_threads);
    *f = (struct validate_far){ 0 };
}

enum { MOST_REPS = 60, MOST_ROUNDS = 3 }; /* MOST_REPS: that -r allows */

/* ---- predicting ------------------------------------------------------------------------------------------- */

/* What plain loads got from the memory that the profile's products walked, for as many threads; else from memory at all. */
static const struct ceiling *memory_of(const struct hwprofile *h, int n_threads)
{
    const struct ceiling *c = hwprofile_ceiling(h, "kernel", "load", "F32", "DRAM", 1, n_threads);
    return c && c->n_threads == n_threads && c->value > 0 ? c : hwprofile_bandwidth(h, "DRAM", n_threads);
}

/* Seconds a pass of the ops of a role, timed one by one: then threads meet after each. */
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

/* Measured and predicted seconds of the roles of a case, those above VALIDATE_SHARE. */
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

/* The machine as adjacent probes measure it: over what the profile has for as many threads, or for the nearest number of them; NaN
 * where the profile has none or it was not read (memory: 1). */
struct state {
    double memory;
    struct cores cores;
    double kept;            /* of the weights, by the last-level cache; NaN: as the profile says */
    struct last_cache last; /* that says so */
};

/* What probes read: of memory, of the small product and of the one by tiles, and of what cores exchange; NaN: not read. */
struct reading {
    double bytes_s, flop_s, tile_flop_s;
    double coherence[COHERENCE_COUNT];
};

/* Weights that the last cache may have some of, so that reading them does not tell what memory gives. */
static bool may_be_kept(const struct last_cache *l, double walked_bytes)
{
    const double more = 1.25; /* times what the profile's loads found something kept of: beyond, what is faster is memory */
    return l->n > 0 && walked_bytes > 0 && walked_bytes <= more * l->footprint[l->n - 1];
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
    if (!may_be_kept(&s.last, r->walked_bytes) || !dram || isnan(bytes_s))
        return s;
    const bool far = r->far_bytes_s > 0;
    s.kept = last_cache_found(&s.last, r->walked_bytes, bytes_s, far ? r->far_bytes_s : dram->value);
    /* What is faster is the cache's; the weights' own pages may be slower than others. (32), (82) */
    s.memory = fmin(far ? r->far_bytes_s / dram->value : 1, s.memory);
    return s;
}

static struct predict_options asked(const struct validate_result *r, const struct state *at)
{
    const struct bench_test *t = &r->c->t;
    return (struct predict_options){ .weights_bytes = NAN, .n_threads = r->c->n_threads, .last = isnan(at->kept) ? NULL : &at->last,
                                     .n_prompt = t->prefill ? t->n : 0, .n_gen = t->prefill ? 0 : t->n, .n_depth = t->depth,
                                     .n_batch = t->n_batch, .n_ubatch = t->n_ubatch, .type_k = t->type_k, .type_v = t->type_v };
}

/* Seconds that the profile says of the case, its roofs as the adjacent probes measure them; *now: that profile, which the
 * caller frees. */
static int predict_one(double *seconds, struct hwprofile *now, const struct validate_result *r, const struct validate_setup *s,
                       const struct model *m, const struct state *at, struct error *err)
{
    const struct predict_options o = asked(r, at);
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

/* The ops, in a repetition of their own. */
static int predict_ops(struct validation *v, struct validate_result *r, const struct hwprofile *now, const struct state *at,
                       const struct model *m, const struct run *run, struct error *err)
{
    const struct predict_options o = asked(r, at);
    struct explain e;
    if (explain_init(&e, m, now, &o, r->c->t.prefill ? PHASE_PREFILL : PHASE_DECODE, err) != 0)
        return -1;
    const int rc = add_ops(v, r, run, &e, barrier_of(now, r->c->n_threads), err);
    explain_free(&e);
    return rc;
}

/* A repetition and its prediction. Doubt: by how much that differs under the probe before it and the one after it, or the part of
 * its threads' time in which others had their CPUs, whichever is more. */
struct comparison {
    double ratio, doubt; /* measured over predicted seconds; a fraction */
    double memory, compute, tiles, kept, seconds;
};

/* From the mean of two probes to the one after: a fraction; 0 where there are none. */
static double drift(double after, double mean)
{
    return isnan(after / mean) ? 0 : after / mean - 1;
}

static int predict_repetition(struct comparison *to, const struct run_rep *rep, const struct validate_result *r,
                          const struct validate_setup *s, const struct model *m, struct error *err)
{
    const double at[] = { 0, -1, 1 }; /* between the probes, before, after */
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
    to->doubt = fmax(fabs(t[2] - t[1]) / t[0], 1 - rep->cpu_share); /* not known: NaN, which fmax leaves out */
    return 0;
}

static int by_doubt(const void *x, const void *y)
{
    const struct comparison *a = x, *b = y;
    return (a->doubt > b->doubt) - (a->doubt < b->doubt);
}

static double median_of(const struct comparison *b, size_t n, size_t offset)
{
    double x[MOST_REPS * MOST_ROUNDS];
    for (size_t i = 0; i < n; i++)
        memcpy(&x[i], (const char *)&b[i] + offset, sizeof x[i]);
    return stats_median(x, n);
}

/* Repetitions with a moving roof or stolen CPU time are not evidence: those without count, at least half as
 * many as were asked for, the stillest ones. methods.md (82) */
static int judge(struct validate_result *r, const struct validate_setup *s, const struct model *m, const struct run *run, struct error *err)
{
    struct comparison b[MOST_REPS * MOST_ROUNDS];
    const size_t n = u64_min(run->n_rep, ARRAY_LEN(b)), least = (size_t)(r->n_asked + 1) / 2;
    size_t still = 0;
    for (size_t i = 0; i < n; i++) {
        if (predict_repetition(&b[i], &run->rep[i], r, s, m, err) != 0)
            return -1;
        still += b[i].doubt <= VALIDATE_STILL;
    }
    qsort(b, n, sizeof *b, by_doubt);
    r->n_reps = (int)n;
    r->n_still = (int)still;
    r->moved = still < least;
    const size_t count = u64_min(n, r->moved ? least : still);
    r->error = median_of(b, count, offsetof(struct comparison, ratio)) - 1;
    r->seconds = median_of(b, count, offsetof(struct comparison, seconds));
    r->predicted_s = r->seconds / (1 + r->error);
    r->memory_scale = median_of(b, count, offsetof(struct comparison, memory));
    r->compute_scale = median_of(b, count, offsetof(struct comparison, compute));
    r->tile_scale = median_of(b, count, offsetof(struct comparison, tiles));
    r->kept = median_of(b, count, offsetof(struct comparison, kept));
    return 0;
}

/* Ops under the probes between the steps of their own repetition. */
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

/* The prober of memory that no cache has; NULL: it would take more than a quarter of what is free, which the runs want. */
static struct ceilings_prober *far_prober(struct validate_far *f, const struct ceilings_options *adjacent, double cache_bytes)
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

/* What it gives now; NaN: there is none. Weights that a cache keeps are read again before they are timed: it takes their place there. */
static double look_far(struct ceilings_prober *p)
{
    struct ceilings_quick_probe now;
    struct error ignored;
    return p && ceilings_probe_quick(p, &now, &ignored) == 0 ? now.bytes_s : NAN;
}

static void add_look(double *sum, double *n, double bytes_s)
{
    if (isnan(bytes_s))
        return;
    *sum += bytes_s;
    *n += 1;
}

/* Rounds of as many repetitions as are asked for until half as many have stood still, at most MOST_ROUNDS; ops in the first. */
static int rounds(struct validate_result *r, struct run *run, struct bench *b, const struct validate_setup *s, const struct bench_test *t,
                  struct ceilings_prober *far, struct error *err)
{
    struct bench_test test = *t;
    double ignored, sum = 0, n_look = 0;
    r->moved = true;
    for (int i = 0; i < MOST_ROUNDS && r->moved; i++, test.ops = false) {
        const double before = look_far(far);
        if (bench_run(run, b, &test, 1, &ignored, err) != 0)
            return -1;
        add_look(&sum, &n_look, before);
        add_look(&sum, &n_look, look_far(far));
        r->far_bytes_s = sum / n_look; /* NaN: none was had */
        if (judge(r, s, b->m, run, err) != 0)
            return -1;
    }
    return 0;
}

/* Of the arithmetic in use: the core probes of the run are small products. */
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
    probe.memory_kernel = loads ? loads->kernel : NULL; /* one that asks further ahead than the engine's hides what a cache lost. (32) */
    last_cache_init(&l, s->profile, machine->n_threads);
    r->walked_bytes = (double)bench_lend_memory(&probe, b.e, l.n ? l.footprint[l.n - 1] : b.stored->cache_bytes, t->depth > t->n, l.n > 0);
    b.prober = ceilings_prober_new(MATH_FP32, machine->n_threads, &probe, err);
    struct ceilings_prober *far = b.prober && may_be_kept(&l, r->walked_bytes) ? far_prober(s->far, &probe, b.stored->cache_bytes) : NULL;
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

/* The role that is furthest off, in seconds. */
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

/* Repetitions of a case: as asked; else three, and of a short one so many that they take a while: the error is the median one's, and
 * a disturbance then affects few of them. */
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
    c.t.reps = r->n_asked = repetitions(r, s, m);
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
