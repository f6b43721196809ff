/* browser.h: opens a file in the user's browser. */
#ifndef CLI_BROWSER_H
#define CLI_BROWSER_H

#include "base/base.h"

/*
 * Starts xdg-open, open, or another of the usual programs of PATH with the file's absolute path and does not wait for it. None of them: a note says so, and
 * that is no error.
 *
 * errors   ERROR_SYSTEM  the program cannot be started
 */
int browser_open(const char *path, struct error *err);

#endif
