/*
 * finding.h: roof violations: a point above its roof. Points are neither clipped nor hidden; a violation has a cause in the roof or in what
 * the point counts. methods.md (84)
 */
#ifndef PREDICT_FINDING_H
#define PREDICT_FINDING_H

#include "hwprofile/hwprofile.h"
#include "run/run.h"

enum finding_cause {
    FINDING_NONE,    /* not above the roof */
    FINDING_CACHE,   /* memory roof, but the working set fits the last-level cache */
    FINDING_TILES,   /* FP32 vector roof, but BF16 tiles multiply F16 and F32 (94) */
    FINDING_LEVEL,   /* roof of one level, but the working set fits a nearer one */
    FINDING_STALE,   /* roof of the stored profile, and an adjacent probe differs */
    FINDING_MOVED,   /* the probed roof varied during the measurement */
    FINDING_UNKNOWN,
    FINDING_COUNT,
};
const char *finding_cause_name(enum finding_cause c); /* "cache reuse" */

/* Fractions: excess over the roof that is a violation, and variation of a roof that is significant. */
#define FINDING_MARGIN 0.02
#define FINDING_MOVES 0.1

/* A rate and its roof, in one unit. */
struct finding_point {
    double rate, roof;
    bool memory;            /* the roof is a bandwidth; else arithmetic */
    bool tiles;             /* of arithmetic: FP32, for products that BF16 tiles may compute */
    const char *level;      /* of a bandwidth: "L1" "L2" "L3" "DRAM" */
    double reuse_bytes;     /* reuse distance; NaN: unknown */
    double cache_bytes[3];  /* L1, L2, L3: of all cores in use; NaN or 0: unknown, or there is none */
    double adjacent;        /* adjacent probe of a stored profile's roof; NaN: roof is not the profile's */
    double moved;           /* largest probe less smallest over median; NaN: unknown */
    double highest;         /* of the adjacent probes; NaN: unknown */
};
enum finding_cause finding_of(const struct finding_point *p);
/* The cause with its numbers, a sentence without a full stop; "" for FINDING_NONE. */
const char *finding_text(char *buf, size_t n, const struct finding_point *p, enum finding_cause c);

struct finding {
    char model[128], test[48], role[20]; /* role "": the whole pass */
    const char *what;                    /* "MBU" "MFU", "MBU profile" "MFU profile" */
    double rate, roof;
    const char *unit;
    enum finding_cause cause;
    char text[200];
};
/* All roof violations of a run: tests against adjacent probes and the stored profile, roles against adjacent probes. h: NULL, or the
 * machine, for its caches. Free with free(). errors: out of memory */
int findings_of_run(struct finding **found, size_t *n, const struct run *r, const struct hwprofile *h, struct error *err);

#endif
