/*
 * run: the saved record of a measurement (schema roofcast.run): tests, ops, adjacent ceilings, provenance. bench/ writes it, the analytical
 * side reads it; no engine types. JSON field names are the struct's. File format: doc/formats.md.
 */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "base/base.h"
#include "base/coherence.h"
#include "base/column.h"
#include "base/json.h"
#include "model/op.h"

/* Software, machine and settings of a run. */
struct provenance {
    char version[32], compiler[96], cflags[160], cpu[128], isa[32], counters[16], profile[128], date[24],
        cpus[64], command[512];
    int n_threads;
};

/* One test. NaN: not measured (JSON null). SI units. */
struct run_row {
    char model[128], type[32], test[48]; /* "pp512", "tg128", "tg128@d4096", "tg128@d4096@kv16" */
    char phase[8];                       /* "prefill" or "decode" */
    int n_threads, n_prompt, n_gen, n_depth, n_batch, n_ubatch, n_reps;
    double tok_s_mean, tok_s_sd, ttft_s, itl_p50_s, itl_p99_s;
    double bytes_s, ceiling_bytes_s, mbu, flop_s, ceiling_flop_s, mfu;
    double weight_bytes, act_bytes, kv_bytes, flop, seconds; /* per repetition, mean */
    double dram_bytes_s, mbu_dram;
    char dram_source[64], dram_reason[160];
    double energy_j, j_tok; /* package and memory energy per repetition, mean; J per token and sequence */
    char energy_source[128], energy_reason[224];
    char bound[16];              /* "memory", "compute" */
    char type_k[12], type_v[12]; /* of the KV cache */
    double kv_block;             /* positions of a block of a paged one; NaN: contiguous */
    double kv_ratio, kv_ratio_low, kv_ratio_high; /* speed over that of the first cache in the same repetitions, methods.md (70); NaN: alone */
    char act_scales[8];          /* activation scales of the largest pass: "exact" or "pow2", methods.md (89); "": not quantized */
    double experts_touched;      /* distinct experts read per MoE layer and pass, mean; NaN: dense model */
    char counters[16];
    char ceiling_source[64]; /* "3 concurrent probes" or the profile's name */
    double roof_moved;       /* bandwidth probe variation, (max - min) / median; methods.md (83) */
    double profile_bytes_s, mbu_profile, profile_flop_s, mfu_profile; /* utilization of the stored profile's roofs */
    char profile_reason[160];         /* reason for NaN */
    double steal, n_switch, clock_hz; /* steal time, fraction; involuntary context switches per repetition, mean; median clock */
    double cpu_share;                 /* minimum over repetitions (struct run_rep) */
    double cache_bytes;               /* all last-level caches */
    double ops_ceiling_bytes_s, ops_ceiling_flop_s; /* probes adjacent to the op-timing pass, harmonic means; methods.md (83) */
    double ops_lowest_bytes_s, ops_highest_bytes_s; /* range of these probes */
    double ops_tile_flop_s;                /* tile probe adjacent to it (80); NaN: none. Not saved */
    double ops_coherence[COHERENCE_COUNT]; /* coherence probes (33), likewise */
};

/* One repetition, with the adjacent probes. */
struct run_rep {
    char model[128], test[48];
    int n_threads, repetition; /* from 0 */
    double seconds, tok_s;
    double ceiling_bytes_s, mbu, ceiling_flop_s, mfu; /* means of the probes before and after */
    double after_bytes_s, after_flop_s;               /* probe after */
    double tile_flop_s, after_tile_flop_s;            /* tile probe (80), mean and after; NaN: none. Not saved */
    double coherence[COHERENCE_COUNT], after_coherence[COHERENCE_COUNT]; /* coherence probes (33), likewise */
    double steal, n_switch, clock_hz;
    double cpu_share; /* fraction of wall time that its threads ran on a CPU; NaN: too short */
};

struct run_op {
    char test[48], phase[8], role[20], op[16], type[12], bound[16];
    int layer; /* -1: outside the blocks, or summed over layers */
    uint64_t rows, cols, n_tok;
    double weight_bytes, act_bytes, kv_bytes, flop, ai, share; /* per pass; share: fraction of seconds */
    double seconds, bytes_s, flop_s, roof_fraction;
};

