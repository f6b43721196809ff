/* hwprofile: every shipped profile, profiles by hand, hostile ones, names, round trip,
 * topologies. */
#include "base/environment.h"
#include "../test.h"
#include "hwprofile/hwprofile.h"
#include <math.h>
#include <unistd.h>

static const char *dirs[2];

/* The example of doc/formats.md: a GPU from its datasheet. */
static const char ten_lines[] =
    "{\n"
    "  \"schema\": \"roofcast.hwprofile\", \"version\": 1,\n"
    "  \"name\": \"Acme X1\", \"kind\": \"gpu\",\n"
    "  \"spec\": {\n"
    "    \"memory_bandwidth\": { \"value\": \"2 TB/s\", \"source\": \"datasheet\" },\n"
    "    \"peaks\": {\n"
    "      \"fp16\": { \"value\": 500, \"unit\": \"TFLOP/s\", \"source\": \"datasheet, "
    "dense\" }\n"
    "    }\n"
    "  }\n"
    "}\n";

static int parse(struct hwprofile *h, const char *text, struct error *err)
{
    return hwprofile_parse(h, "t/x.json", text, strlen(text), err);
}

/* A profile with `spec` as its spec object. */
static const char *with_spec(const char *spec)
{
    static char text[4096];
    snprintf(text, sizeof text,
             "{\"schema\":\"roofcast.hwprofile\",\"version\":1,\"name\":\"X\",\"kind\":"
             "\"gpu\",\"spec\":%s}",
             spec);
    return text;
}

static const char *with_extra(const char *fields)
{
    static char text[4096];
    snprintf(text, sizeof text,
             "{\"schema\":\"roofcast.hwprofile\",\"version\":1,\"name\":\"X\",\"kind\":"
             "\"cpu\",\"spec\":"
             "{\"memory_bandwidth\":\"50 GB/s\",\"peaks\":{\"fp32\":\"1 TFLOP/s\"}},%s}",
             fields);
    return text;
}

static void check_value(const struct hw_value *v, const char *what, const char *id, bool needed)
{
    if (isnan(v->value)) {
        if (needed)
            fail_msg("%s: %s is missing", id, what);
        return;
    }
    if (!(v->value >= 0) || !isfinite(v->value))
        fail_msg("%s: %s is %g", id, what, v->value);
    if (!v->source[0] || strcmp(v->source, "no source given") == 0)
        fail_msg("%s: %s has no source", id, what);
}

/* Bandwidth and latency of every link have a source; slips of a unit would show. A link's name is used once. */
static void check_links(const struct hwprofile *h)
{
    for (size_t i = 0; i < h->n_link; i++) {
        const struct hw_link *l = &h->link[i];
        check_value(&l->bytes_s, l->name, h->id, true);
        check_value(&l->latency_s, l->name, h->id, true);
        assert_true(l->bytes_s.value > 1e9 && l->bytes_s.value < 5e12);
        assert_true(l->latency_s.value > 1e-7 && l->latency_s.value < 1e-3);
        assert_true(l->n_devices == 0 || l->n_devices >= 2);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(l->name, h->link[k].name);
    }
}

/* Every shipped machine loads by its id, is complete, and each of its numbers has a source.
 */
static void shipped(void **state)
{
    (void)state;
    struct error err;
    char **names;
    size_t n;
    assert_ok(hwprofile_list(&names, &n, &err), err);
    assert_true(n >= 90);
    for (size_t i = 0; i < n; i++) {
        struct hwprofile h;
        if (i + 1 < n)
            assert_true(strcmp(names[i], names[i + 1]) < 0);
        assert_ok(hwprofile_load(&h, names[i], &err), err);
        assert_string_equal(h.id, names[i]);
        check_value(&h.mem_bw, "memory_bandwidth", h.id, true);
        check_value(&h.mem_bytes, "memory_bytes", h.id, h.kind == HW_GPU);
        check_value(&h.tdp_w, "tdp_w", h.id, false);
        check_value(&h.eff.compute, "efficiency.compute", h.id, true);
        check_value(&h.eff.bandwidth, "efficiency.bandwidth", h.id, true);
        check_value(&h.eff.launch_s, "efficiency.launch_s", h.id, true);
        check_value(&h.idle_w, "idle_w", h.id, false);
        check_value(&h.price_usd_h, "price", h.id, false);
        check_value(&h.n_unit, "units", h.id, false);
        check_value(&h.unit_threads, "unit_threads", h.id, false);
        check_value(&h.clock_hz, "clock", h.id, false);
        check_value(&h.cache_bytes, "cache_bytes", h.id, false);
        /* 64 or 128 lanes of two operations a cycle are the FP32 peak, where the clock is known too */
        if (!isnan(h.n_unit.value) && !isnan(h.clock_hz.value)) {
            const double lanes = h.peak[MATH_FP32].value / (2 * h.n_unit.value * h.clock_hz.value);
            assert_true(fabs(lanes / 64 - 1) < 0.02 || fabs(lanes / 128 - 1) < 0.02);
        }
        check_links(&h);
        int n_peak = 0;
        for (int m = 0; m < MATH_COUNT; m++) {
            check_value(&h.peak[m], math_name((enum math)m), h.id, false);
            n_peak += !isnan(h.peak[m].value);
        }
        assert_true(n_peak > 0);
        /* A unit slip of a thousand would show: bytes/s and FLOP/s of real machines. */
        assert_true(h.mem_bw.value > 5e9 && h.mem_bw.value < 5e13);
        assert_int_equal(h.n_ceiling, 0);
        hwprofile_free(&h);
        free(names[i]);
    }
    free(names);
}

