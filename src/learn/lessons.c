/* roofcast calibrate: which rows of measurements constants are fitted to, and why others are not. */
#include "learn/lessons.h"
#include "learn/ahead.h"
#include "learn/families.h"
#include "base/notify.h"
#include <stdlib.h>
#include <string.h>

struct files {
    const char *const *name;
    size_t n;
};

/* Workloads of all files. */
struct rows {
    struct measurements l[LESSONS_MAX_FILES];
    struct workload *all;
    const struct workload **kept;
    size_t n, n_kept;
};

static void rows_free(struct rows *r)
{
    for (size_t i = 0; i < r->n; i++)
        workload_free(&r->all[i]);
    free(r->all);
    free(r->kept);
    for (size_t i = 0; i < LESSONS_MAX_FILES; i++)
        measure_free(&r->l[i]);
}

/* --hw and --model apply only to files that lack them. */
static int load_file(struct measurements *l, const char *file, const struct measure_context *given, struct error *err)
{
    struct measure_context x = *given;
    bool hardware = false, model = false;
    x.hardware = x.model = NULL;
    if (measure_load(l, file, &x, err) != 0)
        return -1;
    for (size_t i = 0; i < l->n; i++) {
        hardware |= !*l->row[i].hardware || strcmp(l->row[i].hardware, "?") == 0;
        model |= !*l->row[i].model && (l->row[i].kind == MEASURE_RATE || l->row[i].kind == MEASURE_SERVING);
    }
    x.hardware = hardware ? given->hardware : NULL;
    x.model = model ? given->model : NULL;
    if (!x.hardware && !x.model)
        return 0;
    measure_free(l);
    return measure_load(l, file, &x, err);
}

/* Whether a row enters the fit, or why not. */
enum lesson { TEACHES, NO_PRICE, NO_BANDWIDTH, IMPOSSIBLE, PARTLY, KERNEL_ALONE, LESSON_COUNT };

/* Tagged rows get a low weight (57); offloaded runs of llama-bench are excluded. */
static enum lesson lesson_of(const struct workload *p, enum measure_file file)
{
    struct roof_violation x;
    if (p->reason[0])
        return NO_PRICE;
    if (p->m->kind == MEASURE_KERNEL && !families_learn_from(p->m))
        return KERNEL_ALONE;
    if (p->machine->ln_sd > 0)
        return NO_BANDWIDTH;
    if (p->host)
        return PARTLY;
    if (file == FILE_LLAMA_BENCH && p->machine->h.kind != HW_CPU && workload_is_partial(p))
        return PARTLY;
    return workload_exceeds_roof(p, &x) ? IMPOSSIBLE : TEACHES;
}

static const char *why_not(const struct workload *p, enum measure_file file, char *buf, size_t size)
{
    char excess[256];
    switch (lesson_of(p, file)) {
    case NO_PRICE:
        snprintf(buf, size, "%s", p->reason);
        break;
    case NO_BANDWIDTH:
        snprintf(buf, size, "unknown bandwidth of \"%.80s\": state it with --hardware",
                 p->machine->hardware);
        break;
    case IMPOSSIBLE:
        snprintf(buf, size, "above the machine's roofs: %s", roof_violation_text(p, excess, sizeof excess));
        break;
    case PARTLY:
        snprintf(buf, size, "part of its layers ran on another device");
        break;
    case KERNEL_ALONE:
        snprintf(buf, size, "a single kernel: no family of kernels has this op");
        break;
    case TEACHES:
    case LESSON_COUNT:
        *buf = 0;
    }
    return buf;
}

/* Notes the unused rows of a file by kind of reason, with the first row. */
static void say_unused(const char *file, enum measure_file of, const struct workload *p, size_t n)
{
    size_t unused[LESSON_COUNT] = { 0 }, first[LESSON_COUNT] = { 0 };
    char why[512];
    for (size_t i = n; i-- > 0;) {
        const enum lesson k = lesson_of(&p[i], of);
        unused[k]++;
        first[k] = i;
    }
    for (int k = NO_PRICE; k < LESSON_COUNT; k++) {
        const struct workload *q = &p[first[k]];
        char line[40] = "";
        if (!unused[k])
            continue;
        if (q->m->line > 0)
            snprintf(line, sizeof line, " (%sline %zu)", unused[k] > 1 ? "first " : "", q->m->line);
        notify_note("%s: %zu of %zu rows are not used%s: %s", file, unused[k], n, line, why_not(q, of, why, sizeof why));
    }
}

