/*
 * quantize: converts a GGUF to other tensor types, streamed, with the error per tensor. Needs the file only: shapes, names and a few
 * metadata keys, no known architecture.
 */
#ifndef MODEL_QUANTIZE_H
#define MODEL_QUANTIZE_H

#include "dtype/dtype.h"
#include "gguf/gguf.h"

/* Tensor i of n; bytes read in all. */
struct quantize_progress {
    size_t i, n;
    const char *name;
    uint64_t done_bytes, total_bytes;
};

/* Type of the matrices whose name matches a POSIX extended regular expression. */
struct quantize_override {
    const char *pattern;
    const struct dtype_info *type;
};

struct quantize_options {
    const char *type; /* type or mixture name: "Q8_0", "Q4_K_M" */
    const struct quantize_override *override; /* first match applies */
    size_t n_override;
    const struct dtype_info *output_type, *embd_type; /* of LM head and embedding; NULL: by the mixture */
    bool pure;             /* base type for every matrix */
    bool allow_requantize; /* accept a quantized source */
    struct team *team;     /* NULL: calling thread only. Output does not depend on it. */
    void (*progress)(void *ctx, const struct quantize_progress *p); /* or NULL */
    void *ctx;
};

/* Result per tensor; errors compare values w before and w' after: methods.md (99). */
struct quantized_tensor {
    char name[64];
    enum dtype from, to;
    enum dtype wanted; /* `to` before the fallback for rows not divisible by 256 */
    uint64_t cols;     /* of a row */
    bool matrix;       /* quantizable; else copied (norms, biases, routers, vectors) */
    uint64_t n_elems, in_bytes, out_bytes;
    double sum_sq;  /* sum of w^2, matrices only */
    double err_sq;  /* sum of (w' - w)^2 */
    double max_err; /* largest |w' - w| */
};
struct quantized {
    struct quantized_tensor *tensor; /* file order */
    size_t n_tensors;
    uint64_t in_bytes, out_bytes; /* tensor bytes */
};

/*
 * Write g's tensors in o->type as one file at path that llama.cpp loads. Metadata is copied except general.file_type,
 * general.quantization_version and split keys. Memory: a chunk and a few rows per thread.
 *
 * errors   ERROR_USAGE  unknown type, invalid pattern or one without a match
 *          ERROR_INPUT  source type without values, target type that cannot be written, quantized source without allow_requantize,
 *                       weights not finite or too large for the type
 *          ERROR_SYSTEM disk full (checked before writing where possible)
 *          ERROR_INTERRUPTED; nothing is left at path and *q is empty
 * source   methods.md (2) types, (99) errors
 */
int model_quantize(const struct gguf *g, const char *path, const struct quantize_options *o, struct quantized *q,
                   struct error *err);
void quantized_free(struct quantized *q);

/* ||w' - w|| / ||w||, and its SNR, -20 log10 in dB; NaN without matrices, SNR also without rounding. */
double quantize_rmse(double err_sq, double sum_sq);
double quantize_snr_db(double err_sq, double sum_sq);
/* "blk.7.attn_q.weight" -> "attn_q" */
const char *quantize_role(char *buf, size_t n, const char *name);

#endif
