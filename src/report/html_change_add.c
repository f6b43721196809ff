/* The section of the changes worth most: their order, and how they are said. */
#include "report/html_change.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A smaller gain is not worth a change: it is within the spread of repetitions. */
static const double WORTH = 1.02;

enum { BEST = 3 };

/* ---- which are worth most -------------------------------------------------------------------------------------------- */

/* The whole interval is a gain. */
static bool is_certain(const struct change *c)
{
    return c->ratio.lo > 1;
}

/* Certain gains come first, by what is sure of them; then the others, by their ratio. */
static int better(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    const bool certain = is_certain(x);
    if (certain != is_certain(y))
        return certain ? -1 : 1;
    const double u = certain ? x->ratio.lo : isnan(x->ratio.value) ? -1 : x->ratio.value, v = certain ? y->ratio.lo : isnan(y->ratio.value) ? -1 : y->ratio.value;
    return u < v ? 1 : u > v ? -1 : strcmp(x->text, y->text);
}

/* The best of each kind come first, then all others. Returns their number, at most BEST. */
static size_t rank(struct scene *s)
{
    bool seen[CHANGE_KINDS] = { false };
    size_t n = 0;
    qsort(s->v, s->n, sizeof *s->v, better);
    for (size_t i = 0; i < s->n && n < BEST; i++) {
        const struct change c = s->v[i];
        if (!(c.ratio.value > WORTH) || seen[c.kind])
            continue;
        seen[c.kind] = true;
        memmove(&s->v[n + 1], &s->v[n], (i - n) * sizeof *s->v);
        s->v[n++] = c;
    }
    return n;
}

/* ---- the section ------------------------------------------------------------------------------------------------------- */

static void say_ratio(struct page *p, double v, const char *source)
{
    char value[32];
    snprintf(value, sizeof value, "%.2f", v);
    page_figure(p, value, source);
}

/* The test's rate with the change; NaN: of another model the ratio says nothing of it. */
static double expected_rate(const struct scene *s, const struct change *c)
{
    return *s->d->other && s->t->file == s->d->other_file ? NAN : c->ratio.value * s->t->tok_s;
}

static void add_item(struct page *p, const struct scene *s, const struct change *c)
{
    char value[48];
    const double rate = expected_rate(s, c);
    page_add(p, PAGE_ITEM, "");
    page_say(p, "%s: ", c->text);
    say_ratio(p, c->ratio.value, "ratio of two predictions of this model and machine, which differ in this alone (roofcast predict --what-if)");
    page_say(p, " times the tokens/s");
    if (!isnan(c->ratio.lo))
        page_say(p, c->kind == CHANGE_DRAFTS ? " (%.2f to %.2f)" : " (90 %% interval %.2f to %.2f)", c->ratio.lo, c->ratio.hi);
    if (rate > 0)
        page_say(p, ", ");
    if (rate > 0)
        page_figure(p, html_rate(value, sizeof value, rate), s->t->predicted ? "the predicted rate times that ratio" : "the measured rate times that ratio");
    page_say(p, ".");
    if (!is_certain(c))
        page_say(p, isnan(c->ratio.lo) ? " Not certain: its interval is unknown." : " Not certain: the interval includes a loss.");
    if (*c->note)
        page_say(p, " %c%s.", *c->note - 32 * (*c->note >= 'a'), c->note + 1);
}

static void add_all(struct page *p, const struct scene *s)
{
    page_add(p, PAGE_TABLE, "changes-all")->wide = true;
    page_say(p, "All changes that were tried, for %s of %s, %s, on %s", s->t->test, s->m->name, s->m->type_name, *s->h->name ? s->h->name : s->h->id);
    struct page_table *t = page_cells(p, 7);
    page_column(t, 0, "change", COL_TEXT, NULL, "one thing changed, everything else as in the test");
    page_column(t, 1, "ratio", COL_FLOAT, NULL, "predicted tokens/s over those predicted without the change; of all sequences together");
    page_column(t, 2, "low", COL_FLOAT, NULL, "90 % interval of the ratio; of speculation: of the assumed acceptance");
    page_column(t, 3, "high", COL_FLOAT, NULL, "90 % interval of the ratio; of speculation: of the assumed acceptance");
    page_column(t, 4, "tokens/s", COL_FLOAT, "tokens/s", "the test's rate times the ratio");
    page_column(t, 5, "note", COL_TEXT, NULL, "what it assumes, or what it costs");
    page_column(t, 6, "not predicted", COL_TEXT, NULL, "why there is no prediction");
    for (size_t i = 0; i < s->n; i++) {
        const struct change *c = &s->v[i];
        struct cell *row = table_add(&t->rows);
        row[0] = cell_text(page_keep(t, c->text));
        row[1] = cell_real(c->ratio.value);
        row[2] = cell_real(c->ratio.lo);
        row[3] = cell_real(c->ratio.hi);
        row[4] = cell_real(expected_rate(s, c));
        row[5] = cell_text(isnan(c->ratio.value) ? NULL : page_keep(t, c->note));
        row[6] = cell_text(isnan(c->ratio.value) ? page_keep(t, c->reason) : NULL);
    }
}

