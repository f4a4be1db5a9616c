// SPDX-License-Identifier: Apache-2.0
// Asks an allocator what a trace says, in its order, and compares what comes of it with what was written down.
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

// An allocation that came out otherwise than written down.
struct Difference {
  std::uint32_t line = 0;
  std::uint64_t id = 0;
  Outcome recorded, replayed;
};

struct ReplaySummary {
  std::size_t operations = 0;  // done: each allocation, those of groups too, and each release
  std::uint64_t allocations = 0;
  std::uint64_t releases = 0;
  std::uint64_t failures = 0;           // allocations for which there was no room, or that this device cannot hold
  std::array<std::uint64_t, 2> used{};  // units, by Dim
  std::uint64_t peak = 0;               // units in use at the fullest moment, the first of those
  std::size_t peak_operations = 0;      // done by then
  std::uint64_t compared = 0;           // allocations with an outcome in the trace
  std::uint64_t differ = 0;             // of those
  std::vector<Difference> differences;  // the first k_max_differences
  std::unordered_map<std::uint64_t, LiveBlock> live;  // by the trace's numbers

  [[nodiscard]] std::uint64_t in_use() const { return used[0] + used[1]; }
};

// Called after each operation; of a group once, after the last of its allocations.
using Watch = std::function<void(const ReplaySummary& so_far)>;

// Stops as soon as `most` operations are done; a group is one piece. The allocator's device may be another than
// the trace's: what is beyond it finds no room. A release of what found none is counted and does nothing; an
// allocation beside one finds none either.
ReplaySummary replay(const Trace& trace, Allocator& allocator, const Watch& watch = {},
                     std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace terrace::pim
