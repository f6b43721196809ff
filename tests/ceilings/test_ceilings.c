/*
 * ceilings: no absolute times. What must hold on any machine, busy or not: the loops count
 * what they do, reads stay inside their memory and reach all of it, relations between
 * roofs, an interval around each median, an interrupt that keeps what is done.
 */
#include "../test.h"
#include "ceilings/internal.h"
#include "ceilings/likwid.h"
#include "kernels/kernels.h"
#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static struct hwprofile profile;
static struct kernels kernels; /* the best of this CPU */
static int n_threads;

static struct ceilings_options options(void)
{
    return (struct ceilings_options){ .effort = CEILINGS_BRIEF,
                                      .n_threads = n_threads,
                                      .cpu_flags = cpu_flags() };
}

/* All that single tests need. */
static int look_around(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct cpulist l;
    kernels_init(&kernels, cpu_flags());
    if (cpulist_usable(&l, &err) != 0) {
        fprintf(stderr, "%s\n", err.msg);
        return -1;
    }
    n_threads = l.n >= 2 ? 2 : 1;
    cpulist_free(&l);
    return 0;
}

static int measure(void **state)
{
    struct error err = { 0 };
    if (look_around(state) != 0)
        return -1;
    if (hwprofile_host(&profile, &err) != 0) {
        fprintf(stderr, "%s\n", err.msg);
        return -1;
    }
    struct ceilings_options o = options();
    int rc = ceilings_measure(&profile, &o, &err);
    if (rc != 0)
        fprintf(stderr, "%s\n", err.msg);
    return rc;
}

static int release(void **state)
{
    (void)state;
    hwprofile_free(&profile);
    return 0;
}

/* The numbers in "fma ps zmm 12 + 6 add". */
static void count_of(const struct peak_kernel *k, int *n_fma, int *n_add)
{
    *n_fma = *n_add = 0;
    if (strstr(k->text, " add")) {
        const char *plus = strstr(k->text, " + ");
        assert_non_null(plus);
        while (plus[-1] >= '0' && plus[-1] <= '9')
            plus--;
        assert_int_equal(sscanf(plus, "%d + %d add", n_fma, n_add), 2);
    } else if (strrchr(k->text, ' ')) {
        (void)sscanf(strrchr(k->text, ' '), "%d", n_fma);
    }
}

static void tables(void **state)
{
    (void)state;
    const struct peak_kernel *k, *o;
    const struct read_kernel *r;
    for (size_t i = 0; (k = peak_kernel_at(i)) != NULL; i++) {
        struct ceiling room;
        assert_true(k->flop > 0 && k->bits >= k->elem_bits && k->elem_bits >= 8);
        assert_true(strlen(k->text) < sizeof room.kernel && strlen(k->isa) < 16);
        for (size_t j = 0; j < i; j++) {
            o = peak_kernel_at(j);
            assert_false(k->math == o->math && strcmp(k->isa, o->isa) == 0 && strcmp(k->text, o->text) == 0);
        }
        /* A multiply-add counts two, an addition one, in each lane, two or four patterns a loop. */
        int n_fma, n_add;
        count_of(k, &n_fma, &n_add);
        if (k->issue == ISSUE_FMA) {
            const double patterns = k->flop / ((2 * n_fma + n_add) * (double)k->bits / k->elem_bits);
            if (patterns != 2 && patterns != 4)
                fail_msg("%s %s: %g patterns of %d + %d", k->isa, k->text, patterns, n_fma, n_add);
        }
    }
    for (size_t i = 0; (r = read_kernel_at(i)) != NULL; i++)
        assert_true(r->granule && 4096 % r->granule == 0 && strlen(r->text) <= 24 &&
                    (r->near || r->far));
    /* Without any flag the portable rows remain, and only they. */
    for (size_t i = 0; (k = peak_kernel_at(i)) != NULL; i++)
        assert_int_equal(peak_kernel_wanted(k, 0), k->need == 0);
}

/* By hand: what the guides say of a core, times lanes. */
static void cores(void **state)
{
    (void)state;
    const struct core *zen4 = core_find("AuthenticAMD", 0x19, 0x11), *spr = core_find("GenuineIntel", 6, 0x8f),
                      *n1 = core_find("", 0x41, 0xd0c), *skx = core_find("GenuineIntel", 6, 0x55);
    assert_non_null(zen4);
    assert_null(core_find("AuthenticAMD", 0x15, 2));
    assert_null(core_find("GenuineIntel", 0x19, 0x11));
    const struct {
        const struct core *core;
        enum issue issue;
        int bits, elem_bits;
        double flop;
    } t[] = {
        { zen4, ISSUE_FMA, 512, 32, 16 * (2 + 1) },      /* a 512-bit multiply-add and an addition */
        { zen4, ISSUE_FMA, 256, 64, 4 * (2 * 2 + 2) },   /* two and two */
        { zen4, ISSUE_FMA_ONLY, 512, 32, 32 },
        { zen4, ISSUE_MUL_ADD, 128, 32, 16 },
        { zen4, ISSUE_DOT8, 512, 8, 128 },
        { zen4, ISSUE_DOT_BF16, 512, 16, 64 },
        { zen4, ISSUE_MADD8, 512, 8, 64 },               /* two products a result, one a cycle */
        { zen4, ISSUE_TILE, 512, 8, NAN },
        { zen4, ISSUE_NONE, 512, 8, NAN },
        { spr, ISSUE_FMA, 512, 32, 64 },                 /* additions take the same two ports */
        { spr, ISSUE_FMA, 256, 32, 8 * (2 * 2 + 1) },    /* a third one adds */
        { spr, ISSUE_DOT_BF16, 512, 16, 32 },            /* half the rate of multiply-adds: 115 beside 230 GFLOP/s */
        { spr, ISSUE_TILE, 512, 8, 2048 },
        { spr, ISSUE_TILE, 512, 16, 1024 },
        { n1, ISSUE_FMA, 128, 32, 16 },
        { n1, ISSUE_DOT8, 128, 8, 64 },
        { skx, ISSUE_FMA, 256, 32, 32 },
        { skx, ISSUE_FMA, 512, 32, NAN },                /* one unit or two */
        { NULL, ISSUE_FMA, 256, 32, NAN },
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        const struct peak_kernel k = { .issue = t[i].issue, .bits = t[i].bits, .elem_bits = t[i].elem_bits };
        const double got = core_per_cycle(t[i].core, &k);
        if (!(isnan(got) && isnan(t[i].flop)) && got != t[i].flop)
            fail_msg("row %zu: %g FLOP a cycle, expected %g", i, got, t[i].flop);
    }
    char text[256];
    assert_in_range(strlen(ceilings_core(text, sizeof text)), 10, 200);
}

