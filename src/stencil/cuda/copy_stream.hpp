// SPDX-License-Identifier: Apache-2.0
// Runs the copies of one direction on a CUDA stream and reports their ends: a thread waits for each in order and
// signals an eventfd that poll(2) can wait on. Used by DeviceBackend, the GPU's backend of out-of-core execution.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "stencil/cuda/device.hpp"

namespace terrace::stencil::cuda {

// Queue of finished copies, shared by several streams. Thread-safe.
class CopyCompletionQueue {
 public:
  struct Ended {
    std::uint64_t ticket = 0;
    Result result = k_success;
  };
  CopyCompletionQueue();
  ~CopyCompletionQueue();
  CopyCompletionQueue(const CopyCompletionQueue&) = delete;
  CopyCompletionQueue& operator=(const CopyCompletionQueue&) = delete;
  void add(const Ended& ended);
  // Takes one finished copy. Returns false, and makes completion_fd() unreadable, if there is none.
  [[nodiscard]] bool next(Ended& ended);
  [[nodiscard]] int completion_fd() const { return completion_fd_; }

 private:
  int completion_fd_ = -1;
  std::mutex mutex_;
  std::deque<Ended> all_;
};

class CopyStream {
 public:
  // Allows at most `most` copies in flight. `device` and `ended` must outlive it.
  CopyStream(const Device& device, CopyCompletionQueue& ended, std::size_t most);
  ~CopyStream();
  CopyStream(const CopyStream&) = delete;
  CopyStream& operator=(const CopyStream&) = delete;

  [[nodiscard]] StreamHandle handle() const { return stream_.handle(); }
  // Associates everything enqueued so far with the ticket.
  void track(std::uint64_t ticket);

 private:
  struct InFlight {
    std::uint64_t ticket;
    std::size_t event;
  };
  void body() noexcept;

  const Device& device_;
  CopyCompletionQueue& ended_;
  CommandStream stream_;
  std::deque<Event> events_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> free_;  // unused events
  std::deque<InFlight> in_flight_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace terrace::stencil::cuda
