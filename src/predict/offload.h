/*
 * offload.h: predictions of a model that a GPU shares with its host: each op on its device by that device's roofs and constants, the bus between them
 * by the GPU's PCIe link, one after another. methods.md (111)
 */
#ifndef PREDICT_OFFLOAD_H
#define PREDICT_OFFLOAD_H

#include "cost/offload.h"
#include "predict/predict.h"

/* predict_options.offload */
struct predict_offload {
    struct offload_rule rule;
    const struct hwprofile *host;        /* a CPU */
    const struct time_source *host_time; /* of llama.cpp's CPU back end; NULL: the profile's efficiency factors */
};

/* The bus between GPU and host. */
struct offload_bus {
    double bytes_s, copied_bytes_s; /* activations, from page-locked memory; weights */
    double peak_bytes_s, latency_s; /* of the link; of a change of the device */
    double ln_sd;
    bool of_profile, pinned; /* the rate is the profile's, not assumed; weights are copied from page-locked memory */
    char source[160];        /* of peak_bytes_s */
};
/* Of the GPU's PCIe link; without one PCIe 4.0 x16, and source says so. bound: at the link's rate, without latency. */
struct offload_bus offload_bus_of(const struct hwprofile *gpu, bool pinned, bool bound);
/* Seconds of it. */
double offload_bus_s(const struct offload_bus *b, const struct offload_traffic *t);

/* What one device has and does. */
struct predict_device {
    const char *device;  /* "GPU" "CPU" "PCIe" */
    char name[64];       /* profile; link: "" */
    double weight_bytes, kv_bytes, act_bytes, need_bytes, usable_bytes; /* NaN: unknown, and of the bus */
    int fits;            /* -1: unknown */
    struct offload_bus bus; /* of the bus; zeros: of devices */
    double copied_tokens; /* bus: passes of so many tokens copy the host's weights to the GPU; NaN: none does, and of devices */
    struct {
        double seconds, bytes; /* weights and keys read; bus: bytes that cross */
        double mbu;            /* of the memory's bandwidth while it works; NaN: unknown, or no work */
        enum bound bound;
    } phase[PHASE_COUNT];
};
enum { DEVICE_GPU, DEVICE_HOST, DEVICE_BUS, DEVICE_COUNT };

/* predict_classes() with o->offload. l: the whole model's. errors: as predict_classes(); a layout of several devices, a machine that shares its
 * memory with its CPU, software without offload */
int predict_offloaded(struct predict_result *r, const struct op_classes *l, const struct hwprofile *h, const struct predict_options *o, struct error *err);
/*
 * Replaces OFFLOAD_AUTO: the most layers on the GPU, or the fewest with experts on the host, that fit its memory for the scenario of *o. Both auto:
 * all layers, then experts; where even all experts on the host do not fit, fewer layers.
 * 1: nothing fits, and *err says so. errors: the profile has no memory size
 */
int offload_fit(struct offload_rule *rule, const struct op_classes *l, const struct hwprofile *h, const struct predict_options *o, struct error *err);
/* ERROR_USAGE: options that predictions with offload do not have; ERROR_INPUT: machines. */
int offload_check(const struct predict_options *o, const struct hwprofile *h, struct error *err);

#endif
