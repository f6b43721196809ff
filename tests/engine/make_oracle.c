/*
 * make_oracle MODEL.gguf OUT.logits: the committed oracle. 32 tokens from a fixed generator; logits by ref/, keys and values in double.
 * How tests/fixtures/llama-2l.{gguf,logits} were made is written in tests/fixtures/README.md.
 */
#include "ref/ref.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct error err = { 0 };
    enum { N = 32 };
    if (argc != 3)
        return 2;
    struct gguf *g = gguf_open(argv[1], &err);
    FILE *f = g ? fopen(argv[2], "wb") : NULL;
    if (!f) {
        fprintf(stderr, "%s\n", g ? "cannot write" : err.msg);
        return 1;
    }
    const struct ref_options exact = { .cache = REF_CACHE_EXACT };
    struct ref_model *r = ref_new(g, N, &exact, &err);
    if (!r) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    int32_t head[2] = { N, ref_n_vocab(r) }, tok[N];
    uint32_t x = 7;
    for (int i = 0; i < N; i++) {
        x = x * 1664525u + 1013904223u;
        tok[i] = (int32_t)((x >> 8) % (uint32_t)head[1]);
    }
    fwrite(head, sizeof head, 1, f);
    fwrite(tok, sizeof tok, 1, f);
    for (int i = 0; i < N; i++) {
        const double *l;
        ref_eval(r, tok[i], &l);
        for (int k = 0; k < head[1]; k++) {
            float v = (float)l[k];
            fwrite(&v, sizeof v, 1, f);
        }
    }
    ref_free(r);
    gguf_close(g);
    return fclose(f) != 0;
}
