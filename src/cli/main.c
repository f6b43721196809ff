/* roofcast: the table of commands, and their common set-up: directories, signals, errors. */
#include "base/json.h"
#include "base/program.h"
#include "cli/describe.h"
#include "cli/here.h"
#include "config.h"
#include "kernels/kernels.h"
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct command commands[] = {
    { "profile", "measure this machine's roofs: peak FLOP/s and bandwidth per memory level", cmd_profile },
    { "synth", "write a GGUF with a model's real shape and random weights", cmd_synth },
    { "quantize", "convert a GGUF to other tensor types and print the error of each role", cmd_quantize },
    { "analyze", "count bytes, FLOP and arithmetic intensity of every op, prefill and decode", cmd_analyze },
    { "bench", "run a model here and measure tokens/s, TTFT, ITL, GB/s, MBU, optionally per op", cmd_bench },
    { "predict", "predict tokens/s, TTFT, ITL, memory fit and bound on any profiled hardware", cmd_predict },
    { "sweep", "predict every combination of models, machines, types, layouts and batches", cmd_sweep },
    { "serve", "serve a GGUF model: the OpenAI API, or a workload replayed", cmd_serve },
    { "simulate", "simulate many requests on a served model: TTFT, ITL, throughput, with their uncertainty", cmd_simulate },
    { "compare", "compare two runs, builds, profiles or predictions: faster, slower or cannot tell", cmd_compare },
    { "capacity", "find the request rate that meets an SLO, over machines, types and layouts", cmd_capacity },
    { "choose", "choose the quantization for a machine, or the cheapest machine for a rate", cmd_choose },
    { "memory", "find the largest batch and context that fit, and what occupies the memory", cmd_memory },
    { "score", "compare predictions with published measurements: bias, error, coverage, worst rows", cmd_score },
    { "validate", "compare predictions from this machine's profile with runs of the engine", cmd_validate },
    { "calibrate", "fit the constants of the time model to measurements", cmd_calibrate },
    { "report", "results as one page; MBU, MFU and bound of another engine's results (llama-bench, vLLM)", cmd_report },
    { "import", "convert results of ERT, likwid-bench or clpeak to a hardware profile", cmd_import },
    { "plot", "draw rooflines of runs, analyses and predictions, and the curves of a profile", cmd_plot },
    { "run", "generate text and print TTFT, ITL and tokens/s", cmd_run },
    { "ppl", "measure perplexity on a text, and KL divergence from another file of the model", cmd_ppl },
    { "logits", "write the logits after every token, to compare engines", cmd_logits },
    { "tokenize", "convert text to token ids and back", cmd_tokenize },
    { "doctor", "check what can be measured here, and how to fix what cannot", cmd_doctor },
    { "list", "list models, hardware, stacks, tensor types, kernels and counters", cmd_list },
};

/* roofcast without arguments */
static const struct command alone = { "", "", cli_here };

