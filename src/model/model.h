/*
 * model: a language model as a value: hyper-parameters, a tensor table and, through op.h, the
 * list of ops of its forward pass. A GGUF file, a Hugging Face config.json and a name in
 * models/ all become the same struct; without a GGUF the data pointers are NULL and only the
 * engine cares.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/base.h"
#include "dtype/dtype.h"
#include "gguf/gguf.h"

enum rope_scaling {
    ROPE_SCALING_NONE,
    ROPE_SCALING_LINEAR,
    ROPE_SCALING_LLAMA3, /* factors per frequency: config.json's parameters, or rope_freqs in a GGUF */
    ROPE_SCALING_YARN,
    ROPE_SCALING_LONGROPE, /* factors per frequency, one set within and one beyond the original context */
};

/* Of rows of n_embd: RMSNorm, LayerNorm, LayerNorm with a weight alone. */
enum norm { NORM_RMS, NORM_LAYER, NORM_LAYER_NO_BIAS };

enum expert_gate { EXPERT_GATE_SOFTMAX = 1, EXPERT_GATE_SIGMOID = 2 }; /* numbers of expert_gating_func */

/* What a layer of a hybrid has. */
enum layer_part { PART_ATTENTION = 1, PART_RECURRENCE = 2, PART_FFN = 4, PART_EXPERTS = 8 };
enum { HYBRID_MAX_LAYER = 512 };

/* Models whose layers differ in kind. The recurrence has Mamba-2's names: a DeltaNet's keys are its states, its heads of
 * keys the groups, its heads of values the heads. Mamba-1 has a head for every channel. */
struct hybrid {
    uint8_t parts[HYBRID_MAX_LAYER]; /* of each layer, enum layer_part; zeros: no hybrid */
    uint32_t n_head, head_dim;       /* of the recurrence; their product is its width */
    uint32_t n_group, n_state;       /* groups of heads that share B and C (or keys), of n_state elements each */
    uint32_t n_conv;                 /* positions the convolution sees, the token's own included */
    uint32_t n_dt;                   /* Mamba-1: rank of the steps */
    bool norm;                       /* what the recurrence gives is normed */
    bool ungated;                    /* experts and feed-forward networks are Wdown act(Wup x) (Nemotron) */
};

/* Dimensions under GGUF's names. Counts fit 32 bits; products are computed in 64. Zero: does not apply. */
struct hparams {
    uint32_t n_layer_nextn;     /* layers of multi-token prediction behind the n_layer, which are not run */
    uint32_t n_layer, n_embd, n_head, n_head_kv, n_ff, n_vocab, n_ctx_train;
    uint32_t head_dim, head_dim_v; /* of keys (and queries), of values */
    uint32_t n_rot;             /* rotary dimensions of a head */
    double rms_eps;
    enum norm norm;
    bool tied;                  /* the LM head is the embedding table */
    bool attn_bias;             /* q, k and v have biases */
    bool attn_output_bias;
    bool qk_norm;               /* queries and keys are normed, where an architecture leaves that open */
    bool head_bias;             /* the LM head has one */
    double embed_scale, residual_scale, logit_scale; /* of embeddings, of what is added to the residual, of logits; 0: 1 */
    double attn_scale;          /* of the scores; 0: 1/sqrt(head_dim) */
    double attn_softcap, final_softcap;

    /* Sliding windows: layer i has one when i % window_period is not the last of a period. */
    uint32_t window;            /* keys seen at most; 0: all */
    uint32_t window_period;     /* 0: every layer has the window */
    uint32_t head_dim_full, n_head_kv_full; /* of layers without a window, where they differ (Gemma 4); 0: the same */
    bool shared_kv_full;        /* their values are their keys, as projected */
    uint32_t n_layer_kv_shared; /* last layers that read the keys and values of an earlier one (Gemma 4 E2B, E4B) */
    bool kv_shared_wide;        /* their networks are twice as wide */
    uint32_t n_embd_layer;      /* width of an embedding that every layer has of its own; 0: none */
    uint32_t no_rope_period;    /* SmolLM3: the last layer of a period does not rotate */

    double rope_theta;
    double rope_theta_swa;      /* of windowed layers, where they differ; 0: the same */
    enum rope_scaling rope_scaling;
    double rope_factor, rope_low, rope_high, rope_ctx_orig; /* see rope_scaling */
    double rope_attn_factor;    /* amplitude of the rotation, before YaRN's own; 0: 1 */
    double yarn_log_mul, yarn_beta_fast, yarn_beta_slow;

