/* `roofcast report FILE... -o report.html`: the sections of the page, in order, and the file. */
#include "report/html.h"
#include "report/html_internal.h"
#include "report/html_write.h"
#include <stdlib.h>
#include <string.h>

bool html_is_page(const char *path)
{
    return text_ends_with(path, ".html") || text_ends_with(path, ".md");
}

/* "llama-3.1-8b, Q4_K_M on rtx-4090" */
static void set_title(struct page *p, const struct html_data *d)
{
    char text[320];
    struct strbuf clean = { 0 };
    const struct html_test *t = d->tests.n > 0 ? &d->tests.v[0] : NULL;
    const json_t *doc = d->r->file[0].doc;
    const char *model = json_string_value(json_object_get(doc, "model")), *hw = json_string_value(json_object_get(doc, "hw"));
    if (d->r->file[0].kind == HTML_SERVED && model && hw)
        snprintf(text, sizeof text, "%.60s on %.60s, %s", model, hw, json_is_true(json_object_get(doc, "measured")) ? "served" : "simulated");
    else if (t && *t->model && !*t->type)
        snprintf(text, sizeof text, "%.60s on %.60s", t->model, *t->hw ? t->hw : "a machine");
    else if (t)
        snprintf(text, sizeof text, "%.60s, %.20s on %.60s", t->model, t->type, *t->hw ? t->hw : "a machine");
    else
        snprintf(text, sizeof text, "%.150s", d->r->file[0].name);
    page_clean(&clean, text, strlen(text));
    snprintf(p->title, sizeof p->title, "%s", clean.len ? clean.s : "Report");
    strbuf_free(&clean);
}

/* What can be stepped through: models on machines that the files name and `predict` knows. */
struct scenes {
    struct html_step step;
    struct html_step_scene scene;
};

static bool find_scene(struct scenes *x, const struct html_data *d)
{
    if (!d->have_machine || !*d->h.path || !d->have_model)
        return false;
    const char *model = d->r->model ? d->r->model : d->main->preset;
    x->scene = (struct html_step_scene){ model, d->r->hw ? d->r->hw : d->h.id, *d->main->type && !d->m.gguf ? d->main->type : NULL,
                                         *d->main->type_k ? d->main->type_k : NULL, *d->main->type_v ? d->main->type_v : NULL };
    x->step = (struct html_step){ &x->scene, 1, NULL };
    return true;
}

static int add_sections(struct page *p, const struct html_data *d, const char *base, struct error *err)
{
    set_title(p, d);
    if (html_add_verdict(p, d, err) != 0 || html_add_changes(p, d, err) != 0 || html_add_missing(p, d, err) != 0)
        return -1;
    html_add_charts(p, d, base);
    if (interrupt_check(err) != 0)
        return -1;
    if (*d->other) {
        char of[256];
        page_add(p, PAGE_TEXT, "")->wide = true;
        page_say(p, "The steps below are %s.", html_other_model(of, sizeof of, d));
    }
    page_add(p, PAGE_STEP, "step");
    if (html_add_tables(p, d, err) != 0 || html_add_machine(p, d, err) != 0)
        return -1;
    page_add(p, PAGE_SECTION, "origin");
    page_say(p, "This page");
    page_add(p, PAGE_TEXT, "");
    page_say(p, "Written by %s. It needs no network and sends nothing.", d->r->command);
    return 0;
}

/* PATH without its ".md", for the charts next to it. */
static char *base_of(const char *path)
{
    char *base = strdup(path);
    if (!base)
        interrupt_end_without_memory();
    base[strlen(base) - strlen(".md")] = 0;
    return base;
}

int html_report_write(const struct html_report *r, const char *path, struct error *err)
{
    struct html_data d;
    struct page p = { .n = 0 };
    struct outfile o;
    struct scenes *x = calloc(1, sizeof *x);
    const bool markdown = text_ends_with(path, ".md");
    char *base = markdown ? base_of(path) : NULL;
    int rc = x ? html_data_init(&d, r, err) : error_oom(err, sizeof *x, "a page");
    rc = rc ? rc : add_sections(&p, &d, base, err);
    rc = rc ? rc : outfile_open(&o, path, err);
    if (rc == 0) {
        const bool steps = !markdown && find_scene(x, &d);
        rc = outfile_end(&o, markdown ? markdown_write(o.f, &p, err) : html_write(o.f, &p, steps ? &x->step : NULL, err), err);
    }
    if (x)
        html_data_free(&d);
    page_free(&p);
    free(base);
    free(x);
    return rc;
}
