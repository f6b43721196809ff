/* Attention of prompts on servers' GPUs: values by hand, monotony, limits. methods.md (110) */
#include "../near.h"
#include "../test.h"
#include "family.h"
#include "stacks/family_attention.h"

extern const struct family family_prompt;

/* n sequences of so many tokens, `packed` heads a tile, 16 bits; window 0: none. */
static struct prompt_call call_of(const struct family_machine *on, double n, double tokens, double n_head, double packed, double window)
{
    return (struct prompt_call){ .n_seq = n, .n_tok = tokens, .window = window, .n_head = n_head, .n_kv = n_head / packed, .packed = packed, .key_elems = 128,
                                 .value_elems = 128, .bytes = 2 * 4 * n * tokens * n_head * 128, .append_bytes = 2 * 4 * n * tokens * n_head / packed * 128,
                                 .flop_s = attention_peak(on, false) };
}

struct batch {
    double n, window; /* sequences */
};

static double seconds(const char *gpu, double tokens, const void *at)
{
    const struct batch *b = at;
    const struct family_machine on = family_gpu(gpu);
    const struct prompt_call c = call_of(&on, b->n, tokens, 32, 1, b->window);
    struct prompt_features x;
    prompt_features_init(&x, &on, &c);
    return family_seconds(&family_prompt, &x);
}

/* Tiles of the fullest multiprocessor. */
static double tiles(double units, struct prompt_call c)
{
    const struct family_machine on = { .n_unit = units, .clock_hz = 1.9e9, .memory_bytes_s = 1e30 };
    struct prompt_features x;
    c.flop_s = 1;
    prompt_features_init(&x, &on, &c);
    return x.tiles;
}

static void tiles_by_hand(void **state)
{
    const struct family_machine on = { .n_unit = 1 };
    struct prompt_call c = call_of(&on, 1, 256, 1, 1, 0);
    (void)state;
    assert_near(tiles(1, c), 2 + 4, 1e-12);                         /* 128 queries by 64 keys, causal: 128 and 256 keys */
    assert_near(tiles(4, c), 4, 1e-12);                             /* the longer of two blocks */
    assert_near(tiles(1, call_of(&on, 1, 256, 1, 1, 64)), 2 + 3, 1e-12); /* keys from 65 on */
    assert_near(tiles(1, call_of(&on, 3, 16, 2, 1, 0)), 6, 1e-12);  /* one small tile each */
    assert_near(tiles(1, call_of(&on, 1, 128, 4, 4, 0)), 1 + 1 + 2 + 2, 1e-12); /* four heads a tile: 32 tokens */
    c.past = 128;
    assert_near(tiles(1, c), 4 + 6, 1e-12);
}

/* One multiprocessor at 1.9 GHz: 1 us of start and of a block; products of a tile 2 us, exponentials 0.27 us. */
static void by_hand(void **state)
{
    const double us = log(1e-6), tiny = log(1e-15);
    /* start host compute exponentials block append cache */
    const double parameter[] = { us, tiny, 0, 0, us, tiny, 700 };
    struct prompt_features x = { .memory_bytes_s = 1e30, .cache_cycle_bytes_s = 1, .cycle = 1, .tiles = 6, .blocks = 2, .tile_compute_s = 2e-6,
                                 .tile_exp_s = 0.27e-6 };
    (void)state;
    assert_near(exp(prompt_ln_seconds(&x, parameter)) * 1e6, 1 + 2 + 6 * 2.27, 1e-6);
    x.async = true;
    assert_near(exp(prompt_ln_seconds(&x, parameter)) * 1e6, 1 + 2 + 6 * pow(pow(2, 2.5) + pow(0.27, 2.5), 0.4), 1e-6);
    x.project_s = 1e-3;
    assert_near(exp(prompt_ln_seconds(&x, parameter)) * 1e6, 1001 + 2 + 6 * pow(pow(2, 2.5) + pow(0.27, 2.5), 0.4), 1e-6);
}

static void larger_never_takes_less(void **state)
{
    static const struct batch four = { 4, 0 }, eight = { 8, 0 }, window = { 4, 128 };
    (void)state;
    family_check_grows(seconds, &four, 1, 16384, 0);
    family_check_no_less(seconds, &eight, &four, 1, 16384, 0);
    family_check_no_less(seconds, &four, &window, 1, 16384, 1e-7);
}

static void within_roofs(void **state)
{
    static const struct batch one = { 1, 0 }, many = { 4096, 0 };
    (void)state;
    for (size_t g = 0; g < ARRAY_LEN(family_gpus); g++) {
        const struct family_machine on = family_gpu(family_gpus[g]);
        const double n = 16384;
        family_check_within(on.name, 2 * 32 * n * n * 256 / 2 / seconds(on.name, n, &one), 0.7 * on.peak[MATH_BF16], 0.5);
        family_check_within(on.name, 2 * 4 * 4096. * 64 * 32 * 128 / seconds(on.name, 64, &many), on.memory_bytes_s, 0.1);
    }
    /* compiled kernels have a ceiling a cycle */
    const struct family_machine h200 = family_gpu("H200");
    assert_near(attention_peak(&h200, false), 989e12, 1);
    assert_near(attention_peak(&h200, true), 2048 * 132 * 1.98e9, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_by_hand), cmocka_unit_test(by_hand), cmocka_unit_test(larger_never_takes_less), cmocka_unit_test(within_roofs),
    };
    return cmocka_run_group_tests_name("attention of prompts", tests, NULL, NULL);
}
