// SPDX-License-Identifier: Apache-2.0
// Declares the background thread of the pager (spill.hpp) for blocking system calls, while the pager itself keeps
// reading page faults: mremap(2) of watched ranges, which returns only after the pager has read its event, and
// fdatasync(2).
//
// The thread is created at the start. A later pthread_create would allocate from the program's heap, which may be
// swapped out, and only the pager could fetch it.
//
// One command at a time, posted by one thread.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "transfer/spill/spill_file.hpp"

namespace terrace::transfer {

class Remapper {
 public:
  // Starts the thread, which calls `enter` first. Throws Error{failed} where the system gives none.
  explicit Remapper(void (*enter)());
  ~Remapper();
  Remapper(const Remapper&) = delete;
  Remapper& operator=(const Remapper&) = delete;

  // Moves the mapping at `from` to `to`, replacing what is mapped there.
  void start_remap(std::uint64_t from, std::uint64_t to, std::size_t size) noexcept;
  // Writes dirty pages of the file's mappings to the file.
  void start_sync(SpillFile& file) noexcept;
  [[nodiscard]] bool is_busy() const noexcept { return state_.load(std::memory_order_acquire) != k_idle; }
  // Returns the result of the latest command: 0 or an errno value.
  [[nodiscard]] int error() const noexcept { return error_; }
  // Returns a descriptor that is readable for poll(2) after a command has ended, until clear_event().
  [[nodiscard]] int completion_fd() const noexcept { return event_fd_; }
  void clear_event() noexcept;

 private:
  static constexpr int k_idle = 0, k_move = 1, k_sync = 2, k_stop = 3;
  static void* thread_body(void* self);
  void post(int command) noexcept;

  void (*enter_)();
  std::atomic<int> state_{k_idle};
  std::uint64_t from_ = 0, to_ = 0;
  std::size_t size_ = 0;
  SpillFile* sync_file_ = nullptr;
  int error_ = 0;
  int event_fd_ = -1;
  pthread_t thread_{};
};

}  // namespace terrace::transfer
