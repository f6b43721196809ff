/*
 * metrics.h: what a simulation says: times of requests, rates, occupancy, each with the interval that chance alone gives it (sampling), and
 * whether the server keeps up at all. Over several simulations: replications narrow the sampling interval, draws of the step's constants
 * give the model's spread; the two are kept apart.
 */
#ifndef SERVING_METRICS_H
#define SERVING_METRICS_H

#include "serving/series.h"
#include "serving/simulate.h"
#include "serving/slo.h"
#include "serving/timeline.h"

/* ---- values ------------------------------------------------------------------------------------------ */

/* Of a metric. std is the population's, as numpy's default; percentiles are linear between order statistics. */
enum serve_stat { STAT_MEAN, STAT_STD, STAT_P50, STAT_P90, STAT_P95, STAT_P99, SERVE_STATS };

/* Values 0 ... VALUE_DURATION - 1 are times: serve_time(). */
enum serve_value {
    VALUE_DURATION = SERVE_METRICS * SERVE_STATS,
    VALUE_REQUEST_S, VALUE_IN_TOK_S, VALUE_OUT_TOK_S, VALUE_TOTAL_TOK_S,
    VALUE_STEADY, VALUE_STEADY_REQUEST_S, VALUE_STEADY_IN_TOK_S, VALUE_STEADY_OUT_TOK_S,
    VALUE_USER_TOK_S, VALUE_SLO_SHARE, VALUE_GOODPUT_REQUEST_S, VALUE_GOODPUT_TOK_S,
    VALUE_BATCH, VALUE_BATCH_MOST, VALUE_WAITING, VALUE_BUSY, VALUE_KV, VALUE_KV_MOST, VALUE_MBU, VALUE_MFU,
    VALUE_PREEMPTIONS, VALUE_HIT, VALUE_HIT_INFINITE, VALUE_EVICTED, VALUE_LOADED, VALUE_ACCEPTANCE, VALUE_ACCEPTED_LENGTH, VALUE_WASTED,
    VALUE_PEAK_OUT_TOK_S, VALUE_PEAK_REQUESTS,
    SERVE_VALUES,
};
static inline int serve_time(enum serve_metric m, enum serve_stat s)
{
    return (int)m * SERVE_STATS + (int)s;
}
/* What a value is: for tables. unit NULL: a number. */
struct serve_value_info {
    const char *key, *name, *unit, *help;
};
/* Of a time: the key is its metric's and statistic's, "ttft_p99", in buf. */
struct serve_value_info serve_value_info(int v, char buf[static 48]);

/* ---- whether it keeps up -------------------------------------------------------------------------------- */

enum serve_verdict {
    SERVE_STABLE,
    SERVE_SATURATED, /* the queue grows as long as requests are sent: percentiles measure the length of the run */
    SERVE_BURST,     /* requests are sent all at once: percentiles measure their number */
    SERVE_SHORT,     /* requests are sent for less than three times as long as one takes: not in a steady state */
};

/*
 * Over the time in which requests are sent (window). Rules, in this order:
 *
 *     burst       window < mean time of a request in the server / 10
 *     saturated   mean queue grows from third to third of the window; from first to last by at least 4 requests and by SATURATED_GROWTH
 *                 of the requests sent between; the device is busy for 95 % of the time
 *     saturated   tokens served < 90 % of those offered while the queue grows, window >= 5 x time of a request
 *     short       window < 3 x mean time of a request from its admission to its end
 *
 * Queue: requests sent and not yet admitted. A queue of a stable server has a mean; that of a saturated one grows linearly at the excess of
 * the arrival rate. source   Asmussen, Applied Probability and Queues, ch. III; labels as BLIS (inference-sim)
 */
#define SATURATED_GROWTH 0.03
struct serve_stability {
    enum serve_verdict verdict;
    double window_s, lifetime_s;      /* lifetime: mean from admission to end */
    double queue[3];                  /* mean over thirds of the window */
    double offered_tok_s, served_tok_s; /* prompt and output tokens: of requests sent in the window; computed in it */
    double backlog_request_s;         /* growth of the queue */
    double busy;                      /* fraction of the time from the first request to the last end, of all replicas */
};

