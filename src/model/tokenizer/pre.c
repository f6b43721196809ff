/*
 * pre: pre-tokenizers: regular expressions that split text before byte-pair merges, from the tokenizer.json of the models named per
 * row; names are values of tokenizer.ggml.pre. Later expressions split the pieces of earlier ones.
 */
#include "model/tokenizer/internal.h"
#include "model/internal.h"
#include <stdlib.h>
#include <string.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define MAX_REGEX 6
/* PCRE2 limits against hostile texts: match steps beyond the length's share, memory. */
#define MATCH_LIMIT      10000000u
#define MATCH_LIMIT_BYTE 64u
#define HEAP_LIMIT_KIB   (256u * 1024)

/* clang-format off */
#define SPACES  "|\\s+(?!\\S)|\\s+"
#define SUFFIX  "'s|'t|'re|'ve|'m|'ll|'d"
#define SUFFIXI "(?i:" SUFFIX ")"
#define GPT2    SUFFIX "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+" SPACES
/* GPT-4 (cl100k): a non-letter may start a word, newlines follow punctuation. */
#define WORD    "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define PUNCT   "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
#define NEWLINE "|\\s*[\\r\\n]+"
#define LLAMA3  SUFFIXI "|" WORD "|\\p{N}{1,3}" PUNCT NEWLINE SPACES
#define QWEN2   SUFFIXI "|" WORD "|\\p{N}" PUNCT NEWLINE SPACES
/* GPT-4o (o200k): words split at capitals. */
#define UPPER      "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER      "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(end)                                         \
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" end       \
    "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*" end
/* Kimi: runs of Han characters are separate. */
#define NOT_HAN(set) "(?:(?!\\p{Han})" set ")"
#define KIMI(end)                                                                                       \
    "\\p{Han}+|[^\\r\\n\\p{L}\\p{N}]?" NOT_HAN(UPPER) "*" NOT_HAN(LOWER) "+" end                       \
    "|[^\\r\\n\\p{L}\\p{N}]?" NOT_HAN(UPPER) "+" NOT_HAN(LOWER) "*" end
#define PUNCTSLASH "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*"

#define DEEPSEEK_LETTERS \
    "A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}" \
    "\\x{1C4}-\\x{293}\\x{295}-\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}" \
    "\\x{37F}\\x{386}\\x{388}-\\x{38A}\\x{38C}\\x{38E}-\\x{3A1}\\x{3A3}-\\x{3F5}" \
    "\\x{3F7}-\\x{481}\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}" \
    "\\x{13A0}-\\x{13F5}\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}" \
    "\\x{1D00}-\\x{1D2B}\\x{1D6B}-\\x{1D77}\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{1F15}" \
    "\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}" \
    "\\x{1F59}\\x{1F5B}\\x{1F5D}\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}\\x{1FB6}-\\x{1FBC}" \
    "\\x{1FBE}\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}\\x{1FD0}-\\x{1FD3}\\x{1FD6}-\\x{1FDB}" \
    "\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}\\x{2102}\\x{2107}" \
    "\\x{210A}-\\x{2113}\\x{2115}\\x{2119}-\\x{211D}\\x{2124}\\x{2126}\\x{2128}\\x{212A}-\\x{212D}" \
    "\\x{212F}-\\x{2134}\\x{2139}\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}\\x{214E}\\x{2183}" \
    "\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}\\x{2CEB}-\\x{2CEE}\\x{2CF2}\\x{2CF3}" \
    "\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}\\x{A771}-\\x{A787}" \
    "\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}\\x{FB13}-\\x{FB17}" \
    "\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}\\x{10400}-\\x{1044F}\\x{104B0}-\\x{104D3}" \
    "\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}\\x{118A0}-\\x{118DF}" \
    "\\x{1E900}-\\x{1E943}"
#define DEEPSEEK_PUNCT \
    "!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}\\x{3000}-\\x{3002}"
#define DEEPSEEK_CJK   "\\x{4E00}-\\x{9FA5}\\x{800}-\\x{4E00}\\x{AC00}-\\x{D7FF}"
#define CJK_KANA       "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+"
#define DEEPSEEK3                                                                                  \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"                                        \
    "|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*" NEWLINE SPACES
/* Runs without white space and sentence punctuation of several scripts. */
#define BLOOM " ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{964}\\x{6D4}\\x{60C})]+"
/* The oldest files ("default" or no name), and Falcon. */
#define SYMBOLS "[\\p{P}\\$\\+<=>\\^~\\|"

