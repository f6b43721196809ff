/*
 * Every architecture against a second forward pass written from the papers (ref/): random weights, odd shapes, prompts
 * in passes and token by token, every ISA, several threads. And what every one must do alike: the same logits whatever
 * the split of the prompt, greedy text the same on every ISA and thread count.
 */
#include "../test.h"
#include "engine/engine.h"
#include "ref/make_random.h"
#include "ref/ref.h"
#include <math.h>
#include <unistd.h>

enum { N_TOK = 40, N_PROMPT = 29 };

struct subject {
    struct random_spec spec;
    char path[64], what[128];
    struct model m;
    int32_t tok[N_TOK];
    float *want; /* [N_TOK, n_vocab] of the reference */
    double margin;
};

static void write_model(struct subject *s, const char *family, int i)
{
    struct error err = { 0 };
    random_spec_at(&s->spec, family, i);
    snprintf(s->path, sizeof s->path, "test_archs.%s.%d.gguf", family, i);
    snprintf(s->what, sizeof s->what, "%s, shape %d", family, i);
    assert_ok(random_write(s->path, &s->spec, &err), err);
    random_tokens(&s->spec, s->tok, N_TOK);
}

static void run_reference(struct subject *s)
{
    struct error err = { 0 };
    struct gguf *g = gguf_open(s->path, &err);
    /* DeepSeek's engine caches latents; the others keys and values. */
    const struct ref_options opt = { .cache = REF_CACHE_LATENT };
    struct ref_model *r = g ? ref_new(g, N_TOK, &opt, &err) : NULL;
    if (!r)
        fail_msg("%s: %s", s->what, err.msg);
    const size_t v = (size_t)ref_n_vocab(r);
    s->want = malloc(N_TOK * v * sizeof *s->want);
    for (size_t t = 0; t < N_TOK; t++) {
        const double *logits;
        ref_eval(r, s->tok[t], &logits);
        for (size_t i = 0; i < v; i++)
            s->want[t * v + i] = (float)logits[i];
    }
    s->margin = ref_margin(r);
    ref_free(r);
    gguf_close(g);
}

static void subject_init(struct subject *s, const char *family, int i)
{
    struct error err = { 0 };
    *s = (struct subject){ 0 };
    write_model(s, family, i);
    assert_ok(model_load(&s->m, s->path, NULL, &err), err);
    run_reference(s);
}

static void subject_free(struct subject *s)
{
    model_free(&s->m);
    unlink(s->path);
    free(s->want);
}

/* How a sequence is run. */
struct way {
    unsigned flags;
    int threads;
    uint32_t n_prompt, n_ubatch;
    enum dtype kv;
};

static struct engine *engine_for(const struct subject *s, const struct way *w)
{
    struct error err = { 0 };
    struct cpulist cpus;
    assert_ok(cpulist_usable(&cpus, &err), err);
    const struct engine_options o = { .n_ctx = N_TOK, .n_ubatch = w->n_ubatch, .n_out_max = w->n_ubatch,
                                      .n_threads = w->threads <= (int)cpus.n ? w->threads : (int)cpus.n,
                                      .cpus = &cpus, .cpu_flags = w->flags, .type_k = w->kv, .type_v = w->kv };
    struct engine *e = engine_new(&s->m, &o, &err);
    if (!e)
        fail_msg("%s: %s", s->what, err.msg);
    cpulist_free(&cpus);
    return e;
}

/* Logits after every token. */
static float *run_way(const struct subject *s, const struct way *w)
{
    struct error err = { 0 };
    const size_t v = s->m.hp.n_vocab;
    struct engine *e = engine_for(s, w);
    float *out = malloc(N_TOK * v * sizeof *out);
    for (uint32_t t = 0; t < N_TOK;) {
        const uint32_t n = t < w->n_prompt ? (uint32_t)u64_min(w->n_ubatch, w->n_prompt - t) : 1;
        const float *l;
        assert_ok(engine_eval(e, s->tok + t, n, t, n, &l, &err), err);
        memcpy(out + t * v, l, n * v * sizeof *out);
        t += n;
    }
    engine_free(e);
    return out;
}

