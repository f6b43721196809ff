/* Tokenizers by hand: two tiny vocabularies, the pieces of every pre-tokenizer, hostile
 * metadata, long texts. */
#include "../test.h"
#include "model/tokenizer/internal.h"
#include "tiny_vocab.h"
#include <math.h>

struct vocab {
    struct tiny bytes;
    struct gguf *g;
    struct tokenizer *t;
};

static void vocab_open(struct vocab *v)
{
    struct error err = { 0 };
    v->g = gguf_parse("tiny", v->bytes.b.s, v->bytes.b.len, &err);
    if (!v->g)
        fail_msg("%s", err.msg);
    v->t = tokenizer_new(v->g, &err);
    if (!v->t)
        fail_msg("%s", err.msg);
}

static void vocab_close(struct vocab *v)
{
    tokenizer_free(v->t);
    gguf_close(v->g);
    strbuf_free(&v->bytes.b);
}

static void spm_open(struct vocab *v)
{
    tiny_spm(&v->bytes);
    vocab_open(v);
}

static void bpe_open(struct vocab *v, const char *pre)
{
    tiny_bpe(&v->bytes, pre);
    vocab_open(v);
}

/* Model and tokens only. */
static void begin_list(struct tiny *t, const char *model, const struct tiny_list *l)
{
    tiny_begin(t);
    tiny_str(t, "tokenizer.ggml.model", model);
    tiny_put_tokens(t, l);
}

/* ids: "1 2 3" */
static void expect_ids(const struct vocab *v, const char *text, bool bos, bool special,
                       const char *ids)
{
    struct token_list l = { 0 };
    struct error err = { 0 };
    struct strbuf found = { 0 };
    assert_ok(tokenizer_encode(v->t, text, strlen(text), bos, special, &l, &err), err);
    for (size_t i = 0; i < l.n; i++)
        strbuf_addf(&found, "%s%d", i ? " " : "", l.id[i]);
    assert_string_equal(found.s ? found.s : "", ids);
    strbuf_free(&found);
    token_list_free(&l);
}

static void expect_text(const struct vocab *v, int32_t id, bool first, bool special,
                        const char *text)
{
    struct strbuf b = { 0 };
    struct error err = { 0 };
    assert_ok(tokenizer_decode(v->t, id, first, special, &b, &err), err);
    assert_string_equal(b.s ? b.s : "", text);
    strbuf_free(&b);
}

static void spm_by_hand(void **state)
{
    (void)state;
    struct vocab v;
    spm_open(&v);
    expect_ids(&v, "", false, false, "");
    expect_ids(&v, "", true, false, "1");
    /* _ a b c: ab (-1) before bc (-2); then _ab (-0.5) before abc (-4); "_abc" is no token
     */
    expect_ids(&v, "abc", false, false, "267 262");
    expect_ids(&v, "abc", true, false, "1 267 262");
    expect_ids(&v, "bc", false, false, "259 264");
    /* two equal pairs "aa": the left one; the right one would leave _a aa */
    expect_ids(&v, "aaa", false, false, "259 269 260");
    expect_ids(&v, "a b", false, false, "265 259 261");
    expect_ids(&v, " a", false, false, "259 265");
    /* e with acute accent: bytes C3 A9, tokens 3 + byte; FF is no UTF-8 at all */
    expect_ids(&v, "\xC3\xA9", false, false, "259 198 172");
    expect_ids(&v, "\xFF", false, false, "259 258");
    expect_ids(&v, "a\xC3", false, false, "265 198");
    /* user-defined tokens always, control tokens only when asked; the text after one opens
     * anew */
    expect_ids(&v, "<x>a", false, false, "268 265");
    expect_ids(&v, "a<x>", false, false, "265 268");
    expect_ids(&v, "<x>><x>", false, false, "270 268"); /* the longest of two */
    expect_ids(&v, "  ", false, false, "271 259");
    expect_ids(&v, "</s>", false, false, "259 63 50 118 65");
    expect_ids(&v, "a</s>a", false, true, "265 2 265");
    expect_ids(&v, "a</s", false, true, "265 63 50 118");
    vocab_close(&v);
}

