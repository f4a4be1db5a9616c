/* barriers THREADS: runs this many threads in addition to MPI's, which get 20 requests.
   Prints the sum of all. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int MPI_Init(void);
int MPI_Barrier(void);
int MPI_Finalize(void);

static void* work(void* sum) {
  for (int i = 0; i < 100000; ++i) *(volatile long*)sum += i & 1;
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[8];
  long sums[8] = {0}, sum = 0;
  const int count = argc > 1 ? atoi(argv[1]) : 0;
  int failed = MPI_Init();
  for (int i = 0; i < count; ++i) failed |= pthread_create(&threads[i], NULL, work, &sums[i]);
  for (int i = 0; i < 20; ++i) failed |= MPI_Barrier();
  for (int i = 0; i < count; ++i) {
    failed |= pthread_join(threads[i], NULL);
    sum += sums[i];
  }
  failed |= MPI_Finalize();
  printf("%ld\n", sum);
  return failed;
}
