/*
 * run: the saved record of a measurement (schema roofcast.run): rows of tests, rows of ops, ceilings beside
 * them, and provenance. Written by cli from the engine, read by the analytical side; it
 * holds no engine types. JSON field names are the struct's. File format: doc/formats.md.
 */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "base/base.h"
#include "base/exchange.h"
#include "base/json.h"
#include "model/op.h"

/* What made the numbers. */
struct provenance {
    char version[32], compiler[96], cflags[160], cpu[128], isa[32], counters[16], profile[128], date[24],
        cpus[64], command[512];
    int n_threads;
};

/* NaN: not measured (JSON null). Fractions, seconds, bytes: SI. */
struct run_row {
    char model[128], type[32], test[48]; /* "pp512", "tg128", "tg128@d4096" */
    char phase[8];                        /* "prefill" or "decode" */
    int n_threads, n_prompt, n_gen, n_depth, n_batch, n_ubatch, n_reps;
    double tok_s_mean, tok_s_sd, ttft_s, itl_p50_s, itl_p99_s;
    double bytes_s, ceiling_bytes_s, mbu, flop_s, ceiling_flop_s, mfu;
    double weight_bytes, act_bytes, kv_bytes, flop, seconds; /* of one repetition, mean */
    double dram_bytes_s, mbu_dram;
    char dram_source[64], dram_reason[160];
    double energy_j, j_tok; /* of packages and memory, in one repetition, mean; a token of each sequence */
    char energy_source[128], energy_reason[224];
    char bound[16]; /* "memory", "compute" */
    char type_k[12], type_v[12]; /* of the KV cache */
    char act_scales[8];     /* of 8-bit activations in its largest pass: "exact" or "pow2", methods.md (89); "": none are quantized */
    double experts_touched; /* distinct experts a layer with experts read in a pass, mean; NaN: a dense model */
    char counters[16];
    char ceiling_source[64]; /* "probe beside the run" or the profile's name */
    double roof_moved; /* DRAM's roof, largest probe less smallest over median; methods.md (83) */
    double profile_bytes_s, mbu_profile, profile_flop_s, mfu_profile; /* against the stored profile */
    char profile_reason[160]; /* why these are NaN */
    double steal, n_switch, clock_hz; /* fraction of its CPUs' time; a repetition, mean; median */
    double cpu_share;   /* the least of its repetitions (struct run_rep) */
    double cache_bytes; /* of the last-level caches, all together */
    double ops_ceiling_bytes_s, ops_ceiling_flop_s; /* beside the pass that timed the ops, harmonic means; methods.md (83) */
    double ops_lowest_bytes_s, ops_highest_bytes_s; /* of the probes of that mean */
    double ops_tile_flop_s; /* beside it too, the small product by tiles (80); NaN: not probed. In no file */
    double ops_exchange[EXCHANGE_COUNT]; /* and what cores exchange (33), likewise */
};

/* One repetition of a test, beside the probes before and after it. */
struct run_rep {
    char model[128], test[48];
    int n_threads, repetition; /* from 0 */
    double seconds, tok_s;
    double ceiling_bytes_s, mbu, ceiling_flop_s, mfu; /* means of the two probes */
    double after_bytes_s, after_flop_s;               /* the one after it */
    double tile_flop_s, after_tile_flop_s;            /* mean and after, of the small product by tiles (80); NaN: not probed. In no file */
    double exchange[EXCHANGE_COUNT], after_exchange[EXCHANGE_COUNT]; /* of what cores exchange (33), likewise */
    double steal, n_switch, clock_hz;
    double cpu_share; /* of the threads' time, that they were on a CPU: others had the rest, or they slept; NaN: too short to tell */
};

struct run_op {
    char test[48], phase[8], role[20], op[16], type[12], bound[16];
    int layer; /* -1: outside the blocks, or summed over layers */
    uint64_t rows, cols, n_tok;
    double weight_bytes, act_bytes, kv_bytes, flop, ai, share; /* of one pass; share of seconds */
    double seconds, bytes_s, flop_s, roof_fraction;
};

