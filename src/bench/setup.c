/* Set-up of engine runs: CPUs and threads, model file, provenance. */
#include "bench/setup.h"
#include "base/notify.h"
#include "config.h"
#include "kernels/kernels.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

/* Checks --cpus: each CPU must be usable. */
static int listed_cpus(struct cpulist *l, const char *text, struct error *err)
{
    struct cpulist usable;
    if (cpulist_usable(&usable, err) != 0)
        return -1;
    int rc = cpulist_parse(l, text, err);
    for (size_t i = 0; rc == 0 && i < l->n; i++) {
        size_t k = 0;
        while (k < usable.n && usable.cpu[k] != l->cpu[i])
            k++;
        if (k == usable.n)
            rc = error_set(err, ERROR_USAGE, "--cpus: this process may not use CPU %d", l->cpu[i]);
    }
    cpulist_free(&usable);
    return rc;
}

static int numa_cpus(struct cpulist *l, const char *mode, struct error *err)
{
    static const char *const names[] = { [NUMA_DISTRIBUTE] = "distribute", [NUMA_ISOLATE] = "isolate" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(mode, names[i]) == 0)
            return cpulist_numa(l, (enum numa_mode)i, NULL, 0, err);
    return error_set(err, ERROR_USAGE, "--numa: expected distribute or isolate, found \"%s\"", mode);
}

/* Number of threads on n CPUs; requested 0: as many as the CPU quota sustains. */
static int threads_on(size_t n, int64_t requested)
{
    const double quota = cgroup_cpus("");
    const int within = threads_within(n, quota);
    if (requested > within)
        notify_note("-t %lld: cgroup quota %.0f %%: threads will wait for CPU time", (long long)requested, 100 * quota);
    else if (requested == 0 && (size_t)within < n)
        notify_note("%d thread%s: cgroup quota %.0f %%", within, within == 1 ? "" : "s", 100 * quota);
    return requested ? (int)requested : within;
}

/* Without --cpus and --numa: one hardware thread per core first, then the others. */
static int choose_cpus(struct setup *m, int64_t n_threads, const struct setup_options *o, struct error *err)
{
    if (o->cpus && o->numa)
        return error_set(err, ERROR_USAGE, "--cpus and --numa are mutually exclusive");
    if ((o->cpus ? listed_cpus(&m->cpus, o->cpus, err) :
         o->numa ? numa_cpus(&m->cpus, o->numa, err) :
                   cpulist_usable(&m->cpus, err)) != 0)
        return -1;
    if (n_threads > (int64_t)m->cpus.n)
        return error_set(err, ERROR_USAGE, "-t: %lld threads requested, %s %zu CPU%s", (long long)n_threads,
                         o->cpus ? "--cpus lists" : o->numa ? "--numa leaves" : "this process may use", m->cpus.n,
                         m->cpus.n == 1 ? "" : "s");
    m->n_threads = threads_on(m->cpus.n, n_threads);
    return 0;
}

struct team *setup_team(int64_t n_threads, struct error *err)
{
    struct cpulist usable;
    if (n_threads == 0) {
        if (cpulist_usable(&usable, err) != 0)
            return NULL;
        n_threads = threads_on(usable.n, 0);
        cpulist_free(&usable);
    }
    return team_new((int)n_threads, NULL, err);
}

int setup_init(struct setup *m, int64_t n_threads, const struct setup_options *o, struct error *err)
{
    *m = (struct setup){ 0 };
    if (kernels_isa_flags(o->isa ? o->isa : "auto", &m->cpu_flags, err) != 0 ||
        choose_cpus(m, n_threads, o, err) != 0) {
        setup_free(m);
        return -1;
    }
    size_t len = 0;
    for (int i = 0; i < m->n_threads && len < sizeof m->cpus_text; i++)
        len += (size_t)snprintf(m->cpus_text + len, sizeof m->cpus_text - len, "%s%d", i ? "," : "", m->cpus.cpu[i]);
    return 0;
}

void setup_free(struct setup *m)
{
    cpulist_free(&m->cpus);
}

struct engine_options setup_engine_options(const struct setup *m, const struct setup_options *o)
{
    return (struct engine_options){ .n_threads = m->n_threads, .cpus = &m->cpus, .cpu_flags = m->cpu_flags,
                                    .no_repack = o->no_repack, .type_k = o->type_k, .type_v = o->type_v,
                                    .pow2_scales = o->pow2_scales };
}

void setup_note_scales(const struct setup_options *o, const struct engine *e)
{
    if (o->pow2_scales && engine_act_scales(e, 0) != ACT_SCALES_POW2)
        notify_note("--act-scales pow2 changes nothing: %s", engine_act_scales(e, 0) == ACT_SCALES_NONE ?
                    "no product here quantizes its activations" :
                    "no pass has more than 32 tokens, or no kernel here is faster with them (AVX-512 VNNI's of packed weights are)");
}

