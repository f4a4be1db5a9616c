// SPDX-License-Identifier: Apache-2.0
// Records one thread's calls of functions by hardware breakpoints, for the detection of phases in uninstrumented
// programs (agent/function_entry_monitor.hpp): an execution breakpoint on each function's entry
// (perf_event_open(2), PERF_TYPE_BREAKPOINT), without signals. Works with perf_event_paranoid 2, does not modify
// the program's memory, and calls by other threads cost nothing.
//
// A processor has few breakpoints, some of which debuggers may use: four of x86, two to sixteen of Arm. Each call
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
  std::uint32_t function = 0;  // the number passed to add()
};

class FunctionProbes {
 public:
  explicit FunctionProbes(int tid);
  ~FunctionProbes();
  FunctionProbes(const FunctionProbes&) = delete;
  FunctionProbes& operator=(const FunctionProbes&) = delete;

  // Sets a breakpoint on the function at the address. Returns false where the processor has no breakpoint left, or
  // the thread has ended.
  bool add(std::uint32_t function, std::uint64_t address);
  // Returns the calls since the last read, in time order. The kernel buffers some hundred calls of each function;
  // more are lost.
  std::vector<ProbeEvent> read_events();
  // Removes the function's breakpoint. Returns false where it had none.
  bool remove(std::uint32_t function);
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

  // Returns whether an armed breakpoint slows other code in the same 64 bytes on this processor, as on AMD EPYC
  // (10 to 25 times). Measured once, in less than a millisecond; false where breakpoints are unavailable.
  // Thread-safe.
  static bool slows_nearby_code();
  // Returns why breakpoints are unavailable, in one line that names the call; "" where they are available.
  static std::string unavailable_reason();

 private:
  struct Probe;
  int tid_;
  std::vector<Probe> probes_;
  std::unique_ptr<std::byte[]> record_buffer_;
  std::uint64_t lost_ = 0;
};

// Samples the instruction pointer of a thread of the process by its processor time. Works with perf_event_paranoid
// 2.
class TimeSampler {
 public:
  // Takes a sample each `period_s` seconds of the thread's processor time. Throws Error{failed} where the kernel
  // refuses.
  TimeSampler(int tid, double period_s);
  ~TimeSampler();
  TimeSampler(const TimeSampler&) = delete;
  TimeSampler& operator=(const TimeSampler&) = delete;
  // Returns the sampled instruction addresses since the last read.
  std::vector<std::uint64_t> read_samples();

 private:
  struct Ring;
  std::unique_ptr<Ring> ring_;
  std::unique_ptr<std::byte[]> record_buffer_;
};

}  // namespace terrace::observe
