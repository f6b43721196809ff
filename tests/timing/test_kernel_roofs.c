/* Ops under the roofs of the engine's kernels, on machines of round numbers. methods.md (29) */
#include "base/environment.h"
#include "../test.h"
#include "tests/near.h"
#include "predict/explain.h"
#include "predict/whatif.h"
#include "timing/rescale.h"

enum { ROWS = 1024, COLS = 2048 };

/* 100 GB/s and 10 TOP/s by its roofs, half of it by its efficiency; a cache of 32 MiB. */
static struct hwprofile machine(void)
{
    static struct hw_cache cache;
    struct hwprofile h = { .kind = HW_CPU, .n_cores = 4, .cache = &cache, .n_cache = 1 };
    cache = (struct hw_cache){ .level = 3, .size_bytes = 32 << 20, .n_instances = 1 };
    snprintf(h.id, sizeof h.id, "test-machine");
    h.mem_bytes.value = h.tdp_w.value = NAN;
    h.mem_bw.value = 100e9;
    for (int i = 0; i < MATH_COUNT; i++)
        h.peak[i].value = 10e12;
    h.eff.compute.value = h.eff.bandwidth.value = 0.5;
    h.eff.launch_s.value = 1e-6;
    return h;
}

static void measured(struct hwprofile *h, const char *kind, const char *op, const char *dtype, const char *level, int n_tok,
                     int n_threads, const char *unit, double value)
{
    struct ceiling c = { .n_threads = n_threads, .n_tok = n_tok, .value = value };
    struct error err = { 0 };
    snprintf(c.name, sizeof c.name, "%s %s %s x%d %dt", op, dtype, level, n_tok, n_threads);
    snprintf(c.kind, sizeof c.kind, "%s", kind);
    snprintf(c.op, sizeof c.op, "%s", op);
    snprintf(c.dtype, sizeof c.dtype, "%s", dtype);
    snprintf(c.level, sizeof c.level, "%s", level);
    snprintf(c.unit, sizeof c.unit, "%s", unit);
    assert_ok(hwprofile_add_ceiling(h, &c, &err), err);
}

/* The same with the kernels of Q8_0: 40 GB/s from memory, 80 from L3, 160 from L1. Two FLOP for 34/32 bytes: by one token
 * 301 GFLOP/s at most. */
static struct hwprofile with_kernels(void)
{
    struct hwprofile h = machine();
    measured(&h, "kernel", "matmat", "Q8_0", "DRAM", 64, 2, "FLOP/s", 1600e9);
    measured(&h, "kernel", "matmat", "Q8_0", "L2", 64, 2, "FLOP/s", 9e15); /* of caches: shown, not priced with */
    measured(&h, "kernel", "matvec", "Q8_0", "DRAM", 1, 2, "B/s", 40e9);
    measured(&h, "kernel", "matvec", "Q8_0", "L1", 1, 2, "B/s", 160e9);
    measured(&h, "kernel", "matvec", "Q8_0", "L3", 1, 2, "B/s", 80e9);
    measured(&h, "kernel", "matmat", "Q8_0", "DRAM", 16, 2, "FLOP/s", 400e9);
    measured(&h, "kernel", "attention", "F16", "DRAM", 1, 2, "B/s", 20e9);
    measured(&h, "kernel", "attention", "F16", "DRAM", 4, 2, "FLOP/s", 50e9);
    measured(&h, "kernel", "attention", "F16", "DRAM", 256, 2, "FLOP/s", 100e9);
    measured(&h, "kernel", "rmsnorm", "F32", "", 1, 2, "B/s", 10e9);
    measured(&h, "kernel", "rmsnorm", "F32", "", 512, 2, "B/s", 20e9);
    measured(&h, "latency", "barrier", "", "", 0, 2, "s", 3e-7);
    measured(&h, "latency", "dispatch", "", "", 0, 2, "s", 7e-7);
    return h;
}

static const struct cores as_it_was = { 1, 1, { 0 } };

static struct predict_options options(void)
{
    return (struct predict_options){ .weights_bytes = NAN, .n_prompt = 64, .n_gen = 1, .n_batch = 1, .n_ubatch = 512,
                                     .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
}

/* Kernels of all roofs, freed at the end. */
static struct kernel_roof *owned[256];
static size_t n_owned;

static struct roofs roofs_of(const struct hwprofile *h, const struct predict_options *o)
{
    struct roofs r;
    struct error err = { 0 };
    assert_ok(roofs_init(&r, h, o, &err), err);
    assert_true(n_owned < ARRAY_LEN(owned));
    owned[n_owned++] = r.kernels.roof;
    return r;
}

static int free_kernels(void **state)
{
    (void)state;
    while (n_owned > 0)
        free(owned[--n_owned]);
    return 0;
}

static struct tensor weights(enum dtype t)
{
    return (struct tensor){ .type = t, .rows = ROWS, .cols = COLS, .n_mat = 1,
                            .bytes = ROWS * dtype_row_bytes(t, COLS) };
}

static const struct cost_options costs = { .act_elem_bytes = 4, .type_k = DTYPE_F16, .type_v = DTYPE_F16 };

/* In a pass that reads so many bytes; a barrier before it, and one in it with several tokens. */
static struct step time_of(const struct roofs *r, const struct op *op, struct pass p, double pass_read_bytes, struct cost *cost)
{
    const struct op_class c = { .op = *op, .count = 1, .barriers = { 2, 1 }, .form = cost_form(op, &costs), .kv_type = DTYPE_F16 };
    struct step x = { .of = &c, .kind = op->kind, .role = op->role, .count = 1, .cost = cost_op(op, &p, &costs), .pass_read_bytes = pass_read_bytes };
    roofs_time(r, &x, &p);
    *cost = x.cost;
    x.of = NULL;
    return x;
}

static struct op product_of(const struct tensor *w)
{
    return (struct op){ .kind = OP_MATMUL, .role = ROLE_ATTN_OUTPUT, .w = w, .src = BUF_ATTN, .rows = ROWS, .cols = COLS };
}

static void one_token_streams_the_weights(void **state)
{
    (void)state;
    struct hwprofile h = with_kernels();
    const struct predict_options o = options();
    const struct roofs r = roofs_of(&h, &o);
    const struct tensor w = weights(DTYPE_Q8_0);
    const struct op op = product_of(&w);
    struct cost c;
    const double bytes = ROWS * COLS * 34.0 / 32;
    struct step t = time_of(&r, &op, (struct pass){ .n_tok = 1, .n_seq = 1 }, 64 << 20, &c);
    assert_non_null(t.kernel);
    assert_near(t.memory_s, bytes / 40e9, 1e-15);
    assert_near(t.compute_s, bytes / 160e9, 1e-15); /* as fast as from L1 */
    assert_near(t.seconds, bytes / 40e9 + 3e-7, 1e-15);
    assert_int_equal(t.bound, BOUND_MEMORY);
    /* A model that fits the last-level cache; unknown size: memory. */
    t = time_of(&r, &op, (struct pass){ .n_tok = 1, .n_seq = 1 }, 32 << 20, &c);
    assert_near(t.memory_s, bytes / 80e9, 1e-15);
    t = time_of(&r, &op, (struct pass){ .n_tok = 1, .n_seq = 1 }, 0, &c);
    assert_near(t.memory_s, bytes / 40e9, 1e-15);
    free(h.ceiling);
}

/* At 16, 32, 64 and more tokens: 400, 800 (halfway in logarithms), 1600, 1600 GFLOP/s; at 4, halfway from 301.2. */
static void many_tokens_compute(void **state)
{
    (void)state;
    struct hwprofile h = with_kernels();
    const struct predict_options o = options();
    const struct roofs r = roofs_of(&h, &o);
    const struct tensor w = weights(DTYPE_Q8_0);
    const struct op op = product_of(&w);
    const double at_1 = 2 * 160e9 * 32 / 34;
    const struct {
        uint32_t n;
        double flop_s;
    } cases[] = { { 16, 400e9 }, { 32, 32 / (16 / 400e9 + (64 / 1600e9 - 16 / 400e9) * 16 / 48) }, { 64, 1600e9 }, { 512, 1600e9 }, { 4, 4 / (1 / at_1 + (16 / 400e9 - 1 / at_1) * 3 / 15) }, { 1, at_1 } };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cost c;
        const struct step t = time_of(&r, &op, (struct pass){ .n_tok = cases[i].n, .n_seq = 1 }, 1e12, &c);
        assert_near(c.flop / t.compute_s / cases[i].flop_s, 1, 1e-12);
        assert_near(t.kernel_tok, cases[i].n, 1e-9);
    }
    free(h.ceiling);
}

/* Beside no matmat the peak and its factor stand for several tokens; a type that was not measured is as it was. */
static void what_was_not_measured(void **state)
{
    (void)state;
    struct hwprofile h = machine(), none = machine();
    measured(&h, "kernel", "matvec", "Q8_0", "DRAM", 1, 2, "B/s", 40e9);
    const struct predict_options o = options();
    const struct roofs r = roofs_of(&h, &o), plain = roofs_of(&none, &o);
    const struct tensor w = weights(DTYPE_Q8_0), other = weights(DTYPE_F16);
    const struct op op = product_of(&w), op_other = product_of(&other);
    struct cost c;
    const struct pass p = { .n_tok = 32, .n_seq = 1 };
    struct step t = time_of(&r, &op, p, 1e12, &c);
    assert_near(t.compute_s, c.flop / 5e12, 1e-15);
    assert_near(t.memory_s, c.weight_bytes / 40e9, 1e-15);
    t = time_of(&r, &op_other, p, 1e12, &c);
    assert_null(t.kernel);
    assert_near(t.seconds, time_of(&plain, &op_other, p, 1e12, &c).seconds, 0);
    free(h.ceiling);
}

/* Activations become 8-bit blocks first: 2048 floats a token. */
static void activations_are_prepared(void **state)
{
    (void)state;
    struct hwprofile h = with_kernels();
    measured(&h, "kernel", "quantize", "Q8_0", "", 1, 2, "B/s", 2e9);
    const struct predict_options o = options();
    const struct roofs r = roofs_of(&h, &o);
    const struct tensor w = weights(DTYPE_Q8_0);
    const struct op op = product_of(&w);
    struct cost c;
    const struct step t = time_of(&r, &op, (struct pass){ .n_tok = 1, .n_seq = 1 }, 1e12, &c);
    assert_near(t.memory_s, c.weight_bytes / 40e9 + 4.0 * COLS / 2e9, 1e-15);
    free(h.ceiling);
}

