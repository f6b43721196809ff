/* Experts, latent attention, windows and cache types against figures derived by hand in the comments. */
#include "../test.h"
#include "cost/cost.h"
#include "tests/near.h"

static const struct cost_options floats = { .act_elem_bytes = 4, .type_k = DTYPE_F16, .type_v = DTYPE_F16 };

static struct tensor tensor(enum dtype type, uint64_t rows, uint64_t cols)
{
    return (struct tensor){
        .name = "w", .type = type, .rows = rows, .cols = cols, .n_mat = 1, .bytes = rows * dtype_row_bytes(type, cols)
    };
}

static struct cost cost(const struct op *op, uint32_t n_tok, uint32_t n_past)
{
    const struct pass p = { .n_tok = n_tok, .n_past = n_past, .n_seq = 1, .n_out = 1 };
    return cost_op(op, &p, &floats);
}

static void is(struct cost c, double weight, double act, double kv, double flop)
{
    assert_near(c.weight_bytes, weight, 0);
    assert_near(c.act_bytes, act, 0);
    assert_near(c.kv_bytes, kv, 0);
    assert_near(c.flop, flop, 0);
}

/* ---- elementwise ops and norms ------------------------------------------------------------- */

static void scales_heads_and_activations(void **state)
{
    (void)state;
    const struct tensor table = tensor(DTYPE_Q8_0, 1000, 64), norm = tensor(DTYPE_F32, 1, 64);
    struct op op = { .kind = OP_EMBED, .w = &table, .cols = 64, .scale = 8 };
    is(cost(&op, 3, 0), 3 * 2 * 34, 4 * 3 * 64, 0, 3 * 64); /* a multiplication an element */
    op = (struct op){ .kind = OP_RMS_NORM, .w = &norm, .n_head = 5, .cols = 64 };
    is(cost(&op, 3, 0), 4 * 64, 4 * 3 * 2 * 5 * 64, 0, 3 * 5 * 4 * 64); /* five heads share 64 weights */
    op.n_head = 1;
    is(cost(&op, 3, 0), 4 * 64, 4 * 3 * 2 * 64, 0, 3 * 4 * 64);
    static const double flop[] = { [GLU_SILU] = 5, [GLU_GELU] = 10, [GLU_SWIGLU_OAI] = 8 };
    for (int g = GLU_SILU; g <= GLU_SWIGLU_OAI; g++) {
        op = (struct op){ .kind = OP_GLU, .glu = (enum glu)g, .cols = 100 };
        is(cost(&op, 3, 0), 0, 4 * 3 * 3 * 100, 0, 3 * 100 * flop[g]);
    }
    op = (struct op){ .kind = OP_SOFTCAP, .cols = 100, .scale = 30 };
    is(cost(&op, 3, 0), 0, 4 * 3 * 2 * 100, 0, 3 * 3 * 100);
}

/*
 * Three tokens of 64 elements. LayerNorm: sum, difference, square, sum, two products, and one more FLOP with a bias; five
 * heads with weights of their own have 5 x 64 of them.
 */
static void layer_norms_and_plain_activations(void **state)
{
    (void)state;
    const struct tensor w = tensor(DTYPE_F32, 1, 64), bias = tensor(DTYPE_F32, 1, 64), heads = tensor(DTYPE_F32, 5, 64);
    struct op op = { .kind = OP_LAYER_NORM, .w = &w, .bias = &bias, .n_head = 1, .cols = 64 };
    is(cost(&op, 3, 0), 2 * 4 * 64, 4 * 3 * 2 * 64, 0, 3 * 7 * 64);
    op.bias = NULL;
    is(cost(&op, 3, 0), 4 * 64, 4 * 3 * 2 * 64, 0, 3 * 6 * 64);
    op = (struct op){ .kind = OP_LAYER_NORM, .w = &heads, .n_head = 5, .cols = 64 };
    is(cost(&op, 3, 0), 4 * 5 * 64, 4 * 3 * 2 * 5 * 64, 0, 3 * 5 * 6 * 64);
    /* negation, exponential, sum, quotient; ...; a maximum; a maximum and a product */
    static const double flop[] = { [GLU_SILU] = 4, [GLU_GELU] = 9, [GLU_SIGMOID] = 4, [GLU_RELU] = 1, [GLU_RELU2] = 2 };
    for (size_t g = 0; g < ARRAY_LEN(flop); g++) {
        op = (struct op){ .kind = OP_ACT, .glu = (enum glu)g, .cols = 100 };
        if (flop[g] > 0)
            is(cost(&op, 3, 0), 0, 4 * 3 * 2 * 100, 0, 3 * 100 * flop[g]);
    }
    op = (struct op){ .kind = OP_MUL, .cols = 100 };
    is(cost(&op, 3, 0), 0, 4 * 3 * 3 * 100, 0, 3 * 100);
    op = (struct op){ .kind = OP_SCALE, .cols = 100, .scale = 2 };
    is(cost(&op, 3, 0), 0, 4 * 3 * 2 * 100, 0, 3 * 100);
}

