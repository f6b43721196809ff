/* family_collective.h: features of one collective, and its seconds. methods.md (47) */
#ifndef STACKS_FAMILY_COLLECTIVE_H
#define STACKS_FAMILY_COLLECTIVE_H

#include "stacks/family.h"

enum collective_op { COLLECTIVE_ALL_REDUCE, COLLECTIVE_ALL_GATHER, COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_ALL_TO_ALL };
/* The slowest link that the devices cross. */
enum collective_link { COLLECTIVE_BOARD, COLLECTIVE_BUS, COLLECTIVE_NETWORK };

struct collective_features {
    double clock_hz, memory_bytes_s;
    double link_bytes_s;           /* of that link, one direction; of a network all cards of a board */
    double n, bytes;               /* devices; bytes of the buffer: of all-gather what a device has afterwards */
    double crossings;              /* devices that send on the bus at once */
    enum collective_op op;
    enum collective_link link;
    bool own;                      /* a kernel of the engine that writes to all peers, not a library's ring */
    bool multicast;                /* the switch adds and replicates: NVLink SHARP */
    bool eager;                    /* the host launches each call */
    bool copies;                   /* the result is a copy */
    bool dense;                    /* of a file whose sizes are evenly spaced in bytes */
};

/* Links of a machine between n devices, at most n_board of them on a board; f->multicast: a switch would add. false: it has none. */
bool collective_links(struct collective_features *f, const struct machine *on, double n, double n_board);
/* Engines have a kernel of their own for such an all-reduce. */
bool collective_is_own(const struct collective_features *f);
/* ln seconds; parameter: logarithms, in the order of family_collective. */
double collective_ln_seconds(const void *features, const double *parameter);

#endif
