// SPDX-License-Identifier: Apache-2.0
// Declares what a Runtime is assembled from. The agent's start-up and replay fill it in; the runtime's own parts
// read it.
//
// One program may run in several configurations at a time. Each is a machine with its own clock, memory, budget
// and strategy; all receive the same objects, phases and quanta (batches of one thread's misses). A real run has
// one. A simulation may have many, because cache misses do not depend on where data resides: one execution prices
// many machines, budgets and strategies.
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

struct CounterTotals {  // counters of a configuration so far, for the journal
  std::uint64_t accesses = 0;
  std::uint64_t instructions = 0;
  std::uint64_t misses = 0;
  Seconds core, exposed, bandwidth_bound, stalled, waited, charged;
  std::uint64_t unseen = 0, dropped = 0;  // as in profile::CountersRecord

  CounterTotals& operator+=(const CounterTotals& more);
  CounterTotals& operator-=(const CounterTotals& less);
};

// Options of the placement strategy.
struct PlacementOptions {
  std::string planner{strategy::k_default_variant};  // the variant's name (strategy/variant.hpp)
  std::optional<Plan> plan;                          // given by the user; applied from the start
  bool refine_plan = false;  // refine `plan` after the first iteration instead of following it throughout
  strategy::Hints hints;     // given by the user
  std::uint32_t learn_iterations = 1;    // profiled before planning
  bool first_touch = false;              // unplanned data is placed as the kernel would
  bool undoes_losing_plans = false;      // undo plans that make the program slower (strategy/proof/)
  bool profiling_slows_program = false;  // those iterations are excluded from that comparison
  bool record_only = false;              // profile every iteration, plan nothing
  bool keep_exact = false;               // also write exact counters of every iteration
};

struct ConfigurationParts {
  std::string label;
  const machine::Machine* machine = nullptr;
  InitiatorId initiator = 0;
  double cores = 1;
  machine::Budget budget;
  std::string budget_text;
  PlacementOptions placement;
  model::Calibration calibration;
  Seconds sample_interval;
  std::string progress{observe::k_default_progress};  // measure by which phases are cut into segments
  memory::ChunkTable* chunks = nullptr;
  Clock* clock = nullptr;
  memory::Provider* provider = nullptr;
  transfer::Mover* mover = nullptr;
  memory::Ledger* ledger = nullptr;
  std::optional<std::uint32_t> rank{};  // of the process in its MPI job, if its ranks share the ledger
  observe::Collector* sampled = nullptr;
  observe::Collector* exact = nullptr;            // null on a real machine, which has no exact counts
  observe::IntervalCollector* watched = nullptr;  // null unless the strategy observes intervals
  Journal* journal = nullptr;
  std::function<CounterTotals()> totals;
  std::function<std::vector<profile::LevelUse>()> levels;  // in virtual time, so far; empty elsewhere
  std::function<profile::FileIoTotals()> spilled;          // so far; empty if no data is in a file
  // Phases with their own time of an instruction, and the callback that sets the current time of an instruction.
  observe::CoreTimes core_times;
  std::function<void(Seconds)> instructions_take;
  std::shared_ptr<void> owner;  // keeps the objects of the pointers above alive
};

enum class PhaseSource : std::uint8_t {
  markers,
  functions,
  automatic,  // detected in the program's calls and loops
  either      // detected, until the program calls a marker
};

struct PhaseSpec {
  PhaseSource source = PhaseSource::markers;
  std::vector<std::string> functions{};  // names whose entry begins a phase; the first one begins an iteration
  std::string loop{};                    // name of the main loop, or of its function; empty: detect it
  std::vector<std::string> found{};      // names of its phases, the first one first, from an earlier run

  [[nodiscard]] bool detects_loops() const {
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
  DomainId domain = 0;                // of the program's threads; the default domain of its objects' chunks
  std::function<void(bool)> observe;  // enables or disables the observation of accesses; may be empty
  bool observes_outside = true;       // of the main loop; false if only iterations are used
  // Receive every event after the configurations, in this order; borrowed.
  std::vector<observe::ProgramEvents*> listeners;
  // Returns the hooks' coverage so far; empty if it is not measured.
  std::function<std::optional<profile::CoverageRecord>()> coverage;
  const observe::ProgressVariant* progress = &observe::find_progress(observe::k_default_progress);
  // The program lock: protects the configurations and their sinks of accesses. Null: the runtime's own. It is not
  // held while an event flushes the thread's pipeline.
  std::mutex* mutex = nullptr;
};

}  // namespace terrace::runtime