/* ---- experts ------------------------------------------------------------------------------- */

/*
 * 8 experts, 2 of them for each token, [96, 64] in Q8_0: 96 * 2 blocks of 34 B = 6528 B an expert.
 * One token reads two: 13,056 B, 2 * 96 * 64 * 2 FLOP, in and out 4 B * 2 * (96 + 64).
 */
static void one_token_reads_its_experts(void **state)
{
    (void)state;
    const struct tensor w = tensor(DTYPE_Q8_0, 8 * 96, 64), bias = tensor(DTYPE_F32, 8, 96);
    struct op op = { .kind = OP_EXPERT_MATMUL, .w = &w, .rows = 96, .cols = 64, .n_expert = 8, .n_expert_used = 2 };
    is(cost(&op, 1, 0), 2 * 6528, 4 * 2 * 160, 0, 2 * 2 * 96 * 64);
    op.bias = &bias;
    is(cost(&op, 1, 0), 2 * (6528 + 4 * 96), 4 * 2 * 160, 0, 2 * (2 * 96 * 64 + 96));
    /* Two tokens: 8 (1 - (3/4)^2) = 3.5 experts, exact in binary but for the logarithm. */
    op.bias = NULL;
    const struct cost c = cost(&op, 2, 0);
    assert_near(c.weight_bytes, 3.5 * 6528, 1e-8);
    assert_near(c.flop, 2 * 2 * 2 * 96 * 64, 0);
    assert_near(c.act_bytes, 2 * 4 * 2 * 160, 0);
    assert_near(cost(&op, 512, 0).weight_bytes, (double)w.bytes, 1e-6);
}

/* Of N experts, k a token: N (1 - (1 - k/N)^n), by plain multiplication. */
static void counts_experts_touched(void **state)
{
    (void)state;
    static const struct {
        uint32_t n, k;
    } rows[] = { { 8, 2 }, { 32, 4 }, { 64, 8 }, { 128, 8 }, { 256, 8 }, { 4, 4 } };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct op op = { .n_expert = rows[i].n, .n_expert_used = rows[i].k };
        const double n = rows[i].n, k = rows[i].k;
        double missed = 1, last = 0;
        assert_near(experts_touched(NULL, op.n_expert, op.n_expert_used, 0), 0, 0);
        assert_near(experts_touched(NULL, op.n_expert, op.n_expert_used, 1), k, 0);
        for (int t = 1; t <= 600; t++) {
            missed *= 1 - k / n;
            const double touched = experts_touched(NULL, op.n_expert, op.n_expert_used, t);
            assert_near(touched, n * (1 - missed), 1e-9 * n);
            assert_true(touched >= last && touched <= n);
            last = touched;
        }
        assert_true(last > 0.9999 * n); /* a prompt reads nearly all */
    }
    const struct op deepseek = { .n_expert = 256, .n_expert_used = 8 };
    assert_near(experts_touched(NULL, deepseek.n_expert, deepseek.n_expert_used, 32), 163.3, 0.05); /* between: 256 (1 - (31/32)^32) */
}

/*
 * Zipf against brute force: 16 experts of popularity c i^-s, of which a token uses 4: c makes them add up to 4, where none may
 * exceed 1 (for s = 2 the first two do: 1, 1, and 2 over the rest). Tokens are drawn one by one with just these chances: the
 * experts whose sum of popularities passes u, u + 1, u + 2, u + 3 (Madow 1949). 20,000 batches of 6 tokens.
 */
