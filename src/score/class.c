/* The classes of hardware.csv: which a profile is of, which a name says, what is believed of a machine of it. methods.md (116) */
#include "score/internal.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

/*
 * balance: FLOP of 16 bits (CPUs: of 32) a byte of memory, bytes_s: of memory, where nobody says them: medians of the class
 * in hwprofiles, rounded (data centres': of those since 2020); ln_sd: the spread of ln bytes_s there. Phones: LPDDR5 and 5X on 64
 * bits; iGPUs: two channels of DDR4 to LPDDR5X; CPUs: desktops, since the names of servers say what they are.
 */
static const struct machine_class classes[] = {
    { "workstation GPU", HW_GPU, "", { "rtx-a", "rtx-2000-ada", "rtx-4000-ada", "rtx-4500-ada", "rtx-5000-ada", "rtx-5880-ada", "rtx-6000-ada",
                                       "rtx-pro", "quadro-", "radeon-", "arc-pro" }, 200, 590e9, 0.6 },
    { "consumer GPU", HW_GPU, "", { "rtx-", "gtx-", "titan-", "rx-", "arc-" }, 90, 460e9, 0.55 },
    { "datacenter GPU", HW_GPU, "", { NULL }, 200, 3300e9, 1 },
    { "Apple GPU", HW_APU, "Apple", { NULL }, 35, 300e9, 0.7 },
    { "unified SoC GPU", HW_APU, "", { NULL }, 150, 230e9, 0.7 },
    { "iGPU", HW_APU, "", { NULL }, 60, 75e9, 0.4 },
    { "phone CPU", HW_CPU, "", { NULL }, 10, 65e9, 0.4 },
    { "CPU", HW_CPU, "", { NULL }, 25, 90e9, 1 },
    { "accelerator", HW_NPU, "", { NULL }, 220, 2000e9, 0.9 },
};
enum { WORKSTATION, CONSUMER, DATACENTER, APPLE, SOC, IGPU, PHONE, CPU, ACCELERATOR };

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

const struct machine_class *class_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        if (strcasecmp(classes[i].name, name) == 0)
            return &classes[i];
    return NULL;
}

const char *machine_class(const struct hwprofile *h)
{
    struct class_guess named;
    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        if (classes[i].kind != h->kind || (*classes[i].vendor && strcmp(classes[i].vendor, h->vendor) != 0))
            continue;
        if (i == PHONE)
            continue; /* profiles have none */
        /* A GPU that is in no list of ids: what its name says, before it is taken for a server's. */
        if (i == DATACENTER && class_of_name(&named, h->name) && named.class->kind == HW_GPU)
            return named.class->name;
        bool any = !classes[i].ids[0];
        for (size_t k = 0; k < ARRAY_LEN(classes[i].ids) && classes[i].ids[k]; k++)
            any |= begins(h->id, classes[i].ids[k]);
        if (any)
            return classes[i].name;
    }
    return "";
}

/* ---- names ------------------------------------------------------------------------------------------------ */

/*
 * Words of names, each behind what is no letter or digit; '#' is a digit, '$' the end of a word. The first that a name has says
 * its class, its maker where that makes a difference to its programs, and for CPUs, whose class holds boards and servers, what
 * memory such ones have: medians of the servers, desktops and boards in hwprofiles.
 */
