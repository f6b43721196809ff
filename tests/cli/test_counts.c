/*
 * The engine's own count against the cost model, op by op: they share the op list and nothing else. Weights, KV
 * cache, activations and FLOP agree within 1 % (exactly, in fact) for prefill in several passes and for decode.
 */
#include "../engine/ref/make_random.h"
#include "../test.h"
#include "cost/classes.h"
#include "engine/engine.h"
#include <math.h>
#include <unistd.h>

struct sum {
    const struct op_list *l;
    struct cost *cost; /* of each op */
    struct cost_options o;
    bool chance; /* passes of several tokens are in the sum */
    double n_seq_pass; /* passes, each as often as it has sequences */
};

static void add_pass(void *ctx, const struct pass *p)
{
    struct sum *s = ctx;
    for (size_t i = 0; i < s->l->n; i++)
        s->cost[i] = cost_add(s->cost[i], cost_op(&s->l->ops[i], p, &s->o));
    s->n_seq_pass += p->n_seq;
}

/* Experts whose weights op i read: of the choice before it, as the engine counted. */
static double experts_read(const struct op_list *l, const struct op_sample *sample, size_t i)
{
    const struct op *op = &l->ops[i];
    while (l->ops[i].kind != OP_ROUTE)
        i--;
    const double bias = op->bias ? (double)op->bias->bytes : 0;
    return (double)sample[i].n_expert * ((double)op->w->bytes + bias) / op->n_expert;
}

/* Bytes of block tables: the engine counts whole blocks, less than one (of a window two) more than priced in a sequence and pass. methods.md (22) */
static void near_tables(const struct op *op, double counted, double priced, double n_seq_pass)
{
    if (counted < priced - 1e-6 * priced || counted >= priced + (op->window ? 8 : 4) * n_seq_pass)
        fail_msg("KV bytes of %s, layer %d: the engine counted %.0f, the model says %.2f and less than %.0f more", op_role_name(op->role), op->layer,
                 counted, priced, (op->window ? 8 : 4) * n_seq_pass);
}

static void near(const char *what, const struct op *op, double counted, double priced)
{
    if (fabs(counted - priced) > 0.01 * fmax(counted, priced))
        fail_msg("%s of %s, layer %d: the engine counted %.0f, the model says %.0f", what, op_role_name(op->role),
                 op->layer, counted, priced);
}

/* op by op: everything the engine counted */
static void compare(const struct engine *e, const struct sum *s)
{
    const struct op_sample *sample = engine_samples(e);
    for (size_t i = 0; i < s->l->n; i++) {
        const struct work *w = &sample[i].work;
        const struct cost *c = &s->cost[i];
        const struct op *op = &s->l->ops[i];
        /* What a prompt of several tokens touches is a matter of its tokens, and the model's an average. */
        const bool chance = op->kind == OP_EXPERT_MATMUL && s->chance;
        near("weight bytes", op, (double)w->weight_bytes, chance ? experts_read(s->l, sample, i) : c->weight_bytes);
        if (s->o.kv_block > 0 && op->kind == OP_ATTENTION)
            near_tables(op, (double)w->kv_bytes, c->kv_bytes, s->n_seq_pass);
        else
            near("KV bytes", op, (double)w->kv_bytes, c->kv_bytes);
        near("activation bytes", op, (double)w->act_bytes, c->act_bytes);
        near("FLOP", op, (double)w->flop, c->flop);
    }
}

/* The cache is as large as the model says, but for each array's alignment to 64 bytes. */
static void compare_cache(const struct engine *e, const struct model *m, const struct sum *s, unsigned n_ctx,
                          unsigned n_ubatch)
{
    const double priced = cost_kv_bytes(s->l, &s->o, n_ctx, n_ubatch), taken = (double)engine_kv_bytes(e);
    if (!(taken >= priced && taken < priced + 2 * 64.0 * m->hp.n_layer))
        fail_msg("the engine's cache of %u positions takes %.0f bytes, the model says %.0f", n_ctx, taken, priced);
}

