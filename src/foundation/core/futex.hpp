// The system's way to wait for a word to change. Also across processes, if the word is in shared memory.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <limits>

namespace terrace {

// Returns when the word is no longer `value`, or earlier: look again.
inline void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                       const timespec* patience = nullptr) {
  syscall(SYS_futex, &word, FUTEX_WAIT, value, patience, nullptr, 0);
}
inline void futex_wake(std::atomic<std::uint32_t>& word, int most) {
  syscall(SYS_futex, &word, FUTEX_WAKE, most, nullptr, nullptr, 0);
}
inline void futex_wake_all(std::atomic<std::uint32_t>& word) { futex_wake(word, std::numeric_limits<int>::max()); }

}  // namespace terrace
