// The time law: what a phase takes with its data where a placement says, and an iteration with its moves.
#include <algorithm>
#include <deque>
#include <limits>

#include "model/loads.hpp"
#include "model/moves.hpp"

namespace terrace::model {
namespace {

using machine::PlaceId;

constexpr int k_most_rounds = 8;  // iterations after which a backlog of moves has settled, or never will

struct Pending {
  std::size_t move = 0;
  double seconds = 0;
};

// One mover that works through its moves in the order in which they were asked, beside the phases.
class Timeline {
 public:
  Timeline(const Problem& problem, const Schedule& schedule, const MoveList& list)
      : problem_(problem), list_(list), waited_(list.moves.size(), 0) {
    for (std::size_t k = 0; k < schedule.phases.size(); ++k)
      loads_.push_back(load_of(problem, k, schedule.phases[k]));
  }

  Prediction iteration() {
    Prediction prediction;
    std::fill(waited_.begin(), waited_.end(), 0);
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
  [[nodiscard]] const std::vector<double>& waited() const { return waited_; }

 private:
  PhaseTime phase(std::size_t k) {
    for (std::size_t m = 0; m < list_.moves.size(); ++m) {
      if (list_.moves[m].ask == k) queue_.push_back({m, list_.moves[m].seconds});
    }
    PhaseTime time;
    time.waiting = wait_for_needed(k);
    const auto& load = loads_[k];
    std::vector<double> busy(problem_.places.size());
    for (std::size_t p = 0; p < busy.size(); ++p) busy[p] = load.busy(p);
    const auto beside = copy_beside(load.stalled(), problem_.phases[k].unexplained.value, busy);
    time.core = problem_.phases[k].core.value;
    time.exposed = load.stalled() - time.core;
    time.bandwidth = *std::max_element(busy.begin(), busy.end());
    time.copies = time.waiting + beside;
    time.total = std::max(load.stalled(), time.bandwidth) + problem_.phases[k].unexplained.value + time.waiting;
    return time;
  }

  // The phase cannot begin before the moves that it needs are done, nor they before those asked earlier.
  double wait_for_needed(std::size_t k) {
    std::size_t last = 0;
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      const auto& move = list_.moves[queue_[i].move];
      if (move.awaited && move.need == k) last = i + 1;
    }
    double waiting = 0;
    for (std::size_t i = 0; i < last; ++i) {
      waited_[queue_.front().move] += queue_.front().seconds;
      waiting += queue_.front().seconds;
      queue_.pop_front();
    }
    return waiting;
  }

  // Copies as long as the phase runs; the copies' traffic is added to `busy` and may make the phase longer.
  double copy_beside(double stalled, double unexplained, std::vector<double>& busy) {
    double copying = 0;
    while (!queue_.empty()) {
      auto& pending = queue_.front();
      const auto& move = list_.moves[pending.move];
      const auto bytes =
          static_cast<double>(problem_.items[move.item].size.value) * pending.seconds / move.seconds;
      std::vector<double> share(busy.size(), 0);
      share[move.from] = bytes / problem_.places[move.from].read_bandwidth;
      share[move.to] = bytes / problem_.places[move.to].write_bandwidth;
      // The largest part f of it that is copied before the phase ends: copying + f x seconds <= the phase's time,
      // which is the largest of rows that grow with f.
      double part = (stalled + unexplained - copying) / pending.seconds;
      for (std::size_t p = 0; p < busy.size(); ++p) {
        const auto left = busy[p] + unexplained - copying;
        const auto shrinks = pending.seconds - share[p];
        if (left >= 0 && left >= shrinks)
          part = 1;
        else if (shrinks > 0)
          part = std::max(part, left / shrinks);
      }
      part = std::clamp(part, 0.0, 1.0);
      copying += part * pending.seconds;
      for (std::size_t p = 0; p < busy.size(); ++p) busy[p] += part * share[p];
      if (part < 1) {
        pending.seconds *= 1 - part;
        break;
      }
      queue_.pop_front();
    }
    return copying;
  }

  const Problem& problem_;
  const MoveList& list_;
  std::vector<PhaseLoad> loads_;
  std::deque<Pending> queue_;
  std::vector<double> waited_;
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

Prediction predict(const Problem& problem, const Schedule& schedule, const MoveList& list,
                   std::vector<double>* waited) {
  Timeline timeline(problem, schedule, list);
  auto prediction = timeline.iteration();
  // In steady state an iteration begins with the backlog that it ends with.
  for (int round = 1; problem.cyclic && !list.moves.empty() && round < k_most_rounds; ++round) {
    const auto before = timeline.backlog();
    if (round == 1 && before == 0) break;
    prediction = timeline.iteration();
    if (timeline.backlog() == before) break;
  }
  if (waited != nullptr) *waited = timeline.waited();
  if (!list.feasible) prediction.total = Seconds{std::numeric_limits<double>::infinity()};
  return prediction;
}

Prediction predict(const Problem& problem, const Schedule& schedule) {
  return predict(problem, schedule, moves_of(problem, schedule));
}

}  // namespace terrace::model