static const struct {
    const char *word;
    int row;
    const char *vendor;
    double bytes_s, ln_sd; /* 0: the class's */
} words[] = {
    /* Apple, phones */
    { "iphone", PHONE, "", 0, 0 }, { "ipad", PHONE, "", 0, 0 }, { "apple a#", PHONE, "", 0, 0 }, { "apple", APPLE, "Apple", 0, 0 },
    { "mac$", APPLE, "Apple", 0, 0 }, { "macbook", APPLE, "Apple", 0, 0 }, { "m# max$", APPLE, "Apple", 0, 0 },
    { "m# pro$", APPLE, "Apple", 0, 0 }, { "m# ultra$", APPLE, "Apple", 0, 0 }, { "snapdragon x", CPU, "", 130e9, 0.3 },
    { "cloud ai", ACCELERATOR, "", 140e9, 0.7 }, { "snapdragon", PHONE, "", 0, 0 }, { "qualcomm", PHONE, "", 0, 0 },
    { "dimensity", PHONE, "", 0, 0 }, { "exynos", PHONE, "", 0, 0 }, { "galaxy", PHONE, "", 0, 0 }, { "pixel", PHONE, "", 0, 0 },
    { "oneplus", PHONE, "", 0, 0 }, { "xiaomi", PHONE, "", 0, 0 },
    /* a part of a machine that its name says */
    { "npu$", ACCELERATOR, "", 100e9, 0.5 }, { "igpu$", IGPU, "", 0, 0 },
    /* servers' CPUs, before the letters and digits of GPUs */
    { "xeon", CPU, "", 360e9, 0.5 }, { "epyc", CPU, "", 360e9, 0.5 }, { "grace cpu", CPU, "", 360e9, 0.5 },
    { "graviton", CPU, "", 360e9, 0.5 }, { "ampere", CPU, "", 360e9, 0.5 }, { "kunpeng", CPU, "", 360e9, 0.5 },
    /* NVIDIA */
    { "jetson", SOC, "NVIDIA", 0, 0 }, { "orin$", SOC, "NVIDIA", 0, 0 }, { "thor$", SOC, "NVIDIA", 0, 0 },
    { "dgx spark", SOC, "NVIDIA", 0, 0 }, { "gb10$", SOC, "NVIDIA", 0, 0 }, { "gx10$", SOC, "NVIDIA", 0, 0 },
    { "rtx a#", WORKSTATION, "NVIDIA", 0, 0 }, { "rtx pro", WORKSTATION, "NVIDIA", 0, 0 }, { "ada$", WORKSTATION, "NVIDIA", 0, 0 },
    { "quadro", WORKSTATION, "NVIDIA", 0, 0 }, { "a#000", WORKSTATION, "NVIDIA", 0, 0 }, { "geforce", CONSUMER, "NVIDIA", 0, 0 },
    { "rtx", CONSUMER, "NVIDIA", 0, 0 }, { "gtx", CONSUMER, "NVIDIA", 0, 0 }, { "titan", CONSUMER, "NVIDIA", 0, 0 },
    { "p40$", DATACENTER, "NVIDIA", 320e9, 0.5 }, { "p100", DATACENTER, "NVIDIA", 900e9, 0.5 },
    { "v100", DATACENTER, "NVIDIA", 900e9, 0.4 }, { "a#00", DATACENTER, "NVIDIA", 1900e9, 0.5 }, { "h#00", DATACENTER, "NVIDIA", 3300e9, 0.5 },
    { "h20$", DATACENTER, "NVIDIA", 0, 0 }, { "b#00", DATACENTER, "NVIDIA", 8000e9, 0.3 }, { "gb#00", DATACENTER, "NVIDIA", 8000e9, 0.3 },
    { "gh#00", DATACENTER, "NVIDIA", 4000e9, 0.4 }, { "l#$", DATACENTER, "NVIDIA", 320e9, 0.5 }, { "a#$", DATACENTER, "NVIDIA", 320e9, 0.5 },
    { "t#$", DATACENTER, "NVIDIA", 320e9, 0.5 }, { "l##", DATACENTER, "NVIDIA", 700e9, 0.5 }, { "a##", DATACENTER, "NVIDIA", 700e9, 0.5 },
    { "tesla", DATACENTER, "NVIDIA", 700e9, 0.7 },
    /* AMD */
    { "strix halo", SOC, "AMD", 0, 0 }, { "ai max", SOC, "AMD", 0, 0 }, { "80#0s$", SOC, "AMD", 0, 0 },
    { "radeon pro", WORKSTATION, "AMD", 0, 0 }, { "radeon ai", WORKSTATION, "AMD", 0, 0 }, { "radeon rx", CONSUMER, "AMD", 0, 0 },
    { "radeon ####", CONSUMER, "AMD", 0, 0 }, { "rx #", CONSUMER, "AMD", 0, 0 }, { "radeon vii", CONSUMER, "AMD", 0, 0 },
    { "instinct", DATACENTER, "AMD", 0, 0 }, { "mi#", DATACENTER, "AMD", 0, 0 }, { "radeon", IGPU, "AMD", 0, 0 },
    { "ryzen", CPU, "", 90e9, 0.4 }, { "threadripper", CPU, "", 200e9, 0.5 },
    /* Intel */
    { "arc pro", WORKSTATION, "Intel", 0, 0 }, { "arc a#", CONSUMER, "Intel", 0, 0 }, { "arc b#", CONSUMER, "Intel", 0, 0 },
    { "data center gpu", DATACENTER, "Intel", 0, 0 }, { "gaudi", ACCELERATOR, "", 0, 0 }, { "arc$", IGPU, "Intel", 0, 0 },
    { "iris", IGPU, "Intel", 0, 0 }, { "uhd", IGPU, "Intel", 0, 0 }, { "gpu)", IGPU, "", 0, 0 },
    { "core", CPU, "", 90e9, 0.4 },
    /* others */
    { "raspberry", CPU, "", 15e9, 0.4 }, { "orange pi", CPU, "", 15e9, 0.6 }, { "rk3", CPU, "", 15e9, 0.6 },
    { "rockchip", CPU, "", 15e9, 0.6 }, { "cpu", CPU, "", 0, 0 }, { "tpu", ACCELERATOR, "", 0, 0 },
    { "trainium", ACCELERATOR, "", 0, 0 }, { "inferentia", ACCELERATOR, "", 0, 0 }, { "tenstorrent", ACCELERATOR, "", 290e9, 0.5 },
    { "ascend", ACCELERATOR, "", 0, 0 }, { "mtt", CONSUMER, "", 0, 0 }, { "nvidia", DATACENTER, "NVIDIA", 0, 0 },
};