/* And of as many tokens as tiles need put in order, for a matrix that all tokens visit. */
static void activations_are_arranged(void **state)
{
    (void)state;
    struct hwprofile h = with_kernels();
    measured(&h, "kernel", "arrange", "Q8_0", "", 7, 2, "B/s", 4e9);
    const struct predict_options o = options();
    const struct roofs r = roofs_of(&h, &o);
    const struct tensor w = weights(DTYPE_Q8_0);
    struct op op = product_of(&w);
    struct cost c;
    const struct pass six = { .n_tok = 6, .n_seq = 1 }, seven = { .n_tok = 7, .n_seq = 1 };
    const struct step few = time_of(&r, &op, six, 1e12, &c);
    assert_near(few.memory_s, c.weight_bytes / 40e9, 1e-15);
    const struct step many = time_of(&r, &op, seven, 1e12, &c);
    assert_near(many.memory_s, c.weight_bytes / 40e9 + 7 * 4.0 * COLS / 4e9, 1e-15);
    op.role = ROLE_FFN_UP;
    assert_near(time_of(&r, &op, seven, 1e12, &c).memory_s, c.weight_bytes / 40e9, 1e-15); /* for the product before it */
    free(h.ceiling);
}

/* Or prepared and put in order at once, from as many tokens on: nothing else then, for a matrix that all tokens visit. */
static void activations_are_prepared_at_once(void **state)
{
    (void)state;
    struct hwprofile h = with_kernels();
    measured(&h, "kernel", "quantize", "Q8_0", "", 1, 2, "B/s", 2e9);
    measured(&h, "kernel", "arrange", "Q8_0", "", 7, 2, "B/s", 4e9);
    measured(&h, "kernel", "prepare", "Q8_0", "", 30, 2, "B/s", 5e9);
    const struct predict_options o = options();
    const struct roofs r = roofs_of(&h, &o);
    const struct tensor w = weights(DTYPE_Q8_0);
    struct op op = product_of(&w);
    struct cost c;
    const struct step few = time_of(&r, &op, (struct pass){ .n_tok = 29, .n_seq = 1 }, 1e12, &c);
    assert_near(few.memory_s, c.weight_bytes / 40e9 + 29 * 4.0 * COLS * (1 / 2e9 + 1 / 4e9), 1e-15);
    const struct step many = time_of(&r, &op, (struct pass){ .n_tok = 30, .n_seq = 1 }, 1e12, &c);
    assert_near(many.memory_s, c.weight_bytes / 40e9 + 30 * 4.0 * COLS / 5e9, 1e-15);
    free(h.ceiling);
}

static void attention_by_rows(void **state)
{
    (void)state;
    struct hwprofile h = with_kernels();
    const struct predict_options o = options();
    const struct roofs r = roofs_of(&h, &o);
    struct op op = { .kind = OP_ATTENTION, .role = ROLE_ATTN_CORE, .n_head = 8, .n_head_kv = 2, .head_dim = 64, .head_dim_v = 64 };
    struct cost c;
    /* 4 heads a key; 1024 positions of 2 heads, 64 + 64 elements */
    struct step t = time_of(&r, &op, (struct pass){ .n_tok = 1, .n_past = 1023, .n_seq = 1 }, 1e12, &c);
    assert_near(t.kernel_tok, 4, 1e-9);
    assert_true(t.memory_s < 1024.0 * 2 * 128 * 2 / 20e9); /* by bandwidth: a row alone computes longer than it reads */
    assert_near(t.compute_s, c.flop / 50e9, 1e-15);
    /* so many tokens that a call has all the rows it takes */
    t = time_of(&r, &op, (struct pass){ .n_tok = 512, .n_past = 1024, .n_seq = 1 }, 1e12, &c);
    assert_near(t.kernel_tok, 256, 1e-9);
    assert_near(t.compute_s, c.flop / 100e9, 1e-12);
    free(h.ceiling);
}

/* Tokens of a pass but the first ones of a head find keys that a call has just read; and those of the pass itself, which were stored. */
static void attention_again(void **state)
{
    (void)state;
    static const struct {
        uint32_t n_tok, n_past;
        double far; /* of the keys */
    } cases[] = { { 512, 0, 0 }, { 64, 1 << 24, 1 }, { 512, 1 << 24, 1 / 8.0 }, { 512, 512, 512 / 768.5 / 8 } };
    struct hwprofile h = with_kernels();
    measured(&h, "kernel", "attention", "F16", "", 256, 2, "FLOP/s", 400e9);
    const struct predict_options o = options();
    const struct roofs r = roofs_of(&h, &o);
    struct op op = { .kind = OP_ATTENTION, .role = ROLE_ATTN_CORE, .n_head = 64, .n_head_kv = 16, .head_dim = 128, .head_dim_v = 128 };
    struct cost c;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct pass p = { .n_tok = cases[i].n_tok, .n_past = cases[i].n_past, .n_seq = 1 };
        const struct step t = time_of(&r, &op, p, 1e12, &c);
        assert_near(t.compute_s / (c.flop * (cases[i].far / 100e9 + (1 - cases[i].far) / 400e9)), 1, 1e-4);
    }
    const struct step one = time_of(&r, &op, (struct pass){ .n_tok = 1, .n_past = 1023, .n_seq = 1 }, 1e12, &c);
    assert_near(one.compute_s / (c.flop / 50e9), 1, 1e-9); /* a token has its keys from memory */
    struct op wide = op;
    wide.n_head = 256;
    wide.n_head_kv = 1;
    const struct step all = time_of(&r, &wide, (struct pass){ .n_tok = 1, .n_past = (1 << 20) - 1, .n_seq = 1 }, 1e12, &c);
    assert_near(all.compute_s / (c.flop / 100e9), 1, 1e-9); /* with however many heads */
    op.n_head = 112; /* 7 a key: calls of 252 rows */
    const struct step seven = time_of(&r, &op, (struct pass){ .n_tok = 512, .n_seq = 1 }, 1e12, &c);
    assert_true(c.flop / seven.compute_s > 300e9);
    const struct step few = time_of(&r, &op, (struct pass){ .n_tok = 2, .n_seq = 1 }, 1e12, &c);
    assert_true(c.flop / few.compute_s < 100e9); /* fewer rows are not measured */
    free(h.ceiling);
}

/* A pair's seconds are on a line in the width of heads: 128 elements at 50 GFLOP/s take 10.24 ns, 64 at 40 take 6.4. */
static void attention_by_width(void **state)
{
    (void)state;
    struct hwprofile h = with_kernels();
    for (size_t i = 0; i < h.n_ceiling; i++) /* names are unique: the narrow one is another roof */
        snprintf(h.ceiling[i].name, sizeof h.ceiling[i].name, "roof %zu", i);
    measured(&h, "kernel", "attention", "F16", "DRAM", 4, 2, "FLOP/s", 40e9);
    h.ceiling[h.n_ceiling - 1].head_dim = 64;
    const struct predict_options o = options();
    const struct roofs r = roofs_of(&h, &o);
    const struct {
        uint32_t dim;
        double pair_s;
    } cases[] = { { 64, 6.4e-9 }, { 128, 10.24e-9 }, { 96, 8.32e-9 }, { 256, 17.92e-9 }, { 32, 4.48e-9 } };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct op op = { .kind = OP_ATTENTION, .role = ROLE_ATTN_CORE, .n_head = 8, .n_head_kv = 2,
                         .head_dim = cases[i].dim, .head_dim_v = cases[i].dim };
        struct cost c;
        const struct step t = time_of(&r, &op, (struct pass){ .n_tok = 1, .n_past = 1023, .n_seq = 1 }, 1e12, &c);
        assert_near(t.compute_s / (1024 * 8 * cases[i].pair_s), 1, 1e-9);
    }
    free(h.ceiling);
}

