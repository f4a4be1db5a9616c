// SPDX-License-Identifier: Apache-2.0
// Implements `terrace replay`: predicts the results of simulate from a recording of a program's misses.
#pragma once

namespace terrace::cli {

// Runs the subcommand; `argv[0]` is its name. Returns the exit status. Throws Error.
int run_replay(int argc, char** argv);

}  // namespace terrace::cli
