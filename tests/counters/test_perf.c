/*
 * The kernel's interface: groups, enabled and running, real counts of debug registers, software events; PMUs of machines that
 * are not here from trees of files; what calibration makes of events.
 */
#include "../test.h"
#include "counters/internal.h"
#include "counters/known_work.h"
#include "counters/perf_event.h"
#include "counters/pmu.h"
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <math.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct perf_target here = { 0, -1 };

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static volatile long watched, other;

/* Debug registers count in hardware: every access to a variable. */
static struct perf_event_attr accesses(const volatile long *what, unsigned type)
{
    return (struct perf_event_attr){ .type = PERF_TYPE_BREAKPOINT, .size = sizeof(struct perf_event_attr), .bp_type = type,
                                     .bp_addr = (uintptr_t)what, .bp_len = HW_BREAKPOINT_LEN_8, .exclude_kernel = 1, .exclude_hv = 1 };
}

/* False, and said why: a sandbox forbids them. */
static bool watch(struct perf_group *g, const volatile long *what, unsigned type)
{
    const struct perf_event_attr a = accesses(what, type);
    if (perf_group_add(g, &a, here) == 0)
        return true;
    print_message("# no debug registers: %s\n", strerror(errno));
    return false;
}

/* Some virtual machines have debug registers that trap nothing: one event, opened without anything of ours, says whether these do. */
static bool debug_registers_trap(void)
{
    struct perf_event_attr a = accesses(&watched, HW_BREAKPOINT_W);
    uint64_t n = 0;
    const int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
    if (fd < 0)
        return true; /* watch() says why */
    for (int i = 0; i < 10; i++)
        watched = i;
    const bool got = read(fd, &n, sizeof n) == (ssize_t)sizeof n;
    close(fd);
    if (!got || n > 0)
        return true; /* the test will see */
    print_message("# this machine's debug registers count nothing: 0 of 10 accesses\n");
    return false;
}

static void group_counts_exactly(void **state)
{
    (void)state;
    struct perf_group g = { 0 };
    uint64_t v[PERF_GROUP_MAX] = { 0 }, again[PERF_GROUP_MAX] = { 0 };
    char why[160] = "";
    if (!debug_registers_trap() || !watch(&g, &watched, HW_BREAKPOINT_W) || !watch(&g, &other, HW_BREAKPOINT_W))
        skip();
    watched = 1; /* not enabled yet */
    assert_int_equal(perf_group_enable(&g), 0);
    for (int i = 0; i < 1000; i++)
        watched = i;
    for (int i = 0; i < 50; i++)
        other = i;
    assert_int_equal(perf_group_read(&g, v, why, sizeof why), 0);
    assert_int_equal(v[0], 1000);
    assert_int_equal(v[1], 50);
    assert_int_equal(perf_group_disable(&g), 0);
    watched = 2;
    assert_int_equal(perf_group_read(&g, again, why, sizeof why), 0);
    assert_int_equal(again[0], 1000);
    perf_group_close(&g);
    assert_int_equal(g.n, 0);
}

/* A member that cannot be opened leaves the group as it was, and a group of software events is read in one go. */
static void group_of_software(void **state)
{
    (void)state;
    struct perf_group g = { 0 };
    struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .exclude_kernel = 1 };
    uint64_t v[PERF_GROUP_MAX];
    char why[256] = "";
    if (perf_group_add(&g, &a, here) != 0)
        skip();
    a.config = 9999;
    assert_int_equal(perf_group_add(&g, &a, here), -1);
    perf_explain(why, sizeof why, "", "nonsense", errno, &a, here);
    assert_non_null(strstr(why, "nonsense: "));
    assert_int_equal(g.n, 1);
    a.config = PERF_COUNT_SW_PAGE_FAULTS;
    assert_int_equal(perf_group_add(&g, &a, here), 0);
    assert_int_equal(perf_group_enable(&g), 0);
    assert_int_equal(perf_group_read(&g, v, why, sizeof why), 0);
    assert_true(v[0] > 0);
    perf_group_close(&g);
}

