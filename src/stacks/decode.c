/* Operations that make an operand of a weight in a step of decoding. methods.md (36) */
#include "stacks/decode.h"
#include "stacks/cpus.h"
#include "stacks/priors.h"
#include "stacks/units.h"
#include <ctype.h>
#include <math.h>
#include <string.h>

static enum weight_width width_of(const char *q, double bits)
{
    if (bits > 24)
        return WIDTH_32;
    if (bits > 12)
        return WIDTH_16;
    if (bits > 7)
        return WIDTH_8;
    return bits < 4.2 && toupper((unsigned char)q[0]) == 'I' && toupper((unsigned char)q[1]) == 'Q' ? WIDTH_GRID : WIDTH_4;
}

/* Kernels for the matrix units widen two weights of 4 or 8 bits in an instruction: Marlin's, which vLLM and SGLang run, FasterTransformer's converter
 * of TensorRT-LLM and LMDeploy; AWQ's and ExLlama's kernels do the same. */
static bool widens_pairs(const struct facts *f)
{
    static const char *const others[] = { "exllama", "tinychat" };
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (strcmp(f->p->stack->id, others[i]) == 0)
            return true;
    return f->p->stack->family == STACK_SERVER;
}

static const char *names_of(const char *q)
{
    if (strcasestr(q, "IQ"))
        return "grid";
    return strcasestr(q, "_K") ? "k" : "plain";
}

/* llama.cpp's kernel of rows for CUDA, which ROCm has too. (37) */
static bool has_rows_kernel(const struct facts *f)
{
    return f->products == BACK_END_CUDA || f->products == BACK_END_ROCM;
}

/* What an instruction takes of the time that an FP32 multiply-add has by the machine's peak: half of these are integers, which some machines
 * have lanes of their own for; where the peak counts two a cycle and lane, they are issued alone. */
static double issue_factor(const struct facts *f)
{
    if (f->before_volta)
        return prior(PRIOR_PASCAL_FACTOR);
    return f->integers_apart ? prior(PRIOR_INTEGERS_APART) : f->two_issue ? prior(PRIOR_TWO_ISSUE) : 1;
}

/* Of a weight of fewer than 12 bits: with one token, or what each further one adds. */
static double rows_kernel_ops(const struct facts *f, double bits, bool more)
{
    const struct priors *p = priors();
    const char *n = names_of(facts_type(f));
    size_t i = 0;
    for (; i + 1 < p->n_gpu_row; i++)
        if ((!*p->gpu_row[i].names || strcmp(p->gpu_row[i].names, n) == 0) && bits < p->gpu_row[i].below_bits)
            break;
    return p->n_gpu_row > 0 ? issue_factor(f) * (more ? p->gpu_row[i].more : p->gpu_row[i].one) : NAN;
}

double decode_ops_weight(const struct facts *f, double bits)
{
    const enum weight_width w = width_of(facts_type(f), bits);
    if (f->cpu)
        return cpu_ops_weight(f, bits);
    if (w != WIDTH_32 && w != WIDTH_16 && has_rows_kernel(f))
        return rows_kernel_ops(f, bits, false);
    if ((w == WIDTH_4 || w == WIDTH_8) && widens_pairs(f))
        return prior(PRIOR_PACKED_OPS);
    const bool cuda = f->back_end == BACK_END_CUDA || f->back_end == BACK_END_ROCM;
    const double ops = w == WIDTH_16 && cuda && f->old ? prior(PRIOR_OLD_HALF_OPS) : priors()->gpu_ops[w];
    return f->before_volta && w != WIDTH_32 ? ops * prior(PRIOR_PASCAL_FACTOR) : ops;
}

/*
 * The kernel of many makes bytes of a tile of quantized weights in shared memory, and reads those for its columns: some operations more than
 * one token's, however many tokens there are. Engines took the kernel of rows for up to 8 tokens, and take it now where that is faster.
 * Vulkan's rows are multiplied as floats.
 */
double decode_ops_several(const struct facts *f, double bits, double n_tok)
{
    const enum weight_width w = width_of(facts_type(f), bits);
    const bool vulkan = f->products == BACK_END_VULKAN;
    if (f->cpu || !(vulkan || has_rows_kernel(f)))
        return 0;
    const double one = decode_ops_weight(f, bits), further = fmin(n_tok, MMVQ_MOST) - 1;
    if (w == WIDTH_32 || w == WIDTH_16)
        return n_tok > 1 ? priors()->gpu_ops[w] + further * (w == WIDTH_32 ? 1 : prior(PRIOR_HALVES_MORE)) : one;
    if (vulkan)
        return one + further * prior(PRIOR_VULKAN_MORE);
    const double rows = further * rows_kernel_ops(f, bits, true), tile = prior(PRIOR_TILE_OPS) * issue_factor(f);
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
 * and adds; NF4 unpacks the scales' own scales, then multiplies. (doc/notes/stacks.md)
 */
double decode_host_s(const struct facts *f, double bits)
{
    const char *engine = f->p->m->engine, *type = f->p->m->quant;
    const bool own = strcasestr(engine, "awq") || strcasestr(engine, "gptq") || strcasestr(type, "awq") || strcasestr(type, "gptq");
    if (strcmp(f->p->stack->id, "transformers") != 0 || own || bits > 12)
        return 0;
    return prior(PRIOR_DISPATCH_S) * prior(bits > 7 ? PRIOR_INT8_KERNELS : PRIOR_NF4_KERNELS);
}
