/* kernels.c: the ladder of instruction sets, and the buffers kernels work on. */
#include "config.h"
#include "kernels/internal.h"
#include <string.h>

/*
 * Slowest first. An instruction set is used if the CPU has all it needs, and overrides slots of those below it.
 */
struct rung {
    const char *name;
    unsigned needs;
    void (*init)(struct kernels *k, unsigned cpu_flags); /* NULL: not built */
};

#ifndef HAVE_ISA_AVX2
#define kernels_init_avx2 NULL
#endif
#ifndef HAVE_ISA_AVX512
#define kernels_init_avx512 NULL
#endif
#ifndef HAVE_ISA_AVX512VNNI
#define kernels_init_avx512vnni NULL
#endif
#ifndef HAVE_ISA_AVX512BF16
#define kernels_init_avx512bf16 NULL
#endif
#ifndef HAVE_ISA_AMX
#define kernels_init_amx NULL
#define kernels_amx_works() false
#endif
#ifndef HAVE_ISA_NEON
#define kernels_init_neon NULL
#endif
#ifndef HAVE_ISA_DOTPROD
#define kernels_init_dotprod NULL
#endif
#ifndef HAVE_ISA_I8MM
#define kernels_init_i8mm NULL
#endif

enum {
    NEEDS_AVX512 = CPU_AVX2 | CPU_AVX512,
    NEEDS_VNNI = NEEDS_AVX512 | CPU_AVX512VNNI,
    NEEDS_BF16 = NEEDS_VNNI | CPU_AVX512BF16, /* no CPU has BF16 without VNNI */
    NEEDS_AMX = NEEDS_BF16 | CPU_AVX512VBMI | CPU_AMX_BF16,
    NEEDS_DOTPROD = CPU_NEON | CPU_DOTPROD,
    NEEDS_I8MM = NEEDS_DOTPROD | CPU_I8MM,
};

static const struct rung rungs[] = {
    { "ref", 0, kernels_init_ref },
    { "avx2", CPU_AVX2, kernels_init_avx2 },
    { "avx512", NEEDS_AVX512, kernels_init_avx512 },
    { "avx512vnni", NEEDS_VNNI, kernels_init_avx512vnni },
    { "avx512bf16", NEEDS_BF16, kernels_init_avx512bf16 },
    { "amx", NEEDS_AMX, kernels_init_amx },
    { "neon", CPU_NEON, kernels_init_neon },
    { "dotprod", NEEDS_DOTPROD, kernels_init_dotprod },
    { "i8mm", NEEDS_I8MM, kernels_init_i8mm },
};

/* Usable flags: tiles need the permission of the system, and must pass a trial product. */
static unsigned granted(unsigned flags)
{
    const bool tiles = (flags & NEEDS_AMX) == NEEDS_AMX && cpu_request_amx_tiles() && kernels_amx_works();
    return tiles ? flags : flags & ~(unsigned)CPU_AMX_BF16;
}

/* Instruction sets that run here but are slower than the one below, unless AMX needs their BF16 operands. */
static bool passed_over(const struct rung *r, unsigned flags)
{
    return r->needs == NEEDS_BF16 && (flags & CPU_SLOW_DOT_BF16) && !(flags & CPU_AMX_BF16);
}

void kernels_init(struct kernels *k, unsigned cpu_flags)
{
    const unsigned flags = granted(cpu_flags);
    memset(k, 0, sizeof *k);
    for (size_t i = 0; i < ARRAY_LEN(rungs); i++) {
        if (!rungs[i].init || (rungs[i].needs & ~flags) || passed_over(&rungs[i], flags))
            continue;
        rungs[i].init(k, flags);
        k->isa = rungs[i].name;
    }
}

/* Why an instruction set is not used here, or NULL. */
static const char *missing(const struct rung *r)
{
    const unsigned have = cpu_flags();
    if (r->needs & ~have)
        return "this CPU lacks instructions it needs";
    if (r->needs & ~granted(have))
        return cpu_request_amx_tiles() ? "its first product of tiles was wrong" : "the system lends no tiles";
    return NULL;
}

