/* llama.cpp's offload options in the notes of a row: "ngl=30", "-ncmoe 24", "-ot exps=CPU", "host=AMD Ryzen 9 7950X; host_threads=16". */
#include "dataset/internal.h"
#include "model/offload.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The text after a key ("ngl") and "=" or, for an option ("-ngl"), blanks; NULL: none. */
static const char *value_of(const char *notes, const char *key)
{
    const size_t n = strlen(key);
    for (const char *p = strstr(notes, key); p; p = strstr(p + 1, key)) {
        const char before = p == notes ? ' ' : p[-1];
        const bool option = *key == '-';
        if (!strchr(" ;,\"(=", before) || (p[n] != '=' && !(option && p[n] == ' ')))
            continue;
        return p + n + 1 + strspn(p + n + 1, " ");
    }
    return NULL;
}

static bool has_word(const char *notes, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = strstr(notes, word); p; p = strstr(p + 1, word))
        if ((p == notes || strchr(" ;,\"(=", p[-1])) && (!p[n] || strchr(" ;,\")", p[n])))
            return true;
    return false;
}

static bool find_number(const char *notes, const char *const *keys, size_t n, int least, int *out)
{
    for (size_t i = 0; i < n; i++) {
        const char *const s = value_of(notes, keys[i]);
        if (!s || !isdigit((unsigned char)*s))
            continue;
        const long v = strtol(s, NULL, 10);
        if (v < least || v >= 1 << 20)
            continue;
        *out = (int)v;
        return true;
    }
    return false;
}

/* Up to a semicolon, without blanks at the end. */
static int copy_value(const char **out, struct measurements *l, const char *s, const char *end, struct error *err)
{
    size_t n = strcspn(s, end);
    while (n && s[n - 1] == ' ')
        n--;
    char *const text = strndup(s, n);
    *out = text ? measure_copy_text(l, text, err) : NULL;
    if (!text)
        return error_oom(err, n, "the notes of a row");
    free(text);
    return *out ? 0 : -1;
}

int measure_read_offload(struct measurements *l, struct measurement *m, struct error *err)
{
    static const char *const layers[] = { "ngl", "-ngl", "--n-gpu-layers", "n_gpu_layers" },
                      *const experts[] = { "ncmoe", "-ncmoe", "--n-cpu-moe", "n_cpu_moe" }, *const threads[] = { "host_threads" };
    struct measure_offload *f = &m->offload;
    const char *const notes = m->notes, *const named = value_of(notes, "-ot"), *const list = named ? named : value_of(notes, "ot");
    const char *const host = value_of(notes, "host");
    if (m->tags & TAG_CPU)
        return 0;
    (void)find_number(notes, layers, ARRAY_LEN(layers), 1, &m->n_gpu_layers);
    f->stated |= find_number(notes, experts, ARRAY_LEN(experts), 1, &f->n_cpu_moe);
    (void)find_number(notes, threads, ARRAY_LEN(threads), 1, &f->n_threads);
    if (has_word(notes, "-cmoe") || has_word(notes, "--cpu-moe")) { /* with a number too: each adds to what is on the host */
        f->n_cpu_moe = OFFLOAD_ALL;
        f->stated = true;
    }
    f->host_kv = has_word(notes, "-nkvo") || has_word(notes, "--no-kv-offload");
    f->host_multiplies = has_word(notes, "-nopo") || has_word(notes, "--no-op-offload");
    f->pinned = has_word(notes, "--no-mmap") || has_word(notes, "mmap=0");
    f->stated |= f->host_kv || list;
    if (list && copy_value(&f->override, l, list + strspn(list, "\"'"), " ;\"'", err) != 0)
        return -1;
    const char *const gb = value_of(notes, "host_gbs");
    const double bytes_s = gb ? 1e9 * strtod(gb, NULL) : 0;
    f->host_bytes_s = bytes_s > 1e8 && bytes_s < 1e14 ? bytes_s : 0;
    return host ? copy_value(&f->host, l, host, ";", err) : 0;
}
