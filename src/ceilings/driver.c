/*
 * Measurement driver: benchmarks take a few samples in turn, round by round, so that drift (shared memory, clock) widens every interval
 * instead of biasing one roof. The remaining time is redistributed at every turn. Source: methods.md (73), (70), (71).
 */
#include "ceilings/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double MIN_TRIAL_S = 0.0002, MAX_TRIAL_S = 0.01, MIN_SAMPLE_S = 0.0005;

/* ---- the list ------------------------------------------------------------------------------------------------ */

struct benchmark *benchmark_add(struct benchmark_list *l, const struct benchmark_class *class, struct error *err)
{
    if (l->n == l->room) {
        size_t room = l->room ? 2 * l->room : 32;
        struct benchmark **p = realloc(l->v, room * sizeof *p);
        if (!p) {
            error_oom(err, room * sizeof *p, "the list of roofs");
            return NULL;
        }
        l->v = p;
        l->room = room;
    }
    struct benchmark *j = calloc(1, sizeof *j);
    if (!j) {
        error_oom(err, sizeof *j, "a roof's samples");
        return NULL;
    }
    j->class = class;
    j->n_variant = 1;
    return l->v[l->n++] = j;
}

void benchmark_list_free(struct benchmark_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->v[i]->class->free)
            l->v[i]->class->free(l->v[i]);
        free(l->v[i]);
    }
    free(l->v);
    *l = (struct benchmark_list){ 0 };
}

/* ---- choice --------------------------------------------------------------------------------------------------- */

/* Repetitions per sample of about `seconds`: doubling to a quarter of it, then in proportion. */
static uint64_t calibrate(struct benchmark *j, struct harness *m, int variant, uint64_t n, double seconds)
{
    enum { MAX_DOUBLINGS = 40, MAX_TRIES = 8 };
    struct sample s = { .seconds = 0 };
    if (j->once)
        return 1;
    for (int i = 0; i < MAX_DOUBLINGS; i++) {
        j->class->sample(j, m, variant, n, &s);
        /* Best of two, and more while disturbed: an interruption must not look like a slow kernel. */
        for (int t = 1; s.seconds >= seconds / 4 && (t < 2 || (s.disturbed && t < MAX_TRIES)); t++) {
            const struct sample before = s;
            j->class->sample(j, m, variant, n, &s);
            s.seconds = fmin(s.seconds, before.seconds);
            s.disturbed &= before.disturbed;
        }
        if (s.seconds >= seconds / 4)
            break;
        n *= 2;
    }
    double want = s.seconds > 0 ? (double)n * seconds / s.seconds : (double)n;
    return want < 1 ? 1 : (uint64_t)want;
}

/* Candidate variants, best first. */
struct entrant {
    int variant;
    uint64_t n;
    double best;
};

static void try_one(struct entrant *t, struct benchmark *j, struct harness *m, double seconds)
{
    struct sample s = { .value = NAN };
    t->n = calibrate(j, m, t->variant, t->n, seconds);
    j->class->sample(j, m, t->variant, t->n, &s);
    /* Best value counts: disturbances only make it worse. */
    if (!isnan(s.value) && (isnan(t->best) || (j->class->lower ? s.value < t->best : s.value > t->best)))
        t->best = s.value;
}

static bool better(const struct entrant *a, const struct entrant *b, bool lower)
{
    if (isnan(a->best) || isnan(b->best))
        return !isnan(a->best) && isnan(b->best);
    return lower ? a->best < b->best : a->best > b->best;
}

static void sort_entrants(struct entrant *t, int n, bool lower)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && better(&t[k], &t[k - 1], lower); k--) {
            const struct entrant swap = t[k];
            t[k] = t[k - 1];
            t[k - 1] = swap;
        }
}

