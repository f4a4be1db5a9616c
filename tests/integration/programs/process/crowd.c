/* crowd: threads that allocate, free, read clocks and look up symbols all the time, while the main thread forks
 * children, which do the same and end without an exec. No child may block on a lock that another thread held at
 * the fork. Prints how many children ended correctly. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 3, CHILDREN = 200, SMALL = 100, BIG = 100000 };

static atomic_int done;

static int work(unsigned seed) {
  char* const small = malloc(SMALL + seed % 50);
  char* big = malloc(BIG + seed % 7 * 4096);
  if (!small || !big) return 1;
  memset(small, 1, SMALL);
  for (int i = 0; i < BIG; i += 512) big[i] = (char)(small[i % SMALL] + 1);
  big = realloc(big, 2 * BIG);
  char* const zero = calloc(1, BIG);
  void* const mapped = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!big || !zero || mapped == MAP_FAILED) return 1;
  *(char*)mapped = 1;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int wrong = big[0] != 2 || zero[BIG - 1] != 0 || dlsym(RTLD_DEFAULT, "fork") == NULL;
  munmap(mapped, BIG);
  free(zero);
  free(big);
  free(small);
  return wrong;
}

static void* busy(void* data) {
  for (unsigned i = 0; !atomic_load(&done); ++i) *(int*)data += work(i);
  return NULL;
}

static void* once(void* data) {
  *(int*)data = work(3);
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  int wrong[THREADS] = {0};
  int good = 0;
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, busy, &wrong[i]);
  for (int i = 0; i < CHILDREN; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      int failed = 0;
      for (unsigned k = 0; k < 10; ++k) failed += work(k);
      if (i % 10 == 0) { /* a child's threads */
        pthread_t thread;
        int of_thread = 1;
        pthread_create(&thread, NULL, once, &of_thread);
        pthread_join(thread, NULL);
        failed += of_thread;
      }
      _exit(failed == 0 ? 0 : 1);
    }
    int status = 1;
    if (child > 0) waitpid(child, &status, 0);
    good += status == 0;
  }
  atomic_store(&done, 1);
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(threads[i], NULL);
    good -= wrong[i];
  }
  printf("%d children\n", good);
  return 0;
}
