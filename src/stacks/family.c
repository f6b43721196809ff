/* Families of kernels: the table, and what families share of machines, types and libraries. */
#include "stacks/family.h"
#include "base/label.h"
#include "fit/fit.h"
#include "stacks/priors.h"
#include <math.h>
#include <string.h>

extern const struct family family_gemm, family_experts, family_attention, family_mla, family_prompt, family_collective;

static const struct family *const families[] = {
    &family_gemm,
    &family_experts,
    &family_attention,
    &family_mla,
    &family_prompt,
    &family_collective,
};
_Static_assert((int)FIT_MAX_EFFECTS >= 1 + (int)FAMILY_DIMENSIONS, "a parameter has a common effect and one of each dimension");
_Static_assert(ARRAY_LEN(families) <= FAMILY_MOST, "a family more than there is room for");

const struct family *family_at(size_t i)
{
    return i < ARRAY_LEN(families) ? families[i] : NULL;
}

const struct family *family_of(const char *op)
{
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        for (const char *const *o = families[i]->ops; *o; o++)
            if (strcmp(*o, op) == 0)
                return families[i];
    return NULL;
}

size_t family_index(const struct family *f)
{
    size_t i = 0;
    while (families[i] != f)
        i++;
    return i;
}

int family_parameter_find(const struct family *f, const char *name)
{
    for (int i = 0; i < f->n_parameter; i++)
        if (strcmp(f->parameter[i].name, name) == 0)
            return i;
    return -1;
}

double family_overlap(double x, double y)
{
    const double a = x * x, b = y * y;
    return sqrt(sqrt(a * a + b * b));
}

double family_cache_hit(double bytes, double cache_bytes)
{
    return cache_bytes > 0 ? 1 / (1 + pow(bytes / cache_bytes, 6)) : 0;
}

/* ---- machines ------------------------------------------------------------------------------------ */

/*
 * Bytes a cycle and multiprocessor between the last cache and all multiprocessors, by the width of its slices: A100 and H100 whitepapers
 * (5,120 bytes a clock), two of these dies for Blackwell; 48 slices of 64 bytes for AD102. Others: between these (confidence: low).
 */
static double cache_bytes_cycle(enum generation g, const char *vendor)
{
    switch (g) {
    case GENERATION_GA100:
        return 5120 / 108.;
    case GENERATION_HOPPER:
    case GENERATION_H20:
        return 5120 / 132.;
    case GENERATION_BLACKWELL:
        return 2 * 5120 / 148.;
    case GENERATION_OTHER:
    case GENERATION_BEFORE_VOLTA:
    case GENERATION_VOLTA:
    case GENERATION_TURING:
    case GENERATION_SMALL_TURING:
    case GENERATION_BEFORE_MATRIX:
        break;
    }
    return strcmp(vendor, "NVIDIA") == 0 ? 48 * 64 / 142. : 32;
}

static const char *generation_text(enum generation g)
{
    switch (g) {
    case GENERATION_GA100:
        return "GA100";
    case GENERATION_HOPPER:
        return "Hopper";
    case GENERATION_H20:
        return "H20";
    case GENERATION_BLACKWELL:
        return "datacenter Blackwell";
    case GENERATION_BEFORE_VOLTA:
    case GENERATION_VOLTA:
    case GENERATION_TURING:
    case GENERATION_SMALL_TURING:
    case GENERATION_BEFORE_MATRIX:
        return "before Ampere";
    case GENERATION_OTHER:
        break;
    }
    return "other ";
}

bool family_is_async(enum generation g)
{
    return g == GENERATION_HOPPER || g == GENERATION_H20 || g == GENERATION_BLACKWELL;
}

void family_generation_name(char *out, const struct stack_traits *x)
{
    snprintf(out, FAMILY_TEXT, "%s%.30s", generation_text(x->generation), x->generation == GENERATION_OTHER ? x->vendor : "");
}

