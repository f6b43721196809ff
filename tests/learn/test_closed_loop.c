/* Latencies of servers in a closed loop: simulated where a row says enough, with the closed form's interval; waits that memory makes. */
#include "base/environment.h"
#include "learn/ahead.h"
#include "learn/fitted.h"
#include "rows.h"
#include <math.h>

static const char header[] =
    "id,silicon_data_source,backend,backend_version,model_path,system,precision,mode,isl,osl,gemm_quant_mode,moe_quant_mode,batch_size,tp_size,pp_size,"
    "attention_dp_size,moe_tp_size,moe_ep_size,decode_num_workers,silicon_ttft_ms,silicon_tpot_ms\n";

struct latencies {
    struct estimate ttft, tpot;
};

static struct estimate predict(const struct time_model *t, const void *params, const struct workload *p)
{
    struct error err = { 0 };
    struct estimate e = { 0 };
    assert_string_equal(p->reason, "");
    assert_ok(t->predict(params, p, &e, &err), err);
    return e;
}

/* Of both latencies of a line, with shipped constants. */
static struct latencies of(const struct time_model *t, const char *line)
{
    struct rows x;
    struct error err = { 0 };
    const struct fit_scope none = { .left_out = "" };
    void *params = NULL;
    char text[2048];
    snprintf(text, sizeof text, "%s%s\n", header, line);
    load_text(&x, text);
    assert_int_equal(x.l.n, 2);
    assert_ok(t->fit(&params, NULL, 0, &none, &err), err);
    const struct latencies l = { predict(t, params, &x.row[0]), predict(t, params, &x.row[1]) };
    t->free(params);
    unload(&x);
    return l;
}

static const struct latencies *both(struct latencies *l, const char *line)
{
    l[0] = of(&time_model_simulated, line);
    l[1] = of(&time_model_fitted, line);
    return l;
}

/* One user never waits: steps are the closed form's. */
static void test_alone(void **state)
{
    (void)state;
    struct latencies l[2];
    both(l, "a,x; silicon_concurrency=1,vllm,0.19.0,meta-llama/Llama-3.1-70B,h100_sxm,fp8,agg,1024,128,fp8,fp8,1,4,1,1,4,1,,80,10");
    assert_null(l[0].tpot.closed_form);
    assert_near(l[0].tpot.seconds, l[1].tpot.seconds, 0.1);
    assert_near(l[0].ttft.seconds, l[1].ttft.seconds, 0.25); /* prompts are a tenth shorter than stated on average */
    struct latencies s[2]; /* a short prompt: most of its time is the taking in */
    both(s, "a,x; silicon_concurrency=1,trtllm,1.1.0,meta-llama/Llama-3.1-8B-Instruct,h100_sxm,fp8,agg,128,128,fp8,fp8,1,1,1,1,1,1,,60,5");
    assert_near(s[0].ttft.seconds, s[1].ttft.seconds, 0.1);
    /* the interval moves with the estimate */
    assert_near(l[0].ttft.hi_s / l[0].ttft.seconds, l[1].ttft.hi_s / l[1].ttft.seconds, 1e-9);
    assert_near(l[0].tpot.lo_s / l[0].tpot.seconds, l[1].tpot.lo_s / l[1].tpot.seconds, 1e-9);
}

/* Steps that others' prompts join are longer, and requests wait for them. */
static void test_together(void **state)
{
    (void)state;
    static const char *const users[] = {
        "a,x; silicon_concurrency=1,vllm,0.19.0,meta-llama/Llama-3.1-70B,h100_sxm,fp8,agg,1024,128,fp8,fp8,1,4,1,1,4,1,,80,10",
        "a,x; silicon_concurrency=16,vllm,0.19.0,meta-llama/Llama-3.1-70B,h100_sxm,fp8,agg,1024,128,fp8,fp8,16,4,1,1,4,1,,80,10",
        "a,x; silicon_concurrency=64,vllm,0.19.0,meta-llama/Llama-3.1-70B,h100_sxm,fp8,agg,1024,128,fp8,fp8,64,4,1,1,4,1,,80,10",
    };
    struct latencies l[3];
    for (size_t i = 0; i < ARRAY_LEN(users); i++)
        l[i] = of(&time_model_simulated, users[i]);
    for (size_t i = 1; i < ARRAY_LEN(users); i++) {
        assert_true(l[i].ttft.seconds > 1.2 * l[i - 1].ttft.seconds);
        assert_true(l[i].tpot.seconds > 1.2 * l[i - 1].tpot.seconds);
    }
    /* groups of data-parallel attention have their own users */
    const struct latencies four = of(&time_model_simulated,
        "a,x; silicon_concurrency=64,vllm,0.19.0,meta-llama/Llama-3.1-70B,h100_sxm,fp8,agg,1024,128,fp8,fp8,16,4,1,4,4,1,,80,10");
    assert_near(four.tpot.seconds, l[1].tpot.seconds, 0.15);
}

