/* Command lines: argp with the errors of this program, lists of numbers and names. */
#include "cli/cli.h"
#include <stdlib.h>
#include <string.h>

/* What the callback of argp needs. */
struct parse {
    const struct cli_syntax *syntax;
    void *options;
    struct error *err;
};

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
    const struct parse *p = state->input;
    const int rc = p->syntax->option(p->options, key, arg, p->err);
    if (rc < 0)
        argp_error(state, "%s", p->err->msg);
    return rc == CLI_UNKNOWN ? ARGP_ERR_UNKNOWN : 0;
}

int cli_parse(const struct cli_syntax *s, int argc, char **argv, void *options, struct error *err)
{
    const struct argp argp = { s->table, parse_one, s->args, s->doc, NULL, NULL, NULL };
    struct parse p = { s, options, err };
    if (argp_parse(&argp, argc, argv, ARGP_LONG_ONLY, NULL, &p) != 0)
        return error_set(err, ERROR_USAGE, "cannot read the command line");
    return 0;
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

int cli_kv_type(enum dtype *to, const char *arg, struct error *err)
{
    const struct dtype_info *found = dtype_find_name(arg);
    char list[160] = "";
    enum dtype t;
    for (size_t i = 0; dtype_kv_at(i, &t); i++) {
        const size_t n = strlen(list);
        if (found && found->id == t) {
            *to = t;
            return 0;
        }
        snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", dtype_name(t));
    }
    return error_set(err, ERROR_USAGE, "type of the KV cache \"%.32s\": expected one of %s", arg, list);
}

/* ---- lists ---------------------------------------------------------------------- */

int str_list_parse(struct str_list *l, const char *s, const char *what, struct error *err)
{
    *l = (struct str_list){ 0 };
    size_t n = 1;
    for (const char *p = s; *p; p++)
        n += *p == ',';
    l->v = calloc(n, sizeof *l->v);
    if (!l->v)
        return error_oom(err, n * sizeof *l->v, what);
    for (const char *p = s; l->n < n; p++) {
        const char *end = strchr(p, ',');
        size_t len = end ? (size_t)(end - p) : strlen(p);
        if (len == 0) {
            error_set(err, ERROR_USAGE, "%s: empty item in \"%s\"", what, s);
            goto fail;
        }
        l->v[l->n] = strndup(p, len);
        if (!l->v[l->n]) {
            error_oom(err, len + 1, what);
            goto fail;
        }
        l->n++;
        p += len;
    }
    return 0;
fail:
    str_list_free(l);
    return -1;
}

void str_list_free(struct str_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i]);
    free(l->v);
    *l = (struct str_list){ 0 };
}

int int_list_parse(struct int_list *l, const char *s, int64_t lo, int64_t hi, const char *what,
                   struct error *err)
{
    *l = (struct int_list){ 0 };
    struct str_list items;
    if (str_list_parse(&items, s, what, err) != 0)
        return -1;
    int rc = 0;
    l->v = calloc(items.n, sizeof *l->v);
    if (!l->v)
        rc = error_oom(err, items.n * sizeof *l->v, what);
    for (; rc == 0 && l->n < items.n; l->n++)
        if (parse_int(items.v[l->n], lo, hi, what, &l->v[l->n], err) != 0) {
            rc = -1;
            break;
        }
    str_list_free(&items);
    if (rc != 0)
        int_list_free(l);
    return rc;
}

void int_list_free(struct int_list *l)
{
    free(l->v);
    *l = (struct int_list){ 0 };
}
