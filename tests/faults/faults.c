/*
 * Every command with one request to the system refused (inject.c), the disk full behind the N-th byte, 64 KiB of stack, or a signal at
 * some moment: the outcome is the right one, or an error that is said, with an exit status; no signal but the one that was sent, no hang,
 * no other output, nothing half under a final name, no temporary file left. TAP, a line a command.
 *
 *   faults [--all] [CASE [KIND:N]]      --all: every place that asks, not a sample; CASE: that alone; KIND:N: this fault, and what it did
 *   faults --damage=N [CASE [SEED]]     N times a command with a mistake in a file that it reads, its own or one that is installed: no
 *                                       signal, no hang, an error that is said, no control characters for a terminal. SEED: from there on
 *
 * ROOFCAST, FAULTS_LIBRARY (the library), top_srcdir: as `make check` sets them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
enum { WORDS = 40, FILES = 24, TEXT = 16384, LIMIT_S = 60, SAMPLE = 14 /* faults a command without --all */ };

/* @T: the source tree, @F: its tests/fixtures, @I: inputs made here. Files are written to the folder that it runs in. */
struct command {
    const char *name, *line;
    bool varies; /* its output holds times: whether it is whole is all that is looked at */
};
static const struct command commands[] = {
    { "help", "predict --help", false },
    { "alone", "", true },
    { "list-models", "list models", false },
    { "list-hw", "list hw -o csv", false },
    { "list-types", "list types", false },
    { "list-isa", "list isa", false },
    { "list-stacks", "list stacks -o json", false },
    { "list-counters", "list counters", true },
    { "doctor", "doctor", true },
    { "analyze", "analyze @F/llama-2l.gguf", false },
    { "analyze-preset", "analyze stories15m -o json", false },
    { "analyze-csv", "analyze stories15m -o csv", false },
    { "predict", "predict @F/llama-2l.gguf --hw this,h100-sxm", false },
    { "predict-save", "predict llama-3.1-8b --hw h100-sxm -q Q4_K_M -o jsonl --save p.json", false },
    { "predict-explain", "predict stories15m --hw this --explain", false },
    { "predict-guess", "predict qwen3-30b-a3b --hw GeForce-6090 -q Q8_0 -o md", false },
    { "predict-solve", "predict llama-3.1-8b --hw h100-sxm --solve batch=fits", false },
    { "sweep", "sweep -m stories15m --hw h100-sxm,rtx-4090 -b 1-4 --save grid.csv", false },
    { "sweep-out", "sweep -m stories15m --hw this -b 1-2 -o csv", false },
    { "memory", "memory llama-3.1-8b --hw h100-sxm", false },
    { "choose", "choose llama-3.1-8b --hw h100-sxm -q Q4_K_M,Q8_0", false },
    { "score", "score @F/measure/llama-bench.csv", false },
    { "score-serving", "score @F/measure/serving.csv -o json", false },
    { "score-kernels", "score @F/measure/gpu_kernels.csv -o csv", false },
    { "calibrate", "calibrate @F/measure/llama-bench.json --hw h100-sxm --model llama-3.1-8b -o c.json", false },
    { "report", "report @F/measure/llama-bench.json --hw h100-sxm", false },
    { "report-page", "report @T/tests/report/run.json -o page.html", true }, /* a chart that cannot be drawn is a sentence */
    { "report-serve", "report @F/measure/vllm-serve.json --hw h100-sxm --model llama-3.1-8b -o json", false },
    { "import-likwid", "import @T/tests/hwprofile/import/likwid.txt -o hw.json", false },
    { "import-clpeak", "import @T/tests/hwprofile/import/clpeak.json --device CPU -o hw.json", false },
    { "plot", "plot @T/tests/report/run.json --hw @T/tests/report/cpu.json --format txt -o chart", false },
    { "plot-svg", "plot @T/tests/report/cpu.json --format svg -o chart", false },
    { "plot-curves", "plot --chart bandwidth @T/tests/report/curves.json --format txt -o chart", false },
    { "synth", "synth --n-layer 1 --n-embd 64 --n-ff 64 --n-head 2 --n-head-kv 2 --n-vocab 512 -o m.gguf --quiet", false },
    { "quantize", "quantize @F/llama-2l.gguf q.gguf -q Q8_0 --quiet", false },
    { "logits", "logits -m @F/llama-2l.gguf --tokens 5,17,290,44 -o l.bin", false },
    { "run", "run -m @F/llama-2l.gguf -p one -n 3 -t 2 --ignore-eos", false },
    { "ppl", "ppl -m @F/llama-2l.gguf --ids @I/ids -c 16 -t 2 -o csv --quiet --no-record", true },
    { "tokenize", "tokenize -m @I/spm.gguf abc -o ids", false },
    { "bench", "bench --brief -m @F/llama-2l.gguf -p 8 -n 0 -r 1 -t 2 --quiet --save b.json", true },
    { "bench-ops", "bench --brief -m @F/llama-2l.gguf -p 8 -n 2 -r 1 -t 1 --quiet --ops -o json", true },
    { "compare", "profile --compare @T/tests/report/cpu.json @T/tests/report/curves.json", false },
    { "compare-tests", "compare @T/tests/report/run.json @T/tests/report/run.json -o json", false },
    { "compare-files", "compare @F/measure/llama-bench.json @F/measure/llama-bench.md -o csv", false },
};

