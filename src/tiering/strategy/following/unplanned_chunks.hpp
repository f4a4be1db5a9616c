// What a plan has no use for: memory that the iteration which it was made of did not reach, and room in faster
// places that it leaves free from its first phase to its last. The one may stay in the other, or be made there:
// bringing it home would cost a copy and gain nothing, and where the plan is for the wrong loop, what comes after
// it would find its data in slow memory.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/plan.hpp"
#include "strategy/strategy.hpp"

namespace terrace::strategy {

class UnplannedChunks {
 public:
  // `reached`: by chunk, whether it was. Chunks that came later were not.
  UnplannedChunks(const Plan& plan, const Context& context, std::vector<bool> reached);

  // Whether the chunk, which the plan has at home, may stay where it is; it then does.
  [[nodiscard]] bool retain(ChunkId chunk, PlaceId where);
  // Where the next chunks of an object are made that the plan does not know; nothing where there is no room.
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
  machine::Budget capacity_;  // by place; of what was freed since the last look, not yet
  std::vector<RetainedRange> retained_;
  std::size_t num_refused_ = 0;  // since it was last looked at what was freed
};

}  // namespace terrace::strategy
