/* Routed experts of servers' engines: tokens of the fullest device, a value by hand, monotony, limits. methods.md (109) */
#include "../test.h"
#include "../near.h"
#include "family.h"
#include "stacks/family_experts.h"

extern const struct family family_experts;

static void even_loads(void **state)
{
    struct experts_load l;
    (void)state;
    experts_load_init(&l, 1024, 8, 128, 4, 0); /* 64 tokens an expert, 32 experts a device */
    assert_near(l.touched, 32, 1e-9);
    assert_near(l.visits, 2048, 1e-9);
    assert_near(l.tile_m, 64, 0);
    assert_near(l.tiles, 32, 1e-9);
    experts_load_init(&l, 1, 8, 128, 64, 0); /* an eighth of a visit a device: one at least */
    assert_near(l.touched, 1, 0);
    assert_near(l.visits, 1, 0);
    experts_load_init(&l, 16384, 8, 64, 1, 0); /* 2048 tokens an expert: tiles of at most 128 */
    assert_near(l.tile_m, 128, 0);
    assert_near(l.tiles, 64 * 16, 1e-9);
}

static void skewed_loads(void **state)
{
    struct experts_load even, skewed, again;
    (void)state;
    experts_load_init(&even, 4096, 8, 128, 8, 0);
    experts_load_init(&skewed, 4096, 8, 128, 8, 1.2);
    experts_load_init(&again, 4096, 8, 128, 8, 1.2);
    assert_true(skewed.visits > 1.2 * even.visits); /* of the fullest device */
    assert_true(skewed.visits <= 4096 * 8 && skewed.touched <= 16);
    assert_near(skewed.visits, again.visits, 0);
    experts_load_init(&skewed, 4096, 8, 128, 1, 1.2); /* one device has all */
    assert_near(skewed.visits, 4096 * 8, 0.02 * 4096 * 8); /* but an expert has a token once */
    experts_load_init(&skewed, 4, 8, 256, 2, 1.2); /* few visits: independent choices of 4 tokens */
    assert_near(skewed.touched, 128 * (1 - pow(1 - 8 / 256., 4)), 1e-9);
}

struct call {
    enum math math;
    double bytes, n_ep; /* an element; devices */
};

static double seconds(const char *gpu, double n_tok, const void *at)
{
    const struct call *c = at;
    const struct family_machine on = family_gpu(gpu);
    struct experts_features f = { .n_unit = on.n_unit, .clock_hz = on.clock_hz, .memory_bytes_s = on.memory_bytes_s, .cache_bytes = on.cache_bytes,
                                  .cache_bytes_s = on.cache_bytes_s, .peak = on.peak[c->math], .async = on.async, .n_embd = 4096, .n_ff = 1536,
                                  .n_tok = n_tok, .n_expert_used = 8, .weight_bytes = c->bytes, .act_bytes = c->bytes, .gated = true };
    experts_load_init(&f.load, n_tok, 8, 128, c->n_ep, 0);
    return family_seconds(&family_experts, &f);
}

static const struct call bf16 = { MATH_BF16, 2, 1 }, bf16_of_8 = { MATH_BF16, 2, 8 }, fp8 = { MATH_FP8, 1, 1 };

/* One multiprocessor at 1.9 GHz, one token, one expert [2 x 64, 64] and [64, 64], where only latencies count. */
static void by_hand(void **state)
{
    const double us = log(1e-6), parameter[] = { us, 0, 0, 0, us, us, 0, 0 }; /* start bandwidth compute cache step wave move all */
    struct experts_features f = { .n_unit = 1, .clock_hz = 1.9e9, .memory_bytes_s = 1e30, .cache_bytes = 1e30, .cache_bytes_s = 1e30, .peak = 1e30,
                                  .n_embd = 64, .n_ff = 64, .n_tok = 1, .n_expert_used = 1, .weight_bytes = 2, .act_bytes = 2, .gated = true };
    (void)state;
    experts_load_init(&f.load, 1, 1, 1, 1, 0);
    /* gate and up: 128 rows, one block of 128 or more; down: one block; a step each */
    assert_near(exp(experts_ln_seconds(&f, parameter)) * 1e6, 1 + 2 + 2, 1e-6);
    f.n_embd = 128; /* gate and up: two steps; down: 128 rows, one step */
    assert_near(exp(experts_ln_seconds(&f, parameter)) * 1e6, 1 + 3 + 2, 1e-6);
    f.n_ff = 256; /* gate and up: 512 rows, two blocks of 256; down: four steps */
    assert_near(exp(experts_ln_seconds(&f, parameter)) * 1e6, 1 + 2 * 3 + 5, 1e-6);
}

static void more_tokens_never_take_less(void **state)
{
    (void)state;
    family_check_grows(seconds, &bf16, 1, 16384, 0);
    family_check_no_less(seconds, &bf16, &bf16_of_8, 1, 16384, 0); /* an eighth of the experts */
}

static void within_roofs(void **state)
{
    (void)state;
    for (size_t g = 0; g < ARRAY_LEN(family_gpus); g++) {
        const struct family_machine on = family_gpu(family_gpus[g]);
        const double elems = 3 * 4096. * 1536;
        family_check_within(on.name, 128 * elems * 2 / seconds(on.name, 16, &bf16), on.memory_bytes_s, 0.4);
        family_check_within(on.name, 2 * 16384. * 8 * elems / seconds(on.name, 16384, &bf16), on.peak[MATH_BF16], 0.2);
    }
    assert_true(seconds("H200", 64, &fp8) < 0.7 * seconds("H200", 64, &bf16));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(even_loads), cmocka_unit_test(skewed_loads), cmocka_unit_test(by_hand), cmocka_unit_test(more_tokens_never_take_less),
        cmocka_unit_test(within_roofs),
    };
    return cmocka_run_group_tests_name("experts", tests, NULL, NULL);
}
