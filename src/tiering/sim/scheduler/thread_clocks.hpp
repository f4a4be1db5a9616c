// Threads on a machine whose time is made: each has a clock of its own, and where one waits for another its clock
// takes the later time. Who runs, and in which order, is not decided here (sim/scheduler/scheduler.hpp); what
// happened is said here, in that order, to every configuration.
//
// Threads are known by their number, 0 for the main thread. Everything that a thread did before must have been
// priced when it is named here: its quantum is ended first.
#pragma once

#include <cstdint>
#include <span>

namespace terrace::sim {

class ThreadClocks {
 public:
  virtual ~ThreadClocks() = default;
  // From now on this thread runs: Clock::now is its clock, and it is who waits and is charged.
  virtual void runs(std::uint32_t thread) = 0;
  // How many threads there are that have begun and not ended.
  virtual void alive(std::uint32_t threads) = 0;
  // `thread` goes on, or begins, no earlier than where `other` is now.
  virtual void follow(std::uint32_t thread, std::uint32_t other) = 0;
  // They have waited for one another: all take the latest of their clocks.
  virtual void meet(std::span<const std::uint32_t> threads) = 0;
  // The running thread lets go of a lock (known by any number that stands for it); who takes hold of it later
  // goes on no earlier.
  virtual void release(std::uint64_t lock) = 0;
  virtual void acquire(std::uint64_t lock) = 0;
};

}  // namespace terrace::sim
