/* what the files of `roofcast ppl` share. */
#ifndef BENCH_PPL_H
#define BENCH_PPL_H

#include "bench/setup.h"
#include "engine/quality.h"
#include "report/output.h"

/* A text as chunks of n_ctx tokens, each evaluated from an empty cache: chunk i starts at token i * stride; its
 * positions first .. n_ctx - 2 foretell the tokens after them and are scored. methods.md (98) */
struct ppl_chunks {
    const int32_t *id;
    int32_t bos; /* takes the place of a chunk's first token; -1: no */
    uint32_t n_ctx, stride, first;
    size_t n;
    struct setup_options engine; /* of the files that are scored; the base has a KV cache of F16 */
};

struct ppl_file {
    const char *path;
    char model[128], type[32];
    double file_bytes, bits_weight, step_weight_bytes;
    bool base;
    char act_scales[8]; /* of 8-bit activations, "exact" or "pow2"; "": none are quantized */
    struct quality q;
};

/*
 * Score m on the chunks, and base (or NULL) on the same tokens; both have the vocabulary of the ids. Progress
 * goes to stderr. *f gets all but path and base.
 */
int ppl_evaluate(struct ppl_file *f, const struct model *m, const struct model *base, const struct ppl_chunks *c,
                 uint32_t n_ubatch, const struct setup *machine, struct error *err);
/* The row of the file that the others were compared with: its perplexity is in the last of them. */
void ppl_base_file(struct ppl_file *f, const struct ppl_file *other);
/* What a model file is, apart from the scores: weight bytes by the ops of a decode step. */
int ppl_describe(struct ppl_file *f, const struct model *m, struct error *err);

extern const struct table_fields ppl_fields;
/* Print the files; base: path of the one compared with, which is the last of them, or NULL. */
int ppl_print(enum report_format format, const struct ppl_file *file, size_t n, const struct ppl_chunks *c,
              const char *base, const struct provenance *prov, struct error *err);

#endif