static void spm_decode(void **state)
{
    (void)state;
    struct vocab v;
    struct strbuf b = { 0 };
    struct error err = { 0 };
    spm_open(&v);
    expect_text(&v, 267, true, false, "ab");
    expect_text(&v, 267, false, false, " ab");
    expect_text(&v, 271, true, false, " "); /* one of its two */
    expect_text(&v, 271, false, false, "  ");
    expect_text(&v, 2, false, false, "");
    expect_text(&v, 2, false, true, "</s>");
    expect_text(&v, 268, false, false, "<x>");
    expect_text(&v, 198, false, false, "\xC3");
    assert_fails(tokenizer_decode(v.t, -1, true, false, &b, &err), err, "token -1");
    assert_fails(tokenizer_decode(v.t, 272, true, false, &b, &err), err,
                 "vocabulary of 272");
    assert_int_equal(tokenizer_bos(v.t), 1);
    assert_int_equal(tokenizer_eos(v.t), 2);
    assert_true(tokenizer_is_end(v.t, 2));
    assert_false(tokenizer_is_end(v.t, 1));
    assert_false(tokenizer_is_end(v.t, -1));
    assert_true(tokenizer_is_special(v.t, 268));
    assert_false(tokenizer_is_special(v.t, 260));
    assert_int_equal(tokenizer_n_vocab(v.t), 272);
    vocab_close(&v);
}

static void bpe_by_hand(void **state)
{
    (void)state;
    struct vocab v;
    bpe_open(&v, "gpt-2");
    expect_ids(&v, "abc", false, false, "259");
    /* _ a b c: "a b" (0); then "_ ab" (1) before "ab c" (3) */
    expect_ids(&v, " abc", false, false, "257 99");
    expect_ids(&v, "bc", false, false, "258");
    expect_ids(&v, "aaa", false, false, "260 97");
    expect_ids(&v, "aaaa", false, false, "260 260");
    expect_ids(&v, "ab1", false, false, "256 49");
    expect_ids(&v, "bb c", false, false, "98 98 32 99");
    expect_ids(&v, "\xC3\xA9\xFF", false, false, "195 169 255");
    /* "xy" is no token: out it goes as bytes, but "xyz" is made through it */
    expect_ids(&v, "xy", false, false, "120 121");
    expect_ids(&v, "xyz", false, false, "263");
    expect_ids(&v, "qqq", false, false, "113 113 113");
    expect_ids(&v, "a<|end|>", false, true, "97 261");
    expect_ids(&v, "<|end|>", false, false, "60 124 101 110 100 124 62");
    expect_ids(&v, "b<u>c", true, false, "98 262 99");
    expect_text(&v, 257, true, false, " ab");
    expect_text(&v, 255, false, false, "\xFF");
    expect_text(&v, 261, false, false, "");
    expect_text(&v, 261, false, true, "<|end|>");
    assert_int_equal(tokenizer_bos(v.t), -1);
    assert_true(tokenizer_is_end(v.t, 261));
    vocab_close(&v);
    /* Llama 3's takes a piece that is a token whole, whatever the merges say. */
    bpe_open(&v, "llama-bpe");
    expect_ids(&v, "qqq", false, false, "264");
    expect_ids(&v, "qqqq", false, false, "113 113 113 113");
    vocab_close(&v);
}

