// Prints the kernel's node of each page of a program at the start of each phase. Preloaded before Terrace's
// library, it forwards terrace_phase() and the other markers and then queries the kernel, by move_pages(2), for
// every page of the program's private writable mappings. It shares no code with Terrace.
//
// Writes lines to $PHASE_AUDIT.PID:
//   loop NAME
//   pages ADDRESS COUNT NODE    as in page_lines.h
//   phase ITERATION POSITION NAME BEFORE AFTER END    the phase of the lines of pages before it; times are
//                               CLOCK_MONOTONIC in ns: terrace_phase() was called, has returned, the kernel has
//                               answered
//   inside ITERATION POSITION NAME BEFORE AFTER END    the same in the middle of that phase; BEFORE is AFTER
//
// With $PHASE_AUDIT_EVERY, in microseconds, a separate thread samples inside phases, too, at that interval; a
// phase does not end during a sample.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "page_lines.h"

enum { k_name = 128 };

static int g_in_loop;
static long g_iteration;
static long g_position;
static char g_first[k_name];
static char g_name[k_name];
static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;  // of all of it, while a thread asks inside phases

static void audit_memory(void) {
  if (!audit_process(0)) abort();
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

// Starts the auditor's thread by the C library's own function, so that Terrace does not notice it.
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
