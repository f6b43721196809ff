/* Every test of a grid on one engine: prompts, generations, depths, numbers of sequences. */
#include "base/environment.h"
#include "base/notify.h"
#include "bench/bench.h"
#include <math.h>
#include <string.h>

/* KV caches of one model: the first has the engine of b, whose weights and threads the others use. */
struct caches {
    struct bench b;
    struct bench_cache cache[BENCH_MOST_CACHES];
    size_t n;
};

/* Tests of one repetition: of each cache one, or a prompt and the generation after it. */
static int add_test(struct bench_results *res, const struct bench *b, const struct bench_test *t, size_t n_t, struct error *err)
{
    const size_t first_row = res->run.n_row;
    size_t op = res->run.n_op;
    double median_s[BENCH_MOST_TESTS];
    if (bench_run(&res->run, b, t, n_t, median_s, err) != 0)
        return -1;
    const struct run_row *row = &res->run.row[first_row];
    for (size_t k = 0, end; t->ops && k < n_t; k++, op = end) {
        for (end = op; end < res->run.n_op && strcmp(res->run.op[end].test, row[k].test) == 0; end++)
            ;
        if (bench_roles(&res->roles, &res->run, op, end, &row[k], err) != 0)
            return -1;
    }
    for (size_t k = 0; k + 1 < n_t; k++)
        if (row[k].n_prompt > 0 && row[k + 1].n_gen > 0)
            bench_add_batch(&res->batches, &row[k], &row[k + 1], median_s[k], median_s[k + 1]);
    return 0;
}

/* In each of the caches. */
static int one_test(struct bench_results *res, const struct caches *c, const struct bench_test *t, size_t n_t, struct error *err)
{
    const struct run_mark run = run_mark(&res->run), roles = run_mark(&res->roles);
    struct bench_test all[BENCH_MOST_TESTS];
    for (size_t k = 0; k < n_t * c->n; k++) {
        all[k] = t[k % n_t];
        all[k].cache = &c->cache[k / n_t];
    }
    if (add_test(res, &c->b, all, n_t * c->n, err) == 0)
        return 0;
    run_cut(&res->run, &run);
    run_cut(&res->roles, &roles);
    return -1;
}

static bool in_batches(const struct bench_grid *g)
{
    return int_list_largest(&g->b) > 1;
}

/* Every test at one depth and number of sequences. */
static int run_apart(struct bench_results *res, const struct caches *c, const struct bench_grid *g, struct bench_test t, struct error *err)
{
    for (int phase = 0; phase < 2; phase++) {
        const struct int_list *l = phase == 0 ? &g->p : &g->n;
        for (size_t i = 0; i < l->n; i++) {
            t.prefill = phase == 0;
            t.n = (uint32_t)l->v[i];
            if (t.n && one_test(res, c, &t, 1, err) != 0)
                return -1;
        }
    }
    return 0;
}

/* A prompt and the generation after it, or only one of them. */
static int run_pair(struct bench_results *res, const struct caches *c, struct bench_test t, int64_t n_prompt, int64_t n_gen, struct error *err)
{
    struct bench_test both[2] = { t, t };
    both[0].prefill = true;
    both[0].n = (uint32_t)n_prompt;
    both[1].n = (uint32_t)n_gen;
    both[1].depth += both[0].n;
    const size_t first = both[0].n == 0, n_t = (both[0].n > 0) + (size_t)(both[1].n > 0);
    return n_t ? one_test(res, c, both + first, n_t, err) : 0;
}

static int run_batch(struct bench_results *res, const struct caches *c, const struct bench_grid *g, struct bench_test t, struct error *err)
{
    for (size_t p = 0; p < g->p.n; p++)
        for (size_t n = 0; n < g->n.n; n++)
            if (run_pair(res, c, t, g->p.v[p], g->n.v[n], err) != 0)
                return -1;
    return 0;
}

