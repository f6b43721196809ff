#include "stacks/units.h"
#include "stacks/cpus.h"
#include "stacks/priors.h"
#include <math.h>
#include <string.h>
#include <strings.h>

const char *unit_name(enum unit u)
{
    static const char *const names[UNIT_COUNT] = { [UNIT_MATRIX] = "matrix", [UNIT_INTEGER] = "integer", [UNIT_DOT] = "dot",
                                                   [UNIT_VECTOR] = "vector", [UNIT_GRID] = "grid",       [UNIT_CPU] = "cpu",
                                                   [UNIT_STEPS] = "cpu steps" };
    return names[u];
}

static double peak(const struct facts *f, enum math m)
{
    const double flop_s = f->p->roofs->peak[m].flop_s;
    return flop_s > 0 ? flop_s : 0;
}

/* Of products that add in 16 bits. */
static double fp16_sums_peak(const struct facts *f)
{
    return (f->half_sums ? 2 : 1) * peak(f, MATH_FP16);
}

static struct unit_use vector_unit(const struct facts *f)
{
    return (struct unit_use){ .unit = UNIT_VECTOR, .flop_s = peak(f, MATH_FP32) };
}

/*
 * Quantized weights and activations are multiplied as integers in blocks of 32 along a row, each with scales of its own: a sum of a
 * block is converted, multiplied by both scales and added, on the vector units. Those operations a block take their time after
 * the product's, which is what keeps MMQ from the integer peak. Source: llama.cpp's mmq.cuh, vec_dot_q8_0_q8_1_mma.
 */
enum { BLOCK = 32 };

static double with_scales(double flop_s, double vector_flop_s)
{
    return 2 * BLOCK / (2 * BLOCK / flop_s + 2 * prior(PRIOR_SCALE_OPS) / vector_flop_s);
}

/* Lanes that take an instruction a cycle. */
static double lanes_flop_s(const struct facts *f)
{
    return peak(f, MATH_FP32) / (f->two_issue ? 2 : 1);
}

/* dp4a: four products for a lane's one, since Pascal, Vega 20 and RDNA2. */
static struct unit_use dot_unit(const struct facts *f)
{
    const double v = lanes_flop_s(f);
    return (struct unit_use){ .unit = UNIT_DOT, .flop_s = with_scales(4 * v, v) };
}

/* Of the matrix units' peak that kernels of llama.cpp's own can have. (doc/notes/stacks.md) */
static double mma_part(const struct facts *f)
{
    return f->hopper && (f->products == BACK_END_CUDA || f->products == BACK_END_VULKAN) ? prior(PRIOR_HOPPER_MMA) : 1;
}

/* Units of 8 bits as the machine states them; else twice as fast as those of 16. */
static struct unit_use integer_unit(const struct facts *f)
{
    const double own = facts_peak(f, MATH_INT8), v = lanes_flop_s(f);
    return (struct unit_use){ .unit = UNIT_INTEGER, .flop_s = with_scales(mma_part(f) * (own > 0 ? own : 2 * peak(f, MATH_FP16)), v) };
}

static struct unit_use matrix_unit(double flop_s)
{
    return (struct unit_use){ .unit = UNIT_MATRIX, .flop_s = flop_s };
}

/* ---- products ------------------------------------------------------------------------------------------ */

