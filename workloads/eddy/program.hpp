// SPDX-License-Identifier: Apache-2.0
// Declares the program eddy, for one process and for several that divide the elements.
#pragma once

#include <cstdint>
#include <string>

#include "eddy/mesh.hpp"

namespace eddy {

struct Settings {
  std::uint64_t elements = 16;
  std::uint64_t order = 7;
  std::uint64_t steps = 20;
  std::uint64_t per_unit = 0;
  std::uint64_t threads = 1;
  bool shows_solvers = true;  // prints the iterations of the linear solvers
};

/// Fills in the default of the step. Returns what is wrong with the settings if the result could not be verified;
/// else an empty string.
std::string complete(Settings& settings);

/// Runs eddy on a process's part of the elements. Returns the exit status.
int run(const Settings& settings, const Part& part);

}  // namespace eddy
