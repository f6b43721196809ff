/* roofcast predict: options of requests, changes, questions, power and price. */
#include "cli/predict_options.h"
#include "report/predict_report.h"
#include <stdlib.h>
#include <string.h>

static int add_change(struct predict_ask *a, const char *text, struct error *err)
{
    struct predict_change *v = realloc(a->changes, (a->n_change + 1) * sizeof *v);
    if (!v)
        return error_oom(err, (a->n_change + 1) * sizeof *v, "changes");
    a->changes = v;
    v += a->n_change++;
    *v = (struct predict_change){ .text = text };
    return whatif_parse(&v->w, text, err);
}

static int add_question(struct predict_ask *a, const char *text, struct error *err)
{
    struct question *v = realloc(a->questions, (a->n_question + 1) * sizeof *v);
    if (!v)
        return error_oom(err, (a->n_question + 1) * sizeof *v, "questions");
    a->questions = v;
    return question_parse(&v[a->n_question++], text, err);
}

int predict_ask_parse(int key, const char *arg, struct predict_ask *a, struct error *err)
{
    switch (key) {
    case ASK_REQUEST:
        return cli_text(&a->request, arg);
    case ASK_POWER:
        return parse_double(arg, 1e-3, 1e9, "--power", &a->power_w, err);
    case ASK_PRICE:
        return parse_double(arg, 0, 1e6, "--price", &a->price_usd_h, err);
    case ASK_EXPLAIN:
        return cli_flag(&a->explain);
    case ASK_WHAT_IF:
        return add_change(a, arg, err);
    case ASK_SOLVE:
        return add_question(a, arg, err);
    default:
        return CLI_UNKNOWN;
    }
}

/* "2048+512" */
static int parse_request(const char *text, struct request *r, struct error *err)
{
    char in[32];
    const char *plus = strchr(text, '+');
    int64_t n_in, n_out;
    if (!plus || plus == text || (size_t)(plus - text) >= sizeof in)
        return error_set(err, ERROR_USAGE, "--request: expected IN+OUT such as 2048+512, found \"%.64s\"", text);
    snprintf(in, sizeof in, "%.*s", (int)(plus - text), text);
    if (parse_int(in, 1, INT32_MAX, "--request, prompt tokens", &n_in, err) != 0 ||
        parse_int(plus + 1, 1, INT32_MAX, "--request, generated tokens", &n_out, err) != 0)
        return -1;
    *r = (struct request){ (uint32_t)n_in, (uint32_t)n_out };
    return 0;
}

static int read_requests(struct predict_ask *a, struct error *err)
{
    struct str_list l;
    if (str_list_parse(&l, a->request, "--request", err) != 0)
        return -1;
    int rc = 0;
    a->requests = calloc(l.n + 1, sizeof *a->requests);
    if (!a->requests)
        rc = error_oom(err, l.n * sizeof *a->requests, "requests");
    for (size_t i = 0; i < l.n && rc == 0; i++)
        rc = parse_request(l.v[i], &a->requests[i], err);
    a->n_request = rc == 0 ? l.n : 0;
    str_list_free(&l);
    return rc;
}

/* A change of the type needs a model of its own. */
static int load_changes(struct predict_ask *a, const char *model, struct error *err)
{
    for (size_t i = 0; i < a->n_change; i++) {
        const char *type = whatif_type(&a->changes[i].w);
        if (type && pricing_model(&a->changes[i].m, model, type, err) != 0)
            return error_prefix(err, "--what-if %s", a->changes[i].text);
        a->changes[i].loaded = type;
    }
    return 0;
}

int predict_ask_read(struct predict_ask *a, const char *model, struct error *err)
{
    return (a->request && read_requests(a, err) != 0) || load_changes(a, model, err) != 0 ? -1 : 0;
}

bool predict_ask_machine(const struct predict_ask *a)
{
    bool asked = a->n_question == 0;
    for (size_t i = 0; i < a->n_question; i++)
        asked |= a->questions[i].unknown != SOLVE_MACHINE;
    return asked;
}

int predict_ask_check(const struct predict_cli *o, struct error *err)
{
    if (o->ask.explain && o->by_role)
        return error_set(err, ERROR_USAGE, "--explain and --by role are mutually exclusive");
    if (o->ask.n_question && o->software.slo)
        return error_set(err, ERROR_USAGE, "--solve and --slo are mutually exclusive: put the limit into the question, as in --solve 'batch=itl<=50ms'");
    if (o->ask.n_question && (o->ask.explain || o->ask.n_change || o->ask.request || o->by_role))
        return error_set(err, ERROR_USAGE, "--solve excludes --explain, --what-if, --request and --by role");
    return 0;
}

void predict_ask_free(struct predict_ask *a)
{
    for (size_t i = 0; i < a->n_change; i++)
        if (a->changes[i].loaded)
            model_free(&a->changes[i].m);
    free(a->changes);
    free(a->questions);
    free(a->requests);
    *a = (struct predict_ask){ 0 };
}