/* Successive halving: trials of double length for the better half, until one variant is left. */
static int choose(struct benchmark *j, struct harness *m, double trial_s, struct error *err)
{
    struct entrant t[BENCHMARK_MAX_VARIANTS];
    int n = j->n_variant < BENCHMARK_MAX_VARIANTS ? j->n_variant : BENCHMARK_MAX_VARIANTS, n_stages = 0;
    for (int k = n; k > 1; k = (k + 1) / 2)
        n_stages++;
    for (int i = 0; i < n; i++)
        t[i] = (struct entrant){ .variant = i, .n = 1, .best = NAN };
    while (n > 1) {
        /* a trial is a sample plus about as much for calibration */
        const double seconds = fmin(fmax(trial_s / n_stages / n / 2.5, MIN_TRIAL_S), MAX_TRIAL_S);
        for (int i = 0; i < n; i++) {
            if (interrupt_check(err) != 0)
                return -1;
            t[i].best = NAN;
            try_one(&t[i], j, m, seconds);
            try_one(&t[i], j, m, seconds / 2);
        }
        sort_entrants(t, n, j->class->lower);
        n = (n + 1) / 2;
    }
    j->variant = t[0].variant;
    j->n = t[0].n;
    return 0;
}

int driver_choose(struct benchmark *j, struct harness *m, double trial_s, double sample_s, struct error *err)
{
    if (!j->prepared && j->class->prepare && j->class->prepare(j, m, err) != 0) {
        if (err->kind != ERROR_UNAVAILABLE)
            return -1;
        snprintf(j->reason, sizeof j->reason, "%.150s", err->msg);
        return 0;
    }
    j->prepared = true;
    j->n = 1;
    if (choose(j, m, trial_s, err) != 0)
        return -1;
    j->n = calibrate(j, m, j->variant, j->n, fmax(sample_s, fmax(MIN_SAMPLE_S, j->min_sample_s)));
    j->cost_s = sample_s;
    j->chosen = true;
    return 0;
}

/* ---- samples -------------------------------------------------------------------------------------------------- */

/* Harmonic mean of the probes before and after; 0: none. */
static double adjacent_mean(double before, double after)
{
    return before > 0 && after > 0 ? 2 / (1 / before + 1 / after) : 0;
}

/* Untimed warm-up before a turn's samples. */
static void warm_up(struct benchmark *j, struct harness *m)
{
    const double until = clock_now_s() + j->warmup_s;
    struct sample ignored;
    while (clock_now_s() < until && interrupt_check(NULL) == 0)
        j->class->sample(j, m, j->variant, j->n, &ignored);
}

/* A sample with adjacent core probes if it depends on core speed: shared cores and clocks vary. methods.md (80) */
static void take_sample(struct benchmark *j, struct harness *m, struct sample *s)
{
    bool disturbed = false;
    const bool look[CORE_PROBE_COUNT] = { [CORE_PROBE_VECTOR] = j->class->core, [CORE_PROBE_TILE] = j->tiles };
    double before[CORE_PROBE_COUNT], after[CORE_PROBE_COUNT];
    for (int i = 0; i < CORE_PROBE_COUNT; i++)
        before[i] = look[i] ? harness_probe_cores(m, (enum core_probe_kind)i, &disturbed) : 0;
    j->class->sample(j, m, j->variant, j->n, s);
    for (int i = CORE_PROBE_COUNT; i-- > 0;)
        after[i] = before[i] > 0 ? harness_probe_cores(m, (enum core_probe_kind)i, &disturbed) : 0;
    s->product_flop_s = adjacent_mean(before[CORE_PROBE_VECTOR], after[CORE_PROBE_VECTOR]);
    s->tile_flop_s = adjacent_mean(before[CORE_PROBE_TILE], after[CORE_PROBE_TILE]);
    s->disturbed |= disturbed;
}