const char *kernels_isa_missing(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(rungs); i++)
        if (strcmp(name, rungs[i].name) == 0)
            return rungs[i].init ? missing(&rungs[i]) : "not built";
    return "unknown";
}

const char *kernels_isa_at(size_t i, bool *usable)
{
    for (size_t r = 0; r < ARRAY_LEN(rungs); r++) {
        if (!rungs[r].init || i-- > 0)
            continue;
        if (usable)
            *usable = !missing(&rungs[r]);
        return rungs[r].name;
    }
    return NULL;
}

/* The names built into this binary: "ref, avx2, avx512". */
static void list_built(char *buf, size_t n)
{
    size_t len = 0;
    buf[0] = 0;
    for (size_t i = 0; i < ARRAY_LEN(rungs) && len < n; i++)
        if (rungs[i].init)
            len +=
                (size_t)snprintf(buf + len, n - len, "%s%s", i ? ", " : "", rungs[i].name);
}

int kernels_isa_flags(const char *name, unsigned *flags, struct error *err)
{
    const unsigned have = cpu_flags();
    char built[128];
    list_built(built, sizeof built);
    if (strcmp(name, "auto") == 0) {
        *flags = have;
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(rungs); i++) {
        if (strcmp(name, rungs[i].name) != 0)
            continue;
        if (!rungs[i].init)
            return error_set(err, ERROR_UNAVAILABLE,
                             "isa %s: not built into this binary, which has: %s", name,
                             built);
        const char *why = missing(&rungs[i]);
        if (why)
            return error_set(err, ERROR_UNAVAILABLE, "isa %s: %s; 'auto' picks the best that runs here", name, why);
        *flags = rungs[i].needs | (have & CPU_TUNING);
        return 0;
    }
    return error_set(err, ERROR_USAGE, "isa '%s': unknown; expected auto or one of: %s",
                     name, built);
}

/* ---- buffers ------------------------------------------------------------------------- */

enum { ACT_PAD = 64, CACHE_LINE = 64 };

/* Elements from row to row: multiples of ACT_PAD, and for floats one cache line more: rows a power of two apart would share the sets
 * of a cache. */
static size_t act_stride(enum act_kind kind, size_t cols)
{
    const size_t n = size_align_up(cols, ACT_PAD);
    switch (kind) {
    case ACT_F32:
        return n + CACHE_LINE / sizeof(float);
    case ACT_BF16:
        return n + CACHE_LINE / sizeof(uint16_t);
    case ACT_Q8:
    case ACT_KIND_COUNT:
        break;
    }
    return n;
}

struct act_layout {
    size_t f32, bf16, q, d, sum, total; /* offsets of the arrays, bytes in all */
};

static struct act_layout act_layout(enum act_kind kind, size_t n_tok, size_t stride)
{
    struct act_layout l = { 0 };
    size_t n = n_tok * stride;
    switch (kind) {
    case ACT_F32:
        l.total = n * sizeof(float);
        break;
    case ACT_BF16:
        l.total = n * sizeof(uint16_t);
        break;
    case ACT_Q8:
        l.d = size_align_up(n, 64);
        l.sum = size_align_up(l.d + n / 32 * sizeof(float), 64);
        l.total = l.sum + n / 16 * sizeof(int16_t);
        break;
    case ACT_KIND_COUNT:
        break;
    }
    l.total = size_align_up(l.total, 64);
    return l;
}

size_t acts_bytes(enum act_kind kind, size_t n_tok, size_t cols)
{
    return act_layout(kind, n_tok, act_stride(kind, cols)).total;
}

size_t acts_tiles_bytes(enum act_kind kind, enum dtype type, size_t n_tok, size_t cols)
{
    const size_t planes = kind != ACT_F32 ? 1 : type == DTYPE_F32 ? 3 : 2;
    const size_t tiles = (n_tok + TILES_TOK_PAIRS - 1) / TILES_TOK_PAIRS, bytes = tiles * TILES_TOK * (cols / 32) * TILES_BLOCK_BYTES;
    const size_t bf16 = size_align_up(n_tok, TILES_GROUP_TOK) * cols * planes * sizeof(uint16_t);
    return size_align_up(bytes > bf16 ? bytes : bf16, 64);
}

