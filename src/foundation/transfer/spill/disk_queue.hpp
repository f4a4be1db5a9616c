// Reads and writes of one file that are under way, several at a time. How the system does them is a matter of what
// it has: io_uring(7), or threads that read and write.
//
// One thread uses a queue. Nothing throws once it is made.
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
  std::uint64_t token = 0;  // who asks
};

struct DiskAnswer {
  std::uint64_t token = 0;
  int error = 0;  // errno value; 0: the whole length was read or written
};

class DiskQueue {
 public:
  virtual ~DiskQueue() = default;
  // At most so many are under way.
  [[nodiscard]] virtual std::size_t room() const noexcept = 0;
  virtual void start(const DiskRequest& request) noexcept = 0;
  // Those that were started are on their way.
  virtual void submit() noexcept = 0;
  // False: none has ended.
  virtual bool next(DiskAnswer& answer) noexcept = 0;
  // To wait on by poll(2) until one has ended; next() makes it quiet again.
  [[nodiscard]] virtual int file() const noexcept = 0;
  [[nodiscard]] virtual const char* name() const noexcept = 0;
};

inline constexpr std::size_t k_disk_requests = 32;

// Null where the system lacks io_uring or forbids it.
std::unique_ptr<DiskQueue> make_ring_queue(int file);
// Throws Error{failed} where the system gives no threads.
std::unique_ptr<DiskQueue> make_thread_queue(int file, std::size_t threads);

}  // namespace terrace::transfer
