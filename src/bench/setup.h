/* setup.h: set-up of engine runs: CPUs and threads, model file, provenance. */
#ifndef BENCH_SETUP_H
#define BENCH_SETUP_H

#include "engine/engine.h"
#include "run/run.h"

/* CPUs of a command: -t, --isa, --cpus, --numa, validated. */
struct setup {
    int n_threads;
    unsigned cpu_flags;
    struct cpulist cpus; /* one CPU per thread */
    char cpus_text[64];  /* "0,1" */
};
/* Common options: --isa, --cpus, --numa, --no-repack, -ctk, -ctv; and --act-scales, except for validate, which predicts exact scales. */
struct setup_options {
    const char *isa, *cpus, *numa;
    bool no_repack, pow2_scales;
    enum dtype type_k, type_v; /* KV cache */
};
#define SETUP_DEFAULT { .type_k = DTYPE_F16, .type_v = DTYPE_F16 }
/*
 * n_threads 0: one per CPU, or as many as the cgroup CPU quota sustains (with a note; also for a number beyond it). errors: unusable CPUs
 * or ISA
 */
int setup_init(struct setup *m, int64_t n_threads, const struct setup_options *o, struct error *err);
void setup_free(struct setup *m);
/* Threads for a command without an engine, not pinned; n_threads as above. NULL: *err */
struct team *setup_team(int64_t n_threads, struct error *err);
/* Engine options of both; the caller sets sizes. m must outlive the engine. */
struct engine_options setup_engine_options(const struct setup *m, const struct setup_options *o);
/* Notes if the requested scales have no effect on e. */
void setup_note_scales(const struct setup_options *o, const struct engine *e);
/* Loading of e's weights, and peak memory so far. */
void setup_loading(struct run_loading *l, const struct engine *e, const struct model *m, const struct setup *machine);
/* As text: "1.17 GB packed in 310 ms, 3.77 GB/s; peak memory 2.4 GB". */
const char *setup_loading_text(char *buf, size_t n, const struct run_loading *l);
/* Opens a GGUF file that the engine can run. errors: others */
int setup_model_open(struct model *m, const char *path, struct error *err);
/* The same in two steps, for several files of which one runs at a time: _warm reads the weights into memory. */
int setup_model_open_cold(struct model *m, const char *path, struct error *err);
int setup_model_warm(const struct model *m, struct error *err);
/* Sets version, compiler, CPU, ISA, threads and date; the caller sets command and profile. */
void setup_provenance(struct provenance *p, const struct setup *m, const char *isa,
                    const char *counters);

#endif
