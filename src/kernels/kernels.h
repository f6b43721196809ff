/*
 * kernels: the arithmetic of a forward pass, a complete plain C reference and faster slots for
 * each instruction set. kernels_init starts from ref and lets every ISA the CPU has override
 * slots, in one ladder (kernels.c). Kernels never allocate and never fail: shapes were checked
 * when the op list was built.
 *
 * Activations are f32. Products with quantized weights on a fast ISA use activations
 * quantized to 8 bits with one scale per 32 (ACT_Q8); BF16 weights use BF16 activations where
 * the CPU has the instruction; ref always uses float activations. Many tokens may see both
 * rounded to BF16 (bf16_min_tok), or floats as sums of two BF16 (F16 weights by tiles) or three (F32).
 */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include "base/base.h"
#include "dtype/dtype.h"

enum act_kind {
    ACT_F32,
    ACT_BF16, /* u16 bf16[cols] */
    ACT_Q8,   /* i8 q[cols], f32 d[cols/32], i16 sum[cols/16] */
    ACT_KIND_COUNT,
};

/*
 * Prepared activations of n_tok tokens. The three arrays are 64-byte aligned; rows are padded with
 * zeros to a multiple of 64 elements, and stand stride elements apart (kernels.c).
 * ACT_Q8: x[t,c] ~= d[t,c/32] * q[t,c], d = max|x| / 127 over the 32, q in -127..127 rounded to
 * nearest even; sum[t,c/16] = sum of q over 16. With pow2 d is rounded up to a power of two. A block with an infinity or a NaN has d = NaN and
 * q = 0; one whose largest |x| is below 2^-112 is zero. The same bits on every ISA. methods.md (89)
 */
struct acts {
    enum act_kind kind;
    bool pow2; /* ACT_Q8: asked of act_prepare, by whoever bound: d is rounded up to a power of two; else false */
    size_t n_tok, cols, stride;
    const float *f32;     /* ACT_F32: [n_tok, stride] (may be the caller's own buffer) */
    uint16_t *bf16;       /* ACT_BF16 */
    int8_t *q;            /* ACT_Q8 */
    float *d;             /* [n_tok, stride/32] */
    int16_t *sum;         /* [n_tok, stride/16] */
    /* Or NULL: acts_tiles_bytes() for the same once more as a slot's gemm walks them, once kernels.arrange has put them there; or for them
     * alone, by kernels_arrange_row: the arrays above are then of any content. */
    void *tiles;
    const void *tiles_for; /* of which format, the kernels' own mark; NULL: nothing is there */
};

struct matmul_args {
    const unsigned char *w; /* [rows, cols] blocks, row-major as in the file or packed (pack.h), as the slot reads them */
    size_t w_row_bytes, cols;
    const struct acts *x;   /* of the slot's act kind, n_tok tokens */
    float *y;               /* y[t * y_stride + r] */
    size_t y_stride;
    void *scratch;          /* this thread's, kernels_scratch_bytes() bytes, 64-byte aligned; of any content */
    bool prefetch_next;     /* rows behind the last are likely to be next: gemm may prefetch them */
    bool y_far;             /* caches will not keep y until it is read: gemm may write lines of it past them (share_far) */
};

/* Rows [row0, row1) of y = W x for all x->n_tok tokens. methods.md (5) */
typedef void matmul_fn(const struct matmul_args *a, size_t row0, size_t row1);

/* Part `part` of `parts` of prepared activations to x->tiles, for all rows and threads; done when all parts are. A gemm that finds none
 * there, or another format's, arranges what it needs in its scratch, each call anew: the same bits. */
typedef void arrange_fn(struct acts *x, unsigned part, unsigned parts);
/* Columns [c0, c0 + row->cols) of token t of x->tiles from row, these alone as prepared activations of one token; zeros if row has none. c0
 * is a multiple of 32, and so are the columns. */
typedef void arrange_row_fn(struct acts *x, size_t t, size_t c0, const struct acts *row);

struct matmul_slot {
    enum act_kind act;
    matmul_fn *gemv;   /* called when n_tok is small (at most gemv_max_tok) */
    matmul_fn *gemm;   /* any n_tok */
    unsigned gemv_max_tok; /* >= 1 */
    unsigned row_align;    /* split rows between threads at multiples of this */
};

/* Keys or values of one layer, as attention reads them: position j is row j % n_row (a ring, where a window
 * bounds the cache; else n_row is the whole context), each of its heads whole blocks. Any strides do; one head's
 * positions one after the other stream best. */
struct kv_rows {
    const unsigned char *data;
    enum dtype type;      /* any that can be dequantized; head_dim is a multiple of its block */
    size_t row_bytes;     /* of a head, from position to position */
    size_t head_bytes;    /* of a position, from head to head */
    uint32_t n_row;
};

