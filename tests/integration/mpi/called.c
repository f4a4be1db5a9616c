// SPDX-License-Identifier: Apache-2.0
// Implements the bookkeeping of the test programs. See called.h.
#include "called.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { k_max_names = 256, k_max_length = 64 };
struct Called {
  char name[k_max_length];
  long calls, sent, received;
};
static struct Called g_called[k_max_names];
static int g_num_names;
static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;

void note_bytes(const char* name, long sent, long received) {
  pthread_mutex_lock(&g_mutex);
  int i = 0;
  while (i < g_num_names && strcmp(g_called[i].name, name) != 0) ++i;
  if (i == k_max_names) abort();
  if (i == g_num_names) snprintf(g_called[g_num_names++].name, k_max_length, "%s", name);
  ++g_called[i].calls;
  g_called[i].sent += sent;
  g_called[i].received += received;
  pthread_mutex_unlock(&g_mutex);
}

void note_call(const char* name) { note_bytes(name, 0, 0); }

void note_fortran_call(const char* name, int length) {
  char text[k_max_length];
  snprintf(text, sizeof text, "%.*s", length, name);
  note_call(text);
}

int check_result(const char* name, int result) {
  if (result == 0) return 0;
  fprintf(stderr, "MPI_%s returned %d\n", name, result);
  _exit(99);
}

void write_calls(void) {
  const char* const folder = getenv("TERRACE_MPI_COUNTS");
  if (!folder) return;
  char path[4096];
  snprintf(path, sizeof path, "%s/called.%d", folder, (int)getpid());
  FILE* const file = fopen(path, "w");
  if (!file) abort();
  for (int i = 0; i < g_num_names; ++i)
    fprintf(file, "%s %ld %ld %ld\n", g_called[i].name, g_called[i].calls, g_called[i].sent, g_called[i].received);
  fclose(file);
}