/* A prompt's attention whose output is rounded anyway takes the kernel that rounds it to BF16, where one was measured. */
static void attention_rounded(void **state)
{
    (void)state;
    const struct tensor q8 = weights(DTYPE_Q8_0), f16 = weights(DTYPE_F16);
    const struct {
        const struct tensor *reader;
        uint32_t n_tok, n_seq;
        bool measured;
        double flop_s;
    } cases[] = {
        { &q8, 64, 1, true, 200e9 },   { &q8, 64, 1, false, 100e9 }, { &q8, 32, 1, true, 100e9 },
        { &f16, 64, 1, true, 100e9 },  { NULL, 64, 1, true, 100e9 }, { &q8, 33, 1, true, 200e9 },
        { &q8, 128, 4, true, 100e9 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hwprofile h = with_kernels();
        if (cases[i].measured)
            measured(&h, "kernel", "attention-bf16", "F16", "DRAM", 256, 2, "FLOP/s", 200e9);
        const struct predict_options o = options();
        const struct roofs r = roofs_of(&h, &o);
        const struct op op = { .kind = OP_ATTENTION, .role = ROLE_ATTN_CORE, .n_head = 64, .n_head_kv = 1, .head_dim = 128,
                               .head_dim_v = 128, .reader = cases[i].reader };
        struct cost c;
        const struct pass p = { .n_tok = cases[i].n_tok, .n_past = 4096, .n_seq = cases[i].n_seq };
        const struct step t = time_of(&r, &op, p, 1e12, &c);
        assert_near(c.flop / t.compute_s / cases[i].flop_s, 1, 1e-9); /* 4 or more tokens a call: 256 rows */
        const bool rounds = cases[i].measured && cases[i].reader == &q8;
        assert_int_equal(roofs_math(&r, &op), rounds && r.peak[MATH_BF16].flop_s > 0 ? MATH_BF16 : MATH_FP32);
        free(h.ceiling);
    }
}

/* What products of one norm read is prepared for the first of them. */
static void prepared_once(void **state)
{
    (void)state;
    struct hwprofile h = with_kernels();
    measured(&h, "kernel", "quantize", "Q8_0", "", 1, 2, "B/s", 2e9);
    const struct predict_options o = options();
    const struct roofs r = roofs_of(&h, &o);
    const struct tensor w = weights(DTYPE_Q8_0);
    struct op q = product_of(&w), k = q;
    struct cost c;
    q.role = ROLE_ATTN_Q;
    k.role = ROLE_ATTN_K;
    const struct pass p = { .n_tok = 1, .n_seq = 1 };
    assert_near(time_of(&r, &q, p, 1e12, &c).memory_s - time_of(&r, &k, p, 1e12, &c).memory_s, 4.0 * COLS / 2e9, 1e-15);
    free(h.ceiling);
}

/* A call of attention: rows of so many tokens, of which the last sees so many keys. */
static void call_measured(struct hwprofile *h, int n_tok, int n_query, int n_key, int n_threads, double s)
{
    measured(h, "latency", "attention", "F16", "call", n_tok, n_threads, "s", s); /* names are unique */
    struct ceiling *c = &h->ceiling[h->n_ceiling - 1];
    snprintf(c->level, sizeof c->level, "%s", n_query > 1 ? "L2" : "DRAM");
    c->n_query = n_query;
    c->n_key = n_key;
    c->head_dim = 128;
    snprintf(c->name, sizeof c->name, "attention call x%d, %d keys %dt", n_tok, n_key, n_threads);
}

/*
 * Two threads. Of one token 4 rows take 1 us beyond their keys; of a prompt that begins 16 tokens of 4 heads take 3 us beyond their
 * 544 pairs, 64 tokens 40 us beyond their 8320.
 */
static void attention_by_calls(void **state)
{
    (void)state;
    struct hwprofile h = with_kernels();
    const double pair_256 = 4 * 128 * 2 / 100e9, pair_64 = 4 * 128 * 2 / (64 / (4 / 50e9 + (256 / 100e9 - 4 / 50e9) * 60 / 252));
    call_measured(&h, 4, 1, 128, 2, 1e-6 * (1 - 128.0 / 4096) + 4 * 128 * 4 * 128 * 2 / 50e9);
    call_measured(&h, 64, 16, 16, 2, 3e-6 * (1 - 8.5 / 4088.5) + 4 * 136 * pair_64);
    call_measured(&h, 256, 64, 64, 2, 40e-6 * (1 - 32.5 / 4064.5) + 4 * 2080 * pair_256);
    const struct predict_options o = options();
    const struct roofs r = roofs_of(&h, &o);
    struct op op = { .kind = OP_ATTENTION, .role = ROLE_ATTN_CORE, .n_head = 12, .n_head_kv = 3, .head_dim = 128, .head_dim_v = 128 };
    struct cost c;
    /* 3 key heads, one part each: one thread has two of them; half the keys that what they wait for was measured with */
    struct step t = time_of(&r, &op, (struct pass){ .n_tok = 1, .n_past = 63, .n_seq = 1 }, 1e12, &c);
    assert_near(t.kernel_tok, 4, 1e-9);
    assert_near(t.compute_s / ((c.flop / 50e9 + (3 * 64.0 / 128 - 3 * 64.0 / 4096) * 1e-6 / 2) * 4 / 3), 1, 1e-9);
    /* 4096 keys: 8 parts, 24 calls, of which 3 begin a head and one is where the second thread begins; a rate's call had one of its own */
    t = time_of(&r, &op, (struct pass){ .n_tok = 1, .n_past = 4095, .n_seq = 1 }, 1e12, &c);
    assert_near(t.compute_s / (c.flop / 50e9 + (4 - 3) * 1e-6 / 2), 1, 1e-9);
    /* 32 tokens of each of 2 sequences: tiles of 64 tokens would be 3 a sequence, of 16 they are 6 */
    t = time_of(&r, &op, (struct pass){ .n_tok = 64, .n_seq = 2 }, 1e12, &c);
    assert_near(t.kernel_tok, 64, 1e-9);
    const double calls_64 = c.flop / (4 * 128) / (64 * 4096);
    assert_near(t.compute_s / (c.flop * pair_64 / (4 * 128 * 2) + (12 - calls_64) * 3e-6 / 2), 1, 1e-9);
    /* and of a long prompt 64 */
    t = time_of(&r, &op, (struct pass){ .n_tok = 512, .n_seq = 1 }, 1e12, &c);
    const double calls_256 = c.flop / (4 * 128) / (256 * 4096);
    assert_near(t.compute_s / (c.flop / 100e9 + (24 - calls_256) * 40e-6 / 2), 1, 1e-9);
    /* 128 tokens of 3 heads a key head: tiles of 85 tokens are too few, of 42 they are 4, all of 32 */
    op.n_head = 15, op.n_head_kv = 5;
    assert_near(time_of(&r, &op, (struct pass){ .n_tok = 128, .n_seq = 1 }, 1e12, &c).kernel_tok, 96, 1e-9);
    free(h.ceiling);
}

/* The rate of x after the probes, over the one before. */
static double ratio_of(const struct hwprofile *h, const char *name, double m, double k)
{
    struct hwprofile now;
    struct error err = { 0 };
    double ratio = NAN;
    assert_ok(rescale_profile(&now, h, m, (struct cores){ k, NAN, { 0 } }, &err), err);
    for (size_t i = 0; i < h->n_ceiling; i++)
        if (strcmp(h->ceiling[i].name, name) == 0)
            ratio = now.ceiling[i].value / h->ceiling[i].value;
    whatif_profile_free(&now);
    return ratio;
}

/* 40 GB/s from memory whose loads attain 50, 160 from L1: p sets how far the rate follows memory; capped by a cache and by uncontended
 * threads. */
static void memory_that_changes(void **state)
{
    (void)state;
    struct hwprofile h = with_kernels();
    const char *name = "matvec Q8_0 DRAM x1 2t";
    measured(&h, "bandwidth", "read", "", "DRAM", 0, 2, "B/s", 50e9);
    double p = 1, up = 32;
    for (int i = 0; i < 60; i++)
        *(pow(0.25, (p + up) / 2) + pow(0.8, (p + up) / 2) > 1 ? &p : &up) = (p + up) / 2;
    assert_near(ratio_of(&h, name, 1, 1), 1, 1e-9);
    assert_near(ratio_of(&h, name, 2, 1), pow(pow(0.25, p) + (1 - pow(0.25, p)) * pow(2, -p), -1 / p), 1e-9);
    assert_true(ratio_of(&h, name, 2, 1) < 2 && ratio_of(&h, name, 2, 1) > 1.5);
    assert_true(ratio_of(&h, name, 1e6, 1) < 4 + 1e-9);
    /* one thread gets 20, by noise just half of two: memory is still memory's */
    struct hwprofile one = with_kernels();
    measured(&one, "bandwidth", "read", "", "DRAM", 0, 2, "B/s", 50e9);
    measured(&one, "kernel", "matvec", "Q8_0", "DRAM", 1, 1, "B/s", 20e9);
    assert_true(ratio_of(&one, name, 0.5, 1) < 50e9 * 0.5 / 40e9 + 1e-3);
    free(one.ceiling);
    /* loads get 41 and threads alone as good as that: faster cores read no more of it than loads do */
    struct hwprofile near = with_kernels();
    measured(&near, "bandwidth", "read", "", "DRAM", 0, 2, "B/s", 41e9);
    measured(&near, "kernel", "matvec", "Q8_0", "DRAM", 1, 1, "B/s", 20.1e9);
    assert_near(ratio_of(&near, name, 1, 1.2), 41.0 / 40, 1e-9);
    assert_near(ratio_of(&near, name, 0.9, 1.2), 0.9 * 41 / 40, 1e-9);
    free(near.ceiling);
    /* one thread gets 21: two have room for 42 and no more, whatever memory gives */
    measured(&h, "kernel", "matvec", "Q8_0", "DRAM", 1, 1, "B/s", 21e9);
    assert_true(ratio_of(&h, name, 10, 1) < 42.0 / 40 + 1e-9);
    assert_true(ratio_of(&h, name, 0.5, 1) < 0.75);
    /* plain loads of that very memory take the place of others */
    measured(&h, "kernel", "load", "F32", "DRAM", 1, 2, "B/s", 40e9);
    assert_near(ratio_of(&h, name, 0.5, 1), 0.5, 1e-2);
    free(h.ceiling);
}

/* A scan at `rate`, with memory at m: cache rate `cached`, loads at `loads`. (81) */
static double walk_of(double rate, double cached, double loads, double m)
{
    double p = 1, up = 32;
    for (int i = 0; i < 60; i++)
        *(pow(rate / cached, (p + up) / 2) + pow(rate / loads, (p + up) / 2) > 1 ? &p : &up) = (p + up) / 2;
    const double computes = pow(rate / cached, p);
    return rate * pow(computes + (1 - computes) * pow(m, -p), -1 / p);
}

/* Two threads share 50 GB/s and read 40 of it, one alone gets 30 of its 40: with 80, enough for each, two would read 60. Between the two on a line
 * in logarithms, beyond it as a separate scan. Nothing is learned where one thread attains as much as two, or where memory is slower. */
static void memory_that_is_shared(void **state)
{
    (void)state;
    struct hwprofile h = with_kernels(), alike = with_kernels(), bare = machine();
    const char *name = "matvec Q8_0 DRAM x1 2t";
    measured(&h, "bandwidth", "read", "", "DRAM", 0, 2, "B/s", 50e9);
    const double slower = ratio_of(&h, name, 0.5, 1);
    measured(&h, "kernel", "matvec", "Q8_0", "DRAM", 1, 1, "B/s", 30e9);
    const double unknown = ratio_of(&h, name, 1.3, 1); /* what one thread's loads get */
    measured(&h, "kernel", "load", "F32", "DRAM", 1, 1, "B/s", 40e9);
    const double e = log(1.5) / log(1.6);
    assert_near(ratio_of(&h, name, 1, 1), 1, 1e-12);
    assert_near(ratio_of(&h, name, 1.3, 1), pow(1.3, e), 1e-12);
    assert_near(ratio_of(&h, name, 1.3, 0.8), pow(1.3, e) * ratio_of(&h, name, 1, 0.8), 1e-12);
    assert_near(ratio_of(&h, name, 1.6, 1), 1.5, 1e-12);
    assert_near(ratio_of(&h, name, 3, 1), 1.5 * walk_of(60, 160, 80, 3 / 1.6) / 60, 1e-9);
    assert_true(ratio_of(&h, name, 0.5, 1) >= slower && ratio_of(&h, name, 0.5, 1) < 0.75);
    /* loads adjacent to the one thread's samples */
    h.ceiling[h.n_ceiling - 2].loads_bytes_s = 50e9;
    assert_near(ratio_of(&h, name, 1.3, 1), pow(1.3, log(1.5) / log(2)), 1e-12);
    /* a product by four tokens, 200 GFLOP/s together and 125 of one thread: 250 with memory enough; and by 16, which one does as fast */
    const char *few = "matmat Q8_0 DRAM x4 2t", *many = "matmat Q8_0 DRAM x16 2t";
    measured(&h, "kernel", "matmat", "Q8_0", "DRAM", 4, 2, "FLOP/s", 200e9);
    measured(&h, "kernel", "matmat", "Q8_0", "DRAM", 4, 1, "FLOP/s", 125e9);
    measured(&h, "kernel", "matmat", "Q8_0", "DRAM", 16, 1, "FLOP/s", 190e9);
    const double part = pow(200 / (4 * 16 * 40 / 8.5), 4); /* 301 GFLOP/s are one scan */
    assert_near(ratio_of(&h, few, 1.3, 0.8), pow(1.3, log(1.25) / log(1.6)) * pow(0.8, 1 - part), 1e-12);
    assert_near(ratio_of(&h, few, 1.6, 1), 1.25, 1e-12);
    assert_near(ratio_of(&h, few, 3, 1), 1.25 * pow(3 / 1.6, part), 1e-12);
    assert_near(ratio_of(&h, few, 0.5, 1), pow(0.5, part), 1e-12);
    assert_near(ratio_of(&h, many, 1.5, 1), 1, 1e-12);
    /* by 64, uncontended half as fast again: no more than the scan's part of its seconds */
    measured(&h, "kernel", "matmat", "Q8_0", "DRAM", 64, 1, "FLOP/s", 1200e9);
    assert_near(ratio_of(&h, "matmat Q8_0 DRAM x64 2t", 1.3, 1), pow(1.3, 1600 / (64 * 16 * 40 / 8.5)), 1e-12);
    /* whatever the cores do, no step where memory is what it was */
    for (double k = 0.8; k < 1.3; k += 0.4) {
        assert_near(ratio_of(&h, name, 1 + 1e-9, k), ratio_of(&h, name, 1 - 1e-9, k), 1e-8);
        assert_near(ratio_of(&h, few, 1 + 1e-9, k), ratio_of(&h, few, 1 - 1e-9, k), 1e-8);
    }
    /* a cache that gives 45 and no more */
    for (size_t i = 0; i < h.n_ceiling; i++)
        if (strcmp(h.ceiling[i].op, "matvec") == 0 && strcmp(h.ceiling[i].level, "DRAM") != 0)
            h.ceiling[i].value = 45e9;
    assert_near(ratio_of(&h, name, 1.5, 1), 45.0 / 40, 1e-12);
    free(h.ceiling);
    /* 28 of each thread: no more than a tenth beyond what two get */
    measured(&alike, "bandwidth", "read", "", "DRAM", 0, 2, "B/s", 50e9);
    measured(&alike, "kernel", "matvec", "Q8_0", "DRAM", 1, 1, "B/s", 30e9);
    measured(&alike, "kernel", "load", "F32", "DRAM", 1, 1, "B/s", 28e9);
    assert_near(ratio_of(&alike, name, 1.3, 1), unknown, 1e-12);
    assert_true(unknown > 1.1 && unknown < 1.16);
    free(alike.ceiling);
    /* without a measured cache: up to uncontended memory, no further */
    measured(&bare, "bandwidth", "read", "", "DRAM", 0, 2, "B/s", 50e9);
    measured(&bare, "kernel", "load", "F32", "DRAM", 1, 1, "B/s", 40e9);
    measured(&bare, "kernel", "matvec", "Q8_0", "DRAM", 1, 2, "B/s", 40e9);
    measured(&bare, "kernel", "matvec", "Q8_0", "DRAM", 1, 1, "B/s", 30e9);
    assert_near(ratio_of(&bare, name, 1.3, 1), pow(1.3, e), 1e-12);
    assert_near(ratio_of(&bare, name, 3, 1), 1.5, 1e-12);
    free(bare.ceiling);
}

/* Attention's threads wait one by one: memory at half takes it along, though two read hardly less than twice what one does. */
static void attention_waits(void **state)
{
    (void)state;
    struct hwprofile h = with_kernels();
    const char *name = "attention F16 DRAM x4 2t";
    measured(&h, "bandwidth", "read", "", "DRAM", 0, 2, "B/s", 50e9);
    measured(&h, "kernel", "attention", "F16", "DRAM", 4, 1, "FLOP/s", 26e9);
    call_measured(&h, 4, 1, 512, 2, 4 * 512 * 256 * 2 * 2 / 400e9); /* 400 GFLOP/s from a cache */
    snprintf(h.ceiling[h.n_ceiling - 1].level, sizeof h.ceiling->level, "L1");
    for (size_t i = 0; i < h.n_ceiling; i++)
        if (strcmp(h.ceiling[i].op, "attention") == 0 && strcmp(h.ceiling[i].kind, "kernel") == 0)
            h.ceiling[i].head_dim = 128;
    assert_near(ratio_of(&h, name, 0.5, 1), 1 / (0.125 + 0.875 * 2), 1e-9);
    assert_near(ratio_of(&h, name, 1 - 1e-9, 0.8), ratio_of(&h, name, 1, 0.8), 1e-8);
    free(h.ceiling);
}

static struct ceiling *named(struct hwprofile *h, const char *name)
{
    for (size_t i = 0; i < h->n_ceiling; i++)
        if (strcmp(h->ceiling[i].name, name) == 0)
            return &h->ceiling[i];
    fail_msg("no ceiling %s", name);
    return NULL;
}

static double price_of(const struct hwprofile *h, uint32_t n_tok)
{
    const struct predict_options o = options();
    const struct roofs r = roofs_of(h, &o);
    const struct tensor w = weights(DTYPE_Q8_0);
    const struct op op = product_of(&w);
    struct cost c;
    const struct step t = time_of(&r, &op, (struct pass){ .n_tok = n_tok, .n_seq = 1 }, 1e12, &c);
    return fmax(t.memory_s, t.compute_s);
}

/* A kernel that was timed while memory gave 25 GB/s, and one while it gave 100, of a profile whose loads got 50: both as if it had
 * been 50, of which loads alone get no more. Probes that read 50 find the same, and the profile as it is then has one moment. */
static void at_one_moment(void **state)
{
    (void)state;
    struct hwprofile h = with_kernels(), now, change;
    struct error err = { 0 };
    measured(&h, "kernel", "load", "F32", "DRAM", 1, 2, "B/s", 50e9);
    measured(&h, "kernel", "matmat", "Q8_0", "DRAM", 2, 2, "FLOP/s", 2 * 2 * 20e9 * 32 / 34);
    const double bytes = ROWS * COLS * 34.0 / 32, before = price_of(&h, 1);
    assert_near(before, bytes / 40e9, 1e-15);
    struct ceiling *matvec = named(&h, "matvec Q8_0 DRAM x1 2t"), *few = named(&h, "matmat Q8_0 DRAM x2 2t");
    matvec->loads_bytes_s = 50e9;
    assert_near(price_of(&h, 1), before, 1e-15);
    matvec->loads_bytes_s = 100e9;
    assert_true(price_of(&h, 1) > 1.2 * before && price_of(&h, 1) <= 2 * before);
    matvec->value = 24e9;
    matvec->loads_bytes_s = 25e9;
    assert_true(price_of(&h, 1) < 1.1 * before && price_of(&h, 1) > bytes / 50e9);
    const double alone = price_of(&h, 2); /* 20 GB/s of weights, when they could have been 40 */
    few->loads_bytes_s = 25e9;
    assert_true(price_of(&h, 2) < 0.8 * alone && price_of(&h, 2) > bytes / 50e9);
    /* Probes that read what the profile has change nothing. */
    const double once = price_of(&h, 1), twice = price_of(&h, 2);
    assert_ok(rescale_profile(&now, &h, 1, as_it_was, &err), err);
    assert_near(price_of(&now, 1), once, 1e-15);
    assert_near(price_of(&now, 2), twice, 1e-15);
    assert_near(named(&now, matvec->name)->loads_bytes_s, 50e9, 1);
    assert_ok(rescale_profile(&change, &now, 1, as_it_was, &err), err);
    assert_near(price_of(&change, 1), once, 1e-15);
    whatif_profile_free(&change);
    whatif_profile_free(&now);
    free(h.ceiling);
}

/* Two threads: core probes adjacent to three roofs of 80, 120 and 100 GFLOP/s have a mean of 100; each roof is rescaled to it. */
static void cores_at_one_moment(void **state)
{
    (void)state;
    struct hwprofile h = with_kernels(), now, again;
    struct error err = { 0 };
    measured(&h, "bandwidth", "read", "", "DRAM", 0, 2, "B/s", 50e9);
    measured(&h, "compute", "fma", "fp32", "", 0, 2, "FLOP/s", 800e9);
    measured(&h, "compute", "fma", "fp32", "", 0, 1, "FLOP/s", 400e9);
    const double flop = 2 * 64 * ROWS * COLS;
    const double before = price_of(&h, 64);
    assert_near(before, flop / 1600e9, 1e-12);
    struct ceiling *few = named(&h, "matmat Q8_0 DRAM x64 2t"), *l1 = named(&h, "matvec Q8_0 L1 x1 2t");
    struct ceiling *peak = &h.ceiling[h.n_ceiling - 2], *one = &h.ceiling[h.n_ceiling - 1];
    few->product_flop_s = 80e9;
    l1->product_flop_s = 120e9;
    peak->product_flop_s = 100e9;
    one->product_flop_s = 10e9; /* of one thread: another moment */
    assert_near(price_of(&h, 64) / (flop / 2000e9), 1, 0.01); /* a small part of it is memory's */
    /* the core probe of a run, of one thread and of three: relative to the nearest measured number */
    assert_near(profile_cores_now(&h, 2, 150e9, NAN).core, 1.5, 1e-12);
    assert_near(profile_cores_now(&h, 1, 5e9, NAN).core, 0.5, 1e-12);
    assert_near(profile_cores_now(&h, 3, 150e9, NAN).core, 1, 1e-12);
    assert_true(isnan(profile_cores_now(&h, 2, 150e9, 150e9).tiles));
    /* of a profile that has no such products nothing is known */
    peak->product_flop_s = few->product_flop_s = l1->product_flop_s = NAN;
    assert_true(isnan(profile_cores_now(&h, 2, 400e9, NAN).core));
    few->product_flop_s = 80e9;
    l1->product_flop_s = 120e9;
    peak->product_flop_s = 70e9;
    assert_ok(rescale_profile(&now, &h, 1, (struct cores){ 70.0 / 90, 1, { 0 } }, &err), err);
    assert_near(named(&now, few->name)->value / (1600e9 * 70 / 80), 1, 0.01);
    assert_near(named(&now, l1->name)->value, 160e9 * 70 / 120, 1);
    assert_near(named(&now, few->name)->product_flop_s, 70e9, 1);
    const double then = price_of(&now, 64);
    assert_ok(rescale_profile(&again, &now, 1, as_it_was, &err), err);
    assert_near(price_of(&again, 64), then, 1e-12);
    whatif_profile_free(&again);
    whatif_profile_free(&now);
    /* A memory scan whose core probe was as slow as the cache roof's: 160 of 120 are 80 of 60, hidden less by memory. */
    struct ceiling *matvec = named(&h, "matvec Q8_0 DRAM x1 2t");
    matvec->product_flop_s = 120e9;
    const double same = ratio_of(&h, matvec->name, 2, 120.0 / ((80 + 120 + 70 + 120) / 4.0));
    matvec->product_flop_s = 60e9;
    assert_true(ratio_of(&h, matvec->name, 2, 60.0 / ((80 + 120 + 70 + 60) / 4.0)) < same - 0.05);
    /* Two threads of one core, which give 1.2 times one: not another moment of it, so what one thread reads caps two as before. */
    measured(&h, "kernel", "matvec", "Q8_0", "DRAM", 1, 1, "B/s", 21e9);
    matvec = named(&h, "matvec Q8_0 DRAM x1 2t");
    matvec->product_flop_s = NAN;
    const double apart = ratio_of(&h, matvec->name, 10, 1);
    named(&h, "matvec Q8_0 DRAM x1 1t")->product_flop_s = 75e9;
    named(&h, "fma fp32  x0 1t")->product_flop_s = 75e9;
    matvec->product_flop_s = (80 + 120 + 70) / 3.0 * 1e9; /* their average */
    assert_near(ratio_of(&h, matvec->name, 10, 1), apart, 1e-9);
    /* What waits for L3 hides a part of what cores do: 80 GB/s of 160 by the cores and 100 by L3. */
    measured(&h, "bandwidth", "read", "", "L3", 0, 2, "B/s", 100e9);
    const double waits = ratio_of(&h, "matvec Q8_0 L3 x1 2t", 1, 2);
    assert_true(waits > 1.05 && waits < 1.25);
    h.n_ceiling--;
    /* seconds, the other way */
    struct ceiling *barrier = named(&h, "barrier   x0 2t");
    barrier->product_flop_s = 160e9;
    assert_ok(rescale_profile(&now, &h, 1, as_it_was, &err), err);
    assert_near(named(&now, barrier->name)->value / barrier->value, 160 / ((80 + 120 + 70 + 90 + 160) / 5.0), 1e-9);
    whatif_profile_free(&now);
    free(h.ceiling);
}

/* Tile probe of 500 GFLOP/s adjacent to a product of 400, four fifths of its time in tiles; mean tile rate 1000; other arithmetic
 * unchanged. */
static void tiles_at_one_moment(void **state)
{
    (void)state;
    struct hwprofile h = with_kernels(), now, again;
    struct error err = { 0 };
    measured(&h, "bandwidth", "read", "", "DRAM", 0, 2, "B/s", 50e9);
    measured(&h, "compute", "", "bf16", "", 0, 2, "FLOP/s", 4000e9);
    measured(&h, "kernel", "matmat", "BF16", "DRAM", 64, 2, "FLOP/s", 400e9);
    struct ceiling *product = named(&h, "matmat BF16 DRAM x64 2t"), *peak = &h.ceiling[h.n_ceiling - 2], *tall = named(&h, "matmat Q8_0 DRAM x64 2t");
    product->tile_flop_s = 500e9;
    peak->tile_flop_s = 1500e9;
    product->product_flop_s = peak->product_flop_s = tall->product_flop_s = 100e9;
    assert_ok(rescale_profile(&now, &h, 1, as_it_was, &err), err);
    assert_near(named(&now, product->name)->value, 400e9 / (0.8 / 2 + 0.2), 1);
    assert_near(named(&now, peak->name)->value, 4000e9 * 1000 / 1500, 1); /* all of it is tiles' */
    assert_near(named(&now, product->name)->tile_flop_s, 1000e9, 1);
    assert_near(named(&now, tall->name)->value, tall->value, 1);
    assert_ok(rescale_profile(&again, &now, 1, as_it_was, &err), err);
    assert_near(named(&again, product->name)->value, named(&now, product->name)->value, 1);
    whatif_profile_free(&again);
    whatif_profile_free(&now);
    /* and at a run: tiles at half, cores at twice their mean */
    const struct cores cores = profile_cores_now(&h, 2, 200e9, 500e9);
    assert_near(cores.core, 2, 1e-12);
    assert_near(cores.tiles, 0.5, 1e-12);
    assert_ok(rescale_profile(&now, &h, 1, cores, &err), err);
    assert_near(named(&now, product->name)->value, 400e9 / (0.8 / 1 + 0.2 / 2), 1);
    whatif_profile_free(&now);
    /* a call of 64 tokens by 4 heads that see 64 keys, 32.5 on average: 4 * 64 * 256 * 32.5 * 2 FLOP in 21.3 us are 200 GFLOP/s */
    measured(&h, "latency", "attention-bf16", "F16", "L2", 256, 2, "s", 4 * 64 * 256 * 32.5 * 2 / 200e9);
    struct ceiling *call = &h.ceiling[h.n_ceiling - 1];
    product = named(&h, "matmat BF16 DRAM x64 2t"); /* the ceilings may have moved */
    call->n_query = call->n_key = call->head_dim = 64;
    call->product_flop_s = 100e9;
    call->tile_flop_s = 1000e9;
    assert_ok(rescale_profile(&now, &h, 1, (struct cores){ 1, 0.5, { 0 } }, &err), err);
    assert_near(named(&now, call->name)->value / call->value, 0.2 / 0.5 + 0.8, 1e-9);
    whatif_profile_free(&now);
    h.n_ceiling--;
    /* compute at twice: all of it */
    struct whatif w;
    struct predict_options o = options();
    assert_ok(rescale_profile(&now, &h, 1, as_it_was, &err), err);
    const double once = named(&now, product->name)->value;
    whatif_profile_free(&now);
    assert_ok(whatif_parse(&w, "compute=x2", &err), err);
    assert_ok(whatif_apply(&w, &h, &o, &err), err);
    assert_ok(rescale_profile(&now, &h, 1, as_it_was, &err), err);
    assert_near(named(&now, product->name)->value / once, 2, 1e-9);
    whatif_profile_free(&now);
    free(h.ceiling);
}

/* Rows of the cache that a pass has driven out, and others; sequences of one token have rows apart. */
static void stored_rows(void **state)
{
    (void)state;
    struct hwprofile h = with_kernels();
    struct cost c;
    const struct predict_options o = options();
    const struct op op = { .kind = OP_KV_STORE, .role = ROLE_KV_STORE, .n_head_kv = 4, .head_dim = 128, .head_dim_v = 128 };
    measured(&h, "kernel", "kvstore", "F16", "", 1, 2, "B/s", 40e9);
    measured(&h, "kernel", "kvstore", "F16", "DRAM", 1, 2, "B/s", 2e9);
    measured(&h, "kernel", "kvstore", "F16", "DRAM", 512, 2, "B/s", 8e9);
    const struct roofs r = roofs_of(&h, &o);
    const double bytes = 4 * 256 * 4;
    assert_near(time_of(&r, &op, (struct pass){ .n_tok = 1, .n_seq = 1 }, 1e6, &c).memory_s, bytes / 40e9, 1e-15);
    assert_near(time_of(&r, &op, (struct pass){ .n_tok = 1, .n_seq = 1 }, 1e12, &c).memory_s, bytes / 2e9, 1e-15);
    assert_near(time_of(&r, &op, (struct pass){ .n_tok = 512, .n_seq = 1 }, 1e12, &c).memory_s, 512 * bytes / 8e9, 1e-12);
    assert_near(time_of(&r, &op, (struct pass){ .n_tok = 8, .n_seq = 8 }, 1e12, &c).memory_s, 4 * bytes / 2e9, 1e-12);
    free(h.ceiling);
}

/* Memory at half, the peak as it was: what reads memory halves or nearly so, what computes does not, few tokens are between. */
static void rescaled_by_probes(void **state)
{
    (void)state;
    struct hwprofile h = with_kernels(), now;
    struct error err = { 0 };
    measured(&h, "bandwidth", "read", "", "DRAM", 0, 2, "B/s", 50e9);
    measured(&h, "kernel", "matmat", "Q8_0", "DRAM", 2, 2, "FLOP/s", 2 * 2 * 40e9 * 32 / 34);
    assert_ok(rescale_profile(&now, &h, 0.5, as_it_was, &err), err);
    assert_int_equal(now.n_ceiling, h.n_ceiling);
    for (size_t i = 0; i < h.n_ceiling; i++) {
        const struct ceiling *c = &h.ceiling[i];
        const bool memory = strcmp(c->level, "DRAM") == 0 && strcmp(c->unit, "B/s") == 0 && strcmp(c->op, "attention") != 0;
        const double want = memory || (c->n_tok == 2 && strcmp(c->op, "matmat") == 0) ? 0.5 : 1;
        if (strcmp(c->op, "matmat") != 0 || c->n_tok == 2 || c->n_tok == 64)
            assert_near(now.ceiling[i].value / c->value, want,
                        c->n_tok == 64 ? 0.3 : strcmp(c->op, "matvec") == 0 && memory ? 0.1 : 1e-9);
    }
    whatif_profile_free(&now);
    assert_ok(rescale_profile(&now, &h, NAN, (struct cores){ 2, NAN, { 0 } }, &err), err);
    for (size_t i = 0; i < h.n_ceiling; i++)
        if (strcmp(h.ceiling[i].unit, "s") == 0)
            assert_near(now.ceiling[i].value / h.ceiling[i].value, 0.5, 1e-9);
    whatif_profile_free(&now);
    free(h.ceiling);
}

/* 2 threads of 1 to 5: a quarter of the way in what computes, 0.8 in what reads memory, as plain reads have it. */
static void threads_between(void **state)
{
    (void)state;
    struct hwprofile h = machine();
    static const int n[] = { 1, 5 };
    for (int i = 0; i < 2; i++) {
        measured(&h, "kernel", "matvec", "Q8_0", "DRAM", 1, n[i], "B/s", i ? 30e9 : 10e9);
        measured(&h, "kernel", "matmat", "Q8_0", "DRAM", 64, n[i], "FLOP/s", i ? 500e9 : 100e9);
    }
    measured(&h, "latency", "barrier", "", "", 0, 5, "s", 4e-7);
    measured(&h, "bandwidth", "read", "", "DRAM", 0, 1, "B/s", 20e9);
    measured(&h, "bandwidth", "read", "", "DRAM", 0, 2, "B/s", 36e9);
    measured(&h, "bandwidth", "read", "", "DRAM", 0, 5, "B/s", 40e9);
    struct predict_options o = options();
    const struct tensor w = weights(DTYPE_Q8_0);
    struct op op = product_of(&w);
    struct cost c;
    op.role = ROLE_ATTN_K;
    o.n_threads = 2;
    struct roofs r = roofs_of(&h, &o);
    struct step t = time_of(&r, &op, (struct pass){ .n_tok = 64, .n_seq = 1 }, 1e12, &c);
    assert_near(c.flop / t.compute_s / 200e9, 1, 1e-9);
    assert_near(c.weight_bytes / t.memory_s / 26e9, 1, 1e-9);
    assert_int_equal(r.kernels.n_threads, 2);
    assert_near(r.kernels.barrier_s, 1e-7, 1e-15);
    o.n_threads = 9; /* beyond what was measured: the nearest */
    r = roofs_of(&h, &o);
    t = time_of(&r, &op, (struct pass){ .n_tok = 64, .n_seq = 1 }, 1e12, &c);
    assert_near(c.flop / t.compute_s / 500e9, 1, 1e-9);
    free(h.ceiling);
}

/* 10 GB/s at a token, 20 at 512; a barrier before it, and the pass begins with the embedding. */
static void small_ops_and_the_team(void **state)
{
    (void)state;
    struct hwprofile h = with_kernels();
    measured(&h, "kernel", "embed", "Q8_0", "DRAM", 1, 2, "B/s", 1e9);
    measured(&h, "kernel", "add", "F32", "", 1, 2, "B/s", 1e9);
    const struct predict_options o = options();
    const struct roofs r = roofs_of(&h, &o);
    const struct tensor w = weights(DTYPE_Q8_0);
    const struct op norm = { .kind = OP_RMS_NORM, .role = ROLE_ATTN_NORM, .n_head = 1, .rows = 1, .cols = COLS };
    const struct op add = { .kind = OP_ADD, .role = ROLE_ATTN_RESIDUAL, .rows = 1, .cols = COLS };
    const struct op embed = { .kind = OP_EMBED, .role = ROLE_EMBED, .w = &w, .rows = 1, .cols = COLS };
    const struct pass one = { .n_tok = 1, .n_seq = 1 }, many = { .n_tok = 512, .n_seq = 1 };
    struct cost c;
    assert_near(time_of(&r, &norm, one, 1e12, &c).seconds, 8.0 * COLS / 10e9 + 3e-7, 1e-15);
    assert_near(time_of(&r, &norm, many, 1e12, &c).seconds, 512 * 8.0 * COLS / 20e9 + 2 * 3e-7, 1e-12);
    assert_near(time_of(&r, &add, one, 1e12, &c).memory_s, 12.0 * COLS / 1e9, 1e-15);
    assert_near(time_of(&r, &embed, one, 1e12, &c).seconds, 4.0 * COLS / 1e9 + 7e-7, 1e-15);
    free(h.ceiling);
}

/* Interpolation between measured numbers of threads; else the nearest. */
static void threads(void **state)
{
    (void)state;
    struct hwprofile h = with_kernels();
    measured(&h, "kernel", "matvec", "Q8_0", "DRAM", 1, 1, "B/s", 25e9);
    measured(&h, "kernel", "matvec", "Q8_0", "DRAM", 1, 8, "B/s", 99e9);
    const struct {
        int n_threads, found;
    } cases[] = { { 1, 1 }, { 2, 2 }, { 7, 7 }, { 9, 8 }, { 0, 8 } };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct predict_options o = options();
        o.n_threads = cases[i].n_threads;
        assert_int_equal(roofs_of(&h, &o).kernels.n_threads, cases[i].found);
    }
    free(h.ceiling);
}

