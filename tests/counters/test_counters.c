/* Counter backends: null's reasons, PAPI end to end through software-defined events,
 * samples. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "counters/counters.h"
#include "tree.h"
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef HAVE_PAPI
#include <papi.h>
#endif

static const enum counter_field hw[] = { COUNTER_CYCLES, COUNTER_INSTRUCTIONS, COUNTER_FLOP,
                                         COUNTER_DRAM_BYTES };
static const enum counter_field sw[] = { COUNTER_SW_BYTES, COUNTER_SW_FLOP,
                                         COUNTER_SW_TOKENS };

static struct counters *must_open(const char *name, const struct counter_source *src, int n)
{
    struct error err = { 0 };
    const struct counters_options o = { .backend = name, .src = src, .n_threads = n };
    struct counters *c = counters_open(&o, &err);
    if (!c)
        fail_msg("counters_open(%s): %s", name, err.msg);
    return c;
}

static void must_start(struct counters *c, int tid)
{
    struct error err = { 0 };
    assert_ok(counters_thread_start(c, tid, &err), err);
}

/* Every invalid field has a reason, every valid one has none. */
static void check_reasons(const struct counters *c, const struct counter_sample *s)
{
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++) {
        const char *why = counters_reason(c, (enum counter_field)f);
        if (s->valid[f] != (why[0] == 0))
            fail_msg("%s: valid %d, reason \"%s\"",
                     counter_field_name((enum counter_field)f), s->valid[f], why);
    }
}

static void null_without_source(void **state)
{
    (void)state;
    struct counters *c = must_open("null", NULL, 1);
    struct counter_sample s;
    counters_read(c, 0, &s); /* before the start: nothing is valid */
    assert_false(s.valid[COUNTER_SW_BYTES]);
    must_start(c, 0);
    counters_read(c, 0, &s);
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++) {
        assert_false(s.valid[f]);
        assert_string_equal(counters_reason(c, (enum counter_field)f),
                            "no counter backend (null)");
    }
    assert_string_equal(counters_name(c), "null");
    counters_thread_stop(c, 0);
    counters_close(c);
    counters_close(NULL);
}

/* Exact differences since the start on thread 0; the other thread has zeros, so sums are
 * exact. */
static void check_source(const char *name)
{
    struct counter_source src = { .bytes = 1000, .flop = 2000, .tokens = 3 };
    struct counters *c = must_open(name, &src, 2);
    assert_string_equal(counters_name(c), name);
    const bool two = strcmp(name, "papi") != 0; /* PAPI has one running set a thread, and this is one (papi_threads has more) */
    must_start(c, 0);
    if (two)
        must_start(c, 1);
    struct counter_sample a, b, d, other;
    counters_read(c, 0, &a);
    assert_int_equal(a.value[COUNTER_SW_BYTES], 0);
    src.bytes += 12345;
    src.flop += 1LL << 40;
    src.tokens += 7;
    counters_read(c, 0, &b);
    counters_read(c, 1, &other);
    counter_sample_diff(&d, &a, &b);
    for (size_t i = 0; i < ARRAY_LEN(sw); i++) {
        assert_true(d.valid[sw[i]]);
        assert_int_equal(other.valid[sw[i]], two);
        assert_int_equal(other.value[sw[i]], 0);
    }
    assert_int_equal(d.value[COUNTER_SW_BYTES], 12345);
    assert_int_equal(d.value[COUNTER_SW_FLOP], 1LL << 40);
    assert_int_equal(d.value[COUNTER_SW_TOKENS], 7);
    check_reasons(c, &b);
    counters_thread_stop(c, 1);
    counters_thread_stop(c, 0);
    counters_close(c);
}

static void null_with_source(void **state)
{
    (void)state;
    check_source("null");
}

