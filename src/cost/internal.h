/* What the files of cost share. */
#ifndef COST_INTERNAL_H
#define COST_INTERNAL_H

#include "cost/memory.h"

/* cost_form() where it is to stay. */
void cost_form_at(struct cost_form *f, const struct op *op, const struct cost_options *o);
/* Bytes of one position in the cache of this op's layer: keys and, where they are cached, values. (22) */
double cost_kv_row_bytes(const struct op *op, const struct cost_options *o);
/* Bytes a sequence of what a recurrent op remembers; 0 for other kinds. (19) */
double cost_state_bytes(const struct op *op);
/* Positions of n_ctx that a layer with that window (0: none) stores, filled n_ubatch at a time. (22) */
uint64_t cost_kept(uint32_t window, uint64_t n_ctx, uint64_t n_ubatch);
/* Bytes one op stores of a sequence of n_ctx positions, filled n_ubatch at a time. (22), (19) */
double cost_op_kv_bytes(const struct op *op, const struct cost_options *o, uint64_t n_ctx, uint32_t n_ubatch);
/* Bytes of the workspace that MLA's expanded form needs for n_ctx positions; 0: no such form. (17) */
double cost_expanded_bytes(const struct op_list *l, uint64_t n_ctx);
/* A recorded routing is one of such a model's experts, else ERROR_USAGE. */
int routing_check(const struct routing *r, const struct hparams *hp, struct error *err);

/* What of an op one device has: of its weights, the activations it reads and writes, its FLOP, the pairs of a query and a
 * key, the cache. (24) */
struct share {
    double weight, in, out, flop, seen, kv;
};

struct share layout_share(const struct op *op, const struct hparams *hp, const struct layout *l);
/* Layers *first to *end - 1 are those of a pipeline stage. */
void layout_stage(uint32_t n_layer, uint32_t pp, uint32_t stage, int *first, int *end);

/* What a device of one pipeline stage holds (stage.c). (25) */
enum { STAGE_WINDOWS = 8 };

struct stage {
    double weight_bytes;
    double act_bytes;      /* a token of a pass: every buffer but the logits */
    double hidden_bytes;   /* of them the residual stream's */
    double expert_bytes;   /* and the routed experts' */
    double n_layer;
    double n_logit;        /* elements of a row of logits, from all devices; 0: made elsewhere */
    double embed_bytes;    /* the embedding's table */
    double rotation_bytes; /* cosines and sines of all positions; BF16 */
    double expanded_bytes; /* a position, while MLA's expanded form runs; 0: no such form */
    double state_bytes;    /* a sequence: what recurrences remember */
    struct stage_kv {      /* layers that keep the same part of the context */
        uint32_t window;   /* 0: all of it */
        double row_bytes;  /* a position, of all of them */
    } kv[STAGE_WINDOWS];
    size_t n_kv;
};

/* Cache of one sequence of n_ctx positions, filled n_ubatch at a time. (22) */
double stage_kv_bytes(const struct stage *s, uint64_t n_ctx, uint64_t n_ubatch);

#endif
