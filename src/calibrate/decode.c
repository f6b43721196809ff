/* Operations that make an operand of a weight in a step of decoding. methods.md (79) */
#include "calibrate/decode.h"
#include "calibrate/cpus.h"
#include "calibrate/units.h"
#include <ctype.h>
#include <math.h>
#include <string.h>

enum width { WIDTH_32, WIDTH_16, WIDTH_8, WIDTH_4, WIDTH_GRID, WIDTH_COUNT };

/*
 * Of a GPU: 16 bits a wide load shared by eight weights, a conversion and a multiply-add; 8 bits a part of a load, a scale
 * and a quarter of an 8-bit dot product; 4 bits shifts and masks besides; grids (IQ types) a lookup and signs besides.
 * llama.cpp's old kernel for 16 bits widens two weights an iteration: two addresses, two loads of 2 bytes, two conversions,
 * two loads of FP32 activations, two multiply-adds and the loop, 14 a weight. CPUs: cpus.c.
 */
static const double gpu_ops[WIDTH_COUNT] = { [WIDTH_32] = 1, [WIDTH_16] = 2, [WIDTH_8] = 3, [WIDTH_4] = 5, [WIDTH_GRID] = 8 };
static const double old_half_ops = 14;
/* Before Volta integer arithmetic and conversions take turns with FP32, half and a quarter as many a cycle.
 * Source: CUDA C++ Programming Guide, arithmetic instructions by compute capability. */
static const double pascal_factor = 2;

static enum width width_of(const char *q, double bits)
{
    if (bits > 24)
        return WIDTH_32;
    if (bits > 12)
        return WIDTH_16;
    if (bits > 7)
        return WIDTH_8;
    return bits < 4.2 && toupper((unsigned char)q[0]) == 'I' && toupper((unsigned char)q[1]) == 'Q' ? WIDTH_GRID : WIDTH_4;
}

/*
 * Kernels for the matrix units widen two weights of 4 or 8 bits in an instruction: of eight of 4 bits four selections of bits that are two halves
 * each, two shifts, four subtractions and four scales, 1.75 a weight. Source: Marlin's dequant (IST-DASLab/marlin), which vLLM and SGLang run,
 * from FasterTransformer's converter of TensorRT-LLM and LMDeploy; AWQ's and ExLlama's kernels do the same.
 */
static const double packed_ops = 2;

static bool widens_pairs(const struct facts *f)
{
    static const char *const others[] = { "exllama", "tinychat" };
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (strcmp(f->p->stack->id, others[i]) == 0)
            return true;
    return f->p->stack->family == STACK_SERVER;
}

/*
 * llama.cpp's kernel of rows for CUDA, which ROCm has too: instructions that a lane issues for a weight of one token, loads and addresses
 * included, and for each further token, whose sums of blocks are converted and scaled again. Counted in the loops of mul_mat_vec_q as nvcc 13
 * compiles ggml-cuda of December 2025 to PTX (`nvcc -ptx -arch=compute_90 mmvq.cu`), 1 and 8 tokens. An H100's steps of 8 tokens, of eight
 * files, are predicted 0 to 32 % too fast by constants that have seen none of them. methods.md (109)
 */
enum names { NAMED_PLAIN, NAMED_K, NAMED_GRID };
static const struct {
    enum names names;
    double below; /* bits a weight */
    double one, more;
} rows_kernel[] = {
    { NAMED_PLAIN, 4.4, 4.8, 0.8 }, /* MXFP4 */
    { NAMED_PLAIN, 4.7, 4.5, 0.7 }, /* Q4_0 */
    { NAMED_PLAIN, 5.2, 3.8, 0.6 }, /* Q4_1 */
    { NAMED_PLAIN, 5.7, 5.5, 1.0 }, /* Q5_0 */
    { NAMED_PLAIN, 6.2, 5.2, 0.9 }, /* Q5_1 */
    { NAMED_K, 3, 6.1, 2.8 },       /* Q2_K */
    { NAMED_K, 4.2, 10.3, 3.4 },    /* Q3_K */
    { NAMED_K, 5.2, 5.0, 3.3 },     /* Q4_K */
    { NAMED_K, 6.2, 6.1, 3.3 },     /* Q5_K */
    { NAMED_GRID, 3, 6.4, 2.4 },    /* IQ2_S */
    { NAMED_GRID, 4, 7.2, 2.1 },    /* IQ3_S */
    { NAMED_GRID, 6.2, 3.5, 0.7 },  /* IQ4_XS, IQ4_NL */
};
static const double sixes_one = 8.6, sixes_more = 3.6; /* Q6_K, which files of other types have, too */
static const double bytes_one = 3.1, bytes_more = 1.1; /* Q8_0 */
static const double halves_more = 0.5;                 /* a packed multiply-add */

static enum names names_of(const char *q)
{
    if (strcasestr(q, "IQ"))
        return NAMED_GRID;
    return strcasestr(q, "_K") ? NAMED_K : NAMED_PLAIN;
}

static bool has_rows_kernel(const struct facts *f)
{
    return f->products == BACK_END_CUDA || f->products == BACK_END_ROCM;
}

/* What an instruction takes of the time that an FP32 multiply-add has by the machine's peak: half of these are integers, which some machines
 * have lanes of their own for; where the peak counts two a cycle and lane, they are issued alone. */
static double issue_factor(const struct facts *f)
{
    const double apart = 0.6, two = 2;
    return f->before_volta ? pascal_factor : f->integers_apart ? apart : f->two_issue ? two : 1;
}

