/* loop_internal.h: state of a loop; of src/server/loop*.c alone. */
#ifndef SERVER_LOOP_INTERNAL_H
#define SERVER_LOOP_INTERNAL_H

#include "serving/scheduler.h"
#include "server/loop.h"
#include <pthread.h>

struct token_count {
    int32_t id;
    uint32_t n;
};

/* A request in the loop. Its place in loop.job is the scheduler's number of it. */
struct job {
    uint64_t id;             /* 0: free */
    struct job *next;        /* submitted, not yet taken */
    uint32_t place;
    struct sched_seq *q;     /* NULL: not taken yet */
    int32_t *tok;            /* [n_in + n_max + POLICY_MAX_DRAFT] prompt, then what was generated, then drafts */
    uint32_t n_in, n_max, n_min, n_tok;
    struct sampler sampler;
    float presence, frequency;
    struct token_count *used; /* [n_used]; NULL: no such penalties */
    uint32_t n_used;
    struct loop_logprob *bias;
    int32_t *end, *forced;
    uint32_t n_bias, n_end, n_top, n_forced, number;
    bool ignore_end;
    struct loop_logprob *chosen, *top; /* of a step's tokens: [1 + POLICY_MAX_DRAFT], [1 + POLICY_MAX_DRAFT][n_top]; NULL: not asked */
    int32_t priority;
    uint64_t hash, salt;     /* of its tokens up to n_hashed */
    uint32_t n_hashed;
    loop_sink_fn *sink;
    void *sink_ctx;
    bool aborted, ended;     /* ended: its sink has had its last call */
    double submit_s, start_s, first_s, last_s;
};

/* What a step yields to one entry of its batch: tokens job.tok[first ... first + n). */
struct yield {
    uint32_t first, n;
    uint32_t n_forced, n_accepted; /* drafts accepted without a look, those beyond the end of the output too; all that are accepted */
    bool end, done;              /* the last of them is an end token; no more rows count */
    bool broken;                 /* a row of logits is not finite: the request fails */
};

/* Blocks of a slot, by position. */
struct slot_table {
    uint32_t *block;
    uint32_t n;
};

struct flight {
    struct batch batch;
    /* With asynchronous scheduling, the tables of its entries as they were when it was formed: block[first[entry * n_group + group] ...] */
    uint32_t *block;
    size_t *first;
    uint32_t n_running, n_waiting, used_blocks; /* when it was formed */
};

struct loop {
    struct engine *e;
    struct loop_options o;
    struct scheduler s;
    uint32_t n_vocab;
    /* Shared with other threads, under lock: */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct job *submitted, *submitted_last;
    uint32_t n_submitted;
    struct job **job; /* [cap_job] by place; NULL: free. The loop's thread reads it as `own` */
    uint32_t cap_job, n_job;
    uint64_t n_id;
    bool stop, drain, any_abort;
    struct loop_stats stats;
    /* The loop's thread's own: */
    struct job **own; /* [cap_own] by place: those in the scheduler */
    uint32_t cap_own;
    struct flight flight[2];
    uint32_t n_flight;
    struct engine_run *run; /* [cap_run], of a pass */
    const uint32_t **table; /* [cap_run][POLICY_MAX_GROUPS] */
    struct yield *yield;    /* [cap_run], of a batch */
    float *hidden;          /* [n_tok of a batch, n_embd] hidden states, entry by entry, for a drafter from them; NULL */
    uint32_t cap_hidden, n_embd;
    size_t cap_run;
    int32_t *tok;           /* [n_ubatch] of a pass */
    uint32_t n_ubatch, block_size; /* the engine's */
    float *row;             /* [n_vocab] changed logits */
    struct scored *scratch; /* of samplers */
    struct slot_table *slot; /* [max_num_seqs] of slots */
    uint32_t *free_block;    /* of slots: a stack */
    uint32_t n_free_block;
    double start_s, next_poll_s;
    uint64_t n_wasted_tok;
    struct work work; /* the engine's, of all steps so far */
};

static inline struct job *loop_job(const struct loop *l, const struct sched_seq *q)
{
    return l->own[q->request];
}

/* ---- loop_token.c: from logits to tokens ---- */
/* The next token of j by a row of logits, or `forced` where that is not NO_TOKEN; with j->chosen also chosen[k] and top[k][n_top]. */
enum { NO_TOKEN = -1 };
int32_t loop_pick(struct loop *l, struct job *j, const float *logits, uint32_t k, int32_t forced);
bool loop_is_end(const struct job *j, int32_t id);
/* Appends to the hashes of q's blocks (slots: tokens) those of known tokens. */
void loop_hash(const struct loop *l, struct job *j, uint64_t *hash, uint32_t *n_hash);
/* Room for all of them. */
size_t loop_hash_room(const struct loop *l, const struct job *j);

/* ---- loop_pass.c: a batch on the engine ---- */
int loop_pass_init(struct loop *l, struct error *err);
void loop_pass_free(struct loop *l);
/* Keeps the tables of the newest flight as they are now. */
int loop_keep_tables(struct loop *l, struct flight *f, struct error *err);
/* Runs the batch; fills l->yield, and tokens into jobs beyond n_tok. */
int loop_run_batch(struct loop *l, struct flight *f, struct error *err);

/* ---- loop_stats.c ---- */
void loop_stats_init(struct loop_stats *s);
void loop_stats_add(struct loop_histogram *h, double value);
/* Times of j, which gets tokens now; its end. */
void loop_note_tokens(struct loop *l, struct job *j, uint32_t n, double now_s);
void loop_note_end(struct loop *l, const struct job *j, enum loop_finish finish, double now_s);

#endif
