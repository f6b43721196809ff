/* Several devices: what each does, what they exchange and how long that takes, by hand. methods.md (24) */
#include "../test.h"
#include "tests/near.h"
#include "timing/step.h"
#include <string.h>

/* One layer, d 64, 8 heads and 2 KV heads of 8, f 96, vocabulary 100, its own head. */
static const struct hparams dense = { .n_layer = 1, .n_embd = 64, .n_head = 8, .n_head_kv = 2, .head_dim = 8, .head_dim_v = 8,
                                      .n_rot = 8, .n_ff = 96, .n_vocab = 100, .n_ctx_train = 4096, .rms_eps = 1e-5,
                                      .rope_theta = 1e4 };

struct fixture {
    struct model m;
    struct op_list l;
    struct op_classes c;
    struct step_model s;
};

static const struct cost_options halves = { .act_elem_bytes = 2, .type_k = DTYPE_F16, .type_v = DTYPE_F16 };

static void open_model(struct fixture *x, const char *arch, const struct hparams *hp)
{
    struct error err = { 0 };
    assert_ok(model_from_hparams(&x->m, "test", arch, hp, "F16", &err), err);
    assert_ok(op_list_build(&x->l, &x->m, &err), err);
    assert_ok(op_classes_init(&x->c, &x->m, &x->l, &err), err);
}

static void lay_out(struct fixture *x, struct layout layout)
{
    struct error err = { 0 };
    const struct step_options o = { .cost = halves, .layout = layout };
    step_model_free(&x->s);
    assert_ok(step_model_init(&x->s, &x->c, &o, &err), err);
}

static void close_model(struct fixture *x)
{
    step_model_free(&x->s);
    op_classes_free(&x->c);
    op_list_free(&x->l);
    model_free(&x->m);
}

/* Sum over the classes of a role, in a pass. */
static struct cost of_role(const struct fixture *x, enum op_role role, const struct pass *p)
{
    struct cost sum = { 0 };
    for (size_t i = 0; i < x->s.n; i++) {
        struct cost_memo memo = { 0 };
        const struct op_class *c = &x->s.c[i];
        const struct cost k = cost_eval(&c->form, p, 1, &x->s.o.cost, &memo);
        if (c->op.role == role)
            sum = cost_add(sum, cost_times(&k, c->count));
    }
    return sum;
}

static void role_is(const struct fixture *x, enum op_role role, const struct pass *p, double weight, double act, double kv,
                    double flop, double link)
{
    const struct cost c = of_role(x, role, p);
    assert_near(c.weight_bytes, weight, 1e-9);
    assert_near(c.act_bytes, act, 1e-9);
    assert_near(c.kv_bytes, kv, 1e-9);
    assert_near(c.flop, flop, 1e-9);
    assert_near(c.link_bytes, link, 1e-9);
}

/*
 * tp 4, three tokens after ten: a device has 2 of 8 heads of queries, one of the 2 KV heads (two devices hold the same one),
 * 24 of 96 hidden elements. Activations 2 B.
 *   attn_q       [64, 64] / 4 = 1024 elements; in 64, out 16; 2 * 3 * 1024 FLOP
 *   attn_k       [16, 64] / 2 = 512 elements; in 64, out 8
 *   kv_store     3 * 1 head * (8 + 8) * 2 B, in 16 elements a token
 *   attn_core    queries 16, out 16; cache of 13 positions of one head: 13 * 16 * 2 B; each of two heads 4 * 8 FLOP a pair, 11 + 12 + 13
 *   attn_output  [64, 64] / 4, in 16, out 64
 *   ffn_gate     [96, 64] / 4 = 1536; in 64, out 24;   ffn_down the other way round
 *   ffn_norm     whole on every device
 *   all-reduce   2 * 3/4 of 3 * 64 elements of 2 B, after attn_output and after ffn_down (and once for the embeddings)
 *   lm_head      25 of 100 rows; then 3/4 of 100 logits of the last token are gathered
 */
