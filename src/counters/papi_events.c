/*
 * counters/papi_events.c: PAPI events per field: presets, else the microarchitecture's events (events/NAME.json) by libpfm's names or
 * raw codes. Listed events may not count or be addable: each is added to an empty set first and calibrated later (calibrate.c). Events
 * that do not fit the counters together go to further sets, counted in turn; PAPI's multiplexing is not used.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "counters/events.h"
#include "counters/known_work.h"
#include "counters/papi_internal.h"

#include <ctype.h>
#include <math.h>
#include <papi.h>
#include <stdlib.h>
#include <string.h>

/* In order of preference. The cache line is 64 bytes on all CPUs with these presets. */
static const struct preset {
    enum counter_field field;
    const char *name;
    double scale;
    const char *work;
} presets[] = {
    { COUNTER_CYCLES, "PAPI_TOT_CYC", 1, "cycles" },
    { COUNTER_CYCLES, "perf::CYCLES", 1, "cycles" },
    { COUNTER_INSTRUCTIONS, "PAPI_TOT_INS", 1, "instructions" },
    { COUNTER_INSTRUCTIONS, "perf::INSTRUCTIONS", 1, "instructions" },
    { COUNTER_FLOP, "PAPI_SP_OPS", 1, "flop_f32" }, /* the engine computes in FP32 */
    { COUNTER_FLOP, "PAPI_FP_OPS", 1, "flop_f32" },
    { COUNTER_L1_FILL_BYTES, "PAPI_L1_DCM", 64, "l1_fill" },
    { COUNTER_L2_FILL_BYTES, "PAPI_L2_DCM", 64, "l2_fill" },
    { COUNTER_L3_FILL_BYTES, "PAPI_L3_TCM", 64, "l3_fill" },
    { COUNTER_TASK_CLOCK_NS, "perf::TASK-CLOCK", 1, "task_clock" },
    { COUNTER_CONTEXT_SWITCHES, "perf::CONTEXT-SWITCHES:u=1:k=1", 1, "context_switches" }, /* kernel included: a switch happens there */
    { COUNTER_PAGE_FAULTS, "perf::PAGE-FAULTS", 1, "page_faults" },
};

/* libpfm's prefixes of Intel memory controllers: skx_unc_imc0::UNC_M_CAS_COUNT:RD. */
static const char *const imc_of[] = { "skx", "clx", "icx", "spr", "emr", "gnr", "bdx", "hswep", "ivbep", "snbep" };

/* Trial sets of the calling thread. */
struct fitting {
    int set[COUNTER_SET_MAX];
    struct strbuf why[COUNTER_FIELD_COUNT]; /* attempts per field */
};

static bool has_field(const struct counters *c, enum counter_field f)
{
    for (size_t i = 0; i < c->n_event; i++)
        if (c->event[i].field == f)
            return true;
    return false;
}

static void tried(struct fitting *t, enum counter_field f, const char *name, const char *why)
{
    strbuf_addf(&t->why[f], "%s%s: %s", t->why[f].len ? "; " : "PAPI: ", name, why);
}

/* True if the event can be added to an empty set. */
static bool available(const char *name, char *why, size_t size)
{
    int set = PAPI_NULL, rc = PAPI_query_named_event(name);
    if (rc == PAPI_OK)
        rc = PAPI_create_eventset(&set);
    if (rc == PAPI_OK)
        rc = PAPI_add_named_event(set, name);
    papi_drop_set(&set);
    if (rc != PAPI_OK)
        snprintf(why, size, "%s", papi_error(rc));
    return rc == PAPI_OK;
}

/* First set with room for it. */
static int fit(struct fitting *t, const char *name)
{
    for (int s = 0; s < COUNTER_SET_MAX; s++) {
        if (t->set[s] == PAPI_NULL && PAPI_create_eventset(&t->set[s]) != PAPI_OK)
            return -1;
        if (PAPI_add_named_event(t->set[s], name) == PAPI_OK)
            return s;
    }
    return -1;
}

