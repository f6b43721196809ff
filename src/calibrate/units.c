#include "calibrate/units.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *unit_name(enum unit u)
{
    static const char *const names[UNIT_COUNT] = { [UNIT_MATRIX] = "matrix", [UNIT_INTEGER] = "integer", [UNIT_DOT] = "dot",
                                                   [UNIT_VECTOR] = "vector", [UNIT_GRID] = "grid",       [UNIT_CPU] = "cpu" };
    return names[u];
}

/* ---- the engine's age ------------------------------------------------------------------------------- */

/* llama.cpp's newest build at the beginning of a month. Source: its release tags. */
static const struct {
    int year, month, build;
} tags[] = {
    { 2023, 6, 600 },   { 2023, 9, 1150 },  { 2023, 12, 1590 }, { 2024, 3, 2300 },  { 2024, 6, 3100 }, { 2024, 8, 3500 },
    { 2024, 10, 3850 }, { 2024, 12, 4230 }, { 2025, 2, 4600 },  { 2025, 4, 5020 },  { 2025, 6, 5560 }, { 2025, 8, 6060 },
    { 2025, 10, 6660 }, { 2025, 12, 7210 }, { 2026, 2, 7900 },  { 2026, 4, 8600 },  { 2026, 6, 9400 },
};

/* From a month on. */
static int build_of(int year, int month)
{
    int build = 1;
    for (size_t i = 0; i < ARRAY_LEN(tags); i++)
        if (year > tags[i].year || (year == tags[i].year && month >= tags[i].month))
            build = tags[i].build;
    return build;
}

/* "May 2024" -> 5; "2024-05" -> 5; a year alone: its middle. */
static int month_of(const char *date, const char *year)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    if (year[4] == '-' && isdigit((unsigned char)year[5]))
        return atoi(year + 5);
    if (year - date >= 4) {
        const char word[4] = { year[-4], year[-3], year[-2], 0 };
        const char *at = strstr(names, word);
        if (at && year[-1] == ' ')
            return (int)(at - names) / 3 + 1;
    }
    return 6;
}

int unit_build(const struct measurement *m)
{
    const char *paren = strstr(m->date, "build ") ? strchr(m->date, '(') : NULL;
    if (paren && atoi(paren + 1) > 0)
        return atoi(paren + 1);
    for (const char *b = m->date; *b; b++)
        if (*b == 'b' && (b == m->date || !isalnum((unsigned char)b[-1])) && strspn(b + 1, "0123456789") == 4)
            return atoi(b + 1);
    for (const char *y = m->date; (y = strstr(y, "20")) != NULL; y++)
        if (strspn(y, "0123456789") == 4 && (y == m->date || !isalnum((unsigned char)y[-1])))
            return build_of(atoi(y), month_of(m->date, y));
    return 0;
}

static bool since(const struct priced *p, int build)
{
    const int b = unit_build(p->m);
    return b == 0 || b >= build; /* nothing said: of today */
}

/* ---- the machine ------------------------------------------------------------------------------------- */

enum maker { NVIDIA, AMD, INTEL, APPLE, OTHER };

static enum maker maker_of(const struct priced *p)
{
    static const char *const names[] = { [NVIDIA] = "NVIDIA", [AMD] = "AMD", [INTEL] = "Intel", [APPLE] = "Apple" };
    for (int i = 0; i < OTHER; i++)
        if (strcmp(p->machine->h.vendor, names[i]) == 0 || strncmp(p->machine->hardware, names[i], strlen(names[i])) == 0)
            return (enum maker)i;
    return OTHER;
}

/* The machine's own figure; 0 where it has none, also where a roof borrows another type's. */
static double own_peak(const struct priced *p, enum math m)
{
    const struct peak *q = &p->roofs.peak[m];
    return q->flop_s > 0 && !q->derived ? q->flop_s : 0;
}

static double peak(const struct priced *p, enum math m)
{
    return p->roofs.peak[m].flop_s > 0 ? p->roofs.peak[m].flop_s : 0;
}

static bool named(const struct priced *p, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strstr(p->machine->hardware, words[i]) || strstr(p->machine->h.name, words[i]))
            return true;
    return false;
}

