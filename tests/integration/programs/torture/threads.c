/* Threads: locks, conditions, barriers, once, thread-local storage, keys with destructors, exit and cancellation.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>

#include "torture.h"

enum { THREADS = 4, ITEMS = 1000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static sem_t detached_done;
static __thread int own = 0;
static int once_calls, destroyed, cleaned;

static void call_once(void) { ++once_calls; }

static void destroy(void* value) {
  free(value);
  __atomic_fetch_add(&destroyed, 1, __ATOMIC_SEQ_CST);
}

/* One slot that producers fill and a consumer empties. */
static int slot, slot_full;

static void* produce(void* count) {
  for (intptr_t i = 1; i <= (intptr_t)count; ++i) {
    pthread_mutex_lock(&mutex);
    while (slot_full) pthread_cond_wait(&changed, &mutex);
    slot = (int)i;
    slot_full = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}

static long consume(long items) {
  long sum = 0;
  for (long i = 0; i < items; ++i) {
    pthread_mutex_lock(&mutex);
    while (!slot_full) pthread_cond_wait(&changed, &mutex);
    sum += slot;
    slot_full = 0;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
  }
  return sum;
}

static void* use_own_storage(void* number) {
  pthread_once(&once, call_once);
  pthread_setspecific(key, malloc(64));
  for (int i = 0; i < 1000; ++i) own += (int)(intptr_t)number;
  pthread_barrier_wait(&barrier);
  pthread_exit((void*)(intptr_t)own);
}

static void clean(void* unused) {
  (void)unused;
  ++cleaned;
}

static void* wait_for_ever(void* started) {
  pthread_cleanup_push(clean, NULL);
  sem_post(started);
  for (;;) pthread_testcancel();
  pthread_cleanup_pop(0);
  return NULL;
}

static void* run_detached(void* unused) {
  sem_post(&detached_done);
  return unused;
}

void test_threads(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, produce, (void*)(intptr_t)ITEMS);
  const long sum = consume((long)THREADS * ITEMS);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  check(sum == (long)THREADS * ITEMS * (ITEMS + 1) / 2, "producers and a consumer");

  pthread_key_create(&key, destroy);
  pthread_barrier_init(&barrier, NULL, THREADS);
  long results = 0;
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, use_own_storage, (void*)(intptr_t)(i + 1));
  for (int i = 0; i < THREADS; ++i) {
    void* result = NULL;
    pthread_join(threads[i], &result);
    results += (long)(intptr_t)result;
  }
  pthread_barrier_destroy(&barrier);
  check(results == 10000 && own == 0, "thread-local storage and pthread_exit");
  check(once_calls == 1 && destroyed == THREADS, "pthread_once and destructors of keys");
  pthread_key_delete(key);

  sem_t started;
  sem_init(&started, 0, 0);
  pthread_create(&threads[0], NULL, wait_for_ever, &started);
  sem_wait(&started);
  pthread_cancel(threads[0]);
  void* result = NULL;
  pthread_join(threads[0], &result);
  check(result == PTHREAD_CANCELED && cleaned == 1, "cancellation with a cleanup handler");

  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  sem_init(&detached_done, 0, 0);
  check(pthread_create(&threads[0], &attributes, run_detached, NULL) == 0, "a detached thread with a small stack");
  sem_wait(&detached_done);
  pthread_attr_destroy(&attributes);
  check(pthread_mutex_trylock(&mutex) == 0 && pthread_mutex_trylock(&mutex) == EBUSY,
        "trylock tells a held mutex");
  pthread_mutex_unlock(&mutex);
}
