/* What the files of the section "Step through one request" share: the data of step.js, as JSON text. doc/formats.md, "step-data" */
#ifndef REPORT_HTML_STEP_DATA_H
#define REPORT_HTML_STEP_DATA_H

#include "predict/estimator.h"
#include "report/html_step.h"

/* Texts by number: equal ones once. */
struct step_pool {
    char **text;
    size_t n, cap;
    size_t *slot; /* hash table of numbers + 1, 0: empty; 2 cap of them */
};

/* Number of the text that b holds, which is emptied; SIZE_MAX: out of memory. */
size_t step_pool_add(struct step_pool *p, struct strbuf *b, struct error *err);
void step_pool_free(struct step_pool *p);

/* All that scenes share. */
struct step_data {
    struct step_pool column;  /* a feature against the context */
    struct step_pool term;    /* a term's kind and the columns of its features */
    struct step_pool setting; /* a phase at a number of tokens and sequences */
    struct step_pool form;    /* a class of ops */
    struct step_pool constants;
    struct step_pool attend;  /* calls of attention with their own constants */
};

/* A text as a JSON string that may stand in <script>: "<" and what is not ASCII are escapes. NULL: "". */
void step_json_text(struct strbuf *b, const char *s);
/* %.7g, null where it is not finite. */
void step_json_number(struct strbuf *b, double v);

/* A scene, loaded. */
struct step_source {
    const struct html_step_scene *scene;
    const struct model *m;
    const struct hwprofile *h;
    const struct time_source *time;
};

/* One scene as a JSON object, appended to out. errors: as html_step_write() */
int step_scene_write(struct strbuf *out, struct step_data *d, const struct html_step_scene *s, const struct time_source *time, struct error *err);

/* What is sampled: passes of a prompt of n_tok tokens, or a step of n_tok tokens, of each of n_seq sequences. */
struct step_sample {
    const struct step_model *step; /* without attention that has its own constants */
    const struct step_model *all;
    const struct roofs *roofs;
    enum phase phase;
    uint32_t n_tok, n_seq, n_ubatch;
    uint32_t n_context; /* contexts 0 to this */
};

/* The sample's features against the context, as columns: number of the setting in d->setting; SIZE_MAX: out of memory, or a term that predictions do not have. */
size_t step_sample_write(struct step_data *d, const struct step_sample *s, struct error *err);
/* The features at one context, and the case of constants. */
struct step_point {
    uint32_t x;
    unsigned which;
    struct time_features f;
};
void step_sample_at(struct step_point *out, const struct step_sample *s, uint32_t context);
/* `then`, at `bandwidth` times the memory bandwidth, is `now` with the memory seconds of all terms times *memory (NaN: set by the first one),
 * those of staged bytes over `bandwidth`. */
bool step_point_scales(const struct step_point *now, const struct step_point *then, double bandwidth, double *memory);
/* Contexts at which a change is looked for. */
enum { STEP_SEEDS = 5 };
extern const uint32_t step_seeds[STEP_SEEDS];
/* The pass of a step. */
struct pass step_pass_of(const struct step_sample *s, uint32_t context);

/* ---- numbers of a struct, by name ------------------------------------------------------------------- */

struct step_feature {
    const char *name;
    size_t at; /* of a double */
};
double step_feature_get(const void *of, const struct step_feature *f);
/* "KEY":["NAME",...] */
void step_features_write(struct strbuf *b, const char *key, const struct step_feature *f, size_t n);
/* All names of features: a JSON object. */
void step_names_write(struct strbuf *b);

/* ---- html_step_ops.c: fields of a type of the cache ---------------------------------------------------- */

int step_forms_write(struct strbuf *to, struct step_data *d, const struct estimator *e, struct error *err);
/* Constants by case; without constants case 0 is all ones. */
int step_constants_write(struct strbuf *to, struct step_data *d, const struct estimator *e, struct error *err);
bool step_same_constants(const struct estimator *a, const struct estimator *b);
void step_roofs_write(struct strbuf *to, const struct estimator *e);

/* ---- html_step_attend.c: attention with its own constants ------------------------------------------------ */

void step_attend_names_write(struct strbuf *b);
/* "[[class,first context,call,first context,call,...],...]" of a step's classes; "[]" of a prompt. */
int step_attention_write(struct strbuf *b, struct step_data *d, const struct step_sample *s, struct error *err);
/* s without the classes of attention that have their own constants in a step; free out->c. errors: out of memory */
int step_without_own(struct step_model *out, const struct step_model *s, const struct roofs *r, struct error *err);

#endif
