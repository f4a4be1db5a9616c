// The kernel's own account of a program's memory at the start of each phase: preloaded before Terrace's library,
// it passes terrace_phase() and its sisters on and then asks the kernel, by move_pages(2), where every page of the
// program's private writable mappings lies. It shares nothing with Terrace, and decides nothing.
//
// Writes lines to $PHASE_AUDIT.PID:
//   loop NAME
//   pages ADDRESS COUNT NODE    in hexadecimal: neighbours on one node, -1 for those on their way to another one;
//                               pages that are not there are left out
//   phase ITERATION POSITION NAME BEFORE AFTER END    what the lines of pages before it are about; CLOCK_MONOTONIC
//   in
//                               ns: terrace_phase() was called, has returned, the kernel has answered
//   inside ITERATION POSITION NAME BEFORE AFTER END    the same in the middle of that phase; BEFORE is AFTER
//
// With $PHASE_AUDIT_EVERY, in microseconds, a thread of its own asks inside phases, too, that long apart; a phase
// does not end while it does.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { k_page = 4096, k_batch = 4096, k_name = 128 };

static int g_file = -1;
static int g_in_loop;
static long g_iteration;
static long g_position;
static char g_first[k_name];
static char g_name[k_name];
static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;  // of all of it, while a thread asks inside phases

// All memory that it uses, so that it never allocates under the program.
static char g_line[1 << 16];
static size_t g_used;
static char g_maps[1 << 20];
static void* g_pages[k_batch];
static int g_nodes[k_batch];
static uint64_t g_present[k_batch];

static void flush_lines(void) {
  for (size_t at = 0; at < g_used;) {
    const ssize_t n = write(g_file, g_line + at, g_used - at);
    if (n <= 0) abort();
    at += (size_t)n;
  }
  g_used = 0;
}

__attribute__((format(printf, 1, 2))) static void put(const char* format, ...) {
  if (g_used + 512 > sizeof g_line) flush_lines();
  __builtin_va_list values;
  __builtin_va_start(values, format);
  g_used += (size_t)vsnprintf(g_line + g_used, 512, format, values);
  __builtin_va_end(values);
}

// Past every interposer: Terrace may show the program another time.
static int64_t now_ns(void) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

struct run {
  uint64_t address;
  uint64_t pages;
  int node;
};

static void end_run(struct run* run) {
  if (run->pages > 0) put("pages %" PRIx64 " %" PRIx64 " %d\n", run->address, run->pages, run->node);
  run->pages = 0;
}

static void add_page(struct run* run, uint64_t page, int node) {
  if (run->pages > 0 && run->node == node && run->address + run->pages * k_page == page) {
    ++run->pages;
    return;
  }
  end_run(run);
  *run = (struct run){page, 1, node};
}

// Asking where a page lies costs much more than asking whether it is there: the page map says that first (present,
// or swapped, which is how a page on its way to another node looks).
static void audit_range(uint64_t low, uint64_t high, int page_map) {
  struct run run = {0, 0, 0};
  for (uint64_t at = low; at < high; at += (uint64_t)k_batch * k_page) {
    const size_t wanted = high - at < (uint64_t)k_batch * k_page ? (high - at) / k_page : k_batch;
    if (pread(page_map, g_present, wanted * 8, (off_t)(at / k_page * 8)) != (ssize_t)(wanted * 8)) abort();
    size_t n = 0;
    for (size_t i = 0; i < wanted; ++i)
      if (g_present[i] >> 62) g_pages[n++] = (void*)(uintptr_t)(at + i * k_page);
    if (n > 0 && syscall(SYS_move_pages, 0, n, g_pages, NULL, g_nodes, 0) != 0) abort();
    for (size_t i = 0; i < n; ++i)
      add_page(&run, (uint64_t)(uintptr_t)g_pages[i], g_nodes[i] >= 0 ? g_nodes[i] : -1);
  }
  end_run(&run);
}

