/* environment.h: paths the library uses. Only main.c reads environment variables. */
#ifndef BASE_ENVIRONMENT_H
#define BASE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

struct environment {
    const char *const *data_dirs; /* with models/, hwprofiles/, events/ and reports/; NULL-terminated; NULL: none; default: the installed ones */
    const char *root;             /* prefix of /proc and /sys; "": the live system */
    const char *profile_path;     /* this machine's profile, which may be missing; NULL: unknown */
    const char *user_dir;         /* the user's hwprofiles/, models/, runs/; may be missing; NULL: unknown */
    const char *temporary_path;   /* a folder for temporary files */
    const char *program_path;     /* PATH: folders of programs, colons between them; NULL: none */
    bool other_topology;          /* HWLOC_XMLFILE or HWLOC_SYNTHETIC is set: hwloc has another machine's topology */
};
/* Set before other threads run; what it points to stays the caller's. */
void environment_set(const struct environment *e);
void environment_set_dirs(const char *const *dirs); /* data_dirs alone */
void environment_set_topology(bool other);          /* other_topology alone */
const struct environment *environment(void);
const char *const *environment_installed(void); /* data_dirs until they are set */
/* Whether this program lies in a folder where it was built: build gets the top one, which has the file roofcast.srcdir. */
bool environment_build_tree(char *build, size_t n);
/* Path of a data file ("reports/charts/roofline.gp") in the first directory that has it; else false with the last path tried. */
bool environment_file(char *path, size_t n, const char *name);

#endif
