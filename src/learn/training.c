/* Training groups of a fit, and what is new about a row to predict. */
#include "learn/training.h"
#include <stdlib.h>
#include <string.h>

enum { TEXT = 600 };

void training_free(struct training_groups *k)
{
    for (size_t i = 0; i < k->n; i++)
        free(k->text[i]);
    free(k->text);
    *k = (struct training_groups){ 0 };
}

/* Position of a text, or its insertion point. */
static size_t insertion_point(const struct training_groups *k, const char *text, bool *there)
{
    size_t lo = 0, hi = k->n;
    *there = false;
    while (lo < hi && !*there) {
        const size_t at = lo + (hi - lo) / 2;
        const int c = strcmp(k->text[at], text);
        if (c < 0)
            lo = at + 1;
        else
            hi = at;
        if (c == 0) {
            *there = true;
            lo = at;
        }
    }
    return lo;
}

int training_add_text(struct training_groups *k, const char *text, struct error *err)
{
    bool there;
    const size_t at = insertion_point(k, text, &there);
    if (there)
        return 0;
    if (k->n == k->cap) {
        const size_t cap = k->cap ? 2 * k->cap : 32;
        char **more = realloc(k->text, cap * sizeof *more);
        if (!more)
            return error_oom(err, cap * sizeof *more, "groups");
        k->text = more;
        k->cap = cap;
    }
    char *copy = strdup(text);
    if (!copy)
        return error_oom(err, strlen(text), "groups");
    memmove(&k->text[at + 1], &k->text[at], (k->n - at) * sizeof *k->text);
    k->text[at] = copy;
    k->n++;
    return 0;
}

static int add(struct training_groups *k, const char *key, const char *value, struct error *err)
{
    char text[TEXT];
    snprintf(text, sizeof text, "%s=%s", key, value);
    return *value ? training_add_text(k, text, err) : 0;
}

int training_add_row(struct training_groups *k, const struct workload *p, struct error *err)
{
    char text[256];
    for (int l = LEAVE_HARDWARE; l < LEAVE_DATE; l++)
        if ((l != LEAVE_TOPOLOGY || p->m->kind == MEASURE_ALL_REDUCE) &&
            add(k, leave_out_name((enum leave_out)l), left_out_text(p, (enum leave_out)l, text, sizeof text), err) != 0)
            return -1;
    return 0;
}

const char *training_publication(const struct workload *p, char *buf, size_t size)
{
    char machine[256], source[256];
    measure_publisher(p->m, source, sizeof source);
    *buf = 0;
    if (*source)
        snprintf(buf, size, "%s on %s", source, left_out_text(p, LEAVE_HARDWARE, machine, sizeof machine));
    return buf;
}

bool training_has_publishers(const struct training_groups *k)
{
    static const char word[] = "source=";
    bool there;
    const size_t at = insertion_point(k, word, &there) + 1;
    return at < k->n && strncmp(k->text[at], word, sizeof word - 1) == 0;
}

int training_add_publication(struct training_groups *k, const struct workload *p, struct error *err)
{
    char text[520];
    return add(k, "publication", training_publication(p, text, sizeof text), err);
}

int training_copy(char ***out, size_t *n, const struct training_groups *k, struct error *err)
{
    *n = 0;
    *out = calloc(k->n + 1, sizeof **out);
    if (!*out)
        return error_oom(err, k->n * sizeof **out, "groups");
    for (; *n < k->n; ++*n)
        if (!((*out)[*n] = strdup(k->text[*n])))
            return error_oom(err, strlen(k->text[*n]), "groups");
    return 0;
}

static bool has_text(const struct training_groups *k, const char *key, const char *value)
{
    char text[TEXT];
    bool there;
    snprintf(text, sizeof text, "%s=%s", key, value);
    (void)insertion_point(k, text, &there);
    return there;
}

static bool has_group(const struct training_groups *k, const struct workload *p, enum leave_out l)
{
    char value[256];
    return has_text(k, leave_out_name(l), left_out_text(p, l, value, sizeof value));
}

bool training_has_engine(const struct workload *p)
{
    return p->m->kind == MEASURE_RATE || p->m->kind == MEASURE_SERVING;
}

enum novelty novelty_from(const struct workload *p, unsigned seen)
{
    if (!(seen & SEEN_CLASS))
        return NOVELTY_CLASS;
    if (!(seen & SEEN_MACHINE))
        return seen & SEEN_GENERATION ? NOVELTY_MACHINE : NOVELTY_GENERATION;
    if (!(seen & SEEN_ENGINE) && training_has_engine(p))
        return NOVELTY_ENGINE;
    if (seen & SEEN_PUBLICATION)
        return NOVELTY_NOTHING;
    return seen & SEEN_WORK ? NOVELTY_PUBLISHER : NOVELTY_WORK;
}

enum novelty novelty_of(const struct training_groups *by, const struct training_groups *shown, const struct workload *p)
{
    char publication[520];
    if (!has_group(by, p, LEAVE_HARDWARE) && has_group(shown, p, LEAVE_HARDWARE))
        return NOVELTY_ANCHORED;
    return novelty_from(p, (has_text(by, "publication", training_publication(p, publication, sizeof publication)) ? SEEN_PUBLICATION : 0) |
                               (has_group(by, p, LEAVE_MODEL) ? SEEN_WORK : 0) | (has_group(by, p, LEAVE_ENGINE) ? SEEN_ENGINE : 0) |
                               (has_group(by, p, LEAVE_HARDWARE) ? SEEN_MACHINE : 0) | (has_group(by, p, LEAVE_GENERATION) ? SEEN_GENERATION : 0) |
                               (has_group(by, p, LEAVE_CLASS) ? SEEN_CLASS : 0));
}
