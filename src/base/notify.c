#include "base/notify.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static const struct notify_handlers *handlers; /* global: set once by main before threads start */

void notify_set(const struct notify_handlers *h)
{
    handlers = h;
}

void notify_progress(void *ctx, const char *what, double fraction)
{
    (void)ctx;
    if (handlers && handlers->progress)
        handlers->progress(what, fraction);
}

void notify_progress_done(void)
{
    if (handlers && handlers->progress_done)
        handlers->progress_done();
}

__attribute__((format(printf, 2, 0))) static void tell(void (*fn)(const char *), const char *fmt, va_list ap)
{
    char text[4096];
    if (fn && vsnprintf(text, sizeof text, fmt, ap) < 0)
        snprintf(text, sizeof text, "%s", fmt);
    if (fn)
        fn(text);
}

void notify_note(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tell(handlers ? handlers->note : NULL, fmt, ap);
    va_end(ap);
}

void notify_warn(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tell(handlers ? handlers->warn : NULL, fmt, ap);
    va_end(ap);
}

double notify_out_of_memory(void)
{
    if (handlers && handlers->out_of_memory)
        handlers->out_of_memory();
    return NAN;
}