struct pre_kind {
    const char *names; /* space-separated */
    const char *regex[MAX_REGEX + 1];
    bool ignore_merges, add_bos;
};

static const struct pre_kind kinds[] = {
    { "default", { SYMBOLS "]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]" }, false, false },
    { "gpt-2 phi-2 mpt olmo jais trillion gigachat a.x-4.0 mellum exaone4 modern-bert roberta-bpe "
      "jina-es jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code granite-docling",
      { GPT2 }, false, false },
    { "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
      { LLAMA3 }, true, true },
    { "dbrx smaug-bpe chatglm-bpe glm4", { LLAMA3 }, false, false },
    { "qwen2 stablelm2 deepseek-r1-qwen megrez hunyuan solar-open grok-2 kormo f2llmv2",
      { QWEN2 }, false, false },
    { "qwen35",
      { SUFFIXI "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*"
        NEWLINE SPACES }, false, false },
    { "deepseek-llm",
      { "[\\r\\n]", "\\s?[" DEEPSEEK_LETTERS "]+", "\\s?[" DEEPSEEK_PUNCT "]+",
        /* avoids quadratic time of \s+$ on white space */
        "(?<!\\s)\\s+$", "[" DEEPSEEK_CJK "]+", "\\p{N}+" }, false, false },
    { "deepseek-coder",
      { "[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", "[" DEEPSEEK_CJK "]+", "\\p{N}" }, false, false },
    { "deepseek-v3 hunyuan-dense joyai-llm", { "\\p{N}{1,3}", CJK_KANA, DEEPSEEK3 }, false, false },
    { "falcon", { SYMBOLS "`]+", GPT2, "[0-9][0-9][0-9]" }, false, false },
    { "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",
      { "\\p{N}", GPT2 }, false, false },
    { "tekken", { CASED("") "|\\p{N}" PUNCTSLASH NEWLINE SPACES }, true, true },
    { "gpt-4o llama4 kanana2 talkie minimax-m2",
      { CASED(SUFFIXI "?") "|\\p{N}{1,3}" PUNCTSLASH NEWLINE SPACES }, false, false },
    { "kimi-k2", { KIMI(SUFFIXI "?") "|\\p{N}{1,3}" PUNCT NEWLINE SPACES }, false, false },
    { "chameleon",
      { "<sentinel:[0-9]+>", "IMGIMG[A-I]{1,4}Z", "[\\t\\n]|    |  ", "\\p{N}", "[\\p{P}!-/:-@\\[-`{-~]", GPT2 },
      false, true },
    { "poro-chat bloom gpt3-finnish", { BLOOM }, false, false },
    { "viking", { BLOOM, "\\p{N}" }, false, false },
    { "bailingmoe bailingmoe2 llada-moe",
      { "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*"
        "|\\s*[\\r\\n]" SPACES }, false, false },
    { "seed-coder",
      { SUFFIXI "|" WORD "|\\p{N}| ?[^\\s\\p{L}\\p{N}\\r\\n]+" NEWLINE SPACES }, false, false },
};
/* clang-format on */

struct pre {
    const struct pre_kind *kind;
    pcre2_code *code[MAX_REGEX];
    int n;
};

/* The list contains the name. */
static bool names_have(const char *names, const char *name, size_t len)
{
    for (const char *p = names; *p;) {
        size_t n = strcspn(p, " ");
        if (n == len && memcmp(p, name, n) == 0)
            return true;
        p += n + strspn(p + n, " ");
    }
    return false;
}

static const struct pre_kind *find_kind(const char *name, size_t len, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (names_have(kinds[i].names, name, len))
            return &kinds[i];
    char known[900];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(kinds) && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? " " : "",
                              kinds[i].names);
    char found[41];
    error_set(err, ERROR_INPUT, "pre-tokenizer \"%s\" is not known here; known: %s",
              model_printable(found, sizeof found, name, len), known);
    return NULL;
}

struct pre *pre_new(const char *name, size_t len, struct error *err)
{
    const struct pre_kind *kind = find_kind(name, len, err);
    if (!kind)
        return NULL;
    struct pre *p = calloc(1, sizeof *p);
    if (!p) {
        error_oom(err, sizeof *p, "the pre-tokenizer");
        return NULL;
    }
    p->kind = kind;
    for (; kind->regex[p->n]; p->n++) {
        int code;
        PCRE2_SIZE at;
        pcre2_code *re =
            pcre2_compile((PCRE2_SPTR)kind->regex[p->n], PCRE2_ZERO_TERMINATED,
                          PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY, &code, &at, NULL);
        if (!re) {
            char text[120];
            pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof text);
            error_set(err, ERROR_SYSTEM,
                      "pre-tokenizer \"%.*s\": PCRE2 refuses expression %d at %zu: %s",
                      (int)len, name, p->n + 1, (size_t)at, text);
            pre_free(p);
            return NULL;
        }
        pcre2_jit_compile(
            re, PCRE2_JIT_COMPLETE); /* without JIT slower, not different */
        p->code[p->n] = re;
    }
    return p;
}

