/* measured.h: options that complete files of measurements. */
#ifndef CLI_MEASURED_H
#define CLI_MEASURED_H

#include "cli/cli.h"
#include "dataset/workload.h"

enum { MEASURED_HW = 760, MEASURED_MODEL, MEASURED_TYPE, MEASURED_INPUT, MEASURED_OUTPUT, MEASURED_BATCH, MEASURED_TP };

/* Rows of an argp_option table, handled by measured_parse(). */
#define MEASURED_LENGTHS \
    { "input-len", MEASURED_INPUT, "N", 0, "prompt tokens per request, for benchmark files that lack them", 0 }, \
    { "output-len", MEASURED_OUTPUT, "N", 0, "generated tokens per request, for benchmark files that lack them", 0 }, \
    { "batch-size", MEASURED_BATCH, "N", 0, "concurrent requests, for benchmark files that lack them", 0 }
#define MEASURED_OPTIONS \
    MEASURED_LENGTHS, \
    { "tp", MEASURED_TP, "N", 0, "tensor-parallel devices, for benchmark files that lack them (1)", 0 }, \
    { "type", MEASURED_TYPE, "TYPE", 0, "type of the weights, for benchmark files that lack it and CSV rows without a quant (default: the suffix of the model's name, else 16 bits)", 0 }, \
    { "model", MEASURED_MODEL, "NAME", 0, "the model of every row, for files that do not name it, or only by a label (\"llama 8B\")", 0 }
int measured_parse(int key, const char *arg, struct measured_options *o, struct error *err);

/* A file of measurements with its work. */
struct measured {
    struct measurements l;
    struct measure_hws hws;
    struct workload_builder *p;
    struct workload *rows; /* [l.n] */
};
/* hardware: a file of machines, or NULL. *m is closed after an error too. */
int measured_open(struct measured *m, const char *file, const char *hardware, const struct measured_options *o, struct error *err);
void measured_close(struct measured *m);

#endif
