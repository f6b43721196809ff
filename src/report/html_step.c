/* The section "Step through one request": its markup, and the data of all scenes. */
#include "report/html_step_data.h"
#include "learn/anchors.h"
#include <stdlib.h>
#include <string.h>

/* Controls and figures, which reports/html/step.js fills. */
static const char markup[] =
    "<section id=\"step\" aria-labelledby=\"step-title\">\n"
    "<h2 id=\"step-title\">Step through one request</h2>\n"
    "<p>The prompt is one pass, or a few; every token after it is a pass of its own, which reads all weights again. Every figure below is computed in this page from "
    "the op list and the fitted constants of the software (or the measured kernels of the machine), and is what <code>roofcast predict</code> prints.</p>\n"
    "<noscript><p>This part needs scripts: it computes its figures in the page.</p></noscript>\n"
    "<div id=\"step-body\"></div>\n"
    "<script type=\"application/json\" id=\"step-data\">";
static const char markup_end[] = "</script>\n</section>\n";

static void write_pool(struct strbuf *b, const char *key, const struct step_pool *p)
{
    strbuf_addf(b, ",\n\"%s\":[", key);
    for (size_t i = 0; i < p->n; i++) {
        strbuf_adds(b, i > 0 ? "," : "");
        strbuf_adds(b, p->text[i]);
    }
    strbuf_adds(b, "]");
}

static int write_data(struct strbuf *b, struct step_data *d, const struct html_step *what, const struct time_source *time, struct error *err)
{
    strbuf_adds(b, "{\"version\":1,\"names\":");
    step_names_write(b);
    strbuf_adds(b, ",\n\"scenes\":[");
    for (size_t i = 0; i < what->n; i++) {
        strbuf_adds(b, i > 0 ? ",\n" : "");
        if (step_scene_write(b, d, &what->scene[i], time, err) != 0)
            return -1;
    }
    strbuf_adds(b, "]");
    write_pool(b, "settings", &d->setting);
    write_pool(b, "terms", &d->term);
    write_pool(b, "columns", &d->column);
    write_pool(b, "forms", &d->form);
    write_pool(b, "constants", &d->constants);
    write_pool(b, "attends", &d->attend);
    strbuf_adds(b, "}");
    return 0;
}

static void free_data(struct step_data *d)
{
    step_pool_free(&d->column);
    step_pool_free(&d->term);
    step_pool_free(&d->setting);
    step_pool_free(&d->form);
    step_pool_free(&d->constants);
    step_pool_free(&d->attend);
}

int html_step_write(FILE *f, const struct html_step *what, struct error *err)
{
    const struct software_options o = { .stack = what->stack };
    const struct software_query query = { .tp = 1 };
    struct software *software = NULL;
    struct step_data d = { .column = { 0 } };
    struct strbuf b = { 0 };
    if (software_load(&software, &o, &query, err) != 0)
        return -1;
    const int rc = write_data(&b, &d, what, software_time(software), err);
    const char *text = rc == 0 ? strbuf_text(&b, "the data of the section", err) : NULL;
    if (text)
        fprintf(f, "%s%s%s", markup, text, markup_end);
    strbuf_free(&b);
    free_data(&d);
    software_free(software);
    return text ? 0 : -1;
}
