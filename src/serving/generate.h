/*
 * generate.h: workloads from a description: arrivals, lengths, sessions; or from a file, with its own times or other ones. Every number is
 * a hash of (seed, what it decides, request): the same requests for every configuration, rate and number of threads.
 */
#ifndef SERVING_GENERATE_H
#define SERVING_GENERATE_H

#include "serving/trace.h"

enum { GENERATE_MOST_TURNS = 1 << 16, GENERATE_TOKENS = 16 /* of an identity */ };

/* ---- arrivals of roots: requests, or sessions ---- */

enum arrival_ramp { RAMP_NONE, RAMP_LINEAR, RAMP_EXPONENTIAL };

/* Gaps are gamma distributed with shape `burstiness`, as vllm bench serve has it: 1: Poisson, below 1: bursts, INFINITY: constant. */
struct arrival_plan {
    double rate_s;     /* roots a second; INFINITY: all at once; NAN: a trace's own times, all at once where it has none */
    double burstiness; /* 0: 1 */
    bool rescale;      /* the last arrival is at n / rate, as vllm bench serve makes it; not with a ramp */
    enum arrival_ramp ramp; /* of the rate over the request's index: from ramp_from_s to ramp_to_s; rate_s is not used */
    double ramp_from_s, ramp_to_s;
    bool own_times;    /* of a trace: its own times, scaled to rate_s */
};

/* ---- lengths and times ---- */

enum spread_kind {
    SPREAD_FIXED,
    SPREAD_UNIFORM,     /* whole numbers in [floor(mean (1 - spread)), ceil(mean (1 + spread))], as vLLM's random */
    SPREAD_LOGNORMAL,   /* of that mean; spread: sigma of the logarithm */
    SPREAD_EXPONENTIAL,
    SPREAD_GEOMETRIC,   /* whole numbers from 1 */
};

struct spread {
    enum spread_kind kind;
    double mean, spread;
    double most; /* larger draws become it; 0: no limit */
};
/* Lognormal by two of its percentiles. p95 >= p50 > 0. */
struct spread spread_from_percentiles(double p50, double p95);
/* The i-th draw of a stream. */
double spread_draw(const struct spread *s, uint64_t seed, unsigned stream, uint64_t i);

/* ---- the whole ---- */

enum serve_workload_source { SOURCE_LENGTHS, SOURCE_SESSIONS, SOURCE_EMPIRICAL, SOURCE_TRACE };

struct serve_workload_plan {
    enum serve_workload_source source;
    char name[128];             /* the text that describes it */
    char path[1024];            /* of a file */
    const struct trace_format *format; /* NULL: recognised */
    struct trace_options trace;
    struct spread in, out;      /* of the first turn without prefix; of every turn */
    struct spread turns, fresh; /* turns of a session; new prompt tokens of a later turn */
    struct spread think_s;
    uint32_t prefix, n_prefix;  /* tokens in front of every prompt that requests share; so many different ones, 1 by default */
};

enum plan_end { PLAN_END_DEFAULT, PLAN_END_LENGTH, PLAN_END_STOP }; /* default: by length of made requests, by stop of traces */

struct serve_workload_options {
    struct arrival_plan arrivals;
    size_t n;            /* requests; 0: by duration_s, else all of a trace, else n_made */
    size_t n_made;       /* 0: 1000 */
    double duration_s;   /* arrivals up to here; 0: by n */
    uint64_t seed;
    enum plan_end end;
    bool identify;       /* every request has identities, so that a preempted one finds its own blocks */
    const char *const *dirs; /* folders in which built-in names look for their files; NULL-terminated or NULL */
};

/*
 * Text to plan:
 *   random:in=1024,out=128[,range=0.5]      session:turns=6,in=2000,new=300,out=200,think=10s,prefix=1024
 *   lognormal:in=512,out=200,sigma=0.8      lognormal:in-p50=300,in-p95=2000,out-p50=150,out-p95=600
 *   empirical:FILE                          FILE, FORMAT:FILE, azure-conv, azure-code, mooncake, agentic
 * k and M multiply tokens by 1,000 and 1,000,000; times take ms, s, min, h.
 *
 * errors   ERROR_USAGE  an unknown key, a value out of range: what is accepted
 */
int serve_workload_plan_parse(struct serve_workload_plan *p, const char *text, const char *const *dirs, struct error *err);
/* Workloads by name, for help; NULL past the end. */
const char *serve_workload_plan_name(size_t i);
const char *serve_workload_plan_help(size_t i);

/*
 * notes    what a reader did; may be NULL
 * errors   ERROR_USAGE  options that contradict each other; of the trace: trace.h; out of memory
 */
int serve_workload_make(struct serve_workload *w, const struct serve_workload_plan *p, const struct serve_workload_options *o, struct trace_notes *notes,
                  struct error *err);
/* Both. */
int serve_workload_from_text(struct serve_workload *w, const char *text, const struct serve_workload_options *o, struct trace_notes *notes, struct error *err);

/* ---- arrivals of a workload (arrival_plan.c) ---- */

/* Time of each of n roots, ascending. errors: ERROR_USAGE, the plan; ERROR_INPUT, times beyond SERVE_MAX_PS. */
int arrival_times(uint64_t *ps, size_t n, const struct arrival_plan *a, uint64_t seed, struct error *err);
/* Sets the arrivals of the roots. */
int serve_workload_set_arrivals(struct serve_workload *w, const struct arrival_plan *a, uint64_t seed, struct error *err);
/* Multiplies the rate of arrivals; think times stay. Scale copies of one workload, not one again and again: times are rounded. */
int serve_workload_scale_rate(struct serve_workload *w, double factor, struct error *err);
/* Roots a second, by the gaps between them; INFINITY: all at once, or a single one. */
double serve_workload_rate(const struct serve_workload *w);
/* The same requests with all roots due at 0: with serve_options.max_concurrency users, a closed loop. */
void serve_workload_all_at_once(struct serve_workload *w);
/* errors: out of memory; *to is then empty. */
int serve_workload_copy(struct serve_workload *to, const struct serve_workload *w, struct error *err);
/* Has every request identities? */
bool serve_workload_identified(const struct serve_workload *w);
/* Private identities for requests without any; requests with some keep them. run_tokens is set where it is 0. errors: out of memory. */
int serve_workload_identify(struct serve_workload *w, struct error *err);

#endif
