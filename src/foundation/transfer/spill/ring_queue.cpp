// SPDX-License-Identifier: Apache-2.0
// Implements the disk queue by io_uring(7), for the pager and the stencil library. Partial transfers are
// resubmitted.
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
  explicit RingQueue(int fd) : fd_(fd) {}
  ~RingQueue() override {
    if (ring_initialized_) io_uring_queue_exit(&ring_);
    if (event_fd_ >= 0) syscall(SYS_close, event_fd_);
  }
  RingQueue(const RingQueue&) = delete;
  RingQueue& operator=(const RingQueue&) = delete;

  bool initialize() noexcept {
    event_fd_ = move_fd_high(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    ring_initialized_ = event_fd_ >= 0 && io_uring_queue_init(k_disk_requests, &ring_, 0) == 0;
    for (std::size_t i = 0; i < k_disk_requests; ++i) free_slots_[i] = static_cast<std::uint8_t>(i);
    num_free_ = k_disk_requests;
    return ring_initialized_ && io_uring_register_eventfd(&ring_, event_fd_) == 0;
  }

  [[nodiscard]] std::size_t num_free() const noexcept override { return num_free_; }

  void start(const DiskRequest& request) noexcept override {
    const auto at = free_slots_[--num_free_];
    requests_[at] = request;
    enqueue(at);
  }

  // The submitting thread may execute writes itself, so SIGXFSZ is blocked.
  void submit() noexcept override {
    const ScopedSigxfszBlock without;
    while (io_uring_submit(&ring_) == -EINTR) {
    }
  }

  bool next_completion(DiskCompletion& completion) noexcept override {
    for (;;) {
      io_uring_cqe* entry = nullptr;
      if (io_uring_peek_cqe(&ring_, &entry) != 0) {
        if (event_cleared_) return false;
        event_cleared_ = true;  // check once more: a completion may precede the read
        std::uint64_t count = 0;
        [[maybe_unused]] const auto ignored = syscall(SYS_read, event_fd_, &count, sizeof count);
        continue;
      }
      const auto at = static_cast<std::uint8_t>(io_uring_cqe_get_data64(entry));
      const auto result = entry->res;
      io_uring_cqe_seen(&ring_, entry);
      event_cleared_ = false;
      auto& request = requests_[at];
      if (result == -EINTR || result == -EAGAIN || (result > 0 && std::size_t(result) < request.size)) {
        if (result > 0) {  // partial: resubmit the rest
          request.address += static_cast<std::uint64_t>(result);
          request.offset += static_cast<std::uint64_t>(result);
          request.size -= static_cast<std::size_t>(result);
        }
        enqueue(at);
        submit();
        continue;
      }
      completion = {request.token, result < 0 ? -result : result == 0 ? EIO : 0};
      free_slots_[num_free_++] = at;
      return true;
    }
  }

  [[nodiscard]] int completion_fd() const noexcept override { return event_fd_; }
  [[nodiscard]] const char* name() const noexcept override { return "io_uring"; }

 private:
  // Puts the request of a slot into the submission queue.
  void enqueue(std::uint8_t at) noexcept {
    const auto& request = requests_[at];
    auto* entry = io_uring_get_sqe(&ring_);
    if (!entry) {
      submit();
      entry = io_uring_get_sqe(&ring_);
    }
    auto* const memory = reinterpret_cast<void*>(request.address);  // NOLINT(performance-no-int-to-ptr)
    if (request.write)
      io_uring_prep_write(entry, fd_, memory, static_cast<unsigned>(request.size), request.offset);
    else
      io_uring_prep_read(entry, fd_, memory, static_cast<unsigned>(request.size), request.offset);
    io_uring_sqe_set_data64(entry, at);
  }

  int fd_;
  int event_fd_ = -1;
  bool ring_initialized_ = false;
  bool event_cleared_ = true;
  io_uring ring_{};
  std::array<DiskRequest, k_disk_requests> requests_{};
  std::array<std::uint8_t, k_disk_requests> free_slots_{};
  std::size_t num_free_ = 0;
};

}  // namespace

std::unique_ptr<DiskQueue> make_ring_queue(int fd) {
  auto queue = std::make_unique<RingQueue>(fd);
  if (!queue->initialize()) return nullptr;
  return queue;
}

}  // namespace terrace::transfer
