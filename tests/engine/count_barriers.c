/* The engine's plan, for tests that include the cost model: both have a struct routing. */
#include "engine/internal.h"

double count_barriers(const struct engine *e, bool one);

/* In a pass: of several tokens, or of one. */
double count_barriers(const struct engine *e, bool one)
{
    double n = 0;
    for (size_t i = 0; i < e->ops.n; i++)
        n += e->sync[i].barrier[one] + e->sync[i].prepares[one];
    return n;
}
