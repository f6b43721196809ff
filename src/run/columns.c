/* run/columns.c: the fields of a run's lists: files are written and read by them (json.c), `roofcast bench` prints rows and ops by them. */
#include "run/internal.h"

#define AT(m) COLUMN_AT(struct run_row, m)
static const struct column row_columns[RUN_ROW_COLUMNS] = {
    { "model", "model", COL_TEXT, NULL, COL_MAJOR, AT(model), EMPTY_VALUE, NULL, NULL },
    { "type", "type", COL_TEXT, NULL, COL_MAJOR, AT(type), EMPTY_VALUE, NULL, "tensor type or mixture" },
    { "n_threads", "threads", COL_INT, NULL, COL_MEDIUM, AT(n_threads), EMPTY_NEVER, NULL, NULL },
    { "test", "test", COL_TEXT, NULL, COL_KEY, AT(test), EMPTY_VALUE, NULL, "`pp512`, `tg128`, `tg128@d4096`, `tg128@kv16` in a paged KV cache" },
    { "phase", "phase", COL_TEXT, NULL, COL_DATA, AT(phase), EMPTY_VALUE, "`\"prefill\"` or `\"decode\"`", NULL },
    { "n_prompt", "n_prompt", COL_INT, "tokens", COL_DATA, AT(n_prompt), EMPTY_VALUE, NULL, "0 in decode" },
    { "n_gen", "n_gen", COL_INT, "tokens", COL_DATA, AT(n_gen), EMPTY_VALUE, NULL, "0 in prefill" },
    { "n_depth", "n_depth", COL_INT, "tokens", COL_DATA, AT(n_depth), EMPTY_VALUE, NULL, "context: tokens in the KV cache before the test" },
    { "n_batch", "n_batch", COL_INT, NULL, COL_DATA, AT(n_batch), EMPTY_NEVER, NULL, "sequences decoded together" },
    { "n_ubatch", "n_ubatch", COL_INT, "tokens", COL_DATA, AT(n_ubatch), EMPTY_NEVER, NULL, "prompt tokens per pass" },
    { "n_reps", "n_reps", COL_INT, NULL, COL_DATA, AT(n_reps), EMPTY_NEVER, NULL, "repetitions" },
    { "tok_s_mean", "t/s", COL_FLOAT, "tokens/s", COL_KEY, AT(tok_s_mean), EMPTY_NULL, NULL, "mean over repetitions" },
    { "tok_s_sd", "+-", COL_FLOAT, "tokens/s", COL_MEDIUM, AT(tok_s_sd), EMPTY_NULL, NULL, "sample standard deviation" },
    { "ttft_s", "TTFT", COL_SECONDS, "s", COL_MEDIUM, AT(ttft_s), EMPTY_NULL, NULL, "time to first token: the whole prompt; null in decode" },
    { "itl_p50_s", "ITL p50", COL_SECONDS, "s", COL_MEDIUM, AT(itl_p50_s), EMPTY_NULL, NULL, "median time between tokens; null in prefill" },
    { "itl_p99_s", "ITL p99", COL_SECONDS, "s", COL_MINOR, AT(itl_p99_s), EMPTY_NULL, NULL, "99 % quantile" },
    { "bytes_s", "weights+KV", COL_SI, "B/s", COL_MAJOR, AT(bytes_s), EMPTY_NULL, NULL, "weights and KV cache" },
    { "ceiling_bytes_s", "ceiling", COL_SI, "B/s", COL_MINOR, AT(ceiling_bytes_s), EMPTY_NULL, NULL, "DRAM read bandwidth of the probes adjacent to the test" },
    { "mbu", "MBU", COL_FRACTION, "fraction", COL_KEY, AT(mbu), EMPTY_NULL, NULL, "`bytes_s / ceiling_bytes_s`" },
    { "flop_s", "FLOP/s", COL_SI, "FLOP/s", COL_MEDIUM, AT(flop_s), EMPTY_NULL, NULL, NULL },
    { "ceiling_flop_s", "ceiling", COL_SI, "FLOP/s", COL_MINOR, AT(ceiling_flop_s), EMPTY_NULL, NULL, "peak of the arithmetic in use, of the probes adjacent to the test" },
    { "mfu", "MFU", COL_FRACTION, "fraction", COL_MAJOR, AT(mfu), EMPTY_NULL, NULL, "`flop_s / ceiling_flop_s`" },
    { "bound", "bound", COL_TEXT, NULL, COL_KEY, AT(bound), EMPTY_NULL, "`\"memory\"` or `\"compute\"` or null", "the roof that limits the test" },
    { "counters", "counters", COL_TEXT, NULL, COL_DATA, AT(counters), EMPTY_VALUE, NULL, "counter backend" },
    { "dram_bytes_s", "DRAM", COL_SI, "B/s", COL_DATA, AT(dram_bytes_s), EMPTY_NULL, NULL, "by hardware counters" },
    { "mbu_dram", "MBU DRAM", COL_FRACTION, "fraction", COL_DATA, AT(mbu_dram), EMPTY_NULL, NULL, "`dram_bytes_s / ceiling_bytes_s`" },
    { "dram_source", "DRAM source", COL_TEXT, NULL, COL_DATA, AT(dram_source), EMPTY_NULL, NULL, "`uncore counters: 8 x uncore_imc on 2` (sockets)" },
    { "dram_reason", "DRAM reason", COL_TEXT, NULL, COL_DATA, AT(dram_reason), EMPTY_NULL, NULL, "why `dram_bytes_s` is null" },
    { "energy_j", "energy", COL_SI, "J", COL_DATA, AT(energy_j), EMPTY_OPTIONAL, NULL, "of all packages and, where counted, memory, "
      "per repetition, mean; of the whole machine" },
    { "j_tok", "J/token", COL_SI, "J/token", COL_DATA, AT(j_tok), EMPTY_OPTIONAL, NULL, "`energy_j` by the tokens of a repetition" },
    { "energy_source", "energy from", COL_TEXT, NULL, COL_DATA, AT(energy_source), EMPTY_OPTIONAL, NULL, "zones or events" },
    { "energy_reason", "energy reason", COL_TEXT, NULL, COL_DATA, AT(energy_reason), EMPTY_OPTIONAL, NULL, "why `energy_j` is null" },
    { "weight_bytes", "weights", COL_SI, "B", COL_DATA, AT(weight_bytes), EMPTY_NULL, NULL, "of one repetition, as are the next four" },
    { "act_bytes", "activations", COL_SI, "B", COL_DATA, AT(act_bytes), EMPTY_NULL, NULL, "activations" },
    { "kv_bytes", "KV", COL_SI, "B", COL_DATA, AT(kv_bytes), EMPTY_NULL, NULL, "KV cache, read and written" },
    { "flop", "FLOP", COL_SI_BARE, "FLOP", COL_DATA, AT(flop), EMPTY_NULL, NULL, NULL },
    { "seconds", "seconds", COL_SECONDS, "s", COL_DATA, AT(seconds), EMPTY_ZERO, NULL, "mean" },
    { "type_k", "type_k", COL_TEXT, NULL, COL_DATA, AT(type_k), EMPTY_VALUE, NULL, "type of the keys in the KV cache" },
    { "type_v", "type_v", COL_TEXT, NULL, COL_DATA, AT(type_v), EMPTY_VALUE, NULL, "of the values" },
    { "kv_block", "KV block", COL_FLOAT, "tokens", COL_DATA, AT(kv_block), EMPTY_OPTIONAL, NULL, "positions of a block of a paged KV cache (`--paged`); null: contiguous" },
    { "kv_ratio", "of contiguous", COL_FLOAT, NULL, COL_DATA, AT(kv_ratio), EMPTY_OPTIONAL, NULL,
      "t/s over those of the same test in the first cache of `--paged`, repetition by repetition, median (methods.md (70))" },
    { "kv_ratio_low", NULL, COL_FLOAT, NULL, COL_DATA, AT(kv_ratio_low), EMPTY_OPTIONAL, NULL, "its 95 % interval" },
    { "kv_ratio_high", NULL, COL_FLOAT, NULL, COL_DATA, AT(kv_ratio_high), EMPTY_OPTIONAL, NULL, NULL },
    { "act_scales", "act. scales", COL_TEXT, NULL, COL_DATA, AT(act_scales), EMPTY_OPTIONAL, "`\"exact\"` or `\"pow2\"` or null, optional",
      "scales of 8-bit activations in the largest pass of the test (`--act-scales`, methods.md (89)); null: no product quantizes activations" },
    { "experts_touched", "experts", COL_FLOAT, NULL, COL_DATA, AT(experts_touched), EMPTY_NULL, NULL, "distinct experts read per pass by a layer with experts, "
      "mean; null: a dense model" },
    { "ceiling_source", "ceiling from", COL_TEXT, NULL, COL_DATA, AT(ceiling_source), EMPTY_NULL, NULL, NULL },
    { "roof_moved", "roof moved", COL_FRACTION, "fraction", COL_DATA, AT(roof_moved), EMPTY_OPTIONAL, NULL,
      "how far DRAM's roof moved while the test ran: largest probe less smallest over median (methods.md (83))" },
    { "profile_bytes_s", "profile", COL_SI, "B/s", COL_DATA, AT(profile_bytes_s), EMPTY_OPTIONAL, NULL,
      "DRAM read of the stored profile (`roofcast profile`), as many threads" },
    { "mbu_profile", "MBU profile", COL_FRACTION, "fraction", COL_DATA, AT(mbu_profile), EMPTY_OPTIONAL, NULL, "`bytes_s / profile_bytes_s`" },
    { "profile_flop_s", "profile", COL_SI, "FLOP/s", COL_DATA, AT(profile_flop_s), EMPTY_OPTIONAL, NULL, "its peak of the arithmetic in use" },
    { "mfu_profile", "MFU profile", COL_FRACTION, "fraction", COL_DATA, AT(mfu_profile), EMPTY_OPTIONAL, NULL, "`flop_s / profile_flop_s`" },
    { "profile_reason", "profile reason", COL_TEXT, NULL, COL_DATA, AT(profile_reason), EMPTY_OPTIONAL, NULL, "why there are no such roofs" },
    { "steal", "steal", COL_FRACTION, "fraction", COL_DATA, AT(steal), EMPTY_OPTIONAL, NULL, "of the time of the CPUs in use that a "
      "hypervisor gave to others, mean over repetitions; null: too short to tell" },
    { "n_switch", "switches", COL_FLOAT, NULL, COL_DATA, AT(n_switch), EMPTY_OPTIONAL, NULL, "times that the system took a CPU from a "
      "thread, in one repetition, mean" },
    { "clock_hz", "clock", COL_SI, "Hz", COL_DATA, AT(clock_hz), EMPTY_OPTIONAL, NULL, "core clock after the repetitions, median" },
    { "cpu_share", "CPU share", COL_FRACTION, "fraction", COL_DATA, AT(cpu_share), EMPTY_OPTIONAL, NULL,
      "share of the threads' time spent on a CPU, minimum over repetitions; below 0.9: other processes ran there, or threads slept" },
    { "cache_bytes", "LLC", COL_SI, "B", COL_DATA, AT(cache_bytes), EMPTY_OPTIONAL, NULL, "last-level caches, total" },
    { "ops_ceiling_bytes_s", NULL, COL_SI, "B/s", COL_JSON, AT(ops_ceiling_bytes_s), EMPTY_OPTIONAL, NULL,
      "DRAM bandwidth during the pass that timed the ops (`--ops`), harmonic mean of the probes between its steps (methods.md (83))" },
    { "ops_ceiling_flop_s", NULL, COL_SI, "FLOP/s", COL_JSON, AT(ops_ceiling_flop_s), EMPTY_OPTIONAL, NULL, "the peak there" },
    { "ops_lowest_bytes_s", NULL, COL_SI, "B/s", COL_JSON, AT(ops_lowest_bytes_s), EMPTY_OPTIONAL, NULL, "smallest of those probes of DRAM" },
    { "ops_highest_bytes_s", NULL, COL_SI, "B/s", COL_JSON, AT(ops_highest_bytes_s), EMPTY_OPTIONAL, NULL, "largest" },
};
#undef AT
const struct table_fields run_row_fields = { "run.row", row_columns, RUN_ROW_COLUMNS };

