// SPDX-License-Identifier: Apache-2.0
// Resamples a problem's samples (the bootstrap; Efron, Annals of Statistics 1979), for the bound of a loop.
//
// At given prices a bound is a concave function of the cells, because each item takes its cheapest path. By
// Jensen's inequality, the mean bound over samples of unbiased counts is at most the true one. Cells of a
// profile are biased: collectors pool chunks that few samples distinguish (observe/collecting/pooling.hpp),
// which makes them too alike and the bound too high. unpooled() therefore gives each cell the share of its
// own samples; draw() resamples those.
//
// If Problem::counted, each resample keeps a phase's total for each place. Otherwise the phase's samples
// are redistributed over cells and core. Prefetched lines have no samples and stay as attributed
// (load_sampling_collector.hpp): the bound holds only as far as that attribution does.
#pragma once

#include <cstdint>
#include <vector>

#include "model/problem.hpp"

namespace terrace::model {

class Resampling {
 public:
  explicit Resampling(const Problem& problem);

  // Returns the problem with each cell as its own samples have it.
  [[nodiscard]] const Problem& unpooled() const { return unpooled_; }
  // Returns what other samples of unpooled() would have given. The same number always gives the same problem.
  [[nodiscard]] Problem draw(std::uint64_t number) const;

 private:
  Problem unpooled_;
  std::vector<std::vector<double>> lines_;  // by phase and cell: samples of lines that met it
  std::vector<std::vector<double>> times_;  // likewise of time; empty where totals are counted
};

// Returns how much the iterations of a loop differ in the data that they stall on, from 0 (same data) to 1 (each
// its own): mean total variation distance from the mean iteration, less what sampling alone causes. If it is
// large, the mean iteration is a placement problem that no iteration poses.
double iteration_difference(const std::vector<Problem>& iterations);

}  // namespace terrace::model
