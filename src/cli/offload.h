/* offload.h: options of a model that a GPU shares with its host, named as llama.cpp's. */
#ifndef CLI_OFFLOAD_H
#define CLI_OFFLOAD_H

#include "learn/anchors.h"
#include "predict/offload.h"
#include "report/predict_report.h"

enum { OFFLOAD_HOST_OPTION = 900, OFFLOAD_NGL, OFFLOAD_NCMOE, OFFLOAD_CMOE, OFFLOAD_OT, OFFLOAD_NKVO, OFFLOAD_NOPO, OFFLOAD_NO_MMAP, OFFLOAD_HOST_BANDWIDTH };
/* Rows of an argp_option table, handled by offload_parse(). */
#define OFFLOAD_OPTIONS \
    { "host", OFFLOAD_HOST_OPTION, "NAME|FILE", 0, "CPU of the machine that the GPU is in, with its memory (default: a desktop CPU with two channels of " \
      "memory, an interval of a factor of 5); needs -ngl, --n-cpu-moe, -ot or --no-kv-offload", 0 }, \
    { "host-bandwidth", OFFLOAD_HOST_BANDWIDTH, "GB/S", 0, "bandwidth of its memory as it is populated, channels x MT/s x 8 bytes (default: its profile's)", 0 }, \
    { "ngl", OFFLOAD_NGL, "N|auto", 0, "layers on the GPU, counted from the output layer down, as llama.cpp's; the others run on --host (all); " \
      "auto: the most that fit", 0 }, \
    { "gpu-layers", 0, NULL, OPTION_ALIAS, NULL, 0 }, \
    { "n-gpu-layers", 0, NULL, OPTION_ALIAS, NULL, 0 }, \
    { "ncmoe", OFFLOAD_NCMOE, "N|auto", 0, "experts of the first N layers stay on --host (0); auto: the fewest with which the rest fits", 0 }, \
    { "n-cpu-moe", 0, NULL, OPTION_ALIAS, NULL, 0 }, \
    { "cmoe", OFFLOAD_CMOE, NULL, 0, "all experts stay on --host", 0 }, \
    { "cpu-moe", 0, NULL, OPTION_ALIAS, NULL, 0 }, \
    { "ot", OFFLOAD_OT, "REGEX=DEVICE,...", CLI_AGAIN, "tensors whose names match are on the device: CPU, or CUDA0 (ROCm0, Vulkan0, SYCL0, GPU) (repeatable; " \
      "the first match applies, before -ncmoe and -ngl)", 0 }, \
    { "override-tensor", 0, NULL, OPTION_ALIAS, NULL, 0 }, \
    { "nkvo", OFFLOAD_NKVO, NULL, 0, "the KV cache stays on --host, which computes attention", 0 }, \
    { "no-kv-offload", 0, NULL, OPTION_ALIAS, NULL, 0 }, \
    { "nopo", OFFLOAD_NOPO, NULL, 0, "--host multiplies its weights with prompts too; default: passes of 32 tokens and more copy them to the GPU", 0 }, \
    { "no-op-offload", 0, NULL, OPTION_ALIAS, NULL, 0 }, \
    { "no-mmap", OFFLOAD_NO_MMAP, NULL, 0, "weights of --host are in page-locked memory, not in the mapped file: prompts copy them faster", 0 }

int offload_parse(int key, const char *arg, struct offload_cli *o, struct error *err);

/* The host of a prediction. */
struct offload_host {
    struct hwprofile h;
    struct software *software; /* of llama.cpp's CPU back end; NULL: none */
    bool loaded;
    struct predict_offload o;  /* .o.host NULL: no offload */
    char assumed[256];         /* what is assumed without --host; "": the host is named */
    const char *needless;      /* an option without effect where nothing is on the host: "--no-mmap"; NULL: none */
};

/* errors: --host and others without an option that may leave a part on it; a machine that is no CPU */
int offload_host_init(struct offload_host *x, const struct offload_cli *o, bool constants, struct error *err);
/* The note of a host that is assumed, where it has a part of the model. */
void offload_note_assumed(const struct offload_host *x);
/* A note where the options leave nothing of the model on the host: --n-cpu-moe, -ot, or -ngl with options of a host; of numbers, not of auto.
 * errors: a pattern */
int offload_note_unused(const struct offload_host *x, const struct model *m, struct error *err);
void offload_host_free(struct offload_host *x);
/* --explain, --solve, --draft and others that a model on two devices does not have. */
int offload_check_options(const struct predict_cli *o, struct error *err);

#endif
