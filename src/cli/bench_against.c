/*
 * Two programs in turn: A B, B A, A B, ... Each run is a process of its own, so that placement in memory is drawn anew, and both see the same machine:
 * what changes from minute to minute meets the two runs of a round alike. methods.md (106)
 */
#include "cli/bench_against.h"
#include "base/environment.h"
#include "base/program.h"
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* SPARE_ROUNDS: beyond those that reach p < 0.05 in every test, for correlated and for opposite ones. */
enum { LEAST_ROUNDS = 10, SPARE_ROUNDS = 4, MOST_ROUNDS = 1000, TEXT = 4096 };
static const double DAY_S = 86400;

/* ---- words of a command line ----------------------------------------------------------------------------------- */

/* Takes word; NULL is an error. */
static int words_add(struct against_words *w, int key, char *word, struct error *err)
{
    char **const v = realloc(w->v, (w->n + 2) * sizeof *v);
    w->v = v ? v : w->v;
    int *const k = realloc(w->key, (w->n + 1) * sizeof *k);
    w->key = k ? k : w->key;
    if (!v || !k || !word) {
        free(word);
        return error_oom(err, (w->n + 2) * sizeof *v, "a command line");
    }
    w->v[w->n] = word;
    w->key[w->n++] = key;
    w->v[w->n] = NULL;
    return 0;
}

static int words_addf(struct against_words *w, struct error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int words_addf(struct against_words *w, struct error *err, const char *fmt, ...)
{
    char *word;
    va_list ap;
    va_start(ap, fmt);
    const int n = vasprintf(&word, fmt, ap);
    va_end(ap);
    return words_add(w, 0, n < 0 ? NULL : word, err);
}

static void words_free(struct against_words *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->v[i]);
    free(w->v);
    free(w->key);
    *w = (struct against_words){ NULL, NULL, 0 };
}

void against_free(struct against *x)
{
    words_free(&x->words);
}

int against_option(struct against *x, int key, const char *arg, struct error *err)
{
    switch (key) {
    case AGAINST_PROGRAM:
    case AGAINST_LLAMA_BENCH:
        x->llama_bench = key == AGAINST_LLAMA_BENCH;
        return cli_text(&x->program, arg);
    case AGAINST_ROUNDS:
        return parse_int(arg, 1, MOST_ROUNDS, "--rounds", &x->rounds, err);
    case AGAINST_FAIL_OVER:
        return compare_parse_percent(arg, &x->fail_over, err);
    default:
        return CLI_UNKNOWN;
    }
}

int against_remember(struct against *x, const struct argp_option *table, int key, const char *arg, struct error *err)
{
    const struct argp_option *o = table;
    char *word;
    if (key == ARGP_KEY_ARG)
        return 0;
    while ((o->name || o->key || o->doc) && (o->key != key || !o->name))
        o++;
    if (!o->name || (key >= AGAINST_PROGRAM && key <= AGAINST_FAIL_OVER))
        return 0;
    if (asprintf(&word, "--%s%s%s", o->name, o->arg ? "=" : "", o->arg && arg ? arg : "") < 0)
        word = NULL;
    for (size_t i = 0; word && i < x->words.n; i++)
        if (x->words.key[i] == key && !(o->flags & CLI_AGAIN)) {
            free(x->words.v[i]);
            x->words.v[i] = word;
            return 0;
        }
    return words_add(&x->words, key, word, err);
}

/* ---- the two command lines -------------------------------------------------------------------------------------- */

static int own_program(struct against_words *w, struct error *err)
{
    char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return error_set(err, ERROR_SYSTEM, "/proc/self/exe: cannot tell the path of this program");
    path[n] = 0;
    return words_addf(w, err, "%s", path);
}

static int roofcast_words(struct against_words *w, const char *program, const struct against *x, const char *save, int64_t reps, struct error *err)
{
    int rc = program ? words_addf(w, err, "%s", program) : own_program(w, err);
    rc = rc == 0 ? words_addf(w, err, "bench") : rc;
    for (size_t i = 0; rc == 0 && i < x->words.n; i++)
        rc = words_addf(w, err, "%s", x->words.v[i]);
    rc = rc == 0 ? words_addf(w, err, "--repetitions=%lld", (long long)reps) : rc;
    return rc == 0 && words_addf(w, err, "--quiet") == 0 && words_addf(w, err, "--save=%s", save) == 0 ? 0 : -1;
}

static int add_option(struct against_words *w, const char *name, const char *value, struct error *err)
{
    if (!value)
        return 0;
    return words_addf(w, err, "%s", name) == 0 && words_addf(w, err, "%s", value) == 0 ? 0 : -1;
}

