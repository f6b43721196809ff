/* Text to token ids and back, a line at a time, and files of cases with known answers. */
#include "model/tokenize_text.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CASE_END "\n__ggml_vocab_test__\n"

/* Ids of one text. */
static int encode(const struct tokenize_job *j, const char *text, size_t len, struct token_list *ids,
                  struct error *err)
{
    ids->n = 0;
    return tokenizer_encode(j->tok, text, len, j->opt->bos == BOS_FILE, j->opt->special,
                            ids, err);
}

static void print_ids(const struct tokenize_job *j, FILE *f, const struct token_list *ids)
{
    const char *sep = "";
    if (j->opt->bos == BOS_ALWAYS) {
        fprintf(f, "%d", tokenizer_bos(j->tok));
        sep = " ";
    }
    for (size_t i = 0; i < ids->n; i++, sep = " ")
        fprintf(f, "%s%d", sep, ids->id[i]);
    fputc('\n', f);
}

/* ---- lines ---------------------------------------------------------------------- */

/* The next id in the text at *p, which moves behind it. 0: none left, 1: one, -1: no
 * number. */
static int next_id(const char **p, const char *end, int32_t *id)
{
    const char *s = *p;
    while (s < end && (*s == ' ' || *s == ',' || *s == '\t' || *s == '\r'))
        s++;
    *p = s;
    if (s == end)
        return 0;
    const char *digits = s;
    int64_t v = 0;
    for (; s < end && *s >= '0' && *s <= '9' && v <= INT32_MAX; s++)
        v = v * 10 + (*s - '0');
    if (s == digits || v > INT32_MAX || (s < end && !strchr(" ,\t\r", *s)))
        return -1;
    *id = (int32_t)v;
    *p = s;
    return 1;
}

static int decode_line(const struct tokenize_job *j, const char *line, size_t len, size_t n_line,
                       struct error *err)
{
    struct strbuf text = { 0 };
    const char *p = line, *end = line + len;
    bool first = true;
    int32_t id;
    int more, rc = 0;
    while (rc == 0 && (more = next_id(&p, end, &id)) != 0) {
        if (more < 0)
            rc = error_set(err, ERROR_INPUT, "\"%.*s\" is not a token id",
                           end - p > 20 ? 20 : (int)(end - p), p);
        else
            rc = tokenizer_decode(j->tok, id, first, j->opt->special, &text, err);
        first = rc == 0 && tokenizer_is_special(j->tok, id);
    }
    const char *s = rc == 0 ? strbuf_text(&text, "a line", err) : NULL;
    rc = s ? rc : -1;
    if (rc == 0) {
        fwrite(s, 1, text.len, j->out); /* outfile_commit() reports errors */
        fputc('\n', j->out);
    } else {
        error_prefix(err, "line %zu", n_line);
    }
    strbuf_free(&text);
    return rc;
}

static int encode_line(const struct tokenize_job *j, const char *line, size_t len,
                       struct token_list *ids, struct error *err)
{
    if (encode(j, line, len, ids, err) != 0)
        return -1;
    print_ids(j, j->out, ids);
    return 0;
}

/* Standard input in lines. Not getline(), which an interrupt does not end. */
struct lines {
    struct strbuf buf;
    size_t at; /* of the next line */
    bool end;
};

static int more_input(struct lines *l, struct error *err)
{
    enum { LINE_BYTES_MAX = 256 << 20, CHUNK = 65536 };
    char chunk[CHUNK];
    if (l->buf.len - l->at > LINE_BYTES_MAX)
        return error_set(err, ERROR_INPUT, "standard input: a line of more than %d bytes",
                         LINE_BYTES_MAX);
    if (l->at > 0) {
        l->buf.len -= l->at;
        memmove(l->buf.s, l->buf.s + l->at, l->buf.len);
        l->at = 0;
    }
    const ssize_t n = interrupt_read(STDIN_FILENO, chunk, sizeof chunk);
    if (interrupt_check(err) != 0)
        return -1;
    if (n < 0)
        return error_set(err, ERROR_SYSTEM, "standard input: %s", strerror(errno));
    l->end = n == 0;
    if (n > 0)
        strbuf_add(&l->buf, chunk, (size_t)n);
    return l->buf.oom ? error_oom(err, l->buf.len, "a line") : 0;
}

/* 1: a line without its newline; 0: there is none; -1: *err. */
static int next_line(struct lines *l, const char **s, size_t *n, struct error *err)
{
    size_t seen = 0;
    for (;;) {
        const size_t have = l->buf.len - l->at;
        const char *from = l->buf.s ? l->buf.s + l->at : "";
        const char *newline = have > seen ? memchr(from + seen, '\n', have - seen) : NULL;
        if (newline || (l->end && have > 0)) {
            *s = from;
            *n = newline ? (size_t)(newline - from) : have;
            l->at += *n + (newline != NULL);
            return 1;
        }
        if (l->end)
            return 0;
        seen = have;
        if (more_input(l, err) != 0)
            return -1;
    }
}

static int do_line(const struct tokenize_job *j, const char *line, size_t len, size_t n_line, bool ids_in, struct token_list *ids, struct error *err)
{
    return ids_in ? decode_line(j, line, len, n_line, err) : encode_line(j, line, len, ids, err);
}

int tokenize_line(const struct tokenize_job *j, const char *line, bool ids_in, struct error *err)
{
    struct token_list ids = { 0 };
    const int rc = do_line(j, line, strlen(line), 1, ids_in, &ids, err);
    token_list_free(&ids);
    return rc;
}