static void tensor_parallel(void **state)
{
    struct fixture x = { 0 };
    const struct pass p = { .n_tok = 3, .n_past = 10, .n_seq = 1, .n_out = 1 };
    (void)state;
    open_model(&x, "llama", &dense);
    lay_out(&x, (struct layout){ .tp = 4 });
    role_is(&x, ROLE_ATTN_Q, &p, 2 * 1024, 2 * 3 * (64 + 16), 0, 2 * 3 * 1024, 0);
    role_is(&x, ROLE_ATTN_K, &p, 2 * 512, 2 * 3 * (64 + 8), 0, 2 * 3 * 512, 0);
    role_is(&x, ROLE_KV_STORE, &p, 0, 2 * 3 * 16, 3 * 16 * 2, 0, 0);
    role_is(&x, ROLE_ATTN_CORE, &p, 0, 2 * 3 * (16 + 16), 13 * 16 * 2, 2 * 4 * 8 * (11 + 12 + 13), 0);
    role_is(&x, ROLE_ATTN_OUTPUT, &p, 2 * 1024, 2 * 3 * (16 + 64), 0, 2 * 3 * 1024, 0);
    role_is(&x, ROLE_FFN_GATE, &p, 2 * 1536, 2 * 3 * (64 + 24), 0, 2 * 3 * 1536, 0);
    role_is(&x, ROLE_FFN_ACT, &p, 0, 2 * 3 * 3 * 24, 0, 5 * 3 * 24, 0);
    role_is(&x, ROLE_FFN_DOWN, &p, 2 * 1536, 2 * 3 * (24 + 64), 0, 2 * 3 * 1536, 0);
    role_is(&x, ROLE_FFN_NORM, &p, 4 * 64, 2 * 3 * 2 * 64, 0, 4 * 3 * 64, 0);
    role_is(&x, ROLE_COMM_ATTN, &p, 0, 0, 0, 0, 2 * 0.75 * 3 * 64 * 2);
    role_is(&x, ROLE_COMM_FFN, &p, 0, 0, 0, 0, 2 * (2 * 0.75 * 3 * 64 * 2));
    role_is(&x, ROLE_LM_HEAD, &p, 2 * 25 * 64, 2 * (64 + 25), 0, 2 * 25 * 64, 0);
    role_is(&x, ROLE_COMM_LOGITS, &p, 0, 0, 0, 0, 0.75 * 100 * 2);
    /* Memory: matrices by 4, but Wk and Wv by 2; norms whole. Positions of one KV head. */
    const struct layout tp4 = { .tp = 4 };
    assert_near(step_weight_bytes(&x.c, &tp4),
                2 * (2 * 64 * 64 + 3 * 96 * 64 + 2 * 100 * 64) / 4.0 + 2 * (2 * 16 * 64) / 2.0 + 4 * 3 * 64, 1e-9);
    assert_near(step_kv_bytes(&x.c, &tp4, &halves, 7, 1), 7 * 16 * 2, 0);
    close_model(&x);
}

/*
 * Eight experts of 16, two a token. ep 4 over dp 2 x tp 2: tokens of two groups share a device's experts, a device has 2 experts whole. Three tokens a
 * group, six in all: 8 (1 - 0.75^6) = 6.576 experts touched, 1.644 on a device, which computes 6 * 2 / 4 = 3 visits.
 *   gate   1.644 * [16, 64] elements; in 3 * 64, out 3 * 16; 3 * 2 * 16 * 64 FLOP
 *   dispatch and combine: a device sends its half of the group's 3 * 2 rows of 64 elements, 3/4 of them to others
 *   then the group gathers the sums: 1/2 of 3 * 64 elements
 */