/* Faults inside of libraries that answer them with a crash or with less: what is known, by the library that asked. */
struct exception {
    const char *command, *kind, *library, *why; /* of command and library the beginning; "": any */
};
static const struct exception exceptions[] = {
    { "", "alloc", "libhwloc.so", "does not look at what it gets" },
    { "", "read", "libpapi.so", "writes past a list of folders that ends early" },
    { "", "alloc", "libpapi.so", "does not look at what it gets" },
    { "", "alloc", "libsde.so", "does not look at what it gets" },
    { "help", "alloc", "", "argp of the C library: assertions, and a help without its end" },
};

/* ---- text and files -------------------------------------------------------------------------------------------------------- */

static char base[64]; /* the temporary folder */
static const char *top, *program, *library;

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    printf("Bail out! ");
    vprintf(fmt, ap);
    printf(": %s\n", strerror(errno));
    va_end(ap);
    exit(99);
}

static uint64_t random_u64(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

struct file {
    char name[256];
    char *data;
    size_t size;
};
/* What a run left: its standard output, and the files in its folder. */
struct outcome {
    int status; /* as waitpid(2) has it; -1: it hung */
    char errors[TEXT];
    struct file file[FILES]; /* [0]: standard output */
    size_t n_file;
    double seconds;
};

static void read_file(struct file *f, int dir, const char *name)
{
    struct stat s;
    const int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &s) != 0)
        die("%s", name);
    snprintf(f->name, sizeof f->name, "%s", name);
    f->size = (size_t)s.st_size;
    f->data = malloc(f->size + 1);
    if (!f->data || read(fd, f->data, f->size) != (ssize_t)f->size)
        die("%s", name);
    f->data[f->size] = 0;
    close(fd);
}

static void outcome_free(struct outcome *o)
{
    for (size_t i = 0; i < o->n_file; i++)
        free(o->file[i].data);
    *o = (struct outcome){ 0 };
}

/* Takes the files of a folder into the outcome, and removes them. */
static void collect(struct outcome *o, const char *sub)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", base, sub);
    DIR *d = opendir(path);
    if (!d)
        die("%s", path);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (o->n_file == FILES)
            die("more than %d files", FILES);
        if (unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR) == 0) {
            snprintf(o->file[o->n_file].name, sizeof o->file->name, "%s", e->d_name);
            o->file[o->n_file].data = NULL;
            o->file[o->n_file++].size = 0;
            continue;
        }
        read_file(&o->file[o->n_file++], dirfd(d), e->d_name);
        (void)unlinkat(dirfd(d), e->d_name, 0);
    }
    closedir(d);
}

static const struct file *find_file(const struct outcome *o, const char *name)
{
    for (size_t i = 0; i < o->n_file; i++)
        if (strcmp(o->file[i].name, name) == 0)
            return &o->file[i];
    return NULL;
}