/* ---- a run ------------------------------------------------------------------------------------------------ */

/* Goodput of one limit of an SLO by itself. vLLM counts a request of one token with TPOT 0. */
struct serve_good {
    double value_s;           /* marginal SLO: the percentile or mean that is compared; joint: NaN */
    double share;             /* of requests within the limit; ITL: of gaps */
    double request_s, tok_s;  /* of those requests, over the duration; ITL: requests NaN, tokens by share */
    bool met;                 /* joint: by serve_slo.share of the requests */
};

struct serve_metrics {
    struct sampled v[SERVE_VALUES];
    struct serve_stability stability;
    size_t n, n_failed;       /* requests in the figures; without a first token, or refused */
    size_t n_warmup;          /* left out at the start */
    bool warmup_unsteady;     /* MSER-5 found no steady part */
    uint64_t n_in_tok, n_out_tok; /* of the n */
    bool has_slo, met;        /* met: joint: share reached; else all limits hold */
    struct serve_slo slo;
    struct serve_good good[SLO_MOST];
    enum serve_wait bound;    /* what requests waited for */
    double mixed_share;       /* of busy time in steps with prompts' tokens; NaN: no time series */
};

struct serve_metrics_options {
    const struct serve_slo *slo;         /* NULL: none */
    const struct timeline *timeline;     /* of the same run; NULL: ITL percentiles and occupancy have no interval */
    const struct serve_options *options; /* of the run */
    bool drop_warmup;                    /* by MSER-5 on TTFT; ITL and occupancy stay those of the whole run */
    double hit_infinite;                 /* serve_hit_bound(); NaN: not asked */
    bool brief;                          /* for searches: verdict, SLO, goodput and throughput alone, all other values NaN */
};

/* errors   ERROR_INPUT: no request was served; out of memory */
int serve_metrics(struct serve_metrics *m, const struct serve_result *r, const struct serve_workload *w, const struct serve_metrics_options *o,
                  struct error *err);

/* Prefix hit rate of a cache that never evicts: serve_workload_describe().hit_share. NaN with an error: out of memory. */
double serve_hit_bound(const struct serve_workload *w, uint32_t block_size, struct error *err);

/* A point of a distribution: a share of the values is at most s. */
struct cdf_point {
    double s, share;
};
enum { CDF_POINTS = 201 };
/* At equal steps of the share, the last hundredth in steps of a twentieth of that: the number of points; 0: no request has the metric;
 * -1: out of memory. */
int serve_cdf(struct cdf_point out[static CDF_POINTS], const struct serve_result *r, const struct serve_workload *w, enum serve_metric m, struct error *err);

/* ---- several runs ------------------------------------------------------------------------------------------ */

/* Model: what is not known of the machine. More requests do not narrow it. */
struct model_spread {
    double lo, mid, hi; /* 5 %, 50 %, 95 % of the draws; NaN: reason */
    const char *reason;
};
struct serve_study {
    struct serve_metrics m;            /* of the central constants, with sampling intervals */
    size_t n_run, n_draw;              /* replications in it; draws. Without draws there is no spread */
    size_t n_draw_without;             /* further draws, whose prices cannot be simulated */
    struct model_spread model[SERVE_VALUES];
    double p_slo;                      /* share of the draws in which the SLO holds; saturated draws do not. NaN: no SLO */
    double p_saturated;                /* share of the draws; of the runs where there are no draws */
};
/*
 * Means over n >= 1 replications (same options, other seeds): value +- t_95(n - 1) sd / sqrt(n). n = 1: as it is. A verdict, met: by majority.
 * source   Law, 9.4.1
 */
void serve_study_runs(struct serve_study *s, const struct serve_metrics *m, size_t n);
/* Adds draws of the step's constants, simulated on common random numbers. Fewer than 10: no spread, a reason; at most 1,024 are
 * looked at. */
void serve_study_draws(struct serve_study *s, const struct serve_metrics *m, size_t n);

#endif
