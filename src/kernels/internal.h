/*
 * kernels/internal.h: init functions, scratch layout, prefetch distances: shared by the ISA directories. Static inline code only:
 * this header is compiled with the flags of every ISA.
 */
#ifndef KERNELS_INTERNAL_H
#define KERNELS_INTERNAL_H

#include "kernels/kernels.h"

/* Sets the slots of an instruction set over those of the ones below. cpu_flags choose among its functions (CPU_LIKES): prefetch
 * policy of decode, and products of several tokens by execution ports. */
void kernels_init_ref(struct kernels *k, unsigned cpu_flags);
void kernels_init_avx2(struct kernels *k, unsigned cpu_flags);
void kernels_init_avx512(struct kernels *k, unsigned cpu_flags);
void kernels_init_avx512vnni(struct kernels *k, unsigned cpu_flags);
void kernels_init_avx512bf16(struct kernels *k, unsigned cpu_flags);
void kernels_init_amx(struct kernels *k, unsigned cpu_flags);
void kernels_init_neon(struct kernels *k, unsigned cpu_flags);
void kernels_init_dotprod(struct kernels *k, unsigned cpu_flags);
void kernels_init_i8mm(struct kernels *k, unsigned cpu_flags);
/* Whether the tile instructions work: tried once on a small product. Call it only if the system permits tiles. */
bool kernels_amx_works(void);

/* The product of a slot: an inlined template with the constants it is compiled for. */
#define PRODUCT(name, template, ...)                                                     \
    static void name(const struct matmul_args *a, size_t row0, size_t row1)             \
    {                                                                                    \
        template(a, row0, row1, __VA_ARGS__);                                            \
    }

/* Scratch of a matrix product: a fixed part for unpacked weights, a part a token (packed activations of a step of columns), and a
 * part a column (packed activations of a small batch). */
enum {
    SCRATCH_PANEL_BYTES = 144 * 1024,
    SCRATCH_TOK_BYTES = 1536,
    GEMV_MAX_TOK = 4,
    TILES_TOK = 6,          /* acts.tiles: tokens a tile; */
    TILES_TOK_PAIRS = 5,    /* tokens used of a tile by formats that need more registers (SUMS_PAIRS); */
    TILES_BLOCK_BYTES = 48, /* bytes of 32 columns of a token; */
    TILES_GROUP_TOK = 32,   /* or tokens a group, as BF16 */
    SCRATCH_COL_BYTES = 64,
    SCRATCH_AMX_BYTES = 1132 * 1024, /* all the scratch of AMX products, which have a layout of their own */
};

/*
 * Prefetch distances of decode. AVX-512 and others prefetch each line twice: into L2 at PREFETCH_FAR, into L1 at PREFETCH_NEAR, at most
 * half a page apart on Intel's server cores (packed_gemv_rows.h). Granite Rapids, 4 KiB pages, loads of 64 bytes, GB/s: none 15.3,
 * 1 KiB alone 16.0, 1 and 6 KiB 15.0, 2 and 4 KiB 17.4. AVX2 computes more per line and prefetches once. Zen 3, % of plain loads, twice
 * and once at 1.5 KiB: Q8_0 67 and 78, Q4_0 80 and 92, Q4_K 82 and 88, Q5_K 65 and 68, Q6_K 62 and 67.
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

/* Prefetch into L1 alone (prefetchnta), for CPU_SW_PREFETCH; the shorter distance is for long steps of one token. */
enum { PREFETCH_ONCE_NEAR = 3072, PREFETCH_ONCE = 6144 };
#define PREFETCH_LINE_ONCE_NEAR(p) __builtin_prefetch((const char *)(p) + PREFETCH_ONCE_NEAR, 0, 0)
#define PREFETCH_LINE_ONCE(p) __builtin_prefetch((const char *)(p) + PREFETCH_ONCE, 0, 0)

/* Calls the inlined template rows with the number of tokens of gemv as a constant, so that accumulators are registers. */
#define GEMV_TOKENS(rows, a, row0, row1, ...)                                            \
    do {                                                                                 \
        switch ((a)->x->n_tok) {                                                         \
        case 1:                                                                          \
            rows(a, row0, row1, 1, __VA_ARGS__);                                         \
            break;                                                                       \
        case 2:                                                                          \
            rows(a, row0, row1, 2, __VA_ARGS__);                                         \
            break;                                                                       \
        case 3:                                                                          \
            rows(a, row0, row1, 3, __VA_ARGS__);                                         \
            break;                                                                       \
        default:                                                                         \
            rows(a, row0, row1, GEMV_MAX_TOK, __VA_ARGS__);                              \
            break;                                                                       \
        }                                                                                \
    } while (0)

/* Keys a tile of the streaming softmax. A tile of K and V as f32 fits L2: 64 KiB with heads of 128, 272 KiB with MLA's 576 and
 * 512, 512 KiB with 1024. */
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

/* K and V bytes of one head at one position; V inside K's rows counts once. */
static inline bool v_in_k(const struct attention_args *a)
{
    return a->v.data == a->k.data;
}
static inline size_t kv_position_bytes(const struct attention_args *a)
{
    return dtype_row_bytes(a->k.type, a->head_dim) +
           (v_in_k(a) ? 0 : dtype_row_bytes(a->v.type, a->head_dim_v));
}

/* Keys [first, end) that tokens [tok0, tok1) read. Bytes are counted for those below `counted`, which no later token reads. */
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