/* ---- one run ------------------------------------------------------------------------------------------------------------------ */

static char *expand(const char *word)
{
    char *s = NULL;
    const char *rest = word + 2;
    if (word[0] != '@')
        s = strdup(word);
    else if (asprintf(&s, "%s%s%s", word[1] == 'I' ? base : top, word[1] == 'I' ? "/in" : word[1] == 'F' ? "/tests/fixtures" : "", rest) < 0)
        s = NULL;
    if (!s)
        die("memory");
    return s;
}

static void split(char *argv[WORDS], const char *line)
{
    char copy[1024], *save, *word = NULL;
    int n = 1;
    snprintf(copy, sizeof copy, "%s", line);
    argv[0] = strdup("roofcast");
    for (word = strtok_r(copy, " ", &save); word && n < WORDS - 1; word = strtok_r(NULL, " ", &save))
        argv[n++] = expand(word);
    argv[n] = NULL;
}

enum { LOG_FD = 9 };

/* fault: NULL, one of the library's, or one of the driver's own: "disk:BYTES", where the disk is full behind so many, "stack:BYTES", and
 * "signal:NUMBER:PART", at that part of the time that it takes (run() sends it). log: where the library writes, -1: it is not loaded. */
__attribute__((noreturn)) static void child(char *const argv[], const char *fault, int log, int errors)
{
    char path[128];
    snprintf(path, sizeof path, "%s/out", base);
    const int in = open("/dev/null", O_RDONLY), out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(errors, 2) < 0)
        _exit(98);
    if (log >= 0) {
        if (dup2(log, LOG_FD) < 0)
            _exit(98);
        setenv("LD_PRELOAD", library, 1);
        setenv("FAULT_LOG", "9", 1);
    }
    if (fault && strncmp(fault, "disk:", 5) == 0) {
        const rlim_t n = (rlim_t)atoll(fault + 5);
        (void)signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &(struct rlimit){ n, n }) != 0)
            _exit(98);
    } else if (fault && strncmp(fault, "stack:", 6) == 0) {
        const rlim_t n = (rlim_t)atoll(fault + 6);
        if (setrlimit(RLIMIT_STACK, &(struct rlimit){ n, n }) != 0)
            _exit(98);
    } else if (fault && strncmp(fault, "signal:", 7) != 0) {
        setenv("FAULT", fault, 1);
    }
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    snprintf(path, sizeof path, "%s/w", base);
    if (chdir(path) == 0)
        execv(program, argv);
    _exit(98);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void sleep_s(double s)
{
    const struct timespec t = { (time_t)s, (long)(1e9 * (s - (double)(time_t)s)) };
    (void)nanosleep(&t, NULL);
}

/* usual_s: what it takes without a fault. */
static void run(struct outcome *o, char *const argv[], const char *fault, int log, double usual_s)
{
    int errors[2], sig;
    double part;
    *o = (struct outcome){ 0 };
    fflush(stdout);
    if (pipe2(errors, O_CLOEXEC) != 0)
        die("pipe");
    const pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0)
        child(argv, fault, log, errors[1]);
    close(errors[1]);
    if (fault && sscanf(fault, "signal:%d:%lf", &sig, &part) == 2) {
        sleep_s(part * usual_s);
        (void)kill(pid, sig);
    }
    const double begin = now_s(), end = begin + LIMIT_S;
    char drop[512];
    for (size_t n = 0;;) {
        struct pollfd p = { .fd = errors[0], .events = POLLIN };
        const double left = end - now_s();
        if (left <= 0 || poll(&p, 1, (int)(1000 * left) + 1) == 0) {
            (void)kill(pid, SIGKILL);
            o->status = -1;
            break;
        }
        const bool full = n == sizeof o->errors - 1;
        const ssize_t got = read(errors[0], full ? drop : o->errors + n, full ? sizeof drop : sizeof o->errors - 1 - n);
        if (got <= 0)
            break;
        n += full ? 0 : (size_t)got;
    }
    int status;
    if (waitpid(pid, &status, 0) != pid)
        die("waitpid");
    close(errors[0]);
    o->seconds = now_s() - begin;
    o->status = o->status == -1 ? -1 : status;
    const int dir = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    read_file(&o->file[o->n_file++], dir, "out");
    close(dir);
    collect(o, "w");
    collect(o, "t");
}

