// SPDX-License-Identifier: Apache-2.0
// Implements the disk queue by a pool of threads that read and write synchronously, for systems without io_uring.
// The pager and the stencil library use it.
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "core/error.hpp"
#include "core/high_fd.hpp"
#include "core/internal_thread.hpp"
#include "transfer/spill/disk_queue.hpp"

namespace terrace::transfer {

namespace {

// FIFO of at most k_disk_requests items; does not allocate.
template <class Item>
class BoundedFifo {
 public:
  void push(const Item& item) noexcept { items_[(first_ + count_++) % k_disk_requests] = item; }
  Item pop() noexcept {
    const auto item = items_[first_];
    first_ = (first_ + 1) % k_disk_requests;
    --count_;
    return item;
  }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

 private:
  std::array<Item, k_disk_requests> items_{};
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

class ThreadQueue final : public DiskQueue {
 public:
  ThreadQueue(int fd, std::size_t threads)
      : fd_(fd), event_fd_(move_fd_high(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {
    threads_.resize(threads);
    for (auto& thread : threads_)
      if (event_fd_ < 0 || !start_signal_masked_thread(thread, "terrace/disk", thread_body, this)) {
        threads_.resize(static_cast<std::size_t>(&thread - threads_.data()));
        stop();
        throw Error(
            Code::failed,
            "no thread or file descriptor to read and write the backing file; raise ulimit -u and ulimit -n");
      }
  }
  ~ThreadQueue() override { stop(); }
  ThreadQueue(const ThreadQueue&) = delete;
  ThreadQueue& operator=(const ThreadQueue&) = delete;

  [[nodiscard]] std::size_t num_free() const noexcept override { return k_disk_requests - num_pending_; }
  void start(const DiskRequest& request) noexcept override {
    ++num_pending_;
    const std::lock_guard lock(mutex_);
    waiting_.push(request);
    request_or_stop_.notify_one();
  }
  void submit() noexcept override {}
  bool next_completion(DiskCompletion& completion) noexcept override {
    const std::lock_guard lock(mutex_);
    if (completed_.empty()) {
      std::uint64_t count = 0;
      [[maybe_unused]] const auto ignored = syscall(SYS_read, event_fd_, &count, sizeof count);
      return false;
    }
    completion = completed_.pop();
    --num_pending_;
    return true;
  }
  [[nodiscard]] int completion_fd() const noexcept override { return event_fd_; }
  [[nodiscard]] const char* name() const noexcept override { return "threads"; }

 private:
  static void* thread_body(void* self) {
    static_cast<ThreadQueue*>(self)->run();
    return nullptr;
  }

  // Loop of each thread: takes a request, executes it, and signals completion_fd().
  void run() noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
      request_or_stop_.wait(lock, [&] { return stopped_ || !waiting_.empty(); });
      if (stopped_) return;
      const auto request = waiting_.pop();
      lock.unlock();
      const DiskCompletion completion{request.token, execute(request)};
      lock.lock();
      completed_.push(completion);
      const std::uint64_t one = 1;
      [[maybe_unused]] const auto ignored = syscall(SYS_write, event_fd_, &one, sizeof one);
    }
  }

  // Reads or writes the whole request. Returns 0 or an errno value.
  [[nodiscard]] int execute(const DiskRequest& request) const noexcept {
    auto* const memory = reinterpret_cast<char*>(request.address);  // NOLINT(performance-no-int-to-ptr)
    for (std::size_t done = 0; done < request.size;) {
      const auto at = static_cast<off_t>(request.offset + done);
      const auto got = request.write ? syscall(SYS_pwrite64, fd_, memory + done, request.size - done, at)
                                     : syscall(SYS_pread64, fd_, memory + done, request.size - done, at);
      if (got > 0)
        done += static_cast<std::size_t>(got);
      else if (got == 0)
        return EIO;
      else if (errno != EINTR && errno != EAGAIN)
        return errno;
    }
    return 0;
  }

  void stop() noexcept {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      request_or_stop_.notify_all();
    }
    for (const auto thread : threads_) pthread_join(thread, nullptr);
    if (event_fd_ >= 0) syscall(SYS_close, event_fd_);
  }

  int fd_;
  int event_fd_;
  std::vector<pthread_t> threads_;
  std::size_t num_pending_ = 0;  // accessed by the queue's user only
  std::mutex mutex_;             // guards the members below
  std::condition_variable request_or_stop_;
  bool stopped_ = false;
  BoundedFifo<DiskRequest> waiting_;
  BoundedFifo<DiskCompletion> completed_;
};

}  // namespace

std::unique_ptr<DiskQueue> make_thread_queue(int fd, std::size_t threads) {
  return std::make_unique<ThreadQueue>(fd, threads);
}

}  // namespace terrace::transfer
