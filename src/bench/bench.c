/*
 * One test of `roofcast bench`: repetitions of a prefill or decode, with short ceiling probes between them. The roof of a shared machine
 * varies, so MBU and MFU refer to a ceiling measured within the same minute.
 */
#include "bench/bench.h"
#include "base/notify.h"
#include "bench/routing.h"
#include "timing/timing.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct probes {
    double *bytes_s, *flop_s, *tile_flop_s; /* [reps + 1]; NaN: the probe failed */
    double (*coherence)[COHERENCE_COUNT];
    size_t n;
    struct ceilings_probed last; /* kernel names */
};

enum math bench_math(const struct engine *e)
{
    const struct op_list *l = engine_ops(e);
    double elems[ACT_KIND_COUNT] = { 0 };
    for (size_t i = 0; i < l->n; i++) {
        const struct op *op = &l->ops[i];
        if (op->kind == OP_MATMUL || op->kind == OP_EXPERT_MATMUL)
            elems[engine_kernels(e)->mm[op->w->type].act] +=
                (double)op->rows * op->cols * (op->kind == OP_MATMUL ? 1 : op->n_expert_used);
    }
    if (elems[ACT_Q8] >= elems[ACT_F32] && elems[ACT_Q8] >= elems[ACT_BF16])
        return MATH_INT8;
    return elems[ACT_BF16] > elems[ACT_F32] ? MATH_BF16 : MATH_FP32;
}

static int probe(struct probes *p, struct ceilings_prober *prober, struct error *err)
{
    if (ceilings_probe(prober, &p->last, err) != 0)
        return -1;
    p->bytes_s[p->n] = p->last.dram.value;
    p->flop_s[p->n] = p->last.peak.value;
    p->tile_flop_s[p->n] = p->last.tiles.value;
    memcpy(p->coherence[p->n++], p->last.coherence, sizeof p->last.coherence);
    return 0;
}

/* Median of the successful probes. */
static double probe_median(const double *x, size_t n)
{
    double *known = malloc(n * sizeof *known);
    size_t k = 0;
    for (size_t i = 0; known && i < n; i++)
        if (!isnan(x[i]))
            known[k++] = x[i];
    const double median = stats_median(known, k);
    free(known);
    return median;
}

static int32_t *random_tokens(size_t n, uint32_t n_vocab, struct error *err)
{
    int32_t *tok = malloc(n * sizeof *tok);
    struct rng r;
    rng_init(&r, 1);
    if (!tok)
        error_oom(err, n * sizeof *tok, "the tokens");
    for (size_t i = 0; tok && i < n; i++)
        tok[i] = (int32_t)(rng_u64(&r) % n_vocab);
    return tok;
}

/* Sequences of a test: the engine runs of the next pass, and its tokens. */
struct sequences {
    struct engine_run *run; /* [n_batch] */
    int32_t *tok;           /* [n_batch * largest step] */
};

static void sequences_free(struct sequences *l)
{
    free(l->run);
    free(l->tok);
}

/* Tokens per sequence and pass: from the ubatch; decode: one. */
static uint32_t step_of(const struct bench_test *t)
{
    const uint32_t share = t->n_ubatch / t->n_batch;
    return !t->prefill || share == 0 ? 1 : (uint32_t)u64_min(share, t->n);
}

static int sequences_init(struct sequences *l, const struct bench_test *t, struct error *err)
{
    const size_t n = (size_t)t->n_batch * step_of(t);
    l->run = calloc(t->n_batch, sizeof *l->run);
    l->tok = calloc(n, sizeof *l->tok);
    return l->run && l->tok ? 0 : error_oom(err, n * sizeof *l->tok, "the sequences");
}

/* One pass: tokens [at, at + n) of every sequence. Sequences have distinct tokens; equal ones would select the same experts. */
static int step(struct engine *e, const struct bench_test *t, struct sequences *l, const int32_t *tok, uint32_t at, uint32_t n,
                struct error *err)
{
    const bool last = !t->prefill || at + n == t->n; /* only a prompt's last pass needs logits */
    for (uint32_t s = 0; s < t->n_batch; s++) {
        l->run[s] = (struct engine_run){ .seq = s, .n_past = t->depth + at, .n_tok = n, .n_out = last,
                                          .table = bench_cache_tables(t->cache, s) };
        memcpy(l->tok + (size_t)s * n, tok + (size_t)s * t->n + at, n * sizeof *tok);
    }
    const float *logits;
    if (interrupt_check(err) != 0)
        return -1;
    return engine_eval_runs(e, l->tok, l->run, t->n_batch, &logits, err);
}

