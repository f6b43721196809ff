/* Model names beyond those of presets: with an owner prefix ("bartowski/google_gemma-3-27b-it"), with suffixes that do not change
 * the shape: type ("Llama-3.1-8B-Q4_K_M", "Qwen3-8B-AWQ"), training ("-Instruct-2507"), file kind ("-GGUF"); and as llama-bench
 * prints models: architecture, size, type ("qwen3moe 30B.A3B Q4_K - Medium"). */
#include "model/internal.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

/* ---- type suffixes ---- */

/* llama.cpp prints Q4_K_M as "Q4_K - Medium". */
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

void alias_normalize(char *s, size_t size)
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

/* A type name, known or not: "Q4_0", "IQ2_XXS", "TQ1_0", "BF16", "GPTQ-Int4", "4bit". */
static bool is_type(const char *s)
{
    struct quant_name q;
    const size_t digits = strspn(s, "0123456789");
    if (model_type_named(&q, s) || (digits > 0 && strcasecmp(s + digits + (s[digits] == '-'), "bit") == 0))
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
        alias_normalize(end, sizeof end);
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

bool alias_bnb(const char *spec)
{
    return has_end(spec, "-bnb-4bit");
}

/* ---- suffixes that do not change the shape ---- */

static bool is_separator(char c)
{
    return c && strchr(" -_.:", c);
}

/* Contains a size ("8B", "A3B", "0.6b", "135M"): dates and versions after it do not change the shape. */
static bool has_size(const char *s)
{
    for (const char *p = s; *p; p++)
        if (isdigit((unsigned char)p[0]) && p[1] && strchr("bBmM", p[1]) && !isalnum((unsigned char)p[2]))
            return true;
    return false;
}

/* "2507", "053125", "v0.3", "1M" (context), "00001-of-00003". */
static bool is_release(const char *s)
{
    const size_t digits = strspn(s, "0123456789");
    if ((digits == 4 || digits == 6 || digits == 8) && !s[digits])
        return true;
    if (digits == 5 && strncmp(s + 5, "-of-", 4) == 0 && strspn(s + 9, "0123456789") == 5 && !s[14])
        return true;
    if ((*s == 'v' || *s == 'V') && isdigit((unsigned char)s[1]))
        return !s[1 + strspn(s + 1, "0123456789.")];
    return strcasecmp(s, "1M") == 0;
}

/* Training variant, repository kind, or mixture author. */
static bool is_ending(const char *s)
{
    static const char *const words[] = { "Instruct", "Chat", "it", "pt", "Base", "hf", "Text", "Thinking", "Reasoning", "MTP", "QAT", "GGUF", "MLX", "latest",
                                         "quantized", "UD", "i1", "DWQ", "abliterated", "heretic", "uncensored", "mostly", "cloud" };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcasecmp(s, words[i]) == 0)
            return true;
    return false;
}

bool alias_shorten(char *name, char *type, size_t size)
{
    const size_t len = strlen(name);
    char found[NAME_SIZE];
    size_t n = alias_type(name, found, sizeof found);
    if (n < len) {
        if (!*type)
            snprintf(type, size, "%s", found);
        name[n] = 0;
        return true;
    }
    for (n = 1; n + 1 < len; n++) {
        const char *const end = name + n + 1;
        if (!is_separator(name[n]) || is_separator(*end))
            continue;
        const char c = name[n];
        name[n] = 0;
        if (is_ending(end) || (is_release(end) && (has_size(name) || alias_type(name, found, sizeof found) < n))) /* "-FP4-v2" */
            return true;
        name[n] = c;
    }
    return false;
}

const char *alias_owned(const char *name)
{
    static const char *const owners[] = { "google", "mistralai", "qwen", "openai", "meta-llama", "meta", "nvidia", "zai-org", "thudm", "microsoft", "ibm-granite",
                                          "deepseek-ai", "moonshotai", "minimaxai", "allenai", "huggingfacetb", "tiiuae", "cohereforai", "liquidai" };
    for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
        const size_t n = strlen(owners[i]);
        if (strncasecmp(name, owners[i], n) == 0 && (name[n] == '_' || name[n] == '-') && name[n + 1])
            return name + n + 1;
    }
    return name;
}

/* ---- tables of names ------------------------------------------------------------------------------ */

void alias_fold(char *out, size_t n, const char *s)
{
    size_t k = 0;
    bool gap = false;
    for (; *s && k + 2 < n; s++) {
        if (*s == ' ' || *s == '-' || *s == '_' || *s == ':') {
            gap = true;
            continue;
        }
        if (gap && k && isdigit((unsigned char)out[k - 1]) && isdigit((unsigned char)*s))
            out[k++] = '-'; /* keeps "Llama 2 7B" distinct from "Llama 27B" */
        gap = false;
        out[k++] = (char)tolower((unsigned char)*s);
    }
    if (n)
        out[k] = 0;
}

/* Parses a line "name TAB preset"; '#' starts a comment. */
static bool is_line(char *line, const struct alias_table *t, const char *name, char preset[NAME_SIZE])
{
    char folded[NAME_SIZE], own[NAME_SIZE];
    char *tab = strchr(line, '\t');
    if (line[0] == '#' || !tab)
        return false;
    *tab = 0;
    alias_fold(folded, sizeof folded, name);
    alias_fold(own, sizeof own, line);
    if (t->exact ? strcmp(line, name) != 0 : strcmp(own, folded) != 0)
        return false;
    tab[1 + strcspn(tab + 1, "\t\r\n")] = 0;
    snprintf(preset, NAME_SIZE, "%s", tab + 1);
    return true;
}

int alias_listed(const char *const *dirs, const struct alias_table *t, const char *name, char preset[NAME_SIZE], bool *found, struct error *err)
{
    *found = false;
    for (; dirs && *dirs && !*found; dirs++) {
        char path[4352], line[512];
        snprintf(path, sizeof path, "%s/models/%s", *dirs, t->file);
        FILE *f = fopen(path, "r");
        if (!f && errno != ENOENT && errno != ENOTDIR)
            return error_set(err, ERROR_SYSTEM, "%s: %s", path, strerror(errno));
        while (f && !*found && fgets(line, sizeof line, f))
            *found = is_line(line, t, name, preset);
        const bool bad = f && ferror(f);
        if (f)
            fclose(f);
        if (bad)
            return error_set(err, ERROR_SYSTEM, "%s: cannot be read", path);
    }
    return 0;
}
