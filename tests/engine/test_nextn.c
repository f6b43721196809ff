/*
 * The layer of multi-token prediction against a second pass written from the paper (ref/): hidden states of the model, drafts' logits after every token,
 * further drafts from the layer's own hidden states, and after drafts that were wrong.
 */
#include "../test.h"
#include "engine/engine.h"
#include "model/arch.h"
#include "model/nextn.h"
#include "ref/make_random.h"
#include "ref/ref.h"
#include <math.h>
#include <unistd.h>

enum { N_TOK = 24, N_MORE = 3 };

struct subject {
    struct random_spec spec;
    char path[64];
    struct model m;
    int32_t tok[N_TOK];
    struct gguf *g;
    struct ref_model *ref;
    float *hidden; /* [N_TOK, n_embd] of the reference */
};

static void subject_open(struct subject *s, int shape, int n_nextn, bool own)
{
    struct error err = { 0 };
    *s = (struct subject){ 0 };
    random_spec_at(&s->spec, "deepseek2", shape);
    s->spec.n_nextn = n_nextn;
    s->spec.nextn_own = own;
    snprintf(s->path, sizeof s->path, "test_nextn.%d.%d.gguf", shape, own);
    assert_ok(random_write(s->path, &s->spec, &err), err);
    assert_ok(model_load(&s->m, s->path, NULL, &err), err);
    assert_int_equal(s->m.hp.n_layer_nextn, n_nextn);
    random_tokens(&s->spec, s->tok, N_TOK);
    if (!(s->g = gguf_open(s->path, &err)) || !(s->ref = ref_new(s->g, N_TOK + N_MORE, &(struct ref_options){ .cache = REF_CACHE_LATENT }, &err)))
        fail_msg("%s", err.msg);
    const size_t n = s->m.hp.n_embd;
    s->hidden = malloc(N_TOK * n * sizeof *s->hidden);
    for (size_t t = 0; t < N_TOK; t++) {
        const double *unused;
        ref_eval(s->ref, s->tok[t], &unused);
        for (size_t i = 0; i < n; i++)
            s->hidden[t * n + i] = (float)ref_hidden(s->ref)[i];
    }
}

static void subject_close(struct subject *s)
{
    ref_free(s->ref);
    gguf_close(s->g);
    model_free(&s->m);
    free(s->hidden);
    unlink(s->path);
}

static double max_diff(const float *a, const double *b, size_t n)
{
    double d = 0;
    for (size_t i = 0; i < n; i++)
        d = fmax(d, isnan(a[i]) ? INFINITY : fabs((double)a[i] - b[i]));
    return d;
}

/* As tests/engine/test_archs.c: half precision latents may round either way; quantized experts meet 8-bit activations on fast ISAs. */
static double bound(const struct subject *s, unsigned flags)
{
    return flags == 0 || dtype_find(s->spec.experts)->block_elems == 1 ? 0.01 : 0.35;
}

/* Blocks of the one sequence of a paged cache. */
enum { BLOCK = 8, N_BLOCK = (N_TOK + N_MORE + BLOCK - 1) / BLOCK };
static const uint32_t blocks[N_BLOCK] = { 2, 0, 3, 1 };
static const uint32_t *const table[] = { blocks };

static struct engine *engine_for(const struct subject *s, unsigned flags, bool pages, struct engine *target)
{
    struct error err = { 0 };
    const struct engine_options o = { .n_ctx = N_TOK + N_MORE, .n_block = pages ? N_BLOCK : 0, .block_size = BLOCK, .n_ubatch = N_TOK, .n_out_max = N_TOK,
                                      .n_threads = pages ? 1 : 2, .cpu_flags = flags, .type_k = DTYPE_F16, .type_v = DTYPE_F16, .hidden = !target, .nextn = target, .shared = target };
    struct engine *e = engine_new(&s->m, &o, &err);
    if (!e)
        fail_msg("%s: %s", s->path, err.msg);
    return e;
}

/* Hidden states of prompts in passes, whatever rows of logits they give. */
static void check_model(const struct subject *s, struct engine *e, double limit)
{
    struct error err = { 0 };
    const size_t n = s->m.hp.n_embd;
    for (uint32_t t = 0, k; t < N_TOK; t += k) {
        const float *logits;
        size_t stride;
        k = (uint32_t)u64_min(1 + t % 7, N_TOK - t);
        assert_ok(engine_eval_runs(e, s->tok + t, &(struct engine_run){ .n_past = t, .n_tok = k, .n_out = t % 2, .table = table }, 1, &logits, &err), err);
        const float *h = engine_hidden(e, &stride);
        for (uint32_t i = 0; i < k; i++)
            for (size_t c = 0; c < n; c++)
                if (!(fabs((double)h[i * stride + c] - (double)s->hidden[(t + i) * n + c]) < limit))
                    fail_msg("%s: hidden state of token %u of %u: %g, expected %g", s->path, i, k, (double)h[i * stride + c], (double)s->hidden[(t + i) * n + c]);
    }
}

