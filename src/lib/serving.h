/* What simulations and capacity share: a workload's handle, and the caller's server as the modules take it. */
#ifndef LIB_SERVING_H
#define LIB_SERVING_H

#include "lib/predict.h"
#include "serving/deployment.h"
#include "serving/slo.h"

struct roofcast_workload {
    struct serve_workload w;
    struct roofcast_workload_info info; /* texts point into the struct */
    char note[256];
};

/* A model served on a machine, for one call. */
struct lib_server {
    struct lib_pricing pricing; /* points into the struct: not to be copied */
    struct deployment_options options;
    struct deployment d;
    struct serve_options run;
};
/* What the caller adds to a server's options. */
struct lib_run {
    uint32_t max_concurrency;
    uint64_t seed;
};
/* NULL: *err; else lib_server_free(). w outlives it. */
struct lib_server *lib_server_new(const struct roofcast_model *m, const struct roofcast_machine *h, const struct roofcast_workload *w,
                                  const struct roofcast_server_options *asked, const struct lib_run *run, struct roofcast_error *err);
void lib_server_free(struct lib_server *x);

/* NULL and "": *has is false. */
int lib_slo(struct serve_slo *slo, bool *has, const char *text, struct roofcast_error *err);

#endif
