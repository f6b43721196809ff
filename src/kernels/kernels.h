/*
 * kernels: the arithmetic of a forward pass, a complete plain C reference and faster slots for
 * each instruction set. kernels_init starts from ref and lets every ISA the CPU has override
 * slots, in one ladder (kernels.c). Kernels never allocate and never fail: shapes were checked
 * when the op list was built.
 *
 * Activations are f32. On a fast ISA products with quantized weights quantize activations to 8 bits with one scale per 32 (ACT_Q8), and
 * BF16 weights use BF16 activations if the CPU has the instruction; ref always uses float activations. Large batches may round both
 * operands to BF16 (bf16_min_tok), or split floats into sums of two BF16 (F16 weights by tiles) or three (F32).
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
 * zeros to a multiple of 64 elements, stride elements apart (kernels.c).
 * ACT_Q8: x[t,c] ~= d[t,c/32] * q[t,c], d = max|x| / 127 over the 32, q in -127..127 rounded to
 * nearest even; sum[t,c/16] = sum of q over 16. With pow2 d is rounded up to a power of two. A block with an infinity or a NaN has d = NaN and
 * q = 0; one whose largest |x| is below 2^-112 is zero. The same bits on every ISA. methods.md (89)
 */
struct acts {
    enum act_kind kind;
    bool pow2; /* ACT_Q8, set by the caller before act_prepare: d is rounded up to a power of two */
    size_t n_tok, cols, stride;
    const float *f32;     /* ACT_F32: [n_tok, stride] (may be the caller's own buffer) */
    uint16_t *bf16;       /* ACT_BF16 */
    int8_t *q;            /* ACT_Q8 */
    float *d;             /* [n_tok, stride/32] */
    int16_t *sum;         /* [n_tok, stride/16] */
    /* NULL, or acts_tiles_bytes() bytes: the same packed in the order in which gemm reads them, written by kernels.pack_acts, or by
     * kernels_pack_acts_row, which leaves the arrays above undefined. */
    void *tiles;
    const void *tiles_for; /* the format of tiles, private to the kernels; NULL: empty */
};

struct matmul_args {
    const unsigned char *w; /* [rows, cols] blocks of type, row-major as in the file or packed (pack.h), as the slot reads them */
    enum dtype type;        /* the slot's */
    size_t w_row_bytes, cols;
    const struct acts *x;   /* of the slot's act kind, n_tok tokens */
    float *y;               /* y[t * y_stride + r] */
    size_t y_stride;
    void *scratch;          /* of this thread, kernels_scratch_bytes() bytes, 64-byte aligned */
    bool prefetch_next;     /* the rows after row1 are likely to be next: gemm may prefetch them */
    bool y_nontemporal;             /* y exceeds the caches: gemm may use non-temporal stores (share_nontemporal) */
};

/* Rows [row0, row1) of y = W x for all x->n_tok tokens. methods.md (5) */
typedef void matmul_fn(const struct matmul_args *a, size_t row0, size_t row1);

/* Packs part `part` of `parts` of prepared activations into x->tiles for weights of type, once for all rows and threads. A gemm that
 * finds no tiles, or those of another format, packs activations into its scratch in each call, to the same bits. */
typedef void pack_acts_fn(struct acts *x, enum dtype type, unsigned part, unsigned parts);
/* Packs columns [c0, c0 + row->cols) of token t into x->tiles from row, the prepared activations of these columns; zeros if
 * row->n_tok is 0. c0 and row->cols are multiples of 32. */
typedef void pack_acts_row_fn(struct acts *x, size_t t, size_t c0, const struct acts *row);

struct matmul_slot {
    enum act_kind act;
    matmul_fn *gemv;   /* n_tok <= gemv_max_tok */
    matmul_fn *gemm;   /* any n_tok */
    unsigned gemv_max_tok; /* >= 1 */
    unsigned row_align;    /* rows are divided among threads at multiples of this */
};

/*
 * Keys or values of one layer. Any strides work; consecutive positions of one head are fastest.
 *
 *     contiguous  position j is row j % n_row: n_row is the context, or less if a window bounds the cache (a ring)
 *     paged       position j is row j % n_row of block table[j / n_row]
 */
