/*
 * Command-line completion. The scripts in completions/ pass the typed words to `roofcast __complete`; candidates come from
 * the option table of argp and the lists of `roofcast list`.
 */
#include "cli/describe.h"
#include "report/list.h"
#include "report/plot_kinds.h"
#include <string.h>
#include <strings.h>

/* The word to complete. Its first n_kept characters are complete: "--hw=", and the items of a list before the last one. */
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

/* Values from `roofcast list`, by the name of the option or of its argument. The first column of a list is the name. */
static const struct {
    const char *of;
    const struct list *list;
} lists[] = {
    { "MODEL", &list_models }, { "TYPE", &list_types },          { "MACHINE", &list_hw },           { "hw", &list_hw },
    { "stack", &list_stacks }, { "isa", &list_isa },             { "arch", &list_archs },           { "counters", &list_counters },
    { "chat-template", &list_chat },
};

static void offer_list(const struct word *w, const char *of)
{
    struct error unused = { 0 };
    const char *name;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const struct list *l = lists[i].list;
        struct table_rows rows = { .size = l->row_size };
        const char *last = "";
        if (strcmp(lists[i].of, of) == 0 && l->rows(&rows, &unused) == 0)
            for (size_t k = 0; k < rows.n; k++) {
                name = column_cell(&l->cols[0], table_row(&rows, k)).text;
                if (name && strcmp(name, last) != 0) /* counters: a row per field */
                    offer(w, name, NULL);
                last = name ? name : last;
            }
        table_rows_free(&rows);
    }
    for (size_t i = 0; strcmp(of, "CHART") == 0 && i < PLOT_CHARTS; i++)
        offer(w, charts[i].name, NULL);
    for (size_t i = 0; strcmp(of, "TYPE") == 0 && (name = model_mixture_at(i)) != NULL; i++)
        if (!dtype_find_name(name))
            offer(w, name, NULL);
}

/* Choices in the help's name of a value: "phase|role", "MODEL|ngram|mtp". Returns the exit status. */
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

/* The option named by a word; NULL: none. An alias gives its option. */
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
    if (strcmp(w.text, "=") == 0) { /* bash splits "--hw=x" into "--hw", "=", "x" */
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
