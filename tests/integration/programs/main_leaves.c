/* The main thread ends before the others. Tests what these do then, and how the process ends.

   main_leaves exit          the last thread has 200 MiB and returns: handlers run, and what was printed is there
   main_leaves cancelled     the same where the main thread is cancelled
   main_leaves later         the main thread is gone before anybody has data
   main_leaves call          the same by the bare system call: handlers do not run
   main_leaves signal        the last thread waits for a signal */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const size_t k_size = (size_t)200 << 20;
static const char* what = "";
static pthread_t main_thread;

static void handler(void) { printf("handler\n"); }

static int main_has_ended(void) {
  char line[512] = "";
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
  FILE* const file = fopen(path, "r");
  if (file) {
    if (!fgets(line, sizeof line, file)) line[0] = 0;
    fclose(file);
  }
  return strstr(line, ") Z ") != NULL;
}

static unsigned long sweep(unsigned char* data) {
  unsigned long sum = 0;
  for (size_t i = 0; i < k_size; i += 4096) sum += ++data[i];
  return sum;
}

static void* work(void* ignored) {
  const int late = strcmp(what, "later") == 0;
  unsigned char* data = NULL;
  unsigned long sum = 0;
  if (late)
    while (!main_has_ended()) sched_yield();
  data = malloc(k_size);
  memset(data, 1, k_size);
  if (strcmp(what, "cancelled") == 0) pthread_cancel(main_thread);
  while (!main_has_ended()) sched_yield();
  for (int i = 0; i < 4; ++i) sum += sweep(data);
  printf("worker %lu\n", sum);
  if (strcmp(what, "call") == 0 || strcmp(what, "signal") == 0) fflush(stdout);
  if (strcmp(what, "signal") == 0)
    for (;;) pause();
  if (strcmp(what, "call") == 0) syscall(SYS_exit, 0);
  return ignored;
}

int main(int count, char** words) {
  pthread_t worker;
  what = count > 1 ? words[1] : "";
  main_thread = pthread_self();
  atexit(handler);
  pthread_create(&worker, NULL, work, NULL);
  pthread_detach(worker);
  if (strcmp(what, "cancelled") == 0)
    for (;;) pause();
  if (strcmp(what, "call") == 0) syscall(SYS_exit, 0);
  pthread_exit(NULL);
}