static double decode_s(const struct model *m, const struct hwprofile *h, const struct predict_options *o)
{
    struct predict_result r;
    struct error err = { 0 };
    assert_ok(predict(&r, m, h, o, &err), err);
    return r.decode.seconds;
}

static double changed_s(const struct model *m, const struct hwprofile *base, const char *text)
{
    struct predict_options o = options();
    struct hwprofile h;
    struct whatif w;
    struct error err = { 0 };
    assert_ok(whatif_parse(&w, text, &err), err);
    assert_ok(whatif_profile(&h, base, &err), err);
    assert_ok(whatif_apply(&w, &h, &o, &err), err);
    const double s = decode_s(m, &h, &o);
    whatif_profile_free(&h);
    return s;
}

/* A bound ignores kernels; what-ifs scale them with the roof they ran under; a factor replaces them. */
static void whole_predictions(void **state)
{
    (void)state;
    environment_set_dirs(data_dirs());
    environment_set_dirs(data_dirs());
    struct model m;
    struct error err = { 0 };
    assert_ok(model_load(&m, "smollm2-360m", "Q8_0", &err), err);
    struct hwprofile h = with_kernels(), none = machine();
    struct predict_options o = options(), roof = options();
    roof.roof = true;
    assert_near(decode_s(&m, &h, &roof), decode_s(&m, &none, &roof), 0);
    const double plain = decode_s(&m, &none, &o), kernels = decode_s(&m, &h, &o);
    assert_true(kernels > 1.1 * plain); /* 40 GB/s instead of 50 */
    assert_near(changed_s(&m, &h, "bandwidth=x1"), kernels, 1e-12);
    assert_true(changed_s(&m, &h, "bandwidth=x2") < 0.6 * kernels);
    assert_near(changed_s(&m, &h, "e_bandwidth=0.5"), plain, 1e-12);
    struct explain e;
    assert_ok(explain_init(&e, &m, &h, &o, PHASE_DECODE, &err), err);
    assert_near(e.sum_s, kernels, 1e-12);
    size_t named = 0;
    for (size_t i = 0; i < e.n; i++)
        named += strncmp(e.c[i].roof, "matvec Q8_0 DRAM 2t, matmat Q8_0 at 1 token", 80) == 0;
    assert_true(named >= 5);
    explain_free(&e);
    free(h.ceiling);
    model_free(&m);
}

