/*
 * bench_price [ROOFCAST]: CPU time of predictions against their limits. `make bench` runs it.
 *
 * Microseconds of CPU time, the median of five rounds, once an op list is compiled into classes: of the price of a decode
 * step, of laying the classes out over another number of devices, and of a repeated query. With the path of the
 * program, also the CPU seconds of `roofcast sweep` for 100,000 configurations, everything from the config.json to the
 * rows included.
 */
#include "base/environment.h"
#include "../test.h"
#include "timing/step.h"
#include <math.h>
#include <sys/resource.h>
#include <time.h>

enum { N_ROUND = 5 };

/* What a figure may be; the last two columns' are the same for every model. */
static const double price_limit_us = 2, layout_limit_us = 2, sweep_limit_s = 1;

static const struct {
    const char *name, *kind;
} models[] = {
    { "llama-3.2-1b", "dense" },     { "llama-3-8b", "dense" },        { "llama-3.1-70b", "dense" },
    { "llama-3.1-405b", "dense" },   { "gemma-3-27b", "windows" },     { "mixtral-8x7b", "experts" },
    { "qwen3-235b-a22b", "experts" }, { "gpt-oss-120b", "experts" },   { "llama-4-scout-17b-16e", "experts" },
    { "deepseek-v2-lite", "MLA" },   { "deepseek-v3", "MLA" },         { "qwen3-next-80b-a3b", "hybrid" },
    { "nemotron-3-nano-30b-a3b", "hybrid" },
};

struct subject {
    struct model m;
    struct op_list ops;
    struct op_classes classes;
    struct roofs roofs;
    struct step_options o;
    uint32_t tp; /* the most devices of 8, 4 and 2 that divide the model */
    struct step_model step;
    double sink; /* what is computed is used */
    bool over;
};

/* ---- time ------------------------------------------------------------------------------------ */

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Does the work n times. */
typedef void work_fn(struct subject *s, int n);

static double median_us(work_fn *fn, struct subject *s, int n)
{
    double t[N_ROUND];
    fn(s, n); /* warm */
    for (int i = 0; i < N_ROUND; i++) {
        const double t0 = cpu_s();
        fn(s, n);
        t[i] = (cpu_s() - t0) / n * 1e6;
    }
    return stats_median(t, N_ROUND);
}

/* ---- what is timed --------------------------------------------------------------------------- */

static struct pass decode_step(int i)
{
    return decode_pass((uint32_t)(1000 + i), 1 + (uint32_t)i % 64);
}

static void price(struct subject *s, int n)
{
    for (int i = 0; i < n; i++) {
        const struct pass p = decode_step(i);
        s->sink += step_price(&s->step, &s->roofs, &p, 1, NULL, NULL).seconds;
    }
}

static void lay_out(struct subject *s, int n)
{
    struct error err;
    for (int i = 0; i < n; i++) {
        struct step_model other;
        struct step_options o = s->o;
        o.layout.tp = i % 2 ? s->tp : s->tp / 2;
        if (step_model_init(&other, &s->classes, &o, &err) != 0)
            return;
        s->sink += (double)other.n;
        step_model_free(&other);
    }
}

/* ---- a row ------------------------------------------------------------------------------------ */

static int subject_init(struct subject *s, const char *name, const char *type, struct error *err)
{
    struct hwprofile h;
    *s = (struct subject){ .o = { .cost = { .act_elem_bytes = 2, .type_k = DTYPE_F16, .type_v = DTYPE_F16 } } };
    if (model_load(&s->m, name, type, err) != 0 || op_list_build(&s->ops, &s->m, err) != 0 ||
        op_classes_init(&s->classes, &s->m, &s->ops, err) != 0 || hwprofile_load(&h, "h100-sxm", err) != 0)
        return -1;
    for (s->tp = 8; s->tp > 2; s->tp /= 2)
        if (layout_check(&(struct layout){ .tp = s->tp }, &s->classes, err) == 0)
            break;
    s->o.layout.tp = s->tp;
    const struct predict_options p = { .layout = s->o.layout, .weights_bytes = NAN };
    const int rc = roofs_init(&s->roofs, &h, &p, err);
    hwprofile_free(&h);
    return rc == 0 ? step_model_init(&s->step, &s->classes, &s->o, err) : -1;
}

