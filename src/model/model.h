/*
 * model: a language model as a value: hyper-parameters, tensor table and, through op.h, the op list of its forward pass. GGUF files,
 * Hugging Face config.json files and names in models/ become the same struct; without a GGUF data pointers are NULL, which only the
 * engine needs.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/base.h"
#include "dtype/dtype.h"
#include "gguf/gguf.h"

enum rope_scaling {
    ROPE_SCALING_NONE,
    ROPE_SCALING_LINEAR,
    ROPE_SCALING_LLAMA3, /* factors per frequency: parameters in config.json, rope_freqs in a GGUF */
    ROPE_SCALING_YARN,
    ROPE_SCALING_LONGROPE, /* factors per frequency, separate within and beyond the original context */
};

/* Over n_embd: RMSNorm, LayerNorm, LayerNorm without bias. */
enum norm { NORM_RMS, NORM_LAYER, NORM_LAYER_NO_BIAS };

enum expert_gate { EXPERT_GATE_SOFTMAX = 1, EXPERT_GATE_SIGMOID = 2 }; /* values of expert_gating_func */

/* Parts of a hybrid model's layer. */
enum layer_part { PART_ATTENTION = 1, PART_RECURRENCE = 2, PART_FFN = 4, PART_EXPERTS = 8 };
enum { HYBRID_MAX_LAYER = 512 };

/* Models with different kinds of layers. Mamba-2's terms: for a DeltaNet keys are states, key heads groups, value heads heads.
 * Mamba-1: one head per channel. */
struct hybrid {
    uint8_t parts[HYBRID_MAX_LAYER]; /* [layer] enum layer_part; zeros: no hybrid */
    uint32_t n_head, head_dim;       /* of the recurrence; product: its width */
    uint32_t n_group, n_state;       /* groups of heads that share B and C (or keys), n_state elements each */
    uint32_t n_conv;                 /* convolution width, own position included */
    uint32_t n_dt;                   /* Mamba-1: dt rank */
    bool norm;                       /* output of the recurrence is normed */
    bool ungated;                    /* experts and FFN are Wdown act(Wup x) (Nemotron) */
};

/* Dimensions under GGUF's names; counts are 32 bits, products 64. Zero: n/a. */
struct hparams {
    uint32_t n_layer_nextn; /* multi-token prediction layers after n_layer, which are not of the model's pass (nextn.h) */
    uint32_t n_layer, n_embd, n_head, n_head_kv, n_ff, n_vocab, n_ctx_train;
    uint32_t head_dim, head_dim_v; /* of keys and queries; of values */
    uint32_t n_rot;                /* rotary dimensions of a head */
    double rms_eps;
    enum norm norm;
    bool tied;      /* LM head shares the embedding table */
    bool attn_bias; /* q, k, v biases */
    bool attn_output_bias;
    bool qk_norm;   /* q and k are normed, if the architecture has both variants */
    bool head_bias; /* LM head bias */
    double embed_scale, residual_scale, logit_scale; /* of embeddings, residual additions, logits; 0: 1 */
    double attn_scale; /* of scores; 0: 1/sqrt(head_dim) */
    double attn_softcap, final_softcap;

    /* Sliding windows: layer i is windowed unless it is the last of a window_period. */
    uint32_t window;        /* keys visible; 0: all */
    uint32_t window_period; /* 0: all layers */
    uint32_t head_dim_full, n_head_kv_full; /* of full-attention layers if different (Gemma 4); 0: same */
    bool shared_kv_full;                    /* their values are the projected keys */
    uint32_t n_layer_kv_shared;             /* last layers that read an earlier layer's KV (Gemma 4 E2B, E4B) */
    bool kv_shared_wide;                    /* their FFN is twice as wide */
    uint32_t n_embd_layer;                  /* width of per-layer embeddings; 0: none */
    uint32_t no_rope_period;                /* SmolLM3: the last layer of a period has no rotation */

    double rope_theta;
    double rope_theta_swa; /* of windowed layers; 0: same */
    enum rope_scaling rope_scaling;
    double rope_factor, rope_low, rope_high, rope_ctx_orig; /* see rope_scaling */
    double rope_attn_factor; /* amplitude before YaRN's own; 0: 1 */
    double yarn_log_mul, yarn_beta_fast, yarn_beta_slow;

