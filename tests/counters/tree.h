/* A folder that stands for /, with the files of sysfs and proc that a test wants in it. */
#ifndef TESTS_COUNTERS_TREE_H
#define TESTS_COUNTERS_TREE_H
#include "../test.h"
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

static inline const char *tree_new(char root[64])
{
    snprintf(root, 64, "/tmp/roofcast-tree-XXXXXX");
    assert_non_null(mkdtemp(root));
    assert_int_equal(chmod(root, 0755), 0);
    return root;
}

static inline const char *tree_path(char path[512], const char *root, const char *name)
{
    snprintf(path, 512, "%s/%s", root, name);
    return path;
}

static inline void tree_put(const char *root, const char *name, const char *text)
{
    char path[512], dir[512];
    struct error err = { 0 };
    tree_path(path, root, name);
    snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(path, '/') - path), path);
    assert_ok(dir_make(dir, &err), err);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static inline int tree_remove_one(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s, (void)kind, (void)at;
    return remove(path);
}

static inline void tree_free(const char *root)
{
    nftw(root, tree_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
#endif
