// Threads that copy one piece of memory together: one core streams no faster than its lines in flight let it,
// several have more of them. The piece is shared out in blocks, so that a thread that has no core holds nobody up.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "transfer/exchange/copy_kernels.hpp"

namespace terrace::transfer {

// In the child of a fork there are no helpers: a crew is of use in the process that made it only.
class CopyThreadPool {
 public:
  // `threads` with the one that calls; the others begin with every signal blocked and call `enter` first. Where
  // the system gives no thread there are fewer.
  CopyThreadPool(std::size_t threads, void (*enter)());
  ~CopyThreadPool();
  CopyThreadPool(const CopyThreadPool&) = delete;
  CopyThreadPool& operator=(const CopyThreadPool&) = delete;

  [[nodiscard]] std::size_t threads() const noexcept { return helpers_.size() + 1; }
  // Whole pages. Who calls while others copy copies alone.
  void copy(const CopyKernel& kernel, void* to, const void* from, std::size_t size) noexcept;

 private:
  struct Task {
    const CopyKernel* kernel = nullptr;
    char* to = nullptr;
    const char* from = nullptr;
    std::size_t size = 0;
  };
  void run_helper() noexcept;
  void copy_blocks(const Task& piece) noexcept;
  static void* thread_body(void* self);

  void (*enter_)();
  std::vector<pthread_t> helpers_;
  std::atomic<std::size_t> next_{0};  // byte of the piece that nobody has begun

  // Guarded by the mutex.
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t task_posted_ = PTHREAD_COND_INITIALIZER;
  pthread_cond_t helpers_done_ = PTHREAD_COND_INITIALIZER;
  Task task_;              // empty while nobody copies
  std::uint64_t num_tasks_ = 0;  // pieces so far
  std::size_t num_active_helpers_ = 0;
  bool stop_ = false;
};

}  // namespace terrace::transfer
