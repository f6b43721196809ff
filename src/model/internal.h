/* Shared by the files of this module. */
#ifndef MODEL_INTERNAL_H
#define MODEL_INTERNAL_H

#include "base/json.h"
#include "model/model.h"
#include "model/op.h"

/* ---- hparams.c ------------------------------------------------------------------ */
/* Naming of dimensions in messages: GGUF key, config.json field, or plain. */
enum hparams_names { HPARAMS_GGUF, HPARAMS_CONFIG, HPARAMS_PLAIN };
/* Checks ranges, head divisibility, rotary dimensions and finiteness. what: file or model for messages; arch: key prefix
 * (HPARAMS_GGUF). */
int hparams_check(const struct hparams *hp, enum hparams_names names, const char *what,
                  const char *arch, struct error *err);
/* limits of hparams_check (readers do not clamp) */
enum { HPARAMS_MAX_LAYER = 4096, HPARAMS_MAX_EMBD = 1 << 20, HPARAMS_MAX_VOCAB = 1 << 24 };

/* Features the architecture does not support are errors. */
int hparams_supported(const struct arch *a, const struct hparams *hp, const char *what, struct error *err);

/* ---- from_gguf.c ---------------------------------------------------------------- */
/* A key "{arch}.suffix" and its field of struct hparams. */
struct hparam_key {
    const char *suffix;
    size_t offset;
    enum { HPARAM_U32, HPARAM_F64, HPARAM_WHOLE, HPARAM_BOOL } kind; /* WHOLE: double, u32 in files */
};
const struct hparam_key *hparam_key_at(size_t i); /* NULL past the end */
/* Shape of t as an architecture declares it, and F32 for vectors. path: for messages */
int model_check_tensor(const struct tensor *t, const char *path, uint64_t rows, uint64_t cols, uint64_t n_mat, struct error *err);

/* ---- gguf_config.c -------------------------------------------------------------- */
struct arch;
/* Architecture of a predict-only GGUF; NULL: executable or unknown. */
const struct arch *gguf_predict_only_arch(const char *name, size_t len);
/* Dimensions and tensors of *m (path set) from such a file, which may be closed afterwards. name: general.architecture. */
int gguf_predict_only(struct model *m, struct gguf *g, const struct arch *a, struct gguf_str name, struct error *err);
/* Appends "ignored unknown keys: ..." if there are any. */
void gguf_unread_keys(const struct gguf *g, char *buf, size_t n);

/* ---- model.c --------------------------------------------------------------------- */
/* Room for one more tensor; NULL: out of memory. */
struct tensor *model_add_tensor(struct model *m, struct error *err);
/* A declare_fn (arch.h): adds the tensor to ctx's model, in the type that it has there. */
struct checkpoint;
struct model_declaring {
    struct model *m;
    const char *type;                    /* or mixture */
    const struct checkpoint *checkpoint; /* NULL: type says */
};
int model_declare_tensor(void *ctx, const char *name, uint64_t rows, uint64_t cols, uint64_t n_mat, struct error *err);
/* File name without directories and last extension. */
void model_stem(char *buf, size_t n, const char *path);
/* Makes a name printable and valid for JSON: '?' for control characters and, if it is not UTF-8, for non-ASCII bytes. */
void model_clean_name(char *s);
/* Shape for users: "[4096, 14336]". */
const char *model_shape(char *buf, size_t n, uint64_t rows, uint64_t cols);

/* Start of a text from a file for messages, with '?' for control characters and non-ASCII bytes; in buf, at most n - 1 bytes. */
const char *model_printable(char *buf, size_t n, const char *s, size_t len);

/* ---- config.c --------------------------------------------------------------------- */
int config_parse(const json_t *j, const char *what, struct hparams *hp, const char **arch_out,
                 struct error *err);

/* ---- config_text.c ---------------------------------------------------------------- */
/* Language-model part of a config.json: text_config or a similar object, else the whole. */
const json_t *config_text(const json_t *top);
/* A field of that part, else of the top level; NULL: neither. */
const json_t *config_either(const json_t *top, const char *field);
/* Notes on what a parsed config.json contains beyond *hp: unread fields, uncounted parts; "": none. */
int config_notes(const json_t *top, const char *what, const struct hparams *hp, char *buf, size_t n, struct error *err);

/* model.c: from a parsed config.json; type NULL: by its quantization_config, else F16 */
int model_from_config(struct model *m, const char *name, const json_t *j, const char *what, const char *arch,
                      const struct hparams *hp, const char *type, struct error *err);

/* ---- preset.c --------------------------------------------------------------------- */
/* Preset `spec` of the model directories. found NULL: an unknown name is an error. */
int preset_load(struct model *m, const char *spec, const char *type, bool *found, struct error *err);

/* ---- alias.c ---------------------------------------------------------------------- */
/* Canonical name: without case, blanks, dashes, underscores and colons ("llama3.1:8b"); a dash between two digits stays. */
void alias_fold(char *out, size_t n, const char *s);
/* llama.cpp's printed type to its name, in place: "Q4_K - Medium" to Q4_K_M. */
void alias_normalize(char *s, size_t size);
/* Length of the name before a type suffix, in people's or llama-bench's spelling ("llama 8B Q4_K - Medium": 8, type "Q4_K_M");
 * without suffix the whole length, type unchanged. */
size_t alias_type(const char *spec, char *type, size_t size);
/* Removes one suffix that does not change the shape: a type (into `type` if that is ""), training, date, file kind. False: none. */
bool alias_shorten(char *name, char *type, size_t size);
/* The name after an owner prefix ("google_gemma-3-27b-it"); else the whole. */
const char *alias_owned(const char *name);
/* A bitsandbytes 4-bit suffix, which is not supported. */
bool alias_bnb(const char *spec);
/* A name table in the preset folder: name TAB preset. */
struct alias_table {
    const char *file;
    bool exact; /* exact match, else folded */
};
/* Looks a name up in the first directory with a match. -1: unreadable table. */
int alias_listed(const char *const *dirs, const struct alias_table *t, const char *name, char preset[NAME_SIZE], bool *found, struct error *err);

/* ---- mixture.c --------------------------------------------------------------------- */
/* Canonical name of a mixture ("q4_k": "Q4_K_M"), NULL: unknown. */
const char *mixture_name(const char *type);
/* general.file_type to name and back; NULL / -1: unknown. */
const char *mixture_of_file_type(uint64_t file_type);
int mixture_file_type(const char *name);

/* ---- synth_vocab.c ------------------------------------------------------------------- */
enum { SYNTH_MIN_VOCAB = 3 + 256 };
/* Writes tokenizer.* keys of a synthetic SentencePiece-style vocabulary of n tokens. last: NULL, or a control token that readers
 * expect, replacing the last piece. */
int synth_vocab_write(struct gguf_writer *w, uint32_t n, const char *last, struct error *err);

#endif
