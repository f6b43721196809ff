/*
 * What runs in the guest: the counters of an emulated CPU, whose instructions are counted exactly, through roofcast's backends.
 *   guest BACKEND DATA_DIR MODEL.gguf        counts: of known work, of two equal passes, of two threads
 *   guest wrong DATA_DIR                     events that count nothing, and something else: DATA_DIR/events says so
 *   guest cpus DATA_DIR                      two threads on two CPUs: qemu counts one's instructions in the other's, a little
 * One line a test, PASS or FAIL.
 */
#include "counters/counters.h"
#include "counters/known_work.h"
#include "engine/engine.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *backend;

enum { OVERHEAD = 4000 }; /* instructions of reading the counters, in user mode */

static void verdict(bool ok, const char *name, const char *detail)
{
    printf("%s: pmu %s: %s%s%s\n", ok ? "PASS" : "FAIL", backend, name, *detail ? ": " : "", detail);
}

static struct counters *open_counters(const char *name, const char *const *dirs, const struct counter_source *src, int n_threads)
{
    struct error err = { 0 };
    const struct counters_options o = { .backend = name, .src = src, .n_threads = n_threads, .data_dirs = dirs };
    struct counters *c = counters_open(&o, &err);
    if (!c) {
        printf("FAIL: pmu %s: %s\n", backend, err.msg);
        exit(1);
    }
    return c;
}

static const struct counter_event *event_of(const struct counters *c, enum counter_field f)
{
    for (size_t i = 0; i < counters_n_event(c); i++)
        if (counters_event(c, i)->field == f)
            return counters_event(c, i);
    return NULL;
}

static uint64_t instructions(struct counters *c, int tid)
{
    struct counter_sample s;
    counters_read(c, tid, &s);
    return s.valid[COUNTER_INSTRUCTIONS] ? s.value[COUNTER_INSTRUCTIONS] : 0;
}

/* The set that counts instructions is the one counted. */
static void start(struct counters *c, int tid)
{
    struct error err = { 0 };
    const struct counter_event *e = event_of(c, COUNTER_INSTRUCTIONS);
    if (counters_thread_start(c, tid, &err) != 0)
        printf("FAIL: pmu %s: %s\n", backend, err.msg);
    if (e)
        counters_thread_select(c, tid, e->set);
}

/* Counted and known of a size, through the same instructions whatever the size. */
static uint64_t __attribute__((noinline)) count_work(struct counters *c, const struct known_work *w, int size, double *known)
{
    struct work_memory m = { 0 };
    const uint64_t a = instructions(c, 0);
    *known = known_work_run(w, &m, size);
    return instructions(c, 0) - a;
}

static void test_exact(struct counters *c)
{
    char text[160];
    const struct known_work *w = known_work_find("instructions");
    const struct counter_event *e = event_of(c, COUNTER_INSTRUCTIONS);
    snprintf(text, sizeof text, "%s is %s", e ? e->name : "no event", e ? counter_class_name(e->check.class) : "missing");
    verdict(e && e->check.class == COUNTER_EXACT, "calibration believes the count of instructions", text);
    start(c, 0);
    double one, two;
    const double less = (double)count_work(c, w, 1, &one), more = (double)count_work(c, w, 2, &two);
    snprintf(text, sizeof text, "%.0f in %.0f more, %.0f beside the loop", more - less, two - one, less - one);
    verdict(more - less == two - one && less - one < OVERHEAD, "known work to the instruction", text);
    counters_thread_stop(c, 0);
}

static uint64_t pass(struct engine *e, struct counters *c)
{
    enum { N = 9 };
    static const int32_t tokens[N] = { 1, 5, 9, 13, 17, 21, 25, 29, 33 };
    struct error err = { 0 };
    const uint64_t a = instructions(c, 0);
    if (engine_eval(e, tokens, N - 1, 0, 1, NULL, &err) != 0 || engine_eval(e, tokens + N - 1, 1, N - 1, 1, NULL, &err) != 0)
        printf("FAIL: pmu %s: %s\n", backend, err.msg);
    return instructions(c, 0) - a;
}

