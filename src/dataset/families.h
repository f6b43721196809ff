/* families.h: machines without a profile by family of name, a part of hwprofiles/priors/machines.json. methods.md (56) */
#ifndef DATASET_FAMILIES_H
#define DATASET_FAMILIES_H

#include "base/json.h"
#include "dataset/workload_internal.h"

enum family_cycle { FAMILY_FP32, FAMILY_FP16, FAMILY_BF16, FAMILY_INT8, FAMILY_CYCLE_COUNT };

/* What the machines of a family have in common. Texts belong to the document. */
struct machine_family {
    const char *name, *memory, *class_name, *vendor, *source;
    const struct machine_class *class; /* set by the caller, of class_name */
    const json_t *words, *models;
    double bytes_s, ln_sd;
    double cores, cores_ln_sd;         /* of a model that the table does not name */
    double clock_hz;
    double cycle[FAMILY_CYCLE_COUNT];  /* operations a clock and core; 0: as derived from FP32 */
};

/* Reads the array "families" of doc; none: *n = 0. errors: file, field, expected and found */
int families_read(struct machine_family **out, size_t *n, const json_t *doc, const char *file, struct error *err);
/* Refines out, whose class is known, by the first family of that class with a word of the normalized name. false: none */
bool family_of_name(struct class_guess *out, const struct machine_family *f, size_t n, const char *name);
/* Text of what is assumed: "AMD EPYC 9004 (Genoa, Bergamo): 24 cores x 2.9 GHz, 12 channels of DDR5-4800". */
void family_text(char *buf, size_t size, const struct class_guess *g);
/* Operations per second of a guess's family, by type; 0: not stated. */
double family_flop_s(const struct class_guess *g, enum family_cycle c);

/* guess_profile.c: profile of a machine without one, figures of g first; NULL: out of memory. guesses: GUESS_PEAK, GUESS_BANDWIDTH */
json_t *guess_profile(const struct measure_hw *g, const struct class_guess *class, unsigned guesses);

/* class.c: the name has the word at a word boundary; '#' matches a digit, '$' the end of a word. */
bool class_has_word(const char *name, const char *word);
/* The same of a model's number: "ryzen # 1###" has no further digits, as "Ryzen 9 12345X" would. */
bool class_has_model(const char *name, const char *word);
/* class.c: {"value": 590e9, "unit": "B/s", "ln_sd": 0.6, "source": ".."}; sd NULL: without ln_sd. */
int class_read_prior(const json_t *o, const char *ctx, const char *key, double *value, double *sd, const char **source, struct error *err);

#endif