static void print_help(FILE *f)
{
    fprintf(f, "usage: roofcast COMMAND [OPTION...]\n\n"
               "Measure, predict and explain the speed of language models: on this machine, and on\n"
               "hardware that is not here.\n\n");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        fprintf(f, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fprintf(f, "\n`roofcast COMMAND --help` describes a command. A first session:\n\n"
               "  roofcast profile --quick\n"
               "  roofcast synth smollm2-360m -q Q8_0 -o model.gguf\n"
               "  roofcast bench -m model.gguf --ops --save run.json\n"
               "  roofcast plot run.json -o roofline\n"
               "  roofcast predict model.gguf --hw this,h100-sxm,rtx-4090\n");
}

static void print_version(void)
{
    printf("%s\n", PACKAGE_STRING);
    printf("compiler: %s, %s\n", ROOFCAST_CC, ROOFCAST_CFLAGS);
    printf("kernels: ");
    const char *name;
    bool usable;
    for (size_t i = 0; (name = kernels_isa_at(i, &usable)) != NULL; i++)
        printf("%s%s%s", i ? " " : "", name, usable ? "" : " (not on this CPU)");
    printf("\n");
#ifdef HAVE_MPI
    printf("MPI: yes\n");
#else
    printf("MPI: no\n");
#endif
#ifdef HAVE_LIKWID
    printf("License: MIT. Under likwid-perfctr -m it loads LIKWID, whose library is licensed under the GNU General Public\n"
           "License version 3, and so is the program roofcast-likwid, which links it. Build with --with-likwid=no for neither.\n");
#else
    printf("License: MIT\n");
#endif
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static int unknown_command(char *name)
{
    const char *near = NULL;
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        near = cli_nearer(name, near, commands[i].name);
    text_show(name, strlen(name));
    fprintf(stderr, "roofcast: unknown command \"%s\"%s%s%s\n\n", name, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    print_help(stderr);
    return 2;
}

static int complete_command(const char *begun)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strncmp(commands[i].name, begun, strlen(begun)) == 0)
            printf("%s\t%s\n", commands[i].name, commands[i].summary);
    return 1; /* no file names */
}

/* At exit, including argp's --help: flushes stdio; a write error (full disk) sets the exit status. */
static void finish_stdout(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return;
    /* An earlier write failed and stdio discarded its errno: another write fails for the same reason. */
    if (errno == 0 && write(STDOUT_FILENO, "\n", 1) == 1)
        errno = EIO;
    if (errno == EPIPE)
        interrupt_end_by_pipe();
    fprintf(stderr, "roofcast: cannot write to standard output: %s\n", strerror(errno));
    _exit(1);
}

/* Out of memory, jansson drops fields, reports valid files as damaged, or crashes: end the process instead. */
static void *allocate(size_t n)
{
    void *p = malloc(n ? n : 1);
    if (!p)
        interrupt_end_without_memory();
    return p;
}

static int run_program(int argc, char **argv)
{
    setlocale(LC_CTYPE, "");
    (void)atexit(finish_stdout);
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)) {
        print_help(stdout);
        return 0;
    }
    if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
        print_version();
        return 0;
    }
    if (argc > 1 && argc <= 3 && strcmp(argv[1], CLI_COMPLETE) == 0)
        return complete_command(argc == 3 ? argv[2] : "");
    if (argc > 2 && (strcmp(argv[1], CLI_COMPLETE) == 0 || strcmp(argv[1], CLI_MAN) == 0)) { /* handled by the command, which has the option table */
        char *request = argv[1];
        argv[1] = argv[2];
        argv[2] = request;
    }
    const struct command *c = argc > 1 ? find_command(argv[1]) : &alone;
    if (!c)
        return unknown_command(argv[1]);
    if (argc > 2 && strcmp(argv[2], CLI_MAN) == 0)
        cli_man_name(c->name, c->summary);
    char name[64];
    snprintf(name, sizeof name, "roofcast%s%s", *c->name ? " " : "", c->name);
    if (argc > 1)
        argv[1] = name;
    argp_err_exit_status = 2;
    interrupt_install();
    json_set_alloc_funcs(allocate, free);
    cli_notify();
    struct error err = { 0 };
    if (cli_environment(&err) == 0 && c->run(argc - 1, argv + 1, &err) == 0)
        return 0;
    notify_progress_done();
    fflush(stdout);
    if (err.kind == ERROR_PIPE)
        interrupt_end_by_pipe();
    text_show(err.msg, strlen(err.msg)); /* it contains names from the command line */
    fprintf(stderr, "%s: %s\n", name, err.msg);
    if (ferror(stdout)) /* already reported: skip finish_stdout() */
        _exit(error_exit_status(&err));
    return error_exit_status(&err);
}

struct call {
    int argc;
    char **argv;
    int status;
};

static void *run_call(void *arg)
{
    struct call *c = arg;
    c->status = run_program(c->argc, c->argv);
    return NULL;
}

/* With a small `ulimit -s` the program runs on a thread with a larger stack. */
int main(int argc, char **argv)
{
    struct rlimit limit;
    struct call c = { argc, argv, 1 };
    pthread_t thread;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= THREAD_STACK ||
        thread_start(&thread, run_call, &c) != 0)
        return run_program(argc, argv);
    (void)pthread_join(thread, NULL);
    return c.status;
}
