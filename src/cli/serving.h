/* cli internals: what `roofcast simulate` and `roofcast capacity` have in common: a model served on a machine, and a workload. */
#ifndef CLI_SERVING_H
#define CLI_SERVING_H

#include "cli/pricing.h"
#include "serving/deployment.h"
#include "serving/generate.h"
#include "serving/slo.h"

enum {
    SERVING_POLICY = 700, SERVING_WORKLOAD, SERVING_REQUESTS, SERVING_DURATION, SERVING_SEED, SERVING_BURSTINESS, SERVING_SLO, SERVING_SEQS,
    SERVING_TOKENS, SERVING_MODEL_LEN, SERVING_BLOCK, SERVING_UTIL, SERVING_BLOCKS, SERVING_PREFIX, SERVING_NO_PREFIX, SERVING_CHUNKED,
    SERVING_NO_CHUNKED, SERVING_ASYNC, SERVING_NO_ASYNC, SERVING_EAGER, SERVING_THRESHOLD, SERVING_WATERMARK, SERVING_SCHEDULING, SERVING_DRAFTS,
    SERVING_ACCEPT, SERVING_ACCEPT_SD, SERVING_ROUTE, SERVING_STACK, SERVING_ANCHOR, SERVING_DRAWS, SERVING_THREADS, SERVING_ENDS,
    SERVING_PREFILL, SERVING_LOAD, SERVING_HOST, SERVING_RAMP, SERVING_RAMP_FROM, SERVING_RAMP_TO,
};

/* Rows of an argp_option table, named as vLLM's options; serving_parse() takes their keys. */
#define SERVING_OPTIONS \
    { "policy", SERVING_POLICY, "NAME", 0, \
      "how requests share steps: vllm-0.27 (default), vllm-0.N, llama-server, static, one-by-one", 0 }, \
    { "workload", SERVING_WORKLOAD, "TEXT|FILE", 0, \
      "requests: random:in=1024,out=128 (default), lognormal:in=512,out=200,sigma=0.8, session:turns=6,in=2000,new=300,out=200,think=10s, " \
      "azure-conv, azure-code, mooncake, agentic, or a trace", 0 }, \
    { "requests", SERVING_REQUESTS, "N", 0, "requests, or sessions (1000; of a trace: all)", 0 }, \
    { "num-prompts", 0, NULL, OPTION_ALIAS, NULL, 0 }, \
    { "duration", SERVING_DURATION, "TIME", 0, "send requests for so long instead: 600s, 10min, 1h", 0 }, \
    { "burstiness", SERVING_BURSTINESS, "X", 0, "of arrivals: 1 Poisson (default), below 1 bursts, inf constant gaps", 0 }, \
    { "ramp-up-strategy", SERVING_RAMP, "linear|exponential", 0, "the rate grows over the requests, from --ramp-up-start-rps to --ramp-up-end-rps", 0 }, \
    { "ramp-up-start-rps", SERVING_RAMP_FROM, "R", 0, "requests a second at the start of the ramp (1)", 0 }, \
    { "ramp-up-end-rps", SERVING_RAMP_TO, "R", 0, "at its end (10)", 0 }, \
    { "seed", SERVING_SEED, "N", 0, "of the random numbers: the same requests for every configuration (0)", 0 }, \
    { "ends", SERVING_ENDS, "length|stop", 0, \
      "whether the scheduler knows the output's length (max_tokens, ignore_eos) or the model ends it (default of traces)", 0 }, \
    { "slo", SERVING_SLO, "LIMITS", 0, \
      "p99:ttft=1s,itl=50ms: that percentile of each metric; ttft=1s,tpot=50ms: 99 % of the requests meet all", 0 }, \
    { "goodput", 0, NULL, OPTION_ALIAS, NULL, 0 }, \
    { "stack", SERVING_STACK, "NAME", 0, "software whose constants price a step (vllm; of llama-server what machines of the class run)", 0 }, \
    { "anchor", SERVING_ANCHOR, "FILE", 0, "measurements on the machine: narrow the constants", 0 }, \
    { "draws", SERVING_DRAWS, "N", 0, "draws of the constants, for the model's spread (32; 0: none)", 0 }, \
    { "threads", 't', "N", 0, "threads (all)", 0 }, \
    { "max-num-seqs", SERVING_SEQS, "N", 0, "sequences that run at once at most (256; on devices of 70 GiB and more 1024); of llama-server: slots", 0 }, \
    { "max-num-batched-tokens", SERVING_TOKENS, "N", 0, "tokens of a step at most (2048; on devices of 70 GiB and more 8192)", 0 }, \
    { "max-model-len", SERVING_MODEL_LEN, "N", 0, "positions of a sequence at most (as the model was trained)", 0 }, \
    { "block-size", SERVING_BLOCK, "N", 0, "positions of a KV block (16)", 0 }, \
    { "gpu-memory-utilization", SERVING_UTIL, "X", 0, "fraction of the memory that the server takes (0.92, up to vllm-0.26 0.9)", 0 }, \
    { "num-gpu-blocks-override", SERVING_BLOCKS, "N", 0, "KV blocks, in place of what the memory has room for", 0 }, \
    { "enable-prefix-caching", SERVING_PREFIX, NULL, 0, "keep the KV blocks of prompts that others begin with (default)", 0 }, \
    { "no-enable-prefix-caching", SERVING_NO_PREFIX, NULL, 0, "do not", 0 }, \
    { "enable-chunked-prefill", SERVING_CHUNKED, NULL, 0, "prompts in chunks, in steps with decoding sequences (default)", 0 }, \
    { "no-enable-chunked-prefill", SERVING_NO_CHUNKED, NULL, 0, "prompts whole", 0 }, \
    { "async-scheduling", SERVING_ASYNC, NULL, 0, "form a step while the one before runs (default from vllm-0.14)", 0 }, \
    { "no-async-scheduling", SERVING_NO_ASYNC, NULL, 0, "do not", 0 }, \
    { "enforce-eager", SERVING_EAGER, NULL, 0, "no CUDA graphs: decode batches are not padded", 0 }, \
    { "long-prefill-token-threshold", SERVING_THRESHOLD, "N", 0, "prompt tokens of a request in a step at most (0: no limit)", 0 }, \
    { "watermark", SERVING_WATERMARK, "X", 0, "fraction of the KV blocks that admission leaves free (0)", 0 }, \
    { "scheduling-policy", SERVING_SCHEDULING, "fcfs|priority", 0, "order of waiting requests (fcfs)", 0 }, \
    { "num-speculative-tokens", SERVING_DRAFTS, "N", 0, "drafted tokens of a decode step (0: no speculation)", 0 }, \
    { "acceptance", SERVING_ACCEPT, "P,...", 0, "probability that a draft is accepted, given those before it: one for all, or one a position (0.7)", 0 }, \
    { "acceptance-spread", SERVING_ACCEPT_SD, "X", 0, "spread of a request's acceptance: standard deviation of its logit (0)", 0 }, \
    { "prefill-replicas", SERVING_PREFILL, "N", 0, "of --dp replicas, those that compute prompts alone and send keys and values to the others (0)", 0 }, \
    { "kv-offloading-size", SERVING_HOST, "GIB", 0, "host memory for KV blocks: prefixes found there are loaded, not computed (0)", 0 }, \
    { "kv-load-bandwidth", SERVING_LOAD, "B/s", 0, "at which they are loaded, from host memory or a prefill replica (25 GB/s, PCIe 4.0 x16)", 0 }, \
    { "route", SERVING_ROUTE, "round-robin|least-active|prefix", 0, "which of --dp replicas takes a request (round-robin)", 0 }