    uint32_t n_expert, n_expert_used; /* 0: dense */
    uint32_t n_ff_exp;          /* width of an expert */
    uint32_t n_embd_exp;        /* width of what routed experts read and give, between two projections; 0: n_embd */
    uint32_t n_expert_shared, n_ff_shexp; /* experts every token visits, and the width of all of them */
    uint32_t n_layer_dense;     /* leading layers without experts */
    uint32_t expert_period;     /* of the others, the last of a period has experts; 0: every one */
    bool shared_gate;           /* what the shared experts give is weighted by a sigmoid */
    uint32_t n_expert_group, n_expert_group_used;
    enum expert_gate expert_gate;
    bool expert_norm;           /* weights of the chosen add up to 1 */
    bool expert_bias;           /* a bias takes part in the choice (exp_probs_b) */
    double expert_scale;        /* of the weights; 0: 1 */
    bool expert_packed;         /* an expert's gate and up are one matrix, ffn_gate_up_exps (Gemma 4) */

    struct hybrid hybrid;
    uint32_t n_stream, n_out_group, n_lora_out, n_layer_hash; /* DeepSeek-V4: residual streams; groups of the output projection
                                                                 and their rank; leading layers whose experts a table chooses */
    uint8_t compress_log2[HYBRID_MAX_LAYER]; /* log2 of the positions that a compressed key of layer i stands for; 0: none */
    uint32_t n_index_head, index_dim, n_index_top; /* indexer of sparse attention: its heads, their width, keys chosen */

    uint32_t n_lora_q, n_lora_kv; /* MLA: ranks of the query (0: full) and of the latent */
    bool mla_split;             /* MLA: attn_k_b and attn_v_b instead of attn_kv_b */

    /* What files of the families before Llama and of their kin vary. */
    bool parallel;              /* the FFN works beside the attention, not behind it */
    bool shared_norm;           /* then: both have the same normed input */
    bool post_norm;             /* norms behind the sums, and none after the last block (OPT-350M) */
    bool ffn_bias;
    bool alibi;                 /* scores are biased by distance, and nothing rotates */
    uint32_t n_pos;             /* rows of the table of learned positions; 0: none */
    uint32_t n_embd_in;         /* width of the embeddings, where projections change it; 0: n_embd */
};

/* Layer i sees a window of keys instead of all. */
bool hparams_windowed(const struct hparams *hp, uint32_t layer);
/* Layer i has experts instead of one feed-forward network. */
bool hparams_expert_layer(const struct hparams *hp, uint32_t layer);

/* What a product's operands are multiplied as. (26), (4) */
enum scheme {
    SCHEME_BY_TYPE, /* the weights' type and the machine say */
    SCHEME_FP16,    /* W4A16, W8A16: weights are widened */
    SCHEME_BF16,
    SCHEME_FP8, /* W8A8, W4A8 */
    SCHEME_INT8,
    SCHEME_FP4, /* W4A4 */
};

/* One weight. Shape [rows, cols], row-major, cols contiguous (a 1-D tensor has rows = 1). Stacked
 * matrices, one an expert or a head, are the rows of all of them. */
struct tensor {
    char name[64];
    enum dtype type;
    uint64_t rows, cols;
    uint32_t n_mat;   /* stacked matrices; else 1 */
    uint64_t bytes;   /* rows * dtype_row_bytes(type, cols); of a checkpoint's scheme (4) with its scales */
    enum scheme scheme;
    const void *data; /* NULL without a GGUF */
};

struct arch; /* row of archs[]: name and op list builder */

struct model {
    char name[128];  /* general.name, preset name or file name */
    char path[4096]; /* file it came from; "" for a preset found by name */
    char type_name[32]; /* "Q8_0", "Q4_K_M" (from general.file_type), "F16": what users call it */
    const struct arch *arch;
    struct hparams hp;
    struct tensor *tensors;
    size_t n_tensors;
    uint64_t weight_bytes; /* sum over tensors */
    uint64_t n_params;     /* sum of elements over tensors */
    struct gguf *gguf;     /* NULL without a file */
    bool kv_said;          /* the checkpoint says the type of the KV cache, which engines take where nothing else is asked for */
    enum dtype kv_type;
    char note[512];        /* what of the file is left out or was doubtful, in words for people; "": nothing */
};

/*
 * spec: path of a .gguf, path of a .json with Hugging Face config fields, or a name in the
 * model directories (base/paths order: $ROOFCAST_DATA given by main, installed, source tree).
 * type: NULL, or a type, mixture or checkpoint name for a model that is not a GGUF (default F16, or what a
 * config.json's quantization_config says); naming one for a GGUF is an error. Unknown names suggest the nearest. Architectures not supported are
 * refused by name with the list of those that are.
 */
