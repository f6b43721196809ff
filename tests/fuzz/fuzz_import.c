/* fuzz_import.c: any bytes as results of another tool, with and without caches; what is accepted is a profile. */
#include "fuzz.h"
#include "hwprofile/import.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void once(const uint8_t *data, size_t size, const struct import_options *o)
{
    struct hwprofile h, again;
    struct strbuf notes = { 0 };
    struct error err = { 0 };
    enum import_format f;
    if (hwprofile_import(&h, "fuzz", data, size, o, &f, &notes, &err) != 0) {
        if (err.kind == ERROR_NONE || !err.msg[0])
            abort(); /* a failure that says nothing */
        strbuf_free(&notes);
        return;
    }
    if (f == IMPORT_AUTO || h.n_ceiling + h.n_curve == 0)
        abort();
    for (size_t i = 0; i < h.n_ceiling; i++)
        if (!(h.ceiling[i].value > 0) || !isfinite(h.ceiling[i].value) || h.ceiling[i].n_threads < 1 || !h.ceiling[i].kernel[0])
            abort();
    json_t *a = hwprofile_to_json(&h, &err);
    char *text = a ? json_dumps(a, 0) : NULL;
    if (!text || hwprofile_parse(&again, "again.json", text, strlen(text), &err) != 0)
        abort();
    json_decref(a);
    free(text);
    hwprofile_free(&h);
    hwprofile_free(&again);
    strbuf_free(&notes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hw_cache cache[] = { { 1, 32768, 2, 64, 1 }, { 2, 1048576, 2, 64, 1 }, { 3, 33554432, 1, 64, 2 } };
    struct hwprofile caches = { .name = "m", .n_pus = 2, .n_cores = 2, .cache = cache, .n_cache = 3 };
    const struct import_options plain = { .format = IMPORT_AUTO },
                                with = { .caches = &caches, .device = "c", .n_threads = 4 };
    once(data, size, &plain);
    once(data, size, &with);
    return 0;
}
