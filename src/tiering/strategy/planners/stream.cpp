// SPDX-License-Identifier: Apache-2.0
// Implements the planner of `--planner stream`, which the default planner calls first: streams data through the
// fast place. Each phase (or segment) has the data with the greatest gain density in fast memory, prefetched while
// the copies keep up with the computation.
//
// The allocation rule (search/streamer.hpp) has parameters that depend on the machine and the program (Tuning
// there). Three settings are tried, and the best prediction is kept. Then the weights of uses are adjusted, and
// the search is repeated, as often as the effort allows.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "model/costs.hpp"
#include "model/loads.hpp"
#include "model/moves.hpp"
#include "strategy/planners/planners.hpp"
#include "strategy/search/ablation.hpp"
#include "strategy/search/streamer.hpp"
#include "strategy/static_decision.hpp"

namespace terrace::strategy {
namespace {

constexpr double k_max_rounds = 24;  // of adjusting weights
constexpr double k_work = 2e7;       // max rounds x items x phases
// The defaults; for latency-bound programs (copies are cheap, waits are not); for bandwidth-bound ones.
constexpr std::array k_tunings = {Tuning{}, Tuning{.lead = 2, .worth = 0, .patience = 0.25, .thrift = 0.5},
                                  Tuning{.lead = 1, .worth = 0.5}};

int rounds_for(const model::Problem& problem) {
  const auto work = static_cast<double>(problem.items.size() * problem.phases.size() + 1);
  return static_cast<int>(std::min(k_work / work, k_max_rounds));
}

// Searches for the best schedule of all domains.
class Search {
 public:
  Search(const model::Problem& problem, const model::Multipliers* prices)
      : index_(problem), best_(static_decision(problem, home_placement(problem))) {
    for (DomainId domain = 0; domain < model::domain_count(problem); ++domain) {
      const auto home = model::home_of(problem, domain);
      const auto fast = *std::ranges::find_if(model::fastest_first(problem, domain), [&](PlaceId place) {
        return place == home || problem.places[place].budget.value > 0;
      });
      if (fast != home) streamers_.emplace_back(problem, domain, fast, home, prices);
    }
  }

  Decision run(Effort effort) {
    if (index_.problem().phases.size() < 2) return best_;
    for (const auto& tuning : k_tunings) {
      attempt(tuning);
      if (effort == Effort::quick || !is_step_enabled("tunings")) break;
    }
    if (effort != Effort::quick && is_step_enabled("weights")) weigh(rounds_for(index_.problem()));
    return best_;
  }

 private:
  // Makes a schedule with these parameters, and keeps it if its prediction is the best so far.
  model::Schedule attempt(const Tuning& tuning) {
    const auto& problem = index_.problem();
    model::Schedule schedule;
    schedule.phases.assign(problem.phases.size(), home_placement(problem));
    schedule.min_copy_share = tuning.keep;
    for (auto& streamer : streamers_) streamer.fill(schedule, tuning);
    auto prediction = model::predict(index_, schedule);
    if (prediction.total < best_.prediction.total) {
      best_ = {schedule, std::move(prediction), 0, 0};
      tuning_ = tuning;
    }
    return schedule;
  }
  // Adjusts the weights of uses by the last schedule and tries again, `rounds` times.
  void weigh(int rounds) {
    auto last = best_.schedule;
    for (int round = 0; round < rounds; ++round) {
      for (auto& streamer : streamers_) streamer.weigh(last);
      last = attempt(tuning_);
    }
  }

  model::ProblemIndex index_;
  std::vector<Streamer> streamers_;
  Decision best_;
  Tuning tuning_;  // of the best one
};

class Stream final : public Planner {
 public:
  [[nodiscard]] std::string_view name() const override { return "stream"; }
  [[nodiscard]] bool improves_with(const model::Problem& problem, Effort effort) const override {
    return effort != Effort::quick && problem.phases.size() > 1;
  }
  [[nodiscard]] Seconds planning_time(const model::Problem& problem, Effort effort) const override {
    const auto once = static_cast<double>(model::cell_count(problem)) * model::k_first_plan_cost +
                      static_cast<double>(problem.items.size() * problem.phases.size()) * model::k_first_way_cost;
    const auto attempts = static_cast<int>(k_tunings.size()) + rounds_for(problem);
    return static_cast<double>(effort == Effort::quick ? 1 : attempts) * once;
  }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration&,
                                Effort effort) const override {
    return Search(problem, nullptr).run(effort);
  }
};

}  // namespace

Decision stream_priced(const model::Problem& problem, const model::Multipliers& prices) {
  return Search(problem, &prices).run(Effort::thorough);
}

const Planner& stream_planner() {
  static const Stream planner;
  return planner;
}

const Variant& stream_variant() { return stream_planner(); }

}  // namespace terrace::strategy
