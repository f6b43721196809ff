/* KV caches of a benchmark: contiguous, or paged with the blocks of all sequences in random order in the pool, as a server's are in the long run. */
#include "bench/bench.h"
#include <stdlib.h>

/* Blocks that a sequence has of a group at once: of all positions, or of a window and the tokens of a pass. */
static uint64_t blocks_of_group(const struct engine_options *o, uint32_t window)
{
    const uint64_t all = u64_ceil_div(o->n_ctx, o->block_size);
    return window > 0 ? u64_min(all, u64_ceil_div((uint64_t)window + o->n_ubatch, o->block_size) + 1) : all;
}

static uint64_t blocks_of_sequence(const struct engine_options *o)
{
    uint64_t n = 0;
    for (uint32_t g = 0; g < o->groups.n; g++)
        n += blocks_of_group(o, o->groups.window[g]);
    return n;
}

/* A permutation of [0, n): the same for every run. */
static uint32_t *shuffled(uint32_t n, struct error *err)
{
    uint32_t *v = malloc(n * sizeof *v);
    struct rng r;
    rng_init(&r, 1);
    if (!v)
        error_oom(err, n * sizeof *v, "the blocks");
    for (uint32_t i = 0; v && i < n; i++) {
        const uint32_t at = (uint32_t)(rng_u64(&r) % (i + 1));
        v[i] = v[at];
        v[at] = i;
    }
    return v;
}

/* The tables: a windowed group uses its blocks again and again. */
static int assign(struct bench_cache *c, const struct engine_options *o, struct error *err)
{
    const size_t n_seq = o->n_seq, n_table = n_seq * o->groups.n, len = (size_t)u64_ceil_div(o->n_ctx, o->block_size);
    uint32_t *pool = shuffled(o->n_block, err), *next = pool;
    c->n_group = o->groups.n;
    c->block = calloc(n_table * len, sizeof *c->block);
    c->table = calloc(n_table, sizeof *c->table);
    if (pool && (!c->block || !c->table))
        error_oom(err, n_table * len * sizeof *c->block, "the block tables");
    const bool ok = pool && c->block && c->table;
    for (size_t t = 0; ok && t < n_table; t++) {
        const size_t own = (size_t)blocks_of_group(o, o->groups.window[t % o->groups.n]);
        for (size_t i = 0; i < len; i++)
            c->block[t * len + i] = next[i % own];
        c->table[t] = c->block + t * len;
        next += own;
    }
    free(pool);
    return ok ? 0 : -1;
}

int bench_cache_init(struct bench_cache *c, const struct model *m, const struct engine_options *eo, uint32_t block_size, struct error *err)
{
    struct engine_options o = *eo;
    struct op_list ops;
    *c = (struct bench_cache){ .block_size = block_size };
    if (block_size > 0) {
        if (op_list_build(&ops, m, err) != 0)
            return -1;
        o.block_size = block_size;
        o.groups = kv_groups_of_ops(&ops);
        op_list_free(&ops);
        const uint64_t n = o.n_seq * blocks_of_sequence(&o);
        if (n > UINT32_MAX)
            return error_set(err, ERROR_USAGE, "%u sequences of %u positions: more than %u blocks of %u", o.n_seq, o.n_ctx, UINT32_MAX, block_size);
        o.n_block = (uint32_t)n;
        if (assign(c, &o, err) != 0)
            goto fail;
    }
    c->e = engine_new(m, &o, err);
    if (c->e)
        return 0;
fail:
    bench_cache_free(c);
    return -1;
}

void bench_cache_free(struct bench_cache *c)
{
    engine_free(c->e);
    free(c->block);
    free(c->table);
    *c = (struct bench_cache){ 0 };
}
