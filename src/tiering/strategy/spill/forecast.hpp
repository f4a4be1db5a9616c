// SPDX-License-Identifier: Apache-2.0
// Forecasts the time that a thread takes for its next accesses to out-of-core data, for BeladyPolicy. Simulates,
// in simplified form, the rules by which chunks are fetched and evicted (belady_policy.hpp,
// transfer/spill/spill.hpp): the chunk used last is evicted; the chunk used soonest is prefetched, up to k_depth
// chunks ahead; the disk serves one chunk after the other, concurrently with the threads' work.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/identifiers.hpp"
#include "transfer/spill/replacement_policy.hpp"

namespace terrace::strategy {

inline constexpr std::size_t k_depth = 8;  // max chunks prefetched before they are touched
inline constexpr std::uint32_t k_sentinel_spacing =
    8;  // expected touches of mapped chunks from one sentinel to the next

// A touch, in the order in which touches are expected. Thread 0 is the one that the forecast is for.
struct ExpectedTouch {
  ChunkId chunk = 0;
  std::uint32_t thread = 0;
  double work = 0;  // of its thread before the touch, in seconds
};

// The state of memory and disk when the forecast is made.
struct SpillState {
  std::size_t room = 0;       // max chunks in memory
  std::size_t present = 0;    // chunks in memory
  std::size_t under_way = 0;  // reads and writes in flight
  std::size_t kept = 0;       // free pages reserved beyond `room`, so that a fetch need not wait for a write
  double chunk_s = 0;         // disk time of a chunk, read or written
  double write_share = 0;     // share of evicted chunks that are written
  double late_share = 0;      // share of fetched chunks that are fetched on demand only
  double touch_s = 0;         // time of a fault on a chunk in memory
};

// Returns for each touch of thread 0 the seconds until it, from its first touch.
std::vector<double> forecast(std::span<const ExpectedTouch> touches, const SpillState& state,
                             const std::function<transfer::PageState(ChunkId)>& residence);

}  // namespace terrace::strategy
