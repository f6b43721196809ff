/* cli internals: what `roofcast simulate` and `roofcast serve` print and write of a run. */
#ifndef CLI_SERVING_OUTPUT_H
#define CLI_SERVING_OUTPUT_H

#include "cli/serving.h"
#include "report/serving_report.h"

enum { OUTPUT_FORMAT = 800, OUTPUT_SAVE, OUTPUT_REQUESTS, OUTPUT_TRACE, OUTPUT_CHART, OUTPUT_WARMUP };

/* Rows of an argp_option table; serving_output_parse() takes their keys. */
#define SERVING_OUTPUT_OPTIONS \
    { "warmup", OUTPUT_WARMUP, "none|mser", 0, "requests left out at the start: none (default), or up to the steady part of TTFT (MSER-5)", 0 }, \
    { "output", 'o', "FORMAT", 0, "table (default), csv, json, jsonl, md or sql", 0 }, \
    { "format", OUTPUT_FORMAT, "vllm", 0, "print the result file of `vllm bench serve`", 0 }, \
    { "save", OUTPUT_SAVE, "FILE", 0, "also write the JSON to FILE", 0 }, \
    { "requests-to", OUTPUT_REQUESTS, "FILE", 0, "a row for each request: FILE.csv or FILE.jsonl", 0 }, \
    { "trace-to", OUTPUT_TRACE, "FILE", 0, "steps and requests over time, for ui.perfetto.dev", 0 }, \
    { "chart", OUTPUT_CHART, "BASE", 0, "draw BASE-latency, BASE-timeline and BASE-steps (SVG, PNG)", 0 }

struct serving_output {
    const char *save, *requests_to, *trace_to, *chart;
    enum report_format format;
    bool vllm, warmup;
};

/* CLI_UNKNOWN: none of its keys. */
int serving_output_parse(int key, const char *arg, struct serving_output *o, struct error *err);
/* That files can be written, before the work, and are no inputs. */
int serving_output_check(const struct serving_output *o, int argc, char **argv, struct error *err);

/* Listeners of a run's steps: serving_listen() with it as serve_options.step. */
struct serving_listeners {
    struct timeline timeline;
    struct step_classes steps;
    struct serving_trace trace;
    struct outfile out;      /* of the trace; f NULL: not asked for */
    double start_s, last_ps; /* of the work; of the arrivals, 0: all at once */
    uint64_t n_call;
    bool progress;           /* shown by simulated time */
};
int serving_listeners_init(struct serving_listeners *l, const struct serving_output *o, const struct policy *p, uint32_t n_block, const struct serve_workload *w,
                           struct error *err);
void serving_listen(void *ctx, const struct serve_step *x);
/* Ends the trace, with rc 0, or removes it; frees the rest. Returns rc, or the trace's error. */
int serving_listeners_end(struct serving_listeners *l, const struct serving_subject *s, int rc, struct error *err);

/* Everything that is printed or written of a run but the trace. */
int serving_output(const struct serving_output *o, const struct serving_subject *s, const struct timeline *t, struct error *err);
/* Of a run that was interrupted: what is printed, and --save under another name. */
int serving_output_partial(const struct serving_output *o, const struct serving_subject *s, struct error *err);

#endif
