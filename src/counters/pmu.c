/* counters/pmu.c: PMUs in sysfs (Documentation/ABI/testing/sysfs-bus-event_source-devices-*). */
#include "counters/pmu.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES "/sys/bus/event_source/devices"

/* First line of a small file, without newline. */
static int read_line(char *out, size_t size, const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return -1;
    const bool ok = fgets(out, (int)size, f) != NULL;
    fclose(f);
    if (!ok)
        return -1;
    out[strcspn(out, "\n")] = 0;
    return 0;
}

static int device_line(char *out, size_t size, const struct pmu_list *l, const char *pmu, const char *file)
{
    char path[4500];
    snprintf(path, sizeof path, "%s" DEVICES "/%s/%s", l->root, pmu, file);
    return read_line(out, size, path);
}

/* ---- the list ------------------------------------------------------------------------------------------------ */

/* Numeric order: uncore_imc_2 before uncore_imc_10. */
static int by_name(const void *a, const void *b)
{
    return strverscmp(((const struct pmu *)a)->name, ((const struct pmu *)b)->name);
}

static int add_pmu(struct pmu_list *l, const char *name, struct error *err)
{
    char line[4096];
    struct pmu p = { 0 };
    if (strlen(name) >= sizeof p.name || device_line(line, sizeof line, l, name, "type") != 0)
        return 0;
    snprintf(p.name, sizeof p.name, "%.63s", name);
    p.type = (uint32_t)strtoul(line, NULL, 10);
    const bool listed = device_line(line, sizeof line, l, name, "cpumask") == 0 ||
                        device_line(line, sizeof line, l, name, "cpus") == 0;
    if (listed && line[0] && cpulist_parse(&p.cpus, line, err) != 0)
        return error_prefix(err, "%s" DEVICES "/%s: CPUs: ", l->root, name);
    p.has_cpus = listed;
    struct pmu *more = realloc(l->pmu, (l->n + 1) * sizeof *more);
    if (!more) {
        cpulist_free(&p.cpus);
        return error_oom(err, (l->n + 1) * sizeof *more, "the PMUs");
    }
    l->pmu = more;
    l->pmu[l->n++] = p;
    return 0;
}

int pmu_list_load(struct pmu_list *l, const char *root, struct error *err)
{
    char path[4096];
    *l = (struct pmu_list){ 0 };
    snprintf(l->root, sizeof l->root, "%s", root ? root : "");
    snprintf(path, sizeof path, "%s" DEVICES, l->root);
    DIR *d = opendir(path);
    int rc = 0;
    for (struct dirent *e; d && rc == 0 && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.')
            rc = add_pmu(l, e->d_name, err);
    if (d)
        closedir(d);
    if (rc != 0)
        pmu_list_free(l);
    else if (l->n)
        qsort(l->pmu, l->n, sizeof *l->pmu, by_name);
    return rc;
}

void pmu_list_free(struct pmu_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        cpulist_free(&l->pmu[i].cpus);
    free(l->pmu);
    *l = (struct pmu_list){ 0 };
}

bool pmu_matches(const char *name, const char *pattern)
{
    const size_t len = strlen(pattern);
    if (strncmp(name, pattern, len) != 0)
        return false;
    if (name[len] == 0)
        return true;
    if (name[len] != '_' || name[len + 1] == 0)
        return false;
    return name[len + 1 + strspn(name + len + 1, "0123456789abcdef")] == 0;
}

static bool is_core(const struct pmu *p)
{
    return strcmp(p->name, "cpu") == 0 || strcmp(p->name, "cpu_core") == 0 || strcmp(p->name, "cpu_atom") == 0 ||
           strncmp(p->name, "armv8_", 6) == 0 || strncmp(p->name, "armv9_", 6) == 0;
}

const struct pmu *pmu_core(const struct pmu_list *l, int cpu)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct pmu *p = &l->pmu[i];
        bool drives = !p->has_cpus;
        for (size_t k = 0; k < p->cpus.n; k++)
            drives |= p->cpus.cpu[k] == cpu;
        if (is_core(p) && drives)
            return p;
    }
    return NULL;
}

/* ---- events -------------------------------------------------------------------------------------------------- */

/* Distributes the bits of value over a format's ranges ("config:0-7,32-35"); false: too large or invalid. */
static bool place(struct pmu_config *c, const char *format, uint64_t value)
{
    static const char *const words[] = { "config:", "config1:", "config2:" };
    for (size_t w = 0; w < ARRAY_LEN(words); w++) {
        const char *s = format;
        if (strncmp(s, words[w], strlen(words[w])) != 0)
            continue;
        s += strlen(words[w]);
        for (;;) {
            char *end;
            const unsigned long lo = strtoul(s, &end, 10), hi = *end == '-' ? strtoul(end + 1, &end, 10) : lo;
            if (end == s || lo > hi || hi > 63)
                return false;
            const unsigned width = (unsigned)(hi - lo + 1);
            const uint64_t mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
            c->word[w] |= (value & mask) << lo;
            value = width == 64 ? 0 : value >> width;
            if (*end != ',')
                return *end == 0 && value == 0;
            s = end + 1;
        }
    }
    return false;
}

