/*
 * A report's page of arbitrary bytes: as a chart's picture it is refused, or has no element, attribute or reference that is not allowed; as a document's rows
 * it becomes a table without markup of its own.
 */
#include "fuzz.h"
#include "report/html_page.h"
#include "report/html_svg.h"
#include "report/html_write.h"
#include <stdlib.h>
#include <string.h>

/* Whether p lies between "<" and ">", outside of a value in quotes. */
static bool in_tag(const char *s, const char *p)
{
    bool tag = false, quoted = false;
    for (; s < p; s++) {
        tag = quoted ? tag : *s == '<' ? true : *s == '>' ? false : tag;
        quoted ^= tag && *s == '"';
    }
    return tag && !quoted;
}

/* No handler, no address of a script in a tag. */
static void check_attributes(const char *s)
{
    for (const char *p = s; (p = strcasestr(p, " on")) != NULL; p++)
        if (in_tag(s, p))
            abort();
    for (const char *p = s; (p = strcasestr(p, "href=\"")) != NULL; p++)
        if (in_tag(s, p) && p[6] != '#')
            abort();
}

static void picture(const uint8_t *data, size_t size)
{
    struct strbuf b = { 0 }, again = { 0 };
    struct error err = { 0 };
    if (html_svg_clean(&b, (const char *)data, size, "c", "", &err) == 0) {
        const char *s = strbuf_text(&b, "a picture", &err);
        if (!s || strcasestr(s, "<script") || strcasestr(s, "<style") || strcasestr(s, "<foreign") || strstr(s, "<!") || strstr(s, "<?"))
            abort();
        check_attributes(s);
        if (html_svg_clean(&again, s, b.len, "c", "", &err) != 0)
            abort(); /* what is clean stays clean */
    } else if (err.kind == ERROR_NONE || !err.msg[0]) {
        abort();
    }
    strbuf_free(&b);
    strbuf_free(&again);
}

static void table(const uint8_t *data, size_t size)
{
    struct error err = { 0 };
    char *text = NULL;
    size_t n = 0;
    json_t *rows = json_load_mem("input", data, size, &err);
    FILE *f = rows && json_is_array(rows) ? open_memstream(&text, &n) : NULL;
    if (f) {
        struct page p = { .title = "t" };
        page_add(&p, PAGE_TABLE, "t");
        page_say(&p, "%.*s", (int)(size < 1000 ? size : 1000), (const char *)data);
        page_json_rows(&p, rows, 100);
        if (markdown_write(f, &p, &err) != 0)
            abort();
        fclose(f);
        for (size_t i = 0; i < n; i++)
            if (text[i] == '<' || text[i] == '@' || ((unsigned char)text[i] < ' ' && text[i] != '\n'))
                abort();
        page_free(&p);
    }
    free(text);
    json_decref(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    picture(data, size);
    table(data, size);
    return 0;
}