/* Of a weight of fewer than 12 bits: with one token, or what each further one adds. */
static double rows_kernel_ops(const struct facts *f, double bits, bool more)
{
    const enum names n = names_of(facts_type(f));
    for (size_t i = 0; i < ARRAY_LEN(rows_kernel); i++)
        if (rows_kernel[i].names == n && bits < rows_kernel[i].below)
            return issue_factor(f) * (more ? rows_kernel[i].more : rows_kernel[i].one);
    if (bits < 7.5)
        return issue_factor(f) * (more ? sixes_more : sixes_one);
    return issue_factor(f) * (more ? bytes_more : bytes_one);
}

double decode_ops_weight(const struct facts *f, double bits)
{
    const enum width w = width_of(facts_type(f), bits);
    if (f->cpu)
        return cpu_ops_weight(f, bits);
    if (w != WIDTH_32 && w != WIDTH_16 && has_rows_kernel(f))
        return rows_kernel_ops(f, bits, false);
    if ((w == WIDTH_4 || w == WIDTH_8) && widens_pairs(f))
        return packed_ops;
    const bool cuda = f->back_end == BACK_END_CUDA || f->back_end == BACK_END_ROCM;
    const double ops = w == WIDTH_16 && cuda && f->old ? old_half_ops : gpu_ops[w];
    return f->before_volta && w != WIDTH_32 ? ops * pascal_factor : ops;
}

/*
 * The kernel of many makes bytes of a tile of quantized weights in shared memory, and reads those for its columns: as a guess 3 operations more
 * than one token's, however many tokens there are. Engines took the kernel of rows for up to 8 tokens, and take it now where that is faster.
 * Vulkan's rows are multiplied as floats: a multiply-add a token.
 */
static const double tile_ops = 3, vulkan_more = 1;

double decode_ops_several(const struct facts *f, double bits, double n_tok)
{
    const enum width w = width_of(facts_type(f), bits);
    const bool vulkan = f->products == BACK_END_VULKAN;
    if (f->cpu || !(vulkan || has_rows_kernel(f)))
        return 0;
    const double one = decode_ops_weight(f, bits), further = fmin(n_tok, MMVQ_MOST) - 1;
    if (w == WIDTH_32 || w == WIDTH_16)
        return n_tok > 1 ? gpu_ops[w] + further * (w == WIDTH_32 ? 1 : halves_more) : one;
    if (vulkan)
        return one + further * vulkan_more;
    const double rows = further * rows_kernel_ops(f, bits, true), tile = tile_ops * issue_factor(f);
    if (n_tok > MMVQ_MOST)
        return one + tile;
    return one + (facts_few_limits(f) ? fmin(rows, tile) : rows);
}

/* SYCL has no kernel of its own for BF16: it writes the weights as FP32 for oneMKL, for one token too. Source: llama.cpp's
 * ggml_sycl_mul_mat, ggml_sycl_op_mul_mat_sycl. */
static const double staged_float = 4;

double decode_staged_bytes(const struct facts *f, enum math math, double bits)
{
    return f->back_end == BACK_END_SYCL && math == MATH_BF16 && bits > 12 && bits < 24 ? staged_float : 0;
}

/*
 * Servers and PyTorch multiply few tokens on matrix units too, and those of Hopper and Blackwell take 64 rows at least (wgmma, tcgen05); before, and
 * in kernels of their own for weights that are widened (Marlin) and for experts, 16 (mma.m16n8k16, MFMA, WMMA). Sources: PTX ISA, matrix shapes of
 * wgmma.mma_async, tcgen05.mma and mma; IST-DASLab/marlin; vLLM's fused_moe (BLOCK_SIZE_M).
 */
enum { TILE_GROUP = 64, TILE_WARP = 16 };

double decode_tile(const struct facts *f, double bits, bool experts)
{
    const enum stack_family k = f->p->stack->family;
    if (f->cpu || !f->has_matrix || f->maker == MAKER_OTHER || (k != STACK_SERVER && k != STACK_PYTORCH) || bits > 24)
        return 1;
    const bool widened = bits < 7 || strstr(f->p->type, "A16") != NULL;
    return f->warp_groups && !experts && !widened ? TILE_GROUP : TILE_WARP;
}

/*
 * bitsandbytes, which Transformers' 8 and 4 bits are unless a name says AWQ or GPTQ, is called from Python for each product: LLM.int8
 * looks for outliers and waits for what it found, quantizes rows and columns, changes layouts, multiplies, scales, multiplies outliers apart
 * and adds, some 14 kernels; NF4 unpacks the scales' own scales, then multiplies, 4. Each takes PyTorch some 30 us to dispatch. Source:
 * bitsandbytes' autograd/_functions.py (MatMul8bitLt, MatMul4Bit) and functional.py of 0.41; Dettmers et al. 2022 (arXiv 2208.07339), app. D. (131)
 */
static const double dispatch_s = 30e-6;
enum { INT8_KERNELS = 14, NF4_KERNELS = 4 };

double decode_host_s(const struct facts *f, double bits)
{
    const char *engine = f->p->m->engine, *type = f->p->m->quant;
    const bool own = strcasestr(engine, "awq") || strcasestr(engine, "gptq") || strcasestr(type, "awq") || strcasestr(type, "gptq");
    if (strcmp(f->p->stack->id, "transformers") != 0 || own || bits > 12)
        return 0;
    return dispatch_s * (bits > 7 ? INT8_KERNELS : NF4_KERNELS);
}
