/* Products of CPUs, in instructions. methods.md (41) */
#include "stacks/cpus.h"
#include "stacks/priors.h"
#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- cores ---------------------------------------------------------------------------------------------- */

/* Neither AMD's nor Intel's: Neon, registers of 16 bytes. */
static bool is_arm(const struct facts *f)
{
    return f->maker != MAKER_AMD && f->maker != MAKER_INTEL;
}

static double flop_a_cycle(const struct facts *f)
{
    const struct hwprofile *h = &f->p->machine->h;
    const double cycles = h->n_cores * h->clock_hz.value;
    return cycles > 0 ? h->peak[MATH_FP32].value / cycles : NAN;
}

/* FP32 multiply-adds that a core could do in the time of one instruction. Cores with 64 FLOP a cycle do no more instructions of 32 bytes for it. */
static double lanes(const struct facts *f)
{
    const double flop = flop_a_cycle(f), wide = prior(PRIOR_CPU_WIDE_FLOP);
    if (is_arm(f))
        return prior(PRIOR_CPU_NARROW_FLOP) / 2 / prior(PRIOR_CPU_NARROW_INSTRUCTIONS);
    return (flop > wide ? flop : wide) / 2 / prior(PRIOR_CPU_WIDE_INSTRUCTIONS);
}

/* Registers of 64 bytes double what a core multiplies. */
static bool is_wide(const struct facts *f)
{
    return !is_arm(f) && flop_a_cycle(f) > 1.5 * prior(PRIOR_CPU_WIDE_FLOP);
}

/* ---- kernels ------------------------------------------------------------------------------------------------ */

enum { LEGACY_BITS = 6 }; /* of Q4_0, Q5_0 and grids: files of these types have a few matrices with more, of other types */

static const struct cpu_row *row_of(const struct facts *f, double bits)
{
    const struct priors *p = priors();
    const char *const type = facts_type(f);
    size_t i = 0;
    for (; i + 1 < p->n_cpu_row && p->cpu_row[i].type[0]; i++)
        if (bits < LEGACY_BITS && strncasecmp(type, p->cpu_row[i].type, strlen(p->cpu_row[i].type)) == 0)
            return &p->cpu_row[i];
    while (i + 1 < p->n_cpu_row && bits > p->cpu_row[i].to_bits)
        i++;
    return &p->cpu_row[i];
}

enum kernels {
    KERNELS_ROWS,   /* llama.cpp's: a row by a token */
    KERNELS_TILES,  /* ik_llama.cpp's and roofcast's: rows packed, several tokens by what was unpacked once */
    KERNELS_LOOKUP, /* T-MAC's: no products at all */
    KERNELS_OTHER,
};

static enum kernels kernels_of(const struct facts *f)
{
    const char *id = f->p->stack->id;
    if (strcmp(id, "llama.cpp-cpu") == 0 || strcmp(id, "llama.cpp") == 0 || strcmp(id, "ollama") == 0)
        return KERNELS_ROWS;
    if (f->p->stack->family == STACK_IK || strcmp(id, "roofcast") == 0)
        return KERNELS_TILES;
    return strcmp(id, "t-mac") == 0 ? KERNELS_LOOKUP : KERNELS_OTHER;
}

/* Builds of llama.cpp since which tiles of rows and tokens share what they load. */
enum {
    SGEMM = 2700,      /* of F16, F32, Q8_0, Q4_0, Q5_0, IQ4_NL: pull requests 6414 (April 2024), 8049 */
    SGEMM_BF16 = 4390, /* of BF16: 10714 (December 2024) */
    REPACK = 4200,     /* Q4_0, eight rows interleaved at load: 10446 (November 2024) */
    REPACK_K = 4930,   /* Q4_K: 12332 (March 2025) */
    REPACK_2 = 6065,   /* Q2_K, of registers of 64 bytes: 14373 (August 2025; this build and the next are estimates) */
    REPACK_NL = 6150,  /* IQ4_NL: 14904 (August 2025) */
    ARM_REPACK_4 = 7070, /* by Neon Q4_K: 16739, 17494 (November 2025), */
    ARM_REPACK_8 = 7430, /* Q8_0: 18096 (December; this build and the next two are estimates of their days), */
    ARM_REPACK_5 = 7830, /* Q5_K: 18860, 19356 (January and February 2026), */
    ARM_REPACK_6 = 7880, /* Q6_K: 18888, 19360 */
};

