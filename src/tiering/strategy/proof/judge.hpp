// SPDX-License-Identifier: Apache-2.0
// Compares iteration times with and without a placement, and judges whether they differ beyond noise, for
// ValidatedStrategy.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units.hpp"

namespace terrace::strategy {

// Times of iterations under one placement. Only the last ones are kept, because programs may change slowly.
class IterationTimes {
 public:
  static constexpr std::size_t k_max_kept = 64;

  // Adds an iteration. `work`: processor time of the program's main thread.
  void add(Seconds time, Seconds work);
  void forget() { *this = {}; }
  // Returns the number of all iterations, including those no longer kept.
  [[nodiscard]] std::uint64_t count() const { return count_; }
  // Returns whether the times suffice for a comparison: the time of few short iterations depends on the clock's
  // resolution and on when it is read.
  [[nodiscard]] bool is_enough() const { return count_ >= k_many || (count_ > 0 && total_ >= k_long); }
  static constexpr std::uint64_t k_many = 16;
  static constexpr Seconds k_long{0.1};
  // Return statistics of the kept times; 0 if there are none.
  [[nodiscard]] Seconds median() const;
  [[nodiscard]] Seconds median_work() const;
  [[nodiscard]] Seconds min() const;
  [[nodiscard]] Seconds max() const;
  // Returns the last kept times, at most `count`.
  [[nodiscard]] IterationTimes last(std::size_t count) const;
  // Returns false if one half of the kept times takes longer than the other: then the program itself changes.
  [[nodiscard]] bool is_steady() const;
  // Returns the number of pairs of a time of these and one of the others in which this one is longer; equal ones
  // count half. The statistic U of Mann and Whitney, "On a test of whether one of two random variables is
  // stochastically larger than the other", 1947.
  [[nodiscard]] double num_longer(const IterationTimes& others) const;
  [[nodiscard]] std::size_t num_kept() const { return times_.size(); }
  // Returns the kept times, each multiplied by a factor.
  [[nodiscard]] IterationTimes scaled(double factor) const;

 private:
  [[nodiscard]] IterationTimes part(std::size_t first, std::size_t count) const;

  std::vector<Seconds> times_;  // ring buffer: once full, the oldest is at count_ % k_max_kept
  std::vector<Seconds> works_;  // in the same order
  std::uint64_t count_ = 0;
  Seconds total_;  // of all
};

// Iterations that differ by less count as equal.
inline constexpr double k_noise = 0.05;

// Returns whether `second` takes longer: each of its times exceeds all of `first`, and the medians differ by more
// than noise.
[[nodiscard]] bool takes_longer(const IterationTimes& first, const IterationTimes& second);

// Returns whether the times differ: by the two-sided test of Mann and Whitney at the level of 5 % (normal
// approximation). Samples that are too small for this level count as different if they do not overlap, which two
// times against two do by chance in a third of all cases. Iterations are taken as independent.
[[nodiscard]] bool is_beyond_noise(const IterationTimes& first, const IterationTimes& second);

// Returns the median of `second`, corrected for other programs: if they used more processor time during `first`,
// the gain is limited to the gain in processor time of the main thread. No correction if that thread mostly waits.
[[nodiscard]] Seconds placed_time(const IterationTimes& first, const IterationTimes& second);

// Iterations without a placement and with it that are adjacent in time, because programs change over a long run.
struct Evidence {
  static constexpr std::size_t k_max = 16;  // on each side

  IterationTimes without, with;
  [[nodiscard]] bool is_steady() const { return without.is_steady() && with.is_steady(); }
};

// Returns the gain as a share of `before`; negative for a loss, 0 if one of the times is unknown.
[[nodiscard]] double gain(Seconds before, Seconds after);

}  // namespace terrace::strategy
