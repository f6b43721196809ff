/* The bus between a GPU and its host. methods.md (111) */
#include "predict/offload.h"
#include <math.h>
#include <string.h>

/*
 * Measured from page-locked memory: 0.76 to 0.89 of a link's rate. Pageable memory is first copied by a CPU thread into the driver's page-locked buffer:
 * 5 to 18 GB/s by CPU and link. A change of device takes the link's hop. Values, sources and confidence: doc/notes/offload.md.
 */
static const double BUS_PART = 0.82, PAGEABLE_BYTES_S = 10e9, BUS_LN_SD = 0.2, PAGEABLE_LN_SD = 0.4;

static const struct hw_link *pcie_of(const struct hwprofile *h)
{
    for (size_t i = 0; i < h->n_link; i++)
        if (strcmp(h->link[i].topology, "pcie") == 0)
            return &h->link[i];
    return NULL;
}

struct offload_bus offload_bus_of(const struct hwprofile *gpu, bool pinned, bool bound)
{
    const struct hw_link *l = pcie_of(gpu);
    struct offload_bus b = { .of_profile = l != NULL, .pinned = pinned, .ln_sd = pinned ? BUS_LN_SD : PAGEABLE_LN_SD,
                             .peak_bytes_s = l ? l->bytes_s.value : 31.5e9, .latency_s = l && l->latency_s.value >= 0 ? l->latency_s.value : 24e-6 };
    b.bytes_s = b.copied_bytes_s = (bound ? 1 : BUS_PART) * b.peak_bytes_s;
    if (!pinned && !bound)
        b.copied_bytes_s = fmin(b.bytes_s, PAGEABLE_BYTES_S);
    b.latency_s = bound ? 0 : b.latency_s;
    snprintf(b.source, sizeof b.source, "%s", l ? l->bytes_s.source : "assumed: PCIe 4.0 x16");
    return b;
}

double offload_bus_s(const struct offload_bus *b, const struct offload_traffic *t)
{
    return t->n_split * b->latency_s + t->act_bytes / b->bytes_s + t->copied_bytes / b->copied_bytes_s;
}
