/* gnuplot as a child process, without a shell: its errors are in the error message, pictures are checked for completeness. */
#include "base/program.h"
#include "config.h"
#include "report/draw.h"
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

/* 'text' as gnuplot reads it: a quote is written twice, nothing else is special. */
static void add_quoted(struct strbuf *b, const char *before, const char *text)
{
    strbuf_addf(b, "%s'", before);
    for (const char *p = text; *p; p++)
        strbuf_add(b, *p == '\'' ? "''" : p, *p == '\'' ? 2 : 1);
    strbuf_adds(b, "'");
}

/* The largest chart of reports/gallery takes half a second of one core. */
enum { GNUPLOT_LIMIT_S = 300 };

static int run(char *const *argv, struct error *err)
{
    char complaint[600];
    struct program p = { .argv = argv, .timeout_s = GNUPLOT_LIMIT_S, .text = complaint, .size = sizeof complaint };
    const enum program_end end = program_run(&p);
    for (char *c = complaint; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    switch (end) {
    case PROGRAM_INTERRUPTED:
        return interrupt_check(err);
    case PROGRAM_LATE:
        return error_set(err, ERROR_SYSTEM, "gnuplot did not end within %d s and was killed: %.500s", GNUPLOT_LIMIT_S, complaint);
    case PROGRAM_NOT_STARTED:
        if (p.status == ENOENT || p.status == EACCES)
            return error_set(err, ERROR_UNAVAILABLE,
                             "gnuplot was not found, so there is no picture yet: install it "
                             "(Debian: apt-get install gnuplot-nox) and run");
        return error_set(err, ERROR_SYSTEM, "gnuplot: cannot start: %s", strerror(p.status));
    case PROGRAM_ENDED:
        break;
    }
    if (WIFEXITED(p.status) && WEXITSTATUS(p.status) == 0)
        return 0;
    return error_set(err, ERROR_SYSTEM, "gnuplot failed (%s %d): %.500s", WIFSIGNALED(p.status) ? "signal" : "exit status",
                     WIFSIGNALED(p.status) ? WTERMSIG(p.status) : WEXITSTATUS(p.status), complaint);
}

/* gnuplot does not report a full disk: check the end of the file. */
static int check_end(const char *path, const char *end, size_t n_end, const char *name, struct error *err)
{
    char tail[64];
    FILE *f = fopen(path, "rb");
    long size = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    size_t n = 0;
    if (size > (long)sizeof tail && fseek(f, -(long)sizeof tail, SEEK_END) == 0)
        n = fread(tail, 1, sizeof tail, f);
    if (f)
        fclose(f);
    for (size_t i = 0; i + n_end <= n; i++)
        if (memcmp(tail + i, end, n_end) == 0)
            return 0;
    return error_set(err, ERROR_SYSTEM, "%s: gnuplot left %s (is the disk full?)", name,
                     size <= 0 ? "no picture" : "an incomplete picture");
}

int gnuplot_render(const char *dir, const char *script, const char *const *picture, struct error *err)
{
    struct strbuf text[CHART_FORMATS + 2] = { 0 }, *cd = &text[CHART_FORMATS], *path = &text[CHART_FORMATS + 1];
    char name[] = "gnuplot", defaults[] = "-d", e[] = "-e";
    char *argv[2 * CHART_FORMATS + 6] = { name, defaults, e };
    int n = 3, rc = -1;
    bool oom = false;
    /* "./" keeps a leading '~' from being expanded. */
    add_quoted(cd, *dir == '/' ? "cd " : "cd './'.", dir);
    argv[n++] = cd->s;
    for (int i = 0; i < CHART_FORMATS; i++) {
        char set[16];
        if (!picture[i])
            continue;
        snprintf(set, sizeof set, "%s = ", chart_format_name[i]);
        add_quoted(&text[i], set, picture[i]);
        argv[n++] = e;
        argv[n++] = text[i].s;
    }
    strbuf_adds(path, script);
    argv[n] = path->s;
    for (size_t i = 0; i < ARRAY_LEN(text); i++)
        oom |= text[i].oom;
    if (oom)
        rc = error_oom(err, 4096, "gnuplot's command line");
    else
        rc = run(argv, err);
    for (size_t i = 0; i < ARRAY_LEN(text); i++)
        strbuf_free(&text[i]);
    return rc;
}

const char *const chart_format_name[CHART_FORMATS] = { "svg", "png", "pdf", "txt" };

int gnuplot_check(const char *path, int format, const char *name, struct error *err)
{
    static const char *const end[CHART_FORMATS] = { "</svg>", "IEND", "%%EOF", "\n" };
    return check_end(path, end[format], strlen(end[format]), name, err);
}
