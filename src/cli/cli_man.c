/* Manual pages of commands, in mdoc, from the texts of --help. */
#include "cli/describe.h"
#include <ctype.h>
#include <string.h>

/* Text with roff's special characters escaped. */
static void put(const char *text, size_t n)
{
    static const char special[] = "\\-'`^~";
    static const char *const written[] = { "\\e", "\\-", "\\(aq", "\\(ga", "\\(ha", "\\(ti" };
    for (size_t i = 0; i < n; i++) {
        const char *at = strchr(special, text[i]);
        if ((text[i] == '.' || text[i] == '\'') && (i == 0 || text[i - 1] == '\n'))
            fputs("\\&", stdout);
        if (at)
            fputs(written[at - special], stdout);
        else
            putchar(text[i]);
        if (text[i] == ',' && i + 1 < n && text[i + 1] != ' ')
            fputs("\\:", stdout); /* a long list may break here */
    }
}

/* The examples (indented lines) of a help text, or its other lines, in paragraphs. gap: a paragraph begins. */
static void put_lines(const char *text, size_t size, bool examples, bool gap)
{
    bool any = false;
    for (const char *end = text + size; text < end;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        const size_t n = (size_t)((stop ? stop : end) - text);
        const bool is_example = n > 2 && text[0] == ' ' && text[1] == ' ', heads = n == 9 && strncmp(text, "Examples:", n) == 0;
        gap |= n == 0;
        if (n > 0 && is_example == examples && !heads) {
            if (examples && !any)
                puts(".Sh EXAMPLES\n.Bd -literal");
            else if (gap && !examples)
                puts(".Pp");
            put(text + (examples ? 2 : 0), n - (examples ? 2 : 0));
            putchar('\n');
            any = true;
            gap = false;
        }
        text += n + (stop != NULL);
    }
    if (examples && any)
        puts(".Ed");
}

static void put_options(const struct argp_option *t)
{
    for (; t->name || t->key || t->doc; t++) {
        if (t->flags & (OPTION_ALIAS | OPTION_HIDDEN) || !t->doc)
            continue;
        if (!t->name && !t->key) { /* the heading of a group */
            puts(".El\n.Pp");
            put(t->doc, strlen(t->doc));
            puts("\n.Bl -tag -width Ds");
            continue;
        }
        const char *comma = "";
        printf(".It");
        for (const struct argp_option *o = t; o == t || o->flags & OPTION_ALIAS; o++) {
            if (o->key > ' ' && o->key < 0x7f && !(o->flags & OPTION_ALIAS)) {
                printf("%s Fl %c", comma, o->key);
                comma = " ,";
            }
            if (o->name) {
                printf("%s Fl -%s", comma, o->name);
                comma = " ,";
            }
        }
        if (t->arg && t->flags & OPTION_ARG_OPTIONAL)
            printf(" Ns Oo Ns = Ns Ar %s Oc", t->arg);
        else if (t->arg)
            printf(" Ar %s", t->arg);
        putchar('\n');
        put(t->doc, strlen(t->doc));
        putchar('\n');
    }
}

void cli_man_name(const char *name, const char *summary)
{
    printf(".Dt ROOFCAST-");
    for (const char *c = name; *c; c++)
        putchar(toupper((unsigned char)*c));
    printf(" 1\n.Os\n.Sh NAME\n.Nm roofcast-%s\n.Nd ", name);
    put(summary, strlen(summary));
    putchar('\n');
}

void cli_man(const struct cli_syntax *s, const struct argp_option *common, const char *command)
{
    const size_t before = strcspn(s->doc, "\v");
    const char *after = s->doc + before + (s->doc[before] != 0);
    puts(".Sh SYNOPSIS");
    for (const char *args = s->args ? s->args : ""; args;) {
        const size_t n = strcspn(args, "\n");
        printf(".Nm %s\n.Op Ar option ...\n", command);
        put(args, n);
        printf("%s", n > 0 ? "\n" : "");
        args = args[n] ? args + n + 1 : NULL;
    }
    puts(".Sh DESCRIPTION");
    put_lines(s->doc, before, false, false);
    put_lines(after, strlen(after), false, true);
    puts(".\\\" text\n.Sh OPTIONS\n.Bl -tag -width Ds");
    put_options(s->table);
    put_options(common);
    puts(".El");
    put_lines(after, strlen(after), true, false);
    puts(".Sh SEE ALSO\n.Xr roofcast 1");
}
