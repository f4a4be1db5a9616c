// SPDX-License-Identifier: Apache-2.0
// Reads the process's own memory use from the kernel (/proc/self/statm, proc(5)).
#pragma once

#include <optional>

#include "core/units.hpp"

namespace terrace {

struct ProcessMemory {
  Bytes size{};         // address space
  Bytes resident{};     // resident set
  Bytes file_backed{};  // resident pages of files and shared memory
};
// Returns nothing if /proc cannot be read. Allocates nothing.
[[nodiscard]] std::optional<ProcessMemory> process_memory() noexcept;

}  // namespace terrace