#define AT(m) COLUMN_AT(struct run_op, m)
static const struct column op_columns[RUN_OP_COLUMNS] = {
    { "test", "test", COL_TEXT, NULL, COL_KEY, AT(test), EMPTY_VALUE, NULL, NULL },
    { "phase", "phase", COL_TEXT, NULL, COL_DATA, AT(phase), EMPTY_VALUE, "`\"prefill\"` or `\"decode\"`", NULL },
    { "layer", "layer", COL_INT, NULL, COL_MAJOR, AT(layer), EMPTY_MINUS_1, NULL, "-1: outside the blocks, or summed over layers" },
    { "role", "role", COL_TEXT, NULL, COL_KEY, AT(role), EMPTY_VALUE, NULL, "role in the model: `ffn_down`, `attn_core`, ..." },
    { "op", "op", COL_TEXT, NULL, COL_MAJOR, AT(op), EMPTY_VALUE, NULL, "operation: `matmul`, `attention`, ..." },
    { "type", "type", COL_TEXT, NULL, COL_MAJOR, AT(type), EMPTY_VALUE, NULL, "tensor type; `mixed` in a sum" },
    { "rows", "rows", COL_INT, NULL, COL_MEDIUM, AT(rows), EMPTY_VALUE, NULL, "shape of the weight" },
    { "cols", "cols", COL_INT, NULL, COL_MEDIUM, AT(cols), EMPTY_VALUE, NULL, NULL },
    { "n_tok", "n_tok", COL_INT, "tokens", COL_DATA, AT(n_tok), EMPTY_VALUE, NULL, "rows of activations per pass" },
    { "weight_bytes", "weights", COL_SI, "B", COL_MEDIUM, AT(weight_bytes), EMPTY_NULL, NULL, "of one pass, as are the next four and `seconds`" },
    { "act_bytes", "activations", COL_SI, "B", COL_MINOR, AT(act_bytes), EMPTY_NULL, NULL, NULL },
    { "kv_bytes", "KV", COL_SI, "B", COL_MINOR, AT(kv_bytes), EMPTY_NULL, NULL, NULL },
    { "flop", "FLOP", COL_SI_BARE, "FLOP", COL_MINOR, AT(flop), EMPTY_NULL, NULL, NULL },
    { "ai", "FLOP/B", COL_FLOAT, "FLOP/B", COL_MINOR, AT(ai), EMPTY_NULL, NULL, "arithmetic intensity" },
    { "share", "share", COL_FRACTION, "fraction", COL_KEY, AT(share), EMPTY_NULL, NULL, "of the seconds of the pass" },
    { "seconds", "time", COL_SECONDS, "s", COL_KEY, AT(seconds), EMPTY_ZERO, NULL, NULL },
    { "bytes_s", "bytes/s", COL_SI, "B/s", COL_MAJOR, AT(bytes_s), EMPTY_NULL, NULL, NULL },
    { "flop_s", "FLOP/s", COL_SI, "FLOP/s", COL_MEDIUM, AT(flop_s), EMPTY_NULL, NULL, NULL },
    { "roof_fraction", "of roof", COL_FRACTION, "fraction", COL_KEY, AT(roof_fraction), EMPTY_NULL, NULL, "time under its roof / time taken" },
    { "bound", "bound", COL_TEXT, NULL, COL_KEY, AT(bound), EMPTY_NULL, "`\"memory\"` or `\"compute\"` or null", NULL },
};
#undef AT
const struct table_fields run_op_fields = { "run.op", op_columns, RUN_OP_COLUMNS };

