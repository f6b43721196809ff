/* Attention of decode steps and MLA on servers' GPUs: values by hand, monotony, limits. methods.md (46) */
#include "../near.h"
#include "../test.h"
#include "family.h"
#include "stacks/family_attention.h"

extern const struct family family_attention, family_mla;

static const struct decode_kernel split = { "split", "library", true, 0, 1, 64 }, whole = { "whole", "library", true, 1, 1, 64 },
                                  heads = { "heads", "library", false, 1, 1, 64 };

/* n sequences, `group` heads on each of n_kv of 128 elements, 16 bits. */
static struct decode_call call_of(const struct family_machine *on, double n, double keys, double n_kv, double group)
{
    return (struct decode_call){ .n_seq = n, .n_head = n_kv * group, .n_kv = n_kv, .keys = keys, .key_elems = 128, .value_elems = 128,
                                 .cache_bytes = 2 * 2 * n * n_kv * keys * 128, .flop_s = attention_peak(on, false) };
}

static struct decode_call latent_of(const struct family_machine *on, double n, double keys, double n_head)
{
    return (struct decode_call){ .n_seq = n, .n_head = n_head, .n_kv = 1, .keys = keys, .key_elems = LATENT_KEY, .value_elems = LATENT_VALUE,
                                 .cache_bytes = 2 * n * keys * LATENT_KEY, .flop_s = attention_peak(on, false), .latent = true };
}

static double seconds(const struct family *f, const char *gpu, const struct decode_kernel *k, struct decode_call c)
{
    const struct family_machine on = family_gpu(gpu);
    struct decode_features x;
    decode_features_init(&x, &on, k, &c);
    return family_seconds(f, &x);
}

/* Four multiprocessors at 1.9 GHz where only latencies count: 1 us of start, a block, adding parts; 0.01 us a key, 0.005 us a further tile. */
static double by_latency(const struct decode_kernel *k, double n, double keys, double group)
{
    const double us = log(1e-6), tiny = log(1e-15);
    /* start block key tile bandwidth cache combine */
    const double parameter[] = { us, us, us + log(0.01), us + log(0.005), 0, tiny, us };
    const struct family_machine on = { .n_unit = 4, .clock_hz = 1.9e9, .memory_bytes_s = 1e30, .peak = { [MATH_BF16] = 1e30 } };
    const struct decode_call c = call_of(&on, n, keys, 1, group);
    struct decode_features x;
    decode_features_init(&x, &on, k, &c);
    return exp(attention_decode_ln_seconds(&x, parameter)) * 1e6;
}

static void by_hand(void **state)
{
    (void)state;
    assert_near(by_latency(&whole, 1, 64, 1), 1 + 1 + 0.64, 1e-6);                    /* a tile of keys */
    assert_near(by_latency(&whole, 1, 65, 1), 1 + 1 + 1.28, 1e-6);                    /* two, whole */
    assert_near(by_latency(&whole, 5, 64, 1), 1 + 2 * (1 + 0.64), 1e-6);              /* five blocks in two waves */
    assert_near(by_latency(&whole, 1, 64, 32), 1 + 1 + 64 * 0.015, 1e-6);             /* two tiles of heads in a block */
    assert_near(by_latency(&heads, 1, 64, 8), 1 + 2 * (1 + 0.64), 1e-6);              /* a block each */
    assert_near(by_latency(&split, 1, 512, 1), 1 + 1.25 + 1 + 2.56, 1e-6);            /* two parts of 256 keys, added */
    assert_near(by_latency(&split, 2, 2048, 1), 1 + 1.25 + 1 + 10.24, 1e-6);          /* two of four multiprocessors each */
}

struct batch {
    const struct family *f;
    double n; /* sequences */
};

static double of_keys(const char *gpu, double keys, const void *at)
{
    const struct batch *b = at;
    const struct family_machine on = family_gpu(gpu);
    return seconds(b->f, gpu, &split, b->f == &family_mla ? latent_of(&on, b->n, keys, 16) : call_of(&on, b->n, keys, 8, 8));
}

static void larger_never_takes_less(void **state)
{
    (void)state;
    for (double n = 1; n <= 256; n *= 4) {
        const struct batch some = { &family_attention, n }, more = { &family_attention, 4 * n }, latents = { &family_mla, n };
        family_check_grows(of_keys, &some, 128, 7e4, 0.02);
        family_check_grows(of_keys, &latents, 128, 7e4, 0.02);
        family_check_no_less(of_keys, &more, &some, 128, 7e4, 0.02);
    }
}

static void within_roofs(void **state)
{
    (void)state;
    for (size_t g = 0; g < ARRAY_LEN(family_gpus); g++) {
        const struct family_machine on = family_gpu(family_gpus[g]);
        const struct decode_call c = call_of(&on, 64, 32768, 8, 8), latents = latent_of(&on, 256, 32768, 128);
        family_check_within(on.name, c.cache_bytes / seconds(&family_attention, on.name, &split, c), on.memory_bytes_s, 0.4);
        const double t = seconds(&family_mla, on.name, &split, latents);
        family_check_within(on.name, 2. * 256 * 32768 * 128 * (LATENT_KEY + LATENT_VALUE) / t, on.peak[MATH_BF16], 0);
        family_check_within(on.name, latents.cache_bytes / t, on.memory_bytes_s, 0);
    }
}

static void keys_are_read_once_a_group(void **state)
{
    const struct family_machine on = family_gpu("H200");
    (void)state;
    const double one = seconds(&family_attention, "H200", &split, call_of(&on, 64, 8192, 8, 1)),
                 group = seconds(&family_attention, "H200", &split, call_of(&on, 64, 8192, 8, 16)),
                 own = seconds(&family_attention, "H200", &split, call_of(&on, 64, 8192, 128, 1));
    assert_true(group < 1.3 * one && own > 5 * group);
}

/* The last cache keeps what fits from call to call; the host and a cache that is widened first take longer. */
static void caches_and_extras(void **state)
{
    const struct family_machine on = family_gpu("L40S");
    struct family_machine none = on;
    struct decode_features x;
    struct decode_call c = call_of(&on, 8, 1024, 8, 8), latents = latent_of(&on, 32, 8192, 16);
    (void)state;
    none.cache_bytes = 0;
    decode_features_init(&x, &on, &split, &c);
    const double cached = family_seconds(&family_attention, &x);
    decode_features_init(&x, &none, &split, &c);
    assert_true(family_seconds(&family_attention, &x) > 1.3 * cached);
    const double plain = seconds(&family_mla, "H200", &split, latents);
    latents.convert_bytes = latents.cache_bytes / 2;
    assert_true(seconds(&family_mla, "H200", &split, latents) > 1.5 * plain);
    latents.convert_bytes = 0;
    latents.weight_bytes = 1;
    assert_near(seconds(&family_mla, "H200", &split, latents) - plain, family_mla.parameter[family_parameter_find(&family_mla, "host")].value, 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),      cmocka_unit_test(larger_never_takes_less),    cmocka_unit_test(within_roofs),
        cmocka_unit_test(keys_are_read_once_a_group), cmocka_unit_test(caches_and_extras),
    };
    return cmocka_run_group_tests_name("attention of decode steps", tests, NULL, NULL);
}
