/* roofcast predict --draft: decode rows with speculative decoding beside those without. methods.md (46) */
#include "cli/predict.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int predict_draft_parse(int key, const char *arg, struct draft_cli *o, struct error *err)
{
    switch (key) {
    case PREDICT_DRAFT:
        return cli_text_once(&o->spec, arg, "--draft", err);
    case PREDICT_DRAFT_TYPE:
        return pricing_type(&o->type, o->type_named, sizeof o->type_named, arg, "--draft-type", err);
    case PREDICT_DRAFT_CPU:
        return parse_double(arg, 0, 1e9, "--draft-cpu-us", &o->host_us, err);
    case PREDICT_GAMMA:
        return cli_text(&o->gamma, arg);
    case PREDICT_ACCEPTANCE:
        return cli_text(&o->acceptance, arg);
    default:
        return CLI_UNKNOWN;
    }
}

static int parse_acceptance(struct drafting *d, const char *text, struct error *err)
{
    struct str_list parts;
    if (str_list_parse(&parts, text, "--acceptance", err) != 0)
        return -1;
    int rc = parts.n <= ARRAY_LEN(d->a) ? 0
                                        : error_set(err, ERROR_USAGE, "--acceptance: %zu positions, expected at most %zu",
                                                    parts.n, ARRAY_LEN(d->a));
    for (size_t i = 0; rc == 0 && i < parts.n; i++)
        rc = parse_double(parts.v[i], 0, 1, "--acceptance", &d->a[i], err);
    d->s.acceptance = (struct acceptance){ d->a, parts.n };
    str_list_free(&parts);
    return rc;
}

static int check_given(const struct draft_cli *o, struct error *err)
{
    if (!o->spec)
        return error_set(err, ERROR_USAGE, "--%s without --draft: who drafts? A model, ngram, or mtp",
                         o->gamma        ? "gamma"
                         : o->acceptance ? "acceptance"
                         : o->type       ? "draft-type"
                                         : "draft-cpu-us");
    if (!o->acceptance)
        return error_set(err, ERROR_USAGE, "--draft: --acceptance A is needed, the chance that a drafted token is right: it is "
                                           "a matter of the texts and of both models, and measured, not computed");
    return 0;
}

static int load(struct drafting *d, const struct draft_cli *o, const struct model *target, struct error *err)
{
    d->s.kind = strcmp(o->spec, "ngram") == 0 ? SPEC_NGRAM : strcmp(o->spec, "mtp") == 0 ? SPEC_MTP : SPEC_MODEL;
    if (d->s.kind != SPEC_MODEL && o->type)
        return error_set(err, ERROR_USAGE, "--draft-type %s: --draft %s has no weights of its own", o->type, o->spec);
    if (d->s.kind == SPEC_MTP && target->hp.n_layer_nextn == 0)
        cli_note("%s is not known to have a layer for multi-token prediction: priced as one more like its last", target->name);
    if (d->s.kind != SPEC_MODEL)
        return 0;
    if (model_load(&d->model, o->spec, o->type, err) != 0)
        return -1;
    if (*d->model.note)
        cli_note("%s: %s", d->model.name, d->model.note);
    d->s.draft = &d->model;
    return 0;
}

int predict_draft_init(struct drafting *d, const struct draft_cli *o, const struct model *target, struct error *err)
{
    *d = (struct drafting){ 0 };
    if (!o->spec && !o->gamma && !o->acceptance && !o->type && !(o->host_us > 0))
        return 0;
    d->s.host_s = 1e-6 * o->host_us;
    if (check_given(o, err) != 0 || parse_acceptance(d, o->acceptance, err) != 0 ||
        int_list_parse(&d->gamma, o->gamma ? o->gamma : "4", 1, SPEC_MAX_GAMMA, "--gamma", err) != 0)
        return -1;
    if (load(d, o, target, err) == 0)
        return 0;
    predict_draft_free(d);
    return -1;
}

