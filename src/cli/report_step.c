#include "cli/report_step.h"
#include "base/lists.h"
#include "report/html_write.h"
#include <stdlib.h>

static int write_file(const struct html_step *what, const char *path, struct error *err)
{
    struct outfile out;
    struct page p = { .n = 0 };
    if (what->n == 1)
        snprintf(p.title, sizeof p.title, "%.80s on %.60s", what->scene->model, what->scene->hw);
    else
        snprintf(p.title, sizeof p.title, "%zu pairs of a model and a machine", what->n);
    if (outfile_open(&out, path, err) != 0)
        return -1;
    page_add(&p, PAGE_STEP, "step");
    const int rc = outfile_end(&out, html_write(out.f, &p, what, err), err);
    page_free(&p);
    return rc;
}

int report_step_write(const struct report_step *o, const char *path, struct error *err)
{
    struct str_list model = { 0 }, hw = { 0 };
    struct html_step what = { .stack = o->stack };
    struct html_step_scene *scene = NULL;
    int rc = str_list_parse(&model, o->models, "--step", err);
    if (rc == 0)
        rc = str_list_parse(&hw, o->hw ? o->hw : "this", "--hw", err);
    if (rc == 0 && !(scene = calloc(model.n * hw.n, sizeof *scene)))
        rc = error_oom(err, model.n * hw.n * sizeof *scene, "models and machines");
    for (size_t i = 0; rc == 0 && i < model.n; i++)
        for (size_t k = 0; k < hw.n; k++)
            scene[what.n++] = (struct html_step_scene){ model.v[i], hw.v[k], o->type };
    what.scene = scene;
    rc = rc == 0 ? write_file(&what, path, err) : rc;
    free(scene);
    str_list_free(&model);
    str_list_free(&hw);
    return rc;
}
