// How long a thread will take over a file, from what it and the others are expected to touch: the rules by which
// chunks come in and leave (belady_policy.hpp, transfer/spill/spill.hpp) in short. What is used last leaves; what is
// used soonest comes in, so many chunks ahead; the disk serves one chunk after the other, beside the work.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/identifiers.hpp"
#include "transfer/spill/replacement_policy.hpp"

namespace terrace::strategy {

inline constexpr std::size_t k_depth = 8;            // chunks that are brought in before they are touched
inline constexpr std::uint32_t k_between_marks = 8;  // quiet chunks that are expected in a row

// In the order in which they are expected. Thread 0 is the one that the forecast is for.
struct ExpectedTouch {
  ChunkId chunk = 0;
  std::uint32_t thread = 0;
  double work = 0;  // of its thread before it, in seconds
};

// As it is when the forecast is made.
struct SpillState {
  std::size_t room = 0;       // chunks that may be in memory
  std::size_t present = 0;    // that are
  std::size_t under_way = 0;  // reads and writes
  std::size_t kept = 0;       // pages beside `room`, for what leaves
  double chunk_s = 0;         // the disk takes for one, read or written
  double write_share = 0;     // of what leaves
  double late_share = 0;      // of what comes in: only when somebody waits for it
  double touch_s = 0;         // a noticed touch of what is in memory waits
};

// The seconds after which thread 0 comes to each of its touches, where its first one is now.
std::vector<double> forecast(std::span<const ExpectedTouch> touches, const SpillState& state,
                             const std::function<transfer::PageState(ChunkId)>& residence);

}  // namespace terrace::strategy
