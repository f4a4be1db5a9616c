// SPDX-License-Identifier: Apache-2.0
// Divides the core time and the exposures of a phase by the number of threads that ran in it, for collectors at
// the end of an iteration: the phase cannot have been shorter than its mean thread.
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/segment_name.hpp"
#include "observe/counts.hpp"

namespace terrace::observe {

class ThreadShares {
 public:
  void add_thread(std::uint32_t thread) { ran_.insert(thread); }
  void on_phase_end(const std::string& name) {
    ran_in_[std::string(phase_of_segment(name))].merge(ran_);
    ran_.clear();
  }
  // Divides the phases of an iteration. Segments of a phase count all threads of the phase: a segment may be
  // shorter than a quantum, so that a thread which ran concurrently delivered none in it.
  void divide(Iteration& iteration) {
    for (auto& phase : iteration.phases) {
      const auto ran = ran_in_.find(phase_of_segment(phase.name));
      if (ran == ran_in_.end() || ran->second.size() < 2) continue;
      const auto threads = static_cast<double>(ran->second.size());
      phase.core = {phase.core.value / threads};
      for (auto& cell : phase.cells) {
        cell.exposure /= threads;
        cell.streamed_exposure /= threads;
      }
    }
    ran_in_.clear();
  }

 private:
  std::set<std::uint32_t> ran_;  // in this phase
  std::map<std::string, std::set<std::uint32_t>, std::less<>>
      ran_in_;  // by phase of this iteration, without segments
};

}  // namespace terrace::observe
