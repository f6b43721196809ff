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
int cmd_simulate(int argc, char **argv, struct error *err);
int cmd_capacity(int argc, char **argv, struct error *err);
int cmd_memory(int argc, char **argv, struct error *err);
int cmd_report(int argc, char **argv, struct error *err);
int cmd_score(int argc, char **argv, struct error *err);
int cmd_import(int argc, char **argv, struct error *err);
int cmd_validate(int argc, char **argv, struct error *err);
int cmd_calibrate(int argc, char **argv, struct error *err);
int cmd_plot(int argc, char **argv, struct error *err);
int cmd_doctor(int argc, char **argv, struct error *err);
int cmd_list(int argc, char **argv, struct error *err);
/* What `predict MODEL --hw HW[,HW...] -q TYPE -o json` prints, of 512 prompt tokens and 128 generated; type NULL: its default. */
json_t *predict_document(const char *model, const char *hw, const char *type, struct error *err);
/* The chart of `report FILE --hw HW --chart BASE`, without its table. hw NULL: as the file says; formats as in struct roofline_chart. */
int report_chart(const char *file, const char *hw, const char *base, unsigned formats, struct error *err);

/* ---- command lines (cli_parse.c) ------------------------------------------------ */
/* Takes one option or argument: 0; CLI_UNKNOWN for a key it does not know; -1 with *err, which is printed with the
 * usage and ends the program with status 2. */
enum { CLI_UNKNOWN = 1 };
/* A flag of an option's row: it may be given several times, and its command sees each. Of others, a list ("N,...") goes on when it is
 * given again ("-p 1 -p 2" is "-p 1,2"), a flag says the same, and a value is an error. */
enum { CLI_AGAIN = 0x10000 };
/* Keys of options that contradict each other, a group a row, ended by 0; the last row is all 0. */
enum { CLI_EXCLUSIVE = 4 };
typedef int cli_option_fn(void *options, int key, const char *arg, struct error *err);
struct cli_syntax {
    const struct argp_option *table;
    cli_option_fn *option;
    const char *args, *doc; /* as in struct argp */
    const int (*exclusive)[CLI_EXCLUSIVE]; /* NULL: none */
};
int cli_parse(const struct cli_syntax *s, int argc, char **argv, void *options, struct error *err);
/* For options: keep the text; keep it if it is the first ("one WHAT at a time"); set the flag. */
int cli_text(const char **to, const char *arg);
int cli_text_once(const char **to, const char *arg, const char *what, struct error *err);
int cli_flag(bool *to);

/* ---- shared by the commands (cli.c) ---------------------------------------- */
/* What the environment says: the user's folder is $XDG_DATA_HOME/roofcast, else ~/.local/share/roofcast; ROOFCAST_PROFILE (else this.json in
 * that folder); ROOFCAST_DATA before the user's folder before the source tree (before installation) or where make install put data;
 * ROOFCAST_ROOT, TMPDIR. ERROR_USAGE: ROOFCAST_DATA has neither models/ nor hwprofiles/. */
int cli_environment(struct error *err);
/* Handlers of notify.h: progress on stderr as a line rewritten on a terminal, one line a step otherwise; notes "roofcast: ..."; warnings
 * "roofcast: warning: ...". Quiet: warnings alone. */
void cli_notify(void);
void cli_set_quiet(bool quiet);
/* Path of an interrupted result: NAME.partial.json next to NAME.json, or -2, -3, ... if that name is taken.
 * NULL: *err; free(). */
char *cli_partial_path(const char *path, struct error *err);

/* ---- an outside tool that counts this program (cli_markers.c) -------------------- */
/* Under `likwid-perfctr -m`: its markers, open, and this process on the CPUs that it counts; with PAPI_EVENTS: PAPI's; else NULL,
 * silently. Before any thread is made. A warning where it cannot be: a build without LIKWID. */
const struct marker_tool *cli_markers_open(void);
void cli_markers_close(const struct marker_tool *tool);

/* ---- commands that run the engine (cli_engine.c) ------------------------------- */
enum { CLI_OPT_ISA = 1024, CLI_OPT_CPUS, CLI_OPT_NUMA, CLI_OPT_NO_REPACK, CLI_OPT_CTK, CLI_OPT_CTV, CLI_OPT_ACT_SCALES };
/* Rows of an option table. */
/* clang-format off */
#define CLI_CPU_OPTIONS                                                                                              \
    { "cpus", CLI_OPT_CPUS, "LIST", 0, "pin threads to these CPUs: 0-3,8", 0 },                                      \
    { "numa", CLI_OPT_NUMA, "distribute|isolate", 0,                                                                 \
      "distribute: threads on all NUMA nodes evenly; isolate: on the node the program starts on", 0 }
#define CLI_ENGINE_OPTIONS                                                                                           \
    { "isa", CLI_OPT_ISA, "NAME", 0, "force a rung of kernels (roofcast list isa)", 0 },                             \
    CLI_CPU_OPTIONS,                                                                                                 \
    { "no-repack", CLI_OPT_NO_REPACK, NULL, 0,                                                                       \
      "read weights where the file has them: loads at once and takes no memory for a packed copy, but is slower", 0 }, \
    { "ctk", CLI_OPT_CTK, "TYPE", 0, "type of the keys in the KV cache: F16 (default), BF16, Q8_0, Q4_0, ...", 0 },  \
    { "cache-type-k", 0, NULL, OPTION_ALIAS, NULL, 0 },                                                              \
    { "ctv", CLI_OPT_CTV, "TYPE", 0, "type of the values in the KV cache (default F16)", 0 },                        \
    { "cache-type-v", 0, NULL, OPTION_ALIAS, NULL, 0 }
#define CLI_ACT_SCALES_OPTION                                                                                        \
    { "act-scales", CLI_OPT_ACT_SCALES, "exact|pow2", 0,                                                             \
      "scales of 8-bit activations in passes of more than 32 tokens: exact (default), or pow2, powers of two: faster " \
      "with AVX-512 VNNI kernels, and less exact", 0 }
/* clang-format on */
/* Takes one of them; CLI_UNKNOWN for other keys. */
int cli_engine_option(struct setup_options *o, int key, const char *arg, struct error *err);
/* An option's output that is an input, which would be lost, is refused: a file of g (or NULL), or path. out: NULL is fine. */
int cli_keep_input(const char *path, const struct gguf *g, const char *option, const char *out, struct error *err);
/* The same for every file among a command's arguments, also in lists and behind "=". out: part of argv; NULL is fine. */
int cli_keep_arguments(int argc, char **argv, const char *option, const char *out, struct error *err);
/* The same for the files of a chart, whose names begin with base; NULL is fine. */
int cli_keep_chart(int argc, char **argv, const char *option, const char *base, struct error *err);

#endif
