// SPDX-License-Identifier: Apache-2.0
// Implements the clock of a program that runs in several configurations, which price it with different machines.
#pragma once

#include <mutex>
#include <vector>

#include "core/clock.hpp"
#include "observe/pipeline/pipeline.hpp"
#include "observe/threads/thread.hpp"
#include "sim/recording/write/recording_writer.hpp"
#include "sim/scheduler/scheduler.hpp"

namespace terrace::agent {

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
    if (recorder_) recorder_->on_sleep(cost);
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