static void figures(void **state)
{
    (void)state;
    static const struct {
        const char *name, *id;
        double bw, fp16, fp32;
    } t[] = {
        { "H100", "h100-sxm", 3350e9, 989.4e12, 66.9e12 },
        { "H100 PCIe", "h100-pcie", 2000e9, 756e12, 51.2e12 },
        { "H200", "h200-sxm", 4800e9, 989.4e12, 66.9e12 },
        { "A100-80 SXM", "a100-sxm-80gb", 2039e9, 312e12, 19.5e12 },
        { "B200", "b200-sxm", 7700e9, 2250e12, 75e12 },
        { "L40S", "l40s", 864e9, 362.05e12, 91.6e12 },
        { "MI300X", "mi300x", 5325e9, 1307.4e12, 163.4e12 },
        { "RTX 3090", "rtx-3090", 936e9, 71e12, 35.6e12 },
        { "rtx_4090", "rtx-4090", 1008e9, 165.2e12, 82.6e12 },
        { "GeForce RTX 5090", "rtx-5090", 1792e9, 209.5e12, 104.8e12 },
        { "M2 Ultra", "apple-m2-ultra", 800e9, 27.2e12, 27.2e12 },
        { "m3ultra", "apple-m3-ultra", 819e9, NAN, 28.6e12 },
        { "M4 Max", "apple-m4-max-40", 546e9, NAN, 16.2e12 },
        { "Xeon 6980P", "xeon-6980p", 844.8e9, 262.144e12, 16.384e12 },
        { "EPYC 9755", "epyc-9755", 614.4e9, NAN, 22.118e12 },
        { "graviton4", "graviton4", 537.6e9, NAN, 8.602e12 },
        { "Grace", "grace-72c", 512e9, NAN, 7.1e12 },
        { "NVIDIA RTX PRO 4000 Blackwell SFF Edition", "rtx-pro-4000-sff-blackwell", 432e9, 95.84e12, 23.96e12 },
        { "Radeon PRO V620", "radeon-pro-v620", 512e9, 40.55e12, 20.28e12 },
        { "NVIDIA A800", "a800-sxm-80gb", 2039e9, 312e12, 19.5e12 },
        { "H800", "h800-sxm", 3350e9, 989.4e12, 66.9e12 },
        { "NVIDIA GeForce RTX 4090 Laptop GPU", "rtx-4090-laptop", 576e9, 79.38e12, 39.69e12 },
        { "Cobalt 100", "cobalt-100", 537.6e9, 13.926e12, 6.963e12 },
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        struct hwprofile h;
        struct error err;
        assert_ok(hwprofile_load(&h, t[i].name, &err), err);
        assert_string_equal(h.id, t[i].id);
        assert_true(h.mem_bw.value == t[i].bw);
        assert_true(h.peak[MATH_FP32].value == t[i].fp32);
        if (isnan(t[i].fp16))
            assert_true(isnan(h.peak[MATH_FP16].value) && !h.peak[MATH_FP16].source[0]);
        else
            assert_true(h.peak[MATH_FP16].value == t[i].fp16);
        assert_int_equal(h.n_ceiling, 0);
        hwprofile_free(&h);
    }
}

/* Dense peaks by heart. Makers print those of 2:4 sparsity larger, or alone: twice these. NaN: the machine has no such units. */
static void dense_peaks(void **state)
{
    static const struct {
        const char *name;
        double bits16, fp8, int8; /* TFLOP/s */
    } t[] = {
        { "h100-sxm", 989.4, 1978.9, 1978.9 }, { "a100-sxm-80gb", 312, NAN, 624 },    { "rtx-4090", 165.2, 330.3, 660.6 },
        { "mi300x", 1307.4, 2614.9, 2614.9 },  { "b200-sxm", 2250, 4500, 4500 },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        struct hwprofile h;
        struct error err;
        assert_ok(hwprofile_load(&h, t[i].name, &err), err);
        const struct {
            enum math m;
            double tflop_s;
        } peaks[] = { { MATH_FP16, t[i].bits16 }, { MATH_BF16, t[i].bits16 }, { MATH_FP8, t[i].fp8 }, { MATH_INT8, t[i].int8 } };
        for (size_t k = 0; k < ARRAY_LEN(peaks); k++) {
            const double v = h.peak[peaks[k].m].value;
            if (isnan(v) != isnan(peaks[k].tflop_s) || fabs(v / 1e12 - peaks[k].tflop_s) > 0.001 * peaks[k].tflop_s)
                fail_msg("%s: %s %g TFLOP/s, expected %g", t[i].name, math_name(peaks[k].m), v / 1e12, peaks[k].tflop_s);
        }
        hwprofile_free(&h);
    }
}

/* The link that joins n devices of shipped machines: NVSwitch boxes of 8, racks of 72, bridges of 2 and PCIe past them, a
 * network without end; bytes/s as printed by the vendors, one direction. */
static void shipped_links(void **state)
{
    (void)state;
    static const struct {
        const char *hw;
        int n;
        const char *link; /* NULL: none */
        double bytes_s;
    } t[] = {
        { "a100-sxm-80gb", 2, "NVLink3", 300e9 },      { "a100-sxm-80gb", 8, "NVLink3", 300e9 },
        { "a100-sxm-80gb", 9, NULL, 0 },               { "h100-sxm", 8, "NVLink4", 450e9 },
        { "gb200", 72, "NVLink5", 900e9 },             { "gb200", 73, NULL, 0 },
        { "h100-pcie", 2, "NVLink4 bridge", 300e9 },   { "h100-pcie", 4, "PCIe", 63e9 },
        { "rtx-3090", 2, "NVLink3 bridge", 56.25e9 },  { "rtx-3090", 4, "PCIe", 31.5e9 },
        { "rtx-4090", 2, "PCIe", 31.5e9 },             { "mi300x", 8, "Infinity Fabric", 448e9 },
        { "tpu-v5e", 256, "ICI 2D torus", 200e9 },     { "gaudi3", 8, "RoCE 24x200GbE", 600e9 },
        { "dgx-spark-gb10", 2, "ConnectX-7 2x200GbE", 50e9 },
        { "apple-m3-ultra", 2, NULL, 0 },              { "raspberry-pi-5", 2, NULL, 0 },
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        struct hwprofile h;
        struct error err;
        assert_ok(hwprofile_load(&h, t[i].hw, &err), err);
        const struct hw_link *l = hwprofile_link(&h, t[i].n);
        if (!l != !t[i].link || (l && (strcmp(l->name, t[i].link) != 0 || l->bytes_s.value != t[i].bytes_s)))
            fail_msg("%s, %d devices: %s, expected %s", t[i].hw, t[i].n, l ? l->name : "none",
                     t[i].link ? t[i].link : "none");
        hwprofile_free(&h);
    }
}

/* Who does not say a maker said it in the name. */
static void maker_of_name(void **state)
{
    (void)state;
    static const char *const t[][2] = {
        { "GeForce RTX 5090", "NVIDIA" },  { "rtx4090", "NVIDIA" },          { "RTX-6000", "NVIDIA" }, { "AMD Instinct MI300X", "AMD" },
        { "Radeon 8060S", "AMD" },         { "Apple M9", "Apple" },    { "Arc B580", "Intel" },  { "Archer", "" },
        { "Intel(R) Xeon(R) 6980P", "Intel" }, { "My GPU", "" },       { "Google TPU v9", "Google" },
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        struct hwprofile h;
        struct error err;
        char text[256];
        snprintf(text, sizeof text, "{\"schema\":\"roofcast.hwprofile\",\"version\":1,\"name\":\"%s\",\"kind\":\"gpu\",\"spec\":{"
                                    "\"memory_bandwidth\":\"1 TB/s\",\"peaks\":{\"fp16\":\"1 TFLOP/s\"}}}", t[i][0]);
        assert_ok(hwprofile_parse(&h, "a.json", text, strlen(text), &err), err);
        assert_string_equal(h.vendor, t[i][1]);
        hwprofile_free(&h);
    }
}

