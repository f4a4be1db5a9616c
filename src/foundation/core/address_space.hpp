// SPDX-License-Identifier: Apache-2.0
// Reads the process's own memory use from the kernel (/proc/self/statm, proc(5)), and reports how much address
// space it may still reserve under RLIMIT_AS (`ulimit -v`), which counts reserved memory whether it is used or
// not. The runtime inside a program asks before it reserves address space for its heaps and its journal.
#pragma once

#include <optional>

#include "core/units.hpp"

namespace terrace {

struct ProcessMemory {
  Bytes size{};         // address space
  Bytes resident{};     // resident set
  Bytes file_backed{};  // resident pages of files and shared memory
};
// Returns the process's memory use, or nothing if /proc cannot be read. Allocates nothing.
[[nodiscard]] std::optional<ProcessMemory> process_memory() noexcept;

// Returns RLIMIT_AS, or nothing if it is unlimited.
std::optional<Bytes> address_space_limit() noexcept;
// Returns what is left below the limit; nothing if there is no limit or usage cannot be read.
std::optional<Bytes> address_space_left() noexcept;
// Returns how much of `requested` may be reserved ahead of need. Without a limit that is all of it. Otherwise it
// is at most a quarter of what is left, because the program needs the rest, or 0 if the quarter is below 256 MiB.
Bytes reservable(Bytes requested) noexcept;

}  // namespace terrace
