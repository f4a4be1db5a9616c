// Measures how long threads wait in page faults that the kernel serves by itself, where it pages data over a file.
//
// What the kernel accounts cannot be used: delay accounting (taskstats, field 42 of /proc/PID/stat) is off unless
// the administrator turns it on, counts reads by system calls as well, and major faults (getrusage(2)) leave out
// who waits for a page that is being read ahead. /proc/self/task/TID/syscall needs no privilege: of a thread that
// is blocked outside of any system call, thus in a page fault, it has the number -1. So all threads are looked at
// in regular intervals; each that is found so has waited for the interval. The sum is an unbiased estimate: n
// findings are uncertain by the square root of n.
//
// Not thread-safe. Allocates nothing.
#pragma once

#include <cstdint>
#include <optional>

namespace terrace::transfer {

class FaultWaits {
 public:
  // Whether the thread is known to wait for something else.
  using IsKnown = bool (*)(const void* context, std::uint32_t thread);

  // Whether enough time has passed since the last look; regular intervals, whatever woke the caller.
  [[nodiscard]] bool is_due(std::uint64_t now_ns) const noexcept { return now_ns - looked_ >= k_interval_ns; }
  // Milliseconds until then, 1 at least.
  [[nodiscard]] int due_in_ms(std::uint64_t now_ns) const noexcept;
  // Looks at the threads, and returns for how long they waited since the last look, in nanoseconds, all together.
  std::uint64_t look(std::uint64_t now_ns, IsKnown is_known = nullptr, const void* context = nullptr) noexcept;
  // Nothing is waited for from here until the next look, which counts nothing.
  void pause() noexcept { looked_ = 0; }
  // False where the system does not say in which system calls threads are.
  [[nodiscard]] static bool is_there() noexcept;
  // Whether the line, as /proc/TID/syscall has it, is that of a thread in a page fault.
  [[nodiscard]] static bool is_page_fault(const char* line) noexcept;

 private:
  static constexpr std::uint64_t k_interval_ns = 10'000'000;
  static constexpr std::uint32_t k_most_looks = 64;  // at once; of more threads a part is looked at each time

  std::uint64_t looked_ = 0;  // nanoseconds; 0: not before
  std::uint32_t threads_ = 0;
  std::uint32_t round_ = 0;
};

}  // namespace terrace::transfer