double count_barriers(const struct engine *e, bool one); /* tests/engine/count_barriers.c */

/* A prediction has threads meet as often as the engine's do. */
static void compare_barriers(const struct engine *e, const struct op_classes *l)
{
    for (int one = 0; one < 2; one++) {
        double n = 0;
        for (size_t i = 0; i < l->n; i++)
            n += l->c[i].count * l->c[i].barriers[one];
        if (!(n > 0) || fabs(n - count_barriers(e, one)) > 1e-6)
            fail_msg("%s: %.9g barriers are priced, the plan has %.9g", one ? "one token" : "a prompt", n, count_barriers(e, one));
    }
}

static void check(const char *path, unsigned n_prompt, unsigned n_gen, unsigned n_ubatch, unsigned flags, int threads,
                  enum dtype kv)
{
    struct error err = { 0 };
    struct model m = { 0 };
    struct cpulist cpus;
    int32_t tok[512];
    assert_ok(cpulist_usable(&cpus, &err), err);
    assert_ok(model_load(&m, path, NULL, &err), err);
    for (unsigned i = 0; i < n_prompt + n_gen; i++)
        tok[i] = (int32_t)(i * 7919u % m.hp.n_vocab);
    const struct engine_options o = { .n_ctx = n_prompt + n_gen, .n_ubatch = n_ubatch, .n_out_max = 1,
                                      .n_threads = (size_t)threads < cpus.n ? threads : (int)cpus.n, .cpus = &cpus,
                                      .cpu_flags = flags, .type_k = kv, .type_v = kv };
    struct engine *e = engine_new(&m, &o, &err);
    if (!e)
        fail_msg("%s: %s", path, err.msg);
    struct sum s = { .l = engine_ops(e), .o = { .act_elem_bytes = 4, .type_k = kv, .type_v = kv }, .chance = n_prompt > 1 };
    compare_cache(e, &m, &s, n_prompt + n_gen, n_ubatch);
    struct op_classes l;
    assert_ok(op_classes_init(&l, &m, engine_ops(e), &err), err);
    compare_barriers(e, &l);
    op_classes_free(&l);
    s.cost = calloc(s.l->n, sizeof *s.cost);
    assert_ok(engine_eval(e, tok, n_prompt, 0, 1, NULL, &err), err);
    prefill_passes(n_prompt, 0, n_ubatch, 1, add_pass, &s);
    compare(e, &s);
    for (unsigned i = 0; i < n_gen; i++) {
        const struct pass p = { 1, n_prompt + i, 1, 1 };
        assert_ok(engine_eval(e, tok + n_prompt + i, 1, n_prompt + i, 1, NULL, &err), err);
        add_pass(&s, &p);
    }
    compare(e, &s);
    free(s.cost);
    engine_free(e);
    model_free(&m);
    cpulist_free(&cpus);
}

/* The blocks of three sequences, backwards: [sequence][group][block]. */
enum { N_SEQ = 3, N_PROMPT = 37, N_GEN = 4, N_CTX = N_PROMPT + N_GEN, MOST_BLOCKS = (N_CTX + 7) / 8 };
struct pages {
    uint32_t block[N_SEQ][KV_MAX_GROUPS][MOST_BLOCKS];
    const uint32_t *table[N_SEQ][KV_MAX_GROUPS];
};

static void pages_init(struct pages *p, const struct kv_groups *g, uint32_t block_size, struct engine_options *o)
{
    const uint32_t len = (N_CTX + block_size - 1) / block_size;
    o->groups = *g;
    o->block_size = block_size;
    o->n_block = N_SEQ * g->n * len;
    for (uint32_t s = 0, next = o->n_block; s < N_SEQ; s++)
        for (uint32_t k = 0; k < g->n; k++) {
            p->table[s][k] = p->block[s][k];
            for (uint32_t b = 0; b < len; b++)
                p->block[s][k][b] = --next;
        }
}

