/* Tables of a page: tests side by side, tests of each file, ops, roles, layers. */
#include "report/html_internal.h"
#include "report/measured.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of all tables by op of a page: 600 bytes each, so that the page stays within PAGE_BYTES. */
enum { OP_ROWS = 2000, SIDE_FILES = 8, JSON_ROWS = 500 };

static struct page_block *open_table(struct page *p, const char *what, size_t file, bool wide)
{
    char id[64];
    snprintf(id, sizeof id, "%s-%zu", what, file + 1);
    struct page_block *b = page_add(p, PAGE_TABLE, id);
    b->wide = wide;
    return b;
}

/* ---- several files side by side ------------------------------------------------------------------------------------ */

static const struct html_test *find_test(const struct html_data *d, size_t file, const char *test)
{
    for (size_t i = 0; i < d->tests.n; i++)
        if (d->tests.v[i].file == file && strcmp(d->tests.v[i].test, test) == 0)
            return &d->tests.v[i];
    return NULL;
}

static bool is_first(const struct html_data *d, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(d->tests.v[i].test, d->tests.v[at].test) == 0)
            return false;
    return true;
}

static void name_side_columns(struct page_table *t, const struct html_data *d, const size_t *file, size_t n)
{
    page_column(t, 0, "test", COL_TEXT, NULL, "pp: tokens of a prompt, tg: generated tokens; @d: after that context");
    for (size_t i = 0; i < n; i++) {
        char name[200];
        const char *of = d->r->file[file[i]].name;
        snprintf(name, sizeof name, "%.100s, tokens/s", of);
        page_column(t, 1 + 3 * i, name, COL_FLOAT, "tokens/s", d->r->file[file[i]].kind == HTML_PREDICTION ? "predicted" : "measured, mean of the repetitions");
        snprintf(name, sizeof name, "%.100s, of roof", of);
        page_column(t, 2 + 3 * i, name, COL_FRACTION, NULL, "MBU where memory-bound, else MFU; of a prediction the share of its bound in its time");
        snprintf(name, sizeof name, "%.100s, ratio", of);
        page_column(t, 3 + 3 * i, name, COL_FLOAT, NULL, "tokens/s over those of the first file");
    }
}

static double of_roof(const struct html_test *t)
{
    const bool memory = strcmp(t->bound, "memory") == 0;
    return t->predicted ? fmin(1, memory ? t->memory_share : t->compute_share) : memory ? t->mbu : t->mfu;
}

static void add_side_by_side(struct page *p, const struct html_data *d)
{
    size_t file[SIDE_FILES], n = 0;
    for (size_t i = 0; i < d->r->n && n < SIDE_FILES; i++)
        if (html_first(d, i, true) || html_first(d, i, false))
            file[n++] = i;
    if (n < 2)
        return;
    page_add(p, PAGE_TABLE, "side-by-side");
    page_say(p, "Files side by side");
    struct page_table *t = page_cells(p, 1 + 3 * n);
    name_side_columns(t, d, file, n);
    for (size_t i = 0; i < d->tests.n && t->rows.n < JSON_ROWS; i++) {
        if (!is_first(d, i))
            continue;
        const struct html_test *first = find_test(d, file[0], d->tests.v[i].test);
        struct cell *row = table_add(&t->rows);
        row[0] = cell_text(page_keep(t, d->tests.v[i].test));
        for (size_t k = 0; k < n; k++) {
            const struct html_test *x = find_test(d, file[k], d->tests.v[i].test);
            row[1 + 3 * k] = cell_real(x ? x->tok_s : NAN);
            row[2 + 3 * k] = cell_real(x ? of_roof(x) : NAN);
            row[3 + 3 * k] = cell_real(x && first && k > 0 ? x->tok_s / first->tok_s : NAN);
        }
    }
}

/* ---- a run --------------------------------------------------------------------------------------------------------------- */

static const char test_order[] = "model type n_threads test n_reps tok_s_mean tok_s_sd ttft_s itl_p50_s itl_p99_s bytes_s ceiling_bytes_s mbu flop_s ceiling_flop_s mfu bound "
                                 "dram_bytes_s j_tok roof_moved mbu_profile";

