/*
 * finding.h: a point above its roof. It is neither clipped nor hidden: something about the roof, or about what the point
 * counts, is not as the comparison takes it, and that has a name. methods.md (84)
 */
#ifndef PREDICT_FINDING_H
#define PREDICT_FINDING_H

#include "hwprofile/hwprofile.h"
#include "run/run.h"

enum finding_cause {
    FINDING_NONE,    /* not above the roof */
    FINDING_CACHE,   /* memory's roof, but what is read again fits the last-level cache */
    FINDING_TILES,   /* the roof of FP32's vectors, but tiles of BF16 multiply F16 and F32 (94) */
    FINDING_LEVEL,   /* the roof of one level, but what is read again fits a nearer one */
    FINDING_STALE,   /* the stored profile's roof, and a probe beside the point reads another */
    FINDING_MOVED,   /* the roof moved while the point was measured */
    FINDING_UNKNOWN,
    FINDING_COUNT,
};
const char *finding_cause_name(enum finding_cause c); /* "cache reuse" */

/* How far above its roof a point is one, and how far a roof has to move to be another one: fractions. */
#define FINDING_MARGIN 0.02
#define FINDING_MOVES 0.1

/* A rate beside its roof, both in one unit. */
struct finding_point {
    double rate, roof;
    bool memory;            /* the roof is a bandwidth; else arithmetic */
    bool tiles;             /* of arithmetic: FP32's, of products that tiles of BF16 may have made */
    const char *level;      /* of a bandwidth: "L1" "L2" "L3" "DRAM" */
    double reuse_bytes;     /* touched between two uses of the same byte; NaN: unknown */
    double cache_bytes[3];  /* L1, L2, L3: of all cores in use; NaN or 0: unknown, or there is none */
    double adjacent;        /* the same roof probed beside the point, where roof is the stored profile's; NaN: it is not */
    double moved;           /* largest probe less smallest over median; NaN: unknown */
    double highest;         /* of the probes beside the point; NaN: unknown */
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
/* Every point of a run that is above its roof: tests against the probes beside them and against the stored profile, roles
 * against the probes. h: NULL, or the machine, for its caches. Free with free(). */
int findings_of_run(struct finding **found, size_t *n, const struct run *r, const struct hwprofile *h, struct error *err);

#endif
