// Hints files: TOML that a person writes; docs/planning.md documents every key. A file that breaks the schema is
// refused with one line that names file, line, key, what is wrong and what to do.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "strategy/hints/hints.hpp"

namespace terrace::strategy {

// Both throw Error{invalid}, "FILE:LINE: KEY: ..."; read_hints_file also Error{not_found} or Error{failed}.
Hints parse_hints(std::string_view text, const std::string& file_name);
Hints read_hints_file(const std::filesystem::path& path);

// What --let says ("niter=75", "cache=32MiB") goes before the file's values. Throws Error{invalid}.
void apply_assignments(Hints& hints, const std::vector<std::string>& assignments);

}  // namespace terrace::strategy