static void free_curves(struct hwprofile *h)
{
    for (size_t i = 0; i < h->n_curve; i++)
        free(h->curve[i].point);
    free(h->curve);
}

/*
 * A curve of loads by n threads: a level that is no cache's, before L2; L3 as it is stated, and then one of memory, or not seen, and
 * then one of 50 GB/s; memory's 20. Points: the last of that level at edge, then at 1.5, 2, 4 and 8 times of it 40, 25, 30 (of which
 * 25 says that a burst of memory's it was) and 20.
 */
static void loads(struct hwprofile *h, int n, double l3_bytes_s, double edge)
{
    struct error err = { 0 };
    struct hw_point at[] = { { .x = 1e6, .value = 200e9 },   { .x = edge, .value = 48e9 },     { .x = 1.5 * edge, .value = 40e9 },
                             { .x = 2 * edge, .value = 25e9 }, { .x = 4 * edge, .value = 30e9 }, { .x = 8 * edge, .value = 20e9 } };
    struct hw_curve c = { .n_threads = n, .n_plateau = 5, .point = at, .n_point = ARRAY_LEN(at) };
    snprintf(c.name, sizeof c.name, "read footprint %dt", n);
    snprintf(c.op, sizeof c.op, "read");
    snprintf(c.x, sizeof c.x, "footprint_bytes");
    c.plateau[0] = (struct hw_plateau){ .value = 300e9, .to_x = 400e3, .edge_x = 500e3, .stated_x = NAN };
    c.plateau[1] = (struct hw_plateau){ .level = "L2", .value = 200e9, .to_x = 1e6, .edge_x = 2e6, .stated_x = 2 << 20 };
    c.plateau[2] = (struct hw_plateau){ .level = "L3", .value = l3_bytes_s, .to_x = edge, .edge_x = NAN, .stated_x = 32 << 20 };
    c.plateau[3] = (struct hw_plateau){ .value = isnan(l3_bytes_s) ? 50e9 : 21e9, .to_x = edge, .edge_x = 1.3 * edge, .stated_x = NAN };
    c.plateau[4] = (struct hw_plateau){ .level = "DRAM", .value = 20e9, .edge_x = NAN, .stated_x = NAN };
    assert_ok(hwprofile_add_curve(h, &c, &err), err);
}

