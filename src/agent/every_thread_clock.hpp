// The clocks of the program's threads in all configurations of a run.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "sim/scheduler/thread_clocks.hpp"

namespace terrace::agent {

// What happens between threads happens in every configuration.
class EveryThreadClock final : public sim::ThreadClocks {
 public:
  explicit EveryThreadClock(std::mutex& mutex) : mutex_(mutex) {}
  void add(sim::ThreadClocks& configuration) { configurations_.push_back(&configuration); }
  void runs(std::uint32_t thread) override {
    in_each([=](auto& configuration) { configuration.runs(thread); });
  }
  void alive(std::uint32_t threads) override {
    in_each([=](auto& configuration) { configuration.alive(threads); });
  }
  void follow(std::uint32_t thread, std::uint32_t other) override {
    in_each([=](auto& configuration) { configuration.follow(thread, other); });
  }
  void meet(std::span<const std::uint32_t> threads) override {
    in_each([=](auto& configuration) { configuration.meet(threads); });
  }
  void release(std::uint64_t lock) override {
    in_each([=](auto& configuration) { configuration.release(lock); });
  }
  void acquire(std::uint64_t lock) override {
    in_each([=](auto& configuration) { configuration.acquire(lock); });
  }

 private:
  template <class Work>
  void in_each(Work work) {
    const std::lock_guard lock(mutex_);
    for (auto* const configuration : configurations_) work(*configuration);
  }
  std::mutex& mutex_;
  std::vector<sim::ThreadClocks*> configurations_;
};

}  // namespace terrace::agent
