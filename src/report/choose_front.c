/* Pareto front of two figures. */
#include "report/choose.h"
#include <math.h>

void choose_front(const double *gain, const double *loss, size_t n, bool *front)
{
    for (size_t i = 0; i < n; i++) {
        front[i] = !isnan(gain[i]) && !isnan(loss[i]);
        for (size_t k = 0; k < n && front[i]; k++) /* comparisons with NaN are false */
            front[i] = !(gain[k] >= gain[i] && loss[k] <= loss[i] && (gain[k] > gain[i] || loss[k] < loss[i]));
    }
}
