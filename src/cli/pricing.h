/* cli internals: options that analyze, predict, sweep and memory share. */
#ifndef CLI_PRICING_H
#define CLI_PRICING_H

#include "learn/anchors.h"
#include "predict/options.h"
#include "cli/measured.h"
#include "predict/limits.h"
#include "timing/timing.h"

enum { PRICING_KV = 600, PRICING_CTK, PRICING_CTV, PRICING_TP, PRICING_PP, PRICING_DP, PRICING_EP, PRICING_ROUTING, PRICING_ATTENTION };

/* Rows of an argp_option table, handled by pricing_parse(). */
#define PRICING_OPTIONS \
    { "type", 'q', "TYPE", 0,                                                              \
      "tensor type, mixture (Q4_K_M) or checkpoint format (FP8, AWQ, NVFP4: `roofcast list types`) of a model that is not a GGUF (F16)", 0 }, \
    { "kv-type", PRICING_KV, "TYPE", 0, "type of the KV cache, keys and values (F16): also FP8, NVFP4, INT8, FP8_DS_MLA", 0 }, \
    { "ctk", PRICING_CTK, "TYPE", 0, "type of the keys in the KV cache (F16)", 0 }, \
    { "cache-type-k", 0, NULL, OPTION_ALIAS, NULL, 0 }, \
    { "ctv", PRICING_CTV, "TYPE", 0, "type of the values in the KV cache (F16)", 0 }, \
    { "cache-type-v", 0, NULL, OPTION_ALIAS, NULL, 0 }, \
    { "tp", PRICING_TP, "N", 0, "tensor parallelism: devices that share every matrix (1)", 0 }, \
    { "pp", PRICING_PP, "N", 0, "pipeline parallelism: groups of devices that share the layers (1)", 0 }, \
    { "dp", PRICING_DP, "N", 0, "data parallelism: groups of tp x pp devices that share the sequences (1)", 0 }, \
    { "ep", PRICING_EP, "N", 0, "expert parallelism: devices, of tp x dp, that share the experts (1)", 0 }, \
    { "attention", PRICING_ATTENTION, "flash|materialized", 0, \
      "flash (default): attention scores stay on the chip; materialized: they are written to memory", 0 }, \
    { "routing", PRICING_ROUTING, "KIND|RUN.json", 0, \
      "distribution of tokens over experts: uniform (default), zipf:S (popularity ~ rank^-S), or the one recorded by " \
      "`roofcast bench --save RUN.json`", 0 }
/* --attention */
int pricing_attention(bool *materialized, const char *arg, struct error *err);
int pricing_parse(int key, const char *arg, struct pricing_options *o, struct error *err);

/* ---- software -------------------------------------------------------------------------------------- */

enum { SOFTWARE_STACK = 620, SOFTWARE_ANCHOR, SOFTWARE_SLO };
#define SOFTWARE_OPTIONS \
    { "stack", SOFTWARE_STACK, "NAME", 0, \
      "software to predict (`roofcast list stacks`; default: by class of machine, see below); none: the profile's efficiency factors, " \
      "without intervals", 0 }, \
    { "anchor", SOFTWARE_ANCHOR, "FILE", 0, \
      "measurements on the machine as calibration points, which narrow the interval: a saved run, output of llama-bench, vLLM or AIPerf, " \
      "or a CSV of rates or server latencies", 0 }, \
    MEASURED_LENGTHS, \
    { "slo", SOFTWARE_SLO, "LIMIT,...", 0, \
      "limits such as tok_s>=30 (decode), itl<=50ms, ttft<=1s: print whether they are met, with the probability where the interval contains the limit", 0 }
int software_parse(int key, const char *arg, struct software_options *o, struct error *err);

/* -q: a type, a mixture, a checkpoint format, or an alias of one (GPTQ-Int4: GPTQ), which is written to buf and noted. model_load() refuses
 * unknown names; unsupported bit widths are refused here. option: for messages. */
int pricing_type(const char **type, char *buf, size_t size, const char *arg, const char *option, struct error *err);
/* Default type of the KV cache: that of the checkpoint's quantization_config, with a note. */
void pricing_take_kv(const struct model *m, bool said, enum dtype *k, enum dtype *v);
/* model_load() of the model on the command line; spec NULL: an error. */
int pricing_model(struct model *m, const char *spec, const char *type, struct error *err);
/* --draft mtp: a note where m's layer is estimated, not known. */
void pricing_note_nextn(const struct model *m);
/* --kv-type: keys and values alike. */
int pricing_kv_type(enum dtype *k, enum dtype *v, const char *arg, struct error *err);

#endif
