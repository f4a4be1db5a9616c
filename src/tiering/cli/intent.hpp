// SPDX-License-Identifier: Apache-2.0
// Implements `terrace run --intent`: configures the session to place data by an ordering of the machine, and
// summarises the data that were placed, from the counts that each process leaves in the job's folder.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "machine/machine.hpp"
#include "memory/ordered/ordered_counts.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

// Configures `session` for --intent: no planner, no hooks, and small allocations are left to the kernel until
// there are many. Does nothing without --intent. Throws Error{invalid} for an intent that the machine does not
// have.
void configure_intent(const LaunchOptions& options, runtime::Session& session);

// Sums over all processes; each counts at its own peak.
struct DataByIntent {
  // Bytes by place, the last entry for what was left to the kernel.
  using ByPlace = std::array<std::uint64_t, memory::k_counted_places + 1>;
  std::map<std::string, ByPlace> intents;  // by intent; only intents that placed data
  int processes = 0;                       // that could allocate by intent
  int uncounted = 0;                       // processes without counts, because their file could not be created
  std::filesystem::path folder;            // of those counts
  int error = 0;                           // errno of the first range that was refused
};

// Reads the counts in the job's folder.
DataByIntent read_data_by_intent(const std::filesystem::path& folder);

// Returns one line for each intent.
std::vector<std::string> format_intent_lines(const DataByIntent& data, const machine::Machine& machine);
// Returns a line for each failure, and one if nothing was placed by `wanted`, the intent of the whole run ("":
// none).
std::vector<std::string> find_intent_problems(const DataByIntent& data, const std::string& wanted);
// Returns a JSON object: the number of processes, and for each intent the bytes in each place and those left to
// the kernel.
std::string json_of(const DataByIntent& data, const machine::Machine& machine);

}  // namespace terrace::cli
