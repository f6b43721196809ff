/* A machine's profile as plain structs. */
#include "dataset/machine.h"
#include "lib/internal.h"
#include "timing/roofs.h"
#include <math.h>
#include <stdlib.h>

/* The datasheet's bandwidth; of a machine that has none, the measured one. */
static void fill_bandwidth(struct roofcast_machine_info *o, const struct hwprofile *h)
{
    const struct ceiling *c = hwprofile_bandwidth(h, "DRAM", h->n_pus);
    o->bandwidth_bytes_s = h->mem_bw.value;
    o->bandwidth_source = h->mem_bw.source;
    if (isnan(o->bandwidth_bytes_s) && c) {
        o->bandwidth_bytes_s = c->value;
        o->bandwidth_source = c->name;
    }
}

static void fill_info(struct roofcast_machine_info *o, const struct hwprofile *h)
{
    int level;
    *o = (struct roofcast_machine_info){
        .id = h->id, .name = h->name, .vendor = h->vendor, .kind = hw_kind_name(h->kind), .path = h->path,
        .guessed_class = h->guess_class, .memory_bytes = h->mem_bytes.value, .tdp_w = h->tdp_w.value,
        .price_usd_h = h->price_usd_h.value, .link_bytes_s = h->n_link > 0 ? h->link[0].bytes_s.value : NAN,
        .link_devices = h->n_link > 0 ? h->link[0].n_devices : 0,
        .n_packages = h->n_packages, .n_cores = h->n_cores, .n_pus = h->n_pus, .n_numa = h->n_numa,
        .cache_bytes = h->kind == HW_CPU ? hwprofile_llc(h, &level) : h->cache_bytes.value, .n_ceiling = h->n_ceiling,
    };
    fill_bandwidth(o, h);
    if (o->cache_bytes == 0)
        o->cache_bytes = NAN;
}

static int fill_ceilings(struct roofcast_machine *m, struct error *err)
{
    m->ceiling = calloc(m->h.n_ceiling + 1, sizeof *m->ceiling);
    if (!m->ceiling)
        return error_oom(err, m->h.n_ceiling * sizeof *m->ceiling, "a machine's ceilings");
    for (size_t i = 0; i < m->h.n_ceiling; i++) {
        const struct ceiling *c = &m->h.ceiling[i];
        m->ceiling[i] = (struct roofcast_ceiling){
            .name = c->name, .kind = c->kind, .op = c->op, .dtype = c->dtype, .isa = c->isa, .level = c->level,
            .n_threads = c->n_threads, .n_tok = c->n_tok, .value = c->value, .ci_lo = c->ci_lo, .ci_hi = c->ci_hi,
            .unit = c->unit, .n_samples = c->n_samples, .date = c->date,
        };
    }
    return 0;
}

/* spec NULL: this computer. */
static struct roofcast_machine *open_machine(const char *spec, struct roofcast_error *err)
{
    struct error e = { 0 };
    struct roofcast_machine *m = calloc(1, sizeof *m);
    if (!m) {
        lib_error(err, ROOFCAST_ERROR_SYSTEM, "out of memory: a machine");
        return NULL;
    }
    if ((spec ? machine_load(&m->h, spec, &e) : hwprofile_host(&m->h, &e)) != 0) {
        free(m);
        lib_fail(err, &e);
        return NULL;
    }
    if (fill_ceilings(m, &e) != 0) {
        roofcast_machine_free(m);
        lib_fail(err, &e);
        return NULL;
    }
    fill_info(&m->info, &m->h);
    return m;
}

struct roofcast_machine *roofcast_machine_load(const char *spec, struct roofcast_error *err)
{
    return open_machine(spec, err);
}

struct roofcast_machine *roofcast_machine_host(struct roofcast_error *err)
{
    return open_machine(NULL, err);
}

void roofcast_machine_free(struct roofcast_machine *m)
{
    if (!m)
        return;
    free(m->ceiling);
    hwprofile_free(&m->h);
    free(m);
}

const struct roofcast_machine_info *roofcast_machine_info(const struct roofcast_machine *m)
{
    return &m->info;
}

double roofcast_machine_peak_flop_s(const struct roofcast_machine *m, const char *math, const char **source)
{
    const int i = math_find(math);
    if (source)
        *source = i < 0 ? "" : m->h.peak[i].source;
    return i < 0 ? NAN : m->h.peak[i].value;
}

const struct roofcast_ceiling *roofcast_machine_ceiling(const struct roofcast_machine *m, size_t i)
{
    return i < m->h.n_ceiling ? &m->ceiling[i] : NULL;
}

double roofcast_attainable_flop_s(double ai, double peak_flop_s, double bytes_s)
{
    return attainable_flop_s(ai, peak_flop_s, bytes_s);
}

int roofcast_machine_names(char ***names, size_t *n, struct roofcast_error *err)
{
    struct error e = { 0 };
    return hwprofile_list(names, n, &e) == 0 ? 0 : lib_fail(err, &e);
}