/* What nvidia-smi, lscpu, vendors and people print, and the machines of published measurements. */
static void names_found(void **state)
{
    (void)state;
    static const char *const t[][2] = {
        { "RTX 4090", "rtx-4090" },
        { "NVIDIA GeForce RTX 4090", "rtx-4090" },
        { "4090", "rtx-4090" },
        { "nvidia_rtx.4090", "rtx-4090" },
        { "NVIDIA RTX 3080 Ti", "rtx-3080ti" },
        { "M3 Ultra", "apple-m3-ultra" },
        { "Apple M3 Ultra", "apple-m3-ultra" },
        { "Apple M2 Ultra (76-core GPU)", "apple-m2-ultra" },
        { "Apple M1 Pro (14-core GPU)", "apple-m1-pro-14" },
        { "Apple M1 Pro", "apple-m1-pro" },
        { "A100 80GB", "a100-sxm-80gb" },
        { "A100-80GB", "a100-sxm-80gb" },
        { "NVIDIA A100-SXM4-80GB", "a100-sxm-80gb" },
        { "NVIDIA A100-SXM4-40GB", "a100-sxm-40gb" },
        { "NVIDIA A100 80GB PCIe", "a100-pcie-80gb" },
        { "NVIDIA A100-PCIE-40GB", "a100-pcie-40gb" },
        { "NVIDIA A100 80GB SXM", "a100-sxm-80gb" },
        { "Tesla V100-SXM2-32GB", "v100-sxm2-32gb" },
        { "Tesla T4", "t4" },
        { "H100 PCIe", "h100-pcie" },
        { "NVIDIA H100 80GB HBM3", "h100-sxm" },
        { "NVIDIA H20 96GB", "h20" },
        { "NVIDIA RTX 5000 Ada", "rtx-5000-ada" },
        { "NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada" },
        { "MI300X", "mi300x" },
        { "AMD Instinct MI300X", "mi300x" },
        { "AMD MI300X", "mi300x" },
        { "AMD RX 7900 XT", "rx-7900xt" },
        { "Radeon RX 7900 XTX", "rx-7900xtx" },
        { "AMD Radeon AI PRO R9700", "radeon-ai-pro-r9700" },
        { "AMD Radeon PRO W7900 Dual Slot", "radeon-pro-w7900" },
        { "AMD Ryzen AI Max+ 395 (Radeon 8060S)", "strix-halo-395" },
        { "Intel Arc Pro B70", "arc-pro-b70" },
        { "Ryzen 7950X", "ryzen-7950x" },
        { "AMD Ryzen 9 7950X 16-Core Processor", "ryzen-7950x" },
        { "AMD Ryzen 9 7950X [CPU]", "ryzen-7950x" },
        { "AMD EPYC 9654 96-Core Processor", "epyc-9654" },
        { "Intel(R) Xeon(R) Platinum 8480+", "xeon-8480plus" },
        { "13th Gen Intel(R) Core(TM) i9-13900K", "core-i9-13900k" },
        { "Intel(R) Core(TM) i9-13900K @ 3.00GHz", "core-i9-13900k" },
        { "AMD EPYC 9554 64-Core Processor", "epyc-9554" },
        { "AMD EPYC 7702", "epyc-7702" },
        { "Intel Xeon Platinum 8358", "xeon-8358" },
        { "Intel(R) Xeon(R) Platinum 8358 CPU @ 2.60GHz", "xeon-8358" },
        { "11th Gen Intel(R) Core(TM) i7-1185G7 @ 3.00GHz", "core-i7-1185g7" },
        { "Radxa Dragon Q6A", "dragon-q6a" },
        { "Radxa Dragon Q8B (Snapdragon 8cx Gen 3)", "dragon-q8b" },
        { "Orange Pi 6 Plus", "cix-p1" },
        { "Radxa Orion O6", "cix-p1" },
        { "NVIDIA GeForce RTX 4090 48GB", "rtx-4090-48gb" },
        { "NVIDIA GeForce RTX 4090", "rtx-4090" },
        { "Arc B70", "arc-pro-b70" },
        { "A800-SXM4-80GB", "a800-sxm-80gb" },
        { "Raspberry Pi 5", "raspberry-pi-5" },
        { "Raspberry Pi 5 [CPU]", "raspberry-pi-5" },
        { "Google TPU v5e", "tpu-v5e" },
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        struct hwprofile h;
        struct error err;
        assert_ok(hwprofile_load(&h, t[i][0], &err), err);
        if (strcmp(h.id, t[i][1]) != 0)
            fail_msg("\"%s\" loads %s, expected %s", t[i][0], h.id, t[i][1]);
        hwprofile_free(&h);
    }
    struct hwprofile h;
    struct error err;
    /* A vendor alone is no machine, nor is what only looks like a mark. */
    assert_fails(hwprofile_load(&h, "NVIDIA", &err), err, "unknown machine");
    assert_fails(hwprofile_load(&h, "96-Core Processor", &err), err, "expected a name");
}

/* A name means one machine. */
static void names_unique(void **state)
{
    (void)state;
    struct error err;
    char **names;
    size_t n;
    assert_ok(hwprofile_list(&names, &n, &err), err);
    const size_t step = getenv("ROOFCAST_SANITIZED") ? 5 : 1; /* an alias is looked for in every file */
    for (size_t i = 0; i < n; i++) {
        struct hwprofile h, g;
        assert_ok(hwprofile_load(&h, names[i], &err), err);
        for (size_t k = 0; k <= h.n_alias && i % step == 0; k++) {
            const char *alias = k < h.n_alias ? h.alias[k] : h.name;
            assert_ok(hwprofile_load(&g, alias, &err), err);
            if (strcmp(g.id, h.id) != 0)
                fail_msg("\"%s\" of %s loads %s", alias, h.id, g.id);
            hwprofile_free(&g);
        }
        hwprofile_free(&h);
        free(names[i]);
    }
    free(names);
}

