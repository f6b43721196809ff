/*
 * An initramfs: files in the kernel's "newc" format of cpio, on stdout.
 *   cpio NAME=FILE NAME=FILE... NAME/ (a folder) NAME:c:MAJOR:MINOR (a device)
 * source: Linux, Documentation/driver-api/early-userspace/buffer-format.rst
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void pad(size_t n)
{
    for (; n % 4; n++)
        putchar(0);
}

static void entry(unsigned ino, const char *name, unsigned mode, const char *data, size_t size, unsigned major, unsigned minor)
{
    const size_t len = strlen(name) + 1;
    printf("070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", ino, mode, 0, 0, 1, 0, (unsigned)size, 0, 0, major,
           minor, (unsigned)len, 0);
    fwrite(name, 1, len, stdout);
    pad(110 + len);
    if (size)
        fwrite(data, 1, size, stdout);
    pad(size);
}

static char *read_all(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (!f || fstat(fileno(f), &st) != 0)
        return NULL;
    char *p = malloc((size_t)st.st_size + 1);
    *size = p ? fread(p, 1, (size_t)st.st_size, f) : 0;
    fclose(f);
    return p;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *file = strchr(argv[i], '='), *device = strstr(argv[i], ":c:");
        const size_t len = strlen(argv[i]);
        if (device) {
            unsigned major = 0, minor = 0;
            sscanf(device, ":c:%u:%u", &major, &minor);
            *device = 0;
            entry((unsigned)i, argv[i], S_IFCHR | 0600, NULL, 0, major, minor);
        } else if (file) {
            size_t size;
            *file++ = 0;
            char *data = read_all(file, &size);
            if (!data) {
                fprintf(stderr, "cpio: cannot read %s\n", file);
                return 1;
            }
            entry((unsigned)i, argv[i], S_IFREG | 0755, data, size, 0, 0);
            free(data);
        } else {
            argv[i][len - 1] = 0;
            entry((unsigned)i, argv[i], S_IFDIR | 0755, NULL, 0, 0, 0);
        }
    }
    entry(0, "TRAILER!!!", 0, NULL, 0, 0, 0);
    return ferror(stdout) ? 1 : 0;
}
