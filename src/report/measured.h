/* measured.h: measurements of others under a machine's roofs. */
#ifndef REPORT_MEASURED_H
#define REPORT_MEASURED_H

#include "dataset/workload.h"
#include "report/output.h"

extern const struct table_fields report_fields;
/* A chart has the roofs of one machine: -1 with *err: rows of several machines have a place in it. */
int measured_check_machine(const struct workload *rows, size_t n, const char *file, struct error *err);
/* To standard output; on a terminal each note once, under the table. */
int measured_print(const struct workload *priced, size_t n, const char *file, enum report_format format, struct error *err);
/* Writes base.svg, ...; formats: enum chart_format. */
int measured_draw(const struct workload *rows, size_t n, const char *base, unsigned formats, struct error *err);

#endif