static void unigram_by_hand(void **state)
{
    (void)state;
    struct vocab v;
    tiny_unigram(&v.bytes, false, false);
    vocab_open(&v);
    expect_ids(&v, "", true, false, "");
    /* _ ab: -2 - 5 = -7; _a b: -4 - 3 = -7, no better; _ a b: -8 */
    expect_ids(&v, "ab", false, false, "3 7");
    /* _a bc: -8; _ abc: -11; _ ab c: -11; _ a bc: -9 */
    expect_ids(&v, "abc", false, false, "10 8");
    /* _ aab: -10; _a ab: -9; _a a b: -10 */
    expect_ids(&v, "aab", false, false, "10 7");
    expect_ids(&v, "aaab", false, false, "10 13"); /* _a aab: -12; _a a ab: -12, found later; _ a aab: -13 */
    expect_ids(&v, " a", false, false, "3 10");
    expect_ids(&v, "\xC3\xA9", false, false, "3 12");
    /* unknown ones: a run of them is one, and bc wins over b */
    expect_ids(&v, "zz\xE4\xB8\xAD" "bc", false, false, "3 2 8");
    expect_ids(&v, "z\xFF\xC3", false, false, "3 2");
    expect_ids(&v, "zaz", false, false, "3 2 4 2");
    expect_ids(&v, "qrq", false, false, "3 14 2"); /* one piece before two unknown characters */
    /* user-defined tokens are cut out first, control tokens when asked; the text after one opens anew */
    expect_ids(&v, "a<x>a", false, false, "10 11 10");
    expect_ids(&v, "a</s>a", false, true, "10 1 10");
    expect_ids(&v, "</s>", false, false, "3 2");
    expect_ids(&v, "a  b ", false, false, "10 3 3 5 3");
    expect_text(&v, 10, true, false, "a");
    expect_text(&v, 10, false, false, " a");
    expect_text(&v, 2, false, false, "");
    assert_int_equal(tokenizer_eos(v.t), 1);
    assert_int_equal(tokenizer_bos(v.t), -1);
    assert_true(tokenizer_is_end(v.t, 1));
    vocab_close(&v);
    tiny_unigram(&v.bytes, true, true);
    vocab_open(&v);
    expect_ids(&v, "  a   b ", false, false, "10 3 5"); /* spaces: one between words, one in front */
    expect_ids(&v, "   ", false, false, "");
    /* 15 + byte */
    expect_ids(&v, "z\xE4\xB8\xAD" "bc", false, false, "3 137 243 199 188 8");
    expect_ids(&v, "\xFF", false, false, "3 270");
    expect_text(&v, 270, false, false, "\xFF");
    vocab_close(&v);
}

/* Phi-3's special tokens take the white space behind them; <s> and <unk> do not. */
static void stripping(void **state)
{
    (void)state;
    static const char *const keys[][2] = { { "general.name", "Phi-3 mini" }, { "general.name", "My phi3" },
                                           { "general.architecture", "phi3" }, { "general.name", "Llama" } };
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct vocab v;
        struct tiny_list l;
        tiny_spm_list(&l);
        begin_list(&v.bytes, "llama", &l);
        tiny_put_scores(&v.bytes, &l);
        tiny_put_types(&v.bytes, &l);
        tiny_str(&v.bytes, keys[i][0], keys[i][1]);
        tiny_end(&v.bytes);
        vocab_open(&v);
        expect_ids(&v, "</s> \n a<s> a", false, true, i < 3 ? "2 265 1 259 265" : "2 271 13 265 1 259 265");
        expect_ids(&v, "<x> a", false, false, i < 3 ? "268 265" : "268 259 265");
        expect_ids(&v, "</s>  ", false, true, i < 3 ? "2" : "2 271 259");
        vocab_close(&v);
    }
}

/* A vocabulary of control tokens, each in turn what ends a text. */
static void ends(void **state)
{
    (void)state;
    static const char *const names[] = { "<|im_end|>", "<|eom_id|>", "<|return|>", "<|call|>", "<x>" };
    for (int harmony = 0; harmony < 2; harmony++) {
        struct vocab v;
        struct tiny_list l;
        tiny_bpe_list(&l);
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
            if (harmony || (i != 2 && i != 3))
                tiny_add(&l, names[i], 0, i == 0 ? 4 : 3); /* <|im_end|>: as user-defined, as some files have it */
        tiny_add(&l, "<EOT>", 0, 1); /* as a normal token it is text */
        tiny_begin(&v.bytes);
        tiny_str(&v.bytes, "tokenizer.ggml.model", "gpt2");
        tiny_put_tokens(&v.bytes, &l);
        tiny_put_types(&v.bytes, &l);
        tiny_put_merges(&v.bytes, tiny_merges, ARRAY_LEN(tiny_merges));
        tiny_int(&v.bytes, "tokenizer.ggml.eos_token_id", 263);
        tiny_int(&v.bytes, "tokenizer.ggml.eot_token_id", 5);
        tiny_int(&v.bytes, "tokenizer.ggml.eom_token_id", 7);
        tiny_end(&v.bytes);
        vocab_open(&v);
        for (int32_t id = 0; id < (int32_t)l.n; id++) {
            const char *s = l.tok[id].text;
            const bool end = id == 263 || id == 5 || id == 7 || !strcmp(s, "<|im_end|>") || !strcmp(s, "<|eom_id|>") ||
                             !strcmp(s, "<|return|>") || !strcmp(s, "<|call|>") || (!harmony && !strcmp(s, "<|end|>"));
            if (tokenizer_is_end(v.t, id) != end)
                fail_msg("token %d \"%s\": expected %s", id, s, end ? "an end" : "none");
        }
        vocab_close(&v);
    }
}

