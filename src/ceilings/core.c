/*
 * Vector instructions per cycle by core and width, to express peaks as a fraction of issue width. Unknown core, width or instruction: NaN.
 * Methods.md (74).
 *
 * Sources per row: port pressure or throughput in github.com/RRZE-HPC/OSACA e00d5f6, osaca/data/NAME.yml (measured, or from uops.info);
 * block throughput of llvm-mca 19.1.7; single-core cpufp results, github.com/pigirons/cpufp 93e165e, benchmark_result/. Families and
 * models: linux 6.12, arch/x86/kernel/cpu/amd.c, arch/x86/include/asm/intel-family.h, tools/perf/pmu-events/arch/arm64/mapfile.csv.
 */
#include "ceilings/internal.h"
#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum width { W128, W256, W512, N_WIDTHS };

struct core {
    const char *name;
    const char *vendor;         /* "" on Arm: family is the implementer, model the part */
    int family;
    int first_model, last_model;
    /* Instructions per cycle by width; scalars issue as 16-byte vectors. 0: unknown or none. */
    double fma[N_WIDTHS];       /* multiply-adds or multiplications */
    double fp[N_WIDTHS];        /* these and additions */
    double imul[N_WIDTHS];      /* vpmaddwd, vpmaddubsw */
    double integer[N_WIDTHS];   /* these and vpaddd */
    double dot[N_WIDTHS];       /* vpdpbusd, vpdpwssd; sdot */
    double dot_bf16[N_WIDTHS];  /* vdpbf16ps */
    double tile_cycles;         /* cycles per tile product */
    const char *source;
};

#define AMD "AuthenticAMD"
#define INTEL "GenuineIntel"
#define ARM 0x41
static const char zen2[] = "OSACA zen2",
                  zen3[] = "OSACA zen3; products of integers: llvm-mca znver3",
                  zen4[] = "OSACA zen4; products of integers: llvm-mca znver4; 512-bit dot products: cpufp 8845HS; narrower ones "
                           "(confidence: medium)",
                  zen5[] = "OSACA zen5",
                  hsw[] = "OSACA hsw, llvm-mca haswell, broadwell", skl[] = "llvm-mca skylake, skylake-avx512",
                  icx[] = "OSACA icx; products of integers, dot products: llvm-mca icelake-server",
                  icl[] = "OSACA icl; Tiger Lake: llvm-mca has the same ports",
                  spr[] = "OSACA spr; dot products, tiles: cpufp Gold 6455B; products of integers: llvm-mca sapphirerapids, of 512 bits "
                          "(confidence: medium)",
                  emr[] = "as Sapphire Rapids, in llvm-mca too; confidence medium: the server's second 512-bit unit and its "
                          "tiles are the same",
                  n1[] = "OSACA n1; sdot: llvm-mca neoverse-n1", n2[] = "llvm-mca neoverse-n2", v1[] = "llvm-mca neoverse-v1",
                  v2[] = "OSACA v2; sdot: llvm-mca neoverse-v2";
