// SPDX-License-Identifier: Apache-2.0
// How a chain goes through data that are larger than the fast memory: in steps, each some tiles of the outermost
// dimension, and the chunks of datasets that each step uses. A value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stencil/data/storage.hpp"
#include "stencil/plan/tile_plan.hpp"
#include "terrace/stencil/chain.hpp"

namespace terrace::stencil {

// A piece of a dataset that is moved as a whole: bytes from number * size on.
struct ChunkId {
  DatasetId dataset = 0;
  std::uint32_t number = 0;
  friend auto operator<=>(const ChunkId&, const ChunkId&) = default;
};

struct ChunkUse {
  ChunkId chunk;
  std::uint32_t first = 0;  // step
  std::uint32_t last = 0;
  bool is_fetched = false;  // what it had before is needed
  bool is_written = false;
};

struct StreamStep {
  std::size_t first_tile = 0;  // of the outermost dimension
  std::size_t last_tile = 0;   // one behind
};

struct StreamPlan {
  std::vector<StreamStep> steps;
  std::vector<ChunkUse> uses;   // by first step
  std::size_t most_chunks = 0;  // that are used at a time
};

// Chunks that were moved while a step ran, or was waited for.
struct StepMoves {
  std::uint64_t fetched = 0;
  std::uint64_t cleared = 0;   // came as zeros: nobody had written them
  std::uint64_t admitted = 0;  // came without their numbers, which the chain writes
  std::uint64_t stored = 0;
};
// Of each step, and of the time from the last one's end to the next chain. Of all times that the plan was run.
using StreamMoves = std::vector<StepMoves>;

// Where datasets are cut.
struct StreamLayout {
  std::size_t chunk = 0;           // bytes
  std::vector<std::size_t> shift;  // of each dataset: bytes before its first element
  std::vector<bool> is_temporary;  // of each dataset: its numbers are not kept, but for DatasetInfo::kept
  [[nodiscard]] std::uint32_t chunks(const DatasetInfo& info) const {
    return static_cast<std::uint32_t>((shift_of(info) + info.bytes() + chunk - 1) / chunk);
  }
  [[nodiscard]] std::size_t shift_of(const DatasetInfo& info) const { return shift[info.id]; }
};

// All points that are in a chunk, or in a row, or plane, of which it has a part.
[[nodiscard]] Range points_of(const DatasetInfo& info, const StreamLayout& layout, std::uint32_t chunk);

// Of each chunk of a dataset, whether its numbers are to be there for the next chain.
[[nodiscard]] std::vector<bool> kept_chunks(const DatasetInfo& info, const StreamLayout& layout);

// Chunks of a dataset, one after the other.
struct ChunkRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};
// Those that have the points of a range, which is not empty, and what lies between them.
[[nodiscard]] ChunkRange chunks_of(const DatasetInfo& info, const StreamLayout& layout, const Range& range);

// The most chunks that are used in so many steps that follow each other: from its first step to its last a chunk
// stays, whether the steps between use it or not.
[[nodiscard]] std::size_t most_chunks_of(const StreamPlan& plan, std::size_t steps = 1);

// So many tiles of the dimension `outer` make a step.
[[nodiscard]] StreamPlan plan_stream(std::span<const Loop> chain, const TilePlan& tiles, std::size_t outer,
                                     std::size_t tiles_in_step, std::span<const DatasetInfo> infos,
                                     const StreamLayout& layout);

}  // namespace terrace::stencil
