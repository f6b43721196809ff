/*
 * counters/likwid.c: memory traffic and FLOP by LIKWID's groups, through a helper process (protocol: likwid_helper.c): LIKWID is not
 * linked, and its failures are isolated. LIKWID counts per CPU and memory traffic per socket: all fields are shared, read by thread 0,
 * and include other processes on these CPUs.
 */
#include "base/environment.h"
#include "counters/child.h"
#include "counters/internal.h"

#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPEN_TIMEOUT_S 15.0 /* LIKWID waits 10 s for its daemon */
#define READ_TIMEOUT_S 2.0
/* Plausibility limit: absent channels read all ones (likwid issue 262). */
#define MOST_BYTES_S 2e13
#define MOST_FLOP_S  1e16

static const char groups[] = "MEM,MEM1,MEM2,FLOPS_SP,FLOPS,FLOPS_BF16";

struct likwid {
    struct child child;
    size_t n;                       /* of the helper, the first of counters.event */
    double last[COUNTER_EVENT_MAX]; /* at the last read */
    double at_s;                    /* time of the last read */
};

/* ---- the helper ---------------------------------------------------------------------------------------------- */

/* In the build tree, else as installed. */
static const char *helper_path(const struct counters_options *o, char path[PATH_MAX])
{
    char build[PATH_MAX - 20];
    if (o && o->likwid_helper)
        return o->likwid_helper;
    snprintf(path, PATH_MAX, "%s/roofcast-likwid", environment_build_tree(build, sizeof build) ? build : PKGLIBEXECDIR);
    return path;
}

static void list_cpus(struct strbuf *b, const struct counters_options *o)
{
    cpu_set_t mask;
    if (o && o->cpus) {
        for (int i = 0; i < o->n_threads; i++)
            strbuf_addf(b, "%s%d", i ? "," : "", o->cpus->cpu[(size_t)i % o->cpus->n]);
        return;
    }
    if (sched_getaffinity(0, sizeof mask, &mask) == 0)
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &mask))
                strbuf_addf(b, "%s%d", b->len ? "," : "", cpu);
}

/* Starts it and reads the greeting. what: groups, or "-". */
static int start(struct child *c, const struct counters_options *o, const char *what, char *why, size_t size)
{
    char path[PATH_MAX], line[256];
    struct error err = { 0 };
    struct strbuf cpus = { 0 };
    const char *helper = helper_path(o, path);
    int rc = -1;
    list_cpus(&cpus, o);
    const char *list = strbuf_text(&cpus, "the CPUs to count on", &err);
    char *argv[] = { (char *)(uintptr_t)helper, (char *)(uintptr_t)what, list && *list ? cpus.s : (char[]){ "0" }, NULL };
    *c = (struct child){ .fd = -1, .err_fd = -1 };
    if (!list)
        snprintf(why, size, "%.*s", (int)size - 1, err.msg);
    else if (access(helper, X_OK) != 0)
        snprintf(why, size, "not built in (configure --with-likwid=yes; no %.160s)", helper);
    else if (child_start(c, argv, &err) != 0)
        snprintf(why, size, "%.*s", (int)size - 1, err.msg);
    else if (child_ask(c, NULL, line, sizeof line, OPEN_TIMEOUT_S, why, size) == 0) {
        rc = strcmp(line, "roofcast-likwid 1") == 0 ? 0 : -1;
        if (rc != 0)
            snprintf(why, size, "%.100s speaks another protocol: \"%.80s\"", helper, line);
    }
    strbuf_free(&cpus);
    return rc;
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *name, *work;
    enum counter_field field;
} fields[] = {
    { "dram_read_bytes", "dram_read", COUNTER_DRAM_READ_BYTES },
    { "dram_write_bytes", "dram_write", COUNTER_DRAM_WRITE_BYTES },
    { "dram_bytes", "dram_read", COUNTER_DRAM_BYTES },
    { "flop", "flop_f32", COUNTER_FLOP },
    { "bf16_flop", "bf16_512", COUNTER_BF16_FLOP },
};

/* "event SET FIELD NAME" */
static int add_event(struct counters *c, const char *line)
{
    struct counter_event e = { .scale = 1, .shared = true };
    char field[32];
    int name = 0;
    if (sscanf(line, "event %d %31s %n", &e.set, field, &name) != 2 || !line[name] || e.set < 0 || e.set >= COUNTER_SET_MAX)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (strcmp(fields[i].name, field) != 0)
            continue;
        const bool core = fields[i].field == COUNTER_FLOP || fields[i].field == COUNTER_BF16_FLOP;
        e.field = fields[i].field;
        e.source = core ? SOURCE_CORE_COUNTERS : SOURCE_UNCORE_COUNTERS;
        snprintf(e.name, sizeof e.name, "LIKWID %.80s", line + name);
        snprintf(e.work, sizeof e.work, "%s", fields[i].work);
        return counters_add_event(c, &e);
    }
    return -1;
}

