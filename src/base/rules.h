/*
 * rules: decision tables as data. A table is a list of rows with conditions and values; the first row whose conditions all hold matches.
 * Behaviour of third-party software by build, machine and size is stated in such rows, not in code. File format: doc/formats.md.
 *
 * Conditions are of two kinds: early ones (names, builds) are constant for all queries about one subject and select rows once
 * (rules_select); late ones (sizes) are numbers that vary between queries (rules_first).
 */
#ifndef BASE_RULES_H
#define BASE_RULES_H

#include "base/json.h"

enum { RULES_MAX_ROWS = 64, RULES_MAX_VALUES = 8, RULES_MAX_KEYS = 64 };

enum rule_kind {
    RULE_FLAG,   /* true, false */
    RULE_NUMBER, /* "<12", ">=3100", ">8 <=64" */
    RULE_ONE,    /* one of the key's words, of a list one of these; "!word": none of them */
    RULE_TEXT,   /* as RULE_ONE, of any texts */
    RULE_PREFIX, /* the fact begins with the text, in letters of either case */
    RULE_PART,   /* the fact contains the text */
    RULE_LIKE,   /* the same, in letters of either case */
    RULE_WORD,   /* a word of the fact, between blanks and hyphens, is the text */
};

struct rule_key {
    const char *name;
    enum rule_kind kind;
    bool late;                /* FLAG, NUMBER, ONE */
    const char *const *words; /* ONE: at most 64, then NULL; the fact is an index */
    bool (*known)(const char *text); /* texts that there are; NULL: any */
};
/* Values are numbers, true and false as 1 and 0; of a value with words an index of these. Default: 0, the first word. */
struct rule_table_form {
    const char *name;
    uint64_t keys;                                /* keys of this table's queries, as bits */
    const char *value[RULES_MAX_VALUES];          /* names; then NULL */
    const char *const *words[RULES_MAX_VALUES];   /* NULL: a number */
};
struct rules_form {
    const char *schema;
    int version;
    const struct rule_key *key; /* at most RULES_MAX_KEYS */
    size_t n_key;
    const struct rule_table_form *table;
    size_t n_table;
};

/* A subject's value of a key. NaN and NULL fulfil no condition except "!word". */
struct rule_fact {
    double number;
    const char *text, *also; /* either fulfils a condition; NULL: none */
};

struct rule_condition {
    unsigned key;
    enum rule_kind kind;
    double lo, hi;     /* FLAG, NUMBER: lo <= fact <= hi */
    uint64_t words;    /* ONE: bits */
    const char **text; /* others: any of n */
    size_t n;
    bool not;
};
struct rule {
    struct rule_condition *when; /* early numbers, early texts, late ones */
    size_t n_early, n;
    double value[RULES_MAX_VALUES]; /* 0: not stated */
    const char *source;             /* the row's, or its table's */
};
struct rule_table {
    struct rule *row;
    size_t n;
};
struct rules {
    const struct rules_form *form;
    struct rule_table *table; /* form->n_table; NULL: nothing was read */
    json_t *doc;              /* owns the texts */
};

/* Strict: unknown tables, keys, words and values are errors; every row has a source. Fuzzed. errors: file, row, field, expected and
 * found */
int rules_parse(struct rules *r, const struct rules_form *form, const char *name, const void *data, size_t size, struct error *err);
/* Takes ownership of doc, also on error; NULL: *err is set already. errors: as rules_parse() */
int rules_take(struct rules *r, const struct rules_form *form, json_t *doc, const char *name, struct error *err);
void rules_free(struct rules *r);

/* The first matching row of a table without late conditions; NULL: none. fact: by key */
const struct rule *rules_match(const struct rules *r, size_t t, const struct rule_fact *fact);
/* Rows of table t, as bits, whose early conditions hold. */
uint64_t rules_select(const struct rules *r, size_t t, const struct rule_fact *fact);
/* The first of those rows whose late conditions hold; NULL: none. late: by key */
const struct rule *rules_first(const struct rules *r, size_t t, uint64_t rows, const double *late);

#endif