/* 2 H100s hold a part of 64 long requests of a 70B model: 59 s were measured; TensorRT-LLM's cache takes what 4 B200s have left with DeepSeek-R1:
 * 0.65 s were. */
static void test_memory(void **state)
{
    (void)state;
    struct latencies l[2];
    both(l, "a,x; silicon_concurrency=64,vllm,0.19.0,meta-llama/Llama-3.1-70B,h100_sxm,fp8,agg,8192,1024,fp8,fp8,64,2,1,1,2,1,,59000,52");
    assert_true(l[0].ttft.seconds > 40 && l[0].ttft.seconds < 90);
    both(l, "a,x; silicon_concurrency=16,trtllm,1.1.0,deepseek-ai/DeepSeek-R1,b200_sxm,fp8,agg,8192,1024,fp8,fp8,16,4,1,1,4,1,,652,20");
    assert_true(l[0].ttft.seconds > 0.3 && l[0].ttft.seconds < 1.5);
    assert_true(l[1].ttft.seconds > 50); /* by vLLM's rule there is room for one */
}

static void test_not_simulated(void **state)
{
    (void)state;
    struct latencies l[2];
    both(l, "a,x; silicon_concurrency=64,sglang,0.5,deepseek-ai/DeepSeek-R1,b200_sxm,fp8,disagg,1024,1024,fp8,fp8_block,,,,,,,2,300,12");
    assert_string_equal(l[0].ttft.closed_form, "separate prefill");
    assert_near(l[0].ttft.seconds, l[1].ttft.seconds, 1e-12);
    assert_near(l[0].tpot.hi_s, l[1].tpot.hi_s, 1e-12);
    both(l, "a,x; silicon_concurrency=60000,vllm,0.19.0,meta-llama/Llama-3.1-70B,h100_sxm,fp8,agg,90000000,128,fp8,fp8,1,4,1,1,4,1,,80,10");
    assert_string_equal(l[0].ttft.closed_form, "too many tokens");
    assert_string_equal(l[0].tpot.closed_form, "too many tokens");
}

/* n_ahead of the TTFT of a line. */
static double ahead(const char *line)
{
    struct rows x;
    struct error err = { 0 };
    char text[2048];
    snprintf(text, sizeof text, "%s%s\n", header, line);
    load_text(&x, text);
    assert_true(isnan(x.row[0].n_ahead));
    assert_ok(ahead_set_rows(x.row, x.l.n, &err), err);
    assert_true(isnan(x.row[1].n_ahead)); /* of TTFT only */
    const double n = x.row[0].n_ahead;
    unload(&x);
    return n;
}

/* One user does not wait; of many a tenth come at once, and half of those are before one. */
static void test_ahead(void **state)
{
    (void)state;
    const double one = ahead("a,x; silicon_concurrency=1,vllm,0.19.0,meta-llama/Llama-3.1-70B,h100_sxm,fp8,agg,1024,1024,fp8,fp8,1,4,1,1,4,1,,80,10");
    const double many = ahead("a,x; silicon_concurrency=64,vllm,0.19.0,meta-llama/Llama-3.1-70B,h100_sxm,fp8,agg,1024,1024,fp8,fp8,64,4,1,1,4,1,,80,10");
    assert_true(one >= 0 && one < 0.2 && many > 1 && many < 10);
    /* separate prefill, of as many workers as the load needs */
    const double few = ahead("a,x; silicon_concurrency=20,sglang,0.5,deepseek-ai/DeepSeek-R1,b200_sxm,fp8,disagg,1024,1024,fp8,fp8_block,,,,,,,2,300,12");
    const double more = ahead("a,x; silicon_concurrency=4000,sglang,0.5,deepseek-ai/DeepSeek-R1,b200_sxm,fp8,disagg,1024,1024,fp8,fp8_block,,,,,,,2,300,12");
    assert_true(few >= 19 / 20.0 && more < 4000 / 20.0 / 2);
    /* too long to be simulated */
    assert_true(isnan(ahead("a,x; silicon_concurrency=60000,vllm,0.19.0,meta-llama/Llama-3.1-70B,h100_sxm,fp8,agg,90000000,128,fp8,fp8,1,4,1,1,4,1,,80,10")));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_ahead), cmocka_unit_test(test_alone), cmocka_unit_test(test_together), cmocka_unit_test(test_memory),
                                        cmocka_unit_test(test_not_simulated) };
    environment_set_dirs(data_dirs());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
