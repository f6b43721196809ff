/* Bytes of an op at each level of the caches, by hand; against a simulated cache they are held in tests/oracle. methods.md (34) */
#include "../test.h"
#include "tests/near.h"
#include "timing/levels.h"
#include <string.h>

/* read + write of the level of that name; NaN: none. */
static double bytes_at(const struct level_bytes *b, const char *name)
{
    for (int i = 0; i < b->n; i++)
        if (strcmp(b->level[i].name, name) == 0)
            return b->level[i].read_bytes + b->level[i].write_bytes;
    return NAN;
}

/* d 2048, 16 heads and 4 KV heads of 128, f 4096, vocabulary 1024. */
static const struct hparams dense = { .n_layer = 1, .n_embd = 2048, .n_head = 16, .n_head_kv = 4, .head_dim = 128,
                                      .head_dim_v = 128, .n_rot = 128, .n_ff = 4096, .n_vocab = 1024, .n_ctx_train = 65536,
                                      .rms_eps = 1e-5, .rope_theta = 1e4 };
static const struct cost_options floats = { .act_elem_bytes = 4, .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
static struct hw_cache caches[] = { { 3, 32 << 20, 1, 64, 8 }, { 1, 48 << 10, 8, 64, 1 }, { 2, 1 << 20, 8, 64, 1 } };
static const struct hwprofile cpu = { .id = "test", .kind = HW_CPU, .isa = "avx2", .cache = caches, .n_cache = 3 };

struct fixture {
    struct model m;
    struct op_list l;
};

static int open_model(void **state)
{
    static struct fixture x;
    struct error err = { 0 };
    assert_ok(model_from_hparams(&x.m, "test", "llama", &dense, "Q4_0", &err), err);
    assert_ok(op_list_build(&x.l, &x.m, &err), err);
    *state = &x;
    return 0;
}

static int close_model(void **state)
{
    struct fixture *x = *state;
    op_list_free(&x->l);
    model_free(&x->m);
    return 0;
}

static const struct op *op_of(const struct fixture *x, enum op_role role)
{
    for (size_t i = 0; i < x->l.n; i++)
        if (x->l.ops[i].role == role)
            return &x->l.ops[i];
    fail_msg("no op of role %s", op_role_name(role));
    return NULL;
}

static struct level_bytes levels(const struct op *op, struct pass p, struct level_state s)
{
    struct level_bytes b;
    struct error err = { 0 };
    assert_ok(roofline_level_bytes(&b, op, &p, &floats, &cpu, &s, &err), err);
    assert_int_equal(b.n, 4);
    return b;
}

/* From memory: the bytes of cost_op(), once. Lines that are only written are fetched first. */
static void test_cold_is_cost(void **state)
{
    const struct fixture *x = *state;
    const struct pass decode = { 1, 20000, 1, 1 }, prompt = { 64, 0, 1, 1 };
    static const struct {
        enum op_role role;
        double fetched; /* elements a token that are written without having been read */
    } cases[] = { { ROLE_ATTN_NORM, 2048 }, { ROLE_ATTN_CORE, 2048 }, { ROLE_FFN_ACT, 0 }, { ROLE_FFN_RESIDUAL, 0 },
                  { ROLE_EMBED, 2048 } };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct op *op = op_of(x, cases[i].role);
        const struct cost c = cost_op(op, &decode, &floats), p = cost_op(op, &prompt, &floats);
        const struct level_bytes b = levels(op, decode, (struct level_state){ 0 });
        assert_near(bytes_at(&b, "DRAM"), cost_bytes(&c) + 4 * cases[i].fetched, 0.5);
        const struct level_bytes q = levels(op, prompt, (struct level_state){ 0 });
        if (cases[i].role != ROLE_ATTN_CORE)
            assert_near(bytes_at(&q, "DRAM"), cost_bytes(&p) + 64 * 4 * cases[i].fetched, 0.5);
    }
    /* 2 * 4 * 128 * 2 bytes a position are stored, whose lines are fetched; K and V as floats are read */
    const struct level_bytes b = levels(op_of(x, ROLE_KV_STORE), decode, (struct level_state){ 0 });
    assert_near(b.level[3].write_bytes, 2048, 0.5);
    assert_near(b.level[3].read_bytes, 2048 + 4096, 0.5);
}

/* Q4_0 of [4096, 2048]: 4,718,592 bytes once; between two panels of 16 rows of it a core comes back to 2048 activations. */
static void test_decode_product(void **state)
{
    const struct op *op = op_of(*state, ROLE_FFN_UP);
    const struct level_bytes b = levels(op, (struct pass){ 1, 0, 1, 1 }, (struct level_state){ 0 });
    const double weight = 4718592;
    assert_near(b.level[3].read_bytes / weight, 1, 0.01);
    assert_near(b.level[0].read_bytes / weight, 1, 0.15);
    assert_true(b.level[1].read_bytes < 1.01 * weight); /* 18,432 + 3,072 bytes: in the L1 cache */
    /* the whole step fits the last level: nothing comes from memory, all of it from there */
    const struct level_bytes warm = levels(op, (struct pass){ 1, 0, 1, 1 }, (struct level_state){ 1, 16e6, 1e4 });
    assert_near(bytes_at(&warm, "DRAM"), 0, 0);
    assert_near(bytes_at(&warm, "L3") / weight, 1, 0.01);
}

