/*
 * The first program of the guest: runs the commands of /commands, one a line, and switches the machine off.
 *   UID<space>COMMAND ARG...     as that user; between two marker lines, the last with the exit status
 *   write PATH TEXT              TEXT into a file of the kernel
 * Static, so that nothing but the program under test needs libraries.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_file(char *path)
{
    char *text = strchr(path, ' ');
    if (!text)
        return;
    *text++ = 0;
    const int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        printf("@@ cannot write %s\n", path);
    close(fd);
}

static int run(char *line)
{
    char *argv[64], *save;
    int n = 0, status = 0;
    const unsigned uid = (unsigned)strtoul(line, &line, 10);
    for (char *w = strtok_r(line, " ", &save); w && n < 63; w = strtok_r(NULL, " ", &save))
        argv[n++] = w;
    argv[n] = NULL;
    const pid_t pid = fork();
    if (pid == 0) {
        if (setgid(uid) != 0 || setuid(uid) != 0)
            _exit(126);
        execv(argv[0], argv);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(void)
{
    char line[1024];
    mount("proc", "/proc", "proc", 0, NULL);
    mount("sysfs", "/sys", "sysfs", 0, NULL);
    mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777");
    setenv("ROOFCAST_DATA", "/data", 1);
    setenv("HOME", "/tmp", 1);
    setvbuf(stdout, NULL, _IONBF, 0);
    FILE *f = fopen("/commands", "r");
    for (int i = 1; f && fgets(line, sizeof line, f); i++) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "write ", 6) == 0) {
            write_file(line + 6);
            continue;
        }
        printf("@@ begin %d %s\n", i, line);
        printf("@@ end %d %d\n", i, run(line));
    }
    reboot(RB_POWER_OFF);
    return 0;
}
