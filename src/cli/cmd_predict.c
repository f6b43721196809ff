/* roofcast predict: tokens/s, TTFT, ITL, bound and fit of a model on machines that need not be here. */
#include "cli/pricing.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

struct options {
    const char *model, *type, *hw, *save;
    const char *n_prompt, *n_gen, *n_depth, *n_batch; /* lists */
    int64_t n_ubatch, threads;
    bool roof, weights_only, weights_all, by_role;
    double weights_gb; /* NaN: counted */
    enum dtype type_k, type_v;
    enum report_format format;
};

enum { OPT_HW = 256, OPT_UB, OPT_ROOF, OPT_WEIGHTS, OPT_WEIGHTS_ONLY, OPT_BY, OPT_KV, OPT_CTK, OPT_CTV, OPT_SAVE };

static const struct argp_option option_table[] = {
    { "model", 'm', "MODEL", 0, "the model, instead of the first argument", 0 },
    { "hw", OPT_HW, "NAME|FILE,...", 0, "machines: names (`roofcast list hw`), profile files, or `this` (default)", 0 },
    { "n-prompt", 'p', "N,...", 0, "prompt tokens (512; 0: no prefill)", 0 },
    { "n-gen", 'n', "N,...", 0, "tokens generated: decode is their mean step (128; 0: no decode)", 0 },
    { "n-depth", 'd', "N,...", 0, "tokens in the KV cache before (0)", 0 },
    { "n-batch", 'b', "N,...", 0, "sequences together (1)", 0 },
    { "ub", OPT_UB, "N", 0, "prompt tokens a pass (512)", 0 },
    { "ubatch-size", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "type", 'q', "TYPE", 0, "tensor type or mixture of a model that is not a GGUF (F16)", 0 },
    { "threads", 't', "N", 0, "CPUs: threads (all)", 0 },
    { "roof", OPT_ROOF, NULL, 0, "the bound itself: no efficiency factors, no launch cost, activations stay on the chip", 0 },
    { "weights-gb", OPT_WEIGHTS, "X|all", 0,
      "a nominal model: X GB of weights, each read once a pass, 2 FLOP a weight and token, nothing else; `all`: every "
      "tensor of the model, the embedding table too", 0 },
    { "weights-only", OPT_WEIGHTS_ONLY, NULL, 0, "leave out KV cache, activations and attention", 0 },
    { "by", OPT_BY, "phase|role", 0, "a row a phase (default) or a role", 0 },
    { "kv-type", OPT_KV, "TYPE", 0, "type of the KV cache, keys and values (F16)", 0 },
    { "ctk", OPT_CTK, "TYPE", 0, "type of the keys in the KV cache (F16)", 0 },
    { "cache-type-k", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "ctv", OPT_CTV, "TYPE", 0, "type of the values in the KV cache (F16)", 0 },
    { "cache-type-v", 0, NULL, OPTION_ALIAS, NULL, 0 },
    { "output", 'o', "FORMAT", 0, "table (default), csv, json, jsonl or md", 0 },
    { "save", OPT_SAVE, "FILE", 0, "also write the JSON to FILE", 0 },
    { 0 },
};

static int parse_weights(const char *arg, struct options *o, struct error *err)
{
    o->weights_all = strcmp(arg, "all") == 0;
    return o->weights_all ? 0 : parse_double(arg, 1e-6, 1e9, "--weights-gb", &o->weights_gb, err);
}

static int parse_by(const char *arg, struct options *o, struct error *err)
{
    o->by_role = strcmp(arg, "role") == 0;
    if (o->by_role || strcmp(arg, "phase") == 0)
        return 0;
    return error_set(err, ERROR_USAGE, "--by: expected phase or role, found \"%s\"", arg);
}

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    switch (key) {
    case 'm':
    case ARGP_KEY_ARG:
        return cli_text_once(&o->model, arg, "model", err);
    case 'p':
        return cli_text(&o->n_prompt, arg);
    case 'n':
        return cli_text(&o->n_gen, arg);
    case 'd':
        return cli_text(&o->n_depth, arg);
    case 'b':
        return cli_text(&o->n_batch, arg);
    case 'q':
        return cli_text(&o->type, arg);
    case 't':
        return parse_int(arg, 1, 1 << 20, "-t", &o->threads, err);
    case 'o':
        return report_format_find(arg, &o->format, err);
    case OPT_HW:
        return cli_text(&o->hw, arg);
    case OPT_UB:
        return parse_int(arg, 1, INT32_MAX, "-ub", &o->n_ubatch, err);
    case OPT_ROOF:
        return cli_flag(&o->roof);
    case OPT_WEIGHTS:
        return parse_weights(arg, o, err);
    case OPT_WEIGHTS_ONLY:
        return cli_flag(&o->weights_only);
    case OPT_BY:
        return parse_by(arg, o, err);
    case OPT_KV:
        return pricing_kv_type(&o->type_k, &o->type_v, arg, err);
    case OPT_CTK:
        return cli_kv_type(&o->type_k, arg, err);
    case OPT_CTV:
        return cli_kv_type(&o->type_v, arg, err);
    case OPT_SAVE:
        return cli_text(&o->save, arg);
    default:
        return CLI_UNKNOWN;
    }
}

