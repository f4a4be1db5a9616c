// SPDX-License-Identifier: Apache-2.0
// Replays a trace on an allocator of PIM devices and compares the outcomes with the recorded ones. Called by the
// Python module for `terrace lab pim`.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <unordered_map>
#include <vector>

#include "pim/trace/trace.hpp"

namespace terrace::pim {

inline constexpr std::size_t k_max_differences = 100;

struct LiveBlock {
  Handle handle;
  Block block;
  Dim dim = Dim::horizontal;
};

// An allocation whose outcome differs from the recorded one.
struct Difference {
  std::uint32_t line = 0;
  std::uint64_t id = 0;
  Outcome recorded, replayed;
};

struct ReplaySummary {
  std::size_t operations = 0;  // executed: each allocation (also those of groups) and each release
  std::uint64_t allocations = 0;
  std::uint64_t releases = 0;
  std::uint64_t failures = 0;                         // failed allocations: no space, or larger than this device
  std::array<std::uint64_t, 2> used{};                // units, by Dim
  std::uint64_t peak = 0;                             // maximum of units in use; at the first such moment
  std::size_t peak_operations = 0;                    // operations executed by then
  std::uint64_t compared = 0;                         // allocations with a recorded outcome
  std::uint64_t differ = 0;                           // of those, how many differ
  std::vector<Difference> differences;                // the first k_max_differences
  std::unordered_map<std::uint64_t, LiveBlock> live;  // by the trace's ids

  [[nodiscard]] std::uint64_t in_use() const { return used[0] + used[1]; }
};

// Called after each operation; for a group once, after its last allocation.
using Watch = std::function<void(const ReplaySummary& so_far)>;

// Replays at most `most` operations; groups are not split. The allocator's device may differ from the trace's:
// requests beyond it fail. Releases of failed allocations are counted and ignored; allocations beside one fail,
// too.
ReplaySummary replay(const Trace& trace, Allocator& allocator, const Watch& watch = {},
                     std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace terrace::pim
