// A collector fills the profile: it hears of every quantum while it is active, and of the phases and iterations in
// which they fall. What it writes down about them is its own affair; the bookkeeping is the same for all and is
// here.
#pragma once

#include <string_view>

#include "observe/counts.hpp"
#include "observe/object.hpp"
#include "observe/tally.hpp"

namespace terrace::observe {

class Collector : public TallySink {
 public:
  // Another main loop: what was seen of the one before says nothing of it.
  virtual void loop_begun() {}
  // Whether what was seen of this loop suffices to plan by it. Who is not heard of every access may need more than
  // an iteration.
  [[nodiscard]] virtual bool has_enough_data() const { return true; }
  // An iteration begins: phases are numbered from 0 again. What was not taken of the one before is dropped.
  void begin_iteration(std::uint32_t number);
  void begin_phase(std::string_view name);
  // The phase is over; it took `time` by the clock of the run. Does nothing when no phase was begun.
  void end_phase(Seconds time);
  // Two neighbours among the phases that have ended become one under the first one's name, which is the one
  // `from_end` before the last: what was counted and how long it took add up.
  void merge(std::size_t from_end);
  // The phase that ended last; null where the iteration has none. Or all since this last was one, where a
  // collector knows only now what happened; null until it does.
  [[nodiscard]] virtual const Phase* last_phase() const {
    return iteration_.phases.empty() ? nullptr : &iteration_.phases.back();
  }
  // The phases since begin_iteration.
  Iteration take_iteration();
  // What an instruction takes from now on.
  virtual void set_instruction_time(Seconds time) = 0;
  // What it has taken of the program since this was last asked (sampling_overhead.hpp); the caller charges it.
  [[nodiscard]] virtual Seconds take_cost() { return {}; }
  // Returns whether it can take fewer samples.
  [[nodiscard]] virtual bool can_thin() const { return false; }
  // Takes one sample, from now on, for `factor` that it takes otherwise; at least 1. Its cost falls alike.
  virtual void set_thinning(double factor) { static_cast<void>(factor); }
  // An inactive collector hears nothing and costs nothing.
  void set_active(bool active) { active_ = active; }
  [[nodiscard]] bool active() const { return active_; }

  void on_tally(const Quantum& quantum, const Tally& tally) final {
    if (is_counting()) count(quantum, tally);
  }

 protected:
  [[nodiscard]] bool is_counting() const { return active_ && in_phase_; }
  virtual void count(const Quantum& quantum, const Tally& tally) = 0;
  // Writes what was counted since the last call into the phase, and forgets it.
  virtual void finish(Phase& phase) = 0;
  // Those that have ended, and the one for which `finish` is called.
  [[nodiscard]] std::vector<Phase>& phases() { return iteration_.phases; }
  // The iteration's phases are all there.
  virtual void complete_iteration(Iteration& iteration) { static_cast<void>(iteration); }

 private:
  Iteration iteration_;
  bool active_ = true;
  bool in_phase_ = false;
};

}  // namespace terrace::observe
