/*
 * html_step.h: "Step through one request" of an HTML page: a prompt and decode steps one by one, for models on machines, with sliders. The
 * section holds coefficients, not figures: op lists as forms (cost/cost.h), and the time model's features with its constants.
 * reports/html/step.js evaluates them and has no constants of its own. Data: doc/formats.md, "step-data".
 */
#ifndef REPORT_HTML_STEP_H
#define REPORT_HTML_STEP_H

#include "base/base.h"
#include <stdio.h>

/* A model on a machine, as `predict` names them: a name or a file. */
struct html_step_scene {
    const char *model, *hw;
    const char *type; /* -q of the setting shown first; NULL: the model's default */
};

struct html_step {
    const struct html_step_scene *scene;
    size_t n;
    const char *stack; /* --stack; NULL: each machine's default */
};

/*
 * Writes <section id="step"> to f: headings, controls, figures (empty until step.js runs) and the data in
 * <script type="application/json" id="step-data">. The page includes reports/html/step.css and step.js, the latter after the section.
 * Names are escaped.
 *
 * errors: a model or machine that `predict` refuses, in `type` or in every type; a type that the stack does not load; out of memory. What f refuses is the caller's to find (ferror()).
 */
int html_step_write(FILE *f, const struct html_step *what, struct error *err);

#endif