void setup_loading(struct run_loading *l, const struct engine *e, const struct model *m, const struct setup *machine)
{
    struct error err;
    double seconds;
    const double bytes = (double)engine_packed_bytes(e, &seconds);
    *l = (struct run_loading){ .n_threads = machine->n_threads, .packed_bytes = bytes, .pack_s = NAN, .pack_bytes_s = NAN, .probe_bytes = NAN };
    snprintf(l->model, sizeof l->model, "%s", m->name);
    snprintf(l->type, sizeof l->type, "%s", m->type_name);
    if (bytes > 0) {
        l->pack_s = seconds;
        l->pack_bytes_s = bytes / seconds;
    }
    snprintf(l->act_scales, sizeof l->act_scales, "%s", act_scales_name(engine_act_scales(e, 0)));
    l->peak_bytes = memory_peak_bytes("/proc/self/status", &err);
    if (isnan(l->peak_bytes))
        snprintf(l->peak_reason, sizeof l->peak_reason, "%.*s", (int)sizeof l->peak_reason - 1, err.msg);
}

const char *setup_loading_text(char *buf, size_t n, const struct run_loading *l)
{
    char a[32], b[32], c[32], packed[96] = "no weights packed", peak[sizeof l->peak_reason + 16];
    if (l->packed_bytes > 0)
        snprintf(packed, sizeof packed, "%s packed in %s, %s", units_si(a, sizeof a, l->packed_bytes, "B"),
                 units_si(b, sizeof b, l->pack_s, "s"), units_si(c, sizeof c, l->pack_bytes_s, "B/s"));
    if (isnan(l->peak_bytes))
        snprintf(peak, sizeof peak, "unavailable: %s", l->peak_reason);
    else
        units_si(peak, sizeof peak, l->peak_bytes, "B");
    snprintf(buf, n, "%s; peak memory %s%s", packed, peak,
             strcmp(l->act_scales, "pow2") == 0 ? "; activations scaled by powers of two (--act-scales pow2)" : "");
    return buf;
}

/* Warms the page cache with every file of a split, unless together they exceed memory. */
static int warm(const struct gguf *g, struct error *err)
{
    const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (gguf_n_files(g) > 1 && (double)gguf_file_bytes(g) > memory / 2)
        return 0;
    for (size_t i = 0; i < gguf_n_files(g); i++)
        if (file_warm(gguf_file_path(g, i), err) != 0)
            return -1;
    return 0;
}

int setup_model_open(struct model *m, const char *path, struct error *err)
{
    if (setup_model_open_cold(m, path, err) != 0)
        return -1;
    if (setup_model_warm(m, err) == 0)
        return 0;
    model_free(m);
    return -1;
}

int setup_model_warm(const struct model *m, struct error *err)
{
    return warm(m->gguf, err);
}

int setup_model_open_cold(struct model *m, const char *path, struct error *err)
{
    if (!path)
        return error_set(err, ERROR_USAGE, "-m FILE is needed: a GGUF file (`roofcast synth` writes one)");
    if (model_load(m, path, NULL, err) != 0)
        return -1;
    if (m->gguf)
        return 0;
    const bool file = strlen(m->path) > 5 && strcmp(m->path + strlen(m->path) - 5, ".gguf") == 0;
    char arch[64];
    snprintf(arch, sizeof arch, "%s", model_arch_name(m));
    model_free(m);
    if (file)
        return error_set(err, ERROR_INPUT, "%s: architecture %s can be predicted, not executed: use analyze, predict or memory", path, arch);
    return error_set(err, ERROR_USAGE,
                     "%s: a description without weights: the engine needs a GGUF file (`roofcast synth %s -o "
                     "model.gguf` writes one)",
                     path, path);
}

void setup_provenance(struct provenance *p, const struct setup *m, const char *isa,
                    const char *counters)
{
    *p = (struct provenance){ .n_threads = m->n_threads };
    snprintf(p->version, sizeof p->version, "%s", PACKAGE_VERSION);
    snprintf(p->compiler, sizeof p->compiler, "%s", ROOFCAST_CC);
    snprintf(p->cflags, sizeof p->cflags, "%s", ROOFCAST_CFLAGS);
    cpu_model_name(p->cpu, sizeof p->cpu);
    snprintf(p->isa, sizeof p->isa, "%s", isa);
    snprintf(p->counters, sizeof p->counters, "%s", counters);
    snprintf(p->cpus, sizeof p->cpus, "%s", m->cpus_text);
    clock_date(p->date, sizeof p->date);
}