/* In files only. */
#define FIELD(s, m, empty) { #m, NULL, COL_TEXT, NULL, COL_JSON, COLUMN_AT(struct s, m), empty, NULL, NULL }

static const struct column prov_columns[] = {
    FIELD(provenance, version, EMPTY_VALUE),
    FIELD(provenance, compiler, EMPTY_VALUE),
    FIELD(provenance, cflags, EMPTY_VALUE),
    FIELD(provenance, cpu, EMPTY_VALUE),
    FIELD(provenance, isa, EMPTY_VALUE),
    FIELD(provenance, counters, EMPTY_VALUE),
    FIELD(provenance, profile, EMPTY_NULL),
    FIELD(provenance, date, EMPTY_VALUE),
    FIELD(provenance, cpus, EMPTY_NULL),
    FIELD(provenance, command, EMPTY_VALUE),
    FIELD(provenance, n_threads, EMPTY_NEVER),
};
const struct table_fields run_prov_fields = { NULL, prov_columns, ARRAY_LEN(prov_columns) };

static const struct column rep_columns[] = {
    FIELD(run_rep, model, EMPTY_VALUE),
    FIELD(run_rep, test, EMPTY_VALUE),
    FIELD(run_rep, n_threads, EMPTY_NEVER),
    FIELD(run_rep, repetition, EMPTY_VALUE),
    FIELD(run_rep, seconds, EMPTY_ZERO),
    FIELD(run_rep, tok_s, EMPTY_NULL),
    FIELD(run_rep, ceiling_bytes_s, EMPTY_NULL),
    FIELD(run_rep, mbu, EMPTY_NULL),
    FIELD(run_rep, ceiling_flop_s, EMPTY_NULL),
    FIELD(run_rep, mfu, EMPTY_NULL),
    FIELD(run_rep, after_bytes_s, EMPTY_OPTIONAL),
    FIELD(run_rep, after_flop_s, EMPTY_OPTIONAL),
    FIELD(run_rep, cpu_share, EMPTY_OPTIONAL),
    FIELD(run_rep, steal, EMPTY_NULL),
    FIELD(run_rep, n_switch, EMPTY_NULL),
    FIELD(run_rep, clock_hz, EMPTY_NULL),
};
const struct table_fields run_rep_fields = { NULL, rep_columns, ARRAY_LEN(rep_columns) };

