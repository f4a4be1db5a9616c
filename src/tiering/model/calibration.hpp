// SPDX-License-Identifier: Apache-2.0
// Declares the constants of Unimem's model for one machine (paper section 3.1.2), by which the planners `global`
// and `local` decide. Always measured, by running STREAM and a pointer chase through the same counters as any
// program; sim::measure_calibration (sim/engine/calibrate.hpp) does so in virtual time.
#pragma once

#include <vector>

#include "core/blob.hpp"
#include "machine/machine.hpp"

namespace terrace::model {

struct PlaceCalibration {
  double peak_bandwidth = 0;  // bytes/s by eq. 1 from STREAM's samples; reference of t1 and t2
  double cf_bandwidth = 1;    // measured / predicted time gained, fast against this place, from STREAM (eq. 2)
  double cf_latency = 1;      // the same from the pointer chase (eq. 3)
};

struct Calibration {
  std::vector<PlaceCalibration> places;  // by place; against the fastest place of the domain
  double bandwidth_sensitive = 0.80;     // t1, share of the peak (the paper's)
  double latency_sensitive = 0.10;       // t2

  void to_blob(BlobWriter& out) const;
  static Calibration from_blob(BlobReader& in);
};

}  // namespace terrace::model
