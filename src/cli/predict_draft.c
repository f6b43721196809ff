/* roofcast predict --draft: its options. */
#include "cli/predict_options.h"
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
        return error_set(err, ERROR_USAGE, "--%s needs --draft: a model, ngram, or mtp",
                         o->gamma        ? "gamma"
                         : o->acceptance ? "acceptance"
                         : o->type       ? "draft-type"
                                         : "draft-cpu-us");
    if (!o->acceptance)
        return error_set(err, ERROR_USAGE, "--draft needs --acceptance A, the probability that a drafted token is accepted: it "
                                           "depends on the text and on both models and must be measured");
    return 0;
}

static int load(struct drafting *d, const struct draft_cli *o, const struct model *target, struct error *err)
{
    d->s.kind = strcmp(o->spec, "ngram") == 0 ? SPEC_NGRAM : strcmp(o->spec, "mtp") == 0 ? SPEC_MTP : SPEC_MODEL;
    if (d->s.kind != SPEC_MODEL && o->type)
        return error_set(err, ERROR_USAGE, "--draft-type %s: --draft %s has no weights of its own", o->type, o->spec);
    if (d->s.kind == SPEC_MTP)
        pricing_note_nextn(target);
    if (d->s.kind != SPEC_MODEL)
        return 0;
    if (model_load(&d->model, o->spec, o->type, err) != 0)
        return -1;
    if (*d->model.note)
        notify_note("%s: %s", d->model.name, d->model.note);
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

