/* Greedy decoding of a GGUF: decode FILE.gguf [PROMPT [N]] */
#include <roofcast/roofcast.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const struct roofcast_error *err)
{
    fprintf(stderr, "decode: %s: %s\n", roofcast_error_name(err->kind), err->message);
    return 1;
}

int main(int argc, char **argv)
{
    struct roofcast_error err;
    if (argc < 2) {
        fprintf(stderr, "usage: decode FILE.gguf [PROMPT [N]]\n");
        return 2;
    }
    const char *prompt = argc > 2 ? argv[2] : "Once upon a time";
    const uint32_t n_gen = argc > 3 ? (uint32_t)atoi(argv[3]) : 16;
    struct roofcast_model *m = roofcast_model_load(argv[1], NULL, &err);
    struct roofcast_tokenizer *t = m ? roofcast_tokenizer_new(m, &err) : NULL;
    struct roofcast_engine *e = t ? roofcast_engine_new(m, NULL, &err) : NULL;
    if (!e)
        return fail(&err);
    const struct roofcast_engine_info *info = roofcast_engine_info(e);
    printf("%s, %u threads, %s kernels\n%s", roofcast_model_info(m)->name, info->n_threads, info->isa, prompt);

    size_t n;
    const float *logits;
    const int32_t *ids = roofcast_tokenizer_encode(t, prompt, strlen(prompt), 0, &n, &err);
    if (!ids || roofcast_engine_eval(e, ids, (uint32_t)n, 0, &logits, &err) != 0)
        return fail(&err);
    for (uint32_t i = 0; i < n_gen; i++) {
        const int32_t id = roofcast_argmax(logits, info->n_vocab);
        const char *text = roofcast_tokenizer_decode(t, id, NULL, &err);
        if (!text)
            return fail(&err);
        if (roofcast_tokenizer_is_end(t, id))
            break;
        printf("%s", text);
        if (roofcast_engine_eval(e, &id, 1, (uint32_t)n + i, &logits, &err) != 0)
            return fail(&err);
    }
    printf("\n");
    roofcast_engine_free(e);
    roofcast_tokenizer_free(t);
    roofcast_model_free(m);
    return 0;
}
