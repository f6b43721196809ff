#include "cli/serving.h"
#include "cli/cli.h"
#include "learn/constants.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int serving_rate(const char *arg, double *rate, struct error *err)
{
    char *end;
    *rate = strtod(arg, &end);
    if (end != arg && (*end == '\0' || strcmp(end, "/s") == 0) && *rate > 0)
        return 0;
    return error_set(err, ERROR_USAGE, "--rate: expected requests a second, 8 or inf; found \"%.64s\"", arg);
}

static int read_count(const char *arg, const char *what, uint32_t *to, struct error *err)
{
    int64_t v;
    if (parse_int(arg, 1, INT32_MAX, what, &v, err) != 0)
        return -1;
    *to = (uint32_t)v;
    return 0;
}

static int read_time(const char *arg, const char *what, double *s, struct error *err)
{
    static const struct {
        const char *unit;
        double s;
    } units[] = { { "", 1 }, { "s", 1 }, { "ms", 1e-3 }, { "min", 60 }, { "m", 60 }, { "h", 3600 } };
    char *end;
    const double v = strtod(arg, &end);
    for (size_t i = 0; end != arg && i < ARRAY_LEN(units); i++)
        if (strcmp(end, units[i].unit) == 0 && v > 0 && v < 1e9) {
            *s = v * units[i].s;
            return 0;
        }
    return error_set(err, ERROR_USAGE, "%s: expected a time, 90s, 10min or 1h; found \"%.64s\"", what, arg);
}

/* One item of such a list, of n characters. */
static int read_rate(const char *item, size_t n, double *to)
{
    char text[32];
    if (n >= sizeof text)
        return -1;
    snprintf(text, sizeof text, "%.*s", (int)n, item);
    return parse_double(text, 0, 1, "", to, NULL);
}

int serving_rates(const char *arg, const char *what, double *rate, uint32_t *n, struct error *err)
{
    const char *at = arg;
    for (*n = 0; *n < POLICY_MAX_DRAFT; at++) {
        const size_t len = strcspn(at, ",");
        if (read_rate(at, len, &rate[*n]) != 0)
            break;
        ++*n;
        at += len;
        if (*at == '\0')
            return 0;
    }
    return error_set(err, ERROR_USAGE, "%s: expected up to %d probabilities, 0.7 or 0.8,0.6,0.5; found \"%.64s\"", what, POLICY_MAX_DRAFT, arg);
}

static int read_word(const char *arg, const char *what, const char *const *words, int *to, struct error *err)
{
    for (*to = 0; words[*to]; ++*to)
        if (strcmp(arg, words[*to]) == 0)
            return 0;
    return error_set(err, ERROR_USAGE, "%s: expected %s or %s%s%s; found \"%.64s\"", what, words[0], words[1], words[2] ? " or " : "",
                     words[2] ? words[2] : "", arg);
}

static int read_load(int key, const char *arg, struct serving_cli *o, struct error *err)
{
    static const char *const ends[] = { "length", "stop", NULL }, *const ramps[] = { "linear", "exponential", NULL };
    int64_t v;
    int word;
    switch (key) {
    case SERVING_WORKLOAD:
        return cli_text(&o->workload, arg);
    case SERVING_REQUESTS:
        if (parse_int(arg, 1, INT32_MAX, "--requests", &v, err) != 0)
            return -1;
        o->load.n = (size_t)v;
        return 0;
    case SERVING_DURATION:
        return read_time(arg, "--duration", &o->load.duration_s, err);
    case SERVING_SEED:
        if (parse_int(arg, 0, INT64_MAX, "--seed", &v, err) != 0)
            return -1;
        o->load.seed = (uint64_t)v;
        return 0;
    case SERVING_BURSTINESS:
        if (strcmp(arg, "inf") == 0) {
            o->load.arrivals.burstiness = INFINITY;
            return 0;
        }
        return parse_double(arg, 1e-3, 1e6, "--burstiness", &o->load.arrivals.burstiness, err);
    case SERVING_RAMP:
        if (read_word(arg, "--ramp-up-strategy", ramps, &word, err) != 0)
            return -1;
        o->load.arrivals.ramp = word == 0 ? RAMP_LINEAR : RAMP_EXPONENTIAL;
        return 0;
    case SERVING_RAMP_FROM:
        o->ramp_given = true;
        return parse_double(arg, 1e-6, 1e9, "--ramp-up-start-rps", &o->load.arrivals.ramp_from_s, err);
    case SERVING_RAMP_TO:
        o->ramp_given = true;
        return parse_double(arg, 1e-6, 1e9, "--ramp-up-end-rps", &o->load.arrivals.ramp_to_s, err);
    case SERVING_ENDS:
        if (read_word(arg, "--ends", ends, &word, err) != 0)
            return -1;
        o->load.end = word == 0 ? PLAN_END_LENGTH : PLAN_END_STOP;
        return 0;
    default:
        return CLI_UNKNOWN;
    }
}