/* Events of this thread on a CPU where it is not: enabled, and not running. */
static void group_not_whole(void **state)
{
    (void)state;
    struct perf_group g = { 0 };
    static volatile long v;
    uint64_t value[PERF_GROUP_MAX];
    char why[160] = "";
    if (!watch(&g, &v, HW_BREAKPOINT_W))
        skip();
    perf_group_close(&g);
    const struct perf_event_attr a = { .type = PERF_TYPE_BREAKPOINT, .bp_type = HW_BREAKPOINT_W, .bp_addr = (uintptr_t)&v,
                                       .bp_len = HW_BREAKPOINT_LEN_8, .exclude_kernel = 1, .exclude_hv = 1 };
    const int cpu = sched_getcpu(), elsewhere = cpu == 0 ? 1 : 0;
    cpu_set_t was, pin;
    sched_getaffinity(0, sizeof was, &was);
    CPU_ZERO(&pin);
    CPU_SET((unsigned)cpu, &pin);
    if (sched_setaffinity(0, sizeof pin, &pin) != 0 || perf_group_add(&g, &a, (struct perf_target){ 0, elsewhere }) != 0)
        skip();
    perf_group_enable(&g);
    v = 1;
    /* Time enabled goes on while the thread runs on another CPU, time running does not. */
    for (volatile int i = 0; i < 1000000; i++)
        ;
    usleep(1000);
    assert_int_equal(perf_group_read(&g, value, why, sizeof why), -1);
    assert_non_null(strstr(why, "of the time"));
    assert_int_equal(perf_group_read(&g, value, why, sizeof why), -1); /* for good */
    perf_group_close(&g);
    sched_setaffinity(0, sizeof was, &was);
}

static void permissions_explained(void **state)
{
    (void)state;
    char root[] = "/tmp/roofcast-perf-XXXXXX", cmd[200], why[256];
    const struct perf_event_attr user = { .exclude_kernel = 1 }, kernel = { 0 };
    assert_non_null(mkdtemp(root));
    snprintf(cmd, sizeof cmd, "mkdir -p %s/proc/sys/kernel && echo 3 >%s/proc/sys/kernel/perf_event_paranoid", root, root);
    assert_int_equal(system(cmd), 0);
    perf_explain(why, sizeof why, root, "INST_RETIRED", EACCES, &user, here);
    assert_non_null(strstr(why, "INST_RETIRED: not permitted"));
    assert_non_null(strstr(why, "perf_event_paranoid is 3, and this needs 2 or less"));
    perf_explain(why, sizeof why, root, "x", EPERM, &kernel, here);
    assert_non_null(strstr(why, "needs 1 or less"));
    perf_explain(why, sizeof why, root, "x", EACCES, &kernel, (struct perf_target){ -1, 0 });
    assert_non_null(strstr(why, "needs 0 or less"));
    snprintf(cmd, sizeof cmd, "rm -r %s", root);
    assert_int_equal(system(cmd), 0);
}

/* ---- the backend on this machine ---------------------------------------------------------------------------------- */

static void software_events(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct counter_source src = { 0 };
    const struct counters_options o = { .backend = "perf", .src = &src, .n_threads = 1, .data_dirs = data_dirs() };
    struct counters *c = counters_open(&o, &err);
    struct counter_sample a, b, d;
    if (!c) {
        print_message("# %s\n", err.msg);
        skip();
    }
    assert_ok(counters_thread_start(c, 0, &err), err);
    counters_read(c, 0, &a);
    src.bytes = 4096;
    const struct known_work *faults = known_work_find("page_faults");
    const double touched = known_work_run(faults, NULL, 1);
    counters_read(c, 0, &b);
    counter_sample_diff(&d, &a, &b);
    static const enum counter_field everywhere[] = { COUNTER_TASK_CLOCK_NS, COUNTER_PAGE_FAULTS, COUNTER_SW_BYTES };
    for (size_t i = 0; i < ARRAY_LEN(everywhere); i++)
        if (!d.valid[everywhere[i]])
            fail_msg("%s: %s", counter_field_name(everywhere[i]), counters_reason(c, everywhere[i]));
    assert_int_equal(d.value[COUNTER_PAGE_FAULTS], (int)touched);
    assert_int_equal(d.value[COUNTER_SW_BYTES], 4096);
    assert_true(d.value[COUNTER_TASK_CLOCK_NS] > 0);
    for (size_t i = 0; i < counters_n_event(c); i++) {
        const struct counter_event *e = counters_event(c, i);
        if (e->field == COUNTER_PAGE_FAULTS)
            assert_int_equal(e->check.class, COUNTER_EXACT);
    }
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++)
        if (!d.valid[f] && counters_reason(c, (enum counter_field)f)[0] == 0)
            fail_msg("%s: no reason", counter_field_name((enum counter_field)f));
    counters_close(c);
}

