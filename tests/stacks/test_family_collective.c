/* Collectives: values by hand, monotony, limits of links, and the links of machines. methods.md (47) */
#include "../test.h"
#include "../near.h"
#include "base/environment.h"
#include "family.h"
#include "stacks/family_collective.h"

extern const struct family family_collective;

/* Of a board: all parameters of seconds 1 us, fractions and exponents 1, no host. */
static double plain_us(const struct collective_features *f)
{
    const double us = log(1e-6), tiny = log(1e-30);
    /* start hop kernel link parts multicast bus network network_parts host */
    const double parameter[] = { us, us, us, 0, 0, 0, 0, 0, 0, tiny };
    return exp(collective_ln_seconds(f, parameter)) * 1e6;
}

static struct collective_features four(enum collective_op op, double bytes)
{
    return (struct collective_features){ .clock_hz = 1.9e9, .memory_bytes_s = 1e30, .link_bytes_s = 1e9, .n = 4, .bytes = bytes, .crossings = 4, .op = op };
}

/* Latency a, wire b: a + b + 2 sqrt(a b) = (sqrt a + sqrt b)^2. */
static void by_hand(void **state)
{
    struct collective_features f = four(COLLECTIVE_ALL_REDUCE, 6000);
    (void)state;
    assert_near(plain_us(&f), 7 + 9 + 2 * sqrt(7 * 9), 1e-6); /* start, six steps; 1.5 times 6000 B at 1 GB/s */
    f.op = COLLECTIVE_ALL_GATHER;
    f.bytes = 12000;
    assert_near(plain_us(&f), 4 + 9 + 2 * sqrt(4 * 9), 1e-6);
    f.op = COLLECTIVE_ALL_TO_ALL;
    assert_near(plain_us(&f), 3 + 9 + 2 * sqrt(3 * 9), 1e-6);
    f.op = COLLECTIVE_ALL_REDUCE;
    f.own = true; /* two rounds: 4 us, 18 us on the wire; one round would read 36 us */
    assert_near(plain_us(&f), 4 + 18 + 2 * sqrt(4 * 18), 1e-6);
    f.bytes = 1;
    assert_near(plain_us(&f), 2 + 0.003 + 2 * sqrt(2 * 0.003), 1e-6);
    f = four(COLLECTIVE_ALL_REDUCE, 6000);
    f.link = COLLECTIVE_BUS; /* steps take 1 / 0.6; four devices share what two have for themselves */
    assert_near(plain_us(&f), 11 + 18 + 2 * sqrt(11 * 18), 1e-6);
    f.crossings = 2; /* bridged pairs */
    assert_near(plain_us(&f), 11 + 9 + 2 * sqrt(11 * 9), 1e-6);
    f = four(COLLECTIVE_ALL_REDUCE, 6000);
    f.multicast = true; /* 1.25 times 6000 B */
    assert_near(plain_us(&f), 7 + 7.5 + 2 * sqrt(7 * 7.5), 1e-6);
}

static struct collective_features on_gpu(const char *name, enum collective_op op, double n, double bytes)
{
    static const struct {
        const char *name;
        double link_bytes_s;
    } links[] = { { "A100", 300e9 }, { "H200", 450e9 }, { "B200", 900e9 }, { "L40S", 31.5e9 } };
    const struct family_machine on = family_gpu(name);
    size_t k = 0;
    while (strcmp(links[k].name, name) != 0)
        k++;
    return (struct collective_features){ .clock_hz = on.clock_hz, .memory_bytes_s = on.memory_bytes_s, .link_bytes_s = links[k].link_bytes_s, .n = n,
                                         .bytes = bytes, .crossings = n, .op = op, .multicast = on.async && n > 2,
                                         .link = strcmp(name, "L40S") == 0 ? COLLECTIVE_BUS : COLLECTIVE_BOARD };
}

static double seconds(const struct collective_features *f)
{
    return family_seconds(&family_collective, f);
}

struct ring {
    enum collective_op op;
    double n;
    bool eager, copies;
};

