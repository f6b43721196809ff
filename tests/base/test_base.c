/* base: errors, sizes, strings, files, units, numbers, statistics, CPU lists, teams. */
#include "base/environment.h"
#include "../test.h"
#include "base/json.h"
#include "base/label.h"
#include "base/topology.h"
#include <limits.h>
#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_error(void **state)
{
    (void)state;
    struct error err = { 0 };
    assert_int_equal(error_set(&err, ERROR_INPUT, "field %d", 3), -1);
    assert_int_equal(error_prefix(&err, "%s", "file.json"), -1);
    assert_string_equal(err.msg, "file.json: field 3");
    assert_int_equal(error_exit_status(&err), 1);
    error_set(&err, ERROR_USAGE, "x");
    assert_int_equal(error_exit_status(&err), 2);
    error_set(&err, ERROR_INTERRUPTED, "x");
    assert_int_equal(error_exit_status(&err), 130);
    assert_int_equal(error_set(NULL, ERROR_INPUT, "nobody listens"), -1);
}

static void test_sizes(void **state)
{
    (void)state;
    size_t n;
    assert_true(size_mul(1u << 16, 1u << 16, &n));
    assert_false(size_mul(SIZE_MAX / 2, 3, &n));
    assert_false(size_add(SIZE_MAX, 1, &n));
    assert_int_equal(size_align_up(33, 32), 64);
    assert_int_equal(u64_ceil_div(10, 3), 4);
    assert_int_equal(u64_ceil_div(9, 3), 3);
    assert_int_equal(size_row_floats(1), 16);
    assert_int_equal(size_row_floats(2048), 2064); /* 128 lines and one */
    assert_int_equal(size_row_floats(2064), 2064);
    assert_int_equal(size_row_floats(0), 16);
    assert_null(size_alloc(SIZE_MAX - 5));
    const size_t bytes[] = { 0, 1, 4096, (2 << 20) + 1 };
    for (size_t i = 0; i < ARRAY_LEN(bytes); i++) {
        char *p = size_alloc(bytes[i]);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % (bytes[i] > 2 << 20 ? 2 << 20 : 64), 0);
        memset(p, 1, bytes[i]);
        free(p);
    }
}

/* As printf has them: around every power of ten, ties, and numbers of any bits. */
static void test_digits(void **state)
{
    (void)state;
    uint64_t x = 88172645463325252;
    for (int i = 0; i < 200000; i++) {
        char want[64], got[DIGITS_SIX + 1] = "";
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        double v = (double)(x % 20000001) / 2000 - 300;
        if (i % 4 == 0)
            memcpy(&v, &x, sizeof v);
        if (i % 4 == 1)
            v = pow(10, (double)(x % 60) - 30) * (1 + ((double)(x % 7) - 3) * 1e-6);
        if (i % 4 == 2)
            v = (double)(x % 2000001) / 2;
        if (!isfinite(v))
            continue;
        snprintf(want, sizeof want, "%.6g", v);
        got[digits_six(got, v)] = 0;
        assert_string_equal(got, want);
    }
}

static void test_strbuf(void **state)
{
    (void)state;
    struct strbuf b = { 0 };
    for (int i = 0; i < 1000; i++)
        strbuf_addf(&b, "%d,", i % 10);
    strbuf_adds(&b, "end");
    assert_int_equal(b.len, 2003);
    assert_string_equal(b.s + 2000, "end");
    assert_false(b.oom);
    strbuf_free(&b);
    assert_null(b.s);
}

static const char *temp_path(char *buf, size_t n, const char *name)
{
    const char *dir = getenv("TMPDIR");
    snprintf(buf, n, "%s/roofcast-test-%d-%s", dir ? dir : "/tmp", (int)getpid(), name);
    return buf;
}

