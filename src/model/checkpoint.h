/* checkpoint.h: quantized checkpoints that are not a GGUF: what a matrix takes, scales included, and what its products are
 * computed in. Priced only. methods.md (4) */
#ifndef MODEL_CHECKPOINT_H
#define MODEL_CHECKPOINT_H

#include "model/internal.h"

/* How the scales of a matrix of rows x cols lie. */
enum scales {
    SCALES_MATRIX, /* one */
    SCALES_ROW,    /* one a row (an output) */
    SCALES_BLOCK,  /* one for group_rows x group columns, rounded up at the edges */
    SCALES_GROUP,  /* one for group columns of a row */
};

struct checkpoint {
    const char *name, *alias, *weights; /* see struct checkpoint_info */
    enum dtype elem;   /* of the numbers stored: what their products cost */
    unsigned bits;     /* of such a number; 0: its type's */
    enum scheme scheme;
    enum scales scales;
    uint32_t group_rows, group; /* 0: all */
    unsigned scale_bytes;
    unsigned matrix_bytes; /* for each matrix once: its global scale, its stored shape */
    bool packs_rows;   /* elements share 32-bit words along a column, else along a row; 8-bit floats and FP4 have no words */
    bool words;
    bool zeros;        /* an element's bits a group and row, packed into 32-bit words along the rows */
    bool g_idx;        /* an int32 a column */
    bool experts_only, ffn_only;
    bool tables;       /* the embedding and the LM head are quantized too; rows that no group divides are not */
    enum dtype kept;   /* of the tensors that are not quantized */
    const json_t *ignore; /* modules that are not quantized, besides those that never are; NULL: none. Borrowed. */
    const json_t *modules; /* modules of a size of their own (MLX): {"model.layers.0.mlp.down_proj": {"bits", "group_size"} or false}. Borrowed. */
    bool kv_said;      /* engines that load the file keep its KV cache in kv_type where nothing else is asked for */
    enum dtype kv_type;
    char note[200];    /* what of the file is left out, in words; "": nothing */
};

/* By name or alias, without regard to case; NULL when unknown. */
const struct checkpoint *checkpoint_find(const char *name);
/* Bytes of one matrix; UINT64_MAX: too many. */
uint64_t checkpoint_matrix_bytes(const struct checkpoint *c, uint64_t rows, uint64_t cols);
/* Fills in t, whose name, rows (of all its matrices), cols and n_mat are there. */
int checkpoint_tensor(const struct checkpoint *c, const char *what, struct tensor *t, struct error *err);
/* The name to show: with the group, where it is not the recipe's own. */
void checkpoint_name(char *buf, size_t n, const struct checkpoint *c);

/* ---- quant_config.c ---- */
/* quantization_config of a config.json j. 1: *c is it; 0: there is none; -1: it is not understood. */
int quant_config(const json_t *j, const char *what, struct checkpoint *c, struct error *err);

/* ---- module_name.c ---- */
/* The list names the module of this tensor ("blk.3.attn_q.weight"): by its name, a part of it between dots, a pattern with
 * stars or a regular expression ("re:..."). 1, 0, or -1 when an entry is no string or no expression. */
/* What an object says of the module of this tensor; NULL: nothing. */
const json_t *module_find(const json_t *o, const char *tensor);
/* The name is of a module that some tensor is. */
bool module_known(const char *name);
int module_listed(const json_t *list, const char *what, const char *tensor, struct error *err);

#endif