static void subject_free(struct subject *s)
{
    step_model_free(&s->step);
    roofs_free(&s->roofs);
    op_classes_free(&s->classes);
    op_list_free(&s->ops);
    model_free(&s->m);
}

static const char *verdict(double found, double limit)
{
    return found <= limit ? "ok" : "over";
}

static void print_figure(struct subject *s, double us, double limit)
{
    printf(" | %7.3f %5.1f  %-4s", us, limit, verdict(us, limit));
    s->over |= us > limit;
}

static int print_row(size_t i, const char *type, bool *over)
{
    struct subject s;
    struct error err = { 0 };
    if (subject_init(&s, models[i].name, type, &err) != 0) {
        fprintf(stderr, "%s %s: %s\n", models[i].name, type, err.msg);
        return 1;
    }
    printf("%-24s %-8s %-7s %4zu %5zu %3u", models[i].name, models[i].kind, type, s.ops.n, s.classes.n, s.tp);
    print_figure(&s, median_us(price, &s, 4000), price_limit_us);
    print_figure(&s, median_us(lay_out, &s, 2000), layout_limit_us);
    printf("\n");
    *over |= s.over;
    const bool finite = s.sink > 0;
    subject_free(&s);
    return !finite;
}

/* ---- a grid --------------------------------------------------------------------------------------- */

static double children_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* 5 models x 4 types x 5 machines x 4 numbers of devices x 10 batches x 25 contexts. */
static int print_sweep(const char *program, bool *over)
{
    char command[4600];
    double t[N_ROUND];
    snprintf(command, sizeof command,
             "'%s' sweep -m llama-3-8b,llama-3.1-70b,mixtral-8x7b,gpt-oss-120b,deepseek-v3 -q F16,BF16,Q8_0,Q4_K_M "
             "--hw h100-sxm,h200-sxm,a100-sxm-80gb,b200-sxm,mi300x --tp 1-8*2 -b 1-512*2 -d 0-24576+1024 -p 0 -t 1 --quiet "
             "--save /dev/null", program);
    for (int i = 0; i < N_ROUND; i++) {
        const double t0 = children_s();
        if (system(command) != 0) {
            fprintf(stderr, "failed: %s\n", command);
            return 1;
        }
        t[i] = children_s() - t0;
    }
    const double s = stats_median(t, N_ROUND);
    printf("\n100,000 configurations (5 models, 4 types, 5 machines, 4 numbers of devices, 10 batches, 25 contexts), to their rows of "
           "CSV, on one core: %.3f s, at most %.1f  %s\n", s, sweep_limit_s, verdict(s, sweep_limit_s));
    *over |= s > sweep_limit_s;
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const types[] = { "F16", "Q4_K_M" };
    bool over = false;
    int rc = 0;
    environment_set_dirs(data_dirs());
    environment_set_dirs(data_dirs());
    printf("CPU time of predictions, microseconds (median of %d), and their limits: of a decode step on h100-sxm; of laying the model out over "
           "another number of devices.\n\n", N_ROUND);
    printf("%-24s %-8s %-7s %4s %5s %3s | %-19s | %-19s\n", "model", "kind", "type", "ops", "class", "tp", "step", "layout");
    for (size_t i = 0; i < ARRAY_LEN(models) && rc == 0; i++)
        for (size_t k = 0; k < ARRAY_LEN(types) && rc == 0; k++)
            rc = print_row(i, types[k], &over);
    if (rc == 0 && argc > 1)
        rc = print_sweep(argv[1], &over);
    if (rc == 0 && over)
        printf("\nOver a limit. The machine may be busy: run it again by itself before looking for the reason.\n");
    return rc;
}
