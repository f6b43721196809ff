/*
 * Columns of `roofcast predict` and `roofcast sweep`. A row of predict has subject, phase (or, with --by role, role), scenario and nested
 * columns; a row of sweep has the subject and scenario columns of sweep_order, and its own.
 */
#include "report/predict_report.h"
#include <string.h>

#define AT(m) COLUMN_AT(struct predict_row, m)
static const struct column subject_columns[] = {
    { "model", "model", COL_TEXT, NULL, COL_DATA, AT(model), EMPTY_VALUE, NULL, NULL },
    { "hw", "hw", COL_TEXT, NULL, COL_KEY, AT(hw), EMPTY_VALUE, NULL, "id of its profile; a trailing `*`: a machine without a profile, estimated from its class "
      "by name, methods.md (56)" },
    { "guess", NULL, COL_TEXT, NULL, COL_DATA, AT(guess), EMPTY_NULL, NULL, "that class; null: the machine has a profile" },
    { "reason", "no prediction", COL_TEXT, NULL, COL_DATA, AT(reason), EMPTY_NULL, NULL, "why this machine has no prediction, in a table where other "
      "machines have one; predicted fields are then null. If no machine has one, the exit status is that of the first reason, else 0" },
    { "note", NULL, COL_TEXT, NULL, COL_DATA, AT(note), EMPTY_NULL, NULL, "limits of the prediction: several sequences are a full batch at every step, without "
      "arrivals and queueing; the stack does not load such weights" },
    { "type", "type", COL_TEXT, NULL, COL_MAJOR, AT(type), EMPTY_VALUE, NULL, NULL },
    { "test", "test", COL_TEXT, NULL, COL_KEY, AT(test), EMPTY_VALUE, NULL, "as in bench; `x8`: 8 sequences; `+draft4`, `+ngram4`, `+mtp4`: with 4 drafted "
      "tokens per round; `req2048+512`: a request of 2048 prompt tokens and 512 generated tokens" },
    { "phase", "phase", COL_TEXT, NULL, COL_DATA, AT(phase), EMPTY_VALUE, "`\"prefill\"` or `\"decode\"` or `\"request\"`",
      "the last: all of it, from `--request`" },
    { "n_prompt", NULL, COL_INT, "tokens", COL_DATA, AT(n_prompt), EMPTY_VALUE, NULL, NULL },
    { "n_gen", NULL, COL_INT, "tokens", COL_DATA, AT(n_gen), EMPTY_VALUE, NULL, NULL },
    { "n_depth", NULL, COL_INT, "tokens", COL_DATA, AT(n_depth), EMPTY_VALUE, NULL, NULL },
    { "n_batch", NULL, COL_INT, NULL, COL_DATA, AT(n_batch), EMPTY_VALUE, NULL, "sequences" },
    { "n_ubatch", NULL, COL_INT, "tokens", COL_DATA, AT(n_ubatch), EMPTY_NULL, NULL, "prompt tokens per pass: `-ub`, or the stack's; null: the "
      "whole prompt" },
    { "type_k", NULL, COL_TEXT, NULL, COL_DATA, AT(type_k), EMPTY_VALUE, NULL, "type of the keys in the KV cache" },
    { "type_v", NULL, COL_TEXT, NULL, COL_DATA, AT(type_v), EMPTY_VALUE, NULL, "of the values" },
    { "n_devices", NULL, COL_INT, NULL, COL_DATA, AT(n_devices), EMPTY_VALUE, NULL, NULL },
    { "layout", "devices", COL_TEXT, NULL, COL_MAJOR, AT(layout), EMPTY_VALUE, NULL, "parallel layout: `\"1 device\"`, `\"tp4 pp2\"` (`--tp`, `--pp`, "
      "`--dp`, `--ep`); with a part on the host `\"GPU and ryzen-9950x, --n-cpu-moe 20\"`" },
    { "weights_gb", NULL, COL_TEXT, "GB", COL_DATA, AT(weights_gb), EMPTY_VALUE, "number or `\"all\"` or null", "of the document, as is the next one" },
    { "weights_only", NULL, COL_BOOL, NULL, COL_DATA, AT(weights_only), EMPTY_VALUE, NULL, NULL },
    { "spec_kind", NULL, COL_TEXT, NULL, COL_DATA, AT(spec_kind), EMPTY_NULL, "`\"model\"` or `\"ngram\"` or `\"mtp\"` or null",
      "source of drafts, methods.md (53); null, as are the next ones: no speculative decoding in this row" },
    { "draft", NULL, COL_TEXT, NULL, COL_DATA, AT(draft), EMPTY_NULL, NULL, "name of the draft model, or the kind" },
    { "gamma", NULL, COL_INT, "tokens", COL_DATA, AT(gamma), EMPTY_NULL, NULL, "drafted per round and sequence" },
    { "acceptance", NULL, COL_TEXT, NULL, COL_DATA, AT(acceptance), EMPTY_NULL, NULL, "`--acceptance` as given" },
    { "tokens_a_round", "tokens/round", COL_FLOAT, "tokens", COL_MAJOR, AT(spec.tokens.mean), EMPTY_NULL, NULL, "mean per sequence" },
    { "tokens_a_round_sd", NULL, COL_FLOAT, "tokens", COL_DATA, AT(tokens_a_round_sd), EMPTY_NULL, NULL, "standard deviation" },
    { "round_s", NULL, COL_SECONDS, "s", COL_DATA, AT(spec.round_s), EMPTY_NULL, NULL, "of a round: drafts and verification" },
    { "draft_s", NULL, COL_SECONDS, "s", COL_DATA, AT(spec.draft_s), EMPTY_NULL, NULL, "of the drafts" },
    { "verify_s", NULL, COL_SECONDS, "s", COL_DATA, AT(spec.verify_s), EMPTY_NULL, NULL, "of the verification pass" },
    { "gain", "gain", COL_FLOAT, NULL, COL_MAJOR, AT(spec.gain), EMPTY_NULL, NULL, "tokens/s relative to plain decode" },
    { "tok_s_sd", NULL, COL_FLOAT, "tokens/s", COL_DATA, AT(spec.tok_s_sd), EMPTY_NULL, NULL, "standard deviation of `tok_s` over the generation, from random acceptance alone" },
    { "flop_factor", NULL, COL_FLOAT, NULL, COL_DATA, AT(spec.flop_factor), EMPTY_NULL, NULL, "FLOP per token relative to plain decode" },
    { "best_gain", NULL, COL_FLOAT, NULL, COL_DATA, AT(spec.best_gain), EMPTY_NULL, NULL, "gain at `best_gamma`; below 1: faster without drafts" },
    { "best_gamma", NULL, COL_INT, "tokens", COL_DATA, AT(spec.best_gamma), EMPTY_NULL, NULL, "gamma of 1 to 16 with the highest gain" },
    { "what_if", "what if", COL_TEXT, NULL, COL_DATA, AT(what_if), EMPTY_NULL, NULL, "`--what-if` of this row; null: no change" },
    { "speedup", "ratio", COL_FLOAT, NULL, COL_DATA, AT(speedup.value), EMPTY_NULL, NULL, "`tok_s` relative to the unchanged row" },
    { "speedup_lo", "ratio low", COL_FLOAT, NULL, COL_DATA, AT(speedup.lo), EMPTY_NULL, NULL, "90 % interval of the ratio; errors common to both rows cancel, "
      "methods.md (66); null: no constants" },
    { "speedup_hi", "ratio high", COL_FLOAT, NULL, COL_DATA, AT(speedup.hi), EMPTY_NULL, NULL, NULL },
    { "tok_s_lo", "low", COL_FLOAT, "tokens/s", COL_DATA, AT(tok_s.lo), EMPTY_NULL, NULL, NULL },
    { "tok_s_hi", "high", COL_FLOAT, "tokens/s", COL_DATA, AT(tok_s.hi), EMPTY_NULL, NULL, NULL },
};

