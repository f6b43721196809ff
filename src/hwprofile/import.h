/*
 * hwprofile/import.h: what other tools measured, as a machine's ceilings. Strict: a line or field that does not say what its
 * tool writes there is an error that names file, line, field, found and expected; tests of a tool that are no roof here are
 * named in the notes. Values keep the tool's meaning: where its loop is not a plain read, op says so.
 */
#ifndef HWPROFILE_IMPORT_H
#define HWPROFILE_IMPORT_H

#include "hwprofile/hwprofile.h"

enum import_format {
    IMPORT_AUTO,
    IMPORT_ERT,          /* Empirical Roofline Toolkit 1.1: roofline.json, or the text of Scripts/roofline.py and summary.py */
    IMPORT_LIKWID_BENCH, /* its output, of any number of runs */
    IMPORT_CLPEAK,       /* --json-file of 2.x, or the text of 1.x and 2.x */
};
/* "ert" "likwid-bench" "clpeak" "auto"; else ERROR_USAGE. */
int import_format_find(const char *name, enum import_format *out, struct error *err);

struct import_options {
    enum import_format format;
    const char *name;   /* of the machine; NULL: what the file says */
    const char *device; /* clpeak: the one whose "backend/device" has this in it; NULL: the only one */
    int n_threads;      /* clpeak's MT, where the file does not say; 0: unknown */
    /* likwid-bench says footprints, not levels: caches of this machine (or NULL) name them. Else runs of the same loop
     * become points of a curve and no ceiling. */
    const struct hwprofile *caches;
};

/*
 * h gets ceilings and curves that hwprofile_parse takes, name, kind; a spec only where the file has one (ERT_SPEC_*).
 * notes: lines for people, with the known faults of a tool that apply. format: which one it was. Fuzzed.
 */
int hwprofile_import(struct hwprofile *h, const char *file, const void *data, size_t size, const struct import_options *o,
                     enum import_format *format, struct strbuf *notes, struct error *err);
const char *import_format_name(enum import_format f);

#endif
