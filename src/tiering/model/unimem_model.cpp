// SPDX-License-Identifier: Apache-2.0
// Evaluates Unimem's equations 1 to 4 on a placement problem, for the planners `global` and `local`. See
// unimem_model.hpp.
#include "model/unimem_model.hpp"

#include <algorithm>

namespace terrace::model {

namespace {
constexpr double k_line_bytes = 64;
}

Seconds accessing_time(double samples_with_access, double samples, Seconds phase_time) {
  if (samples <= 0) return Seconds{0};
  return (samples_with_access / samples) * phase_time;
}

double consumed_bandwidth(double bytes, double samples_with_access, double samples, Seconds phase_time) {
  const auto time = accessing_time(samples_with_access, samples, phase_time);
  return time.value > 0 ? bytes / time.value : 0;
}

Sensitivity sensitivity(double consumed, double peak, const Calibration& calibration) {
  if (consumed >= calibration.bandwidth_sensitive * peak) return Sensitivity::bandwidth;
  if (consumed < calibration.latency_sensitive * peak) return Sensitivity::latency;
  return Sensitivity::either;
}

double bandwidth_gain(const ItemCell& cell, const ProblemPlace& slow, const ProblemPlace& fast) {
  return busy_time(cell, slow) - busy_time(cell, fast);
}

double latency_gain(double accesses, const ProblemPlace& slow, const ProblemPlace& fast) {
  return accesses * (slow.latency - fast.latency);
}

UnimemModel::UnimemModel(const Problem& problem, const Calibration& calibration)
    : problem_(problem), calibration_(calibration) {
  for (std::size_t d = 0; d < domain_count(problem); ++d) {
    const auto& places = fastest_first(problem, static_cast<DomainId>(d));
    fastest_.push_back(places.empty() ? k_no_place : places.front());
  }
  for (const auto& phase : problem.phases) {
    std::vector<double> bytes(problem.objects.size(), 0), samples(problem.objects.size(), 0);
    for (const auto& cell : phase.cells) {
      const auto object = problem.items[cell.item].object;
      bytes[object] += cell.read_bytes + cell.write_bytes;
      samples[object] += cell.samples;
    }
    auto& consumed = consumed_.emplace_back();
    for (std::size_t o = 0; o < bytes.size(); ++o) {
      consumed.push_back(
          consumed_bandwidth(bytes[o], std::min(samples[o], phase.samples), phase.samples, phase.measured));
    }
  }
}

double UnimemModel::loss_on(std::size_t phase, const ItemCell& cell, PlaceId place) const {
  const auto fastest = fastest_[problem_.items[cell.item].domain];
  if (place == fastest) return 0;
  const auto& slow = problem_.places[place];
  const auto& fast = problem_.places[fastest];
  const auto constants = place < calibration_.places.size() ? calibration_.places[place] : PlaceCalibration{};
  const auto by_bandwidth = bandwidth_gain(cell, slow, fast) * constants.cf_bandwidth;
  const auto by_latency = latency_gain(cell.read_bytes / k_line_bytes, slow, fast) * constants.cf_latency;

  const auto consumed = consumed_[phase][problem_.items[cell.item].object];
  // Uncalibrated place: the path's bandwidth bounds STREAM's.
  const auto peak = constants.peak_bandwidth > 0 ? constants.peak_bandwidth : slow.read_bandwidth;
  switch (sensitivity(consumed, peak, calibration_)) {
    case Sensitivity::bandwidth:
      return by_bandwidth;
    case Sensitivity::latency:
      return by_latency;
    case Sensitivity::either:
      break;
  }
  return std::max(by_bandwidth, by_latency);
}

double UnimemModel::benefit(std::size_t phase, const ItemCell& cell, PlaceId from, PlaceId to) const {
  return loss_on(phase, cell, from) - loss_on(phase, cell, to);
}

double UnimemModel::cost(std::uint32_t item, PlaceId from, PlaceId to, double overlap) const {
  if (from == to) return 0;
  return std::max(move_time(problem_, item, from, to) - overlap, 0.0);
}

}  // namespace terrace::model
