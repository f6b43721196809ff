/* What every cmocka program includes: the headers in the order cmocka wants. */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/base.h"

/* A call that must succeed: prints the error otherwise. */
#define assert_ok(call, err)                                                                       \
    do {                                                                                           \
        if ((call) != 0)                                                                           \
            fail_msg("%s: %s", #call, (err).msg);                                                  \
    } while (0)
/* A call that must fail with `text` in its message. */
#define assert_fails(call, err, text)                                                              \
    do {                                                                                           \
        (err).msg[0] = 0;                                                                          \
        if ((call) == 0)                                                                           \
            fail_msg("%s: succeeded", #call);                                                      \
        if (!strstr((err).msg, text))                                                              \
            fail_msg("%s: message \"%s\" lacks \"%s\"", #call, (err).msg, text);                   \
    } while (0)
/* The source tree, which holds models/ and hwprofiles/, as environment_set_dirs wants it. */
static inline const char *const *data_dirs(void)
{
    static const char *dirs[2];
    const char *d = getenv("ROOFCAST_DATA");
    dirs[0] = d ? d : ".";
    return dirs;
}
/* Directory of shared test data, or NULL (then say so and skip). */
static inline const char *shared_dir(void)
{
    const char *d = getenv("ROOFCAST_SHARED");
    if (!d)
        d = "../shared";
    char probe[4200];
    snprintf(probe, sizeof probe, "%s/data/README.md", d);
    FILE *f = fopen(probe, "r");
    if (!f)
        return NULL;
    fclose(f);
    return d;
}
#endif