static bool add_core(struct counters *c, struct fitting *t, enum counter_field f, const char *name, double scale,
                     const char *work)
{
    struct papi *p = c->own;
    struct counter_event e = { .field = f, .scale = scale, .source = SOURCE_CORE_COUNTERS };
    e.set = c->n_event < COUNTER_EVENT_MAX ? fit(t, name) : -1;
    if (e.set < 0) {
        tried(t, f, name, "no room in any set");
        return false;
    }
    snprintf(e.name, sizeof e.name, "%s", name);
    snprintf(e.work, sizeof e.work, "%s", work);
    p->kind[c->n_event] = PAPI_KIND_CORE;
    return counters_add_event(c, &e) == 0;
}

static void choose_presets(struct counters *c, struct fitting *t)
{
    char why[COUNTER_REASON_LEN];
    for (size_t i = 0; i < ARRAY_LEN(presets); i++) {
        const struct preset *p = &presets[i];
        if (has_field(c, p->field))
            continue;
        if (available(p->name, why, sizeof why))
            add_core(c, t, p->field, p->name, p->scale, p->work);
        else
            tried(t, p->field, p->name, why);
    }
}

/* ---- events of the microarchitecture ---- */

/* libpfm's "FP_ARITH_INST_RETIRED:512B_PACKED_SINGLE", or the raw code for the kernel. */
static bool native_name(char *name, size_t size, const struct event_def *d, const struct pmu_list *pmus, char *why, size_t why_size)
{
    struct pmu_config config;
    struct error err = { 0 };
    const struct pmu *core = pmu_core(pmus, 0);
    snprintf(name, size, "%s", d->name);
    char *dot = strchr(name, '.');
    if (dot)
        *dot = ':';
    if (available(name, why, why_size))
        return true;
    if (!core || pmu_encode(&config, pmus, core, d->config, &err) != 0 || config.word[1] || config.word[2])
        return false;
    snprintf(name, size, "perf_raw::r%llx", (unsigned long long)config.word[0]);
    return available(name, why, why_size);
}

/* All events of a field, or none: a partial sum is wrong. */
static void choose_native(struct counters *c, struct fitting *t, const struct event_file *file, const struct pmu_list *pmus,
                          enum counter_field f)
{
    char name[96], why[COUNTER_REASON_LEN];
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < file->n_event; i++) {
            const struct event_def *d = &file->event[i];
            const struct known_work *w = d->work[0] ? known_work_find(d->work) : NULL;
            if (d->field != f || strcmp(d->pmu, "core") != 0 || (w && !known_work_possible(w, why, sizeof why)))
                continue; /* instructions that this CPU lacks count 0 */
            if (!native_name(name, sizeof name, d, pmus, why, sizeof why)) {
                tried(t, f, d->name, why);
                return;
            }
            if (pass == 1 && !add_core(c, t, f, name, d->scale, d->work)) {
                counters_limit(c, f, "PAPI: no room for all of its events");
                return;
            }
        }
}

/* ---- memory controllers ----------------------------------------------------------------------------------------------- */

static bool add_unit(struct papi *p, const char *name, size_t event)
{
    struct papi_unit *more = realloc(p->unit, (p->n_unit + 1) * sizeof *more);
    if (!more)
        return false;
    p->unit = more;
    p->unit[p->n_unit].event = event;
    snprintf(p->unit[p->n_unit++].name, sizeof p->unit->name, "%s", name);
    return true;
}

/* libpfm's name of an event on unit `number` of that CPU's socket. */
static bool unit_name(char *name, size_t size, const struct event_def *d, const char *number, int cpu, char *why, size_t why_size)
{
    char event[96];
    snprintf(event, sizeof event, "%s", d->name);
    char *dot = strchr(event, '.');
    if (dot)
        *dot = ':';
    for (size_t i = 0; i < ARRAY_LEN(imc_of); i++) {
        snprintf(name, size, "%s_unc_imc%.8s::%.60s:cpu=%d", imc_of[i], number, event, cpu);
        if (available(name, why, why_size))
            return true;
    }
    return false;
}

