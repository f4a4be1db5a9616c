// What a run would do, without doing it.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

// Line by line: the memories and how much of each may be used, who decides, what the program is known by, what
// makes phases, what is refused here and why.
std::vector<std::string> describe_run(const LaunchOptions& options, const runtime::Session& session);

}  // namespace terrace::cli
