// SPDX-License-Identifier: Apache-2.0
// Implements a test program that uses most parts of MPI on 4 ranks, and prints what it computes. Arguments: a
// file's path, and the parts to run: threads messages collectives onesided file neighbours intercommunicator
// persistent partitioned sessions large. All messages have a source, a tag or a communicator of their own, so that
// no part depends on timing. Counts its calls (called.h).
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "called.h"

// Open MPI 5 has these parts of MPI 4, but calls itself 3.1.
#define HAS_MPI_4 (MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5))

enum { k_num_threads = 3, k_num_rounds = 20, k_num_starts = 10, k_partitions = 4 };

static int g_rank, g_size;
static const char* g_path;

static void print_sum(const char* part, double mine) {
  double sum = 0;
  MOVE(Reduce, g_rank ? 8 : 0, g_rank ? 0 : 8, &mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (g_rank == 0) printf("%s %.3f\n", part, sum);
}

struct Worker {
  int id;
  MPI_Comm comm;
  double sum;
};

static void* exchange(void* argument) {
  struct Worker* const worker = argument;
  const int next = (g_rank + 1) % g_size, last = (g_rank + g_size - 1) % g_size;
  for (int i = 0; i < k_num_rounds; ++i) {
    double out[8], in[8];
    for (int k = 0; k < 8; ++k) out[k] = g_rank + i + worker->id + 0.5 * k;
    MPI_Request requests[2];
    MOVE(Irecv, 0, sizeof in, in, 8, MPI_DOUBLE, last, 7, worker->comm, &requests[0]);
    MOVE(Isend, sizeof out, 0, out, 8, MPI_DOUBLE, next, 7, worker->comm, &requests[1]);
    CALL(Waitall, 2, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < 8; ++k) worker->sum += in[k];
  }
  return NULL;
}

static void run_threads(void) {
  struct Worker workers[k_num_threads];
  pthread_t threads[k_num_threads];
  double sum = 0;
  for (int i = 0; i < k_num_threads; ++i) {
    workers[i] = (struct Worker){.id = i};
    CALL(Comm_dup, MPI_COMM_WORLD, &workers[i].comm);
  }
  for (int i = 0; i < k_num_threads; ++i) pthread_create(&threads[i], NULL, exchange, &workers[i]);
  for (int i = 0; i < k_num_threads; ++i) {
    pthread_join(threads[i], NULL);
    sum += workers[i].sum;
    CALL(Comm_free, &workers[i].comm);
  }
  print_sum("threads", sum);
}

static void run_messages(void) {
  const int next = (g_rank + 1) % g_size, last = (g_rank + g_size - 1) % g_size;
  int out[100], in[100];
  for (int i = 0; i < 100; ++i) out[i] = g_rank * 100 + i;
  MPI_Status status;
  double sum = 0;
  MOVE(Sendrecv, 400, 400, out, 100, MPI_INT, next, 1, in, 100, MPI_INT, last, 1, MPI_COMM_WORLD, &status);
  sum += in[99] + status.MPI_SOURCE + status.MPI_TAG;
  MPI_Datatype column;  // 25 of 100 integers
  CALL(Type_vector, 25, 1, 4, MPI_INT, &column);
  CALL(Type_commit, &column);
  if (g_rank % 2 == 0) {
    MOVE(Ssend, 100, 0, out, 1, column, next, 2, MPI_COMM_WORLD);
    MOVE(Recv, 0, 400, in, 100, MPI_INT, last, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  } else {
    MOVE(Recv, 0, 400, in, 100, MPI_INT, last, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MOVE(Send, 100, 0, out, 1, column, next, 3, MPI_COMM_WORLD);
  }
  int count = 0;
  CALL(Get_count, &status, MPI_INT, &count);
  sum += count + in[24] + status.MPI_TAG;
  CALL(Type_free, &column);

  MPI_Request request;
  MOVE(Isend, 40, 0, out, 10, MPI_INT, next, 4, MPI_COMM_WORLD, &request);
  int flag = 0;
  while (!flag) CALL(Iprobe, last, 4, MPI_COMM_WORLD, &flag, &status);
  MPI_Message message;
  CALL(Mprobe, last, 4, MPI_COMM_WORLD, &message, &status);
  MOVE(Mrecv, 0, 40, in, 10, MPI_INT, &message, MPI_STATUS_IGNORE);
  for (flag = 0; !flag;) CALL(Test, &request, &flag, MPI_STATUS_IGNORE);
  MOVE(Send, 0, 0, out, 10, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD);
  print_sum("messages", sum + in[9]);
}

static void run_collectives(void) {
  double values[4] = {g_rank + 1.0, 2, 3, 4}, sum = 0;
  MOVE(Allreduce, 32, 32, MPI_IN_PLACE, values, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MOVE(Bcast, g_rank == 1 ? 32 : 0, g_rank == 1 ? 0 : 32, values, 4, MPI_DOUBLE, 1, MPI_COMM_WORLD);
  int ids[64] = {0};
  ids[g_rank] = g_rank * 3;
  MOVE(Allgather, 4, 4 * g_size, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, ids, 1, MPI_INT, MPI_COMM_WORLD);
  int counts[64], offsets[64], all[2048], mine[64];
  int total = 0;
  for (int i = 0; i < g_size; ++i) {
    counts[i] = i + 1;
    offsets[i] = total;
    total += i + 1;
  }
  for (int i = 0; i <= g_rank; ++i) mine[i] = g_rank + i;
  MOVE(Gatherv, g_rank ? 4 * (g_rank + 1) : 0, g_rank ? 0 : 4 * total, mine, g_rank + 1, MPI_INT, all, counts,
       offsets, MPI_INT, 0, MPI_COMM_WORLD);
  MOVE(Scatterv, g_rank ? 0 : 4 * total, g_rank ? 4 * (g_rank + 1) : 0, all, counts, offsets, MPI_INT, mine,
       g_rank + 1, MPI_INT, 0, MPI_COMM_WORLD);
  MOVE(Gather, g_rank == 2 ? 0 : 4, g_rank == 2 ? 4 * g_size : 0, mine, 1, MPI_INT, all, 1, MPI_INT, 2,
       MPI_COMM_WORLD);
  int out[64], in[2048];
  for (int i = 0; i < g_size; ++i) out[i] = g_rank * 10 + i;
  MOVE(Alltoall, 4 * g_size, 4 * g_size, out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < g_size; ++i) sum += in[i] * (i + 1) + ids[i];
  // Each rank sends i + 1 elements to rank i, and so receives rank + 1 from each.
  int receive_counts[64], receive_offsets[64];
  for (int i = 0; i < g_size; ++i) {
    receive_counts[i] = g_rank + 1;
    receive_offsets[i] = i * (g_rank + 1);
  }
  for (int i = 0; i < total; ++i) all[i] = g_rank * 100 + i;
  MOVE(Alltoallv, 0, 4 * g_size * (g_rank + 1), all, counts, offsets, MPI_INT, in, receive_counts, receive_offsets,
       MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < g_size * (g_rank + 1); ++i) sum += in[i];
  MPI_Request requests[2];
  CALL(Ibarrier, MPI_COMM_WORLD, &requests[0]);
  MOVE(Iallreduce, 8, 8, MPI_IN_PLACE, values, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &requests[1]);
  CALL(Waitall, 2, requests, MPI_STATUSES_IGNORE);
  double scanned = 0;
  MOVE(Scan, 8, 8, values, &scanned, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  CALL(Barrier, MPI_COMM_WORLD);
  print_sum("collectives", sum + values[0] + scanned + mine[g_rank]);
}

static void run_onesided(void) {
  const int next = (g_rank + 1) % g_size;
  double* memory = NULL;
  MPI_Win window;
  CALL(Win_allocate, 64 * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  CALL(Win_fence, 0, window);
  for (int i = 0; i < 64; ++i) memory[i] = g_rank;
  CALL(Win_fence, 0, window);
  const double mine[8] = {g_rank + 10.0, 1, 2, 3, 4, 5, 6, 7};
  MOVE(Put, 64, 0, mine, 8, MPI_DOUBLE, next, 8, 8, MPI_DOUBLE, window);
  CALL(Win_fence, 0, window);
  double got[8];
  MOVE(Get, 0, 64, got, 8, MPI_DOUBLE, next, 8, 8, MPI_DOUBLE, window);
  CALL(Win_fence, 0, window);
  CALL(Win_lock, MPI_LOCK_EXCLUSIVE, next, 0, window);
  MOVE(Accumulate, 8, 0, mine, 1, MPI_DOUBLE, next, 20, 1, MPI_DOUBLE, MPI_SUM, window);
  CALL(Win_flush, next, window);
  CALL(Win_unlock, next, window);
  CALL(Win_lock_all, 0, window);
  double one = 1, before = 0;
  MOVE(Fetch_and_op, 8, 8, &one, &before, MPI_DOUBLE, 0, 30, MPI_SUM, window);
  CALL(Win_flush_all, window);
  CALL(Win_unlock_all, window);
  CALL(Barrier, MPI_COMM_WORLD);
  CALL(Win_lock, MPI_LOCK_SHARED, g_rank, 0, window);
  const double sum = got[0] + memory[8] + memory[20] + (g_rank == 0 ? memory[30] : 0);
  CALL(Win_unlock, g_rank, window);
  CALL(Win_free, &window);
  print_sum("onesided", sum);
}

static void run_file(void) {
  MPI_File file;
  CALL(File_open, MPI_COMM_WORLD, g_path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  int values[16], back[16] = {0};
  for (int i = 0; i < 16; ++i) values[i] = g_rank * 16 + i;
  MOVE(File_write_at_all, 64, 0, file, (MPI_Offset)g_rank * 64, values, 16, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_sync, file);
  CALL(Barrier, MPI_COMM_WORLD);
  const int next = (g_rank + 1) % g_size;
  MOVE(File_read_at, 0, 64, file, (MPI_Offset)next * 64, back, 16, MPI_INT, MPI_STATUS_IGNORE);
  CALL(Barrier, MPI_COMM_WORLD);
  MPI_Request request;
  MOVE(File_iwrite_at, 64, 0, file, (MPI_Offset)(g_size + g_rank) * 64, values, 16, MPI_INT, &request);
  CALL(Wait, &request, MPI_STATUS_IGNORE);
  CALL(File_close, &file);
  if (g_rank == 0) CALL(File_delete, g_path, MPI_INFO_NULL);
  print_sum("file", back[0] + back[15]);
}

static void run_neighbours(void) {
  const int dims = g_size, periodic = 1;
  MPI_Comm ring;
  CALL(Cart_create, MPI_COMM_WORLD, 1, &dims, &periodic, 0, &ring);
  int out[2] = {g_rank, g_rank + 100}, in[2] = {0}, all[2] = {0};
  CALL(Neighbor_alltoall, out, 1, MPI_INT, in, 1, MPI_INT, ring);
  CALL(Neighbor_allgather, out, 1, MPI_INT, all, 1, MPI_INT, ring);
  CALL(Comm_free, &ring);
  print_sum("neighbours", in[0] + 2 * in[1] + 3 * all[0] + 4 * all[1]);
}

static void run_intercommunicator(void) {
  const int half = g_rank < g_size / 2 ? 0 : 1;
  MPI_Comm local, remote, merged;
  CALL(Comm_split, MPI_COMM_WORLD, half, g_rank, &local);
  CALL(Intercomm_create, local, 0, MPI_COMM_WORLD, half ? 0 : g_size / 2, 9, &remote);
  int local_rank = 0, value = 0;
  CALL(Comm_rank, local, &local_rank);
  if (half == 0) value = local_rank == 0 ? 42 : 0;
  CALL(Bcast, &value, 1, MPI_INT, half ? 0 : local_rank == 0 ? MPI_ROOT : MPI_PROC_NULL, remote);
  int other = 0;
  MOVE(Sendrecv, 4, 4, &g_rank, 1, MPI_INT, local_rank, 10, &other, 1, MPI_INT, local_rank, 10, remote,
       MPI_STATUS_IGNORE);
  CALL(Intercomm_merge, remote, half, &merged);
  CALL(Barrier, merged);
  CALL(Comm_free, &merged);
  CALL(Comm_free, &remote);
  CALL(Comm_free, &local);
  print_sum("intercommunicator", value + other);
}

static void run_persistent(void) {
  const int next = (g_rank + 1) % g_size, last = (g_rank + g_size - 1) % g_size;
  double out[4] = {0}, in[4] = {0}, sum = 0;
  MPI_Request requests[2];
  MOVE(Send_init, 32, 0, out, 4, MPI_DOUBLE, next, 11, MPI_COMM_WORLD, &requests[0]);
  MOVE(Recv_init, 0, 32, in, 4, MPI_DOUBLE, last, 11, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < k_num_starts; ++i) {
    out[0] = g_rank + i;
    if (i % 2) {
      CALL(Startall, 2, requests);
    } else {
      CALL(Start, &requests[0]);
      CALL(Start, &requests[1]);
    }
    CALL(Waitall, 2, requests, MPI_STATUSES_IGNORE);
    sum += in[0];
  }
  CALL(Request_free, &requests[0]);
  CALL(Request_free, &requests[1]);
#if HAS_MPI_4
  MPI_Request request;
  MOVE(Allreduce_init, 8, 8, out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int i = 0; i < k_num_starts; ++i) {
    CALL(Start, &request);
    CALL(Wait, &request, MPI_STATUS_IGNORE);
  }
  CALL(Request_free, &request);
  sum -= in[0];
#endif
  print_sum("persistent", sum);
}

#if HAS_MPI_4
static void run_partitioned(void) {
  const int next = (g_rank + 1) % g_size, last = (g_rank + g_size - 1) % g_size;
  double out[4 * k_partitions], in[4 * k_partitions] = {0};
  for (int i = 0; i < 4 * k_partitions; ++i) out[i] = g_rank + i;
  MPI_Request requests[2];
  MOVE(Psend_init, sizeof out, 0, out, k_partitions, 4, MPI_DOUBLE, next, 12, MPI_COMM_WORLD, MPI_INFO_NULL,
       &requests[0]);
  MOVE(Precv_init, 0, sizeof in, in, k_partitions, 4, MPI_DOUBLE, last, 12, MPI_COMM_WORLD, MPI_INFO_NULL,
       &requests[1]);
  CALL(Startall, 2, requests);
  CALL(Pready, 0, requests[0]);
  CALL(Pready_range, 1, k_partitions - 1, requests[0]);
  int flag = 0;
  while (!flag) CALL(Parrived, requests[1], k_partitions - 1, &flag);
  CALL(Waitall, 2, requests, MPI_STATUSES_IGNORE);
  CALL(Request_free, &requests[0]);
  CALL(Request_free, &requests[1]);
  double sum = 0;
  for (int i = 0; i < 4 * k_partitions; ++i) sum += in[i];
  print_sum("partitioned", sum);
}

static void run_sessions(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  CALL(Session_init, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  CALL(Group_from_session_pset, session, "mpi://WORLD", &group);
  CALL(Comm_create_from_group, group, "terrace.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  CALL(Group_free, &group);
  int value = g_rank + 1, sum = 0;
  MOVE(Allreduce, 4, 4, &value, &sum, 1, MPI_INT, MPI_SUM, comm);
  CALL(Comm_free, &comm);
  CALL(Session_finalize, &session);
  print_sum("sessions", sum);
}

#endif

#if MPI_VERSION >= 4
static void run_large(void) {
  const int next = (g_rank + 1) % g_size, last = (g_rank + g_size - 1) % g_size;
  int out[10] = {g_rank}, in[10];
  MPI_Request request;
  MOVE(Irecv_c, 0, 40, in, (MPI_Count)10, MPI_INT, last, 13, MPI_COMM_WORLD, &request);
  MOVE(Send_c, 40, 0, out, (MPI_Count)10, MPI_INT, next, 13, MPI_COMM_WORLD);
  CALL(Wait, &request, MPI_STATUS_IGNORE);
  MOVE(Allreduce_c, 4, 4, MPI_IN_PLACE, in, (MPI_Count)1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  print_sum("large", in[0]);
}
#endif

struct Part {
  const char* name;
  void (*run)(void);
};
static const struct Part k_parts[] = {
    {"threads", run_threads},
    {"messages", run_messages},
    {"collectives", run_collectives},
    {"onesided", run_onesided},
    {"file", run_file},
    {"neighbours", run_neighbours},
    {"persistent", run_persistent},
    {"intercommunicator", run_intercommunicator},
#if HAS_MPI_4
    {"partitioned", run_partitioned},
    {"sessions", run_sessions},
#endif
#if MPI_VERSION >= 4
    {"large", run_large},
#endif
};

int main(int argc, char** argv) {
  int provided = 0, is_initialized = 0;
  CALL(Initialized, &is_initialized);
  CALL(Init_thread, &argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CALL(Comm_rank, MPI_COMM_WORLD, &g_rank);
  CALL(Comm_size, MPI_COMM_WORLD, &g_size);
  if (argc < 2 || is_initialized || provided != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 98);
  g_path = argv[1];
  for (int i = 2; i < argc; ++i) {
    unsigned k = 0;
    while (k < sizeof k_parts / sizeof k_parts[0] && strcmp(k_parts[k].name, argv[i]) != 0) ++k;
    if (k == sizeof k_parts / sizeof k_parts[0]) MPI_Abort(MPI_COMM_WORLD, 97);
    k_parts[k].run();
  }
  CALL(Finalize);
  int is_finalized = 0;
  CALL(Finalized, &is_finalized);
  write_calls();
  return is_finalized ? 0 : 96;
}
