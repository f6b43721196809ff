/* values.c: metadata values by key (bisection), converted with range checks. */
#include "gguf/internal.h"
#include <inttypes.h>
#include <string.h>

static const struct gguf_kv *find(const struct gguf *g, const char *key)
{
    struct gguf_str k = { key, strlen(key) };
    size_t lo = 0, hi = g->n_kv;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = gguf_str_cmp(g->kv_by_key[mid]->key, k);
        if (c == 0)
            return g->kv_by_key[mid];
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

static int missing(const struct gguf *g, const char *key, struct error *err)
{
    return error_set(err, ERROR_INPUT, "%s: key \"%s\" is missing", g->path, key);
}

static int wrong(const struct gguf *g, const char *key, const char *found, const char *expected,
                 struct error *err)
{
    return error_set(err, ERROR_INPUT, "%s: key \"%s\": found %s, expected %s", g->path, key,
                     found, expected);
}

/* A number of any type: two's complement integer with a sign flag, or float. */
struct number {
    bool is_float, negative;
    uint64_t u;
    double f;
};

static struct number integer(uint64_t u, size_t bytes, bool is_signed)
{
    struct number v = { .u = u };
    if (is_signed && u >> (8 * bytes - 1) & 1) {
        v.negative = true;
        v.u = bytes < 8 ? u | ~(uint64_t)0 << 8 * bytes : u;
    }
    return v;
}

static int64_t signed_of(uint64_t u)
{
    int64_t i;
    memcpy(&i, &u, sizeof i);
    return i;
}

/* False: not a numeric type. */
static bool decode(enum gguf_type type, const unsigned char *p, struct number *out)
{
    size_t bytes = gguf_type_bytes(type);
    uint64_t u = gguf_load_le(p, bytes);
    uint32_t u32 = (uint32_t)u;
    float f;
    switch (type) {
    case GGUF_U8:
    case GGUF_U16:
    case GGUF_U32:
    case GGUF_U64:
    case GGUF_BOOL:
        *out = integer(u, bytes, false);
        return true;
    case GGUF_I8:
    case GGUF_I16:
    case GGUF_I32:
    case GGUF_I64:
        *out = integer(u, bytes, true);
        return true;
    case GGUF_F32:
        memcpy(&f, &u32, sizeof f);
        *out = (struct number){ .is_float = true, .f = (double)f };
        return true;
    case GGUF_F64:
        *out = (struct number){ .is_float = true };
        memcpy(&out->f, &u, sizeof out->f);
        return true;
    case GGUF_STRING:
    case GGUF_ARRAY:
        return false;
    }
    return false;
}

static double number_double(const struct number *v)
{
    if (v->is_float)
        return v->f;
    return v->negative ? (double)signed_of(v->u) : (double)v->u;
}

bool gguf_has(const struct gguf *g, const char *key)
{
    return find(g, key) != NULL;
}

size_t gguf_n_kv(const struct gguf *g)
{
    return g->n_kv;
}

struct gguf_str gguf_kv_at(const struct gguf *g, size_t i, enum gguf_type *type)
{
    if (i >= g->n_kv)
        return (struct gguf_str){ "", 0 };
    if (type)
        *type = g->kv[i].type;
    return g->kv[i].key;
}

int gguf_opt_u64(const struct gguf *g, const char *key, uint64_t *out, struct error *err)
{
    const struct gguf_kv *kv = find(g, key);
    struct number v;
    if (!kv)
        return 0;
    if (kv->type == GGUF_BOOL || !decode(kv->type, kv->value, &v) || v.is_float)
        return wrong(g, key, gguf_type_name(kv->type), "an integer", err);
    if (v.negative)
        return error_set(err, ERROR_INPUT,
                         "%s: key \"%s\": found %" PRId64 ", expected an integer of at least 0",
                         g->path, key, signed_of(v.u));
    *out = v.u;
    return 0;
}

int gguf_opt_f64(const struct gguf *g, const char *key, double *out, struct error *err)
{
    const struct gguf_kv *kv = find(g, key);
    struct number v;
    if (!kv)
        return 0;
    if (kv->type == GGUF_BOOL || !decode(kv->type, kv->value, &v))
        return wrong(g, key, gguf_type_name(kv->type), "a number", err);
    *out = number_double(&v);
    return 0;
}

int gguf_opt_bool(const struct gguf *g, const char *key, bool *out, struct error *err)
{
    const struct gguf_kv *kv = find(g, key);
    if (!kv)
        return 0;
    if (kv->type != GGUF_BOOL)
        return wrong(g, key, gguf_type_name(kv->type), "bool", err);
    *out = kv->value[0] != 0;
    return 0;
}

int gguf_opt_str(const struct gguf *g, const char *key, struct gguf_str *out, struct error *err)
{
    const struct gguf_kv *kv = find(g, key);
    if (!kv)
        return 0;
    if (kv->type != GGUF_STRING)
        return wrong(g, key, gguf_type_name(kv->type), "string", err);
    *out = (struct gguf_str){ (const char *)kv->value + 8, kv->bytes - 8 };
    return 0;
}

int gguf_get_u64(const struct gguf *g, const char *key, uint64_t *out, struct error *err)
{
    return find(g, key) ? gguf_opt_u64(g, key, out, err) : missing(g, key, err);
}

int gguf_get_f64(const struct gguf *g, const char *key, double *out, struct error *err)
{
    return find(g, key) ? gguf_opt_f64(g, key, out, err) : missing(g, key, err);
}

int gguf_get_str(const struct gguf *g, const char *key, struct gguf_str *out, struct error *err)
{
    return find(g, key) ? gguf_opt_str(g, key, out, err) : missing(g, key, err);
}

int gguf_get_arr(const struct gguf *g, const char *key, enum gguf_type *elem, uint64_t *n,
                 struct error *err)
{
    const struct gguf_kv *kv = find(g, key);
    if (!kv)
        return missing(g, key, err);
    if (kv->type != GGUF_ARRAY)
        return wrong(g, key, gguf_type_name(kv->type), "array", err);
    *elem = kv->elem;
    *n = kv->n;
    return 0;
}

/* The array at that key if it has an element i. */
static const struct gguf_kv *find_element(const struct gguf *g, const char *key, uint64_t i,
                                          struct error *err)
{
    const struct gguf_kv *kv = find(g, key);
    if (!kv) {
        missing(g, key, err);
    } else if (kv->type != GGUF_ARRAY) {
        wrong(g, key, gguf_type_name(kv->type), "array", err);
    } else if (i >= kv->n) {
        error_set(err, ERROR_INPUT,
                  "%s: key \"%s\": element %" PRIu64 " of an array of %" PRIu64, g->path, key, i,
                  kv->n);
    } else {
        return kv;
    }
    return NULL;
}

int gguf_arr_str(const struct gguf *g, const char *key, uint64_t i, struct gguf_str *out,
                 struct error *err)
{
    const struct gguf_kv *kv = find_element(g, key, i, err);
    if (!kv)
        return -1;
    if (kv->elem != GGUF_STRING)
        return error_set(err, ERROR_INPUT, "%s: key \"%s\": found an array of %s, expected string",
                         g->path, key, gguf_type_name(kv->elem));
    const unsigned char *p = kv->value + kv->str_at[i];
    *out = (struct gguf_str){ (const char *)p + 8, (size_t)gguf_load_le(p, 8) };
    return 0;
}

static int array_number(const struct gguf *g, const char *key, uint64_t i, struct number *out,
                        struct error *err)
{
    const struct gguf_kv *kv = find_element(g, key, i, err);
    if (!kv)
        return -1;
    const unsigned char *p = kv->value + GGUF_ARRAY_HEAD + i * gguf_type_bytes(kv->elem);
    if (!decode(kv->elem, p, out))
        return error_set(err, ERROR_INPUT, "%s: key \"%s\": found an array of %s, expected numbers",
                         g->path, key, gguf_type_name(kv->elem));
    return 0;
}

int gguf_arr_f64(const struct gguf *g, const char *key, uint64_t i, double *out,
                 struct error *err)
{
    struct number v;
    if (array_number(g, key, i, &v, err) != 0)
        return -1;
    *out = number_double(&v);
    return 0;
}

int gguf_arr_i64(const struct gguf *g, const char *key, uint64_t i, int64_t *out,
                 struct error *err)
{
    struct number v;
    if (array_number(g, key, i, &v, err) != 0)
        return -1;
    if (v.is_float)
        return error_set(err, ERROR_INPUT, "%s: key \"%s\": found an array of floats, expected integers",
                         g->path, key);
    if (!v.negative && v.u > INT64_MAX)
        return error_set(err, ERROR_INPUT, "%s: key \"%s\": element %" PRIu64 " is too large: %" PRIu64,
                         g->path, key, i, v.u);
    *out = signed_of(v.u);
    return 0;
}