static void test_outfile(void **state)
{
    (void)state;
    char path[512];
    struct error err = { 0 };
    struct outfile o;
    struct filemap m;
    temp_path(path, sizeof path, "out");
    unlink(path);
    assert_ok(outfile_open(&o, path, &err), err);
    fputs("hello", o.f);
    assert_false(file_exists(path)); /* nothing under the name before commit */
    assert_ok(outfile_commit(&o, &err), err);
    assert_ok(filemap_open(&m, path, &err), err);
    assert_int_equal(m.size, 5);
    assert_memory_equal(m.data, "hello", 5);
    filemap_close(&m);
    assert_ok(outfile_open(&o, path, &err), err);
    fputs("lost", o.f);
    outfile_abort(&o); /* the old file stays */
    assert_ok(filemap_open(&m, path, &err), err);
    assert_int_equal(m.size, 5);
    filemap_close(&m);
    int fd = open(path, O_WRONLY); /* a caller's own file under a name of the system's: added to */
    char system_path[64];
    snprintf(system_path, sizeof system_path, "/proc/self/fd/%d", fd);
    assert_ok(outfile_open(&o, system_path, &err), err);
    fputs(" you", o.f);
    assert_ok(outfile_commit(&o, &err), err);
    close(fd);
    assert_ok(filemap_open(&m, path, &err), err);
    assert_int_equal(m.size, 9);
    assert_memory_equal(m.data, "hello you", 9);
    filemap_close(&m);
    assert_ok(file_warm(path, &err), err);
    unlink(path);
    assert_ok(file_warm(path, &err), err); /* for the open that follows to report */
    assert_fails(filemap_open(&m, path, &err), err, "No such file");
    assert_fails(filemap_open(&m, "/", &err), err, "a directory");
    assert_fails(outfile_open(&o, "/nonexistent/dir/x", &err), err, "cannot write");
    if (access("/dev/full", W_OK) == 0) {
        assert_ok(outfile_open(&o, "/dev/full", &err), err);
        fputs("x", o.f);
        assert_fails(outfile_commit(&o, &err), err, "cannot write");
    }
}

static void test_names(void **state)
{
    (void)state;
    static const char *const dirs[] = { "test_base_names/b", "test_base_names/none", "test_base_names/a", NULL };
    static const char *const files[] = { "a/d/y.json", "a/d/x.json", "b/d/y.json", "b/d/.z.json", "b/d/w.txt" };
    struct error err = { 0 };
    char path[64], **names;
    size_t n;
    assert_ok(dir_make("test_base_names/a/d", &err), err);
    assert_ok(dir_make("test_base_names/b/d", &err), err);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        snprintf(path, sizeof path, "test_base_names/%s", files[i]);
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fclose(f);
    }
    assert_ok(name_list(&names, &n, dirs, "d", &err), err);
    assert_int_equal(n, 2);
    assert_string_equal(names[0], "x");
    assert_string_equal(names[1], "y");
    name_list_free(names, n);
    assert_true(name_file(path, sizeof path, dirs, "d", "y"));
    assert_string_equal(path, "test_base_names/b/d/y.json");
    assert_false(name_file(path, sizeof path, dirs, "d", "z"));
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        snprintf(path, sizeof path, "test_base_names/%s", files[i]);
        unlink(path);
    }
    static const char *const made[] = { "a/d", "a", "b/d", "b", "" };
    for (size_t i = 0; i < ARRAY_LEN(made); i++) {
        snprintf(path, sizeof path, "test_base_names/%s", made[i]);
        assert_int_equal(rmdir(path), 0);
    }
    assert_ok(name_list(&names, &n, dirs, "d", &err), err);
    assert_int_equal(n, 0);
    assert_int_equal(edit_distance("kitten", "sitting"), 3);
    assert_int_equal(edit_distance("", "abc"), 3);
    assert_int_equal(edit_distance("same", "same"), 0);
}

static void test_folded_names(void **state)
{
    (void)state;
    static const char *const drop[] = { "NVIDIA", "rtx", NULL };
    static const struct {
        const char *name, *plain, *dropped;
    } t[] = {
        { "NVIDIA RTX_4090", "nvidiartx4090", "4090" },
        { "rtx-4090", "rtx4090", "4090" },
        { "nvidiartx 8480+", "nvidiartx8480+", "nvidiartx8480+" }, /* words, not letters */
        { "Nvidia", "nvidia", "nvidia" },                          /* nothing else: it stays */
        { " . -", "", "" },
        { "", "", "" },
    };
    char buf[32], small[5];
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        name_fold(buf, sizeof buf, t[i].name, NULL);
        assert_string_equal(buf, t[i].plain);
        name_fold(buf, sizeof buf, t[i].name, drop);
        assert_string_equal(buf, t[i].dropped);
    }
    name_fold(small, sizeof small, "abc-defgh", NULL);
    assert_string_equal(small, "abcd");
}