/* ---- pieces ------------------------------------------------------------------------ */

static int add_piece(void *ctx, const char *s, size_t len, struct error *err)
{
    (void)err;
    struct strbuf *b = ctx;
    if (b->len)
        strbuf_adds(b, "|");
    strbuf_add(b, s, len);
    return 0;
}

static void pieces(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct {
        const char *pre, *text, *pieces;
    } rows[] = {
        { "gpt-2", "I've  33 x!\n\n", "I|'ve| | 33| x|!|\n\n" },
        { "gpt-2", "'VE a\tb", "'|VE| a|\t|b" },
        { "mpt", "\n\nx", "\n|\n|x" },
        { "gpt-2", "a\xFF\xFE b", "a|\xFF\xFE| b" },
        { "llama-bpe", "I'VE 12345\n\n x", "I|'VE| |123|45|\n\n| x" },
        { "llama3", "x!\n", "x|!\n" },
        { "chatglm-bpe", "1234", "123|4" },
        { "qwen2", "a123 \xC2\xBD", "a|1|2|3| |\xC2\xBD" },
        { "qwen35", "e\xCC\x81t\xC3\xA9", "e\xCC\x81t\xC3\xA9" },
        { "qwen2", "e\xCC\x81t", "e|\xCC\x81t" },
        { "deepseek-llm", "a\n\nb 12 !? \xE4\xB8\xAD", "a|\n|\n|b| |12| !?| |\xE4\xB8\xAD" },
        { "deepseek-llm", "x  \n  ", "x|  |\n|  " },
        { "deepseek-coder", " hi12.", " hi|1|2|." },
        { "deepseek-v3", "1234, ok", "123|4|,| ok" },
        { "deepseek-v3", "a\xE4\xB8\xAD", "a|\xE4\xB8\xAD" },
        { "falcon", "12345 a.b`", "123|45| a|.|b|`" },
        { "starcoder", "a12 3", "a|1|2| |3" },
        { "command-r", " 12", " |1|2" },
        { "gpt-4o", "HelloWorld's 1234", "Hello|World's| |123|4" },
        { "llama4", "a//\n", "a|//\n" },
        { "tekken", "HelloWORLD 12", "Hello|WORLD| |1|2" },
        { "kimi-k2", "Hello\xE4\xB8\xAD\xE6\x96\x87World's 1234 a//\n",
          "Hello|\xE4\xB8\xAD\xE6\x96\x87|World's| |123|4| a|//\n" },
        { "kimi-k2", "HTTPServer \xE4\xB8\xAD", "HTTPServer| |\xE4\xB8\xAD" },
        { "chameleon", "a  b\tIMGIMGABZ<sentinel:12>1,2", "a|  |b|\t|IMGIMGABZ|<|sentinel|:|1|2|>|1|,|2" },
        { "bloom", "Hi, you", "Hi|,| you" },
        { "viking", "a12", "a|1|2" },
        { "bailingmoe", "I'd 12", "I|'d| |1|2" },
        { "seed-coder", "a!\n", "a|!|\n" },
        { "default", "a+b 1234", "a|+|b| |123|4" },
    };
    /* clang-format on */
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = { 0 };
        struct strbuf b = { 0 };
        struct pre *p = pre_new(rows[i].pre, strlen(rows[i].pre), &err);
        assert_non_null(p);
        assert_ok(pre_split(p, rows[i].text, strlen(rows[i].text), add_piece, &b, &err),
                  err);
        if (strcmp(b.s, rows[i].pieces) != 0)
            fail_msg("%s: \"%s\" is cut into \"%s\", expected \"%s\"", rows[i].pre,
                     rows[i].text, b.s, rows[i].pieces);
        strbuf_free(&b);
        pre_free(p);
    }
}

/* ---- UTF-8 -------------------------------------------------------------------------- */

