// SPDX-License-Identifier: Apache-2.0
// Assigns fast memory to ranks greedily by the reduction of the job's time. See memory_division.hpp.
#include "strategy/ranks/memory_division.hpp"

#include <algorithm>
#include <cmath>

#include "core/rounding.hpp"

namespace terrace::strategy {

namespace {

// Returns time^16.
double power(double time) {
  for (int i = 0; i < 4; ++i) time *= time;
  return time;
}

// Returns sum^(1/16).
double root(double sum) {
  for (int i = 0; i < 4; ++i) sum = std::sqrt(sum);
  return sum;
}

// The times of all ranks with the bytes assigned so far.
class JobTime {
 public:
  JobTime(std::span<const GainCurve> ranks, std::size_t phases) : ranks_(ranks), step_(ranks.size()) {
    double slowest = 0;
    for (const auto& rank : ranks) slowest = std::max(slowest, rank.iteration_time(0));
    if (slowest > 0) scale_ = 1 / slowest;  // keeps the powers within the range of doubles
    sums_.resize(phases);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      for (std::size_t phase = 0; phase < phases; ++phase) sums_[phase] += power(time(rank, 0, phase));
  }
  [[nodiscard]] std::size_t step(std::size_t rank) const { return step_[rank]; }
  // Returns by how much the sum of the phases falls if the rank advances to that step.
  [[nodiscard]] double gain(std::size_t rank, std::size_t to) const {
    double gain = 0;
    for (std::size_t phase = 0; phase < sums_.size(); ++phase)
      gain += root(sums_[phase]) - root(sum_after(rank, to, phase));
    return gain;
  }
  void advance(std::size_t rank, std::size_t to) {
    for (std::size_t phase = 0; phase < sums_.size(); ++phase) sums_[phase] = sum_after(rank, to, phase);
    step_[rank] = to;
  }

 private:
  [[nodiscard]] double time(std::size_t rank, std::size_t step, std::size_t phase) const {
    const auto& curve = ranks_[rank];
    return scale_ *
           (sums_.size() == curve.num_phases ? double{curve.time[step][phase]} : curve.iteration_time(step));
  }
  [[nodiscard]] double sum_after(std::size_t rank, std::size_t to, std::size_t phase) const {
    return std::max(0.0, sums_[phase] - power(time(rank, step_[rank], phase)) + power(time(rank, to, phase)));
  }

  std::span<const GainCurve> ranks_;
  std::vector<std::size_t> step_;  // by rank
  std::vector<double> sums_;       // by phase: of the 16th powers of the ranks' times
  double scale_ = 1;
};

}  // namespace

std::vector<std::uint64_t> divide_memory(std::uint64_t budget, std::span<const GainCurve> ranks) {
  std::vector<std::uint64_t> shares(ranks.size());
  if (ranks.empty()) return shares;
  const bool comparable = std::ranges::all_of(ranks, [&](const GainCurve& rank) {
    return rank.num_phases == ranks[0].num_phases && rank.phase_names == ranks[0].phase_names;
  });
  JobTime job(ranks, comparable ? ranks[0].num_phases : 1);
  auto left = budget;
  for (;;) {
    std::size_t best = 0, best_step = 0;
    double best_rate = 0;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const auto from = job.step(rank);
      for (auto to = from + 1; to <= ranks[rank].num_steps; ++to) {
        const auto bytes = ranks[rank].bytes[to] - ranks[rank].bytes[from];
        if (bytes > left) break;
        const auto rate = bytes > 0 ? job.gain(rank, to) / static_cast<double>(bytes) : 0;
        if (!(rate > best_rate)) continue;  // also if a damaged curve makes it no number
        best_rate = rate;
        best = rank;
        best_step = to;
      }
    }
    if (best_rate <= 0) break;
    left -= ranks[best].bytes[best_step] - shares[best];
    shares[best] = ranks[best].bytes[best_step];
    job.advance(best, best_step);
  }
  const auto equal_part = left / ranks.size() / k_page * k_page;
  for (auto& share : shares) share += equal_part;
  return shares;
}

}  // namespace terrace::strategy