int driver_sample(struct benchmark *j, struct harness *m, int n, int round, double deadline_s, struct error *err)
{
    const double t0 = clock_now_s();
    int spare = t0 < deadline_s ? n : 0, taken = 0;
    warm_up(j, m);
    for (int i = 0; i < n && j->n_sample < BENCHMARK_MAX_SAMPLES; taken++) {
        struct sample s = { .value = NAN, .clock_hz = NAN };
        if (interrupt_check(err) != 0)
            return -1;
        take_sample(j, m, &s);
        if ((isnan(s.value) || s.disturbed) && spare-- > 0)
            continue;
        i++;
        if (isnan(s.value))
            continue;
        j->value[j->n_sample] = s.value;
        j->clock_hz[j->n_sample] = s.clock_hz;
        j->loads_bytes_s[j->n_sample] = s.loads_bytes_s;
        j->product_flop_s[j->n_sample] = s.product_flop_s;
        j->tile_flop_s[j->n_sample] = s.tile_flop_s;
        j->round[j->n_sample++] = round;
    }
    if (taken)
        j->cost_s = (clock_now_s() - t0) / taken;
    return 0;
}

/* ---- rounds --------------------------------------------------------------------------------------------------- */

/* Estimated remaining time: trials and samples of rounds. */
static double remaining_s(const struct driver *d, const struct benchmark_list *l, int round, size_t at)
{
    const double part = (1 - d->e->trial) / d->e->n_rounds;
    double sum = 0;
    for (size_t i = 0; i < l->n; i++) {
        const struct benchmark *j = l->v[i];
        const int rounds = d->e->n_rounds - round - (i < at ? 1 : 0);
        if (!j->reason[0])
            sum += j->share_s * (part * rounds + (j->chosen ? 0 : d->e->trial));
    }
    return sum;
}

static void report_progress(const struct driver *d, const struct harness *m, const struct benchmark *j, int round)
{
    char what[120];
    const char *threads = m->n == 1 ? "thread" : "threads";
    const double now = clock_now_s();
    if (!d->o->progress)
        return;
    if (round == 0) {
        snprintf(what, sizeof what, "%d %s: %s", m->n, threads, j->what);
    } else {
        const double left = fmax(d->end_s - now, 0);
        snprintf(what, sizeof what, "%d %s: round %d of %d, %d:%02d left", m->n, threads, round + 1, d->e->n_rounds,
                 (int)left / 60, (int)left % 60);
    }
    d->o->progress(d->o->progress_ctx, what, fmax(0, fmin((now - d->begin_s) / (d->end_s - d->begin_s), 1)));
}

static int take_turn(const struct driver *d, struct benchmark_list *l, size_t i, int round, struct harness *m, struct error *err)
{
    struct benchmark *j = l->v[i];
    const double todo = remaining_s(d, l, round, i);
    const double scale = todo > 0 ? fmax(d->deadline_s - clock_now_s(), 0) / todo : 0;
    const double turn_s = scale * j->share_s * (1 - d->e->trial) / d->e->n_rounds;
    if (!j->chosen) {
        const double sample_s = fmin(fmax(turn_s - j->warmup_s, 0) / d->e->n_per_round / 1.1, d->e->sample_s);
        if (driver_choose(j, m, scale * j->share_s * d->e->trial, sample_s, err) != 0)
            return -1;
        if (!j->chosen)
            return 0;
    }
    int n = j->cost_s > 0 ? (int)fmin(turn_s / j->cost_s + 0.5, d->e->n_per_round) : d->e->n_per_round;
    return driver_sample(j, m, n > 0 ? n : 1, round, d->deadline_s, err);
}

int driver_run(const struct driver *d, struct benchmark_list *l, struct harness *m, struct error *err)
{
    for (int r = 0; r < d->e->n_rounds; r++) {
        if (r > 0 && clock_now_s() >= d->deadline_s)
            break;
        for (size_t i = 0; i < l->n; i++) {
            if (l->v[i]->reason[0])
                continue;
            if (r == 0 || i == 0)
                report_progress(d, m, l->v[i], r);
            if (take_turn(d, l, i, r, m, err) != 0)
                return -1;
        }
    }
    return 0;
}

/* ---- samples to ceiling ---- */