/* Without a fault, and without a register that a loop forgot to say it changes: the caller's values survive. */
static void every_loop_runs(void **state)
{
    (void)state;
    const struct peak_kernel *k;
    int n = 0;
    for (size_t i = 0; (k = peak_kernel_at(i)) != NULL; i++) {
        if ((k->need & cpu_flags()) != k->need || (k->need & (CPU_AMX_INT8 | CPU_AMX_BF16 | CPU_AMX_FP16)))
            continue;
        volatile double a = 3.25 * (double)(i + 1);
        const double b = a, c = a * 2;
        k->run(3);
        if (k->chain)
            k->chain(3);
        assert_true(b == a && c == 2 * a);
        n++;
    }
    assert_true(n >= 5);
}

/* A loop that counted its work twice would pass what the core can do. Where that is not known: four pipes of
 * multiply-adds. */
static void not_above_the_core(void **state)
{
    enum { MOST = 128, TURNS = 9 };
    double best[MOST] = { 0 }, hz = 0;
    const struct peak_kernel *k;
    (void)state;
    /* The best rate of each loop and the best clock of all: on a core that is shared with others a chain of additions goes at half its
     * speed at times, beside loops that go as fast as ever. */
    for (size_t i = 0; (k = peak_kernel_at(i)) != NULL; i++) {
        assert_true(i < MOST);
        if ((k->need & cpu_flags()) != k->need || (k->need & (CPU_AMX_INT8 | CPU_AMX_BF16 | CPU_AMX_FP16)))
            continue;
        const uint64_t n = (uint64_t)(20000 * 24 * k->bits / k->elem_bits / k->flop) + 1;
        for (int t = 0; t < TURNS; t++) {
            double t0 = clock_now_s();
            k->run(n);
            best[i] = fmax(best[i], k->flop * (double)n / (clock_now_s() - t0));
            hz = fmax(hz, clock_chain_hz(k->chain, 4000));
        }
    }
    for (size_t i = 0; (k = peak_kernel_at(i)) != NULL; i++) {
        double limit = core_per_cycle(core_this(), k);
        if (isnan(limit))
            limit = 4 * 4.0 * k->bits / k->elem_bits;
        if (best[i] > 1.25 * hz * limit)
            fail_msg("%s %s: %.1f FLOP a cycle, at most %.0f", k->isa, k->text, best[i] / hz, limit);
    }
}

static sigjmp_buf faulted;
static volatile uintptr_t fault_address;

static void on_fault(int sig, siginfo_t *info, void *context)
{
    (void)sig, (void)context;
    fault_address = (uintptr_t)info->si_addr;
    siglongjmp(faulted, 1);
}

/* Address of the first access that faults, 0 when none does. */
static uintptr_t first_fault(const struct read_kernel *r, const void *p, size_t bytes)
{
    fault_address = 0;
    if (sigsetjmp(faulted, 1) == 0)
        r->run(p, bytes, 1);
    return fault_address;
}

/* Every line is read, in order, and nothing behind the end: with line j the first one of a page
 * without access, the first fault is at line j, for every j of an iteration and the next. */
static void reads_every_line(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct sigaction sa = { 0 }, old;
    sa.sa_sigaction = on_fault;
    sa.sa_flags = SA_SIGINFO;
    unsigned char *p =
        mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    unsigned char *wall = p + 3 * page;
    assert_int_equal(mprotect(wall, page, PROT_NONE), 0);
    sigaction(SIGSEGV, &sa, &old);
    const struct read_kernel *r, *bad = NULL;
    size_t bad_line = 0;
    for (size_t i = 0; !bad && (r = read_kernel_at(i)) != NULL; i++) {
        if ((r->need & cpu_flags()) != r->need)
            continue;
        size_t n = 2 * r->granule;
        for (size_t line = 0; line <= r->granule && !bad; line += 64)
            if (first_fault(r, wall - line, n) != (uintptr_t)wall) {
                bad = r;
                bad_line = line / 64;
            }
        if (!bad && first_fault(r, wall - n, n) != 0) {
            bad = r;
            bad_line = n / 64;
        }
    }
    sigaction(SIGSEGV, &old, NULL);
    munmap(p, 4 * page);
    if (bad)
        fail_msg("%s: line %zu is not read, or one behind the end is", bad->text, bad_line);
}

static void sleep_5ms(void *arg, int tid)
{
    struct timespec t = { .tv_nsec = 5000000 };
    ((int *)arg)[tid]++;
    nanosleep(&t, NULL);
}

/* The time of all threads together, each of which did its work once. */
static void time_of_all_threads(void **state)
{
    (void)state;
    struct ceilings_options o = options();
    struct harness m;
    struct error err;
    struct sample s;
    int done[2] = { 0 };
    assert_ok(harness_init(&m, n_threads, false, &o, &err), err);
    harness_time(&m, sleep_5ms, done, NULL, &s);
    assert_int_equal(harness_threads(&m), n_threads);
    harness_free(&m);
    assert_true(s.seconds >= 0.005);
    assert_true(s.clock_hz > 1e8 && s.clock_hz < 2e10);
    for (int i = 0; i < n_threads; i++)
        assert_int_equal(done[i], 1);
}

