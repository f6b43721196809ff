/* A model served on a machine: the caller's options as a deployment. */
#include "lib/serving.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *roofcast_policy_name(size_t i)
{
    return policy_name(i);
}

const char *roofcast_policy_help(size_t i)
{
    return policy_help(i);
}

void roofcast_server_options_init(struct roofcast_server_options *o, size_t size)
{
    const struct roofcast_server_options defaults = { .size = sizeof defaults, .tp = 1, .pp = 1, .dp = 1, .ep = 1, .gpu_memory_utilization = NAN,
                                                      .watermark = NAN, .kv_load_bytes_s = 25e9, .enable_prefix_caching = -1, .enable_chunked_prefill = -1,
                                                      .async_scheduling = -1, .cuda_graphs = -1 };
    lib_options_init(o, size, &defaults, sizeof defaults);
}

int lib_slo(struct serve_slo *slo, bool *has, const char *text, struct roofcast_error *err)
{
    struct error e = { 0 };
    *has = text && text[0];
    return !*has || serve_slo_parse(slo, text, &e) == 0 ? 0 : lib_fail(err, &e);
}

/* ---- options ------------------------------------------------------------------------------ */

enum { MOST_REPLICAS = 1024 };

static bool is_choice(int v)
{
    return v >= -1 && v <= 1;
}

static enum choice choice_of(int v)
{
    return v < 0 ? CHOICE_DEFAULT : v > 0 ? CHOICE_ON : CHOICE_OFF;
}

static int check(const struct roofcast_server_options *a, struct roofcast_error *err)
{
    if (!is_choice(a->enable_prefix_caching) || !is_choice(a->enable_chunked_prefill) || !is_choice(a->async_scheduling) || !is_choice(a->cuda_graphs))
        return lib_error(err, ROOFCAST_ERROR_USAGE,
                         "server options: expected enable_prefix_caching, enable_chunked_prefill, async_scheduling and cuda_graphs of 0, 1 or -1");
    if (a->route < ROOFCAST_ROUTE_ROUND_ROBIN || a->route > ROOFCAST_ROUTE_PREFIX)
        return lib_error(err, ROOFCAST_ERROR_USAGE, "server options: expected a route of enum roofcast_route, 0 to 2");
    if (a->dp > MOST_REPLICAS)
        return lib_error(err, ROOFCAST_ERROR_USAGE, "server options: expected dp of 1 to 1024");
    if (!isnan(a->gpu_memory_utilization) && !(a->gpu_memory_utilization >= 0.01 && a->gpu_memory_utilization <= 1))
        return lib_error(err, ROOFCAST_ERROR_USAGE, "server options: expected gpu_memory_utilization of 0.01 to 1, or NaN");
    if (!isnan(a->watermark) && !(a->watermark >= 0 && a->watermark <= 0.99))
        return lib_error(err, ROOFCAST_ERROR_USAGE, "server options: expected a watermark of 0 to 0.99, or NaN");
    if (!(a->kv_offloading_bytes >= 0 && a->kv_offloading_bytes <= 1e15) || !(a->kv_load_bytes_s > 0 && a->kv_load_bytes_s <= 1e15))
        return lib_error(err, ROOFCAST_ERROR_USAGE, "server options: expected kv_offloading_bytes of 0 to 1e15, and kv_load_bytes_s above 0");
    if (a->n_prefill > 0 && a->n_prefill >= a->dp)
        return lib_error(err, ROOFCAST_ERROR_USAGE, "server options: expected fewer prefill replicas than dp");
    if (!(a->acceptance_spread >= 0 && a->acceptance_spread <= 5))
        return lib_error(err, ROOFCAST_ERROR_USAGE, "server options: expected acceptance_spread of 0 to 5");
    if (a->n_acceptance > POLICY_MAX_DRAFT || (a->n_acceptance > 0 && !a->acceptance))
        return lib_error(err, ROOFCAST_ERROR_USAGE, "server options: expected an array acceptance and n_acceptance of at most 16");
    for (size_t i = 0; i < a->n_acceptance; i++)
        if (!(a->acceptance[i] >= 0 && a->acceptance[i] <= 1))
            return lib_error(err, ROOFCAST_ERROR_USAGE, "server options: expected probabilities in acceptance, 0 to 1");
    return 0;
}