/* ---- rows ------------------------------------------------------------------------------- */

struct lists {
    struct int_list p, n, d, b;
};

/* One row's subject: a machine, a scenario, and which phase of it. */
struct subject {
    const struct model *m;
    const struct hwprofile *h;
    struct predict_options o;
    struct predict_result r;
    enum phase phase;
    const struct options *options;
};

static const struct prediction *subject_prediction(const struct subject *s)
{
    return s->phase == PHASE_PREFILL ? &s->r.prefill : &s->r.decode;
}

static json_t *test_json(const struct subject *s)
{
    char name[64];
    pricing_test_name(name, sizeof name, s->phase, s->phase == PHASE_PREFILL ? s->o.n_prompt : s->o.n_gen, s->o.n_batch,
                      s->o.n_depth);
    return json_string(name);
}

/* What was asked for instead of the model's own work: a figure priced so is nominal. */
static int put_nominal(json_t *j, const struct options *o)
{
    int bad = json_object_set_new(j, "weights_gb", o->weights_all ? json_string("all") : json_num(o->weights_gb));
    bad |= json_object_set_new(j, "weights_only", json_boolean(o->weights_only));
    return bad;
}

static int put_subject(json_t *j, const struct subject *s)
{
    int bad = json_object_set_new(j, "model", json_string(s->m->name));
    bad |= json_object_set_new(j, "hw", json_string(s->h->id));
    bad |= json_object_set_new(j, "type", json_string(s->m->type_name));
    bad |= json_object_set_new(j, "test", test_json(s));
    bad |= json_object_set_new(j, "phase", json_string(phase_name(s->phase)));
    bad |= json_object_set_new(j, "n_prompt", json_integer(s->o.n_prompt));
    bad |= json_object_set_new(j, "n_gen", json_integer(s->o.n_gen));
    bad |= json_object_set_new(j, "n_depth", json_integer(s->o.n_depth));
    bad |= json_object_set_new(j, "n_batch", json_integer(s->o.n_batch));
    bad |= json_object_set_new(j, "n_ubatch", json_integer(s->o.n_ubatch));
    bad |= pricing_put_kv_types(j, s->o.type_k, s->o.type_v);
    bad |= put_nominal(j, s->options);
    return bad;
}

/* What holds for the scenario, in each of its rows. */
static int put_scenario(json_t *j, const struct subject *s)
{
    const struct predict_result *r = &s->r;
    int bad = json_object_set_new(j, "ttft_s", json_num(r->ttft_s));
    bad |= json_object_set_new(j, "itl_s", json_num(r->itl_s));
    bad |= json_object_set_new(j, "fits", r->fits < 0 ? json_null() : json_boolean(r->fits));
    bad |= json_object_set_new(j, "need_bytes", json_num(r->need_bytes));
    bad |= json_object_set_new(j, "memory_bytes", json_num(r->mem_bytes));
    bad |= json_object_set_new(j, "weight_total_bytes", json_num(r->weight_total_bytes));
    bad |= json_object_set_new(j, "kv_total_bytes", json_num(r->kv_total_bytes));
    bad |= json_object_set_new(j, "act_peak_bytes", json_num(r->act_peak_bytes));
    return bad;
}

/* The roofs the phase was priced with, for charts and for whoever doubts the number. */
static int put_roofs(json_t *j, const struct prediction *p)
{
    int bad = json_object_set_new(j, "bandwidth_bytes_s", json_num(p->bandwidth_bytes_s));
    bad |= json_object_set_new(j, "bandwidth_source", json_string(p->bandwidth_source));
    bad |= json_object_set_new(j, "peak_flop_s", json_num(p->peak_flop_s));
    bad |= json_object_set_new(j, "peak_source", json_string(p->peak_source));
    bad |= json_object_set_new(j, "math", json_string(p->math));
    bad |= json_object_set_new(j, "derived", json_boolean(p->derived));
    return bad;
}

