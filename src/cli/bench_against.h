/* bench_against.h: `bench --against`: this program and another one in turn, and their comparison. */
#ifndef CLI_BENCH_AGAINST_H
#define CLI_BENCH_AGAINST_H

#include "cli/compare.h"

enum { AGAINST_PROGRAM = 5120, AGAINST_LLAMA_BENCH, AGAINST_ROUNDS, AGAINST_FAIL_OVER };
/* Rows of bench's option table. */
/* clang-format off */
#define AGAINST_OPTIONS                                                                                                            \
    { "against", AGAINST_PROGRAM, "PROGRAM", 0,                                                                                    \
      "run this program and another roofcast in turn with the same options, in rounds A B, B A, ..., and compare B with A, "       \
      "as `roofcast compare` does; -r is of a round (default 2)", 0 },                                                              \
    { "against-llama-bench", AGAINST_LLAMA_BENCH, "PROGRAM", 0, "the same with llama-bench, on the CPU", 0 },                       \
    { "rounds", AGAINST_ROUNDS, "N", 0, "with --against: rounds (default 10, more for several tests)", 0 },                    \
    { "fail-over", AGAINST_FAIL_OVER, "N%", 0, "with --against: exit with status 4 if B is slower by more than N % in some test", 0 }
/* clang-format on */

/* Options of a command line as they were given, to give them to another process: "--n-prompt=512". */
struct against_words {
    char **v; /* [n], then NULL */
    int *key;
    size_t n;
};
struct against {
    const char *program; /* NULL: no --against */
    bool llama_bench;
    int64_t rounds;      /* 0: default */
    double fail_over;    /* NaN: not given */
    struct against_words words;
};
/* Handles an option of AGAINST_OPTIONS; CLI_UNKNOWN for other keys. */
int against_option(struct against *x, int key, const char *arg, struct error *err);
/* Remembers an option of the table for the other process, in place of an earlier value unless it is repeatable. errors: out of memory */
int against_remember(struct against *x, const struct argp_option *table, int key, const char *arg, struct error *err);
void against_free(struct against *x);

/* What llama-bench is told of the options: texts as given, NULL: not given. */
struct against_tests {
    const char *model, *p, *n, *d, *t, *ub, *cpus, *numa;
    int64_t reps;
    enum dtype type_k, type_v;
    bool no_warmup;
};
struct against_output {
    enum report_format format;
    const char *save; /* the comparison's JSON; NULL: not */
    bool ops;
};
/*
 * Rounds of both programs, then their comparison, also of the rounds that were complete before an interrupt or a failure.
 *
 * errors   ERROR_INPUT   a program ends with an error: names it, its status and the last line that it wrote; another output
 *          ERROR_UNAVAILABLE  it cannot be started
 *          ERROR_INTERRUPTED, ERROR_REGRESSION
 */
int against_run(const struct against *x, const struct against_tests *t, const struct against_output *o, struct error *err);

#endif