static void experts_over_groups(void **state)
{
    struct fixture x = { 0 };
    const struct pass p = { .n_tok = 3, .n_past = 0, .n_seq = 3, .n_out = 3 };
    struct hparams hp = dense;
    (void)state;
    hp.n_expert = 8;
    hp.n_expert_used = 2;
    hp.n_ff = hp.n_ff_exp = 16;
    open_model(&x, "llama", &hp);
    lay_out(&x, (struct layout){ .tp = 2, .dp = 2, .ep = 4 });
    const double touched = 8 * (1 - pow(0.75, 6));
    role_is(&x, ROLE_EXPERT_GATE, &p, touched / 4 * 16 * 64 * 2, 2 * (3 * 64 + 3 * 16), 0, 3 * 2 * 16 * 64, 0);
    role_is(&x, ROLE_EXPERT_DOWN, &p, touched / 4 * 16 * 64 * 2, 2 * (3 * 16 + 3 * 64), 0, 3 * 2 * 16 * 64, 0);
    role_is(&x, ROLE_FFN_ROUTER, &p, 4 * 8 * 64, 2 * 3 * (64 + 8), 0, 2 * 3 * 8 * 64, 0);
    role_is(&x, ROLE_COMM_DISPATCH, &p, 0, 0, 0, 0, 0.75 * 3 * 2 * 64 / 2 * 2);
    role_is(&x, ROLE_COMM_COMBINE, &p, 0, 0, 0, 0, 0.75 * 3 * 2 * 64 / 2 * 2);
    role_is(&x, ROLE_COMM_ATTN, &p, 0, 0, 0, 0, 2 * 0.5 * 3 * 64 * 2);
    role_is(&x, ROLE_COMM_FFN, &p, 0, 0, 0, 0, (2 * 0.5 + 0.5) * 3 * 64 * 2); /* the embeddings' all-reduce, the gather */
    /* Inside one group of two, experts whole or divided cost the same, and one all-reduce adds them up. */
    for (uint32_t ep = 1; ep <= 2; ep++) {
        lay_out(&x, (struct layout){ .tp = 2, .ep = ep });
        const double t3 = 8 * (1 - pow(0.75, 3));
        assert_near(of_role(&x, ROLE_EXPERT_GATE, &p).weight_bytes, t3 / 2 * 16 * 64 * 2, 1e-9);
        assert_near(of_role(&x, ROLE_EXPERT_GATE, &p).flop, 3 * 2 * 2 * 16 * 64 / 2, 1e-9);
        role_is(&x, ROLE_COMM_DISPATCH, &p, 0, 0, 0, 0, 0);
        role_is(&x, ROLE_COMM_FFN, &p, 0, 0, 0, 0, 2 * (2 * 0.5 * 3 * 64 * 2));
    }
    close_model(&x);
}

/* One device has everything, and classes cost what the ops cost one by one. */
static void one_device_is_the_op_list(void **state)
{
    struct fixture x = { 0 };
    const struct pass passes[] = { { 5, 0, 1, 1 }, { 4, 100, 4, 4 }, { 64, 10, 2, 0 } };
    struct hparams hp = dense;
    (void)state;
    hp.n_layer = 7;
    hp.window = 6;
    hp.window_period = 3;
    open_model(&x, "gemma2", &hp);
    lay_out(&x, (struct layout){ 0 });
    assert_true(x.s.n < x.l.n / 2);
    for (size_t i = 0; i < ARRAY_LEN(passes); i++) {
        struct cost a = { 0 }, b = { 0 };
        for (size_t k = 0; k < x.l.n; k++)
            a = cost_add(a, cost_op(&x.l.ops[k], &passes[i], &halves));
        for (int r = 0; r < ROLE_COUNT; r++)
            b = cost_add(b, of_role(&x, (enum op_role)r, &passes[i]));
        assert_near(a.weight_bytes, b.weight_bytes, 0);
        assert_near(a.act_bytes, b.act_bytes, 0);
        assert_near(a.kv_bytes, b.kv_bytes, 0);
        assert_near(a.flop, b.flop, 0);
        assert_near(b.link_bytes, 0, 0);
    }
    close_model(&x);
}

/* Five layers on two stages: vLLM gives the last stage, with the head, the fewer. 3 x layer + table, or 2 x layer + head. */
static void pipeline_memory(void **state)
{
    struct fixture x = { 0 };
    struct hparams hp = dense;
    const struct layout pp2 = { .pp = 2 };
    const double layer = 2 * (2 * 64 * 64 + 2 * 16 * 64 + 3 * 96 * 64) + 4 * 2 * 64, table = 2 * 100 * 64;
    (void)state;
    hp.n_layer = 5;
    open_model(&x, "llama", &hp);
    assert_near(step_weight_bytes(&x.c, &pp2), 3 * layer + table, 1e-9);
    assert_near(step_kv_bytes(&x.c, &pp2, &halves, 10, 1), 3 * 10 * 2 * 16 * 2, 0);
    lay_out(&x, pp2);
    assert_near(x.s.stretch, 2 * 3 / 5.0, 1e-12);
    const struct pass p = { 4, 0, 4, 4 };
    role_is(&x, ROLE_COMM_STAGE, &p, 0, 0, 0, 0, 4 * 64 * 2);
    close_model(&x);
}

