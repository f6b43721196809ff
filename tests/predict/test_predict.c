/* Predictions against figures worked out by hand: Llama-3-8B on an H100 and an M3 Ultra,
 * and machines of round numbers. */
#include "base/environment.h"
#include "../test.h"
#include "tests/config.h"
#include "tests/near.h"
#include "predict/predict.h"

static struct hw_value value(double v)
{
    struct hw_value x = { .value = v };
    snprintf(x.source, sizeof x.source, "test");
    return x;
}

/* A machine with nothing known about it. */
static struct hwprofile blank(enum hw_kind kind)
{
    struct hwprofile h = { .kind = kind };
    snprintf(h.id, sizeof h.id, "test-machine");
    h.mem_bytes.value = h.mem_bw.value = h.tdp_w.value = NAN;
    h.eff.compute.value = h.eff.bandwidth.value = h.eff.launch_s.value = NAN;
    for (int i = 0; i < MATH_COUNT; i++)
        h.peak[i].value = NAN;
    return h;
}

/* H100 SXM: 3.35 TB/s, 989.4 dense TFLOP/s in FP16, 80 GiB. */
static struct hwprofile h100(void)
{
    struct hwprofile h = blank(HW_GPU);
    h.mem_bytes = value(80.0 * 1024 * 1024 * 1024);
    h.mem_bw = value(3.35e12);
    h.peak[MATH_FP16] = h.peak[MATH_BF16] = value(989.4e12);
    h.peak[MATH_FP32] = value(66.9e12);
    h.eff.compute = value(0.5);
    h.eff.bandwidth = value(0.8);
    h.eff.launch_s = value(1e-6);
    return h;
}

static struct predict_options options(void)
{
    return (struct predict_options){ .weights_bytes = NAN,
                                     .n_prompt = 512,
                                     .n_gen = 1,
                                     .n_batch = 1,
                                     .n_ubatch = 512,
                                     .type_k = DTYPE_F16,
                                     .type_v = DTYPE_F16 };
}

static struct model load(const char *name, const char *type)
{
    struct model m;
    struct error err = { 0 };
    assert_ok(model_load(&m, name, type, &err), err);
    return m;
}

/* Llama-3-8B in F16, the state of the whole group. */
static int load_llama(void **state)
{
    static struct model m;
    environment_set_dirs(data_dirs());
    environment_set_dirs(data_dirs());
    m = load("llama-3-8b", NULL);
    *state = &m;
    return 0;
}

static int free_llama(void **state)
{
    model_free(*state);
    return 0;
}

static struct predict_result ask(const struct model *m, const struct hwprofile *h,
                                 const struct predict_options *o)
{
    struct predict_result r;
    struct error err = { 0 };
    assert_ok(predict(&r, m, h, o, &err), err);
    return r;
}

/* Rounded to so many decimals, as it would be printed. */
static void assert_prints(double v, int decimals, const char *text)
{
    char s[40];
    snprintf(s, sizeof s, "%.*f", decimals, v);
    assert_string_equal(s, text);
}

/*
 * 16 GB / 3.35 TB/s = 4.776 ms; 1 / 4.776 ms = 209.4 tokens/s. Six tokens: 2 * 8e9 * 6 = 96
 * GFLOP / 989.4 TFLOP/s = 0.0970 ms, 2.03 % of 4.776 ms: memory-bound; 6 / 4.776 ms = 1256
 * tokens/s.
 */
static void nominal_8b_on_h100(void **state)
{
    const struct model *m = *state;
    const struct hwprofile h = h100();
    struct predict_options o = options();
    o.roof = true;
    o.weights_bytes = 16e9;
    o.n_prompt = 6;
    const struct predict_result r = ask(m, &h, &o);
    assert_prints(1e3 * r.decode.seconds, 2, "4.78");
    assert_prints(r.decode.tok_s, 0, "209");
    assert_int_equal(r.decode.bound, BOUND_MEMORY);
    assert_prints(1e3 * r.prefill.seconds, 2, "4.78");
    assert_prints(1e3 * r.prefill.compute_s, 2, "0.10");
    assert_prints(100 * r.prefill.compute_s / r.prefill.seconds, 1, "2.0");
    assert_prints(r.prefill.tok_s, 0, "1256");
    assert_int_equal(r.prefill.bound, BOUND_MEMORY);
    assert_near(r.prefill.cost.flop, 96e9, 1);
    assert_near(r.prefill.cost.weight_bytes, 16e9, 1);
    assert_near(r.ttft_s, r.prefill.seconds, 0);
    assert_near(r.itl_s, r.decode.seconds, 0);
}