static const struct core cores[] = {
    { "Zen 2", AMD, 0x17, 0x30, 0x4f, { 2, 2, 0 }, { 4, 4, 0 }, { 1, 1, 0 }, { 3, 3, 0 }, { 0 }, { 0 }, 0, zen2 },
    { "Zen 2", AMD, 0x17, 0x60, 0x7f, { 2, 2, 0 }, { 4, 4, 0 }, { 1, 1, 0 }, { 3, 3, 0 }, { 0 }, { 0 }, 0, zen2 },
    { "Zen 2", AMD, 0x17, 0x90, 0x91, { 2, 2, 0 }, { 4, 4, 0 }, { 1, 1, 0 }, { 3, 3, 0 }, { 0 }, { 0 }, 0, zen2 },
    { "Zen 2", AMD, 0x17, 0xa0, 0xaf, { 2, 2, 0 }, { 4, 4, 0 }, { 1, 1, 0 }, { 3, 3, 0 }, { 0 }, { 0 }, 0, zen2 },
    { "Zen 3", AMD, 0x19, 0x00, 0x0f, { 2, 2, 0 }, { 4, 4, 0 }, { 2, 2, 0 }, { 4, 4, 0 }, { 0 }, { 0 }, 0, zen3 },
    { "Zen 3", AMD, 0x19, 0x20, 0x5f, { 2, 2, 0 }, { 4, 4, 0 }, { 2, 2, 0 }, { 4, 4, 0 }, { 0 }, { 0 }, 0, zen3 },
    { "Zen 4", AMD, 0x19, 0x10, 0x1f, { 2, 2, 1 }, { 4, 4, 2 }, { 2, 2, 1 }, { 4, 4, 2 }, { 2, 2, 1 }, { 2, 2, 1 }, 0, zen4 },
    { "Zen 4", AMD, 0x19, 0x60, 0xaf, { 2, 2, 1 }, { 4, 4, 2 }, { 2, 2, 1 }, { 4, 4, 2 }, { 2, 2, 1 }, { 2, 2, 1 }, 0, zen4 },
    /* Family 1Ah: Strix Point (20h to 2fh) and other laptop parts have 256-bit pipes. */
    { "Zen 5", AMD, 0x1a, 0x00, 0x1f, { 2, 2, 2 }, { 4, 4, 4 }, { 2, 2, 2 }, { 4, 4, 4 }, { 2, 2, 2 }, { 2, 2, 2 }, 0, zen5 },
    { "Zen 5", AMD, 0x1a, 0x40, 0x4f, { 2, 2, 2 }, { 4, 4, 4 }, { 2, 2, 2 }, { 4, 4, 4 }, { 2, 2, 2 }, { 2, 2, 2 }, 0, zen5 },
    { "Haswell", INTEL, 6, 0x3c, 0x3c, { 2, 2, 0 }, { 2, 2, 0 }, { 1, 1, 0 }, { 3, 3, 0 }, { 0 }, { 0 }, 0, hsw },
    { "Haswell", INTEL, 6, 0x3f, 0x3f, { 2, 2, 0 }, { 2, 2, 0 }, { 1, 1, 0 }, { 3, 3, 0 }, { 0 }, { 0 }, 0, hsw },
    { "Haswell", INTEL, 6, 0x45, 0x46, { 2, 2, 0 }, { 2, 2, 0 }, { 1, 1, 0 }, { 3, 3, 0 }, { 0 }, { 0 }, 0, hsw },
    { "Broadwell", INTEL, 6, 0x3d, 0x3d, { 2, 2, 0 }, { 2, 2, 0 }, { 1, 1, 0 }, { 3, 3, 0 }, { 0 }, { 0 }, 0, hsw },
    { "Broadwell", INTEL, 6, 0x47, 0x47, { 2, 2, 0 }, { 2, 2, 0 }, { 1, 1, 0 }, { 3, 3, 0 }, { 0 }, { 0 }, 0, hsw },
    { "Broadwell", INTEL, 6, 0x4f, 0x4f, { 2, 2, 0 }, { 2, 2, 0 }, { 1, 1, 0 }, { 3, 3, 0 }, { 0 }, { 0 }, 0, hsw },
    { "Broadwell", INTEL, 6, 0x56, 0x56, { 2, 2, 0 }, { 2, 2, 0 }, { 1, 1, 0 }, { 3, 3, 0 }, { 0 }, { 0 }, 0, hsw },
    { "Skylake", INTEL, 6, 0x4e, 0x4e, { 2, 2, 0 }, { 2, 2, 0 }, { 2, 2, 0 }, { 3, 3, 0 }, { 0 }, { 0 }, 0, skl },
    { "Skylake", INTEL, 6, 0x5e, 0x5e, { 2, 2, 0 }, { 2, 2, 0 }, { 2, 2, 0 }, { 3, 3, 0 }, { 0 }, { 0 }, 0, skl },
    { "Skylake", INTEL, 6, 0x8e, 0x8e, { 2, 2, 0 }, { 2, 2, 0 }, { 2, 2, 0 }, { 3, 3, 0 }, { 0 }, { 0 }, 0, skl },
    { "Skylake", INTEL, 6, 0x9e, 0x9e, { 2, 2, 0 }, { 2, 2, 0 }, { 2, 2, 0 }, { 3, 3, 0 }, { 0 }, { 0 }, 0, skl },
    /* One or two 512-bit units depending on the SKU. */
    { "Skylake-SP or Cascade Lake", INTEL, 6, 0x55, 0x55, { 2, 2, 0 }, { 2, 2, 0 }, { 2, 2, 0 }, { 3, 3, 0 }, { 0 }, { 0 }, 0, skl },
    { "Ice Lake-SP", INTEL, 6, 0x6a, 0x6a, { 2, 2, 2 }, { 2, 2, 2 }, { 2, 2, 2 }, { 3, 3, 2 }, { 2, 2, 2 }, { 0 }, 0, icx },
    { "Ice Lake-SP", INTEL, 6, 0x6c, 0x6c, { 2, 2, 2 }, { 2, 2, 2 }, { 2, 2, 2 }, { 3, 3, 2 }, { 2, 2, 2 }, { 0 }, 0, icx },
    { "Ice Lake", INTEL, 6, 0x7d, 0x7e, { 2, 2, 1 }, { 2, 2, 1 }, { 2, 2, 1 }, { 3, 3, 2 }, { 2, 2, 1 }, { 0 }, 0, icl },
    { "Tiger Lake", INTEL, 6, 0x8c, 0x8d, { 2, 2, 1 }, { 2, 2, 1 }, { 2, 2, 1 }, { 3, 3, 2 }, { 2, 2, 1 }, { 0 }, 0, icl },
    { "Sapphire Rapids", INTEL, 6, 0x8f, 0x8f, { 2, 2, 2 }, { 3, 3, 2 }, { 2, 2, 2 }, { 3, 3, 2 }, { 2, 2, 2 }, { 0, 0, 0.5 }, 16, spr },
    { "Emerald Rapids", INTEL, 6, 0xcf, 0xcf, { 2, 2, 2 }, { 3, 3, 2 }, { 2, 2, 2 }, { 3, 3, 2 }, { 2, 2, 2 }, { 0, 0, 0.5 }, 16, emr },
    { "Granite Rapids", INTEL, 6, 0xad, 0xae, { 2, 2, 2 }, { 3, 3, 2 }, { 2, 2, 2 }, { 3, 3, 2 }, { 2, 2, 2 }, { 0, 0, 0.5 }, 16, emr },
    { "Neoverse N1", "", ARM, 0xd0c, 0xd0c, { 2 }, { 2 }, { 0 }, { 0 }, { 2 }, { 0 }, 0, n1 },
    { "Neoverse N2", "", ARM, 0xd49, 0xd49, { 2 }, { 2 }, { 0 }, { 0 }, { 2 }, { 0 }, 0, n2 },
    { "Neoverse V1", "", ARM, 0xd40, 0xd40, { 4 }, { 4 }, { 0 }, { 0 }, { 4 }, { 0 }, 0, v1 },
    { "Neoverse V2", "", ARM, 0xd4f, 0xd4f, { 4 }, { 4 }, { 0 }, { 0 }, { 4 }, { 0 }, 0, v2 },
};