static double max_diff(const float *a, const float *b, size_t n)
{
    double d = 0;
    for (size_t i = 0; i < n; i++)
        d = fmax(d, isnan(a[i]) || isnan(b[i]) ? INFINITY : fabs((double)a[i] - (double)b[i]));
    return d;
}

/* Half precision keys and values may round either way, which every layer carries on: 0.01 for the few layers that
 * most shapes have. Quantized experts meet 8-bit activations on fast ISAs: a change of operand, not of the model. */
static double bound(const struct subject *s, unsigned flags)
{
    const bool floats = dtype_find(s->spec.weights)->block_elems == 1 &&
                        (s->spec.n_expert == 0 || dtype_find(s->spec.experts)->block_elems == 1);
    return floats || flags == 0 ? 0.01 * fmax(1, s->spec.n_layer / 8) : 0.35;
}

/* A choice of experts nearer than rounding may fall either way. */
static bool decided(const struct subject *s, double bound_)
{
    return s->margin > (bound_ > 0.1 ? 0.02 : 1e-4);
}

static void compare(const struct subject *s, const struct way *w, const char *isa)
{
    const double limit = bound(s, w->flags);
    if (!decided(s, limit))
        return;
    float *got = run_way(s, w);
    const double d = max_diff(got, s->want, (size_t)N_TOK * s->m.hp.n_vocab);
    if (!(d < limit))
        fail_msg("%s: %s, %d threads, prompt of %u in passes of %u: largest difference of a logit %g, bound %g", s->what,
                 isa, w->threads, w->n_prompt, w->n_ubatch, d, limit);
    free(got);
}

static bool is_best(size_t isa)
{
    bool usable, later = false;
    while (kernels_isa_at(++isa, &usable))
        later |= usable;
    return !later;
}

/* Every ISA goes every way. Checked kernels are slow: there all but the best one go another way on each of the family's shapes. */
static bool goes(int shape, size_t isa, size_t way, size_t n_way)
{
    return !getenv("ROOFCAST_SANITIZED") || is_best(isa) || ((size_t)shape + isa) % n_way == way;
}

static void check_subject(const struct subject *s, int shape)
{
    bool usable;
    const char *isa;
    for (size_t i = 0; (isa = kernels_isa_at(i, &usable)); i++) {
        unsigned flags;
        if (!usable || kernels_isa_flags(isa, &flags, NULL) != 0)
            continue;
        const struct way ways[] = {
            { flags, 1, N_PROMPT, N_PROMPT, DTYPE_F16 }, /* one pass */
            { flags, 2, N_PROMPT, 7, DTYPE_F16 },        /* several */
            { flags, 2, 1, 1, DTYPE_F16 },              /* token by token */
        };
        for (size_t k = 0; k < ARRAY_LEN(ways); k++)
            if (goes(shape, i, k, ARRAY_LEN(ways)))
                compare(s, &ways[k], isa);
    }
}

/* ---- several sequences in one pass ---------------------------------------------------------------- */

enum { N_SEQ = 3, N_BATCH = 24 };

/* Sequence q has the subject's tokens from another one on (with experts, whose choice may be near, from the first). */
static int32_t token_of(const struct subject *s, uint32_t q, uint32_t t)
{
    return s->tok[(t + (s->spec.n_expert ? 0 : 5 * q)) % N_TOK];
}

/* Logits [N_BATCH, n_vocab] of a sequence alone, token by token. */
static float *run_alone(const struct subject *s, uint32_t q)
{
    struct error err = { 0 };
    const struct way one = { cpu_flags(), 1, 1, 1, DTYPE_F16 };
    const size_t v = s->m.hp.n_vocab;
    struct engine *e = engine_for(s, &one);
    float *out = malloc(N_BATCH * v * sizeof *out);
    for (uint32_t t = 0; t < N_BATCH; t++) {
        const int32_t id = token_of(s, q, t);
        const float *l;
        assert_ok(engine_eval(e, &id, 1, t, 1, &l, &err), err);
        memcpy(out + t * v, l, v * sizeof *out);
    }
    engine_free(e);
    return out;
}