/* A pool takes what its blocks' positions are priced at, but for the padding of each head's part; of several groups every block as much. */
static void compare_pool(const struct engine *e, const struct sum *s, const struct engine_options *o)
{
    double layers = 0, parts = 0;
    for (size_t i = 0; i < s->l->n; i++) {
        layers += s->l->ops[i].kind == OP_KV_STORE;
        parts += s->l->ops[i].kind == OP_KV_STORE ? 2.0 * s->l->ops[i].n_head_kv : 0;
    }
    const double priced = cost_kv_bytes_token(s->l, &s->o) / layers * o->groups.size * o->block_size * o->n_block, taken = (double)engine_kv_bytes(e);
    const double padding = 64 * parts / layers * o->groups.size * o->n_block;
    if (!(taken >= priced && taken <= priced + padding))
        fail_msg("%u blocks of %u positions take %.0f bytes, the model says %.0f", o->n_block, o->block_size, taken, priced);
}

/* Several sequences in one pass: a prompt of each, then steps together. block: of a paged cache; 0: contiguous. */
static void check_batch(const char *path, enum dtype kv, uint32_t block)
{
    struct error err = { 0 };
    struct model m = { 0 };
    struct cpulist cpus;
    struct op_list ops;
    struct pages pages;
    int32_t tok[N_SEQ * N_PROMPT];
    const float *logits;
    assert_ok(cpulist_usable(&cpus, &err), err);
    assert_ok(model_load(&m, path, NULL, &err), err);
    for (unsigned i = 0; i < N_SEQ * N_PROMPT; i++)
        tok[i] = (int32_t)(i * 7919u % m.hp.n_vocab);
    struct engine_options o = { .n_ctx = N_CTX, .n_seq = N_SEQ, .n_ubatch = N_SEQ * N_PROMPT, .n_out_max = N_SEQ,
                                .n_threads = (int)u64_min(2, cpus.n), .cpus = &cpus, .cpu_flags = cpu_flags(), .type_k = kv, .type_v = kv };
    assert_ok(op_list_build(&ops, &m, &err), err);
    const struct kv_groups groups = kv_groups_of_ops(&ops);
    op_list_free(&ops);
    if (block > 0)
        pages_init(&pages, &groups, block, &o);
    struct engine *e = engine_new(&m, &o, &err);
    if (!e)
        fail_msg("%s: %s", path, err.msg);
    struct sum s = { .l = engine_ops(e), .o = { .act_elem_bytes = 4, .type_k = kv, .type_v = kv, .kv_block = block }, .chance = true };
    s.cost = calloc(s.l->n, sizeof *s.cost);
    if (block > 0)
        compare_pool(e, &s, &o);
    for (uint32_t past = 0, n = N_PROMPT; past < N_CTX; past += n, n = 1) {
        struct engine_run run[N_SEQ];
        for (uint32_t r = 0; r < N_SEQ; r++)
            run[r] = (struct engine_run){ .seq = r, .n_past = past, .n_tok = n, .n_out = 1, .table = block > 0 ? pages.table[r] : NULL };
        assert_ok(engine_eval_runs(e, tok, run, N_SEQ, &logits, &err), err);
        add_pass(&s, &(struct pass){ .n_tok = N_SEQ * n, .n_past = past, .n_seq = N_SEQ, .n_out = N_SEQ });
    }
    compare(e, &s);
    free(s.cost);
    engine_free(e);
    model_free(&m);
    cpulist_free(&cpus);
}

static void test_own_model(void **state)
{
    (void)state;
    char path[4200];
    const char *top = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/tests/fixtures/llama-2l.gguf", top ? top : ".");
    for (int threads = 1; threads <= 2; threads++) {
        check(path, 17, 3, 8, cpu_flags(), threads, DTYPE_F16);
        check(path, 200, 2, 200, cpu_flags(), threads, DTYPE_F16);
        check(path, 1, 5, 512, cpu_flags(), threads, DTYPE_BF16);
        check(path, 33, 3, 16, 0, threads, DTYPE_F16);
    }
    static const uint32_t blocks[] = { 0, 8, 16, 32, 128 };
    for (size_t i = 0; i < ARRAY_LEN(blocks); i++)
        check_batch(path, DTYPE_F16, blocks[i]);
    check_batch(path, DTYPE_BF16, 8);
}

