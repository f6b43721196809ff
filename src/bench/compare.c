/* Compares two profiles, ceiling by ceiling, within their intervals. methods.md (71) */
#include "bench/profiles.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct compare_row {
    const char *name, *unit, *verdict;
    double a, b, ratio;
    int overlap; /* -1: no two intervals */
};

#define AT(m) COLUMN_AT(struct compare_row, m)
static const struct column compare_columns[] = {
    { "name", "ceiling", COL_TEXT, NULL, COL_MAJOR, AT(name), EMPTY_VALUE, NULL, "of the ceiling" },
    { "a", "A", COL_SI_BARE, "as `unit`", COL_MAJOR, AT(a), EMPTY_NULL, NULL, "null: missing" },
    { "b", "B", COL_SI_BARE, "as `unit`", COL_MAJOR, AT(b), EMPTY_NULL, NULL, NULL },
    { "unit", "unit", COL_TEXT, NULL, COL_MAJOR, AT(unit), EMPTY_VALUE, NULL, NULL },
    { "ratio", "B / A", COL_FLOAT, NULL, COL_MAJOR, AT(ratio), EMPTY_NULL, NULL, "b / a" },
    { "overlap", "overlap", COL_BOOL, NULL, COL_MAJOR, AT(overlap), EMPTY_NULL, NULL, "of the 95 % intervals; null: fewer than two intervals" },
    { "verdict", "verdict", COL_TEXT, NULL, COL_MAJOR, AT(verdict), EMPTY_VALUE, "`\"agree\"` or `\"A is faster\"` or `\"B is faster\"` or `\"no interval\"` or `\"units differ\"` (`unit` is A's, no ratio) or `\"only in A\"` or `\"only in B\"` or `\"in neither\"`", NULL },
};
#undef AT
const struct table_fields compare_fields = { "compare.row", compare_columns, ARRAY_LEN(compare_columns) };

struct counts {
    int n, n_agree, n_only; /* compared; agreeing; in one profile only */
    double most;            /* largest |log ratio| */
    char name[64];          /* its name */
};

static const struct ceiling *named(const struct hwprofile *h, const char *name)
{
    for (size_t i = 0; i < h->n_ceiling; i++)
        if (strcmp(h->ceiling[i].name, name) == 0)
            return &h->ceiling[i];
    return NULL;
}

static bool is_measured(const struct ceiling *c)
{
    return c && !isnan(c->value);
}

/* One of a and b may be NULL. */
static struct compare_row compare_row(const struct ceiling *a, const struct ceiling *b, struct counts *n)
{
    const bool units = a && b && strcmp(a->unit, b->unit) != 0;
    const bool both = is_measured(a) && is_measured(b) && !units;
    const struct ceiling *one = is_measured(a) || !b ? a : b;
    const double va = is_measured(a) ? a->value : NAN, vb = is_measured(b) ? b->value : NAN;
    const bool intervals = both && !isnan(a->ci_lo) && !isnan(a->ci_hi) && !isnan(b->ci_lo) && !isnan(b->ci_hi);
    const bool overlap = intervals && a->ci_lo <= b->ci_hi && b->ci_lo <= a->ci_hi;
    const bool seconds = strcmp(one->unit, "s") == 0;
    const char *verdict = units && is_measured(a) && is_measured(b) ? "units differ" : is_measured(a) ? "only in A" : is_measured(b) ? "only in B" : "in neither";
    if (both) {
        verdict = !intervals ? "no interval" : overlap ? "agree" : (vb > va) != seconds ? "B is faster" : "A is faster";
        n->n += intervals;
        n->n_agree += overlap;
        if (fabs(log(vb / va)) > n->most) {
            n->most = fabs(log(vb / va));
            snprintf(n->name, sizeof n->name, "%s", one->name);
        }
    } else {
        n->n_only += is_measured(a) || is_measured(b);
    }
    return (struct compare_row){ one->name, one->unit, verdict, va, vb, units ? NAN : vb / va, intervals ? overlap : -1 };
}

