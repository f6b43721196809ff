/* Operations that unpack a weight to an operand in a decode step. methods.md (36) */
#include "stacks/decode.h"
#include "stacks/cpus.h"
#include "stacks/priors.h"
#include "stacks/units.h"
#include <math.h>

enum { HALVES = 12 }; /* bits of a weight above which it is not quantized */

/* llama.cpp's row kernel for CUDA, used by ROCm too. (37) */
static bool has_rows_kernel(const struct stack_traits *f)
{
    return f->products == BACK_END_CUDA || f->products == BACK_END_ROCM;
}

/* Operations per weight of fewer than 12 bits: with one token, or per further token. Half of the instructions are integers. */
static double rows_kernel_ops(const struct stack_traits *f, double bits, bool more)
{
    return f->integers * stack_traits_value(f, TABLE_GPU_ROWS, more, (const double[KEY_LATE_COUNT]){ [KEY_BITS] = bits }, NAN);
}

double decode_ops_weight(const struct stack_traits *f, double bits)
{
    if (f->cpu)
        return cpu_ops_weight(f, bits);
    if (bits <= HALVES && has_rows_kernel(f))
        return rows_kernel_ops(f, bits, false);
    const struct rule *row = stack_traits_rule(f, TABLE_GPU_WEIGHTS, (const double[KEY_LATE_COUNT]){ [KEY_BITS] = bits });
    return !row ? NAN : row->value[1] > 0 ? row->value[0] * f->in_turns : row->value[0];
}

/*
 * The large-batch kernel unpacks a tile of quantized weights to bytes in shared memory and reads those for its columns: some operations
 * more than for one token, for any number of tokens. Vulkan's rows are multiplied as floats.
 */
double decode_ops_several(const struct stack_traits *f, double bits, double n_tok)
{
    const bool vulkan = f->products == BACK_END_VULKAN;
    if (f->cpu || !(vulkan || has_rows_kernel(f)))
        return 0;
    const double one = decode_ops_weight(f, bits), further = fmin(n_tok, MMVQ_MOST) - 1;
    if (bits > HALVES)
        return one;
    if (vulkan)
        return one + further * prior(PRIOR_VULKAN_MORE);
    return one + (n_tok > MMVQ_MOST ? prior(PRIOR_TILE_OPS) * f->integers : further * rows_kernel_ops(f, bits, true));
}

double decode_staged_bytes(const struct stack_traits *f, enum math math, double bits)
{
    return stack_traits_value(f, TABLE_STAGED, 0, (const double[KEY_LATE_COUNT]){ [KEY_BITS] = bits, [KEY_BF16] = math == MATH_BF16 }, 0);
}

double decode_tile(const struct stack_traits *f, double bits, bool experts)
{
    return stack_traits_value(f, TABLE_TILES, 0, (const double[KEY_LATE_COUNT]){ [KEY_BITS] = bits, [KEY_EXPERTS] = experts }, 1);
}

double decode_host_s(const struct stack_traits *f, double bits)
{
    return prior(PRIOR_DISPATCH_S) * stack_traits_value(f, TABLE_HOST, 0, (const double[KEY_LATE_COUNT]){ [KEY_BITS] = bits }, 0);
}
