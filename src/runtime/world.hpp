// One world of a run: a machine with its clock, memory and budget, and what the runtime does in it: lets objects
// settle, profiles, plans, asks for moves, waits for them, writes its journal. World by world the same program
// events come in; what differs is the machine, the budget and the planner.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/problem.hpp"
#include "profile/profile.hpp"
#include "runtime/journalist.hpp"
#include "runtime/phase_tracker.hpp"
#include "runtime/runtime_parts.hpp"
#include "runtime/segmenter.hpp"
#include "runtime/variation.hpp"
#include "strategy/early_moves.hpp"
#include "strategy/following/active_plan.hpp"
#include "strategy/hints/hints.hpp"
#include "strategy/search/interleave_weights.hpp"

namespace terrace::runtime {

// Where an object's chunks are, the same in every world.
struct ObjectMemory {
  observe::Object object;
  std::uint64_t address = 0;  // of the first chunk, a multiple of the granule
};

class World {
 public:
  World(WorldParts parts, Bytes granule, DomainId domain);

  // `objects`: all that there have been, it among them.
  void object_added(const ObjectMemory& memory, const std::vector<observe::Object>& objects);
  void object_removed(const observe::Object& object);

  // Throws Error{invalid} when the hint makes no sense.
  void hinted(const observe::ProgramHint& hint);

  void loop_begin(const PhaseTracker& tracker, const std::vector<observe::Object>& objects);
  // `followed`: iterations of the loop that were followed whole.
  void loop_end(const PhaseTracker& tracker, std::uint32_t followed);
  // `followed`: its accesses were, from the first to the last.
  void phase_end(const PhaseTracker& tracker, bool followed);
  // The program has made that many accesses more; the world has priced them already. `in_stride`: it goes on, so
  // that a segment may begin here.
  void progressed(const PhaseTracker& tracker, std::uint32_t thread, std::uint64_t accesses, bool in_stride);
  // `begins_iteration`: the phase is the first of an iteration; what the last one taught is used now. `followed`:
  // its accesses will be heard of.
  void phase_begin(const PhaseTracker& tracker, bool begins_iteration, bool followed,
                   const std::vector<observe::Object>& objects);

  // Where not every iteration is followed: a phase that is followed begins; it ends, and others may count as it
  // did; one that was not followed ends, or begins to be followed, and counts as the last one of its like.
  void begin_measuring() { before_phase_ = so_far(); }
  void keep_measured(const PhaseTracker& tracker);
  void carry_over(const PhaseTracker& tracker);

  void note(std::string_view severity, std::string_view text);
  void reached(const profile::ReachRecord& reach) { journal_.write(reach); }
  void finish(std::string_view how, const std::vector<observe::Object>& objects);
  // Whether the world makes anything of the accesses of this iteration.
  [[nodiscard]] bool listens() const { return parts_.exact != nullptr || again_ || learning(iterations_ - 1); }
  [[nodiscard]] Seconds now() { return parts_.clock->now(); }
  [[nodiscard]] const char* place_name(ChunkId chunk) const;

 private:
  struct Pending {
    std::uint32_t move = 0;  // its name
    ChunkId chunk = 0;
    PlaceId to = 0;
    std::uint32_t iteration = 0;
    Seconds waited;
    bool settled = false;
  };
  // A plan that is being made: in force from the first phase that begins after `at`.
  struct Coming {
    Plan plan;
    Seconds at;
    std::string why;
  };
  // Where the object's chunks from `ordinal` on lie at first, and how many of them.
  struct Stretch {
    PlaceId place = k_no_place;
    std::uint32_t chunks = 0;
  };
  [[nodiscard]] Stretch initial_stretch(const observe::Object& object, std::uint32_t ordinal,
                                        const std::vector<observe::Object>& objects);
  [[nodiscard]] bool heeds_counts() const;
  [[nodiscard]] strategy::Expression::Outcome references(const strategy::Count& count,
                                                         const std::vector<observe::Object>& objects) const;
  [[nodiscard]] Stretch counted_stretch(const observe::Object& object, std::uint32_t ordinal,
                                        const std::vector<observe::Object>& objects);
  class Gathering;
  void place_counted(const std::vector<observe::Object>& objects);
  void note_counted(std::vector<std::pair<double, const observe::Object*>> counted);
  void note_unused_hints(const std::vector<observe::Object>& objects);
  [[nodiscard]] bool learning(std::uint32_t iteration) const;
  ChunkId take_room(ChunkId first, ChunkId end, PlaceId place);
  void settle(ChunkId first, std::uint32_t count, PlaceId place);
  void end_iteration(std::uint32_t iteration);
  void note_places();
  std::vector<PlaceId> places_to_write();
  void carry(std::uint32_t iteration, const std::vector<observe::Object>& objects);
  void steer(const PhaseTracker& tracker, bool followed, const std::vector<observe::Object>& objects);
  void learn(const PhaseTracker& tracker, const std::vector<observe::Object>& objects);
  void plan(const model::Problem& problem);
  void adopt_what_came(const PhaseTracker& tracker, const std::vector<observe::Object>& objects);
  bool adopt(const Coming& coming, const PhaseTracker& tracker, const std::vector<observe::Object>& objects);
  void gather(const std::vector<observe::Object>& objects, PhaseIndex phase = 0);
  void watch(std::uint32_t iteration);
  void catch_up(const PhaseTracker& tracker);
  void bind(const observe::Object& object);
  class Room;
  class Arrivals;
  void ask(std::span<strategy::ActiveMove> moves, std::uint32_t iteration);
  void ask(std::span<strategy::ActiveMove* const> moves, std::uint32_t iteration);
  void ask_for_missing(std::vector<strategy::ActiveMove*> moves, std::uint32_t iteration);
  void go_on(const PhaseTracker& tracker);
  void stop_waiting(PhaseIndex phase);
  void name(strategy::ActiveMove& move);
  template <class Work>
  void with_collectors(Work work) {
    if (parts_.sampled) work(*parts_.sampled);
    if (parts_.exact) work(*parts_.exact);
  }
  void cut_segment(const PhaseTracker& tracker);
  void run_moves(const PhaseTracker& tracker);
  void leave_given_plan();
  void heed_policy(const PhaseTracker& tracker);
  [[nodiscard]] strategy::Tiers tiers() const;
  [[nodiscard]] bool moves_early() const;
  void move_early(const PhaseTracker& tracker);
  void ask_for_policy(std::span<const transfer::TransferRequest> wishes, const PhaseTracker& tracker);
  [[nodiscard]] std::uint32_t name_wish(const transfer::TransferRequest& wish, PhaseIndex phase);
  void enter_plan_phase(PhaseIndex phase, bool may_wait, std::uint32_t iteration);
  void pace(double share);
  void await(const std::vector<transfer::Ticket>& tickets);
  void harvest();
  void write_moves();
  void log_transfer(const Pending& pending, const transfer::TransferResult& result);
  void note_refusal(const std::string& what);
  void write_counters();
  void price(std::string_view phase);
  [[nodiscard]] Totals so_far() const { return parts_.totals ? parts_.totals() : Totals{}; }