/* 8,030,261,248 weights: 2 bytes each, 65 norms of 4096 in 4: 16,061,054,976 B / 3.35 TB/s
 * = 4.794 ms, 208.6 tokens/s. */
static void all_weights_8b_on_h100(void **state)
{
    const struct model *m = *state;
    const struct hwprofile h = h100();
    struct predict_options o = options();
    assert_int_equal(m->n_params, 8030261248);
    assert_int_equal(m->weight_bytes, 16061054976);
    o.roof = true;
    o.weights_bytes = (double)m->weight_bytes;
    const struct predict_result r = ask(m, &h, &o);
    assert_prints(1e3 * r.decode.seconds, 2, "4.79");
    assert_prints(r.decode.tok_s, 1, "208.6");
}

/*
 * Without the embedding table, 128256 * 4096 * 2 = 1,050,673,152 B less, but one row of it:
 * 15,010,390,016 B / 3.35 TB/s = 4.481 ms, 223.2 tokens/s. Plain --roof adds the KV cache
 * of one token, 0.26 MB of 15 GB: the same print.
 */
static void weights_really_read_8b_on_h100(void **state)
{
    const struct model *m = *state;
    const struct hwprofile h = h100();
    struct predict_options o = options();
    o.roof = true;
    o.weights_only = true;
    struct predict_result r = ask(m, &h, &o);
    assert_near(r.decode.cost.weight_bytes, 15010390016, 0);
    assert_near(r.decode.cost.kv_bytes + r.decode.cost.act_bytes, 0, 0);
    assert_prints(1e3 * r.decode.seconds, 2, "4.48");
    assert_prints(r.decode.tok_s, 0, "223");
    static const uint32_t n_gen[] = { 1, 128 };
    o.weights_only = false;
    for (size_t i = 0; i < ARRAY_LEN(n_gen); i++) {
        o.n_gen = n_gen[i];
        r = ask(m, &h, &o);
        assert_prints(1e3 * r.decode.seconds, 2, "4.48");
        assert_prints(r.decode.tok_s, 0, "223");
        assert_int_equal(r.decode.bound, BOUND_MEMORY);
    }
}

/* The profiles in hwprofiles/ give the same, and an M3 Ultra (819 GB/s) decodes in the ratio
 * of bandwidths, 819 / 3350. */
static void shipped_profiles(void **state)
{
    const struct model *m = *state;
    struct hwprofile h, u;
    struct error err = { 0 };
    struct predict_options o = options();
    o.roof = o.weights_only = true;
    assert_ok(hwprofile_load(&h, "h100-sxm", &err), err);
    assert_ok(hwprofile_load(&u, "m3-ultra", &err), err);
    const struct predict_result a = ask(m, &h, &o), b = ask(m, &u, &o);
    assert_prints(1e3 * a.decode.seconds, 2, "4.48");
    assert_near(b.decode.tok_s / a.decode.tok_s, 819.0 / 3350, 1e-12);
    assert_int_equal(b.decode.bound, BOUND_MEMORY);
    assert_int_equal(a.fits, 1);
    hwprofile_free(&h);
    hwprofile_free(&u);
}

/* Bytes priced at e_b of the bandwidth, FLOP at e_c of the peak, a launch an op: weights
 * alone, 32 * 7 + 1 products. */
static void efficiency_and_launch(void **state)
{
    const struct model *m = *state;
    struct hwprofile h = h100();
    struct predict_options o = options();
    o.weights_bytes = 16e9;
    o.n_prompt = 6;
    struct predict_result r = ask(m, &h, &o);
    assert_near(r.decode.seconds, 16e9 / (0.8 * 3.35e12) + 225 * 1e-6, 1e-12);
    assert_near(r.prefill.compute_s, 96e9 / (0.5 * 989.4e12), 1e-12);
    assert_near(r.decode.bandwidth_bytes_s, 0.8 * 3.35e12, 1);
    assert_near(r.decode.peak_flop_s, 0.5 * 989.4e12, 1);
    h.eff.launch_s = value(1); /* a second an op: that is the bound then */
    r = ask(m, &h, &o);
    assert_int_equal(r.decode.bound, BOUND_LAUNCH);
    h.eff = (struct hw_efficiency){ .compute = value(NAN),
                                    .bandwidth = value(NAN),
                                    .launch_s = value(NAN) };
    r = ask(m, &h, &o);
    assert_near(r.decode.seconds, 16e9 / 3.35e12, 1e-12);
}

/* Launches: on a GPU the products and attention, 32 * (7 + 1) + 1 = 257; on a CPU all ops,
 * 32 * 16 + 3 = 515. */
