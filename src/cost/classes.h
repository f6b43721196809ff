/* classes.h: equal ops of many layers as one class with a count; laid out over devices, a class is what one device does of it. */
#ifndef COST_CLASSES_H
#define COST_CLASSES_H

#include "cost/step.h"
#include "model/nextn.h"

/* Parallel layout of a model: (24). Zeros count as 1. */
struct layout {
    uint32_t tp; /* tensor parallel: every matrix is divided */
    uint32_t pp; /* pipeline parallel: layers are divided */
    uint32_t dp; /* groups of tp x pp devices that share the sequences */
    uint32_t ep; /* devices over which experts are spread, of the tp x dp that hold a layer */
};

/* Equal ops in any pass. */
struct op_class {
    struct op op;          /* the first of them; for its kind, role, types and names */
    double count;
    double barriers[2];    /* mean barriers per op, before it or in it; [1]: in passes of one token */
    double tensor_bytes;   /* of tensors that no earlier class reads: sums count every tensor once; of a model's classes */
    /* of a step model's: */
    struct cost_form form; /* what one device does of it */
    uint32_t n_comm;       /* devices of the collective; 0: no traffic */
    enum dtype kv_type;    /* of the cache's keys and values; DTYPE_PRICED_END: they differ */
};

struct op_classes {
    const struct model *m;
    const struct op_list *ops; /* not owned */
    struct op_class *c;        /* in op order of their first op */
    size_t n;
    double elsewhere_bytes;    /* of m's tensors that are on other devices (offload.h), or on these for other ops: not counted here */
};

int op_classes_init(struct op_classes *l, const struct model *m, const struct op_list *ops, struct error *err);
void op_classes_free(struct op_classes *l);
/* Of m's layer of multi-token prediction. tensor_bytes are of tensors that m does not count already: not those of m's file, nor the table, last norm and head.
 * Points to x. */
int nextn_classes_init(struct op_classes *l, const struct nextn *x, const struct model *m, struct error *err);

/* The op list of a model and its classes, which point to it: not to be copied. */
struct model_classes {
    struct op_list ops;
    struct op_classes classes;
};

int model_classes_init(struct model_classes *x, const struct model *m, struct error *err);
void model_classes_free(struct model_classes *x);
uint32_t layout_devices(const struct layout *l); /* tp pp dp */
/* "tp8", "tp4 pp2 dp4 ep16", "1 device" */
const char *layout_text(char *buf, size_t n, const struct layout *l);
/* Heads, widths, experts and layers divide; else ERROR_USAGE. (24) */
int layout_check(const struct layout *l, const struct op_classes *ops, struct error *err);
/* Devices that one link must join: those that share every matrix or the experts, else neighbours of a pipeline; 1: none. */
uint32_t layout_joined(const struct layout *l);
/* The machine has such a link; else ERROR_INPUT. */
int layout_check_link(const struct layout *l, const struct hwprofile *h, struct error *err);

struct step_options {
    struct cost_options cost;
    struct layout layout;
    bool weights_only;    /* weight bytes and the FLOP of products alone */
    double weights_bytes; /* > 0: a nominal model, read once a pass, 2 FLOP a weight and token, nothing else */
    bool absorbed;        /* MLA's cache stays latent: never the expanded form (17) */
};

struct step_model {
    struct op_class *c;
    size_t n;
    struct step_options o;
    double stretch;       /* slowest pipeline stage over their mean, in layers */
    double held_bytes;    /* weight bytes on the device: resident in a cache that holds them */
    double held_position; /* KV cache bytes per position, of layers with full attention */
};

int step_model_init(struct step_model *s, const struct op_classes *l, const struct step_options *o, struct error *err);
void step_model_free(struct step_model *s);
/* Weights and keys that a pass reads, all classes. */
double step_read_bytes(const struct step_model *s, const struct pass *p);
/* Bytes on the device that holds most: its share of the tensors, and of one sequence's cache of n_ctx positions. (25) */
double step_weight_bytes(const struct op_classes *l, const struct layout *lay);
double step_kv_bytes(const struct op_classes *l, const struct layout *lay, const struct cost_options *o, uint64_t n_ctx,
                     uint32_t n_ubatch);

#endif