static bool role_used(const struct predict_role *r)
{
    return r->seconds > 0 || cost_bytes(&r->cost) > 0;
}

static int put_role(json_t *j, const struct prediction *p, const struct predict_role *r)
{
    int bad = json_object_set_new(j, "role", json_string(op_role_name(r->role)));
    bad |= json_object_set_new(j, "seconds", json_num(r->seconds));
    bad |= json_object_set_new(j, "share", json_num(p->seconds > 0 ? r->seconds / p->seconds : NAN));
    bad |= json_object_set_new(j, "flop_s", json_num(r->seconds > 0 ? r->cost.flop / r->seconds : NAN));
    bad |= json_object_set_new(j, "bound", json_string(bound_name(r->bound)));
    bad |= pricing_put_cost(j, &r->cost);
    return bad;
}

static json_t *roles_json(const struct prediction *p)
{
    json_t *roles = json_array();
    for (int i = 0; i < ROLE_COUNT; i++) {
        json_t *j = role_used(&p->role[i]) ? json_object() : NULL;
        if (j && (put_role(j, p, &p->role[i]) | json_array_append_new(roles, j)) != 0) {
            json_decref(roles);
            return NULL;
        }
    }
    return roles;
}

static int put_prediction(json_t *j, const struct prediction *p)
{
    int bad = json_object_set_new(j, "role", json_null());
    bad |= json_object_set_new(j, "seconds", json_num(p->seconds));
    bad |= json_object_set_new(j, "tok_s", json_num(p->tok_s));
    bad |= pricing_put_cost(j, &p->cost);
    bad |= json_object_set_new(j, "bound", json_string(bound_name(p->bound)));
    bad |= json_object_set_new(j, "memory_s", json_num(p->memory_s));
    bad |= json_object_set_new(j, "compute_s", json_num(p->compute_s));
    /* Both busy at best: what each side needs of the time the phase takes. */
    bad |= json_object_set_new(j, "memory_share", json_num(p->memory_s / p->seconds));
    bad |= json_object_set_new(j, "compute_share", json_num(p->compute_s / p->seconds));
    bad |= json_object_set_new(j, "flop_s", json_num(p->cost.flop / p->seconds));
    return bad;
}

static int add_row(json_t *rows, const struct subject *s, const struct predict_role *role)
{
    const struct prediction *p = subject_prediction(s);
    json_t *j = json_object();
    int bad = put_subject(j, s);
    if (role) {
        bad |= put_role(j, p, role);
        bad |= json_object_set_new(j, "tok_s", json_num(p->tok_s));
    } else {
        bad |= put_prediction(j, p);
    }
    bad |= put_scenario(j, s);
    bad |= put_roofs(j, p);
    if (!role)
        bad |= json_object_set_new(j, "roles", roles_json(p));
    return json_array_append_new(rows, j) | bad;
}

static int add_rows(json_t *rows, const struct options *o, const struct subject *s, struct error *err)
{
    const struct prediction *p = subject_prediction(s);
    int bad = 0;
    if (!o->by_role)
        bad = add_row(rows, s, NULL);
    for (int i = 0; o->by_role && i < ROLE_COUNT; i++)
        if (role_used(&p->role[i]))
            bad |= add_row(rows, s, &p->role[i]);
    return bad ? error_oom(err, 0, "the rows") : 0;
}

/* ---- every machine, depth, batch, prompt, generation --------------------------------------- */

static int predict_one(json_t *rows, const struct options *o, struct subject *s, struct error *err)
{
    return predict(&s->r, s->m, s->h, &s->o, err) != 0 ? -1 : add_rows(rows, o, s, err);
}

/* A prefill row a prompt (with the first generation beside it), a decode row a generation (with the first prompt). */
static int predict_lists(json_t *rows, const struct options *o, const struct lists *l, struct subject *s,
                         struct error *err)
{
    for (size_t i = 0; i < l->p.n; i++) {
        s->o.n_prompt = (uint32_t)l->p.v[i];
        s->o.n_gen = (uint32_t)l->n.v[0];
        s->phase = PHASE_PREFILL;
        if (s->o.n_prompt > 0 && predict_one(rows, o, s, err) != 0)
            return -1;
    }
    for (size_t i = 0; i < l->n.n; i++) {
        s->o.n_prompt = (uint32_t)l->p.v[0];
        s->o.n_gen = (uint32_t)l->n.v[i];
        s->phase = PHASE_DECODE;
        if (s->o.n_gen > 0 && predict_one(rows, o, s, err) != 0)
            return -1;
    }
    return 0;
}