static void utf8(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct {
        const char *s;
        size_t complete;
    } rows[] = {
        { "", 0 },
        { "a", 1 },
        { "a\xC3", 1 },
        { "a\xC3\xA9", 3 },
        { "\xE2\x96", 0 },
        { "\xE2\x96\x81", 3 },
        { "x\xF0\x9F\x98", 1 },
        { "x\xF0\x9F", 1 },
        { "\xF0\x9F\x98\x81", 4 },
        { "\xFF", 1 }, /* never opens a character */
        { "\xE0\x80", 2 }, /* overlong */
        { "\xED\xA0", 2 }, /* a surrogate */
        { "\xF4\x90", 2 }, /* above U+10FFFF */
        { "\xA9", 1 }, /* a tail without a head */
        { "\xC3\xC3", 1 }, /* the first is broken for good */
    };
    /* clang-format on */
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(utf8_complete(rows[i].s, strlen(rows[i].s)), rows[i].complete);
    assert_int_equal(utf8_char_len("\xED\x9F\xBF", 3), 3);
    assert_int_equal(utf8_char_len("\xED\xA0\x80", 3), 0);
    assert_int_equal(utf8_char_len("\xC0\x80", 2), 0);
    assert_int_equal(utf8_char_len("\xF4\x8F\xBF\xBF", 4), 4);
    assert_int_equal(utf8_char_len("\xF5\x80\x80\x80", 4), 0);
}

/* ---- there and back --------------------------------------------------------------------
 */

static void expect_round_trip(const struct tokenizer *t, const char *s, size_t len)
{
    struct token_list l = { 0 };
    struct error err = { 0 };
    struct strbuf b = { 0 };
    assert_ok(tokenizer_encode(t, s, len, false, false, &l, &err), err);
    for (size_t i = 0; i < l.n; i++)
        assert_ok(tokenizer_decode(t, l.id[i], i == 0, false, &b, &err), err);
    assert_int_equal(b.len, len);
    if (len)
        assert_memory_equal(b.s, s, len);
    strbuf_free(&b);
    token_list_free(&l);
}

/* Characters of one to four bytes, with many that merge; never '<' (opens a token) nor
 * U+2581. */
static size_t random_text(struct rng *r, char *s, size_t cap)
{
    size_t n = 0, want = rng_u64(r) % (cap - 4);
    while (n < want) {
        unsigned c;
        switch (rng_u64(r) % 6) {
        case 0:
            c = (unsigned)(rng_u64(r) % 0x110000);
            break;
        case 1:
            c = 0x80 + (unsigned)(rng_u64(r) % 0x780);
            break;
        default:
            c = (unsigned char)"abc aabcxyz\n1.'"[rng_u64(r) % 15];
        }
        if (c == '<' || c == 0x2581 || (c >= 0xD800 && c < 0xE000))
            continue;
        if (c < 0x80) {
            s[n++] = (char)c;
        } else if (c < 0x800) {
            s[n++] = (char)(0xC0 | c >> 6);
            s[n++] = (char)(0x80 | (c & 63));
        } else {
            if (c < 0x10000) {
                s[n++] = (char)(0xE0 | c >> 12);
            } else {
                s[n++] = (char)(0xF0 | c >> 18);
                s[n++] = (char)(0x80 | (c >> 12 & 63));
            }
            s[n++] = (char)(0x80 | (c >> 6 & 63));
            s[n++] = (char)(0x80 | (c & 63));
        }
    }
    return n;
}

static void round_trips(void **state)
{
    (void)state;
    struct vocab spm, bpe;
    struct rng r;
    char s[300];
    spm_open(&spm);
    bpe_open(&bpe, "gpt-2");
    rng_init(&r, 7);
    for (int i = 0; i < 400; i++) {
        size_t n = random_text(&r, s, sizeof s);
        expect_round_trip(spm.t, s, n);
        expect_round_trip(bpe.t, s, n);
        n = rng_u64(&r) % sizeof s;
        for (size_t k = 0; k < n; k++)
            if ((s[k] = (char)rng_u64(&r)) == '<')
                s[k] = '\xE2';
        expect_round_trip(spm.t, s, n);
        expect_round_trip(bpe.t, s, n);
    }
    vocab_close(&spm);
    vocab_close(&bpe);
}

