// SPDX-License-Identifier: Apache-2.0
// Wraps futex(2): waits for a word to change, also across processes if the word is in shared memory. The
// simulator's thread scheduler and the interposed OpenMP waits block by it.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <limits>

namespace terrace {

// Blocks while the word is `value`, at most for `timeout`. May return spuriously: the caller checks the word
// again.
inline void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                       const timespec* timeout = nullptr) {
  syscall(SYS_futex, &word, FUTEX_WAIT, value, timeout, nullptr, 0);
}
// Wakes at most `max_waiters` threads that wait on the word.
inline void futex_wake(std::atomic<std::uint32_t>& word, int max_waiters) {
  syscall(SYS_futex, &word, FUTEX_WAKE, max_waiters, nullptr, nullptr, 0);
}
inline void futex_wake_all(std::atomic<std::uint32_t>& word) { futex_wake(word, std::numeric_limits<int>::max()); }

}  // namespace terrace