/* ---- judging -------------------------------------------------------------------------------------------------------------------- */

/* A file under a final name: the right one, or of a command whose results vary one that ends as such files do. */
static bool whole(const struct command *c, const struct file *f, const struct file *right)
{
    if (!c->varies)
        return f->size == right->size && memcmp(f->data, right->data, f->size) == 0;
    return f->size > 0 && right->size > 0 && f->data[f->size - 1] == right->data[right->size - 1] && f->data[0] == right->data[0];
}

/* NULL, or what is wrong with it. */
static const char *judge(const struct command *c, const struct outcome *o, const struct outcome *right, const char *fault, char *buf, size_t size)
{
    int sig = 0;
    if (o->status == -1)
        return "hangs";
    const bool sent = fault && sscanf(fault, "signal:%d", &sig) == 1;
    const bool ended = sent && (WIFSIGNALED(o->status) ? WTERMSIG(o->status) == sig : WEXITSTATUS(o->status) == 130); /* by it, as it should */
    if (!WIFEXITED(o->status) && !ended) {
        snprintf(buf, size, "signal %d (%s)", WTERMSIG(o->status), strsignal(WTERMSIG(o->status)));
        return buf;
    }
    const int status = WIFEXITED(o->status) ? WEXITSTATUS(o->status) : 130;
    if (status > 3 && !ended) {
        snprintf(buf, size, "exit status %d", status);
        return buf;
    }
    for (size_t i = 1; i < o->n_file; i++) {
        const struct file *r = find_file(right, o->file[i].name);
        if (!r && !strstr(o->file[i].name, ".partial")) {
            snprintf(buf, size, "leaves %.200s", o->file[i].name);
            return buf;
        }
        if (r && !whole(c, &o->file[i], r)) {
            snprintf(buf, size, "%.100s is not whole (exit status %d)", r->name, status);
            return buf;
        }
    }
    if (status != 0)
        return WIFSIGNALED(o->status) || strstr(o->errors, "roofcast") ? NULL : "fails and says nothing";
    for (size_t i = 0; i < right->n_file; i++) {
        const struct file *f = find_file(o, right->file[i].name);
        if (!f || (!whole(c, f, &right->file[i]) && (i > 0 || !c->varies || f->size == 0))) {
            snprintf(buf, size, "exit status 0 with another %.100s", i == 0 ? "output" : right->file[i].name);
            return buf;
        }
    }
    return NULL;
}

/* ---- the faults of a command ---------------------------------------------------------------------------------------------------- */

struct fault {
    char name[32]; /* "alloc:17" */
};
struct faults {
    struct fault *at;
    size_t n, cap;
};

__attribute__((format(printf, 2, 3))) static void add_fault(struct faults *f, const char *fmt, ...)
{
    if (f->n == f->cap) {
        f->cap = 2 * f->cap + 64;
        f->at = realloc(f->at, f->cap * sizeof *f->at);
        if (!f->at)
            die("memory");
    }
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(f->at[f->n++].name, sizeof f->at->name, fmt, ap);
    va_end(ap);
}

/* Where the library's log says that something is asked for, and where the disk may end: memory apart from all others. */
static void plan(struct faults *memory, struct faults *others, FILE *log, const struct outcome *right)
{
    char line[512], kind[16];
    long n;
    rewind(log);
    while (fgets(line, sizeof line, log)) {
        if (sscanf(line, "%15s total %ld", kind, &n) == 2) {
            if (n > 1)
                add_fault(strcmp(kind, "alloc") == 0 ? memory : others, "%s:%ld", kind, n);
        } else if (sscanf(line, "%15s %ld", kind, &n) == 2) {
            add_fault(strcmp(kind, "alloc") == 0 ? memory : others, "%s:%ld", kind, n);
        }
    }
    for (size_t i = 0; i < right->n_file; i++) {
        const size_t size = right->file[i].size, ends[] = { 0, 1, size / 2, size > 8 ? size - 8 : 0 }; /* a picture may lose the ends of its last lines */
        for (size_t k = 0; k < ARRAY_LEN(ends) && size > 0; k++)
            add_fault(others, "disk:%zu", ends[k]);
    }
}

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

