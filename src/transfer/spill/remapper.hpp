// A thread that moves mappings by mremap(2), for whoever has to go on reading faults meanwhile: a watched range is
// moved when that was read.
//
// It is there from the beginning: a new thread would take memory of the program's allocator, and that may lie in
// what only the caller could bring in.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

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
  [[nodiscard]] bool is_under_way() const noexcept { return state_.load(std::memory_order_acquire) == k_wanted; }
  // Whether the latest was done.
  [[nodiscard]] bool was_done() const noexcept { return done_; }

 private:
  static constexpr int k_idle = 0, k_wanted = 1, k_stop = 2;
  static void* body(void* self);

  void (*enter_)();
  std::atomic<int> state_{k_idle};
  std::uint64_t from_ = 0, to_ = 0;
  std::size_t size_ = 0;
  bool done_ = false;
  pthread_t thread_{};
};

}  // namespace terrace::transfer
