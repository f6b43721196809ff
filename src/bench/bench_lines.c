/* Lines under the tables of `roofcast bench`: time lost by role, counts, findings, conditions. */
#include "bench/bench.h"
#include "predict/finding.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- time lost ------------------------------------------------------------------------------ */

static double lost(const struct run_op *o)
{
    return o->roof_fraction < 1 ? o->share * (1 - o->roof_fraction) : 0;
}

static int by_lost(const void *a, const void *b)
{
    const double x = lost(*(struct run_op *const *)a), y = lost(*(struct run_op *const *)b);
    return (x < y) - (x > y);
}

/* Roles of a test with the largest loss, and the sum of the others. */
static void print_test_lost(struct run_op *const *role, size_t n)
{
    enum { NAMED = 8 };
    double all = 0, rest = 0;
    for (size_t i = 0; i < n; i++)
        all += lost(role[i]);
    printf("Time lost versus the roofline in %s, by op: %.1f %%:", role[0]->test, 100 * all);
    for (size_t i = 0; i < n && i < NAMED; i++)
        printf(" %s %.1f%s", role[i]->role, 100 * lost(role[i]), i + 1 < n ? "," : "\n");
    for (size_t i = NAMED; i < n; i++)
        rest += lost(role[i]);
    if (n > NAMED)
        printf(" %zu other%s %.1f\n", n - NAMED, n - NAMED > 1 ? "s" : "", 100 * rest);
}

/* Row i begins another test, or a repetition of the same one. */
static bool ends_test(const struct run *roles, size_t first, size_t i)
{
    const struct run_op *a = &roles->op[first], *b = &roles->op[i];
    return strcmp(a->test, b->test) != 0 || strcmp(a->role, b->role) == 0;
}

int bench_print_lost(const struct run *roles, struct error *err)
{
    struct run_op **role = malloc((roles->n_op + 1) * sizeof *role);
    if (!role)
        return error_oom(err, roles->n_op * sizeof *role, "the roles of a test");
    for (size_t first = 0, end; first < roles->n_op; first = end) {
        for (end = first; end < roles->n_op && (end == first || !ends_test(roles, first, end)); end++)
            role[end - first] = &roles->op[end];
        qsort(role, end - first, sizeof *role, by_lost);
        print_test_lost(role, end - first);
    }
    free(role);
    return 0;
}

/* ---- counts --------------------------------------------------------------------------------- */

static double count_of(const struct run *r, const char *test, const char *field, const char **source)
{
    for (size_t i = 0; i < r->n_count; i++)
        if (strcmp(r->count[i].test, test) == 0 && strcmp(r->count[i].field, field) == 0 && !r->count[i].role[0]) {
            *source = r->count[i].source;
            return r->count[i].value;
        }
    return NAN;
}

/* Memory traffic by counters versus the engine's byte counts, with the cause of the difference. */
static void print_dram(const struct run *r, const struct run_row *row)
{
    const char *source;
    char a[32], b[32];
    const double counted = count_of(r, row->test, "dram_bytes", &source), accounted = row->weight_bytes + row->kv_bytes + row->act_bytes;
    const double ratio = counted / accounted;
    if (isnan(counted))
        return;
    printf("DRAM traffic of %s: %s per repetition by %s, %.2f times the %s of weights, KV cache and activations that the engine reads and writes: %s\n",
           row->test, units_si(a, sizeof a, counted, "B"), row->dram_source, ratio, units_si(b, sizeof b, accounted, "B"),
           ratio > 1.02   ? "the excess is prefetches, write-allocate reads and other processes"
           : ratio < 0.98 ? "the rest was served by caches"
                          : "equal within 2 %");
}