    uint32_t n_expert, n_expert_used;     /* 0: dense */
    uint32_t n_ff_exp;                    /* expert width */
    uint32_t n_embd_exp;                  /* input and output width of routed experts, between two projections; 0: n_embd */
    uint32_t n_expert_shared, n_ff_shexp; /* shared experts, total width */
    uint32_t n_layer_dense;               /* leading layers without experts */
    uint32_t expert_period;               /* after these: the last of a period has experts; 0: every layer */
    bool shared_gate;                     /* shared experts are weighted by a sigmoid gate */
    uint32_t n_expert_group, n_expert_group_used;
    enum expert_gate expert_gate;
    bool expert_norm;    /* weights of the chosen experts sum to 1 */
    bool expert_bias;    /* selection bias (exp_probs_b) */
    double expert_scale; /* of expert weights; 0: 1 */
    bool expert_packed;  /* fused gate and up per expert, ffn_gate_up_exps (Gemma 4) */

    struct hybrid hybrid;
    /* DeepSeek-V4: residual streams; output projection groups and rank; leading layers with hash-routed experts */
    uint32_t n_stream, n_out_group, n_lora_out, n_layer_hash;
    uint8_t compress_log2[HYBRID_MAX_LAYER];       /* [layer] log2 of positions per compressed key; 0: none */
    uint32_t n_index_head, index_dim, n_index_top; /* sparse attention indexer: heads, width, keys selected */

    uint32_t n_lora_q, n_lora_kv; /* MLA: ranks of the query (0: full) and the latent */
    bool mla_split;               /* MLA: separate attn_k_b and attn_v_b instead of attn_kv_b */

    /* pre-Llama families */
    bool parallel;    /* attention and FFN in parallel */
    bool shared_norm; /* with one norm for both */
    bool post_norm;   /* norms after the residual additions, none after the last block (OPT-350M) */
    bool ffn_bias;
    bool alibi;         /* ALiBi: distance bias on scores, no rotation */
    uint32_t n_pos;     /* learned positions; 0: none */
    uint32_t n_embd_in; /* embedding width before a projection; 0: n_embd */
};

/* Layer i has sliding-window attention. */
bool hparams_windowed(const struct hparams *hp, uint32_t layer);
/* Layer i has experts. */
bool hparams_expert_layer(const struct hparams *hp, uint32_t layer);

/* Compute type of a product's operands. (26), (4) */
enum scheme {
    SCHEME_BY_TYPE, /* by the weights' type and the machine */
    SCHEME_FP16,    /* W4A16, W8A16: weights are dequantized */
    SCHEME_BF16,
    SCHEME_FP8, /* W8A8, W4A8 */
    SCHEME_INT8,
    SCHEME_FP4, /* W4A4 */
};

/* A weight [rows, cols], row-major; a vector has rows = 1. Stacked matrices (experts, heads) have the rows of all. */
struct tensor {
    char name[64];
    enum dtype type;
    uint64_t rows, cols;
    uint32_t n_mat; /* stacked matrices, or 1 */
    uint64_t bytes; /* rows * dtype_row_bytes(type, cols); checkpoint formats (4): with scales */
    enum scheme scheme;
    const void *data; /* NULL without a GGUF */
};

struct arch; /* row of archs[]: name and op list builder */

struct model {
    char name[128];     /* general.name, preset name or file name */
    char path[4096];    /* source file; "" for a preset */
    char type_name[32]; /* as users call it: "Q8_0", "Q4_K_M" (general.file_type), "F16" */
    const struct arch *arch;
    struct hparams hp;
    struct tensor *tensors;
    size_t n_tensors;
    uint64_t weight_bytes; /* sum over tensors */
    uint64_t n_params;     /* sum of elements over tensors */
    struct gguf *gguf;     /* NULL without a file */
    bool kv_type_given;    /* the checkpoint sets the default KV cache type of engines */
    enum dtype kv_type;
    char note[512]; /* ignored or doubtful parts of the file; "": none */
};

/*
 * spec     path of a .gguf, path of a .json with Hugging Face config fields, or a name in the model directories
 * type     NULL, or a type, mixture or checkpoint name for a model without GGUF (default F16, or by quantization_config); an error for a GGUF
 * errors   unknown names (with the nearest one), unsupported architectures (with the list of supported ones)
 */