static void unknown_names(void **state)
{
    (void)state;
    struct hwprofile h;
    struct error err;
    assert_fails(hwprofile_load(&h, "RTX 4091", &err), err, "did you mean rtx-4090");
    assert_fails(hwprofile_load(&h, "h10", &err), err, "did you mean h100-");
    assert_fails(hwprofile_load(&h, "gravton 4", &err), err, "did you mean graviton4");
    assert_fails(hwprofile_load(&h, "RTX 5090 Laptop", &err), err, "did you mean rtx-5090?");
    assert_fails(hwprofile_load(&h, "NVIDIA GeForce RTX 3090 Super", &err), err, "did you mean rtx-3090?");
    assert_fails(hwprofile_load(&h, "Apple M3 Ultra Studio", &err), err, "did you mean apple-m3-ultra?");
    assert_fails(hwprofile_load(&h, "zzzzzzzzzz", &err), err, "roofcast list hw");
    assert_null(strstr(err.msg, "did you mean"));
    assert_fails(hwprofile_load(&h, "--", &err), err, "expected a name");
    assert_fails(hwprofile_load(&h, "no/such.json", &err), err, "no/such.json");
    assert_fails(hwprofile_load(&h, "classes", &err), err, "unknown machine");
    assert_int_equal(err.kind, ERROR_INPUT);
}

static void datasheet(void **state)
{
    (void)state;
    struct hwprofile h;
    struct error err;
    assert_ok(parse(&h, ten_lines, &err), err);
    assert_string_equal(h.id, "x");
    assert_string_equal(h.name, "Acme X1");
    assert_int_equal(h.kind, HW_GPU);
    assert_true(h.mem_bw.value == 2e12);
    assert_true(h.peak[MATH_FP16].value == 500e12);
    assert_string_equal(h.peak[MATH_FP16].source, "datasheet, dense");
    assert_true(isnan(h.mem_bytes.value) && isnan(h.peak[MATH_FP32].value));
    assert_null(hwprofile_peak(&h, MATH_FP16, 1));
    assert_null(hwprofile_bandwidth(&h, "DRAM", 1));
    hwprofile_free(&h);
    /* Text alone; binary prefixes; notes and private fields; no source is said. */
    assert_ok(parse(&h,
                    with_spec("{\"memory_bytes\":\"80 GiB\",\"memory_bandwidth\":\"819 GB/s\","
                              "\"peaks\":{\"int8\":\"1.5 POP/s\",\"fp16\":\"1e3 "
                              "TFLOPS\"},\"notes\":1,\"_x\":[]}"),
                    &err),
              err);
    assert_true(h.mem_bytes.value == 80.0 * 1024 * 1024 * 1024);
    assert_true(h.mem_bw.value == 819e9);
    assert_true(h.peak[MATH_INT8].value == 1.5e15);
    assert_true(h.peak[MATH_FP16].value == 1e15);
    assert_string_equal(h.mem_bw.source, "no source given");
    hwprofile_free(&h);
}

#define BW   "\"memory_bandwidth\":\"1 TB/s\""
#define PEAK "\"peaks\":{\"fp16\":\"1 TFLOP/s\"}"

/* A spec whose links are those; a link of that name, bandwidth and number of devices (and more). */
#define LINKS(l) "{" BW "," PEAK ",\"links\":[" l "]}"
#define LINK(name, bw, n)                                                                          \
    "{\"name\":\"" name "\",\"topology\":\"mesh\",\"bandwidth\":\"" bw "\",\"latency\":\"2 us\",\"n_devices\":" n "}"
/* And of that latency. */
#define LATENCY(l) "{\"name\":\"A\",\"topology\":\"mesh\",\"bandwidth\":\"5 GB/s\",\"n_devices\":2" l "}"

static void bad_specs(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *says;
    } t[] = {
        { "{" PEAK "}", "spec.memory_bandwidth\" is missing" },
        { "{" BW "}", "spec.peaks\" is missing" },
        { "{" BW ",\"peaks\":{}}", "spec.peaks\" is missing or empty" },
        { "{" BW ",\"peaks\":{\"fp61\":\"1 TFLOP/s\"}}",
          "unknown field \"fp61\"; the nearest known one is \"fp" },
        { "{\"memory_bandwith\":\"1 TB/s\"}", "nearest known one is \"memory_bandwidth\"" },
        { "{\"memory_bandwidth\":1e12," PEAK "}", "spec.memory_bandwidth: expected {\"value\"" },
        { "{\"memory_bandwidth\":\"1e12\"," PEAK "}", "number with a unit" },
        { "{\"memory_bandwidth\":\"fast\"," PEAK "}", "found \"fast\"" },
        { "{\"memory_bandwidth\":\"1 TFLOP/s\"," PEAK "}", "found \"1 TFLOP/s\"" },
        { "{\"memory_bandwidth\":\"nan GB/s\"," PEAK "}", "spec.memory_bandwidth" },
        { "{\"memory_bandwidth\":\"1e999 GB/s\"," PEAK "}", "spec.memory_bandwidth" },
        { "{\"memory_bandwidth\":{\"value\":1e12}," PEAK "}", "field \"unit\" is missing" },
        { "{\"memory_bandwidth\":{\"value\":1e12,\"unit\":\"B\"}," PEAK "}",
          "unknown unit \"B\", expected \"B/s\"" },
        { "{\"memory_bandwidth\":{\"value\":1e12,\"unit\":\"\"}," PEAK "}", "\"unit\" is missing" },
        { "{\"memory_bandwidth\":{\"value\":-1,\"unit\":\"B/s\"}," PEAK "}",
          "expected at least 1e+06" },
        { "{\"memory_bandwidth\":{\"value\":0,\"unit\":\"B/s\"}," PEAK "}",
          "spec.memory_bandwidth: expected at least 1e+06 and at most 1e+18 B/s, found 0" },
        { "{\"memory_bandwidth\":{\"value\":999999,\"unit\":\"B/s\"}," PEAK "}", "at least 1e+06" },
        { "{\"memory_bandwidth\":\"1e-200 B/s\"," PEAK "}", "found 1e-200" },
        { "{" BW ",\"peaks\":{\"fp16\":\"5 FLOP/s\"}}",
          "spec.peaks.fp16: expected at least 1e+06 and at most 1e+24 FLOP/s, found 5" },
        { "{" BW "," PEAK ",\"memory_bytes\":\"80 B\"}",
          "spec.memory_bytes: expected at least 1e+06 and at most 1e+18 B, found 80" },
        { "{\"memory_bandwidth\":{\"value\":1e300,\"unit\":\"B/s\"}," PEAK "}", "at most" },
        { "{\"memory_bandwidth\":{\"unit\":\"B/s\"}," PEAK "}", "field \"value\" is missing" },
        { "{\"memory_bandwidth\":{\"value\":true,\"unit\":\"B/s\"}," PEAK "}",
          "field \"value\": expected a number" },
        { "{\"memory_bandwidth\":{\"value\":1,\"unit\":7}," PEAK "}",
          "field \"unit\": expected a string" },
        { "{\"memory_bandwidth\":{\"value\":\"1 TB/s\",\"unit\":\"B/s\"}," PEAK "}",
          "field \"value\"" },
        { "{\"memory_bandwidth\":{\"value\":1,\"unit\":\"B/s\",\"src\":\"\"}," PEAK "}",
          "unknown field \"src\"" },
        { "{\"memory_bandwidth\":[]," PEAK "}", "spec.memory_bandwidth: expected" },
        { "{" BW ",\"peaks\":[]}", "field \"peaks\": expected a JSON object" },
        { "[]", "field \"spec\": expected a JSON object" },
        { "{" BW "," PEAK ",\"idle_w\":\"-1 W\"}", "spec.idle_w: expected more than 0" },
        { "{" BW "," PEAK ",\"price\":{\"value\":3,\"unit\":\"EUR/h\"}}", "expected \"USD/h\"" },
        { "{" BW "," PEAK ",\"links\":{}}", "spec: field \"links\": expected an array" },
        { LINKS("7"), "spec.links[0]: expected a JSON object" },
        { LINKS("{}"), "spec.links[0]: field \"name\" is missing" },
        { LINKS("{\"name\":\"12345678901234567890123456789012\"}"), "at most 31 bytes, found 32" },
        { LINKS("{\"name\":\"A\",\"topology\":\"star\"}"),
          "field \"topology\": expected one of switch, ring, mesh, pcie, network, found \"star\"" },
        { LINKS("{\"name\":\"A\",\"topology\":\"ring\"}"), "links[0]: field \"bandwidth\" is missing" },
        { LINKS(LINK("A", "0 GB/s", "0")), "links[0].bandwidth: expected at least 1e+06" },
        { LINKS(LINK("A", "5 GB", "0")), "links[0].bandwidth" },
        { LINKS(LINK("A", "5 GB/s", "1")), "a link joins 2 devices or more (0: any number), found 1" },
        { LINKS(LINK("A", "5 GB/s", "-2")), "links[0]: field \"n_devices\"" },
        { LINKS(LATENCY("")), "links[0]: field \"latency\" is missing, expected {\"value\": .., \"unit\": \"s\"" },
        { LINKS(LATENCY(",\"latency\":null")), "links[0]: field \"latency\" is missing" },
        { LINKS(LATENCY(",\"latency\":\"-1 us\"")), "links[0].latency: expected at least 0" },
        { LINKS(LINK("A", "5 GB/s", "2,\"latncy\":\"1 us\"")), "nearest known one is \"latency\"" },
        { LINKS(LINK("A", "5 GB/s", "2") "," LINK("B", "6 GB/s", "8")),
          "links[1]: expected the fastest link first, found 6e+09 B/s after 5e+09 B/s" },
        { LINKS("1,2,3,4,5,6,7,8,9"), "field \"links\": expected at most 8, found 9" },
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        struct hwprofile h;
        struct error err;
        assert_fails(parse(&h, with_spec(t[i].spec), &err), err, t[i].says);
        assert_non_null(strstr(err.msg, "t/x.json"));
        assert_int_equal(err.kind, ERROR_INPUT);
    }
}

