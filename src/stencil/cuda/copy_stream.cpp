// SPDX-License-Identifier: Apache-2.0
// Implements the thread that waits for the copies of one CUDA stream, and the queue in which it reports finished
// ones. The GPU backend of out-of-core execution has one such stream for each direction. See copy_stream.hpp.
#include "stencil/cuda/copy_stream.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "core/error.hpp"

namespace terrace::stencil::cuda {

CopyCompletionQueue::CopyCompletionQueue() : completion_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (completion_fd_ < 0)
    throw Error(Code::failed, std::string("executor=gpu: eventfd(2) for finished copies failed: ") +
                                  std::strerror(errno) + ": allow more open files (ulimit -n)");
}

CopyCompletionQueue::~CopyCompletionQueue() { close(completion_fd_); }

void CopyCompletionQueue::add(const Ended& ended) {
  {
    const std::scoped_lock lock(mutex_);
    all_.push_back(ended);
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto ignored = ::write(completion_fd_, &one, sizeof one);
}

bool CopyCompletionQueue::next(Ended& ended) {
  const std::scoped_lock lock(mutex_);
  if (all_.empty()) {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto ignored = ::read(completion_fd_, &count, sizeof count);
    return false;
  }
  ended = all_.front();
  all_.pop_front();
  return true;
}

CopyStream::CopyStream(const Device& device, CopyCompletionQueue& ended, std::size_t most)
    : device_(device), ended_(ended), stream_(device) {
  for (std::size_t i = 0; i < most; ++i) {
    events_.emplace_back(device);
    free_.push_back(i);
  }
  thread_ = std::thread([this] { body(); });
}

CopyStream::~CopyStream() {
  {
    const std::scoped_lock lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CopyStream::track(std::uint64_t ticket) {
  {
    const std::scoped_lock lock(mutex_);
    const auto event = free_.back();
    events_[event].record(stream_);
    free_.pop_back();
    in_flight_.push_back({ticket, event});
  }
  changed_.notify_all();
}

// Runs on the stream's thread: waits for the copies in order and reports each.
void CopyStream::body() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_over_ || !in_flight_.empty(); });
    if (in_flight_.empty()) return;
    const auto [ticket, event] = in_flight_.front();
    in_flight_.pop_front();
    lock.unlock();
    auto result = device_.driver().set_context(device_.context());
    if (result == k_success) result = events_[event].wait();
    lock.lock();
    free_.push_back(event);
    ended_.add({ticket, result});
  }
}

}  // namespace terrace::stencil::cuda
