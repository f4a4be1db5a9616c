// SPDX-License-Identifier: Apache-2.0
// Declares the base class of the collectors, which fill profiles from quanta (batches of one thread's accesses).
// It tracks the phases and iterations in which the quanta fall; derived classes count. Not thread-safe: the
// runtime serialises the calls.
#pragma once

#include <string_view>

#include "observe/counts.hpp"
#include "observe/object.hpp"
#include "observe/tally.hpp"

namespace terrace::observe {

class Collector : public TallySink {
 public:
  // A new main loop begins: drops what was learned from the one before.
  virtual void on_loop_begin() {}
  // Returns whether the data of this loop suffice for a plan. A collector that samples may need more than an
  // iteration.
  [[nodiscard]] virtual bool has_enough_data() const { return true; }
  // Begins an iteration. Drops the phases of the one before unless take_iteration() took them.
  void begin_iteration(std::uint32_t number);
  void begin_phase(std::string_view name);
  // Ends the phase, which took `time` by the clock of the run. Has no effect when no phase was begun.
  void end_phase(Seconds time);
  // Merges two successive ended phases: adds the second to the first, which is `from_end` before the last one.
  void merge(std::size_t from_end);
  // Returns the phase that ended last; null where the iteration has none. A collector whose results are delayed
  // returns the sum of all phases since the last non-null result, and null until it is available.
  [[nodiscard]] virtual const Phase* last_phase() const {
    return iteration_.phases.empty() ? nullptr : &iteration_.phases.back();
  }
  // Returns the phases since begin_iteration.
  Iteration take_iteration();
  // Sets the time of an instruction from now on.
  virtual void set_instruction_time(Seconds time) = 0;
  // Returns the collector's cost since the last call (sampling_overhead.hpp); the caller charges it to the
  // program.
  [[nodiscard]] virtual Seconds take_cost() { return {}; }
  // Returns whether it can take fewer samples.
  [[nodiscard]] virtual bool can_thin() const { return false; }
  // Divides the sampling rate by `factor`, at least 1. The cost falls in proportion.
  virtual void set_thinning(double factor) { static_cast<void>(factor); }
  // An inactive collector counts nothing and costs nothing.
  void set_active(bool active) { active_ = active; }
  [[nodiscard]] bool active() const { return active_; }

  void on_tally(const Quantum& quantum, const Tally& tally) final {
    if (is_counting()) count(quantum, tally);
  }

 protected:
  [[nodiscard]] bool is_counting() const { return active_ && in_phase_; }
  virtual void count(const Quantum& quantum, const Tally& tally) = 0;
  // Moves the counts since the last call into the phase.
  virtual void finish(Phase& phase) = 0;
  // Returns the ended phases, and the one for which `finish` is called.
  [[nodiscard]] std::vector<Phase>& phases() { return iteration_.phases; }
  // Completes an iteration with all its phases, before take_iteration() returns it.
  virtual void complete_iteration(Iteration& iteration) { static_cast<void>(iteration); }

 private:
  Iteration iteration_;
  bool active_ = true;
  bool in_phase_ = false;
};

}  // namespace terrace::observe
