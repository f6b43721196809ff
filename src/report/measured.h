/* measured.h: measurements of others under a machine's roofs. */
#ifndef REPORT_MEASURED_H
#define REPORT_MEASURED_H

#include "dataset/workload.h"
#include "report/output.h"

/* A measurement under its machine's roofs. NaN, NULL: not known. methods.md (67) */
struct report_row {
    const char *model, *type, *hw, *engine, *test, *phase, *bound, *math, *reason;
    int n_devices;
    double tok_s, seconds, bytes, flop, ai, bytes_s, mbu, flop_s, mfu, roof_fraction, peak_flop_s, peak_bytes_s;
};
extern const struct table_fields report_fields; /* its columns */
/* Rows of struct report_row. Out of memory ends the process. */
void measured_add_row(struct table_rows *rows, const struct workload *p);
/* A chart has the roofs of one machine: -1 with *err: rows of several machines have a place in it. */
int measured_check_machine(const struct workload *rows, size_t n, const char *file, struct error *err);
/* To standard output; on a terminal each note once, under the table. */
int measured_print(const struct workload *priced, size_t n, const char *file, enum report_format format, struct error *err);
/* Writes base.svg, ...; formats: enum chart_format. */
int measured_draw(const struct workload *rows, size_t n, const char *base, unsigned formats, struct error *err);

#endif