static bool known(const struct command *c, FILE *log, char *found, size_t size)
{
    char line[512], kind[16], in[128];
    rewind(log);
    snprintf(found, size, "?");
    if (!fgets(line, sizeof line, log) || sscanf(line, "refused %15s in %127s", kind, in) != 2)
        return false;
    snprintf(found, size, "%s", in);
    for (size_t i = 0; i < ARRAY_LEN(exceptions); i++)
        if (strcmp(kind, exceptions[i].kind) == 0 && begins(in, exceptions[i].library) && begins(c->name, exceptions[i].command))
            return true;
    return false;
}

static bool own_fault(const char *fault)
{
    return begins(fault, "disk:") || begins(fault, "stack:") || begins(fault, "signal:");
}

struct tally {
    long runs, bad, excepted;
};

static void try_fault(struct tally *t, const struct command *c, char *const argv[], const char *fault, const struct outcome *right, bool tell)
{
    struct outcome o;
    char buf[256], in[128];
    FILE *log = tmpfile();
    if (!log)
        die("tmpfile");
    run(&o, argv, fault, own_fault(fault) ? -1 : fileno(log), right->seconds);
    const char *wrong = judge(c, &o, right, fault, buf, sizeof buf);
    const bool excepted = known(c, log, in, sizeof in) && wrong;
    t->runs++;
    t->excepted += excepted;
    t->bad += wrong && !excepted;
    if (wrong)
        printf("# %s %s in %s: %s%s: %.120s\n", c->name, fault, in, wrong, excepted ? " (an exception)" : "", o.errors);
    if (tell || (wrong && getenv("FAULTS_TRACE"))) {
        char line[512];
        rewind(log);
        while (fgets(line, sizeof line, log))
            printf("# %s", line);
        if (tell)
            printf("# status %#x\n# %s\n", (unsigned)o.status, o.errors);
    }
    fclose(log);
    outcome_free(&o);
}

/* most: of this list, evenly spread, from a place on that differs from command to command. */
static void try_faults(struct tally *t, const struct command *c, char *const argv[], const struct faults *f, const struct outcome *right, size_t most)
{
    const size_t n = most < f->n ? most : f->n, shift = n ? (size_t)(c - commands) * 7 % (f->n / n) : 0;
    for (size_t i = 0; i < n; i++)
        try_fault(t, c, argv, f->at[i * f->n / n + (n < f->n ? shift : 0)].name, right, false);
}

/* Of each kind so many, at moments that differ from command to command. */
static void try_signals(struct tally *t, const struct command *c, char *const argv[], const struct outcome *right, int n)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
    uint64_t state = (uint64_t)(c - commands);
    char fault[32];
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < ARRAY_LEN(signals); k++) {
            snprintf(fault, sizeof fault, "signal:%d:%.4f", signals[k], (double)(random_u64(&state) >> 11) * 0x1p-53);
            try_fault(t, c, argv, fault, right, false);
        }
}

