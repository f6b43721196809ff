/*
 * Completion of command lines. The scripts in completions/ pass the words typed until now to `roofcast __complete`; candidates come from
 * the table of options that argp parses with, and from the lists of `roofcast list`.
 */
#include "cli/describe.h"
#include "report/list.h"
#include <string.h>
#include <strings.h>

/* The word to complete. Its first n_kept characters are whole: "--hw=", and the items of a list before the last one. */
struct word {
    const char *text;
    size_t n_kept;
};

static void offer(const struct word *w, const char *candidate, const char *help)
{
    const char *begun = w->text + w->n_kept;
    if (strncasecmp(candidate, begun, strlen(begun)) == 0)
        printf("%.*s%s%s%s\n", (int)w->n_kept, w->text, candidate, help ? "\t" : "", help ? help : "");
}

static void offer_options(const struct word *w, const struct argp_option *t)
{
    const char *doc = NULL;
    for (; t->name || t->key || t->doc; t++) {
        char name[64];
        doc = t->flags & OPTION_ALIAS ? doc : t->doc;
        snprintf(name, sizeof name, "--%s", t->name ? t->name : "");
        if (t->name && doc && !(t->flags & OPTION_HIDDEN))
            offer(w, name, doc);
    }
}

static int list_types_mixtures(json_t *rows, struct error *err)
{
    const char *name;
    int rc = list_types(rows, err);
    for (size_t i = 0; rc == 0 && (name = model_mixture_at(i)) != NULL; i++)
        rc = dtype_find_name(name) ? 0 : list_add_row(rows, json_pack("{s:s}", "name", name), err);
    return rc;
}

/* Values that `roofcast list` knows, by the name of the option or of its argument. */
static const struct {
    const char *of;
    int (*rows)(json_t *rows, struct error *err);
    const struct column *columns; /* the first one is the name */
} lists[] = {
    { "MODEL", list_models, list_model_cols },  { "TYPE", list_types_mixtures, list_type_cols },
    { "MACHINE", list_hw, list_hw_cols },       { "hw", list_hw, list_hw_cols },
    { "stack", list_stacks, list_stack_cols },  { "isa", list_isa, list_isa_cols },
    { "arch", list_archs, list_arch_cols },     { "counters", list_counters, list_counter_cols },
    { "chat-template", list_chat, list_chat_cols },
};

static void offer_list(const struct word *w, const char *of)
{
    struct error unused = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        json_t *rows = strcmp(lists[i].of, of) == 0 ? json_array() : NULL;
        const char *last = "";
        if (rows && lists[i].rows(rows, &unused) == 0)
            for (size_t k = 0; k < json_array_size(rows); k++) {
                const char *name = json_string_value(json_object_get(json_array_get(rows, k), lists[i].columns[0].key));
                if (name && strcmp(name, last) != 0) /* counters: a row a field */
                    offer(w, name, NULL);
                last = name ? name : last;
            }
        json_decref(rows);
    }
}

/* The choices in the help's name of a value: "phase|role", "MODEL|ngram|mtp". Returns the exit status. */
static int offer_values(const struct word *w, const char *args)
{
    static const char *const formats[] = { "table", "csv", "json", "jsonl", "md", "sql" };
    static const char lower[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    int status = 1;
    for (size_t n = 0; *args; args += n + (args[n] != 0)) {
        char item[64];
        n = strcspn(args, "|, []\n");
        snprintf(item, sizeof item, "%.*s", (int)n, args);
        for (size_t end = strlen(item); end > 0 && item[end - 1] == '.'; end--) /* "FILE..." */
            item[end - 1] = 0;
        if (item[0] && item[0] != '-' && !item[strspn(item, lower)])
            offer(w, item, NULL);
        else
            offer_list(w, item);
        for (size_t i = 0; i < ARRAY_LEN(formats) && strcmp(item, "FORMAT") == 0; i++)
            offer(w, formats[i], NULL);
        if (strstr(item, "FILE") || strchr(item, '.') || strcmp(item, "MODEL") == 0 || strcmp(item, "BASE") == 0 || strcmp(item, "DIR") == 0)
            status = 0;
    }
    return status;
}

/* The option that a word is, by either name; NULL: none. An alias is its option. */
static const struct argp_option *find_option(const struct argp_option *t, const char *word, size_t n)
{
    const size_t dashes = strspn(word, "-");
    const struct argp_option *of = t;
    for (; t->name || t->key || t->doc; t++) {
        of = t->flags & OPTION_ALIAS ? of : t;
        if (dashes > 0 && n > dashes &&
            ((t->name && strlen(t->name) == n - dashes && strncmp(t->name, word + dashes, n - dashes) == 0) ||
             (n == 2 && t->key == word[1])))
            return of;
    }
    return NULL;
}

int cli_complete(const struct cli_syntax *s, const struct argp_option *common, int n, char *const *word)
{
    struct word w = { n > 0 ? word[n - 1] : "", 0 };
    const char *option = n > 1 ? word[n - 2] : "", *equals = strchr(w.text, '=');
    size_t length = strlen(option);
    if (strcmp(w.text, "=") == 0) { /* bash takes "--hw=x" apart: "--hw", "=", "x" */
        w.text = "";
    } else if (strcmp(option, "=") == 0 && n > 2) {
        option = word[n - 3];
        length = strlen(option);
    } else if (w.text[0] == '-' && equals) {
        option = w.text;
        length = (size_t)(equals - w.text);
        w.n_kept = length + 1;
    }
    const struct argp_option *o = find_option(s->table, option, length);
    const bool value = o && o->arg && !(o->flags & OPTION_ARG_OPTIONAL);
    const char *args = value ? o->arg : s->args ? s->args : "", *comma = strrchr(w.text, ',');
    if (!value && w.text[0] == '-') {
        offer_options(&w, s->table);
        offer_options(&w, common);
        return 1;
    }
    if (comma && strstr(args, ",..."))
        w.n_kept = (size_t)(comma + 1 - w.text);
    if (value && o->name)
        offer_list(&w, o->name);
    return offer_values(&w, args);
}
