/*
 * arch.h: architecture descriptions: one file each, one row of archs[] in archs.c. Private to this module.
 *
 * block() or build() describes the forward pass, one line per op, and runs twice: declaring, it passes every weight with its shape to a callback
 * (which checks a file, or creates the tensors of a model without one); listing, it appends the ops. Tensors and ops therefore agree.
 */
#ifndef MODEL_ARCH_H
#define MODEL_ARCH_H

#include "base/json.h"
#include "model/op.h"

struct builder;

/* Supported features of hyper-parameters; others are errors that name the feature. */
enum {
    ARCH_EXPERTS = 1,
    ARCH_WINDOW = 2,
    ARCH_ATTN_BIAS = 4,
    ARCH_ATTN_OUTPUT_BIAS = 8,
    ARCH_YARN = 16,
    ARCH_LONGROPE = 32,
    ARCH_VALUE_DIM = 64, /* different widths of keys and values */
    ARCH_HEAD_BIAS = 256,
    ARCH_HYBRID = 512,       /* layers of several kinds: reads layer_types itself; no windows */
    ARCH_PREDICT_ONLY = 128, /* predicted from a config.json only: no GGUF, not executed */
    ARCH_NEXTN = 1024,       /* its layers of multi-token prediction are executed, too (nextn.h) */
};

/* A family's name for a config.json field. */
struct config_name {
    const char *usual, *own; /* "hidden_size", "d_model" */
    const char *other;       /* read if the file lacks `own`; NULL: none */
};

/* ---- what Llama's block leaves open ---- */

struct attention_spec {
    uint32_t rope; /* index of a rotation */
    bool no_rope;
    bool neox;
    bool head_norms;  /* RMSNorm of every query and key head (Qwen3, Gemma3) */
    bool width_norms; /* RMSNorm over all of q and all of k (OLMo2) */
    bool layer_norms; /* LayerNorm of every query and key head, with weights of its own (StableLM 2, Command R+) */
    bool fused;       /* attn_qkv instead of three; in llama_block ffn_up holds the gate too */
    bool sinks;
    bool borrowed_kv; /* reads the cache of an earlier layer: no keys or values of its own (Gemma 4) */
    bool shared_kv;   /* values are the keys as projected: no attn_v (Gemma 4) */
    bool chunked;     /* the window is the token's own chunk (Llama 4) */
    bool gated;       /* attn_q makes a gate of every head too: its sigmoid times what the head gives (Qwen3-Next) */
    bool plain_norms; /* RMSNorm of query and key heads without weights, after rotation (Llama 4) */
};

struct experts_spec {
    enum glu glu;
    struct route route;
    bool model_norm; /* route.norm is the model's expert_norm */
    bool bias; /* of the router and of every expert's matrices */
};

struct arch {
    const char *name; /* general.architecture */
    struct {
        const char *model_type, *class_name;
    } hf[4]; /* Hugging Face configs */
    unsigned has;
    const struct config_name *names; /* dimension fields that differ from Llama's; terminated by { 0 } */
    uint32_t ff_factor;              /* default n_ff = ff_factor * n_embd in config.json; 0: mandatory */
    /* Field with the number of experts; missing or 0 is an error. NULL: dense members exist, or the architecture checks itself. */
    const char *n_expert;
    unsigned n_expert_row; /* applies to rows of hf[] from this one on */
    bool dense_too;        /* 0 or 1 means dense, but the field is mandatory */
    /* Mandatory config.json fields, space-separated. needs: with a value; says: may be null. */
    const char *needs, *says;
    const char *activations; /* supported hidden_act values, space-separated: "silu" */
    /* Values of missing fields. NULL: zeros. */
    const struct hparams *defaults;
    /* After the common keys: architecture-specific keys and restrictions. NULL: none. */
    int (*gguf)(const struct gguf *g, struct hparams *hp, struct error *err);
    /* The same for a config.json. */
    int (*config)(const json_t *j, const char *what, struct hparams *hp, struct error *err);
    /* One layer, in the frame of build_model(). NULL: llama_block() with these. */
    void (*block)(struct builder *b);
    struct attention_spec attention;
    struct experts_spec experts;
    /* Instead of build_model(block). */
    void (*build)(struct builder *b);
};

const struct arch *arch_find(const char *name, size_t len);
const struct arch *arch_at(size_t i); /* NULL past the end */
/* "llama, ..." for messages */
const char *arch_names(char *buf, size_t n);
/* Values of missing fields; never NULL. */
const struct hparams *arch_defaults(const struct arch *a);
/* Architecture of a "model_type" or class name, or NULL. */
const struct arch *arch_find_hf(const char *model_type, const char *class_name);

