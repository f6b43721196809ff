/*
 * loop.h: continuous batching on the engine: steps are formed by the scheduler of serving/, run, and their tokens handed out, all on one thread.
 * Other threads submit requests and abort them.
 */
#ifndef SERVER_LOOP_H
#define SERVER_LOOP_H

#include "engine/engine.h"
#include "server/draft.h"
#include "serving/simulate.h"

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
    double submit_s, start_s, now_s;   /* clock_now_s(): submitted; first scheduled, 0: never; these tokens ready */
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
    const int32_t *forced; /* [n_forced] tokens that it generates whatever the model says, copied; then what it samples */
    uint32_t n_forced;
    uint64_t salt;         /* prompts of different salts share no blocks; 0: none */
    uint32_t number;       /* which draws of forced acceptance it has */
    loop_sink_fn *sink;
    void *sink_ctx;
};
enum { LOOP_MAX_TOP = 20 };

struct loop_options {
    struct policy policy;  /* its block_size (of slots: 1), groups and windows are the engine's */
    uint32_t n_block;      /* of the engine's pool */
    uint32_t max_queued;   /* requests waiting at most; 0: no limit */
    uint64_t seed;         /* of the hashes of the prefix cache: of a server that strangers use, from getrandom(2) */
    struct drafter drafter; /* with num_speculative_tokens; the caller's */
    double accept[POLICY_MAX_DRAFT]; /* with forced_accept: probability that the k-th draft is accepted, given those before it */
    bool forced_accept;    /* for measurements: the text means nothing */
    /* Called on the loop's thread before each step is formed; may submit requests. Returns when it wants to be called next, in the time of clock_now_s();
     * INFINITY: when something has happened. NULL */
    double (*poll)(void *ctx);
    void *poll_ctx;
    serve_step_fn *step;   /* called after every step with times since loop_new(); NULL */
    void *step_ctx;
};

struct loop;

/* errors   ERROR_USAGE  what the loop does not do: speculation with asynchronous scheduling or in slots, KV blocks in host memory */
int loop_check_policy(const struct policy *p, struct error *err);
/* e: with a paged cache of o->n_block blocks, n_ubatch and n_out_max at least a step's; it outlives the loop. */
struct loop *loop_new(struct engine *e, const struct loop_options *o, struct error *err);
/* Aborts what is left; their sinks are called once more. */
void loop_free(struct loop *l);
/*
 * Runs steps on the calling thread, that of engine_new(), until loop_stop(), or until it drains and is idle. The first SIGINT or SIGTERM drains.
 *
 * errors   the engine's: all requests end with LOOP_FAILED; out of memory
 */
int loop_run(struct loop *l, struct error *err);
/* loop_run() returns after the step under way. */
void loop_stop(struct loop *l);
/*
 * errors   ERROR_INPUT  the prompt and n_max do not fit the context or the pool: states both; ERROR_UNAVAILABLE  max_queued requests wait, or
 * the loop drains
 */
int loop_submit(struct loop *l, const struct loop_request *r, uint64_t *id, struct error *err);
/* The sink is called once more, with LOOP_ABORTED, unless the request has ended. Its blocks are free from the next step on. */
void loop_abort(struct loop *l, uint64_t id);
/* No more requests: loop_submit() fails from now on; those here go on, then loop_run() returns. */
void loop_drain(struct loop *l);
/* Nothing runs and nothing waits. */
bool loop_idle(struct loop *l);
/* clock_now_s() of loop_new(), from which steps are timed. */
double loop_start_s(const struct loop *l);

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
    uint64_t n_evicted, n_wasted_tok;             /* cached blocks taken for other content; computed for requests that had ended */
    uint64_t n_query_tok, n_hit_tok;              /* of the prefix cache */
    uint64_t n_draft, n_draft_tok, n_accepted_tok;
    uint64_t n_accepted_at[POLICY_MAX_DRAFT];     /* by position */
    uint64_t n_finished[LOOP_FAILED + 1];         /* by enum loop_finish */
    double busy_s, bytes;                         /* of the steps: their time; weights and KV cache that they read and wrote */
    struct loop_histogram h[LOOP_TIMES];
};
void loop_stats(struct loop *l, struct loop_stats *s);

#endif
