/*
 * tests/kernels/bench_table.c: every type's product on every rung, against the roof of its level: decode from DRAM beside a
 * load loop over the same bytes, decode from L2, prefill beside the peak of that ISA's instructions.
 */
#include "bench.h"
#include <math.h>
#include <strings.h>

enum { REPEATS = 3, RUNGS_MAX = 8 };

struct figures {
    double dram[2], of_load[2]; /* one thread, all; bytes/s and the fraction of the load loop's */
    double l2, prefill, of_peak;
};

/* The rungs of the table and their kernels; ref has no claim to speed. */
struct table {
    struct kernels rung[RUNGS_MAX];
    size_t n;
    struct team *team[2];
};

/* Load loop and decode in turn: the ceiling moves. */
static void measure_dram(struct figures *f, size_t i, struct bench *b, struct team *t)
{
    static team_fn *const fn[] = { bench_decode, bench_load, bench_load_ahead, bench_load_streams };
    double s[ARRAY_LEN(fn)][REPEATS], load_s = INFINITY;
    const double bytes = (double)(b->rows * b->row_bytes);
    for (size_t k = 0; k < REPEATS; k++)
        for (size_t j = 0; j < ARRAY_LEN(fn); j++) {
            const double t0 = clock_now_s();
            team_run(t, fn[j], b);
            s[j][k] = clock_now_s() - t0;
        }
    for (size_t j = 1; j < ARRAY_LEN(fn); j++)
        load_s = fmin(load_s, stats_median(s[j], REPEATS));
    const double decode_s = stats_median(s[0], REPEATS);
    f->dram[i] = bytes / decode_s;
    f->of_load[i] = load_s / decode_s;
}

static struct figures measure(struct bench *b, struct team *const team[2])
{
    struct figures f = { .dram = { NAN, NAN } };
    void *buf = prepare_acts(&b->k, b->slot->act, &b->a, b->x, 1, BENCH_COLS, BENCH_COLS);
    for (size_t i = 0; i < 2; i++)
        if (team[i])
            measure_dram(&f, i, b, team[i]);
    free(buf);
    f.l2 = bench_l2(b, REPEATS);
    f.prefill = bench_prefill(b, BENCH_TOKENS, false, REPEATS, &f.of_peak);
    return f;
}

static const struct matmul_slot *slot_of(const struct kernels *k, enum dtype t)
{
    return k->packed[t].gemv ? &k->packed[t] : &k->mm[t];
}

static bool same_slot(const struct kernels *a, const struct kernels *b, enum dtype t)
{
    const struct matmul_slot *x = slot_of(a, t), *y = slot_of(b, t);
    return x->gemv == y->gemv && x->gemm == y->gemm && x->act == y->act && a->act_prepare[x->act] == b->act_prepare[y->act];
}

static void print_heading(const struct table *t)
{
    char all[16];
    snprintf(all, sizeof all, "%d thr", t->team[1] ? team_size(t->team[1]) : 1);
    printf("Decode from DRAM in GB/s and %% of the best of three load loops over the same bytes, decode from L2 in GB/s (1 thread), prefill of %d "
           "tokens in GOP/s (1 thread) and %% of the peak of that ISA's instructions.\n\n%-8s", BENCH_TOKENS, "");
    for (size_t i = 0; i < t->n; i++)
        printf("| %-43s", t->rung[i].isa);
    printf("\n%-8s", "type");
    for (size_t i = 0; i < t->n; i++)
        printf("| %6s %5s %6s %5s %6s %6s %5s ", "1 thr", "", all, "", "L2", "GOP/s", "");
    printf("\n");
}

static void print_figures(const struct figures *f)
{
    printf("| ");
    for (size_t i = 0; i < 2; i++) {
        if (isnan(f->dram[i]))
            printf("%6s %5s ", "-", "");
        else
            printf("%6.1f %3.0f %% ", f->dram[i] / 1e9, 100 * f->of_load[i]);
    }
    printf("%6.1f %6.0f %3.0f %% ", f->l2 / 1e9, f->prefill / 1e9, 100 * f->of_peak);
    fflush(stdout);
}

static void print_row(const struct table *t, struct bench *b, const struct dtype_info *type, struct rng *r)
{
    printf("%-8s", type->name);
    for (size_t i = 0; i < t->n; i++) {
        size_t as = 0;
        while (as < i && !same_slot(&t->rung[as], &t->rung[i], type->id))
            as++;
        if (as < i) {
            printf("| as %-40s", t->rung[as].isa);
            continue;
        }
        fprintf(stderr, "%s %s ...\n", t->rung[i].isa, type->name);
        b->k = t->rung[i];
        bench_weights(b, type, r);
        const struct figures f = measure(b, t->team);
        print_figures(&f);
    }
    printf("\n");
}

int bench_table(struct bench *b, int argc, char **argv, struct rng *r)
{
    struct error err;
    struct table t = { 0 };
    struct cpulist cpus;
    const bool isa = argc > 0 && strncmp(argv[0], "isa=", 4) == 0;
    for (size_t i = 0; t.n < RUNGS_MAX && rung_at(i, &t.rung[t.n]); i++)
        t.n += strcmp(t.rung[t.n].isa, "ref") != 0 && (!isa || strcmp(argv[0] + 4, t.rung[t.n].isa) == 0);
    if (t.n == 0) {
        fprintf(stderr, "no such rung on this machine, or only ref, which is not fast\n");
        return 1;
    }
    if (cpulist_usable(&cpus, &err) != 0)
        return 1;
    t.team[0] = team_new(1, NULL, &err);
    t.team[1] = cpus.n > 1 ? team_new((int)cpus.n, &cpus, &err) : NULL;
    print_heading(&t);
    for (size_t d = 0; dtype_at(d); d++) {
        bool wanted = argc == isa;
        for (int j = isa; j < argc; j++)
            wanted = wanted || strcasecmp(argv[j], dtype_at(d)->name) == 0;
        if (wanted && dtype_executable(dtype_at(d)->id))
            print_row(&t, b, dtype_at(d), r);
    }
    printf("\n");
    team_free(t.team[0]);
    team_free(t.team[1]);
    cpulist_free(&cpus);
    return 0;
}
