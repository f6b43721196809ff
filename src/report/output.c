/* Results to files and to standard output, within the width of a terminal. */
#include "report/output.h"
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool wide_tables; /* --wide */

void report_set_wide(void)
{
    wide_tables = true;
}

size_t report_width(FILE *f)
{
    struct winsize size;
    const int fd = fileno(f);
    return !wide_tables && fd >= 0 && isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

__attribute__((format(printf, 3, 0))) static void print(size_t width, size_t indent, const char *fmt, va_list ap)
{
    struct strbuf out = { 0 };
    char *text;
    const int n = vasprintf(&text, fmt, ap);
    if (n < 0)
        interrupt_end_without_memory();
    text_show(text, (size_t)n);
    report_wrap(&out, text, width, indent);
    free(text);
    if (out.oom)
        interrupt_end_without_memory();
    fwrite(out.s, 1, out.len, stdout); /* main() checks for errors */
    strbuf_free(&out);
}

void report_text(size_t indent, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    print(report_width(stdout), indent, fmt, ap);
    va_end(ap);
}

void report_text_within(size_t most, size_t indent, const char *fmt, ...)
{
    const size_t width = report_width(stdout);
    va_list ap;
    va_start(ap, fmt);
    print(width ? width : most, indent, fmt, ap);
    va_end(ap);
}

int report_write(const char *path, enum report_format fmt, const struct table *d,
               struct error *err)
{
    struct outfile o;
    if (outfile_open(&o, path ? path : "-", err) != 0)
        return -1;
    if (report_print(o.f, fmt, d, report_width(o.f), err) != 0) {
        outfile_abort(&o);
        return error_prefix(err, "%s", path && strcmp(path, "-") != 0 ? path : "standard output");
    }
    return outfile_commit(&o, err);
}
