/*
 * Events of micro-architectures: files are read strictly, chosen by CPU, and their events encode to the raw words that the
 * vendors' manuals and other tools have; the perf backend on machines made of files.
 */
#include "counters/events.h"
#include "counters/internal.h"
#include "tree.h"
#include <time.h>

#define DEV "sys/bus/event_source/devices/"

static void put_pmu(const char *root, const char *name, const char *type, const char *cpumask, const char *const *formats)
{
    char path[256], text[64];
    snprintf(path, sizeof path, DEV "%s/type", name);
    tree_put(root, path, type);
    if (cpumask) {
        snprintf(path, sizeof path, DEV "%s/cpumask", name);
        tree_put(root, path, cpumask);
    }
    for (; *formats; formats += 2) {
        snprintf(path, sizeof path, DEV "%s/format/%s", name, formats[0]);
        snprintf(text, sizeof text, "%s\n", formats[1]);
        tree_put(root, path, text);
    }
}

/* Formats of linux 6.12: PMU_FORMAT_ATTR in arch/x86/events/intel/core.c and amd/core.c, DEFINE_UNCORE_FORMAT_ATTR in
 * amd/uncore.c (event14, umask8, event8, rdwrmask); ATTR_CFG_FLD_event in drivers/perf/arm_pmuv3.c; ARM_CSPMU_FORMAT_EVENT_ATTR in
 * drivers/perf/arm_cspmu/arm_cspmu.h. */
static const char *const intel[] = { "event", "config:0-7", "umask", "config:8-15", "edge", "config:18", "cmask", "config:24-31",
                                     "offcore_rsp", "config1:0-63", NULL };
static const char *const amd_core[] = { "event", "config:0-7,32-35", "umask", "config:8-15", NULL };
static const char *const amd_df[] = { "event", "config:0-7,32-35,59-60", "umask", "config:8-15", NULL };
static const char *const amd_umc[] = { "event", "config:0-7", "rdwrmask", "config:8-9", NULL };
static const char *const arm_core[] = { "event", "config:0-15", "long", "config1:0", NULL };
static const char *const scf[] = { "event", "config:0-32", NULL };

/* Two sockets of six channels, with the free-running counters of a desktop beside them to tell apart. */
static void put_intel(const char *root)
{
    char name[64];
    tree_put(root, "proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"
                                   "model name\t: Intel(R) Xeon(R) Platinum 8180 CPU @ 2.50GHz\nstepping\t: 4\n\nprocessor\t: 1\nmodel\t\t: 1\n");
    put_pmu(root, "cpu", "4\n", NULL, intel);
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "uncore_imc_%d", i);
        put_pmu(root, name, "20\n", "0,28\n", intel);
    }
    put_pmu(root, "uncore_imc_free_running_0", "40\n", "0\n", intel);
    tree_put(root, DEV "uncore_imc_0/events/cas_count_read", "event=0x04,umask=0x03\n");
    tree_put(root, DEV "uncore_imc_0/events/cas_count_read.scale", "6.103515625e-5\n");
    tree_put(root, DEV "uncore_imc_0/events/cas_count_read.unit", "MiB\n");
}

static void put_amd(const char *root)
{
    tree_put(root, "proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nstepping\t: 1\n");
    put_pmu(root, "cpu", "4\n", NULL, amd_core);
    put_pmu(root, "amd_df", "12\n", "0\n", amd_df);
    for (int i = 0; i < 12; i++) {
        char name[64];
        snprintf(name, sizeof name, "amd_umc_%d", i);
        put_pmu(root, name, "30\n", "0\n", amd_umc);
    }
}

static void put_grace(const char *root, bool with_scf)
{
    tree_put(root, "proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 2000.00\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
                                   "CPU variant\t: 0x0\nCPU part\t: 0xd4f\nCPU revision\t: 0\n");
    put_pmu(root, "armv8_pmuv3_0", "10\n", NULL, arm_core);
    tree_put(root, DEV "armv8_pmuv3_0/cpus", "0-71\n");
    if (with_scf)
        put_pmu(root, "nvidia_scf_pmu_0", "50\n", "0\n", scf);
}

static void files_of(char path[4200], const char *name)
{
    if (!name_file(path, 4200, data_dirs(), "events", name))
        fail_msg("no file events/%s.json", name);
}

/* ---- raw words --------------------------------------------------------------------------------------------------- */

/*
 * Three a micro-architecture, each put together by hand from a place that the event files were not made from, as it stood at these
 * commits, and from the formats above:
 *
 *   perfmon  github.com/intel/perfmon 6dadedf: EventCode, UMask and MSRValue of the core and uncore lists under <model>/events. What is
 *            counted by a fixed counter has the encoding of tools/perf/pmu-events/jevents.py (linux 6.12).
 *   libpfm   github.com/wcohen/libpfm4 91970fe, lib/events: .code and .ucode, or .code on Arm.
 *   likwid   github.com/RRZE-HPC/likwid d9c523b, src/includes/perfmon_NAME_events.txt: EVENT_ and UMASK_ lines.
 *   arm      github.com/ARM-software/data 6aeb4c8, pmu/NAME.json: "code", which is decimal there.
 *   linux    6.12, where nobody else has the event: the file and line that are named.
 */
