/* A program that nobody rebuilt: it uses one block all the time, and another, which is made first, now and then.
 * It ends a while after the kernel says that every page of the first is on the wanted node, or has had its time,
 * and prints where pages are.
 *
 *   watched MIB NODE SECONDS WHILE
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double g_sum;

static size_t on_node(const char* block, size_t size, int node) {
  const size_t page = 4096, many = 512;
  size_t found = 0;
  for (size_t at = 0; at < size;) {
    void* pages[512];
    int nodes[512];
    size_t count = 0;
    for (; count < many && at < size; at += page) pages[count++] = (void*)(block + at);
    if (syscall(SYS_move_pages, 0, count, pages, NULL, nodes, 0) != 0) return 0;
    for (size_t i = 0; i < count; ++i) found += nodes[i] == node;
  }
  return found;
}

__attribute__((noinline)) static void sweep(const double* hot, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += hot[i];
  g_sum += sum;
}

__attribute__((noinline)) static void scatter(double* cold, size_t count, unsigned* random) {
  for (int i = 0; i < 50; ++i) {
    *random = *random * 1664525u + 1013904223u;
    cold[*random % count] += 1;
  }
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const size_t size = (size_t)atoi(argv[1]) << 20;
  const int node = atoi(argv[2]);
  time_t ends = time(NULL) + atoi(argv[3]);
  const time_t longer = atoi(argv[4]);
  double* cold = malloc(size);
  double* hot = malloc(size);
  if (!cold || !hot) return 2;
  memset(cold, 1, size);
  memset(hot, 1, size);
  unsigned random = 1;
  long turns = 0;
  while (time(NULL) < ends) {
    sweep(hot, size / sizeof *hot);
    if (turns % 100 == 0) scatter(cold, size / sizeof *cold, &random);
    /* So that iterations under the plan are counted. */
    if (++turns % 16 == 0 && on_node((char*)hot, size, node) == size / 4096 && ends - time(NULL) > longer)
      ends = time(NULL) + longer;
  }
  printf("hot %zu cold %zu of %zu on node %d, sum %g\n", on_node((char*)hot, size, node),
         on_node((char*)cold, size, node), size / 4096, node, g_sum);
  return 0;
}
