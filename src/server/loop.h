/*
 * loop.h: continuous batching on the engine: a thread forms steps by the scheduler of serving/, runs them and hands out their tokens.
 * Callers of other threads submit requests and abort them.
 */
#ifndef SERVER_LOOP_H
#define SERVER_LOOP_H

#include "engine/engine.h"
#include "serving/policy.h"

enum loop_finish {
    LOOP_RUNNING,
    LOOP_LENGTH,  /* n_max tokens, or the model's context */
    LOOP_EOS,     /* an end token; it is not handed out */
    LOOP_STOPPED, /* the sink said so */
    LOOP_ABORTED, /* loop_abort(), or the loop ends */
    LOOP_FAILED,  /* the engine failed, or the KV cache is full (llama-server): loop_tokens.error */
};

/* Likely tokens of a position with the natural logarithm of their probability before the sampler's changes. */
struct loop_logprob {
    int32_t id;
    float logprob;
};

/* What a step yields to a request. All of it lives as long as the call. */
struct loop_tokens {
    const int32_t *id;
    uint32_t n;                        /* 0 at an end without a token */
    const struct loop_logprob *chosen; /* [n]; NULL: not asked */
    const struct loop_logprob *top;    /* [n][n_top], likeliest first */
    uint32_t n_top;
    enum loop_finish finish;           /* LOOP_RUNNING: more follows. Else the last call for this request */
    const char *error;                 /* LOOP_FAILED */
    uint32_t n_hit;                    /* prompt tokens found in the prefix cache */
    uint32_t n_preempt;
    double submit_s, start_s, now_s;   /* clock_s(): submitted; first scheduled; these tokens ready */
};

/* Takes tokens, on the loop's thread: it must not block. True: the request ends here (a stop text was found): finish of the next call, its last, is
 * LOOP_STOPPED, with n 0. */
typedef bool loop_sink_fn(void *ctx, const struct loop_tokens *t);

struct loop_request {
    const int32_t *prompt; /* [n_in], copied */
    uint32_t n_in;
    uint32_t n_max;        /* tokens generated at most, >= 1 */
    uint32_t n_min;        /* no end token before */
    struct sampler_options sampler;
    float presence_penalty, frequency_penalty; /* of the tokens generated, [-2, 2]; 0: off */
    const struct loop_logprob *bias; /* [n_bias] added to logits; copied */
    uint32_t n_bias;
    const int32_t *end;    /* [n_end] end tokens; copied */
    uint32_t n_end;
    bool ignore_end;       /* generate on past them */
    bool logprobs;
    uint32_t n_top;        /* <= LOOP_MAX_TOP, with logprobs */
    int32_t priority;      /* lower: earlier, where the policy has priorities */
    uint64_t salt;         /* prompts of different salts share no prefix; 0: none */
    loop_sink_fn *sink;
    void *sink_ctx;
};
enum { LOOP_MAX_TOP = 20 };

struct loop_options {
    struct policy policy;  /* checked by policy_check(); its block_size is the engine's */
    uint32_t n_block;      /* of the KV pool */
    uint32_t max_queued;   /* requests waiting at most; 0: no limit */
};

struct loop;

/* Starts the thread. The engine, with the pool of o->n_block blocks, belongs to the loop until loop_free(). */
struct loop *loop_new(struct engine *e, const struct loop_options *o, struct error *err);
/* Aborts what is left; their sinks are called once more. */
void loop_free(struct loop *l);
/*
 * errors   ERROR_INPUT  the prompt and n_max do not fit the context or the pool: states both; ERROR_UNAVAILABLE  max_queued requests wait, or
 * the loop drains
 */
int loop_submit(struct loop *l, const struct loop_request *r, uint64_t *id, struct error *err);
/* The sink is called once more, with LOOP_ABORTED, unless the request has ended. Its blocks are free from the next step on. */
void loop_abort(struct loop *l, uint64_t id);
/* No more requests: loop_submit() fails from now on; those here go on. */
void loop_drain(struct loop *l);
/* Nothing runs and nothing waits. */
bool loop_idle(struct loop *l);

/* Counts since the start, and what is so now. Histograms: counts of a metric's buckets as Prometheus has them (not cumulative); the last: beyond all. */
enum { LOOP_BUCKETS = 24 };
struct loop_histogram {
    const double *bound; /* [n] ascending, seconds or tokens */
    uint32_t n;
    uint64_t count[LOOP_BUCKETS + 1];
    double sum;
};
enum loop_time { LOOP_TTFT, LOOP_ITL, LOOP_TPOT, LOOP_E2E, LOOP_QUEUE, LOOP_PREFILL, LOOP_DECODE, LOOP_INFERENCE, LOOP_STEP_TOKENS, LOOP_TIMES };
struct loop_stats {
    uint32_t n_running, n_waiting;
    uint32_t n_block, n_block_used;
    uint64_t n_step, n_preempt, n_prompt_tok, n_output_tok;
    uint64_t n_query_tok, n_hit_tok;              /* of the prefix cache */
    uint64_t n_draft, n_draft_tok, n_accepted_tok;
    uint64_t n_accepted_at[POLICY_MAX_DRAFT];     /* by position */
    uint64_t n_finished[LOOP_FAILED + 1];         /* by enum loop_finish */
    double busy_s, tok_s, bytes_s;                /* steps' time; output tokens/s and engine's memory traffic over the last second */
    struct loop_histogram h[LOOP_TIMES];
};
void loop_stats(struct loop *l, struct loop_stats *s);

#endif