static const struct raw {
    const char *file, *event, *pmu;
    uint64_t config, config1;
} raws[] = {
    /* perfmon: SKX "EventCode": "0xC7", "UMask": "0x80"; "0x51", "0x01"; uncore "0x4", "0x3"; "0xB7", "0x01", "0x3FBC000491" */
    { "skylake-sp", "FP_ARITH_INST_RETIRED.512B_PACKED_SINGLE", "cpu", 0x80c7, 0 },
    { "skylake-sp", "L1D.REPLACEMENT", "cpu", 0x0151, 0 },
    { "skylake-sp", "UNC_M_CAS_COUNT.RD", "uncore_imc_0", 0x0304, 0 },
    { "skylake-sp", "OFFCORE_RESPONSE.ALL_DATA_RD.L3_MISS.ANY_SNOOP", "cpu", 0x01b7, 0x3fbc000491 },
    { "skylake-sp", "OFFCORE_RESPONSE.ALL_RFO.L3_MISS.ANY_SNOOP", "cpu", 0x01b7, 0x3fbc000122 },
    /* perfmon: CLX */
    { "cascade-lake", "FP_ARITH_INST_RETIRED.SCALAR_SINGLE", "cpu", 0x02c7, 0 },
    { "cascade-lake", "L2_LINES_IN.ALL", "cpu", 0x1ff1, 0 },
    { "cascade-lake", "UNC_M_CAS_COUNT.WR", "uncore_imc_0", 0x0c04, 0 },
    { "cascade-lake", "OCR.ALL_READS.L3_MISS.ANY_SNOOP", "cpu", 0x01b7, 0x3fbc0007f7 },
    /* perfmon: ICX */
    { "ice-lake-sp", "FP_ARITH_INST_RETIRED.256B_PACKED_SINGLE", "cpu", 0x20c7, 0 },
    { "ice-lake-sp", "OCR.READS_TO_CORE.L3_MISS", "cpu", 0x01b7, 0x3f3fc00477 },
    { "ice-lake-sp", "UNC_M_CAS_COUNT.WR", "uncore_imc_0", 0x3004, 0 },
    /* perfmon: SPR, EMR, GNR; libpfm intel_spr_events.h has the same codes of L2_LINES_IN and INT_VEC_RETIRED */
    { "sapphire-rapids", "INST_RETIRED.ANY", "cpu", 0x00c0, 0 },
    { "sapphire-rapids", "L2_LINES_IN.ALL", "cpu", 0x1f25, 0 },
    { "sapphire-rapids", "UNC_M_CAS_COUNT.RD", "uncore_imc_0", 0xcf05, 0 },
    { "sapphire-rapids", "OCR.READS_TO_CORE.L3_MISS", "cpu", 0x012a, 0x3f3fc04477 },
    { "emerald-rapids", "INT_VEC_RETIRED.VNNI_256", "cpu", 0x20e7, 0 },
    { "emerald-rapids", "FP_ARITH_INST_RETIRED2.512B_PACKED_HALF", "cpu", 0x10cf, 0 },
    { "emerald-rapids", "UNC_M_CAS_COUNT.WR", "uncore_imc_0", 0xf005, 0 },
    { "granite-rapids", "FP_ARITH_INST_RETIRED.512B_PACKED_DOUBLE", "cpu", 0x40c7, 0 },
    { "granite-rapids", "UNC_M_CAS_COUNT_SCH0.RD", "uncore_imc_0", 0xcf05, 0 },
    { "granite-rapids", "UNC_M_CAS_COUNT_SCH1.WR", "uncore_imc_0", 0xf006, 0 },
    /* likwid: zen2 L2_PF_MISS_IN_L3 0x72, 0x1F; DRAM_CHANNEL_0 0x07, 0x38. libpfm amd64_events_fam17h_zen2.h: code 0x43.
     * linux: amdzen2/data-fabric.json, channel 7: 0x1c7, whose ninth bit is config's bit 32. */
    { "zen2", "l2_pf_miss_l2_l3 of L2 prefetchers", "cpu", 0x1f72, 0 },
    { "zen2", "ls_refills_from_sys, other dies and DRAM", "cpu", 0x5843, 0 },
    { "zen2", "dram_channel_data_controller_0", "amd_df", 0x3807, 0 },
    { "zen2", "dram_channel_data_controller_7", "amd_df", 0x1000038c7, 0 },
    /* libpfm amd64_events_fam19h_zen3.h: 0xc0; L2_PREFETCH_MISS_L3 0x72, L2_HW_PREFETCHER 0x1f. likwid: zen3 DRAM_CHANNEL_2 0x87 */
    { "zen3", "ex_ret_instr", "cpu", 0x00c0, 0 },
    { "zen3", "l2_pf_miss_l2_l3 of L2 prefetchers", "cpu", 0x1f72, 0 },
    { "zen3", "dram_channel_data_controller_2", "amd_df", 0x3887, 0 },
    { "zen3", "dram_channel_data_controller_4", "amd_df", 0x100003807, 0 },
    /* libpfm amd64_events_fam19h_zen4.h: RETIRED_SSE_AVX_FLOPS 0x3, 0x1 + 0x2 + 0x4 + 0x8 and BFLOAT_MAC_FLOPS 0x10.
     * linux: amdzen4/memory-controller.json, RdWrMask */
    { "zen4", "fp_ret_sse_avx_ops without bfloat", "cpu", 0x0f03, 0 },
    { "zen4", "fp_ret_sse_avx_ops.bfloat_mac_flops", "cpu", 0x1003, 0 },
    { "zen4", "umc_cas_cmd.rd", "amd_umc_0", 0x010a, 0 },
    /* likwid: zen5 RETIRED_SSE_AVX_FLOPS_ALL_SP_PACKED 0x03, 0x6F, ..._ALL_BF16 0x2F; RETIRED_INT_OPS_SSE_AVX_VNNI 0x0B, 0xC0 */
    { "zen5", "fp_ret_sse_avx_ops.packed_single_flops", "cpu", 0x6f03, 0 },
    { "zen5", "fp_ret_sse_avx_ops.bfloat16_flops", "cpu", 0x2f03, 0 },
    { "zen5", "sse_avx_ops_retired.sse_avx_vnni", "cpu", 0xc00b, 0 },
    { "zen5", "umc_cas_cmd.wr", "amd_umc_0", 0x020a, 0 },
    /* arm: neoverse-n1.json 8, 3, 55 */
    { "neoverse-n1", "INST_RETIRED", "armv8_pmuv3_0", 8, 0 },
    { "neoverse-n1", "L1D_CACHE_REFILL", "armv8_pmuv3_0", 3, 0 },
    { "neoverse-n1", "LL_CACHE_MISS_RD", "armv8_pmuv3_0", 55, 0 },
    /* arm: neoverse-v1.json 32960, 32961, 23 */
    { "neoverse-v1", "FP_SCALE_OPS_SPEC", "armv8_pmuv3_0", 32960, 0 },
    { "neoverse-v1", "FP_FIXED_OPS_SPEC", "armv8_pmuv3_0", 32961, 0 },
    { "neoverse-v1", "L2D_CACHE_REFILL", "armv8_pmuv3_0", 23, 0 },
    /* arm: neoverse-v2.json 17, 32961, 55 */
    { "neoverse-v2", "CPU_CYCLES", "armv8_pmuv3_0", 17, 0 },
    { "neoverse-v2", "FP_FIXED_OPS_SPEC", "armv8_pmuv3_0", 32961, 0 },
    { "neoverse-v2", "LL_CACHE_MISS_RD", "armv8_pmuv3_0", 55, 0 },
    /* likwid: nvidiagrace CMEM_RD_DATA 0x1A5, CMEM_WR_TOTAL_BYTES 0x1DB, FP_SCALE_OPS_SPEC 0x80C0 */
    { "grace", "cmem_rd_data", "nvidia_scf_pmu_0", 0x1a5, 0 },
    { "grace", "cmem_wr_total_bytes", "nvidia_scf_pmu_0", 0x1db, 0 },
    { "grace", "FP_SCALE_OPS_SPEC", "armv8_pmuv3_0", 0x80c0, 0 },
    /* arm: common_armv8.json 8, 17, 3 */
    { "armv8-pmuv3", "INST_RETIRED", "armv8_pmuv3_0", 8, 0 },
    { "armv8-pmuv3", "CPU_CYCLES", "armv8_pmuv3_0", 17, 0 },
    { "armv8-pmuv3", "L1D_CACHE_REFILL", "armv8_pmuv3_0", 3, 0 },
};

