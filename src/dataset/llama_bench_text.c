/* Text outputs of llama-bench: INSERT statements, Markdown tables. Source: see llama_bench.c. */
#include "dataset/llama_bench.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- sql ---------------------------------------------------------------------------------------------------------- */

/* A list in parentheses: values and their positions. */
enum { MAX_SQL = 128 };
struct sql_list {
    const char *v[MAX_SQL], *at[MAX_SQL];
    size_t n;
};

static int refuse_at(const struct measurements *l, const char *text, const char *at, struct error *err, const char *what)
{
    size_t line, column;
    llama_bench_text_position(text, at, &line, &column);
    return error_set(err, ERROR_INPUT, "%s: line %zu, column %zu: %s", l->name, line, column, what);
}

/* Skips blanks and comments. */
static const char *skip(const char *s)
{
    for (;;) {
        const char *const begin = s;
        s += strspn(s, " \t\r\n");
        if (strncmp(s, "--", 2) == 0) {
            s += strcspn(s, "\n");
        } else if (strncmp(s, "/*", 2) == 0) {
            const char *const end = strstr(s + 2, "*/");
            s = end ? end + 2 : s + strlen(s);
        }
        if (s == begin)
            return s;
    }
}

static bool is_comment(const char *s)
{
    return strncmp(s, "--", 2) == 0 || strncmp(s, "/*", 2) == 0;
}

/* Skips the quoted name at s, or one character. */
static const char *skip_one(const char *s)
{
    const char *const end = strchr("'\"`", *s) ? strchr(s + 1, *s) : s;
    return end ? end + 1 : s + strlen(s);
}

/* Next occurrence of a word outside comments and quotes; NULL: none. */
static const char *find_word(const char *s, const char *word)
{
    for (s = skip(s); *s; s = skip(skip_one(s)))
        if (strncasecmp(s, word, strlen(word)) == 0)
            return s;
    return NULL;
}

bool llama_bench_is_sql(const char *text)
{
    const char *const s = skip(text);
    return strncasecmp(s, "CREATE TABLE", 12) == 0 || strncasecmp(s, "INSERT INTO", 11) == 0;
}

/* Reads 'text' ('' is a quote) or a bare word. Returns the text after it; NULL: *err. */
static const char *read_value(struct measurements *l, const char *text, const char *s, const char **v, struct error *err)
{
    char value[MEASURE_MAX_TEXT + 1];
    size_t len = 0;
    const char *const begin = s, quote = *s == '\'' || *s == '"' ? *s++ : 0;
    while (*s && (quote ? *s != quote || s[1] == quote : !strchr(",)", *s) && !is_comment(s))) {
        s += quote && *s == quote;
        if (len == MEASURE_MAX_TEXT) {
            refuse_at(l, text, begin, err, "a value of more than 4096 bytes");
            return NULL;
        }
        value[len++] = *s++;
    }
    if (quote && *s++ != quote) {
        refuse_at(l, text, begin, err, "an unterminated text in quotes");
        return NULL;
    }
    while (!quote && len && isspace((unsigned char)value[len - 1]))
        len--;
    value[len] = 0;
    return (*v = measure_copy_text(l, value, err)) ? s : NULL;
}

/* Returns the text after the list at s; NULL: *err. */
static const char *read_list(struct measurements *l, const char *text, const char *s, struct sql_list *list, struct error *err)
{
    list->n = 0;
    s = skip(s);
    if (*s++ != '(') {
        refuse_at(l, text, s - 1, err, "expected a list in parentheses, as of INSERT INTO table (columns) VALUES (as many values)");
        return NULL;
    }
    for (;;) {
        s = skip(s);
        if (list->n == MAX_SQL) {
            refuse_at(l, text, s, err, "expected at most 128 values");
            return NULL;
        }
        list->at[list->n] = s;
        if (!(s = read_value(l, text, s, &list->v[list->n], err)))
            return NULL;
        list->n++;
        s = skip(s);
        if (*s == ')')
            return s + 1;
        if (*s++ != ',') {
            refuse_at(l, text, s - 1, err, "expected a comma or the end of the list");
            return NULL;
        }
    }
}

