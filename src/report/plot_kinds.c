/* The kinds of charts. A kind is a row here and a template in reports/charts. */
#include "report/plot_kinds.h"
#include <string.h>

const struct chart_kind charts[PLOT_CHARTS] = {
    [PLOT_ROOFLINE] = { "roofline", "any file below, a machine, or a model predicted on the machines of --hw", .draw = plot_roofline },
    [PLOT_HIERARCHICAL] = { "hierarchical", "a run (bench --ops --save): a point per op and memory level", .draw = plot_roofline },
    [PLOT_TRAJECTORY] = { "trajectory", "a prediction or a model: a point per test, joined in the order of -b and -d", "1-256*2", "0,4096", "0", "128",
                          READS_PREDICTION, plot_roofline },
    [PLOT_BATCH] = { "batch", "a prediction of several -b, or a model: tokens/s", "1-256*2", "0,4096", "0", "128", READS_PREDICTION, plot_scaling },
    [PLOT_CONTEXT] = { "context", "a prediction of several -d, or a model: tokens/s", "1,8", "0,1024,2048,4096,8192,16384,32768,65536,131072", "0", "128",
                       READS_PREDICTION, plot_scaling },
    [PLOT_WATERFALL] = { "waterfall", "a run (bench --ops --save), a prediction or a model: from the roof to what is achieved, ms a token", .subject = READS_PREDICTION,
                          .draw = plot_waterfall },
    [PLOT_LAYERS] = { "layers", "a run (bench --ops --save) or an analysis (analyze -o json): bytes, FLOP and time of each layer", .subject = READS_FILE,
                      .draw = plot_layers },
    [PLOT_ACCURACY] = { "accuracy", "score -o json: predicted against measured", .subject = READS_FILE, .draw = plot_accuracy },
    [PLOT_BANDWIDTH] = { "bandwidth", "a profile: bandwidth by footprint", .subject = READS_PROFILE, .draw = plot_curves },
    [PLOT_SATURATION] = { "saturation", "a profile: bandwidth by threads", .subject = READS_PROFILE, .draw = plot_curves },
    [PLOT_LATENCY] = { "latency", "a profile: latency by footprint", .subject = READS_PROFILE, .draw = plot_curves },
    [PLOT_LOADED] = { "loaded-latency", "a profile: latency by load", .subject = READS_PROFILE, .draw = plot_curves },
    [PLOT_KERNELS] = { "kernels", "a profile: kernels by tensor type", .subject = READS_PROFILE, .draw = plot_curves },
    [PLOT_STEPS] = { "steps", "runs of a server (serve --save, simulate --save): tokens/s by tokens of a step", .subject = READS_FILE, .draw = plot_steps },
    [PLOT_LATENCIES] = { "latencies", "runs of a server: distributions of TTFT, ITL, TPOT and E2E", .subject = READS_FILE, .draw = plot_latencies },
    [PLOT_TIMELINE] = { "timeline", "a run of a server: batch, KV cache and queue over time", .subject = READS_FILE, .draw = plot_timeline },
    [PLOT_POLICIES] = { "policies", "simulate --compare-policies -o json, or runs of a server, side by side", .subject = READS_FILE, .draw = plot_policies },
    [PLOT_RATES] = { "rates", "runs of a server at several rates: p99 by rate", .subject = READS_FILE, .draw = plot_rates },
    [PLOT_PARETO] = { "pareto", "capacity -o json, a prediction of several -b, or a model: tokens/s of a user and of a device", "1-256*2", "1024", "0", "128",
                      READS_PREDICTION, plot_pareto },
};

const struct chart_kind *chart_kind_find(const char *name, struct error *err)
{
    struct strbuf names = { 0 };
    for (size_t i = 0; i < PLOT_CHARTS; i++) {
        if (strcmp(name, charts[i].name) == 0) {
            strbuf_free(&names);
            return &charts[i];
        }
        strbuf_addf(&names, "%s%s", i == 0 ? "" : i + 1 == PLOT_CHARTS ? " or " : ", ", charts[i].name);
    }
    const char *text = strbuf_text(&names, "the kinds of charts", err);
    if (text)
        (void)error_set(err, ERROR_USAGE, "--chart: expected %s, found \"%.60s\"", text, name);
    strbuf_free(&names);
    return NULL;
}

int chart_need_schema(const struct plot_options *o, const json_t *doc, const char *schema, struct error *err)
{
    const char *found = json_string_value(json_object_get(doc, "schema"));
    if (found && strcmp(found, schema) == 0)
        return 0;
    return error_set(err, ERROR_INPUT, "%s: field \"schema\": expected \"%s\", found %s%.60s%s; --chart %s reads %s", o->doc ? o->doc : "-", schema,
                     found ? "\"" : "", found ? found : "none", found ? "\"" : "", charts[o->chart].name, charts[o->chart].reads);
}
