/* The cheapest machine that reaches a rate: a row a machine and number of devices, with the type that loses least. */
#include "report/choose.h"
#include "base/notify.h"
#include "dataset/machine.h"
#include "dataset/stacks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t device_counts[] = { 1, 2, 4, 8 };
static const double LEAST_SHOWN = 1e-3; /* chance below which more devices of a machine are tried in vain */

/* A type with its loss. */
struct ranked {
    const struct choose_type *t;
    double loss;
};

static int by_loss(const void *a, const void *b)
{
    const struct ranked *p = a, *q = b;
    const double x = isnan(p->loss) ? INFINITY : p->loss, y = isnan(q->loss) ? INFINITY : q->loss;
    return x != y ? (x > y) - (x < y) : (p->t->m.weight_bytes < q->t->m.weight_bytes) - (p->t->m.weight_bytes > q->t->m.weight_bytes);
}

/* Types that lose little enough, or all that were asked for. */
static struct ranked *rank_types(const struct choose_case *c, size_t *n, struct error *err)
{
    struct ranked *v = calloc(c->n_type + 1, sizeof *v);
    struct table_rows unused = { .size = sizeof(struct choose_row) };
    *n = 0;
    if (!v) {
        error_oom(err, c->n_type * sizeof *v, "the types");
        return NULL;
    }
    for (size_t i = 0; i < c->n_type; i++) {
        struct choose_row r = { .type = NULL };
        choose_quality(&r, &unused, c, &c->type[i]);
        if (c->asked || r.loss <= c->most_loss)
            v[(*n)++] = (struct ranked){ &c->type[i], r.loss };
    }
    table_rows_free(&unused);
    if (*n > 1)
        qsort(v, *n, sizeof *v, by_loss);
    return v;
}

/* Servers divide every matrix, llama.cpp the layers. */
static struct layout layout_of(const struct choose_case *c, const struct choose_type *t, const struct hwprofile *h, uint32_t n)
{
    const struct stack *s = c->stack ? c->stack : software_default(h, t->weights);
    struct layout l = c->layout;
    if (layout_devices(&c->layout) > 1)
        return l;
    if (stack_trait(s, ENGINE_BY_LAYER) > 0)
        l.pp = n;
    else
        l.tp = n;
    return l;
}

static void put_prices(struct choose_row *r, struct table_rows *rows, const struct choose_case *c, const char *hw)
{
    const struct price *rent = c->prices ? prices_find(c->prices, hw, r->n_devices, false) : NULL;
    const struct price *buy = c->prices ? prices_find(c->prices, hw, r->n_devices, true) : NULL;
    char text[400];
    if (rent) {
        r->usd_h = rent->usd_h * r->n_devices;
        r->rent_from = table_text(rows, rent->provider);
        r->rent_date = table_text(rows, rent->date);
        snprintf(text, sizeof text, "%s%s%s", rent->url, *rent->url ? "; " : "", rent->source);
        r->rent_source = table_text(rows, text);
    }
    if (buy) {
        r->usd = buy->usd * r->n_devices;
        r->buy_what = table_text(rows, buy->what);
        r->buy_date = table_text(rows, buy->date);
        snprintf(text, sizeof text, "%s%s%s", buy->url, *buy->url ? "; " : "", buy->source);
        r->buy_source = table_text(rows, text);
    }
}

/* The first type, by loss, that reaches the rate on n devices; else the fastest. 1: a row that reaches it; 0: none, or one that does not. */
static int best_type(struct table_rows *rows, const struct choose_case *c, const struct ranked *types, size_t n_types, const struct hwprofile *h, uint32_t n,
                     struct error *err)
{
    const size_t at = rows->n;
    bool found = false, good = false;
    struct choose_row best = { .type = NULL };
    for (size_t i = 0; i < n_types && !good; i++) {
        const struct layout l = layout_of(c, types[i].t, h, n);
        const int rc = choose_add(rows, c, types[i].t, h, &l, err);
        if (rc < 0)
            return -1;
        const struct choose_row *r = rc > 0 ? table_row(rows, at) : NULL;
        rows->n = at;
        if (!r || !choose_usable(r))
            continue;
        good = choose_reaches(r, c);
        if (!found || good || r->user_tok_s.value > best.user_tok_s.value)
            best = *r;
        found = true;
    }
    if (found) {
        put_prices(&best, rows, c, h->id);
        memcpy(table_add(rows), &best, sizeof best);
    }
    return good;
}

