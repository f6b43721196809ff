/* What predict and sweep share of software: whose constants seconds are made with, what narrows them, which limits are asked about. */
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
    struct pricer *pricer;
    struct measurement *rate; /* that rows of servers are taken for */
    struct priced *row;
    const struct priced **kept;
    size_t n, n_rate, n_kept;
    char why[256]; /* a row is not kept */
};

static void anchors_free(struct anchors *a)
{
    for (size_t i = 0; i < a->n; i++)
        priced_free(&a->row[i]);
    free(a->row);
    free(a->rate);
    free(a->kept);
    pricer_free(a->pricer);
    measure_free(&a->l);
}

/* Of the rows that are left. (68) */
static int check_possible(const struct anchors *a, const char *file, struct error *err)
{
    char text[256];
    for (size_t i = 0; i < a->n_kept; i++) {
        const struct priced *p = a->kept[i];
        struct excess x;
        if (!priced_exceeds(p, &x))
            continue;
        return error_set(err, ERROR_INPUT, "--anchor %s: line %zu: expected at most %.4g tokens/s, found %.4g, which takes %s", file, p->m->line,
                         p->m->value * p->measured_s / x.least_s, p->m->value, excess_text(p, text, sizeof text));
    }
    return 0;
}

/* The same test on the same machine. */
static bool is_same_test(const struct priced *a, const struct priced *b)
{
    const struct measurement *x = a->m, *y = b->m;
    return a->machine == b->machine && a->stack == b->stack && x->phase == y->phase && x->n_devices == y->n_devices &&
           strcmp(x->model, y->model) == 0 && strcmp(a->type, b->type) == 0 && a->prompt == b->prompt && a->context == b->context &&
           a->batch == b->batch && x->n_threads == y->n_threads && x->n_ubatch == y->n_ubatch && x->flash == y->flash &&
           strcmp(x->date, y->date) == 0;
}

/* Repeated tests agree within a few percent; beyond this one of two is of something else. */
static const double DISAGREE = 1.25;

static void say_contradictions(const struct anchors *a, const char *file)
{
    for (size_t i = 0; i < a->n_kept; i++)
        for (size_t k = 0; k < i; k++) {
            const double x = a->kept[k]->m->value, y = a->kept[i]->m->value;
            if (!is_same_test(a->kept[k], a->kept[i]) || fmax(x, y) < DISAGREE * fmin(x, y))
                continue;
            notify_note("--anchor %s: lines %zu and %zu are of one test and differ %.2g times: what lies between them is taken", file,
                        a->kept[k]->m->line, a->kept[i]->m->line, fmax(x, y) / fmin(x, y));
            return;
        }
}

/* Rows that were taken for something else than they say: the first. */
static void say_taken(const struct anchors *a, const char *file)
{
    for (size_t i = 0; i < a->n_kept; i++)
        if (a->kept[i]->note[0]) {
            notify_note("--anchor %s: line %zu: %s", file, a->kept[i]->m->line, a->kept[i]->note);
            return;
        }
}

/* The profile of the machine that a row's own file names, where that is another than the row is taken for; "": it is not, or nobody has
 * one. */
static int other_machine(char *id, size_t n, struct pricer *by_name, const struct priced *p, struct error *err)
{
    const struct hwprofile *h = &p->machine->h;
    struct measurement m = *p->m;
    struct priced own = { .m = NULL };
    *id = 0;
    if (!*m.named || strcmp(h->cpu_model, m.named) == 0) /* nobody else's: the profile of this machine */
        return 0;
    m.hardware = m.named;
    const int rc = price_row(by_name, &m, &own, err);
    if (rc == 0 && own.machine && own.machine->loaded && !hwprofile_same_name(own.machine->h.id, h->id))
        snprintf(id, n, "%s", own.machine->h.id);
    priced_free(&own);
    return rc;
}

/* A file without profiles' names is of the one machine asked about, unless its rows name several: then of those that are its own. Where all name another,
 * which has a profile, that is said. */
static int say_other_machine(struct anchors *a, const char *file, struct error *err)
{
    char id[64] = "", first[64] = "";
    const struct priced *named = NULL;
    size_t kept = 0, other = 0;
    int rc = 0;
    struct pricer *by_name = pricer_new(NULL, NULL, err);
    const struct priced **own = calloc(a->n_kept + 1, sizeof *own);
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
        notify_note("--anchor %s: %zu rows are of other machines (%s) and left out, %zu are of %s", file, other, first, kept, own[0]->machine->h.id);
    else if (rc == 0 && other > 0)
        notify_note("--anchor %s: it says that it was measured on %s (%s), and is taken as measured on %s", file, named->m->named, first,
                    named->machine->h.id);
    if (rc == 0 && kept > 0) {
        memcpy(a->kept, own, kept * sizeof *own);
        a->n_kept = kept;
    }
    free(own);
    pricer_free(by_name);
    return rc;
}

