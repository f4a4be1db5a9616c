// See profiling.hpp.
#include "runtime/profiling.hpp"

#include <utility>

#include "core/segment_name.hpp"

namespace terrace::runtime {

Profiling::Profiling(const ConfigurationParts& parts, Journalist& journal, strategy::Strategy& strategy,
                     strategy::Requests& requests)
    : parts_(parts), journal_(journal), strategy_(strategy), requests_(requests) {
  set_active(false, false);
}

void Profiling::set_active(bool sampled, bool exact) {
  if (parts_.sampled) parts_.sampled->set_active(sampled);
  if (parts_.exact) parts_.exact->set_active(exact);
}

void Profiling::begin_loop() {
  segmenter_.forget();
  was_wanted_ = false;
  with_collectors([](observe::Collector& collector) { collector.loop_begun(); });
}

void Profiling::end_loop() { set_active(false, false); }

// Phases that are profiled after a pause may be others: their cuts are found anew.
void Profiling::begin_iteration(std::uint32_t iteration, bool heard) {
  const bool now_wanted = wanted();
  if (now_wanted && !std::exchange(was_wanted_, now_wanted)) segmenter_.forget();
  was_wanted_ = now_wanted;
  heard_ = heard;
  const bool sample = heard && now_wanted;
  const bool count = heard && parts_.steering.keep_exact;
  collecting_ = sample || count;
  set_active(sample, count);
  if (sample) parts_.sampled->set_thinning(parts_.steering.record_only ? 1 : strategy_.profile_thinning());
  if (collecting_) note_places();
  with_collectors([&](observe::Collector& collector) { collector.begin_iteration(iteration); });
}

void Profiling::end_iteration() {
  if (!heard_) return;
  if (wanted()) {
    profile::IterationRecord record{false, parts_.sampled->take_iteration(), places_to_write(),
                                    strategy_.moved_while_profiled()};
    pay_for_samples();
    journal_.write(record);
    strategy_.observe(strategy::IterationProfiled{record.iteration, places_at_start_}, requests_);
  }
  if (parts_.exact && parts_.steering.keep_exact)
    journal_.write(profile::IterationRecord{true, parts_.exact->take_iteration(), places_to_write()});
}

void Profiling::begin_phase(const PhaseTracker& tracker) {
  first_thread_.reset();
  if (!collecting_) return;
  segmenter_.begin_phase(tracker.index());
  begin_segment();
  with_collectors([&](observe::Collector& collector) { collector.begin_phase(tracker.phase()); });
}

// Of threads that run side by side each has its clock: from one turn of the same thread to the next all of them
// have gone on. Nothing waits at a segment: the program is in the middle of its work there.
void Profiling::progressed(const PhaseTracker& tracker, std::uint32_t thread, std::uint64_t progress,
                           bool in_stride) {
  if (!first_thread_) first_thread_ = thread;
  if (!collecting_) return;
  const auto paid = pay_for_samples();
  if (thread != *first_thread_) return;
  paid_ += paid;
  if (!in_stride) return;
  const auto time = parts_.clock->now() - segment_begun_ - paid_;
  const auto cut = segmenter_.progressed(progress, time);
  if (!cut.ends) return;
  with_collectors([&](observe::Collector& collector) { collector.end_phase(time); });
  tell_stretch(tracker);
  pay_for_samples();
  with_collectors([&](observe::Collector& collector) {
    if (cut.merge) collector.merge(cut.closed - 1 - *cut.merge);
    collector.begin_phase(segment_name(tracker.phase(), segmenter_.offset()));
  });
  begin_segment();
}

void Profiling::end_phase(const PhaseTracker& tracker, Seconds at) {
  if (!collecting_) return;
  const auto missed = segmenter_.end_phase();
  with_collectors([&](observe::Collector& collector) { collector.end_phase(at - segment_begun_ - paid_); });
  tell_stretch(tracker);
  pay_for_samples();
  with_collectors([&](observe::Collector& collector) {
    for (const auto offset : missed) {
      collector.begin_phase(segment_name(tracker.phase(), offset));
      collector.end_phase(Seconds{});
    }
  });
}

void Profiling::begin_segment() {
  segment_begun_ = parts_.clock->now();
  paid_ = {};
}

// On the clock of the thread that runs: each thread takes its own samples.
Seconds Profiling::pay_for_samples() {
  if (!parts_.sampled || !parts_.sampled->active()) return {};
  const auto cost = parts_.sampled->take_cost();
  parts_.clock->charge(cost);
  return cost;
}

void Profiling::tell_stretch(const PhaseTracker& tracker) {
  if (!parts_.sampled || !parts_.sampled->active()) return;
  if (const auto* stretch = parts_.sampled->last_phase())
    strategy_.observe(strategy::SegmentProfiled{*stretch, tracker.index(), tracker.iteration()}, requests_);
}

// Most iterations find everything where the one before found it; there may be a hundred thousand chunks.
void Profiling::note_places() {
  const auto changes = parts_.chunks->changes();
  if (places_as_of_ == changes) return;
  places_as_of_ = changes;
  places_at_start_.clear();
  for (const auto& chunk : *parts_.chunks) places_at_start_.push_back(chunk.place.load(std::memory_order_relaxed));
}

std::vector<PlaceId> Profiling::places_to_write() {
  if (places_written_as_of_ == places_as_of_) return {};
  places_written_as_of_ = places_as_of_;
  return places_at_start_;
}

}  // namespace terrace::runtime
