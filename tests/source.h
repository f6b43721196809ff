/* Constants that are the same for every machine and model, as a source of predictions: context points to them. */
#ifndef TEST_ROOFLINE_SOURCE_H
#define TEST_ROOFLINE_SOURCE_H

#include "timing/timing.h"
#include <math.h>

/* About what engines reach; i moves each of them. */
static inline void source_slots(double *parameter, int i)
{
    static const double about[TIME_PARAMETER_COUNT] = {
        [TIME_BANDWIDTH] = 0.85, [TIME_COMPUTE] = 0.5,  [TIME_VECTOR] = 1,      [TIME_KV] = 1.2,          [TIME_ATTENTION] = 0.25,
        [TIME_SMALL] = 1.5,      [TIME_LAUNCH] = 4e-6,  [TIME_STEP] = 2e-4,     [TIME_EXPERT] = 1.3,      [TIME_OVERLAP] = 0.8,
        [TIME_LINK] = 0.7,       [TIME_HOP] = 1,        [TIME_REQUEST] = 1.1,   [TIME_HEADS] = 4,         [TIME_SCAN] = 16e-9,
        [TIME_LAUNCH_EXPERT] = 1.5, [TIME_LAUNCH_SMALL] = 0.5, [TIME_SEQUENCE] = 1e-5, [TIME_QUEUE] = 0.1, [TIME_KERNEL] = 2e-6,
        [TIME_CACHE_LATENCY] = 2e-7,      [TIME_MEMORY_LATENCY] = 2,       [TIME_ISSUE] = 1,       [TIME_CACHE] = 0.4,       [TIME_STAGE_BOUNDARY] = 1e-4,
    };
    for (int s = 0; s < TIME_PARAMETER_COUNT; s++)
        parameter[s] = log(about[s]) + 0.3 * sin(7 * i + 3 * s);
}

/* Spreads: 0.1 of the bandwidth, 0.05 of what is left; the faster side half as far. */
static inline struct time_constants source_constants(void)
{
    struct time_constants k = { .sigma = 0.05, .widen = 1, .widen_fast = 0.5 };
    source_slots(k.parameter, 0);
    k.parameter[TIME_REQUEST] = 0;
    k.cov[TIME_BANDWIDTH][TIME_BANDWIDTH] = 0.01;
    return k;
}

static inline unsigned source_one_case(const struct time_features *f)
{
    (void)f;
    return 0;
}

static inline int source_same(const void *context, const struct hwprofile *h, const struct model *m, uint64_t cases, struct timing *out,
                              struct error *err)
{
    (void)h, (void)m;
    if (timing_alloc(out, cases, err) != 0)
        return -1;
    out->stack = "test";
    out->basis = TIME_BY_CLASS;
    out->which = source_one_case;
    *out->of[0] = *(const struct time_constants *)context;
    return 0;
}

static inline uint32_t source_whole(const void *context, const struct hwprofile *h, const struct model *m)
{
    (void)context, (void)h, (void)m;
    return 0;
}

static inline const char *source_explain(const void *context, const struct hwprofile *h, const struct model *m, unsigned which,
                                         enum time_parameter s, char *buf, size_t size)
{
    (void)context, (void)h, (void)m, (void)which, (void)s;
    snprintf(buf, size, "of the test");
    return buf;
}

static inline struct predict_options source_options(const struct time_source *t)
{
    return (struct predict_options){ .time = t, .weights_bytes = NAN, .n_prompt = 1200, .n_gen = 1, .n_depth = 64, .n_batch = 1,
                                     .n_ubatch = 512, .type_k = DTYPE_F16, .type_v = DTYPE_F16 };
}

#endif
