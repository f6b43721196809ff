/* Rows become work, a time model makes seconds of it without seeing the answer, groups have the figures of (67). */
#include "base/environment.h"
#include "cost/cost.h"
#include "dataset/measure.h"
#include "rows.h"
#include "stacks/effects.h"
#include "stacks/priors.h"

/* A decode step of Llama-3-8B reads all but its embedding table, scaled to the file's bytes, and the cache. */
static void test_decode_work(void **state)
{
    (void)state;
    struct rows x;
    load(&x, "throughput.csv", true);
    const struct workload *p = &x.row[0];
    assert_string_equal(p->reason, "");
    assert_string_equal(p->preset, "llama-3-8b");
    assert_int_equal(p->n_pass, 1);
    const struct work_sum s = work_sum(p, PHASE_DECODE);
    assert_near(p->model_bytes, 4.58 * 0x1p30, 0.01);
    assert_true(s.product_weight_bytes > 0.9 * p->model_bytes && s.product_weight_bytes < p->model_bytes);
    /* keys and values of 64 positions read, and the token's own stored and read */
    assert_near(s.cost.kv_bytes, 131072.0 * (64 + 2), 0.001);
    assert_near(s.cost.flop, 2 * p->n_active, 0.02);
    assert_near(p->measured_s, 1.0 / 150, 1e-12);
    assert_near(work_sum(&x.row[1], PHASE_PREFILL).cost.flop, 512 * 2 * p->n_active, 0.08);
    assert_near(x.row[1].measured_s, 512.0 / 9000, 1e-12);
    unload(&x);
}

static void test_machines(void **state)
{
    (void)state;
    struct rows x;
    load(&x, "throughput.csv", true);
    /* twice off: the file's bandwidth, and the row states it; within 5 %: the profile's */
    assert_near(x.row[0].machine->h.mem_bw.value, 504e9, 1e-12);
    assert_non_null(strstr(x.row[0].machine->note, "bandwidth"));
    assert_near(x.row[2].machine->h.mem_bw.value, 2039e9, 1e-12);
    assert_string_equal(x.row[2].machine->note, "");
    /* no profile: the file's figures and class; nothing at all: a reason */
    assert_near(x.row[4].machine->h.mem_bw.value, 800e9, 1e-12);
    assert_string_equal(x.row[4].machine->class_name, "accelerator");
    assert_non_null(strstr(x.row[6].reason, "Example Box Y2"));
    unload(&x);
    load(&x, "throughput.csv", false);
    assert_string_equal(x.row[0].machine->class_name, "consumer GPU");
    assert_string_equal(x.row[2].machine->class_name, "datacenter GPU");
    assert_non_null(strstr(x.row[4].reason, "--hardware"));
    /* affixes of a name; a CPU is not its adjacent GPU */
    static const struct {
        const char *hardware, *profile;
    } names[] = { { "AMD EPYC 9654 [CPU]", "epyc-9654" },  { "a40_pairwise_nvlink", "a40" }, { "h100_dgx", "h100-sxm" },
                  { "AMD Ryzen AI Max+ 395 [CPU]", "" }, { "gb200_sxm", "gb200" },         { "b200_sxm", "b200-sxm" },
                  /* as named by drivers and shops */
                  { "Intel(R) Arc(TM) B580 Graphics (BMG G21)", "arc-b580" }, { "Apple M3 Ultra 512GB", "apple-m3-ultra" },
                  { "AMD RYZEN AI MAX+ 395 w/ Radeon 8060S", "strix-halo-395" }, { "AMD Radeon Graphics (RADV GFX1151)", "strix-halo-395" },
                  { "NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-server" }, { "NVIDIA RTX 4050", "" } };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct measurement m = x.l.row[0];
        struct workload p;
        struct error err = { 0 };
        m.hardware = names[i].hardware;
        assert_ok(workload_init(x.builder, &m, &p, &err), err);
        assert_string_equal(p.machine->profile, names[i].profile);
        workload_free(&p);
    }
    unload(&x);
}

/* A processor with a GPU in it, run by a llama.cpp without a device name: by the back end's name. */
static void test_gpu_in_processor(void **state)
{
    (void)state;
    static const struct {
        const char *hardware, *profile, *stack, *class;
    } names[] = {
        { "AMD Ryzen AI Max+ 395 (Radeon 8060S)", "strix-halo-395", "llama.cpp-rocm", "unified SoC GPU" },
        { "AMD Ryzen AI 9 HX 370 w/ Radeon 890M", "strix-point-hx370", "llama.cpp-rocm", "unified SoC GPU" },
        { "AMD Ryzen AI 9 HX 370 (iGPU)", "strix-point-hx370", "llama.cpp-vulkan", "unified SoC GPU" },
        { "AMD Ryzen AI 9 HX 370 (integrated GPU)", "strix-point-hx370", "llama.cpp-vulkan", "unified SoC GPU" },
        { "AMD Ryzen AI Max+ 395 [GPU]", "strix-halo-395", "llama.cpp-vulkan", "unified SoC GPU" },
        { "AMD Ryzen AI Max+ 395 (Radeon 8060S) [CPU]", "", "llama.cpp-cpu", "CPU" },
        { "AMD Ryzen AI 9 HX 370 [CPU]", "", "llama.cpp-cpu", "CPU" },
        { "AMD Ryzen AI 9 HX 370 (CPU)", "", "llama.cpp-cpu", "CPU" },
        { "AMD Ryzen AI 9 HX 370", "strix-point-hx370", "llama.cpp-cpu", "unified SoC GPU" },
        { "AMD Ryzen AI Max+ 395", "strix-halo-395", "llama.cpp-cpu", "unified SoC GPU" },
    };
    struct rows x;
    load(&x, "throughput.csv", false);
    struct measurement m = x.l.row[0];
    m.engine = "llama.cpp";
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct workload p;
        struct error err = { 0 };
        m.hardware = names[i].hardware;
        assert_ok(workload_init(x.builder, &m, &p, &err), err);
        if (strcmp(p.machine->profile, names[i].profile) != 0 || strcmp(p.stack->id, names[i].stack) != 0 ||
            strcmp(p.machine->class_name, names[i].class) != 0)
            fail_msg("%s: \"%s\", %s, %s", m.hardware, p.machine->profile, p.stack->id, p.machine->class_name);
        workload_free(&p);
    }
    unload(&x);
}

/* Names that begin alike for as long as there is room are of different machines and publishers. */
static void test_long_names(void **state)
{
    (void)state;
    enum { MANY = 100 };
    char text[4 * MANY + 400], name[MANY + 1];
    memset(name, 'x', MANY);
    name[MANY] = 0;
    snprintf(text, sizeof text,
             "hardware,source,engine,model,quant,phase,prompt_len,context_len,batch,tokens_per_s\n"
             "RTX 4999 %s a,a publisher of benchmarks of many words 1,llama.cpp,Llama-3-8B,Q4_0,decode,0,64,1,100\n"
             "RTX 4999 %s b,a publisher of benchmarks of many words 2,llama.cpp,Llama-3-8B,Q4_0,decode,0,64,1,100\n"
             "RTX 4090,a publisher of benchmarks of many words 1,llama.cpp,Llama-3-8B,Q4_0,decode,0,64,1,100\n"
             "RTX 4090,a publisher of benchmarks of many words 2,llama.cpp,Llama-3-8B,Q4_0,decode,0,64,1,100\n",
             name, name);
    struct rows x;
    struct error err = { 0 };
    load_text(&x, text);
    assert_ok(priors_load(&err), err);
    struct fitted_row *r = calloc(x.l.n, sizeof *r);
    assert_non_null(r);
    for (size_t i = 0; i < x.l.n; i++)
        assert_true(fitted_row_init(&r[i], &x.row[i], FITTED_DECODE));
    assert_string_not_equal(r[0].dim[DIM_HARDWARE], r[1].dim[DIM_HARDWARE]);
    assert_string_not_equal(r[0].dim[DIM_PLACE], r[1].dim[DIM_PLACE]);
    assert_string_not_equal(r[2].dim[DIM_PUBLICATION], r[3].dim[DIM_PUBLICATION]);
    free(r);
    snprintf(text, sizeof text, "RTX 4999 %s %s a", name, name);
    const struct machine *const a = workload_builder_machine(x.builder, text, false, &err);
    text[strlen(text) - 1] = 'b';
    assert_ptr_not_equal(a, workload_builder_machine(x.builder, text, false, &err));
    text[strlen(text) - 1] = 'a';
    assert_ptr_equal(a, workload_builder_machine(x.builder, text, false, &err));
    unload(&x);
}