static struct tally torture(const struct command *c, bool all, const char *only)
{
    struct tally t = { 0 };
    struct faults memory = { 0 }, others = { 0 };
    struct outcome right;
    char *argv[WORDS], buf[256];
    FILE *log = tmpfile();
    if (!log)
        die("tmpfile");
    split(argv, c->line);
    run(&right, argv, NULL, fileno(log), 0);
    const char *wrong = judge(c, &right, &right, NULL, buf, sizeof buf);
    if (wrong || right.status != 0) {
        printf("# %s without a fault: %s: %s\n", c->name, wrong ? wrong : "fails", right.errors);
        t.bad++;
    } else if (only) {
        try_fault(&t, c, argv, only, &right, true);
    } else {
        plan(&memory, &others, log, &right);
        try_fault(&t, c, argv, "stack:65536", &right, false);
        try_signals(&t, c, argv, &right, all ? 40 : 1);
        try_faults(&t, c, argv, &memory, &right, all ? memory.n : SAMPLE / 2);
        try_faults(&t, c, argv, &others, &right, all ? others.n : SAMPLE / 2);
    }
    fclose(log);
    outcome_free(&right);
    free(memory.at);
    free(others.at);
    for (int i = 0; argv[i]; i++)
        free(argv[i]);
    return t;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------------------------ */

static void make_input(const char *name, const char *text, const char *from, long skip)
{
    char path[512];
    snprintf(path, sizeof path, "%s/in/%s", base, name);
    FILE *out = fopen(path, "w"), *in = NULL;
    if (!out)
        die("%s", path);
    if (from) {
        snprintf(path, sizeof path, "%s/%s", top, from);
        in = fopen(path, "r");
        if (!in || fseek(in, skip, SEEK_SET) != 0)
            die("%s", path);
        for (int ch; (ch = fgetc(in)) != EOF;)
            fputc(ch, out);
        fclose(in);
    } else {
        fputs(text, out);
    }
    if (fclose(out) != 0)
        die("%s", name);
}

static void make_inputs(void)
{
    static const char *const subs[] = { "in", "w", "t" };
    char path[128];
    snprintf(base, sizeof base, "/tmp/roofcast-faults-XXXXXX");
    if (!mkdtemp(base))
        die("%s", base);
    for (size_t i = 0; i < ARRAY_LEN(subs); i++) {
        snprintf(path, sizeof path, "%s/%s", base, subs[i]);
        if (mkdir(path, 0700) != 0)
            die("%s", path);
    }
    setenv("TMPDIR", path, 1); /* the last */
    make_input("ids", "5 17 290 44 3 8 9 10 250 61 77 12 30 31 32 33\n", NULL, 0);
    make_input("text", "abc def\n", NULL, 0);
    make_input("this.json", NULL, "tests/report/cpu.json", 0);
    make_input("spm.gguf", NULL, "tests/fuzz/corpus/tokenizer/vocab-spm", 1);
    snprintf(path, sizeof path, "%s/in/this.json", base);
    setenv("ROOFCAST_PROFILE", path, 1);
    setenv("ROOFCAST_DATA", top, 1);
}

static void remove_inputs(void)
{
    struct outcome o = { 0 };
    static const char *const subs[] = { "in", "w", "t" };
    char path[128];
    for (size_t i = 0; i < ARRAY_LEN(subs); i++) {
        collect(&o, subs[i]);
        snprintf(path, sizeof path, "%s/%s", base, subs[i]);
        (void)rmdir(path);
    }
    outcome_free(&o);
    snprintf(path, sizeof path, "%s/out", base);
    (void)unlink(path);
    (void)rmdir(base);
}

/* ---- damaged files ------------------------------------------------------------------------------------------------------------------ */

/* What is installed and read by the commands above, in addition to the files that they name. */
static const char *const installed[] = {
    "hwprofiles/stacks/constants.json", "hwprofiles/stacks/priors.json", "hwprofiles/stacks/rules.json", "hwprofiles/stacks/servers.json", "hwprofiles/classes.json", "hwprofiles/h100-sxm.json",
    "hwprofiles/rtx-4090.json", "models/stories15m.json", "models/llama-3.1-8b.json", "models/qwen3-30b-a3b.json",
};

/* One mistake in a file: to[] has room for 64 bytes more. The new size. */
static size_t damage(char *to, const struct file *f, uint64_t *state)
{
    static const char *const texts[] = { "99999999999999999999", "-1", "1e308", "0", "\033[2J\033]0;x\007", "\xff\xfe", "NaN", "{", "\"", "" };
    const size_t size = f->size, at = size ? random_u64(state) % size : 0, n = 1 + random_u64(state) % 16, left = size - at < n ? size - at : n;
    const char *text = texts[random_u64(state) % ARRAY_LEN(texts)];
    memcpy(to, f->data, size);
    switch (random_u64(state) % 6) {
    case 0: /* cut off */
        return at;
    case 1: /* a bit */
        to[at] ^= (char)(1 << random_u64(state) % 8);
        return size;
    case 2: /* bytes */
        for (size_t i = 0; i < left; i++)
            to[at + i] = (char)random_u64(state);
        return size;
    case 3: /* bytes that are missing */
        memmove(to + at, to + at + left, size - at - left);
        return size - left;
    default: { /* another text in the place of a number, or here */
        size_t from = at;
        while (from < size && from < at + 200 && !(to[from] >= '0' && to[from] <= '9'))
            from++;
        from = from < size && from < at + 200 ? from : at;
        size_t gone = 0;
        while (from + gone < size && gone < 20 && to[from + gone] >= '0' && to[from + gone] <= '9')
            gone++;
        memmove(to + from + strlen(text), to + from + gone, size - from - gone);
        memcpy(to + from, text, strlen(text));
        return size - gone + strlen(text);
    }
    }
}

static void write_file(const char *path, const char *data, size_t size)
{
    FILE *f = fopen(path, "w");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0)
        die("%s", path);
}

