// SPDX-License-Identifier: Apache-2.0
// Makes an MPI library allocate its own objects and use them, and writes on which NUMA node each page of the
// process lies, for acceptance/mpi (mpi_lines/objects.py), which runs it in a guest with two nodes. Usage:
//
//   mpi_places FOLDER [PLACE]
//
// With PLACE it has the value of the info key terrace_place of the windows and of MPI_Alloc_mem. Each rank writes
// FOLDER/rank.R while all objects exist:
//
//   # FILE VERSION             the MPI library, and UCX if it is loaded
//   job RANK RANKS
//   KIND ADDRESS BYTES         the rank's part of a window, of a shared window, its memory, all in bytes
//   LOW-HIGH PERMISSIONS INODE NAME     a mapping that is shared or anonymous
//   n NODExPAGES...            the nodes of its pages in runs, as move_pages(2) tells them; -: not mapped
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { k_max_line = 4096, k_rounds = 6, k_words = 256, k_window = 300000, k_memory = 1 << 20, k_messages = 20 };

static FILE* out;

static void write_run(int node, long pages) {
  if (pages > 0 && node < 0) fprintf(out, " -x%ld", pages);
  if (pages > 0 && node >= 0) fprintf(out, " %dx%ld", node, pages);
}

static void write_nodes(unsigned long begin, unsigned long end) {
  enum { k_batch = 512 };
  const unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE);
  long run = 0;
  int of = -1;
  fputc('n', out);
  while (begin < end) {
    void* pages[k_batch];
    int nodes[k_batch];
    unsigned long n = 0;
    for (; n < k_batch && begin < end; begin += page) pages[n++] = (void*)begin;
    if (syscall(SYS_move_pages, 0, n, pages, NULL, nodes, 0) != 0) abort();
    for (unsigned long i = 0; i < n; ++i) {
      const int node = nodes[i] < 0 ? -1 : nodes[i];
      if (node != of) {
        write_run(of, run);
        run = 0;
      }
      of = node;
      ++run;
    }
  }
  write_run(of, run);
  fputc('\n', out);
}

static void write_mappings(void) {
  FILE* const in = fopen("/proc/self/maps", "r");
  if (!in) abort();
  char line[k_max_line];
  while (fgets(line, sizeof line, in)) {
    char permissions[8], path[k_max_line] = "";
    unsigned long low, high, inode;
    if (sscanf(line, "%lx-%lx %7s %*s %*s %lu %4095[^\n]", &low, &high, permissions, &inode, path) < 4) continue;
    const int is_shared = permissions[3] == 's';
    if (permissions[1] != 'w' || (!is_shared && path[0] && strcmp(path, "[heap]") != 0)) continue;
    fprintf(out, "%lx-%lx %s %lu %s\n", low, high, permissions, inode, path);
    write_nodes(low, high);
  }
  fclose(in);
}

static void write_libraries(void) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(version, &length);
  fprintf(out, "# libmpi.so %s\n", strtok(version, "\n"));
  const char* (*const ucx)(void) = (const char* (*)(void))dlsym(RTLD_DEFAULT, "ucp_get_version_string");
  if (ucx) fprintf(out, "# libucp.so.0 %s\n", ucx());
}

static void exchange(int rank, int size) {
  static char from[k_messages][2000], to[2000];
  MPI_Request requests[k_messages];
  MPI_Status statuses[k_messages];
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  for (int bytes = 16; bytes <= 2000; bytes += 2000 - 16) {
    for (int i = 0; i < k_messages; ++i)
      MPI_Isend(from[i], bytes, MPI_BYTE, next, 0, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < k_messages; ++i)
      MPI_Recv(to, sizeof to, MPI_BYTE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(k_messages, requests, statuses);
  }
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int from[k_words] = {0}, to[k_words];
  for (int i = 0; i < k_rounds; ++i) {
    MPI_Bcast(from, k_words, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allreduce(from, to, k_words, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  exchange(rank, size);
  MPI_Info info = MPI_INFO_NULL;
  if (argc > 2) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "terrace_place", argv[2]);
  }
  void *memory, *own, *shared;
  MPI_Win window, shared_window;
  MPI_Alloc_mem(k_memory, info, &memory);
  MPI_Win_allocate(k_window, 1, info, MPI_COMM_WORLD, &own, &window);
  MPI_Win_allocate_shared(k_window, 1, info, MPI_COMM_WORLD, &shared, &shared_window);
  memset(memory, 1, k_memory);
  memset(own, 1, k_window);
  memset(shared, 1, k_window);
  MPI_Win_fence(0, window);
  MPI_Put(from, sizeof from, MPI_BYTE, (rank + 1) % size, 0, sizeof from, MPI_BYTE, window);
  MPI_Win_fence(0, window);

  char path[k_max_line];
  snprintf(path, sizeof path, "%s/rank.%d", argv[1], rank);
  out = fopen(path, "w");
  if (!out) return 2;
  setvbuf(out, NULL, _IOFBF, 1 << 20);
  write_libraries();
  fprintf(out, "job %d %d\n", rank, size);
  fprintf(out, "window %lx %d\nshared %lx %d\nmemory %lx %d\n", (unsigned long)own, k_window,
          (unsigned long)shared, k_window, (unsigned long)memory, k_memory);
  write_mappings();
  fclose(out);

  MPI_Barrier(MPI_COMM_WORLD);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  MPI_Free_mem(memory);
  MPI_Win_free(&shared_window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
