/* Latency: loads of which each has the next one's address in it. Source: methods.md (60). */
#include "ceilings/memory.h"

static void **slot_at(void *p, size_t line, int slot)
{
    return (void **)((unsigned char *)p + line * CHASE_LINE) + slot;
}

void chase_build(void *p, size_t bytes, int slot, uint64_t seed)
{
    const size_t n = bytes / CHASE_LINE;
    struct rng r;
    rng_init(&r, seed);
    for (size_t i = 0; i < n; i++)
        *slot_at(p, i, slot) = slot_at(p, i, slot);
    /* Sattolo: a line is swapped with one before it, never with itself, so that one cycle remains. */
    for (size_t i = n; i-- > 1;) {
        void **a = slot_at(p, i, slot), **b = slot_at(p, (size_t)(rng_u64(&r) % i), slot), *v = *a;
        *a = *b;
        *b = v;
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
