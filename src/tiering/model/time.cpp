// SPDX-License-Identifier: Apache-2.0
// Implements the time law: predicts the time of a phase under a placement, and of an iteration with its moves.
// Planners call it for every schedule that they compare. See problem.hpp.
#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <utility>

#include "model/loads.hpp"
#include "model/moves.hpp"

namespace terrace::model {
namespace {

constexpr int k_max_rounds = 8;  // max iterations until the backlog of moves is steady

struct Pending {
  std::size_t move = 0;
  double seconds = 0;
  bool late = false;               // the phase that relies on it has begun
  const ItemCell* cell = nullptr;  // traffic of the current phase to the item
  const ItemCell* used = nullptr;  // the same, if the item is late and used at its source
};

// Simulates one mover that executes the moves in request order, concurrently with the phases.
class Timeline {
 public:
  Timeline(const ProblemIndex& index, const Schedule& schedule, const MoveList& list)
      : index_(index),
        problem_(index.problem()),
        list_(list),
        now_(problem_, problem_.phases.front()),
        lost_(list.moves.size(), 0) {
    for (std::size_t k = 0; k < schedule.phases.size(); ++k) {
      loads_.push_back(load_of(problem_, k, schedule.phases[k]));
    }
    asked_.resize(loads_.size());
    awaited_.resize(loads_.size(), false);
    for (std::size_t m = 0; m < list.moves.size(); ++m) {
      asked_[list.moves[m].ask].push_back(m);
      if (list.moves[m].awaited) awaited_[list.moves[m].need] = true;
    }
    rate_limits_ = rate_limits(problem_, schedule, loads_, list);
  }

  // Predicts one iteration, which begins with the backlog of moves of the previous one.
  Prediction iteration() {
    Prediction prediction;
    std::fill(lost_.begin(), lost_.end(), 0);
    for (std::size_t k = 0; k < loads_.size(); ++k) {
      prediction.phases.push_back(phase(k));
      prediction.total += Seconds{prediction.phases.back().total};
    }
    for (const auto& move : list_.moves) prediction.moved += problem_.items[move.item].size;
    prediction.moves = static_cast<std::uint32_t>(list_.moves.size());
    return prediction;
  }
  [[nodiscard]] double backlog() const {
    double seconds = 0;
    for (const auto& pending : queue_) seconds += pending.seconds;
    return seconds;
  }
  [[nodiscard]] const std::vector<double>& lost() const { return lost_; }

 private:
  // Predicts one phase: requests its moves, waits for those that it needs, and runs it with the other copies.
  PhaseTime phase(std::size_t k) {
    PhaseTime time;
    for (const auto m : asked_[k]) {
      queue_.push_back({m, list_.moves[m].seconds, false, nullptr, nullptr});
      time.asking += move_cost(problem_, list_.moves[m].item);
    }
    time.waiting = index_.segment(k) ? 0 : wait_for_awaited_moves(k);
    now_ = loads_[k];
    time.core = problem_.phases[k].core.value;
    time.exposed = now_.stalled() - time.core;
    busy_.clear();
    for (std::size_t p = 0; p < problem_.places.size(); ++p) busy_.push_back(now_.busy(p));
    use_late_items(k);
    const bool late = std::any_of(queue_.begin(), queue_.end(),
                                  [&](const Pending& one) { return one.late && list_.moves[one.move].awaited; });
    const auto rate_limit = rate_limits_.empty() || late ? 1 : rate_limits_[k];
    const auto [running, copying] = run_with_copies(problem_.phases[k].unexplained.value, rate_limit, time);
    time.bandwidth = *std::max_element(busy_.begin(), busy_.end());
    time.copies = time.waiting + copying;
    time.total = running + time.waiting + time.asking;
    return time;
  }

  // Returns the wait at the start of the phase for the moves that it needs, and all requested before them.
  double wait_for_awaited_moves(std::size_t k) {
    if (!awaited_[k]) return 0;
    std::size_t last = 0;
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      const auto& move = list_.moves[queue_[i].move];
      if (move.awaited && move.need == k) last = i + 1;
    }
    double waiting = 0;
    for (std::size_t i = 0; i < last; ++i) {
      lost_[queue_.front().move] += queue_.front().seconds;
      waiting += queue_.front().seconds;
      queue_.pop_front();
    }
    return waiting;
  }

  // Charges late items to their sources. No move is awaited at a segment, in the middle of a phase, nor is a move
  // to slower memory anywhere: until its copy is done, an item is used at its source, or waited for while the copy
  // runs. Its uses are spread evenly over the segment.
  void use_late_items(std::size_t k) {
    for (auto& pending : queue_) {
      const auto& move = list_.moves[pending.move];
      pending.cell = cell_of(move.item, k);
      pending.late = pending.late || k == (move.awaited ? move.need : move.change);
      if (!pending.late) continue;
      if (pending.cell == nullptr) continue;
      pending.used = pending.cell;
      now_.take(*pending.cell, move.to);
      now_.put(*pending.cell, move.from);
    }
  }
  // Returns the item's traffic in a phase; null: it has none.
  [[nodiscard]] const ItemCell* cell_of(std::uint32_t item, std::size_t k) const {
    if (!index_.touched(item, k)) return nullptr;
    const auto& cells = problem_.phases[k].cells;
    return &*std::lower_bound(cells.begin(), cells.end(), item,
                              [](const ItemCell& c, std::uint32_t i) { return c.item < i; });
  }