void family_machine_init(struct family_machine *out, const struct workload *p)
{
    struct stack_traits f;
    const struct roofs *r = p->roofs;
    stack_traits_init(&f, p);
    *out = (struct family_machine){
        .n_unit = r->units.n,
        .clock_hz = r->units.clock_hz,
        .memory_bytes_s = r->bytes_s / (f.inline_ecc ? prior(PRIOR_ECC_BYTES) : 1),
        .cache_bytes = r->units.cache_bytes,
        .cache_bytes_s = cache_bytes_cycle(f.generation, f.vendor) * r->units.n * r->units.clock_hz,
        .async = family_is_async(f.generation),
        .generation = f.generation,
    };
    for (int m = 0; m < MATH_COUNT; m++)
        out->peak[m] = r->peak[m].flop_s;
    label_fit(out->name, sizeof out->name, p->machine->profile[0] ? p->machine->profile : p->machine->hardware);
    family_generation_name(out->generation_name, &f);
}

int family_machine_check(const struct family_machine *on, unsigned needs, enum math math, struct error *err)
{
    const struct {
        const char *name;
        bool needed;
        double value;
    } facts[] = {
        { "number of multiprocessors", needs & FAMILY_NEEDS_UNITS, on->n_unit },
        { "clock", needs & FAMILY_NEEDS_CLOCK, on->clock_hz },
        { "memory bandwidth", needs & FAMILY_NEEDS_MEMORY, on->memory_bytes_s },
        { "peak of the operands' type", math < MATH_COUNT, math < MATH_COUNT ? on->peak[math] : NAN },
    };
    for (size_t i = 0; i < ARRAY_LEN(facts); i++)
        if (facts[i].needed && !(facts[i].value > 0 && isfinite(facts[i].value)))
            return error_set(err, ERROR_UNAVAILABLE, "kernels on %.60s: its %s is not known", on->name, facts[i].name);
    return 0;
}

/* ---- types and libraries --------------------------------------------------------------------------- */

/* Names of aiconfigurator's tables. A scale each 16 (NVFP4) or 32 (MXFP4) weights of 4 bits; of blocks of 128 none is counted. */
static const struct family_type types[] = {
    { "bfloat16", MATH_BF16, 2, 2, false },
    { "float16", MATH_FP16, 2, 2, false },
    { "fp8", MATH_FP8, 1, 1, true },
    { "fp8_static", MATH_FP8, 1, 1, true },
    { "fp8_ootb", MATH_FP8, 1, 1, true },
    { "fp8_block", MATH_FP8, 1, 1, true },
    { "mxfp8", MATH_FP8, 1 + 1 / 32., 1 + 1 / 32., true },
    { "nvfp4", MATH_FP4, .5 + 1 / 16., .5 + 1 / 16., true },
    { "mxfp4", MATH_FP4, .5 + 1 / 32., .5 + 1 / 32., true },
    { "int8", MATH_INT8, 1, 1, true },
    { "sq", MATH_INT8, 1, 1, false },
    { "int8_wo", MATH_BF16, 1, 2, false },
    { "int4_wo", MATH_BF16, .5, 2, false },
    { "w4afp8", MATH_FP8, .5, 1, true },
    { "w4a16_mxfp4", MATH_BF16, .5 + 1 / 32., 2, false },
    { "w4a16_mxfp4_cutlass", MATH_BF16, .5 + 1 / 32., 2, false },
    { "w4a8_mxfp4_mxfp8", MATH_FP8, .5 + 1 / 32., 1 + 1 / 32., true },
    { "w4a8_mxfp4_mxfp8_trtllm", MATH_FP8, .5 + 1 / 32., 1 + 1 / 32., true },
};

const struct family_type *family_type_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

const char *family_library(const char *kernel)
{
    static const struct {
        const char *word, *library;
    } words[] = { { "deepgemm", "deepgemm" }, { "FlashInferFp8", "deepgemm" },      { "cutedsl", "cute dsl" }, { "flashinfer_cutlass", "flashinfer cutlass" },
                  { "marlin", "marlin" },     { "triton", "triton" },                { "cutlass", "cutlass" },  { "nongated", "cutlass" },
                  { "sgl_kernel", "cutlass" }, { "trtllm", "trtllm-gen" },           { "PLUGIN", "plugin" } };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcasestr(kernel, words[i].word))
            return words[i].library;
    return "default";
}