/* The nearest of what there is, by name_distance; NULL: all are far. */
static const char *nearest(const char *asked, const char *const *names, size_t n)
{
    unsigned best = UINT_MAX;
    const char *found = NULL;
    for (size_t i = 0; i < n; i++) {
        const unsigned d = name_distance(asked, names[i]);
        if (d < best) {
            best = d;
            found = name_too_distant(asked, d) ? NULL : names[i];
        }
    }
    return found;
}

static void test_suggested_names(void **state)
{
    (void)state;
    static const char *const names[] = {
        "deepseek-v3", "DeepSeek-R1", "gemma-7b", "llama-3-8b", "Llama-3-8B-Instruct", "llama-3.1-405b", "llama-3.1-70b",
        "llama-3.1-8b", "m3", "m3-ultra", "qwen2-0.5b", "qwen3-30b-a3b", "qwen3-8b", "qwen3-coder-480b-a35b", "rtx-3080ti",
        "rtx-3090", "rtx-5000-ada", "rtx-5090", "t4", "h100-sxm", "h20",
    };
    static const char *const t[][2] = {
        { "Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b" },
        { "Llama-3.1-70B-Instruct-FP8", "llama-3.1-70b" },
        { "DeepSeek-R1-Distill-Llama-70B", "DeepSeek-R1" },
        { "RTX 5090 Laptop", "rtx-5090" },
        { "RTX 3090 Ti", "rtx-3090" }, /* one edit from rtx-3080ti */
        { "RTX 3080 Ti 20GB", "rtx-3080ti" },
        { "rtx5090laptop", "rtx-5090" }, /* a word after a number */
        { "llama-3-8c", "llama-3-8b" },
        { "llama-3.1-8", "llama-3.1-8b" },
        { "m3 ultra 80", "m3-ultra" },   /* the longer beginning */
        { "m3ultra80", "m3-ultra" },
        { "qwen3", "qwen3-8b" },         /* equal ones: the fewest edits */
        { "gema-7b", "gemma-7b" },
        { "t4 16GB", "t4" },
        { "h10", "h100-sxm" },           /* a number cut short: before h20, one edit away */
        { "coder", "qwen3-coder-480b-a35b" },
        { "xyzzy", NULL },
        { "a", NULL },
        { "", NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        const char *found = nearest(t[i][0], names, ARRAY_LEN(names));
        if (!found != !t[i][1] || (found && strcmp(found, t[i][1]) != 0))
            fail_msg("\"%s\": %s, expected %s", t[i][0], found ? found : "none", t[i][1] ? t[i][1] : "none");
    }
    /* "llama-3" ends inside of the number 3.1, "llama-3.1" does not. */
    assert_true(name_distance("llama-3.1-9x", "llama-3") > name_distance("llama-3.1-9x", "llama-3.1"));
    assert_true(name_distance("llama-3.1-9x", "llama-3") > name_distance("llama-3.1-9x", "llama-3.1-8b"));
    assert_int_equal(name_distance("RTX_4090", "rtx 4090"), 0);
    char words[32], small[5];
    static const char *const drop[] = { "NVIDIA", NULL };
    name_words(words, sizeof words, " NVIDIA-RTX_4090 v3.1.", drop);
    assert_string_equal(words, "rtx 4090 v3.1");
    name_words(words, sizeof words, "Nvidia", drop);
    assert_string_equal(words, "nvidia");
    name_words(small, sizeof small, "abc-defgh", NULL);
    assert_string_equal(small, "abc");
}

static void test_units(void **state)
{
    (void)state;
    char b[32];
    assert_string_equal(units_si(b, sizeof b, 41.23e9, "B/s"), "41.2 GB/s");
    assert_string_equal(units_si(b, sizeof b, 999.96e9, "B/s"), "1.00 TB/s");
    assert_string_equal(units_si(b, sizeof b, 0.00478, "s"), "4.78 ms");
    assert_string_equal(units_si(b, sizeof b, 0, "B"), "0.00 B");
    assert_string_equal(units_si(b, sizeof b, NAN, "B"), "-");
    assert_string_equal(units_gib(b, sizeof b, 1.5 * 1073741824), "1.50 GiB");
    assert_true(units_parse("204.8 GB/s", "B/s") == 204.8e9);
    assert_true(units_parse("1 GiB/s", "B/s") == 1073741824.0);
    assert_true(units_parse("3e9", "B/s") == 3e9);
    assert_true(isnan(units_parse("1 Gb/s", "B/s")));
    assert_true(isnan(units_parse("fast", "B/s")));
    assert_true(isnan(units_parse("1 GB", "B/s")));
}

static void test_numbers(void **state)
{
    (void)state;
    struct error err = { 0 };
    int64_t v = 0;
    double d = 0;
    assert_ok(parse_int("-3", -5, 5, "-p", &v, &err), err);
    assert_int_equal(v, -3);
    assert_fails(parse_int("12x", 0, 99, "-p", &v, &err), err, "-p: expected a whole number, found \"12x\"");
    assert_fails(parse_int("", 0, 99, "-p", &v, &err), err, "whole number");
    assert_fails(parse_int("100", 0, 99, "-p", &v, &err), err, "-p: expected 0 to 99, found 100");
    assert_fails(parse_int("99999999999999999999", 0, INT64_MAX, "-p", &v, &err), err, "expected 0 to");
    assert_ok(parse_double("0.5", 0, 1, "--temp", &d, &err), err);
    assert_fails(parse_double("nan", 0, 1, "--temp", &d, &err), err, "expected a number");
    assert_fails(parse_double("2", 0, 1, "--temp", &d, &err), err, "expected 0 to 1");
    assert_fails(parse_double(" 0.5", 0, 1, "--temp", &d, &err), err, "expected a number");
    assert_fails(parse_double("0x1", 0, 1, "--temp", &d, &err), err, "expected a number");
}

static void test_stats(void **state)
{
    (void)state;
    const double x[] = { 4, 1, 3, 2 };
    double lo, hi;
    assert_true(stats_mean(x, 4) == 2.5);
    assert_true(fabs(stats_sd(x, 4) - 1.2909944487358056) < 1e-12);
    assert_true(stats_median(x, 4) == 2.5);
    assert_true(stats_quantile(x, 4, 0) == 1 && stats_quantile(x, 4, 1) == 4);
    assert_true(fabs(stats_quantile(x, 4, 0.9) - 3.7) < 1e-12); /* type 7: 1 + 0.9 * 3 = 3.7 */
    assert_true(isnan(stats_median(x, 0)));
    stats_median_ci(x, 4, &lo, &hi);
    assert_true(lo >= 1 && lo <= 2.5 && hi >= 2.5 && hi <= 4);
}

enum { N_ROUNDS = 15, N_SAMPLES = 3 };

/* How often, of `runs` simulated ceilings with median 100, each interval holds it. */
static void coverage(double sd_round, double sd_sample, uint64_t seed, int runs, double *blocks, double *samples)
{
    struct rng r;
    rng_init(&r, seed);
    *blocks = *samples = 0;
    for (int k = 0; k < runs; k++) {
        double x[N_ROUNDS * N_SAMPLES], lo, hi;
        int block[N_ROUNDS * N_SAMPLES];
        for (int i = 0; i < N_ROUNDS; i++) {
            const double round = sd_round * rng_normal(&r);
            for (int j = 0; j < N_SAMPLES; j++) {
                x[i * N_SAMPLES + j] = 100 + round + sd_sample * rng_normal(&r);
                block[i * N_SAMPLES + j] = i;
            }
        }
        stats_median_block_ci(x, block, ARRAY_LEN(x), &lo, &hi);
        *blocks += lo <= 100 && 100 <= hi;
        stats_median_ci(x, ARRAY_LEN(x), &lo, &hi);
        *samples += lo <= 100 && 100 <= hi;
    }
    *blocks /= runs;
    *samples /= runs;
}

/* An interval of 95 % has to hold the truth about that often, whether rounds drift or not. */
static void test_block_intervals(void **state)
{
    (void)state;
    static const struct {
        double sd_round, sd_sample;
    } cases[] = { { 0, 1 }, { 1, 1 }, { 3, 1 } };
    double blocks, samples;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        coverage(cases[i].sd_round, cases[i].sd_sample, 11 + i, 300, &blocks, &samples);
        if (!(blocks > 0.90 && blocks < 0.985))
            fail_msg("drift %g: blocks cover %.3f", cases[i].sd_round, blocks);
        if (cases[i].sd_round > 0 && !(samples < 0.90))
            fail_msg("drift %g: single samples cover %.3f", cases[i].sd_round, samples);
    }
    /* Rounds all alike, all of one round, samples all alike. */
    const double x[] = { 1, 3, 2, 2, 3, 1, 5, 5, 5, 5, 5, 5 };
    const int three[] = { 0, 0, 1, 1, 2, 2 }, one[] = { 4, 4, 4, 4, 4, 4 };
    double lo, hi, lo1, hi1;
    stats_median_block_ci(x, three, 6, &lo, &hi);
    assert_true(lo == 2 && hi == 2);
    stats_median_block_ci(x, one, 6, &lo, &hi);
    stats_median_ci(x, 6, &lo1, &hi1);
    assert_true(lo == lo1 && hi == hi1);
    stats_median_block_ci(x + 6, three, 6, &lo, &hi);
    assert_true(lo == 5 && hi == 5);
    stats_median_block_ci(x, three, 0, &lo, &hi);
    assert_true(isnan(lo) && isnan(hi));
    /* By hand: rounds of (9, 11), (19, 21), (29, 31): within 2, between 200; sqrt((200 - 2) / 2) of a mean of 20. */
    const double y[] = { 9, 11, 19, 21, 29, 31 };
    assert_true(fabs(stats_between_blocks(y, three, 6) - sqrt(99.0) / 20) < 1e-12);
    assert_true(stats_between_blocks(x, three, 6) == 0);
    assert_true(isnan(stats_between_blocks(y, one, 6)));
    const int each[] = { 0, 1, 2, 3, 4, 5 };
    assert_true(isnan(stats_between_blocks(y, each, 6)));
}

