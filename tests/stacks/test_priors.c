/* The files of priors: required fields, and errors; constants by the files they are of. */
#include "base/environment.h"
#include "base/json.h"
#include "learn/constants.h"
#include "dataset/machine.h"
#include "stacks/priors.h"
#include "tests/test.h"
#include <math.h>

/* The shipped file under one of the data directories, for a test to change. */
static json_t *shipped(const char *sub, const char *name)
{
    char path[4096];
    struct error err = { 0 };
    assert_true(hwprofile_data_file(path, sizeof path, sub, name));
    json_t *j = json_load_path(path, &err);
    assert_non_null(j);
    return j;
}

static json_t *at(json_t *list, size_t i)
{
    return json_array_get(list, i);
}

/* Refused, with that in its message. */
static void refuses(json_t *doc, bool machines, const char *text)
{
    struct error err = { 0 };
    struct priors p;
    char *s = json_dumps(doc, 0);
    assert_non_null(s);
    if (machines)
        assert_fails(classes_check("f.json", s, strlen(s), &err), err, text);
    else
        assert_fails(priors_parse(&p, "f.json", s, strlen(s), &err), err, text);
    free(s);
    json_decref(doc);
}

static json_t *software(void)
{
    return shipped("hwprofiles/stacks", "priors");
}

static void test_software(void **state)
{
    struct error err = { 0 };
    (void)state;
    assert_ok(priors_load(&err), err);
    assert_true(priors()->n_effect[FITTED_DECODE] > 10);
    for (int i = 0; i < PRIOR_NUMBER_COUNT; i++)
        assert_true(prior((enum prior_number)i) > 0);
    /* Several means each, and one that all fits have. */
    for (int k = 0; k < FITTED_KIND_COUNT; k++) {
        size_t n = 0;
        for (size_t i = 0; i < priors()->n_effect[k]; i++)
            n += priors()->effect[k][i].parameter == TIME_BANDWIDTH && priors()->effect[k][i].dim == DIM_ALL;
        assert_int_equal(n, 1);
    }
}

/* No belief without a source; nothing unknown, nothing missing. */
static void test_software_refused(void **state)
{
    (void)state;
    json_t *d = software();
    json_object_del(at(json_object_get(json_object_get(json_object_get(d, "fits"), "decode"), "effects"), 0), "source");
    refuses(d, false, "f.json: fits.decode.effects[0]: field \"source\"");
    d = software();
    json_object_set_new(at(json_object_get(json_object_get(json_object_get(d, "fits"), "decode"), "effects"), 1), "by", json_string("colour"));
    refuses(d, false, "fits.decode.effects[1]: field \"by\": expected what sets rows apart, such as \"class\", found \"colour\"");
    d = software();
    json_object_set_new(at(json_object_get(json_object_get(json_object_get(d, "fits"), "op"), "effects"), 0), "value", json_real(-1));
    refuses(d, false, "fits.op.effects[0]: field \"value\": expected more than 0");
    d = software();
    json_object_set_new(json_object_get(d, "fits"), "ttft", json_pack("{s:s}", "as", "nothing"));
    refuses(d, false, "fits.ttft: field \"as\": expected another of \"fits\", found \"nothing\"");
    d = software();
    json_object_del(json_object_get(d, "numbers"), "dispatch_s");
    refuses(d, false, "f.json: numbers.dispatch_s: expected an object, found nothing");
    d = software();
    json_object_set_new(json_object_get(json_object_get(d, "numbers"), "dispatch_s"), "source", json_string(""));
    refuses(d, false, "numbers.dispatch_s: field \"source\": expected where it is from");
    d = software();
    json_object_del(json_object_get(d, "attention_kernels"), "xqa");
    refuses(d, false, "f.json: attention_kernels.xqa: expected an object, found nothing");
    d = software();
    json_object_set_new(json_object_get(json_object_get(d, "attention_kernels"), "fa3"), "heads", json_string("all"));
    refuses(d, false, "attention_kernels.fa3: field \"heads\": expected \"group\" or \"one\", found \"all\"");
    d = software();
    json_object_set_new(json_object_get(json_object_get(d, "attention_kernels"), "fa3"), "key_cycles", json_real(-1));
    refuses(d, false, "attention_kernels.fa3: field \"key_cycles\": expected more than 0");
}

static json_t *machines(void)
{
    return shipped("hwprofiles/priors", "machines");
}

