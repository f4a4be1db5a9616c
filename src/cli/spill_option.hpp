// Memory over a file, as `terrace run` is told of it with --memory and --spill.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

// Of a size as it was written, what was understood where that is not the same: "4 (4B)".
std::string as_understood(const std::string& size);

// Where memory has the rest of its data. Tries whether a file can be there. Warns, in `sentences`, of a limit
// beyond the memory that there is. Throws Error{invalid}.
runtime::SpillSpec spill_of(const LaunchOptions& options, std::vector<std::string>& sentences);

}  // namespace terrace::cli