static int predict_machine(json_t *rows, const struct options *o, const struct lists *l, const struct model *m,
                           const char *hw, struct error *err)
{
    struct hwprofile h;
    if (cli_hwprofile_load(&h, hw, err) != 0)
        return -1;
    struct subject s = { .m = m, .h = &h, .options = o };
    s.o = (struct predict_options){
        .roof = o->roof,
        .weights_only = o->weights_only,
        .weights_bytes = o->weights_all ? (double)m->weight_bytes : o->weights_gb * 1e9,
        .n_threads = (int)o->threads,
        .n_ubatch = (uint32_t)o->n_ubatch,
        .type_k = o->type_k,
        .type_v = o->type_v,
    };
    int rc = 0;
    for (size_t i = 0; i < l->d.n && rc == 0; i++)
        for (size_t k = 0; k < l->b.n && rc == 0; k++) {
            s.o.n_depth = (uint32_t)l->d.v[i];
            s.o.n_batch = (uint32_t)l->b.v[k];
            rc = predict_lists(rows, o, l, &s, err);
        }
    hwprofile_free(&h);
    return rc;
}

/* ---- printing -------------------------------------------------------------------------------- */

static const struct column phase_columns[] = {
    { "model", "model", COL_TEXT, NULL, true },
    { "hw", "hw", COL_TEXT, NULL, false },
    { "type", "type", COL_TEXT, NULL, false },
    { "phase", "phase", COL_TEXT, NULL, true },
    { "test", "test", COL_TEXT, NULL, false },
    { "n_prompt", NULL, COL_INT, NULL, true },
    { "n_gen", NULL, COL_INT, NULL, true },
    { "n_depth", NULL, COL_INT, NULL, true },
    { "n_batch", NULL, COL_INT, NULL, true },
    { "n_ubatch", NULL, COL_INT, NULL, true },
    { "tok_s", "tokens/s", COL_FLOAT, NULL, false },
    { "seconds", "TTFT / ITL", COL_SECONDS, NULL, false },
    { "bound", "bound", COL_TEXT, NULL, false },
    { "memory_s", "memory", COL_SECONDS, NULL, false },
    { "compute_s", "compute", COL_SECONDS, NULL, false },
    { "compute_share", "busy", COL_FRACTION, NULL, false },
    { "memory_share", NULL, COL_FRACTION, NULL, true },
    { "weight_bytes", "weights", COL_SI, "B", false },
    { "act_bytes", NULL, COL_SI, "B", true },
    { "kv_bytes", "KV", COL_SI, "B", false },
    { "flop", "FLOP", COL_SI, "", false },
    { "ai", NULL, COL_FLOAT, NULL, true },
    { "ttft_s", "TTFT", COL_SECONDS, NULL, true },
    { "itl_s", "ITL", COL_SECONDS, NULL, true },
    { "need_bytes", "needs", COL_SI, "B", false },
    { "memory_bytes", NULL, COL_SI, "B", true },
    { "fits", "fits", COL_BOOL, NULL, false },
    { "math", NULL, COL_TEXT, NULL, true },
    { "peak_flop_s", NULL, COL_SI, "FLOP/s", true },
    { "peak_source", NULL, COL_TEXT, NULL, true },
    { "bandwidth_bytes_s", NULL, COL_SI, "B/s", true },
    { "bandwidth_source", NULL, COL_TEXT, NULL, true },
    { "derived", NULL, COL_BOOL, NULL, true },
    { "role", NULL, COL_TEXT, NULL, true },
    { "flop_s", NULL, COL_SI, "FLOP/s", true },
    { "weight_total_bytes", NULL, COL_SI, "B", true },
    { "kv_total_bytes", NULL, COL_SI, "B", true },
    { "act_peak_bytes", NULL, COL_SI, "B", true },
    { "weights_gb", NULL, COL_TEXT, NULL, true },
    { "weights_only", NULL, COL_BOOL, NULL, true },
    { "type_k", NULL, COL_TEXT, NULL, true },
    { "type_v", NULL, COL_TEXT, NULL, true },
};

