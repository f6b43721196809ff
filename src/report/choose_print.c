/* Output of `roofcast choose`: the answer in a line, the rows, the sources. */
#include "report/choose.h"
#include "report/output.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MACHINES = 12 };

#define AT(m) COLUMN_AT(struct choose_row, m)
static const struct column choose_columns[] = {
    { "model", NULL, COL_TEXT, NULL, COL_DATA, AT(model), EMPTY_VALUE, NULL, NULL },
    { "hw", "hw", COL_TEXT, NULL, COL_KEY, AT(hw), EMPTY_VALUE, NULL, "id of the profile" },
    { "layout", "devices", COL_TEXT, NULL, COL_KEY, AT(layout), EMPTY_VALUE, NULL, "parallel layout: \"tp4 pp2\"" },
    { "n_devices", NULL, COL_INT, NULL, COL_DATA, AT(n_devices), EMPTY_VALUE, NULL, NULL },
    { "type", "type", COL_TEXT, NULL, COL_KEY, AT(type), EMPTY_VALUE, NULL, "of the weights" },
    { "stack", "stack", COL_TEXT, NULL, COL_MINOR, AT(stack), EMPTY_NULL, NULL, "software predicted" },
    { "basis", NULL, COL_TEXT, NULL, COL_DATA, AT(basis), EMPTY_NULL, NULL, "provenance of its constants, as in `predict.row`" },
    { "n_ctx", NULL, COL_INT, "tokens", COL_DATA, AT(n_ctx), EMPTY_VALUE, NULL, "context of each sequence" },
    { "n_batch", NULL, COL_INT, NULL, COL_DATA, AT(n_batch), EMPTY_VALUE, NULL, "sequences" },
    { "tok_s", "tokens/s", COL_FLOAT, "tokens/s", COL_KEY, AT(tok_s.value), EMPTY_NULL, NULL, "decode of all sequences, at the end of the context" },
    { "tok_s_lo", "low", COL_FLOAT, "tokens/s", COL_MAJOR, AT(tok_s.lo), EMPTY_NULL, NULL, "90 % interval" },
    { "tok_s_hi", "high", COL_FLOAT, "tokens/s", COL_MAJOR, AT(tok_s.hi), EMPTY_NULL, NULL, NULL },
    { "user_tok_s", "a user", COL_FLOAT, "tokens/s", COL_MAJOR, AT(user_tok_s.value), EMPTY_NULL, NULL, "of a sequence" },
    { "user_tok_s_lo", NULL, COL_FLOAT, "tokens/s", COL_DATA, AT(user_tok_s.lo), EMPTY_NULL, NULL, NULL },
    { "user_tok_s_hi", NULL, COL_FLOAT, "tokens/s", COL_DATA, AT(user_tok_s.hi), EMPTY_NULL, NULL, NULL },
    { "chance", "probability", COL_FLOAT, NULL, COL_KEY, AT(chance), EMPTY_NULL, NULL, "that each sequence gets `--rate`; null: no rate, or no interval" },
    { "fits", "fits", COL_BOOL, NULL, COL_MEDIUM, AT(fits), EMPTY_NULL, NULL, "in the usable memory; null: the profile has no size" },
    { "need_bytes", "memory", COL_SI, "B", COL_MAJOR, AT(need_bytes), EMPTY_NULL, NULL, "weights, KV cache, activations and runtime on the fullest device" },
    { "usable_bytes", NULL, COL_SI, "B", COL_DATA, AT(usable_bytes), EMPTY_NULL, NULL, "of the machine's memory by the program" },
    { "memory_bytes", NULL, COL_SI, "B", COL_DATA, AT(memory_bytes), EMPTY_NULL, NULL, "of the machine" },
    { "weight_bytes", NULL, COL_SI, "B", COL_DATA, AT(weight_bytes), EMPTY_NULL, NULL, "on the fullest device" },
    { "bits_weight", "bits", COL_FLOAT, "bit", COL_MEDIUM, AT(bits_weight), EMPTY_VALUE, NULL, "all tensor bytes over all parameters" },
    { "loss", "PPL +", COL_FRACTION, "fraction", COL_MAJOR, AT(loss), EMPTY_NULL, NULL,
      "increase of perplexity over the unquantized model, by which rows are compared: measured, or of the published figures of all types on one scale (methods.md (105))" },
    { "loss_lo", "from", COL_FRACTION, "fraction", COL_MAJOR, AT(loss_lo), EMPTY_NULL, NULL, "least published one, or measured at 90 %" },
    { "loss_hi", "to", COL_FRACTION, "fraction", COL_MAJOR, AT(loss_hi), EMPTY_NULL, NULL, "largest" },
    { "kl_lo", "KL", COL_FLOAT, "nat", COL_MEDIUM, AT(kl_lo), EMPTY_NULL, NULL, "mean KL divergence from the unquantized model: least published one, or measured" },
    { "kl_hi", "to", COL_FLOAT, "nat", COL_MINOR, AT(kl_hi), EMPTY_NULL, NULL, "largest" },
    { "ppl", NULL, COL_FLOAT, NULL, COL_DATA, AT(ppl), EMPTY_NULL, NULL, "perplexity measured here" },
    { "quality", "quality", COL_TEXT, NULL, COL_MAJOR, AT(quality), EMPTY_VALUE, NULL,
      "`\"measured\"` here by ppl, `\"published\"` for models of this size, `\"published, other size\"`, `\"reference\"` (16 bits, or as the model is published) or `\"unavailable\"`" },
    { "quality_of", "of", COL_TEXT, NULL, COL_MEDIUM, AT(quality_of), EMPTY_NULL, NULL, "models of the figures, in parameters" },
    { "refs", "source", COL_TEXT, NULL, COL_MEDIUM, AT(refs), EMPTY_NULL, NULL, "their sources, as numbers of the list below the table" },
    { "sources", NULL, COL_TEXT, NULL, COL_DATA, AT(sources), EMPTY_NULL, NULL, "the same in words" },
    { "usd_h", "USD/h", COL_FLOAT, "USD/h", COL_KEY, AT(usd_h), EMPTY_NULL, NULL, "rent of all devices, on demand; null: no price" },
    { "rent_from", "from", COL_TEXT, NULL, COL_MAJOR, AT(rent_from), EMPTY_NULL, NULL, NULL },
    { "rent_date", "on", COL_TEXT, NULL, COL_MEDIUM, AT(rent_date), EMPTY_NULL, NULL, "of the price" },
    { "rent_source", NULL, COL_TEXT, NULL, COL_DATA, AT(rent_source), EMPTY_NULL, NULL, NULL },
    { "usd", "USD", COL_FLOAT, "USD", COL_MAJOR, AT(usd), EMPTY_NULL, NULL, "price of all devices; null: no price" },
    { "buy_what", NULL, COL_TEXT, NULL, COL_DATA, AT(buy_what), EMPTY_NULL, NULL, "what it buys" },
    { "buy_date", NULL, COL_TEXT, NULL, COL_DATA, AT(buy_date), EMPTY_NULL, NULL, "of the price" },
    { "buy_source", NULL, COL_TEXT, NULL, COL_DATA, AT(buy_source), EMPTY_NULL, NULL, NULL },
    { "pareto", "Pareto", COL_BOOL, NULL, COL_MAJOR, AT(pareto), EMPTY_MINUS_1, NULL, "no other type of the machine is faster and loses less; null: speed or loss unknown" },
    { "take", "take", COL_BOOL, NULL, COL_KEY, AT(take), EMPTY_VALUE, NULL, "the recommended row; of a `--rate` that no type reaches the nearest one" },
    { "reason", "why not", COL_TEXT, NULL, COL_DATA, AT(reason), EMPTY_NULL, NULL, "why there is no prediction" },
};
#undef AT
const struct table_fields choose_fields = { "choose.row", choose_columns, ARRAY_LEN(choose_columns) };