static int choose(enum choice *to, enum choice c)
{
    *to = c;
    return 0;
}

static int read_policy(int key, const char *arg, struct serving_cli *o, struct error *err)
{
    static const char *const orders[] = { "fcfs", "priority", NULL }, *const routes[] = { "round-robin", "least-active", "prefix", NULL };
    struct deployment_options *d = &o->deploy;
    int64_t n;
    int word;
    switch (key) {
    case SERVING_POLICY:
        return cli_text(&d->policy, arg);
    case SERVING_SEQS:
        return read_count(arg, "--max-num-seqs", &d->max_num_seqs, err);
    case SERVING_TOKENS:
        return read_count(arg, "--max-num-batched-tokens", &d->max_num_batched_tokens, err);
    case SERVING_MODEL_LEN:
        return read_count(arg, "--max-model-len", &d->max_model_len, err);
    case SERVING_BLOCK:
        return read_count(arg, "--block-size", &d->block_size, err);
    case SERVING_BLOCKS:
        return read_count(arg, "--num-gpu-blocks-override", &d->num_gpu_blocks_override, err);
    case SERVING_THRESHOLD:
        return read_count(arg, "--long-prefill-token-threshold", &d->long_prefill_token_threshold, err);
    case SERVING_UTIL:
        return parse_double(arg, 0.01, 1, "--gpu-memory-utilization", &d->gpu_memory_utilization, err);
    case SERVING_WATERMARK:
        return parse_double(arg, 0, 0.99, "--watermark", &d->watermark, err);
    case SERVING_PREFIX:
    case SERVING_NO_PREFIX:
        return choose(&d->enable_prefix_caching, key == SERVING_PREFIX ? CHOICE_ON : CHOICE_OFF);
    case SERVING_CHUNKED:
    case SERVING_NO_CHUNKED:
        return choose(&d->enable_chunked_prefill, key == SERVING_CHUNKED ? CHOICE_ON : CHOICE_OFF);
    case SERVING_ASYNC:
    case SERVING_NO_ASYNC:
        return choose(&d->async_scheduling, key == SERVING_ASYNC ? CHOICE_ON : CHOICE_OFF);
    case SERVING_EAGER:
        return choose(&d->cuda_graphs, CHOICE_OFF);
    case SERVING_SCHEDULING:
        if (read_word(arg, "--scheduling-policy", orders, &word, err) != 0)
            return -1;
        d->priority = word == 1;
        return 0;
    case SERVING_ROUTE:
        if (read_word(arg, "--route", routes, &word, err) != 0)
            return -1;
        o->routing = (enum serve_route)word;
        return 0;
    case SERVING_PREFILL:
        return read_count(arg, "--prefill-replicas", &o->n_prefill, err);
    case SERVING_HOST:
        return parse_double(arg, 0, 1e6, "--kv-offloading-size", &d->kv_offloading_gib, err);
    case SERVING_LOAD:
        o->load_given = true;
        o->load_bytes_s = units_parse(arg, "B/s");
        return o->load_bytes_s > 0 ? 0 : error_set(err, ERROR_USAGE, "--kv-load-bandwidth: expected a bandwidth, 25GB/s; found \"%.32s\"", arg);
    case SERVING_DRAFTS:
        if (parse_int(arg, 0, POLICY_MAX_DRAFT, "--num-speculative-tokens", &n, err) != 0)
            return -1;
        d->num_speculative_tokens = d->look_ahead = (uint32_t)n;
        return 0;
    case SERVING_DRAFT:
        return cli_text_once(&o->draft, arg, "--draft", err);
    case SERVING_DRAFT_TYPE:
        return pricing_type(&o->draft_type, o->draft_named, sizeof o->draft_named, arg, "--draft-type", err);
    case SERVING_ACCEPT:
        return serving_rates(arg, "--acceptance", o->accept, &o->n_accept, err);
    case SERVING_ACCEPT_SD:
        return parse_double(arg, 0, 5, "--acceptance-spread", &o->accept_sd, err);
    default:
        return CLI_UNKNOWN;
    }
}