static const struct column loading_columns[] = {
    FIELD(run_loading, model, EMPTY_VALUE),
    FIELD(run_loading, type, EMPTY_VALUE),
    FIELD(run_loading, n_threads, EMPTY_NEVER),
    FIELD(run_loading, packed_bytes, EMPTY_NULL),
    FIELD(run_loading, pack_s, EMPTY_ZERO),
    FIELD(run_loading, pack_bytes_s, EMPTY_NULL),
    FIELD(run_loading, act_scales, EMPTY_OPTIONAL),
    FIELD(run_loading, peak_bytes, EMPTY_NULL),
    FIELD(run_loading, peak_reason, EMPTY_NULL),
    FIELD(run_loading, probe_bytes, EMPTY_OPTIONAL),
};
const struct table_fields run_loading_fields = { NULL, loading_columns, ARRAY_LEN(loading_columns) };

static const struct column count_columns[] = {
    FIELD(run_count, test, EMPTY_VALUE),
    FIELD(run_count, phase, EMPTY_VALUE),
    FIELD(run_count, role, EMPTY_OPTIONAL),
    FIELD(run_count, field, EMPTY_VALUE),
    FIELD(run_count, value, EMPTY_OPTIONAL),
    FIELD(run_count, per_s, EMPTY_OPTIONAL),
    FIELD(run_count, source, EMPTY_OPTIONAL),
    FIELD(run_count, reason, EMPTY_OPTIONAL),
};
const struct table_fields run_count_fields = { NULL, count_columns, ARRAY_LEN(count_columns) };

static const struct column counting_columns[] = {
    FIELD(run_counting, test, EMPTY_VALUE),
    FIELD(run_counting, phase, EMPTY_VALUE),
    FIELD(run_counting, backend, EMPTY_VALUE),
    FIELD(run_counting, n_set, EMPTY_NEVER),
    FIELD(run_counting, plain_s, EMPTY_OPTIONAL),
    FIELD(run_counting, counted_s, EMPTY_OPTIONAL),
    FIELD(run_counting, slowdown, EMPTY_OPTIONAL),
};
const struct table_fields run_counting_fields = { NULL, counting_columns, ARRAY_LEN(counting_columns) };