static const struct event_def *event_of(const struct event_file *f, const char *name)
{
    for (size_t i = 0; i < f->n_event; i++)
        if (strcmp(f->event[i].name, name) == 0)
            return &f->event[i];
    fail_msg("%s has no event %s", f->name, name);
    return NULL;
}

static const struct pmu *pmu_of(const struct pmu_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->pmu[i].name, name) == 0)
            return &l->pmu[i];
    return NULL;
}

static void raw_words(void **state)
{
    (void)state;
    static void (*const put[])(const char *) = { put_intel, put_amd };
    struct pmu_list l[3];
    char root[3][64], path[4200];
    struct error err = { 0 };
    for (int i = 0; i < 3; i++) {
        tree_new(root[i]);
        i < 2 ? put[i](root[i]) : put_grace(root[i], true);
        assert_ok(pmu_list_load(&l[i], root[i], &err), err);
    }
    for (size_t i = 0; i < ARRAY_LEN(raws); i++) {
        const struct raw *r = &raws[i];
        const int vendor = strncmp(r->file, "zen", 3) == 0 ? 1 : strncmp(r->pmu, "cpu", 3) != 0 && r->pmu[0] != 'u' ? 2 : 0;
        struct event_file f;
        struct pmu_config config;
        files_of(path, r->file);
        assert_ok(event_file_load(&f, path, &err), err);
        const struct pmu *pmu = pmu_of(&l[vendor], r->pmu);
        assert_non_null(pmu);
        assert_ok(pmu_encode(&config, &l[vendor], pmu, event_of(&f, r->event)->config, &err), err);
        if (config.word[0] != r->config || config.word[1] != r->config1 || config.word[2] != 0)
            fail_msg("%s %s: %#llx and %#llx, expected %#llx and %#llx", r->file, r->event, (unsigned long long)config.word[0],
                     (unsigned long long)config.word[1], (unsigned long long)r->config, (unsigned long long)r->config1);
        event_file_free(&f);
    }
    for (int i = 0; i < 3; i++) {
        pmu_list_free(&l[i]);
        tree_free(root[i]);
    }
}

