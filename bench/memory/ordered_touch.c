/* Measures what allocation by intent costs: SIZE MiB from terrace_alloc or malloc against as much from mmap, each
 * touched page by page and freed, interleaved. acceptance/memory runs it; by hand:
 *
 *   cc -O2 -o touch bench/memory/ordered_touch.c -lterrace
 *   terrace run -q -- ./touch alloc 4096 9              terrace_alloc, at once
 *   terrace run -q --intent bandwidth -- ./touch malloc 4096 9      at first touch
 *
 * A word after the number of repetitions sets the page size of both: "small" forbids huge pages to the process;
 * "huge" requests them by madvise(2). terrace_alloc has huge ones only where the system gives them to all
 * processes (/sys/kernel/mm/transparent_hugepage/enabled is "always"), because it allocates its pages before the
 * request. The program checks each block in /proc/self/smaps: pages of another size are an error. Prints the
 * seconds of each repetition and the ratio of the medians. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <terrace/terrace.h>
#include <time.h>

enum { k_max = 99, k_page = 4096 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void touch(char* block, size_t size) {
  for (size_t at = 0; at < size; at += k_page) *(volatile char*)(block + at) = 1;
}

/* Returns the bytes of a touched block that are in huge pages, from /proc/self/smaps. */
static size_t in_huge_pages(const char* block, size_t size) {
  FILE* const file = fopen("/proc/self/smaps", "r");
  char line[512];
  size_t found = 0;
  int inside = 0;
  while (file && fgets(line, sizeof line, file)) {
    size_t low = 0;
    size_t high = 0;
    size_t kib = 0;
    if (sscanf(line, "%zx-%zx ", &low, &high) == 2)
      inside = low < (size_t)block + size && high > (size_t)block;
    else if (inside && sscanf(line, "AnonHugePages: %zu", &kib) == 1)
      found += kib << 10;
  }
  if (file) fclose(file);
  return found;
}

/* Ends the program if the pages are not of the requested size. */
static void check_pages(const char* what, const char* block, size_t size, const char* pages) {
  if (!pages) return;
  const size_t huge = in_huge_pages(block, size);
  if (strcmp(pages, "huge") == 0 ? huge >= size - size / 10 : huge == 0) return;
  printf("%s: %zu MiB of %zu are in huge pages, but %s pages were requested\n", what, huge >> 20, size >> 20,
         pages);
  exit(1);
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
  const int turns = atoi(words[3]) < k_max ? atoi(words[3]) : k_max;
  const char* const pages = count < 5 ? NULL : words[4];
  const int huge = pages && strcmp(pages, "huge") == 0;
  if (pages && !huge && (strcmp(pages, "small") != 0 || prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0)) return 2;
  double plain[k_max];
  double ordered[k_max];
  for (int turn = -1; turn < turns; ++turn) { /* the first warms up */
    double begin = now();
    char* const map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return 1;
    if (huge) madvise(map, size, MADV_HUGEPAGE);
    touch(map, size);
    if (turn >= 0) plain[turn] = now() - begin;
    check_pages("mmap", map, size, pages);
    munmap(map, size);
    begin = now();
    char* const block = calls ? terrace_alloc(size, "bandwidth") : malloc(size);
    if (!block) return 1;
    if (huge) madvise(block, size, MADV_HUGEPAGE);
    touch(block, size);
    if (turn >= 0) ordered[turn] = now() - begin;
    check_pages(words[1], block, size, pages);
    terrace_free(block);
    if (turn >= 0) printf("%.4f %.4f\n", plain[turn], ordered[turn]);
  }
  const double one = median(plain, turns);
  const double other = median(ordered, turns);
  printf("mmap %.4f s, %s %.4f s: ratio of medians %.3f\n", one, calls ? "terrace_alloc" : "malloc", other,
         other / one);
  return 0;
}