static void add_tests(struct page *p, const struct html_data *d, size_t file)
{
    const struct run *r = d->run[file];
    open_table(p, "tests", file, false);
    page_say(p, "Tests of %s", d->r->file[file].name);
    struct page_table *t = page_columns(p, run_row_fields.cols, run_row_fields.n, test_order, sizeof(struct run_row));
    for (size_t i = 0; i < r->n_row && i < JSON_ROWS; i++)
        *(struct run_row *)table_add(&t->rows) = r->row[i];
    t->filter = r->n_row > 12;
}

static const char op_order[] = "test layer role op type rows cols n_tok seconds share roof_fraction bound weight_bytes act_bytes kv_bytes flop ai bytes_s flop_s";
static const char role_order[] = "test role seconds share roof_fraction bound weight_bytes act_bytes kv_bytes flop ai bytes_s flop_s";
static const char layer_order[] = "test layer seconds share roof_fraction weight_bytes act_bytes kv_bytes flop ai bytes_s flop_s";

static struct page_table *open_ops(struct page *p, const char *what, const char *order, const struct html_data *d, size_t file, const char *caption)
{
    open_table(p, what, file, strcmp(what, "roles") != 0);
    page_say(p, "%s of %s. Bytes and FLOP are counted by the engine, for each pass; seconds are measured, op by op", caption, d->r->file[file].name);
    struct page_table *t = page_columns(p, run_op_fields.cols, run_op_fields.n, order, sizeof(struct run_op));
    t->filter = true;
    return t;
}

/* Sums: bytes, FLOP, seconds, and the time at the roofs. */
static void add_op(struct run_op *to, const struct run_op *x)
{
    const double least_s = (isnan(to->roof_fraction) ? 0 : to->roof_fraction * to->seconds) + (isnan(x->roof_fraction) ? 0 : x->roof_fraction * x->seconds);
    to->weight_bytes += x->weight_bytes;
    to->act_bytes += x->act_bytes;
    to->kv_bytes += x->kv_bytes;
    to->flop += x->flop;
    to->share += x->share;
    to->seconds += x->seconds;
    to->roof_fraction = least_s / to->seconds;
    to->ai = to->flop / (to->weight_bytes + to->act_bytes + to->kv_bytes);
    to->bytes_s = (to->weight_bytes + to->act_bytes + to->kv_bytes) / to->seconds;
    to->flop_s = to->flop / to->seconds;
    if (strcmp(to->bound, x->bound) != 0)
        snprintf(to->bound, sizeof to->bound, "both");
}

static bool alike(const struct run_op *a, const struct run_op *b, bool by_layer)
{
    return strcmp(a->test, b->test) == 0 && (by_layer ? a->layer == b->layer : strcmp(a->role, b->role) == 0);
}

static void add_sums(struct page_table *t, const struct run *r, bool by_layer)
{
    for (size_t i = 0; i < r->n_op; i++) {
        size_t k = 0;
        while (k < t->rows.n && !alike(table_row(&t->rows, k), &r->op[i], by_layer))
            k++;
        if (k < t->rows.n)
            add_op(table_row(&t->rows, k), &r->op[i]);
        else if (t->rows.n < OP_ROWS)
            *(struct run_op *)table_add(&t->rows) = r->op[i];
    }
}

/* Within a test the roles that take most time come first. */
static int longer_role(const void *a, const void *b)
{
    const struct run_op *x = a, *y = b;
    const int test = strcmp(x->test, y->test);
    return test ? -test : x->seconds < y->seconds ? 1 : x->seconds > y->seconds ? -1 : strcmp(x->role, y->role);
}

static int longer(const void *a, const void *b)
{
    const struct run_op *x = a, *y = b;
    return x->seconds < y->seconds ? 1 : x->seconds > y->seconds ? -1 : 0;
}

static void add_ops(struct page *p, const struct html_data *d, size_t file)
{
    const struct run *r = d->run[file];
    const size_t most = p->n_row < OP_ROWS ? OP_ROWS - p->n_row : 0, n = r->n_op < most ? r->n_op : most;
    struct run_op *op = malloc((r->n_op + 1) * sizeof *op);
    if (!op)
        interrupt_end_without_memory();
    memcpy(op, r->op, r->n_op * sizeof *op);
    if (n < r->n_op)
        qsort(op, r->n_op, sizeof *op, longer);
    struct page_table *t = open_ops(p, "ops", op_order, d, file, n < r->n_op ? "Ops, those of most time," : "Ops");
    for (size_t i = 0; i < n; i++)
        *(struct run_op *)table_add(&t->rows) = op[i];
    t->n_left_out = r->n_op - n;
    p->n_row += n;
    free(op);
}

