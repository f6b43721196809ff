/* cli internals: `roofcast` without arguments, and paths of saved runs. */
#ifndef CLI_HERE_H
#define CLI_HERE_H

#include "cli/cli.h"

/* `roofcast` without arguments: the machine, its profile, saved runs, commands to try. Nothing is measured. */
int cli_here(int argc, char **argv, struct error *err);
/* A new path for a run of that model: runs/DATE-MODEL.json in the user's folder, which is created. NULL: *err; free(). */
char *cli_run_path(const char *model, struct error *err);

#endif
