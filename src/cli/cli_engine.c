/* What the commands that run the engine share: the machine they may use, the model, provenance. */
#include "cli/cli.h"
#include "config.h"
#include "kernels/kernels.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

/* --cpus: each of them must be usable. */
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

/* Threads on n CPUs; 0 asked for: as many as the quota keeps running. */
static int threads_on(size_t n, int64_t asked)
{
    static int64_t said; /* a command has several tests */
    const double quota = cgroup_cpus("");
    const int within = threads_within(n, quota);
    if (asked > within && asked == said)
        return (int)asked;
    said = asked;
    if (asked > within)
        cli_note("-t %lld: cgroup quota %.0f %%: threads will wait for CPU time", (long long)asked, 100 * quota);
    else if (asked == 0 && (size_t)within < n)
        cli_note("%d thread%s: cgroup quota %.0f %%", within, within == 1 ? "" : "s", 100 * quota);
    return asked ? (int)asked : within;
}

/* Without --cpus and --numa: one hardware thread of each core first; a thread more than cores uses the rest. */
static int choose_cpus(struct cli_machine *m, int64_t n_threads, const struct cli_engine *o, struct error *err)
{
    if (o->cpus && o->numa)
        return error_set(err, ERROR_USAGE, "--cpus and --numa both say where threads run: give one of them");
    if ((o->cpus ? listed_cpus(&m->cpus, o->cpus, err) :
         o->numa ? numa_cpus(&m->cpus, o->numa, err) :
                   cpulist_usable(&m->cpus, err)) != 0)
        return -1;
    if (n_threads > (int64_t)m->cpus.n)
        return error_set(err, ERROR_USAGE, "-t: %lld threads asked for, %s %zu CPU%s", (long long)n_threads,
                         o->cpus ? "--cpus lists" : o->numa ? "--numa leaves" : "this process may use", m->cpus.n,
                         m->cpus.n == 1 ? "" : "s");
    m->n_threads = threads_on(m->cpus.n, n_threads);
    return 0;
}

struct team *cli_team_new(int64_t n_threads, struct error *err)
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

int cli_engine_option(struct cli_engine *o, int key, const char *arg, struct error *err)
{
    switch (key) {
    case CLI_OPT_ISA:
        return cli_text(&o->isa, arg);
    case CLI_OPT_CPUS:
        return cli_text(&o->cpus, arg);
    case CLI_OPT_NUMA:
        return cli_text(&o->numa, arg);
    case CLI_OPT_NO_REPACK:
        return cli_flag(&o->no_repack);
    case CLI_OPT_ACT_SCALES:
        o->pow2_scales = strcmp(arg, "pow2") == 0;
        return o->pow2_scales || strcmp(arg, "exact") == 0 ? 0 : error_set(err, ERROR_USAGE, "--act-scales: expected exact or pow2, found \"%s\"", arg);
    case CLI_OPT_CTK:
        return cli_kv_type(&o->type_k, arg, err);
    case CLI_OPT_CTV:
        return cli_kv_type(&o->type_v, arg, err);
    default:
        return CLI_UNKNOWN;
    }
}

int cli_machine_init(struct cli_machine *m, int64_t n_threads, const struct cli_engine *o, struct error *err)
{
    *m = (struct cli_machine){ 0 };
    if (kernels_isa_flags(o->isa ? o->isa : "auto", &m->cpu_flags, err) != 0 ||
        choose_cpus(m, n_threads, o, err) != 0) {
        cli_machine_free(m);
        return -1;
    }
    size_t len = 0;
    for (int i = 0; i < m->n_threads && len < sizeof m->cpus_text; i++)
        len += (size_t)snprintf(m->cpus_text + len, sizeof m->cpus_text - len, "%s%d", i ? "," : "", m->cpus.cpu[i]);
    return 0;
}

void cli_machine_free(struct cli_machine *m)
{
    cpulist_free(&m->cpus);
}