/* ---- the answer ----------------------------------------------------------------------------------------------- */

static void add_speed(struct strbuf *b, double tok_s)
{
    strbuf_addf(b, tok_s >= 999.5 ? "%.0f" : "%.3g", tok_s);
}

static void add_rate(struct strbuf *b, const struct choose_row *r)
{
    const struct figure *f = r->n_batch > 1 ? &r->user_tok_s : &r->tok_s;
    add_speed(b, f->value);
    strbuf_addf(b, " tokens/s%s", r->n_batch > 1 ? " a user" : "");
    if (isnan(f->lo))
        return;
    strbuf_adds(b, " (");
    add_speed(b, f->lo);
    strbuf_adds(b, " to ");
    add_speed(b, f->hi);
    strbuf_adds(b, ")");
}

static void add_chance(struct strbuf *b, const struct choose_row *r, const struct choose_case *c)
{
    if (isnan(c->rate_tok_s))
        return;
    if (isnan(r->chance))
        strbuf_addf(b, ", %s %.4g tokens/s as predicted", r->user_tok_s.value >= c->rate_tok_s ? "reaches" : "misses", c->rate_tok_s);
    else
        strbuf_addf(b, ", reaches %.4g tokens/s with probability %.2f", c->rate_tok_s, fmin(fmax(r->chance, 0.005), 0.995));
}

