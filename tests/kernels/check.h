/* tests/kernels/check.h: what the parts of checkkernel share. */
#ifndef TESTS_KERNELS_CHECK_H
#define TESTS_KERNELS_CHECK_H

#include "../test.h"
#include "kernels/kernels.h"

/* The i-th usable rung of this host, ready; false past the last. ROOFCAST_CHECK_ISA: that rung alone. */
bool rung_at(size_t i, struct kernels *k);
/* k, as rung_at() gave it, becomes the same rung of a CPU that differs from this one in CPU_TWO_PORTS. */
void rung_of_other_ports(struct kernels *k);
/* The long tests try every shape; where programs run slowly every n-th: ROOFCAST_CHECK_EVERY. */
size_t check_every(void);

/* 64-byte aligned, exactly n bytes usable for sanitizers; fails the test when out of
 * memory. */
void *check_alloc(size_t n);
/* The same full of NaNs: scratch, whose content kernels must not look at before they write it. */
void *check_scratch(size_t n);
float *random_floats(struct rng *r, size_t n, double scale);

/* rows x cols weights of a type: random quants, scales of sensible size. */
unsigned char *random_weights(struct rng *r, const struct dtype_info *t, size_t rows,
                              size_t cols);
/* Make scale i of a block (a min is one too) a NaN, or else infinite; false when the format
 * has no such. */
bool poison_block(const struct dtype_info *t, unsigned char *block, size_t i, bool nan);
/* What n weights would be with quants of 0: minus their mins; false when the format has none. */
bool weight_mins(const struct dtype_info *t, const unsigned char *w, float *min, size_t n);
/* |scale * quant| + |min| of each of n weights: what rounding errors are relative to. */
void weight_magnitudes(const struct dtype_info *t, const unsigned char *w, float *mag,
                       size_t n);
/* Activations of a kind from x[n_tok, ld] by k's own kernel; free a->.. through the return
 * value. */
void *prepare_acts(const struct kernels *k, enum act_kind kind, struct acts *a,
                   const float *x, size_t n_tok, size_t cols, size_t ld);
void *prepare_acts_pow2(const struct kernels *k, enum act_kind kind, bool pow2, struct acts *a, const float *x,
                        size_t n_tok, size_t cols, size_t ld);
/* A product: weights [rows, cols] as in a file, activations x[n_tok, cols + 3]. */
struct problem {
    const struct dtype_info *type;
    bool packed; /* the slot of packed weights is tried */
    size_t rows, cols, n_tok, row_bytes, y_stride;
    unsigned char *w;
    float *x;
};
void problem_init(struct problem *p, struct rng *r, const struct dtype_info *t, size_t rows, size_t cols, size_t n_tok);
void problem_free(struct problem *p);
const struct matmul_slot *problem_slot(const struct kernels *k, const struct problem *p);
/* The weights as the slot reads them; caller frees. */
unsigned char *weights_for_slot(const struct problem *p);

/* The float an activation stands for. */
float act_value(const struct acts *a, size_t t, size_t c);

void test_pack(void **state);
void test_pack_limits(void **state);
void test_unpack(void **state);
void test_matmul(void **state);
void test_matmul_parts(void **state);
void test_matmul_blocks(void **state);
void test_matmul_pairs(void **state);
void test_matmul_zero(void **state);
void test_matmul_slots(void **state);
void test_matmul_streams(void **state);
void test_matmul_poison(void **state);
void test_matmul_poison_many(void **state);
void test_matmul_subnormal(void **state);
void test_isa_names(void **state);
void test_isa_passed_over(void **state);
void test_acts_exact(void **state);
void test_acts_special(void **state);
void test_rms_norm(void **state);
void test_gates(void **state);
void test_softcap(void **state);
void test_shares(void **state);
void test_softmax(void **state);
void test_rope(void **state);
void test_add_f16(void **state);
void test_attention(void **state);
void test_attention_limits(void **state);
void test_attention_parts(void **state);
void test_attention_paged(void **state);
void test_attention_asks(void **state);

int bench_main(int argc, char **argv);

#endif
