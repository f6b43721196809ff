/* Features of a server's latencies in a closed loop. (51), (52) */
#include "stacks/priors.h"
#include <math.h>
#include <string.h>

/* ---- collectives ------------------------------------------------------------------------- */

/* Devices of a board, or a rack, joined by one of its links; else the network. */
const char *serving_link(const struct workload *p)
{
    const struct hwprofile *h = &p->machine->h;
    const uint32_t tp = p->layout.tp, ep = p->layout.ep;
    const int n = (int)(tp > ep ? tp : ep);
    return hwprofile_link(h, 2) && n > 2 && !hwprofile_link(h, n) ? "network" : "board";
}

/* ---- a closed loop ----------------------------------------------------------------------- */

/* A step and its part of new prompts: of n sequences of a group with `out` steps each, n / out join a step, where the same devices
 * process prompts. */
static void add_step(struct time_features *f, const struct stack_traits *x, double times)
{
    const struct workload *p = x->p;
    const double n = p->batch / fmax(p->layout.dp, 1), joining = strcmp(p->m->mode, "disagg") != 0 ? n / fmax(p->out, 1) : 0;
    for (size_t i = 0; i < p->n_pass; i++) {
        const struct work_pass *w = &p->pass[i];
        f->step = w->at.phase == PHASE_DECODE && !x->together;
        fitted_add_pass(f, x, w, times * w->times * (w->at.phase == PHASE_DECODE ? 1 : joining), true);
    }
    f->n_seq += times * n;
}

static void add_prompt(struct time_features *f, const struct stack_traits *x)
{
    const struct workload *p = x->p;
    for (size_t i = 0; i < p->n_pass; i++)
        if (p->pass[i].at.phase == PHASE_PREFILL)
            fitted_add_pass(f, x, &p->pass[i], p->pass[i].times, true);
}

static void cross_network(struct time_features *f, const struct workload *p)
{
    if (strcmp(serving_link(p), "network") != 0)
        return;
    f->hop_s *= prior(PRIOR_SERVER_NETWORK_HOP);
    f->wire_s *= p->roofs->link_bytes_s / fmin(prior(PRIOR_SERVER_NETWORK_BYTES_S), p->roofs->link_bytes_s);
}

/* Steps until a sequence slot is free: with more users than slots a request waits for the requests before it. (52) */
static double steps_until_slot(const struct workload *p)
{
    const double copies = p->m->decode.workers > 0 ? p->m->decode.workers : 1, more = p->n_users / copies / p->batch - 1;
    if (!(more > 0) || (strcmp(p->m->mode, "disagg") == 0 && p->m->decode.workers == 0)) /* more replicas, most likely */
        return 0;
    return more * p->out;
}

/* Steps are captured in graphs, whose kernels start faster than a prompt's. */
static void add_wait(struct time_features *f, struct time_features *wait, const struct stack_traits *x)
{
    const bool simulated = !isnan(x->p->n_ahead) && strcmp(x->p->m->mode, "disagg") != 0;
    const double until_slot = simulated ? 0 : steps_until_slot(x->p), steps = until_slot + x->receive_steps / 2; /* half of them on average */
    if (!(steps > 0))
        return;
    *wait = (struct time_features){ .sequential = 1, .one_step = true };
    add_step(wait, x, steps);
    for (int i = 0; i < wait->n_term; i++)
        wait->term[i].launched *= prior(PRIOR_GRAPH_LAUNCH);
    wait->n_pass = wait->n_seq = 0; /* per-request cost is in the other part */
    cross_network(wait, x->p);
    f->before = wait;
}

void serving_features(struct time_features *f, struct time_features *wait, const struct stack_traits *x)
{
    const struct workload *p = x->p;
    const double copies = p->m->prefill.workers > 0 ? p->m->prefill.workers : 1, dp = fmax(p->m->prefill.dp, 1);
    f->one_step = true;
    if (p->m->metric == METRIC_TTFT) {
        add_prompt(f, x);
        if (isnan(p->n_ahead))
            f->n_queue = fmax(0, fmin(p->n_users / copies, p->batch) / dp - 1);
        else
            f->n_ahead = p->n_ahead;
        add_wait(f, wait, x);
    } else {
        add_step(f, x, 1);
    }
    cross_network(f, p);
}

void serving_step_features(struct time_features *f, const struct stack_traits *x, const struct work_pass *decode, const struct work_pass *prompt)
{
    *f = (struct time_features){ .sequential = 1, .pipelined = 1, .one_step = true, .long_context = x->p->context > TIME_LONG_CONTEXT };
    if (decode) {
        f->step = !x->together;
        fitted_add_pass(f, x, decode, 1, true);
        f->n_seq += decode->at.n_seq;
    }
    f->step = false;
    if (prompt)
        fitted_add_pass(f, x, prompt, 1, true);
    cross_network(f, x->p);
}
