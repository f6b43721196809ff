/*
 * cli: the program. main.c holds the table of commands; cmd_<name>.c parses (argp, ARGP_LONG_ONLY so that
 * llama-bench's -ub works), calls the modules, prints. The only composition root.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/base.h"
#include "base/lists.h"
#include "base/notify.h"
#include "bench/setup.h"
#include "hwprofile/hwprofile.h"
#include "model/model.h"
#include "report/output.h"
#include "run/run.h"
#include <argp.h>

struct command {
    const char *name, *summary;
    /* argv[0] is "roofcast NAME". 0, or -1 with *err (main prints it and picks the exit status). */
    int (*run)(int argc, char **argv, struct error *err);
};

int cmd_profile(int argc, char **argv, struct error *err);
int cmd_synth(int argc, char **argv, struct error *err);
int cmd_quantize(int argc, char **argv, struct error *err);
int cmd_analyze(int argc, char **argv, struct error *err);
int cmd_bench(int argc, char **argv, struct error *err);
int cmd_logits(int argc, char **argv, struct error *err);
int cmd_tokenize(int argc, char **argv, struct error *err);
int cmd_run(int argc, char **argv, struct error *err);
int cmd_ppl(int argc, char **argv, struct error *err);
int cmd_predict(int argc, char **argv, struct error *err);
int cmd_sweep(int argc, char **argv, struct error *err);
int cmd_serve(int argc, char **argv, struct error *err);
int cmd_compare(int argc, char **argv, struct error *err);
int cmd_simulate(int argc, char **argv, struct error *err);
int cmd_capacity(int argc, char **argv, struct error *err);
int cmd_choose(int argc, char **argv, struct error *err);
int cmd_memory(int argc, char **argv, struct error *err);
int cmd_report(int argc, char **argv, struct error *err);
int cmd_score(int argc, char **argv, struct error *err);
int cmd_import(int argc, char **argv, struct error *err);
int cmd_validate(int argc, char **argv, struct error *err);
int cmd_calibrate(int argc, char **argv, struct error *err);
int cmd_plot(int argc, char **argv, struct error *err);
int cmd_doctor(int argc, char **argv, struct error *err);
int cmd_list(int argc, char **argv, struct error *err);
/* The rows of `predict MODEL --hw HW[,HW...] -q TYPE`, of 512 prompt tokens and 128 generated; type NULL: its default. The caller frees *out, after an
 * error too. */
struct plot_prediction;
struct predict_request {
    const char *model, *hw, *type;                    /* type NULL: the model's */
    const char *n_prompt, *n_gen, *n_depth, *n_batch; /* lists as of -p -n -d -b; NULL: predict's defaults */
};
int predict_for_plot(struct plot_prediction *out, const struct predict_request *r, struct error *err);
/* The chart of `report FILE --hw HW --chart BASE`, without the table. hw NULL: from the file; formats as in struct roofline_chart. */
int report_chart(const char *file, const char *hw, const char *base, unsigned formats, struct error *err);

/* ---- command lines (cli_parse.c) ------------------------------------------------ */
/* Handles one option or argument: 0; CLI_UNKNOWN: unknown key; -1 with *err, which is printed with the usage and ends the
 * program with status 2. */
enum { CLI_UNKNOWN = 1 };
/* A flag of an option's row: repeatable, the command gets each value. Without it a list ("N,...") given again is extended ("-p 1 -p 2" is
 * "-p 1,2"), a flag has no further effect, and a value is an error. */
enum { CLI_AGAIN = 0x10000 };
/* Keys of mutually exclusive options, a group per row, ended by 0; the last row is all 0. */
enum { CLI_EXCLUSIVE = 4 };
typedef int cli_option_fn(void *options, int key, const char *arg, struct error *err);
struct cli_syntax {
    const struct argp_option *table;
    cli_option_fn *option;
    const char *args, *doc; /* as in struct argp */
    const int (*exclusive)[CLI_EXCLUSIVE]; /* NULL: none */
};
int cli_parse(const struct cli_syntax *s, int argc, char **argv, void *options, struct error *err);
/* Option values: store the text; store it unless one is stored ("one WHAT at a time"); set the flag. */
int cli_text(const char **to, const char *arg);
int cli_text_once(const char **to, const char *arg, const char *what, struct error *err);
int cli_flag(bool *to);