/* Every file has three words above, and each of its lines says which file of whom it is from. */
static void all_are_sourced(void **state)
{
    (void)state;
    static const char *const from[] = { "linux 6.12 ", "libpfm4 " };
    char **names = NULL, path[4200];
    size_t n = 0;
    struct error err = { 0 };
    assert_ok(name_list(&names, &n, data_dirs(), "events", &err), err);
    assert_true(n >= 15);
    for (size_t i = 0; i < n; i++) {
        struct event_file f;
        size_t words = 0;
        files_of(path, names[i]);
        assert_ok(event_file_load(&f, path, &err), err);
        for (size_t k = 0; k < ARRAY_LEN(raws); k++)
            words += strcmp(raws[k].file, f.name) == 0;
        if (words < 3)
            fail_msg("%s: %zu raw words, expected 3", f.name, words);
        for (size_t k = 0; k < f.n_event; k++) {
            size_t whose = 0;
            while (whose < ARRAY_LEN(from) && strncmp(f.event[k].source, from[whose], strlen(from[whose])) != 0)
                whose++;
            if (whose == ARRAY_LEN(from))
                fail_msg("%s: %s is from \"%s\"", f.name, f.event[k].name, f.event[k].source);
        }
        event_file_free(&f);
    }
    name_list_free(names, n);
}

/* FLOP that a count stands for: lanes, since a multiply-add counts twice. */
static void scales(void **state)
{
    (void)state;
    static const struct {
        const char *file, *event;
        double scale;
    } want[] = {
        { "skylake-sp", "FP_ARITH_INST_RETIRED.512B_PACKED_SINGLE", 16 },
        { "skylake-sp", "FP_ARITH_INST_RETIRED.128B_PACKED_DOUBLE", 2 },
        { "sapphire-rapids", "FP_ARITH_INST_RETIRED2.512B_PACKED_HALF", 32 },
        { "ice-lake-sp", "UNC_M_CAS_COUNT.RD", 64 },
        { "zen4", "fp_ret_sse_avx_ops without bfloat", 1 },
        { "zen4", "umc_cas_cmd.wr", 64 },
        { "neoverse-v1", "FP_SCALE_OPS_SPEC", 2 },
        { "neoverse-v2", "FP_SCALE_OPS_SPEC", 1 },
        { "grace", "cmem_rd_data", 32 },
        { "grace", "cmem_wr_total_bytes", 1 },
    };
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        struct event_file f;
        struct error err = { 0 };
        char path[4200];
        files_of(path, want[i].file);
        assert_ok(event_file_load(&f, path, &err), err);
        assert_true(event_of(&f, want[i].event)->scale == want[i].scale);
        event_file_free(&f);
    }
}

/* ---- choosing ------------------------------------------------------------------------------------------------------ */