/* ---- long texts -----------------------------------------------------------------------
 */

#define LONG_BYTES ((size_t)1 << (getenv("ROOFCAST_SANITIZED") ? 18 : 20))

/* Tokens of LONG_BYTES bytes made of `unit`; work that grows with the square of the length
 * would never end. */
static size_t long_tokens(const struct tokenizer *t, const char *unit)
{
    struct token_list l = { 0 };
    struct error err = { 0 };
    size_t n = strlen(unit), len = LONG_BYTES / n * n, count;
    char *s = malloc(LONG_BYTES);
    assert_non_null(s);
    for (size_t i = 0; i < len; i++)
        s[i] = unit[i % n];
    assert_ok(tokenizer_encode(t, s, len, false, true, &l, &err), err);
    count = l.n;
    token_list_free(&l);
    free(s);
    return count;
}

static void long_texts(void **state)
{
    (void)state;
    struct vocab v;
    spm_open(&v);
    assert_int_equal(long_tokens(v.t, "a"), LONG_BYTES / 2 + 1); /* _ aa aa ... */
    assert_int_equal(long_tokens(v.t, " "), LONG_BYTES / 2 + 1);
    assert_int_equal(long_tokens(v.t, "ab"), LONG_BYTES / 2); /* _ab ab ab ... */
    assert_int_equal(long_tokens(v.t, "\xFF"), LONG_BYTES + 1);
    assert_int_equal(long_tokens(v.t, "</s"), LONG_BYTES / 3 * 3 + 1);
    assert_int_equal(long_tokens(v.t, "</s>"), LONG_BYTES / 4);
    vocab_close(&v);
    tiny_unigram(&v.bytes, false, false);
    vocab_open(&v);
    assert_int_equal(long_tokens(v.t, "a"), LONG_BYTES);
    assert_int_equal(long_tokens(v.t, "z"), 2); /* a space, and one unknown token */
    vocab_close(&v);
    bpe_open(&v, "gpt-2");
    assert_int_equal(long_tokens(v.t, "a"), LONG_BYTES / 2);
    assert_int_equal(long_tokens(v.t, " "), LONG_BYTES);
    assert_int_equal(long_tokens(v.t, "ab"), LONG_BYTES / 2);
    assert_int_equal(long_tokens(v.t, "\xFF"), LONG_BYTES);
    vocab_close(&v);
}

static int count_bytes(void *ctx, const char *s, size_t len, struct error *err)
{
    (void)s, (void)err;
    *(size_t *)ctx += len;
    return 0;
}

/* No pre-tokenizer loses a byte of, or looks again and again at, a long text. */
static void long_pieces(void **state)
{
    (void)state;
    static const char *const pres[] = { "default",        "gpt-2",       "llama-bpe",
                                        "qwen2",          "qwen35",      "deepseek-llm",
                                        "deepseek-coder", "deepseek-v3", "falcon",
                                        "starcoder",      "tekken",      "gpt-4o",
                                        "bloom",          "viking",      "bailingmoe",
                                        "seed-coder",     "kimi-k2",     "chameleon" };
    static const char *const units[] = { " ",  "A",  "3",        "\r",          "'",
                                         " .", "aA", "\xCC\x81", "\xE4\xB8\xAD" };
    for (size_t p = 0; p < ARRAY_LEN(pres); p++) {
        struct error err = { 0 };
        struct pre *pre = pre_new(pres[p], strlen(pres[p]), &err);
        assert_non_null(pre);
        for (size_t u = 0; u < ARRAY_LEN(units); u++) {
            size_t n = strlen(units[u]), len = LONG_BYTES / n * n, seen = 0;
            char *s = malloc(len + 4);
            assert_non_null(s);
            for (size_t i = 0; i < len; i++)
                s[i] = units[u][i % n];
            memcpy(s + len, "\xE4\xB8\xAD.",
                   4); /* what would match only at the end, does not */
            assert_ok(pre_split(pre, s, len + 4, count_bytes, &seen, &err), err);
            assert_int_equal(seen, len + 4);
            free(s);
        }
        pre_free(pre);
    }
}

/* ---- hostile metadata -----------------------------------------------------------------
 */

