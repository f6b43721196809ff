/* Evaluates the chunks of a text with one model, or two in parallel; every scored token becomes a token_quality. */
#include "base/notify.h"
#include "bench/ppl.h"
#include "cost/cost.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Evaluation of one model, and of a base model or none. */
struct evaluation {
    const struct ppl_chunks *c;
    const char *name; /* name in progress lines */
    const char *path, *base_path; /* for messages */
    struct engine *e, *base;
    struct team *team; /* computes scores: a softmax over the vocabulary per token */
    uint32_t n_vocab, n_ubatch;
    int32_t *chunk;
    struct token_quality *token; /* [c->n * scored tokens a chunk] */
    size_t n;
    double nll, kl; /* running sums */
    double start_s, printed_s;
};

/* Rows of logits, scored by all threads. */
struct rows {
    const float *logits, *base; /* [n, n_vocab] */
    const int32_t *next;        /* [n] */
    uint32_t n, n_vocab;
    struct token_quality *out;
};

static uint32_t n_scored(const struct ppl_chunks *c)
{
    return c->n_ctx - 1 - c->first;
}

static void score_rows(void *arg, int tid, int n_threads)
{
    const struct rows *r = arg;
    for (uint32_t i = (uint32_t)tid; i < r->n; i += (uint32_t)n_threads) {
        const size_t at = (size_t)i * r->n_vocab;
        r->out[i] = quality_token(r->logits + at, r->base ? r->base + at : NULL, r->n_vocab, r->next[i]);
    }
}

/* Evaluates tokens [at, at + n) of a chunk. *logits: n rows; NULL: fills the cache only. */
static int eval(struct evaluation *w, struct engine *e, uint32_t at, uint32_t n, const float **logits, struct error *err)
{
    if (engine_eval(e, w->chunk + at, n, at, logits ? n : 0, logits, err) != 0)
        return -1;
    if (logits && !logits_finite(*logits, (size_t)n * w->n_vocab))
        return error_set(err, ERROR_INPUT, "%s: its logits are not finite: damaged weights?",
                         e == w->base ? w->base_path : w->path);
    return interrupt_check(err);
}

static int score_pass(struct evaluation *w, uint32_t at, uint32_t n, struct error *err)
{
    struct rows r = { .next = w->chunk + at + 1, .n = n, .n_vocab = w->n_vocab, .out = w->token + w->n };
    if (eval(w, w->e, at, n, &r.logits, err) != 0 || (w->base && eval(w, w->base, at, n, &r.base, err) != 0))
        return -1;
    team_run(w->team, score_rows, &r);
    for (uint32_t i = 0; i < n; i++) {
        w->nll += r.out[i].nll;
        w->kl += r.out[i].kl;
    }
    w->n += n;
    return 0;
}

static int run_chunk(struct evaluation *w, size_t i, struct error *err)
{
    const struct ppl_chunks *c = w->c;
    memcpy(w->chunk, c->id + i * c->stride, c->n_ctx * sizeof *w->chunk);
    if (c->bos >= 0)
        w->chunk[0] = c->bos;
    if (c->first > 0 && (eval(w, w->e, 0, c->first, NULL, err) != 0 ||
                         (w->base && eval(w, w->base, 0, c->first, NULL, err) != 0)))
        return -1;
    for (uint32_t at = c->first, n; at < c->n_ctx - 1; at += n) {
        n = (uint32_t)u64_min(w->n_ubatch, c->n_ctx - 1 - at);
        if (score_pass(w, at, n, err) != 0)
            return -1;
    }
    return 0;
}

/* Prints at most two progress lines a second. */
static void print_progress(struct evaluation *w, size_t done)
{
    const double now_s = clock_now_s(), n = (double)w->n;
    const double left_s = (now_s - w->start_s) / (double)done * (double)(w->c->n - done);
    char line[160], kl[40] = "";
    if (now_s - w->printed_s < 0.5 && done < w->c->n)
        return;
    w->printed_s = now_s;
    if (w->base)
        snprintf(kl, sizeof kl, ", KL %.5f", w->kl / n);
    snprintf(line, sizeof line, "%s: chunk %zu/%zu, PPL %.4f%s, %.0f min %02.0f s left", w->name, done, w->c->n,
             exp(w->nll / n), kl, floor(left_s / 60), floor(fmod(left_s, 60)));
    notify_progress(NULL, line, (double)done / (double)w->c->n);
}

