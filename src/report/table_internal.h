/* table_internal.h: between the files of struct table. */
#ifndef REPORT_TABLE_INTERNAL_H
#define REPORT_TABLE_INTERNAL_H

#include "report/table.h"

size_t table_n_row(const struct table *t);
struct cell table_cell(const struct table *t, const struct column *c, size_t row);
/* The columns of csv, sql and tables, in order: their number, at most n_cols. */
size_t table_columns(const struct table *t, const struct column **out);
int table_print_jsonl(FILE *out, const struct table *t, struct error *err);

#endif
