/*
 * deployment.h: a model served on a machine: its policy with the machine's defaults, its KV blocks, the price of its steps. What a
 * simulation needs apart from a workload.
 */
#ifndef SERVING_DEPLOYMENT_H
#define SERVING_DEPLOYMENT_H

#include "cost/memory.h"
#include "serving/model_clock.h"
#include "serving/simulate.h"

enum choice { CHOICE_DEFAULT, CHOICE_OFF, CHOICE_ON };

/* Field names are vLLM's options; 0, NaN and CHOICE_DEFAULT: the policy's default on the machine. */
struct deployment_options {
    const char *policy;              /* "vllm-0.27"; NULL: the first of policy_name() */
    uint32_t max_num_seqs, max_num_batched_tokens, max_model_len, block_size, long_prefill_token_threshold;
    uint32_t num_gpu_blocks_override;
    double gpu_memory_utilization, watermark, kv_offloading_gib; /* the last: host memory for KV blocks of a replica; 0: none */
    enum choice enable_prefix_caching, enable_chunked_prefill, async_scheduling, cuda_graphs, whole_prompt;
    bool priority;
    uint32_t num_speculative_tokens, look_ahead;
    double accept[POLICY_MAX_DRAFT]; /* of each draft, given those before it; speculation alone */
    const struct op_classes *draft;  /* of the model that drafts, on the same devices; outlives the deployment. NULL: drafts take no time and no memory */
    bool draft_nextn;                /* which is the model's layer of multi-token prediction */
};
#define DEPLOYMENT_DEFAULTS { .gpu_memory_utilization = NAN, .watermark = NAN }

/* The policy of x on a device. w: of the workload, zeros where there is none. n_ctx_train: as the model was trained. errors: ERROR_USAGE */
int deployment_policy(struct policy *p, const struct policy_device *device, const struct deployment_options *x, const struct serve_workload_sum *w,
                      uint32_t n_ctx_train, struct error *err);
/* KV blocks of this program's engine by default: what all sequences take at their longest, at most a quarter of the memory. */
double deployment_engine_blocks(uint32_t max_num_seqs, uint64_t blocks_a_sequence, double memory_bytes, double block_bytes);

struct deployment {
    struct policy policy;
    struct memory_model memory;
    struct memory_plan plan;
    struct estimator estimator, draft;
    struct layout draft_layout;
    struct clock_options clock;
    struct step_price price;
    struct step_work work; /* after deployment_count_work() */
    uint32_t n_block;  /* usable: of each replica */
    uint32_t n_device; /* of one replica: tp x pp */
    uint32_t n_replica; /* dp: each with a scheduler of its own */
};

/*
 * classes, h and o must outlive d. o: as for predict(); its n_prompt, n_gen, n_depth and n_batch are not used.
 *
 * w        the workload, for its longest request and its mean context; NULL: max_model_len as the model was trained
 * errors   ERROR_USAGE  options out of range; ERROR_INPUT  the weights do not fit, the profile has no memory size or no roof
 */
int deployment_init(struct deployment *d, const struct op_classes *classes, const struct hwprofile *h, const struct predict_options *o,
                    const struct deployment_options *x, const struct serve_workload *w, struct error *err);
/* Another x on the same classes, h and o: the estimator stays. After an error d is without prices until another change. */
int deployment_change(struct deployment *d, const struct op_classes *classes, const struct hwprofile *h, const struct predict_options *o,
                      const struct deployment_options *x, const struct serve_workload *w, struct error *err);
void deployment_free(struct deployment *d);
/* Prices of the i-th draw of the constants; 0: their means. errors: those of model_clock() */
int deployment_draw(struct deployment *d, uint64_t draw, uint64_t seed, struct error *err);
/*
 * With a prefix cache a preempted request finds its own blocks when it returns, as far as they were not taken. That costs time to simulate: where a
 * run of w preempts, its requests get identities of their own, else w stays as it is. errors: those of serve_simulate()
 */
int deployment_identify(struct serve_workload *w, const struct serve_options *run, struct error *err);
/* Bytes and FLOP of steps are counted from now on, for MBU and MFU. errors: out of memory */
int deployment_count_work(struct deployment *d, struct error *err);
/* What serve_simulate() takes. */
struct serve_options deployment_serve_options(const struct deployment *d, const struct deployment_options *x, uint64_t seed);

#endif
