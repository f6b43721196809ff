/* Command-line parsing: argp with this program's error handling. */
#include "cli/describe.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Joined lists ("-p 1 -p 2" is "1,2"). Options point into them until the program ends; never freed. */
static struct joined {
    struct joined *next;
    char text[];
} *joined_texts;

static const char *join(const char *before, const char *arg, struct error *err)
{
    const size_t n = strlen(before) + strlen(arg) + 2;
    struct joined *j = malloc(sizeof *j + n);
    if (!j) {
        error_oom(err, n, "the command line");
        return NULL;
    }
    snprintf(j->text, n, "%s,%s", before, arg);
    j->next = joined_texts;
    joined_texts = j;
    return j->text;
}

/* Input of argp's callback. value: [rows of the table] value of each option, NULL: not given. */
struct parse {
    const struct cli_syntax *syntax;
    void *options;
    struct error *err;
    const char **value;
};

/* Row of the table with this key; -1: none. */
static int find_key(const struct argp_option *t, int key)
{
    for (int i = 0; t[i].name || t[i].key || t[i].doc; i++)
        if (t[i].key == key && key && !(t[i].flags & OPTION_ALIAS))
            return i;
    return -1;
}

static size_t table_rows(const struct argp_option *t)
{
    size_t n = 0;
    while (t[n].name || t[n].key || t[n].doc)
        n++;
    return n;
}

/* "-p" or "--by". */
static const char *option_name(char *buf, size_t n, const struct argp_option *o)
{
    if (o->key > ' ' && o->key < 0x7f)
        snprintf(buf, n, "-%c", o->key);
    else
        snprintf(buf, n, "--%s", o->name);
    return buf;
}

/* "N,...": the option takes a list. */
static bool takes_list(const struct argp_option *o)
{
    const size_t n = o->arg ? strlen(o->arg) : 0;
    return n > 4 && strcmp(o->arg + n - 4, ",...") == 0;
}

/* An option given again: a list is extended, a repeatable option or a flag is passed on, anything else is an error. *arg: the value passed
 * to the command. */
static int take_again(const struct parse *p, int row, const char **arg)
{
    const struct argp_option *o = &p->syntax->table[row];
    char name[64];
    if (!o->arg || o->flags & CLI_AGAIN)
        return 0;
    if (takes_list(o)) {
        *arg = join(p->value[row], *arg, p->err);
        return *arg ? 0 : -1;
    }
    option_name(name, sizeof name, o);
    return error_set(p->err, ERROR_USAGE, "%s is given twice, \"%.64s\" and \"%.64s\": it takes one value", name, p->value[row], *arg ? *arg : "");
}

static int check_exclusive(const struct parse *p)
{
    const struct argp_option *t = p->syntax->table;
    for (const int (*g)[CLI_EXCLUSIVE] = p->syntax->exclusive; g && (*g)[0]; g++) {
        int first = -1;
        for (int i = 0; i < CLI_EXCLUSIVE && (*g)[i]; i++) {
            const int row = find_key(t, (*g)[i]);
            if (row < 0 || !p->value[row])
                continue;
            if (first >= 0) {
                char a[64], b[64];
                return error_set(p->err, ERROR_USAGE, "%s and %s are mutually exclusive", option_name(a, sizeof a, &t[first]),
                                 option_name(b, sizeof b, &t[row]));
            }
            first = row;
        }
    }
    return 0;
}

const char *cli_nearer(const char *asked, const char *best, const char *candidate)
{
    const unsigned d = name_distance(asked, candidate);
    return !name_too_distant(asked, d) && (!best || d < name_distance(asked, best)) ? candidate : best;
}

