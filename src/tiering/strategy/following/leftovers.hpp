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

class Leftovers {
 public:
  // `reached`: by chunk, whether it was. Chunks that came later were not.
  Leftovers(const Plan& plan, const Context& context, std::vector<bool> reached);

  // Whether the chunk, which the plan has at home, may stay where it is; it then does.
  [[nodiscard]] bool stays(ChunkId chunk, PlaceId where);
  // Where the next chunks of an object are made that the plan does not know; nothing where there is no room.
  [[nodiscard]] std::optional<Stretch> place(const observe::Object& object, std::uint32_t ordinal,
                                             std::uint32_t left);

 private:
  struct Kept {
    ChunkId first = 0;
    std::uint32_t count = 0;
    PlaceId place = k_no_place;
  };
  void keep(const Kept& kept, Bytes size);
  [[nodiscard]] Bytes room(PlaceId place, Bytes wanted);
  void give_back_freed();

  const Context* context_;
  std::vector<bool> reached_;
  machine::Budget room_;  // by place; of what was freed since the last look, not yet
  std::vector<Kept> kept_;
  std::size_t refused_ = 0;  // since it was last looked at what was freed
};

}  // namespace terrace::strategy