/* ---- the driver, without a clock: a machine that is made up ---------------------------------------------------- */

/* Variant v does speed[v] repetitions a second, noise apart; every tenth sample is lost to something else. */
struct made_up {
    double speed[20];
    struct rng rng;
    double noise; /* standard deviation of a sample */
    int calls;
    double round_factor;
    bool unavailable, disturbing;
};

static int made_up_prepare(struct benchmark *j, struct harness *m, struct error *err)
{
    struct made_up *u = j->data;
    (void)m;
    return u->unavailable ? error_set(err, ERROR_UNAVAILABLE, "no such unit") : 0;
}

static void made_up_sample(struct benchmark *j, struct harness *m, int variant, uint64_t n, struct sample *s)
{
    struct made_up *u = j->data;
    (void)m;
    s->disturbed = false;
    double v = u->speed[variant] * (1 + u->noise * rng_normal(&u->rng)) * u->round_factor;
    u->calls++;
    if (u->disturbing && u->calls % 10 == 0) {
        v /= 4;
        s->disturbed = true;
    }
    *s = (struct sample){ .value = v, .clock_hz = 1e9, .seconds = (double)n / v, .disturbed = s->disturbed };
}

static int made_up_keep(const struct benchmark *j, const struct harness *m, struct ceiling *c, struct hwprofile *h, struct error *err)
{
    (void)m;
    snprintf(c->name, sizeof c->name, "%s", j->what);
    snprintf(c->kind, sizeof c->kind, "compute");
    return hwprofile_add_ceiling(h, c, err);
}

static const struct benchmark_class made_up_class = { .prepare = made_up_prepare, .sample = made_up_sample, .keep = made_up_keep },
                              made_up_lower = { .lower = true, .sample = made_up_sample, .keep = made_up_keep };

/* The first four samples take a second each, as others have the CPU. */
static void interrupted_sample(struct benchmark *j, struct harness *m, int variant, uint64_t n, struct sample *s)
{
    struct made_up *u = j->data;
    made_up_sample(j, m, variant, n, s);
    s->disturbed = u->calls <= 4;
    s->seconds += s->disturbed;
}

static const struct benchmark_class interrupted_class = { .sample = interrupted_sample };

/* They do not pass for a slow machine, however many follow each other: a sample has as many repetitions as it needs. */
static void samples_are_long_enough(void **state)
{
    (void)state;
    struct made_up u = { .round_factor = 1, .speed = { 1e9 } };
    struct benchmark j = { .class = &interrupted_class, .data = &u, .n_variant = 1 };
    struct harness m = { .n = 1 };
    struct error err = { 0 };
    assert_ok(driver_choose(&j, &m, 0, 0.001, &err), err);
    assert_true(j.n > 900000 && j.n < 1100000);
}

/* Of kernels to choose from, tiles or none, the one that was chosen says what stands beside it. */
static void tiles_beside_tiles(void **state)
{
    (void)state;
    struct benchmark_list l = { 0 };
    struct hwprofile h = { 0 };
    struct harness m = { .n = 1 };
    struct error err = { 0 };
    struct benchmark *j = compute_add_best(&l, MATH_BF16, cpu_flags(), &err);
    for (j->variant = 0; j->variant < j->n_variant; j->variant++) {
        struct ceiling c = { .value = 1e12, .per_cycle = 1, .n_threads = j->variant + 1, .tile_flop_s = 1e12 }; /* names are unique */
        m.n = j->variant + 1;
        assert_ok(j->class->keep(j, &m, &c, &h, &err), err);
        const struct ceiling *kept = &h.ceiling[h.n_ceiling - 1];
        assert_int_equal(isnan(kept->tile_flop_s), strcmp(kept->isa, "amx") != 0);
    }
    free(h.ceiling);
    benchmark_list_free(&l);
}

/* Of twenty variants a per cent apart, with noise and disturbances, one of the best two is found; of latencies the lowest. */
static void search_finds_the_best(void **state)
{
    (void)state;
    int n_best = 0;
    for (int run = 0; run < 20; run++) {
        struct made_up u = { .noise = 0.004, .round_factor = 1, .disturbing = run % 2 != 0 };
        struct error err = { 0 };
        struct benchmark_list l = { 0 };
        struct harness m = { .n = 1 };
        rng_init(&u.rng, (uint64_t)run + 1);
        for (int v = 0; v < 20; v++)
            u.speed[v] = 1e9 * (1 - 0.01 * ((v + 7 * run) % 20));
        struct benchmark *j = benchmark_add(&l, &made_up_class, &err);
        j->data = &u;
        j->n_variant = 20;
        assert_ok(driver_choose(j, &m, 0.1, 0.01, &err), err);
        assert_true(j->chosen && u.speed[j->variant] >= 0.97e9);
        n_best += u.speed[j->variant] >= 0.99e9;
        /* Repetitions of a sample of 10 ms. */
        assert_true((double)j->n > 0.005 * u.speed[j->variant] && (double)j->n < 0.05 * u.speed[j->variant]);
        benchmark_list_free(&l);

        j = benchmark_add(&l, &made_up_lower, &err);
        u.disturbing = false;
        u.noise = 0.001;
        j->data = &u;
        j->n_variant = 20;
        assert_ok(driver_choose(j, &m, 0.1, 0.01, &err), err);
        assert_true(u.speed[j->variant] <= 0.82e9);
        benchmark_list_free(&l);
    }
    assert_true(n_best >= 18);
}

