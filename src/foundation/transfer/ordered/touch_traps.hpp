// SPDX-License-Identifier: Apache-2.0
// Traps first touches of registered memory by userfaultfd(2): a pool of threads calls a handler for each one,
// while the faulting thread waits in the kernel until its range is unregistered or it is woken. Requires Linux
// 4.3. The agent places data by memory attributes so (`--intent`).
#pragma once

#include <pthread.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "transfer/exchange/userfault.hpp"

namespace terrace::transfer {

// Thread-safe, but for shut_down().
class TouchTraps {
 public:
  // Handles a fault at this page address. The report may be outdated: the fault may have been resolved already.
  // The handler unregisters a range that contains the address, or wakes the waiters. Called concurrently on the
  // traps' threads. Must not throw.
  using OnFirstTouch = std::function<void(std::uint64_t address)>;

  // Starts `threads` threads, which call `enter` first: so many faults are handled concurrently, further ones
  // wait.
  TouchTraps(OnFirstTouch on_first_touch, void (*enter)(), unsigned threads) noexcept;
  // Stops the threads; the kernel unregisters all ranges.
  ~TouchTraps();
  // Stops the threads and unregisters all ranges, which must lie within these addresses. No range may be
  // registered afterwards.
  void shut_down(std::uint64_t address, std::uint64_t size) noexcept;
  TouchTraps(const TouchTraps&) = delete;
  TouchTraps& operator=(const TouchTraps&) = delete;

  // Returns false where the system lacks the feature or forbids it; register_range() fails then.
  [[nodiscard]] bool is_available() const noexcept { return !threads_.empty(); }

  // Returns 0, or the errno value why the traps are not available.
  [[nodiscard]] int error() const noexcept { return is_available() ? 0 : error_; }

  // Registers whole pages of private anonymous memory. Returns 0 or an errno value.
  int register_range(std::uint64_t address, std::uint64_t size) noexcept;
  // Unregisters the range. Its waiting threads continue, and get pages by the range's memory policy.
  void unregister_range(std::uint64_t address, std::uint64_t size) noexcept;
  // Wakes the waiting threads, which fault again if the page is still absent.
  void wake(std::uint64_t address, std::uint64_t size) noexcept { userfault_.wake(address, size); }

 private:
  void run() noexcept;
  void stop_threads() noexcept;

  OnFirstTouch on_first_touch_;
  void (*enter_)();
  Userfault userfault_;
  int stop_fd_ = -1;  // eventfd(2) that stops the threads
  int error_ = 0;
  std::vector<pthread_t> threads_;
};

}  // namespace terrace::transfer