static void test_rng(void **state)
{
    (void)state;
    struct rng a, b;
    rng_init(&a, 7);
    rng_init(&b, 7);
    double sum = 0, sq = 0;
    for (int i = 0; i < 100000; i++) {
        double v = rng_normal(&a);
        assert_true(v == rng_normal(&b));
        sum += v;
        sq += v * v;
    }
    assert_true(fabs(sum / 1e5) < 0.02 && fabs(sq / 1e5 - 1) < 0.02);
    /* First output of xoshiro256** from splitmix64(0): the published seeding. */
    rng_init(&a, 0);
    assert_true(a.s[0] == 0xe220a8397b1dcdafu);
}

static void test_cpulist(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct cpulist l;
    assert_ok(cpulist_parse(&l, "0-2,8", &err), err);
    assert_int_equal(l.n, 4);
    assert_int_equal(l.cpu[2], 2);
    assert_int_equal(l.cpu[3], 8);
    cpulist_free(&l);
    const char *bad[] = { "", "a", "3-1", "1,,2", "-1", "0-99999", "1-", "1,1", "1 2" };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(cpulist_parse(&l, bad[i], &err), -1);
        assert_non_null(strstr(err.msg, strcmp(bad[i], "1,1") == 0 ? "CPU 1 is listed twice" : "expected CPUs from 0 to 4095"));
    }
    assert_ok(cpulist_usable(&l, &err), err);
    assert_true(l.n >= 1);
    cpulist_free(&l);
}

