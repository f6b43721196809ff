/* roofcast tokenize: text to token ids and back, and files of test cases. */
#include "cli/cli.h"
#include "gguf/gguf.h"
#include "model/tokenize_text.h"
#include <stdlib.h>

struct options {
    const char *model, *cases, *out;
    const char *text; /* of the command line; NULL: standard input */
    struct tokenize_options how;
    bool bos_given, ids;
};

enum { KEY_IDS = 256, KEY_CASES, KEY_BOS, KEY_NO_BOS, KEY_SPECIAL };

/* clang-format off */
static const struct argp_option option_table[] = {
    { "model", 'm', "FILE", 0, "GGUF file with the vocabulary (required)", 0 },
    { "prompt", 'p', "TEXT", 0, "the text, same as the argument; without a text each line of standard input is one", 0 },
    { "ids", KEY_IDS, NULL, 0, "convert ids to text", 0 },
    { "cases", KEY_CASES, "FILE.inp", 0, "tokenize the cases of a file; if FILE.out exists, compare with it "
      "and exit 1 on a difference", 0 },
    { "bos", KEY_BOS, NULL, 0, "always begin with the beginning-of-sequence token", 0 },
    { "no-bos", KEY_NO_BOS, NULL, 0, "never begin with it (default for --cases)", 0 },
    { "special", KEY_SPECIAL, NULL, 0, "parse control tokens (\"</s>\") in texts; "
      "print them with --ids", 0 },
    { "output", 'o', "FILE", 0, "write to FILE instead of standard output", 0 },
    { 0 },
};
/* clang-format on */

static const char doc[] =
    "Convert text to token ids and back with the tokenizer of a GGUF file: SentencePiece (BPE or unigram) or byte-level BPE."
    "\vTEXT becomes a line of ids; without TEXT each line of standard input does, without its newline. The ids of a line become one "
    "text. The beginning-of-sequence token is added if the GGUF file requires it.\n"
    "\n"
    "Examples:\n"
    "  roofcast tokenize -m model.gguf 'Hello world'\n"
    "  roofcast tokenize -m model.gguf --ids '15043 3186'\n"
    "  roofcast tokenize -m model.gguf < book.txt | wc -w      (counts tokens)\n"
    "  roofcast tokenize -m model.gguf --special '<s>Hello</s>'\n"
    "  roofcast tokenize -m vocab.gguf --cases vocab.gguf.inp\n"
    "\n"
    "A case file holds texts of any number of lines, separated by a line "
    "__ggml_vocab_test__; its .out holds one line of ids per case.";

static int parse(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    switch (key) {
    case 'm':
        return cli_text(&o->model, arg);
    case 'o':
        return cli_text(&o->out, arg);
    case KEY_IDS:
        return cli_flag(&o->ids);
    case KEY_CASES:
        return cli_text(&o->cases, arg);
    case KEY_BOS:
    case KEY_NO_BOS:
        o->how.bos = key == KEY_BOS ? BOS_ALWAYS : BOS_NEVER;
        return cli_flag(&o->bos_given);
    case KEY_SPECIAL:
        return cli_flag(&o->how.special);
    case 'p':
    case ARGP_KEY_ARG:
        return cli_text_once(&o->text, arg, "text", err);
    case ARGP_KEY_END:
        if (!o->model)
            return error_set(err, ERROR_USAGE, "-m FILE is required");
        if (o->text && o->cases)
            return error_set(err, ERROR_USAGE, "--cases takes its texts from a file: leave out \"%.64s\"", o->text);
        return 0;
    default:
        return CLI_UNKNOWN;
    }
}

int cmd_tokenize(int argc, char **argv, struct error *err)
{
    struct options opt = { .how.bos = BOS_FILE };
    static const int exclusive[][CLI_EXCLUSIVE] = { { KEY_BOS, KEY_NO_BOS }, { KEY_IDS, KEY_CASES }, { 0 } };
    static const struct cli_syntax syntax = { option_table, parse, "[TEXT]", doc, exclusive };
    if (cli_parse(&syntax, argc, argv, &opt, err) != 0)
        return -1;
    if (opt.cases && !opt.bos_given)
        opt.how.bos = BOS_NEVER;
    struct tokenizer *tok = NULL;
    struct outfile out = { 0 };
    bool opened = false;
    int rc = -1;
    struct gguf *g = gguf_open(opt.model, err);
    if (!g || !(tok = tokenizer_new(g, err)))
        goto fail;
    if (opt.how.bos == BOS_ALWAYS && tokenizer_bos(tok) < 0) {
        error_set(err, ERROR_INPUT, "%s: --bos, but the vocabulary names no such token",
                  opt.model);
        goto fail;
    }
    if (cli_keep_input(opt.cases ? opt.cases : "", g, "-o", opt.out, err) != 0)
        goto fail;
    opened = outfile_open(&out, opt.out ? opt.out : "-", err) == 0;
    if (!opened)
        goto fail;
    const struct tokenize_job job = { &opt.how, tok, out.f };
    rc = opt.cases ? tokenize_cases(&job, opt.cases, err) : opt.text ? tokenize_line(&job, opt.text, opt.ids, err) : tokenize_lines(&job, opt.ids, err);
fail:
    /* Results are written even if a case fails. */
    if (opened && (rc == 0 || (opt.cases && err->kind == ERROR_INPUT))) {
        struct error late = { 0 };
        if (outfile_commit(&out, &late) != 0 && rc == 0) {
            *err = late;
            rc = -1;
        }
    } else if (opened) {
        outfile_abort(&out);
    }
    tokenizer_free(tok);
    gguf_close(g);
    return rc;
}