static double simulated(const double *p, int n_tok, struct rng *rng)
{
    double touched = 0;
    for (int batch = 0; batch < 20000; batch++) {
        bool used[16] = { false };
        for (int t = 0; t < n_tok; t++) {
            double at = (double)(rng_u64(rng) >> 11) * 0x1p-53, sum = 0;
            int n = 0;
            for (int i = 0; i < 16; i++) {
                sum += p[i];
                if (n < 4 && (at < sum || (i == 15 && n == 3))) {
                    used[i] = true;
                    at += 1;
                    n++;
                }
            }
            assert_int_equal(n, 4);
        }
        for (int i = 0; i < 16; i++)
            touched += used[i];
    }
    return touched / 20000;
}

static void zipf_by_simulation(void **state)
{
    static const double s[] = { 0, 0.3, 0.8, 1.2, 2 };
    struct rng rng;
    (void)state;
    rng_init(&rng, 3);
    for (size_t k = 0; k < ARRAY_LEN(s); k++) {
        const struct routing r = { .zipf = s[k] };
        double p[16], sum = 0, rest = 4;
        int n_one = 0;
        for (int again = 1; again;) { /* those above 1 are 1, the others share the rest */
            again = 0;
            sum = 0;
            rest = 4 - n_one;
            for (int i = n_one; i < 16; i++)
                sum += pow(i + 1, -s[k]);
            if (rest * pow(n_one + 1, -s[k]) / sum > 1) {
                n_one++;
                again = 1;
            }
        }
        for (int i = 0; i < 16; i++)
            p[i] = i < n_one ? 1 : rest * pow(i + 1, -s[k]) / sum;
        for (int n_tok = 2; n_tok <= 10; n_tok += 4)
            assert_near(experts_touched(&r, 16, 4, n_tok), simulated(p, n_tok, &rng), 0.05);
        assert_near(experts_touched(&r, 16, 4, 1), 4, 0);
    }
}

/* Two layers: 1, 1, 0, 0 touches 2 whatever the batch; 0.5 four times 4 (1 - 0.5^n): the mean. */
static void routing_of_layers(void **state)
{
    static const double p[] = { 1, 1, 0, 0, 0.5, 0.5, 0.5, 0.5 };
    const struct routing one = { .popularity = p, .n = 4 }, both = { .popularity = p, .n = 4, .n_layer = 2 };
    (void)state;
    assert_near(experts_touched(&one, 4, 2, 9), 2, 0);
    assert_near(experts_touched(&both, 4, 2, 1), 2, 0);
    assert_near(experts_touched(&both, 4, 2, 2), (2 + 3) / 2.0, 1e-12);
    assert_near(experts_touched(&both, 4, 2, 3), (2 + 3.5) / 2, 1e-12);
}

/* 8 logits in, 2 ids and 2 weights out; 5 FLOP a logit; the bias of the choice is read once. */
static void route_and_sum(void **state)
{
    (void)state;
    const struct tensor bias = tensor(DTYPE_F32, 1, 8);
    struct op op = { .kind = OP_ROUTE, .n_expert = 8, .n_expert_used = 2 };
    is(cost(&op, 3, 0), 0, 4 * 3 * (8 + 4), 0, 3 * 5 * 8);
    op.w = &bias;
    is(cost(&op, 3, 0), 32, 4 * 3 * (8 + 4), 0, 3 * 5 * 8);
    op = (struct op){ .kind = OP_EXPERT_SUM, .cols = 64, .n_expert = 8, .n_expert_used = 2 };
    is(cost(&op, 3, 0), 0, 4 * 3 * 3 * 64, 0, 3 * 2 * 2 * 64);
}

/*
 * A model of two experts' worth of everything: total = read - again + unread + experts + apart for a
 * decode step, where one expert of four is read.
 */
