/* A model that a GPU shares with its host: places, memory, seconds; on machines of round numbers. methods.md (111) */
#include "base/environment.h"
#include "../test.h"
#include "model/model.h"
#include "tests/near.h"
#include "predict/offload.h"
#include "predict/request.h"

static struct hw_value value(double v)
{
    struct hw_value x = { .value = v };
    snprintf(x.source, sizeof x.source, "test");
    return x;
}

/* 1 TB/s and a bus of 10 GB/s and 5 us; a CPU of 100 GB/s. Peaks that limit nothing. */
static struct hwprofile machine(enum hw_kind kind, double bytes_s, double mem_bytes)
{
    static struct hw_link link = { .name = "PCIe", .topology = "pcie" };
    struct hwprofile h = { .kind = kind };
    snprintf(h.id, sizeof h.id, "%s", kind == HW_CPU ? "host" : "card");
    for (int i = 0; i < MATH_COUNT; i++)
        h.peak[i] = value(1e18);
    h.idle_w.value = h.price_usd_h.value = h.tdp_w.value = NAN;
    h.mem_bytes = value(mem_bytes);
    h.mem_bw = value(bytes_s);
    h.eff.compute = h.eff.bandwidth = value(1);
    h.eff.launch_s = value(1e-6);
    link.bytes_s = value(10e9);
    link.latency_s = value(5e-6);
    h.link = kind == HW_CPU ? NULL : &link;
    h.n_link = kind != HW_CPU;
    return h;
}

static struct predict_options options(void)
{
    return (struct predict_options){ .weights_bytes = NAN, .n_prompt = 512, .n_gen = 1, .n_batch = 1, .n_ubatch = 512, .type_k = DTYPE_F16,
                                     .type_v = DTYPE_F16 };
}

static struct model dense, tied, mixture;

static int load(void **state)
{
    struct error err = { 0 };
    (void)state;
    environment_set_dirs(data_dirs());
    assert_ok(model_load(&dense, "llama-3-8b", "Q8_0", &err), err);
    assert_ok(model_load(&tied, "llama-3.2-1b", "Q8_0", &err), err);
    assert_ok(model_load(&mixture, "qwen3-30b-a3b", "Q8_0", &err), err);
    return 0;
}

static int unload(void **state)
{
    (void)state;
    model_free(&dense);
    model_free(&tied);
    model_free(&mixture);
    return 0;
}

static struct offload_rule layers(int n)
{
    struct offload_rule r = OFFLOAD_RULE_NONE;
    r.n_gpu_layers = n;
    return r;
}

static struct offload_rule experts(int n)
{
    struct offload_rule r = OFFLOAD_RULE_NONE;
    r.n_cpu_moe = n;
    return r;
}

static struct offload_rule pattern(const char *text)
{
    struct offload_rule r = OFFLOAD_RULE_NONE;
    r.override[r.n_override++] = text;
    return r;
}

static struct predict_result priced(const struct model *m, const struct offload_rule *rule, struct predict_options o, struct predict_device *devices)
{
    static struct hwprofile gpu, cpu;
    struct predict_result r;
    struct error err = { 0 };
    gpu = machine(HW_GPU, 1e12, 40e9);
    cpu = machine(HW_CPU, 100e9, 200e9);
    const struct predict_offload f = { *rule, &cpu, NULL };
    o.offload = &f;
    o.devices = devices;
    assert_ok(predict(&r, m, &gpu, &o, &err), err);
    return r;
}

/* ---- places ------------------------------------------------------------------------------------------------ */

static double on_host(const struct model *m, const struct offload_rule *r)
{
    struct offload_places p;
    struct error err = { 0 };
    double bytes = 0;
    assert_ok(offload_places_init(&p, r, m, &err), err);
    for (size_t i = 0; i < m->n_tensors; i++)
        bytes += p.tensor[i] == OFFLOAD_HOST ? (double)m->tensors[i].bytes : 0;
    offload_places_free(&p);
    return bytes;
}

static double bytes_of(const struct model *m, const char *part)
{
    double bytes = 0;
    for (size_t i = 0; i < m->n_tensors; i++)
        bytes += strstr(m->tensors[i].name, part) ? (double)m->tensors[i].bytes : 0;
    return bytes;
}

