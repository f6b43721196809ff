/* The verdict of a page: what each file's decode and prefill reach, in plain words. */
#include "report/html_internal.h"
#include "model/op.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *phase_text(const struct html_test *t)
{
    return t->decode ? "Decode" : "Prefill";
}

static void say_rate(struct page *p, const struct html_data *d, const struct html_test *t)
{
    char value[48], source[512], what[96];
    snprintf(what, sizeof what, "tokens of all %g sequences over the seconds", t->n_batch);
    page_figure(p, html_rate(value, sizeof value, t->tok_s), html_source_of(source, sizeof source, d, t, t->n_batch > 1 ? what : "tokens over seconds"));
}

/* "29.5 GB/s, 93 % of the 31.7 GB/s that this machine's memory gives" */
static void say_share(struct page *p, const struct html_data *d, const struct html_test *t, bool memory)
{
    char value[48], source[512];
    const double rate = memory ? t->bytes_s : t->flop_s, roof = memory ? t->roof_bytes_s : t->roof_flop_s;
    const char *unit = memory ? "B/s" : "FLOP/s";
    page_figure(p, units_si(value, sizeof value, rate, unit),
                html_source_of(source, sizeof source, d, t, memory ? t->bytes_source : "FLOP of the op list over seconds"));
    page_say(p, ", ");
    page_figure(p, html_percent(value, sizeof value, memory ? t->mbu : t->mfu), memory ? "MBU: the bytes a second over the memory bandwidth" : "MFU: FLOP/s over the peak");
    page_say(p, " of the ");
    snprintf(source, sizeof source, "roof: %.220s", *t->roof_source ? t->roof_source : "of the file");
    page_figure(p, units_si(value, sizeof value, roof, unit), source);
    page_say(p, memory ? " that this machine's memory gives" : " that its arithmetic gives");
}

static void say_measured(struct page *p, const struct html_data *d, const struct html_test *t)
{
    const bool memory = strcmp(t->bound, "memory") == 0;
    if (isnan(memory ? t->mbu : t->mfu) || !*t->bound) {
        page_say(p, "%s runs at ", phase_text(t));
        say_rate(p, d, t);
        page_say(p, "; how near that is to its roof is unknown%s%s.", *t->reason ? ": " : "", t->reason);
        return;
    }
    page_say(p, memory ? "%s reads " : "%s computes ", phase_text(t));
    say_share(p, d, t, memory);
    page_say(p, ": %s-bound, ", t->bound);
    say_rate(p, d, t);
    page_say(p, ".");
    if (memory && t->mbu > 1.02)
        page_say(p, " More than memory gives: caches served part of these bytes.");
}

static void say_interval(struct page *p, const struct html_test *t)
{
    char lo[48], hi[48];
    if (isnan(t->tok_s_lo) || isnan(t->tok_s_hi))
        return;
    snprintf(lo, sizeof lo, t->tok_s_lo >= 99.95 ? "%.0f" : "%.1f", t->tok_s_lo);
    page_say(p, " (90 %% interval %s to %s)", lo, html_rate(hi, sizeof hi, t->tok_s_hi));
}

static void say_predicted(struct page *p, const struct html_data *d, const struct html_test *t)
{
    char value[48];
    const bool memory = strcmp(t->bound, "memory") == 0;
    const double share = memory ? t->memory_share : t->compute_share;
    page_say(p, "%s of %s, %s, on %s is predicted at ", phase_text(t), t->model, t->type, t->hw);
    say_rate(p, d, t);
    say_interval(p, t);
    if (*t->bound)
        page_say(p, ": %s-bound", t->bound);
    if (*t->bound && share > 0 && (memory || strcmp(t->bound, "compute") == 0)) {
        page_say(p, ", ");
        page_figure(p, html_percent(value, sizeof value, fmin(share, 1)), memory ? "memory time over the seconds of a step" : "compute time over the seconds of the prompt");
        page_say(p, memory ? " of its time memory traffic" : " of its time arithmetic");
    }
    page_say(p, ".");
}

static void say_test(struct page *p, const struct html_data *d, const struct html_test *t)
{
    if (t->predicted)
        say_predicted(p, d, t);
    else
        say_measured(p, d, t);
}

/* ---- where time is lost ------------------------------------------------------------------------------------------- */

struct lost {
    const char *role;
    double seconds, lost_s; /* of all its ops; beyond the time at their roofs */
};