/* "+1.7 %", "+640 %" */
static void add_increase(struct strbuf *b, double loss)
{
    strbuf_addf(b, loss < 0.995 ? "%+.2g %%" : "%+.0f %%", 100 * loss);
}

/* "perplexity +1.7 % (published for 6.7B to 13B: +0.87 to +2.8 %)" */
static void add_quality(struct strbuf *b, const struct choose_row *r)
{
    if (strcmp(r->quality, "reference") == 0)
        strbuf_adds(b, r->quality_of ? "as the model is published" : "unquantized");
    else if (isnan(r->loss_lo))
        strbuf_addf(b, "quality %s", r->quality);
    else {
        const char *q = r->quality;
        strbuf_adds(b, "perplexity ");
        add_increase(b, r->loss);
        strbuf_addf(b, " (%.9s", q); /* "published", without ", other size" */
        if (strcmp(q, "measured") != 0)
            strbuf_addf(b, " for %s%s", r->quality_of, q[strlen("published")] ? ", another size" : "");
        if (r->loss_lo != r->loss_hi)
            strbuf_addf(b, r->loss_lo < 0.995 ? ": %+.2g to " : ": %+.0f to ", 100 * r->loss_lo);
        else if (strcmp(q, "measured") != 0)
            strbuf_adds(b, ": ");
        if (r->loss_lo != r->loss_hi || strcmp(q, "measured") != 0)
            add_increase(b, r->loss_hi);
        strbuf_adds(b, ")");
    }
}

static const struct choose_row *row_at(const struct table_rows *rows, size_t i)
{
    return table_row(rows, i);
}

/* The next row of the front with less loss (step -1), or more and visibly faster (1); NULL: none. */
static const struct choose_row *neighbour(const struct table_rows *rows, size_t at, int step)
{
    const struct choose_row *r = row_at(rows, at);
    for (size_t i = at; step < 0 ? i > 0 : i + 1 < rows->n;) {
        i = step < 0 ? i - 1 : i + 1;
        const struct choose_row *x = row_at(rows, i);
        if (strcmp(x->hw, r->hw) != 0)
            return NULL;
        if (x->pareto == 1 && x->loss != r->loss && (step < 0 || x->tok_s.value > 1.01 * r->tok_s.value))
            return x;
    }
    return NULL;
}

static void add_other(struct strbuf *b, const char *what, const struct choose_row *r)
{
    if (!r)
        return;
    strbuf_addf(b, "%s: %s, ", what, r->type);
    add_speed(b, r->n_batch > 1 ? r->user_tok_s.value : r->tok_s.value);
    strbuf_adds(b, " tokens/s, ");
    add_quality(b, r);
    strbuf_adds(b, ".");
}

