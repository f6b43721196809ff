/*
 * roofcast/serving.h: many requests on a served model: time to first token, time between tokens, tokens/s and the rate that a service level
 * objective allows. A discrete-event simulation: the scheduler of a real server forms every step, the time model of predict.h prices it.
 *
 * Spreads  two, kept apart. Sampling: more requests narrow it. Model: draws of the constants of software; requests do not narrow it
 * Rates    arrivals/s: of requests, or of sessions where requests have turns
 * Results  the same for the same arguments, bit by bit. They need none of what they were made of
 * Threads  model, machine, software and workload are only read: any number of threads may simulate at once, also with the same ones. A
 *          result does not change: any number of threads may read it
 */
#ifndef ROOFCAST_SERVING_H
#define ROOFCAST_SERVING_H

#include <roofcast/predict.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- workloads ------------------------------------------------------------------------------------------------------------- */

/* Requests: when they arrive, how long prompt and output are, what prompts share. It does not change after it was made. */
struct roofcast_workload;
enum roofcast_ends {
    ROOFCAST_ENDS_DEFAULT, ROOFCAST_ENDS_LENGTH, /* LENGTH, of traces STOP; the scheduler knows the output's length: ignore_eos */
    ROOFCAST_ENDS_STOP,    /* the model ends a request: the scheduler learns of it from the last token */
};

struct roofcast_workload_options {
    size_t size;         /* of the struct, set by init */
    double rate;         /* arrivals/s; INFINITY: all at once; NaN (default): a trace's own times, all at once where there are none */
    double burstiness;   /* of arrivals: 1 (default) Poisson, below 1 bursts, INFINITY constant gaps */
    uint64_t n_requests; /* 0 (default): by duration_s, else all of a trace, else 1000; of sessions: their requests */
    double duration_s;   /* arrivals up to here; 0 (default): by n_requests */
    uint64_t seed;       /* of lengths and arrivals: 0 */
    int ends;            /* enum roofcast_ends */
    int rescale;         /* the last arrival is at n / rate, as in vllm bench serve. Default 0 */
    int ramp;            /* the rate goes from ramp_from to ramp_to over the requests: 1 linearly, 2 exponentially; 0 (default): not */
    double ramp_from, ramp_to; /* arrivals/s: 1 and 10 */
};
ROOFCAST_API void roofcast_workload_options_init(struct roofcast_workload_options *o, size_t size);

/*
 * text     "random:in=1024,out=128,range=0.5", "lognormal:in=512,out=200,sigma=0.8", "session:turns=6,in=2000,new=300,out=200,think=10s",
 *          "empirical:FILE" (lengths drawn from a trace); the path of a trace, or "FORMAT:FILE"; "azure-conv", "azure-code", "mooncake",
 *          "agentic": traces in the data directories. Formats: doc/formats.md
 * o        NULL: defaults
 * errors   ROOFCAST_ERROR_USAGE   no such file or name, an unknown key, a value out of range; options that contradict each other
 *          ROOFCAST_ERROR_INPUT   a damaged trace: file, line, field, found, expected; no request in it
 *          ROOFCAST_ERROR_SYSTEM  out of memory
 * cost     under 1 us and some 40 bytes a request
 */
ROOFCAST_API struct roofcast_workload *roofcast_workload_load(const char *text, const struct roofcast_workload_options *o,
                                                              struct roofcast_error *err);
/*
 * The same of requests that the caller has; none shares its prompt with another.
 *
 * arrival_s  [n] seconds since the start, ascending; NULL: made by the options' rate, burstiness and seed
 * n_in, n_out  [n] tokens of prompt and output, 1 to 67108864 each; all arrays are copied
 * o        NULL: defaults. rate only without arrival_s; n_requests and duration_s are not used
 * errors   ROOFCAST_ERROR_USAGE   both times and a rate
 *          ROOFCAST_ERROR_INPUT   no requests, a value out of range, times that do not ascend: the request's number, from 1
 *          ROOFCAST_ERROR_SYSTEM  out of memory
 */
ROOFCAST_API struct roofcast_workload *roofcast_workload_new(const double *arrival_s, const uint32_t *n_in, const uint32_t *n_out, size_t n,
                                                             const struct roofcast_workload_options *o, struct roofcast_error *err);