static const struct column whole_columns[] = {
    { "role", NULL, COL_TEXT, NULL, COL_DATA, AT(role), EMPTY_NULL, NULL, "null: the whole phase" },
    { "seconds", "TTFT / ITL", COL_SECONDS, "s", COL_MAJOR, AT(seconds.value), EMPTY_NULL, NULL, "prefill: the whole prompt; decode: one mean step, with drafts "
      "the mean time per token; request: the whole request; with `--by role` the role's part" },
};

static const struct column rate_columns[] = {
    { "tok_s", "tokens/s", COL_FLOAT, "tokens/s", COL_KEY, AT(tok_s.value), EMPTY_NULL, NULL, "of the phase, all sequences; request: generated tokens over its "
      "total time" },
};

static const struct column phase_columns[] = {
    { "weight_bytes", "weights read", COL_SI, "B", COL_MINOR, AT(p.cost.weight_bytes), EMPTY_NULL, NULL, "bytes moved in those seconds, as are the next two" },
    { "act_bytes", NULL, COL_SI, "B", COL_DATA, AT(p.cost.act_bytes), EMPTY_NULL, NULL, NULL },
    { "kv_bytes", "KV cache", COL_SI, "B", COL_MINOR, AT(p.cost.kv_bytes), EMPTY_NULL, NULL, NULL },
    { "flop", "FLOP", COL_SI_BARE, "FLOP", COL_MINOR, AT(p.cost.flop), EMPTY_NULL, NULL, NULL },
    { "ai", NULL, COL_FLOAT, "FLOP/B", COL_DATA, AT(ai), EMPTY_NULL, NULL, NULL },
    { "link_bytes", NULL, COL_SI, "B", COL_DATA, AT(p.cost.link_bytes), EMPTY_NULL, NULL, "sent by a device to others in those seconds" },
    { "bound", "bound", COL_TEXT, NULL, COL_MAJOR, AT(bound), EMPTY_NULL, "`\"memory\"` or `\"compute\"` or `\"launch\"` or `\"link\"` or null",
      "the roof that takes most of the time" },
    { "memory_s", "memory time", COL_SECONDS, "s", COL_MEDIUM, AT(p.memory_s), EMPTY_NULL, "number or null, optional", "bytes / bandwidth, summed over ops" },
    { "compute_s", "compute time", COL_SECONDS, "s", COL_MEDIUM, AT(p.compute_s), EMPTY_NULL, "number or null, optional", "FLOP / peak, summed over ops" },
    { "link_s", "link time", COL_SECONDS, "s", COL_MEDIUM, AT(p.link_s), EMPTY_NULL, "number or null, optional", "communication between devices, summed over ops" },
    { "memory_share", NULL, COL_FRACTION, "fraction", COL_DATA, AT(memory_share), EMPTY_NULL, "number or null, optional", "`memory_s / seconds`" },
    { "compute_share", "compute, % of total", COL_FRACTION, "fraction", COL_MEDIUM, AT(compute_share), EMPTY_NULL, "number or null, optional", "`compute_s / seconds`" },
    { "flop_s", NULL, COL_SI, "FLOP/s", COL_DATA, AT(flop_s), EMPTY_NULL, NULL, NULL },
    { "seconds_lo", NULL, COL_SECONDS, "s", COL_DATA, AT(seconds.lo), EMPTY_NULL, "number or null, optional", "90 % interval, methods.md (62), as "
      "the other `_lo` and `_hi`; null: a bound (`--roof`), or no constants (`--stack none`). Not with `--by role`" },
    { "seconds_hi", NULL, COL_SECONDS, "s", COL_DATA, AT(seconds.hi), EMPTY_NULL, "number or null, optional", NULL },
    { "j_per_tok", "J/token", COL_FLOAT, "J", COL_MINOR, AT(j_per_tok.value), EMPTY_NULL, "number or null, optional", "energy of all devices per token (prefill: "
      "prompt tokens; else generated tokens): `doc/methods.md` (49); null: power unknown. Like the next fifteen not with `--by role`" },
    { "j_per_tok_lo", NULL, COL_FLOAT, "J", COL_DATA, AT(j_per_tok.lo), EMPTY_NULL, "number or null, optional", "90 % interval, from that of "
      "the seconds" },
    { "j_per_tok_hi", NULL, COL_FLOAT, "J", COL_DATA, AT(j_per_tok.hi), EMPTY_NULL, "number or null, optional", NULL },
    { "usd_per_mtok", "$/Mtoken", COL_FLOAT, "USD", COL_DATA, AT(usd_per_mtok.value), EMPTY_NULL, "number or null, optional",
      "price of all devices per million such tokens; null: price unknown" },
    { "usd_per_mtok_lo", NULL, COL_FLOAT, "USD", COL_DATA, AT(usd_per_mtok.lo), EMPTY_NULL, "number or null, optional", NULL },
    { "usd_per_mtok_hi", NULL, COL_FLOAT, "USD", COL_DATA, AT(usd_per_mtok.hi), EMPTY_NULL, "number or null, optional", NULL },
    { "j_per_request", "J/request", COL_FLOAT, "J", COL_DATA, AT(j_per_request.value), EMPTY_NULL, "number or null, optional", "of a request" },
    { "j_per_request_lo", NULL, COL_FLOAT, "J", COL_DATA, AT(j_per_request.lo), EMPTY_NULL, "number or null, optional", NULL },
    { "j_per_request_hi", NULL, COL_FLOAT, "J", COL_DATA, AT(j_per_request.hi), EMPTY_NULL, "number or null, optional", NULL },
    { "usd_per_request", "$/request", COL_FLOAT, "USD", COL_DATA, AT(usd_per_request.value), EMPTY_NULL, "number or null, optional", NULL },
    { "usd_per_request_lo", NULL, COL_FLOAT, "USD", COL_DATA, AT(usd_per_request.lo), EMPTY_NULL, "number or null, optional", NULL },
    { "usd_per_request_hi", NULL, COL_FLOAT, "USD", COL_DATA, AT(usd_per_request.hi), EMPTY_NULL, "number or null, optional", NULL },
    { "power_w", NULL, COL_FLOAT, "W", COL_DATA, AT(running.power_w), EMPTY_NULL, "number or null, optional", "of a device; with a part of the model on the "
      "host of GPU and CPU, or as `power_source` says" },
    { "power_source", NULL, COL_TEXT, NULL, COL_DATA, AT(running.power_source), EMPTY_NULL, "string or null, optional", NULL },
    { "price_usd_h", NULL, COL_FLOAT, "USD/h", COL_DATA, AT(running.price_usd_h), EMPTY_NULL, "number or null, optional", "of a device" },
    { "price_source", NULL, COL_TEXT, NULL, COL_DATA, AT(running.price_source), EMPTY_NULL, "string or null, optional", NULL },
};

