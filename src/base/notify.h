/* notify.h: progress, notes and warnings for the program's handlers; dropped when there are none. */
#ifndef BASE_NOTIFY_H
#define BASE_NOTIFY_H

struct notify_handlers {
    /* fraction in [0, 1]; outside: unknown */
    void (*progress)(const char *what, double fraction);
    void (*progress_done)(void);
    void (*note)(const char *text);
    void (*warn)(const char *text);
    /* Out of memory in a function that cannot report errors; may end the process. */
    void (*out_of_memory)(void);
};
/* Set once, before other threads run. *h stays the caller's and outlives all calls. */
void notify_set(const struct notify_handlers *h);
/* ctx is not used: the type of progress callbacks. */
void notify_progress(void *ctx, const char *what, double fraction);
void notify_progress_done(void);
/* One line, as printf; cut off after 4095 bytes. */
void notify_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void notify_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Calls out_of_memory; returns NaN, the result of the failed function. */
double notify_out_of_memory(void);

#endif
