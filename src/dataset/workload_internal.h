/* Shared by the files of dataset that build workloads. */
#ifndef DATASET_WORKLOAD_INTERNAL_H
#define DATASET_WORKLOAD_INTERNAL_H

#include "dataset/workload.h"

/* Identifying properties of a preset. */
struct preset_shape {
    char name[64], arch[32];
    double n_params, extra[4]; /* extra: parameters that its file may hold in addition; the first is 0 */
};

/* All presets, read on first use. */
struct presets {
    struct preset_shape *p; /* NULL: not read yet */
    size_t n;
};

void presets_free(struct presets *l);

struct preset_found {
    char name[64];    /* "": none */
    double extra;     /* parameters of the row in addition to the model's, as a fraction of these */
    bool by_family;   /* matched by family and parameters, not by name */
    char other[64];   /* first preset of that name with another number of parameters */
    double other_params; /* its parameters; NaN: none */
};

int preset_find(struct preset_found *out, const struct measurement *row, struct presets *l, struct error *err);

/* A row's model with its op classes. */
struct row_model {
    char key[4608]; /* identifies it: model, type and parameters of the row */
    struct model m;
    struct op_list ops;
    struct op_classes classes;
    bool loaded;
    char preset[64], type[24];
    char reason[256]; /* why it is not loaded; "" */
    char note[256];   /* where it differs from the row: name, type; "" */
    unsigned guesses;
    double bits;      /* bits of a large matrix's weight; NaN: as its type */
    double scale;     /* factor of product bytes, from weight_gib; NaN: not stated */
    bool whole;       /* the LM head is quantized too (MLX) */
    double kv_share;  /* fraction of layers with a KV cache, guessed hybrids; 1 */
    double width;     /* feed-forward width over that of its op list, guessed models; 1 */
    double experts;   /* number of experts over that of its op list, guessed mixtures; 1 */
    double extra;     /* additional parameters of its file, as a fraction */
};

/* A class of machines and its priors: hwprofiles/priors/machines.json. methods.md (56) */
struct machine_class {
    const char *name;
    enum hw_kind kind;
    const char *vendor; /* "": any */
    const char *ids[12]; /* prefixes of profile ids; none: the rest of its kind and vendor */
    bool profiles;       /* applies to profiles; false: to names only */
    bool name_first;     /* profiles without a matching prefix are classified by name */
    double balance;     /* 16-bit FLOP (CPUs: 32-bit) per byte of memory */
    double bytes_s, ln_sd; /* memory bandwidth; spread of its logarithm */
    const char *source;    /* source of both */
};

/* Class by its name in hardware.csv; NULL: unknown. */
const struct machine_class *class_find(const char *name);

/* Class, vendor ("": any) and memory bandwidth that a machine's name implies. */
struct machine_family; /* families.h */

struct class_guess {
    const struct machine_class *class;
    const char *vendor;
    double bytes_s, ln_sd;
    const char *source;
    const struct machine_family *family; /* NULL: the name says none */
    double cores, clock_hz;              /* of the family or its model */
    bool known_model;
};

bool class_of_name(struct class_guess *out, const char *hardware); /* false: unknown name */
/*
 * hws, own: workload_builder_new(). server: the file's machines are server GPUs. An unknown machine is no error: out->reason. errors: a
 * profile that cannot be read, out of memory
 */
int machine_find(struct machine *out, const char *hardware, bool server, const struct measure_hws *hws, const char *own,
                 struct error *err);
void machine_free(struct machine *m);
/* "NAME @ 76.8 GB/s": the machine of that name with this memory bandwidth. */
#define MACHINE_BANDWIDTH_MARK " @ "
/* roofs.c: roofs of a machine, see machine_roofs(). */
struct roofs_cache *roofs_cache_new(struct error *err);
void roofs_cache_free(struct roofs_cache *k);
int row_model_load(struct row_model *s, const struct measurement *m, const struct stack *stack, struct presets *presets, struct error *err);
void row_model_key(char *key, size_t size, const struct measurement *m, const struct stack *stack);
void row_model_free(struct row_model *s);
/* Weight of a tensor's elements in the parameter count of a guessed model; 1: others. (doc/notes/datasets.md) */
double row_model_share(const struct row_model *s, const struct tensor *t);
bool row_model_is_expert(const struct tensor *t);

/* Cached models, least recently used first out: consecutive rows mostly share one, and each takes hundreds of kilobytes. */
enum { WORKLOAD_MODELS = 32 };

struct workload_builder {
    const struct measure_hws *hws;
    const char *own;
    struct machine **machine;
    size_t n_machine;
    struct row_model *model[WORKLOAD_MODELS]; /* most recently used first */
    size_t n_model;
    struct presets presets;
};

/* NULL: *err. A model is valid until the next call. */
const struct machine *workload_builder_machine(struct workload_builder *p, const char *hardware, bool server, struct error *err);
const struct row_model *workload_builder_model(struct workload_builder *p, const struct measurement *m, const struct stack *stack, struct error *err);

/* Appends passes of one shape to out->pass, under out->layout. */
struct pass_request {
    enum phase phase;
    double times;
    struct pass pass;
    uint32_t n_steps; /* decode: mean of n_steps steps, of which pass is the first */
};

/*
 * offload.c: a row with layers or experts on the host gets out->host, *split and, until the passes are added, out->split_offload; others nothing.
 * errors: as of workload_init(). split: offload_split_free() it where out->split_offload is set
 */
struct offload_passes;
int workload_offload(struct workload *out, struct offload_split *split, const struct row_model *s, struct error *err);
void workload_add_bus(struct workload *out, const struct offload_passes *x, const struct pass_request *r);
int work_add(struct workload *out, const struct row_model *s, const struct pass_request *r, struct error *err);
/* Appends a pass of the single step c; like: its phase, tokens, kernel and message size. */
int work_add_step(struct workload *out, const struct work_pass *like, const struct step *c, struct error *err);
/* Passes of a row, by its kind; out->reason where there are none. */
int workload_add_rate(struct workload *out, const struct measurement *m, const struct row_model *s, struct error *err);
int workload_add_serving(struct workload *out, const struct measurement *m, const struct row_model *s, struct error *err);
/* s: the row's model; NULL: unknown */
int workload_add_op(struct workload *out, const struct measurement *m, const struct row_model *s, struct error *err);
/* Thread blocks of a small kernel of gpu_ops.csv; false: unknown op. small_kernels.c */
bool small_kernel(struct work_pass *w, struct step *c, const struct measurement *m, const struct row_model *s);
int workload_add_all_reduce(struct workload *out, const struct measurement *m, struct error *err);
int workload_add_gpu_kernel(struct workload *out, const struct measurement *m, struct error *err);
/* Sets out->layout and roofs; where heads do not divide, fewer devices and replication. */
int choose_layout(struct workload *out, const struct row_model *s, const struct layout *want, struct error *err);
/* Sets out->reason. Always returns 0: a row without a workload is no error. */
int workload_reject(struct workload *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
