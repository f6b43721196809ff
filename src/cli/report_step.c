#include "cli/report_step.h"
#include "base/environment.h"
#include "base/lists.h"
#include "report/html_step.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 3000000 };

static int copy_template(FILE *f, const char *name, struct error *err)
{
    char path[4096];
    struct filemap map;
    if (!environment_file(path, sizeof path, name))
        return error_set(err, ERROR_INPUT, "%s: no such file: expected in a data directory (ROOFCAST_DATA)", path);
    if (filemap_open(&map, path, err) != 0)
        return -1;
    fwrite(map.data, 1, map.size, f);
    filemap_close(&map);
    return 0;
}

static int write_page(FILE *f, const struct html_step *what, struct error *err)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<title>roofcast: step through one request</title>\n<style>\n", f);
    if (copy_template(f, "reports/html/step.css", err) != 0)
        return -1;
    fputs("</style>\n</head>\n<body>\n<main>\n<h1>roofcast</h1>\n", f);
    if (html_step_write(f, what, err) != 0)
        return -1;
    fputs("</main>\n<script>\n", f);
    if (copy_template(f, "reports/html/step.js", err) != 0)
        return -1;
    fputs("</script>\n</body>\n</html>\n", f);
    return 0;
}

static int write_file(const struct html_step *what, const char *path, struct error *err)
{
    struct outfile out;
    if (outfile_open(&out, path, err) != 0)
        return -1;
    int rc = write_page(out.f, what, err);
    const long size = ftell(out.f); /* -1: a pipe */
    if (rc == 0 && size > MOST_BYTES)
        rc = error_set(err, ERROR_USAGE, "%s: a page of %.1f MB, above 3 MB: name fewer models or machines", path, (double)size / 1e6);
    return outfile_end(&out, rc, err);
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
