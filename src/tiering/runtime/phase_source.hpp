// SPDX-License-Identifier: Apache-2.0
// Selects the source of phase boundaries: the program's markers, functions that the user named, or detection in
// the program's calls and loops (loop_finder.hpp). The runtime asks it at each event. All sources yield the same
// three events: the main loop begins, a phase begins, the loop ends.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/runtime_parts.hpp"

namespace terrace::runtime {

// One or several events, which take effect in this order: the loop ends, a loop begins, a phase begins.
struct PhaseBoundary {
  bool ends_loop = false;
  std::string begins_loop;  // the loop's name; empty: none begins
  std::string why;          // reason for taking it as the main loop
  std::uint32_t iterations_before = 0;
  std::string phase;               // name of the phase that begins; empty: none
  bool by_time = false;            // the loop's iterations are intervals of time
  bool is_late = false;            // reported later than it happened: its time is not the present
  double work_share = 0;           // of the run so far, done in `iterations_before`; 0: unknown
  bool is_unsure = false;          // the loop may turn out to be nested in the main loop
  bool expects_iteration = false;  // nothing begins yet, but the next event may begin an iteration

  // Returns the loop that begins. Requires: it has a name.
  [[nodiscard]] observe::NewLoop loop() const {
    return {begins_loop, why, iterations_before, by_time, work_share};
  }
  [[nodiscard]] bool any() const { return ends_loop || !begins_loop.empty() || !phase.empty(); }
};

class PhaseSourceSelector {
 public:
  // `name_of`: returns the name of the function at an address; may be empty.
  PhaseSourceSelector(PhaseSpec spec, std::function<std::string(std::uint64_t)> name_of)
      : spec_(std::move(spec)), name_of_(std::move(name_of)), entered_(spec_.functions.size()) {}

  // Returns whether the program's own markers count.
  [[nodiscard]] bool uses_markers() const {
    return spec_.source == PhaseSource::markers || spec_.source == PhaseSource::either;
  }
  // Returns whether detected boundaries count.
  [[nodiscard]] bool uses_detection() const { return spec_.detects_loops(); }
  // Ignores detected boundaries from now on, because the program has called a marker. Returns true if that changes
  // the source.
  bool switch_to_explicit_markers() {
    if (spec_.source != PhaseSource::either) return false;
    spec_.source = PhaseSource::markers;
    return true;
  }
  // Returns what the entry of the function at that address means.
  [[nodiscard]] PhaseBoundary function_entered(std::uint64_t function, bool in_loop);
  // Returns the functions that the user named and that were not entered.
  [[nodiscard]] std::vector<std::string> functions_not_entered() const;

 private:
  [[nodiscard]] PhaseBoundary boundary_at(std::uint64_t function, bool in_loop);
  [[nodiscard]] std::string name_of(std::uint64_t function) const {
    return name_of_ ? name_of_(function) : std::string();
  }

  PhaseSpec spec_;
  std::function<std::string(std::uint64_t)> name_of_;
  std::vector<bool> entered_;  // by function that the user named
};

}  // namespace terrace::runtime
