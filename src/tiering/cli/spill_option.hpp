// SPDX-License-Identifier: Apache-2.0
// Parses --memory and --spill: out-of-core memory, limited to a size and backed by a file. The session builder
// calls it.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

// Returns the smallest limit that --memory accepts. `run` limits all memory of a process; in virtual time only
// data count, so that less suffices.
Bytes min_memory(const std::string& subcommand);
// Parses --memory, or `memory=` of --config. Throws Error{invalid} for a text that is not a size, or too small a
// size.
Bytes parse_memory_limit(const ConfigurationOptions& options, const std::string& subcommand);

// Returns the limit of --memory in virtual time, where the machine's file holds the rest; 0 without the option.
// Warns of limits that have no effect: beyond the machine's memory, or within its caches.
Bytes parse_simulated_memory(const ConfigurationOptions& options, const std::string& subcommand,
                             const runtime::SessionConfiguration& configuration,
                             std::vector<std::string>& sentences);

// Returns the specification of out-of-core memory for `run`, empty without --memory. Creates a file in the folder
// to test it. Adds a warning to `sentences` for a limit beyond the available memory. Throws Error{invalid}.
runtime::SpillSpec build_spill_spec(const LaunchOptions& options, std::vector<std::string>& sentences);

}  // namespace terrace::cli