void predict_draft_free(struct drafting *d)
{
    int_list_free(&d->gamma);
    if (d->s.draft)
        model_free(&d->model);
    *d = (struct drafting){ 0 };
}

static int draft_row(json_t *rows, struct subject *s, uint32_t gamma, struct speculation *result, struct error *err)
{
    struct spec_options o = s->drafting->s;
    o.gamma = gamma;
    if (speculate(result, &s->r, s->m, s->h, &s->o, &o, err) != 0)
        return -1;
    s->spec = result;
    s->gamma = gamma;
    return predict_add_rows(rows, s, err);
}

int predict_draft_rows(json_t *rows, const struct subject *plain, struct error *err)
{
    const struct drafting *d = plain->drafting;
    struct row {
        struct subject s;
        struct speculation result;
    } *x; /* too much for a small stack */
    if (d->gamma.n == 0)
        return 0;
    x = malloc(sizeof *x);
    if (!x)
        return error_oom(err, sizeof *x, "drafted predictions");
    int rc = 0;
    for (size_t i = 0; i < d->gamma.n && rc == 0; i++) {
        x->s = *plain;
        rc = draft_row(rows, &x->s, (uint32_t)d->gamma.v[i], &x->result, err);
    }
    free(x);
    return rc;
}

/* "+draft4", "+ngram4", "+mtp4": at the end of a test's name. */
void predict_draft_name(char *buf, size_t n, const struct subject *s)
{
    const size_t at = strlen(buf);
    if (s->spec && at < n)
        snprintf(buf + at, n - at, "+%s%u", s->drafting->s.kind == SPEC_MODEL ? "draft" : spec_kind_name(s->drafting->s.kind),
                 s->gamma);
}

/* Fields of every row: null where nothing is drafted. */
int predict_draft_put(json_t *j, const struct subject *s)
{
    const struct speculation *x = s->spec;
    const struct {
        const char *name;
        double v;
    } figures[] = {
        { "tokens_a_round", x ? x->tokens.mean : NAN },
        { "tokens_a_round_sd", x ? sqrt(x->tokens.variance) : NAN },
        { "round_s", x ? x->round_s : NAN },
        { "draft_s", x ? x->draft_s : NAN },
        { "verify_s", x ? x->verify_s : NAN },
        { "gain", x ? x->gain : NAN },
        { "tok_s_sd", x ? x->tok_s_sd : NAN },
        { "flop_factor", x ? x->flop_factor : NAN },
        { "best_gain", x ? x->best_gain : NAN },
    };
    int bad = json_object_set_new(j, "spec_kind", x ? json_string(spec_kind_name(s->drafting->s.kind)) : json_null());
    bad |= json_object_set_new(j, "draft", x ? json_text(s->drafting->s.draft ? s->drafting->model.name : s->cli->draft.spec)
                                             : json_null());
    bad |= json_object_set_new(j, "gamma", x ? json_integer(s->gamma) : json_null());
    bad |= json_object_set_new(j, "acceptance", x ? json_string(s->cli->draft.acceptance) : json_null());
    for (size_t i = 0; i < ARRAY_LEN(figures); i++)
        bad |= json_object_set_new(j, figures[i].name, json_num(figures[i].v));
    return bad | json_object_set_new(j, "best_gamma", x ? json_integer(x->best_gamma) : json_null());
}

/* What a table shows of it where something is drafted. */
bool predict_draft_hides(const char *key, const struct predict_cli *o)
{
    return !o->draft.spec && (strcmp(key, "tokens_a_round") == 0 || strcmp(key, "gain") == 0);
}

void predict_draft_note(const struct predict_cli *o)
{
    if (o->draft.spec)
        cli_print(0, "+%s: tokens in rounds of drafts and one pass that verifies them, where a drafted token is right with chance %s;\n"
               "ITL is the mean, gain over plain decode. Experts and attention are those of the longer pass.\n",
               strcmp(o->draft.spec, "ngram") == 0 || strcmp(o->draft.spec, "mtp") == 0 ? o->draft.spec : "draft",
               o->draft.acceptance);
}
