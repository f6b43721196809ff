/* What predictions and explanations share: the caller's options as the modules take them. */
#ifndef LIB_PREDICT_H
#define LIB_PREDICT_H

#include "learn/software.h"
#include "lib/internal.h"
#include "timing/roofs.h"

struct lib_pricing {
    struct predict_options o; /* points into the struct: not to be copied */
    struct routing routing;
    struct software *software; /* of this call; NULL: none, or the caller's */
};
/* server: with the constants of a server's steps. lib_pricing_free() it also after an error. */
int lib_pricing_init(struct lib_pricing *x, const struct roofcast_model *m, const struct roofcast_machine *h,
                     const struct roofcast_predict_options *asked, bool server, struct roofcast_error *err);
void lib_pricing_free(struct lib_pricing *x);

#endif
