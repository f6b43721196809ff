/* Software of predict and sweep: constants, anchors, limits. */
#include "learn/anchors.h"
#include "base/notify.h"
#include "learn/software.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int find_stack(const struct stack **s, const char *name, struct error *err)
{
    const char *nearest = "";
    unsigned best = ~0U;
    *s = stack_named(name);
    const struct stack *k;
    for (size_t i = 0; !*s && (k = stack_at(i)) != NULL; i++) {
        const unsigned d = edit_distance(name, k->id);
        if (d < best) {
            best = d;
            nearest = k->id;
        }
    }
    return *s ? 0
              : error_set(err, ERROR_USAGE, "--stack: no stack \"%.64s\"; the nearest name is \"%s\" (`roofcast list stacks`; none: no constants)",
                          name, nearest);
}

/* ---- anchors ------------------------------------------------------------------------------------ */

struct anchors {
    struct measurements l;
    struct workload_builder *builder;
    struct measurement *rate; /* of server rows, as rates */
    struct workload *row;
    const struct workload **kept;
    size_t n, n_rate, n_kept;
    char why[256]; /* a row is not used */
};

static void anchors_free(struct anchors *a)
{
    for (size_t i = 0; i < a->n; i++)
        workload_free(&a->row[i]);
    free(a->row);
    free(a->rate);
    free(a->kept);
    workload_builder_free(a->builder);
    measure_free(&a->l);
}

/* Remaining rows are below their roof. (68) */
static int check_possible(const struct anchors *a, const char *file, struct error *err)
{
    char text[256];
    for (size_t i = 0; i < a->n_kept; i++) {
        const struct workload *p = a->kept[i];
        struct roof_violation x;
        if (!workload_exceeds_roof(p, &x))
            continue;
        return error_set(err, ERROR_INPUT, "--anchor %s: line %zu: expected at most %.4g tokens/s, found %.4g, which takes %s", file, p->m->line,
                         p->m->value * p->measured_s / x.least_s, p->m->value, roof_violation_text(p, text, sizeof text));
    }
    return 0;
}

/* The same test on the same machine. */
static bool is_same_test(const struct workload *a, const struct workload *b)
{
    const struct measurement *x = a->m, *y = b->m;
    return a->machine == b->machine && a->stack == b->stack && x->phase == y->phase && x->n_devices == y->n_devices &&
           strcmp(x->model, y->model) == 0 && strcmp(a->type, b->type) == 0 && a->prompt == b->prompt && a->context == b->context &&
           a->batch == b->batch && x->n_threads == y->n_threads && x->n_ubatch == y->n_ubatch && x->flash == y->flash &&
           strcmp(x->date, y->date) == 0;
}

/* Repeated tests agree within a few percent; beyond this factor one of the two is of another configuration. */
static const double DISAGREE = 1.25;

static void note_contradictions(const struct anchors *a, const char *file)
{
    for (size_t i = 0; i < a->n_kept; i++)
        for (size_t k = 0; k < i; k++) {
            const double x = a->kept[k]->m->value, y = a->kept[i]->m->value;
            if (!is_same_test(a->kept[k], a->kept[i]) || fmax(x, y) < DISAGREE * fmin(x, y))
                continue;
            notify_note("--anchor %s: lines %zu and %zu are of one test and differ by a factor of %.2g: their mean is used", file,
                        a->kept[k]->m->line, a->kept[i]->m->line, fmax(x, y) / fmin(x, y));
            return;
        }
}

/* The first row that is used with a substitution. */
static void note_substitutions(const struct anchors *a, const char *file)
{
    for (size_t i = 0; i < a->n_kept; i++)
        if (a->kept[i]->note[0]) {
            notify_note("--anchor %s: line %zu: %s", file, a->kept[i]->m->line, a->kept[i]->note);
            return;
        }
}

/* The profile of the machine named in a row's file, if it differs from the row's machine; "": the same, or no such profile. */
static int other_machine(char *id, size_t n, struct workload_builder *by_name, const struct workload *p, struct error *err)
{
    const struct hwprofile *h = &p->machine->h;
    struct measurement m = *p->m;
    struct workload own = { .m = NULL };
    *id = 0;
    if (!*m.named || strcmp(h->cpu_model, m.named) == 0) /* this machine's profile */
        return 0;
    m.hardware = m.named;
    const int rc = workload_init(by_name, &m, &own, err);
    if (rc == 0 && own.machine && own.machine->loaded && !hwprofile_same_name(own.machine->h.id, h->id))
        snprintf(id, n, "%s", own.machine->h.id);
    workload_free(&own);
    return rc;
}

