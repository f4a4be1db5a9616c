// SPDX-License-Identifier: Apache-2.0
// Implements `terrace merge`: writes profiles from journals that a killed launcher left.
#pragma once

namespace terrace::cli {

// Runs the subcommand; `argv[0]` is its name. Returns the exit status. Throws Error.
int run_merge(int argc, char** argv);

}  // namespace terrace::cli
