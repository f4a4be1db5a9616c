// SPDX-License-Identifier: Apache-2.0
// Implements `terrace machine`: shows a machine and its orderings, measures this one, checks its support for
// Terrace.
#pragma once

namespace terrace::cli {

// Runs the subcommand; `argv[0]` is its name. Returns the exit status. Throws Error.
int run_machine(int argc, char** argv);

}  // namespace terrace::cli
