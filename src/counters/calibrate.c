/* counters/calibrate.c: calibrates every event on known work of three sizes and on a control without it, and classifies it.
 * methods.md (85) */
#include "counters/internal.h"
#include "counters/known_work.h"

#include <math.h>
#include <string.h>

#define EXACT_WITHIN  0.001
#define SCALED_WITHIN 0.01
#define PATIENCE_S    1.0
/* Retries against disturbance by other processes and guests; beyond ATTEMPTS only while they are short. */
enum { ATTEMPTS = 3, MOST_ATTEMPTS = 8 };

struct calibration {
    struct counters *c;
    struct work_memory memory;
    int attempt, tried[COUNTER_EVENT_MAX];
    bool whole[COUNTER_EVENT_MAX]; /* its last count covers the whole run */
    struct counter_control control[COUNTER_EVENT_MAX];
};

static void read_raw(struct counters *c, uint64_t *raw)
{
    memset(raw, 0, COUNTER_EVENT_MAX * sizeof *raw);
    c->backend->read(c, &c->thread[0], 0, raw);
}

/* Counts of a run in field units, minus the cost of reading. */
static void counted(const struct counters *c, const uint64_t *a, const uint64_t *b, const uint64_t *idle, double *out)
{
    for (size_t i = 0; i < c->n_event; i++) {
        const uint64_t n = b[i] - a[i];
        out[i] = b[i] >= a[i] ? (double)(n > idle[i] ? n - idle[i] : 0) * c->event[i].scale : NAN;
    }
}

/* Counts between two consecutive readings: about 1000 instructions and their time. Any other event must count 0. */
static void read_idle(struct counters *c, uint64_t *idle)
{
    uint64_t a[COUNTER_EVENT_MAX], b[COUNTER_EVENT_MAX];
    read_raw(c, a);
    read_raw(c, a); /* warms the code */
    read_raw(c, b);
    for (size_t i = 0; i < c->n_event; i++) {
        const enum counter_field f = c->event[i].field;
        const bool has = f == COUNTER_INSTRUCTIONS || f == COUNTER_CYCLES || f == COUNTER_TASK_CLOCK_NS;
        idle[i] = has && b[i] >= a[i] ? b[i] - a[i] : 0;
    }
}

static void sort3(double *x)
{
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2 - i; k++)
            if (x[k] > x[k + 1]) {
                const double t = x[k];
                x[k] = x[k + 1];
                x[k + 1] = t;
            }
}

enum counter_class counter_classify(struct counter_check *k, const struct counter_control *control)
{
    double r[COUNTER_CHECK_SIZES], most = 0;
    bool whole = true;
    for (int i = 0; i < COUNTER_CHECK_SIZES; i++) {
        r[i] = k->counted[i] / k->known[i];
        whole = whole && k->known[i] > 0 && isfinite(r[i]);
        most = fmax(most, k->counted[i]);
    }
    k->why[0] = 0;
    k->ratio = NAN;
    if (!whole) {
        snprintf(k->why, sizeof k->why, "a count of %s went backwards or was not whole", k->work);
        return k->class = COUNTER_POLLUTED;
    }
    sort3(r);
    k->ratio = r[1];
    if (most == 0) {
        snprintf(k->why, sizeof k->why, "0 counted of %.4g (%s)", k->known[COUNTER_CHECK_SIZES - 1], k->work);
        return k->class = COUNTER_DEAD;
    }
    if (r[2] - r[0] > SCALED_WITHIN * r[1]) {
        snprintf(k->why, sizeof k->why, "%.4g to %.4g times what %s has, depending on its size", r[0], r[2], k->work);
        return k->class = COUNTER_POLLUTED;
    }
    if (control->known == 0 && !(control->counted <= SCALED_WITHIN * most)) {
        snprintf(k->why, sizeof k->why, "counts %.4g in work that has none of %s", control->counted, k->work);
        return k->class = COUNTER_POLLUTED;
    }
    if (control->known > 0 && !(fabs(control->counted / control->known - r[1]) <= control->within * r[1])) {
        snprintf(k->why, sizeof k->why, "%.4g times what %s has, %.4g times in other work", r[1], k->work,
                 control->counted / control->known);
        return k->class = COUNTER_POLLUTED;
    }
    const double off = fmax(fabs(r[0] - 1), fabs(r[2] - 1));
    return k->class = off <= EXACT_WITHIN ? COUNTER_EXACT : COUNTER_SCALED;
}

static bool settled(const struct counter_event *e)
{
    return e->check.class == COUNTER_EXACT || e->check.class == COUNTER_SCALED || e->check.class == COUNTER_DEAD;
}

/* Event i is in the selected set, uses this work, and is not yet classified. */
static bool due(const struct calibration *k, size_t i, const char *work, int set)
{
    const struct counter_event *e = &k->c->event[i];
    return e->set == set && strcmp(e->work, work) == 0 && !counter_field_is_sw(e->field) && !settled(e) &&
           k->tried[i] == k->attempt;
}

