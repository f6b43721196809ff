/*
 * kernels/internal.h: what the ISA directories share: their init functions and the layout
 * of a thread's scratch. Only static inline code may stand here: this header is compiled
 * with the flags of every ISA.
 */
#ifndef KERNELS_INTERNAL_H
#define KERNELS_INTERNAL_H

#include "kernels/kernels.h"

void kernels_init_ref(struct kernels *k);
void kernels_init_avx2(struct kernels *k);
void kernels_init_avx512(struct kernels *k);
void kernels_init_avx512vnni(struct kernels *k);
void kernels_init_avx512bf16(struct kernels *k);
void kernels_init_amx(struct kernels *k);
/* Whether tiles multiply as they should: tried once, by a small product. Only where they are lent. */
bool kernels_amx_works(void);
/* Over the slots of the function before, what a CPU likes (CPU_TUNING): decode that asks memory ahead as it should, products of several
 * tokens for its ports. */
void kernels_tune_avx2(struct kernels *k, unsigned cpu_flags);
void kernels_tune_avx512(struct kernels *k, unsigned cpu_flags);
void kernels_tune_avx512vnni(struct kernels *k, unsigned cpu_flags);
void kernels_tune_avx512bf16(struct kernels *k, unsigned cpu_flags);
void kernels_init_neon(struct kernels *k);
void kernels_init_dotprod(struct kernels *k);
void kernels_init_i8mm(struct kernels *k);

/*
 * Scratch of a matrix product: a fixed part for unpacked weights, a part for each token
 * (activations of a step of columns as tiles read them), and one for each column: all activations of few
 * tokens, rearranged for one walk over the rows.
 */
enum {
    SCRATCH_PANEL_BYTES = 144 * 1024,
    SCRATCH_TOK_BYTES = 1536,
    GEMV_MAX_TOK = 4,
    TILES_TOK = 6, /* acts.tiles: places for tokens in a tile, */
    TILES_TOK_PAIRS = 5, /* of which tiles of some formats fill no more than so many, */
    TILES_BLOCK_BYTES = 48, /* and bytes of 32 columns of each; */
    TILES_GROUP_TOK = 32, /* or groups of so many, as BF16 */
    SCRATCH_COL_BYTES = 64, /* per column: activations laid out as gemv's lanes, or tiles of few tokens, need them */
    SCRATCH_AMX_BYTES = 1132 * 1024, /* all that products of the AMX rung use, which cut it up their own way */
};

/*
 * Decode asks memory for its weights ahead, every line: far into L2, near into L1, and on Intel's server cores no more than
 * half a page apart (avx512vnni/packed_gemv_rows.h). A Granite Rapids, pages of 4 KiB, as mapped files have, loads of 64 bytes, GB/s:
 * nothing asked 15.3, near alone (1 KiB) 16.0, 1 and 6 KiB 15.0, 2 and 4 KiB 17.4. The AVX2 rung, for CPUs without AVX-512,
 * computes more a line and asks once. On Zen 3 (large pages), % of the loads beside, two
 * processes, medians of two runs of the two and of one at 1.5 KiB in turn: Q8_0 67 and 78,
 * Q4_0 80 and 92, Q4_K 82 and 88, Q5_K 65 and 68, Q6_K 62 and 67. One process, one at 1, 1.5,
 * 2 and 3 KiB, medians of three to seven runs: Q8_0 87, 83, 78, 77; Q4_K 80, 88, 83, 80. Other
 * CPUs of this rung were not measured.
 */
#if defined(__AVX2__) && !defined(__AVX512F__)
enum { PREFETCH_NEAR = 1536 };
#define PREFETCH_LINE(p) __builtin_prefetch((const char *)(p) + PREFETCH_NEAR, 0, 3)
#else
#ifdef __AVX512F__
enum { PREFETCH_NEAR = 2048, PREFETCH_FAR = 4096 };
#else
enum { PREFETCH_NEAR = 1024, PREFETCH_FAR = 6144 };
#endif
#define PREFETCH_LINE(p)                                                                   \
    do {                                                                                   \
        __builtin_prefetch((const char *)(p) + PREFETCH_NEAR, 0, 3);                       \
        __builtin_prefetch((const char *)(p) + PREFETCH_FAR, 0, 2);                        \
    } while (0)
#endif

/* A line that is used once, soon, and by no other cache than L1: for CPU_SW_PREFETCH; nearer in long steps of one token. */
enum { PREFETCH_ONCE_NEAR = 3072, PREFETCH_ONCE = 6144 };
#define PREFETCH_LINE_ONCE_NEAR(p) __builtin_prefetch((const char *)(p) + PREFETCH_ONCE_NEAR, 0, 0)
#define PREFETCH_LINE_ONCE(p) __builtin_prefetch((const char *)(p) + PREFETCH_ONCE, 0, 0)

/* Keys a tile of the streaming softmax; one tile of K and V as f32 stays in the L2 cache:
 * 64 KiB with heads of 128, 272 KiB with MLA's 576 and 512, 512 KiB with the largest, 1024.
 */
enum { KV_TILE = 64 };

/* First key position that query position p sees. */
static inline uint32_t window_first(uint32_t p, uint32_t window)
{
    return window && p + 1 > window ? p + 1 - window : 0;
}

/* Constants of the gates, methods.md (13): GELU's sqrt(2 / pi) and factor of the cube; the
 * clamp and the slope of gpt-oss's SwiGLU. */
#define GELU_SCALE   0.79788456080286536
#define GELU_CUBE    0.044715
#define SWIGLU_MAX   7.0
#define SWIGLU_ALPHA 1.702

/* K and V bytes of one head at one position: V inside K's rows is read with them. */
static inline bool v_in_k(const struct attention_args *a)
{
    return a->v.data == a->k.data;
}
static inline size_t kv_position_bytes(const struct attention_args *a)
{
    return dtype_row_bytes(a->k.type, a->head_dim) +
           (v_in_k(a) ? 0 : dtype_row_bytes(a->v.type, a->head_dim_v));
}

/* Keys [first, end) that tokens [tok0, tok1) walk; a call that counts bytes counts those below
 * counted, which no later token walks. */
struct key_range {
    uint32_t first, end, counted;
};
static inline struct key_range attention_keys(const struct attention_args *a, uint32_t tok0,
                                              uint32_t tok1)
{
    struct key_range r = { .first = window_first(a->n_past + tok0, a->window),
                           .end = a->n_past + tok1 };
    r.counted = tok1 < a->n_tok ? window_first(a->n_past + tok1, a->window) : r.end;
    if (a->key1 > 0) {
        r.first = a->key0 > r.first ? a->key0 : r.first;
        r.end = a->key1 < r.end ? a->key1 : r.end;
    }
    return r;
}

#endif