/* --cpus as llama-bench's mask in hexadecimal, and its --cpu-strict. */
static int add_mask(struct against_words *w, const char *cpus, struct error *err)
{
    enum { DIGITS = 256 };
    static const char hex[] = "0123456789abcdef";
    int digit[DIGITS] = { 0 }, n = 1;
    char mask[DIGITS + 3] = "0x";
    struct cpulist l;
    if (!cpus)
        return 0;
    if (cpulist_parse(&l, cpus, err) != 0)
        return -1;
    for (size_t i = 0; i < l.n; i++) {
        const int at = l.cpu[i] / 4;
        if (at >= DIGITS) {
            cpulist_free(&l);
            return error_set(err, ERROR_USAGE, "--cpus: llama-bench takes CPUs below %d", 4 * DIGITS);
        }
        digit[at] |= 1 << l.cpu[i] % 4;
        n = at + 1 > n ? at + 1 : n;
    }
    cpulist_free(&l);
    for (int i = 0; i < n; i++)
        mask[2 + i] = hex[digit[n - 1 - i]];
    mask[2 + n] = 0;
    return add_option(w, "-C", mask, err) == 0 ? add_option(w, "--cpu-strict", "1", err) : -1;
}

static int llama_bench_words(struct against_words *w, const char *program, const struct against_tests *t, struct error *err)
{
    char reps[24], types[2][16];
    snprintf(reps, sizeof reps, "%lld", (long long)t->reps);
    for (int i = 0; i < 2; i++) {
        snprintf(types[i], sizeof types[i], "%s", dtype_name(i ? t->type_v : t->type_k));
        for (char *c = types[i]; *c; c++)
            *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    }
    const char *const options[][2] = { { "-m", t->model }, { "-p", t->p }, { "-n", t->n }, { "-d", strcmp(t->d, "0") == 0 ? NULL : t->d }, { "-t", t->t }, { "-r", reps },
                                       { "-ub", t->ub }, { "-ctk", types[0] }, { "-ctv", types[1] }, { "--numa", t->numa }, { "-ngl", "0" }, { "-fa", "1" }, { "-o", "json" } };
    int rc = words_addf(w, err, "%s", program);
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(options); i++)
        rc = add_option(w, options[i][0], options[i][1], err);
    rc = rc == 0 ? add_mask(w, t->cpus, err) : rc;
    return rc == 0 && t->no_warmup ? words_addf(w, err, "--no-warmup") : rc;
}

/* ---- runs --------------------------------------------------------------------------------------------------------- */

struct turns {
    char dir[4200], file[2][4300];
    int lock;
    struct against_words words[2];
    struct compare_side side[2];
    int64_t n_round; /* complete */
};

/* The last line of a program's output that is not blank, in place. */
static const char *last_line(char *text)
{
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t\r\n", text[n - 1]))
        text[--n] = 0;
    const char *const nl = strrchr(text, '\n');
    return nl ? nl + 1 : text;
}

static int run_program(const struct turns *t, int which, bool to_file, struct error *err)
{
    char text[TEXT];
    struct program p = { .argv = t->words[which].v, .out_path = to_file ? t->file[which] : NULL, .timeout_s = DAY_S, .text = text, .size = sizeof text };
    const char *const name = t->words[which].v[0];
    const enum program_end end = program_run(&p);
    if (end == PROGRAM_INTERRUPTED || interrupt_pending())
        return interrupt_check(err) == 0 ? error_set(err, ERROR_INTERRUPTED, "interrupted") : -1;
    if (end == PROGRAM_NOT_STARTED)
        return error_set(err, ERROR_UNAVAILABLE, "%.300s: cannot be started: %s", name, strerror(p.status));
    if (end == PROGRAM_LATE)
        return error_set(err, ERROR_SYSTEM, "%.300s: no end within a day", name);
    if (WIFSIGNALED(p.status))
        return error_set(err, ERROR_INPUT, "%.300s: ended by signal %d", name, WTERMSIG(p.status));
    if (WIFEXITED(p.status) && WEXITSTATUS(p.status) != 0)
        return error_set(err, ERROR_INPUT, "%.300s: exit status %d: %.500s", name, WEXITSTATUS(p.status), last_line(text));
    return 0;
}

/* Adds what a program wrote to its side, under the program's name. */
static int take(struct turns *t, int which, struct error *err)
{
    struct filemap f;
    if (filemap_open(&f, t->file[which], err) != 0)
        return -1;
    const int rc = compare_side_parse(&t->side[which], t->words[which].v[0], f.data, f.size, err);
    filemap_close(&f);
    return rc;
}

