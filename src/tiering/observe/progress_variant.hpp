// How far a phase has come: what segments of phases are cut by, and what plans with segments count in. Each way is
// one file in progress/; the build makes the table of them (cmake/Variants.cmake).
//
// A profile cuts phases by what can be counted; how a plan's segments begin is another question. A real program
// that nobody listens to delivers no counts, but the time goes on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "observe/tally.hpp"

namespace terrace::observe {

// What a plan's segment begins by.
enum class SegmentStart : std::uint8_t {
  count,  // the phase has come so far
  time,   // its phase's share of time before it has passed since the phase's marker
  touch   // a chunk that nobody touches earlier in its phase is touched; by time where there is none
};

class ProgressVariant {
 public:
  virtual ~ProgressVariant() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // By how much the quantum brings the phase on. It must not depend on where data resides.
  [[nodiscard]] virtual std::uint64_t progress_of(const Quantum& quantum) const = 0;
  // What that is a number of.
  [[nodiscard]] virtual std::string_view unit() const { return "accesses"; }
  [[nodiscard]] virtual SegmentStart segment_start() const { return SegmentStart::count; }
  // What a run on real memory lacks to follow plans by it, in words; empty: nothing.
  [[nodiscard]] virtual std::string unavailable_reason() const {
    return "a run on real memory hears nothing of accesses while it obeys a plan";
  }
};

inline constexpr std::string_view k_default_progress = "accesses";  // in virtual time

const std::vector<const ProgressVariant*>& progresses();
// Throws Error{invalid} with the list of names where there is none.
const ProgressVariant& find_progress(std::string_view name);
// On real memory: by sentinels where this system lets pages be watched, else by time.
const ProgressVariant& default_real_progress();

}  // namespace terrace::observe
