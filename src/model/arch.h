/*
 * arch.h: what an architecture is: one file, one row of archs[] in archs.c. Private to this module.
 *
 * build() says the forward pass once, one line an op. It is run twice: while declaring, every weight it
 * names is handed to a callback with its shape (that checks a file, or makes the tensors of a model
 * without one); while listing, the same lines append the ops. So the tensors a model must have
 * and the ops that use them cannot disagree.
 */
#ifndef MODEL_ARCH_H
#define MODEL_ARCH_H

#include "base/json.h"
#include "model/op.h"

struct builder;

/* What an architecture knows to do with the hyper-parameters; others are refused by name. */
enum {
    ARCH_EXPERTS = 1,
    ARCH_WINDOW = 2,
    ARCH_ATTN_BIAS = 4,
    ARCH_ATTN_OUTPUT_BIAS = 8,
    ARCH_YARN = 16,
    ARCH_LONGROPE = 32,
    ARCH_VALUE_DIM = 64, /* heads whose keys and values differ in width */
    ARCH_HEAD_BIAS = 256,
    ARCH_HYBRID = 512, /* layers of several kinds: the architecture reads layer_types itself, and knows no windows */
    ARCH_PRICED_ONLY = 128, /* from a config.json: its GGUF is not read, and the engine does not run it */
};

/* What a family's config.json calls a field. */
struct config_name {
    const char *usual, *own; /* "hidden_size", "d_model" */
};

struct arch {
    const char *name; /* general.architecture */
    struct {
        const char *model_type, *class_name;
    } hf[4]; /* Hugging Face configs of this architecture */
    unsigned has;
    const struct config_name *names; /* fields of dimensions with other names than Llama's; ends with { NULL, NULL } */
    uint32_t ff_factor; /* n_ff is so many n_embd where a config.json leaves it out; 0: it must be there */
    /* config.json's number of experts, where the family has some: missing or 0 is refused. NULL: there are dense members, or
     * the architecture asks itself. */
    const char *n_expert;
    unsigned n_expert_row; /* it holds for rows of hf[] from this one on */
    bool dense_too;        /* 0 or 1 is a dense member then, but the field must say it */
    /* Fields of a config.json without which it would be another model: space-separated. needs: a value; says: null is one. */
    const char *needs, *says;
    const char *activations; /* config.json's hidden_act, space-separated: "silu" */
    /* Values of what files leave out; before anything is read. NULL: zeros. */
    void (*defaults)(struct hparams *hp);
    /* After the common keys: keys of its own, and what files must not say. NULL: nothing. */
    int (*gguf)(const struct gguf *g, struct hparams *hp, struct error *err);
    /* The same for a config.json: after the common fields. */
    int (*config)(const json_t *j, const char *what, struct hparams *hp, struct error *err);
    void (*build)(struct builder *b);
};

const struct arch *arch_find(const char *name, size_t len);
const struct arch *arch_at(size_t i); /* NULL past the end */
/* "llama, ..." for messages. */
const char *arch_names(char *buf, size_t n);
/* "model_type" -> its architecture, or NULL; likewise a class name. */
const struct arch *arch_find_hf(const char *model_type, const char *class_name);

/* The name of a dimension's field in an architecture's config.json. */
const char *config_field(const struct arch *a, const char *usual);
/* A field that may be absent or null, at least min; *out keeps its value then. */
int config_opt_count(const json_t *j, const char *what, const char *field, int64_t min, uint32_t *out, struct error *err);
/* A flag that may be absent or null; another value than `only` is refused by name. */
int config_only(const json_t *j, const char *what, const char *field, bool only, struct error *err);
/* A string that may be absent or null; one that is not in the space-separated list is refused by name. */
int config_word(const json_t *j, const char *what, const char *field, const char *words, struct error *err);
/* Space-separated fields that must be there, and not null unless null_too. */
int config_needs(const json_t *j, const char *what, const char *fields, bool null_too, struct error *err);
/* The same, of the names that the family has for it the one that the file uses. */
const char *config_present(const json_t *j, const struct arch *a, const char *usual);
/* What a config.json says its model is: a row of archs[].hf, by type and by class (either may be NULL). */
struct config_family {
    const struct arch *arch;
    const char *model_type, *class_name;
};
int config_family(const json_t *top, const char *what, struct config_family *f, struct error *err);
/* The row's model_type where the file's type, or, without one, its class is another name of it; else model_type. */
const char *config_type_name(const char *model_type, const char *class_name);
/* num_experts and what goes with it, under the names the file has for it. j: the language model's part of it. */
int config_experts(const struct config_family *f, const json_t *j, const char *what, struct hparams *hp, struct error *err);
/* Numbers whose ranges hparams_check knows under other names than the file's. */
int config_numbers(const json_t *j, const char *what, const struct hparams *hp, struct error *err);
/* The width of n_expert_shared shared experts of n_ff_exp each. */
int config_shared_width(const char *what, struct hparams *hp, struct error *err);
/* A field that must be absent or null. */
int config_absent(const json_t *j, const char *what, const char *field, struct error *err);
/* The part of a head that rotates, as a fraction of it: the field's, else `usual`. */
int config_rotary_part(const json_t *j, const char *what, const char *field, double usual, struct hparams *hp,
                       struct error *err);