static const struct column role_columns[] = {
    { "role", "role", COL_TEXT, NULL, COL_MAJOR, AT(role), EMPTY_VALUE, NULL, NULL },
    { "seconds", "seconds", COL_SECONDS, "s", COL_MAJOR, AT(seconds.value), EMPTY_VALUE, NULL, NULL },
    { "share", "% of time", COL_FRACTION, "fraction", COL_MAJOR, AT(share), EMPTY_NULL, NULL, "of the phase's seconds" },
    { "flop_s", "FLOP/s", COL_SI_BARE, "FLOP/s", COL_MEDIUM, AT(flop_s), EMPTY_NULL, NULL, NULL },
    { "bound", "bound", COL_TEXT, NULL, COL_MAJOR, AT(bound), EMPTY_VALUE, "`\"memory\"` or `\"compute\"` or `\"launch\"` or `\"link\"`", NULL },
    { "role_math", "math", COL_TEXT, NULL, COL_MAJOR, AT(role_math), EMPTY_NULL, NULL, "operand type whose peak applies; null: none, or several" },
    { "weight_bytes", "weights read", COL_SI, "B", COL_MINOR, AT(p.cost.weight_bytes), EMPTY_VALUE, NULL, NULL },
    { "act_bytes", "activations", COL_SI, "B", COL_MINOR, AT(p.cost.act_bytes), EMPTY_VALUE, NULL, NULL },
    { "kv_bytes", "KV cache", COL_SI, "B", COL_MINOR, AT(p.cost.kv_bytes), EMPTY_VALUE, NULL, NULL },
    { "flop", "FLOP", COL_SI_BARE, "FLOP", COL_MINOR, AT(p.cost.flop), EMPTY_VALUE, NULL, NULL },
    { "ai", "FLOP/B", COL_FLOAT, "FLOP/B", COL_MEDIUM, AT(ai), EMPTY_NULL, NULL, NULL },
    { "link_bytes", "sent", COL_SI, "B", COL_MINOR, AT(p.cost.link_bytes), EMPTY_VALUE, NULL, NULL },
};
const struct table_fields predict_role_fields = { "predict.role", role_columns, ARRAY_LEN(role_columns) };

