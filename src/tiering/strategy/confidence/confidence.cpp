// SPDX-License-Identifier: Apache-2.0
// Estimates the confidence of a plan: plans problems drawn from the samples' errors and compares the plans, for
// `terrace plan` (through the Python bindings). See confidence.hpp.
#include "strategy/confidence/confidence.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "model/moves.hpp"
#include "model/uncertainty/sampling_error.hpp"
#include "model/uncertainty/spread_error.hpp"
#include "strategy/confidence/for_all.hpp"
#include "strategy/search/refine.hpp"

namespace terrace::strategy {
namespace {

using model::Placement;
using model::Problem;

constexpr double k_near_work = 5e6;                        // work of a refinement, in predicted items x phases
constexpr std::size_t k_dead_rank_scan_interval = 20'000;  // max items x phases for thorough planning

// The properties of a draw's own plan that are compared.
struct DrawResult {
  double regret = 0;
  double time = 0;  // under the plan whose confidence is estimated
  Placement initial;
  std::vector<double> shares;  // by object
};

// Returns by object the share of its bytes that the schedule has outside of home, weighted by the phases' times.
std::vector<double> placed_shares(const Problem& problem, const model::Schedule& schedule) {
  double time = 0;
  for (const auto& phase : problem.phases) time += phase.measured.value;
  std::vector<double> shares(problem.objects.size(), 0), sizes(problem.objects.size(), 0);
  for (const auto& item : problem.items) sizes[item.object] += static_cast<double>(item.size.value);
  for (std::size_t k = 0; k < schedule.phases.size(); ++k) {
    const auto part =
        time > 0 ? problem.phases[k].measured.value / time : 1 / static_cast<double>(schedule.phases.size());
    for (std::size_t i = 0; i < problem.items.size(); ++i) {
      const auto& item = problem.items[i];
      if (schedule.phases[k][i] != model::home_of(problem, item.domain))
        shares[item.object] += part * static_cast<double>(item.size.value) / sizes[item.object];
    }
  }
  return shares;
}

// Returns the best plan for `truth`. Also searches near the given plan, which a search from scratch may miss.
Decision best_of(const Problem& truth, const model::Calibration& calibration, const Planner& planner,
                 const Decision& chosen, Effort effort) {
  auto own = planner.decide(truth, calibration, effort);
  const bool searches = planner.name() == "auto";
  if (!searches || effort == Effort::quick) return own;
  Decision near;
  near.schedule = chosen.schedule;
  near.prediction = model::predict(truth, chosen.schedule);
  refine(truth, k_near_work, near);
  return near.prediction.total < own.prediction.total ? near : own;
}

// Returns what keeping `chosen` costs under `truth` (Regret), planned with this effort.
Regret regret_of(const Problem& estimate, const Problem& truth, const model::Calibration& calibration,
                 const Planner& planner, const Decision& chosen, Effort effort) {
  Regret regret;
  regret.best = best_of(truth, calibration, planner, chosen, effort);
  const auto gain = [&](const Problem& problem) {
    const auto kept = model::predict(problem, chosen.schedule).total;
    return std::max(0.0, (kept - model::predict(problem, regret.best.schedule).total).value);
  };
  regret.seconds = std::max(0.0, gain(truth) - gain(estimate));
  return regret;
}

Effort effort_for(const Problem& problem) {
  return problem.items.size() * problem.phases.size() <= k_dead_rank_scan_interval ? Effort::thorough
                                                                                   : Effort::quick;
}

// Throws unless both problems have the same items, phases and places, so that one's schedule applies to the other.
void check_same(const Problem& a, const Problem& b) {
  const bool same = a.phases.size() == b.phases.size() && a.places.size() == b.places.size() &&
                    std::ranges::equal(a.items, b.items, [&](const model::Item& x, const model::Item& y) {
                      return x.object == y.object && x.ordinal == y.ordinal && x.chunks == y.chunks &&
                             x.size == y.size && x.domain == y.domain;
                    });
  if (!same)
    throw Error(Code::invalid,
                "the two problems have different items, phases or places: make both of the same "
                "iteration, with as many items");
}

DrawResult result_of_draw(const Problem& drawn, const Regret& regret) {
  DrawResult other;
  other.regret = regret.seconds;
  const auto& schedule = regret.best.schedule;
  other.initial = model::initial_placement(schedule, model::derive_moves(drawn, schedule));
  other.shares = placed_shares(drawn, schedule);
  return other;
}

// Returns by object and part the share of the part's bytes that the draws' initial placements have in the plan's
// place.
std::vector<std::vector<double>> part_shares(const Problem& problem, const Placement& planned, const Plan& plan,
                                             const std::vector<DrawResult>& others) {
  std::vector<std::vector<double>> shares, sizes;
  for (const auto& object : plan.objects) {
    shares.emplace_back(object.parts.size(), 0);
    sizes.emplace_back(object.parts.size(), 0);
  }
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    const auto& item = problem.items[i];
    const auto& parts = plan.objects[item.object].parts;
    const auto part = std::find_if(parts.begin(), parts.end(), [&](const PlanPart& p) {
      return item.ordinal >= p.chunks.first && item.ordinal < p.chunks.first + p.chunks.count;
    });
    if (part == parts.end()) continue;
    const auto p = static_cast<std::size_t>(part - parts.begin());
    const auto same = std::count_if(others.begin(), others.end(),
                                    [&](const DrawResult& other) { return other.initial[i] == planned[i]; });
    const auto size = static_cast<double>(item.size.value);
    shares[item.object][p] += size * static_cast<double>(same) / static_cast<double>(others.size());
    sizes[item.object][p] += size;
  }
  for (std::size_t o = 0; o < shares.size(); ++o)
    for (std::size_t p = 0; p < shares[o].size(); ++p)
      if (sizes[o][p] > 0) shares[o][p] /= sizes[o][p];
  return shares;
}

}  // namespace