static void check_choice(const char *vendor, int family, int model, int stepping, const struct pmu_list *pmus, const char *want)
{
    struct cpu_kind k = { .family = family, .model = model, .stepping = stepping };
    struct event_file f;
    struct error err = { 0 };
    snprintf(k.vendor, sizeof k.vendor, "%s", vendor);
    const int rc = event_file_find(&f, data_dirs(), &k, pmus, &err);
    if (rc < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(rc, want != NULL);
    if (want)
        assert_string_equal(f.name, want);
    event_file_free(&f);
}

static void files_are_chosen(void **state)
{
    (void)state;
    char root[64];
    struct pmu_list none = { 0 }, grace;
    struct error err = { 0 };
    put_grace(tree_new(root), true);
    assert_ok(pmu_list_load(&grace, root, &err), err);
    check_choice("GenuineIntel", 6, 85, 4, &none, "skylake-sp");
    check_choice("GenuineIntel", 6, 85, 7, &none, "cascade-lake");
    check_choice("GenuineIntel", 6, 106, 6, &none, "ice-lake-sp");
    check_choice("GenuineIntel", 6, 143, 8, &none, "sapphire-rapids");
    check_choice("GenuineIntel", 6, 207, 2, &none, "emerald-rapids");
    check_choice("GenuineIntel", 6, 173, 0, &none, "granite-rapids");
    check_choice("GenuineIntel", 6, 42, 7, &none, NULL);
    check_choice("AuthenticAMD", 23, 49, 0, &none, "zen2");
    check_choice("AuthenticAMD", 23, 1, 2, &none, NULL);
    check_choice("AuthenticAMD", 25, 1, 1, &none, "zen3");
    check_choice("AuthenticAMD", 25, 17, 1, &none, "zen4");
    check_choice("AuthenticAMD", 25, 97, 2, &none, "zen4");
    check_choice("AuthenticAMD", 26, 2, 1, &none, "zen5");
    check_choice("arm", 0x41, 0xd0c, -1, &none, "neoverse-n1");
    check_choice("arm", 0x41, 0xd40, -1, &none, "neoverse-v1");
    check_choice("arm", 0x41, 0xd4f, -1, &none, "neoverse-v2");
    check_choice("arm", 0x41, 0xd4f, -1, &grace, "grace");
    check_choice("arm", 0x41, 0xd07, -1, &none, "armv8-pmuv3"); /* Cortex-A57 */
    pmu_list_free(&grace);
    tree_free(root);
}

/* ---- what the kernel shows ------------------------------------------------------------------------------------------- */

static void trees_are_read(void **state)
{
    (void)state;
    char root[64], text[96];
    struct pmu_list l;
    struct cpu_kind k;
    struct pmu_config c;
    struct error err = { 0 };
    double scale = 0;
    put_intel(tree_new(root));
    assert_ok(pmu_list_load(&l, root, &err), err);
    assert_int_equal(l.n, 14);
    assert_string_equal(l.pmu[3].name, "uncore_imc_2"); /* by number: before uncore_imc_10 */
    assert_int_equal(l.pmu[3].cpus.n, 2);
    assert_int_equal(l.pmu[3].cpus.cpu[1], 28);
    assert_true(pmu_matches("uncore_imc_11", "uncore_imc") && pmu_matches("cpu", "cpu"));
    assert_false(pmu_matches("uncore_imc_free_running_0", "uncore_imc"));
    assert_false(pmu_matches("uncore_imc_", "uncore_imc"));
    assert_true(pmu_matches("arm_dmc620_10008c000", "arm_dmc620"));
    assert_string_equal(pmu_core(&l, 5)->name, "cpu");
    cpu_kind_load(&k, root);
    assert_string_equal(k.vendor, "GenuineIntel");
    assert_true(k.family == 6 && k.model == 85 && k.stepping == 4);
    assert_int_equal(pmu_event(text, sizeof text, &scale, &l, &l.pmu[1], "cas_count_read"), 0);
    assert_string_equal(text, "event=0x04,umask=0x03");
    assert_true(scale == 64);
    assert_int_equal(pmu_event(text, sizeof text, &scale, &l, &l.pmu[2], "cas_count_read"), -1);
    assert_fails(pmu_encode(&c, &l, &l.pmu[0], "event=0x1c7", &err), err, "0x1c7 does not fit the format \"config:0-7\"");
    assert_fails(pmu_encode(&c, &l, &l.pmu[0], "evnt=1", &err), err, "no field \"evnt\"");
    assert_fails(pmu_encode(&c, &l, &l.pmu[0], "event=", &err), err, "expected FIELD=NUMBER");
    assert_fails(pmu_encode(&c, &l, &l.pmu[0], "event=1;umask=2", &err), err, "expected FIELD=NUMBER");
    assert_ok(pmu_encode(&c, &l, &l.pmu[0], "event=0xc7,umask=0x80,edge,cmask=0x10", &err), err);
    assert_int_equal(c.word[0], 0x100480c7);
    assert_ok(pmu_encode(&c, &l, &l.pmu[0], "config=0xdeadbeef12,config1=7", &err), err);
    assert_true(c.word[0] == 0xdeadbeef12 && c.word[1] == 7);
    pmu_list_free(&l);
    tree_free(root);
}

/* Cores of two kinds: each CPU has its own PMU. */
static void hybrid_cores(void **state)
{
    (void)state;
    char root[64];
    struct pmu_list l;
    struct error err = { 0 };
    tree_new(root);
    put_pmu(root, "cpu_core", "4\n", NULL, intel);
    put_pmu(root, "cpu_atom", "10\n", NULL, intel);
    tree_put(root, DEV "cpu_core/cpus", "0-15\n");
    tree_put(root, DEV "cpu_atom/cpus", "16-23\n");
    assert_ok(pmu_list_load(&l, root, &err), err);
    assert_string_equal(pmu_core(&l, 3)->name, "cpu_core");
    assert_string_equal(pmu_core(&l, 20)->name, "cpu_atom");
    assert_null(pmu_core(&l, 30));
    pmu_list_free(&l);
    tree_free(root);
}

/* ---- the backend on machines made of files ------------------------------------------------------------------------------ */

static void put_events(const char *dir, const char *counters, const char *events)
{
    char text[4096];
    snprintf(text, sizeof text,
             "{\"schema\": \"roofcast.events\", \"version\": 1, \"name\": \"t\", \"title\": \"t\", \"cpus\": [\"Test 1 1\"],"
             " \"counters\": %s, \"events\": [%s]}", counters, events);
    tree_put(dir, "events/t.json", text);
    tree_put(dir, "proc/cpuinfo", "vendor_id\t: Test\ncpu family\t: 1\nmodel\t\t: 1\nstepping\t: 1\n");
}

static struct counters *open_tree(const char *root, bool uncalibrated, struct error *err)
{
    const char *dirs[] = { root, NULL };
    const struct counters_options o = { .backend = "perf", .n_threads = 1, .data_dirs = dirs, .root = root,
                                        .uncalibrated = uncalibrated };
    return counters_open(&o, err);
}

/* A core whose "PMU" is the kernel's software one: real counts, in two sets because it has one counter. */
static void two_sets(void **state)
{
    (void)state;
    char root[64];
    struct error err = { 0 };
    struct counter_sample a, b, part[2];
    tree_new(root);
    put_pmu(root, "cpu", "1\n", NULL, arm_core);
    put_events(root, "{\"core\": 1}",
               "{\"name\": \"faults\", \"field\": \"page_faults\", \"pmu\": \"core\", \"config\": \"event=0x2\", \"scale\": 1,"
               " \"work\": \"page_faults\", \"source\": \"test\"},"
               "{\"name\": \"minor\", \"field\": \"l1_fill_bytes\", \"pmu\": \"core\", \"config\": \"event=0x5\", \"scale\": 4096,"
               " \"work\": \"page_faults\", \"source\": \"test\"},"
               "{\"name\": \"major\", \"field\": \"flop\", \"pmu\": \"core\", \"config\": \"event=0x6\", \"scale\": 1,"
               " \"work\": \"page_faults\", \"source\": \"test\"}");
    struct counters *c = open_tree(root, false, &err);
    if (!c) {
        print_message("# %s\n", err.msg);
        tree_free(root);
        skip();
    }
    assert_int_equal(counters_n_set(c), 3);
    assert_ok(counters_thread_start(c, 0, &err), err);
    for (int s = 0; s < 2; s++) {
        counters_thread_select(c, 0, s);
        counters_read(c, 0, &a);
        for (int i = 0; i < 10; i++) {
            char *p = malloc(1 << 20);
            memset(p, i, 1 << 20);
            free(p);
        }
        counters_read(c, 0, &b);
        counter_sample_diff(&part[s], &a, &b);
    }
    assert_true(part[0].valid[COUNTER_PAGE_FAULTS] && !part[0].valid[COUNTER_L1_FILL_BYTES]);
    assert_true(!part[1].valid[COUNTER_PAGE_FAULTS] && part[1].valid[COUNTER_L1_FILL_BYTES]);
    assert_int_equal(part[1].value[COUNTER_L1_FILL_BYTES] % 4096, 0);
    /* No page came from a disk: dead, and said to be. */
    assert_non_null(strstr(counters_reason(c, COUNTER_FLOP), "major is dead: 0 counted of"));
    counters_close(c);
    tree_free(root);
}

/* An uncore whose units are the time stamp counters of CPU 0: two units and one CPU, and one that runs a thousand times as
 * fast as memory could. */
static void uncore_units(void **state)
{
    (void)state;
    static const char *const event[] = { "event", "config:0-63", NULL };
    char root[64], type[16] = "";
    struct error err = { 0 };
    struct counter_sample a, b, d;
    FILE *f = fopen("/" DEV "msr/type", "r");
    if (!f || !fgets(type, sizeof type, f))
        skip();
    fclose(f);
    tree_new(root);
    put_pmu(root, "cpu", "1\n", NULL, arm_core);
    put_pmu(root, "fake_imc_0", type, "0\n", event);
    put_pmu(root, "fake_imc_1", type, "0\n", event);
    put_events(root, "{\"core\": 4}",
               "{\"name\": \"rd\", \"field\": \"dram_read_bytes\", \"pmu\": \"fake_imc\", \"config\": \"event=0x0\", \"scale\": 64,"
               " \"work\": \"dram_read\", \"source\": \"test\"},"
               "{\"name\": \"wr\", \"field\": \"dram_write_bytes\", \"pmu\": \"fake_imc\", \"config\": \"event=0x0\", \"scale\": 1,"
               " \"work\": \"dram_write\", \"source\": \"test\"}");
    struct counters *c = open_tree(root, true, &err);
    assert_non_null(c);
    if (counters_reason(c, COUNTER_DRAM_BYTES)[0]) {
        print_message("# %s\n", counters_reason(c, COUNTER_DRAM_BYTES));
        counters_close(c);
        tree_free(root);
        skip();
    }
    assert_ok(counters_thread_start(c, 0, &err), err);
    counters_read(c, 0, &a);
    nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    counters_read(c, 0, &b);
    counter_sample_diff(&d, &a, &b);
    assert_true(d.valid[COUNTER_DRAM_READ_BYTES] && d.valid[COUNTER_DRAM_WRITE_BYTES] && d.valid[COUNTER_DRAM_BYTES]);
    const double ratio = (double)d.value[COUNTER_DRAM_READ_BYTES] / (double)d.value[COUNTER_DRAM_WRITE_BYTES];
    assert_true(ratio > 63.9 && ratio < 64.1); /* a group: the same moment */
    assert_int_equal(d.value[COUNTER_DRAM_BYTES], d.value[COUNTER_DRAM_READ_BYTES] + d.value[COUNTER_DRAM_WRITE_BYTES]);
    assert_int_equal(counters_field_source(c, COUNTER_DRAM_BYTES), SOURCE_UNCORE_COUNTERS);
    assert_true(counters_field_shared(c, COUNTER_DRAM_BYTES));
    const uint64_t two = d.value[COUNTER_DRAM_WRITE_BYTES];
    assert_string_equal(counters_event(c, 0)->units, "2 x fake_imc on 1");
    counters_close(c);
    /* One unit alone has half of it, and with counts that no memory reaches there is none. */
    put_events(root, "{\"core\": 4}",
               "{\"name\": \"wr\", \"field\": \"dram_write_bytes\", \"pmu\": \"fake_imc_0\", \"config\": \"event=0x0\","
               " \"scale\": 1, \"work\": \"dram_write\", \"source\": \"test\"},"
               "{\"name\": \"rd\", \"field\": \"dram_read_bytes\", \"pmu\": \"fake_imc_1\", \"config\": \"event=0x0\","
               " \"scale\": 100000, \"work\": \"dram_read\", \"source\": \"test\"}");
    c = open_tree(root, true, &err);
    assert_non_null(c);
    assert_ok(counters_thread_start(c, 0, &err), err);
    counters_read(c, 0, &a);
    nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    counters_read(c, 0, &b);
    counter_sample_diff(&d, &a, &b);
    const double half = (double)d.value[COUNTER_DRAM_WRITE_BYTES] / (double)two;
    print_message("# one unit of two: %.2f\n", half);
    assert_true(half < 0.9);
    assert_int_equal(d.value[COUNTER_DRAM_READ_BYTES], 0);
    assert_non_null(strstr(counters_event(c, 1)->units, "phantom"));
    counters_close(c);
    tree_free(root);
}

/* A machine whose PMUs this kernel does not have: everything says why. */
static void other_machine(void **state)
{
    (void)state;
    char root[64];
    struct error err = { 0 };
    put_amd(tree_new(root));
    const struct counters_options o = { .backend = "perf", .n_threads = 1, .data_dirs = data_dirs(), .root = root };
    struct counters *c = counters_open(&o, &err);
    if (c) {
        for (int f = 0; f <= COUNTER_DRAM_BYTES; f++)
            if (!counters_reason(c, (enum counter_field)f)[0])
                fail_msg("%s: counted on a machine made of files", counter_field_name((enum counter_field)f));
    }
    counters_close(c);
    tree_free(root);
}

/* ---- strict ---------------------------------------------------------------------------------------------------------------- */

#define HEAD "{\"schema\": \"roofcast.events\", \"version\": 1, \"name\": \"n\", \"title\": \"t\", "
#define CPUS "\"cpus\": [\"GenuineIntel 6 85 0-4\"], \"counters\": {\"core\": 4}, "
#define EVENT(s) "\"events\": [{" s "}]}"
#define GOOD "\"name\": \"a\", \"field\": \"flop\", \"pmu\": \"core\", \"config\": \"event=0xc7\", \"scale\": 2, \"source\": \"s\""

static void bad_files(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        { "{}", "schema" },
        { HEAD CPUS "\"events\": []}", "field \"events\": expected an array of 1 to 96" },
        { HEAD "\"counters\": {}, " EVENT(GOOD), "field \"cpus\": expected an array" },
        { HEAD "\"cpus\": [\"Intel\"], \"counters\": {}, " EVENT(GOOD), "found \"Intel\", expected \"VENDOR FAMILY" },
        { HEAD "\"cpus\": [\"Intel 6 9-5\"], \"counters\": {}, " EVENT(GOOD), "found \"Intel 6 9-5\"" },
        { HEAD "\"cpus\": [\"Intel 6 5 1 1\"], \"counters\": {}, " EVENT(GOOD), "found \"Intel 6 5 1 1\"" },
        { HEAD "\"cpus\": [\"Intel 6 5\"], \"counters\": {\"core\": 0}, " EVENT(GOOD), "counters: field \"core\"" },
        { HEAD "\"cpus\": [\"Intel 6 5\"], \"counters\": 4, " EVENT(GOOD), "counters: expected an object" },
        { HEAD CPUS "\"limits\": {\"flops\": \"x\"}, " EVENT(GOOD), "found \"flops\", expected one of: cycles, instructions" },
        { HEAD CPUS "\"extra\": 1, " EVENT(GOOD), "field \"extra\" is not known" },
        { HEAD CPUS EVENT(GOOD ", \"umask\": 1"), "events[0]: field \"umask\" is not known" },
        { HEAD CPUS EVENT("\"name\": \"a\", \"field\": \"sw_bytes\", \"pmu\": \"core\", \"config\": \"event=1\", \"scale\": 1, "
                          "\"source\": \"s\""), "found \"sw_bytes\", expected one of" },
        { HEAD CPUS EVENT("\"name\": \"a\", \"field\": \"flop\", \"pmu\": \"core\", \"config\": \"event=1\", \"scale\": 0, "
                          "\"source\": \"s\""), "field \"scale\": found 0, expected above 0" },
        { HEAD CPUS EVENT("\"name\": \"a\", \"field\": \"flop\", \"pmu\": \"core\", \"config\": \"event=1\", \"scale\": 1"),
          "source" },
        { HEAD CPUS EVENT("\"name\": \"a\", \"field\": \"flop\", \"pmu\": \"core\", \"scale\": 1, \"source\": \"s\""),
          "expected one of the fields \"config\" and \"sysfs_event\", found none" },
        { HEAD CPUS EVENT(GOOD ", \"sysfs_event\": \"x\""), "found both" },
        { HEAD CPUS EVENT(GOOD ", \"work\": \"miracles\""), "\"miracles\" is no known work" },
        { HEAD CPUS EVENT("\"name\": \"a\", \"field\": \"flop\", \"pmu\": \"core\", \"config\": \"event=0xg\", \"scale\": 1, "
                          "\"source\": \"s\""), "found \"event=0xg\", expected FIELD=NUMBER" },
        { HEAD CPUS "\"events\": [{" GOOD "}, {" GOOD "}]}", "events[1]: field \"name\": \"a\" is there already" },
    };
    struct event_file f;
    struct error err = { 0 };
    const char good[] = HEAD CPUS EVENT(GOOD);
    assert_ok(event_file_parse(&f, "good", good, strlen(good), &err), err);
    event_file_free(&f);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_fails(event_file_parse(&f, "bad.json", bad[i].text, strlen(bad[i].text), &err), err, bad[i].says);
        assert_non_null(strstr(err.msg, "bad.json"));
    }
}