void acts_bind(struct acts *a, enum act_kind kind, size_t n_tok, size_t cols, void *buf)
{
    size_t stride = act_stride(kind, cols);
    struct act_layout l = act_layout(kind, n_tok, stride);
    char *base = buf;
    memset(a, 0, sizeof *a);
    a->kind = kind;
    a->n_tok = n_tok;
    a->cols = cols;
    a->stride = stride;
    switch (kind) {
    case ACT_F32:
        a->f32 = (float *)(base + l.f32);
        break;
    case ACT_BF16:
        a->bf16 = (uint16_t *)(base + l.bf16);
        break;
    case ACT_Q8:
        a->q = (int8_t *)(base + l.q);
        a->d = (float *)(base + l.d);
        a->sum = (int16_t *)(base + l.sum);
        break;
    case ACT_KIND_COUNT:
        break;
    }
}

struct acts acts_from(const struct acts *a, size_t t, size_t n)
{
    struct acts x = *a;
    x.n_tok = n;
    x.f32 = a->f32 ? a->f32 + t * a->stride : NULL;
    x.bf16 = a->bf16 ? a->bf16 + t * a->stride : NULL;
    x.q = a->q ? a->q + t * a->stride : NULL;
    x.d = a->d ? a->d + t * a->stride / 32 : NULL;
    x.sum = a->sum ? a->sum + t * a->stride / 16 : NULL;
    x.tiles = NULL;
    x.tiles_for = NULL;
    return x;
}

void acts_alias_f32(struct acts *a, size_t n_tok, size_t cols, const float *x, size_t ld)
{
    memset(a, 0, sizeof *a);
    a->kind = ACT_F32;
    a->n_tok = n_tok;
    a->cols = cols;
    a->stride = ld;
    a->f32 = x;
}

void kernels_pack_acts_row(const struct kernels *k, enum dtype type, struct acts *x, size_t t, size_t c0, struct acts *row, const float *from)
{
    pack_acts_row_fn *const fn = k->pack_acts_row[type];
    if (row->kind == ACT_F32)
        row->f32 = from;
    else
        k->act_prepare[row->kind](row, from, 0, 0, 1);
    fn(x, t, c0, row);
    if (t + 1 < x->n_tok)
        return;
    row->n_tok = 0;
    for (size_t i = t + 1; i % TILES_GROUP_TOK; i++)
        fn(x, i, c0, row);
    row->n_tok = 1;
}

size_t kernels_scratch_bytes(size_t max_cols, size_t max_tok)
{
    const size_t bytes = SCRATCH_PANEL_BYTES + size_align_up(max_tok, 64) * SCRATCH_TOK_BYTES +
                         size_align_up(max_cols, 256) * SCRATCH_COL_BYTES;
    return bytes > SCRATCH_AMX_BYTES ? bytes : SCRATCH_AMX_BYTES;
}

size_t kernels_attention_scratch_bytes(size_t max_kv, size_t head_dim, size_t group,
                                       size_t max_tok)
{
    size_t dim = size_align_up(head_dim, 64);
    size_t rows = group * max_tok;
    /* ref: scores and one output row in double, a head of K or V; fast: K and V tiles,
     * scores of a tile and room for them as BF16, and for each (head, token) a maximum, up to 16 sums and
     * perhaps q as BF16, where its output is and its position; tiles of AMX: 16 rows of scores, weights and outputs */
    size_t ref = (max_kv + dim) * sizeof(double) + dim * sizeof(float);
    size_t fast = (2 * KV_TILE * dim + (1 + 16) * rows + 16 * KV_TILE) * sizeof(float) + rows * dim * sizeof(uint16_t) +
                  rows * (sizeof(float *) + sizeof(uint32_t)) + 64 + (24 * KV_TILE + 16 * dim) * sizeof(float);
    return size_align_up(ref > fast ? ref : fast, 64);
}
