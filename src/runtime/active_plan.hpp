// A plan while it is being obeyed: names turned into chunks and places as the program makes its objects, moves
// sorted by the phase that asks for them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "machine/machine.hpp"
#include "memory/chunk_table.hpp"
#include "placement/plan.hpp"
#include "profile/profile.hpp"

namespace terrace::runtime {

struct ActiveMove {
  memory::ChunkId chunk = 0;
  memory::ObjectId object = 0;
  std::uint32_t ordinal = 0;      // of the chunk in its object
  machine::PlaceId to = 0;
  profile::PhaseIndex ask = 0;
  profile::PhaseIndex need = 0;
  bool awaited = false;
  Seconds benefit;
  Seconds cost;
};

class ActivePlan {
 public:
  ActivePlan() = default;
  ActivePlan(placement::Plan plan, const machine::Machine& machine, machine::DomainId domain);

  [[nodiscard]] const placement::Plan& plan() const { return plan_; }
  // Where the plan wants the chunk when an iteration begins; k_no_place when it does not know the object.
  [[nodiscard]] machine::PlaceId initial_place(const profile::Object& object, std::uint32_t ordinal) const;
  // The object's moves become moves of its chunks.
  void bind(const profile::Object& object);
  // From where the live chunks lie now to where an iteration begins; what the plan does not know goes `home`.
  [[nodiscard]] std::vector<ActiveMove> to_initial(const std::vector<profile::Object>& objects,
                                                   const memory::ChunkTable& chunks, machine::PlaceId home) const;
  // Whether the plan expects this phase at this position.
  [[nodiscard]] bool knows(profile::PhaseIndex index, std::string_view name) const;
  // Moves to ask for when the phase begins, in the plan's order.
  [[nodiscard]] std::vector<std::size_t> asked_in(profile::PhaseIndex index) const;
  std::size_t add(const ActiveMove& move);
  [[nodiscard]] const ActiveMove& move(std::size_t index) const { return moves_[index]; }

 private:
  placement::Plan plan_;
};

}  // namespace terrace::runtime
