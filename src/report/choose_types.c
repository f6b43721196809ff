/* The types among which `roofcast choose` chooses: those of which there are files, and which stack and machine run. */
#include "report/choose.h"
#include "dataset/stacks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Checkpoint formats in which models are published for servers and for MLX. methods.md (4) */
static const struct {
    const char *name;
    enum math math; /* units without which it is not offered; MATH_COUNT: any */
    bool native;    /* only of models that are published in it */
} checkpoints[] = {
    { "FP8", MATH_FP8, false },      { "FP8_CHANNEL", MATH_FP8, false }, { "FP8_BLOCK", MATH_FP8, true },   { "INT8", MATH_INT8, false },
    { "AWQ", MATH_COUNT, false },    { "GPTQ", MATH_COUNT, false },      { "W4A16", MATH_COUNT, false },    { "NVFP4", MATH_FP4, false },
    { "MLX_8BIT", MATH_COUNT, false }, { "MLX_4BIT", MATH_COUNT, false }, { "MXFP4_EXPERTS", MATH_COUNT, true },
};

/* Mixtures without files: F32 is no format that models are run in, ternary types hold ternary models alone, MXFP4 experts. */
static bool mixture_offered(const char *name, const struct model *m)
{
    if (strcmp(name, "F32") == 0 || strncmp(name, "TQ", 2) == 0)
        return false;
    return strcmp(name, "MXFP4_MOE") != 0 || m->hp.n_expert > 0;
}

static enum math units_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(checkpoints); i++)
        if (strcmp(checkpoints[i].name, name) == 0)
            return checkpoints[i].math;
    return MATH_COUNT;
}

/* Published in that type, by the data or its own quantization_config. */
static bool is_native(const struct choose_case *c, const char *type)
{
    return published_native(c->published, c->model, type) || (c->own_type && strcmp(c->own_type, type) == 0);
}

/* Types that the engine executes; others are read only by llama.cpp. */
static const char *unknown_here(const struct choose_type *t)
{
    for (size_t i = 0; i < t->m.n_tensors; i++)
        if (t->m.tensors[i].type >= DTYPE_COUNT || !dtype_find(t->m.tensors[i].type)->dequantize)
            return "roofcast's engine does not execute it";
    return NULL;
}

const char *choose_refusal(const struct choose_case *c, const struct choose_type *t, const struct stack *s, const struct hwprofile *h)
{
    const bool mlx = s->family == STACK_MLX, server = s->family == STACK_SERVER;
    const enum math units = units_of(t->name);
    if (strncmp(t->name, "MLX_", 4) == 0)
        return mlx ? NULL : "only MLX loads it";
    if (t->weights == WEIGHTS_CHECKPOINT && !software_loads(s, &t->m))
        return "the stack does not load it";
    if (t->weights == WEIGHTS_GGUF && (mlx || server))
        return "the stack loads no GGUF types";
    if (strcmp(s->id, "roofcast") == 0 && unknown_here(t))
        return unknown_here(t);
    if (units != MATH_COUNT && !(h->peak[units].value > 0))
        return "the machine has no units for it";
    if (units == MATH_FP4 && strcmp(h->vendor, "NVIDIA") != 0)
        return "NVFP4 is NVIDIA's";
    /* F16 and BF16 are the same bytes: llama.cpp's files are F16 by convention, checkpoints BF16 */
    if (!c->asked && t->weights == WEIGHTS_PLAIN && strcmp(t->name, server || mlx ? "F16" : "BF16") == 0)
        return "as the other 16-bit type";
    return NULL;
}

/* A GGUF keeps its types: its shape is loaded in another. */
static int load(struct choose_type *t, const struct model *m, const char *spec, const char *type, struct error *err)
{
    if ((m->gguf ? model_from_hparams(&t->m, m->name, model_arch_name(m), &m->hp, type, err) : model_load(&t->m, spec, type, err)) != 0)
        return -1;
    if (model_classes_init(&t->x, &t->m, err) != 0) {
        model_free(&t->m);
        return -1;
    }
    snprintf(t->name, sizeof t->name, "%s", t->m.type_name);
    t->weights = software_weights(&t->m);
    t->loaded = true;
    return 0;
}

static int add(struct choose_case *c, const struct model *m, const char *spec, const char *type, struct error *err)
{
    return load(&c->type[c->n_type++], m, spec, type, err);
}

int choose_types_load(struct choose_case *c, const struct model *m, const char *spec, const struct str_list *asked, struct error *err)
{
    size_t n = 0;
    while (model_mixture_at(n))
        n++;
    n += ARRAY_LEN(checkpoints) + (asked ? asked->n : 0);
    c->type = calloc(n, sizeof *c->type);
    c->asked = asked != NULL;
    if (!c->type)
        return error_oom(err, n * sizeof *c->type, "the types");
    int rc = 0;
    for (size_t i = 0; asked && i < asked->n && rc == 0; i++)
        rc = add(c, m, spec, asked->v[i], err);
    const char *name;
    for (size_t i = 0; !asked && rc == 0 && (name = model_mixture_at(i)) != NULL; i++)
        if (mixture_offered(name, m) || is_native(c, name))
            rc = add(c, m, spec, name, err);
    for (size_t i = 0; !asked && rc == 0 && i < ARRAY_LEN(checkpoints); i++)
        if (!checkpoints[i].native || is_native(c, checkpoints[i].name))
            rc = add(c, m, spec, checkpoints[i].name, err);
    return rc;
}

void choose_types_free(struct choose_case *c)
{
    for (size_t i = 0; i < c->n_type; i++)
        if (c->type[i].loaded) {
            model_classes_free(&c->type[i].x);
            model_free(&c->type[i].m);
        }
    free(c->type);
    c->type = NULL;
    c->n_type = 0;
}