static const struct column scenario_columns[] = {
    { "ttft_s", "TTFT", COL_SECONDS, "s", COL_DATA, AT(ttft_s.value), EMPTY_NULL, NULL, "time to first token; null: no prompt" },
    { "ttft_s_lo", NULL, COL_SECONDS, "s", COL_DATA, AT(ttft_s.lo), EMPTY_NULL, NULL, NULL },
    { "ttft_s_hi", NULL, COL_SECONDS, "s", COL_DATA, AT(ttft_s.hi), EMPTY_NULL, NULL, NULL },
    { "itl_s", "ITL", COL_SECONDS, "s", COL_DATA, AT(itl_s.value), EMPTY_NULL, NULL, "inter-token latency; null: no generation" },
    { "itl_s_lo", NULL, COL_SECONDS, "s", COL_DATA, AT(itl_s.lo), EMPTY_NULL, NULL, NULL },
    { "itl_s_hi", NULL, COL_SECONDS, "s", COL_DATA, AT(itl_s.hi), EMPTY_NULL, NULL, NULL },
    { "stack", NULL, COL_TEXT, NULL, COL_DATA, AT(stack), EMPTY_NULL, NULL, "software whose constants were used (`roofcast list stacks`); null: none, "
      "the profile's efficiency factors or `--roof`" },
    { "basis", NULL, COL_TEXT, NULL, COL_DATA, AT(basis), EMPTY_NULL, "`\"machine\"` or `\"class\"` or `\"priors\"` or `\"kernels\"` or null",
      "source of its constants: measurements of this stack on this machine; of this class of machines, or of another stack on this machine; neither. "
      "`kernels`: no constants, the machine's measured kernels" },
    { "slo", NULL, COL_TEXT, NULL, COL_DATA, AT(slo), EMPTY_NULL, NULL, "`--slo` as given" },
    { "slo_met", "SLO", COL_TEXT, NULL, COL_DATA, AT(slo_met), EMPTY_NULL, "`\"yes\"` or `\"no\"` or `\"unsure\"` or `\"?\"` or null",
      "whether the limits are met; unsure: the probability that all are met, `slo_chance`, is between 5 and 95 %; `?`: a limit without a prediction" },
    { "slo_chance", "probability", COL_FRACTION, NULL, COL_DATA, AT(limits.chance), EMPTY_NULL, NULL, "that all are met, methods.md (63), (65); null: no interval" },
    { "slo_chance_lo", NULL, COL_FRACTION, NULL, COL_DATA, AT(limits.least), EMPTY_NULL, NULL, "bounds of `slo_chance` over all possible correlations of prefill and "
      "decode errors; equal to it for limits of one phase" },
    { "slo_chance_hi", NULL, COL_FRACTION, NULL, COL_DATA, AT(limits.most), EMPTY_NULL, NULL, NULL },
    { "slo_correlation", NULL, COL_FLOAT, NULL, COL_DATA, AT(limits.correlation), EMPTY_NULL, NULL, "assumed correlation of these errors, (64); null: limits of one phase" },
    { "fits", "fits", COL_BOOL, NULL, COL_MAJOR, AT(fits), EMPTY_NULL, NULL, "`need_bytes` within `usable_bytes`, and so for a host; null: memory unknown" },
    { "need_bytes", "needs", COL_SI, "B", COL_MEDIUM, AT(need_bytes), EMPTY_NULL, NULL, "on the device with the largest need: weights, KV cache, activations and runtime" },
    { "memory_bytes", NULL, COL_SI, "B", COL_DATA, AT(memory_bytes), EMPTY_NULL, NULL, "of the machine" },
    { "usable_bytes", NULL, COL_SI, "B", COL_DATA, AT(usable_bytes), EMPTY_NULL, NULL, "of it: memory without the driver's share, times a server's utilization, "
      "methods.md (25)" },
    { "weight_total_bytes", NULL, COL_SI, "B", COL_DATA, AT(weight_total_bytes), EMPTY_NULL, NULL, NULL },
    { "kv_total_bytes", NULL, COL_SI, "B", COL_DATA, AT(kv_total_bytes), EMPTY_NULL, NULL, NULL },
    { "act_peak_bytes", NULL, COL_SI, "B", COL_DATA, AT(act_peak_bytes), EMPTY_NULL, NULL, NULL },
    { "runtime_bytes", NULL, COL_SI, "B", COL_DATA, AT(runtime_bytes), EMPTY_NULL, NULL, "driver context, communication buffers and a server's graphs" },
    { "roofs_of", NULL, COL_TEXT, NULL, COL_DATA, AT(roofs_of), EMPTY_NULL, NULL, "with a part of the model on the host: the machine, GPU or CPU, of the next six, that of the "
      "longer part; null: `hw`" },
    { "bandwidth_bytes_s", NULL, COL_SI, "B/s", COL_DATA, AT(p.bandwidth_bytes_s), EMPTY_NULL, NULL, "effective, of the largest op; for prefill with a stack: effective "
      "throughput of the kernels' math units" },
    { "bandwidth_source", NULL, COL_TEXT, NULL, COL_DATA, AT(p.bandwidth_source), EMPTY_NULL, NULL, NULL },
    { "peak_flop_s", NULL, COL_SI, "FLOP/s", COL_DATA, AT(p.peak_flop_s), EMPTY_NULL, NULL, "effective, of the largest op: of its type with the efficiency factor, "
      "or, with a stack, of the kernels' math units including weight conversion" },
    { "peak_source", NULL, COL_TEXT, NULL, COL_DATA, AT(p.peak_source), EMPTY_NULL, NULL, NULL },
    { "math", NULL, COL_TEXT, NULL, COL_DATA, AT(p.math), EMPTY_NULL, NULL, "operand type of that peak; with `--roof` that of the fastest units for the op's operands, "
      "methods.md (27)" },
    { "derived", NULL, COL_BOOL, NULL, COL_DATA, AT(derived), EMPTY_NULL, NULL, "the peak of another operand type was used; `peak_source` says which" },
};

