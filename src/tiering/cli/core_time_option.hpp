// SPDX-License-Identifier: Apache-2.0
// Parses --core-time of record, simulate and replay (the time of an instruction without cache misses), which may
// be repeated: TIME for the whole program, PATTERN=TIME for its phases, NAME()=TIME for a function, @FILE for a
// file with one of these in each line; lines that begin with # are comments.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "observe/core_times.hpp"

namespace terrace::cli {

struct CoreTimeOption {
  std::optional<Seconds> program;  // of an instruction; none: the machine's
  observe::CoreTimes times;        // of phases and functions
};

// Adds the core times of a file's lines to `option`; errors begin with `path` and the line's number. Throws as
// read_core_times().
void parse_core_times(std::string_view content, const std::string& path, CoreTimeOption& option);
// Parses all values of --core-time. Throws Error{invalid} for a time that is not above 0, an empty name, two times
// of the program or of one function, and a file that cannot be read.
CoreTimeOption read_core_times(const std::vector<std::string>& texts);

// Throws Error{invalid} if a function has a time of its own: a recording does not attribute misses to functions.
void check_no_functions(const CoreTimeOption& option);

}  // namespace terrace::cli
