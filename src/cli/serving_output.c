#include "cli/serving_output.h"
#include "cli/cli.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---------------------------------------------------------------------------------------------------------- */

static int read_format(struct serving_output *o, const char *arg, struct error *err)
{
    if (strcmp(arg, "vllm") != 0)
        return error_set(err, ERROR_USAGE, "--format: expected vllm; found \"%.32s\" (-o: table, csv, json, jsonl, md, sql)", arg);
    return cli_flag(&o->vllm);
}

static int read_warmup(struct serving_output *o, const char *arg, struct error *err)
{
    o->warmup = strcmp(arg, "mser") == 0;
    return o->warmup || strcmp(arg, "none") == 0 ? 0 : error_set(err, ERROR_USAGE, "--warmup: expected none or mser; found \"%.32s\"", arg);
}

int serving_output_parse(int key, const char *arg, struct serving_output *o, struct error *err)
{
    switch (key) {
    case OUTPUT_FORMAT:
        return read_format(o, arg, err);
    case OUTPUT_WARMUP:
        return read_warmup(o, arg, err);
    case 'o':
        return report_format_find(arg, &o->format, err);
    case OUTPUT_SAVE:
        return cli_text(&o->save, arg);
    case OUTPUT_REQUESTS:
        return cli_text(&o->requests_to, arg);
    case OUTPUT_TRACE:
        return cli_text(&o->trace_to, arg);
    case OUTPUT_CHART:
        return cli_text(&o->chart, arg);
    default:
        return CLI_UNKNOWN;
    }
}

int serving_output_check(const struct serving_output *o, int argc, char **argv, struct error *err)
{
    const struct {
        const char *option, *path;
    } out[] = { { "--save", o->save }, { "--requests-to", o->requests_to }, { "--trace-to", o->trace_to } };
    for (size_t i = 0; i < ARRAY_LEN(out); i++)
        if (cli_keep_arguments(argc, argv, out[i].option, out[i].path, err) != 0 || (out[i].path && outfile_check(out[i].path, err) != 0))
            return -1;
    if (o->requests_to && !text_ends_with(o->requests_to, ".csv") && !text_ends_with(o->requests_to, ".jsonl"))
        return error_set(err, ERROR_USAGE, "--requests-to: expected a name that ends in .csv or .jsonl; found \"%.200s\"", o->requests_to);
    return cli_keep_chart(argc, argv, "--chart", o->chart, err) == 0 && (!o->chart || outfile_check(o->chart, err) == 0) ? 0 : -1;
}

/* ---- outputs -------------------------------------------------------------------------------------------------------- */

static int write_requests(const struct serving_output *o, const struct serving_subject *s, struct error *err)
{
    struct outfile out;
    const bool lines = text_ends_with(o->requests_to, ".jsonl");
    if (outfile_open(&out, o->requests_to, err) != 0)
        return -1;
    return outfile_end(&out, serving_write_requests(out.f, lines ? REPORT_JSONL : REPORT_CSV, s, err), err);
}

static int draw(const struct serving_output *o, const struct serving_subject *s, const struct timeline *t, struct error *err)
{
    char style[CLI_PATH], base[CLI_PATH];
    struct strbuf notes = { 0 };
    struct serving_chart c = { .style = style, .out_base = base };
    snprintf(c.title, sizeof c.title, "%.60s on %.60s", s->model, s->hw);
    snprintf(c.subtitle, sizeof c.subtitle, "%.120s, %s", s->w->name, s->options->policy->name);
    int rc = cli_chart_files(style, base, o->chart, "latencies", "-latency", err);
    rc = rc ? rc : serving_chart_cdf(&c, s, &notes, err);
    rc = rc ? rc : cli_chart_files(style, base, o->chart, "timeline", "-timeline", err);
    if (rc == 0)
        rc = serving_chart_timeline(&c, s, t, &notes, err);
    const struct step_work *w = s->options->work;
    const struct serving_steps steps = { NULL, s->steps, w ? w->peak_bytes_s : NAN, w ? w->peak_flop_s : NAN };
    rc = rc ? rc : cli_chart_files(style, base, o->chart, "steps", "-steps", err);
    if (rc == 0)
        rc = serving_chart_steps(&c, &steps, 1, &notes, err);
    if (rc == 0 && notes.len > 0)
        notify_note("%s", notes.s);
    strbuf_free(&notes);
    return rc;
}

static int print_vllm(const struct serving_subject *s, struct error *err)
{
    json_t *doc = serving_vllm_json(s, false, err);
    if (!doc)
        return -1;
    json_dumpf(doc, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    putchar('\n');
    json_decref(doc);
    return 0;
}

int serving_output_partial(const struct serving_output *o, const struct serving_subject *s, struct error *err)
{
    char *partial = o->save ? cli_partial_path(o->save, err) : NULL;
    int rc = o->save && !partial ? -1 : o->vllm ? print_vllm(s, err) : serving_print(NULL, o->format, s, err);
    if (rc == 0 && partial)
        rc = serving_print(partial, REPORT_JSON, s, err);
    free(partial);
    return rc;
}

int serving_output(const struct serving_output *o, const struct serving_subject *s, const struct timeline *t, struct error *err)
{
    int rc = o->vllm ? print_vllm(s, err) : serving_print(NULL, o->format, s, err);
    if (rc == 0 && o->save)
        rc = serving_print(o->save, REPORT_JSON, s, err);
    if (rc == 0 && o->requests_to)
        rc = write_requests(o, s, err);
    if (rc == 0 && o->chart)
        rc = draw(o, s, t, err);
    return rc;
}

/* ---- steps ------------------------------------------------------------------------------------------------------------ */

int serving_listeners_init(struct serving_listeners *l, const struct serving_output *o, const struct policy *p, uint32_t n_block, const struct serve_workload *w,
                           struct error *err)
{
    *l = (struct serving_listeners){ .start_s = clock_now_s(), .last_ps = (double)serve_workload_sum(w).last_arrival_ps };
    if (timeline_init(&l->timeline, p, err) != 0)
        return -1;
    if (!o->trace_to)
        return 0;
    if (outfile_open(&l->out, o->trace_to, err) != 0) {
        timeline_free(&l->timeline);
        return -1;
    }
    serving_trace_begin(&l->trace, l->out.f, 0, n_block);
    return 0;
}

void serving_listen(void *ctx, const struct serve_step *x)
{
    struct serving_listeners *l = ctx;
    timeline_step(&l->timeline, x);
    step_classes_add(&l->steps, x);
    if (l->out.f)
        serving_trace_step(&l->trace, x);
    if (l->progress && ++l->n_call % 65536 == 0 && clock_now_s() - l->start_s > 1)
        notify_progress(NULL, "requests", l->last_ps > 0 ? fmin(1, (double)x->end_ps / l->last_ps) : -1);
}

int serving_listeners_end(struct serving_listeners *l, const struct serving_subject *s, int rc, struct error *err)
{
    if (l->out.f) {
        struct strbuf note = { 0 };
        if (rc == 0)
            rc = serving_trace_end(&l->trace, s, &note, err);
        if (rc == 0 && note.len > 0)
            notify_note("%s", note.s);
        strbuf_free(&note);
        rc = outfile_end(&l->out, rc, err);
    }
    timeline_free(&l->timeline);
    return rc;
}