static void test_machines_refused(void **state)
{
    (void)state;
    json_t *d = machines();
    json_object_set_new(at(json_object_get(d, "names"), 2), "class", json_string("toaster"));
    refuses(d, true, "f.json: names[2]: field \"class\": expected a name of \"classes\", found \"toaster\"");
    d = machines();
    json_object_set_new(json_object_get(at(json_object_get(d, "classes"), 1), "balance"), "unit", json_string("FLOP/b"));
    refuses(d, true, "f.json: classes[1].balance: field \"unit\": expected FLOP/B, found \"FLOP/b\"");
    d = machines();
    json_object_set_new(json_object_get(at(json_object_get(d, "classes"), 1), "bandwidth"), "unit", json_string("GB/s"));
    refuses(d, true, "f.json: classes[1].bandwidth: field \"unit\": expected B/s, found \"GB/s\"");
    d = machines();
    json_object_del(json_object_get(at(json_object_get(d, "classes"), 1), "bandwidth"), "unit");
    json_object_set_new(at(json_object_get(d, "classes"), 2), "vendor", json_string("Nvidia"));
    refuses(d, true, "f.json: classes[2]: field \"vendor\": expected one of NVIDIA, AMD, Intel, Apple, Google, AWS, Qualcomm, Tenstorrent, "
                     "Ampere, Broadcom, CIX, found \"Nvidia\"");
    d = machines();
    json_object_set_new(at(json_object_get(d, "names"), 2), "vendor", json_string(""));
    refuses(d, true, "f.json: names[2]: field \"vendor\": expected one of NVIDIA, ");
    d = machines();
    json_object_set_new(at(json_object_get(d, "classes"), 0), "kind", json_string("tpu"));
    refuses(d, true, "classes[0]: field \"kind\": expected cpu, gpu, apu or npu, found \"tpu\"");
    d = machines();
    json_object_del(json_object_get(at(json_object_get(d, "classes"), 1), "bandwidth"), "source");
    refuses(d, true, "classes[1].bandwidth: field \"source\"");
    d = machines();
    json_object_set_new(json_object_get(at(json_object_get(d, "classes"), 1), "balance"), "value", json_real(0));
    refuses(d, true, "classes[1].balance: field \"value\": expected 1e-6 to 1e18, found 0");
}

static void test_families_refused(void **state)
{
    (void)state;
    json_t *d = machines();
    json_object_set_new(at(json_object_get(d, "families"), 3), "class", json_string("toaster"));
    refuses(d, true, "f.json: families[3]: field \"class\": expected a name of \"classes\", found \"toaster\"");
    d = machines();
    json_object_set_new(at(json_object_get(d, "families"), 3), "words", json_array());
    refuses(d, true, "f.json: families[3]: field \"words\": expected at least one word, found none");
    d = machines();
    json_object_set_new(at(json_object_get(d, "families"), 3), "cores", json_integer(0));
    refuses(d, true, "f.json: families[3]: field \"cores\": expected more than 0, found 0");
    d = machines();
    json_object_set_new(at(json_object_get(at(json_object_get(d, "families"), 0), "models"), 0), "clock", json_integer(-1));
    refuses(d, true, "f.json: families[0].models[0]: field \"clock\": expected more than 0, found -1");
    d = machines();
    json_object_set_new(at(json_object_get(d, "families"), 3), "vendor", json_string("Nvidia"));
    refuses(d, true, "f.json: families[3]: field \"vendor\": expected one of NVIDIA, ");
}

