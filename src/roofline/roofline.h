/*
 * roofline: the analytical side: bytes and FLOP of each op of a pass, arithmetic intensity,
 * and seconds on a profiled machine. Never includes the measuring side: predictions cannot
 * peek. Formulas: doc/methods.md.
 */
#ifndef ROOFLINE_ROOFLINE_H
#define ROOFLINE_ROOFLINE_H

#include "base/base.h"
#include "hwprofile/hwprofile.h"
#include "model/op.h"

struct cost {
    /* Doubles: whole numbers stay exact below 2^53. */
    double weight_bytes, act_bytes, kv_bytes, flop;
    double link_bytes; /* that a device sends to others; not part of cost_bytes() */
};

/* How tokens choose among experts. Zeros: uniform. (35) */
struct routing {
    double zipf;              /* popularity of the i-th expert ~ i^-zipf; 0: uniform */
    const double *popularity; /* recorded, [n_layer][n]: mean uses of each expert by one token; NULL: none */
    uint32_t n, n_used;       /* experts of a layer, and of a token; n_used 0: not said */
    uint32_t n_layer;         /* 0: 1. What is touched is the mean over layers. */
};

struct cost_options {
    double act_elem_bytes; /* 4: the engine's f32 activations; 2 on GPUs */
    enum dtype type_k, type_v; /* of the KV cache: DTYPE_F16 */
    const struct routing *routing; /* NULL: uniform */
    bool materialized; /* the scores of attention pass through memory; false: they stay on the chip (7) */
    double expert_fill; /* tokens that meet at experts over those of full groups (44); 0: 1 */
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
    double expert_groups;           /* passes like this one whose tokens meet at the experts: 1 */
    double weight, weight_tok, weight_expert;   /* bytes a pass, a token, an expert touched */
    /* bytes a token read and written, a position present, a score of a token and a position present */
    double act_in_tok, act_out_tok, act_present, act_score;
    double kv_tok, kv_seq, kv_present;           /* bytes a token stored, a sequence (states), a position read */
    double flop_tok, flop_seen, flop_present;    /* FLOP a token, a pair seen, a position present */
    double link_tok;                             /* bytes a token sent to other devices */
};
struct cost_form cost_form(const struct op *op, const struct cost_options *o);
/* The last answer of experts_touched(), which neighbours ask again. Zeros at first. */
struct cost_memo {
    double n_tok, n_expert, n_expert_used, touched;
};
/* n_steps > 1: the mean of so many decode steps, of which *p is the first. (14) */
struct cost cost_eval(const struct cost_form *f, const struct pass *p, uint32_t n_steps, const struct cost_options *o,
                      struct cost_memo *memo);

/* Cost of one op in a pass. methods.md (4)-(12), (34)-(36), (39). */
struct cost cost_op(const struct op *op, const struct pass *p,
                    const struct cost_options *o);
/* Mean cost of one op over n decode steps (passes of one token a sequence), of which *first is
 * the first. (14) */
struct cost cost_decode(const struct op *op, const struct pass *first, uint32_t n,
                        const struct cost_options *o);
/* A product with matrices of weights. */
bool cost_is_product(const struct op *op);
struct cost cost_add(struct cost a, struct cost b);
double cost_bytes(const struct cost *c); /* weight + act + kv */
/* FLOP per byte; NaN when there are no bytes. */
double cost_ai(const struct cost *c);
/* The KV cache can have these types: known ones, whose blocks divide this model's heads; else
 * ERROR_USAGE. */
int cost_check_kv(const struct op_list *l, const struct cost_options *o, struct error *err);
/* Bytes of KV cache that one more token takes while no window is full: K and V of all layers. (12) */
double cost_kv_bytes_token(const struct op_list *l, const struct cost_options *o);
/* Bytes that the recurrences of a hybrid remember of a sequence, however long: not in the figure above. (42) */
double cost_state_bytes_sequence(const struct op_list *l);
/* Bytes of the KV cache and of the states of one sequence of n_ctx positions: a windowed layer keeps no more than its window
 * and the n_ubatch tokens of a pass. (12) */