struct kv_rows {
    const unsigned char *data;
    enum dtype type;       /* any that can be dequantized; head_dim is a multiple of its block */
    size_t row_bytes;      /* of a head, from position to position */
    size_t head_bytes;     /* of a position, from head to head */
    uint32_t n_row;        /* paged: a power of two, at least 8 */
    const uint32_t *table; /* of blocks; those that no token sees are not read. NULL: contiguous */
    unsigned shift;        /* paged: n_row is 1 << shift */
    size_t block_bytes;    /* paged: from block to block */
};

/* A head at a position. */
static inline const unsigned char *kv_at(const struct kv_rows *r, size_t head, uint32_t pos)
{
    const unsigned char *data = r->data + head * r->head_bytes;
    if (r->table)
        return data + r->table[pos >> r->shift] * r->block_bytes + (pos & (r->n_row - 1)) * r->row_bytes;
    return data + (size_t)(pos % r->n_row) * r->row_bytes;
}
/* Positions from pos on whose rows follow each other: up to the end of the ring or block. */
static inline uint32_t kv_run(const struct kv_rows *r, uint32_t pos)
{
    return r->n_row - (r->table ? pos & (r->n_row - 1) : pos % r->n_row);
}

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
    const float *sinks;       /* [n_head] a logit added to the softmax's sum only; or NULL */
    uint32_t key0, key1;      /* one token: only keys [key0, key1) of those it sees, at least one; key1 0: all */
    float *part;              /* NULL; or one token's [n_head][2]: the largest score (or more than it, or up to 12 less)
                                 and sum of exp(score - that); out is then sum of exp(score - that) v */
    bool rounded;             /* queries, keys, values and softmax weights may be rounded to BF16 (95) */
    void *scratch;            /* kernels_attention_scratch_bytes() */
};

/* Bytes and FLOP of what was read and computed, added inside the loops. Independent of the cost model. */
struct work {
    uint64_t weight_bytes, kv_bytes, act_bytes, flop;
};

/*
 * Causal attention of query heads [head0, head1) (all of one KV head; of one token also those of several whole ones) for tokens
 * [tok0, tok1). Score vectors have n_past + t + 1 entries (window aside). methods.md (11), (12)
 * Adds to *w: the FLOP of the entries computed, 2 (head_dim + head_dim_v) each; if count_kv, K and V row bytes (V inside K
 * counts nothing) of positions that no token from tok1 on reads: set for one head of a KV head, each position counts once.
 */
typedef void attention_fn(const struct attention_args *a, uint32_t head0, uint32_t head1,
                          uint32_t tok0, uint32_t tok1, bool count_kv, struct work *w);

struct kernels {
    const char *isa; /* "ref", "avx2", ..., "neon", ... (kernels.c): the highest instruction set in use */
    struct matmul_slot mm[DTYPE_COUNT];     /* weights as in the file */
    struct matmul_slot packed[DTYPE_COUNT]; /* weights packed, row_align a multiple of PACK_ROWS; gemv NULL: none */
    pack_acts_fn *pack_acts[DTYPE_COUNT]; /* packs activations for gemm of packed weights; NULL: gemm takes prepared ones */
    pack_acts_row_fn *pack_acts_row[DTYPE_COUNT]; /* the same for a piece of a row (kernels_pack_acts_row); NULL: none */
    unsigned pow2_min_tok; /* tokens from which packed products are faster with acts.pow2; 0: never */
    bool pow2;             /* acts.pow2 may be used: faster and less exact, methods.md (89); kernels_init sets false */
    unsigned bf16_min_tok; /* tokens from which packed products of quantized weights round both operands to BF16; 0: never */
    unsigned f32_min_tok;  /* tokens from which packed products of F32 split numbers into BF16; 0: never */
    /* Prepares tokens [tok0, tok1) of x[n_tok, ld] into a (bound). */
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
    unsigned rounded_min_tok; /* tokens of a sequence from which attention is faster rounded; 0: never */
};

/* flags: cpu_flags(), or fewer to force a lower instruction set. */
void kernels_init(struct kernels *k, unsigned cpu_flags);
/* "ref", "avx2", "avx512", "avx512vnni", "avx512bf16", "amx"; "neon", "dotprod", "i8mm"; "auto" -> flags allowed by the host;
 * error: unknown name (lists them), not built, or not on this CPU. */