static bool type_is(const struct facts *f, const char *name)
{
    return strncasecmp(facts_type(f), name, strlen(name)) == 0;
}

/* Bits a weight of Q4_0, Q4_K and IQ4_NL, give or take what a file says of its size; those of IQ4_XS and FP4 are 4.25, of Q4_1 5. */
static bool is_four_and_half(double bits)
{
    return bits > 4.38 && bits < 4.75;
}

/* Types whose rows Neon meets eight at once; Q4_0's and IQ4_NL's cost what their tiles do. */
static const struct arm_rows {
    double from, to; /* bits a weight */
    const char *legacy; /* not in files of this type, of as many bits; NULL: there is none */
    int build;
    enum prior_number instructions;
} arm_rows[] = {
    { 4.38, 4.75, "Q4_0", ARM_REPACK_4, PRIOR_CPU_INTERLEAVED_ARM_4 },
    { 5.38, 5.75, "Q5_0", ARM_REPACK_5, PRIOR_CPU_INTERLEAVED_ARM_5 },
    { 6.4, 6.75, NULL, ARM_REPACK_6, PRIOR_CPU_INTERLEAVED_ARM_6 },
    { 8.38, 8.75, NULL, ARM_REPACK_8, PRIOR_CPU_INTERLEAVED_ARM_8 },
};
static const struct arm_rows *arm_rows_of(const struct facts *f, double bits)
{
    for (size_t i = 0; i < ARRAY_LEN(arm_rows); i++) {
        const struct arm_rows *a = &arm_rows[i];
        if (bits > a->from && bits < a->to && !(a->legacy && type_is(f, a->legacy)) && !type_is(f, "IQ") && facts_since(f, a->build))
            return a;
    }
    return NULL;
}

/* Products of 4 tokens and more meet eight rows at once. */
static bool is_interleaved(const struct facts *f, double bits)
{
    if (strcasestr(facts_type(f), "FP4"))
        return false;
    if (is_arm(f))
        return arm_rows_of(f, bits) != NULL;
    if (bits > 2.5 && bits < 2.75)
        return is_wide(f) && !type_is(f, "IQ") && facts_since(f, REPACK_2);
    if (!is_four_and_half(bits))
        return false;
    return facts_since(f, type_is(f, "Q4_0") ? REPACK : type_is(f, "IQ") ? REPACK_NL : REPACK_K);
}

static bool has_tiles(const struct facts *f, enum math math, double bits)
{
    static const char *const types[] = { "Q8_0", "Q4_0", "Q5_0", "IQ4_NL" };
    bool any = false;
    if (bits > 12)
        return facts_since(f, math == MATH_BF16 ? SGEMM_BF16 : SGEMM);
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        any |= type_is(f, types[i]) && (bits < LEGACY_BITS || bits > 7.5); /* not what else is in files of these types */
    return any && facts_since(f, SGEMM);
}

static double instructions(const struct facts *f, double bits)
{
    if (priors()->n_cpu_row == 0)
        return NAN;
    const struct cpu_row *c = row_of(f, bits);
    const double n = is_arm(f) ? c->arm : c->x86, repacked = prior(PRIOR_CPU_REPACKED);
    switch (kernels_of(f)) {
    case KERNELS_ROWS:
        return strncasecmp(c->type, "Q4_0", 4) == 0 && facts_since(f, REPACK) ? n * repacked : n;
    case KERNELS_TILES:
        return bits < 12 ? n * repacked : n;
    case KERNELS_LOOKUP: /* a lookup of four weights' bit for 16 or 32 rows, and two additions */
        return prior(PRIOR_CPU_LOOKED_UP) * bits / (is_arm(f) ? 1 : 2);
    case KERNELS_OTHER:
        break;
    }
    return prior(PRIOR_CPU_OTHER);
}

double cpu_ops_weight(const struct facts *f, double bits)
{
    return instructions(f, bits) * lanes(f);
}

/* ---- prompts, and steps of several sequences ---------------------------------------------------------------------- */

/* Products of 8 bits by the vector units: four for a lane's one by a dot product, and of AVX2 three instructions for 32 of them. */
static double dot_flop_s(const struct facts *f)
{
    const double fp32 = f->p->roofs->peak[MATH_FP32].flop_s, int8 = facts_peak(f, MATH_INT8);
    if (is_arm(f) || int8 > 0)
        return fmin(int8 > 0 ? int8 : INFINITY, 4 * fp32);
    return 4 * fp32 / 3;
}