/* k tokens of the layer from position `at`, tok those after them; logits and hidden states of all. */
static void check_pass(const struct subject *s, struct engine *e, uint32_t at, uint32_t k, const float *hidden, const int32_t *tok, double limit)
{
    struct error err = { 0 };
    const size_t n = s->m.hp.n_embd, v = s->m.hp.n_vocab;
    const struct engine_run run = { .n_past = at, .n_tok = k, .n_out = k, .table = table, .hidden = hidden };
    const float *logits;
    size_t stride;
    assert_ok(engine_eval_runs(e, tok, &run, 1, &logits, &err), err);
    const float *h = engine_hidden(e, &stride);
    double in[512];
    assert_true(n <= ARRAY_LEN(in));
    for (uint32_t i = 0; i < k; i++) {
        const double *want, *want_hidden;
        for (size_t c = 0; c < n; c++)
            in[c] = (double)hidden[i * n + c];
        ref_nextn(s->ref, (int)(at + i), in, tok[i], &want, &want_hidden);
        const double d = max_diff(logits + i * v, want, v), dh = max_diff(h + i * stride, want_hidden, n);
        if (!(d < limit && dh < limit))
            fail_msg("%s: position %u: logits are off by %g, the hidden state by %g, bound %g", s->path, at + i, d, dh, limit);
    }
}

/* Drafts of wrong tokens from the layer's own hidden states, after the pass that ended at position at - 1. */
static void check_more(const struct subject *s, struct engine *e, uint32_t at, uint32_t last, double limit)
{
    const size_t n = s->m.hp.n_embd;
    float own[512];
    for (uint32_t k = 0; k < N_MORE; k++) {
        size_t stride;
        const float *h = engine_hidden(e, &stride);
        const int32_t wrong = (int32_t)((at * 5 + k) % s->m.hp.n_vocab);
        memcpy(own, h + (k == 0 ? last : 0) * stride, n * sizeof *own);
        check_pass(s, e, at + k, 1, own, &wrong, limit);
    }
}

static void check_isa(const struct subject *s, unsigned flags, bool pages)
{
    struct engine *target = engine_for(s, flags, pages, NULL), *e = engine_for(s, flags, pages, target);
    const double limit = bound(s, flags);
    const size_t n = s->m.hp.n_embd;
    check_model(s, target, limit);
    for (uint32_t at = 0, k; at + 1 < N_TOK; at += k) {
        k = (uint32_t)u64_min(1 + (at + 3) % 5, N_TOK - 1 - at); /* the first pass expands latents */
        check_pass(s, e, at, k, s->hidden + at * n, s->tok + at + 1, limit);
        check_more(s, e, at + k, k - 1, limit);
    }
    assert_true(engine_packed_bytes(e, NULL) <= engine_packed_bytes(target, NULL)); /* the head is the target's */
    engine_free(e);
    engine_free(target);
}

static void test_layer(void **state)
{
    (void)state;
    static const struct {
        int shape, n_nextn;
        bool own;
    } cases[] = { { 0, 1, true }, { 1, 2, false }, { 3, 1, false }, { 4, 1, true }, { 5, 1, false } };
    int compared = 0;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct subject s;
        subject_open(&s, cases[i].shape, cases[i].n_nextn, cases[i].own);
        check_isa(&s, 0, i % 2);
        if (ref_margin(s.ref) > (bound(&s, cpu_flags()) > 0.1 ? 0.02 : 1e-4)) { /* no choice of experts may fall either way */
            check_isa(&s, cpu_flags(), i % 2 == 0);
            compared++;
        }
        subject_close(&s);
    }
    assert_true(compared > 2);
}

/* Weights of several engines once: a layer that shares packs what is its own. */
static void test_shared_weights(void **state)
{
    (void)state;
    struct subject s;
    struct error err = { 0 };
    subject_open(&s, 3, 1, false);
    struct engine *target = engine_for(&s, cpu_flags(), false, NULL), *e = engine_for(&s, cpu_flags(), false, target);
    struct engine_options alone = *engine_options(e);
    alone.shared = NULL;
    alone.team_of = NULL;
    struct engine *a = engine_new(&s.m, &alone, &err);
    assert_non_null(a);
    if (engine_packed_bytes(target, NULL) > 0)
        assert_true(engine_packed_bytes(e, NULL) > 0 && engine_packed_bytes(e, NULL) < engine_packed_bytes(a, NULL));
    engine_free(a);
    engine_free(e);
    engine_free(target);
    subject_close(&s);
}

static void test_refused(void **state)
{
    (void)state;
    struct subject s;
    struct error err = { 0 };
    const float *logits;
    subject_open(&s, 3, 1, false);
    struct engine *target = engine_for(&s, 0, false, NULL), *e = engine_for(&s, 0, false, target);
    assert_fails(engine_eval(e, s.tok, 2, 0, 1, &logits, &err), err, "without hidden states");
    engine_free(e);
    struct engine_options o = *engine_options(target);
    engine_free(target);
    o.hidden = false;
    o.nextn = true;
    s.m.hp.n_layer_nextn = 0;
    assert_null(engine_new(&s.m, &o, &err));
    assert_non_null(strstr(err.msg, "no multi-token prediction layers: deepseek2.nextn_predict_layers is missing or 0"));
    assert_int_equal(err.kind, ERROR_INPUT);
    s.m.hp.n_layer_nextn = 1;
    s.m.arch = arch_find("llama", strlen("llama"));
    assert_fails(nextn_check(&s.m, &err), err, "multi-token prediction layers of architecture llama are predicted, not executed (executed: deepseek2)");
    assert_int_equal(err.kind, ERROR_UNAVAILABLE);
    subject_close(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_layer), cmocka_unit_test(test_shared_weights), cmocka_unit_test(test_refused) };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("multi-token prediction", tests, NULL, NULL);
}