int serving_parse(int key, const char *arg, struct serving_cli *o, struct error *err)
{
    switch (key) {
    case 'm':
    case ARGP_KEY_ARG:
        return cli_text_once(&o->model, arg, "model", err);
    case SERVING_SLO:
        o->slo_text = arg;
        return serve_slo_parse(&o->slo, arg, err);
    case SERVING_STACK:
        return cli_text(&o->stack, arg);
    case SERVING_ANCHOR:
        return cli_text(&o->anchor, arg);
    case SERVING_DRAWS:
        return parse_int(arg, 0, 10000, "--draws", &o->draws, err);
    case 't':
        return parse_int(arg, 1, 4096, "--threads", &o->threads, err);
    default:
        break;
    }
    int rc = read_load(key, arg, o, err);
    if (rc == CLI_UNKNOWN)
        rc = read_policy(key, arg, o, err);
    return rc == CLI_UNKNOWN ? pricing_parse(key, arg, &o->price, err) : rc;
}

static double acceptance(const struct serving_cli *o, uint32_t i)
{
    return o->n_accept == 0 ? 0.7 : o->accept[i < o->n_accept ? i : o->n_accept - 1];
}

struct serve_options serving_run_options(const struct serving_cli *o, const struct deployment *d)
{
    struct serve_options run = d ? deployment_serve_options(d, &o->deploy, o->load.seed) : (struct serve_options){ .seed = o->load.seed };
    for (uint32_t i = 0; i < POLICY_MAX_DRAFT; i++)
        run.accept[i] = acceptance(o, i);
    run.accept_sd = o->accept_sd;
    run.routing = o->routing;
    run.n_prefill = o->n_prefill;
    run.load_bytes_s = o->load_bytes_s;
    run.max_concurrency = (uint32_t)o->max_concurrency;
    return run;
}

int serving_check(const struct serving_cli *o, struct error *err)
{
    if (o->ramp_given && o->load.arrivals.ramp == RAMP_NONE)
        return error_set(err, ERROR_USAGE, "--ramp-up-start-rps and --ramp-up-end-rps: expected --ramp-up-strategy");
    if (o->draft_type && (!o->draft || serving_is_ngram(o) || serving_is_mtp(o)))
        return error_set(err, ERROR_USAGE, "--draft-type: expected --draft MODEL");
    if (o->load_given && o->n_prefill == 0 && !(o->deploy.kv_offloading_gib > 0))
        return error_set(err, ERROR_USAGE, "--kv-load-bandwidth: expected --prefill-replicas or --kv-offloading-size: nothing is loaded");
    return 0;
}

int serving_threads(const struct serving_cli *o)
{
    struct cpulist l;
    if (o->threads > 0)
        return (int)o->threads;
    if (cpulist_usable(&l, NULL) != 0)
        return 1;
    const int n = threads_within(l.n, cgroup_cpus(""));
    cpulist_free(&l);
    return n;
}

