/* machine.h: the machine that a row of measurements names: a profile, a class, or a guess. */
#ifndef DATASET_MACHINE_H
#define DATASET_MACHINE_H

#include "base/base.h"
#include "hwprofile/hwprofile.h"
#include "dataset/measure.h"
#include "timing/roofs.h"

/* The machine of a row. */
struct machine {
    char hardware[128];   /* as the file names it */
    char profile[64];     /* "": none, the row of --hardware alone */
    char class_name[64];  /* as hardware.csv prints it */
    struct hwprofile h;
    bool loaded;
    unsigned guesses;     /* GUESS_PEAK, ... */
    double ln_sd;         /* spread of ln seconds from what is guessed of the machine; 0: nothing is (56) */
    char note[256];       /* where the file differs from the profile; what is guessed */
    char reason[256];     /* why there is none; "" when loaded */
    double link_bytes_s, link_latency_s; /* to its kind; guessed where the profile has none */
    struct roofs_cache *roofs; /* of its rows; of a pricer's machines alone */
};

/* Reads the file of classes, once; what asks for a class finds none where it cannot be read. */
int classes_load(struct error *err);
/* The file of classes as bytes: refused with a reason, or good. Fuzzed. */
int classes_check(const char *name, const void *data, size_t size, struct error *err);
/* The class of a profile in hardware.csv's words. */
const char *machine_class(const struct hwprofile *h);
/*
 * A machine that no profile is of: the class that its name says, with the memory that is believed of it, its figures as sources say (56); or a profile of
 * another variant. *found false: the name says nothing. note: what is guessed, in words; "" where another name of a profile is all it is.
 */
int machine_guess(struct hwprofile *h, const char *name, bool *found, char *note, size_t size, struct error *err);

/* hwprofile_open() for predictions: a name that no profile is of is taken for a machine of the class that it says, and a note says so. */
int machine_load(struct hwprofile *h, const char *spec, struct error *err);

#endif
