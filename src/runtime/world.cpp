// One world: settling, learning, moving, writing down. See world.hpp.
#include "runtime/world.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/segment_name.hpp"
#include "model/costs.hpp"
#include "strategy/planner.hpp"

namespace terrace::runtime {

namespace {

// Where a planner interleaves, memory takes turns as it is made.
std::optional<strategy::RoundRobin> turns_of(std::string_view planner, const WorldParts& parts, DomainId domain) {
  const bool weighted = planner == strategy::k_weighted_interleave;
  if (!weighted && planner != strategy::k_interleave) return std::nullopt;
  const auto& places = parts.machine->fastest_first(domain);
  std::vector<double> bandwidths;
  bandwidths.reserve(places.size());
  for (const auto place : places) {
    const auto& path = parts.machine->path(parts.initiator, place);
    bandwidths.push_back(std::min(path.read.value, path.write.value));
  }
  return strategy::round_robin(weighted, places, bandwidths);
}

}  // namespace

World::World(WorldParts parts, Bytes granule, DomainId domain)
    : parts_(std::move(parts)),
      domain_(domain),
      granule_(granule),
      journal_(*parts_.journal),
      hints_(parts_.steering.hints),
      hints_are_new_(!hints_.empty()) {
  turns_ = turns_of(parts_.steering.planner, parts_, domain_);
  if (const auto& plan = parts_.steering.plan) {
    journal_.write(profile::PlanRecord{*plan, now(), "given by --plan"});
    active_ = strategy::ActivePlan(*plan, *parts_.machine, domain_);
    has_plan_ = true;
  }
  if (parts_.sampled) parts_.sampled->set_active(false);
  if (parts_.exact) parts_.exact->set_active(false);
  price(observe::k_before_loop);
}

World::Stretch World::initial_stretch(const observe::Object& object, std::uint32_t ordinal,
                                      const std::vector<observe::Object>& objects) {
  const auto left = object.chunks - ordinal;
  const auto home = parts_.machine->home(domain_);
  const auto& planner = parts_.steering.planner;
  if (has_plan_) {
    const auto planned = active_.initial_place(object, ordinal);
    std::uint32_t same = 1;
    while (same < left && active_.initial_place(object, ordinal + same) == planned) ++same;
    return {planned == k_no_place ? home : planned, same};
  }
  if (planner == "fast-only") return {parts_.machine->fastest_first(domain_).front(), left};
  if (turns_) return {turns_->next(), 1};
  if (hints_.has_counts() && heeds_counts()) return counted_stretch(object, ordinal, objects);
  // Who corrects placement while the program runs may begin as the kernel does: learning then costs less.
  const bool learns = !parts_.steering.record_only && !parts_.steering.learn_at_home && learning(0);
  const bool corrects = parts_.policy || learns;
  if (planner == "first-touch" || corrects) {
    for (const auto place : parts_.machine->fastest_first(domain_)) {
      const auto room = parts_.ledger->available(place).value / object.chunk_size.value;
      if (room > 0) return {place, static_cast<std::uint32_t>(std::min<std::uint64_t>(room, left))};
    }
  }
  return {home, left};
}

// Takes room for as many of the chunks, from the first on, as the place has room for. Returns the first without.
ChunkId World::take_room(ChunkId first, ChunkId end, PlaceId place) {
  const auto& chunks = *parts_.chunks;
  const auto room = parts_.ledger->available(place).value;
  std::uint64_t wanted = 0;
  auto stop = first;
  for (; stop < end && wanted + chunks[stop].size <= room; ++stop) wanted += chunks[stop].size;
  if (stop == first || parts_.ledger->take(place, Bytes{wanted})) return stop;
  // Another process of the job was quicker.
  stop = first;
  while (stop < end && parts_.ledger->take(place, Bytes{chunks[stop].size})) ++stop;
  return stop;
}

void World::settle(ChunkId first, std::uint32_t count, PlaceId place) {
  auto& chunks = *parts_.chunks;
  const auto home = parts_.machine->home(domain_);
  // Neighbours go to the system in one call; what the ledger has no room for lies at home.
  ChunkId begin = first;
  const auto end = first + count;
  while (begin < end) {
    auto target = place;
    auto held = take_room(begin, end, place);
    auto stop = held;
    if (held == begin) {  // and there is none for what follows and is as large
      for (stop = begin + 1; stop < end && chunks[stop].size >= chunks[begin].size;) ++stop;
      target = home;
      if (place != home) held = take_room(begin, stop, home);
    }
    const bool settled = parts_.backing->settle(begin, stop - begin, target);
    for (auto chunk = begin; chunk < stop; ++chunk) {
      if (settled)
        chunks.put(chunks[chunk], target);
      else if (chunk < held)
        parts_.ledger->give(target, Bytes{chunks[chunk].size});
    }
    if (!settled) note_refusal("lets no memory be put on " + parts_.machine->place(target).name);
    begin = stop;
  }
}

void World::object_added(const ObjectMemory& memory, const std::vector<observe::Object>& objects) {
  const auto& object = memory.object;
  if (has_plan_) bind(object);
  first_chunks_.push_back(object.first_chunk);
  for (std::uint32_t i = 0; i < object.chunks; ++i) {
    const auto offset = i * object.chunk_size.value;
    const auto size = std::min(object.chunk_size.value, object.size.value - offset);
    parts_.chunks->add(memory.address + offset, static_cast<std::uint32_t>(size), object.id, domain_, k_no_place);
  }
  for (std::uint32_t settled = 0; settled < object.chunks;) {
    const auto stretch = initial_stretch(object, settled, objects);
    settle(object.first_chunk + settled, stretch.chunks, stretch.place);
    settled += stretch.chunks;
  }
  const auto end = object.first_chunk + object.chunks;
  profile::ObjectRecord record{object, now(), {}, memory.address};
  for (auto chunk = object.first_chunk; chunk < end; ++chunk)
    record.places.push_back((*parts_.chunks)[chunk].place.load(std::memory_order_relaxed));
  journal_.write(record);
}

void World::object_removed(const observe::Object& object) {
  parts_.mover->forget(object.first_chunk, object.chunks);
  harvest();
  std::vector<std::uint64_t> freed(parts_.machine->places().size(), 0);
  for (std::uint32_t i = 0; i < object.chunks; ++i) {
    auto& chunk = (*parts_.chunks)[object.first_chunk + i];
    if (const auto place = chunk.place.load(std::memory_order_relaxed); place != k_no_place)
      freed[place] += chunk.size;
    chunk.live = false;
  }
  for (std::size_t place = 0; place < freed.size(); ++place)
    if (freed[place] > 0) parts_.ledger->give(static_cast<PlaceId>(place), Bytes{freed[place]});
  journal_.write(profile::ObjectEndRecord{object.id, now()});
}

void World::bind(const observe::Object& object) {
  active_.bind(object);
  for (const auto& text : active_.take_notes()) note("note", text);
}

bool World::learning(std::uint32_t iteration) const {
  if (!parts_.sampled) return false;
  if (parts_.steering.record_only) return true;
  if (has_plan_ || iteration >= parts_.steering.learn_iterations) return false;
  return !parts_.policy && strategy::find_planner(parts_.steering.planner).needs_profile();
}

void World::loop_begin(const PhaseTracker& tracker, const std::vector<observe::Object>& objects) {
  journal_.write(profile::LoopRecord{tracker.loop(), now()});
  learned_.clear();
  coming_.clear();
  segmenter_.forget();
  measured_.clear();
  plan_phase_.reset();
  pace(1);
  policy_watches_ = false;
  passed_.clear();
  strayed_ = false;
  variation_.forget();
  again_ = false;
  last_arrival_.reset();
  early_.reset();
  moved_early_ = false;
  iterations_ = 0;
  price(observe::k_before_loop);
  if (!parts_.steering.plan || bettered_) has_plan_ = false;  // a second loop is learned anew
  place_counted(objects);
}

void World::progressed(const PhaseTracker& tracker, std::uint32_t thread, std::uint64_t accesses, bool in_stride) {
  progress_ += accesses;
  plan_progress_ += accesses;
  if (parts_.policy) heed_policy(tracker);
  if (!first_thread_) first_thread_ = thread;
  if (!in_stride) return;
  // Of threads that run side by side each has its clock: from one turn of the same thread to the next all of them
  // have gone on.
  if (collecting_ && thread == *first_thread_) cut_segment(tracker);
  if (!plan_phase_) return;
  go_on(tracker);
}

// Nothing waits at a segment: the program is in the middle of its work there.
void World::cut_segment(const PhaseTracker& tracker) {
  const auto at = now();
  const auto cut = segmenter_.progressed(progress_, at - segment_begun_);
  if (!cut.ends) return;
  with_collectors([&](observe::Collector& collector) { collector.end_phase(at - segment_begun_); });
  move_early(tracker);
  with_collectors([&](observe::Collector& collector) {
    if (cut.merge) collector.merge(cut.closed - 1 - *cut.merge);
    collector.begin_phase(segment_name(tracker.phase(), segmenter_.offset()));
  });
  segment_begun_ = at;
}

void World::phase_end(const PhaseTracker& tracker, bool followed) {
  const auto at = now();
  if (parts_.steering.plan && tracker.iteration() == 0) passed_.push_back({tracker.phase(), progress_});
  variation_.phase_ended(tracker.index(), tracker.phase(), at - phase_begun_);
  if (collecting_) {
    const auto missed = segmenter_.end_phase();
    with_collectors([&](observe::Collector& collector) { collector.end_phase(at - segment_begun_); });
    move_early(tracker);
    with_collectors([&](observe::Collector& collector) {
      for (const auto offset : missed) {
        collector.begin_phase(segment_name(tracker.phase(), offset));
        collector.end_phase(Seconds{});
      }
    });
  }
  journal_.write(profile::PhaseRecord{tracker.iteration(), tracker.index(), tracker.phase(), phase_begun_, at,
                                      phase_waited_, followed});
}

// Most iterations find everything where the one before found it; there may be a hundred thousand chunks.
void World::note_places() {
  const auto changes = parts_.chunks->changes();
  if (places_as_of_ == changes) return;
  places_as_of_ = changes;
  places_at_start_.clear();
  for (const auto& chunk : *parts_.chunks) places_at_start_.push_back(chunk.place.load(std::memory_order_relaxed));
}

std::vector<PlaceId> World::places_to_write() {
  if (places_written_as_of_ == places_as_of_) return {};
  places_written_as_of_ = places_as_of_;
  return places_at_start_;
}

void World::end_iteration(std::uint32_t iteration) {
  if (!followed_whole_) return;
  if (again_ || learning(iteration)) {
    profile::IterationRecord record{false, parts_.sampled->take_iteration(), places_to_write(),
                                    again_ || moved_early_};
    journal_.write(record);
    learned_.push_back(std::move(record.iteration));
  }
  if (parts_.exact && parts_.steering.keep_exact)
    journal_.write(profile::IterationRecord{true, parts_.exact->take_iteration(), places_to_write()});
}

void World::phase_begin(const PhaseTracker& tracker, bool begins_iteration, bool followed,
                        const std::vector<observe::Object>& objects) {
  price(tracker.phase());
  parts_.clock->charge(model::k_marker_cost);
  if (begins_iteration) steer(tracker, followed, objects);
  if (!again_) adopt_what_came(tracker, objects);
  if (!hints_.empty()) phase_names_.insert(tracker.phase());
  phase_begun_ = now();
  phase_waited_ = Seconds{};
  progress_ = plan_progress_ = 0;
  first_thread_.reset();
  write_moves();
  if (has_plan_) run_moves(tracker);
  if (!collecting_) return;
  segmenter_.begin_phase(tracker.index());
  segment_begun_ = now();
  with_collectors([&](observe::Collector& collector) { collector.begin_phase(tracker.phase()); });
}

void World::loop_end(const PhaseTracker& tracker, std::uint32_t followed) {
  write_moves();
  if (iterations_ > 0) end_iteration(tracker.iteration());
  if (parts_.sampled) parts_.sampled->set_active(false);
  if (parts_.exact) parts_.exact->set_active(false);
  journal_.write(profile::LoopEndRecord{now(), iterations_, followed});
  write_counters();
  price(observe::k_after_loop);
}

// Each quantum is priced as one of the phase in which it ends: they are flushed where phases do.
void World::price(std::string_view phase) {
  if (parts_.core_times.empty()) return;
  auto known = core_times_.find(phase);
  if (known == core_times_.end()) {
    const auto name = std::string(phase);
    const auto machines = parts_.machine->initiators()[parts_.initiator].instruction_time;
    known = core_times_.emplace(name, parts_.core_times.of(name).value_or(machines)).first;
    journal_.write(profile::CoreTimeRecord{name, known->second});
  }
  parts_.instructions_take(known->second);
}

void World::write_counters() {
  if (!parts_.totals) return;
  auto totals = so_far();
  totals += carried_;
  journal_.write(profile::CountersRecord{totals.accesses, totals.instructions, totals.misses, totals.unseen,
                                         totals.dropped, totals.core, totals.exposed, totals.bandwidth_bound,
                                         totals.waited, totals.charged});
}

void World::note(std::string_view severity, std::string_view text) {
  journal_.write(profile::NoteRecord{std::string(severity), std::string(text), now()});
}

void World::finish(std::string_view how, const std::vector<observe::Object>& objects) {
  write_moves();
  note_unused_hints(objects);
  write_counters();
  journal_.write(profile::EndRecord{now(), std::string(how)});
}

const char* World::place_name(ChunkId chunk) const {
  const auto place = (*parts_.chunks)[chunk].place.load(std::memory_order_relaxed);
  return place == k_no_place ? nullptr : parts_.machine->place(place).name.c_str();
}

}  // namespace terrace::runtime