void bench_print_counts(const struct run *r)
{
    for (size_t i = 0; i < r->n_counting; i++) {
        const struct run_counting *c = &r->counting[i];
        const char *source;
        char a[32], b[32];
        const double cycles = count_of(r, c->test, "cycles", &source), instructions = count_of(r, c->test, "instructions", &source);
        printf("Counters of %s (%s, %d event set%s): ", c->test, c->backend, c->n_set, c->n_set == 1 ? "" : "s");
        if (isnan(cycles) || isnan(instructions))
            printf("no cycles and instructions; ");
        else
            printf("%s, %s, %.2f instructions per cycle; ", units_si(a, sizeof a, cycles, "cycles"),
                   units_si(b, sizeof b, instructions, "instructions"), instructions / cycles);
        printf("counter overhead %+.1f %%\n", 100 * (c->slowdown - 1));
    }
    for (size_t i = 0; i < r->n_row; i++)
        print_dram(r, &r->row[i]);
}

/* ---- findings and conditions ---------------------------------------------------------------- */

/* "tg128 lm_head: 31.2 GB/s above MBU's roof of 25.0 GB/s: cache reuse: ..." */
void bench_print_findings(const struct run *r)
{
    size_t i;
    json_t *j;
    json_array_foreach(r->findings, i, j)
    {
        char rate[32], roof[32];
        const char *unit = json_string_value(json_object_get(j, "unit")), *role = json_string_value(json_object_get(j, "role"));
        printf("Above the roof, %s%s%s, %s: %s of %s; %s\n", json_string_value(json_object_get(j, "test")), role ? " " : "",
               role ? role : "", json_string_value(json_object_get(j, "what")),
               units_si(rate, sizeof rate, json_number_value(json_object_get(j, "rate")), unit),
               units_si(roof, sizeof roof, json_number_value(json_object_get(j, "roof")), unit),
               json_string_value(json_object_get(j, "text")));
    }
}

/* All tests have the same reason: printed once. */
static bool one_reason(const struct run *r)
{
    for (size_t i = 0; i < r->n_row; i++)
        if (!*r->row[i].profile_reason || strcmp(r->row[i].profile_reason, r->row[0].profile_reason) != 0)
            return false;
    return r->n_row > 0;
}

void bench_print_conditions(const struct run *r)
{
    const bool once = one_reason(r);
    if (once)
        printf("Not compared with a stored profile: %s\n", r->row[0].profile_reason);
    for (size_t i = 0; i < r->n_row; i++) {
        const struct run_row *row = &r->row[i];
        char hz[32];
        printf("Conditions of %s: bandwidth probe varied by %.0f %%", row->test, 100 * row->roof_moved);
        if (!isnan(row->steal))
            printf(", %.1f %% of CPU time stolen", 100 * row->steal);
        if (!isnan(row->n_switch))
            printf(", %.1f involuntary context switches per repetition", row->n_switch);
        printf(", clock %s\n", units_si(hz, sizeof hz, row->clock_hz, "Hz"));
        if (row->cpu_share < BENCH_MIN_CPU_SHARE)
            printf("  in one repetition threads ran on a CPU for only %.0f %% of the time (other processes, or sleeping threads); with a barrier "
                   "after every op, speed drops by more than that\n",
                   100 * row->cpu_share);
        if (row->roof_moved > FINDING_MOVES)
            printf("  the bandwidth probe varied by more than %.0f %%: the machine is shared or busy; compare each repetition "
                   "with its adjacent probes (-o json: repetitions)\n",
                   100 * FINDING_MOVES);
        if (once)
            continue;
        if (*row->profile_reason)
            printf("  not compared with a stored profile: %s\n", row->profile_reason);
        else if (fabs(row->ceiling_bytes_s / row->profile_bytes_s - 1) > FINDING_MOVES)
            printf("  stored profile: DRAM read bandwidth %s; the adjacent probes differ by %.0f %%\n",
                   units_si(hz, sizeof hz, row->profile_bytes_s, "B/s"),
                   100 * (row->ceiling_bytes_s / row->profile_bytes_s - 1));
    }
}
