/* tokenize_text.h: text to token ids and back, a line at a time, and files of cases with known answers. */
#ifndef MODEL_TOKENIZE_TEXT_H
#define MODEL_TOKENIZE_TEXT_H

#include "model/tokenizer.h"
#include <stdio.h>

enum bos_mode { BOS_FILE, BOS_ALWAYS, BOS_NEVER };

struct tokenize_options {
    enum bos_mode bos; /* beginning-of-sequence token: as the file asks, always, never */
    bool special;      /* control tokens are written out */
};

struct tokenize_job {
    const struct tokenize_options *opt;
    struct tokenizer *tok;
    FILE *out; /* the caller reports failed writes */
};
/* One line, each line of standard input: to a line of ids; ids_in: from ids to a text. */
int tokenize_line(const struct tokenize_job *j, const char *line, bool ids_in, struct error *err);
int tokenize_lines(const struct tokenize_job *j, bool ids_in, struct error *err);
/* Texts of a file that each end with a line __ggml_vocab_test__; of FILE.inp compared with FILE.out where that exists. -1 with ERROR_INPUT: cases fail. */
int tokenize_cases(const struct tokenize_job *j, const char *path, struct error *err);

#endif