static void who_is_launched(void **state)
{
    static const struct {
        enum hw_kind kind;
        double n;
    } rows[] = {
        {HW_GPU,  257},
        { HW_APU, 257},
        { HW_CPU, 515}
    };
    const struct model *m = *state;
    struct predict_options o = options();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct hwprofile h = h100();
        h.kind = rows[i].kind;
        h.eff.launch_s = value(0);
        const double free_s = ask(m, &h, &o).decode.seconds;
        h.eff.launch_s = value(0.5);
        assert_near(ask(m, &h, &o).decode.seconds - free_s, rows[i].n * 0.5, 1e-9);
        o.roof = true;
        const double roof_s = ask(m, &h, &o).decode.seconds;
        o.roof = false;
        assert_true(roof_s < free_s);
    }
}

/* A long prompt is bound by arithmetic: 2 FLOP a weight of the blocks and token over the
 * peak, a bit more for attention. */
static void long_prefill_is_compute_bound(void **state)
{
    const struct model *m = *state;
    const struct hwprofile h = h100();
    struct predict_options o = options();
    static struct predict_roles of;
    o.roof = true;
    o.roles = &of;
    o.n_prompt = o.n_ubatch = 2048;
    const struct predict_result r = ask(m, &h, &o);
    const double blocks = 32.0 * (2 * 4096.0 * 4096 + 2 * 4096 * 1024 + 3 * 4096.0 * 14336),
                 least = 2 * blocks * 2048 / 989.4e12;
    assert_int_equal(r.prefill.bound, BOUND_COMPUTE);
    assert_true(r.prefill.seconds > least && r.prefill.seconds < 1.1 * least);
    double roles = 0;
    for (int i = 0; i < ROLE_COUNT; i++)
        roles += r.prefill.role[i].seconds;
    assert_near(roles, r.prefill.seconds, 1e-12);
    assert_int_equal(r.prefill.role[ROLE_FFN_DOWN].bound, BOUND_COMPUTE);
    assert_int_equal(r.prefill.role[ROLE_LM_HEAD].bound,
                     BOUND_MEMORY); /* one row of logits */
}

/* Eight sequences read the weights once: eight tokens in little more time than one; the
 * caches are eight. */
static void batch_shares_weights(void **state)
{
    const struct model *m = *state;
    const struct hwprofile h = h100();
    struct predict_options o = options();
    o.roof = true;
    o.n_depth = 1000;
    const struct predict_result a = ask(m, &h, &o);
    o.n_batch = 8;
    const struct predict_result b = ask(m, &h, &o);
    assert_near(b.decode.cost.weight_bytes - a.decode.cost.weight_bytes, 7 * 8192,
                0); /* embedding rows */
    assert_near(b.decode.cost.kv_bytes, 8 * a.decode.cost.kv_bytes, 0);
    assert_near(b.decode.cost.flop, 8 * a.decode.cost.flop, 1);
    assert_true(b.decode.tok_s > 7 * a.decode.tok_s && b.decode.tok_s < 8 * a.decode.tok_s);
    assert_near(b.decode.tok_s, 8 / b.itl_s, 1e-6);
}

/* A prompt in four passes reads the weights of the blocks four times. */
static void passes_reread_weights(void **state)
{
    const struct model *m = *state;
    const struct hwprofile h = h100();
    struct predict_options o = options();
    o.roof = true;
    o.n_gen = 0;
    static struct predict_roles of[2];
    o.n_ubatch = 512;
    o.roles = &of[0];
    const struct predict_result one = ask(m, &h, &o);
    o.n_ubatch = 128;
    o.roles = &of[1];
    const struct predict_result four = ask(m, &h, &o);
    assert_near(four.prefill.role[ROLE_FFN_UP].cost.weight_bytes,
                4 * one.prefill.role[ROLE_FFN_UP].cost.weight_bytes, 0);
    assert_near(four.prefill.role[ROLE_LM_HEAD].cost.weight_bytes,
                one.prefill.role[ROLE_LM_HEAD].cost.weight_bytes, 0);
    assert_near(four.prefill.cost.flop - one.prefill.cost.flop, 0, 1);
    assert_true(isnan(one.decode.seconds) && isnan(one.itl_s)); /* not requested: not 0 */
}

/*
 * Weights 16,061,054,976; KV 131,072 B * (1000 + 512 + 1) tokens * batch. Memory just below
 * and just above the need: the driver reserves 0.31 GiB and 0.62 %.
 */