static void say_type(const struct table_rows *rows, size_t at, const struct choose_case *c, bool several)
{
    const struct choose_row *r = row_at(rows, at), *better = neighbour(rows, at, -1), *faster = neighbour(rows, at, 1);
    struct strbuf b = { 0 };
    char need[40], usable[40];
    const bool misses = !isnan(c->rate_tok_s) && !choose_reaches(r, c);
    strbuf_addf(&b, "%s%s", several ? r->hw : "", several ? ": " : "");
    if (misses)
        strbuf_addf(&b, "No type reaches %.4g tokens/s%s with probability %.2g. Nearest%s: %s: ", c->rate_tok_s, c->n_batch > 1 ? " a user" : "", c->least_chance,
                    r->loss <= c->most_loss ? " of acceptable loss" : "", r->type);
    else
        strbuf_addf(&b, "Take %s: ", r->type);
    add_rate(&b, r);
    add_chance(&b, r, c);
    strbuf_addf(&b, ", %s ", units_si(need, sizeof need, r->need_bytes, "B"));
    if (isnan(r->usable_bytes))
        strbuf_adds(&b, "(the size of the machine's memory is unknown), ");
    else
        strbuf_addf(&b, "of %s, ", units_si(usable, sizeof usable, r->usable_bytes, "B"));
    add_quality(&b, r);
    strbuf_adds(&b, ".");
    if (r->loss > c->most_loss)
        strbuf_addf(&b, " No type that loses at most %g %% fits%s.", 100 * c->most_loss, isnan(c->rate_tok_s) || misses ? "" : " and reaches the rate");
    add_other(&b, " Closer to the original", better);
    add_other(&b, " Faster", faster);
    report_text(0, "%s\n", b.oom ? "" : b.s);
    strbuf_free(&b);
}

static void say_none(const struct table_rows *rows, const struct choose_case *c)
{
    bool fits = false, predicted = false;
    for (size_t i = 0; i < rows->n; i++) {
        predicted |= !row_at(rows, i)->reason;
        fits |= !row_at(rows, i)->reason && row_at(rows, i)->fits != 0;
    }
    if (fits)
        report_text(0, "No type of %s that fits has a known quality: `roofcast ppl --against` measures it.\n", c->model);
    else if (predicted)
        report_text(0, "No type of %s fits in the memory with a context of %u tokens and %u sequence%s: fewer tokens (--ctx), more devices (--tp), or another machine "
                       "(`roofcast choose %s --rate TOK_S`).\n",
                    c->model, c->n_ctx, c->n_batch, c->n_batch == 1 ? "" : "s", c->model);
    else
        report_text(0, "No type of %s can be predicted with these options%s\n", c->model, rows->n > 0 ? ":" : ".");
}

static void say_types(const struct table_rows *rows, const struct choose_case *c)
{
    bool several = false, said = false;
    for (size_t i = 1; i < rows->n; i++)
        several |= strcmp(row_at(rows, i)->hw, row_at(rows, 0)->hw) != 0;
    for (size_t i = 0; i < rows->n; i++)
        if (row_at(rows, i)->take) {
            say_type(rows, i, c, several);
            said = true;
        }
    if (!said)
        say_none(rows, c);
    printf("\n");
}

