/* GGUF files with random weights in a model's shape, streamed by rows. Each row is seeded by seed, tensor name and row, so output
 * does not depend on threads, and files of several types hold the same weights. */
#include "model/arch.h"
#include "model/internal.h"
#include "model/nextn.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* Table of normal quantiles, indexed by 16 random bits: four weights per draw, exactly symmetric: mean 0, sd 0.99998, maximum 4.3
 * sd. */
enum { N_QUANTILES = 1 << 16 };
/* bytes per write */
enum { CHUNK_BYTES = 8 << 20 };
/* sd of norm weights around 1: large enough to detect a missing norm */
static const double norm_sd = 0.1;

struct job {
    const struct tensor *t;
    uint64_t row0, n_rows; /* of the chunk */
    uint64_t seed;         /* of the tensor */
    const float *quantiles;
    double mean, sd;
    unsigned char *out; /* current chunk */
    float *rows;        /* one row per thread */
};

/* Solves Phi(x) = (i + 1/2) / N outward from the median by Newton's method; Phi is concave there, so starting from the previous
 * quantile converges from below. */
static void fill_quantiles(float *q)
{
    const double inv_sqrt_2pi = 0.39894228040143267794;
    double x = 0;
    for (int i = 0; i < N_QUANTILES / 2; i++) {
        double upper = (N_QUANTILES / 2 - i - 0.5) / N_QUANTILES; /* 1 - Phi(x) */
        for (int k = 0; k < 6; k++)
            x += (0.5 * erfc(x * M_SQRT1_2) - upper) / (inv_sqrt_2pi * exp(-0.5 * x * x));
        q[N_QUANTILES / 2 + i] = (float)x;
        q[N_QUANTILES / 2 - 1 - i] = -(float)x;
    }
}

static uint64_t tensor_seed(uint64_t seed, const char *name)
{
    return hash_bytes(name, strlen(name)) ^ (seed * 0x9e3779b97f4a7c15u);
}

static void draw_row(const struct job *j, uint64_t row, float *x)
{
    struct rng r;
    rng_init(&r, j->seed + row * 0xd1342543de82ef95u);
    const float sd = (float)j->sd, mean = (float)j->mean;
    for (uint64_t c = 0; c < j->t->cols; c += 4) {
        uint64_t bits = rng_u64(&r);
        for (uint64_t k = c; k < c + 4 && k < j->t->cols; k++, bits >>= 16)
            x[k] = mean + sd * j->quantiles[bits & 0xffff];
    }
}

static void work(void *arg, int tid, int n_threads)
{
    const struct job *j = arg;
    const struct dtype_info *d = dtype_find(j->t->type);
    const size_t row_bytes = dtype_row_bytes(j->t->type, j->t->cols);
    float *x = j->rows + (size_t)tid * j->t->cols;
    const uint64_t n = (uint64_t)n_threads, i = (uint64_t)tid;
    for (uint64_t r = j->n_rows * i / n; r < j->n_rows * (i + 1) / n; r++) {
        draw_row(j, j->row0 + r, x);
        d->quantize(x, j->out + r * row_bytes, j->t->cols);
    }
}

/* ---- one tensor ------------------------------------------------------------------------- */

struct synth {
    const struct model *m;
    const struct synth_options *o;
    struct gguf_writer *w;
    float *quantiles;
    uint64_t done_bytes;
    uint32_t n_layer_nextn; /* layers of multi-token prediction among the tensors */
};

/* llama3 scaling: divisor per rotary frequency: 1 for short wavelengths, `factor` for long ones, blended linearly in turns per
 * original context between: methods.md (9). */
static void llama3_factors(const struct hparams *hp, float *f)
{
    for (uint32_t i = 0; i < hp->n_rot / 2; i++) {
        double wavelength = 2 * M_PI * pow(hp->rope_theta, 2.0 * i / hp->n_rot);
        double turns = hp->rope_ctx_orig / wavelength;
        if (turns >= hp->rope_high) {
            f[i] = 1;
        } else if (turns < hp->rope_low) {
            f[i] = (float)hp->rope_factor;
        } else {
            double smooth = (turns - hp->rope_low) / (hp->rope_high - hp->rope_low);
            f[i] = (float)(1 / ((1 - smooth) / hp->rope_factor + smooth));
        }
    }
}

/* Synthetic LongRoPE factors (the real ones are fitted per model): 1 within the original context; beyond it from 1 for the fastest
 * pair to the context ratio for the slowest. */
