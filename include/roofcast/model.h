/*
 * roofcast/model.h: a language model as a value: dimensions, tensors, and the list of ops of its forward pass.
 *
 * The op list is the centre of the library: the engine executes it, cost.h counts its bytes and FLOP, predict.h turns those into
 * seconds. A GGUF file, a Hugging Face config.json and a name of models/ all become the same handle; only a GGUF has weights.
 *
 * Threads  a model does not change after it was loaded: any number of threads may read it, and engines and predictions may share it.
 */
#ifndef ROOFCAST_MODEL_H
#define ROOFCAST_MODEL_H

#include <roofcast/error.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct roofcast_model;

/*
 * spec     path of a .gguf (of a split file: any part), path of a .json with the fields of a Hugging Face config, or the name of a
 *          preset ("llama-3.1-8b")
 * type     tensor type ("Q8_0"), mixture ("Q4_K_M") or checkpoint format ("FP8", "AWQ") of a model that is not a GGUF; NULL: F16, or what
 *          the config's quantization_config says. Must be NULL for a GGUF, whose tensors have types
 * errors   ROOFCAST_ERROR_USAGE   a type that the model cannot have
 *          ROOFCAST_ERROR_INPUT   unknown name or architecture: the message has the nearest, or the list; no such file; a
 *                                 damaged one: file, offset, key
 *          ROOFCAST_ERROR_SYSTEM  the file cannot be mapped, out of memory
 * cost     milliseconds; weights are mapped, not read
 */
ROOFCAST_API struct roofcast_model *roofcast_model_load(const char *spec, const char *type, struct roofcast_error *err);
ROOFCAST_API void roofcast_model_free(struct roofcast_model *m);

/* Dimensions have GGUF's names. 0: does not apply. */
struct roofcast_model_info {
    const char *name;     /* general.name, the preset or the file's name */
    const char *path;     /* "": a preset */
    const char *type;     /* "Q4_K_M", "F16": as users name it */
    const char *arch;     /* "llama" */
    uint32_t n_layer, n_embd, n_head, n_head_kv, head_dim, head_dim_v, n_ff, n_vocab;
    uint32_t n_ctx_train; /* context that it was trained on, tokens */
    uint32_t n_expert, n_expert_used, n_ff_exp; /* experts of a layer, of a token, and the width of one */
    uint64_t n_params;    /* elements of all tensors */
    uint64_t weight_bytes; /* bytes of all tensors, scales included */
    int has_weights;      /* from a GGUF */
    int executable;       /* engine.h runs this architecture */
    const char *kv_type;  /* type of the KV cache that the checkpoint asks for; "F16" where it does not */
    const char *note;     /* what of the file was left out or is doubtful; "": nothing */
};
ROOFCAST_API const struct roofcast_model_info *roofcast_model_info(const struct roofcast_model *m);

/* A weight: [rows, cols], row-major, cols contiguous; a vector has 1 row. */
struct roofcast_tensor {
    const char *name;    /* "blk.0.attn_q.weight": GGUF's */
    const char *type;    /* "Q4_K" */
    uint64_t rows, cols; /* of all stacked matrices, one below the other */
    uint64_t bytes;
    uint32_t n_matrix;   /* stacked: experts, heads; else 1 */
};
ROOFCAST_API size_t roofcast_model_n_tensor(const struct roofcast_model *m);
ROOFCAST_API const struct roofcast_tensor *roofcast_model_tensor(const struct roofcast_model *m, size_t i); /* NULL past the end */

/*
 * One op of the forward pass, in the order of execution. It says nothing of the number of tokens: a pass does (cost.h).
 *
 * kind     "matmul", "attention", "rms_norm", "rope", ...: what is computed
 * role     "attn_q", "ffn_down", ...: what for; of ops with a weight the name of its tensor
 */
struct roofcast_op {
    const char *kind, *role;
    int32_t layer;       /* -1: outside the layers */
    const char *tensor;  /* name of its weight; "": none */
    const char *type;    /* of its weight; "": none */
    uint64_t rows, cols; /* of its weight; 0: none */
    uint32_t n_matrix;   /* matrices stacked in the weight, of which a pass may read a part (experts); else 1, 0: no weight */
    uint32_t n_head, n_head_kv, head_dim, head_dim_v; /* attention and its kin; else 0 */
    uint32_t window;     /* keys that attention sees at most; 0: all */
    uint32_t n_expert, n_expert_used;
};
ROOFCAST_API size_t roofcast_model_n_op(const struct roofcast_model *m);
ROOFCAST_API const struct roofcast_op *roofcast_model_op(const struct roofcast_model *m, size_t i); /* NULL past the end */

/*
 * Names of the presets in the data directories, sorted.
 *
 * names    [*n]; roofcast_names_free()
 */
ROOFCAST_API int roofcast_model_names(char ***names, size_t *n, struct roofcast_error *err);

#ifdef __cplusplus
}
#endif
#endif
