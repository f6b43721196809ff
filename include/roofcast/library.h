/*
 * roofcast/library.h: version, data files and messages: what a program sets once.
 *
 * The library reads no environment variable and no configuration file: the program passes what it wants. (hwloc, which the library
 * uses, reads its own HWLOC_* variables.) It installs no signal handler and starts no thread but those of an engine, a benchmark, or a
 * simulation whose options ask for some.
 *
 * Threads  the three setters are called before any other function of the library, from one thread. Data files are read once, by
 *          whichever thread comes first, under a lock.
 * Memory   a function without an error parameter that has no memory returns NaN or NULL. Where JSON is read, jansson may report a
 *          damaged file when memory runs out.
 */
#ifndef ROOFCAST_LIBRARY_H
#define ROOFCAST_LIBRARY_H

#include <roofcast/error.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0". A constant. */
ROOFCAST_API const char *roofcast_version(void);

/*
 * Directories with models/, hwprofiles/ and events/, searched in this order, in place of the one the library was installed with.
 *
 * dir      [n] paths; they are copied
 * n        1 to 8; 0: the installed directory again
 * errors   ROOFCAST_ERROR_USAGE   more than 8
 *          ROOFCAST_ERROR_SYSTEM  out of memory
 */
ROOFCAST_API int roofcast_set_data_dirs(const char *const *dir, size_t n, struct roofcast_error *err);

/* Directory i of those; NULL past the end. Lives until they are set again. */
ROOFCAST_API const char *roofcast_data_dir(size_t i);

/*
 * The file that machine "this" stands for: what `roofcast profile` measured. NULL, as at the start: none. The path is copied.
 *
 * errors   ROOFCAST_ERROR_SYSTEM  out of memory
 */
ROOFCAST_API int roofcast_set_profile_path(const char *path, struct roofcast_error *err);

/* A message about a result that is not an error: a default that was chosen, a field of a file that was left out. */
enum roofcast_message { ROOFCAST_NOTE, ROOFCAST_WARNING };

/*
 * Called for each message, on the thread whose call it belongs to.
 *
 * ctx      as given to roofcast_set_message_handler()
 * kind     enum roofcast_message
 * text     one line without a newline, valid during the call
 */
typedef void roofcast_message_fn(void *ctx, int kind, const char *text);

/* fn NULL, as at the start: messages are dropped. */
ROOFCAST_API void roofcast_set_message_handler(roofcast_message_fn *fn, void *ctx);

/* Frees names that a function of this library returned (roofcast_model_names, roofcast_machine_names). */
ROOFCAST_API void roofcast_names_free(char **names, size_t n);

#ifdef __cplusplus
}
#endif
#endif