/* Machines without a profile: class by name, wide intervals; without a class no estimate, except for servers. */
static void test_guessed_machines(void **state)
{
    (void)state;
    static const struct {
        const char *hardware, *class, *stack;
        double lo, hi;
    } names[] = {
        { "NVIDIA GeForce RTX 5050 8GB", "consumer GPU", "llama.cpp-cuda", 400e9, 700e9 },
        { "NVIDIA RTX A3000", "workstation GPU", "llama.cpp-cuda", 400e9, 700e9 },
        { "B400", "datacenter GPU", "llama.cpp-cuda", 7e12, 9e12 },
        { "AMD MI308X", "datacenter GPU", "llama.cpp-rocm", 3e12, 4e12 },
        { "AMD Radeon 780M", "iGPU", "llama.cpp-rocm", 50e9, 120e9 },
        { "Apple M6 Max (40-core GPU)", "Apple GPU", "llama.cpp-metal", 200e9, 400e9 },
        { "Apple iPhone 16 Pro", "phone CPU", "llama.cpp-cpu", 50e9, 90e9 },
        { "Ampere Altra M96 [CPU]", "CPU", "llama.cpp-cpu", 200e9, 500e9 },
        { "Intel Core i9-14900K", "CPU", "llama.cpp-cpu", 70e9, 100e9 },
        { "i9-14900K", "CPU", "llama.cpp-cpu", 70e9, 100e9 },
        { "Cortex-A76", "CPU", "llama.cpp-cpu", 10e9, 20e9 },
        { "AMD A10-7850K", "CPU", "llama.cpp-cpu", 40e9, 80e9 },
        { "Qualcomm NPU X", "accelerator", "llama.cpp", 80e9, 120e9 },
        { "Orange Pi 5", "CPU", "llama.cpp-cpu", 10e9, 20e9 },
    };
    struct rows x;
    load(&x, "throughput.csv", false);
    struct measurement m = x.l.row[0];
    struct workload p;
    struct error err = { 0 };
    m.engine = "llama.cpp";
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        m.hardware = names[i].hardware;
        assert_ok(workload_init(x.builder, &m, &p, &err), err);
        assert_string_equal(p.reason, "");
        assert_string_equal(p.machine->class_name, names[i].class);
        assert_string_equal(p.stack->id, names[i].stack);
        assert_true(p.roofs->bytes_s > names[i].lo && p.roofs->bytes_s < names[i].hi);
        if (!(p.machine->ln_sd >= 0.2 && p.guesses & GUESS_BANDWIDTH))
            fail_msg("%s: its spread is %g", m.hardware, p.machine->ln_sd);
        workload_free(&p);
    }
    m.hardware = "unknown box";
    assert_ok(workload_init(x.builder, &m, &p, &err), err);
    assert_non_null(strstr(p.reason, "and its name implies no class"));
    workload_free(&p);
    unload(&x);
    load(&x, "all_reduce.csv", false);
    m = x.l.row[0];
    m.hardware = m.topology = "eight_in_a_ring";
    assert_ok(workload_init(x.builder, &m, &p, &err), err);
    assert_string_equal(p.reason, "");
    assert_string_equal(p.machine->class_name, "datacenter GPU");
    workload_free(&p);
    unload(&x);
}

/* Models without a preset: parameters as stated, active ones by name, bytes of the file. */
static void test_guessed_models(void **state)
{
    (void)state;
    struct rows x;
    load(&x, "throughput.csv", true);
    const struct workload *moe = &x.row[4], *dense = &x.row[5];
    assert_true(moe->guesses & GUESS_MODEL && moe->moe);
    assert_near(moe->n_params, 42e9, 0.05);
    assert_near(moe->n_active, 5e9, 0.15);
    assert_near(work_sum(moe, PHASE_DECODE).product_weight_bytes, moe->n_active * 4.5 / 8, 0.1);
    assert_true(dense->guesses & GUESS_MODEL && !dense->moe);
    assert_near(dense->model_bytes, 8.0 * 0x1p30, 0.01);
    /* all but the table that is looked up: 128,256 rows of 4096 */
    assert_near(work_sum(dense, PHASE_PREFILL).product_weight_bytes, dense->model_bytes * (1 - 128256.0 * 4096 / dense->n_params), 0.05);
    assert_near(dense->n_params, 9e9, 0.05);
    unload(&x);
}

/* Parameters are those stated, whatever blocks and whole experts come to; what a step reads follows them. */
static void test_stated_parameters(void **state)
{
    (void)state;
    static const char text[] = "hardware,engine,model,quant,phase,prompt_len,context_len,batch,tokens_per_s\n"
                               "NVIDIA RTX 4090,llama.cpp,Foo-30B-A3.1B,Q4_0,decode,0,64,1,100\n"
                               "NVIDIA RTX 4090,llama.cpp,Foo-30B-A3.5B,Q4_0,decode,0,64,1,100\n"
                               "NVIDIA RTX 4090,llama.cpp,Foo-31B-A3.5B,Q4_0,prefill,4096,0,1,100\n"
                               "NVIDIA RTX 4090,llama.cpp,Foo-30B-A3.5B,Q4_0,prefill,4096,0,1,100\n"
                               "NVIDIA RTX 4090,llama.cpp,Foo-9.1B,Q4_0,decode,0,64,1,100\n"
                               "NVIDIA RTX 4090,llama.cpp,Foo-9.12B,Q4_0,decode,0,64,1,100\n";
    static const double params[] = { 30e9, 30e9, 31e9, 30e9, 9.1e9, 9.12e9 };
    static const double table_wide[] = { 2048, 2048, 2048, 2048, 4096, 4096 }, active[] = { 3.1e9, 3.5e9, 3.5e9, 3.5e9, 9.1e9, 9.12e9 };
    const double bytes = 4.5 / 8;
    struct rows x;
    load_text(&x, text);
    for (size_t i = 0; i < x.l.n; i++) {
        assert_true(x.row[i].guesses & GUESS_MODEL);
        assert_near(x.row[i].n_params, params[i], 1e-9);
        assert_near(x.row[i].n_active, active[i] - 128256 * table_wide[i], 1e-9); /* but the table that is looked up */
    }
    const struct work_sum a = work_sum(&x.row[0], PHASE_DECODE), b = work_sum(&x.row[1], PHASE_DECODE);
    assert_near(b.product_weight_bytes - a.product_weight_bytes, 0.4e9 * bytes, 1e-6);
    assert_near(b.cost.flop - a.cost.flop, 2 * 0.4e9, 1e-2);
    assert_near(work_sum(&x.row[5], PHASE_DECODE).product_weight_bytes - work_sum(&x.row[4], PHASE_DECODE).product_weight_bytes, 0.02e9 * bytes, 1e-6);
    /* 512 tokens a pass, eight passes, touch all experts but a few */
    const double more = work_sum(&x.row[2], PHASE_PREFILL).product_weight_bytes - work_sum(&x.row[3], PHASE_PREFILL).product_weight_bytes;
    assert_near(more, 8 * 1e9 * bytes, 0.02);
    unload(&x);
}

/* Passes of a prompt: as stated by the row, as in its source's script, as the software's default. (55) */
static void test_scripts(void **state)
{
    (void)state;
    static const struct {
        const char *source, *engine;
        double context;
        int n_ubatch;
        double n_pass;
    } cases[] = {
        { "kyuz0/amd-r9700-ai-toolboxes docs/results.json", "llama.cpp (rocm7.1.1)", 16384, 0, 1 },
        { "kyuz0/amd-r9700-ai-toolboxes docs/results.json", "llama.cpp (rocm7.1.1)", 16384, 1024, 2 },
        { "kyuz0/amd-r9700-ai-toolboxes docs/results.json", "llama.cpp (rocm7.1.1)", 0, 0, 4 },
        { "kyuz0/amd-r9700-ai-toolboxes docs/results.json", "llama.cpp (Vulkan)", 16384, 0, 4 },
        { "another source", "llama.cpp (rocm7.1.1)", 16384, 0, 4 },
    };
    struct rows x;
    load(&x, "throughput.csv", true);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct measurement m = x.l.row[0];
        struct workload p;
        struct error err = { 0 };
        m.phase = MEASURE_PREFILL;
        m.prompt = 2048;
        m.source = cases[i].source;
        m.engine = cases[i].engine;
        m.context = cases[i].context;
        m.n_ubatch = cases[i].n_ubatch;
        assert_ok(workload_init(x.builder, &m, &p, &err), err);
        assert_near(work_sum(&p, PHASE_PREFILL).n_pass, cases[i].n_pass, 1e-9);
        workload_free(&p);
    }
    unload(&x);
}

