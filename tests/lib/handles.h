/* What the tests of the public boundary share: calls that must fail or succeed, and handles. */
#ifndef TESTS_LIB_HANDLES_H
#define TESTS_LIB_HANDLES_H

#include "tests/test.h"
#include <roofcast/roofcast.h>

static struct roofcast_error err;

/* A call that must fail with that kind and text. */
#define refuses(call, of_kind, text)                                                  \
    do {                                                                              \
        err = (struct roofcast_error){ 0 };                                           \
        if (call)                                                                     \
            fail_msg("%s: succeeded", #call);                                         \
        if (err.kind != (of_kind) || !strstr(err.message, text))                      \
            fail_msg("%s: %s: %s", #call, roofcast_error_name(err.kind), err.message); \
    } while (0)
#define must(call)                                              \
    do {                                                        \
        if (!(call))                                            \
            fail_msg("%s: %s", #call, err.message);             \
    } while (0)

static inline int use_tree(void **state)
{
    const char *dir = data_dirs()[0];
    (void)state;
    return roofcast_set_data_dirs(&dir, 1, &err);
}

static inline struct roofcast_model *model(const char *spec, const char *type)
{
    struct roofcast_model *m = roofcast_model_load(spec, type, &err);
    must(m);
    return m;
}

static inline struct roofcast_machine *machine(const char *spec)
{
    struct roofcast_machine *h = roofcast_machine_load(spec, &err);
    must(h);
    return h;
}

#endif