/* Builds of llama.cpp since which ... */
enum {
    MMQ_TENSOR = 3100,      /* CUDA multiplies quantized weights on integer tensor cores: pull requests 7676, 7824 (June 2024) */
    VULKAN_COOPMAT = 4245,  /* Vulkan has cooperative matrices: 10597, 10206 (December 2024) */
    VULKAN_DOT = 5000,      /* and integer dot products: 12135 (March 2025) */
    EXPERTS_TOKEN = 5160,   /* CUDA and ROCm have one kernel for all experts of a token: 13014 (April 2025) */
    MMQ_EXPERTS = 5250,     /* and multiply quantized weights of all experts in one kernel: 13199 (May 2025) */
    MMF_EXPERTS = 6430,     /* CUDA's tensor cores multiply 16-bit experts of up to 16 tokens in one kernel: 15767 (September 2025) */
    MMF_EXPERTS_64 = 6610,  /* of up to 64: 16277 (September 2025) */
    MMF_EXPERTS_512 = 6800, /* of up to 512, of matrices of more than 1024 rows 128: ggml_cuda_should_use_mmf. Its
                             * pull request was not found; a copy without Volta has it, hence before 16843 */
    VOLTA_MMF = 6900,       /* Volta's too: 16843 (October 2025) */
    RDNA_MMF = 7390,        /* and ROCm's on RDNA: 17437, 17879 (December 2025) */
    CDNA_MMF = 7870,        /* and on CDNA: 18896 (January 2026) */
    ROCM_EXPERTS = 7920,    /* ROCm has one kernel for 16-bit experts of up to 8 tokens: 18958 (February 2026) */
    RDNA_WMMA_MMQ = 7200,   /* ROCm multiplies quantized weights on RDNA's WMMA: 17576 (December 2025) */
    RDNA_WMMA_ATTEND = 7700, /* and attends there: 18481 (January 2026) */
    SYCL_EXPERTS = 8830,     /* SYCL has one kernel for all experts of a token, of some types: 21920 (April 2026) */
};
enum { MMQ_DOT_MOST = 64 }; /* tokens of its kernel of many without matrix units: MMQ_MAX_BATCH_SIZE */
static const double staged_half = 2, staged_float = 4; /* bytes of an operand */

/*
 * Of few tokens: engines took the kernel of rows for up to 8, and take it now up to where the one of many, whose tiles have 8 columns at least, was
 * found to be faster. Source: llama.cpp's ggml_cuda_should_use_mmvq, whose limits of 3 to 8 by type and generation were measured.
 */
enum { MMQ_COLUMNS = 8 };
static struct unit_use few_unit(const struct facts *f, double n_tok)
{
    struct unit_use dot = dot_unit(f), tile = integer_unit(f);
    tile.flop_s *= fmin(n_tok / MMQ_COLUMNS, 1);
    return facts_few_limits(f) && tile.flop_s > dot.flop_s ? tile : dot;
}

static struct unit_use cuda(const struct facts *f, enum math math, double bits, double n_tok)
{
    if (!f->has_matrix)
        return bits < QUANTIZED ? dot_unit(f) : vector_unit(f);
    if (bits >= QUANTIZED)
        return bits > 24 ? vector_unit(f) : matrix_unit(math == MATH_BF16 ? peak(f, MATH_BF16) : fp16_sums_peak(f));
    if (!f->volta && facts_since(f, MMQ_TENSOR)) /* whose tensor cores have no integers */
        return n_tok <= MMVQ_MOST ? few_unit(f, n_tok) : integer_unit(f);
    if (n_tok <= MMQ_DOT_MOST - (f->volta ? 1 : 0))
        return dot_unit(f);
    struct unit_use u = matrix_unit(fp16_sums_peak(f));
    u.staged_bytes = staged_half;
    return u;
}

/* Machines with matrix units had their quantized weights widened for hipBLAS from 64 tokens on, before kernels of their own. Source:
 * llama.cpp's ggml_cuda_should_use_mmq of build 6000. */
static struct unit_use rocm(const struct facts *f, enum math math, double bits, double n_tok)
{
    if (bits < QUANTIZED && f->has_matrix && facts_since(f, RDNA_WMMA_MMQ))
        return n_tok <= MMVQ_MOST ? few_unit(f, n_tok) : integer_unit(f);
    if (bits < QUANTIZED && n_tok >= MMQ_DOT_MOST && f->has_matrix) {
        struct unit_use u = matrix_unit(peak(f, MATH_FP16));
        u.staged_bytes = staged_half;
        return u;
    }
    if (bits < QUANTIZED)
        return dot_unit(f);
    if (bits > 24)
        return vector_unit(f);
    if (!f->has_matrix) /* packed FP16 */
        return (struct unit_use){ .unit = UNIT_VECTOR, .flop_s = fmax(peak(f, MATH_FP16), peak(f, MATH_FP32)) };
    return matrix_unit(peak(f, math));
}

