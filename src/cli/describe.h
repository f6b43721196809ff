/* cli internals: a command's options for readers other than argp: shells, which complete words, and the manual. */
#ifndef CLI_DESCRIBE_H
#define CLI_DESCRIBE_H

#include "cli/cli.h"

/* `roofcast __complete WORD...`, `roofcast __man COMMAND`: what completions/ and the Makefile ask. */
#define CLI_COMPLETE "__complete"
#define CLI_MAN "__man"

/* Prints what the last of the words after the command may be, a line each: the word, and behind a tab its help. Returns the exit status:
 * 0 where a file name fits too, else 1. common: the options of every command. */
int cli_complete(const struct cli_syntax *s, const struct argp_option *common, int n, char *const *word);
/* Prints the manual page (mdoc) of `command` ("roofcast predict"): NAME, then the rest, with a comment where the text of
 * doc/man/roofcast-NAME.mdoc goes. */
void cli_man_name(const char *name, const char *summary);
void cli_man(const struct cli_syntax *s, const struct argp_option *common, const char *command);

/* The one of best (NULL: none yet) and candidate that is nearer to the name that was asked for; not one that is far from it. */
const char *cli_nearer(const char *asked, const char *best, const char *candidate);

#endif