static int sql_row(struct measurements *l, struct test t, const struct sql_list *columns, const struct sql_list *values,
                   const struct measure_context *x, struct error *err)
{
    for (int k = 0; k < N_FIELD; k++) {
        t.v[k] = "";
        for (size_t i = 0; i < values->n; i++)
            if (strcmp(columns->v[i], llama_bench_fields[k]) == 0) {
                t.v[k] = values->v[i];
                t.at[k] = values->at[i];
            }
    }
    for (size_t i = 0; i < values->n; i++)
        llama_bench_note_ignored(&t, columns->v[i], values->v[i]);
    return llama_bench_row(l, &t, x, err);
}

/* Skips a table name. */
static const char *skip_table(const char *s)
{
    s = skip(s);
    return *s && strchr("'\"`", *s) ? skip_one(s) : s + strcspn(s, " \t\r\n(");
}

int llama_bench_sql(struct measurements *l, const char *text, const struct measure_context *x, struct error *err)
{
    static const char insert[] = "INSERT INTO", word[] = "VALUES";
    size_t line = 1;
    const char *at = text;
    for (const char *p = text; (p = find_word(p, insert)) != NULL;) {
        struct sql_list columns, values;
        for (; at < p; at++)
            line += *at == '\n';
        const struct test t = { .line = line, .name = l->name, .text = text, .begin = p };
        if (!(p = read_list(l, text, skip_table(p + sizeof insert - 1), &columns, err)))
            return -1;
        p = skip(p);
        if (strncasecmp(p, word, sizeof word - 1) != 0)
            return refuse_at(l, text, p, err, "expected VALUES after the columns of INSERT INTO");
        for (p += sizeof word - 1;; p++) {
            const char *const list = skip(p);
            if (!(p = read_list(l, text, list, &values, err)))
                return -1;
            if (values.n != columns.n)
                return refuse_at(l, text, list, err, "expected as many values as INSERT INTO has columns");
            if (sql_row(l, t, &columns, &values, x, err) != 0)
                return -1;
            p = skip(p);
            if (*p != ',') /* next row */
                break;
        }
    }
    return 0;
}

/* ---- md ------------------------------------------------------------------------------------------------------------ */

enum { MAX_CELLS = 32 };

/* Cells of "| a | b |", stripped; 0: not such a line. */
static size_t split_cells(char *line, char **cell)
{
    size_t n = 0;
    char *p = line + strspn(line, " \t");
    if (*p != '|')
        return 0;
    for (p++; *p && n < MAX_CELLS;) {
        char *end = p + strcspn(p, "|");
        if (!*end)
            break;
        *end = 0;
        p += strspn(p, " \t");
        for (char *q = end; q > p && (q[-1] == ' ' || q[-1] == '\t'); q--)
            q[-1] = 0;
        cell[n++] = p;
        p = end + 1;
    }
    return n;
}

/* Number of "pp512", "pp 512" (2023). Returns the text after it; NULL: none. */
static const char *read_part(const char *s, const char *word, int *to)
{
    enum { MOST = 1 << 27 };
    char *end;
    const size_t n = strlen(word);
    if (strncmp(s, word, n) != 0)
        return NULL;
    const char *const digits = s + n + strspn(s + n, " ");
    if (!isdigit((unsigned char)*digits))
        return NULL;
    const long v = strtol(digits, &end, 10);
    *to = (int)v;
    return v <= MOST ? end + strspn(end, " ") : NULL;
}

/* "pp512", "tg128", "pp512+tg128", "tg128 @ d4096"; also ik_llama.cpp's "tg128@pp512". */
static bool read_test(const char *s, int *p, int *g, int *d)
{
    *p = *g = *d = 0;
    const char *end = read_part(s, "pp", p);
    if (!end || *end == '+')
        end = read_part(end ? end + 1 : s, "tg", g);
    if (end && *end == '@') {
        end += 1 + strspn(end + 1, " ");
        const char *const after = read_part(end, "d", d);
        end = after ? after : read_part(end, "pp", d);
    }
    return end && *end == 0 && *p + *g > 0;
}

