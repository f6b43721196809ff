/* Server latencies and whole requests as rates of one phase. methods.md (69) */
#include "dataset/workload.h"
#include <math.h>

static const double MOST = 0.5;      /* largest fraction of the time for the other phase */
static const double STEP_SD = 0.05;  /* of ln seconds: sampling, varying lengths, server overhead */
static const double ASSUMED_SD = 0.1;
static const double SERVER_S = 0.05; /* server part of TTFT, prior (52) */
enum { ALONE = 1 };

/* Lower bound of a pass. */
static double bound_s(const struct workload *p, const struct work_pass *w)
{
    return fmax((w->sum.cost.weight_bytes + w->sum.cost.kv_bytes) / p->roofs->bytes_s, work_compute_s(p, w->sum.flop_math));
}

static double phase_s(const struct workload *p, enum phase phase)
{
    double s = 0;
    for (size_t i = 0; i < p->n_pass; i++)
        s += p->pass[i].at.phase == phase ? p->pass[i].times * bound_s(p, &p->pass[i]) : 0;
    return s;
}

/* Tensor parallelism only: other layouts have no rate. */
static bool is_plain(const struct measure_layout *l)
{
    return l->pp <= 1 && l->dp <= 1 && l->ep <= 1 && l->workers <= 1;
}

static struct measurement rate_of(const struct workload *p, enum measure_phase phase, double value, double ln_sd)
{
    struct measurement m = *p->m;
    if (m.kind == MEASURE_SERVING && m.decode.tp > 1) {
        m.n_devices = m.decode.tp;
        m.tags |= TAG_TENSOR_PARALLEL;
    }
    m.kind = MEASURE_RATE;
    m.metric = METRIC_TOK_S;
    m.phase = phase;
    m.value = value;
    m.ln_sd = hypot(ln_sd, p->guesses & GUESS_LENGTH ? ASSUMED_SD : 0);
    m.tags &= ~(unsigned)(TAG_TOTAL_TOKENS | TAG_MAX_THROUGHPUT);
    m.out = NAN;
    return m;
}

/* Between two tokens of a user the prompts of the others run: each has one per out - 1 steps. */
static const char *step_of_users(const struct workload *p, struct measurement *out)
{
    const double n_seq = p->pass[p->n_pass - 1].at.n_seq, decode_s = phase_s(p, PHASE_DECODE), prompt_s = phase_s(p, PHASE_PREFILL);
    if (!(p->out >= 2))
        return "generations of one token have no decode steps";
    const double stretch = 1 + prompt_s / decode_s * (n_seq - 1) / (p->out - 1);
    if (1 - 1 / stretch > MOST)
        return "prompts between its steps take most of the time";
    *out = rate_of(p, MEASURE_DECODE, n_seq * stretch / p->measured_s, hypot(STEP_SD, log(stretch) / 2));
    out->batch = n_seq;
    out->prompt = NAN;
    out->context = p->context;
    return NULL;
}

static const char *prompt_of_user(const struct workload *p, struct measurement *out)
{
    if (p->n_users > ALONE + MOST)
        return "TTFT includes the prompts of other users";
    if (SERVER_S / p->measured_s > MOST)
        return "a TTFT this short is mostly server overhead";
    *out = rate_of(p, MEASURE_PREFILL, p->prompt / p->measured_s, hypot(STEP_SD, SERVER_S / p->measured_s));
    out->batch = 1;
    out->prompt = p->prompt;
    out->context = 0;
    return NULL;
}

/* Prompts of a batch, then its steps: seconds are divided in the ratio of their bounds. */
static const char *step_of_requests(const struct workload *p, struct measurement *out)
{
    const double decode_s = phase_s(p, PHASE_DECODE), prompts = phase_s(p, PHASE_PREFILL) / (decode_s + phase_s(p, PHASE_PREFILL));
    if (!(p->out >= 2))
        return "generations of one token have no decode steps";
    if (p->guesses & GUESS_BATCH)
        return "its number of concurrent requests is unknown";
    if (prompts > MOST)
        return "its prompts take most of the time";
    *out = rate_of(p, MEASURE_DECODE, p->batch * (p->out - 1) / (p->measured_s * (1 - prompts)), hypot(STEP_SD, prompts / 2));
    out->batch = p->batch;
    out->prompt = NAN;
    out->context = p->context;
    return NULL;
}

const char *workload_as_rate(const struct workload *p, struct measurement *out)
{
    const struct measurement *m = p->m;
    if (!(p->measured_s > 0) || p->n_pass == 0)
        return "it has no work";
    if (m->kind == MEASURE_RATE)
        return m->phase == MEASURE_REQUEST ? step_of_requests(p, out) : "it is a rate itself";
    if (m->kind != MEASURE_SERVING)
        return "it is not a pass of a model";
    if (m->metric == METRIC_TPOT && m->step_tokens > 1)
        return "its steps verify drafts";
    if (!is_plain(&m->prefill) || !is_plain(&m->decode))
        return "its parallelism has no equivalent as a rate";
    return m->metric == METRIC_TTFT ? prompt_of_user(p, out) : step_of_users(p, out);
}
