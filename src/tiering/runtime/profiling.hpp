// SPDX-License-Identifier: Apache-2.0
// Profiles a configuration: activates its collectors, cuts phases into segments, writes iterations to the journal
// and passes those that the strategy wants to it. Configuration owns one. Not thread-safe: the caller holds the
// program's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/journal_writer.hpp"
#include "runtime/phase_tracker.hpp"
#include "runtime/runtime_parts.hpp"
#include "runtime/segmenter.hpp"
#include "strategy/strategy.hpp"

namespace terrace::runtime {

class Profiling {
 public:
  // All arguments are borrowed and outlive this object.
  Profiling(const ConfigurationParts& parts, JournalWriter& journal, strategy::Strategy& strategy,
            strategy::Requests& requests);

  void begin_loop();
  void end_loop();
  // `observed`: the accesses of the iteration are reported from its first phase on.
  void begin_iteration(std::uint32_t iteration, bool observed);
  void end_iteration();
  void begin_phase(const PhaseTracker& tracker);
  void end_phase(const PhaseTracker& tracker, Seconds at);
  // Reports `progress` accesses since the phase began. A segment may end here if the program is in stride.
  void on_progress(const PhaseTracker& tracker, std::uint32_t thread, std::uint64_t progress, bool in_stride);
  // Returns whether the accesses of this iteration are used at all.
  [[nodiscard]] bool wants_accesses() const { return parts_.exact != nullptr || wants_profile(); }

 private:
  // Set by the strategy, or because every iteration is recorded.
  [[nodiscard]] bool wants_profile() const {
    return parts_.sampled != nullptr && (parts_.placement.record_only || strategy_.wants_profile());
  }
  template <class Work>
  void with_collectors(Work work) {
    if (parts_.sampled) work(*parts_.sampled);
    if (parts_.exact) work(*parts_.exact);
  }
  void set_active(bool sampled, bool exact);
  void snapshot_places();
  std::vector<PlaceId> places_to_write();
  void report_segment(const PhaseTracker& tracker);
  void begin_segment();
  Seconds charge_sampling_cost();

  const ConfigurationParts& parts_;
  JournalWriter& journal_;
  strategy::Strategy& strategy_;
  strategy::Requests& requests_;
  Segmenter segmenter_;
  bool was_wanted_ = false;                    // in the iteration before
  bool collecting_ = false;                    // a collector is active in this iteration
  bool is_observed_ = true;                    // this iteration, from its first phase on
  std::optional<std::uint32_t> first_thread_;  // to end a quantum in this phase
  Seconds segment_begun_;
  Seconds sampling_cost_;                 // since then, on the first thread's clock: excluded from the profile
  std::vector<PlaceId> places_at_start_;  // by chunk, when the profiled iteration began
  // Change counts of the chunk table: when places_at_start_ was taken, and of what the journal has.
  std::optional<std::uint64_t> places_version_, written_version_;
};

}  // namespace terrace::runtime
