/* cli internals: a command's options for shell completion and manual pages. */
#ifndef CLI_DESCRIBE_H
#define CLI_DESCRIBE_H

#include "cli/cli.h"

/* `roofcast __complete WORD...`, `roofcast __man COMMAND`: called by completions/ and the Makefile. */
#define CLI_COMPLETE "__complete"
#define CLI_MAN "__man"

/* Prints the candidates for the last word, a line each: the word, a tab, its help. Returns the exit status: 0: a file name is
 * also valid, else 1. common: the options of every command. */
int cli_complete(const struct cli_syntax *s, const struct argp_option *common, int n, char *const *word);
/* Prints the manual page (mdoc) of `command` ("roofcast predict"): NAME, then the rest, with a comment where the text of
 * doc/man/roofcast-NAME.mdoc goes. */
void cli_man_name(const char *name, const char *summary);
void cli_man(const struct cli_syntax *s, const struct argp_option *common, const char *command);

/* The nearer of best (NULL: none yet) and candidate to the requested name; a distant candidate is ignored. */
const char *cli_nearer(const char *asked, const char *best, const char *candidate);

#endif