static void add_run(struct page *p, const struct html_data *d, size_t file)
{
    const struct run *r = d->run[file];
    add_tests(p, d, file);
    if (r->n_op == 0)
        return;
    struct page_table *roles = open_ops(p, "roles", role_order, d, file, "Roles");
    add_sums(roles, r, false);
    qsort(roles->rows.v, roles->rows.n, sizeof(struct run_op), longer_role);
    add_sums(open_ops(p, "layers", layer_order, d, file, "Layers (-1: outside of the blocks)"), r, true);
    add_ops(p, d, file);
}

/* ---- other files ------------------------------------------------------------------------------------------------------------ */

/* Rows of a prediction: what its own tables show first. */
static const char *const predicted_columns[][3] = {
    { "test", "test", "pp: tokens of a prompt, tg: generated tokens" }, { "hw", "machine", "id of the profile; *: estimated" }, { "type", "type", "of the weights" },
    { "what_if", "change", "--what-if" }, { "role", "role", "of the ops; none: the whole phase" }, { "tok_s", "tokens/s", "predicted, of all sequences" },
    { "tok_s_lo", "low", "90 % interval" }, { "tok_s_hi", "high", "90 % interval" }, { "seconds", "seconds", "of the prompt, or of a mean step" },
    { "bound", "bound", "under which most of the time is spent" }, { "memory_share", "memory", "memory time over seconds" },
    { "compute_share", "compute", "compute time over seconds" }, { "weight_bytes", "weights read", "of the op list" }, { "kv_bytes", "KV cache", "of the op list" },
    { "flop", "FLOP", "of the op list" }, { "fits", "fits", "in the memory of the machine" }, { "stack", "software", "whose constants" },
    { "basis", "constants", "measured on this machine, on its class, or assumed" }, { "reason", "reason", "why there is no prediction" },
};

static enum column_style style_of(const char *key)
{
    return strcmp(key, "seconds") == 0 ? COL_SECONDS : text_ends_with(key, "_share") ? COL_FRACTION : text_ends_with(key, "_bytes") ? COL_SI
           : strcmp(key, "flop") == 0 ? COL_SI : strncmp(key, "tok_s", 5) == 0 ? COL_FLOAT : strcmp(key, "fits") == 0 ? COL_BOOL : COL_TEXT;
}

static struct cell cell_of(struct page_table *t, const json_t *v)
{
    return json_is_string(v) ? cell_text(page_keep(t, json_string_value(v))) : json_is_number(v) ? cell_real(json_number_value(v))
           : json_is_boolean(v) ? (struct cell){ .kind = CELL_BOOL, .whole = json_is_true(v) } : (struct cell){ .kind = CELL_NULL };
}

/* The rows of a phase or, roles: of their roles, with the test of each. */
static void add_predicted_rows(struct page_table *t, const json_t *rows, bool roles)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i), *inner = json_object_get(row, "roles");
        const size_t n = roles ? json_array_size(inner) : 1;
        for (size_t k = 0; k < n; k++) {
            if (t->rows.n >= JSON_ROWS) {
                t->n_left_out++;
                continue;
            }
            struct cell *c = table_add(&t->rows);
            const json_t *own = roles ? json_array_get(inner, k) : row;
            for (size_t x = 0; x < ARRAY_LEN(predicted_columns); x++) {
                const char *key = predicted_columns[x][0];
                const json_t *v = json_object_get(own, key);
                const bool outer = roles && (strcmp(key, "test") == 0 || strcmp(key, "hw") == 0 || strcmp(key, "type") == 0 || strcmp(key, "what_if") == 0);
                c[x] = cell_of(t, outer ? json_object_get(row, key) : v);
            }
        }
    }
}

