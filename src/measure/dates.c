/* Dates in texts that say when something was measured: "2024-05-10", "May 2024; build 4426e298 (2824)", "10 january 2025", "2025". */
#include "measure/internal.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FIRST_YEAR = 1970, LAST_YEAR = 2099, DIGITS_YEAR = 4 };

static const char *const months[] = { "january", "february", "march",     "april",   "may",      "june",
                                      "july",    "august",   "september", "october", "november", "december" };

/* "Jan", "JAN.", "Sept", "January" at s, a whole word: 1 to 12; 0: none. */
static int month_at(const char *s)
{
    enum { SHORTEST = 3 };
    size_t n = 0;
    while (isalpha((unsigned char)s[n]))
        n++;
    if (n < SHORTEST || isdigit((unsigned char)s[n]) || s[n] == '_')
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(months); i++)
        if (strncasecmp(s, months[i], n) == 0 && (n == SHORTEST || n == strlen(months[i]) || strncasecmp(s, "sept", n) == 0))
            return (int)i + 1;
    return 0;
}

/* The first month's name in a text. */
static int month_named(const char *text)
{
    for (const char *p = text; *p; p++) {
        const int month = p == text || !isalnum((unsigned char)p[-1]) ? month_at(p) : 0;
        if (month > 0)
            return month;
    }
    return 0;
}

static size_t digits(const char *s)
{
    return strspn(s, "0123456789");
}

static int days_of(int year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

/* "-05", "/5" at s, which no letter follows but a time's: behind it with the number, NULL: no such thing. */
static const char *part_at(const char *s, char sign, int *value)
{
    const size_t n = *s == sign ? digits(s + 1) : 0;
    if (n < 1 || n > 2 || (isalpha((unsigned char)s[1 + n]) && s[1 + n] != 'T') || s[1 + n] == '_')
        return NULL;
    *value = atoi(s + 1);
    return s + 1 + n;
}

/* Behind the year at s: "2025-13-45" is a date by its form, and none. */
static enum measure_date_kind date_at(const char *s, int *year, int *month)
{
    const char sign = s[DIGITS_YEAR];
    int day = 0;
    *year = atoi(s);
    *month = 0;
    const char *const behind = sign == '-' || sign == '/' ? part_at(s + DIGITS_YEAR, sign, month) : NULL;
    if (!behind)
        return *year >= FIRST_YEAR && *year <= LAST_YEAR ? MEASURE_DATE : MEASURE_NO_DATE;
    const bool real = *year >= FIRST_YEAR && *year <= LAST_YEAR && *month >= 1 && *month <= 12;
    if (*behind == sign && isdigit((unsigned char)behind[1]))
        return real && part_at(behind, sign, &day) && day >= 1 && day <= days_of(*year, *month) ? MEASURE_DATE : MEASURE_FALSE_DATE;
    if (real)
        return MEASURE_DATE;
    *month = 0; /* "2024-25" */
    return *year >= FIRST_YEAR && *year <= LAST_YEAR ? MEASURE_DATE : MEASURE_NO_DATE;
}

enum measure_date_kind measure_date(const char *text, int *year, int *month)
{
    *year = *month = 0;
    for (const char *y = text; *y; y++) {
        if (y > text && (isalnum((unsigned char)y[-1]) || y[-1] == '.'))
            continue;
        if (digits(y) != DIGITS_YEAR || isalpha((unsigned char)y[DIGITS_YEAR]))
            continue;
        const enum measure_date_kind kind = date_at(y, year, month);
        if (kind == MEASURE_DATE && *month == 0)
            *month = month_named(text);
        if (kind != MEASURE_NO_DATE)
            return kind;
    }
    *year = *month = 0;
    return MEASURE_NO_DATE;
}

bool measure_says_when(const char *text)
{
    static const char commit[] = "commit "; /* of letters alone, once in a thousand */
    return text[strcspn(text, "0123456789")] != 0 || strncasecmp(text, commit, sizeof commit - 1) == 0;
}
