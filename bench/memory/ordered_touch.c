/* What it costs that data come by intent: SIZE MiB from terrace_alloc or malloc against as much from mmap, each
 * touched page by page and given back, in turns.
 *
 *   cc -O2 -o touch bench/memory/ordered_touch.c -lterrace
 *   terrace run -q -- ./touch alloc 4096 9              terrace_alloc, at once
 *   terrace run -q --intent bandwidth -- ./touch malloc 4096 9      at first touch
 *
 * A third word after the number of turns is an advice on huge pages for both: "huge", "small". Prints each turn's
 * seconds and the ratio of the medians. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <terrace/terrace.h>
#include <time.h>

enum { k_most = 99, k_page = 4096 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void touch(char* block, size_t size) {
  for (size_t at = 0; at < size; at += k_page) *(volatile char*)(block + at) = 1;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* times, int count) {
  qsort(times, (size_t)count, sizeof *times, compare);
  return count % 2 ? times[count / 2] : (times[count / 2 - 1] + times[count / 2]) / 2;
}

int main(int count, char** words) {
  if (count < 4) return 2;
  const int calls = strcmp(words[1], "alloc") == 0;
  const size_t size = (size_t)atol(words[2]) << 20;
  const int turns = atoi(words[3]) < k_most ? atoi(words[3]) : k_most;
  const int advice = count < 5 ? -1 : strcmp(words[4], "huge") == 0 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;
  double plain[k_most];
  double ordered[k_most];
  for (int turn = -1; turn < turns; ++turn) { /* the first warms up */
    double begin = now();
    char* const map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return 1;
    if (advice >= 0) madvise(map, size, advice);
    touch(map, size);
    if (turn >= 0) plain[turn] = now() - begin;
    munmap(map, size);
    begin = now();
    char* const block = calls ? terrace_alloc(size, "bandwidth") : malloc(size);
    if (!block) return 1;
    if (advice >= 0 && !calls) madvise(block, size, advice);
    touch(block, size);
    if (turn >= 0) ordered[turn] = now() - begin;
    terrace_free(block);
    if (turn >= 0) printf("%.4f %.4f\n", plain[turn], ordered[turn]);
  }
  const double one = median(plain, turns);
  const double other = median(ordered, turns);
  printf("mmap %.4f s, %s %.4f s: ratio of medians %.3f\n", one, calls ? "terrace_alloc" : "malloc", other,
         other / one);
  return 0;
}
