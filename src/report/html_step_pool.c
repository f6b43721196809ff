/* Texts by number, and JSON text that may stand in <script>. */
#include "base/json.h"
#include "report/html_step_data.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a. */
static size_t hash_of(const char *s)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
    return (size_t)h;
}

/* Slot of the text, or the empty one where it belongs. */
static size_t *slot_of(const struct step_pool *p, const char *s)
{
    const size_t mask = 2 * p->cap - 1; /* cap is a power of two */
    size_t i = hash_of(s) & mask;
    while (p->slot[i] > 0 && strcmp(p->text[p->slot[i] - 1], s) != 0)
        i = (i + 1) & mask;
    return &p->slot[i];
}

static int grow(struct step_pool *p, struct error *err)
{
    const size_t cap = p->cap > 0 ? 2 * p->cap : 256;
    char **text = realloc(p->text, cap * sizeof *text);
    if (text)
        p->text = text;
    size_t *slot = calloc(2 * cap, sizeof *slot);
    if (!text || !slot) {
        free(slot);
        return error_oom(err, cap * sizeof *text, "the data of the section");
    }
    free(p->slot);
    p->slot = slot;
    p->cap = cap;
    for (size_t i = 0; i < p->n; i++)
        *slot_of(p, p->text[i]) = i + 1;
    return 0;
}

size_t step_pool_add(struct step_pool *p, struct strbuf *b, struct error *err)
{
    const char *s = strbuf_text(b, "the data of the section", err);
    size_t *slot = NULL;
    if (s && (p->n < p->cap || grow(p, err) == 0))
        slot = slot_of(p, s);
    if (slot && *slot == 0) {
        p->text[p->n] = strdup(s);
        if (p->text[p->n])
            *slot = ++p->n;
        else
            error_oom(err, b->len, "the data of the section");
    }
    strbuf_free(b);
    return slot && *slot > 0 ? *slot - 1 : SIZE_MAX;
}

void step_pool_free(struct step_pool *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->text[i]);
    free(p->text);
    free(p->slot);
    *p = (struct step_pool){ 0 };
}

void step_json_text(struct strbuf *b, const char *s)
{
    json_t *j = json_text(s ? s : "");
    char *text = j ? json_dumps(j, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
    b->oom |= !text;
    for (const char *c = text; c && *c; c++)
        if (*c == '<')
            strbuf_adds(b, "\\u003c");
        else
            strbuf_add(b, c, 1);
    free(text);
    json_decref(j);
}

void step_json_number(struct strbuf *b, double v)
{
    if (isfinite(v))
        strbuf_addf(b, "%.7g", v);
    else
        strbuf_adds(b, "null");
}

double step_feature_get(const void *of, const struct step_feature *f)
{
    double v;
    memcpy(&v, (const char *)of + f->at, sizeof v);
    return v;
}

void step_features_write(struct strbuf *b, const char *key, const struct step_feature *f, size_t n)
{
    strbuf_addf(b, "\"%s\":[", key);
    for (size_t i = 0; i < n; i++)
        strbuf_addf(b, "%s\"%s\"", i > 0 ? "," : "", f[i].name);
    strbuf_adds(b, "]");
}

struct pass step_pass_of(const struct step_sample *s, uint32_t context)
{
    const uint32_t n = s->n_tok * s->n_seq;
    return (struct pass){ .n_tok = n, .n_past = context, .n_seq = s->n_seq, .n_out = n };
}

const uint32_t step_seeds[STEP_SEEDS] = { 64, 512, 2048, 8192, 32768 };