/* Median, interval and what rounds differ by, of samples that drift. */
static void samples_become_a_ceiling(void **state)
{
    (void)state;
    struct made_up u = { .speed = { 100e6 }, .noise = 0.002, .round_factor = 1 };
    struct error err = { 0 };
    struct benchmark_list l = { 0 };
    struct harness m = { .n = 2, .cpus = "0-1" };
    struct hwprofile h = { .n_ceiling = 0 };
    rng_init(&u.rng, 3);
    struct benchmark *j = benchmark_add(&l, &made_up_class, &err), *missing = benchmark_add(&l, &made_up_class, &err);
    struct made_up none = { .unavailable = true };
    j->data = &u;
    missing->data = &none;
    snprintf(j->what, sizeof j->what, "made up");
    assert_ok(driver_choose(j, &m, 0.01, 0.01, &err), err);
    for (int r = 0; r < 12; r++) {
        u.round_factor = r % 2 ? 1.1 : 0.9;
        assert_ok(driver_sample(j, &m, 4, r, INFINITY, &err), err);
    }
    for (int i = 0; i < j->n_sample; i++) /* loads beside them that move along, and some that nobody took */
        j->loads_bytes_s[i] = i % 5 ? 2 * j->value[i] : 0;
    for (int i = 0; i < j->n_sample; i++)
        j->product_flop_s[i] = i % 5 ? 3 * j->value[i] : 0;
    for (int i = 0; i < j->n_sample; i++)
        j->tile_flop_s[i] = i % 3 ? 7 * j->value[i] : 0;
    assert_ok(driver_choose(missing, &m, 0.01, 0.01, &err), err);
    assert_ok(driver_keep(&l, &m, &h, &err), err);
    assert_int_equal(h.n_ceiling, 2);
    const struct ceiling *c = &h.ceiling[0];
    assert_int_equal(c->n_samples, 48);
    assert_true(c->value > 85e6 && c->value < 115e6 && c->ci_lo < 91e6 && c->ci_hi > 109e6);
    assert_true(fabs(c->between_rounds - 0.104) < 0.01); /* sd of six 0.9 and six 1.1 */
    assert_true(fabs(c->per_cycle - c->value / 1e9 / 2) < 1e-12);
    assert_true(fabs(c->loads_bytes_s / c->value - 2) < 1e-9 && isnan(h.ceiling[1].loads_bytes_s));
    assert_true(fabs(c->product_flop_s / c->value - 3) < 1e-9 && isnan(h.ceiling[1].product_flop_s));
    assert_true(fabs(c->tile_flop_s / c->value - 7) < 1e-9 && isnan(h.ceiling[1].tile_flop_s));
    /* of a latency, which is less where cores give more */
    const struct benchmark_class lower = { .lower = true };
    struct ceiling call;
    for (int i = 0; i < j->n_sample; i++)
        j->product_flop_s[i] = 5 / j->value[i];
    j->class = &lower;
    driver_to_ceiling(j, &m, &call);
    assert_true(fabs(call.product_flop_s * call.value - 5) < 1e-9);
    assert_true(isnan(h.ceiling[1].value) && strcmp(h.ceiling[1].kernel, "unavailable: no such unit") == 0);
    /* That machine is noisy, and says so. */
    const struct hw_noise n = hwprofile_noise(&h);
    assert_int_equal(n.verdict, HW_NOISY);
    assert_int_equal(n.n_ceilings, 1);
    assert_string_equal(n.worst, "made up");
    free(h.ceiling);
    benchmark_list_free(&l);
}

/* Every job gets its first round even when there is no time; with time, no more than there is. */
static void time_is_kept(void **state)
{
    (void)state;
    const struct effort e = { .n_rounds = 5, .n_per_round = 3, .trial = 0.3, .sample_s = 0.01 };
    struct ceilings_options o = { .effort = CEILINGS_QUICK };
    struct error err = { 0 };
    struct harness m = { .n = 1 };
    struct made_up u[6];
    for (int timed = 0; timed < 2; timed++) {
        struct benchmark_list l = { 0 };
        for (size_t i = 0; i < ARRAY_LEN(u); i++) {
            u[i] = (struct made_up){ .speed = { 1e6, 2e6 }, .noise = 0.01, .round_factor = 1 };
            rng_init(&u[i].rng, i + 1);
            struct benchmark *j = benchmark_add(&l, &made_up_class, &err);
            j->data = &u[i];
            j->n_variant = 2;
            j->share_s = 1;
        }
        const double now = clock_now_s();
        const struct driver d = { .e = &e, .o = &o, .begin_s = now, .start_s = now, .end_s = now + 60,
                                  .deadline_s = timed ? now + 60 : now };
        assert_ok(driver_run(&d, &l, &m, &err), err);
        for (size_t i = 0; i < l.n; i++) {
            assert_int_equal(l.v[i]->variant, 1);
            assert_true(timed ? l.v[i]->n_sample == 15 : l.v[i]->n_sample >= 1 && l.v[i]->n_sample <= 3);
        }
        benchmark_list_free(&l);
    }
}

/* ---- the cross-check ---------------------------------------------------------------------------------------------- */

static const char likwid_text[] = "Using 2 threads\nGroup: 0 Thread 0 Global Thread 0 running on hwthread 4 - Vector length 1984 Offset 0\n"
                                  "Group: 0 Thread 1 Global Thread 1 running on hwthread 70 - Vector length 1984 Offset 1984\nCycles:\t\t\t8450\nTime:\t\t\t3.25e-06 sec\nIterations:\t\t10\n"
                                  "Iterations per thread:\t10\nSize (Byte):\t\t7936\nNumber of Flops:\t0\nMFlops/s:\t\t0.00\n"
                                  "MByte/s:\t\t24381.66\n";