static void account_of_experts(void **state)
{
    (void)state;
    struct tensor t[] = { tensor(DTYPE_Q8_0, 50, 64), tensor(DTYPE_F32, 4, 64), tensor(DTYPE_F32, 1, 4),
                          tensor(DTYPE_Q8_0, 4 * 32, 64), tensor(DTYPE_F32, 4, 32), tensor(DTYPE_F32, 1, 32) };
    struct op ops[] = {
        { .kind = OP_EMBED, .w = &t[0], .cols = 64 },
        { .kind = OP_MATMUL, .w = &t[1], .rows = 4, .cols = 64 },
        { .kind = OP_ROUTE, .w = &t[2], .n_expert = 4, .n_expert_used = 1 },
        { .kind = OP_EXPERT_MATMUL, .w = &t[3], .bias = &t[4], .rows = 32, .cols = 64, .n_expert = 4, .n_expert_used = 1 },
    };
    const struct model m = { .tensors = t, .n_tensors = ARRAY_LEN(t) };
    const struct op_list l = { .ops = ops, .n = ARRAY_LEN(ops) };
    struct weight_account a;
    account_weights(&a, &m, &l, 1, NULL);
    assert_near(a.read_bytes, 68 + 4 * 256 + 16 + (32 * 68 + 128), 0);
    assert_near(a.embed_unread_bytes, 49 * 68, 0);
    assert_near(a.expert_unread_bytes, 3 * (32 * 68 + 128), 0);
    assert_near(a.apart_bytes, 128, 0);
    assert_int_equal(a.n_apart, 1);
    assert_near(a.total_bytes, a.read_bytes + a.embed_unread_bytes + a.expert_unread_bytes + a.apart_bytes, 0);
    account_weights(&a, &m, &l, 3, NULL); /* three sequences: 4 (1 - (3/4)^3) = 2.3125 experts */
    assert_near(a.expert_unread_bytes, (4 - 2.3125) * (32 * 68 + 128), 1e-9);
    assert_near(a.total_bytes, a.read_bytes + a.embed_unread_bytes + a.expert_unread_bytes + a.apart_bytes, 1e-9);
}

/* ---- latent attention ------------------------------------------------------------------------ */

/* Eight heads of 24 + 8 keys and 16 values from a latent of 64: kv_b is [8 * (24 + 16), 64] in F16. */
enum { HEADS = 8, NOPE = 24, ROT = 8, VALUE = 16, RANK = 64 };

static void latent_absorbed(void **state)
{
    (void)state;
    const struct tensor kv_b = tensor(DTYPE_F16, HEADS * (NOPE + VALUE), RANK);
    const struct op key = { .kind = OP_HEAD_MATMUL, .w = &kv_b, .n_head = HEADS, .rows = RANK, .cols = NOPE,
                            .w_stride = NOPE + VALUE, .transposed = true, .form = FORM_ABSORBED },
                    value = { .kind = OP_HEAD_MATMUL, .w = &kv_b, .n_head = HEADS, .rows = VALUE, .cols = RANK,
                              .w_stride = NOPE + VALUE, .w_row = NOPE, .form = FORM_ABSORBED },
                    core = { .kind = OP_ATTENTION, .n_head = HEADS, .n_head_kv = 1, .head_dim = RANK + ROT,
                             .head_dim_v = RANK, .v_in_k = true, .form = FORM_ABSORBED };
    is(cost(&key, 1, 9), HEADS * NOPE * RANK * 2, 4 * HEADS * (RANK + NOPE), 0, 2 * HEADS * NOPE * RANK);
    is(cost(&value, 1, 9), HEADS * VALUE * RANK * 2, 4 * HEADS * (RANK + VALUE), 0, 2 * HEADS * VALUE * RANK);
    assert_near(cost(&key, 1, 9).weight_bytes + cost(&value, 1, 9).weight_bytes, (double)kv_b.bytes, 0);
    /* Ten positions of one latent row, keys and values at once: 2 * 72 B each. */
    is(cost(&core, 1, 9), 0, 4 * HEADS * (RANK + ROT + RANK), 10 * 2 * (RANK + ROT), 2 * HEADS * (RANK + ROT + RANK) * 10);
    /* Transposed rows are those of the tensor: of Q8_0 a row of 64 has two blocks, whatever `cols` is. */
    const struct tensor q8 = tensor(DTYPE_Q8_0, HEADS * (NOPE + VALUE), RANK);
    struct op op = key;
    op.w = &q8;
    assert_near(cost(&op, 1, 9).weight_bytes, HEADS * NOPE * 68, 0);
}

