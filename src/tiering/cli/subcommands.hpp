// SPDX-License-Identifier: Apache-2.0
// Entry points that main() dispatches to: the subcommands implemented here, and options that print and exit. Each
// is implemented in the file of its name. All throw Error.
#pragma once

#include <string>
#include <string_view>

namespace terrace::cli {

// Run a subcommand; `argv[0]` is its name. Return the exit status.
// `terrace machine`: shows a machine and its orderings, measures this one, checks its support for Terrace.
int run_machine(int argc, char** argv);
// `terrace merge`: writes profiles from journals that a killed launcher left.
int run_merge(int argc, char** argv);
// `terrace replay`: predicts the results of simulate from a recording of a program's misses.
int run_replay(int argc, char** argv);

// Implements `terrace --names KIND`: prints the values that an option accepts, one on each line. Shell completions
// call it while the user types, so that later machine files and planners are offered as well. Returns the exit
// status. Throws Error{invalid} for an unknown kind.
int print_names(std::string_view kind);

// Returns the version, the commit that was built, and what to send with a bug report.
std::string version();

}  // namespace terrace::cli
