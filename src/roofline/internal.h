/* roofline/internal.h: what the files of this module share. */
#ifndef ROOFLINE_INTERNAL_H
#define ROOFLINE_INTERNAL_H

#include "roofline/step.h"

/* fmin and fmax of numbers that are never NaN, without a call. */
static inline double min2(double a, double b)
{
    return a < b ? a : b;
}

static inline double max2(double a, double b)
{
    return a > b ? a : b;
}

/* The same for what is asked of every class of a step: without calls. */
static inline bool is_product(const struct op *op)
{
    return op->kind == OP_MATMUL || op->kind == OP_HEAD_MATMUL || op->kind == OP_KV_EXPAND || op->kind == OP_EXPERT_MATMUL;
}

static inline double all_bytes(const struct cost *c)
{
    return c->weight_bytes + c->act_bytes + c->kv_bytes;
}

/* Numbers of tokens that make sense together, else ERROR_USAGE. */
int check_scenario(uint32_t n_prompt, uint32_t n_gen, uint32_t n_depth, uint32_t n_batch,
                   uint32_t n_ubatch, struct error *err);

/* cost_form() where it is to stay. */
void cost_form_at(struct cost_form *f, const struct op *op, const struct cost_options *o);

/* Bytes of one position in the cache of this op's layer: keys and, where they are cached, values. (12) */
double cost_kv_row_bytes(const struct op *op, const struct cost_options *o);

/* Bytes a sequence of what a recurrent op remembers; 0 for other kinds. (42) */
double cost_state_bytes(const struct op *op);

/* Positions of n_ctx that a layer with that window (0: none) keeps, filled n_ubatch at a time. (12) */
uint64_t cost_kept(uint32_t window, uint64_t n_ctx, uint64_t n_ubatch);

/* Tokens at a time that fill a cache where passes take n_ubatch and prompts have n_prompt: software that takes a prompt whole has no
 * more of a window than the prompt; what came before it is taken to have come in passes of TIME_UBATCH. */
uint32_t cost_filled(uint32_t n_ubatch, uint32_t n_prompt);

/* What one op keeps of a sequence of n_ctx positions, filled n_ubatch at a time. (12), (42) */
double cost_op_kv_bytes(const struct op *op, const struct cost_options *o, uint64_t n_ctx, uint32_t n_ubatch);

/* Bytes of the workspace that MLA's expanded form needs for n_ctx positions; 0: no such form. (36) */
double cost_expanded_bytes(const struct op_list *l, uint64_t n_ctx);

/* A recorded routing is one of such a model's experts, else ERROR_USAGE. */
int routing_check(const struct routing *r, const struct hparams *hp, struct error *err);

/* The bound under which most seconds are spent. */
enum bound bound_largest(const double s[BOUND_COUNT]);

/* The profile's ceilings of kind "kernel" and their team's latencies, for the threads of *o; none with --roof, which asks for a
 * bound, nor for what is not a CPU. (61) */
void kernel_roofs_init(struct kernel_roofs *k, const struct hwprofile *h, const struct predict_options *o);
/* FLOP/s (or B/s) at so many tokens: between two that were measured seconds are on a line, else it is the nearest one's. */
double kernel_roof_rate(const struct kernel_roof *k, double n_tok);
/* Where a kernel of this op was measured: *t, which comes with the seconds by bandwidth and peak, gets those by the kernel.
 * False: it was not, and *t stays. (62) */
bool kernel_roofs_time(const struct roofs *r, const struct step_class *c, const struct cost *cost, const struct pass *p,
                       struct op_time *t);
/* attention_roofs.c: what a call costs beyond its keys, of all roofs of attention in k; and kernel_roofs_time() of attention. (98) */
static inline bool kernel_op_attends(enum kernel_op o)
{
    return o >= KERNEL_ATTENTION && o <= KERNEL_ATTENTION_ROUNDED_AGAIN;
}
/* Tiles of one size, nearly, that the engine cuts so many tokens of a sequence into for a key head. (98) */
double attention_tiles(const struct op *op, double tokens);
/* The engine here rounds a prompt's attention, at op, to BF16. (117) */
bool attention_roofs_rounded(const struct roofs *r, const struct op *op);
void attention_roofs_load(struct kernel_roofs *k, const struct hwprofile *h);
bool attention_roofs_time(const struct roofs *r, const struct step_class *c, const struct cost *cost, const struct pass *p,
                          struct op_time *t);
