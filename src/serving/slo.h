/*
 * slo.h: a service level objective, in one of two readings that differ by several points near the knee:
 *
 *     ttft=1s,tpot=50ms,e2e=20s         joint: the share of requests that meet all (vLLM's goodput), 99 % of them
 *     95%:ttft=1s,tpot=50ms             the same with a share
 *     p99:ttft=1s,itl=50ms              marginal: that percentile of each metric by itself
 *     mean:ttft=1s                      likewise the mean
 */
#ifndef SERVING_SLO_H
#define SERVING_SLO_H

#include "base/base.h"

/* Times of a request, in seconds. Definitions of vllm bench serve (vllm/benchmarks/serve.py). */
enum serve_metric {
    SERVE_TTFT,         /* first token - sent */
    SERVE_ITL,          /* between tokens, all requests' gaps pooled, one a step */
    SERVE_TPOT,         /* (last token - first) / (output tokens - 1), requests of one token left out */
    SERVE_E2E,          /* last token - sent */
    SERVE_QUEUE,        /* first admitted - sent */
    SERVE_CLIENT_QUEUE, /* sent - due: held back by the client's limit */
    SERVE_E2E_CLIENT,   /* last token - due */
    SERVE_METRICS,
};
enum slo_reading { SLO_JOINT, SLO_PERCENTILE, SLO_MEAN };
enum { SLO_MOST = 4 };

struct serve_slo {
    enum slo_reading reading;
    double share; /* joint: of the requests, 0.99; percentile: 0.99 */
    struct slo_limit {
        enum serve_metric metric; /* TTFT, ITL, TPOT, E2E; ITL not jointly: it is not a request's */
        double limit_s;
    } limit[SLO_MOST];
    size_t n;
    char text[96]; /* as given */
};

/* errors   ERROR_USAGE: names the part, found and expected */
int serve_slo_parse(struct serve_slo *s, const char *text, struct error *err);
/* "ttft", "itl", ...: keys of output; "TTFT": for people. */
const char *serve_metric_key(enum serve_metric m);
const char *serve_metric_name(enum serve_metric m);

#endif
