#include "predict/options.h"
#include <stdlib.h>

void pricing_free(struct pricing_options *o)
{
    free(o->recorded);
    o->recorded = NULL;
}
