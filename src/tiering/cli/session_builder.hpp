// SPDX-License-Identifier: Apache-2.0
// Builds the session, the file that the library inside the program reads, from the options: loads and checks
// machines, resizes caches, parses budgets, reads plans, measures the model's constants. The launcher and replay
// call it.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "cli/slurm_record.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

// Returns the session. `directory`: the folder of the journals. Adds warnings for the user to `sentences`: names
// of --phases and --loop that match nothing in the program's known code, limits that were cut, a plan whose
// segments begin by another measure of progress than it states. `slurm`: the job's allocation, which is the budget
// of `terrace run` without one; null: not read. Throws Error.
runtime::Session build_session(const LaunchOptions& options, const std::string& directory,
                               std::vector<std::string>& sentences, SlurmAllocation* slurm = nullptr);

}  // namespace terrace::cli
