/*
 * The engine's own count against the cost model, op by op: they share the op list and nothing else. Weights, KV
 * cache, activations and FLOP agree within 1 % (exactly, in fact) for prefill in several passes and for decode.
 */
#include "../test.h"
#include "engine/engine.h"
#include "roofline/roofline.h"
#include <math.h>

struct sum {
    const struct op_list *l;
    struct cost *cost; /* of each op */
    struct cost_options o;
};

static void add_pass(void *ctx, const struct pass *p)
{
    struct sum *s = ctx;
    for (size_t i = 0; i < s->l->n; i++)
        s->cost[i] = cost_add(s->cost[i], cost_op(&s->l->ops[i], p, &s->o));
}

static void near(const char *what, const struct op *op, double counted, double priced)
{
    if (fabs(counted - priced) > 0.01 * fmax(counted, priced))
        fail_msg("%s of %s, layer %d: the engine counted %.0f, the model says %.0f", what, op_role_name(op->role),
                 op->layer, counted, priced);
}

static void compare(const struct engine *e, const struct sum *s)
{
    const struct op_sample *sample = engine_samples(e);
    for (size_t i = 0; i < s->l->n; i++) {
        const struct work *w = &sample[i].work;
        const struct cost *c = &s->cost[i];
        const struct op *op = &s->l->ops[i];
        near("weight bytes", op, (double)w->weight_bytes, c->weight_bytes);
        near("KV bytes", op, (double)w->kv_bytes, c->kv_bytes);
        near("activation bytes", op, (double)w->act_bytes, c->act_bytes);
        near("FLOP", op, (double)w->flop, c->flop);
    }
}

static void check(const char *path, unsigned n_prompt, unsigned n_gen, unsigned n_ubatch, unsigned flags, int threads)
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
                                      .cpu_flags = flags };
    struct engine *e = engine_new(&m, &o, &err);
    if (!e)
        fail_msg("%s: %s", path, err.msg);
    struct sum s = { .l = engine_ops(e), .o = { .act_elem_bytes = 4, .kv_type = DTYPE_F16 } };
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

static void test_own_model(void **state)
{
    (void)state;
    char path[4200];
    const char *top = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/tests/fixtures/llama-2l.gguf", top ? top : ".");
    for (int threads = 1; threads <= 2; threads++) {
        check(path, 17, 3, 8, cpu_flags(), threads);
        check(path, 200, 2, 200, cpu_flags(), threads);
        check(path, 1, 5, 512, cpu_flags(), threads);
        check(path, 33, 3, 16, 0, threads);
    }
}

static void test_shared_models(void **state)
{
    (void)state;
    static const char *const names[] = { "llama-gqa-Q4_K_M", "llama-gqa-Q8_0", "llama-mqa-f16", "llama-tied-f16", "llama-gqa-BF16" };
    char path[4200];
    if (!shared_dir()) {
        print_message("# skipped: no shared data (set ROOFCAST_SHARED)\n");
        skip();
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        snprintf(path, sizeof path, "%s/data/oracle/%s.gguf", shared_dir(), names[i]);
        check(path, 70, 3, 32, cpu_flags(), 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_own_model), cmocka_unit_test(test_shared_models) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
