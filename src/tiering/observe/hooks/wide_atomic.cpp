// SPDX-License-Identifier: Apache-2.0
// Implements 16-byte atomics: see wide_atomic.hpp.
#include "observe/hooks/wide_atomic.hpp"

#include <mutex>

namespace terrace::observe {

#if defined(__x86_64__)

__attribute__((target("cx16"))) Wide wide_compare_exchange(volatile Wide* at, Wide expected, Wide desired) {
  return __sync_val_compare_and_swap(at, expected, desired);
}

#else

namespace {
constinit SpinLock wide_lock;
}

Wide wide_compare_exchange(volatile Wide* at, Wide expected, Wide desired) {
  const std::lock_guard<SpinLock> guard(wide_lock);
  const Wide old = *at;
  if (old == expected) *at = desired;
  return old;
}

#endif

Wide wide_load(const volatile Wide* at) { return wide_compare_exchange(const_cast<volatile Wide*>(at), 0, 0); }

}  // namespace terrace::observe