static const struct column nested_columns[] = {
    { "roles", NULL, COL_TEXT, NULL, COL_JSON, AT(roles_json), EMPTY_VALUE, "array of `predict.role`, optional", "without `--by role`" },
    { "devices", NULL, COL_TEXT, NULL, COL_JSON, AT(devices_json), EMPTY_VALUE, "array of `predict.device`, optional", "with a part of the model on the "
      "host (`-ngl`, `--n-cpu-moe`, `-ot`, `--no-kv-offload`); the row's memory is then the GPU's. csv and sql leave it out, as all nested fields: "
      "`-o json` has it" },
    { "explain", NULL, COL_TEXT, NULL, COL_JSON, AT(classes_json), EMPTY_VALUE, "array of `predict.class`, optional", "`--explain`: the phase as classes "
      "of equal ops; `times` x `seconds` add up to `explain_s`" },
    { "constants", NULL, COL_TEXT, NULL, COL_JSON, AT(constants_json), EMPTY_VALUE, "array of `predict.constant`, optional",
      "`--explain`: the constants used" },
    { "n_pass", NULL, COL_FLOAT, NULL, COL_JSON, AT(n_pass), EMPTY_ABSENT, NULL, "`--explain`: passes of the phase, or of the request" },
    { "explain_s", NULL, COL_SECONDS, "s", COL_JSON, AT(explain_s), EMPTY_ABSENT, NULL, "`--explain`: `seconds / pipeline`" },
    { "pipeline", NULL, COL_FLOAT, NULL, COL_JSON, AT(pipeline), EMPTY_ABSENT, NULL, "`--explain`: factor on the sum for pipeline overlap and, with constants, "
      "per-pass cost in addition to the ops" },
};