/* Rows with few fields are estimated from these: bytes and type, parameters and bytes, copies in a name. */
static void test_sparse_rows(void **state)
{
    (void)state;
    struct rows x;
    struct workload p;
    struct error err = { 0 };
    load(&x, "throughput.csv", true);
    struct measurement m = x.l.row[0];
    m.model = "Unheard of";
    m.params_b = NAN;
    m.weight_gib = 4;
    m.quant = "Q4_0";
    assert_ok(workload_init(x.builder, &m, &p, &err), err);
    assert_string_equal(p.reason, "");
    assert_near(p.model_bytes, 4 * 0x1p30, 0.02);
    assert_near(p.n_params, 4 * 0x1p30 * 8 / 4.5, 0.1);
    workload_free(&p);
    m.engine = "vLLM";
    m.params_b = 13;
    m.quant = "";
    assert_ok(workload_init(x.builder, &m, &p, &err), err);
    assert_near(p.model_bytes, 4 * 0x1p30, 0.02);
    assert_true(p.guesses & GUESS_QUANT && !(p.guesses & GUESS_WEIGHT));
    workload_free(&p);
    m.model = "Unheard-of-8x7B";
    m.params_b = 46.7;
    m.weight_gib = NAN;
    m.quant = "BF16";
    assert_ok(workload_init(x.builder, &m, &p, &err), err);
    assert_true(p.moe && p.guesses & GUESS_ACTIVE);
    assert_near(p.n_active, 12.9e9, 0.15);
    workload_free(&p);
    unload(&x);
}

/* Types whose units a machine lacks are converted: the row has an estimate, and a note. */
static void test_missing_units(void **state)
{
    (void)state;
    static const char csv[] = "hardware,class,mem_bw_gbs_per_device,fp16_bf16_tflops_dense\nPlain GPU,consumer GPU,500,100\n"
                              "No memory,iGPU,,5\nGeForce RTX 4999,,500,\n";
    static const char *const types[] = { "W8A8", "FP8", "NVFP4", "W4A8KV4" };
    struct rows x;
    struct measure_hws hws;
    struct workload p;
    struct error err = { 0 };
    load(&x, "throughput.csv", false);
    assert_ok(measure_hws_parse(&hws, "hw.csv", csv, strlen(csv), &err), err);
    struct workload_builder *builder = workload_builder_new(&hws, NULL, &err);
    struct measurement m = x.l.row[0];
    m.hardware = "Plain GPU";
    m.model = "llama-3-8b";
    m.params_b = m.weight_gib = NAN;
    m.engine = "vLLM";
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        m.quant = types[i];
        assert_ok(workload_init(builder, &m, &p, &err), err);
        assert_string_equal(p.reason, "");
        for (size_t k = 0; k < p.pass[0].n; k++)
            assert_true(p.roofs->peak[p.pass[0].c[k].math].flop_s > 0);
        assert_true(p.guesses & GUESS_PEAK);
        assert_int_equal(p.type_k, strstr(types[i], "KV4") ? DTYPE_Q4_0 : DTYPE_F16); /* by name (55) */
        workload_free(&p);
    }
    m.engine = "TensorRT-LLM"; /* its engines of FP8 have such caches */
    m.quant = "fp8";
    assert_ok(workload_init(builder, &m, &p, &err), err);
    assert_int_equal(p.type_k, DTYPE_FP8);
    workload_free(&p);
    m.quant = "fp16";
    assert_ok(workload_init(builder, &m, &p, &err), err);
    assert_int_equal(p.type_k, DTYPE_F16);
    workload_free(&p);
    m.engine = "vLLM";
    m.quant = "FP8";
    m.hardware = "No memory"; /* as its class has for such a peak: 60 FLOP/B */
    assert_ok(workload_init(builder, &m, &p, &err), err);
    assert_string_equal(p.reason, "");
    assert_near(p.machine->h.mem_bw.value, 5e12 / 60, 1e-9);
    assert_true(p.guesses & GUESS_BANDWIDTH && p.machine->ln_sd > 0.3);
    assert_non_null(strstr(p.machine->note, "unknown bandwidth"));
    assert_string_equal(p.machine->class_name, "iGPU");
    workload_free(&p);
    m.hardware = "GeForce RTX 4999"; /* class by name, not in the file */
    assert_ok(workload_init(builder, &m, &p, &err), err);
    assert_string_equal(p.machine->class_name, "consumer GPU");
    assert_true(p.machine->ln_sd == 0 && p.machine->h.mem_bw.value == 500e9);
    workload_free(&p);
    workload_builder_free(builder);
    measure_hws_free(&hws);
    unload(&x);
}

static void test_ops_and_exchanges(void **state)
{
    (void)state;
    struct rows x;
    load(&x, "gpu_ops.csv", false);
    const struct work_sum s = work_sum(&x.row[0], PHASE_PREFILL);
    assert_true(s.cost.flop == 2.0 * 4096 * 22016 && s.product_weight_bytes == 2.0 * 4096 * 22016);
    unload(&x);
    load(&x, "all_reduce.csv", false);
    assert_true(work_sum(&x.row[1], PHASE_PREFILL).comm_bytes == 67108864);
    assert_true(x.row[1].pass[0].c[0].n_comm == 8);
    unload(&x);
    load(&x, "serving.csv", false);
    for (size_t i = 0; i < x.l.n; i++)
        assert_string_equal(x.row[i].reason, "");
    /* both latencies of a line: a prompt, then a step of the users' sequences */
    assert_true(x.row[1].pass[x.row[1].n_pass - 1].at.n_seq == 8 && x.row[1].layout.tp == 4);
    assert_true(work_sum(&x.row[1], PHASE_DECODE).n_collective > 2 * 79);
    unload(&x);
}

/* Defaults of a server: types of weights and cache, and no more sequences than memory holds. */
static void test_servers(void **state)
{
    (void)state;
    struct rows x;
    struct error err = { 0 };
    load(&x, "serving.csv", false);
    assert_int_equal(x.row[0].type_k, DTYPE_FP8); /* TensorRT-LLM, weights of 8 bits */
    assert_int_equal(x.row[2].type_k, DTYPE_FP8); /* FP4 units */
    assert_string_equal(x.row[4].type, "NVFP4_FFN");
    struct measurement m = *x.row[1].m;
    m.engine = "vllm";
    struct workload p;
    assert_ok(workload_init(x.builder, &m, &p, &err), err);
    assert_int_equal(p.type_k, DTYPE_F16);
    workload_free(&p);
    m = *x.row[3].m; /* two replicas by default */
    assert_true(x.row[3].batch == 64);
    m.decode.workers = 0;
    assert_ok(workload_init(x.builder, &m, &p, &err), err);
    assert_true(p.batch == 32 && (p.guesses & GUESS_BATCH));
    workload_free(&p);
    /* On 4 x 80 GiB 0.9 of what the driver leaves, less 70.6 GB of weights and about 4 GB a device of all else, over 80 layers
     * x 8 heads x 2 x 128 bytes a position, 1024 + 64 positions each. */
    m = *x.row[1].m;
    m.concurrency = 5000;
    assert_ok(workload_init(x.builder, &m, &p, &err), err);
    const double room = 4 * (0.9 * 0.98 * 80 * 0x1p30 - 4e9) - 70.6e9;
    assert_near(p.batch, room / (163840.0 * 1088), 0.05);
    assert_true(p.n_users == 5000 && p.pass[p.n_pass - 1].at.n_seq == p.batch);
    workload_free(&p);
    unload(&x);
}

static const struct work_pass *pass_of(const struct rows *x, size_t i)
{
    assert_string_equal(x->row[i].reason, "");
    return &x->row[i].pass[0];
}

