/*
 * Preset of a row: by name; of llama-bench's labels, shared by many models, by architecture and parameters; else by family and parameters.
 * doc/notes/datasets.md
 */
#include "dataset/workload_internal.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Relative tolerance of parameters for a named preset: vocabularies differ. */
static const double NAMED_TOLERANCE = 0.15;
/* Relative tolerance for a matching architecture: three digits. */
static const double SHAPE_TOLERANCE = 0.01;

/* ---- the presets ----------------------------------------------------------------------------------- */

void presets_free(struct presets *l)
{
    free(l->p);
    *l = (struct presets){ 0 };
}

static double last_block(const struct model *m)
{
    char begin[32];
    double n = 0;
    snprintf(begin, sizeof begin, "blk.%u.", m->hp.n_layer - 1);
    for (size_t i = 0; i < m->n_tensors; i++)
        if (strncmp(m->tensors[i].name, begin, strlen(begin)) == 0)
            n += (double)m->tensors[i].rows * (double)m->tensors[i].cols;
    return n;
}

/* Architectures whose files may include a multi-token prediction block. */
static bool predicts_next(const char *arch)
{
    static const char *const archs[] = { "glm4moe", "deepseek2", "qwen3next", "qwen35", "qwen35moe" };
    for (size_t i = 0; i < ARRAY_LEN(archs); i++)
        if (strcmp(archs[i], arch) == 0)
            return true;
    return false;
}

/*
 * Additional parameters of a file: a second copy of a tied embedding table (llama-bench counts 0.752e9 for Qwen3-0.6B's 0.596), or a
 * multi-token prediction block with a projection of two rows, with or without own tables (110.5e9 for GLM-4.5-Air's 106.9).
 */
static void shape_of(struct preset_shape *p, const struct model *m)
{
    const double d = m->hp.n_embd, table = d * m->hp.n_vocab, next = predicts_next(model_arch_name(m)) ? last_block(m) + 2 * d * d : 0;
    *p = (struct preset_shape){ .n_params = (double)m->n_params, .extra = { 0, m->hp.tied ? table : 0, next, next > 0 ? next + 2 * table : 0 } };
    snprintf(p->name, sizeof p->name, "%.60s", m->name);
    snprintf(p->arch, sizeof p->arch, "%.28s", model_arch_name(m));
}

/* Reads all presets; any unreadable one is an error, since it may be the match. */
static int presets_read(struct presets *l, struct error *err)
{
    char **names;
    size_t n;
    if (l->p || model_list(&names, &n, err) != 0)
        return l->p ? 0 : -1;
    l->p = calloc(n + 1, sizeof *l->p);
    int rc = l->p ? 0 : error_oom(err, n * sizeof *l->p, "the presets");
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct model m;
        bool found;
        rc = model_load_preset(&m, names[i], NULL, &found, err);
        if (rc != 0 || !found)
            continue;
        shape_of(&l->p[l->n++], &m);
        model_free(&m);
    }
    name_list_free(names, n);
    if (rc != 0)
        presets_free(l);
    return rc;
}

/* Relative distance of parameters, and the additional ones (*extra) that explain the row; 0 is preferred. */
static double distance(const struct preset_shape *p, double params, double *extra)
{
    double least = INFINITY;
    *extra = 0;
    for (size_t i = 0; i < ARRAY_LEN(p->extra); i++) {
        const double d = fabs((p->n_params + p->extra[i]) / params - 1);
        if (d >= least || least <= SHAPE_TOLERANCE)
            continue;
        least = d;
        *extra = p->extra[i];
    }
    return least;
}

/* ---- by its name --------------------------------------------------------------------------------------- */

/* p->name "": unknown name. errors: a preset that cannot be read */
static int by_name(struct preset_shape *p, const char *name, struct error *err)
{
    struct model m;
    bool found;
    p->name[0] = 0;
    if (!*name || model_load_preset(&m, name, NULL, &found, err) != 0)
        return *name ? -1 : 0;
    if (!found)
        return 0;
    shape_of(p, &m);
    model_free(&m);
    return 0;
}

