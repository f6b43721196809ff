/*
 * roofcast/bench.h: measured tokens/s of a model on this CPU, and the roofs probed in the same minute.
 *
 * The roofs of a shared machine move. Memory bandwidth and peak are therefore probed between the repetitions, and utilization is of
 * those probes (28).
 *
 * Threads  a benchmark uses all CPUs it is given: one at a time in a process.
 */
#ifndef ROOFCAST_BENCH_H
#define ROOFCAST_BENCH_H

#include <roofcast/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

struct roofcast_bench_options {
    size_t size;        /* of the struct, set by init */
    uint32_t n_prompt;  /* tokens of the prefill test: 512; 0: none */
    uint32_t n_gen;     /* tokens of the decode test: 128; 0: none */
    uint32_t n_depth;   /* tokens in the KV cache before: 0 */
    uint32_t n_batch;   /* sequences together: 1 */
    uint32_t n_ubatch;  /* prompt tokens of a pass: 512 */
    uint32_t n_reps;    /* repetitions of a test: 5 */
    uint32_t n_threads; /* as in roofcast_engine_options: 0 */
    const char *isa;    /* as there: NULL */
    int brief;          /* 1: probes of a few milliseconds in little memory, whose roofs are poor. Default 0 */
};
ROOFCAST_API void roofcast_bench_options_init(struct roofcast_bench_options *o, size_t size);

/* One test. NaN: not measured. */
struct roofcast_bench_test {
    const char *name;   /* "pp512", "tg128@d4096" */
    double tok_s, tok_s_sd; /* mean and standard deviation over the repetitions; tokens of all sequences */
    double ttft_s;      /* of a prefill: median seconds of the prompt */
    double itl_p50_s, itl_p99_s; /* of a decode: latency of a step */
    struct roofcast_cost cost; /* of one repetition, counted in the kernels' loops */
    double bytes_s, ceiling_bytes_s; /* weight and KV bytes read per second; memory bandwidth of the adjacent probes */
    double flop_s, ceiling_flop_s;
    double mbu, mfu;    /* bytes_s and flop_s over those ceilings */
    const char *bound;  /* "memory" "compute" "" */
    double roof_moved;  /* largest bandwidth probe less the smallest, over their median */
};

struct roofcast_bench;

/*
 * m        as for roofcast_engine_new()
 * o        NULL: defaults
 * errors   as roofcast_engine_new()
 * cost     seconds to minutes, and memory for engine and probes
 */
ROOFCAST_API struct roofcast_bench *roofcast_bench_run(const struct roofcast_model *m, const struct roofcast_bench_options *o,
                                                       struct roofcast_error *err);
ROOFCAST_API void roofcast_bench_free(struct roofcast_bench *b);
ROOFCAST_API size_t roofcast_bench_n_test(const struct roofcast_bench *b);
ROOFCAST_API const struct roofcast_bench_test *roofcast_bench_test(const struct roofcast_bench *b, size_t i); /* NULL past the end */

#ifdef __cplusplus
}
#endif
#endif
