/* What doctor advises where PAPI counts nothing: its reasons are PAPI's own words, which no tree of files brings about. */
#include "../test.h"
#include "bench/doctor.h"

static void papi(void **state)
{
    (void)state;
    const struct doctor_system pmu = { .root = "", .core_pmu = "cpu" }, none = { .root = "" };
    static const struct {
        const char *reason;
        bool pmu;
        const char *fix;
    } cases[] = {
        { "not built in (configure --with-papi=yes needs papi and libsde)", true, "apt install libpapi-dev" },
        { "PAPI component perf_event disabled: Error libpfm4 no default PMU found", true, "--counters perf, which needs no table" },
        { "PAPI component perf_event disabled: Error libpfm4 no default PMU found", false, "what helps perf" },
        { "PAPI component perf_event disabled: perf_event support not detected: /proc/sys/kernel/perf_event_paranoid is 3", true,
          "PAPI 7.0.0 refuses above 2 even to root" },
        { "PAPI: PAPI_TOT_CYC: Event does not exist", true, "--counters perf" },
        { "PAPI: PAPI_TOT_CYC: Event does not exist", false, "what helps perf" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *fix = doctor_papi_fix(cases[i].reason, cases[i].pmu ? &pmu : &none);
        if (!strstr(fix, cases[i].fix))
            fail_msg("%s: advice \"%s\" lacks \"%s\"", cases[i].reason, fix, cases[i].fix);
    }
    assert_string_equal(doctor_papi_fix("PAPI_library_init: something new", &pmu), "");
}

/* Every check says something, and what is usable needs no excuse. */
static void checks(void **state)
{
    (void)state;
    const struct doctor_system f = { .root = "/nonexistent", .paranoid = DOCTOR_UNKNOWN, .cycles_errno = DOCTOR_UNKNOWN, .family = -1 };
    struct doctor_row r;
    for (size_t i = 0; doctor_check(i, &f, &r); i++) {
        assert_string_equal(r.name, doctor_check_name(i));
        if (!r.finding[0])
            fail_msg("%s says nothing", r.name);
    }
    assert_null(doctor_check_name(64));
    assert_false(doctor_check(64, &f, &r));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(papi), cmocka_unit_test(checks) };
    return cmocka_run_group_tests_name("doctor", tests, NULL, NULL);
}