/* Is a row of one of the machines asked about? */
static bool is_asked(const struct priced *p, const struct hwprofile *h, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(p->machine->h.id, h[i].id) == 0)
            return true;
    return false;
}

/* An anchor is believed to 2 %: beside rows of the machines asked about, those of others, which differ by more, would bend the software's
 * constants to their own. Where there are none, the others say something of software, and nothing of these machines. (62) */
static void keep_asked(struct anchors *a, const char *file, const struct hwprofile *h, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < a->n_kept; i++)
        if (is_asked(a->kept[i], h, n))
            a->kept[kept++] = a->kept[i];
    if (kept == 0 && n == 1)
        notify_note("--anchor %s: no row is of %s, but of %s: it says little of %s", file, h->id, a->kept[0]->machine->h.id, h->id);
    if (kept == 0)
        return;
    if (kept < a->n_kept)
        notify_note("--anchor %s: %zu rows are of other machines and left out, %zu are of %s", file, a->n_kept - kept, kept,
                    n == 1 ? h->id : "those asked about");
    a->n_kept = kept;
}

/* Machines that cannot be loaded are the command's to refuse, or nobody asks about them (--solve machine). */
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
        keep_asked(a, file, h, n);
    for (size_t i = 0; i < n; i++)
        hwprofile_free(&h[i]);
    free(h);
    return rc;
}

/* What a server's file does not say is as asked about: the type of its weights where it is of the same model, and who answered (--stack,
 * or what such a machine runs). Rows that say it stay as they are. */
static int complete_row(struct anchors *a, struct measurement *m, const struct software_options *o, const struct software_asked *asked,
                        struct error *err)
{
    struct priced p;
    if (a->l.file != FILE_VLLM && a->l.file != FILE_AIPERF)
        return 0;
    if (price_row(a->pricer, m, &p, err) != 0)
        return -1;
    if (!*m->quant && asked->type && asked->model && *p.preset && (!*m->label || strcasecmp(p.preset, asked->model) == 0))
        m->quant = asked->type;
    if (a->l.file == FILE_AIPERF && p.machine->loaded)
        m->engine = o->stack ? o->stack : software_default(&p.machine->h, WEIGHTS_PLAIN)->id;
    priced_free(&p);
    return 0;
}

/* A machine nobody described may be the one asked about: then a row says what it is. (56) */
static bool is_guessed(const struct software_asked *asked, const char *id)
{
    for (size_t i = 0; i < asked->hw->n; i++)
        if (strcmp(asked->hw->v[i], id) == 0)
            return true;
    return false;
}

/* A row is kept, or says why not. */
static int keep_row(struct anchors *a, const struct measurement *m, const struct software_asked *asked, struct error *err)
{
    struct priced *p = &a->row[a->n];
    if (price_row(a->pricer, m, p, err) != 0)
        return -1;
    a->n++;
    if (p->reason[0])
        snprintf(a->why, sizeof a->why, "%.250s", p->reason);
    else if (p->machine->ln_sd > 0 && !is_guessed(asked, p->machine->h.id))
        snprintf(a->why, sizeof a->why, "no profile of \"%.100s\": what it says of software depends on the machine", p->machine->hardware);
    else if (p->machine->h.kind != HW_CPU && priced_partly(p)) /* no measurement of this machine */
        snprintf(a->why, sizeof a->why, "a part of its layers ran elsewhere, the file says");
    else if (m->kind == MEASURE_RATE && m->metric == METRIC_TOK_S && p->measured_s > 0)
        a->kept[a->n_kept++] = p;
    return 0;
}

/* A server's row as a rate of a phase. (69) */
static int keep_as_rate(struct anchors *a, const struct software_asked *asked, struct error *err)
{
    const struct priced *p = &a->row[a->n - 1];
    if (p->reason[0] || (p->m->kind == MEASURE_RATE && p->m->phase != MEASURE_REQUEST))
        return 0;
    struct measurement *m = &a->rate[a->n_rate];
    const char *why = priced_as_rate(p, m);
    if (why) {
        snprintf(a->why, sizeof a->why, "%s", why);
        return 0;
    }
    a->n_rate++;
    return keep_row(a, m, asked, err);
}

/* What is learned from a server's rows is not what they say; whole requests say nothing of phases. */
static void say_rates(const struct anchors *a, const char *file)
{
    size_t n = 0, requests = 0;
    const struct priced *first = NULL;
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
    notify_note("--anchor %s: taken as %s of %g %s in %.4g ms by %s%s, believed to %.0f %%%s", file, prompt ? "a prompt" : "a decode step",
                prompt ? first->prompt : first->batch, prompt ? "tokens" : first->batch > 1 ? "sequences" : "sequence", 1e3 * first->measured_s,
                first->stack->id, devices, 100 * first->m->ln_sd, n > 1 ? "; other rows likewise" : "");
}