/* Names of GELU, exact and approximated: their prices are one. methods.md (13) */
#define CONFIG_GELU "gelu gelu_new gelu_fast gelu_pytorch_tanh"
/* For arch.config of the Qwens: windows for some of the layers are refused. */
int config_no_qwen_window(const json_t *j, const char *what, struct hparams *hp, struct error *err);
/* The same of their mixtures: experts in every layer. */
int config_qwen_experts(const json_t *j, const char *what, struct hparams *hp, struct error *err);
/* LongRoPE's original context and amplitude, for arch.config of the Phis. */
int config_longrope(const json_t *j, const char *what, struct hparams *hp, struct error *err);
/* Fields of DeepSeek's kind: leading dense layers, shared experts, how experts are weighted. */
int config_shared_experts(const json_t *j, const char *what, struct hparams *hp, struct error *err);
/* The multipliers of the Granites. */
int granite_config(const json_t *j, const char *what, struct hparams *hp, struct error *err);
/* For arch.config of models that call the width of an expert intermediate_size. */
int config_experts_ff(const json_t *j, const char *what, struct hparams *hp, struct error *err);

/* Called for every weight, in file order. n_mat matrices of rows x cols are stacked. */
typedef int declare_fn(void *ctx, const char *name, uint64_t rows, uint64_t cols, uint64_t n_mat,
                       struct error *err);
int arch_declare(const struct arch *a, const struct hparams *hp, declare_fn *fn, void *ctx, struct error *err);

/* ---- builder: used by build() only ------------------------------------------------ */

struct builder {
    const struct hparams *hp;
    int layer; /* -1: outside the blocks */
    /* declaring */
    declare_fn *declare;
    void *ctx;
    /* listing */
    const struct model *m;
    struct op_list *l;
    size_t at; /* tensor to look at next */
    bool out_rows;
    struct error *err;
    bool failed;
    struct op none; /* what build_ functions return when there is no op to fill in */
};

/* Ops. Names are those of GGUF tensors without "blk.N." and ".weight"; the op returned may be filled in
 * further and is never NULL. */
struct op *build_op(struct builder *b, enum op_kind k, enum op_role r, enum op_buf dst, enum op_buf src,
                    uint32_t width);
/* A weight that no line below names: declared, or found. NULL while declaring. */
const struct tensor *build_weight(struct builder *b, const char *name, uint64_t rows, uint64_t cols,
                                  uint64_t n_mat);
const struct tensor *build_bias(struct builder *b, const char *name, uint64_t rows, uint64_t cols);
void build_embed(struct builder *b, double scale);
/* hp->norm says which. */
struct op *build_norm(struct builder *b, enum op_role r, enum op_buf dst, enum op_buf src, const char *name);
/* In place: n_head heads of dim elements, one after the other from element `at`, each normed alone. */
void build_norm_at(struct builder *b, enum op_role r, enum op_buf buf, uint32_t at, uint32_t n_head, uint32_t dim,
                   const char *name);
struct op *build_matmul(struct builder *b, enum op_role r, enum op_buf dst, enum op_buf src, const char *name,
                        uint32_t rows, uint32_t cols, bool bias);
void build_add(struct builder *b, enum op_role r, enum op_buf dst, enum op_buf src);
/* What a part gave, BUF_OUT, to the residual stream, scaled where the model says so. */
void build_residual(struct builder *b, enum op_role r);
void build_glu(struct builder *b, enum op_role r, enum glu g, uint32_t width);

/* One more rotation of the list, at most ROPE_MAX; the model's own scaling when scaled. build_model makes the first. */
void build_rope_table(struct builder *b, double theta, bool scaled);

