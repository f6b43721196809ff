/* Counting by a helper in a process of its own: scripts in LIKWID's place that count, refuse, die, hang, and give absurd numbers. */
#include "tree.h"
#include "counters/child.h"
#include "counters/counters.h"
#include <math.h>
#include <signal.h>
#include <sys/wait.h>

static char root[64], helper[512];

static void script(const char *body)
{
    char text[4096];
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", body);
    tree_put(root, "helper", text);
    assert_int_equal(chmod(tree_path(helper, root, "helper"), 0755), 0);
}

static int setup(void **state)
{
    (void)state;
    tree_new(root);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tree_free(root);
    return 0;
}

/* ---- the child ---------------------------------------------------------------------------------------------- */

static void child_must_start(struct child *c)
{
    struct error err = { 0 };
    char *argv[] = { helper, NULL };
    assert_ok(child_start(c, argv, &err), err);
}

static void talks(void **state)
{
    (void)state;
    struct child c;
    char answer[64], why[200];
    script("echo hello; while read -r line; do echo \"<$line>\"; echo second; done");
    child_must_start(&c);
    assert_int_equal(child_ask(&c, NULL, answer, sizeof answer, 20, why, sizeof why), 0);
    assert_string_equal(answer, "hello");
    assert_int_equal(child_ask(&c, "a b", answer, sizeof answer, 20, why, sizeof why), 0);
    assert_string_equal(answer, "<a b>");
    assert_int_equal(child_ask(&c, NULL, answer, sizeof answer, 20, why, sizeof why), 0);
    assert_string_equal(answer, "second");
    child_stop(&c);
    child_stop(&c);
    assert_int_equal(child_ask(&c, "x", answer, sizeof answer, 20, why, sizeof why), -1);
    assert_string_equal(why, "its helper is gone");
}

/* Its status and its last words; writing to it is no signal to us. */
static void dies(void **state)
{
    (void)state;
    struct child c;
    char answer[64], why[200];
    script("echo some noise >&2; echo 'Cannot access MSR' >&2; exit 7");
    child_must_start(&c);
    assert_int_equal(child_ask(&c, NULL, answer, sizeof answer, 20, why, sizeof why), -1);
    assert_string_equal(why, "its helper ended (status 7): Cannot access MSR");
    child_stop(&c);
    script("kill -ABRT $$");
    child_must_start(&c);
    assert_int_equal(child_ask(&c, NULL, answer, sizeof answer, 20, why, sizeof why), -1);
    assert_non_null(strstr(why, "its helper died of signal 6"));
    assert_int_equal(child_ask(&c, "read", answer, sizeof answer, 20, why, sizeof why), -1);
    child_stop(&c);
}

static void hangs(void **state)
{
    (void)state;
    struct child c;
    char answer[64], why[200];
    script("exec sleep 60");
    child_must_start(&c);
    const pid_t pid = c.pid;
    assert_int_equal(child_ask(&c, "read", answer, sizeof answer, 0.1, why, sizeof why), -1);
    assert_string_equal(why, "its helper did not answer within 0.1 s");
    assert_int_equal(kill(pid, 0), -1); /* killed, and buried */
    child_stop(&c);
}

/* Complaints that nobody reads would fill the pipe and stop it. */
static void complains(void **state)
{
    (void)state;
    struct child c;
    char answer[64], why[200];
    script("i=0; while [ $i -lt 3000 ]; do echo 'a complaint of some length, again and again' >&2; i=$((i+1)); done; echo done");
    child_must_start(&c);
    assert_int_equal(child_ask(&c, NULL, answer, sizeof answer, 60, why, sizeof why), 0);
    assert_string_equal(answer, "done");
    child_stop(&c);
}

static void absent(void **state)
{
    (void)state;
    struct child c;
    struct error err = { 0 };
    char *argv[] = { (char[]){ "/nonexistent/helper" }, NULL };
    assert_fails(child_start(&c, argv, &err), err, "/nonexistent/helper: No such file");
    child_stop(&c);
}

/* ---- the backend -------------------------------------------------------------------------------------------- */

