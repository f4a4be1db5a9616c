// SPDX-License-Identifier: Apache-2.0
// Serialises the calibration for the transfer into a user's process, for the launcher's cache file and for the
// journal. See calibration.hpp.
#include "model/calibration.hpp"

namespace terrace::model {

void Calibration::to_blob(BlobWriter& out) const {
  out.put(static_cast<std::uint32_t>(places.size()));
  for (const auto& place : places) {
    out.put(place.peak_bandwidth);
    out.put(place.cf_bandwidth);
    out.put(place.cf_latency);
  }
  out.put(bandwidth_sensitive);
  out.put(latency_sensitive);
}

Calibration Calibration::from_blob(BlobReader& in) {
  Calibration calibration;
  const auto count = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < count; ++i) {
    PlaceCalibration place;
    place.peak_bandwidth = in.get<double>();
    place.cf_bandwidth = in.get<double>();
    place.cf_latency = in.get<double>();
    calibration.places.push_back(place);
  }
  calibration.bandwidth_sensitive = in.get<double>();
  calibration.latency_sensitive = in.get<double>();
  return calibration;
}

}  // namespace terrace::model