/* Both programs, in an order that alternates; kept if both have ended well. */
static int one_round(struct turns *t, int64_t n_round, bool llama_bench, struct error *err)
{
    const int first = (int)(t->n_round % 2);
    for (int k = 0; k < 2; k++) {
        const int which = k == 0 ? first : 1 - first;
        char what[160];
        snprintf(what, sizeof what, "round %lld of %lld: %s, %.100s", (long long)t->n_round + 1, (long long)n_round, which ? "B" : "A", t->words[which].v[0]);
        notify_progress(NULL, what, ((double)t->n_round + 0.5 * k) / (double)n_round);
        if (run_program(t, which, which == 1 && llama_bench, err) != 0)
            return -1;
    }
    if (take(t, 0, err) != 0 || take(t, 1, err) != 0)
        return -1;
    t->n_round++;
    return 0;
}

static int all_rounds(struct turns *t, const struct against *x, struct error *err)
{
    int64_t n = x->rounds > 0 ? x->rounds : LEAST_ROUNDS;
    while (t->n_round < n) {
        if (one_round(t, n, x->llama_bench, err) != 0)
            return -1;
        if (t->n_round == 1 && x->rounds == 0) {
            const int64_t least = SPARE_ROUNDS + (int64_t)ratio_least_pairs(t->side[0].entry.n, COMPARE_LEVEL);
            n = least > n ? least : n;
        }
    }
    return 0;
}

static int turns_open(struct turns *t, const struct against *x, const struct against_tests *tests, struct error *err)
{
    snprintf(t->dir, sizeof t->dir, "%.4000s/roofcast-against-XXXXXX", environment()->temporary_path);
    t->lock = temporary_folder(t->dir, err);
    if (t->lock < 0)
        return -1;
    for (int i = 0; i < 2; i++) {
        snprintf(t->file[i], sizeof t->file[i], "%s/%c.json", t->dir, "ab"[i]);
        temporary_add(t->file[i]);
    }
    if (roofcast_words(&t->words[0], NULL, x, t->file[0], tests->reps, err) != 0)
        return -1;
    return x->llama_bench ? llama_bench_words(&t->words[1], x->program, tests, err) : roofcast_words(&t->words[1], x->program, x, t->file[1], tests->reps, err);
}

/* Also what killed programs left in the folder. */
static void turns_close(struct turns *t)
{
    DIR *const d = t->lock >= 0 ? fdopendir(t->lock) : NULL;
    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.')
            (void)unlinkat(dirfd(d), e->d_name, 0);
    if (t->lock >= 0) {
        (void)rmdir(t->dir);
        temporary_forget(t->dir);
        temporary_forget(t->file[0]);
        temporary_forget(t->file[1]);
    }
    if (d)
        closedir(d);
    else if (t->lock >= 0)
        close(t->lock);
    for (int i = 0; i < 2; i++) {
        words_free(&t->words[i]);
        compare_side_free(&t->side[i]);
    }
}

static int report(struct turns *t, const struct against *x, const struct against_output *o, struct error *err)
{
    struct comparison c;
    if (comparison_make(&c, &t->side[0], &t->side[1], x->fail_over, err) != 0)
        return -1;
    const int rc = compare_report(&c, o->format, o->ops, o->save, err);
    comparison_free(&c);
    return rc;
}

/* After an interrupt or a failure: compares the complete rounds; the command still fails. */
static int report_done(struct turns *t, const struct against *x, const struct against_output *o, struct error *err)
{
    struct error failed = { 0 };
    const struct error first = *err;
    if (t->n_round == 0)
        return -1;
    if (report(t, x, o, &failed) != 0 && failed.kind != ERROR_REGRESSION) {
        notify_warn("%s", failed.msg);
        return -1;
    }
    return error_set(err, first.kind, "%.700s: %lld complete round%s %s compared%s%s", first.msg, (long long)t->n_round, t->n_round == 1 ? "" : "s",
                     t->n_round == 1 ? "is" : "are", o->save ? " and saved to " : "", o->save ? o->save : "");
}

int against_run(const struct against *x, const struct against_tests *tests, const struct against_output *o, struct error *err)
{
    struct turns *const t = calloc(1, sizeof *t);
    if (!t)
        return error_oom(err, sizeof *t, "two programs");
    t->lock = -1;
    int rc = turns_open(t, x, tests, err);
    if (rc == 0) {
        rc = all_rounds(t, x, err);
        notify_progress_done();
        rc = rc == 0 ? report(t, x, o, err) : report_done(t, x, o, err);
    }
    turns_close(t);
    free(t);
    return rc;
}