static struct last_cache cache_of(const struct hwprofile *h, int n_threads)
{
    struct predict_options o = options();
    o.n_threads = n_threads;
    return roofs_of(h, &o).last;
}

static void shared_cache(void **state)
{
    (void)state;
    const double stated = 32 << 20, mib = 1 << 20;
    /* at 40 and 25 GB/s: (1/v - 1/20) / (1/50 - 1/20) = 5/6, 1/3; half of it in between */
    const double half = 1.5 + 0.5 * (5.0 / 6 - 0.5) / (5.0 / 6 - 1.0 / 3);
    struct hwprofile h = machine();
    struct last_cache c = cache_of(&h, 2);
    assert_near(c.bytes, stated, 1);
    assert_near(last_cache_hit(&c, stated), 1, 0); /* no curve: all or nothing */
    assert_near(last_cache_hit(&c, stated + 1), 0, 0);
    assert_near(last_cache_hit(&c, 0), 0, 0);
    loads(&h, 1, NAN, 6 * mib);
    loads(&h, 2, NAN, 4 * mib);
    c = cache_of(&h, 1);
    assert_near(c.bytes, 6 * mib * half, 1);
    assert_near(last_cache_hit(&c, 6 * mib), 1, 1e-9);
    assert_near(last_cache_hit(&c, 9 * mib), 5.0 / 6, 1e-9);
    assert_near(last_cache_hit(&c, 12 * mib), 1.0 / 3, 1e-9);
    assert_near(last_cache_hit(&c, 24 * mib), 1.0 / 3, 1e-9); /* the hit fraction does not rise */
    assert_near(last_cache_hit(&c, 36 * mib), 1.0 / 6, 1e-9);
    assert_near(last_cache_hit(&c, 48 * mib), 0, 1e-9);
    assert_near(last_cache_hit(&c, 480 * mib), 0, 1e-9);
    c = cache_of(&h, 2);
    assert_near(c.bytes, 8 * mib * half, 1); /* of each thread 4 */
    assert_near(cache_of(&h, 0).bytes, c.bytes, 1); /* all: as many as were measured */
    loads(&h, 3, 60e9, 2 * mib); /* the level of L3 itself, of 60 GB/s: 3/4 and 3/10 */
    c = cache_of(&h, 3);
    assert_near(last_cache_hit(&c, 9 * mib), 0.75, 1e-9);
    loads(&h, 4, NAN, 12 * mib); /* no more than is stated, and nothing of more than twice as much */
    c = cache_of(&h, 4);
    assert_near(c.bytes, stated, 1);
    assert_near(last_cache_hit(&c, 48 * mib), 1, 1e-9);
    assert_near(last_cache_hit(&c, 72 * mib), 0, 1e-9);
    loads(&h, 5, 21e9, 2 * mib); /* as slow as memory */
    assert_near(cache_of(&h, 5).bytes, stated, 1);
    loads(&h, 6, NAN, NAN); /* not known */
    loads(&h, 7, NAN, mib);
    h.curve[h.n_curve - 1].n_point = 2; /* not measured beyond */
    assert_near(cache_of(&h, 7).bytes, stated, 1);
    assert_near(cache_of(&h, 7).n, 0, 0);
    assert_near(cache_of(&h, 6).bytes, stated, 1);
    free_curves(&h);
}

