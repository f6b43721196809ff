/*
 * A marker API in LIKWID's place, preloaded: what real LIKWID would count with a PMU, this one only keeps the books of. At the end
 * LIKWID_FILEPATH has "region threads adds starts stops" a region, and a line "error ..." for each misuse.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void likwid_markerInit(void);
void likwid_markerClose(void);
void likwid_markerThreadInit(void);
void likwid_markerNextGroup(void);
int likwid_markerRegisterRegion(const char *tag);
int likwid_markerStartRegion(const char *tag);
int likwid_markerStopRegion(const char *tag);

enum { THREADS = 16, REGIONS = 64 };
static struct {
    pthread_mutex_t lock;
    int open, n_thread, n_region, n_error, n_next, n_running;
    pid_t thread[THREADS];
    char region[REGIONS][64], error[16][128];
    struct cell {
        int adds, starts, stops;
    } cell[REGIONS][THREADS];
} b = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void error(const char *what, const char *tag)
{
    if (b.n_error < 16)
        snprintf(b.error[b.n_error++], sizeof b.error[0], "%s %s", what, tag);
}

static int thread(void)
{
    for (int i = 0; i < b.n_thread; i++)
        if (b.thread[i] == gettid())
            return i;
    return -1;
}

static int region(const char *tag)
{
    int i = 0;
    while (i < b.n_region && strcmp(b.region[i], tag) != 0)
        i++;
    if (i == b.n_region && b.n_region < REGIONS)
        snprintf(b.region[b.n_region++], sizeof b.region[0], "%s", tag);
    return i;
}

void likwid_markerInit(void)
{
    b.open = 1;
    if (getenv("FAKE_LIKWID_PIN")) { /* as real LIKWID does to the first thread under -C */
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET((size_t)atoi(getenv("LIKWID_THREADS")), &one);
        sched_setaffinity(0, sizeof one, &one);
    }
}

void likwid_markerThreadInit(void)
{
    pthread_mutex_lock(&b.lock);
    if (!b.open)
        error("before init:", "thread");
    if (thread() < 0 && b.n_thread < THREADS)
        b.thread[b.n_thread++] = gettid();
    pthread_mutex_unlock(&b.lock);
}

static int count(const char *tag, int what)
{
    pthread_mutex_lock(&b.lock);
    const int t = thread(), r = region(tag);
    struct cell *c = t >= 0 && r < REGIONS ? &b.cell[r][t] : NULL;
    if (!c)
        error("on an unknown thread:", tag);
    else if (what == 0)
        c->adds++;
    else if (!c->adds)
        error("not registered:", tag);
    else if (what == 1 ? c->starts++ != c->stops : ++c->stops != c->starts)
        error("started and stopped in turn?", tag);
    b.n_running += what == 1 ? 1 : what == 2 ? -1 : 0;
    if (strchr(tag, '-') || strchr(tag, ' '))
        error("name", tag);
    pthread_mutex_unlock(&b.lock);
    return 0;
}

int likwid_markerRegisterRegion(const char *tag)
{
    return count(tag, 0);
}

int likwid_markerStartRegion(const char *tag)
{
    return count(tag, 1);
}

int likwid_markerStopRegion(const char *tag)
{
    return count(tag, 2);
}

void likwid_markerNextGroup(void)
{
    pthread_mutex_lock(&b.lock);
    b.n_next++;
    if (b.n_running)
        error("next group inside a region", "");
    pthread_mutex_unlock(&b.lock);
}

void likwid_markerClose(void)
{
    FILE *f = fopen(getenv("LIKWID_FILEPATH"), "w");
    if (!f)
        return;
    for (int r = 0; r < b.n_region; r++) {
        int n = 0;
        struct cell sum = { 0 };
        for (int t = 0; t < b.n_thread; t++) {
            n += b.cell[r][t].adds > 0;
            sum.adds += b.cell[r][t].adds;
            sum.starts += b.cell[r][t].starts;
            sum.stops += b.cell[r][t].stops;
        }
        fprintf(f, "region %s %d %d %d %d\n", b.region[r], n, sum.adds, sum.starts, sum.stops);
    }
    for (int i = 0; i < b.n_error; i++)
        fprintf(f, "error %s\n", b.error[i]);
    fprintf(f, "groups %d\n", b.n_next);
    fclose(f);
}