/* A preset's name with other parameters: these are used, with a note. */
static void test_other_size(void **state)
{
    (void)state;
    static const char text[] = "hardware,engine,model,params_b,quant,phase,tokens_per_s\n"
                               "RTX 4090,llama.cpp,Llama-3-8B,70,Q4_K_M,decode,20\n"
                               "RTX 4090,llama.cpp,vicuna-7b-v1.5,30,Q4_K_M,decode,20\n"
                               "RTX 4090,llama.cpp,Llama-3-8B,0.01,Q4_K_M,decode,20\n"
                               "RTX 4090,llama.cpp,Llama-3-8B,8.5,Q4_K_M,decode,20\n"
                               "RTX 4090,llama.cpp,Llama-3-8B,,Q4_K_M,decode,20\n"
                               "RTX 4090,llama.cpp,Something-8B,70,Q4_K_M,decode,20\n";
    static const struct {
        double params;
        const char *preset, *reason, *note;
    } want[] = {
        { 70e9, "", "", "params_b is 70e9 parameters, preset llama-3-8b of that name has 8.03e9: estimated with likely dimensions of 70e9" },
        { 30e9, "", "", "params_b is 30e9 parameters, preset llama-2-7b of that name has 6.738e9: estimated with likely dimensions of 30e9" },
        { NAN, "", "no preset of \"Llama-3-8B\" has 1e+07 parameters, and of others 5e7 to 2e13 are expected; preset llama-3-8b of that name has 8.03e9", "" },
        { 8.03e9, "llama-3-8b", "", "" },
        { 8.03e9, "llama-3-8b", "", "" },
        { 70e9, "", "", "" },
    };
    struct error err = { 0 };
    struct measurements l;
    assert_ok(measure_parse(&l, "text", text, sizeof text - 1, NULL, &err), err);
    struct workload_builder *builder = workload_builder_new(NULL, NULL, &err);
    assert_non_null(builder);
    for (size_t i = 0; i < l.n; i++) {
        struct workload p;
        assert_ok(workload_init(builder, &l.row[i], &p, &err), err);
        assert_string_equal(p.preset, want[i].preset);
        assert_string_equal(p.reason, want[i].reason);
        assert_string_equal(p.note, want[i].note);
        assert_true(isnan(want[i].params) || fabs(p.n_params / want[i].params - 1) < 0.01);
        workload_free(&p);
    }
    workload_builder_free(builder);
    measure_free(&l);
}

/* Unknown ops: products if they have an n, with a note; else no estimate. */
static void test_unknown_ops(void **state)
{
    (void)state;
    static const char text[] = "hardware,model,tp,op,m,k,n,median_ms\n"
                               "a100,Llama-2-7b-hf,1,frobnicate,128,4096,11008,0.1\n"
                               "a100,Llama-2-7b-hf,1,wobble,128,4096,,0.1\n"
                               "a100,Llama-2-7b-hf,1,mlp_up_proj,128,4096,,0.1\n"
                               "a100,Llama-2-7b-hf,1,add,128,4096,4096,0.1\n"
                               "a100,Llama-2-7b-hf,1,mlp_up_proj,128,4096,22016,0.1\n"
                               "a100,Llama-2-7b-hf,1,add,128,4096,,0.1\n";
    static const struct {
        const char *reason, *note;
    } want[] = {
        { "", "unknown product \"frobnicate\": assumed 128 tokens by a [4096, 11008] weight, from m, k and n" },
        { "column \"op\": unknown op \"wobble\"; without n it is not a product", "" },
        { "column \"n\": op \"mlp_up_proj\" is a product of m tokens by a [k, n] weight, and the row has no n", "" },
        { "", "unknown product \"add\": assumed 128 tokens by a [4096, 4096] weight, from m, k and n" },
        { "", "" },
        { "", "" },
    };
    struct error err = { 0 };
    struct measurements l;
    assert_ok(measure_parse(&l, "text", text, sizeof text - 1, NULL, &err), err);
    assert_int_equal(l.n, ARRAY_LEN(want));
    struct workload_builder *builder = workload_builder_new(NULL, NULL, &err);
    assert_non_null(builder);
    for (size_t i = 0; i < l.n; i++) {
        struct workload p;
        assert_ok(workload_init(builder, &l.row[i], &p, &err), err);
        assert_string_equal(p.reason, want[i].reason);
        assert_string_equal(p.note, want[i].note);
        assert_true(*p.reason || p.n_pass == 1);
        workload_free(&p);
    }
    workload_builder_free(builder);
    measure_free(&l);
}

/* A device of four has 8 query heads and 2 of keys, of 128: 512 pairs by 512 threads, then 128 by a quarter of them. (doc/notes/gpu-kernels.md) */
static void test_small_kernels(void **state)
{
    (void)state;
    struct rows x;
    load(&x, "small_kernels.csv", false);
    const struct work_pass *c = pass_of(&x, 4);
    assert_string_equal(c->kernel, "rope");
    assert_true(c->blocks.n == 224 && c->blocks.threads == 512 && c->blocks.trips == 2);
    assert_true(c->blocks.instructions == (16 + 4) * 80 && c->c->cost.act_bytes == 2.0 * 2 * 224 * (1024 + 256));
    c = pass_of(&x, 5); /* 3584 elements by 1024 threads: four times, of which the last is half */
    assert_string_equal(c->kernel, "silu");
    assert_true(c->blocks.n == 224 && c->blocks.threads == 1024 && c->blocks.trips == 4 && c->blocks.instructions == 112 * 60);
    assert_true(c->c->cost.act_bytes == 2.0 * 3 * 224 * 3584 && c->blocks.footprint_bytes == c->c->cost.act_bytes);
    c = pass_of(&x, 6);
    assert_string_equal(c->kernel, "rms_norm");
    assert_true(c->blocks.trips == 4 && c->c->cost.act_bytes == 2.0 * 2 * 224 * 4096);
    c = pass_of(&x, 7); /* 512 elements a block */
    assert_string_equal(c->kernel, "add");
    assert_true(c->c->count == 1 && c->blocks.n == 224 * 8 && c->blocks.threads == 128 && c->c->cost.act_bytes == 2.0 * 3 * 224 * 4096);
    /* phi-2: no gate, one LayerNorm before parallel attention and feed-forward, and two additions after them */
    c = pass_of(&x, 10);
    assert_string_equal(c->kernel, "gelu");
    assert_true(c->c->cost.act_bytes == 2.0 * 2 * 224 * 10240 && c->blocks.n == 224 * 20);
    c = pass_of(&x, 11);
    assert_string_equal(c->kernel, "layer_norm");
    assert_true(c->blocks.threads == 128 && c->blocks.trips == 10);
    assert_true(pass_of(&x, 12)->c->count == 2);
    /* no row of its attention: keys as wide as queries */
    assert_true(pass_of(&x, 13)->c->cost.act_bytes == 2.0 * 2 * 224 * (2560 + 2560));
    /* the machine's multiprocessors */
    assert_true(x.row[0].roofs->units.n == 108 && x.row[0].roofs->units.threads == 2048 && x.row[0].roofs->units.cache_bytes == 40 * 0x1p20);
    unload(&x);
}

/* NULL: none. */
static const struct score_group *group_named(const struct score_groups *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->g[i].name, name) == 0)
            return &l->g[i];
    return NULL;
}

/* ---- a time model that watches what it is shown ---------------------------------------------------------- */