static void test_passes(struct counters *c, const char *path)
{
    char text[160];
    struct error err = { 0 };
    struct model m = { 0 };
    const struct engine_options o = { .n_ctx = 16, .n_ubatch = 16, .n_out_max = 1, .n_threads = 1, .cpu_flags = cpu_flags(),
                                      .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
    struct engine *e = model_load(&m, path, NULL, &err) == 0 ? engine_new(&m, &o, &err) : NULL;
    if (!e) {
        verdict(false, "a model", err.msg);
        return;
    }
    start(c, 0);
    (void)pass(e, c); /* symbols are bound, pages are there */
    const uint64_t one = pass(e, c), two = pass(e, c);
    snprintf(text, sizeof text, "%llu and %llu instructions of %s kernels", (unsigned long long)one, (unsigned long long)two,
             engine_kernels(e)->isa);
    verdict(one == two && one > 10000, "two equal passes count alike", text);
    counters_thread_stop(c, 0);
    engine_free(e);
    model_free(&m);
}

struct thread {
    struct counters *c;
    int tid;
    double known;
    uint64_t counted;
};

/* The second thread does twice as much. */
static void *thread_main(void *arg)
{
    struct thread *x = arg;
    struct work_memory m = { 0 };
    start(x->c, x->tid);
    const uint64_t a = instructions(x->c, x->tid);
    x->known = known_work_run(known_work_find("instructions"), &m, 1 + x->tid);
    x->counted = instructions(x->c, x->tid) - a;
    counters_thread_stop(x->c, x->tid);
    return NULL;
}

static void test_threads(const char *name, const char *const *dirs, const struct counter_source *src, double most)
{
    char text[160];
    struct counters *c = open_counters(name, dirs, src, 2);
    struct thread x[2] = { { .c = c, .tid = 0 }, { .c = c, .tid = 1 } };
    pthread_t id[2];
    bool ok = true;
    for (int i = 0; i < 2; i++)
        ok = pthread_create(&id[i], NULL, thread_main, &x[i]) == 0 && ok;
    for (int i = 0; ok && i < 2; i++)
        pthread_join(id[i], NULL);
    counters_close(c);
    const double over[2] = { (double)x[0].counted - x[0].known, (double)x[1].counted - x[1].known };
    snprintf(text, sizeof text, "%llu of %.0f and %llu of %.0f", (unsigned long long)x[0].counted, x[0].known,
             (unsigned long long)x[1].counted, x[1].known);
    verdict(ok && x[1].known > 1.9 * x[0].known && over[0] >= 0 && over[0] < most && over[1] >= 0 && over[1] < most,
            "each of two threads counts its own", text);
}

/* A field whose event was found out: not valid, with a reason. */
static void test_refused(struct counters *c, enum counter_field f, enum counter_class want, const char *name)
{
    char text[400];
    struct counter_sample s;
    const struct counter_event *e = event_of(c, f);
    counters_read(c, 0, &s);
    snprintf(text, sizeof text, "%s is %s; %s", e ? e->name : "no event", e ? counter_class_name(e->check.class) : "missing",
             counters_reason(c, f));
    verdict(e && e->check.class == want && !s.valid[f] && *counters_reason(c, f), name, text);
}

int main(int argc, char **argv)
{
    static const struct counter_source none;
    if (argc < 3)
        return 2;
    const char *const dirs[] = { argv[2], NULL };
    backend = argv[1];
    if (strcmp(backend, "wrong") == 0) {
        struct counters *c = open_counters("perf", dirs, &none, 1);
        start(c, 0);
        test_refused(c, COUNTER_L1_FILL_BYTES, COUNTER_DEAD, "a dead event is caught");
        test_refused(c, COUNTER_FLOP, COUNTER_POLLUTED, "an event of something else is caught");
        counters_thread_stop(c, 0);
        counters_close(c);
        return 0;
    }
    if (strcmp(backend, "cpus") == 0) {
        test_threads("perf", dirs, &none, 100000);
        return 0;
    }
    struct counters *c = open_counters(backend, dirs, &none, 1);
    test_exact(c);
    if (argc > 3)
        test_passes(c, argv[3]);
    counters_close(c);
    test_threads(backend, dirs, &none, OVERHEAD);
    return 0;
}
