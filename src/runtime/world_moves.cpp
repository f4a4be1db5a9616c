// What a world asks of its mover: a phase's moves, waits for those that it needs, and what became of them. See
// world.hpp.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "model/costs.hpp"
#include "runtime/world.hpp"

namespace terrace::runtime {

// Of the places, once all that is under way is done. A transfer that has begun counts twice on its target.
class World::Room {
 public:
  explicit Room(const World& world) : chunks_(*world.parts_.chunks) {
    for (std::size_t p = 0; p < world.parts_.machine->places().size(); ++p)
      left_.push_back(static_cast<std::int64_t>(world.parts_.ledger->available(static_cast<PlaceId>(p)).value));
    for (const auto& pending : world.pending_)
      if (!pending.settled) static_cast<void>(move(pending.chunk, pending.to, true));
  }
  // Whether there is room for it by then; `force`: it was asked for whether there is or not.
  bool move(ChunkId chunk, PlaceId to, bool force = false) {
    const auto size = static_cast<std::int64_t>(chunks_[chunk].size);
    const auto [known, is_new] = lies_.try_emplace(chunk, chunks_[chunk].place.load(std::memory_order_relaxed));
    const auto from = known->second;
    if (from == to) return true;
    if (!force && left_[to] < size) return false;
    left_[to] -= size;
    if (from != k_no_place) left_[from] += size;
    known->second = to;
    return true;
  }

 private:
  const memory::ChunkTable& chunks_;
  std::vector<std::int64_t> left_;  // bytes, by place
  std::map<ChunkId, PlaceId> lies_;
};

// Where chunks lie once all that is under way is done.
class World::Arrivals {
 public:
  explicit Arrivals(const World& world) : chunks_(*world.parts_.chunks) {
    for (const auto& pending : world.pending_)
      if (!pending.settled) under_way_[pending.chunk] = pending.to;
  }
  [[nodiscard]] PlaceId of(ChunkId chunk) const {
    const auto found = under_way_.find(chunk);
    return found != under_way_.end() ? found->second : chunks_[chunk].place.load(std::memory_order_relaxed);
  }

