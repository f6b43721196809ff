/* symbols: numbered strings and a map of number pairs, both open-addressing hash tables. */
#include "model/tokenizer/internal.h"
#include <stdlib.h>
#include <string.h>

static uint32_t hash_text(const char *s, size_t len)
{
    uint64_t h = 0x9E3779B97F4A7C15u ^ len;
    while (len >= 8) {
        uint64_t w;
        memcpy(&w, s, 8);
        h = (h ^ w) * 0xD6E8FEB86659FD93u;
        h ^= h >> 32;
        s += 8;
        len -= 8;
    }
    uint64_t w = 0;
    memcpy(&w, s, len);
    h = (h ^ w) * 0xD6E8FEB86659FD93u;
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93u;
    return (uint32_t)(h >> 32);
}

/* Smallest power of two with load <= 1/2 for n entries; 0: too many. */
static size_t slots_for(size_t n)
{
    size_t s = 16;
    while (s / 2 < n) {
        if (s > SIZE_MAX / 4)
            return 0;
        s *= 2;
    }
    return s;
}

static void symtab_place(struct symtab *t, uint32_t number)
{
    uint32_t mask = t->n_slots - 1, i = t->sym[number].hash & mask;
    while (t->slot[i])
        i = (i + 1) & mask;
    t->slot[i] = number + 1;
}

static int symtab_rehash(struct symtab *t, size_t expected, struct error *err)
{
    size_t n = slots_for(expected);
    if (n == 0 || n > (size_t)1 << 31)
        return error_set(err, ERROR_INPUT, "vocabulary: %zu strings are too many",
                         expected);
    uint32_t *slot = calloc(n, sizeof *slot);
    if (!slot)
        return error_oom(err, n * sizeof *slot, "the vocabulary");
    free(t->slot);
    t->slot = slot;
    t->n_slots = (uint32_t)n;
    for (uint32_t i = 0; i < t->n; i++)
        if (t->sym[i].len && symtab_find(t, t->sym[i].s, t->sym[i].len) == SYM_NONE)
            symtab_place(t, i);
    return 0;
}

int symtab_init(struct symtab *t, size_t expected, struct error *err)
{
    memset(t, 0, sizeof *t);
    return symtab_rehash(t, expected, err);
}

void symtab_free(struct symtab *t)
{
    for (size_t i = 0; i < t->n_arena; i++)
        free(t->arena[i]);
    free(t->arena);
    free(t->sym);
    free(t->slot);
    memset(t, 0, sizeof *t);
}

static uint32_t find_hashed(const struct symtab *t, const char *s, size_t len,
                            uint32_t hash)
{
    uint32_t mask = t->n_slots - 1;
    for (uint32_t i = hash & mask; t->slot[i]; i = (i + 1) & mask) {
        const struct symbol *y = &t->sym[t->slot[i] - 1];
        if (y->hash == hash && y->len == len && memcmp(y->s, s, len) == 0)
            return t->slot[i] - 1;
    }
    return SYM_NONE;
}

uint32_t symtab_find(const struct symtab *t, const char *s, size_t len)
{
    return len ? find_hashed(t, s, len, hash_text(s, len)) : SYM_NONE;
}

int symtab_append(struct symtab *t, const char *s, size_t len, struct error *err)
{
    if (t->n == t->cap) {
        size_t cap = t->cap ? (size_t)t->cap * 2 : 1024, bytes;
        if (cap > UINT32_MAX / 4 || !size_mul(cap, sizeof *t->sym, &bytes))
            return error_set(err, ERROR_INPUT, "vocabulary: too many strings");
        struct symbol *sym = realloc(t->sym, bytes);
        if (!sym)
            return error_oom(err, bytes, "the vocabulary");
        t->sym = sym;
        t->cap = (uint32_t)cap;
    }
    if (t->n >= t->n_slots / 2 && symtab_rehash(t, (size_t)t->n * 2, err) != 0)
        return -1;
    uint32_t hash = len ? hash_text(s, len) : 0, i = t->n;
    t->sym[i] = (struct symbol){ s, (uint32_t)len, hash };
    t->n++;
    /* Empty tokens keep their number and are not findable. */
    if (len && find_hashed(t, s, len, hash) == SYM_NONE)
        symtab_place(t, i);
    return 0;
}