int tokenize_lines(const struct tokenize_job *j, bool ids_in, struct error *err)
{
    struct token_list ids = { 0 };
    struct lines in = { 0 };
    const char *line;
    size_t len, n_line = 0;
    int rc = 0, more;
    while (rc == 0 && (more = next_line(&in, &line, &len, err)) != 0) {
        rc = more > 0 ? do_line(j, line, len, ++n_line, ids_in, &ids, err) : -1;
        rc = rc ? rc : interrupt_check(err);
    }
    strbuf_free(&in.buf);
    token_list_free(&ids);
    return rc;
}

/* ---- cases ---------------------------------------------------------------------- */

/* A text as one line: quoted, cut after 60 bytes. */
static void print_quoted(FILE *f, const char *s, size_t len)
{
    size_t n = len > 60 ? utf8_complete(s, 60) : len;
    fputc('"', f);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '\n')
            fputs("\\n", f);
        else if (c == '\t')
            fputs("\\t", f);
        else if (c < 0x20 || c == 0x7F)
            fprintf(f, "\\x%02X", c);
        else
            fputc(c, f);
    }
    fprintf(f, "\"%s\n", n < len ? "..." : "");
}

/* Reads the next line of the expected ids. -1: no line is left, or it is no list of ids. */
static int next_expected(const char **p, const char *end, struct token_list *want,
                         size_t n_case, struct error *err)
{
    want->n = 0;
    if (*p >= end)
        return error_set(err, ERROR_INPUT, "no line of ids for case %zu", n_case);
    const char *line = *p, *stop = memchr(line, '\n', (size_t)(end - line));
    stop = stop ? stop : end;
    *p = stop < end ? stop + 1 : end;
    int32_t id;
    int more;
    while ((more = next_id(&line, stop, &id)) > 0)
        if (token_list_push(want, id, err) != 0)
            return -1;
    return more < 0 ? error_set(err, ERROR_INPUT, "line %zu is not a list of ids", n_case)
                    : 0;
}

static bool same(const struct tokenize_job *j, const struct token_list *found,
                 const struct token_list *want)
{
    size_t bos = j->opt->bos == BOS_ALWAYS;
    if (found->n + bos != want->n || (bos && want->id[0] != tokenizer_bos(j->tok)))
        return false;
    return found->n == 0 ||
           memcmp(found->id, want->id + bos, found->n * sizeof *found->id) == 0;
}

static void print_difference(const struct tokenize_job *j, size_t n_case, const char *text,
                             size_t len, const struct token_list *found,
                             const struct token_list *want)
{
    fprintf(j->out, "case %zu: ", n_case);
    print_quoted(j->out, text, len);
    fputs("  expected:", j->out);
    for (size_t i = 0; i < want->n; i++)
        fprintf(j->out, " %d", want->id[i]);
    fputs("\n  found:    ", j->out);
    print_ids(j, j->out, found);
}

/* Every case of `inp`; against `want` when it is not NULL. */
static int run_cases(const struct tokenize_job *j, const struct filemap *inp,
                     const struct filemap *want, struct error *err)
{
    const char *p = (const char *)inp->data, *end = p + inp->size;
    const char *w = want ? (const char *)want->data : NULL,
               *w_end = want ? w + want->size : NULL;
    struct token_list ids = { 0 }, expected = { 0 };
    size_t n = 0, n_pass = 0;
    int rc = 0;
    while (rc == 0 && p < end) {
        const char *stop = memmem(p, (size_t)(end - p), CASE_END, strlen(CASE_END));
        size_t len = (size_t)((stop ? stop : end) - p);
        n++;
        if ((rc = encode(j, p, len, &ids, err)) != 0)
            error_prefix(err, "case %zu", n);
        else if (!want)
            print_ids(j, j->out, &ids);
        else if ((rc = next_expected(&w, w_end, &expected, n, err)) == 0) {
            n_pass += same(j, &ids, &expected);
            if (!same(j, &ids, &expected))
                print_difference(j, n, p, len, &ids, &expected);
        }
        p = stop ? stop + strlen(CASE_END) : end;
        if (rc == 0)
            rc = interrupt_check(err);
    }
    token_list_free(&ids);
    token_list_free(&expected);
    if (rc != 0 || !want)
        return rc;
    if (w < w_end)
        return error_set(err, ERROR_INPUT, "more lines of ids than the %zu cases", n);
    if (n == 0)
        return error_set(err, ERROR_INPUT, "no cases");
    fprintf(j->out, "%zu of %zu cases pass\n", n_pass, n);
    return n_pass == n
               ? 0
               : error_set(err, ERROR_INPUT, "%zu of %zu cases fail", n - n_pass, n);
}

int tokenize_cases(const struct tokenize_job *j, const char *path, struct error *err)
{
    struct filemap inp = { 0 }, want = { 0 };
    size_t len = strlen(path);
    char *out_path = strdup(path);
    int rc = -1;
    bool has_want = false;
    if (!out_path)
        return error_oom(err, len, "a path");
    if (filemap_open(&inp, path, err) != 0)
        goto fail;
    if (len > 4 && strcmp(path + len - 4, ".inp") == 0) {
        memcpy(out_path + len - 4, ".out", 4);
        has_want = file_exists(out_path);
    }
    if (has_want && filemap_open(&want, out_path, err) != 0)
        goto fail;
    rc = run_cases(j, &inp, has_want ? &want : NULL, err);
    if (rc != 0)
        error_prefix(err, "%s", path);
fail:
    filemap_close(&inp);
    filemap_close(&want);
    free(out_path);
    return rc;
}
