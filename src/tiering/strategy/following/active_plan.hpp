// A plan while it is being obeyed: as the program makes its objects, names become chunks and places, and moves are
// sorted by the phase that asks for them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan.hpp"
#include "machine/machine.hpp"
#include "memory/chunk_table.hpp"
#include "profile/profile.hpp"
#include "strategy/active_move.hpp"
#include "strategy/plan_expansion.hpp"

namespace terrace::strategy {

struct ExecutedPhase {
  std::string name;
  std::uint64_t accesses = 0;
};

class ActivePlan {
 public:
  ActivePlan() = default;
  ActivePlan(Plan plan, const machine::Machine& machine, DomainId domain);

  // The program has this object. What did not match the plan is in notes().
  void bind(const observe::Object& object);
  // Whether the plan was made of a run in which some of the objects had other sizes.
  [[nodiscard]] bool scaled() const { return scaled_; }
  // What the plan keeps in faster memory has to fit into the budget at these sizes: what does not stays at home,
  // where it is worth least for its bytes. In words; nothing where all of it fits.
  std::optional<std::string> fit(const std::vector<observe::Object>& objects, const memory::ChunkTable& chunks,
                                 const machine::Budget& budget, PlaceId home);
  // Until an iteration has passed: segments begin later in larger runs, by as much as the objects are larger.
  void scale_segments_by_size();
  // Another run's plan: its phases answer to those that the program has passed in an iteration (phase_match.hpp).
  // Moves of phases that none answers to belong to the next one that one does; segments begin at the same share of
  // a phase's accesses. Returns how many phases of the program have one of the plan.
  std::size_t map_phases(const std::vector<ExecutedPhase>& passed);
  [[nodiscard]] std::size_t phases() const { return starts_.size(); }  // segments not counted
  [[nodiscard]] const Plan& given() const { return plan_; }
  // Of a bound object.
  [[nodiscard]] bool knows(const observe::Object& object) const {
    return object.id < known_.size() && known_[object.id];
  }
  // Where the plan wants the chunk of a bound object when an iteration begins; k_no_place where it says nothing.
  [[nodiscard]] PlaceId initial_place(const observe::Object& object, std::uint32_t ordinal) const;
  // Where the plan has the chunks of bound objects, by object and chunk, once all that it asks for before `phase`
  // is done: with phase 0, when an iteration begins.
  using Places = std::vector<std::vector<PlaceId>>;
  [[nodiscard]] Places places_before(PhaseIndex phase);
  // From where the object's chunks are (`current_place`) to `places`; what the plan does not know goes `home`.
  [[nodiscard]] static std::vector<ActiveMove> moves_to(const Places& places, const observe::Object& object,
                                                        const std::function<PlaceId(ChunkId)>& current_place,
                                                        PlaceId home);
  // Whether another plan has everything at the same places at the same times, whatever it promises.
  [[nodiscard]] bool has_same_places(const Plan& other) const { return same_places(plan_, other); }
  // The plan's phase at which the program is when its `index`-th marker of the iteration names `name`; nothing
  // when the plan expects another one there. The plan's phases are finer: segments of a phase follow it.
  [[nodiscard]] std::optional<PhaseIndex> find_phase(PhaseIndex index, std::string_view name) const;
  // Whether the plan expects that phase there, if only to do nothing in it.
  [[nodiscard]] bool expects(PhaseIndex index, std::string_view name) const;
  // How many accesses into its phase the plan's phase begins; 0 when it is no segment, or there is none.
  [[nodiscard]] std::uint64_t segment_offset(PhaseIndex phase) const {
    return phase < offsets_.size() ? offsets_[phase] : 0;
  }
  // What share of the time of its phase, which begins at `start`, is over when the plan's segment begins.
  [[nodiscard]] double share_of_time(PhaseIndex start, PhaseIndex segment) const {
    return terrace::share_of_time(plan_, start, segment);
  }
  // The chunk with whose first touch the segment begins; k_no_chunk where the plan, or the program, has none.
  [[nodiscard]] ChunkId sentinel(PhaseIndex segment) const {
    return segment < sentinels_.size() ? sentinels_[segment] : memory::k_no_chunk;
  }
  // How long the phase takes, as predicted; with objects of other sizes in proportion to them. 0: nobody knows.
  [[nodiscard]] Seconds predicted_time(PhaseIndex start) const;
  // A phase that goes on behind its last segment: what it does then is as if it were in segment `from`, so many
  // accesses `back`, once it is `after` accesses long. Nothing where the plan does not know.
  struct Continuation {
    PhaseIndex from = 0;
    std::uint64_t after = 0;
    std::uint64_t back = 0;
  };
  [[nodiscard]] std::optional<Continuation> continuation(PhaseIndex last) const;
  // From where the plan has everything then to where it has it before that segment.
  [[nodiscard]] std::span<ActiveMove> rewind_moves(PhaseIndex last);
  // How fast moves go in the plan's phase, of full speed.
  [[nodiscard]] double rate_limit(PhaseIndex phase) const {
    return phase < plan_.rate_limits.size() ? plan_.rate_limits[phase] : 1;
  }
  // Moves to ask for when the plan's phase begins, in the plan's order.
  [[nodiscard]] std::span<ActiveMove> moves_of_phase(PhaseIndex index);
  [[nodiscard]] std::vector<std::string> take_notes();

 private:
  [[nodiscard]] const Repeat* repeat_of(PhaseIndex last) const;
  void remap_phases(ChunkMove& move) const;
  void scale_segments(PhaseIndex start, std::uint64_t accesses);
  void remap_moves(const std::vector<bool>& answered);

  Plan plan_;
  const machine::Machine* machine_ = nullptr;
  DomainId domain_ = 0;
  std::vector<std::vector<PlaceId>> initial_;  // by object
  std::vector<std::vector<Seconds>> worth_;    // by object and chunk
  std::vector<bool> known_;                    // by object
  bool scaled_ = false;
  Bytes planned_size_, size_;                                // of the objects that the plan knows: then, and now
  std::vector<std::string> executed_;                        // the program's phases, where they are others
  std::vector<std::optional<PhaseIndex>> planned_phase_of_;  // by these: the plan's
  std::vector<PhaseIndex> remapped_phase_;                   // by the plan's phase, where they are others
  std::vector<std::uint64_t> planned_offsets_;               // by the plan's phase
  std::vector<std::uint64_t> offsets_;                       // the same in this run
  std::vector<PhaseIndex> starts_;                           // those that are no segments
  std::vector<ChunkId> sentinels_;                           // by the plan's phase, of bound objects
  std::vector<std::vector<ActiveMove>> moves_by_phase_;      // by the plan's phase
  std::map<PhaseIndex, std::vector<ActiveMove>> rewind_moves_;  // by last segment: what rewind_moves() found
  bool sorted_ = true;
  std::vector<std::string> notes_;
};

}  // namespace terrace::strategy
