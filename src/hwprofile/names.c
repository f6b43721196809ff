/* Machine names: equality and suggestions. */
#include "hwprofile/internal.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

const char *const hw_kind_names[4] = { "cpu", "gpu", "apu", "npu" };

int hw_kind_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(hw_kind_names); i++)
        if (strcasecmp(name, hw_kind_names[i]) == 0)
            return (int)i;
    return -1;
}

const char *hw_kind_name(enum hw_kind k)
{
    return hw_kind_names[k];
}

static const char *const math_names[MATH_COUNT] = { "fp64", "fp32", "tf32", "fp16", "bf16",
                                                    "fp8",  "fp4",  "int8", "int4", "int16" };

const char *math_name(enum math m)
{
    return math_names[m];
}

int math_find(const char *name)
{
    for (int i = 0; i < MATH_COUNT; i++)
        if (strcmp(math_names[i], name) == 0)
            return i;
    return -1;
}

bool math_integer(enum math m)
{
    return m == MATH_INT4 || m == MATH_INT8 || m == MATH_INT16;
}

/* Cuts what /proc/cpuinfo adds to a CPU's name: "13th Gen " before, " 16-Core Processor", " @ 2.00GHz" and " CPU @ 2.60GHz" after. */
static void cut_cpuinfo(char *name)
{
    char *at = strstr(name, " @"), *cores = strcasestr(name, "-Core Processor");
    if (at) {
        *at = 0;
        if (at - name > 4 && strcasecmp(at - 4, " CPU") == 0)
            at[-4] = 0;
    }
    if (cores) {
        while (cores > name && isdigit((unsigned char)cores[-1]))
            cores--;
        *cores = 0;
    }
    size_t digits = strspn(name, "0123456789");
    if (digits && strncasecmp(name + digits, "th gen ", 7) == 0)
        memmove(name, name + digits + 7, strlen(name + digits + 7) + 1);
}

/* Cuts "(R)" and "(TM)". */
static void cut_marks(char *name)
{
    static const char *const marks[] = { "(R)", "(TM)", "(C)" };
    for (size_t i = 0; i < ARRAY_LEN(marks); i++)
        for (char *s; (s = strcasestr(name, marks[i])) != NULL;)
            memset(s, ' ', strlen(marks[i]));
}

static const char *const vendors[] = { "NVIDIA", "GeForce", "Tesla",  "AMD", "Radeon", "Instinct",
                                       "Intel",  "Apple",   "Google", "AWS", NULL };

static void cut(char *text, size_t size, const char *name)
{
    snprintf(text, size, "%s", name);
    cut_cpuinfo(text);
    cut_marks(text);
}

void hw_normalize(char *out, size_t size, const char *name)
{
    char text[256];
    cut(text, sizeof text, name);
    name_fold(out, size, text, vendors);
}

bool hwprofile_same_name(const char *a, const char *b)
{
    char x[160], y[160];
    hw_normalize(x, sizeof x, a);
    hw_normalize(y, sizeof y, b);
    return strcmp(x, y) == 0;
}

void hw_words(char *out, size_t size, const char *name)
{
    char text[256];
    cut(text, sizeof text, name);
    name_words(out, size, text, vendors);
}

const char *hw_vendor_of_name(const char *name)
{
    static const struct {
        const char *word, *vendor;
    } words[] = {
        { "nvidia", "NVIDIA" },   { "geforce", "NVIDIA" },  { "rtx", "NVIDIA" },     { "gtx", "NVIDIA" },      { "quadro", "NVIDIA" },
        { "jetson", "NVIDIA" },   { "amd", "AMD" },         { "radeon", "AMD" },     { "instinct", "AMD" },    { "ryzen", "AMD" },
        { "epyc", "AMD" },        { "intel", "Intel" },     { "arc", "Intel" },      { "xeon", "Intel" },      { "gaudi", "Intel" },
        { "apple", "Apple" },     { "google", "Google" },   { "aws", "AWS" },        { "trainium", "AWS" },    { "inferentia", "AWS" },
        { "graviton", "AWS" },    { "qualcomm", "Qualcomm" }, { "snapdragon", "Qualcomm" }, { "tenstorrent", "Tenstorrent" },
    };
    for (const char *p = name; *p;) {
        size_t n = 0;
        while (isalpha((unsigned char)p[n]))
            n++;
        for (size_t i = 0; i < ARRAY_LEN(words); i++)
            if (strlen(words[i].word) == n && strncasecmp(p, words[i].word, n) == 0)
                return words[i].vendor;
        p += n ? n : 1;
    }
    return "";
}
