/* table_internal.h: between the files of struct table. */
#ifndef REPORT_TABLE_INTERNAL_H
#define REPORT_TABLE_INTERNAL_H

#include "report/table.h"

int table_print_jsonl(FILE *out, const struct table *t, struct error *err);

#endif
