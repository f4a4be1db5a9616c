// SPDX-License-Identifier: Apache-2.0
// Makes the environment variables by which a program loads Terrace's library and finds its session. The launcher
// runs the program with them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/session/session.hpp"

namespace terrace::cli {

struct PreloadedParts {
  bool hooks = false;  // accesses are observed
  bool mpi = false;    // the layer of MPI functions
};

// Returns the variables, as NAME=VALUE.
std::vector<std::string> program_environment(const std::filesystem::path& session, runtime::Backend backend,
                                             const std::vector<std::string>& command, const PreloadedParts& parts);

}  // namespace terrace::cli
