// SPDX-License-Identifier: Apache-2.0
// Implements process_memory.hpp.
#include "core/process_memory.hpp"

#include <cstdio>

#include "core/rounding.hpp"
#include "core/small_file.hpp"

namespace terrace {

std::optional<ProcessMemory> process_memory() noexcept {
  char text[128];
  unsigned long long size = 0, resident = 0, file_backed = 0;
  if (!read_small_file("/proc/self/statm", text, sizeof text) ||
      std::sscanf(text, "%llu %llu %llu", &size, &resident, &file_backed) != 3)
    return {};
  return ProcessMemory{Bytes{size * k_page}, Bytes{resident * k_page}, Bytes{file_backed * k_page}};
}

}  // namespace terrace