static struct unit_use vulkan(const struct facts *f, enum math math, double bits)
{
    const bool bf16 = math == MATH_BF16 && bits >= QUANTIZED;
    if (f->has_matrix && facts_since(f, VULKAN_COOPMAT) && bits <= 24 && (!bf16 || f->maker == MAKER_NVIDIA))
        return matrix_unit(mma_part(f) * (bf16 ? peak(f, MATH_BF16) : fp16_sums_peak(f)));
    if (bits < QUANTIZED && facts_since(f, VULKAN_DOT) && !f->has_matrix)
        return dot_unit(f);
    return vector_unit(f);
}

/* oneDNN multiplies FP16 on XMX; quantized weights become FP16 before, BF16 ones FP32. */
static struct unit_use sycl(const struct facts *f, enum math math, double bits)
{
    struct unit_use u = f->has_matrix ? matrix_unit(peak(f, MATH_FP16)) : vector_unit(f);
    if (bits >= QUANTIZED && (math == MATH_BF16 || bits > 24)) {
        u = vector_unit(f);
        u.staged_bytes = bits > 24 ? 0 : staged_float;
    } else if (bits < QUANTIZED) {
        u.staged_bytes = staged_half;
    }
    return u;
}

struct unit_use unit_of_product(const struct facts *f, enum math math, double bits, double n_tok)
{
    if (f->cpu)
        return cpu_product(f, math, bits, false);
    if (f->maker == MAKER_APPLE)
        return (struct unit_use){ .unit = UNIT_GRID, .flop_s = peak(f, MATH_FP32) };
    switch (f->products) {
    case BACK_END_CUDA:
        return cuda(f, math, bits, n_tok);
    case BACK_END_ROCM:
        return rocm(f, math, bits, n_tok);
    case BACK_END_VULKAN:
        return vulkan(f, math, bits);
    case BACK_END_SYCL:
        return sycl(f, math, bits);
    case BACK_END_OTHER:
        break;
    }
    if (bits > 24 || !f->has_matrix)
        return (struct unit_use){ .unit = UNIT_VECTOR, .flop_s = peak(f, math) };
    return matrix_unit(peak(f, math));
}

/* Columns of a tile: 32 in Metal's and MLX's products and the smaller ones of Vulkan's, up to 64 and more elsewhere. */
enum { TILE = 32 };

/* Of one matrix the last tile is filled with nothing; of many, each with a number of tokens of its own, half a tile is. (44) */
double unit_padding(const struct facts *f, double n_tok, double n_matrix)
{
    if (f->cpu || !(n_tok > MMVQ_MOST))
        return 1;
    return n_matrix > 1 ? 1 + n_matrix * TILE / 2 / n_tok : ceil(n_tok / TILE) * TILE / n_tok;
}

/*
 * Where no kernel takes all experts of a layer, the host waits for the router's choice, and then gathers, multiplies and scatters for
 * one expert after the other, on an empty queue: so long an expert touched (priors.json). Source: llama.cpp's ggml_cuda_mul_mat_id and
 * ggml_sycl_mul_mat_id.
 */

/* SYCL's kernel for the experts of one token has the types of K and those before, neither grids nor FP4. */
static bool sycl_fuses(const struct facts *f, double bits)
{
    return bits < QUANTIZED && strncasecmp(f->p->type, "IQ", 2) != 0 && !strstr(f->p->type, "FP4") && facts_since(f, SYCL_EXPERTS);
}

static bool is_cdna(const struct facts *f)
{
    return f->back_end == BACK_END_ROCM && strcmp(f->p->machine->class_name, "datacenter GPU") == 0;
}