static void longrope_factors(const struct hparams *hp, bool beyond, float *f)
{
    const uint32_t n = hp->n_rot / 2;
    const double stretch = beyond ? hp->n_ctx_train / hp->rope_ctx_orig : 1;
    for (uint32_t i = 0; i < n; i++)
        f[i] = (float)(1 + (stretch - 1) * i / (n > 1 ? n - 1 : 1));
}

static int write_rope_factors(struct synth *s, const struct tensor *t, struct error *err)
{
    float *f = malloc(t->bytes);
    if (!f)
        return error_oom(err, t->bytes, t->name);
    if (strcmp(t->name, "rope_freqs.weight") == 0)
        llama3_factors(&s->m->hp, f);
    else
        longrope_factors(&s->m->hp, strcmp(t->name, "rope_factors_long.weight") == 0, f);
    int rc = gguf_writer_data(s->w, f, t->bytes, err);
    free(f);
    return rc;
}

static int write_chunks(struct synth *s, struct job *j, uint64_t chunk_rows, struct error *err)
{
    const struct tensor *t = j->t;
    const size_t row_bytes = dtype_row_bytes(t->type, t->cols);
    for (j->row0 = 0; j->row0 < t->rows; j->row0 += j->n_rows) {
        j->n_rows = u64_min(chunk_rows, t->rows - j->row0);
        if (s->o->team)
            team_run(s->o->team, work, j);
        else
            work(j, 0, 1);
        if (interrupt_check(err) != 0 || gguf_writer_data(s->w, j->out, j->n_rows * row_bytes, err) != 0)
            return -1;
        s->done_bytes += j->n_rows * row_bytes;
        if (s->o->progress)
            s->o->progress(s->o->ctx, t->name, (double)s->done_bytes / (double)s->m->weight_bytes);
    }
    return 0;
}

static int write_tensor(struct synth *s, const struct tensor *t, struct error *err)
{
    if (strncmp(t->name, "rope_f", 6) == 0)
        return write_rope_factors(s, t, err);
    const size_t row_bytes = dtype_row_bytes(t->type, t->cols);
    const uint64_t chunk_rows = u64_min(t->rows, u64_max(1, CHUNK_BYTES / row_bytes));
    const size_t n_threads = s->o->team ? (size_t)team_size(s->o->team) : 1;
    struct job j = { .t = t, .seed = tensor_seed(s->o->seed, t->name), .quantiles = s->quantiles };
    /* doc/notes/quantization.md: matrices preserve the input's variance; norm weights are near 1, biases and sinks near 0. */
    const bool norm = text_ends_with(t->name, "norm.weight");
    const bool added = !norm && (t->rows == 1 || text_ends_with(t->name, ".bias"));
    j.mean = norm ? 1 : 0;
    j.sd = norm || added ? norm_sd : 1 / sqrt((double)t->cols);
    size_t floats;
    int rc = -1;
    if (!size_mul(n_threads, t->cols * sizeof *j.rows, &floats))
        return error_set(err, ERROR_INPUT, "%s: %s: a row is too long", s->m->name, t->name);
    j.out = malloc(chunk_rows * row_bytes);
    j.rows = malloc(floats);
    if (!j.out || !j.rows)
        error_oom(err, chunk_rows * row_bytes + floats, "a chunk of weights");
    else
        rc = write_chunks(s, &j, chunk_rows, err);
    free(j.out);
    free(j.rows);
    return rc;
}

/* ---- the file ----------------------------------------------------------------------------- */

/* "{arch}.suffix" */
static void kv_u32(struct synth *s, const char *suffix, uint32_t v)
{
    char key[128];
    snprintf(key, sizeof key, "%s.%s", s->m->arch->name, suffix);
    gguf_writer_kv_u32(s->w, key, v);
}

static void kv_f32(struct synth *s, const char *suffix, double v)
{
    char key[128];
    snprintf(key, sizeof key, "%s.%s", s->m->arch->name, suffix);
    gguf_writer_kv_f32(s->w, key, (float)v);
}

static void kv_str(struct synth *s, const char *suffix, const char *v)
{
    char key[128];
    snprintf(key, sizeof key, "%s.%s", s->m->arch->name, suffix);
    gguf_writer_kv_str(s->w, key, v);
}