ROOFCAST_API void roofcast_workload_free(struct roofcast_workload *w);

struct roofcast_workload_info {
    const char *name;        /* "random:in=1024,out=128" */
    uint64_t n_requests, n_roots; /* all; those that are no later turn of a session */
    uint64_t n_in_tok, n_out_tok; /* sums */
    uint32_t longest_tok;    /* prompt and output of the longest request */
    double rate, duration_s; /* arrivals/s, INFINITY: all at once; to the last arrival */
    const char *note;        /* what of a file was left out or estimated; "": nothing */
};
ROOFCAST_API const struct roofcast_workload_info *roofcast_workload_info(const struct roofcast_workload *w);

/* ---- a server -------------------------------------------------------------------------------------------------------------- */

/* Rules by which a server forms batches: "vllm-0.27", "llama-server", "static", ...; and a line on each. Constants; NULL past the end. */
ROOFCAST_API const char *roofcast_policy_name(size_t i);
ROOFCAST_API const char *roofcast_policy_help(size_t i);

/* In turn; to the replica with the fewest requests under way; to the one that has most of the prompt cached, else the least active. */
enum roofcast_route { ROOFCAST_ROUTE_ROUND_ROBIN, ROOFCAST_ROUTE_LEAST_ACTIVE, ROOFCAST_ROUTE_PREFIX };

/* Names as vLLM's options. 0 and NaN, where nothing else is said: the policy's default on the machine. */
struct roofcast_server_options {
    size_t size;            /* of the struct, set by init */
    const char *policy;     /* any "vllm-0.N" too; NULL (default): "vllm-0.27" */
    const struct roofcast_software *software; /* as in roofcast_predict_options: NULL */
    const char *stack;      /* as there; NULL (default): "vllm", of a machine whose kernels are measured "roofcast", of llama-server what machines of the class run */
    const char *anchor_path; /* as there: NULL */
    const char *type_k, *type_v; /* of the KV cache; NULL (default): roofcast_model_info.kv_type */
    double routing_zipf;    /* as in roofcast_cost_options: 0 */
    int materialized;       /* as there: 0 */
    uint32_t tp, pp, dp, ep; /* devices of tensor, pipeline and expert parallelism; dp: replicas with a scheduler each. 1 each */
    int route;              /* enum roofcast_route: which replica takes a request */
    uint32_t n_prefill;     /* of the replicas, those that compute prompts alone and send keys and values to the others: 0 */
    double kv_offloading_bytes; /* host memory of a replica for KV blocks: prefixes found there are loaded, not computed. 0 */
    double kv_load_bytes_s; /* at which keys and values come from there, or from a prefill replica: 25e9 */
    uint32_t max_num_seqs;  /* sequences that run at once; of llama-server: slots */
    uint32_t max_num_batched_tokens; /* of a step */
    uint32_t max_model_len; /* positions of a sequence; 0: as the model was trained */
    uint32_t block_size;    /* positions of a KV block */
    uint32_t num_gpu_blocks_override; /* KV blocks, vLLM's null block among them, 2 to 67108864; 0: what the memory has room for */
    uint32_t long_prefill_token_threshold; /* prompt tokens of a request in a step; 0: no limit */
    double gpu_memory_utilization; /* fraction of the memory that the server takes */
    double watermark;       /* fraction of the blocks that admission leaves free */
    int enable_prefix_caching, enable_chunked_prefill, async_scheduling; /* 0 no, 1 yes, -1 (default): the policy's default */
    int cuda_graphs;        /* likewise: decode batches are padded to captured sizes */
    int priority;           /* waiting requests by the priority of a trace, in place of arrival. Default 0 */
    uint32_t num_speculative_tokens; /* drafted tokens of a decode step; 0: no speculation */
    const double *acceptance; /* [n_acceptance] probability that the i-th draft is accepted, given those before it; the last holds beyond */
    size_t n_acceptance;    /* 0 (default): 0.7 for all */
    double acceptance_spread; /* between requests: standard deviation of the logit. Default 0 */
};
ROOFCAST_API void roofcast_server_options_init(struct roofcast_server_options *o, size_t size);

/* ---- a simulation ---------------------------------------------------------------------------------------------------------- */

