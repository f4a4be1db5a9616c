// What a Runtime is made of. One program may run in several configurations at a time: each is a machine with its
// own clock, memory, budget and strategy, and all of them see the same objects, phases and quanta of misses. A
// real run has one; a simulation may have many, because what the caches let through does not depend on where data
// resides. This is how one execution prices many machines, budgets and strategies.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/journal.hpp"
#include "core/plan.hpp"
#include "machine/machine.hpp"
#include "memory/chunk_table.hpp"
#include "memory/ledger.hpp"
#include "memory/provider.hpp"
#include "model/calibration.hpp"
#include "observe/collecting/interval_collector.hpp"
#include "observe/collector.hpp"
#include "observe/core_times.hpp"
#include "observe/program_events.hpp"
#include "observe/progress_variant.hpp"
#include "profile/profile.hpp"
#include "profile/records.hpp"
#include "runtime/extent.hpp"
#include "strategy/hints/hints.hpp"
#include "strategy/variant.hpp"
#include "transfer/mover.hpp"

namespace terrace::observe {
class AddressMap;
}  // namespace terrace::observe

namespace terrace::runtime {

class Coverage;

struct Totals {  // of a configuration so far, for the journal's counters
  std::uint64_t accesses = 0;
  std::uint64_t instructions = 0;
  std::uint64_t misses = 0;
  Seconds core, exposed, bandwidth_bound, stalled, waited, charged;
  std::uint64_t unseen = 0, dropped = 0;  // as in profile::CountersRecord

  Totals& operator+=(const Totals& more);
  Totals& operator-=(const Totals& less);
};

// Who chooses places.
struct Steering {
  std::string planner{strategy::k_default_variant};  // the variant's name (strategy/variant.hpp)
  std::optional<Plan> plan;                          // given: obeyed from the start
  bool better_plan = false;            // it is, until the planner has made one of the first iteration; else always
  strategy::Hints hints;               // given by the user
  std::uint32_t learn_iterations = 1;  // profiled before planning
  bool first_touch = false;            // what nobody plans for is placed as the kernel would
  bool proves = false;          // what a plan makes slower is undone (strategy/proof/validated_strategy.hpp)
  bool learning_slows = false;  // the program, so that iterations that are learned from prove nothing
  bool record_only = false;     // profile every iteration, plan nothing
  bool keep_exact = false;      // write exact counters of every iteration, too
};

struct ConfigurationParts {
  std::string label;
  const machine::Machine* machine = nullptr;
  InitiatorId initiator = 0;
  double cores = 1;
  machine::Budget budget;
  std::string budget_text;
  Steering steering;
  model::Calibration calibration;
  Seconds sample_interval;
  std::string progress{observe::k_default_progress};  // what segments are cut by
  memory::ChunkTable* chunks = nullptr;
  Clock* clock = nullptr;
  memory::Provider* provider = nullptr;
  transfer::Mover* mover = nullptr;
  memory::Ledger* ledger = nullptr;
  observe::Collector* sampled = nullptr;
  observe::Collector* exact = nullptr;            // null where there is no oracle (a real machine)
  observe::IntervalCollector* watched = nullptr;  // where the variant watches
  Journal* journal = nullptr;
  std::function<Totals()> totals;
  std::function<std::vector<profile::LevelUse>()> levels;  // in virtual time, so far; empty elsewhere
  std::function<profile::FileIoTotals()> spilled;           // so far; empty where no data is in a file
  // Of phases that have times of their own, and whom to tell what an instruction takes from now on.
  observe::CoreTimes core_times;
  std::function<void(Seconds)> instructions_take;
  std::shared_ptr<void> owner;  // keeps what the pointers above point to
};

enum class PhaseSource : std::uint8_t {
  markers,
  functions,
  automatic,  // what is found in the program's calls and loops
  either      // the same, until the program marks its loop itself
};

struct PhaseSpec {
  PhaseSource source = PhaseSource::markers;
  std::vector<std::string> functions{};  // names whose entry begins a phase, the first one an iteration
  std::string loop{};                    // the name of the main loop, or of its function; empty: found
  std::vector<std::string> found{};      // names of its phases, the first one first, as an earlier run found them

  [[nodiscard]] bool follows_loops() const {
    return source == PhaseSource::automatic || source == PhaseSource::either;
  }
};

struct RuntimeParts {
  std::vector<ConfigurationParts> configurations;  // at least one; the first one's clock is the program's
  observe::AddressMap* map = nullptr;              // null when accesses are not observed
  std::function<std::string(std::uint64_t address)> function_name;  // for phases by function entry; may be empty
  ChunkRule chunk_rule;
  PhaseSpec phases;
  std::uint32_t sample_every = 1;  // of the loop's iterations (iteration_sampling.hpp); needs `observe`
  Bytes granule{4096};
  DomainId domain = 0;  // of the program's threads: where its objects' chunks belong
  // Brings every access of the running thread so far to the configurations, as a quantum that is not in stride;
  // may be empty. Called without a lock.
  std::function<void()> bring_accesses;
  std::function<void(bool)> observe;         // whether accesses are wanted from now on; may be empty
  bool observes_outside = true;              // of the main loop: false where only iterations are learned from
  observe::ProgramEvents* events = nullptr;  // hears of all that happens; may be null
  Coverage* coverage = nullptr;              // measures what the hooks see of the program; may be null
  const observe::ProgressVariant* progress = &observe::find_progress(observe::k_default_progress);
  std::mutex* mutex = nullptr;  // of the configurations and what they hear of accesses by; null: the runtime's own
};

}  // namespace terrace::runtime
