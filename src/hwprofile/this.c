/* The profile of this machine. */
#include "base/environment.h"
#include "base/notify.h"
#include "hwprofile/hwprofile.h"
#include <stdatomic.h>
#include <string.h>

int hwprofile_no_path_error(struct error *err)
{
    return error_set(err, ERROR_USAGE, "no path for this machine's profile: HOME is not set; set it, XDG_DATA_HOME, or "
                                       "ROOFCAST_PROFILE to a file");
}

/* Once: commands read the profile several times. */
static void note_stale(const char *path)
{
    static atomic_flag said = ATOMIC_FLAG_INIT; /* one note per process */
    char what[512];
    struct hwprofile h;
    if (atomic_flag_test_and_set(&said) || hwprofile_load(&h, path, &(struct error){ 0 }) != 0)
        return;
    if (*hwprofile_changed(what, sizeof what, &h))
        notify_note("this machine's profile, %s of %s, is stale: %s; run `roofcast profile` again", path, h.date, what);
    hwprofile_free(&h);
}

int hwprofile_this_path(const char **out, const char *hw, struct error *err)
{
    *out = hw;
    if (!hw || strcmp(hw, "this") != 0)
        return 0;
    *out = environment()->profile_path;
    if (!*out)
        return hwprofile_no_path_error(err);
    if (!file_exists(*out))
        return error_set(err, ERROR_UNAVAILABLE, "this machine has no profile yet (%s): run `roofcast profile` first", *out);
    note_stale(*out);
    return 0;
}

int hwprofile_open(struct hwprofile *h, const char *spec, struct error *err)
{
    const char *path;
    if (hwprofile_this_path(&path, spec, err) != 0 || hwprofile_load(h, path, err) != 0)
        return -1;
    size_t n = 0;
    for (size_t i = 0; i < h->n_ceiling; i++)
        n += ceiling_rounds_scales(&h->ceiling[i]);
    if (n > 0)
        notify_note("%s: %zu products of more than 32 tokens are ignored: they were measured with scales of activations that are powers of two, "
                    "faster than the predicted ones; `roofcast profile` measures them anew", path, n);
    return 0;
}
