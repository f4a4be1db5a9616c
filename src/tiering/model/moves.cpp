// SPDX-License-Identifier: Apache-2.0
// Derives the moves of a schedule in the order of their requests, and the rate limits of their copies, for
// predictions and plans. See moves.hpp.
#include "model/moves.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "model/loads.hpp"

namespace terrace::model {
namespace {

constexpr double k_copy_time_margin = 2;  // max time in flight of an item in use, in units of its copy time

// Bytes that each place holds or has reserved, by phase.
class Occupancy {
 public:
  // `changes`: placement changes of the schedule, in order of phases.
  Occupancy(const Problem& problem, const Schedule& schedule, const std::vector<Move>& changes)
      : problem_(problem), held_(schedule.phases.size(), std::vector<std::uint64_t>(problem.places.size(), 0)) {
    for (std::size_t i = 0; i < problem.items.size(); ++i)
      held_[0][schedule.phases[0][i]] += problem.items[i].size.value;
    auto change = std::find_if(changes.begin(), changes.end(), [](const Move& m) { return m.change > 0; });
    for (std::uint32_t k = 1; k < held_.size(); ++k) {
      held_[k] = held_[k - 1];
      for (; change != changes.end() && change->change == k; ++change)
        shift(k, change->from, change->to, problem.items[change->item].size.value);
    }
  }
  [[nodiscard]] bool fits(std::size_t phase, PlaceId place, std::uint64_t size) const {
    return held_[phase][place] + size <= problem_.places[place].budget.value;
  }
  void shift(std::size_t phase, PlaceId from, PlaceId to, std::uint64_t size) {
    held_[phase][from] -= size;
    held_[phase][to] += size;
  }
  [[nodiscard]] const std::vector<std::uint64_t>& in(std::size_t phase) const { return held_[phase]; }

 private:
  const Problem& problem_;
  std::vector<std::vector<std::uint64_t>> held_;
};

// Returns one move for each change of an item's place, in order of phases, without regard to capacity.
std::vector<Move> placement_changes(const ProblemIndex& index, const Schedule& schedule) {
  std::vector<Move> moves;
  const auto& problem = index.problem();
  const auto phases = static_cast<std::uint32_t>(schedule.phases.size());
  for (std::uint32_t k = problem.cyclic ? 0 : 1; k < phases; ++k) {
    const auto &before = schedule.phases[k == 0 ? phases - 1 : k - 1], &now = schedule.phases[k];
    for (auto [b, n] = std::mismatch(before.begin(), before.end(), now.begin()); n != now.end();
         std::tie(b, n) = std::mismatch(b + 1, before.end(), n + 1)) {
      const auto item = static_cast<std::uint32_t>(n - now.begin());
      moves.push_back({item, *b, *n, k, k, k, index.rank(*n) < index.rank(*b), move_time(problem, item, *b, *n)});
    }
  }
  return moves;
}

// Sets `need`: the first phase from the change on that accesses the item before it moves again.
void find_first_need(const ProblemIndex& index, const Schedule& schedule, Move& move) {
  const auto phases = static_cast<std::uint32_t>(schedule.phases.size());
  for (std::uint32_t steps = 0; !index.touched(move.item, move.need); ++steps) {
    const auto next = (move.need + 1) % phases;
    if (steps == phases || schedule.phases[next][move.item] != move.to || (next == 0 && !index.problem().cyclic)) {
      move.awaited = false;
      break;
    }
    move.need = next;
  }
}

// Advances the request while the target has capacity. An item on its way to slower memory must not be accessed
// meanwhile; one on its way to faster memory is served from its source, but is requested at most
// k_copy_time_margin copy times ahead.
void advance_request(const ProblemIndex& index, const Schedule& schedule, bool to_slower, Occupancy& occupancy,
                     Move& move) {
  const auto& problem = index.problem();
  const auto phases = static_cast<std::uint32_t>(schedule.phases.size());
  const auto size = problem.items[move.item].size.value;
  double elapsed_before = 0;
  bool in_use = false;
  for (std::uint32_t steps = 0; steps + 1 < phases; ++steps) {
    if (move.ask == 0 && !problem.cyclic) break;
    const auto earlier = move.ask == 0 ? phases - 1 : move.ask - 1;
    // Not into the phase in which the item's previous move completes.
    const auto before = earlier == 0 ? phases - 1 : earlier - 1;
    in_use = in_use || index.touched(move.item, earlier);
    if (in_use && (to_slower || elapsed_before >= k_copy_time_margin * move.seconds)) break;
    if (schedule.phases[earlier][move.item] != move.from) break;
    if (schedule.phases[before][move.item] != move.from && (problem.cyclic || earlier > 0)) break;
    if (!occupancy.fits(earlier, move.to, size)) break;
    occupancy.shift(earlier, move.from, move.to, size);
    move.ask = earlier;
    elapsed_before += problem.phases[earlier].measured.value;
  }
}

// Orders the moves requested at the start of one phase. `held`: bytes by place before them.
class MoveGroupOrder {
 public:
  MoveGroupOrder(const ProblemIndex& index, std::vector<std::uint64_t>& held, MoveList& list)
      : index_(index), problem_(index.problem()), held_(held), list_(list) {}

