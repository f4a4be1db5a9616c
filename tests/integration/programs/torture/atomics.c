/* Atomics of every size and of every kind of operation and order, from one thread and from four. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "torture.h"

enum { THREADS = 4, ROUNDS = 10000 };

/* Each operation on one variable of `type`, its old values collected in `seen`; all results fit every size. */
#define DEFINE_OPERATIONS(name, type)                                                                          \
  static int operations_##name(void) {                                                                         \
    type value = 5, expected = 7, wide, swapped = 9;                                                           \
    int good = 1;                                                                                              \
    __atomic_store_n(&value, 7, __ATOMIC_RELEASE);                                                             \
    good &= __atomic_load_n(&value, __ATOMIC_ACQUIRE) == 7;                                                    \
    good &= __atomic_exchange_n(&value, 12, __ATOMIC_ACQ_REL) == 7;                                            \
    good &= !__atomic_compare_exchange_n(&value, &expected, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);         \
    good &= expected == 12;                                                                                    \
    good &= __atomic_compare_exchange_n(&value, &expected, 10, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);         \
    while (!__atomic_compare_exchange(&value, &(type){10}, &swapped, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) { \
    }                                                                                                          \
    good &= __atomic_fetch_add(&value, 3, __ATOMIC_RELAXED) == 9;                                              \
    good &= __atomic_fetch_sub(&value, 2, __ATOMIC_CONSUME) == 12;                                             \
    good &= __atomic_fetch_and(&value, 6, __ATOMIC_ACQUIRE) == 10;                                             \
    good &= __atomic_fetch_or(&value, 9, __ATOMIC_RELEASE) == 2;                                               \
    good &= __atomic_fetch_xor(&value, 3, __ATOMIC_ACQ_REL) == 11;                                             \
    good &= __atomic_fetch_nand(&value, 12, __ATOMIC_SEQ_CST) == 8;                                            \
    __atomic_load(&value, &wide, __ATOMIC_SEQ_CST);                                                            \
    good &= wide == (type) ~(type)8;                                                                           \
    good &= __atomic_add_fetch(&value, 9, __ATOMIC_SEQ_CST) == 0;                                              \
    good &= __atomic_sub_fetch(&value, 1, __ATOMIC_SEQ_CST) == (type) ~(type)0;                                \
    return good;                                                                                               \
  }

DEFINE_OPERATIONS(1, uint8_t)
DEFINE_OPERATIONS(2, uint16_t)
DEFINE_OPERATIONS(4, uint32_t)
DEFINE_OPERATIONS(8, uint64_t)
DEFINE_OPERATIONS(16, unsigned __int128)

static uint8_t count_1;
static uint16_t count_2;
static uint32_t count_4;
static uint64_t count_8;
static unsigned __int128 count_16;
static char spin_lock;
static int guarded;

static void* count(void* unused) {
  (void)unused;
  for (int i = 0; i < ROUNDS; ++i) {
    __atomic_fetch_add(&count_1, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&count_2, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&count_4, 1, __ATOMIC_ACQ_REL);
    __atomic_fetch_add(&count_8, 1, __ATOMIC_SEQ_CST);
    /* Carries from the low half into the high half, which two separate adds would tear. */
    unsigned __int128 seen = __atomic_load_n(&count_16, __ATOMIC_SEQ_CST);
    while (
        !__atomic_compare_exchange_n(&count_16, &seen, seen + UINT64_MAX, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    while (__atomic_test_and_set(&spin_lock, __ATOMIC_ACQUIRE)) {
    }
    ++guarded;
    __atomic_clear(&spin_lock, __ATOMIC_RELEASE);
  }
  return NULL;
}

void test_atomics(void) {
  check(operations_1(), "atomic operations on 1 byte");
  check(operations_2(), "atomic operations on 2 bytes");
  check(operations_4(), "atomic operations on 4 bytes");
  check(operations_8(), "atomic operations on 8 bytes");
  check(operations_16(), "atomic operations on 16 bytes");

  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, count, NULL);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  const uint64_t total = (uint64_t)THREADS * ROUNDS;
  check(count_1 == (uint8_t)total && count_2 == (uint16_t)total, "no increment of 1 or 2 bytes lost");
  check(count_4 == total && count_8 == total, "no increment of 4 or 8 bytes lost");
  check(count_16 == (unsigned __int128)total * UINT64_MAX, "no increment of 16 bytes lost");
  check(guarded == (int)total, "a spin lock excludes");
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
