/* Shared by the files of hwprofile. */
#ifndef HWPROFILE_INTERNAL_H
#define HWPROFILE_INTERNAL_H

#include "hwprofile/hwprofile.h"
#include <stddef.h>

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
/* An array of at most `most`; *out NULL: absent or null. */
int hw_get_list(const json_t *o, const char *ctx, const char *key, size_t most, const json_t **out, struct error *err);
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

/* ---- fields.c: members of a struct as fields of a JSON object ---- */

enum hw_field_kind {
    HW_TEXT,   /* char[size] */
    HW_INT,    /* int, lo to hi */
    HW_NUMBER, /* double; NaN: unknown */
    HW_VALUE,  /* struct hw_value */
    HW_LIST,   /* array of objects */
    HW_CHILD,  /* by functions */
};
enum {
    HW_REQUIRED = 1,
    HW_ALWAYS = 2, /* written also if "", 0 or unknown (null) */
    HW_NULL = 4,   /* "" is written as null */
};
/* A list: `count` (size_t) structs of `size` bytes at a pointer (allocated when read), or in the struct itself. */
struct hw_list {
    bool inside;
    size_t count, size;
    const struct hw_field *fields;
    size_t n_fields, most;
    /* Sets what the fields leave as it is. NULL: zeros. */
    void (*init)(void *item);
    /* p: the struct with the list; item i was read. NULL: nothing to check. */
    int (*check)(const void *p, size_t i, const char *ctx, struct error *err);
};
struct hw_field {
    const char *key;
    enum hw_field_kind kind;
    unsigned flags;
    size_t offset, size;
    int64_t lo, hi;
    const struct hw_quantity *quantity;
    const struct hw_list *list;
    /* p: the struct; o: the object with the field. NULL: ignored. */
    int (*read)(void *p, const json_t *o, const char *ctx, struct error *err);
    int (*put)(json_t *o, const void *p);
};
#define HW_MEMBER(type, member) .offset = offsetof(type, member), .size = sizeof((type *)NULL)->member
#define HW_TEXT_FIELD(k, type, member, f) { .key = k, .kind = HW_TEXT, .flags = f, HW_MEMBER(type, member) }
#define HW_INT_FIELD(k, type, member, f, l, h) { .key = k, .kind = HW_INT, .flags = f, .lo = l, .hi = h, HW_MEMBER(type, member) }
#define HW_NUMBER_FIELD(k, type, member, f) { .key = k, .kind = HW_NUMBER, .flags = f, HW_MEMBER(type, member) }
#define HW_VALUE_FIELD(k, type, member, f, q) { .key = k, .kind = HW_VALUE, .flags = f, .quantity = q, HW_MEMBER(type, member) }
#define HW_LIST_FIELD(k, type, member, f, l) { .key = k, .kind = HW_LIST, .flags = f, .list = l, .offset = offsetof(type, member) }
#define HW_CHILD_FIELD(k, r, w) { .key = k, .kind = HW_CHILD, .read = r, .put = w }

/* Absent optional fields: 0, "" and NaN; values and texts stay. Unknown fields are errors. */
int hw_read_fields(void *p, const struct hw_field *fields, size_t n, const json_t *o, const char *ctx, struct error *err);
/* jansson's *_new setters report NULL as failure; callers check the sum of these once. */
int hw_put(json_t *o, const char *key, json_t *v);
int hw_put_value(json_t *o, const char *key, const struct hw_value *v, const char *unit, bool always);
int hw_put_fields(json_t *o, const void *p, const struct hw_field *fields, size_t n);
/* An object of the fields; NULL: out of memory or not UTF-8. */
json_t *hw_fields_to_json(const void *p, const struct hw_field *fields, size_t n);

/* ---- parts of a profile; p: struct hwprofile ---- */
extern const struct hw_list hw_ceiling_list, hw_curve_list;
int hw_put_noise(json_t *o, const void *p);
int hw_put_spec(json_t *o, const void *p);
int hw_put_efficiency(json_t *o, const void *p);
int hw_read_ceilings(void *p, const json_t *o, const char *ctx, struct error *err);
int hw_read_curves(void *p, const json_t *o, const char *ctx, struct error *err);
int hw_read_noise(void *p, const json_t *o, const char *ctx, struct error *err);
int hw_read_spec(void *p, const json_t *o, const char *ctx, struct error *err);
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
