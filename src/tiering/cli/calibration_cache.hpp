// SPDX-License-Identifier: Apache-2.0
// Caches the performance model's constants of a machine in the user's cache folder. The session builder calls it
// at every launch and replay; the constants take long to measure, and depend only on the machine's description and
// on this executable.
#pragma once

#include <string>

#include "machine/machine.hpp"
#include "model/calibration.hpp"

namespace terrace::cli {

// Returns sim::measure_calibration() of the arguments, from the cache folder `cache` if an entry of this build is
// there. Otherwise measures, and stores the result; a result that cannot be stored is measured again the next
// time.
model::Calibration cached_calibration(const std::string& cache, const machine::Machine& machine,
                                      InitiatorId initiator, double cores);

}  // namespace terrace::cli