static void likwid_output(void **state)
{
    (void)state;
    struct likwid_result r;
    struct error err;
    assert_ok(likwid_parse(&r, likwid_text, strlen(likwid_text), &err), err);
    assert_true(r.seconds == 3.25e-06 && r.flop_s == 0 && fabs(r.bytes_s - 24381.66e6) < 1 && r.size_bytes == 7936 && r.iterations == 10);
    assert_true(r.n_threads == 2 && r.n_cpus == 2);
    char shared[1024];
    const char *second = strstr(likwid_text, "70 - ");
    snprintf(shared, sizeof shared, "%.*s4%s", (int)(second - likwid_text), likwid_text, second + 2);
    assert_ok(likwid_parse(&r, shared, strlen(shared), &err), err);
    assert_true(r.n_threads == 2 && r.n_cpus == 1);
    static const struct {
        const char *from, *to, *says;
    } wrong[] = {
        { "24381.66", "nan", "expected a number" },        { "24381.66", "-3", "expected a number" },
        { "24381.66", "24381.66 x", "expected a number" }, { "24381.66", "0.00", "no measurement" },
        { "24381.66", "", "expected a number" },           { "MByte/s", "GByte/s", "no \"MByte/s\"" },
        { "3.25e-06 sec", "3.25e-06", "expected a number" }, { "Cycles:\t\t\t8450", "MByte/s: 1", "is listed twice" },
        { "Time:\t\t\t3.25e-06 sec", "ERROR - out of things", "likwid-bench: ERROR - out of things" },
        { "hwthread 70", "hwthread 8192", "a number below 8192" }, { "hwthread 70", "hwthread x", "a number below 8192" },
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        char text[1024];
        const char *at = strstr(likwid_text, wrong[i].from);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - likwid_text), likwid_text, wrong[i].to, at + strlen(wrong[i].from));
        assert_fails(likwid_parse(&r, text, strlen(text), &err), err, wrong[i].says);
    }
    assert_fails(likwid_parse(&r, "", 0, &err), err, "has no");
}

static void check_pairs(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *op, *dtype, *isa, *test;
    } t[] = {
        { "compute", "", "fp32", "avx512", "peakflops_sp_avx512_fma" }, { "compute", "", "fp64", "avx2", "peakflops_avx_fma" },
        { "compute", "", "fp64", "sse", "peakflops_sse" },              { "compute", "", "fp32", "scalar", "peakflops_sp" },
        { "bandwidth", "read", "", "avx512", "load_avx512" },           { "bandwidth", "write", "", "avx2", "store_avx" },
        { "bandwidth", "write-nt", "", "sse", "store_mem_sse" },        { "bandwidth", "triad", "", "avx512", "stream_avx512" },
        { "compute", "", "int8", "avx512", NULL },                      { "bandwidth", "gather", "", "avx512", NULL },
        { "latency", "chase", "", "avx512", NULL },                     { "bandwidth", "read", "", "ref", NULL },
    };
    char test[40];
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        struct ceiling c = { .n_threads = 1 };
        snprintf(c.kind, sizeof c.kind, "%s", t[i].kind);
        snprintf(c.op, sizeof c.op, "%s", t[i].op);
        snprintf(c.dtype, sizeof c.dtype, "%s", t[i].dtype);
        snprintf(c.isa, sizeof c.isa, "%s", t[i].isa);
        const bool found = check_test_of(&c, test, sizeof test);
        assert_int_equal(found, t[i].test != NULL);
        if (found)
            assert_string_equal(test, t[i].test);
    }
    /* Both slow down in the second turn: the ratio does not. */
    struct ceilings_check k = { .n_turns = 0 };
    check_judge(&k, (const double[]){ 98, 49, 98 }, (const double[]){ 100, 50, 100 }, 3);
    assert_true(fabs(k.ratio - 0.98) < 1e-12 && k.pass && !k.note[0] && k.ours == 98 && k.theirs == 100);
    check_judge(&k, (const double[]){ 96 }, (const double[]){ 100 }, 1);
    assert_true(!k.pass && strstr(k.note, "4.0 % below"));
    check_judge(&k, (const double[]){ 200 }, (const double[]){ 100 }, 1);
    assert_true(k.pass && strstr(k.note, "50 % of ours"));
}

static const struct ceiling *bandwidth(const char *level, int n)
{
    const struct ceiling *c = hwprofile_bandwidth(&profile, level, n);
    return c && c->n_threads == n ? c : NULL;
}

static void everything_is_there(void **state)
{
    (void)state;
    static const enum math maths[] = { MATH_FP64, MATH_FP32, MATH_BF16, MATH_INT16, MATH_INT8 };
    for (int n = 1; n <= n_threads; n++) {
        for (size_t i = 0; i < ARRAY_LEN(maths); i++) {
            const struct ceiling *c = hwprofile_peak(&profile, maths[i], n);
            assert_non_null(c);
            assert_int_equal(c->n_threads, n);
        }
        assert_non_null(bandwidth("DRAM", n));
    }
    for (size_t i = 0; i < profile.n_cache; i++) {
        char level[8];
        snprintf(level, sizeof level, "L%d", profile.cache[i].level);
        if (profile.cache[i].level <= 3)
            assert_non_null(bandwidth(level, 1));
    }
}