/* What is wrong in a file is the business of the CPUs that it is for, or, where not even these can be read, of those without one. */
static void wrong_files_are_their_own_cpus_business(void **state)
{
    (void)state;
    char root[64];
    const char *const dirs[] = { tree_new(root), NULL };
    const struct cpu_kind arm = { .vendor = "arm", .family = 0x41, .model = 1 },
                          epyc = { .vendor = "AuthenticAMD", .family = 25, .model = 1 },
                          xeon = { .vendor = "GenuineIntel", .family = 6, .model = 85, .stepping = 1 };
    const struct pmu_list none = { 0 };
    struct event_file f;
    struct error err = { 0 };
    tree_put(root, "events/good.json", HEAD "\"cpus\": [\"arm 0x41 1\"], \"counters\": {}, " EVENT(GOOD));
    tree_put(root, "events/vendor.json", HEAD "\"cpus\": [\"GenuineIntel 6 *\"], \"counters\": {}, " EVENT(GOOD));
    tree_put(root, "events/wrong.json", HEAD CPUS "\"extra\": 1, " EVENT(GOOD));
    assert_int_equal(event_file_find(&f, dirs, &arm, &none, &err), 1);
    event_file_free(&f);
    assert_int_equal(event_file_find(&f, dirs, &epyc, &none, &err), 0);
    assert_fails(event_file_find(&f, dirs, &xeon, &none, &err), err, "wrong.json: field \"extra\" is not known"); /* not the vendor's */
    assert_null(f.event);
    tree_put(root, "events/torn.json", "{\"schema\": \"roofcast.ev");
    assert_int_equal(event_file_find(&f, dirs, &arm, &none, &err), 1);
    event_file_free(&f);
    assert_fails(event_file_find(&f, dirs, &epyc, &none, &err), err, "torn.json");
    tree_free(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_words),    cmocka_unit_test(all_are_sourced), cmocka_unit_test(scales),       cmocka_unit_test(files_are_chosen),
        cmocka_unit_test(trees_are_read), cmocka_unit_test(hybrid_cores), cmocka_unit_test(two_sets),
        cmocka_unit_test(uncore_units), cmocka_unit_test(other_machine), cmocka_unit_test(bad_files),
        cmocka_unit_test(wrong_files_are_their_own_cpus_business),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
