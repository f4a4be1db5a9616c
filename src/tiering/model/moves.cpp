#include "model/moves.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "model/loads.hpp"

namespace terrace::model {
namespace {

constexpr double k_ample = 2;  // times a copy's own time: a chunk in use is not on its way for longer

// Bytes that each place holds, or has reserved, in each phase.
class Occupancy {
 public:
  // `changes`: of the schedule, phase by phase.
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

// One move for each change of an item's place, phase by phase, before any thought of room.
std::vector<Move> changes_of(const ProblemIndex& index, const Schedule& schedule) {
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

// Who needs it: the first phase from its change on that touches the item before it moves again.
void find_need(const ProblemIndex& index, const Schedule& schedule, Move& move) {
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

// Asks earlier while its target has room. An item that goes to slower memory is not touched meanwhile; one that
// comes to faster memory serves from where it resides until it is there, but is not asked for earlier than it
// takes.
void ask_early(const ProblemIndex& index, const Schedule& schedule, bool to_slower, Occupancy& occupancy,
               Move& move) {
  const auto& problem = index.problem();
  const auto phases = static_cast<std::uint32_t>(schedule.phases.size());
  const auto size = problem.items[move.item].size.value;
  double beside = 0;
  bool in_use = false;
  for (std::uint32_t steps = 0; steps + 1 < phases; ++steps) {
    if (move.ask == 0 && !problem.cyclic) break;
    const auto earlier = move.ask == 0 ? phases - 1 : move.ask - 1;
    // Not into the phase in which the item's move before this one arrives: that one comes first.
    const auto before = earlier == 0 ? phases - 1 : earlier - 1;
    in_use = in_use || index.touched(move.item, earlier);
    if (in_use && (to_slower || beside >= k_ample * move.seconds)) break;
    if (schedule.phases[earlier][move.item] != move.from) break;
    if (schedule.phases[before][move.item] != move.from && (problem.cyclic || earlier > 0)) break;
    if (!occupancy.fits(earlier, move.to, size)) break;
    occupancy.shift(earlier, move.from, move.to, size);
    move.ask = earlier;
    beside += problem.phases[earlier].measured.value;
  }
}

// Orders the moves that are asked for at the start of one phase; `held` is what is where before them.
class GroupOrder {
 public:
  GroupOrder(const ProblemIndex& index, std::vector<std::uint64_t>& held, MoveList& list)
      : index_(index), problem_(index.problem()), held_(held), list_(list) {}

  void order(std::vector<Move> group) {
    for (bool urgent = true; const auto next = first_to_come(group);) {
      if (urgent && next->need != next->ask) {
        urgent = false;
        leave_in_use(group);
        continue;
      }
      const auto leaves = room(next->item, next->to) ? std::nullopt : who_leaves(group, *next);
      if (!leaves && !room(next->item, next->to)) break;
      const auto chosen = group.begin() + (leaves ? *leaves : next - group.data());
      emit(*chosen);
      group.erase(chosen);
    }
    settle(std::move(group));
  }

 private:
  // What the phase uses where it goes to.
  void leave_in_use(std::vector<Move>& group) {
    std::erase_if(group, [&](const Move& move) {
      if (!to_slower(move) || !index_.touched(move.item, move.ask) || !room(move.item, move.to)) return false;
      emit(move);
      return true;
    });
  }
  // Of those to faster memory, which the group has in the order in which they are needed.
  const Move* first_to_come(const std::vector<Move>& group) const {
    const auto first = std::find_if(group.begin(), group.end(), [&](const Move& m) { return !to_slower(m); });
    return first == group.end() ? nullptr : &*first;
  }
  // The eviction whose size is just enough, or else the largest; what waits in the queue behind it is not held up
  // by more. Nothing where none can go.
  std::optional<std::ptrdiff_t> who_leaves(const std::vector<Move>& group, const Move& comes) const {
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

  // In whatever order they fit.
  void settle(std::vector<Move> group) {
    while (!group.empty()) {
      const auto fits =
          std::find_if(group.begin(), group.end(), [&](const Move& m) { return room(m.item, m.to); });
      if (fits != group.end()) {
        emit(*fits);
        group.erase(fits);
        continue;
      }
      // Each waits for another to leave: one of them stops at home on its way.
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
    // Asked for before the iteration began, or so early in it that others may count on the room from the start.
    if (move.ask > move.change || move.ask == 0) placement[move.item] = move.to;
  }
  return placement;
}

MoveList moves_of(const ProblemIndex& index, const Schedule& schedule) {
  MoveList list;
  const auto& problem = index.problem();
  const auto phases = schedule.phases.size();
  if (phases < 2) return list;
  auto moves = changes_of(index, schedule);
  if (moves.empty()) return list;
  Occupancy occupancy(problem, schedule, moves);
  std::stable_sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) { return a.item < b.item; });
  for (auto& move : moves) find_need(index, schedule, move);
  const auto to_slower = [&](const Move& m) { return index.rank(m.to) > index.rank(m.from); };
  std::stable_sort(moves.begin(), moves.end(), [&](const Move& a, const Move& b) {
    return to_slower(a) != to_slower(b) ? to_slower(a) : a.change < b.change;
  });
  for (auto& move : moves) ask_early(index, schedule, to_slower(move), occupancy, move);

  const auto wait_steps = [&](const Move& m) { return (m.need + phases - m.ask) % phases; };
  std::stable_sort(moves.begin(), moves.end(), [&](const Move& a, const Move& b) {
    if (a.ask != b.ask) return a.ask < b.ask;
    if (to_slower(a) != to_slower(b)) return to_slower(a);
    return !to_slower(a) && wait_steps(a) < wait_steps(b);
  });
  // What is where before the first phase's moves is what was there in the last phase, where it is a cycle.
  auto held = occupancy.in(problem.cyclic ? phases - 1 : 0);
  for (auto it = moves.begin(); it != moves.end();) {
    const auto end = std::find_if(it, moves.end(), [&](const Move& m) { return m.ask != it->ask; });
    GroupOrder(index, held, list).order({it, end});
    it = end;
  }
  return list;
}

MoveList moves_of(const Problem& problem, const Schedule& schedule) {
  return moves_of(ProblemIndex(problem), schedule);
}

}  // namespace terrace::model