void pre_free(struct pre *p)
{
    if (!p)
        return;
    for (int i = 0; i < MAX_REGEX; i++)
        pcre2_code_free(p->code[i]);
    free(p);
}

bool pre_ignores_merges(const struct pre *p)
{
    return p->kind->ignore_merges;
}

bool pre_adds_bos(const struct pre *p)
{
    return p->kind->add_bos;
}

/* ---- splitting ---- */

struct splitter {
    const struct pre *pre;
    const char *text;
    pcre2_match_data *match;
    pcre2_match_context *limits;
    piece_fn *fn;
    void *ctx;
};

static int match_at(const struct splitter *w, int level, const char *s, size_t len,
                    size_t from)
{
    const pcre2_code *re = w->pre->code[level];
    int rc =
        pcre2_match(re, (PCRE2_SPTR)s, len, from, PCRE2_NO_UTF_CHECK, w->match, w->limits);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) /* the interpreter uses the heap */
        rc = pcre2_match(re, (PCRE2_SPTR)s, len, from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                         w->match, w->limits);
    return rc;
}

/* Splits s[0..len) by expression `level`; matches and gaps go to the next level. */
static int split_level(const struct splitter *w, int level, const char *s, size_t len,
                       struct error *err)
{
    if (level == w->pre->n)
        return w->fn(w->ctx, s, len, err);
    size_t done = 0, from = 0;
    while (from < len) {
        int rc = match_at(w, level, s, len, from);
        if (rc == PCRE2_ERROR_NOMATCH)
            break;
        if (rc < 0) {
            char text[120];
            pcre2_get_error_message(rc, (PCRE2_UCHAR *)text, sizeof text);
            return error_set(err, ERROR_INPUT,
                             "pre-tokenizer gave up at byte %zu of the text: %s",
                             (size_t)(s - w->text) + from, text);
        }
        const PCRE2_SIZE *at = pcre2_get_ovector_pointer(w->match);
        size_t start = at[0], end = at[1];
        if (end <= start) { /* guards against empty matches */
            size_t step = utf8_char_len(s + from, len - from);
            from += step ? step : 1;
            continue;
        }
        if (start > done && split_level(w, level + 1, s + done, start - done, err) != 0)
            return -1;
        if (split_level(w, level + 1, s + start, end - start, err) != 0)
            return -1;
        done = from = end;
    }
    return done < len ? split_level(w, level + 1, s + done, len - done, err) : 0;
}

/* PCRE2 requires valid UTF-8; runs of other bytes are pieces. */
static int split_valid(const struct splitter *w, const char *text, size_t len,
                       struct error *err)
{
    for (size_t i = 0, start; i < len;) {
        size_t n;
        for (start = i; i < len && (n = utf8_char_len(text + i, len - i)) != 0;)
            i += n;
        if (i > start && split_level(w, 0, text + start, i - start, err) != 0)
            return -1;
        for (start = i; i < len && utf8_char_len(text + i, len - i) == 0;)
            i++;
        if (i > start && w->fn(w->ctx, text + start, i - start, err) != 0)
            return -1;
    }
    return 0;
}

int pre_split(const struct pre *p, const char *text, size_t len, piece_fn *fn, void *ctx,
              struct error *err)
{
    struct splitter w = { .pre = p, .text = text, .fn = fn, .ctx = ctx };
    int rc = -1;
    w.match = pcre2_match_data_create(8, NULL);
    w.limits = pcre2_match_context_create(NULL);
    if (!w.match || !w.limits) {
        error_oom(err, 1024, "tokenizing");
        goto fail;
    }
    uint64_t steps =
        u64_max(MATCH_LIMIT,
                u64_min((uint64_t)len, UINT32_MAX / MATCH_LIMIT_BYTE) * MATCH_LIMIT_BYTE);
    pcre2_set_match_limit(w.limits, (uint32_t)steps);
    pcre2_set_heap_limit(w.limits, HEAP_LIMIT_KIB);
    rc = split_valid(&w, text, len, err);
fail:
    pcre2_match_data_free(w.match);
    pcre2_match_context_free(w.limits);
    return rc;
}