/* The output layer is the first on the GPU, then the last blocks; the embedding is never. */
static void test_places(void **state)
{
    (void)state;
    const double embedding = bytes_of(&dense, "token_embd"), all = (double)dense.weight_bytes;
    const struct offload_rule none = layers(0), output = layers(1), first = layers(32), full = layers(33), any = layers(OFFLOAD_ALL);
    assert_near(on_host(&dense, &none), all, 0);
    assert_near(on_host(&dense, &output), all - bytes_of(&dense, "output") + bytes_of(&dense, "attn_output"), 0);
    assert_near(on_host(&dense, &first), embedding + bytes_of(&dense, "blk.0."), 0);
    assert_near(on_host(&dense, &full), embedding, 0);
    assert_near(on_host(&dense, &any), embedding, 0);
    const double table = bytes_of(&mixture, "token_embd"), exps = bytes_of(&mixture, "_exps.");
    const struct offload_rule two = experts(2), every = experts(OFFLOAD_ALL), named = pattern("ffn_.*_exps=CPU"),
                              comma = pattern("blk\\.0\\.ffn_up_exps\\,?=CPU,blk\\.1\\.ffn_up_exps=CPU"), set = pattern("blk\\.[](0]\\.ffn_up_exps=CPU,blk\\.1\\.ffn_up_exps=CPU"),
              kept = pattern("blk\\.[0-1]\\.ffn_.*_exps\\.=CUDA0,exps=CPU"), ahead = pattern("\\.(?!0)\\d+\\.ffn_(up|down)_exps=CPU");
    assert_near(on_host(&mixture, &every), table + exps, 0);
    assert_near(on_host(&mixture, &named), table + exps, 0);
    assert_near(on_host(&mixture, &two), table + exps / 24, 1e-6 * exps);   /* 2 of 48 blocks, all alike */
    assert_near(on_host(&mixture, &kept), table + exps * 46 / 48, 1e-6 * exps); /* the first match applies */
    assert_near(on_host(&mixture, &comma), table + exps / 48 * 2 / 3, 1e-6 * exps); /* no pattern ends at "\\,", nor in a class with a bracket */
    assert_near(on_host(&mixture, &set), table + exps / 48 * 2 / 3, 1e-6 * exps);
    assert_near(on_host(&mixture, &ahead), table + exps * 47 / 48 * 2 / 3, 1e-6 * exps);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } bad[] = { { "exps", "expected REGEX=DEVICE" }, { "=CPU", "expected REGEX=DEVICE" }, { "exps=", "expected REGEX=DEVICE" }, { "(exps=CPU", "missing" },
                { "exps=CUDA1", "one GPU is predicted" }, { "exps=DISK", "found device \"DISK\"" },
                { "((.?)+)+[0-9]{7}=CPU", "-ot \"((.?)+)+[0-9]{7}=CPU\": match limit exceeded" } };
    struct hwprofile gpu = machine(HW_GPU, 1e12, 40e9), apu = machine(HW_APU, 1e12, 40e9), cpu = machine(HW_CPU, 100e9, 200e9), none = machine(HW_GPU, 1e12, NAN);
    struct offload_places p;
    struct predict_result r;
    struct error err = { 0 };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const struct offload_rule rule = pattern(bad[i].text);
        assert_fails(offload_places_init(&p, &rule, &dense, &err), err, bad[i].message);
    }
    struct predict_offload f = { layers(8), &cpu, NULL };
    struct predict_options o = options();
    o.offload = &f;
    assert_fails(predict(&r, &dense, &apu, &o, &err), err, "shares its memory with its CPU");
    o.layout.tp = 2;
    assert_fails(predict(&r, &dense, &gpu, &o, &err), err, "one GPU only");
    o.layout.tp = 1;
    f.host = &gpu;
    assert_fails(predict(&r, &dense, &gpu, &o, &err), err, "expected a CPU");
    f = (struct predict_offload){ layers(OFFLOAD_AUTO), &cpu, NULL };
    assert_fails(predict(&r, &dense, &none, &o, &err), err, "no memory size");
    gpu.mem_bytes = value(1e8);
    assert_fails(predict(&r, &dense, &gpu, &o, &err), err, "any number of layers");
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

