// SPDX-License-Identifier: Apache-2.0
// Implements `terrace run --dry-run`: describes what a run would do. The launcher prints the lines.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

// Returns one line each for the memories and their budgets, the placement policy, the source of information on
// accesses, and the source of phases; reasons are included for what is not available here.
std::vector<std::string> describe_run(const LaunchOptions& options, const runtime::Session& session);

}  // namespace terrace::cli