static int price_files(struct rows *r, const struct files *o, const struct measure_context *given, struct workload_builder *p, struct error *err)
{
    size_t room = 0, n_teach = 0;
    char why[512];
    for (size_t i = 0; i < o->n; i++) {
        if (load_file(&r->l[i], o->name[i], given, err) != 0)
            return -1;
        room += r->l[i].n;
    }
    r->all = calloc(room + 1, sizeof *r->all);
    r->kept = calloc(room + 1, sizeof *r->kept);
    if (!r->all || !r->kept)
        return error_oom(err, room * sizeof *r->all, "rows");
    for (size_t i = 0; i < o->n; i++) {
        for (size_t k = 0; k < r->l[i].n; k++) {
            struct workload *q = &r->all[r->n];
            r->l[i].row[k].file = i;
            if (workload_init(p, &r->l[i].row[k], q, err) != 0 || ahead_set(q, err) != 0)
                return -1;
            r->n++;
            if (k > 0)
                workload_share_passes(q, q - 1);
            const enum lesson lesson = lesson_of(q, r->l[i].file);
            n_teach += lesson == TEACHES;
            if (lesson == TEACHES || lesson == NO_BANDWIDTH) /* kept: the machine is known by name */
                r->kept[r->n_kept++] = q;
            notify_progress(NULL, "estimating", (double)r->n / (double)room);
        }
        say_unused(o->name[i], r->l[i].file, r->all + r->n - r->l[i].n, r->l[i].n);
    }
    workload_builder_drop_models(p);
    if (n_teach == 0)
        return error_set(err, ERROR_INPUT, "%s: no usable row: %s", o->name[0], why_not(&r->all[0], r->l[0].file, why, sizeof why));
    return 0;
}

/* Error if no constant was fitted. */
static int check_learned(const struct constants_file *f, const struct rows *r, const struct files *o, struct error *err)
{
    for (int k = 0; k < CONSTANTS_FITS; k++)
        if (f->kind[k].n > 0)
            return 0;
    return error_set(err, ERROR_INPUT, "%s: none of its %zu rows determines a constant", o->name[0], r->n);
}

static const char *without_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* File name without the folder; if not unique, the path as given. */
static const char *cited(const struct files *o, size_t file)
{
    const char *const name = without_folder(o->name[file]);
    for (size_t i = 0; i < o->n; i++)
        if (i != file && strcmp(without_folder(o->name[i]), name) == 0)
            return o->name[file];
    return name;
}

/* Comma-separated file names; commas within a name become semicolons. */
static void source_of(char *out, size_t size, const struct files *o)
{
    size_t len = 0;
    for (size_t i = 0; i < o->n && len + 1 < size; i++) {
        const int n = snprintf(out + len, size - len, "%s%s", i ? ", " : "", cited(o, i));
        for (char *c = out + len + (i ? 2 : 0); n > 0 && c < out + size - 1 && *c; c++)
            *c = *c == ',' ? ';' : *c;
        len += n > 0 ? (size_t)n : 0;
    }
}

int lessons_learn(struct constants_file *f, const char *const *file, size_t n_file, const struct measure_context *given, struct workload_builder *p, struct error *err)
{
    const struct files o = { file, n_file };
    struct rows *r = calloc(1, sizeof *r);
    char source[CONSTANTS_SOURCE] = "";
    int rc = r ? price_files(r, &o, given, p, err) : error_oom(err, sizeof *r, "rows");
    source_of(source, sizeof source, &o);
    if (rc == 0) {
        notify_progress(NULL, "fitting", 1);
        rc = constants_fit(f, r->kept, r->n_kept, source, err);
        rc = rc ? rc : check_learned(f, r, &o, err);
    }
    notify_progress_done();
    if (r)
        rows_free(r);
    free(r);
    return rc;
}