/* Runs one work for all events of the set that use it. */
static int run_work(struct calibration *k, const struct known_work *w, const char *name, int set, struct error *err)
{
    struct counters *c = k->c;
    uint64_t a[COUNTER_EVENT_MAX], b[COUNTER_EVENT_MAX], idle[COUNTER_EVENT_MAX];
    double n[COUNTER_EVENT_MAX], known[COUNTER_CHECK_SIZES];
    if (known_work_prepare(w, &k->memory, err) != 0)
        return -1;
    read_idle(c, idle);
    for (int s = 0; s < COUNTER_CHECK_SIZES; s++) {
        read_raw(c, a);
        known[s] = known_work_run(w, &k->memory, s);
        read_raw(c, b);
        counted(c, a, b, idle, n);
        for (size_t i = 0; i < c->n_event; i++)
            if (due(k, i, name, set)) {
                c->event[i].check.known[s] = known[s];
                c->event[i].check.counted[s] = n[i];
            }
    }
    read_raw(c, a);
    const double control = known_work_control(w, &k->memory);
    read_raw(c, b);
    counted(c, a, b, idle, n);
    for (size_t i = 0; i < c->n_event; i++) {
        struct counter_event *e = &c->event[i];
        if (!due(k, i, name, set))
            continue;
        snprintf(e->check.work, sizeof e->check.work, "%s", name);
        k->tried[i]++;
        k->whole[i] = c->thread[0].ok[i];
        k->control[i] = (struct counter_control){ control, n[i], known_work_control_within(w) };
        if (k->whole[i])
            counter_classify(&e->check, &k->control[i]);
        else
            snprintf(e->check.why, sizeof e->check.why, "%.120s", c->thread[0].reason);
    }
    return 0;
}

/* Events that are terms of one sum (memory channels, loads and prefetches): only the sum is known. */
static bool are_parts(const struct counter_event *a, const struct counter_event *b)
{
    return a->field == b->field && a->work[0] && strcmp(a->work, b->work) == 0 && !counter_field_is_sw(a->field);
}

/* The terms starting at event `first` take the class of their sum and keep their own ratios. */
static void join_parts(struct calibration *k, size_t first)
{
    struct counters *c = k->c;
    struct counter_check sum = { .ratio = 0 };
    struct counter_control control = k->control[first];
    int n = 0;
    memcpy(sum.known, c->event[first].check.known, sizeof sum.known);
    memcpy(sum.work, c->event[first].check.work, sizeof sum.work);
    control.counted = 0;
    for (size_t i = 0; i < c->n_event; i++) {
        if (!are_parts(&c->event[first], &c->event[i]))
            continue;
        if (i < first || !k->whole[i])
            return;
        for (int s = 0; s < COUNTER_CHECK_SIZES; s++)
            sum.counted[s] += c->event[i].check.counted[s];
        control.counted += k->control[i].counted;
        n++;
    }
    if (n < 2)
        return;
    counter_classify(&sum, &control);
    for (size_t i = first; i < c->n_event; i++)
        if (are_parts(&c->event[first], &c->event[i])) {
            c->event[i].check.class = sum.class;
            snprintf(c->event[i].check.why, sizeof sum.why, "%s%.110s", sum.why[0] ? "with its parts: " : "", sum.why);
        }
}

/* Runs the work of event i unless done. */
static int calibrate_event(struct calibration *k, size_t i, int set, struct error *err)
{
    struct counter_event *e = &k->c->event[i];
    const struct known_work *w = e->work[0] ? known_work_find(e->work) : NULL;
    if (!due(k, i, e->work, set))
        return 0;
    if (!w) {
        snprintf(e->check.why, sizeof e->check.why, "no known work exercises it");
        return 0;
    }
    if (!known_work_possible(w, e->check.why, sizeof e->check.why))
        return 0;
    return run_work(k, w, e->work, set, err);
}

int counters_calibrate(struct counters *c, struct error *err)
{
    struct calibration k = { .c = c };
    if (counters_thread_start(c, 0, err) != 0)
        return -1;
    const double patience = clock_now_s() + PATIENCE_S;
    int rc = 0;
    for (; rc == 0 && (k.attempt < ATTEMPTS || (k.attempt < MOST_ATTEMPTS && clock_now_s() < patience)); k.attempt++) {
        for (int set = 0; rc == 0 && set < c->n_set; set++) {
            counters_thread_select(c, 0, set);
            for (size_t i = 0; rc == 0 && i < c->n_event; i++)
                rc = calibrate_event(&k, i, set, err);
        }
        for (size_t i = 0; i < c->n_event; i++)
            join_parts(&k, i);
    }
    counters_thread_stop(c, 0);
    work_memory_free(&k.memory);
    return rc;
}