/* Unknown where the host's memory is; no where the GPU's is too small, whatever the host's. */
static void test_fits_unknown(void **state)
{
    struct hwprofile gpu = machine(HW_GPU, 1e12, 40e9), cpu = machine(HW_CPU, 100e9, NAN);
    const struct predict_offload f = { layers(17), &cpu, NULL };
    struct predict_device d[DEVICE_COUNT];
    struct predict_options o = options();
    struct predict_result r;
    struct error err = { 0 };
    (void)state;
    o.offload = &f;
    o.devices = d;
    assert_ok(predict(&r, &dense, &gpu, &o, &err), err);
    assert_int_equal(r.fits, -1);
    assert_int_equal(d[DEVICE_HOST].fits, -1);
    assert_true(d[DEVICE_HOST].need_bytes > 0.4 * (double)dense.weight_bytes);
    gpu.mem_bytes = value(1e9);
    assert_ok(predict(&r, &dense, &gpu, &o, &err), err);
    assert_int_equal(r.fits, 0);
    gpu.mem_bytes = value(40e9);
    cpu.mem_bytes = value(1e9);
    assert_ok(predict(&r, &dense, &gpu, &o, &err), err);
    assert_int_equal(r.fits, 0);
}

/* Watts of both, or without those of the host, which is said; as given, where given. */
static void test_power(void **state)
{
    struct hwprofile gpu = machine(HW_GPU, 1e12, 40e9), cpu = machine(HW_CPU, 100e9, 200e9);
    (void)state;
    gpu.tdp_w = value(300);
    struct running w = running_of(&gpu, NAN, NAN);
    running_add_host(&w, NAN, &gpu, &cpu);
    assert_near(w.power_w, 300, 0);
    assert_non_null(strstr(w.power_source, "without the host"));
    assert_null(strstr(w.power_source, "bound"));
    cpu.tdp_w = value(125);
    w = running_of(&gpu, NAN, NAN);
    running_add_host(&w, NAN, &gpu, &cpu);
    assert_near(w.power_w, 425, 0);
    assert_non_null(strstr(w.power_source, "GPU and CPU"));
    assert_null(strstr(w.power_source, "bound"));
    w = running_of(&gpu, 50, NAN);
    running_add_host(&w, 50, &gpu, &cpu);
    assert_near(w.power_w, 50, 0);
    assert_non_null(strstr(w.power_source, "given"));
}

/* The bus says where its rate is from, and how weights are copied. */
static void test_bus(void **state)
{
    struct hwprofile gpu = machine(HW_GPU, 1e12, 40e9);
    (void)state;
    const struct offload_bus b = offload_bus_of(&gpu, true, false);
    assert_true(b.of_profile && b.pinned);
    assert_string_equal(b.source, gpu.link->bytes_s.source);
    gpu.n_link = 0;
    const struct offload_bus assumed = offload_bus_of(&gpu, false, false);
    assert_false(assumed.of_profile || assumed.pinned);
    assert_string_equal(assumed.source, "assumed: PCIe 4.0 x16");
    assert_near(assumed.copied_bytes_s, 10e9, 0);
}

static void test_memory(void **state)
{
    struct predict_device d[DEVICE_COUNT];
    double before = -1;
    (void)state;
    for (int n = 0; n <= 32; n += 4) {
        const struct offload_rule r = layers(n);
        (void)priced(&dense, &r, options(), d);
        assert_near(d[DEVICE_GPU].weight_bytes + d[DEVICE_HOST].weight_bytes, (double)dense.weight_bytes, 1);
        assert_near(d[DEVICE_GPU].kv_bytes + d[DEVICE_HOST].kv_bytes, 32.0 * 513 * 2 * 1024 * 2, 1); /* blocks, positions, K and V, 16 bits */
        assert_near(d[DEVICE_GPU].kv_bytes * 32, (d[DEVICE_GPU].kv_bytes + d[DEVICE_HOST].kv_bytes) * (n > 0 ? n - 1 : 0), 1);
        assert_true(d[DEVICE_GPU].weight_bytes > before);
        before = d[DEVICE_GPU].weight_bytes;
    }
    /* A tied table is looked up on the host, and multiplied by on the GPU. */
    const struct offload_rule some = layers(5), nothing = layers(0);
    (void)priced(&tied, &some, options(), d);
    assert_near(d[DEVICE_GPU].weight_bytes + d[DEVICE_HOST].weight_bytes, (double)tied.weight_bytes + bytes_of(&tied, "token_embd"), 1);
    (void)priced(&tied, &nothing, options(), d);
    assert_near(d[DEVICE_HOST].weight_bytes, (double)tied.weight_bytes, 1);
    assert_near(d[DEVICE_GPU].weight_bytes, 0, 1);
    struct offload_rule cache = OFFLOAD_RULE_NONE;
    cache.host_kv = true;
    (void)priced(&dense, &cache, options(), d);
    assert_near(d[DEVICE_GPU].kv_bytes, 0, 0);
    assert_near(d[DEVICE_GPU].weight_bytes, (double)dense.weight_bytes - bytes_of(&dense, "token_embd"), 1);
}

