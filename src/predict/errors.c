/* Error correlation of two predictions, probability that both meet a limit, interval of their ratio. methods.md (64)-(66) */
#include "predict/errors.h"
#include "timing/timing.h"
#include <math.h>
#include <string.h>

/* Residual correlation of a prompt and its steps, in addition to their common constants. (64) */
static const double PHASES_CORRELATION = 0.35;

double error_covariance(const struct error_parts *a, const struct error_parts *b, double residual_correlation)
{
    double sum = residual_correlation * a->left * b->left + a->machine * b->machine;
    for (int i = 0; i < ERROR_PARTS; i++)
        sum += a->of[i] * b->of[i];
    return sum;
}

double error_correlation(const struct error_parts *a, const struct error_parts *b)
{
    const double v = error_covariance(a, a, 1) * error_covariance(b, b, 1), same = error_covariance(a, b, 0) / sqrt(v);
    return v > 0 ? same + PHASES_CORRELATION * (1 - fabs(same)) : NAN;
}

/* ---- both at once (65) ------------------------------------------------------------------------------- */

static double normal(double z)
{
    return 0.5 * erfc(-z / sqrt(2));
}

/* Gauss and Legendre's ten points. */
static const double node[] = { 0.1488743389816312, 0.4333953941292472, 0.6794095682990244, 0.8650633666889845, 0.9739065285171717 };
static const double weight[] = { 0.2955242247147529, 0.2692667193099963, 0.2190863625159820, 0.1494513491505806, 0.0666713443086881 };
enum { PANELS = 16 }; /* the integrand has a corner near 1 */

static double integrand(double theta, double h, double k)
{
    const double c = cos(theta);
    return exp(-(h * h + k * k - 2 * h * k * sin(theta)) / (2 * c * c));
}

double normal_both(double h, double k, double correlation)
{
    if (fabs(correlation) > 1 - 1e-9)
        return correlation > 0 ? normal(fmin(h, k)) : fmax(0, normal(h) + normal(k) - 1);
    const double to = asin(correlation), half = to / (2 * PANELS);
    double sum = 0;
    for (int p = 0; p < PANELS; p++)
        for (int i = 0; i < 5; i++) {
            const double middle = (2 * p + 1) * half, off = node[i] * half;
            sum += weight[i] * half * (integrand(middle + off, h, k) + integrand(middle - off, h, k));
        }
    return fmax(0, fmin(1, normal(h) * normal(k) + sum / (2 * acos(-1))));
}

struct limits_answer limits_answer(const struct limits *l, const struct limit_phase *prefill, const struct limit_phase *decode)
{
    double z[PHASE_COUNT] = { INFINITY, INFINITY };
    bool sure_no = false;
    enum limit_met met = l->n > 0 ? LIMIT_MET : LIMIT_UNKNOWN;
    struct limits_answer all = { .chance = NAN, .least = NAN, .most = NAN, .correlation = NAN };
    for (size_t i = 0; i < l->n; i++) {
        const enum phase p = l->l[i].metric == SOLVE_TTFT ? PHASE_PREFILL : PHASE_DECODE;
        const struct limit_answer a = limit_answer(&l->l[i], p == PHASE_PREFILL ? prefill : decode);
        met = a.met < met ? a.met : met;
        sure_no |= isnan(a.z) && a.met == LIMIT_MISSED;
        z[p] = fmin(z[p], a.z); /* several limits of a phase: the strictest; of a number and NaN: the number */
    }
    all.met = met;
    const double h = z[PHASE_PREFILL], k = z[PHASE_DECODE];
    if (met == LIMIT_UNKNOWN || sure_no || (isinf(h) && isinf(k)))
        return all;
    all.most = normal(fmin(h, k));
    all.least = fmax(0, normal(h) + normal(k) - 1);
    if (isinf(h) || isinf(k)) {
        all.chance = all.most;
        return all;
    }
    all.correlation = error_correlation(&prefill->parts, &decode->parts);
    all.chance = isnan(all.correlation) ? all.most : normal_both(h, k, all.correlation);
    const double beyond = normal(-PREDICT_Z90);
    all.met = all.chance <= beyond ? LIMIT_MISSED : all.chance >= 1 - beyond ? LIMIT_MET : LIMIT_UNSURE;
    return all;
}

/* ---- one over the other (66) -------------------------------------------------------------------------- */

/* 90 % interval inflation of a side relative to a normal distribution. */
static double inflation(double sd_s, const struct prediction *p)
{
    return sd_s / p->seconds / sqrt(error_covariance(&p->parts, &p->parts, 1));
}

/* Residual correlation of another task: low where constants were measured on this machine (task error), else machine error. */
static const double TASK_MEASURED = 0.35, TASK_CLASS = 0.6;

double predictions_alike(const struct predict_result *base, const struct predict_result *changed, const struct whatif *w)
{
    const bool same_stack = base->stack && changed->stack && strcmp(base->stack, changed->stack) == 0;
    if (!same_stack)
        return 0;
    return whatif_of_machine(w) ? 1 : strcmp(base->basis, time_basis_name(TIME_BY_MACHINE)) == 0 ? TASK_MEASURED : TASK_CLASS;
}

_Static_assert(sizeof(struct error_parts) == (ERROR_PARTS + 2) * sizeof(double), "compared as bytes: without padding");

struct ratio prediction_ratio(const struct prediction *base, const struct prediction *changed, double alike)
{
    const struct error_parts b = base->parts, c = changed->parts;
    struct ratio r = { changed->tok_s / base->tok_s, NAN, NAN };
    if (!(base->sd_s > 0) || !(changed->sd_s > 0))
        return r;
    if (changed->seconds == base->seconds && memcmp(&b, &c, sizeof b) == 0) { /* the same prediction */
        r.lo = r.hi = r.value;
        return r;
    }
    const double machine = b.machine * c.machine, both = machine + alike * (error_covariance(&b, &c, 1) - machine); /* a guess is the same in both */
    const double sd = sqrt(fmax(0, error_covariance(&b, &b, 1) + error_covariance(&c, &c, 1) - 2 * both));
    r.hi = r.value * exp(PREDICT_Z90 * sd * hypot(inflation(base->sd_s, base), inflation(changed->sd_fast_s, changed)) / sqrt(2));
    r.lo = r.value / exp(PREDICT_Z90 * sd * hypot(inflation(base->sd_fast_s, base), inflation(changed->sd_s, changed)) / sqrt(2));
    return r;
}