static struct deployment_options deployment_options_of(const struct roofcast_server_options *a)
{
    return (struct deployment_options){
        .policy = a->policy, .max_num_seqs = a->max_num_seqs, .max_num_batched_tokens = a->max_num_batched_tokens,
        .max_model_len = a->max_model_len, .block_size = a->block_size, .long_prefill_token_threshold = a->long_prefill_token_threshold,
        .num_gpu_blocks_override = a->num_gpu_blocks_override, .gpu_memory_utilization = a->gpu_memory_utilization, .watermark = a->watermark,
        .kv_offloading_gib = a->kv_offloading_bytes / (1024.0 * 1024 * 1024),
        .enable_prefix_caching = choice_of(a->enable_prefix_caching), .enable_chunked_prefill = choice_of(a->enable_chunked_prefill),
        .async_scheduling = choice_of(a->async_scheduling), .cuda_graphs = choice_of(a->cuda_graphs), .priority = a->priority != 0,
        .num_speculative_tokens = a->num_speculative_tokens, .look_ahead = a->num_speculative_tokens,
    };
}

/* A server's constants unless the caller names others; of llama-server, those of the machine's class; of a machine with measured kernels, the
 * engine's. */
static struct roofcast_predict_options predict_options_of(const struct roofcast_server_options *a, const struct roofcast_machine *h)
{
    struct roofcast_predict_options o;
    const bool slots = a->policy && strcmp(a->policy, "llama-server") == 0;
    roofcast_predict_options_init(&o, sizeof o);
    o.n_prompt = o.n_gen = o.n_batch = 1;
    o.tp = a->tp;
    o.pp = a->pp;
    o.dp = a->dp;
    o.ep = a->ep;
    o.software = a->software;
    o.stack = a->stack || a->software || slots || hwprofile_has_kernels(&h->h) ? a->stack : "vllm";
    o.anchor_path = a->anchor_path;
    o.type_k = a->type_k;
    o.type_v = a->type_v;
    o.routing_zipf = a->routing_zipf;
    o.materialized = a->materialized;
    return o;
}

static struct serve_options run_options(const struct lib_server *x, const struct roofcast_server_options *a, const struct lib_run *run)
{
    static const enum serve_route routes[] = { [ROOFCAST_ROUTE_ROUND_ROBIN] = ROUTE_ROUND_ROBIN, [ROOFCAST_ROUTE_LEAST_ACTIVE] = ROUTE_LEAST_ACTIVE,
                                               [ROOFCAST_ROUTE_PREFIX] = ROUTE_PREFIX };
    struct serve_options o = deployment_serve_options(&x->d, &x->options, run->seed);
    for (size_t i = 0; i < POLICY_MAX_DRAFT; i++)
        o.accept[i] = a->n_acceptance == 0 ? 0.7 : a->acceptance[i < a->n_acceptance ? i : a->n_acceptance - 1];
    o.accept_sd = a->acceptance_spread;
    o.routing = routes[a->route];
    o.n_prefill = a->n_prefill;
    o.load_bytes_s = a->kv_load_bytes_s;
    o.max_concurrency = run->max_concurrency;
    return o;
}

/* ---- a deployment ------------------------------------------------------------------------- */

static int set_up(struct lib_server *x, const struct roofcast_model *m, const struct roofcast_machine *h, const struct serve_workload *w,
                  const struct roofcast_server_options *a, const struct lib_run *run, struct roofcast_error *err)
{
    struct error e = { 0 };
    const struct roofcast_predict_options po = predict_options_of(a, h);
    if (lib_pricing_init(&x->pricing, m, h, &po, true, err) != 0)
        return -1;
    x->options = deployment_options_of(a);
    if (layout_check_link(&x->pricing.o.layout, &h->h, &e) != 0 ||
        deployment_init(&x->d, &m->x.classes, &h->h, &x->pricing.o, &x->options, w, &e) != 0)
        return lib_fail(err, &e);
    if (deployment_count_work(&x->d, &e) != 0) {
        deployment_free(&x->d);
        return lib_fail(err, &e);
    }
    x->run = run_options(x, a, run);
    return 0;
}

struct lib_server *lib_server_new(const struct roofcast_model *m, const struct roofcast_machine *h, const struct roofcast_workload *w,
                                  const struct roofcast_server_options *asked, const struct lib_run *run, struct roofcast_error *err)
{
    struct roofcast_server_options a;
    roofcast_server_options_init(&a, sizeof a);
    if (lib_options(&a, sizeof a, asked, err) != 0 || check(&a, err) != 0)
        return NULL;
    struct lib_server *x = calloc(1, sizeof *x);
    if (!x) {
        lib_error(err, ROOFCAST_ERROR_SYSTEM, "out of memory: a server");
        return NULL;
    }
    if (set_up(x, m, h, &w->w, &a, run, err) == 0)
        return x;
    lib_pricing_free(&x->pricing); /* deployment_init() undoes itself */
    free(x);
    return NULL;
}

void lib_server_free(struct lib_server *x)
{
    if (!x)
        return;
    deployment_free(&x->d);
    lib_pricing_free(&x->pricing);
    free(x);
}