/* The most layers that fit, and the fewest experts: one more or less does not. */
static void test_fit(void **state)
{
    struct hwprofile gpu = machine(HW_GPU, 1e12, 6e9), cpu = machine(HW_CPU, 100e9, 200e9);
    struct error err = { 0 };
    struct model_classes x, y;
    struct predict_options o = options();
    struct predict_device d[DEVICE_COUNT];
    (void)state;
    assert_ok(model_classes_init(&x, &dense, &err), err);
    assert_ok(model_classes_init(&y, &mixture, &err), err);
    struct offload_rule r = layers(OFFLOAD_AUTO), e = experts(OFFLOAD_AUTO), never = experts(OFFLOAD_AUTO);
    gpu.mem_bytes = value(1e8);
    assert_int_equal(offload_fit(&never, &y.classes, &gpu, &o, &err), 1); /* nothing fits */
    assert_non_null(strstr(err.msg, "all experts on the host"));
    err = (struct error){ 0 };
    gpu.mem_bytes = value(6e9);
    assert_ok(offload_fit(&r, &x.classes, &gpu, &o, &err), err);
    gpu.mem_bytes = value(20e9);
    assert_ok(offload_fit(&e, &y.classes, &gpu, &o, &err), err);
    assert_in_range(r.n_gpu_layers, 15, 25);
    assert_in_range(e.n_cpu_moe, 15, 25);
    for (int more = 0; more < 2; more++) {
        struct predict_offload f = { layers(r.n_gpu_layers + more), &cpu, NULL };
        struct predict_result p;
        o.offload = &f;
        o.devices = d;
        gpu.mem_bytes = value(6e9);
        assert_ok(predict(&p, &dense, &gpu, &o, &err), err);
        assert_int_equal(p.fits, !more);
        f.rule = experts(e.n_cpu_moe - more);
        gpu.mem_bytes = value(20e9);
        assert_ok(predict(&p, &mixture, &gpu, &o, &err), err);
        assert_int_equal(p.fits, !more);
    }
    model_classes_free(&x);
    model_classes_free(&y);
}

/* ---- seconds ------------------------------------------------------------------------------------------------- */

/*
 * Llama 3 8B in Q8_0, weights alone, under the roofs, 16 blocks on each side. A block's products have 2 x 4096 x 4096 + 2 x 4096 x 1024 + 3 x 4096 x 14336
 * = 218,103,808 weights in 34/32 bytes, and two norms of 4096 x 4 bytes. The host multiplies its 16 at 100 GB/s, the GPU its 16, the last norm and the
 * head of 128,256 x 4096 weights at 1 TB/s. The residual stream and the last block's output cross once: 2 x 4096 x 4 bytes at 10 GB/s.
 */
