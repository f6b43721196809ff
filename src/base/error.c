/* Errors: kind (exit status) and message. */
#include "base/base.h"
#include <errno.h>
#include <string.h>

int error_set(struct error *err, enum error_kind kind, const char *fmt, ...)
{
    if (!err)
        return -1;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    err->kind = kind;
    return -1;
}

int error_prefix(struct error *err, const char *fmt, ...)
{
    if (!err)
        return -1;
    char old[sizeof err->msg];
    memcpy(old, err->msg, sizeof old);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof err->msg - 2)
        snprintf(err->msg + n, sizeof err->msg - (size_t)n, ": %.*s", (int)(sizeof old - 3) - n, old);
    return -1;
}

int error_write(struct error *err, int e, const char *fmt, ...)
{
    char what[sizeof err->msg];
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return error_set(err, e == EPIPE ? ERROR_PIPE : ERROR_SYSTEM, "%.900s: %s", n < 0 ? fmt : what,
                     e ? strerror(e) : "a write before it failed");
}

int error_oom(struct error *err, size_t bytes, const char *what)
{
    return error_set(err, ERROR_SYSTEM, "out of memory: %zu bytes for %s", bytes, what);
}

int error_exit_status(const struct error *err)
{
    switch (err->kind) {
    case ERROR_NONE:
        return 0;
    case ERROR_USAGE:
        return 2;
    case ERROR_INPUT:
    case ERROR_SYSTEM:
    case ERROR_PIPE:
        return 1;
    case ERROR_UNAVAILABLE:
        return 3;
    case ERROR_REGRESSION:
        return 4;
    case ERROR_INTERRUPTED:
        return 130;
    }
    return 1;
}