int bench_repetition(struct engine *e, const struct bench_test *t, const int32_t *tok, double *itl, double *seconds,
                     const struct bench_between *between, struct error *err)
{
    struct sequences l = { 0 };
    const uint32_t width = step_of(t);
    int rc = sequences_init(&l, t, err);
    engine_assume_kv(e); /* reset to the depth: windowed layers have advanced */
    const double start = clock_now_s();
    double last = start;
    for (uint32_t at = 0, n; rc == 0 && at < t->n; at += n) {
        n = (uint32_t)u64_min(width, t->n - at);
        rc = step(e, t, &l, tok, at, n, err);
        const double now = clock_now_s();
        if (itl && !t->prefill)
            itl[at] = now - last;
        last = now;
        if (rc == 0 && between)
            rc = between->step(between->ctx, n, at + n == t->n, err);
    }
    *seconds = clock_now_s() - start;
    sequences_free(&l);
    return rc;
}

static int warm_up(struct engine *e, const struct bench_test *t, const int32_t *tok, struct error *err)
{
    double ignored;
    struct bench_test w = *t;
    w.n = (uint32_t)u64_min(t->n, t->prefill ? t->n_ubatch : 2);
    if (t->depth)
        engine_fill_kv(e, t->depth);
    if (t->no_warmup)
        return 0;
    return bench_repetition(e, &w, tok, NULL, &ignored, NULL, err);
}

const char *bench_bound(double bytes, double flop, double bytes_s, double flop_s)
{
    if (isnan(bytes_s) || isnan(flop_s))
        return "";
    return bytes / bytes_s >= flop / flop_s ? "memory" : "compute";
}

static void fill_row(struct run_row *r, const struct engine *e, const struct model *m,
                     const struct setup *machine, const struct bench_test *t)
{
    snprintf(r->model, sizeof r->model, "%s", m->name);
    snprintf(r->type, sizeof r->type, "%s", m->type_name);
    snprintf(r->phase, sizeof r->phase, "%s", t->prefill ? "prefill" : "decode");
    snprintf(r->type_k, sizeof r->type_k, "%s", dtype_name(t->type_k));
    snprintf(r->type_v, sizeof r->type_v, "%s", dtype_name(t->type_v));
    const uint32_t most = t->prefill ? (uint32_t)u64_min((uint64_t)t->n * t->n_batch, t->n_ubatch) : t->n_batch; /* tokens per pass */
    snprintf(r->act_scales, sizeof r->act_scales, "%s", act_scales_name(engine_act_scales(e, most)));
    snprintf(r->counters, sizeof r->counters, "%s", counters_name(engine_counters(e)));
    phase_test_name(r->test, sizeof r->test, t->prefill ? PHASE_PREFILL : PHASE_DECODE, t->n, t->n_batch, t->depth);
    r->kv_block = NAN;
    if (t->cache && t->cache->block_size > 0) {
        r->kv_block = t->cache->block_size;
        const size_t len = strlen(r->test);
        snprintf(r->test + len, sizeof r->test - len, "@kv%u", t->cache->block_size);
    }
    r->kv_ratio = r->kv_ratio_low = r->kv_ratio_high = NAN;
    r->n_threads = machine->n_threads;
    r->n_prompt = t->prefill ? (int)t->n : 0;
    r->n_gen = t->prefill ? 0 : (int)t->n;
    r->n_depth = (int)t->depth;
    r->n_batch = (int)t->n_batch;
    r->n_ubatch = (int)t->n_ubatch;
    r->n_reps = t->reps;
    r->ops_ceiling_bytes_s = r->ops_ceiling_flop_s = r->ops_lowest_bytes_s = r->ops_highest_bytes_s = r->ops_tile_flop_s = NAN; /* --ops */
    for (int i = 0; i < COHERENCE_COUNT; i++)
        r->ops_coherence[i] = NAN;
}

/* Samples of all repetitions of a test. */
struct samples {
    double *seconds, *itl; /* [reps], [reps * n] */
    struct run_rep *rep;   /* [reps] */
    int32_t *tok;          /* [n_batch * n] */
    struct work work;      /* all repetitions, as the next two */
    struct energy_sample energy; /* all repetitions */
    double n_expert, n_pass; /* distinct experts read by MoE layers, passes of such layers */
};

