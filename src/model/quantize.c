/* Requantizes a GGUF: all tensor types are decided and checked first, then header and tensors are streamed: dequantize, quantize,
 * dequantize again to measure the error: methods.md (99). Tensors are cut into pieces of whole blocks of both types; sums are per
 * piece and added in order, so results do not depend on the number of threads. */
#include "model/quantize.h"
#include "model/internal.h"
#include "model/mixture.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Elements per piece (whole blocks of every type; two float copies fit in a core's cache), pieces between writes. */
enum { PIECE = 1 << 14, CHUNK_PIECES = 512 };

struct piece {
    double sum_sq, err_sq, max_err;
};

struct job {
    const struct dtype_info *from, *to; /* to NULL: measure only */
    const unsigned char *in;            /* current chunk */
    unsigned char *out;
    uint64_t n_elems; /* of the chunk */
    float *floats;    /* [n_threads][2][PIECE] */
    struct piece *piece; /* [CHUNK_PIECES] */
};

struct quantizer {
    const struct gguf *g;
    const struct quantize_options *o;
    struct quantized *q;
    struct gguf_writer *w;
    struct job job; /* its buffers */
    uint64_t done_bytes;
};

/* ---- arithmetic ---------------------------------------------------------------------------- */

static void convert(const struct job *j, uint64_t i, float *x, float *y)
{
    const uint64_t first = i * PIECE, n = u64_min(PIECE, j->n_elems - first);
    struct piece p = { 0 };
    j->from->dequantize(j->in + dtype_row_bytes(j->from->id, first), x, n);
    for (uint64_t k = 0; k < n; k++)
        p.sum_sq += (double)x[k] * x[k];
    if (j->to) {
        unsigned char *out = j->out + dtype_row_bytes(j->to->id, first);
        j->to->quantize(x, out, n);
        j->to->dequantize(out, y, n);
        for (uint64_t k = 0; k < n; k++) {
            const double e = fabs((double)y[k] - x[k]);
            p.err_sq += e * e;
            p.max_err = e > p.max_err ? e : p.max_err;
        }
    }
    j->piece[i] = p;
}

static void work(void *arg, int tid, int n_threads)
{
    const struct job *j = arg;
    float *x = j->floats + (size_t)tid * 2 * PIECE;
    for (uint64_t i = (uint64_t)tid; i * PIECE < j->n_elems; i += (uint64_t)n_threads)
        convert(j, i, x, x + PIECE);
}

double quantize_rmse(double err_sq, double sum_sq)
{
    return sum_sq > 0 ? sqrt(err_sq / sum_sq) : err_sq > 0 ? INFINITY : isnan(sum_sq) ? NAN : 0;
}

double quantize_snr_db(double err_sq, double sum_sq)
{
    return err_sq > 0 && sum_sq > 0 ? 10 * log10(sum_sq / err_sq) : NAN;
}

const char *quantize_role(char *buf, size_t n, const char *name)
{
    int at = 0;
    unsigned layer;
    if (sscanf(name, "blk.%5u.%n", &layer, &at) == 1 && at > 0)
        name += at;
    const size_t len = strlen(name), end = sizeof ".weight" - 1;
    const bool weight = len > end && strcmp(name + len - end, ".weight") == 0;
    snprintf(buf, n, "%.*s", (int)(weight ? len - end : len), name);
    return buf;
}

/* ---- the file ------------------------------------------------------------------------------------ */

static bool is(struct gguf_str s, const char *text)
{
    return s.len == strlen(text) && memcmp(s.s, text, s.len) == 0;
}

static int write_head(struct quantizer *z, struct error *err)
{
    static const char file_type[] = "general.file_type", version[] = "general.quantization_version";
    const uint32_t ftype = (uint32_t)mixture_file_type(z->o->type);
    enum { QUANTIZATION_VERSION = 2 };
    for (size_t i = 0; i < gguf_n_kv(z->g); i++) {
        enum gguf_type type;
        const struct gguf_str key = gguf_kv_at(z->g, i, &type);
        if (is(key, file_type))
            gguf_writer_kv_u32(z->w, file_type, ftype);
        else if (is(key, version))
            gguf_writer_kv_u32(z->w, version, QUANTIZATION_VERSION);
        else if (!is(key, "split.no") && !is(key, "split.count") && !is(key, "split.tensors.count"))
            gguf_writer_kv_copy(z->w, z->g, i);
    }
    if (!gguf_has(z->g, file_type))
        gguf_writer_kv_u32(z->w, file_type, ftype);
    if (!gguf_has(z->g, version))
        gguf_writer_kv_u32(z->w, version, QUANTIZATION_VERSION);
    for (size_t i = 0; i < z->q->n_tensors; i++) {
        const struct gguf_tensor *t = gguf_tensor_at(z->g, i);
        const struct quantized_tensor *r = &z->q->tensor[i];
        if (gguf_writer_tensor(z->w, r->name, t->n_dims, t->dims, r->to, err) != 0)
            return -1;
    }
    return gguf_writer_begin_data(z->w, err);
}

