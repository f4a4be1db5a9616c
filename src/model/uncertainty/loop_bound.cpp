#include "model/uncertainty/loop_bound.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"
#include "model/uncertainty/sampling_error.hpp"

namespace terrace::model {
namespace {

constexpr std::size_t k_max_sequence = 8;    // iterations, one after another, that share one bound
constexpr std::size_t k_max_work = 400'000;  // items x phases of such a sequence
constexpr int k_fitting_passes = 8;          // of a draw's prices, which begin as the estimate's
constexpr int k_phase_passes = 60;

Problem scaled(Problem problem, const std::vector<double>& shares) {
  for (std::size_t k = 0; k < problem.phases.size(); ++k) {
    auto& phase = problem.phases[k];
    const auto share = std::clamp(shares[k], 0.0, 1.0);
    phase.core = phase.core * share;
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

template <class T>
std::vector<T> repeated(const std::vector<T>& values, std::size_t times) {
  std::vector<T> all;
  all.reserve(values.size() * times);
  for (std::size_t i = 0; i < times; ++i) all.insert(all.end(), values.begin(), values.end());
  return all;
}

// Of so many iterations one after another, data being anywhere when the first begins and when the last ends.
double bound_of_sequence(const Problem& problem, const Multipliers& prices, std::size_t times) {
  const auto sequence = in_sequence(std::vector<Problem>(times, problem));
  return bound_at(sequence, {repeated(prices.row, times), repeated(prices.capacity, times)});
}

double mean_of_loop(const Problem& problem, const Multipliers& prices, std::size_t iterations) {
  const auto work = std::max<std::size_t>(problem.items.size() * problem.phases.size(), 1);
  const auto together = std::min({k_max_sequence, iterations, std::max<std::size_t>(k_max_work / work, 1)});
  const auto groups = iterations / together, rest = iterations % together;
  auto seconds = static_cast<double>(groups) * bound_of_sequence(problem, prices, together);
  if (rest > 0) seconds += bound_of_sequence(problem, prices, rest);
  return seconds / static_cast<double>(iterations);
}

}  // namespace

LoopBound loop_bound(const Problem& problem, const std::vector<double>& shares, std::uint32_t iterations,
                     double target, const Multipliers& prices, std::uint32_t draws) {
  if (shares.size() != problem.phases.size())
    throw Error(Code::invalid, std::to_string(shares.size()) + " shares of phases; the problem has " +
                                   std::to_string(problem.phases.size()) + " phases");
  const auto count = std::max<std::size_t>(iterations, 1);
  LoopBound bound;
  bound.seconds = mean_of_loop(scaled(problem, shares), prices, count);
  if (problem.exact) return bound;
  const SamplingError error(problem);
  for (std::uint32_t d = 0; d < draws; ++d) {
    const auto drawn = scaled(error.draw(d), shares);
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
