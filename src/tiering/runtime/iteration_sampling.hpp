// SPDX-License-Identifier: Apache-2.0
// Selects the iterations of the main loop that are observed when not all are (`terrace record --every`). Program
// asks it at each phase.
//
// Observed are the first two (the first one finds the caches cold), then one of every N at a pseudo-random
// position. The others count as the last observed one, phase by phase (skipped_iteration_estimate.hpp). A fixed
// distance would alias with periodic behaviour, such as two buffers that swap roles in every iteration.
//
// A phase (identified by name and position in the iteration) that was never observed ends the pause at once, and
// the next iteration is observed whole: the program has begun to do something else. Partially observed iterations
// do not count as samples. Not thread-safe.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "runtime/phase_tracker.hpp"

namespace terrace::runtime {

class IterationSampling {
 public:
  explicit IterationSampling(std::uint32_t every) : every_(every) {}

  void begin_loop() {
    known_phases_.clear();
    iterations_ = 0;
    forced_iteration_ = 0;
  }
  void end_loop() { is_observing_ = true; }
  // Observes every iteration while `all`: the loop may yet prove to be a part of the main loop.
  void set_observe_all(bool all) { observe_all_ = all; }
  // Returns whether the phase that begins is observed.
  bool on_phase(const PhaseTracker& tracker) {
    if (tracker.begins_iteration()) {
      is_observing_ = is_observed(tracker.iteration());
      if (is_observing_) ++iterations_;
    }
    if (is_sampling() && known_phases_.emplace(tracker.index(), tracker.phase()).second && !is_observing_) {
      is_observing_ = true;
      forced_iteration_ = tracker.iteration() + 1;
    }
    return is_phase_observed_ = is_observing_;
  }
  // Stops sampling: every iteration is observed from now on.
  void stop_sampling() {
    every_ = 1;
    is_observing_ = true;
  }

  // Returns whether that iteration will be observed, as far as is known before it begins.
  [[nodiscard]] bool is_observed(std::uint32_t iteration) const {
    if (observe_all_ || iteration < 2 || iteration == forced_iteration_) return true;
    return (iteration - 2) % every_ == drawn((iteration - 2) / every_) % every_;
  }
  [[nodiscard]] bool is_sampling() const { return every_ > 1; }
  [[nodiscard]] bool is_observing() const { return is_observing_; }
  // Returns whether this phase is observed from its first access on.
  [[nodiscard]] bool is_phase_observed() const { return is_phase_observed_; }
  // Returns the number of iterations of this loop that were observed whole.
  [[nodiscard]] std::uint32_t num_observed() const { return iterations_; }

 private:
  // Returns a pseudo-random number that is the same in every run: the finaliser of splitmix64 (Steele, Lea and
  // Flood, OOPSLA 2014; constants by Stafford).
  [[nodiscard]] static std::uint64_t drawn(std::uint64_t group) {
    group = (group + 1) * 0x9E3779B97F4A7C15U;
    group = (group ^ (group >> 30U)) * 0xBF58476D1CE4E5B9U;
    group = (group ^ (group >> 27U)) * 0x94D049BB133111EBU;
    return group ^ (group >> 31U);
  }

  std::uint32_t every_;
  std::set<std::pair<PhaseIndex, std::string>> known_phases_;
  std::uint32_t forced_iteration_ = 0;  // observed whatever its number
  std::uint32_t iterations_ = 0;
  bool observe_all_ = false;
  bool is_observing_ = true;
  bool is_phase_observed_ = true;
};

}  // namespace terrace::runtime