#define CEILING(f)                                                                                 \
    "\"ceilings\":[{\"name\":\"a\",\"kind\":\"bandwidth\",\"level\":\"L1\",\"n_threads\":"         \
    "1,\"unit\":\"B/s\"" f "}]"

#define ROW(name)   "{\"name\":\"" name "\",\"kind\":\"bandwidth\",\"level\":\"L1\",\"n_threads\":1,\"unit\":\"B/s\"}"
#define CURVE(name) "{\"name\":\"" name "\",\"kind\":\"bandwidth\",\"op\":\"read\",\"x\":\"n_threads\",\"unit\":\"B/s\",\"points\":[]}"

static void bad_profiles(void **state)
{
    (void)state;
    static const struct {
        const char *fields, *says;
    } t[] = {
        { "\"vendr\":\"A\"", "unknown field \"vendr\"; the nearest known one is \"vendor\"" },
        { "\"vendor\":3", "field \"vendor\": expected a string" },
        { "\"id\":"
          "\"0123456789012345678901234567890123456789012345678901234567890123456789\"",
          "at most 63 bytes" },
        { "\"aliases\":\"H\"", "expected an array of strings" },
        { "\"aliases\":[1]", "\"aliases\"[0]" },
        { "\"topology\":[]", "field \"topology\"" },
        { "\"topology\":{\"n_pus\":0}", "field \"n_pus\": expected 1 to" },
        { "\"topology\":{\"caches\":{}}", "field \"caches\": expected an array" },
        { "\"topology\":{\"caches\":[{\"level\":1,\"size_bytes\":-5,\"n_instances\":1}]}",
          "caches[0]: field \"size_bytes\": expected at least 1 and at most 1e+18 B, found -5" },
        { "\"topology\":{\"caches\":[{\"level\":1,\"size_bytes\":0.5,\"n_instances\":1}]}",
          "expected at least 1 and at most 1e+18 B, found 0.5" },
        { "\"topology\":{\"caches\":[7]}", "caches[0]: expected a JSON object" },
        { "\"efficiency\":{\"compute\":{\"value\":1.5}}",
          "efficiency.compute: expected more than 0 and at most 1" },
        { "\"efficiency\":{\"compute\":{\"value\":0.5,\"unit\":\"B\"}}", "a fraction has no unit" },
        { "\"efficiency\":{\"launch_s\":{\"value\":-1,\"unit\":\"s\"}}",
          "efficiency.launch_s: expected at least 0" },
        { "\"ceilings\":{}", "field \"ceilings\": expected an array" },
        { "\"ceilings\":[{}]", "ceilings[0]: field \"name\" is missing" },
        { CEILING(",\"value\":-1"), "ceilings[0]: field \"value\": expected more than 0" },
        { CEILING(",\"value\":999999"), "ceilings[0]: field \"value\": expected at least 1e+06 B/s, found 999999" },
        { CEILING(",\"value\":5e9,\"ci_lo\":6e9,\"ci_hi\":7e9"), "outside its interval" },
        { CEILING(",\"value\":null,\"ci_lo\":7e9,\"ci_hi\":6e9"), "expected ci_lo of at most ci_hi, found 7e+09 to 6e+09" },
        { CEILING(",\"value\":\"5\""), "field \"value\": expected a number, found a string" },
        { "\"ceilings\":[" ROW("a") "," ROW("b") "," ROW("a") "]", "ceilings[2]: field \"name\": \"a\" is the name of ceilings[0] too" },
        { "\"curves\":[" CURVE("c") "," CURVE("d") "," CURVE("d") "]", "curves[2]: field \"name\": \"d\" is the name of curves[1] too" },
        { CEILING(",\"valu\":5"), "nearest known one is \"value\"" },
        { "\"ceilings\":[{\"name\":\"a\",\"kind\":\"speed\",\"n_threads\":1,\"unit\":\"B/"
          "s\"}]",
          "expected one of compute, bandwidth" },
        { "\"ceilings\":[{\"name\":\"a\",\"kind\":\"bandwidth\",\"level\":\"L9\",\"n_"
          "threads\":1,\"unit\":\"B/s\"}]",
          "field \"level\"" },
        { "\"ceilings\":[{\"name\":\"a\",\"kind\":\"compute\",\"dtype\":\"fp99\",\"n_"
          "threads\":1,\"unit\":\"FLOP/s\"}]",
          "field \"dtype\"" },
        { "\"ceilings\":[{\"name\":\"a\",\"kind\":\"compute\",\"dtype\":\"fp32\",\"n_"
          "threads\":1,\"unit\":\"B/s\"}]",
          "field \"unit\": expected \"FLOP/s\"" },
    };
    struct hwprofile h;
    struct error err;
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        assert_fails(parse(&h, with_extra(t[i].fields), &err), err, t[i].says);
    static const char *const texts[][2] = {
        { "", "t/x.json" },
        { "{", "t/x.json" },
        { "[]", "expected a JSON object" },
        { "{\"version\":1}", "\"schema\" is missing" },
        { "{\"schema\":\"roofcast.run\",\"version\":1}", "expected \"roofcast.hwprofile\"" },
        { "{\"schema\":\"roofcast.hwprofile\",\"version\":2}", "up to version 1, found 2" },
        { "{\"schema\":\"roofcast.hwprofile\",\"version\":1,\"kind\":\"gpu\"}",
          "\"name\" is missing" },
        { "{\"schema\":\"roofcast.hwprofile\",\"version\":1,\"name\":\"\",\"kind\":"
          "\"gpu\"}",
          "\"name\" is empty" },
        { "{\"schema\":\"roofcast.hwprofile\",\"version\":1,\"name\":\"a\",\"kind\":"
          "\"fpga\"}",
          "one of cpu, gpu, apu, npu" },
        { "{\"schema\":\"roofcast.hwprofile\",\"version\":1,\"name\":\"a\",\"kind\":"
          "\"gpu\"}",
          "spec.memory_bandwidth" },
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_fails(parse(&h, texts[i][0], &err), err, texts[i][1]);
}

/* A pair's bridge, a box's switch, and a network without end. */
static const char linked[] = LINKS(
    "{\"name\":\"Bridge\",\"topology\":\"mesh\",\"bandwidth\":{\"value\":300,\"unit\":\"GB/s\",\"source\":\"s\"},"
    "\"latency\":{\"value\":7,\"unit\":\"us\",\"source\":\"t\"},\"n_devices\":2}," LINK("Switch", "63 GB/s", "8") ","
    "{\"name\":\"Net\",\"topology\":\"network\",\"bandwidth\":\"50 GB/s\",\"latency\":\"9 us\"}");

static void links(void **state)
{
    (void)state;
    struct hwprofile h;
    struct error err;
    assert_ok(parse(&h, with_spec(linked), &err), err);
    assert_int_equal(h.n_link, 3);
    assert_true(h.link[0].bytes_s.value == 300e9 && h.link[0].latency_s.value == 7e-6);
    assert_string_equal(h.link[0].bytes_s.source, "s");
    assert_string_equal(h.link[0].latency_s.source, "t");
    assert_string_equal(h.link[2].topology, "network");
    assert_int_equal(h.link[2].n_devices, 0);
    assert_true(h.link[1].latency_s.value == 2e-6);
    assert_ptr_equal(hwprofile_link(&h, 2), &h.link[0]);
    assert_ptr_equal(hwprofile_link(&h, 3), &h.link[1]);
    assert_ptr_equal(hwprofile_link(&h, 8), &h.link[1]);
    assert_ptr_equal(hwprofile_link(&h, 9), &h.link[2]);
    assert_null(hwprofile_link(&h, 1));
    assert_null(hwprofile_link(&h, -1));
    h.n_link = 2;
    assert_null(hwprofile_link(&h, 9));
    hwprofile_free(&h);
    assert_ok(parse(&h, with_spec("{" BW "," PEAK ",\"links\":[],\"idle_w\":\"50 W\",\"price\":"
                                  "{\"value\":2.5,\"unit\":\"USD/h\",\"source\":\"s\"}}"),
                    &err),
              err);
    assert_int_equal(h.n_link, 0);
    assert_null(hwprofile_link(&h, 2));
    assert_true(h.idle_w.value == 50 && h.price_usd_h.value == 2.5);
    hwprofile_free(&h);
}

/* Which ceiling stands for n threads. */
static void lookups(void **state)
{
    (void)state;
    struct hwprofile h;
    struct error err;
    assert_ok(parse(&h, with_extra("\"date\":\"2026-01-01T00:00:00Z\""), &err), err);
    static const int threads[] = { 1, 2, 8 };
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        struct ceiling c = {
            .n_threads = threads[i], .value = 10.0 * threads[i], .ci_lo = NAN, .ci_hi = NAN
        };
        snprintf(c.name, sizeof c.name, "read DRAM %dt", threads[i]);
        strcpy(c.kind, "bandwidth"), strcpy(c.level, "DRAM"), strcpy(c.unit, "B/s");
        assert_ok(hwprofile_add_ceiling(&h, &c, &err), err);
        strcpy(c.kind, "compute"), strcpy(c.level, ""), strcpy(c.dtype, "int8");
        snprintf(c.name, sizeof c.name, "int8 slow %dt", threads[i]);
        assert_ok(hwprofile_add_ceiling(&h, &c, &err), err);
        snprintf(c.name, sizeof c.name, "int8 fast %dt", threads[i]);
        c.value *= 2;
        assert_ok(hwprofile_add_ceiling(&h, &c, &err), err);
        snprintf(c.name, sizeof c.name, "int8 unknown %dt", threads[i]);
        c.value = NAN;
        assert_ok(hwprofile_add_ceiling(&h, &c, &err), err);
    }
    assert_int_equal(h.n_ceiling, 12);
    assert_int_equal(hwprofile_bandwidth(&h, "DRAM", 1)->n_threads, 1);
    assert_int_equal(hwprofile_bandwidth(&h, "DRAM", 2)->n_threads, 2);
    assert_int_equal(hwprofile_bandwidth(&h, "DRAM", 7)->n_threads, 2);
    assert_int_equal(hwprofile_bandwidth(&h, "DRAM", 64)->n_threads, 8);
    assert_null(hwprofile_bandwidth(&h, "L2", 1));
    assert_string_equal(hwprofile_peak(&h, MATH_INT8, 2)->name, "int8 fast 2t");
    assert_null(hwprofile_peak(&h, MATH_FP32, 2));
    /* The smallest count where all are larger. */
    h.ceiling[0].n_threads = 4;
    assert_int_equal(hwprofile_bandwidth(&h, "DRAM", 1)->n_threads, 2);
    /* The same name again replaces. */
    struct ceiling c = h.ceiling[5];
    c.value = 99;
    assert_ok(hwprofile_add_ceiling(&h, &c, &err), err);
    assert_int_equal(h.n_ceiling, 12);
    assert_true(h.ceiling[5].value == 99);
    /* Products of matrices do not reach what additions beside multiply-adds bring. */
    struct ceiling products = *hwprofile_peak(&h, MATH_INT8, 2);
    snprintf(products.name, sizeof products.name, "int8 products 2t");
    snprintf(products.op, sizeof products.op, "fma");
    products.value /= 2;
    assert_ok(hwprofile_add_ceiling(&h, &products, &err), err);
    assert_string_equal(hwprofile_peak(&h, MATH_INT8, 2)->name, "int8 products 2t");
    hwprofile_free(&h);
}

