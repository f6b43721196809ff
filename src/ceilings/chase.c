/* Latency by pointer chasing. Source: methods.md (77). */
#include "ceilings/memory.h"

static void **slot_at(void *p, size_t line, int slot)
{
    return (void **)((unsigned char *)p + line * CHASE_LINE) + slot;
}

/*
 * Visiting order: an invertible hash (odd multiplication, folding the upper half into the lower one) of 0, 1, 2 ... below a power of
 * two. It needs no table, so building is several times faster than shuffling lines in memory.
 */
struct order {
    uint64_t mask;
    int half; /* half of the bits, rounded up: folding twice is the identity */
    uint64_t odd[2], inverse[2];
};

static uint64_t inverse_of(uint64_t odd)
{
    uint64_t x = odd; /* correct in 3 bits; each step doubles them */
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
        do /* skip indices beyond the last line */
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