#undef AT

#define AT(m) COLUMN_AT(struct sweep_row, m)
static const struct column own_sweep_columns[] = {
    { "kv_type", NULL, COL_TEXT, NULL, COL_DATA, AT(p.type_k), EMPTY_VALUE, NULL, "type of the KV cache" },
    { "tp", NULL, COL_INT, NULL, COL_DATA, AT(tp), EMPTY_VALUE, NULL, "tensor parallel, methods.md (24)" },
    { "pp", NULL, COL_INT, NULL, COL_DATA, AT(pp), EMPTY_VALUE, NULL, "pipeline parallel" },
    { "dp", NULL, COL_INT, NULL, COL_DATA, AT(dp), EMPTY_VALUE, NULL, "data parallel" },
    { "ep", NULL, COL_INT, NULL, COL_DATA, AT(ep), EMPTY_VALUE, NULL, "expert parallel" },
    { "prefill_tok_s", NULL, COL_FLOAT, "token/s", COL_DATA, AT(prefill_tok_s.value), EMPTY_NULL, NULL, NULL },
    { "prefill_tok_s_lo", NULL, COL_FLOAT, "token/s", COL_DATA, AT(prefill_tok_s.lo), EMPTY_NULL, NULL, NULL },
    { "prefill_tok_s_hi", NULL, COL_FLOAT, "token/s", COL_DATA, AT(prefill_tok_s.hi), EMPTY_NULL, NULL, NULL },
    { "prefill_bound", NULL, COL_TEXT, NULL, COL_DATA, AT(prefill_bound), EMPTY_NULL, NULL, "as in `predict.row`" },
    { "decode_tok_s", NULL, COL_FLOAT, "token/s", COL_DATA, AT(decode_tok_s.value), EMPTY_NULL, NULL, NULL },
    { "decode_tok_s_lo", NULL, COL_FLOAT, "token/s", COL_DATA, AT(decode_tok_s.lo), EMPTY_NULL, NULL, NULL },
    { "decode_tok_s_hi", NULL, COL_FLOAT, "token/s", COL_DATA, AT(decode_tok_s.hi), EMPTY_NULL, NULL, NULL },
    { "decode_bound", NULL, COL_TEXT, NULL, COL_DATA, AT(decode_bound), EMPTY_NULL, NULL, NULL },
    { "error", NULL, COL_TEXT, NULL, COL_DATA, AT(p.reason), EMPTY_NULL, NULL, "why the configuration is impossible" },
};