/* Steps that are alike, one after the other: a jump. */
struct roofcast_step {
    double start_s, end_s;   /* of all of them */
    uint64_t n_steps;
    uint32_t n_decode, n_prompt; /* tokens of each step: of decoding sequences, of prompts */
    uint32_t n_running, n_waiting; /* requests, when it was formed */
    uint32_t n_blocks, replica; /* KV blocks in use after the last; which replica */
};
/* In the order of their forming, on the thread that simulates; x is valid during the call. */
typedef void roofcast_step_fn(void *ctx, const struct roofcast_step *x);

struct roofcast_simulate_options {
    size_t size;             /* of the struct, set by init */
    double rate;             /* the same requests, times scaled to this mean rate; INFINITY: all at once; NaN (default): as they are */
    uint32_t max_concurrency; /* requests under way at once: the client holds others back; 0 (default): no limit */
    const char *slo;         /* "p99:ttft=1s,itl=50ms": that percentile of each; "95%:ttft=1s,tpot=50ms": that share of the requests
                                meets all, without "95%:" 99 %; NULL (default): none */
    uint32_t n_draws;        /* of the constants, of the first 10000 requests: 32; 0: none, below 10: no model interval */
    uint32_t n_threads;      /* of the draws: 1 (default); 0: all. The result does not depend on it */
    uint64_t seed;           /* of draws and acceptance: 0 */
    int drop_warmup;         /* leaves requests out up to the steady part of TTFT (MSER-5). Default 0 */
    int step_by_step;        /* no jumps: the same result, slower. Default 0 */
    roofcast_step_fn *step;  /* NULL (default): not called. Not called for draws */
    void *step_ctx;
};
ROOFCAST_API void roofcast_simulate_options_init(struct roofcast_simulate_options *o, size_t size);

struct roofcast_simulation;
/*
 * server, o  NULL: defaults
 * errors   ROOFCAST_ERROR_USAGE  an unknown policy, options out of range, an SLO that is none, a rate of requests that have no times
 *          ROOFCAST_ERROR_INPUT  the weights do not fit; a request that is longer than the KV cache or max_model_len: its number;
 *                                more than 106 days of simulated time; as roofcast_predict()
 * cost     with server->software some 10 ms and 0.3 us a request and draw; step by step 5 ns a sequence and step
 * source   (100)
 */
ROOFCAST_API struct roofcast_simulation *roofcast_simulate(const struct roofcast_model *m, const struct roofcast_machine *h,
                                                           const struct roofcast_workload *w, const struct roofcast_server_options *server,
                                                           const struct roofcast_simulate_options *o, struct roofcast_error *err);
ROOFCAST_API void roofcast_simulation_free(struct roofcast_simulation *s);

enum roofcast_verdict {
    ROOFCAST_STABLE,
    ROOFCAST_SATURATED, /* the queue grows as long as requests arrive: percentiles measure the length of the run */
    ROOFCAST_BURST,     /* requests arrive all at once: percentiles measure their number */
    ROOFCAST_SHORT,     /* requests arrive for less than three times as long as one takes: not in a steady state */
};
ROOFCAST_API const char *roofcast_verdict_name(int verdict); /* "stable" "saturated" "burst" "short". A constant */

struct roofcast_simulation_info {
    const char *policy;      /* "vllm-0.27" */
    const char *stack;       /* whose constants were used; "": none */
    const char *limit;       /* what requests waited for: "max_num_seqs" "max_num_batched_tokens" "batch" "kv_blocks"; "": nothing */
    int verdict;             /* enum roofcast_verdict */
    int slo_met;             /* 1 yes, 0 no; -1: no SLO */
    double p_slo;            /* share of the draws in which it is met, saturated ones not; NaN: no SLO or no draws */
    double p_saturated;      /* share of the draws that are saturated; without draws 0 or 1, of the run */
    double offered_tok_s, served_tok_s; /* prompt and output tokens while requests arrive; NaN: all at once */
    uint64_t n_requests, n_failed, n_steps; /* in the metrics; refused for want of KV cache */
    uint32_t n_draws, n_devices, n_replicas; /* devices of all replicas */
    uint32_t n_blocks, block_size;  /* usable KV blocks of a replica; positions of one */
    uint32_t max_num_seqs, max_num_batched_tokens, max_model_len; /* as used */
    int jumps;               /* 1: alike steps were taken at once */
};
ROOFCAST_API const struct roofcast_simulation_info *roofcast_simulation_info(const struct roofcast_simulation *s);