/* Of a machine that no profile describes a name is all there is: rows that spell it otherwise are of the one asked about. */
static void name_as_asked(struct anchors *a, const struct str_list *hw)
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

static int anchors_load(struct anchors *a, const struct software_options *o, const struct software_asked *asked, struct error *err)
{
    const struct str_list *hw = asked->hw;
    struct measured_options given = o->of_anchor;
    struct measure_context x;
    given.hw = hw->n == 1 ? hw->v[0] : NULL;
    given.model = asked->model ? asked->model : "";
    given.tp = asked->tp;
    snprintf(a->why, sizeof a->why, "it has no tokens/s of a prompt or of decoding, and no latencies of a server");
    if (measured_context(&x, &given, err) != 0)
        return -1;
    x.asked = true;
    if (measure_load(&a->l, o->anchor, &x, err) != 0 || !(a->pricer = pricer_new(NULL, x.hardware, err)))
        return -1;
    name_as_asked(a, hw);
    a->row = calloc(2 * a->l.n + 1, sizeof *a->row);
    a->rate = calloc(a->l.n + 1, sizeof *a->rate);
    a->kept = calloc(2 * a->l.n + 1, sizeof *a->kept);
    if (!a->row || !a->rate || !a->kept)
        return error_oom(err, a->l.n * sizeof *a->row, "anchors");
    for (size_t i = 0; i < a->l.n; i++)
        if (complete_row(a, &a->l.row[i], o, asked, err) != 0 || keep_row(a, &a->l.row[i], asked, err) != 0 || keep_as_rate(a, asked, err) != 0)
            return -1;
    if (a->n_kept == 0 && hw->n > 1 && !*a->l.row[0].hardware)
        return error_set(err, ERROR_USAGE, "--anchor %s: it does not name its machine: expected one --hw, found %zu", o->anchor, hw->n);
    if (a->n_kept == 0)
        return error_set(err, ERROR_INPUT, "--anchor %s: no row to learn from: %s", o->anchor, a->why);
    if (say_other_machine(a, o->anchor, err) != 0 || choose_rows(a, o->anchor, hw, err) != 0 || check_possible(a, o->anchor, err) != 0)
        return -1;
    say_contradictions(a, o->anchor);
    say_taken(a, o->anchor);
    say_rates(a, o->anchor);
    return 0;
}

int software_load(struct software **out, const struct software_options *o, const struct software_asked *asked, struct error *err)
{
    struct anchors a = { .n = 0 };
    const struct stack *stack = NULL;
    const bool none = o->stack && strcmp(o->stack, "none") == 0;
    *out = NULL;
    if ((none || asked->roof) && o->anchor)
        return error_set(err, ERROR_USAGE, "--anchor narrows the constants of software, which %s leaves out", asked->roof ? "--roof" : "--stack none");
    const struct measured_options *m = &o->of_anchor;
    if (!o->anchor && (m->input_len || m->output_len || m->batch))
        return error_set(err, ERROR_USAGE, "%s says what --anchor's file does not: expected --anchor FILE beside it",
                         m->input_len ? "--input-len" : m->output_len ? "--output-len" : "--batch-size");
    if (none)
        return 0;
    if (o->stack && find_stack(&stack, o->stack, err) != 0)
        return -1;
    if (stack && stack->family == STACK_SERVER && asked->materialized)
        return error_set(err, ERROR_USAGE, "--attention materialized: %s has no attention but FlashAttention's", stack->id);
    int rc = o->anchor ? anchors_load(&a, o, asked, err) : 0;
    if (rc == 0 && !(*out = software_new(stack, asked->materialized, a.kept, a.n_kept, err)))
        rc = -1;
    anchors_free(&a);
    return rc;
}

const char *software_note(char *buf, size_t size, const struct model *m, const char *stack, uint32_t n_batch)
{
    const struct stack *s = stack ? stack_named(stack) : NULL;
    const bool cannot = s && !software_loads(s, m), batch = n_batch > 1;
    snprintf(buf, size, "%s%s%s%s%s%s%s", batch ? "a full batch at every step: arrivals and queueing are not in it" : "", batch && cannot ? "; " : "",
             cannot ? s->id : "", cannot ? " loads no " : "", cannot ? m->type_name : "", cannot ? ": priced as if it did; " : "",
             cannot ? "--stack names another" : "");
    return buf;
}

const struct time_source *software_time(const struct software *s)
{
    return s ? software_source(s) : NULL;
}
