/* Preloaded into a broker: as long as the file $SLOW_SWITCH exists, reads of $SLOW_BYTES and more (pread) of files whose path holds
 * $SLOW_PART wait. Small reads, as of a batch's header, go on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void wait_for(int fd, size_t size) {
  const char *part = getenv("SLOW_PART"), *bytes = getenv("SLOW_BYTES"), *name = getenv("SLOW_SWITCH");
  if (part == NULL || bytes == NULL || name == NULL || size < (size_t)atol(bytes)) return;
  char link[64], path[PATH_MAX + 1];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX);
  if (length < 0) return;
  path[length] = 0;
  if (strstr(path, part) == NULL) return;
  while (access(name, F_OK) == 0) usleep(10000);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pread(int fd, void *into, size_t size, off_t at) {
  wait_for(fd, size);
  return REAL(pread)(fd, into, size, at);
}

ssize_t pread64(int fd, void *into, size_t size, off64_t at) {
  wait_for(fd, size);
  return REAL(pread64)(fd, into, size, at);
}