static void same_ceiling(const struct ceiling *a, const struct ceiling *b)
{
    const char *const ta[] = { a->name, a->kind,   a->dtype, a->isa, a->level,
                               a->unit, a->kernel, a->cpus,  a->date };
    const char *const tb[] = { b->name, b->kind,   b->dtype, b->isa, b->level,
                               b->unit, b->kernel, b->cpus,  b->date };
    const double na[] = { a->value, a->ci_lo, a->ci_hi, a->clock_hz };
    const double nb[] = { b->value, b->ci_lo, b->ci_hi, b->clock_hz };
    for (size_t i = 0; i < ARRAY_LEN(ta); i++)
        assert_string_equal(ta[i], tb[i]);
    for (size_t i = 0; i < ARRAY_LEN(na); i++)
        assert_true(na[i] == nb[i] || (isnan(na[i]) && isnan(nb[i])));
    assert_int_equal(a->n_threads, b->n_threads);
    assert_int_equal(a->n_samples, b->n_samples);
}

/* Saved and loaded again, nothing changes: the two JSON values are equal. */
static void round_trip_of(const char *path, const char *text)
{
    struct hwprofile a, b;
    struct error err;
    if (text)
        assert_ok(parse(&a, text, &err), err);
    else
        assert_ok(hwprofile_load(&a, path, &err), err);
    char tmp[64] = "roundtripXXXXXX";
    int fd = mkstemp(tmp);
    assert_true(fd >= 0);
    close(fd);
    char file[80];
    snprintf(file, sizeof file, "./%s", tmp);
    assert_ok(hwprofile_save(&a, file, &err), err);
    int rc = hwprofile_load(&b, file, &err);
    unlink(tmp);
    assert_ok(rc, err);
    json_t *ja = hwprofile_to_json(&a, &err), *jb = hwprofile_to_json(&b, &err);
    assert_non_null(ja);
    assert_non_null(jb);
    assert_int_equal(a.n_ceiling, b.n_ceiling);
    for (size_t i = 0; i < a.n_ceiling; i++)
        same_ceiling(&a.ceiling[i], &b.ceiling[i]);
    /* A text without efficiencies has them from its class after loading. */
    if (text) {
        json_object_del(ja, "efficiency");
        json_object_del(jb, "efficiency");
    }
    assert_true(json_equal(ja, jb));
    json_decref(ja);
    json_decref(jb);
    hwprofile_free(&a);
    hwprofile_free(&b);
}

