/* `roofcast validate`: cases (validate_cases.c), one of them measured and predicted (validate_run.c), what they come
 * to (validate_report.c). */
#ifndef BENCH_VALIDATE_H
#define BENCH_VALIDATE_H

#include "bench/bench.h"
#include "predict/finding.h"
#include "timing/timing.h"

/* A file that cases run: the caller's, or a slice of a model's shape that is synthesized when its first case comes. */
struct validate_file {
    char label[128];  /* of the model: "llama-3.2-1b:4", or the file's name */
    char type[32];    /* "Q4_K_M"; "": the file's own */
    char path[4096];
    uint32_t n_layer; /* of the slice; 0: all of the model */
    bool ours;        /* written here, so that it can be written again */
    bool there;
    size_t n_left;    /* cases that still want it */
};

struct validate_case {
    size_t file; /* of the plan's */
    int n_threads;
    struct bench_test t;
};

struct validate_plan {
    struct validate_file *file;
    size_t n_file;
    struct validate_case *c; /* in the order they run in */
    size_t n_case;
    size_t n_grid;           /* that they were drawn from */
};

/* Lists as they were given. */
struct validate_lists {
    const char *models, *types, *tests, *threads;
};

/*
 * Every file x test x number of threads, shuffled by the seed; of these n_case (0: all) so that every pair of a type and a test comes
 * equally often, and these shuffled again. dir: where files are synthesized. Lists are checked before anything runs.
 */
int validate_plan_init(struct validate_plan *p, const struct validate_lists *l, const char *dir, size_t n_case, uint64_t seed,
                       int reps, struct error *err);
void validate_plan_free(struct validate_plan *p);
/* "pp512", "tg32x4@d8192": as bench names its tests. */
int validate_test_parse(struct bench_test *t, const char *text, struct error *err);

/* Writes the file if it is one of ours and not there. */
int validate_file_make(struct validate_file *f, struct error *err);

/* A role of a case: seconds a pass, all layers. */
struct validate_op {
    size_t at; /* the case's place in the order */
    char role[20], op[16], type[12];
    double seconds, predicted_s, share; /* share: of the measured seconds of all roles */
};

/* One case. NaN: not measured, not predicted; then reason says why. */
struct validate_result {
    const struct validate_case *c;
    const struct validate_file *f;
    struct run_row row;                    /* of the first round */
    int n_asked, n_reps, n_still;          /* repetitions a round; that ran; of these, that VALIDATE_STILL holds of */
    double seconds;                        /* a repetition that counts, median, as all of these */
    double predicted_s;
    double memory_scale, compute_scale, tile_scale; /* adjacent probes over the stored profile; NaN: the profile has no such roof */
    double far_bytes_s;                    /* plain loads of memory that no cache has, before a round and after it; NaN: not looked at */
    double walked_bytes, kept;             /* weights that probes read all of, and the part that the last cache kept; 0 and NaN: they
                                              read memory that no cache has */
    double error;                          /* of tokens/s: predicted / measured - 1 */
    double op_median_ape;
    bool moved;                            /* fewer than half as many as were asked for stood still */
    char reason[256];
};

struct validation {
    struct validate_result *r;
    size_t n;
    struct validate_op *op;
    size_t n_op;
};
void validation_free(struct validation *v);

/* Of memory that no cache has, for as many threads as cases have: made when the first of them asks. */
struct validate_far {
    struct ceilings_prober **prober; /* [n] */
    int *n_threads;                  /* of each */
    size_t n;
};
void validate_far_free(struct validate_far *f);

/* What all cases share. */
struct validate_setup {
    struct validate_far *far;
    const struct hwprofile *profile;
    struct bench_stored stored;
    struct energy *energy;
    const struct setup_options *engine;
};

/* Runs and predicts case `at`, and adds it to *v; what keeps a case from being measured is its reason and no error. -1: an
 * interrupt, or no memory. */
int validate_run(struct validation *v, const struct validate_setup *s, const struct validate_plan *p, size_t at, struct error *err);

/* A repetition stands still where what is predicted of it under the probe before it and under the one after it differs by at most
 * this part, and others had its CPUs for no more than this part of its time. */
#define VALIDATE_STILL 0.05

/* Ops below this part of a pass are not judged: a clock read and a barrier are of their size. */
#define VALIDATE_SHARE 0.01

struct validate_about {
    const char *command, *profile_path;
    uint64_t seed;
    const struct hwprofile *host, *profile;
    size_t n_case, n_grid; /* planned, of how many */
};
extern const struct table_fields validate_fields, validate_group_fields;
/* Tables, or one document. save: also the document, atomically; NULL: not. */
int validate_print(const struct validation *v, const struct validate_about *a, enum report_format f, const char *save,
                   struct error *err);

#endif
