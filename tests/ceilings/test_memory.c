/*
 * ceilings: what measures memory, apart from time: kernels do what they say to the byte, a chase visits every line once, rows
 * come each once, levels are found where they are in made-up curves, pages are what the system says.
 */
#include "../test.h"
#include "ceilings/memory.h"
#include <math.h>
#include <sys/mman.h>
#include <time.h>

enum { KIB = 1024 };

static bool runs(unsigned need)
{
    return (need & cpu_flags()) == need;
}

/* ---- kernels ---------------------------------------------------------------------------------------- */

/* Each op on three streams of different content, one after another with guards: what is written is right to the byte, and
 * nothing else is. */
static void check_stream(const struct stream_kernel *k, size_t bytes)
{
    enum { GUARD = 256 };
    const size_t pitch = bytes + GUARD;
    unsigned char *mem = aligned_alloc(64, 3 * pitch), *before = malloc(3 * pitch);
    assert_non_null(mem);
    assert_non_null(before);
    for (size_t i = 0; i < 3 * pitch / 4; i++) {
        const float v = (float)(1 + i % 1000);
        memcpy(mem + 4 * i, &v, 4);
    }
    memcpy(before, mem, 3 * pitch);
    k->run(mem, mem + pitch, mem + 2 * pitch, bytes, 2);
    for (size_t i = 0; i < bytes / 4; i++) {
        float a, b, d;
        uint32_t word;
        memcpy(&a, before + pitch + 4 * i, 4), memcpy(&b, before + 2 * pitch + 4 * i, 4);
        memcpy(&d, mem + 4 * i, 4), memcpy(&word, mem + 4 * i, 4);
        if (k->op == MEM_COPY ? d != a : k->op == MEM_TRIAD ? d != a + 0.5F * b : word != 0x5a5a5a5a)
            fail_msg("%s %s: element %zu of %zu is %g", mem_op_name(k->op), k->text, i, bytes / 4, (double)d);
    }
    if (memcmp(mem + bytes, before + bytes, 3 * pitch - bytes) != 0)
        fail_msg("%s %s: bytes behind the %zu of its stream have changed", mem_op_name(k->op), k->text, bytes);
    free(mem);
    free(before);
}

static void streams_do_what_they_say(void **state)
{
    (void)state;
    const struct stream_kernel *k;
    bool op_here[MEM_OPS] = { false };
    for (size_t i = 0; (k = stream_kernel_at(i)) != NULL; i++) {
        assert_true(1024 % k->granule == 0 && strlen(k->text) <= 24 && (k->near || k->far));
        if (!runs(k->need))
            continue;
        op_here[k->op] = true;
        check_stream(k, k->granule);
        check_stream(k, 3 * k->granule);
        check_stream(k, 4096);
    }
    assert_true(op_here[MEM_WRITE] && op_here[MEM_COPY] && op_here[MEM_TRIAD]);
}

/* The kernels of an op: on every CPU there is one for each level (but no write past the caches without an instruction for it),
 * and streams of a footprint lie inside it and not 4 KiB apart. */
static void ops_have_kernels(void **state)
{
    (void)state;
    struct mem_kernel k;
    for (int op = MEM_READ; op < MEM_OPS; op++)
        for (int level = LEVEL_L1; level < LEVEL_COUNT; level++) {
            assert_true(mem_kernel_find(&k, (enum mem_op)op, (enum level)level, cpu_flags(), 0) || op == MEM_WRITE_NT);
            assert_int_equal(mem_kernel_find(&k, (enum mem_op)op, (enum level)level, 0, 0), op != MEM_WRITE_NT);
            assert_false(mem_kernel_find(&k, (enum mem_op)op, (enum level)level, cpu_flags(), 1000));
        }
    for (size_t bytes = 4096; bytes <= 1 << 24; bytes = bytes * 5 / 4 / 4096 * 4096 + 4096)
        for (int op = MEM_READ; op < MEM_OPS; op++) {
            const int n = mem_op_streams((enum mem_op)op);
            const size_t each = mem_stream_bytes((enum mem_op)op, bytes), room = mem_room_bytes((enum mem_op)op, bytes);
            assert_true(each * (size_t)n <= bytes && each * (size_t)n + 3072 >= bytes - bytes % 1024);
            assert_true(room <= bytes + MEM_GAPS && room % 64 == 0);
            if (n > 1)
                assert_true((room - each) / (size_t)(n - 1) % 4096 >= 1024); /* from stream to stream */
        }
}