  // Appends the moves that one phase's start requests, in an order in which each finds capacity.
  void order(std::vector<Move> group) {
    for (bool urgent = true; const auto next = first_promotion(group);) {
      if (urgent && next->need != next->ask) {
        urgent = false;
        emit_evictions_in_use(group);
        continue;
      }
      const auto leaves = room(next->item, next->to) ? std::nullopt : choose_eviction(group, *next);
      if (!leaves && !room(next->item, next->to)) break;
      const auto chosen = group.begin() + (leaves ? *leaves : next - group.data());
      emit(*chosen);
      group.erase(chosen);
    }
    emit_rest(std::move(group));
  }

 private:
  // Emits evictions of items that the phase uses on their target.
  void emit_evictions_in_use(std::vector<Move>& group) {
    std::erase_if(group, [&](const Move& move) {
      if (!to_slower(move) || !index_.touched(move.item, move.ask) || !room(move.item, move.to)) return false;
      emit(move);
      return true;
    });
  }
  // Returns the first promotion; the group has them in order of need.
  const Move* first_promotion(const std::vector<Move>& group) const {
    const auto first = std::find_if(group.begin(), group.end(), [&](const Move& m) { return !to_slower(m); });
    return first == group.end() ? nullptr : &*first;
  }
  // Returns the smallest sufficient eviction, else the largest, so that later moves of the queue are delayed
  // least. Empty if none is possible.
  std::optional<std::ptrdiff_t> choose_eviction(const std::vector<Move>& group, const Move& comes) const {
    const auto needed = held_[comes.to] + size_of(comes.item) - problem_.places[comes.to].budget.value;
    std::optional<std::ptrdiff_t> best;
    for (std::size_t m = 0; m < group.size(); ++m) {
      const auto& move = group[m];
      if (!to_slower(move) || move.from != comes.to || !room(move.item, move.to)) continue;
      const auto size = size_of(move.item);
      const auto than = best ? size_of(group[static_cast<std::size_t>(*best)].item) : 0;
      const bool better = than >= needed ? size >= needed && size < than : size > than;
      if (!best || better) best = static_cast<std::ptrdiff_t>(m);
    }
    return best;
  }

  // Emits the remaining moves in any feasible order.
  void emit_rest(std::vector<Move> group) {
    while (!group.empty()) {
      const auto fits =
          std::find_if(group.begin(), group.end(), [&](const Move& m) { return room(m.item, m.to); });
      if (fits != group.end()) {
        emit(*fits);
        group.erase(fits);
        continue;
      }
      // Cyclic wait: one of the moves makes an intermediate stop on its item's default place.
      const auto stop = std::find_if(group.begin(), group.end(), [&](const Move& m) {
        const auto home = index_.home(m.item);
        return m.from != home && room(m.item, home);
      });
      if (stop == group.end()) {
        list_.feasible = false;
        for (const auto& move : group) emit(move);
        return;
      }
      const auto home = index_.home(stop->item);
      auto leg = *stop;
      leg.to = home;
      leg.awaited = false;
      leg.seconds = move_time(problem_, leg.item, leg.from, leg.to);
      emit(leg);
      stop->from = home;
      stop->seconds = move_time(problem_, stop->item, stop->from, stop->to);
    }
  }

  [[nodiscard]] bool to_slower(const Move& move) const { return index_.rank(move.to) > index_.rank(move.from); }
  [[nodiscard]] std::uint64_t size_of(std::uint32_t item) const { return problem_.items[item].size.value; }
  [[nodiscard]] bool room(std::uint32_t item, PlaceId to) const {
    return held_[to] + problem_.items[item].size.value <= problem_.places[to].budget.value;
  }
  void emit(const Move& move) {
    const auto size = problem_.items[move.item].size.value;
    held_[move.from] -= size;
    held_[move.to] += size;
    list_.moves.push_back(move);
  }