const char *llama_bench_cell(char *const *head, char *const *cell, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(head[i], name) == 0)
            return cell[i];
    return "";
}

/*
 * Converts "4.58 GiB", "494.03 M", "1.03 T" to a number in buf; without a unit GiB, or billions. Other texts are unchanged, to be rejected;
 * "" where there is none.
 */
struct unit {
    const char *name;
    double is;
};
static const struct unit sizes[] = { { "", 0x1p30 }, { "KiB", 0x1p10 }, { "MiB", 0x1p20 }, { "GiB", 0x1p30 }, { "TiB", 0x1p40 },
                                     { "KB", 1e3 },  { "MB", 1e6 },     { "GB", 1e9 },     { "TB", 1e12 }, { NULL, 0 } };
static const struct unit parameters[] = { { "", 1e9 }, { "K", 1e3 }, { "M", 1e6 }, { "B", 1e9 }, { "T", 1e12 }, { NULL, 0 } };

static const char *scaled(char *buf, size_t size, const char *s, const struct unit *units)
{
    const size_t n = strspn(s, "0123456789.+-eE");
    const char *const unit = s + n + strspn(s + n, " ");
    if (n == 0 || n >= size)
        return s;
    snprintf(buf, size, "%.*s", (int)n, s);
    const double v = csv_to_number(buf);
    for (; units->name && v > 0; units++)
        if (strcmp(unit, units->name) == 0) {
            snprintf(buf, size, "%.17g", v * units->is);
            return buf;
        }
    return s;
}

/* Columns of ik_llama.cpp only. With default settings its tables equal llama.cpp's. */
static bool is_of_ik(char *const *head, size_t n)
{
    static const char *const own[] = { "fmoe", "rtr", "mla", "amb", "ser", "ger", "mqkv", "muge", "thp", "rcache", "sas", "no-fug", "no-ooae" };
    bool any = false;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < ARRAY_LEN(own); k++)
            any |= strcmp(head[i], own[k]) == 0;
    return any;
}

/* Next line with the build, from s on. */
static const char *find_build(const char *s)
{
    static const char word[] = "build:";
    for (;; s++) {
        const char *const line = s + strspn(s, " \t*");
        if (strncmp(line, word, sizeof word - 1) == 0)
            return line + sizeof word - 1;
        s += strcspn(s, "\n");
        if (!*s)
            return NULL;
    }
}

/* " 4426e298 (2824)" */
static void read_build(const char *s, char *commit, char *number, size_t size)
{
    s += strspn(s, " ");
    const size_t n = strspn(s, "0123456789abcdef");
    snprintf(commit, size, "%.*s", (int)u64_min(n, size - 1), s);
    s += n;
    const size_t digits = strncmp(s, " (", 2) == 0 ? strspn(s + 2, "0123456789") : 0;
    const bool is = digits > 0 && digits < size && s[2 + digits] == ')';
    snprintf(number, size, "%.*s", is ? (int)digits : 0, is ? s + 2 : "");
}

static const char *in_file(const struct md_line *r, const char *name)
{
    const char *const c = llama_bench_cell(r->head, r->cell, r->n, name);
    return *c ? r->at + (c - r->copy) : NULL;
}

/* Columns and their fields; llama-bench prints those set by options. */
static const struct {
    const char *name;
    enum field field;
} columns[] = { { "model", F_LABEL }, { "backend", F_BACKENDS }, { "ngl", F_NGL }, { "threads", F_THREADS }, { "n_batch", F_BATCH }, { "n_ubatch", F_UBATCH },
                { "type_k", F_TYPE_K }, { "type_v", F_TYPE_V }, { "fa", F_FLASH }, { "sm", F_SPLIT }, { "ts", F_RATIOS }, { "main_gpu", F_MAIN }, { "nkvo", F_NO_KV },
                { "ot", F_OVERRIDES }, { "n_cpu_moe", F_CPU_MOE }, { "mmap", F_MMAP }, { "nopo", F_NO_OP } };