static struct counters *try_open(const struct counter_source *src, struct error *err)
{
    return counters_open(&(struct counters_options){ .backend = "likwid", .src = src, .n_threads = 2, .uncalibrated = true,
                                                     .likwid_helper = helper },
                         err);
}

static struct counters *must_open(const struct counter_source *src)
{
    struct error err = { 0 };
    struct counters *c = try_open(src, &err);
    if (!c)
        fail_msg("counters_open: %s", err.msg);
    assert_ok(counters_thread_start(c, 0, &err), err);
    assert_ok(counters_thread_start(c, 1, &err), err);
    return c;
}

static void close_all(struct counters *c)
{
    counters_thread_stop(c, 0);
    counters_thread_stop(c, 1);
    counters_close(c);
}

/* Two groups: the first counts memory, 1000 and 500 a reading, the second FLOP, 70. */
static void counts(void **state)
{
    (void)state;
    struct counter_source src = { .bytes = 5 };
    struct counter_sample a, b, d, part[2], sum;
    script("echo roofcast-likwid 1\n"
           "echo event 0 dram_read_bytes MEM: Memory read data volume\n"
           "echo event 0 dram_write_bytes MEM: Memory write data volume\n"
           "echo event 1 flop FLOPS_SP: SP\n"
           "echo ready 3\n"
           "r=0 w=0 f=0 set=0\n"
           "while read -r what k; do case $what in\n"
           "set) set=$k; echo set $k;;\n"
           "read) if [ $set = 0 ]; then r=$((r+1000)) w=$((w+500)); else f=$((f+70)); fi; echo counts $r.25 $w $f;;\n"
           "esac; done");
    struct counters *c = must_open(&src);
    assert_string_equal(counters_name(c), "likwid");
    assert_int_equal(counters_n_set(c), 2);
    assert_int_equal(counters_field_source(c, COUNTER_DRAM_BYTES), SOURCE_UNCORE_COUNTERS);
    assert_int_equal(counters_field_source(c, COUNTER_FLOP), SOURCE_CORE_COUNTERS);
    counters_read(c, 0, &a);
    src.bytes += 9;
    counters_read(c, 0, &b);
    counter_sample_diff(&d, &a, &b);
    assert_int_equal(d.value[COUNTER_DRAM_READ_BYTES], 1000);
    assert_int_equal(d.value[COUNTER_DRAM_WRITE_BYTES], 500);
    assert_true(d.valid[COUNTER_DRAM_BYTES]);
    assert_int_equal(d.value[COUNTER_DRAM_BYTES], 1500);
    assert_false(d.valid[COUNTER_FLOP]); /* of the other set */
    assert_int_equal(d.value[COUNTER_SW_BYTES], 9);
    part[0] = d;
    counters_thread_select(c, 0, 1);
    counters_thread_select(c, 1, 1);
    counters_read(c, 0, &a);
    counters_read(c, 0, &b);
    counter_sample_diff(&part[1], &a, &b);
    assert_int_equal(part[1].value[COUNTER_FLOP], 70);
    assert_false(part[1].valid[COUNTER_DRAM_BYTES]);
    counters_join(c, part, &sum);
    assert_int_equal(sum.value[COUNTER_DRAM_BYTES], 1500);
    assert_int_equal(sum.value[COUNTER_FLOP], 70);
    counters_read(c, 1, &b); /* a socket's traffic is not counted twice */
    assert_int_equal(b.value[COUNTER_FLOP], 0);
    close_all(c);
}

static void open_refused(const char *body, const char *text)
{
    struct error err = { 0 };
    script(body);
    assert_null(try_open(NULL, &err));
    assert_int_equal(err.kind, ERROR_UNAVAILABLE);
    if (!strstr(err.msg, text))
        fail_msg("\"%s\" lacks \"%s\"", err.msg, text);
}