const char *serving_constants(char buf[17])
{
    return constants_digest(buf, NULL) == 0 ? buf : NULL;
}

/* ---- a model -------------------------------------------------------------------------------------------------------- */

bool serving_is_ngram(const struct serving_cli *o)
{
    return o->draft && strcmp(o->draft, "ngram") == 0;
}

bool serving_is_mtp(const struct serving_cli *o)
{
    return o->draft && strcmp(o->draft, "mtp") == 0;
}

static int open_nextn(struct serving_model *x, struct serving_cli *o, struct error *err)
{
    pricing_note_nextn(&x->m);
    if (nextn_init(&x->nextn, &x->m, err) != 0)
        return -1;
    if (nextn_classes_init(&x->nextn_classes, &x->nextn, &x->m, err) != 0) {
        nextn_free(&x->nextn);
        return -1;
    }
    o->deploy.draft = &x->nextn_classes;
    o->deploy.draft_nextn = true;
    return 0;
}

static int open_draft(struct serving_model *x, struct serving_cli *o, struct error *err)
{
    if (serving_is_ngram(o))
        o->deploy.look_ahead = 0; /* as vLLM: slots of look-ahead are of models that draft */
    if (!o->draft || serving_is_ngram(o))
        return 0;
    for (uint32_t i = 0; i < POLICY_MAX_DRAFT; i++)
        o->deploy.accept[i] = acceptance(o, i);
    if (serving_is_mtp(o))
        return open_nextn(x, o, err);
    if (model_load(&x->draft, o->draft, o->draft_type, err) != 0)
        return -1;
    if (model_classes_init(&x->draft_classes, &x->draft, err) != 0) {
        model_free(&x->draft);
        return -1;
    }
    o->deploy.draft = &x->draft_classes.classes;
    x->drafts = true;
    return 0;
}

static void close_draft(struct serving_model *x)
{
    op_classes_free(&x->nextn_classes);
    nextn_free(&x->nextn);
    if (!x->drafts)
        return;
    model_classes_free(&x->draft_classes);
    model_free(&x->draft);
}

int serving_model_open(struct serving_model *x, struct serving_cli *o, const struct str_list *hw, struct error *err)
{
    const bool slots = o->deploy.policy && strcmp(o->deploy.policy, "llama-server") == 0;
    const struct software_options so = { .stack = o->stack, .server = slots ? NULL : "vllm", .anchor = o->anchor };
    *x = (struct serving_model){ .software = NULL };
    if (pricing_model(&x->m, o->model, o->price.type, err) != 0)
        return -1;
    pricing_take_kv(&x->m, o->price.kv_type_given, &o->price.type_k, &o->price.type_v);
    const struct software_query query = { .materialized = o->price.materialized, .hw = hw, .model = o->model,
                                          .type = x->m.gguf ? NULL : x->m.type_name, .tp = (int)o->price.layout.tp };
    if (model_classes_init(&x->classes, &x->m, err) == 0) {
        if (software_load(&x->software, &so, &query, err) == 0 && open_draft(x, o, err) == 0) {
            if (x->software)
                software_serve(x->software);
            return 0;
        }
        software_free(x->software);
        model_classes_free(&x->classes);
    }
    model_free(&x->m);
    return -1;
}

void serving_model_close(struct serving_model *x)
{
    close_draft(x);
    software_free(x->software);
    model_classes_free(&x->classes);
    model_free(&x->m);
}

struct predict_options serving_predict_options(const struct serving_cli *o, const struct serving_model *x, const struct hwprofile *h)
{
    const struct time_source *time = software_time(x->software);
    return (struct predict_options){
        .time = time, .weights_bytes = NAN, .n_ubatch = time_ubatch(time, h, &x->m), .server = true, .type_k = o->price.type_k,
        .type_v = o->price.type_v, .layout = o->price.layout, .routing = &o->price.routing, .materialized = o->price.materialized,
        .n_prompt = 1, .n_gen = 1, .n_batch = 1,
    };
}
