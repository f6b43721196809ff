/* A benchmark of a server, simulated. methods.md (52), doc/notes/servers.md */
#include "learn/closed_loop.h"
#include "learn/loop_price.h"
#include "serving/draw.h"
#include "serving/simulate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_USERS = 1 << 16, SEED = 1, EXTRA_BLOCKS = 2 };
static const double MOST_TOKENS = 1e9; /* of a wave's prompts: a million steps */

struct loop {
    const struct stack_traits *x;
    const struct workload *p;
    struct loop_shape shape;
    double intake_s; /* of a request: the server's program takes them in one after the other */
    char policy_name[32];
    struct policy policy;
    struct step_price price;
    struct serve_workload requests;
};

const char *closed_loop_why_not(const struct workload *p)
{
    if (strcmp(p->m->mode, "disagg") == 0)
        return "separate prefill";
    if (!(p->m->shortest > 0))
        return "lengths of unknown spread";
    if (!p->builder || !(p->n_users <= MOST_USERS) || !(p->prompt >= 1) || !(p->out >= 1) || p->m->step_tokens > 1)
        return "drafts, or no number of users";
    if (p->n_users * p->prompt > MOST_TOKENS)
        return "too many tokens";
    return NULL;
}

/* "vllm-0.19" of version 0.19.0 of vLLM; other servers, and versions that are no releases, as the default. */
static const char *name_policy(struct loop *x)
{
    const char *v = x->p->m->version;
    unsigned minor;
    const bool vllm = strcmp(x->p->stack->id, "vllm") == 0;
    v += *v == 'v';
    if (vllm && sscanf(v, "0.%4u", &minor) == 1)
        snprintf(x->policy_name, sizeof x->policy_name, "vllm-0.%u", minor);
    else
        snprintf(x->policy_name, sizeof x->policy_name, "vllm");
    return x->policy_name;
}

/* Servers are set up for the users of their benchmark. Its prompts have nothing in common. */
static int set_policy(struct loop *x, struct error *err)
{
    const struct policy_device device = policy_device_of(&x->p->machine->h);
    struct error unused = { 0 };
    if (policy_init(&x->policy, name_policy(x), &device, &unused) != 0 && policy_init(&x->policy, "vllm", &device, err) != 0)
        return -1;
    x->policy.max_num_seqs = x->shape.n_user;
    x->policy.max_num_batched_tokens = (uint32_t)u64_max(x->policy.max_num_batched_tokens, x->shape.n_user);
    x->policy.enable_prefix_caching = false;
    policy_set_model_len(&x->policy, x->shape.n_in + x->shape.n_out + 1);
    return policy_check(&x->policy, err);
}

static uint32_t length(const struct loop *x, enum draw_stream stream, size_t i, uint32_t most)
{
    const double part = 1 - (1 - x->p->m->shortest) * draw_uniform(SEED, stream, i);
    return (uint32_t)fmax(1, round(most * part));
}

/* All users begin at once. */
static int make_requests(struct loop *x, struct error *err)
{
    struct serve_workload *w = &x->requests;
    w->n = (size_t)x->shape.n_user * CLOSED_LOOP_ROUNDS;
    w->r = calloc(w->n, sizeof *w->r);
    if (!w->r)
        return error_oom(err, w->n * sizeof *w->r, "requests");
    for (size_t i = 0; i < w->n; i++) {
        const double first = (double)u64_min(i, x->shape.n_user - 1);
        w->r[i] = (struct serve_request){ .after_ps = (uint64_t)(first * x->intake_s * PS_PER_S), .parent = SERVE_NO_PARENT,
                                          .n_in = length(x, DRAW_IN, i, x->shape.n_in), .n_out = length(x, DRAW_OUT, i, x->shape.n_out) };
    }
    return 0;
}

/* Of one group of devices: of all requests, or as many as memory holds; not even one: it holds more than is known here, for it served. */
static uint32_t blocks(const struct loop *x)
{
    const double size = x->policy.block_size, whole = ceil((x->shape.n_in + x->shape.n_out) / size) + EXTRA_BLOCKS;
    const double fit = x->p->fits / fmax(1, x->p->layout.dp) * x->p->context / size, all = whole * x->shape.n_user;
    return (uint32_t)(x->p->fits >= 1 && fit < all ? fmax(whole, fit) : all);
}

/* TTFT from when the user wanted it: taken in, on average half of the steps between two looks at arrivals, then the first token. */
static void take_means(struct closed_loop *out, const struct loop *x, const struct serve_result *r)
{
    double ttft = 0, tpot = 0;
    size_t n_several = 0;
    for (size_t i = 0; i < r->n; i++) {
        const struct serve_outcome *o = &r->out[i];
        const double waited = i < x->shape.n_user ? (double)x->requests.r[i].after_ps : 0;
        ttft += ((double)(o->first_ps - o->sent_ps) + waited) / PS_PER_S;
        if (x->requests.r[i].n_out < 2)
            continue;
        tpot += (double)(o->end_ps - o->first_ps) / PS_PER_S / (x->requests.r[i].n_out - 1);
        n_several++;
    }
    out->tpot_s = n_several > 0 ? tpot / (double)n_several : NAN;
    out->ttft_s = ttft / (double)r->n + x->intake_s + (n_several > 0 ? x->x->receive_steps / 2 * out->tpot_s : 0);
}

static int simulate(struct closed_loop *out, const struct loop *x, struct error *err)
{
    const struct serve_options o = { .policy = &x->policy, .price = &x->price, .n_block = blocks(x), .max_concurrency = x->shape.n_user, .seed = SEED };
    struct serve_result r;
    if (serve_simulate(&r, &x->requests, &o, err) != 0)
        return -1;
    take_means(out, x, &r);
    serve_result_free(&r);
    return 0;
}

int closed_loop_run(struct closed_loop *out, const struct stack_traits *traits, const struct closed_loop_constants *k, struct error *err)
{
    const struct workload *p = traits->p;
    struct loop x = { .x = traits, .p = p, .intake_s = k->prompts ? exp(k->prompts[TIME_STEP]) : 0,
                      .shape = { (uint32_t)fmax(1, ceil(p->n_users / fmax(1, p->layout.dp))), (uint32_t)p->prompt, (uint32_t)p->out } };
    int rc = set_policy(&x, err);
    rc = rc ? rc : step_price_alloc(&x.price, &x.policy, err);
    rc = rc ? rc : loop_price(&x.price, traits, &x.shape, k, err);
    rc = rc ? rc : make_requests(&x, err);
    rc = rc ? rc : simulate(out, &x, err);
    step_price_free(&x.price);
    free(x.requests.r);
    return rc;
}
