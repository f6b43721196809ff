/*
 * hwprofile/import.h: results of other tools as ceilings. Unexpected lines or fields are errors that name file, line, field, found and
 * expected; tests that are no roof are listed in the notes. Values keep the tool's definition: op says if a loop is not a plain read.
 */
#ifndef HWPROFILE_IMPORT_H
#define HWPROFILE_IMPORT_H

#include "hwprofile/hwprofile.h"

enum import_format {
    IMPORT_AUTO,
    IMPORT_ERT,          /* Empirical Roofline Toolkit 1.1: roofline.json, or output of Scripts/roofline.py and summary.py */
    IMPORT_LIKWID_BENCH, /* output of one or more runs */
    IMPORT_CLPEAK,       /* --json-file of 2.x, or text output of 1.x and 2.x */
};
/* "ert" "likwid-bench" "clpeak" "auto"; else ERROR_USAGE. */
int import_format_find(const char *name, enum import_format *out, struct error *err);

struct import_options {
    enum import_format format;
    const char *name;   /* machine name; NULL: as in the file */
    const char *device; /* clpeak: substring of "backend/device"; NULL: the only device */
    int n_threads;      /* clpeak MT if not in the file; 0: unknown */
    /* likwid-bench reports footprints: the caches of this machine give the level. NULL: runs become points of a curve. */
    const struct hwprofile *caches;
};

/*
 * Fills h with a valid profile: ceilings, curves, name, kind; spec only where the file has one (ERT_SPEC_*). notes: text with
 * known faults of the tool that apply. format: the detected one. Fuzzed.
 */
int hwprofile_import(struct hwprofile *h, const char *file, const void *data, size_t size, const struct import_options *o,
                     enum import_format *format, struct strbuf *notes, struct error *err);
const char *import_format_name(enum import_format f);

#endif