static void refused(void **state)
{
    (void)state;
    open_refused("echo roofcast-likwid 1; echo refused no /dev/cpu/0/msr: modprobe msr", "likwid: no /dev/cpu/0/msr: modprobe msr");
    open_refused("echo roofcast-likwid 2; sleep 5", "speaks another protocol: \"roofcast-likwid 2\"");
    open_refused("echo roofcast-likwid 1; echo ready 0", "its helper said \"ready 0\"");
    open_refused("echo roofcast-likwid 1; echo event 0 cookies MEM: x; echo ready 1", "its helper said \"event 0 cookies");
    open_refused("echo roofcast-likwid 1; echo event 99 flop MEM: x; echo ready 1", "its helper said \"event 99 flop");
    open_refused("echo roofcast-likwid 1; echo event 0 flop MEM: x; echo ready 2", "its helper said \"ready 2\"");
    /* perfmon_init without access: ten seconds, then exit(1) */
    open_refused("echo roofcast-likwid 1; echo 'Cannot get access' >&2; exit 1", "its helper ended (status 1): Cannot get access");
    struct error err = { 0 };
    snprintf(helper, sizeof helper, "/nonexistent/roofcast-likwid");
    assert_null(try_open(NULL, &err));
    assert_non_null(strstr(err.msg, "not built in (configure --with-likwid=yes; no /nonexistent/roofcast-likwid"));
}

/* What a read gives, after a first one that gave 0: the reason names what is wrong, and the other event goes on. */
static void check_absurd(const char *value, const char *text)
{
    char body[512];
    struct counter_sample s;
    snprintf(body, sizeof body,
             "echo roofcast-likwid 1; echo event 0 dram_read_bytes MEM: x; echo event 0 flop FLOPS: y; echo ready 2\n"
             "read -r what; echo counts 0 0\nread -r what; echo counts 0 0\n"
             "while read -r what; do echo counts %s 8; done",
             value);
    script(body);
    struct counters *c = must_open(NULL);
    counters_read(c, 0, &s);
    assert_true(s.valid[COUNTER_DRAM_READ_BYTES]);
    counters_read(c, 0, &s);
    assert_false(s.valid[COUNTER_DRAM_READ_BYTES]);
    assert_true(s.valid[COUNTER_FLOP]);
    if (!strstr(counters_reason(c, COUNTER_DRAM_READ_BYTES), text))
        fail_msg("%s: reason \"%s\" lacks \"%s\"", value, counters_reason(c, COUNTER_DRAM_READ_BYTES), text);
    assert_string_equal(counters_reason(c, COUNTER_FLOP), "");
    counters_read(c, 0, &s); /* for good */
    assert_false(s.valid[COUNTER_DRAM_READ_BYTES]);
    close_all(c);
}

static void absurd(void **state)
{
    (void)state;
    check_absurd("1.8446744073709552e+19", "1.84e+19 bytes in");
    check_absurd("nan", "is not a count");
    check_absurd("inf", "a memory channel that is not there?");
    check_absurd("-5", "-5 bytes");
}

/* The helper ends, or says something else, in the middle of a run: from then on its fields are not valid, the engine's own are. */
static void lost(void **state)
{
    (void)state;
    static const struct {
        const char *then, *text;
    } cases[] = {
        { "echo 'bus error in LIKWID' >&2; exit 3", "LIKWID: its helper ended (status 3): bus error in LIKWID" },
        { "echo what", "answers with something else" },
        { "echo 'counts '", "fewer counts" },
    };
    struct counter_source src = { 0 };
    struct counter_sample s;
    char body[512];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        snprintf(body, sizeof body, "echo roofcast-likwid 1; echo event 0 flop FLOPS: y; echo ready 1; read -r w; echo counts 1; read -r w\n%s",
                 cases[i].then);
        script(body);
        struct counters *c = must_open(&src);
        counters_read(c, 0, &s);
        assert_false(s.valid[COUNTER_FLOP]);
        assert_true(s.valid[COUNTER_SW_FLOP]);
        if (!strstr(counters_reason(c, COUNTER_FLOP), cases[i].text))
            fail_msg("reason \"%s\" lacks \"%s\"", counters_reason(c, COUNTER_FLOP), cases[i].text);
        counters_read(c, 0, &s); /* and nobody is asked again */
        close_all(c);
    }
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = { CASE(talks),  CASE(dies),    CASE(hangs),  CASE(complains), CASE(absent),
                                        CASE(counts), CASE(refused), CASE(absurd), CASE(lost) };
    return cmocka_run_group_tests_name("likwid", tests, NULL, NULL);
}
