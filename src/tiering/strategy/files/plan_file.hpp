// SPDX-License-Identifier: Apache-2.0
// Reads and writes plan files, for the launcher (--plan FILE) and, through the Python bindings, for `terrace
// plan`: TOML that a user can read, compare and edit; docs/explanation/planning.md documents every key. A file
// that violates the schema is rejected with one line that names file, line, key, the error and the remedy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "core/plan.hpp"
#include "machine/machine.hpp"

namespace terrace::strategy {

// Return the plan. Throw Error{invalid}, "FILE:LINE: KEY: ..."; read_plan_file also Error{not_found} or
// Error{failed}.
Plan parse_plan(std::string_view text, const std::string& file_name);
Plan read_plan_file(const std::filesystem::path& path);

// Returns the plans of an MPI job by rank: those of the files rank-0.toml, rank-1.toml, ... in the folder, which
// `terrace plan --all-ranks` writes. Throws Error{invalid} if the folder has no such file, and as
// read_plan_file().
std::map<std::uint32_t, Plan> read_rank_plans(const std::filesystem::path& folder);

// Checks that every place that the plan names is a kind or a place of the machine, of any domain. Throws
// Error{invalid} with the list of kinds and places.
void check_places(const Plan& plan, const machine::Machine& machine, const std::string& file_name);

// Returns the plan as text. Parsing it gives the same plan, to the last digit. Deterministic.
std::string format_plan(const Plan& plan);
// Writes the plan atomically, by renaming a temporary file. Throws Error{failed}.
void write_plan_file(const std::filesystem::path& path, const Plan& plan);

}  // namespace terrace::strategy
