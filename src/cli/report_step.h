/* report_step.h: `roofcast report --step MODEL,... --hw NAME,... -o FILE.html`: a page of the section "Step through one request" alone. */
#ifndef CLI_REPORT_STEP_H
#define CLI_REPORT_STEP_H

#include "base/base.h"

struct report_step {
    const char *models, *hw; /* lists: names or files; every model on every machine */
    const char *type;        /* shown first; NULL: the model's default */
    const char *stack;       /* NULL: by machine */
};
/* errors: as `predict`; no templates; the page is larger than 3 MB; what path refuses */
int report_step_write(const struct report_step *o, const char *path, struct error *err);

#endif