static void audit_memory(void) {
  const int page_map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  size_t size = 0;
  for (ssize_t n; size + 1 < sizeof g_maps && (n = read(file, g_maps + size, sizeof g_maps - 1 - size)) > 0;)
    size += (size_t)n;
  close(file);
  if (size + 1 >= sizeof g_maps) abort();
  g_maps[size] = '\0';
  // Mappings are told in pieces: one that grew meanwhile, into one that was told before, comes once more as a
  // whole.
  unsigned long long told = 0;
  for (char *line = g_maps, *next; *line; line = next) {
    next = strchr(line, '\n');
    if (!next) break;
    *next++ = '\0';
    unsigned long long low, high, offset, inode;
    char rights[8], device[16];
    if (sscanf(line, "%llx-%llx %7s %llx %15s %llu", &low, &high, rights, &offset, device, &inode) != 6) continue;
    if (low < told) low = told;
    if (high <= low) continue;
    told = high;
    if (rights[0] != 'r' || rights[1] != 'w' || rights[3] != 'p' || strstr(line, "[stack]")) continue;
    audit_range(low, high, page_map);
  }
  close(page_map);
}

static void* ask_inside(void* microseconds) {
  const long every = (long)(intptr_t)microseconds;
  for (;;) {
    const struct timespec pause = {every / 1000000, every % 1000000 * 1000};
    syscall(SYS_nanosleep, &pause, NULL);
    pthread_mutex_lock(&g_mutex);
    if (g_in_loop && g_iteration >= 0) {
      const int64_t begun = now_ns();
      audit_memory();
      put("inside %ld %ld %s %lld %lld %lld\n", g_iteration, g_position, g_name, (long long)begun,
          (long long)begun, (long long)now_ns());
      flush_lines();
    }
    pthread_mutex_unlock(&g_mutex);
  }
  return NULL;
}

// By the C library's own door: Terrace need not know of this thread.
static void start_asking(void) {
  static int started;
  const char* const every = getenv("PHASE_AUDIT_EVERY");
  if (started || !every) return;
  started = 1;
  int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  *(void**)&create = dlsym(dlopen("libc.so.6", RTLD_NOW), "pthread_create");
  pthread_t thread;
  if (!create || create(&thread, NULL, ask_inside, (void*)(intptr_t)atol(every)) != 0) abort();
}

static void open_file(void) {
  const char* const name = getenv("PHASE_AUDIT");
  if (g_file >= 0 || !name) return;
  char path[512];
  snprintf(path, sizeof path, "%s.%d", name, (int)getpid());
  g_file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

void terrace_loop_begin(const char* name) {
  static void (*next)(const char*);
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "terrace_loop_begin");
  if (next) next(name);
  open_file();
  g_in_loop = g_file >= 0;
  g_iteration = -1;
  g_first[0] = '\0';
  if (g_in_loop) put("loop %s\n", name);
  if (g_in_loop) start_asking();
}

void terrace_loop_end(void) {
  static void (*next)(void);
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "terrace_loop_end");
  pthread_mutex_lock(&g_mutex);
  if (g_in_loop) flush_lines();
  g_in_loop = 0;
  pthread_mutex_unlock(&g_mutex);
  if (next) next();
}

static void audit_phase(const char* name, int64_t before, int64_t after) {
  snprintf(g_name, sizeof g_name, "%s", name);
  if (g_first[0] == '\0') snprintf(g_first, sizeof g_first, "%s", name);
  if (strcmp(name, g_first) == 0) {
    ++g_iteration;
    g_position = 0;
  } else {
    ++g_position;
  }
  audit_memory();
  put("phase %ld %ld %s %lld %lld %lld\n", g_iteration, g_position, name, (long long)before, (long long)after,
      (long long)now_ns());
  flush_lines();
}

void terrace_phase(const char* name) {
  static void (*next)(const char*);
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "terrace_phase");
  pthread_mutex_lock(&g_mutex);
  const int64_t before = now_ns();
  if (next) next(name);
  const int64_t after = now_ns();
  if (g_in_loop) audit_phase(name, before, after);
  pthread_mutex_unlock(&g_mutex);
}
