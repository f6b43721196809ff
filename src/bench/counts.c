/*
 * Counting repetitions of `roofcast bench`: separate from the timed ones, one per event set, so that events are not multiplexed and times
 * exclude counter reads.
 */
#include "bench/bench.h"
#include "counters/counters.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 3 }; /* alternating repetitions with and without counters, for the median overhead; fewer where -r is less ... */
#define SHORT_S 0.5   /* ... and they take at least this long, where short disturbances do not matter */

static int one(const struct bench *b, const struct bench_test *t, const int32_t *tok, bool count, int set, double *seconds,
               struct error *err)
{
    engine_reset(bench_engine(b, t));
    engine_count(bench_engine(b, t), count, set);
    const int rc = bench_repetition(bench_engine(b, t), t, tok, NULL, seconds, NULL, err);
    engine_count(bench_engine(b, t), false, set);
    return rc;
}

/* Counts set 0 alternating with uncounted repetitions, then the other sets; part[n_set]. */
static int count_sets(const struct bench *b, const struct bench_test *t, const int32_t *tok, struct counter_sample *part,
                      struct run_counting *cost, struct error *err)
{
    double plain[ROUNDS], counted[ROUNDS], spent = 0;
    int rounds = 0;
    for (; rounds < ROUNDS && (rounds < t->reps || spent < SHORT_S); rounds++) {
        if (one(b, t, tok, false, 0, &plain[rounds], err) != 0 || one(b, t, tok, true, 0, &counted[rounds], err) != 0)
            return -1;
        engine_counts(bench_engine(b, t), &part[0]);
        spent += plain[rounds] + counted[rounds];
    }
    for (int s = 1; s < cost->n_set; s++) {
        double ignored;
        if (one(b, t, tok, true, s, &ignored, err) != 0)
            return -1;
        engine_counts(bench_engine(b, t), &part[s]);
    }
    cost->plain_s = stats_median(plain, (size_t)rounds);
    cost->counted_s = stats_median(counted, (size_t)rounds);
    cost->slowdown = cost->counted_s / cost->plain_s;
    return 0;
}

static int add_counts(struct run *r, const struct counters *c, const struct run_counting *cost, const char *role,
                      const struct counter_sample *sum, double seconds, struct error *err)
{
    for (int i = 0; i < COUNTER_FIELD_COUNT; i++) {
        const enum counter_field f = (enum counter_field)i;
        struct run_count n = { .value = NAN, .per_s = NAN };
        const char *why = counters_reason(c, f);
        if (role[0] && !sum->valid[f])
            continue; /* reason is in the row of the whole pass */
        snprintf(n.test, sizeof n.test, "%s", cost->test);
        snprintf(n.phase, sizeof n.phase, "%s", cost->phase);
        snprintf(n.role, sizeof n.role, "%s", role);
        snprintf(n.field, sizeof n.field, "%s", counter_field_name(f));
        if (sum->valid[f]) {
            n.value = (double)sum->value[f];
            n.per_s = n.value / seconds;
            snprintf(n.source, sizeof n.source, "%s", number_source_name(counters_field_source(c, f)));
        } else {
            snprintf(n.reason, sizeof n.reason, "%.190s", *why ? why : "a thread's count was not whole");
        }
        if (run_add_count(r, &n, err) != 0)
            return -1;
    }
    return 0;
}

/* Source of the memory bytes. */
static void fill_dram(struct run_row *row, const struct counters *c, const struct counter_sample *sum, double seconds)
{
    const char *why = counters_reason(c, COUNTER_DRAM_BYTES);
    row->dram_bytes_s = row->mbu_dram = NAN;
    if (!sum->valid[COUNTER_DRAM_BYTES]) {
        snprintf(row->dram_reason, sizeof row->dram_reason, "%.150s", *why ? why : "a thread's count was not whole");
        return;
    }
    row->dram_bytes_s = (double)sum->value[COUNTER_DRAM_BYTES] / seconds;
    row->mbu_dram = row->dram_bytes_s / row->ceiling_bytes_s;
    row->dram_reason[0] = 0;
    const char *units = "";
    for (size_t i = 0; i < counters_n_event(c); i++) {
        const struct counter_event *e = counters_event(c, i);
        if (e->field == COUNTER_DRAM_BYTES || e->field == COUNTER_DRAM_READ_BYTES)
            units = e->units;
    }
    snprintf(row->dram_source, sizeof row->dram_source, "%s%s%.40s",
             number_source_name(counters_field_source(c, COUNTER_DRAM_BYTES)), *units ? ": " : "", units);
}