/* What a pass walks of weights and keys, all classes. */
double walked_bytes(const struct step_class *c, const struct pass *p);
/* attainable.c: an exchange whose steps take hop seconds each. */
struct op_time exchanged_time(const struct roofs *r, const struct step_class *c, double bytes, double hop);
int threads_or_all(const struct predict_options *o);
/* bound.c: the fastest units, and what the last cache keeps; after peaks. */
void bound_init(struct roofs *r, const struct hwprofile *h, const struct predict_options *o);

/* step.c: the spread to the fast side, so that the interval ends at least_s. (156) */
double spread_within(double seconds, double sd_fast_s, double least_s);
/* Neither a sum nor its interval's fast end above so many tokens/s, unless the machine is a guess. (156) */
void step_keep_below(struct step_sum *sum, const struct roofs *r, double bound_tok_s);

/* kernel_roofs.c: seconds that bytes of rows of so many tokens take because others wrote them, or have the lines to be written; 0 where
 * that was not measured, and of one token. (114) */
double kernel_roofs_read_s(const struct kernel_roofs *k, double bytes, double n_tok);
double kernel_roofs_taken_s(const struct kernel_roofs *k, double bytes, double n_tok);
/* Seconds of a call by so many rows that saw no keys, on one thread; 0 where that was not measured. */
double kernel_roof_call_s(const struct kernel_roof *k, double rows);
/* beside.c: a kernel's ceiling if memory and cores had been as they were for the profile's plain loads and on average: ceilings of one
 * profile are of moments apart. (100), (108) */
double kernel_at_once(const struct hwprofile *h, const struct ceiling *c);
/* Which part of a product by a few tokens is memory's: it is near 1 where the rate is what one walk over the weights allows, as memory
 * was then. (89) */
double kernel_memory_part(const struct hwprofile *h, const struct ceiling *c);
/* What an op was priced with: "matvec Q4_K DRAM 2t, matmat Q4_K at 512 tokens". */
const char *kernel_roof_text(char *buf, size_t n, const struct roofs *r, const struct op_time *t);

/* What adding up a phase needs. */
struct phase_pricing {
    const struct roofs *roofs;
    struct prediction *out;
    double times; /* how often a class counts of the pass being priced: 1 */
    double role_bound_s[ROLE_COUNT][BOUND_COUNT];
    double largest_flop; /* of the op whose roofs are reported */
    double units_flop_s; /* that it reaches; NaN: it computes nothing */
};
/* Empties *out, but for the roofs; adds a class to its role (ctx: the phase_pricing); fills in the sums, n_tok tokens having
 * been processed or generated. */
void phase_begin(struct phase_pricing *x, const struct roofs *r, struct prediction *out);
void phase_add(void *ctx, const struct step_class *c, const struct cost *cost, const struct op_time *t);
void phase_end(struct phase_pricing *x, const struct step_sum *sum, double n_tok);
struct cost cost_times(const struct cost *c, double n);

/* What a prediction's options and a machine's roofs say about a step. */
struct step_options predict_step_options(const struct predict_options *o, const struct roofs *r);

/* What of an op one device has: of its weights, the activations it reads and writes, its FLOP, the pairs of a query and a
 * key, the cache. (44) */
struct share {
    double weight, in, out, flop, seen, kv;
};
struct share layout_share(const struct op *op, const struct hparams *hp, const struct layout *l);
/* Layers *first to *end - 1 are those of a pipeline stage. */
void layout_stage(uint32_t n_layer, uint32_t pp, uint32_t stage, int *first, int *end);

/* What a device of one pipeline stage holds (stage.c). (17) */
enum { STAGE_WINDOWS = 8 };
struct stage {
    double weight_bytes;
    double act_bytes;      /* a token of a pass: every buffer but the logits */
    double hidden_bytes;   /* of them the residual stream's */
    double expert_bytes;   /* and the routed experts' */
    double n_layer;
    double n_logit;        /* elements of a row of logits, from all devices; 0: made elsewhere */
    double expanded_bytes; /* a position, while MLA's expanded form runs; 0: no such form */
    double state_bytes;    /* a sequence: what recurrences remember */
    struct stage_kv {      /* layers that keep the same part of the context */
        uint32_t window;   /* 0: all of it */
        double row_bytes;  /* a position, of all of them */
    } kv[STAGE_WINDOWS];
    size_t n_kv;
};
/* One for each of pp stages; free with free(). NULL: out of memory. */
struct stage *stages_new(const struct op_classes *l, const struct layout *lay, const struct cost_options *o);
/* Cache of one sequence of n_ctx positions, filled n_ubatch at a time. (12) */
double stage_kv_bytes(const struct stage *s, uint64_t n_ctx, uint64_t n_ubatch);

#endif
