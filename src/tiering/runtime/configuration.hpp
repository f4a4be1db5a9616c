// SPDX-License-Identifier: Apache-2.0
// Implements one configuration of a run: a machine with its clock, memory and budget, and a strategy that places
// the data. All configurations of a run receive the same program events; each executes the requests of its own
// strategy and writes its own journal. Not thread-safe: the caller holds the program's lock (RuntimeParts::mutex).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.hpp"
#include "runtime/chunk_binding.hpp"
#include "runtime/journal_writer.hpp"
#include "runtime/migrations.hpp"
#include "runtime/phase_tracker.hpp"
#include "runtime/profiling.hpp"
#include "runtime/runtime_parts.hpp"
#include "runtime/skipped_iteration_estimate.hpp"
#include "strategy/hints/hints.hpp"

namespace terrace::runtime {

class Configuration {
 public:
  // `objects`: all objects so far, borrowed; it grows during the run and outlives the configuration.
  Configuration(ConfigurationParts parts, DomainId domain, const std::vector<observe::Object>& objects);
  Configuration(const Configuration&) = delete;
  Configuration& operator=(const Configuration&) = delete;

  void on_object_added(const ObjectMemory& memory) { binding_.add(memory, *strategy_); }
  void on_object_removed(const observe::Object& object) { binding_.remove(object); }
  // Throws Error{invalid} if the hint is malformed.
  void on_hint(const observe::ProgramHint& hint);

  void loop_begin(const observe::NewLoop& loop);
  // `num_observed`: iterations of the loop that were observed whole.
  void loop_end(const PhaseTracker& tracker, std::uint32_t num_observed);
  // `observed`: all accesses of the phase were observed. `is_late`: its begin or its end was reported late.
  void phase_end(const PhaseTracker& tracker, bool observed, bool is_late);
  // Reports `accesses` more, already priced. `in_stride`: the program continues in the phase, so that a segment
  // may begin here.
  void on_progress(const PhaseTracker& tracker, std::uint32_t thread, std::uint64_t accesses, bool in_stride);
  // `begins_iteration`: the phase is the first of an iteration, and what the last iteration taught is used now.
  // `observed`: the accesses of the phase will be observed.
  void phase_begin(const PhaseTracker& tracker, bool begins_iteration, bool observed);
  [[nodiscard]] SkippedIterationEstimate& skipped_estimate() { return skipped_estimate_; }

  void note(std::string_view severity, std::string_view text) { migrations_.note(severity, text); }
  void write_loops(const profile::LoopsRecord& loops) { journal_.write(loops); }
  void write_coverage(const profile::CoverageRecord& coverage) { journal_.write(coverage); }
  void finish(std::string_view how);
  [[nodiscard]] bool wants_accesses() const { return profiling_.wants_accesses(); }
  [[nodiscard]] Seconds now() const { return parts_.clock->now(); }
  [[nodiscard]] const char* place_name(ChunkId chunk) const;

 private:
  [[nodiscard]] std::unique_ptr<strategy::Strategy> make_strategy(DomainId domain,
                                                                  const std::vector<observe::Object>& objects);
  void release_ledger();
  void note_unused_hints();
  void set_core_time(std::string_view phase);
  void write_counters();
  void write_spilled(std::uint32_t iteration);

  ConfigurationParts parts_;
  const std::vector<observe::Object>& objects_;
  JournalWriter journal_;
  strategy::HintRegistry hints_;
  bool hints_are_new_ = false;         // since a loop began
  std::set<std::string> phase_names_;  // so far, if there are hints, whose phase names are checked against them
  Migrations migrations_;
  std::unique_ptr<strategy::Strategy> strategy_;
  ChunkBinding binding_;
  Profiling profiling_;
  SkippedIterationEstimate skipped_estimate_;
  // Time of an instruction, by phase so far, if some phases have their own.
  std::map<std::string, Seconds, std::less<>> core_times_;
  std::uint64_t progress_ = 0;  // accesses since the phase began, of all threads
  Seconds phase_begun_;
  Seconds phase_work_begun_;
  std::uint32_t iterations_ = 0;
};

}  // namespace terrace::runtime
