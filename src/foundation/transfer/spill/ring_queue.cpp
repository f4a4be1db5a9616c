// By io_uring(7): no thread waits for a request.
#include <liburing.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/high_fd.hpp"
#include "core/size_signal.hpp"
#include "transfer/spill/disk_queue.hpp"

namespace terrace::transfer {

namespace {

class RingQueue final : public DiskQueue {
 public:
  explicit RingQueue(int file) : file_(file) {}
  ~RingQueue() override {
    if (made_) io_uring_queue_exit(&ring_);
    if (event_ >= 0) syscall(SYS_close, event_);
  }
  RingQueue(const RingQueue&) = delete;
  RingQueue& operator=(const RingQueue&) = delete;

  bool make() noexcept {
    event_ = move_fd_high(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    made_ = event_ >= 0 && io_uring_queue_init(k_disk_requests, &ring_, 0) == 0;
    for (std::size_t i = 0; i < k_disk_requests; ++i) free_[i] = static_cast<std::uint8_t>(i);
    free_count_ = k_disk_requests;
    return made_ && io_uring_register_eventfd(&ring_, event_) == 0;
  }

  [[nodiscard]] std::size_t room() const noexcept override { return free_count_; }

  void start(const DiskRequest& request) noexcept override {
    const auto at = free_[--free_count_];
    requests_[at] = request;
    enter(at);
  }

  // The calling thread begins writes itself.
  void submit() noexcept override {
    const ScopedSigxfszBlock without;
    while (io_uring_submit(&ring_) == -EINTR) {
    }
  }

  bool next(DiskAnswer& answer) noexcept override {
    for (;;) {
      io_uring_cqe* entry = nullptr;
      if (io_uring_peek_cqe(&ring_, &entry) != 0) {
        if (quiet_) return false;
        quiet_ = true;  // and look once more: what came before the file was read counts
        std::uint64_t count = 0;
        [[maybe_unused]] const auto ignored = syscall(SYS_read, event_, &count, sizeof count);
        continue;
      }
      const auto at = static_cast<std::uint8_t>(io_uring_cqe_get_data64(entry));
      const auto result = entry->res;
      io_uring_cqe_seen(&ring_, entry);
      quiet_ = false;
      auto& request = requests_[at];
      if (result == -EINTR || result == -EAGAIN || (result > 0 && std::size_t(result) < request.size)) {
        if (result > 0) {  // a part of it: the rest follows
          request.address += static_cast<std::uint64_t>(result);
          request.offset += static_cast<std::uint64_t>(result);
          request.size -= static_cast<std::size_t>(result);
        }
        enter(at);
        submit();
        continue;
      }
      answer = {request.token, result < 0 ? -result : result == 0 ? EIO : 0};
      free_[free_count_++] = at;
      return true;
    }
  }

  [[nodiscard]] int file() const noexcept override { return event_; }
  [[nodiscard]] const char* name() const noexcept override { return "io_uring"; }

 private:
  void enter(std::uint8_t at) noexcept {
    const auto& request = requests_[at];
    auto* entry = io_uring_get_sqe(&ring_);
    if (!entry) {
      submit();
      entry = io_uring_get_sqe(&ring_);
    }
    auto* const memory = reinterpret_cast<void*>(request.address);  // NOLINT(performance-no-int-to-ptr)
    if (request.write)
      io_uring_prep_write(entry, file_, memory, static_cast<unsigned>(request.size), request.offset);
    else
      io_uring_prep_read(entry, file_, memory, static_cast<unsigned>(request.size), request.offset);
    io_uring_sqe_set_data64(entry, at);
  }

  int file_;
  int event_ = -1;
  bool made_ = false;
  bool quiet_ = true;
  io_uring ring_{};
  std::array<DiskRequest, k_disk_requests> requests_{};
  std::array<std::uint8_t, k_disk_requests> free_{};
  std::size_t free_count_ = 0;
};

}  // namespace

std::unique_ptr<DiskQueue> make_ring_queue(int file) {
  auto queue = std::make_unique<RingQueue>(file);
  if (!queue->make()) return nullptr;
  return queue;
}

}  // namespace terrace::transfer