static int run_grid(struct bench_results *res, const struct caches *c, const struct bench_grid *g, const struct bench_how *o,
                    uint32_t n_ubatch, struct error *err)
{
    for (size_t d = 0; d < g->d.n; d++)
        for (size_t k = 0; k < g->b.n; k++) {
            const struct bench_test t = { .depth = (uint32_t)g->d.v[d], .n_batch = (uint32_t)g->b.v[k],
                                          .n_ubatch = n_ubatch, .type_k = o->engine.type_k,
                                          .type_v = o->engine.type_v, .reps = (int)o->reps, .ops = o->ops,
                                          .no_warmup = o->no_warmup, .delay_s = o->delay_s };
            if ((in_batches(g) ? run_batch : run_apart)(res, c, g, t, err) != 0)
                return -1;
            for (size_t i = 0; i < g->n_pair; i++)
                if (run_pair(res, c, t, g->pair[i].v[0], g->pair[i].v[1], err) != 0)
                    return -1;
        }
    if (in_batches(g) && res->batches.n == 0)
        notify_note("llama-batched-bench's table is not printed: it needs -p and -n above 0");
    return 0;
}

static void size_engine(struct engine_options *eo, const struct bench_grid *g, uint32_t n_ubatch)
{
    uint64_t p = (uint64_t)int_list_largest(&g->p), n = (uint64_t)int_list_largest(&g->n), b = (uint64_t)int_list_largest(&g->b);
    uint64_t context = in_batches(g) ? p + n : u64_max(p, n);
    for (size_t i = 0; i < g->n_pair; i++) {
        p = u64_max(p, (uint64_t)g->pair[i].v[0]);
        context = u64_max(context, (uint64_t)(g->pair[i].v[0] + g->pair[i].v[1]));
    }
    eo->n_ctx = (uint32_t)(context + (uint64_t)int_list_largest(&g->d));
    eo->n_seq = (uint32_t)b;
    eo->n_ubatch = (uint32_t)u64_max(b, u64_min(n_ubatch, u64_max(p, 1) * b));
    eo->n_out_max = (uint32_t)b;
}

static void caches_free(struct caches *c)
{
    ceilings_prober_free(c->b.prober);
    while (c->n > 0)
        bench_cache_free(&c->cache[--c->n]);
}

static int caches_init(struct caches *c, const struct bench_grid *g, struct engine_options *eo, struct error *err)
{
    for (; c->n < g->block.n; c->n++) {
        eo->shared = c->b.e;
        if (bench_cache_init(&c->cache[c->n], c->b.m, eo, (uint32_t)g->block.v[c->n], err) != 0)
            return -1;
        c->b.e = c->cache[0].e;
    }
    return 0;
}

int bench_grid_run(struct bench_results *res, const struct model *m, const struct bench_grid *g, const struct bench_how *o,
                   const struct setup *machine, uint32_t n_ubatch, struct error *err)
{
    struct engine_options eo = setup_engine_options(machine, &o->engine);
    struct ceilings_options probe = { .effort = o->brief ? CEILINGS_BRIEF : CEILINGS_QUICK, .n_threads = machine->n_threads,
                                            .cpu_flags = machine->cpu_flags, .cpus = &machine->cpus };
    struct caches c = { .b = { .m = m, .machine = machine, .run = &res->run, .markers = o->markers,
                               .energy = o->energy, .stored = &o->stored } };
    struct bench *b = &c.b;
    struct run_loading l;
    const size_t n_before = res->run.n_row;
    size_engine(&eo, g, n_ubatch);
    eo.counters = (struct counters_options){ .backend = o->counters, .data_dirs = environment()->data_dirs, .root = environment()->root,
                                             .uncalibrated = o->uncalibrated };
    eo.markers = o->markers;
    if (eo.n_ctx > m->hp.n_ctx_train)
        notify_warn("%s: a context of %u tokens exceeds the trained context of %u", m->name, eo.n_ctx, m->hp.n_ctx_train);
    memory_peak_reset(); /* exclude the previous engine's probes */
    if (caches_init(&c, g, &eo, err) != 0) {
        caches_free(&c);
        return -1;
    }
    setup_note_scales(&o->engine, b->e);
    setup_loading(&l, b->e, m, machine);
    bench_share_memory(&probe, b->e, o->stored.cache_bytes, false, false);
    b->prober = ceilings_prober_new(bench_math(b->e), machine->n_threads, &probe, err);
    int rc = b->prober ? 0 : -1;
    l.probe_bytes = b->prober ? (double)ceilings_prober_bytes(b->prober) : NAN;
    if (rc == 0) {
        setup_provenance(&res->run.prov, machine, engine_kernels(b->e)->isa, counters_name(engine_counters(b->e)));
        rc = run_grid(res, &c, g, o, n_ubatch, err);
    }
    if (res->run.n_row > n_before && run_add_loading(&res->run, &l, rc == 0 ? err : NULL) != 0)
        rc = -1;
    caches_free(&c);
    return rc;
}
