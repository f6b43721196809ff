/* choose.h: `roofcast choose`: types of a model on a machine, and machines for a rate, with speed, memory, quality and price. */
#ifndef REPORT_CHOOSE_H
#define REPORT_CHOOSE_H

#include "base/lists.h"
#include "dataset/ppl_saved.h"
#include "dataset/published.h"
#include "hwprofile/prices.h"
#include "learn/software.h"
#include "predict/limits.h"
#include "predict/options.h"
#include "report/predict_row.h"

/* A model in one type, ready for prediction. */
struct choose_type {
    char name[32];
    struct model m;
    struct model_classes x;
    enum weights weights;
    bool loaded;
};

/* What is chosen among, and for what. */
struct choose_case {
    const char *model; /* name */
    const char *own_type; /* of a checkpoint with a quantization_config; NULL: 16 bits */
    double n_params;
    struct choose_type *type; /* [n_type] */
    size_t n_type;
    bool asked;               /* the types are the user's */
    uint32_t n_ctx, n_batch;
    enum dtype type_k, type_v;
    struct layout layout;
    const struct routing *routing;
    const struct time_source *time;
    const struct stack *stack; /* of all types; NULL: by machine and type */
    double most_loss;          /* acceptable increase of perplexity, fraction */
    double rate_tok_s;         /* of a user; NaN: none */
    double least_chance;       /* with that probability */
    bool buy;                  /* the cheapest to buy, not to rent */
    uint32_t most_devices;     /* of a machine */
    const struct published *published; /* with what was measured of this model, under measured_name */
    struct published_fit fit;
    const char *measured_name; /* NULL: nothing was measured */
    const struct ppl_saved_list *measured;
    const struct prices *prices; /* of machines; NULL: none */
};

struct choose_row {
    const char *model, *hw, *type, *stack, *basis, *layout, *reason;
    uint32_t n_devices, n_ctx, n_batch;
    struct figure tok_s, user_tok_s; /* of all sequences; of one */
    double chance;                   /* of rate_tok_s */
    int fits;                        /* -1: memory unknown */
    double need_bytes, usable_bytes, memory_bytes, weight_bytes, bits_weight;
    double loss, loss_lo, loss_hi, kl_lo, kl_hi, ppl; /* ppl: measured here */
    const char *quality;                              /* where they come from: choose_quality() */
    const char *quality_of, *refs, *sources;
    int pareto; /* -1: speed or quality unknown */
    bool take;
    double usd_h, usd; /* of all devices; NaN: unknown */
    const char *rent_from, *rent_date, *rent_source, *buy_what, *buy_date, *buy_source;
};

/* ---- types (choose_types.c) --------------------------------------------------------------------------- */

/* Loads the model in every type that is offered, or in those asked for (NULL: all). errors: an unknown type, no memory */
int choose_types_load(struct choose_case *c, const struct model *m, const char *spec, const struct str_list *asked, struct error *err);
void choose_types_free(struct choose_case *c);
/* NULL: there are files of the type for the stack, and units of the machine that multiply it; else why not. */
const char *choose_refusal(const struct choose_case *c, const struct choose_type *t, const struct stack *s, const struct hwprofile *h);

/* ---- rows (choose.c) ------------------------------------------------------------------------------------ */

/* The quality of a type: measured, published, or unavailable. */
void choose_quality(struct choose_row *r, struct table_rows *rows, const struct choose_case *c, const struct choose_type *t);
/* Predicts a type on a machine: 1: a row was added; 0: not offered; -1: *err. A type that cannot be predicted has a row with the reason. */
int choose_add(struct table_rows *rows, const struct choose_case *c, const struct choose_type *t, const struct hwprofile *h, const struct layout *layout,
               struct error *err);
/* Probability that each of n_batch sequences gets rate_tok_s; NaN: no interval. (63) */
double choose_chance(const struct prediction *decode, uint32_t n_batch, double rate_tok_s);
/* front[i]: no other item has as much gain for as little loss, and more of it or for less. NaN: not on the front. (choose_front.c) */
void choose_front(const double *gain, const double *loss, size_t n, bool *front);
/* It is predicted, and not known to exceed the memory. */
bool choose_usable(const struct choose_row *r);
/* The rate is reached with the probability that was asked for; without an interval as predicted. */
bool choose_reaches(const struct choose_row *r, const struct choose_case *c);
/* Order, front and recommendation of the rows of each machine. */
int choose_rank(struct table_rows *rows, const struct choose_case *c, struct error *err);

/* ---- machines (choose_machines.c) ------------------------------------------------------------------------- */

/* A row for each machine and number of devices: of the types within most_loss the one that reaches the rate and loses least. hw NULL:
 * every machine with a price. */
int choose_machines(struct table_rows *rows, const struct choose_case *c, const struct str_list *hw, struct error *err);
/* By price; the recommended row first marked. */
void choose_machines_rank(struct table_rows *rows, const struct choose_case *c);

/* ---- output (choose_print.c) -------------------------------------------------------------------------------- */

extern const struct table_fields choose_fields;
struct choose_output {
    enum report_format format;
    const char *save;
    bool machines, all;
};
int choose_print(struct table_rows *rows, const struct choose_case *c, const struct choose_output *o, struct error *err);

#endif
