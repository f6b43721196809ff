#include "stacks/units.h"
#include "stacks/cpus.h"
#include "stacks/priors.h"
#include <math.h>

const char *unit_name(enum unit u)
{
    static const char *const names[UNIT_COUNT] = { [UNIT_MATRIX] = "matrix", [UNIT_INTEGER] = "integer", [UNIT_DOT] = "dot",
                                                   [UNIT_VECTOR] = "vector", [UNIT_GRID] = "grid",       [UNIT_CPU] = "cpu",
                                                   [UNIT_STEPS] = "cpu steps" };
    return names[u];
}

static double peak(const struct stack_traits *f, enum math m)
{
    const double flop_s = f->p->roofs->peak[m].flop_s;
    return flop_s > 0 ? flop_s : 0;
}

/*
 * Quantized weights and activations are multiplied as integers in blocks of 32 along a row, each with its scales: the sum of a block is
 * converted, multiplied by both scales and added, on the vector units. These operations follow the product in time and keep MMQ below the
 * integer peak. Source: llama.cpp's mmq.cuh, vec_dot_q8_0_q8_1_mma.
 */
enum { BLOCK = 32 };

static double with_scales(double flop_s, double vector_flop_s)
{
    return 2 * BLOCK / (2 * BLOCK / flop_s + 2 * prior(PRIOR_SCALE_OPS) / vector_flop_s);
}

/* Rate of lanes with an instruction a cycle. */
static double lanes_flop_s(const struct stack_traits *f)
{
    return peak(f, MATH_FP32) / f->issued;
}

/* dp4a: four products per lane, since Pascal, Vega 20 and RDNA2. */
static struct unit_use dot_unit(const struct stack_traits *f)
{
    const double v = lanes_flop_s(f);
    return (struct unit_use){ .unit = UNIT_DOT, .flop_s = with_scales(4 * v, v) };
}

/* 8-bit units as stated by the machine; else twice the rate of 16 bits. */
static struct unit_use integer_unit(const struct stack_traits *f)
{
    const double own = stack_traits_peak(f, MATH_INT8), v = lanes_flop_s(f);
    return (struct unit_use){ .unit = UNIT_INTEGER, .flop_s = with_scales(f->own_part * (own > 0 ? own : 2 * peak(f, MATH_FP16)), v) };
}

/* ---- units by rule --------------------------------------------------------------------------------------- */

/* Words of the tables, in the order of stacks.c. */
enum { RULE_UNIT_MATRIX, RULE_UNIT_INTEGER, RULE_UNIT_DOT, RULE_UNIT_VECTOR, RULE_UNIT_GRID };
enum { PEAK_FP32, PEAK_FP16, PEAK_FP16_SUMS, PEAK_BF16, PEAK_OWN, PEAK_FP4 };
enum { VALUE_UNIT, VALUE_PEAK, VALUE_OWN, VALUE_STAGED };

static double peak_said(const struct stack_traits *f, int which, enum math math)
{
    switch (which) {
    case PEAK_FP16:
        return peak(f, MATH_FP16);
    case PEAK_FP16_SUMS:
        return f->half_sums * peak(f, MATH_FP16);
    case PEAK_BF16:
        return peak(f, MATH_BF16);
    case PEAK_OWN:
        return peak(f, math);
    default:
        return peak(f, MATH_FP32);
    }
}

static struct unit_use unit_said(const struct stack_traits *f, const struct rule *row, enum math math)
{
    static const enum unit units[] = { [RULE_UNIT_MATRIX] = UNIT_MATRIX, [RULE_UNIT_VECTOR] = UNIT_VECTOR, [RULE_UNIT_GRID] = UNIT_GRID };
    if (!row)
        return (struct unit_use){ .unit = UNIT_VECTOR, .flop_s = peak(f, MATH_FP32) };
    const int unit = (int)row->value[VALUE_UNIT];
    if (unit == RULE_UNIT_INTEGER && (int)row->value[VALUE_PEAK] == PEAK_FP4) /* the instruction scales its blocks */
        return (struct unit_use){ .unit = UNIT_INTEGER, .flop_s = f->own_part * peak(f, MATH_FP4) };
    if (unit == RULE_UNIT_INTEGER || unit == RULE_UNIT_DOT)
        return unit == RULE_UNIT_INTEGER ? integer_unit(f) : dot_unit(f);
    const double flop_s = peak_said(f, (int)row->value[VALUE_PEAK], math);
    return (struct unit_use){ .unit = units[unit], .flop_s = row->value[VALUE_OWN] > 0 ? f->own_part * flop_s : flop_s };
}