static const char *noise_text(char *buf, size_t size, const struct hwprofile *h)
{
    const char *name = hw_steadiness_name(h->noise.verdict);
    if (name)
        snprintf(buf, size, "%s, %.1f %% between rounds", name, 100 * h->noise.between);
    else
        snprintf(buf, size, "steadiness unknown");
    return buf;
}

/* "agree": at most 1 in 100, and one more, differ by chance (methods.md (71)). */
static const char *summary(const struct counts *n, const struct hwprofile *a, const struct hwprofile *b)
{
    if (n->n == 0)
        return "nothing to compare";
    if (n->n - n->n_agree <= 1 + n->n / 100)
        return "agree";
    return a->noise.verdict == HW_NOISY || b->noise.verdict == HW_NOISY ? "noisy" : "differ";
}

static int print(const struct hwprofile *a, const struct hwprofile *b, const struct table_rows *rows, const struct counts *n,
                 enum report_format fmt, struct error *err)
{
    char ta[64], tb[64];
    const char *verdict = summary(n, a, b), *na = hw_steadiness_name(a->noise.verdict), *nb = hw_steadiness_name(b->noise.verdict);
    json_t *meta = json_pack("{s:o, s:o, s:i, s:i, s:i, s:s?, s:s?, s:s}", "a", json_text(a->path), "b", json_text(b->path), "n_compared", n->n, "n_agree",
                             n->n_agree, "n_only_in_one", n->n_only, "noise_a", na, "noise_b", nb, "verdict", verdict);
    if (!meta)
        return error_oom(err, 0, "a comparison");
    const struct table d = { "roofcast.compare", 1, meta, compare_columns, ARRAY_LEN(compare_columns), rows, NULL };
    int rc = report_write(NULL, fmt, &d, err);
    json_decref(meta);
    if (rc != 0 || (fmt != REPORT_TABLE && fmt != REPORT_MD))
        return rc;
    printf("\nA: %s (%s)\nB: %s (%s)\n", a->path, noise_text(ta, sizeof ta, a), b->path, noise_text(tb, sizeof tb, b));
    const bool noisy = strcmp(verdict, "noisy") == 0;
    if (n->n == 0)
        printf("Nothing to compare: no ceiling has a name, a unit and an interval in both\n");
    else
        printf("%d of %d ceilings agree within their intervals: the profiles %s%s%s\n", n->n_agree, n->n, noisy ? "differ" : verdict,
               n->n_only ? " in what both have" : "", noisy ? ", but the machine was noisy" : "");
    if (strcmp(a->name, b->name) != 0 || strcmp(a->cpu_model, b->cpu_model) != 0 || a->n_pus != b->n_pus)
        printf("These are two machines: A is %s (%d hardware threads), B is %s (%d)\n", a->name, a->n_pus, b->name, b->n_pus);
    if (n->most > 0)
        printf("Largest difference: %s, %.1f %%\n", n->name, 100 * expm1(n->most));
    return 0;
}

static int compare(const struct hwprofile *a, const struct hwprofile *b, enum report_format fmt, struct error *err)
{
    struct counts n = { 0 };
    struct table_rows rows = { .size = sizeof(struct compare_row) };
    for (size_t i = 0; i < a->n_ceiling; i++)
        *(struct compare_row *)table_add(&rows) = compare_row(&a->ceiling[i], named(b, a->ceiling[i].name), &n);
    for (size_t i = 0; i < b->n_ceiling; i++)
        if (!named(a, b->ceiling[i].name))
            *(struct compare_row *)table_add(&rows) = compare_row(NULL, &b->ceiling[i], &n);
    const int rc = print(a, b, &rows, &n, fmt, err);
    table_rows_free(&rows);
    return rc;
}

int profile_compare(const char *path_a, const char *path_b, enum report_format fmt, struct error *err)
{
    struct hwprofile a, b;
    if (hwprofile_this_path(&path_a, path_a, err) != 0 || hwprofile_this_path(&path_b, path_b, err) != 0 || hwprofile_load(&a, path_a, err) != 0)
        return -1;
    if (hwprofile_load(&b, path_b, err) != 0) {
        hwprofile_free(&a);
        return -1;
    }
    const int rc = compare(&a, &b, fmt, err);
    hwprofile_free(&b);
    hwprofile_free(&a);
    return rc;
}
