/* Data files by name: listing, lookup, distance between names. */
#include "base/base.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void name_list_free(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

static int add(char ***names, size_t *n, const char *s, size_t len, struct error *err)
{
    char **v = realloc(*names, (*n + 1) * sizeof *v);
    if (!v)
        return error_oom(err, (*n + 1) * sizeof *v, "a list of names");
    *names = v;
    v[*n] = strndup(s, len);
    if (!v[*n])
        return error_oom(err, len + 1, "a name");
    ++*n;
    return 0;
}

static int scan(char ***names, size_t *n, const char *dir, const char *sub, struct error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, sub);
    DIR *d = opendir(path);
    if (!d)
        return errno == ENOENT || errno == ENOTDIR
                   ? 0
                   : error_set(err, ERROR_SYSTEM, "%s: %s", path, strerror(errno));
    int rc = 0;
    struct dirent *e;
    errno = 0; /* readdir(3): distinguishes error from end */
    while (rc == 0 && (e = readdir(d))) {
        const size_t len = strlen(e->d_name);
        if (len > 5 && len < NAME_SIZE && e->d_name[0] != '.' && strcmp(e->d_name + len - 5, ".json") == 0)
            rc = add(names, n, e->d_name, len - 5, err);
        errno = 0;
    }
    if (rc == 0 && errno)
        rc = error_set(err, ERROR_SYSTEM, "%s: %s", path, strerror(errno));
    closedir(d);
    return rc;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int name_list(char ***names, size_t *n, const char *const *dirs, const char *sub, struct error *err)
{
    *names = NULL;
    *n = 0;
    for (; dirs && *dirs; dirs++)
        if (scan(names, n, *dirs, sub, err) != 0) {
            name_list_free(*names, *n);
            *names = NULL;
            *n = 0;
            return -1;
        }
    if (*n == 0)
        return 0;
    char **v = *names;
    qsort(v, *n, sizeof *v, by_text);
    size_t kept = 1;
    for (size_t i = 1; i < *n; i++)
        if (strcmp(v[i], v[kept - 1]) == 0)
            free(v[i]); /* the same name in two directories */
        else
            v[kept++] = v[i];
    *n = kept;
    return 0;
}

bool name_file(char *path, size_t size, const char *const *dirs, const char *sub, const char *name)
{
    for (; dirs && *dirs; dirs++) {
        snprintf(path, size, "%s/%s/%s.json", *dirs, sub, name);
        if (file_exists(path))
            return true;
    }
    return false;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '+';
}

/* Appends the folded word of len letters at s to out[n..size), unless it is in drop. Returns the new end. */
static size_t fold_word(char *out, size_t n, size_t size, const char *s, size_t len, const char *const *drop)
{
    for (; drop && *drop; drop++)
        if (strlen(*drop) == len && strncasecmp(*drop, s, len) == 0)
            return n;
    for (size_t i = 0; i < len && n + 1 < size; i++)
        out[n++] = (char)tolower((unsigned char)s[i]);
    return n;
}

/* A decimal point ("3.1"). */
static bool is_point(const char *name, const char *s)
{
    return s > name && *s == '.' && isdigit((unsigned char)s[-1]) && isdigit((unsigned char)s[1]);
}

static void join_words(char *out, size_t size, const char *name, const char *const *drop, bool spaced)
{
    size_t n = 0;
    for (const char *s = name; *s;) {
        size_t len = 0;
        while (s[len] && in_word(s[len]))
            len++;
        size_t start = n;
        if (spaced && len && n > 0 && n + 1 < size)
            out[start++] = is_point(name, s - 1) ? '.' : ' ';
        const size_t end = fold_word(out, start, size, s, len, drop);
        n = end > start ? end : n;
        s += len ? len : 1;
    }
    out[n] = 0;
    if (n == 0 && drop)
        join_words(out, size, name, NULL, spaced);
}

void name_fold(char *out, size_t size, const char *name, const char *const *drop)
{
    join_words(out, size, name, drop, false);
}

void name_words(char *out, size_t size, const char *name, const char *const *drop)
{
    join_words(out, size, name, drop, true);
}

unsigned edit_distance(const char *a, const char *b)
{
    unsigned row[NAME_SIZE + 1];
    const size_t m = strnlen(a, NAME_SIZE), n = strnlen(b, NAME_SIZE);
    for (size_t j = 0; j <= n; j++)
        row[j] = (unsigned)j;
    for (size_t i = 0; i < m; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i + 1;
        for (size_t j = 0; j < n; j++) {
            unsigned best = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            if (row[j + 1] + 1 < best)
                best = row[j + 1] + 1;
            if (row[j] + 1 < best)
                best = row[j] + 1;
            row[j + 1] = best;
        }
    }
    return row[n];
}

/* ---- suggestions ---- */

/* Character classes: letters, digits, others. */
static int kind_of(char c)
{
    return isdigit((unsigned char)c) ? 1 : isalpha((unsigned char)c) ? 2 : 0;
}

/* Length of the common prefix, blanks aside, when one name is a prefix of the other; else 0. *whole: it ends at a word or number
 * boundary ("rtx 5090" of "rtx 5090 laptop", not "llama 3" of "llama 3.1"). */
static unsigned beginning(const char *a, const char *b, bool *whole)
{
    unsigned n = 0;
    char last = 0;
    for (;;) {
        const bool gap = *a == ' ' || *b == ' ';
        a += *a == ' ';
        b += *b == ' ';
        if (!*a || !*b) {
            const char next = *a ? *a : *b;
            *whole = !next || gap || (kind_of(last) != kind_of(next) && next != '.');
            return n;
        }
        if (*a != *b)
            return 0;
        last = *a++;
        b++;
        n++;
    }
}

/* Ranks from near to far; ties by the distance added. */
enum { RANK = 1 << 16, BEGINS = RANK, INSIDE = 2 * RANK, FAR = 3 * RANK, TOO_SHORT = 3 };

unsigned name_distance(const char *asked, const char *candidate)
{
    char wa[NAME_SIZE], wc[NAME_SIZE], a[NAME_SIZE], c[NAME_SIZE];
    bool whole = false;
    name_words(wa, sizeof wa, asked, NULL);
    name_words(wc, sizeof wc, candidate, NULL);
    name_fold(a, sizeof a, asked, NULL);
    name_fold(c, sizeof c, candidate, NULL);
    const unsigned edits = edit_distance(a, c), common = beginning(wa, wc, &whole);
    const bool known = strlen(a) >= TOO_SHORT;
    if (strcmp(a, c) == 0)
        return 0;
    if (whole && common > 1 && (known || common == strlen(c)))
        return 1 + (NAME_SIZE - common) * NAME_SIZE + edits;
    if (known && strncmp(c, a, strlen(a)) == 0)
        return BEGINS + edits;
    if (known && strstr(c, a))
        return INSIDE + edits;
    return FAR + edits;
}

bool name_too_distant(const char *asked, unsigned distance)
{
    char a[NAME_SIZE];
    name_fold(a, sizeof a, asked, NULL);
    return distance > FAR && 2 * (distance - FAR) > strlen(a);
}