double cost_kv_bytes(const struct op_list *l, const struct cost_options *o, uint64_t n_ctx, uint32_t n_ubatch);
/* Of n experts, k of them used by a token: how many different ones n_tok tokens use, on average. routing NULL: without
 * preference, n (1 - (1 - k / n)^n_tok). (35) */
double experts_touched(const struct routing *r, double n, double k, double n_tok);
/* Bytes of one key and one new token that materialized scores of n_head heads take: written, read by the softmax, its result written
 * and read. (7) */
double cost_score_bytes(double n_head, const struct cost_options *o);
/* Elements of the attention score vector of the newest token: n_past + 1. */
uint64_t cost_score_len(const struct op *op, const struct pass *p);

/* Where the bytes of a model's tensors go in a decode step of n_tok sequences:
 * total = read - embed_again + embed_unread + expert_unread + apart. (40) */
struct weight_account {
    double total_bytes;        /* sum over tensors */
    double read_bytes;         /* sum of cost_op().weight_bytes */
    double embed_unread_bytes; /* rows of embeddings, where not tied, and of learned positions not looked up */
    double embed_again_bytes;  /* tied: rows looked up in what the LM head reads anyway */
    double expert_unread_bytes; /* experts no token is routed to, on average (35) */
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

/* ---- analysis: prefill and a decode step, a row an op, a layer or a role ------------- */
enum phase { PHASE_PREFILL, PHASE_DECODE, PHASE_COUNT };
const char *phase_name(enum phase p); /* "prefill", "decode" */

enum analysis_by { ANALYSIS_BY_OP, ANALYSIS_BY_LAYER, ANALYSIS_BY_ROLE };

struct analysis_options {
    /* n_prompt 0: no prefill; n_gen 0: no decode. */
    uint32_t n_prompt, n_gen, n_depth, n_batch, n_ubatch;
    enum analysis_by by;
    struct cost_options cost;
};

struct analysis_row {
    const struct op *first;
    size_t n_ops; /* BY_OP: 1; ops outside the blocks keep rows of their own */
    bool same_type, same_shape;  /* of all its ops */
    uint64_t n_tok[PHASE_COUNT]; /* rows of activations the first op works on, all passes */
    struct cost cost[PHASE_COUNT];
};

struct analysis {
    const struct model *m;
    struct analysis_options o;
    struct op_list ops;
    struct analysis_row *row; /* in op order of their first op */
    size_t n_row;
    struct cost total[PHASE_COUNT];
    struct weight_account weights;
};
int analysis_init(struct analysis *a, const struct model *m,
                  const struct analysis_options *o, struct error *err);
void analysis_free(struct analysis *a);
bool analysis_has(const struct analysis *a, enum phase p);
/* "Q4_K", "mixed", or NULL for ops without weights or cache. */
const char *analysis_type(const struct analysis *a, const struct analysis_row *r);

/* Passes of one prompt at most: more is a mistake, and would take minutes to add up. */
#define PREFILL_MAX_PASSES 65536

enum bound { BOUND_MEMORY, BOUND_COMPUTE, BOUND_LAUNCH, BOUND_LINK, BOUND_COUNT };
const char *bound_name(enum bound b);

/* attainable FLOP/s at an intensity: min(peak, ai * bandwidth). (13) */
double attainable_flop_s(double ai, double peak_flop_s, double bytes_s);

/* How a model is spread over devices: (44). Zeros count as 1. */
struct layout {
    uint32_t tp; /* tensor parallel: every matrix is divided */
    uint32_t pp; /* pipeline parallel: layers are divided */
    uint32_t dp; /* groups of tp x pp devices that share the sequences */
    uint32_t ep; /* devices over which experts are spread, of the tp x dp that hold a layer */
};

/* What a what-if does to a constant of the time model (enum time_slot, timing.h). */
struct time_change {
    int slot;
    bool times; /* value multiplies it; else it is the value, known for sure */
    double value;
};
enum { TIME_MAX_CHANGES = 8 };

struct time_source; /* timing.h */

struct predict_options {
    struct layout layout;
    /* Constants of software, and with them intervals; NULL, or with .roof: the profile's efficiency factors, and none. */
    const struct time_source *time;
    struct time_change change[TIME_MAX_CHANGES];
    size_t n_change;
    const struct routing *routing; /* of tokens to experts; NULL: uniform */
    bool materialized; /* attention's scores pass through memory, as without FlashAttention */
    bool roof;         /* no efficiency factors, no launch cost */
    bool weights_only; /* price weight bytes and the FLOP of products alone */
    /* --weights-gb: a nominal model of this many bytes, read once a pass, 2 FLOP a weight
     * and token, nothing else priced; NaN: off */
    double weights_bytes;
    int n_threads; /* CPU profiles: which measured ceilings; 0: all */
    const struct last_cache *last; /* the last-level cache as it is now; NULL: as the profile's loads found it (106) */
    uint32_t n_prompt, n_gen, n_depth, n_batch, n_ubatch;
    enum dtype type_k, type_v; /* of the KV cache */
    bool server;         /* a server's share of the memory decides what fits, by its newest release (memory.h); else all of it */
    uint32_t n_batched;  /* of a server: tokens of a pass at most; 0: its default on the machine */
    uint32_t n_look_ahead; /* drafted tokens of each sequence that memory has room for (46) */
};

struct predict_role {
    enum op_role role;
    struct cost cost;
    double seconds;
    enum bound bound;
    int math; /* enum math of its ops; -1: none, or several */
};

/* 90 % of a normal distribution lie within so many standard deviations. */
#define PREDICT_Z90 1.6448536269514722

/* What the logarithm of seconds errs by, one standard deviation: along each of the normals that constants err by, and what is left. (142) */
enum { ERROR_PARTS = 25 };
struct error_parts {
    double of[ERROR_PARTS], left;
    double machine; /* what is guessed of it: the same in all predictions of one machine (116) */
};

struct prediction {
    struct cost cost; /* of one device; prefill: all passes of the prompt; decode: one mean step */
    double seconds, tok_s;
    double sd_s, sd_fast_s; /* spread of the seconds: they lie between seconds * exp(-z sd_fast_s / seconds) and seconds *
                               exp(z sd_s / seconds), z PREDICT_Z90, with 90 %; NaN: a bound, or nothing is known of it. (87) */
    double least_s; /* the seconds at the roofs, which neither they nor their interval go below (156) */
    struct error_parts parts;
    double memory_s, compute_s, link_s; /* sums of the sides; of one device */
    double bound_s[BOUND_COUNT]; /* seconds spent under each bound, of one device */
    enum bound bound;           /* the one under which most seconds are spent */
    double bandwidth_bytes_s, peak_flop_s; /* of the largest op, after efficiency */
    char bandwidth_source[192], peak_source[192];
    char math[8];
    bool derived; /* a peak of another type was used (source says which) */
    struct predict_role role[ROLE_COUNT];
};

struct predict_result {
    const char *stack;  /* whose constants: "llama.cpp-cuda"; NULL: none */
    const char *basis;  /* what is behind them: "machine" "class" "priors" "kernels" (timing.h); NULL: no constants */
    struct prediction prefill, decode; /* .seconds NaN when n_prompt / n_gen is 0 */
    double ttft_s, itl_s;
    uint32_t n_devices;
    /* of the fullest device */
    double weight_total_bytes, kv_total_bytes, act_peak_bytes, runtime_bytes; /* runtime: of the driver's context, of communication, of graphs */
    double need_bytes, mem_bytes; /* the sum of the four; the profile's */
    double usable_bytes;          /* of mem_bytes: what the driver leaves, of a server the fraction that it takes */
    bool server;                  /* predict_options.server */
    int fits; /* in usable_bytes: 1 yes, 0 no, -1 unknown: the profile has no memory size. (17) */
};

/* With 90 % seconds are at most `slower` times as long, tokens/s `faster` times as many; NaN where there is no interval. */
struct prediction_factors {
    double slower, faster;
};
struct prediction_factors prediction_factors(double seconds, double sd_s, double sd_fast_s);
/* Chance that seconds are at most so many. (88) */
double prediction_chance(const struct prediction *p, double most_s);

int predict(struct predict_result *r, const struct model *m, const struct hwprofile *h,
            const struct predict_options *o, struct error *err);

#endif
