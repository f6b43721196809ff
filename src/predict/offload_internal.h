/* What the files of predictions with offload share. */
#ifndef PREDICT_OFFLOAD_INTERNAL_H
#define PREDICT_OFFLOAD_INTERNAL_H

#include "predict/internal.h"
#include "predict/offload.h"

/* A scenario on a GPU and its host. */
struct offload_asked {
    const struct predict_options *o;
    const struct hwprofile *h; /* GPU */
    const struct op_classes *l;
    const struct offload_bus *bus;
    struct predict_device *device; /* [DEVICE_COUNT]; NULL */
    struct predict_result *r;
};

/* offload.c: the options of one device's part. */
struct predict_options offload_device_options(const struct predict_options *o, enum offload_device d);
/* offload_memory.c: memory of both into a->r and a->device. errors: out of memory */
int offload_fit_devices(const struct offload_asked *a, const struct offload_split *s, struct error *err);

#endif