static void thread_misuse(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct counters *c = must_open("null", NULL, 2);
    assert_fails(counters_thread_start(c, 2, &err), err, "thread 2, expected 0 to 1");
    assert_fails(counters_thread_start(c, -1, &err), err, "thread -1");
    must_start(c, 1);
    assert_fails(counters_thread_start(c, 1, &err), err, "already started");
    counters_thread_stop(c, 1);
    must_start(c, 1); /* may be started again */
    counters_close(c);
    assert_null(counters_open(&(struct counters_options){ .backend = "null" }, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
}

static void unknown_backend(void **state)
{
    (void)state;
    struct error err = { 0 };
    assert_null(counters_open(&(struct counters_options){ .backend = "vtune", .n_threads = 1 }, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_non_null(strstr(err.msg, "\"vtune\""));
    assert_non_null(strstr(err.msg, "auto, null, perf, papi, likwid"));
}

static void backends_listed(void **state)
{
    (void)state;
    char why[256];
    assert_string_equal(counters_backend_at(0, why, sizeof why), "null");
    assert_string_equal(why, "");
    assert_string_equal(counters_backend_at(1, why, sizeof why), "perf");
    assert_string_equal(counters_backend_at(2, why, sizeof why), "papi");
#ifndef HAVE_PAPI
    assert_non_null(strstr(why, "not built in"));
#endif
    assert_string_equal(counters_backend_at(3, why, sizeof why), "likwid");
    assert_string_equal(counters_backend_at(4, why, sizeof why), "replay");
    assert_null(counters_backend_at(5, why, sizeof why));
}

static void samples(void **state)
{
    (void)state;
    struct counter_sample a = { 0 }, b = { 0 }, d, sum = { 0 };
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++)
        sum.valid[f] = true;
    a.valid[COUNTER_CYCLES] = b.valid[COUNTER_CYCLES] = true;
    a.value[COUNTER_CYCLES] = 100;
    b.value[COUNTER_CYCLES] = 140;
    b.valid[COUNTER_FLOP] = true; /* only in one */
    b.value[COUNTER_FLOP] = 9;
    a.valid[COUNTER_INSTRUCTIONS] = b.valid[COUNTER_INSTRUCTIONS] = true;
    a.value[COUNTER_INSTRUCTIONS] = 5; /* goes backwards: 0 in b */
    counter_sample_diff(&d, &a, &b);
    assert_true(d.valid[COUNTER_CYCLES]);
    assert_int_equal(d.value[COUNTER_CYCLES], 40);
    assert_false(d.valid[COUNTER_FLOP]);
    assert_false(d.valid[COUNTER_INSTRUCTIONS]);
    assert_false(d.valid[COUNTER_DRAM_BYTES]);
    counter_sample_add(&sum, &a);
    counter_sample_add(&sum, &b);
    assert_true(sum.valid[COUNTER_CYCLES]);
    assert_int_equal(sum.value[COUNTER_CYCLES], 240);
    assert_false(sum.valid[COUNTER_FLOP]);
    counter_sample_add(&sum, &b); /* once invalid, for good */
    assert_false(sum.valid[COUNTER_FLOP]);
}

/* auto: the backend with the most fields; the reasons for the others are of the last one asked. */
static void automatic(void **state)
{
    (void)state;
    struct counter_source src = { 0 };
    struct counters *c = must_open("auto", &src, 1);
    must_start(c, 0);
    struct counter_sample s;
    counters_read(c, 0, &s);
    bool counts_hw = false;
    for (size_t i = 0; i < ARRAY_LEN(hw); i++)
        counts_hw |= s.valid[hw[i]];
    /* perf has the kernel's software events, where a sandbox does not forbid it. */
    if (s.valid[COUNTER_TASK_CLOCK_NS] != (strcmp(counters_name(c), "perf") == 0) && !counts_hw)
        fail_msg("%s: task clock %s: %s", counters_name(c), s.valid[COUNTER_TASK_CLOCK_NS] ? "valid" : "invalid",
                 counters_reason(c, COUNTER_TASK_CLOCK_NS));
    for (size_t i = 0; i < ARRAY_LEN(hw); i++) {
        if (!s.valid[hw[i]]) {
            print_message("# %s: %s\n", counter_field_name(hw[i]),
                          counters_reason(c, hw[i]));
            assert_string_not_equal(counters_reason(c, hw[i]), "no counter backend (null)");
        }
    }
    check_reasons(c, &s);
    counters_thread_stop(c, 0);
    counters_close(c);
}

#ifdef HAVE_PAPI
static void papi_source(void **state)
{
    (void)state;
    check_source("papi");
    check_source("papi"); /* the events outlive their first owner and serve the next */
}

/* A set of the events opened beside the engine's, as a PAPI tool in the process would. */
static int tool_start(void)
{
    int set = PAPI_NULL;
    assert_int_equal(PAPI_create_eventset(&set), PAPI_OK);
    assert_int_equal(PAPI_add_named_event(set, "sde:::roofcast::BYTES"), PAPI_OK);
    assert_int_equal(PAPI_start(set), PAPI_OK);
    return set;
}

static void tool_stop(int set)
{
    long long v;
    PAPI_stop(set, &v);
    PAPI_cleanup_eventset(set);
    PAPI_destroy_eventset(&set);
}

/* The tool watches from a thread of its own: the same event, without disturbing the
 * engine's count. Once the engine is gone it reads 0, not freed memory. */
struct tool {
    pthread_barrier_t barrier;
    long long during, after;
};

static void *tool_thread(void *arg)
{
    struct tool *t = arg;
    PAPI_register_thread();
    int set = tool_start();
    pthread_barrier_wait(&t->barrier); /* published 51 */
    PAPI_read(set, &t->during);
    pthread_barrier_wait(&t->barrier);
    pthread_barrier_wait(&t->barrier); /* closed */
    PAPI_read(set, &t->after);
    tool_stop(set);
    PAPI_unregister_thread();
    return NULL;
}

static void papi_outside_tool(void **state)
{
    (void)state;
    struct counter_source src = { .bytes = 50 };
    struct counters *c = must_open("papi", &src, 1);
    struct tool tool = { .during = -1, .after = -1 };
    pthread_t thread;
    must_start(c, 0);
    assert_int_equal(pthread_barrier_init(&tool.barrier, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, tool_thread, &tool), 0);
    src.bytes += 1;
    pthread_barrier_wait(&tool.barrier);
    struct counter_sample s;
    counters_read(c, 0, &s);
    assert_int_equal(s.value[COUNTER_SW_BYTES], 1);
    pthread_barrier_wait(&tool.barrier);
    counters_thread_stop(c, 0);
    counters_close(c);
    pthread_barrier_wait(&tool.barrier);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&tool.barrier);
    assert_int_equal(tool.during, 51);
    assert_int_equal(tool.after, 0);
}

/* Tools list the three events by name. */
static void papi_events_listed(void **state)
{
    (void)state;
    struct counter_source src = { 0 };
    struct counters *c = must_open("papi", &src, 1);
    int code = PAPI_NATIVE_MASK, n = 0, cid = PAPI_get_component_index("sde");
    for (int rc = PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, cid); rc == PAPI_OK;
         rc = PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, cid)) {
        PAPI_event_info_t info;
        assert_int_equal(PAPI_get_event_info(code, &info), PAPI_OK);
        n += !strncmp(info.symbol, "sde:::roofcast::", 16);
    }
    assert_int_equal(n, 3);
    counters_close(c);
}