/* ---- the order of csv, sql and tables ------------------------------------------------------------ */

const char predict_order[] =
    "model hw type layout n_devices phase test speedup speedup_lo speedup_hi n_prompt n_gen n_depth n_batch n_ubatch tok_s tok_s_lo tok_s_hi "
    "seconds seconds_lo seconds_hi slo_met slo_chance slo_chance_lo slo_chance_hi slo_correlation tokens_a_round gain bound memory_s compute_s "
    "link_s compute_share memory_share weight_bytes act_bytes kv_bytes flop ai link_bytes ttft_s itl_s j_per_tok j_per_request usd_per_mtok "
    "usd_per_request power_w price_usd_h need_bytes memory_bytes usable_bytes fits math peak_flop_s peak_source bandwidth_bytes_s "
    "bandwidth_source derived role flop_s weight_total_bytes kv_total_bytes act_peak_bytes runtime_bytes weights_gb weights_only type_k type_v "
    "spec_kind draft gamma tokens_a_round_sd round_s draft_s verify_s tok_s_sd flop_factor best_gamma best_gain acceptance ttft_s_lo ttft_s_hi "
    "itl_s_lo itl_s_hi stack basis slo guess note reason what_if j_per_tok_lo j_per_tok_hi j_per_request_lo j_per_request_hi usd_per_mtok_lo "
    "usd_per_mtok_hi usd_per_request_lo usd_per_request_hi power_source price_source roofs_of";
