/* The roofs of a chart: the best of each memory level and operand type, or all. */
#include "report/plot.h"
#include "timing/roofs.h"
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COPY(to, from) plot_copy((to), sizeof(to), (from))

/* ---- the profile, or the roofs of a prediction ------------------------------ */

/* The profile goes first: the document's own ceilings are added to it. */
int plot_load_profile(struct plot *p, const char *spec, struct error *err)
{
    if (hwprofile_open(&p->roofs, spec, err) != 0) {
        p->roofs = (struct hwprofile){ 0 };
        return -1;
    }
    p->have_profile = true;
    COPY(p->hw, p->roofs.id);
    COPY(p->machine, p->roofs.name);
    COPY(p->date, p->roofs.date);
    return 0;
}

/* A prediction names its machines; for an unknown name the highest roofs of its rows are used. */
int plot_prediction_roofs(struct plot *p, const struct plot_prediction *x, struct error *err)
{
    struct error ignored;
    struct hwprofile h;
    bool found = false;
    char hw[sizeof p->hw];
    COPY(hw, p->hw);
    if (p->have_profile)
        return 0;
    if (*hw && !hwprofile_is_path(hw) && strcmp(hw, "this") != 0) { /* an unreadable profile is an error */
        if (hwprofile_find(&h, hw, &found, err) != 0)
            return -1;
        if (found) {
            hwprofile_free(&h);
            return plot_load_profile(p, hw, err);
        }
    } else if (plot_load_profile(p, hw, &ignored) == 0) {
        return 0;
    }
    for (size_t i = 0; i < x->n_row; i++) {
        const struct plot_predicted *r = &x->row[i];
        if (strcmp(r->hw, hw) != 0)
            continue;
        struct ceiling memory = { .name = "memory", .value = r->bandwidth_bytes_s, .kind = "bandwidth", .level = "DRAM" };
        struct ceiling peak = { .value = r->peak_flop_s, .kind = "compute" };
        COPY(peak.dtype, r->math);
        COPY(peak.name, r->math);
        COPY(p->machine, hw);
        if (hwprofile_raise_ceiling(&p->roofs, &memory, err) != 0 || hwprofile_raise_ceiling(&p->roofs, &peak, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- the roofs of a chart --------------------------------------------------------------- */

static int add_roof(struct roofline_chart *c, const struct chart_roof *r, struct error *err)
{
    struct chart_roof *v = realloc(c->roof, (c->n_roof + 1) * sizeof *v);
    if (!v)
        return error_oom(err, (c->n_roof + 1) * sizeof *v, "roofs");
    c->roof = v;
    v[c->n_roof++] = *r;
    return 0;
}

/* "fp16" -> "FP16" */
static const char *upper(char *buf, size_t n, const char *s)
{
    size_t i = 0;
    for (; s[i] && i + 1 < n; i++)
        buf[i] = (char)toupper((unsigned char)s[i]);
    buf[i] = 0;
    return buf;
}

static bool integer_math(const char *dtype)
{
    return strncmp(dtype, "int", 3) == 0;
}

/* ---- measured ---------------------------------------------------------------------- */

/* Reads of memory of the own node in pages of the default kind, and compute: what ops are measured against. An imported
 * profile may have updates in place instead. */
static bool is_roof(const struct hwprofile *h, const struct ceiling *c)
{
    bool update = strcmp(c->op, "update") == 0 && !hwprofile_ceiling(h, "bandwidth", "read", "", c->level, 0, INT_MAX);
    return c->value > 0 && strncmp(c->node, "remote", 6) != 0 && !*c->pages && (!*c->op || strcmp(c->op, "read") == 0 || update);
}

/* The best of a level (bandwidth) or an arithmetic (compute) with at most n threads; 0: any
 * number. */
static const struct ceiling *best_ceiling(const struct hwprofile *h, const char *kind,
                                          const char *key, int n)
{
    const struct ceiling *best = NULL;
    for (size_t i = 0; i < h->n_ceiling; i++) {
        const struct ceiling *c = &h->ceiling[i];
        bool same = strcmp(c->kind, kind) == 0 &&
                    strcmp(strcmp(kind, "compute") == 0 ? c->dtype : c->level, key) == 0;
        if (same && is_roof(h, c) && (n <= 0 || c->n_threads <= n) &&
            (!best || c->value > best->value))
            best = c;
    }
    return best;
}

/* ---- which arithmetics ------------------------------------------------------------------ */

static bool is_product(const struct plot_item *it)
{
    static const char *const ops[] = { "matmul", "expert_matmul", "head_matmul", "kv_expand", "attention" };
    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        if (strcmp(it->op, ops[i]) == 0)
            return true;
    return false;
}

/* Operands as engines multiply them: a CPU widens F16 to FP32 and multiplies quantized
 * weights as INT8; a GPU widens those to FP16. Vector ops run in FP32. methods.md (26) */
static enum math item_math(const struct plot *p, const struct plot_item *it)
{
    bool cpu = p->roofs.kind == HW_CPU;
    if (!is_product(it) || strcmp(it->type, "F32") == 0)
        return MATH_FP32;
    if (strcmp(it->op, "attention") == 0)
        return cpu ? MATH_FP32 : MATH_FP16;
    if (strcmp(it->type, "BF16") == 0)
        return MATH_BF16;
    if (strcmp(it->type, "F16") == 0)
        return cpu ? MATH_FP32 : MATH_FP16;
    return cpu ? MATH_INT8 : MATH_FP16;
}

static bool has_peak(const struct plot *p, enum math m, int n_threads)
{
    return p->roofs.peak[m].value > 0 || best_ceiling(&p->roofs, "compute", math_name(m), n_threads);
}

/* Only peaks of operand types in use: from the document, else from the types of its products; all if that leaves none. */
static void used_maths(bool used[MATH_COUNT], const struct plot *p, const struct plot_options *o,
                       int n_threads)
{
    bool any = false;
    for (int m = 0; m < MATH_COUNT; m++) {
        used[m] = !o->all_roofs && p->math[m];
        any |= used[m];
    }
    for (size_t i = 0; i < p->n_item && !any && !o->all_roofs; i++)
        if (is_product(&p->item[i]) && p->item[i].flop > 0)
            used[item_math(p, &p->item[i])] = true;
    any = false;
    for (int m = 0; m < MATH_COUNT; m++)
        any |= used[m] && has_peak(p, (enum math)m, n_threads);
    for (int m = 0; m < MATH_COUNT && !any; m++)
        used[m] = true;
}

static int add_ceiling(struct roofline_chart *c, const struct ceiling *m, bool threads,
                       struct error *err)
{
    bool compute = strcmp(m->kind, "compute") == 0;
    char value[32], name[16], t[32] = "", what[24] = "";
    if (!compute)
        snprintf(what, sizeof what, " %s", *m->op ? m->op : "read");
    units_si(value, sizeof value, m->value,
             compute ? integer_math(m->dtype) ? "OP/s" : "FLOP/s" : "B/s");
    if (threads)
        snprintf(t, sizeof t, ", %d thread%s", m->n_threads, m->n_threads == 1 ? "" : "s");
    struct chart_roof r = { .bytes_s = compute ? NAN : m->value,
                            .flop_s = compute ? m->value : NAN };
    snprintf(r.label, sizeof r.label, "%.8s%.17s%.10s%.14s %.12s",
             compute ? upper(name, sizeof name, m->dtype) : m->level,
             compute && *m->isa ? " "
             : compute          ? ""
                                : what,
             compute ? m->isa : "", t, value);
    return add_roof(c, &r, err);
}

static const char *const levels[] = { "L1", "L2", "L3", "L4", "DRAM" };

static int add_measured(struct roofline_chart *c, const struct plot *p, const bool *used,
                        int n_threads, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
        const struct ceiling *m = best_ceiling(&p->roofs, "bandwidth", levels[i], n_threads);
        if (m && add_ceiling(c, m, false, err) != 0)
            return -1;
    }
    /* Peaks within 10 % of another one would coincide with it. */
    double shown[MATH_COUNT];
    size_t n_shown = 0;
    for (int i = MATH_FP32; i < MATH_COUNT; i++) {
        const struct ceiling *m =
            best_ceiling(&p->roofs, "compute", math_name((enum math)i), n_threads);
        bool near = false;
        for (size_t k = 0; m && k < n_shown; k++)
            near |= fabs(log(shown[k] / m->value)) < log(1.1);
        if (!m || near || !used[i])
            continue;
        shown[n_shown++] = m->value;
        if (add_ceiling(c, m, false, err) != 0)
            return -1;
    }
    return 0;
}

static int add_every_ceiling(struct roofline_chart *c, const struct plot *p, struct error *err)
{
    for (size_t i = 0; i < p->roofs.n_ceiling; i++) {
        const struct ceiling *m = &p->roofs.ceiling[i], *best = NULL;
        bool roof = strcmp(m->kind, "compute") == 0 || strcmp(m->kind, "bandwidth") == 0;
        if (!roof) /* latencies and kernels have charts of their own */
            continue;
        /* Probes of one roof, adjacent to several tests: the best. */
        for (size_t k = 0; k < p->roofs.n_ceiling; k++) {
            const struct ceiling *q = &p->roofs.ceiling[k];
            if (strcmp(q->kind, m->kind) == 0 && strcmp(q->dtype, m->dtype) == 0 && strcmp(q->op, m->op) == 0 &&
                strcmp(q->node, m->node) == 0 && strcmp(q->pages, m->pages) == 0 &&
                strcmp(q->level, m->level) == 0 && q->n_threads == m->n_threads &&
                (!best || q->value > best->value))
                best = q;
        }
        if (best == m && m->value > 0 && add_ceiling(c, m, true, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- datasheet ------------------------------------------------------------------------
 */

/* Peaks of one value share a line: "FP16, BF16 989 TFLOP/s". Rarely wanted ones (FP64,
 * TF32, 4 bits) only with all. */
static int add_spec_peaks(struct roofline_chart *c, const struct hwprofile *h, const bool *used,
                          bool all, struct error *err)
{
    static const enum math order[] = { MATH_FP32, MATH_FP16, MATH_BF16, MATH_FP8, MATH_INT8,
                                       MATH_FP64, MATH_TF32, MATH_FP4,  MATH_INT4, MATH_INT16 };
    bool done[MATH_COUNT] = { false };
    size_t n_usual = 0;
    for (size_t i = 0; i < 5; i++)
        n_usual += used[order[i]] && h->peak[order[i]].value > 0;
    size_t n = all || n_usual == 0 ? ARRAY_LEN(order) : 5;
    for (size_t i = 0; i < n; i++) {
        double v = h->peak[order[i]].value;
        char names[32] = "", one[16], value[32];
        bool ints = true;
        if (!(v > 0) || done[order[i]] || !used[order[i]])
            continue;
        for (size_t k = i; k < n; k++)
            if (used[order[k]] && fabs(h->peak[order[k]].value / v - 1) < 0.005) {
                size_t len = strlen(names);
                snprintf(names + len, sizeof names - len, "%s%s", len ? ", " : "",
                         upper(one, sizeof one, math_name(order[k])));
                ints &= integer_math(math_name(order[k]));
                done[order[k]] = true;
            }
        struct chart_roof r = { .bytes_s = NAN, .flop_s = v, .spec = true };
        units_si(value, sizeof value, v, ints ? "OP/s" : "FLOP/s");
        snprintf(r.label, sizeof r.label, "%s %s", names, value);
        if (add_roof(c, &r, err) != 0)
            return -1;
    }
    return 0;
}

static int add_spec(struct roofline_chart *c, const struct hwprofile *h, const bool *used,
                    bool memory, bool peaks, bool all, struct error *err)
{
    char value[32];
    if (memory && h->mem_bw.value > 0) {
        struct chart_roof r = { .bytes_s = h->mem_bw.value, .flop_s = NAN, .spec = true };
        units_si(value, sizeof value, h->mem_bw.value, "B/s");
        snprintf(r.label, sizeof r.label, "memory %s", value);
        if (add_roof(c, &r, err) != 0)
            return -1;
    }
    return peaks ? add_spec_peaks(c, h, used, all, err) : 0;
}

static int chosen_threads(const struct plot *p, const struct plot_options *o)
{
    return o->n_threads > 0 ? (int)o->n_threads : p->n_threads;
}

int plot_choose_roofs(struct roofline_chart *c, const struct plot *p, const struct plot_options *o,
                      struct error *err)
{
    bool used[MATH_COUNT];
    int n = chosen_threads(p, o);
    used_maths(used, p, o, n);
    int rc = o->all_roofs ? add_every_ceiling(c, p, err) : add_measured(c, p, used, n, err);
    bool memory = false, peaks = false;
    for (size_t i = 0; i < c->n_roof; i++)
        *(isnan(c->roof[i].bytes_s) ? &peaks : &memory) = true;
    /* Measured roofs first; the datasheet fills the gaps. */
    rc = rc ? rc
            : add_spec(c, &p->roofs, used, !memory || o->all_roofs, !peaks || o->all_roofs, o->all_roofs,
                       err);
    if (rc == 0 && c->n_roof == 0)
        rc = error_set(
            err, ERROR_USAGE,
            "%s has no roofs: name the machine with --hw NAME, FILE or this",
            o->doc);
    return rc;
}

/* ---- attainable performance of an op without a time -------------------------------------------------- */

static double spec_or_measured(const struct plot *p, const char *math)
{
    const struct ceiling *c = best_ceiling(&p->roofs, "compute", math, p->n_threads);
    int m = math_find(math);
    double spec = m >= 0 ? p->roofs.peak[m].value : NAN;
    return c ? c->value : spec > 0 ? spec : NAN;
}

/* The peak of the operand type, else of the nearest wider one, else any. */
static double item_peak(const struct plot *p, const struct plot_item *it)
{
    static const char *const wider[] = { "int8", "fp16", "bf16", "fp32" };
    const char *want = math_name(item_math(p, it));
    double v = spec_or_measured(p, want);
    bool from = false;
    for (size_t i = 0; i < ARRAY_LEN(wider) && isnan(v); i++) {
        from |= strcmp(wider[i], want) == 0;
        if (from)
            v = spec_or_measured(p, wider[i]);
    }
    for (int m = MATH_COUNT - 1; m >= 0 && isnan(v); m--)
        v = spec_or_measured(p, math_name((enum math)m));
    return v;
}

double plot_attainable(const struct plot *p, const struct plot_item *it)
{
    const struct ceiling *c = best_ceiling(&p->roofs, "bandwidth", "DRAM", p->n_threads);
    double bytes_s = c ? c->value : p->roofs.mem_bw.value;
    return attainable_flop_s(it->flop / it->bytes, item_peak(p, it), bytes_s);
}
