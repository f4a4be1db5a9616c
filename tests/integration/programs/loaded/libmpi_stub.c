/* A stub of an MPI implementation that only has an internal thread, which sleeps in the kernel until a
   request, as Open MPI's do. */
#include <pthread.h>
#include <unistd.h>

static pthread_t g_thread;
static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_served = PTHREAD_COND_INITIALIZER;
static int g_pipe[2], g_done;

static void* progress(void* unused) {
  char request;
  while (read(g_pipe[0], &request, 1) == 1) {
    pthread_mutex_lock(&g_mutex);
    ++g_done;
    pthread_cond_signal(&g_served);
    pthread_mutex_unlock(&g_mutex);
  }
  return unused;
}

int MPI_Init(void) { return pipe(g_pipe) || pthread_create(&g_thread, NULL, progress, NULL); }

int MPI_Barrier(void) {
  pthread_mutex_lock(&g_mutex);
  const int wanted = g_done + 1;
  const int failed = write(g_pipe[1], "r", 1) != 1;
  while (!failed && g_done < wanted) pthread_cond_wait(&g_served, &g_mutex);
  pthread_mutex_unlock(&g_mutex);
  return failed;
}

int MPI_Finalize(void) {
  close(g_pipe[1]);
  return pthread_join(g_thread, NULL);
}
