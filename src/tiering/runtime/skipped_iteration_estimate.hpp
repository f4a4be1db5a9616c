// SPDX-License-Identifier: Apache-2.0
// Estimates the counters and the time of phases in iterations that were not observed (iteration_sampling.hpp).
// Configuration owns one.
//
// A skipped phase counts as its last observed instance: the phase of the same name at the same position in the
// iteration. Its time is added to the configuration's clock. Not thread-safe: one instance for each configuration.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "runtime/phase_tracker.hpp"
#include "runtime/runtime_parts.hpp"

namespace terrace::runtime {

class SkippedIterationEstimate {
 public:
  explicit SkippedIterationEstimate(const ConfigurationParts& parts) : parts_(parts) {}

  void begin_loop() { measured_.clear(); }
  void begin_observed_phase() { before_ = so_far(); }
  // Stores what the observed phase took as the estimate of its skipped instances.
  void end_observed_phase(const PhaseTracker& tracker);
  // Adds the estimate of the current phase, which ends unobserved or becomes observed now. A phase that was never
  // observed adds nothing.
  void add_skipped_phase(const PhaseTracker& tracker);
  // Returns the counters so far, estimates included.
  [[nodiscard]] CounterTotals totals() const;

 private:
  [[nodiscard]] CounterTotals so_far() const { return parts_.totals ? parts_.totals() : CounterTotals{}; }

  const ConfigurationParts& parts_;
  std::map<std::pair<PhaseIndex, std::string>, CounterTotals> measured_;  // last observed instance of each phase
  CounterTotals before_;                                                  // counters when the observed phase began
  CounterTotals skipped_;                                                 // sum of the estimates added so far
};

}  // namespace terrace::runtime
