/*
 * Collectives: nccl.csv and custom_allreduce.csv of gpu_kernels, all_reduce.csv. A library's ring sends in steps and in parts, at the pace
 * of its slowest link; an engine's own kernel writes to all peers. methods.md (47)
 */
#include "stacks/family_collective.h"
#include "stacks/collective_price.h"
#include "stacks/family.h"
#include <math.h>
#include <string.h>

enum { START, HOP, KERNEL, LINK, PARTS, MULTICAST, BUS, NETWORK, NETWORK_PARTS, HOST, N_PARAMETER };
enum { PATH, LIBRARY, STACK, GENERATION, HARDWARE };
_Static_assert((int)N_PARAMETER == (int)COLLECTIVE_PARAMETERS, "of collective_price.h");

/*
 * Priors: NCCL's own model of latencies (src/graph/tuning.cc, baseLat and hwLat of LL: 6.6 us, 0.6 us a hop of NVLink) and of links
 * (src/graph/topo.h: 20, 20.6 and 40.1 GB/s a link of 25, 25 and 50); launches as of products (108); flows on one bus share it; others are
 * orders of magnitude (confidence: low).
 */
static const struct family_parameter parameters[N_PARAMETER] = {
    [START] = { "start", 6.6e-6, .4, { 0, 0, 0, .25, .2 } },          /* seconds at 1.9 GHz of a library's collective without its hops */
    [HOP] = { "hop", 6e-7, .4, { 0, 0, 0, .25, .2 } },                /* seconds at 1.9 GHz of a step to a neighbour of the board */
    [KERNEL] = { "kernel", 2.5e-6, .3, { 0, .3, 0, .25, .2 } },       /* seconds at 1.9 GHz of an engine's own kernel without its hops */
    [LINK] = { "link", .8, .15, { 0, .1, 0, .07, .07 } },             /* fraction of the link's bandwidth */
    [PARTS] = { "parts", .8, .5, { 0, .5, 0, 0, 0 } },                /* of the least cost of cutting a message into parts */
    [MULTICAST] = { "multicast", .7, .2, { 0, 0, 0, .1, .1 } },       /* fraction of the bandwidth with sums in the switch */
    [BUS] = { "bus", 1, .3, { 0, 0, 0, .4, .4 } },                    /* exponent of devices sharing a bus: 1, they share one host bridge */
    [NETWORK] = { "network", .5, .4, { 0, 0, 0, 0, 0 } },             /* fraction of the cards' bandwidth */
    [NETWORK_PARTS] = { "network_parts", 1, .5, { 0, 0, 0, 0, 0 } },  /* as parts, between boards */
    [HOST] = { "host", 3.5e-5, .5, { 0, 0, .3, .2, .2 } },            /* seconds of the host's call, which overlaps the previous one */
};

static const double HOPS[] = { [COLLECTIVE_BOARD] = 1, [COLLECTIVE_BUS] = 1 / 0.6, [COLLECTIVE_NETWORK] = 2.7 / 0.6 }; /* NCCL, hwLat: ring, LL */
static const double OWN_BYTES = 8 << 20;  /* larger all-reduces are the library's: max_size of vLLM and SGLang */
static const double CARDS = 4;            /* per board that a ring uses (DGX A100: two devices share a switch of the bus) */
static const double CARD = 0.8;           /* rate of a network card over its slot's: 200 Gb/s in PCIe 4.0 x16, 400 Gb/s in 5.0 x16 */
static const double COPY = 0.85;          /* of the memory's bandwidth */
static const double OCTAVE_BYTES = 65536; /* of a dense file: larger sizes count less, so that each octave counts the same */

/* ---- a row ----------------------------------------------------------------------------------------- */

static bool is_bus(const struct hw_link *l)
{
    return strcmp(l->topology, "pcie") == 0;
}

static const struct hw_link *bus_of(const struct hwprofile *h)
{
    for (size_t i = 0; i < h->n_link; i++)
        if (is_bus(&h->link[i]))
            return &h->link[i];
    return NULL;
}

