/* An engine over a model's weights, on CPUs of its own. */
#include "engine/engine.h"
#include "bench/setup.h"
#include "lib/internal.h"
#include <stdlib.h>

struct roofcast_engine {
    struct setup machine;
    struct engine *e;
    uint32_t n_cached; /* tokens in the KV cache */
    struct roofcast_engine_info info;
};

void roofcast_engine_options_init(struct roofcast_engine_options *o, size_t size)
{
    const struct roofcast_engine_options defaults = { .size = sizeof defaults, .n_ctx = 512, .n_ubatch = 512 };
    lib_options_init(o, size, &defaults, sizeof defaults);
}

static int open_engine(struct roofcast_engine *x, const struct roofcast_model *m, const struct roofcast_engine_options *a,
                       struct roofcast_error *err)
{
    struct error e = { 0 };
    struct setup_options so = { .isa = a->isa, .cpus = a->cpus, .no_repack = a->no_repack != 0, .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
    if (!m->m.gguf)
        return lib_error(err, ROOFCAST_ERROR_USAGE, "a model without weights: the engine needs a GGUF file");
    if (a->n_ctx == 0 || a->n_ubatch == 0)
        return lib_error(err, ROOFCAST_ERROR_USAGE, "engine options: expected n_ctx and n_ubatch of at least 1");
    if ((a->type_k || a->type_v) && lib_kv_types(&so.type_k, &so.type_v, m, a->type_k ? a->type_k : "F16", a->type_v ? a->type_v : "F16", err) != 0)
        return -1;
    if (setup_model_warm(&m->m, &e) != 0 || setup_init(&x->machine, a->n_threads, &so, &e) != 0)
        return lib_fail(err, &e);
    struct engine_options eo = setup_engine_options(&x->machine, &so);
    eo.n_ctx = a->n_ctx;
    eo.n_ubatch = a->n_ubatch < a->n_ctx ? a->n_ubatch : a->n_ctx;
    eo.n_out_max = 1;
    x->e = engine_new(&m->m, &eo, &e);
    if (!x->e)
        return lib_fail(err, &e);
    x->info = (struct roofcast_engine_info){
        .n_threads = (uint32_t)x->machine.n_threads, .n_ctx = eo.n_ctx, .n_ubatch = eo.n_ubatch, .n_vocab = m->m.hp.n_vocab,
        .isa = engine_kernels(x->e)->isa, .packed_bytes = engine_packed_bytes(x->e, NULL), .kv_bytes = engine_kv_bytes(x->e),
    };
    return 0;
}

struct roofcast_engine *roofcast_engine_new(const struct roofcast_model *m, const struct roofcast_engine_options *o, struct roofcast_error *err)
{
    struct roofcast_engine_options a;
    struct roofcast_engine *x;
    roofcast_engine_options_init(&a, sizeof a);
    if (lib_options(&a, sizeof a, o, err) != 0)
        return NULL;
    if (!(x = calloc(1, sizeof *x))) {
        lib_error(err, ROOFCAST_ERROR_SYSTEM, "out of memory: an engine");
        return NULL;
    }
    if (open_engine(x, m, &a, err) == 0)
        return x;
    roofcast_engine_free(x);
    return NULL;
}

void roofcast_engine_free(struct roofcast_engine *x)
{
    if (!x)
        return;
    engine_free(x->e);
    setup_free(&x->machine);
    free(x);
}

const struct roofcast_engine_info *roofcast_engine_info(const struct roofcast_engine *x)
{
    return &x->info;
}

int roofcast_engine_eval(struct roofcast_engine *x, const int32_t *tokens, uint32_t n, uint32_t n_past, const float **logits,
                         struct roofcast_error *err)
{
    struct error e = { 0 };
    if (n_past > x->n_cached) {
        error_set(&e, ERROR_USAGE, "n_past %u: expected at most the %u tokens in the KV cache", n_past, x->n_cached);
        return lib_fail(err, &e);
    }
    if (engine_eval(x->e, tokens, n, n_past, 1, logits, &e) != 0)
        return lib_fail(err, &e);
    x->n_cached = n_past + n;
    return 0;
}

int32_t roofcast_argmax(const float *logits, uint32_t n)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        best = logits[i] > logits[best] ? i : best;
    return (int32_t)best;
}

void roofcast_engine_profile(struct roofcast_engine *x, int on)
{
    engine_profile(x->e, on != 0);
    engine_reset(x->e);
}

int roofcast_engine_sample(const struct roofcast_engine *x, size_t op, struct roofcast_op_sample *out, struct roofcast_error *err)
{
    if (op >= engine_ops(x->e)->n)
        return lib_error(err, ROOFCAST_ERROR_USAGE, "no op of that index");
    const struct op_sample *s = &engine_samples(x->e)[op];
    *out = (struct roofcast_op_sample){
        .n_pass = s->n, .seconds = s->seconds,
        .cost = { (double)s->work.weight_bytes, (double)s->work.act_bytes, (double)s->work.kv_bytes, (double)s->work.flop, 0 },
    };
    return 0;
}