/* ---- classes --------------------------------------------------------------------------------------------------------- */

static enum counter_class classify(double a, double b, double c, double control_known, double control_counted)
{
    struct counter_check k = { .known = { 1e6, 2e6, 4e6 }, .counted = { a, b, c }, .work = "test" };
    const struct counter_control control = { control_known, control_counted, 0.01 };
    counter_classify(&k, &control);
    assert_true((k.why[0] == 0) == (k.class == COUNTER_EXACT || k.class == COUNTER_SCALED));
    return k.class;
}

static void classes(void **state)
{
    (void)state;
    assert_int_equal(classify(1e6, 2e6, 4e6, 0, 0), COUNTER_EXACT);
    assert_int_equal(classify(1.0009e6, 2e6, 4e6, 0, 0), COUNTER_EXACT);
    assert_int_equal(classify(1.002e6, 2e6, 4e6, 0, 0), COUNTER_SCALED);
    assert_int_equal(classify(0.5e6, 1e6, 2e6, NAN, 0), COUNTER_SCALED);
    assert_int_equal(classify(0, 0, 0, 0, 0), COUNTER_DEAD);
    assert_int_equal(classify(1e6, 2e6, 4.2e6, 0, 0), COUNTER_POLLUTED);      /* grows faster than the work */
    assert_int_equal(classify(1e6, 1e6, 1e6, 0, 0), COUNTER_POLLUTED);        /* does not grow */
    assert_int_equal(classify(1e6, 2e6, 4e6, 0, 1e6), COUNTER_POLLUTED);      /* counts in other work */
    assert_int_equal(classify(1e6, 2e6, 4e6, 18e6, 18e6), COUNTER_EXACT);     /* instructions */
    assert_int_equal(classify(0.5e6, 1e6, 2e6, 18e6, 1e6), COUNTER_POLLUTED); /* branches */
    assert_int_equal(classify(1e6, NAN, 4e6, 0, 0), COUNTER_POLLUTED);
}

/* Lines of a chain are all counted; from front to back, where prefetchers fetch them, a third is, or all twice, or nearly all. */
static void prefetches_count(void **state)
{
    (void)state;
    static const struct {
        double counted;
        enum counter_class class;
    } t[] = { { 1e6, COUNTER_EXACT }, { 0.9e6, COUNTER_EXACT }, { 0.33e6, COUNTER_POLLUTED }, { 2e6, COUNTER_POLLUTED } };
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        const struct known_work *w = known_work_find("l2_fill");
        struct counter_check k = { .known = { 1e6, 2e6, 4e6 }, .counted = { 1e6, 2e6, 4e6 }, .work = "l2_fill" };
        const struct counter_control control = { 1e6, t[i].counted, known_work_control_within(w) };
        assert_int_equal(counter_classify(&k, &control), t[i].class);
    }
}

/* Every work that this CPU can do is done: no instruction is one that it lacks, sizes grow, controls have none or other work. */
static void works_run(void **state)
{
    (void)state;
    static const char *const names[] = {
        "instructions", "cycles", "flop_f32", "flop_f32_scalar", "flop_f32_128", "flop_f32_256", "flop_f32_512",
        "flop_f64_scalar", "flop_f64_128", "flop_f64_256", "flop_f64_512", "flop_f16_scalar", "flop_f16_128", "flop_f16_256",
        "flop_f16_512", "bf16_512", "int8_128", "int8_256", "int8_512", "flop_neon", "flop_sve", "l1_fill", "l2_fill",
        "task_clock", "context_switches", "page_faults",
    };
    size_t possible = 0;
    struct work_memory m = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct known_work *w = known_work_find(names[i]);
        char why[128] = "";
        struct error err = { 0 };
        assert_non_null(w);
        if (!known_work_possible(w, why, sizeof why)) {
            assert_non_null(strstr(why, names[i]));
            continue;
        }
        possible++;
        assert_ok(known_work_prepare(w, &m, &err), err);
        const double a = known_work_run(w, &m, 0), b = known_work_run(w, &m, 1);
        if (!(a > 0) || !(b > 1.2 * a))
            fail_msg("%s: %g, then %g", names[i], a, b);
        const double control = known_work_control(w, &m);
        const bool fill = strstr(names[i], "_fill") != NULL;
        assert_true(i == 0 || fill ? control > 0 : control == 0 || isnan(control));
        assert_true(!fill || (control >= 4 * 65536 && control <= (double)m.size));
    }
    work_memory_free(&m);
    assert_true(possible >= 7);
    assert_null(known_work_find("nothing"));
}