static void test_figures(void **state)
{
    (void)state;
    struct rows x;
    struct score_groups g;
    struct error err = { 0 };
    const struct score_options o = { .model = &watcher };
    load(&x, "throughput.csv", true);
    assert_ok(score_rows(x.scored, x.row, x.l.n, &o, &err), err);
    assert_int_equal(watch_rows, 0); /* nothing is refitted */
    assert_ok(score_groups_init(&g, x.scored, x.l.n, NULL, 0, &err), err);
    assert_string_equal(g.g[0].name, "all");
    assert_int_equal(g.g[0].rows, 7);
    assert_int_equal(g.g[0].unpriced, 1);
    /* decode of the 4090: 100 tokens/s predicted, 150 measured; [83, 125] does not hold it */
    const struct score_group *a = group_named(&g, "class=consumer GPU,hardware=NVIDIA RTX 4090,phase=decode");
    assert_non_null(a);
    assert_near(a->bias, -1.0 / 3, 1e-9);
    assert_near(a->mape, 1.0 / 3, 1e-9);
    assert_true(a->coverage90 == 0 && a->rows == 1);
    assert_near(a->half90, (125 - 250.0 / 3) / 200, 1e-9);
    /* without a price: 100 % */
    a = group_named(&g, "hardware=Example Box Y2");
    assert_true(a && a->unpriced == 1 && a->mape == 1 && a->median_ape == 1 && a->bias == -1 && a->coverage90 == 0 && isnan(a->half90));
    /* MoE decode: 100 predicted, 80 measured: +25 %, and 83 is its lower end */
    a = group_named(&g, "phase=decode,kind=moe,clean=yes");
    assert_true(a && a->rows == 1);
    assert_near(a->bias, 0.25, 1e-9);
    assert_true(group_named(&g, "engine=llama.cpp") && group_named(&g, "engine=llama.cpp-cuda"));
    assert_true(group_named(&g, "source=example/bench") && group_named(&g, "source=example/bench README.md"));
    assert_null(group_named(&g, "clean=no"));
    /* the community's row and those end to end are not clean */
    assert_int_equal(group_named(&g, "clean=yes")->rows, 4);
    score_groups_free(&g);
    /* required keys, any number in any order, both columns of an engine; a source is whole however long */
    unsigned by[2];
    char source[1200];
    struct measurement long_one = x.l.row[0];
    snprintf(source, sizeof source, "source=%01000d", 0);
    long_one.source = source + 7;
    x.row[0].m = &long_one;
    assert_ok(score_keys_find("clean,phase,kind,engine,class", &by[0], &err), err);
    assert_ok(score_keys_find("source", &by[1], &err), err);
    assert_ok(score_groups_init(&g, x.scored, x.l.n, by, 2, &err), err);
    assert_string_equal(g.g[0].name, "all");
    a = group_named(&g, "class=consumer GPU,engine=llama.cpp,phase=decode,kind=dense,clean=yes");
    assert_true(a && a->n_key == 5);
    assert_non_null(group_named(&g, "class=consumer GPU,engine=llama.cpp-cuda,phase=decode,kind=dense,clean=yes"));
    assert_true(group_named(&g, source) && group_named(&g, source)->rows == 1);
    assert_null(group_named(&g, "phase=decode"));
    for (size_t i = 1; i < g.n; i++)
        assert_true(g.g[i].n_key == 5 || g.g[i].n_key == 1);
    score_groups_free(&g);
    assert_fails(score_keys_find("class,colour", &by[0], &err), err, "found \"colour\"");
    assert_fails(score_keys_find("class,op,class", &by[0], &err), err, "class stands twice");
    assert_fails(score_keys_find("", &by[0], &err), err, "found \"\"");
    unload(&x);
}

static void test_leave_out(void **state)
{
    (void)state;
    struct rows x;
    struct error err = { 0 };
    struct score_options o = { .model = &watcher, .leave = LEAVE_HARDWARE };
    load(&x, "throughput.csv", true);
    assert_ok(score_rows(x.scored, x.row, x.l.n, &o, &err), err);
    for (size_t i = 0; i < 6; i++)
        assert_true(x.scored[i].priced);
    o.leave = LEAVE_TOPOLOGY;
    assert_fails(score_rows(x.scored, x.row, x.l.n, &o, &err), err, "only all-reduces");
    unload(&x);
    load(&x, "all_reduce.csv", false);
    assert_ok(score_rows(x.scored, x.row, x.l.n, &o, &err), err);
    assert_int_equal(watch_rows, 2); /* the other two */
    assert_fails(leave_out_find("colour", &o.leave, &err), err, "expected hardware, model, engine, topology, source, generation, class or date, found");
    unload(&x);
}

/* ---- the keys of --leave-out ------------------------------------------------------------------------------- */

/* Made in two halves of 2025, at an unknown time, and by a build of April 2026; two publishers, two designs, two classes. */
static const char dated[] =
    "id,source,hardware,n_devices,engine,model,params_b,quant,weight_gib,phase,prompt_len,context_len,batch,tokens_per_s,date_or_build,notes\n"
    "a,org/a x.md,NVIDIA RTX 4090,1,llama.cpp,Llama-3-8B,8.03,Q4_K_M,,decode,0,64,1,100,2025-02-11,tags=\n"
    "b,org/a y.md,NVIDIA RTX 3090,1,llama.cpp,Llama-3-8B,8.03,Q4_K_M,,decode,0,64,1,101,2025-07,tags=\n"
    "c,org/b,NVIDIA RTX 4090,1,llama.cpp,Llama-3-8B,8.03,Q4_K_M,,decode,0,64,1,102,2025-12-31,tags=\n"
    "d,org/b,NVIDIA A100 80GB SXM,1,llama.cpp,Llama-3-8B,8.03,Q4_K_M,,decode,0,64,1,103,,tags=\n"
    "e,org/c,NVIDIA A100 80GB SXM,1,llama.cpp,Llama-3-8B,8.03,Q4_K_M,,decode,0,64,1,104,b8833,tags=\n";
enum { N_DATED = 5 };

/* What each fit saw: ids of the rows of the file, and after a blank of those of hwprofiles/stacks. */
struct shown {
    char left_out[64], ids[64];
};
static struct shown shown[8];
static size_t n_shown;

static int list_fit(void **params, const struct workload *const *rows, size_t n, const struct fit_scope *scope, struct error *err)
{
    struct shown *s = &shown[n_shown++];
    char *at = s->ids;
    (void)err;
    assert_true(n_shown <= ARRAY_LEN(shown));
    snprintf(s->left_out, sizeof s->left_out, "%s", scope->left_out);
    for (size_t i = 0; i < n; i++)
        *at++ = *rows[i]->m->id;
    *at++ = ' ';
    for (size_t i = 0; i < scope->n_reference_rows; i++)
        *at++ = *scope->reference_rows[i]->m->id;
    *at = 0;
    *params = malloc(1);
    return *params ? 0 : -1;
}

static int list_predict(const void *params, const struct workload *row, struct estimate *out, struct error *err)
{
    (void)params, (void)row, (void)err;
    *out = (struct estimate){ 0.01, 0.008, 0.012, NULL };
    return 0;
}

/* Each group of a key, in order, and the rows that its fit saw; of a date what is later, of the same half or undated is hidden. */
static void test_keys(void **state)
{
    (void)state;
    static const struct time_model list = { "list", list_fit, list_predict, free };
    static const struct {
        const char *key, *group[N_DATED];
        struct shown shown[4];
    } keys[] = {
        { "source", { "org/a", "org/a", "org/b", "org/b", "org/c" }, { { "org/a", "cde CDE" }, { "org/b", "abe ABE" }, { "org/c", "abcd ABCD" } } },
        { "generation", { "Ada", "Ampere", "Ada", "Ampere", "Ampere" }, { { "Ada", "bde BDE" }, { "Ampere", "ac AC" } } },
        { "class",
          { "consumer GPU", "consumer GPU", "consumer GPU", "datacenter GPU", "datacenter GPU" },
          { { "consumer GPU", "de DE" }, { "datacenter GPU", "abc ABC" } } },
        { "date", { "2025-1", "2025-2", "2025-2", "", "2026-1" }, { { "2025-1", " " }, { "2025-2", "a A" }, { "2026-1", "abc ABC" } } },
    };
    struct rows x, others;
    struct error err = { 0 };
    load_text(&x, dated);
    load_text(&others, dated);
    for (size_t i = 0; i < N_DATED; i++)
        others.l.row[i].id = &"A\0B\0C\0D\0E"[2 * i];
    for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
        struct score_options o = { .model = &list, .reference_rows = others.row, .n_reference_rows = N_DATED };
        char text[256];
        assert_ok(leave_out_find(keys[k].key, &o.leave, &err), err);
        assert_string_equal(leave_out_name(o.leave), keys[k].key);
        n_shown = 0;
        assert_ok(score_rows(x.scored, x.row, x.l.n, &o, &err), err);
        for (size_t i = 0; i < N_DATED; i++) {
            assert_string_equal(left_out_text(&x.row[i], o.leave, text, sizeof text), keys[k].group[i]);
            assert_true(x.scored[i].unstated == !*keys[k].group[i] && x.scored[i].priced == !x.scored[i].unstated);
        }
        for (size_t i = 0; i < n_shown || (i < ARRAY_LEN(keys[k].shown) && *keys[k].shown[i].left_out); i++)
            if (i >= n_shown || strcmp(shown[i].left_out, keys[k].shown[i].left_out) != 0 || strcmp(shown[i].ids, keys[k].shown[i].ids) != 0)
                fail_msg("without %s \"%s\": a fit saw \"%s\"", keys[k].key, shown[i].left_out, shown[i].ids);
    }
    unload(&others);
    unload(&x);
}

