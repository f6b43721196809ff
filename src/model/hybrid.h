/*
 * hybrid.h: recurrent and attention layers: Mamba-1 and 2, Gated DeltaNet. Private to this module. Formulas and cost: methods.md (19).
 */
#ifndef MODEL_HYBRID_H
#define MODEL_HYBRID_H

#include "model/arch.h"

/* ---- config.json -------------------------------------------------------------------- */

/* Field names of the recurrence; NULL: absent, value preset in hp->hybrid. */
struct hybrid_fields {
    const char *n_head, *head_dim, *n_group, *n_state, *n_conv;
};
/* Reads and checks hp->hybrid's dimensions; windows and more than HYBRID_MAX_LAYER layers are errors. Fields are optional if
 * hp->hybrid is preset. */
int hybrid_dimensions(const json_t *j, const char *what, const struct hybrid_fields *f, struct hparams *hp, struct error *err);
/* A separate width field must equal n_head * head_dim. */
int hybrid_width(const char *what, const struct hybrid_fields *f, const char *field, uint64_t width, const struct hparams *hp,
                 struct error *err);
/* Optional flag; a value other than `only` is an error. */
int hybrid_flag(const json_t *j, const char *what, const char *field, bool only, struct error *err);

/* A layer kind's word in a list, or letter in a pattern. */
struct layer_word {
    const char *word;
    uint8_t parts;
};
/* hp->hybrid.parts from a list of words or a string of letters, one per layer; words ends with { NULL, 0 }. */
int hybrid_layers(const json_t *j, const char *what, const char *field, const struct layer_word *words, struct hparams *hp,
                  struct error *err);
/* Layers with i % period == offset get `then`, others `otherwise`. */
void hybrid_every(struct hparams *hp, uint32_t period, uint32_t offset, enum layer_part then, enum layer_part otherwise);
/* Widths of experts or FFN must be known where layers need them. field: of the FFN; without FFN layers n_ff is the expert width. */
int hybrid_check(const char *what, const char *field, struct hparams *hp, struct error *err);

/* ---- layers ----------------------------------------------------------------------------- */

uint8_t hybrid_parts(const struct builder *b); /* of the current layer */
/* From BUF_NORM to BUF_OUT. */
void build_mamba1(struct builder *b);
void build_mamba2(struct builder *b);
/* split: q, k, v, gate and the two scalars per head are four matrices instead of two (Qwen3.5). */
void build_delta_net(struct builder *b, bool split);
void build_short_conv(struct builder *b);

#endif
