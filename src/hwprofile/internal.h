/* Shared by the files of hwprofile. */
#ifndef HWPROFILE_INTERNAL_H
#define HWPROFILE_INTERNAL_H

#include "hwprofile/hwprofile.h"

#define HWPROFILE_SCHEMA "roofcast.hwprofile"
#define HWCLASSES_SCHEMA "roofcast.hwclasses"
enum { HWPROFILE_VERSION = 1, HWCLASSES_VERSION = 1 };
enum { HW_CTX = 512 }; /* "file: field.field" of a message */

/* by enum hw_kind: "cpu" "gpu" "apu" "npu" */
extern const char *const hw_kind_names[4];

/* Empty profile: every number NaN. */
void hwprofile_init(struct hwprofile *h);
void hw_value_unknown(struct hw_value *v);

/* Fields of o must be in known[n], start with "_", or be "notes"; else an error with the nearest known name. */
int hw_check_fields(const json_t *o, const char *ctx, const char *const *known, size_t n,
                    struct error *err);
/* A string into a fixed array; too long is an error. An absent optional field leaves buf unchanged. */
int hw_get_text(const json_t *o, const char *ctx, const char *key, bool required, char *buf,
                size_t size, struct error *err);
/* *out NULL: absent or null */
int hw_get_object(const json_t *o, const char *ctx, const char *key, const json_t **out,
                  struct error *err);
/* Index of text in known[n]; else an error that lists them. */
int hw_check_choice(const char *text, const char *const *known, size_t n, const char *ctx,
                    const char *key, struct error *err);

/* Accepted notation of a quantity. */
struct hw_quantity {
    const char *unit[5]; /* accepted spellings, the first for messages; "" for a fraction */
    double lo, hi;       /* range; lo itself only if lo_ok */
    bool lo_ok;
};
extern const struct hw_quantity hw_q_bytes, hw_q_bytes_s, hw_q_flop_s, hw_q_watt, hw_q_fraction,
    hw_q_seconds, hw_q_usd_h, hw_q_count, hw_q_hz;
/* {"value": 3.35e12, "unit": "B/s", "source": ".."}, {"value": "3350 GB/s", ..} or "3350 GB/s"; absent or null leaves v unchanged. */
int hw_get_value(struct hw_value *v, const json_t *parent, const char *pctx, const char *key,
                 const struct hw_quantity *q, struct error *err);

int hw_parse_ceilings(struct hwprofile *h, const json_t *a, const char *pctx, struct error *err);
int hw_parse_noise(struct hwprofile *h, const json_t *o, const char *pctx, struct error *err); /* noise.c */
int hw_parse_curves(struct hwprofile *h, const json_t *a, const char *pctx, struct error *err);
int hw_parse_spec(struct hwprofile *h, const json_t *o, const char *pctx, struct error *err);
/* {"compute": .., "bandwidth": .., "launch_s": ..} */
int hw_parse_efficiency(struct hw_efficiency *e, const json_t *o, const char *ctx,
                        struct error *err);
/* Fills h->eff from classes.json where unset; the file is optional. */
int hw_fill_efficiency(struct hwprofile *h, struct error *err);

/* name_fold without vendor words and CPU suffixes: "RTX 4090", "rtx-4090" and "NVIDIA GeForce RTX 4090" are equal. */
void hw_normalize(char *out, size_t size, const char *name);
/* The same with a blank between words (name_words). */
/* Vendor implied by a machine's name ("GeForce RTX 5090": NVIDIA), spelled as in profiles; "": unknown. */
const char *hw_vendor_of_name(const char *name);
void hw_words(char *out, size_t size, const char *name);

/* Directories of environment_set_dirs; NULL-terminated, never NULL. */
const char *const *hw_dirs(void);

#endif
