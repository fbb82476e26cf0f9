/* Makes writing to files fail with EIO while the file named by EDGEKIT_FAIL_FLAG exists (bad_disks.py preloads it).
 *
 *     cc -shared -fPIC -o failing_disk.so failing_disk.c -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static int failing(int fd) {
    struct stat found;
    const char *flag = getenv("EDGEKIT_FAIL_FLAG");
    int kept = errno;
    if (flag == NULL || access(flag, F_OK) != 0) {
        errno = kept;
        return 0;
    }
    if (fstat(fd, &found) != 0 || !(S_ISREG(found.st_mode) || S_ISDIR(found.st_mode))) {
        errno = kept;
        return 0;
    }
    errno = EIO;
    return 1;
}

ssize_t write(int fd, const void *data, size_t count) {
    static ssize_t (*real)(int, const void *, size_t);
    if (failing(fd)) return -1;
    if (!real) real = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    return real(fd, data, count);
}

ssize_t pwrite(int fd, const void *data, size_t count, off_t place) {
    static ssize_t (*real)(int, const void *, size_t, off_t);
    if (failing(fd)) return -1;
    if (!real) real = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    return real(fd, data, count, place);
}

ssize_t pwrite64(int fd, const void *data, size_t count, off64_t place) {
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (failing(fd)) return -1;
    if (!real) real = (ssize_t(*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
    return real(fd, data, count, place);
}

int fsync(int fd) {
    static int (*real)(int);
    if (failing(fd)) return -1;
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    return real(fd);
}

int fdatasync(int fd) {
    static int (*real)(int);
    if (failing(fd)) return -1;
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    return real(fd);
}
