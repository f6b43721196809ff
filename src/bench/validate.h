/*
 * validate.h: `roofcast validate`: cases (validate_cases.c), their measurement and prediction (validate_run.c), and the report
 * (validate_report.c). methods.md (82)
 */
#ifndef BENCH_VALIDATE_H
#define BENCH_VALIDATE_H

#include "bench/bench.h"
#include "predict/finding.h"
#include "timing/timing.h"

/* A model file: the caller's, or a slice of a model's shape, synthesized on first use. */
struct validate_file {
    char label[128];  /* model: "llama-3.2-1b:4", or the file's name */
    char type[32];    /* "Q4_K_M"; "": as in the file */
    char path[4096];
    uint32_t n_layer; /* layers of the slice; 0: whole model */
    bool ours;        /* synthesized: can be deleted and rewritten */
    bool there;
    size_t n_left;    /* cases left that use it */
};

struct validate_case {
    size_t file; /* index in the plan */
    int n_threads;
    struct bench_test t;
};

struct validate_plan {
    struct validate_file *file;
    size_t n_file;
    struct validate_case *c; /* in order of execution */
    size_t n_case;
    size_t n_grid;           /* size of the grid */
};

/* Lists from the command line. */
struct validate_lists {
    const char *models, *types, *tests, *threads;
};

/*
 * All grid points (file x test x number of threads) shuffled by the seed; of these n_case (0: all), pairs of type and test equally often,
 * shuffled again. dir: directory of synthesized files. Lists are checked before anything runs.
 */
int validate_plan_init(struct validate_plan *p, const struct validate_lists *l, const char *dir, size_t n_case, uint64_t seed,
                       int reps, struct error *err);
void validate_plan_free(struct validate_plan *p);
/* Parses "pp512", "tg32x4@d8192", as bench names tests. */
int validate_test_parse(struct bench_test *t, const char *text, struct error *err);

/* Synthesizes the file if it is missing and not the caller's. */
int validate_file_make(struct validate_file *f, struct error *err);

/* A role of a case: seconds per pass, all layers. */
struct validate_op {
    size_t at; /* index of the case */
    char role[20], op[16], type[12];
    double seconds, predicted_s, share; /* share: fraction of the measured seconds of all roles */
};

/* One case. NaN: not measured or predicted, see reason. */
struct validate_result {
    const struct validate_case *c;
    const struct validate_file *f;
    struct run_row row;                    /* first round */
    int n_requested, n_reps, n_still;          /* repetitions per round; run; steady (VALIDATE_STEADY) */
    double seconds;                        /* median of steady repetitions, as all of these */
    double predicted_s;
    double memory_scale, compute_scale, tile_scale; /* adjacent probes over the stored profile; NaN: no such roof */
    double far_bytes_s;                    /* plain loads of uncached memory before and after a round; NaN: not probed */
    double scanned_bytes, kept;             /* weights read completely by probes, and their LLC hit fraction; 0 and NaN: probes read uncached memory */
    double error;                          /* predicted / measured - 1, of tokens/s */
    double op_median_ape;
    bool moved;                            /* fewer steady repetitions than half of those requested */
    char reason[256];
};

struct validation {
    struct validate_result *r;
    size_t n;
    struct validate_op *op;
    size_t n_op;
};
void validation_free(struct validation *v);

/* Probers of uncached memory by number of threads, created on first use. */
struct validate_dram {
    struct ceilings_prober **prober; /* [n] */
    int *n_threads;                  /* of each */
    size_t n;
};
void validate_dram_free(struct validate_dram *f);

/* Common to all cases. */
struct validate_setup {
    struct validate_dram *far;
    const struct hwprofile *profile;
    struct bench_stored stored;
    struct energy *energy;
    const struct setup_options *engine;
};

/* Measures and predicts case `at`, and adds it to *v; a case that cannot be measured has a reason. errors: interrupt, out of memory */
int validate_run(struct validation *v, const struct validate_setup *s, const struct validate_plan *p, size_t at, struct error *err);

/*
 * A repetition is steady if its prediction under the probes before and after differs by at most this fraction, and its threads lost at most
 * this fraction of CPU time.
 */
#define VALIDATE_STEADY 0.05

/* Ops below this fraction of a pass are excluded: their time is comparable to a clock read and a barrier. */
#define VALIDATE_SHARE 0.01

struct validate_about {
    const char *command, *profile_path;
    uint64_t seed;
    const struct hwprofile *host, *profile;
    size_t n_case, n_grid; /* planned; size of the grid */
};
extern const struct table_fields validate_fields, validate_group_fields;
/* Prints tables or one document. save: file for the document (atomic); NULL: none. */
int validate_print(const struct validation *v, const struct validate_about *a, enum report_format f, const char *save,
                   struct error *err);

#endif