  WorldParts parts_;
  DomainId domain_;
  Bytes granule_;
  Journalist journal_;
  // Of an instruction, in the phases that there have been, where some have times of their own.
  std::map<std::string, Seconds, std::less<>> core_times_;
  strategy::HintBook hints_;
  bool hints_are_new_ = false;         // since data was placed by them
  std::set<std::string> phase_names_;  // that there have been, where hints are to be held against them
  strategy::ActivePlan active_;
  bool has_plan_ = false;
  std::deque<Coming> coming_;  // in the order in which they will be done
  std::string why_;            // a plan is made
  Variation variation_;
  bool again_ = false;     // this iteration is profiled once more, under a plan
  bool bettered_ = false;  // the plan that was given: by one that was made of its first iteration
  // Of the moves to where the plan in force has everything: when it is done, phases are watched.
  std::optional<transfer::Ticket> last_arrival_;
  bool plan_mismatch_noted_ = false;
  // In the first iteration of a loop under a plan that was given: its phases so far, and whether the plan expects
  // others. It is then left alone until its phases are known.
  std::vector<strategy::PassedPhase> passed_;
  bool strayed_ = false;
  bool refusal_noted_ = false;
  std::vector<observe::Iteration> learned_;
  std::vector<PlaceId> places_at_start_;  // by chunk, when the profiled iteration began
  // They are as the table was after so many changes; and what the journal has of them.
  std::optional<std::uint64_t> places_as_of_, places_written_as_of_;
  std::deque<Pending> pending_;  // by ticket, from first_pending_ on
  transfer::Ticket first_pending_ = 0;
  std::vector<transfer::TransferRequest> requests_;    // of one asking
  std::vector<strategy::ActiveMove*> asked_;           // the same
  std::uint32_t names_ = 0;                            // moves that have one
  profile::MovesRecord named_;                         // those that the journal does not have yet
  profile::TransfersRecord finished_;                  // so for these
  std::vector<std::vector<transfer::Ticket>> needed_;  // by phase: tickets it waits for
  std::optional<strategy::RoundRobin> turns_;          // whose turn the next chunk is, where places take turns
  std::optional<strategy::EarlyMoves> early_;          // while the loop is learned
  Seconds looked_;                                     // when a stretch was last looked at
  bool moved_early_ = false;                           // in the iteration that is profiled
  Seconds policy_asked_;                               // when the policy decided last
  bool policy_watches_ = false;                        // since the loop began
  std::map<std::pair<ChunkId, PlaceId>, std::uint32_t> wish_names_;
  std::vector<ChunkId> first_chunks_;  // by object
  Segmenter segmenter_;
  bool collecting_ = false;                                        // a collector listens to this iteration
  bool followed_whole_ = true;                                     // this iteration, from its first phase on
  std::map<std::pair<PhaseIndex, std::string>, Totals> measured_;  // phases that were followed last
  Totals before_phase_;
  Totals carried_;                   // counts of phases that were not followed
  std::uint64_t progress_ = 0;       // accesses into the phase, of all threads
  std::uint64_t plan_progress_ = 0;  // so far is the plan, which goes back where a phase goes on for longer
  std::optional<std::uint32_t> first_thread_;  // to end a quantum in this phase
  Seconds segment_begun_;
  double pace_ = 1;                       // of the mover
  std::vector<transfer::Ticket> late_;    // moves that a phase needed and that were not done
  std::optional<PhaseIndex> plan_phase_;  // of the active plan, where the program is now
  Seconds phase_begun_;
  Seconds phase_waited_;
  std::uint32_t iterations_ = 0;
};

}  // namespace terrace::runtime
