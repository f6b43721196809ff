/*
 * counters/replay.c: replays recorded counts (--counters replay:FILE): every interval between two readings has the file's counts.
 * Fields come from the event file that knows most of the names.
 */
#include "counters/replay.h"
#include "counters/events.h"
#include "counters/internal.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MAX 1e18 /* plausibility limit: a year of 10,000 cores' cycles */

struct recorded {
    struct replay replay;
    double count[COUNTER_EVENT_MAX]; /* per event, field units / scale */
    uint64_t reads;
};

/* Generic and likwid-specific event names that event files lack. */
static const struct {
    const char *name;
    enum counter_field field;
    double scale;
    enum number_source source;
} known[] = {
    { "instructions", COUNTER_INSTRUCTIONS, 1, SOURCE_CORE_COUNTERS },
    { "INSTR_RETIRED_ANY", COUNTER_INSTRUCTIONS, 1, SOURCE_CORE_COUNTERS },
    { "RETIRED_INSTRUCTIONS", COUNTER_INSTRUCTIONS, 1, SOURCE_CORE_COUNTERS },
    { "INST_RETIRED", COUNTER_INSTRUCTIONS, 1, SOURCE_CORE_COUNTERS },
    { "cycles", COUNTER_CYCLES, 1, SOURCE_CORE_COUNTERS },
    { "cpu-cycles", COUNTER_CYCLES, 1, SOURCE_CORE_COUNTERS },
    { "CPU_CLK_UNHALTED_CORE", COUNTER_CYCLES, 1, SOURCE_CORE_COUNTERS },
    { "CPU_CLOCKS_UNHALTED", COUNTER_CYCLES, 1, SOURCE_CORE_COUNTERS },
    { "CPU_CYCLES", COUNTER_CYCLES, 1, SOURCE_CORE_COUNTERS },
    { "task-clock", COUNTER_TASK_CLOCK_NS, 1, SOURCE_CORE_COUNTERS },
    { "context-switches", COUNTER_CONTEXT_SWITCHES, 1, SOURCE_CORE_COUNTERS },
    { "page-faults", COUNTER_PAGE_FAULTS, 1, SOURCE_CORE_COUNTERS },
    { "CAS_COUNT_RD", COUNTER_DRAM_READ_BYTES, 64, SOURCE_UNCORE_COUNTERS },
    { "CAS_COUNT_WR", COUNTER_DRAM_WRITE_BYTES, 64, SOURCE_UNCORE_COUNTERS },
    { "uncore_imc/cas_count_read/", COUNTER_DRAM_READ_BYTES, 64, SOURCE_UNCORE_COUNTERS },
    { "uncore_imc/cas_count_write/", COUNTER_DRAM_WRITE_BYTES, 64, SOURCE_UNCORE_COUNTERS },
};

/* Equal ignoring case and separators: fp_arith_inst_retired.scalar_single (perf), FP_ARITH_INST_RETIRED_SCALAR_SINGLE (likwid). */
static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        const int x = *a == '.' || *a == '-' ? '_' : tolower((unsigned char)*a);
        const int y = *b == '.' || *b == '-' ? '_' : tolower((unsigned char)*b);
        if (x != y)
            return false;
    }
    return *a == *b;
}

static const struct event_def *find_event(const struct event_file *f, const char *name)
{
    for (size_t i = 0; i < f->n_event; i++)
        if (same_name(f->event[i].name, name))
            return &f->event[i];
    return NULL;
}

static size_t n_named(const struct event_file *f, const struct replay *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        n += find_event(f, r->event[i].name) != NULL;
    return n;
}

