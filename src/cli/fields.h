/* fields.h: columns of the commands' tables, from which doc/formats.md is generated. */
#ifndef CLI_FIELDS_H
#define CLI_FIELDS_H

#include "report/table.h"

extern const struct table_fields doctor_fields;
/* All tables of columns, as doc/formats.md has them, to standard output. */
void list_fields(void);

#endif