bool collective_links(struct collective_features *f, const struct machine *on, double n, double n_board)
{
    const struct hwprofile *h = &on->h;
    const struct hw_link *fast = hwprofile_link(h, (int)fmin(n, n_board)), *bus = bus_of(h);
    const struct hw_link *pair = hwprofile_link(h, 2);
    const double bus_bytes_s = bus ? bus->bytes_s.value : on->link_bytes_s;
    f->n = n;
    f->link = n > n_board || (fast && strcmp(fast->topology, "network") == 0) ? COLLECTIVE_NETWORK : fast && !is_bus(fast) ? COLLECTIVE_BOARD : COLLECTIVE_BUS;
    f->link_bytes_s = f->link == COLLECTIVE_NETWORK ? CARD * bus_bytes_s * fmin(n_board, CARDS)
                      : f->link == COLLECTIVE_BOARD ? fast->bytes_s.value : bus_bytes_s;
    f->crossings = pair && !is_bus(pair) ? n / 2 : n; /* bridged pairs */
    f->multicast &= f->op == COLLECTIVE_ALL_REDUCE && f->link == COLLECTIVE_BOARD && n > 2 && strcmp(fast->topology, "switch") == 0;
    return f->link_bytes_s > 0 && f->clock_hz > 0;
}

static int op_of(struct collective_features *f, const char *op)
{
    static const char *const names[] = { [COLLECTIVE_ALL_REDUCE] = "all_reduce", [COLLECTIVE_ALL_GATHER] = "all_gather",
                                         [COLLECTIVE_REDUCE_SCATTER] = "reduce_scatter", [COLLECTIVE_ALL_TO_ALL] = "alltoall" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(op, names[i]) == 0) {
            f->op = (enum collective_op)i;
            return 0;
        }
    return -1;
}

/* The engine's own kernel, where all devices reach each other: by NVLink, or two on a bus. */
bool collective_is_own(const struct collective_features *f)
{
    return f->op == COLLECTIVE_ALL_REDUCE && f->bytes <= OWN_BYTES && (f->link == COLLECTIVE_BOARD || (f->link == COLLECTIVE_BUS && f->n == 2));
}

static void dimensions(family_value *dim, const struct collective_features *f, const struct measurement *m, const struct family_machine *on)
{
    static const char *const links[] = { [COLLECTIVE_BOARD] = "board", [COLLECTIVE_BUS] = "bus", [COLLECTIVE_NETWORK] = "network" };
    const char *stack = f->dense ? "pytorch" : m->engine; /* all_reduce.csv: microsoft/vidur calls PyTorch */
    snprintf(dim[PATH], FAMILY_TEXT, "%s%s", links[f->link], f->own ? " kernel" : "");
    snprintf(dim[LIBRARY], FAMILY_TEXT, "%.30s", f->own || f->dense ? stack : "nccl");
    snprintf(dim[STACK], FAMILY_TEXT, "%.30s", stack);
    snprintf(dim[GENERATION], FAMILY_TEXT, "%s", on->generation_name);
    snprintf(dim[HARDWARE], FAMILY_TEXT, "%s", on->name);
}

static int init(void *features, family_value *dim, const struct workload *p, struct error *err)
{
    const struct measurement *m = p->m;
    struct collective_features *f = features;
    struct family_machine on;
    const bool all_reduce = m->kind == MEASURE_ALL_REDUCE;
    const double n = all_reduce ? m->n_devices : m->n_ranks;
    *f = (struct collective_features){ .bytes = m->bytes, .dense = all_reduce, .eager = all_reduce || strcasestr(m->kernel, "eager") };
    f->copies = f->eager && !all_reduce;
    if (op_of(f, m->op) != 0)
        return error_set(err, ERROR_UNAVAILABLE, "op \"%.64s\": no such collective is known", m->op);
    if (!(n > 1) || !(m->bytes > 0))
        return error_set(err, ERROR_UNAVAILABLE, "a collective needs the columns num_gpus (2 or more) and message_size");
    family_machine_init(&on, p);
    if (family_machine_check(&on, FAMILY_NEEDS_CLOCK | (f->copies ? FAMILY_NEEDS_MEMORY : 0U), MATH_COUNT, err) != 0)
        return -1;
    f->clock_hz = on.clock_hz;
    f->memory_bytes_s = on.memory_bytes_s;
    f->multicast = on.async && strncmp(m->quant, "int", 3) != 0; /* the switch adds floating-point numbers */
    if (!collective_links(f, p->machine, n, all_reduce ? m->per_node : n))
        return error_set(err, ERROR_UNAVAILABLE, "collectives on %.60s: no link between its devices is known", on.name);
    f->own = !all_reduce && !strcasestr(m->kernel, "nccl") && collective_is_own(f);
    dimensions(dim, f, m, &on);
    return 0;
}

