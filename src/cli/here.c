/* roofcast without arguments: this machine, its profile, saved runs, commands to try. */
#include "base/environment.h"
#include "cli/here.h"
#include "kernels/kernels.h"
#include "report/output.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *best_isa(void)
{
    const char *name, *best = "ref";
    bool usable;
    for (size_t i = 0; (name = kernels_isa_at(i, &usable)) != NULL; i++)
        best = usable ? name : best;
    return best;
}

static void print_machine(const struct hwprofile *h)
{
    char memory[32];
    int level;
    const double last = hwprofile_llc(h, &level);
    units_si(memory, sizeof memory, h->mem_bytes.value, "B");
    report_text(2, "%s: %d core%s, %d thread%s, %s of memory", h->name, h->n_cores, h->n_cores == 1 ? "" : "s", h->n_pus, h->n_pus == 1 ? "" : "s", memory);
    if (level > 0)
        report_text(2, ", %.4g MiB of L%d", last / (1 << 20), level);
    report_text(2, "; kernels: %s\n", best_isa());
}

/* Whether there is a profile, of this machine as it is. One that cannot be read is said to be so. */
static bool print_profile(void)
{
    struct hwprofile h;
    struct error err;
    char changed[512], bandwidth[32], peak[32];
    const char *path = environment()->profile_path;
    if (!path || !file_exists(path)) {
        report_text(2, "No profile yet%s%s%s\n", path ? " (no " : "", path ? path : "", path ? ")" : "");
        return false;
    }
    if (hwprofile_load(&h, path, &err) != 0) {
        report_text(2, "Its profile cannot be read: %s\n", err.msg);
        return false;
    }
    const struct ceiling *read = hwprofile_bandwidth(&h, "DRAM", h.n_pus), *fp32 = hwprofile_peak(&h, MATH_FP32, h.n_pus);
    units_si(bandwidth, sizeof bandwidth, read ? read->value : NAN, "B/s");
    units_si(peak, sizeof peak, fp32 ? fp32->value : NAN, "FLOP/s");
    report_text(2, "Profile of %.10s: memory bandwidth %s, fp32 peak %s (%s)\n", h.date, bandwidth, peak, path);
    if (*hwprofile_changed(changed, sizeof changed, &h))
        report_text(2, "The profile is stale: %s\n", changed);
    hwprofile_free(&h);
    return !*changed;
}

static int is_run(const struct dirent *d)
{
    const size_t n = strlen(d->d_name);
    return n > 5 && strcmp(d->d_name + n - 5, ".json") == 0;
}

static void print_runs(void)
{
    char path[4096];
    struct dirent **run;
    snprintf(path, sizeof path, "%s/runs", environment()->user_dir ? environment()->user_dir : "");
    const int n = scandir(path, &run, is_run, alphasort);
    if (n < 0 && errno != ENOENT)
        report_text(2, "Its runs cannot be read: %s: %s\n", path, strerror(errno));
    if (n > 0) /* names begin with their date */
        report_text(2, "%d saved run%s, latest: %s/%s\n", n, n == 1 ? "" : "s", path, run[n - 1]->d_name);
    for (int i = 0; i < n; i++)
        free(run[i]);
    if (n >= 0)
        free(run);
}

int cli_here(int argc, char **argv, struct error *err)
{
    struct hwprofile h;
    (void)argc;
    (void)argv;
    if (hwprofile_host(&h, err) != 0)
        return -1;
    print_machine(&h);
    hwprofile_free(&h);
    const bool measured = print_profile();
    print_runs();
    printf("\nTry:\n"
           "  roofcast %-52s %s\n"
           "  roofcast %-52s %s\n"
           "  roofcast %-52s %s\n"
           "\n`roofcast --help` lists all commands.\n",
           measured ? "plot --chart bandwidth this" : "profile --quick", measured ? "bandwidth by footprint" : "measure this machine in 30 seconds",
           measured ? "predict llama-3.1-8b -q Q4_K_M --hw this,rtx-4090" : "predict llama-3.1-8b -q Q4_K_M --hw rtx-4090", "tokens/s of a model on hardware",
           "memory llama-3.1-8b -q Q4_K_M --hw rtx-4090", "largest batch and context that fit");
    return 0;
}

char *cli_run_path(const char *model, struct error *err)
{
    char date[32], *path;
    const char *dir = environment()->user_dir, *slash = strrchr(model, '/'), *name = slash ? slash + 1 : model;
    if (!dir) {
        error_set(err, ERROR_USAGE, "--keep: HOME is not set: set it, or XDG_DATA_HOME");
        return NULL;
    }
    clock_date(date, sizeof date);
    for (char *c = date; *c; c++) /* completion splits words at colons */
        *c = *c == ':' ? '.' : *c;
    const char *end = strstr(name, ".gguf");
    if (asprintf(&path, "%s/runs/%s-%.*s.json", dir, date, (int)(end ? end - name : (ptrdiff_t)strlen(name)), name) < 0) {
        error_oom(err, 0, "a file name");
        return NULL;
    }
    *strrchr(path, '/') = 0;
    const int rc = dir_make(path, err);
    path[strlen(path)] = '/';
    if (rc == 0)
        return path;
    free(path);
    return NULL;
}
