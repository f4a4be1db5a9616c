// The constants of the model for a machine, measured once and kept among the user's cached files: a launcher needs
// them at every start, and they depend on the machine's description and on this program alone.
#pragma once

#include <string>

#include "machine/machine.hpp"
#include "model/calibration.hpp"

namespace terrace::cli {

// As sim::measure_calibration. What cannot be kept, or was kept by another build, is measured.
model::Calibration cached_calibration(const std::string& cache, const machine::Machine& machine,
                                      InitiatorId initiator, double cores);

}  // namespace terrace::cli