/* A weight and token of llama.cpp's tiles of 4 rows and 2 tokens; interleaved rows of Q4_0 and IQ4_NL as much. (41) */
static double tile_instructions(const struct facts *f, double bits)
{
    const double narrow = prior(bits > 12 ? PRIOR_CPU_TILE_16 : bits > 7.5 ? PRIOR_CPU_TILE_8 : PRIOR_CPU_TILE_4);
    if (!is_interleaved(f, bits))
        return narrow;
    if (is_arm(f))
        return prior(arm_rows_of(f, bits)->instructions);
    if (bits < 4)
        return prior(PRIOR_CPU_INTERLEAVED_2);
    return (type_is(f, "Q4_0") || type_is(f, "IQ") ? narrow : prior(PRIOR_CPU_INTERLEAVED_K)) * (is_wide(f) ? prior(PRIOR_CPU_INTERLEAVED_WIDE) : 1);
}

/* A weight and token of llama.cpp's, where several tokens are there. Experts have neither tiles nor rows that are interleaved. */
static double row_instructions(const struct facts *f, enum math math, double bits, bool experts)
{
    const double row = instructions(f, bits);
    return !experts && (is_interleaved(f, bits) || has_tiles(f, math, bits)) ? fmin(row, tile_instructions(f, bits)) : row;
}

/*
 * Products of BF16 by the vector units, of two numbers a lane: Intel's cores begin one in two cycles, AMD's as many as multiply-adds.
 * ik_llama.cpp has no tiles of AMX. (Emerald Rapids, a thread: 92 GFLOP/s by vdpbf16ps, 184 by multiply-adds, `roofcast profile`.)
 */
static double bf16_flop_s(const struct facts *f)
{
    const double fp32 = f->p->roofs->peak[MATH_FP32].flop_s;
    if (f->p->stack->family != STACK_IK || !(facts_peak(f, MATH_BF16) > 0))
        return INFINITY;
    return f->maker == MAKER_INTEL ? fp32 / 2 : 2 * fp32;
}

struct unit_use cpu_product(const struct facts *f, enum math math, double bits, bool experts)
{
    const double fp32 = f->p->roofs->peak[MATH_FP32].flop_s, own = fmin(f->p->roofs->peak[math].flop_s, math == MATH_BF16 ? bf16_flop_s(f) : INFINITY);
    const bool quantized = bits < 12;
    switch (kernels_of(f)) {
    case KERNELS_ROWS:
        return (struct unit_use){ .unit = UNIT_STEPS, .flop_s = fp32 / (lanes(f) * row_instructions(f, math, bits, experts)) };
    case KERNELS_TILES:
        if (!quantized)
            break;
        return (struct unit_use){ .unit = UNIT_CPU,
                                  .flop_s = 1 / (1 / dot_flop_s(f) + cpu_ops_weight(f, bits) / (prior(PRIOR_CPU_TILE_TOKENS) * prior(PRIOR_CPU_STEPS_REACH) * fp32)) };
    case KERNELS_LOOKUP:
        return (struct unit_use){ .unit = UNIT_STEPS, .flop_s = fp32 / cpu_ops_weight(f, bits) };
    case KERNELS_OTHER:
        break;
    }
    return (struct unit_use){ .unit = UNIT_CPU, .flop_s = quantized ? fmin(own, dot_flop_s(f)) : own };
}

/* llama.cpp's rows meet one token after the other, as T-MAC's tables do; who packs rows unpacks them once for eight. */
double cpu_ops_several(const struct facts *f, enum math math, double bits, double n_tok, bool experts)
{
    const double one = cpu_ops_weight(f, bits), n = fmax(n_tok, 1), unpacked = fmax(1, n / prior(PRIOR_CPU_TILE_TOKENS));
    const double product = prior(PRIOR_CPU_STEPS_REACH) * f->p->roofs->peak[MATH_FP32].flop_s / dot_flop_s(f);
    switch (kernels_of(f)) {
    case KERNELS_ROWS:
        if (n == 1 || (n < 4 && is_interleaved(f, bits)))
            return n * one;
        return fmax(one, n * row_instructions(f, math, bits, experts) * lanes(f));
    case KERNELS_TILES:
        return bits < 12 ? fmin(n * one, unpacked * one + (n - unpacked) * product) : one;
    case KERNELS_LOOKUP:
        return n * one;
    case KERNELS_OTHER:
        break;
    }
    return one;
}
