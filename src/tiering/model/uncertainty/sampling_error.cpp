// SPDX-License-Identifier: Apache-2.0
// Fits the distribution of the true counts to the samples, and draws problems from it, for the confidence of
// predictions. See sampling_error.hpp.
#include "model/uncertainty/sampling_error.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include "model/uncertainty/drawn_cells.hpp"

namespace terrace::model {
namespace {

using Group = SamplingError::Group;
using Counts = SamplingError::Counts;
using Kind = SamplingError::Kind;
using Relative = SamplingError::Relative;
using Random = std::mt19937_64;

constexpr double k_upper = 1.645;     // standard errors, one-sided 95 %
constexpr double k_few_unmet = 0.05;  // fewer expected items without samples are ignored
constexpr double k_greatest_shape = 1e9;
constexpr int k_fittings = 6;

struct Count {
  std::uint32_t item = 0;
  double value = 0;  // in samples
};

// Returns the expected number of accessed items without samples for each item with samples, whose counts have this
// mean.
double unmet_for_each(double mean) {
  if (mean <= 1) return 1e9;
  double low = 0, high = mean;  // of m in mean = m / (1 - exp(-m)), which grows with m
  for (int i = 0; i < 60; ++i) {
    const auto m = (low + high) / 2;
    (m / -std::expm1(-m) < mean ? low : high) = m;
  }
  return 1 / std::expm1((low + high) / 2);
}

double size_of(const Problem& problem, std::uint32_t item) {
  return static_cast<double>(problem.items[item].size.value);
}

// Estimates, by the method of moments, the shape of the Gamma distribution of true values from the counts'
// variation beyond chance.
class Spread {
 public:
  void add(double count, double mean, double weight) {
    excess_ += weight * ((count - mean) * (count - mean) - mean);
    chance_ += weight * (2 * mean * mean + mean);
    squares_ += weight * mean * mean;
  }
  [[nodiscard]] double shape() const {
    const auto inverse = (excess_ + k_upper * std::sqrt(chance_)) / squares_;
    return inverse > 1 / k_greatest_shape ? 1 / inverse : k_greatest_shape;
  }

 private:
  double excess_ = 0, chance_ = 0, squares_ = 0;
};

// Makes an object's group: its items with samples, and those without that chance may have missed.
Group group_of(const Problem& problem, Kind kind, const std::vector<Count>& met,
               const std::vector<std::uint32_t>& unmet, double unit) {
  Group group;
  group.kind = kind;
  group.object = problem.items[met.front().item].object;
  group.unit = unit;
  double bytes = 0;
  for (const auto& count : met) {
    group.count += count.value;
    group.members.push_back({count.item, count.value, 0, 1});
    bytes += size_of(problem, count.item);
  }
  const auto many = static_cast<double>(met.size());
  const auto missed = std::min(static_cast<double>(unmet.size()), many * unmet_for_each(group.count / many));
  if (missed >= k_few_unmet) {
    const auto touched = missed / static_cast<double>(unmet.size());
    for (const auto item : unmet) {
      group.members.push_back({item, 0, 0, touched});
      bytes += touched * size_of(problem, item);
    }
  }
  for (auto& member : group.members) member.mean = group.count * size_of(problem, member.item) / bytes;
  return group;
}

// Smaller sums are zeros drawn from a Gamma distribution of tiny shape: division by them would overflow.
constexpr double k_min_sum = 1e-100;

double uniform(Random& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }
double gamma(Random& random, double shape) {
  return shape > 0 ? std::gamma_distribution<double>(shape, 1)(random) : 0;
}

using ByItem = std::vector<double>[SamplingError::kinds];

// Draws each item's share of its group in the phase, not yet scaled to the total.
void draw_shares(const Counts& counts, const ByItem& relative, Random& random, DrawnCounts& drawn) {
  for (const auto& group : counts.groups) {
    auto& values = drawn.values.emplace_back();
    for (const auto& member : group.members) {
      const bool touched = member.touched >= 1 || uniform(random) < member.touched;
      const auto mean = member.mean * relative[group.kind][member.item];
      values.push_back(touched && mean > 0 ? gamma(random, group.shape + member.count) / (group.shape / mean + 1)
                                           : 0);
    }
    // If all draws are zero, use the estimated shares, whose sum is positive.
    if (std::accumulate(values.begin(), values.end(), 0.0) > k_min_sum) continue;
    std::transform(group.members.begin(), group.members.end(), values.begin(),
                   [](const auto& m) { return m.count; });
  }
}

// Scales the shares so that items keep their drawn totals over all phases, and groups theirs. If totals were
// counted, the phase's total and the core's time have no error.
void draw_totals(const Counts& counts, const ByItem& kept, bool counted, Random& random, DrawnCounts& drawn) {
  double taken = counted ? 0 : counts.rest * counts.unit, sum = 0;
  for (std::size_t g = 0; g < counts.groups.size(); ++g) {
    const auto& group = counts.groups[g];
    auto& values = drawn.values[g];
    const auto total = group.unit * gamma(random, group.count);
    double of_group = 0;
    for (std::size_t m = 0; m < values.size(); ++m)
      of_group += values[m] *= kept[group.kind][group.members[m].item];
    for (auto& value : values) value *= of_group > k_min_sum ? total / of_group : 0;
    taken += group.unit * group.count;
    sum += total;
  }
  drawn.rest = counted ? 0 : gamma(random, counts.rest);
  sum += counts.unit * drawn.rest;
  const auto ends = counted ? 0 : uniform(random) - uniform(random) + uniform(random) - uniform(random);
  const auto scale = sum > k_min_sum ? std::max(0.0, taken + ends * counts.unit) / sum : 0;
  for (auto& values : drawn.values)
    for (auto& value : values) value *= scale;
  drawn.rest = counted ? counts.rest : drawn.rest * scale;
}

// Scales the shares of each group by their items' factors, then to the group's own count.
void scale_shares(const Counts& counts, const ByItem& factors, DrawnCounts& drawn) {
  for (std::size_t g = 0; g < counts.groups.size(); ++g) {
    const auto& group = counts.groups[g];
    auto& values = drawn.values[g];
    double sum = 0;
    for (std::size_t m = 0; m < values.size(); ++m) sum += values[m] *= factors[group.kind][group.members[m].item];
    for (auto& value : values) value *= sum > k_min_sum ? group.count / sum : 0;
  }
}

void add_up(const Counts& counts, const DrawnCounts& drawn, ByItem& sums) {
  for (std::size_t g = 0; g < counts.groups.size(); ++g)
    for (std::size_t m = 0; m < counts.groups[g].members.size(); ++m)
      sums[counts.groups[g].kind][counts.groups[g].members[m].item] += drawn.values[g][m];
}

struct Builder {
  const Problem& problem;
  std::vector<std::vector<std::uint32_t>> items;  // by object