/* A file without profile names applies to the one machine of the query, unless its rows name several: then its own rows only. A note if
 * all rows name another machine that has a profile. */
static int check_machine_name(struct anchors *a, const char *file, struct error *err)
{
    char id[64] = "", first[64] = "";
    const struct workload *named = NULL;
    size_t kept = 0, other = 0;
    int rc = 0;
    struct workload_builder *by_name = workload_builder_new(NULL, NULL, err);
    const struct workload **own = calloc(a->n_kept + 1, sizeof *own);
    if (!own)
        error_oom(err, a->n_kept * sizeof *own, "anchors");
    for (size_t i = 0; by_name && own && i < a->n_kept && rc == 0; i++) {
        const struct measurement *m = a->kept[i]->m;
        if (i == 0 || strcmp(m->named, a->kept[i - 1]->m->named) != 0)
            rc = other_machine(id, sizeof id, by_name, a->kept[i], err);
        if (*id && other++ == 0) {
            named = a->kept[i];
            snprintf(first, sizeof first, "%s", id);
        }
        if (!*id)
            own[kept++] = a->kept[i];
    }
    rc = by_name && own ? rc : -1;
    if (rc == 0 && other > 0 && kept > 0)
        notify_note("--anchor %s: %zu rows of other machines (%s) are ignored, %zu are of %s", file, other, first, kept, own[0]->machine->h.id);
    else if (rc == 0 && other > 0)
        notify_note("--anchor %s: measured on %s (%s) according to the file, used as measured on %s", file, named->m->named, first,
                    named->machine->h.id);
    if (rc == 0 && kept > 0) {
        memcpy(a->kept, own, kept * sizeof *own);
        a->n_kept = kept;
    }
    free(own);
    workload_builder_free(by_name);
    return rc;
}

/* The row is of one of the query's machines. */
static bool is_query_machine(const struct workload *p, const struct hwprofile *h, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(p->machine->h.id, h[i].id) == 0)
            return true;
    return false;
}

/* An anchor has a sigma of 2 %: rows of other machines, which differ by more, would bias the software's constants. They are used only if
 * no row is of the query's machines: then they inform about the software only. (62) */
static void keep_query_rows(struct anchors *a, const char *file, const struct hwprofile *h, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < a->n_kept; i++)
        if (is_query_machine(a->kept[i], h, n))
            a->kept[kept++] = a->kept[i];
    if (kept == 0 && n == 1)
        notify_note("--anchor %s: no row is of %s, but of %s: little information about %s", file, h->id, a->kept[0]->machine->h.id, h->id);
    if (kept == 0)
        return;
    if (kept < a->n_kept)
        notify_note("--anchor %s: %zu rows of other machines are ignored, %zu are of %s", file, a->n_kept - kept, kept,
                    n == 1 ? h->id : "the machines given");
    a->n_kept = kept;
}

/* Machines that cannot be loaded are reported by the command, or unused (--solve machine). */
static int choose_rows(struct anchors *a, const char *file, const struct str_list *hw, struct error *err)
{
    struct hwprofile *h = calloc(hw->n + 1, sizeof *h);
    struct error unused = { 0 };
    char note[256];
    size_t n = 0;
    if (!h)
        return error_oom(err, hw->n * sizeof *h, "profiles");
    int rc = 0;
    for (size_t i = 0; i < hw->n && rc == 0; i++) {
        bool found = hwprofile_open(&h[n], hw->v[i], &unused) == 0;
        if (!found && !hwprofile_is_path(hw->v[i]))
            rc = machine_guess(&h[n], hw->v[i], &found, note, sizeof note, err);
        n += found;
    }
    if (rc == 0 && n > 0)
        keep_query_rows(a, file, h, n);
    for (size_t i = 0; i < n; i++)
        hwprofile_free(&h[i]);
    free(h);
    return rc;
}

/* Defaults of a server's file from the query: weight type where the model is the same, and software (--stack, or the machine's default).
 * Stated fields are unchanged. */