/* Generations of AMD without matrix units: before RDNA3, and before CDNA. */
static bool amd_before_matrix(const struct priced *p)
{
    static const char *const words[] = { "RX 4", "RX 5", "RX 6", "Vega", "Radeon VII", "W5", "W6", "680M", "660M", "MI25", "MI50", "MI60" };
    return named(p, words, ARRAY_LEN(words));
}

/* Tensor cores are twice or more the vector units (P100 and GTX 16 have FP16 at twice the rate, and none); XMX eight times. */
static bool has_matrix(const struct priced *p)
{
    static const char *const without[] = { "GTX", "P100", "P40", "P4 ", "Tesla M", "Quadro P" };
    const double fp16 = own_peak(p, MATH_FP16), fp32 = own_peak(p, MATH_FP32);
    switch (maker_of(p)) {
    case NVIDIA:
        return !named(p, without, ARRAY_LEN(without)) && (fp16 > 1.5 * fp32 || strstr(p->machine->hardware, "RTX"));
    case AMD:
        return !amd_before_matrix(p) && fp16 > 1.5 * fp32;
    case INTEL:
        return fp16 > 3 * fp32;
    case APPLE:
        return false;
    case OTHER:
        break;
    }
    return fp16 > 1.5 * fp32;
}

/*
 * With 16-bit sums GeForce cards multiply twice as fast as with 32-bit ones, which is what their 16-bit figure is for: 4 times
 * the vector units' rate since Ampere, 8 times on Turing. Other cards lose nothing with 32-bit sums. Source: whitepapers of
 * GA102 (table 3), AD102 (table 2), TU102 (table 1).
 */
static double fp16_sums_peak(const struct priced *p)
{
    static const char *const turing[] = { "RTX 20", "TITAN RTX" };
    const double fp16 = peak(p, MATH_FP16), fp32 = own_peak(p, MATH_FP32);
    const bool geforce = maker_of(p) == NVIDIA && strcmp(p->machine->class_name, "consumer GPU") == 0;
    const double full = (named(p, turing, ARRAY_LEN(turing)) ? 8 : 4) * fp32;
    return geforce && fp16 < 0.75 * full ? 2 * fp16 : fp16;
}

static struct unit_use vector_unit(const struct priced *p)
{
    return (struct unit_use){ .unit = UNIT_VECTOR, .flop_s = peak(p, MATH_FP32) };
}

/*
 * Quantized weights and activations are multiplied as integers in blocks of 32 along a row, each with scales of its own: a sum of a
 * block is converted, multiplied by both scales and added, on the vector units. Those scale_ops a block take their time after
 * the product's, which is what keeps MMQ from the integer peak. Source: llama.cpp's mmq.cuh, vec_dot_q8_0_q8_1_mma.
 */
enum { BLOCK = 32 };
static const double scale_ops = 4; /* a conversion at half rate, two multiplications, of which one for four sums, an addition */

static double with_scales(double flop_s, double vector_flop_s)
{
    return 2 * BLOCK / (2 * BLOCK / flop_s + 2 * scale_ops / vector_flop_s);
}

/* RDNA3's figure of FP32 counts two instructions a cycle, which few are: of these none. Source: RDNA3 ISA guide, 7.6 (VOPD). */
static double lanes_flop_s(const struct priced *p)
{
    return peak(p, MATH_FP32) / (maker_of(p) == AMD && !amd_before_matrix(p) ? 2 : 1);
}

/* dp4a: four products for a lane's one, since Pascal, Vega 20 and RDNA2. */
static struct unit_use dot_unit(const struct priced *p)
{
    const double v = lanes_flop_s(p);
    return (struct unit_use){ .unit = UNIT_DOT, .flop_s = with_scales(4 * v, v) };
}

