// SPDX-License-Identifier: Apache-2.0
// Defines the interface of placement strategies. A strategy decides at run time in which place each chunk resides:
// by following a plan, by a policy, by a static placement or by hints. The runtime asks it where to allocate the
// chunks of a new object, and reports events to it. The strategy reacts by requests (requests.hpp), which the
// runtime performs. A strategy is independent of the clock and the memory, so that it runs on real and on
// simulated machines.
//
// Events arrive in program order. Their references are valid during the call. Strategies are not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/clock.hpp"
#include "machine/machine.hpp"
#include "memory/chunk_table.hpp"
#include "memory/ledger.hpp"
#include "model/calibration.hpp"
#include "observe/collecting/interval_collector.hpp"
#include "observe/progress_variant.hpp"
#include "profile/profile.hpp"
#include "strategy/requests.hpp"

namespace terrace::strategy {

class HintRegistry;
class Planner;
class RankGroup;

// The state that a strategy reads. All pointers are borrowed and outlive the strategy.
struct Context {
  const machine::Machine* machine = nullptr;
  InitiatorId initiator = 0;
  DomainId domain = 0;
  double cores = 1;
  machine::Budget budget;
  model::Calibration calibration;
  Seconds sample_interval;
  const memory::ChunkTable* chunks = nullptr;
  const memory::Ledger* ledger = nullptr;
  Clock* clock = nullptr;                                 // is charged with the time of decisions
  const std::vector<observe::Object>* objects = nullptr;  // all objects so far, freed ones included
  const HintRegistry* hints = nullptr;
  observe::IntervalCollector* interval_collector = nullptr;             // for policies
  std::string progress;                                                 // the measure that divides segments
  observe::SegmentStart segments_start = observe::SegmentStart::count;  // how segments of plans begin
  bool profiles = false;                                                // a collector can fill a profile
  bool can_thin = false;                                                // the collector can take fewer samples
  std::uint32_t learn_iterations = 1;        // min iterations to profile before planning
  std::function<bool()> has_enough_samples;  // to plan this loop; empty: one iteration suffices
  bool measures_baseline = false;  // plans are compared with iterations before them, in which nothing moves
  RankGroup* ranks = nullptr;      // the ranks of this MPI job on this node; null outside of MPI

  [[nodiscard]] const std::vector<PlaceId>& places() const { return machine->fastest_first(domain); }
  [[nodiscard]] PlaceId home() const { return machine->home(domain); }
  // Returns this rank's shares of the fast places if the ranks of an MPI job have divided them, else the budget
  // less what other processes of the job occupy there. The home place is not reduced: it takes what does not fit
  // elsewhere.
  [[nodiscard]] machine::Budget own_budget() const;
};

// The place of the next chunks of an object, and their number.
struct PlacementExtent {
  PlaceId place = k_no_place;
  std::uint32_t chunks = 0;
};

// The events of a strategy.
struct ObjectAdded {
  const observe::Object& object;  // its chunks are not allocated yet
};
struct LoopBegun {
  std::string_view name;
  bool new_hints = false;               // the program gave hints since the last loop began
  bool by_time = false;                 // iterations are fixed time intervals, so that their time tells nothing
  bool is_detected = false;             // the loop was detected, not marked by the program
  std::uint32_t iterations_before = 0;  // iterations before it was detected
  Seconds iteration_time{};             // of each of these, estimated by their share of the run's work; 0: unknown
};
struct LoopEnded {};
// A profiled phase, or a segment of one, has ended.
struct SegmentProfiled {
  const observe::Phase& segment;
  PhaseIndex phase = 0;
  std::uint32_t iteration = 0;
};
struct IterationProfiled {
  const observe::Iteration& iteration;
  const std::vector<PlaceId>& places;  // by chunk, when the iteration began
};
struct IterationBegins {
  std::string_view loop;
  std::uint32_t iteration = 0;
};
// Comes before PhaseBegun. The time that the strategy takes here does not count for the phase.
struct PhaseBegins {
  PhaseIndex phase = 0;
  const std::string& name;
  std::uint32_t iteration = 0;
};
struct PhaseBegun {
  PhaseIndex phase = 0;
  const std::string& name;
  std::uint32_t iteration = 0;
};
struct Progressed {
  std::uint64_t accesses = 0;  // since the last Progressed
  bool in_stride = false;      // the program continues in the phase, so that a segment may begin here
  PhaseIndex phase = 0;
  std::uint32_t iteration = 0;
};
struct PhaseEnded {
  PhaseIndex phase = 0;
  const std::string& name;
  std::uint32_t iteration = 0;
  std::uint64_t accesses = 0;
  Seconds time;
  Seconds work;          // processor time of the program's main thread
  bool is_late = false;  // the phase ended some time ago; `time` is when the runtime noticed
  Seconds in_mpi{};      // part of `time` inside of MPI calls
};

// Trivially copyable, without allocation.
using StrategyEvent = std::variant<ObjectAdded, LoopBegun, LoopEnded, SegmentProfiled, IterationProfiled,
                                   IterationBegins, PhaseBegins, PhaseBegun, Progressed, PhaseEnded>;

class Strategy {
 public:
  virtual ~Strategy() = default;
  // Returns where to allocate the object's chunks from `ordinal` on, of which `left` remain.
  [[nodiscard]] virtual PlacementExtent initial_placement(const observe::Object& object, std::uint32_t ordinal,
                                                          std::uint32_t left) = 0;

  virtual void on_event(const StrategyEvent&, Requests&) {}

  // Returns whether to profile the iteration that begins.
  [[nodiscard]] virtual bool wants_profile() const { return false; }
  // Returns by which factor to thin the collector's samples in that iteration; at least 1.
  [[nodiscard]] virtual double profile_thinning() const { return 1; }
  // Returns whether data moved while the iteration was profiled.
  [[nodiscard]] virtual bool moved_while_profiled() const { return false; }
  // Returns sentences on the parts of a given plan that could not be followed; empty if there are none.
  [[nodiscard]] virtual std::vector<std::string> unfollowed() const { return {}; }
  // Returns whether decisions use hints.
  [[nodiscard]] virtual bool uses_hints() const { return false; }
};

}  // namespace terrace::strategy
