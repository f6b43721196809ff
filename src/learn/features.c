/* Rows with every feature of their work, one a line, for external fits. doc/formats.md */
#include "learn/score.h"
#include <math.h>
#include <string.h>

static void text(FILE *f, const char *s)
{
    if (!strpbrk(s, ",\"\r\n")) {
        fputs(s, f);
        return;
    }
    putc('"', f);
    for (; *s; s++) {
        if (*s == '"')
            putc('"', f);
        putc(*s, f);
    }
    putc('"', f);
}

/* Empty where unknown. */
static void number(FILE *f, double v)
{
    if (isfinite(v))
        fprintf(f, "%.9g", v);
}

static const struct {
    unsigned bit;
    const char *name;
} guesses[] = {
    { GUESS_MODEL, "model" },     { GUESS_QUANT, "quant" },   { GUESS_ACTIVE, "active" },       { GUESS_CONTEXT, "context" },
    { GUESS_BATCH, "batch" },     { GUESS_LENGTH, "length" }, { GUESS_PEAK, "peak" },           { GUESS_BANDWIDTH, "bandwidth" },
    { GUESS_LINK, "link" },       { GUESS_LAYOUT, "layout" }, { GUESS_WEIGHT, "weight" },       { GUESS_MACHINE, "machine" },
    { GUESS_BITS, "bits" },       { GUESS_HOST, "host" },
};

const char *guess_text(char *buf, size_t size, unsigned g)
{
    size_t n = 0;
    *buf = 0;
    for (size_t i = 0; i < ARRAY_LEN(guesses); i++)
        if ((g & guesses[i].bit) && n < size)
            n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? " " : "", guesses[i].name);
    return buf;
}

static void phase_header(FILE *f, const char *name)
{
    static const char *const what[] = { "passes", "n_tok", "n_past", "n_seq", "weight_bytes", "product_weight_bytes", "kv_bytes",
                                        "act_bytes", "flop", "n_op", "n_launch", "n_exchange", "comm_bytes" };
    for (size_t i = 0; i < ARRAY_LEN(what); i++)
        fprintf(f, ",%s_%s", name, what[i]);
    for (int m = 0; m < MATH_COUNT; m++)
        fprintf(f, ",%s_flop_%s", name, math_name((enum math)m));
}

static void phase_numbers(FILE *f, const struct workload *p, enum phase phase)
{
    const struct work_sum s = work_sum(p, phase);
    const struct work_pass *w = NULL;
    for (size_t i = 0; i < p->n_pass; i++)
        w = p->pass[i].at.phase == phase ? &p->pass[i] : w;
    const double v[] = { s.n_pass, w ? w->at.n_tok : NAN, w ? w->at.n_past : NAN, w ? w->at.n_seq : NAN, s.cost.weight_bytes,
                         s.product_weight_bytes, s.cost.kv_bytes, s.cost.act_bytes, s.cost.flop, s.n_op, s.n_launch, s.n_collective,
                         s.comm_bytes };
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        putc(',', f);
        number(f, v[i]);
    }
    for (int m = 0; m < MATH_COUNT; m++) {
        putc(',', f);
        number(f, s.flop_math[m]);
    }
}

static void header(FILE *f)
{
    fputs("line,id,source,hardware,profile,class,engine,stack,version,model,preset,type,quant,kind,phase,metric,clean,tags,split,"
          "op,topology,measured_s,value,reason,guesses,"
          "n_devices,per_node,tp,pp,dp,ep,dilute,n_threads,n_ubatch,params_b,weight_gib,n_params,n_active,bits_weight,model_bytes,"
          "n_layer,n_embd,n_expert,n_expert_used,batch,prompt,context,out,n_users,m,k,n,bytes,"
          "mem_bw,link_bw,link_latency", f);
    for (int m = 0; m < MATH_COUNT; m++)
        fprintf(f, ",peak_%s", math_name((enum math)m));
    phase_header(f, "prefill");
    phase_header(f, "decode");
    fputs("\n", f);
}


static void words(FILE *f, const struct workload *p)
{
    char guess[128], source[256], tags[16];
    const struct measurement *m = p->m;
    snprintf(tags, sizeof tags, "%u", m->tags);
    const char *const v[] = {
        m->id, measure_publisher(m, source, sizeof source), m->hardware, p->machine->profile, p->machine->class_name, m->engine, p->stack->id,
        m->version, m->model, p->preset, p->type, m->quant, p->moe ? "moe" : "dense",
        measure_phase_name(m->phase), measure_metric_name(m->metric), is_clean(m) ? "yes" : "no", tags,
        split_name(p->split), m->op, m->topology,
    };
    fprintf(f, "%zu", m->line);
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        putc(',', f);
        text(f, v[i]);
    }
    putc(',', f);
    number(f, p->measured_s);
    putc(',', f);
    number(f, m->value);
    putc(',', f);
    text(f, p->reason);
    putc(',', f);
    text(f, guess_text(guess, sizeof guess, p->guesses));
}

static void numbers(FILE *f, const struct workload *p)
{
    const struct measurement *m = p->m;
    const double v[] = {
        p->n_devices, m->per_node, p->layout.tp, p->layout.pp, p->layout.dp, p->layout.ep, p->replication, m->n_threads, m->n_ubatch,
        m->params_b, m->weight_gib, p->n_params, p->n_active, p->bits_weight, p->model_bytes, p->n_layer, p->n_embd,
        p->n_expert, p->n_expert_used, p->batch, p->prompt, p->context, p->out, p->n_users, m->m, m->k, m->n, m->bytes,
        p->roofs ? p->roofs->bytes_s : NAN, p->roofs ? p->roofs->link_bytes_s : NAN, p->roofs ? p->roofs->link_latency_s : NAN,
    };
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        putc(',', f);
        number(f, v[i]);
    }
    for (int k = 0; k < MATH_COUNT; k++) {
        putc(',', f);
        number(f, p->roofs ? p->roofs->peak[k].flop_s : NAN);
    }
    phase_numbers(f, p, PHASE_PREFILL);
    phase_numbers(f, p, PHASE_DECODE);
    putc('\n', f);
}

int features_save(const struct workload *rows, size_t n, const char *path, struct error *err)
{
    struct outfile o;
    if (outfile_open(&o, path, err) != 0)
        return -1;
    header(o.f);
    for (size_t i = 0; i < n; i++) {
        words(o.f, &rows[i]);
        numbers(o.f, &rows[i]);
    }
    return outfile_commit(&o, err);
}