static void round_trip(void **state)
{
    (void)state;
    round_trip_of("h100-sxm", NULL);
    round_trip_of("xeon-6980p", NULL);
    round_trip_of(NULL, ten_lines);
    round_trip_of(NULL, with_spec(linked));
    round_trip_of(NULL, with_spec("{" BW "," PEAK ",\"idle_w\":\"50 W\",\"price\":\"2.5 USD/h\"}"));
    round_trip_of(
        NULL,
        with_extra("\"aliases\":[\"a\",\"b "
                   "c\"],\"vendor\":\"V\",\"date\":\"2026-01-01T00:00:00Z\",\"topology\":{\"cpu\":"
                   "\"C\",\"isa\":\"avx2\","
                   "\"n_packages\":1,\"n_cores\":4,\"n_pus\":8,\"n_numa\":1,\"caches\":[{"
                   "\"level\":1,\"size_bytes\":49152,"
                   "\"n_instances\":4,\"line_bytes\":64,\"n_sharing\":2}]},"
                   "\"ceilings\":[{\"name\":\"fp32 avx2 "
                   "1t\",\"kind\":\"compute\",\"dtype\":\"fp32\",\"isa\":\"avx2\",\"level\":\"\","
                   "\"n_threads\":1,\"value\":1.5e11,\"unit\":\"FLOP/"
                   "s\",\"ci_lo\":1.4e11,\"ci_hi\":1.6e11,\"n_samples\":9,"
                   "\"kernel\":\"k\",\"clock_hz\":3.25e9,\"cpus\":\"0-3\",\"date\":\"2026-01-"
                   "01T00:00:00Z\"},"
                   "{\"name\":\"read L3 "
                   "1t\",\"kind\":\"bandwidth\",\"level\":\"L3\",\"n_threads\":1,\"value\":null,"
                   "\"unit\":\"B/s\","
                   "\"ci_lo\":null,\"ci_hi\":null,\"clock_hz\":null,\"kernel\":\"unavailable: "
                   "x\",\"date\":null}]"));
}

