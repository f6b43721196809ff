/*
 * Bytes of an op at each cache level: its operands as streams, and the level that serves each sweep of a stream. Streams follow the access
 * order of the engine's kernels; their constants cite the file they come from. methods.md (34)
 */
#include "timing/levels.h"
#include "timing/internal.h"
#include <math.h>
#include <string.h>

/* ---- the machine ------------------------------------------------------------------------------------- */

/* Caches of one level. */
struct cache_level {
    char name[8];
    double thread_bytes; /* capacity of one thread, for reuse within an op */
    double total_bytes;  /* capacity of all threads, for reuse between ops */
    double copies;       /* instances in use: fetches of data that all threads read */
};
struct hierarchy {
    struct cache_level cache[LEVELS_MAX - 1]; /* the first is nearest to the core */
    int n, n_threads;
    bool wide; /* vectors of 512 bits */
};

static struct cache_level cache_level(const struct hw_cache *c, int n_threads)
{
    const double n = n_threads, instances = c->n_instances > 0 ? c->n_instances : 1;
    const double used = min2(n, instances); /* threads are spread over instances before they share one */
    struct cache_level l = { .thread_bytes = c->size_bytes * used / n, .total_bytes = c->size_bytes * used, .copies = used };
    snprintf(l.name, sizeof l.name, "L%d", c->level);
    return l;
}

static int hierarchy_init(struct hierarchy *x, const struct hwprofile *h, int n_threads, struct error *err)
{
    *x = (struct hierarchy){ .n_threads = n_threads > 0 ? n_threads : 1, .wide = strstr(h->isa, "avx512") != NULL };
    if (h->kind != HW_CPU)
        return error_set(err, ERROR_INPUT, "profile %s is not a CPU: its caches are not simulated", h->id);
    for (int level = 1; level <= 9; level++)
        for (size_t i = 0; i < h->n_cache; i++) {
            const struct hw_cache *c = &h->cache[i];
            if (c->level != level || !(c->size_bytes > 0) || (x->n > 0 && x->cache[x->n - 1].name[1] == '0' + level))
                continue;
            if (x->n == LEVELS_MAX - 1)
                return error_set(err, ERROR_INPUT, "profile %s: more than %d levels of cache", h->id, LEVELS_MAX - 1);
            x->cache[x->n++] = cache_level(c, x->n_threads);
        }
    if (x->n > 0)
        return 0;
    return error_set(err, ERROR_INPUT, "profile %s states no cache sizes (caches; doc/formats.md)", h->id);
}

/* ---- streams -------------------------------------------------------------------------------------------- */

/*
 * One operand. Its first sweep has reuse distance `idle` (bytes since before the op), the following ones `reuse`: served by any cache of
 * that capacity.
 */
struct stream {
    double bytes;            /* once */
    double core_in, core_out; /* what instructions load and store of it */
    double sweeps, reuse;
    double idle;
    bool out;                /* written: lines are fetched first (write-allocate) */
    double writes;           /* sweeps that write */
    double keep;             /* written: reuse distance of the results */
    bool every_thread;       /* each thread reads all of it; else it is divided */
};

struct streams {
    const struct hierarchy *h;
    struct level_bytes *b;
    double far, near; /* idle of weights and cache, of activations; INFINITY: in memory */
};

/* Miss fraction at a reuse distance: sets fill unevenly, so misses begin before the cache is full and end after. */
static double gone(double distance, double cache_bytes)
{
    const double unevenness = 0.1;
    return max2(0, min2(1, 0.5 + (distance / cache_bytes - 1) / (2 * unevenness)));
}

