// Breaks promises of a program that it is loaded into (LD_PRELOAD), one at a time: STROBE_BROKEN names which.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static int broken(const char* how) {
  const char* name = getenv("STROBE_BROKEN");
  return name != NULL && strcmp(name, how) == 0;
}

static int is_folder(int file) {
  struct stat status;
  return fstat(file, &status) == 0 && S_ISDIR(status.st_mode);
}

// nofsync: nothing is flushed. nofoldersync: folders are not flushed.
int fsync(int file) {
  if (broken("nofsync") || broken("latesync")) return 0;
  if (broken("nofoldersync") && is_folder(file)) return 0;
  return (int)syscall(SYS_fsync, file);
}

// latesync: a file gets its name before its content is flushed.
int rename(const char* from, const char* to) {
  const int result = (int)syscall(SYS_rename, from, to);
  if (result == 0 && broken("latesync")) {
    const int file = (int)syscall(SYS_openat, AT_FDCWD, to, O_RDONLY, 0);
    syscall(SYS_fsync, file);
    close(file);
    char folder[4096];
    strncpy(folder, to, sizeof folder - 1);
    char* end = strrchr(folder, '/');
    if (end != NULL) *end = 0;
    const int place = (int)syscall(SYS_openat, AT_FDCWD, end != NULL ? folder : ".", O_RDONLY, 0);
    syscall(SYS_fsync, place);
    close(place);
  }
  return result;
}

// follow: links in the way are followed, and existing files are opened.
int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (broken("follow")) flags &= ~(O_NOFOLLOW | O_EXCL);
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

// fulldisk: a write that the disk refused counts as done.
ssize_t write(int file, const void* data, size_t size) {
  const ssize_t written = syscall(SYS_write, file, data, size);
  if (broken("fulldisk") && file > 2) {
    if (written < 0 && (errno == ENOSPC || errno == EFBIG)) return (ssize_t)size;
    if (written >= 0) return (ssize_t)size;
  }
  return written;
}

// nolock: every process gets the lock.
int flock(int file, int operation) { return broken("nolock") ? 0 : (int)syscall(SYS_flock, file, operation); }

// deaf: signals that ask a program to end are ignored.
int sigaction(int number, const struct sigaction* action, struct sigaction* before) {
  static int (*real)(int, const struct sigaction*, struct sigaction*) = NULL;
  if (real == NULL) real = (int (*)(int, const struct sigaction*, struct sigaction*))dlsym(RTLD_NEXT, "sigaction");
  if (broken("deaf") && (number == SIGINT || number == SIGTERM || number == SIGHUP)) {
    struct sigaction ignored = {.sa_handler = SIG_IGN};
    return real(number, &ignored, before);
  }
  return real(number, action, before);
}