static void test_shared_models(void **state)
{
    (void)state;
    static const char *const names[] = { "llama-gqa-Q4_K_M", "llama-gqa-Q8_0", "llama-mqa-f16", "llama-tied-f16",
                                         "llama-gqa-BF16",   "qwen2-f16",      "qwen3-f16",     "gemma3-f16",
                                         "phi3-f16",         "mixtral-f16" };
    char path[4200];
    if (!shared_dir()) {
        print_message("# skipped: no shared data (set ROOFCAST_SHARED)\n");
        skip();
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        snprintf(path, sizeof path, "%s/data/oracle/%s.gguf", shared_dir(), names[i]);
        check(path, 70, 3, 32, cpu_flags(), 2, DTYPE_F16);
        check(path, 1, 3, 1, cpu_flags(), 2, DTYPE_Q8_0);
    }
}

/* Where every byte of the file's tensors goes in a decode step. methods.md (23) */
static void check_account(const char *path)
{
    struct error err = { 0 };
    struct model m = { 0 };
    struct op_list l;
    struct weight_account a;
    uint64_t bytes = 0;
    assert_ok(model_load(&m, path, NULL, &err), err);
    assert_ok(op_list_build(&l, &m, &err), err);
    account_weights(&a, &m, &l, 1, NULL);
    for (size_t i = 0; i < gguf_n_tensors(m.gguf); i++)
        bytes += gguf_tensor_at(m.gguf, i)->bytes;
    const double sum = a.read_bytes - a.embed_again_bytes + a.embed_unread_bytes + a.expert_unread_bytes + a.apart_bytes;
    if (sum != (double)bytes)
        fail_msg("%s: the parts add up to %.0f bytes, the tensors have %llu", path, sum, (unsigned long long)bytes);
    op_list_free(&l);
    model_free(&m);
}

/* All families, every shape: windows shorter than the prompt, latents in both forms, experts shared and routed. */
static void test_architectures(void **state)
{
    (void)state;
    for (size_t f = 0; random_families[f]; f++)
        for (int i = 0; i < random_spec_count(random_families[f]); i++) {
            struct random_spec s;
            struct error err = { 0 };
            char path[64];
            random_spec_at(&s, random_families[f], i);
            snprintf(path, sizeof path, "test_counts.%s.%d.gguf", s.family, i);
            assert_ok(random_write(path, &s, &err), err);
            check_account(path);
            check(path, 40, 3, 40, cpu_flags(), 2, DTYPE_F16);
            check(path, 30, 3, 7, cpu_flags(), 1, DTYPE_F16);
            check(path, 1, 20, 1, cpu_flags(), 2, DTYPE_F16);
            check_batch(path, DTYPE_F16, 0);
            check_batch(path, DTYPE_F16, i % 2 ? 8 : 16);
            unlink(path);
        }
}

/* ---- multi-token prediction ---------------------------------------------------------------------- */