/* Rows that state no value of a key are not scored, but where they have no estimate anyway: an error of -1. */
static void test_no_value(void **state)
{
    (void)state;
    struct rows x;
    struct error err = { 0 };
    const struct score_options o = { .model = &watcher, .leave = LEAVE_CLASS };
    load(&x, "throughput.csv", true);
    assert_ok(score_rows(x.scored, x.row, x.l.n, &o, &err), err);
    assert_string_equal(x.row[6].machine->class_name, "");
    for (size_t i = 0; i < x.l.n; i++)
        assert_true(is_scored_row(&x.scored[i]) && x.scored[i].priced == (i < 6));
    unload(&x);
}

/* One fraction of the roofs a phase, the median's: 125 of 100, 125, 200 tokens/s, and on the slower memory as much less. (61) */
static void test_naive(void **state)
{
    (void)state;
    static const char text[] =
        "hardware,engine,model,quant,phase,prompt_len,context_len,batch,tokens_per_s\n"
        "NVIDIA RTX 4090,llama.cpp,Llama-3-8B,Q4_K_M,decode,0,64,1,100\n"
        "NVIDIA RTX 4090,llama.cpp,Llama-3-8B,Q4_K_M,decode,0,64,1,125\n"
        "NVIDIA RTX 4090,llama.cpp,Llama-3-8B,Q4_K_M,decode,0,64,1,200\n"
        "NVIDIA RTX 3090,llama.cpp,Llama-3-8B,Q4_K_M,decode,0,64,1,116.096\n" /* 125 x 936.2 / 1008 GB/s */
        "NVIDIA RTX 4090,llama.cpp,Llama-3-8B,Q4_K_M,prefill,512,0,1,9000\n"
        "NVIDIA RTX 4090,llama.cpp,Unheard-of-8B,,decode,0,64,1,50\n";
    static const double error[] = { 0.25, 0, -0.375, 0, 0 };
    struct rows x;
    struct score_groups g;
    struct error err = { 0 };
    const struct score_options o = { .model = &watcher };
    load_text(&x, text);
    x.row[5].n_pass = 0; /* no price */
    snprintf(x.row[5].reason, sizeof x.row[5].reason, "none");
    assert_ok(score_rows(x.scored, x.row, x.l.n, &o, &err), err);
    for (size_t i = 0; i < ARRAY_LEN(error); i++)
        if (!(fabs(x.scored[i].naive_error - error[i]) < 2e-3))
            fail_msg("row %zu: off by %g", i, x.scored[i].naive_error);
    assert_true(isnan(x.scored[5].naive_error));
    assert_ok(score_groups_init(&g, x.scored, x.l.n, NULL, 0, &err), err);
    assert_near(group_named(&g, "phase=decode")->naive_ape, 0.125, 0.01);
    assert_true(group_named(&g, "phase=prefill")->naive_ape == 0);
    score_groups_free(&g);
    x.row[5].n_pass = 1;
    unload(&x);
    load(&x, "gpu_ops.csv", false);
    assert_ok(score_rows(x.scored, x.row, x.l.n, &o, &err), err);
    assert_ok(score_groups_init(&g, x.scored, x.l.n, NULL, 0, &err), err);
    assert_true(isnan(g.g[0].naive_ape)); /* no rates */
    score_groups_free(&g);
    unload(&x);
}

/* The lowest ids: numbers as numbers, before texts as texts, before none in the file's order. */
static void test_anchor_ids(void **state)
{
    (void)state;
    static const char *const ids[] = { "", "b-10", "10", "b-9", "0009", "9", "99999999999999999999998", "" };
    static const size_t order[] = { 4, 5, 2, 6, 1, 3, 0, 7 };
    struct rows x;
    struct error err = { 0 };
    struct measurement m[ARRAY_LEN(ids)];
    struct workload p[ARRAY_LEN(ids)];
    struct scored out[ARRAY_LEN(ids)];
    load(&x, "throughput.csv", false);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        m[i] = x.l.row[0];
        m[i].id = ids[i];
        m[i].line = 1; /* JSON may have no other */
        p[i] = x.row[0];
        p[i].m = &m[i];
    }
    for (size_t n = 0; n <= ARRAY_LEN(ids); n++) {
        const struct score_options o = { .model = &watcher, .n_anchor = (int)n };
        assert_ok(score_rows(out, p, ARRAY_LEN(ids), &o, &err), err);
        for (size_t i = 0; i < ARRAY_LEN(ids); i++)
            if (out[order[i]].anchor != (i < n))
                fail_msg("%zu shown: \"%s\" is %sone", n, ids[order[i]], out[order[i]].anchor ? "" : "not ");
    }
    unload(&x);
}

static void test_anchors(void **state)
{
    (void)state;
    struct rows x;
    struct score_groups g;
    struct error err = { 0 };
    struct score_options o = { .model = &watcher, .n_anchor = 1 };
    load(&x, "gpu_ops.csv", false);
    assert_ok(score_rows(x.scored, x.row, x.l.n, &o, &err), err);
    assert_true(x.scored[1].anchor && x.row[1].m->m == 2048); /* the largest m */
    assert_true(!x.scored[0].anchor && !x.scored[2].anchor && !x.scored[3].anchor);
    assert_ok(score_groups_init(&g, x.scored, x.l.n, NULL, 0, &err), err);
    assert_int_equal(g.g[0].rows, 3); /* shown, not scored */
    assert_int_equal(watch_anchors, 1);
    score_groups_free(&g);
    unload(&x);
    load(&x, "serving.csv", false);
    assert_ok(score_rows(x.scored, x.row, x.l.n, &o, &err), err);
    /* both latencies of s-1 and of s-2, the lowest ids of their machines */
    for (size_t i = 0; i < x.l.n; i++)
        assert_true(x.scored[i].anchor == (i < 4));
    unload(&x);
}

/* Prices each of n rows, and looks at it. */
static void price_each(const char *text, size_t size, size_t n, void (*look)(const struct workload *p, size_t i))
{
    struct error err = { 0 };
    struct measurements l;
    assert_ok(measure_parse(&l, "text", text, size, NULL, &err), err);
    assert_int_equal(l.n, n);
    struct workload_builder *builder = workload_builder_new(NULL, NULL, &err);
    assert_non_null(builder);
    for (size_t i = 0; i < l.n; i++) {
        struct workload p;
        assert_ok(workload_init(builder, &l.row[i], &p, &err), err);
        assert_string_equal(p.reason, "");
        look(&p, i);
        workload_free(&p);
    }
    workload_builder_free(builder);
    measure_free(&l);
}

/* Rows of one machine, number of threads and link have one set of roofs; those of other threads another. The work of one line's two
 * latencies is there once, and freed once. */
static void test_rows_share(void **state)
{
    (void)state;
    struct rows x;
    struct error err = { 0 };
    struct workload same, other;
    load(&x, "throughput.csv", true);
    assert_ok(workload_init(x.builder, &x.l.row[0], &same, &err), err);
    assert_ptr_equal(same.roofs, x.row[0].roofs);
    assert_ptr_not_equal(same.pass, x.row[0].pass);
    workload_share_passes(&same, &x.row[0]);
    assert_ptr_equal(same.pass, x.row[0].pass);
    struct measurement m = x.l.row[0];
    m.n_threads = 3;
    assert_ok(workload_init(x.builder, &m, &other, &err), err);
    assert_ptr_not_equal(other.roofs, x.row[0].roofs);
    m.context += 1000;
    workload_free(&other);
    assert_ok(workload_init(x.builder, &m, &other, &err), err);
    workload_share_passes(&other, &x.row[0]); /* another context: work of its own */
    assert_ptr_not_equal(other.pass, x.row[0].pass);
    workload_free(&other);
    workload_free(&same);
    assert_true(x.row[0].n_pass > 0 && x.row[0].pass[0].n > 0);
    unload(&x);
}