static void add_errors(struct quantized_tensor *r, const struct job *j)
{
    for (uint64_t i = 0; i * PIECE < j->n_elems; i++) {
        r->sum_sq += j->piece[i].sum_sq;
        r->err_sq += j->piece[i].err_sq;
        r->max_err = fmax(r->max_err, j->piece[i].max_err);
    }
}

/* Non-finite weights are errors. (A sum of squares in double does not overflow.) */
static int check_values(const struct quantizer *z, const struct quantized_tensor *r, struct error *err)
{
    if (r->from == r->to || (isfinite(r->sum_sq) && isfinite(r->err_sq)))
        return 0;
    if (!isfinite(r->sum_sq))
        return error_set(err, ERROR_INPUT, "%s: %s has weights that are not finite: damaged?", gguf_path(z->g), r->name);
    return error_set(err, ERROR_INPUT, "%s: %s has weights too large for %s", gguf_path(z->g), r->name,
                     dtype_name(r->to));
}

static int write_tensor(struct quantizer *z, size_t i, struct error *err)
{
    const struct gguf_tensor *t = gguf_tensor_at(z->g, i);
    struct quantized_tensor *r = &z->q->tensor[i];
    struct job *j = &z->job;
    const bool changes = r->from != r->to;
    const uint64_t chunk = (uint64_t)PIECE * CHUNK_PIECES;
    j->from = dtype_find(r->from);
    j->to = changes ? dtype_find(r->to) : NULL;
    for (uint64_t at = 0; at < r->n_elems; at += j->n_elems) {
        j->n_elems = u64_min(chunk, r->n_elems - at);
        const uint64_t in = dtype_row_bytes(r->from, at), in_bytes = dtype_row_bytes(r->from, j->n_elems);
        j->in = (const unsigned char *)t->data + in;
        gguf_will_read(z->g, t, in, u64_min(2 * in_bytes, t->bytes - in)); /* this chunk and the next */
        if (r->matrix && j->from->dequantize) {
            if (z->o->team)
                team_run(z->o->team, work, j);
            else
                work(j, 0, 1);
            add_errors(r, j);
        }
        if (check_values(z, r, err) != 0 || interrupt_check(err) != 0 ||
            gguf_writer_data(z->w, changes ? j->out : j->in, dtype_row_bytes(r->to, j->n_elems), err) != 0)
            return -1;
        gguf_was_read(z->g, t, in, in_bytes);
        z->done_bytes += in_bytes;
        if (z->o->progress)
            z->o->progress(z->o->ctx, &(struct quantize_progress){ i + 1, z->q->n_tensors, r->name, z->done_bytes,
                                                                   z->q->in_bytes });
    }
    return 0;
}

/* Buffers for a chunk of the widest type written. */
static int allocate(struct quantizer *z, struct error *err)
{
    const size_t n_threads = z->o->team ? (size_t)team_size(z->o->team) : 1;
    const size_t floats = n_threads * 2 * PIECE * sizeof(float), pieces = CHUNK_PIECES * sizeof(struct piece);
    size_t out = 1;
    for (size_t i = 0; i < z->q->n_tensors; i++) {
        const struct quantized_tensor *r = &z->q->tensor[i];
        if (r->from != r->to)
            out = u64_max(out, dtype_row_bytes(r->to, u64_min(r->n_elems, (uint64_t)PIECE * CHUNK_PIECES)));
    }
    z->job.out = malloc(out);
    z->job.floats = malloc(floats);
    z->job.piece = malloc(pieces);
    if (z->job.out && z->job.floats && z->job.piece)
        return 0;
    return error_oom(err, out + floats + pieces, "a chunk of weights");
}

static int write_file(struct quantizer *z, const char *path, struct error *err)
{
    z->w = gguf_writer_new(path, err);
    if (!z->w)
        return -1;
    int rc = write_head(z, err);
    for (size_t i = 0; rc == 0 && i < z->q->n_tensors; i++)
        rc = write_tensor(z, i, err);
    if (rc == 0)
        return gguf_writer_finish(z->w, err);
    gguf_writer_abort(z->w);
    return -1;
}

int model_quantize(const struct gguf *g, const char *path, const struct quantize_options *o, struct quantized *q,
                   struct error *err)
{
    struct quantizer z = { .g = g, .o = o, .q = q };
    *q = (struct quantized){ 0 };
    int rc = quantize_plan(g, o, q, err) != 0 || allocate(&z, err) != 0 || write_file(&z, path, err) != 0 ? -1 : 0;
    free(z.job.out);
    free(z.job.floats);
    free(z.job.piece);
    if (rc != 0)
        quantized_free(q);
    return rc;
}

void quantized_free(struct quantized *q)
{
    free(q->tensor);
    *q = (struct quantized){ 0 };
}
