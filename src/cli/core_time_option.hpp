// What --core-time says, given once or several times: TIME for the whole program, PATTERN=TIME for its phases.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "observe/core_times.hpp"

namespace terrace::cli {

struct CoreTimeOption {
  std::optional<Seconds> program;  // none: the machine's
  observe::CoreTimes phases;
};

// Throws Error{invalid} for what is no time above 0, for an empty pattern, and for two times of the program.
CoreTimeOption read_core_times(const std::vector<std::string>& texts);

}  // namespace terrace::cli