struct attention_args {
    const float *q;           /* [n_tok, q_stride], heads q_head_stride apart */
    size_t q_stride, q_head_stride;
    struct kv_rows k, v;      /* v may be the first head_dim_v elements of k's rows (MLA) */
    float *out;               /* [n_tok, out_stride], heads of head_dim_v */
    size_t out_stride;
    uint32_t n_tok, n_past, n_head, n_head_kv, head_dim, head_dim_v;
    uint32_t window;          /* 0: none; else keys with pos > p - window */
    float scale;
    float softcap;            /* 0: none; else scores are cap * tanh(score / cap) */
    const float *sinks;       /* [n_head] a logit that joins the softmax's sum and nothing else; or NULL */
    uint32_t key0, key1;      /* one token: only keys [key0, key1) of those it sees, at least one; key1 0: all */
    float *part;              /* NULL; or one token's [n_head][2]: the largest score (or more than it, or up to 12 less)
                                 and sum of exp(score - that); out is then sum of exp(score - that) v */
    bool rounded;             /* queries, keys, values and weights may be rounded to BF16, if that is faster (95) */
    void *scratch;            /* kernels_attention_scratch_bytes() */
};

/* What was walked: added to inside the loops that walk it. Shares nothing with cost/cost.c. */
struct work {
    uint64_t weight_bytes, kv_bytes, act_bytes, flop;
};

/*
 * Causal attention of query heads [head0, head1) (all of one KV head) for tokens
 * [tok0, tok1). Score vectors have n_past + t + 1 entries (window aside). methods.md (11), (12)
 * Adds to *w: the FLOP of the rows really walked, 2 (head_dim + head_dim_v) an entry; K and V row bytes
 * (v that is part of k counts nothing) only when count_kv, of positions that no token from tok1 on walks: with
 * it for one head of a KV head and all tokens, each position walked counts once.
 */
typedef void attention_fn(const struct attention_args *a, uint32_t head0, uint32_t head1,
                          uint32_t tok0, uint32_t tok1, bool count_kv, struct work *w);

struct kernels {
    const char *isa; /* "ref", "avx2", ..., "neon", ... (kernels.c): the highest rung in use */
    struct matmul_slot mm[DTYPE_COUNT];     /* weights as in the file */
    struct matmul_slot packed[DTYPE_COUNT]; /* weights packed, row_align a multiple of PACK_ROWS; gemv NULL: no such */
    arrange_fn *arrange[DTYPE_COUNT]; /* for gemm of packed weights; NULL: it takes activations as they are prepared */
    arrange_row_fn *arrange_row[DTYPE_COUNT]; /* the same a piece of a row at a time (kernels_arrange_row); NULL: not */
    unsigned pow2_min_tok; /* tokens from which packed products gain by ACT_Q8 activations with pow2; 0: they never do */
    bool pow2; /* they may have them then: faster, and less exact, methods.md (89); kernels_init: false, the caller's to set */
    unsigned bf16_min_tok; /* tokens from which packed products of quantized weights round these and activations to BF16; 0: they never do */
    unsigned f32_min_tok;  /* tokens from which packed products of F32 take numbers apart, for tiles of BF16; 0: they never do */
    /* Prepare tokens [tok0, tok1) of x[n_tok, ld] into a (kind set, arrays allocated). */
    void (*act_prepare[ACT_KIND_COUNT])(struct acts *a, const float *x, size_t ld, size_t tok0,
                                        size_t tok1);
    void (*rms_norm)(float *dst, const float *src, const float *w, size_t n, float eps);
    /* dst[i] = activation(a[i]) * b[i], methods.md (13): SiLU; GELU by tanh; gpt-oss's clamped SwiGLU. dst may be a. */
    void (*silu_mul)(float *dst, const float *a, const float *b, size_t n);
    void (*gelu_mul)(float *dst, const float *a, const float *b, size_t n);
    void (*swiglu_oai)(float *dst, const float *a, const float *b, size_t n);
    void (*add)(float *dst, const float *src, size_t n);
    /* x[i] = exp(x[i] - max x) / their sum, n >= 1; a NaN or +infinity makes all of them NaN. methods.md (11) */
    void (*softmax)(float *x, size_t n);
    /* x[i] = cap * tanh(x[i] / cap) */
    void (*softcap)(float *x, size_t n, float cap);
    /* Rotate n_head heads, head_stride apart, in place; the first n_rot dims: pairs (2i, 2i+1), or
     * (i, i + n_rot/2) for rope_neox. cs: cos, sin interleaved, n_rot/2 pairs. methods.md (9) */
    void (*rope)(float *x, size_t n_head, size_t head_stride, size_t n_rot, const float *cs);
    void (*rope_neox)(float *x, size_t n_head, size_t head_stride, size_t n_rot, const float *cs);
    void (*f32_to_f16)(uint16_t *dst, const float *src, size_t n);
    attention_fn *attention;
    unsigned rounded_min_tok; /* tokens of a sequence from which attention gains by being rounded; 0: it never does */
};