/* 64 tokens: 196,608 bytes of activations for each of 256 panels, from L2; weights once. */
static void test_prompt_product(void **state)
{
    const struct op *op = op_of(*state, ROLE_FFN_UP);
    const struct level_bytes b = levels(op, (struct pass){ 64, 0, 1, 1 }, (struct level_state){ 0, 0, 1e5 });
    assert_true(b.level[1].read_bytes > 255 * 196608.0);
    assert_near(bytes_at(&b, "DRAM") / 4718592, 1, 0.001);
    assert_true(b.level[0].read_bytes > b.level[1].read_bytes && b.level[1].read_bytes > b.level[2].read_bytes);
}

/* Every core fetches the activations; weights are shared out. */
static void test_threads(void **state)
{
    const struct op *op = op_of(*state, ROLE_FFN_UP);
    const struct pass p = { 1, 0, 1, 1 };
    const struct level_bytes one = levels(op, p, (struct level_state){ 0 }), all = levels(op, p, (struct level_state){ .n_threads = 8 });
    assert_true(bytes_at(&all, "L2") > bytes_at(&one, "L2"));
    assert_true(bytes_at(&all, "L2") < 1.05 * bytes_at(&one, "L2"));
    assert_near(bytes_at(&all, "DRAM") / bytes_at(&one, "DRAM"), 1, 1e-9);
}

/* A prompt's later tokens come back to the keys: from memory once those of all heads, which take turns, no longer fit (one
 * head's still would: 512 bytes a position). */
static void test_long_prompt(void **state)
{
    const struct op *op = op_of(*state, ROLE_ATTN_CORE);
    /* The last cache holds the keys of one head, which its tiles come back to, after 20,000 tokens, not after 200,000. */
    static const struct {
        uint32_t n_past;
        double least, most;
    } cases[] = { { 0, 0.9, 1.6 }, { 20000, 0.9, 1.6 }, { 200000, 10, INFINITY } };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct pass p = { 2048, cases[i].n_past, 1, 1 };
        const struct cost c = cost_op(op, &p, &floats);
        const struct level_bytes b = levels(op, p, (struct level_state){ 0 });
        const double times = bytes_at(&b, "DRAM") / cost_bytes(&c);
        if (!(times > cases[i].least && times < cases[i].most))
            fail_msg("after %u tokens %g times the bytes, expected %g to %g", cases[i].n_past, times, cases[i].least, cases[i].most);
    }
}

/* AVX-512 processes 2048 columns at once and 4096 in two steps, after each of which y is stored: with unpacked weights and activations in
 * two forms all that a prompt's product stores. */
static void test_wide_steps(void **state)
{
    static const struct {
        enum op_role role;
        double cols, visits;
    } cases[] = { { ROLE_ATTN_OUTPUT, 2048, 1 }, { ROLE_FFN_DOWN, 4096, 2 } };
    struct hwprofile wide = cpu;
    snprintf(wide.isa, sizeof wide.isa, "avx512vnni");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct pass p = { 64, 0, 1, 1 };
        const struct level_state s = { 0 };
        struct level_bytes b;
        struct error err = { 0 };
        assert_ok(roofline_level_bytes(&b, op_of(*state, cases[i].role), &p, &floats, &wide, &s, &err), err);
        const double stored = 2048 * cases[i].cols + (1.25 + 1.5) * cases[i].cols * 64 + cases[i].visits * 4 * 2048 * 64;
        assert_near(b.level[0].write_bytes, stored, 0.5);
    }
}

static void test_refused(void **state)
{
    const struct op *op = op_of(*state, ROLE_FFN_UP);
    struct level_bytes b;
    struct error err = { 0 };
    const struct pass p = { 1, 0, 1, 1 };
    const struct level_state s = { 0 };
    const struct hwprofile gpu = { .id = "gpu", .kind = HW_GPU, .cache = caches, .n_cache = 3 },
                           bare = { .id = "bare", .kind = HW_CPU };
    assert_int_equal(roofline_level_bytes(&b, op, &p, &floats, &gpu, &s, &err), -1);
    assert_non_null(strstr(err.msg, "gpu is not a CPU"));
    assert_int_equal(roofline_level_bytes(&b, op, &p, &floats, &bare, &s, &err), -1);
    assert_non_null(strstr(err.msg, "bare states no cache sizes"));
    assert_true(isnan(bytes_at(&b, "L7")));
}

/* Every op of the list, prompt and decode: traffic only falls from level to level once it has left the core. */
static void test_falls(void **state)
{
    const struct fixture *x = *state;
    static const struct pass passes[] = { { 1, 300, 1, 1 }, { 4, 300, 4, 4 }, { 100, 0, 1, 1 }, { 700, 50, 1, 1 } };
    struct level_bytes sum = { 0 };
    for (size_t k = 0; k < ARRAY_LEN(passes); k++)
        for (size_t i = 0; i < x->l.n; i++) {
            const struct level_bytes b = levels(&x->l.ops[i], passes[k], (struct level_state){ 2, 3e6, 1e5 });
            for (int j = 1; j + 1 < b.n; j++)
                if (!(b.level[j].read_bytes + b.level[j].write_bytes >= b.level[j + 1].read_bytes + b.level[j + 1].write_bytes))
                    fail_msg("%s: more at %s than at %s", op_role_name(x->l.ops[i].role), b.level[j + 1].name, b.level[j].name);
            level_bytes_add(&sum, &b);
        }
    assert_string_equal(sum.level[0].name, "L1");
    assert_string_equal(sum.level[3].name, "DRAM");
    assert_true(bytes_at(&sum, "L1") > bytes_at(&sum, "DRAM"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cold_is_cost), cmocka_unit_test(test_decode_product), cmocka_unit_test(test_prompt_product),
        cmocka_unit_test(test_threads),      cmocka_unit_test(test_long_prompt),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_falls),        cmocka_unit_test(test_wide_steps),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
