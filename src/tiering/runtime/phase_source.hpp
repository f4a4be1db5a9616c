// What begins phases: the program's own markers, the functions that the user named, or what is found in its calls
// and loops (loop_finder.hpp). Whatever it is, what comes out is the same: the main loop begins, a phase begins,
// the loop ends.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/runtime_parts.hpp"

namespace terrace::runtime {

// In this order: the loop ends, a loop begins, a phase begins.
struct Boundary {
  bool ends_loop = false;
  std::string begins_loop;  // its name; empty: none begins
  std::string why;          // it is taken for the main loop
  std::uint32_t turns_before = 0;
  std::string phase;               // the name of one that begins; empty: none
  bool by_time = false;            // the loop's iterations are intervals of time
  bool is_late = false;            // it was a while ago: what ends and begins here did so at another time
  double work_share = 0;           // of the run so far, that these turns did; 0: unknown
  bool is_unsure = false;          // the loop may turn out to be a part of the main loop
  bool expects_iteration = false;  // nothing begins yet, but the next event may begin an iteration

  [[nodiscard]] bool any() const { return ends_loop || !begins_loop.empty() || !phase.empty(); }
};

class PhaseSources {
 public:
  // `name_of`: a function's, by its address; may be empty.
  PhaseSources(PhaseSpec spec, std::function<std::string(std::uint64_t)> name_of)
      : spec_(std::move(spec)), name_of_(std::move(name_of)), entered_(spec_.functions.size()) {}

  // Whether the program's own markers count.
  [[nodiscard]] bool by_markers() const {
    return spec_.source == PhaseSource::markers || spec_.source == PhaseSource::either;
  }
  // Whether what is found counts.
  [[nodiscard]] bool by_finding() const { return spec_.follows_loops(); }
  // The program has marked something itself. True the first time that it changes what counts.
  bool mark() {
    if (spec_.source != PhaseSource::either) return false;
    spec_.source = PhaseSource::markers;
    return true;
  }
  // What the entry of the function at that address means.
  [[nodiscard]] Boundary function_entered(std::uint64_t function, bool in_loop);
  // Of the functions that the user named, those that were not entered.
  [[nodiscard]] std::vector<std::string> missing() const;

 private:
  [[nodiscard]] Boundary named(std::uint64_t function, bool in_loop);
  [[nodiscard]] std::string name_of(std::uint64_t function) const {
    return name_of_ ? name_of_(function) : std::string();
  }

  PhaseSpec spec_;
  std::function<std::string(std::uint64_t)> name_of_;
  std::vector<bool> entered_;  // by function that the user named
};

}  // namespace terrace::runtime