static struct engine *engine_for(const struct model *m, const struct evaluation *w, const struct setup *machine,
                                 const struct setup_options *o, struct error *err)
{
    struct engine_options eo = setup_engine_options(machine, o);
    eo.n_ctx = w->c->n_ctx;
    eo.n_ubatch = w->n_ubatch;
    eo.n_out_max = (uint32_t)u64_min(w->n_ubatch, n_scored(w->c));
    struct engine *e = engine_new(m, &eo, err);
    if (!e)
        error_prefix(err, "%s", m->path);
    return e;
}

static int evaluation_init(struct evaluation *w, const struct model *m, const struct model *base,
                     const struct setup *machine, struct error *err)
{
    size_t n;
    if (!size_mul(w->c->n, n_scored(w->c), &n) || n > SIZE_MAX / sizeof *w->token)
        return error_set(err, ERROR_INPUT, "%zu chunks of %u tokens are too many", w->c->n, w->c->n_ctx);
    w->token = calloc(n, sizeof *w->token);
    w->chunk = calloc(w->c->n_ctx, sizeof *w->chunk);
    if (!w->token || !w->chunk)
        return error_oom(err, n * sizeof *w->token, "the scored tokens");
    struct setup_options exact = w->c->engine;
    exact.type_k = exact.type_v = DTYPE_F16;
    exact.pow2_scales = false;
    w->e = engine_for(m, w, machine, &w->c->engine, err);
    if (!w->e || (base && !(w->base = engine_for(base, w, machine, &exact, err))))
        return -1;
    w->team = team_new(machine->n_threads, &machine->cpus, err);
    return w->team ? 0 : -1;
}

int ppl_evaluate(struct ppl_file *f, const struct model *m, const struct model *base, const struct ppl_chunks *c,
                 uint32_t n_ubatch, const struct setup *machine, struct error *err)
{
    struct evaluation w = { .c = c, .name = m->type_name, .path = m->path, .base_path = base ? base->path : "", .n_vocab = m->hp.n_vocab,
                      .n_ubatch = (uint32_t)u64_min(n_ubatch, c->n_ctx) };
    int rc = evaluation_init(&w, m, base, machine, err);
    if (rc == 0)
        setup_note_scales(&c->engine, w.e);
    if (rc == 0)
        snprintf(f->act_scales, sizeof f->act_scales, "%s", act_scales_name(engine_act_scales(w.e, w.n_ubatch)));
    w.start_s = clock_now_s();
    for (size_t i = 0; rc == 0 && i < c->n; i++) {
        rc = run_chunk(&w, i, err);
        if (rc == 0)
            print_progress(&w, i + 1);
    }
    if (rc == 0)
        rc = quality_sum(&f->q, w.token, w.n, err);
    team_free(w.team);
    engine_free(w.base);
    engine_free(w.e);
    free(w.token);
    free(w.chunk);
    return rc == 0 ? ppl_describe(f, m, err) : -1;
}

int ppl_describe(struct ppl_file *f, const struct model *m, struct error *err)
{
    struct op_list ops = { 0 };
    struct weight_account a;
    if (op_list_build(&ops, m, err) != 0)
        return -1;
    const int rc = account_weights(&a, m, &ops, 1, err);
    op_list_free(&ops);
    if (rc != 0)
        return -1;
    snprintf(f->model, sizeof f->model, "%s", m->name);
    snprintf(f->type, sizeof f->type, "%s", m->type_name);
    f->file_bytes = (double)gguf_file_bytes(m->gguf);
    f->bits_weight = 8 * a.total_bytes / (double)m->n_params;
    f->step_weight_bytes = a.read_bytes;
    return 0;
}

void ppl_base_file(struct ppl_file *f, const struct ppl_file *other)
{
    const struct quality *o = &other->q;
    f->base = true;
    f->q = (struct quality){
        .n_tokens = o->n_tokens, .nll = log(o->ppl_base), .nll_se = o->ppl_base_se / o->ppl_base,
        .ppl = o->ppl_base, .ppl_se = o->ppl_base_se,
        .ppl_base = NAN, .ppl_base_se = NAN, .ln_ratio = NAN, .ln_ratio_se = NAN,
        .kl = NAN, .kl_se = NAN, .kl_median = NAN, .kl_p99 = NAN, .kl_p999 = NAN, .kl_max = NAN,
        .dp_rms = NAN, .same_top = NAN, .same_top_se = NAN,
    };
}
