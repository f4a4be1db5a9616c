// Memory over a file, as `terrace run` is told of it with --memory and --spill.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

// Of everything that a process has (run); in virtual time, where only data count, less will do.
Bytes min_memory(const std::string& verb);
// What --memory says, or `memory=` in --config. Throws Error{invalid} for what is no size, or too small.
Bytes memory_of(const ConfigurationOptions& options, const std::string& verb);

// Where memory has the rest of its data. Tries whether a file can be there. Warns, in `sentences`, of a limit
// beyond the memory that there is. Throws Error{invalid}.
runtime::SpillSpec spill_of(const LaunchOptions& options, std::vector<std::string>& sentences);

}  // namespace terrace::cli