static void add(const struct streams *w, struct stream s)
{
    if (!(s.bytes > 0))
        return;
    s.sweeps = s.sweeps > 1 ? s.sweeps : 1;
    s.writes = s.writes > 1 ? s.writes : 1;
    s.idle = s.idle > 0 ? s.idle : w->near;
    s.keep = s.keep > 0 ? s.keep : w->near;
    w->b->level[0].read_bytes += s.core_in;
    w->b->level[0].write_bytes += s.core_out;
    for (int i = 0; i < w->h->n; i++) {
        const struct cache_level *c = &w->h->cache[i];
        const double copies = s.every_thread ? c->copies : 1;
        const double again = gone(s.reuse, c->thread_bytes);
        w->b->level[i + 1].read_bytes += s.bytes * (copies * gone(s.idle, c->total_bytes) + (s.sweeps - 1) * again);
        if (s.out)
            w->b->level[i + 1].write_bytes += s.bytes * (gone(s.keep, c->total_bytes) + (s.writes - 1) * again);
    }
}

static void add_read(const struct streams *w, double bytes, double idle)
{
    add(w, (struct stream){ .bytes = bytes, .core_in = bytes, .idle = idle });
}

static void add_written(const struct streams *w, double bytes)
{
    add(w, (struct stream){ .bytes = bytes, .core_out = bytes, .out = true });
}

/* ---- products ----------------------------------------------------------------------------------------------- */

/* Blocking of the engine's products: kernels/avx2/packed.h, kernels/avx512vnni/packed_gemm.c, kernels/simd/dense_packed.h,
 * kernels/kernels.h (struct acts); engine/internal.h: rows that a thread takes at once. */
enum { CHUNK_COLS = 256, STEP_COLS = 3072, PANEL_ROWS = 16, SLAB_TOK = 512, UNIT_OF_ROWS = 256 };
static const double act_q8_bytes = 1.25; /* of an element: a byte, and its share of a scale and two sums */

struct blocking {
    double tile_rows, tile_tok; /* of a register tile */
    double few_tok;             /* small batch: weights go from memory to registers */
    double unit_bytes;          /* of an unpacked weight */
    double act_bytes;           /* of an activation as the tiles read it */
    double chunk_cols;          /* between two visits of y */
    bool prepared;              /* activations are copied into another form first */
};

/* Weights of eight bits, which AVX2 multiplies as 16. */
static bool is_wide(enum dtype t)
{
    return t == DTYPE_Q8_0 || t == DTYPE_IQ4_NL || t == DTYPE_IQ4_XS;
}

/* AVX-512 loops over steps of nearly equal size, whole chunks, of at most STEP_COLS. */
static double even_step(double cols)
{
    return ceil(ceil(cols / CHUNK_COLS) / max2(1, ceil(cols / STEP_COLS))) * CHUNK_COLS;
}

static struct blocking blocking_of(const struct op *op, bool wide, double cols)
{
    const struct dtype_info *t = op->w ? dtype_find(op->w->type) : NULL;
    if (t && t->block_elems > 1 && !wide && is_wide(op->w->type))
        return (struct blocking){ 16, 3, 1, 2, 2.5, CHUNK_COLS, true };
    if (t && t->block_elems > 1)
        return (struct blocking){ wide ? 32 : 16, wide ? 6 : 3, wide ? 4 : 1, 1, 1.5, wide ? even_step(cols) : CHUNK_COLS, true };
    return (struct blocking){ wide ? 32 : 16, wide ? 12 : 6, wide ? 12 : 6, 4, 4, cols, false };
}

