// SPDX-License-Identifier: Apache-2.0
// Defines measures of a phase's progress, named by `--progress`: they divide phases into segments, and plans give
// the begin of a segment in them. Each is one file in progress/; the build generates the table of them
// (cmake/Variants.cmake).
//
// A profile divides phases by a count. The segments of a plan may begin by another criterion: uninstrumented runs
// have no access counts, so there segments begin by time or by the first touch of a chunk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "observe/tally.hpp"

namespace terrace::observe {

// The event at which a plan's segment begins.
enum class SegmentStart : std::uint8_t {
  count,  // the phase has reached a count
  time,   // its start time, as a share of the phase's time, has passed since the phase's marker
  touch   // the first touch of a chunk that the phase does not touch before; by time where there is none
};

class ProgressVariant {
 public:
  virtual ~ProgressVariant() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Returns the progress of a phase in a quantum. Requires: it does not depend on where data resides.
  [[nodiscard]] virtual std::uint64_t progress_of(const Quantum& quantum) const = 0;
  // Returns the unit of progress.
  [[nodiscard]] virtual std::string_view unit() const { return "accesses"; }
  [[nodiscard]] virtual SegmentStart segment_start() const { return SegmentStart::count; }
  // Returns why runs on real memory cannot follow plans by this measure; "" where they can.
  [[nodiscard]] virtual std::string unavailable_reason() const {
    return "a run on real memory counts no accesses while it follows a plan";
  }
};

inline constexpr std::string_view k_default_progress = "accesses";  // in virtual time

const std::vector<const ProgressVariant*>& progresses();
// Throws Error{invalid} with the list of names where there is none.
const ProgressVariant& find_progress(std::string_view name);
// Returns the default on real memory: sentinels where userfaultfd is available, else time.
const ProgressVariant& default_real_progress();

}  // namespace terrace::observe
