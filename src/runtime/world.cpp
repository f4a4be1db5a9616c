// One world: settling, learning, moving, writing down. See world.hpp.
#include "runtime/world.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "model/costs.hpp"
#include "model/problem.hpp"
#include "placement/planner.hpp"
#include "profile/segment_name.hpp"

namespace terrace::runtime {

using machine::k_no_place;
using machine::PlaceId;
using memory::ChunkId;

World::World(WorldParts parts, Bytes granule, machine::DomainId domain)
    : parts_(std::move(parts)), domain_(domain), granule_(granule), journal_(*parts_.journal) {
  if (const auto& plan = parts_.steering.plan) {
    journal_.write(profile::PlanRecord{*plan, now(), "given by --plan"});
    active_ = ActivePlan(*plan, *parts_.machine, domain_);
    has_plan_ = true;
  }
  if (parts_.sampled) parts_.sampled->set_active(false);
  if (parts_.exact) parts_.exact->set_active(false);
}

PlaceId World::initial_place(const profile::Object& object, std::uint32_t ordinal) const {
  const auto home = parts_.machine->home(domain_);
  const auto& planner = parts_.steering.planner;
  if (has_plan_) {
    const auto place = active_.initial_place(object, ordinal);
    return place == k_no_place ? home : place;
  }
  if (planner == "fast-only") return parts_.machine->fastest_first(domain_).front();
  if (planner == "first-touch") {
    for (const auto place : parts_.machine->fastest_first(domain_))
      if (parts_.ledger->available(place) >= object.chunk_size) return place;
  }
  return home;
}

void World::settle(ChunkId first, std::uint32_t count, PlaceId place) {
  auto& chunks = *parts_.chunks;
  const auto home = parts_.machine->home(domain_);
  // Neighbours go to the system in one call; what the ledger has no room for lies at home.
  ChunkId begin = first;
  const auto end = first + count;
  while (begin < end) {
    const bool granted = parts_.ledger->take(place, Bytes{chunks[begin].size});
    ChunkId stop = begin + 1;
    while (stop < end && granted && parts_.ledger->take(place, Bytes{chunks[stop].size})) ++stop;
    auto target = place;
    if (!granted && place != home) {
      target = home;
      parts_.ledger->take(home, Bytes{chunks[begin].size});
    }
    const bool settled = parts_.backing->settle(begin, stop - begin, target);
    for (auto chunk = begin; chunk < stop; ++chunk) {
      if (settled)
        chunks[chunk].place.store(target, std::memory_order_relaxed);
      else if (granted || target != place)
        parts_.ledger->give(target, Bytes{chunks[chunk].size});
    }
    if (!settled) note_refusal("lets no memory be put on " + parts_.machine->place(target).name);
    begin = stop;
  }
}

void World::object_added(const ObjectMemory& memory) {
  const auto& object = memory.object;
  if (has_plan_) bind(object);
  // First touch looks at what is left after every chunk; all others can settle runs of chunks at once.
  const bool one_by_one = parts_.steering.planner == "first-touch" && !has_plan_;
  ChunkId run = object.first_chunk;
  PlaceId run_place = k_no_place;
  for (std::uint32_t i = 0; i < object.chunks; ++i) {
    const auto offset = i * object.chunk_size.value;
    const auto size = std::min(object.chunk_size.value, object.size.value - offset);
    const auto id = parts_.chunks->add(memory.address + offset, static_cast<std::uint32_t>(size), object.id,
                                       domain_, k_no_place);
    if (i > 0 && (one_by_one || initial_place(object, i) != run_place)) {
      settle(run, id - run, run_place);
      run = id;
    }
    if (run == id) run_place = initial_place(object, i);
  }
  const auto end = object.first_chunk + object.chunks;
  if (end > run) settle(run, end - run, run_place);
  profile::ObjectRecord record{object, now(), {}, memory.address};
  for (auto chunk = object.first_chunk; chunk < end; ++chunk)
    record.places.push_back((*parts_.chunks)[chunk].place.load(std::memory_order_relaxed));
  journal_.write(record);
}

void World::object_removed(const profile::Object& object) {
  parts_.mover->forget(object.first_chunk, object.chunks);
  harvest();
  for (std::uint32_t i = 0; i < object.chunks; ++i) {
    auto& chunk = (*parts_.chunks)[object.first_chunk + i];
    if (const auto place = chunk.place.load(std::memory_order_relaxed); place != k_no_place)
      parts_.ledger->give(place, Bytes{chunk.size});
    chunk.live = false;
  }
  journal_.write(profile::ObjectEndRecord{object.id, now()});
}

void World::bind(const profile::Object& object) {
  active_.bind(object);
  for (const auto& text : active_.take_notes()) note("note", text);
}

bool World::learning(std::uint32_t iteration) const {
  if (!parts_.sampled) return false;
  if (parts_.steering.record_only) return true;
  if (has_plan_ || iteration >= parts_.steering.learn_iterations) return false;
  const auto& planner = parts_.steering.planner;
  return planner != "fast-only" && planner != "slow-only" && planner != "first-touch";
}

void World::loop_begin(const PhaseTracker& tracker) {
  journal_.write(profile::LoopRecord{tracker.loop(), now()});
  learned_.clear();
  coming_.reset();
  segmenter_.forget();
  plan_phase_.reset();
  iterations_ = 0;
  if (!parts_.steering.plan) has_plan_ = false;  // a second loop is learned anew
}

template <class Work>
void World::with_collectors(Work work) {
  if (parts_.sampled) work(*parts_.sampled);
  if (parts_.exact) work(*parts_.exact);
}

void World::progressed(const PhaseTracker& tracker, std::uint64_t accesses, bool in_stride) {
  progress_ += accesses;
  if (!in_stride) return;
  if (collecting_) cut_segment(tracker);
  if (!plan_phase_) return;
  while (active_.segment_offset(*plan_phase_ + 1) != 0 && progress_ >= active_.segment_offset(*plan_phase_ + 1))
    enter_plan_phase(++*plan_phase_, false, tracker.iteration());
}

// Nothing waits at a segment: the program is in the middle of its work there.
void World::cut_segment(const PhaseTracker& tracker) {
  const auto at = now();
  const auto cut = segmenter_.progressed(progress_, at - segment_begun_);
  if (!cut.ends) return;
  with_collectors([&](profile::Collector& collector) {
    collector.end_phase(at - segment_begun_);
    if (cut.merge) collector.merge(cut.closed - 1 - *cut.merge);
    collector.begin_phase(profile::segment_name(tracker.phase(), segmenter_.offset()));
  });
  segment_begun_ = at;
}

void World::phase_end(const PhaseTracker& tracker) {
  const auto at = now();
  if (collecting_) {
    const auto missed = segmenter_.end_phase();
    with_collectors([&](profile::Collector& collector) {
      collector.end_phase(at - segment_begun_);
      for (const auto offset : missed) {
        collector.begin_phase(profile::segment_name(tracker.phase(), offset));
        collector.end_phase(Seconds{});
      }
    });
  }
  journal_.write(profile::PhaseRecord{tracker.iteration(), tracker.index(), tracker.phase(), phase_begun_, at,
                                      phase_waited_});
}

void World::end_iteration(std::uint32_t iteration) {
  if (learning(iteration)) {
    profile::IterationRecord record{false, parts_.sampled->take_iteration(), places_at_start_};
    journal_.write(record);
    learned_.push_back(std::move(record.iteration));
  }
  if (parts_.exact && parts_.steering.keep_exact)
    journal_.write(profile::IterationRecord{true, parts_.exact->take_iteration(), places_at_start_});
}

void World::phase_begin(const PhaseTracker& tracker, bool begins_iteration,
                        const std::vector<profile::Object>& objects) {
  const auto iteration = tracker.iteration();
  parts_.clock->charge(model::k_marker_cost);
  if (begins_iteration) {
    if (iteration > 0) end_iteration(iteration - 1);
    if (iteration == parts_.steering.learn_iterations && learning(iteration - 1) && !parts_.steering.record_only)
      learn(tracker, objects);
    if (coming_ && now() >= coming_at_) {
      adopt(*coming_, objects, "learned in the first iteration");
      coming_.reset();
    }
    iterations_ = iteration + 1;
    const bool learn_now = learning(iteration);
    collecting_ = learn_now || parts_.steering.keep_exact;
    if (parts_.sampled) parts_.sampled->set_active(learn_now);
    if (parts_.exact) parts_.exact->set_active(parts_.steering.keep_exact);
    if (collecting_) {
      places_at_start_.clear();
      for (std::size_t i = 0; i < parts_.chunks->size(); ++i)
        places_at_start_.push_back(
            (*parts_.chunks)[static_cast<ChunkId>(i)].place.load(std::memory_order_relaxed));
    }
    with_collectors([&](profile::Collector& collector) { collector.begin_iteration(iteration); });
  }
  phase_begun_ = now();
  phase_waited_ = Seconds{};
  progress_ = 0;
  write_moves();
  if (has_plan_) run_moves(tracker);
  if (!collecting_) return;
  segmenter_.begin_phase(tracker.index());
  segment_begun_ = now();
  with_collectors([&](profile::Collector& collector) { collector.begin_phase(tracker.phase()); });
}

void World::learn(const PhaseTracker& tracker, const std::vector<profile::Object>& objects) {
  profile::Profile profile;
  profile.loop = tracker.loop();
  profile.sample_interval = parts_.sample_interval;
  profile.initiator = parts_.initiator;
  profile.cores = parts_.cores;
  profile.objects = objects;
  profile.iterations = learned_;
  profile.places = places_at_start_;
  try {
    const auto problem = model::make_problem(profile, *parts_.machine, parts_.budget);
    std::size_t cells = 0;
    for (const auto& phase : problem.phases) cells += phase.cells.size();
    if (cells == 0)
      throw Error(Code::not_found, "no accesses were seen: build with terrace-cc and its sisters, or give --plan");
    const auto& planner = placement::find_planner(parts_.steering.planner);
    const auto decision = planner.decide(problem, parts_.calibration);
    coming_ = placement::make_plan(problem, decision, planner.name());
    coming_at_ = parts_.clock->finished_beside(static_cast<double>(cells) * model::k_plan_cost_per_cell);
  } catch (const std::exception& error) {
    note("warning", std::string("no plan was made, data stays where it is: ") + error.what());
    learned_.clear();
    parts_.steering.planner = "slow-only";
  }
}

void World::adopt(const placement::Plan& plan, const std::vector<profile::Object>& objects, std::string_view why) {
  journal_.write(profile::PlanRecord{plan, now(), std::string(why)});
  active_ = ActivePlan(plan, *parts_.machine, domain_);
  has_plan_ = true;
  plan_phase_.reset();
  plan_mismatch_noted_ = false;
  // From where everything lies to where the plan has it when an iteration begins: outs first, then ins.
  const auto home = parts_.machine->home(domain_);
  for (const auto& object : objects)
    if (object.live) bind(object);
  std::vector<ActiveMove> moves;
  for (const auto& object : objects) {
    if (!object.live) continue;
    const auto of_object = active_.to_initial(object, *parts_.chunks, home);
    moves.insert(moves.end(), of_object.begin(), of_object.end());
  }
  std::stable_partition(moves.begin(), moves.end(),
                        [&](const ActiveMove& move) { return move.planned.to == home; });
  ask(moves, iterations_);
}

void World::ask(std::span<const ActiveMove> moves, std::uint32_t iteration) {
  const auto alive = [&](const ActiveMove& move) { return (*parts_.chunks)[move.chunk].live; };
  requests_.clear();
  for (const auto& move : moves)
    if (alive(move)) requests_.push_back({move.chunk, move.planned.to});
  if (requests_.empty()) return;
  parts_.clock->charge(model::k_ask_cost + static_cast<double>(requests_.size()) * model::k_move_cost);
  auto ticket = parts_.mover->submit(requests_);
  if (pending_.empty()) first_pending_ = ticket;
  for (const auto& move : moves) {
    if (!alive(move)) continue;
    pending_.push_back({move, iteration, {}});
    if (move.planned.awaited) {
      if (needed_.size() <= move.planned.need) needed_.resize(move.planned.need + 1);
      needed_[move.planned.need].push_back(ticket);
    }
    ++ticket;
  }
}

// Ascending tickets, and a mover works in their order.
void World::await(const std::vector<backend::Ticket>& tickets) {
  const auto last = std::find_if(tickets.rbegin(), tickets.rend(), [&](backend::Ticket ticket) {
    return ticket >= first_pending_ && (*parts_.chunks)[pending_[ticket - first_pending_].move.chunk].live;
  });
  if (last == tickets.rend() || parts_.mover->done(*last)) return;
  for (const auto ticket : tickets) {
    if (ticket < first_pending_ || parts_.mover->done(ticket)) continue;
    const auto before = now();
    parts_.mover->wait(ticket);
    pending_[ticket - first_pending_].waited = now() - before;
    phase_waited_ += now() - before;
  }
}

void World::run_moves(const PhaseTracker& tracker) {
  // A phase that was shorter than the plan expects did not reach its last segments: their moves are due now.
  if (plan_phase_)
    while (active_.segment_offset(*plan_phase_ + 1) != 0)
      enter_plan_phase(++*plan_phase_, false, tracker.iteration());
  plan_phase_ = active_.find_phase(tracker.index(), tracker.phase());
  if (!plan_phase_ && !plan_mismatch_noted_) {
    note("warning", "phase " + std::to_string(tracker.index()) + " is \"" + tracker.phase() +
                        "\", which the plan does not expect there: its moves are left out");
    plan_mismatch_noted_ = true;
  }
  if (plan_phase_) enter_plan_phase(*plan_phase_, true, tracker.iteration());
}

void World::enter_plan_phase(profile::PhaseIndex phase, bool may_wait, std::uint32_t iteration) {
  const auto await_needed = [&] {
    if (phase >= needed_.size()) return;
    if (may_wait) await(needed_[phase]);
    needed_[phase].clear();
  };
  await_needed();
  ask(active_.asked_in(phase), iteration);
  await_needed();  // those that this very phase needs
  harvest();
}

void World::harvest() {
  for (const auto& result : parts_.mover->harvest()) {
    if (result.ticket < first_pending_ || result.ticket - first_pending_ >= pending_.size()) continue;
    if (result.error != 0)
      note_refusal("refused to move memory to " + parts_.machine->place(result.to).name + " (" +
                   std::generic_category().message(result.error) + ")");
    auto& pending = pending_[result.ticket - first_pending_];
    pending.settled = true;
    log_move(pending, result);
  }
  while (!pending_.empty() && pending_.front().settled) {
    pending_.pop_front();
    ++first_pending_;
  }
}

// The moves of a phase, segments and all, in one record; a program that is killed takes those of its last phase
// with it.
void World::write_moves() {
  harvest();
  auto& moves = finished_.moves;
  if (moves.empty()) return;
  parts_.clock->charge(model::k_log_cost);
  journal_.write(finished_);
  moves.clear();
}

void World::log_move(const Pending& pending, const backend::TransferResult& result) {
  const auto& planned = pending.move.planned;
  profile::MoveRecord record;
  record.asked = result.asked;
  record.begun = result.begun;
  record.done = result.done;
  record.waited = pending.waited;
  record.benefit = planned.benefit;
  record.cost = planned.cost;
  record.size = result.size;
  record.object = pending.move.object;
  record.first = planned.chunk;
  record.chunks = 1;
  record.iteration = pending.iteration;
  record.ask = planned.ask;
  record.need = planned.need;
  record.from = result.from;
  record.to = result.to;
  record.refused = result.refused ? 1 : 0;
  finished_.moves.push_back(record);
}

// Once: where the system says no it will say so again.
void World::note_refusal(const std::string& what) {
  if (!std::exchange(refusal_noted_, true))
    note("warning", "the system " + what + ": such data stays where it is (see real-memory in the documentation)");
}

void World::loop_end(const PhaseTracker& tracker, const std::vector<profile::Object>&) {
  write_moves();
  if (iterations_ > 0) end_iteration(tracker.iteration());
  if (parts_.sampled) parts_.sampled->set_active(false);
  if (parts_.exact) parts_.exact->set_active(false);
  journal_.write(profile::LoopEndRecord{now(), iterations_});
  write_counters();
}

void World::write_counters() {
  if (!parts_.totals) return;
  const auto totals = parts_.totals();
  journal_.write(profile::CountersRecord{totals.accesses, totals.misses, totals.unseen, totals.dropped,
                                         totals.core, totals.exposed, totals.bandwidth_bound, totals.waited,
                                         totals.charged});
}

void World::note(std::string_view severity, std::string_view text) {
  journal_.write(profile::NoteRecord{std::string(severity), std::string(text), now()});
}

void World::finish(std::string_view how) {
  write_moves();
  write_counters();
  journal_.write(profile::EndRecord{now(), std::string(how)});
}

const char* World::place_name(ChunkId chunk) const {
  const auto place = (*parts_.chunks)[chunk].place.load(std::memory_order_relaxed);
  return place == k_no_place ? nullptr : parts_.machine->place(place).name.c_str();
}

}  // namespace terrace::runtime
