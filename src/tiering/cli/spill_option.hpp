// Memory over a file, as `terrace run` is told of it with --memory and --spill.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

// Of everything that a process has (run); in virtual time, where only data count, less will do.
Bytes min_memory(const std::string& subcommand);
// What --memory says, or `memory=` in --config. Throws Error{invalid} for what is no size, or too small.
Bytes parse_memory_limit(const ConfigurationOptions& options, const std::string& subcommand);

// Where memory has the rest of its data. Tries whether a file can be there. Warns, in `sentences`, of a limit
// beyond the memory that there is. Throws Error{invalid}.
runtime::SpillSpec build_spill_spec(const LaunchOptions& options, std::vector<std::string>& sentences);

}  // namespace terrace::cli
