/* Findings of a profile's curves as text: levels versus the caches of hwloc, saturating thread counts. */
#include "report/output.h"
#include "run/run.h"
#include <string.h>

static void print_plateau(const struct hw_curve *c, const struct hw_plateau *l)
{
    char value[48] = "";
    if (l->value > 0)
        units_si(value, sizeof value, l->value, c->unit);
    printf("%s: %s%s%s%s%s\n", c->name, l->level[0] ? l->level : "a level", value[0] ? ", " : "", value,
           l->finding[0] ? ", " : "", l->finding);
}

void report_findings(const struct hwprofile *h)
{
    bool any = false;
    for (size_t i = 0; i < h->n_curve; i++) {
        const struct hw_curve *c = &h->curve[i];
        const bool saturates = c->saturation_x > 0 && c->n_point > 0;
        if ((c->n_plateau || saturates) && !any)
            printf("\n");
        any |= c->n_plateau || saturates;
        for (size_t k = 0; k < c->n_plateau; k++)
            print_plateau(c, &c->plateau[k]);
        if (saturates)
            printf("%s: 95 %% of the maximum from %.0f thread%s, of %.0f measured\n", c->name, c->saturation_x,
                   c->saturation_x == 1 ? "" : "s", c->point[c->n_point - 1].x);
    }
}