/* The list that predictions price is the list that the engine executes, and costs what it counts. */
static void check_nextn(const char *path)
{
    enum { N = 20, N_MORE = 3 };
    struct error err = { 0 };
    struct model m = { 0 };
    struct nextn x;
    struct op_classes l;
    int32_t tok[N];
    assert_ok(model_load(&m, path, NULL, &err), err);
    struct engine_options o = { .n_ctx = N + N_MORE, .n_ubatch = N, .n_out_max = 1, .n_threads = 2, .cpu_flags = cpu_flags(), .type_k = DTYPE_F16,
                                .type_v = DTYPE_F16, .nextn = true };
    struct engine *e = engine_new(&m, &o, &err);
    float *hidden = calloc((size_t)N * m.hp.n_embd, sizeof *hidden);
    if (!e)
        fail_msg("%s: %s", path, err.msg);
    assert_ok(nextn_init(&x, &m, &err), err);
    assert_ok(nextn_classes_init(&l, &x, &m, &err), err);
    assert_int_equal(x.ops.n, engine_ops(e)->n);
    for (size_t i = 0; i < x.ops.n; i++)
        assert_true(x.ops.ops[i].kind == engine_ops(e)->ops[i].kind && x.ops.ops[i].w == engine_ops(e)->ops[i].w);
    compare_barriers(e, &l);
    assert_true(fabs(step_weight_bytes(&l, &(struct layout){ .tp = 1 })) < 1e-6); /* all are among the file's */
    struct sum s = { .l = engine_ops(e), .o = { .act_elem_bytes = 4, .type_k = DTYPE_F16, .type_v = DTYPE_F16 }, .chance = true };
    compare_cache(e, &m, &s, N + N_MORE, N);
    s.cost = calloc(s.l->n, sizeof *s.cost);
    for (uint32_t i = 0; i < N * m.hp.n_embd; i++)
        hidden[i] = (float)(i * 7919u % 64) / 32 - 1;
    for (uint32_t i = 0; i < N; i++)
        tok[i] = (int32_t)(i * 7919u % m.hp.n_vocab);
    for (uint32_t past = 0, n = N; past < N + N_MORE; past += n, n = 1) {
        const struct engine_run run = { .n_past = past, .n_tok = n, .n_out = 1, .hidden = hidden };
        assert_ok(engine_eval_runs(e, tok, &run, 1, NULL, &err), err);
        add_pass(&s, &(struct pass){ .n_tok = n, .n_past = past, .n_seq = 1, .n_out = 1 });
    }
    compare(e, &s);
    free(s.cost);
    free(hidden);
    op_classes_free(&l);
    nextn_free(&x);
    engine_free(e);
    model_free(&m);
}

static void test_nextn(void **state)
{
    (void)state;
    for (int i = 0; i < random_spec_count("deepseek2"); i++) {
        struct random_spec s;
        struct error err = { 0 };
        char path[64];
        random_spec_at(&s, "deepseek2", i);
        s.n_nextn = 1;
        s.nextn_own = i % 2;
        snprintf(path, sizeof path, "test_counts.nextn.%d.gguf", i);
        assert_ok(random_write(path, &s, &err), err);
        check_nextn(path);
        unlink(path);
    }
}

/* ---- routing ------------------------------------------------------------------------------------ */

enum { ROUTED_SEQ = 8, ROUTED_PASSES = 400 };

/* Popularities as a run records them: of the layers that have experts, one after the other. */
static struct routing recorded(const struct engine *e, double n_tok, double *popularity)
{
    const struct op_list *l = engine_ops(e);
    struct routing r = { .popularity = popularity };
    for (size_t i = 0; i < l->n; i++) {
        const struct op *op = &l->ops[i];
        double sum = 0;
        if (op->kind != OP_ROUTE) {
            assert_null(engine_expert_uses(e, i));
            continue;
        }
        r.n = op->n_expert;
        r.n_used = op->n_expert_used;
        for (uint32_t k = 0; k < r.n; k++) {
            const double uses = (double)engine_expert_uses(e, i)[k];
            popularity[r.n_layer * r.n + k] = uses / n_tok;
            sum += uses;
        }
        assert_true(sum == n_tok * r.n_used); /* every token uses so many */
        r.n_layer++;
    }
    return r;
}

/* Bytes of experts: counted by the engine, and priced with the routing in passes of one token a sequence. */
static double expert_bytes(const struct engine *e, const struct routing *r, double n_pass, double *priced)
{
    const struct op_list *l = engine_ops(e);
    const struct cost_options o = { .act_elem_bytes = 4, .type_k = DTYPE_F16, .type_v = DTYPE_F16, .routing = r };
    const struct pass p = decode_pass(0, ROUTED_SEQ);
    double counted = 0;
    *priced = 0;
    for (size_t i = 0; i < l->n; i++)
        if (l->ops[i].kind == OP_EXPERT_MATMUL) {
            counted += (double)engine_samples(e)[i].work.weight_bytes;
            *priced += n_pass * cost_op(&l->ops[i], &p, &o).weight_bytes;
        }
    return counted;
}

