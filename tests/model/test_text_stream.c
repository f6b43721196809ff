/* Streaming text: what comes out and when, around stop texts and unfinished UTF-8 characters. */
#include "../test.h"
#include "model/text_stream.h"

/* Feed the pieces (separated by |); what came out after each is in `steps` the same way, the end's last. */
static void expect(const char *const *stops, const char *pieces, const char *steps, const char *stopped_by)
{
    struct stop_list l = { 0 };
    struct error err = { 0 };
    struct strbuf found = { 0 };
    size_t seen = 0;
    for (; *stops; stops++)
        assert_ok(stop_list_add(&l, *stops, &err), err);
    struct text_stream t = { .stops = &l };
    for (const char *p = pieces;;) {
        const size_t n = strcspn(p, "|");
        text_stream_add(&t, p, n);
        if (t.out.len > seen)
            strbuf_add(&found, t.out.s + seen, t.out.len - seen);
        strbuf_adds(&found, "|");
        seen = t.out.len;
        if (!p[n])
            break;
        p += n + 1;
    }
    text_stream_end(&t);
    if (t.out.len > seen)
        strbuf_add(&found, t.out.s + seen, t.out.len - seen);
    assert_string_equal(found.s, steps);
    if (stopped_by)
        assert_string_equal(t.stopped_by, stopped_by);
    else
        assert_null(t.stopped_by);
    strbuf_free(&found);
    text_stream_free(&t);
    stop_list_free(&l);
}

#define STOPS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define NONE       ((const char *const[]){ NULL })

static void characters(void **state)
{
    (void)state;
    expect(NONE, "a|b|c", "a|b|c|", NULL);
    expect(NONE, "\xE2|\x82|\xAC!", "||\xE2\x82\xAC!|", NULL);
    expect(NONE, "a\xF0\x9F|\x98\x81" "b", "a|\xF0\x9F\x98\x81" "b|", NULL);
    expect(NONE, "a\xE2\x82", "a|", NULL);                        /* never finished: left out */
    expect(NONE, "\xFF|\xC3|\xC3|\xA9", "\xFF||\xC3|\xC3\xA9|", NULL); /* broken bytes go out as they are */
    expect(NONE, "||", "|||", NULL);
}

static void stops(void **state)
{
    (void)state;
    expect(STOPS("END"), "one END two", "one |", "END");
    expect(STOPS("END"), "one E|N|D two|more", "one ||||", "END");
    expect(STOPS("END"), "one EN|TER", "one |ENTER|", NULL); /* it was none */
    expect(STOPS("END"), "one EN", "one |EN", NULL);         /* it came to nothing: out at the end */
    expect(STOPS("END"), "EE|EN|D", "E|E||", "END");
    expect(STOPS("aab"), "aaa|a|b", "a|a||", "aab");
    expect(STOPS("x", "\n\n"), "a\n|\nb", "a||", "\n\n");
    expect(STOPS("bc", "b"), "abc", "a|", "bc"); /* the longer of two that begin together */
    expect(STOPS("b", "bc"), "abc", "a|", "bc");
    expect(STOPS("cd", "bcde"), "abcd", "ab|", "cd"); /* the one that is there */
}

static void stops_and_characters(void **state)
{
    (void)state;
    /* U+20AC in three pieces, as a stop text and beside one */
    expect(STOPS("\xE2\x82\xAC"), "5 \xE2|\x82|\xAC", "5 |||", "\xE2\x82\xAC");
    expect(STOPS("\xE2\x82\xAC"), "5 \xE2|\x82|\xA3", "5 ||\xE2\x82\xA3|", NULL); /* U+20A3 begins alike */
    expect(STOPS("\xAC!"), "\xE2\x82|\xAC|?", "||\xE2\x82\xAC?|", NULL); /* a character is never cut by holding back */
    expect(STOPS("END"), "\xE2\x82|\xAC" "E|ND", "|\xE2\x82\xAC||", "END");
}

static void refusals(void **state)
{
    (void)state;
    struct stop_list l = { 0 };
    struct error err = { 0 };
    assert_fails(stop_list_add(&l, "", &err), err, "--stop: expected a text, found an empty one");
    for (int i = 0; i < 100; i++)
        assert_ok(stop_list_add(&l, "x", &err), err);
    assert_int_equal(l.n, 100);
    stop_list_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters),
        cmocka_unit_test(stops),
        cmocka_unit_test(stops_and_characters),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests_name("text_stream", tests, NULL, NULL);
}