/* Copies the bytes into the table's arena. */
static const char *symtab_keep(struct symtab *t, const char *s, size_t len,
                               struct error *err)
{
    if (t->n_arena == t->cap_arena) {
        size_t cap = t->cap_arena ? t->cap_arena * 2 : 64;
        char **arena = realloc(t->arena, cap * sizeof *arena);
        if (!arena) {
            error_oom(err, cap * sizeof *arena, "the vocabulary");
            return NULL;
        }
        t->arena = arena;
        t->cap_arena = cap;
    }
    char *copy = malloc(len);
    if (!copy) {
        error_oom(err, len, "the vocabulary");
        return NULL;
    }
    memcpy(copy, s, len);
    return t->arena[t->n_arena++] = copy;
}

int symtab_intern(struct symtab *t, const char *s, size_t len, bool copy, uint32_t *out,
                  struct error *err)
{
    *out = symtab_find(t, s, len);
    if (*out != SYM_NONE)
        return 0;
    if (copy && !(s = symtab_keep(t, s, len, err)))
        return -1;
    *out = t->n;
    return symtab_append(t, s, len, err);
}

/* ---- pairs -------------------------------------------------------------------- */

static size_t hash_pair(uint32_t a, uint32_t b)
{
    uint64_t h = ((uint64_t)a << 32 | b) * 0x9E3779B97F4A7C15u;
    return (size_t)(h ^ h >> 32);
}

static struct pair *pair_slot(const struct pairmap *m, uint32_t a, uint32_t b)
{
    size_t mask = m->n_slots - 1, i = hash_pair(a, b) & mask;
    while (m->slot[i].a != SYM_NONE && (m->slot[i].a != a || m->slot[i].b != b))
        i = (i + 1) & mask;
    return &m->slot[i];
}

static int pairmap_rehash(struct pairmap *m, size_t expected, struct error *err)
{
    struct pairmap old = *m;
    size_t bytes;
    m->n_slots = slots_for(expected);
    if (m->n_slots == 0 || !size_mul(m->n_slots, sizeof *m->slot, &bytes)) {
        *m = old;
        return error_set(err, ERROR_INPUT, "vocabulary: %zu pairs are too many", expected);
    }
    m->slot = malloc(bytes);
    if (!m->slot) {
        *m = old;
        return error_oom(err, bytes, "the merges");
    }
    for (size_t i = 0; i < m->n_slots; i++)
        m->slot[i].a = SYM_NONE;
    for (size_t i = 0; i < old.n_slots; i++)
        if (old.slot[i].a != SYM_NONE)
            *pair_slot(m, old.slot[i].a, old.slot[i].b) = old.slot[i];
    free(old.slot);
    return 0;
}

int pairmap_init(struct pairmap *m, size_t expected, struct error *err)
{
    memset(m, 0, sizeof *m);
    return pairmap_rehash(m, expected, err);
}

void pairmap_free(struct pairmap *m)
{
    free(m->slot);
    memset(m, 0, sizeof *m);
}

int pairmap_put(struct pairmap *m, struct pair p, struct error *err)
{
    if (m->n >= m->n_slots / 2 && pairmap_rehash(m, m->n * 2, err) != 0)
        return -1;
    struct pair *slot = pair_slot(m, p.a, p.b);
    if (slot->a == SYM_NONE) {
        *slot = p;
        m->n++;
    }
    return 0;
}

const struct pair *pairmap_find(const struct pairmap *m, uint32_t a, uint32_t b)
{
    const struct pair *p = pair_slot(m, a, b);
    return p->a == SYM_NONE ? NULL : p;
}
