// What jemalloc calls of the system, under the names that jemalloc_names.txt gives: the kernel itself where the
// program's own functions may be interposed, and nothing where a user's settings for another jemalloc, or threads
// of its own, would come in.
#include "memory/arenas/jemalloc_system.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace {

long kernel(long result) { return result; }

}  // namespace

namespace terrace::memory {

constinit ForkHandlers g_arena_fork{};

}  // namespace terrace::memory

extern "C" {

// No arenas for other data, no caches but ours, no reports at the end. Pages that are free for ten seconds go
// back.
extern const char* terrace_arena_conf;
const char* terrace_arena_conf =
    "narenas:1,tcache:false,background_thread:false,abort:false,abort_conf:false,retain:false,metadata_thp:"
    "disabled,"
    "oversize_threshold:0,dirty_decay_ms:10000,muzzy_decay_ms:0,thp:default";

void* terrace_arena_mmap(void* address, std::size_t size, int protection, int flags, int file, long offset) {
  return reinterpret_cast<void*>(  // NOLINT(performance-no-int-to-ptr)
      kernel(::syscall(SYS_mmap, address, size, protection, flags, file, offset)));
}
int terrace_arena_munmap(void* address, std::size_t size) {
  return static_cast<int>(::syscall(SYS_munmap, address, size));
}
int terrace_arena_mprotect(void* address, std::size_t size, int protection) {
  return static_cast<int>(::syscall(SYS_mprotect, address, size, protection));
}
int terrace_arena_madvise(void* address, std::size_t size, int advice) {
  return static_cast<int>(::syscall(SYS_madvise, address, size, advice));
}
void* terrace_arena_sbrk(std::ptrdiff_t) {
  errno = ENOMEM;
  return reinterpret_cast<void*>(-1);  // NOLINT(performance-no-int-to-ptr)
}
// Of /proc/sys/vm/overcommit_memory, for reading.
int terrace_arena_open(const char* path, int flags, ...) {
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0));
}
int terrace_arena_creat(const char*, unsigned) {
  errno = EPERM;
  return -1;
}
int terrace_arena_close(int file) { return static_cast<int>(::syscall(SYS_close, file)); }
// Of /etc/malloc.conf and MALLOC_CONF: settings of the program's own.
long terrace_arena_readlink(const char*, char*, std::size_t) {
  errno = ENOENT;
  return -1;
}
char* terrace_arena_getenv(const char*) { return nullptr; }
void* terrace_arena_dlsym(void*, const char*) { return nullptr; }
int terrace_arena_pthread_create(void*, const void*, void* (*)(void*), void*) { return EAGAIN; }
// The order among all that is locked around a fork is the agent's.
int terrace_arena_pthread_atfork(void (*before)(), void (*parent)(), void (*child)()) {
  terrace::memory::g_arena_fork = {before, parent, child};
  return 0;
}
int terrace_arena_atexit(void (*)()) { return 0; }
int terrace_arena_clock_gettime(int clock, timespec* now) {
  return static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
}
// Only its profiling of heaps calls these, which is never switched on; so nobody needs libm.
double terrace_arena_exp(double) { return 0; }
double terrace_arena_log(double) { return 0; }
double terrace_arena_round(double value) { return value; }

}  // extern "C"
