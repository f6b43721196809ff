/* A server's collectives by the constants of kernels. methods.md (47) */
#include "stacks/collective_price.h"
#include "base/label.h"
#include "stacks/family_collective.h"
#include "stacks/family_constants.h"
#include <math.h>
#include <string.h>

extern const struct family family_collective;

enum { LIBRARY = 1, STACK, GENERATION, HARDWARE }; /* dimensions of the family */

/* Names of engines in the files that teach the family. */
static const char *engine_of(const struct stack_traits *x)
{
    static const char *const names[][2] = { { "vllm", "vllm" }, { "sglang", "sglang" }, { "tensorrt-llm", "trtllm" } };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(x->p->stack->id, names[i][0]) == 0)
            return names[i][1];
    return "";
}

/*
 * Effects of what a score leaves out. A machine whose kernels were measured takes those of its design with it: their rows are mostly its own.
 * methods.md (67)
 */
static void leave_out(family_value *dim, unsigned unseen)
{
    const bool design = unseen & UNSEEN_DESIGN || (unseen & UNSEEN_MACHINE && family_constants_have(&family_collective, HARDWARE, dim[HARDWARE]));
    if (design)
        dim[GENERATION][0] = 0;
    if (design || unseen & UNSEEN_MACHINE)
        dim[HARDWARE][0] = 0;
    if (unseen & UNSEEN_ENGINE)
        dim[STACK][0] = dim[LIBRARY][0] = 0;
}

void collective_price_init(struct collective_price *k, const struct stack_traits *x)
{
    const struct workload *p = x->p;
    family_value dim[FAMILY_DIMENSIONS] = { "" };
    *k = (struct collective_price){ .known = x->one_step && x->maker == MAKER_NVIDIA && p->roofs->units.clock_hz > 0 };
    if (!k->known)
        return;
    k->clock_hz = p->roofs->units.clock_hz;
    k->adds = family_is_async(x->generation);
    snprintf(dim[STACK], FAMILY_TEXT, "%s", engine_of(x));
    snprintf(dim[LIBRARY], FAMILY_TEXT, "%s", dim[STACK]);
    label_fit(dim[HARDWARE], FAMILY_TEXT, p->machine->profile[0] ? p->machine->profile : p->machine->hardware);
    family_generation_name(dim[GENERATION], x);
    leave_out(dim, p->unseen);
    family_parameters(&family_collective, (const family_value *)dim, k->own);
    snprintf(dim[LIBRARY], FAMILY_TEXT, "nccl");
    family_parameters(&family_collective, (const family_value *)dim, k->ring);
}

/* Bytes of the buffer: an all-reduce sends 2 (n - 1) / n of it, the others (n - 1) / n. */
static bool describe(struct collective_features *f, const struct step *c)
{
    const double n = c->n_comm, sent = c->kind == OP_ALL_REDUCE ? c->rounds_bytes : c->cost.link_bytes;
    const double part = (c->kind == OP_ALL_REDUCE ? 2 : 1) * (n - 1) / n;
    f->op = c->kind == OP_ALL_REDUCE ? COLLECTIVE_ALL_REDUCE : c->kind == OP_ALL_TO_ALL ? COLLECTIVE_ALL_TO_ALL : COLLECTIVE_ALL_GATHER;
    f->bytes = sent / part;
    return n > 1 && sent > 0 && (c->kind == OP_ALL_REDUCE || c->kind == OP_ALL_TO_ALL || c->kind == OP_ALL_GATHER);
}

double collective_price_s(const struct stack_traits *x, const struct step *c)
{
    const struct collective_price *k = &x->collective;
    const double n = c->n_comm;
    struct collective_features f = { .clock_hz = k->clock_hz, .multicast = k->adds };
    if (!k->known || !hwprofile_link(&x->p->machine->h, (int)n) || !describe(&f, c) || !collective_links(&f, x->p->machine, n, n))
        return 0;
    if (f.link == COLLECTIVE_NETWORK)
        return 0;
    f.own = collective_is_own(&f);
    return exp(collective_ln_seconds(&f, f.own ? k->own : k->ring));
}
