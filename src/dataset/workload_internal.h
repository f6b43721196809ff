/* What the files of dataset share. */
#ifndef DATASET_WORKLOAD_INTERNAL_H
#define DATASET_WORKLOAD_INTERNAL_H

#include "dataset/workload.h"

/* What tells presets apart. */
struct preset_shape {
    char name[64], arch[32];
    double n_params, extra[4]; /* extra: what its file may hold in addition, in parameters; the first is 0 */
};

/* All of them, read when they are needed. */
struct presets {
    struct preset_shape *p; /* NULL: not read */
    size_t n;
};

void presets_free(struct presets *l);

struct preset_found {
    char name[64];    /* "": none */
    double extra;     /* parameters that the row counts in addition to the model's, over the model's */
    bool by_family;   /* of the row's family and parameters, not of its name */
    char other[64];   /* the first that has the name and not the parameters */
    double other_params; /* NaN: none */
};

int preset_find(struct preset_found *out, const struct measurement *row, struct presets *l, struct error *err);

/* A model of a row, compiled once. */
struct row_model {
    char key[4608]; /* model, type, parameters: as the row says them */
    struct model m;
    struct op_list ops;
    struct op_classes classes;
    bool loaded;
    char preset[64], type[24];
    char reason[256]; /* why not; "" when loaded */
    char note[256];   /* what the row says that the price does not follow: its name, its type; "" when nothing */
    unsigned guesses;
    double bits;      /* of a weight of a large matrix; NaN: its type's */
    double scale;     /* of the bytes of products, from weight_gib; NaN: none said */
    bool whole;       /* its program quantizes the LM head too (MLX) */
    double kv_share;  /* of layers that have a cache, of guessed hybrids; 1 */
    double width;     /* of a guessed model's feed-forward, over its blocks'; 1 */
    double experts;   /* of a guessed mixture, over its whole ones; 1 */
    double extra;     /* what its file holds in addition, over its parameters */
};

/* A class of machines, and what is believed of one of it: hwprofiles/priors/machines.json. */
struct machine_class {
    const char *name;
    enum hw_kind kind;
    const char *vendor; /* "": any */
    const char *ids[12]; /* beginnings of profiles' ids; without any: what is left of its kind and vendor */
    bool profiles;       /* of profiles too; false: of names alone */
    bool name_first;     /* a profile without such an id is what its name says */
    double balance;     /* FLOP of 16 bits (CPUs: of 32) a byte of memory */
    double bytes_s, ln_sd; /* of memory; the spread of its logarithm */
    const char *source;    /* of those */
};

/* By its name in hardware.csv; NULL: a class of the file's own. */
const struct machine_class *class_find(const char *name);

/* What a machine's name says: its class, its maker ("": makes no difference), its memory. */
struct class_guess {
    const struct machine_class *class;
    const char *vendor;
    double bytes_s, ln_sd;
    const char *source;
};

bool class_of_name(struct class_guess *out, const char *hardware); /* false: nothing */
/* hws and own (workload_builder_new) may be NULL; server: of a file whose machines are servers' GPUs. A machine that nobody knows is no error:
 * machine.reason; a profile that cannot be read is one. */
int machine_find(struct machine *out, const char *hardware, bool server, const struct measure_hws *hws, const char *own,
                 struct error *err);
void machine_free(struct machine *m);
/* roofs.c: what machine.roofs is. */
struct roofs_cache *roofs_cache_new(struct error *err);
void roofs_cache_free(struct roofs_cache *k);
int row_model_load(struct row_model *s, const struct measurement *m, const struct stack *stack, struct presets *presets, struct error *err);
void row_model_key(char *key, size_t size, const struct measurement *m, const struct stack *stack);
void row_model_free(struct row_model *s);
/* What a tensor's elements count as, so that a guessed model has the parameters stated; 1 of any other. (doc/notes/datasets.md) */
double row_model_share(const struct row_model *s, const struct tensor *t);
bool row_model_is_expert(const struct tensor *t);

/* Rows of a model mostly follow one another, and a model with its ops is hundreds of kilobytes: the last ones stay. */
enum { WORKLOAD_MODELS = 32 };

struct workload_builder {
    const struct measure_hws *hws;
    const char *own;
    struct machine **machine;
    size_t n_machine;
    struct row_model *model[WORKLOAD_MODELS]; /* the last used first */
    size_t n_model;
    struct presets presets;
};

/* NULL: out of memory. A subject is there until others are asked for: a row takes what it needs of one. */
const struct machine *workload_builder_machine(struct workload_builder *p, const char *hardware, bool server, struct error *err);
const struct row_model *workload_builder_model(struct workload_builder *p, const struct measurement *m, const struct stack *stack, struct error *err);

/* A pass's classes under the row's layout; appended to out->pass. */
struct pass_request {
    enum phase phase;
    double times;
    struct pass pass;
    uint32_t n_steps; /* decode: mean of so many steps, of which pass is the first */
};

int work_add(struct workload *out, const struct row_model *s, const struct pass_request *r, struct error *err);
/* A pass of one step that no op list has; like: its phase and tokens, its small kernel, the bytes of its message. */
int work_add_step(struct workload *out, const struct work_pass *like, const struct step *c, struct error *err);
/* Rows by kind. */
int workload_add_rate(struct workload *out, const struct measurement *m, const struct row_model *s, struct error *err);
int workload_add_serving(struct workload *out, const struct measurement *m, const struct row_model *s, struct error *err);
/* s: of the row's model, where it has a name that is known; else NULL. */
int workload_add_op(struct workload *out, const struct measurement *m, const struct row_model *s, struct error *err);
/* The small kernel that a row of gpu_ops.csv timed; false: it is none that is known. small_kernels.c */
bool small_kernel(struct work_pass *w, struct step *c, const struct measurement *m, const struct row_model *s);
int workload_add_all_reduce(struct workload *out, const struct measurement *m, struct error *err);
int workload_add_gpu_kernel(struct workload *out, const struct measurement *m, struct error *err);
/* Layout, split and the fallbacks where heads do not divide. */
int choose_layout(struct workload *out, const struct row_model *s, const struct layout *want, struct error *err);
/* Sets out->reason; returns 0, since a row without a price is no failure. */
int workload_reject(struct workload *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