  explicit Builder(const Problem& of) : problem(of), items(of.objects.size()) {
    for (std::uint32_t i = 0; i < of.items.size(); ++i) items[of.items[i].object].push_back(i);
  }

  // Adds a group. `unit`: amount per sample of the object; 0: its counts have no error.
  void add(Counts& counts, Kind kind, std::uint32_t object, const std::vector<const ItemCell*>& cells,
           double unit) const {
    if (unit <= 0) return;
    std::vector<Count> met;
    std::vector<std::uint32_t> unmet;
    auto cell = cells.begin();
    for (const auto item : items[object]) {
      const bool has = cell != cells.end() && (*cell)->item == item;
      const auto value = has ? (**cell).*k_values[kind] : 0;
      if (has) ++cell;
      value > 0 ? met.push_back({item, value / unit}) : unmet.push_back(item);
    }
    if (met.empty()) return;
    counts.groups.push_back(group_of(problem, kind, met, unmet, unit));
  }

  // Adds an object's groups: its time samples, its lines read and its lines written.
  void add_object(Counts& time, Counts& lines, std::uint32_t object,
                  const std::vector<const ItemCell*>& cells) const {
    double samples = 0, samples_variance = 0, bytes = 0, bytes_variance = 0;
    for (const auto* cell : cells) {
      samples += cell->samples;
      samples_variance += cell->samples_variance;
      bytes += cell->read_bytes + cell->write_bytes;
      bytes_variance += cell->bytes_variance;
    }
    add(time, SamplingError::time_samples, object, cells, samples > 0 ? samples_variance / samples : 0);
    const auto unit = bytes > 0 ? bytes_variance / bytes : 0;
    add(lines, SamplingError::read, object, cells, unit);
    add(lines, SamplingError::written, object, cells, unit);
  }
};

// Returns the amount per sample of the phase: the groups' mean, weighted by their counts.
double common_unit(const Counts& counts) {
  double sum = 0, squares = 0;
  for (const auto& group : counts.groups) {
    sum += group.unit * group.count;
    squares += group.unit * group.unit * group.count;
  }
  return sum > 0 ? squares / sum : 0;
}

}  // namespace

SamplingError::SamplingError(const Problem& problem) : problem_(problem) {
  const Builder builder(problem);
  std::vector<std::vector<const ItemCell*>> cells(problem.objects.size());
  for (const auto& held : problem.phases) {
    auto& error = phases_.emplace_back();
    if (problem.exact) continue;
    const auto phase = undo_fit(held);
    for (const auto& cell : phase.cells) cells[problem.items[cell.item].object].push_back(&cell);
    for (std::uint32_t o = 0; o < cells.size(); ++o) {
      if (!cells[o].empty()) builder.add_object(error.time, error.lines, o, cells[o]);
      cells[o].clear();
    }
    error.time.unit = phase.samples > 0 ? phase.samples_variance / phase.samples : 0;
    if (error.time.unit > 0)
      error.time.rest = std::max(0.0, phase.samples - phase.samples_with_access) / error.time.unit;
    error.lines.unit = common_unit(error.lines);
    if (error.lines.unit > 0) error.lines.rest = phase.unowned_bytes / error.lines.unit;
    none_ = none_ && error.time.groups.empty() && error.lines.groups.empty();
  }
  fit();
}

template <class Function>
void SamplingError::for_each_group(Function function) {
  for (auto& error : phases_)
    for (auto* counts : {&error.time, &error.lines})
      for (auto& group : counts->groups) function(group);
}

// Fits the items relative to their objects over all phases, then the phases relative to that.
void SamplingError::fit() {
  for (auto& relative : relative_) relative.assign(problem_.items.size(), {0, 0, 0, false});
  for_each_group([&](const Group& group) {
    values_ += group.members.size();
    for (const auto& member : group.members) {
      auto& relative = relative_[group.kind][member.item];
      relative.shape += member.count;
      relative.mean += member.touched * member.mean;
      relative.met = relative.met || member.count > 0;
    }
  });
  for (auto& relative : relative_) {
    std::vector<Spread> spreads(problem_.objects.size());
    for (std::size_t i = 0; i < relative.size(); ++i)
      spreads[problem_.items[i].object].add(relative[i].shape, relative[i].mean, 1);
    for (std::size_t i = 0; i < relative.size(); ++i) {
      if (relative[i].mean <= 0) continue;
      const auto shape = spreads[problem_.items[i].object].shape();
      relative[i].shape += shape;
      relative[i].rate = relative[i].mean + shape;
    }
  }
  for_each_group([&](Group& group) {
    Spread spread;
    for (const auto& member : group.members) {
      const auto& relative = relative_[group.kind][member.item];
      spread.add(member.count, member.mean * relative.shape / relative.rate, member.touched);
    }
    group.shape = spread.shape();
  });
}

Problem SamplingError::draw(std::uint64_t number) const {
  auto problem = problem_;
  if (none_) return problem;
  Random random(number * 0x9e3779b97f4a7c15u + 1);
  ByItem relative, kept;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    for (const auto& of_item : relative_[kind])
      relative[kind].push_back(of_item.rate > 0 ? gamma(random, of_item.shape) / of_item.rate : 1);
  }
  std::vector<DrawnCounts> time(phases_.size()), lines(phases_.size());
  for (std::size_t k = 0; k < phases_.size(); ++k) {
    draw_shares(phases_[k].time, relative, random, time[k]);
    draw_shares(phases_[k].lines, relative, random, lines[k]);
  }
  ByItem factors;
  for (auto& factor : factors) factor.assign(problem.items.size(), 1);
  // Scales rows and columns alternately (iterative proportional fitting, Deming and Stephan).
  for (int round = 0; round < k_fittings; ++round) {
    for (auto& sums : kept) sums.assign(problem.items.size(), 0);
    for (std::size_t k = 0; k < phases_.size(); ++k) {
      scale_shares(phases_[k].time, factors, time[k]);
      scale_shares(phases_[k].lines, factors, lines[k]);
      add_up(phases_[k].time, time[k], kept);
      add_up(phases_[k].lines, lines[k], kept);
    }
    for (std::size_t kind = 0; kind < kinds; ++kind)
      for (std::size_t i = 0; i < problem.items.size(); ++i) {
        const auto& of_item = relative_[kind][i];
        const auto sum = kept[kind][i];
        factors[kind][i] = of_item.met && sum > k_min_sum ? relative[kind][i] * of_item.mean / sum : 1;
      }
  }
  for (std::size_t k = 0; k < problem.phases.size(); ++k) {
    const auto& error = phases_[k];
    auto phase = undo_fit(problem.phases[k]);
    DrawnCells cells(problem, phase);
    draw_totals(error.time, factors, problem.counted, random, time[k]);
    draw_totals(error.lines, factors, problem.counted, random, lines[k]);
    if (error.time.unit > 0) {
      if (error.time.rest > 0) phase.core = phase.core * (time[k].rest / error.time.rest);
      phase.samples_with_access = std::max(0.0, phase.samples - time[k].rest * error.time.unit);
    }
    cells.put(error.time, time[k]);
    cells.put(error.lines, lines[k]);
    phase.cells = cells.take();
    problem.phases[k] = std::move(phase);
  }
  if (problem.held) fit_to_measured(problem);
  return problem;
}

}  // namespace terrace::model
