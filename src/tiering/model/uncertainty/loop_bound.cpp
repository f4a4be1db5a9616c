// SPDX-License-Identifier: Apache-2.0
// Bounds a whole loop by its mean iteration, less the sampling error, for `terrace bounds` (through the Python
// bindings). See loop_bound.hpp.
#include "model/uncertainty/loop_bound.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "model/uncertainty/resampling.hpp"

namespace terrace::model {
namespace {

constexpr int k_phase_passes = 60;
constexpr int k_draws = 20;
constexpr double k_quantile = 2.539;  // of Student's t, 19 degrees of freedom, one-sided at k_bound_confidence

// Returns, by phase, the part of its core time that may be stalls on chunks without samples, which the best
// placement would shorten.
std::vector<double> unattributed_stalls(const Problem& problem) {
  std::vector<double> seconds(problem.phases.size(), 0);
  if (!problem.counted) return seconds;
  double least = problem.places.front().latency, most = least;
  for (const auto& place : problem.places) {
    least = std::min(least, place.latency);
    most = std::max(most, place.latency);
  }
  for (std::size_t k = 0; k < seconds.size(); ++k) {
    const auto& phase = problem.phases[k];
    auto samples = phase.samples_with_access;
    for (const auto& cell : phase.cells) samples -= cell.samples;
    if (samples <= 0 || phase.samples <= 0 || most <= 0) continue;
    seconds[k] = samples / phase.samples * phase.measured.value * (1 - least / most);
  }
  return seconds;
}

// Returns the mean iteration, reduced to what the bound holds for.
Problem scaled(Problem problem, const std::vector<double>& shares, const std::vector<double>& warm,
               const std::vector<double>& doubtful) {
  for (std::size_t k = 0; k < problem.phases.size(); ++k) {
    auto& phase = problem.phases[k];
    const auto share = std::clamp(shares[k], 0.0, 1.0);
    const auto waits = share * (phase.measured.value - phase.core.value);
    const auto colder = std::max(0.0, share - warm[k]) * phase.measured.value;
    const auto of_memory = waits > colder ? share * (1 - colder / waits) : 0;
    phase.core = Seconds{std::max(0.0, phase.core.value - doubtful[k])} * share;
    phase.measured = phase.measured * share;
    phase.unexplained = Seconds{0};
    for (auto& cell : phase.cells) {
      cell.read_bytes *= of_memory;
      cell.write_bytes *= of_memory;
      cell.exposure *= of_memory;
      cell.streamed_bytes *= of_memory;
      cell.streamed_exposure *= of_memory;
    }
  }
  return problem;
}

// Returns the bound of the mean iteration, with free placements at the start and the end of the loop.
double mean_iteration_bound(const Problem& problem, const Multipliers& prices, std::size_t iterations) {
  return Relaxation(problem).evaluate_repeated(make_feasible(problem, prices), iterations) /
         static_cast<double>(iterations);
}

}  // namespace

LoopBound loop_bound(const Problem& problem, const std::vector<double>& shares, const std::vector<double>& warm,
                     std::uint32_t iterations, const Multipliers& prices) {
  if (shares.size() != problem.phases.size() || warm.size() != shares.size())
    throw Error(Code::invalid, "a loop bound with " + std::to_string(shares.size()) + " shares of phases and " +
                                   std::to_string(warm.size()) + " warm shares; pass one of each for all " +
                                   std::to_string(problem.phases.size()) + " phases of the problem");
  const auto count = std::max<std::size_t>(iterations, 1);
  const auto doubtful = unattributed_stalls(problem);
  LoopBound bound;
  const auto of = [&](Problem samples) {
    return mean_iteration_bound(scaled(std::move(samples), shares, warm, doubtful), prices, count);
  };
  for (const auto& phase : scaled(problem, shares, warm, doubtful).phases) bound.core += phase.core.value;
  if (problem.exact) {
    bound.seconds = bound.stated = of(problem);
    return bound;
  }
  const Resampling samples(problem);
  bound.seconds = of(samples.unpooled());
  std::vector<double> again;
  for (int d = 0; d < k_draws; ++d) again.push_back(of(samples.draw(static_cast<std::uint64_t>(d))));
  const auto mean = std::accumulate(again.begin(), again.end(), 0.0) / k_draws;
  double squares = 0;
  for (const auto value : again) squares += (value - mean) * (value - mean);
  const auto error = std::sqrt(squares / (k_draws - 1) * (1 + 1.0 / k_draws));
  bound.stated = std::max(bound.core, bound.seconds - k_quantile * error);
  return bound;
}

std::vector<double> bounds_of_phases(const Problem& problem) {
  std::vector<double> seconds;
  std::vector<std::uint32_t> number(problem.items.size(), k_no_item);
  Problem alone = problem;
  alone.cyclic = false;
  for (const auto& phase : problem.phases) {
    alone.items.clear();
    alone.measured_at.clear();
    alone.phases.assign(1, phase);
    for (auto& cell : alone.phases.front().cells) {
      number[cell.item] = static_cast<std::uint32_t>(alone.items.size());
      alone.items.push_back(problem.items[cell.item]);
      alone.measured_at.push_back(problem.measured_at[cell.item]);
      cell.item = number[cell.item];
    }
    Placement best;
    for (const auto& item : alone.items)
      best.push_back(item.pinned != k_no_place ? item.pinned : home_of(alone, item.domain));
    seconds.push_back(lower_bound(alone, phase_time(alone, 0, best).total, {.passes = k_phase_passes}).seconds);
  }
  return seconds;
}

}  // namespace terrace::model