static double weight(const void *features)
{
    const struct collective_features *f = features;
    return f->dense ? 0.25 / (1 + f->bytes / OCTAVE_BYTES) : 1;
}

/* ---- seconds --------------------------------------------------------------------------------------- */

/* latency_s before and wire_s on the wire, in parts that travel at once. van de Geijn 1994 */
static double in_parts(double latency_s, double wire_s, double parts)
{
    return latency_s + wire_s + 2 * parts * sqrt(latency_s * wire_s);
}

/* Steps, and bytes that a device sends, of a ring (all-to-all: directly, by a tree of starts). */
static double ring_steps(const struct collective_features *f)
{
    switch (f->op) {
    case COLLECTIVE_ALL_REDUCE:
        return 2 * (f->n - 1);
    case COLLECTIVE_ALL_GATHER:
    case COLLECTIVE_REDUCE_SCATTER:
        return f->n - 1;
    case COLLECTIVE_ALL_TO_ALL:
        break;
    }
    return log2(f->n);
}

static double ring_seconds(const struct collective_features *f, const double *p, double cycle)
{
    const bool network = f->link == COLLECTIVE_NETWORK, bus = f->link == COLLECTIVE_BUS;
    const double sent = (f->op == COLLECTIVE_ALL_REDUCE ? 2 : 1) * (f->n - 1) / f->n * f->bytes;
    const double shared = bus && f->crossings > 2 ? pow(f->crossings / 2, p[BUS]) : 1;
    double wire_s = sent / (p[network ? NETWORK : LINK] * f->link_bytes_s) * shared;
    if (f->multicast)
        wire_s = fmin(wire_s, (1 + 1 / f->n) * f->bytes / (p[MULTICAST] * f->link_bytes_s));
    return in_parts(p[START] * cycle + ring_steps(f) * HOPS[f->link] * p[HOP] * cycle, wire_s, p[network ? NETWORK_PARTS : PARTS]);
}

/* Each device reads all of the others' in one round, or its part and then the sums of theirs in two. */
static double own_seconds(const struct collective_features *f, const double *p, double cycle)
{
    const double hop_s = HOPS[f->link] * p[HOP] * cycle, start_s = p[KERNEL] * cycle, read_s = (f->n - 1) * f->bytes / (p[LINK] * f->link_bytes_s);
    const double once_s = in_parts(start_s + hop_s, read_s, p[PARTS]);
    return f->n > 2 ? fmin(once_s, in_parts(start_s + 3 * hop_s, 2 / f->n * read_s, p[PARTS])) : once_s;
}

double collective_ln_seconds(const void *features, const double *parameter)
{
    const struct collective_features *f = features;
    const double cycle = FAMILY_CLOCK_HZ / f->clock_hz;
    double p[N_PARAMETER];
    for (int i = 0; i < N_PARAMETER; i++)
        p[i] = exp(parameter[i]);
    const double call_s = f->own ? own_seconds(f, p, cycle) : ring_seconds(f, p, cycle);
    const double seconds = call_s + (f->copies ? 2 * f->bytes / (COPY * f->memory_bytes_s) : 0);
    return log(seconds) + (f->eager ? log1p(pow(p[HOST] / seconds, 8)) / 8 : 0);
}

static const char *const ops[] = { "all_reduce", "all_gather", "reduce_scatter", "alltoall", NULL };

const struct family family_collective = {
    .name = "collective",
    .ops = ops,
    .parameter = parameters,
    .n_parameter = N_PARAMETER,
    .dimension = { "path", "library", "stack", "generation", "hardware" },
    .feature_bytes = sizeof(struct collective_features),
    .sigma = 0.2,
    .init = init,
    .weight = weight,
    .ln_seconds = collective_ln_seconds,
};
