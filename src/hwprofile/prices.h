/* prices.h: prices of machines, with source and date (hwprofiles/prices/prices.json; doc/formats.md). */
#ifndef HWPROFILE_PRICES_H
#define HWPROFILE_PRICES_H

#include "base/base.h"

/* An offer: rent or purchase; the other is NaN. */
struct price {
    char hw[64];      /* name of a profile */
    double usd_h;     /* a device and hour, on demand */
    double usd;       /* to buy a device */
    uint32_t devices; /* rent: the fewest that are let together */
    char provider[64], what[64]; /* of rent; what is bought; "": not stated */
    char source[160], url[200], date[24];
};

struct prices {
    struct price *v;
    size_t n;
};

/* Strict: unknown fields, prices that are not positive, and offers without date or source are errors. Fuzzed. */
int prices_parse(struct prices *p, const char *name, const void *data, size_t size, struct error *err);
/* path NULL: hwprofiles/prices/prices.json of the first data directory that has it. */
int prices_load(struct prices *p, const char *path, struct error *err);
void prices_free(struct prices *p);
/* The cheapest offer for n devices of a machine: to rent, or to buy; NULL: none. */
const struct price *prices_find(const struct prices *p, const char *hw, uint32_t n_devices, bool buy);

#endif