static const struct column role_columns[] = {
    { "model", "model", COL_TEXT, NULL, true },
    { "hw", "hw", COL_TEXT, NULL, false },
    { "type", "type", COL_TEXT, NULL, true },
    { "phase", "phase", COL_TEXT, NULL, true },
    { "test", "test", COL_TEXT, NULL, false },
    { "n_prompt", NULL, COL_INT, NULL, true },
    { "n_gen", NULL, COL_INT, NULL, true },
    { "n_depth", NULL, COL_INT, NULL, true },
    { "n_batch", NULL, COL_INT, NULL, true },
    { "role", "role", COL_TEXT, NULL, false },
    { "seconds", "seconds", COL_SECONDS, NULL, false },
    { "share", "of time", COL_FRACTION, NULL, false },
    { "bound", "bound", COL_TEXT, NULL, false },
    { "weight_bytes", "weights", COL_SI, "B", false },
    { "act_bytes", "act", COL_SI, "B", false },
    { "kv_bytes", "KV", COL_SI, "B", false },
    { "flop", "FLOP", COL_SI, "", false },
    { "ai", "FLOP/B", COL_FLOAT, NULL, false },
    { "flop_s", "FLOP/s", COL_SI, "", false },
    { "n_ubatch", NULL, COL_INT, NULL, true },
    { "tok_s", NULL, COL_FLOAT, NULL, true },
    { "ttft_s", NULL, COL_SECONDS, NULL, true },
    { "itl_s", NULL, COL_SECONDS, NULL, true },
    { "need_bytes", NULL, COL_SI, "B", true },
    { "memory_bytes", NULL, COL_SI, "B", true },
    { "fits", NULL, COL_BOOL, NULL, true },
    { "weight_total_bytes", NULL, COL_SI, "B", true },
    { "kv_total_bytes", NULL, COL_SI, "B", true },
    { "act_peak_bytes", NULL, COL_SI, "B", true },
    { "math", NULL, COL_TEXT, NULL, true },
    { "peak_flop_s", NULL, COL_SI, "FLOP/s", true },
    { "peak_source", NULL, COL_TEXT, NULL, true },
    { "bandwidth_bytes_s", NULL, COL_SI, "B/s", true },
    { "bandwidth_source", NULL, COL_TEXT, NULL, true },
    { "derived", NULL, COL_BOOL, NULL, true },
    { "weights_gb", NULL, COL_TEXT, NULL, true },
    { "weights_only", NULL, COL_BOOL, NULL, true },
    { "type_k", NULL, COL_TEXT, NULL, true },
    { "type_v", NULL, COL_TEXT, NULL, true },
};

static const char *text(const json_t *row, const char *key)
{
    const char *s = json_string_value(json_object_get(row, key));
    return s ? s : "?";
}

