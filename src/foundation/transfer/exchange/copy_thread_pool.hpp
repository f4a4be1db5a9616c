// SPDX-License-Identifier: Apache-2.0
// Declares a pool of threads that copy one range together, for PageExchange (page_exchange.hpp). One core's
// bandwidth is limited by its outstanding cache misses; several cores have more of them. Threads take blocks of
// the range dynamically, so a preempted helper delays one block only.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "transfer/exchange/copy_kernels.hpp"

namespace terrace::transfer {

// Thread-safe. Not usable in a child of fork(2), which has no helper threads.
class CopyThreadPool {
 public:
  // `threads` includes the calling thread. Helpers start with all signals blocked and call `enter` first. Has
  // fewer helpers where the system creates no more threads.
  CopyThreadPool(std::size_t threads, void (*enter)());
  ~CopyThreadPool();
  CopyThreadPool(const CopyThreadPool&) = delete;
  CopyThreadPool& operator=(const CopyThreadPool&) = delete;

  [[nodiscard]] std::size_t threads() const noexcept { return helpers_.size() + 1; }
  // Copies whole pages. A second concurrent caller copies alone.
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
  std::atomic<std::size_t> next_{0};  // offset of the next block to copy

  // Guarded by the mutex.
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t task_posted_ = PTHREAD_COND_INITIALIZER;
  pthread_cond_t helpers_done_ = PTHREAD_COND_INITIALIZER;
  Task task_;                    // empty while no copy is in progress
  std::uint64_t num_tasks_ = 0;  // tasks posted so far
  std::size_t num_active_helpers_ = 0;
  bool stop_ = false;
};

}  // namespace terrace::transfer
