/* What the files of hwprofile share. */
#ifndef HWPROFILE_INTERNAL_H
#define HWPROFILE_INTERNAL_H

#include "hwprofile/hwprofile.h"

#define HWPROFILE_SCHEMA "roofcast.hwprofile"
#define HWCLASSES_SCHEMA "roofcast.hwclasses"
enum { HWPROFILE_VERSION = 1, HWCLASSES_VERSION = 1 };

/* "cpu" "gpu" "apu" "npu", by enum hw_kind. */
extern const char *const hw_kind_names[4];

/* Nothing known: NaN for every number. */
void hwprofile_init(struct hwprofile *h);
void hw_value_unknown(struct hw_value *v);

/* Fields of o must be among known[n], or start with "_", or be "notes"; else an error that names
 * the nearest known one. */
int hw_check_fields(const json_t *o, const char *ctx, const char *const *known, size_t n,
                    struct error *err);
/* {"compute": .., "bandwidth": .., "launch_s": ..} */
int hw_parse_efficiency(struct hw_efficiency *e, const json_t *o, const char *ctx,
                        struct error *err);
/* Fill what h->eff lacks from classes.json in the directories; a missing file leaves it unknown. */
int hw_fill_efficiency(struct hwprofile *h, struct error *err);

/* Lower case, letters digits and '+' only: "RTX 4090" and "rtx-4090" are the same. */
void hw_normalize(char *out, size_t size, const char *name);
/* Number of single-letter changes between a and b (at most 64 letters of each count). */
size_t hw_edit_distance(const char *a, const char *b);

/* Directories set by hwprofile_set_dirs; NULL-terminated, never NULL. */
const char *const *hw_dirs(void);

#endif
