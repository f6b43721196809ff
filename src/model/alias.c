/* Names as people and programs write them beyond those of presets: with a type at the end ("Llama-3.1-8B-Q4_K_M",
 * "Qwen3-8B-AWQ"), with the kind of file there ("Qwen3-8B-GGUF"), and as llama-bench prints a model: architecture, size, type
 * ("qwen3moe 30B.A3B Q4_K - Medium"). */
#include "model/internal.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

/* ---- the type at the end --------------------------------------------------------------------- */

/* "Q4_K - Medium" is Q4_K_M: what llama.cpp prints of a file, and what it is called. */
static const struct {
    const char *printed, *meant;
} endings[] = {
    { " - Small", "_S" }, { " - Medium", "_M" }, { " - Large", "_L" }, { " MoE", "_MOE" }, { "-MoE", "_MOE" },
};

static bool has_end(const char *s, const char *end)
{
    const size_t n = strlen(s), k = strlen(end);
    return n > k && strcasecmp(s + n - k, end) == 0;
}

/* In place. */
static void normalize(char *s, size_t size)
{
    if (has_end(s, " (guessed)"))
        s[strlen(s) - strlen(" (guessed)")] = 0;
    for (size_t i = 0; i < ARRAY_LEN(endings); i++)
        if (has_end(s, endings[i].printed)) {
            char *end = s + strlen(s) - strlen(endings[i].printed);
            snprintf(end, size - (size_t)(end - s), "%s", endings[i].meant);
            return;
        }
    /* "IQ4_XS - 4.25 bpw" */
    char *dash = strstr(s, " - ");
    if (dash && strstr(dash, "bpw"))
        *dash = 0;
    if (strncasecmp(s, "all ", 4) == 0) /* "all F32" */
        memmove(s, s + 4, strlen(s + 4) + 1);
}

/* A type, also one that is not priced: "Q4_0", "IQ2_XXS", "TQ1_0", "BF16". Mixtures have all names that are. */
static bool is_type(const char *s)
{
    if (mixture_name(s) || strcasecmp(s, "AWQ") == 0 || strcasecmp(s, "GPTQ") == 0 || strcasecmp(s, "FP8") == 0)
        return true;
    if (strchr("ITit", s[0]) && s[0])
        s++;
    if (tolower((unsigned char)s[0]) != 'q' || !isdigit((unsigned char)s[1]) || s[2] != '_' || !s[3])
        return false;
    for (s += 3; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_')
            return false;
    return true;
}

size_t alias_type(const char *spec, char *type, size_t size)
{
    char end[NAME_SIZE];
    for (const char *p = spec + 1; *spec && *p; p++) {
        if (!strchr(" -_.:", p[-1]) || strchr(" -_.:", *p) || p - 1 == spec || strlen(p) >= sizeof end)
            continue;
        snprintf(end, sizeof end, "%s", p);
        normalize(end, sizeof end);
        if (!is_type(end) || strlen(end) >= size)
            continue;
        snprintf(type, size, "%s", end);
        size_t n = (size_t)(p - spec);
        while (n > 1 && strchr(" -_.:", spec[n - 1]))
            n--;
        return n;
    }
    return strlen(spec);
}

size_t alias_file(const char *spec, size_t len)
{
    static const char end[] = "-GGUF";
    const size_t k = sizeof end - 1;
    return len > k && strncasecmp(spec + len - k, end, k) == 0 ? len - k : len;
}

bool alias_bnb(const char *spec)
{
    return has_end(spec, "-bnb-4bit");
}

/* ---- llama-bench's labels ---------------------------------------------------------------------- */

void alias_fold(char *out, size_t n, const char *s)
{
    size_t k = 0;
    for (; *s && k + 1 < n; s++)
        if (*s != ' ' && *s != '-' && *s != '_' && *s != ':')
            out[k++] = (char)tolower((unsigned char)*s);
    out[k] = 0;
}

/* A line of the table: label, tab, preset; '#' begins a comment. */
static bool is_label(char *line, const char *folded, char *name, size_t n)
{
    char label[NAME_SIZE];
    char *tab = strchr(line, '\t');
    if (line[0] == '#' || !tab)
        return false;
    *tab = 0;
    alias_fold(label, sizeof label, line);
    if (strcmp(label, folded) != 0)
        return false;
    tab[1 + strcspn(tab + 1, "\t\r\n")] = 0;
    snprintf(name, n, "%s", tab + 1);
    return true;
}

bool alias_label(const char *const *dirs, const char *folded, char *name, size_t n)
{
    for (; dirs && *dirs; dirs++) {
        char path[4352], line[512];
        bool found = false;
        snprintf(path, sizeof path, "%s/models/llama-bench.tsv", *dirs);
        FILE *f = fopen(path, "r");
        while (f && !found && fgets(line, sizeof line, f))
            found = is_label(line, folded, name, n);
        if (f)
            fclose(f);
        if (found)
            return true;
    }
    return false;
}
