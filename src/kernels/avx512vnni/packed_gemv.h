/*
 * kernels/avx512vnni/packed_gemv.h: decode from packed weights (pack.h): y = W x of one to
 * VNNI_BATCH_TOK tokens, or on CPU_HW_PREFETCH VNNI_BATCH_MOST, for rows that begin at a multiple of PACK_ROWS.
 */
#ifndef KERNELS_AVX512VNNI_PACKED_GEMV_H
#define KERNELS_AVX512VNNI_PACKED_GEMV_H

#include "kernels/internal.h"

enum {
    VNNI_FEW_TOK = 3,    /* at most: weights cross the registers once, and memory alone counts */
    VNNI_BATCH_TOK = 6,  /* one pass, sums in registers. With more, tiles (packed_gemm.c) are faster: Zen 5, two threads, tokens/s of 6,
                            8, 12, 16 sequences by passes and by tiles, means of two: Q4_K_M 302, 312, 367, 354 and 288, 379, 444, 467;
                            Q8_0 197, 272, 335, 408 and 188, 256, 392, 520; Q4_0 420, 463, 468, 474 and 346, 454, 498, 518 */
    VNNI_BATCH_MOST = 8, /* on CPU_HW_PREFETCH, of types whose weights the first tile copies, but MXFP4. Zen 4, two threads, tokens/s
                            of 7 and 8 sequences by tiles and by such passes, medians of three, memory's state not always the same: Q5_K_M
                            181, 204 and 240, 237; Q6_K 184, 204 and 239, 243; Q5_0 754, 843 and 989, 959; Q5_1 622, 655 and 906, 938; but
                            MXFP4 761, 844 and 697, 810; Q4_0 270, 284 and 266, 266; Q4_K_M 238, 254 and 250, 253; Q8_0 234, 247 and 227, 237.
                            With tiles that copy, doc/notes/kernels.md, GOP/s of 8 by one thread: Q5_K 262 and 263, Q6_K 263 and 283, IQ4_XS 317
                            and 327, IQ4_NL 315 and 335, Q4_1 275 and 314, Q5_0 272 and 309, Q5_1 200 and 281 */
};

matmul_fn vnni_packed_gemv_q8_0, vnni_packed_gemv_q4_0, vnni_packed_gemv_q4_1;
matmul_fn vnni_packed_gemv_q5_0, vnni_packed_gemv_q5_1;
matmul_fn vnni_packed_gemv_iq4_nl, vnni_packed_gemv_mxfp4;
matmul_fn vnni_packed_gemv_q2_k, vnni_packed_gemv_q3_k, vnni_packed_gemv_q4_k;
matmul_fn vnni_packed_gemv_q5_k, vnni_packed_gemv_q6_k, vnni_packed_gemv_iq4_xs;

/* The same for CPU_HW_PREFETCH: nothing is asked of memory ahead. Types that are not here gain nothing by it. */
matmul_fn vnni_packed_gemv_q8_0_streams, vnni_packed_gemv_q4_0_streams, vnni_packed_gemv_q4_1_streams;
matmul_fn vnni_packed_gemv_q5_0_streams, vnni_packed_gemv_q5_1_streams;
matmul_fn vnni_packed_gemv_iq4_nl_streams, vnni_packed_gemv_mxfp4_streams;
matmul_fn vnni_packed_gemv_q2_k_streams, vnni_packed_gemv_q3_k_streams, vnni_packed_gemv_q5_k_streams;
matmul_fn vnni_packed_gemv_q4_k_streams, vnni_packed_gemv_q6_k_streams, vnni_packed_gemv_iq4_xs_streams;

/* The same for CPU_SW_PREFETCH. */
matmul_fn vnni_packed_gemv_q8_0_once, vnni_packed_gemv_q4_0_once, vnni_packed_gemv_q4_1_once;
matmul_fn vnni_packed_gemv_q5_0_once, vnni_packed_gemv_q5_1_once;
matmul_fn vnni_packed_gemv_iq4_nl_once, vnni_packed_gemv_mxfp4_once;
matmul_fn vnni_packed_gemv_q2_k_once, vnni_packed_gemv_q3_k_once, vnni_packed_gemv_q4_k_once;
matmul_fn vnni_packed_gemv_q5_k_once, vnni_packed_gemv_q6_k_once, vnni_packed_gemv_iq4_xs_once;

#endif