static void take(struct preset_found *out, const struct preset_shape *p, double extra)
{
    snprintf(out->name, sizeof out->name, "%s", p->name);
    out->extra = extra / p->n_params;
}

static int find_named(struct preset_found *out, const char *name, const struct measurement *row, struct error *err)
{
    struct preset_shape p;
    double extra = 0;
    if (by_name(&p, name, err) != 0)
        return -1;
    if (p.name[0] && (!(row->params_b > 0) || distance(&p, row->params_b * 1e9, &extra) <= NAMED_TOLERANCE)) {
        take(out, &p, extra);
    } else if (p.name[0] && !(out->other_params > 0)) {
        snprintf(out->other, sizeof out->other, "%s", p.name);
        out->other_params = p.n_params;
    }
    return 0;
}

/* ---- by architecture and parameters ------------------------------------------------------------------- */

/* Nearest preset accepted by `fits` within the tolerance; one of that name is preferred. */
static const struct preset_shape *nearest(const struct presets *l, double params, const char *name, bool (*fits)(const struct preset_shape *, const char *),
                                          const char *what, double *extra)
{
    const struct preset_shape *best = NULL;
    double least = SHAPE_TOLERANCE;
    for (size_t i = 0; i < l->n; i++) {
        double more;
        const double d = distance(&l->p[i], params, &more);
        const bool named = strcmp(l->p[i].name, name) == 0;
        if (d > (named ? SHAPE_TOLERANCE : least) || !fits(&l->p[i], what))
            continue;
        best = &l->p[i];
        *extra = more;
        least = d;
        if (named)
            break;
    }
    return best;
}

static bool has_arch(const struct preset_shape *p, const char *arch)
{
    return strcmp(p->arch, arch) == 0;
}

static int find_labelled(struct preset_found *out, const char *label, const struct measurement *row, struct presets *l, struct error *err)
{
    char arch[32];
    struct preset_shape named;
    double extra;
    if (!(row->params_b > 0) || !label_arch(arch, sizeof arch, label))
        return 0;
    if (presets_read(l, err) != 0 || by_name(&named, label, err) != 0)
        return -1;
    const struct preset_shape *const p = nearest(l, row->params_b * 1e9, named.name, has_arch, arch, &extra);
    if (p)
        take(out, p, extra);
    return 0;
}

/* ---- by family and parameters ---------------------------------------------------------------------------- */

static bool has_family(const struct preset_shape *p, const char *family)
{
    char own[64];
    return strcmp(model_family(own, sizeof own, p->name), family) == 0;
}

static int find_relative(struct preset_found *out, const struct measurement *row, struct presets *l, struct error *err)
{
    char family[64];
    double extra;
    const double stated = model_named_params(row->model);
    if (!(row->params_b > 0) || out->other_params > 0 || fabs(stated / (row->params_b * 1e9) - 1) > NAMED_TOLERANCE || !*model_family(family, sizeof family, row->model))
        return 0;
    if (presets_read(l, err) != 0)
        return -1;
    const struct preset_shape *const p = nearest(l, row->params_b * 1e9, "", has_family, family, &extra);
    if (!p)
        return 0;
    take(out, p, extra);
    out->by_family = true;
    return 0;
}

int preset_find(struct preset_found *out, const struct measurement *row, struct presets *l, struct error *err)
{
    const char *const names[] = { row->model, row->label };
    *out = (struct preset_found){ .other_params = NAN };
    for (size_t i = 0; i < ARRAY_LEN(names) && !out->name[0]; i++)
        if (find_labelled(out, names[i], row, l, err) != 0 || (!out->name[0] && find_named(out, names[i], row, err) != 0))
            return -1;
    return out->name[0] ? 0 : find_relative(out, row, l, err);
}
