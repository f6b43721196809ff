/*
 * make_corpus.c: writes the seed corpus of fuzz_gguf: make_corpus DIRECTORY.
 *
 * The seeds are committed; this says how they came about. One file a shape: good files of each
 * kind that the reader accepts, and one file a reason to refuse.
 */
#include "../gguf/build.h"
#include <stdlib.h>

static const char *out_dir;

/* Save b as a seed and start anew. */
static void save(struct strbuf *b, const char *name)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", out_dir, name);
    FILE *f = fopen(path, "wb");
    if (!f || b->oom || fwrite(b->s, 1, b->len, f) != b->len || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
    strbuf_free(b);
}

/* Every scalar type, an array of each, a string array. */
static void put_all_types(struct strbuf *b)
{
    static const int bytes[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };
    for (uint32_t t = GGUF_U8; t <= GGUF_F64; t++) {
        char key[16];
        if (t == GGUF_ARRAY)
            continue;
        snprintf(key, sizeof key, "s%u", t);
        if (t == GGUF_STRING)
            put_kv_text(b, key, "text");
        else
            put_kv(b, key, t, t == GGUF_BOOL ? 1 : 0x8182838485868788, bytes[t]);
        key[0] = 'a';
        put_kv_array(b, key, t, 2);
        for (int i = 0; i < 2; i++) {
            if (t == GGUF_STRING)
                put_text(b, i ? "b" : "");
            else
                put(b, t == GGUF_BOOL ? (uint64_t)i : 0x0102030405060708, bytes[t]);
        }
    }
}

/* The I-quants are left out: a seed has less than 4 KiB. */
static bool wanted(const struct dtype_info *d)
{
    return d->name[0] != 'I' || d->name[1] != 'Q';
}

/* One file of several by its metadata, without tensors. */
static void put_split(struct strbuf *b, uint64_t no, uint64_t count, uint64_t n_tensors)
{
    put_head(b, 3, 0, 3);
    put_kv(b, "split.no", GGUF_U16, no, 2);
    put_kv(b, "split.count", GGUF_U16, count, 2);
    put_kv(b, "split.tensors.count", GGUF_I32, n_tensors, 4);
}

static void good(void)
{
    struct strbuf b = { 0 };
    put_head(&b, 3, 0, 0);
    save(&b, "good-empty");
    put_head(&b, 2, 0, 24);
    put_all_types(&b);
    save(&b, "good-v2-all-types");
    put_head(&b, 3, 0, 4);
    put_kv_text(&b, "general.architecture", "llama");
    put_kv_text(&b, "tokenizer.ggml.model", "gpt2");
    put_kv_array(&b, "tokenizer.ggml.tokens", GGUF_STRING, 20);
    for (int i = 0; i < 20; i++)
        put_text(&b, i % 2 ? "ab" : "a");
    put_kv_array(&b, "tokenizer.ggml.scores", GGUF_F32, 20);
    put_zeros(&b, 80);
    save(&b, "good-vocabulary");
    put_head(&b, 3, 1, 1);
    put_kv(&b, "general.alignment", GGUF_U32, 64, 4);
    put_info(&b, "x", 32, 2, DTYPE_Q8_0, 64);
    put_pad(&b, 64);
    put_zeros(&b, 64 + 68);
    save(&b, "good-alignment-64");
    put_split(&b, 3, 0, 5);
    save(&b, "good-merged-split");

    uint64_t n = 0, at = 0;
    const struct dtype_info *d;
    for (size_t i = 0; (d = dtype_at(i)); i++)
        n += wanted(d);
    put_head(&b, 3, n, 0);
    for (size_t i = 0; (d = dtype_at(i)); i++) {
        if (!wanted(d))
            continue;
        put_info(&b, d->name, d->block_elems, 1, (uint32_t)d->id, at);
        at += 32 * ((d->block_bytes + 31) / 32);
    }
    put_pad(&b, 32);
    for (uint64_t i = 0; i < at; i++)
        put(&b, i * 37, 1);
    save(&b, "good-tensor-types");
}

