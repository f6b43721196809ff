/*
 * serving_report.h: a simulation for people and for programs: a summary in words, tables of its figures, rows of its requests, the result
 * file of vllm bench serve, a trace of its steps, charts.
 */
#ifndef REPORT_SERVING_REPORT_H
#define REPORT_SERVING_REPORT_H

#include "report/report.h"
#include "serving/metrics.h"
#include "serving/step_classes.h"

/* What was simulated, or measured. Texts may be NULL: not known. */
struct serving_subject {
    const char *model, *hw;
    const char *constants;                   /* constants_digest() */
    double rate;                             /* requests/s offered; INFINITY: all at once; NaN: by the workload */
    double burstiness;                       /* of vLLM's arrivals; 1: Poisson */
    const char *date;                        /* of vLLM's result file: "20261129-120000" */
    const struct serve_workload *w;
    const struct serve_options *options;
    const struct serve_result *r;            /* of the central run */
    const struct serve_study *study;
    const struct step_classes *steps;        /* of the same run; NULL: not known */
    bool measured;                           /* on the engine and the wall clock */
    const struct timeline *timeline;         /* of the central run */
};

/* ---- words and tables -------------------------------------------------------------------------------- */

/* Whether it keeps up; what requests wait for, or what a step is bound by; whether the SLO holds; what to change first. A sentence each. */
void serving_add_summary(struct strbuf *out, const struct serving_subject *s);
/* A row a value, as in serve_value; schema "roofcast.simulate". */
extern const struct table_fields serving_fields;
/*
 * Table, md: summary, times with mean and percentiles, then the figures of most use, with --wide all. csv, sql, json, jsonl: a row a figure; json has the
 * verdict, the SLO and the summary in addition. path NULL: standard output.
 */
int serving_print(const char *path, enum report_format format, const struct serving_subject *s, struct error *err);

/* Means over at most 64 equal intervals of the run, the last of which it may not fill: width_s, batch, queue, kv_usage, mbu, mfu; null where
 * there is no time series. A new object; NULL: out of memory. */
json_t *serving_timeline_json(const struct serving_subject *s);

/* ---- requests (serving_requests.c) ---------------------------------------------------------------------- */

extern const struct table_fields serving_request_fields;
/* A row a request, by number; written as they are made: csv or jsonl. errors: ERROR_USAGE, another format */
int serving_write_requests(FILE *f, enum report_format format, const struct serving_subject *s, struct error *err);

/*
 * The result file of `vllm bench serve --save-result`, its keys in its order; detailed: --save-detailed, but for generated_texts, which a
 * simulation does not have, and itls: gaps between tokens are counted in one histogram of all requests, for jumps over steps have none of their
 * own. A new object. Percentiles of no value are 0 there.
 * errors   ERROR_USAGE: the study is of several runs; out of memory
 * source   vllm/benchmarks/serve.py@009e6d4a1cd6
 */
json_t *serving_vllm_json(const struct serving_subject *s, bool detailed, struct error *err);

/* ---- trace of steps and requests (serving_trace.c) -------------------------------------------------------- */

/*
 * Chrome's trace event format, which Perfetto reads: steps (alike ones in one slice), counters, and the lives of requests: queue, prefill,
 * decode, in lanes. Streamed: steps while the simulation runs (serving_trace_step as serve_options.step), requests after it. Where max_bytes
 * are written it ends and says so in the trace and in the note.
 */
struct serving_trace {
    FILE *f;
    uint64_t bytes, max_bytes;  /* 0: TRACE_BYTES; steps take half of it at most */
    uint64_t n_block, n_event;
    uint64_t last_step_ps, last_request_ps; /* up to which there are steps, requests sent */
    uint64_t n_left_out, n_request_left_out;
};
enum { TRACE_BYTES = 64 << 20 };
void serving_trace_begin(struct serving_trace *t, FILE *f, uint64_t max_bytes, uint64_t n_block);
void serving_trace_step(void *ctx, const struct serve_step *x);
/* Ends it; note: what is left out, "" if nothing is. errors: write error; out of memory */
int serving_trace_end(struct serving_trace *t, const struct serving_subject *s, struct strbuf *note, struct error *err);

/* ---- charts (serving_charts.c) ------------------------------------------------------------------------------ */

/* Where a chart goes: chart_curves(). */
struct serving_chart {
    const char *style; /* reports/charts/curves.gp */
    const char *out_base;
    unsigned formats;  /* enum chart_format */
    char title[160], subtitle[256];
};
/* Distributions of TTFT, TPOT, ITL and E2E. */
int serving_chart_cdf(const struct serving_chart *c, const struct serving_subject *s, struct strbuf *notes, struct error *err);
/* Batch, KV blocks and queue over time, each as a fraction of its limit, the queue of its largest; MBU and MFU. */
int serving_chart_timeline(const struct serving_chart *c, const struct serving_subject *s, const struct timeline *t, struct strbuf *notes,
                           struct error *err);

/* Steps of a run, and the roofs of the device that they ran on; NaN: not known. */
struct serving_steps {
    const char *name; /* of several: "measured" */
    const struct step_classes *steps;
    double memory_bytes_s, flop_s;
};
/* Tokens/s of a step against its tokens, with the roofs of the first run's device. The second run's in the colours of the first's, dashed. */
int serving_chart_steps(const struct serving_chart *c, const struct serving_steps *x, size_t n, struct strbuf *notes, struct error *err);

/* A percentile at a rate, with the model's spread or the sampling interval. */
struct serving_rate {
    double rate;     /* requests/s */
    double s, lo, hi; /* NaN: saturated */
};
struct serving_rate_line {
    char label[64];
    const struct serving_rate *point;
    size_t n;
    double limit_s; /* of the SLO; NaN: none */
};
/* Percentiles against the offered rate, with bands; saturation_rate: where the server no longer keeps up; NaN: not found. */
int serving_chart_rates(const struct serving_chart *c, const struct serving_rate_line *line, size_t n, double saturation_rate,
                        struct strbuf *notes, struct error *err);

/* Policies on the same requests. */
struct serving_policy {
    char name[16];
    const struct serve_study *study;
};
int serving_chart_policies(const struct serving_chart *c, const struct serving_policy *p, size_t n, struct strbuf *notes, struct error *err);

/* A configuration: tokens/s of a user against tokens/s of a device. */
struct serving_config {
    char group[64]; /* what has a colour: the machine */
    double user_tok_s, device_tok_s;
    double device_lo, device_hi; /* NaN: none */
    char name[48];               /* of the point; "": none */
};
/* Configurations that no other beats in both: the front, as indices in order of user_tok_s. Returns their number. */
size_t serving_front(const struct serving_config *x, size_t n, size_t *front);
int serving_chart_pareto(const struct serving_chart *c, const struct serving_config *x, size_t n, struct strbuf *notes, struct error *err);

#endif
