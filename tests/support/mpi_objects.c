// SPDX-License-Identifier: Apache-2.0
// Makes an MPI library allocate each of its own objects (eager boxes, cells, pools, windows, MPI_Alloc_mem), and
// writes the mappings of the process after each step, for tests/python/mpi/test_mpi_objects.py. Usage:
//
//   mpi_objects FOLDER
//
// Each rank writes FOLDER/rank.R: lines "# FILE VERSION" of the MPI library, and of UCX if it is loaded; for each
// step a line "@ FUNCTION BYTES TOTAL ROUNDED", with the bytes that this rank requests, those of all ranks, and
// those of all ranks with each rounded up to pages; below it a line for each mapping that is shared or anonymous:
// address range, permissions, inode, resident bytes, size of the object (0 if the kernel does not tell), name.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  k_max_line = 4096,
  k_max_message = 8 << 20,
  k_repetitions = 8,
  k_unexpected = 1500,
  k_collective = 1 << 10
};

static FILE* out;
static size_t page;

static size_t rounded_up(size_t bytes) { return (bytes + page - 1) / page * page; }

struct Object {
  unsigned long long bytes, allocated;
};

// Finds the size of a shared object and the memory that it occupies on the node; 0 if the kernel does not tell. A
// file's are found through /proc/self/map_files (root only), a System V segment's by its identifier, its inode.
static struct Object measure_object(const char* range, unsigned long inode, const char* name) {
  struct Object object = {0, 0};
  if (strncmp(name, "/SYSV", 5) == 0) {
    FILE* const in = fopen("/proc/sysvipc/shm", "r");
    char line[k_max_line];
    while (in && fgets(line, sizeof line, in)) {
      unsigned long segment;
      struct Object found;
      if (sscanf(line, "%*d %lu %*o %llu %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %llu", &segment, &found.bytes,
                 &found.allocated) == 3 &&
          segment == inode)
        object = found;
    }
    if (in) fclose(in);
    return object;
  }
  unsigned long begin, end;
  char link[80];
  if (sscanf(range, "%lx-%lx", &begin, &end) != 2) return object;
  snprintf(link, sizeof link, "/proc/self/map_files/%lx-%lx", begin, end);
  struct stat file;
  if (stat(link, &file) == 0)
    object = (struct Object){(unsigned long long)file.st_size, 512ULL * (unsigned long long)file.st_blocks};
  return object;
}

static void write_requests(const char* function, size_t bytes, size_t total, size_t rounded) {
  fprintf(out, "@ %s %zu %zu %zu\n", function, bytes, total, rounded);
  FILE* const in = fopen("/proc/self/smaps", "r");
  if (!in) abort();
  char line[k_max_line], range[80] = "", permissions[8] = "", name[k_max_line] = "";
  unsigned long inode = 0, resident;
  while (fgets(line, sizeof line, in)) {
    char first[80], second[8], path[k_max_line] = "";
    unsigned long number;
    if (sscanf(line, "%79[0-9a-f-] %7[rwxps-] %*s %*s %lu %4095[^\n]", first, second, &number, path) >= 3) {
      strcpy(range, first);
      strcpy(permissions, second);
      strcpy(name, path);
      inode = number;
    } else if (sscanf(line, "Rss: %lu kB", &resident) == 1) {
      const int is_shared = permissions[3] == 's';
      if (!is_shared && (name[0] || permissions[1] != 'w')) continue;
      struct Object object = {0, 0};
      if (is_shared) object = measure_object(range, inode, name);
      fprintf(out, "%s %s %lu %lu %llu %llu %s\n", range, permissions, inode, resident << 10, object.bytes,
              object.allocated, name);
    }
  }
  fclose(in);
  fflush(out);
}

static void write_mappings(const char* function, size_t bytes) { write_requests(function, bytes, 0, 0); }

static void touch_window(void* base, size_t bytes, MPI_Win window, int rank, int size) {
  if (bytes) memset(base, 1, bytes);
  MPI_Win_fence(0, window);
  if (bytes) {
    char word[8] = {0};
    MPI_Put(word, sizeof word, MPI_BYTE, (rank + 1) % size, 0, sizeof word, MPI_BYTE, window);
  }
  MPI_Win_fence(0, window);
}

// Allocates windows of equal sizes; of one rank alone; and of pages of their own, if shared.
static void use_windows(int shared, int rank, int size) {
  const size_t sizes[] = {64, 4096, 100000, 3 << 20};
  const char* const function = shared ? "MPI_Win_allocate_shared" : "MPI_Win_allocate";
  for (int i = 0; i < 6; ++i) {
    const int is_apart = i == 5;  // alloc_shared_noncontig
    if (is_apart && !shared) break;
    size_t bytes = i < 4 ? sizes[i] : 50000;
    const size_t total = i == 4 ? bytes : bytes * (size_t)size;
    if (i == 4 && rank != 0) bytes = 0;
    MPI_Info info;
    MPI_Info_create(&info);
    if (is_apart) MPI_Info_set(info, "alloc_shared_noncontig", "true");
    void* base;
    MPI_Win window;
    if (shared)
      MPI_Win_allocate_shared((MPI_Aint)bytes, 1, info, MPI_COMM_WORLD, &base, &window);
    else
      MPI_Win_allocate((MPI_Aint)bytes, 1, info, MPI_COMM_WORLD, &base, &window);
    write_requests(function, bytes, total, i == 4 ? rounded_up(total) : rounded_up(bytes) * (size_t)size);
    MPI_Barrier(MPI_COMM_WORLD);  // no rank touches the window before all have reported
    if (i != 4) touch_window(base, bytes, window, rank, size);
    write_mappings("MPI_Win_fence", 0);
    MPI_Win_free(&window);
    MPI_Info_free(&info);
    write_mappings("MPI_Win_free", 0);
  }
}