static void fits_or_not(void **state)
{
    const struct model *m = *state;
    struct hwprofile h = h100();
    struct predict_options o = options();
    o.n_depth = 1000;
    o.n_batch = 2;
    struct predict_result r = ask(m, &h, &o);
    assert_near(r.weight_total_bytes, 16061054976, 0);
    assert_near(r.kv_total_bytes, 131072.0 * 1513 * 2, 0);
    /* Activations of a pass of 512 tokens, 2 bytes: x, norm, out of 4096, q and attention
     * of 4096, k and v of 1024, gate and up of 14336; logits of 128256 for two tokens. */
    assert_near(r.act_peak_bytes,
                2.0 * (512 * (5 * 4096 + 2 * 1024 + 2 * 14336) + 2 * 128256), 0);
    assert_near(r.runtime_bytes, 0.13 * (1 << 30), 1e-6);
    assert_near(r.need_bytes, r.weight_total_bytes + r.kv_total_bytes + r.act_peak_bytes + r.runtime_bytes, 1e-5);
    assert_int_equal(r.fits, 1);
    h.mem_bytes = value((r.need_bytes + 0.31 * (1 << 30)) / 0.9938 - 2);
    assert_int_equal(ask(m, &h, &o).fits, 0);
    h.mem_bytes = value((r.need_bytes + 0.31 * (1 << 30)) / 0.9938 + 2);
    assert_int_equal(ask(m, &h, &o).fits, 1);
    h.mem_bytes.value = NAN;
    assert_int_equal(ask(m, &h, &o).fits, -1);
}

/* 128 steps from depth 0 see 1 .. 128 keys, 64.5 in the mean, and write one: 131,072 B of cache each. */
static void decode_is_the_mean_of_its_steps(void **state)
{
    const struct model *m = *state;
    const struct hwprofile h = h100();
    struct predict_options o = options();
    o.n_gen = 128;
    assert_near(ask(m, &h, &o).decode.cost.kv_bytes, 131072 * (64.5 + 1), 0);
    o.type_k = DTYPE_Q8_0; /* 34 B instead of 64 a block of keys */
    assert_near(ask(m, &h, &o).decode.cost.kv_bytes, 65536 * (64.5 + 1) * (1 + 34.0 / 64), 0);
}

/* ---- experts, latents, windows ----------------------------------------------------------- */

/* One layer with 8 experts of 3 * 1024 * 512 weights in Q8_0, two of them for a token. */
static const char mixtral[] =
    "{\"model_type\": \"mixtral\", \"hidden_size\": 512, \"num_hidden_layers\": 1, \"num_attention_heads\": 8, "
    "\"num_key_value_heads\": 2, \"intermediate_size\": 1024, \"vocab_size\": 1000, \"num_local_experts\": 8, "
    "\"num_experts_per_tok\": 2, \"hidden_act\": \"silu\"}";

static void experts(void **state)
{
    (void)state;
    const struct hwprofile h = h100();
    struct model m = from_config(mixtral, "Q8_0");
    struct predict_options o = options();
    const double expert = 1024.0 * 512 * 34 / 32; /* one matrix of one */
    static struct predict_roles of;
    o.roles = &of;
    const struct predict_result r = ask(&m, &h, &o);
    assert_near(r.decode.role[ROLE_EXPERT_UP].cost.weight_bytes, 2 * expert, 0);
    assert_near(r.decode.role[ROLE_EXPERT_UP].cost.flop, 2 * 2 * 1024.0 * 512, 0);
    assert_near(r.prefill.role[ROLE_EXPERT_UP].cost.weight_bytes, 8 * expert, 1e-3);
    assert_string_equal(r.prefill.math, "fp16"); /* of the experts: the largest products */
    assert_near(r.weight_total_bytes, (double)m.weight_bytes, 0);
    o.n_batch = 2;
    assert_near(ask(&m, &h, &o).decode.role[ROLE_EXPERT_UP].cost.weight_bytes, 3.5 * expert, 1e-6);
    /* A nominal model is dense: all of it is read, experts or not, to the byte. */
    o.n_batch = 1;
    o.weights_bytes = 16e9;
    assert_near(ask(&m, &h, &o).decode.cost.weight_bytes, 16e9, 0);
    assert_near(ask(&m, &h, &o).prefill.cost.weight_bytes, 16e9, 0);
    model_free(&m);
}

