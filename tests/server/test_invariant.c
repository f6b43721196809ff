/*
 * engine_options.batch_invariant: the bits of a token's logits do not depend on what else a pass has, on the cuts of its sequence into passes, on
 * pages or threads. On every instruction set of this machine, for weights of many types.
 */
#include "../test.h"
#include "served.h"

enum { N_SEQ = 4, N_TOK = 50 };

static enum dtype weights_type;

static void set_type(struct random_spec *s)
{
    s->weights = weights_type;
    s->n_embd = 256;
    s->n_head = 8;
    s->n_head_kv = 2;
    s->head_dim = 32;
    s->n_ff = 512;
    if (s->n_expert > 0)
        s->n_ff_exp = 256;
}

static struct engine *make(const struct served *s, unsigned flags, bool pages, int n_threads, bool invariant)
{
    struct error err = { 0 };
    struct engine_options o = { .n_ctx = SERVED_CTX, .n_ubatch = 100, .n_out_max = 100, .n_threads = n_threads, .cpu_flags = flags, .type_k = DTYPE_F16,
                                .type_v = DTYPE_F16, .n_seq = N_SEQ, .batch_invariant = invariant, .pow2_scales = true };
    if (pages) {
        o.n_block = N_SEQ * SERVED_CTX / SERVED_BLOCK;
        o.block_size = SERVED_BLOCK;
    }
    struct engine *e = engine_new(&s->m, &o, &err);
    if (!e)
        fail_msg("%s", err.msg);
    return e;
}

/* Logits of all positions of the sequences, which advance by random numbers of tokens in random passes; seed 0: one after the other, token by token. */
static void run(const struct served *s, struct engine *e, const int32_t *tok, float *logits, uint64_t seed)
{
    struct error err = { 0 };
    struct rng g;
    const size_t v = s->m.hp.n_vocab;
    uint32_t past[N_SEQ] = { 0 }, block[N_SEQ][SERVED_CTX / SERVED_BLOCK];
    const uint32_t *table[N_SEQ];
    rng_init(&g, seed);
    for (uint32_t i = 0; i < N_SEQ; i++) {
        table[i] = block[i];
        for (uint32_t b = 0; b < SERVED_CTX / SERVED_BLOCK; b++)
            block[i][b] = b * N_SEQ + i;
    }
    for (bool more = true; more;) {
        struct engine_run r[N_SEQ];
        int32_t in[100];
        uint32_t n_run = 0, n = 0;
        const float *l;
        more = false;
        for (uint32_t i = 0; i < N_SEQ; i++) {
            uint32_t n_tok = seed == 0 ? i == 0 || past[i - 1] == N_TOK : rng_u64(&g) % 3 == 0 ? (uint32_t)(rng_u64(&g) % 40) : (uint32_t)(rng_u64(&g) % 2);
            n_tok = n_tok < N_TOK - past[i] ? n_tok : N_TOK - past[i];
            n_tok = n_tok < 100 - n ? n_tok : 100 - n;
            more |= past[i] < N_TOK;
            if (n_tok == 0)
                continue;
            r[n_run++] = (struct engine_run){ .seq = i, .n_past = past[i], .n_tok = n_tok, .n_out = n_tok, .table = &table[i] };
            memcpy(in + n, tok + i * N_TOK + past[i], n_tok * sizeof *in);
            n += n_tok;
        }
        if (n_run == 0)
            continue;
        assert_ok(engine_eval_runs(e, in, r, n_run, &l, &err), err);
        for (uint32_t k = 0; k < n_run; k++)
            for (uint32_t t = 0; t < r[k].n_tok; t++, l += v)
                memcpy(logits + (r[k].seq * N_TOK + past[r[k].seq] + t) * v, l, v * sizeof *l);
        for (uint32_t k = 0; k < n_run; k++)
            past[r[k].seq] += r[k].n_tok;
    }
}

/* Largest difference of logits. */
static double differ(const float *a, const float *b, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        const double d = a[i] > b[i] ? (double)a[i] - (double)b[i] : (double)b[i] - (double)a[i];
        most = d > most ? d : most;
    }
    return most;
}

static void check(const char *family, int shape, enum dtype type, const char *isa)
{
    struct served s;
    struct error err = { 0 };
    unsigned flags;
    int32_t tok[N_SEQ * N_TOK];
    weights_type = type;
    served_open(&s, "test_invariant", family, shape, set_type);
    const size_t n = (size_t)N_SEQ * N_TOK * s.m.hp.n_vocab;
    float *alone = malloc(n * sizeof *alone), *mixed = malloc(n * sizeof *mixed);
    random_tokens(&s.spec, tok, N_SEQ * N_TOK);
    assert_ok(kernels_isa_flags(isa, &flags, &err), err);
    double usual = 0;
    for (int invariant = 0; invariant < 2; invariant++) {
        struct engine *e = make(&s, flags, false, 1, invariant);
        run(&s, e, tok, alone, 0);
        engine_free(e);
        for (uint64_t round = 1; round <= 2; round++) {
            struct engine *x = make(&s, flags, round > 1, (int)round, invariant);
            run(&s, x, tok, mixed, round);
            engine_free(x);
            const double d = differ(alone, mixed, n);
            if (!invariant)
                usual = d > usual ? d : usual;
            else if (memcmp(alone, mixed, n * sizeof *mixed) != 0)
                fail_msg("%s, %s, %s, round %d: logits differ by up to %.3g", family, dtype_name(type), isa, (int)round, d);
        }
    }
    printf("%s, %s, %s: bits are equal; without, logits differ by up to %.2g\n", family, dtype_name(type), isa, usual);
    free(alone);
    free(mixed);
    served_close(&s);
}

static void test_same_bits(void **state)
{
    (void)state;
    static const enum dtype types[] = { DTYPE_F32, DTYPE_F16, DTYPE_Q8_0 }, others[] = { DTYPE_BF16, DTYPE_Q4_0, DTYPE_Q4_K, DTYPE_Q6_K };
    const char *isa;
    bool usable;
    const bool all = !getenv("ROOFCAST_SANITIZED");
    for (size_t i = 0; all && (isa = kernels_isa_at(i, &usable)) != NULL; i++)
        for (size_t t = 0; usable && t < (i == 0 ? 1 : ARRAY_LEN(types)); t++) /* ref has one order of adding up */
            check("llama", 0, types[t], isa);
    for (size_t t = 0; all && t < ARRAY_LEN(others); t++)
        check("llama", 0, others[t], "auto");
    check("gemma3", 0, DTYPE_F16, "auto");
    check("deepseek2", 1, DTYPE_F32, "auto");
    if (!all)
        return;
    check("qwen3moe", 0, DTYPE_F16, "auto");
    check("gpt-oss", 0, DTYPE_F16, "auto");
    check("deepseek2", 0, DTYPE_F32, "auto");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_same_bits) };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("invariant", tests, NULL, NULL);
}