/* The next pass: a chunk of a prompt for a sequence that begins, one token for the others; the last sequence first. */
static uint32_t next_pass(const struct subject *s, uint32_t step, const uint32_t *past, struct engine_run *run, int32_t *tok)
{
    static const uint32_t begin[N_SEQ] = { 0, 2, 5 }, chunk[N_SEQ] = { 1, 3, 7 };
    uint32_t n_run = 0, n = 0;
    for (uint32_t q = N_SEQ; q-- > 0;) {
        const uint32_t n_tok = (uint32_t)u64_min(past[q] == 0 ? chunk[q] : 1, N_BATCH - past[q]);
        if (step < begin[q] || n_tok == 0)
            continue;
        run[n_run++] = (struct engine_run){ q, past[q], n_tok, .n_out = 1 };
        for (uint32_t t = 0; t < n_tok; t++)
            tok[n++] = token_of(s, q, past[q] + t);
    }
    return n_run;
}

/* A paged engine, and the tables of N_SEQ sequences: blocks in random places, those that left a window outside the pool. */
struct paged {
    struct engine *e;
    struct kv_groups groups;
    uint32_t table[N_SEQ][KV_MAX_GROUPS][N_BATCH / 8];
    const uint32_t *of[N_SEQ][KV_MAX_GROUPS];
};

static void paged_init(struct paged *p, const struct subject *s, struct engine_options o, bool groups)
{
    enum { PER_SEQ = N_BATCH / 8 };
    struct error err = { 0 };
    struct op_list ops;
    struct rng rng;
    assert_ok(op_list_build(&ops, &s->m, &err), err);
    p->groups = groups ? kv_groups_of_ops(&ops) : (struct kv_groups){ .n = 1 };
    op_list_free(&ops);
    o.block_size = 8;
    o.n_threads = groups ? 1 : o.n_threads; /* one thread: several KV heads are a unit */
    o.n_block = N_SEQ * p->groups.n * PER_SEQ;
    o.groups = groups ? p->groups : (struct kv_groups){ 0 };
    uint32_t *order = malloc(o.n_block * sizeof *order);
    rng_init(&rng, o.n_block);
    for (uint32_t i = 0; i < o.n_block; i++) {
        const uint32_t j = (uint32_t)(rng_u64(&rng) % (i + 1));
        order[i] = order[j];
        order[j] = i;
    }
    for (uint32_t q = 0, n = 0; q < N_SEQ; q++)
        for (uint32_t g = 0; g < p->groups.n; g++) {
            memcpy(p->table[q][g], order + n, PER_SEQ * sizeof *order);
            p->of[q][g] = p->table[q][g];
            n += PER_SEQ;
        }
    free(order);
    if (!(p->e = engine_new(&s->m, &o, &err)))
        fail_msg("%s: %s", s->what, err.msg);
}

/* The same pass in a paged cache: the same bits. */
static void check_paged_pass(struct paged *p, const struct subject *s, const int32_t *tok, const struct engine_run *run, uint32_t n_run, const float *want)
{
    struct error err = { 0 };
    struct engine_run own[N_SEQ] = { 0 };
    const float *l;
    for (uint32_t r = 0; r < n_run; r++) {
        own[r] = run[r];
        own[r].table = p->of[run[r].seq];
        for (uint32_t g = 0; g < p->groups.n; g++)
            for (uint32_t b = 0; p->groups.window[g] > 0 && (b + 1) * 8 + p->groups.window[g] <= run[r].n_past + 1; b++)
                p->table[run[r].seq][g][b] = UINT32_MAX;
    }
    assert_ok(engine_eval_runs(p->e, tok, own, n_run, &l, &err), err);
    if (memcmp(l, want, n_run * (size_t)s->m.hp.n_vocab * sizeof *l) != 0)
        fail_msg("%s: %u layer groups: paged logits are off by %g", s->what, p->groups.n, max_diff(l, want, n_run * (size_t)s->m.hp.n_vocab));
}

/* Three sequences that begin at different times, in passes together: after each token the logits are those of the
 * sequence alone; in a paged cache the same bits. */
