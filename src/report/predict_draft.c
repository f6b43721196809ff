/* Decode rows with speculative decoding beside those without. methods.md (53) */
#include "report/predict_report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
        report_text(0, "+%s: tokens in rounds of drafts and one pass that verifies them, where a drafted token is right with chance %s;\n"
                    "ITL is the mean, gain over plain decode. Experts and attention are those of the longer pass.\n",
                    strcmp(o->draft.spec, "ngram") == 0 || strcmp(o->draft.spec, "mtp") == 0 ? o->draft.spec : "draft",
                    o->draft.acceptance);
}
