// Calls of a program's functions, as the kernel sees them: a probe on each function's entry (uprobes), for one
// thread. The kernel puts a breakpoint into the function and steps over it, whatever signals the program blocks.
// Needs the right to trace (root, or CAP_PERFMON).
//
// The breakpoint is there for all threads of the process, and each of their calls costs some microseconds, whoever
// hears of them: who probes has to know how often all of them call. Returns are not probed: the kernel would
// change return addresses, and exceptions and coroutines could not find their way any more.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace terrace::observe {

struct ProbedFunction {
  std::string file;          // that the code is in
  std::uint64_t offset = 0;  // of its first instruction, in the file
};

struct ProbeEvent {
  std::uint64_t time_ns = 0;   // CLOCK_MONOTONIC
  std::uint32_t function = 0;  // position in what was probed
};

class FunctionProbes {
 public:
  // Throws Error{failed} where one cannot be had.
  FunctionProbes(std::span<const ProbedFunction> functions, int tid);
  ~FunctionProbes();
  FunctionProbes(const FunctionProbes&) = delete;
  FunctionProbes& operator=(const FunctionProbes&) = delete;

  // Those since the last time, in the order in which they happened. At most some hundred of a function are kept
  // between two calls; more are lost.
  std::vector<ProbeEvent> take();
  // The function has no probes any more.
  void drop(std::uint32_t function);
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

  // Why it cannot be had here, in one line that names the file or call; "" where it can.
  static std::string lacks();

 private:
  struct Probe;
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