static void each_ceiling_is_sound(void **state)
{
    (void)state;
    int n_issue = 0, n_above = 0; /* a clock that was read while others held the CPU makes one, a wrong width all of its kind */
    assert_true(profile.n_ceiling >= 7);
    for (size_t i = 0; i < profile.n_ceiling; i++) {
        const struct ceiling *c = &profile.ceiling[i];
        if (isnan(c->value)) { /* a level this machine lacks */
            assert_non_null(strstr(c->kernel, "unavailable"));
            continue;
        }
        assert_true(c->value > 0 && c->ci_lo <= c->value && c->value <= c->ci_hi);
        assert_true(c->kernel[0] && c->cpus[0] && c->date[0]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(c->name, profile.ceiling[j].name);
        /* a small product stands beside what depends on the cores, one by tiles beside products by tiles */
        if (strcmp(c->kind, "kernel") == 0 || strcmp(c->kind, "compute") == 0)
            assert_true(c->product_flop_s > 0);
        else if (strcmp(c->kind, "bandwidth") == 0)
            assert_true(isnan(c->product_flop_s));
        const bool tiles = strcmp(kernels.isa, "amx") == 0 && (strcmp(c->op, "attention-bf16") == 0 ||
                                                               (strcmp(c->kind, "compute") == 0 && strcmp(c->isa, "amx") == 0));
        assert_true(tiles ? c->tile_flop_s > 0 : isnan(c->tile_flop_s));
        if (strcmp(c->kind, "kernel") == 0 || strcmp(c->kind, "latency") == 0)
            continue;
        assert_int_equal(c->n_samples, 3);
        assert_true(c->clock_hz > 1e8 && c->clock_hz < 2e10);
        assert_true(c->isa[0]);
        assert_string_equal(c->unit, strcmp(c->kind, "bandwidth") == 0 ? "B/s"
                                     : strcmp(c->kind, "latency") == 0 ? "s"
                                     : strncmp(c->dtype, "int", 3) == 0 ? "OP/s"
                                                                        : "FLOP/s");
        n_issue += !isnan(c->issue_fraction);
        n_above += c->issue_fraction >= 1.25;
        if (!isnan(c->per_cycle))
            assert_true(fabs(c->per_cycle * c->clock_hz * c->n_threads / c->value - 1) < 1e-9);
    }
    assert_true(n_above <= n_issue / 4);
}

/* The engine's kernels and its team, for one thread and for all. */
static void kernels_are_there(void **state)
{
    (void)state;
    static const char *const ops[] = { "matvec", "matmat", "attention", "rmsnorm", "rope", "softmax", "silu", "add", "quantize", "kvstore", "embed", "load" };
    for (int n = 1; n <= n_threads; n++) {
        for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
            bool found = false;
            for (size_t k = 0; k < profile.n_ceiling; k++)
                found |= strcmp(profile.ceiling[k].kind, "kernel") == 0 && strcmp(profile.ceiling[k].op, ops[i]) == 0 &&
                         profile.ceiling[k].n_threads == n && profile.ceiling[k].value > 0;
            if (!found)
                fail_msg("no roof of %s with %d threads", ops[i], n);
        }
        size_t rounded = 0, alone = 0, two = 0; /* attention: where prompts' is rounded, of one head and of two, too */
        for (size_t k = 0; k < profile.n_ceiling; k++) {
            const struct ceiling *c = &profile.ceiling[k];
            rounded += strcmp(c->op, "attention-bf16") == 0 && c->n_threads == n;
            alone += strcmp(c->op, "attention-bf16") == 0 && c->n_threads == n && strcmp(c->kind, "kernel") == 0 && c->n_tok < 256;
            two += strcmp(c->op, "attention-bf16") == 0 && c->n_threads == n && strcmp(c->kind, "kernel") == 0 && c->n_tok == 128;
        }
        assert_int_equal(rounded > 0, kernels.rounded_min_tok > 0);
        assert_int_equal(alone, 2 * two);
        assert_int_equal(two > 0, rounded > 0);
        assert_non_null(hwprofile_ceiling(&profile, "latency", "dispatch", "", "", 0, n));
        static const char *const exchanges[COHERENCE_COUNT] = {
            [COHERENCE_READ_SMALL] = "exchange-read x32",   [COHERENCE_READ_LARGE] = "exchange-read x512",
            [COHERENCE_WRITE_SMALL] = "exchange-write x32", [COHERENCE_WRITE_LARGE] = "exchange-write x512",
            [COHERENCE_BARRIER] = "barrier",
        };
        for (int k = 0; k < COHERENCE_COUNT; k++) {
            char name[64];
            const struct ceiling *c = hwprofile_coherence(&profile, (enum coherence_kind)k, n);
            assert_true((c != NULL) == ((n == 1 && k != COHERENCE_BARRIER) || (n > 1 && n == n_threads)));
            snprintf(name, sizeof name, "%s %dt", exchanges[k], n);
            if (c)
                assert_string_equal(c->name, name);
        }
        const struct ceiling *b = hwprofile_ceiling(&profile, "latency", "barrier", "", "", 0, 1); /* one waits for nobody */
        assert_true(n_threads > 1 ? b && b->n_threads > 1 : !b);
    }
}

/* NULL, or what does not hold of one measurement of the roofs. */
static const char *wrong_relation(const struct hwprofile *h, char *to, size_t n)
{
    const struct ceiling *l1 = hwprofile_bandwidth(h, "L1", 1), *dram = hwprofile_bandwidth(h, "DRAM", 1);
    const struct ceiling *f32 = hwprofile_peak(h, MATH_FP32, 1), *i8 = hwprofile_peak(h, MATH_INT8, 1);
    if (l1 && l1->value < dram->value)
        snprintf(to, n, "L1 %g B/s, DRAM %g B/s", l1->value, dram->value);
    else if ((cpu_flags() & CPU_AVX512VNNI) && i8->value <= f32->value)
        snprintf(to, n, "INT8 %g OP/s, FP32 %g FLOP/s", i8->value, f32->value);
    else
        return NULL;
    return to;
}

/* Others may hold the CPU all through one roof and none of another: what is right of the machine holds of one measurement in three. */
static void relations(void **state)
{
    (void)state;
    char text[128];
    const char *wrong = wrong_relation(&profile, text, sizeof text);
    for (int i = 0; wrong && i < 2; i++) {
        struct error err;
        struct hwprofile again;
        struct ceilings_options o = options();
        assert_ok(hwprofile_host(&again, &err), err);
        assert_ok(ceilings_measure(&again, &o, &err), err);
        wrong = wrong_relation(&again, text, sizeof text);
        hwprofile_free(&again);
    }
    if (wrong)
        fail_msg("%s", wrong);
}