/* The architecture's name for a config.json field. */
const char *config_field(const struct arch *a, const char *usual);
/* Optional field, >= min; absent or null leaves *out. */
int config_opt_count(const json_t *j, const char *what, const char *field, int64_t min, uint32_t *out, struct error *err);
/* Mandatory field from lo to hi, unless *out has a default. */
int config_count(const json_t *j, const char *what, const char *field, int64_t lo, int64_t hi, uint32_t *out, struct error *err);
/* Optional flag; a value other than `only` is an error. */
int config_only(const json_t *j, const char *what, const char *field, bool only, struct error *err);
/* Optional string; one that is not in the space-separated list is an error. */
int config_word(const json_t *j, const char *what, const char *field, const char *words, struct error *err);
/* Space-separated mandatory fields; null is allowed if null_too. */
int config_needs(const json_t *j, const char *what, const char *fields, bool null_too, struct error *err);
/* Among the family's names of a field, the one in the file. */
const char *config_present(const json_t *j, const struct arch *a, const char *usual);
/* Row of archs[].hf that a config.json selects, by type and class (either may be NULL). */
struct config_family {
    const struct arch *arch;
    const char *model_type, *class_name;
};
int config_family(const json_t *top, const char *what, struct config_family *f, struct error *err);
/* The row's model_type if the file's type (or class, without a type) is an alias of it; else model_type. */
const char *config_type_name(const char *model_type, const char *class_name);
/* Number of experts and related fields, under any of their names. j: the language model's part. */
int config_experts(const struct config_family *f, const json_t *j, const char *what, struct hparams *hp, struct error *err);
/* Range checks under the names in the file. */
int config_numbers(const json_t *j, const char *what, const struct hparams *hp, struct error *err);
/* Width of n_expert_shared shared experts of n_ff_exp each. */
int config_shared_width(const char *what, struct hparams *hp, struct error *err);
/* A field that must be absent or null. */
int config_absent(const json_t *j, const char *what, const char *field, struct error *err);
/* Rotary fraction of a head; default `usual`. */
int config_rotary_part(const json_t *j, const char *what, const char *field, double usual, struct hparams *hp,
                       struct error *err);
/* GELU and its approximations, equal in cost. methods.md (13) */
#define CONFIG_GELU "gelu gelu_new gelu_fast gelu_pytorch_tanh"
/* Qwen: windows on some layers only are an error. */
int config_no_qwen_window(const json_t *j, const char *what, struct hparams *hp, struct error *err);
/* Qwen MoE: experts in every layer. */
int config_qwen_experts(const json_t *j, const char *what, struct hparams *hp, struct error *err);
/* Phi: LongRoPE's original context and amplitude. */
int config_longrope(const json_t *j, const char *what, struct hparams *hp, struct error *err);
/* DeepSeek: leading dense layers, shared experts, expert weights. */
int config_shared_experts(const json_t *j, const char *what, struct hparams *hp, struct error *err);
/* Granite multipliers. */
int granite_config(const json_t *j, const char *what, struct hparams *hp, struct error *err);
/* Models whose intermediate_size is the expert width. */
int config_experts_ff(const json_t *j, const char *what, struct hparams *hp, struct error *err);

/* Called for every weight, in file order; n_mat stacked matrices of rows x cols. */
typedef int declare_fn(void *ctx, const char *name, uint64_t rows, uint64_t cols, uint64_t n_mat,
                       struct error *err);
int arch_declare(const struct arch *a, const struct hparams *hp, declare_fn *fn, void *ctx, struct error *err);

/* ---- builder: for build() only ---- */

struct builder {
    const struct arch *arch;
    const struct hparams *hp;
    int layer; /* -1: outside the blocks */
    /* declaring */
    declare_fn *declare;
    void *ctx;
    /* listing */
    const struct model *m;
    struct op_list *l;
    size_t at; /* tensor to look up first */
    bool out_rows;
    struct error *err;
    bool failed;
    struct op none; /* returned by build_ functions when no op is appended */
};

/* Ops. Names are GGUF tensor names without "blk.N." and ".weight"; the returned op may be modified and is never NULL. */
struct op *build_op(struct builder *b, enum op_kind k, enum op_role r, enum op_buf dst, enum op_buf src,
                    uint32_t width);
/* Declares or finds a weight that no op function handles. NULL while declaring. */
const struct tensor *build_weight(struct builder *b, const char *name, uint64_t rows, uint64_t cols,
                                  uint64_t n_mat);