/* The vocabulary in t must be refused with `text` in the message. */
static void refused(struct tiny *t, const char *text)
{
    struct error err = { 0 };
    tiny_end(t);
    struct gguf *g = gguf_parse("tiny", t->b.s, t->b.len, &err);
    if (!g)
        fail_msg("the GGUF itself: %s", err.msg);
    struct tokenizer *tok = tokenizer_new(g, &err);
    if (tok)
        fail_msg("accepted, expected: %s", text);
    if (!strstr(err.msg, text))
        fail_msg("message \"%s\" lacks \"%s\"", err.msg, text);
    gguf_close(g);
    strbuf_free(&t->b);
}

static void hostile_vocab(void **state)
{
    (void)state;
    struct tiny t;
    struct tiny_list l;
    tiny_spm_list(&l);
    tiny_begin(&t);
    refused(&t, "tokenizer.ggml.model");
    begin_list(&t, "bert", &l);
    refused(&t, "\"bert\" is not supported");
    tiny_begin(&t);
    tiny_str(&t, "tokenizer.ggml.model", "llama");
    refused(&t, "tokenizer.ggml.tokens is missing");
    begin_list(&t, "t5", &l);
    refused(&t, "scores is missing, model \"t5\" needs it");
    begin_list(&t, "t5", &l);
    tiny_put_scores(&t, &l);
    tiny_array(&t, "tokenizer.ggml.precompiled_charsmap", GGUF_U8, 3);
    strbuf_add(&t.b, "abc", 3);
    refused(&t, "precompiled_charsmap, a table of character replacements, is not supported");
    l.tok[260].score = -INFINITY;
    begin_list(&t, "t5", &l);
    tiny_put_scores(&t, &l);
    refused(&t, "scores[260] is not finite");
    tiny_begin(&t);
    tiny_str(&t, "tokenizer.ggml.model", "llama");
    tiny_array(&t, "tokenizer.ggml.tokens", GGUF_STRING, 0);
    refused(&t, "tokenizer.ggml.tokens is empty");
    tiny_begin(&t);
    tiny_str(&t, "tokenizer.ggml.model", "llama");
    tiny_int(&t, "tokenizer.ggml.tokens", 5);
    refused(&t, "tokenizer.ggml.tokens");
    tiny_begin(&t);
    tiny_str(&t, "tokenizer.ggml.model", "llama");
    tiny_array(&t, "tokenizer.ggml.tokens", GGUF_U32, 1);
    tiny_u32(&t, 5);
    refused(&t, "array of strings");
    static char huge[TOKEN_MAX_BYTES + 2];
    memset(huge, 'h', sizeof huge - 1);
    l.tok[260].text = huge;
    begin_list(&t, "llama", &l);
    refused(&t, "tokens[260] has 65537 bytes");
    huge[SPECIAL_MAX_BYTES + 1] = 0;
    l.tok[260].type = 3;
    begin_list(&t, "llama", &l);
    tiny_put_types(&t, &l);
    tiny_put_scores(&t, &l);
    refused(&t, "more than 512");
    l.tok[260].type = 1;
    begin_list(&t, "t5", &l);
    l.tok[260].score = 0;
    tiny_put_types(&t, &l);
    tiny_put_scores(&t, &l);
    refused(&t, "more than 512");
}

static void hostile_attributes(void **state)
{
    (void)state;
    struct tiny t;
    struct tiny_list l;
    tiny_spm_list(&l);
    begin_list(&t, "llama", &l);
    refused(&t, "tokenizer.ggml.scores is missing");
    begin_list(&t, "llama", &l);
    tiny_put_types(&t, &l);
    l.n--;
    tiny_put_scores(&t, &l);
    refused(&t, "scores has 271 entries for 272 tokens");
    l.n++;
    begin_list(&t, "llama", &l);
    tiny_put_scores(&t, &l);
    l.n--;
    tiny_put_types(&t, &l);
    refused(&t, "token_type has 271 entries for 272 tokens");
    l.n++;
    begin_list(&t, "llama", &l);
    tiny_put_scores(&t, &l);
    tiny_array(&t, "tokenizer.ggml.token_type", GGUF_STRING, 1);
    tiny_text(&t, "x", 1);
    refused(&t, "array of numbers");
    l.tok[7].type = 9;
    begin_list(&t, "llama", &l);
    tiny_put_scores(&t, &l);
    tiny_put_types(&t, &l);
    refused(&t, "token_type[7] is 9");
    l.tok[7].type = 6;
    l.tok[5].score = NAN;
    begin_list(&t, "llama", &l);
    tiny_put_types(&t, &l);
    tiny_put_scores(&t, &l);
    refused(&t, "scores[5] is not a number");
    l.tok[5].score = 0;
    begin_list(&t, "llama", &l);
    tiny_put_scores(&t, &l);
    tiny_int(&t, "tokenizer.ggml.eos_token_id", 272);
    refused(&t, "eos_token_id is 272");
    begin_list(&t, "llama", &l);
    tiny_put_scores(&t, &l);
    tiny_str(&t, "tokenizer.ggml.add_bos_token", "yes");
    refused(&t, "add_bos_token");
}