/* Scalar keys that differ from their default. MLA's amplitude and scale are derived. */
static void write_keys(struct synth *s)
{
    const struct hparams *hp = &s->m->hp, *absent = arch_defaults(s->m->arch);
    const struct hparam_key *d;
    char key[128];
    for (size_t i = 0; (d = hparam_key_at(i)); i++) {
        const void *at = (const char *)hp + d->offset, *without = (const char *)absent + d->offset;
        const bool derived = d->offset == offsetof(struct hparams, attn_scale) ||
                             d->offset == offsetof(struct hparams, rope_attn_factor);
        if (hp->n_lora_kv > 0 && derived)
            continue;
        switch (d->kind) {
        case HPARAM_U32:
            if (*(const uint32_t *)at > 0 || *(const uint32_t *)without > 0)
                kv_u32(s, d->suffix, *(const uint32_t *)at);
            break;
        case HPARAM_F64:
            if (*(const double *)at > 0 || *(const double *)without > 0)
                kv_f32(s, d->suffix, *(const double *)at);
            break;
        case HPARAM_WHOLE:
            if (*(const double *)at > 0)
                kv_u32(s, d->suffix, (uint32_t)*(const double *)at);
            break;
        case HPARAM_BOOL:
            snprintf(key, sizeof key, "%s.%s", s->m->arch->name, d->suffix);
            if (hp->n_expert > 0)
                gguf_writer_kv_bool(s->w, key, *(const bool *)at);
            break;
        }
    }
}

static void write_rope(struct synth *s)
{
    const struct hparams *hp = &s->m->hp;
    kv_u32(s, "rope.dimension_count", hp->n_rot);
    switch (hp->rope_scaling) {
    case ROPE_SCALING_NONE:
    case ROPE_SCALING_LLAMA3: /* written as tensors */
    case ROPE_SCALING_LONGROPE:
        break;
    case ROPE_SCALING_LINEAR:
    case ROPE_SCALING_YARN:
        kv_str(s, "rope.scaling.type", hp->rope_scaling == ROPE_SCALING_YARN ? "yarn" : "linear");
        kv_f32(s, "rope.scaling.factor", hp->rope_factor);
        break;
    }
}

/* MLA: the cache is one head of latent and rotary key; attention heads have their own key width. */
static void write_head_dims(struct synth *s)
{
    const struct hparams *hp = &s->m->hp;
    if (hp->n_lora_kv > 0) {
        kv_u32(s, "attention.key_length", hp->n_lora_kv + hp->n_rot);
        kv_u32(s, "attention.value_length", hp->n_lora_kv);
        kv_u32(s, "attention.key_length_mla", hp->head_dim);
        kv_u32(s, "attention.value_length_mla", hp->head_dim_v);
    } else if ((uint64_t)hp->n_head * hp->head_dim != hp->n_embd) {
        kv_u32(s, "attention.key_length", hp->head_dim);
        kv_u32(s, "attention.value_length", hp->head_dim_v);
    }
}

/* Other readers require a key and a token. */
static bool is_phi3(const struct model *m)
{
    return strcmp(m->arch->name, "phi3") == 0;
}

static void write_hparams(struct synth *s)
{
    const struct hparams *hp = &s->m->hp;
    kv_u32(s, "context_length", hp->n_ctx_train);
    kv_u32(s, "embedding_length", hp->n_embd);
    kv_u32(s, "block_count", hp->n_layer + s->n_layer_nextn);
    if (s->n_layer_nextn > 0)
        kv_u32(s, "nextn_predict_layers", s->n_layer_nextn);
    kv_u32(s, "feed_forward_length", hp->n_ff);
    kv_u32(s, "attention.head_count", hp->n_head);
    kv_u32(s, "attention.head_count_kv", hp->n_head_kv);
    kv_f32(s, "attention.layer_norm_rms_epsilon", hp->rms_eps);
    write_head_dims(s);
    write_keys(s);
    write_rope(s);
    if (hp->window > 0 && hp->window_period != arch_defaults(s->m->arch)->window_period)
        kv_u32(s, "attention.sliding_window_pattern", hp->window_period);
    if (hp->window == 0 && is_phi3(s->m)) /* required by llama.cpp */
        kv_u32(s, "attention.sliding_window", 0);
    if (hp->expert_gate)
        kv_u32(s, "expert_gating_func", hp->expert_gate);
    kv_u32(s, "vocab_size", hp->n_vocab);
}

