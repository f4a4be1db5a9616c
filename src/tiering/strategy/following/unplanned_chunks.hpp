// SPDX-License-Identifier: Apache-2.0
// Places the chunks that a plan does not cover in fast capacity that the plan never uses, for PlanExecutor.
// Uncovered chunks are those that the profiled iterations did not access. Demoting them would cost a copy and gain
// nothing; and if the plan is for the wrong loop, later code would find its data in slow memory.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/plan.hpp"
#include "strategy/strategy.hpp"

namespace terrace::strategy {

class UnplannedChunks {
 public:
  // `reached`: by chunk, whether the profiled iterations accessed it. Later chunks count as not reached.
  UnplannedChunks(const Plan& plan, const Context& context, std::vector<bool> reached);

  // Reserves capacity for a chunk that the plan has at home, where it is now. Returns false if it has to move
  // home.
  [[nodiscard]] bool retain(ChunkId chunk, PlaceId where);
  // Reserves capacity for the next chunks of an object that the plan does not name; nothing if none is free.
  [[nodiscard]] std::optional<PlacementExtent> allocate(const observe::Object& object, std::uint32_t ordinal,
                                                        std::uint32_t left);

 private:
  struct RetainedRange {
    ChunkId first = 0;
    std::uint32_t count = 0;
    PlaceId place = k_no_place;
  };
  void reserve(const RetainedRange& retained, Bytes size);
  [[nodiscard]] Bytes free_capacity(PlaceId place, Bytes wanted);
  void reclaim_freed();

  const Context* context_;
  std::vector<bool> reached_;
  machine::Budget capacity_;  // free, by place; without chunks freed since the last reclaim_freed()
  std::vector<RetainedRange> retained_;
  std::size_t num_refused_ = 0;  // since the last reclaim_freed()
};

}  // namespace terrace::strategy