/* ---- seconds ------------------------------------------------------------------------------------- */

/* 100 GB/s, 5 microseconds a hop. */
static struct roofs linked(bool ring)
{
    struct roofs r = { .bytes_s = 1e12, .e_compute = 1, .e_bandwidth = 1, .act_elem_bytes = 2, .link_bytes_s = 1e11,
                       .link_latency_s = 5e-6, .link_ring = ring };
    for (int i = 0; i < MATH_COUNT; i++)
        r.peak[i].flop_s = 1e15;
    return r;
}

static double seconds(enum op_kind kind, uint32_t n, double sent, bool ring)
{
    const struct roofs r = linked(ring);
    struct step x = { .kind = kind, .count = 1, .n_comm = n, .cost = { .link_bytes = sent } };
    roofs_time(&r, &x, &(struct pass){ .n_tok = 1, .n_seq = 1 });
    assert_int_equal(x.bound, BOUND_LINK);
    return x.seconds;
}

/*
 * All-reduce of M = 80 MB among 8: in two rounds each sends 2 * 7/8 * M = 140 MB, 1.4 ms, and waits for 14 hops of 5 us on a ring, for 2 where
 * all are joined. Of M = 8 kB: 14 kB take 0.14 us and 70 us of hops on the ring; at once each sends 7 M = 56 kB, 0.56 us, in one hop.
 */
static void collectives(void **state)
{
    (void)state;
    assert_near(seconds(OP_ALL_REDUCE, 8, 140e6, true), 1.4e-3 + 70e-6, 1e-12);
    assert_near(seconds(OP_ALL_REDUCE, 8, 140e6, false), 1.4e-3 + 10e-6, 1e-12);
    assert_near(seconds(OP_ALL_REDUCE, 8, 14e3, false), 0.56e-6 + 5e-6, 1e-12);
    assert_near(seconds(OP_ALL_REDUCE, 8, 14e3, true), 0.14e-6 + 70e-6, 1e-12);
    assert_near(seconds(OP_ALL_GATHER, 4, 1e6, false), 10e-6 + 5e-6, 1e-12);
    assert_near(seconds(OP_ALL_GATHER, 4, 1e6, true), 10e-6 + 15e-6, 1e-12);
    assert_near(seconds(OP_ALL_TO_ALL, 8, 7e6, false), 70e-6 + 5e-6, 1e-12);
    assert_near(seconds(OP_SEND, 2, 1e6, false), 10e-6 + 5e-6, 1e-12);
}

/*
 * Five equal layers of 2 GB on two stages of three and two, at 1 TB/s: 6 ms and 4 ms, a pass 10 ms; the slower stage is 6 / 5
 * of their mean. One sequence goes through both, 10 ms a token. Of four, two groups of two follow each other: each stage has
 * one at any time, and a step of both takes twice the slower stage, 12 ms. A prompt of three passes: the first 10 ms, then
 * one every 6 ms.
 */
static void pipeline_seconds(void **state)
{
    struct op_class layer = { .op = { .kind = OP_MATMUL }, .count = 5, .form = { .weight = 2e9 } };
    const struct step_model s = { .c = &layer, .n = 1, .o = { .layout = { .pp = 2, .dp = 2 } }, .stretch = 6 / 5.0 };
    struct roofs r = linked(false);
    struct scenario o = { .n_prompt = 12, .n_gen = 1, .n_batch = 2, .n_ubatch = 4 }; /* one sequence a group */
    (void)state;
    r.cache_bytes_s = INFINITY;
    assert_near(step_decode(&s, &r, &o, NULL, NULL).seconds, 10e-3, 1e-12);
    assert_near(step_decode(&s, &r, &o, NULL, NULL).cost.weight_bytes, 5 * 2e9, 0);
    assert_near(step_prefill(&s, &r, &o, NULL, NULL).seconds, 10e-3 + 2 * 6e-3, 1e-12);
    o.n_batch = 8;
    assert_near(step_decode(&s, &r, &o, NULL, NULL).seconds, 12e-3, 1e-12);
}