/* y = W x, methods.md (5): n tokens, for each of `matrices` whose weights are read. */
static void add_product(const struct streams *w, const struct op *op, double weight, double n, double matrices)
{
    const double rows = op->rows, cols = op->cols;
    const struct blocking k = blocking_of(op, w->h->wide, cols);
    const bool few = n <= k.few_tok;
    const double panels = ceil(rows / PANEL_ROWS), steps = ceil(rows / k.tile_rows), tiles = ceil(n / k.tile_tok);
    const double weights = rows * cols * matrices, slab = min2(n, SLAB_TOK);
    const double panel = weight / matrices / panels, acts = k.act_bytes * cols * slab;
    const double scratch = k.unit_bytes * k.tile_rows * min2(cols, k.prepared ? k.chunk_cols : CHUNK_COLS);
    add(w, (struct stream){ .bytes = weight,
                            .core_in = weight + (few ? 0 : weights * k.unit_bytes * tiles),
                            .core_out = few ? 0 : weights * k.unit_bytes,
                            .sweeps = ceil(n / SLAB_TOK), .reuse = weight, .idle = w->far });
    const double x = 4 * cols * n * matrices;
    if (k.prepared) { /* read once, written as bytes */
        add(w, (struct stream){ .bytes = x, .core_in = x, .every_thread = n <= 1 });
        const double times = few || w->h->wide ? 1 : ceil(rows / UNIT_OF_ROWS); /* AVX2 copies them again for every unit */
        add(w, (struct stream){ .bytes = act_q8_bytes / 4 * x, .core_out = act_q8_bytes / 4 * x, .out = true,
                                .sweeps = times, .reuse = weight / matrices / times + acts + 4 * UNIT_OF_ROWS * slab,
                                .every_thread = n <= 1 });
    }
    add(w, (struct stream){ .bytes = k.act_bytes / 4 * x,
                            .core_in = (k.prepared ? 1 : 4) * cols * n * matrices * steps,
                            .core_out = k.prepared ? k.act_bytes / 4 * x : 0,
                            .sweeps = steps, .reuse = acts + panel * k.tile_rows / PANEL_ROWS + 64 * slab + (few ? 0 : scratch),
                            .out = k.prepared, .every_thread = true });
    const double y = 4 * rows * n * matrices, visits = few ? 1 : ceil(cols / k.chunk_cols);
    add(w, (struct stream){ .bytes = y, .core_in = y * (visits - 1), .core_out = y * visits, .sweeps = visits,
                            .reuse = slab * (k.act_bytes * min2(cols, k.chunk_cols) + 4 * k.tile_rows) + scratch,
                            .out = true, .writes = visits });
}

/* ---- attention ------------------------------------------------------------------------------------------------ */

/* kernels/internal.h, kernels/simd/attention_few.h, kernels/simd/attention_tile.h. */
enum { KV_TILE = 64, FEW_HEADS = 4, FEW_ROWS = 8, TILE_ROWS = 6 };

/* One token a sequence: keys and values as they are stored, for all heads that share them. methods.md (11) */
static void add_attention_few(const struct streams *w, const struct op *op, const struct cost *c, double seqs, double kv)
{
    const double group = (double)op->n_head / op->n_head_kv, blocks = ceil(group / FEW_HEADS);
    const double q = 4.0 * seqs * op->n_head * op->head_dim, out = 4.0 * seqs * op->n_head * op->head_dim_v;
    const double keys = c->flop / (2 * seqs * op->n_head * ((double)op->head_dim + op->head_dim_v));
    const double tiles = ceil(keys / KV_TILE), tile = kv / seqs / op->n_head_kv / max2(1, tiles);
    const double rows = 4 * group * ((double)op->head_dim + op->head_dim_v);
    add(w, (struct stream){ .bytes = kv, .core_in = kv * blocks, .sweeps = blocks, .reuse = tile + rows, .idle = w->far });
    add(w, (struct stream){ .bytes = q, .core_in = q * ceil(keys / FEW_HEADS), .sweeps = tiles, .reuse = tile + rows });
    add(w, (struct stream){ .bytes = out, .core_in = out * tiles, .core_out = out * tiles, .sweeps = tiles,
                            .reuse = tile + rows, .out = true, .writes = tiles });
}

/* Positions that units of `tok` tokens scan, of all the sequence's tokens t: each its own past. */
static double positions_scanned(const struct op *op, double t, double past, double tok)
{
    double sum = 0;
    for (double t0 = 0; t0 < t; t0 += tok) {
        const double end = past + min2(t, t0 + tok), first = past + t0 + 1 - op->window;
        sum += end - (op->window > 0 && first > 0 ? first : 0);
    }
    return sum;
}

