// What the system says of the process's own memory (proc(5), statm).
#pragma once

#include <optional>

#include "core/units.hpp"

namespace terrace {

struct ProcessMemory {
  Bytes size{};      // of address space
  Bytes resident{};  // in memory
  Bytes of_files{};  // of that, what files and shared memory hold
};
// None where /proc cannot be read. Allocates nothing.
[[nodiscard]] std::optional<ProcessMemory> process_memory() noexcept;

}  // namespace terrace
