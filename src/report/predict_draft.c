/* Additional decode rows with speculative decoding. methods.md (53) */
#include "report/predict_report.h"
#include <math.h>
#include <string.h>

static int draft_row(struct table_rows *rows, struct subject *s, uint32_t gamma, struct speculation *result, struct error *err)
{
    struct spec_options o = s->drafting->s;
    o.gamma = gamma;
    if (speculate(result, &s->r, s->m, s->h, &s->o, &o, err) != 0)
        return -1;
    s->spec = result;
    s->gamma = gamma;
    return predict_add_rows(rows, s, err);
}

int predict_draft_rows(struct table_rows *rows, const struct subject *plain, struct error *err)
{
    const struct drafting *d = plain->drafting;
    int rc = 0;
    for (size_t i = 0; i < d->gamma.n && rc == 0; i++) {
        struct subject s = *plain;
        struct speculation result;
        rc = draft_row(rows, &s, (uint32_t)d->gamma.v[i], &result, err);
    }
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

/* Speculation columns of a row; empty for plain rows. */
void predict_draft_put(struct predict_row *w, const struct subject *s)
{
    const struct speculation none = { { NAN, NAN, NAN }, NAN, NAN, NAN, NAN, NAN, NAN, 0, NAN };
    w->spec = s->spec ? *s->spec : none;
    w->tokens_a_round_sd = sqrt(w->spec.tokens.variance);
    if (!s->spec)
        return;
    w->spec_kind = spec_kind_name(s->drafting->s.kind);
    w->draft = s->drafting->s.draft ? s->drafting->model.name : s->cli->draft.spec;
    w->gamma = s->gamma;
    w->acceptance = s->cli->draft.acceptance;
}

void predict_draft_note(const struct predict_cli *o)
{
    if (o->draft.spec)
        report_text(0, "+%s: speculative decoding in rounds of drafts and one verification pass, acceptance %s. ITL is the mean per token,\n"
                    "gain is relative to plain decode; experts and attention are those of the verification pass.\n",
                    strcmp(o->draft.spec, "ngram") == 0 || strcmp(o->draft.spec, "mtp") == 0 ? o->draft.spec : "draft",
                    o->draft.acceptance);
}
