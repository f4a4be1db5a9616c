// A thread that does what takes its time for whoever has to go on reading faults meanwhile: moves mappings by
// mremap(2), which ends when that was read where they are watched; and waits until a file is written.
//
// It is there from the beginning: a new thread would take memory of the program's allocator, and that may lie in
// what only the caller could bring in.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "transfer/spill/spill_file.hpp"

namespace terrace::transfer {

class Remapper {
 public:
  // `enter` is called first on the thread. Throws Error{failed} where the system gives none.
  explicit Remapper(void (*enter)());
  ~Remapper();
  Remapper(const Remapper&) = delete;
  Remapper& operator=(const Remapper&) = delete;

  // One at a time; what was mapped at `to` is no more.
  void start(std::uint64_t from, std::uint64_t to, std::size_t size) noexcept;
  // What was written to mappings of the file.
  void start_sync(SpillFile& file) noexcept;
  [[nodiscard]] bool is_under_way() const noexcept { return state_.load(std::memory_order_acquire) != k_idle; }
  // Of the latest: 0, or an errno value.
  [[nodiscard]] int error() const noexcept { return error_; }
  // To wait on by poll(2) until something has ended; hear() makes it quiet again.
  [[nodiscard]] int ended() const noexcept { return event_; }
  void hear() noexcept;

 private:
  static constexpr int k_idle = 0, k_move = 1, k_sync = 2, k_stop = 3;
  static void* body(void* self);
  void begin(int what) noexcept;

  void (*enter_)();
  std::atomic<int> state_{k_idle};
  std::uint64_t from_ = 0, to_ = 0;
  std::size_t size_ = 0;
  SpillFile* written_ = nullptr;
  int error_ = 0;
  int event_ = -1;
  pthread_t thread_{};
};

}  // namespace terrace::transfer
