/* Options of a model that a GPU shares with its host. */
#include "cli/offload.h"
#include "cli/cli.h"
#include "dataset/machine.h"
#include "dataset/measure.h"
#include <string.h>

static int parse_number(int *out, const char *arg, const char *option, struct error *err)
{
    int64_t n;
    if (strcmp(arg, "auto") == 0) {
        *out = OFFLOAD_AUTO;
        return 0;
    }
    if (strcmp(arg, "all") == 0) {
        *out = OFFLOAD_ALL;
        return 0;
    }
    if (parse_int(arg, 0, 1 << 20, option, &n, err) != 0)
        return -1;
    *out = (int)n;
    return 0;
}

/* Each --cpu-moe and --n-cpu-moe adds overrides in llama.cpp: all of them hold. Source: ggml-org/llama.cpp common/arg.cpp */
static int add_experts(struct offload_rule *r, int n, struct error *err)
{
    if (n != 0 && r->n_cpu_moe != 0 && (n == OFFLOAD_AUTO) != (r->n_cpu_moe == OFFLOAD_AUTO))
        return error_set(err, ERROR_USAGE, "--n-cpu-moe: auto, and a number or --cpu-moe: give one");
    if (r->n_cpu_moe != OFFLOAD_AUTO)
        r->n_cpu_moe = n == OFFLOAD_AUTO || n > r->n_cpu_moe ? n : r->n_cpu_moe;
    return 0;
}

static int parse_experts(struct offload_rule *r, const char *arg, struct error *err)
{
    int n;
    return parse_number(&n, arg, "-ncmoe", err) != 0 ? -1 : add_experts(r, n, err);
}

int offload_parse(int key, const char *arg, struct offload_cli *o, struct error *err)
{
    struct offload_rule *r = &o->rule;
    o->placed |= key == OFFLOAD_NGL || key == OFFLOAD_NCMOE || key == OFFLOAD_CMOE || key == OFFLOAD_OT || key == OFFLOAD_NKVO;
    switch (key) {
    case OFFLOAD_HOST_OPTION:
        return cli_text(&o->host, arg);
    case OFFLOAD_HOST_BANDWIDTH:
        return parse_double(arg, 0.1, 1e5, "--host-bandwidth", &o->host_gb_s, err);
    case OFFLOAD_NGL:
        return parse_number(&r->n_gpu_layers, arg, "-ngl", err);
    case OFFLOAD_NCMOE:
        return parse_experts(r, arg, err);
    case OFFLOAD_CMOE:
        return add_experts(r, OFFLOAD_ALL, err);
    case OFFLOAD_OT:
        if (r->n_override == OFFLOAD_PATTERNS)
            return error_set(err, ERROR_USAGE, "-ot: given more than %d times: separate patterns by commas", OFFLOAD_PATTERNS);
        r->override[r->n_override++] = arg;
        return 0;
    case OFFLOAD_NKVO:
        return cli_flag(&r->host_kv);
    case OFFLOAD_NOPO:
        return cli_flag(&r->host_multiplies);
    case OFFLOAD_NO_MMAP:
        return cli_flag(&r->pinned);
    default:
        return CLI_UNKNOWN;
    }
}

/* Of class CPU. */
static int assume_host(struct offload_host *x, struct error *err)
{
    bool found;
    if (machine_guess(&x->h, "a desktop CPU", &found, x->assumed, sizeof x->assumed, err) != 0)
        return -1;
    return found ? 0 : error_set(err, ERROR_INPUT, "--host: name the CPU of the machine that the GPU is in: no class of CPUs is known to assume one");
}

/* The first option that is of no use without a host; NULL: none is given. */
static const char *host_option(const struct offload_cli *o)
{
    return o->host ? "--host" : o->host_gb_s > 0 ? "--host-bandwidth" : o->rule.pinned ? "--no-mmap" : o->rule.host_multiplies ? "--no-op-offload" : NULL;
}

int offload_host_init(struct offload_host *x, const struct offload_cli *o, bool constants, struct error *err)
{
    *x = (struct offload_host){ .needless = host_option(o) };
    if (!o->placed)
        return x->needless ? error_set(err, ERROR_USAGE, "%s: nothing is on the host: give -ngl, --n-cpu-moe, -ot or --no-kv-offload", x->needless) : 0;
    if ((o->host ? machine_load(&x->h, o->host, err) : assume_host(x, err)) != 0)
        return -1;
    x->loaded = true;
    if (x->h.kind != HW_CPU)
        return error_set(err, ERROR_INPUT, "--host %.80s: a %s: expected a CPU (`roofcast list hw`)", o->host, hw_kind_name(x->h.kind));
    if (o->host_gb_s > 0 && hwprofile_bandwidth(&x->h, "DRAM", 0))
        return error_set(err, ERROR_USAGE, "--host-bandwidth: the bandwidth of %s is measured in its profile", x->h.id);
    if (o->host_gb_s > 0)
        machine_set_bandwidth(&x->h, 1e9 * o->host_gb_s, "given (--host-bandwidth)");
    if (constants && !(x->software = software_new(stack_named("llama.cpp-cpu"), false, NULL, 0, err)))
        return -1;
    x->o = (struct predict_offload){ o->rule, &x->h, software_time(x->software) };
    return 0;
}

int offload_note_unused(const struct offload_host *x, const struct model *m, struct error *err)
{
    const struct offload_rule *r = &x->o.rule;
    struct model_classes c;
    struct offload_split s;
    char text[256];
    if (!x->o.host || r->n_gpu_layers == OFFLOAD_AUTO || r->n_cpu_moe == OFFLOAD_AUTO || (r->n_cpu_moe == 0 && r->n_override == 0 && !x->needless))
        return 0;
    if (model_classes_init(&c, m, err) != 0)
        return -1;
    (void)offload_text(text, sizeof text, r);
    const int rc = offload_split_init(&s, r, m, &c.ops, err);
    if (rc == 0 && s.alone)
        notify_note("%s%sno tensor of %s is on the host, but for the embedding table%s%s%s", text, *text ? ": " : "", m->name,
                    r->n_cpu_moe > 0 && offload_last_expert_block(m) == 0 ? ": it has no experts" : "", x->needless ? "; without effect: " : "",
                    x->needless ? x->needless : "");
    if (rc == 0)
        offload_split_free(&s);
    model_classes_free(&c);
    return rc;
}

void offload_note_assumed(const struct offload_host *x)
{
    if (*x->assumed)
        notify_note("no --host: a desktop CPU with two channels of memory is assumed (%s)", x->assumed);
}

void offload_host_free(struct offload_host *x)
{
    software_free(x->software);
    if (x->loaded)
        hwprofile_free(&x->h);
    *x = (struct offload_host){ .loaded = false };
}

int offload_check_options(const struct predict_cli *o, struct error *err)
{
    const char *with = o->ask.explain ? "--explain" : o->ask.n_question ? "--solve" : o->draft.spec ? "--draft" : NULL;
    if (!offload_is_given(&o->offload.rule) || !with)
        return 0;
    return error_set(err, ERROR_USAGE, "%s: not of a model that is partly on the host (-ngl, --n-cpu-moe, -ot, --no-kv-offload)%s", with,
                     o->ask.explain ? ": the table of devices says what bounds" : o->ask.n_question ? ": -ngl auto and --n-cpu-moe auto find what fits" : "");
}
