// SPDX-License-Identifier: Apache-2.0
// Drives the collectors of one configuration: activates them, cuts phases into segments, writes profiles of
// iterations. Called by Configuration. See profiling.hpp.
#include "runtime/profiling.hpp"

#include <utility>

#include "core/segment_name.hpp"

namespace terrace::runtime {

Profiling::Profiling(const ConfigurationParts& parts, JournalWriter& journal, strategy::Strategy& strategy,
                     strategy::Requests& requests)
    : parts_(parts), journal_(journal), strategy_(strategy), requests_(requests) {
  set_active(false, false);
}

void Profiling::set_active(bool sampled, bool exact) {
  if (parts_.sampled) parts_.sampled->set_active(sampled);
  if (parts_.exact) parts_.exact->set_active(exact);
}

void Profiling::begin_loop() {
  segmenter_.reset();
  was_wanted_ = false;
  with_collectors([](observe::Collector& collector) { collector.on_loop_begin(); });
}

void Profiling::end_loop() { set_active(false, false); }

// Resets the cuts after a pause, because phases may differ then.
void Profiling::begin_iteration(std::uint32_t iteration, bool observed) {
  const bool is_wanted = wants_profile();
  if (is_wanted && !std::exchange(was_wanted_, is_wanted)) segmenter_.reset();
  was_wanted_ = is_wanted;
  is_observed_ = observed;
  const bool sample = observed && is_wanted;
  const bool count = observed && parts_.placement.keep_exact;
  collecting_ = sample || count;
  set_active(sample, count);
  if (sample) parts_.sampled->set_thinning(parts_.placement.record_only ? 1 : strategy_.profile_thinning());
  if (collecting_) snapshot_places();
  with_collectors([&](observe::Collector& collector) { collector.begin_iteration(iteration); });
}

// Writes the profiles of the iteration to the journal, and passes the sampled one to the strategy.
void Profiling::end_iteration() {
  if (!is_observed_) return;
  if (wants_profile()) {
    profile::IterationRecord record{false, parts_.sampled->take_iteration(), places_to_write(),
                                    strategy_.moved_while_profiled()};
    charge_sampling_cost();
    journal_.write(record);
    strategy_.on_event(strategy::IterationProfiled{record.iteration, places_at_start_}, requests_);
  }
  if (parts_.exact && parts_.placement.keep_exact)
    journal_.write(profile::IterationRecord{true, parts_.exact->take_iteration(), places_to_write()});
}

void Profiling::begin_phase(const PhaseTracker& tracker) {
  first_thread_.reset();
  if (!collecting_) return;
  segmenter_.begin_phase(tracker.index());
  begin_segment();
  with_collectors([&](observe::Collector& collector) { collector.begin_phase(tracker.phase()); });
}

// Concurrent threads have clocks of their own: all of them have advanced between two quanta of the same thread, so
// only the first thread cuts segments. Nothing waits at a cut, because the program is in the middle of its work.
void Profiling::on_progress(const PhaseTracker& tracker, std::uint32_t thread, std::uint64_t progress,
                            bool in_stride) {
  if (!first_thread_) first_thread_ = thread;
  if (!collecting_) return;
  const auto cost = charge_sampling_cost();
  if (thread != *first_thread_) return;
  sampling_cost_ += cost;
  if (!in_stride) return;
  const auto time = parts_.clock->now() - segment_begun_ - sampling_cost_;
  const auto cut = segmenter_.on_progress(progress, time);
  if (!cut.ends) return;
  with_collectors([&](observe::Collector& collector) { collector.end_phase(time); });
  report_segment(tracker);
  charge_sampling_cost();
  with_collectors([&](observe::Collector& collector) {
    if (cut.merge) collector.merge(cut.closed - 1 - *cut.merge);
    collector.begin_phase(segment_name(tracker.phase(), segmenter_.offset()));
  });
  begin_segment();
}

void Profiling::end_phase(const PhaseTracker& tracker, Seconds at) {
  if (!collecting_) return;
  const auto missed = segmenter_.end_phase();
  with_collectors(
      [&](observe::Collector& collector) { collector.end_phase(at - segment_begun_ - sampling_cost_); });
  report_segment(tracker);
  charge_sampling_cost();
  with_collectors([&](observe::Collector& collector) {
    for (const auto offset : missed) {
      collector.begin_phase(segment_name(tracker.phase(), offset));
      collector.end_phase(Seconds{});
    }
  });
}

void Profiling::begin_segment() {
  segment_begun_ = parts_.clock->now();
  sampling_cost_ = {};
}

// Charges the clock of the running thread, because each thread takes its own samples.
Seconds Profiling::charge_sampling_cost() {
  if (!parts_.sampled || !parts_.sampled->active()) return {};
  const auto cost = parts_.sampled->take_cost();
  parts_.clock->charge(cost);
  return cost;
}

void Profiling::report_segment(const PhaseTracker& tracker) {
  if (!parts_.sampled || !parts_.sampled->active()) return;
  if (const auto* segment = parts_.sampled->last_phase())
    strategy_.on_event(strategy::SegmentProfiled{*segment, tracker.index(), tracker.iteration()}, requests_);
}

// Copies only after changes: most iterations find all data where the one before did, and there may be 100,000
// chunks.
void Profiling::snapshot_places() {
  const auto changes = parts_.chunks->changes();
  if (places_version_ == changes) return;
  places_version_ = changes;
  places_at_start_.clear();
  for (const auto& chunk : *parts_.chunks) places_at_start_.push_back(chunk.place.load(std::memory_order_relaxed));
}

std::vector<PlaceId> Profiling::places_to_write() {
  if (written_version_ == places_version_) return {};
  written_version_ = places_version_;
  return places_at_start_;
}

}  // namespace terrace::runtime
