/*
 * cli: the program. main.c holds the table of commands; cmd_<name>.c parses (argp, ARGP_LONG_ONLY so that
 * llama-bench's -ub works), calls the modules, prints. The only composition root.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/base.h"
#include "engine/engine.h"
#include "hwprofile/hwprofile.h"
#include "model/model.h"
#include "report/report.h"
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
/* For options: keep the text; keep it if it is the first ("one WHAT at a time"); set the flag; a type that a KV cache may have, by name. */
int cli_text(const char **to, const char *arg);
int cli_text_once(const char **to, const char *arg, const char *what, struct error *err);
int cli_flag(bool *to);
int cli_kv_type(enum dtype *to, const char *arg, struct error *err);
/* "512,128", "1-128*2", "0-8192+1024" -> values; each in [lo, hi], else ERROR_USAGE naming `what`. */
struct int_list {
    int64_t *v;
    size_t n;
};
int int_list_parse(struct int_list *l, const char *s, int64_t lo, int64_t hi, const char *what,
                   struct error *err);
void int_list_free(struct int_list *l);
/* "a,b,c" split at commas (empty items are an error); free with str_list_free. */
struct str_list {
    char **v;
    size_t n;
};
int str_list_parse(struct str_list *l, const char *s, const char *what, struct error *err);
void str_list_free(struct str_list *l);

/* ---- shared by the commands (cli.c) ---------------------------------------- */
/* Where `profile` writes and `--hw this` reads: $ROOFCAST_PROFILE, else
 * $XDG_DATA_HOME/roofcast/this.json, else ~/.local/share/roofcast/this.json. NULL: not even HOME is set, which
 * cli_no_profile_path says. */
const char *cli_profile_path(void);
int cli_no_profile_path(struct error *err);
/* Where temporary folders are made: $TMPDIR, else /tmp. */
const char *cli_temporary_path(void);
/* Where data is looked for: $ROOFCAST_DATA, then the source tree (before installation) or where make install put it.
 * NULL-terminated. */
const char *const *cli_data_dirs(void);
/* ROOFCAST_DATA set to what is no data directory (neither models/ nor hwprofiles/ in it) is an error. */
int cli_check_data(struct error *err);
/* Folder that stands for / where this program looks at the system: $ROOFCAST_ROOT, for tests and trees of other machines; or "". */
const char *cli_root(void);
/* Find a data file ("reports/charts/roofline.gp") there; else false with the last path tried. */
bool cli_data_file(char *path, size_t n, const char *name);
/* hwprofile_load, with "this" meaning cli_profile_path(); absent: says to run `roofcast profile`. */
int cli_hwprofile_load(struct hwprofile *h, const char *spec, struct error *err);
/* The same for predictions: a name that no profile is of is taken for a machine of the class that it says, and a note says so. */
int cli_machine_load(struct hwprofile *h, const char *spec, struct error *err);
/* The machine of a file of measurements as --hw names it, for measure_context and pricer_new: "this" is cli_profile_path(), which has to
 * be there. NULL stays NULL. */
int cli_measured_machine(const char **out, const char *hw, struct error *err);
/* Progress on stderr: a line rewritten on a terminal, one line a step otherwise; silent after cli_set_quiet. */
void cli_progress(void *ctx, const char *what, double fraction);
void cli_progress_done(void);
void cli_set_quiet(bool quiet);
/* Tables have all of their columns, whatever the terminal's width: --wide. */
void cli_set_wide(void);
/* Columns of the terminal that f is; 0: no terminal, or --wide. */
size_t cli_width(FILE *f);
/* Text for people to standard output, as printf: on a terminal it breaks at the width, what follows stands behind indent blanks
 * (report_wrap()). What a terminal would obey is shown. */
