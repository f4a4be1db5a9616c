// One configuration of a run: a machine with its clock, memory and budget, and a strategy that decides what
// resides where. The same program events come to all configurations of a run; each carries out what its strategy
// asks for, and keeps a journal of its own.
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
#include "runtime/journalist.hpp"
#include "runtime/left_out.hpp"
#include "runtime/migrations.hpp"
#include "runtime/phase_tracker.hpp"
#include "runtime/profiling.hpp"
#include "runtime/runtime_parts.hpp"
#include "strategy/hints/hints.hpp"

namespace terrace::runtime {

class Configuration {
 public:
  // `objects`: all that there have been, whenever it is asked. It outlives the configuration.
  Configuration(ConfigurationParts parts, DomainId domain, const std::vector<observe::Object>& objects);
  Configuration(const Configuration&) = delete;
  Configuration& operator=(const Configuration&) = delete;

  void object_added(const ObjectMemory& memory) { binding_.add(memory, *strategy_); }
  void object_removed(const observe::Object& object) { binding_.remove(object); }
  // Throws Error{invalid} when the hint makes no sense.
  void hinted(const observe::ProgramHint& hint);

  void loop_begin(const observe::NewLoop& loop);
  // `observed`: iterations of the loop that were observed whole.
  void loop_end(const PhaseTracker& tracker, std::uint32_t observed);
  // `observed`: its accesses were, from the first to the last.
  // `is_late`: it did not begin or end when that was heard of.
  void phase_end(const PhaseTracker& tracker, bool observed, bool is_late);
  // The program has made that many accesses more, and they have been priced. `in_stride`: it goes on, so that a
  // segment may begin here.
  void progressed(const PhaseTracker& tracker, std::uint32_t thread, std::uint64_t accesses, bool in_stride);
  // `begins_iteration`: the phase is the first of an iteration; what the last one taught is used now. `observed`:
  // its accesses will be heard of.
  void phase_begin(const PhaseTracker& tracker, bool begins_iteration, bool observed);
  [[nodiscard]] LeftOut& left_out() { return left_out_; }

  void note(std::string_view severity, std::string_view text) { migrations_.note(severity, text); }
  void loops_seen(const profile::LoopsRecord& loops) { journal_.write(loops); }
  void covered(const profile::CoverageRecord& coverage) { journal_.write(coverage); }
  void finish(std::string_view how);
  [[nodiscard]] bool listens() const { return profiling_.listens(); }
  [[nodiscard]] Seconds now() const { return parts_.clock->now(); }
  [[nodiscard]] const char* place_name(ChunkId chunk) const;

 private:
  [[nodiscard]] std::unique_ptr<strategy::Strategy> start(DomainId domain,
                                                          const std::vector<observe::Object>& objects);
  void give_all_back();
  void note_unused_hints();
  void price(std::string_view phase);
  void write_counters();
  void write_spilled(std::uint32_t iteration);

  ConfigurationParts parts_;
  const std::vector<observe::Object>& objects_;
  Journalist journal_;
  strategy::HintRegistry hints_;
  bool hints_are_new_ = false;         // since a loop began
  std::set<std::string> phase_names_;  // that there have been, where hints are to be held against them
  Migrations migrations_;
  std::unique_ptr<strategy::Strategy> strategy_;
  ChunkBinding binding_;
  Profiling profiling_;
  LeftOut left_out_;
  // Of an instruction, in the phases that there have been, where some have times of their own.
  std::map<std::string, Seconds, std::less<>> core_times_;
  std::uint64_t progress_ = 0;  // accesses into the phase, of all threads
  Seconds phase_begun_;
  Seconds phase_work_begun_;
  std::uint32_t iterations_ = 0;
};

}  // namespace terrace::runtime
