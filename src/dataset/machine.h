/* machine.h: the machine of a row: a profile, a class, or a guess. methods.md (56) */
#ifndef DATASET_MACHINE_H
#define DATASET_MACHINE_H

#include "base/base.h"
#include "hwprofile/hwprofile.h"
#include "dataset/measure.h"
#include "timing/roofs.h"

/* Machine of a row. */
struct machine {
    char hardware[128];   /* name in the file */
    char profile[64];     /* profile id; "": none, from --hardware only */
    char class_name[64];  /* class, as in hardware.csv */
    struct hwprofile h;
    bool loaded;
    unsigned guesses;     /* GUESS_PEAK, ... */
    double ln_sd;         /* standard deviation of ln seconds due to guesses; 0: none (56) */
    char family[192];     /* what its family is assumed to be (families.h); "": no family, or it is not guessed */
    char note[256];       /* differences between file and profile; guesses */
    char reason[256];     /* why it is not loaded; "" */
    double link_bytes_s, link_latency_s; /* link between two such devices; guessed without a profile's */
    struct roofs_cache *roofs; /* roofs used by its rows; NULL outside a workload builder */
};

/* Loads the classes, once; without them lookups find none. errors: no such file, or invalid */
int classes_load(struct error *err);
/* Checks a file of classes. Fuzzed. errors: file, field, expected and found */
int classes_check(const char *name, const void *data, size_t size, struct error *err);
/* Class of a profile, as in hardware.csv. */
const char *machine_class(const struct hwprofile *h);
/*
 * Guesses a machine without a profile: the class in its name with the class's priors (56), or the profile of another variant. *found false:
 * unknown name. note: guesses, as text; "": another name of a profile.
 */
int machine_guess(struct hwprofile *h, const char *name, bool *found, char *note, size_t size, struct error *err);

/* Memory as it is populated, in place of the profile's: it is then no guess. */
void machine_set_bandwidth(struct hwprofile *h, double bytes_s, const char *source);

/* hwprofile_open() for predictions: a name without a profile becomes a guessed machine, with a note. */
int machine_load(struct hwprofile *h, const char *spec, struct error *err);

#endif