/* mem_run stays inside its room: the pages around it cannot be touched. */
static void ops_stay_inside(void **state)
{
    (void)state;
    const size_t page = 4096, bytes = 3 * 4096;
    unsigned char *p = mmap(NULL, 64 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    for (int op = MEM_READ; op < MEM_OPS; op++) {
        struct mem_kernel k;
        const size_t room = mem_room_bytes((enum mem_op)op, bytes), pages = (room + page - 1) / page;
        assert_int_equal(mprotect(p + page, pages * page, PROT_READ | PROT_WRITE), 0);
        /* The end of the room at the end of the pages. */
        for (size_t i = 0; mem_kernel_find(&k, (enum mem_op)op, LEVEL_DRAM, cpu_flags(), i); i++)
            mem_run(&k, (enum mem_op)op, p + page + pages * page - room, bytes, 3);
        assert_int_equal(mprotect(p + page, pages * page, PROT_NONE), 0);
    }
    munmap(p, 64 * page);
}

/* Rows lie at the end of readable memory: the last row's last line is read and nothing behind it faults. */
static void gathers_stay_inside(void **state)
{
    (void)state;
    const struct gather_kernel *k;
    const size_t page = 4096;
    unsigned char *p = mmap(NULL, 5 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t row[4 + GATHER_AHEAD];
    assert_true(p != MAP_FAILED && mprotect(p + 4 * page, page, PROT_NONE) == 0);
    for (size_t i = 0; (k = gather_kernel_at(i)) != NULL; i++)
        for (size_t bytes = 64; runs(k->need) && bytes <= 4 * page; bytes *= 4) {
            for (size_t r = 0; r < ARRAY_LEN(row); r++)
                row[r] = (uint32_t)(4 * page / bytes - 1 - r % (4 * page / bytes));
            k->run(p, row, 4, bytes);
        }
    munmap(p, 5 * page);
}

/* 2^bits steps visit each row once. */
static void rows_come_once(void **state)
{
    (void)state;
    for (int bits = 0; bits <= 14; bits++) {
        const size_t n = (size_t)1 << bits;
        unsigned char *seen = calloc(n, 1);
        uint64_t walk = 7919;
        size_t near = 0;
        uint32_t last = 0;
        for (size_t i = 0; i < n; i++) {
            const uint32_t row = gather_next(&walk, bits);
            assert_true(row < n && !seen[row]);
            seen[row] = 1;
            near += i > 0 && (row > last ? row - last : last - row) < 4;
            last = row;
        }
        assert_true(bits < 8 || near < n / 16); /* and not in their order */
        free(seen);
    }
}

/* ---- the chase ---------------------------------------------------------------------------------------- */

static void chase_visits_all(void **state)
{
    (void)state;
    enum { BYTES = 64 * KIB, LINES = BYTES / CHASE_LINE };
    unsigned char *mem = aligned_alloc(64, BYTES);
    assert_non_null(mem);
    memset(mem, 0x5a, BYTES);
    chase_build(mem, BYTES, 0, 1);
    chase_build(mem, BYTES / 4 + 5 * CHASE_LINE, 3, 1); /* another one in the same lines */
    static const struct {
        int slot;
        size_t lines;
    } t[] = { { 0, LINES }, { 3, LINES / 4 + 5 } };
    for (size_t c = 0; c < ARRAY_LEN(t); c++) {
        bool seen[LINES] = { false };
        void *at = (void **)mem + t[c].slot;
        size_t in_order = 0;
        for (size_t i = 0; i < t[c].lines; i++) {
            const size_t offset = (size_t)((unsigned char *)at - mem), line = offset / CHASE_LINE;
            assert_int_equal(offset % CHASE_LINE, (size_t)t[c].slot * sizeof(void *));
            assert_true(line < t[c].lines && !seen[line]);
            seen[line] = true;
            void *next = at;
            chase_run(&next, 1);
            in_order += (unsigned char *)next == (unsigned char *)at + CHASE_LINE;
            at = next;
        }
        assert_ptr_equal(at, (void **)mem + t[c].slot); /* round */
        assert_true(in_order < t[c].lines / 16);
        /* n loads are n steps, whatever n: once around, and 11 on. */
        void *far = at, *eleven = at;
        chase_run(&far, t[c].lines + 11);
        for (int i = 0; i < 11; i++)
            chase_run(&eleven, 1);
        assert_ptr_equal(far, eleven);
    }
    free(mem);
}

/* ---- plateaus ------------------------------------------------------------------------------------------- */

struct made {
    double share[3];    /* where each level ends; 0: there is none */
    double value[4];    /* of each level, then of memory */
    double noise, ramp; /* relative; octaves on either side of an edge */
};

/* A curve with these levels, `per_octave` points to each doubling from 4 KiB to four times the last cache. */
static size_t make_curve(struct hw_point *p, size_t max, const struct made *m, int per_octave)
{
    size_t bytes[512];
    double last = 4096;
    struct rng r;
    rng_init(&r, 5);
    for (int l = 0; l < 3; l++)
        last = fmax(last, m->share[l]);
    const size_t n = footprint_grid(4096, 8 * last, per_octave, bytes, max < 512 ? max : 512);
    for (size_t i = 0; i < n; i++) {
        double v = log2(m->value[0]), before = m->value[0];
        for (int l = 0; l < 3; l++) {
            if (m->share[l] <= 0)
                continue;
            const double at = fmin(fmax((log2((double)bytes[i] / m->share[l]) / m->ramp + 1) / 2, 0), 1);
            v += at * log2(m->value[l + 1] / before);
            before = m->value[l + 1];
        }
        p[i] = (struct hw_point){ (double)bytes[i], exp2(v) * (1 + m->noise * rng_normal(&r)), NAN, NAN, 1 };
    }
    return n;
}

static void levels_are_found(void **state)
{
    (void)state;
    static const struct made curves[] = {
        { { 32e3, 1e6, 16e6 }, { 200e9, 100e9, 40e9, 12e9 }, 0, 0.3 },
        { { 32e3, 1e6, 16e6 }, { 200e9, 100e9, 40e9, 12e9 }, 0.03, 0.4 }, /* noise, as beside other tenants */
        { { 48e3, 2e6, 32e6 }, { 400e9, 190e9, 60e9, 25e9 }, 0.02, 0.7 },
        { { 32e3, 1e6, 16e6 }, { 1.2e-9, 4e-9, 12e-9, 100e-9 }, 0.02, 0.5 }, /* a latency rises */
    };
    for (size_t c = 0; c < ARRAY_LEN(curves); c++)
        for (int per_octave = 3; per_octave <= 8; per_octave++) {
            struct hw_point p[512];
            struct plateau found[PLATEAUS_MAX];
            struct error err;
            size_t n_found;
            const size_t n = make_curve(p, 512, &curves[c], per_octave);
            assert_ok(plateaus_find(p, n, found, &n_found, &err), err);
            if (n_found != 4)
                fail_msg("curve %zu, %d an octave: %zu levels", c, per_octave, n_found);
            for (size_t l = 0; l < 4; l++) {
                if (fabs(found[l].value / curves[c].value[l] - 1) > 0.05)
                    fail_msg("curve %zu, level %zu: %g, expected %g", c, l, found[l].value, curves[c].value[l]);
                if (l < 3 && fabs(log2(found[l].edge_x / curves[c].share[l])) > 0.4)
                    fail_msg("curve %zu, level %zu ends at %g, expected %g", c, l, found[l].edge_x, curves[c].share[l]);
            }
            assert_true(isnan(found[3].edge_x) && found[3].last == n - 1);
        }
}

static void no_levels(void **state)
{
    (void)state;
    struct hw_point p[64] = { { .n_samples = 0 } };
    struct plateau found[PLATEAUS_MAX];
    struct error err;
    size_t n;
    assert_ok(plateaus_find(p, 0, found, &n, &err), err);
    assert_int_equal(n, 0);
    for (int i = 0; i < 64; i++)
        p[i] = (struct hw_point){ 4096 * exp2(i / 4.0), 1e9, NAN, NAN, 1 };
    assert_ok(plateaus_find(p, 1, found, &n, &err), err);
    assert_int_equal(n, 0); /* a point is no level */
    assert_ok(plateaus_find(p, 64, found, &n, &err), err);
    assert_true(n == 1 && found[0].first == 0 && found[0].last == 63 && found[0].value == 1e9);
    /* A slope all the way: a factor of two each octave. */
    for (int i = 0; i < 64; i++)
        p[i].value = 1e12 / p[i].x;
    assert_ok(plateaus_find(p, 64, found, &n, &err), err);
    assert_int_equal(n, 0);
}

static const struct hw_plateau *level(const struct hw_curve *c, const char *name)
{
    for (size_t i = 0; i < c->n_plateau; i++)
        if (strcmp(c->plateau[i].level, name) == 0)
            return &c->plateau[i];
    return NULL;
}

/* A point that was disturbed, here and there, changes no level. */
static void lucky_points(void **state)
{
    (void)state;
    static const struct made curve = { { 32e3, 1e6, 16e6 }, { 200e9, 100e9, 40e9, 12e9 }, 0.01, 0.3 };
    struct hw_point p[512];
    struct plateau found[PLATEAUS_MAX];
    struct error err;
    size_t n_found;
    const size_t n = make_curve(p, 512, &curve, 4);
    for (size_t i = 2; i + 1 < n; i += 7)
        p[i].value /= 4;
    assert_ok(plateaus_find(p, n, found, &n_found, &err), err);
    assert_int_equal(n_found, 4);
    for (size_t l = 0; l < 4; l++)
        assert_true(fabs(found[l].value / curve.value[l] - 1) < 0.05);
}

/* What was found beside what hwloc says: equal; an L3 of which a guest gets little; a cache nobody spoke of. */
static void levels_are_compared(void **state)
{
    (void)state;
    const struct plateau found[] = {
        { .from_x = 4096, .to_x = 30e3, .value = 3e11, .edge_x = 33e3 },
        { .from_x = 50e3, .to_x = 8e5, .value = 1e11, .edge_x = 9.5e5 },
        { .from_x = 2e6, .to_x = 3e6, .value = 4e10, .edge_x = 4e6 },
        { .from_x = 8e6, .to_x = 128e6, .value = 1e10, .edge_x = NAN },
    };
    struct hw_curve c = { .n_point = 0 };
    curves_compare(&c, found, 4, (const double[]){ 32768, 1048576, 5e6 });
    assert_int_equal(c.n_plateau, 4);
    assert_true(level(&c, "L1")->value == 3e11 && level(&c, "L2")->value == 1e11 && level(&c, "L3")->value == 4e10);
    assert_true(level(&c, "DRAM")->value == 1e10 && !level(&c, "DRAM")->finding[0]);
    assert_non_null(strstr(level(&c, "L2")->finding, "agrees: ends at 928 KiB, hwloc reports 1 MiB"));
    /* 32 MiB are reported, the curve falls at 4: said twice, as what was expected and what was found. */
    curves_compare(&c, found, 4, (const double[]){ 32768, 1048576, 33554432 });
    assert_int_equal(c.n_plateau, 5);
    assert_true(isnan(level(&c, "L3")->value) && level(&c, "L3")->stated_x == 33554432);
    assert_non_null(strstr(level(&c, "L3")->finding, "differs: no level end near the 32 MiB"));
    assert_non_null(strstr(level(&c, "")->finding, "differs: ends at 3.81 MiB, where hwloc reports no cache"));
    assert_true(level(&c, "DRAM")->value == 1e10);
    /* No L3 on this machine, and none reported. */
    curves_compare(&c, found + 1, 1, (const double[]){ 32768, 1048576, 0 });
    assert_int_equal(c.n_plateau, 2);
    assert_true(isnan(level(&c, "L1")->value) && level(&c, "L2")->value == 1e11);
    assert_null(level(&c, "L3"));
}

static void saturation(void **state)
{
    (void)state;
    struct hw_point p[] = { { 1, 10e9, 0, 0, 1 }, { 2, 19e9, 0, 0, 1 }, { 3, 24e9, 0, 0, 1 }, { 4, 25e9, 0, 0, 1 },
                            { 8, 23e9, 0, 0, 1 } };
    assert_true(plateaus_saturation(p, 5, 0.95) == 3);
    assert_true(plateaus_saturation(p, 2, 0.95) == 2);
    assert_true(isnan(plateaus_saturation(p, 0, 0.95)));
}

static void points_are_sorted(void **state)
{
    (void)state;
    struct hwprofile h = { .n_curve = 0 };
    struct error err;
    struct hw_curve head = { .name = "c" };
    static const double x[] = { 5, 1, 9, 5, 3 }, sorted[] = { 1, 3, 5, 9 };
    for (size_t i = 0; i < ARRAY_LEN(x); i++)
        assert_ok(curves_add_point(&h, &head, &(struct hw_point){ x[i], (double)i, 0, 0, 1 }, &err), err);
    assert_int_equal(h.n_curve, 1);
    assert_int_equal(h.curve[0].n_point, ARRAY_LEN(sorted));
    for (size_t i = 0; i < ARRAY_LEN(sorted); i++)
        assert_true(h.curve[0].point[i].x == sorted[i]);
    assert_true(h.curve[0].point[2].value == 3); /* the newer of the same x */
    free(h.curve[0].point);
    free(h.curve);
}

/* ---- pages ------------------------------------------------------------------------------------------------ */

static void pages_are_read_from_smaps(void **state)
{
    (void)state;
    static const char text[] = "7f0000000000-7f0000400000 rw-p 00000000 00:00 0 \n"
                               "Size:               4096 kB\nAnonHugePages:      2048 kB\nVmFlags: rd wr hg\n"
                               "7f0000400000-7f0000800000 rw-p 00000000 00:00 0 [anon: x]\n"
                               "AnonHugePages:      4096 kB\n"
                               "7f0000900000-7f0000a00000 r--p 00000000 08:01 1234 /a b\nRss: 4 kB\n";
    static const struct {
        uintptr_t at;
        size_t bytes;
        double huge;
    } t[] = {
        { 0x7f0000000000, 4 << 20, 2 << 20 },
        { 0x7f0000000000, 8 << 20, 6 << 20 }, /* one request, two lines: the kernel may split it */
        { 0x7f0000500000, 4096, 4 << 20 },
        { 0x7f0000900000, 4096, NAN }, /* not said */
        { 0x7f0000800000, 4096, NAN }, /* not there */
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        FILE *f = fmemopen((void *)(uintptr_t)text, sizeof text - 1, "r");
        assert_non_null(f);
        const double huge = pages_huge_bytes(f, (void *)t[i].at, t[i].bytes);
        if (isnan(huge) != isnan(t[i].huge) || (!isnan(huge) && huge != t[i].huge))
            fail_msg("row %zu: %g bytes, expected %g", i, huge, t[i].huge);
        fclose(f);
    }
}

/* Small pages are always to be had; large ones are there or the reason is. */
static void pages_are_what_they_are(void **state)
{
    (void)state;
    for (int kind = PAGES_DEFAULT; kind <= PAGES_2M; kind++) {
        struct pages p;
        struct error err;
        char why[128];
        assert_ok(pages_map(&p, 8 << 20, (enum page_kind)kind, &err), err);
        assert_int_equal((uintptr_t)p.mem % (2 << 20), 0);
        pages_touch(&p, 0, 8 << 20);
        assert_true(p.mem[0] == 0x5a && p.mem[(8 << 20) - 1] == 0x5a);
        pages_check(&p, why, sizeof why);
        if (kind == PAGES_4K && strstr(why, "given"))
            fail_msg("%s", why);
        assert_true(kind != PAGES_DEFAULT || !why[0]);
        pages_unmap(&p);
    }
    /* Small ones where large ones were asked for are noticed. */
    struct pages p;
    struct error err;
    char why[128];
    assert_ok(pages_map(&p, 8 << 20, PAGES_4K, &err), err);
    pages_touch(&p, 0, 8 << 20);
    p.kind = PAGES_2M;
    pages_check(&p, why, sizeof why);
    assert_true(strstr(why, "0 of 8 MiB granted") || strstr(why, "does not say"));
    pages_unmap(&p);
}

/* ---- turns ------------------------------------------------------------------------------------------------- */

static uint64_t n_sweep;

static void count_sweeps(void *dst, const void *a, const void *b, size_t bytes, uint64_t sweeps)
{
    (void)dst, (void)a, (void)b, (void)bytes;
    n_sweep += sweeps;
}

static uint64_t sweeps_of(struct benchmark *j, struct harness *m)
{
    struct sample s;
    n_sweep = 0;
    streams_sample(j, m, 0, 5, &s);
    return n_sweep;
}

/* The most of some turns, each after one of another job: a busy machine may take so long for a sweep that no other follows. */
static uint64_t sweeps_of_turn(struct benchmark *j, struct benchmark *other, struct harness *m)
{
    uint64_t most = 0;
    for (int i = 0; i < 5; i++) {
        (void)sweeps_of(other, m);
        most = u64_max(most, sweeps_of(j, m));
    }
    return most;
}

static void walk_20ms(void *arg, int tid)
{
    struct timespec t = { .tv_nsec = 20000000 };
    (void)tid;
    ++*(int *)arg;
    nanosleep(&t, NULL);
}

/* After another job's turn the caches hold the other's bytes: sweeps that are not timed come first, four or as many as take 30 ms, but
 * for windows, which are to be cold. */
static void turns_begin_warm(void **state)
{
    (void)state;
    static const struct stream_kernel counting = { "none", 0, MEM_WRITE, "count", 64, count_sweeps, true, true };
    static const struct benchmark_class class = { .sample = streams_sample };
    struct ceilings_options o = { .effort = CEILINGS_BRIEF, .n_threads = 1 };
    struct streams d[3] = { { .op = MEM_WRITE, .bytes = 4096, .n_active = 1, .kernel = { { .stream = &counting } } } };
    struct benchmark j[3] = { { .class = &class, .data = &d[0] }, { .class = &class, .data = &d[1] }, { .class = &class, .data = &d[2] } };
    struct harness m;
    struct error err;
    d[1] = d[2] = d[0];
    d[2].n_window = 4;
    assert_ok(harness_init(&m, 1, true, &o, &err), err);
    assert_int_equal(sweeps_of_turn(&j[0], &j[1], &m), 9);
    assert_int_equal(sweeps_of(&j[0], &m), 5);
    assert_int_equal(sweeps_of_turn(&j[2], &j[1], &m), 5);
    assert_int_equal(sweeps_of_turn(&j[1], &j[2], &m), 9);
    int walks = 0, before;
    harness_fill_cache(&m, &j[0], walk_20ms, &walks);
    assert_in_range(walks, 1, 2); /* 1: the machine was busy */
    before = walks;
    harness_fill_cache(&m, &j[0], walk_20ms, &walks);
    assert_int_equal(walks, before);
    harness_free(&m);
}

/* ---- one pair of nodes, on this machine ---------------------------------------------------------------------- */

/* CPUs and memory of node 0: binding, reading and chasing work, or say why not. */
static void a_pair_of_nodes(void **state)
{
    (void)state;
    struct ceilings_options o = { .effort = CEILINGS_BRIEF, .n_threads = 1, .cpu_flags = cpu_flags() };
    struct hwprofile h = { .n_curve = 0 };
    struct harness m;
    struct error err;
    struct benchmark_list l = { 0 };
    assert_ok(harness_init(&m, 1, true, &o, &err), err);
    struct benchmark *read = memory_add_dram(&l, &m, 4, cpu_flags(), &err);
    assert_non_null(read);
    assert_ok(driver_choose(read, &m, 0.001, 0.001, &err), err);
    assert_ok(nodes_add_pair(&l, &m, &(struct node_pair){ 0, 0, 1 }, read, &err), err);
    for (size_t i = 1; i < l.n; i++) {
        assert_ok(driver_choose(l.v[i], &m, 0.001, 0.001, &err), err);
        if (!l.v[i]->reason[0])
            assert_ok(driver_sample(l.v[i], &m, 1, 0, 0, &err), err);
    }
    assert_ok(driver_keep(&l, &m, &h, &err), err);
    assert_int_equal(h.n_ceiling, 2); /* the row whose kernel they take was only tried */
    for (size_t i = 0; i < 2; i++) {
        const struct ceiling *c = &h.ceiling[i];
        assert_non_null(strstr(c->name, " DRAM 1t local "));
        assert_true(c->value > 0 || strstr(c->kernel, "unavailable: memory cannot be bound"));
    }
    assert_null(hwprofile_ceiling(&h, "latency", "chase", "", "DRAM", 0, 1)); /* rows of a node are not the roof of a run */
    free(h.ceiling);
    benchmark_list_free(&l);
    harness_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_do_what_they_say), cmocka_unit_test(ops_have_kernels), cmocka_unit_test(ops_stay_inside),
        cmocka_unit_test(gathers_stay_inside),      cmocka_unit_test(rows_come_once),   cmocka_unit_test(chase_visits_all),
        cmocka_unit_test(levels_are_found),         cmocka_unit_test(no_levels),        cmocka_unit_test(levels_are_compared),
        cmocka_unit_test(lucky_points),
        cmocka_unit_test(saturation),               cmocka_unit_test(points_are_sorted),
        cmocka_unit_test(pages_are_read_from_smaps), cmocka_unit_test(pages_are_what_they_are),
        cmocka_unit_test(turns_begin_warm),          cmocka_unit_test(a_pair_of_nodes),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