/* ---- shared by the commands (cli.c) ---------------------------------------- */
/* Sets environment.h from environment variables: the user's folder ($XDG_DATA_HOME/roofcast, else ~/.local/share/roofcast), ROOFCAST_PROFILE
 * (else this.json in that folder), the data folders in order of search (ROOFCAST_DATA, the user's, the source tree or the installed one),
 * ROOFCAST_ROOT, TMPDIR. ERROR_USAGE: ROOFCAST_DATA has neither models/ nor hwprofiles/. */
int cli_environment(struct error *err);
/* Handlers of notify.h: progress on stderr, one line that is rewritten on a terminal, else a line per step; notes "roofcast: ..."; warnings
 * "roofcast: warning: ...". Quiet: only warnings. */
void cli_notify(void);
void cli_set_quiet(bool quiet);
/* Path of a partial result: NAME.partial.json next to NAME.json, or -2, -3, ... if that name is in use. NULL: *err; free(). */
char *cli_partial_path(const char *path, struct error *err);

/* ---- markers of external profiling tools (cli_markers.c) -------------------- */
/* Under `likwid-perfctr -m`: its open markers, with this process bound to the measured CPUs; with PAPI_EVENTS: PAPI's; else NULL.
* Call it before threads start. Warns if the tool is not usable (a build without LIKWID). */
const struct marker_tool *cli_markers_open(void);
void cli_markers_close(const struct marker_tool *tool);

/* ---- commands that run the engine (cli_engine.c) ------------------------------- */
enum { CLI_OPT_ISA = 1024, CLI_OPT_CPUS, CLI_OPT_NUMA, CLI_OPT_NO_REPACK, CLI_OPT_CTK, CLI_OPT_CTV, CLI_OPT_ACT_SCALES };
/* Rows of an option table. */
/* clang-format off */
#define CLI_CPU_OPTIONS                                                                                              \
    { "cpus", CLI_OPT_CPUS, "LIST", 0, "pin threads to these CPUs, such as 0-3,8", 0 },                                      \
    { "numa", CLI_OPT_NUMA, "distribute|isolate", 0,                                                                 \
      "distribute: use all NUMA nodes evenly; isolate: use the node that the program starts on", 0 }
#define CLI_ENGINE_OPTIONS                                                                                           \
    { "isa", CLI_OPT_ISA, "NAME", 0, "use the kernels of this ISA instead of the best one (roofcast list isa)", 0 }, \
    CLI_CPU_OPTIONS,                                                                                                 \
    { "no-repack", CLI_OPT_NO_REPACK, NULL, 0,                                                                       \
      "use weights in the file's layout: loads faster and needs no memory for a packed copy, but runs slower", 0 }, \
    { "ctk", CLI_OPT_CTK, "TYPE", 0, "type of the keys in the KV cache: F16 (default), BF16, Q8_0, Q4_0, ...", 0 },  \
    { "cache-type-k", 0, NULL, OPTION_ALIAS, NULL, 0 },                                                              \
    { "ctv", CLI_OPT_CTV, "TYPE", 0, "type of the values in the KV cache (default F16)", 0 },                        \
    { "cache-type-v", 0, NULL, OPTION_ALIAS, NULL, 0 }
#define CLI_ACT_SCALES_OPTION                                                                                        \
    { "act-scales", CLI_OPT_ACT_SCALES, "exact|pow2", 0,                                                             \
      "scales of 8-bit activations in passes of more than 32 tokens: exact (default), or pow2 (powers of two), which is " \
      "faster with AVX-512 VNNI kernels and less accurate", 0 }
/* clang-format on */
/* Handles one of these options; CLI_UNKNOWN for other keys. */
int cli_engine_option(struct setup_options *o, int key, const char *arg, struct error *err);
/* Error if the output of an option is an input: path, or a file of g (or NULL). out may be NULL. */
int cli_keep_input(const char *path, const struct gguf *g, const char *option, const char *out, struct error *err);
/* The same for every file among a command's arguments, including lists and values after "=". out: part of argv, or NULL. */
int cli_keep_arguments(int argc, char **argv, const char *option, const char *out, struct error *err);
/* The same for the files of a chart, whose names begin with base; base may be NULL. */
int cli_keep_chart(int argc, char **argv, const char *option, const char *base, struct error *err);
/* Path of a style of charts, name: "reports/charts/curves.gp". errors: ERROR_INPUT, no data directory has it */
int cli_chart_style(char *path, size_t size, const char *name, struct error *err);
/* The template of a kind of chart, and OUT with an ending: "-latency". */
enum { CLI_PATH = 4096 };
int cli_chart_files(char style[static CLI_PATH], char base[static CLI_PATH], const char *out, const char *kind, const char *ending, struct error *err);

#endif
