// SPDX-License-Identifier: Apache-2.0
// Reads hints files (--hints FILE) for the launcher and the Python bindings: TOML written by the user;
// docs/explanation/planning.md documents every key. A file that violates the schema is rejected with one line that
// names file, line, key, the error and the remedy.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "strategy/hints/hints.hpp"

namespace terrace::strategy {

// Return the hints. Throw Error{invalid}, "FILE:LINE: KEY: ..."; read_hints_file also Error{not_found} or
// Error{failed}.
Hints parse_hints(std::string_view text, const std::string& file_name);
Hints read_hints_file(const std::filesystem::path& path);

// Applies the assignments of --define ("niter=75", "cache=32MiB"), which override the file's values. Throws
// Error{invalid}.
void apply_assignments(Hints& hints, const std::vector<std::string>& assignments);

}  // namespace terrace::strategy