/* Cores, clock and channels by name: of a model, of a family whose model is not in the table, of graphics rather than its processor. */
static void test_families(void **state)
{
    static const struct {
        const char *name;
        enum hw_kind kind;
        double bytes_s;
        int n_cores; /* 0: no CPU */
        double fp32;
        const char *text;
    } of[] = {
        { "AMD EPYC 9254 24-Core Processor", HW_CPU, 460.8e9, 24, 24 * 2.9e9 * 32, "24 cores x 2.9 GHz, 12 channels of DDR5-4800, 460.8 GB/s" },
        { "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", HW_CPU, 76.8e9, 14, 14 * 2.4e9 * 32, "14 cores x 2.4 GHz, 4 channels of DDR4-2400" },
        { "Ryzen 9 7900X", HW_CPU, 83.2e9, 12, 12 * 4.7e9 * 32, "12 cores x 4.7 GHz" }, /* not of the 7900 */
        { "Core i9-11900K", HW_CPU, 51.2e9, 8, 8 * 4.2e9 * 32, "Intel Core of the 11th generation: 8 cores" },
        { "Intel Core Ultra 5 226V with Arc 130V [CPU]", HW_CPU, 136.5e9, 8, 8 * 3e9 * 32, "Lunar Lake): 8 cores" }, /* not its graphics */
        { "AMD EPYC 9999", HW_CPU, 360e9, 0, 0, "a machine of class CPU" },
        { "Ryzen 9 12345X", HW_CPU, 90e9, 0, 0, "a machine of class CPU" }, /* five digits are not the 1000 series */
        { "2x Intel Xeon Gold 6430", HW_CPU, 307.2e9, 32, 32 * 2.1e9 * 64, "one socket of the 2 that the name says" },
        { "Dual EPYC 99999", HW_CPU, 360e9, 0, 0, "one socket of the 2" },
        { "Xeon Gold 6499", HW_CPU, 307.2e9, 32, 32 * 2.2e9 * 64, "32 cores (assumed)" },
        { "Core i7-1165G7 (Iris Xe iGPU)", HW_APU, 60e9, 0, 96 * 1.3e9 * 16, "96 units (assumed)" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(of); i++) {
        struct hwprofile h;
        struct error err = { 0 };
        char note[256];
        bool found;
        assert_ok(machine_guess(&h, of[i].name, &found, note, sizeof note, &err), err);
        assert_true(found);
        assert_int_equal(h.kind, of[i].kind);
        assert_true(fabs(h.mem_bw.value / of[i].bytes_s - 1) < 1e-9);
        if (of[i].n_cores)
            assert_int_equal(h.n_cores, of[i].n_cores);
        if (of[i].fp32 > 0)
            assert_true(fabs(h.peak[MATH_FP32].value / of[i].fp32 - 1) < 1e-9);
        assert_non_null(strstr(note, of[i].text));
        hwprofile_free(&h);
    }
}

/* The maker's name makes no difference; sources end with a clause. */
static void test_makers(void **state)
{
    static const char *const of[][2] = { { "EPYC 99999", "AMD EPYC 99999" }, { "Xeon", "Intel Xeon" }, { "Ryzen 9 12345X", "AMD Ryzen 9 12345X" } };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(of); i++) {
        struct hwprofile h[2];
        struct error err = { 0 };
        char note[256];
        bool found;
        for (int k = 0; k < 2; k++)
            assert_ok(machine_guess(&h[k], of[i][k], &found, note, sizeof note, &err), err);
        assert_string_equal(h[0].vendor, h[1].vendor);
        assert_true(h[0].vendor[0] && strcmp(h[0].vendor, "?") != 0);
        assert_true(h[0].mem_bw.value == h[1].mem_bw.value);
        for (int k = 0; k < 2; k++)
            hwprofile_free(&h[k]);
    }
    struct hwprofile h;
    struct error err = { 0 };
    char note[256];
    bool found;
    assert_ok(machine_guess(&h, "a desktop CPU", &found, note, sizeof note, &err), err);
    assert_non_null(strstr(h.mem_bw.source, "names of servers say what they are"));
    assert_null(strstr(h.mem_bw.source, "standard"));
    hwprofile_free(&h);
}

/* Files of a constant: by name where it is written, by bit where it is held. */
static void test_files(void **state)
{
    static const char text[] = "{\"schema\": \"roofcast.constants\", \"version\": 1, \"fits\": {\"decode\": {\"sigma\": 1, \"source\": \"a.csv, b.csv, c.csv\", "
                               "\"constants\": [{\"name\": \"bandwidth\", \"value\": 0.8, \"spread\": 1.1, \"n_rows\": 3, \"from\": \"a.csv, c.csv\"}, "
                               "{\"name\": \"launch\", \"value\": 1e-6, \"spread\": 1.1, \"n_rows\": 3}]}}}";
    struct constants_file f;
    struct error err = { 0 };
    char buf[256];
    (void)state;
    assert_ok(constants_parse(&f, "f.json", text, strlen(text), &err), err);
    struct constants *c = &f.kind[FITTED_DECODE];
    assert_int_equal(c->c[0].from, 5);
    assert_int_equal(c->c[1].from, 7); /* default: all of them */
    assert_string_equal(constants_from(buf, sizeof buf, c->source, c->c[0].from | CONSTANTS_SHOWN), "a.csv, c.csv, --anchor");
    c->c[1].from = 4;
    constants_keep_files(c);
    assert_string_equal(c->source, "a.csv, c.csv");
    assert_int_equal(c->c[0].from, 3);
    assert_int_equal(c->c[1].from, 2);
    constants_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_software),
        cmocka_unit_test(test_software_refused),
        cmocka_unit_test(test_machines_refused),
        cmocka_unit_test(test_families_refused),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_makers),
        cmocka_unit_test(test_files),
    };
    environment_set_dirs(data_dirs());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
