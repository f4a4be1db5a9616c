// SPDX-License-Identifier: Apache-2.0
// Defines the atomic operations, which code compiled with -fsanitize=thread delegates to the run-time library.
// They are traced as accesses and then executed with the requested memory order. A read-modify-write is traced as
// a store; its load is of the same line.
#include <mutex>
#include <type_traits>

#include "observe/objects/spin_lock.hpp"
#include "observe/pipeline/trace.hpp"

using terrace::observe::trace_access;
using terrace::observe::trace_atomic;

namespace {

// 16-byte atomics without libatomic: by cmpxchg16b on x86-64, elsewhere by a lock that all 16-byte atomics of
// instrumented code share.
__extension__ using Wide = unsigned __int128;

#if defined(__x86_64__)

__attribute__((target("cx16"))) Wide wide_compare_exchange(volatile Wide* at, Wide expected, Wide desired) {
  return __sync_val_compare_and_swap(at, expected, desired);
}

#else

constinit terrace::observe::SpinLock wide_lock;

Wide wide_compare_exchange(volatile Wide* at, Wide expected, Wide desired) {
  const std::lock_guard guard(wide_lock);
  const Wide old = *at;
  if (old == expected) *at = desired;
  return old;
}

#endif

// Requires: the memory is writable, because x86-64 implements the load as a compare-exchange.
Wide wide_load(const volatile Wide* at) { return wide_compare_exchange(const_cast<volatile Wide*>(at), 0, 0); }

template <int order>
using Order = std::integral_constant<int, order>;

// Calls `operation` with the order as a constant, as the builtins want it. Consume is acquire, as in the
// compilers; gcc's marks for older builtins and lock elision above the low bits do not concern us.
template <class Operation>
[[gnu::always_inline]] inline auto with_load_order(int order, Operation operation) {
  switch (order & 7) {
    case __ATOMIC_RELAXED:
      return operation(Order<__ATOMIC_RELAXED>{});
    case __ATOMIC_CONSUME:
    case __ATOMIC_ACQUIRE:
      return operation(Order<__ATOMIC_ACQUIRE>{});
    default:
      return operation(Order<__ATOMIC_SEQ_CST>{});
  }
}
template <class Operation>
[[gnu::always_inline]] inline void with_store_order(int order, Operation operation) {
  switch (order & 7) {
    case __ATOMIC_RELAXED:
      return operation(Order<__ATOMIC_RELAXED>{});
    case __ATOMIC_RELEASE:
      return operation(Order<__ATOMIC_RELEASE>{});
    default:
      return operation(Order<__ATOMIC_SEQ_CST>{});
  }
}
template <class Operation>
[[gnu::always_inline]] inline auto with_order(int order, Operation operation) {
  switch (order & 7) {
    case __ATOMIC_RELAXED:
      return operation(Order<__ATOMIC_RELAXED>{});
    case __ATOMIC_CONSUME:
    case __ATOMIC_ACQUIRE:
      return operation(Order<__ATOMIC_ACQUIRE>{});
    case __ATOMIC_RELEASE:
      return operation(Order<__ATOMIC_RELEASE>{});
    case __ATOMIC_ACQ_REL:
      return operation(Order<__ATOMIC_ACQ_REL>{});
    default:
      return operation(Order<__ATOMIC_SEQ_CST>{});
  }
}

// A failure order may be stronger than the success order: then success is made as strong.
int strengthened(int order, int failure) {
  switch (failure & 7) {
    case __ATOMIC_RELAXED:
      return order;
    case __ATOMIC_CONSUME:
    case __ATOMIC_ACQUIRE:
      if ((order & 7) == __ATOMIC_RELAXED) return __ATOMIC_ACQUIRE;
      return (order & 7) == __ATOMIC_RELEASE ? __ATOMIC_ACQ_REL : order;
    default:
      return __ATOMIC_SEQ_CST;
  }
}

template <class T>
bool compare_exchange(volatile T* at, T* expected, T desired, bool weak, int order, int failure) {
  return with_order(strengthened(order, failure), [&](auto success) {
    constexpr int k_fail = success.value == __ATOMIC_RELEASE   ? __ATOMIC_RELAXED
                           : success.value == __ATOMIC_ACQ_REL ? __ATOMIC_ACQUIRE
                                                               : success.value;
    return __atomic_compare_exchange_n(at, expected, desired, weak, success.value, k_fail);
  });
}

}  // namespace

