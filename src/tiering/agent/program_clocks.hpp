// SPDX-License-Identifier: Apache-2.0
// Forwards clock operations to all configurations of a run, which price the same program with different machines.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "core/clock.hpp"
#include "observe/pipeline/pipeline.hpp"
#include "observe/threads/thread.hpp"
#include "sim/recording/write/recording_writer.hpp"
#include "sim/scheduler/scheduler.hpp"
#include "sim/scheduler/thread_clocks.hpp"

namespace terrace::agent {

// Forwards synchronisation between threads to every configuration.
class BroadcastThreadClocks final : public sim::ThreadClocks {
 public:
  explicit BroadcastThreadClocks(std::mutex& mutex) : mutex_(mutex) {}
  void add(sim::ThreadClocks& configuration) { configurations_.push_back(&configuration); }
  void set_running(std::uint32_t thread) override {
    in_each([=](auto& configuration) { configuration.set_running(thread); });
  }
  void set_num_alive(std::uint32_t threads) override {
    in_each([=](auto& configuration) { configuration.set_num_alive(threads); });
  }
  void advance_to(std::uint32_t thread, std::uint32_t other) override {
    in_each([=](auto& configuration) { configuration.advance_to(thread, other); });
  }
  void synchronize(std::span<const std::uint32_t> threads) override {
    in_each([=](auto& configuration) { configuration.synchronize(threads); });
  }
  void on_unlock(std::uint64_t lock) override {
    in_each([=](auto& configuration) { configuration.on_unlock(lock); });
  }
  void on_lock(std::uint64_t lock) override {
    in_each([=](auto& configuration) { configuration.on_lock(lock); });
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

// Charges time that the program spends by itself, asleep, in every configuration.
class ProgramClock final : public Clock {
 public:
  explicit ProgramClock(std::mutex& mutex) : mutex_(mutex) {}
  void add(Clock& configuration) { configurations_.push_back(&configuration); }
  void report_to(sim::Scheduler& scheduler) { scheduler_ = &scheduler; }
  Seconds now() override {
    const std::lock_guard lock(mutex_);
    return configurations_.front()->now();
  }
  void charge(Seconds cost) override {
    // Earlier accesses are charged first.
    if (auto* const pipeline = observe::t_thread.pipeline) pipeline->flush();
    const std::lock_guard lock(mutex_);
    for (auto* const configuration : configurations_) configuration->charge(cost);
    if (recorder_) recorder_->slept(cost);
    if (scheduler_) scheduler_->advance(observe::t_thread.number, static_cast<std::uint64_t>(cost.value * 1e9));
  }
  void record_to(sim::RecordingWriter* recorder) { recorder_ = recorder; }

 private:
  std::mutex& mutex_;
  std::vector<Clock*> configurations_;
  observe::ProgramEvents* recorder_ = nullptr;
  sim::Scheduler* scheduler_ = nullptr;
};

}  // namespace terrace::agent
