// SPDX-License-Identifier: Apache-2.0
// Queries how much more memory the process may allocate before the kernel's out-of-memory killer acts.
// Executors check it before they touch large memory, so that a program fails with an error instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace terrace::stencil {

struct FreeMemory {
  std::uint64_t bytes = 0;
  std::string by;  // the file that gives the limit
};

// Returns the minimum of MemAvailable (proc_meminfo(5)) and, for each control group of the process that has a
// limit, the limit minus the group's memory that the kernel cannot reclaim. Swappable memory is not counted.
// Returns nothing if no file states a number. `root` is the folder that contains /proc and /sys.
[[nodiscard]] std::optional<FreeMemory> free_memory(const std::string& root = "");

// Throws Error{no_memory} if `what` needs more bytes than are free; `advice` tells the user what to do.
void need_memory(const std::string& what, std::uint64_t bytes, const std::string& advice);

}  // namespace terrace::stencil