static void hostile_merges(void **state)
{
    (void)state;
    static const char *const bad[] = { "ab", " a", "a ", "", " " };
    struct tiny t;
    struct tiny_list l;
    tiny_bpe_list(&l);
    begin_list(&t, "gpt2", &l);
    refused(&t, "tokenizer.ggml.merges is missing");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const char *merges[] = { "a b", bad[i] };
        begin_list(&t, "gpt2", &l);
        tiny_put_merges(&t, merges, 2);
        refused(&t, "merges[1]");
    }
    begin_list(&t, "gpt2", &l);
    tiny_array(&t, "tokenizer.ggml.merges", GGUF_U32, 1);
    tiny_u32(&t, 1);
    refused(&t, "array of strings");
    begin_list(&t, "gpt2", &l);
    tiny_str(&t, "tokenizer.ggml.pre", "no-such-pre");
    refused(&t, "\"no-such-pre\" is not known here; known: default gpt-2");
    begin_list(&t, "gpt2", &l);
    tiny_put_merges(&t, tiny_merges, ARRAY_LEN(tiny_merges));
    tiny_bool(&t, "tokenizer.ggml.add_bos_token", true);
    refused(&t, "there is no tokenizer.ggml.bos_token_id");
}

/* Odd, but with one meaning: equal tokens (the lower number counts), empty ones, no byte
 * tokens. */
static void odd_vocab(void **state)
{
    (void)state;
    struct vocab v;
    struct tiny_list l = { .n = 0 };
    tiny_add(&l, "<unk>", 0, 2);
    tiny_add(&l, "a", -1, 1);
    tiny_add(&l, "a", -1, 1);
    tiny_add(&l, "", -1, 1);
    tiny_add(&l, "", 0, 3);
    tiny_add(&l, "aa", -INFINITY, 1);
    tiny_add(&l, "ba", 0, 3);
    tiny_add(&l, "b", 0, 1);
    begin_list(&v.bytes, "llama", &l);
    tiny_put_scores(&v.bytes, &l);
    tiny_put_types(&v.bytes, &l);
    tiny_bool(&v.bytes, "tokenizer.ggml.add_space_prefix", false);
    tiny_end(&v.bytes);
    vocab_open(&v);
    expect_ids(&v, "a", false, true, "1");
    expect_ids(&v, "aaz", false, true, "5 0");
    /* a control token is nothing that text merges into */
    expect_ids(&v, "ba", false, false, "7 1");
    expect_ids(&v, "ba", false, true, "6");
    assert_int_equal(tokenizer_bos(v.t), 1); /* SentencePiece's default, it exists */
    expect_text(&v, 3, false, false, "");
    vocab_close(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spm_by_hand),    cmocka_unit_test(spm_decode),
        cmocka_unit_test(bpe_by_hand),    cmocka_unit_test(pieces),
        cmocka_unit_test(unigram_by_hand), cmocka_unit_test(ends), cmocka_unit_test(stripping),
        cmocka_unit_test(utf8),           cmocka_unit_test(round_trips),
        cmocka_unit_test(long_texts),     cmocka_unit_test(long_pieces),
        cmocka_unit_test(hostile_vocab),  cmocka_unit_test(hostile_attributes),
        cmocka_unit_test(hostile_merges), cmocka_unit_test(odd_vocab),
    };
    return cmocka_run_group_tests_name("tokenizer", tests, NULL, NULL);
}
