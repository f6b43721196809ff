/*
 * cost: bytes and FLOP of each op of a pass, as forms whose coefficients do not depend on the pass: tokens, sequences, positions,
 * experts. Exact by construction. Formulas: doc/methods.md.
 */
#ifndef COST_COST_H
#define COST_COST_H

#include "base/base.h"
#include "hwprofile/hwprofile.h"
#include "model/op.h"

struct cost {
    /* Doubles: whole numbers stay exact below 2^53. */
    double weight_bytes, act_bytes, kv_bytes, flop;
    double link_bytes; /* that a device sends to others; not part of cost_bytes() */
};

/* How tokens choose among experts. Zeros: uniform. (16) */
struct routing {
    double zipf;              /* popularity of the i-th expert ~ i^-zipf; 0: uniform */
    const double *popularity; /* recorded, [n_layer][n]: mean uses of each expert by one token; NULL: none */
    uint32_t n, n_used;       /* experts of a layer, and of a token; n_used 0: not stated */
    uint32_t n_layer;         /* 0: 1. Experts touched are the mean over layers. */
};

struct cost_options {
    double act_elem_bytes; /* 4: the engine's f32 activations; 2 on GPUs */
    enum dtype type_k, type_v; /* of the KV cache: DTYPE_F16 */
    const struct routing *routing; /* NULL: uniform */
    bool materialized; /* the scores of attention pass through memory; false: they stay on the chip (11) */
    double expert_fill; /* tokens per expert group over those of full groups (24); 0: 1 */
    uint32_t kv_block; /* positions of a block of a paged cache, whose table attention reads (22); 0: contiguous */
};

/*
 * What an op costs in any pass, as coefficients of what varies from pass to pass: tokens, sequences, pairs of a token
 * and a key it sees, positions present in the cache, experts touched. One op list prices any batch and context with it.
 */
struct cost_form {
    enum op_form form;
    bool out_rows, chunked;
    double form_tok, window, n_top; /* as in struct op */
    double n_expert, n_expert_used;
    double expert_groups;           /* passes like this one that share the experts: 1 */
    double weight, weight_tok, weight_expert;   /* bytes a pass, a token, an expert touched */
    /* bytes a token read and written, a position present, a score of a token and a position present */
    double act_in_tok, act_out_tok, act_present, act_score;
    double kv_tok, kv_seq, kv_present;           /* bytes a token stored, a sequence (states), a position read */
    double flop_tok, flop_seen, flop_present;    /* FLOP a token, a pair seen, a position present */
    double link_tok;                             /* bytes a token sent to other devices */
};

struct cost_form cost_form(const struct op *op, const struct cost_options *o);

/* Memo of experts_touched(): adjacent ops query the same value. Zeros at first. */
struct cost_memo {
    double n_tok, n_expert, n_expert_used, touched;
};

/* n_steps > 1: the mean of so many decode steps, of which *p is the first. (21) */
struct cost cost_eval(const struct cost_form *f, const struct pass *p, uint32_t n_steps, const struct cost_options *o,
                      struct cost_memo *memo);
/* Cost of one op in a pass. methods.md (5)-(19). */
struct cost cost_op(const struct op *op, const struct pass *p,
                    const struct cost_options *o);
/* Mean cost of one op over n decode steps (passes of one token a sequence), of which *first is
 * the first. (21) */
struct cost cost_decode(const struct op *op, const struct pass *first, uint32_t n,
                        const struct cost_options *o);
static inline struct cost cost_add(struct cost a, struct cost b)
{
    return (struct cost){ a.weight_bytes + b.weight_bytes, a.act_bytes + b.act_bytes, a.kv_bytes + b.kv_bytes, a.flop + b.flop,
                          a.link_bytes + b.link_bytes };
}
static inline struct cost cost_times(const struct cost *c, double n)
{
    return (struct cost){ n * c->weight_bytes, n * c->act_bytes, n * c->kv_bytes, n * c->flop, n * c->link_bytes };
}
static inline double cost_bytes(const struct cost *c)
{
    return c->weight_bytes + c->act_bytes + c->kv_bytes;
}
/* Bits of a weight, scales included. */
static inline double cost_weight_bits(const struct tensor *w)
{
    return 8 * (double)w->bytes / ((double)w->rows * (double)w->cols);
}
/* FLOP per byte; NaN when there are no bytes. */
double cost_ai(const struct cost *c);
/* The KV cache can have these types: known ones, whose blocks divide this model's heads; else
 * ERROR_USAGE. */
int cost_check_kv(const struct op_list *l, const struct cost_options *o, struct error *err);
/* Bytes of KV cache that one more token takes while no window is full: K and V of all layers. (22) */
double cost_kv_bytes_token(const struct op_list *l, const struct cost_options *o);
/* Bytes that the recurrences of a hybrid remember of a sequence, however long: not in the figure above. (19) */
double cost_state_bytes_sequence(const struct op_list *l);
/* Bytes of the KV cache and of the states of one sequence of n_ctx positions: a windowed layer stores no more than its window
 * and the n_ubatch tokens of a pass. (22) */
