/* roofcast synth: a GGUF with a model's real shape and seeded random weights. */
#include "cli/cli.h"
#include "model/nextn.h"
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

/* Dimensions that options give: enum key OPT_DIM + index. 0 in shape.given: not given. */
enum dim {
    DIM_LAYER, DIM_EMBD, DIM_FF, DIM_HEAD, DIM_HEAD_KV, DIM_VOCAB, DIM_HEAD_DIM, DIM_HEAD_DIM_V, DIM_ROT, DIM_CTX,
    DIM_WINDOW, DIM_EXPERT, DIM_EXPERT_USED, DIM_FF_EXP, DIM_LORA_Q, DIM_LORA_KV, DIM_NEXTN, DIM_COUNT,
};
static const struct {
    const char *flag;
    size_t at; /* in struct hparams */
} dims[DIM_COUNT] = {
    [DIM_LAYER] = { "--n-layer", offsetof(struct hparams, n_layer) },
    [DIM_EMBD] = { "--n-embd", offsetof(struct hparams, n_embd) },
    [DIM_FF] = { "--n-ff", offsetof(struct hparams, n_ff) },
    [DIM_HEAD] = { "--n-head", offsetof(struct hparams, n_head) },
    [DIM_HEAD_KV] = { "--n-head-kv", offsetof(struct hparams, n_head_kv) },
    [DIM_VOCAB] = { "--n-vocab", offsetof(struct hparams, n_vocab) },
    [DIM_HEAD_DIM] = { "--head-dim", offsetof(struct hparams, head_dim) },
    [DIM_HEAD_DIM_V] = { "--head-dim-v", offsetof(struct hparams, head_dim_v) },
    [DIM_ROT] = { "--n-rot", offsetof(struct hparams, n_rot) },
    [DIM_CTX] = { "--n-ctx", offsetof(struct hparams, n_ctx_train) },
    [DIM_WINDOW] = { "--window", offsetof(struct hparams, window) },
    [DIM_EXPERT] = { "--n-expert", offsetof(struct hparams, n_expert) },
    [DIM_EXPERT_USED] = { "--n-expert-used", offsetof(struct hparams, n_expert_used) },
    [DIM_FF_EXP] = { "--n-ff-exp", offsetof(struct hparams, n_ff_exp) },
    [DIM_LORA_Q] = { "--n-lora-q", offsetof(struct hparams, n_lora_q) },
    [DIM_LORA_KV] = { "--n-lora-kv", offsetof(struct hparams, n_lora_kv) },
    [DIM_NEXTN] = { "--n-layer-nextn", offsetof(struct hparams, n_layer_nextn) },
};

struct shape {
    int64_t given[DIM_COUNT];
    double rope_theta; /* NaN: not given */
    bool tied;
};

struct options {
    const char *model, *type, *out, *name;
    struct shape shape;
    int64_t seed, threads;
    bool quiet;
};

enum {
    OPT_SEED = 256, OPT_THETA, OPT_TIED, OPT_NAME, OPT_QUIET, OPT_DIM,
};

