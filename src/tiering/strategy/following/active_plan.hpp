// SPDX-License-Identifier: Apache-2.0
// Binds a plan to the running program, for PlanExecutor. As the program allocates its objects, names become chunks
// and places, and moves are sorted by the phase that requests them. A plan of another run (other sizes, other
// numbers of phases) is adapted: active_plan_rescaling.cpp.
//
// Not thread-safe.
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

// A phase that the program has executed.
struct ExecutedPhase {
  std::string name;
  std::uint64_t accesses = 0;
};

class ActivePlan {
 public:
  ActivePlan() = default;
  ActivePlan(Plan plan, const machine::Machine& machine, DomainId domain);

  // Binds an object of the program. Notes what did not match the plan (take_notes()).
  void bind(const observe::Object& object);
  // Returns whether some of the bound objects have other sizes than in the plan.
  [[nodiscard]] bool scaled() const { return scaled_; }
  // Fits the plan's initial placement into the budget at the objects' present sizes: chunks with the least gain
  // per byte stay at home (plan_rescaling.hpp). Returns a sentence on them, or nothing if all chunks fit.
  std::optional<std::string> fit(const std::vector<observe::Object>& objects, const memory::ChunkTable& chunks,
                                 const machine::Budget& budget, PlaceId home);
  // Scales the offsets of segments with the objects' sizes, until map_phases() knows the phases' accesses.
  void scale_segments_by_size();
  // Maps the plan's phases to those that the program has executed in an iteration (plan_rescaling.hpp). Moves of
  // an unmapped phase are requested in the next mapped one. Segments begin at the same share of a phase's
  // accesses. Returns the number of mapped phases.
  std::size_t map_phases(const std::vector<ExecutedPhase>& passed);
  [[nodiscard]] std::size_t phases() const { return starts_.size(); }  // without segments
  [[nodiscard]] const Plan& given() const { return plan_; }
  // Returns whether the plan names the object. Requires: it is bound.
  [[nodiscard]] bool names_object(const observe::Object& object) const {
    return object.id < known_.size() && known_[object.id];
  }
  // Returns the place of a chunk of a bound object at the beginning of an iteration; k_no_place if the plan has
  // none.
  [[nodiscard]] PlaceId initial_place(const observe::Object& object, std::uint32_t ordinal) const;
  // Returns the places of the chunks of bound objects, by object and chunk, once all moves that the plan requests
  // before `phase` are done.
  using Places = std::vector<std::vector<PlaceId>>;
  [[nodiscard]] Places places_before(PhaseIndex phase);
  // Returns the moves of the object's chunks from `current_place` to `places`; chunks without a place go `home`.
  [[nodiscard]] static std::vector<ActiveMove> moves_to(const Places& places, const observe::Object& object,
                                                        const std::function<PlaceId(ChunkId)>& current_place,
                                                        PlaceId home);
  // Returns whether another plan has all chunks in the same places at the same times, whatever gain it predicts.
  [[nodiscard]] bool has_same_places(const Plan& other) const { return same_places(plan_, other); }
  // Returns the plan's phase for the program's `index`-th phase of the iteration, which has that name; nothing if
  // the plan expects another one there. In the plan a phase is followed by its segments.
  [[nodiscard]] std::optional<PhaseIndex> find_phase(PhaseIndex index, std::string_view name) const;
  // Returns whether the plan expects that phase there, even if it has no moves in it.
  [[nodiscard]] bool expects(PhaseIndex index, std::string_view name) const;
  // Returns after how many accesses of its phase the segment begins; 0 if it is no segment.
  [[nodiscard]] std::uint64_t segment_offset(PhaseIndex phase) const {
    return phase < offsets_.size() ? offsets_[phase] : 0;
  }
  // Returns the share of the time of the phase at `start` that has passed when the segment begins.
  [[nodiscard]] double share_of_time(PhaseIndex start, PhaseIndex segment) const {
    return terrace::share_of_time(plan_, start, segment);
  }
  // Returns the chunk whose first access marks the beginning of the segment, or k_no_chunk.
  [[nodiscard]] ChunkId sentinel(PhaseIndex segment) const {
    return segment < sentinels_.size() ? sentinels_[segment] : memory::k_no_chunk;
  }
  // Returns the predicted time of the phase, scaled with the objects' sizes; 0: unknown.
  [[nodiscard]] Seconds predicted_time(PhaseIndex start) const;
  // A phase that continues after its last segment. Once it is `after` accesses long, it behaves as in segment
  // `from`, which began `back` accesses earlier.
  struct Continuation {
    PhaseIndex from = 0;
    std::uint64_t after = 0;
    std::uint64_t back = 0;
  };
  // Returns nothing if the plan has no repeat that ends with the segment `last`.
  [[nodiscard]] std::optional<Continuation> continuation(PhaseIndex last) const;
  // Returns the moves that restore the placement from before the segment at which the continuation resumes.
  [[nodiscard]] std::span<ActiveMove> rewind_moves(PhaseIndex last);
  // Returns the rate of moves in the plan's phase, as a share of full speed.
  [[nodiscard]] double rate_limit(PhaseIndex phase) const {
    return phase < plan_.rate_limits.size() ? plan_.rate_limits[phase] : 1;
  }
  // Returns the moves to request when the plan's phase begins, in the plan's order.
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
  Bytes planned_size_, size_;          // of the bound objects that the plan names: in the plan, and now
  std::vector<std::string> executed_;  // the program's phases; empty: the plan's are used
  std::vector<std::optional<PhaseIndex>> planned_phase_of_;  // by executed phase: the plan's
  std::vector<PhaseIndex> remapped_phase_;                   // by the plan's phase: where its moves are requested
  std::vector<std::uint64_t> planned_offsets_;               // by the plan's phase
  std::vector<std::uint64_t> offsets_;                       // planned_offsets_ scaled to this run
  std::vector<PhaseIndex> starts_;                           // phases of the plan that are no segments
  std::vector<ChunkId> sentinels_;                           // by the plan's phase, of bound objects
  std::vector<std::vector<ActiveMove>> moves_by_phase_;      // by the plan's phase
  std::map<PhaseIndex, std::vector<ActiveMove>> rewind_moves_;  // by last segment: what rewind_moves() found
  bool sorted_ = true;
  std::vector<std::string> notes_;
};

}  // namespace terrace::strategy
