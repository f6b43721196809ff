/* Default use of a device's memory by a server: vLLM's defaults by release and device. Sources: doc/notes/servers.md. */
#include "cost/memory.h"
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double GiB = 1073741824;

/* What a driver keeps of the memory, and CUDA's context and kernels take outside of a server. */
#define DRIVER_SHARE 0.012
#define CONTEXT_GIB 0.13
#define COMM_GIB 0.2

/* A row holds from its release on. */
static const struct release {
    unsigned from;
    double utilization;
    double logit_bytes;
    bool experts_stay;
    double context_gib;
    double comm_gib, comm_large_gib; /* large: devices that is_large() says */
} releases[] = {
    { 0, 0.90, 9.6 * 4, false, CONTEXT_GIB, COMM_GIB, COMM_GIB },
    { 17, 0.90, 15, true, CONTEXT_GIB, COMM_GIB, COMM_GIB },
    { 18, 0.90, 15, true, 0.25, COMM_GIB, COMM_GIB },
    { 19, 0.90, 15, true, 0.25, COMM_GIB, 1.82 },
    { 27, 0.92, 15, true, 0.25, COMM_GIB, 1.82 },
};

/* Graphs are set aside for from these releases on. */
enum { GRAPHS_NVIDIA = 21, GRAPHS_AMD = 26, LONG_PASSES = 30 };
#define GRAPH_LAYER_BYTES (0.25 * 1048576)

static const struct release *release_of(unsigned n)
{
    size_t i = ARRAY_LEN(releases) - 1;
    while (releases[i].from > n)
        i--;
    return &releases[i];
}

unsigned memory_release_find(const char *text)
{
    const char *at = text + strcspn(text, "0123456789");
    char *end;
    for (const char *p = text; p < at; p++)
        if (!isalpha((unsigned char)*p) && !strchr(" -_v.", *p))
            return 0;
    const unsigned long major = strtoul(at, &end, 10);
    if (end == at || *end != '.' || !isdigit((unsigned char)end[1]))
        return 0;
    const unsigned long minor = strtoul(end + 1, NULL, 10), n = major < 1000 && minor < 1000 ? 1000 * major + minor : 0;
    return (unsigned)n;
}

const char *memory_release_name(char *buf, size_t size, unsigned release)
{
    snprintf(buf, size, "vLLM %u.%u", release / 1000, release % 1000);
    return buf;
}

static bool has_word(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (; *text; text++) {
        size_t i = 0;
        while (i < n && tolower((unsigned char)text[i]) == word[i])
            i++;
        if (i == n)
            return true;
    }
    return false;
}

/* The server's own rule: 70 GiB, and no A100, by the device's name. */
static bool is_large(const struct hwprofile *h)
{
    return h->mem_bytes.value >= 70 * GiB && !has_word(h->name, "a100") && !has_word(h->id, "a100");
}

static bool sets_graphs_aside(const struct hwprofile *h, unsigned release)
{
    const unsigned from = strcmp(h->vendor, "NVIDIA") == 0 ? GRAPHS_NVIDIA : strcmp(h->vendor, "AMD") == 0 ? GRAPHS_AMD : UINT_MAX;
    return h->kind == HW_GPU && release >= from;
}

static void serve(struct memory_options *o, const struct hwprofile *h, unsigned release)
{
    const struct release *r = release_of(release);
    const bool large = is_large(h), own = h->kind == HW_GPU || h->kind == HW_NPU;
    o->release = release;
    o->block = 16;
    o->max_batched_tokens = !large ? 2048 : release >= LONG_PASSES && h->mem_bytes.value >= 160 * GiB ? 16384 : 8192;
    o->max_seqs = large ? 1024 : 256;
    o->utilization = r->utilization;
    o->logit_bytes = r->logit_bytes;
    o->experts_stay = r->experts_stay;
    o->context_bytes = own ? r->context_gib * GiB : 0;
    o->comm_bytes = own ? (large ? r->comm_large_gib : r->comm_gib) * GiB : 0;
    o->max_captured = strcmp(h->vendor, "NVIDIA") == 0 && h->peak[MATH_FP4].value > 0 ? 1024 : 512; /* Blackwell's units */
    o->graph_layer_bytes = sets_graphs_aside(h, release) ? GRAPH_LAYER_BYTES : 0;
}

struct memory_options memory_defaults(const struct hwprofile *h, unsigned release)
{
    const bool own = h->kind == HW_GPU || h->kind == HW_NPU; /* memory that a driver manages */
    const double elem = h->kind == HW_CPU ? 4 : 2;
    struct memory_options o = {
        .type_k = DTYPE_F16,
        .type_v = DTYPE_F16,
        .act_elem_bytes = elem,
        .block = 1,
        .max_batched_tokens = 512,
        .utilization = 1,
        .reserved = own ? DRIVER_SHARE : 0,
        .logit_bytes = elem,
        .context_bytes = own ? CONTEXT_GIB * GiB : 0,
        .comm_bytes = own ? COMM_GIB * GiB : 0,
    };
    if (release != MEMORY_ALONE)
        serve(&o, h, release);
    return o;
}
