// A plan while it is being obeyed: as the program makes its objects, names become chunks and places, and moves are
// sorted by the phase that asks for them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"
#include "memory/chunk_table.hpp"
#include "placement/plan.hpp"
#include "placement/plan_expansion.hpp"
#include "profile/profile.hpp"

namespace terrace::runtime {

// A move of one chunk of this run.
struct ActiveMove {
  static constexpr std::uint32_t k_not_named = UINT32_MAX;

  placement::ChunkMove planned;
  memory::ChunkId chunk = 0;
  memory::ObjectId object = 0;
  std::uint32_t name = k_not_named;  // in the journal: its position among the moves that were written down
};

class ActivePlan {
 public:
  ActivePlan() = default;
  ActivePlan(placement::Plan plan, const machine::Machine& machine, machine::DomainId domain);

  // The program has this object. What did not match the plan is in notes().
  void bind(const profile::Object& object);
  // Where the plan wants the chunk of a bound object when an iteration begins; k_no_place where it says nothing.
  [[nodiscard]] machine::PlaceId initial_place(const profile::Object& object, std::uint32_t ordinal) const;
  // From where the object's chunks lie (`lies`) to where an iteration begins; what the plan does not know goes
  // `home`.
  [[nodiscard]] std::vector<ActiveMove> to_initial(const profile::Object& object,
                                                   const std::function<machine::PlaceId(memory::ChunkId)>& lies,
                                                   machine::PlaceId home) const;
  // Whether another plan has everything at the same places at the same times, whatever it promises.
  [[nodiscard]] bool places_as(const placement::Plan& other) const { return placement::same_places(plan_, other); }
  // The plan's phase at which the program is when its `index`-th marker of the iteration names `name`; nothing
  // when the plan expects another one there. The plan's phases are finer: segments of a phase follow it.
  [[nodiscard]] std::optional<profile::PhaseIndex> find_phase(profile::PhaseIndex index,
                                                              std::string_view name) const;
  // How many accesses into its phase the plan's phase begins; 0 when it is no segment, or there is none.
  [[nodiscard]] std::uint64_t segment_offset(profile::PhaseIndex phase) const {
    return phase < offsets_.size() ? offsets_[phase] : 0;
  }
  // Moves to ask for when the plan's phase begins, in the plan's order.
  [[nodiscard]] std::span<ActiveMove> asked_in(profile::PhaseIndex index);
  [[nodiscard]] std::vector<std::string> take_notes();

 private:
  placement::Plan plan_;
  const machine::Machine* machine_ = nullptr;
  machine::DomainId domain_ = 0;
  std::vector<std::vector<machine::PlaceId>> initial_;  // by object
  std::vector<std::uint64_t> offsets_;                  // by the plan's phase
  std::vector<profile::PhaseIndex> starts_;             // those that are no segments
  std::vector<std::vector<ActiveMove>> asks_;           // by the plan's phase
  bool sorted_ = true;
  std::vector<std::string> notes_;
};

}  // namespace terrace::runtime