/* CPUs multiply experts in the arithmetic of their type, with a barrier after each op: a launch for every op that runs. */
static void expert_products_on_a_cpu(void **state)
{
    (void)state;
    struct hwprofile h = h100();
    h.kind = HW_CPU;
    h.peak[MATH_INT8] = value(4e15);
    struct model m = from_config(mixtral, "Q8_0");
    struct predict_options o = options();
    assert_string_equal(ask(&m, &h, &o).prefill.math, "int8");
    const double s = ask(&m, &h, &o).decode.seconds;
    h.eff.launch_s.value += 1;
    /* embed; norm q k v rope rope store attention output add; norm router route gate up act down sum add; norm head */
    assert_near(ask(&m, &h, &o).decode.seconds - s, 1 + 10 + 9 + 2, 1e-9);
    h.kind = HW_GPU; /* products and attention: 4 + 1 of attention, the router, three of experts, the head */
    const double gpu = ask(&m, &h, &o).decode.seconds;
    h.eff.launch_s.value += 1;
    assert_near(ask(&m, &h, &o).decode.seconds - gpu, 10, 1e-9);
    model_free(&m);
}

/*
 * Two layers with a latent of 64 + 8 elements: 288 B of F16 a position. Four heads of 16 + 8 keys and 16 values
 * expand to 4 * 40 halves, 320 B a position, of one layer at a time.
 */
static void memory_of_latents(void **state)
{
    (void)state;
    const struct hwprofile h = h100();
    struct model m = from_config(
        "{\"model_type\": \"deepseek_v3\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
        "\"num_key_value_heads\": 4, \"q_lora_rank\": null, \"kv_lora_rank\": 64, \"qk_nope_head_dim\": 16, \"qk_rope_head_dim\": 8, "
        "\"v_head_dim\": 16, \"intermediate_size\": 96, \"moe_intermediate_size\": 32, \"n_routed_experts\": 8, "
        "\"num_experts_per_tok\": 2, \"n_shared_experts\": 1, \"first_k_dense_replace\": 1, \"vocab_size\": 300, "
        "\"hidden_act\": \"silu\"}", "F16");
    struct predict_options o = options();
    o.n_depth = 487; /* 487 + 512 + 1 = 1000 positions */
    const struct predict_result one = ask(&m, &h, &o);
    assert_near(one.kv_total_bytes, 288 * 1000, 0);
    o.n_depth += 1000;
    const struct predict_result two = ask(&m, &h, &o);
    assert_near(two.kv_total_bytes, 288 * 2000, 0);
    assert_near(two.act_peak_bytes - one.act_peak_bytes, 320 * 1000, 0);
    model_free(&m);
}

/* Mistral's window of 64: two layers keep 64 and a pass of 32, not the whole context. */
static void memory_of_windows(void **state)
{
    (void)state;
    const struct hwprofile h = h100();
    struct model m = from_config(
        "{\"model_type\": \"mistral\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
        "\"num_key_value_heads\": 2, \"intermediate_size\": 96, \"vocab_size\": 300, \"sliding_window\": 64, "
        "\"max_position_embeddings\": 4096, \"hidden_act\": \"silu\"}", "F16");
    struct predict_options o = options();
    o.n_ubatch = 32;
    o.n_batch = 3;
    const double position = 2 * 2 * 2 * 16 * 2; /* layers, K and V, heads, elements, bytes */
    assert_near(ask(&m, &h, &o).kv_total_bytes, 3 * 96 * position, 0);
    o.n_prompt = 64;
    assert_near(ask(&m, &h, &o).kv_total_bytes, 3 * 65 * position, 0);
    o.n_prompt = 0;
    o.n_depth = 1000;
    assert_near(ask(&m, &h, &o).decode.cost.kv_bytes, 3 * (64 + 1) * position, 0);
    model_free(&m);
}

/* ---- which roof --------------------------------------------------------------------- */

static void add_ceiling(struct hwprofile *h, const char *kind, const char *dtype,
                        const char *level, int threads, double v)
{
    struct ceiling c = {
        .n_threads = threads, .value = v, .ci_lo = NAN, .ci_hi = NAN, .clock_hz = NAN
    };
    struct error err = { 0 };
    snprintf(c.kind, sizeof c.kind, "%s", kind);
    snprintf(c.dtype, sizeof c.dtype, "%s", dtype);
    snprintf(c.level, sizeof c.level, "%s", level);
    snprintf(c.name, sizeof c.name, "%s%s %dt", dtype, level, threads);
    snprintf(c.unit, sizeof c.unit, "%s", *level ? "B/s" : "FLOP/s");
    assert_ok(hwprofile_add_ceiling(h, &c, &err), err);
}

static struct hwprofile measured_cpu(void)
{
    struct hwprofile h = blank(HW_CPU);
    h.n_cores = 4;
    h.mem_bw = value(100e9); /* the datasheet's: above what was measured */
    h.peak[MATH_FP32] = value(1e12);
    add_ceiling(&h, "bandwidth", "", "DRAM", 1, 40e9);
    add_ceiling(&h, "bandwidth", "", "DRAM", 2, 80e9);
    add_ceiling(&h, "compute", "fp32", "", 2, 500e9);
    add_ceiling(&h, "compute", "bf16", "", 2, 1e12);
    add_ceiling(&h, "compute", "int8", "", 2, 2e12);
    return h;
}