int model_load(struct model *m, const char *spec, const char *type, struct error *err);
/* Of a preset alone: files of that name are not meant. *found false and 0: no preset has that name. */
int model_load_preset(struct model *m, const char *name, const char *type, bool *found, struct error *err);
/* From an open GGUF (owned by m afterwards, also on error). */
int model_from_gguf(struct model *m, struct gguf *g, struct error *err);
/* From dimensions: tensors of `type` (a dtype or mixture name; 1-D tensors F32) or of a checkpoint. */
int model_from_hparams(struct model *m, const char *name, const char *arch,
                       const struct hparams *hp, const char *type, struct error *err);
/* Parse a config.json text into hparams, its quantization_config checked too (fuzzed). arch_out: static string such as "llama". */
int model_parse_config(const char *name, const void *data, size_t size, struct hparams *hp,
                       const char **arch_out, struct error *err);
void model_free(struct model *m);

/* ---- names of types (type_names.c) ---- */
/* What a type's name means: the type to price, the bits of a weight where they differ from that type's. */
struct quant_name {
    char type[24]; /* for model_load(), which has to know it; "": nothing like a type */
    double bits;   /* of a weight of a large matrix; NaN: the type's own */
    bool known;    /* false: a guess */
};
/* The type of that name, also as people and other programs write it ("Q4_K - Medium", "GPTQ-Int4", "INT8 W8A8"); false: none has it. */
bool model_type_named(struct quant_name *q, const char *text);
/* Lower case, dashes for blanks, without what stands around a type's name. */
void model_type_plain(char *out, size_t size, const char *text);
/* model_load() takes a type of that name. */
bool model_knows_type(const char *name);

const struct tensor *model_find(const struct model *m, const char *name);
const char *model_arch_name(const struct model *m); /* "llama" */
/* Priced and executed; false: the op list has ops that the engine does not run. */
bool model_executable(const struct model *m);
/* The architectures there are: i from 0; false past the end. */
struct arch_info {
    const char *name;     /* general.architecture */
    char model_types[96]; /* of Hugging Face configs: "llama, mistral, mixtral" */
    bool experts, windows;
    bool priced_only; /* from a config.json: neither its GGUF is read nor does the engine run it */
};
bool model_arch_at(size_t i, struct arch_info *out);
/* So many bytes of a tensor, from `at` on, were read and will hardly be again: pages of a mapped file may go. */
void model_was_read(const struct model *m, const struct tensor *t, size_t at, size_t bytes);
/* By role and layer, "blk.%d.attn_q.weight" style; error names the missing tensor. */
const struct tensor *model_get(const struct model *m, struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Names of the presets found in the directories, sorted; free with free() of each and of the array. */
int model_list(char ***names, size_t *n, struct error *err);

/* Type of a tensor under a type or mixture name ("Q4_K_M": llama.cpp's rules, row fallbacks
 * included). Source: methods.md (2). */
int model_tensor_type(const char *type, const struct hparams *hp, const char *tensor_name,
                      uint64_t cols, enum dtype *out, struct error *err);

/* The i-th mixture's name ("Q4_K_M"; a type alone is one, too); NULL past the end. */
const char *model_mixture_at(size_t i);

/* The checkpoint formats by name (4): priced, never run. i from 0; false past the end. */
struct checkpoint_info {
    const char *name, *alias; /* alias NULL: none */
    const char *weights, *math; /* "INT4, a scale of 16 bits and a zero of 4 for 128 columns of a row", "W4A16" */
    double bits;                /* a weight of a large matrix */
};
bool model_checkpoint_at(size_t i, struct checkpoint_info *out);

/* ---- a file of random weights with the true shape ----------------------------------- */
struct synth_options {
    uint64_t seed;
    const char *name; /* general.name; NULL: m->name */
    struct team *team; /* quantizes; NULL: the caller alone. The bytes do not depend on it. */
    void (*progress)(void *ctx, const char *what, double fraction); /* or NULL */
    void *ctx;
};
/*
 * Write m's tensors (in m's types; m is a model without a file) as a GGUF that llama.cpp loads,
 * with a made-up SentencePiece-style tokenizer of n_vocab tokens. Streamed: memory is a few chunks.
 * Same seed and shape, same bytes; types differ only by their rounding of the same weights.
 * errors   ERROR_INPUT  a type that cannot be written, a vocabulary below 259, experts
 *          ERROR_SYSTEM the disk is full (found before writing where it can be)
 *          ERROR_INTERRUPTED; in every case nothing is left at path
 * source   doc/notes/quantization.md scale of the weights
 */
int model_synth(const struct model *m, const char *path, const struct synth_options *o,
                struct error *err);

#endif
