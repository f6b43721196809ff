/* What the files of this module share and nobody else sees. */
#ifndef MODEL_INTERNAL_H
#define MODEL_INTERNAL_H

#include "base/json.h"
#include "model/model.h"
#include "model/op.h"

/* ---- hparams.c ------------------------------------------------------------------ */
/* How messages call a dimension: by the metadata key, config.json's field, or our name. */
enum hparams_names { HPARAMS_GGUF, HPARAMS_CONFIG, HPARAMS_PLAIN };
/* Every count in its range, heads divide, rotary dimensions fit, numbers finite. what: the file or
 * the model, for messages; arch: prefix of the keys (HPARAMS_GGUF). */
int hparams_check(const struct hparams *hp, enum hparams_names names, const char *what,
                  const char *arch, struct error *err);
/* The largest value hparams_check takes for n_layer, n_embd, ... (readers clamp nothing). */
enum { HPARAMS_MAX_LAYER = 4096, HPARAMS_MAX_EMBD = 1 << 20, HPARAMS_MAX_VOCAB = 1 << 24 };

/* What the architecture's op list does not know is refused by name. */
int hparams_supported(const struct arch *a, const struct hparams *hp, const char *what, struct error *err);

/* ---- from_gguf.c ---------------------------------------------------------------- */
/* A key "{arch}.suffix" that holds one field of struct hparams. */
struct hparam_key {
    const char *suffix;
    size_t offset;
    enum { HPARAM_U32, HPARAM_F64, HPARAM_WHOLE, HPARAM_BOOL } kind; /* WHOLE: a double, in files a u32 */
};
const struct hparam_key *hparam_key_at(size_t i); /* NULL past the end */

/* ---- gguf_config.c -------------------------------------------------------------- */
struct arch;
/* The architecture of files that are read for their price alone; NULL: this name's are run, or it is not known. */
const struct arch *gguf_priced_arch(const char *name, size_t len);
/* Dimensions and tensors of *m, whose path is there, from such a file, which may be closed then. name: general.architecture. */
int gguf_priced(struct model *m, struct gguf *g, const struct arch *a, struct gguf_str name, struct error *err);
/* Appends "keys that are not understood and left out: ..." to a text; nothing where all are. */
void gguf_unread_keys(const struct gguf *g, char *buf, size_t n);

/* ---- model.c --------------------------------------------------------------------- */
/* Room for one tensor more; NULL when out of memory. */
struct tensor *model_add_tensor(struct model *m, struct error *err);
/* File name without directories and without the last extension. */
void model_stem(char *buf, size_t n, const char *path);
/* m->name-like text made fit to print and for JSON: '?' for control characters, and for all that is not ASCII where the
 * whole is not UTF-8. */
void model_clean_name(char *s);
bool model_ends_with(const char *s, const char *suffix);
/* A dimension list that users read: "[4096, 14336]". */
const char *model_shape(char *buf, size_t n, uint64_t rows, uint64_t cols);

/* The first bytes of a text from a file, for messages: what a terminal would act on (control characters, bytes
 * that are not ASCII) becomes '?'. The same for all of them: buf, at most n - 1 bytes. */
const char *model_printable(char *buf, size_t n, const char *s, size_t len);

/* ---- config.c --------------------------------------------------------------------- */
int config_parse(const json_t *j, const char *what, struct hparams *hp, const char **arch_out,
                 struct error *err);

/* ---- config_text.c ---------------------------------------------------------------- */
/* The part of a config.json that describes the language model: its text_config where it has one, else all of it. */
const json_t *config_text(const json_t *top);
/* A field of that part, or where it has none of the whole; NULL: neither. */
const json_t *config_beside(const json_t *top, const char *field);
/* What of a config.json that config_parse took is not in *hp: fields that nothing reads, parts of the model that are not counted. In words; "":
 * nothing. */
int config_notes(const json_t *top, const char *what, const struct hparams *hp, char *buf, size_t n, struct error *err);

/* ---- model.c: a config.json whose dimensions are read already, in the type asked for (NULL: what its
 * quantization_config says, else F16) */
int model_from_config(struct model *m, const char *name, const json_t *j, const char *what, const char *arch,
                      const struct hparams *hp, const char *type, struct error *err);

/* ---- preset.c --------------------------------------------------------------------- */
/* The model called `spec` in the model directories. found NULL: a name that no preset has is an error. */
int preset_load(struct model *m, const char *spec, const char *type, bool *found, struct error *err);

/* ---- alias.c ---------------------------------------------------------------------- */
/* A name without regard to case, spaces, dashes, underscores and colons ("llama3.1:8b"); a dash stays between two digits. */
void alias_fold(char *out, size_t n, const char *s);
/* A type as llama.cpp prints it, as it is called: "Q4_K - Medium" is Q4_K_M. In place. */
void alias_normalize(char *s, size_t size);
/* The length of the name before the type that ends it, as people or llama-bench write types ("llama 8B Q4_K - Medium": 8, and
 * "Q4_K_M" in type); the whole length, and type untouched, where no type ends it. */
size_t alias_type(const char *spec, char *type, size_t size);
/* Cuts one ending off that changes no shape: a type, which `type` gets where it is "", a training, a date, a kind of file. false: it has none. */
bool alias_shorten(char *name, char *type, size_t size);
/* Behind the owner that a name begins with ("google_gemma-3-27b-it"); else the name. */
const char *alias_owned(const char *name);
/* The name ends as those of bitsandbytes' 4-bit files, whose types are not priced. */
bool alias_bnb(const char *spec);
/* A table of names in the folder of the presets: name, tab, preset. */
struct alias_table {
    const char *file;
    bool exact; /* letter by letter, else folded */
};
/* By the table of the first directory that has such a line. -1: a table cannot be read. */
int alias_listed(const char *const *dirs, const struct alias_table *t, const char *name, char preset[NAME_SIZE], bool *found, struct error *err);

/* ---- mixture.c --------------------------------------------------------------------- */
/* The name under which files of this mixture are known ("q4_k" -> "Q4_K_M"), NULL when unknown. */
const char *mixture_name(const char *type);
/* general.file_type <-> name; NULL / -1 when unknown. */
const char *mixture_of_file_type(uint64_t file_type);
int mixture_file_type(const char *name);

/* ---- synth_vocab.c ------------------------------------------------------------------- */
enum { SYNTH_MIN_VOCAB = 3 + 256 };
/* The tokenizer.* keys of a made-up SentencePiece-style vocabulary of n tokens. last: NULL, or a control token that
 * readers of the architecture look up, in place of the last piece. */
int synth_vocab_write(struct gguf_writer *w, uint32_t n, const char *last, struct error *err);

#endif
