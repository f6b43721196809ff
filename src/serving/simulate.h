/*
 * simulate.h: a workload through a policy on a clock of prices: when each request starts, gives its first token and ends. Times are whole
 * picoseconds. Two modes with equal results: every step one by one (scheduler.c, plain), and jumps over steps that are alike (fast.c).
 */
#ifndef SERVING_SIMULATE_H
#define SERVING_SIMULATE_H

#include "serving/histogram.h"
#include "serving/policy.h"
#include "serving/step_work.h"
#include "serving/workload.h"

#define SERVE_NOT_YET UINT64_MAX

/* What happened to a request. */
struct serve_outcome {
    uint64_t due_ps;   /* when its user wanted it */
    uint64_t sent_ps;  /* when the client sent it: later where a limit of requests under way holds it back */
    uint64_t start_ps; /* first admitted */
    uint64_t first_ps; /* its first token */
    uint64_t end_ps;   /* its last */
    uint32_t n_hit;    /* prompt tokens found in the prefix cache */
    uint32_t n_preempt;
    bool failed;       /* refused for want of KV cache; end_ps: when */
};

/* A step, for time series. */
struct serve_step {
    uint64_t start_ps, end_ps;
    uint64_t n;            /* alike steps one after the other */
    uint32_t n_decode, n_prompt; /* tokens of each step */
    uint32_t replica;
    uint32_t n_running, n_waiting, used_blocks; /* when it was formed; of several: blocks after the last */
    double bytes, flop;    /* of all n, on a device; 0: not counted */
};
typedef void serve_step_fn(void *ctx, const struct serve_step *x);

struct serve_totals {
    uint64_t n_step;                 /* jumps count each of theirs */
    uint64_t n_preempt, n_evicted;
    uint64_t n_query_tok, n_hit_tok; /* of the prefix cache */
    uint64_t busy_ps, end_ps;        /* sum of the steps; the last end */
    uint64_t n_prompt_tok, n_decode_tok; /* computed, recomputation included */
    uint64_t n_wasted_tok;           /* of steps formed for sequences that had ended */
    uint64_t n_draft, n_accepted;    /* drafts verified; of these accepted */
    uint64_t n_round;                /* steps of a sequence that verified drafts */
    uint64_t n_loaded_tok;           /* positions that came from a prefill replica or from host memory */
    /* Integrals over busy time, in sequence x ps and block x ps: means are these over busy_ps. A jump's blocks count with the mean of its ends. */
    unsigned __int128 running_ps, used_block_ps;
    uint32_t most_running, most_used_blocks;
    double bytes, flop;              /* of a device, summed over replicas; 0: not counted */
};

/* To which of several replicas a request goes. */
enum serve_route {
    ROUTE_ROUND_ROBIN,  /* by its number */
    ROUTE_LEAST_ACTIVE, /* the one with the fewest requests under way */
    ROUTE_PREFIX,       /* the one that has most of its prompt cached, else the least active */
};

enum { SERVE_STEP_BY_STEP = 1 }; /* of serve_options.flags: no jumps */

struct serve_options {
    const struct policy *policy;
    const struct step_price *price;
    const struct step_work *work; /* NULL: bytes and FLOP are not counted */
    uint32_t n_block;        /* usable KV blocks */
    uint32_t max_concurrency; /* of the client; 0: any number */
    double gap_scale;        /* of the times between roots' arrivals: 0.5 is twice the rate; 0: 1 */
    uint32_t n_replica;      /* alike, each with n_block blocks; 0: 1 */
    enum serve_route routing;
    uint32_t n_prefill;      /* of the replicas, those that compute prompts alone; the others decode. 0: all do both */
    double load_bytes_s, load_latency_s; /* at which keys and values come from a prefill replica, or from host memory; several one after the
                             other */
    double kv_token_bytes;   /* of a position, on all devices of a replica */
    uint32_t load_layers;    /* prompts' keys are sent layer by layer while the prompt is computed: their number; 0: at its end */
    uint64_t seed;           /* of acceptance */
    double accept[POLICY_MAX_DRAFT]; /* probability that the k-th draft is accepted, given those before it */
    double accept_sd;        /* spread of a request's rates: of their logit */
    unsigned flags;
    serve_step_fn *step;     /* called for every step or jump; NULL */
    void *step_ctx;
};

struct serve_result {
    struct serve_outcome *out; /* [workload.n] */
    size_t n;
    struct serve_totals t;
    struct histogram gap;    /* ps between tokens of a request, all requests' pooled, one sample a step */
    bool stepped;            /* every step one by one: why[] says why where that was not asked for */
    char why[96];
};

/*
 * errors   ERROR_USAGE  the policy's fields; ERROR_INPUT  a request that can never run, an end after more than 106 days; ERROR_INTERRUPTED;
 *          out of memory
 * cost     some 0.3 us a request by jumps; 5 ns a sequence and step else
 * threads  any number may simulate the same workload, policy and prices at once
 */
int serve_simulate(struct serve_result *r, const struct serve_workload *w, const struct serve_options *o, struct error *err);
void serve_result_free(struct serve_result *r);
/* For those who drive the scheduler by another clock: a result without times, and steps added to its totals. Blocks in use lay between used_before and
 * those of x. */
int serve_result_init(struct serve_result *r, size_t n, struct error *err);
void serve_note_steps(struct serve_result *r, const struct serve_options *o, const struct serve_step *x, uint32_t used_before);

/* Accepted drafts of the step that follows a request's n_known-th token: the same in every policy and order. */
uint32_t serve_accepted(const struct serve_options *o, uint32_t request, uint32_t n_known, uint32_t n_draft);

#endif
