/* The cost of each op kind against figures derived by hand in the comments. */
#include "../test.h"
#include "tests/near.h"
#include "timing/roofs.h"

static const struct cost_options floats = { .act_elem_bytes = 4, .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
static const struct pass one = { .n_tok = 1, .n_past = 0, .n_seq = 1, .n_out = 1 };

static struct tensor matrix(enum dtype type, uint64_t rows, uint64_t cols)
{
    return (struct tensor){ .name = "w",
                            .type = type,
                            .rows = rows,
                            .cols = cols,
                            .bytes = rows * dtype_row_bytes(type, cols) };
}

static struct op product(const struct tensor *w)
{
    return (struct op){
        .kind = OP_MATMUL, .w = w, .rows = (uint32_t)w->rows, .cols = (uint32_t)w->cols
    };
}

static struct cost cost(const struct op *op, uint32_t n_tok, uint32_t n_past)
{
    const struct pass p = { .n_tok = n_tok, .n_past = n_past, .n_seq = 1, .n_out = 1 };
    return cost_op(op, &p, &floats);
}

/* 4096 * 4096 weights of 2 bytes; one multiplication and one addition each: 2 * 4096 * 4096
 * = 33,554,432 of both. */
static void matrix_4096_in_decode(void **state)
{
    (void)state;
    const struct tensor w = matrix(DTYPE_F16, 4096, 4096);
    const struct op op = product(&w);
    const struct cost c = cost(&op, 1, 0);
    assert_near(c.weight_bytes, 33554432, 0);
    assert_near(c.flop, 33554432, 0);
    assert_near(c.kv_bytes, 0, 0);
    assert_near(c.act_bytes, 4 * (4096 + 4096), 0); /* x in, y out, floats */
}

/*
 * W_down, GGUF dims [16384, 4096]: 4096 rows of 16384. 2 * 16384 * 4096 = 134,217,728 bytes
 * and FLOP: 1 FLOP/byte. At a balance of 100 FLOP/byte (100 FLOP/s to 1 B/s) the arithmetic
 * takes 1 % of the transfer: 99 % waiting.
 */
static void w_down_waits_99_percent(void **state)
{
    (void)state;
    const struct tensor w = matrix(DTYPE_F16, 4096, 16384);
    const struct op op = product(&w);
    const struct cost c = cost(&op, 1, 0);
    assert_near(c.weight_bytes, 134217728, 0);
    assert_near(c.flop, 134217728, 0);
    assert_near(c.flop / c.weight_bytes, 1, 0);
    const double bytes_s = 1e12, flop_s = 100 * bytes_s;
    assert_near((c.flop / flop_s) / (c.weight_bytes / bytes_s), 0.01, 1e-15);
    assert_near(attainable_flop_s(1, flop_s, bytes_s) / flop_s, 0.01, 1e-15);
    assert_near(attainable_flop_s(100, flop_s, bytes_s), flop_s, 0);  /* the ridge point */
    assert_near(attainable_flop_s(1000, flop_s, bytes_s), flop_s, 0); /* right of it */
}

/* The weights are read once a pass, the FLOP grow with the tokens: n tokens, n times the
 * FLOP of a weight byte. */
static void n_prompt_tokens_multiply_intensity_by_n(void **state)
{
    (void)state;
    static const uint32_t n[] = { 2, 6, 128, 512, 4096 };
    const struct tensor w = matrix(DTYPE_Q4_0, 4096, 4096);
    const struct op op = product(&w);
    const struct cost c1 = cost(&op, 1, 0);
    for (size_t i = 0; i < ARRAY_LEN(n); i++) {
        const struct cost c = cost(&op, n[i], 0);
        assert_near(c.weight_bytes, c1.weight_bytes, 0);
        assert_near(c.flop / c.weight_bytes, n[i] * (c1.flop / c1.weight_bytes), 1e-9);
    }
    /* Q4_0: 18 bytes a 32 weights, 2 * 32 FLOP: 64 / 18 FLOP/byte at one token. */
    assert_near(c1.flop / c1.weight_bytes, 64.0 / 18, 1e-12);
}

static void score_vector_has_n_past_plus_1_entries(void **state)
{
    (void)state;
    const struct op op = {
        .kind = OP_ATTENTION, .n_head = 32, .n_head_kv = 8, .head_dim = 128, .head_dim_v = 128, .cols = 4096
    };
    static const uint32_t past[] = { 0, 1, 4, 511, 4096 };
    for (size_t i = 0; i < ARRAY_LEN(past); i++) {
        const struct pass p = { .n_tok = 1, .n_past = past[i], .n_seq = 1, .n_out = 1 };
        assert_int_equal(cost_score_len(&op, &p), past[i] + 1);
    }
    /* Three sequences of one token each: each its own n_past + 1. */
    const struct pass p = { .n_tok = 3, .n_past = 10, .n_seq = 3, .n_out = 3 };
    assert_int_equal(cost_score_len(&op, &p), 11);
}

/*
 * 32 heads of 128, 8 KV heads, 4 cached. Decode sees 5 keys: q K^T and p V, 2 * 32 * 128 *
 * 5 FLOP each = 81,920 in all; K and V of 5 positions: 2 * 8 * 128 * 2 B * 5 = 20,480 B. Q
 * in and O out: 4 B * 2 * 4096.
 */
static void attention_in_decode(void **state)
{
    (void)state;
    const struct op op = {
        .kind = OP_ATTENTION, .n_head = 32, .n_head_kv = 8, .head_dim = 128, .head_dim_v = 128, .cols = 4096
    };
    struct cost c = cost(&op, 1, 4);
    assert_near(c.flop, 2 * 2 * 32 * 128 * 5, 0);
    assert_near(c.kv_bytes, 20480, 0);
    assert_near(c.act_bytes, 32768, 0);
    assert_near(c.weight_bytes, 0, 0);
    /* Two sequences, two caches. */
    const struct pass two = { .n_tok = 2, .n_past = 4, .n_seq = 2, .n_out = 2 };
    c = cost_op(&op, &two, &floats);
    assert_near(c.flop, 2 * 81920, 0);
    assert_near(c.kv_bytes, 2 * 20480, 0);
}

/* Added up token by token and key by key: what causal and windowed attention see. */
static void attention_by_enumeration(void **state)
{
    (void)state;
    static const uint32_t windows[] = { 0, 1, 3, 7, 16, 1000 };
    for (size_t w = 0; w < ARRAY_LEN(windows); w++)
        for (uint32_t n_past = 0; n_past < 20; n_past++)
            for (uint32_t t = 1; t < 20; t++) {
                const uint32_t window = windows[w];
                const struct op op = { .kind = OP_ATTENTION,
                                       .n_head = 4,
                                       .n_head_kv = 2,
                                       .head_dim = 8,
                                       .head_dim_v = 8,
                                       .window = window };
                uint32_t pairs = 0, first = UINT32_MAX;
                for (uint32_t i = 0; i < t; i++)
                    for (uint32_t k = 0; k <= n_past + i; k++) {
                        if (window && k + window <= n_past + i)
                            continue;
                        pairs++;
                        first = k < first ? k : first;
                    }
                const struct cost c = cost(&op, t, n_past);
                assert_near(c.flop, 4.0 * 4 * 8 * pairs, 0);
                assert_near(c.kv_bytes, 2.0 * 2 * 8 * 2 * (n_past + t - first), 0);
            }
}

/* One figure each, by the definitions in methods.md (7), (9), (13), (14), (6). */
static void small_ops(void **state)
{
    (void)state;
    const struct tensor norm = matrix(DTYPE_F32, 1, 4096),
                        table = matrix(DTYPE_Q8_0, 32000, 4096);
    struct op op = { .kind = OP_RMS_NORM, .w = &norm, .rows = 1, .cols = 4096 };
    struct cost c = cost(&op, 3, 0);
    assert_near(c.flop, 3 * 4 * 4096, 0);
    assert_near(c.act_bytes, 3 * 4 * 2 * 4096, 0);
    assert_near(c.weight_bytes, 4 * 4096, 0); /* once, not thrice */
    op = (struct op){
        .kind = OP_ROPE, .n_head = 32, .head_dim = 128, .n_rot = 64, .cols = 4096
    };
    c = cost(&op, 3, 0);
    assert_near(c.flop, 3 * 32 * 3 * 64, 0); /* 6 a pair, 32 pairs a head */
    assert_near(c.act_bytes, 3 * 4 * 2 * 32 * 64, 0);
    op = (struct op){ .kind = OP_GLU, .cols = 14336 };
    c = cost(&op, 3, 0);
    assert_near(c.flop, 3 * 5 * 14336, 0);
    assert_near(c.act_bytes, 3 * 4 * 3 * 14336, 0);
    op = (struct op){ .kind = OP_ADD, .cols = 4096 };
    c = cost(&op, 3, 0);
    assert_near(c.flop, 3 * 4096, 0);
    assert_near(c.act_bytes, 3 * 4 * 3 * 4096, 0);
    op = (struct op){ .kind = OP_KV_STORE, .n_head_kv = 8, .head_dim = 128, .head_dim_v = 128, .cols = 2048 };
    c = cost(&op, 3, 7);
    assert_near(c.kv_bytes, 3 * 2 * 8 * 128 * 2, 0); /* F16, whatever is cached already */
    assert_near(c.act_bytes, 3 * 4 * 2 * 8 * 128, 0);
    assert_near(c.flop, 0, 0);
    op = (struct op){ .kind = OP_EMBED, .w = &table, .cols = 4096 };
    c = cost(&op, 3, 0);
    assert_near(c.weight_bytes, 3 * 4096 / 32 * 34, 0); /* three rows, not the table */
    assert_near(c.act_bytes, 3 * 4 * 4096, 0);
    assert_near(c.flop, 0, 0);
}

/* The LM head works on the rows whose logits are wanted: one for a prompt of 512, none in a
 * pass that wants none. */
static void rows_out(void **state)
{
    (void)state;
    const struct tensor w = matrix(DTYPE_F16, 32000, 2048);
    struct op op = product(&w);
    op.out_rows = true;
    const struct pass last = { .n_tok = 512, .n_seq = 1, .n_out = 1 },
                      early = { .n_tok = 512, .n_seq = 1, .n_out = 0 };
    struct cost c = cost_op(&op, &last, &floats);
    assert_near(c.flop, 2.0 * 32000 * 2048, 0);
    assert_near(c.weight_bytes, 2.0 * 32000 * 2048, 0);
    c = cost_op(&op, &early, &floats);
    assert_near(c.flop, 0, 0);
    assert_near(c.weight_bytes, 0, 0);
}

static void intensity_of_nothing_is_nan(void **state)
{
    (void)state;
    const struct cost none = { 0 },
                      c = { .weight_bytes = 1, .act_bytes = 2, .kv_bytes = 5, .flop = 4 };
    assert_true(isnan(cost_ai(&none)));
    assert_near(cost_bytes(&c), 8, 0);
    assert_near(cost_ai(&c), 0.5, 0);
    const struct cost twice = cost_add(c, c);
    assert_near(cost_bytes(&twice), 16, 0);
    assert_near(twice.flop, 8, 0);
}

/* KV cache in Q8_0: 34 bytes a 32 elements. Keys Q8_0, values Q4_0 (18 a 32): their sum. */
static void kv_types(void **state)
{
    (void)state;
    struct cost_options o = { .act_elem_bytes = 2, .type_k = DTYPE_Q8_0, .type_v = DTYPE_Q8_0 };
    const struct op op = { .kind = OP_KV_STORE, .n_head_kv = 8, .head_dim = 128, .head_dim_v = 128 };
    struct cost c = cost_op(&op, &one, &o);
    assert_near(c.kv_bytes, 2 * 8 * 128 * 34.0 / 32, 0);
    assert_near(c.act_bytes, 2 * 2 * 8 * 128, 0); /* two-byte activations */
    o.type_v = DTYPE_Q4_0;
    c = cost_op(&op, &one, &o);
    assert_near(c.kv_bytes, 8 * (4 * 34 + 4 * 18), 0);
}

/* ---- passes ------------------------------------------------------------------------- */

struct seen {
    struct pass p[64];
    size_t n;
};

static void see(void *ctx, const struct pass *p)
{
    struct seen *s = ctx;
    assert_true(s->n < ARRAY_LEN(s->p));
    s->p[s->n++] = *p;
}

/* 1200 tokens at depth 100 in passes of 512: 512, 512, 176; only the last one wants logits.
 */
static void prompt_in_passes(void **state)
{
    (void)state;
    static const uint32_t n_tok[] = { 512, 512, 176 }, n_past[] = { 100, 612, 1124 },
                          n_out[] = { 0, 0, 1 };
    struct seen s = { .n = 0 };
    prefill_passes(1200, 100, 512, 1, see, &s);
    assert_int_equal(s.n, 3);
    assert_int_equal(prefill_n_passes(1200, 512, 1), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(s.p[i].n_tok, n_tok[i]);
        assert_int_equal(s.p[i].n_past, n_past[i]);
        assert_int_equal(s.p[i].n_out, n_out[i]);
        assert_int_equal(s.p[i].n_seq, 1);
    }
    s.n = 0;
    prefill_passes(0, 0, 512, 1, see, &s);
    assert_int_equal(s.n, 0);
    /* A multiple of the pass: no empty last one. */
    prefill_passes(1024, 0, 512, 1, see, &s);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.p[1].n_out, 1);
}