static double number(const json_t *row, const char *key)
{
    const json_t *v = json_object_get(row, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static void print_roof(const char *hw, const char *what, double v, const char *unit, const char *source)
{
    char b[40];
    printf("%-14s  %-6s  %-12s  %s\n", hw, what, units_si(b, sizeof b, v, unit), source);
}

/* Which roofs stood behind the rows: two lines a machine and operand type. */
static void print_roofs(const json_t *rows, bool roof)
{
    const json_t *last = NULL;
    printf("\n");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *r = json_array_get(rows, i);
        if (last && strcmp(text(r, "hw"), text(last, "hw")) == 0 && strcmp(text(r, "math"), text(last, "math")) == 0)
            continue;
        last = r;
        print_roof(text(r, "hw"), "memory", number(r, "bandwidth_bytes_s"), "B/s", text(r, "bandwidth_source"));
        print_roof("", text(r, "math"), number(r, "peak_flop_s"), "FLOP/s", text(r, "peak_source"));
    }
    printf("\npp: seconds to the first token (TTFT); tg: seconds between tokens (ITL). memory, compute: what either side\n"
           "alone would take; busy: compute over the phase's seconds.\n");
    printf(roof ? "An upper bound on tokens/s: no efficiency factors, activations stay on the chip.\n"
                : "Roofs are after the profile's efficiency factors; --roof prices the bound itself.\n");
}

static int print_all(const json_t *rows, const struct options *o, const struct model *m, struct error *err)
{
    const bool readable = o->format == REPORT_TABLE || o->format == REPORT_MD;
    json_t *meta = json_pack("{s:s, s:s, s:b}", "model", m->name, "type", m->type_name, "roof", o->roof);
    const struct report_doc d = { "roofcast.predict", 1, meta, rows, o->by_role ? role_columns : phase_columns,
                                  o->by_role ? ARRAY_LEN(role_columns) : ARRAY_LEN(phase_columns) };
    int rc = meta && put_nominal(meta, o) == 0 ? 0 : error_oom(err, 0, "the prediction");
    if (rc == 0 && o->save)
        rc = cli_report(o->save, REPORT_JSON, &d, err);
    if (rc == 0 && o->format == REPORT_TABLE)
        printf("%s, %s\n\n", m->name, m->type_name);
    fflush(stdout);
    if (rc == 0)
        rc = cli_report(NULL, o->format, &d, err);
    if (rc == 0 && readable)
        print_roofs(rows, o->roof);
    json_decref(meta);
    return rc;
}

static int64_t largest(const struct int_list *l)
{
    int64_t max = 0;
    for (size_t i = 0; i < l->n; i++)
        max = l->v[i] > max ? l->v[i] : max;
    return max;
}

static void warn_context(const struct model *m, const struct lists *l)
{
    const int64_t p = largest(&l->p), n = largest(&l->n), context = largest(&l->d) + (p > n ? p : n);
    if (context > m->hp.n_ctx_train)
        cli_warn("%s: a context of %" PRId64 " tokens, the model was trained on %u", m->name, context,
                 m->hp.n_ctx_train);
}

static int run(const struct options *o, const struct lists *l, const struct str_list *hw, struct error *err)
{
    struct model m;
    if (pricing_model(&m, o->model, o->type, err) != 0)
        return -1;
    warn_context(&m, l);
    json_t *rows = json_array();
    int rc = cli_keep_input(m.path, m.gguf, "--save", o->save, err);
    for (size_t i = 0; i < hw->n && rc == 0; i++)
        rc = predict_machine(rows, o, l, &m, hw->v[i], err);
    if (rc == 0 && json_array_size(rows) == 0)
        rc = error_set(err, ERROR_USAGE, "-p 0 and -n 0: neither a prompt nor a generation to predict");
    if (rc == 0)
        rc = print_all(rows, o, &m, err);
    json_decref(rows);
    model_free(&m);
    return rc;
}

int cmd_predict(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Tokens/s, time to first token, time between tokens, bound and memory of a model on any profiled machine. "
        "MODEL is a .gguf file, a Hugging Face config.json, or a name from `roofcast list models`.\v"
        "Each op takes the longer of FLOP / peak and bytes / bandwidth; a phase is the sum of its ops. Peaks and "
        "bandwidths are the datasheet's, or measured (`roofcast profile`) for CPUs; efficiency factors say how much of "
        "them software reaches, --roof leaves them out. A machine nobody profiled needs only a memory bandwidth and "
        "one peak: doc/formats.md.\n\n"
        "  roofcast predict llama-3-8b --hw h100-sxm,rtx-4090 -q Q8_0\n"
        "  roofcast predict model.gguf --hw this -p 512,2048 -n 128 -d 0,4096\n"
        "  roofcast predict llama-3-8b --hw h100-sxm --roof -n 1 --weights-only\n"
        "  roofcast predict llama-3-8b --hw h100-sxm --roof --weights-gb 16 -p 6 -n 1\n"
        "  roofcast predict llama-3.1-70b --hw h200 -b 1,8,64 --by role\n";
    static const struct cli_syntax syntax = { option_table, parse, "MODEL", doc };
    struct options o = { .hw = "this", .n_prompt = "512", .n_gen = "128", .n_depth = "0", .n_batch = "1",
                         .n_ubatch = 512, .weights_gb = NAN, .type_k = DTYPE_F16, .type_v = DTYPE_F16, .format = REPORT_TABLE };
    struct lists l = { 0 };
    struct str_list hw = { 0 };
    int rc = -1;
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    if (int_list_parse(&l.p, o.n_prompt, 0, INT32_MAX, "-p", err) == 0 &&
        int_list_parse(&l.n, o.n_gen, 0, INT32_MAX, "-n", err) == 0 &&
        int_list_parse(&l.d, o.n_depth, 0, INT32_MAX, "-d", err) == 0 &&
        int_list_parse(&l.b, o.n_batch, 1, 65536, "-b", err) == 0 && str_list_parse(&hw, o.hw, "--hw", err) == 0)
        rc = run(&o, &l, &hw, err);
    int_list_free(&l.p);
    int_list_free(&l.n);
    int_list_free(&l.d);
    int_list_free(&l.b);
    str_list_free(&hw);
    return rc;
}
