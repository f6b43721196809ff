/* cli internals: what the files of `roofcast predict` share. */
#ifndef CLI_PREDICT_H
#define CLI_PREDICT_H

#include "cli/pricing.h"
#include "roofline/speculate.h"

/* --draft and its kin, as given. */
struct draft_cli {
    const char *spec, *type, *gamma, *acceptance;
    double host_us;
};
enum { PREDICT_DRAFT = 700, PREDICT_DRAFT_TYPE, PREDICT_DRAFT_CPU, PREDICT_GAMMA, PREDICT_ACCEPTANCE };
/* Rows of the option table; predict_draft_parse() takes their keys. */
#define PREDICT_DRAFT_OPTIONS \
    { "draft", PREDICT_DRAFT, "MODEL|ngram|mtp", 0, \
      "speculative decoding, rows beside those without: a draft model on the same machine, a search in the text (no " \
      "pass), or the model's own layer of multi-token prediction", 0 }, \
    { "draft-type", PREDICT_DRAFT_TYPE, "TYPE", 0, "tensor type or mixture of a draft model that is not a GGUF (F16)", 0 }, \
    { "draft-cpu-us", PREDICT_DRAFT_CPU, "X", 0, "microseconds a round that drafting takes on the host (0: hidden)", 0 }, \
    { "gamma", PREDICT_GAMMA, "N,...", 0, "tokens drafted a round, 1 to 64 (4)", 0 }, \
    { "acceptance", PREDICT_ACCEPTANCE, "A,...", 0, \
      "chance, 0 to 1, that a drafted token is right when those before it are: of the first, the second, ...; the last " \
      "one holds for the rest. No default: measure it", 0 }
int predict_draft_parse(int key, const char *arg, struct draft_cli *o, struct error *err);

struct predict_cli {
    const char *model, *hw, *save;
    const char *n_prompt, *n_gen, *n_depth, *n_batch; /* lists */
    int64_t n_ubatch, threads;
    bool roof, weights_only, weights_all, by_role;
    double weights_gb; /* NaN: counted */
    struct pricing_options price;
    struct draft_cli draft;
    enum report_format format;
};

/* The same, ready: .gamma.n 0: nothing is drafted. */
struct drafting {
    struct spec_options s; /* but for gamma */
    struct model model;
    struct int_list gamma;
    double a[SPEC_MAX_GAMMA];
};

/* One row's subject: a machine, a scenario, and which phase of it. */
struct subject {
    const struct model *m;
    const struct hwprofile *h;
    struct predict_options o;
    struct predict_result r;
    enum phase phase;
    const struct predict_cli *cli;
    const struct drafting *drafting;
    const struct speculation *spec; /* of this row; NULL: plain */
    uint32_t gamma;
};

/* predict_rows.c: the rows of one phase; a row a role with --by role. */
int predict_add_rows(json_t *rows, const struct subject *s, struct error *err);
/* predict_print.c: all rows, to --save and to the terminal. */
int predict_print(const json_t *rows, const struct predict_cli *o, const struct model *m, struct error *err);
/* What was asked for instead of the model's own work, as fields of j: a figure priced so is nominal. */
int predict_put_nominal(json_t *j, const struct predict_cli *o);


/* predict_draft.c: the draft model and the lists; target: for what is said of it. */
int predict_draft_init(struct drafting *d, const struct draft_cli *o, const struct model *target, struct error *err);
void predict_draft_free(struct drafting *d);
/* Decode rows with drafts, after the plain one: none without --draft. */
int predict_draft_rows(json_t *rows, const struct subject *plain, struct error *err);
void predict_draft_name(char *buf, size_t n, const struct subject *s);
int predict_draft_put(json_t *j, const struct subject *s);
bool predict_draft_hides(const char *key, const struct predict_cli *o);
void predict_draft_note(const struct predict_cli *o);

#endif
