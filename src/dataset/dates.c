/* Dates in texts: "2024-05-10", "20240510", "10.05.2024", "May 2024; build 4426e298 (2824)", "10 january 2025", "2025". */
#include "dataset/internal.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FIRST_YEAR = 1970, LAST_YEAR = 2099, DIGITS_YEAR = 4, DIGITS_DATE = 8, DECEMBER = 12 };

static const char *const months[] = { "january", "february", "march",     "april",   "may",      "june",
                                      "july",    "august",   "september", "october", "november", "december" };

/* Month of a whole word at s: "Jan", "JAN.", "Sept", "January"; 0: none. */
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

/* First month name in a text; NULL: none. */
static const char *find_month(const char *text, int *month)
{
    for (const char *p = text; *p; p++) {
        *month = p == text || !isalnum((unsigned char)p[-1]) ? month_at(p) : 0;
        if (*month > 0)
            return p;
    }
    *month = 0;
    return NULL;
}

static size_t digits(const char *s)
{
    return strspn(s, "0123456789");
}

/* Day next to a month name: "31 June", "1st June", "June 31"; 0: none. name points into text. */
static int day_of_month(const char *text, const char *name)
{
    const char *s = name;
    while (s > text && strchr(" .-", s[-1]))
        s--;
    const char *const end = s;
    while (s > text && end - s < 2 && strchr("sthndr", s[-1]))
        s--;
    if (s == text || !isdigit((unsigned char)s[-1]))
        s = end;
    const char *const after = s;
    while (s > text && isdigit((unsigned char)s[-1]))
        s--;
    const bool inner = s > text && (isalnum((unsigned char)s[-1]) || strchr(".:-/_", s[-1])); /* part of a version or a time */
    if (s < after && after - s <= 2 && !inner)
        return atoi(s);
    while (isalpha((unsigned char)*name))
        name++;
    name += strspn(name, " .-");
    const size_t n = digits(name);
    const bool ends = !isalpha((unsigned char)name[n]) || strncasecmp(name + n, "st", 2) == 0 || strncasecmp(name + n, "nd", 2) == 0 ||
                      strncasecmp(name + n, "rd", 2) == 0 || strncasecmp(name + n, "th", 2) == 0;
    return n >= 1 && n <= 2 && ends && name[n] != ':' && name[n] != '.' ? atoi(name) : 0;
}