/* How the weights of a model came to where the engine reads them, once for each engine. */
struct run_loading {
    char model[128], type[32];
    int n_threads;
    double packed_bytes;              /* of the copy in the kernels' layout; 0: the file's own is read */
    double pack_s, pack_bytes_s;      /* to make it */
    char act_scales[8];               /* of 8-bit activations in passes of an ubatch, as struct run_row has them */
    double peak_bytes;                /* of the process's memory until the tests were done, mapped files included */
    char peak_reason[160];            /* why there is none */
    double probe_bytes;               /* memory of the probes between the repetitions, in addition to peak_bytes; 0: they read the weights'; NaN: not said */
};

/* How the tokens of a model's tests chose among its experts. */
struct run_routing {
    char model[128];
    uint32_t n_expert, n_expert_used, n_layer; /* n_layer: of those with experts */
    uint64_t n_tok;                            /* that each of them routed */
    uint32_t *layer;                           /* [n_layer] */
    uint64_t *counts;                          /* [n_layer][n_expert] tokens that used the expert */
};

/* What event counters counted in one repetition of a test, or in the ops of a role. */
struct run_count {
    char test[48], phase[8], role[20]; /* role "": all of the pass */
    char field[24];                    /* "cycles", "instructions", "dram_read_bytes", ... */
    double value, per_s;               /* per_s: over the seconds of the counted repetition */
    char source[32], reason[192];      /* number_source_name; why value is NaN */
};

/* What counting a test was: repetitions outside of the timed ones, one a set of events. */
struct run_counting {
    char test[48], phase[8], backend[16];
    int n_set;
    double plain_s, counted_s, slowdown; /* medians of repetitions in turn; counted_s / plain_s */
};

struct run {
    struct provenance prov;
    char incomplete[320]; /* why tests that were asked for are missing; "": none are */
    struct run_count *count;
    size_t n_count;
    struct run_counting *counting;
    size_t n_counting;
    json_t *certificate; /* array: what calibration found of each event; NULL: nothing was calibrated; owned */
    struct run_loading *loading;
    size_t n_loading;
    struct run_routing *routing; /* one a model with experts */
    size_t n_routing;
    struct run_row *row;
    size_t n_row;
    struct run_rep *rep; /* empty in older files */
    size_t n_rep;
    struct run_op *op; /* empty without --ops */
    size_t n_op;
    json_t *ceilings; /* array of ceiling objects measured beside the run; owned */
    json_t *findings; /* array of finding objects (doc/formats.md), written, not read: they can be found again; owned */
};

int run_add_row(struct run *r, const struct run_row *row, struct error *err);
int run_add_rep(struct run *r, const struct run_rep *rep, struct error *err);
int run_add_op(struct run *r, const struct run_op *op, struct error *err);
int run_add_loading(struct run *r, const struct run_loading *l, struct error *err);
int run_add_count(struct run *r, const struct run_count *c, struct error *err);
int run_add_counting(struct run *r, const struct run_counting *c, struct error *err);
/* Copies, or adds to what is there of that model. */
int run_add_routing(struct run *r, const struct run_routing *x, struct error *err);
/* How much of everything there is, and back to that: what a test that failed has added goes. */
struct run_mark {
    size_t n_row, n_rep, n_op, n_count, n_counting;
};
struct run_mark run_mark(const struct run *r);
void run_cut(struct run *r, const struct run_mark *mark);
void run_free(struct run *r);
/* One row, op, loading or provenance as an object; NULL: out of memory. */
json_t *run_row_json(const struct run_row *r);
json_t *run_op_json(const struct run_op *o);
json_t *run_loading_json(const struct run_loading *l);
json_t *run_routing_json(const struct run_routing *x);
json_t *run_provenance_json(const struct provenance *p);
json_t *run_to_json(const struct run *r, struct error *err);
int run_save(const struct run *r, const char *path, struct error *err);
/* Strict: every field must be there but "loads", "routing", "repetitions", "counts", "counting", "certificate", "incomplete" and a row's energy and conditions, which older files lack (numbers may be null: NaN), texts must fit, numbers are not negative nor above
 * 1e24, seconds and ceilings above 0; fields not known are ignored. On an error r is empty and needs no run_free. */
int run_load(struct run *r, const char *path, struct error *err);
int run_parse(struct run *r, const char *name, const void *data, size_t size, struct error *err); /* fuzzed */
/* A loaded document of that schema: "roofcast.run", or "roofcast.bench", which has the same fields. */
int run_from_json(struct run *r, const json_t *doc, const char *name, const char *schema, struct error *err);

#endif