/* Four sequences share the 512 tokens of a pass: 128 of each; more sequences than tokens:
 * one of each. */
static void sequences_share_a_pass(void **state)
{
    (void)state;
    struct seen s = { .n = 0 };
    prefill_passes(300, 0, 512, 4, see, &s);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.p[0].n_tok, 512);
    assert_int_equal(s.p[1].n_past, 128);
    assert_int_equal(s.p[2].n_tok, 4 * 44);
    assert_int_equal(s.p[2].n_out, 4);
    s.n = 0;
    prefill_passes(2, 0, 4, 10, see, &s);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.p[0].n_tok, 10);
}

/* Passes change the weight bytes (read once each) and the KV re-read, not the FLOP. */
static void passes_keep_flop(void **state)
{
    (void)state;
    const struct tensor w = matrix(DTYPE_F16, 64, 64);
    const struct op mm = product(&w), att = {
        .kind = OP_ATTENTION, .n_head = 4, .n_head_kv = 4, .head_dim = 16, .head_dim_v = 16
    };
    struct seen whole = { .n = 0 }, split = { .n = 0 };
    prefill_passes(100, 10, 100, 1, see, &whole);
    prefill_passes(100, 10, 7, 1, see, &split);
    assert_int_equal(split.n, 15);
    struct cost a[2], b[2];
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    for (size_t i = 0; i < whole.n; i++) {
        a[0] = cost_add(a[0], cost_op(&mm, &whole.p[i], &floats));
        a[1] = cost_add(a[1], cost_op(&att, &whole.p[i], &floats));
    }
    for (size_t i = 0; i < split.n; i++) {
        b[0] = cost_add(b[0], cost_op(&mm, &split.p[i], &floats));
        b[1] = cost_add(b[1], cost_op(&att, &split.p[i], &floats));
    }
    assert_near(a[0].flop, b[0].flop, 0);
    assert_near(a[1].flop, b[1].flop, 0);
    assert_near(b[0].weight_bytes, 15 * a[0].weight_bytes, 0);
    assert_true(b[1].kv_bytes > a[1].kv_bytes);
}