/* The type of the weights chooses the arithmetic of a prefill, and that the peak. */
struct math_row {
    const char *type, *math;
    double peak;
};

static void assert_roofs(const struct hwprofile *h, const struct math_row *rows, size_t n, double bandwidth,
                         const char *source)
{
    struct predict_options o = options();
    o.roof = true;
    for (size_t i = 0; i < n; i++) {
        struct model m = load("tinyllama-1.1b", rows[i].type);
        const struct predict_result r = ask(&m, h, &o);
        assert_string_equal(r.prefill.math, rows[i].math);
        assert_near(r.prefill.peak_flop_s, rows[i].peak, 0);
        assert_near(r.decode.bandwidth_bytes_s, bandwidth, 0);
        assert_false(r.prefill.derived);
        assert_non_null(strstr(r.decode.bandwidth_source, source));
        model_free(&m);
    }
}

/* What was measured comes before the datasheet on a CPU. */
static void cpu_uses_measured_roofs(void **state)
{
    (void)state;
    static const struct math_row rows[] = {
        {"F32",   "fp32", 500e9},
        { "F16",  "fp32", 500e9},
        { "BF16", "bf16", 1e12 },
        { "Q8_0", "int8", 2e12 },
        { "Q4_0", "int8", 2e12 }
    };
    struct hwprofile h = measured_cpu();
    struct predict_options o = options();
    assert_roofs(&h, rows, ARRAY_LEN(rows), 80e9, "measured");
    struct model m = load("tinyllama-1.1b", "Q8_0");
    o.roof = true;
    o.n_threads = 1;
    assert_near(ask(&m, &h, &o).decode.bandwidth_bytes_s, 40e9, 0);
    model_free(&m);
    hwprofile_free(&h);
}

/* A datasheet CPU with half its cores at work: half its peak. */
static void cpu_threads_scale_a_datasheet(void **state)
{
    (void)state;
    struct hwprofile h = blank(HW_CPU);
    struct predict_options o = options();
    struct model m = load("tinyllama-1.1b", "F32");
    h.n_cores = 8;
    h.mem_bw = value(100e9);
    h.peak[MATH_FP32] = value(1e12);
    o.roof = true;
    assert_near(ask(&m, &h, &o).prefill.peak_flop_s, 1e12, 0);
    o.n_threads = 4;
    assert_near(ask(&m, &h, &o).prefill.peak_flop_s, 0.5e12, 0);
    o.n_threads = 64;
    assert_near(ask(&m, &h, &o).prefill.peak_flop_s, 1e12, 0);
    model_free(&m);
}

/* GPUs convert quantized weights to FP16 for their matrix units; F32 stays F32. */
static void gpu_math(void **state)
{
    (void)state;
    static const struct math_row rows[] = {
        {"F32",   "fp32", 66.9e12 },
        { "F16",  "fp16", 989.4e12},
        { "BF16", "bf16", 989.4e12},
        { "Q4_0", "fp16", 989.4e12}
    };
    const struct hwprofile h = h100();
    assert_roofs(&h, rows, ARRAY_LEN(rows), 3.35e12, "test");
}

/* A checkpoint's scheme selects the arithmetic of its products; attention and the LM head stay at 16 bits. */
static void checkpoint_math(void **state)
{
    (void)state;
    static const struct math_row rows[] = {
        { "FP8", "fp8", 2000e12 },         { "FP8_BLOCK", "fp8", 2000e12 }, { "INT8", "int8", 1900e12 },
        { "INT8_W8A16", "bf16", 989.4e12 }, { "AWQ", "fp16", 989.4e12 },     { "W4A16", "bf16", 989.4e12 },
        { "W4A8_FP8", "fp8", 2000e12 },    { "W4A8_INT8", "int8", 1900e12 }, { "NVFP4", "fp4", 4000e12 },
        { "NVFP4A16", "bf16", 989.4e12 },
    };
    struct hwprofile h = h100();
    h.peak[MATH_FP8] = value(2000e12);
    h.peak[MATH_INT8] = value(1900e12);
    h.peak[MATH_FP4] = value(4000e12);
    assert_roofs(&h, rows, ARRAY_LEN(rows), 3.35e12, "test");

    /* Llama-3-8B at FP8: 2 x 6,979,321,856 FLOP a prompt token at FP8's peak, 2 x 128256 x 4096 of the last at BF16's. With
     * 512 tokens: 3.573 ms and 1.06 us at half the peaks (e_c), attention apart. */
    struct model m = load("llama-3-8b", "FP8");
    struct predict_options o = options();
    o.weights_only = true;
    const struct predict_result r = ask(&m, &h, &o);
    assert_near(r.prefill.compute_s, 512 * 2 * 6979321856.0 / 1000e12 + 2 * 128256 * 4096.0 / 494.7e12, 1e-9);
    /* A decode step reads all but the embedding table, the scales too: 9,081,201,536 - 128256 x 4096 x 2, and a row of it. */
    assert_near(r.decode.cost.weight_bytes, 9081201536.0 - 128256 * 4096 * 2.0 + 4096 * 2, 0);
    model_free(&m);
}