/* A pass of first tokens: of all sequences the same one, or each any. */
static void route_pass(struct engine *e, const struct model *m, struct rng *rng, bool same)
{
    struct engine_run run[ROUTED_SEQ];
    int32_t tok[ROUTED_SEQ];
    const float *logits;
    struct error err = { 0 };
    for (uint32_t r = 0; r < ROUTED_SEQ; r++) {
        run[r] = (struct engine_run){ r, 0, 1, .n_out = 1 };
        tok[r] = same ? 7 : (int32_t)(rng_u64(rng) % m->hp.n_vocab);
    }
    assert_ok(engine_eval_runs(e, tok, run, ROUTED_SEQ, &logits, &err), err);
}

/* The same token in all sequences uses the same experts: popularities are 0 and 1, and the price is exact. Tokens drawn
 * anew for every pass choose independently: over 400 passes the mean number of experts is off by its standard error, less
 * than 0.5 %, and the price that the recorded popularities give agrees within 2 %. Uniform routing would read more. */
static void check_routing(const char *path)
{
    struct error err = { 0 };
    struct model m = { 0 };
    struct cpulist cpus;
    struct rng rng;
    double priced, uniform;
    assert_ok(cpulist_usable(&cpus, &err), err);
    assert_ok(model_load(&m, path, NULL, &err), err);
    const struct engine_options o = { .n_ctx = 2, .n_seq = ROUTED_SEQ, .n_ubatch = ROUTED_SEQ, .n_out_max = ROUTED_SEQ,
                                      .n_threads = (int)u64_min(2, cpus.n), .cpus = &cpus, .cpu_flags = cpu_flags(),
                                      .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
    struct engine *e = engine_new(&m, &o, &err);
    if (!e)
        fail_msg("%s: %s", path, err.msg);
    double *popularity = calloc((size_t)m.hp.n_layer * m.hp.n_expert, sizeof *popularity);
    rng_init(&rng, 5);
    route_pass(e, &m, &rng, true);
    struct routing r = recorded(e, ROUTED_SEQ, popularity);
    double counted = expert_bytes(e, &r, 1, &priced);
    assert_true(counted == priced);
    engine_reset(e);
    for (int i = 0; i < ROUTED_PASSES; i++)
        route_pass(e, &m, &rng, false);
    r = recorded(e, (double)ROUTED_PASSES * ROUTED_SEQ, popularity);
    counted = expert_bytes(e, &r, ROUTED_PASSES, &priced);
    (void)expert_bytes(e, NULL, ROUTED_PASSES, &uniform);
    if (fabs(counted - priced) > 0.02 * counted)
        fail_msg("%s: the engine read %.0f bytes of experts, recorded routing says %.0f", path, counted, priced);
    assert_true(priced < uniform);
    free(popularity);
    engine_free(e);
    model_free(&m);
    cpulist_free(&cpus);
}

static void test_routing(void **state)
{
    (void)state;
    static const char *const families[] = { "mixtral", "qwen3moe", "deepseek2" };
    for (size_t f = 0; f < ARRAY_LEN(families); f++) {
        struct random_spec s;
        struct error err = { 0 };
        char path[64];
        random_spec_at(&s, families[f], 0);
        snprintf(path, sizeof path, "test_counts.routing.%s.gguf", s.family);
        assert_ok(random_write(path, &s, &err), err);
        check_routing(path);
        unlink(path);
    }
}

/* test_counts [CASE] */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_own_model), cmocka_unit_test(test_shared_models),
                                        cmocka_unit_test(test_architectures), cmocka_unit_test(test_nextn), cmocka_unit_test(test_routing) };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