/* ---- a backend of the test's own: events that lie ------------------------------------------------------------------- */

enum { HONEST, DEAD, WRONG, NOISY, FIRST, REST, EMPTY, HALF, OTHER };
static const struct {
    const char *name;
    enum counter_field field;
} fakes[] = { { "honest", COUNTER_INSTRUCTIONS }, { "dead", COUNTER_FLOP }, { "wrong", COUNTER_BF16_FLOP },
              { "noisy", COUNTER_INT8_OPS }, { "first", COUNTER_DRAM_BYTES }, { "rest", COUNTER_DRAM_BYTES },
              { "empty", COUNTER_DRAM_BYTES }, { "half", COUNTER_L3_FILL_BYTES }, { "other", COUNTER_L3_FILL_BYTES } };

static int fake_open(struct counters *c, struct error *err)
{
    (void)err;
    for (size_t i = 0; i < ARRAY_LEN(fakes); i++) {
        struct counter_event e = { .field = fakes[i].field, .scale = 1, .source = SOURCE_CORE_COUNTERS, .work = "page_faults",
                                   .set = i == NOISY || i == EMPTY ? 1 : 0 };
        snprintf(e.name, sizeof e.name, "%s", fakes[i].name);
        counters_add_event(c, &e);
    }
    return 0;
}

static void fake_close(struct counters *c)
{
    (void)c;
}

static void fake_start(struct counters *c, struct counter_thread *t, int tid)
{
    (void)tid;
    for (size_t i = 0; i < c->n_event; i++)
        t->ok[i] = true;
}

static void fake_stop(struct counters *c, struct counter_thread *t, int tid)
{
    (void)c, (void)t, (void)tid;
}

/* The honest one counts page faults as the kernel does and, as instructions do, those of reading it; the wrong one counts reads of
 * itself as well; the noisy one squares. Of a field in parts the first hundred are the first's and all others the rest's; of
 * another field one's are half of all, and the other's grow. */
static uint64_t reads, start; /* of a calibration */
static void fake_read(struct counters *c, struct counter_thread *t, int tid, uint64_t *raw)
{
    struct perf_group *g = c->own;
    uint64_t v[PERF_GROUP_MAX] = { 0 };
    char why[160];
    (void)t, (void)tid;
    if (perf_group_read(g, v, why, sizeof why) != 0)
        fail_msg("%s", why);
    reads++;
    raw[HONEST] = v[0] + 100 * reads;
    raw[DEAD] = 0;
    raw[WRONG] = v[0] + 10000 * reads;
    raw[NOISY] = v[0] * v[0];
    start = reads == 1 ? v[0] + 100 : start;
    raw[FIRST] = v[0] < start ? v[0] : start;
    raw[REST] = v[0] - raw[FIRST];
    raw[EMPTY] = 0;
    raw[HALF] = v[0] / 2;
    raw[OTHER] = v[0] * v[0] / 64;
}

