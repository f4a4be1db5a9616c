// Profiles a configuration: turns its collectors on and off, cuts phases into segments, writes iterations down and
// hands those that the strategy wants to it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/journalist.hpp"
#include "runtime/phase_tracker.hpp"
#include "runtime/runtime_parts.hpp"
#include "runtime/segmenter.hpp"
#include "strategy/strategy.hpp"

namespace terrace::runtime {

class Profiling {
 public:
  // All outlive it.
  Profiling(const ConfigurationParts& parts, Journalist& journal, strategy::Strategy& strategy,
            strategy::Requests& requests);

  void begin_loop();
  void end_loop();
  // The accesses of the iteration are heard of from its first phase on, or are not.
  void begin_iteration(std::uint32_t iteration, bool heard);
  void end_iteration();
  void begin_phase(const PhaseTracker& tracker);
  void end_phase(const PhaseTracker& tracker, Seconds at);
  // `progress`: accesses into the phase. A segment may end here where the program is in stride.
  void progressed(const PhaseTracker& tracker, std::uint32_t thread, std::uint64_t progress, bool in_stride);
  // Whether anything is made of the accesses of this iteration.
  [[nodiscard]] bool listens() const { return parts_.exact != nullptr || wanted(); }

 private:
  // By the strategy, or because every iteration is recorded.
  [[nodiscard]] bool wanted() const {
    return parts_.sampled != nullptr && (parts_.steering.record_only || strategy_.wants_profile());
  }
  template <class Work>
  void with_collectors(Work work) {
    if (parts_.sampled) work(*parts_.sampled);
    if (parts_.exact) work(*parts_.exact);
  }
  void set_active(bool sampled, bool exact);
  void note_places();
  std::vector<PlaceId> places_to_write();
  void tell_stretch(const PhaseTracker& tracker);
  void begin_segment();
  Seconds pay_for_samples();

  const ConfigurationParts& parts_;
  Journalist& journal_;
  strategy::Strategy& strategy_;
  strategy::Requests& requests_;
  Segmenter segmenter_;
  bool was_wanted_ = false;                    // in the iteration before
  bool collecting_ = false;                    // a collector listens to this iteration
  bool heard_ = true;                          // this iteration, from its first phase on
  std::optional<std::uint32_t> first_thread_;  // to end a quantum in this phase
  Seconds segment_begun_;
  Seconds paid_;                          // for samples since then, by the first thread: no part of the profile
  std::vector<PlaceId> places_at_start_;  // by chunk, when the profiled iteration began
  // They are as the table was after so many changes; and what the journal has of them.
  std::optional<std::uint64_t> places_as_of_, places_written_as_of_;
};

}  // namespace terrace::runtime