/* A bridge joins two; more devices, and rows that state it, use the bus. */
static void check_link(const struct workload *p, size_t i)
{
    (void)i;
    const struct hwprofile *h = &p->machine->h;
    assert_true(h->n_link == 2 && h->link[0].bytes_s.value > h->link[1].bytes_s.value);
    assert_true(p->roofs->link_bytes_s == h->link[strcmp(p->m->id, "bus") == 0].bytes_s.value);
}

static void test_links(void **state)
{
    (void)state;
    static const char text[] =
        "id,source,hardware,n_devices,engine,model,params_b,quant,weight_gib,phase,prompt_len,context_len,batch,tokens_per_s,date_or_build,notes\n"
        "bridge,x,RTX 3090,2,vLLM 0.9,Llama-3-8B,8.03,BF16,,decode,0,64,1,80,2026,tags=tensor_parallel\n"
        "bus,x,RTX 3090,4,vLLM 0.9,Llama-3-8B,8.03,BF16,,decode,0,64,1,80,2026,tags=tensor_parallel\n"
        "bus,x,RTX 3090,2,vLLM 0.9,Llama-3-8B,8.03,BF16,,decode,0,64,1,80,2026,\"tags=tensor_parallel,multi_gpu_pcie\"\n"
        "bus,x,RTX 3090,3,vLLM 0.9,Llama-3-8B,8.03,BF16,,decode,0,64,1,80,2026,tags=tensor_parallel\n"
        "bus,x,RTX 3090,16,vLLM 0.9,Llama-3-8B,8.03,BF16,,decode,0,64,1,80,2026,tags=tensor_parallel\n"
        "bridge,x,RTX 3090,4,llama.cpp,Llama-3-8B,8.03,F16,,decode,0,64,1,50,2026,tags=layer_split\n";
    price_each(text, sizeof text - 1, 6, check_link);
}

static double bits[10];
static void keep_bits(const struct workload *p, size_t i)
{
    bits[i] = p->bits_weight;
}

/* Experts' type is nearly all of a mixture; a model that has none does not take it. */
static void test_experts_type(void **state)
{
    (void)state;
    static const char text[] =
        "id,silicon_data_source,backend,backend_version,model_path,system,precision,mode,isl,osl,gemm_quant_mode,moe_quant_mode,batch_size,tp_size,pp_size,attention_dp_size,moe_tp_size,moe_ep_size,prefill_batch_size,prefill_num_workers,prefill_tp_size,prefill_pp_size,prefill_attention_dp_size,prefill_moe_tp_size,prefill_moe_ep_size,decode_batch_size,decode_num_workers,decode_tp_size,decode_pp_size,decode_attention_dp_size,decode_moe_tp_size,decode_moe_ep_size,silicon_ttft_ms,silicon_tpot_ms\n"
        "a,x,vllm,0.19,deepseek-ai/DeepSeek-R1,b200_sxm,fp4,agg,1024,1024,nvfp4,nvfp4,64,8,1,1,1,8,,,,,,,,,,,,,,,400,24\n"
        "a,x,vllm,0.19,deepseek-ai/DeepSeek-R1,b200_sxm,bf16,agg,1024,1024,bf16,nvfp4,64,8,1,1,1,8,,,,,,,,,,,,,,,400,24\n"
        "a,x,vllm,0.19,deepseek-ai/DeepSeek-R1,b200_sxm,bf16,agg,1024,1024,bf16,bf16,64,8,1,1,1,8,,,,,,,,,,,,,,,400,24\n"
        "a,x,vllm,0.19,meta-llama/Llama-3.1-70B,b200_sxm,,agg,1024,1024,bf16,nvfp4,64,8,1,1,1,1,,,,,,,,,,,,,,,400,24\n"
        "a,x,vllm,0.19,deepseek-ai/DeepSeek-R1,b200_sxm,fp4,agg,1024,1024,none,odd,64,8,1,1,1,8,,,,,,,,,,,,,,,400,24\n";
    price_each(text, sizeof text - 1, 10, keep_bits); /* two latencies a line */
    assert_true(bits[0] < 8 && bits[2] == bits[0]);
    assert_true(bits[4] > 15 && bits[6] > 15 && bits[8] == bits[0]);
}

static void check_batch(const struct workload *p, size_t i)
{
    assert_true(p->batch == (i ? 256 : 200)); /* vLLM's max_num_seqs */
}

/* Concurrent requests as stated by the row, where the model leaves no room in the memory. */
static void test_stated_batch(void **state)
{
    (void)state;
    static const char text[] =
        "id,source,hardware,n_devices,engine,model,params_b,quant,weight_gib,phase,prompt_len,context_len,batch,tokens_per_s,date_or_build,notes\n"
        "a,x,RTX 4090,1,vLLM 0.9,Llama-3-70B,70.6,BF16,,serving,128,256,200,900,2026,tags=\n"
        "b,x,RTX 4090,1,vLLM 0.9,Llama-3-70B,70.6,BF16,,serving,128,256,999,900,2026,tags=\n";
    price_each(text, sizeof text - 1, 2, check_batch);
}

/* Twice what memory or units do is none of the machine; what caches, pipelines of devices and sums of 16 bits may do is. (68) */
static void test_impossible(void **state)
{
    (void)state;
    static const char text[] =
        "id,source,hardware,n_devices,engine,model,params_b,quant,weight_gib,phase,prompt_len,context_len,batch,tokens_per_s,date_or_build,notes\n"
        "y,x,RTX 4090,1,llama.cpp,Llama-3-8B,8.03,Q4_K_M,,decode,0,64,1,300,2026,tags=\n"
        "n,x,RTX 4090,1,llama.cpp,Llama-3-8B,8.03,Q4_K_M,,decode,0,64,1,210,2026,tags=\n"
        "n,x,RTX 4090,1,llama.cpp,Llama-3-8B,8.03,Q4_K_M,,decode,0,64,4,840,2026,tags=\n"
        "n,x,RTX 4090,1,llama.cpp,smollm2-135m,,Q8_0,,decode,0,64,1,12000,2026,tags=\n"
        "y,x,H100 SXM,1,vLLM 0.9,Llama-3-8B,8.03,BF16,,prefill,2048,0,1,75000,2026,tags=\n"
        "n,x,RTX 4090,1,llama.cpp,Llama-3-8B,8.03,F16,,prefill,512,0,1,19000,2026,tags=\n"
        "y,x,RTX 4090,1,llama.cpp,Llama-3-8B,8.03,F16,,prefill,512,0,1,25000,2026,tags=\n"
        "n,x,RTX 4090,4,llama.cpp,Llama-3-8B,8.03,F16,,prefill,4096,0,1,60000,2026,tags=layer_split\n"
        "y,x,RTX 4090,4,llama.cpp,Llama-3-8B,8.03,F16,,decode,0,64,1,150,2026,tags=layer_split\n"
        "y,x,H100 SXM,1,vLLM 0.9,Llama-3-8B,8.03,BF16,,decode,0,32768,16,1200,2026,tags=\n";
    struct error err = { 0 };
    struct measurements l;
    struct roof_violation x;
    assert_ok(measure_parse(&l, "text", text, sizeof text - 1, NULL, &err), err);
    struct workload_builder *builder = workload_builder_new(NULL, NULL, &err);
    assert_non_null(builder);
    for (size_t i = 0; i < l.n; i++) {
        struct workload p;
        char what[256];
        assert_ok(workload_init(builder, &l.row[i], &p, &err), err);
        assert_string_equal(p.reason, "");
        if (workload_exceeds_roof(&p, &x) != (*l.row[i].id == 'y'))
            fail_msg("line %zu: %s", l.row[i].line, roof_violation_text(&p, what, sizeof what));
        if (i == 0) /* 300 steps of 4.63 GB */
            assert_near(x.done_s, 300 * 4.63e9, 0.01);
        l.row[i].ln_sd = 0.1; /* a server's: who is in a step is not known, its weights are */
        assert_true(workload_exceeds_roof(&p, &x) == (*l.row[i].id == 'y' && l.row[i].phase == MEASURE_DECODE && i + 1 < l.n));
        workload_free(&p);
    }
    workload_builder_free(builder);
    measure_free(&l);
}