const struct tensor *build_bias(struct builder *b, const char *name, uint64_t rows, uint64_t cols);
void build_embed(struct builder *b, double scale);
/* Kind by hp->norm. */
struct op *build_norm(struct builder *b, enum op_role r, enum op_buf dst, enum op_buf src, const char *name);
/* In place: n_head heads of dim elements from element `at`, normalized separately. */
void build_norm_at(struct builder *b, enum op_role r, enum op_buf buf, uint32_t at, uint32_t n_head, uint32_t dim,
                   const char *name);
struct op *build_matmul(struct builder *b, enum op_role r, enum op_buf dst, enum op_buf src, const char *name,
                        uint32_t rows, uint32_t cols, bool bias);
void build_add(struct builder *b, enum op_role r, enum op_buf dst, enum op_buf src);
/* Adds BUF_OUT to the residual stream, with the model's scale. */
void build_residual(struct builder *b, enum op_role r);
void build_glu(struct builder *b, enum op_role r, enum glu g, uint32_t width);

/* Adds a rotation (at most ROPE_MAX), with the model's scaling if scaled. build_model adds the first. */
void build_rope_table(struct builder *b, double theta, bool scaled);

/* ---- block parts ---- */

/* q, k, v of src, their norms and rotation, the cache, the attention, the output projection to BUF_OUT. */
void build_attention(struct builder *b, enum op_buf src, const struct attention_spec *s);
/* Wdown (act(Wgate src) * (Wup src)) to BUF_OUT. fused: gate and up are one matrix, ffn_up. */
void build_ffn(struct builder *b, enum op_buf src, enum glu g, bool fused);
/* The routed experts (and the shared one) of src to BUF_OUT. */
void build_experts(struct builder *b, enum op_buf src, const struct experts_spec *s);
/* The model's normalization, scale and groups. */
struct route model_route(const struct hparams *hp, enum route_gate gate);

/* Llama's block (arch_llama.c), with another attention or with experts (e, where the model has some); fused means gate and
 * up too. */
void llama_block(struct builder *b, const struct attention_spec *s, const struct experts_spec *e);
/* DeepSeek's latent attention and experts (arch_deepseek2.c); with hp->n_index_top also an indexer (arch_deepseek32.c). */
#define MLA_NEEDS                                                                                                  \
    "kv_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim moe_intermediate_size first_k_dense_replace"
void mla_block(struct builder *b);
int mla_config(const json_t *j, const char *what, struct hparams *hp, struct error *err);
void build_indexer(struct builder *b);
/* Common to the Gemmas (arch_gemma2.c). */
void gemma_block(struct builder *b, const struct attention_spec *s);
void gemma_scale_27b(struct hparams *hp, uint32_t n_layer);
int gemma_config(const json_t *j, const char *what, struct hparams *hp, struct error *err);
/* embed, learned positions if any, blocks, final norm, LM head; rotation 0, without other positions, is the model's own. */
void build_model(struct builder *b, double embed_scale, void (*block)(struct builder *b));
/* Parts of build_model. Ops after the blocks process only rows whose logits are wanted. */
void build_blocks(struct builder *b, void (*block)(struct builder *b));
/* Logits of src (cols wide), with the model's cap or scale. */
void build_lm_head(struct builder *b, enum op_buf src, uint32_t cols);

/* ---- pre-Llama families: builder_classic.c ---- */

/* In place: n_head heads of dim elements from element `at`, LayerNorm each with own weights, no bias. */
void build_layer_norm_at(struct builder *b, enum op_role r, enum op_buf buf, uint32_t at, uint32_t n_head, uint32_t dim,
                         const char *name);
/* x += learned position embedding; table of `rows` rows. */
void build_positions(struct builder *b, uint32_t rows);
/* Wdown act(Wup src) to BUF_OUT; biases by hparams.ffn_bias. */
void build_mlp(struct builder *b, enum op_buf src, enum glu act);
/* x += attention(h) + mlp(h), h = norm(x) (GPT-J). */
void gptj_block(struct builder *b, const struct attention_spec *s, enum glu act);
/* x += attention(norm(x)), then x += mlp(norm(x)) (GPT-2). */
void classic_block(struct builder *b, const struct attention_spec *s, enum glu act);
/* GPT-2's own: fused q, k and v, no rotation, GELU. */
void gpt2_block(struct builder *b);
/* Sets biases of q, k, v, attention output and FFN. */
void classic_biases(struct hparams *hp, bool bias);

#endif