static int add_machine(struct table_rows *rows, const struct choose_case *c, const struct ranked *types, size_t n, const char *name, struct error *err)
{
    struct hwprofile h;
    if (machine_load(&h, name, err) != 0)
        return -1;
    int rc = 0;
    const bool given = layout_devices(&c->layout) > 1;
    for (size_t i = 0; i < ARRAY_LEN(device_counts) && rc == 0; i++) {
        const uint32_t devices = given ? layout_devices(&c->layout) : device_counts[i];
        const size_t before = rows->n;
        if (devices > 1 && !given && (devices > c->most_devices || !hwprofile_link(&h, 2)))
            break;
        rc = best_type(rows, c, types, n, &h, devices, err);
        const struct choose_row *r = rows->n > before ? table_row(rows, before) : NULL;
        if (given || (r && r->chance < LEAST_SHOWN && r->n_devices > 1))
            break;
    }
    hwprofile_free(&h);
    return rc < 0 ? -1 : interrupt_check(err);
}

/* The i-th price is the first one of its machine. */
static bool is_first(const struct prices *p, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(p->v[k].hw, p->v[i].hw) == 0)
            return false;
    return true;
}

int choose_machines(struct table_rows *rows, const struct choose_case *c, const struct str_list *hw, struct error *err)
{
    size_t n;
    struct ranked *types = rank_types(c, &n, err);
    int rc = types ? 0 : -1;
    if (rc == 0 && n == 0)
        rc = error_set(err, ERROR_INPUT, "no type of %s is known to lose at most %g %%: --loss, or -q TYPE", c->model, 100 * c->most_loss);
    for (size_t i = 0; hw && i < hw->n && rc == 0; i++)
        rc = add_machine(rows, c, types, n, hw->v[i], err);
    for (size_t i = 0; !hw && c->prices && i < c->prices->n && rc == 0; i++)
        if (is_first(c->prices, i))
            rc = add_machine(rows, c, types, n, c->prices->v[i].hw, err);
    free(types);
    return rc;
}

/* Rows that reach the rate by price, then the others by tokens/s. */
static int compare(const struct choose_row *p, const struct choose_row *q, const struct choose_case *c)
{
    const bool a = choose_reaches(p, c), b = choose_reaches(q, c);
    const double x = c->buy ? p->usd : p->usd_h, y = c->buy ? q->usd : q->usd_h;
    if (a != b)
        return a ? -1 : 1;
    if (a && isnan(x) != isnan(y))
        return isnan(x) ? 1 : -1;
    if (a && x != y && !isnan(x))
        return (x > y) - (x < y);
    return (p->user_tok_s.value < q->user_tok_s.value) - (p->user_tok_s.value > q->user_tok_s.value);
}

void choose_machines_rank(struct table_rows *rows, const struct choose_case *c)
{
    struct choose_row *r = rows->v;
    for (size_t i = 1; i < rows->n; i++) { /* insertion: a few hundred rows, and qsort() takes no context */
        const struct choose_row moved = r[i];
        size_t k = i;
        for (; k > 0 && compare(&moved, &r[k - 1], c) < 0; k--)
            r[k] = r[k - 1];
        r[k] = moved;
    }
    if (rows->n > 0 && choose_reaches(&r[0], c) && !isnan(c->buy ? r[0].usd : r[0].usd_h))
        r[0].take = true;
}