#define HOOK_FETCH(bits, T, operation)                                                                \
  TERRACE_HOOK T __tsan_atomic##bits##_fetch_##operation(volatile T* at, T value, int order) {        \
    trace_atomic(at, sizeof(T), true, TERRACE_SITE);                                                  \
    return with_order(order, [&](auto o) { return __atomic_fetch_##operation(at, value, o.value); }); \
  }

#define HOOK_ATOMICS(bits, T)                                                                                     \
  TERRACE_HOOK T __tsan_atomic##bits##_load(const volatile T* at, int order) {                                    \
    trace_atomic(at, sizeof(T), false, TERRACE_SITE);                                                             \
    return with_load_order(order, [&](auto o) { return __atomic_load_n(at, o.value); });                          \
  }                                                                                                               \
  TERRACE_HOOK void __tsan_atomic##bits##_store(volatile T* at, T value, int order) {                             \
    trace_access(at, sizeof(T), true, TERRACE_SITE);                                                              \
    with_store_order(order, [&](auto o) { __atomic_store_n(at, value, o.value); });                               \
  }                                                                                                               \
  TERRACE_HOOK T __tsan_atomic##bits##_exchange(volatile T* at, T value, int order) {                             \
    trace_atomic(at, sizeof(T), true, TERRACE_SITE);                                                              \
    return with_order(order, [&](auto o) { return __atomic_exchange_n(at, value, o.value); });                    \
  }                                                                                                               \
  HOOK_FETCH(bits, T, add)                                                                                        \
  HOOK_FETCH(bits, T, sub)                                                                                        \
  HOOK_FETCH(bits, T, and)                                                                                        \
  HOOK_FETCH(bits, T, or)                                                                                         \
  HOOK_FETCH(bits, T, xor)                                                                                        \
  HOOK_FETCH(bits, T, nand)                                                                                       \
  TERRACE_HOOK int __tsan_atomic##bits##_compare_exchange_strong(volatile T* at, T* expected, T desired,          \
                                                                 int order, int failure) {                        \
    trace_atomic(at, sizeof(T), true, TERRACE_SITE);                                                              \
    return compare_exchange(at, expected, desired, false, order, failure) ? 1 : 0;                                \
  }                                                                                                               \
  TERRACE_HOOK int __tsan_atomic##bits##_compare_exchange_weak(volatile T* at, T* expected, T desired, int order, \
                                                               int failure) {                                     \
    trace_atomic(at, sizeof(T), true, TERRACE_SITE);                                                              \
    return compare_exchange(at, expected, desired, true, order, failure) ? 1 : 0;                                 \
  }                                                                                                               \
  TERRACE_HOOK T __tsan_atomic##bits##_compare_exchange_val(volatile T* at, T expected, T desired, int order,     \
                                                            int failure) {                                        \
    trace_atomic(at, sizeof(T), true, TERRACE_SITE);                                                              \
    compare_exchange(at, &expected, desired, false, order, failure);                                              \
    return expected;                                                                                              \
  }

#define HOOK_WIDE(operation, change)                                                   \
  TERRACE_HOOK Wide __tsan_atomic128_##operation(volatile Wide* at, Wide value, int) { \
    trace_atomic(at, sizeof(Wide), true, TERRACE_SITE);                                \
    return wide_update(at, [value](Wide old) { return static_cast<Wide>(change); });   \
  }

namespace {

// `change` makes the new value of the old one, which is returned.
template <class Change>
Wide wide_update(volatile Wide* at, Change change) {
  Wide old = wide_load(at);
  for (;;) {
    const Wide seen = wide_compare_exchange(at, old, change(old));
    if (seen == old) return old;
    old = seen;
  }
}

}  // namespace

extern "C" {

HOOK_ATOMICS(8, std::uint8_t)
HOOK_ATOMICS(16, std::uint16_t)
HOOK_ATOMICS(32, std::uint32_t)
HOOK_ATOMICS(64, std::uint64_t)

// 128 bits: sequentially consistent whatever was asked for; no instruction does it with less.
TERRACE_HOOK Wide __tsan_atomic128_load(const volatile Wide* at, int) {
  trace_atomic(at, sizeof(Wide), false, TERRACE_SITE);
  return wide_load(at);
}
TERRACE_HOOK void __tsan_atomic128_store(volatile Wide* at, Wide value, int) {
  trace_access(at, sizeof(Wide), true, TERRACE_SITE);
  wide_update(at, [value](Wide) { return value; });
}
HOOK_WIDE(exchange, (static_cast<void>(old), value))
HOOK_WIDE(fetch_add, old + value)
HOOK_WIDE(fetch_sub, old - value)
HOOK_WIDE(fetch_and, old& value)
HOOK_WIDE(fetch_or, old | value)
HOOK_WIDE(fetch_xor, old ^ value)
HOOK_WIDE(fetch_nand, ~(old& value))
TERRACE_HOOK Wide __tsan_atomic128_compare_exchange_val(volatile Wide* at, Wide expected, Wide desired, int, int) {
  trace_atomic(at, sizeof(Wide), true, TERRACE_SITE);
  return wide_compare_exchange(at, expected, desired);
}
TERRACE_HOOK int __tsan_atomic128_compare_exchange_strong(volatile Wide* at, Wide* expected, Wide desired, int,
                                                          int) {
  trace_atomic(at, sizeof(Wide), true, TERRACE_SITE);
  const Wide wanted = *expected;
  *expected = wide_compare_exchange(at, wanted, desired);
  return *expected == wanted ? 1 : 0;
}
TERRACE_HOOK int __tsan_atomic128_compare_exchange_weak(volatile Wide* at, Wide* expected, Wide desired, int,
                                                        int) {
  trace_atomic(at, sizeof(Wide), true, TERRACE_SITE);
  const Wide wanted = *expected;
  *expected = wide_compare_exchange(at, wanted, desired);
  return *expected == wanted ? 1 : 0;
}

TERRACE_HOOK void __tsan_atomic_thread_fence(int order) {
  with_order(order, [](auto o) { __atomic_thread_fence(o.value); });
}
TERRACE_HOOK void __tsan_atomic_signal_fence(int order) {
  with_order(order, [](auto o) { __atomic_signal_fence(o.value); });
}

}  // extern "C"