static int complete_row(struct anchors *a, struct measurement *m, const struct software_options *o, const struct software_query *query,
                        struct error *err)
{
    struct workload p;
    if (a->l.file != FILE_VLLM && a->l.file != FILE_AIPERF)
        return 0;
    if (workload_init(a->builder, m, &p, err) != 0)
        return -1;
    if (!*m->quant && query->type && query->model && *p.preset && (!*m->label || strcasecmp(p.preset, query->model) == 0))
        m->quant = query->type;
    if (a->l.file == FILE_AIPERF && p.machine->loaded)
        m->engine = o->stack ? o->stack : o->server ? o->server : software_default(&p.machine->h, WEIGHTS_PLAIN)->id;
    workload_free(&p);
    return 0;
}

/* A machine without a profile that is the query's: its anchors correct the guess. (56) */
static bool is_guessed(const struct software_query *query, const char *id)
{
    for (size_t i = 0; i < query->hw->n; i++)
        if (strcmp(query->hw->v[i], id) == 0)
            return true;
    return false;
}

/* Adds a row, or sets a->why. */
static int keep_row(struct anchors *a, const struct measurement *m, const struct software_query *query, struct error *err)
{
    struct workload *p = &a->row[a->n];
    if (workload_init(a->builder, m, p, err) != 0)
        return -1;
    a->n++;
    if (p->reason[0])
        snprintf(a->why, sizeof a->why, "%.250s", p->reason);
    else if (p->machine->ln_sd > 0 && !is_guessed(query, p->machine->h.id))
        snprintf(a->why, sizeof a->why, "no profile of \"%.100s\": its information about software depends on the machine", p->machine->hardware);
    else if (p->machine->h.kind != HW_CPU && workload_is_partial(p)) /* not a measurement of this machine */
        snprintf(a->why, sizeof a->why, "part of its layers ran on another device");
    else if (m->kind == MEASURE_RATE && m->metric == METRIC_TOK_S && p->measured_s > 0)
        a->kept[a->n_kept++] = p;
    return 0;
}

/* A server's row as a rate of a phase. (69) */
static int keep_as_rate(struct anchors *a, const struct software_query *query, struct error *err)
{
    const struct workload *p = &a->row[a->n - 1];
    if (p->reason[0] || (p->m->kind == MEASURE_RATE && p->m->phase != MEASURE_REQUEST))
        return 0;
    struct measurement *m = &a->rate[a->n_rate];
    const char *why = workload_as_rate(p, m);
    if (why) {
        snprintf(a->why, sizeof a->why, "%s", why);
        return 0;
    }
    a->n_rate++;
    return keep_row(a, m, query, err);
}

/* Notes of server rows, which are converted to rates; whole requests inform about no phase. */
static void note_rates(const struct anchors *a, const char *file)
{
    size_t n = 0, requests = 0;
    const struct workload *first = NULL;
    for (size_t i = 0; i < a->n_kept; i++) {
        const bool rate = a->kept[i]->m->ln_sd > 0;
        first = rate && !first ? a->kept[i] : first;
        n += rate;
        requests += a->kept[i]->m->phase == MEASURE_REQUEST;
    }
    if (requests == a->n_kept)
        notify_note("--anchor %s: narrows --request alone: %s", file, a->why);
    if (!first)
        return;
    const bool prompt = first->m->phase == MEASURE_PREFILL;
    if (*first->m->assumed)
        notify_note("--anchor %s: %s", file, first->m->assumed);
    char devices[32] = "";
    if (first->m->n_devices > 1)
        snprintf(devices, sizeof devices, " on %d devices", first->m->n_devices);
    notify_note("--anchor %s: taken as %s of %g %s in %.4g ms by %s%s, uncertainty %.0f %%%s", file, prompt ? "a prompt" : "a decode step",
                prompt ? first->prompt : first->batch, prompt ? "tokens" : first->batch > 1 ? "sequences" : "sequence", 1e3 * first->measured_s,
                first->stack->id, devices, 100 * first->m->ln_sd, n > 1 ? "; other rows likewise" : "");
}

/* Machines without a profile are identified by name: other spellings of the query's machine are unified. */
static void rename_as_query(struct anchors *a, const struct str_list *hw)
{
    for (size_t i = 0; i < hw->n; i++) {
        struct hwprofile h;
        struct error unused = { 0 };
        if (hwprofile_is_path(hw->v[i]))
            continue;
        if (hwprofile_open(&h, hw->v[i], &unused) == 0) {
            hwprofile_free(&h);
            continue;
        }
        for (size_t k = 0; k < a->l.n; k++)
            if (hwprofile_same_name(a->l.row[k].hardware, hw->v[i]))
                a->l.row[k].hardware = hw->v[i];
    }
}