static bool is_column(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        if (strcmp(columns[i].name, name) == 0)
            return true;
    return false;
}

static int md_row(struct measurements *l, const struct md_line *r, const char *text, size_t line, const struct measure_context *x,
                  struct error *err)
{
    char *const *const head = r->head, *const *const cell = r->cell;
    const size_t n = r->n;
    char rate[32], p[16], g[16], d[16], size[32], params[32], mean[64], sd[32], commit[48] = "", build[48] = "";
    int np, ng, nd;
    struct test t = { .line = line, .name = l->name, .text = text, .begin = r->at };
    for (int k = 0; k < N_FIELD; k++)
        t.v[k] = "";
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        t.v[columns[i].field] = llama_bench_cell(head, cell, n, columns[i].name);
        t.at[columns[i].field] = in_file(r, columns[i].name);
    }
    for (size_t i = 0; i < n; i++)
        if (!is_column(head[i]))
            llama_bench_note_ignored(&t, head[i], cell[i]);
    t.at[F_PROMPT] = t.at[F_GEN] = t.at[F_DEPTH] = in_file(r, "test");
    t.at[F_RATE] = t.at[F_SD] = in_file(r, "t/s");
    t.at[F_SIZE] = in_file(r, "size");
    t.at[F_PARAMS] = in_file(r, "params");
    if (!read_test(llama_bench_cell(head, cell, n, "test"), &np, &ng, &nd)) {
        char where[400];
        return error_set(err, ERROR_INPUT, "%s: expected a test such as pp512 or tg128 @ d4096, found \"%.64s\"",
                         llama_bench_position(&t, F_PROMPT, where, sizeof where), llama_bench_cell(head, cell, n, "test"));
    }
    snprintf(mean, sizeof mean, "%s", llama_bench_cell(head, cell, n, "t/s"));
    const char *const spread = strstr(mean, "\xc2\xb1 "); /* "10.00 +- 0.25" with the sign */
    snprintf(sd, sizeof sd, "%.30s", spread ? spread + 3 : "");
    mean[strcspn(mean, " ")] = 0;
    snprintf(rate, sizeof rate, "%.30s", mean);
    snprintf(p, sizeof p, "%d", np);
    snprintf(g, sizeof g, "%d", ng);
    snprintf(d, sizeof d, "%d", nd);
    t.v[F_GPU] = strcmp(t.v[F_BACKENDS], "CPU") == 0 ? "" : "?"; /* md does not name it */
    t.v[F_CPU] = "?";
    if (r->build)
        read_build(r->build, commit, build, sizeof build);
    t.at[F_BUILD] = r->build;
    t.v[F_COMMIT] = commit;
    t.v[F_BUILD] = build;
    t.v[F_IK] = is_of_ik(head, n) ? "1" : "";
    t.v[F_RATE] = rate;
    t.v[F_SD] = sd;
    t.v[F_PROMPT] = p;
    t.v[F_GEN] = g;
    t.v[F_DEPTH] = d;
    t.v[F_SIZE] = scaled(size, sizeof size, llama_bench_cell(head, cell, n, "size"), sizes);
    t.v[F_PARAMS] = scaled(params, sizeof params, llama_bench_cell(head, cell, n, "params"), parameters);
    return llama_bench_row(l, &t, x, err);
}

/* Kinds of tables, by head. */
enum md_kind { MD_NONE, MD_LLAMA_BENCH, MD_BATCHED };

static enum md_kind kind_of_head(char *const *head, size_t n)
{
    if (n > 0 && batched_bench_head(head, n))
        return MD_BATCHED;
    const bool rates = *llama_bench_cell(head, head, n, "test") && *llama_bench_cell(head, head, n, "t/s") && *llama_bench_cell(head, head, n, "model");
    return rates && !*llama_bench_cell(head, head, n, "MBU") ? MD_LLAMA_BENCH : MD_NONE; /* with MBU: roofcast's own, whose --save file is read instead */
}