/* Counts per role: an additional repetition with profile for each set. methods.md (86) */
static int count_roles(struct run *r, const struct bench *b, const struct bench_test *t, const int32_t *tok,
                       const struct run_counting *cost, struct error *err)
{
    const struct op_list *l = engine_ops(bench_engine(b, t));
    const size_t n_set = (size_t)cost->n_set;
    struct counter_sample *part = calloc(ROLE_COUNT * n_set, sizeof *part);
    double seconds[ROLE_COUNT] = { 0 };
    bool any[ROLE_COUNT] = { false };
    int rc = part ? 0 : error_oom(err, ROLE_COUNT * n_set * sizeof *part, "the counts of roles");
    for (size_t i = 0; part && i < ROLE_COUNT * n_set; i++)
        for (int f = 0; f < COUNTER_FIELD_COUNT; f++)
            part[i].valid[f] = true;
    for (size_t s = 0; rc == 0 && s < n_set; s++) {
        double ignored;
        engine_profile(bench_engine(b, t), true);
        rc = one(b, t, tok, true, (int)s, &ignored, err);
        engine_profile(bench_engine(b, t), false);
        const struct op_sample *op = engine_samples(bench_engine(b, t));
        for (size_t i = 0; rc == 0 && i < l->n; i++) {
            const size_t role = (size_t)l->ops[i].role;
            if (op[i].n == 0)
                continue;
            counter_sample_add(&part[role * n_set + s], &op[i].counters);
            any[role] = true;
            seconds[role] += s == 0 ? op[i].seconds : 0;
        }
    }
    for (size_t k = 0; rc == 0 && k < ROLE_COUNT; k++) {
        struct counter_sample sum;
        counters_join(engine_counters(bench_engine(b, t)), &part[k * n_set], &sum);
        if (any[k])
            rc = add_counts(r, engine_counters(bench_engine(b, t)), cost, op_role_name((enum op_role)k), &sum, seconds[k], err);
    }
    free(part);
    return rc;
}

int bench_count(struct run *r, struct run_row *row, const struct bench *b, const struct bench_test *t, const int32_t *tok,
                struct error *err)
{
    const struct counters *c = engine_counters(bench_engine(b, t));
    struct run_counting cost = { .n_set = counters_n_set(c), .plain_s = NAN, .counted_s = NAN, .slowdown = NAN };
    struct counter_sample sum = { 0 }, *part;
    fill_dram(row, c, &sum, 1);
    if (strcmp(counters_name(c), "null") == 0)
        return 0;
    snprintf(cost.test, sizeof cost.test, "%s", row->test);
    snprintf(cost.phase, sizeof cost.phase, "%s", row->phase);
    snprintf(cost.backend, sizeof cost.backend, "%s", counters_name(c));
    part = calloc((size_t)cost.n_set, sizeof *part);
    int rc = part ? count_sets(b, t, tok, part, &cost, err) : error_oom(err, (size_t)cost.n_set * sizeof *part, "the counts");
    if (rc == 0) {
        counters_join(c, part, &sum);
        fill_dram(row, c, &sum, cost.counted_s);
        rc = add_counts(r, c, &cost, "", &sum, cost.counted_s, err);
    }
    free(part);
    if (rc == 0 && t->ops)
        rc = count_roles(r, b, t, tok, &cost, err);
    if (rc == 0 && !r->certificate && !(r->certificate = counters_certificate(c)))
        rc = error_oom(err, 0, "the certificate of the counters");
    return rc == 0 ? run_add_counting(r, &cost, err) : -1;
}
