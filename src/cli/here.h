/* cli internals: what this machine is and what was measured on it. */
#ifndef CLI_HERE_H
#define CLI_HERE_H

#include "cli/cli.h"

/* `roofcast` without arguments: the machine, its profile, the runs that were kept, commands to try. Nothing is measured. */
int cli_here(int argc, char **argv, struct error *err);
/* A new path for a run of that model: runs/DATE-MODEL.json in the user's folder, which is made. NULL: *err; free(). */
char *cli_run_path(const char *model, struct error *err);

#endif