/* A byte that a terminal obeys, of what is meant for one; NULL: none. */
static const char *find_control(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)s[i];
        if ((c < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7f || (c == 0xc2 && i + 1 < n && (unsigned char)s[i + 1] >= 0x80 && (unsigned char)s[i + 1] < 0xa0))
            return s + i;
    }
    return NULL;
}

static const char *judge_damaged(const struct command *c, const struct outcome *o, const struct outcome *right, char *buf, size_t size)
{
    const int status = WIFEXITED(o->status) ? WEXITSTATUS(o->status) : 0;
    if (o->status == -1)
        return "hangs";
    if (!WIFEXITED(o->status) || status > 3) {
        snprintf(buf, size, "ends with %#x", (unsigned)o->status);
        return buf;
    }
    if (strstr(o->errors, "Sanitizer") || strstr(o->errors, "runtime error:"))
        return "a sanitizer's report";
    if (status != 0 && !strstr(o->errors, "roofcast"))
        return "fails and says nothing";
    for (size_t i = 1; i < o->n_file; i++)
        if (!find_file(right, o->file[i].name)) {
            snprintf(buf, size, "leaves %.200s", o->file[i].name);
            return buf;
        }
    if (find_control(o->errors, strlen(o->errors)))
        return "control characters on standard error";
    if (strcmp(c->name, "run") == 0) /* what a model says is data where no terminal reads it */
        return NULL;
    return find_control(o->file[0].data, o->file[0].size) ? "control characters on standard output" : NULL;
}

static void try_damage(struct tally *t, const struct command *c, char *const argv[], const char *path, uint64_t seed, const struct outcome *right, bool tell)
{
    struct file f = { 0 };
    struct outcome o;
    char buf[256], keep[128];
    uint64_t state = seed;
    read_file(&f, AT_FDCWD, path);
    char *to = malloc(f.size + 64);
    if (!to)
        die("memory");
    const size_t size = damage(to, &f, &state);
    write_file(path, to, size);
    run(&o, argv, NULL, -1, 0);
    const char *wrong = judge_damaged(c, &o, right, buf, sizeof buf);
    t->runs++;
    t->bad += wrong != NULL;
    if (wrong || tell) {
        snprintf(keep, sizeof keep, "%s-damaged", base);
        write_file(keep, to, size);
        printf("# %s seed:%llu %s (kept as %s): %s: %s\n", c->name, (unsigned long long)seed, path, keep, wrong ? wrong : "right", o.errors);
    }
    write_file(path, f.data, f.size);
    outcome_free(&o);
    free(f.data);
    free(to);
}

