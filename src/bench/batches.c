/* The table of llama-batched-bench: what B sequences that go together cost, prompt and generation really run. */
#include "bench/bench.h"

/* The columns' names there, and what decode uses of this machine. methods.md (28) */
const struct column bench_batch_columns[] = {
    { "model", "model", COL_TEXT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "type", "type", COL_TEXT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "test", "test", COL_TEXT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "n_threads", "threads", COL_INT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "n_ubatch", "n_ubatch", COL_INT, "", COL_DATA, COLUMN_BY_KEY },
    { "n_depth", "n_depth", COL_INT, "", COL_DATA, COLUMN_BY_KEY },
    { "n_reps", "n_reps", COL_INT, "", COL_DATA, COLUMN_BY_KEY },
    { "n_prompt", "PP", COL_INT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "n_gen", "TG", COL_INT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "n_batch", "B", COL_INT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "n_kv", "N_KV", COL_INT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "pp_s", "T_PP s", COL_FLOAT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "pp_tok_s", "S_PP t/s", COL_FLOAT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "tg_s", "T_TG s", COL_FLOAT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "tg_tok_s", "S_TG t/s", COL_FLOAT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "total_s", "T s", COL_FLOAT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "total_tok_s", "S t/s", COL_FLOAT, "", COL_MAJOR, COLUMN_BY_KEY },
    { "tg_mbu", "MBU TG", COL_FRACTION, "", COL_MAJOR, COLUMN_BY_KEY },
    { "tg_mfu", "MFU TG", COL_FRACTION, "", COL_MAJOR, COLUMN_BY_KEY },
    { "tg_bytes_s", "weights+KV TG", COL_SI, "B/s", COL_DATA, COLUMN_BY_KEY },
    { "ceiling_bytes_s", "ceiling", COL_SI, "B/s", COL_DATA, COLUMN_BY_KEY },
    { "tg_flop_s", "FLOP/s TG", COL_SI, "FLOP/s", COL_DATA, COLUMN_BY_KEY },
    { "ceiling_flop_s", "ceiling", COL_SI, "FLOP/s", COL_DATA, COLUMN_BY_KEY },
};
const size_t bench_n_batch_column = ARRAY_LEN(bench_batch_columns);

json_t *bench_batch_json(const struct run_row *pp, const struct run_row *tg, double pp_s, double tg_s)
{
    const double b = pp->n_batch, n_kv = b * (pp->n_prompt + tg->n_gen);
    char test[64], batch[16] = "", depth[16] = "";
    if (pp->n_batch > 1)
        snprintf(batch, sizeof batch, "x%d", pp->n_batch);
    if (pp->n_depth > 0)
        snprintf(depth, sizeof depth, "@d%d", pp->n_depth);
    snprintf(test, sizeof test, "pp%d+tg%d%s%s", pp->n_prompt, tg->n_gen, batch, depth);
    return json_pack("{s:s s:s s:s s:i s:i s:i s:i s:i s:i s:i s:I s:o s:o s:o s:o s:o s:o s:o s:o s:o s:o s:o s:o}", "model",
                     pp->model, "type", pp->type, "test", test, "n_threads", pp->n_threads, "n_ubatch", pp->n_ubatch, "n_depth",
                     pp->n_depth, "n_reps", pp->n_reps, "n_prompt", pp->n_prompt, "n_gen", tg->n_gen, "n_batch",
                     pp->n_batch, "n_kv", (json_int_t)n_kv, "pp_s", json_num(pp_s), "pp_tok_s",
                     json_num(b * pp->n_prompt / pp_s), "tg_s", json_num(tg_s), "tg_tok_s", json_num(b * tg->n_gen / tg_s),
                     "total_s", json_num(pp_s + tg_s), "total_tok_s", json_num(n_kv / (pp_s + tg_s)), "tg_mbu",
                     json_num(tg->mbu), "tg_mfu", json_num(tg->mfu), "tg_bytes_s", json_num(tg->bytes_s),
                     "ceiling_bytes_s", json_num(tg->ceiling_bytes_s), "tg_flop_s", json_num(tg->flop_s),
                     "ceiling_flop_s", json_num(tg->ceiling_flop_s));
}