/* The role with most time beyond its roofs, in that test; .role NULL: ops were not timed. */
static struct lost most_lost(const struct run *run, const char *test, double *all_s)
{
    struct lost sum[ROLE_COUNT] = { { .role = NULL } }, most = { .role = NULL };
    *all_s = 0;
    for (size_t i = 0; i < run->n_op; i++) {
        const struct run_op *o = &run->op[i];
        int role = 0;
        while (role < ROLE_COUNT && strcmp(op_role_name((enum op_role)role), o->role) != 0)
            role++;
        if (strcmp(o->test, test) != 0 || !(o->seconds > 0))
            continue;
        *all_s += o->seconds;
        if (role == ROLE_COUNT || isnan(o->roof_fraction))
            continue;
        sum[role].role = o->role;
        sum[role].seconds += o->seconds;
        sum[role].lost_s += o->seconds * fmax(0, 1 - o->roof_fraction);
    }
    for (int i = 0; i < ROLE_COUNT; i++)
        if (sum[i].role && sum[i].lost_s > most.lost_s)
            most = sum[i];
    return most;
}

static void add_lost(struct page *p, const struct html_data *d, const struct html_test *t)
{
    char value[48];
    double all_s;
    const struct run *run = d->run[t->file];
    const struct lost l = run ? most_lost(run, t->test, &all_s) : (struct lost){ .role = NULL };
    if (!l.role || l.lost_s < 0.02 * all_s)
        return;
    page_add(p, PAGE_ITEM, "");
    page_say(p, "Most time of %s is lost in %s: ", t->test, l.role);
    page_figure(p, html_percent(value, sizeof value, l.lost_s / all_s), "its seconds beyond those at its roofs, over the seconds of all ops; ops timed one by one");
    page_say(p, " of the time of all ops, beyond what its roof needs.");
}

/* ---- files --------------------------------------------------------------------------------------------------------- */

static void add_served(struct page *p, const struct html_data *d, size_t file)
{
    const json_t *doc = d->r->file[file].doc;
    const char *summary = json_string_value(json_object_get(doc, "summary"));
    page_add(p, PAGE_LEAD, "");
    if (d->r->n > 1)
        page_say(p, "%s: ", d->r->file[file].name);
    page_say(p, "%s%s", json_is_true(json_object_get(doc, "measured")) ? "Measured. " : "Simulated. ", summary ? summary : "The file has no summary.");
}

static void add_file(struct page *p, const struct html_data *d, size_t file, bool *lead)
{
    const struct html_test *t[2] = { html_first(d, file, true), html_first(d, file, false) };
    for (int i = 0; i < 2; i++)
        if (t[i]) {
            page_add(p, *lead ? PAGE_ITEM : PAGE_LEAD, "");
            *lead = true;
            if (d->r->n > 1)
                page_say(p, "%s: ", d->r->file[file].name);
            say_test(p, d, t[i]);
        }
    if (t[0])
        add_lost(p, d, t[0]);
}

/* The first two files that have the same test: their ratio. */
static void add_ratio(struct page *p, const struct html_data *d)
{
    const struct html_test *a = NULL, *b = NULL;
    char value[48], source[400];
    for (size_t i = 0; i < d->r->n && !b; i++) {
        const struct html_test *t = html_first(d, i, true);
        if (t && !a)
            a = t;
        else if (t && strcmp(t->test, a->test) == 0)
            b = t;
    }
    if (!b)
        return;
    const double ratio = b->tok_s / a->tok_s;
    page_add(p, PAGE_LEAD, "");
    page_say(p, "%s decodes at ", d->r->file[b->file].name);
    snprintf(value, sizeof value, "%.2f times", ratio);
    snprintf(source, sizeof source, "tokens/s of %.48s in %.140s over those in %.140s", a->test, d->r->file[b->file].name, d->r->file[a->file].name);
    page_figure(p, value, source);
    page_say(p, " the rate of %s (%s%s).", d->r->file[a->file].name, a->test,
             a->predicted != b->predicted ? ", a prediction and a measurement" : a->predicted ? ", both predicted" : "");
    const struct html_test *predicted = a->predicted ? a : b, *measured = a->predicted ? b : a;
    if (a->predicted != b->predicted && predicted->tok_s_hi > 0)
        page_say(p, " The measurement is %s the prediction's 90 %% interval.",
                 measured->tok_s < predicted->tok_s_lo ? "below" : measured->tok_s > predicted->tok_s_hi ? "above" : "within");
}

int html_add_verdict(struct page *p, const struct html_data *d, struct error *err)
{
    bool lead = false;
    page_add(p, PAGE_SECTION, "verdict");
    page_say(p, "Verdict");
    const size_t before = p->n;
    add_ratio(p, d);
    lead = p->n > before;
    for (size_t i = 0; i < d->r->n; i++)
        if (d->r->file[i].kind == HTML_SERVED)
            add_served(p, d, i);
        else
            add_file(p, d, i, &lead);
    if (p->n == before) {
        page_add(p, PAGE_TEXT, "");
        page_say(p, "No test of decode or prefill is in %s; the tables below are what is.", d->r->n == 1 ? "this file" : "these files");
    }
    return interrupt_check(err);
}