/* A server's time between tokens is a step and its share of the others' prompts; a batch of requests its prompts and its steps. (69) */
static void test_steps(void **state)
{
    (void)state;
    static const char serve[] = "{\"model_id\": \"llama-3.1-8b\", \"completed\": 100, \"total_input_tokens\": 102400, \"total_output_tokens\": 12900, \"duration\": 40, "
                                "\"max_concurrency\": %d, \"mean_ttft_ms\": %g, \"mean_tpot_ms\": %g}";
    static const char *const latency = "{\"avg_latency\": 1.6, \"latencies\": [1.6]}";
    const struct { int users; double ttft_ms, tpot_ms; bool step, prompt; } c[] = {
        { 1, 200, 10, true, true }, { 1, 60, 10, true, false }, { 16, 120, 20, true, false }, { 64, 120, 30, false, false },
    };
    struct error err = { 0 };
    const struct measure_context x = { .hardware = "h100-sxm", .model = "llama-3.1-8b" };
    struct workload_builder *builder = workload_builder_new(NULL, NULL, &err);
    assert_non_null(builder);
    for (size_t i = 0; i < ARRAY_LEN(c); i++) {
        char text[512];
        struct measurements l;
        struct measurement m;
        struct workload p;
        const int n = snprintf(text, sizeof text, serve, c[i].users, c[i].ttft_ms, c[i].tpot_ms);
        assert_ok(measure_parse(&l, "text", text, (size_t)n, &x, &err), err);
        assert_int_equal(l.n, 2);
        assert_ok(workload_init(builder, &l.row[0], &p, &err), err);
        assert_true(!workload_as_rate(&p, &m) == c[i].prompt);
        if (c[i].prompt)
            assert_true(m.phase == MEASURE_PREFILL && m.value == 1024 / 0.2 && m.ln_sd > 0.25 && m.ln_sd < 0.26);
        workload_free(&p);
        assert_ok(workload_init(builder, &l.row[1], &p, &err), err);
        assert_true(!workload_as_rate(&p, &m) == c[i].step);
        if (c[i].users == 1)
            assert_true(m.phase == MEASURE_DECODE && fabs(m.value - 100) < 1e-9 && m.batch == 1 && m.ln_sd == 0.05 && m.context == 1024 + 64.5);
        if (c[i].users == 16) /* a prompt at 989 TFLOP/s is 2.86 steps of 15 GB and 2.3 GB of keys at 3.35 TB/s; 15 in 128 steps */
            assert_near(m.value, 16 / 0.02 * (1 + 2.86 * 15 / 128), 0.002);
        workload_free(&p);
        measure_free(&l);
    }
    struct measurements l;
    struct measurement m;
    struct workload p;
    assert_ok(measure_parse(&l, "text", latency, strlen(latency), &x, &err), err);
    assert_ok(workload_init(builder, &l.row[0], &p, &err), err);
    assert_null(workload_as_rate(&p, &m)); /* 8 prompts of 32 tokens are one step of 128 */
    assert_near(m.value, 8 * 128 / 1.6, 0.01);
    assert_true(m.phase == MEASURE_DECODE && m.batch == 8);
    workload_free(&p);
    measure_free(&l);
    workload_builder_free(builder);
    struct rows y;
    load(&y, "serving.csv", false);
    for (size_t i = 2; i < y.l.n; i++) /* experts spread over devices, copies: no rate is of that */
        assert_non_null(workload_as_rate(&y.row[i], &m));
    assert_true(!workload_as_rate(&y.row[1], &m) && m.n_devices == 4 && m.tags & TAG_TENSOR_PARALLEL);
    unload(&y);
}

static void test_shared(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        double unpriced; /* at most */
    } files[] = { { "throughput.csv", 0.10 }, { "throughput_core.csv", 0.01 }, { "gpu_ops.csv", 0 }, { "all_reduce.csv", 0 } };
    const char *shared = shared_dir();
    if (!shared) {
        print_message("no shared data: skipped\n");
        skip();
    }
    char path[4400];
    struct error err = { 0 };
    struct measure_hws hws;
    snprintf(path, sizeof path, "%s/data/measurements/hardware.csv", shared);
    assert_ok(measure_hws_load(&hws, path, &err), err);
    struct workload_builder *p = workload_builder_new(&hws, NULL, &err);
    const size_t step = getenv("ROOFCAST_SANITIZED") ? 5 : 1;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct measurements l;
        size_t unpriced = 0, n = 0;
        snprintf(path, sizeof path, "%s/data/measurements/%s", shared, files[i].file);
        assert_ok(measure_load(&l, path, NULL, &err), err);
        for (size_t k = 0; k < l.n; k += step, n++) {
            struct workload row;
            assert_ok(workload_init(p, &l.row[k], &row, &err), err);
            unpriced += row.reason[0] != 0;
            workload_free(&row);
        }
        if ((double)unpriced > files[i].unpriced * (double)n)
            fail_msg("%s: %zu of %zu rows have no price", files[i].file, unpriced, n);
        measure_free(&l);
    }
    workload_builder_free(p);
    measure_hws_free(&hws);
}

/* DeepSeek-V2-Lite, a prompt of 512: llama.cpp multiplies 16 heads by the latent cache, 2 x 16 x (576 + 512) FLOP a pair; vLLM expands
 * it to heads of 192 and 128. Pairs: 512 x 513 / 2 in each of 27 layers. */
static void test_latent(void **state)
{
    (void)state;
    static const char text[] =
        "id,source,hardware,n_devices,engine,model,params_b,quant,weight_gib,phase,prompt_len,context_len,batch,tokens_per_s,date_or_build,notes\n"
        "a,x,NVIDIA RTX 4090,1,llama.cpp,DeepSeek-V2-Lite,15.71,F16,,prefill,512,0,1,1000,2025-06,tags=moe\n"
        "b,x,NVIDIA RTX 4090,1,vLLM 0.9,DeepSeek-V2-Lite,15.71,F16,,prefill,512,0,1,1000,2025-06,tags=moe\n";
    static const double a_pair[] = { 2 * 16 * (576 + 512), 2 * 16 * (192 + 128) };
    struct measurements l;
    struct error err = { 0 };
    environment_set_dirs(data_dirs());
    environment_set_dirs(data_dirs());
    assert_ok(measure_parse(&l, "text", text, sizeof text - 1, NULL, &err), err);
    struct workload_builder *builder = workload_builder_new(NULL, NULL, &err);
    assert_non_null(builder);
    for (size_t i = 0; i < 2; i++) {
        struct workload p;
        double flop = 0;
        assert_ok(workload_init(builder, &l.row[i], &p, &err), err);
        assert_string_equal(p.preset, "deepseek-v2-lite");
        for (size_t k = 0; k < p.pass[0].n; k++)
            flop += p.pass[0].c[k].kind == OP_ATTENTION ? p.pass[0].c[k].count * p.pass[0].c[k].cost.flop : 0;
        assert_near(flop, 27 * a_pair[i] * 512 * 513 / 2, 1e-9);
        workload_free(&p);
    }
    workload_builder_free(builder);
    measure_free(&l);
}

int main(void)
{
    environment_set_dirs(data_dirs());
    environment_set_dirs(data_dirs());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode_work), cmocka_unit_test(test_machines), cmocka_unit_test(test_gpu_in_processor), cmocka_unit_test(test_guessed_machines),
        cmocka_unit_test(test_guessed_models), cmocka_unit_test(test_stated_parameters),
        cmocka_unit_test(test_small_kernels), cmocka_unit_test(test_unknown_ops), cmocka_unit_test(test_other_size),   cmocka_unit_test(test_sparse_rows),  cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_missing_units),
        cmocka_unit_test(test_ops_and_exchanges), cmocka_unit_test(test_servers), cmocka_unit_test(test_figures), cmocka_unit_test(test_leave_out),
        cmocka_unit_test(test_keys), cmocka_unit_test(test_no_value), cmocka_unit_test(test_naive),
        cmocka_unit_test(test_anchor_ids), cmocka_unit_test(test_anchors), cmocka_unit_test(test_impossible), cmocka_unit_test(test_links), cmocka_unit_test(test_experts_type),
        cmocka_unit_test(test_stated_batch), cmocka_unit_test(test_steps), cmocka_unit_test(test_latent), cmocka_unit_test(test_shared),
        cmocka_unit_test(test_rows_share), cmocka_unit_test(test_long_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