static void say_machines(const struct table_rows *rows, const struct choose_case *c)
{
    const struct choose_row *r = rows->n > 0 ? row_at(rows, 0) : NULL;
    struct strbuf b = { 0 };
    if (!r) {
        report_text(0, "No listed machine runs %s with a context of %u tokens and %u sequence%s.\n\n", c->model, c->n_ctx, c->n_batch, c->n_batch == 1 ? "" : "s");
        return;
    }
    if (r->take) {
        strbuf_addf(&b, "%s %s", c->buy ? "Buy" : "Rent", r->hw);
        if (r->n_devices > 1)
            strbuf_addf(&b, " x %u", r->n_devices);
        if (c->buy)
            strbuf_addf(&b, ", %.0f USD (%s, %s)", r->usd, r->buy_what ? r->buy_what : "list price", r->buy_date);
        else
            strbuf_addf(&b, ", %.3g USD/h (%s, %s)", r->usd_h, r->rent_from ? r->rent_from : "on demand", r->rent_date);
        strbuf_addf(&b, ", with %s: ", r->type);
    } else {
        strbuf_addf(&b, "No listed machine with a price reaches %.4g tokens/s%s with probability %.2g. Nearest: %s, %s: ", c->rate_tok_s,
                    c->n_batch > 1 ? " a user" : "", c->least_chance, r->hw, r->type);
    }
    add_rate(&b, r);
    add_chance(&b, r, c);
    strbuf_adds(&b, ", ");
    add_quality(&b, r);
    report_text(0, "%s.\n\n", b.oom ? "" : b.s);
    strbuf_free(&b);
}

/* ---- what people see -------------------------------------------------------------------------------------------- */

/* Types that do not fit, one line. */
static void say_left_out(const struct table_rows *rows)
{
    struct strbuf no_room = { 0 };
    for (size_t i = 0; i < rows->n; i++) {
        const struct choose_row *r = row_at(rows, i);
        char need[40];
        if (!r->reason && r->fits == 0)
            strbuf_addf(&no_room, "%s%s (%s)", no_room.len > 0 ? ", " : "", r->type, units_si(need, sizeof need, r->need_bytes, "B"));
        if (r->reason)
            report_text(2, "%s on %s: %s\n", r->type, r->hw, r->reason);
    }
    if (no_room.len > 0 && !no_room.oom)
        report_text(2, "Too large: %s.\n", no_room.s);
    strbuf_free(&no_room);
}

static void say_sources(const struct table_rows *rows, const struct choose_case *c)
{
    bool *used = calloc(c->published->n + 1, sizeof *used);
    for (size_t i = 0; used && i < rows->n; i++)
        for (const char *s = row_at(rows, i)->refs; s && *s;) {
            char *end;
            const unsigned long n = strtoul(s, &end, 10);
            if (n >= 1 && n <= c->published->n)
                used[n - 1] = true;
            s = *end == ',' ? end + 1 : "";
        }
    for (size_t i = 0; used && i < c->published->n; i++) {
        const struct published_study *s = &c->published->study[i];
        if (used[i])
            report_text(4, "[%zu] %s (%s): %s, %s\n", i + 1, s->model, s->text, s->source, s->date);
    }
    free(used);
}

static void say_notes(const struct table_rows *rows, const struct choose_case *c, const struct choose_output *o)
{
    bool other = false, measured = false, published = false;
    for (size_t i = 0; i < rows->n; i++) {
        const char *q = row_at(rows, i)->quality;
        other |= strcmp(q, "published, other size") == 0;
        published |= strncmp(q, "published", 9) == 0;
        measured |= strcmp(q, "measured") == 0;
    }
    printf("\n");
    report_text(0, "tokens/s: decode at the end of a context of %u tokens, %u sequence%s; low and high: 90 %% interval. PPL +: increase of perplexity over the unquantized model%s%s.\n",
                c->n_ctx, c->n_batch, c->n_batch == 1 ? "" : "s", published ? ", from published figures on one scale; from, to: those for models of this size (within a factor of 2)" : "",
                measured ? ", or measured here by `roofcast ppl`" : "");
    if (other)
        report_text(0, "other size: no figure of that type for models of this size; larger models lose less. `roofcast ppl` measures your file.\n");
    if (o->machines)
        report_text(0, "Prices change: --prices FILE. A purchase price is of the card alone unless -o json says otherwise. Arriving requests and prompts: `roofcast capacity`.\n");
}

