#include "model/uncertainty/loop_bound.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"
#include "model/uncertainty/sampling_error.hpp"

namespace terrace::model {
namespace {

constexpr int k_fitting_passes = 8;  // of a draw's prices, which begin as the estimate's
constexpr int k_phase_passes = 60;

// By phase, of its core time: stalls that no sample met, so that chunks may be behind them. Placed best they would
// take less.
std::vector<double> unattributed(const Problem& problem) {
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

// The mean iteration, with nothing in it that the bound does not hold for.
Problem scaled(Problem problem, const std::vector<double>& shares, const std::vector<double>& doubtful) {
  for (std::size_t k = 0; k < problem.phases.size(); ++k) {
    auto& phase = problem.phases[k];
    const auto share = std::clamp(shares[k], 0.0, 1.0);
    phase.core = Seconds{std::max(0.0, phase.core.value - doubtful[k])} * share;
    phase.measured = phase.measured * share;
    phase.unexplained = Seconds{0};
    for (auto& cell : phase.cells) {
      cell.read_bytes *= share;
      cell.write_bytes *= share;
      cell.exposure *= share;
      cell.streamed_bytes *= share;
      cell.streamed_exposure *= share;
    }
  }
  return problem;
}

// Data may be anywhere when the first iteration begins and when the last one ends.
double mean_of_loop(const Problem& problem, const Multipliers& prices, std::size_t iterations) {
  return Relaxation(problem).evaluate_repeated(feasible(problem, prices), iterations) /
         static_cast<double>(iterations);
}

}  // namespace

LoopBound loop_bound(const Problem& problem, const std::vector<double>& shares, std::uint32_t iterations,
                     double target, const Multipliers& prices, std::uint32_t draws) {
  if (shares.size() != problem.phases.size())
    throw Error(Code::invalid, std::to_string(shares.size()) + " shares of phases; the problem has " +
                                   std::to_string(problem.phases.size()) + " phases");
  const auto count = std::max<std::size_t>(iterations, 1);
  const auto doubtful = unattributed(problem);
  LoopBound bound;
  const auto mean = scaled(problem, shares, doubtful);
  for (const auto& phase : mean.phases) bound.core += phase.core.value;
  bound.seconds = mean_of_loop(mean, prices, count);
  if (problem.exact) return bound;
  const SamplingError error(problem);
  for (std::uint32_t d = 0; d < draws; ++d) {
    const auto drawn = scaled(error.draw(d), shares, doubtful);
    const auto fitted = lower_bound(drawn, target, {.passes = k_fitting_passes}, prices).prices;
    bound.drawn.push_back(mean_of_loop(drawn, fitted, count));
  }
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
