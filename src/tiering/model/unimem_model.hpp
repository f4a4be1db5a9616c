// SPDX-License-Identifier: Apache-2.0
// Implements Unimem's performance model (Wu, Huang, Li: SC'17, section 3.1.2, equations 1 to 4): derives from
// sampled misses the benefit of placing an item on another place, and the cost of moving it. Its constants are
// measured (calibration.hpp). Used by the planners `global` and `local`.
#pragma once

#include <cstdint>
#include <vector>

#include "model/calibration.hpp"
#include "model/loads.hpp"
#include "model/problem.hpp"

namespace terrace::model {

// Returns eq. 1: the bytes/s that an object consumes while it is accessed. 0 without samples.
double consumed_bandwidth(double bytes, double samples_with_access, double samples, Seconds phase_time);

// Returns the part of the phase's time in which the object was accessed: eq. 1's denominator.
Seconds accessing_time(double samples_with_access, double samples, Seconds phase_time);

enum class Sensitivity : std::uint8_t { bandwidth, latency, either };
Sensitivity sensitivity(double consumed, double peak, const Calibration& calibration);

// Return eqs. 2 and 3 without their constants: the traffic's time on one place less that on another.
double bandwidth_gain(const ItemCell& cell, const ProblemPlace& slow, const ProblemPlace& fast);
double latency_gain(double accesses, const ProblemPlace& slow, const ProblemPlace& fast);

// Computes benefit() and cost() of moves. Sensitivity is decided for the whole object, because a single chunk has
// too few samples. Refers to both arguments, which outlive it.
class UnimemModel {
 public:
  UnimemModel(const Problem& problem, const Calibration& calibration);
  // Returns the time that a phase gains with the item on `to` instead of `from`; negative if `to` is slower.
  [[nodiscard]] double benefit(std::size_t phase, const ItemCell& cell, PlaceId from, PlaceId to) const;
  // Returns eq. 4: size / copy bandwidth less the time that the copy can overlap with.
  [[nodiscard]] double cost(std::uint32_t item, PlaceId from, PlaceId to, double overlap) const;

 private:
  // Returns the loss against the domain's fastest place, by eq. 2 or 3 with the place's constants.
  [[nodiscard]] double loss_on(std::size_t phase, const ItemCell& cell, PlaceId place) const;

  const Problem& problem_;
  const Calibration& calibration_;
  std::vector<PlaceId> fastest_;               // by domain
  std::vector<std::vector<double>> consumed_;  // bytes/s by eq. 1, [phase][object]
};

}  // namespace terrace::model
