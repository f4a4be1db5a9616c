// SPDX-License-Identifier: Apache-2.0
// Plans out-of-core execution of a chain. Execution is cut into steps, each some tiles of the outermost
// dimension; the plan lists the chunks of datasets that each step uses. Used by the executors `streamed` and `gpu`
// and in virtual time. Plans are plain values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stencil/data/storage.hpp"
#include "stencil/plan/tile_plan.hpp"
#include "terrace/stencil/chain.hpp"

namespace terrace::stencil {

// Identifies a chunk, the unit of transfer: the bytes of a dataset from number * size on.
struct ChunkId {
  DatasetId dataset = 0;
  std::uint32_t number = 0;
  friend auto operator<=>(const ChunkId&, const ChunkId&) = default;
};

struct ChunkUse {
  ChunkId chunk;
  std::uint32_t first = 0;  // first step that uses the chunk
  std::uint32_t last = 0;
  bool is_fetched = false;  // its earlier values are needed
  bool is_written = false;
};

struct StreamStep {
  std::size_t first_tile = 0;  // index in the outermost dimension
  std::size_t last_tile = 0;   // one past the end
};

struct StreamPlan {
  std::vector<StreamStep> steps;
  std::vector<ChunkUse> uses;   // sorted by first step
  std::size_t most_chunks = 0;  // maximum number in use at one time
};

// Counts the chunks that moved while a step ran or waited.
struct StepMoves {
  std::uint64_t fetched = 0;
  std::uint64_t cleared = 0;   // zero-filled: never written before
  std::uint64_t admitted = 0;  // mapped without a fetch: the chain overwrites them
  std::uint64_t stored = 0;
};
// Counts by step, plus one element for the time from the last step's end to the next chain. Summed over all
// runs of the plan.
using StreamMoves = std::vector<StepMoves>;

// Maps datasets to chunks.
struct StreamLayout {
  std::size_t chunk = 0;           // bytes
  std::vector<std::size_t> shift;  // by dataset: bytes before its first element
  std::vector<bool> is_temporary;  // by dataset: values do not outlive a chain, except DatasetInfo::kept
  [[nodiscard]] std::uint32_t chunks(const DatasetInfo& info) const {
    return static_cast<std::uint32_t>((shift_of(info) + info.bytes() + chunk - 1) / chunk);
  }
  [[nodiscard]] std::size_t shift_of(const DatasetInfo& info) const { return shift[info.id]; }
};

// Returns the bounding range of a chunk's points, in whole rows or planes.
[[nodiscard]] Range points_of(const DatasetInfo& info, const StreamLayout& layout, std::uint32_t chunk);

// Returns for each chunk of a dataset whether its values must survive the chain.
[[nodiscard]] std::vector<bool> kept_chunks(const DatasetInfo& info, const StreamLayout& layout);

// A range of consecutive chunks of a dataset.
struct ChunkRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};
// Returns the chunks from the first to the last point of a range that is not empty.
[[nodiscard]] ChunkRange chunks_of(const DatasetInfo& info, const StreamLayout& layout, const Range& range);

// Returns the maximum number of chunks in use in any `steps` consecutive steps. A chunk counts from its first
// step to its last, whether the steps between use it or not.
[[nodiscard]] std::size_t most_chunks_of(const StreamPlan& plan, std::size_t steps = 1);

// Plans steps of `tiles_in_step` tiles of the dimension `outer`.
[[nodiscard]] StreamPlan plan_stream(std::span<const Loop> chain, const TilePlan& tiles, std::size_t outer,
                                     std::size_t tiles_in_step, std::span<const DatasetInfo> infos,
                                     const StreamLayout& layout);

}  // namespace terrace::stencil
