/* Runs likwid-bench with a time limit. */
#include "base/program.h"
#include "ceilings/likwid.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { MAX_OUTPUT = 64 << 10 };

/* posix_spawn inherits the caller's affinity: a pinned caller would put all threads of likwid-bench on one CPU. */
struct affinity {
    cpu_set_t *own;
    size_t size;
};

static void set_affinity(struct affinity *l, const int *cpu, int n)
{
    enum { MAX_CPUS = 8192 };
    cpu_set_t *set = CPU_ALLOC(MAX_CPUS);
    l->size = CPU_ALLOC_SIZE(MAX_CPUS);
    l->own = CPU_ALLOC(MAX_CPUS);
    if (set && l->own && sched_getaffinity(0, l->size, l->own) == 0) {
        CPU_ZERO_S(l->size, set);
        for (int i = 0; i < n; i++)
            CPU_SET_S((size_t)cpu[i], l->size, set);
        (void)sched_setaffinity(0, l->size, set); /* on failure likwid-bench reports where its threads ran */
    } else if (l->own) {
        CPU_FREE(l->own);
        l->own = NULL;
    }
    CPU_FREE(set);
}

static void restore_affinity(struct affinity *l)
{
    if (l->own)
        (void)sched_setaffinity(0, l->size, l->own);
    CPU_FREE(l->own);
}

int likwid_run(struct likwid_result *r, const char *test, double bytes, const int *cpu, int n_threads, uint64_t iterations,
               double timeout_s, struct error *err)
{
    char work[64], n[32], program[] = "likwid-bench", t[] = "-t", w[] = "-w", i[] = "-i", name[64];
    char *argv[] = { program, t, name, w, work, iterations ? i : NULL, n, NULL };
    snprintf(name, sizeof name, "%s", test);
    snprintf(work, sizeof work, "N:%.0fkB:%d", bytes < 1000 ? 1 : bytes / 1000, n_threads);
    snprintf(n, sizeof n, "%llu", (unsigned long long)iterations);
    char *text = malloc(MAX_OUTPUT);
    if (!text)
        return error_oom(err, MAX_OUTPUT, "the output of likwid-bench");
    struct program p = { .argv = argv, .output = true, .timeout_s = timeout_s, .text = text, .size = MAX_OUTPUT };
    struct affinity saved;
    set_affinity(&saved, cpu, n_threads);
    const enum program_end end = program_run(&p);
    restore_affinity(&saved);
    int ok = 0;
    if (interrupt_check(err) != 0)
        ok = -1;
    else if (end == PROGRAM_NOT_STARTED)
        ok = error_set(err, ERROR_UNAVAILABLE, "likwid-bench cannot be started: %s (Debian: apt install likwid)", strerror(p.status));
    else if (end != PROGRAM_ENDED)
        ok = error_set(err, ERROR_SYSTEM, "likwid-bench -t %s: no answer within %.0f s", test, timeout_s);
    else if (WIFSIGNALED(p.status))
        ok = error_set(err, ERROR_SYSTEM, "likwid-bench -t %s: killed by signal %d", test, WTERMSIG(p.status));
    else if (WIFEXITED(p.status) && WEXITSTATUS(p.status) == 127 && p.n_text == 0)
        ok = error_set(err, ERROR_UNAVAILABLE, "likwid-bench cannot be started (Debian: apt install likwid)");
    else if (likwid_parse(r, text, p.n_text, err) != 0)
        ok = -1;
    else if (WIFEXITED(p.status) && WEXITSTATUS(p.status) != 0)
        ok = error_set(err, ERROR_SYSTEM, "likwid-bench -t %s: exit status %d", test, WEXITSTATUS(p.status));
    else if (r->n_threads != n_threads || r->n_cpus != n_threads)
        ok = error_set(err, ERROR_SYSTEM, "likwid-bench -t %s: %d threads on %d CPUs, expected %d on as many", test, r->n_threads, r->n_cpus,
                       n_threads);
    free(text);
    return ok;
}