/* Does the word stand at s? */
static bool stands(const char *s, const char *word)
{
    for (; *word; s++, word++) {
        if (*word == '$')
            return !isalnum((unsigned char)*s);
        if (*word == '#' ? !isdigit((unsigned char)*s) : tolower((unsigned char)*s) != *word)
            return false;
    }
    return true;
}

static bool has_word(const char *name, const char *word)
{
    for (const char *p = name; *p; p++)
        if ((p == name || !isalnum((unsigned char)p[-1])) && stands(p, word))
            return true;
    return false;
}

/* Marks and signs between words are blanks: "Intel(R) Arc(TM) B580" has the words "arc b580". */
static void spell(char *out, size_t size, const char *name)
{
    size_t n = 0;
    for (const char *s = name; *s && n + 1 < size;) {
        const char *const mark = strncasecmp(s, "(R)", 3) == 0 ? "(R)" : strncasecmp(s, "(TM)", 4) == 0 ? "(TM)" : NULL;
        if (mark) {
            s += strlen(mark);
            continue;
        }
        const char c = strchr("_-,/", *s) ? ' ' : *s;
        s++;
        if (c != ' ' || (n && out[n - 1] != ' '))
            out[n++] = c;
    }
    out[n] = 0;
}

/* Words that say what kind of machine a class of the file's own is. */
bool class_is_known(const char *name)
{
    static const char *const kinds[] = { "cpu$", "gpu$", "igpu$", "apu$", "npu$", "tpu$", "soc$", "accelerator$" };
    bool known = class_find(name) != NULL;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        known |= has_word(name, kinds[i]);
    return known;
}

const char *class_names(char *buf, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(classes) && n < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%s", i ? ", " : "", classes[i].name);
    return buf;
}

bool class_of_name(struct class_guess *out, const char *hardware)
{
    char name[256];
    spell(name, sizeof name, hardware);
    const bool cpu = strcasestr(name, "[cpu]") != NULL;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (!has_word(name, words[i].word) || (cpu && classes[words[i].row].kind != HW_CPU))
            continue;
        const struct machine_class *c = &classes[words[i].row];
        *out = (struct class_guess){ c, words[i].vendor, words[i].bytes_s > 0 ? words[i].bytes_s : c->bytes_s,
                                     words[i].bytes_s > 0 ? words[i].ln_sd : c->ln_sd };
        return true;
    }
    return false;
}
