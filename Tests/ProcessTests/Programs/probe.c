/* Tries what its arguments name, one after another, and prints a line each: `verb argument: ok` or the errno's name. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int close_ok(int descriptor) {
    if (descriptor < 0) return -1;
    close(descriptor);
    return 0;
}

static int read_file(const char *path) {
    char byte;
    int descriptor = open(path, O_RDONLY);
    if (descriptor < 0) return -1;
    int result = read(descriptor, &byte, 1) < 0 && errno != EISDIR ? -1 : 0;
    int error = errno;
    close(descriptor);
    errno = error;
    return result;
}

static int connect_to(int port) {
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    return connect(descriptor, (struct sockaddr *)&address, sizeof address);
}

static int bind_to(int port) {
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    return bind(descriptor, (struct sockaddr *)&address, sizeof address);
}

/* An abstract socket where the name does not begin with a slash. */
static int connect_local(const char *name) {
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t start = name[0] == '/' ? 0 : 1;
    snprintf(address.sun_path + start, sizeof address.sun_path - start, "%s", name);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + start + strlen(name));
    return connect(descriptor, (struct sockaddr *)&address, size);
}

static int execute(const char *path) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        execl(path, path, "--version", NULL);
        _exit(errno);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0) return -1;
    errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
    return errno == 0 ? 0 : -1;
}

static int list(const char *path) {
    DIR *folder = opendir(path);
    if (folder == NULL) return -1;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char name[600], target[4096];
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        ssize_t length = readlink(name, target, sizeof target - 1);
        /* The descriptor of this very folder is not one that was handed over. */
        if (entry->d_name[0] == '.' || length < 0 || atoi(entry->d_name) == dirfd(folder)) continue;
        target[length] = 0;
        printf("  %s %s\n", entry->d_name, target);
    }
    closedir(folder);
    return 0;
}

static int show(const char *path, const char *words) {
    FILE *file = fopen(path, "r");
    char line[4096];
    if (file == NULL) return -1;
    while (fgets(line, sizeof line, file) != NULL)
        if (strstr(line, words) != NULL) printf("  %s", line);
    fclose(file);
    return 0;
}

static int attempt(const char *verb, const char *argument) {
    if (strcmp(verb, "read") == 0) return read_file(argument);
    if (strcmp(verb, "write") == 0) return close_ok(open(argument, O_WRONLY));
    if (strcmp(verb, "create") == 0) return close_ok(open(argument, O_CREAT | O_EXCL | O_WRONLY, 0600));
    if (strcmp(verb, "truncate") == 0) return truncate(argument, 0);
    if (strcmp(verb, "remove") == 0) return remove(argument);
    if (strcmp(verb, "mkdir") == 0) return mkdir(argument, 0700);
    if (strcmp(verb, "symlink") == 0) return symlink("/etc/passwd", argument);
    if (strcmp(verb, "connect") == 0) return connect_to(atoi(argument));
    if (strcmp(verb, "bind") == 0) return bind_to(atoi(argument));
    if (strcmp(verb, "local") == 0) return connect_local(argument);
    if (strcmp(verb, "execute") == 0) return execute(argument);
    if (strcmp(verb, "signal") == 0) return kill(atoi(argument) != 0 ? atoi(argument) : getppid(), 0);
    if (strcmp(verb, "ptrace") == 0) return (int)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    if (strcmp(verb, "uring") == 0) return close_ok((int)syscall(SYS_io_uring_setup, 1, NULL));
    if (strcmp(verb, "packet") == 0) return close_ok(socket(AF_PACKET, SOCK_RAW, 0));
    if (strcmp(verb, "descriptors") == 0) return list("/proc/self/fd");
    if (strcmp(verb, "status") == 0) return show("/proc/self/status", argument);
    if (strcmp(verb, "limits") == 0) return show("/proc/self/limits", argument);
    if (strcmp(verb, "environment") == 0) return printf("  %s\n", getenv(argument) != NULL ? getenv(argument) : "-") < 0;
    if (strcmp(verb, "folder") == 0) return printf("  %s\n", getcwd(NULL, 0)) < 0;
    if (strcmp(verb, "session") == 0) return printf("  %d\n", getsid(0) == getpid()) < 0;
    if (strcmp(verb, "exit") == 0) exit(atoi(argument));
    if (strcmp(verb, "die") == 0) return raise(atoi(argument));
    if (strcmp(verb, "parent") == 0) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/environ", getppid());
        return read_file(path);
    }
    if (strcmp(verb, "say") == 0) return write(atoi(argument), argument, strlen(argument)) < 0 ? -1 : 0;
    if (strcmp(verb, "wait") == 0) {
        char byte;
        return (int)read(atoi(argument), &byte, 1);
    }
    errno = EINVAL;
    return -1;
}

int main(int count, char **arguments) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i + 1 < count; i += 2) {
        int result = attempt(arguments[i], arguments[i + 1]);
        printf("%s %s: %s\n", arguments[i], arguments[i + 1], result < 0 ? strerrorname_np(errno) : "ok");
    }
    return 0;
}