static int days_of(int year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

/* Number after `sign` at s ("-05", "/5"), not followed by a letter other than a time's T. Returns the text after it; NULL: none. */
static const char *part_at(const char *s, char sign, int *value)
{
    const size_t n = *s == sign ? digits(s + 1) : 0;
    if (n < 1 || n > 2 || (isalpha((unsigned char)s[1 + n]) && s[1 + n] != 'T') || s[1 + n] == '_')
        return NULL;
    *value = atoi(s + 1);
    return s + 1 + n;
}

static bool is_year(int year)
{
    return year >= FIRST_YEAR && year <= LAST_YEAR;
}

static bool is_day(int year, int month, int day)
{
    return is_year(year) && month >= 1 && month <= DECEMBER && day >= 1 && day <= days_of(year, month);
}

/* Month and day after a year; "2025-13-45" is a false date. After a point (also used in versions) a month has two digits. */
static enum measure_date_kind date_at(const char *s, int *year, int *month)
{
    const char sign = s[DIGITS_YEAR];
    int day = 0;
    *year = atoi(s);
    *month = 0;
    const bool parted = sign == '-' || sign == '/' || (sign == '.' && digits(s + DIGITS_YEAR + 1) == 2);
    const char *const after = parted ? part_at(s + DIGITS_YEAR, sign, month) : NULL;
    if (!after)
        return is_year(*year) ? MEASURE_DATE : MEASURE_NO_DATE;
    const bool real = is_year(*year) && *month >= 1 && *month <= DECEMBER;
    if (*after == sign && isdigit((unsigned char)after[1]) && !(real && part_at(after, sign, &day) && is_day(*year, *month, day)) && sign != '.')
        return MEASURE_FALSE_DATE;
    if (real)
        return MEASURE_DATE;
    *month = 0; /* "2024-25" */
    return is_year(*year) ? MEASURE_DATE : MEASURE_NO_DATE;
}

/* "20240510" */
static enum measure_date_kind compact_at(const char *s, int *year, int *month)
{
    const int date = atoi(s);
    *year = date / 10000;
    *month = date / 100 % 100;
    return is_day(*year, *month, date % 100) ? MEASURE_DATE : MEASURE_NO_DATE;
}

/*
 * Dates ending in a year: "10.05.2024", "5/20/2024", "05/2024". With points the day is first; with slashes the order is ambiguous:
 * "5/6/2024" has no known month, "5/5/2024" has.
 */
static enum measure_date_kind date_to(const char *s, int *year, int *month)
{
    int part[2], n = 0;
    const size_t first = digits(s);
    const char sign = s[first];
    if (sign != '.' && sign != '/' && sign != '-')
        return MEASURE_NO_DATE;
    while (n < 2 && digits(s) >= 1 && digits(s) <= 2 && s[digits(s)] == sign) {
        part[n++] = atoi(s);
        s += digits(s) + 1;
    }
    if (n == 0 || digits(s) != DIGITS_YEAR || isalnum((unsigned char)s[DIGITS_YEAR]) ||
        (s[DIGITS_YEAR] && strchr("./-_", s[DIGITS_YEAR]) && isalnum((unsigned char)s[DIGITS_YEAR + 1])))
        return MEASURE_NO_DATE;
    *year = atoi(s);
    *month = 0;
    if (n == 1) {
        *month = part[0];
        return (sign != '.' || first == 2) && is_year(*year) && part[0] >= 1 && part[0] <= DECEMBER ? MEASURE_DATE : MEASURE_NO_DATE;
    }
    const bool day_first = is_day(*year, part[1], part[0]), month_first = sign != '.' && is_day(*year, part[0], part[1]);
    if (!day_first && !month_first)
        return sign == '.' ? MEASURE_NO_DATE : MEASURE_FALSE_DATE;
    *month = !day_first ? part[0] : !month_first || part[0] == part[1] ? part[1] : 0;
    return MEASURE_DATE;
}

/* Date of any form at s, at a word boundary. */
static enum measure_date_kind any_at(const char *s, int *year, int *month)
{
    const size_t n = digits(s);
    if (n == 1 || n == 2)
        return date_to(s, year, month);
    if (isalpha((unsigned char)s[n]) || (n != DIGITS_YEAR && n != DIGITS_DATE))
        return MEASURE_NO_DATE;
    return n == DIGITS_DATE ? compact_at(s, year, month) : date_at(s, year, month);
}

enum measure_date_kind measure_date(const char *text, int *year, int *month)
{
    *year = *month = 0;
    for (const char *y = text; *y; y++) {
        if (y > text && (isalnum((unsigned char)y[-1]) || y[-1] == '.'))
            continue;
        const enum measure_date_kind kind = any_at(y, year, month);
        const char *const name = kind == MEASURE_DATE && *month == 0 ? find_month(text, month) : NULL;
        const int day = name ? day_of_month(text, name) : 0;
        if (day > days_of(*year, name ? *month : 1))
            return MEASURE_FALSE_DATE;
        if (kind != MEASURE_NO_DATE)
            return kind;
    }
    *year = *month = 0;
    return MEASURE_NO_DATE;
}

static bool has_date(const char *text)
{
    static const char commit[] = "commit "; /* a hash without digits: one in a thousand */
    return text[strcspn(text, "0123456789")] != 0 || strncasecmp(text, commit, sizeof commit - 1) == 0;
}

const char *measure_date_remark(const char *text)
{
    int year, month;
    if (*text && !has_date(text))
        return "has no date, build or version: assumed current";
    if (any_at(text, &year, &month) == MEASURE_DATE && year < MEASURE_FIRST_YEAR)
        return "is before the first measurements: assumed current";
    return NULL;
}
