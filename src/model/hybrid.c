/* config.json of hybrid models: kinds of layers, dimensions of the recurrence. */
#include "model/hybrid.h"
#include "model/internal.h"
#include <string.h>

static int no_window(const json_t *j, const char *what, struct error *err)
{
    bool use = true;
    int64_t window = 0;
    if (json_get_bool_opt(j, what, "use_sliding_window", &use, err) != 0 ||
        json_get_int_opt(j, what, "sliding_window", 0, INT64_MAX, &window, err) != 0)
        return -1;
    return use && window > 0 ? error_set(err, ERROR_INPUT, "%s: sliding_window is %lld: windows are not supported in hybrids",
                                         what, (long long)window)
                             : 0;
}

/* Bounds products far below 2^32, so that projection rows can be summed. */
static int check_products(const char *what, const struct hybrid_fields *f, const struct hybrid *h, struct error *err)
{
    const uint64_t limit = 1 << 24;
    const char *head = f->n_head ? f->n_head : "mamba_expand x hidden_size", *dim = f->head_dim ? f->head_dim : "1",
               *group = f->n_group ? f->n_group : "1";
    if (h->n_group > 0 && h->n_head % h->n_group != 0)
        return error_set(err, ERROR_INPUT, "%s: %s is %u, expected a multiple of %s, which is %u", what, head, h->n_head, group,
                         h->n_group);
    if ((uint64_t)h->n_head * h->head_dim > limit)
        return error_set(err, ERROR_INPUT, "%s: %s x %s is %u x %u, expected at most %llu", what, head, dim, h->n_head,
                         h->head_dim, (unsigned long long)limit);
    if ((uint64_t)h->n_group * h->n_state > limit)
        return error_set(err, ERROR_INPUT, "%s: %s x %s is %u x %u, expected at most %llu", what, group, f->n_state,
                         h->n_group, h->n_state, (unsigned long long)limit);
    return 0;
}

int hybrid_dimensions(const json_t *j, const char *what, const struct hybrid_fields *f, struct hparams *hp, struct error *err)
{
    struct hybrid *h = &hp->hybrid;
    if (hp->n_layer > HYBRID_MAX_LAYER)
        return error_set(err, ERROR_INPUT, "%s: num_hidden_layers is %u, expected at most %d in a hybrid", what, hp->n_layer,
                         HYBRID_MAX_LAYER);
    if (no_window(j, what, err) != 0 || (f->n_head && config_count(j, what, f->n_head, 1, 65536, &h->n_head, err) != 0) ||
        (f->head_dim && config_count(j, what, f->head_dim, 1, 65536, &h->head_dim, err) != 0) ||
        (f->n_group && config_count(j, what, f->n_group, 1, 65536, &h->n_group, err) != 0) ||
        (f->n_state && config_count(j, what, f->n_state, 1, 65536, &h->n_state, err) != 0) ||
        (f->n_conv && config_count(j, what, f->n_conv, 2, 64, &h->n_conv, err) != 0))
        return -1;
    return check_products(what, f, h, err);
}

int hybrid_width(const char *what, const struct hybrid_fields *f, const char *field, uint64_t width, const struct hparams *hp,
                 struct error *err)
{
    const struct hybrid *h = &hp->hybrid;
    if (width == (uint64_t)h->n_head * h->head_dim)
        return 0;
    return error_set(err, ERROR_INPUT, "%s: %s x %s is %u x %u, expected the width of the recurrence (%s), which is %llu", what,
                     f->n_head, f->head_dim, h->n_head, h->head_dim, field, (unsigned long long)width);
}

int hybrid_flag(const json_t *j, const char *what, const char *field, bool only, struct error *err)
{
    bool v = only;
    if (json_get_bool_opt(j, what, field, &v, err) != 0)
        return -1;
    return v == only ? 0
                     : error_set(err, ERROR_INPUT, "%s: %s is %s: only %s is supported", what, field, v ? "true" : "false",
                                 only ? "true" : "false");
}

/* ---- layer kinds ---- */

static int unknown_layer(const char *what, const char *field, size_t i, const char *s, size_t len,
                         const struct layer_word *words, struct error *err)
{
    char known[128] = "", found[33];
    for (size_t k = 0, n = 0; words[k].word && n < sizeof known; k++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", k ? ", " : "", words[k].word);
    return error_set(err, ERROR_INPUT, "%s: %s[%zu] is \"%s\", expected one of: %s", what, field, i,
                     model_printable(found, sizeof found, s, len), known);
}

static int set_layer(const char *what, const char *field, size_t i, const char *s, size_t len, const struct layer_word *words,
                     struct hparams *hp, struct error *err)
{
    for (const struct layer_word *w = words; w->word; w++)
        if (strlen(w->word) == len && memcmp(w->word, s, len) == 0) {
            hp->hybrid.parts[i] = w->parts;
            return 0;
        }
    return unknown_layer(what, field, i, s, len, words, err);
}

int hybrid_layers(const json_t *j, const char *what, const char *field, const struct layer_word *words, struct hparams *hp,
                  struct error *err)
{
    const json_t *v = json_object_get(j, field);
    const char *letters = json_string_value(v);
    const size_t n = letters ? strlen(letters) : json_array_size(v);
    if (!letters && !json_is_array(v))
        return error_set(err, ERROR_INPUT, "%s: field \"%s\" %s, expected the kind of every layer", what, field,
                         v ? "is neither a list nor a string" : "is missing");
    if (n != hp->n_layer)
        return error_set(err, ERROR_INPUT, "%s: %s has %zu entries for %u layers (num_hidden_layers)", what, field, n,
                         hp->n_layer);
    for (size_t i = 0; i < n; i++) {
        const char *s = letters ? letters + i : json_string_value(json_array_get(v, i));
        if (!s)
            return error_set(err, ERROR_INPUT, "%s: %s[%zu]: expected a string, found %s", what, field, i,
                             json_type_name(json_array_get(v, i)));
        if (set_layer(what, field, i, s, letters ? 1 : strlen(s), words, hp, err) != 0)
            return -1;
    }
    return 0;
}

void hybrid_every(struct hparams *hp, uint32_t period, uint32_t offset, enum layer_part then, enum layer_part otherwise)
{
    for (uint32_t i = 0; i < hp->n_layer && i < HYBRID_MAX_LAYER; i++)
        hp->hybrid.parts[i] |= (uint8_t)(i % period == offset ? then : otherwise);
}

int hybrid_check(const char *what, const char *field, struct hparams *hp, struct error *err)
{
    unsigned all = 0;
    for (uint32_t i = 0; i < hp->n_layer && i < HYBRID_MAX_LAYER; i++)
        all |= hp->hybrid.parts[i];
    if ((all & PART_EXPERTS) && hp->n_expert == 0)
        return error_set(err, ERROR_INPUT, "%s: the number of experts (num_experts, num_local_experts, n_routed_experts) is "
                         "missing or 0, and there are layers of experts", what);
    if ((all & PART_FFN) && hp->n_ff < 2)
        return error_set(err, ERROR_INPUT, "%s: %s is missing, and there are layers without experts", what, field);
    if (hp->n_ff < 2 && hp->n_expert > 0)
        hp->n_ff = hp->n_ff_exp;
    return 0;
}