static void check_batch(const struct subject *s)
{
    struct error err = { 0 };
    struct cpulist cpus;
    assert_ok(cpulist_usable(&cpus, &err), err);
    const struct engine_options o = { .n_ctx = N_BATCH, .n_seq = N_SEQ, .n_ubatch = 16, .n_out_max = N_SEQ,
                                      .n_threads = (int)u64_min(2, cpus.n), .cpus = &cpus, .cpu_flags = cpu_flags(),
                                      .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
    struct engine *e = engine_new(&s->m, &o, &err);
    if (!e)
        fail_msg("%s: %s", s->what, err.msg);
    struct paged one, groups;
    paged_init(&one, s, o, false);
    paged_init(&groups, s, o, true);
    const size_t v = s->m.hp.n_vocab;
    const double limit = bound(s, cpu_flags());
    uint32_t past[N_SEQ] = { 0 };
    float *alone[N_SEQ];
    for (uint32_t q = 0; q < N_SEQ; q++)
        alone[q] = run_alone(s, q);
    for (uint32_t step = 0; past[0] < N_BATCH; step++) {
        struct engine_run run[N_SEQ];
        int32_t tok[16];
        const float *l;
        const uint32_t n_run = next_pass(s, step, past, run, tok);
        assert_ok(engine_eval_runs(e, tok, run, n_run, &l, &err), err);
        check_paged_pass(&one, s, tok, run, n_run, l);
        check_paged_pass(&groups, s, tok, run, n_run, l);
        for (uint32_t r = 0; r < n_run; r++) {
            const uint32_t q = run[r].seq;
            past[q] += run[r].n_tok;
            const double d = max_diff(l + r * v, alone[q] + (past[q] - 1) * v, v);
            if (!(d < limit))
                fail_msg("%s: sequence %u of a batch, %u tokens: a logit is off by %g, bound %g", s->what, q, past[q], d,
                         limit);
        }
    }
    for (uint32_t q = 0; q < N_SEQ; q++)
        free(alone[q]);
    engine_free(one.e);
    engine_free(groups.e);
    engine_free(e);
    cpulist_free(&cpus);
}

static void check_family(const char *family)
{
    int compared = 0;
    for (int i = 0; i < random_spec_count(family); i++) {
        struct subject s;
        subject_init(&s, family, i);
        check_subject(&s, i);
        if (decided(&s, bound(&s, cpu_flags())))
            check_batch(&s);
        compared += decided(&s, bound(&s, 0));
        subject_free(&s);
    }
    if (compared < 2)
        fail_msg("%s: %d shapes were compared, expected several", family, compared);
}

#define FAMILY(name, family)                                                                       \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        check_family(family);                                                                      \
    }
FAMILY(test_llama, "llama")
FAMILY(test_mixtral, "mixtral")
FAMILY(test_qwen2, "qwen2")
FAMILY(test_qwen3, "qwen3")
FAMILY(test_qwen3moe, "qwen3moe")
FAMILY(test_gemma2, "gemma2")
FAMILY(test_gemma3, "gemma3")
FAMILY(test_phi3, "phi3")
FAMILY(test_olmo2, "olmo2")
FAMILY(test_smollm3, "smollm3")
FAMILY(test_gpt_oss, "gpt-oss")
FAMILY(test_deepseek2, "deepseek2")

/* Every family of the generator has a test above. */
static void test_all_families(void **state)
{
    (void)state;
    int n = 0;
    while (random_families[n])
        n++;
    assert_int_equal(n, 12);
}

/* test_archs [CASE]: one family alone. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_llama),    cmocka_unit_test(test_mixtral),  cmocka_unit_test(test_qwen2),
        cmocka_unit_test(test_qwen3),    cmocka_unit_test(test_qwen3moe), cmocka_unit_test(test_gemma2),
        cmocka_unit_test(test_gemma3),   cmocka_unit_test(test_phi3),     cmocka_unit_test(test_olmo2),
        cmocka_unit_test(test_smollm3),  cmocka_unit_test(test_gpt_oss),  cmocka_unit_test(test_deepseek2),
        cmocka_unit_test(test_all_families),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