/* After getopt's "unrecognized option": suggests the nearest option, unless the word is an option or a prefix of one. */
static void suggest_option(const struct argp_state *state, const struct argp_option *t)
{
    const char *best = NULL, *word = state->next > 0 ? state->argv[state->next - 1] : "";
    char asked[64];
    word += strspn(word, "-");
    snprintf(asked, sizeof asked, "%.*s", (int)strcspn(word, "="), word);
    for (; t->name || t->key || t->doc; t++) {
        if (t->name && strncmp(t->name, asked, strlen(asked)) == 0)
            return;
        best = t->name ? cli_nearer(asked, best, t->name) : best;
    }
    if (best && state->argv[state->next - 1][0] == '-')
        fprintf(stderr, "%s: did you mean --%s?\n", state->name, best);
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
    const struct parse *p = state->input;
    if (key == ARGP_KEY_ERROR)
        suggest_option(state, p->syntax->table);
    const int row = find_key(p->syntax->table, key);
    const char *value = arg;
    int rc = row >= 0 && p->value[row] ? take_again(p, row, &value) : 0;
    if (rc == 0 && key == ARGP_KEY_END)
        rc = check_exclusive(p);
    if (rc == 0)
        rc = p->syntax->option(p->options, key, value, p->err);
    if (row >= 0)
        p->value[row] = value ? value : "";
    if (rc < 0) {
        text_show(p->err->msg, strlen(p->err->msg));
        argp_error(state, "%s", p->err->msg);
        exit(argp_err_exit_status);
    }
    return rc == CLI_UNKNOWN ? ARGP_ERR_UNKNOWN : 0;
}

/* ---- options of every command; argp's own, which include --HANG and --program-name, are disabled ------------- */

enum { OPT_USAGE = 0x7f01, OPT_WIDE };

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    switch (key) {
    case '?':
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        exit(0);
    case OPT_USAGE:
        argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
        exit(0);
    case OPT_WIDE:
        report_set_wide();
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option common_table[] = {
    { "wide", OPT_WIDE, NULL, 0, "print all columns of tables; by default a terminal shows the columns that fit and names the others", -1 },
    { "help", '?', NULL, 0, "print this help", -1 },
    { "usage", OPT_USAGE, NULL, 0, "print a list of the options", -1 },
    { 0 },
};

/* getopt(3) prints unknown options verbatim: options with control characters are refused before. */
static int check_options_shown(int argc, char **argv, struct error *err)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        char shown[256];
        snprintf(shown, sizeof shown, "%s", argv[i]);
        text_show(shown, strlen(shown));
        if (argv[i][0] == '-' && argv[i][1] && strncmp(shown, argv[i], strlen(shown)) != 0)
            return error_set(err, ERROR_USAGE, "option \"%s\": control characters (shown as ?); a value with them is an argument of its own", shown);
    }
    return 0;
}

/* Drops argp's paragraph on arguments of long and short options. */
static char *filter_help(int key, const char *text, void *input)
{
    (void)input;
    return key == ARGP_KEY_HELP_DUP_ARGS_NOTE ? NULL : (char *)(uintptr_t)text;
}

int cli_parse(const struct cli_syntax *s, int argc, char **argv, void *options, struct error *err)
{
    if (argc > 1 && strcmp(argv[1], CLI_COMPLETE) == 0)
        exit(cli_complete(s, common_table, argc - 2, argv + 2));
    if (argc > 1 && strcmp(argv[1], CLI_MAN) == 0) {
        cli_man(s, common_table, argv[0]);
        exit(0);
    }
    if (check_options_shown(argc, argv, err) != 0)
        return -1;
    static const struct argp common = { common_table, parse_common, NULL, NULL, NULL, NULL, NULL };
    const struct argp_child children[] = { { &common, 0, NULL, -1 }, { 0 } };
    const struct argp argp = { s->table, parse_one, s->args, s->doc, children, filter_help, NULL };
    const char **value = calloc(table_rows(s->table) + 1, sizeof *value);
    struct parse p = { s, options, err, value };
    if (!value)
        return error_oom(err, table_rows(s->table) * sizeof *value, "the command line");
    const error_t rc = argp_parse(&argp, argc, argv, ARGP_LONG_ONLY | ARGP_NO_HELP | ARGP_NO_EXIT, NULL, &p);
    free(value);
    if (rc != 0 && rc != ENOMEM) /* getopt or argp printed the reason */
        exit(argp_err_exit_status);
    return rc == 0 ? 0 : error_set(err, ERROR_USAGE, "cannot read the command line");
}

int cli_text(const char **to, const char *arg)
{
    *to = arg;
    return 0;
}

int cli_text_once(const char **to, const char *arg, const char *what, struct error *err)
{
    if (*to)
        return error_set(err, ERROR_USAGE, "one %s at a time: \"%s\" after \"%s\"", what, arg, *to);
    return cli_text(to, arg);
}

int cli_flag(bool *to)
{
    *to = true;
    return 0;
}
