// Unimem's performance model (Wu, Huang, Li: SC'17, section 3.1.2, equations 1 to 4): from sampled misses to the
// benefit of placing an item elsewhere, and to the cost of taking it there. Its constants come from the
// calibration, measured on the machine.
#pragma once

#include <cstdint>
#include <vector>

#include "model/calibration.hpp"
#include "model/loads.hpp"
#include "model/problem.hpp"

namespace terrace::model {

// Eq. 1: bytes/s that an object consumes while it is accessed at all. 0 where no sample met it.
double consumed_bandwidth(double bytes, double samples_with_access, double samples, Seconds phase_time);

// The share of the phase's time in which the object was accessed: eq. 1's denominator.
Seconds accessing_time(double samples_with_access, double samples, Seconds phase_time);

enum class Sensitivity : std::uint8_t { bandwidth, latency, either };
Sensitivity sensitivity(double consumed, double peak, const Calibration& calibration);

// Eqs. 2 and 3 without their constants: what the traffic takes on one place less what it takes on another.
double bandwidth_gain(const ItemCell& cell, const ProblemPlace& slow, const ProblemPlace& fast);
double latency_gain(double accesses, const ProblemPlace& slow, const ProblemPlace& fast);

// Time that one phase gains when the item is on `to` instead of on `from`; negative where `to` is slower. What
// it is sensitive to is asked of its whole object: a chunk alone is met by too few samples to tell.
class UnimemModel {
 public:
  UnimemModel(const Problem& problem, const Calibration& calibration);
  [[nodiscard]] double benefit(std::size_t phase, const ItemCell& cell, PlaceId from, PlaceId to) const;
  // Eq. 4: size / copy bandwidth less the time that the copy can overlap with.
  [[nodiscard]] double cost(std::uint32_t item, PlaceId from, PlaceId to, double overlap) const;

 private:
  // Gain against the fastest place of the domain, eq. 2 or 3 with the place's constants.
  [[nodiscard]] double loss_on(std::size_t phase, const ItemCell& cell, PlaceId place) const;

  const Problem& problem_;
  const Calibration& calibration_;
  std::vector<PlaceId> fastest_;               // by domain
  std::vector<std::vector<double>> consumed_;  // bytes/s by eq. 1, [phase][object]
};

}  // namespace terrace::model
