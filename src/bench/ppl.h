/* ppl.h: shared by the files of `roofcast ppl`. */
#ifndef BENCH_PPL_H
#define BENCH_PPL_H

#include "bench/setup.h"
#include "engine/quality.h"
#include "report/output.h"

/*
 * A text as chunks of n_ctx tokens, each evaluated with an empty cache: chunk i starts at token i * stride; predictions at positions first
 * .. n_ctx - 2 are scored. methods.md (98)
 */
struct ppl_chunks {
    const int32_t *id;
    int32_t bos; /* replaces a chunk's first token; -1: no */
    uint32_t n_ctx, stride, first;
    size_t n;
    struct setup_options engine; /* options of the scored files; the base has an F16 KV cache */
};

struct ppl_file {
    const char *path;
    char model[128], type[32];
    double file_bytes, bits_weight, step_weight_bytes;
    bool base;
    char act_scales[8]; /* 8-bit activation scales, "exact" or "pow2"; "": not quantized */
    struct quality q;
};

/*
 * Scores m on the chunks, and base (or NULL) on the same tokens; both share the vocabulary. Progress goes to stderr. Sets all of *f except
 * path and base.
 */
int ppl_evaluate(struct ppl_file *f, const struct model *m, const struct model *base, const struct ppl_chunks *c,
                 uint32_t n_ubatch, const struct setup *machine, struct error *err);
/* Row of the base file: its perplexity is stored in the last of the others. */
void ppl_base_file(struct ppl_file *f, const struct ppl_file *other);
/* Properties of a model file other than scores: weight bytes of a decode step's ops. */
int ppl_describe(struct ppl_file *f, const struct model *m, struct error *err);

extern const struct table_fields ppl_fields;
/* Prints the files; base: path of the base, which is the last of them, or NULL. */
int ppl_print(enum report_format format, const struct ppl_file *file, size_t n, const struct ppl_chunks *c,
              const char *base, const struct provenance *prov, struct error *err);

#endif