static const struct argp_option option_table[] = {
    { "type", 'q', "TYPE", 0, "tensor types: F16 (default), Q8_0, Q4_0, Q4_K_M, MXFP4, ...", 1 },
    { "output", 'o', "FILE", 0, "the GGUF to write", 1 },
    { "seed", OPT_SEED, "N", 0, "seed of the weights (default 1)", 1 },
    { "threads", 't', "N", 0, "threads for quantization (default: one per usable core); they do not change the file", 1 },
    { "name", OPT_NAME, "NAME", 0, "general.name (default: the model's)", 1 },
    { "quiet", OPT_QUIET, NULL, 0, "print no progress and no summary", 1 },
    { NULL, 0, NULL, 0, "Shape, or changes to that of MODEL:", 2 },
    { "n-layer", OPT_DIM + DIM_LAYER, "N", 0, "blocks", 2 },
    { "n-embd", OPT_DIM + DIM_EMBD, "N", 0, "width of the residual stream", 2 },
    { "n-ff", OPT_DIM + DIM_FF, "N", 0, "width of the feed-forward layer", 2 },
    { "n-head", OPT_DIM + DIM_HEAD, "N", 0, "query heads", 2 },
    { "n-head-kv", OPT_DIM + DIM_HEAD_KV, "N", 0, "KV heads (default: n-head)", 2 },
    { "n-vocab", OPT_DIM + DIM_VOCAB, "N", 0, "vocabulary size, at least 259", 2 },
    { "head-dim", OPT_DIM + DIM_HEAD_DIM, "N", 0, "elements per head (default: n-embd / n-head)", 2 },
    { "n-rot", OPT_DIM + DIM_ROT, "N", 0, "rotary elements per head (default: MODEL's share)", 2 },
    { "n-ctx", OPT_DIM + DIM_CTX, "N", 0, "trained context (default 2048)", 2 },
    { "window", OPT_DIM + DIM_WINDOW, "N", 0, "sliding window in tokens, in all layers or in those of MODEL that have a window", 2 },
    { "rope-theta", OPT_THETA, "X", 0, "RoPE base frequency (default 10000)", 2 },
    { "tied", OPT_TIED, NULL, 0, "use the embedding table as LM head", 2 },
    { NULL, 0, NULL, 0, "Mixtures of experts:", 3 },
    { "n-expert", OPT_DIM + DIM_EXPERT, "N", 0, "experts per layer", 3 },
    { "n-expert-used", OPT_DIM + DIM_EXPERT_USED, "N", 0, "active experts per token", 3 },
    { "n-ff-exp", OPT_DIM + DIM_FF_EXP, "N", 0, "width of an expert (default: n-ff)", 3 },
    { NULL, 0, NULL, 0, "Latent attention (DeepSeek):", 4 },
    { "n-lora-q", OPT_DIM + DIM_LORA_Q, "N", 0, "rank of the query", 4 },
    { "n-lora-kv", OPT_DIM + DIM_LORA_KV, "N", 0, "rank of the latent", 4 },
    { "head-dim-v", OPT_DIM + DIM_HEAD_DIM_V, "N", 0, "elements per value", 4 },
    { "n-layer-nextn", OPT_DIM + DIM_NEXTN, "N", 0, "multi-token prediction layers after the blocks, for serve --draft mtp (default: none)", 4 },
    { 0 },
};

static int parse_shape(struct shape *s, int key, const char *arg, struct error *err)
{
    const int dim = key - OPT_DIM;
    if (key == OPT_THETA)
        return parse_double(arg, 1, 1e12, "--rope-theta", &s->rope_theta, err);
    if (key == OPT_TIED)
        return cli_flag(&s->tied);
    /* The model checks the ranges. */
    return dim >= 0 && dim < DIM_COUNT ? parse_int(arg, 1, INT32_MAX, dims[dim].flag, &s->given[dim], err) : CLI_UNKNOWN;
}

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    switch (key) {
    case 'q':
        return cli_text(&o->type, arg);
    case 'o':
        return cli_text(&o->out, arg);
    case 't':
        return parse_int(arg, 1, 1 << 20, "-t", &o->threads, err);
    case OPT_SEED:
        return parse_int(arg, 0, INT64_MAX, "--seed", &o->seed, err);
    case OPT_NAME:
        return cli_text(&o->name, arg);
    case OPT_QUIET:
        return cli_flag(&o->quiet);
    case ARGP_KEY_ARG:
        if (o->model)
            return error_set(err, ERROR_USAGE, "one MODEL is expected, found \"%s\" and \"%s\"", o->model, arg);
        return cli_text(&o->model, arg);
    default:
        return parse_shape(&o->shape, key, arg, err);
    }
}

/* ---- the shape ------------------------------------------------------------------------------ */

/* Head dimensions not given follow from the others; the rotary share is kept. */
static void apply_head_dim(struct hparams *hp, const struct hparams *from, const int64_t *given)
{
    if (!given[DIM_HEAD_DIM] && (given[DIM_EMBD] || given[DIM_HEAD]) && hp->n_head)
        hp->head_dim = hp->n_embd / hp->n_head;
    if (!given[DIM_HEAD_DIM_V])
        hp->head_dim_v = hp->head_dim;
    if (!given[DIM_ROT])
        hp->n_rot = from->head_dim ? (uint32_t)((uint64_t)hp->head_dim * from->n_rot / from->head_dim / 2 * 2) : hp->head_dim;
}

/* Experts as wide as the feed-forward layer, and shared experts, keep their ratio; a model of fewer layers keeps at least one layer
 * with experts. */
static void apply_experts(struct hparams *hp, const struct hparams *from, const int64_t *given)
{
    if (!given[DIM_FF_EXP] && from->n_ff_exp == from->n_ff)
        hp->n_ff_exp = hp->n_ff;
    if (given[DIM_FF_EXP] && hp->n_expert_shared > 0)
        hp->n_ff_shexp = from->n_ff_exp ? (uint32_t)((uint64_t)hp->n_ff_exp * from->n_ff_shexp / from->n_ff_exp) : 0;
    if (hp->n_layer_dense >= hp->n_layer && hp->n_layer > 0)
        hp->n_layer_dense = hp->n_layer - 1;
}