/* Reads the helper's events up to "ready N". */
static int take_events(struct counters *c, char *why, size_t size)
{
    struct likwid *l = c->own;
    char line[256];
    unsigned n;
    for (;;) {
        if (child_ask(&l->child, NULL, line, sizeof line, OPEN_TIMEOUT_S, why, size) != 0)
            return -1;
        if (strncmp(line, "refused ", 8) == 0) {
            snprintf(why, size, "%.*s", (int)size - 1, line + 8);
            return -1;
        }
        if (sscanf(line, "ready %u", &n) == 1 && n == c->n_event && n > 0)
            return 0;
        if (add_event(c, line) != 0) {
            snprintf(why, size, "its helper said \"%.80s\"", line);
            return -1;
        }
    }
}

static int likwid_probe(char *reason, size_t size)
{
    struct child child;
    char line[256];
    int rc = start(&child, NULL, "-", reason, size);
    if (rc == 0)
        rc = child_ask(&child, NULL, line, sizeof line, OPEN_TIMEOUT_S, reason, size);
    if (rc == 0 && strncmp(line, "refused ", 8) == 0) {
        snprintf(reason, size, "%.*s", (int)size - 1, line + 8);
        rc = -1;
    }
    child_stop(&child);
    if (rc == 0)
        reason[0] = 0;
    return rc;
}

static void likwid_close(struct counters *c)
{
    struct likwid *l = c->own;
    if (l)
        child_stop(&l->child);
    free(l);
}

static int likwid_open(struct counters *c, struct error *err)
{
    char why[COUNTER_REASON_LEN];
    struct likwid *l = c->own = calloc(1, sizeof *l);
    if (!l)
        return error_oom(err, sizeof *l, "LIKWID's state");
    if (start(&l->child, &c->o, groups, why, sizeof why) != 0 || take_events(c, why, sizeof why) != 0)
        return error_set(err, ERROR_UNAVAILABLE, "counter backend likwid: %s", why);
    l->n = c->n_event;
    l->at_s = clock_now_s();
    counters_add_published(c);
    return 0;
}

/* ---- counting ------------------------------------------------------------------------------------------------------- */

/* Counting has failed for good. */
static void lose(struct counters *c, struct counter_thread *t, const char *why)
{
    const struct likwid *l = c->own;
    for (size_t i = 0; i < l->n; i++)
        t->ok[i] = false;
    snprintf(t->reason, sizeof t->reason, "LIKWID: %.240s", why);
}

static void likwid_select(struct counters *c, struct counter_thread *t, int tid, int set)
{
    struct likwid *l = c->own;
    char ask[32], want[32], answer[64], why[COUNTER_REASON_LEN];
    if (tid != 0)
        return;
    snprintf(ask, sizeof ask, "set %d", set);
    snprintf(want, sizeof want, "set %d", set);
    if (child_ask(&l->child, ask, answer, sizeof answer, READ_TIMEOUT_S, why, sizeof why) != 0)
        lose(c, t, why);
    else if (strcmp(answer, want) != 0)
        lose(c, t, "the next group of events could not be started");
}

/* Checks that a count is a number and plausible. */
static void check_count(struct counters *c, struct counter_thread *t, size_t i, double v, double seconds)
{
    const struct likwid *l = c->own;
    const struct counter_event *e = &c->event[i];
    const bool bytes = e->source == SOURCE_UNCORE_COUNTERS;
    const double most = (bytes ? MOST_BYTES_S : MOST_FLOP_S) * (seconds + 1e-3); /* margin: the helper has its own clock */
    if (v >= l->last[i] && v - l->last[i] <= most)
        return;
    t->ok[i] = false;
    snprintf(t->reason, sizeof t->reason, "%.90s: %.3g %s in %.3g s is not a count%s", e->name, v - l->last[i],
             bytes ? "bytes" : "FLOP", seconds, bytes ? ": a memory channel that is not there?" : "");
}

static void read_helper(struct counters *c, struct counter_thread *t, uint64_t *raw)
{
    struct likwid *l = c->own;
    char answer[1024], why[COUNTER_REASON_LEN], *p = answer + strlen("counts"), *end;
    const double now = clock_now_s();
    if (child_ask(&l->child, "read", answer, sizeof answer, READ_TIMEOUT_S, why, sizeof why) != 0) {
        lose(c, t, why);
        return;
    }
    if (strncmp(answer, "counts ", 7) != 0) {
        lose(c, t, "its helper answers with something else");
        return;
    }
    for (size_t i = 0; i < l->n; i++, p = end) {
        const double v = strtod(p, &end);
        if (end == p) {
            lose(c, t, "its helper gives fewer counts than it named");
            return;
        }
        if (t->ok[i])
            check_count(c, t, i, v, now - l->at_s);
        l->last[i] = t->ok[i] ? v : l->last[i];
        raw[i] = (uint64_t)(l->last[i] < 0x1p63 ? l->last[i] : 0);
    }
    l->at_s = now;
}

static void likwid_read(struct counters *c, struct counter_thread *t, int tid, uint64_t *raw)
{
    const struct likwid *l = c->own;
    bool any = false;
    if (tid != 0)
        return;
    for (size_t i = 0; i < l->n; i++)
        any |= t->ok[i];
    if (any)
        read_helper(c, t, raw);
    for (size_t i = l->n; i < c->n_event; i++)
        raw[i] = (uint64_t)counter_source_value(c->o.src, c->event[i].field);
}

const struct counter_backend counters_likwid = {
    .name = "likwid",
    .probe = likwid_probe,
    .open = likwid_open,
    .close = likwid_close,
    .select = likwid_select,
    .read = likwid_read,
};
