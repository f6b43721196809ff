/* Operations that make an operand of a weight in a step of decoding. methods.md (79) */
#include "calibrate/decode.h"
#include "calibrate/cpus.h"
#include <ctype.h>
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

double decode_ops_weight(const struct facts *f, double bits)
{
    const enum width w = width_of(f->p->m->quant, bits);
    if (f->cpu)
        return cpu_ops_weight(f, bits);
    if ((w == WIDTH_4 || w == WIDTH_8) && widens_pairs(f))
        return packed_ops;
    const bool cuda = f->back_end == BACK_END_CUDA || f->back_end == BACK_END_ROCM;
    const double ops = w == WIDTH_16 && cuda && f->old ? old_half_ops : gpu_ops[w];
    return f->before_volta && w != WIDTH_32 ? ops * pascal_factor : ops;
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