/* Texts that do not fit are cut between characters and keep apart. */
static void test_label_fit(void **state)
{
    (void)state;
    char a[16], b[16];
    label_fit(a, sizeof a, "fifteen letters");
    assert_string_equal(a, "fifteen letters");
    label_fit(a, sizeof a, "sixteen letters, a");
    label_fit(b, sizeof b, "sixteen letters, b");
    assert_int_equal(strlen(a), 15);
    assert_int_equal(strncmp(a, "sixtee~", 7), 0);
    assert_string_not_equal(a, b);
    label_fit(a, sizeof a, "five \xc3\xa4 and more of it");
    assert_int_equal(strncmp(a, "five ~", 6), 0);
}

struct counted {
    atomic_int calls, wrong;
    struct team *t;
    atomic_int step;
};

static void count(void *arg, int tid, int n)
{
    struct counted *c = arg;
    atomic_fetch_add(&c->calls, 1);
    for (int i = 0; i < 200; i++) {
        team_barrier(c->t);
        if (tid == 0)
            atomic_store(&c->step, i);
        team_barrier(c->t);
        if (atomic_load(&c->step) != i)
            atomic_fetch_add(&c->wrong, 1);
    }
    (void)n;
}

static void test_team(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct cpulist cpus;
    assert_ok(cpulist_usable(&cpus, &err), err);
    const int n = cpus.n < 2 ? 1 : 2;
    struct counted c = { .t = team_new(n, &cpus, &err) };
    if (!c.t)
        fail_msg("%s", err.msg);
    for (int i = 0; i < 50; i++) {
        if (i == 25)
            usleep(20000); /* workers asleep: the next run must wake them */
        team_run(c.t, count, &c);
    }
    assert_int_equal(atomic_load(&c.calls), 50 * n);
    assert_int_equal(atomic_load(&c.wrong), 0);
    team_free(c.t);
    struct cpulist after;
    assert_ok(cpulist_usable(&after, &err), err);
    assert_int_equal(after.n, cpus.n); /* the caller's affinity is as it was */
    cpulist_free(&after);
    cpulist_free(&cpus);
    assert_null(team_new(10000, NULL, &err));
    assert_non_null(strstr(err.msg, "10000 requested"));
    assert_null(team_new(0, NULL, &err));
}