/* flags: cpu_flags(), or fewer to force a lower rung. */
void kernels_init(struct kernels *k, unsigned cpu_flags);
/* "ref", "avx2", "avx512", "avx512vnni", "avx512bf16", "amx"; "neon", "dotprod", "i8mm"; "auto" -> flags allowed by the host;
 * error: unknown name (lists them), not built, or not on this CPU. */
int kernels_isa_flags(const char *name, unsigned *flags, struct error *err);
/* Names of the rungs built into this binary, best last; i from 0; NULL past the end. built and
 * usable are told apart: *usable is false where kernels_isa_missing() has a reason. */
const char *kernels_isa_at(size_t i, bool *usable);
/* Why a rung cannot be used here, of the CPU, the system, the binary ("not built") or the name ("unknown"); NULL: it can. */
const char *kernels_isa_missing(const char *name);

/* What acts.pow2 is to be for a product of so many tokens: false, where k.pow2 is. */
static inline bool kernels_acts_pow2(const struct kernels *k, bool packed, size_t n_tok)
{
    return k->pow2 && packed && k->pow2_min_tok > 0 && n_tok >= k->pow2_min_tok;
}

/* Tokens from which packed weights of type t are multiplied by tiles of BF16: of 16 bits, whatever gemv leaves; 0: they never are. */
static inline size_t kernels_tiles_min_tok(const struct kernels *k, enum dtype t)
{
    if (t == DTYPE_F32)
        return k->f32_min_tok;
    if (k->packed[t].act == ACT_Q8 || k->bf16_min_tok == 0)
        return k->bf16_min_tok;
    return k->arrange[t] ? k->packed[t].gemv_max_tok + 1 : 0;
}
/* Whether so many tokens are. */
static inline bool kernels_by_tiles(const struct kernels *k, const struct matmul_slot *slot, size_t n_tok)
{
    if (slot < k->packed || slot >= k->packed + DTYPE_COUNT)
        return false;
    const size_t least = kernels_tiles_min_tok(k, (enum dtype)(slot - k->packed));
    return least > 0 && n_tok >= least;
}

/* Whether kernels.arrange does anything for so many tokens and packed weights of type t: it leaves floats and BF16 that tiles do not take. */
static inline bool kernels_arranges(const struct kernels *k, enum dtype t, size_t n_tok)
{
    const struct matmul_slot *slot = &k->packed[t];
    return k->arrange[t] && n_tok > slot->gemv_max_tok && (slot->act == ACT_Q8 || kernels_by_tiles(k, slot, n_tok));
}

/* Whether activations for weights of type t can go to tiles row by row, and need stand nowhere else. */
static inline bool kernels_arranges_rows(const struct kernels *k, enum dtype t, size_t n_tok, size_t cols)
{
    return k->arrange_row[t] && kernels_by_tiles(k, &k->packed[t], n_tok) && cols % 32 == 0;
}
/* Token t's columns from c0 on to x->tiles: row is bound to one token and so many columns, and prepared from `from` first; the places behind
 * the last token go with it. As act_prepare and arrange, the same bits, but x's own arrays are left as they were. */
void kernels_arrange_row(const struct kernels *k, enum dtype type, struct acts *x, size_t t, size_t c0, struct acts *row, const float *from);

/* x->tiles are full, by whatever threads. */
static inline void kernels_mark_arranged(const struct kernels *k, enum dtype type, struct acts *x)
{
    const struct acts none = { .kind = x->kind };
    k->arrange_row[type](x, 0, 0, &none);
}

/* Whether attention over so many tokens of a sequence gains by attention_args.rounded. */
static inline bool kernels_attention_rounded(const struct kernels *k, size_t n_tok)
{
    return k->rounded_min_tok > 0 && n_tok >= k->rounded_min_tok;
}

/* Per-thread scratch for matmul slots of any type with these sizes. */
size_t kernels_scratch_bytes(size_t max_cols, size_t max_tok);
/* head_dim: the larger of keys' and values'. */
size_t kernels_attention_scratch_bytes(size_t max_kv, size_t head_dim, size_t group, size_t max_tok);
/* Bytes of the arrays of struct acts for n_tok x cols of a kind (64-byte aligned pieces), and the
 * pointers set into buf (64-byte aligned). ACT_F32 may also alias the source: act_alias_f32. */
size_t acts_bytes(enum act_kind kind, size_t n_tok, size_t cols);
/* Bytes of acts.tiles for n_tok x cols beside weights of a type, at most, on whatever rung: 9 a column of each five tokens begun, or of whole
 * groups of 32 a BF16 (ACT_F32: two, beside F32 three). */
size_t acts_tiles_bytes(enum act_kind kind, enum dtype type, size_t n_tok, size_t cols);
void acts_bind(struct acts *a, enum act_kind kind, size_t n_tok, size_t cols, void *buf);
/* ACT_F32 over the caller's rows x[n_tok, ld]; nothing to prepare. */
void acts_alias_f32(struct acts *a, size_t n_tok, size_t cols, const float *x, size_t ld);

#endif
