/* Data files by name: which there are, where one is, how far a name is from what was typed. */
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
    while (rc == 0 && (e = readdir(d))) {
        const size_t len = strlen(e->d_name);
        if (len > 5 && len < NAME_SIZE && e->d_name[0] != '.' && strcmp(e->d_name + len - 5, ".json") == 0)
            rc = add(names, n, e->d_name, len - 5, err);
    }
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

/* Appends the folded word of len letters at s to out[n..size); the new end. A word among drop leaves nothing. */
static size_t fold_word(char *out, size_t n, size_t size, const char *s, size_t len, const char *const *drop)
{
    for (; drop && *drop; drop++)
        if (strlen(*drop) == len && strncasecmp(*drop, s, len) == 0)
            return n;
    for (size_t i = 0; i < len && n + 1 < size; i++)
        out[n++] = (char)tolower((unsigned char)s[i]);
    return n;
}

void name_fold(char *out, size_t size, const char *name, const char *const *drop)
{
    size_t n = 0;
    for (const char *s = name; *s;) {
        size_t len = 0;
        while (s[len] && in_word(s[len]))
            len++;
        n = fold_word(out, n, size, s, len, drop);
        s += len ? len : 1;
    }
    out[n] = 0;
    if (n == 0 && drop)
        name_fold(out, size, name, NULL);
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