/* 6 tokens of each of 2 sequences after 4: 20 positions expanded, each to 8 (32 + 16) halves. */
static void latent_expanded(void **state)
{
    (void)state;
    const struct tensor kv_b = tensor(DTYPE_F16, HEADS * (NOPE + VALUE), RANK), k_b = tensor(DTYPE_F16, HEADS * NOPE, RANK),
                        v_b = tensor(DTYPE_F16, HEADS * VALUE, RANK);
    const struct pass p = { .n_tok = 12, .n_past = 4, .n_seq = 2, .n_out = 2 };
    struct op expand = { .kind = OP_KV_EXPAND, .w = &kv_b, .n_head = HEADS, .head_dim = NOPE + ROT, .head_dim_v = VALUE,
                         .n_rot = ROT, .cols = RANK + ROT, .form = FORM_EXPANDED, .form_tok = 1 };
    const double made = 2.0 * 20 * HEADS * (NOPE + ROT + VALUE);
    is(cost_op(&expand, &p, &floats), (double)kv_b.bytes, made, 20 * 2 * (RANK + ROT),
       2.0 * 20 * HEADS * RANK * (NOPE + VALUE));
    expand.w = &k_b;
    expand.bias = &v_b; /* two matrices instead of one: the same bytes */
    assert_near(cost_op(&expand, &p, &floats).weight_bytes, (double)kv_b.bytes, 0);
    /* Each token sees 5..10 keys: 45 pairs a sequence, read back from the workspace, not from the cache. */
    const struct op core = { .kind = OP_ATTENTION, .n_head = HEADS, .n_head_kv = HEADS, .head_dim = NOPE + ROT,
                             .head_dim_v = VALUE, .form = FORM_EXPANDED, .form_tok = 1 };
    is(cost_op(&core, &p, &floats), 0, 4 * 12 * HEADS * (NOPE + ROT + VALUE) + made, 0,
       2 * HEADS * (NOPE + ROT + VALUE) * 45 * 2);
    /* A single token never expands. */
    is(cost(&expand, 1, 1000), 0, 0, 0, 0);
    is(cost(&core, 1, 1000), 0, 0, 0, 0);
}

/* DeepSeek-V3: 61 layers cache 512 + 64 elements of F16: 61 * 576 * 2 = 70,272 B a token. */
static void latent_cache(void **state)
{
    (void)state;
    struct op ops[61];
    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        ops[i] = (struct op){ .kind = OP_KV_STORE, .n_head_kv = 1, .head_dim = 576, .layer = (int)i };
    const struct op_list l = { .ops = ops, .n = ARRAY_LEN(ops) };
    assert_near(cost_kv_bytes_token(&l, &floats), 70272, 0);
    is(cost(&ops[0], 3, 0), 0, 3 * 4 * 576, 3 * 1152, 0);
    /* No values: their type plays no part. Q8_0 keys: 18 blocks of 34. */
    const struct cost_options q8 = { .act_elem_bytes = 4, .type_k = DTYPE_Q8_0, .type_v = DTYPE_F32 };
    assert_near(cost_kv_bytes_token(&l, &q8), 61 * 18 * 34, 0);
}

/* ---- windows and types of the cache -------------------------------------------------------------- */

/* Layers of 2 KV heads of 64 + 32 elements, F16: 384 B a position; the first sees 100 keys at most. */
static void windows_bound_the_cache(void **state)
{
    (void)state;
    struct op ops[] = { { .kind = OP_KV_STORE, .n_head_kv = 2, .head_dim = 64, .head_dim_v = 32, .window = 100 },
                        { .kind = OP_KV_STORE, .n_head_kv = 2, .head_dim = 64, .head_dim_v = 32 } };
    const struct op_list l = { .ops = ops, .n = ARRAY_LEN(ops) };
    assert_near(cost_kv_bytes_token(&l, &floats), 2 * 384, 0);
    assert_near(cost_kv_bytes(&l, &floats, 116, 16), 2 * 116 * 384, 0);
    assert_near(cost_kv_bytes(&l, &floats, 117, 16), (116 + 117) * 384, 0);
    assert_near(cost_kv_bytes(&l, &floats, 100000, 16), (116 + 100000) * 384.0, 0);
    assert_near(cost_kv_bytes(&l, &floats, 0, 16), 0, 0);
}