static void apply_shape(struct hparams *hp, const struct shape *s)
{
    const struct hparams from = *hp;
    for (int d = 0; d < DIM_COUNT; d++)
        if (s->given[d])
            memcpy((char *)hp + dims[d].at, &(uint32_t){ (uint32_t)s->given[d] }, sizeof(uint32_t));
    /* A new number of query heads keeps the KV heads if they divide it. */
    if (s->given[DIM_HEAD] && !s->given[DIM_HEAD_KV] && (hp->n_head_kv == 0 || hp->n_head % hp->n_head_kv != 0))
        hp->n_head_kv = hp->n_head;
    if (hp->n_lora_kv == 0)
        apply_head_dim(hp, &from, s->given);
    if (hp->n_expert > 0)
        apply_experts(hp, &from, s->given);
    /* A changed shape uses the default attention scale, as readers of the file do. */
    if (hp->n_lora_kv == 0 && (hp->head_dim != from.head_dim || hp->n_embd != from.n_embd || hp->n_head != from.n_head ||
                               hp->n_layer != from.n_layer))
        hp->attn_scale = 0;
    if (!isnan(s->rope_theta))
        hp->rope_theta = s->rope_theta;
    hp->tied |= s->tied;
}

static int missing_dimension(const struct shape *s, struct error *err)
{
    static const enum dim needed[] = { DIM_LAYER, DIM_EMBD, DIM_FF, DIM_HEAD, DIM_VOCAB };
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(needed); i++)
        any |= s->given[needed[i]] != 0;
    for (size_t i = 0; i < ARRAY_LEN(needed); i++)
        if (!s->given[needed[i]])
            return error_set(err, ERROR_USAGE,
                             any ? "a shape without MODEL also needs %s"
                                 : "no MODEL: expected a name from `roofcast list models`, a config.json, or "
                                   "%s and the other dimensions",
                             dims[needed[i]].flag);
    return 0;
}

/* -q is the type to write; of a GGUF only the shape is used. */
static int load_shape(struct model *from, const struct options *o, struct error *err)
{
    if (model_load(from, o->model, o->type, err) == 0)
        return 0;
    return err->kind == ERROR_USAGE ? model_load(from, o->model, NULL, err) : -1;
}

static int make_model(struct model *m, const struct options *o, struct error *err)
{
    struct hparams hp = { .n_ctx_train = 2048, .rope_theta = 10000, .rms_eps = 1e-5 };
    char name[sizeof m->name] = "synthetic", arch[64] = "llama";
    if (o->model) {
        struct model from;
        if (load_shape(&from, o, err) != 0)
            return -1;
        hp = from.hp;
        snprintf(arch, sizeof arch, "%s", model_arch_name(&from));
        snprintf(name, sizeof name, "%s", from.name);
        const bool same = file_same(from.path, o->out);
        model_free(&from);
        if (same)
            return error_set(err, ERROR_USAGE, "-o %s is MODEL itself: name another file", o->out);
    } else if (missing_dimension(&o->shape, err) != 0) {
        return -1;
    }
    hp.n_layer_nextn = 0;
    apply_shape(&hp, &o->shape);
    if (!o->shape.given[DIM_HEAD_DIM] && (o->shape.given[DIM_EMBD] || o->shape.given[DIM_HEAD]) && hp.n_lora_kv == 0 &&
        hp.n_head && hp.n_embd % hp.n_head != 0)
        return error_set(err, ERROR_USAGE, "--n-embd %u is no multiple of --n-head %u: give --head-dim too", hp.n_embd,
                         hp.n_head);
    if (model_from_hparams(m, name, arch, &hp, o->type, err) != 0)
        return -1;
    if (hp.n_layer_nextn == 0 || nextn_add_tensors(m, hp.n_layer_nextn, err) == 0)
        return 0;
    model_free(m);
    return -1;
}

/* ---- writing ---------------------------------------------------------------------------------- */

struct progress {
    double start_s, last_s;
    bool shown;
};

/* No progress in the first two seconds. */
static void show_progress(void *ctx, const char *what, double fraction)
{
    struct progress *p = ctx;
    double now = clock_now_s();
    (void)what; /* hundreds of tensors would be hundreds of lines where no terminal rewrites one */
    if (now - p->start_s < 2 || now - p->last_s < 0.2)
        return;
    p->last_s = now;
    p->shown = true;
    notify_progress(NULL, "writing weights", fraction);
}

