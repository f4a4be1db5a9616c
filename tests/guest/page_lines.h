// Prints the nodes of the pages of a process's private writable mappings, as lines (phase_audit.c, page_audit.c):
//
//   pages ADDRESS COUNT NODE    in hexadecimal: neighbours on one node, -1 for those on their way to another one;
//                               absent pages are skipped
//
// It queries the kernel by move_pages(2), which moves no page if no nodes are given.
#pragma once

#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { k_page = 4096, k_batch = 4096 };

// All memory of the auditor is static, so that it allocates none in the program.
static int g_file = -1;  // where the lines go
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
static int audit_range(pid_t process, uint64_t low, uint64_t high, int page_map) {
  struct run run = {0, 0, 0};
  for (uint64_t at = low; at < high; at += (uint64_t)k_batch * k_page) {
    const size_t wanted = high - at < (uint64_t)k_batch * k_page ? (high - at) / k_page : k_batch;
    if (pread(page_map, g_present, wanted * 8, (off_t)(at / k_page * 8)) != (ssize_t)(wanted * 8)) return 0;
    size_t n = 0;
    for (size_t i = 0; i < wanted; ++i)
      if (g_present[i] >> 62) g_pages[n++] = (void*)(uintptr_t)(at + i * k_page);
    if (n > 0 && syscall(SYS_move_pages, process, n, g_pages, NULL, g_nodes, 0) != 0) return 0;
    for (size_t i = 0; i < n; ++i)
      add_page(&run, (uint64_t)(uintptr_t)g_pages[i], g_nodes[i] >= 0 ? g_nodes[i] : -1);
  }
  end_run(&run);
  return 1;
}

static int open_of(pid_t process, const char* name) {
  char path[64];
  if (process == 0)
    snprintf(path, sizeof path, "/proc/self/%s", name);
  else
    snprintf(path, sizeof path, "/proc/%d/%s", (int)process, name);
  return open(path, O_RDONLY | O_CLOEXEC);
}

// Puts the lines of a process's private writable mappings; 0 is this one. Returns 0 where it could not be asked to
// the end: it has ended.
static int audit_process(pid_t process) {
  const int page_map = open_of(process, "pagemap");
  const int file = open_of(process, "maps");
  size_t size = 0;
  for (ssize_t n; size + 1 < sizeof g_maps && (n = read(file, g_maps + size, sizeof g_maps - 1 - size)) > 0;)
    size += (size_t)n;
  close(file);
  if (size + 1 >= sizeof g_maps) abort();
  g_maps[size] = '\0';
  // Mappings are told in pieces: one that grew meanwhile, into one that was told before, comes once more as a
  // whole.
  unsigned long long told = 0;
  int is_whole = 1;
  for (char *line = g_maps, *next; is_whole && *line; line = next) {
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
    is_whole = audit_range(process, low, high, page_map);
  }
  close(page_map);
  return is_whole && size > 0;
}