Seconds Confidence::regret() const {
  if (regrets.empty()) return {};
  return Seconds{std::accumulate(regrets.begin(), regrets.end(), 0.0) / static_cast<double>(regrets.size())};
}

Seconds Confidence::regret_at(double share) const {
  if (regrets.empty()) return {};
  auto sorted = regrets;
  std::sort(sorted.begin(), sorted.end());
  // The truth ranks among n draws at any position with the same probability, so that the r-th smallest draw is its
  // quantile r / (n + 1) (Weibull's plotting position).
  const auto last = static_cast<double>(sorted.size() - 1);
  const auto at = std::clamp(share * static_cast<double>(sorted.size() + 1) - 1, 0.0, last);
  const auto below = static_cast<std::size_t>(at);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return Seconds{sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below])};
}

Regret regret_under(const Problem& estimate, const Problem& truth, const model::Calibration& calibration,
                    const Planner& planner, const Decision& chosen) {
  check_same(estimate, truth);
  return regret_of(estimate, truth, calibration, planner, chosen, effort_for(estimate));
}

Confidence confidence_of(const Problem& problem, const model::Calibration& calibration, const Planner& planner,
                         const Decision& chosen, const Plan& plan, std::uint32_t draws) {
  const auto planned = model::initial_placement(chosen.schedule, model::derive_moves(problem, chosen.schedule));
  const auto shares = placed_shares(problem, chosen.schedule);
  const model::SamplingError error(problem);
  std::vector<DrawResult> others(draws);
  if (error.none() && !model::has_spread(problem)) {  // every draw is the problem, and its plan the plan
    std::fill(others.begin(), others.end(), DrawResult{0, chosen.prediction.total.value, planned, shares});
  } else {
    const auto effort = effort_for(problem);
    const auto judged = effort == Effort::quick ? planner.decide(problem, calibration, effort) : chosen;
    for_all(draws, [&](std::uint32_t d) {
      const auto drawn = model::draw_truth(error, d);
      others[d] = result_of_draw(drawn, regret_of(problem, drawn, calibration, planner, judged, effort));
      others[d].time = model::predict(drawn, chosen.schedule).total.value;
    });
  }
  Confidence confidence;
  for (const auto share : shares) confidence.objects.push_back({share, {}});
  for (const auto& other : others) {
    confidence.regrets.push_back(other.regret);
    confidence.times.push_back(other.time);
    for (std::size_t o = 0; o < shares.size(); ++o) confidence.objects[o].drawn.push_back(other.shares[o]);
  }
  if (draws > 0) confidence.parts = part_shares(problem, planned, plan, others);
  return confidence;
}

void limit_regrets(Confidence& confidence, Seconds bound) {
  for (std::size_t d = 0; d < confidence.regrets.size(); ++d) {
    const auto left = std::max(0.0, confidence.times[d] - bound.value);
    confidence.regrets[d] = std::min(confidence.regrets[d], left);
  }
}

void annotate(Plan& plan, const Confidence& confidence) {
  plan.draws = static_cast<std::uint32_t>(confidence.regrets.size());
  plan.regret = confidence.regret();
  // Regret is not negative and mostly small: uses the 90 % interval that begins at 0.
  plan.regret_low = Seconds{0};
  plan.regret_high = confidence.regret_at(0.9);
  for (std::size_t o = 0; o < confidence.parts.size(); ++o)
    for (std::size_t p = 0; p < confidence.parts[o].size(); ++p)
      plan.objects[o].parts[p].confidence = confidence.parts[o][p];
}

}  // namespace terrace::strategy
