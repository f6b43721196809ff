/* roofcast import: results of ERT, likwid-bench or clpeak as a hardware profile. */
#include "cli/cli.h"
#include "hwprofile/import.h"
#include <stdlib.h>
#include <string.h>

struct options {
    const char *file, *out, *hw;
    int64_t n_threads;
    struct import_options import;
};

enum { OPT_FORMAT = 256, OPT_NAME, OPT_DEVICE, OPT_HW };

static const struct argp_option option_table[] = {
    { "output", 'o', "FILE", 0, "profile to write (default -: standard output)", 0 },
    { "format", OPT_FORMAT, "ert|likwid-bench|clpeak", 0, "format of the file (default: detected)", 0 },
    { "name", OPT_NAME, "TEXT", 0, "name of the machine (default: from the file)", 0 },
    { "device", OPT_DEVICE, "TEXT", 0, "clpeak: select the device whose \"backend/name\" contains TEXT", 0 },
    { "hw", OPT_HW, "NAME|FILE", 0, "likwid-bench: profile (or `this`) whose cache sizes map footprints to memory levels", 0 },
    { "threads", 't', "N", 0, "clpeak: threads of the device, if the file does not say", 0 },
    { 0 },
};

static int option(void *options, int key, const char *arg, struct error *err)
{
    struct options *o = options;
    switch (key) {
    case 'o':
        return cli_text(&o->out, arg);
    case 't':
        return parse_int(arg, 1, 1 << 20, "-t", &o->n_threads, err);
    case OPT_FORMAT:
        return import_format_find(arg, &o->import.format, err);
    case OPT_NAME:
        return cli_text(&o->import.name, arg);
    case OPT_DEVICE:
        return cli_text(&o->import.device, arg);
    case OPT_HW:
        return cli_text(&o->hw, arg);
    case ARGP_KEY_ARG:
        return cli_text_once(&o->file, arg, "file", err);
    default:
        return CLI_UNKNOWN;
    }
}

/* Saves the profile with its origin and remarks under "notes". */
static int save(const struct hwprofile *h, enum import_format f, const char *notes, const struct options *o, struct error *err)
{
    struct strbuf text = { 0 };
    strbuf_addf(&text, "Imported from results of %s. %s", import_format_name(f), notes);
    for (size_t i = 0; i < text.len; i++)
        if (text.s[i] == '\n')
            text.s[i] = ' ';
    while (text.len && text.s[text.len - 1] == ' ')
        text.s[--text.len] = 0;
    const char *note = strbuf_text(&text, "a profile's notes", err);
    json_t *doc = note ? hwprofile_to_json(h, err) : NULL;
    int rc = doc ? 0 : -1;
    if (rc == 0 && json_object_set_new(doc, "notes", json_text(note)) != 0)
        rc = error_oom(err, text.len, "a profile's notes");
    if (rc == 0 && strcmp(o->out, "-") == 0)
        rc = json_print(doc, stdout, false, err);
    else if (rc == 0)
        rc = json_save_path(doc, o->out, err);
    json_decref(doc);
    strbuf_free(&text);
    return rc;
}

static int import(struct options *o, struct error *err)
{
    struct filemap m;
    struct hwprofile h, caches = { 0 };
    struct strbuf notes = { 0 };
    enum import_format f = o->import.format;
    if (cli_keep_input(o->file, NULL, "-o", o->out, err) != 0 || filemap_open(&m, o->file, err) != 0)
        return -1;
    int rc = o->hw ? hwprofile_open(&caches, o->hw, err) : 0;
    const bool loaded = o->hw && rc == 0;
    o->import.caches = o->hw ? &caches : NULL;
    o->import.n_threads = (int)o->n_threads;
    if (rc == 0 && o->hw && caches.n_cache == 0)
        rc = error_set(err, ERROR_USAGE, "--hw: %s has no caches: use a profile written by `roofcast profile`", o->hw);
    rc = rc ? rc : hwprofile_import(&h, o->file, m.data, m.size, &o->import, &f, &notes, err);
    filemap_close(&m);
    if (rc == 0) {
        const char *text = strbuf_text(&notes, "a profile's notes", err);
        rc = text ? save(&h, f, text, o, err) : -1;
        if (rc == 0 && strcmp(o->out, "-") != 0)
            printf("%s: %zu ceiling%s, %zu curve%s of %s written to %s\n", import_format_name(f), h.n_ceiling,
                   h.n_ceiling == 1 ? "" : "s", h.n_curve, h.n_curve == 1 ? "" : "s", h.name, o->out);
        if (rc == 0 && notes.len)
            notify_note("%.*s", (int)(notes.len - 1), notes.s);
        hwprofile_free(&h);
    }
    if (loaded)
        hwprofile_free(&caches);
    strbuf_free(&notes);
    return rc;
}

int cmd_import(int argc, char **argv, struct error *err)
{
    static const char doc[] =
        "Convert results of another tool to a hardware profile: ERT (roofline.json, or the text of its scripts), "
        "likwid-bench (output of any number of runs in one file) or clpeak (--json-file FILE of 2.x, or its text). "
        "Each ceiling names its tool and loop; known errors of the tools are reported.\v"
        "ERT's bandwidths are of in-place updates; its last plateau is called DRAM regardless of the level that serves it, and "
        "on GPUs its L1 is the L2. likwid-bench reports footprints, not memory levels: --hw provides the cache sizes. "
        "clpeak's XML is not supported.\n\n"
        "  roofcast import Results/Run.001/roofline.json -o node.json; roofcast plot run.json --hw node.json\n"
        "  for w in 16kB 512kB 1GB; do likwid-bench -t load_avx512 -w S0:$w:2; done > runs.txt\n"
        "  roofcast import runs.txt --hw this -o likwid.json\n"
        "  clpeak --json-file c.json; roofcast import c.json --device CUDA -o gpu.json";
    const struct cli_syntax syntax = { option_table, option, "FILE", doc, NULL };
    struct options o = { .out = "-" };
    if (cli_parse(&syntax, argc, argv, &o, err) != 0)
        return -1;
    if (!o.file)
        return error_set(err, ERROR_USAGE, "expected a FILE written by ERT, likwid-bench or clpeak");
    return import(&o, err);
}