/* Median of the numbers; NaN: none. */
static double median_known(const double *x, int n)
{
    double known[BENCHMARK_MAX_SAMPLES];
    size_t n_known = 0;
    for (int i = 0; i < n; i++)
        if (!isnan(x[i]))
            known[n_known++] = x[i];
    return stats_median(known, n_known);
}

/* Adjacent probe at the median sample, so that shared-resource drift cancels. lower: value decreases with more. NaN: no probes.
 * methods.md (79), (80) */
static double adjacent_median(const struct benchmark *j, const double *adjacent, double value, bool lower)
{
    double at_one[BENCHMARK_MAX_SAMPLES];
    for (int i = 0; i < j->n_sample; i++)
        at_one[i] = !(adjacent[i] > 0) ? NAN : lower ? j->value[i] * adjacent[i] : j->value[i] / adjacent[i];
    const double median = median_known(at_one, j->n_sample);
    return lower ? median / value : value / median;
}

static void set(char *to, size_t size, const char *text)
{
    if (text)
        snprintf(to, size, "%s", text);
}

void roof_describe(struct ceiling *c, const struct roof_texts *t)
{
    set(c->kind, sizeof c->kind, t->kind);
    set(c->op, sizeof c->op, t->op);
    set(c->dtype, sizeof c->dtype, t->dtype);
    set(c->level, sizeof c->level, t->level);
    set(c->pages, sizeof c->pages, t->pages);
    set(c->node, sizeof c->node, t->node);
    set(c->unit, sizeof c->unit, t->unit);
    set(c->isa, sizeof c->isa, t->isa);
}

void roof_curve(struct hw_curve *curve, const struct ceiling *c, const char *x, const char *kernel, const struct roof_texts *t)
{
    *curve = (struct hw_curve){ .saturation_x = NAN };
    set(curve->kind, sizeof curve->kind, t->kind);
    set(curve->op, sizeof curve->op, t->op);
    set(curve->level, sizeof curve->level, t->level);
    set(curve->pages, sizeof curve->pages, t->pages);
    set(curve->unit, sizeof curve->unit, t->unit);
    set(curve->isa, sizeof curve->isa, t->isa);
    set(curve->x, sizeof curve->x, x);
    set(curve->kernel, sizeof curve->kernel, kernel);
    set(curve->cpus, sizeof curve->cpus, c->cpus);
    set(curve->date, sizeof curve->date, c->date);
}

void driver_to_ceiling(const struct benchmark *j, const struct harness *m, struct ceiling *c)
{
    *c = (struct ceiling){ .n_threads = m->n, .n_samples = j->n_sample, .issue_fraction = NAN, .footprint_bytes = NAN };
    c->value = stats_median(j->value, (size_t)j->n_sample);
    stats_median_block_ci(j->value, j->round, (size_t)j->n_sample, &c->ci_lo, &c->ci_hi);
    c->between_rounds = stats_between_blocks(j->value, j->round, (size_t)j->n_sample);
    c->clock_hz = median_known(j->clock_hz, j->n_sample);
    c->per_cycle = c->value / c->clock_hz / m->n;
    c->loads_bytes_s = adjacent_median(j, j->loads_bytes_s, c->value, false);
    c->product_flop_s = adjacent_median(j, j->product_flop_s, c->value, j->class->lower);
    c->tile_flop_s = adjacent_median(j, j->tile_flop_s, c->value, j->class->lower);
    if (j->n_sample == 0)
        snprintf(c->kernel, sizeof c->kernel, "unavailable: %.34s", j->reason[0] ? j->reason : "no sample");
    snprintf(c->cpus, sizeof c->cpus, "%s", m->cpus);
    clock_date(c->date, sizeof c->date);
}

int driver_keep(const struct benchmark_list *l, const struct harness *m, struct hwprofile *h, struct error *err)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct benchmark *j = l->v[i];
        struct ceiling c;
        if (j->n_sample == 0 && !j->reason[0])
            continue; /* unreachable */
        driver_to_ceiling(j, m, &c);
        if (j->class->keep(j, m, &c, h, err) != 0)
            return -1;
    }
    return 0;
}