/* ---- the usual lines of a block ---------------------------------------------------- */

struct attention_spec {
    uint32_t rope;     /* index of a rotation */
    bool no_rope;
    bool neox;
    bool head_norms;   /* RMSNorm of every query and key head (Qwen3, Gemma3) */
    bool width_norms;  /* RMSNorm over all of q and all of k (OLMo2) */
    bool layer_norms;  /* LayerNorm of every query and key head, with weights of its own (StableLM 2, Command R+) */
    bool fused;        /* attn_qkv instead of three; in llama_block ffn_up holds the gate too */
    bool sinks;
    bool borrowed_kv;  /* reads the cache of an earlier layer: no keys or values of its own (Gemma 4) */
    bool shared_kv;    /* values are the keys as projected: no attn_v (Gemma 4) */
    bool chunked;      /* the window is the token's own chunk (Llama 4) */
    bool gated;        /* attn_q makes a gate of every head too: its sigmoid times what the head gives (Qwen3-Next) */
    bool plain_norms;  /* RMSNorm without a weight of every query and key head, behind the rotation (Llama 4) */
};
/* q, k, v of src, their norms and rotation, the cache, the attention, the output projection to BUF_OUT. */
void build_attention(struct builder *b, enum op_buf src, const struct attention_spec *s);
/* Wdown (act(Wgate src) * (Wup src)) to BUF_OUT. fused: gate and up are one matrix, ffn_up. */
void build_ffn(struct builder *b, enum op_buf src, enum glu g, bool fused);
/* The routed experts (and the shared one) of src to BUF_OUT. */
struct experts_spec {
    enum glu glu;
    struct route route;
    bool bias; /* of the router and of every expert's matrices */
};
void build_experts(struct builder *b, enum op_buf src, const struct experts_spec *s);

/* Llama's block (arch_llama.c), with another attention or with experts (e, where the model has some); fused means gate and
 * up too. */
void llama_block(struct builder *b, const struct attention_spec *s, const struct experts_spec *e);
/* DeepSeek's latent attention and experts (arch_deepseek2.c); with hp->n_index_top behind an indexer (arch_deepseek32.c). */
#define MLA_NEEDS                                                                                                  \
    "kv_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim moe_intermediate_size first_k_dense_replace"
void mla_build(struct builder *b);
void mla_defaults(struct hparams *hp);
int mla_config(const json_t *j, const char *what, struct hparams *hp, struct error *err);
void build_indexer(struct builder *b);
/* What the Gemmas share (arch_gemma2.c). */
void gemma_block(struct builder *b, const struct attention_spec *s);
void gemma_defaults(struct hparams *hp);
void gemma_scale_27b(struct hparams *hp, uint32_t n_layer);
int gemma_config(const json_t *j, const char *what, struct hparams *hp, struct error *err);
/* embed, blocks, last norm, LM head; rotation 0 is the model's own. */
void build_model(struct builder *b, double embed_scale, void (*block)(struct builder *b));
/* Its parts. Ops after the blocks work on the rows whose logits are wanted. */
void build_blocks(struct builder *b, void (*block)(struct builder *b));
/* Logits of src, cols wide, with the cap or the scale of the model. */
void build_lm_head(struct builder *b, enum op_buf src, uint32_t cols);

/* ---- lines of the families before Llama: builder_classic.c ---------------------------- */

/* In place: n_head heads of dim elements from element `at`, each normed alone with weights of its own, no bias. */
void build_layer_norm_at(struct builder *b, enum op_role r, enum op_buf buf, uint32_t at, uint32_t n_head, uint32_t dim,
                         const char *name);
/* x += row of the token's position, of a table of that many rows. */
void build_positions(struct builder *b, uint32_t rows);
/* Wdown act(Wup src) to BUF_OUT; biases where hparams.ffn_bias says so. */
void build_mlp(struct builder *b, enum op_buf src, enum glu act);
/* x += attention(norm(x)), then x += mlp(norm(x)) (GPT-2). */
void classic_block(struct builder *b, const struct attention_spec *s, enum glu act);
/* Biases of all matrices of the blocks: q, k, v, the attention's output, the FFN. */
void classic_biases(struct hparams *hp, bool bias);
/* embed, learned positions if hp has some, blocks, last norm, LM head; rotation 0 where nothing else says positions. */
void build_classic(struct builder *b, void (*block)(struct builder *b));

#endif