/* The hit fraction now, from plain loads of the weights: smaller, larger or unchanged. */
static void cache_of_now(void **state)
{
    (void)state;
    struct hwprofile h = machine();
    const double mib = 1 << 20, third = 1 / (1 / 50.0 / 3 + 2 / 20.0 / 3);
    loads(&h, 1, NAN, 6 * mib); /* 12 MiB: a third */
    struct last_cache c = cache_of(&h, 1);
    const double bytes = c.bytes;
    assert_near(last_cache_found(&c, 12 * mib, third * 1e9, 20e9), 1.0 / 3, 1e-9);
    assert_near(last_cache_hit(&c, 9 * mib), 5.0 / 6, 1e-9); /* as it was */
    assert_near(last_cache_found(&c, 4 * mib, third * 1e9, 20e9), 1.0 / 3, 1e-9); /* a third of its size */
    assert_near(last_cache_hit(&c, 3 * mib), 5.0 / 6, 1e-9);
    assert_near(c.bytes, bytes / 3, 1);
    c = cache_of(&h, 1);
    assert_near(last_cache_found(&c, 48 * mib, third * 1e9, 20e9), 1.0 / 3, 1e-9); /* four times */
    assert_near(last_cache_hit(&c, 24 * mib), 1, 1e-9);
    c = cache_of(&h, 1);
    assert_near(last_cache_found(&c, 20 * mib, 50e9, 20e9), 1, 1e-9);
    c = cache_of(&h, 1);
    assert_near(last_cache_found(&c, 9 * mib, 15e9, 20e9), 0, 1e-9); /* memory alone, and that slower */
    free_curves(&h);
}

/* 32 rows written by two threads, half of whose lines the other one has, at 20 GB/s, by a thread alone at 40, and read at 80 and 80;
 * 512 rows no slower than by two threads alone. */
static struct hwprofile with_exchange(void)
{
    struct hwprofile h = with_kernels();
    measured(&h, "kernel", "exchange-write", "F32", "", 32, 2, "B/s", 20e9);
    measured(&h, "kernel", "exchange-write", "F32", "", 32, 1, "B/s", 40e9);
    measured(&h, "kernel", "exchange-write", "F32", "", 512, 2, "B/s", 50e9);
    measured(&h, "kernel", "exchange-write", "F32", "", 512, 1, "B/s", 20e9);
    measured(&h, "kernel", "exchange-read", "F32", "", 32, 2, "B/s", 80e9);
    measured(&h, "kernel", "exchange-read", "F32", "", 32, 1, "B/s", 80e9);
    measured(&h, "kernel", "exchange-read", "F32", "", 512, 2, "B/s", 40e9);
    measured(&h, "kernel", "exchange-read", "F32", "", 512, 1, "B/s", 20e9);
    return h;
}

static double price_as(const struct hwprofile *h, enum op_role role, uint32_t n_tok)
{
    const struct predict_options o = options();
    const struct roofs r = roofs_of(h, &o);
    const struct tensor w = weights(DTYPE_Q8_0);
    struct op op = product_of(&w);
    op.role = role;
    struct cost c;
    const struct step t = time_of(&r, &op, (struct pass){ .n_tok = n_tok, .n_seq = 1 }, 1e12, &c);
    return fmax(t.memory_s, t.compute_s);
}

static void lines_that_others_have(void **state)
{
    (void)state;
    struct hwprofile h = with_exchange(), none = with_kernels();
    const double byte_s = 1 / 20e9 - 1 / 80e9, read_s = 1 / 80e9 - 1 / 160e9, results = 4.0 * ROWS * 32;
    const double acts_s = 2 * COLS * 32 * 9 / 8.0 * (byte_s + read_s); /* all of their lines, and by each thread all of them */
    const struct {
        enum op_role role;
        uint32_t n_tok;
        double more_s;
    } cases[] = { { ROLE_ATTN_OUTPUT, 32, acts_s },              { ROLE_ATTN_Q, 32, acts_s + results * byte_s },
                  { ROLE_ATTN_K, 32, results * byte_s },         { ROLE_FFN_UP, 32, 0 },
                  { ROLE_ATTN_Q, 1, 0 },                         { ROLE_ATTN_Q, 512, 0 },
                  { ROLE_ATTN_Q, 8, (acts_s + results * byte_s) / 4 } };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_near(price_as(&h, cases[i].role, cases[i].n_tok) - price_as(&none, cases[i].role, cases[i].n_tok), cases[i].more_s, 1e-12);
    /* activations that are put in tiles' order take 48 bytes for 32 elements; where both is one, it has all of this in it */
    measured(&h, "kernel", "arrange", "Q8_0", "", 16, 2, "B/s", 1e18);
    assert_near(price_as(&h, ROLE_ATTN_OUTPUT, 32) - price_as(&none, ROLE_ATTN_OUTPUT, 32), acts_s / (9 / 8.0) * 1.5, 1e-12);
    struct hwprofile at_once = with_exchange();
    measured(&at_once, "kernel", "prepare", "Q8_0", "", 16, 2, "B/s", 1e18);
    assert_near(price_as(&at_once, ROLE_ATTN_OUTPUT, 32) - price_as(&none, ROLE_ATTN_OUTPUT, 32), 0, 1e-12);
    free(at_once.ceiling);
    /* what goes column by column hands on its results, but for those that go to tiles */
    measured(&h, "kernel", "add", "F32", "", 512, 2, "B/s", 30e9);
    measured(&h, "kernel", "silu", "F32", "", 512, 2, "B/s", 30e9);
    const struct predict_options o = options();
    const struct op add = { .kind = OP_ADD, .cols = COLS }, gate = { .kind = OP_GLU, .glu = GLU_SILU, .cols = COLS };
    struct roofs r = roofs_of(&h, &o);
    struct cost c;
    const double at = 12.0 * COLS * 32 / 30e9, more = 4.0 * COLS * 32 * byte_s;
    assert_near(time_of(&r, &add, (struct pass){ .n_tok = 32, .n_seq = 1 }, 0, &c).memory_s, at + more, 1e-12);
    assert_near(time_of(&r, &gate, (struct pass){ .n_tok = 32, .n_seq = 1 }, 0, &c).memory_s, at + more, 1e-12);
    measured(&h, "kernel", "prepare", "BF16", "", 16, 2, "B/s", 1e18);
    r = roofs_of(&h, &o);
    assert_near(time_of(&r, &gate, (struct pass){ .n_tok = 32, .n_seq = 1 }, 0, &c).memory_s, at, 1e-12);
    assert_near(time_of(&r, &add, (struct pass){ .n_tok = 32, .n_seq = 1 }, 0, &c).memory_s, at + more, 1e-12);
    /* attention reads queries and the pass's own keys and values, and writes its results */
    const struct op core = { .kind = OP_ATTENTION, .role = ROLE_ATTN_CORE, .n_head = 8, .n_head_kv = 2, .head_dim = 64, .head_dim_v = 64 };
    const struct roofs apart = roofs_of(&none, &o);
    const struct pass p = { .n_tok = 32, .n_past = 2048, .n_seq = 1 }, one = { .n_tok = 1, .n_past = 2048, .n_seq = 1 };
    const double q = 32 * 8 * 64 * 4, kv = 32 * 2 * 2 * 64 * 2;
    assert_near(time_of(&r, &core, p, 1e12, &c).compute_s - time_of(&apart, &core, p, 1e12, &c).compute_s, (q + kv) * read_s + q * byte_s, 1e-12);
    assert_near(time_of(&r, &core, p, 1e12, &c).memory_s - time_of(&apart, &core, p, 1e12, &c).memory_s, (q + kv) * read_s + q * byte_s, 1e-12);
    assert_near(time_of(&r, &core, one, 1e12, &c).compute_s, time_of(&apart, &core, one, 1e12, &c).compute_s, 0);
    free(none.ceiling);
    free(h.ceiling);
}

