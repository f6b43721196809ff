/* What the commands that run the engine share: the machine they may use, the model, provenance. */
#include "config.h"
#include "cli/cli.h"
#include "kernels/kernels.h"
#include <string.h>
#include <unistd.h>

/* Without --cpus: one hardware thread of each core first; a thread more than cores uses the rest. */
static int choose_cpus(struct cli_machine *m, int64_t n_threads, const char *cpus, struct error *err)
{
    struct cpulist usable;
    if (cpulist_usable(&usable, err) != 0)
        return -1;
    if (cpus) {
        if (cpulist_parse(&m->cpus, cpus, err) != 0)
            goto fail;
        for (size_t i = 0; i < m->cpus.n; i++) {
            size_t k = 0;
            while (k < usable.n && usable.cpu[k] != m->cpus.cpu[i])
                k++;
            if (k == usable.n) {
                error_set(err, ERROR_USAGE, "--cpus: CPU %d is not one this process may use", m->cpus.cpu[i]);
                goto fail;
            }
        }
        cpulist_free(&usable);
    } else {
        m->cpus = usable;
    }
    if (n_threads > (int64_t)m->cpus.n)
        return error_set(err, ERROR_USAGE, "-t: %lld threads asked for, %s %zu CPU%s", (long long)n_threads,
                         cpus ? "--cpus lists" : "this process may use", m->cpus.n, m->cpus.n == 1 ? "" : "s");
    m->n_threads = n_threads ? (int)n_threads : (int)m->cpus.n;
    return 0;
fail:
    cpulist_free(&usable);
    return -1;
}

int cli_engine_option(struct cli_engine *o, int key, const char *arg, struct error *err)
{
    switch (key) {
    case CLI_OPT_ISA:
        return cli_text(&o->isa, arg);
    case CLI_OPT_CPUS:
        return cli_text(&o->cpus, arg);
    case CLI_OPT_CTK:
        return cli_kv_type(&o->type_k, arg, err);
    case CLI_OPT_CTV:
        return cli_kv_type(&o->type_v, arg, err);
    default:
        return CLI_UNKNOWN;
    }
}

int cli_machine_init(struct cli_machine *m, int64_t n_threads, const char *isa, const char *cpus,
                     struct error *err)
{
    *m = (struct cli_machine){ 0 };
    if (kernels_isa_flags(isa ? isa : "auto", &m->cpu_flags, err) != 0 ||
        choose_cpus(m, n_threads, cpus, err) != 0) {
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
    if (!path)
        return error_set(err, ERROR_USAGE, "-m FILE is needed: a GGUF file (`roofcast synth` writes one)");
    if (model_load(m, path, NULL, err) != 0)
        return -1;
    if (m->gguf) {
        if (warm(m->gguf, err) == 0)
            return 0;
        model_free(m);
        return -1;
    }
    model_free(m);
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