void cli_print(size_t indent, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same, which into a pipe breaks, too: at `most` columns. */
void cli_print_within(size_t most, size_t indent, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* What the curves of a profile say, a line each: levels, saturation (profile_findings.c). */
void cli_print_findings(const struct hwprofile *h);
/* A line for people to stderr, "roofcast: ...", unless quiet; a warning, "roofcast: warning: ...", always. */
void cli_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void cli_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Path of an interrupted result: NAME.partial.json next to NAME.json, or -2, -3, ... if that name is taken.
 * NULL: *err; free(). */
char *cli_partial_path(const char *path, struct error *err);
/* report_print to path ("-" or NULL: stdout), atomically. */
int cli_report(const char *path, enum report_format fmt, const struct report_doc *d, struct error *err);

/* ---- an outside tool that counts this program (cli_markers.c) -------------------- */
/* Under `likwid-perfctr -m`: its markers, open, and this process on the CPUs that it counts; with PAPI_EVENTS: PAPI's; else NULL,
 * silently. Before any thread is made. A warning where it cannot be: a build without LIKWID. */
const struct marker_tool *cli_markers_open(void);
void cli_markers_close(const struct marker_tool *tool);

/* ---- commands that run the engine (cli_engine.c) ------------------------------- */
/* The part of this machine a command uses: -t, --isa, --cpus, --numa, checked against what is there. */
struct cli_machine {
    int n_threads;
    unsigned cpu_flags;
    struct cpulist cpus; /* one CPU a thread */
    char cpus_text[64];  /* "0,1" */
};
/* Options that all of these commands have: --isa, --cpus, --numa, --no-repack, -ctk, -ctv; and --act-scales, but validate, whose
 * predictions are of exact ones. */
struct cli_engine {
    const char *isa, *cpus, *numa;
    bool no_repack, pow2_scales;
    enum dtype type_k, type_v; /* of the KV cache */
};
#define CLI_ENGINE_DEFAULT { .type_k = DTYPE_F16, .type_v = DTYPE_F16 }
enum { CLI_OPT_ISA = 1024, CLI_OPT_CPUS, CLI_OPT_NUMA, CLI_OPT_NO_REPACK, CLI_OPT_CTK, CLI_OPT_CTV, CLI_OPT_ACT_SCALES };
/* Rows of an option table. */
/* clang-format off */
#define CLI_CPU_OPTIONS                                                                                              \
    { "cpus", CLI_OPT_CPUS, "LIST", 0, "pin threads to these CPUs: 0-3,8", 0 },                                      \
    { "numa", CLI_OPT_NUMA, "MODE", 0,                                                                               \
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
    { "act-scales", CLI_OPT_ACT_SCALES, "MODE", 0,                                                                   \
      "scales of 8-bit activations in passes of more than 32 tokens: exact (default), or pow2, powers of two: faster " \
      "with AVX-512 VNNI kernels, and less exact", 0 }
/* clang-format on */
/* Takes one of them; CLI_UNKNOWN for other keys. */
int cli_engine_option(struct cli_engine *o, int key, const char *arg, struct error *err);
/* n_threads 0: one a CPU, or as many as the CPU quota of the control group keeps running, which is then said, as is a
 * number beyond it. */
int cli_machine_init(struct cli_machine *m, int64_t n_threads, const struct cli_engine *o, struct error *err);
void cli_machine_free(struct cli_machine *m);
/* Threads for a command without an engine, not pinned; n_threads as above. */
struct team *cli_team_new(int64_t n_threads, struct error *err);
/* What both say about an engine; sizes are the caller's to fill. m outlives the engine. */
struct engine_options cli_engine_options(const struct cli_machine *m, const struct cli_engine *o);
/* A note where e's kernels gain nothing by the scales that were asked for. */
void cli_say_scales(const struct cli_engine *o, const struct engine *e);
/* How e's weights were loaded, and the peak of memory until now. */
void cli_loading(struct run_loading *l, const struct engine *e, const struct model *m, const struct cli_machine *machine);
/* The same in a line: "1.17 GB packed in 310 ms, 3.77 GB/s; peak memory 2.4 GB". */
const char *cli_loading_text(char *buf, size_t n, const struct run_loading *l);
/* A model file the engine can run, and nothing else. */
int cli_model_open(struct model *m, const char *path, struct error *err);
/* The same in two steps, of several files of which one at a time is run: its weights are read into memory by the second. */
int cli_model_open_cold(struct model *m, const char *path, struct error *err);
int cli_model_warm(const struct model *m, struct error *err);
/* An option's output that is an input, which would be lost, is refused: a file of g (or NULL), or path. out: NULL is fine. */
int cli_keep_input(const char *path, const struct gguf *g, const char *option, const char *out, struct error *err);
/* The same for every file among a command's arguments, also in lists and behind "=". out: part of argv; NULL is fine. */
int cli_keep_arguments(int argc, char **argv, const char *option, const char *out, struct error *err);
/* The same for the files of a chart, whose names begin with base; NULL is fine. */
int cli_keep_chart(int argc, char **argv, const char *option, const char *base, struct error *err);
/* Version, compiler, CPU, ISA, threads, date; command and profile are the caller's to fill. */
void cli_provenance(struct provenance *p, const struct cli_machine *m, const char *isa,
                    const char *counters);

#endif
