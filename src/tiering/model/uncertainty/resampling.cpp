// SPDX-License-Identifier: Apache-2.0
// Redraws a problem's samples, and measures how much iterations differ, for the bound of a loop. See
// resampling.hpp.
#include "model/uncertainty/resampling.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <utility>

namespace terrace::model {
namespace {

using Random = std::mt19937_64;
using Factors = std::vector<double>;  // by cell of a phase

constexpr double k_mean_deviation = 0.8;  // of a normal distribution's absolute values, in standard deviations

double demanded(const ItemCell& cell) { return std::max(0.0, cell.read_bytes - cell.streamed_bytes); }

double poisson(Random& random, double mean) {
  return mean > 0 ? static_cast<double>(std::poisson_distribution<std::int64_t>(mean)(random)) : 0;
}

// Returns, for each cell, how many samples of lines it has: its bytes over the bytes that one sample of the
// phase stands for.
std::vector<double> line_samples(const ProblemPhase& phase) {
  double bytes = 0, variance = 0;
  for (const auto& cell : phase.cells) {
    if (cell.bytes_variance <= 0) continue;
    bytes += demanded(cell) + cell.write_bytes;
    variance += cell.bytes_variance;
  }
  std::vector<double> samples;
  const auto unit = bytes > 0 ? variance / bytes : 0;
  for (const auto& cell : phase.cells)
    samples.push_back(unit > 0 && cell.bytes_variance > 0 ? cell.bytes_variance / (unit * unit) : 0);
  return samples;
}

// Returns, for each cell, how many time samples it has.
std::vector<double> time_samples(const ProblemPhase& phase) {
  std::vector<double> samples;
  for (const auto& cell : phase.cells)
    samples.push_back(cell.samples_variance > 0 ? cell.samples * cell.samples / cell.samples_variance : 0);
  return samples;
}

// Accesses a component of a cell's traffic that samples count. Prefetched lines have no samples.
struct Part {
  double (*get)(const ItemCell&);
  void (*add)(ItemCell&, double);
};
constexpr Part k_read{demanded, [](ItemCell& cell, double more) { cell.read_bytes += more; }};
constexpr Part k_written{[](const ItemCell& cell) { return cell.write_bytes; },
                         [](ItemCell& cell, double more) { cell.write_bytes += more; }};
constexpr Part k_exposed{
    [](const ItemCell& cell) { return std::max(0.0, cell.exposure - cell.streamed_exposure); },
    [](ItemCell& cell, double more) { cell.exposure += more; }};

// Multiplies one part of each cell by the cell's factor, then rescales the cells of each place to keep the place's
// total. Leaves a place unchanged if its total would become 0.
void multiply(const Problem& problem, ProblemPhase& phase, const Part& part, const Factors& factors) {
  std::vector<double> before(problem.places.size(), 0), after(problem.places.size(), 0);
  for (std::size_t i = 0; i < phase.cells.size(); ++i) {
    const auto place = problem.measured_at[phase.cells[i].item];
    const auto value = part.get(phase.cells[i]);
    before[place] += value;
    after[place] += value * factors[i];
  }
  for (std::size_t i = 0; i < phase.cells.size(); ++i) {
    auto& cell = phase.cells[i];
    const auto place = problem.measured_at[cell.item];
    if (after[place] <= 0) continue;
    part.add(cell, part.get(cell) * (factors[i] * before[place] / after[place] - 1));
  }
}

Factors resample_factors(const std::vector<double>& samples, Random& random) {
  Factors factors;
  for (const auto mean : samples) factors.push_back(mean > 0 ? poisson(random, mean) / mean : 1);
  return factors;
}

}  // namespace

// Gives each cell the share of its own samples, where the phase's totals were counted.
Resampling::Resampling(const Problem& problem) : unpooled_(problem) {
  for (auto& phase : unpooled_.phases) {
    const auto samples = line_samples(phase);
    if (problem.counted) {
      double bytes = 0;
      for (const auto& cell : phase.cells)
        if (cell.bytes_variance > 0) bytes += demanded(cell) + cell.write_bytes;
      const auto all = std::accumulate(samples.begin(), samples.end(), 0.0);
      Factors factors;
      for (std::size_t i = 0; i < samples.size(); ++i) {
        const auto& cell = phase.cells[i];
        const auto pooled = demanded(cell) + cell.write_bytes;
        factors.push_back(samples[i] > 0 && pooled > 0 ? samples[i] / all * bytes / pooled : 1);
      }
      for (const auto& part : {k_read, k_written, k_exposed}) multiply(unpooled_, phase, part, factors);
      times_.emplace_back();
    } else {
      times_.push_back(time_samples(phase));
    }
    lines_.push_back(samples);
  }
}

Problem Resampling::draw(std::uint64_t number) const {
  auto problem = unpooled_;
  Random random(number * 0x9e3779b97f4a7c15u + 1);
  for (std::size_t k = 0; k < problem.phases.size(); ++k) {
    auto& phase = problem.phases[k];
    const auto lines = resample_factors(lines_[k], random);
    multiply(problem, phase, k_read, lines);
    multiply(problem, phase, k_written, lines);
    if (problem.counted) {
      multiply(problem, phase, k_exposed, lines);
      continue;
    }
    // Redistribute the phase's time samples among cells and core.
    const auto met = std::accumulate(times_[k].begin(), times_[k].end(), 0.0);
    const auto unit = phase.samples > 0 ? phase.samples_variance / phase.samples : 0;
    const auto rest = unit > 0 ? std::max(0.0, (phase.samples - phase.samples_with_access) / unit) : 0;
    const auto times = resample_factors(times_[k], random);
    const auto core = poisson(random, rest);
    double again = core;
    for (std::size_t i = 0; i < times.size(); ++i) again += times_[k][i] * times[i];
    if (again <= 0) continue;
    const auto scale = (met + rest) / again;
    for (std::size_t i = 0; i < times.size(); ++i)
      if (times_[k][i] > 0) phase.cells[i].exposure *= times[i] * scale;
    if (rest > 0) phase.core = phase.core * (core / rest * scale);
  }
  return problem;
}

double iteration_difference(const std::vector<Problem>& iterations) {
  struct Use {
    double share = 0;     // of the iteration's stalls
    double variance = 0;  // of that share
  };
  using Uses = std::map<std::pair<std::uint32_t, std::uint32_t>, Use>;  // by object and first chunk
  std::vector<Uses> all;
  Uses mean;
  for (const auto& problem : iterations) {
    auto& uses = all.emplace_back();
    double total = 0;
    for (const auto& phase : problem.phases) {
      const auto samples = line_samples(phase);
      for (std::size_t i = 0; i < samples.size(); ++i) {
        const auto& cell = phase.cells[i];
        const auto& item = problem.items[cell.item];
        auto& use = uses[{item.object, item.ordinal}];
        const auto sampled = k_exposed.get(cell);
        use.share += cell.exposure;
        use.variance += samples[i] > 0 ? sampled * sampled / samples[i] : 0;
        total += cell.exposure;
      }
    }
    if (total <= 0) return 0;
    for (auto& [chunk, use] : uses) {
      use.share /= total;
      use.variance /= total * total;
      mean[chunk].share += use.share / static_cast<double>(iterations.size());
    }
  }
  double difference = 0;
  for (const auto& uses : all) {
    for (const auto& [chunk, of_mean] : mean) {
      const auto found = uses.find(chunk);
      const auto use = found == uses.end() ? Use{} : found->second;
      const auto by_chance = k_mean_deviation * std::sqrt(use.variance);
      difference += std::abs(use.share - of_mean.share) - by_chance;
    }
  }
  return std::max(0.0, difference / 2 / static_cast<double>(iterations.size()));
}

}  // namespace terrace::model
