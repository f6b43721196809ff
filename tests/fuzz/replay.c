/*
 * replay.c: the main() that runs a fuzz target over a corpus and prints TAP, with any compiler.
 *
 * Arguments are files and directories; without any, the corpus named at compile time by CORPUS,
 * in the source tree that ROOFCAST_DATA names. Each input is given in a buffer of its exact size,
 * so that a sanitizer sees the first byte read beyond it. Each is also given cut to half: cheap,
 * and truncation is what happens to real files.
 */
#include "fuzz.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifndef CORPUS
#define CORPUS ""
#endif

static void run(const unsigned char *data, size_t n)
{
    unsigned char *exact = malloc(n ? n : 1);
    if (!exact)
        return;
    if (n)
        memcpy(exact, data, n);
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
}

/* One test: the file is readable, and the target comes back from it. */
static int replay_file(const char *path, int number)
{
    unsigned char *data = malloc(1 << 20);
    FILE *f = fopen(path, "rb");
    int ok = data && f;
    if (ok) {
        size_t n = fread(data, 1, 1 << 20, f);
        run(data, n);
        run(data, n / 2);
    }
    if (f)
        fclose(f);
    free(data);
    const char *name = strrchr(path, '/');
    printf("%s %d - %s\n", ok ? "ok" : "not ok", number, name ? name + 1 : path);
    fflush(stdout);
    return ok;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct list {
    char **path;
    size_t n;
};

static void add(struct list *l, const char *dir, const char *name)
{
    size_t len = strlen(dir) + strlen(name) + 2;
    char **path = realloc(l->path, (l->n + 1) * sizeof *path), *s = malloc(len);
    if (!path || !s)
        exit(99);
    l->path = path;
    snprintf(s, len, "%s%s%s", dir, *dir ? "/" : "", name);
    l->path[l->n++] = s;
}

/* A file, or the files of a directory. */
static void collect(struct list *l, const char *path)
{
    struct stat st;
    DIR *d = stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? opendir(path) : NULL;
    if (!d) {
        add(l, "", path);
        return;
    }
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.')
            add(l, path, e->d_name);
    closedir(d);
}

int main(int argc, char **argv)
{
    struct list l = { 0 };
    int failed = 0;
    for (int i = 1; i < argc; i++)
        collect(&l, argv[i]);
    if (argc < 2) {
        char dir[4200];
        const char *tree = getenv("ROOFCAST_DATA");
        snprintf(dir, sizeof dir, "%s/tests/fuzz/corpus/%s", tree ? tree : ".", CORPUS);
        collect(&l, dir);
    }
    printf("1..%zu\n", l.n + 1);
    qsort(l.path, l.n, sizeof *l.path, by_text);
    for (size_t i = 0; i < l.n; i++) {
        failed += !replay_file(l.path[i], (int)i + 1);
        free(l.path[i]);
    }
    run(NULL, 0);
    printf("%s %zu - %zu inputs, and no bytes at all\n", l.n ? "ok" : "not ok", l.n + 1, l.n);
    failed += l.n == 0;
    free(l.path);
    return failed != 0;
}