static int write_head(struct synth *s, struct error *err)
{
    const struct model *m = s->m;
    bool quantized = false;
    gguf_writer_kv_str(s->w, "general.architecture", m->arch->name);
    gguf_writer_kv_str(s->w, "general.name", s->o->name ? s->o->name : m->name);
    gguf_writer_kv_u32(s->w, "general.file_type", (uint32_t)mixture_file_type(m->type_name));
    write_hparams(s);
    if (synth_vocab_write(s->w, m->hp.n_vocab, is_phi3(m) ? "<|endoftext|>" : NULL, err) != 0)
        return -1;
    for (size_t i = 0; i < m->n_tensors; i++)
        quantized |= dtype_find(m->tensors[i].type)->block_elems > 1;
    if (quantized)
        gguf_writer_kv_u32(s->w, "general.quantization_version", 2);
    for (size_t i = 0; i < m->n_tensors; i++) {
        const struct tensor *t = &m->tensors[i];
        uint64_t dims[3] = { t->cols, t->rows / t->n_mat, t->n_mat };
        const uint32_t n_dims = t->n_mat > 1 ? 3 : t->rows > 1 ? 2 : 1;
        if (gguf_writer_tensor(s->w, t->name, n_dims, dims, t->type, err) != 0)
            return -1;
    }
    return gguf_writer_begin_data(s->w, err);
}

static int check_model(const struct model *m, struct error *err)
{
    if (m->gguf)
        return error_set(err, ERROR_INPUT, "%s: is a file already", m->name);
    if (!model_executable(m))
        return error_set(err, ERROR_INPUT, "%s: architecture %s is predicted from its config.json or GGUF: none is "
                         "written yet", m->name, m->arch->name);
    if (mixture_file_type(m->type_name) < 0)
        return error_set(err, ERROR_INPUT, "%s: files of type %s cannot be written", m->name,
                         m->type_name);
    if (m->hp.n_vocab < SYNTH_MIN_VOCAB)
        return error_set(err, ERROR_INPUT,
                         "%s: n_vocab is %u, expected at least %d: three control tokens and one for "
                         "each byte",
                         m->name, m->hp.n_vocab, SYNTH_MIN_VOCAB);
    if (m->hp.no_rope_period != arch_defaults(m->arch)->no_rope_period)
        return error_set(err, ERROR_INPUT, "%s: no_rope_layer_interval is %u, which a file of architecture %s cannot say",
                         m->name, m->hp.no_rope_period, m->arch->name);
    if (m->hp.rope_scaling == ROPE_SCALING_LLAMA3 && !(m->hp.rope_factor > 0))
        return error_set(err, ERROR_INPUT, "%s: the parameters of its RoPE scaling are not known", m->name);
    for (size_t i = 0; i < m->n_tensors; i++)
        if (!dtype_find(m->tensors[i].type)->quantize)
            return error_set(err, ERROR_INPUT,
                             "%s: %s would be %s, which roofcast cannot write (rows of %llu elements)",
                             m->name, m->tensors[i].name, dtype_name(m->tensors[i].type),
                             (unsigned long long)m->tensors[i].cols);
    return 0;
}

/* Detects a full disk before gigabytes are written. Devices and pipes are not checked. */
static int check_space(const struct model *m, const char *path, struct error *err)
{
    struct stat st;
    struct statvfs fs;
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
    if ((stat(path, &st) == 0 && !S_ISREG(st.st_mode)) || statvfs(dir, &fs) != 0)
        return 0; /* reported when the file is opened */
    double avail = (double)fs.f_bavail * (double)fs.f_frsize, need = (double)m->weight_bytes;
    char a[32], b[32];
    if (need <= avail)
        return 0;
    return error_set(err, ERROR_SYSTEM, "%s: the file needs %s, and its disk has %s free", path,
                     units_si(a, sizeof a, need, "B"), units_si(b, sizeof b, avail, "B"));
}

int model_synth(const struct model *m, const char *path, const struct synth_options *o,
                struct error *err)
{
    struct synth s = { .m = m, .o = o, .n_layer_nextn = nextn_n_layer(m) };
    if (check_model(m, err) != 0 || check_space(m, path, err) != 0)
        return -1;
    s.quantiles = malloc(N_QUANTILES * sizeof *s.quantiles);
    if (!s.quantiles)
        return error_oom(err, N_QUANTILES * sizeof *s.quantiles, "the table of quantiles");
    fill_quantiles(s.quantiles);
    s.w = gguf_writer_new(path, err);
    if (!s.w || write_head(&s, err) != 0)
        goto fail;
    for (size_t i = 0; i < m->n_tensors; i++)
        if (write_tensor(&s, &m->tensors[i], err) != 0)
            goto fail;
    free(s.quantiles);
    return gguf_writer_finish(s.w, err);
fail:
    free(s.quantiles);
    if (s.w)
        gguf_writer_abort(s.w);
    return -1;
}