int model_load(struct model *m, const char *spec, const char *type, struct error *err);
/* Of two GGUF files: ERROR_INPUT unless both have the same tokens, or neither has any; names both. */
int model_same_tokens(const struct model *m, const struct model *ref, struct error *err);
/* By preset name only, never a file. Unknown: *found false, returns 0. */
int model_load_preset(struct model *m, const char *name, const char *type, bool *found, struct error *err);
/* From an open GGUF, which m owns afterwards, on error too. */
int model_from_gguf(struct model *m, struct gguf *g, struct error *err);
/* From dimensions: tensors of `type` (dtype or mixture name; vectors F32) or of a checkpoint format. */
int model_from_hparams(struct model *m, const char *name, const char *arch,
                       const struct hparams *hp, const char *type, struct error *err);
/* Parse config.json text into hparams, checking its quantization_config (fuzzed). arch_out: static string such as "llama". */
int model_parse_config(const char *name, const void *data, size_t size, struct hparams *hp,
                       const char **arch_out, struct error *err);
void model_free(struct model *m);

/* ---- names of types (type_names.c) ---- */
/* Interpretation of a type's name. */
struct quant_name {
    char type[24]; /* type for model_load(), which may not know it; "": no type */
    double bits;   /* bits per weight of a large matrix; NaN: the type's own */
    bool known;    /* false: a guess */
};
/* Type by name, also in other programs' spelling ("Q4_K - Medium", "GPTQ-Int4", "INT8 W8A8"); false: unknown. */
bool model_type_named(struct quant_name *q, const char *text);
/* Lower case, dashes for blanks, without decorations. */
void model_type_plain(char *out, size_t size, const char *text);
/* True if model_load() accepts the type. */
bool model_knows_type(const char *name);

const struct tensor *model_find(const struct model *m, const char *name);
const char *model_arch_name(const struct model *m); /* "llama" */
/* True if the engine supports all ops. */
bool model_executable(const struct model *m);
/* Architecture i; false past the end. */
struct arch_info {
    const char *name;     /* general.architecture */
    char model_types[96]; /* of Hugging Face configs: "llama, mistral, mixtral" */
    bool experts, windows;
    bool predict_only; /* predicted from a config.json only: no GGUF, not executed */
};
bool model_arch_at(size_t i, struct arch_info *out);
/* Hint: bytes [at, at + bytes) of a tensor are no longer needed; their mapped pages may be dropped. */
void model_was_read(const struct model *m, const struct tensor *t, size_t at, size_t bytes);
/* Tensor by name ("blk.%d.attn_q.weight"); the error names the missing tensor. */
const struct tensor *model_get(const struct model *m, struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Sorted preset names; free each and the array. */
int model_list(char ***names, size_t *n, struct error *err);

/* Type of a tensor under a type or mixture name ("Q4_K_M": llama.cpp's rules with row fallbacks). Source: methods.md (2). */
int model_tensor_type(const char *type, const struct hparams *hp, const char *tensor_name,
                      uint64_t cols, enum dtype *out, struct error *err);

/* Name of mixture i ("Q4_K_M"; plain types included); NULL past the end. */
const char *model_mixture_at(size_t i);

/* Checkpoint format i (4), prediction only; false past the end. */
struct checkpoint_info {
    const char *name, *alias;   /* alias NULL: none */
    const char *weights, *math; /* "INT4, a scale of 16 bits and a zero of 4 for 128 columns of a row", "W4A16" */
    double bits;                /* per weight of a large matrix */
};
bool model_checkpoint_at(size_t i, struct checkpoint_info *out);

/* ---- synthetic GGUF files with random weights ---- */
struct synth_options {
    uint64_t seed;
    const char *name;  /* general.name; NULL: m->name */
    struct team *team; /* NULL: calling thread only. Output does not depend on it. */
    void (*progress)(void *ctx, const char *what, double fraction); /* or NULL */
    void *ctx;
};
/*
 * Write m's tensors (a model without a file, in its types) as a GGUF that llama.cpp loads, with a synthetic SentencePiece-style
 * tokenizer of n_vocab tokens. Streamed. Deterministic in seed and shape; types differ only in rounding.
 *
 * errors   ERROR_INPUT  a type that cannot be written, a vocabulary below 259, experts
 *          ERROR_SYSTEM disk full (checked before writing where possible)
 *          ERROR_INTERRUPTED; nothing is left at path
 * source   doc/notes/quantization.md scale of the weights
 */
int model_synth(const struct model *m, const char *path, const struct synth_options *o,
                struct error *err);

#endif