/* Loading the weights, once per engine. */
struct run_loading {
    char model[128], type[32];
    int n_threads;
    double packed_bytes;         /* packed copy; 0: the mapped file is used */
    double pack_s, pack_bytes_s; /* packing time and rate */
    char act_scales[8];          /* as in struct run_row, for a pass of an ubatch */
    double peak_bytes;           /* peak memory of the process, mapped files included */
    char peak_reason[160];       /* reason for NaN */
    double probe_bytes;          /* probe buffer, in addition to peak_bytes; 0: probes read the weights; NaN: unknown */
};

/* Tokens per expert over a model's tests. */
struct run_routing {
    char model[128];
    uint32_t n_expert, n_expert_used, n_layer; /* n_layer: MoE layers */
    uint64_t n_tok;   /* tokens routed per layer */
    uint32_t *layer;  /* [n_layer] */
    uint64_t *counts; /* [n_layer][n_expert] tokens routed to the expert */
};

/* An event count of one repetition of a test, or of the ops of a role. */
struct run_count {
    char test[48], phase[8], role[20]; /* role "": whole pass */
    char field[24];                    /* "cycles", "instructions", "dram_read_bytes", ... */
    double value, per_s;               /* per_s: over the seconds of the counted repetition */
    char source[32], reason[192];      /* number_source_name; reason for NaN */
};

/* Counter overhead of a test: counted repetitions are separate from the timed ones, one per event set. */
struct run_counting {
    char test[48], phase[8], backend[16];
    int n_set;
    double plain_s, counted_s, slowdown; /* medians of alternating repetitions; counted_s / plain_s */
};

struct run {
    struct provenance prov;
    char incomplete[320]; /* why requested tests are missing; "": none are */
    struct run_count *count;
    size_t n_count;
    struct run_counting *counting;
    size_t n_counting;
    json_t *certificate; /* array of calibration results per event; NULL: not calibrated; owned */
    struct run_loading *loading;
    size_t n_loading;
    struct run_routing *routing; /* one per MoE model */
    size_t n_routing;
    struct run_row *row;
    size_t n_row;
    struct run_rep *rep; /* optional in files */
    size_t n_rep;
    struct run_op *op; /* only with --ops */
    size_t n_op;
    json_t *ceilings; /* array of ceilings from probes adjacent to the run; owned */
    json_t *findings; /* array of findings (doc/formats.md), write-only; owned */
};

/* Columns of struct run_row and struct run_op. */
enum { RUN_ROW_COLUMNS = 61, RUN_OP_COLUMNS = 20 };
extern const struct table_fields run_row_fields, run_op_fields;

int run_add_row(struct run *r, const struct run_row *row, struct error *err);
int run_add_rep(struct run *r, const struct run_rep *rep, struct error *err);
int run_add_op(struct run *r, const struct run_op *op, struct error *err);
int run_add_loading(struct run *r, const struct run_loading *l, struct error *err);
int run_add_count(struct run *r, const struct run_count *c, struct error *err);
int run_add_counting(struct run *r, const struct run_counting *c, struct error *err);
/* Copies x, or adds it to the entry of the same model. */
int run_add_routing(struct run *r, const struct run_routing *x, struct error *err);
/* Lengths of all lists, to undo what a failed test has added. */
struct run_mark {
    size_t n_row, n_rep, n_op, n_count, n_counting;
};
struct run_mark run_mark(const struct run *r);
void run_cut(struct run *r, const struct run_mark *mark);
void run_free(struct run *r);
/* One struct as a JSON object; NULL: out of memory. */
json_t *run_row_json(const struct run_row *r);
json_t *run_op_json(const struct run_op *o);
json_t *run_loading_json(const struct run_loading *l);
json_t *run_routing_json(const struct run_routing *x);
json_t *run_provenance_json(const struct provenance *p);
json_t *run_to_json(const struct run *r, struct error *err);
int run_save(const struct run *r, const char *path, struct error *err);
/*
 * Fields are mandatory except "loads", "routing", "repetitions", "counts", "counting", "certificate", "incomplete" and a row's energy and
 * conditions; unknown fields are ignored. Numbers may be null (NaN), else are in [0, 1e24], seconds and ceilings > 0. After an error r is
 * empty and needs no run_free.
 */
int run_load(struct run *r, const char *path, struct error *err);
int run_parse(struct run *r, const char *name, const void *data, size_t size, struct error *err); /* fuzzed */
/* From a loaded document of schema "roofcast.run" or "roofcast.bench" (same fields). */
int run_from_json(struct run *r, const json_t *doc, const char *name, const char *schema, struct error *err);

#endif