/* The first n changes that give at least twice the rate. */
static void say_doubling(struct page *p, const struct scene *s, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        if (s->v[i].ratio.value >= 2)
            page_say(p, "%s%s%s", found++ ? "; " : "", s->v[i].text, s->v[i].ratio.lo >= 2 ? "" : " (not certain)");
    page_say(p, found ? ". Of the machine alone, " : "none of the changes above. Of the machine alone, ");
}

/* What doubles the rate: changes, or the machine itself. */
static void add_double(struct page *p, const struct scene *s, size_t n)
{
    struct error ignored;
    const struct ratio memory = html_ratio_of(s, "bandwidth=x2", &ignored), compute = html_ratio_of(s, "compute=x2", &ignored);
    if (isnan(memory.value) || isnan(compute.value))
        return;
    page_add(p, PAGE_TEXT, "double");
    page_say(p, "What would double the speed: ");
    say_doubling(p, s, n);
    page_say(p, "twice the memory bandwidth gives ");
    say_ratio(p, memory.value, "predicted with --what-if bandwidth=x2");
    page_say(p, " times the tokens/s, twice the peak FLOP/s ");
    say_ratio(p, compute.value, "predicted with --what-if compute=x2");
    page_say(p, memory.value > 1.5 ? " times: %s is memory-bound." : compute.value > 1.5 ? " times: %s is compute-bound."
             : " times: neither alone limits %s.", s->t->decode ? "decode" : "prefill");
}

static void add_results(struct page *p, struct scene *s)
{
    const size_t n = rank(s);
    page_add(p, PAGE_TEXT, "");
    page_say(p, "For %s (%s) of %s, %s, on %s", s->t->decode ? "decode" : "prefill", s->t->test, s->m->name, s->m->type_name, *s->h->name ? s->h->name : s->h->id);
    if (s->r.stack)
        page_say(p, ", software %s", s->r.stack);
    if (*s->d->other) {
        char of[256];
        page_say(p, "; predictions %s", html_other_model(of, sizeof of, s->d));
    }
    page_say(p, n ? ":" : ": nothing that was tried gives more than 2 %%.");
    for (size_t i = 0; i < n; i++)
        add_item(p, s, &s->v[i]);
    add_double(p, s, n);
    if (s->n)
        add_all(p, s);
}

/* The sentence of a summary after "First to change: "; "": it has none. */
static const char *first_change(const json_t *doc)
{
    static const char mark[] = "First to change: ";
    const char *summary = json_string_value(json_object_get(doc, "summary")), *at = summary ? strstr(summary, mark) : NULL;
    return at ? at + strlen(mark) : "";
}

/* A word of a command, as it is where a shell takes it as one; else what stands for it. */
static const char *word(const char *s, const char *otherwise)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:=_-";
    return s && *s && *s != '-' && strlen(s) < 160 && s[strspn(s, plain)] == 0 ? s : otherwise;
}

/* The first run of a server: what to change, and the commands that try it; false: there is none. */
static bool add_served(struct page *p, const struct html_data *d)
{
    const json_t *doc = NULL;
    for (size_t i = 0; i < d->r->n && !doc; i++)
        doc = d->r->file[i].kind == HTML_SERVED ? d->r->file[i].doc : NULL;
    if (!doc)
        return false;
    const char *model = json_string_value(json_object_get(doc, "model")), *hw = json_string_value(json_object_get(doc, "hw")), *first = first_change(doc);
    const char *workload = json_string_value(json_object_get(doc, "workload"));
    if (*first) {
        page_add(p, PAGE_ITEM, "");
        page_say(p, "%c%s", toupper((unsigned char)*first), first + 1);
    }
    page_add(p, PAGE_ITEM, "");
    page_say(p, "For the highest rate within limits of latency, run `roofcast capacity %s --hw %s --workload %s --slo p99:ttft=1s,itl=50ms`, with your own limits.",
             word(model, "MODEL"), word(hw, "NAME"), word(workload, "WORKLOAD"));
    page_add(p, PAGE_ITEM, "");
    page_say(p, "To compare schedulers and settings on the same requests, add --compare-policies to `roofcast simulate`.");
    return true;
}

int html_add_changes(struct page *p, const struct html_data *d, struct error *err)
{
    struct error why = { 0 };
    const struct html_test *t = d->main;
    struct scene *s = calloc(1, sizeof *s);
    if (!s)
        return error_oom(err, sizeof *s, "a scenario");
    s->d = d;
    s->t = t;
    s->h = &d->h;
    s->m = &d->m;
    page_add(p, PAGE_SECTION, "changes");
    page_say(p, "Changes worth most");
    if (t && html_predict_scene(s, &why) == 0) {
        html_try_changes(s);
        add_results(p, s);
    } else if (t || !add_served(p, d)) {
        page_add(p, PAGE_TEXT, "");
        page_say(p, "Unavailable: %s.", t ? why.msg : "no test of decode or prefill is in these files");
    }
    html_scene_free(s);
    return interrupt_check(err);
}