/* Units of 8 and 4 bits exist or do not: else operands are converted, and the row states it; FP16's do not stand in for BF16's. */
static void peaks_that_are_not_lent(void **state)
{
    (void)state;
    static const char *const types[] = { "FP8_BLOCK", "W8A8", "NVFP4" };
    struct hwprofile h = h100(), cpu = measured_cpu();
    struct predict_options o = options();
    struct predict_result r;
    struct error err = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct model m = load("tinyllama-1.1b", types[i]);
        r = ask(&m, &h, &o);
        assert_true(r.prefill.derived && strstr(r.prefill.peak_source, "derived: fp16 peak"));
        assert_near(r.prefill.peak_flop_s, 989.4e12 / 2, 1e9); /* e_c */
        assert_ok(predict(&r, &m, &cpu, &o, &err), err);
        model_free(&m);
    }
    /* A V100: FP16 and FP32 alone. */
    h.peak[MATH_BF16].value = NAN;
    struct model m = load("tinyllama-1.1b", "BF16");
    o.roof = true;
    r = ask(&m, &h, &o);
    assert_near(r.prefill.peak_flop_s, 66.9e12, 1);
    assert_true(r.prefill.derived && strstr(r.prefill.peak_source, "derived: fp32 peak"));
    model_free(&m);
    /* A TPU: BF16 alone of 16 bits. */
    m = load("tinyllama-1.1b", "F16");
    h.peak[MATH_BF16] = value(500e12);
    h.peak[MATH_FP16].value = NAN;
    assert_near(ask(&m, &h, &o).prefill.peak_flop_s, 500e12, 1);
    model_free(&m);
    hwprofile_free(&cpu);
}

/*
 * One peak of any type is enough for 16 bits. A wider type's peak is attained as it is (FP16 numbers fit
 * FP32 units); a narrower one's is scaled by the widths: FP8 at 1000 TFLOP/s makes FP16
 * 500.
 */
static void one_peak_is_enough(void **state)
{
    (void)state;
    static const struct {
        enum math have;
        double expect;
    } rows[] = {
        {MATH_FP64,  1e15   },
        { MATH_FP32, 1e15   },
        { MATH_TF32, 1e15   },
        { MATH_BF16, 1e15   },
        { MATH_FP8,  0.5e15 },
        { MATH_INT8, 0.5e15 },
        { MATH_FP4,  0.25e15},
        { MATH_INT4, 0.25e15}
    };
    struct model m = load("tinyllama-1.1b", "F16");
    struct predict_options o = options();
    o.roof = true;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct hwprofile h = blank(HW_GPU);
        h.mem_bw = value(1e12);
        h.peak[rows[i].have] = value(1e15);
        const struct predict_result r = ask(&m, &h, &o);
        assert_near(r.prefill.peak_flop_s, rows[i].expect, 1);
        assert_true(r.prefill.derived);
        assert_non_null(strstr(r.prefill.peak_source, math_name(rows[i].have)));
    }
    /* The nearest wins: BF16 rather than FP32 and FP8. */
    struct hwprofile h = blank(HW_GPU);
    h.mem_bw = value(1e12);
    h.peak[MATH_FP32] = value(1e13);
    h.peak[MATH_BF16] = value(2e13);
    h.peak[MATH_FP8] = value(9e13);
    assert_near(ask(&m, &h, &o).prefill.peak_flop_s, 2e13, 0);
    model_free(&m);
}

/* Activations that fit the last-level cache cost its bandwidth, not the memory's; with
 * --roof none. */
