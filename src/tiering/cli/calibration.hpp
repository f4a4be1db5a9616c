// --native and --calibrate: core times that `terrace lab calibrate` fits before the program runs.
#pragma once

#include "cli/options.hpp"

namespace terrace::cli {

// The options with the core times that it found, for all configurations, and where they came from; without core
// times where it refused what it found. Says on standard error which. Throws Error{invalid} where it cannot be
// asked for so, Error{failed} when it fails; what was wrong it says itself then.
LaunchOptions calibrated(const LaunchOptions& options);

}  // namespace terrace::cli
