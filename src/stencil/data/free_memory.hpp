// SPDX-License-Identifier: Apache-2.0
// How much more memory the process may take before the kernel ends it: what is asked before large memory is
// touched.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace terrace::stencil {

struct FreeMemory {
  std::uint64_t bytes = 0;
  std::string by;  // the file that says so
};

// The least of MemAvailable (proc_meminfo(5)) and, for each control group of the process that has a limit, the
// limit less what the group has taken and the kernel cannot drop. Memory that could be swapped out is not counted.
// Nothing where no file says it. `root` is the folder of /proc and /sys.
[[nodiscard]] std::optional<FreeMemory> free_memory(const std::string& root = "");

// Throws Error{no_memory} where `what` takes more bytes than there are; `advice` says what to do.
void need_memory(const std::string& what, std::uint64_t bytes, const std::string& advice);

}  // namespace terrace::stencil
