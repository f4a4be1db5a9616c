// SPDX-License-Identifier: Apache-2.0
// Splits one copy of a page exchange into blocks that several threads copy. See copy_thread_pool.hpp.
#include "transfer/exchange/copy_thread_pool.hpp"

#include <algorithm>

#include "core/internal_thread.hpp"

namespace terrace::transfer {

namespace {

constexpr std::size_t k_block = 64UL << 10;
constexpr std::size_t k_min_shared_bytes = 4 * k_block;  // below it, a copy ends before a helper is awake

class MutexLock {
 public:
  explicit MutexLock(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~MutexLock() { pthread_mutex_unlock(&mutex_); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

}  // namespace

CopyThreadPool::CopyThreadPool(std::size_t threads, void (*enter)()) : enter_(enter) {
  helpers_.reserve(threads);
  for (pthread_t helper{}; helpers_.size() + 1 < threads; helpers_.push_back(helper))
    if (!start_signal_masked_thread(helper, "terrace/copy", thread_body, this)) break;
}

CopyThreadPool::~CopyThreadPool() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    pthread_cond_broadcast(&task_posted_);
  }
  for (const auto helper : helpers_) pthread_join(helper, nullptr);
}

void CopyThreadPool::copy(const CopyKernel& kernel, void* to, const void* from, std::size_t size) noexcept {
  const Task piece{&kernel, static_cast<char*>(to), static_cast<const char*>(from), size};
  bool with_helpers = !helpers_.empty() && size >= k_min_shared_bytes;
  if (with_helpers) {
    const MutexLock lock(mutex_);
    with_helpers = task_.size == 0;
    if (with_helpers) {
      task_ = piece;
      next_.store(0, std::memory_order_relaxed);
      ++num_tasks_;
      pthread_cond_broadcast(&task_posted_);
    }
  }
  if (!with_helpers) return kernel.copy(to, from, size);
  copy_blocks(piece);
  const MutexLock lock(mutex_);
  while (num_active_helpers_ > 0) pthread_cond_wait(&helpers_done_, &mutex_);
  task_ = {};
}

void CopyThreadPool::copy_blocks(const Task& piece) noexcept {
  for (;;) {
    const auto at = next_.fetch_add(k_block, std::memory_order_relaxed);
    if (at >= piece.size) return;
    piece.kernel->copy(piece.to + at, piece.from + at, std::min(k_block, piece.size - at));
  }
}

void* CopyThreadPool::thread_body(void* self) {
  auto& pool = *static_cast<CopyThreadPool*>(self);
  if (pool.enter_ != nullptr) pool.enter_();
  pool.run_helper();
  return nullptr;
}

// Loop of a helper thread: waits for a task and copies blocks of it.
void CopyThreadPool::run_helper() noexcept {
  const MutexLock lock(mutex_);
  for (std::uint64_t seen = 0;;) {
    while ((task_.size == 0 || num_tasks_ == seen) && !stop_) pthread_cond_wait(&task_posted_, &mutex_);
    if (stop_) return;
    seen = num_tasks_;
    const auto piece = task_;
    ++num_active_helpers_;
    pthread_mutex_unlock(&mutex_);
    copy_blocks(piece);
    pthread_mutex_lock(&mutex_);
    if (--num_active_helpers_ == 0) pthread_cond_signal(&helpers_done_);
  }
}

}  // namespace terrace::transfer
