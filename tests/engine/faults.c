/* Lets one call, or all calls from one on, that change files below a folder fail: loaded by LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static char folder[4096];
static long at = -1, count = 0;
static int number = EIO, forever = 0, failed = 0;

void faults_arm(const char *path, long fail_at, int fail_number, int fail_forever) {
    strncpy(folder, path, sizeof folder - 1);
    at = fail_at, number = fail_number, forever = fail_forever, count = 0, failed = 0;
}
long faults_count(void) { return count; }
int faults_failed(void) { return failed; }

static int fails_at(const char *path) {
    if (at < 0 || strncmp(path, folder, strlen(folder)) != 0) return 0;
    long own = count++;
    if (own != at && !(forever && own > at)) return 0;
    failed = 1;
    errno = number;
    return 1;
}
static int fails(int handle) {
    char link[64], path[4096];
    if (at < 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size <= 0) return 0;
    path[size] = 0;
    return fails_at(path);
}
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int handle, const void *data, size_t size) { return fails(handle) ? -1 : NEXT(write)(handle, data, size); }
ssize_t pwrite(int handle, const void *data, size_t size, off_t offset) {
    return fails(handle) ? -1 : NEXT(pwrite)(handle, data, size, offset);
}
ssize_t pwrite64(int handle, const void *data, size_t size, off64_t offset) {
    return fails(handle) ? -1 : NEXT(pwrite64)(handle, data, size, offset);
}
int fsync(int handle) { return fails(handle) ? -1 : NEXT(fsync)(handle); }
int fdatasync(int handle) { return fails(handle) ? -1 : NEXT(fdatasync)(handle); }
int ftruncate(int handle, off_t size) { return fails(handle) ? -1 : NEXT(ftruncate)(handle, size); }
int ftruncate64(int handle, off64_t size) { return fails(handle) ? -1 : NEXT(ftruncate64)(handle, size); }
int rename(const char *from, const char *to) { return fails_at(from) ? -1 : NEXT(rename)(from, to); }
int mkdir(const char *path, mode_t mode) { return fails_at(path) ? -1 : NEXT(mkdir)(path, mode); }