/* Several tokens: units of tokens scan all keys they see, a tile of them converted to f32 at a time. */
static void add_attention_many(const struct streams *w, const struct op *op, const struct pass *p, double seqs, double kv)
{
    const double group = (double)op->n_head / op->n_head_kv, t = p->n_tok / seqs, dims = (double)op->head_dim + op->head_dim_v;
    const double units = attention_tiles(op, t), tok = ceil(t / units);
    const double heads = seqs * op->n_head_kv, scanned = positions_scanned(op, t, p->n_past, tok);
    const double rows = group * min2(t, tok), tiles = scanned / KV_TILE / units;
    const double tile = 4 * KV_TILE * dims, acts = 4 * rows * dims;
    const double present = op->window > 0 ? min2(p->n_past + t, op->window + t - 1) : p->n_past + t;
    add(w, (struct stream){ .bytes = kv, .core_in = kv * max2(1, scanned / present), .sweeps = scanned / present,
                            .reuse = kv / heads + 2 * acts + tile, .idle = w->far }); /* a KV head after the other (doc/notes/attention.md) */
    const double visits = scanned / KV_TILE * heads, blocks = ceil(rows / TILE_ROWS);
    add(w, (struct stream){ .bytes = tile * w->h->n_threads, .core_in = tile * visits * blocks, .core_out = tile * visits,
                            .sweeps = visits * (1 + blocks) / w->h->n_threads, .reuse = tile + 4 * TILE_ROWS * dims,
                            .out = true, .writes = visits / w->h->n_threads });
    const double q = 4.0 * p->n_tok * op->n_head * op->head_dim, out = 4.0 * p->n_tok * op->n_head * op->head_dim_v;
    const double vectors = KV_TILE / (w->h->wide ? 64.0 : 32.0); /* a broadcast of q times the keys of as many lanes */
    add(w, (struct stream){ .bytes = q, .core_in = q * tiles * vectors, .sweeps = tiles, .reuse = acts + tile });
    add(w, (struct stream){ .bytes = out, .core_in = out * tiles, .core_out = out * tiles, .sweeps = tiles,
                            .reuse = acts + tile, .out = true, .writes = tiles });
}

static void add_attention(const struct streams *w, const struct op *op, const struct pass *p, const struct cost *c,
                          const struct cost_options *o)
{
    const double seqs = p->n_seq > 0 ? p->n_seq : 1, group = (double)op->n_head / op->n_head_kv;
    const double acts = o->act_elem_bytes * p->n_tok * op->n_head * ((double)op->head_dim + op->head_dim_v);
    const double kv = c->kv_bytes + c->act_bytes - acts; /* MLA's expanded rows are activations */
    add_read(w, c->weight_bytes, w->far);
    if (p->n_tok <= seqs && group <= FEW_ROWS)
        add_attention_few(w, op, c, seqs, kv);
    else
        add_attention_many(w, op, p, seqs, kv);
}

/* ---- the others --------------------------------------------------------------------------------------------- */

/* Two sequential scans of a row: sum, then scale. methods.md (7) */
static void add_norm(const struct streams *w, const struct op *op, const struct pass *p, const struct cost *c)
{
    const double n = op_n_tok(op, p) * (double)(op->n_head > 1 ? op->n_head : 1), row = 4.0 * op->cols;
    add(w, (struct stream){ .bytes = n * row, .core_in = 2 * n * row, .sweeps = 2, .reuse = row });
    add(w, (struct stream){ .bytes = c->weight_bytes, .core_in = c->weight_bytes * n, .sweeps = n, .reuse = 3 * row, .idle = w->far, .every_thread = true });
    if (op->dst == op->src && op->dst_at == op->src_at)
        add(w, (struct stream){ .bytes = n * row, .core_out = n * row, .idle = row, .out = true });
    else
        add_written(w, n * row);
}

