/*
 * Conditions during a test: steal time, involuntary context switches, clock, variation of the bandwidth probe; comparison of the stored
 * profile with the probes; points above a roof, with causes. methods.md (83), (84)
 */
#include "base/environment.h"
#include "bench/bench.h"
#include "predict/finding.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void bench_watch_begin(struct bench_watch *w, const struct setup *machine)
{
    w->ticks = cpu_ticks(environment()->root, &machine->cpus);
    w->preemptions = process_involuntary_switches();
    w->start_ns = clock_now_ns();
    w->cpu_s = process_cpu_seconds();
}

void bench_watch_end(const struct bench_watch *w, const struct setup *machine, double seconds, struct run_rep *rep)
{
    const double least = 10; /* least number of ticks for a fraction */
    const double tick_s = 0.01; /* scheduler tick, at most: interval at which the kernel accounts CPU time of running threads */
    const double clocks_s = 1e-3; /* a preemption between two clock readings, some 50 us, is small relative to this */
    const double cpu_s = process_cpu_seconds() - w->cpu_s, wall_s = 1e-9 * (double)(clock_now_ns() - w->start_ns);
    const bool known = seconds >= (machine->n_threads == 1 ? clocks_s : least * tick_s);
    rep->cpu_share = known ? cpu_s / (wall_s * machine->n_threads) : NAN; /* wall time encloses CPU time: at most 1, except for one tick */
    const struct cpu_ticks now = cpu_ticks(environment()->root, &machine->cpus);
    const double all = now.all - w->ticks.all;
    rep->steal = all >= least ? fmax(0, now.stolen - w->ticks.stolen) / all : NAN;
    rep->n_switch = process_involuntary_switches() - w->preemptions;
    rep->clock_hz = ceilings_clock_hz();
}

/* Median over repetitions with a value, of the first ones if there are many. */
static double median_of(const struct run_rep *rep, size_t n, size_t offset)
{
    double known[64];
    size_t k = 0;
    for (size_t i = 0; i < n && k < ARRAY_LEN(known); i++) {
        double v;
        memcpy(&v, (const char *)&rep[i] + offset, sizeof v);
        if (!isnan(v))
            known[k++] = v;
    }
    return stats_median(known, k);
}

void bench_conditions(struct run_row *row, const struct run_rep *rep, size_t n, const double *probe, size_t n_probe)
{
    double steal = 0, switches = 0, lo = INFINITY, hi = 0;
    row->cpu_share = NAN;
    for (size_t i = 0; i < n; i++) {
        row->cpu_share = fmin(rep[i].cpu_share, row->cpu_share); /* fmin ignores NaN */
        steal += rep[i].steal / (double)n; /* NaN if one is */
        switches += rep[i].n_switch / (double)n;
    }
    for (size_t i = 0; i < n_probe; i++)
        if (!isnan(probe[i])) {
            lo = fmin(lo, probe[i]);
            hi = fmax(hi, probe[i]);
        }
    row->steal = steal;
    row->n_switch = switches;
    row->clock_hz = median_of(rep, n, offsetof(struct run_rep, clock_hz));
    row->roof_moved = hi > 0 ? (hi - lo) / row->ceiling_bytes_s : NAN;
}

/* ---- the stored profile --------------------------------------------------------------------------------- */

int bench_stored_open(struct bench_stored *s, struct error *err)
{
    struct error none = { 0 };
    *s = (struct bench_stored){ .cache_bytes = NAN };
    if (hwprofile_host(&s->host, err) != 0)
        return -1;
    int level;
    const double bytes = hwprofile_llc(&s->host, &level);
    if (level)
        s->cache_bytes = bytes;
    s->there = hwprofile_open(&s->profile, "this", &none) == 0;
    if (!s->there)
        snprintf(s->reason, sizeof s->reason, "%.150s", none.msg);
    else if (strcmp(s->profile.cpu_model, s->host.cpu_model) != 0)
        snprintf(s->reason, sizeof s->reason, "the stored profile is for another CPU: %.100s", s->profile.cpu_model);
    return 0;
}

void bench_stored_close(struct bench_stored *s)
{
    hwprofile_free(&s->host);
    if (s->there)
        hwprofile_free(&s->profile);
}

size_t bench_share_memory(struct ceilings_options *o, const struct engine *e, double cache_bytes, bool full, bool whole)
{
    enum { LEAST = 4 << 20 }; /* per thread */
    size_t bytes, kv_bytes;
    const void *weights = engine_packed(e, &bytes), *kv = engine_kv(e, &kv_bytes);
    const bool most_is_kv = full && (!weights || kv_bytes > bytes);
    const size_t n = most_is_kv ? kv_bytes : bytes;
    const bool far = (double)n >= 4 * cache_bytes;
    whole &= !most_is_kv && n >= (size_t)o->n_threads * LEAST;
    if (!(most_is_kv ? kv : weights) || (!far && !whole))
        return 0;
    o->memory = most_is_kv ? kv : weights;
    o->memory_bytes = n;
    o->memory_whole = !far;
    return far ? 0 : n;
}

void bench_compare_stored(struct run_row *row, const struct bench_stored *s, enum math math)
{
    row->profile_bytes_s = row->mbu_profile = row->profile_flop_s = row->mfu_profile = NAN;
    row->cache_bytes = s->cache_bytes;
    snprintf(row->profile_reason, sizeof row->profile_reason, "%s", s->reason);
    if (s->reason[0])
        return;
    const struct ceiling *dram = hwprofile_bandwidth(&s->profile, "DRAM", row->n_threads),
                         *peak = hwprofile_peak(&s->profile, math, row->n_threads);
    if (!dram || dram->n_threads != row->n_threads) {
        snprintf(row->profile_reason, sizeof row->profile_reason, "the stored profile has no roofs for %d thread%s", row->n_threads,
                 row->n_threads == 1 ? "" : "s");
        return;
    }
    row->profile_bytes_s = dram->value;
    row->mbu_profile = row->bytes_s / dram->value;
    if (peak && peak->n_threads == row->n_threads) {
        row->profile_flop_s = peak->value;
        row->mfu_profile = row->flop_s / peak->value;
    }
}

/* ---- findings ---------------------------------------------------------------------------------------------- */

static json_t *finding_json(const struct finding *f)
{
    return json_pack("{s:s, s:s, s:o, s:s, s:o, s:o, s:s, s:o, s:s, s:s}", "model", f->model, "test", f->test, "role",
                     *f->role ? json_string(f->role) : json_null(), "what", f->what, "rate", json_num(f->rate), "roof",
                     json_num(f->roof), "unit", f->unit, "ratio", json_num(f->rate / f->roof), "cause",
                     finding_cause_name(f->cause), "text", f->text);
}

int bench_findings(struct run *r, const struct bench_stored *s, struct error *err)
{
    struct finding *f;
    size_t n;
    if (findings_of_run(&f, &n, r, &s->host, err) != 0)
        return -1;
    json_decref(r->findings);
    r->findings = json_array();
    int bad = r->findings ? 0 : -1;
    for (size_t i = 0; i < n; i++)
        bad |= json_array_append_new(r->findings, finding_json(&f[i]));
    free(f);
    return bad ? error_oom(err, 0, "the findings") : 0;
}
