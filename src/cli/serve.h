/* cli internals: what `roofcast serve` runs: a GGUF model on the engine, with a paged KV cache, by a policy. */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include "bench/setup.h"
#include "cli/serving.h"
#include "server/draft_model.h"
#include "server/draft_mtp.h"
#include "server/loop.h"
#include "serving/scheduler.h"

struct serve_setup_options {
    const char *model, *draft;
    struct setup_options engine;
    int64_t threads;
    bool batch_invariant;
    double kv_bytes; /* of the KV cache; 0: by the policy, at most a quarter of the memory */
    double rates[POLICY_MAX_DRAFT]; /* of drafts that are accepted whatever the model says */
    uint32_t n_rate;
};

/* A model ready to serve. */
struct serve_setup {
    struct model m, draft; /* draft: nameless where no model drafts */
    struct setup machine;
    struct setup_options engine;
    struct engine *e;
    struct policy policy;
    uint32_t n_block, block_size;
    struct step_work peaks; /* of this machine, by serve_probe(); its peaks alone */
    struct draft_ngram ngram;
    bool nextn; /* the model's layer of multi-token prediction drafts */
    struct drafter drafter;
};

/*
 * x        options of the policy; max_model_len 0: as the model was trained, or what the KV cache has room for, with a note
 * w        of the workload; zeros: none
 * errors   options out of range or without effect; a KV cache too small for one sequence
 */
int serve_setup_init(struct serve_setup *s, const struct serve_setup_options *o, const struct deployment_options *x, const struct serve_workload_sum *w,
                     struct error *err);
void serve_setup_free(struct serve_setup *s);
/* What memory and arithmetic reach now, on the engine's threads, into s->peaks: once, or once before a run and once after, whose mean it is then. 0.4 s */
int serve_probe(struct serve_setup *s, struct error *err);
/* serve_draft.c: the source of drafts, before the engine is there; *position_bytes: of a position in a block, to which it adds its own; the engine of a draft
 * model or of the model's layer that drafts, after it, on its threads. */
int serve_drafter_init(struct serve_setup *s, const struct serve_setup_options *o, double *position_bytes, struct error *err);
int serve_draft_engine_init(struct serve_setup *s, struct error *err);
/* Keys and values of a position in all layers of ops. */
double serve_position_bytes(const struct serve_setup *s, const struct op_list *ops);
struct loop_options serve_loop_options(const struct serve_setup *s, const struct serve_setup_options *o, uint64_t seed);

#endif
