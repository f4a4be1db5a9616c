/* Prints the threads that a program sees in its process, with data that it allocates at different times.

   own_threads count       prints how many threads the process has
   own_threads late        the same, and again behind a block of 64 MiB
   own_threads large       has a block of 256 MiB
   own_threads together    8 threads have their first large block at the same moment
   own_threads fork        forks while another thread has its first large block
   own_threads load FILE   loads a library (early_library.c)
   own_threads bound       the first large block in a thread that is bound to a core; prints on how many cores each
                           of the others may run, at least */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define THREADS 8

static int threads(void) {
  char line[256];
  int count = -1;
  FILE* const status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) sscanf(line, "Threads: %d", &count);
  if (status) fclose(status);
  return count;
}

static unsigned long fill(size_t size, unsigned char value) {
  unsigned char* const block = malloc(size);
  unsigned long sum = 0;
  if (!block) exit(3);
  memset(block, value, size);
  for (size_t i = 0; i < size; i += 4096) sum += block[i];
  free(block);
  return sum;
}

static pthread_barrier_t begin;

static void* first_block(void* value) {
  pthread_barrier_wait(&begin);
  return (void*)fill(16 * MIB, (unsigned char)(size_t)value);
}

static int together(void) {
  pthread_t all[THREADS];
  unsigned long sum = 0;
  pthread_barrier_init(&begin, NULL, THREADS);
  for (size_t i = 0; i < THREADS; ++i) pthread_create(&all[i], NULL, first_block, (void*)(i + 1));
  for (size_t i = 0; i < THREADS; ++i) {
    void* result;
    pthread_join(all[i], &result);
    sum += (unsigned long)result;
  }
  printf("sum %lu\n", sum);
  return 0;
}

static int fork_meanwhile(void) {
  pthread_t other;
  void* result;
  int failed = 0;
  pthread_barrier_init(&begin, NULL, 2);
  pthread_create(&other, NULL, first_block, (void*)1);
  pthread_barrier_wait(&begin);
  for (int i = 0; i < 20; ++i) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) _exit(fill(8 * MIB, 1) == 8 * MIB / 4096 ? 0 : 1);
    if (waitpid(child, &status, 0) != child || status != 0) ++failed;
  }
  pthread_join(other, &result);
  printf("failed %d, sum %lu\n", failed, (unsigned long)result);
  return failed;
}

static int bound(void) {
  int least = CPU_SETSIZE;
  cpu_set_t cores;
  DIR* tasks;
  struct dirent* task;
  CPU_ZERO(&cores);
  CPU_SET(sched_getcpu(), &cores);
  sched_setaffinity(0, sizeof cores, &cores);
  fill(16 * MIB, 1);
  tasks = opendir("/proc/self/task");
  while (tasks && (task = readdir(tasks))) {
    const int number = atoi(task->d_name);
    if (number == 0 || number == getpid()) continue;
    if (sched_getaffinity(number, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) < least)
      least = CPU_COUNT(&cores);
  }
  printf("cores %d\n", least);
  return 0;
}

int main(int count, char** words) {
  const char* const what = count > 1 ? words[1] : "";
  if (strcmp(what, "together") == 0) return together();
  if (strcmp(what, "fork") == 0) return fork_meanwhile();
  if (strcmp(what, "load") == 0) return count > 2 && dlopen(words[2], RTLD_NOW) ? 0 : 1;
  if (strcmp(what, "bound") == 0) return bound();
  if (strcmp(what, "large") == 0) return printf("sum %lu\n", fill(256 * MIB, 1)) > 0 ? 0 : 1;
  printf("threads %d\n", threads());
  if (strcmp(what, "late") == 0) printf("sum %lu\n", fill(64 * MIB, 1));
  return 0;
}
