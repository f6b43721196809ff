/* Rows above their machine's roofs. methods.md (68) */
#include "dataset/workload.h"
#include <math.h>
#include <string.h>

/* No decode step of throughput.csv on one device is above 1.045. */
static const double TOLERANCE = 1.05;
/* With guessed bytes or FLOP: a factor of ten. */
static const double TOLERANCE_GUESSED = 10;
/* Several tokens touch fewer experts than expected; range as READ_RANGE (workload.c). */
static const double EXPERTS_RANGE = 1.5;
/* Largest last-level caches: MI300X, EPYC 9684X. */
static const double CACHE_GPU = 256 * 0x1p20, CACHE_CPU = 1152 * 0x1p20;
enum { GUESSED = GUESS_MODEL | GUESS_QUANT | GUESS_ACTIVE | GUESS_BATCH | GUESS_LENGTH | GUESS_WEIGHT | GUESS_LAYOUT | GUESS_MACHINE,
       HALF_BITS = 15 };

static double last_cache(const struct hwprofile *h)
{
    int level;
    const double stated = h->kind == HW_CPU ? hwprofile_llc(h, &level) : h->cache_bytes.value;
    return stated > 0 ? stated : h->kind == HW_CPU ? CACHE_CPU : CACHE_GPU;
}

/* Types with 4-bit products: NVFP4, MXFP4, W4A4. */
static bool is_of_4_bits(const char *type)
{
    return strstr(type, "FP4") || strstr(type, "A4");
}

/* Fastest math unit for such weights, all threads of a CPU: the kernels are unknown. (27) */
static double fastest(const struct workload *p)
{
    struct error none = { 0 };
    const struct roofs *all = p->machine->h.kind == HW_CPU ? machine_roofs(p->machine, 0, NAN, NAN, &none) : NULL, *r = all ? all : p->roofs;
    const struct peak *f = r->fastest;
    if (p->bits_weight > HALF_BITS)
        return f[ROOF_WIDENED].flop_s;
    return is_of_4_bits(p->type) ? f[ROOF_MIXED].flop_s : fmax(f[ROOF_INT8].flop_s, f[ROOF_FLOAT8].flop_s);
}

/*
 * Least work of a row. Of a server only the weight bytes of each step are certain: a step may have fewer users, and a prompt may be in the
 * prefix cache.
 */
static bool work_within(struct work_sum *s, const struct workload *p)
{
    const struct measurement *m = p->m;
    const bool rate = m->kind == MEASURE_RATE, step = m->kind == MEASURE_SERVING && m->metric == METRIC_TPOT;
    if (p->reason[0] || !(p->measured_s > 0) || p->machine->ln_sd > 0 || (!rate && !step))
        return false;
    *s = work_sum(p, m->phase == MEASURE_PREFILL ? PHASE_PREFILL : PHASE_DECODE);
    const bool users = step || m->ln_sd > 0;
    if (users)
        s->cost.kv_bytes = s->cost.flop = 0;
    return s->n_pass > 0 && !(users && p->moe && p->batch > 1);
}

bool workload_exceeds_roof(const struct workload *p, struct roof_violation *x)
{
    struct work_sum s;
    if (!work_within(&s, p))
        return false;
    const bool several = p->n_pass > 0 && p->pass[p->n_pass - 1].at.n_tok > 1;
    const double share = p->split == SPLIT_LAYER && several ? p->n_devices : 1; /* pipeline: all devices work at once */
    const double experts = p->moe && several ? EXPERTS_RANGE : 1;
    const double bytes = (s.cost.weight_bytes / experts + s.cost.kv_bytes) / share;
    const double bytes_s = fmax(p->roofs->bytes_s, isnan(p->machine->h.mem_bw.value) ? 0 : p->machine->h.mem_bw.value);
    const double flop_s = fastest(p);
    const double memory_s = fmax(0, bytes - s.n_pass * last_cache(&p->machine->h)) / bytes_s, compute_s = flop_s > 0 ? s.cost.flop / share / flop_s : 0;
    const double tolerance = p->guesses & GUESSED ? TOLERANCE_GUESSED : TOLERANCE, least_s = fmax(memory_s, compute_s);
    const bool memory = memory_s >= compute_s;
    if (!(p->measured_s * tolerance < least_s))
        return false;
    const double done = memory ? bytes : s.cost.flop / share, roof = memory ? bytes_s : flop_s;
    *x = (struct roof_violation){ .memory = memory, .done_s = done / p->measured_s, .roof_s = roof, .least_s = least_s };
    return true;
}

const char *roof_violation_text(const struct workload *p, char *buf, size_t size)
{
    struct roof_violation x = { .memory = true };
    *buf = 0;
    const bool exceeds = workload_exceeds_roof(p, &x);
    const double unit = x.memory ? 1e9 : 1e12;
    if (exceeds)
        snprintf(buf, size, "%.4g %s, %.3g times the %.4g %s of %s: another machine, type or batch, or speculative decoding?", x.done_s / unit,
                 x.memory ? "GB/s of weights and keys" : "TFLOP/s", x.done_s / x.roof_s, x.roof_s / unit, x.memory ? "GB/s" : "TFLOP/s",
                 p->machine->profile[0] ? p->machine->profile : p->machine->hardware);
    return buf;
}
