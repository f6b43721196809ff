/* Latency: loads of which each has the next one's address in it. Source: methods.md (77). */
#include "ceilings/memory.h"

static void **slot_at(void *p, size_t line, int slot)
{
    return (void **)((unsigned char *)p + line * CHASE_LINE) + slot;
}

/*
 * The order in which lines are visited: a one-to-one hash of 0, 1, 2 ... below a power of two. Multiplying by an odd number and folding
 * the upper half into the lower one can both be undone, so that the next line of each is worked out line by line: 1.9 GiB take
 * 0.25 s, shuffling their lines in place 1.1 to 1.3, most of it waiting for memory.
 */
struct order {
    uint64_t mask;
    int half; /* of the bits, rounded up: folding twice by so many is folding not at all */
    uint64_t odd[2], inverse[2];
};

static uint64_t inverse_of(uint64_t odd)
{
    uint64_t x = odd; /* right in the lowest three bits; each step doubles them */
    for (int i = 0; i < 5; i++)
        x *= 2 - odd * x;
    return x;
}

static void order_init(struct order *o, size_t n, uint64_t seed)
{
    struct rng r;
    int bits = 1;
    rng_init(&r, seed);
    while (n > (size_t)1 << bits)
        bits++;
    *o = (struct order){ .mask = ((uint64_t)1 << bits) - 1, .half = (bits + 1) / 2 };
    for (size_t i = 0; i < ARRAY_LEN(o->odd); i++) {
        o->odd[i] = rng_u64(&r) | 1;
        o->inverse[i] = inverse_of(o->odd[i]);
    }
}

static uint64_t order_at(const struct order *o, uint64_t k)
{
    for (size_t i = 0; i < ARRAY_LEN(o->odd); i++) {
        k = k * o->odd[i] & o->mask;
        k ^= k >> o->half;
    }
    return k;
}

static uint64_t order_of(const struct order *o, uint64_t line)
{
    for (size_t i = ARRAY_LEN(o->odd); i-- > 0;) {
        line ^= line >> o->half;
        line = line * o->inverse[i] & o->mask;
    }
    return line;
}

void chase_build(void *p, size_t bytes, int slot, uint64_t seed)
{
    const size_t n = bytes / CHASE_LINE;
    struct order o;
    order_init(&o, n, seed);
    for (size_t i = 0; i < n; i++) {
        uint64_t k = order_of(&o, i), next;
        do /* numbers up to the power of two that are no lines */
            next = order_at(&o, k = (k + 1) & o.mask);
        while (next >= n);
        *slot_at(p, i, slot) = slot_at(p, next, slot);
    }
}

void chase_run(void **at, uint64_t n)
{
    void **p = (void **)*at;
    for (; n >= 8; n -= 8) {
        p = *p, p = *p, p = *p, p = *p, p = *p, p = *p, p = *p, p = *p;
        __asm__ volatile("" : "+r"(p));
    }
    for (; n > 0; n--)
        p = *p;
    *at = p;
}
