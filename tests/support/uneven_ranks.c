// A program of MPI ranks with unequal work: rank r sweeps an array r + 1 times in each iteration, and another one
// once. Between the sweeps the ranks wait for each other. Prints a checksum.
//
//   uneven_ranks MIB ITERATIONS [KILLED]
//
// MIB: of each array. KILLED: the rank that kills itself after half of the iterations; the others then go on
// without communication, as a program does whose launcher permits that.
//
// With $PAGE_NODES each rank writes to $PAGE_NODES.RANK, at the end of each sweep, on which node the kernel has
// the pages of its arrays:
//   clock NS REAL_NS            CLOCK_MONOTONIC and CLOCK_REALTIME at the beginning
//   pages ADDRESS COUNT NODE    in hexadecimal: neighbours on one node; negative: an error of the page
//   phase ITERATION SWEEP BEGIN END    of the lines of pages before it; CLOCK_MONOTONIC
//   killed NS
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { k_page = 4096, k_batch = 4096 };

static FILE* g_file;
static void* g_pages[k_batch];
static int g_nodes[k_batch];

static long long read_clock(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

// Writes the nodes of an array's pages. move_pages(2) moves none if no nodes are given.
static void write_nodes(const double* array, size_t bytes) {
  const uintptr_t begin = ((uintptr_t)array + k_page - 1) / k_page * k_page;
  const size_t pages = ((uintptr_t)array + bytes - begin) / k_page;
  for (size_t first = 0; first < pages; first += k_batch) {
    const size_t count = pages - first < k_batch ? pages - first : k_batch;
    for (size_t i = 0; i < count; ++i) g_pages[i] = (void*)(begin + (first + i) * k_page);
    if (syscall(SYS_move_pages, 0, count, g_pages, NULL, g_nodes, 0) != 0) abort();
    for (size_t i = 0, next; i < count; i = next) {
      for (next = i + 1; next < count && g_nodes[next] == g_nodes[i];) ++next;
      fprintf(g_file, "pages %lx %zx %d\n", (unsigned long)g_pages[i], next - i, g_nodes[i]);
    }
  }
}

static double sweep(const double* array, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i += 8) sum += array[i];
  return sum;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const size_t count = ((size_t)atol(argv[1]) << 20) / sizeof(double);
  const int iterations = atoi(argv[2]);
  const int killed = argc > 3 ? atoi(argv[3]) : -1;
  if (getenv("PAGE_NODES")) {
    char path[512];
    snprintf(path, sizeof path, "%s.%d", getenv("PAGE_NODES"), rank);
    g_file = fopen(path, "we");
    if (!g_file) abort();
    fprintf(g_file, "clock %lld %lld\n", read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_REALTIME));
  }
  double* const arrays[] = {malloc(count * sizeof(double)), malloc(count * sizeof(double))};
  for (size_t i = 0; i < count; ++i) arrays[0][i] = arrays[1][i] = (double)(i % 17);
  double total = 0;
  for (int i = 0; i < iterations; ++i) {
    MPI_Comm all = killed >= 0 && i > iterations / 2 ? MPI_COMM_SELF : MPI_COMM_WORLD;
    for (int number = 0; number < 2; ++number) {
      double sum = 0;
      for (int times = number == 0 ? rank : 0; times >= 0; --times) sum += sweep(arrays[number], count);
      if (g_file) {
        const long long begun = read_clock(CLOCK_MONOTONIC);
        for (int each = 0; each < 2; ++each) write_nodes(arrays[each], count * sizeof(double));
        fprintf(g_file, "phase %d %d %lld %lld\n", i, number, begun, read_clock(CLOCK_MONOTONIC));
        fflush(g_file);
      }
      MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, all);
      total += sum;
    }
    if (killed < 0 || i != iterations / 2) continue;
    MPI_Barrier(MPI_COMM_WORLD);  // the rank has left all calls with the others
    if (rank != killed) continue;
    if (g_file) fprintf(g_file, "killed %lld\n", read_clock(CLOCK_MONOTONIC));
    if (g_file) fflush(g_file);
    raise(SIGKILL);
  }
  if (rank == 0) printf("checksum %.0f\n", total);
  fflush(stdout);
  if (killed >= 0) _exit(0);  // MPI_Finalize would wait for the rank that is dead
  free(arrays[0]);
  free(arrays[1]);
  MPI_Finalize();
  return 0;
}
