/* The section of the changes worth most: their order, and how they are said. */
#include "report/html_change.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A smaller gain is not worth a change: it is within the spread of repetitions. */
static const double WORTH = 1.02;

enum { BEST = 3 };

/* ---- which are worth most -------------------------------------------------------------------------------------------- */

static int better(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    const double u = isnan(x->ratio.value) ? -1 : x->ratio.value, v = isnan(y->ratio.value) ? -1 : y->ratio.value;
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

static void add_item(struct page *p, const struct scene *s, const struct change *c)
{
    char value[48];
    page_add(p, PAGE_ITEM, "");
    page_say(p, "%s: ", c->text);
    say_ratio(p, c->ratio.value, "ratio of two predictions of this model and machine, which differ in this alone (roofcast predict --what-if)");
    page_say(p, " times the tokens/s");
    if (!isnan(c->ratio.lo))
        page_say(p, " (%.2f to %.2f)", c->ratio.lo, c->ratio.hi);
    page_say(p, ", ");
    page_figure(p, html_rate(value, sizeof value, c->ratio.value * s->t->tok_s), s->t->predicted ? "the predicted rate times that ratio" : "the measured rate times that ratio");
    page_say(p, ".");
    if (*c->note)
        page_say(p, " %c%s.", *c->note - 32 * (*c->note >= 'a'), c->note + 1);
}

static void add_all(struct page *p, const struct scene *s)
{
    page_add(p, PAGE_TABLE, "changes-all")->wide = true;
    page_say(p, "All changes that were tried, for %s of %s, %s, on %s", s->t->test, s->m->name, s->m->type_name, s->h->id);
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
        row[4] = cell_real(c->ratio.value * s->t->tok_s);
        row[5] = cell_text(isnan(c->ratio.value) ? NULL : page_keep(t, c->note));
        row[6] = cell_text(isnan(c->ratio.value) ? page_keep(t, c->reason) : NULL);
    }
}

/* What the machine itself would have to give. */
static void add_double(struct page *p, const struct scene *s)
{
    struct error ignored;
    const struct ratio memory = html_ratio_of(s, "bandwidth=x2", &ignored), compute = html_ratio_of(s, "compute=x2", &ignored);
    if (isnan(memory.value) || isnan(compute.value))
        return;
    page_add(p, PAGE_TEXT, "double");
    page_say(p, "What would double the speed: twice the memory bandwidth gives ");
    say_ratio(p, memory.value, "predicted with --what-if bandwidth=x2");
    page_say(p, " times the tokens/s, twice the peak FLOP/s ");
    say_ratio(p, compute.value, "predicted with --what-if compute=x2");
    page_say(p, memory.value > 1.5 ? " times: %s is memory-bound." : compute.value > 1.5 ? " times: %s is compute-bound."
             : " times: most of the rest of %s is time that neither shortens, launches and barriers.", s->t->decode ? "decode" : "prefill");
}

static void add_results(struct page *p, struct scene *s)
{
    const size_t n = rank(s);
    page_add(p, PAGE_TEXT, "");
    page_say(p, "For %s of %s, %s, on %s", s->t->test, s->m->name, s->m->type_name, *s->h->name ? s->h->name : s->h->id);
    if (s->r.stack)
        page_say(p, ", software %s", s->r.stack);
    page_say(p, n ? ":" : ": nothing that was tried gives more than 2 %%.");
    for (size_t i = 0; i < n; i++)
        add_item(p, s, &s->v[i]);
    add_double(p, s);
    if (s->n)
        add_all(p, s);
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
    } else {
        page_add(p, PAGE_TEXT, "");
        page_say(p, "Unavailable: %s.", t ? why.msg : "no test of decode or prefill is in these files; of a simulation roofcast simulate --compare-policies and "
                 "roofcast capacity try changes");
    }
    html_scene_free(s);
    return interrupt_check(err);
}
