/*
 * roofcast/error.h: errors, and what holds for all of libroofcast.
 *
 * Names        roofcast_<header>_<verb>. Handles are opaque: roofcast_model_load() makes one, roofcast_model_free() frees it; free
 *              takes NULL.
 * Errors       `struct roofcast_error *err` is the last parameter of every function that can fail; NULL: not wanted. Such a function
 *              returns 0 or -1, or a pointer or NULL. *err is written on failure only. The library never prints, exits or aborts.
 * Units        SI, in the field's name: _bytes, _flop (a count), _s (seconds), _bytes_s, _flop_s, _tok_s. 1 GB is 1e9 bytes.
 * Unknown      A value that is neither measured nor stated is NaN, a text is "".
 * Ownership    What a function returns as `const struct x *` or `const char *` belongs to the handle it was asked of, lives as long as
 *              that handle, and is not freed. Exceptions are stated.
 * Versions     Options are structs of the caller: roofcast_<x>_options_init(&o, sizeof o) sets every default, and a program built
 *              against an older header keeps working: fields that it does not know have their defaults. Results are structs of the
 *              library: later versions may append fields, so a program reads them by pointer and does not copy, allocate or index
 *              arrays of them.
 * Threads      Different handles may be used by different threads. One handle may be read by several threads at once where a header
 *              says so. roofcast/library.h is for the time before threads.
 * Formulas     Numbers in parentheses, as in (26), are those of doc/methods.md.
 */
#ifndef ROOFCAST_ERROR_H
#define ROOFCAST_ERROR_H

#if defined __GNUC__ && __GNUC__ >= 4
#define ROOFCAST_API __attribute__((visibility("default")))
#else
#define ROOFCAST_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum roofcast_error_kind {
    ROOFCAST_ERROR_NONE,
    ROOFCAST_ERROR_USAGE,       /* a parameter or option */
    ROOFCAST_ERROR_INPUT,       /* a file or a value in it */
    ROOFCAST_ERROR_SYSTEM,      /* the system refused: open, mmap, memory */
    ROOFCAST_ERROR_UNAVAILABLE, /* something optional is missing on this machine */
};

/* Owned by the caller; this layout does not change. */
struct roofcast_error {
    int kind;           /* enum roofcast_error_kind */
    char message[1024]; /* one line of UTF-8: file, field, what was found and what was expected. It may name an option of the program
                           where a field of a struct is meant */
};

/* "usage", "input", "system", "unavailable"; "none". A constant. */
ROOFCAST_API const char *roofcast_error_name(int kind);

#ifdef __cplusplus
}
#endif
#endif