/* A file of events that cannot be read: what it might have had says so. */
static void papi_broken_events(void **state)
{
    (void)state;
    char root[64];
    struct error err = { 0 };
    tree_put(tree_new(root), "events/x.json", "{\"schema\": 1}");
    const char *dirs[] = { root, NULL };
    struct counter_source src = { 0 }; /* opens without a PMU that PAPI knows, too */
    const struct counters_options o = { .backend = "papi", .src = &src, .n_threads = 1, .data_dirs = dirs, .uncalibrated = true };
    struct counters *c = counters_open(&o, &err);
    assert_non_null(c);
    for (int f = 0; f <= COUNTER_INT8_OPS; f++) {
        const char *why = counters_reason(c, (enum counter_field)f);
        if (why[0] && !strstr(why, "x.json") && !strstr(why, "PAPI component"))
            fail_msg("%s: %s", counter_field_name((enum counter_field)f), why);
    }
    counters_close(c);
    tree_free(root);
}

/* PAPI runs one set of a component on a thread: when a tool has it, the engine's own counts are read without PAPI, and the
 * tool's set survives our stop. */
static void papi_set_taken(void **state)
{
    (void)state;
    struct counter_source src = { 0 };
    struct counters *c = must_open("papi", &src, 1);
    int set = tool_start();
    must_start(c, 0);
    struct counter_sample s;
    counters_read(c, 0, &s);
    check_reasons(c, &s);
    src.bytes = 9;
    counters_read(c, 0, &s);
    assert_true(s.valid[COUNTER_SW_BYTES]);
    assert_int_equal(s.value[COUNTER_SW_BYTES], 9);
    counters_thread_stop(c, 0);
    long long v = -1;
    assert_int_equal(PAPI_read(set, &v), PAPI_OK);
    assert_int_equal(v, 9);
    tool_stop(set);
    counters_close(c);
}