/* Units of 8 bits as the machine states them; else twice as fast as those of 16. */
static struct unit_use integer_unit(const struct priced *p)
{
    const double own = own_peak(p, MATH_INT8), v = lanes_flop_s(p);
    return (struct unit_use){ .unit = UNIT_INTEGER, .flop_s = with_scales(own > 0 ? own : 2 * peak(p, MATH_FP16), v) };
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
    MMQ_EXPERTS = 5250,     /* and those of all experts in one kernel: 13199 (May 2025) */
    RDNA_WMMA_MMQ = 7200,   /* ROCm multiplies quantized weights on RDNA's WMMA: 17576 (December 2025) */
    RDNA_WMMA_ATTEND = 7700, /* and attends there: 18481 (January 2026) */
    SYCL_EXPERTS = 8830,     /* SYCL has one kernel for all experts of a token, of some types: 21920 (April 2026) */
};
enum { MMVQ_MOST = 8, MMQ_DOT_MOST = 64 }; /* tokens of the kernels of few tokens: MMVQ_MAX_BATCH_SIZE, MMQ_MAX_BATCH_SIZE */
enum { QUANTIZED = 12 };                   /* bits of a weight below which it is */
static const double staged_half = 2, staged_float = 4; /* bytes of an operand */

static struct unit_use cuda(const struct priced *p, enum math math, double bits, double n_tok)
{
    if (!has_matrix(p))
        return bits < QUANTIZED ? dot_unit(p) : vector_unit(p);
    if (bits >= QUANTIZED)
        return bits > 24 ? vector_unit(p) : matrix_unit(math == MATH_BF16 ? peak(p, MATH_BF16) : fp16_sums_peak(p));
    if (n_tok <= MMVQ_MOST)
        return dot_unit(p);
    if (since(p, MMQ_TENSOR))
        return integer_unit(p);
    if (n_tok <= MMQ_DOT_MOST)
        return dot_unit(p);
    struct unit_use u = matrix_unit(fp16_sums_peak(p));
    u.staged_bytes = staged_half;
    return u;
}

static struct unit_use rocm(const struct priced *p, enum math math, double bits, double n_tok)
{
    if (bits < QUANTIZED && n_tok > MMVQ_MOST && has_matrix(p) && since(p, RDNA_WMMA_MMQ))
        return integer_unit(p);
    if (bits < QUANTIZED)
        return dot_unit(p);
    if (bits > 24)
        return vector_unit(p);
    if (!has_matrix(p)) /* packed FP16 */
        return (struct unit_use){ .unit = UNIT_VECTOR, .flop_s = fmax(peak(p, MATH_FP16), peak(p, MATH_FP32)) };
    return matrix_unit(peak(p, math));
}

static struct unit_use vulkan(const struct priced *p, enum math math, double bits)
{
    const bool bf16 = math == MATH_BF16 && bits >= QUANTIZED;
    if (has_matrix(p) && since(p, VULKAN_COOPMAT) && bits <= 24 && (!bf16 || maker_of(p) == NVIDIA))
        return matrix_unit(bf16 ? peak(p, MATH_BF16) : fp16_sums_peak(p));
    if (bits < QUANTIZED && since(p, VULKAN_DOT) && !has_matrix(p))
        return dot_unit(p);
    return vector_unit(p);
}

/* oneDNN multiplies FP16 on XMX; quantized weights become FP16 before, BF16 ones FP32. */
static struct unit_use sycl(const struct priced *p, enum math math, double bits)
{
    struct unit_use u = has_matrix(p) ? matrix_unit(peak(p, MATH_FP16)) : vector_unit(p);
    if (bits >= QUANTIZED && (math == MATH_BF16 || bits > 24)) {
        u = vector_unit(p);
        u.staged_bytes = bits > 24 ? 0 : staged_float;
    } else if (bits < QUANTIZED) {
        u.staged_bytes = staged_half;
    }
    return u;
}

struct unit_use unit_of_product(const struct priced *p, enum math math, double bits, double n_tok)
{
    const char *id = p->stack->id;
    if (p->roofs.cpu)
        return (struct unit_use){ .unit = UNIT_CPU, .flop_s = peak(p, math) };
    if (maker_of(p) == APPLE)
        return (struct unit_use){ .unit = UNIT_GRID, .flop_s = peak(p, MATH_FP32) };
    if (strcmp(id, "llama.cpp-cuda") == 0 || (maker_of(p) == NVIDIA && (strcmp(id, "ollama") == 0 || p->stack->family == STACK_IK)))
        return cuda(p, math, bits, n_tok);
    if (strcmp(id, "llama.cpp-rocm") == 0 || (maker_of(p) == AMD && strcmp(id, "ollama") == 0))
        return rocm(p, math, bits, n_tok);
    if (strcmp(id, "llama.cpp-vulkan") == 0)
        return vulkan(p, math, bits);
    if (strcmp(id, "llama.cpp-sycl") == 0)
        return sycl(p, math, bits);
    if (bits > 24 || !(has_matrix(p)))
        return (struct unit_use){ .unit = UNIT_VECTOR, .flop_s = peak(p, math) };
    return matrix_unit(peak(p, math));
}

