/* What the files of src/lib share: the handles behind include/roofcast, and errors from inside to outside. */
#ifndef LIB_INTERNAL_H
#define LIB_INTERNAL_H

#include "cost/classes.h"
#include "dtype/dtype.h"
#include "hwprofile/hwprofile.h"
#include "model/model.h"
#include <roofcast/roofcast.h>

struct roofcast_model {
    struct model m;
    struct model_classes x; /* op list and classes */
    struct roofcast_model_info info;
    struct roofcast_tensor *tensor; /* [m.n_tensors] */
    struct roofcast_op *op;         /* [x.ops.n] */
};

struct roofcast_machine {
    struct hwprofile h;
    struct roofcast_machine_info info;
    struct roofcast_ceiling *ceiling; /* [h.n_ceiling] */
};

/* *e as the caller's error, which may be NULL. -1. */
int lib_fail(struct roofcast_error *err, const struct error *e);
/* The message of an error that begins here. -1. */
int lib_error(struct roofcast_error *err, int kind, const char *text);

/*
 * Options of a caller that may be older or newer than this library: *to, which holds the defaults, takes the first
 * min(from->size, size) bytes of *from. Structs begin with their size; from NULL: the defaults stay.
 * errors   a size that no struct has, which says that init was not called
 */
int lib_options(void *to, size_t size, const void *from, struct roofcast_error *err);
/* The defaults, as far as the caller's struct of that size has room for them, with its size in the first field. */
void lib_options_init(void *to, size_t to_size, const void *defaults, size_t size);

/* Types of the KV cache by name, also those that are priced only; NULL: the one that the model asks for. */
int lib_kv_types(enum dtype *k, enum dtype *v, const struct roofcast_model *m, const char *type_k, const char *type_v,
                 struct roofcast_error *err);
struct roofcast_cost lib_cost(const struct cost *c);

#endif
