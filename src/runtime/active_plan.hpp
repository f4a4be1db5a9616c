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
  // Throws Error{invalid} when the plan names a place that the machine does not have.
  ActivePlan(placement::Plan plan, const machine::Machine& machine, machine::DomainId domain);

  // Where the plan wants the chunk when an iteration begins; k_no_place where it says nothing.
  [[nodiscard]] machine::PlaceId initial_place(const profile::Object& object, std::uint32_t ordinal) const;
  // The program has made this object: the plan's moves of it become moves of its chunks.
  void bind(const profile::Object& object);
  // From where the object's chunks lie now to where an iteration begins; what the plan does not know goes `home`.
  [[nodiscard]] std::vector<ActiveMove> to_initial(const profile::Object& object, const memory::ChunkTable& chunks,
                                                   machine::PlaceId home) const;
  // Whether the plan expects this phase at this position. A plan without moves serves any phases.
  [[nodiscard]] bool expects(profile::PhaseIndex index, std::string_view name) const;
  // Moves to ask for when the phase begins, in the plan's order.
  [[nodiscard]] std::vector<std::size_t> asked_in(profile::PhaseIndex index) const;
  // A move that is not the plan's own: its number.
  std::size_t add(const ActiveMove& move);
  [[nodiscard]] const ActiveMove& move(std::size_t index) const { return moves_[index]; }

 private:
  machine::PlaceId resolve(const std::string& place) const;
  // The plan's entry for an object: the one of its name, else the first whose pattern matches; null if there is none.
  [[nodiscard]] const placement::PlanObject* find(std::string_view name) const;

  placement::Plan plan_;
  std::vector<std::string> place_names_;
  std::vector<std::string> kind_names_;                // of the domain's places, by place; "" elsewhere
  std::vector<ActiveMove> moves_;
  std::vector<std::vector<std::size_t>> of_plan_move_; // by the plan's move: numbers of its chunks' moves
};

}  // namespace terrace::runtime
