/* Result files and programs: what a link, a signal, a killed process and a program that hangs leave behind. */
#include "tests/test.h"
#include "base/program.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[256];

static int make_dir(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/roofcast-files-XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    char cmd[300];
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", dir);
    return system(cmd);
}

static const char *at(const char *name)
{
    static char path[4][512];
    static unsigned next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", dir, name);
    return p;
}

/* Files in the folder with that in their names. */
static int count(const char *part)
{
    int n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        n += strstr(e->d_name, part) != NULL;
    closedir(d);
    return n;
}

static void write_file(const char *path, const char *text)
{
    struct error err = { 0 };
    struct outfile o;
    assert_ok(outfile_open(&o, path, &err), err);
    fputs(text, o.f);
    assert_ok(outfile_commit(&o, &err), err);
}

static void assert_holds(const char *path, const char *text)
{
    struct error err = { 0 };
    struct filemap m;
    assert_ok(filemap_open(&m, path, &err), err);
    assert_int_equal(m.size, strlen(text));
    assert_memory_equal(m.data, text, m.size);
    filemap_close(&m);
}

static void test_links(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct outfile o;
    struct stat st;
    assert_int_equal(mkdir(at("sub"), 0777), 0);
    assert_int_equal(symlink("sub/there", at("dangling")), 0);
    assert_int_equal(symlink(at("dangling"), at("sub/second")), 0); /* absolute, then relative to where that link is */
    write_file(at("sub/second"), "one");
    assert_holds(at("sub/there"), "one");
    write_file(at("dangling"), "two"); /* now it points to a file */
    assert_holds(at("sub/there"), "two");
    assert_int_equal(lstat(at("dangling"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(symlink("loop", at("loop")), 0);
    assert_fails(outfile_open(&o, at("loop"), &err), err, "symbolic links");
    assert_int_equal(symlink("nowhere/x", at("lost")), 0);
    assert_fails(outfile_open(&o, at("lost"), &err), err, "No such file");
    const int fd = open(at("sub/there"), O_WRONLY | O_APPEND); /* a link to what the system has open is no link to the file */
    char own[64];
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    assert_int_equal(symlink(own, at("open")), 0);
    write_file(at("open"), " more");
    assert_holds(at("sub/there"), "two more");
    close(fd);
    assert_int_equal(count(".tmp"), 0);
}

/* A child that is killed, also with a test that fails. */
static pid_t start_child(void)
{
    const pid_t pid = fork();
    if (pid == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return pid;
}

/* A child that has an output open and says so; it lives until it is killed. */
static pid_t start_writer(const char *path)
{
    int ready[2];
    char c;
    assert_int_equal(pipe(ready), 0);
    const pid_t pid = start_child();
    if (pid == 0) {
        struct error err = { 0 };
        struct outfile o;
        if (outfile_open(&o, path, &err) == 0 && fputs("half", o.f) >= 0 && fflush(o.f) == 0 && write(ready[1], "", 1) == 1)
            pause();
        _exit(9);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    return pid;
}

static void test_abandoned(void **state)
{
    (void)state;
    const pid_t living = start_writer(at("out.json")), dying = start_writer(at("out.json"));
    assert_int_equal(kill(dying, SIGKILL), 0);
    assert_int_equal(waitpid(dying, NULL, 0), dying);
    assert_int_equal(count("out.json.tmp"), 2);
    write_file(at("other.json"), "x"); /* of another name: nothing is looked at */
    assert_int_equal(count("out.json.tmp"), 2);
    write_file(at("out.json.tmp-roofcast-mine"), "of another program");
    write_file(at("out.json"), "whole");
    assert_int_equal(count("out.json.tmp"), 2); /* of the live process, and the other program's */
    assert_holds(at("out.json.tmp-roofcast-mine"), "of another program");
    kill(living, SIGKILL);
    waitpid(living, NULL, 0);
    write_file(at("out.json"), "again");
    assert_int_equal(count("out.json.tmp"), 1);
    assert_holds(at("out.json"), "again");
}

static void test_long_name(void **state)
{
    (void)state;
    char name[251];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    write_file(at(name), "x"); /* has room for no suffix */
    assert_holds(at(name), "x");
    assert_int_equal(count(".tmp"), 1); /* the other program's, above */
}

static void test_abandoned_folder(void **state)
{
    (void)state;
    struct error err = { 0 };
    int ready[2];
    char c, mine[300], file[400];
    assert_int_equal(pipe(ready), 0);
    const pid_t pid = start_child();
    if (pid == 0) {
        snprintf(mine, sizeof mine, "%s/work-XXXXXX", dir);
        const int fd = temporary_folder(mine, &err);
        snprintf(file, sizeof file, "%s/big", mine);
        if (fd >= 0 && close(open(file, O_CREAT | O_WRONLY, 0666)) == 0 && write(ready[1], "", 1) == 1)
            pause();
        _exit(9);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    snprintf(mine, sizeof mine, "%s/work-XXXXXX", dir);
    int fd = temporary_folder(mine, &err);
    assert_true(fd >= 0);
    assert_int_equal(count("work-"), 2); /* the other one lives */
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    char second[300];
    snprintf(second, sizeof second, "%s/work-XXXXXX", dir);
    const int fd2 = temporary_folder(second, &err);
    assert_true(fd2 >= 0);
    assert_int_equal(count("work-"), 2);
    rmdir(mine);
    rmdir(second);
    temporary_forget(mine);
    temporary_forget(second);
    close(fd);
    close(fd2);
}

/* ---- signals ---------------------------------------------------------------------------------------------------- */

/* The child's end after it has a file, a folder with a file and a program that run, and got that signal so many times. */
static int end_by(int sig, int times)
{
    const pid_t pid = fork();
    if (pid == 0) {
        struct error err = { 0 };
        struct outfile o;
        char folder[300], file[400];
        signal(SIGHUP, SIG_DFL); /* nohup, or a runner of tests, may have this process ignore them */
        signal(SIGPIPE, SIG_DFL);
        interrupt_install();
        snprintf(folder, sizeof folder, "%s/folder-XXXXXX", dir);
        if (outfile_open(&o, at("signal.json"), &err) != 0 || temporary_folder(folder, &err) < 0)
            _exit(9);
        snprintf(file, sizeof file, "%s/part", folder);
        close(open(file, O_CREAT | O_WRONLY, 0666));
        temporary_add(file);
        for (int i = 0; i < times; i++)
            raise(sig);
        if (sig == SIGPIPE)
            interrupt_end_by_pipe();
        if (interrupt_check(&err) != 0 && times == 1) { /* the long way: what is done is kept, then the end */
            outfile_abort(&o);
            unlink(file);
            rmdir(folder);
            _exit(strstr(err.msg, "interrupted") ? error_exit_status(&err) : 8);
        }
        _exit(7);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(count("signal.json"), 0);
    assert_int_equal(count("folder-"), 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void test_signals(void **state)
{
    (void)state;
    const int flagged[] = { SIGINT, SIGTERM, SIGHUP, SIGXCPU };
    for (size_t i = 0; i < ARRAY_LEN(flagged); i++)
        assert_int_equal(end_by(flagged[i], 1), 130);
    assert_int_equal(end_by(SIGINT, 2), -SIGINT);
    assert_int_equal(end_by(SIGTERM, 2), -SIGTERM);
    assert_int_equal(end_by(SIGBUS, 1), 1);
    assert_int_equal(end_by(SIGPIPE, 1), -SIGPIPE);
}

static void test_many_seconds_of_cpu(void **state)
{
    (void)state;
    struct error err = { 0 };
    const pid_t pid = fork();
    if (pid == 0) {
        interrupt_install();
        for (int i = 0; i < 3; i++)
            raise(SIGXCPU); /* one a second: time to keep what is done */
        _exit(interrupt_check(&err) != 0 && strstr(err.msg, "CPU time") ? 0 : 9);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- programs ------------------------------------------------------------------------------------------------------ */

static enum program_end sh(struct program *p, const char *script, double timeout_s)
{
    char name[] = "sh", c[] = "-c", *argv[] = { name, c, (char *)(uintptr_t)script, NULL };
    p->argv = argv;
    p->timeout_s = timeout_s;
    const enum program_end end = program_run(p);
    p->argv = NULL;
    return end;
}

/* Gone, or a zombie that its new parent has not reaped. */
static bool dead(int pid)
{
    char path[64], state = 'Z';
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
        state = 'Z';
    if (f)
        fclose(f);
    return state == 'Z' || state == 'X';
}

static void test_programs(void **state)
{
    (void)state;
    char text[64], script[900];
    struct program p = { .output = true, .text = text, .size = sizeof text };
    assert_int_equal(sh(&p, "echo out; echo err >&2; exit 3", 60), PROGRAM_ENDED);
    assert_string_equal(text, "out\nerr\n");
    assert_true(WIFEXITED(p.status) && WEXITSTATUS(p.status) == 3);
    p.output = false;
    assert_int_equal(sh(&p, "echo out; echo err >&2; kill -9 $$", 60), PROGRAM_ENDED);
    assert_string_equal(text, "err\n");
    assert_true(WIFSIGNALED(p.status));
    assert_int_equal(sh(&p, "i=0; while [ $i -lt 2000 ]; do echo 0123456789; i=$((i + 1)); done >&2", 60), PROGRAM_ENDED);
    assert_int_equal(p.n_text, sizeof text - 1);
    /* What it has started may go on and hold its output: that is not its end. */
    assert_int_equal(mkfifo(at("fifo"), 0666), 0);
    snprintf(script, sizeof script, "(read x <'%s') & echo $! >&2", at("fifo"));
    int pid[2] = { 0 };
    assert_int_equal(sh(&p, script, 60), PROGRAM_ENDED);
    assert_int_equal(sscanf(text, "%d", &pid[0]), 1);
    assert_false(dead(pid[0]));
    const int fifo = open(at("fifo"), O_RDWR | O_NONBLOCK); /* open until it has read: it may not have opened its end yet */
    assert_int_equal(write(fifo, "x\n", 2), 2);
    for (int k = 0; k < 3000 && !dead(pid[0]); k++)
        usleep(10000);
    assert_true(dead(pid[0]));
    close(fifo);
    /* Too late: it ends, and what it has started. */
    p.output = true;
    double limit_s = 0.25; /* longer where the shell does not come to its words in that time */
    do
        assert_int_equal(sh(&p, "sleep 1000 & echo $$ $!; wait", limit_s), PROGRAM_LATE);
    while (sscanf(text, "%d %d", &pid[0], &pid[1]) != 2 && (limit_s *= 4) < 100);
    assert_true(limit_s < 100);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3000 && !dead(pid[i]); k++)
            usleep(10000);
    assert_true(dead(pid[0]) && dead(pid[1]));
    char none[] = "no-such-program-here", *argv[] = { none, NULL };
    p.argv = argv;
    assert_int_equal(program_run(&p), PROGRAM_NOT_STARTED);
    assert_int_equal(p.status, ENOENT);
}

static void test_strbuf_text(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct strbuf b = { 0 };
    assert_string_equal(strbuf_text(&b, "a word", &err), "");
    strbuf_addf(&b, "%d", 12);
    assert_string_equal(strbuf_text(&b, "a word", &err), "12");
    strbuf_add(&b, "x", SIZE_MAX); /* more than there is */
    strbuf_adds(&b, "3");
    assert_null(strbuf_text(&b, "a word", &err));
    assert_int_equal(err.kind, ERROR_SYSTEM);
    assert_non_null(strstr(err.msg, "out of memory"));
    assert_non_null(strstr(err.msg, "a word"));
    strbuf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links),   cmocka_unit_test(test_abandoned), cmocka_unit_test(test_long_name),
        cmocka_unit_test(test_abandoned_folder), cmocka_unit_test(test_signals), cmocka_unit_test(test_many_seconds_of_cpu),
        cmocka_unit_test(test_programs), cmocka_unit_test(test_strbuf_text),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
