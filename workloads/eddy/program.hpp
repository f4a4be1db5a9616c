// SPDX-License-Identifier: Apache-2.0
// Declares the program eddy, for one process and for several that divide the elements.
#pragma once

#include <cstdint>

#include "eddy/mesh.hpp"

namespace eddy {

struct Settings {
  std::uint64_t elements = 16;
  std::uint64_t order = 7;
  std::uint64_t steps = 20;
  std::uint64_t per_unit = 0;
  std::uint64_t threads = 1;
};

/// Parses the command line and fills in the step's default. Exits 2 on a wrong call. Nothing is printed without
/// `prints`.
Settings parse_settings(int argc, char** argv, bool prints);

/// Runs eddy on a process's part of the elements. Returns the exit status.
int run(const Settings& settings, const Part& part);

}  // namespace eddy