static int samples_init(struct samples *s, const struct bench_test *t, uint32_t n_vocab, struct error *err)
{
    const size_t reps = (size_t)t->reps;
    *s = (struct samples){ .seconds = calloc(reps, sizeof *s->seconds), .itl = calloc(reps * t->n, sizeof *s->itl),
                             .rep = calloc(reps, sizeof *s->rep) };
    if (!s->seconds || !s->itl || !s->rep)
        return error_oom(err, reps * t->n * sizeof *s->itl, "the samples");
    s->tok = random_tokens((size_t)t->n * t->n_batch, n_vocab, err);
    return s->tok ? 0 : -1;
}

static void samples_free(struct samples *s)
{
    free(s->seconds);
    free(s->itl);
    free(s->rep);
    free(s->tok);
}

static void work_add(struct work *sum, struct work w)
{
    sum->weight_bytes += w.weight_bytes;
    sum->act_bytes += w.act_bytes;
    sum->kv_bytes += w.kv_bytes;
    sum->flop += w.flop;
}

/* Adds the engine's counters since its reset. */
static void samples_count(struct samples *s, const struct engine *e)
{
    const struct op_list *l = engine_ops(e);
    const struct op_sample *op = engine_samples(e);
    work_add(&s->work, engine_work(e));
    for (size_t i = 0; i < l->n; i++)
        if (l->ops[i].kind == OP_ROUTE) {
            s->n_expert += (double)op[i].n_expert;
            s->n_pass += (double)op[i].n_pass;
        }
}

static void fill_rates(struct run_row *r, const struct bench_test *t, const struct samples *s)
{
    const size_t reps = (size_t)t->reps;
    double *rate = malloc(reps * sizeof *rate);
    for (size_t i = 0; rate && i < reps; i++)
        rate[i] = (double)t->n * t->n_batch / s->seconds[i];
    r->tok_s_mean = rate ? stats_mean(rate, reps) : NAN;
    r->tok_s_sd = rate && reps > 1 ? stats_sd(rate, reps) : NAN;
    free(rate);
    r->seconds = stats_mean(s->seconds, reps);
    r->ttft_s = t->prefill ? stats_median(s->seconds, reps) : NAN;
    r->itl_p50_s = t->prefill ? NAN : stats_median(s->itl, reps * t->n);
    r->itl_p99_s = t->prefill ? NAN : stats_quantile(s->itl, reps * t->n, 0.99);
    r->weight_bytes = (double)s->work.weight_bytes / t->reps;
    r->kv_bytes = (double)s->work.kv_bytes / t->reps;
    r->act_bytes = (double)s->work.act_bytes / t->reps;
    r->flop = (double)s->work.flop / t->reps;
    r->experts_touched = s->n_pass > 0 ? s->n_expert / s->n_pass : NAN;
}

/* Utilization relative to the probes; like tok_s_mean, means of the repetitions' rates. methods.md (28) */
static void fill_utilization(struct run_row *r, const struct bench_test *t, const struct probes *p)
{
    const double passes_s = r->tok_s_mean / ((double)t->n * t->n_batch);
    r->bytes_s = (r->weight_bytes + r->kv_bytes) * passes_s;
    r->flop_s = r->flop * passes_s;
    r->ceiling_bytes_s = probe_median(p->bytes_s, p->n);
    r->ceiling_flop_s = probe_median(p->flop_s, p->n);
    r->mbu = r->bytes_s / r->ceiling_bytes_s;
    r->mfu = r->flop_s / r->ceiling_flop_s;
    snprintf(r->bound, sizeof r->bound, "%s",
             bench_bound(r->weight_bytes + r->kv_bytes, r->flop, r->ceiling_bytes_s, r->ceiling_flop_s));
    snprintf(r->ceiling_source, sizeof r->ceiling_source, "%zu concurrent probes", p->n);
}

/* Energy of one repetition, from all. methods.md (88) */
static void fill_energy(struct run_row *r, const struct bench_test *t, const struct samples *s, const struct energy *e)
{
    const double seconds = stats_mean(s->seconds, (size_t)t->reps) * t->reps;
    char why[sizeof r->energy_reason];
    r->energy_j = energy_of(e, &s->energy, seconds, why, sizeof why) / t->reps;
    r->j_tok = r->energy_j / ((double)t->n * t->n_batch);
    snprintf(r->energy_source, sizeof r->energy_source, "%s", energy_source(e));
    snprintf(r->energy_reason, sizeof r->energy_reason, "%s", why);
}