static void papi_second_engine(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct counter_source src = { 0 }, src2 = { 0 };
    struct counters *c = must_open("papi", &src, 1);
    struct counters *d = counters_open(&(struct counters_options){ .backend = "papi", .src = &src2, .n_threads = 1 }, &err);
    if (d) /* a machine with hardware events: only the software ones are refused */
        assert_non_null(strstr(counters_reason(d, COUNTER_SW_BYTES), "another engine"));
    else
        assert_non_null(strstr(err.msg, "another engine"));
    counters_close(d);
    d = must_open("auto", &src2, 1); /* null reads its source by itself */
    must_start(d, 0);
    src2.flop = 8;
    struct counter_sample s;
    counters_read(d, 0, &s);
    if (!strcmp(counters_name(d), "null"))
        assert_int_equal(s.value[COUNTER_SW_FLOP], 8);
    counters_thread_stop(d, 0);
    counters_close(d);
    counters_close(c);
}

static void papi_without_anything(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct counters *c = counters_open(&(struct counters_options){ .backend = "papi", .n_threads = 1 }, &err);
    if (c) {
        assert_string_equal(counters_reason(c, COUNTER_SW_BYTES),
                            "no source of software-defined events");
        counters_close(c);
        return;
    }
    assert_int_equal(err.kind, ERROR_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "counts nothing here"));
    assert_non_null(strstr(err.msg, "PAPI"));
}

/* Event sets opened, read and closed on a worker thread; thread 0 is a worker too. */
struct worker {
    struct counters *c;
    struct counter_source *src;
    pthread_barrier_t *barrier;
    int tid;
    struct counter_sample d;
    bool started;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    struct counter_sample a, b;
    struct error err = { 0 };
    w->started = counters_thread_start(w->c, w->tid, &err) == 0;
    counters_read(w->c, w->tid, &a);
    pthread_barrier_wait(w->barrier);
    if (w->tid == 0)
        w->src->bytes += 640;
    pthread_barrier_wait(w->barrier);
    volatile float x = 0;
    for (int i = 0; i < 200000; i++)
        x = x + 1.0f;
    counters_read(w->c, w->tid, &b);
    counter_sample_diff(&w->d, &a, &b);
    pthread_barrier_wait(w->barrier);
    counters_thread_stop(w->c, w->tid);
    return NULL;
}

static void papi_threads(void **state)
{
    (void)state;
    enum { N = 3 };
    struct counter_source src = { .bytes = 11 };
    struct counters *c = must_open("papi", &src, N);
    pthread_barrier_t barrier;
    pthread_t thread[N];
    struct worker w[N];
    assert_int_equal(pthread_barrier_init(&barrier, NULL, N), 0);
    for (int i = 0; i < N; i++) {
        w[i] = (struct worker){ .c = c, .src = &src, .barrier = &barrier, .tid = i };
        assert_int_equal(pthread_create(&thread[i], NULL, work, &w[i]), 0);
    }
    struct counter_sample sum = { 0 };
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++)
        sum.valid[f] = true;
    for (int i = 0; i < N; i++) {
        pthread_join(thread[i], NULL);
        assert_true(w[i].started);
        counter_sample_add(&sum, &w[i].d);
    }
    assert_true(sum.valid[COUNTER_SW_BYTES]);
    assert_int_equal(sum.value[COUNTER_SW_BYTES], 640);
    assert_int_equal(w[1].d.value[COUNTER_SW_BYTES], 0);
    if (sum.valid[COUNTER_INSTRUCTIONS]) /* each thread counts its own */
        assert_true(w[1].d.value[COUNTER_INSTRUCTIONS] >= 200000);
    pthread_barrier_destroy(&barrier);
    counters_close(c);
}

