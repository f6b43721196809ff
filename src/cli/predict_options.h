/* predict_options.h: options of `roofcast predict`: drafts and questions. */
#ifndef CLI_PREDICT_OPTIONS_H
#define CLI_PREDICT_OPTIONS_H

#include "cli/pricing.h"
#include "report/predict_report.h"

enum { PREDICT_DRAFT = 700, PREDICT_DRAFT_TYPE, PREDICT_DRAFT_CPU, PREDICT_GAMMA, PREDICT_ACCEPTANCE };
/* Rows of the option table, handled by predict_draft_parse(). */
#define PREDICT_DRAFT_OPTIONS \
    { "draft", PREDICT_DRAFT, "MODEL|ngram|mtp", 0, \
      "add rows with speculative decoding by a draft model on the same machine, by n-gram search in the text, or by the model's " \
      "multi-token prediction layer", 0 }, \
    { "draft-type", PREDICT_DRAFT_TYPE, "TYPE", 0, "tensor type or mixture of a draft model that is not a GGUF (F16)", 0 }, \
    { "draft-cpu-us", PREDICT_DRAFT_CPU, "X", 0, "host time of drafting per round, in microseconds (0: hidden)", 0 }, \
    { "gamma", PREDICT_GAMMA, "N,...", 0, "tokens drafted per round, 1 to 64 (4)", 0 }, \
    { "acceptance", PREDICT_ACCEPTANCE, "A,...", 0, \
      "acceptance probability, 0 to 1, of the first, second, ... drafted token, given that those before it were accepted; the last " \
      "value holds for the rest. No default: measure it", 0 }
int predict_draft_parse(int key, const char *arg, struct draft_cli *o, struct error *err);
#define PREDICT_ASK_DEFAULTS { .power_w = NAN, .price_usd_h = NAN }
enum { ASK_REQUEST = 800, ASK_POWER, ASK_PRICE, ASK_EXPLAIN, ASK_WHAT_IF, ASK_SOLVE };
/* Rows of an argp_option table, handled by predict_ask_parse(); predict_ask_read() evaluates them. */
#define PREDICT_ASK_OPTIONS \
    { "request", ASK_REQUEST, "IN+OUT,...", 0, "predict whole requests: IN prompt tokens, OUT generated tokens (-p and -n then default to 0)", 0 }, \
    { "power", ASK_POWER, "WATT", 0, "power per device, for energy (default: the profile's TDP)", 0 }, \
    { "price", ASK_PRICE, "USD", 0, "price of a device-hour, for dollars per million tokens (default: the profile's)", 0 }, \
    { "explain", ASK_EXPLAIN, NULL, 0, "print the derivation: every class of ops with its formulas, every constant with its source", 0 }, \
    { "what-if", ASK_WHAT_IF, "CHANGE,...", CLI_AGAIN, \
      "add a row with these changes and its ratio to the unchanged row. A quantity is a factor or has a unit: bandwidth=x1.5, bandwidth=2TB/s, compute=x2, fp8=400T, " \
      "memory=96G, link=x4, latency=x0.5, launch=0, e_compute=0.9, e_bandwidth=0.9, type=Q4_K_M, kv-type=Q8_0, b=8, d=4096, ub=256, tp=2, " \
      "pp=2, dp=2, ep=8 (repeatable)", 0 }, \
    { "solve", ASK_SOLVE, "UNKNOWN=TARGET", CLI_AGAIN, \
      "find the value that reaches a target: UNKNOWN is bandwidth, compute, context, batch, tp or machine, optionally with :prefill or " \
      ":decode; TARGET is fits, tok_s>=30, itl<=50ms or ttft<=1s (repeatable)", 0 }
int predict_ask_parse(int key, const char *arg, struct predict_ask *a, struct error *err);
int predict_ask_read(struct predict_ask *a, const char *model, struct error *err);
/* Whether --hw is used: not if the machine is the unknown of every --solve. */
bool predict_ask_machine(const struct predict_ask *a);
void predict_ask_free(struct predict_ask *a);
/* ERROR_USAGE: mutually exclusive options. */
int predict_ask_check(const struct predict_cli *o, struct error *err);
/* predict_draft.c: the draft model and the lists; target: for notes. */
int predict_draft_init(struct drafting *d, const struct draft_cli *o, const struct model *target, struct error *err);
void predict_draft_free(struct drafting *d);

#endif
