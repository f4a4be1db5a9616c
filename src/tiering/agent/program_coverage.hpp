// SPDX-License-Identifier: Apache-2.0
// Measures how much of the process the instrumentation covers: of its time, by sampling the code that its threads
// run; of its heap, by pages that were touched but never reported. The agent's state (start.cpp) owns one in
// simulations; it costs no virtual time. Thread-safe.
#pragma once

#include <vector>

#include "observe/coverage/code_map.hpp"
#include "observe/coverage/heap_coverage.hpp"
#include "observe/coverage/time_samples.hpp"
#include "observe/objects/spin_lock.hpp"
#include "observe/program_events.hpp"
#include "profile/records.hpp"

namespace terrace::agent {

class ProgramCoverage final : public observe::ProgramEvents {
 public:
  ProgramCoverage();

  // Start and stop sampling of the calling thread.
  void begin_thread() noexcept;
  void end_thread() noexcept;
  // Returns the code map, which the caller updates with the loaded files.
  [[nodiscard]] observe::CodeMap& code() { return code_; }
  // Returns the sink that must receive the program's misses.
  [[nodiscard]] observe::TallySink& sink() { return heap_; }

  void on_object_added(const observe::NewObject& added) override {
    heap_.on_object_added(*added.object, added.chunks_address);
  }
  void on_object_removed(ObjectId object) override { heap_.on_object_removed(object); }
  void on_loop_begin(const observe::NewLoop&) override { set_in_loop(true); }
  void on_loop_ending() override { set_in_loop(false); }
  // Sets whether the program's accesses are reported at present.
  void set_observed(bool observed) { heap_.set_observed(observed); }
  // Returns the coverage so far.
  profile::CoverageRecord so_far();

 private:
  void set_in_loop(bool in_loop);
  void drain_samples() noexcept;

  observe::CodeMap code_;
  observe::SpinLock lock_;  // guards the members below
  std::vector<observe::TimeSamples*> threads_;
  std::uint64_t owed_ns_ = 0;  // time of ended threads that is shorter than a sample period
  int refused_ = 0;            // errno if the system refused to sample
  bool sampled_ = false;
  bool filtered_;  // whether system calls were filtered at the start
  observe::HeapCoverage heap_;
};

}  // namespace terrace::agent