const struct core *core_find(const char *vendor, int family, int model)
{
    for (size_t i = 0; i < ARRAY_LEN(cores); i++)
        if (strcmp(cores[i].vendor, vendor) == 0 && cores[i].family == family && model >= cores[i].first_model &&
            model <= cores[i].last_model)
            return &cores[i];
    return NULL;
}

/* CPUID vendor, family and model; vendor "" on Arm. False: unknown. */
static bool identify(char vendor[16], int *family, int *model)
{
    vendor[0] = 0;
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (!__get_cpuid(0, &a, &b, &c, &d))
        return false;
    memcpy(vendor, &b, 4);
    memcpy(vendor + 4, &d, 4);
    memcpy(vendor + 8, &c, 4);
    vendor[12] = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return false;
    *family = (int)(a >> 8 & 15);
    *model = (int)(a >> 4 & 15);
    if (*family == 6 || *family == 15)
        *model |= (int)(a >> 16 & 15) << 4;
    if (*family == 15)
        *family += (int)(a >> 20 & 255);
    return true;
#else
    unsigned long long midr = 0;
    FILE *f = fopen("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "r");
    if (!f)
        return false;
    const bool ok = fscanf(f, "%llx", &midr) == 1;
    fclose(f);
    *family = (int)(midr >> 24 & 0xff);
    *model = (int)(midr >> 4 & 0xfff);
    return ok;
#endif
}

const struct core *core_this(void)
{
    char vendor[16];
    int family, model;
    return identify(vendor, &family, &model) ? core_find(vendor, family, model) : NULL;
}

const char *ceilings_core(char *buf, size_t n)
{
    char vendor[16];
    int family = 0, model = 0;
    const bool known = identify(vendor, &family, &model);
    const struct core *c = known ? core_find(vendor, family, model) : NULL;
    if (c)
        snprintf(buf, n, "%s; issue rates: %s", c->name, c->source);
    else if (known)
        snprintf(buf, n, "%s %#x, model %#x: issue rates unknown", vendor[0] ? vendor : "Arm implementer", family, model);
    else
        snprintf(buf, n, "unidentified core: issue rates unknown");
    return buf;
}

/* Cycles of n instructions, n_mul of them multiplications. */
static double group_cycles(double n_mul, double n, double mul, double all)
{
    return mul > 0 && all > 0 ? fmax(n_mul / mul, n / all) : NAN;
}

double core_per_cycle(const struct core *c, const struct peak_kernel *k)
{
    if (!c)
        return NAN;
    const enum width w = k->bits <= 128 ? W128 : k->bits <= 256 ? W256 : W512;
    const double lanes = (double)k->bits / k->elem_bits;
    double flop = NAN;
    switch (k->issue) {
    case ISSUE_NONE:
    case ISSUE_MATRIX:
        break;
    case ISSUE_FMA:
        flop = lanes * (2 * c->fma[w] + (c->fp[w] - c->fma[w]));
        break;
    case ISSUE_FMA_ONLY:
        flop = lanes * 2 * c->fma[w];
        break;
    case ISSUE_MUL_ADD:
        flop = lanes * c->fp[w];
        break;
    case ISSUE_MADD16:
        flop = lanes * 2 / group_cycles(1, 2, c->imul[w], c->integer[w]);
        break;
    case ISSUE_MADD8:
        flop = lanes * 2 / group_cycles(2, 3, c->imul[w], c->integer[w]);
        break;
    case ISSUE_DOT16:
    case ISSUE_DOT8:
        flop = lanes * 2 * c->dot[w];
        break;
    case ISSUE_DOT_BF16:
        flop = lanes * 2 * c->dot_bf16[w];
        break;
    case ISSUE_TILE:
        flop = c->tile_cycles > 0 ? 256 * lanes * 2 / c->tile_cycles : 0;
        break;
    }
    return flop > 0 ? flop : NAN;
}
