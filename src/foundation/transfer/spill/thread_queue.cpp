// By threads that read and write, where there is no io_uring.
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

// First in, first out, of at most as many as there are requests.
template <class Item>
class Line {
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
  ThreadQueue(int file, std::size_t threads)
      : file_(file), event_(move_fd_high(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {
    threads_.resize(threads);
    for (auto& thread : threads_)
      if (event_ < 0 || !start_signal_masked_thread(thread, "terrace/disk", body, this)) {
        threads_.resize(static_cast<std::size_t>(&thread - threads_.data()));
        stop();
        throw Error(Code::failed, "no threads to read and write the spill file with");
      }
  }
  ~ThreadQueue() override { stop(); }
  ThreadQueue(const ThreadQueue&) = delete;
  ThreadQueue& operator=(const ThreadQueue&) = delete;

  [[nodiscard]] std::size_t room() const noexcept override { return k_disk_requests - under_way_; }
  void start(const DiskRequest& request) noexcept override {
    ++under_way_;
    const std::lock_guard lock(mutex_);
    waiting_.push(request);
    something_.notify_one();
  }
  void submit() noexcept override {}
  bool next(DiskAnswer& answer) noexcept override {
    const std::lock_guard lock(mutex_);
    if (ended_.empty()) {
      std::uint64_t count = 0;
      [[maybe_unused]] const auto ignored = syscall(SYS_read, event_, &count, sizeof count);
      return false;
    }
    answer = ended_.pop();
    --under_way_;
    return true;
  }
  [[nodiscard]] int file() const noexcept override { return event_; }
  [[nodiscard]] const char* name() const noexcept override { return "threads"; }

 private:
  static void* body(void* self) {
    static_cast<ThreadQueue*>(self)->work();
    return nullptr;
  }

  void work() noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
      something_.wait(lock, [&] { return stopped_ || !waiting_.empty(); });
      if (stopped_) return;
      const auto request = waiting_.pop();
      lock.unlock();
      const DiskAnswer answer{request.token, carry_out(request)};
      lock.lock();
      ended_.push(answer);
      const std::uint64_t one = 1;
      [[maybe_unused]] const auto ignored = syscall(SYS_write, event_, &one, sizeof one);
    }
  }

  [[nodiscard]] int carry_out(const DiskRequest& request) const noexcept {
    auto* const memory = reinterpret_cast<char*>(request.address);  // NOLINT(performance-no-int-to-ptr)
    for (std::size_t done = 0; done < request.size;) {
      const auto at = static_cast<off_t>(request.offset + done);
      const auto got = request.write ? syscall(SYS_pwrite64, file_, memory + done, request.size - done, at)
                                     : syscall(SYS_pread64, file_, memory + done, request.size - done, at);
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
      something_.notify_all();
    }
    for (const auto thread : threads_) pthread_join(thread, nullptr);
    if (event_ >= 0) syscall(SYS_close, event_);
  }

  int file_;
  int event_;
  std::vector<pthread_t> threads_;
  std::size_t under_way_ = 0;  // known to the user of the queue alone
  std::mutex mutex_;           // of what follows
  std::condition_variable something_;
  bool stopped_ = false;
  Line<DiskRequest> waiting_;
  Line<DiskAnswer> ended_;
};

}  // namespace

std::unique_ptr<DiskQueue> make_thread_queue(int file, std::size_t threads) {
  return std::make_unique<ThreadQueue>(file, threads);
}

}  // namespace terrace::transfer
