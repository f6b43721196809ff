/* checkpoint.h: quantized non-GGUF checkpoints: bytes per matrix with scales, and compute type of its products. Prediction only.
 * methods.md (4) */
#ifndef MODEL_CHECKPOINT_H
#define MODEL_CHECKPOINT_H

#include "model/internal.h"

/* Granularity of the scales of a rows x cols matrix. */
enum scales {
    SCALES_MATRIX, /* one */
    SCALES_ROW,    /* one per row (output) */
    SCALES_BLOCK,  /* one per group_rows x group columns, rounded up */
    SCALES_GROUP,  /* one per group columns of a row */
};

struct checkpoint {
    const char *name, *alias, *weights; /* see struct checkpoint_info */
    enum dtype elem;                    /* stored element type: cost of its products */
    unsigned bits;                      /* bits per element; 0: the type's */
    enum scheme scheme;
    enum scales scales;
    uint32_t group_rows, group; /* 0: whole dimension */
    unsigned scale_bytes;
    unsigned matrix_bytes; /* per matrix: global scale, stored shape */
    bool packs_rows;       /* elements share 32-bit words along columns, else along rows; FP8 and FP4 are not packed */
    bool words;
    bool zeros; /* zero points: one element per group and row, packed into 32-bit words along rows */
    bool g_idx; /* an int32 per column */
    bool experts_only, ffn_only;
    bool tables;           /* embedding and LM head are quantized too, unless a row is not a multiple of the group */
    enum dtype kept;       /* type of unquantized tensors */
    const json_t *ignore;  /* modules that are not quantized; NULL: none; borrowed */
    const json_t *modules; /* modules with other sizes (MLX): {"model.layers.0.mlp.down_proj": {"bits", "group_size"} or false}; borrowed */
    bool kv_type_given;    /* default KV cache type of engines is kv_type */
    enum dtype kv_type;
    char note[200]; /* what is ignored in the file; "" */
};

/* By name or alias, case-insensitive; NULL: unknown. */
const struct checkpoint *checkpoint_find(const char *name);
/* Bytes of one matrix; UINT64_MAX: overflow. */
uint64_t checkpoint_matrix_bytes(const struct checkpoint *c, uint64_t rows, uint64_t cols);
/* Sets type and bytes of t, given name, rows (of all its matrices), cols and n_mat. */
int checkpoint_tensor(const struct checkpoint *c, const char *what, struct tensor *t, struct error *err);
/* Display name, with the group size if not the default. */
void checkpoint_name(char *buf, size_t n, const struct checkpoint *c);

/* ---- quant_config.c ---- */
/* Reads quantization_config of a config.json j. 1: into *c; 0: none; -1: not supported. */
int quant_config(const json_t *j, const char *what, struct checkpoint *c, struct error *err);

/* ---- module_name.c ---- */
/* Whether the list names the module of a tensor ("blk.3.attn_q.weight"): by name, dotted part, wildcard pattern or regular
 * expression ("re:..."). 1, 0, or -1: invalid entry. */
/* Entry of an object for the module of a tensor; NULL: none. */
const json_t *module_find(const json_t *o, const char *tensor);
/* True if some tensor's module has that name. */
bool module_known(const char *name);
int module_listed(const json_t *list, const char *what, const char *tensor, struct error *err);

#endif
