// Calls of a program's functions by one thread, as the processor sees them: an execution breakpoint on each
// function's entry (perf_event_open(2), PERF_TYPE_BREAKPOINT), whatever signals the program blocks. Needs no
// rights beyond perf_event_paranoid 2, changes nothing in the program's memory, and calls by other threads cost
// nothing.
//
// A processor has few breakpoints, of which debuggers may have some: four of x86, two to sixteen of Arm. Each call
// costs the thread a trap: 1 us on the processor itself, up to 20 us in a virtual machine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace terrace::observe {

struct ProbeEvent {
  std::uint64_t time_ns = 0;   // CLOCK_MONOTONIC
  std::uint32_t function = 0;  // as it was added
};

class FunctionProbes {
 public:
  explicit FunctionProbes(int tid);
  ~FunctionProbes();
  FunctionProbes(const FunctionProbes&) = delete;
  FunctionProbes& operator=(const FunctionProbes&) = delete;

  // Sees calls of the function that begins at the address, from now on. False where the processor has no
  // breakpoint left, or the thread has ended.
  bool add(std::uint32_t function, std::uint64_t address);
  // Those since the last time, in the order in which they happened. At most some hundred of a function are kept
  // between two calls; more are lost.
  std::vector<ProbeEvent> take();
  // The function's calls are not seen any more, and cost nothing. False where they were not.
  bool drop(std::uint32_t function);
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

  // Why it cannot be had here, in one line that names the call; "" where it can.
  static std::string unavailable_reason();

 private:
  struct Probe;
  int tid_;
  std::vector<Probe> probes_;
  std::unique_ptr<std::byte[]> longest_;
  std::uint64_t lost_ = 0;
};

// Where a thread of the process is, sampled by the processor's time that it takes. Needs no rights beyond
// perf_event_paranoid 2.
class TimeSampler {
 public:
  // One sample each `period` of the thread's processor time. Throws Error{failed} where it cannot be had.
  TimeSampler(int tid, double period_s);
  ~TimeSampler();
  TimeSampler(const TimeSampler&) = delete;
  TimeSampler& operator=(const TimeSampler&) = delete;
  // Addresses of instructions, since the last time.
  std::vector<std::uint64_t> take();

 private:
  struct Ring;
  std::unique_ptr<Ring> ring_;
  std::unique_ptr<std::byte[]> longest_;
};

}  // namespace terrace::observe