static void rank_columns(struct column *c, size_t n, const struct table_rows *rows, const struct choose_case *k, const struct choose_output *o)
{
    bool hw = o->machines, devices = false, misfit = false, stacks = false;
    for (size_t i = 0; i < rows->n; i++) {
        const struct choose_row *r = row_at(rows, i), *first = row_at(rows, 0);
        hw |= strcmp(r->hw, first->hw) != 0;
        devices |= r->n_devices > 1;
        misfit |= r->fits != 1;
        stacks |= (r->stack && first->stack && strcmp(r->stack, first->stack) != 0);
    }
    const struct {
        bool shown;
        const char *names;
        enum column_rank rank;
    } x[] = { { hw, "hw", COL_KEY }, { devices, "layout", COL_KEY }, { misfit, "fits", COL_MEDIUM }, { stacks, "stack", COL_MEDIUM },
              { !isnan(k->rate_tok_s), "chance", COL_KEY }, { k->n_batch > 1, "user_tok_s", COL_MAJOR }, { o->machines, "usd_h", COL_KEY },
              { o->machines, "rent_from rent_date usd", COL_MEDIUM }, { !o->machines, "pareto", COL_MAJOR }, { !o->machines, "bits_weight kl_lo refs", COL_MEDIUM },
              { !o->machines, "kl_hi quality_of", COL_MINOR } };
    for (size_t i = 0; i < ARRAY_LEN(x); i++)
        columns_rank(c, n, x[i].names, x[i].shown ? x[i].rank : COL_DATA);
}

static bool is_shown(const struct choose_row *r, size_t i, const struct choose_output *o)
{
    if (o->all)
        return true;
    return o->machines ? i < MOST_MACHINES : !r->reason && r->fits != 0;
}

static int print_people(struct table *t, const struct table_rows *rows, const struct choose_case *c, const struct choose_output *o, struct error *err)
{
    struct column cols[ARRAY_LEN(choose_columns)];
    struct table_rows shown = { .size = rows->size };
    for (size_t i = 0; i < rows->n; i++)
        if (is_shown(row_at(rows, i), i, o))
            memcpy(table_add(&shown), row_at(rows, i), rows->size);
    memcpy(cols, choose_columns, sizeof cols);
    rank_columns(cols, ARRAY_LEN(cols), shown.n > 0 ? &shown : rows, c, o);
    t->cols = cols;
    t->rows = &shown;
    if (o->machines)
        say_machines(rows, c);
    else
        say_types(rows, c);
    fflush(stdout);
    int rc = shown.n > 0 ? report_write(NULL, o->format, t, err) : 0;
    if (rc == 0 && shown.n < rows->n && o->machines)
        report_text(0, "(%zu more with --all)\n", rows->n - shown.n);
    if (rc == 0 && shown.n > 0)
        say_notes(&shown, c, o);
    if (rc == 0 && !o->machines)
        say_left_out(rows);
    if (rc == 0)
        say_sources(&shown, c);
    table_rows_free(&shown);
    return rc;
}

int choose_print(struct table_rows *rows, const struct choose_case *c, const struct choose_output *o, struct error *err)
{
    json_t *meta = json_pack("{s:s, s:i, s:i, s:f}", "model", c->model, "n_ctx", (int)c->n_ctx, "n_batch", (int)c->n_batch, "most_loss", c->most_loss);
    if (!meta || json_object_set_new(meta, "rate_tok_s", json_num(c->rate_tok_s)) != 0) {
        json_decref(meta);
        return error_oom(err, 0, "the choice");
    }
    struct table t = { .schema = "roofcast.choose", .version = 1, .meta = meta, .cols = choose_columns, .n_cols = ARRAY_LEN(choose_columns), .rows = rows };
    int rc = o->save ? report_write(o->save, REPORT_JSON, &t, err) : 0;
    if (rc == 0)
        rc = o->format == REPORT_TABLE || o->format == REPORT_MD ? print_people(&t, rows, c, o, err) : report_write(NULL, o->format, &t, err);
    json_decref(meta);
    return rc;
}