/* ---- products ------------------------------------------------------------------------------------------ */

struct unit_use unit_of_product(const struct stack_traits *f, enum math math, double bits, double n_tok)
{
    if (f->cpu)
        return cpu_product(f, math, bits, false);
    const struct rule *row =
        stack_traits_rule(f, TABLE_UNITS, (const double[KEY_LATE_COUNT]){ [KEY_BITS] = bits, [KEY_TOKENS] = n_tok, [KEY_BF16] = math == MATH_BF16 });
    struct unit_use u = unit_said(f, row, math);
    u.staged_bytes = row ? row->value[VALUE_STAGED] : 0;
    return u;
}

/* Columns of a tile: 32 in the products of Metal and MLX and the smaller ones of Vulkan, up to 64 and more elsewhere. */
enum { TILE = 32 };

/* One matrix: padding of the last tile; many, with random numbers of tokens: half a tile each on average. (44) */
double unit_padding(const struct stack_traits *f, double n_tok, double n_matrix)
{
    if (f->cpu || !(n_tok > MMVQ_MOST))
        return 1;
    return n_matrix > 1 ? 1 + n_matrix * TILE / 2 / n_tok : ceil(n_tok / TILE) * TILE / n_tok;
}

/*
 * Without a kernel for all experts of a layer, the host waits for the router's choice, and then gathers, multiplies and scatters for one
 * expert after the other, on an empty queue: seconds per expert touched. Source: llama.cpp's ggml_cuda_mul_mat_id and
 * ggml_sycl_mul_mat_id.
 */
double unit_expert_s(const struct stack_traits *f, double bits, double n_tok)
{
    return stack_traits_value(f, TABLE_EXPERTS, 0, (const double[KEY_LATE_COUNT]){ [KEY_BITS] = bits, [KEY_TOKENS] = n_tok }, 0);
}

/* ---- attention ------------------------------------------------------------------------------------------- */

/* A score is written by the product, read and written by the softmax, read by the next product: 4 bytes each. */
static const double staged_score = 16;

struct unit_use unit_of_attention(const struct stack_traits *f, double head_dim, double group, double n_tok)
{
    if (f->cpu)
        return (struct unit_use){ .unit = UNIT_CPU, .flop_s = peak(f, MATH_FP32) };
    const double late[KEY_LATE_COUNT] = { [KEY_HEAD_DIM] = head_dim, [KEY_GROUP] = group, [KEY_TOKENS] = n_tok };
    struct unit_use u = unit_said(f, stack_traits_rule(f, TABLE_ATTENTION, late), MATH_FP16);
    u.staged_bytes = f->flash ? 0 : staged_score;
    return u;
}

/* ---- kernels that the host launches for a prompt (45) ------------------------------------------------------- */

double unit_kernels(const struct stack_traits *f, enum op_kind kind, double bits, double n_tok)
{
    /* Words of the table, in the order of stacks.c. */
    enum { PRODUCT = 1, EXPERTS, ATTENTION, CACHE, NORM, GATED, OTHER };
    static const unsigned char words[OP_KIND_COUNT] = { [OP_MATMUL] = PRODUCT, [OP_HEAD_MATMUL] = PRODUCT, [OP_EXPERT_MATMUL] = EXPERTS,
                                                        [OP_ATTENTION] = ATTENTION, [OP_KV_STORE] = CACHE, [OP_RMS_NORM] = NORM, [OP_GLU] = GATED };
    const unsigned word = words[kind] ? words[kind] : OTHER;
    if (!f->rows[TABLE_KERNELS])
        return 0;
    const bool waits = word == EXPERTS && unit_expert_s(f, bits, n_tok) > 0;
    const double late[KEY_LATE_COUNT] = { [KEY_OP] = word - 1, [KEY_BITS] = bits };
    return waits ? TIME_LAUNCHED_AHEAD : stack_traits_value(f, TABLE_KERNELS, 0, late, 0); /* a waiting host launches no other pass */
}