static int add_ceilings(struct run *r, const struct probes *p, const struct run_row *row, struct error *err)
{
    struct ceiling c[2] = { p->last.dram, p->last.peak };
    const double value[2] = { row->ceiling_bytes_s, row->ceiling_flop_s };
    if (!r->ceilings && !(r->ceilings = json_array()))
        return error_oom(err, 0, "the ceilings");
    for (int i = 0; i < 2; i++) {
        if (isnan(value[i]))
            continue;
        c[i].value = value[i];
        c[i].n_samples = (int)p->n;
        stats_median_ci(i ? p->flop_s : p->bytes_s, p->n, &c[i].ci_lo, &c[i].ci_hi);
        json_t *j = ceiling_to_json(&c[i], err);
        if (!j || json_object_set_new(j, "test", json_string(row->test)) != 0 ||
            json_array_append_new(r->ceilings, j) != 0)
            return error_oom(err, 0, "the ceilings");
    }
    return 0;
}

/* Speed over that of the first cache in the same repetitions: median and interval, methods.md (70) */
static int fill_ratio(struct run_row *r, const struct samples *first, const struct samples *s, int reps, struct error *err)
{
    double *ratio = malloc((size_t)reps * sizeof *ratio);
    if (!ratio)
        return error_oom(err, (size_t)reps * sizeof *ratio, "the ratios of two KV caches");
    for (int i = 0; i < reps; i++)
        ratio[i] = first->seconds[i] / s->seconds[i];
    r->kv_ratio = stats_median(ratio, (size_t)reps);
    stats_median_ci(ratio, (size_t)reps, &r->kv_ratio_low, &r->kv_ratio_high);
    free(ratio);
    return 0;
}

/* Repetition i, as a region of a counting tool (markers), if there is one. */
static int counted_repetition(const struct bench *b, const struct bench_test *t, struct samples *s, size_t i, struct error *err)
{
    const char *region = t->prefill ? "prefill" : "decode";
    struct energy_sample before, after;
    struct bench_watch watch;
    struct engine *e = bench_engine(b, t);
    bench_watch_begin(&watch, b->machine);
    engine_region_start(e, region);
    energy_read(b->energy, &before);
    const int rc = bench_repetition(e, t, s->tok, s->itl + i * t->n, &s->seconds[i], NULL, err);
    energy_read(b->energy, &after);
    engine_region_stop(e, region);
    bench_watch_end(&watch, b->machine, s->seconds[i], &s->rep[i]);
    s->energy.package_j += after.package_j - before.package_j;
    s->energy.dram_j += after.dram_j - before.dram_j;
    return rc;
}

/* Waits; an interrupt ends it. */
static int wait_before(double seconds, struct error *err)
{
    for (const double end = clock_now_s() + seconds; clock_now_s() < end;) {
        const double left = fmin(0.05, end - clock_now_s());
        const struct timespec t = { 0, (long)(fmax(left, 0) * 1e9) };
        nanosleep(&t, NULL);
        if (interrupt_check(err) != 0)
            return -1;
    }
    return 0;
}

/* All repetitions of the tests, and the probes. */
static int measure(struct samples *s, struct probes *p, const struct bench *b, const struct bench_test *t, size_t n_t,
                   const char *what, struct error *err)
{
    size_t own = 1; /* tests of a cache */
    while (own < n_t && t[own].cache == t->cache)
        own++;
    if (wait_before(t->delay_s, err) != 0)
        return -1;
    for (size_t k = 0; k < n_t; k++)
        if (warm_up(bench_engine(b, &t[k]), &t[k], s[k].tok, err) != 0)
            return -1;
    for (int i = 0; i < t->reps; i++) {
        notify_progress(NULL, what, (double)i / t->reps);
        if (probe(p, b->prober, err) != 0)
            return -1;
        for (size_t j = 0; j < n_t; j++) {
            const size_t k = (j + own * (size_t)i) % n_t;
            struct engine *e = bench_engine(b, &t[k]);
            engine_reset(e);
            if (counted_repetition(b, &t[k], &s[k], (size_t)i, err) != 0)
                return -1;
            samples_count(&s[k], e);
            if (routing_record(b->run, e, b->m, err) != 0)
                return -1;
        }
        if (b->markers)
            b->markers->next();
    }
    return probe(p, b->prober, err);
}