static void activations_in_cache(void **state)
{
    (void)state;
    struct model m = load("tinyllama-1.1b", "F32");
    struct predict_options o = options();
    struct hwprofile h = measured_cpu();
    o.n_prompt = 0;
    const struct prediction none = ask(&m, &h, &o).decode;
    struct hw_cache cache[] = {
        {.level = 2,  .size_bytes = 2 << 20,  .n_instances = 2},
        { .level = 3, .size_bytes = 32 << 20, .n_instances = 1}
    };
    h.cache = cache;
    h.n_cache = 2;
    const struct prediction free_cache = ask(&m, &h, &o).decode;
    add_ceiling(&h, "bandwidth", "", "L3", 2, 160e9);
    const struct prediction cached = ask(&m, &h, &o).decode;
    const double act = none.cost.act_bytes,
                 dram = (none.cost.weight_bytes + none.cost.kv_bytes) / 80e9;
    assert_near(none.memory_s, dram + act / 80e9, 1e-9);
    assert_near(free_cache.memory_s, dram, 1e-9);
    assert_near(cached.memory_s, dram + act / 160e9, 1e-9);
    o.roof = true;
    assert_near(ask(&m, &h, &o).decode.memory_s, dram, 1e-9);
    h.cache = NULL;
    h.n_cache = 0;
    hwprofile_free(&h);
    model_free(&m);
}

/* ---- refusals ----------------------------------------------------------------------- */

static void what_cannot_be_predicted(void **state)
{
    (void)state;
    struct model m = load("stories15m", NULL);
    struct hwprofile h = blank(HW_GPU);
    struct predict_options o = options();
    struct predict_result r;
    struct error err = { 0 };
    assert_fails(predict(&r, &m, &h, &o, &err), err,
                 "cannot predict: profile test-machine has no memory bandwidth");
    h.mem_bw = value(1e12);
    assert_fails(predict(&r, &m, &h, &o, &err), err,
                 "cannot predict: profile test-machine has no peak FLOP/s");
    h.peak[MATH_FP16] = value(1e14);
    assert_ok(predict(&r, &m, &h, &o, &err), err);
    o.n_prompt = o.n_gen = 0;
    assert_fails(predict(&r, &m, &h, &o, &err), err, "-p 0 and -n 0");
    o = options();
    o.n_batch = 0;
    assert_fails(predict(&r, &m, &h, &o, &err), err, "at least 1");
    o = options();
    o.n_depth = UINT32_MAX;
    assert_fails(predict(&r, &m, &h, &o, &err), err, "a context of");
    o = options();
    o.n_batch = UINT32_MAX;
    assert_fails(predict(&r, &m, &h, &o, &err), err, "at most");
    o = options();
    o.n_prompt = INT32_MAX / 2;
    o.n_ubatch = 1;
    assert_fails(predict(&r, &m, &h, &o, &err), err, "passes, at most 65536");
    o = options();
    o.weights_bytes = -1;
    assert_fails(predict(&r, &m, &h, &o, &err), err, "weights of -1 bytes");
    struct predict_options q = options();
    q.type_v = DTYPE_Q6_K;
    assert_fails(predict(&r, &m, &h, &q, &err), err, "of type Q6_K: expected one of F32");
    q.type_v = DTYPE_Q8_0; /* heads of 48 */
    assert_fails(predict(&r, &m, &h, &q, &err), err, "values of type Q8_0 come in blocks of 32, the model's heads have 48 elements");
    o.weights_bytes = INFINITY;
    assert_fails(predict(&r, &m, &h, &o, &err), err, "weights of inf bytes");
    model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nominal_8b_on_h100),
        cmocka_unit_test(all_weights_8b_on_h100),
        cmocka_unit_test(weights_really_read_8b_on_h100),
        cmocka_unit_test(shipped_profiles),
        cmocka_unit_test(efficiency_and_launch),
        cmocka_unit_test(who_is_launched),
        cmocka_unit_test(long_prefill_is_compute_bound),
        cmocka_unit_test(batch_shares_weights),
        cmocka_unit_test(passes_reread_weights),
        cmocka_unit_test(fits_or_not),
        cmocka_unit_test(decode_is_the_mean_of_its_steps),
        cmocka_unit_test(experts),
        cmocka_unit_test(expert_products_on_a_cpu),
        cmocka_unit_test(memory_of_latents),
        cmocka_unit_test(memory_of_windows),
        cmocka_unit_test(cpu_uses_measured_roofs),
        cmocka_unit_test(cpu_threads_scale_a_datasheet),
        cmocka_unit_test(gpu_math),
        cmocka_unit_test(checkpoint_math),
        cmocka_unit_test(peaks_that_are_not_lent),
        cmocka_unit_test(one_peak_is_enough),
        cmocka_unit_test(activations_in_cache),
        cmocka_unit_test(what_cannot_be_predicted),
    };
    return cmocka_run_group_tests_name("roofline predict", tests, load_llama, free_llama);
}
