// Resamples a problem's samples (the bootstrap; Efron, Annals of Statistics 1979), for the bound of a loop.
//
// At given prices a bound is a concave function of what cells have: each item takes its cheapest way. So the bound
// of unbiased counts is, in the mean over samples, at most the true one (Jensen): noise makes items differ, and a
// bound of items that differ is lower. Cells of a profile are not unbiased: collectors pool chunks that few
// samples tell apart (observe/collecting/pooling.hpp), which makes them too alike, and their bound too high.
// unpooled() gives each cell the share that its own samples have; draws resample those.
//
// A phase's totals of a place are counted where Problem::counted says so, and each resample comes to them. Where
// they are not, the phase's samples are shared out again among cells and core. What is prefetched has no samples:
// it stays where the collector attributes it (load_sampling_collector.hpp), and a bound holds as far as that does.
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

// Returns how far iterations of one loop use other data than their mean, by stalls on chunks: 0, all the same
// data, to 1, each its own (total variation distance, less what sampling alone makes of it). An iteration of the
// mean is a placement problem that no iteration is where they differ.
double iteration_difference(const std::vector<Problem>& iterations);

}  // namespace terrace::model