/* Intervals hold 90 %. NaN: none, reason says why. */
struct roofcast_metric {
    const char *key;         /* {ttft,itl,tpot,e2e,queue,...}_{mean,std,p50,p90,p95,p99}, "output_throughput", "kv_usage", ... */
    const char *unit, *help; /* "s" "tokens/s" "requests/s" "fraction", "": a number; what it is, "": the key says it */
    double value, sampling_low, sampling_high, model_low, model_high;
    const char *reason, *model_reason; /* why value or sampling interval, why the model's interval is missing; "": they are not */
};
ROOFCAST_API size_t roofcast_simulation_n_metric(const struct roofcast_simulation *s);
ROOFCAST_API const struct roofcast_metric *roofcast_simulation_metric(const struct roofcast_simulation *s, size_t i); /* NULL past the end */
ROOFCAST_API const struct roofcast_metric *roofcast_simulation_find(const struct roofcast_simulation *s, const char *key); /* NULL: no such */

/* What happened to request i of the workload. Seconds since the start; NaN: it did not get so far. */
struct roofcast_request {
    double due_s, sent_s, start_s; /* its user wanted it; the client sent it; first admitted */
    double first_s, end_s;   /* first token; last token, or refused */
    uint32_t n_in, n_out;    /* tokens of prompt and output */
    uint32_t n_hit, n_preempt; /* prompt tokens found in the prefix cache; times that it lost its KV blocks */
    int failed;              /* refused for want of KV cache */
};
ROOFCAST_API size_t roofcast_simulation_n_request(const struct roofcast_simulation *s);
ROOFCAST_API const struct roofcast_request *roofcast_simulation_request(const struct roofcast_simulation *s, size_t i); /* NULL past the end */

/* ---- capacity -------------------------------------------------------------------------------------------------------------- */

struct roofcast_capacity_options {
    size_t size;             /* of the struct, set by init */
    uint32_t max_concurrency; /* as in roofcast_simulate_options: 0 */
    uint32_t n_draws;        /* 32; 0: without probabilities */
    uint64_t seed;           /* 0 */
    double precision;        /* relative, of a rate: 0.01 */
};
ROOFCAST_API void roofcast_capacity_options_init(struct roofcast_capacity_options *o, size_t size);

/* Rates are arrivals/s, of all replicas. */
struct roofcast_capacity {
    double rate;             /* the highest that meets the SLO by the central constants; 0: not even a single request meets it */
    double rate_90, rate_50, rate_10; /* the highest that meets it with that probability, in percent; NaN: fewer than 10 draws */
    double saturation;       /* served when all requests come at once, the drain at the end and think times included */
    /* At `rate`; NaN where that is 0. */
    double in_tok_s, out_tok_s, user_tok_s; /* prompts, outputs; 1 / mean TPOT */
    double ttft_p50_s, ttft_p99_s, tpot_mean_s, itl_p99_s, e2e_mean_s;
    double batch, kv_usage;  /* means over busy time: sequences; fraction of the KV blocks */
    double goodput_request_s, goodput_tok_s; /* of requests that meet all limits, and of their output tokens */
    uint32_t n_devices, n_simulations; /* of all replicas; that were run */
    int unsteady;            /* not 0: w has too few requests for a steady state at higher rates: the rate may be too high or too low */
};
/*
 * w        with times between arrivals, which are scaled to each rate that is tried
 * slo      as in roofcast_simulate_options
 * server, o  NULL: defaults
 * errors   as roofcast_simulate(); ROOFCAST_ERROR_USAGE also where all requests arrive at once
 * cost     some ten simulations, and ten a draw
 */
ROOFCAST_API struct roofcast_capacity *roofcast_capacity_find(const struct roofcast_model *m, const struct roofcast_machine *h,
                                                              const struct roofcast_workload *w, const char *slo,
                                                              const struct roofcast_server_options *server,
                                                              const struct roofcast_capacity_options *o, struct roofcast_error *err);
ROOFCAST_API void roofcast_capacity_free(struct roofcast_capacity *c);

#ifdef __cplusplus
}
#endif
#endif