/* Name of a tensor without its block number, for messages. */
static const char *role_of(const struct tensor *t)
{
    int at = 0;
    unsigned layer;
    return sscanf(t->name, "blk.%5u.%n", &layer, &at) == 1 && at > 0 ? t->name + at : t->name;
}

/* True when t has another type than its rows, were they a multiple of 256, would have: *wanted. */
static bool fell_back(const struct model *m, const char *type, const struct tensor *t, enum dtype *wanted)
{
    return t->rows > 1 && model_tensor_type(type, &m->hp, t->name, 256, wanted, NULL) == 0 && *wanted != t->type;
}

/* Tensors with a fallback type: a line per role and type. */
static void print_fallbacks(const struct model *m, const char *type)
{
    for (size_t i = 0; i < m->n_tensors; i++) {
        const struct tensor *t = &m->tensors[i];
        enum dtype wanted;
        bool said = false;
        if (!fell_back(m, type, t, &wanted))
            continue;
        for (size_t k = 0; k < i && !said; k++)
            said = m->tensors[k].type == t->type && strcmp(role_of(&m->tensors[k]), role_of(t)) == 0;
        const char *role = role_of(t);
        if (!said)
            printf("  %.*s: %s, its rows of %llu are no multiple of %u (%s)\n", (int)strcspn(role, "."), role,
                   dtype_name(t->type), (unsigned long long)t->cols, (unsigned)dtype_find(wanted)->block_elems,
                   dtype_name(wanted));
    }
}

static int write_file(const struct model *m, const struct options *o, struct error *err)
{
    struct team *team = setup_team(o->threads, err);
    if (!team)
        return -1;
    struct progress p = { .start_s = clock_now_s() };
    struct synth_options so = { .seed = (uint64_t)o->seed, .name = o->name, .team = team };
    so.progress = show_progress;
    so.ctx = &p;
    int rc = model_synth(m, o->out, &so, err);
    team_free(team);
    if (p.shown)
        notify_progress_done();
    if (rc == 0 && !o->quiet && strcmp(o->out, "-") != 0) {
        char bytes[32], params[32];
        printf("%s: %s, %s, %s parameters, %s of weights in %zu tensors, seed %lld\n", o->out,
               o->name ? o->name : m->name, m->type_name, units_si(params, sizeof params, (double)m->n_params, ""),
               units_si(bytes, sizeof bytes, (double)m->weight_bytes, "B"), m->n_tensors, (long long)o->seed);
        print_fallbacks(m, o->type ? o->type : "F16");
    }
    return rc;
}

int cmd_synth(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Write a GGUF with MODEL's real shape and random weights.\n\nMODEL is a name from `roofcast list "
        "models`, a Hugging Face config.json, or a GGUF. Speed depends on shape and "
        "types, not on the values of weights, so such a file measures a machine without a download.\v"
        "Examples:\n"
        "  roofcast synth smollm2-360m -q Q8_0 -o model.gguf\n"
        "  roofcast synth Llama-3.1-8B -q Q4_K_M -o 8b.gguf        (4.9 GB)\n"
        "  roofcast synth path/to/config.json -q F16 -o mine.gguf\n"
        "  roofcast synth llama-3-8b --n-layer 4 -q Q4_0 -o slice.gguf\n"
        "  roofcast synth --n-layer 2 --n-embd 256 --n-ff 512 --n-head 8 \\\n"
        "                 --n-vocab 1024 -q F32 -o tiny.gguf\n"
        "  roofcast synth gpt-oss-20b --n-layer 2 -q MXFP4 -o experts.gguf\n\n"
        "The same seed and shape give the same file for any -t, and files of different types hold "
        "the same weights, rounded to their type. Memory use does not depend on the model's size. The "
        "tokenizer is synthetic: generated text has no meaning.";
    static const struct cli_syntax syntax = { option_table, parse, "[MODEL]", doc, NULL };
    struct options o = { .seed = 1, .shape = { .rope_theta = NAN } };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    if (!o.out)
        return error_set(err, ERROR_USAGE, "-o FILE is missing: where to write the model");
    cli_set_quiet(o.quiet);
    struct model m;
    if (make_model(&m, &o, err) != 0)
        return -1;
    int rc = write_file(&m, &o, err);
    model_free(&m);
    return rc;
}