struct serving_cli {
    const char *model, *hw, *workload, *rate, *stack, *anchor, *slo_text;
    struct pricing_options price;
    struct deployment_options deploy;
    struct serve_workload_options load;
    struct serve_slo slo;
    double accept[POLICY_MAX_DRAFT], accept_sd;
    uint32_t n_accept;
    enum serve_route routing;
    uint32_t n_prefill;
    double load_bytes_s;
    bool load_given, ramp_given;
    int64_t draws, threads;
    int64_t max_concurrency;
};
#define SERVING_DEFAULTS \
    { .hw = "this", .workload = "random:in=1024,out=128", .price = PRICING_DEFAULTS, .deploy = DEPLOYMENT_DEFAULTS, \
      .load = { .arrivals = { .burstiness = 1, .ramp_from_s = 1, .ramp_to_s = 10 } }, .draws = 32, .threads = 0, .load_bytes_s = 25e9 }

/* Takes a key of SERVING_OPTIONS or of PRICING_OPTIONS. */
int serving_parse(int key, const char *arg, struct serving_cli *o, struct error *err);
/* "8", "2.5/s", "inf" */
int serving_rate(const char *arg, double *rate, struct error *err);
/* What the run takes: d's (NULL: none), with speculation, routing and the client's limit. */
struct serve_options serving_run_options(const struct serving_cli *o, const struct deployment *d);
/* Options that would change nothing are ERROR_USAGE. */
int serving_check(const struct serving_cli *o, struct error *err);
int serving_threads(const struct serving_cli *o);
/* constants_digest() of those that price steps; NULL: there are none. */
const char *serving_constants(char buf[17]);

/* A model, its op classes and the constants of software: what deployments on several machines share. */
struct serving_model {
    struct model m;
    struct model_classes classes;
    struct software *software;
};
int serving_model_open(struct serving_model *x, struct serving_cli *o, const struct str_list *hw, struct error *err);
void serving_model_close(struct serving_model *x);
struct predict_options serving_predict_options(const struct serving_cli *o, const struct serving_model *x, const struct hwprofile *h);

#endif