/* A thread that takes pages, and one that does not: counts are each thread's own. */
enum { PAGES = 256 };
struct faulting {
    struct counters *c;
    pthread_barrier_t *barrier;
    int tid;
    struct counter_sample d;
};

static void *take_pages(void *arg)
{
    struct faulting *w = arg;
    struct counter_sample a, b;
    struct error err = { 0 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (counters_thread_start(w->c, w->tid, &err) != 0)
        return NULL;
    counters_read(w->c, w->tid, &a);
    pthread_barrier_wait(w->barrier);
    if (w->tid == 1) {
        unsigned char *p = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(p, PAGES * page, MADV_NOHUGEPAGE);
        for (size_t i = 0; p != MAP_FAILED && i < PAGES; i++)
            *(volatile unsigned char *)(p + i * page) = 1;
        munmap(p, PAGES * page);
    }
    pthread_barrier_wait(w->barrier);
    counters_read(w->c, w->tid, &b);
    counter_sample_diff(&w->d, &a, &b);
    pthread_barrier_wait(w->barrier);
    counters_thread_stop(w->c, w->tid);
    return NULL;
}

static void papi_counts_by_thread(void **state)
{
    (void)state;
    struct counter_source src = { 0 };
    struct counters *c = must_open("papi", &src, 2);
    pthread_barrier_t barrier;
    pthread_t thread[2];
    struct faulting w[2];
    if (counters_reason(c, COUNTER_PAGE_FAULTS)[0]) {
        print_message("# %s\n", counters_reason(c, COUNTER_PAGE_FAULTS));
        counters_close(c);
        skip();
    }
    assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
    for (int i = 0; i < 2; i++) {
        w[i] = (struct faulting){ .c = c, .barrier = &barrier, .tid = i };
        assert_int_equal(pthread_create(&thread[i], NULL, take_pages, &w[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&barrier);
    assert_true(w[0].d.valid[COUNTER_PAGE_FAULTS] && w[1].d.valid[COUNTER_PAGE_FAULTS]);
    assert_true(w[1].d.value[COUNTER_PAGE_FAULTS] >= PAGES);
    assert_true(w[0].d.value[COUNTER_PAGE_FAULTS] < PAGES / 2);
    counters_close(c);
}
#else
static void papi_absent(void **state)
{
    (void)state;
    struct error err = { 0 };
    assert_null(counters_open(&(struct counters_options){ .backend = "papi", .n_threads = 1 }, &err));
    assert_int_equal(err.kind, ERROR_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "not built in"));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_without_source), cmocka_unit_test(null_with_source),
        cmocka_unit_test(thread_misuse),       cmocka_unit_test(unknown_backend),
        cmocka_unit_test(backends_listed),     cmocka_unit_test(samples),
        cmocka_unit_test(automatic),
#ifdef HAVE_PAPI
        cmocka_unit_test(papi_source),         cmocka_unit_test(papi_outside_tool),
        cmocka_unit_test(papi_events_listed),  cmocka_unit_test(papi_broken_events), cmocka_unit_test(papi_set_taken),
        cmocka_unit_test(papi_second_engine),  cmocka_unit_test(papi_without_anything),
        cmocka_unit_test(papi_threads),        cmocka_unit_test(papi_counts_by_thread),
#else
        cmocka_unit_test(papi_absent),
#endif
    };
    return cmocka_run_group_tests_name("counters", tests, NULL, NULL);
}
