// Preloaded into a process: the N-th write, flush, rename or new folder below a folder fails. FAIL_BELOW is a part of the
// folder's path, FAIL_AT is N, FAIL_ERRNO the error, and FAIL_COUNT a file that gets the number of calls. Every read of files
// whose path has FAIL_READING in it fails.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long calls;

static long setting(const char* name) {
  const char* value = getenv(name);
  return value == NULL ? 0 : atol(value);
}

static int has_part(const char* path, const char* name) {
  const char* part = getenv(name);
  return part != NULL && strstr(path, part) != NULL;
}

static int is_below(const char* path) { return has_part(path, "FAIL_BELOW"); }

static int is_file_with(int file, const char* name) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return has_part(path, name);
}

static int is_file_below(int file) { return is_file_with(file, "FAIL_BELOW"); }

static int fails_reading(int file) {
  if (!is_file_with(file, "FAIL_READING")) return 0;
  errno = EIO;
  return 1;
}

static int fails(int is_counted) {
  if (!is_counted) return 0;
  const long call = atomic_fetch_add(&calls, 1) + 1;
  FILE* count = fopen(getenv("FAIL_COUNT"), "w");
  if (count != NULL) {
    fprintf(count, "%ld", call);
    fclose(count);
  }
  if (call != setting("FAIL_AT")) return 0;
  errno = (int)setting("FAIL_ERRNO");
  return 1;
}

#define FAILING_IF(type, name, parameters, arguments, condition)                         \
  type name parameters {                                                                 \
    static type(*original) parameters;                                                   \
    if (original == NULL) original = (type(*) parameters)dlsym(RTLD_NEXT, #name);        \
    return condition ? -1 : original arguments;                                          \
  }
#define FAILING(type, name, parameters, arguments, counted) \
  FAILING_IF(type, name, parameters, arguments, fails(counted))

FAILING(ssize_t, write, (int file, const void* from, size_t size), (file, from, size), is_file_below(file))
FAILING(ssize_t, pwrite, (int file, const void* from, size_t size, off_t at), (file, from, size, at), is_file_below(file))
FAILING(ssize_t, pwrite64, (int file, const void* from, size_t size, off64_t at), (file, from, size, at), is_file_below(file))
FAILING(int, fsync, (int file), (file), is_file_below(file))
FAILING(int, fdatasync, (int file), (file), is_file_below(file))
FAILING(int, rename, (const char* from, const char* to), (from, to), is_below(to))
FAILING(int, mkdir, (const char* path, mode_t mode), (path, mode), is_below(path))
FAILING_IF(ssize_t, read, (int file, void* to, size_t size), (file, to, size), fails_reading(file))
FAILING_IF(ssize_t, pread, (int file, void* to, size_t size, off_t at), (file, to, size, at), fails_reading(file))
FAILING_IF(ssize_t, pread64, (int file, void* to, size_t size, off64_t at), (file, to, size, at), fails_reading(file))