static double of_bytes(const char *gpu, double bytes, const void *at)
{
    const struct ring *r = at;
    struct collective_features f = on_gpu(gpu, r->op, r->n, bytes);
    f.eager = r->eager;
    f.copies = r->copies;
    return seconds(&f);
}

static void larger_never_takes_less(void **state)
{
    (void)state;
    for (int op = COLLECTIVE_ALL_REDUCE; op <= COLLECTIVE_ALL_TO_ALL; op++)
        for (double n = 2; n <= 8; n *= 2) {
            const struct ring r = { (enum collective_op)op, n, false, false }, eager = { r.op, n, true, false }, copies = { r.op, n, true, true };
            family_check_grows(of_bytes, &r, 256, 1e9, 0);
            family_check_grows(of_bytes, &eager, 256, 1e9, 0);
            family_check_no_less(of_bytes, &eager, &r, 256, 1e9, 0);
            family_check_no_less(of_bytes, &copies, &r, 256, 1e9, 0);
            for (size_t g = 0; g < ARRAY_LEN(family_gpus); g++)
                assert_true(of_bytes(family_gpus[g], 256, &eager) >= 3.5e-5); /* the host's share */
        }
}

/* Large messages near the link's bandwidth, and never above; small ones by their steps. */
static void within_links(void **state)
{
    (void)state;
    for (size_t g = 0; g < ARRAY_LEN(family_gpus); g++) {
        struct collective_features f = on_gpu(family_gpus[g], COLLECTIVE_ALL_GATHER, 2, 8e9);
        family_check_within(family_gpus[g], 4e9 / seconds(&f), f.link_bytes_s, 0.7);
        f = on_gpu(family_gpus[g], COLLECTIVE_ALL_REDUCE, 8, 256);
        const double eight = seconds(&f);
        f.n = f.crossings = 2;
        assert_true(eight > 1.5 * seconds(&f) && eight < 60e-6);
    }
}

static struct collective_features links(const char *profile, double n, double n_board, bool async)
{
    static struct machine on;
    struct collective_features f = { .clock_hz = 1.9e9, .multicast = async };
    struct error err = { 0 };
    on = (struct machine){ .link_bytes_s = 31.5e9 };
    assert_ok(machine_load(&on.h, profile, &err), err);
    assert_true(collective_links(&f, &on, n, n_board));
    hwprofile_free(&on.h);
    return f;
}

static void of_machines(void **state)
{
    (void)state;
    struct collective_features f = links("h100-sxm", 8, 8, true);
    assert_true(f.link == COLLECTIVE_BOARD && f.multicast && f.link_bytes_s > 449e9);
    f = links("a100-sxm-80gb", 8, 8, false);
    assert_true(f.link == COLLECTIVE_BOARD && !f.multicast);
    f = links("a100-sxm-80gb", 16, 8, false);
    assert_true(f.link == COLLECTIVE_NETWORK);
    assert_near(f.link_bytes_s, 0.8 * 31.5e9 * 4, 1);
    f = links("a100-pcie-80gb", 2, 2, false);
    assert_true(f.link == COLLECTIVE_BOARD && f.link_bytes_s > 299e9);
    f = links("a100-pcie-80gb", 4, 4, false);
    assert_true(f.link == COLLECTIVE_BUS);
    assert_near(f.crossings, 2, 0);
    f = links("h100-nvl", 2, 2, true);
    assert_true(f.link == COLLECTIVE_BOARD && !f.multicast);
    f = links("rtx-pro-6000-server", 8, 8, false);
    assert_true(f.link == COLLECTIVE_BUS && f.link_bytes_s > 62e9);
    assert_near(f.crossings, 8, 0);
    f = links("gb200", 16, 16, true);
    assert_true(f.link == COLLECTIVE_BOARD && f.multicast);
}

int main(void)
{
    environment_set_dirs(data_dirs());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand), cmocka_unit_test(larger_never_takes_less), cmocka_unit_test(within_links), cmocka_unit_test(of_machines),
    };
    return cmocka_run_group_tests_name("collectives", tests, NULL, NULL);
}