static int anchors_load(struct anchors *a, const struct software_options *o, const struct software_query *query, struct error *err)
{
    const struct str_list *hw = query->hw;
    struct measured_options given = o->of_anchor;
    struct measure_context x;
    given.hw = hw->n == 1 ? hw->v[0] : NULL;
    given.model = query->model ? query->model : "";
    given.tp = query->tp;
    snprintf(a->why, sizeof a->why, "it has no tokens/s of a prompt or of decoding, and no latencies of a server");
    if (measured_context(&x, &given, err) != 0)
        return -1;
    x.model_is_query = true;
    if (measure_load(&a->l, o->anchor, &x, err) != 0 || !(a->builder = workload_builder_new(NULL, x.hardware, err)))
        return -1;
    rename_as_query(a, hw);
    a->row = calloc(2 * a->l.n + 1, sizeof *a->row);
    a->rate = calloc(a->l.n + 1, sizeof *a->rate);
    a->kept = calloc(2 * a->l.n + 1, sizeof *a->kept);
    if (!a->row || !a->rate || !a->kept)
        return error_oom(err, a->l.n * sizeof *a->row, "anchors");
    for (size_t i = 0; i < a->l.n; i++)
        if (complete_row(a, &a->l.row[i], o, query, err) != 0 || keep_row(a, &a->l.row[i], query, err) != 0 || keep_as_rate(a, query, err) != 0)
            return -1;
    if (a->n_kept == 0 && hw->n > 1 && !*a->l.row[0].hardware)
        return error_set(err, ERROR_USAGE, "--anchor %s: it does not name its machine: expected one --hw, found %zu", o->anchor, hw->n);
    if (a->n_kept == 0)
        return error_set(err, ERROR_INPUT, "--anchor %s: no usable row: %s", o->anchor, a->why);
    if (check_machine_name(a, o->anchor, err) != 0 || choose_rows(a, o->anchor, hw, err) != 0 || check_possible(a, o->anchor, err) != 0)
        return -1;
    note_contradictions(a, o->anchor);
    note_substitutions(a, o->anchor);
    note_rates(a, o->anchor);
    return 0;
}

int software_load(struct software **out, const struct software_options *o, const struct software_query *query, struct error *err)
{
    struct anchors a = { .n = 0 };
    const struct stack *stack = NULL;
    const bool none = o->stack && strcmp(o->stack, "none") == 0;
    *out = NULL;
    if ((none || query->roof) && o->anchor)
        return error_set(err, ERROR_USAGE, "--anchor narrows the constants of software, which %s does not use", query->roof ? "--roof" : "--stack none");
    const struct measured_options *m = &o->of_anchor;
    if (!o->anchor && (m->input_len || m->output_len || m->batch))
        return error_set(err, ERROR_USAGE, "%s needs --anchor FILE",
                         m->input_len ? "--input-len" : m->output_len ? "--output-len" : "--batch-size");
    if (none)
        return 0;
    if (o->stack && find_stack(&stack, o->stack, err) != 0)
        return -1;
    const struct stack *server = !stack && o->server ? stack_named(o->server) : NULL, *either = stack ? stack : server;
    if (either && either->family == STACK_SERVER && query->materialized)
        return error_set(err, ERROR_USAGE, "--attention materialized: %s has no attention but FlashAttention's", either->id);
    int rc = o->anchor ? anchors_load(&a, o, query, err) : 0;
    if (rc == 0 && !(*out = software_new(stack, query->materialized, a.kept, a.n_kept, err)))
        rc = -1;
    if (rc == 0)
        software_set_server(*out, server);
    anchors_free(&a);
    return rc;
}

const char *software_note(char *buf, size_t size, const struct model *m, const char *stack, uint32_t n_batch)
{
    const struct stack *s = stack ? stack_named(stack) : NULL;
    const bool cannot = s && !software_loads(s, m), batch = n_batch > 1;
    snprintf(buf, size, "%s%s%s%s%s%s%s", batch ? "a full batch at every step, without arrivals and queueing" : "", batch && cannot ? "; " : "",
             cannot ? s->id : "", cannot ? " loads no " : "", cannot ? m->type_name : "", cannot ? ": estimated as if it did;  " : "",
             cannot ? "--stack names another" : "");
    return buf;
}

const struct time_source *software_time(const struct software *s)
{
    return s ? software_source(s) : NULL;
}
