// SPDX-License-Identifier: Apache-2.0
// Runs the pager's background thread, which calls mremap(2) and fdatasync(2) while kernel-paged blocks are
// reclaimed. See remapper.hpp.
#include "transfer/spill/remapper.hpp"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "core/error.hpp"
#include "core/high_fd.hpp"
#include "core/internal_thread.hpp"

namespace terrace::transfer {

Remapper::Remapper(void (*enter)())
    : enter_(enter), event_fd_(move_fd_high(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {
  if (event_fd_ >= 0 && start_signal_masked_thread(thread_, "terrace/remap", thread_body, this)) return;
  if (event_fd_ >= 0) syscall(SYS_close, event_fd_);
  throw Error(Code::failed, "--memory: no thread or file descriptor left; raise ulimit -u and ulimit -n");
}

Remapper::~Remapper() {
  post(k_stop);
  pthread_join(thread_, nullptr);
  syscall(SYS_close, event_fd_);
}

void Remapper::start_remap(std::uint64_t from, std::uint64_t to, std::size_t size) noexcept {
  from_ = from;
  to_ = to;
  size_ = size;
  post(k_move);
}

void Remapper::start_sync(SpillFile& file) noexcept {
  sync_file_ = &file;
  post(k_sync);
}

void Remapper::post(int command) noexcept {
  state_.store(command, std::memory_order_release);
  state_.notify_one();
}

void Remapper::clear_event() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto ignored = syscall(SYS_read, event_fd_, &count, sizeof count);
}

// Loop of the thread: waits for a command, executes its system call, and signals completion_fd().
void* Remapper::thread_body(void* self) {
  auto& remapper = *static_cast<Remapper*>(self);
  if (remapper.enter_) remapper.enter_();
  for (;;) {
    remapper.state_.wait(k_idle, std::memory_order_acquire);
    int command = remapper.state_.load(std::memory_order_acquire);
    if (command == k_stop) return nullptr;
    if (command == k_sync) {
      remapper.error_ = remapper.sync_file_->sync_cached();
    } else {
      const auto got = syscall(SYS_mremap, remapper.from_, remapper.size_, remapper.size_,
                               MREMAP_MAYMOVE | MREMAP_FIXED, remapper.to_);
      remapper.error_ = got == -1 ? errno : 0;
    }
    remapper.state_.compare_exchange_strong(command, k_idle, std::memory_order_release);
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto ignored = syscall(SYS_write, remapper.event_fd_, &one, sizeof one);
  }
}

}  // namespace terrace::transfer
