// Reads what --core-time says, given once or several times: TIME for the whole program, PATTERN=TIME for its
// phases, NAME()=TIME for a function, @FILE for a file with one of these in each line (and with lines that begin
// with #, which say nothing).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "observe/core_times.hpp"

namespace terrace::cli {

struct CoreTimeOption {
  std::optional<Seconds> program;  // none: the machine's
  observe::CoreTimes times;        // of phases and functions
};

// Adds what the lines of a file say; `path` is what its complaints begin with. Throws as read_core_times does.
void parse_core_times(std::string_view content, const std::string& path, CoreTimeOption& option);
// Throws Error{invalid} for what is no time above 0, for an empty name, for two times of the program or of one
// function, and for a file that cannot be read.
CoreTimeOption read_core_times(const std::vector<std::string>& texts);

// Throws Error{invalid} where a function has a time of its own: a recording does not say what function did what.
void check_no_functions(const CoreTimeOption& option);

}  // namespace terrace::cli