struct engine_options cli_engine_options(const struct cli_machine *m, const struct cli_engine *o)
{
    return (struct engine_options){ .n_threads = m->n_threads, .cpus = &m->cpus, .cpu_flags = m->cpu_flags,
                                    .no_repack = o->no_repack, .type_k = o->type_k, .type_v = o->type_v,
                                    .pow2_scales = o->pow2_scales };
}

void cli_say_scales(const struct cli_engine *o, const struct engine *e)
{
    if (o->pow2_scales && engine_act_scales(e, 0) != ACT_SCALES_POW2)
        cli_note("--act-scales pow2 changes nothing: %s", engine_act_scales(e, 0) == ACT_SCALES_NONE ?
                 "no product here quantizes its activations" :
                 "no pass has more than 32 tokens, or no kernel here is faster with them (AVX-512 VNNI's of packed weights are)");
}

void cli_loading(struct run_loading *l, const struct engine *e, const struct model *m, const struct cli_machine *machine)
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

const char *cli_loading_text(char *buf, size_t n, const struct run_loading *l)
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

/* file_warm for every file of a split, unless together they are too large: reading one would push out another. */
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

int cli_model_open(struct model *m, const char *path, struct error *err)
{
    if (cli_model_open_cold(m, path, err) != 0)
        return -1;
    if (cli_model_warm(m, err) == 0)
        return 0;
    model_free(m);
    return -1;
}

int cli_model_warm(const struct model *m, struct error *err)
{
    return warm(m->gguf, err);
}

int cli_model_open_cold(struct model *m, const char *path, struct error *err)
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
        return error_set(err, ERROR_INPUT, "%s: architecture %s is priced, not executed: analyze, predict and memory take the file", path, arch);
    return error_set(err, ERROR_USAGE,
                     "%s: a description without weights: the engine needs a GGUF file (`roofcast synth %s -o "
                     "model.gguf` writes one)",
                     path, path);
}

int cli_keep_input(const char *path, const struct gguf *g, const char *option, const char *out, struct error *err)
{
    bool same = out && *path && file_same(path, out);
    for (size_t i = 0; out && g && i < gguf_n_files(g); i++)
        same |= file_same(gguf_file_path(g, i), out);
    if (!same)
        return 0;
    return error_set(err, ERROR_USAGE, "%s %s is an input itself, which would be lost: name another file", option, out);
}

/* The value of an argument, or of one of several with commas between, is that file. */
static bool names(const char *arg, const char *out)
{
    char part[4096];
    for (const char *at = arg; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const size_t n = strcspn(at, ",");
        if (n == 0 || n >= sizeof part)
            continue;
        memcpy(part, at, n);
        part[n] = 0;
        if (file_same(part, out))
            return true;
    }
    return file_same(arg, out);
}

int cli_keep_arguments(int argc, char **argv, const char *option, const char *out, struct error *err)
{
    for (int i = 1; out && i < argc; i++) {
        const char *arg = argv[i], *value = strchr(arg, '=');
        if (out >= arg && out <= arg + strlen(arg)) /* the option's own */
            continue;
        if (names(arg, out) || (value && names(value + 1, out)) || (arg[0] == '-' && arg[1] && names(arg + 2, out)))
            return error_set(err, ERROR_USAGE, "%s %s is an input itself (\"%.200s\"), which would be lost: name another file", option, out, arg);
    }
    return 0;
}

int cli_keep_chart(int argc, char **argv, const char *option, const char *base, struct error *err)
{
    static const char *const ends[] = { ".gp", ".tsv", ".roofs.tsv", ".svg", ".png", ".pdf", ".txt" };
    int rc = 0;
    for (size_t i = 0; base && i < ARRAY_LEN(ends) && rc == 0; i++) {
        struct strbuf path = { 0 };
        strbuf_addf(&path, "%s%s", base, ends[i]);
        rc = path.oom ? error_oom(err, strlen(base), "a file name") : cli_keep_arguments(argc, argv, option, path.s, err);
        strbuf_free(&path);
    }
    return rc;
}

void cli_provenance(struct provenance *p, const struct cli_machine *m, const char *isa,
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
