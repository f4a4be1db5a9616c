// How much memory a program touches, and how much it writes, in windows of time: what any schedule must move
// follows from that. Whatever is in memory when a window begins, a budget of M bytes holds M of what is touched in
// it; the rest must be read. And of what is written in it at most M bytes can still be in memory alone when it
// ends.
//
// LD_PRELOAD it; WINDOWS_FILE gets a line a window: bytes touched, bytes written. WINDOWS_LENGTH is in seconds.
// Pages are 4 KiB (no huge ones). Needs Linux 6.7 (PAGEMAP_SCAN) and the right to use userfaultfd.
//
// What is touched: /proc/self/clear_refs and smaps' "Referenced" (Documentation/filesystems/proc.rst). What is
// written: userfaultfd's asynchronous write protection, read by PAGEMAP_SCAN
// (Documentation/admin-guide/mm/pagemap.rst).
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 4096, LEAST = 1 << 20, WP_UNPOPULATED = 1 << 13, WP_ASYNC = 1 << 15 };  // of userfaultfd's features

// linux/fs.h has these since 6.7.
struct scan {
  uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
  uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
struct region {
  uint64_t start, end, categories;
};
#define SCAN _IOWR('f', 16, struct scan)
enum { SCAN_WP_MATCHING = 1, SCAN_CHECK_WPASYNC = 2, IS_WRITTEN = 2 };

static struct range { uint64_t low, high; } known[MOST];
static int count;
static int faults = -1, page_map = -1;
static int of_writes;
static FILE* out;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void fail(const char* what) {
  fprintf(stderr, "windows: %s: %s\n", what, strerror(errno));
  _exit(99);
}

static int is_known(uint64_t low, uint64_t high) {
  for (int i = 0; i < count; ++i)
    if (known[i].low == low && known[i].high == high) return 1;
  return 0;
}

// Private writable memory without a file, of at least a MiB; the kernel forgets a range with its mapping.
static void register_all(void) {
  static struct range now[MOST];
  int found = 0;
  FILE* const maps = fopen("/proc/self/maps", "re");
  char line[512];
  while (maps && fgets(line, sizeof line, maps)) {
    unsigned long long low, high, inode;
    char rights[8];
    if (sscanf(line, "%llx-%llx %7s %*s %*s %llu", &low, &high, rights, &inode) != 4) continue;
    if (strncmp(rights, "rw-p", 4) != 0 || inode != 0 || high - low < LEAST || strstr(line, "[stack")) continue;
    if (found < MOST) now[found++] = (struct range){low, high};
  }
  if (maps) fclose(maps);
  for (int i = 0; i < found; ++i) {
    if (is_known(now[i].low, now[i].high)) continue;
    struct uffdio_register what = {.range = {now[i].low, now[i].high - now[i].low},
                                   .mode = UFFDIO_REGISTER_MODE_WP};
    ioctl(faults, UFFDIO_REGISTER, &what);  // what has gone meanwhile is not there
  }
  memcpy(known, now, sizeof now);
  count = found;
}

// Bytes written since the last time.
static uint64_t written(void) {
  static struct region regions[1024];
  uint64_t bytes = 0;
  for (int i = 0; i < count; ++i)
    for (uint64_t at = known[i].low; at < known[i].high;) {
      struct scan scan = {.size = sizeof scan,
                          .flags = SCAN_WP_MATCHING | SCAN_CHECK_WPASYNC,
                          .start = at,
                          .end = known[i].high,
                          .vec = (uint64_t)(uintptr_t)regions,
                          .vec_len = sizeof regions / sizeof *regions,
                          .category_mask = IS_WRITTEN,
                          .return_mask = IS_WRITTEN};
      const int got = ioctl(page_map, SCAN, &scan);
      if (got < 0 || scan.walk_end <= at) break;
      for (int k = 0; k < got; ++k) bytes += regions[k].end - regions[k].start;
      at = scan.walk_end;
    }
  return bytes;
}

static uint64_t touched(void) {
  unsigned long long kib = 0;
  FILE* const file = fopen("/proc/self/smaps_rollup", "re");
  char line[256];
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "Referenced: %llu kB", &kib) == 1) break;
  if (file) fclose(file);
  return (uint64_t)kib << 10;
}

static void clear(void) {
  const int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, "1", 1) != 1) fail("/proc/self/clear_refs");
  close(file);
}

// What was written before a range was known counts in the window after: both are one then, and the sum is no
// larger than it may be.
static void end_window(void) {
  pthread_mutex_lock(&turn);
  uint64_t bytes;
  if (of_writes) {
    bytes = written();
    register_all();
  } else {
    static long before;
    struct rusage now;
    getrusage(RUSAGE_SELF, &now);
    const uint64_t all = touched(), first = (uint64_t)(now.ru_minflt - before) * 4096;
    bytes = all > first ? all - first : 0;
    before = now.ru_minflt;
    clear();
  }
  fprintf(out, "%llu\n", (unsigned long long)bytes);
  fflush(out);
  pthread_mutex_unlock(&turn);
}

static void* watch(void* length) {
  const double seconds = *(double*)length;
  const struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  for (;;) {
    nanosleep(&pause, NULL);
    end_window();
  }
  return NULL;
}

__attribute__((constructor)) static void begin(void) {
  static double length;
  const char* const name = getenv("WINDOWS_FILE");
  length = getenv("WINDOWS_LENGTH") ? atof(getenv("WINDOWS_LENGTH")) : 0;
  if (!name || length <= 0) return;
  unsetenv("LD_PRELOAD");  // of this process alone
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  of_writes = getenv("WINDOWS_OF") && strcmp(getenv("WINDOWS_OF"), "written") == 0;
  out = fopen(name, "we");
  if (!out) fail(name);
  faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
  struct uffdio_api api = {.api = UFFD_API, .features = WP_ASYNC | WP_UNPOPULATED};
  if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0) fail("userfaultfd with asynchronous write protection");
  page_map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (page_map < 0) fail("/proc/self/pagemap");
  clear();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_t thread;
  if (pthread_create(&thread, NULL, watch, &length) != 0) fail("pthread_create");
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

__attribute__((destructor)) static void finish(void) {
  if (out) end_window();
}
