// SPDX-License-Identifier: Apache-2.0
// Resolves the budget of a configuration (bytes allowed of each kind of memory): --budget or --fast, else the
// plan's, else the allocation of the Slurm job, else the whole machine. Cuts it to the control group's limit.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "cli/slurm_record.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

// Sets the budget and its text. Requires: the configuration has its machine and plan. `slurm`: null if a job's
// allocation is not read; `ignores_budget`: the planner does. Adds a line to `sentences` on an allocation that was
// taken. Throws Error{invalid}.
void resolve_budget(const ConfigurationOptions& options, SlurmAllocation* slurm, bool ignores_budget,
                    runtime::SessionConfiguration& configuration, std::vector<std::string>& sentences);

// Cuts the budget to the control group's limit. Adds a sentence if the user or the batch system stated the budget.
void limit_budget(runtime::SessionConfiguration& configuration, std::vector<std::string>& sentences);

}  // namespace terrace::cli
