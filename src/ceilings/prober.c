/* Adjacent probes: DRAM read and peak, or core probes, with kernels chosen once. */
#include "ceilings/internal.h"
#include "ceilings/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_SAMPLES = 9, N_QUICK = 3, N_BRIEF = 2, N_WINDOWS = 16 };
static const double PATIENCE_S = 1, SAMPLE_S = 0.006, BRIEF_SAMPLE_S = 0.001;
static const double TRIAL_S = 0.15, BRIEF_TRIAL_S = 0.02; /* per candidate kernel */

struct ceilings_prober {
    struct harness m;
    struct benchmark_list list;
    struct benchmark *dram, *peak, *tiles; /* peak, tiles NULL: unavailable or not requested */
    struct benchmark *coherence[COHERENCE_COUNT]; /* NULL: likewise, and for one thread */
    bool brief;       /* CEILINGS_BRIEF */
    bool whole;       /* ceilings_options.memory_whole */
    char reason[160]; /* why there is no peak */
};

/* Chooses the peak kernel of a math, or the reason. */
static int choose_peak(struct ceilings_prober *p, enum math math, unsigned cpu_flags, double trial_s, double sample_s, struct error *err)
{
    struct error no_peak = { 0 };
    p->peak = compute_add_best(&p->list, math, cpu_flags, &no_peak);
    if (p->peak && driver_choose(p->peak, &p->m, trial_s, sample_s, &no_peak) != 0)
        p->peak = NULL;
    if (!p->peak && no_peak.kind == ERROR_INTERRUPTED) {
        *err = no_peak;
        return -1;
    }
    snprintf(p->reason, sizeof p->reason, "%.150s", no_peak.msg);
    return 0;
}

static int choose_core_probes(struct ceilings_prober *p, double trial_s, double sample_s, struct error *err)
{
    struct benchmark **const to[CORE_PROBE_COUNT] = { [CORE_PROBE_VECTOR] = &p->peak, [CORE_PROBE_TILE] = &p->tiles };
    for (int i = 0; i < CORE_PROBE_COUNT; i++)
        if (core_probe_add(to[i], &p->list, (enum core_probe_kind)i, p->m.n, err) != 0 ||
            (*to[i] && driver_choose(*to[i], &p->m, trial_s, sample_s, err) != 0))
            return -1;
    return 0;
}

static int choose_coherence(struct ceilings_prober *p, unsigned cpu_flags, struct error *err)
{
    const double sample_s = 0.001;
    for (int i = 0; p->m.n > 1 && i < COHERENCE_COUNT; i++)
        if (coherence_add(&p->coherence[i], &p->list, (enum coherence_kind)i, p->m.n, cpu_flags, err) != 0 ||
            driver_choose(p->coherence[i], &p->m, BRIEF_TRIAL_S, sample_s, err) != 0)
            return -1;
    return 0;
}

static int choose_kernels(struct ceilings_prober *p, enum math math, const struct ceilings_options *o, struct error *err)
{
    const double trial_s = p->brief ? BRIEF_TRIAL_S : TRIAL_S, sample_s = p->brief ? BRIEF_SAMPLE_S : SAMPLE_S;
    p->dram = memory_add_dram(&p->list, &p->m, o->memory_whole ? 1 : N_WINDOWS, o->cpu_flags, err);
    if (p->dram && o->memory_kernel)
        streams_only(p->dram, o->memory_kernel);
    if (!p->dram || driver_choose(p->dram, &p->m, trial_s, sample_s, err) != 0)
        return -1;
    if (o->memory_only)
        return 0;
    if (!o->core_probes)
        return choose_peak(p, math, o->cpu_flags, trial_s, sample_s, err);
    return choose_core_probes(p, trial_s, sample_s, err) != 0 ? -1 : choose_coherence(p, o->cpu_flags, err);
}

struct ceilings_prober *ceilings_prober_new(enum math math, int n_threads, const struct ceilings_options *o,
                                            struct error *err)
{
    struct ceilings_prober *p = calloc(1, sizeof *p);
    if (!p) {
        error_oom(err, sizeof *p, "the ceiling probe");
        return NULL;
    }
    p->brief = o->effort == CEILINGS_BRIEF;
    p->whole = o->memory_whole;
    if (harness_init(&p->m, n_threads, true, o, err) != 0) {
        free(p);
        return NULL;
    }
    if (choose_kernels(p, math, o, err) != 0) {
        ceilings_prober_free(p);
        return NULL;
    }
    return p;
}

static int probe(struct ceiling *c, struct ceilings_prober *p, struct benchmark *j, int n_samples, struct error *err)
{
    struct hwprofile h = { .n_ceiling = 0 };
    struct ceiling *found = NULL;
    j->n_sample = 0;
    if (driver_sample(j, &p->m, n_samples, 0, clock_now_s() + PATIENCE_S, err) != 0)
        return -1;
    driver_to_ceiling(j, &p->m, c);
    int rc = j->class->keep(j, &p->m, c, &h, err);
    if (rc == 0 && h.n_ceiling == 1) {
        found = &h.ceiling[0];
        *c = *found;
    }
    free(h.ceiling);
    return rc;
}

static int probe_all(struct ceilings_prober *p, struct ceilings_probed *now, int n_samples, struct error *err)
{
    const struct ceiling none = { .value = NAN, .ci_lo = NAN, .ci_hi = NAN, .clock_hz = NAN };
    /* few samples: more would themselves bring the memory into cache */
    const int n_memory = p->whole && n_samples > N_QUICK ? N_QUICK : n_samples;
    now->peak = now->tiles = none;
    if (probe(&now->dram, p, p->dram, n_memory, err) != 0 || (p->peak && probe(&now->peak, p, p->peak, n_samples, err) != 0))
        return -1;
    if (p->tiles && probe(&now->tiles, p, p->tiles, n_samples, err) != 0)
        return -1;
    for (int i = 0; i < COHERENCE_COUNT; i++) {
        struct ceiling c = none;
        if (p->coherence[i] && probe(&c, p, p->coherence[i], n_samples > N_QUICK ? N_QUICK : n_samples, err) != 0)
            return -1;
        now->coherence[i] = c.value;
    }
    return 0;
}

int ceilings_probe(struct ceilings_prober *p, struct ceilings_probed *now, struct error *err)
{
    return probe_all(p, now, p->brief ? N_BRIEF : N_SAMPLES, err);
}

int ceilings_probe_quick(struct ceilings_prober *p, struct ceilings_quick_probe *now, struct error *err)
{
    struct ceilings_probed c;
    if (probe_all(p, &c, p->brief ? N_BRIEF : N_QUICK, err) != 0)
        return -1;
    *now = (struct ceilings_quick_probe){ c.dram.value, c.peak.value, c.tiles.value, { 0 } };
    memcpy(now->coherence, c.coherence, sizeof now->coherence);
    return 0;
}

const char *ceilings_prober_reason(const struct ceilings_prober *p)
{
    return p->reason;
}

size_t ceilings_prober_bytes(const struct ceilings_prober *p)
{
    return p->m.mem_borrowed ? 0 : p->m.mem_bytes;
}

void ceilings_prober_free(struct ceilings_prober *p)
{
    if (!p)
        return;
    benchmark_list_free(&p->list);
    harness_free(&p->m);
    free(p);
}