 private:
  const memory::ChunkTable& chunks_;
  std::map<ChunkId, PlaceId> under_way_;
};

namespace {

std::vector<strategy::ActiveMove*> pointers_to(std::span<strategy::ActiveMove> moves) {
  std::vector<strategy::ActiveMove*> each;
  each.reserve(moves.size());
  for (auto& move : moves) each.push_back(&move);
  return each;
}

}  // namespace

void World::ask(std::span<strategy::ActiveMove> moves, std::uint32_t iteration) {
  const auto each = pointers_to(moves);
  ask(std::span<strategy::ActiveMove* const>(each), iteration);
}

// What is not on its way to where it is wanted: outs first, then ins.
void World::ask_for_missing(std::vector<strategy::ActiveMove*> moves, std::uint32_t iteration) {
  harvest();
  const Arrivals arrivals(*this);
  std::erase_if(moves,
                [&](const strategy::ActiveMove* move) { return arrivals.of(move->chunk) == move->planned.to; });
  const auto home = parts_.machine->home(domain_);
  std::stable_partition(moves.begin(), moves.end(),
                        [&](const strategy::ActiveMove* move) { return move->planned.to == home; });
  ask(std::span<strategy::ActiveMove* const>(moves), iteration);
}

// A plan of a run with other sizes has chunks of its own size, so what it asks for may come before what makes room
// for it; since a mover lets everything wait behind what has no room, that is left out.
void World::ask(std::span<strategy::ActiveMove* const> moves, std::uint32_t iteration) {
  if (moves.empty()) return;
  std::optional<Room> room;
  if (has_plan_ && active_.scaled()) room.emplace(*this);
  requests_.clear();
  asked_.clear();
  for (auto* move : moves) {
    if (!(*parts_.chunks)[move->chunk].live || (room && !room->move(move->chunk, move->planned.to))) continue;
    requests_.push_back({move->chunk, move->planned.to});
    asked_.push_back(move);
  }
  if (requests_.empty()) return;
  parts_.clock->charge(model::k_ask_cost + static_cast<double>(requests_.size()) * model::k_move_cost);
  auto ticket = parts_.mover->submit(requests_);
  if (pending_.empty()) first_pending_ = ticket;
  for (auto* move : asked_) {
    if (move->name == strategy::ActiveMove::k_not_named) name(*move);
    pending_.push_back({move->name, move->chunk, move->planned.to, iteration, {}});
    if (move->planned.awaited) {
      if (needed_.size() <= move->planned.need) needed_.resize(move->planned.need + 1);
      needed_[move->planned.need].push_back(ticket);
    }
    ++ticket;
  }
}

// From where everything lies, or is on its way to, to where the plan has it when the phase begins: outs first,
// then ins.
void World::gather(const std::vector<observe::Object>& objects, PhaseIndex phase) {
  harvest();
  const Arrivals arrivals(*this);
  const auto lies = [&](ChunkId chunk) { return arrivals.of(chunk); };
  const auto home = parts_.machine->home(domain_);
  const auto places = active_.places_before(phase);
  std::vector<strategy::ActiveMove> moves;
  for (const auto& object : objects) {
    if (!object.live) continue;
    const auto of_object = strategy::ActivePlan::moves_to(places, object, lies, home);
    moves.insert(moves.end(), of_object.begin(), of_object.end());
  }
  std::stable_partition(moves.begin(), moves.end(),
                        [&](const strategy::ActiveMove& move) { return move.planned.to == home; });
  ask(moves, iterations_);
}

// Ascending tickets, and a mover works in their order.
void World::await(const std::vector<transfer::Ticket>& tickets) {
  const auto last = std::find_if(tickets.rbegin(), tickets.rend(), [&](transfer::Ticket ticket) {
    return ticket >= first_pending_ && (*parts_.chunks)[pending_[ticket - first_pending_].chunk].live;
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

// The plan's segments that the program has reached. Behind the last one of a phase that goes on the plan goes back
// to the one that it knows to be like what follows.
void World::go_on(const PhaseTracker& tracker) {
  for (;;) {
    const auto next = active_.segment_offset(*plan_phase_ + 1);
    if (next != 0) {
      if (plan_progress_ < next) return;
      enter_plan_phase(++*plan_phase_, false, tracker.iteration());
      continue;
    }
    const auto going_on = active_.going_on(*plan_phase_);
    if (!going_on || plan_progress_ < going_on->after) return;
    ask_for_missing(pointers_to(active_.moves_back(*plan_phase_)), tracker.iteration());
    plan_progress_ -= going_on->back;
    plan_phase_ = going_on->from;
    enter_plan_phase(*plan_phase_, false, tracker.iteration());
  }
}

// A phase that was shorter than the plan expects did not reach its last segments: where their moves lead is due
// now, and nothing on the way there.
void World::catch_up(const PhaseTracker& tracker) {
  if (!plan_phase_) return;
  std::map<ChunkId, strategy::ActiveMove*> last;
  while (active_.segment_offset(*plan_phase_ + 1) != 0) {
    stop_waiting(++*plan_phase_);
    for (auto& move : active_.asked_in(*plan_phase_)) last[move.chunk] = &move;
  }
  std::vector<strategy::ActiveMove*> missing;
  missing.reserve(last.size());
  for (const auto& [chunk, move] : last) missing.push_back(move);
  if (!missing.empty()) ask_for_missing(std::move(missing), tracker.iteration());
}

// A plan of an iteration with other phases says where data lies at first. Where another is to follow it anyway,
// the first iteration is one to learn from like any other.
void World::leave_given_plan() {
  if (!has_plan_ || !parts_.steering.better_plan) return;
  note("note", "plan: made of an iteration with other phases; data lies where it says and is learned from there");
  has_plan_ = strayed_ = again_ = false;
  moved_early_ = true;
}

void World::run_moves(const PhaseTracker& tracker) {
  catch_up(tracker);
  plan_phase_.reset();
  const bool expected = active_.expects(tracker.index(), tracker.phase());
  strayed_ = strayed_ || (parts_.steering.plan && tracker.iteration() == 0 && !expected);
  if (strayed_) {
    pace(1);
    return leave_given_plan();
  }
  plan_phase_ = active_.find_phase(tracker.index(), tracker.phase());
  if (!expected && !plan_mismatch_noted_) {
    note("warning", "phase " + std::to_string(tracker.index()) + " is \"" + tracker.phase() +
                        "\", which the plan does not expect there: its moves are left out");
    plan_mismatch_noted_ = true;
  }
  if (plan_phase_)
    enter_plan_phase(*plan_phase_, true, tracker.iteration());
  else
    pace(1);
}

void World::enter_plan_phase(PhaseIndex phase, bool may_wait, std::uint32_t iteration) {
  const auto await_needed = [&] {
    if (may_wait && phase < needed_.size()) await(needed_[phase]);
    stop_waiting(phase);
  };
  await_needed();
  ask(active_.asked_in(phase), iteration);
  await_needed();  // those that this very phase needs
  harvest();
  std::erase_if(late_, [&](transfer::Ticket ticket) { return parts_.mover->done(ticket); });
  // What is late goes at full speed, and so does everything to where a new plan has it.
  pace(late_.empty() && !last_arrival_ ? active_.pace(phase) : 1);
}

void World::stop_waiting(PhaseIndex phase) {
  if (phase >= needed_.size()) return;
  late_.insert(late_.end(), needed_[phase].begin(), needed_[phase].end());
  needed_[phase].clear();
}

void World::pace(double share) {
  if (std::exchange(pace_, share) != share) parts_.mover->pace(share);
}

void World::harvest() {
  for (const auto& result : parts_.mover->harvest()) {
    if (result.ticket < first_pending_ || result.ticket - first_pending_ >= pending_.size()) continue;
    if (result.error != 0)
      note_refusal("refused to move memory to " + parts_.machine->place(result.to).name + " (" +
                   std::generic_category().message(result.error) + ")");
    auto& pending = pending_[result.ticket - first_pending_];
    pending.settled = true;
    log_transfer(pending, result);
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
  if (finished_.transfers.empty()) return;
  parts_.clock->charge(model::k_log_cost);
  if (!named_.moves.empty()) journal_.write(named_);
  journal_.write(finished_);
  named_.moves.clear();
  finished_.transfers.clear();
}

// What is the same in every iteration is written down once.
void World::name(strategy::ActiveMove& move) {
  const auto& planned = move.planned;
  move.name = names_++;
  named_.moves.push_back({move.object, planned.chunk, 1, planned.ask, planned.need, planned.to,
                          Bytes{(*parts_.chunks)[move.chunk].size}, planned.benefit, planned.cost});
}

void World::log_transfer(const Pending& pending, const transfer::TransferResult& result) {
  finished_.transfers.push_back({pending.move, pending.iteration, result.from, result.refused, result.size,
                                 result.asked, result.begun, result.done, pending.waited});
}

// Once: where the system says no it will say so again.
void World::note_refusal(const std::string& what) {
  if (!std::exchange(refusal_noted_, true))
    note("warning", "the system " + what + ": such data stays where it is (see real-memory in the documentation)");
}

}  // namespace terrace::runtime