/* Columns of a tile: 32 in Metal's and MLX's products and the smaller ones of Vulkan's, up to 64 and more elsewhere. */
enum { TILE = 32 };

/* Of one matrix the last tile is filled with nothing; of many, each with a number of tokens of its own, half a tile is. (82) */
double unit_padding(const struct priced *p, double n_tok, double n_matrix)
{
    if (p->roofs.cpu || !(n_tok > MMVQ_MOST))
        return 1;
    return n_matrix > 1 ? 1 + n_matrix * TILE / 2 / n_tok : ceil(n_tok / TILE) * TILE / n_tok;
}

/*
 * Where no kernel takes all experts of a layer, the host waits for the router's choice, and then copies, converts, multiplies and
 * converts back for one expert after the other: four launches on an empty queue. CUDA and ROCm do so with weights of 16 bits, and did
 * with quantized ones; SYCL does, and for one token too where its kernel for that lacks the type. Source: llama.cpp's ggml_cuda_mul_mat_id and ggml_sycl_mul_mat_id.
 */
static const double expert_s = 4 * 10e-6;

/* SYCL's kernel for the experts of one token has the types of K and those before, neither grids nor FP4. */
static bool sycl_fuses(const struct priced *p, double bits)
{
    return bits < QUANTIZED && strncasecmp(p->type, "IQ", 2) != 0 && !strstr(p->type, "FP4") && since(p, SYCL_EXPERTS);
}

double unit_expert_s(const struct priced *p, double bits, double n_tok)
{
    const char *id = p->stack->id;
    const bool cuda_like = strcmp(id, "llama.cpp-cuda") == 0 || strcmp(id, "llama.cpp-rocm") == 0;
    const bool sycl = strcmp(id, "llama.cpp-sycl") == 0;
    if (n_tok <= 1 && sycl)
        return sycl_fuses(p, bits) ? 0 : expert_s;
    if (n_tok <= MMVQ_MOST)
        return 0;
    if (sycl || (cuda_like && (bits >= QUANTIZED || !since(p, MMQ_EXPERTS))))
        return expert_s;
    return 0;
}

/* ---- attention ------------------------------------------------------------------------------------------- */

/* Said by the row, by its notes, or as the engine does by itself: llama-bench's default is without. */
static bool is_flash(const struct priced *p)
{
    const char *notes = p->m->notes;
    if (p->m->flash_said)
        return p->m->flash;
    if (strstr(notes, "fa=1") || strstr(notes, "FlashAttention Yes"))
        return true;
    return p->stack->family != STACK_LLAMA_CPP;
}

/* A score written by the product, read and written by the softmax, read by the next product: 4 bytes each. */
static const double staged_score = 16;

struct unit_use unit_of_attention(const struct priced *p, double n_tok)
{
    const char *id = p->stack->id;
    struct unit_use u;
    if (p->roofs.cpu)
        return (struct unit_use){ .unit = UNIT_CPU, .flop_s = peak(p, MATH_FP32) };
    if (maker_of(p) == APPLE)
        u = (struct unit_use){ .unit = UNIT_GRID, .flop_s = peak(p, MATH_FP32) };
    else if (strcmp(id, "llama.cpp-sycl") == 0 || !has_matrix(p) || n_tok <= MMVQ_MOST)
        u = vector_unit(p);
    else if (strcmp(id, "llama.cpp-rocm") == 0 && is_flash(p) && !since(p, RDNA_WMMA_ATTEND))
        u = vector_unit(p);
    else if (strcmp(id, "llama.cpp-vulkan") == 0 && (maker_of(p) != NVIDIA || !since(p, VULKAN_COOPMAT)))
        u = vector_unit(p); /* the softmax between its products keeps KHR's matrices at the vector units' rate */
    else
        u = matrix_unit(peak(p, MATH_FP16));
    if (!is_flash(p))
        u.staged_bytes = staged_score;
    return u;
}