/* Records each repetition with the probes before and after it. methods.md (83) */
static int add_repetitions(struct run *r, const struct run_row *row, const struct bench_test *t, struct samples *s,
                           const struct probes *p, struct error *err)
{
    for (int i = 0; i < t->reps; i++) {
        struct run_rep *rep = &s->rep[i];
        memcpy(rep->model, row->model, sizeof rep->model);
        memcpy(rep->test, row->test, sizeof rep->test);
        rep->n_threads = row->n_threads;
        rep->repetition = i;
        rep->seconds = s->seconds[i];
        rep->tok_s = (double)t->n * t->n_batch / s->seconds[i];
        rep->ceiling_bytes_s = (p->bytes_s[i] + p->bytes_s[i + 1]) / 2;
        rep->ceiling_flop_s = (p->flop_s[i] + p->flop_s[i + 1]) / 2;
        rep->after_bytes_s = p->bytes_s[i + 1];
        rep->after_flop_s = p->flop_s[i + 1];
        rep->tile_flop_s = (p->tile_flop_s[i] + p->tile_flop_s[i + 1]) / 2;
        rep->after_tile_flop_s = p->tile_flop_s[i + 1];
        for (int k = 0; k < COHERENCE_COUNT; k++)
            rep->coherence[k] = (p->coherence[i][k] + p->coherence[i + 1][k]) / 2;
        memcpy(rep->after_coherence, p->coherence[i + 1], sizeof rep->after_coherence);
        rep->mbu = (row->weight_bytes + row->kv_bytes) / rep->seconds / rep->ceiling_bytes_s;
        rep->mfu = row->flop / rep->seconds / rep->ceiling_flop_s;
        if (run_add_rep(r, rep, err) != 0)
            return -1;
    }
    return 0;
}

/* Adds the row of a test, its ceilings and its ops. */
static int report(struct run *r, struct run_row *row, const struct bench *b, const struct bench_test *t,
                  struct samples *s, const struct probes *p, struct error *err)
{
    fill_rates(row, t, s);
    if (add_repetitions(r, row, t, s, p, err) != 0)
        return -1;
    fill_utilization(row, t, p);
    bench_conditions(row, s->rep, (size_t)t->reps, p->bytes_s, p->n);
    bench_compare_stored(row, b->stored, bench_math(b->e));
    fill_energy(row, t, s, b->energy);
    if (isnan(row->ceiling_flop_s))
        notify_warn("no compute ceiling for %s: %s", row->test, ceilings_prober_reason(b->prober));
    if (bench_count(r, row, b, t, s->tok, err) != 0 || (t->ops && bench_ops(r, row, b, t, s->tok, err) != 0))
        return -1;
    return run_add_row(r, row, err) != 0 ? -1 : add_ceilings(r, p, row, err);
}

/* Test k in the first cache. */
static size_t same_test(const struct bench_test *t, size_t k)
{
    size_t i = 0;
    while (t[i].prefill != t[k].prefill || t[i].n != t[k].n || t[i].depth != t[k].depth)
        i++;
    return i;
}

int bench_run(struct run *r, const struct bench *b, const struct bench_test *t, size_t n_t, double *median_s,
              struct error *err)
{
    const size_t n_probe = (size_t)t->reps + 1;
    struct run_row row[BENCH_MOST_TESTS] = { 0 };
    struct samples s[BENCH_MOST_TESTS] = { 0 };
    struct probes p = { .bytes_s = calloc(n_probe, sizeof(double)), .flop_s = calloc(n_probe, sizeof(double)),
                        .tile_flop_s = calloc(n_probe, sizeof(double)), .coherence = calloc(n_probe, sizeof *p.coherence) };
    char what[160] = "";
    int rc = p.bytes_s && p.flop_s && p.tile_flop_s && p.coherence ? 0 : error_oom(err, n_probe * sizeof(double), "the probes");
    for (size_t k = 0; rc == 0 && k < n_t; k++) {
        rc = samples_init(&s[k], &t[k], b->m->hp.n_vocab, err);
        fill_row(&row[k], bench_engine(b, &t[k]), b->m, b->machine, &t[k]);
    }
    snprintf(what, sizeof what, "%.40s %.47s%s%.47s", b->m->name, row[0].test, n_t > 1 ? " " : "", row[1].test);
    if (rc == 0)
        rc = measure(s, &p, b, t, n_t, what, err);
    for (size_t k = 0; rc == 0 && k < n_t; k++) {
        const size_t first = same_test(t, k);
        if (first < k)
            rc = fill_ratio(&row[k], &s[first], &s[k], t->reps, err);
        if (rc == 0)
            rc = report(r, &row[k], b, &t[k], &s[k], &p, err);
        median_s[k] = stats_median(s[k].seconds, (size_t)t->reps);
    }
    for (size_t k = 0; k < n_t; k++)
        samples_free(&s[k]);
    free(p.bytes_s);
    free(p.flop_s);
    free(p.tile_flop_s);
    free(p.coherence);
    return rc;
}