static void lies_are_caught(void **state)
{
    (void)state;
    static const struct counter_backend fake = { .name = "fake", .open = fake_open, .close = fake_close,
                                                 .thread_start = fake_start, .thread_stop = fake_stop, .read = fake_read };
    const struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS, .exclude_kernel = 1 };
    struct perf_group g = { 0 };
    struct error err = { 0 };
    struct counter_thread *t = aligned_alloc(_Alignof(struct counter_thread), sizeof *t);
    struct counters *c = calloc(1, sizeof *c);
    if (perf_group_add(&g, &a, here) != 0) {
        free(t), free(c);
        skip();
    }
    memset(t, 0, sizeof *t);
    perf_group_enable(&g);
    *c = (struct counters){ .backend = &fake, .n_threads = 1, .n_set = 1, .thread = t, .own = &g };
    fake_open(c, &err);
    assert_int_equal(c->n_set, 2);
    /* a kernel that takes pages of the program back, as one with little memory does, makes faults nobody planned */
    for (int i = 0; i < 3 && c->event[HONEST].check.class != COUNTER_EXACT; i++) {
        reads = 0;
        assert_ok(counters_calibrate(c, &err), err);
    }
    assert_int_equal(c->event[HONEST].check.class, COUNTER_EXACT);
    assert_int_equal(c->event[DEAD].check.class, COUNTER_DEAD);
    assert_int_equal(c->event[WRONG].check.class, COUNTER_POLLUTED);
    assert_int_equal(c->event[NOISY].check.class, COUNTER_POLLUTED);
    assert_non_null(strstr(c->event[DEAD].check.why, "0 counted of"));
    for (int i = FIRST; i <= EMPTY; i++)
        assert_int_equal(c->event[i].check.class, COUNTER_EXACT);
    assert_true(c->event[EMPTY].check.ratio == 0 && c->event[EMPTY].check.why[0] == 0);
    assert_int_equal(c->event[HALF].check.class, COUNTER_POLLUTED);
    assert_int_equal(c->event[OTHER].check.class, COUNTER_POLLUTED);
    assert_non_null(strstr(c->event[HALF].check.why, "with its parts: "));
    json_t *certificate = counters_certificate(c);
    assert_int_equal(json_array_size(certificate), ARRAY_LEN(fakes));
    assert_string_equal(json_string_value(json_object_get(json_array_get(certificate, 1), "class")), "dead");
    json_decref(certificate);
    perf_group_close(&g);
    free(t);
    free(c);
}

/* Parts of a sum in several sets: valid when all are, and the sum of them. */
static void sets_are_joined(void **state)
{
    (void)state;
    struct counters *c = calloc(1, sizeof *c);
    struct counter_sample part[2] = { 0 }, sum;
    c->n_set = 1;
    c->valid[COUNTER_FLOP] = c->valid[COUNTER_CYCLES] = c->valid[COUNTER_DRAM_READ_BYTES] = c->valid[COUNTER_DRAM_WRITE_BYTES] = true;
    const struct counter_event e[] = { { .field = COUNTER_FLOP, .set = 0 },  { .field = COUNTER_FLOP, .set = 1 },
                                       { .field = COUNTER_CYCLES, .set = 0 }, { .field = COUNTER_DRAM_READ_BYTES, .set = 0 },
                                       { .field = COUNTER_DRAM_WRITE_BYTES, .set = 1 } };
    for (size_t i = 0; i < ARRAY_LEN(e); i++)
        assert_int_equal(counters_add_event(c, &e[i]), 0);
    part[0].value[COUNTER_FLOP] = 30, part[0].valid[COUNTER_FLOP] = true;
    part[1].value[COUNTER_FLOP] = 12, part[1].valid[COUNTER_FLOP] = true;
    part[0].value[COUNTER_CYCLES] = 7, part[0].valid[COUNTER_CYCLES] = true;
    part[0].value[COUNTER_DRAM_READ_BYTES] = 640, part[0].valid[COUNTER_DRAM_READ_BYTES] = true;
    part[1].value[COUNTER_DRAM_WRITE_BYTES] = 64, part[1].valid[COUNTER_DRAM_WRITE_BYTES] = true;
    counters_join(c, part, &sum);
    assert_true(sum.valid[COUNTER_FLOP] && sum.valid[COUNTER_CYCLES] && sum.valid[COUNTER_DRAM_BYTES]);
    assert_int_equal(sum.value[COUNTER_FLOP], 42);
    assert_int_equal(sum.value[COUNTER_CYCLES], 7);
    assert_int_equal(sum.value[COUNTER_DRAM_BYTES], 704);
    part[1].valid[COUNTER_FLOP] = false;
    counters_join(c, part, &sum);
    assert_false(sum.valid[COUNTER_FLOP]);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(group_counts_exactly), cmocka_unit_test(group_of_software), cmocka_unit_test(group_not_whole),
        cmocka_unit_test(permissions_explained), cmocka_unit_test(software_events), cmocka_unit_test(classes),
        cmocka_unit_test(prefetches_count), cmocka_unit_test(works_run),
        cmocka_unit_test(lies_are_caught), cmocka_unit_test(sets_are_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