/* Tokens that a kernel takes all experts of 16 bits of, matrices of so many rows; 0: there is none. */
static double mmf_most(const struct facts *f, enum math math, double rows)
{
    const bool cuda = f->back_end == BACK_END_CUDA;
    const int since = !cuda ? (is_cdna(f) ? CDNA_MMF : RDNA_MMF) : f->volta ? VOLTA_MMF : MMF_EXPERTS;
    if (!f->has_matrix || !facts_since(f, since) || (cuda && math == MATH_BF16 && !(facts_peak(f, MATH_BF16) > 0)))
        return 0;
    if (!facts_since(f, MMF_EXPERTS_64))
        return 16;
    return !facts_since(f, MMF_EXPERTS_512) ? 64 : rows <= 1024 ? 512 : 128;
}

static double loop_s(const struct facts *f)
{
    return prior(f->back_end == BACK_END_CUDA ? PRIOR_CUDA_EXPERT_S : is_cdna(f) ? PRIOR_CDNA_EXPERT_S : PRIOR_RDNA_EXPERT_S);
}

double unit_expert_s(const struct facts *f, enum math math, double bits, double n_tok, double rows)
{
    if (f->back_end == BACK_END_SYCL)
        return n_tok <= 1 && sycl_fuses(f, bits) ? 0 : prior(PRIOR_SYCL_EXPERT_S);
    if (f->back_end != BACK_END_CUDA && f->back_end != BACK_END_ROCM)
        return 0;
    if (n_tok <= 1)
        return facts_since(f, EXPERTS_TOKEN) ? 0 : loop_s(f);
    if (bits < QUANTIZED)
        return facts_since(f, MMQ_EXPERTS) ? 0 : loop_s(f);
    /* Its limit is where the kernel was found to be no faster than what it took the place of. (44) */
    const double most = mmf_most(f, math, rows);
    if (n_tok <= most)
        return prior(PRIOR_CUDA_EXPERT_S) * n_tok / most;
    return f->back_end == BACK_END_ROCM && n_tok <= MMVQ_MOST && facts_since(f, ROCM_EXPERTS) ? 0 : loop_s(f);
}

/* ---- attention ------------------------------------------------------------------------------------------- */

/* A score written by the product, read and written by the softmax, read by the next product: 4 bytes each. */
static const double staged_score = 16;

/* WMMA's kernel wants heads of at most 128 that share their keys; others take the one of vector units. Source: llama.cpp's
 * ggml_cuda_get_best_fattn_kernel. */
enum { WMMA_HEAD_MOST = 128 };
static bool rdna_attends(const struct facts *f, double head_dim, double group)
{
    return facts_since(f, RDNA_WMMA_ATTEND) && head_dim <= WMMA_HEAD_MOST && group > 1;
}

struct unit_use unit_of_attention(const struct facts *f, double head_dim, double group, double n_tok)
{
    struct unit_use u;
    if (f->cpu)
        return (struct unit_use){ .unit = UNIT_CPU, .flop_s = peak(f, MATH_FP32) };
    if (f->maker == MAKER_APPLE)
        u = (struct unit_use){ .unit = UNIT_GRID, .flop_s = peak(f, MATH_FP32) };
    else if (f->back_end == BACK_END_SYCL || !f->has_matrix || n_tok <= MMVQ_MOST)
        u = vector_unit(f);
    else if (f->back_end == BACK_END_ROCM && f->flash && !rdna_attends(f, head_dim, group))
        u = vector_unit(f);
    else if (f->back_end == BACK_END_VULKAN && (f->maker != MAKER_NVIDIA || !facts_since(f, VULKAN_COOPMAT)))
        u = vector_unit(f); /* the softmax between its products keeps KHR's matrices at the vector units' rate */
    else /* without FlashAttention cuBLAS multiplies */
        u = matrix_unit((f->flash ? mma_part(f) : 1) * peak(f, MATH_FP16));
    if (!f->flash)
        u.staged_bytes = staged_score;
    return u;
}
