/*
 * Six published models, prompt and decode step, short and at 32k, against figures derived by hand: bytes of weights (BF16, vectors and
 * routers F32, as GGUF files have them), bytes of the F16 cache, FLOP of the products and of the attention. One sequence,
 * logits of the last token. Below T is the number of new tokens and P of those before.
 */
#include "base/environment.h"
#include "../test.h"
#include "cost/cost.h"
#include "model/op.h"
#include "tests/near.h"
#include <string.h>

struct figures {
    uint32_t n_tok, n_past;
    double weight_bytes, kv_bytes, product_flop, attention_flop;
};

static void model_is(const char *name, const struct figures *f, size_t n)
{
    const struct cost_options o = { .act_elem_bytes = 2, .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
    struct model m;
    struct op_list l;
    struct error err = { 0 };
    environment_set_dirs(data_dirs());
    assert_ok(model_load(&m, name, "BF16", &err), err);
    assert_ok(op_list_build(&l, &m, &err), err);
    for (size_t i = 0; i < n; i++) {
        const struct pass p = { .n_tok = f[i].n_tok, .n_past = f[i].n_past, .n_seq = 1, .n_out = 1 };
        double weight = 0, kv = 0, product = 0, attention = 0;
        for (size_t k = 0; k < l.n; k++) {
            const struct cost c = cost_op(&l.ops[k], &p, &o);
            weight += c.weight_bytes;
            kv += c.kv_bytes;
            product += op_is_product(&l.ops[k]) ? c.flop : 0;
            attention += l.ops[k].kind == OP_ATTENTION ? c.flop : 0;
        }
        assert_near(weight, f[i].weight_bytes, 1e-12 * f[i].weight_bytes);
        assert_near(kv, f[i].kv_bytes, 0);
        assert_near(product, f[i].product_flop, 0);
        assert_near(attention, f[i].attention_flop, 0);
    }
    op_list_free(&l);
    model_free(&m);
}

/*
 * 80 layers, d 8192, 64 heads and 8 KV heads of 128, f 28672, vocabulary 128256, a head of its own.
 * A layer: Wq and Wo 2 * 8192 * 8192, Wk and Wv 2 * 8192 * 1024, three matrices of the FFN 3 * 8192 * 28672: 855,638,016
 * elements; 80 of them and the head 128256 * 8192 = 1,050,673,152 in 2 B; 161 norms of 8192 in F32; the rows looked up, T * 8192 * 2 B.
 * KV: 80 * 2 * 8 * 128 * 2 B = 327,680 B a position: T stored, P + T read. FLOP: 2 T * 80 * 855,638,016 + 2 * 1,050,673,152
 * (one row of logits); attention 80 * 4 * 64 * 128 * (T P + T (T + 1) / 2).
 */
static void llama_3_1_70b(void **state)
{
    static const struct figures f[] = {
        { 512, 0, 139017093120, 335544320, 70095967617024, 344268472320 },
        { 32768, 0, 139545575424, 21474836480, 4486009542672384, 1407417833226240 },
        { 1, 512, 139008720896, 168427520, 139003428864, 1344798720 },
        { 1, 32768, 139008720896, 10738073600, 139003428864, 85901967360 },
    };
    (void)state;
    model_is("llama-3.1-70b", f, ARRAY_LEN(f));
}

/*
 * 32 layers, d 4096, 32 heads and 8 KV heads of 128, 8 experts of 14336, 2 of them a token, vocabulary 32000.
 * A layer: 2 * 4096 * 4096 + 2 * 4096 * 1024 of attention, 3 * 4096 * 14336 an expert, of which t(T) = 8 (1 - 0.75^T) are read: t(1) = 2,
 * t(512) and t(32768) 8 to the last digit; the router 4096 * 8 in F32. FLOP: two experts a token, whatever T.
 */
static void mixtral_8x7b(void **state)
{
    static const struct figures f[] = {
        { 512, 0, 93150265344, 134217728, 12920597512192, 68853694464 },
        { 32768, 0, 93414506496, 8589934592, 826901725708288, 281483566645248 },
        { 1, 512, 25500344320, 67371008, 25497174016, 268959744 },
        { 1, 32768, 25500344320, 4295229440, 25497174016, 17180393472 },
    };
    (void)state;
    model_is("mixtral-8x7b", f, ARRAY_LEN(f));
}

/*
 * 61 layers, d 7168, 128 heads, query rank 1536, latent 512 and rotary key 64, keys 128 + 64, values 128; 3 dense layers of 18432, then 256
 * experts of 2048, 8 a token, and a shared one; vocabulary 129280.
 * A layer's attention: 7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 128 * 128 * 7168, and Wk_b, Wv_b of 128 * 512 * 128 each.
 * t(512) = 256 (1 - (31/32)^512) = 255.99998. F32: router 7168 * 256 and its bias 256, norms 2 * 7168 + 1536 + 512 a layer, 7168 at the end.
 * KV: 61 * 576 * 2 B = 70,272 B a position. A prompt expands every position's latent once: 2 * 128 * 512 * 256 FLOP a layer and
 * position, then attends with 192 + 128 a head: 2 * 128 * 320 FLOP a pair. A step absorbs: the same matrices once a token, and 2 * 128 * (2 * 512
 * + 64) FLOP a pair.
 */
static void deepseek_v3(void **state)
{
    static const struct figures f[] = {
        { 512, 0, 1340421610149.3291, 71958528, 36556521340928, 656261775360 },
        { 32768, 0, 1340884146176, 4605345792, 2339500604260352, 2682890244587520 },
        { 1, 512, 73466155008, 36119808, 73249193984, 8715976704 },
        { 1, 32768, 73466155008, 2302813440, 73249193984, 556752125952 },
    };
    (void)state;
    model_is("deepseek-v3", f, ARRAY_LEN(f));
}

/*
 * 24 layers, every second one with a window of 128, d 2880, 64 heads and 8 KV heads of 64 with sinks, 32 experts of 2880, 4 a token, with
 * biases; vocabulary 201088. BF16 as converted; the published experts are MXFP4.
 * A layer's attention: 2 * 2880 * 4096 + 2 * 2880 * 512; biases 4096 + 2 * 512 + 2880, sinks 64, norms 2 * 2880, router 2880 * 32 + 32 in
 * F32; an expert 3 * 2880 * 2880 in 2 B and biases 3 * 2880 in F32. Windowed layers read min(P + T, 127 + T) positions and see
 * at most 128 a token.
 */
static void gpt_oss_20b(void **state)
{
    static const struct figures f[] = {
        { 512, 0, 40692562176, 50331648, 3102362812416, 37107007488 },
        { 32768, 0, 40878356736, 3221225472, 198478249181184, 106379373182976 },
        { 1, 512, 7223373696, 15802368, 7215307008, 126025728 },
        { 1, 32768, 7223373696, 808525824, 7215307008, 6467813376 },
    };
    (void)state;
    model_is("gpt-oss-20b", f, ARRAY_LEN(f));
}

/*
 * 62 layers, the 6th, 12th, ... 60th (10) global, 52 with a window of 1024; d 5376, 32 heads and 16 KV heads of 128, f 21504, vocabulary 262208, tied:
 * the table is read whole as the head, and T rows of it once more. Norms 4 * 5376 + 2 * 128 a layer, 5376 at the end, F32.
 */
static void gemma_3_27b(void **state)
{
    static const struct figures f[] = {
        { 512, 0, 54026906624, 520093696, 26215541538816, 133404033024 },
        { 32768, 0, 54373723136, 33285996544, 1677617045078016, 116104676507648 },
        { 1, 512, 54021412352, 261062656, 54015983616, 521109504 },
        { 1, 32768, 54021412352, 3121152000, 54015983616, 6241288192 },
    };
    (void)state;
    model_is("gemma-3-27b", f, ARRAY_LEN(f));
}

/*
 * 48 layers, d 2048, 32 heads and 4 KV heads of 128, 128 experts of 768, 8 a token, vocabulary 151936, a head of its own.
 * A layer's attention: 2 * 2048 * 4096 + 2 * 2048 * 512; an expert 3 * 2048 * 768, t(512) = 128 (1 - (15/16)^512); router 2048 * 128, norms
 * 2 * 2048 + 2 * 128 in F32.
 */
static void qwen3_30b_a3b(void **state)
{
    static const struct figures f[] = {
        { 512, 0, 60469600255.999748, 100663296, 2796646039552, 103280541696 },
        { 32768, 0, 60601720832, 6442450944, 178946139750400, 422225349967872 },
        { 1, 512, 6109327360, 50528256, 6083313664, 403439616 },
        { 1, 32768, 6109327360, 3221422080, 6083313664, 25770590208 },
    };
    (void)state;
    model_is("qwen3-30b-a3b", f, ARRAY_LEN(f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(llama_3_1_70b),
        cmocka_unit_test(mixtral_8x7b),
        cmocka_unit_test(deepseek_v3),
        cmocka_unit_test(gpt_oss_20b),
        cmocka_unit_test(gemma_3_27b),
        cmocka_unit_test(qwen3_30b_a3b),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