/* Two threads of a profile of one and of four: a third of what four wait for each other. */
static void exchange_between(void **state)
{
    (void)state;
    struct hwprofile h = machine(), none = machine();
    struct predict_options o = options();
    o.n_threads = 2;
    for (int n = 1; n <= 4; n += 3) {
        measured(&h, "kernel", "matmat", "Q8_0", "DRAM", 32, n, "FLOP/s", n * 100e9);
        measured(&none, "kernel", "matmat", "Q8_0", "DRAM", 32, n, "FLOP/s", n * 100e9);
        measured(&h, "kernel", "exchange-write", "F32", "", 32, n, "B/s", n == 1 ? 40e9 : 20e9);
    }
    const struct roofs with = roofs_of(&h, &o), without = roofs_of(&none, &o);
    const struct tensor w = weights(DTYPE_Q8_0);
    struct op op = product_of(&w);
    op.role = ROLE_ATTN_K;
    const struct pass p = { .n_tok = 32, .n_seq = 1 };
    struct cost c;
    const double more = time_of(&with, &op, p, 1e12, &c).compute_s - time_of(&without, &op, p, 1e12, &c).compute_s;
    assert_near(more, 4.0 * ROWS * 32 * (1 / 20e9 - 1 / 160e9) / 3, 1e-12);
    /* of four, three have a line that all have read, and each of the four reads what was written */
    measured(&h, "kernel", "exchange-read", "F32", "", 32, 4, "B/s", 50e9);
    o.n_threads = 4;
    const struct roofs four = roofs_of(&h, &o), none_of_four = roofs_of(&none, &o);
    op.role = ROLE_ATTN_OUTPUT;
    const double acts = COLS * 32 * 9 / 8.0, all = time_of(&four, &op, p, 1e12, &c).compute_s - time_of(&none_of_four, &op, p, 1e12, &c).compute_s;
    assert_near(all, acts * ((1 / 20e9 - 1 / 160e9) * 4 / 3 + 4 / 50e9), 1e-12);
    op.kind = OP_EXPERT_MATMUL; /* a panel's activations are few threads' */
    op.n_expert = op.n_expert_used = 1;
    assert_near(time_of(&four, &op, p, 1e12, &c).compute_s, time_of(&none_of_four, &op, p, 1e12, &c).compute_s, 1e-15);
    free(none.ceiling);
    free(h.ceiling);
}

/* Beside probes of what cores exchange: rows of 512 tokens at half the rate, lines at a fifth of it, a barrier five times as long. */
static void cores_further_apart(void **state)
{
    (void)state;
    struct hwprofile h = with_exchange(), now;
    struct error err = { 0 };
    measured(&h, "kernel", "quantize", "Q8_0", "", 512, 1, "B/s", 20e9);
    measured(&h, "kernel", "quantize", "Q8_0", "", 32, 2, "B/s", 40e9);
    measured(&h, "kernel", "silu", "F32", "", 512, 2, "B/s", 30e9);
    const double probed[COHERENCE_COUNT] = { NAN, 20e9, 4e9, NAN, 1.5e-6 };
    struct cores cores = as_it_was;
    profile_coherence_now(&cores, &h, 2, probed);
    assert_near(cores.coherence[COHERENCE_READ_SMALL], 0, 0);
    assert_near(cores.coherence[COHERENCE_READ_LARGE], 0.5, 1e-12);
    assert_near(cores.coherence[COHERENCE_WRITE_SMALL], 0.2, 1e-12);
    assert_near(cores.coherence[COHERENCE_BARRIER], 5, 1e-12);
    assert_ok(rescale_profile(&now, &h, 1, cores, &err), err);
    assert_near(named(&now, "exchange-read F32  x512 2t")->value, 20e9, 1);
    assert_near(named(&now, "exchange-read F32  x32 2t")->value, 80e9, 1);
    assert_near(named(&now, "exchange-write F32  x32 2t")->value, 4e9, 1);
    assert_near(named(&now, "exchange-write F32  x32 1t")->value, 40e9, 1);
    assert_near(named(&now, "barrier   x0 2t")->value, 1.5e-6, 1e-15);
    assert_near(named(&now, "rmsnorm F32  x512 2t")->value, 8 / (8 / 20e9 + 4 / 40e9), 1); /* an element: 4 bytes read, 4 written */
    assert_near(named(&now, "rmsnorm F32  x1 2t")->value, 10e9, 1);
    assert_near(named(&now, "quantize Q8_0  x512 1t")->value, 20e9, 1);
    assert_near(named(&now, "quantize Q8_0  x32 2t")->value, 40e9, 1); /* of few tokens: not probed */
    assert_near(named(&now, "silu F32  x512 2t")->value, 30e9, 1);
    assert_near(price_as(&now, ROLE_ATTN_K, 32) - price_as(&h, ROLE_ATTN_K, 32), 4.0 * ROWS * 32 * (1 / 4e9 - 1 / 20e9), 1e-12);
    whatif_profile_free(&now);
    /* cores at half their speed, and rows no slower than that makes them: nothing else */
    struct cores slow = as_it_was;
    slow.core = slow.coherence[COHERENCE_READ_LARGE] = 0.5;
    assert_ok(rescale_profile(&now, &h, 1, slow, &err), err);
    assert_near(named(&now, "rmsnorm F32  x512 2t")->value, 10e9, 1);
    whatif_profile_free(&now);
    /* nearer: no kernel gains more than the rows do */
    cores.coherence[COHERENCE_READ_LARGE] = 2;
    assert_ok(rescale_profile(&now, &h, 1, cores, &err), err);
    assert_near(named(&now, "rmsnorm F32  x512 2t")->value, 8 / (8 / 20e9 - 4 / 80e9), 1);
    whatif_profile_free(&now);
    named(&h, "exchange-read F32  x512 2t")->value = 2e9;
    assert_ok(rescale_profile(&now, &h, 1, cores, &err), err);
    assert_near(named(&now, "rmsnorm F32  x512 2t")->value, 2 * 20e9, 1);
    whatif_profile_free(&now);
    /* another number of threads: nothing is known */
    profile_coherence_now(&cores, &h, 3, probed);
    for (int i = 0; i < COHERENCE_COUNT; i++)
        assert_near(cores.coherence[i], 0, 0);
    free(h.ceiling);
}

/* Weights with a hit fraction of a third, with 6 MiB of KV cache: a third from L3, the rest from memory. */
static void partly_kept(void **state)
{
    (void)state;
    struct hwprofile h = with_kernels();
    const struct predict_options o = options();
    loads(&h, 2, NAN, 4 << 20);
    const struct roofs r = roofs_of(&h, &o);
    const struct tensor w = weights(DTYPE_Q8_0);
    const struct op op = product_of(&w);
    const struct pass p = { .n_tok = 1, .n_past = 1023, .n_seq = 1 }, two = { .n_tok = 2, .n_past = 511, .n_seq = 2 };
    const struct step_model m = { .held_bytes = 10 << 20, .held_position = 6 << 10 };
    struct cost cost;
    const struct step t = time_of(&r, &op, p, step_read_bytes(&m, &p), &cost);
    const double least_s = cost.weight_bytes * (1 / 80e9 + 2 / 40e9) / 3;
    assert_near(t.llc_hit, 1.0 / 3, 1e-9);
    assert_near(t.memory_s, least_s, 1e-15);
    /* two tokens, which are memory's all the way, come as much faster: of 3 and 2 thirds of the seconds */
    struct hwprofile few = with_kernels();
    measured(&few, "kernel", "matmat", "Q8_0", "DRAM", 2, 2, "FLOP/s", 2 * 2 * 40e9 * 32 / 34);
    loads(&few, 2, NAN, 4 << 20);
    const struct roofs s = roofs_of(&few, &o);
    assert_near(time_of(&s, &op, two, step_read_bytes(&m, &two), &cost).compute_s, least_s, 1e-15);
    free_curves(&few);
    free(few.ceiling);
    free_curves(&h);
    free(h.ceiling);
}

/* Products that an older version measured with coarser activations: no price is of them. */
static void rounded_scales(void **state)
{
    (void)state;
    static const struct {
        const char *isa, *kernel;
        int n_tok;
        bool rounds;
    } cases[] = { { "avx512vnni", "gemm, packed, 2048 columns", 512, true },
                  { "avx512bf16", "gemm, packed, 2048 columns", 33, true },
                  { "avx512bf16", "gemm, packed, 2048 columns", 32, false },
                  { "avx512bf16", "gemm, packed, 2048 columns" CEILING_EXACT_SCALES, 512, false },
                  { "avx512vnni", "gemm, as in the file, 2048 columns", 512, false },
                  { "amx", "gemm, packed, 2048 columns", 512, false } };
    const struct predict_options o = options();
    const struct tensor w = weights(DTYPE_Q8_0);
    const struct op op = product_of(&w);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hwprofile h = with_kernels();
        struct cost c;
        const int n = cases[i].n_tok;
        measured(&h, "kernel", "matmat", "Q8_0", "DRAM", n, 2, "FLOP/s", 5e12);
        struct ceiling *k = &h.ceiling[h.n_ceiling - 1];
        snprintf(k->isa, sizeof k->isa, "%s", cases[i].isa);
        snprintf(k->kernel, sizeof k->kernel, "%s", cases[i].kernel);
        assert_int_equal(ceiling_rounds_scales(k), cases[i].rounds);
        const struct roofs r = roofs_of(&h, &o);
        const struct step t = time_of(&r, &op, (struct pass){ .n_tok = (uint32_t)n, .n_seq = 1 }, 1e12, &c);
        assert_int_equal(c.flop / t.compute_s > 4e12, !cases[i].rounds);
        free(h.ceiling);
    }
    struct ceiling floats = { .kind = "kernel", .op = "matmat", .dtype = "F16", .isa = "avx512vnni", .kernel = "gemm, packed, 2048 columns", .n_tok = 512 };
    assert_false(ceiling_rounds_scales(&floats));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_token_streams_the_weights), cmocka_unit_test(many_tokens_compute),
        cmocka_unit_test(what_was_not_measured),         cmocka_unit_test(activations_are_prepared),
        cmocka_unit_test(attention_by_width),            cmocka_unit_test(prepared_once),
        cmocka_unit_test(rescaled_by_probes),                 cmocka_unit_test(threads_between),
        cmocka_unit_test(attention_by_calls),            cmocka_unit_test(memory_that_changes),
        cmocka_unit_test(at_one_moment),                 cmocka_unit_test(cores_at_one_moment),
        cmocka_unit_test(tiles_at_one_moment),
        cmocka_unit_test(stored_rows),                   cmocka_unit_test(attention_rounded),
        cmocka_unit_test(attention_by_rows),             cmocka_unit_test(small_ops_and_the_team),
        cmocka_unit_test(attention_again),               cmocka_unit_test(memory_that_is_shared),
        cmocka_unit_test(attention_waits),               cmocka_unit_test(whole_predictions),
        cmocka_unit_test(threads),                       cmocka_unit_test(rounded_scales),
        cmocka_unit_test(shared_cache),                  cmocka_unit_test(partly_kept),
        cmocka_unit_test(lines_that_others_have),        cmocka_unit_test(cores_further_apart),
        cmocka_unit_test(exchange_between),
        cmocka_unit_test(cache_of_now),                  cmocka_unit_test(activations_are_arranged), cmocka_unit_test(activations_are_prepared_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, free_kernels);
}
