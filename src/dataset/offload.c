/* Runs with layers or experts in the host's memory: the part of each device, and what crosses the bus. methods.md (111), (55) */
#include "dataset/workload_internal.h"
#include "predict/offload.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The CPU that an unnamed host is taken for; its class says how little that is. */
static const char assumed_host[] = "a desktop CPU";

/* The host's part, and a row of it: with that machine and without the GPU's facts. */
struct host_part {
    struct workload p; /* first: freed as the workload */
    struct measurement m;
};

/* The GPU's and the host's options of a row. auto: it says only that a part was on the host. */
static struct offload_rule rule_of(const struct workload *out, const struct row_model *s)
{
    const struct measurement *m = out->m;
    const struct measure_offload *f = &m->offload;
    struct offload_rule r = OFFLOAD_RULE_NONE;
    r.n_gpu_layers = f->stated || m->n_gpu_layers > 0 ? (m->n_gpu_layers > 0 ? m->n_gpu_layers : OFFLOAD_ALL) : OFFLOAD_AUTO;
    r.n_cpu_moe = f->n_cpu_moe;
    r.host_kv = f->host_kv;
    r.host_multiplies = f->host_multiplies;
    r.pinned = f->pinned;
    r.copied_tokens = offload_copied_tokens(out->stack->id, &s->m.hp);
    if (f->override && *f->override)
        r.override[r.n_override++] = f->override;
    return r;
}

/* Most layers, where the row does not say. */
static int settle(struct offload_rule *r, struct workload *out, const struct row_model *s, struct error *err)
{
    const struct predict_offload f = { *r, &out->machine->h, NULL };
    const struct predict_options o = { .weights_bytes = NAN, .n_prompt = 1, .n_gen = 1, .n_depth = (uint32_t)fmax(0, isnan(out->m->context) ? 0 : out->m->context),
                                       .n_batch = 1, .n_ubatch = TIME_UBATCH, .type_k = out->type_k, .type_v = out->type_v, .offload = &f };
    return offload_fit(r, &s->classes, &out->machine->h, &o, err);
}

static const struct machine *find_host(struct workload *out, struct error *err)
{
    const struct measure_offload *f = &out->m->offload;
    const char *const named = f->host ? f->host : "";
    char name[128];
    snprintf(name, sizeof name, "%.90s", *named ? named : assumed_host);
    if (f->host_bytes_s > 0)
        snprintf(name + strlen(name), sizeof name - strlen(name), "%s%.6g GB/s", MACHINE_BANDWIDTH_MARK, f->host_bytes_s / 1e9);
    const struct machine *host = workload_builder_machine(out->builder, name, false, err);
    if (host && host->loaded && host->h.kind != HW_CPU)
        host = workload_builder_machine(out->builder, assumed_host, false, err);
    if (host && host->loaded && !*named)
        out->guesses |= GUESS_HOST;
    return host;
}

static struct host_part *host_part_new(const struct workload *out, const struct machine *host, struct error *err)
{
    struct host_part *x = malloc(sizeof *x);
    if (!x) {
        error_oom(err, sizeof *x, "the host's part of a row");
        return NULL;
    }
    x->p = *out;
    x->m = *out->m;
    x->m.hardware = host->hardware;
    x->m.engine = "llama.cpp (CPU)";
    x->m.tags = (out->m->tags & ~(unsigned)TAG_PARTIAL_OFFLOAD) | TAG_CPU;
    x->m.n_threads = out->m->offload.n_threads;
    x->m.n_gpu_layers = 0;
    x->m.other_gpus = false;
    x->p.m = &x->m;
    x->p.machine = host;
    x->p.stack = stack_named("llama.cpp-cpu");
    x->p.pass = NULL;
    x->p.n_pass = 0;
    x->p.borrowed = false;
    x->p.host = NULL;
    x->p.guesses = host->guesses & ~(unsigned)GUESS_LINK;
    x->p.roofs = machine_roofs(host, x->m.n_threads, host->link_bytes_s, host->link_latency_s, err);
    if (x->p.roofs)
        return x;
    free(x);
    return NULL;
}

static bool is_offloadable(const struct workload *out)
{
    return out->machine->h.kind == HW_GPU && out->n_devices <= 1 && workload_is_offloaded(out) && !out->m->other_gpus &&
           (out->stack->family == STACK_LLAMA_CPP || out->stack->family == STACK_IK || out->stack->family == STACK_OTHER);
}

int workload_offload(struct workload *out, struct offload_split *split, const struct row_model *s, struct error *err)
{
    struct offload_rule r = rule_of(out, s);
    struct error e = { 0 };
    if (!is_offloadable(out))
        return 0;
    const struct machine *const host = find_host(out, err);
    if (!host)
        return -1;
    if (!host->loaded)
        return workload_reject(out, "partly in the memory of host \"%.80s\", which is unknown: %.120s", host->hardware, host->reason);
    if (settle(&r, out, s, &e) != 0 || offload_split_init(split, &r, &s->m, &s->ops, &e) != 0)
        return error_is_fatal(&e) ? error_set(err, e.kind, "%s", e.msg) : workload_reject(out, "partly on the host: %.220s", e.msg);
    struct host_part *const x = split->alone ? NULL : host_part_new(out, host, &e);
    if (!x) {
        const bool alone = split->alone;
        offload_split_free(split);
        if (alone)
            return 0;
        return error_is_fatal(&e) ? error_set(err, e.kind, "%s", e.msg) : workload_reject(out, "host \"%.80s\": %.160s", host->hardware, e.msg);
    }
    const struct offload_bus bus = offload_bus_of(&out->machine->h, r.pinned, false);
    out->bus_ln_sd = bus.ln_sd;
    out->host = &x->p;
    out->split_offload = split;
    out->pinned = r.pinned;
    return 0;
}

/* Seconds on the bus of passes of one shape. */
void workload_add_bus(struct workload *out, const struct offload_passes *x, const struct pass_request *r)
{
    const struct offload_bus bus = offload_bus_of(&out->machine->h, out->pinned, false);
    const struct cost_options o = { .act_elem_bytes = 2, .type_k = out->type_k, .type_v = out->type_v };
    const struct offload_traffic t = offload_traffic(x, &o, &r->pass);
    out->bus_s += r->times * offload_bus_s(&bus, &t);
}
