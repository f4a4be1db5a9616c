// Which threads ran in each phase of an iteration, and what a phase comes to for each of them: where several ran,
// its core time and exposures are shared evenly. The phase cannot have been shorter.
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/segment_name.hpp"
#include "observe/counts.hpp"

namespace terrace::observe {

class ThreadShares {
 public:
  void ran(std::uint32_t thread) { ran_.insert(thread); }
  void phase_ended(const std::string& name) {
    ran_in_[std::string(phase_of_segment(name))].merge(ran_);
    ran_.clear();
  }
  // A segment of a phase may be shorter than a quantum, so that of the threads which ran side by side one brought
  // nothing in it: the phase's threads count.
  void share(Iteration& iteration) {
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
  std::set<std::uint32_t> ran_;                                         // in this phase
  std::map<std::string, std::set<std::uint32_t>, std::less<>> ran_in_;  // by phase of this iteration, uncut
};

}  // namespace terrace::observe