static void bad_headers(void)
{
    struct strbuf b = { 0 };
    strbuf_add(&b, "GGUF\3", 5);
    save(&b, "bad-short");
    strbuf_add(&b, "ggjt\1\0\0\0and something after", 28);
    save(&b, "bad-magic");
    put_head(&b, 1, 0, 0);
    save(&b, "bad-version-1");
    put_head(&b, 0x03000000, 0, 0);
    save(&b, "bad-big-endian");
    put_head(&b, 3, 1ull << 60, 0);
    save(&b, "bad-tensor-count");
    put_head(&b, 3, 0, 1ull << 60);
    put_zeros(&b, 64);
    save(&b, "bad-metadata-count");
}

static void bad_metadata(void)
{
    struct strbuf b = { 0 };
    put_head(&b, 3, 0, 1);
    put(&b, UINT64_MAX, 8);
    save(&b, "bad-key-length");
    put_head(&b, 3, 0, 1);
    put_kv(&b, "key", 13, 0, 8);
    save(&b, "bad-value-type");
    put_head(&b, 3, 0, 2);
    put_kv(&b, "key", GGUF_U8, 0, 1);
    put_kv(&b, "key", GGUF_U8, 0, 1);
    save(&b, "bad-key-twice");
    put_head(&b, 3, 0, 1);
    put_kv_array(&b, "key", GGUF_ARRAY, 1);
    put(&b, GGUF_U8, 4);
    put(&b, 1, 8);
    put(&b, 1, 1);
    save(&b, "bad-nested-array");
    put_head(&b, 3, 0, 1);
    put_kv_array(&b, "key", GGUF_STRING, 1ull << 61);
    put_zeros(&b, 64);
    save(&b, "bad-huge-array");
    put_head(&b, 3, 0, 1);
    put_kv(&b, "general.alignment", GGUF_U32, 12, 4);
    save(&b, "bad-alignment");
    put_split(&b, 0, 3, 5);
    save(&b, "bad-split");
    put_split(&b, 3, 3, 5);
    save(&b, "bad-split-number");
}

static void tensor(struct strbuf *b, uint64_t ne0, uint64_t ne1, uint32_t type, uint64_t offset)
{
    put_head(b, 3, 1, 0);
    put_info(b, "w", ne0, ne1, type, offset);
    put_pad(b, 32);
    put_zeros(b, 256);
}

static void bad_tensors(void)
{
    struct strbuf b = { 0 };
    tensor(&b, 32, 0, DTYPE_F32, 0);
    save(&b, "bad-zero-dimension");
    tensor(&b, 1ull << 40, 1ull << 40, DTYPE_F32, 0);
    save(&b, "bad-dimension-overflow");
    tensor(&b, 48, 1, DTYPE_Q4_0, 0);
    save(&b, "bad-partial-block");
    tensor(&b, 32, 1, 5, 0);
    save(&b, "bad-tensor-type");
    tensor(&b, 32, 1, DTYPE_F32, 8);
    save(&b, "bad-offset");
    tensor(&b, 32, 16, DTYPE_F32, 0);
    save(&b, "bad-truncated-data");
    tensor(&b, 32, 1, DTYPE_F32, UINT64_MAX - 31);
    save(&b, "bad-offset-overflow");
    put_head(&b, 3, 2, 0);
    put_info(&b, "a", 16, 1, DTYPE_F32, 0);
    put_info(&b, "b", 16, 1, DTYPE_F32, 32);
    put_pad(&b, 32);
    put_zeros(&b, 96);
    save(&b, "bad-overlap");
    put_head(&b, 3, 1, 0);
    put_text(&b, "w");
    put(&b, 9, 4);
    put_zeros(&b, 96);
    save(&b, "bad-nine-dimensions");
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_corpus DIRECTORY\n");
        return 2;
    }
    out_dir = argv[1];
    good();
    bad_headers();
    bad_metadata();
    bad_tensors();
    return 0;
}
