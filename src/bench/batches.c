/* The table of llama-batched-bench: batches of B sequences, prompt and generation measured. */
#include "bench/bench.h"

struct bench_batch {
    const char *model, *type, *test;
    int n_threads, n_ubatch, n_depth, n_reps, n_prompt, n_gen, n_batch;
    double n_kv, pp_s, pp_tok_s, tg_s, tg_tok_s, total_s, total_tok_s, tg_mbu, tg_mfu, tg_bytes_s, ceiling_bytes_s, tg_flop_s, ceiling_flop_s;
};
const size_t bench_batch_size = sizeof(struct bench_batch);

/* Its columns, and the utilization of this machine by decode. methods.md (28) */
#define AT(m) COLUMN_AT(struct bench_batch, m)
static const struct column bench_batch_columns[] = {
    { "model", "model", COL_TEXT, NULL, COL_MAJOR, AT(model), EMPTY_VALUE, NULL, NULL },
    { "type", "type", COL_TEXT, NULL, COL_MAJOR, AT(type), EMPTY_VALUE, NULL, NULL },
    { "test", "test", COL_TEXT, NULL, COL_MAJOR, AT(test), EMPTY_VALUE, NULL, "`pp512+tg128`, `x4` of 4 sequences, `@d4096` after 4,096 tokens of context, `@kv16` in a paged KV cache" },
    { "n_threads", "threads", COL_INT, NULL, COL_MAJOR, AT(n_threads), EMPTY_VALUE, NULL, NULL },
    { "n_ubatch", "n_ubatch", COL_INT, "tokens", COL_DATA, AT(n_ubatch), EMPTY_VALUE, NULL, NULL },
    { "n_depth", "n_depth", COL_INT, "tokens", COL_DATA, AT(n_depth), EMPTY_VALUE, NULL, "context: tokens in the KV cache before the test" },
    { "n_reps", "n_reps", COL_INT, NULL, COL_DATA, AT(n_reps), EMPTY_VALUE, NULL, NULL },
    { "n_prompt", "PP", COL_INT, "tokens", COL_MAJOR, AT(n_prompt), EMPTY_VALUE, NULL, "PP: of each prompt" },
    { "n_gen", "TG", COL_INT, "tokens", COL_MAJOR, AT(n_gen), EMPTY_VALUE, NULL, "TG: generated, of each sequence" },
    { "n_batch", "B", COL_INT, NULL, COL_MAJOR, AT(n_batch), EMPTY_VALUE, NULL, "B: sequences" },
    { "n_kv", "N_KV", COL_INT, "tokens", COL_MAJOR, AT(n_kv), EMPTY_VALUE, NULL, "N_KV = B (PP + TG)" },
    { "pp_s", "T_PP s", COL_FLOAT, "s", COL_MAJOR, AT(pp_s), EMPTY_NULL, NULL, "T_PP: of the B prompts" },
    { "pp_tok_s", "S_PP t/s", COL_FLOAT, "tokens/s", COL_MAJOR, AT(pp_tok_s), EMPTY_NULL, NULL, "S_PP = B PP / T_PP" },
    { "tg_s", "T_TG s", COL_FLOAT, "s", COL_MAJOR, AT(tg_s), EMPTY_NULL, NULL, "T_TG: of TG steps" },
    { "tg_tok_s", "S_TG t/s", COL_FLOAT, "tokens/s", COL_MAJOR, AT(tg_tok_s), EMPTY_NULL, NULL, "S_TG = B TG / T_TG" },
    { "total_s", "T s", COL_FLOAT, "s", COL_MAJOR, AT(total_s), EMPTY_NULL, NULL, "T = T_PP + T_TG" },
    { "total_tok_s", "S t/s", COL_FLOAT, "tokens/s", COL_MAJOR, AT(total_tok_s), EMPTY_NULL, NULL, "S = N_KV / T" },
    { "tg_mbu", "MBU TG", COL_FRACTION, "fraction", COL_MAJOR, AT(tg_mbu), EMPTY_NULL, NULL, "of decode, as are the next four; also in the row of its test" },
    { "tg_mfu", "MFU TG", COL_FRACTION, "fraction", COL_MAJOR, AT(tg_mfu), EMPTY_NULL, NULL, NULL },
    { "tg_bytes_s", "weights+KV TG", COL_SI, "B/s", COL_DATA, AT(tg_bytes_s), EMPTY_NULL, NULL, NULL },
    { "ceiling_bytes_s", "ceiling", COL_SI, "B/s", COL_DATA, AT(ceiling_bytes_s), EMPTY_NULL, NULL, NULL },
    { "tg_flop_s", "FLOP/s TG", COL_SI, "FLOP/s", COL_DATA, AT(tg_flop_s), EMPTY_NULL, NULL, NULL },
    { "ceiling_flop_s", "ceiling", COL_SI, "FLOP/s", COL_DATA, AT(ceiling_flop_s), EMPTY_NULL, NULL, NULL },
};
#undef AT
const struct table_fields bench_batch_fields = { "bench.batch", bench_batch_columns, ARRAY_LEN(bench_batch_columns) };

void bench_add_batch(struct table_rows *rows, const struct run_row *pp, const struct run_row *tg, double pp_s, double tg_s)
{
    const double b = pp->n_batch, n_kv = b * (pp->n_prompt + tg->n_gen);
    char test[64], batch[16] = "", depth[16] = "", block[16] = "";
    if (pp->n_batch > 1)
        snprintf(batch, sizeof batch, "x%d", pp->n_batch);
    if (pp->n_depth > 0)
        snprintf(depth, sizeof depth, "@d%d", pp->n_depth);
    if (pp->kv_block > 0)
        snprintf(block, sizeof block, "@kv%.0f", pp->kv_block);
    snprintf(test, sizeof test, "pp%d+tg%d%s%s%s", pp->n_prompt, tg->n_gen, batch, depth, block);
    *(struct bench_batch *)table_add(rows) = (struct bench_batch){
        table_text(rows, pp->model), table_text(rows, pp->type), table_text(rows, test), pp->n_threads, pp->n_ubatch, pp->n_depth, pp->n_reps, pp->n_prompt,
        tg->n_gen, pp->n_batch, n_kv, pp_s, b * pp->n_prompt / pp_s, tg_s, b * tg->n_gen / tg_s, pp_s + tg_s, n_kv / (pp_s + tg_s), tg->mbu, tg->mfu,
        tg->bytes_s, tg->ceiling_bytes_s, tg->flop_s, tg->ceiling_flop_s,
    };
}
