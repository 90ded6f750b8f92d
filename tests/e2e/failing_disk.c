/* Preloaded into a broker: once the file $FAILING_SWITCH exists, every call that would change something below
 * $FAILING_PREFIX answers the errno that the file holds as text (EIO where it holds none), as a disk that broke or was
 * remounted read-only does. Mapped memory and reads go on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int chosen_errno(void) {
  const char *name = getenv("FAILING_SWITCH");
  if (name == NULL || access(name, F_OK) != 0) return 0;
  char text[16] = {0};
  int fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return EIO;
  if (read(fd, text, sizeof text - 1) < 0) text[0] = 0;
  close(fd);
  int number = atoi(text);
  return number > 0 ? number : EIO;
}

static int path_fails(const char *path) {
  const char *prefix = getenv("FAILING_PREFIX");
  if (prefix == NULL || path == NULL || strncmp(path, prefix, strlen(prefix)) != 0) return 0;
  int number = chosen_errno();
  if (number == 0) return 0;
  errno = number;
  return 1;
}

static int fd_fails(int fd) {
  if (chosen_errno() == 0) return 0;
  char link[64], path[PATH_MAX + 1];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX);
  if (length < 0) return 0;
  path[length] = 0;
  return path_fails(path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define ON_FD(type, name, parameters, arguments) \
  type name parameters { return fd_fails(fd) ? -1 : REAL(name) arguments; }

ON_FD(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
ON_FD(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
ON_FD(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
ON_FD(ssize_t, writev, (int fd, const struct iovec *pieces, int count), (fd, pieces, count))
ON_FD(ssize_t, pwritev, (int fd, const struct iovec *pieces, int count, off_t at), (fd, pieces, count, at))
ON_FD(ssize_t, pwritev64, (int fd, const struct iovec *pieces, int count, off64_t at), (fd, pieces, count, at))
ON_FD(int, fsync, (int fd), (fd))
ON_FD(int, fdatasync, (int fd), (fd))
ON_FD(int, ftruncate, (int fd, off_t size), (fd, size))
ON_FD(int, ftruncate64, (int fd, off64_t size), (fd, size))

int rename(const char *from, const char *to) { return path_fails(to) ? -1 : REAL(rename)(from, to); }
int unlink(const char *path) { return path_fails(path) ? -1 : REAL(unlink)(path); }
int mkdir(const char *path, mode_t mode) { return path_fails(path) ? -1 : REAL(mkdir)(path, mode); }

static int open_fails(const char *path, int flags) {
  return (flags & (O_CREAT | O_WRONLY | O_RDWR | O_TRUNC)) != 0 && path_fails(path);
}

int open(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (open_fails(path, flags)) return -1;
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (open_fails(path, flags)) return -1;
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_LARGEFILE, mode);
}