static void add_prediction(struct page *p, const struct html_data *d, size_t file, bool roles)
{
    open_table(p, roles ? "roles" : "tests", file, roles);
    page_say(p, "%s of %s", roles ? "Roles" : "Tests", d->r->file[file].name);
    struct page_table *t = page_cells(p, ARRAY_LEN(predicted_columns));
    for (size_t i = 0; i < ARRAY_LEN(predicted_columns); i++) {
        const char *key = predicted_columns[i][0];
        page_column(t, i, predicted_columns[i][1], style_of(key), text_ends_with(key, "_bytes") ? "B" : strncmp(key, "tok_s", 5) == 0 ? "tokens/s" : NULL,
                    predicted_columns[i][2]);
    }
    add_predicted_rows(t, json_object_get(d->r->file[file].doc, "rows"), roles);
    t->filter = t->rows.n > 12;
}

static bool has_roles(const json_t *rows)
{
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (json_array_size(json_object_get(json_array_get(rows, i), "roles")) > 0)
            return true;
    return false;
}

static void add_measured(struct page *p, const struct html_data *d, size_t file)
{
    const struct html_file *f = &d->r->file[file];
    open_table(p, "tests", file, false);
    page_say(p, "Results of %s. Times are the file's; bytes are the weights and KV cache that a pass reads, FLOP those of its ops", f->name);
    struct page_table *t = page_columns(p, report_fields.cols, report_fields.n, NULL, sizeof(struct report_row));
    for (size_t i = 0; i < f->n_row && i < JSON_ROWS; i++)
        measured_add_row(&t->rows, &f->row[i]);
    t->filter = f->n_row > 12;
    t->n_left_out = f->n_row > JSON_ROWS ? f->n_row - JSON_ROWS : 0;
}

/* A row a figure. */
static void add_figures(struct page *p, const struct html_data *d, size_t file)
{
    static const char *const cols[][3] = { { "name", "figure", "of all requests that were answered" }, { "value", "value", "of the run" }, { "unit", "unit", "SI" },
                                           { "lo", "low", "90 % sampling interval" }, { "hi", "high", "90 % sampling interval" },
                                           { "model_lo", "model low", "90 % interval of the step's constants" },
                                           { "model_hi", "model high", "90 % interval of the step's constants" }, { "reason", "no interval", "why" } };
    const json_t *rows = json_object_get(d->r->file[file].doc, "rows");
    open_table(p, "figures", file, false);
    page_say(p, "Figures of %s", d->r->file[file].name);
    struct page_table *t = page_cells(p, ARRAY_LEN(cols));
    for (size_t k = 0; k < ARRAY_LEN(cols); k++)
        page_column(t, k, cols[k][1], k == 0 || k == 2 || k == 7 ? COL_TEXT : COL_FLOAT, NULL, cols[k][2]);
    for (size_t i = 0; i < json_array_size(rows) && i < JSON_ROWS; i++) {
        struct cell *c = table_add(&t->rows);
        for (size_t k = 0; k < ARRAY_LEN(cols); k++)
            c[k] = cell_of(t, json_object_get(json_array_get(rows, i), cols[k][0]));
    }
    t->filter = true;
}

static void add_other(struct page *p, const struct html_data *d, size_t file)
{
    const json_t *doc = d->r->file[file].doc;
    open_table(p, "rows", file, false);
    page_say(p, "%s of %s", json_string_value(json_object_get(doc, "schema")), d->r->file[file].name);
    page_json_rows(p, json_object_get(doc, "rows"), JSON_ROWS);
}

int html_add_tables(struct page *p, const struct html_data *d, struct error *err)
{
    page_add(p, PAGE_SECTION, "tables");
    page_say(p, "Tables");
    add_side_by_side(p, d);
    for (size_t i = 0; i < d->r->n; i++)
        switch (d->r->file[i].kind) {
        case HTML_RUN:
            add_run(p, d, i);
            break;
        case HTML_PREDICTION:
            add_prediction(p, d, i, false);
            if (has_roles(json_object_get(d->r->file[i].doc, "rows")))
                add_prediction(p, d, i, true);
            break;
        case HTML_MEASURED:
            add_measured(p, d, i);
            break;
        case HTML_SERVED:
            add_figures(p, d, i);
            break;
        case HTML_TABLE:
            add_other(p, d, i);
            break;
        }
    return interrupt_check(err);
}