/* n files of a command, one mistake in each, from seed on. */
static struct tally damage_all(const struct command *c, uint64_t seed, long n, bool tell)
{
    struct tally t = { 0 };
    struct outcome right;
    char *argv[WORDS], path[512], buf[256];
    const char *files[WORDS];
    size_t n_file = 0;
    split(argv, c->line);
    for (int i = 0; argv[i]; i++)
        if (argv[i][0] == '/')
            files[n_file++] = argv[i];
    run(&right, argv, NULL, -1, 0);
    const char *wrong = judge_damaged(c, &right, &right, buf, sizeof buf);
    if (wrong || right.status != 0) {
        printf("# %s without damage: %s: %s\n", c->name, wrong ? wrong : "fails", right.errors);
        t.bad++;
    }
    for (long i = 0; i < n && !t.bad; i++) {
        uint64_t state = seed + (uint64_t)i;
        const uint64_t which = random_u64(&state) % (2 * n_file + ARRAY_LEN(installed)); /* the command's own more often */
        snprintf(path, sizeof path, "%s/%s", top, installed[which % ARRAY_LEN(installed)]);
        try_damage(&t, c, argv, which < 2 * n_file ? files[which / 2] : path, seed + (uint64_t)i, &right, tell);
    }
    outcome_free(&right);
    for (int i = 0; argv[i]; i++)
        free(argv[i]);
    return t;
}

/* The tree's data and inputs again, where they can be damaged. */
static void copy_tree(void)
{
    static char copy[128];
    char line[1024];
    snprintf(copy, sizeof copy, "%s/tree", base);
    snprintf(line, sizeof line, "mkdir -p '%s/tests/hwprofile' && cd '%s' && cp -r models hwprofiles events reports '%s' && cp -r tests/fixtures tests/report '%s/tests' && "
                                "cp -r tests/hwprofile/import '%s/tests/hwprofile' && chmod -R u+w '%s'", copy, top, copy, copy, copy, copy);
    if (system(line) != 0)
        die("%s", line);
    top = copy;
    setenv("ROOFCAST_DATA", top, 1);
    setenv("ASAN_OPTIONS", "exitcode=77:allocator_may_return_null=1:max_allocation_size_mb=4096:quarantine_size_mb=4", 1);
}

static void remove_tree(void)
{
    char line[256];
    snprintf(line, sizeof line, "rm -rf '%s/tree'", base);
    if (system(line) != 0)
        die("%s", line);
}

int main(int argc, char **argv)
{
    const long rounds = argc > 1 && strncmp(argv[1], "--damage=", 9) == 0 ? atol(argv[1] + 9) : 0;
    const bool all = argc > 1 && (strcmp(argv[1], "--all") == 0 || rounds > 0);
    const char *only = argc > 1 + all ? argv[1 + all] : NULL, *fault = argc > 2 + all ? argv[2 + all] : NULL;
    struct tally sum = { 0 };
    int n = 0;
    top = getenv("top_srcdir");
    program = getenv("ROOFCAST");
    library = getenv("FAULTS_LIBRARY");
    if (!top || !program || (!library && rounds == 0)) {
        printf("1..0 # SKIP ROOFCAST, FAULTS_LIBRARY and top_srcdir say what is tried\n");
        return 0;
    }
    make_inputs();
    if (rounds > 0)
        copy_tree();
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (only && strcmp(only, commands[i].name) != 0)
            continue;
        const uint64_t seed = fault && rounds > 0 ? strtoull(fault, NULL, 10) : 1000000 * i;
        const struct tally t = rounds > 0 ? damage_all(&commands[i], seed, rounds, fault != NULL) : torture(&commands[i], all, fault);
        printf("%s %d - %s\n", t.bad ? "not ok" : "ok", ++n, commands[i].name);
        printf("# %s: %ld faults, %ld wrong, %ld exceptions\n", commands[i].name, t.runs, t.bad, t.excepted);
        fflush(stdout);
        sum.runs += t.runs;
        sum.bad += t.bad;
        sum.excepted += t.excepted;
    }
    if (rounds > 0)
        remove_tree();
    remove_inputs();
    printf("# %ld faults, %ld wrong, %ld exceptions\n1..%d\n", sum.runs, sum.bad, sum.excepted, n);
    return sum.bad || n == 0;
}