// The collectives of MPICH that use shared memory begin after some calls. They come before windows, whose
// allocation is collective, too.
static void use_collectives(void) {
  int *const from = calloc(k_collective, sizeof *from), *const to = calloc(k_collective, sizeof *to);
  if (!from || !to) abort();
  for (int i = 0; i < k_repetitions; ++i) {
    MPI_Bcast(from, k_collective, MPI_INT, 0, MPI_COMM_WORLD);
    write_mappings("MPI_Bcast", 0);
    MPI_Allreduce(from, to, k_collective, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    write_mappings("MPI_Allreduce", 0);
  }
  free(from);
  free(to);
}

static void use_other_memory(void) {
  void* base;
  const size_t bytes = 5 << 20;
  MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &base);
  write_mappings("MPI_Alloc_mem", bytes);
  MPI_Free_mem(base);
  write_mappings("MPI_Free_mem", 0);

  MPI_Win window;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  write_mappings("MPI_Win_create_dynamic", 0);
  MPI_Win_free(&window);
  write_mappings("MPI_Win_free", 0);
  static char own[100000];
  MPI_Win_create(own, sizeof own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  write_mappings("MPI_Win_create", sizeof own);
  MPI_Win_free(&window);
  write_mappings("MPI_Win_free", 0);
}

static void exchange(int rank, int size) {
  char *const from = malloc(k_max_message), *const to = malloc(k_max_message);
  if (!from || !to) abort();
  memset(from, 1, k_max_message);
  memset(to, 1, k_max_message);
  write_mappings("malloc", 0);
  for (int bytes = 1; bytes <= k_max_message; bytes *= 8) {
    const int peer = rank ^ 1;
    if (peer < size)
      MPI_Sendrecv(from, bytes, MPI_BYTE, peer, 0, to, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    write_mappings("MPI_Sendrecv", (size_t)bytes);
  }
  for (int distance = 1; distance < size; ++distance)
    MPI_Sendrecv(from, k_max_message, MPI_BYTE, (rank + distance) % size, 0, to, k_max_message, MPI_BYTE,
                 (rank + size - distance) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  write_mappings("MPI_Sendrecv", k_max_message);
  for (int bytes = 64; bytes <= k_max_message / size; bytes *= 16) {
    MPI_Alltoall(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, MPI_COMM_WORLD);
    write_mappings("MPI_Alltoall", (size_t)bytes);
  }
  // Messages that the receiver does not expect yet take further buffers.
  MPI_Request requests[k_unexpected];
  MPI_Status statuses[k_unexpected];
  const int peer = rank ^ 1;
  if (peer < size) {
    for (int i = 0; i < k_unexpected; ++i)
      MPI_Isend(from, 1 << 12, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[i]);
    MPI_Sendrecv(from, 1, MPI_BYTE, peer, 2, to, 1, MPI_BYTE, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < k_unexpected; ++i)
      MPI_Recv(to, 1 << 12, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(k_unexpected, requests, statuses);
  }
  write_mappings("MPI_Waitall", 0);
  free(from);
  free(to);
}

// Allocates a window of one process, too large for a block of the heap: malloc gives those from memory that was
// freed there, or below the size of the largest mapping that was freed.
static void use_own_window(void) {
  const size_t bytes = 8 * (size_t)k_max_message;
  write_mappings("free", 0);
  void* base;
  MPI_Win window;
  MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &window);
  write_requests("MPI_Win_allocate", bytes, bytes, rounded_up(bytes));
  MPI_Win_free(&window);
  write_mappings("MPI_Win_free", 0);
}

int main(int argc, char** argv) {
  char temporary[k_max_line], path[k_max_line];
  if (argc != 2) return 2;
  page = (size_t)sysconf(_SC_PAGESIZE);
  snprintf(temporary, sizeof temporary, "%s/process.%d", argv[1], (int)getpid());
  out = fopen(temporary, "w");
  if (!out) return 2;
  write_mappings("start", 0);
  MPI_Init(&argc, &argv);
  int rank, size, length;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  write_mappings("MPI_Init", 0);
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Get_library_version(version, &length);
  fprintf(out, "# libmpi.so %s\n", strtok(version, "\n"));
  void* const ucx = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
  if (ucx) {
    const char* (*const ucx_version)(void) = (const char* (*)(void))dlsym(ucx, "ucp_get_version_string");
    fprintf(out, "# libucp.so.0 %s\n", ucx_version());
  }
  use_collectives();
  use_other_memory();
  use_windows(0, rank, size);
  use_windows(1, rank, size);
  exchange(rank, size);
  use_own_window();
  MPI_Finalize();
  write_mappings("MPI_Finalize", 0);
  fclose(out);
  snprintf(path, sizeof path, "%s/rank.%d", argv[1], rank);
  return rename(temporary, path) != 0;
}