/* The angles' sines and cosines, which (9) does not count: of every token of a pass, for all layers. */
static void add_angles(const struct streams *w, const struct op *op, const struct pass *p)
{
    add_read(w, op->kind == OP_ROPE ? 4.0 * op_n_tok(op, p) * op->n_rot : 0, 0);
}

/* Reads and writes each operand once; what is written in place of what was read needs no other line. */
static void add_once(const struct streams *w, const struct op *op, const struct pass *p, const struct cost *c,
                     const struct cost_form *f)
{
    const double n = op_n_tok(op, p), in = f->act_in_tok * n, out = f->act_out_tok * n;
    const bool in_place = op->kind == OP_ADD || (op->dst == op->src && op->dst_at == op->src_at);
    add_read(w, c->weight_bytes, w->far);
    add_angles(w, op, p);
    add_read(w, in, 0);
    add(w, (struct stream){ .bytes = out, .core_out = out, .idle = in_place ? 1 : 0, .out = true });
    const double stored = f->kv_tok * n, state = f->kv_seq * (p->n_seq > 0 ? p->n_seq : 1);
    add(w, (struct stream){ .bytes = stored, .core_out = stored, .idle = w->far, .keep = w->far, .out = true });
    add(w, (struct stream){ .bytes = state / 2, .core_in = state / 2, .core_out = state / 2, .idle = w->far, .keep = w->far,
                            .out = true });
    add_read(w, c->kv_bytes - stored - state, w->far);
    add_written(w, c->act_bytes - in - out); /* MLA's expanded rows */
}

static void add_op(const struct streams *w, const struct op *op, const struct pass *p, const struct cost_options *o,
                   const struct cost *c)
{
    const struct cost_form f = cost_form(op, o);
    const double n = op_n_tok(op, p);
    if (op->kind == OP_MATMUL) {
        add_product(w, op, c->weight_bytes, n, 1);
    } else if (op->kind == OP_EXPERT_MATMUL && f.weight_expert > 0) {
        const double touched = c->weight_bytes / f.weight_expert;
        add_product(w, op, c->weight_bytes, n * op->n_expert_used / touched, touched);
    } else if (op->kind == OP_ATTENTION) {
        add_attention(w, op, p, c, o);
    } else if (op->kind == OP_RMS_NORM) {
        add_norm(w, op, p, c);
    } else {
        add_once(w, op, p, c, &f);
    }
}

int roofline_level_bytes(struct level_bytes *out, const struct op *op, const struct pass *p, const struct cost_options *o,
                         const struct hwprofile *h, const struct level_state *s, struct error *err)
{
    struct hierarchy x;
    *out = (struct level_bytes){ 0 };
    if (hierarchy_init(&x, h, s->n_threads, err) != 0)
        return -1;
    out->n = x.n + 1;
    for (int i = 0; i < out->n; i++)
        snprintf(out->level[i].name, sizeof out->level[i].name, "%s", i < x.n ? x.cache[i].name : "DRAM");
    const struct streams w = { &x, out, s->pass_bytes > 0 ? s->pass_bytes : INFINITY, s->near_bytes > 0 ? s->near_bytes : INFINITY };
    const struct cost c = cost_op(op, p, o);
    if (cost_bytes(&c) > 0)
        add_op(&w, op, p, o, &c);
    return 0;
}

void level_bytes_add(struct level_bytes *a, const struct level_bytes *b)
{
    if (a->n == 0)
        *a = (struct level_bytes){ .n = b->n };
    for (int i = 0; i < b->n; i++) {
        memcpy(a->level[i].name, b->level[i].name, sizeof a->level[i].name);
        a->level[i].read_bytes += b->level[i].read_bytes;
        a->level[i].write_bytes += b->level[i].write_bytes;
    }
}