static void first_decode_step(void **state)
{
    (void)state;
    struct pass p = decode_pass(4096, 1);
    assert_int_equal(p.n_past, 4096);
    assert_int_equal(p.n_tok, 1);
    assert_int_equal(p.n_out, 1);
    p = decode_pass(0, 8);
    assert_int_equal(p.n_past, 0);
    assert_int_equal(p.n_tok, 8);
    assert_int_equal(p.n_seq, 8);
    assert_int_equal(p.n_out, 8);
}

/* n tokens from depth d, added up step by step: before, across and beyond the edge of a window. */
static void mean_decode_step_by_enumeration(void **state)
{
    (void)state;
    static const uint32_t windows[] = { 0, 1, 5, 40, 1000 }, gens[] = { 1, 2, 7, 128 };
    const struct tensor w = matrix(DTYPE_Q8_0, 64, 64);
    for (size_t i = 0; i < ARRAY_LEN(windows); i++)
        for (size_t k = 0; k < ARRAY_LEN(gens); k++)
            for (uint32_t d = 0; d < 60; d += 3) {
                const uint32_t n = gens[k];
                const struct op ops[] = {
                    { .kind = OP_ATTENTION, .n_head = 4, .n_head_kv = 2, .head_dim = 32, .head_dim_v = 64, .window = windows[i] },
                    { .kind = OP_KV_STORE, .n_head_kv = 2, .head_dim = 32, .head_dim_v = 64, .window = windows[i] },
                    product(&w),
                };
                const struct pass first = decode_pass(d, 3);
                for (size_t j = 0; j < ARRAY_LEN(ops); j++) {
                    struct cost sum = { 0 };
                    for (uint32_t t = 0; t < n; t++) {
                        const struct pass p = decode_pass(d + t, 3);
                        sum = cost_add(sum, cost_op(&ops[j], &p, &floats));
                    }
                    const struct cost mean = cost_decode(&ops[j], &first, n, &floats);
                    assert_near(n * mean.flop, sum.flop, 1e-6);
                    assert_near(n * mean.kv_bytes, sum.kv_bytes, 1e-6);
                    assert_near(n * mean.act_bytes, sum.act_bytes, 1e-6);
                    assert_near(n * mean.weight_bytes, sum.weight_bytes, 1e-6);
                }
            }
    /* tg128 at depth 0: 64.5 keys in the mean, not 65. */
    const struct op att = { .kind = OP_ATTENTION, .n_head = 1, .n_head_kv = 1, .head_dim = 1, .head_dim_v = 1 };
    const struct pass first = decode_pass(0, 1);
    assert_near(cost_decode(&att, &first, 128, &floats).flop, 4 * 64.5, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrix_4096_in_decode),
        cmocka_unit_test(w_down_waits_99_percent),
        cmocka_unit_test(n_prompt_tokens_multiply_intensity_by_n),
        cmocka_unit_test(score_vector_has_n_past_plus_1_entries),
        cmocka_unit_test(attention_in_decode),
        cmocka_unit_test(attention_by_enumeration),
        cmocka_unit_test(small_ops),
        cmocka_unit_test(rows_out),
        cmocka_unit_test(intensity_of_nothing_is_nan),
        cmocka_unit_test(kv_types),
        cmocka_unit_test(prompt_in_passes),
        cmocka_unit_test(sequences_share_a_pass),
        cmocka_unit_test(passes_keep_flop),
        cmocka_unit_test(first_decode_step),
        cmocka_unit_test(mean_decode_step_by_enumeration),
    };
    return cmocka_run_group_tests_name("roofline cost", tests, NULL, NULL);
}