static void test_by_hand(void **state)
{
    const struct offload_rule r = layers(17);
    struct predict_options o = options();
    struct predict_device d[DEVICE_COUNT];
    const double block = 218103808.0 * 34 / 32 + 2 * 4096 * 4, head = 128256.0 * 4096 * 34 / 32 + 4096 * 4, row = 4096.0 * 34 / 32;
    (void)state;
    o.roof = o.weights_only = true;
    const struct predict_result p = priced(&dense, &r, o, d);
    assert_near(d[DEVICE_HOST].phase[PHASE_DECODE].seconds, (16 * block + row) / 100e9, 1e-9);
    assert_near(d[DEVICE_GPU].phase[PHASE_DECODE].seconds, (16 * block + head) / 1e12, 1e-9);
    assert_near(d[DEVICE_BUS].phase[PHASE_DECODE].bytes, 2 * 4096 * 4, 0);
    assert_near(d[DEVICE_BUS].phase[PHASE_DECODE].seconds, 2 * 4096 * 4 / 10e9, 1e-12);
    assert_true(p.decode.host_roofs && !p.prefill.host_roofs); /* of the longest part */
    assert_near(p.decode.bandwidth_bytes_s, 100e9, 1e-3);
    assert_near(p.decode.seconds, (16 * block + row) / 100e9 + (16 * block + head) / 1e12 + 2 * 4096 * 4 / 10e9, 2e-9);
    assert_int_equal(p.decode.bound, BOUND_MEMORY);
    assert_near(d[DEVICE_HOST].phase[PHASE_DECODE].mbu, 1, 1e-3);
    /* A prompt of one pass copies the host's blocks and their cache, 512 positions of 2 x 1024 x 2 bytes each, after the keys and values went there in FP32;
     * the embedded prompt crosses once. */
    assert_near(d[DEVICE_BUS].phase[PHASE_PREFILL].bytes, 16 * (block + 512.0 * 2 * 1024 * 2 + 512.0 * 2 * 1024 * 4) + 512.0 * 4096 * 4, 0);
    assert_int_equal(p.prefill.bound, BOUND_LINK);
    /* By constants: one change of the device a step, and 0.82 of the link. */
    o.roof = false;
    (void)priced(&dense, &r, o, d);
    assert_near(d[DEVICE_BUS].phase[PHASE_DECODE].seconds, 5e-6 + 2 * 4096 * 4 / 8.2e9, 1e-12);
}

/* Everything on the GPU is no offload, to the last bit, a request too. */
static void test_all_on_gpu(void **state)
{
    const struct offload_rule full = layers(33), none = experts(0), all = pattern(".*=GPU");
    const struct offload_rule *const rules[] = { &full, &none, &all };
    struct hwprofile gpu = machine(HW_GPU, 1e12, 40e9);
    struct error err = { 0 };
    struct predict_result plain;
    (void)state;
    struct predict_options o = options();
    assert_ok(predict(&plain, &dense, &gpu, &o, &err), err);
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        const struct predict_result r = priced(&dense, rules[i], o, NULL);
        assert_memory_equal(&r.prefill.seconds, &plain.prefill.seconds, sizeof r.prefill.seconds);
        assert_memory_equal(&r.decode.cost, &plain.decode.cost, sizeof r.decode.cost);
        assert_memory_equal(&r.decode.seconds, &plain.decode.seconds, sizeof r.decode.seconds);
        assert_memory_equal(&r.need_bytes, &plain.need_bytes, sizeof r.need_bytes);
    }
}

/* More on the faster GPU is never slower in decode; a narrower bus never faster. */
static void test_monotone(void **state)
{
    double before = INFINITY, most = 0;
    (void)state;
    for (int n = 0; n <= 33; n++) {
        const struct offload_rule r = layers(n);
        const double s = priced(&dense, &r, options(), NULL).decode.seconds;
        assert_true(s <= before);
        before = s;
    }
    for (int n = 0; n <= 48; n += 6) {
        const struct offload_rule r = experts(n);
        const double s = priced(&mixture, &r, options(), NULL).decode.seconds;
        assert_true(s >= most);
        most = s;
    }
}

