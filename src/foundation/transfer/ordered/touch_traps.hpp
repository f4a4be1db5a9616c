// First touches of memory are told before they get a page: threads of ours wait for them by userfaultfd(2), and
// who touches waits in the kernel until the range is forgotten. Linux 4.3 has all that this needs.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <vector>

#include "transfer/exchange/userfault.hpp"

namespace terrace::transfer {

class TouchTraps {
 public:
  class Handler {
   public:
    virtual ~Handler() = default;
    // Somebody waits at this address, or has waited: what was told may be old when it is handled. The handler
    // forgets a range that it is in, or has done so already, or wakes who waits. Called on one of the traps'
    // threads, for several touches at once.
    virtual void on_first_touch(std::uint64_t address) noexcept = 0;
    virtual void on_thread_start() noexcept {}
  };

  // `handler` outlives it. What is touched while `threads` others are being handled waits.
  TouchTraps(Handler& handler, unsigned threads) noexcept;
  // Forgets all ranges.
  ~TouchTraps();
  // The same before that; all of them are within these addresses. Nothing may be watched afterwards.
  void shut_down(std::uint64_t address, std::uint64_t size) noexcept;
  TouchTraps(const TouchTraps&) = delete;
  TouchTraps& operator=(const TouchTraps&) = delete;

  // False: the system lacks it, or this process may not; watch() then returns an error.
  [[nodiscard]] bool is_available() const noexcept { return !threads_.empty(); }

  // Returns 0, or the errno value for which it is not there.
  [[nodiscard]] int error() const noexcept { return is_available() ? 0 : error_; }

  // Whole pages of private anonymous memory: who touches one that is absent is told of from now on. 0 or an errno
  // value.
  int register_range(std::uint64_t address, std::uint64_t size) noexcept;
  // No more. Who waits goes on, and gets a page as the range's policy says.
  void unregister_range(std::uint64_t address, std::uint64_t size) noexcept;
  // Who waits touches again.
  void wake(std::uint64_t address, std::uint64_t size) noexcept { userfault_.wake(address, size); }

 private:
  void run() noexcept;
  void stop_threads() noexcept;

  Handler& handler_;
  Userfault userfault_;
  int stop_fd_ = -1;  // an event: the threads shall end
  int error_ = 0;
  std::vector<pthread_t> threads_;
};

}  // namespace terrace::transfer