static void test_json(void **state)
{
    (void)state;
    struct error err = { 0 };
    double d = -1;
    int64_t i = -1;
    const char *s = NULL;
    const char text[] = "{\"a\": 1.5, \"b\": \"x\", \"n\": null, \"i\": 7}";
    json_t *j = json_load_mem("t.json", text, sizeof text - 1, &err);
    assert_non_null(j);
    assert_ok(json_get_num(j, "t.json", "a", &d, &err), err);
    assert_true(d == 1.5);
    assert_fails(json_get_num(j, "t.json", "b", &d, &err), err, "t.json: field \"b\": expected a number, found a string");
    assert_fails(json_get_num(j, "t.json", "zz", &d, &err), err, "field \"zz\" is missing");
    assert_fails(json_get_num(j, "t.json", "n", &d, &err), err, "missing");
    assert_ok(json_get_num_opt(j, "t.json", "n", &d, &err), err);
    assert_true(d == 1.5);
    assert_fails(json_get_int(j, "t.json", "i", 0, 5, &i, &err), err, "expected 0 to 5, found 7");
    assert_fails(json_get_str(j, "t.json", "a", &s, &err), err, "expected a string");
    assert_fails(json_check_schema(j, "t.json", "roofcast.run", 1, &err), err, "\"schema\" is missing");
    assert_string_equal(json_find_text(j, "b"), "x");
    assert_true(!*json_find_text(j, "a") && !*json_find_text(j, "zz") && !*json_find_text(NULL, "b"));
    assert_true(json_find_number(j, "a") == 1.5 && json_find_number(j, "i") == 7);
    assert_true(isnan(json_find_number(j, "b")) && isnan(json_find_number(j, "zz")) && isnan(json_find_number(NULL, "a")));
    json_decref(j);
    assert_null(json_load_mem("bad.json", "{\"a\": }", 7, &err));
    assert_non_null(strstr(err.msg, "bad.json: line 1, column"));
    assert_null(json_load_mem("twice.json", "{\"a\":1,\"a\":2}", 13, &err));
    assert_true(json_is_null(json_num(NAN)));
}

/* Texts as editors and Python write them. */
static void test_json_texts(void **state)
{
    (void)state;
    struct error err = { 0 };
    double d = -1;
    int64_t i = -1;
    const char text[] = "\xef\xbb\xbf{\"a\": [0.0, Infinity], \"b\": -Infinity, \"c\": NaN, \"s\": \"NaN \\\" Infinity\", \"w\": 4096.0, \"r\": 4096.5}";
    json_t *j = json_load_mem("t.json", text, sizeof text - 1, &err);
    assert_non_null(j);
    assert_string_equal(json_string_value(json_object_get(j, "s")), "NaN \" Infinity");
    assert_fails(json_get_num(j, "t.json", "b", &d, &err), err, "field \"b\": expected a number, found -Infinity");
    assert_fails(json_get_num_opt(j, "t.json", "c", &d, &err), err, "field \"c\": expected a number, found NaN");
    assert_true(json_is_none(json_object_get(j, "c")) && json_is_none(NULL) && !json_is_none(json_object_get(j, "s")));
    assert_ok(json_get_int(j, "t.json", "w", 1, 5000, &i, &err), err);
    assert_int_equal(i, 4096);
    assert_fails(json_get_int(j, "t.json", "r", 1, 5000, &i, &err), err, "expected a whole number, found 4096.5");
    assert_fails(json_get_int(j, "t.json", "w", 1, 4000, &i, &err), err, "expected 1 to 4000, found 4096");
    json_decref(j);
    static const struct {
        const char *text;
        size_t size;
    } wide[] = { { "\xff\xfe{\0}\0", 6 }, { "\xfe\xff\0{\0}", 6 }, { "{\0}\0", 4 }, { "\0{\0}", 4 } };
    for (size_t k = 0; k < sizeof wide / sizeof *wide; k++) {
        assert_null(json_load_mem("w.json", wide[k].text, wide[k].size, &err));
        assert_non_null(strstr(err.msg, "w.json: line 1, column 1: expected UTF-8, found UTF-16"));
    }
}