/* A curve with its levels, saved and loaded again. */
static void curves(void **state)
{
    (void)state;
    static const char text[] =
        "\"curves\":[{\"name\":\"read footprint 2t\",\"kind\":\"bandwidth\",\"op\":\"read\",\"x\":\"footprint_bytes\","
        "\"n_threads\":2,\"unit\":\"B/s\",\"points\":[{\"x\":4096,\"value\":2e11,\"ci_lo\":1e11,\"ci_hi\":3e11,"
        "\"n_samples\":3},{\"x\":8192,\"value\":2e11,\"n_samples\":3}],\"plateaus\":[{\"level\":\"L1\",\"from_x\":4096,"
        "\"to_x\":8192,\"value\":2e11,\"edge_x\":33000,\"stated_x\":32768,\"finding\":\"agrees: x\"},{\"level\":\"L2\","
        "\"from_x\":null,\"to_x\":null,\"value\":null,\"edge_x\":null,\"stated_x\":1048576},{\"level\":\"\","
        "\"from_x\":8192,\"to_x\":8192,\"value\":1e11,\"edge_x\":9000,\"stated_x\":null}]},"
        "{\"name\":\"read threads DRAM\",\"kind\":\"bandwidth\",\"op\":\"read\",\"x\":\"n_threads\",\"unit\":\"B/s\","
        "\"saturation_x\":3,\"points\":[]}]";
    struct hwprofile h;
    struct error err;
    round_trip_of(NULL, with_extra(text));
    assert_ok(parse(&h, with_extra(text), &err), err);
    const struct hw_curve *c = hwprofile_curve(&h, "read footprint 2t"), *t = hwprofile_curve(&h, "read threads DRAM");
    assert_non_null(c);
    assert_int_equal(c->n_plateau, 3); /* the last of no level */
    assert_true(!c->plateau[2].level[0] && c->plateau[2].edge_x == 9000);
    assert_string_equal(c->plateau[0].level, "L1");
    assert_true(c->plateau[0].to_x == 8192 && c->plateau[0].edge_x == 33000 && c->plateau[0].stated_x == 32768);
    assert_true(isnan(c->plateau[1].value) && isnan(c->saturation_x));
    assert_true(t && t->saturation_x == 3 && t->n_plateau == 0);
    json_t *j = hwprofile_to_json(&h, &err);
    const json_t *p = json_array_get(json_object_get(json_array_get(json_object_get(j, "curves"), 0), "plateaus"), 0);
    assert_true(json_number_value(json_object_get(p, "edge_x")) == 33000);
    assert_string_equal(json_string_value(json_object_get(p, "finding")), "agrees: x");
    json_decref(j);
    hwprofile_free(&h);
    assert_fails(parse(&h, with_extra("\"curves\":[{\"name\":\"a\",\"kind\":\"bandwidth\",\"op\":\"read\",\"x\":\"n_threads\","
                                      "\"unit\":\"B/s\",\"points\":[],\"plateaus\":[{\"level\":\"L9\"}]}]"), &err),
                 err, "plateaus[0]: field \"level\"");
}

static void host_as(const char *synthetic, int packages, int cores, int pus, int numa)
{
    struct hwprofile h;
    struct error err;
    environment_set_topology(true);
    setenv("HWLOC_SYNTHETIC", synthetic, 1);
    assert_ok(hwprofile_host(&h, &err), err);
    unsetenv("HWLOC_SYNTHETIC");
    environment_set_topology(false);
    assert_int_equal(h.n_packages, packages);
    assert_int_equal(h.n_cores, cores);
    assert_int_equal(h.n_pus, pus);
    assert_int_equal(h.n_numa, numa);
    assert_int_equal(h.kind, HW_CPU);
    assert_string_equal(h.isa, ""); /* not the live machine's */
    hwprofile_free(&h);
}

static void synthetic_hosts(void **state)
{
    (void)state;
    struct hwprofile h;
    struct error err;
    host_as("package:2 core:4 pu:2", 2, 8, 16, 1);
    host_as("numa:4 package:1 l3:1 core:6 pu:1", 4, 24, 24, 4);
    environment_set_topology(true);
    setenv("HWLOC_SYNTHETIC",
           "package:2 l3:2(size=33554432) l2:4(size=1048576) l1d:1(size=49152) core:1 pu:2", 1);
    assert_ok(hwprofile_host(&h, &err), err);
    unsetenv("HWLOC_SYNTHETIC");
    environment_set_topology(false);
    static const struct {
        int level, n, sharing;
        double size;
    } want[] = { { 1, 16, 2, 49152 }, { 2, 16, 2, 1048576 }, { 3, 4, 8, 33554432 } };
    assert_int_equal(h.n_cache, ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_int_equal(h.cache[i].level, want[i].level);
        assert_int_equal(h.cache[i].n_instances, want[i].n);
        assert_int_equal(h.cache[i].n_sharing, want[i].sharing);
        assert_true(h.cache[i].size_bytes == want[i].size);
    }
    hwprofile_free(&h);
}

static void recorded_host(void **state)
{
    (void)state;
    struct hwprofile h;
    struct error err;
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/hwprofile/hybrid.xml", dirs[0]);
    environment_set_topology(true);
    setenv("HWLOC_XMLFILE", path, 1);
    setenv("HWLOC_THISSYSTEM", "0", 1);
    assert_ok(hwprofile_host(&h, &err), err);
    unsetenv("HWLOC_XMLFILE");
    environment_set_topology(false);
    unsetenv("HWLOC_THISSYSTEM");
    assert_string_equal(h.cpu_model, "Example Hybrid CPU");
    assert_string_equal(h.name, "Example Hybrid CPU");
    assert_int_equal(h.n_cores, 3);
    assert_int_equal(h.n_pus, 4);
    /* Two kinds of core: L1 differs in who shares it, L2 in size. */
    assert_int_equal(h.n_cache, 5);
    assert_true(h.cache[0].size_bytes == 32768 && h.cache[0].n_instances == 1 &&
                h.cache[0].n_sharing == 2);
    assert_true(h.cache[1].size_bytes == 32768 && h.cache[1].n_instances == 2 &&
                h.cache[1].n_sharing == 1);
    assert_true(h.mem_bytes.value == 17179869184.0);
    hwprofile_free(&h);
}

static void live_host(void **state)
{
    (void)state;
    struct hwprofile h;
    struct error err;
    assert_ok(hwprofile_host(&h, &err), err);
    assert_true(h.n_pus >= 1 && h.mem_bytes.value > 0 && h.cpu_model[0]);
    /* all of the machine, whatever its NUMA nodes say */
    assert_true(h.mem_bytes.value == (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE));
    assert_string_equal(h.id, "this");
    assert_false(isnan(h.eff.bandwidth.value));
    assert_int_equal(h.n_ceiling, 0);
    hwprofile_free(&h);
}

static void math_names(void **state)
{
    (void)state;
    for (int m = 0; m < MATH_COUNT; m++)
        assert_int_equal(math_find(math_name((enum math)m)), m);
    assert_int_equal(math_find("FP32"), -1);
}

int main(void)
{
    const char *data = getenv("ROOFCAST_DATA");
    dirs[0] = data ? data : ".";
    environment_set_dirs(dirs);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped),       cmocka_unit_test(figures),
        cmocka_unit_test(names_unique),  cmocka_unit_test(unknown_names),
        cmocka_unit_test(datasheet),     cmocka_unit_test(bad_specs),
        cmocka_unit_test(bad_profiles),  cmocka_unit_test(lookups),
        cmocka_unit_test(round_trip),    cmocka_unit_test(synthetic_hosts),
        cmocka_unit_test(recorded_host), cmocka_unit_test(live_host),
        cmocka_unit_test(math_names),    cmocka_unit_test(links),
        cmocka_unit_test(names_found),
        cmocka_unit_test(maker_of_name),
        cmocka_unit_test(shipped_links),
        cmocka_unit_test(dense_peaks),   cmocka_unit_test(curves),
    };
    return cmocka_run_group_tests_name("hwprofile", tests, NULL, NULL);
}