static int encode_term(struct pmu_config *c, const struct pmu_list *l, const struct pmu *p, const char *name, uint64_t value,
                       struct error *err)
{
    char file[64], format[256];
    snprintf(file, sizeof file, "format/%.48s", name);
    if (device_line(format, sizeof format, l, p->name, file) != 0) {
        static const char *const whole[] = { "config", "config1", "config2" };
        for (size_t w = 0; w < ARRAY_LEN(whole); w++)
            if (strcmp(name, whole[w]) == 0) {
                c->word[w] |= value;
                return 0;
            }
        return error_set(err, ERROR_UNAVAILABLE, "PMU %s: its events have no field \"%s\"", p->name, name);
    }
    if (place(c, format, value))
        return 0;
    return error_set(err, ERROR_UNAVAILABLE, "PMU %s: field \"%s\": %#llx does not fit the format \"%s\"", p->name, name,
                     (unsigned long long)value, format);
}

int pmu_encode(struct pmu_config *c, const struct pmu_list *l, const struct pmu *p, const char *text, struct error *err)
{
    *c = (struct pmu_config){ { 0 } };
    for (const char *s = text; *s;) {
        char name[48];
        size_t len = 0;
        uint64_t value = 1; /* a term without a value is a flag */
        while (isalnum((unsigned char)s[len]) || s[len] == '_')
            len++;
        snprintf(name, sizeof name, "%.*s", (int)(len < sizeof name ? len : sizeof name - 1), s);
        s += len;
        if (*s == '=') {
            char *end;
            errno = 0;
            value = strtoull(s + 1, &end, 0);
            if (end == s + 1 || errno || s[1] == '-')
                len = 0;
            s = end;
        }
        if (len == 0 || (*s && *s != ','))
            return error_set(err, ERROR_INPUT, "event \"%s\": expected FIELD=NUMBER[,FIELD=NUMBER...]", text);
        if (encode_term(c, l, p, name, value, err) != 0)
            return -1;
        s += *s == ',';
    }
    return 0;
}

/* "MiB" and "Bytes" scale to bytes; other units are 1. */
static double unit_of(const char *unit)
{
    if (strcmp(unit, "MiB") == 0)
        return 1024.0 * 1024.0;
    if (strcmp(unit, "KiB") == 0)
        return 1024.0;
    return 1;
}

int pmu_event(char *text, size_t size, double *scale, const struct pmu_list *l, const struct pmu *p, const char *name)
{
    char file[128], line[64];
    snprintf(file, sizeof file, "events/%.90s", name);
    if (device_line(text, size, l, p->name, file) != 0)
        return -1;
    *scale = 1;
    snprintf(file, sizeof file, "events/%.90s.scale", name);
    if (device_line(line, sizeof line, l, p->name, file) == 0)
        *scale = strtod(line, NULL);
    snprintf(file, sizeof file, "events/%.90s.unit", name);
    if (device_line(line, sizeof line, l, p->name, file) == 0)
        *scale *= unit_of(line);
    return *scale > 0 && *scale < 1e12 ? 0 : -1;
}

/* ---- the CPU ------------------------------------------------------------------------------------------------- */

void cpu_kind_load(struct cpu_kind *k, const char *root)
{
    char path[4096], line[4096];
    *k = (struct cpu_kind){ .family = -1, .model = -1, .stepping = -1 };
    snprintf(path, sizeof path, "%s/proc/cpuinfo", root ? root : "");
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f) && line[0] != '\n') {
        char *value = strchr(line, ':');
        if (!value)
            continue;
        const int n = (int)strtol(value + 1, NULL, 0);
        if (strncmp(line, "vendor_id", 9) == 0)
            sscanf(value + 1, " %31s", k->vendor);
        else if (strncmp(line, "cpu family", 10) == 0)
            k->family = n;
        else if (strncmp(line, "model\t", 6) == 0)
            k->model = n;
        else if (strncmp(line, "stepping", 8) == 0)
            k->stepping = n;
        else if (strncmp(line, "CPU implementer", 15) == 0) {
            snprintf(k->vendor, sizeof k->vendor, "arm");
            k->family = n;
        } else if (strncmp(line, "CPU part", 8) == 0) {
            k->model = n;
        }
    }
    if (f)
        fclose(f);
}
