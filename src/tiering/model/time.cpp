// The time law: what a phase takes with its data where a placement says, and an iteration with its moves.
#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <utility>

#include "model/loads.hpp"
#include "model/moves.hpp"
#include "model/rate_limits.hpp"

namespace terrace::model {
namespace {

constexpr int k_max_rounds = 8;  // iterations after which a backlog of moves has settled, or never will

struct Pending {
  std::size_t move = 0;
  double seconds = 0;
  bool late = false;               // a phase that counts on it has begun
  const ItemCell* cell = nullptr;  // what the phase at hand does with the item
  const ItemCell* used = nullptr;  // the same, of an item that is late: where it resides
};

// One mover that works through its moves in the order in which they were asked, beside the phases.
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
  PhaseTime phase(std::size_t k) {
    PhaseTime time;
    for (const auto m : asked_[k]) {
      queue_.push_back({m, list_.moves[m].seconds, false, nullptr, nullptr});
      time.asking += move_cost(problem_, list_.moves[m].item);
    }
    time.waiting = index_.segment(k) ? 0 : wait_for_needed(k);
    now_ = loads_[k];
    time.core = problem_.phases[k].core.value;
    time.exposed = now_.stalled() - time.core;
    busy_.clear();
    for (std::size_t p = 0; p < problem_.places.size(); ++p) busy_.push_back(now_.busy(p));
    hold_back(k);
    const bool late = std::any_of(queue_.begin(), queue_.end(),
                                  [&](const Pending& one) { return one.late && list_.moves[one.move].awaited; });
    const auto rate_limit = rate_limits_.empty() || late ? 1 : rate_limits_[k];
    const auto [running, copying] = run_beside(problem_.phases[k].unexplained.value, rate_limit, time);
    time.bandwidth = *std::max_element(busy_.begin(), busy_.end());
    time.copies = time.waiting + copying;
    time.total = running + time.waiting + time.asking;
    return time;
  }

  // The phase cannot begin before the moves that it needs are done, nor they before those asked earlier.
  double wait_for_needed(std::size_t k) {
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

  // Nothing waits at a segment, in the middle of the program's work, nor anywhere for what goes to slower memory:
  // until its copy is done, an item is used where it resides, or, while the copy runs, waited for. Its uses are
  // spread evenly over the segment.
  void hold_back(std::size_t k) {
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
  [[nodiscard]] const ItemCell* cell_of(std::uint32_t item, std::size_t k) const {
    if (!index_.touched(item, k)) return nullptr;
    const auto& cells = problem_.phases[k].cells;
    return &*std::lower_bound(cells.begin(), cells.end(), item,
                              [](const ItemCell& c, std::uint32_t i) { return c.item < i; });
  }

  // It was late for that share of the phase, and is no more.
  void arrive(Pending& pending, double share, PhaseTime& time) {
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

  struct Beside {
    double running = 0;  // what the phase takes
    double copying = 0;  // how much of that time a copy ran
  };
  // The phase beside what is queued: both are fluids, and of a place that both want more of than there is each
  // gets at least half (the simulator's law), but copies go no faster than at their pace.
  // What the program waits, on average, for the copy of an item that the phase, which takes `alone`, uses beside
  // it. The latencies that the phase waits for come at any time of it; a stream passes an item at once, and seldom
  // just then.
  static double waits_for(const Pending& pending, double alone) {
    if (pending.cell == nullptr) return 0;
    const auto latencies = pending.cell->exposure - pending.cell->streamed_exposure;
    return pending.seconds * (1 - std::exp(-std::max(latencies, 0.0) * pending.seconds / alone));
  }

  Beside run_beside(double unexplained, double rate_limit, PhaseTime& time) {
    Beside beside;
    double left = 1;  // share of the phase that is still to run
    while (!queue_.empty() && left > 0) {
      const auto alone = now_.time() + unexplained;
      if (alone <= 0) break;
      auto& pending = queue_.front();
      const auto& move = list_.moves[pending.move];
      if (const auto waited = problem_.touch_waits ? waits_for(pending, alone) : 0; waited > 0) {
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
      beside.running += elapsed;
      beside.copying += elapsed;
      busy_[move.from] += elapsed * rate * from;
      busy_[move.to] += elapsed * rate * to;
      left = copy_ends ? std::max(left - elapsed * speed, 0.0) : 0;
      if (copy_ends) {
        arrive(pending, 1 - left, time);
        queue_.pop_front();
      } else {
        pending.seconds -= elapsed * rate;
      }
    }
    beside.running += left * (now_.time() + unexplained);
    for (auto& pending : queue_) arrive(pending, 1, time);
    return beside;
  }

  const ProblemIndex& index_;
  const Problem& problem_;
  const MoveList& list_;
  std::vector<PhaseLoad> loads_;
  std::vector<double> rate_limits_;              // of copies, by phase; empty where all go at full speed
  PhaseLoad now_;                                // of the phase that runs, with what is late where it resides
  std::vector<double> busy_;                     // seconds of each place that it takes, copies with it
  std::vector<std::vector<std::size_t>> asked_;  // moves, by phase
  std::vector<bool> awaited_;                    // whether a phase waits for any
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
  // In steady state an iteration begins with the backlog that it ends with.
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
  return predict(index, schedule, moves_of(index, schedule));
}

Prediction predict(const Problem& problem, const Schedule& schedule) {
  return predict(ProblemIndex(problem), schedule);
}

}  // namespace terrace::model
