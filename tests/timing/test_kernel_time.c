/* Small kernels of GPUs as blocks on multiprocessors, by hand. doc/notes/gpu-kernels.md */
#include "../test.h"
#include "timing/timing.h"
#include <math.h>

static bool near_rel(double a, double b, double rel)
{
    return fabs(a - b) <= rel * fabs(b);
}

static const struct gpu_units a100 = { .n = 108, .threads = 2048, .clock_hz = 1.41e9, .cache_bytes = 40e6 };
static const struct gpu_units a40 = { .n = 84, .threads = 1536, .clock_hz = 1.74e9, .cache_bytes = 6e6 };

/* A norm of rows of 4096: a block of 1024 threads a row, each of four elements. */
static struct time_blocks norm_of(double rows)
{
    return (struct time_blocks){ .n = rows, .threads = 1024, .trips = 4, .instructions = 128 * 40, .footprint_bytes = 1 };
}

static void test_grid(void **state)
{
    (void)state;
    /* 108 multiprocessors hold two such blocks each: 216 are one wave, 224 begin a second one, of one block at most */
    struct time_blocks b = norm_of(216);
    struct time_grid g = time_grid_of(&b, &a100);
    assert_true(g.resident == 2 && g.waves == 1 && g.last == 0);
    b = norm_of(224);
    g = time_grid_of(&b, &a100);
    assert_true(g.waves == 1 && g.last == 1);
    b = norm_of(1);
    g = time_grid_of(&b, &a100);
    assert_true(g.waves == 0 && g.last == 1);
    /* 1536 threads hold one: 84 are a wave */
    b = norm_of(85);
    g = time_grid_of(&b, &a40);
    assert_true(g.resident == 1 && g.waves == 2 && g.last == 0);
    /* threads come in warps of 32: blocks of 80 take 96, and 21 of them 2016; of 32 threads 32 blocks are the most */
    b.threads = 80;
    assert_true(time_grid_of(&b, &a100).resident == 21);
    b.threads = 32;
    assert_true(time_grid_of(&b, &a100).resident == 32);
    /* four warps issue an instruction a cycle: 5120 of them */
    assert_true(near_rel(g.issue_s, 5120 / (4 * 1.74e9), 1e-12));
    /* half of it stays where the footprint is 0.7 of the cache */
    b.footprint_bytes = 28e6;
    assert_true(near_rel(time_grid_of(&b, &a100).in_cache, 0.5, 1e-12));
}

static double seconds_of(const struct time_blocks *b, double count, double bytes)
{
    static struct time_features f;
    struct roofs r = { .bytes_s = 2e12, .units = a100 };
    double parameter[TIME_PARAMETER_COUNT] = { 0 };
    r.peak[MATH_FP32].flop_s = 1;
    f = (struct time_features){ .sequential = 1 };
    const struct step x = { .kind = OP_ADD, .math = MATH_FP32, .count = count, .cost = { .act_bytes = bytes } };
    time_add(&f, &r, &x, &(struct refinement){ .blocks = b });
    parameter[TIME_BANDWIDTH] = log(0.5); /* far from the cap at 1 */
    parameter[TIME_KERNEL] = log(2e-6);
    parameter[TIME_CACHE_LATENCY] = log(0.25e-6);
    parameter[TIME_MEMORY_LATENCY] = log(2);
    parameter[TIME_CACHE] = log(0.4);
    return exp(time_ln_seconds(&f, parameter));
}

static void test_seconds(void **state)
{
    (void)state;
    /* 2 and 4 latencies of 0.25 us, 0.908 us of instructions a block: a wave of two takes 3.316 us, one block 2.408 */
    const double issue_us = 5120 / (4 * 1.41e3), full = 6 * 0.25 + 2 * issue_us, one = 6 * 0.25 + issue_us;
    struct time_blocks b = norm_of(216);
    assert_true(near_rel(seconds_of(&b, 1, 0), (2 + full) * 1e-6, 1e-9));
    b = norm_of(224);
    assert_true(near_rel(seconds_of(&b, 1, 0), (2 + full + one) * 1e-6, 1e-9));
    /* the same kernel twice takes twice as long */
    assert_true(near_rel(seconds_of(&b, 2, 0), 2 * seconds_of(&b, 1, 0), 1e-9));
    /* from memory the four loads of the loop wait twice as long; the two of any block do not */
    b.footprint_bytes = 1e12;
    assert_true(near_rel(seconds_of(&b, 1, 0), (2 + full + one + 2 * 4 * 0.25) * 1e-6, 1e-6));
    /* 100 MB at 1e12 B/s are 100 us and hide the blocks; in the cache 40 us */
    assert_true(near_rel(seconds_of(&b, 1, 100e6), 102e-6, 1e-3));
    b.footprint_bytes = 1;
    assert_true(near_rel(seconds_of(&b, 1, 100e6), 42e-6, 1e-3));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_grid), cmocka_unit_test(test_seconds) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
