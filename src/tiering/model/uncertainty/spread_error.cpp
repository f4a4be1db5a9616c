// SPDX-License-Identifier: Apache-2.0
// Redraws the attribution of prefetched lines to objects, for the confidence of predictions. See spread_error.hpp.
#include "model/uncertainty/spread_error.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "model/uncertainty/drawn_cells.hpp"

namespace terrace::model {
namespace {

// Objects with a smaller share have none: a rest left by sampling is not significant.
constexpr double k_min_share = 1e-6;
constexpr double k_min_stream = 1e-100;  // smaller sums are drawn only where all objects' shares are tiny
constexpr std::uint64_t k_spread = 0xd1342543de82ef95u;  // seed offset: independent of sampling's draws

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): cheap to seed.
class SmallRandom {
 public:
  using result_type = std::uint64_t;
  explicit SmallRandom(std::uint64_t seed) : state_(seed) {}
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }
  result_type operator()() {
    auto z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

// Prefetched bytes of a phase by object and place.
using Streams = std::map<std::pair<std::uint32_t, PlaceId>, double>;

// Returns the drawn prefetched bytes. Their sum for a place never exceeds the estimated one.
Streams drawn_streams(const Streams& estimated, std::uint64_t number) {
  struct Sum {
    double before = 0, drawn = 0, objects = 0;
  };
  std::map<PlaceId, Sum> sums;
  for (const auto& [key, bytes] : estimated) {
    auto& sum = sums[key.second];
    sum.before += bytes;
    sum.objects += 1;
  }
  // An object has the same random numbers in all phases: if it is streamed less than estimated, then in each
  // phase.
  const auto gamma = [&](std::uint32_t object, double share, const Sum& sum) {
    SmallRandom random((number + 1) * k_spread + object);
    const auto parameter = (1 - k_evened) * share + k_evened / (sum.objects + 1);
    return std::gamma_distribution<double>(k_concentration * parameter, 1)(random);
  };
  Streams drawn;
  for (const auto& [key, bytes] : estimated) {
    auto& sum = sums[key.second];
    const auto share = bytes / sum.before;
    sum.drawn += drawn[key] = share < k_min_share ? 0 : gamma(key.first, share, sum);
  }
  for (auto& [place, sum] : sums) sum.drawn += gamma(k_no_item, 0, sum);
  for (auto& [key, value] : drawn) {
    const auto& sum = sums[key.second];
    value = sum.drawn > k_min_stream ? value / sum.drawn * sum.before : estimated.at(key);
  }
  return drawn;
}

// Scales a cell's prefetched lines, with their exposed latency and samples.
void scale_streamed(ItemCell& cell, double factor) {
  const auto exposure = cell.streamed_exposure * factor - cell.streamed_exposure;
  if (cell.exposure > 0) cell.samples *= std::max(0.0, 1 + exposure / cell.exposure);
  cell.read_bytes = std::max(0.0, cell.read_bytes + cell.streamed_bytes * (factor - 1));
  cell.exposure = std::max(0.0, cell.exposure + exposure);
  cell.streamed_bytes *= factor;
  cell.streamed_exposure *= factor;
}

}  // namespace

bool has_spread(const Problem& problem) {
  if (problem.exact) return false;
  return std::ranges::any_of(problem.phases, [](const ProblemPhase& phase) {
    return std::ranges::any_of(phase.cells, [](const ItemCell& cell) { return cell.streamed_bytes > 0; });
  });
}

void redraw_spread(Problem& problem, std::uint64_t number) {
  if (!has_spread(problem)) return;
  for (auto& held : problem.phases) {
    auto phase = undo_fit(held);
    Streams estimated;
    const auto key_of = [&](const ItemCell& cell) {
      return std::pair{problem.items[cell.item].object, problem.measured_at[cell.item]};
    };
    for (const auto& cell : phase.cells)
      if (cell.streamed_bytes > 0) estimated[key_of(cell)] += cell.streamed_bytes;
    const auto drawn = drawn_streams(estimated, number);
    for (auto& cell : phase.cells) {
      if (cell.streamed_bytes <= 0) continue;
      const auto key = key_of(cell);
      scale_streamed(cell, drawn.at(key) / estimated.at(key));
    }
    held = std::move(phase);
  }
  if (problem.held) fit_to_measured(problem);
}

Problem draw_truth(const SamplingError& error, std::uint64_t number) {
  auto problem = error.draw(number);
  redraw_spread(problem, number);
  return problem;
}

}  // namespace terrace::model
