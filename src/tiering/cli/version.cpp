// SPDX-License-Identifier: Apache-2.0
// Formats the version and the commit for `terrace --version`; the build writes the commit into commit.hpp
// (cmake/Commit.cmake). See subcommands.hpp.
#include "cli/subcommands.hpp"
#include "commit.hpp"

namespace terrace::cli {

std::string version() {
  const std::string commit = TERRACE_COMMIT;
  return "terrace " TERRACE_VERSION + (commit.empty() ? "" : " (commit " + commit + ")") +
         "\nTo report a fault, send this with the output of `terrace machine check`.\n";
}

}  // namespace terrace::cli