/* The file that knows most of the names; empty if none does, then *wrong: a file is unreadable, see err. */
static int find_file(struct event_file *f, bool *wrong, const char *const *dirs, const struct replay *r, struct error *err)
{
    char **names = NULL, path[4200];
    size_t n = 0, best = 0;
    *wrong = false;
    *f = (struct event_file){ 0 };
    if (!dirs)
        return 0;
    if (name_list(&names, &n, dirs, "events", err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct event_file one;
        struct error why;
        if (!name_file(path, sizeof path, dirs, "events", names[i]))
            continue;
        if (event_file_load(&one, path, &why) != 0) {
            *err = *wrong ? *err : why;
            *wrong = true;
        } else if (n_named(&one, r) > best) {
            event_file_free(f);
            best = n_named(&one, r);
            *f = one;
        } else {
            event_file_free(&one);
        }
    }
    name_list_free(names, n);
    *wrong &= best == 0;
    return 0;
}

/* A value with perf's unit, in counts; NaN: another unit. */
static double counts_of(const struct replay_event *e, double scale)
{
    if (strcmp(e->unit, "MiB") == 0)
        return e->value * 1024 * 1024 / scale;
    if (strcmp(e->unit, "msec") == 0)
        return e->value * 1e6 / scale;
    return e->unit[0] ? NAN : e->value;
}

/* Why a recorded value is no count; "": valid. */
static void not_a_count(char *why, size_t size, const struct replay_event *r, double scale)
{
    const double n = counts_of(r, scale);
    why[0] = 0;
    if (r->why[0])
        snprintf(why, size, "%.96s: %.50s", r->name, r->why);
    else if (r->running < 0.9999)
        snprintf(why, size, "%.96s: counted only %.1f %% of the time", r->name, 100 * r->running);
    else if (isnan(n))
        snprintf(why, size, "%.96s: in units of \"%s\"", r->name, r->unit);
    else if (n > COUNT_MAX)
        snprintf(why, size, "%.96s: %.3g counted, which no counter can", r->name, n);
}

/* Adds event i if a file or table knows its field. */
static void add_event(struct counters *c, const struct event_file *f, const struct replay_event *r)
{
    struct recorded *own = c->own;
    struct counter_event e = { .scale = 1, .shared = true };
    const struct event_def *d = find_event(f, r->name);
    bool found = d != NULL;
    if (d) {
        e.field = d->field;
        e.scale = d->scale;
        e.source = strcmp(d->pmu, "core") == 0 ? SOURCE_CORE_COUNTERS : SOURCE_UNCORE_COUNTERS;
    }
    for (size_t i = 0; !found && i < ARRAY_LEN(known); i++)
        if (same_name(known[i].name, r->name)) {
            e.field = known[i].field;
            e.scale = known[i].scale;
            e.source = known[i].source;
            found = true;
        }
    char why[160];
    if (!found || c->limited[e.field])
        return;
    not_a_count(why, sizeof why, r, e.scale);
    if (why[0]) {
        counters_limit(c, e.field, why);
        return;
    }
    snprintf(e.name, sizeof e.name, "%s", r->name);
    if (counters_add_event(c, &e) == 0)
        own->count[c->n_event - 1] = counts_of(r, e.scale);
}

static bool is_recorded(const struct replay *r, const char *name)
{
    for (size_t i = 0; i < r->n; i++)
        if (same_name(name, r->event[i].name))
            return true;
    return false;
}

/* All summands of a field must be recorded. FLOP of other precisions are optional: an FP32-only record is complete if nothing else
 * ran. */
static void limit_parts(struct counters *c, const struct event_file *f)
{
    const struct recorded *own = c->own;
    char why[160];
    for (size_t i = 0; i < f->n_event; i++)
        for (size_t k = 0; k < f->n_event; k++) {
            const struct event_def *is = &f->event[i], *not = &f->event[k];
            if (is->field == not->field && is->work[0] && strcmp(is->work, not->work) == 0 && !c->limited[is->field] &&
                is_recorded(&own->replay, is->name) && !is_recorded(&own->replay, not->name)) {
                snprintf(why, sizeof why, "the record lacks %.96s, which counts a part of it", not->name);
                counters_limit(c, is->field, why);
            }
        }
}

static int replay_open(struct counters *c, struct error *err)
{
    struct recorded *own = c->own = calloc(1, sizeof *own);
    struct event_file f = { 0 };
    struct filemap m;
    bool wrong = false;
    if (!own)
        return error_oom(err, sizeof *own, "the recorded counts");
    if (!*c->argument)
        return error_set(err, ERROR_USAGE, "--counters replay: expected replay:FILE");
    if (filemap_open(&m, c->argument, err) != 0)
        return -1;
    int rc = replay_parse(&own->replay, c->argument, m.data, m.size, err);
    filemap_close(&m);
    if (rc == 0)
        rc = find_file(&f, &wrong, c->o.data_dirs, &own->replay, err);
    for (size_t i = 0; rc == 0 && i < own->replay.n; i++)
        add_event(c, &f, &own->replay.event[i]);
    if (rc == 0 && wrong && c->n_event == 0)
        rc = -1; /* the file that may define it */
    if (rc == 0)
        limit_parts(c, &f);
    for (size_t i = 0; rc == 0 && i < f.n_limit; i++)
        counters_limit(c, f.limit[i].field, f.limit[i].why);
    event_file_free(&f);
    if (rc == 0)
        counters_add_published(c);
    c->o.uncalibrated = true; /* cannot calibrate a record: certificate says unchecked */
    return rc;
}

static void replay_close(struct counters *c)
{
    free(c->own);
}

static void replay_read(struct counters *c, struct counter_thread *t, int tid, uint64_t *raw)
{
    struct recorded *own = c->own;
    (void)t;
    if (tid != 0)
        return;
    for (size_t i = 0; i < c->n_event; i++)
        raw[i] = counter_field_is_sw(c->event[i].field)
                     ? (uint64_t)counter_source_value(c->o.src, c->event[i].field)
                     : (uint64_t)llround(own->count[i]) * own->reads;
    own->reads++;
}

const struct counter_backend counters_replay = {
    .name = "replay",
    .open = replay_open,
    .close = replay_close,
    .read = replay_read,
};
