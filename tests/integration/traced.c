/* Target of the tracer's test: sweeps and copies with known accesses, threads, a child, an end by
 * signal. Prints where its data lie. With the argument "die" it kills itself at the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { words = 65536, stride = 16, copied = 100000, rounds = 3 };

__attribute__((aligned(4096))) volatile double table[words];
__attribute__((aligned(4096))) volatile char halves[2][8192];

static void* sweep_half(void* half) {
  for (int i = 0; i < 8192; i += 64) ((volatile char*)half)[i] = 1;
  return NULL;
}

int main(int argc, char** argv) {
  void (*const begin)(const char*) = (void (*)(const char*))dlsym(RTLD_DEFAULT, "terrace_loop_begin");
  void (*const phase)(const char*) = (void (*)(const char*))dlsym(RTLD_DEFAULT, "terrace_phase");
  void (*const end)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "terrace_loop_end");
  if (!begin || !phase || !end) return 3;
  char* const block = malloc(2 * copied);
  if (!block) return 4;
  printf("%p %p %p\n", (void*)table, (void*)halves, (void*)block);
  fflush(stdout);

  for (int i = 0; i < words; ++i) table[i] = i;
  begin("main");
  for (int round = 0; round < rounds; ++round) {
    phase("sweep");
    for (int i = 0; i < words; i += stride) table[i] += 1;
    phase("a phase whose name is longer than what a call can carry");
    memcpy(block, (const char*)table, copied);
  }
  end();

  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, sweep_half, (void*)halves[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);

  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < words; ++i) table[i] = 0;
    _exit(0);
  }
  waitpid(child, NULL, 0);
  free(block);
  if (argc > 1 && strcmp(argv[1], "die") == 0) raise(SIGKILL);
  return 5;
}