  // Completes a move: the item was late for `share` of the phase.
  void complete_move(Pending& pending, double share, PhaseTime& time) {
    if (pending.used == nullptr) return;
    const auto& cell = *std::exchange(pending.used, nullptr);
    const auto& move = list_.moves[pending.move];
    const auto &from = problem_.places[move.from], &to = problem_.places[move.to];
    const auto before = now_.time();
    now_.take(cell, move.from);
    now_.put(cell, move.to);
    lost_[pending.move] += share * std::max(before - now_.time(), 0.0);
    time.exposed += share * (exposed_time(cell, from) - exposed_time(cell, to));
    busy_[move.from] += share * busy_time(cell, from);
    busy_[move.to] -= share * busy_time(cell, to);
  }

  struct Elapsed {
    double running = 0;  // time of the phase
    double copying = 0;  // part of it with a copy in progress
  };
  // Returns the program's expected wait for the copy of an item that the phase uses; `alone`: time of the phase
  // without copies. Exposed latencies occur at random times of the phase; a stream passes an item at once, and
  // seldom during its copy.
  static double expected_wait(const Pending& pending, double alone) {
    if (pending.cell == nullptr) return 0;
    const auto latencies = pending.cell->exposure - pending.cell->streamed_exposure;
    return pending.seconds * (1 - std::exp(-std::max(latencies, 0.0) * pending.seconds / alone));
  }

  // Runs the phase concurrently with queued copies. Both are fluids: of a contended place each gets at least half
  // (the simulator's law), and copies do not exceed their rate limit.
  Elapsed run_with_copies(double unexplained, double rate_limit, PhaseTime& time) {
    Elapsed total;
    double left = 1;  // share of the phase not run yet
    while (!queue_.empty() && left > 0) {
      const auto alone = now_.time() + unexplained;
      if (alone <= 0) break;
      auto& pending = queue_.front();
      const auto& move = list_.moves[pending.move];
      if (const auto waited = problem_.touch_waits ? expected_wait(pending, alone) : 0; waited > 0) {
        time.waiting += waited;
        lost_[pending.move] += waited;
        pending.seconds -= waited;
      }
      const auto bytes = static_cast<double>(problem_.items[move.item].size.value);
      // Seconds of each place that one second of copying at full speed takes.
      const double from = bytes / problem_.places[move.from].read_bandwidth / move.seconds;
      const double to = bytes / problem_.places[move.to].write_bandwidth / move.seconds;
      const auto copy_share = [&](std::size_t place) { return std::max(1 - now_.busy(place) / alone, 0.5); };
      const double rate = std::min({rate_limit, copy_share(move.from) / from, copy_share(move.to) / to});
      double speed = 1 / alone;
      if (now_.busy(move.from) > 0) speed = std::min(speed, (1 - rate * from) / now_.busy(move.from));
      if (now_.busy(move.to) > 0) speed = std::min(speed, (1 - rate * to) / now_.busy(move.to));
      const bool copy_ends = pending.seconds / rate <= left / speed;
      const double elapsed = copy_ends ? pending.seconds / rate : left / speed;
      total.running += elapsed;
      total.copying += elapsed;
      busy_[move.from] += elapsed * rate * from;
      busy_[move.to] += elapsed * rate * to;
      left = copy_ends ? std::max(left - elapsed * speed, 0.0) : 0;
      if (copy_ends) {
        complete_move(pending, 1 - left, time);
        queue_.pop_front();
      } else {
        pending.seconds -= elapsed * rate;
      }
    }
    total.running += left * (now_.time() + unexplained);
    for (auto& pending : queue_) complete_move(pending, 1, time);
    return total;
  }

  const ProblemIndex& index_;
  const Problem& problem_;
  const MoveList& list_;
  std::vector<PhaseLoad> loads_;
  std::vector<double> rate_limits_;              // of copies, by phase; empty: full speed
  PhaseLoad now_;                                // of the current phase, with late items at their sources
  std::vector<double> busy_;                     // busy seconds of each place, with copies
  std::vector<std::vector<std::size_t>> asked_;  // requested moves, by phase
  std::vector<bool> awaited_;                    // by phase: whether it waits for any
  std::deque<Pending> queue_;
  std::vector<double> lost_;
};

}  // namespace

PhaseTime phase_time(const Problem& problem, std::size_t phase, const Placement& placement) {
  const auto load = load_of(problem, phase, placement);
  const auto& of = problem.phases[phase];
  PhaseTime time;
  time.core = of.core.value;
  time.exposed = load.stalled() - time.core;
  time.bandwidth = load.bandwidth();
  time.total = load.time() + of.unexplained.value;
  return time;
}

Prediction predict(const ProblemIndex& index, const Schedule& schedule, const MoveList& list,
                   std::vector<double>* lost) {
  const auto& problem = index.problem();
  Timeline timeline(index, schedule, list);
  auto prediction = timeline.iteration();
  // Iterate to the steady state, in which an iteration begins with the backlog that it ends with.
  for (int round = 1; problem.cyclic && !list.moves.empty() && round < k_max_rounds; ++round) {
    const auto before = timeline.backlog();
    if (round == 1 && before == 0) break;
    prediction = timeline.iteration();
    if (timeline.backlog() == before) break;
  }
  if (lost != nullptr) *lost = timeline.lost();
  if (!list.feasible) prediction.total = Seconds{std::numeric_limits<double>::infinity()};
  return prediction;
}

Prediction predict(const ProblemIndex& index, const Schedule& schedule) {
  return predict(index, schedule, derive_moves(index, schedule));
}

Prediction predict(const Problem& problem, const Schedule& schedule) {
  return predict(ProblemIndex(problem), schedule);
}

}  // namespace terrace::model
