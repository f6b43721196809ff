/* measured.h: options that complete files of measurements. */
#ifndef CLI_MEASURED_H
#define CLI_MEASURED_H

#include "cli/cli.h"
#include "dataset/workload.h"

enum { MEASURED_HW = 760, MEASURED_MODEL, MEASURED_TYPE, MEASURED_INPUT, MEASURED_OUTPUT, MEASURED_BATCH, MEASURED_TP };

/* Rows of an argp_option table; measured_parse() takes their keys. */
#define MEASURED_LENGTHS \
    { "input-len", MEASURED_INPUT, "N", 0, "prompt tokens of a request, where the file of a server's benchmark does not say them", 0 }, \
    { "output-len", MEASURED_OUTPUT, "N", 0, "tokens generated for a request, likewise", 0 }, \
    { "batch-size", MEASURED_BATCH, "N", 0, "requests at once, likewise", 0 }
#define MEASURED_OPTIONS \
    MEASURED_LENGTHS, \
    { "tp", MEASURED_TP, "N", 0, "devices that share every matrix, likewise (1)", 0 }, \
    { "type", MEASURED_TYPE, "TYPE", 0, "type of the weights, likewise (as the model's name ends, else 16 bits), and of a CSV's rows without a quant", 0 }, \
    { "model", MEASURED_MODEL, "NAME", 0, "the model of every row: of files that do not name it, or by a label alone (\"llama 8B\")", 0 }
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