/* The host multiplies prompts of fewer than 32 tokens, and all of them with --no-op-offload; page-locked memory is copied faster. */
static void test_prompts(void **state)
{
    struct offload_rule r = experts(OFFLOAD_ALL);
    struct predict_device d[DEVICE_COUNT];
    struct predict_options o = options();
    const double all = bytes_of(&mixture, "_exps.");
    (void)state;
    (void)priced(&mixture, &r, o, d);
    assert_true(d[DEVICE_BUS].phase[PHASE_PREFILL].bytes > 0.9 * all && d[DEVICE_BUS].phase[PHASE_PREFILL].bytes < 1.1 * all);
    assert_true(d[DEVICE_HOST].phase[PHASE_PREFILL].bytes < 1e-3 * all); /* rows of the embedding */
    o.n_prompt = 31;
    (void)priced(&mixture, &r, o, d);
    assert_true(d[DEVICE_BUS].phase[PHASE_PREFILL].bytes < 1e-2 * all);
    assert_true(d[DEVICE_HOST].phase[PHASE_PREFILL].bytes > 0.5 * all);
    o.n_prompt = 512 + 31; /* a pass of each kind */
    (void)priced(&mixture, &r, o, d);
    assert_true(d[DEVICE_HOST].phase[PHASE_PREFILL].bytes > 0.5 * all && d[DEVICE_BUS].phase[PHASE_PREFILL].bytes > 0.9 * all);
    const double with_room = d[DEVICE_GPU].act_bytes;
    o.n_prompt = 512;
    r.host_multiplies = true; /* activations cross */
    (void)priced(&mixture, &r, o, d);
    assert_true(with_room - d[DEVICE_GPU].act_bytes > 0.99 * bytes_of(&mixture, "blk.0.ffn_up_exps"));
    assert_true(d[DEVICE_BUS].phase[PHASE_PREFILL].bytes < 0.1 * all);
    const struct hwprofile gpu = machine(HW_GPU, 1e12, 40e9);
    assert_true(offload_bus_of(&gpu, true, false).copied_bytes_s >= offload_bus_of(&gpu, false, false).copied_bytes_s);
}

/* Only the last pass has logits: where it runs on the host, the copied passes before it need no head. */
static void test_head_once(void **state)
{
    const struct offload_rule r = layers(0);
    struct predict_options o = options();
    struct predict_device d[DEVICE_COUNT];
    const double head = bytes_of(&dense, "output.weight") - bytes_of(&dense, "attn_output.weight");
    (void)state;
    for (int roof = 0; roof < 2; roof++) {
        o.roof = o.weights_only = roof > 0;
        o.n_prompt = 512;
        (void)priced(&dense, &r, o, d);
        const double whole = d[DEVICE_BUS].phase[PHASE_PREFILL].bytes;
        o.n_prompt = 512 + 31;
        const struct predict_result p = priced(&dense, &r, o, d);
        assert_true(whole - d[DEVICE_BUS].phase[PHASE_PREFILL].bytes > 0.9 * head);
        assert_true(p.prefill.cost.weight_bytes < 2.0 * (double)dense.weight_bytes - bytes_of(&dense, "token_embd") - 0.9 * head);
    }
}

/* Room on the GPU for copied weights: where the largest pass, of a prompt or a decode step, copies. */
static void test_room(void **state)
{
    static const struct {
        uint32_t n_prompt, n_gen, n_batch, n_ubatch;
        bool copies;
    } cases[] = { { 16, 0, 4, 512, true }, { 16, 0, 1, 512, false }, { 4096, 0, 1, 16, false }, { 0, 1, 32, 512, true }, { 0, 1, 31, 512, false } };
    const struct offload_rule r = experts(OFFLOAD_ALL);
    struct offload_rule stays = r;
    struct predict_device d[DEVICE_COUNT];
    (void)state;
    stays.host_multiplies = true;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct predict_options o = options();
        o.n_prompt = cases[i].n_prompt;
        o.n_gen = cases[i].n_gen;
        o.n_batch = cases[i].n_batch;
        o.n_ubatch = cases[i].n_ubatch;
        (void)priced(&mixture, &stays, o, d);
        const double without = d[DEVICE_GPU].act_bytes;
        (void)priced(&mixture, &r, o, d);
        assert_int_equal(d[DEVICE_GPU].act_bytes - without > 0.99 * bytes_of(&mixture, "blk.0.ffn_up_exps"), cases[i].copies);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places), cmocka_unit_test(test_refused),    cmocka_unit_test(test_memory),   cmocka_unit_test(test_fit),
        cmocka_unit_test(test_by_hand), cmocka_unit_test(test_all_on_gpu), cmocka_unit_test(test_monotone), cmocka_unit_test(test_prompts),
        cmocka_unit_test(test_head_once), cmocka_unit_test(test_room),   cmocka_unit_test(test_fits_unknown), cmocka_unit_test(test_power),
        cmocka_unit_test(test_bus),
    };
    return cmocka_run_group_tests_name("offload", tests, load, unload);
}
