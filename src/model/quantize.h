/*
 * quantize: a GGUF in other tensor types, streamed, with the error of every tensor against its source.
 *
 * It needs the file alone, not an architecture that is known here: shapes, names and a few metadata keys.
 */
#ifndef MODEL_QUANTIZE_H
#define MODEL_QUANTIZE_H

#include "dtype/dtype.h"
#include "gguf/gguf.h"

/* Where it stands: tensor i of n, bytes read of all. */
struct quantize_progress {
    size_t i, n;
    const char *name;
    uint64_t done_bytes, total_bytes;
};

/* Matrices in whose name the POSIX extended regular expression is found get this type. */
struct quantize_override {
    const char *pattern;
    const struct dtype_info *type;
};

struct quantize_options {
    const char *type; /* a type or mixture name: "Q8_0", "Q4_K_M" */
    const struct quantize_override *override; /* the first that fits */
    size_t n_override;
    const struct dtype_info *output_type, *embd_type; /* of the LM head and the embedding table; NULL: as the others */
    bool pure;             /* every matrix of the mixture's base type */
    bool allow_requantize; /* take a source that is quantized already */
    struct team *team;     /* NULL: the caller alone. The bytes do not depend on it. */
    void (*progress)(void *ctx, const struct quantize_progress *p); /* or NULL */
    void *ctx;
};

/* What became of a tensor. Errors compare its values w before and w' after: methods.md (99). */
struct quantized_tensor {
    char name[64];
    enum dtype from, to;
    enum dtype wanted; /* `to`, if its rows were a multiple of 256 */
    uint64_t cols;     /* of a row */
    bool matrix; /* the mixture rules over it; else it is copied (norms, biases, routers, vectors) */
    uint64_t n_elems, in_bytes, out_bytes;
    double sum_sq;  /* sum of w^2; matrices only */
    double err_sq;  /* sum of (w' - w)^2 */
    double max_err; /* largest |w' - w| */
};
struct quantized {
    struct quantized_tensor *tensor; /* in the file's order */
    size_t n_tensors;
    uint64_t in_bytes, out_bytes; /* of the tensors */
};

/*
 * Write g's tensors in o->type as one file at path that llama.cpp loads. Metadata is copied as it is but for
 * general.file_type, general.quantization_version and the keys of a split. Memory is a chunk and a few rows a thread,
 * whatever the model.
 *
 * errors   ERROR_USAGE  the type is unknown, a pattern is wrong or fits no matrix
 *          ERROR_INPUT  a source type without values, a target type that cannot be written, a quantized source
 *                       without allow_requantize, weights that are not finite or too large for the type
 *          ERROR_SYSTEM the disk is full (found before writing where it can be)
 *          ERROR_INTERRUPTED; in every case nothing is left at path and *q is empty
 * source   methods.md (2) types, (99) errors
 */
int model_quantize(const struct gguf *g, const char *path, const struct quantize_options *o, struct quantized *q,
                   struct error *err);
void quantized_free(struct quantized *q);

/* ||w' - w|| / ||w||, and the signal-to-noise ratio -20 log10 of it in dB; NaN where nothing was rounded (SNR) or
 * there is no matrix. */
double quantize_rmse(double err_sq, double sum_sq);
double quantize_snr_db(double err_sq, double sum_sq);
/* "blk.7.attn_q.weight" -> "attn_q": the name without block and ".weight". */
const char *quantize_role(char *buf, size_t n, const char *name);

#endif