/* The profile with its ceilings is a valid file. */
static void survives_json(void **state)
{
    (void)state;
    struct error err;
    struct hwprofile h;
    json_t *j = hwprofile_to_json(&profile, &err);
    assert_non_null(j);
    char *text = json_dumps(j, 0);
    assert_ok(hwprofile_parse(&h, "this.json", text, strlen(text), &err), err);
    assert_int_equal(h.n_ceiling, profile.n_ceiling);
    for (size_t i = 0; i < h.n_ceiling; i++) {
        const struct ceiling *was = &profile.ceiling[i], *is = &h.ceiling[i];
        assert_true(is->product_flop_s == was->product_flop_s || (isnan(is->product_flop_s) && isnan(was->product_flop_s)));
        assert_true(is->tile_flop_s == was->tile_flop_s || (isnan(is->tile_flop_s) && isnan(was->tile_flop_s)));
    }
    hwprofile_free(&h);
    free(text);
    json_decref(j);
}

static void spin(void *arg, int tid)
{
    const double *seconds = arg, end = clock_now_s() + seconds[tid];
    while (clock_now_s() < end)
        ;
}

/* One thread takes a hundred times as long for its part: the one that is done would have helped it, and both had ended sooner. */
static void time_of_threads_that_help(void **state)
{
    (void)state;
    struct ceilings_options o = options();
    struct harness m;
    struct sample s;
    struct error err;
    double seconds[] = { 0.002, 0.2 }; /* far apart: others may have the first one's CPU for a while */
    assert_ok(harness_init(&m, n_threads, false, &o, &err), err);
    harness_time(&m, spin, seconds, NULL, &s);
    if (n_threads > 1) {
        assert_true(s.seconds >= 0.2);
        assert_true(s.shared_s >= 0.0038 && s.shared_s < 0.5 * s.seconds);
    } else
        assert_true(fabs(s.shared_s / s.seconds - 1) < 1e-9);
    harness_free(&m);
}

/* Samples stand between two looks at the cores where their class asks for it, and at tiles where the job does and the CPU has them. */
static void samples_between_looks(void **state)
{
    (void)state;
    const bool amx = strcmp(kernels.isa, "amx") == 0;
    struct benchmark_class class = made_up_class;
    struct made_up u = { .speed = { 1e9 }, .round_factor = 1 };
    struct ceilings_options o = options();
    struct benchmark_list l = { 0 };
    struct harness m;
    struct error err = { 0 };
    assert_ok(harness_init(&m, n_threads, false, &o, &err), err);
    assert_ok(harness_enable_core_probes(&m, &err), err);
    struct benchmark *j = benchmark_add(&l, &class, &err);
    j->data = &u;
    rng_init(&u.rng, 1);
    for (int i = 0; i < 3; i++) { /* nothing, the cores, tiles too */
        class.core = i > 0;
        j->tiles = i > 1;
        assert_ok(driver_sample(j, &m, 1, 0, INFINITY, &err), err);
        assert_int_equal(j->n_sample, i + 1);
        assert_true((j->product_flop_s[i] > 0) == (i > 0));
        assert_true((j->tile_flop_s[i] > 0) == (amx && i > 1));
    }
    benchmark_list_free(&l);
    harness_free(&m);
}

/* Which products are by tiles: as many tokens as they are worth it for, of packed weights. */
static void products_by_tiles(void **state)
{
    (void)state;
    const bool amx = strcmp(kernels.isa, "amx") == 0;
    assert_true(kernels_by_tiles(&kernels, &kernels.packed[DTYPE_BF16], 64) == amx);
    assert_true(kernels_by_tiles(&kernels, &kernels.packed[DTYPE_Q4_K], 128) == amx);
    assert_false(kernels_by_tiles(&kernels, &kernels.packed[DTYPE_BF16], 1));
    assert_false(kernels_by_tiles(&kernels, &kernels.packed[DTYPE_Q4_K], 16));
    assert_false(kernels_by_tiles(&kernels, &kernels.mm[DTYPE_Q4_K], 512));
    assert_true(kernels_by_tiles(&kernels, &kernels.packed[DTYPE_F16], 13) == amx);
    assert_false(kernels_by_tiles(&kernels, &kernels.packed[DTYPE_F16], 12));
    assert_true(kernels_by_tiles(&kernels, &kernels.packed[DTYPE_F32], 64) == amx);
    assert_false(kernels_by_tiles(&kernels, &kernels.packed[DTYPE_F32], 63));
    assert_false(kernels_by_tiles(&kernels, &kernels.mm[DTYPE_F32], 512));
}