int kernels_isa_flags(const char *name, unsigned *flags, struct error *err);
/* Names of the instruction sets built into this binary, best last; i from 0; NULL past the end. *usable is false if
 * kernels_isa_missing() has a reason. */
const char *kernels_isa_at(size_t i, bool *usable);
/* Why an instruction set cannot be used: the CPU, the system, the binary ("not built") or the name ("unknown"); NULL: it can. */
const char *kernels_isa_missing(const char *name);

/* The value of acts.pow2 for a product of n_tok tokens. */
static inline bool kernels_acts_pow2(const struct kernels *k, bool packed, size_t n_tok)
{
    return k->pow2 && packed && k->pow2_min_tok > 0 && n_tok >= k->pow2_min_tok;
}

/* Tokens from which packed weights of type t are multiplied by tiles of BF16; 16-bit types: above gemv_max_tok. 0: never. */
static inline size_t kernels_tiles_min_tok(const struct kernels *k, enum dtype t)
{
    if (t == DTYPE_F32)
        return k->f32_min_tok;
    if (k->packed[t].act == ACT_Q8 || k->bf16_min_tok == 0)
        return k->bf16_min_tok;
    return k->pack_acts[t] ? k->packed[t].gemv_max_tok + 1 : 0;
}
/* Whether n_tok tokens are. */
static inline bool kernels_by_tiles(const struct kernels *k, const struct matmul_slot *slot, size_t n_tok)
{
    if (slot < k->packed || slot >= k->packed + DTYPE_COUNT)
        return false;
    const size_t least = kernels_tiles_min_tok(k, (enum dtype)(slot - k->packed));
    return least > 0 && n_tok >= least;
}

/* Whether kernels.pack_acts applies to n_tok tokens and packed weights of type t: not to floats and BF16 that tiles do not multiply. */
static inline bool kernels_packs_acts(const struct kernels *k, enum dtype t, size_t n_tok)
{
    const struct matmul_slot *slot = &k->packed[t];
    return k->pack_acts[t] && n_tok > slot->gemv_max_tok && (slot->act == ACT_Q8 || kernels_by_tiles(k, slot, n_tok));
}

/* Whether activations for weights of type t can be packed row by row, without the unpacked arrays. */
static inline bool kernels_packs_acts_rows(const struct kernels *k, enum dtype t, size_t n_tok, size_t cols)
{
    return k->pack_acts_row[t] && kernels_by_tiles(k, &k->packed[t], n_tok) && cols % 32 == 0;
}
/* Prepares row (bound to one token and its columns) from `from` and packs it as token t, columns from c0 on, into x->tiles; with the
 * last token the unused tokens of its group. The same bits as act_prepare and pack_acts; x's own arrays are not written. */
void kernels_pack_acts_row(const struct kernels *k, enum dtype type, struct acts *x, size_t t, size_t c0, struct acts *row, const float *from);

/* Marks x->tiles as complete. */
static inline void kernels_mark_acts_packed(const struct kernels *k, enum dtype type, struct acts *x)
{
    const struct acts none = { .kind = x->kind };
    k->pack_acts_row[type](x, 0, 0, &none);
}

/* Whether attention over n_tok tokens of a sequence is faster with attention_args.rounded. */
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
/* Upper bound of the bytes of acts.tiles for n_tok x cols with weights of type, on any ISA: 9 a column of each five tokens begun, or
 * a BF16 a column of whole groups of 32 tokens (ACT_F32: two, with F32 weights three). */
size_t acts_tiles_bytes(enum act_kind kind, enum dtype type, size_t n_tok, size_t cols);
void acts_bind(struct acts *a, enum act_kind kind, size_t n_tok, size_t cols, void *buf);
/* n tokens of a from token t on: a view without tiles. */
struct acts acts_from(const struct acts *a, size_t t, size_t n);
/* ACT_F32 over the caller's rows x[n_tok, ld]; nothing to prepare. */
void acts_alias_f32(struct acts *a, size_t n_tok, size_t cols, const float *x, size_t ld);

#endif
