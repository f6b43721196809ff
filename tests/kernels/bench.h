/* tests/kernels/bench.h: what the figures of checkkernel --bench are measured with. */
#ifndef TESTS_KERNELS_BENCH_H
#define TESTS_KERNELS_BENCH_H

#include "check.h"

enum { BENCH_COLS = 2048, BENCH_ROWS = 5632, BENCH_TOKENS = 512 };

/* A matrix larger than the caches, and the kernels that read it. */
struct bench {
    struct kernels k;
    const struct matmul_slot *slot; /* of packed weights where there is one */
    const struct dtype_info *type;
    unsigned char *w;
    size_t rows, row_bytes;
    struct acts a;
    float *y, *x;   /* x: BENCH_TOKENS tokens of BENCH_COLS */
    void **scratch; /* one a thread */
    bool packed;    /* how the weights lie */
};

/* Memory for n threads; false: none to be had. */
bool bench_init(struct bench *b, int n_threads, struct rng *r);
void bench_free(struct bench *b);
/* The slot of b->k for a type, and weights as it wants them; those that lie there already are kept. */
void bench_weights(struct bench *b, const struct dtype_info *t, struct rng *r);

/* Functions of a team: one token times the matrix; every line of it loaded once: plainly, with prefetching, at four
 * places at once. */
void bench_decode(void *bench, int tid, int n);
void bench_load(void *bench, int tid, int n);
void bench_load_ahead(void *bench, int tid, int n);
void bench_load_streams(void *bench, int tid, int n);
/* Bytes a second of one token times a matrix that lies in L2, on this thread. */
double bench_l2(struct bench *b, int repeats);
/* Operations a second of n tokens on this thread; *share of the peak of the ISA's instructions. Medians. */
double bench_prefill(struct bench *b, size_t n_tok, bool pow2, int repeats, double *share);

/* A row a type, columns a rung, in under three minutes. argv: isa=NAME, types. */
int bench_table(struct bench *b, int argc, char **argv, struct rng *r);

#endif