static void probes(void **state)
{
    (void)state;
    struct ceilings_options o = options();
    struct ceilings_probed now;
    struct ceilings_quick_probe glanced;
    struct error err;
    struct ceilings_prober *p = ceilings_prober_new(MATH_INT8, n_threads, &o, &err);
    assert_non_null(p);
    for (int i = 0; i < 3; i++) {
        assert_ok(ceilings_probe(p, &now, &err), err);
        assert_true(now.dram.value > 0 && now.dram.n_threads == n_threads);
        assert_string_equal(now.dram.level, "DRAM");
        assert_true(now.peak.value > 0 && now.peak.n_threads == n_threads);
        assert_string_equal(now.peak.dtype, "int8");
        assert_true(now.dram.n_samples == now.peak.n_samples); /* of this probe, not of all */
        assert_true(isnan(now.tiles.value));
        for (int k = 0; k < COHERENCE_COUNT; k++)
            assert_true(isnan(now.coherence[k]));
    }
    ceilings_prober_free(p);
    /* A lower rung when asked for one. */
    o.cpu_flags = 0;
    p = ceilings_prober_new(MATH_FP32, 1, &o, &err);
    assert_non_null(p);
    assert_ok(ceilings_probe(p, &now, &err), err);
    assert_string_equal(now.peak.isa, "ref");
    ceilings_prober_free(p);
    /* The products of a profile's samples, whatever was asked for. */
    o.core_probes = true;
    p = ceilings_prober_new(MATH_INT8, 1, &o, &err);
    assert_non_null(p);
    assert_ok(ceilings_probe(p, &now, &err), err);
    assert_string_equal(now.peak.name, "reference Q4_K x16 1t");
    assert_string_equal(now.peak.isa, kernels.isa);
    assert_true(now.peak.value > 0);
    if (strcmp(kernels.isa, "amx") == 0) {
        assert_string_equal(now.tiles.name, "reference BF16 x64 1t");
        assert_true(now.tiles.value > now.peak.value);
    } else
        assert_true(isnan(now.tiles.value));
    assert_ok(ceilings_probe_quick(p, &glanced, &err), err);
    assert_true(glanced.bytes_s > 0 && glanced.flop_s > 0 && isnan(glanced.tile_flop_s) == isnan(now.tiles.value));
    for (int i = 0; i < COHERENCE_COUNT; i++) /* one thread exchanges nothing */
        assert_true(isnan(now.coherence[i]) && isnan(glanced.coherence[i]));
    ceilings_prober_free(p);
    if (n_threads > 1) {
        p = ceilings_prober_new(MATH_INT8, n_threads, &o, &err);
        assert_non_null(p);
        assert_ok(ceilings_probe_quick(p, &glanced, &err), err);
        for (int i = 0; i < COHERENCE_COUNT; i++)
            assert_true(glanced.coherence[i] > 0);
        assert_true(glanced.coherence[COHERENCE_BARRIER] < 1e-2 && glanced.coherence[COHERENCE_READ_SMALL] < 1e12);
        ceilings_prober_free(p);
    }
    o.core_probes = false;
    /* Memory by the kernel that is named; of what a cache keeps of a run's memory few samples. */
    const struct read_kernel *k;
    for (size_t i = 0; (k = read_kernel_at(i)) != NULL; i++) {
        o.memory_kernel = k->text;
        if (!k->far || !read_kernel_wanted(k, cpu_flags()))
            continue;
        o.cpu_flags = cpu_flags();
        p = ceilings_prober_new(MATH_FP32, 1, &o, &err);
        assert_non_null(p);
        assert_ok(ceilings_probe(p, &now, &err), err);
        assert_int_equal(strcspn(now.dram.kernel, ","), strlen(k->text));
        assert_memory_equal(now.dram.kernel, k->text, strlen(k->text));
        ceilings_prober_free(p);
    }
    o.memory_kernel = NULL;
    o.effort = CEILINGS_QUICK;
    o.memory_whole = true;
    p = ceilings_prober_new(MATH_FP32, 1, &o, &err);
    assert_non_null(p);
    assert_ok(ceilings_probe(p, &now, &err), err);
    assert_int_equal(now.dram.n_samples, 3);
    assert_true(now.peak.n_samples > 3);
    ceilings_prober_free(p);
    o = options();
    o.memory_only = true;
    p = ceilings_prober_new(MATH_FP32, 1, &o, &err);
    assert_non_null(p);
    assert_ok(ceilings_probe(p, &now, &err), err);
    assert_true(now.dram.value > 0 && isnan(now.peak.value) && isnan(now.tiles.value));
    ceilings_prober_free(p);
    o = options();
    /* Without a kernel for the math: the bandwidth alone, and the reason. */
    p = ceilings_prober_new(MATH_FP8, 1, &o, &err);
    assert_non_null(p);
    assert_ok(ceilings_probe(p, &now, &err), err);
    assert_true(now.dram.value > 0 && isnan(now.peak.value));
    assert_non_null(strstr(ceilings_prober_reason(p), "no kernel for fp8"));
    ceilings_prober_free(p);
    assert_null(ceilings_prober_new(MATH_FP32, 100000, &o, &err));
    assert_non_null(strstr(err.msg, "threads"));
}

static void clock_is_plausible(void **state)
{
    (void)state;
    double hz = ceilings_clock_hz();
    assert_true(hz > 1e8 && hz < 2e10);
}

static void interrupt_at(void *ctx, const char *what, double fraction)
{
    assert_true(fraction >= 0 && fraction <= 1);
    if (++*(int *)ctx > 1 && strstr(what, "read L1"))
        raise(SIGINT);
}

/* Last: the flag stays up. */
static void interrupt_keeps_what_is_done(void **state)
{
    (void)state;
    struct hwprofile h;
    struct error err;
    int n_told = 0;
    struct ceilings_options o = options();
    o.progress = interrupt_at;
    o.progress_ctx = &n_told;
    interrupt_install();
    assert_ok(hwprofile_host(&h, &err), err);
    assert_fails(ceilings_measure(&h, &o, &err), err, "interrupted");
    assert_int_equal(err.kind, ERROR_INTERRUPTED);
    assert_true(n_told > 3);
    assert_non_null(hwprofile_peak(&h, MATH_FP32, 1));
    assert_non_null(hwprofile_peak(&h, MATH_INT8, 1));
    assert_null(hwprofile_bandwidth(&h, "DRAM", 1));
    hwprofile_free(&h);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables),
        cmocka_unit_test(cores),
        cmocka_unit_test(every_loop_runs),
        cmocka_unit_test(not_above_the_core),
        cmocka_unit_test(reads_every_line),
        cmocka_unit_test(time_of_all_threads),
        cmocka_unit_test(search_finds_the_best), cmocka_unit_test(samples_are_long_enough), cmocka_unit_test(tiles_beside_tiles),
        cmocka_unit_test(samples_become_a_ceiling),
        cmocka_unit_test(time_is_kept),
        cmocka_unit_test(likwid_output),
        cmocka_unit_test(check_pairs),
        cmocka_unit_test(everything_is_there),
        cmocka_unit_test(each_ceiling_is_sound),
        cmocka_unit_test(kernels_are_there),
        cmocka_unit_test(relations),
        cmocka_unit_test(survives_json),
        cmocka_unit_test(time_of_threads_that_help), cmocka_unit_test(samples_between_looks), cmocka_unit_test(products_by_tiles),
        cmocka_unit_test(probes),
        cmocka_unit_test(clock_is_plausible),
        cmocka_unit_test(interrupt_keeps_what_is_done),
    };
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
        return cmocka_run_group_tests_name("ceilings", tests, look_around, NULL);
    }
    return cmocka_run_group_tests_name("ceilings", tests, measure, release);
}
