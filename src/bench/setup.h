/* setup.h: what runs of the engine share: the CPUs and threads they use, the model file, provenance. */
#ifndef BENCH_SETUP_H
#define BENCH_SETUP_H

#include "engine/engine.h"
#include "run/run.h"

/* The part of this machine a command uses: -t, --isa, --cpus, --numa, checked against what is there. */
struct setup {
    int n_threads;
    unsigned cpu_flags;
    struct cpulist cpus; /* one CPU a thread */
    char cpus_text[64];  /* "0,1" */
};
/* Options that all of these commands have: --isa, --cpus, --numa, --no-repack, -ctk, -ctv; and --act-scales, but validate, whose
 * predictions are of exact ones. */
struct setup_options {
    const char *isa, *cpus, *numa;
    bool no_repack, pow2_scales;
    enum dtype type_k, type_v; /* of the KV cache */
};
#define SETUP_DEFAULT { .type_k = DTYPE_F16, .type_v = DTYPE_F16 }
/* n_threads 0: one a CPU, or as many as the CPU quota of the control group keeps running, which is then said, as is a
 * number beyond it. */
int setup_init(struct setup *m, int64_t n_threads, const struct setup_options *o, struct error *err);
void setup_free(struct setup *m);
/* Threads for a command without an engine, not pinned; n_threads as above. */
struct team *setup_team(int64_t n_threads, struct error *err);
/* What both say about an engine; sizes are the caller's to fill. m outlives the engine. */
struct engine_options setup_engine_options(const struct setup *m, const struct setup_options *o);
/* A note where e's kernels gain nothing by the scales that were asked for. */
void setup_note_scales(const struct setup_options *o, const struct engine *e);
/* How e's weights were loaded, and the peak of memory until now. */
void setup_loading(struct run_loading *l, const struct engine *e, const struct model *m, const struct setup *machine);
/* The same in a line: "1.17 GB packed in 310 ms, 3.77 GB/s; peak memory 2.4 GB". */
const char *setup_loading_text(char *buf, size_t n, const struct run_loading *l);
/* A model file the engine can run, and nothing else. */
int setup_model_open(struct model *m, const char *path, struct error *err);
/* The same in two steps, of several files of which one at a time is run: its weights are read into memory by the second. */
int setup_model_open_cold(struct model *m, const char *path, struct error *err);
int setup_model_warm(const struct model *m, struct error *err);
/* Version, compiler, CPU, ISA, threads, date; command and profile are the caller's to fill. */
void setup_provenance(struct provenance *p, const struct setup *m, const char *isa,
                    const char *counters);

#endif
