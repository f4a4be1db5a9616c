// SPDX-License-Identifier: Apache-2.0
// Declares asynchronous reads and writes of one file, for the pager of out-of-core memory and for the stencil
// library. Two implementations: io_uring(7) (ring_queue.cpp), and a thread pool where the system lacks or forbids
// it (thread_queue.cpp).
//
// Not thread-safe: one thread uses a queue. Member functions do not throw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace terrace::transfer {

struct DiskRequest {
  bool write = false;
  std::uint64_t address = 0;
  std::uint64_t offset = 0;
  std::size_t size = 0;
  std::uint64_t token = 0;  // returned with the completion
};

struct DiskCompletion {
  std::uint64_t token = 0;
  int error = 0;  // errno value; 0: the whole length was read or written
};

class DiskQueue {
 public:
  virtual ~DiskQueue() = default;
  // Returns how many more requests may be started.
  [[nodiscard]] virtual std::size_t num_free() const noexcept = 0;
  // Queues a request. Requires num_free() > 0.
  virtual void start(const DiskRequest& request) noexcept = 0;
  // Submits the requests started so far.
  virtual void submit() noexcept = 0;
  // Takes one completion. Returns false if there is none.
  virtual bool next_completion(DiskCompletion& completion) noexcept = 0;
  // Returns a descriptor that is readable for poll(2) after a completion, until next_completion() returned false.
  [[nodiscard]] virtual int completion_fd() const noexcept = 0;
  [[nodiscard]] virtual const char* name() const noexcept = 0;
};

inline constexpr std::size_t k_disk_requests = 32;

// Returns null where the system lacks io_uring or forbids it.
std::unique_ptr<DiskQueue> make_ring_queue(int fd);
// Throws Error{failed} where the system gives no threads.
std::unique_ptr<DiskQueue> make_thread_queue(int fd, std::size_t threads);

}  // namespace terrace::transfer
