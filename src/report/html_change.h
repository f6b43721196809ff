/* html_change.h: a test's scenario and the changes of it that a page tries. Internal to report. */
#ifndef REPORT_HTML_CHANGE_H
#define REPORT_HTML_CHANGE_H

#include "learn/anchors.h"
#include "predict/errors.h"
#include "report/html_internal.h"

enum change_kind { CHANGE_TYPE, CHANGE_BATCH, CHANGE_KV_TYPE, CHANGE_DRAFTS, CHANGE_THREADS, CHANGE_MACHINE, CHANGE_KINDS };

struct change {
    enum change_kind kind;
    char text[128], note[224], reason[224]; /* reason: why there is none */
    struct ratio ratio;
};

enum { MOST_CHANGES = 24 };

/* A test's scenario, and its prediction. */
struct scene {
    const struct html_data *d;
    const struct html_test *t;
    const struct model *m;
    const struct hwprofile *h;
    struct software *software;
    struct predict_options o;
    struct predict_result r;
    struct change v[MOST_CHANGES];
    size_t n;
};

/* Of a scene with d, t, h and m: software, options and the prediction. errors: those of predict() */
int html_predict_scene(struct scene *s, struct error *err);
void html_scene_free(struct scene *s);
/* Fills s->v. */
void html_try_changes(struct scene *s);
/* Tokens/s with the changes of a text ("b=8") over those without; NaN: *err. */
struct ratio html_ratio_of(const struct scene *s, const char *text, struct error *err);

#endif
