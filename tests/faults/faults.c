/*
 * Every command with one request to the system refused (inject.c), or the disk full behind the N-th byte: the outcome is the right
 * one, or an error that is said, with an exit status; no signal, no hang, no other output, nothing half under a final name, no
 * temporary file left. TAP, a line a command.
 *
 *   faults [--all] [CASE [KIND:N]]      --all: every place that asks, not a sample; CASE: that alone; KIND:N: this fault, and what it did
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
    { "score", "score @F/measure/llama-bench.csv", false },
    { "score-serving", "score @F/measure/serving.csv -o json", false },
    { "score-kernels", "score @F/measure/gpu_kernels.csv -o csv", false },
    { "calibrate", "calibrate @F/measure/llama-bench.json --hw h100-sxm --model llama-3.1-8b -o c.json", false },
    { "report", "report @F/measure/llama-bench.json --hw h100-sxm", false },
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
    { "ppl", "ppl -m @F/llama-2l.gguf --ids @I/ids -c 16 -t 2 -o csv --quiet", true },
    { "tokenize", "tokenize -m @I/spm.gguf abc -o ids", false },
    { "bench", "bench --brief -m @F/llama-2l.gguf -p 8 -n 2 -r 1 -t 2 --quiet --save b.json", true },
    { "bench-ops", "bench --brief -m @F/llama-2l.gguf -p 8 -n 2 -r 1 -t 1 --quiet --ops -o json", true },
    { "compare", "profile --compare @T/tests/report/cpu.json @T/tests/report/curves.json", false },
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

/* fault: NULL, one of the library's, or "disk:BYTES". log: where the library writes, -1: it is not loaded. */
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
    } else if (fault) {
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

static void run(struct outcome *o, char *const argv[], const char *fault, int log)
{
    int errors[2];
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
    const double end = now_s() + LIMIT_S;
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
static const char *judge(const struct command *c, const struct outcome *o, const struct outcome *right, char *buf, size_t size)
{
    if (o->status == -1)
        return "hangs";
    if (!WIFEXITED(o->status)) {
        snprintf(buf, size, "signal %d (%s)", WTERMSIG(o->status), strsignal(WTERMSIG(o->status)));
        return buf;
    }
    const int status = WEXITSTATUS(o->status);
    if (status > 3) {
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
        return strstr(o->errors, "roofcast") ? NULL : "fails and says nothing";
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
        const size_t size = right->file[i].size, ends[] = { 0, 1, size / 2, size > 2 ? size - 2 : 0 }; /* a text may lose the end of its last line */
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
    run(&o, argv, fault, fileno(log));
    const char *wrong = judge(c, &o, right, buf, sizeof buf);
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
    run(&right, argv, NULL, fileno(log));
    const char *wrong = judge(c, &right, &right, buf, sizeof buf);
    if (wrong || right.status != 0) {
        printf("# %s without a fault: %s: %s\n", c->name, wrong ? wrong : "fails", right.errors);
        t.bad++;
    } else if (only) {
        try_fault(&t, c, argv, only, &right, true);
    } else {
        plan(&memory, &others, log, &right);
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

int main(int argc, char **argv)
{
    const bool all = argc > 1 && strcmp(argv[1], "--all") == 0;
    const char *only = argc > 1 + all ? argv[1 + all] : NULL, *fault = argc > 2 + all ? argv[2 + all] : NULL;
    struct tally sum = { 0 };
    int n = 0;
    top = getenv("top_srcdir");
    program = getenv("ROOFCAST");
    library = getenv("FAULTS_LIBRARY");
    if (!top || !program || !library) {
        printf("1..0 # SKIP ROOFCAST, FAULTS_LIBRARY and top_srcdir say what is tried\n");
        return 0;
    }
    make_inputs();
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (only && strcmp(only, commands[i].name) != 0)
            continue;
        const struct tally t = torture(&commands[i], all, fault);
        printf("%s %d - %s\n", t.bad ? "not ok" : "ok", ++n, commands[i].name);
        printf("# %s: %ld faults, %ld wrong, %ld exceptions\n", commands[i].name, t.runs, t.bad, t.excepted);
        fflush(stdout);
        sum.runs += t.runs;
        sum.bad += t.bad;
        sum.excepted += t.excepted;
    }
    remove_inputs();
    printf("# %ld faults, %ld wrong, %ld exceptions\n1..%d\n", sum.runs, sum.bad, sum.excepted, n);
    return sum.bad || n == 0;
}