/* Keys and values of different widths: 2 (48 + 16) FLOP a head and entry; sinks are read once a pass. */
static void wide_keys_narrow_values(void **state)
{
    (void)state;
    const struct tensor sinks = tensor(DTYPE_F32, 1, 4);
    const struct op op = { .kind = OP_ATTENTION, .w = &sinks, .n_head = 4, .n_head_kv = 2, .head_dim = 48, .head_dim_v = 16 };
    is(cost(&op, 2, 3), 16, 2 * 4 * 4 * (48 + 16), 5 * 2 * 2 * (48 + 16), 2 * 4 * (48 + 16) * (4 + 5));
}

static void types_of_the_cache(void **state)
{
    (void)state;
    static const enum dtype good[] = { DTYPE_F32,  DTYPE_F16,  DTYPE_BF16, DTYPE_Q8_0,  DTYPE_Q4_0,
                                       DTYPE_Q4_1, DTYPE_Q5_0, DTYPE_Q5_1, DTYPE_IQ4_NL };
    struct op op = { .kind = OP_KV_STORE, .n_head_kv = 2, .head_dim = 64, .head_dim_v = 64 };
    const struct op_list l = { .ops = &op, .n = 1 };
    struct cost_options o = floats;
    struct error err = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        o.type_k = o.type_v = good[i];
        assert_ok(cost_check_kv(&l, &o, &err), err);
    }
    o.type_k = DTYPE_Q4_K;
    assert_fails(cost_check_kv(&l, &o, &err), err, "KV cache: keys of type Q4_K: expected one of F32, F16, BF16, Q8_0,");
    assert_int_equal(err.kind, ERROR_USAGE);
    o.type_k = DTYPE_Q8_0;
    op.head_dim = 80;
    assert_fails(cost_check_kv(&l, &o, &err), err, "keys of type Q8_0 come in blocks of 32, the model's heads have 80 elements");
    op.head_dim = 64;
    op.head_dim_v = 40;
    o.type_v = DTYPE_Q4_0;
    assert_fails(cost_check_kv(&l, &o, &err), err, "values of type Q4_0 come in blocks of 32, the model's heads have 40 elements");
    o.type_v = DTYPE_BF16;
    assert_ok(cost_check_kv(&l, &o, &err), err);
}

/*
 * Two sequences of 3 tokens after 5, 4 heads of 8, 2 of them of keys: 8 positions each. In and out 4 B * 6 * (32 + 32). Scores through
 * memory: 4 passes over 4 heads * 3 * 8 scores of 4 B, of each sequence; FLOP stay those of the pairs that are seen.
 */
static void scores_through_memory(void **state)
{
    (void)state;
    const struct op op = { .kind = OP_ATTENTION, .n_head = 4, .n_head_kv = 2, .head_dim = 8, .head_dim_v = 8, .cols = 32 };
    const struct pass p = { .n_tok = 6, .n_past = 5, .n_seq = 2, .n_out = 2 };
    struct cost_options o = floats;
    is(cost_op(&op, &p, &o), 0, 4 * 6 * 64, 2 * 8 * 2 * 16 * 2, 2 * 2 * 64 * (6 + 7 + 8));
    o.materialized = true;
    is(cost_op(&op, &p, &o), 0, 4 * 6 * 64 + 2 * 4 * 4 * (4 * 3 * 8), 2 * 8 * 2 * 16 * 2, 2 * 2 * 64 * (6 + 7 + 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_through_memory), cmocka_unit_test(scales_heads_and_activations),
        cmocka_unit_test(layer_norms_and_plain_activations),
        cmocka_unit_test(one_token_reads_its_experts),
        cmocka_unit_test(counts_experts_touched),
        cmocka_unit_test(zipf_by_simulation),
        cmocka_unit_test(routing_of_layers),
        cmocka_unit_test(route_and_sum),
        cmocka_unit_test(account_of_experts),
        cmocka_unit_test(latent_absorbed),
        cmocka_unit_test(latent_expanded),
        cmocka_unit_test(latent_cache),
        cmocka_unit_test(windows_bound_the_cache),
        cmocka_unit_test(wide_keys_narrow_values),
        cmocka_unit_test(types_of_the_cache),
    };
    return cmocka_run_group_tests_name("roofline kinds of ops", tests, NULL, NULL);
}