const char predict_role_order[] =
    "model hw type layout n_devices phase test speedup speedup_lo speedup_hi n_prompt n_gen n_depth n_batch role seconds share bound role_math "
    "weight_bytes act_bytes kv_bytes link_bytes flop ai flop_s n_ubatch tok_s tok_s_lo tok_s_hi slo_met slo_chance slo_chance_lo slo_chance_hi "
    "slo_correlation ttft_s itl_s need_bytes memory_bytes usable_bytes fits weight_total_bytes kv_total_bytes act_peak_bytes runtime_bytes math "
    "peak_flop_s peak_source bandwidth_bytes_s bandwidth_source derived weights_gb weights_only type_k type_v tokens_a_round gain spec_kind "
    "draft gamma tokens_a_round_sd round_s draft_s verify_s tok_s_sd flop_factor best_gamma best_gain acceptance ttft_s_lo ttft_s_hi itl_s_lo "
    "itl_s_hi stack basis slo guess note reason what_if roofs_of";
const char sweep_order[] =
    "model type kv_type hw tp pp dp ep n_devices n_batch n_depth n_prompt n_gen stack basis ttft_s ttft_s_lo ttft_s_hi prefill_tok_s "
    "prefill_tok_s_lo prefill_tok_s_hi prefill_bound itl_s itl_s_lo itl_s_hi decode_tok_s decode_tok_s_lo decode_tok_s_hi decode_bound "
    "need_bytes memory_bytes fits slo_met slo_chance slo_chance_lo slo_chance_hi guess note error";

static size_t append(struct column *out, size_t n, const struct column *cols, size_t n_cols)
{
    memcpy(out + n, cols, n_cols * sizeof *cols);
    return n + n_cols;
}
#define APPEND(out, n, cols) append(out, n, cols, ARRAY_LEN(cols))

size_t predict_columns(struct column *out, bool by_role)
{
    size_t n = APPEND(out, 0, subject_columns);
    if (by_role)
        n = APPEND(out, n, role_columns);
    else
        n = APPEND(out, n, whole_columns);
    n = APPEND(out, n, rate_columns);
    if (!by_role)
        n = APPEND(out, n, phase_columns);
    n = APPEND(out, n, scenario_columns);
    if (by_role)
        columns_rank(out, n, "type tok_s tokens_a_round gain need_bytes fits", COL_DATA);
    return by_role ? n : APPEND(out, n, nested_columns);
}

size_t sweep_columns(struct column *out)
{
    size_t n = APPEND(out, 0, subject_columns);
    n = APPEND(out, n, scenario_columns);
    return APPEND(out, n, own_sweep_columns);
}