double cost_kv_bytes(const struct op_list *l, const struct cost_options *o, uint64_t n_ctx, uint32_t n_ubatch);
/* Of n experts, k of them used by a token: how many different ones n_tok tokens use, on average. routing NULL: without
 * preference, n (1 - (1 - k / n)^n_tok). (16) */
double experts_touched(const struct routing *r, double n, double k, double n_tok);
/* Bytes of one key and one new token that materialized scores of n_head heads take: written, read by the softmax, its result written
 * and read. (11) */
double cost_score_bytes(double n_head, const struct cost_options *o);
/* Elements of the attention score vector of the newest token: n_past + 1. */
uint64_t cost_score_len(const struct op *op, const struct pass *p);

/* Where the bytes of a model's tensors go in a decode step of n_tok sequences:
 * total = read - embed_again + embed_unread + expert_unread + apart. (23) */
struct weight_account {
    double total_bytes;        /* sum over tensors */
    double read_bytes;         /* sum of cost_op().weight_bytes */
    double embed_unread_bytes; /* rows of embeddings, where not tied, and of learned positions not looked up */
    double embed_again_bytes;  /* tied: rows looked up in what the LM head reads anyway */
    double expert_unread_bytes; /* experts no token is routed to, on average (16) */
    double apart_bytes;        /* tensors no op reads as weights, such as rope_freqs */
    size_t n_apart;
};

int account_weights(struct weight_account *a, const struct model *m, const struct op_list *l, uint32_t n_tok,
                    struct error *err);
/* Of each of m's tensors, whether an op reads it as weights. Free with free(). */
bool *account_marks(const struct model *m, const struct op_list *l, struct error *err);
/*
 * The passes of a prompt of n tokens (of each of n_seq sequences) at depth d; fn is called
 * for each. A pass takes at most n_ubatch tokens over all sequences, which advance
 * together, and at least one of each. Only the last wants logits (n_out = n_seq, else 0:
 * the last norm and the LM head are skipped).
 */
typedef void pass_fn(void *ctx, const struct pass *p);
/* Default prompt tokens of a pass; a whole prompt in one pass. */
enum { TIME_UBATCH = 512, PREFILL_WHOLE = INT32_MAX };
/* How many there are. */
uint64_t prefill_n_passes(uint32_t n, uint32_t n_ubatch, uint32_t n_seq);
void prefill_passes(uint32_t n, uint32_t depth, uint32_t n_ubatch, uint32_t n_seq,
                    pass_fn *fn, void *ctx);

/* The same as at most two shapes, fewer to price: the passes of equal tokens as one, at their mean depth, then the last. */
struct pass_group {
    struct pass p;
    double n;
};

size_t prefill_groups(uint32_t n, uint32_t depth, uint32_t n_ubatch, uint32_t n_seq, struct pass_group out[2]);
/* The first decode step from depth d: one token of each sequence. */
struct pass decode_pass(uint32_t depth, uint32_t n_seq);
/*
 * Passes that draft gamma tokens of each of n_seq sequences, one a token. The first one computes `first` >= 1 tokens of each on average (spec_first_tokens()),
 * in whole tokens: the two nearest numbers of them, each in its part of the rounds.
 *
 * source   server/draft_mtp.c, server/draft_model.c; methods.md (53)
 */
enum { DRAFT_PASSES = 3 };
struct draft_passes {
    struct pass pass[DRAFT_PASSES];
    double times[DRAFT_PASSES];     /* a round */
    uint32_t n_steps[DRAFT_PASSES]; /* of cost_eval() */
    uint32_t n;
};
struct draft_passes draft_passes_of(uint32_t n_seq, uint32_t n_past, uint32_t gamma, double first);
enum phase { PHASE_PREFILL, PHASE_DECODE, PHASE_COUNT };
const char *phase_name(enum phase p); /* "prefill", "decode" */
/* "pp512", "tg128@d4096", "pp512x8": as bench names its tests. n: tokens of the prompt, or generated. */
void phase_test_name(char *buf, size_t size, enum phase p, uint32_t n, uint32_t n_batch, uint32_t n_depth);
/* Passes of one prompt at most: more is a mistake, and would take minutes to add up. */
#define PREFILL_MAX_PASSES 65536
/* Numbers of tokens that make sense together, else ERROR_USAGE. */
int check_scenario(uint32_t n_prompt, uint32_t n_gen, uint32_t n_depth, uint32_t n_batch,
                   uint32_t n_ubatch, struct error *err);
/* Tokens at a time that fill a cache where passes take n_ubatch and prompts have n_prompt: software that takes a prompt whole has no
 * more of a window than the prompt; what came before it is taken to have come in passes of TIME_UBATCH. */
uint32_t cost_filled(uint32_t n_ubatch, uint32_t n_prompt);

#endif
