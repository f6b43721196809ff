/* Interfaces of `roofcast sweep`. */
#ifndef REPORT_GRID_H
#define REPORT_GRID_H

#include "learn/anchors.h"
#include "predict/options.h"
#include "report/fields.h"
#include "report/predict_row.h"

/* The columns of a sweep; the first SWEEP_SHARED, up to n_devices, are common to the rows of a cell. */
enum { SWEEP_SHARED = 9 };
struct sweep_columns {
    struct column cols[PREDICT_MAX_COLUMNS];
    const struct column *in_order[PREDICT_MAX_COLUMNS];
    size_t n;
};
void sweep_columns_init(struct sweep_columns *s); /* s must not be moved */

/* The axes of the grid, outermost first. A unit is a model in a type; a cell is a unit with a machine, a layout and a KV cache type;
 * its rows are the batches, contexts, prompts and generations. */
struct sweep_grid {
    struct str_list model, type;
    struct str_list kv;
    struct int_list tp, pp, dp, ep;
    struct str_list hw;
    struct int_list batch, depth, prompt, gen;
    uint32_t n_ubatch; /* 0: the stack's */
    bool roof, jsonl, materialized;
    struct routing routing;
    const struct time_source *time, *software; /* time: NULL: no constants; software: defines the passes, also with --roof */
    struct limits limits;           /* --slo */
    struct hwprofile *machine; /* [hw.n] */
    enum dtype *kv_type;
    struct sweep_columns columns;
    bool kv_type_given; /* by --kv-type; else the checkpoint's type is used */
};

/* Numbers of cells of a unit, and of rows of a cell. */
size_t sweep_n_unit(const struct sweep_grid *g);
size_t sweep_n_cell(const struct sweep_grid *g); /* of one unit */
size_t sweep_n_row(const struct sweep_grid *g);  /* of one cell */
/* Rows are predicted and written in chunks of a cell. Chunks are numbered over the whole grid. */
enum { SWEEP_CHUNK = 256 };
size_t sweep_n_chunk(const struct sweep_grid *g); /* of one unit */
/* Index of a chunk's first row in the whole grid; one chunk past the last: number of rows. */
size_t sweep_first_row(const struct sweep_grid *g, size_t chunk);
/* "llama-3-8b Q8_0 on h100-sxm, tp8": name of a chunk. */
const char *sweep_chunk_name(char *buf, size_t n, const struct sweep_grid *g, size_t chunk);

/* A model in a type, ready for prediction. */
struct sweep_unit {
    struct model m;
    struct op_list ops;
    struct op_classes classes;
    struct timing *timing; /* [n_timing] of every hw; NULL: no constants */
    size_t n_timing;
};
int sweep_unit_init(struct sweep_unit *u, const struct sweep_grid *g, size_t unit, struct error *err);
void sweep_unit_free(struct sweep_unit *u);

/* Appends the rows of a chunk, unless interrupted. Impossible configurations (devices that do not divide, no peak, no link) have the reason in the last field. */
void sweep_chunk(struct strbuf *out, const struct sweep_grid *g, const struct sweep_unit *u, size_t chunk);
/* The first line of CSV; nothing for JSON lines. */
void sweep_header(struct strbuf *out, const struct sweep_grid *g);

/* ---- the axes (grid_axes.c) ------------------------------------------------------------ */

/* As option texts: lists, names, "all" models, kinds of machines ("gpu"). */
struct sweep_lists {
    const char *model, *hw, *kv, *tp, *pp, *dp, *ep, *n_batch, *n_depth, *n_prompt, *n_gen;
};
/* g has all that is no list, and the types; the caller frees it after an error too. */
int sweep_grid_init(struct sweep_grid *g, const struct sweep_lists *l, struct error *err);
/* Every type with the first model, and every model (unless those are all there are) with the first type: a wrong name ends the sweep before its first row. */
int sweep_grid_check(const struct sweep_grid *g, bool all_models, struct error *err);
void sweep_grid_free(struct sweep_grid *g);

/* ---- pricing (grid_price.c) ------------------------------------------------------------- */

struct sweep_range {
    size_t first, end; /* chunks of the whole grid */
};
/* The chunks of one rank of n. */
struct sweep_range sweep_part_of(const struct sweep_grid *g, int rank, int n);
/* Their rows to f, in order; an interrupt leaves whole chunks. */
int sweep_part(const struct sweep_grid *g, struct team *team, struct sweep_range p, FILE *f, bool progress, struct error *err);
/* Writes and frees b. */
int sweep_write(FILE *f, struct strbuf *b, struct error *err);

/* ---- several processes (sweep_mpi.c) --------------------------------------------------- */

/* This process among the ranks of mpirun; 0 of 1 without it. */
struct sweep_ranks {
    int rank, n;
    bool mpi;
};
int sweep_ranks_init(struct sweep_ranks *r, struct error *err);
/* failed: rank 0 exits alone, and mpirun ends the others. */
void sweep_ranks_free(struct sweep_ranks *r, bool failed);
/* Rank 0: waits for another rank's part and appends it to out. ERROR_INTERRUPTED: a rank ended early, or Ctrl-C. Other ranks: send
 * their text, or their error (failed). */
int sweep_ranks_collect(const struct sweep_ranks *r, int rank, FILE *out, struct error *err);
int sweep_ranks_deliver(const struct sweep_ranks *r, FILE *text, const struct error *failed, struct error *err);

#endif
