/* Facts of engines' decode kernels. methods.md (79) */
#include "calibrate/decode.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool decode_is_old(const struct priced *p)
{
    const char *d = p->m->date, *b = strchr(d, '(');
    if (p->stack->family != STACK_LLAMA_CPP)
        return false;
    if (strstr(d, "build ") && b && atoi(b + 1) > 0)
        return atoi(b + 1) < 3500;
    const char *year = strstr(d, "20");
    if (!year || !isdigit((unsigned char)year[2]) || !isdigit((unsigned char)year[3]))
        return strstr(p->m->notes, "no flash attention") != NULL;
    const int y = atoi(year), month = year[4] == '-' ? atoi(year + 5) : 1;
    return y < 2024 || (y == 2024 && month < 8);
}

bool decode_walks(const struct priced *p)
{
    const bool said = (p->m->flash_said && !p->m->flash) || strstr(p->m->notes, "no FA") || strstr(p->m->notes, "no flash attention");
    return p->machine->h.kind != HW_CPU && (said || decode_is_old(p));
}

/* ---- operations a weight ------------------------------------------------------------------- */

enum width { WIDTH_32, WIDTH_16, WIDTH_8, WIDTH_4, WIDTH_GRID, WIDTH_COUNT };

/*
 * Of a GPU: 16 bits a wide load shared by eight weights, a conversion and a multiply-add; 8 bits a part of a load, a scale
 * and a quarter of an 8-bit dot product; 4 bits shifts and masks besides; grids (IQ types) a lookup and signs besides.
 * llama.cpp's old kernel for 16 bits widens two weights an iteration: two addresses, two loads of 2 bytes, two conversions,
 * two loads of FP32 activations, two multiply-adds and the loop, 14 a weight. Of a CPU the units work on bytes, four to a
 * lane of FP32: a load, a shift, a mask and a dot product are two lanes' worth a weight at most.
 */
static const double gpu_ops[WIDTH_COUNT] = { [WIDTH_32] = 1, [WIDTH_16] = 2, [WIDTH_8] = 3, [WIDTH_4] = 5, [WIDTH_GRID] = 8 };
static const double cpu_ops[WIDTH_COUNT] = { [WIDTH_32] = 1, [WIDTH_16] = 1, [WIDTH_8] = 2, [WIDTH_4] = 2, [WIDTH_GRID] = 4 };
static const double old_half_ops = 14;
/* Before Volta integer arithmetic and conversions take turns with FP32, half and a quarter as many a cycle.
 * Source: CUDA C++ Programming Guide, arithmetic instructions by compute capability. */
static const double pascal_factor = 2;

static bool is_cpu(const struct priced *p)
{
    return p->machine->h.kind == HW_CPU;
}

static enum width width_of(const struct priced *p, double bits)
{
    const char *q = p->m->quant;
    if (bits > 24)
        return WIDTH_32;
    if (bits > 12)
        return WIDTH_16;
    if (bits > 7)
        return WIDTH_8;
    return bits < 4.2 && toupper((unsigned char)q[0]) == 'I' && toupper((unsigned char)q[1]) == 'Q' ? WIDTH_GRID : WIDTH_4;
}

/* By name: profiles of GPUs without tensor cores and of ones nobody stated FP16 of look alike. */
static bool is_pascal(const struct priced *p)
{
    static const char *const names[] = { "GTX 9", "GTX 10", "TITAN X", "Titan X", "Quadro P", "Tesla P", "NVIDIA P4", "NVIDIA P100" };
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        any |= strstr(p->machine->hardware, names[i]) != NULL;
    return any;
}

double decode_ops_weight(const struct priced *p, double bits)
{
    const enum width w = width_of(p, bits);
    if (is_cpu(p))
        return cpu_ops[w];
    const char *id = p->stack->id;
    const bool cuda = strcmp(id, "llama.cpp-cuda") == 0 || strcmp(id, "llama.cpp-rocm") == 0;
    const double ops = w == WIDTH_16 && cuda && decode_is_old(p) ? old_half_ops : gpu_ops[w];
    return is_pascal(p) && w != WIDTH_32 ? ops * pascal_factor : ops;
}

/* SYCL has no kernel of its own for BF16: it writes the weights as FP32 for oneMKL, for one token too. Source: llama.cpp's
 * ggml_sycl_mul_mat, ggml_sycl_op_mul_mat_sycl. */
static const double staged_float = 4;

double decode_staged_bytes(const struct priced *p, enum math math, double bits)
{
    return strcmp(p->stack->id, "llama.cpp-sycl") == 0 && math == MATH_BF16 && bits > 12 && bits < 24 ? staged_float : 0;
}

/* ---- launches ------------------------------------------------------------------------------- */

/* Stacks that differ from one kernel an op launched from compiled code; Python's dispatch takes ten times a launch. */
static const struct {
    const char *stack;
    double launches;
} launchers[] = {
    { "mlx", 0.6 },         { "llama.cpp-cuda", 0.6 }, /* graphs of kernels since August 2024 */
    { "transformers", 8 },  { "onnxruntime", 2 },
    { "ctranslate2", 2 },   { "exllama", 2 },
};
static const double fused_launches = 0.6, old_launches = 1.25;

double decode_launches(const struct priced *p)
{
    if (decode_is_old(p))
        return old_launches;
    for (size_t i = 0; i < ARRAY_LEN(launchers); i++)
        if (strcmp(launchers[i].stack, p->stack->id) == 0)
            return launchers[i].launches;
    return p->stack->fused && !is_cpu(p) ? fused_launches : 1;
}

const char *decode_vendor(const struct priced *p, char *buf, size_t size)
{
    const char *hw = p->machine->hardware, *vendor = p->machine->h.vendor;
    if (is_cpu(p))
        snprintf(buf, size, "CPU");
    else if (vendor[0] && strcmp(vendor, "?") != 0)
        snprintf(buf, size, "%s", vendor);
    else
        snprintf(buf, size, "%.*s", (int)strcspn(hw, " "), hw);
    return buf;
}
