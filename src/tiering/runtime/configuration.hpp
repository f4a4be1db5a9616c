// SPDX-License-Identifier: Apache-2.0
// Implements one configuration of a run: a machine with its clock, memory and budget, and a strategy that places
// the data. Program owns all configurations of a run and passes them the same events; each executes the requests
// of its own strategy and writes its own journal. Not thread-safe: the caller holds the program's lock
// (RuntimeParts::mutex).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profile/profile.hpp"
#include "runtime/chunk_binding.hpp"
#include "runtime/iteration_sampling.hpp"
#include "runtime/journal_writer.hpp"
#include "runtime/migrations.hpp"
#include "runtime/phase_tracker.hpp"
#include "runtime/profiling.hpp"
#include "runtime/runtime_parts.hpp"
#include "runtime/skipped_iteration_estimate.hpp"
#include "strategy/hints/hints.hpp"
#include "strategy/ranks/rank_group.hpp"

namespace terrace::runtime {

class Configuration final : public observe::ProgramEvents {
 public:
  // `objects`, `tracker` and `sampling` are the program's, borrowed: all objects so far, the current phase, and
  // whether it is observed. The program updates them before each event.
  Configuration(ConfigurationParts parts, DomainId domain, const std::vector<observe::Object>& objects,
                const PhaseTracker& tracker, const IterationSampling& sampling);
  Configuration(const Configuration&) = delete;
  Configuration& operator=(const Configuration&) = delete;

  void on_object_added(const observe::NewObject& added) override {
    binding_.add(*added.object, added.chunks_address, added.is_at_home, *strategy_);
  }
  void on_object_removed(ObjectId object) override { binding_.remove(objects_[object]); }
  // Returns whether the object's memory is where it would be without Terrace.
  [[nodiscard]] bool is_at_home(ObjectId object) { return binding_.is_at_home(objects_[object]); }
  void on_hint(const observe::ProgramHint& hint) override;
  void on_loop_begin(const observe::NewLoop& loop) override;
  void on_loop_ending() override;
  void on_phase_begin(std::string_view name) override;
  void on_phase_end(bool is_late) override;
  void on_note(std::string_view severity, std::string_view text) override { migrations_.note(severity, text); }
  void on_coverage(std::span<const std::byte> record) override {
    journal_.append<profile::CoverageRecord>(record);
  }
  void on_loop_candidates(std::span<const std::byte> record) override {
    journal_.append<profile::LoopsRecord>(record);
  }
  void on_mpi_statistics(std::span<const std::byte> record) override {
    journal_.append<profile::MpiRecord>(record);
  }
  void on_finish(std::string_view how) override;

  // Reports `accesses` more, already priced. `in_stride`: the program continues in the phase, so that a segment
  // may begin here.
  void on_progress(std::uint32_t thread, std::uint64_t accesses, bool in_stride);
  // Adds the estimate of the current phase, which was not observed so far.
  void add_skipped_phase() { skipped_estimate_.add_skipped_phase(tracker_); }
  [[nodiscard]] bool wants_accesses() const { return profiling_.wants_accesses(); }
  [[nodiscard]] Seconds now() const { return parts_.clock->now(); }
  [[nodiscard]] const char* place_name(ChunkId chunk) const;

 private:
  [[nodiscard]] std::unique_ptr<strategy::RankGroup> make_rank_group(DomainId domain) const;
  [[nodiscard]] std::unique_ptr<strategy::Strategy> make_strategy(DomainId domain,
                                                                  const std::vector<observe::Object>& objects);
  void release_ledger();
  void note_unused_hints();
  void set_core_time(std::string_view phase);
  void read_phase_clocks(Seconds waited);
  void write_counters();
  void write_spilled(std::uint32_t iteration);

  ConfigurationParts parts_;
  const std::vector<observe::Object>& objects_;
  const PhaseTracker& tracker_;
  const IterationSampling& sampling_;
  JournalWriter journal_;
  strategy::HintRegistry hints_;
  bool hints_are_new_ = false;         // since a loop began
  std::set<std::string> phase_names_;  // so far, if there are hints, whose phase names are checked against them
  Migrations migrations_;
  std::unique_ptr<strategy::RankGroup> ranks_;  // outlives the strategy
  std::unique_ptr<strategy::Strategy> strategy_;
  ChunkBinding binding_;
  Profiling profiling_;
  SkippedIterationEstimate skipped_estimate_;
  // Time of an instruction, by phase so far, if some phases have their own.
  std::map<std::string, Seconds, std::less<>> core_times_;
  std::uint64_t progress_ = 0;  // accesses since the phase began, of all threads
  Seconds phase_begun_;
  Seconds phase_work_begun_;
  Seconds phase_in_mpi_begun_;
  std::optional<std::pair<Seconds, Seconds>> phase_ended_;  // time and work at the end of the phase before
  std::uint32_t iterations_ = 0;
};

}  // namespace terrace::runtime