static void refused(struct fixture *x, struct layout l, const char *why)
{
    struct error err = { 0 };
    assert_fails(layout_check(&l, &x->c, &err), err, why);
}

static void what_does_not_divide(void **state)
{
    struct fixture x = { 0 };
    struct hparams hp = dense;
    (void)state;
    open_model(&x, "llama", &hp);
    refused(&x, (struct layout){ .tp = 3 }, "tp 3 does not divide 8 heads");
    refused(&x, (struct layout){ .pp = 2 }, "the model has 1 layers");
    refused(&x, (struct layout){ .ep = 2 }, "the model has no experts");
    refused(&x, (struct layout){ .tp = 2000 }, "at most 65536 devices");
    close_model(&x);
    hp.n_head = hp.n_head_kv = 12;
    hp.n_expert = 6;
    hp.n_expert_used = 2;
    hp.n_ff_exp = hp.n_ff = 32;
    open_model(&x, "llama", &hp);
    refused(&x, (struct layout){ .dp = 4, .ep = 4 }, "ep 4 does not divide 6 experts");
    refused(&x, (struct layout){ .tp = 2, .dp = 2, .ep = 3 }, "expected a divisor of tp x dp = 4");
    close_model(&x);
}

/*
 * Barriers in two layers of a Llama. Of a prompt: in the preparation of what a product reads (Q, gate, and O and down, before which others'
 * results are awaited too), before rotations of queries, attention, and norms of what an addition wrote by columns; the first layer's norm reads
 * rows of its own threads. Of one token every thread prepares for itself: before keys, the cache's store and down is waited for others.
 */
static void barriers_of_a_block(void **state)
{
    static const struct {
        enum op_role role;
        double prompt, one; /* of both layers */
    } cases[] = {
        { ROLE_ATTN_NORM, 1, 2 }, { ROLE_ATTN_Q, 2, 0 },     { ROLE_ATTN_K, 0, 2 },        { ROLE_ATTN_V, 0, 0 },
        { ROLE_ATTN_ROPE, 2, 2 }, { ROLE_KV_STORE, 0, 0 },   { ROLE_ATTN_CORE, 2, 2 },     { ROLE_ATTN_OUTPUT, 4, 2 },
        { ROLE_ATTN_RESIDUAL, 0, 0 }, { ROLE_FFN_NORM, 2, 2 }, { ROLE_FFN_GATE, 2, 0 },    { ROLE_FFN_UP, 0, 0 },
        { ROLE_FFN_ACT, 0, 0 },   { ROLE_FFN_DOWN, 4, 2 },   { ROLE_FFN_RESIDUAL, 0, 0 },
    };
    struct fixture x = { 0 };
    struct hparams hp = dense;
    (void)state;
    hp.n_layer = 2;
    open_model(&x, "llama", &hp);
    lay_out(&x, (struct layout){ .tp = 2 });
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        double n[2] = { 0 };
        for (size_t k = 0; k < x.s.n; k++)
            for (int one = 0; one < 2 && x.s.c[k].op.role == cases[i].role; one++)
                n[one] += x.s.c[k].count * x.s.c[k].barriers[one];
        if (n[0] != cases[i].prompt || n[1] != cases[i].one)
            fail_msg("%s: %g and %g barriers", op_role_name(cases[i].role), n[0], n[1]);
    }
    close_model(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensor_parallel),         cmocka_unit_test(experts_over_groups),
        cmocka_unit_test(one_device_is_the_op_list), cmocka_unit_test(pipeline_memory),
        cmocka_unit_test(collectives),             cmocka_unit_test(pipeline_seconds),
        cmocka_unit_test(what_does_not_divide),        cmocka_unit_test(barriers_of_a_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
