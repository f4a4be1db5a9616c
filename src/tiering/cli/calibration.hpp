// SPDX-License-Identifier: Apache-2.0
// Implements --native and --calibrate of record and simulate: fits core times (seconds of an instruction without
// cache misses) with `terrace lab calibrate` before the program runs. The launcher calls it.
#pragma once

#include "cli/options.hpp"

namespace terrace::cli {

// Runs the calibration and returns the options with its core times, and their source, in all configurations;
// without core times if the calibration rejected its own fit. Reports which on standard error. Throws
// Error{invalid} if the calibration was called wrongly, Error{failed} if it failed; the calibration has printed
// the reason then.
LaunchOptions calibrate_core_times(const LaunchOptions& options);

}  // namespace terrace::cli
