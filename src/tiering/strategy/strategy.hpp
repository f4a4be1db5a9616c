// Who decides where chunks reside while a program runs: a plan that is followed, a policy, a static placement,
// hints. One interface for all: where the chunks of a new object are made, what happened, and what to move because
// of it. A strategy asks, the runtime carries out; it does not know whose clock or memory it works with.
//
// Events come in the order in which they happen in the program. Their references are valid during the call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
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

// What a strategy may look at. All outlive it.
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
  Clock* clock = nullptr;                                 // also charged with what deciding takes
  const std::vector<observe::Object>* objects = nullptr;  // all that there have been
  const HintRegistry* hints = nullptr;
  observe::IntervalCollector* interval_collector = nullptr;             // where the variant watches (variant.hpp)
  std::string progress;                                                 // what segments are cut by
  observe::SegmentStart segments_start = observe::SegmentStart::count;  // of plans
  bool profiles = false;                                                // a collector can fill a profile
  bool can_thin = false;                                                // and can take fewer samples
  std::uint32_t learn_iterations = 1;        // profiled before planning, and more until the collector knows enough
  std::function<bool()> has_enough_samples;  // of this loop, to plan by; empty: an iteration suffices
  bool measures_baseline = false;            // with iterations before the plan: nothing moves until it is made

  [[nodiscard]] const std::vector<PlaceId>& places() const { return machine->fastest_first(domain); }
  [[nodiscard]] PlaceId home() const { return machine->home(domain); }
  // What other processes of the job have of the fast places is not to be planned with. The home place takes what
  // the others have no room for.
  [[nodiscard]] machine::Budget own_budget() const;
};

// Where the next chunks of an object are made, and how many of them.
struct PlacementExtent {
  PlaceId place = k_no_place;
  std::uint32_t chunks = 0;
};

struct ObjectAdded {
  const observe::Object& object;  // before its chunks are made
};
struct LoopBegun {
  std::string_view name;
  bool new_hints = false;               // since the last loop began
  bool by_time = false;                 // its iterations are cut by time: they take as long as they are cut
  bool is_found = false;                // nobody said that this is the main loop
  std::uint32_t iterations_before = 0;  // iterations that it had made when it was found
  Seconds iteration_time{};             // of each of these, as their share of the run's work says; 0: unknown
};
struct LoopEnded {};
// A phase that was profiled, or a segment of one, is over.
struct SegmentProfiled {
  const observe::Phase& stretch;
  PhaseIndex phase = 0;
  std::uint32_t iteration = 0;
};
struct IterationProfiled {
  const observe::Iteration& iteration;
  const std::vector<PlaceId>& places;  // by chunk, when it began
};
struct IterationBegins {
  std::string_view loop;
  std::uint32_t iteration = 0;
};
// What is asked for here, before the phase begins, takes none of its time.
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
  std::uint64_t accesses = 0;  // since the last time
  bool in_stride = false;      // the program goes on: a segment may begin here
  PhaseIndex phase = 0;
  std::uint32_t iteration = 0;
};
struct PhaseEnded {
  PhaseIndex phase = 0;
  const std::string& name;
  std::uint32_t iteration = 0;
  std::uint64_t accesses = 0;
  Seconds time;
  Seconds work;          // of a processor, by the program's main thread
  bool is_late = false;  // the time is that of who heard of it, not the program's
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  // Where the object's chunks from `ordinal` on are made. `left` are to be made.
  [[nodiscard]] virtual PlacementExtent initial_placement(const observe::Object& object, std::uint32_t ordinal,
                                                          std::uint32_t left) = 0;

  virtual void observe(const ObjectAdded&, Requests&) {}
  virtual void observe(const LoopBegun&, Requests&) {}
  virtual void observe(const LoopEnded&, Requests&) {}
  virtual void observe(const SegmentProfiled&, Requests&) {}
  virtual void observe(const IterationProfiled&, Requests&) {}
  virtual void observe(const IterationBegins&, Requests&) {}
  virtual void observe(const PhaseBegins&, Requests&) {}
  virtual void observe(const PhaseBegun&, Requests&) {}
  virtual void observe(const Progressed&, Requests&) {}
  virtual void observe(const PhaseEnded&, Requests&) {}

  // Whether the iteration that begins is to be profiled.
  [[nodiscard]] virtual bool wants_profile() const { return false; }
  // How many samples one stands for in that iteration, compared with a collector's usual rate; at least 1.
  [[nodiscard]] virtual double profile_thinning() const { return 1; }
  // Whether data moved while the iteration was profiled.
  [[nodiscard]] virtual bool moved_while_profiled() const { return false; }
  // What of a plan that was given could not be followed, in words; empty: all of it could, or there is none.
  [[nodiscard]] virtual std::vector<std::string> unfollowed() const { return {}; }
  // Whether hints take part in what it decides.
  [[nodiscard]] virtual bool uses_hints() const { return false; }
};

}  // namespace terrace::strategy