/* Copy of a line in buf, without its line break. */
static const char *copy_line(char *buf, size_t size, const char *line)
{
    const size_t n = strcspn(line, "\r\n");
    snprintf(buf, size, "%.*s", (int)u64_min(n, size - 1), line);
    return buf;
}

bool llama_bench_is_md(const char *text)
{
    char line[MEASURE_MAX_TEXT + 1], *cell[MAX_CELLS];
    for (const char *p = text; *p; p += p[strcspn(p, "\n")] ? strcspn(p, "\n") + 1 : strlen(p)) {
        if (p[strspn(p, " \t")] != '|')
            continue;
        copy_line(line, sizeof line, p);
        const size_t n = split_cells(line, cell);
        if (kind_of_head(cell, n) != MD_NONE)
            return true;
    }
    return false;
}

/* "| --- |": separator line below a head. */
static bool is_rule(const char *line)
{
    const char *const s = line + strspn(line, " \t");
    return *s == '|' && s[strspn(s, "|-: \t")] == 0;
}

/* Reader of the tables of a file. */
struct md_reader {
    const char *text, *build;
    char head_line[MEASURE_MAX_TEXT + 1], *head[MAX_CELLS];
    size_t n_head, line; /* line number in the file */
    enum md_kind kind;   /* kind of the current table; MD_NONE: before the first, or another table */
    bool broken;         /* the previous line is not part of a table */
};

/* The line is a table head: a known one, or any after other text and above a separator. */
static bool begins_table(struct md_reader *r, const char *line, const char *next)
{
    char copy[MEASURE_MAX_TEXT + 1], below[MEASURE_MAX_TEXT + 1], *cell[MAX_CELLS];
    snprintf(copy, sizeof copy, "%s", line);
    const size_t n = split_cells(copy, cell);
    const enum md_kind kind = kind_of_head(cell, n);
    if (kind == MD_NONE && !(r->broken && is_rule(copy_line(below, sizeof below, next))))
        return false;
    r->kind = kind;
    snprintf(r->head_line, sizeof r->head_line, "%s", line);
    r->n_head = split_cells(r->head_line, r->head);
    return true;
}

static int md_line(struct measurements *l, struct md_reader *r, const char *p, size_t len, char *line, const struct measure_context *x, struct error *err)
{
    char *cell[MAX_CELLS];
    if (r->kind != MD_NONE && len > MEASURE_MAX_TEXT)
        return refuse_at(l, r->text, p, err, "expected a line of at most 4096 bytes");
    const size_t n = split_cells(line, cell);
    if (r->kind == MD_NONE || n == 0 || cell[0][0] == '-' || cell[0][0] == ':')
        return 0;
    if (n != r->n_head) {
        char what[96];
        snprintf(what, sizeof what, "expected %zu cells as in the header, found %zu", r->n_head, n);
        const size_t last = r->n_head < n ? r->n_head : n - 1;
        return refuse_at(l, r->text, p + (cell[last] - line), err, what);
    }
    if (r->build && r->build < p) /* build of the next table */
        r->build = find_build(p);
    const struct md_line row = { r->head, cell, n, line, p, r->build };
    return r->kind == MD_BATCHED ? batched_bench_row(l, &row, r->text, r->line, x, err) : md_row(l, &row, r->text, r->line, x, err);
}

int llama_bench_md(struct measurements *l, const char *text, const struct measure_context *x, struct error *err)
{
    struct md_reader r = { .text = text, .build = find_build(text), .broken = true };
    char line[MEASURE_MAX_TEXT + 1];
    for (const char *p = text, *next; *p; p = next) { /* other output before and between tables is skipped */
        const size_t len = strcspn(p, "\n");
        next = p + len + (p[len] == '\n');
        r.line++;
        copy_line(line, sizeof line, p);
        const bool in_table = line[strspn(line, " \t")] == '|';
        if (in_table && !begins_table(&r, line, next) && md_line(l, &r, p, len, line, x, err) != 0)
            return -1;
        if (r.kind == MD_BATCHED)
            l->file = FILE_BATCHED_BENCH;
        r.broken = !in_table;
    }
    return 0;
}