  const ProblemIndex& index_;
  const Problem& problem_;
  std::vector<std::uint64_t>& held_;
  MoveList& list_;
};

}  // namespace

std::vector<std::size_t> speed_ranks(const Problem& problem) {
  std::vector<std::size_t> rank(problem.places.size(), 0);
  for (std::size_t d = 0; d < domain_count(problem); ++d) {
    std::size_t next = 0;
    for (const auto place : fastest_first(problem, static_cast<DomainId>(d))) rank[place] = next++;
  }
  return rank;
}

Placement initial_placement(const Schedule& schedule, const MoveList& list) {
  auto placement = schedule.phases.front();
  for (const auto& move : list.moves) {
    // Requested before the iteration, or at its start, so that others may rely on the capacity from the start.
    if (move.ask > move.change || move.ask == 0) placement[move.item] = move.to;
  }
  return placement;
}

MoveList derive_moves(const ProblemIndex& index, const Schedule& schedule) {
  MoveList list;
  const auto& problem = index.problem();
  const auto phases = schedule.phases.size();
  if (phases < 2) return list;
  auto moves = placement_changes(index, schedule);
  if (moves.empty()) return list;
  Occupancy occupancy(problem, schedule, moves);
  std::stable_sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) { return a.item < b.item; });
  for (auto& move : moves) find_first_need(index, schedule, move);
  const auto to_slower = [&](const Move& m) { return index.rank(m.to) > index.rank(m.from); };
  std::stable_sort(moves.begin(), moves.end(), [&](const Move& a, const Move& b) {
    return to_slower(a) != to_slower(b) ? to_slower(a) : a.change < b.change;
  });
  for (auto& move : moves) advance_request(index, schedule, to_slower(move), occupancy, move);

  const auto wait_steps = [&](const Move& m) { return (m.need + phases - m.ask) % phases; };
  std::stable_sort(moves.begin(), moves.end(), [&](const Move& a, const Move& b) {
    if (a.ask != b.ask) return a.ask < b.ask;
    if (to_slower(a) != to_slower(b)) return to_slower(a);
    return !to_slower(a) && wait_steps(a) < wait_steps(b);
  });
  // In a cyclic problem, the occupancy before the first phase's moves is that of the last phase.
  auto held = occupancy.in(problem.cyclic ? phases - 1 : 0);
  for (auto it = moves.begin(); it != moves.end();) {
    const auto end = std::find_if(it, moves.end(), [&](const Move& m) { return m.ask != it->ask; });
    MoveGroupOrder(index, held, list).order({it, end});
    it = end;
  }
  return list;
}

MoveList derive_moves(const Problem& problem, const Schedule& schedule) {
  return derive_moves(ProblemIndex(problem), schedule);
}

namespace {

constexpr double k_steps = 100;
constexpr double k_half_a_step = 0.5 / k_steps;

// Seconds of a place's bandwidth that one second of copying at full speed takes.
struct Taken {
  PlaceId place = 0;
  double seconds = 0;

  auto operator<=>(const Taken&) const = default;
};

// Returns the bandwidth that copies take on each place between which the list moves items.
std::set<Taken> taken_by(const Problem& problem, const MoveList& list) {
  std::set<Taken> taken;
  for (const auto& move : list.moves) {
    const auto bandwidth = problem.copy[move.from][move.to];
    taken.insert({move.from, bandwidth / problem.places[move.from].read_bandwidth});
    taken.insert({move.to, bandwidth / problem.places[move.to].write_bandwidth});
  }
  return taken;
}

}  // namespace

std::vector<double> rate_limits(const Problem& problem, const Schedule& schedule,
                                const std::vector<PhaseLoad>& loads, const MoveList& list) {
  std::vector<double> rate_limits;
  if (schedule.min_copy_share >= k_unlimited_copy_share || list.moves.empty()) return rate_limits;
  const auto taken = taken_by(problem, list);
  for (std::size_t k = 0; k < loads.size(); ++k) {
    const auto alone = loads[k].time() + problem.phases[k].unexplained.value;
    double rate_limit = 1;
    for (const auto& [place, seconds] : taken) {
      if (alone <= 0) continue;
      const auto left = std::max(1 - loads[k].busy(place) / alone, schedule.min_copy_share);
      rate_limit = std::min(rate_limit, left / seconds);
    }
    const auto nearest = static_cast<int>((rate_limit + k_half_a_step) * k_steps);
    rate_limits.push_back(std::max(nearest, 1) / k_steps);
  }
  return rate_limits;
}

}  // namespace terrace::model
