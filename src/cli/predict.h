/* cli internals: what the files of `roofcast predict` share. */
#ifndef CLI_PREDICT_H
#define CLI_PREDICT_H

#include "cli/pricing.h"
#include "predict/request.h"
#include "predict/solve.h"
#include "predict/speculate.h"
#include "predict/whatif.h"

/* --draft and its kin, as given. */
struct draft_cli {
    const char *spec, *type, *gamma, *acceptance;
    char type_named[24]; /* as in struct pricing_options */
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

/* Questions beside tokens/s: options of predict_ask.c. */
struct predict_ask {
    const char *request;         /* --request, and what it says */
    struct request *requests;
    size_t n_request;
    double power_w, price_usd_h; /* NaN: the profile's */
    bool explain;
    struct predict_change *changes; /* --what-if, each time */
    size_t n_change;
    struct question *questions;     /* --solve, each time */
    size_t n_question;
};

struct predict_change {
    const char *text;
    struct whatif w;
    bool loaded;
    struct model m; /* in another type; when loaded */
};
#define PREDICT_ASK_DEFAULTS { .power_w = NAN, .price_usd_h = NAN }
enum { ASK_REQUEST = 800, ASK_POWER, ASK_PRICE, ASK_EXPLAIN, ASK_WHAT_IF, ASK_SOLVE };
/* Rows of an argp_option table; predict_ask_parse() takes their keys, predict_ask_read() makes of them what they say. */
#define PREDICT_ASK_OPTIONS \
    { "request", ASK_REQUEST, "IN+OUT,...", 0, "whole requests: IN prompt tokens, OUT generated (-p and -n then default to 0)", 0 }, \
    { "power", ASK_POWER, "WATT", 0, "power of a device, for joules (the profile's TDP)", 0 }, \
    { "price", ASK_PRICE, "USD", 0, "what a device costs an hour, for dollars a million tokens (the profile's)", 0 }, \
    { "explain", ASK_EXPLAIN, NULL, 0, "where the number comes from: every class of ops with its formulas, every constant", 0 }, \
    { "what-if", ASK_WHAT_IF, "CHANGE,...", CLI_AGAIN, \
      "one more row with these changes and its ratio to the row without, quantities by a factor or with their unit: bandwidth=x1.5, bandwidth=2TB/s, compute=x2, fp8=400T, memory=96G, " \
      "link=x4, latency=x0.5, launch=0, e_compute=0.9, e_bandwidth=0.9, type=Q4_K_M, kv-type=Q8_0, b=8, d=4096, ub=256, tp=2, " \
      "pp=2, dp=2, ep=8 (repeatable)", 0 }, \
    { "solve", ASK_SOLVE, "UNKNOWN=TARGET", CLI_AGAIN, \
      "which value reaches a target: UNKNOWN bandwidth, compute, context, batch, tp or machine, :prefill or :decode behind it; " \
      "TARGET fits, tok_s>=30, itl<=50ms or ttft<=1s (repeatable)", 0 }
int predict_ask_parse(int key, const char *arg, struct predict_ask *a, struct error *err);
int predict_ask_read(struct predict_ask *a, const char *model, struct error *err);
/* Whether a machine is asked about: not when all questions are which one. */
bool predict_ask_machine(const struct predict_ask *a);
void predict_ask_free(struct predict_ask *a);

struct predict_cli {
    json_t *keep; /* rows go there, and nothing is printed; NULL: they are printed */
    const char *model, *hw, *save;
    const char *n_prompt, *n_gen, *n_depth, *n_batch; /* lists */
    int64_t n_ubatch, threads; /* 0: the software's; all */
    bool roof, weights_only, weights_all, by_role;
    double weights_gb; /* NaN: counted */
    struct pricing_options price;
    struct draft_cli draft;
    struct software_options software;
    struct predict_ask ask;
    enum report_format format;
};

/* The same, ready: .gamma.n 0: nothing is drafted. */
struct drafting {
    struct spec_options s; /* but for gamma */
    struct model model;
    struct int_list gamma;
    double a[SPEC_MAX_GAMMA];
};

/* Options that go together, else ERROR_USAGE. */
int predict_ask_check(const struct predict_cli *o, struct error *err);

/* Rows so far: of several machines one that cannot be priced has a row that says why. */
struct predict_tally {
    bool several;
    size_t n_priced;
    struct error first; /* why the first of the others cannot */
    char said[64];      /* the last machine that a warning was about */
};

/* One row's subject: a machine, a scenario, and which phase of it. */
struct subject {
    const struct model *m;
    const struct hwprofile *h;
    struct predict_options o;
    struct predict_result r;
    enum phase phase;
    const struct request *request; /* NULL: a phase */
    struct prediction total;       /* of the request */
    const char *what_if;           /* NULL: no change */
    const struct whatif *change;
    const struct subject *base;    /* without it */
    const char *reason;            /* why there is no price; NULL: there is one */
    struct predict_tally *tally;
    const struct predict_cli *cli;
    const struct drafting *drafting;
    const struct speculation *spec; /* of this row; NULL: plain */
    uint32_t gamma;
};

/* predict_rows.c: the rows of one phase; a row a role with --by role. */
int predict_add_rows(json_t *rows, const struct subject *s, struct error *err);
/* A row that says why *s has no price. */
int predict_add_reason(json_t *rows, const struct subject *s, const char *reason, struct error *err);
/* predict_solve.c: the same, an answer a question. */
int predict_solve_add_reason(json_t *rows, const struct subject *s, const char *reason, struct error *err);
/* predict_print.c: all rows, to --save and to the terminal. */
int predict_print(const json_t *rows, const struct predict_cli *o, const struct model *m, struct error *err);
/* What the row is about. */
const struct prediction *predict_of(const struct subject *s);
/* predict_solve.c: an answer a question; all of them, to --save and to the terminal. */
int predict_solve_rows(json_t *rows, const struct subject *s, struct error *err);
int predict_solve_print(const json_t *rows, const struct predict_cli *o, const struct model *m, struct error *err);
/* predict_explain.c: the derivation of a phase as fields of its row; as text, of every row that has it. */
int predict_put_explain(json_t *j, const struct subject *s, struct error *err);
void predict_print_explain(const json_t *rows);
/* predict_rows.c: a figure's 90 % interval as KEY_lo and KEY_hi, null where it has none; seconds or tokens/s that p is as sure of as of
 * its own. (87) */
int predict_put_seconds_interval(json_t *j, const char *key, double seconds, const struct prediction *p);
int predict_put_rate_interval(json_t *j, const char *key, double rate, const struct prediction *p);
/* A field of a row: "" and NaN where it has none. */
const char *predict_text(const json_t *row, const char *key);
double predict_number(const json_t *row, const char *key);
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
