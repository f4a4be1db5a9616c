// Which iterations of the main loop are observed where not all are: the first two (the first one finds the caches
// cold), then one of every N, drawn. The others count as the last one that was observed, phase by phase. A fixed
// distance would see one half only of iterations that take turns, as with two buffers that change places.
//
// So a phase whose like (its name, its position in the iteration) was never observed ends the pause at once, and
// the next iteration is observed whole: the program has begun to do something else. An iteration of which only the
// end was observed is none of those that were.
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
    known_.clear();
    iterations_ = 0;
    whole_ = 0;
  }
  void end_loop() { now_ = true; }
  // Until further notice every iteration is observed: it is not sure yet that this is the main loop.
  void hold(bool held) { held_ = held; }
  // A phase begins: is it observed?
  bool phase(const PhaseTracker& tracker, bool begins_iteration) {
    if (begins_iteration) {
      now_ = wanted(tracker.iteration());
      if (now_) ++iterations_;
    }
    if (samples() && known_.emplace(tracker.index(), tracker.phase()).second && !now_) {
      now_ = true;
      whole_ = tracker.iteration() + 1;
    }
    return now_;
  }
  // From here on nothing is left out.
  void everything() {
    every_ = 1;
    now_ = true;
  }

  // Returns whether that iteration is observed, as far as is known before it begins.
  [[nodiscard]] bool wanted(std::uint32_t iteration) const {
    if (held_ || iteration < 2 || iteration == whole_) return true;
    return (iteration - 2) % every_ == drawn((iteration - 2) / every_) % every_;
  }
  [[nodiscard]] bool samples() const { return every_ > 1; }
  [[nodiscard]] bool now() const { return now_; }
  // Of this loop, observed whole.
  [[nodiscard]] std::uint32_t iterations() const { return iterations_; }

 private:
  // The same in every run. The finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014; constants by
  // Stafford).
  [[nodiscard]] static std::uint64_t drawn(std::uint64_t group) {
    group = (group + 1) * 0x9E3779B97F4A7C15U;
    group = (group ^ (group >> 30U)) * 0xBF58476D1CE4E5B9U;
    group = (group ^ (group >> 27U)) * 0x94D049BB133111EBU;
    return group ^ (group >> 31U);
  }

  std::uint32_t every_;
  std::set<std::pair<PhaseIndex, std::string>> known_;
  std::uint32_t whole_ = 0;  // an iteration that is observed whatever its number
  std::uint32_t iterations_ = 0;
  bool held_ = false;
  bool now_ = true;
};

}  // namespace terrace::runtime