/* The event on every unit and socket: a partial sum is not the memory traffic. */
static void choose_uncore(struct counters *c, struct fitting *t, const struct event_def *d, const struct pmu_list *pmus)
{
    struct papi *p = c->own;
    struct counter_event e = { .field = d->field, .scale = d->scale, .shared = true, .source = SOURCE_UNCORE_COUNTERS };
    const size_t before = p->n_unit;
    char name[96], why[COUNTER_REASON_LEN] = "no such unit";
    int units = 0;
    for (size_t i = 0; i < pmus->n; i++) {
        const struct pmu *pmu = &pmus->pmu[i];
        if (!pmu_matches(pmu->name, d->pmu))
            continue;
        const char *number = strrchr(pmu->name, '_');
        for (size_t k = 0; k < pmu->cpus.n; k++)
            if (!number || !isdigit((unsigned char)number[1]) ||
                !unit_name(name, sizeof name, d, number + 1, pmu->cpus.cpu[k], why, sizeof why) || !add_unit(p, name, c->n_event)) {
                tried(t, d->field, d->name, why);
                p->n_unit = before;
                return;
            }
        units++;
    }
    if (units == 0)
        return;
    snprintf(e.name, sizeof e.name, "%s", d->name);
    snprintf(e.work, sizeof e.work, "%s", d->work);
    snprintf(e.units, sizeof e.units, "%d x %.32s on %d", units, d->pmu, (int)((p->n_unit - before) / (size_t)units));
    p->kind[c->n_event < COUNTER_EVENT_MAX ? c->n_event : 0] = PAPI_KIND_UNCORE;
    if (counters_add_event(c, &e) != 0)
        p->n_unit = before;
}

/* ---- all fields ---- */

static void choose_from_file(struct counters *c, struct fitting *t, bool core, bool uncore)
{
    struct pmu_list pmus = { 0 };
    struct event_file file = { 0 };
    struct cpu_kind kind;
    struct error err = { 0 };
    cpu_kind_load(&kind, c->o.root);
    const int found = pmu_list_load(&pmus, c->o.root, &err) == 0 ? event_file_find(&file, c->o.data_dirs, &kind, &pmus, &err) : -1;
    for (int f = 0; found < 0 && f <= COUNTER_DRAM_BYTES; f++)
        tried(t, (enum counter_field)f, "events", err.msg);
    if (found == 1) {
        for (int f = 0; core && f < COUNTER_FIELD_COUNT; f++)
            if (!has_field(c, (enum counter_field)f))
                choose_native(c, t, &file, &pmus, (enum counter_field)f);
        for (size_t i = 0; uncore && i < file.n_event; i++)
            if (strcmp(file.event[i].pmu, "core") != 0)
                choose_uncore(c, t, &file.event[i], &pmus);
        for (size_t i = 0; i < file.n_limit; i++)
            counters_limit(c, file.limit[i].field, file.limit[i].why);
    }
    event_file_free(&file);
    pmu_list_free(&pmus);
}

void papi_choose_events(struct counters *c)
{
    struct fitting t = { .set = { 0 } };
    char core_off[COUNTER_REASON_LEN], uncore_off[COUNTER_REASON_LEN];
    for (int s = 0; s < COUNTER_SET_MAX; s++)
        t.set[s] = PAPI_NULL;
    papi_component_state("perf_event", core_off, sizeof core_off);
    papi_component_state("perf_event_uncore", uncore_off, sizeof uncore_off);
    if (!core_off[0])
        choose_presets(c, &t);
    choose_from_file(c, &t, !core_off[0], !uncore_off[0]);
    for (int f = 0; f < COUNTER_FIELD_COUNT; f++) {
        const bool memory = f == COUNTER_DRAM_READ_BYTES || f == COUNTER_DRAM_WRITE_BYTES || f == COUNTER_DRAM_BYTES;
        const char *why = memory && uncore_off[0] ? uncore_off : !memory && core_off[0] ? core_off : t.why[f].oom ? "out of memory" : t.why[f].s;
        const bool published = counter_field_is_sw((enum counter_field)f); /* open_software() has set the reason */
        if (!published && !has_field(c, (enum counter_field)f) && !c->limited[f] && why)
            counters_set_reason(c, (enum counter_field)f, "%s", why);
        strbuf_free(&t.why[f]);
    }
    for (int s = 0; s < COUNTER_SET_MAX; s++)
        papi_drop_set(&t.set[s]);
}
