// Implements functions with known loads and stores, compiled with instrumentation. See instrumented.hpp.
#include "instrumented.hpp"

#include <csetjmp>
#include <cstring>

namespace terrace::observe::test {

void triad(double* a, const double* b, const double* c, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + 3.0 * c[i];
}

void* chase(void* first, std::size_t n) {
  void* p = first;
  for (std::size_t i = 0; i < n; ++i) p = *static_cast<void**>(p);
  return p;
}

void touch_all_sizes(char* aligned) {
  aligned[1] = static_cast<char>(aligned[0] + 1);
  auto* two = reinterpret_cast<std::uint16_t*>(aligned);
  two[3] = static_cast<std::uint16_t>(two[2] + 1);
  auto* four = reinterpret_cast<std::uint32_t*>(aligned);
  four[3] = four[2] + 1;
  auto* eight = reinterpret_cast<std::uint64_t*>(aligned);
  eight[3] = eight[2] + 1;
}

namespace {
struct __attribute__((packed)) Packed {
  char first;
  std::uint64_t second;
};
}  // namespace

void unaligned(char* at) { reinterpret_cast<Packed*>(at)->second += 1; }

void volatiles(volatile int* at) {
  const int a = *at;
  const int b = *at;
  *at = a + b;
}

void copy_constant(char* to, const char* from) { std::memcpy(to, from, 64); }

int call_virtual(Virtual& object) { return object.answer(); }

template <class T>
T atomics(T* at) {
  __atomic_store_n(at, T{100}, __ATOMIC_RELAXED);
  __atomic_store_n(at, T{100}, __ATOMIC_RELEASE);
  __atomic_store_n(at, T{100}, __ATOMIC_SEQ_CST);
  T sum = __atomic_load_n(at, __ATOMIC_ACQUIRE);           // 100
  sum += __atomic_exchange_n(at, T{7}, __ATOMIC_ACQ_REL);  // 200
  sum += __atomic_fetch_add(at, T{5}, __ATOMIC_RELAXED);   // 207, *at 12
  sum += __atomic_fetch_sub(at, T{2}, __ATOMIC_ACQUIRE);   // 219, *at 10
  sum += __atomic_fetch_or(at, T{5}, __ATOMIC_RELEASE);    // 229, *at 15
  sum += __atomic_fetch_and(at, T{6}, __ATOMIC_ACQ_REL);   // 244, *at 6
  sum += __atomic_fetch_xor(at, T{3}, __ATOMIC_SEQ_CST);   // 250, *at 5
  sum += __atomic_fetch_nand(at, T{4}, __ATOMIC_SEQ_CST);  // 255, *at ~4
  T expected = static_cast<T>(~T{4});
  if (!__atomic_compare_exchange_n(at, &expected, T{1}, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE)) return 0;
  expected = 2;
  if (__atomic_compare_exchange_n(at, &expected, T{9}, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) return 0;
  if (expected != 1) return 0;
  while (!__atomic_compare_exchange_n(at, &expected, T{3}, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
  }
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  return static_cast<T>(sum - __atomic_load_n(at, __ATOMIC_SEQ_CST));  // 255 - 3
}
template std::uint8_t atomics(std::uint8_t*);
template std::uint16_t atomics(std::uint16_t*);
template std::uint32_t atomics(std::uint32_t*);
template std::uint64_t atomics(std::uint64_t*);
template Wide atomics(Wide*);

bool compare_exchange_orders(std::uint32_t* at) {
  constexpr int k_success[] = {__ATOMIC_RELAXED, __ATOMIC_ACQUIRE, __ATOMIC_RELEASE, __ATOMIC_ACQ_REL,
                               __ATOMIC_SEQ_CST};
  constexpr int k_failure[] = {__ATOMIC_RELAXED, __ATOMIC_ACQUIRE, __ATOMIC_SEQ_CST};
  *at = 0;
  std::uint32_t done = 0;
  for (const int success : k_success) {
    for (const int failure : k_failure) {
      std::uint32_t expected = done;
      if (!__atomic_compare_exchange_n(at, &expected, done + 1, false, success, failure)) return false;
      expected = done;  // now stale
      if (__atomic_compare_exchange_n(at, &expected, 1000u, false, success, failure)) return false;
      if (expected != ++done) return false;
    }
  }
  return *at == 15;
}

void add_many(std::uint64_t* narrow, Wide* wide, int n) {
  for (int i = 0; i < n; ++i) {
    __atomic_fetch_add(narrow, std::uint64_t{1}, __ATOMIC_RELAXED);
    __atomic_fetch_add(wide, (Wide{1} << 64) + 1, __ATOMIC_RELAXED);
  }
}

// Neither inlined nor tail-called: each is a call with an entry.
[[gnu::noinline]] void nest(int depth, void (*look)()) {
  if (depth <= 1) {
    look();
  } else {
    nest(depth - 1, look);
  }
  asm volatile("");
}

namespace {

std::jmp_buf back;

volatile bool always = true;

[[gnu::noinline]] void jump_from(int depth) {
  if (depth == 0) {
    if (always) std::longjmp(back, 1);
    return;
  }
  jump_from(depth - 1);
  asm volatile("");
}
[[gnu::noinline]] void throw_from(int depth) {
  if (depth == 0) throw 1;
  throw_from(depth - 1);
  asm volatile("");
}

}  // namespace

[[gnu::noinline]] void jump_and_look(void (*look)()) {
  if (setjmp(back) == 0) jump_from(5);
  nest(1, look);
  asm volatile("");
}
[[gnu::noinline]] void throw_and_look(void (*look)()) {
  try {
    throw_from(5);
  } catch (int) {
  }
  nest(1, look);
  asm volatile("");
}

}  // namespace terrace::observe::test
