/* Products on CPUs, in instructions. methods.md (41) */
#include "stacks/cpus.h"
#include "stacks/priors.h"
#include <math.h>

/* ---- cores ---------------------------------------------------------------------------------------------- */

static double flop_a_cycle(const struct stack_traits *f)
{
    const struct hwprofile *h = &f->p->machine->h;
    const double cycles = h->n_cores * h->clock_hz.value;
    return cycles > 0 ? h->peak[MATH_FP32].value / cycles : NAN;
}

/* FP32 multiply-adds of a core per instruction. Cores with 64 FLOP a cycle do no more instructions of 32 bytes for it. */
static double lanes(const struct stack_traits *f)
{
    const double flop = flop_a_cycle(f);
    return (f->x86 && flop > f->core_flop ? flop : f->core_flop) / 2 / f->core_instructions;
}

/* ---- kernels ------------------------------------------------------------------------------------------------ */

/* Instructions of llama.cpp's product of a row with a token. */
static double row_of(const struct stack_traits *f, double bits)
{
    return stack_traits_value(f, TABLE_CPU_ROWS, !f->x86, (const double[KEY_LATE_COUNT]){ [KEY_BITS] = bits }, NAN);
}

static double instructions(const struct stack_traits *f, double bits)
{
    switch (f->cpu_kernels) {
    case CPU_ROWS:
    case CPU_TILES:
        return row_of(f, bits) * stack_traits_value(f, TABLE_CPU_REPACKED, 0, (const double[KEY_LATE_COUNT]){ [KEY_BITS] = bits }, 1);
    case CPU_LOOKUP: /* a lookup of one bit of four weights for 16 or 32 rows, and two additions */
        return prior(PRIOR_CPU_LOOKED_UP) * bits / (f->x86 ? 2 : 1);
    case CPU_OTHER:
        break;
    }
    return prior(PRIOR_CPU_OTHER);
}

/* The rule for products of several tokens: tiles with shared loads, or interleaved rows. NULL: each token by itself. */
static const struct rule *tiles_of(const struct stack_traits *f, enum math math, double bits, bool experts)
{
    if (experts) /* which have neither */
        return NULL;
    return stack_traits_rule(f, TABLE_CPU_TILES, (const double[KEY_LATE_COUNT]){ [KEY_BITS] = bits, [KEY_BF16] = math == MATH_BF16 });
}

double cpu_ops_weight(const struct stack_traits *f, double bits)
{
    return instructions(f, bits) * lanes(f);
}

/* ---- prompts, and steps of several sequences ---------------------------------------------------------------------- */

/* 8-bit products on the vector units: four per lane by a dot product, with AVX2 three instructions for 32 of them. */
static double dot_flop_s(const struct stack_traits *f)
{
    const double fp32 = f->p->roofs->peak[MATH_FP32].flop_s, int8 = stack_traits_peak(f, MATH_INT8);
    if (!f->x86 || int8 > 0)
        return fmin(int8 > 0 ? int8 : INFINITY, 4 * fp32);
    return 4 * fp32 / 3;
}

/* Instructions per weight and token, with several tokens. */
static double row_instructions(const struct stack_traits *f, enum math math, double bits, bool experts)
{
    const struct rule *tiles = tiles_of(f, math, bits, experts);
    const double row = instructions(f, bits);
    return tiles ? fmin(row, tiles->value[0]) : row;
}

struct unit_use cpu_product(const struct stack_traits *f, enum math math, double bits, bool experts)
{
    const double fp32 = f->p->roofs->peak[MATH_FP32].flop_s, own = f->p->roofs->peak[math].flop_s;
    const bool quantized = bits < 12;
    switch (f->cpu_kernels) {
    case CPU_ROWS:
        return (struct unit_use){ .unit = UNIT_STEPS, .flop_s = fp32 / (lanes(f) * row_instructions(f, math, bits, experts)) };
    case CPU_TILES:
        if (!quantized)
            break;
        return (struct unit_use){ .unit = UNIT_CPU,
                                  .flop_s = 1 / (1 / dot_flop_s(f) + cpu_ops_weight(f, bits) /
                                                                          (prior(PRIOR_CPU_TILE_TOKENS) * prior(PRIOR_CPU_STEPS_REACH) * fp32)) };
    case CPU_LOOKUP:
        return (struct unit_use){ .unit = UNIT_STEPS, .flop_s = fp32 / cpu_ops_weight(f, bits) };
    case CPU_OTHER:
        break;
    }
    return (struct unit_use){ .unit = UNIT_CPU, .flop_s = quantized ? fmin(own, dot_flop_s(f)) : own };
}

/* Products of 4 tokens and more process eight rows at once. */
static bool is_interleaved(const struct stack_traits *f, enum math math, double bits)
{
    const struct rule *tiles = tiles_of(f, math, bits, false);
    return tiles && tiles->value[1] > 0;
}

/* llama.cpp's rows and T-MAC's tables process tokens one by one; engines that pack rows unpack them once for eight. */
double cpu_ops_several(const struct stack_traits *f, enum math math, double bits, double n_tok, bool experts)
{
    const double one = cpu_ops_weight(f, bits), n = fmax(n_tok, 1), unpacked = fmax(1, n / prior(PRIOR_CPU_TILE_TOKENS));
    const double product = prior(PRIOR_CPU_STEPS_REACH) * f->p->roofs->peak[MATH_FP32].flop_s / dot_flop_s(f);
    switch (f->cpu_kernels) {
    case CPU_ROWS:
        if (n == 1 || (n < 4 && is_interleaved(f, math, bits)))
            return n * one;
        return fmax(one, n * row_instructions(f, math, bits, experts) * lanes(f));
    case CPU_TILES:
        return bits < 12 ? fmin(n * one, unpacked * one + (n - unpacked) * product) : one;
    case CPU_LOOKUP:
        return n * one;
    case CPU_OTHER:
        break;
    }
    return one;
}