/* This machine's is loaded once; one that is told of, by a caller or the environment, takes its place as long as it is. */
static void test_topology(void **state)
{
    (void)state;
    struct error err = { 0 };
    const char *described = "package:2 core:3 pu:2";
    hwloc_topology_t here = topology_open(NULL, &err), there = topology_open(described, &err);
    assert_ok(here ? 0 : -1, err);
    assert_ok(there ? 0 : -1, err);
    assert_ptr_equal(topology_open(NULL, &err), here);
    assert_int_equal(hwloc_get_nbobjs_by_type(there, HWLOC_OBJ_PU), 12);
    topology_close(there);
    const int pus = hwloc_get_nbobjs_by_type(here, HWLOC_OBJ_PU);
    assert_true(pus > 0);
    environment_set_topology(true);
    setenv("HWLOC_SYNTHETIC", "core:5 pu:1", 1);
    there = topology_open(NULL, &err);
    unsetenv("HWLOC_SYNTHETIC");
    environment_set_topology(false);
    assert_ok(there ? 0 : -1, err);
    assert_int_equal(hwloc_get_nbobjs_by_type(there, HWLOC_OBJ_PU), 5);
    topology_close(there);
    topology_close(here); /* stays */
    here = topology_open(NULL, &err);
    assert_int_equal(hwloc_get_nbobjs_by_type(here, HWLOC_OBJ_PU), pus);
    assert_null(topology_open("nothing of the kind", &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_non_null(strstr(err.msg, "nothing of the kind"));
    topology_close(NULL);
}

/* What lists and objects of files must be, by their field. */
static void test_json_lists(void **state)
{
    struct error err = { 0 };
    const json_t *list = NULL;
    (void)state;
    json_t *o = json_pack("{s:[i,i], s:i}", "two", 1, 2, "one", 1);
    assert_ok(json_get_array(o, "f", "two", 2, &list, &err), err);
    assert_int_equal(json_array_size(list), 2);
    assert_fails(json_get_array(o, "f", "two", 1, &list, &err), err, "f: field \"two\": expected an array of at most 1, found 2");
    assert_fails(json_get_array(o, "f", "one", 1, &list, &err), err, "f: field \"one\": expected an array, found a number");
    assert_fails(json_get_array(o, "f", "none", 1, &list, &err), err, "expected an array, found nothing");
    assert_ok(json_check_object(o, "f", &err), err);
    assert_fails(json_check_object(list, "f", &err), err, "f: expected an object, found an array");
    json_decref(o);
}

/* ---- once ------------------------------------------------------------------------------------- */

static int n_read;

static int read_badly(struct error *err)
{
    n_read++;
    return error_set(err, ERROR_INPUT, "it is torn");
}

static void test_once(void **state)
{
    struct once o = ONCE_INIT;
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct error err = { 0 };
        assert_fails(read_once(&o, read_badly, &err), err, "it is torn");
        assert_int_equal(err.kind, ERROR_INPUT);
    }
    assert_int_equal(n_read, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once),    cmocka_unit_test(test_json_lists),
        cmocka_unit_test(test_error),   cmocka_unit_test(test_sizes), cmocka_unit_test(test_strbuf), cmocka_unit_test(test_digits),
        cmocka_unit_test(test_outfile), cmocka_unit_test(test_units), cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_stats),   cmocka_unit_test(test_block_intervals), cmocka_unit_test(test_rng),   cmocka_unit_test(test_cpulist), cmocka_unit_test(test_label_fit),
        cmocka_unit_test(test_team),    cmocka_unit_test(test_json), cmocka_unit_test(test_json_texts),  cmocka_unit_test(test_names),
        cmocka_unit_test(test_topology), cmocka_unit_test(test_folded_names), cmocka_unit_test(test_suggested_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
